"""The figures of a run: ratios of paired rounds, the best peer, means, and what was unstable.

    ratio(samples, "croft", "eager")     {"median": 1.42, "least": 1.38, "greatest": 1.47}

The ratio of a case against another arm is the median over rounds of other / Croft, in the last
attempt. A case whose second identical Croft lies outside gates.STABLE is marked and stays, with all
of its attempts.
"""
import math
import statistics

from . import gates


def each_ratio(samples, arm, against):
    """against / arm of each round."""
    return [b / a for a, b in zip(samples["arms"][arm], samples["arms"][against])]


def interval(values):
    """In which the median of more of the same lies, 19 times of 20: two of the values."""
    ordered = sorted(values)
    away = 0.98 * math.sqrt(len(ordered))
    low = max(0, math.floor(len(ordered) / 2 - away))
    return ordered[low], ordered[-1 - low]


def ratio(samples, arm, against):
    """Median, least and greatest of against / arm over the rounds; None where one has none."""
    own, other = samples["arms"].get(arm), samples["arms"].get(against)
    if not own or not other:
        return None
    each = each_ratio(samples, arm, against)
    return {"median": statistics.median(each), "least": min(each), "greatest": max(each)}


def best_peer(ratios, peers):
    """The peer that takes least, with its ratio; None unless all of them are there."""
    if not peers or any(ratios.get(peer) is None for peer in peers):
        return None
    name = min(peers, key=lambda peer: ratios[peer]["median"])
    return {"peer": name, **ratios[name]}


def attempt_figures(samples, arm="croft"):
    names = [name for name in samples["arms"] if name != arm]
    return {name: ratio(samples, arm, name) for name in names if ratio(samples, arm, name)}


def is_unstable(ratios):
    control = ratios.get("control")
    return control is not None and not gates.STABLE[0] <= control["median"] <= gates.STABLE[1]


def entry_of(run, case, phase):
    """What the tables say of a case in a phase."""
    attempts = run.samples[case["id"], phase]
    last = attempts[-1]
    entry = {"case": case["id"], "phase": phase, "attempts": [], "ratios": attempt_figures(last)}
    entry["us"] = {arm: statistics.median(values) for arm, values in last["arms"].items() if values}
    own = entry["us"].get("croft")
    entry["gb_per_s"] = (case["read"] + case["write"]) / own * 1e-3 if own else None
    entry["best"] = best_peer(entry["ratios"], run.peers(case))
    for samples in attempts:
        entry["attempts"].append(attempt_figures(samples))
    entry["unstable"] = is_unstable(entry["ratios"])
    entry["clock_moved"] = bool(last.get("clock_moved"))
    entry["control_missing"] = "control" not in entry["ratios"]
    entry["failed"] = failures(run, case["id"])
    return entry


def failures(run, case_id):
    return {arm: record.get("why", "") for (case, arm), record in run.arms.items()
            if case == case_id and record["status"] != "ok"}


def entries_of(run):
    return [entry_of(run, case, phase) for phase in run.phases() for case in run.cases.values()
            if (case["id"], phase) in run.samples]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def means_of(run, entries):
    """Geometric means of each operator and type, and of all, against each peer and the best."""
    groups = {}
    for entry in entries:
        case = run.cases[entry["case"]]
        for group in (f"{case.get('operator') or case.get('file')}/{case['dtype']}",
                      f"all/{case['dtype']}"):
            groups.setdefault((entry["phase"], group), []).append(entry)
    means = []
    for (phase, group), members in groups.items():
        further = sorted({arm for arms in run.further.values() for arm in arms})
        for against in [*run.peers(), *further, "best"]:
            values = [(entry["best"] if against == "best" else entry["ratios"].get(against))
                      for entry in members]
            values = [value["median"] for value in values if value]
            if values:
                means.append({"group": group, "phase": phase, "against": against,
                              "cases": [entry["case"] for entry in members], "count": len(values),
                              "mean": geometric_mean(values), "least": min(values)})
    return means


def checks_of(run):
    """The recorded cases of the peer that were repeated."""
    found = []
    for one in run.checks:
        arms = one.get("arms") or {}
        pairs = list(zip(arms.get("roof", []), arms.get("compiled", [])))
        found.append({"case": one["case"], "slower": one["slower"], "limit": one["limit"],
                      "roof_over_peer": statistics.median(a / b for a, b in pairs) if pairs
                      else None, "void": one["case"] in run.void, "why": one.get("why")})
    return found
