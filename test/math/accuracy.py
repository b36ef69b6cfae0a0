#!/usr/bin/env python3
"""Accuracy of the functions through the whole command: text, plan, C, compiler, arrays.

tier: check
builds: release

One kernel applies every function of src/ir/math.def to a tile and one to a program's scalar. The
arguments are every 997th bit pattern of f32, so subnormals, both infinities' neighbours and NaNs
are among them, and the neighbours of special values. Checked are

* the distance from NumPy's float64 result, in units of the last place, against math.def;
* that the scalar form gives the same bits as the tile form (NaN payloads aside).

    test/math/accuracy.py [path of croft] [step]
"""
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEP = 997
WIDTH = 1009           # of a row: a multiple of nothing
SCALAR_COUNT = 50000
AROUND = 300
BORDERS = [0.0, 2.0**-149, 2.0**-126, 0.5, 0.5**0.5, 1.0, 2.0**0.5, 2.0, 4.0, 3.9192059, 9.0109134,
           10.0, 17.3, 87.33655, 88.72284, 103.27893, 103.97208, 104.0, 126.0, 128.0, 149.0, 150.0,
           151.0, 3.4028234663852886e38]


def sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1.0 + small)


ORACLES = {
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "tanh": np.tanh,
    "sigmoid": sigmoid,
    "erf": lambda x: np.fromiter(map(math.erf, x.tolist()), np.float64, len(x)),
}


def stated_ulps():
    text = (ROOT / "src/ir/math.def").read_text(encoding="utf-8")
    rows = re.findall(r"^MATH\((\w+), ([0-9.]+)\)", text, flags=re.MULTILINE)
    return {name.lower(): float(ulps) for name, ulps in rows}


def samples(step):
    """f32 arguments as one array whose length is a multiple of WIDTH."""
    regular = np.arange(0, 2**32, step, dtype=np.uint64)
    centres = np.array(BORDERS, np.float32).view(np.uint32).astype(np.int64)
    near = (centres[:, None] + np.arange(-AROUND, AROUND + 1)).ravel() % 2**32
    near = np.concatenate([near, near ^ 0x80000000]).astype(np.uint64)
    bits = np.concatenate([regular, near]).astype(np.uint32)
    return np.resize(bits, -(-len(bits) // WIDTH) * WIDTH).view(np.float32)


def error_ulps(got, exact):
    """|got - exact| in units of the last place of exact; inf where a special value differs.
    Past the largest finite number f32 is inf, which counts as 2^128."""
    nearest = exact.astype(np.float32)
    same = (got.view(np.uint32) == nearest.view(np.uint32)) | (np.isnan(got) & np.isnan(nearest))
    special = np.isnan(got) | np.isnan(nearest) | (exact == 0) | np.isinf(exact)
    special |= np.isinf(got) & np.isinf(nearest)
    reach = np.copysign(2.0**128, exact)
    exact = np.where(np.isinf(nearest), reach, exact)
    value = np.where(np.isinf(got), np.copysign(2.0**128, got), got.astype(np.float64))
    exponent = np.clip(np.frexp(exact)[1], -125, 128)
    distance = np.abs(value - exact) * np.exp2(24.0 - exponent)
    return np.where(same & special, 0.0, np.where(special, np.inf, distance))


def kernel_text(names, shape, index):
    tensors = "".join(f",\n       y_{name}: out f32{shape}" for name in names)
    stores = "".join(f"    y_{name}{index} = {name}(x{index})\n" for name in names)
    return f"kernel functions(x: in f32{shape}{tensors}) {{\n    program row: R\n{stores}}}\n"


def run(croft, folder, title, names, x, index):
    """Applies the functions to x; {name: results}."""
    shape = "[R, N]" if x.ndim == 2 else "[R]"
    kernel = folder / f"{title}.croft"
    kernel.write_text(kernel_text(names, shape, index), encoding="utf-8")
    np.save(folder / "x.npy", x)
    command = [croft, "run", str(kernel), f"x={folder}/x.npy"]
    command += [f"y_{name}={folder}/{title}_{name}.npy" for name in names]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)
    if result.returncode != 0:
        print(result.stdout)
        print(f"not ok {title}: croft run gave status {result.returncode}")
        sys.exit(1)
    return {name: np.load(folder / f"{title}_{name}.npy").ravel() for name in names}


def check_accuracy(name, bound, x, got):
    with np.errstate(all="ignore"):
        errors = error_ulps(got, ORACLES[name](x.astype(np.float64)))
    worst = int(np.argmax(errors))
    found = f"{errors[worst]:.3f} ulp at {float(x[worst]).hex()} ({x[worst]:.9g})"
    if errors[worst] <= bound:
        print(f"ok {name}: {found}")
        return True
    print(f"not ok {name}: {found}, result {got[worst]:.9g}, stated {bound}")
    return False


def check_bits(name, x, tile, scalar):
    differs = tile.view(np.uint32) != scalar.view(np.uint32)
    differs &= ~(np.isnan(tile) & np.isnan(scalar))
    if not differs.any():
        print(f"ok {name}_scalar")
        return True
    at = int(np.argmax(differs))
    print(f"not ok {name}_scalar: {scalar[at]:.9g} at {x[at]:.9g}, in a tile {tile[at]:.9g}")
    return False


def main(arguments):
    croft = arguments[0] if arguments else os.environ.get("CROFT", str(ROOT / "build/croft"))
    step = int(arguments[1]) if len(arguments) > 1 else STEP
    bounds = stated_ulps()
    names = sorted(bounds)
    passed = True
    with tempfile.TemporaryDirectory(dir=os.environ.get("CROFT_SCRATCH")) as scratch:
        folder = pathlib.Path(scratch)
        x = samples(step)
        tiles = run(croft, folder, "tile", names, x.reshape(-1, WIDTH), "[row, :]")
        picks = np.linspace(0, len(x) - 1, SCALAR_COUNT).astype(np.int64)
        scalars = run(croft, folder, "scalar", names, x[picks], "[row]")
        for name in names:
            passed &= check_accuracy(name, bounds[name], x, tiles[name])
            passed &= check_bits(name, x[picks], tiles[name][picks], scalars[name])
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
