"""The command's verbs on good input: generated inputs, sizes, plans as text, determinism, edges.

tier: check
builds: release asan
"""
import os
import re

import numpy as np

import command
from command import case, croft

OUT = command.SCRATCH / "out.npy"
SOFTMAX = "examples/softmax.croft"


def kernel(name, text):
    path = command.SCRATCH / f"{name}.croft"
    path.write_text(text)
    return path


def run(file, *words):
    """Runs and gives (result, the array written to y)."""
    OUT.unlink(missing_ok=True)
    result = croft("run", file, *words, f"y={OUT}")
    return result, command.load(OUT) if result.code == 0 and OUT.exists() else None


def check_inputs():
    """Generated inputs say what they say, and only the seed changes them."""
    copy = kernel("copy", "kernel copy(x: in T[R, N], y: out T[R, N], "
                          "T: f32 | f16 | bf16 | i32 | i64 | u8) {\n"
                          "    program row: R\n    y[row, :] = x[row, :]\n}\n")
    result, y = run(copy, "x=arange:2x3")
    case("arange", y is not None and np.array_equal(y, np.arange(6).reshape(2, 3)), result)
    result, y = run(copy, "x=ones:2x3:f16")
    case("ones_f16", y is not None and y.dtype == np.float16 and np.all(y == 1), result)
    result, y = run(copy, "x=randint:40x50:3:8", "T=i32")
    case("randint", y is not None and y.dtype == np.int32 and y.min() == 3 and y.max() == 7, result)
    result, a = run(copy, "x=randn:40x50", "--seed", "7")
    _, b = run(copy, "x=randn:40x50", "--seed", "7")
    _, c = run(copy, "x=randn:40x50", "--seed", "8")
    same = a is not None and np.array_equal(a, b) and not np.array_equal(a, c)
    case("seed_decides", same and abs(a.mean()) < 0.1 and abs(a.std() - 1) < 0.1, result)
    result, y = run(copy, "x=randn:4x8:bf16")
    case("bf16_is_stored_as_two_bytes", y is not None and np.load(OUT).dtype == "V2", result)
    result, y = run(copy, "x=randn:4x8", "T=bf16")
    case("dtype_parameter_binds", y is not None and np.load(OUT).dtype == "V2", result)
    command.save(command.SCRATCH / "u2.npy", np.zeros((2, 3)), "f32")
    np.save(command.SCRATCH / "u2.npy", np.full((2, 3), 0x3F80, "<u2"))
    result, y = run(copy, f"x={command.SCRATCH}/u2.npy", "T=bf16")
    case("bf16_as_u2", y is not None and np.all(y == 1), result)


def check_printing():
    printed = croft("run", SOFTMAX, "x=ones:2x4", "y=-")
    case("dash_prints", printed.code == 0 and printed.out.count("0.25") == 8, printed)
    np.save(command.SCRATCH / "a.npy", np.array([[1.5, -2.25], [np.inf, np.nan]], np.float32))
    shown = croft("show", command.SCRATCH / "a.npy")
    words = ("f32", "1.5", "-2.25", "inf", "nan")
    case("show", shown.code == 0 and all(word in shown.out for word in words), shown)
    for words in (["check", SOFTMAX], ["emit", SOFTMAX], ["plan", SOFTMAX],
                  ["emit", SOFTMAX, "N=1009"], ["plan", SOFTMAX, "x=randn:4x8"]):
        first, second = croft(*words), croft(*words, environment={
            "PATH": os.environ["PATH"], "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo"})
        case(f"same_bytes_{words[0]}_{len(words)}",
             first.code == 0 and first.out == second.out, f"{first}\n{second}")


def check_words():
    """Words on the command line that cannot mean anything are refused, and nothing is written."""
    for words, code, said in ((["--version"], 0, "croft "), (["help"], 0, "--check"),
                              (["run", SOFTMAX, "x=ones:2x4", "y=-", "--tol", "1"], 2, "--check"),
                              (["run", SOFTMAX, "x=ones:2x4", "y=ones:2x4"], 3, "argument-value"),
                              (["run", SOFTMAX, "x=-", "y=-"], 3, "argument-value"),
                              (["run", SOFTMAX, "x=randn:2x4:float16", "y=-"], 3, "such as f16")):
        result = croft(*words)
        case(f"words_{'_'.join(words)}", result.code == code and said in result.text, result)
    for words, said in ((["chek", SOFTMAX], "did you mean `check`? `croft --help` lists them"),
                        (["run", SOFTMAX, "--chek"], "did you mean `--check`? "),
                        (["run", SOFTMAX, "--machin=m1"], "did you mean `--machine`? "),
                        (["run", SOFTMAX, "-x"], "`croft --help` lists the options"),
                        (["zebra"], "`croft --help` lists them"),
                        (["show", SOFTMAX, "--all"], "belongs to plan and cache"),
                        (["show", SOFTMAX, "--assume", "all"], "belongs to emit and run")):
        result = croft(*words)
        case(f"meant_{'_'.join(words)}", result.code == 2 and said in result.err, result)
    result = croft("run", SOFTMAX, "x=randn:5x7", "y=/dev/null", "--check", "--tol", "1e-300")
    worst = re.search(r"^  worst at y\[(\d), (\d)\]: got ", result.out, re.MULTILINE)
    case("the_worst_element_is_named", result.code == 1 and worst and int(worst[1]) < 5 and
         int(worst[2]) < 7, result)
    text = command.SCRATCH / "k.ir"
    text.write_text(croft("emit", SOFTMAX, "--level", "tile").out)
    for verb in ("emit", "plan", "explain"):
        result = croft(verb, text)
        case(f"{verb}_takes_no_ir_text", result.code == 2 and "`croft check`" in result.err, result)
    result = croft("check", text)
    case("check_takes_ir_text", result.code == 0 and "of level tile is fine" in result.out, result)
    result = croft("check", text, "N=4")
    case("check_of_ir_text_takes_no_values", result.code == 2, result)
    result = croft("opt", SOFTMAX)
    case("opt_of_a_kernel_says_how", result.code == 3 and "croft emit --level tile" in result.err,
         result)
    result = croft("run", SOFTMAX, "x=ones:2x4")
    case("a_missing_output_is_written",
         result.code == 3 and "expected: `y=` an array to write\n" in result.err, result)
    result = croft("run", "examples/rmsnorm_register.croft", "x=ones:2x8", "w=ones:8", "y=-")
    case("a_const_of_another_value_is_said", result.code == 3 and "found: 8\n  expected: N = 1009\n"
         "  hint: `N` is a const of the kernel: `N=8` gives it this value\n" in result.err, result)
    wrong = croft("run", SOFTMAX, "x=ones:4", "y=-")
    case("a_wrong_rank_is_one_finding",
         wrong.code == 3 and wrong.err.count("error:") == 1 and "rank-mismatch" in wrong.err, wrong)


def check_another_machine():
    """Without a target a GPU's plan runs on this cpu."""
    for machine in ("sm_90", "m1", "opencl", "cpu-baseline"):
        result = croft("run", "examples/softmax.croft", "x=randn:3x100", "y=/dev/null", "--machine",
                       machine, "--check")
        case(f"run_planned_for_{machine}", result.code == 0 and "check y: ok" in result.out, result)


def check_machines():
    """Each machine is planned for, and its target writes the text."""
    heads = {"opencl": "__kernel __attribute__((reqd_work_group_size(320, 1, 1))) void\n",
             "m1": "[[max_total_threads_per_threadgroup(320)]]\nkernel void ",
             "sm_80": "__global__ void __launch_bounds__(512 GROUPS)\n"}
    heads["m4"], heads["sm_90"] = heads["m1"], heads["sm_80"]
    for machine, head in heads.items():
        choice = ["--machine", machine]
        plan = croft("plan", SOFTMAX, *choice)
        case(f"{machine}_plans", plan.code == 0 and f"machine {machine}\n" in plan.out, plan)
        level = croft("emit", SOFTMAX, "--level", "thread", *choice)
        case(f"{machine}_to_level_thread",
             level.code == 0 and re.search(r"\n  team \d+\n  subgroup 32\n", level.out), level)
        emitted = croft("emit", SOFTMAX, *choice)
        case(f"{machine}_emits_its_language",
             emitted.code == 0 and f"{head}croft_softmax(" in emitted.out, emitted)
    unknown = croft("plan", SOFTMAX, "--machine", "sm_1")
    case("unknown_machines_are_refused", unknown.code == 2 and "sm_90" in unknown.err, unknown)


def examples():
    return sorted((command.ROOT / "examples").glob("*.croft"))


def check_plans():
    """Emitting from a printed plan gives the same bytes, for both families, width known or open."""
    for path in examples():
        for words in ([], ["N=1009"]):
            if path.stem == "transpose8" and words:
                continue
            for family in ([], ["--plan", "fallback"]):
                label = f"{path.stem}_{'_'.join(words + family) or 'open'}".replace("--", "")
                plan = croft("plan", path, *words, *family)
                if plan.code:
                    case(f"plan_{label}", False, plan)
                    continue
                file = command.SCRATCH / "a.plan"
                file.write_text(plan.out)
                again = croft("plan", path, *words, "--plan", file)
                direct = croft("emit", path, *words, *family)
                planned = croft("emit", path, *words, "--plan", file)
                case(f"plan_{label}", plan.out == again.out and direct.code == 0
                     and direct.out == planned.out, f"{plan}\n{planned}")
    stale = croft("plan", SOFTMAX, "N=64").out
    file = command.SCRATCH / "stale.plan"
    file.write_text(re.sub(r"canon \w+", "canon 0000000000000000", stale))
    refused = croft("emit", SOFTMAX, "N=64", "--plan", file)
    case("plan_of_another_kernel_is_refused", refused.code == 3 and refused.err, refused)
    file.write_text(stale.replace("max.0", "max.7"))
    refused = croft("emit", SOFTMAX, "N=64", "--plan", file)
    case("plan_with_an_unknown_anchor_is_refused", refused.code == 3 and "max.0" in refused.err,
         refused)
    file.write_text("\n".join(line for line in stale.split("\n") if "max.0" not in line) + "\n")
    refused = croft("emit", SOFTMAX, "N=64", "--plan", file)
    case("plan_with_a_missing_anchor_is_refused", refused.code == 3 and "max.0" in refused.err,
         refused)


def code_of(text):
    """Emitted C without comments, each name replaced by its number in order of appearance."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    numbers = {}
    text = re.sub(r"[A-Za-z_]\w*",
                  lambda name: f"n{numbers.setdefault(name.group(0), len(numbers))}",
                  text)
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip())


def check_generality():
    """Names and the order of independent statements change nothing but names."""
    plain = kernel("plain", "kernel k(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n"
                            "    uno = x[row, :]\n    due = max(uno)\n"
                            "    tre = sum(uno * uno)\n"
                            "    y[row, :] = (uno - due) / tre\n}\n")
    other = kernel("other", "kernel k(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n"
                            "    value = x[row, :]\n    squares = value * value\n"
                            "    total = sum(squares)\n    top = max(value)\n    d = value - top\n"
                            "    y[row, :] = d / total\n}\n")
    first, second = croft("emit", plain, "N=1009"), croft("emit", other, "N=1009")
    case("names_and_order_do_not_matter",
         first.code == 0 and code_of(first.out) == code_of(second.out), f"{first}\n{second}")
    hashes = [re.search(r"canon (\w+)", croft("plan", path, "N=1009").out)
              for path in (plain, other)]
    case("names_and_order_keep_the_hash",
         all(hashes) and hashes[0].group(1) == hashes[1].group(1), str(hashes))
    emitted = croft("emit", SOFTMAX, "N=1009").out
    case("emitted_c_includes_nothing", emitted and "#include" not in emitted, emitted)


def check_edges():
    """Zero extents, division by zero, ignored labels, indices far outside."""
    for name, shape in (("no_rows", "0x8"), ("no_columns", "4x0"), ("nothing", "0x0")):
        result, y = run(SOFTMAX, f"x=randn:{shape}")
        extents = tuple(int(extent) for extent in shape.split("x"))
        case(name, y is not None and y.shape == extents, result)
    result, y = run("examples/sum.croft", "x=randn:4x0")
    case("an_empty_sum_is_0", y is not None and np.array_equal(y, np.zeros(4)), result)
    divide = kernel("divide", "kernel divide(a: in i32[R, N], b: in i32[R, N], y: out i32[R, N], "
                              "z: out i32[R, N]) {\n    program row: R\n"
                              "    y[row, :] = a[row, :] // b[row, :]\n"
                              "    z[row, :] = a[row, :] % b[row, :]\n}\n")
    a = np.array([[7, -7, 7, -7, -2 ** 31, 5, 0, -2 ** 31]], np.int32)
    b = np.array([[2, 2, -2, -2, -1, 0, 0, 0]], np.int32)
    np.save(command.SCRATCH / "a.npy", a)
    np.save(command.SCRATCH / "b.npy", b)
    result, y = run(divide, f"a={command.SCRATCH}/a.npy", f"b={command.SCRATCH}/b.npy",
                    f"z={command.SCRATCH}/z.npy")
    case("floor_division_never_traps",
         y is not None and y.tolist() == [[3, -4, -4, 3, -2 ** 31, 0, 0, 0]]
         and np.load(command.SCRATCH / "z.npy").tolist() == [[1, 1, -1, -1, 0, 0, 0, 0]], result)
    gather = kernel("gather", "kernel gather(x: in f32[N], i: in i64[R], y: out f32[R]) {\n"
                              "    program row: R\n    y[row] = x[i[row]]\n}\n")
    far = np.array([0, 2, 3, -1, 2 ** 62, -2 ** 63, 2 ** 32, 1])
    np.save(command.SCRATCH / "i.npy", far)
    np.save(command.SCRATCH / "x.npy", np.array([5, 6, 7], np.float32))
    words = [f"x={command.SCRATCH}/x.npy", f"i={command.SCRATCH}/i.npy"]
    result, y = run(gather, *words)
    case("a_gather_outside_reads_the_fill",
         y is not None and y.tolist() == [5, 7, 0, 0, 0, 0, 0, 6], result)
    checked = croft("run", gather, *words, f"y={OUT}", "--check")
    case("check_names_the_fault",
         checked.code == 1 and "`x`" in checked.text and "3" in checked.text, checked)
    past = kernel("past", "kernel past(x: in f32[N], y: out f32[R, S, N]) {\n"
                          "    program row: R, s: S\n"
                          "    y[row, s, :] = x[arange(N) + row * s]\n}\n")
    checked = croft("run", past, f"x={command.SCRATCH}/x.npy", "R=2", "S=3", f"y={OUT}", "--check")
    case("faults_that_follow_each_other_are_one_line", checked.code == 1 and [
        line.split("fault: ")[1] for line in checked.err.splitlines() if "fault: " in line] == [
            "index 3 of dimension 0 of `x` is outside [0, 3), program (1, 1)",
            "indices 3 to 4 of dimension 0 of `x` are outside [0, 3), program (1, 2)"]
         and "hint: `fill=`" in checked.err, checked)
    update = kernel("update", "kernel update(x: inout f32[R, N]) {\n    program row: R\n"
                              "    x[row, :] = x[row, :] * 2.0\n}\n")
    np.save(command.SCRATCH / "x.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    result = croft("run", update, f"x={command.SCRATCH}/x.npy,{OUT}")
    case("inout_reads_one_file_and_writes_another", result.code == 0 and np.array_equal(
        np.load(OUT), 2 * np.arange(12).reshape(3, 4)), result)
    sizes = kernel("sizes", "kernel sizes(y: out f32[R, N]) {\n    program row: R\n"
                            "    y[row, :] = f32(arange(N) * 10 + row)\n}\n")
    result, y = run(sizes, "R=2", "N=3")
    case("sizes_by_value", y is not None and y.tolist() == [[0, 10, 20], [1, 11, 21]], result)
    result, y = run("examples/rmsnorm.croft", "x=ones:2x4", "w=ones:4", "eps=3.0")
    case("scalar_by_value", y is not None and np.all(y == 0.5), result)


def check_special_values():
    """NaN, infinities and -0.0 give what NumPy gives, on every lane and in the tail."""
    for width in (1, 5, 16, 37):
        rows = []
        for special in (np.nan, np.inf, -np.inf, -0.0):
            for at in {0, width // 2, width - 1}:
                row = np.linspace(-2, 2, width, dtype=np.float32)
                row[at] = special
                rows.append(row)
        rows += [np.full(width, value, np.float32)
                 for value in (-np.inf, np.inf, -0.0, 1e30, 1e-40)]
        x = np.array(rows)
        np.save(command.SCRATCH / "x.npy", x)
        for name in ("softmax", "softmax_blocks", "log_softmax", "sum"):
            result, y = run(f"examples/{name}.croft", f"x={command.SCRATCH}/x.npy", "--check")
            with np.errstate(all="ignore"):
                m = x.astype(float).max(axis=1, keepdims=True)
                e = np.exp(x.astype(float) - m)
                want = {"sum": x.astype(float).sum(axis=1)}.get(
                    name, e / e.sum(axis=1, keepdims=True))
                if name == "log_softmax":
                    want = x - m - np.log(e.sum(axis=1, keepdims=True))
                want = want.astype(np.float32)
            case(f"special_values_{name}_{width}",
                 y is not None and np.allclose(y, want, rtol=1e-5, atol=1e-30, equal_nan=True),
                 result)


def main():
    check_inputs()
    check_printing()
    check_words()
    check_another_machine()
    check_machines()
    check_plans()
    check_generality()
    check_edges()
    check_special_values()
    command.finish()


if __name__ == "__main__":
    main()
