"""A comparison on a CPU: a process for each arm, alternated, on two processors.

    bench/compare.py --device cpu --tier base --out DIR

Croft (the Python call, an identical second process as control, a bound call and a loop of C),
PyTorch eager and compiled, ONNX Runtime, JAX, hand-written kernels and the roofs of memory. Each
arm is a process of its own (cpu_arm.py) that is stopped while another runs: the driver lets one
make its calls, stops it, waits GAP_S, lets the next; A B C, then C B A. So workers may spin at the
ends of parallel regions as they do by themselves, and none runs while another arm is timed.
--passive turns spinning off (NO_SPINNING) and stops nobody: calls of peers then wait for their
workers to wake. In every arm the threads that work are put on a processor each (cpu_arm.py).

What shares the cores with us comes and goes in tens of milliseconds, so rounds are short and many:
until the intervals of the medians are narrow (is_settled), or CASE_S is over. Steal time and two
fixed pieces of work are noted in each round. All peers have to be there. Raw samples go to
DIR/raw.jsonl (raw.py); report.py makes tables.
"""
import argparse
import contextlib
import ctypes
import fcntl
import fnmatch
import json
import os
import pathlib
import platform
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from . import cases, cpu_native, cpu_problem, figures, gates, raw, report
from .gates import COHORTS
from .run import Run

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
THREADS = 2
GAP_S = 0.001
ROUND_US = 1500.0       # of an arm's timed calls in a round
ROUNDS = (7, 400)       # the fewest and the most; few where a round takes long
CASE_S = 8.0            # what the rounds of one attempt may take
SETTLED = 0.02          # half the interval of a peer's median, in parts of it
SETTLED_CONTROL = 0.008
ATTEMPTS = 3
BUDGET_S = 480
LOAD_LIMIT_S = 300.0
FOLDER = "croft-arms-"
ARMS = ["croft", "eager", "compiled", "onnxruntime", "jax", "croft_c", "roofs", "control"]
ROW_ULPS = {"f32": 512.0, "f16": 8.0, "bf16": 8.0}  # past this a result is wrong, not inexact
LARGE = ["16384x4096", "32768x4096"]
STREAMED = ["sum", "softmax", "rmsnorm", "layernorm"]
TIERS = {  # (operators, shapes)
    "smoke": (["softmax", "cross_entropy"], ["17x257", "128x1024"]),
    "quick": (cases.OPERATORS, ["17x257", "64x4096"]),
    "base": (cases.OPERATORS, COHORTS["base"]),
    "wide": (cases.OPERATORS, COHORTS["wide"]),
    "gates": (cases.OPERATORS, cases.GATES),
    "halves": (STREAMED, ["64x4096", *LARGE]),
    "large": (STREAMED, LARGE),
}
ENVIRONMENT = {
    "OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS), "OMP_DYNAMIC": "false",
    "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "0", "TORCHINDUCTOR_COMPILE_THREADS": "1",
    # freed memory stays with the process: no page faults of functional peers in timed calls
    "MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 60), "MALLOC_ARENA_MAX": "1",
    "MALLOC_TOP_PAD_": str(1 << 26), "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
NO_SPINNING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0", "KMP_BLOCKTIME": "0"}


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Lost(Exception):
    """A process of arms that does not answer, fails in a round, or cannot start."""

    def __init__(self, name, why):
        super().__init__(f"{name} {why}")
        self.name = name


def settle(processors):
    """In a new process: where it runs, and that it ends with its driver, stopped or not."""
    os.sched_setaffinity(0, processors)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """An arm's process, as it is seen from the driver."""

    def __init__(self, name, kind, library, processors, options):
        environment = {**os.environ, **ENVIRONMENT, "CROFT_BENCH_PLANTED": str(options.plant)}
        if options.spin:
            environment["CROFT_BENCH_SPIN"] = "1"
        else:
            environment.update(NO_SPINNING)
        self.name, self.stops = name, options.spin
        self.child = subprocess.Popen(
            [sys.executable, str(HERE / "cpu_arm.py"), kind, str(library)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=options.log, env=environment,
            preexec_fn=lambda: settle(processors))

    def tell(self, **command):
        try:
            self.child.stdin.write(json.dumps(command) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError as error:
            raise Lost(self.name, "has ended") from error

    def answer(self, limit_s=LOAD_LIMIT_S):
        ready, _, _ = select.select([self.child.stdout], [], [], limit_s)
        line = self.child.stdout.readline() if ready else ""
        if not line:
            raise Lost(self.name, "has ended" if ready else f"took over {limit_s:.0f} s")
        return json.loads(line)

    def ask(self, **command):
        if self.stops:
            self.child.send_signal(signal.SIGCONT)
        self.tell(**command)
        answer = self.answer()
        if self.stops:
            self.child.send_signal(signal.SIGSTOP)
        return answer

    def kill(self):
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout):
            with contextlib.suppress(OSError):
                pipe.close()

    def end(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGCONT)
            self.child.stdin.close()
            try:
                self.child.wait(5)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


class Timed:
    """What is timed under a name: an arm, or one of the roofs' process."""

    def __init__(self, name, process, part=None):
        self.name, self.process, self.part, self.calls = name, process, part, 1

    def round(self, calls=None):
        part = {"part": self.part} if self.part else {}
        answer = self.process.ask(do="round", calls=calls or self.calls, **part)
        if "failed" in answer:
            raise Lost(self.process.name, f"fails in a round: {answer['failed']}")
        return answer

    def calibrate(self):
        """How many calls make up a round; microseconds of one."""
        time_us = self.round(1)["us"]
        if time_us < ROUND_US / 8:
            time_us = self.round(8)["us"]
        self.calls = max(1, min(100_000, round(ROUND_US / max(time_us, 0.01))))
        return time_us


def is_settled(arms):
    """Whether the medians of the ratios are known well enough: the control's, and the peers'."""
    found = figures.attempt_figures({"arms": arms})
    for name in ("control", *gates.PEERS["cpu"]):
        if name not in found:
            continue
        low, high = figures.interval(figures.each_ratio({"arms": arms}, "croft", name))
        most = SETTLED_CONTROL if name == "control" else SETTLED
        if (high - low) / 2 > most * found[name]["median"]:
            return False
    return True


def stolen_ms(processors):
    """Time that the hypervisor gave to others, of these processors, since the start."""
    ticks = 0
    for line in pathlib.Path("/proc/stat").read_text().splitlines():
        words = line.split()
        if words[0] in {f"cpu{number}" for number in processors}:
            ticks += int(words[8])
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


# ---- what is written about the machine ----

def first_line(path, word):
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith(word):
            return line.split(":", 1)[1].strip()
    return "unknown"


def cache_bytes():
    """Of the last level, as the system tells it."""
    found = 0
    for index in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = index.read_text().strip()
        scale = {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
        found = max(found, int(text.rstrip("KM")) * scale)
    return found


def versions():
    """Of all that is compared, without importing any of it here."""
    import importlib.metadata
    found = {"python": platform.python_version()}
    for name in ("torch", "onnxruntime", "jax", "jaxlib", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "missing"
    found["gcc"] = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True,
                                  check=False).stdout.strip()
    return found


def environment_of(options, processors):
    files = [HERE / name for name in ("cpu.py", "cpu_arm.py", "cpu_native.py", "cpu_onnx.py",
                                      "cpu_problem.py", "cpu_roof.c", "cases.py", "peer_rows.py")]
    notes = [f"{THREADS} threads on processors {processors}; "
             + ("workers spin as by themselves, other processes are stopped" if options.spin else
                "spinning off: " + " ".join(f"{a}={b}" for a, b in NO_SPINNING.items())),
             "JAX takes no output: each call makes one, of memory that the process kept",
             f"{GAP_S * 1e3:.0f} ms between arms; every round begins with untimed calls",
             "of each arm the threads that work most have a processor each"]
    record = {"record": "environment", "format": raw.FORMAT, "device_kind": "cpu",
              "device": "cpu " + first_line("/proc/cpuinfo", "model name")
                        + f", {THREADS} of {os.cpu_count()} processors",
              "driver": f"{platform.system()} {platform.release()}", "versions": versions(),
              "clocks": first_line("/proc/cpuinfo", "cpu MHz"), "host": platform.node(),
              "llc_bytes": cache_bytes(),
              "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
              "sources": raw.sources_of(ROOT, files), "command": options.command,
              "tier": options.tier, "seed": options.seed, "environment": {
                  **ENVIRONMENT, **({} if options.spin else NO_SPINNING)}, "notes": notes}
    if options.plant:
        record["plant"] = options.plant
    return record


# ---- a case ----

def memory_needed(case):
    """Of all arms at once, with an output that a functional one makes, and of the files."""
    elements = case["rows"] * case["width"]
    return len(ARMS) * (case["footprint"] + case["write"]) + case["read"] + 8 * elements


def memory_free():
    return int(first_line("/proc/meminfo", "MemAvailable").split()[0]) << 10


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.processors = options.processors
        self.native = cpu_native.Native.built(folder, self.processors)
        self.processes = {name: self.started(name) for name in ARMS}

    def started(self, name):
        kind = "planted" if name == "croft" and self.options.plant else name
        return Process(name, kind, self.native.path, self.processors, self.options)

    def start_again(self, name):
        """A new process in place of one that was lost."""
        self.processes[name].kill()
        self.processes[name] = self.started(name)
        answer = self.processes[name].answer()
        if "failed" in answer:
            raise Lost(name, f"cannot start again: {answer['failed']}")

    def wait_for_arms(self):
        """Lost, with all reasons, unless each arm could import what it needs."""
        missing = []
        for name, process in self.processes.items():
            try:
                answer = process.answer()
                if "failed" in answer:
                    missing.append(f"{name}: {answer['failed']}")
            except Lost as lost:
                missing.append(str(lost))
        if missing:
            raise Lost("arms:", "; ".join(missing))

    def end(self):
        for process in self.processes.values():
            process.end()

    def load(self, case, lost=None):
        """(what can be timed, arm records) of a case, without the arms that were lost in it: why
        of each."""
        lost = lost or {}
        command = {"do": "load", "case": case, "folder": str(self.folder)}
        asked = {name: one for name, one in self.processes.items() if name not in lost}
        answers = {name: {"failed": why} for name, why in lost.items()}
        now_lost = []
        for what in ("ask", "listen"):  # all of them are asked, and listened to, whoever is lost
            for name, process in asked.items():
                try:
                    if what == "listen":
                        answers[name] = process.answer()
                        continue
                    if self.options.spin:
                        process.child.send_signal(signal.SIGCONT)
                    process.tell(**command)
                except Lost as error:
                    now_lost.append(error)
        if now_lost:
            raise now_lost[0]
        if self.options.spin:
            for process in self.processes.values():
                process.child.send_signal(signal.SIGSTOP)
        timed, records = [], []
        for name in self.processes:
            answer = answers[name]
            record = {"record": "arm", "case": case["id"], "arm": name, "status": "ok"}
            if "failed" in answer:
                records.append({**record, "status": "failed", "why": answer["failed"]})
                continue
            if name == "roofs":
                timed += [Timed(part, self.processes[name], part) for part in answer["parts"]]
                records += self.roof_records(record, answer)
                continue
            bound = ROW_ULPS["f32" if case["dtype"] == "f32" else case["dtype"]]
            record.update({key: answer[key] for key in ("error_ulp", "error_row_ulp")},
                          error_bound=bound)
            for key in ("plan", "placed"):
                if answer.get(key):
                    record[key] = answer[key]
            if not answer["error_row_ulp"] <= bound:
                record.update(status="failed", why=f"wrong: {answer['error_row_ulp']:.3g} ulp of "
                              "the row's largest result", error_ulp=None, error_row_ulp=None)
            else:
                timed += [Timed(part or name, self.processes[name], part)
                          for part in answer.get("parts") or [None]]
            records.append(record)
        return timed, records

    @staticmethod
    def roof_records(record, answer):
        records = []
        for part in answer["parts"]:
            own = {**record, "arm": part}
            if part in answer["plan"]:
                own["roof_kernel"] = answer["plan"][part]
            if part == "hand":
                own.update(zip(("error_ulp", "error_row_ulp"), answer["hand_errors"]))
            records.append(own)
        return records

    def attempt(self, case, timed, rounds, number):
        arms = {one.name: [] for one in timed}
        faults, between = ({one.name: [] for one in timed} for _ in range(2))
        steal, work, wide = [], [], []
        for index in range(rounds):
            before = stolen_ms(self.processors)
            work.append(round(self.native.fixed_work_us(), 3))
            wide.append(round(self.native.wide_work_us(), 3))
            for one in timed if index % 4 in (0, 3) else reversed(timed):
                time.sleep(GAP_S)
                answer = one.round()
                arms[one.name].append(answer["us"])
                faults[one.name].append(answer["faults"])
                between[one.name].append(round(answer.get("between_us", 0.0), 1))
            steal.append(stolen_ms(self.processors) - before)
            if not self.options.rounds and index + 1 >= ROUNDS[0] and index % 4 == 3 and \
                    is_settled(arms):
                break
        return {"record": "samples", "case": case["id"], "phase": "wall", "attempt": number,
                "order": "forwards, backwards, backwards, forwards: " + " ".join(arms),
                "launches": {one.name: one.calls for one in timed}, "unit": "us", "arms": arms,
                "steal_ms": steal, "fixed_work_us": work, "wide_work_us": wide,
                "between_us": {name: statistics.median(many) for name, many in between.items()},
                "faults": {name: counts for name, counts in faults.items() if any(counts)}}

    def measure(self, case):
        """All records of a case."""
        needed, free = memory_needed(case), memory_free()
        if needed > free:
            why = f"{needed >> 20} MB of memory are needed, {free >> 20} are there"
            return [case, *({"record": "arm", "case": case["id"], "arm": name, "status": "failed",
                             "why": why} for name in ARMS)]
        cpu_problem.write(case, self.folder, self.options.seed)
        lost = {}
        while True:
            try:
                return self.measured(case, lost)
            except Lost as error:  # the case is measured once more, without it
                if error.name in lost or error.name not in self.processes:
                    raise
                lost[error.name] = str(error)
                self.start_again(error.name)

    def measured(self, case, lost):
        """The records of a case, of which some arms were lost before."""
        clock = first_line("/proc/cpuinfo", "cpu MHz")
        timed, records = self.load(case, lost)
        if not timed:
            return [case, *records]
        round_s = 0.0
        for one in timed:
            time.sleep(GAP_S)
            time_us = one.calibrate()
            round_s += GAP_S + max(1000.0, time_us) * 1e-6 + one.calls * time_us * 1e-6
        rounds = max(ROUNDS[0], min(ROUNDS[1], int(CASE_S / max(round_s, 1e-3))))
        rounds = self.options.rounds or rounds
        for number in range(1, ATTEMPTS + 1):
            samples = self.attempt(case, timed, rounds, number)
            records.append(samples)
            ratios = figures.attempt_figures(samples)
            if self.options.plant or not figures.is_unstable(ratios):
                break
        records.append({"record": "clock", "case": case["id"], "before": clock,
                        "after": first_line("/proc/cpuinfo", "cpu MHz"), "throttle": None})
        for process in self.processes.values():
            process.ask(do="drop")
        return [case, *records]


def memory_folder():
    """A folder in memory for what all arms read, and what holds it; those whose driver was killed
    are removed."""
    place = "/dev/shm" if os.path.isdir("/dev/shm") else tempfile.gettempdir()
    for path in pathlib.Path(place).glob(FOLDER + "*"):
        with contextlib.suppress(OSError), held(path):
            shutil.rmtree(path, ignore_errors=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix=FOLDER, dir=place))
    return folder, held(folder)


@contextlib.contextmanager
def held(path):
    """The folder is this process's; OSError where it is another's."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


def line_about(records):
    """One line of progress."""
    case, measured = records[0], [one for one in records if one["record"] == "samples"]
    if not measured:
        return f"{case['id']:36s} not measured: {records[1]['why']}"
    samples = measured[-1]
    ratios = figures.attempt_figures(samples)
    words = " ".join(f"{name} {figure['median']:.2f}" for name, figure in ratios.items())
    failed = [one["arm"] for one in records if one["record"] == "arm" and one["status"] != "ok"]
    own = samples["arms"].get("croft")
    return (f"{case['id']:36s} " + (f"{statistics.median(own):9.2f} us  " if own else "FAILED  ")
            + words + (f"  failed: {' '.join(failed)}" if failed else "")
            + ("  UNSTABLE" if figures.is_unstable(ratios) else ""))


def cases_of(options):
    operators, shapes = TIERS[options.tier]
    dtypes = cases.known(options.dtype, ["f32", "f16", "bf16"], "type") if options.dtype else (
        ["f32", "f16", "bf16"] if options.tier == "halves" else ["f32"])
    operators = cases.known(options.operators, cases.OPERATORS, "operator") \
        if options.operators else operators
    shapes = options.shapes.split(",") if options.shapes else shapes
    found = [cases.row_case(operator, dtype, shape).record() for dtype in dtypes
             for shape in shapes for operator in operators]
    for case in found:
        if len(case["axes"]) != 2:
            raise cases.BadCase(f"{case['id']} has not rows and columns")
    found = [case for case in found if not options.only or
             any(fnmatch.fnmatch(case["id"], pattern) for pattern in options.only)]
    if not found:
        raise cases.BadCase("no case fits")
    return found


def run_cases(bench, options, writer, wanted, begin):
    """Measures what is not finished; whether all of it is then."""
    for index, case in enumerate(wanted):
        if case["id"] in writer.finished:
            continue
        if options.budget and time.monotonic() - begin > options.budget:
            print(f"out of time, {len(wanted) - index} cases left: --resume goes on", flush=True)
            return False
        records = bench.measure(case)
        writer.case(records)
        spent = time.monotonic() - begin
        print(f"[{index + 1}/{len(wanted)} {spent:4.0f} s] {line_about(records)}", flush=True)
    return True


def processors_of(options):
    found = sorted(os.sched_getaffinity(0))
    if not options.cpus:
        return found[:THREADS]
    words = cases.known(options.cpus, [str(number) for number in found], "processor")
    return [int(word) for word in words]


def measure_cases(options, writer, wanted, begin):
    """Starts the arms and measures what is left; whether that was all of it."""
    folder, holding = memory_folder()
    bench = None
    with holding:
        try:
            with open(writer.path.parent / "arms.log", "a", encoding="utf-8") as options.log:
                bench = Bench(options, folder)
                bench.wait_for_arms()
                return run_cases(bench, options, writer, wanted, begin)
        finally:
            if bench:
                bench.end()
            shutil.rmtree(folder, ignore_errors=True)


def measure(options):
    """Runs a tier and writes its tables; 0, 1 when an arm failed, 2 when one is not there, 3 when
    the budget ended it."""
    out, begin, complete = pathlib.Path(options.out), time.monotonic(), False
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was begun is ended
    try:
        options.processors = processors_of(options)
        wanted = cases_of(options)
        os.sched_setaffinity(0, options.processors)
        writer = raw.Writer(out, environment_of(options, options.processors), options.resume)
        complete = measure_cases(options, writer, wanted, begin)
        writer.write([{"record": "end", "complete": complete,
                       "elapsed_s": round(time.monotonic() - begin, 1)}])
    except Lost as lost:
        print(f"compare: a failed run: {lost}", file=sys.stderr)
        return 2
    except (raw.Refused, cases.BadCase) as error:
        print(f"compare: {out}: {error}", file=sys.stderr)
        return 2
    report.write(out)
    if not complete:
        return 3
    arms = Run(raw.read(out / "raw.jsonl")).arms.values()
    return 1 if any(map(is_failure, arms)) else 0


def is_failure(record):
    """A peer that has no halves for an operator is told, and is none."""
    own = record["arm"] in ("croft", "control", "croft_c", "roofs")
    return record["status"] != "ok" and (own or "/f32/" in record["case"])


def parser():
    result = argparse.ArgumentParser(
        prog="compare.py --device cpu",
        description="Measures Croft beside PyTorch, ONNX Runtime and JAX on two processors.",
        epilog="Ends with 0, 1 when an arm failed in a case, 2 when one is not there or OUT is of "
               "another run, 3 when the budget ended it (--resume goes on).")
    add = result.add_argument
    add("file", nargs="?", help=argparse.SUPPRESS)
    add("--peer", help=argparse.SUPPRESS)
    add("--device", choices=["cpu"], required=True)
    add("--tier", choices=list(TIERS), default="base")
    add("--dtype", help="f32, f16, bf16, or several with commas (f32; halves: all three)")
    add("--operators", help="instead of the tier's, with commas")
    add("--shapes", help="instead of the tier's, as 64x4096,17x257")
    add("--only", action="append", metavar="ID", help="cases whose name fits; * fits all")
    add("--out", required=True, metavar="DIR")
    add("--budget", type=float, metavar="SECONDS", default=BUDGET_S, help="0: none")
    add("--resume", action="store_true", help="goes on with what OUT has")
    add("--rounds", type=int, metavar="N", help="of each attempt, instead of 7 to 15")
    add("--seed", type=int, default=1, help="of the inputs")
    add("--cpus", metavar="A,B", help="the processors; without it the first two of this process")
    add("--passive", dest="spin", action="store_false",
        help="workers do not spin, and no process is stopped")
    add("--plant", type=float, default=0.0, metavar="FACTOR",
        help="makes Croft's arm so many times slower, to show that it is seen (1.10)")
    return result


def main(arguments):
    reads = parser()
    options = reads.parse_args(arguments)
    if options.file or options.peer:
        reads.error("a kernel file of yours is measured on a GPU alone so far; docs/python.md "
                    "times its calls on a cpu")
    options.command = "compare.py " + " ".join(arguments)
    if options.plant and not 1 < options.plant <= 2:
        parser().error("--plant takes a factor above 1, up to 2")
    if not 0 <= options.budget < 1e9 or (options.rounds or 0) < 0:
        parser().error("--budget and --rounds take a number from 0 on")
    return measure(options)
