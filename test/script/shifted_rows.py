"""Rows shifted by where they begin between vectors: every example on the simulator, within the
bound of the reference, some of them with the bits of the cpu; and what plans may not shift.

tier: check check-long (in check a third of the cases)
builds: release

A dense matrix of odd width has rows that begin at every offset. Where the row of a matrix is wider
than what is read of it, the offsets come from the matrix, the ends from what is read. A width that
is not known when the kernel is compiled runs as thread IR on the simulator.
"""
import re

import command
import plan_text
from command import SCRATCH, case, croft
from examples import EXAMPLES
from sim_examples import arguments, both, outputs_of, same

WIDTHS = [1, 3, 4, 5, 127, 1000, 1001, 1002, 1003]
DTYPES = ["f32", "f16", "bf16"]
SM = ["--machine", "sm_90"]
# Lanes and slots of one step; the first digit is V.
DIGITS = [("sm_90", "slot 4 | lane 32"), ("sm_90", "slot 8 | lane 32 | subgroup 2"),
          ("cpu-avx2", "lane 8 | slot 4"), ("cpu-avx2", "slot 2 | lane 8")]
OWNED = ["rmsnorm_register"]  # the kernel's text says who owns each element
BLOCKS = ["softmax_blocks"]   # rows are read from the middle on
PART = """kernel part(x: in T[R, M], w: in T[M], y: out T[R, M], B: const = 64,
            T: f32 | f16 | bf16 | i32 | i8) {
    program row: R
    t = x[row, 0 : +B]
    y[row, 0 : +B] = t + maximum(w[0 : +B], t)
}
"""
PAIRS = """kernel pairs(x: in f32[B, H, N], y: out f32[B, H, N], z: out f32[B, H]) {
    program b: B, h: H
    t = x[b, h, :]
    i = arange(N)
    y[b, h, :] = where(i % 3 == 0, t, x[b, h, i // 2])
    z[b, h] = max(t) - min(t)
}
"""
EVERY_SECOND = """kernel second(x: in f32[R, N], y: out f32[S, N]) {
    program row: S
    y[row, :] = x[(row * 2 + 1) % R, :] * 2.0
}
"""
CROSSED = """kernel crossed(x: in f32[R, N], y: inout f32[R, N]) {
    program row: R
    n = i64(x[row, 0])
    y[row, :] = x[n, :]
}
"""


def edit(plan, digits, shift, width, keep_steps=True):
    """The plan with the axis of the row on these digits, shifted; None where it has none."""
    found = plan_text.elements_axis(plan)
    if found is None or " step *" in plan:
        return None
    first = int(digits.split()[1])
    plan = plan_text.with_row(plan, found[0], digits, width, first - 1, keep_steps)
    plan = plan_text.with_axis(plan, found[0], f"{plan_text.elements_axis(plan)[1]} shift {shift}")
    if first < 4 or digits.startswith("lane"):
        plan = plan_text.with_widths(plan, min(first, 8))
    return re.sub(r"^(access [wb]\S* +)width \d+", r"\1width 1", plan, flags=re.MULTILINE)


def planned(words, outputs, machine):
    return croft("plan", *words, *(f"{key}=/dev/null" for key in outputs), "--target", "cpu",
                 "--machine", machine, "--plan", "row")


def check(name, path, words, width, machine, digits, shift, keep_steps=True, on_cpu=False):
    if not command.in_turn(3):
        return None
    outputs = outputs_of(name) if name in EXAMPLES else dict.fromkeys(re.findall(
        r"(\w+): out", path.read_text()), "")
    plan = planned([path, *words], outputs, machine)
    edited = edit(plan.out, digits, shift, width, keep_steps)
    if plan.code or edited is None:
        return case(f"{name}_{width}_has_a_row", width < 2, plan)
    file = SCRATCH / "shifted.plan"
    file.write_text(edited)
    label = "_".join([name, str(width), machine, digits.replace(" ", ""), shift] + words[-1:])
    words = [path, *words, "--machine", machine, "--plan", file, "--check"]
    if on_cpu:
        return both(label, words, outputs)
    result = croft("run", *words, *(f"{key}=/dev/null" for key in outputs), "--target", "sim",
                   "--verify-passes")
    return case(label, result.code == 0 and not result.err, result)


def check_examples():
    turn = 0
    for name in EXAMPLES:
        if name in OWNED + BLOCKS + ["transpose8"]:
            continue
        first = EXAMPLES[name][0].split(":")[0]
        path = f"examples/{name}.croft"
        for width in WIDTHS:
            machine, digits = DIGITS[turn % len(DIGITS)]
            turn += 1
            words = arguments(name, 5, width, DTYPES[turn % 3], False)
            check(name, path, words, width, machine, digits, f"{first}.0", turn % 5 != 0,
                  turn % 6 == 0)
        words = arguments(name, 5, 1003, "f32", True)
        check(name, path, words, 1003, "sm_90", DIGITS[0][1], f"{first}.0", False)


def check_parts():
    """A block of rows that may be longer, in the types that tensors have; the weights are not
    aligned with them."""
    path = SCRATCH / "part.croft"
    path.write_text(PART)
    types = ["f32", "f16", "bf16", "i32", "i8"]
    blocks = ((5, 7), (127, 128), (126, 131), (260, 263), (300, 131))
    for turn, (block, wide) in enumerate(blocks):
        for k, dtype in enumerate(types):
            machine, digits = DIGITS[(turn + k) % len(DIGITS)]
            kind, end = ("randint", ":-9:9") if dtype[0] == "i" else ("randn", "")
            words = [f"B={block}", f"w={kind}:{wide}{end}:{dtype}",
                     f"x={kind}:5x{wide}{end}:{dtype}"]
            check("part", path, words, block, machine, digits, ["x.0", "y.0"][k % 2],
                  on_cpu=turn == k)


def check_pairs():
    path = SCRATCH / "pairs.croft"
    path.write_text(PAIRS)
    for width, machine, digits in [(65, *one) for one in DIGITS] + [(130, *DIGITS[0])]:
        check("pairs", path, [f"x=randn:2x3x{width}"], width, machine, digits, "x.0",
              on_cpu=width == 130)
    path = SCRATCH / "second.croft"
    path.write_text(EVERY_SECOND)
    for machine, digits in DIGITS:
        check("second", path, ["S=4", "x=randn:7x133"], 133, machine, digits, "x.0",
              on_cpu=machine == "sm_90")


def check_open_widths():
    """The width is a number of the run: the bits are those of the width that is known."""
    for name in ("softmax", "rmsnorm", "residual_layernorm"):
        path = f"examples/{name}.croft"
        plan = croft("plan", path, "T=f32", *SM, "--plan", "row").out
        plan = plan_text.with_axis(plan, "N", "slot 4 | lane 32 | step * shift x.0")
        file, text = SCRATCH / "open.plan", SCRATCH / "open.ir"
        file.write_text(plan)
        emitted = croft("emit", path, "T=f32", *SM, "--plan", file, "--level", "thread",
                        "--verify-passes", "-o", text)
        if emitted.code:
            case(f"{name}_open", False, emitted)
            continue
        for width in (0, 1, 5, 126, 389):
            words = arguments(name, 5, width, "f32", False)
            scalar = ["eps=1e-5"] if name != "softmax" else []
            outputs = {key: SCRATCH / f"open_{key}.npy" for key in outputs_of(name)}
            files = [f"{key}={value}" for key, value in outputs.items()]
            opened = croft("run", text, *words, *scalar, *files, "--target", "sim")
            loaded = [command.load(value) for value in outputs.values() if value.exists()]
            known = planned([path, *words], outputs, "sm_90").out
            fixed = edit(known, "slot 4 | lane 32", "x.0", width)
            if opened.code or opened.err or fixed is None:
                case(f"{name}_open_{width}", width < 2 and opened.code == 0, opened)
                continue
            file.write_text(fixed)
            result = croft("run", path, *words, *files, *SM, "--target", "sim", "--plan", file,
                           "--check")
            again = [command.load(value) for value in outputs.values()]
            case(f"{name}_open_{width}",
                 result.code == 0 and all(map(same, loaded, again)), result)


def check_explained():
    """Owners are told as they are: positions, of an amount that is not known and not drawn."""
    path = "examples/softmax.croft"
    file = SCRATCH / "told.plan"
    file.write_text(edit(croft("plan", path, "N=1001", "T=f32", *SM, "--plan", "row").out,
                         "slot 4 | lane 32", "x.0",
                         1001))
    words = ["explain", path, "N=1001", "T=f32", *SM, "--plan", file]
    result = croft(*words)
    case("owners_are_told",
         result.code == 0 and "slot 4 | lane 32 | step 8 shift x.0:" in result.out, result)
    result = croft(*words, "--value", "t", "--svg")
    case("no_picture_of_an_open_amount",
         result.code == 2 and "not drawn" in result.err and "Traceback" not in result.err, result)


def check_refused():
    (SCRATCH / "crossed.croft").write_text(CROSSED)
    for name, path, words, slug in (
            ("owned", "examples/rmsnorm_register.croft",
             ["N=900", "x=randn:3x900", "w=randn:900"], "plan-fixed"),
            ("blocks", "examples/softmax_blocks.croft", ["x=randn:3x999"], "plan-shift"),
            ("rows_from_data", SCRATCH / "crossed.croft",
             ["x=zeros:3x999", "y=zeros:3x999,/dev/null"], "plan-shift")):
        outputs = [] if "crossed" in str(path) else ["y=/dev/null"]
        plan = croft("plan", path, *words, *outputs, *SM)
        access = "x.1" if "crossed" in str(path) else "x.0"
        edited = re.sub(r"^(axis (?!row).*slot.*)$", rf"\1 shift {access}", plan.out,
                        flags=re.MULTILINE)
        file = SCRATCH / "refused.plan"
        file.write_text(edited)
        result = croft("emit", path, *words, *outputs, *SM, "--plan", file)
        case(f"{name}_refused",
             edited != plan.out and result.code == 3 and f"[{slug}]" in result.text, result)


def check_texts():
    """Steps of a shifted row that are counted wrongly, as `croft check` reads them: a few small
    widths do not show it."""
    plan, text = SCRATCH / "text.plan", SCRATCH / "text.ir"
    words = ["examples/softmax.croft", "T=f32", *SM]
    plan.write_text(plan_text.with_axis(croft("plan", *words).out.replace("width 4", "width 2"),
                                        "N", "slot 2 | lane 32 | step * shift x.0"))
    right = croft("emit", *words, "--plan", plan, "--level", "thread", "-o", text)
    result = croft("check", text)
    case("text_of_a_shifted_row", right.code == 0 and result.code == 0, result)
    before, after = text.read_text().rsplit(" floordiv ", 1)
    text.write_text(f"{before} floormod {after}")
    result = croft("check", text)
    case("steps_counted_wrongly", result.code == 3 and "[covers]" in result.err, result)


def mutants(text):
    """(label, text without one of the guards of a shifted row whose width is known)."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        found = re.search(r" mask=(%\d+|[^=]+ < %\d+)", line)
        if found and re.search(r"load %x|store %y", line):
            kind = "range" if "<" in found[0] else "bits"
            yield f"{line.split()[0]}_{kind}", number, line.replace(found[0], "", 1)
        found = re.search(r"= select (%\d+), (%\d+), (%\d+)", line)
        if found:
            yield "chosen", number, line.replace(found[0], f"= add {found[2]}, {found[3]}")
        if re.search(r"= l[et] %\d+, %\d+ : bool", line):
            other = line.replace("= le", "= lt") if "= le" in line else line.replace("= lt", "= le")
            yield "compared", number, other
        if re.search(r"= constant (128|256) : i64", line):
            yield "moved", number, re.sub(r"constant (\d+)", lambda n: f"constant {int(n[1]) - 1}",
                                          line)


def check_guards():
    """Chunks that every row fills have no guard, and each guard that there is is missed."""
    plan, text = SCRATCH / "ends.plan", SCRATCH / "ends.ir"
    words = ["examples/rmsnorm.croft", "N=389", "T=f32", *SM]
    plan.write_text(edit(croft("plan", *words, "--plan", "row").out, "slot 4 | lane 32", "x.0", 389,
                         False))
    result = croft("emit", *words, "--plan", plan, "--level", "thread", "-o", text)
    right = text.read_text()
    loads = re.findall(r"load %x.* \+ lane.*", right)
    case("chunks_that_every_row_fills_have_no_guard",
         result.code == 0 and [" mask=" in load for load in loads] == [False, False, True, True]
         and sum(" < " in load for load in loads) == 1, f"{loads}\n{result}")
    count = 0
    for kind, number, line in mutants(right):
        lines = right.splitlines()
        lines[number] = line
        text.write_text("\n".join(lines) + "\n")
        result = croft("check", text)
        case(f"guard_{kind}_{count}_is_missed", result.code == 3, f"{line}\n{result}")
        count += 1
    case("guards_are_left_out", count > 7, count)


def check_planned():
    """The planner shifts rows that begin anywhere, where many bytes move."""
    for name, words, wanted in (
            ("ragged", ["N=4095", "T=bf16", "R=16384"], True),
            ("of_vectors", ["N=4096", "T=bf16", "R=16384"], False),
            ("few_and_short", ["N=127", "T=bf16", "R=1"], False),
            ("refused", ["N=4095", "T=bf16", "R=16384", "--set", "shift=no"], False),
            ("asked_for", ["N=127", "T=f32", "R=1", "--set", "shift=yes"], True),
            ("of_a_cpu", ["N=4095", "T=f32", "R=16384", "--machine", "cpu-avx2"], False)):
        machine = [] if "--machine" in words else SM
        result = croft("plan", "examples/rmsnorm.croft", *words, *machine)
        case(f"planned_{name}", result.code == 0 and (" shift x.0" in result.out) == wanted, result)
    result = croft("plan", "examples/rmsnorm.croft", "N=4096", "T=f32", *SM, "--set",
                   "w=256,v=4,shift=yes")
    case("nothing_to_gain_refused", result.code != 0 and "[shift]" in result.text, result)
    result = croft("plan", "examples/rmsnorm.croft", "N=4096", "T=f32", *SM, "--set", "shift=2")
    case("no_such_shift", result.code != 0 and "[plan-set]" in result.text, result)
    for width, dtype in ((1001, "bf16"), (1003, "f16"), (4098, "f32")):
        words = ["examples/softmax.croft", *arguments("softmax", 5, width, dtype, False)]
        result = croft("run", *words, "y=/dev/null", *SM, "--target", "sim", "--check",
                       "--verify-passes", "--set", "shift=yes")
        case(f"planned_{width}_{dtype}_runs", result.code == 0 and not result.err, result)


def main():
    check_examples()
    check_parts()
    check_pairs()
    check_open_widths()
    check_explained()
    check_refused()
    check_texts()
    check_guards()
    check_planned()
    command.finish()


if __name__ == "__main__":
    main()
