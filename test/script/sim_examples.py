"""Every example, and some generated kernels, on the simulator: the bytes of the cpu, no finding.

tier: check check-long (in check a third of the cases)
builds: release gcc-asan

The simulator runs the thread IR that the cpu compiles, so both must agree on every byte, NaNs
aside, for each plan and machine. Every example computes on ordinary rows and on rows of special
values (NaN, infinities, zeros, subnormals). What is compared is two implementations of one IR;
whether the IR is right is the business of examples.py. Plans of teams of several subgroups, which
share scratch, are made from the row plan by changing its digits; plans for GPUs have such teams.
"""
import itertools
import pathlib
import re
import sys

import numpy as np

import command
import plan_text
from examples import CONSTANT, EXAMPLES

sys.path.insert(0, str(command.ROOT / "test" / "generated"))
import generate  # noqa: E402
import judge  # noqa: E402

WIDTHS = [1, 300]
PLANS = ["row", "fallback"]
DTYPES = ["f32", "f16", "bf16"]
TEAM_DIGITS = ["slot 4 | lane {lanes} | subgroup 4", "lane {lanes} | subgroup 2 | slot 8",
               "slot 2 | lane {lanes} | subgroup 16 | slot 4"]
ELSEWHERE = ["sm_90", "m1", "sm_80"]
GENERATED = 5


def runs_here(machine):
    flags = pathlib.Path("/proc/cpuinfo")
    return machine != "cpu-avx2" or (flags.exists() and "avx2" in flags.read_text().split())


def arguments(name, rows, width, dtype, special):
    kind = "special" if special else "randn"
    words = []
    for word in EXAMPLES[name][0].split():
        key, shape = word.split(":")
        if shape == "l":
            words.append(f"{key}=randint:{rows}:-2:{max(width, 1) + 2}:i64")
            continue
        sizes = {"rw": f"{rows}x{width}", "w": f"{width}", "88": f"{rows}x8x8"}[shape]
        words.append(f"{key}={kind}:{sizes}:{dtype}")
    return words + CONSTANT.get(name, "").format(width=width).split()


def outputs_of(name):
    return dict.fromkeys(EXAMPLES[name][1].split(), "")


def same(a, b):
    """Bytes, but for NaN."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind == "f":
        both_nan = np.isnan(a) & np.isnan(b)
        bits = f"u{a.dtype.itemsize}"
        return bool(np.all((a.view(bits) == b.view(bits)) | both_nan))
    return a.tobytes() == b.tobytes()


def both(label, words, outputs):
    """Runs the words on both targets; `outputs`: names, and what stands before their files."""
    loaded = {}
    for target in ("cpu", "sim"):
        paths = {key: command.SCRATCH / f"{target}_{key}.npy" for key in outputs}
        for path in paths.values():
            path.unlink(missing_ok=True)
        files = [f"{key}={before}{paths[key]}" for key, before in outputs.items()]
        result = command.croft("run", *words, *files, "--target", target, "--seed", command.SEED)
        if result.code or result.err:
            return command.case(label, False, result)
        loaded[target] = [command.load(path) for path in paths.values()]
    equal = all(same(a, b) for a, b in zip(loaded["cpu"], loaded["sim"]))
    return command.case(label, equal, f"sim and cpu differ: {words}")


def check(name, width, dtype, plan, machine, special):
    words = [f"examples/{name}.croft", *arguments(name, 3, width, dtype, special), "--plan", plan]
    words += ["--machine", machine] if machine else []
    label = "_".join([name, plan, str(width), dtype, machine or "host"] + ["special"] * special)
    both(label, words, outputs_of(name))


def check_team(name, width, digits, machine):
    """The row plan with its elements spread over several subgroups."""
    words = [f"examples/{name}.croft", *arguments(name, 3, width, "f32", False)]
    words += ["--machine", machine] if machine else []
    label = f"{name}_team_{machine or 'host'}"
    outputs = [f"{key}=/dev/null" for key in outputs_of(name)]
    plan = command.croft("plan", *words, *outputs, "--plan", "row")
    found = re.search(r"lane (\d+) \| slot 4 \| step (\d+|\*)", plan.out)
    if not found:
        return command.case(label, False, plan)
    spread = digits.format(lanes=found[1])
    steps = found[2] if found[2] == "*" else -(-width // plan_text.product(spread))
    changed = plan.out.replace(found[0], f"{spread} | step {steps}")
    path = command.SCRATCH / "team.plan"
    path.write_text(re.sub(r"width +\d+", "width 1", changed))
    return both(label, [*words, "--plan", path], outputs_of(name))


def check_generated(seed):
    kernel = generate.generate(seed, False)
    path = command.SCRATCH / "kernel.croft"
    path.write_text(kernel.text)
    outputs = {name: before for name, before, _ in kernel.outputs}
    for plan in PLANS:
        words = [path, *judge.plan_words(plan, kernel), *kernel.arguments]
        files = [f"{key}={before}/dev/null" for key, before in outputs.items()]
        if "[row-plan-refused]" not in command.croft("plan", *words, *files).err:
            both(f"generated_{seed}_{plan}", words, outputs)


def check_elsewhere(name, width, plan, machine):
    """A plan for a GPU, run on the cpu and the simulator, both within the reference's bounds."""
    words = [f"examples/{name}.croft", *arguments(name, 3, width, "f32", False), "--plan", plan]
    both(f"{name}_{plan}_{width}_{machine}", [*words, "--machine", machine, "--check"],
         outputs_of(name))


def main():
    turn = itertools.count()
    machines = [m for m in [None, "cpu-avx2", "cpu-baseline"] if m is None or runs_here(m)]
    for name in EXAMPLES:
        for width, plan in itertools.product([8] if name == "transpose8" else WIDTHS, PLANS):
            number = next(turn)
            no_axis = width == 1 and plan == "row"
            if number % 4 != 1 if command.SANITIZED else not command.in_turn(3):
                continue
            elements = (2 if name in CONSTANT else 0) if no_axis else width
            check(name, elements, DTYPES[number % 3], plan,
                  machines[number % len(machines)], number % 5 == 0)
    teams = [name for name in EXAMPLES if name not in ("transpose8", "softmax_blocks")]
    for number, name in enumerate(teams[:4] if command.SANITIZED else teams):
        check_team(name, 700, TEAM_DIGITS[number % 3], machines[number % len(machines)])
    for number, name in enumerate(EXAMPLES):
        for width in [700, 5000][:2 if number % 4 == 0 and not command.SANITIZED else 1]:
            check_elsewhere(name, width, "row", ELSEWHERE[(number + width // 5000) % 3])
    count = 2 if command.SANITIZED else GENERATED if command.LONG else 3
    for seed in range(command.SEED, command.SEED + count):
        check_generated(seed)
    command.finish()


if __name__ == "__main__":
    main()
