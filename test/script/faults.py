"""`run --count-faults`: faulty gathers, whose number no plan, target or number of threads changes.

tier: check check-long (in check a third of the cases)
builds: release asan

Kernels that gather by scalars, by elements, by rows, in tiles and in loops and branches are given
indices of which NumPy says how many are outside. The cpu, the simulator and the reference count as
many, by row plans, the fallback, plans of a GPU, split rows and the canonical order, and store what
they store without counting.
"""
import numpy as np

import command
from command import case, croft

FILE = "test/gpu/faults.croft"
WAYS = [["--target", "reference"], ["--target", "cpu"], ["--target", "cpu", "--threads", "2"],
        ["--target", "cpu", "--plan", "fallback"], ["--target", "cpu", "--strict"],
        ["--target", "cpu", "--machine", "sm_90"], ["--target", "sim"],
        ["--target", "sim", "--machine", "sm_90", "--check"],
        ["--target", "sim", "--machine", "sm_90", "--plan", "fallback"]]
SHAPES = [(5, 37), (3, 1), (64, 300), (2, 1009), (0, 40), (3, 0)]
SPLIT = [["--target", target, "--machine", "sm_90", "--set", "g=4"] for target in ("cpu", "sim")]


def outside(indices, extent):
    return (indices < 0) | (indices >= extent)


def draw(generator, name, rows, width):
    """The inputs of a kernel, and how many of its gathers are faults."""
    x = generator.standard_normal((rows, width))
    index = generator.integers(-3, width + 4, (rows, width))
    if name == "scalar":
        label = generator.integers(-2, width + 2, rows)
        return {"x": (x, "f32"), "label": (label, "i64")}, outside(label, width).sum()
    if name == "whole_rows":
        chosen = generator.integers(-2, rows + 2, 40)
        return {"x": (x, "f32"), "rows": (chosen, "i32")}, outside(chosen, rows).sum() * (width > 0)
    if name == "tiles":
        table, index = np.ones(100), generator.integers(8, 16, (rows, width))
        cells = index[:, :, None] * 8 + np.arange(8)
        return {"t": (table, "f32"), "index": (index, "u32")}, outside(cells, 100).sum()
    inputs = {"x": (x, "f32"), "index": (index, "i32")}
    if name == "elements":
        return inputs, outside(index, width).sum()
    if name == "loops":
        counted = sum(outside(index + i, width).sum() for i in (0, 2))
        return inputs, counted + outside(index[:, :1], width).sum()
    return inputs, 0


def run(inputs, name, words):
    output = command.SCRATCH / "y.npy"
    output.unlink(missing_ok=True)
    done = croft("run", FILE, "--kernel", name, *inputs, f"y={output}", *words)
    return done, np.load(output).tobytes() if output.exists() else None


def check_way(name, shape, inputs, expected, words):
    counted, stored = run(inputs, name, [*words, "--count-faults"])
    plain, bytes_without = run(inputs, name, words)
    checks = "--check" in words or "reference" in words
    good = f"faults: {expected}\n" in counted.out and "FAILED" not in counted.out
    good = good and counted.code == plain.code == (1 if checks and expected > 0 else 0)
    good = good and "faults:" not in plain.out
    same = stored == bytes_without or "--strict" not in words
    label = "_".join([name, "x".join(map(str, shape)), *(word.strip("-") for word in words)])
    case(label, good and stored is not None and same, f"expected {expected}\n{counted}\n{plain}")


def check_kernel(name):
    generator = np.random.default_rng(command.SEED)
    for shape in SHAPES:
        if name == "loops" and shape[1] == 0:
            continue  # no scalar of an empty row
        inputs, expected = draw(generator, name, *shape)
        words = []
        for key, (values, dtype) in inputs.items():
            path = command.SCRATCH / f"{key}.npy"
            command.save(path, values, dtype)
            words.append(f"{key}={path}")
        ways = WAYS + (SPLIT if name == "elements" and shape[1] > 1000 else [])
        for way in ways:
            if command.in_turn(9):
                check_way(name, shape, words, int(expected), way)


def check_refusals():
    words = ["--kernel", "scalar", "R=2", "N=4"]
    emitted = croft("emit", FILE, *words, "--count-faults")
    case("emit_has_no_counting", emitted.code == 2 and "belongs to plan and run" in emitted.err,
         emitted)
    plan = croft("plan", FILE, *words, "--count-faults")
    path = command.SCRATCH / "counting.plan"
    path.write_text(plan.out)
    arguments = ["x=ones:2x4", "label=arange:2", "y=/dev/null", "--kernel", "scalar"]
    obeyed = croft("run", FILE, *arguments, "--count-faults", "--plan", path)
    good = plan.code == 0 and obeyed.code == 0 and "faults: 0" in obeyed.out
    case("a_plan_of_it_is_obeyed", good, f"{plan}\n{obeyed}")
    other = croft("run", FILE, *arguments, "--plan", path)
    case("and_is_no_plan_of_the_kernel_alone", other.code == 3, other)
    thread = command.SCRATCH / "thread.ir"
    thread.write_text(croft("emit", FILE, *words, "--level", "thread").out)
    text = croft("run", thread, *arguments[:3], "--target", "sim", "--count-faults")
    case("an_ir_text_is_not_counted", text.code == 2 and "--count-faults" in text.err, text)


for kernel in ("scalar", "elements", "whole_rows", "tiles", "loops", "inside"):
    check_kernel(kernel)
check_refusals()
command.finish()
