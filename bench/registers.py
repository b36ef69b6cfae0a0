#!/usr/bin/env python3
"""Registers of many plans, from ptxas, beside what the planner counts of them: no GPU is needed.

    registers.py measure [--croft build/croft] [--jobs 2] [--seed 0] --out FILE.jsonl.gz
    registers.py judge [--out FILE.jsonl.gz]
    registers.py table [--out FILE.jsonl.gz] > test/data/registers_sm90.txt

`measure` takes the row operators of examples/ and some kernels of test/generated/row_kernels.py,
each in several types and widths, chooses among the legal candidates of `croft plan --all` so that
lanes, neighbours and storages are spread evenly, emits each and compiles it for sm_90a with NVRTC
as the runtime does. Where the width allows wide accesses the variant for aligned arrays is taken,
which is what calls run then. One line a plan:

    {"kernel": .., "dtype": .., "width": .., "choice": {..}, "storage": .., "early": accesses,
     "features": the facts of the cuda model, "registers": .., "spill": bytes, "stack": bytes,
     "free": registers of the second compilation that the runtime makes where the first one spills}

`judge` says how near to ptxas' the groups are that the model's formula lets reside on a
multiprocessor, `table` writes what the formula is made of; test/unit/cost.c holds
cost_cuda_registers to that table. The committed file has up to nine plans of an operator, type and
width, and behind them those plans of one group a row whose times cuda_fit.py has, in f32 and bf16.
"""
import argparse
import collections
import concurrent.futures
import ctypes
import gzip
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "bench" / "results" / "registers-sm90.jsonl.gz"
sys.path.insert(0, str(ROOT / "test" / "generated"))

OPERATORS = ("sum", "softmax", "rmsnorm", "layernorm", "residual_layernorm", "cross_entropy")
DTYPES = ("f32", "bf16", "f16")
WIDTHS = (127, 257, 1024, 1500, 4096, 8191, 8192, 16384, 32768, 65536)
# Of the formula, as in src/planner/cost/coefficients.def.
OWN, PASSING, SHARED, VECTOR = 12.5, 0.75, 0.12, 0.45
EACH = 9          # plans of an operator, type and width; twice as many of a generated kernel
GENERATED = 14    # kernels, each of two widths
GENERATED_WIDTHS = (520, 1009, 4096, 8192)
ROWS = 4096
NUMBERS = ("w", "v", "u", "p", "g")
TABLE = ("workers", "packed", "barriers", "kept_slots", "live_slots", "element_bytes", "vector",
         "shared_read_bytes")
SPREAD = ("w", "v", "p", "chunk", "storage")
OPTIONS = ["-arch=sm_90a", "-std=c++17", "-default-device", "-fmad=false", "-ftz=false",
           "-prec-div=true", "-prec-sqrt=true", "--ptxas-options=-v", "--no-cache"]
LIBRARIES = ("libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13",
             "/usr/local/cuda-13.0/lib/libnvrtc.so.13", "libnvrtc.so.12")
_LIBRARY = []


# ---- the compiler ----

def library():
    for name in LIBRARIES if not _LIBRARY else ():
        try:
            _LIBRARY.append(ctypes.CDLL(name))
            break
        except OSError:
            pass
    if not _LIBRARY:
        raise SystemExit("no NVRTC: " + ", ".join(LIBRARIES))
    return _LIBRARY[0]


def compile_log(source, options):
    nvrtc, program = library(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None)
    words = (ctypes.c_char_p * len(options))(*[word.encode() for word in options])
    status, size = nvrtc.nvrtcCompileProgram(program, len(options), words), ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    text = log.value.decode()
    if status != 0:
        raise RuntimeError(text[:400])
    return text


def figures(log):
    found = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads",
                      log)
    return {"registers": int(re.search(r"Used (\d+) registers", log)[1]),
            "spill": int(found[2]) + int(found[3]), "stack": int(found[1])}


# ---- plans ----

def kernels(seed):
    """(name, text, dtype or None, sizes)"""
    for name in OPERATORS:
        text = (ROOT / "examples" / f"{name}.croft").read_text()
        for dtype in DTYPES:
            for width in WIDTHS:
                yield name, text, dtype, {"R": ROWS, "N": width}
    import row_kernels
    for number in range(GENERATED):
        kernel = row_kernels.RowKernel(f"registers {seed} {number}")
        text = kernel.kernel().text.replace("dynamic ", "")
        for width in random.Random(number).sample(GENERATED_WIDTHS, 2):
            sizes = {"R": ROWS, "N": width, "M": width // 2}
            yield f"generated{number}", text, None, \
                {name: value for name, value in sizes.items() if re.search(rf"\b{name}\b", text)}


def croft(options, command, path, words):
    done = subprocess.run([options.croft, command, str(path), "--machine", "sm_90", *words],
                          capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else None


def value_of(plan, name):
    return " ".join(f"{one['value']}:{one['kept']}" for one in plan["storage"]) \
        if name == "storage" else plan[name]


def chosen(plans, count, source):
    """`count` of the plans, each time one whose values are the rarest so far."""
    seen, found = collections.Counter(), []
    plans = [plan for plan in plans if plan["w"] <= 1024 and plan["w"] & (plan["w"] - 1) == 0]
    source.shuffle(plans)
    while plans and len(found) < count:
        plan = min(plans, key=lambda one: sum(seen[name, value_of(one, name)] for name in SPREAD))
        plans.remove(plan)
        found.append(plan)
        seen.update((name, value_of(plan, name)) for name in SPREAD)
    return found


def measure_kernel(options, name, text, dtype, sizes):
    words = [f"{key}={value}" for key, value in sizes.items()] + ([f"T={dtype}"] if dtype else [])
    source, rows = random.Random(f"{options.seed} {name} {words}"), []
    with tempfile.TemporaryDirectory() as folder:
        path, plan_path = pathlib.Path(folder) / "k.croft", pathlib.Path(folder) / "k.plan"
        path.write_text(text)
        answer = croft(options, "plan", path, [*words, "--all", "--json"])
        candidates = json.loads(answer).get("candidates") if answer else None
        legal = [one for one in candidates or [] if "refused" not in one and "features" in one]
        for plan in chosen(legal, options.each * (1 if dtype else 2), source):
            choice = {key: plan[key] for key in (*NUMBERS, "chunk", "keep")}
            setting = ",".join(f"{key}={value}" for key, value in choice.items())
            plan_text = croft(options, "plan", path, [*words, "--set", setting])
            if plan_text is None:
                continue
            early = plan_text.count(" early\n")
            if early and source.random() < 0.6:
                plan_text, early = plan_text.replace(" early\n", "\n"), 0
            plan_path.write_text(plan_text)
            whole = all(size % 8 == 0 for size in sizes.values())
            cuda = croft(options, "emit", path, [*words, "--plan", str(plan_path), "--target",
                                                 "cuda", *(["--assume", "all"] if whole else [])])
            if cuda is None:
                continue
            try:
                row = figures(compile_log(cuda, OPTIONS))
                free = figures(compile_log(cuda, [*OPTIONS, "-DGROUPS=, 1"])) if row["spill"] \
                    else None
            except RuntimeError as error:
                print(name, setting, str(error)[:200], file=sys.stderr)
                continue
            rows.append({"kernel": name, "dtype": dtype, "choice": choice,
                         "width": sizes.get("N", sizes.get("M")),
                         "storage": value_of(plan, "storage"), "early": early,
                         "features": plan["features"], **row,
                         "free": free and [free["registers"], free["spill"]]})
    return rows


def write(rows, path):
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
        for row in rows:
            file.write((json.dumps(row, separators=(",", ":")) + "\n").encode())


def measure(options):
    rows, wanted = [], list(kernels(options.seed))[options.skip:]
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        tasks = [pool.submit(measure_kernel, options, *one) for one in wanted]
        for number, task in enumerate(tasks):
            rows += task.result()
            print(f"{number + 1}/{len(tasks)} {len(rows)}", file=sys.stderr, flush=True)
            if number % 10 == 9:
                write(rows, options.out)
    write(rows, options.out)
    print(f"{len(rows)} plans")


# ---- the formula ----

def rows_of(path):
    with gzip.open(path, "rt") as file:
        return [row for row in map(json.loads, file) if row["spill"] == 0]


def resident(registers, facts):
    threads = math.ceil(facts["workers"] * facts["packed"] / 32) * 32
    return min(32, 2048 // threads, 65536 // (math.ceil(registers / 8) * 8 * threads))


def formula(facts, own=OWN, passing=PASSING, shared=SHARED, vector=VECTOR, meeting=8):
    kept, size = facts["kept_slots"], facts["element_bytes"]
    computing = own + kept + passing * max(facts["live_slots"] - kept, 0) * size / 4 + \
        vector * facts["vector"]
    if kept:
        computing += shared * facts["shared_read_bytes"] / size / facts["workers"]
    subgroups = math.ceil(facts["workers"] / 32)
    return max(computing, meeting + facts["kept_slots"] + subgroups) if facts["barriers"] \
        else computing


def judge(rows):
    slots = [row for row in rows if row["choice"]["chunk"] == "slot"]
    for name, own in (("all", rows), ("chunks in slots", slots),
                      ("of them halves", [row for row in slots
                                          if row["features"]["element_bytes"] == 2])):
        for what, count in (("24 + live", lambda facts: 24 + facts["live_slots"]),
                            ("12 + live", lambda facts: formula(dict(facts, element_bytes=4),
                                                                12, 1, 0, 0)),
                            ("formula", formula)):
            off = [abs(math.log2(max(1, resident(count(row["features"]), row["features"])) /
                                 resident(row["registers"], row["features"]))) for row in own]
            print(f"{name:16} {what:10} {len(own)} plans: groups the same in "
                  f"{off.count(0) / len(off):.1%}, within a third in "
                  f"{sum(one < 0.42 for one in off) / len(off):.1%}, within twice in "
                  f"{sum(one <= 1 for one in off) / len(off):.1%}")


def table(rows):
    print("# registers.py table: " + " ".join(TABLE) + ", registers of ptxas")
    for line in sorted({tuple(row["features"][name] for name in TABLE) + (row["registers"],)
                        for row in rows}):
        print(*line)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["measure", "judge", "table"])
    parser.add_argument("--croft", default=str(ROOT / "build" / "croft"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=EACH)
    parser.add_argument("--skip", type=int, default=0, help="so many of operator, type and width")
    parser.add_argument("--out", default=str(DATA))
    options = parser.parse_args()
    if options.what == "measure":
        measure(options)
    else:
        {"judge": judge, "table": table}[options.what](rows_of(options.out))


if __name__ == "__main__":
    main()
