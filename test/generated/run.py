#!/usr/bin/env python3
"""Generated kernels through the whole pipeline, and the regressions that they left.

    run.py [--seed N] [--count K] [-j 2] [--croft build/croft] [--shrink 150] [--keep FOLDER]

tier: check check-long
builds: release asan

Each kernel of generate.py runs under the fallback and the row plan with --check, and where no sum
of floats is involved both must give the same bits (judge.py). A kernel that fails is shrunk and
printed with the command that reproduces it. Without --seed: all of test/regressions, then kernels
of one fixed and of one fresh seed; the fresh one is CROFT_SEED. At least 95% of the kernels must
give finite results on most elements.

A regression is a kernel file whose comments give its arguments, `# run: x=randn:4x8 y`; outputs
stand by their names alone (`z=randn:4:f32,` for inout), after `# loose:` those whose bits may
depend on the plan. `# axis M: slot 2 | step 8` gives its third plan digits; else they are chosen.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402
import judge  # noqa: E402
import seeds  # noqa: E402
import shrink  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXED_SEED = 1
# Of the fixed and of the fresh seed: check has 8 minutes.
COUNTS = {"check": {"release": (12, 6), "asan": (4, 1)},
          "check-long": {"release": (120, 60), "asan": (12, 6)}}
FINITE_SHARE = 0.95
FEWEST = 40  # kernels


class Result:
    def __init__(self, name, verdict, report=""):
        self.name, self.verdict, self.report = name, verdict, report


def reproduce(croft, path, finding, kernel):
    return shlex.join(judge.command(croft, path, finding.plan, kernel, None))


def report_failure(options, name, kernel, finding, folder):
    """The shrunk kernel with what is wrong and the command."""
    path = pathlib.Path(folder) / "shrunk.croft"

    def judged(text, arguments, outputs):
        path.write_text(text)
        smaller = generate.Kernel(text, arguments, outputs, kernel.may_fault, kernel.machines,
                                  kernel.plan_seed)
        return smaller, judge.judge(options.croft, path, smaller, folder).finding

    def fails(text, arguments, outputs):
        found = judged(text, arguments, outputs)[1]
        return found is not None and found.kind == finding.kind

    smallest, found = judged(*shrink.shrink(kernel.text, kernel.arguments, kernel.outputs, fails,
                                            options.shrink))
    finding = found or finding
    kept = "KERNEL.croft"
    if options.keep:
        kept = f"{options.keep}/{name}.croft"
        pathlib.Path(kept).write_text(smallest.text)
        pathlib.Path(kept + ".full").write_text(
            kernel.text + "# " + " ".join(kernel.arguments) + "\n")
    return (f"{name}: {finding.kind} ({finding.plan} plan)\n{smallest.text}"
            f"{finding.text.rstrip()}\n  {reproduce(options.croft, kept, finding, smallest)}\n")


def run_kernel(options, seed, kernel):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.croft"
        path.write_text(kernel.text)
        verdict = judge.judge(options.croft, path, kernel, folder)
        report = ""
        if verdict.finding:
            report = report_failure(options, f"seed-{seed}", kernel, verdict.finding, folder)
    return Result(f"seed-{seed}", verdict, report)


def head_words(text, word):
    lines = re.findall(rf"^# {word}: (.*)$", text, re.MULTILINE)
    return [w for line in lines for w in line.split()]


def run_regression(options, path):
    text = path.read_text()
    loose = head_words(text, "loose")
    arguments, outputs = [], []
    for word in head_words(text, "run"):
        name, equals, value = word.partition("=")
        if not equals or value.endswith(","):
            outputs.append((name, value, name in loose))
        else:
            arguments.append(word)
    may_fault = bool(head_words(text, "fault"))
    kernel = generate.Kernel(text, arguments, outputs, may_fault, (None, None), path.stem)
    kernel.plan_axes = dict(re.findall(r"^# axis (\S+): (.*)$", text, re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        verdict = judge.judge(options.croft, path, kernel, folder)
    report = ""
    if verdict.finding:
        report = (f"{path}: {verdict.finding.kind} ({verdict.finding.plan} plan)\n"
                  f"{verdict.finding.text}\n"
                  f"  {reproduce(options.croft, path, verdict.finding, kernel)}\n")
    return Result(f"regression-{path.stem}", verdict, report)


def print_result(result):
    if result.verdict.finding:
        print(result.report, flush=True)
        print(f"not ok {result.name}: {result.verdict.finding.kind}", flush=True)
    else:
        print(f"ok {result.name}", flush=True)


def print_finite(options, results):
    """Whether nearly all kernels give finite results on most elements. Few kernels tell nothing."""
    wild = [r for r in results if r.verdict.floats > 2 * r.verdict.finite and not r.verdict.finding]
    for result in wild:
        verdict = result.verdict
        print(f"  {result.name}: {verdict.finite} of {verdict.floats} floats are finite")
    row = sum(r.verdict.row for r in results)
    changed = sum(r.verdict.changed for r in results)
    print(f"{len(results)} kernels, {row} with a row plan, {changed} with a changed plan, "
          f"{len(wild)} mostly not finite")
    few = len(results) < FEWEST or options.special
    good = few or len(wild) <= (1 - FINITE_SHARE) * len(results)
    if not good:
        print("not ok finite-share: the generator makes too many kernels without finite results")
    return good


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--croft", default=os.environ.get("CROFT", str(ROOT / "build" / "croft")))
    parser.add_argument("--shrink", type=int, default=120, help="runs spent on making it smaller")
    parser.add_argument("--special", action="store_true", help="all float inputs are special")
    parser.add_argument("--keep", help="a folder for the shrunk kernels")
    return parser.parse_args()


def main():
    options = parse_options()
    kind = "release" if os.environ.get("CROFT_KIND", "release") == "release" else "asan"
    counts = COUNTS[seeds.TIER][kind]
    regressions = sorted((ROOT / "test" / "regressions").glob("*.croft")) \
        if options.seed is None else []
    if os.environ.get("CROFT_KIND") == "asan":  # what they broke was no matter of memory
        regressions = regressions[::3]
    results, failed = [], 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for result in pool.map(lambda path: run_regression(options, path), regressions):
            print_result(result)
            failed += result.verdict.finding is not None
        names = seeds.names(options, FIXED_SEED, counts)
        for result in pool.map(lambda seed: run_kernel(
                options, seed, generate.generate(seed, options.special)), names):
            print_result(result)
            results.append(result)
            failed += result.verdict.finding is not None
    good = print_finite(options, results)
    sys.exit(1 if failed or not good else 0)


if __name__ == "__main__":
    main()
