"""Early loads: where the planner takes them, what they move, what is refused; no bit changes.

tier: check
builds: release asan
"""
import re

import command
from command import case, croft

SM_90 = ["--machine", "sm_90"]
EARLY = re.compile(r"^access (\S+) .* early$", re.M)
NORM = ["examples/rmsnorm.croft", "R=5", "N=257", *SM_90]


def early_of(name, *words):
    return EARLY.findall(croft("plan", f"examples/{name}.croft", *words).out)


def check_choice():
    """Where a wait for memory is saved, and registers are there; nowhere else."""
    for name, rows, width, expected in [
            ("rmsnorm", 1, 127, ["w.0"]), ("rmsnorm", 64, 4096, ["w.0"]),
            ("layernorm", 17, 257, ["w.0", "b.0"]), ("rmsnorm", 16384, 4096, []),
            ("layernorm", 1024, 16384, []), ("cross_entropy", 1, 127, ["label.0", "logits.1"]),
            ("cross_entropy", 4096, 8192, []), ("residual_layernorm", 4096, 8192, []),
            ("softmax", 17, 257, []), ("swiglu", 1, 127, [])]:
        found = early_of(name, f"R={rows}", f"N={width}", *SM_90)
        case(f"early_of_{name}_{rows}x{width}", found == expected, found)
    case("a_cpu_has_none", early_of("rmsnorm", "R=1", "N=127", "--machine", "cpu-avx2") == [], "")
    case("registers_that_nobody_knows_have_none",
         early_of("rmsnorm", "R=1", "N=127", "--machine", "m1") == [], "")
    case("a_row_in_steps_has_none",
         early_of("rmsnorm", "R=1", "N=4096", *SM_90, "--set", "chunk=step") == [], "")


def saved(name, text):
    path = command.SCRATCH / f"{name}.plan"
    path.write_text(text)
    return path


def without(plan):
    return re.sub(r" early$", "", plan, flags=re.M)


def waits(text):
    """Where the weight is loaded and where lanes first meet, by line."""
    lines = text.splitlines()
    load = [i for i, line in enumerate(lines) if "load %w[" in line and line.startswith("  %")]
    meet = [i for i, line in enumerate(lines) if " combine " in line]
    return load[-1], meet[0]


def check_order():
    """The word decides on which side of the reduction the load stands."""
    plan = croft("plan", *NORM).out
    late = saved("late", without(plan))
    thread = croft("emit", *NORM, "--level", "thread", "--check-passes")
    plain = croft("emit", *NORM, "--plan", late, "--level", "thread", "--check-passes")
    good = thread.code == 0 and plain.code == 0
    case("an_early_load_stands_before_the_sum",
         good and waits(thread.out)[0] < waits(thread.out)[1], thread)
    case("another_one_behind_it", good and waits(plain.out)[0] > waits(plain.out)[1], plain)
    return plan


def check_bits(plan):
    """On the simulator and on the host's processor, of a row that ends in a piece."""
    plan = plan.replace("native", "portable")
    first, late = saved("first", plan), saved("later", without(plan))
    for target in ("sim", "cpu"):
        words = ["run", *NORM, "x=randn:5x257", "w=randn:257", f"y={command.SCRATCH / 'y.npy'}",
                 "--target", target, "--hash"]
        early, plain = croft(*words, "--plan", first), croft(*words, "--plan", late)
        case(f"no_bit_changes_on_{target}",
             early.code == 0 and early.out != "" and early.out == plain.out, f"{early}\n{plain}")


REFUSED = [
    ("of_what_is_read_again", "examples/softmax.croft", ["N=512", "--set", "keep=again"], "x.0"),
    ("of_a_store", "examples/softmax.croft", ["N=512"], "y.0"),
    ("in_steps", "examples/rmsnorm.croft", ["N=4096", "--set", "chunk=step"], "w.0"),
]
KERNELS = {
    "behind_a_sum": ("kernel k(x: in f32[R, N], w: in f32[M], y: out f32[R, N]) {\n"
                     "    program row: R\n    t = x[row, :]\n    i = i32(sum(t))\n"
                     "    y[row, :] = t * w[i, fill=0.0]\n}\n", "w.0"),
    "of_a_tensor_that_is_stored": ("kernel k(x: inout f32[R, N]) {\n    program row: R\n"
                                   "    t = x[row, :]\n    x[row, :] = t * sum(t)\n}\n", "x.0"),
    "in_a_loop": ("kernel k(x: in f32[R, N], w: in f32[M], y: out f32[R]) {\n    program row: R\n"
                  "    s = 0.0\n    for i in 0..M {\n        s = s + w[i]\n    }\n"
                  "    y[row] = s * sum(x[row, :])\n}\n", "w.0"),
}


def check_refused():
    rows = list(REFUSED)
    for name, (text, anchor) in KERNELS.items():
        path = command.SCRATCH / f"{name}.croft"
        path.write_text(text)
        rows.append((name, path, ["N=512"], anchor))
    for name, path, words, anchor in rows:
        plan = croft("plan", path, *words, *SM_90)
        text = re.sub(rf"^(access {re.escape(anchor)} .*)", r"\1 early", plan.out, flags=re.M)
        words = [word for word in words if not re.match(r"--set|\w+=(?!\d)|chunk|keep", word)]
        run = croft("emit", path, *words, *SM_90, "--plan", saved(name, text))
        case(f"refused_{name}", plan.code == 0 and text != plan.out and run.code == 3
             and "[plan-early]" in run.err and "CROFT_BUG" not in run.err, f"{plan}\n{run}")


def check_mutants():
    """A load that went too far up, before what its index or mask needs, is refused."""
    thread = croft("emit", *NORM, "--level", "thread", "--stop-after", "syncs").out
    lines = thread.splitlines()
    start = len(lines) - lines[::-1].index("{")
    early = [i for i, line in enumerate(lines) if "load %w[" in line and " early" in line]
    for number, at in enumerate(early):
        moved = lines[:start] + [lines[at]] + lines[start:at] + lines[at + 1:]
        path = command.SCRATCH / f"moved_{number}.ir"
        path.write_text("\n".join(moved) + "\n")
        run = croft("check", path)
        case(f"mutant_that_loads_before_its_index_{number}", run.code == 3, run)
    path = command.SCRATCH / "whole.ir"
    path.write_text(thread)
    run = croft("check", path)
    case("the_module_as_it_is_stands", len(early) > 0 and run.code == 0, run)


check_choice()
check_bits(check_order())
check_refused()
check_mutants()
command.finish()
