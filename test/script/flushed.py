#!/usr/bin/env python3
"""exp of what is at most 0, in the form `flushed`: where a plan has it, where it is refused, and
its results: within a unit of the last place, 0 far below, with the same bits on the cpu and in
the simulator.

tier: check
builds: release
"""
import re

import numpy as np

import command
from command import SCRATCH, case, croft

TEXT = """kernel flushed(x: in f32[R, N], y: out f32[R, N]) {
    program row: R
    t = x[row, :]
    y[row, :] = %s
}
"""
MACHINES = ["cpu-avx512", "cpu-avx2", "cpu-baseline", "m1", "sm_90"]


def plan_of(expression, *words):
    path = SCRATCH / "flushed.croft"
    path.write_text(TEXT % expression)
    return path, croft("plan", path, "N=1000", *words)


def forms(run):
    return re.findall(r"^math exp.0 +(\S+)", run.out, re.M)


def check_proofs():
    for expression, form in (("exp(t - max(t))", "flushed"), ("exp(min(t) - t)", "flushed"),
                             ("exp(max(t) - t)", "portable"), ("exp(t - min(t))", "portable"),
                             ("exp(t - max(abs(t)))", "portable"), ("exp(t)", "portable"),
                             ("exp(t - max(t) + 1.0)", "portable"),
                             ("exp(t * 2.0 - max(t))", "portable")):
        path, run = plan_of(expression, "--machine", "cpu-avx2")
        case(f"form_of_{''.join(expression.split())}", forms(run) == [form], run)
        file = SCRATCH / "asked.plan"
        file.write_text(re.sub(r"^(math exp.0 +)\S+", r"\1flushed", run.out, flags=re.M))
        emitted = croft("emit", path, "N=1000", "--machine", "cpu-avx2", "--plan", file)
        good = emitted.code == 0 if form == "flushed" else "plan-form" in emitted.err
        case(f"asked_for_{''.join(expression.split())}", good, emitted)
    path, run = plan_of("exp(t - max(t))", "--strict", "--machine", "cpu-avx2")
    case("strict_has_none", forms(run) == ["portable"], run)
    run = croft("emit", path, "N=1000", "--machine", "cpu-avx2", "--strict", "--plan", file)
    case("strict_refuses_it", run.code != 0, run)
    for machine in MACHINES:
        path, run = plan_of("exp(t - max(t))", "--machine", machine)
        wanted = "native" if machine == "sm_90" else "flushed"
        case(f"default_of_{machine}", forms(run) == [wanted], run)
    run = croft("plan", path, "N=262144", "R=1", "--machine", "cpu-avx2")
    good = "group 2" in run.out and forms(run) == ["portable"]
    case("parts_compute_the_portable_form", good, run)


def check_results():
    random = np.random.default_rng(command.SEED)
    x = np.zeros((8, 1000), np.float32)
    x[0, 1:] = -np.exp(random.uniform(-20, 4.5, 999))
    x[1, 1:] = random.uniform(-90, 0, 999)
    x[2, 1:] = np.linspace(-89, -86, 999)
    x[3, 1:] = -np.logspace(-40, 38, 999)
    x[4, 1:4] = -np.inf, -0.0, -1e-40
    x[5] = -np.inf
    x[6, 0] = np.inf
    x[7, 7] = np.nan
    np.save(SCRATCH / "x.npy", x)
    path, _ = plan_of("exp(t - max(t))")
    got = {}
    for target in ("cpu", "sim"):
        run = croft("run", path, f"x={SCRATCH}/x.npy", f"y={SCRATCH}/{target}.npy",
                    "--target", target, "--machine", "cpu-avx2", "--check", "--verify-passes")
        case(f"within_the_bound_{target}", run.code == 0, run)
        got[target] = np.load(SCRATCH / f"{target}.npy")
    y = got["cpu"]
    case("same_bits", np.array_equal(y, got["sim"], equal_nan=True))
    exact = np.exp(x[:5].astype(np.float64))
    normal = exact >= 2.0**-126
    unit = np.exp2(np.floor(np.log2(np.where(normal, exact, 1.0))) - 23)
    worst = np.max((np.abs(y[:5] - exact) / unit)[normal])
    case("largest_error", worst <= 1.0, worst)
    case("small_ones", np.all(np.abs(y[:5] - exact)[~normal] <= 2.0**-126)
         and np.all(y[:5][x[:5] < -88.1] == 0) and np.all(y[:5] >= 0))
    case("infinities", y[4, 1] == 0 and y[4, 2] == 1 and np.all(np.isnan(y[5]))
         and np.isnan(y[6, 0]) and np.all(y[6, 1:] == 0) and np.all(np.isnan(y[7])), y[4:, :8])


def main():
    check_proofs()
    check_results()
    command.finish()


if __name__ == "__main__":
    main()
