#!/usr/bin/env python3
"""Quotients by a reciprocal: within 1.5 units of the last place for every divisor, subnormal, huge,
zero, infinite or NaN, with the same bits on the cpu and in the simulator.

tier: check
builds: release
"""
import numpy as np

import command
from command import SCRATCH, case, croft

TEXT = """kernel quotients(x: in f32[R, N], d: in f32[R], y: out f32[R, N]) {
    program row: R
    y[row, :] = x[row, :] / d[row]
}
"""
DIVISORS = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0**-149, -3 * 2.0**-149, 2.0**-128, 2.0**-127,
            2.0**-126, 1.1 * 2.0**-126, 2.0**126, 1.7 * 2.0**126, -1.9 * 2.0**127, 3.0, -0.7]


def main():
    path = SCRATCH / "quotients.croft"
    path.write_text(TEXT)
    random = np.random.default_rng(command.SEED)
    bits = random.integers(0, 2**32, 48, np.uint32)
    d = np.array([*DIVISORS, *bits.view(np.float32)], np.float32)
    x = random.integers(0, 2**32, (len(d), 127), np.uint32).view(np.float32)
    x[:, :5] = [0.0, -0.0, np.inf, -np.inf, np.nan]
    np.save(SCRATCH / "x.npy", x)
    np.save(SCRATCH / "d.npy", d)
    got = {}
    for target in ("cpu", "sim"):
        run = croft("run", path, f"x={SCRATCH}/x.npy", f"d={SCRATCH}/d.npy",
                    f"y={SCRATCH}/{target}.npy", "--machine", "sm_90", "--target", target,
                    "--check")
        case(f"within_the_bound_{target}", run.code == 0, run)
        got[target] = np.load(SCRATCH / f"{target}.npy")
    plan = croft("plan", path, "--machine", "sm_90")
    case("by_a_reciprocal", "reciprocal" in plan.out, plan)
    one, other = got["cpu"], got["sim"]
    same = (one.view(np.uint32) == other.view(np.uint32)) | (np.isnan(one) & np.isnan(other))
    case("same_bits", bool(np.all(same)))
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) / d.astype(np.float64)[:, None]
        nearest = exact.astype(np.float32)
        unit = np.exp2(np.clip(np.frexp(exact)[1], -125, 128) - 24.0)
        distance = np.abs(one.astype(np.float64) - exact) / unit
    special = np.isnan(nearest) | np.isinf(nearest) | (exact == 0)
    near_top = np.abs(exact) > 3.402e38
    alike = (one == nearest) | (np.isnan(one) & np.isnan(nearest))
    case("special_values", bool(np.all(alike | ~special | near_top)), np.argwhere(special & ~alike))
    wrong = ~special & ~near_top & ~(distance <= 1.5)
    case("one_and_a_half_units", not wrong.any(), np.argwhere(wrong)[:5])


main()
command.finish()
