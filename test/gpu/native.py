#!/usr/bin/env python3
"""How exact the native forms of functions are on a CUDA device, against src/ir/native.def.

tier: check-gpu

    test/gpu/native.py [step]

One kernel applies every function that has a native form to every 97th bit pattern of f32 (another
step may be given), so to subnormals, infinities and NaN too, by a plan of sm_90. For each function
is printed how much of its bound the largest error takes, and the largest error in units of the last
place where the exact result is normal. Without a device it says so, and that is no failure.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "math"))
import accuracy  # noqa: E402

CROFT = ROOT / "build" / "gpu" / "croft"
LEAST = 2.0**-126


def rows():
    text = (ROOT / "src/ir/native.def").read_text(encoding="utf-8")
    number = r"(0x[0-9a-f.]+p[-+]?\d+|[0-9.]+)"
    found = re.findall(rf"^NATIVE\((\w+), {number}, {number}, {number}, {number}, (\w+)", text,
                       flags=re.MULTILINE)
    real = lambda word: float.fromhex(word) if word.startswith("0x") else float(word)
    return {name.lower(): ([real(word) for word in words[:4]], words[4] == "true")
            for name, *words in found}


def unit_of(exact):
    """The last place of the exact value, that of 2^-149 and above."""
    return np.exp2(np.clip(np.frexp(exact)[1], -125, 128) - 24.0)


def bound_of(row, x, exact):
    (ulps, below, above, near_one), flushed = row
    slope = np.where(x < 0, below, above)
    size = np.minimum(np.abs(x), 200.0)  # further out the result is 0, 1 or inf
    bound = (ulps + slope * size) * unit_of(exact)
    bound = bound + np.where((x >= 0.5) & (x <= 2.0), near_one, 0.0)
    return bound + (LEAST if flushed else 0.0)


def check(name, row, x, got):
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        exact = accuracy.ORACLES[name](wide)
        nearest = exact.astype(np.float32)
        value = got.astype(np.float64)
        top = np.copysign(2.0**128, exact)  # where f32 is inf
        finite = np.where(np.isinf(nearest), top, exact)
        value = np.where(np.isinf(value), np.copysign(2.0**128, value), value)
        special = np.isnan(nearest) | np.isinf(exact)
        right = np.where(np.isnan(nearest), np.isnan(got), got == nearest)
        distance = np.where(special, 0.0, np.abs(value - finite))
        part = np.where(special, 0.0, distance / bound_of(row, wide, finite))
        normal = ~special & (np.abs(exact) >= LEAST) & ~np.isinf(nearest)
        units = np.where(normal, distance / unit_of(finite), 0.0)
    good = bool(np.all(right | ~special)) and not np.isnan(part).any() and part.max() <= 1.0
    at = int(np.nanargmax(part))
    wrong = np.flatnonzero(special & ~right)
    told = f"{units.max():.3g} ulp at {x[int(np.argmax(units))]:.9g}, {part[at]:.3f} of the bound"
    if len(wrong) > 0:
        told += f"; {name}({x[wrong[0]]}) is {got[wrong[0]]}"
    print(f"{'ok' if good else 'not ok'} native_{name}: {told} at {x[at]:.9g}", flush=True)
    return good


def main():
    step = int(sys.argv[1]) if len(sys.argv) > 1 else 97
    listed = subprocess.run([CROFT, "devices"], stdout=subprocess.PIPE, text=True, check=False)
    if "machine sm_90" not in listed.stdout:
        print("skipped native: no device of machine sm_90")
        return 0
    table = rows()
    x = accuracy.samples(step)
    with tempfile.TemporaryDirectory(prefix="croft-native-") as scratch:
        folder = pathlib.Path(scratch)
        kernel = folder / "native.croft"
        kernel.write_text(accuracy.kernel_text(list(table), "[R, N]", "[row, :]"),
                          encoding="utf-8")
        np.save(folder / "x.npy", x.reshape(-1, accuracy.WIDTH))
        outputs = [f"y_{name}={folder}/{name}.npy" for name in table]
        words = [CROFT, "run", kernel, f"x={folder}/x.npy", *outputs, "--target", "cuda",
                 "--no-cache"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode != 0:
            print(f"not ok native: {done.stdout}")
            return 1
        return 0 if all([check(name, row, x, np.load(folder / f"{name}.npy").ravel())
                         for name, row in table.items()]) else 1


if __name__ == "__main__":
    sys.exit(main())
