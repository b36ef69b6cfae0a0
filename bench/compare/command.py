"""The command: options, caches, which cases, and the course of a run on this device."""
import argparse
import datetime
import fnmatch
import os
import pathlib
import platform
import sys
import time

from . import cases, measuring, prepare, raw
from .kernel_file import BadKernel

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
BUDGET_S = 480
# Tiers that are about a kernel file of ours and its peer.
TIER_FILES = {"transposes": (BENCH / "kernels" / "transpose.croft",
                             BENCH / "compare" / "peer_transposes.py")}
# Of some tiers: cases of the peer that are repeated first, seconds for the rounds of a phase, and
# microseconds of a replay.
RECORDED = {"smoke": 2, "transposes": 2}
PHASE_S, REPLAY_US = {"transposes": 0.2}, {"transposes": 200.0}
# What a result on a GPU depends on, of the harness.
FILES = ["arms", "cases", "clock", "course", "cuda", "driver", "kernel_file", "measuring",
         "outputs", "peer_rows", "peer_transposes", "peers", "precompile", "prepare", "recorded",
         "roof", "transposes"]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="compare.py", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Measures Croft beside PyTorch on this machine; samples go to OUT/raw.jsonl.",
        epilog="compare.py --merge DIR... --out OUT makes one run of several that agree in\n"
               "device, driver, versions and sources.\n\n"
               "Ends with 0, with 1 when an arm failed, 3 when the budget ended it (--resume goes\n"
               "on), 4 when the peer is slower here than where it was recorded: that run is void.")
    add = parser.add_argument
    add("file", nargs="?", help="a kernel file; without it, the six row operators of examples/")
    add("--peer", help="defines make, EAGER, FUNCTION, OUTPUT (peer_rows.py) for FILE; "
                       "without it FILE is measured beside the roof alone")
    add("--device", choices=["cuda", "cpu"], required=True,
        help="cuda; `--device cpu --help` for the options of that")
    add("--tier", choices=cases.TIERS, default="quick")
    add("--smoke", action="store_true", help="three cases, all arms and phases (--tier smoke)")
    add("--random-shapes", metavar="SEED", type=int, help="--tier random with this seed")
    add("--dtype", help="types, with commas: f32,bf16,f16 (f32; of the tier halves bf16)")
    add("--operators", help="some of the six, with commas")
    add("--only", action="append", metavar="ID", help="cases whose name fits; * fits all")
    add("--out", metavar="DIR", help="needed, but with --prepare")
    add("--budget", type=float, metavar="SECONDS", default=BUDGET_S)
    add("--resume", action="store_true", help="goes on with what OUT has")
    add("--cache", metavar="DIR", default=str(ROOT / "build" / "bench_cache"),
        help="what is compiled stays here")
    add("--carry", metavar="DIR", help="programs that --prepare made; those of the "
        "same build of NVRTC are taken")
    add("--prepare", metavar="DIR", help="measures nothing and needs no GPU: compiles Croft's "
        "programs of these cases into DIR, for --carry")
    add("--recorded", type=int, metavar="N", help="recorded cases of the peer that are repeated "
        "first (10; of the tiers smoke and transposes 2); the file says how many")
    add("--phase", type=float, metavar="SECONDS", help="for the rounds of one phase of a case "
        "(0.5; of the tier transposes 0.2)")
    add("--attempts", type=int, default=3)
    add("--plant", type=float, metavar="FACTOR",
        help="makes Croft's arm so many times slower, to show that it is seen (1.10)")
    add("--workers", type=int, default=16, help="processes that compile")
    options = parser.parse_args(arguments)
    if options.smoke:
        options.tier = "smoke"
    if options.random_shapes is not None:
        options.tier = "random"
    if options.recorded is None:
        options.recorded = RECORDED.get(options.tier, 10)
    options.phase = options.phase or PHASE_S.get(options.tier, 0.5)
    if not options.out and not options.prepare:
        parser.error("--out is needed")
    if options.peer and not options.file:
        parser.error("--peer is about FILE")
    options.own = [path for path in (options.file, options.peer) if path]
    if options.tier in TIER_FILES:
        if options.file:
            parser.error(f"the tier {options.tier} has a file of its own")
        options.file, options.peer = TIER_FILES[options.tier]
    if options.plant is not None and not 1 < options.plant <= 2:
        parser.error("--plant takes a factor above 1, up to 2")
    for name, least in (("budget", 0), ("phase", 0), ("attempts", 1), ("workers", 1),
                        ("recorded", 0)):
        if not least <= getattr(options, name) < 1e9:  # which no NaN is
            parser.error(f"--{name} takes a number from {least} on")
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def settle_caches(options):
    """Before any framework is imported: where everything that is compiled stays."""
    cache = pathlib.Path(options.cache).resolve()
    home = cache / "home"
    for folder in (cache, home, home / "croft"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ.update(XDG_CACHE_HOME=str(home), TORCHINDUCTOR_CACHE_DIR=str(cache / "inductor"),
                      TORCHINDUCTOR_COMPILE_THREADS="1", CROFT_BENCH_ROOFS=str(cache / "roofs"))
    settle_path()
    return cache


def settle_path():
    """The package and this harness, for this process and the workers."""
    paths = [str(BENCH), str(ROOT / "python")]
    os.environ["PYTHONPATH"] = os.pathsep.join(
        paths + [path for path in [os.environ.get("PYTHONPATH")] if path])
    sys.path[:0] = [path for path in paths if path not in sys.path]


def processor():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def environment_of(options, arguments, device):
    """The first record: what the run is of."""
    files = [BENCH / "compare.py", *(BENCH / "compare" / f"{name}.py" for name in FILES),
             *(path for path, _ in TIER_FILES.values()), *options.own]
    now = datetime.datetime.now(datetime.timezone.utc)
    alone = {"peers": []} if options.file and not options.peer else {}
    return {"record": "environment", "format": raw.FORMAT, **device.environment(), **alone,
            "host": {"processor": processor(), "cores": os.cpu_count(),
                     "system": platform.system(), "kernel": platform.release()},
            "date": now.isoformat(timespec="seconds"), "sources": raw.sources_of(ROOT, files),
            "command": "compare.py " + " ".join(arguments), "tier": options.tier,
            "seed": options.random_shapes, "plant": options.plant, "recorded": options.recorded,
            "phase_s": options.phase}


def subjects_of(options, arms, peers):
    """operator -> what is measured under its name."""
    if options.file:
        peer = peers.load(options.peer) if options.peer else None
        subject = arms.Subject(options.file, peer)
        return {subject.operator: subject}
    rows = peers.load()
    return {name: arms.Subject(ROOT / "examples" / f"{name}.croft", rows)
            for name in cases.OPERATORS}


def chosen_cases(options, subjects):
    """The cases of the tier that the options leave."""
    def make(operator, dtype, shape):
        subject = subjects[operator]
        if not options.file:
            return cases.row_case(operator, dtype, shape)
        name = pathlib.Path(options.file).name
        moved = getattr(subject.peer, "TENSORS_MOVED", {}).get(operator)
        if moved:
            return cases.row_case(operator, dtype, shape, moved, name)
        return subject.kernel.case(dtype, shape, name)

    operators = cases.known(options.operators, list(subjects), "operator") \
        if options.operators else list(subjects)
    dtypes = cases.known(options.dtype, ["f32", "bf16", "f16"], "type") if options.dtype else None
    found = cases.cases_of(options.tier, dtypes, options.random_shapes or 0, make,
                           operators if operators != cases.OPERATORS else None)
    return some([case for case in found if is_wanted(case, options.only)])


def some(found):
    """The cases, of which there has to be one: nothing measured is no success."""
    if not found:
        raise cases.BadCase("no case fits")
    return found


def is_wanted(case, only):
    return not only or any(fnmatch.fnmatch(case.id, pattern) for pattern in only)


def run_cuda(options, arguments):
    begin = time.perf_counter()
    cache = settle_caches(options)
    kept = cache / "home" / "croft"
    carried = prepare.carry(options.carry, kept) if options.carry else []
    before = set(prepare.programs_in(kept))
    try:
        import croft
        import torch
        from . import arms, cuda, peers, precompile
        if not torch.cuda.is_available():
            say("no CUDA device")
            return 1
        peers.settle_compiler()
        device = cuda.Device()
        subjects = subjects_of(options, arms, peers)
        environment = environment_of(options, arguments, device)
    except (ImportError, OSError) as error:
        say(f"a peer or Croft cannot be imported: {error}; a run without it is no comparison")
        return 1
    except (BadKernel, ValueError, SyntaxError, AttributeError) as error:
        say(f"{options.file} or its peer: {error}")
        return 2
    from .course import VOID, Course
    from .recorded import recorded_cases
    say(f"{environment['device']}, driver {environment['driver']}, torch {environment['torch']}, "
        f"events {environment['events']}")
    chosen = chosen_cases(options, subjects)
    writer = raw.Writer(options.out, environment, options.resume)
    left = [case for case in chosen if case.id not in writer.finished]
    rows = subjects if not options.file else subjects_of(
        argparse.Namespace(file=None), arms, peers) if options.peer else {}
    dtype = options.dtype.split(",")[0] if options.dtype else \
        cases.DTYPES.get(options.tier, ["f32"])[0]
    checked = recorded_cases(dtype, options.recorded) if rows and not writer.checked else []
    peer_path = str(pathlib.Path(options.peer).resolve()) if options.peer else None

    def subject_of(case):
        return subjects[case.operator] if case.file or not options.file else rows[case.operator]

    def peer_of(case):
        return peer_path if case.file else str(peers.ROWS)

    tasks = precompile.tasks_of(left + checked, lambda case: subject_of(case).path.resolve(),
                                peer_of)
    precompile.compile_all(tasks, dict(os.environ), say, options.workers)
    precompile.forget_choices(cache / "inductor")
    if options.carry:
        say(f"carried: {len(carried)} programs, of which {prepare.used(kept, carried)} were found; "
            f"{len(set(prepare.programs_in(kept)) - before)} were compiled here")
    roofs = arms.Roofs(device, cache / "roofs")

    def open_stand(case, count, only=None):
        torch.manual_seed(options.random_shapes or 0)
        return arms.Stand(device, subject_of(case), case, count, croft, roofs, only)

    settings = measuring.Settings(
        phase_s=options.phase, plant=options.plant,
        replay_us=REPLAY_US.get(options.tier, measuring.REPLAY_US),
        attempts=1 if options.plant else options.attempts)
    course = Course(device, open_stand, writer, settings, say)
    course.begin = begin
    good = course.check_peer(checked) if checked else not writer.void
    status = course.run(chosen, options.budget)
    return course.end(status if good else VOID, void=not good)


def run_prepare(options):
    """Croft's programs of the cases, into a folder; nothing is measured."""
    try:
        prepare.settle(options.prepare)
        settle_path()
        from . import arms, peers, precompile
        subjects = subjects_of(options, arms, peers)
    except (ImportError, OSError) as error:
        say(f"compare: {error}")
        return 1
    chosen = chosen_cases(options, subjects)
    peer = str(pathlib.Path(options.peer).resolve()) if options.peer else None
    tasks = precompile.carried_tasks_of(
        chosen, lambda case: subjects[case.operator].path.resolve(),
        lambda case: peer if options.file else str(peers.ROWS))
    failures = precompile.compile_all(tasks, dict(os.environ), say, options.workers,
                                      limit_s=float("inf"))
    say(f"{options.prepare}: {len(prepare.programs_in(options.prepare))} programs of "
        f"{len(chosen)} cases")
    return 1 if failures else 0


def main(arguments):
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--device")
    first.add_argument("--merge", nargs="+", metavar="DIR")
    found, rest = first.parse_known_args(arguments)
    if found.merge:  # report.py has it
        from . import report
        return report.main(["merge", *found.merge, *rest])
    if found.device == "cpu":  # which has options of its own
        try:
            from . import cpu
        except ModuleNotFoundError as error:
            say(f"{error.name} is not installed in the Python that runs this, {sys.executable}")
            return 1
        return cpu.main(arguments)
    options = parse(arguments)
    try:
        return run_prepare(options) if options.prepare else run_cuda(options, arguments)
    except raw.Refused as error:
        say(f"{options.out}: {error}")
        return 1
    except (cases.BadCase, BadKernel) as error:
        say(f"compare: {error}")
        return 2
