#!/usr/bin/env python3
"""Mutants of thread modules whose programs share a team, whose groups walk over programs, or whose
groups of a cluster share a program: none may survive.

    packed.py [--seed 1] [--every 5] [--mutate build/test/mutate]

tier: check check-long
builds: release

What run.py does with the planner's plans, here with rows that share a subgroup, a group, or both,
and with groups that share a row: a program's index, the lanes of a reduction, the cells of its
partial results and whose they are, the sync, the mask of programs that are replayed. With
TIER=check-long every place of each, else every fifth.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run  # noqa: E402

sys.path.insert(0, str(run.ROOT / "test" / "script"))
import plan_text  # noqa: E402

CROFT = os.environ.get("CROFT", str(run.ROOT / "build" / "croft"))
PACKINGS = [("lane 8 | group *", "slot 2 | lane 4 | step *"),
            ("lane 32 | group *", "slot 2 | step *"),
            ("subgroup 4 | group *", "slot 2 | lane 4 | step *"),
            ("subgroup 2 | group *", "slot 2 | lane 4 | subgroup 3 | step *"),
            ("lane 2 | subgroup 2 | group *", "lane 4 | slot 2 | step *"),
            ("subgroup 2 | group *", "slot 2 | lane 4 | slot 3 | step *"),
            ("group 3 | step *", "slot 2 | lane 4 | subgroup 2 | step *"),
            ("subgroup 2 | group 2 | step *", "slot 2 | lane 8 | step *"),
            ("group *", "slot 2 | lane 4 | block 2 | step *"),
            ("group *", "slot 2 | lane 4 | subgroup 2 | block 4 | step *"),
            ("group 2 | step *", "lane 8 | block 2 | slot 2 | step *")]
KERNELS = ["softmax", "layernorm", "cross_entropy", "rmsnorm_quant"]


def packed(kernel, rows, elements):
    """The planner's plan for an open width, with these digits."""
    plan = subprocess.run([CROFT, "plan", run.ROOT / "examples" / f"{kernel}.croft", "T=f32",
                           "--machine", "sm_90"], stdout=subprocess.PIPE, check=True)
    plan = plan_text.with_axis(plan.stdout.decode(), "row", rows)
    plan = plan_text.with_axis(plan, "N", elements)
    return plan_text.with_widths(plan, plan_text.neighbours(elements), most=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("CROFT_BUILD", run.ROOT / "build"))
    parser.add_argument("--seed", type=int, default=run.FIXED_SEED)
    every = 1 if os.environ.get("TIER") == "check-long" else 5
    parser.add_argument("--every", type=int, default=every, help="only every N-th place")
    parser.add_argument("--mutate", default=str(build / "test" / "mutate"))
    options = parser.parse_args()
    failures = judged = 0
    with tempfile.TemporaryDirectory() as folder:
        for turn, (rows, elements) in enumerate(PACKINGS):
            for kernel in KERNELS:
                path = pathlib.Path(folder) / "packed.plan"
                path.write_text(packed(kernel, rows, elements))
                done = subprocess.run(
                    [options.mutate, "--machine", "sm_90", "--plan", path, "--every",
                     str(options.every), "--seed", str(options.seed),
                     run.ROOT / "examples" / f"{kernel}.croft"],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, check=False)
                text = done.stdout.decode("utf-8", "replace")
                counts = run.ROW.findall(text)
                mutants = sum(map(int, counts[-1][1:])) if counts else 0
                judged += mutants
                good = done.returncode == 0 and mutants > 0
                failures += not good
                name = f"{kernel}_{turn}_{rows.replace(' ', '')}_{elements.replace(' ', '')}"
                print(f"ok {name}" if good else f"not ok {name}: exit {done.returncode}\n{text}",
                      flush=True)
    print(f"{judged} mutants")
    sys.exit(1 if failures or judged == 0 else 0)


if __name__ == "__main__":
    main()
