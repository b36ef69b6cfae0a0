"""Every example on edge widths and element types: reference and cpu against the NumPy oracle; so do
the kernels of test/rows, which nobody tunes for, on fewer widths.

tier: check check-long
builds: release asan

In check every second width of each kernel, those of one kernel between those of the next; in
check-long all.

The oracle runs in float64. How far a result may be from it is measured, not chosen: the oracle is
asked again with inputs changed by 2^-40 of their size, and what that moves the output by, per unit,
times the roundoff of the arithmetic, is what rounding may do. The exact bound is the business of
`croft run --check`; here the two share no code.
"""
import importlib
import itertools
import os
import sys

import numpy as np

import command

sys.path.insert(0, str(command.ROOT / "test" / "oracle"))

LONG = os.environ.get("TIER") == "check-long"
WIDTHS = [0, 1, 7, 8, 31, 32, 33, 127, 128, 129, 257, 1009]
# name -> (floating inputs by shape: r rows x width, w width, integer labels), outputs
EXAMPLES = {
    "sum": ("x:rw", "y"),
    "softmax": ("x:rw", "y"),
    "log_softmax": ("x:rw", "y"),
    "rmsnorm": ("x:rw w:w", "y"),
    "layernorm": ("x:rw w:w b:w", "y"),
    "residual_layernorm": ("x:rw residual:rw w:w b:w", "y"),
    "cross_entropy": ("logits:rw label:l", "loss"),
    "gelu_add": ("x:rw bias:w other:rw", "y"),
    "swiglu": ("gate:rw up:rw", "y"),
    "causal_softmax": ("x:rw", "y"),
    "rmsnorm_quant": ("x:rw w:w", "q scale"),
    "softmax_blocks": ("x:rw", "y"),
    "transpose8": ("source:88", "dest"),
    "rmsnorm_register": ("x:rw w:w", "y"),
}
ROWS = {
    "variance": ("x:rw", "y"),
    "p_norm": ("x:rw", "y"),
    "min_max": ("x:rw", "y"),
    "masked_softmax": ("x:rw mask:w", "y"),
    "residual_rmsnorm": ("x:rw residual:rw w:w", "s y"),
    "log_sum_exp": ("x:rw", "y"),
    "squared_relu_gate": ("x:rw other:rw", "y"),
    "row_dot": ("x:rw other:rw", "y"),
}
ROW_WIDTHS = [1, 33, 257, 1009]
KERNELS = EXAMPLES | ROWS
# Widths that are constants of the kernel, which has at least one element.
CONSTANT = {"rmsnorm_register": "N={width}"}
ROUNDOFF = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}
F32_OUTPUTS = {("cross_entropy", "loss"), ("rmsnorm_quant", "scale"), ("variance", "y"),
               ("log_sum_exp", "y"), ("row_dot", "y")}


def path_of(name):
    return f"{'test/rows' if name in ROWS else 'examples'}/{name}.croft"


def make_inputs(name, rows, width, dtype, generator, mean):
    """Input arrays exactly as the file will hold them, in float64 (integers stay integers)."""
    arrays = {}
    for word in KERNELS[name][0].split():
        key, kind = word.split(":")
        if kind == "l":
            label = generator.integers(0, max(width, 1), rows)
            label[:: 3] = -100
            label[1:: 7] = width + 5
            arrays[key] = label
            continue
        shape = {"rw": (rows, width), "w": (width,), "88": (rows, 8, 8)}[kind]
        values = generator.standard_normal(shape) + (mean if kind == "rw" else 0)
        values = values.astype(np.float32)
        if dtype == "f16":
            values = values.astype(np.float16)
        elif dtype == "bf16":
            values = (command.to_bf16(values).astype(np.uint32) << 16).view(np.float32)
        arrays[key] = values.astype(np.float64)
    return arrays


def oracle(name, arrays):
    with np.errstate(all="ignore"):
        module = importlib.import_module("plain_rows" if name in ROWS else name)
        return getattr(module, name)(**arrays)


def sensitivity(name, arrays, expected, generator):
    """Per output element, how far a relative change of 1 of every input moves it, at most."""
    step = 2.0 ** -40
    largest = {key: np.zeros(np.shape(value)) for key, value in expected.items()}
    for _ in range(6):
        moved = {key: value * (1 + step * generator.choice([-1.0, 1.0], np.shape(value)))
                 if value.dtype.kind == "f" else value for key, value in arrays.items()}
        for key, value in oracle(name, moved).items():
            with np.errstate(all="ignore"):
                largest[key] = np.fmax(largest[key], np.abs(value - expected[key]) / step)
    return largest


def wrong(got, expected, moved, unit, depth, stored):
    """What is wrong with `got`, or None. `unit` is the roundoff of the arithmetic, `depth` how many
    roundings a sum may pile up."""
    if got.shape != expected.shape:
        return f"shape {got.shape}, expected {expected.shape}"
    if got.size == 0:
        return None
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        row = np.max(moved, axis=-1, keepdims=True) if moved.ndim > 1 else moved
        allowed = unit * ((16 + depth) * np.maximum(moved, row / 8) + 8 * np.abs(expected))
        allowed += stored * np.abs(expected) + (2.0 ** -24 if stored == 2.0 ** -11 else 2.0 ** -130)
        bad = ~((np.abs(got - expected) <= allowed) | (np.isnan(got) & np.isnan(expected))
                | (got == expected))
    if not bad.any():
        return None
    at = np.unravel_index(np.argmax(bad), got.shape)
    return (f"{bad.sum()} of {got.size} wrong, first at {at}: got {got[at]!r}, "
            f"expected {expected[at]!r}, allowed {allowed[at]:.3g}")


def check(name, width, dtype, target, generator):
    mean = [0.0, 3.0, -20.0][width % 3]
    rows = 3 if width > 300 else 5
    arrays = make_inputs(name, rows, width, dtype, generator, mean)
    words = []
    for key, value in arrays.items():
        path = command.SCRATCH / f"{key}.npy"
        command.save(path, value, ["i32", "i64"][width % 2] if key == "label" else dtype)
        words.append(f"{key}={path}")
    words += CONSTANT.get(name, "").format(width=width).split()
    outputs = KERNELS[name][1].split()
    paths = {key: command.SCRATCH / f"out_{key}.npy" for key in outputs}
    for path in paths.values():
        path.unlink(missing_ok=True)
    words += [f"{key}={path}" for key, path in paths.items()]
    extra = {"cpu": ["--check"], "fallback": ["--plan", "fallback", "--check"],
             "reference": ["--target", "reference"]}[target]
    result = command.croft("run", path_of(name), *words, *extra)
    label = f"{name}_{target}_{width}_{dtype}"
    if result.code:
        return command.case(label, False, result)
    expected = oracle(name, arrays)
    moved = sensitivity(name, arrays, expected, generator)
    problems = []
    for key in outputs:
        got = command.load(paths[key])
        if expected[key].dtype.kind == "i":
            # a quotient within rounding of a half may go either way
            slack = 2.0 ** -40 if target == "reference" else 2.0 ** -12
            near = np.abs(expected["quotient"] - got) <= 0.5 + slack
            problem = None if np.all(near) else "integers differ"
        else:
            unit = ROUNDOFF["f64" if target == "reference" else "f32"]
            stored = ROUNDOFF["f64" if target == "reference" else
                              "f32" if (name, key) in F32_OUTPUTS else dtype]
            depth = width if target == "fallback" else np.sqrt(width)
            problem = wrong(got, expected[key], moved[key], unit, depth, stored)
        if problem:
            problems.append(f"{key}: {problem}")
    command.case(label, not problems, "; ".join(problems) + f"\n{result}")


def cases():
    """(name, width, dtype, target): all widths in f32; the 16-bit types and targets in turn."""
    turn = itertools.count()
    for number, name in enumerate(KERNELS):
        widths = [8, 24] if name == "transpose8" else ROW_WIDTHS if name in ROWS else WIDTHS
        widths = [width for width in widths if width > 0 or name not in CONSTANT]
        if command.SANITIZED:
            widths = widths[1::4 if LONG else 8]
        elif not LONG and name not in ROWS and len(widths) > 2:
            widths = widths[number % 2::2]
        for place, width in enumerate(widths):
            yield name, width, "f32", "cpu"
            other = ["f16", "bf16"][next(turn) % 2]
            yield name, width, other, ["cpu", "fallback", "reference"][next(turn) // 2 % 3]
            if not command.SANITIZED and (LONG or place % 2 == number % 2):
                yield name, width, "f32", ["fallback", "reference"][next(turn) // 3 % 2]


def main():
    generator = np.random.default_rng(command.SEED)
    for name, width, dtype, target in cases():
        check(name, width, dtype, target, generator)
    command.finish()


if __name__ == "__main__":
    main()
