"""Every example on the simulator: the bytes of the cpu, and no finding.

tier: check
builds: release asan

The simulator runs the thread IR that the cpu compiles, so both must agree on every byte, NaNs
aside, for each plan and machine; sm_90 and m1 stand for machines whose rows lie on several
subgroups. Every example computes on ordinary rows and on rows of special values (NaN, infinities,
zeros, subnormals). What is compared is two implementations of one IR; whether the IR is right is
the business of examples.py.
"""
import itertools
import pathlib

import numpy as np

import command

# name -> inputs by shape (r rows x width, w width, l labels, 88), outputs
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
}
WIDTHS = [0, 1, 33, 300]
WIDE_WIDTHS = [100, 600, 5000]  # a subgroup; several with a row in registers; several, in steps
PLANS = ["row", "fallback"]
DTYPES = ["f32", "f16", "bf16"]


def runs_here(machine):
    flags = pathlib.Path("/proc/cpuinfo")
    return machine != "cpu-avx2" or (flags.exists() and "avx2" in flags.read_text().split())


def arguments(name, rows, width, dtype, special):
    kind = "special" if special else "randn"
    words = []
    for word in EXAMPLES[name][0].split():
        key, shape = word.split(":")
        if shape == "l":
            words.append(f"{key}=randint:{rows}:-2:{max(width, 1) + 2}:i64")
            continue
        sizes = {"rw": f"{rows}x{width}", "w": f"{width}", "88": f"{rows}x8x8"}[shape]
        words.append(f"{key}={kind}:{sizes}:{dtype}")
    return words


def same(a, b):
    """Bytes, but for NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "f":
        both = np.isnan(a) & np.isnan(b)
        width = f"u{a.dtype.itemsize}"
        return bool(np.all((a.view(width) == b.view(width)) | both))
    return a.tobytes() == b.tobytes()


def check(name, width, dtype, plan, machine, special):
    outputs = EXAMPLES[name][1].split()
    label = "_".join([name, plan, str(width), dtype, machine or "host"] + ["special"] * special)
    loaded = {}
    for target in ("cpu", "sim"):
        paths = {key: command.SCRATCH / f"{target}_{key}.npy" for key in outputs}
        for path in paths.values():
            path.unlink(missing_ok=True)
        words = arguments(name, 3, width, dtype, special)
        words += [f"{key}={path}" for key, path in paths.items()]
        words += ["--machine", machine] if machine else []
        result = command.croft("run", f"examples/{name}.croft", *words, "--plan", plan, "--target",
                               target, "--seed", command.SEED)
        if result.code or result.err:
            return command.case(label, False, result)
        loaded[target] = [command.load(path) for path in paths.values()]
    equal = all(same(a, b) for a, b in zip(loaded["cpu"], loaded["sim"]))
    command.case(label, equal, "sim and cpu differ")


def main():
    turn = itertools.count()
    machines = [m for m in [None, "cpu-avx2", "cpu-baseline"] if m is None or runs_here(m)]
    for name in EXAMPLES:
        for width, plan in itertools.product([8] if name == "transpose8" else WIDTHS, PLANS):
            number = next(turn)
            refused = width == 1 and plan == "row" and name != "transpose8"  # no axis of elements
            if refused or (command.SANITIZED and number % 4 != 1):
                continue
            check(name, width, DTYPES[number % 3 if width != 300 else 0], plan,
                  machines[number % len(machines)], number % 5 == 0)
        for width in [8] if name == "transpose8" else WIDE_WIDTHS:
            number = next(turn)
            if not command.SANITIZED or number % 4 == 1:
                check(name, width, DTYPES[number % 3], "row", ["sm_90", "m1"][number % 2],
                      number % 5 == 0)
    command.finish()


if __name__ == "__main__":
    main()
