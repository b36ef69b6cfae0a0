#!/usr/bin/env python3
"""Generated kernels through every pass by hand, each pass asked whether it told the truth.

    honest.py [--seed N] [--count K]

tier: check check-long
builds: release

A kernel of generate.py, specialised to its arguments, as tile IR goes through `croft opt
--check-passes` on those arguments: the pipeline under both plans, and a list of passes in an order
that the pipeline does not have. A refusal is a failure, but for a row plan where there is none.
Half of the seeds are fixed, half come from CROFT_SEED.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
COUNTS = {"check": 12, "check-long": 100}
TIME_LIMIT_S = 60
MACHINES = ["cpu-avx2", "sm_90"]  # one vector of lanes; several subgroups and scratch
LISTS = [None, "fold,hoist,dead,canonicalise,dead,map,merge,fold,hoist,dead,expand,dead,merge,fold"]


def run(words, text=""):
    try:
        done = subprocess.run([CROFT, *map(str, words)], input=text.encode(), cwd=ROOT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return 124, "", "out of time"
    return done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace")


def inputs_of(head, words):
    """The words that are inputs of the module whose first line is `head`."""
    inputs = []
    for word in words:
        name, value = word.split("=", 1)
        if re.search(rf"%{name}: (in|inout) ", head):
            inputs.append(f"{name}={value.split(',/')[0]}")
        elif re.search(rf"[(,] ?{name}: \w", head) or re.search(rf"[\[ ]{name}[,\] ]",
                                                                head.split("(")[0]):
            inputs.append(word)
    return inputs


def judge(seed):
    """None, or what is wrong."""
    kernel = generate.generate(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.croft"
        path.write_text(kernel.text)
        words = kernel.arguments + [f"{name}={before}{folder}/{name}.npy"
                                    for name, before, _ in kernel.outputs]
        code, text, findings = run(["emit", path, *words, "--level", "tile"])
        if code:
            return f"emit: exit {code}\n{findings}\n{kernel.text}"
    inputs = inputs_of(text.split("\n", 1)[0], words)
    machine = MACHINES[seed % 2]
    for plan in ("fallback", "row"):
        for passes in LISTS:
            opt = ["opt", "-", "--check-passes", "--machine", machine, "--plan", plan, *inputs]
            opt += ["-p", passes] if passes else []
            code, _, findings = run(opt, text)
            if code and "[row-plan-refused]" not in findings:
                return f"croft {' '.join(opt)}\nexit {code}\n{findings}\n{kernel.text}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    options = parser.parse_args()
    count = options.count or COUNTS[os.environ.get("TIER", "check")]
    fresh = 10_000 * int(os.environ.get("CROFT_SEED", "1"))
    seeds = [options.seed + i for i in range(count)] if options.seed is not None else \
        [*range(200, 200 + count * 3 // 4), *range(fresh, fresh + count - count * 3 // 4)]
    failed = 0
    for seed in seeds:
        wrong = judge(seed)
        failed += wrong is not None
        print(f"not ok seed-{seed}: {wrong}" if wrong else f"ok seed-{seed}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
