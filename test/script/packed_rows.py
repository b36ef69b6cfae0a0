"""Rows that share a subgroup or a group: every kind of packing on the simulator, within the bound
of the reference and without a finding, many with the bits of the cpu; and what plans may not pack.

tier: check check-long
builds: release

Rows of W lanes, 32/W of them in a subgroup; rows of S subgroups, P of them in a group, with any S
from 1 to 32; and several subgroups of several rows. Rows that do not fill the last group are
replayed, so that row counts below, at and past a group are tried. The plans are those of the
planner with the digits changed. With TIER=check-long all widths from 1 to 64 are taken.
"""
import re

import command
import plan_text
from command import SCRATCH, case, croft
from examples import EXAMPLES
from sim_examples import arguments, both, outputs_of, same

LONG = command.LONG
SM = "sm_90"
DTYPES = ["f32", "f16", "bf16"]
KERNELS = ["softmax", "rmsnorm", "layernorm", "cross_entropy", "sum", "rmsnorm_quant",
           "residual_layernorm", "log_softmax", "swiglu", "gelu_add"]
WIDTHS = range(1, 65) if LONG else (1, 2, 5, 16, 31, 33, 64)
IN_PLACE = """kernel add(x: in f32[R, N], y: inout f32[R, N]) {
    program row: R
    y[row, :] = y[row, :] + x[row, :]
}
"""
CONVERTED = """kernel turned(x: in f32[R, N], y: out f32[R, N], N: const = 64) {
    program row: R
    i = convert(arange(N), identity(64, 2))
    y[row, :] = x[row, i] + max(x[row, i])
}
"""
PARTS = """kernel parts(x: in f32[R, N], n: in i64[R], y: out f32[R]) {
    program row: R
    y[row] = sum(x[row, maximum(n[row], 0) : +60])
}
"""
BRANCH = """kernel branch(x: in f32[R, N], y: out f32[R, N]) {
    program row: R
    t = x[row, :]
    s = sum(t)
    if s > 0.0 {
        t = t * 2.0
    }
    y[row, :] = t
}
"""
PLANES = """kernel planes(x: in f32[B, H, N], y: out f32[B, H, N], z: out f32[B, H]) {
    program b: B, h: H
    t = x[b, h, :]
    i = arange(N)
    y[b, h, :] = where(i % 3 == 0, t, x[b, h, i // 2]) * f32(h + 1)
    z[b, h] = max(t) - min(t)
}
"""
LOOPED = """kernel looped(x: in f32[R, M, N], y: out f32[R, N], z: out f32[R]) {
    program row: R
    a = x[row, 0, :] * 0.0
    m = -1000.0
    for k in 0 .. M {
        t = x[row, k, :]
        m = maximum(m, max(t) - sum(t) / f32(N))
        a = a + t * m
    }
    y[row, :] = a
    z[row] = m
}
"""


def edit(plan, rows, elements, width, keep_steps=False):
    """The plan with these digits of the last program axis and of the axis of elements, whose extent
    is known; None where it has none."""
    found = plan_text.elements_axis(plan)
    if found is None or " step *" in plan:
        return None
    plan = plan_text.with_row(plan, found[0], elements, width, keep_steps=keep_steps)
    plan = plan_text.with_axis(plan, plan_text.program_axes(plan)[-1], rows)
    return plan_text.with_widths(plan, plan_text.neighbours(elements), most=True)


def planned(words, outputs, machine=SM):
    return croft("plan", *words, *(f"{key}=/dev/null" for key in outputs), "--target", "cpu",
                 "--machine", machine, "--plan", "row")


def check(label, words, outputs, width, rows, elements, keep_steps=False, on_cpu=False,
          machine=SM):
    plan = planned(words, outputs, machine)
    edited = edit(plan.out, rows, elements, width, keep_steps)
    label = "_".join([label, str(width), rows.replace(" ", ""), elements.replace(" ", "")])
    if width == 1:
        refused = plan.code == 3 and "no axis of elements" in plan.err
        return case(f"{label}_has_no_row", refused, plan)
    if plan.code or edited is None:
        return case(f"{label}_is_planned", False, plan)
    file = SCRATCH / "packed.plan"
    file.write_text(edited)
    words = [*words, "--machine", machine, "--plan", file, "--check"]
    if on_cpu:
        return both(label, words, outputs)
    result = croft("run", *words, *(f"{key}=/dev/null" for key in outputs), "--target", "sim",
                   "--verify-passes")
    return case(label, result.code == 0 and not result.err, result)


def example(name, rows, width, dtype, digits, elements, **options):
    if not command.in_turn(6):
        return None
    words = arguments(name, rows, width, dtype, False)
    return check(f"{name}_{rows}_{dtype}", [f"examples/{name}.croft", *words], outputs_of(name),
                 width, digits, elements, **options)


def check_rows_in_a_subgroup():
    """W = 1, 2, 4, 8, 16 lanes: the row's own lane bits, no scratch and no sync."""
    turn = 0
    for lanes in (1, 2, 4, 8, 16):
        for width in WIDTHS:
            name = KERNELS[turn % len(KERNELS)]
            slots = (4, 1, 2)[turn % 3]
            elements = " | ".join([f"slot {slots}"] + [f"lane {lanes}"] * (lanes > 1))
            rows = (1, 7, 65)[turn % 3]
            digits = f"lane {32 // lanes} | group *"
            if turn % 4 == 3:
                digits = f"lane {32 // lanes} | subgroup {(2, 3, 4)[turn % 3]} | group *"
            example(name, rows, width, DTYPES[turn % 2 * (turn % 3)], digits, elements,
                    keep_steps=turn % 5 == 0, on_cpu=turn % 7 == 0)
            turn += 1


def check_cooperating_rows():
    """P rows of S subgroups each: partial results of each row's own, one sync for all."""
    turn = 0
    for subgroups in (1, 2, 3, 8, 13, 32):
        for together in (1, 2, 4, 8):
            if subgroups * together > 32:
                continue
            for width in (1, 127, 128 * subgroups, 1003) if LONG else (
                    (127, 128 * subgroups, 1003)[turn % 3],):
                name = KERNELS[turn % len(KERNELS)]
                rows = together * 2 + (1, -1, 0)[turn % 3]
                elements = f"slot {(4, 2, 1)[turn % 3]} | lane 32"
                elements += f" | subgroup {subgroups}" if subgroups > 1 else ""
                digits = f"subgroup {together} | group *" if together > 1 else "group *"
                example(name, rows, width, DTYPES[turn % 3], digits, elements,
                        keep_steps=turn % 2 == 0, on_cpu=turn % 6 == 0)
                turn += 1


def check_walking_groups():
    """As many groups as the plan says, each of which walks over rows of its own."""
    packings = (("group 3 | step *", "slot 4 | lane 32"),
                ("group 2 | step *", "slot 2 | lane 32 | subgroup 2"),
                ("subgroup 2 | group 2 | step *", "lane 32 | subgroup 3"),
                ("lane 4 | group 2 | step *", "lane 8 | slot 2"),
                ("group 264 | step *", "slot 2 | lane 32"))
    for turn in range(len(packings) * (4 if LONG else 2)):
        rows, elements = packings[turn % len(packings)]
        example((KERNELS + ["causal_softmax"])[turn % 11], (13, 9, 2)[turn % 3], 200,
                DTYPES[turn % 3], rows, elements, keep_steps=turn % 2 == 0, on_cpu=turn % 4 == 1)


def check_many_rows():
    """More rows than the grid of a test usually has, on the target that is quick."""
    for name, digits, elements in (("softmax", "lane 4 | group *", "slot 4 | lane 8"),
                                   ("layernorm", "subgroup 4 | group *", "slot 2 | lane 32"),
                                   ("rmsnorm", "subgroup 2 | group 264 | step *",
                                    "slot 2 | lane 32")):
        words = arguments(name, 4097, 40, "f32", False)
        outputs = outputs_of(name)
        file = SCRATCH / "many.plan"
        file.write_text(edit(planned([f"examples/{name}.croft", *words], outputs).out, digits,
                             elements, 40))
        result = croft("run", f"examples/{name}.croft", *words, "--machine", SM, "--plan", file,
                       *(f"{key}=/dev/null" for key in outputs), "--target", "cpu", "--check")
        case(f"many_rows_{name}", result.code == 0 and not result.err, result)


def check_other_kernels():
    """Several axes of programs, gathers, loops of the kernel with reductions in them."""
    packings = (("lane 4 | group *", "slot 2 | lane 8"),
                ("subgroup 2 | group *", "lane 32 | subgroup 3"),
                ("lane 8 | subgroup 2 | group *", "lane 4 | slot 2"),
                ("subgroup 3 | group *", "slot 2 | lane 32"),
                ("lane 32 | group *", "slot 4"))
    for name, text, shape, width in (("planes", PLANES, "2x5x{}", 70),
                                     ("planes", PLANES, "3x4x{}", 9),
                                     ("looped", LOOPED, "5x3x{}", 70),
                                     ("looped", LOOPED, "9x2x{}", 8)):
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
        outputs = dict.fromkeys(re.findall(r"(\w+): out", text), "")
        for turn, (digits, elements) in enumerate(packings):
            check(name, [path, f"x=randn:{shape.format(width)}"], outputs, width, digits, elements,
                  keep_steps=turn % 2 == 1, on_cpu=turn in (0, 1))


def check_both_axes_packed():
    """Digits of two axes of programs stand above each other."""
    path = SCRATCH / "planes.croft"
    path.write_text(PLANES)
    words = [path, "x=randn:3x5x30"]
    outputs = {"y": "", "z": ""}
    plan = edit(planned(words, outputs).out, "lane 2 | group *", "slot 2 | lane 4", 30)
    for lanes in ("lane 4", "lane 2 | subgroup 2", "subgroup 3"):
        file = SCRATCH / "both.plan"
        file.write_text(plan_text.with_axis(plan, "b", f"{lanes} | group *"))
        both(f"both_axes_{lanes.replace(' ', '')}",
             [*words, "--machine", SM, "--plan", file, "--check"], outputs)


def check_open_widths():
    """A width of the run: one text for all."""
    for name, rows, elements in (("softmax", "lane 4 | group *", "slot 4 | lane 8"),
                                 ("layernorm", "subgroup 2 | group *",
                                  "slot 2 | lane 32 | subgroup 2"),
                                 ("rmsnorm", "lane 2 | subgroup 2 | group *", "lane 16")):
        path = f"examples/{name}.croft"
        plan = croft("plan", path, "T=f32", "--machine", SM, "--plan", "row").out
        plan = plan_text.with_axis(plan, "N", f"{elements} | step *")
        plan = plan_text.with_axis(plan, "row", rows)
        plan = plan_text.with_widths(plan, plan_text.neighbours(elements))
        file, text = SCRATCH / "open.plan", SCRATCH / "open.ir"
        file.write_text(plan)
        emitted = croft("emit", path, "T=f32", "--machine", SM, "--plan", file, "--level", "thread",
                        "--verify-passes", "-o", text)
        case(f"{name}_open", emitted.code == 0, emitted)
        for width in (0, 1, 31, 200):
            words = arguments(name, 5, width, "f32", False)
            scalar = ["eps=1e-5"] if name != "softmax" else []
            result = croft("run", text, *words, *scalar, "y=/dev/null", "--target", "sim")
            case(f"{name}_open_{width}", result.code == 0 and not result.err, result)


def check_strict():
    """Bits that no packing changes."""
    for name in ("softmax", "layernorm", "sum"):
        words = [f"examples/{name}.croft", *arguments(name, 7, 200, "f32", False), "--strict"]
        wanted = SCRATCH / "wanted.npy"
        first = croft("run", *words, f"y={wanted}")
        for rows, elements in (("lane 4 | group *", "slot 4 | lane 8"),
                               ("lane 32 | group *", "slot 1"),
                               ("subgroup 2 | group *", "slot 4 | lane 32 | subgroup 2")):
            plan = croft("plan", *words, "y=/dev/null", "--machine", SM, "--plan", "row")
            file, got = SCRATCH / "strict.plan", SCRATCH / "got.npy"
            file.write_text(edit(plan.out, rows, elements, 200, True))
            result = croft("run", *words, f"y={got}", "--machine", SM, "--plan", file, "--target",
                           "sim", "--check")
            case(f"strict_{name}_{rows.replace(' ', '')}",
                 first.code == 0 and result.code == 0 and not result.err
                 and same(command.load(wanted), command.load(got)), result)


def check_refused():
    for name, text, words, digits, slug in (
            ("in_place", IN_PLACE, ["x=randn:5x60", "y=zeros:5x60,/dev/null"],
             ("lane 4 | group *", "slot 2 | lane 8 | slot 4"), "plan-packed"),
            ("in_place_by_subgroups", IN_PLACE, ["x=randn:5x60", "y=zeros:5x60,/dev/null"],
             ("subgroup 4 | group *", "slot 2 | lane 32"), "plan-packed"),
            ("length_of_the_program", PARTS,
             ["x=randn:5x60", "n=randint:5:0:60:i64", "y=/dev/null"],
             ("lane 4 | group *", "lane 8"), "plan-divergent"),
            ("condition_of_the_program", BRANCH, ["x=randn:5x60", "y=/dev/null"],
             ("subgroup 2 | group *", "slot 2 | lane 32"), "plan-divergent"),
            ("lanes_beside_subgroups", PLANES, ["x=randn:2x3x60", "y=/dev/null", "z=/dev/null"],
             ("lane 2 | group *", "lane 16 | subgroup 4"), "plan-packed"),
            ("digits_that_overlap", PLANES, ["x=randn:2x3x60", "y=/dev/null", "z=/dev/null"],
             ("lane 4 @4 | group *", "lane 8 | slot 8"), "plan-packed"),
            ("walk_over_one_axis_of_two", PLANES,
             ["x=randn:2x3x60", "y=/dev/null", "z=/dev/null"],
             ("group 4 | step *", "lane 32 | slot 2"), "plan-axis"),
            ("too_many_lanes", PLANES, ["x=randn:2x3x60", "y=/dev/null", "z=/dev/null"],
             ("subgroup 16 | group *", "lane 32 | subgroup 3"), "plan-axis")):
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
        plan = croft("plan", path, *words, "--machine", SM, "--plan", "row")
        rows, elements = digits
        if plan.code:
            case(f"refused_{name}", False, plan)
            continue
        edited = plan_text.with_row(plan.out, plan_text.elements_axis(plan.out)[0], elements, 60,
                                    keep_steps=True)
        edited = plan_text.with_axis(edited, plan_text.program_axes(edited)[-1], rows)
        edited = plan_text.with_widths(edited, 1)
        file = SCRATCH / "refused.plan"
        file.write_text(edited)
        result = croft("emit", path, *words, "--machine", SM, "--plan", file)
        case(f"refused_{name}", result.code == 3 and f"[{slug}]" in result.text,
             result)


def check_printed():
    """A plan that packs prints as it was read; the module has the strides."""
    words = ["examples/softmax.croft", "N=60", "T=f32", "--machine", SM]
    edited = edit(croft("plan", *words, "--plan", "row").out, "lane 2 | subgroup 2 | group *",
                  "slot 4 | lane 16", 60)
    file = SCRATCH / "printed.plan"
    file.write_text(edited)
    again = croft("plan", *words, "--plan", file)
    case("a_packed_plan_prints_as_it_was_read",
         again.code == 0 and again.out.split() == edited.split(), again)
    told = croft("explain", *words, "--plan", file)
    case("its_rows_are_no_copies", ": 16 threads x 4 slots\n" in told.out
         and "inside a subgroup, no barrier" in told.out and "copies" not in told.out
         and "row: lane 2 | subgroup 2 | group *" in told.out, told)
    text = croft("emit", *words, "--plan", file, "--level", "thread")
    case("its_module_has_strides",
         "digits lane 2 @16 | subgroup 2 | group *" in text.out and "sync" not in text.out
         and "scratch" not in text.out and "lanes=(1, 2, 4, 8)" in text.out, text)
    file.write_text(edit(croft("plan", *words, "--plan", "row").out, "subgroup 4 | group *",
                         "slot 1 | lane 32 | subgroup 2", 60))
    text = croft("emit", *words, "--plan", file, "--level", "thread")
    case("one_sync_for_each_reduction_of_all_rows",
         text.out.count("sync group") == 2 and "subgroup/2*2 + slot*1" in text.out, text)


def main():
    assert set(KERNELS) <= set(EXAMPLES)
    check_rows_in_a_subgroup()
    check_cooperating_rows()
    check_walking_groups()
    check_many_rows()
    check_other_kernels()
    check_both_axes_packed()
    check_open_widths()
    check_strict()
    check_refused()
    check_printed()
    command.finish()


if __name__ == "__main__":
    main()
