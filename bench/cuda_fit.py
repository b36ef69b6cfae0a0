#!/usr/bin/env python3
"""The cuda model against plans that were timed on an H200, replayed: no GPU is needed.

    cuda_fit.py [--build build] [--leave-out] [--set cuda.tail:0.4 ...]

bench/results/cuda-fit-h200.jsonl.gz has a line for each plan: its facts and its time, from runs of
bench/regret.py (`run`: `overlapping` launches; `alone`: an hour before, they did not overlap;
`wide`: single plans of rows of 4096 and 8192 elements, and pairs of an automatic and a best plan;
`bf16-wide`, `f32-wide`: up to twenty plans of each wide and anchor case, those on clusters left
out, whose facts were not all written down). Whether rows are shifted is not for the model to say:
where plans of a case differ in it, those count that do as the automatic one. Of the plans of a case
the one is taken that src/planner/settle.c would take of those; its regret is its time over that of
the fastest, less 1.

--leave-out fits the coefficients of FITTED without the cases of one operator and takes plans of
that operator, for each of them. The fit goes from one coefficient to the next and keeps what
lowers the mean over cases of `loss`.
"""
import argparse
import collections
import gzip
import json
import math
import pathlib
import random
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "bench" / "results" / "cuda-fit-h200.jsonl.gz"
SAME_PRICE = 1.04
# Coefficient -> least, most. The start is what the library has.
FITTED = {"launch": (0.2, 0.4), "barrier": (20, 60), "barrier_subgroup": (4, 15),
          "partial": (1, 3), "dependent": (2, 6), "shuffle_latency": (23, 40),
          "together": (0, 1), "own_bytes": (20, 64), "registers": (8, 20), "tail": (0, 1),
          "drift": (0, 1)}
RUNS = ("overlapping", "alone", "wide", "bf16-wide", "f32-wide")
NEAR = 0.15  # a price within this part of the measured time is right
STEPS = 4  # through all of them


def line_of(row):
    words = [f"{name}={value}" for name, value in row["features"].items() if name != "domains"]
    words += [f"domain={one['elements']}x{one['times']}" for one in row["features"]["domains"]]
    return " ".join(["cuda machine=sm_90 subgroup=32 native_math=1 reciprocals=1", *words])


def prices(build, rows, settings):
    words = "".join(f" set={setting}" for setting in settings)
    text = "".join(line_of(row) + words + "\n" for row in rows)
    done = subprocess.run([build / "test/cost_estimate"], input=text, capture_output=True,
                          text=True, check=True)
    return [float(line.split()[0]) for line in done.stdout.splitlines()]


def cases_of(rows):
    found = collections.defaultdict(list)
    for number, row in enumerate(rows):
        found[row["run"], row["case"]].append(number)
    return found


def is_eligible(row):
    subgroups = math.ceil(row["choice"]["w"] / 32)
    return subgroups & (subgroups - 1) == 0


def taken(rows, price, own):
    shifts = {rows[i]["choice"].get("shift", "no") for i in own if rows[i].get("automatic")}
    eligible = [i for i in own if is_eligible(rows[i]) and
                (not shifts or rows[i]["choice"].get("shift", "no") in shifts)]
    least = min(price[i] for i in eligible)
    near = [i for i in eligible if price[i] <= least * SAME_PRICE]
    return min(near, key=lambda i: (rows[i]["choice"]["chunk"] == "step", rows[i]["choice"]["u"],
                                    price[i]))


def regrets(rows, price):
    best = {key: min(rows[i]["measured_us"] for i in own) for key, own in cases_of(rows).items()}
    return {key: rows[taken(rows, price, own)]["measured_us"] / best[key] - 1
            for key, own in cases_of(rows).items()}


def loss(rows, price):
    """Fast plans count most: how far ratios of prices are from ratios of times, and a little how
    far prices are from times."""
    total, cases = 0, cases_of(rows)
    for own in cases.values():
        best = min(rows[i]["measured_us"] for i in own)
        weights = [(best / rows[i]["measured_us"]) ** 4 for i in own]
        errors = [math.log(price[i] / rows[i]["measured_us"]) for i in own]
        mean = sum(w * e for w, e in zip(weights, errors)) / sum(weights)
        apart = sum(w * min(abs(e - mean), 0.5) ** 2 for w, e in zip(weights, errors))
        total += 3 * apart / sum(weights) + 0.5 * min(abs(mean), 0.5) ** 2
    return total / len(cases)


def fit(build, rows, start):
    source, value = random.Random(0), dict(start)
    step = dict.fromkeys(FITTED, 0.3)

    def of(values):
        price = prices(build, rows, [f"cuda.{name}:{one:.6g}" for name, one in values.items()])
        return loss(rows, price)
    best = of(value)
    for name in list(FITTED) * STEPS:
        for sign in (1, -1):
            least, most = FITTED[name]
            moved = value[name] * math.exp(sign * step[name] * source.uniform(0.3, 1))
            trial = {**value, name: min(max(moved, least), most)}
            if (found := of(trial)) < best:
                best, value = found, trial
                break
        else:
            step[name] *= 0.6
    return value


def near(rows, price):
    """Of how many cases the price of the plan that is taken is near its time."""
    plans = [taken(rows, price, own) for own in cases_of(rows).values()]
    return sum(abs(price[i] / rows[i]["measured_us"] - 1) <= NEAR for i in plans), len(plans)


def tell(name, found):
    values = sorted(found.values())
    worst = max(found, key=found.get)
    print(f"{name:34} {len(values):3} cases  median regret {statistics.median(values):5.1%}  worst "
          f"{values[-1]:5.1%} ({worst[1]})")


def defaults():
    text = (ROOT / "src/planner/cost/coefficients.def").read_text()
    return {name: float(text.split(f'"cuda.{name}", ')[1].split(",")[0]) for name in FITTED}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--leave-out", action="store_true")
    parser.add_argument("--set", action="append", default=[], metavar="cuda.NAME:VALUE")
    options = parser.parse_args()
    with gzip.open(DATA, "rt") as file:
        rows = [json.loads(line) for line in file]
    for run in RUNS:
        own = [row for row in rows if row["run"] == run]
        settings = options.set + (["cuda.launch:0.9"] if run == "alone" else [])
        price = prices(options.build, own, settings)
        off = [abs(p / row["measured_us"] - 1) for p, row in zip(price, own)]
        tell(run, regrets(own, price))
        right, cases = near(own, price)
        print(f"{'':34} {len(own)} plans, prices off by {statistics.median(off):.1%} in the "
              f"median, of taken plans {right} of {cases} within {NEAR:.0%}")
    if options.leave_out:
        everything = {}
        rows = [row for row in rows if row["run"] != "alone"]
        for operator in sorted({row["operator"] for row in rows}):
            others = [row for row in rows if row["operator"] != operator]
            own = [row for row in rows if row["operator"] == operator]
            value = fit(options.build, others, defaults())
            price = prices(options.build, own, [f"cuda.{k}:{v:.6g}" for k, v in value.items()])
            found = regrets(own, price)
            everything.update(found)
            tell(f"fitted without {operator}", found)
        tell("each without itself", everything)


if __name__ == "__main__":
    main()
