#!/usr/bin/env python3
"""Mutants of the thread modules of all examples, of kernels that fix owners (test/mutate/kernels)
and of generated kernels: none may survive.

    run.py [--seed N] [--kernels 10] [--every N] [-j 2] [--mutate build/test/mutate]

tier: check-long
builds: release

Every operator of operators.c changes one thing at every place of a module (every N-th with
--every): a bound, a mask, an index, an identity, a list, a fact, a sync. The verifier must refuse
the mutant; one that it accepts must compute the same as the original on eight inputs, without a
finding of the simulator, or it has survived. Row and fallback plans, for a machine whose team is
one vector register and for one with several subgroups. Prints a table by operator.

The long tier takes the examples and the kernels that fix owners. `make mutate SEED=n` takes
generated kernels too; of those some
mutants survive today (docs/roadmap.md, What the verifier samples).
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "generated"))
import generate  # noqa: E402

MACHINES = ("cpu-avx2", "sm_90")
FIXED_SEED = 1
ROW = re.compile(r"^(\S.*?) +(\d+) +(\d+) +(\d+)$", re.MULTILINE)


def run(mutate, machine, path, every, seed):
    words = [mutate, "--machine", machine, "--every", str(every), "--seed", str(seed), str(path)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1000,
                          check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def is_followed(text):
    """Kernels of at most two dimensions, without constants to be given and without control or
    indices that depend on data: the comparison of thread module and program leaves those out."""
    tensors = re.findall(r": (?:in|out|inout) \w+\[([^\]]*)\]", text)
    control = re.findall(r"^ *(?:for|if) (.*)\{$", text, re.MULTILINE)
    gathers = re.search(r"\w\[[^\[\]]*\b[a-z]\w*\[", text) or "fill=" in text
    return (": const" not in text and not gathers and
            all(shape.count(",") < 2 for shape in tensors) and
            not any("[" in line for line in control))


def kernels(folder, seed, count):
    """Files of generated kernels; what their run needs is made by the judge of the mutants."""
    number = 0
    while count > 0:
        kernel = generate.generate(f"{seed}.{number}", False)
        number += 1
        if not is_followed(kernel.text):
            continue
        count -= 1
        path = pathlib.Path(folder) / f"seed-{seed}.{number - 1}.croft"
        path.write_text(kernel.text)
        yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("CROFT_BUILD", ROOT / "build"))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CROFT_SEED", "1")))
    parser.add_argument("--kernels", type=int, help="generated ones, of each of two seeds",
                        default=0 if os.environ.get("TIER") == "check-long" else 10)
    parser.add_argument("--every", type=int, default=1, help="only every N-th place")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--mutate", default=str(build / "test" / "mutate"))
    options = parser.parse_args()
    print(f"seeds {FIXED_SEED} {options.seed}")
    table = collections.defaultdict(lambda: [0, 0, 0])
    failures = judged = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        paths = sorted((ROOT / "examples").glob("*.croft")) + \
            sorted((ROOT / "test" / "mutate" / "kernels").glob("*.croft"))
        for seed in (FIXED_SEED, options.seed):
            paths += kernels(folder, seed, options.kernels)
        jobs = [(machine, path, pool.submit(run, options.mutate, machine, path, options.every,
                                            options.seed))
                for path in paths for machine in MACHINES]
        for machine, path, job in jobs:
            status, text = job.result()
            rows = ROW.findall(text)
            for name, *counts in rows:
                table[name] = [a + int(b) for a, b in zip(table[name], counts)]
            mutants = sum(map(int, rows[-1][1:])) if rows else 0
            judged += mutants
            good = status == 0 and mutants > 0
            failures += not good
            print(f"ok {path.stem}_{machine}" if good else
                  f"not ok {path.stem}_{machine}: exit {status}", flush=True)
            if not good:
                print(text)
                if path.parent.name != "examples":
                    print(path.read_text())
    print(f"{'operator':26} {'killed':>8} {'equivalent':>10} {'survived':>8}")
    for name, (killed, equivalent, survived) in table.items():
        print(f"{name:26} {killed:8} {equivalent:10} {survived:8}")
    print(f"{judged} mutants of {len(jobs)} modules")
    sys.exit(1 if failures or judged == 0 else 0)


if __name__ == "__main__":
    main()
