#!/usr/bin/env python3
"""Everything that needs a GPU: the examples on cuda, bit for bit what the simulator gives.

tier: check-gpu

    test/gpu/run.py [--full] [--on cuda|cpu] [--only WORD] [--limit SECONDS] [-j N] [--no-build]

* Each example runs on the device at each edge width, by a row plan and by the fallback, with
  --check: the FP64 reference, and guards around the outputs in the device's memory. Its outputs
  must have the bits that the simulator gives by the same plan; one NaN is as good as another.
* Examples of one row a program run by plans whose rows are shifted to whole vectors, too, and by
  plans whose rows share a subgroup or a group, or whose groups of a cluster share a row.
* Some run again with arrays that begin one element past an aligned address, and with conditions
  that may not be tried: each time by the variant that its arrays allow, always with the same bits.
* test/gpu/device.c asks of the runtime what only a real driver can answer, test/gpu/functions.c of
  croft.h what concerns graphs and streams; test/gpu/programs.c
  compares 200 random thread programs, each launched five times, with the simulator, and
  test/gpu/modules.c those of test/hazard, a hundred times.
* test/gpu/torture.croft: conversions and reductions on shared scratch, 65,536 groups, 100
  launches, every bit; test/gpu/convert.croft: 200 random conversions of owners, all types.
* Where compute-sanitizer is found, a part of them runs under memcheck, racecheck and synccheck.
* --full adds element types and inputs of NaN, infinities and the like at every width. --on cpu runs
  the same cases on the cpu, planned for sm_90, to try this file where there is no GPU.

Builds build/gpu with gcc and CMake alone (no cmocka). A case that has not begun when the limit is
over is skipped and said. Without a device everything is skipped, and that is no failure.
"""
import argparse
import concurrent.futures
import glob
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build" / "gpu"
WIDTHS = [1, 31, 32, 33, 127, 128, 129, 257, 1009, 1024, 1537, 4095, 4096, 4097, 4103, 8191, 8192,
          8193, 12289, 16384, 65537]
FEW_WIDTHS = [33, 1009, 4097]
SHIFTED_WIDTHS = [67, 127, 1001, 4098, 8191]
# Rows that are read from the middle on, or whose owners the text fixes.
NOT_SHIFTED = ["softmax_blocks", "rmsnorm_register", "transpose8"]
# Digits of rows that share a team, of their elements, and widths.
PACKINGS = [("lane 4 | group *", "slot 4 | lane 8", (2, 30, 64)),
            ("lane 32 | group *", "slot 4", (3, 16)),
            ("lane 16 | subgroup 4 | group *", "slot 2 | lane 2", (5, 12)),
            ("subgroup 4 | group *", "slot 4 | lane 32", (128, 257)),
            ("subgroup 2 | group *", "slot 4 | lane 32 | subgroup 3", (1009, 4096)),
            ("group *", "slot 4 | lane 32 | subgroup 13", (4097, 8192)),
            ("subgroup 2 | group 3 | step *", "slot 4 | lane 32 | subgroup 2", (256, 1537)),
            ("group *", "slot 4 | lane 32 | block 2", (128, 257, 40)),
            ("group *", "slot 4 | lane 32 | subgroup 2 | block 4", (1009, 4097)),
            ("group *", "slot 4 | lane 32 | subgroup 8 | block 8", (8191, 8192, 65537)),
            ("group *", "slot 4 | lane 32 | subgroup 4 | block 16", (8193, 4103)),
            ("group 5 | step *", "slot 2 | lane 32 | subgroup 4 | block 4", (1537, 2048))]
CHECKED_PACKINGS = {"softmax": [30, 3, 12, 257, 4097, 1537], "layernorm": [1009]}  # widths
CHECKED_WIDTHS = [33, 1009]  # under compute-sanitizer
TOOLS = ["memcheck", "racecheck", "synccheck"]
CONVERSIONS = 200
CASE_LIMIT_S = 60
TOOL_LIMIT_S = 240
PROGRAMS = [["gpu_device"], ["gpu_device", "lost"], ["gpu_functions"],
            ["gpu_modules", *sorted(str(path.relative_to(ROOT))
                                    for path in ROOT.glob("test/hazard/*.ir"))],
            *(["gpu_programs", str(first), "50"] for first in range(1000, 1200, 50))]
# Widths that an example takes, when not all.
WIDTHS_OF = {"transpose8": [1, 31, 32, 33, 1009],
             "rmsnorm_register": [width for width in WIDTHS if width <= 1024]}
LAYOUTS = [*(f"identity(1024,slots={slots})" for slots in (2, 4, 8, 16, 32)),
           *(f"blocked_cyclic(1024,workers={workers},vector=4)" for workers in (256, 128, 64, 32))]
# Kernels whose variants are tried, and widths: multiples of four elements and not.
VARIANTS_OF = ["softmax", "residual_layernorm", "rmsnorm_quant"]
VARIANT_WIDTHS = [1009, 1024, 4096]
TORTURE = "test/gpu/torture.croft"
FAULTS = "test/gpu/faults.croft"
TORTURE_GROUPS, TORTURE_ROWS, TORTURE_WIDTH, TORTURE_LAUNCHES = 65536, 64, 256, 100


# ---- kernels ----

class Kernel:
    """The signature of an example: its tensors and what they are called."""

    def __init__(self, path):
        text = path.read_text(encoding="utf-8")
        head = re.search(rf"kernel {path.stem}\((.*?)\)\s*\{{", text, re.DOTALL).group(1)
        self.name = path.stem
        self.path = str(path.relative_to(ROOT))
        self.tensors = []  # (name, mode, type, dims)
        for name, mode, dtype, dims in re.findall(r"(\w+): (in|out|inout) (\w+)\[(.*?)\]", head):
            self.tensors.append((name, mode, dtype, [dim.strip() for dim in dims.split(",")]))
        types = re.search(r"\bT: ([\w |]+)", head)
        self.types = types.group(1).replace(" ", "").split("|") if types else ["f32"]
        self.widths = WIDTHS_OF.get(self.name, WIDTHS)
        self.constant_width = re.search(r"\bN: const", head) is not None

    def inputs(self, rows, width, dtype, form):
        """name=VALUE for each tensor that is read."""
        words = []
        for name, mode, kind, dims in self.tensors:
            if mode == "out":
                continue
            shape = [width if dim == "N" else int(dim) if dim.isdigit() else rows for dim in dims]
            text = "x".join(map(str, shape))
            if kind in ("I", "i32", "i64"):
                integer = "i64" if kind == "I" else kind
                words.append(f"{name}=const:{text}:{width // 2},-100,0:{integer}")
            else:
                wide = form if len(shape) > 1 else "randn"
                words.append(f"{name}={wide}:{text}:{dtype if kind == 'T' else kind}")
        return words + ([f"N={width}"] if self.constant_width else [])


class Case:
    def __init__(self, kernel, plan, dtype, width, form="randn", layout=None, rows=None):
        few = 16 if form == "special" else 5 if width <= 1024 else 3
        rows = rows or (width if kernel.name == "transpose8" else few)
        self.kernel = kernel
        self.plan = plan
        self.width = width
        self.shift = None  # the access whose rows shift the plan's axis
        self.packing = None  # digits of rows and of their elements
        self.variant = None  # what the device's run says of it
        self.name = f"{kernel.name}/{plan}/{dtype}/{form}/{width}"
        self.words = ["run", kernel.path, *kernel.inputs(rows, width, dtype, form),
                      "--machine", "sm_90"]
        if layout is not None:
            self.name += f"/{layout}/{rows}"
            self.words.append("LAYOUT=" + layout)
        else:
            self.words += ["--plan", plan]

    def outputs(self, folder, side):
        return {name: folder / f"{side}_{name}.npy"
                for name, mode, _, _ in self.kernel.tensors if mode != "in"}


def make_cases(full):
    kernels = [Kernel(path) for path in sorted((ROOT / "examples").glob("*.croft"))]
    cases = []
    for width in WIDTHS:
        for kernel in kernels:
            for plan in ("row", "fallback"):
                if width not in kernel.widths:
                    continue
                cases.append(Case(kernel, plan, kernel.types[0], width))
                if not full and width not in FEW_WIDTHS:
                    continue
                cases += [Case(kernel, plan, dtype, width) for dtype in kernel.types[1:]]
                if full or width == 1009:
                    cases.append(Case(kernel, plan, kernel.types[0], width, "special"))
    register = next(kernel for kernel in kernels if kernel.name == "rmsnorm_register")
    cases += [Case(register, "owners", dtype, width, layout=layout, rows=rows)
              for layout in LAYOUTS for dtype in ("f32", "f16") for width in (1009, 1024)
              for rows in (1, 32, 256)]
    cases += [shifted_case(kernel, dtype, width) for kernel in kernels for width in SHIFTED_WIDTHS
              for dtype in (kernel.types if full else kernel.types[width % len(kernel.types):][:1])
              if kernel.name not in NOT_SHIFTED]
    cases += [packed_case(kernel, packing, width, turn + full_turn)
              for turn, packing in enumerate(PACKINGS) for width in packing[2]
              for full_turn in range(3 if full else 1) for kernel in kernels
              if kernel.name not in NOT_SHIFTED]
    return cases + [variant_case(kernel, width, words) for kernel in kernels
                    if kernel.name in VARIANTS_OF for width in VARIANT_WIDTHS
                    for words in (["--offset", "0"], ["--offset", "1"], ["--assume", "nothing"])]


def shifted_case(kernel, dtype, width):
    """By the row plan, with vectors where the rows of the first tensor have them."""
    case = Case(kernel, "row", dtype, width)
    case.name += "/shifted"
    case.shift = kernel.tensors[0][0] + ".0"
    return case


def shift_plan(case, folder):
    """Puts the shifted plan in place of the row plan."""
    outputs = [f"{name}=/dev/null" for name in case.outputs(folder, "")]
    plan = subprocess.run([BUILD / "croft", "plan", *case.words[1:], *outputs], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True).stdout
    axis = re.search(r"^axis (\S+) +(slot (\d+) \|.*)$", plan, re.MULTILINE)
    if axis is None:
        raise NoPlan
    digits, chunk = axis[2].split(" | step")[0], 1
    for radix in re.findall(r"\d+", digits):
        chunk *= int(radix)
    steps = -(-(case.width + int(axis[3]) - 1) // chunk)
    if steps > 1:
        digits += f" | step {steps}"
        plan = plan.replace(" registers", " private")
    path = folder / "shifted.plan"
    path.write_text(plan.replace(axis[0], f"axis {axis[1]}  {digits} shift {case.shift}"))
    words = list(case.words)
    words[words.index("--plan") + 1] = path
    return words


def packed_case(kernel, packing, width, turn):
    """By the row plan with other digits; the last group is not full."""
    dtype = kernel.types[turn % len(kernel.types)]
    case = Case(kernel, "row", dtype, width, rows=(21, 5, 1)[turn % 3])
    case.name += "/" + "/".join(packing[:2]).replace(" ", "")
    case.packing = packing[:2]
    return case


def pack_plan(case, folder):
    """Puts the plan with the digits of the case in place of the row plan."""
    rows, digits = case.packing
    outputs = [f"{name}=/dev/null" for name in case.outputs(folder, "")]
    plan = subprocess.run([BUILD / "croft", "plan", *case.words[1:], *outputs], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True).stdout
    axis = re.search(r"^axis (\S+) +(slot (\d+) \|.*|lane .*)$", plan, re.MULTILINE)
    programs = re.findall(r"^axis (\S+) +group \*$", plan, re.MULTILINE)
    if axis is None or len(programs) != 1:
        raise NoPlan
    chunk = 1
    for radix in re.findall(r"\d+", digits):
        chunk *= int(radix)
    steps = -(-case.width // chunk)
    if steps > 1:
        digits += f" | step {steps}"
        plan = plan.replace(" registers", " private")
    plan = plan.replace(axis[0], f"axis {axis[1]}  {digits}")
    plan = re.sub(r"^axis (\S+) +group \*$", rf"axis \1  {rows}", plan, flags=re.MULTILINE)
    most = int(digits.split()[1])
    plan = re.sub(r"width (\d+)", lambda old: f"width {min(int(old[1]), most)}", plan)
    path = folder / "packed.plan"
    path.write_text(plan)
    words = list(case.words)
    words[words.index("--plan") + 1] = path
    return words


def variant_case(kernel, width, words):
    """Every vector is aligned, or none is, whatever else the arguments hold."""
    case = Case(kernel, "row", kernel.types[0], width)
    case.name += "/" + "".join(words).replace("--", "")
    case.words += words
    aligned = width % 4 == 0 and words == ["--offset", "0"]
    case.variant = "variant: x aligned 16" if aligned else "x aligned 16 is not tried" \
        if "--assume" in words else "x aligned 16 does not hold: x "
    return case


# ---- workers ----

class Worker:
    """One process that runs commands (test/gpu/batch.c), restarted when one of them kills it."""

    PROGRAM = "gpu_batch"

    def __init__(self):
        self.process = None

    def run(self, words):
        """The exit code (None: it died or hung) and what was printed."""
        if self.process is None:
            self.process = subprocess.Popen([BUILD / "test" / self.PROGRAM], cwd=ROOT, text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            errors="replace")
        timer = threading.Timer(CASE_LIMIT_S, self.process.kill)
        timer.start()
        lines, code = [], None
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            for line in self.process.stdout:
                done = re.match(r"^done (\d+)$", line)
                if done:
                    code = int(done.group(1))
                    break
                lines.append(line)
        except BrokenPipeError:
            pass
        timer.cancel()
        if code is None:
            lines.append(f"the process ended with {self.process.wait()}\n")
            self.process = None
        return code, "".join(lines)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def same_bits(one, other):
    """Whether two arrays have equal bits, NaN aside."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind == "V":  # bf16
        one, other = one.view(np.uint16), other.view(np.uint16)
        nan = ((one & 0x7FFF) > 0x7F80) & ((other & 0x7FFF) > 0x7F80)
        return bool(np.all((one == other) | nan))
    if one.dtype.kind == "f":
        bits = np.dtype(f"u{one.dtype.itemsize}")
        equal = one.view(bits) == other.view(bits) if one.ndim else one.tobytes() == other.tobytes()
        return bool(np.all(equal | (np.isnan(one) & np.isnan(other))))
    return bool(np.all(one == other))


class NoPlan(Exception):
    """A case that says nothing: the kernel has no plan of this family at this width."""


def portable_words(words, outputs, folder):
    """The command with portable functions in its plan; None where that is no other plan. Native
    ones have no bits to compare."""
    of_run = ("--offset", "--assume")
    asked = [word for i, word in enumerate(words[1:], 1)
             if word not in of_run and words[i - 1] not in of_run]
    plan = subprocess.run([BUILD / "croft", "plan", *asked, *outputs], cwd=ROOT,
                          stdout=subprocess.PIPE, text=True).stdout
    if " native\n" not in plan:
        return None
    path = folder / "portable.plan"
    path.write_text(plan.replace(" native\n", " portable\n"))
    words = list(words)
    if "--plan" in words:
        words[words.index("--plan") + 1] = path
        return words
    return [*words, "--plan", path]


def run_case(case, worker, target, *others):
    """None when all is well, else why not. The other targets must have the same bits."""
    with tempfile.TemporaryDirectory(prefix="croft-gpu-") as scratch:
        folder = pathlib.Path(scratch)
        words = shift_plan(case, folder) if case.shift else \
            pack_plan(case, folder) if case.packing else case.words
        outputs = [f"{name}=/dev/null" for name in case.outputs(folder, "")]
        portable = portable_words(words, outputs, folder)
        if portable is not None and target == "cuda":
            code, text = worker.run([*words, *(f"{name}={path}" for name, path
                                               in case.outputs(folder, "native").items()),
                                     "--target", target, "--check"])
            refused = "[row-plan-refused]" in text or "[plan-divergent]" in text
            if code != 0 and not refused:
                return f"native: exit {code}: {text.strip()[:2000]}"
        return compare_bits(case, portable or words, worker, [target, *others], folder)


def compare_bits(case, words, worker, targets, folder):
    """The device, the other targets and the simulator, by one plan."""
    target, sides = targets[0], {}
    for side, more in (("device", ["--target", target, "--check"]),
                       *((other, ["--target", other]) for other in (*targets[1:], "sim"))):
        sides[side] = case.outputs(folder, side)
        outputs = [f"{name}={path}" for name, path in sides[side].items()]
        code, text = worker.run([*words, *outputs, *more])
        if code == 3 and ("[row-plan-refused]" in text or
                          (case.packing and "[plan-divergent]" in text)):
            raise NoPlan
        if code != 0:
            return f"{side}: exit {code}: {text.strip()[:2000]}"
        if side == "device" and target == "cuda" and (case.variant or "") not in text:
            return f"not `{case.variant}`: {text.strip()[:2000]}"
    for name, path in sides["device"].items():
        sim = np.load(sides["sim"][name])
        for side in ("device", *targets[1:]):
            if not same_bits(np.load(sides[side][name]), sim):
                return f"{name}: the {side}'s bits are not those of the simulator"
    return None


# ---- torture ----

def torture_kernels():
    text = (ROOT / TORTURE).read_text(encoding="utf-8")
    return re.findall(r"^kernel (\w+)\(", text, re.MULTILINE)


def run_torture(kernel, worker, target):
    """Many groups that compute few different rows, launched many times: all bits are known."""
    with tempfile.TemporaryDirectory(prefix="croft-gpu-") as scratch:
        folder = pathlib.Path(scratch)
        rows = np.random.default_rng(1).standard_normal((TORTURE_ROWS, TORTURE_WIDTH))
        rows = rows.astype(np.float32)
        np.save(folder / "few.npy", rows)
        np.save(folder / "many.npy", np.tile(rows, (TORTURE_GROUPS // TORTURE_ROWS, 1)))
        words = ["run", TORTURE, "--kernel", kernel, "--machine", "sm_90"]
        often = ["--repeat", TORTURE_LAUNCHES] if target == "cuda" else []
        for side, more in (("few", ["--target", "sim", "--check"]),
                           ("many", ["--target", target, *often])):
            code, text = worker.run([*words, f"x={folder / side}.npy", f"y={folder / side}_y.npy",
                                     *more])
            if code != 0:
                return f"{side} rows: exit {code}: {text.strip()[:2000]}"
        few, many = np.load(folder / "few_y.npy"), np.load(folder / "many_y.npy")
        many = many.reshape(-1, *few.shape)
        if not np.array_equal(many.view(np.uint32),
                              np.broadcast_to(few, many.shape).copy().view(np.uint32)):
            return "a group's bits are not those of the simulator"
    return None


# ---- random conversions ----

NUMPY = {"f32": "<f4", "f16": "<f2", "bf16": "V2", "i32": "<i4", "u32": "<u4", "i8": "i1",
         "u8": "u1", "bool": "?"}


def run_faults(kernel, worker, target):
    """The device counts as many faults of gathers as NumPy."""
    generator = np.random.default_rng(1)
    with tempfile.TemporaryDirectory(prefix="croft-gpu-") as scratch:
        folder = pathlib.Path(scratch)
        for width in FEW_WIDTHS:
            shape, name, dtype = {"elements": ((300, width), "index", np.int32),
                                  "scalar": ((300,), "label", np.int64)}[kernel]
            indices = generator.integers(-3, width + 4, shape)
            expected = ((indices < 0) | (indices >= width)).sum()
            np.save(folder / f"{name}.npy", indices.astype(dtype))
            code, text = worker.run(["run", FAULTS, "--kernel", kernel, f"x=randn:300x{width}",
                                     f"{name}={folder / name}.npy", f"y={folder / 'y.npy'}",
                                     "--machine", "sm_90", "--target", target, "--count-faults"])
            if code != 0 or f"faults: {expected}" not in text.splitlines():
                return f"width {width}, expected {expected}: exit {code}: {text.strip()[:2000]}"
    return None


def random_layout(generator, lanes, slots):
    """Any order of the bits of an element's number, any bits of it turned round."""
    bits = (lanes * slots).bit_length() - 1
    order = ",".join(map(str, generator.permutation(bits)))
    return f"bits({order},xor={generator.integers(lanes * slots)},slots={slots})"


def run_conversion(number, worker, target):
    generator = np.random.default_rng(number)
    lanes, slots = 1 << int(generator.integers(5, 11)), 1 << int(generator.integers(0, 6))
    dtype = sorted(NUMPY)[number % len(NUMPY)]
    size = np.dtype(NUMPY[dtype]).itemsize
    values = generator.integers(0, 2 if dtype == "bool" else 256, (3, lanes * slots, size))
    values = values.astype(np.uint8).view(NUMPY[dtype])[..., 0]
    layouts = [f"{name}={random_layout(generator, lanes, slots)}" for name in "AB"]
    with tempfile.TemporaryDirectory(prefix="croft-gpu-") as scratch:
        folder = pathlib.Path(scratch)
        np.save(folder / "x.npy", values)
        code, text = worker.run(["run", "test/gpu/convert.croft", f"x={folder / 'x.npy'}",
                                 f"y={folder / 'y.npy'}", f"N={lanes * slots}", f"T={dtype}",
                                 *layouts, "--machine", "sm_90", "--target", target])
        where = f"{lanes} threads, {slots} slots, {dtype}, {' '.join(layouts)}"
        if code != 0:
            return f"{where}: exit {code}: {text.strip()[:2000]}"
        if not same_bits(np.load(folder / "y.npy"), values):
            return f"{where}: an element lies elsewhere, or is another"
    return None


# ---- compute-sanitizer ----

def find_sanitizer():
    found = shutil.which("compute-sanitizer")
    places = [found] if found else glob.glob("/usr/local/cuda*/bin/compute-sanitizer")
    return places[0] if places else None


class TortureCase:
    """A kernel of the torture on few rows, for the tools."""

    def __init__(self, kernel):
        self.packing = None
        self.name = f"torture/{kernel}"
        self.words = ["run", TORTURE, "--kernel", kernel, "--machine", "sm_90",
                      f"x=randn:8x{TORTURE_WIDTH}"]

    def outputs(self, folder, side):
        return {"y": folder / side}


def sanitizer_cases(cases, only):
    torture = [TortureCase(kernel) for kernel in torture_kernels()]
    return [case for case in torture if only in case.name] + [
        case for case in cases if is_checked(case)]


def is_checked(case):
    if case.packing:
        return case.width in CHECKED_PACKINGS.get(case.kernel.name, [])
    return case.name.split("/")[2:4] == [case.kernel.types[0], "randn"] and \
        case.width in CHECKED_WIDTHS


def run_sanitizer(program, tool, cases):
    """[(name, why or None)]; the tool's own finding is a case too."""
    lines = ""
    scratch = tempfile.TemporaryDirectory(prefix="croft-gpu-")
    for number, case in enumerate(cases):
        outputs = [f"{name}=/dev/null" for name in case.outputs(ROOT, "")]
        folder = pathlib.Path(scratch.name) / str(number)
        folder.mkdir()
        words = pack_plan(case, folder) if case.packing else case.words
        lines += " ".join([*map(str, words), *outputs, "--target", "cuda"]) + "\n"
    done = subprocess.run([program, "--tool", tool, "--error-exitcode", "99", "--print-limit", "10",
                           BUILD / "test" / "gpu_batch"], cwd=ROOT, input=lines, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
                          timeout=TOOL_LIMIT_S)
    scratch.cleanup()
    codes = re.findall(r"^done (\d+)$", done.stdout, re.MULTILINE)
    results = []
    for number, case in enumerate(cases):
        code = codes[number] if number < len(codes) else "none"
        results.append((f"{tool}/{case.name}", None if code == "0" else f"exit {code}"))
    summary = [line for line in done.stdout.splitlines() if line.startswith("=========")]
    why = None if done.returncode == 0 else "\n".join(summary[:60]) or done.stdout[-2000:]
    return results + [(f"{tool}/finds_nothing", why)]


# ---- running ----

class Outcomes:
    def __init__(self):
        self.lock = threading.Lock()
        self.passed, self.failed, self.skipped, self.times = 0, [], [], []

    def add(self, name, why, seconds):
        with self.lock:
            self.times.append((seconds, name))
            if why is None:
                self.passed += 1
                return
            self.failed.append(name)
            print(f"not ok {name}: {why}", flush=True)

    def skip(self, name, why):
        with self.lock:
            self.skipped.append((name, why))

    def close(self, seconds):
        reasons = {}
        for name, why in self.skipped:
            reasons.setdefault(why, []).append(name)
        for why, names in reasons.items():
            print(f"skipped {len(names)}: {why}: {names[0]}{' ...' if len(names) > 1 else ''}")
        print("\nten slowest:")
        for taken, name in sorted(self.times, reverse=True)[:10]:
            print(f"  {taken:7.1f} s  {name}")
        print(f"\n{seconds:.0f} s")
        print(f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped")
        return 1 if self.failed else 0


def build(jobs):
    for step in (["cmake", "-S", ".", "-B", BUILD, "-DCMAKE_C_COMPILER=gcc",
                  "-DCMAKE_BUILD_TYPE=Release", "-DCROFT_TOOLS=OFF"],
                 ["cmake", "--build", BUILD, "-j", str(jobs), "--target", "croft",
                  "gpu_batch", "gpu_device", "gpu_functions", "gpu_modules",
                  "gpu_programs"]):
        done = subprocess.run(step, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        if done.returncode:
            print(done.stdout[-20000:])
            sys.exit(f"building {BUILD} failed: {' '.join(map(str, step))}")


def find_compiler():
    """NVRTC where Python packages put it, for a system without a toolkit."""
    for folder in {sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]}:
        for path in sorted(glob.glob(f"{folder}/nvidia/*/lib/libnvrtc.so.1[23]"), reverse=True):
            return path
    found = sorted(glob.glob("/usr/local/cuda*/lib*/libnvrtc.so.1[23]")
                   + glob.glob("/usr/local/cuda*/targets/*/lib/libnvrtc.so.1[23]"), reverse=True)
    return found[0] if found else None


def find_device():
    """Why there is no device, or None; sets where NVRTC is."""
    devices = subprocess.run([BUILD / "croft", "devices", "--json"], cwd=ROOT, check=True,
                             stdout=subprocess.PIPE, text=True)
    found = json.loads(devices.stdout)["cuda"]
    if not any(device["machine"] == "sm_90" for device in found["devices"]):
        return found["driver_missing"] or "no device of machine sm_90"
    if found["compiler"] is None:
        place = find_compiler()
        if place is None:
            return found["compiler_missing"]
        os.environ["CROFT_NVRTC"] = place
    print(subprocess.run([BUILD / "croft", "devices"], cwd=ROOT, check=True, text=True,
                         stdout=subprocess.PIPE).stdout, flush=True)
    return None


def run_all(tasks, jobs, deadline, outcomes):
    """tasks: (name, function of a worker that answers None or why not)."""
    left = queue.Queue()
    for task in tasks:
        left.put(task)

    def work():
        worker = Worker()
        while True:
            try:
                name, run = left.get_nowait()
            except queue.Empty:
                break
            start = time.monotonic()
            if start > deadline:
                outcomes.skip(name, "out of time")
                continue
            try:
                why = run(worker)
            except NoPlan:
                outcomes.skip(name, "the kernel has no row plan")
                continue
            except Exception as error:  # a case of its own, whatever it is
                why = repr(error)
            outcomes.add(name, why, time.monotonic() - start)
        worker.close()

    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        for future in [pool.submit(work) for _ in range(jobs)]:
            future.result()


def make_tasks(cases, target, only):
    tasks = [(f"torture/{name}", lambda worker, name=name: run_torture(name, worker, target))
             for name in torture_kernels() if only in f"torture/{name}"]
    tasks += [(f"faults/{name}", lambda worker, name=name: run_faults(name, worker, target))
              for name in ("elements", "scalar") if only in f"faults/{name}"]
    for number in range(CONVERSIONS):
        if only in f"conversion/{number}":
            tasks.append((f"conversion/{number}",
                          lambda worker, number=number: run_conversion(number, worker, target)))
    return tasks + [(case.name, lambda worker, case=case: run_case(case, worker, target))
                    for case in cases]


def started(outcomes, name, function, *arguments):
    """A thread that runs the function; what it raises is a failure."""
    def work():
        try:
            function(*arguments)
        except Exception as error:  # whatever it is, it must not pass for a success
            outcomes.add(name, f"{type(error).__name__}: {error}", 0.0)
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def check_program(words, outcomes):
    """A program of test/gpu, which prints its cases itself."""
    start = time.monotonic()
    done = subprocess.run([BUILD / "test" / words[0], *words[1:]], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")
    lines = re.findall(r"^(ok|not ok|skip) (\w+)(?:: (.*))?$", done.stdout, re.MULTILINE)
    for good, name, why in lines:
        if good == "skip":
            outcomes.skip(f"{words[0]}/{name}", why)
        else:
            outcomes.add(f"{words[0]}/{name}", None if good == "ok" else why, 0.0)
    told = any(good == "not ok" for good, _, _ in lines)
    if done.returncode != int(told) or not lines:
        outcomes.add("_".join(words[:3]), f"exit {done.returncode}: {done.stdout[-2000:]}", 0.0)
    outcomes.times.append((time.monotonic() - start, " ".join(words[:3])))


def check_tool(program, tool, cases, outcomes):
    start = time.monotonic()
    try:
        for name, why in run_sanitizer(program, tool, cases):
            outcomes.add(name, why, 0.0)
    except subprocess.TimeoutExpired:
        outcomes.add(tool, f"not done after {TOOL_LIMIT_S} s", 0.0)
    outcomes.times.append((time.monotonic() - start, tool))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="more types and inputs at every width")
    parser.add_argument("--on", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--only", default="", help="run only cases whose name contains this")
    parser.add_argument("--limit", type=float, default=0,
                        help="begin no case after so many seconds; 170, with --full 3600")
    parser.add_argument("-j", "--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--no-build", action="store_true", help="use what is built already")
    options = parser.parse_args()
    start = time.monotonic()
    deadline = start + (options.limit or (3600 if options.full else 170))
    outcomes = Outcomes()
    cases = [case for case in make_cases(options.full) if options.only in case.name
             and (options.on == "cuda" or "block" not in case.name)]  # a cpu has no clusters
    if not options.no_build:
        build(options.jobs)
    missing = find_device() if options.on == "cuda" else None
    sanitizer = find_sanitizer() if options.on == "cuda" else None
    checked = sanitizer_cases(cases, options.only)
    if missing is not None:
        print(f"no CUDA device here: {missing}")
    threads = []
    for tool in TOOLS:
        if missing is not None or sanitizer is None:
            for case in checked:
                outcomes.skip(f"{tool}/{case.name}", "no device" if missing is not None
                              else "compute-sanitizer is not used on the cpu"
                              if options.on == "cpu" else "compute-sanitizer is not installed")
            continue
        threads.append(started(outcomes, tool, check_tool, sanitizer, tool, checked, outcomes))
    for words in PROGRAMS if options.on == "cuda" else []:
        if options.only not in words[0]:
            continue
        if missing is not None:
            outcomes.skip(" ".join(words[:3]), "no device")
            continue
        threads.append(started(outcomes, " ".join(words[:3]), check_program, words, outcomes))
    tasks = make_tasks(cases, options.on, options.only)
    if missing is not None:
        for name, _ in tasks:
            outcomes.skip(name, "no device")
    else:
        run_all(tasks, options.jobs, deadline, outcomes)
    for thread in threads:
        thread.join()
    sys.exit(outcomes.close(time.monotonic() - start))


if __name__ == "__main__":
    main()
