"""Rows that the groups of a cluster share: every example on the simulator, within the bound of the
reference and without a finding; the text for CUDA compiles; and what plans may not share.

tier: check check-long
builds: release

Rows of 2 to 16 groups of one to eight subgroups, in slots and in steps, as wide as all groups and
narrower than one, so that some groups have no element; groups that walk over rows; reductions in
loops. The plans are those of the planner with the digits changed. With TIER=check-long all cases
are taken.
"""
import re

import command
import plan_text
from command import SCRATCH, case, croft
from examples import EXAMPLES
from sim_examples import arguments, outputs_of

LONG = command.LONG
SM = "sm_90"
DTYPES = ["f32", "f16", "bf16"]
KERNELS = ["softmax", "rmsnorm", "layernorm", "cross_entropy", "sum", "rmsnorm_quant",
           "residual_layernorm", "log_softmax", "swiglu", "gelu_add", "causal_softmax"]
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
PLANES = """kernel planes(x: in f32[B, H, N], y: out f32[B, H, N], z: out f32[B, H]) {
    program b: B, h: H
    t = x[b, h, :]
    i = arange(N)
    y[b, h, :] = where(i % 3 == 0, t, x[b, h, i // 2]) * f32(h + 1)
    z[b, h] = max(t) - min(t)
}
"""
COLUMNS = """kernel columns(x: in f32[R, M, N], y: out f32[R, N], z: out f32[R, M]) {
    program row: R
    t = x[row, :, :]
    y[row, :] = sum(t, axis=0)[0, :]
    z[row, :] = max(t, axis=1)[:, 0]
}
"""
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
BRANCH = """kernel branch(x: in f32[R, N], y: out f32[R, N]) {
    program row: R
    t = x[row, :]
    if sum(t) > 0.0 {
        t = t - max(t)
    }
    y[row, :] = t
}
"""
PARTS = """kernel parts(x: in f32[R, N], n: in i64[R], y: out f32[R]) {
    program row: R
    m = 0.0
    for k in 0 .. n[row] {
        m = m + sum(x[row, :])
    }
    y[row] = m
}
"""


def edit(plan, rows, elements, width, keep_steps=False, most=False):
    """The plan with these digits of the last axis of programs and of the axis of elements."""
    programs = plan_text.program_axes(plan)[-1]
    plan = plan_text.with_row(plan.replace(" early", ""), "N", elements, width,
                              keep_steps=keep_steps)
    plan = plan_text.with_axis(plan, programs, rows)
    return plan_text.with_widths(plan, plan_text.neighbours(elements), most=most)


def planned(words, outputs):
    return croft("plan", *words, *(f"{key}=/dev/null" for key in outputs), "--machine", SM,
                 "--plan", "row", "--set", "g=1,keep=registers")


def compiles(label, words, outputs, file):
    """The text for CUDA: all groups have started before one writes into another's scratch, and
    while the launch in front ends."""
    result = croft("emit", *words, *(f"{key}=/dev/null" for key in outputs), "--machine", SM,
                   "--plan", file, "--target", "cuda")
    kernel = result.out.partition('extern "C"')[2]
    start, _, body = kernel.partition("    follow_launches();")
    begun = body.partition("    cluster_begun();")[0]
    case(f"{label}_is_emitted", result.code == 0 and "threadIdx" in start
         and ("cluster_memory(" in body) == ("    cluster_begins();" in begun)
         and "cluster_memory(" not in start + begun.partition("cluster_begins")[0], result)


def check(label, words, outputs, width, rows, elements, keep_steps=False, emitted=False):
    plan = planned(words, outputs)
    label = "_".join([label, str(width), rows.replace(" ", ""), elements.replace(" ", "")])
    if plan.code:
        case(f"{label}_is_planned", False, plan)
        return
    file = SCRATCH / "cluster.plan"
    file.write_text(edit(plan.out, rows, elements, width, keep_steps, most=True))
    often = ["--verify-passes"] if command.in_turn(5) else []
    result = croft("run", *words, "--machine", SM, "--plan", file, "--check", *often,
                   *(f"{key}=/dev/null" for key in outputs), "--target", "sim")
    case(label, result.code == 0 and not result.err, result)
    if emitted:
        compiles(label, words, outputs, file)


def example(name, rows, width, dtype, digits, elements, **options):
    words = arguments(name, rows, width, dtype, False)
    check(f"{name}_{rows}_{dtype}", [f"examples/{name}.croft", *words], outputs_of(name), width,
          digits, elements, **options)


def check_examples():
    """Widths at and around the chunks of all groups, and of one."""
    turn = 0
    for blocks in (2, 3, 4, 8, 16):  # of which the text for CUDA has at most 8
        for subgroups in (1, 2, 8):
            chunk = 4 * 32 * subgroups * blocks
            for width in (chunk, chunk + 1, chunk - 3, 5 * chunk // 2, 40, 1003):
                turn += 1
                if not command.in_turn(3):
                    continue
                slots = (4, 1, 2)[turn % 3]
                elements = f"slot {slots} | lane 32"
                elements += f" | subgroup {subgroups}" if subgroups > 1 else ""
                example(KERNELS[turn % len(KERNELS)], (1, 3, 2)[turn % 3], width,
                        DTYPES[turn % 3 * (turn % 2)], "group *", f"{elements} | block {blocks}",
                        keep_steps=turn % 2 == 0, emitted=turn % 4 == 0 and blocks <= 8)


def check_wide_rows():
    """Rows that no group has room for, in the registers of all."""
    for name, width, elements in (
            ("softmax", 65536, "slot 4 | lane 32 | subgroup 8 | block 4"),
            ("layernorm", 65536, "slot 4 | lane 32 | subgroup 16 | block 8"),
            ("cross_entropy", 65521, "slot 4 | lane 32 | subgroup 8 | block 8"),
            ("residual_layernorm", 65536, "slot 4 | lane 32 | subgroup 16 | block 16")):
        if command.in_turn(2):
            example(name, 2, width, "f32", "group *", elements)


def check_blocks_above():
    """The block digit stands anywhere below the steps."""
    for turn, elements in enumerate(("slot 2 | lane 32 | slot 4 | block 4", "block 2 | lane 32",
                                     "slot 4 | block 2 | lane 32 | subgroup 2",
                                     "lane 16 | slot 4 | block 8")):
        for width in (1003, 200):
            example(KERNELS[turn], 3, width, "f32", "group *", elements, keep_steps=turn % 2 == 0)


def check_walking_groups():
    """So many clusters walk over the rows."""
    for turn, (rows, elements) in enumerate((("group 2 | step *", "slot 2 | lane 32 | block 2"),
                                             ("group 3 | step *",
                                              "slot 1 | lane 32 | subgroup 2 | block 4"))):
        for name in ("softmax", "layernorm", "sum"):
            example(name, (7, 2)[turn], 500, "f32", rows, elements, keep_steps=turn == 0)


def check_other_kernels():
    """Several axes of programs, gathers, loops with reductions in them, axes that no group shares.
    """
    for name, text, shape, width in (("planes", PLANES, "2x3x{}", 300),
                                     ("looped", LOOPED, "3x3x{}", 700),
                                     ("looped", LOOPED, "2x1x{}", 64),
                                     ("columns", COLUMNS, "2x3x{}", 300)):
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
        outputs = dict.fromkeys(re.findall(r"(\w+): out", text), "")
        for turn, elements in enumerate(("slot 2 | lane 32 | block 2",
                                         "slot 1 | lane 32 | subgroup 2 | block 4",
                                         "slot 4 | lane 8 | block 3")):
            check(name, [path, f"x=randn:{shape.format(width)}"], outputs, width, "group *",
                  elements, keep_steps=turn % 2 == 1)


def check_open_widths():
    """A width of the run: one text for all."""
    for name, elements in (("softmax", "slot 4 | lane 32 | block 2"),
                           ("layernorm", "slot 2 | lane 32 | subgroup 2 | block 4")):
        path = f"examples/{name}.croft"
        plan = croft("plan", path, "T=f32", "--machine", SM, "--plan", "row").out
        plan = plan_text.with_axis(plan, "N", f"{elements} | step *")
        plan = plan_text.with_widths(plan, plan_text.neighbours(elements))
        file, text = SCRATCH / "open.plan", SCRATCH / "open.ir"
        file.write_text(plan)
        emitted = croft("emit", path, "T=f32", "--machine", SM, "--plan", file, "--level", "thread",
                        "--verify-passes", "-o", text)
        case(f"{name}_open", emitted.code == 0, emitted)
        for width in (0, 1, 31, 257, 1100):
            words = arguments(name, 3, width, "f32", False)
            scalar = ["eps=1e-5"] if name != "softmax" else []
            result = croft("run", text, *words, *scalar, "y=/dev/null", "--target", "sim")
            case(f"{name}_open_{width}", result.code == 0 and not result.err, result)


def check_refused():
    shared = "slot 2 | lane 32 | block 2"
    two = ["x=randn:5x128", "y=/dev/null"]
    for name, text, words, digits, slug, options in (
            ("in_place", IN_PLACE, ["x=randn:5x128", "y=zeros:5x128,/dev/null"],
             ("group *", shared), "plan-cluster", []),
            ("after_a_reduction", BRANCH, two, ("group *", shared), "plan-cluster", []),
            ("one_block", BRANCH, two, ("group *", "slot 4 | lane 32 | block 1"), "plan-axis", []),
            ("too_many", BRANCH, two, ("group *", "lane 4 | block 32"), "plan-axis", []),
            ("blocks_alone", BRANCH, two, ("group *", "block 8"), "plan-cluster", []),
            ("packed", PLANES, ["x=randn:2x3x128", "y=/dev/null", "z=/dev/null"],
             ("subgroup 2 | group *", shared), "plan-cluster", []),
            ("parts", PLANES, ["x=randn:2x3x128", "y=/dev/null", "z=/dev/null"],
             ("group *", "slot 1 | lane 32 | block 2 | group 2"), "plan-split", []),
            ("canonical", COLUMNS, ["x=randn:2x3x128", "y=/dev/null", "z=/dev/null"],
             ("group *", shared), "plan-reduce", ["--strict"]),
            ("of_programs", PLANES, ["x=randn:2x3x128", "y=/dev/null", "z=/dev/null"],
             ("block 2 | group *", "slot 4 | lane 32"), "plan-axis", [])):
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
        plan = croft("plan", path, *words, "--machine", SM, "--plan", "row", *options)
        rows, elements = digits
        file = SCRATCH / "refused.plan"
        file.write_text(edit(plan.out, rows, elements, 128, most=True))
        result = croft("emit", path, *words, "--machine", SM, "--plan", file, *options)
        case(f"refused_{name}", result.code == 3 and f"[{slug}]" in result.text, result)
    file = SCRATCH / "refused.plan"
    words = ["examples/softmax.croft", "N=256", "T=f32"]
    plan = croft("plan", *words, "--machine", "sm_80", "--plan", "row").out
    file.write_text(edit(plan, "group *", shared, 256))
    result = croft("emit", *words, "--machine", "sm_80", "--plan", file)
    case("refused_where_there_are_no_clusters",
         result.code == 3 and "[plan-axis]" in result.text and "no clusters" in result.text, result)


def check_lengths_of_rows():
    """A number of trips that a tensor tells: the same in all groups."""
    path = SCRATCH / "parts.croft"
    path.write_text(PARTS)
    check("parts", [path, "x=randn:5x128", "n=randint:5:0:4:i64"], {"y": ""}, 128, "group *",
          "slot 2 | lane 32 | block 2")


def check_printed():
    """A plan with blocks prints as it was read; the grid has a cluster a row."""
    words = ["examples/softmax.croft", "N=4096", "T=f32", "--machine", SM]
    edited = edit(croft("plan", *words, "--plan", "row").out, "group *",
                  "slot 4 | lane 32 | subgroup 2 | block 4", 4096)
    file = SCRATCH / "printed.plan"
    file.write_text(edited)
    again = croft("plan", *words, "--plan", file)
    case("a_plan_with_blocks_prints_as_it_was_read",
         again.code == 0 and again.out.split() == edited.split(), again)
    text = croft("emit", *words, "--plan", file, "--level", "thread")
    case("its_grid_has_a_cluster_a_row",
         "\n  cluster 4\n" in text.out and "\n  groups R * 4\n" in text.out
         and text.out.count("sync cluster") == 2 and text.out.count("block=") == 8, text)
    told = croft("explain", *words, "--plan", file)
    case("explain_names_the_cluster", told.code == 0 and "block 4" in told.out, told)


def main():
    assert set(KERNELS) <= set(EXAMPLES)
    check_examples()
    check_wide_rows()
    check_blocks_above()
    check_walking_groups()
    check_other_kernels()
    check_open_widths()
    check_lengths_of_rows()
    check_refused()
    check_printed()
    command.finish()


if __name__ == "__main__":
    main()
