"""Arrays by file: what the oracles share, and nothing about any operator.

An oracle is a function from float64 (or integer) arrays and scalars to a dict of outputs. `run`
makes a program of it:

    python3 test/oracle/softmax.py x=in.npy y=out.npy
    python3 test/oracle/rmsnorm.py x=in.npy w=w.npy y=out.npy eps=1e-6

Floating inputs are f32, f16, f64 or bf16 (stored as two-byte void or uint16); integer inputs stay
integers.
"""
import sys

import numpy as np


def widen(array, floating):
    """The array as float64, or unchanged where the operator wants integers."""
    if not floating:
        return array.astype(np.int64)
    if array.dtype.kind == "V" or array.dtype == np.uint16:
        bits = array.view(np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64)
    return array.astype(np.float64)


def run(function, floats, outputs, integers=(), scalars=None):
    """Reads name=file and name=value arguments, calls the oracle, writes its outputs."""
    given = dict(word.split("=", 1) for word in sys.argv[1:])
    arguments = dict(scalars or {})
    for name in tuple(floats) + tuple(integers):
        arguments[name] = widen(np.load(given.pop(name)), name in floats)
    for name in scalars or {}:
        if name in given:
            arguments[name] = type(scalars[name])(float.fromhex(given[name])
                                                  if "0x" in given[name] else given[name])
            given.pop(name)
    unknown = set(given) - set(outputs)
    if unknown:
        sys.exit("unknown argument: " + ", ".join(sorted(unknown)))
    with np.errstate(all="ignore"):
        results = function(**arguments)
    for name, path in given.items():
        np.save(path, results[name])


def f32(value):
    """A scalar parameter of type f32 has the f32 nearest to what was written."""
    return np.float64(np.float32(value))


def row_max(x):
    return np.max(x, axis=-1, keepdims=True, initial=-np.inf)


def row_sum(x):
    return np.sum(x, axis=-1, keepdims=True)


def row_mean(x):
    return row_sum(x) / np.float64(x.shape[-1])
