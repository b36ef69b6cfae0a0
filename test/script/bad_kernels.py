"""Wrong kernels, one by one: a diagnostic on the right line, nothing written, no crash.

tier: check
builds: release asan

Each case is a kernel with one mistake; its line ends in `#!` and the slug to be reported there.
Exit status 3; file:line:column, a caret, found, expected and a hint; no output written.
"""
import re

import command

HEAD = "kernel bad(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n"
KERNELS = {
    "unknown_name": HEAD + "    y[row, :] = z #! unknown-name\n}\n",
    "unknown_function": HEAD + "    y[row, :] = frob(x[row, :]) #! unknown-function\n}\n",
    "wrong_arity_of_a_function":
        HEAD + "    y[row, :] = exp(x[row, :], 1.0) #! argument-count\n}\n",
    "missing_argument_of_a_function":
        HEAD + "    y[row, :] = maximum(x[row, :]) #! argument-count\n}\n",
    "wrong_number_of_indices": HEAD + "    y[row, :] = x[row] #! index-count\n}\n",
    "dtype_mismatch": HEAD + "    y[row, :] = x[row, :] + i32(1.0) #! type-mismatch\n}\n",
    "logic_on_floats": HEAD + "    y[row, :] = x[row, :] & x[row, :] #! type-mismatch\n}\n",
    "axis_missing_above_rank_1":
        "kernel bad(x: in f32[R, M, N], y: out f32[R]) {\n    program row: R\n"
        "    y[row] = sum(x[row, :, :]) #! axis\n}\n",
    "axis_out_of_range":
        "kernel bad(x: in f32[R, M, N], y: out f32[R, 1, N]) {\n    program row: R\n"
        "    y[row, :, :] = sum(x[row, :, :], axis=2) #! axis\n}\n",
    "broadcast_of_unequal_ranks":
        "kernel bad(x: in f32[R, M, N], y: out f32[R, M, N]) {\n    program row: R\n"
        "    y[row, :, :] = x[row, :, :] + x[row, 0, :] #! rank\n}\n",
    "broadcast_of_unequal_extents":
        "kernel bad(x: in f32[R, N], z: in f32[R, M], y: out f32[R, N]) {\n    program row: R\n"
        "    y[row, :] = x[row, :] + z[row, :] #! shape\n}\n",
    "reduction_of_a_scalar": HEAD + "    y[row, :] = x[row, :] * sum(2.0) #! reduce-scalar\n}\n",
    "store_to_an_input": HEAD + "    x[row, :] = x[row, :] #! store-to-in\n"
                                "    y[row, :] = x[row, :]\n}\n",
    "non_injective_scatter":
        HEAD + "    i = arange(N)\n    y[row, i // 2] = x[row, :] #! store-overlap\n}\n",
    "rows_that_collide": HEAD + "    y[0, :] = x[row, :] #! store-overlap\n}\n",
    "zero_divisor": HEAD + "    y[row, :] = x[row, :] * f32(N // 0) #! zero-divisor\n}\n",
    "zero_remainder": HEAD + "    y[row, :] = x[row, :] * f32(N % 0) #! zero-divisor\n}\n",
    "literal_past_its_type":
        "kernel bad(x: in i32[R, N], y: out i32[R, N]) {\n    program row: R\n"
        "    y[row, :] = x[row, :] + 3000000000 #! literal\n}\n",
    "fraction_beside_an_integer":
        "kernel bad(x: in i32[R, N], y: out i32[R, N]) {\n    program row: R\n"
        "    y[row, :] = x[row, :] + 0.5 #! literal\n}\n",
    "literal_past_64_bits":
        HEAD + "    y[row, 99999999999999999999 : +N] = x[row, :] #! literal\n}\n",
    "recursion": "kernel bad(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n"
                 "    y[row, :] = bad(x[row, :]) #! unknown-function\n}\n",
    "missing_brace": HEAD + "    y[row, :] = x[row, :] #! syntax\n",
    "negative_start": HEAD + "    y[row, :] = x[row, 0 - 1 : +N] #! range-start\n}\n",
    "name_used_before_it_is_defined":
        HEAD + "    y[row, :] = t #! unknown-name\n    t = x[row, :]\n}\n",
    "if_on_a_tile":
        HEAD + "    t = x[row, :]\n    if t > 0.0 { #! condition\n        t = t + 1.0\n    }\n"
        "    y[row, :] = t\n}\n",
    "store_of_integers_to_floats": HEAD + "    y[row, :] = i32(x[row, :]) #! type-mismatch\n}\n",
}
MANY = (HEAD + "    a = nope1 + 1.0\n    b = nope2 + 1.0\n    y[row, :] = nope3\n}\n")




def arguments(text):
    """Generated inputs that fit the kernel's signature."""
    shapes = {"R": "4", "M": "6", "N": "8"}
    words = []
    for name, dtype, extents in re.findall(r"(\w+): in (\w+)\[([^\]]*)\]", text):
        shape = "x".join(shapes[extent.strip()] for extent in extents.split(","))
        words.append(f"{name}=randint:{shape}:0:8" if dtype == "i32" else f"{name}=randn:{shape}")
    return words


def check_located(name, path, text):
    """check and run both report the marked slug on the marked line."""
    line = next(i for i, one in enumerate(text.split("\n"), 1) if "#!" in one)
    slug = text.split("#!")[1].split("\n")[0].strip()
    out = command.SCRATCH / "y.npy"
    out.unlink(missing_ok=True)
    for result in (command.croft("check", path),
                   command.croft("run", path, *arguments(text), f"y={out}")):
        located = re.search(rf"{re.escape(str(path))}:(\d+):(\d+): error: .*\[([a-z0-9-]+)\]",
                            result.err)
        good = (result.code == 3 and located and int(located.group(1)) in (line, line + 1)
                and located.group(3).startswith(slug) and "^" in result.err
                and all(word in result.err for word in ("found:", "expected:", "hint:"))
                and not out.exists())
        command.case(f"{name}_{result.words[1]}", good, f"wanted {slug} on line {line}\n{result}")


def check_bomb(name, content, codes=(3,)):
    """A hostile file ends with one of the codes and a bounded message."""
    path = command.SCRATCH / f"{name}.croft"
    path.write_bytes(content)
    result = command.croft("check", path, timeout=60)
    good = result.code in codes and "error:" in result.err and len(result.err) < 20000
    command.case(name, good, result)


def main():
    for name, text in KERNELS.items():
        path = command.SCRATCH / f"{name}.croft"
        path.write_text(text)
        check_located(name, path, text)
    path = command.SCRATCH / "many.croft"
    path.write_text(MANY)
    result = command.croft("check", path)
    several = result.code == 3 and result.err.count("error:") >= 3
    command.case("several_errors_a_run", several, result)

    body = HEAD.encode() + b"    y[row, :] = "
    deep = 50000
    check_bomb("deep_parentheses", body + b"(" * deep + b"x[row, :]" + b")" * deep + b"\n}\n")
    check_bomb("deep_minus_signs", body + b"-" * deep + b"nope\n}\n")
    check_bomb("deep_calls", body + b"exp(" * deep + b"1.0" + b")" * deep + b"\n}\n")
    check_bomb("deep_indices", body + b"x[row, " * deep + b"0" + b"]" * deep + b"\n}\n")
    check_bomb("deep_loops", HEAD.encode() + b"for k in 0..N {" * deep)
    check_bomb("deep_ifs", HEAD.encode() + b"if N > 1 {" * deep + b"}" * deep + b"\n}\n")
    check_bomb("long_chain", body + b"nope + " * deep + b"1.0\n}\n")
    garbage = bytes((i * 7919 + (i >> 8) * 31) % 251 for i in range(1 << 16)) * 160
    check_bomb("ten_megabytes_of_garbage", garbage)
    check_bomb("ten_megabytes_of_braces", b"{" * 10_000_000)
    check_bomb("nul_bytes", body + b"x[row, :]\0\n}\n")
    check_bomb("only_nul_bytes", b"\0" * 1000)
    check_bomb("invalid_utf8", body + b"x[row, :] + \xff\xfe\xc0\x80\n}\n")
    check_bomb("long_name", body + b"n" * 100_000 + b"\n}\n")
    check_bomb("long_line", body + b"x[row, :] " + b" " * 1_000_000 + b"$\n}\n")
    check_bomb("empty_file", b"")
    check_bomb("only_a_comment", b"# nothing here\n")
    command.finish()


if __name__ == "__main__":
    main()
