#!/usr/bin/env python3
"""Fresh seeds for the tests that draw by chance, one after the other, until the minutes are over.

    soak.py [--minutes 10] [--seed N] [-j 2]

What fails is printed with the command that repeats it, and the seeds that were taken at the end;
the exit status tells. A failure becomes a regression: its kernel (test/regressions/) or a unit test
of what was wrong. Not part of a tier: a tier ends after so many cases, this after so much time.
"""
import argparse
import concurrent.futures
import itertools
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# A round of one seed: some minutes.
TESTS = [["test/generated/row_kernels.py", "--count", "40"],
         ["test/generated/run.py", "--count", "40"],
         ["test/ownership/conversions.py", "--count", "150", "-j", "1"],
         ["test/ownership/torture.py", "--count", "10", "-j", "1"],
         ["test/generated/forms.py", "--count", "25"],
         ["test/generated/honest.py", "--count", "8"]]


def run(words):
    """(cases that passed, lines of those that failed)"""
    done = subprocess.run([sys.executable, *words], cwd=ROOT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith("not ok ")]
    if done.returncode and not failed:
        failed = [f"not ok exit status {done.returncode}: {' '.join(lines[-3:])}"]
    return sum(line.startswith("ok ") for line in lines), failed


def rounds(first, end):
    for seed in itertools.count(first):
        for test in TESTS:
            if time.monotonic() > end:
                return
            yield [*test, "--seed", str(seed)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 10**8 * 100)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    work = rounds(options.seed, time.monotonic() + 60 * options.minutes)
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        waiting = {pool.submit(run, words): words for words in itertools.islice(work, options.jobs)}
        while waiting:
            done, _ = concurrent.futures.wait(waiting, return_when="FIRST_COMPLETED")
            for future in done:
                words = waiting.pop(future)
                good, bad = future.result()
                passed, failed = passed + good, failed + len(bad)
                for line in bad:
                    print(f"{line}  [{' '.join(words)}]", flush=True)
                following = next(work, None)
                if following is not None:
                    waiting[pool.submit(run, following)] = following
    print(f"seeds from {options.seed}: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
