#!/usr/bin/env python3
"""Mutants of the thread modules of all examples and of kernels that fix owners (kernels/), or of
generated kernels: none may survive.

    run.py [--seed N] [--kernels 0] [--every N] [-j 2] [--mutate build/test/mutate]

tier: check-long
builds: release

Every operator of operators.c changes one thing at every place of a module (every N-th with
--every): a bound, a mask, an index, an identity, a list, a fact, a sync. The verifier must refuse
the mutant; one that it accepts must compute the same as the original on eight inputs, without a
finding of the simulator, or it has survived. Row and fallback plans, for a machine whose team is
one vector register and for one with several subgroups. Prints a table by operator.

A mutant that the usual verification accepts and that computes something else is looked at once more
by the thorough and then by the exhaustive one, which has numbers for what comes from data and must
accept the module itself. generated.py and `make mutate SEED=n` take 20 generated kernels instead,
the first of the seed that are small (is_small) and that the judge of the mutants can run: it makes
up data and sizes, and a kernel may fault on those.
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
MOST_TEXT = 650  # characters
CANNOT_RUN = 4  # of the exit status of mutate
NO_SITE = 10**9  # a place that no module has
ROW = re.compile(r"^(\S.*?) +(\d+) +(\d+) +(\d+)$", re.MULTILINE)


def run(mutate, machine, path, every, seed):
    words = [mutate, "--machine", machine, "--every", str(every), "--seed", str(seed), str(path)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=2000,
                          check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def is_small(text):
    """Short kernels of at most two dimensions, so that every mutant of one is judged in a minute or
    so, and without constants, which nobody gives here."""
    tensors = re.findall(r": (?:in|out|inout) \w+\[([^\]]*)\]", text)
    return len(text) < MOST_TEXT and ": const" not in text and \
        all(shape.count(",") < 2 for shape in tensors)


def can_be_run(mutate, path):
    """Both plans on both machines, without a mutant."""
    return all(run(mutate, machine, path, NO_SITE + 1, NO_SITE)[0] & CANNOT_RUN == 0
               for machine in MACHINES)


def kernels(mutate, folder, seed, count):
    """Files of generated kernels."""
    for number in range(100 * count):
        kernel = generate.generate(f"{seed}.{number}", False)
        path = pathlib.Path(folder) / f"seed-{seed}.{number}.croft"
        path.write_text(kernel.text)
        if count > 0 and is_small(kernel.text) and can_be_run(mutate, path):
            count -= 1
            yield path


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("CROFT_BUILD", ROOT / "build"))
    parser.add_argument("--seed", type=int, default=FIXED_SEED)
    parser.add_argument("--kernels", type=int, default=0, help="generated ones instead")
    parser.add_argument("--every", type=int, default=1, help="only every N-th place")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--mutate", default=str(build / "test" / "mutate"))
    options = parser.parse_args(arguments)
    print(f"seed {options.seed}")
    table = collections.defaultdict(lambda: [0, 0, 0])
    failures = judged = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        paths = list(kernels(options.mutate, folder, options.seed, options.kernels))
        own = sorted((ROOT / "examples").glob("*.croft")) + \
            sorted((ROOT / "test" / "mutate" / "kernels").glob("*.croft"))
        paths = paths or own
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
