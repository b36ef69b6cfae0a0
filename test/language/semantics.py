#!/usr/bin/env python3
"""What the rules of docs/language.md compute, against NumPy, on the cpu and by the reference.

tier: check
builds: release asan

Each case is a kernel, its arrays, and what NumPy says the outputs are. Integers are compared
exactly; floats within a few roundings of their type (the cases keep sums short).
"""
import os
import pathlib
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH", "/tmp"))
TARGETS = ["cpu", "reference"]
I32, I64, U32, I8, U8 = np.int32, np.int64, np.uint32, np.int8, np.uint8
F32, F16 = np.float32, np.float16
random = np.random.default_rng(int(os.environ.get("CROFT_SEED", "1")))
CASES = []


def case(function):
    CASES.append(function)
    return function


def normal(*shape):
    return random.standard_normal(shape).astype(F32)


def floor_div(a, b):
    """As the language has it: 0 for a zero divisor, wrapping."""
    with np.errstate(all="ignore"):
        wide = np.where(b == 0, 0, a.astype(object) // np.where(b == 0, 1, b).astype(object))
    return wide.astype(object)


def floor_mod(a, b):
    return np.where(b == 0, 0, a.astype(object) % np.where(b == 0, 1, b).astype(object))


def wrapped(values, dtype):
    bits = np.iinfo(dtype).bits
    lowest = int(np.iinfo(dtype).min)
    return np.array([(int(v) - lowest) % (1 << bits) + lowest for v in np.ravel(values)],
                    dtype=dtype).reshape(np.shape(values))


def integer_samples(dtype):
    edge = np.iinfo(dtype)
    some = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 100, edge.max, edge.max - 1, edge.min,
        edge.min + 1]
    if edge.min < 0:
        some += [-1, -2, -3, -7, -100]
    a, b = np.meshgrid(np.array(some, dtype=dtype), np.array(some, dtype=dtype))
    return a.ravel().copy(), b.ravel().copy()


def integer_case(dtype, name):
    bits = np.iinfo(dtype).bits
    text = f"""kernel k(a: in {name}[N], b: in {name}[N], add: out {name}[N], mul: out {name}[N],
             div: out {name}[N], mod: out {name}[N], shl: out {name}[N], shr: out {name}[N],
             bits: out {name}[N], less: out bool[N]) {{
        p = a[:]
        q = b[:]
        add[:] = p + q
        mul[:] = p * q - q
        div[:] = p // q
        mod[:] = p % q
        shl[:] = p << q
        shr[:] = p >> q
        bits[:] = (p & q) | (p ^ ~q)
        less[:] = (p < q) & (p != q) | (p >= q) & (p == q + 1)
    }}"""
    a, b = integer_samples(dtype)
    x, y = a.astype(object), b.astype(object)
    count = np.array([int(v) % bits for v in b], dtype=object)
    after = wrapped(y + 1, dtype)
    return text, {"a": a, "b": b}, {
        "add": wrapped(x + y, dtype), "mul": wrapped(x * y - y, dtype),
        "div": wrapped(floor_div(a, b), dtype), "mod": wrapped(floor_mod(a, b), dtype),
        "shl": wrapped(np.array([int(v) << int(c) for v, c in zip(x, count)], dtype=object), dtype),
        "shr": wrapped(np.array([int(v) >> int(c) for v, c in zip(x, count)], dtype=object), dtype),
        "bits": (a & b) | (a ^ ~b), "less": ((a < b) & (a != b)) | ((a >= b) & (a == after))}


@case
def integers_of_32_bits_wrap_and_floor():
    return integer_case(I32, "i32")


@case
def integers_of_64_bits_wrap_and_floor():
    return integer_case(I64, "i64")


@case
def unsigned_integers_wrap():
    return integer_case(U32, "u32")


@case
def narrow_integers_compute_in_32_bits():
    text = """kernel k(a: in i8[N], b: in u8[N], m: in bool[N], add: out i32[N], neg: out i8[N],
             most: out i8[N], stored: out i8[N], cast: out i8[N], bytes: out u8[N],
             count: out i32[1]) {
        add[:] = a[:] * b[:] + m[:]
        neg[:] = -a[:]
        most[:] = maximum(a[:], -3)
        stored[:] = a[:] * 2
        cast[:] = i8(a[:] * 2)
        bytes[:] = a[:] + b[:]
        count[0] = sum(m[:])
    }"""
    a = np.arange(-128, 128).astype(I8)
    b = np.arange(0, 256).astype(U8)[::-1].copy()
    m = (np.arange(256) % 3 == 0)
    wide = a.astype(I32)
    return text, {"a": a, "b": b, "m": m}, {
        "add": wide * b + m, "neg": wrapped(-wide, I8), "most": np.maximum(a, I8(-3)),
        "stored": np.clip(wide * 2, -128, 127).astype(I8), "cast": wrapped(wide * 2, I8),
        "bytes": np.clip(wide + b, 0, 255).astype(U8), "count": np.array([m.sum()], dtype=I32)}


@case
def casts_round_to_zero_and_stores_to_even():
    text = """kernel k(x: in f32[N], a: out i32[N], b: out i8[N], c: out u8[N], d: out i8[N],
             e: out u8[N],
             f: out f16[N], g: out bool[N], h: out i64[N], j: out f16[N]) {
        t = x[:]
        a[:] = i32(t)
        b[:] = i8(t)
        c[:] = u8(t)
        d[:] = t
        e[:] = t
        f[:] = t
        g[:] = bool(t)
        h[:] = i64(t)
        j[:] = f16(t * 3)
    }"""
    x = np.array([0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49, 126.5, 127.5, 128.0, 1e9,
        3e9, -3e9, 1e20,
                  -1e20, np.inf, -np.inf, np.nan, 65504.0, 65520.0, 65519.0, 1e-8, 6e-8, 254.5,
                  255.5,
                  256.0, -128.5, -129.0, 1e-45, 2147483520.0], dtype=F32)
    finite = np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e300, neginf=-1e300)

    def integer(values, dtype):
        edge = np.iinfo(dtype)
        return np.array([min(max(int(v), int(edge.min)), int(edge.max)) for v in values],
            dtype=dtype)

    with np.errstate(all="ignore"):
        return text, {"x": x}, {
            "a": integer(np.trunc(finite), I32), "b": integer(np.trunc(finite), I8),
            "c": integer(np.trunc(finite), U8), "d": integer(np.rint(finite), I8),
            "e": integer(np.rint(finite), U8), "f": x.astype(F16), "g": x != 0,
            "h": integer(np.trunc(finite), I64), "j": (x * F32(3)).astype(F16)}


@case
def ranges_end_where_their_tensor_does():
    text = """kernel k(x: in f32[R, N], n: i32, sums: out f32[R, 6], y: out f32[R, N],
             z: out f32[R, 8]) {
        program row: R
        sums[row, 0] = sum(x[row, : N // 2])
        sums[row, 1] = sum(x[row, N // 2 :])
        sums[row, 2] = sum(x[row, 5 : +64])
        sums[row, 3] = sum(pad(x[row, 5 : +64], 1.0))
        sums[row, 4] = max(x[row, N :])
        sums[row, 5] = sum(x[row, maximum(n, 0) : +4] * 2 + 1)
        y[row, :] = 0.0
        y[row, maximum(n - 2, 0) : +8] = pad(x[row, maximum(n - 4, 0) : +8], 9.0)
        z[row, :] = pad(x[row, maximum(n, 0) : +8], -1.0)
    }"""
    x = normal(3, 13)
    n = 9
    half = 6
    y = np.zeros((3, 13), dtype=F32)
    y[:, 7:13] = x[:, 5:11]
    z = np.full((3, 8), -1, dtype=F32)
    z[:, :4] = x[:, 9:13]
    sums = np.stack([x[:, :half].sum(1), x[:, half:].sum(1), x[:, 5:].sum(1), x[:, 5:].sum(1) + 56,
                     np.full(3, -np.inf), (x[:, 9:13] * 2 + 1).sum(1)], axis=1).astype(F32)
    return text, {"x": x, "n": n}, {"sums": sums, "y": y, "z": z}


@case
def gathers_outside_read_the_fill():
    text = """kernel k(x: in f32[R, N], i: in i32[R, M], b: in u8[M], lut: in f32[256],
             y: out f32[R, M],
             z: out f32[R, M], w: out f32[R, M], v: out f32[R]) {
        program row: R
        y[row, :] = x[row, i[row, :], fill=-5.0]
        z[row, :] = lut[b[:]]
        w[row, :] = x[row, arange(M) * 2 + 1, fill=0.5]
        v[row] = x[row + 1, 0, fill=7.0]
    }"""
    x, lut = normal(4, 10), normal(256)
    i = random.integers(-4, 14, (4, 9)).astype(I32)
    b = random.integers(0, 256, 9).astype(U8)
    inside = (i >= 0) & (i < 10)
    rows = np.arange(4)[:, None]
    w = np.full((4, 9), 0.5, dtype=F32)
    w[:, :5] = x[:, 1::2]
    return text, {"x": x, "i": i, "b": b, "lut": lut}, {
        "y": np.where(inside, x[rows, np.clip(i, 0, 9)], F32(-5)), "z": np.tile(lut[b], (4, 1)),
        "w": w,
        "v": np.append(x[1:, 0], F32(7))}


@case
def reductions_have_policies_and_identities():
    text = """kernel k(x: in f32[R, N], m: in bool[R, N], i: in i32[R, N], h: in f16[R, N],
             f: out f32[R, 8],
             g: out i32[R, 4], t: out bool[R, 2], u: out f16[R]) {
        program row: R
        f[row, 0] = max(x[row, :])
        f[row, 1] = min(x[row, :])
        f[row, 2] = max(x[row, :], nan=ignore)
        f[row, 3] = min(x[row, :], nan=ignore, order=tree)
        f[row, 4] = sum(x[row, :])
        f[row, 5] = sum(x[row, :], nan=ignore)
        f[row, 6] = prod(x[row, : 3], nan=ignore)
        f[row, 7] = sum(h[row, :])
        g[row, 0] = max(i[row, :])
        g[row, 1] = min(i[row, :])
        g[row, 2] = sum(i[row, :])
        g[row, 3] = sum(m[row, :])
        t[row, 0] = any(m[row, :])
        t[row, 1] = all(m[row, :])
        u[row] = max(h[row, :])
    }"""
    x = normal(5, 7)
    x[1, 3] = np.nan
    x[2, 2] = np.inf
    x[3, :] = np.nan
    m = random.integers(0, 2, (5, 7)).astype(bool)
    m[0, :], m[1, :] = True, False
    i = random.integers(-100, 100, (5, 7)).astype(I32)
    h = normal(5, 7).astype(F16)
    ignored = np.isnan(x)
    with np.errstate(all="ignore"):
        f = np.stack([x.max(1), x.min(1), np.where(ignored, -np.inf, x).max(1),
                      np.where(ignored, np.inf, x).min(1), x.sum(1), np.where(ignored, 0, x).sum(1),
                      np.where(ignored, 1, x)[:, :3].prod(1), h.astype(F32).sum(1)],
                      axis=1).astype(F32)
    return text, {"x": x, "m": m, "i": i, "h": h}, {
        "f": f, "g": np.stack([i.max(1), i.min(1), i.sum(1), m.sum(1)], axis=1).astype(I32),
        "t": np.stack([m.any(1), m.all(1)], axis=1), "u": h.max(1)}


@case
def empty_tiles_reduce_to_identities():
    text = """kernel k(x: in f32[R, N], i: in i32[R, N], m: in bool[R, N], f: out f32[R, 4],
             g: out i32[R, 2],
             t: out bool[R, 2]) {
        program row: R
        f[row, 0] = max(x[row, :])
        f[row, 1] = min(x[row, :])
        f[row, 2] = sum(x[row, :])
        f[row, 3] = prod(x[row, :])
        g[row, 0] = max(i[row, :])
        g[row, 1] = min(i[row, :])
        t[row, 0] = any(m[row, :])
        t[row, 1] = all(m[row, :])
    }"""
    empty = np.zeros((2, 0))
    return text, {"x": empty.astype(F32), "i": empty.astype(I32), "m": empty.astype(bool)}, {
        "f": np.tile(np.array([-np.inf, np.inf, 0, 1], dtype=F32), (2, 1)),
        "g": np.tile(np.array([-2**31, 2**31 - 1], dtype=I32), (2, 1)),
        "t": np.tile(np.array([False, True]), (2, 1))}


@case
def loops_carry_tiles_and_scalars():
    text = """kernel k(x: in f32[R, N], y: out f32[R, 4], c: out i32[R], last: out f32[R, 4],
             B: const = 4) {
        program row: R
        tile = 0.0
        best = -inf
        count = 0
        previous = 0.0
        for k in 0..N step B {
            t = pad(x[row, k : +B], 0.0)
            tile = tile * 2 + t
            best = maximum(best, max(x[row, k : +B]))
            for j in 0..row { count = count + i32(j) }
            if k > 4 { previous = t } else { previous = previous + 1 }
        }
        for j in 3..3 { best = 0.0 }
        y[row, :] = tile + best
        c[row] = count
        last[row, :] = previous
    }"""
    x = normal(4, 10)
    blocks = np.zeros((4, 3, 4), dtype=F32)
    blocks.reshape(4, 12)[:, :10] = x
    tile = ((blocks[:, 0] * 2) + blocks[:, 1]) * 2 + blocks[:, 2]
    rows = np.arange(4)
    return text, {"x": x}, {
        "y": tile + x.max(1)[:, None], "c": (3 * rows * (rows - 1) // 2).astype(I32),
        "last": blocks[:, 2]}


@case
def branches_choose_values_and_stores():
    text = """kernel k(x: in f32[R, N], y: out f32[R, N], z: inout f32[R], i: out i32[R]) {
        program row: R
        s = sum(x[row, :])
        if s > 0.0 {
            t = x[row, :]
            kind = 1
        } else if s < -1.0 {
            t = 0.0
            kind = 2
            z[row] = s
        } else {
            t = -x[row, :]
            kind = 3
        }
        y[row, :] = t
        i[row] = kind
    }"""
    x = np.array([[1, 2, 3], [-1, -2, -3], [0.1, -0.5, 0.0], [-0.0, 0.0, 0.0]], dtype=F32)
    s = x.sum(1)
    z = np.full(4, 8, dtype=F32)
    kind = np.where(s > 0, 1, np.where(s < -1, 2, 3))
    y = np.where((kind == 1)[:, None], x, np.where((kind == 2)[:, None], F32(0), -x))
    return text, {"x": x, "z": z}, {"y": y, "z": np.where(kind == 2, s, z), "i": kind.astype(I32)}


@case
def scatters_write_each_cell_once():
    text = """kernel k(x: in f32[R, N], slot: in i32[R], y: inout f32[S, N], t: out f32[R, 4,
             4], u: inout f32[R, 20]) {
        program row: R
        j = arange(N)
        y[slot[row], j, unique] = x[row, j]
        o = arange(16)
        t[row, o % 4, o // 4] = x[row, o]
        u[row, arange(8) * 3] = x[row, arange(8)]
    }"""
    x = normal(3, 16)
    slot = np.array([4, 0, 9], dtype=I32)
    y = np.full((5, 16), 2, dtype=F32)
    u = np.full((3, 20), 3, dtype=F32)
    expected_y, expected_u = y.copy(), u.copy()
    expected_y[4], expected_y[0] = x[0], x[1]
    expected_u[:, 0:20:3] = x[:, :7]
    return text, {"x": x, "slot": slot, "y": y, "u": u}, {
        "y": expected_y, "t": x.reshape(3, 4, 4).transpose(0, 2, 1).copy(), "u": expected_u}


@case
def programs_have_axes_and_steps():
    text = """kernel k(x: in f32[B, R, N], y: out f32[B, R, N], z: out f32[B, N],
             total: out f32[B]) {
        program b: B, i: N step 4
        t = x[b, : 3, i : +4]
        y[b, : 3, i : +4] = t * (b + 1) + i
        z[b, i : +4] = sum(t, axis=0)[0, :]
        if i == 0 { total[b, unique] = sum(sum(pad(x[b, : 3, : 8], 0.0), axis=1)[:, 0]) }
    }"""
    x = normal(2, 3, 10)
    start = (np.arange(10) // 4 * 4).astype(F32)
    y = x * np.array([1, 2], dtype=F32)[:, None, None] + start
    return text, {"x": x}, {"y": y, "z": x.sum(1), "total": x[:, :, :8].sum((1, 2))}


@case
def axes_are_added_and_dropped():
    text = """kernel k(x: in f32[R, N], w: in f32[M], y: out f32[R, M, N], rows: out f32[R, M],
             cols: out f32[R, N]) {
        program row: R
        grid = x[row, :][None, :] * w[:][:, None] + w[:, None]
        y[row, :, :] = grid - max(grid, axis=1)
        rows[row, :] = sum(grid, axis=1)[:, 0]
        cols[row, :] = min(grid, axis=0)[0, :]
    }"""
    x, w = normal(2, 5), normal(3)
    grid = x[:, None, :] * w[None, :, None] + w[None, :, None]
    return text, {"x": x, "w": w}, {
        "y": grid - grid.max(2, keepdims=True), "rows": grid.sum(2), "cols": grid.min(1)}


@case
def indices_mix_with_integers_and_floats():
    text = """kernel k(x: in f32[R, N], i: in i32[R, N], l: in i64[N], y: out f32[R, N],
             a: out i64[R, N], m: out bool[R, N]) {
        program row: R
        y[row, :] = where(arange(N) <= row, x[row, :] * row / N, -inf)
        a[row, :] = i64(i[row, :] + arange(N) * 2 - N)
        m[row, :] = (l[:] > i[row, :]) ^ (arange(N) % 2 == 0)
    }"""
    x = normal(4, 6)
    i = random.integers(-50, 50, (4, 6)).astype(I32)
    l = random.integers(-50, 50, 6).astype(I64)
    j, rows = np.arange(6), np.arange(4)[:, None]
    return text, {"x": x, "i": i, "l": l}, {
        "y": np.where(j <= rows, x * rows.astype(F32) / F32(6), -np.inf).astype(F32),
        "a": i.astype(I64) + j * 2 - 6, "m": (l > i) ^ (j % 2 == 0)}


@case
def special_floats_compare_and_select():
    text = """kernel k(a: in f32[N], b: in f32[N], less: out bool[N], equal: out bool[N],
             most: out f32[N], least: out f32[N],
             chosen: out f32[N], signs: out f32[N], root: out f32[N]) {
        p = a[:]
        q = b[:]
        less[:] = p < q
        equal[:] = ~(p != q)
        most[:] = maximum(p, q)
        least[:] = minimum(p, q)
        chosen[:] = where(p == p, p, q)
        signs[:] = 1 / -p
        root[:] = sqrt(abs(p))
    }"""
    some = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 3.4e38], dtype=F32)
    a, b = (v.ravel().copy() for v in np.meshgrid(some, some))
    with np.errstate(all="ignore"):
        return text, {"a": a, "b": b}, {
            "less": a < b, "equal": a == b, "most": np.maximum(a, b), "least": np.minimum(a, b),
            "chosen": np.where(a == a, a, b), "signs": (F32(1) / -a).astype(F32),
            "root": np.sqrt(np.abs(a))}


def close(got, expected, dtype):
    if got.shape != expected.shape:
        return False
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            got = got.astype(dtype)  # the reference gives f64 that is not rounded to the type
    if dtype.kind != "f":
        return got.dtype == expected.dtype and np.array_equal(got, expected)
    steps = {"float16": 2e-3, "float32": 2e-6}[dtype.name]
    with np.errstate(all="ignore"):
        return np.allclose(got.astype(np.float64), expected.astype(np.float64), rtol=steps,
            atol=steps,
                           equal_nan=True)


def run(name, target, text, inputs, expected):
    folder = SCRATCH / f"{name}_{target}"
    folder.mkdir(exist_ok=True)
    kernel = folder / "k.croft"
    kernel.write_text(text, encoding="utf-8")
    words = [CROFT, "run", str(kernel), "--target", target]
    for key, value in inputs.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{key}.npy", value)
            value = f"{folder}/{key}.npy"
            value += f",{folder}/{key}.out.npy" if key in expected else ""
        words.append(f"{key}={value}")
    words += [f"{key}={folder}/{key}.out.npy" for key in expected if key not in inputs]
    result = subprocess.run(words, capture_output=True, text=True, errors="replace")
    if result.returncode:
        return f"status {result.returncode}: {result.stdout}{result.stderr}"
    for key, value in expected.items():
        got = np.load(folder / f"{key}.out.npy")
        if not close(got, value, value.dtype):
            return f"{key}: found {got.tolist()}, expected {value.tolist()}"
    return None


def main():
    failures = 0
    for make in CASES:
        text, inputs, expected = make()
        for target in TARGETS:
            why = run(make.__name__, target, text, inputs, expected)
            print(f"ok {make.__name__} {target}" if why is None else
                  f"not ok {make.__name__} {target}: {why[:2000]}")
            failures += why is not None
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
