"""`--strict` gives one result: the same hash for every plan, machine and target here; and `--hash`
is over type, shape and bytes.

tier: check check-long (in check half of the cases)
builds: release
"""
import re
import struct

import numpy as np

import command
from command import SCRATCH, case, croft
from examples import EXAMPLES
from sim_examples import arguments, outputs_of

NAMES = ["softmax", "rmsnorm", "layernorm", "residual_layernorm", "cross_entropy"]
WAYS = [("cpu", "cpu-avx2", "row"), ("cpu", "cpu-avx2", "fallback"), ("sim", "cpu-avx2", "row"),
        ("cpu", "sm_90", "row"), ("sim", "sm_90", "fallback"), ("sim", "sm_90", None),
        ("sim", "m1", "row"), ("cpu", "cpu-baseline", None)]
TYPES = {"f32": "<u4", "f16": "<u2", "bf16": "<u2", "i64": "<u8", "bool": "u1"}
QUIET = {"f32": 0x7fc00000, "f16": 0x7e00, "bf16": 0x7fc0}
INFINITY = {"f32": 0x7f800000, "f16": 0x7c00, "bf16": 0x7f80}
COPY = """kernel copy(x: in T[R, N], y: out T[R, N], z: out T[N, R],
            T: f32 | f16 | bf16 | i64 | bool) {
    program row: R
    y[row, :] = x[row, :]
    z[:, row] = x[row, :]
}
"""


def fnv(data, start=0xcbf29ce484222325):
    value = start
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2 ** 64
    return value


def hash_of(dtype, bits):
    """Of the elements' bits, by the definition in docs/command.md."""
    bits = bits.copy()
    if dtype in QUIET:
        sign = (1 << (8 * bits.itemsize - 1)) - 1
        bits[(bits & sign) > INFINITY[dtype]] = QUIET[dtype]
    head = dtype.encode() + struct.pack(f"<{1 + bits.ndim}Q", bits.ndim, *bits.shape)
    return fnv(head + bits.tobytes())


def hashes(result):
    return dict(re.findall(r"^hash (\S+) ([0-9a-f]{16})$", result.out, re.MULTILINE))


def check_one_result():
    changed = 0
    for name in NAMES:
        for width, dtype in [(257, "f32"), (1000, "bf16"), (2, "f16")]:
            if dtype != "f32" and not command.in_turn(4):
                continue
            words = arguments(name, 9, width, dtype, False)
            outputs = [f"{key}=/dev/null" for key in outputs_of(name)]
            seen, loose = {}, set()
            for target, machine, plan in WAYS:
                options = ["--target", target, "--machine", machine, "--hash"]
                options += ["--plan", plan] if plan else []
                path = f"examples/{name}.croft"
                result = croft("run", path, *words, *outputs, *options, "--strict")
                key = hashes(result).get("all", result.text)
                seen.setdefault(key, []).append((target, machine, plan))
                if dtype == "f32" and target == "sim":
                    loose.add(hashes(croft("run", path, *words, *outputs, *options)).get("all"))
            case(f"strict_{name}_{width}_{dtype}", len(seen) == 1 and len(next(iter(seen))) == 16,
                 seen)
            changed += len(loose) > 1
    case("without_strict_plans_differ", changed > 0, f"{changed} examples")


def check_definition():
    path = SCRATCH / "copy.croft"
    path.write_text(COPY)
    rng = np.random.default_rng(command.SEED)
    for dtype, bits in TYPES.items():
        data = rng.integers(0, 2 if dtype == "bool" else 2 ** 16, (3, 5)).astype(bits)
        if dtype == "f32":
            data[0] = [0x7f800001, 0xffc12345, 0x7f800000, 0x80000000, 0]
        file = SCRATCH / "bits.npy"
        kinds = {"f32": "<f4", "f16": "<f2", "bf16": "V2", "i64": "<i8", "bool": "?"}
        np.save(file, data.view(kinds[dtype]))
        want = {"y": f"{hash_of(dtype, data):016x}",
                "z": f"{hash_of(dtype, np.ascontiguousarray(data.T)):016x}"}
        want["all"] = f"{fnv(b''.join(struct.pack('<Q', int(want[key], 16)) for key in 'yz')):016x}"
        for target in ("cpu", "sim"):
            result = croft("run", path, f"x={file}", f"T={dtype}", "y=/dev/null", "z=/dev/null",
                           "--hash", "--target", target)
            case(f"hash_{dtype}_{target}", hashes(result) == want, f"{want}\n{result}")
    text = croft("emit", path, "--level", "thread", "--machine", "cpu-avx2", "T=f32", "R=3", "N=5")
    (SCRATCH / "copy.ir").write_text(text.out)
    data = np.ones((3, 5), np.float32)
    np.save(SCRATCH / "ones.npy", data)
    result = croft("run", "--target", "sim", SCRATCH / "copy.ir", f"x={SCRATCH / 'ones.npy'}",
                   "y=/dev/null", "z=/dev/null", "--hash")
    case("hash_of_ir_text", hashes(result).get("y") ==
         f"{hash_of('f32', data.view('<u4')):016x}", result)


def check_words():
    softmax = ["examples/softmax.croft", "x=randn:3x64", "y=/dev/null", "--machine", "sm_90"]
    for word in ("plan", "explain", "check", "emit"):
        result = croft(word, *softmax, "--strict")
        good = result.code == 0 and (word != "plan" or
                                     len(re.findall(r"^reduce .* canonical$", result.out,
                                                    re.MULTILINE)) == 2)
        case(f"strict_{word}", good, result)
        result = croft(word, *softmax, "--hash")
        case(f"no_hash_of_{word}", result.code == 2, result)
    plan = croft("plan", *softmax).out
    (SCRATCH / "tree.plan").write_text(plan)
    result = croft("run", *softmax, "--target", "sim", "--strict", "--plan", SCRATCH / "tree.plan")
    case("a_tree_is_refused_under_strict", result.code == 3 and "[plan-strict]" in result.text and
         "reduce max.0" in result.text, result)
    strict = croft("plan", *softmax, "--strict").out
    (SCRATCH / "tree.plan").write_text(strict)
    result = croft("run", *softmax, "--target", "sim", "--strict", "--plan", SCRATCH / "tree.plan")
    case("its_own_plan_is_obeyed", result.code == 0 and strict != plan, result)
    integers = SCRATCH / "integers.croft"
    integers.write_text("kernel k(x: in i32[R, N], f: in f32[R, N], y: out i32[R], b: out bool[R], "
                        "m: out f32[R]) {\n    program row: R\n    t = x[row, :]\n"
                        "    y[row] = sum(t) + max(t)\n    b[row] = any(t > 0)\n"
                        "    m[row] = min(f[row, :], zero=strict)\n}\n")
    result = croft("plan", integers, "R=3", "N=40", "--strict", "--plan", "row")
    case("what_has_one_result_stays_a_tree", result.code == 0 and "canonical" not in result.out,
         result)


def main():
    assert set(NAMES) <= set(EXAMPLES)
    check_one_result()
    check_definition()
    check_words()
    command.finish()


main()
