#!/usr/bin/env python3
"""Row plans on a GPU: every form of a plan, every cohort of shapes, generated row kernels.

tier: check-gpu

    test/gpu/rows.py [--on cuda|cpu] [--part forms|cohorts|generated|racecheck] [--seed N] [-j N]

* forms: `--set` fixes workers, neighbours, chunks, packed programs and storage: rows of 1 to 16
  lanes, several rows a group, clusters of 2 to 16 groups a row, tails of every kind, kept and
  reloaded inputs, unrolled steps.
* cohorts: the cases of test/script/cohorts.py, in full, by the automatic plan.
* generated: kernels of test/generated/row_kernels.py, 500 of a seed, by the row plan.
* racecheck: one case of each form under compute-sanitizer's racecheck, where it is installed.

Each case is a run with --check: the FP64 reference on every element, guards around the outputs. A
setting that the planner refuses is counted and is no case. --on cpu runs the plans of sm_90 on the
cpu, to try this file where there is no GPU. Without a device everything is skipped.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as gpu  # noqa: E402

sys.path.insert(0, str(gpu.ROOT / "test" / "script"))
sys.path.insert(0, str(gpu.ROOT / "test" / "generated"))
import cohorts  # noqa: E402
import row_kernels  # noqa: E402

WIDTHS = [1, 31, 33, 127, 128, 129, 257, 4103]
KERNELS = ["softmax", "rmsnorm", "layernorm", "residual_layernorm", "cross_entropy", "sum"]
GENERATED = 500


class Case:
    """A form, a name and the words of a command."""

    def __init__(self, form, name, words):
        self.form, self.name, self.words = form, f"{form}/{name}", words

    def run(self, worker, target):
        code, text = worker.run([*self.words, "--machine", "sm_90", "--target", target, "--check"])
        if code == 3 and re.search(r"\[(plan-set|row-plan-refused)\]", text):
            raise gpu.NoPlan(text)
        lines = re.findall(r"^check \w+: (\w+)", text, re.MULTILINE)
        good = code == 0 and lines and all(line == "ok" for line in lines)
        return None if good else f"exit {code}: {text.strip()[:1500]}"


def words_of(kernel, rows, width, dtype, setting):
    words = cohorts.arguments(kernel, rows, width, dtype)
    return [word for word in words if word != "--check"] + ["--set", setting]


def form_cases():
    """(workers, rows of a group, ...) over kernels and widths in turn."""
    cases = []

    def add(form, width, rows, setting):
        kernel, dtype = KERNELS[len(cases) % len(KERNELS)], ["f32", "f16", "bf16"][len(cases) % 3]
        cases.append(Case(form, f"{kernel}_{rows}x{width}_{dtype}_{setting}",
                          words_of(kernel, rows, width, dtype, setting)))

    for lanes in (1, 2, 4, 8, 16):
        for width in range(1, 65):
            add("narrow", width, (1, 7, 4097)[width % 3],
                f"w={lanes},p={(32, 64, 128)[width % 3] // lanes}")
    for subgroups in (1, 2, 3, 8, 13, 32):
        for packed in (1, 2, 4, 8):
            for width in WIDTHS:
                add("packed" if packed > 1 else "wide", width, 2 * packed + width % 3 - 1,
                    f"w={32 * subgroups},p={packed}")
    for vector in (1, 2, 4, 8):
        for unroll in (1, 2, 3, 4):
            for width in WIDTHS:
                add("tails", width, 5, f"v={vector},u={unroll},w=32,chunk=step")
    for blocks in (2, 4, 8, 16):
        for width in (1003, 4096, 8191, 16384, 65536, 65541):
            for workers in (64, 256, 1024):
                add("cluster", width, 3, f"b={blocks},w={workers}")
        add("cluster", 262144, 2, f"b={blocks},w=1024")
    for keep in ("mixed", "registers", "again", "private"):
        for width in WIDTHS:
            for workers in (32, 256, 416):
                add(f"keep_{keep}", width, 5, f"keep={keep},w={workers}")
    return cases


def cohort_cases():
    return [Case("cohorts", name, [word for word in words
                                   if word not in ("--check", "--target", "cuda")])
            for name, words in cohorts.cases(["cuda"], cohorts.OPERATORS, cohorts.DTYPES)]


def generated_cases(seed, folder):
    cases = []
    for number in range(GENERATED):
        kernel = row_kernels.RowKernel(f"{seed}.{number}").kernel()
        path = folder / f"{number}.croft"
        path.write_text(kernel.text)
        outputs = [f"{name}={before}/dev/null" for name, before, _ in kernel.outputs]
        cases.append(Case("generated", f"{seed}.{number}",
                          ["run", path, *kernel.arguments, *outputs]))
    return cases


def racecheck(cases, outcomes):
    """One case of each form, of a middle width, under the tool."""
    tool, chosen = gpu.find_sanitizer(), {}
    for case in cases:
        if re.search(r"x(33|129|257)_", case.name) and case.form not in chosen:
            chosen[case.form] = case
    if tool is None:
        for case in chosen.values():
            outcomes.skip(f"racecheck/{case.name}", "compute-sanitizer is not installed")
        return
    for case in chosen.values():
        start = time.monotonic()
        command = [tool, "--tool", "racecheck", "--error-exitcode", "99", gpu.BUILD / "croft",
                   *map(str, case.words), "--machine", "sm_90", "--target", "cuda", "--check",
                   "--no-cache"]
        done = subprocess.run(command, cwd=gpu.ROOT, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, errors="replace", check=False)
        outcomes.add(f"racecheck/{case.name}",
                     None if done.returncode == 0 else done.stdout[-2000:],
                     time.monotonic() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--on", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--part", action="append",
                        choices=["forms", "cohorts", "generated", "racecheck"])
    parser.add_argument("--seed", type=int, default=int(os.environ.get("CROFT_SEED", "6")))
    parser.add_argument("--only", default="", help="run only cases whose name contains this")
    parser.add_argument("--limit", type=float, default=500, help="begin no case after seconds")
    parser.add_argument("-j", "--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--no-build", action="store_true", help="use what is built already")
    options = parser.parse_args()
    parts = options.part or ["forms", "cohorts", "generated", "racecheck"]
    start, outcomes = time.monotonic(), gpu.Outcomes()
    if not options.no_build:
        gpu.build(options.jobs)
    missing = gpu.find_device() if options.on == "cuda" else None
    folder = gpu.BUILD / "row_kernels"
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}")
    forms = form_cases()
    cases = forms if "forms" in parts else []
    cases += cohort_cases() if "cohorts" in parts else []
    cases += generated_cases(options.seed, folder) if "generated" in parts else []
    cases = [case for case in cases if options.only in case.name
             and (options.on == "cuda" or case.form != "cluster")]  # a cpu has no clusters
    if missing is not None:
        print(f"no CUDA device here: {missing}")
        for case in cases:
            outcomes.skip(case.name, "no device")
    else:
        if "racecheck" in parts and options.on == "cuda":
            racecheck(forms, outcomes)
        gpu.run_all([(case.name, lambda worker, case=case: case.run(worker, options.on))
                     for case in cases], options.jobs, start + options.limit, outcomes)
    sys.exit(outcomes.close(time.monotonic() - start))


if __name__ == "__main__":
    main()
