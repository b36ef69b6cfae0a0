#!/usr/bin/env python3
"""Reductions of register tiles under nine layouts: the simulator and the cpu, within the bound.

    reductions.py [--all] [-j 2]

tier: check check-long
builds: release

A row of 1009 or 1024 elements lies in the registers of a group: striped over its threads, or four
neighbours in each, with 2 to 32 slots. RMSNorm, centred variance, softmax, product, maximum and
minimum are taken of it, for means of 3 and -20, where the row is asked for by an index tile with
owners, or is a slice with a domain. The simulator must find nothing and lie within the bound of
--check, the cpu must give the same bytes (of 32 rows), and both must be near to NumPy in float64.
In check two cases of each layout, by chance; in check-long all.
"""
import argparse
import concurrent.futures
import itertools
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
BLOCK = 1024
LAYOUTS = {f"striped_{slots}": f"identity({BLOCK}, slots={slots})" for slots in (2, 4, 8, 16, 32)}
LAYOUTS |= {f"adjacent_{slots}": f"blocked_cyclic({BLOCK}, workers={BLOCK // slots}, vector=4)"
            for slots in (4, 8, 16, 32)}
HEAD = "kernel k(x: in T[R, N], y: out T[R, N], z: out f32[R], L: layout, mean: f32, " \
       "T: f32 | f16) {\n    program row: R\n"
# how the tile is read, and where it is stored
ROWS = {"owned": ("i = arange(N, L)\nt = f32(x[row, i])", "y[row, i]"),
        "slice": (f"t = f32(convert(x[row, 0 : +{BLOCK}], L))", f"y[row, 0 : +{BLOCK}]")}
# tile -> what is stored in y, what in z
KERNELS = {
    "rmsnorm": "r = sum(t * t) / f32(N)\nv = t / sqrt(r + 1e-5)",
    "variance": "m = sum(t) / f32(N)\nc = t - m\nr = sum(c * c) / f32(N)\nv = c",
    "softmax": "m = max(t)\ne = exp(t - m)\nr = sum(e)\nv = e / r",
    "product": "v = t / mean\nr = prod(v)",
    "extremes": "a = max(t)\nb = min(t)\nr = a - b\nv = (t - b) / r",
    "again": "a = sum(t) / f32(N)\nb = max(t - a)\nc = sum(t * b) / f32(N)\nr = min(t + c)\n"
             "v = t + r",
}


def expected(name, x, mean):
    t, n = x.astype(np.float64), x.shape[1]
    keep = {"axis": 1, "keepdims": True}
    if name == "rmsnorm":
        r = np.sum(t * t, **keep) / n
        v = t / np.sqrt(r + 1e-5)
    elif name == "variance":
        v = t - np.mean(t, **keep)
        r = np.mean(v * v, **keep)
    elif name == "softmax":
        e = np.exp(t - np.max(t, **keep))
        r = np.sum(e, **keep)
        v = e / r
    elif name == "product":
        v = t / mean
        r = np.prod(v, **keep)
    elif name == "extremes":
        r = np.ptp(t, **keep)
        v = (t - np.min(t, **keep)) / r
    else:
        b = np.max(t - np.mean(t, **keep), **keep)
        r = np.min(t + np.mean(t * b, **keep), **keep)
        v = t + r
    return v, r[:, 0]


def kernel_text(name, form):
    load, place = ROWS[form]
    body = f"{load}\n{KERNELS[name]}\n{place} = T(v)\nz[row] = r"
    return HEAD + "".join(f"    {line}\n" for line in body.split("\n")) + "}\n"


def is_near(got, want, unit):
    scale = np.maximum(np.abs(want), np.max(np.abs(want), axis=-1, keepdims=True) / 16)
    return got.shape == want.shape and bool(np.all(np.abs(got - want) <= unit * scale))


def run_case(kernel, form, dtype, width, mean, rows, layout):
    """What is wrong, or None."""
    label = f"{kernel}_{form}_{dtype}_{width}_mean{mean}_rows{rows}_{layout}"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "k.croft").write_text(kernel_text(kernel, form))
        chance = np.random.default_rng(abs(mean) * 7919 + width + rows)
        x = (chance.standard_normal((rows, width)) + mean).astype(
            np.float16 if dtype == "f16" else np.float32)
        np.save(folder / "x.npy", x)
        results = {}
        for target in ("sim", "cpu") if rows > 1 else ("sim",):
            words = [CROFT, "run", folder / "k.croft", f"x={folder}/x.npy", f"mean={mean}",
                     f"y={folder}/y.npy", f"z={folder}/z.npy", f"L={LAYOUTS[layout]}", "--check",
                     "--machine", "sm_90", "--target", target]
            words += ["--verify-passes"] if target == "sim" else []
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=120, text=True)
            if done.returncode or done.stdout.count(": ok, ") != 2:
                return label, f"{target}: exit {done.returncode}", done.stdout
            results[target] = [np.load(folder / f"{out}.npy") for out in "yz"]
        sim = results["sim"]
        if any(a.tobytes() != b.tobytes() for a, b in zip(sim, results.get("cpu", sim))):
            return label, "sim and cpu differ", ""
        v, r = expected(kernel, x, mean)
        if not is_near(sim[0].astype(float), v, 2e-3 if dtype == "f16" else 1e-4) or \
                not np.allclose(sim[1], r, rtol=1e-3):
            return label, "not what NumPy computes", kernel_text(kernel, form)
    return label, None, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true",
                        default=os.environ.get("TIER") == "check-long")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    cases = list(itertools.product(KERNELS, ROWS, ("f16", "f32"), (1009, 1024), (3, -20), (1, 32),
                                   LAYOUTS))
    if not options.all:
        seeds = (1, int(os.environ.get("CROFT_SEED", "2")))
        print(f"seeds {seeds[0]} {seeds[1]}")
        cases = [random.Random(f"{seed}.{layout}").choice([c for c in cases if c[-1] == layout])
                 for seed in seeds for layout in LAYOUTS]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for label, wrong, output in pool.map(lambda case: run_case(*case), cases):
            print(f"not ok {label}: {wrong}\n{output}" if wrong else f"ok {label}", flush=True)
            failed += wrong is not None
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
