#!/usr/bin/env python3
"""Mutants of the thread modules of 20 generated kernels: see run.py.

tier: check-long
builds: release
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402

run.main(["--kernels", "20"] + sys.argv[1:])
