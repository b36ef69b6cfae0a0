#!/usr/bin/env python3
"""Fits the polynomials of src/ir/portable_math.c.

Each fit is a weighted minimax problem: find coefficients c so that the largest value of
weight(x) * |target(x) - sum(c[k] * x**power[k])| over an interval is as small as possible. The
exchange method solves it on a dense grid. Coefficients are then rounded to f32 one after the
other, lowest power first, and the rest is fitted again around the rounded ones; the error that is
printed is that of the rounded polynomial in exact arithmetic.

    python3 tools/fit_math.py            every table, as hexadecimal floats
    python3 tools/fit_math.py exp log    only these

It needs NumPy only. It is not run by the build: its output is pasted into portable_math.c.
"""
import math
import sys

import numpy as np

GRID_POINTS = 8000


def minimax(basis, goal, weight, side):
    """Coefficients of the best weighted approximation of goal by the columns of basis.

    side is the sign with which the extrema alternate: 1, or the sign of x where every weighted
    basis function passes through zero at x = 0.
    """
    count = basis.shape[1]
    points = len(goal)
    # Chebyshev extrema as the first reference
    reference = np.round((1 - np.cos(np.pi * np.arange(count + 1) / count)) / 2 * (points - 1))
    reference = np.unique(reference.astype(int))
    for _ in range(60):
        signs = (-1.0) ** np.arange(count + 1) * side[reference]
        system = np.hstack([basis[reference], (signs / weight[reference])[:, None]])
        scale = np.abs(system).max(axis=0)
        solution = np.linalg.solve(system / scale, goal[reference]) / scale
        error = weight * (goal - basis @ solution[:count])
        level = abs(solution[count])
        if np.abs(error).max() <= level * (1 + 1e-6):
            break
        reference = exchange(error * side, count + 1)
    return solution[:count]


def exchange(error, wanted):
    """The alternating extrema of error, wanted of them around the largest."""
    picks = []
    for index in range(len(error)):
        if picks and np.sign(error[index]) == np.sign(error[picks[-1]]):
            if abs(error[index]) > abs(error[picks[-1]]):
                picks[-1] = index
        else:
            picks.append(index)
    while len(picks) > wanted:
        sizes = np.abs(error[picks])
        least = int(np.argmin(sizes))
        if least in (0, len(picks) - 1) or len(picks) == wanted + 1:
            picks.pop(0 if sizes[0] < sizes[-1] else -1)
        else: # an inner one goes with its smaller neighbour, so that the signs still alternate
            other = least - 1 if sizes[least - 1] < sizes[least + 1] else least + 1
            for index in sorted((least, other), reverse=True):
                picks.pop(index)
    if len(picks) < wanted:
        raise ArithmeticError("too few alternations")
    return np.array(picks)


def fit(low, high, powers, target, weight, fixed=()):
    """f32 coefficients for powers on [low, high]; fixed holds (power, value) that stay as given."""
    x = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(GRID_POINTS) + 0.5) /
                                                     GRID_POINTS)
    goal = target(x)
    scale = weight(x)
    for power, value in fixed:
        goal = goal - value * x ** power
    rounded = {}
    ideal_error = None
    for position, power in enumerate(powers):
        rest = powers[position:]
        basis = np.stack([x ** p for p in rest], axis=1)
        side = np.sign(x) ** (power % 2)
        solution = minimax(basis, goal, scale, side)
        if ideal_error is None:
            ideal_error = np.abs(scale * (goal - basis @ solution)).max()
        value = np.float32(solution[0])
        rounded[power] = value
        goal = goal - float(value) * x ** power
    return rounded, ideal_error, np.abs(scale * goal).max()



def vector(function):
    return lambda x: np.array([function(float(v)) for v in x])


def hidden(a):
    """-log(erfc(a)), the exponent in erf(a) = 1 - exp(-hidden(a))."""
    return -math.log(math.erfc(a)) if a > 0.5 else -math.log1p(-math.erf(a))


def erf_weight(a):
    """How much a relative error of hidden(a) weighs in a relative error of erf(a)."""
    y = hidden(a)
    return math.exp(-y) / -math.expm1(-y)


LN2 = math.log(2.0)
ROOT = math.sqrt(0.5)
SLACK = 1.0 + 1e-4

FITS = {
    # exp(r), |r| <= ln 2, relative
    "exp": lambda: fit(-LN2 * SLACK, LN2 * SLACK, list(range(1, 8)), np.exp, lambda x: np.exp(-x),
                       fixed=[(0, 1.0)]),
    # 2^r, |r| <= 1, relative
    "exp2": lambda: fit(-1.0, 1.0, list(range(1, 8)), np.exp2, lambda x: np.exp2(-x),
                        fixed=[(0, 1.0)]),
    # log(1 + f) - f, relative to log(1 + f)
    "log": lambda: fit(ROOT - 1, 2 * ROOT - 1, list(range(2, 10)), np.log1p,
                       lambda x: 1 / np.abs(np.log1p(x)), fixed=[(1, 1.0)]),
    # log2(1 + f) - f * f32(log2(e)), relative to log2(1 + f)
    "log2": lambda: fit(ROOT - 1, 2 * ROOT - 1, list(range(1, 10)), lambda x: np.log1p(x) / LN2,
                        lambda x: LN2 / np.abs(np.log1p(x)),
                        fixed=[(1, float(np.float32(1 / LN2)))]),
    # expm1(r), |r| <= ln 2 / 2, relative
    "expm1": lambda: fit(-LN2 / 2 * SLACK, LN2 / 2 * SLACK, list(range(2, 7)), np.expm1,
                         lambda x: 1 / np.abs(np.expm1(x)), fixed=[(1, 1.0)]),
    # tanh(x) - x in odd powers, relative to tanh(x), below 0.55
    "tanh": lambda: fit(0.0, 0.55 * 1.001, [3, 5, 7, 9], np.tanh, lambda x: 1 / np.tanh(x),
                        fixed=[(1, 1.0)]),
    # -log(erfc(a)) less a * f32(2 / sqrt(pi)) as a * polynomial, weighted by its share in erf
    "erf": lambda: fit(0.0, 4.0, list(range(1, 10)), vector(hidden), vector(erf_weight),
                       fixed=[(1, float(np.float32(2 / math.sqrt(math.pi))))]),
}


def main(names):
    for name in names or FITS:
        coefficients, ideal, error = FITS[name]()
        print(f"{name}: largest error {error:.3e} = 2^{math.log2(error):.2f}"
              f" (before rounding 2^{math.log2(ideal):.2f})")
        for power, value in coefficients.items():
            print(f"    {float(value).hex()}f, /* x^{power}  {float(value):.9g} */")


main(sys.argv[1:])
