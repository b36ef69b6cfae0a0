"""Rows that are split over launches: examples in 2, 5 and 16 parts, on the simulator and the cpu,
within the bound of the reference, with the same bits on both and in every run; and what cannot
be split. Rows that the planner splits by itself: planned_splits.py.

tier: check check-long
builds: release

The row plan gets a group digit, and what would be kept across launches is loaded or computed again.
Some parts hold nothing: rows of three elements in 16 of them. A width that is not known when the
kernel is compiled has parts whose length the width makes.
"""
import os
import re

import command
import plan_text
from command import SCRATCH, case, croft
from examples import EXAMPLES
from sim_examples import arguments, both, outputs_of

LONG = os.environ.get("TIER") == "check-long"  # else one of two wide shapes of each example
# How many launches the kernel is: one for each reduction behind another, and one for the outputs.
LAUNCHES = {"sum": 2, "rmsnorm": 2, "layernorm": 3, "softmax": 3, "log_softmax": 3,
            "cross_entropy": 3, "residual_layernorm": 3, "causal_softmax": 3, "rmsnorm_quant": 4,
            "swiglu": 1, "gelu_add": 1}
PARTS = [2, 5, 16, 40]  # of which 40 lie on the lanes of either machine, 16 on those of one
DTYPES = ["f32", "f16", "bf16"]
MACHINES = ["sm_90", "cpu-avx2"]
TWO_AXES = """kernel two(x: in f32[R, H, N], y: out f32[R, H, N], z: out f32[R]) {
    program row: R
    t = x[row, :, :]
    y[row, :, :] = t * 2.0
    z[row] = 1.0
}
"""
FORTY = """kernel forty(source: in f32[B, 12, 40], dest: out f32[B, 480]) {
    program b: B
    i = arange(480)
    dest[b, :] = source[b, i // 40, i % 40] * 2.0
}
"""
ODD = """kernel odd(x: in f32[R, N], k: in i32[N], y: out f32[R, N], z: out f32[R], c: out bool[R],
           p: out i32[R]) {
    program row: R step 1
    t = x[row, :]
    i = arange(N)
    m = max(t, nan=ignore)
    y[row, N - 1 - i] = where(i % 3 == 0, t, x[row, i // 2]) + m
    z[row] = sum(where(t > m - 1.0, t, 0.0), nan=ignore) + f32(max(k[:]))
    c[row] = any(t > 3.0)
    p[row] = prod(k[:])
}
"""
FILLED = """kernel filled(x: in f32[R, N], y: out f32[B, R, N], z: out f32[B, R, N]) {
    program b: B, row: R step 2
    s = sum(x[row, :])
    y[b, row, :] = s
    z[b, row, :] = x[row, :] - s
}
"""
IN_PLACE = """kernel in_place(x: inout f32[R, N]) {
    program row: R
    t = x[row, :]
    x[row, :] = t / sum(t)
}
"""
IN_A_LOOP = """kernel in_a_loop(x: in f32[R, N], y: out f32[R]) {
    program row: R
    a = 0.0
    for k in 0..4 {
        a = a + sum(x[row, :])
    }
    y[row] = a
}
"""
CONDITIONAL = """kernel conditional(x: in f32[R, N], y: out f32[R]) {
    program row: R
    a = 0.0
    if row % 2 == 0 {
        a = sum(x[row, :])
    }
    y[row] = a
}
"""
SLICED = """kernel sliced(x: in f32[R, M], y: out f32[R], N: const = 64) {
    program row: R
    y[row] = sum(x[row, 3 : +N])
}
"""
TILES = """kernel tiles(x: in f32[R, H, N], y: out f32[R, H]) {
    program row: R
    y[row, :] = sum(x[row, :, :], axis=1)[:, 0]
}
"""


ORDERED = """kernel ordered(x: in f32[R, N], y: out f32[R]) {
    program row: R
    y[row] = sum(x[row, :], order=ORDER)
}
"""


def edit(plan, parts, width, axis="N"):
    """The plan with the axis in parts, and nothing kept from launch to launch."""
    def digits(found):
        inner = re.sub(r" *\|? *step \S+", "", found[2])
        chunk = plan_text.product(inner)
        steps = "*" if width is None else max(1, -(-width // (chunk * parts)))
        return f"{found[1]}{inner}{' | ' if inner else ''}step {steps} | group {parts}"

    def keep(found):
        loaded = found[2] == "reload" or re.search(rf"^access {found[1].split('.')[0]}\.",
                                                   plan, re.MULTILINE)
        return f"keep {found[1]}  {'reload' if loaded or found[1] == 't' else 'recompute'}"

    plan = re.sub(rf"^(axis {axis} +)(.*)", digits, plan, flags=re.MULTILINE)
    return re.sub(r"^keep (\S+) +(\S+).*", keep, plan, flags=re.MULTILINE)


def planned(label, path, words, outputs, machine, parts, width):
    files = [f"{key}={before}/dev/null" for key, before in outputs.items()]
    plan = croft("plan", path, *words, *files, "--target", "cpu", "--machine", machine, "--plan",
                 "row")
    file = SCRATCH / f"{label}.plan"
    file.write_text(edit(plan.out, parts, width))
    return file


def check(name, path, words, outputs, machine, parts, width, launches=None):
    label = "_".join([name, str(width), str(parts), machine] + words[-1:])
    label = re.sub(r"\W+", "_", label)
    file = planned(label, path, words, outputs, machine, parts, width)
    words = [path, *words, "--machine", machine, "--plan", file]
    if launches is not None:
        emitted = croft("emit", *words, *(f"{key}={before}/dev/null" for key, before in
                                          outputs.items()), "--level", "thread", "--check-passes")
        count = len(re.findall(r"^kernel @", emitted.out, re.MULTILINE))
        case(f"{label}_launches", emitted.code == 0 and count == launches, emitted)
    return both(label, [*words, "--check"], outputs)


def check_examples():
    turn = 0
    for name, launches in LAUNCHES.items():
        for rows, width in ((1, 65537), (3, 12289)):
            turn += 1
            if not LONG and turn // 2 % 2 != turn % 2:
                continue
            words = arguments(name, rows, width, DTYPES[turn % 3], False)
            check(name, f"examples/{name}.croft", words, outputs_of(name),
                  MACHINES[turn // 3 % 2], PARTS[turn % 4], width, launches)
        for width in (3, 300):
            turn += 1
            if not command.in_turn(3):
                continue
            words = arguments(name, 5, width, "f32", width == 300)
            check(name, f"examples/{name}.croft", words, outputs_of(name), MACHINES[turn % 2],
                  PARTS[turn % 4], width)


def check_open_widths():
    """The width is a number of the run."""
    for turn, name in enumerate(("sum", "softmax", "layernorm", "cross_entropy")):
        path = SCRATCH / f"open_{name}.croft"
        text = (command.ROOT / f"examples/{name}.croft").read_text()
        path.write_text(re.sub(r"\bN\]", "dynamic N]", text, count=1))
        for width in (0, 1, 4097, 12289):
            machine = MACHINES[(turn + width) % 2]
            file = SCRATCH / "open.plan"
            words = [path, *arguments(name, 2, width, "f32", False)]
            files = [f"{key}=/dev/null" for key in outputs_of(name)]
            plan = croft("plan", *words, *files, "--target", "cpu", "--machine", machine,
                         "--plan", "row")
            file.write_text(edit(plan.out, 5, None))
            both(f"{name}_open_{width}_{machine}",
                 [*words, "--machine", machine, "--plan", file, "--check"], outputs_of(name))


def check_other_kernels():
    """Scatters, gathers, counted elements, NaN ignored, scalars that are stored along the row,
    several programs and steps between them, other types of partial results."""
    (SCRATCH / "odd.croft").write_text(ODD)
    (SCRATCH / "filled.croft").write_text(FILLED)
    for machine in MACHINES:
        for parts, width, form in ((3, 1000, "special"), (16, 5, "randn")):
            words = [f"x={form}:5x{width}", f"k=randint:{width}:-9:9:i32"]
            check("odd", SCRATCH / "odd.croft", words, dict.fromkeys("yzcp", ""), machine, parts,
                  width)
        check("filled", SCRATCH / "filled.croft", ["B=2", "x=randn:5x700"],
              dict.fromkeys("yz", ""), machine, 3, 700)


def check_repeated():
    """The same bytes in every run, on one thread and on several."""
    name, words = "softmax", arguments("softmax", 3, 12289, "f32", False)
    file = planned("repeated", "examples/softmax.croft", words, outputs_of(name), "sm_90", 16,
                   12289)
    loaded = []
    for threads in (1, 2, 2):
        out = SCRATCH / "repeated.npy"
        result = croft("run", "examples/softmax.croft", *words, f"y={out}", "--target", "cpu",
                       "--machine", "sm_90", "--plan", file, "--threads", threads)
        case(f"repeated_{len(loaded)}", result.code == 0, result)
        loaded.append(out.read_bytes() if result.code == 0 else b"")
    case("repeated_bytes", len(set(loaded)) == 1, "runs differ")


def refused(label, path, words, outputs, change, slug="plan-split", family="row"):
    files = [f"{key}={before}/dev/null" for key, before in outputs.items()]
    plan = croft("plan", path, *words, *files, "--machine", "sm_90", "--plan", family)
    file = SCRATCH / "refused.plan"
    file.write_text(change(plan.out))
    result = croft("emit", path, *words, *files, "--machine", "sm_90", "--plan", file)
    case(f"{label}_refused", change(plan.out) != plan.out and result.code == 3
         and f"[{slug}]" in result.err and "CROFT_BUG" not in result.err, result)


def check_widths():
    """An access of neighbours in parts whose beginnings let that be proved, and in others."""
    path = SCRATCH / "forty.croft"
    path.write_text(FORTY)
    for name, file, split, files in (
            ("transpose8", "examples/transpose8.croft", "g=2", ["source=randn:3x8x8", "dest="]),
            ("forty", path, "g=8,u=1", ["source=randn:3x12x40", "dest="])):
        words = [file, *files, "--set", split, "--machine", "cpu-avx2"]
        words[2] += "/dev/null"
        plan = croft("plan", *words)
        run = croft("run", *words, "--check")
        given = SCRATCH / "width.plan"
        given.write_text(plan.out)
        again = croft("run", *words[:3], "--machine", "cpu-avx2", "--plan", given, "--check")
        case(f"widths_{name}", "width 8" in plan.out and "| group" in plan.out and run.code == 0
             and again.out == run.out, f"{plan}\n{run}\n{again}")
    given.write_text(plan.out.replace("width 8", "width 64"))
    wide = croft("run", *words[:3], "--machine", "cpu-avx2", "--plan", given)
    case("widths_that_no_launch_has_are_refused", wide.code == 3 and "[plan-width]" in wide.err,
         wide)


def check_refused():
    kernels = (("in_place", IN_PLACE, ["x=zeros:3x300,/dev/null"], ""),
               ("in_a_loop", IN_A_LOOP, ["x=zeros:3x300"], "y"),
               ("conditional", CONDITIONAL, ["x=zeros:3x300"], "y"),
               ("sliced", SLICED, ["N=300", "x=zeros:3x900"], "y"),
               ("tiles", TILES, ["x=zeros:3x2x300"], "y"))
    for name, text, words, outputs in kernels:
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
        refused(name, path, words, dict.fromkeys(outputs, ""),
                lambda plan: edit(edit(plan, 2, 300), 2, 300, r"axis\.0"))
    for order in ("left", "right", "canonical"):
        path = SCRATCH / f"ordered_{order}.croft"
        path.write_text(ORDERED.replace("ORDER", order))
        refused(order, path, ["x=zeros:3x300"], {"y": ""}, lambda plan: edit(plan, 2, 300),
                family="fallback" if order in ("left", "right") else "row")
    softmax = ("examples/softmax.croft", ["x=zeros:3x3000"], {"y": ""})
    refused("kept", *softmax, lambda plan: re.sub(r"keep e .*", "keep e private",
                                                  edit(plan, 2, 3000)))
    refused("waiting", *softmax, lambda plan: re.sub(r"keep e .*", "keep e output y.0",
                                                     edit(plan, 2, 3000)))
    refused("steps", *softmax, lambda plan: edit(plan, 2, 9000))
    refused("one_part", *softmax, lambda plan: edit(plan, 1, 3000))
    refused("group_first", *softmax, lambda plan: re.sub(
        r"^(axis N +).*", r"\1lane 32 | group 2 | step 47", plan, flags=re.MULTILINE))
    refused("other_plan", *softmax, lambda plan: re.sub(r"canon \w{4}", "canon 1234",
                                                        edit(plan, 2, 3000)), slug="plan-canon")
    refused("missing", *softmax, lambda plan: edit(plan, 2, 3000).replace("math exp", "math log"),
            slug="plan-missing-anchor")
    refused("owned", "examples/rmsnorm_register.croft", ["N=900", "x=zeros:3x900", "w=zeros:900"],
            {"y": ""}, lambda plan: re.sub(r"^(axis (?!row)\S+ +.*)$", r"\1 | group 2", plan,
                                           flags=re.MULTILINE))
    path = SCRATCH / "two.croft"
    path.write_text(TWO_AXES)
    refused("two_axes", path, ["x=zeros:3x40x300"], dict.fromkeys("yz", ""),
            lambda plan: edit(edit(plan, 2, 300), 2, 40, "H"))


def main():
    check_examples()
    check_open_widths()
    check_other_kernels()
    check_repeated()
    check_widths()
    check_refused()
    command.finish()


if __name__ == "__main__":
    main()
