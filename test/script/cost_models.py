"""The cuda and cpu models: times that were measured, and who should win.

tier: check
builds: release asan

Facts of row operators are made here by hand, as a candidate's would be, with no compiler behind
them. MEASURED and CPU_MEASURED are times of an H200 and of a Zen 4; the models are within a quarter
and three tenths of each but for two short rows of the cpu. ROOFS are plain copies on an H200,
November 2026.
"""
import dataclasses
import math
import os
import pathlib
import subprocess

import command
from command import case

BUILD = pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build"))
REGISTERS = 64  # values of one tile that a worker may keep


@dataclasses.dataclass
class Operator:
    inputs: int      # tensors that are read along the row
    sweeps: int      # that read them
    exps: int        # of each element
    divisions: int
    others: int
    reductions: int
    weights: int
    outputs: int


OPERATORS = {
    "copy": Operator(1, 1, 0, 0, 0, 0, 0, 1),
    "sum": Operator(1, 1, 0, 0, 1, 1, 0, 0),
    "softmax": Operator(1, 2, 1, 1, 4, 2, 0, 1),
    "rmsnorm": Operator(1, 2, 0, 0, 4, 1, 1, 1),
    "swiglu": Operator(2, 1, 1, 1, 8, 0, 0, 1),
}


def ask(lines):
    """(total, causes) for each line."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([BUILD / "test/cost_estimate"], input=text, capture_output=True,
                          text=True, timeout=120, check=False)
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(lines) or "missing" in done.stdout:
        raise SystemExit(f"cost_estimate: {done.stderr} {done.stdout[:200]}")
    words = [answer.split() for answer in answers]
    return [(float(w[0]), {k: float(v) for k, v in (x.split("=") for x in w[2:])}) for w in words]


def facts(name, rows, width, workers, vector, packed=1, keep="registers", element=4,
          aligned=True, native=True, subgroup=32, **changes):
    """The facts of a candidate as words.

    keep: `registers` holds the row (softmax: then its exponentials) between sweeps; `reload` reads
    it anew and computes again; `output` and `private` let softmax's exponentials wait in the output
    and in an array of 4 bytes an element.
    """
    op = OPERATORS[name]
    row = width * element
    owned = width // (workers * vector) * vector + min(width % (workers * vector), vector)
    steps = math.ceil(width / (workers * vector))
    held = keep == "registers" or op.sweeps == 1
    read, reread = op.inputs * row, 0 if held else (op.sweeps - 1) * op.inputs * row
    write, array, exps = op.outputs * row, 0, op.exps * width
    if name == "softmax" and keep == "reload":
        reread, exps = reread + row, 2 * exps
    if keep in ("output", "private") and not held:
        array, reread = 2 * width * (element if keep == "output" else 4), 0
    if name == "softmax" and array:
        reread = row
    visits = (read + reread + write + array) / row + op.weights
    piece = min(vector * element, 16) // element if aligned else 1
    if subgroup != 32:
        piece = vector  # a register of lanes a slot
    accesses = visits * steps * vector / (piece if subgroup == 32 else 1)
    groups = math.ceil(workers / subgroup)
    shuffles = op.reductions * (math.log2(min(workers, subgroup)) +
                                (math.ceil(math.log2(groups)) if groups > 1 else 0))
    barriers = op.reductions if groups > 1 else 0
    fields = {
        "machine": "sm_90", "domain": f"{width}x{math.ceil(visits)}", "programs": rows,
        "reductions": op.reductions, "element_bytes": element, "subgroup": subgroup,
        "workers": workers, "vector": vector, "unroll": 1, "packed": packed,
        "step_slots": vector * (steps if held else 1),
        "private_slots": steps * vector if keep in ("registers", "private") else 0,
        "kept_slots": steps * vector if held and op.sweeps > 1 else 0,
        "live_slots": 2 * vector + (steps * vector if held else 0), "torn_bytes": 0,
        "scratch_bytes": 4 * groups * packed * barriers, "barriers": barriers,
        "shuffles": round(shuffles), "read_bytes": read, "reread_bytes": reread,
        "shared_read_bytes": op.weights * row, "write_bytes": write,
        "streamed_bytes": 0, "prefetch_bytes": 0, "array_bytes": array,
        "worker_bytes": round(visits * owned * element),
        "accesses": round(accesses),
        "guarded_accesses": round(accesses / steps) if width % (workers * vector) else 0,
        "sectors": round(visits * row / 32 * (1 if aligned else min(vector, 32 // element))),
        "bytes_in_flight": op.inputs * element * (min(steps * vector, 64) if held else vector),
        "exps": exps, "divisions": op.divisions * width,
        "other_ops": round(op.others * width + (visits * width if element == 2 else 0)),
        "native_math": int(native), "reciprocals": int(native)}
    fields.update(changes)
    return " ".join(f"{key}={value}" for key, value in fields.items())


def cuda(*words, **changes):
    return ask(["cuda " + facts(*words, **changes)])[0]


def near(name, found, wanted, ratio):
    case(name, wanted / ratio <= found <= wanted * ratio, f"{found:.3g} us, measured {wanted}")


# ---- times ----

# N -> us of sum, SwiGLU and softmax in f32, of SwiGLU and softmax in bf16; 134 MB in the first
# tensor, rows that no wide access fits ("Shifted rows", the row plan)
MEASURED = {257: (81, 99, 83, 162, 161), 1001: (32, 95, 70, 134, 113),
            4097: (32, 99, 116, 136, 177), 16387: (34, 106, 211, 139, 285)}
ROW_WORKERS = {257: 32, 1001: 64, 4097: 256, 16387: 256}
# MB of reads and writes together -> TB/s
ROOFS = {2: 1.15, 16: 3.17, 64: 3.90, 256: 4.19, 512: 4.24, 2048: 4.29}


def check_measured():
    for width, times in MEASURED.items():
        short = width <= 1001
        for (name, element), wanted in zip((("sum", 4), ("swiglu", 4), ("softmax", 4),
                                            ("swiglu", 2), ("softmax", 2)), times):
            keep = "registers" if short else "output" if element == 4 else "private"
            if name != "softmax" and not short:
                keep = "reload"
            found, _ = cuda(name, 2**27 // (width * element), width, ROW_WORKERS[width], 4,
                            keep=keep, element=element, aligned=False, native=False)
            near(f"measured/{name}/{width}/{element}", found, wanted, 1.25)


def check_roofs():
    for megabytes, rate in ROOFS.items():
        groups = megabytes * 1000000 // (2 * 4096)
        # they were timed before launches overlapped
        line = facts("copy", groups, 1024, 256, 4) + " set=cuda.warm_share:0 set=cuda.launch:0.53"
        found, causes = ask(["cuda " + line])[0]
        near(f"roof/{megabytes}", found, megabytes / rate, 1.1)
        if megabytes >= 256:  # of which 1.4 us are no bytes
            near(f"roof/{megabytes}/memory", causes["memory"], megabytes / rate - 1.4, 1.02)


def check_starts():
    """16384 groups of one small tile took 10.8 us, whatever their size."""
    for threads in (32, 64, 128, 256):
        found, causes = cuda("copy", 16384, threads, threads, 1)
        near(f"starts/{threads}", found, 10.8, 1.15)
        case(f"starts/{threads}/why", max(causes, key=causes.get) == "starts", causes)


# ---- choices ----

def candidates(name, rows, width, **changes):
    """(total, workers, packed, keep) of a family like the planner's, best first."""
    family, lines = [], []
    for workers in (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024):
        for vector in (1, 2, 4, 8):
            for packed in (1, 2, 4, 8, 16):
                for keep in ("registers", "reload"):
                    slots = math.ceil(width / (workers * vector)) * vector
                    if workers * packed > 1024 or (keep == "registers" and slots > REGISTERS) or \
                            workers * packed % 32:
                        continue
                    family.append((workers, packed, keep))
                    lines.append("cuda " + facts(name, rows, width, workers, vector, packed, keep,
                                                 **changes))
    return sorted((total, *who) for (total, _), who in zip(ask(lines), family))


# rows, N -> the least and most lanes of a row that are a good choice, and what packs rows
LADDER = (
    (65536, 64, 2, 16, True), (65536, 128, 4, 32, True), (1048576, 33, 1, 16, True),
    (16384, 1024, 16, 64, None), (16384, 4096, 32, 128, None), (4096, 8192, 64, 256, False),
    (4096, 16384, 128, 512, False), (64, 65536, 512, 1024, False), (1, 262144, 1024, 1024, False),
    (8, 16384, 256, 1024, False),
)


def check_ladder():
    for name in ("softmax", "rmsnorm"):
        for rows, width, least, most, packs in LADDER:
            best = candidates(name, rows, width)[0]
            case(f"lanes/{name}/{rows}x{width}", least <= best[1] <= most, best)
            if packs is not None:
                case(f"packs/{name}/{rows}x{width}", (best[2] > 1) == packs, best)


def check_keeping():
    """Registers win where the row fits; where it does not, a second read of the L2 is cheap until
    the rows in work outgrow it."""
    for rows, width in ((16384, 4096), (1024, 8192), (65536, 128)):
        best = candidates("rmsnorm", rows, width)[0]
        case(f"keep/registers/{rows}x{width}", best[3] == "registers", best)
    best = candidates("rmsnorm", 512, 262144)[0]
    case("keep/reload/512x262144", best[3] == "reload", best)
    line = facts("rmsnorm", 16384, 4096, 256, 4, keep="reload")
    (fits, causes), = ask(["cuda " + line])
    (small, missing), = ask(["cuda " + line + " set=cuda.cache_share:0.05"])
    case("footprint/fits", causes["memory"] < 1.02 * 16384 * 4096 * (4 + 4 * 1.18) / 4.68e6, causes)
    case("footprint/misses", missing["memory"] > 1.3 * causes["memory"] and small > 1.2 * fits,
         missing)


def check_features():
    """One fact at a time: what it should cost, it costs."""
    base = {"rows": 4096, "width": 4096, "workers": 256, "vector": 4}

    def time(name="softmax", **changes):
        words = {**base, **{k: changes.pop(k) for k in list(changes) if k in base}}
        return cuda(name, words["rows"], words["width"], words["workers"], words["vector"],
                    **changes)[0]
    few = {"rows": 264, "keep": "reload"}
    for name, worse, better in (
            ("bytes_in_flight", time(bytes_in_flight=4, **few), time(bytes_in_flight=64, **few)),
            ("barriers", time(rows=132, barriers=20), time(rows=132)),
            ("shuffles", time(rows=132, shuffles=200), time(rows=132)),
            ("sectors", time(sectors=20 * 1024), time()),
            ("guards", time(guarded_accesses=200), time()),
            ("exp", time(native=False, rows=2048, element=2), time(rows=2048, element=2)),
            ("registers", time(live_slots=200), time()),
            ("spills", time(live_slots=400), time(live_slots=230)),
            ("scratch", time(scratch_bytes=200000), time()),
            ("arrays", time(array_bytes=32768), time()),
            ("groups", time(packed=4, workers=256, barriers=2), time()),
            ("one_wave_and_a_bit", time(rows=1057) - time(rows=1056),
             2 * (time(rows=1056) - time(rows=1055)))):
        case(f"feature/{name}", worse > better, f"{worse:.3f} us against {better:.3f} us")


def check_lanes():
    """What idles, waits for others, or has one unit for many."""
    _, half = cuda("swiglu", 65536, 33, 32, 1, native=False)
    _, whole = cuda("swiglu", 65536, 64, 32, 1, native=False)
    case("lanes/idle_ones_issue_too", half["issue"] > 0.9 * whole["issue"], f"{half} {whole}")
    one = {"packed": 8, "live_slots": 200}  # a group for each multiprocessor, and no more fit
    free, _ = cuda("softmax", 8 * 132 * 4, 1024, 32, 4, barriers=0, **one)
    tied, _ = cuda("softmax", 8 * 132 * 4, 1024, 32, 4, barriers=1, **one)
    barrier = 100 / 1.98e3  # us
    case("lanes/rows_that_a_barrier_ties", tied - free > 10 * barrier, f"{tied} {free}")
    _, causes = cuda("softmax", 16384, 1024, 32, 4, exps=40 * 1024)
    case("lanes/exponentials", max(causes, key=causes.get) == "special", causes)
    _, causes = cuda("copy", 8, 65536, 1024, 4)
    all_bytes = 2 * 8 * 65536 * 4 / 6.5e6  # us
    case("lanes/eight_processors_of_132", causes["cache"] > 3 * all_bytes, causes)


# ---- cpus ----

def cpu(*words, machine="cpu-avx512", lanes=16, **changes):
    return ask(["cpu " + facts(*words, subgroup=lanes, machine=machine, native=False,
                               **changes)])[0]


# operator, rows, N, slots of a step (None: all in one), keep -> us of one thread of a Zen 4
# (bench_cpu_plans, 16 lanes, medians of 61 rounds; 2026-11-30, other work on the machine)
CPU_MEASURED = (
    ("sum", 1, 65536, 1, "reload", 3.58), ("sum", 1, 65536, 2, "reload", 2.46),
    ("sum", 4, 262144, 1, "reload", 54.5), ("sum", 4, 262144, 4, "reload", 43.8),
    ("sum", 128, 1024, 1, "reload", 5.18), ("sum", 128, 1024, 4, "reload", 4.81),
    ("softmax", 17, 257, 1, "output", 2.47), ("softmax", 17, 257, 4, "output", 2.34),
    ("softmax", 128, 1024, 1, "output", 60.6), ("softmax", 128, 1024, 4, "output", 51.0),
    ("softmax", 128, 1024, 8, "output", 58.3), ("softmax", 128, 1024, None, "registers", 115),
    ("softmax", 64, 4096, 1, "output", 120), ("softmax", 64, 4096, 4, "output", 100),
    ("rmsnorm", 128, 1024, 4, "reload", 14.1), ("rmsnorm", 128, 1024, 1, "reload", 15.6),
    ("rmsnorm", 128, 1024, None, "registers", 19.6), ("rmsnorm", 64, 4096, 4, "reload", 34.2),
    ("rmsnorm", 64, 4096, 4, "private", 50.7), ("rmsnorm", 1, 127, 1, "private", 0.67),
    ("rmsnorm", 1, 127, 2, "reload", 0.24), ("softmax", 17, 257, 1, "private", 2.89),
)
# Rows of a few registers, where it counts how much of the next row the core begins early
CPU_SHORT = (("sum", 256, 127, 1, "reload", 1.47), ("softmax", 256, 64, None, "registers", 9.99))


def check_cpu_measured():
    times = {}
    for table, ratio in ((CPU_MEASURED, 1.3), (CPU_SHORT, 1.75)):
        for name, rows, width, slots, keep, wanted in table:
            slots = slots or math.ceil(width / 16)
            found, _ = cpu(name, rows, width, 16, 1, keep=keep, step_slots=slots, processors=1)
            near(f"cpu/measured/{name}/{rows}x{width}/{slots}/{keep}", found, wanted, ratio)
            times.setdefault((name, rows, width), []).append((wanted, found, slots, keep))
    for (name, rows, width), rivals in times.items():
        chosen = min(rivals, key=lambda rival: rival[1])
        case(f"cpu/regret/{name}/{rows}x{width}", chosen[0] <= 1.08 * min(rivals)[0],
             sorted(rivals))


def check_cpu():
    found, causes = cpu("softmax", 1024, 4096, 16, 1, keep="output", step_slots=4)
    near("cpu/softmax/1024x4096", found, 1320, 1.3)  # two threads
    case("cpu/softmax/why", max(causes, key=causes.get) == "arithmetic", causes)
    found, causes = cpu("copy", 16384, 4096, 16, 1, step_slots=4)
    near("cpu/copy", found, 2 * 16384 * 4096 * 4 / 68e9 * 1e6, 1.15)  # 68 GB/s of a copy
    case("cpu/copy/why", max(causes, key=causes.get) == "memory", causes)
    _, causes = cpu("softmax", 4, 64, 16, 1)
    case("cpu/serial", "team" not in causes, causes)
    _, causes = cpu("softmax", 4096, 4096, 16, 1, step_slots=4)
    case("cpu/team", "team" in causes, causes)
    for machine, lanes, more in (("cpu-avx2", 8, 1.05), ("cpu-avx512", 16, 1.01)):
        masked, _ = cpu("softmax", 4096, 31, lanes, 1, machine=machine, lanes=lanes)
        free, _ = cpu("softmax", 4096, 31, lanes, 1, machine=machine, lanes=lanes,
                      guarded_accesses=0)
        case(f"cpu/guards/{machine}", masked > more * free, f"{masked} {free}")
    _, first = cpu("rmsnorm", 256, 2048, 16, 1, keep="reload", step_slots=4)
    _, second = cpu("rmsnorm", 64, 8192, 16, 1, keep="reload", step_slots=4)
    _, third = cpu("rmsnorm", 4, 131072, 16, 1, keep="reload", step_slots=4)
    case("cpu/rows_in_nearer_caches", first["cache"] < second["cache"] < third["cache"],
         f"{first} {second} {third}")
    one_row, causes = cpu("copy", 1, 2**24, 16, 1, step_slots=4)
    two_rows, _ = cpu("copy", 2, 2**23, 16, 1, step_slots=4)
    case("cpu/one_core_of_memory", one_row > 1.3 * two_rows and "team" not in causes,
         f"{one_row} {two_rows} {causes}")
    idle, _ = cpu("softmax", 4096, 256, 1, 1)
    full, _ = cpu("softmax", 4096, 256, 16, 1)
    case("cpu/idle_lanes", idle > 4 * full, f"{idle} {full}")


check_measured()
check_roofs()
check_starts()
check_ladder()
check_keeping()
check_features()
check_lanes()
check_cpu_measured()
check_cpu()
command.finish()
