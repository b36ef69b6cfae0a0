#!/usr/bin/env python3
"""Mutants of the thread modules of generated kernels: none may survive.

    generated.py [--seed 1] [--kernels 20] [other options of run.py]

tier: check-long
builds: release

What run.py does with the examples, here with kernels that nobody wrote. The seed is fixed, so that
a day's run can be repeated, and printed; `make mutate SEED=n` takes others.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402

KERNELS = 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--kernels", type=int, default=KERNELS)
    options, others = parser.parse_known_args()
    run.main(["--kernels", str(options.kernels), *others])


if __name__ == "__main__":
    main()
