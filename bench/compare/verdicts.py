"""What the gates make of a run, and what the run as a whole shows.

A gate (gates.py) is met, MISSED, incomplete or reported. A run is void, failed, planted, missed,
incomplete, measured (where no gate is about it) or met; the first of these that is so is its
verdict.
"""
import statistics

from . import gates
from .figures import attempt_figures, geometric_mean, is_unstable, ratio

NOT_PEERS = ("croft", "control")


def partner(run, case, against):
    """The case that a gate sets against this one: its f32, or the next width of whole packs."""
    width, dtype = case["width"], case["dtype"]
    if against == "f32":
        dtype = "f32"
    else:
        width = (width + 7) // 8 * 8
    for other in run.cases.values():
        if (other["dtype"], other["rows"], other["width"]) == (dtype, case["rows"], width) \
                and other.get("operator") == case.get("operator"):
            return other
    return None


def gate_ratio(run, gate, case):
    """The case's ratio by the gate, and why there is none."""
    attempts = run.samples.get((case["id"], gate["phase"]))
    if not attempts or not attempts[-1]["arms"].get(gate["arm"]):
        return None, "Croft failed" if attempts else "not measured"
    arms = attempts[-1]["arms"]
    if gate["against"] in ("f32", "rounded"):
        other = partner(run, case, gate["against"])
        theirs = other and run.samples.get((other["id"], gate["phase"]))
        if not theirs or not theirs[-1]["arms"].get(gate["arm"]):
            return None, "nothing to set it against"
        own = statistics.median(arms[gate["arm"]])
        return statistics.median(theirs[-1]["arms"][gate["arm"]]) / own, ""
    names = run.peers(case) if gate["against"] == "best" else gate["against"].split(" or ")
    ratios = [ratio(attempts[-1], gate["arm"], name) for name in names]
    if None in ratios:
        return None, f"no {names[ratios.index(None)]}"
    return min(one["median"] for one in ratios), ""


def judge(run, gate):
    """The verdict of a gate; None where the run has no case of it."""
    cases = [case for case in run.cases.values()
             if gates.belongs(case, gate["where"], run.environment)]
    found, missing = {}, {}
    for case in cases:
        value, why = gate_ratio(run, gate, case)
        if value is None:
            missing[case["id"]] = why
        else:
            found[case["id"]] = value
    if not cases:
        return None
    result = {"gate": gate["name"], "about": gate["about"], "arm": gate["arm"],
              "against": gate["against"], "phase": gate["phase"], "cases": list(found),
              "missing": missing, "count": gate.get("count"), "wanted_mean": gate.get("mean"),
              "wanted_least": gate.get("least"), "mean": None, "least": None, "least_case": None}
    if found:
        result["mean"] = geometric_mean(found.values())
        result["least_case"] = min(found, key=found.get)
        result["least"] = found[result["least_case"]]
    result["unstable"] = [name for name in found if is_unstable(
        attempt_figures(run.samples[name, gate["phase"]][-1]))]
    result["verdict"] = verdict(result)
    return result


def verdict(result):
    """`MISSED` if a bound is, or if a ratio is missing; `incomplete` with fewer cases."""
    if result["wanted_mean"] is None and result["wanted_least"] is None:
        return "reported"
    if result["missing"]:
        return "MISSED"
    if result["wanted_least"] is not None and result["least"] < result["wanted_least"]:
        return "MISSED"
    if result["count"] is not None and len(result["cases"]) < result["count"]:
        return "incomplete"
    if result["wanted_mean"] is not None and result["mean"] < result["wanted_mean"]:
        return "MISSED"
    return "met"


def verdicts(run):
    device = run.environment["device_kind"]
    results = [judge(run, gate) for gate in gates.GATES if gate["device"] == device]
    return [result for result in results if result]


def missing_peers(run):
    """Peers without any figure, or that failed in a case of f32: why."""
    missing = {}
    for peer in run.peers():
        records = [record for (_, arm), record in run.arms.items() if arm == peer]
        failed = [record for record in records if record["status"] != "ok"]
        halves = {case["id"] for case in run.cases.values() if case["dtype"] != "f32"}
        if not any(record["arms"].get(peer) for many in run.samples.values() for record in many):
            missing[peer] = failed[0].get("why", "") if failed else "it was not run"
        elif any(record["case"] not in halves for record in failed):
            worst = [record for record in failed if record["case"] not in halves][0]
            missing[peer] = f"{worst['case']}: {worst.get('why', '')}"
    return missing


def run_verdict(run, table):
    """What the run as a whole shows, and why."""
    failed = [name for (name, arm), record in run.arms.items()
              if arm in NOT_PEERS and record["status"] != "ok"]
    missed = [gate["gate"] for gate in table["gates"] if gate["verdict"] == "MISSED"]
    judged = [gate for gate in table["gates"] if gate["verdict"] != "reported"]
    if table["void"]:
        return "void", "the peer is slower here than it was recorded: " + ", ".join(table["void"])
    if table["missing_peers"]:
        return "failed", "no " + ", ".join(table["missing_peers"])
    if failed:
        return "failed", "Croft fails in " + ", ".join(dict.fromkeys(failed))
    if "planted" in table:
        return "planted", "Croft was made slower, to show that it is seen"
    if missed:
        return "missed", f"{len(missed)} of {len(judged)} gates: " + ", ".join(missed)
    short = [gate["gate"] for gate in judged if gate["verdict"] == "incomplete"]
    if short or not table["complete"]:
        return "incomplete", ", ".join(short) or "cases are left"
    if not judged:
        return "measured", "no gate is about these cases"
    return "met", f"{len(judged)} gates"
