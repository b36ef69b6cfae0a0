"""Inputs of a case and its exact result, as files that all arms read.

    write(case, folder, seed)     folder/x, residual, weight, bias, label; folder/exact (float64)

Inputs are normal random numbers, rounded to the case's type; the result is computed from the
rounded ones, in float64, a few rows at a time. Labels are i64.
"""
import pathlib
import zlib

import numpy

CHUNK = 1 << 20  # elements of a piece


def numpy_type(dtype):
    if dtype == "bf16":
        import ml_dtypes
        return numpy.dtype(ml_dtypes.bfloat16)
    return numpy.dtype({"f32": numpy.float32, "f16": numpy.float16}[dtype])


def exact_rows(operator, given):
    """The result of some rows, in float64."""
    x = given["x"]
    if operator == "sum":
        return x.sum(-1)
    if operator in ("softmax", "cross_entropy"):
        largest = x.max(-1, keepdims=True)
        powers = numpy.exp(x - largest)
        total = powers.sum(-1, keepdims=True)
        if operator == "softmax":
            return powers / total
        chosen = numpy.take_along_axis(x, given["label"][:, None], -1)
        return (numpy.log(total) + largest - chosen)[:, 0]
    if operator == "rmsnorm":
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * given["weight"]
    if operator == "residual_layernorm":
        x = x + given["residual"]
    d = x - x.mean(-1, keepdims=True)
    scale = 1.0 / numpy.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
    return d * scale * given["weight"] + given["bias"]


def write(case, folder, seed):
    folder = pathlib.Path(folder)
    for path in folder.iterdir():
        if path.suffix != ".so":
            path.unlink()
    rows, width, operator = case["rows"], case["width"], case["operator"]
    kind = numpy_type(case["dtype"])
    source = numpy.random.default_rng([seed, zlib.crc32(case["id"].encode())])
    row_inputs = ["x", "residual"] if operator == "residual_layernorm" else ["x"]
    vectors = {}
    if "norm" in operator:
        for name in ("weight", "bias"):
            values = source.standard_normal(width, numpy.float32).astype(kind)
            values.tofile(folder / name)
            vectors[name] = values.astype(numpy.float64)
    labels = source.integers(0, width, rows, dtype=numpy.int64)
    labels.tofile(folder / "label")
    step = max(1, CHUNK // width)
    files = {name: open(folder / name, "wb") for name in (*row_inputs, "exact")}
    for begin in range(0, rows, step):
        count = min(step, rows - begin)
        given = {**vectors, "label": labels[begin:begin + count]}
        for name in row_inputs:
            values = source.standard_normal((count, width), numpy.float32).astype(kind)
            files[name].write(memoryview(values.view(numpy.uint8)))
            given[name] = values.astype(numpy.float64)
        files["exact"].write(memoryview(exact_rows(operator, given)))
    for file in files.values():
        file.close()
