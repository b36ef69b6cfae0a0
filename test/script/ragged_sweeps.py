"""Sweeps at ragged widths: full packs without guards, then the remainder; on the simulator and the
cpu, within the bound of the reference, and at most two guards a worker and sweep.

tier: check check-long
builds: release

A worker that owns V neighbours in each of U chunks meets no guard where the chunks take the width,
and otherwise one for a pack that is there and one for a pack that is there in part, however many
chunks it has, and whether or not their number is a power of two. A width that is not known when
the kernel is compiled runs as thread IR on the simulator, and as blocks whose ends are computed on
the cpu. In tier check two plans of five are run, on one of the two; in check-long all, on both.
"""
import itertools
import json
import os
import re

import numpy as np

import command
import plan_text
from command import SCRATCH, case, croft

LONG = os.environ.get("TIER") == "check-long"
TURNS = itertools.cycle([("sim",), (), ("cpu",), (), ()])
SOFTMAX = "examples/softmax.croft"
WIDTHS = [1, 31, 33, 127, 128, 129, 257, 4103]
# lanes of each machine, V, chunks on slots (U), and N: what is left of a chunk of W*V
FORMS = [
    # nothing is left
    ("sm_90", "slot 4 | lane 32", 1, 512), ("sm_90", "slot 2 | lane 32 | subgroup 2", 4, 640),
    # fewer than V elements
    ("sm_90", "slot 4 | lane 32", 1, 129), ("sm_90", "slot 4 | lane 32", 4, 643),
    ("sm_90", "slot 8 | lane 32", 2, 263), ("sm_90", "slot 2 | lane 32", 4, 321),
    ("sm_90", "slot 8 | lane 32 | subgroup 4", 1, 5),
    # whole packs of some workers
    ("sm_90", "slot 4 | lane 32", 1, 204), ("sm_90", "slot 4 | lane 32", 2, 396),
    ("sm_90", "slot 8 | lane 32", 4, 1544), ("sm_90", "slot 2 | lane 32 | subgroup 2", 1, 254),
    # whole packs and a part of one
    ("sm_90", "slot 4 | lane 32", 1, 207), ("sm_90", "slot 4 | lane 32", 4, 1001),
    ("sm_90", "slot 8 | lane 32", 2, 1000), ("sm_90", "slot 2 | lane 32", 8, 1023),
    ("sm_90", "slot 4 | lane 32 | subgroup 3", 1, 1001),
    # all workers but a part of the last one's
    ("sm_90", "slot 4 | lane 32", 1, 255), ("sm_90", "slot 4 | lane 32", 4, 1149),
    ("sm_90", "slot 8 | lane 32", 1, 511), ("sm_90", "slot 2 | lane 32 | subgroup 4", 2, 1279),
    # registers of a cpu
    ("cpu-avx2", "lane 8", 4, 32), ("cpu-avx2", "lane 8", 4, 8), ("cpu-avx2", "lane 8", 4, 65),
    ("cpu-avx2", "lane 8", 16, 127), ("cpu-avx2", "lane 8", 8, 121),
    ("cpu-avx2", "slot 2 | lane 8", 4, 209), ("cpu-avx2", "slot 4 | lane 8", 2, 95),
    ("cpu-avx2", "slot 4 | lane 8", 1, 33),
]
ENDS = """kernel ends(x: in f32[R, N], w: in f32[N], y: out f32[R, N], z: out f32[R]) {
    program row: R
    t = x[row, :]
    i = arange(N)
    u = where(i % 3 == 0, t, x[row, i // 2]) * w[:]
    y[row, :] = u - max(u)
    z[row] = sum(min(t) - t)
}
"""
BLOCKS = """kernel blocks(x: in f32[R, N], y: out f32[R, N], z: out f32[R], B: const = 512) {
    program row: R
    s = 0.0
    for k in 0..N step B {
        t = x[row, k : +B]
        e = exp(t - max(t))
        y[row, k : +B] = e / sum(e)
        s = s + sum(e)
    }
    z[row] = s
}
"""


def with_digits(plan, axis, digits):
    """The plan with these digits for the axis, what it keeps in private arrays."""
    plan = plan_text.with_axis(plan, axis, digits)
    if " step " in digits:
        plan = plan_text.in_arrays(plan)
    neighbours = plan_text.neighbours(digits)
    register = 8 if digits.startswith("lane 8") else 1
    return plan_text.with_widths(plan, min(4, neighbours) if neighbours > 1 else register)


def plans_of(base, n, unroll):
    """On steps, and, where they are few, all on slots."""
    chunk = plan_text.product(base)
    u = f" | slot {unroll}" if unroll > 1 else ""
    steps = -(-n // (chunk * unroll))
    yield f"{base}{u}" + (f" | step {steps}" if steps > 1 else "")
    slots = plan_text.slots_of_a_row(base, n)
    per_lane = plan_text.product(" ".join(re.findall(r"slot \d+", base))) * slots
    if steps > 1 and per_lane <= 64:
        yield f"{base} | slot {slots}"


def guards(words, plan, machine):
    result = croft("explain", *words, "--machine", machine, "--plan", plan, "--json")
    if result.code:
        return None
    return json.loads(result.out)["guarded_accesses"]


def check(name, path, n, machine, base, unroll, words, outputs, axis="N", extent=None):
    words = [path, *words]
    files = [f"{output}=/dev/null" for output in outputs]
    planned = croft("plan", *words, *files, "--target", "cpu", "--machine", machine, "--plan",
                    "row")
    for digits in plans_of(base, extent or n, unroll):
        if not command.in_turn(3):
            continue
        label = f"{name}_{n}_{digits.replace(' ', '')}"
        file = SCRATCH / "ragged.plan"
        edited = with_digits(planned.out, axis, digits)
        case(f"{label}_is_planned", f"axis {axis}  {digits}\n" in edited, planned)
        file.write_text(edited)
        for target in ("sim", "cpu") if LONG else next(TURNS):
            result = croft("run", *words, *files, "--machine", machine, "--plan", file,
                           "--target", target, "--check", "--verify-passes")
            case(f"{label}_{target}", result.code == 0 and "0 failed" in result.text, result)
        yield label, guards([*words, *files], file, machine), n % plan_text.product(base) == 0


def check_softmax():
    """A row of one element has no owners to choose: the plan of its own is run."""
    turn = 0
    for target in ("sim", "cpu"):
        result = croft("run", SOFTMAX, "x=randn:5x1:f32", "y=/dev/null", "--machine", "sm_90",
                       "--target", target, "--check", "--verify-passes")
        case(f"softmax_1_{target}", result.code == 0 and "0 failed" in result.text, result)
    for n in WIDTHS[1:]:
        for v in (2, 4, 8):
            turn += 1
            base = f"slot {v} | lane 32" + (" | subgroup 2" if turn % 2 else "")
            for label, found, whole in check("softmax", SOFTMAX, n, "sm_90", base,
                                             [1, 2, 4][turn % 3], [f"x=randn:5x{n}:f32"], ["y"]):
                case(f"{label}_guards", found is not None and found <= (0 if whole else 2), found)


def check_forms():
    for number, (machine, base, unroll, n) in enumerate(FORMS):
        dtype = ["f32", "f16", "bf16"][number % 3]
        for label, found, whole in check("form", SOFTMAX, n, machine, base, unroll,
                                         [f"x=randn:3x{n}:{dtype}"], ["y"]):
            case(f"{label}_guards", found is not None and found <= (0 if whole else 2), found)


def check_gathers():
    """Indices that are no ranges, and weights, in pieces; guards of indices are not counted."""
    path = SCRATCH / "ends.croft"
    path.write_text(ENDS)
    for machine, base, unroll, n in FORMS[3::4]:
        for _ in check("ends", path, n, machine, base, unroll,
                       [f"x=randn:3x{n}", f"w=randn:{n}"], ["y", "z"]):
            pass


def check_norms():
    path = "examples/residual_layernorm.croft"
    for machine, base, unroll, n in FORMS[2::5]:
        words = [f"x=randn:3x{n}:f32", f"residual=randn:3x{n}:f32", f"w=randn:{n}:f32",
                 f"b=randn:{n}:f32"]
        for label, found, whole in check("layernorm", path, n, machine, base, unroll, words,
                                         ["y"]):
            case(f"{label}_guards", found is not None and found <= (0 if whole else 2), found)


def check_open():
    """Chunks on steps, of a width that comes when the kernel runs."""
    for base, unroll in (("slot 4 | lane 32", 1), ("slot 4 | lane 32", 2), ("slot 2 | lane 32", 4),
                         ("slot 4 | lane 32", 3), ("slot 2 | lane 32", 6),
                         ("slot 8 | lane 32 | subgroup 2", 2), ("lane 32", 16)):
        u = f" | slot {unroll}" if unroll > 1 else ""
        plan = croft("plan", SOFTMAX, "T=f32", "--target", "cpu", "--machine", "sm_90").out
        for keep in ("as planned", "private"):
            edited = with_digits(plan, "N", f"{base}{u} | step *")
            if keep == "private":
                edited = re.sub(r"^(keep \S+ +).*", r"\1private", edited, flags=re.MULTILINE)
            file, text = SCRATCH / "open.plan", SCRATCH / "open.ir"
            file.write_text(edited)
            words = [SOFTMAX, "T=f32", "--machine", "sm_90", "--plan", file]
            emitted = croft("emit", *words, "--level", "thread", "--verify-passes", "-o", text)
            label = f"open_{base}_{unroll}_{keep}".replace(" ", "")
            found = guards(words[:2], file, "sm_90")
            case(f"{label}_guards", emitted.code == 0 and found is not None and found <= 2, emitted)
            for n in (0, 1, 5, 31, 64, 127, 129, 255, 513, 1100):
                run_open(f"{label}_{n}", text, n)


def run_open(label, text, n):
    got, wanted = SCRATCH / "got.npy", SCRATCH / "wanted.npy"
    x = f"x=randn:3x{n}:f32"
    result = croft("run", text, x, f"y={got}", "--target", "sim")
    reference = croft("run", SOFTMAX, x, f"y={wanted}", "--target", "reference")
    good = result.code == 0 and not result.err and reference.code == 0
    case(label, good and np.allclose(command.load(got), np.load(wanted), rtol=3e-6, atol=0), result)


def check_blocks():
    """Blocks that end with the row, on the cpu too: single chunks and the rest in loops, or in
    registers under branches."""
    path = SCRATCH / "blocks.croft"
    path.write_text(BLOCKS)
    for machine, base, unroll in (("sm_90", "slot 4 | lane 32", 2), ("cpu-avx2", "lane 8", 4),
                                  ("cpu-avx2", "slot 2 | lane 8", 16)):
        for n in (1, 33, 512, 700, 1500):
            for label, found, _ in check("blocks", path, n, machine, base, unroll,
                                         [f"x=randn:3x{n}"], ["y", "z"], "axis.0", 512):
                case(f"{label}_guards", found is not None and found <= 2, found)


def check_other_unrolls():
    """Chunks of a step whose number is no power of two: of 3, 5, 6, 12 any number may be left."""
    turn = 0
    for unroll, widths in ((3, WIDTHS[1:] + [96, 384 + 256, 512]), (5, (257, 960, 1001, 4103)),
                           (6, (1023, 1024, 2048 + 640, 4103)), (12, (1001, 4103, 4352))):
        for n in widths:
            turn += 1
            v = (2, 4, 8 if unroll < 12 else 4, 1)[turn % 4]
            base = (f"slot {v} | " if v > 1 else "") + "lane 32" + (
                " | subgroup 2" if turn % 3 == 0 and unroll < 6 else "")
            for label, found, whole in check(f"unroll{unroll}", SOFTMAX, n, "sm_90", base, unroll,
                                             [f"x=randn:5x{n}:f32"], ["y"]):
                case(f"{label}_guards", found is not None and found <= (0 if whole else 2), found)
    for unroll, n in ((3, 300), (3, 256), (5, 611), (6, 704), (7, 768)):
        words = [SOFTMAX, f"x=randn:3x{n}", "y=/dev/null"]
        plan = croft("plan", *words, "--target", "cpu", "--machine", "sm_90", "--plan", "row").out
        file = SCRATCH / "ragged.plan"
        file.write_text(with_digits(plan, "N", f"slot 4 | lane 32 | slot {unroll}"))
        label = f"registers_of_{unroll}_chunks_{n}"
        both = [croft("run", *words, "--machine", "sm_90", "--plan", file, "--target", target,
                      "--hash", "--check", "--verify-passes") for target in ("sim", "cpu")]
        hashes = [re.findall("hash y (.*)", result.text) for result in both]
        case(label, all(result.code == 0 for result in both) and hashes[0] == hashes[1] != [],
             both[0])
        found = guards(words, file, "sm_90")
        case(f"{label}_guards", found is not None and found <= (2 if n % 128 else 0), found)


def check_text():
    """A register tile of a width that lacks an element or has one too many is not longer."""
    lines = {n: len(croft("emit", SOFTMAX, f"N={n}", "T=f32", "--machine", "sm_90").out.split("\n"))
             for n in (1535, 1536, 1537, 2048)}
    case("text_of_a_register_tile", max(lines.values()) == lines[2048], lines)


def main():
    check_softmax()
    check_forms()
    check_gathers()
    check_norms()
    check_open()
    check_blocks()
    check_other_unrolls()
    check_text()
    command.finish()


if __name__ == "__main__":
    main()
