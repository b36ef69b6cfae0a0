"""What bench/compare makes of files that were edited, cut or of another run, of processes that die,
and of options that mean nothing.

tier: check
builds: none
"""
import contextlib
import fcntl
import gzip
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from compare import cases, command, cpu, cpu_native, kernel_file, raw, report  # noqa: E402
from compare.run import Run  # noqa: E402

SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="broken-"))
PROCESSORS = sorted(os.sched_getaffinity(0))[:2]
ENVIRONMENT = {"record": "environment", "format": 1, "device": "cpu made up", "device_kind": "cpu",
               "driver": "1", "versions": {}, "sources": {}, "tier": "base", "seed": 1}
failures = 0


def case(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def refused(name, call, *words, kind=raw.Refused):
    try:
        call()
    except kind as error:
        case(name, all(word in str(error) for word in words), error)
    else:
        case(name, False, "nothing was refused")


def records_of(**arms):
    """One case with samples of these arms."""
    about = cases.row_case("softmax", "f32", "3x5").record()
    arms = {"croft": [1.0, 2.0], "control": [1.0, 2.0], **arms}
    return [ENVIRONMENT, about,
            {"record": "samples", "case": about["id"], "phase": "wall", "attempt": 1, "arms": arms},
            {"record": "finished", "case": about["id"]},
            {"record": "end", "complete": True, "elapsed_s": 1.0}]


def folder_of(records):
    folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
    raw.write_whole(folder / "raw.jsonl", records)
    return folder


def edited_files():
    good = records_of()
    for name, arms, words in (
            ("not_a_number", {"croft": [1.0, float("nan")]}, "no times"),
            ("without_an_end", {"croft": [1.0, float("inf")]}, "no times"),
            ("zero", {"croft": [0.0, 1.0]}, "no times"), ("negative", {"jax": [-1.0, 1.0]}, "jax"),
            ("a_text", {"croft": ["1.0", 1.0]}, "no times"), ("no_list", {"croft": 3}, "no times"),
            ("a_round_less", {"jax": [1.0]}, "different numbers of rounds")):
        folder = folder_of(records_of(**arms))
        refused(f"samples/{name}", lambda: raw.read(folder / "raw.jsonl"), "raw.jsonl:3", words)
        case(f"samples/{name}_ends_with_2", ends(folder) == 2)
    for name, line in (("no_json", b"{"), ("no_record", b"{}"), ("no_object", b"3"),
                       ("zeros", b"\0" * 20), ("no_utf8", b'{"record": "\xff"}'),
                       ("no_case", b'{"record": "samples", "phase": "wall", "arms": {}}'),
                       ("no_arms", b'{"record": "samples", "case": "x", "phase": "wall"}')):
        folder = folder_of(good)
        lines = (folder / "raw.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "raw.jsonl").write_bytes(b"".join([*lines[:2], line + b"\n", *lines[2:]]))
        refused(f"lines/{name}", lambda: raw.read(folder / "raw.jsonl"), "raw.jsonl:3")
        refused(f"lines/{name}_resumed", lambda: raw.Writer(folder, ENVIRONMENT, True), ":3")
    other = dict(ENVIRONMENT, format=2)
    refused("another_format", lambda: raw.read(folder_of([other]) / "raw.jsonl"), "format 2")
    samples = good[2]
    for name, records, words in (
            ("an_attempt_left_out", [*good[:2], dict(samples, attempt=2)], "attempt"),
            ("an_attempt_twice", [*good[:3], samples], "attempt"),
            ("samples_of_no_case", [good[0], samples], "no case"),
            ("no_environment_first", good[1:], "environment"), ("nothing", [], "environment")):
        refused(f"records/{name}", lambda: Run(records), words)


def ends(folder):
    """How report.py ends, which never is with a traceback."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        return report.main([str(folder)])


def files_that_are_there():
    folder = folder_of(records_of())
    before = (folder / "raw.jsonl").read_bytes()
    refused("samples_are_not_begun_anew", lambda: raw.Writer(folder, ENVIRONMENT), "--resume")
    for key, value in (("tier", "wide"), ("seed", 2), ("phase_s", 0.1),
                       ("environment", {"KMP_BLOCKTIME": "0"})):
        refused(f"another_{key}_does_not_go_on",
                lambda: raw.Writer(folder, dict(ENVIRONMENT, **{key: value}), True), key)
    case("what_is_refused_stays_as_it_was", (folder / "raw.jsonl").read_bytes() == before)
    for name, text in (("empty", b""), ("cut_at_once", b'{"record": "envi')):
        folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        (folder / "raw.jsonl").write_bytes(text)
        raw.Writer(folder, ENVIRONMENT, True)
        case(f"a_file_that_is_{name}_goes_on", raw.read(folder / "raw.jsonl") == [ENVIRONMENT])
    folder = folder_of(records_of())
    (folder / "raw.jsonl.gz").write_bytes(gzip.compress(b""))
    refused("a_file_that_is_there_twice", lambda: raw.read(folder / "raw.jsonl"), "twice")
    (folder / "raw.jsonl").unlink()
    refused("a_run_that_is_kept_is_not_begun_anew", lambda: raw.Writer(folder, ENVIRONMENT), "kept")
    (SCRATCH / "file").write_text("")
    refused("a_folder_that_cannot_be_made", lambda: raw.Writer(SCRATCH / "file" / "x", ENVIRONMENT),
            "cannot be made")
    (SCRATCH / "taken" / "raw.part").mkdir(parents=True)
    refused("a_file_that_cannot_be_written", lambda: raw.Writer(SCRATCH / "taken", ENVIRONMENT),
            "cannot be written")
    check = {"record": "peer_check", "limit": 0.1, "cases": [], "void": ["x"]}
    writer = raw.Writer(folder_of([ENVIRONMENT, check]), ENVIRONMENT, True)
    case("a_void_run_stays_void", writer.checked and writer.void)


def cut_anywhere():
    """A file that was cut at any byte goes on with the cases that are whole."""
    records = records_of()
    second = [dict(one, **({"id": "b"} if "id" in one else {"case": "b"})) for one in records[1:4]]
    whole = "".join(map(raw.line_of, [*records[:4], *second])).encode()
    finished, folder = [], pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
    for size in range(0, len(whole) + 1, 7):
        (folder / "raw.jsonl").write_bytes(whole[:size])
        writer = raw.Writer(folder, ENVIRONMENT, True)
        finished.append(len(writer.finished))
        Run(raw.read(writer.path))
    case("cut_at_any_byte", finished == sorted(finished) and set(finished) == {0, 1}, finished)


def hashes():
    """Files of a user's own never stand for the compiler's."""
    for name in (b"src", b"examples", b"\xff.croft"):
        (SCRATCH / os.fsdecode(name)).write_text("kernel")
    found = raw.sources_of(ROOT, [])
    own = raw.sources_of(ROOT, [SCRATCH / os.fsdecode(name) for name in (b"src", b"\xff.croft")])
    case("a_file_called_src", own["src"] == found["src"] and len(own) == len(found) + 2, own)
    json.dumps(own)


def heads():
    first = kernel_file.read_kernel("kernel k(T: f32 | f16, x: in T[R, N], y: out T[R, N]) {")
    case("types_before_tensors", first.case("f16", "3x5").reads == (30,), first)
    twice = kernel_file.read_kernel("kernel k(x: in u32[R, 2 * N], y: out f32[R, N + 1]) {")
    case("formulas_of_sizes", twice.shapes((3, 5)) == {"x": (3, 10), "y": (3, 6)}
         and twice.case("f32", "3x5").reads == (120,), twice.shapes((3, 5)))
    for size in ("N ** N", "N / 0", "__import__('os')", "N +"):
        kernel = kernel_file.read_kernel(f"kernel k(x: in f32[R, {size}]) {{")
        refused(f"size/{size}", lambda: kernel.shapes((3, 5)), kind=kernel_file.BadKernel)


def options_of_a_cpu():
    for words, said in ((["--only", "nothing"], "no case fits"), (["--operators", "x"], "'x'"),
                        (["--dtype", "f64"], "f64"), (["--shapes", "0x5"], "0x5"),
                        (["--shapes", "5"], "rows and columns"), (["--shapes", "axb"], "axb"),
                        (["--cpus", "99999"], "99999"), (["--budget", "nan"], "--budget"),
                        (["--plant", "0.5"], "--plant"), (["--rounds", "-1"], "--rounds")):
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            try:
                status = command.main(["--device", "cpu", "--out", str(SCRATCH / "none"), *words])
            except SystemExit as error:
                status = error.code
        case(f"cpu/{'_'.join(words)}", status == 2 and said in text.getvalue()
             and "Traceback" not in text.getvalue(), text.getvalue())
    case("nothing_was_begun", not (SCRATCH / "none").exists())
    for words in (["--budget", "-1"], ["--phase", "nan"], ["--attempts", "0"], ["--workers", "0"],
                  ["--recorded", "-1"], ["--plant", "0"]):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                command.parse(["--device", "cuda", "--out", "x", *words])
                case(f"cuda/{'_'.join(words)}", False, "it was taken")
            except SystemExit as error:
                case(f"cuda/{'_'.join(words)}", error.code == 2)


class Dying:
    """An arm's process that dies as often as it is told to, where it is told to."""
    deaths = {}

    def __init__(self, name):
        self.name, self.ready = name, True

    def die(self, where):
        left = self.deaths.get((self.name, where), 0)
        if left:
            self.deaths[self.name, where] = left - 1
            raise cpu.Lost(self.name, "has ended")

    def tell(self, **_):
        self.die("tell")

    def answer(self):
        if self.ready:
            self.ready = False
            return {"ready": self.name}
        self.die("load")
        return {"error_ulp": 1.0, "error_row_ulp": 0.5, "plan": None, "parts": {}}

    def ask(self, **words):
        if words["do"] == "round":
            self.die("round")
        return {"us": 4000.0, "faults": 0}

    def kill(self):
        pass


def arms_that_die(native):
    cpu.GAP_S = 0.0
    about = cases.row_case("softmax", "f32", "3x5").record()
    for name, where in (("jax", "load"), ("jax", "round"), ("croft", "round"), ("eager", "tell")):
        bench = cpu.Bench.__new__(cpu.Bench)
        bench.options = types.SimpleNamespace(spin=False, plant=0.0, rounds=4, seed=1)
        bench.folder, bench.processors = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)), PROCESSORS
        bench.native, bench.started = native, Dying
        bench.processes = {one: Dying(one) for one in cpu.ARMS}
        for one in bench.processes.values():
            one.answer()
        Dying.deaths = {(name, where): 1}
        records = bench.measure(about)
        failed = {one["arm"]: one["why"] for one in records if one.get("status") == "failed"}
        arms = [one["arms"] for one in records if one["record"] == "samples"][-1]
        case(f"dies/{name}_{where}", failed == {name: f"{name} has ended"} and name not in arms
             and {"control", "compiled"} <= set(arms), failed)
        again = bench.measure(about)
        case(f"dies/{name}_{where}_lives_again", not any(
            one.get("status") == "failed" for one in again))


DRIVER = """
import os, pathlib, sys, time, types
sys.path.insert(0, {bench!r})
from compare import cpu
folder, holding = cpu.memory_folder()
with holding, open({log!r}, "w") as log:
    (folder / "exact").write_text("large")
    options = types.SimpleNamespace(spin=True, plant=0.0, log=log)
    process = cpu.Process("roofs", "roofs", {native!r}, {processors!r}, options)
    process.answer()
    process.child.send_signal(19)
    print(folder, process.child.pid, flush=True)
    time.sleep(60)
"""


def killed_drivers(native):
    """Neither processes nor memory outlive a driver that is killed."""
    code = DRIVER.format(bench=str(ROOT / "bench"), log=str(SCRATCH / "log"),
                         native=str(native.path), processors=PROCESSORS)
    drivers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
               for _ in range(2)]
    told = [driver.stdout.readline().split() for driver in drivers]
    drivers[0].send_signal(signal.SIGKILL)
    drivers[0].wait()
    until = time.monotonic() + 20
    while is_alive(int(told[0][1])) and time.monotonic() < until:
        time.sleep(0.05)
    case("a_stopped_process_ends_with_its_driver", not is_alive(int(told[0][1])))
    left = os.path.exists(told[0][0])
    folder, holding = cpu.memory_folder()
    with holding:
        case("memory_of_a_killed_driver_is_given_back", left and not os.path.exists(told[0][0]))
        case("memory_of_another_driver_stays", os.path.exists(told[1][0] + "/exact"))
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            case("a_folder_is_held", False)
        except OSError:
            case("a_folder_is_held", True)
        os.close(handle)
        os.rmdir(folder)
    drivers[1].kill()
    drivers[1].wait()
    with contextlib.suppress(OSError):
        os.remove(told[1][0] + "/exact")
        os.rmdir(told[1][0])


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def merges():
    first, second = records_of(), records_of()
    second = [dict(one, **({"id": "b"} if "id" in one else {"case": "b"} if "case" in one else {}))
              for one in second]
    folder, another = folder_of(first), folder_of(second)
    spinning = folder_of([dict(ENVIRONMENT, environment={"KMP_BLOCKTIME": "0"}), *second[1:]])
    before = (folder / "raw.jsonl").read_bytes()
    refused("workers_that_spin_and_do_not", lambda: report.merge([folder, spinning], folder),
            "environment")
    (folder / "raw.part").mkdir()
    refused("a_merge_that_cannot_be_written", lambda: report.merge([folder, another], folder))
    case("a_refused_merge_leaves_its_runs", (folder / "raw.jsonl").read_bytes() == before)
    told = io.StringIO()
    case("two_runs_without_a_common_case_are_not_alike",
         report.twice(folder, another, told) == 1 and "alone" in told.getvalue(), told.getvalue())


native = cpu_native.Native.built(pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)), PROCESSORS)
for part in (edited_files, files_that_are_there, cut_anywhere, hashes, heads, options_of_a_cpu,
             merges):
    part()
arms_that_die(native)
killed_drivers(native)
sys.exit(1 if failures else 0)
