"""Rows that the planner itself splits over launches: one row of 65537 elements and of 262144, on
the simulator and the cpu, within the bound of the reference and with the same bits on both.

tier: check check-long
builds: release

Of each example a third of its types and widths in tier check, all of them in check-long; the
machines come in turn.
"""
import os
import re

from command import SCRATCH, case, croft, finish
from sim_examples import arguments, both, outputs_of
from split_rows import DTYPES, LAUNCHES

MACHINES = ["sm_90", "sm_80", "cpu-avx512", "cpu-avx2"]
WIDTHS = [65537, 262144]
EACH = 1 if os.environ.get("TIER") == "check-long" else 4


def check(name, width, dtype, machine):
    label = f"{name}_{width}_{dtype}_{machine}"
    words = [f"examples/{name}.croft", *arguments(name, 1, width, dtype, False),
             "--machine", machine]
    files = [f"{key}={before}/dev/null" for key, before in outputs_of(name).items()]
    plan = croft("plan", *words, *files, "--target", "cpu")
    file = SCRATCH / f"{label}.plan"
    file.write_text(plan.out)
    parts = re.search(r"\| group \d+$", plan.out, re.MULTILINE)
    small = machine.startswith("cpu") and width == WIDTHS[0]  # some are not worth a second core
    case(f"{label}_is_split", plan.code == 0 and (parts is not None or small), plan)
    return both(label, [*words, "--plan", file, "--check"], outputs_of(name))


def main():
    combinations = [(name, dtype, width) for name in LAUNCHES for dtype in DTYPES
                    for width in WIDTHS]
    for turn, (name, dtype, width) in enumerate(combinations):
        if turn % EACH == turn // len(DTYPES) // len(WIDTHS) % EACH:
            check(name, width, dtype, MACHINES[turn // EACH % len(MACHINES)])
    finish()


if __name__ == "__main__":
    main()
