#!/usr/bin/env python3
"""Tables, plots and verdicts of a comparison, from its raw samples.

    report.py DIR                   DIR/raw.jsonl -> table.txt, table.md, table.json, roofline.svg
                                    and speedup.svg beside it
    report.py merge DIR... --out D  one raw file of several, if device, driver and sources agree
    report.py twice DIR DIR         whether two runs give the same verdicts, and whose times moved

The ratio of a case against another arm is the median over rounds of other / Croft, in the last
attempt. A case whose second identical Croft lies outside gates.STABLE is marked and stays, with all
of its attempts. Nothing is left out: a slow case, a failed arm, a missing peer are lines as well.
The first line is the verdict of the run: void, failed, planted, missed, incomplete or met. Ends
with 1 when it is one of the first four. reader.py recomputes what is printed here.
"""
import argparse
import gzip
import json
import math
import pathlib
import statistics
import sys

if __package__:
    from . import gates, plot
else:
    import gates
    import plot

SAME = ("format", "device", "driver", "versions", "sources", "plant")  # of runs read as one
NOT_PEERS = ("croft", "control")
MOVED = 0.05  # of a case's best ratio between two runs


class Refused(Exception):
    """A raw file that cannot be read as one run; the text says why."""


class Run:
    """The records of a raw file, by what they are about."""

    def __init__(self, records):
        self.environment, self.cases, self.samples, self.arms = None, {}, {}, {}
        self.clocks, self.checks, self.void, self.end = {}, [], [], None
        self.further, self.finished, self.tier = {}, set(), None
        for record in records:
            self.take(record)
        if self.environment is None:
            raise Refused("no environment record")

    def take(self, record):
        kind = record["record"]
        if kind == "environment":
            if self.environment is not None:
                must_agree(self.environment, record)
            self.environment, self.tier = self.environment or record, record.get("tier")
        elif kind == "case":
            self.cases[record["id"]] = {**record, "tier": self.tier}
        elif kind == "samples":
            self.samples.setdefault((record["case"], record["phase"]), []).append(record)
        elif kind == "arm":
            self.arms[record["case"], record["arm"]] = record
            if record.get("peer") and record["arm"] not in self.peers():
                self.further.setdefault(record["case"], []).append(record["arm"])
        elif kind == "clock" and record.get("throttle"):
            self.clocks[record["case"]] = record
        elif kind == "peer_check":
            self.void += record["void"]
            self.checks += [{**one, "limit": record["limit"]} for one in record["cases"]]
        elif kind == "finished":
            self.finished.add(record["case"])
        elif kind == "end":
            self.end = record

    def phases(self):
        device = self.environment["device_kind"]
        return [phase for phase in gates.PHASES[device]
                if any(key[1] == phase for key in self.samples)]

    def peers(self, case=None):
        """Those of every run, and further ones of a case; of halves those that can do it."""
        peers = gates.PEERS[self.environment["device_kind"]]
        if case is None:
            return peers
        peers = [*peers, *self.further.get(case["id"], [])]
        if case["dtype"] == "f32":
            return peers
        return [peer for peer in peers
                if self.arms.get((case["id"], peer), {}).get("status", "ok") == "ok"]

    def unfinished(self):
        """Cases whose records are not whole: the run was stopped while it wrote them."""
        return [name for name in self.cases if self.finished and name not in self.finished]


def must_agree(first, second):
    for word in SAME:
        if first.get(word) != second.get(word):
            raise Refused(f"runs of another {word}: {first.get(word)} and {second.get(word)}")


def device_kind(environment):
    """`cuda` or `cpu`, by the option that the run was given."""
    kind = environment.get("device_kind")
    if kind in gates.PEERS:
        return kind
    return "cpu" if environment["device"].lower().startswith("cpu") else "cuda"


def read_records(path):
    """All records, of PATH or PATH.gz; a last line that was not written to its end is left out."""
    records, path = [], pathlib.Path(path)
    packed = pathlib.Path(f"{path}.gz")
    text = gzip.decompress(packed.read_bytes()).decode() if packed.exists() else path.read_text()
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        if not line.endswith("\n"):
            break
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise Refused(f"{path}:{number}: {error}") from error
        if record["record"] == "environment":
            record["device_kind"] = device_kind(record)
        records.append(record)
    return records


# ---- figures ----

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


# ---- gates ----

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
    return "met", f"{len(judged)} gates"


def table_of(run):
    """All that is published, as numbers."""
    environment = {key: value for key, value in run.environment.items() if key != "record"}
    entries = entries_of(run)
    planted = environment.get("plant")
    table = {"format": 1, "environment": environment, "entries": entries,
             "means": means_of(run, entries), "gates": verdicts(run),
             "missing_peers": missing_peers(run), "void": run.void,
             "peer_checks": checks_of(run), "unfinished": run.unfinished(),
             "complete": bool(run.end and run.end["complete"] and not run.unfinished()),
             "unjudged": [gate["name"] for gate in gates.GATES
                          if gate["device"] == environment["device_kind"]
                          and not any(gates.belongs(case, gate["where"], environment)
                                      for case in run.cases.values())],
             "unmeasured": [name for name in run.cases
                            if not any(key[0] == name for key in run.samples)]}
    if planted:
        controls = [entry["ratios"]["control"]["median"] for entry in entries
                    if "control" in entry["ratios"]]
        half = 1 - (1 - 1 / planted) / 2
        table["planted"] = {"factor": planted, "cases": len(controls),
                            "detected": sum(value < half for value in controls)}
    table["verdict"], table["why"] = run_verdict(run, table)
    return table


# ---- texts ----

def number(value):
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"


def show(figure):
    """`1.42 [1.38-1.47]`"""
    if not figure:
        return "-"
    return f"{figure['median']:.3f} [{figure['least']:.3f}-{figure['greatest']:.3f}]"


def in_a_line(text, length=200):
    """What a compiler or a peer said, as a cell or a line of a page."""
    return " ".join(text.replace("|", "/").split())[:length]


def marks(entry, factor=None):
    words = []
    if entry["unstable"]:
        words.append("planted" if factor else f"UNSTABLE ({len(entry['attempts'])} attempts)")
    if entry["clock_moved"]:
        words.append("CLOCK MOVED")
    if entry["control_missing"]:
        words.append("no control")
    if entry["best"] and entry["best"]["median"] < 1.0:
        words.append("slower")
    words += [f"{arm} failed" for arm in entry["failed"]]
    return ", ".join(words) or "-"


def case_rows(table, phase):
    """Header and cells of the table of a phase."""
    entries = [entry for entry in table["entries"] if entry["phase"] == phase]
    arms = []
    for entry in entries:
        arms += [arm for arm in entry["ratios"] if arm not in arms and arm != "control"]
    header = ["case", "croft us", "GB/s", *arms, "best", "control", "marks"]
    factor = table["environment"].get("plant")
    rows = []
    for entry in entries:
        own = entry["us"].get("croft")
        rows.append([entry["case"], number(own) if own else "-",
                     number(entry["gb_per_s"]) if own else "-",
                     *[show(entry["ratios"].get(arm)) for arm in arms],
                     f"{entry['best']['peer']} {entry['best']['median']:.3f}" if entry["best"]
                     else "-", show(entry["ratios"].get("control")), marks(entry, factor)])
    return header, rows


def gate_rows(table):
    header = ["gate", "about", "phase", "cases", "mean", "wanted mean", "least", "wanted least",
              "least case", "verdict"]
    rows = []
    for gate in table["gates"]:
        cells = [gate["gate"], gate["about"], gate["phase"],
                 f"{len(gate['cases'])} of {gate['count'] or len(gate['cases'])}"]
        for word in ("mean", "least"):
            cells += [f"{gate[word]:.3f}" if gate[word] else "-",
                      f"{gate['wanted_' + word]:.3f}" if gate["wanted_" + word] else "-"]
        notes = gate["verdict"] + (" (void run)" if table["void"] else "")
        if gate["missing"]:
            notes += f" (missing: {len(gate['missing'])})"
        if gate["unstable"]:
            notes += f" (unstable: {len(gate['unstable'])})"
        rows.append([*cells, gate["least_case"] or "-", notes])
    return header, rows


def mean_rows(table):
    header = ["group", "phase", "against", "cases", "mean", "least"]
    return header, [[mean["group"], mean["phase"], mean["against"], str(mean["count"]),
                     f"{mean['mean']:.3f}", f"{mean['least']:.3f}"] for mean in table["means"]]


def check_rows(table):
    header = ["case", "roof / compiled", "slower than recorded", "limit", "verdict", "why"]
    rows = []
    for one in table["peer_checks"]:
        share, slower = one["roof_over_peer"], one["slower"]
        rows.append([one["case"], "-" if share is None else f"{share:.3f}",
                     "-" if slower is None else f"{slower:+.1%}", f"{one['limit']:.0%}",
                     "VOID" if one["void"] else "as recorded",
                     in_a_line(one["why"] or "-")])
    return header, rows


def attempt_rows(table):
    """Every attempt of the cases that were unstable or were measured more than once."""
    header = ["case", "phase", "attempt", "control", "ratios"]
    rows = []
    for entry in table["entries"]:
        if len(entry["attempts"]) > 1:
            for index, ratios in enumerate(entry["attempts"], 1):
                others = " ".join(f"{arm}={ratios[arm]['median']:.3f}" for arm in ratios
                                  if arm not in NOT_PEERS)
                rows.append([entry["case"], entry["phase"], str(index),
                             show(ratios.get("control")), others])
    return header, rows


def error_rows(run):
    header = ["arm", "cases", "largest error, ulp of the result", "of the row's largest", "case"]
    worst = {}
    for (case, arm), record in run.arms.items():
        if record.get("error_ulp") is not None:
            found = record["error_ulp"], record.get("error_row_ulp"), case
            worst.setdefault(arm, []).append(found)
    rows = []
    for arm, found in worst.items():
        first = max(found, key=lambda one: one[0])
        row = [one[1] for one in found if one[1] is not None]
        rows.append([arm, str(len(found)), number(first[0]), number(max(row)) if row else "-",
                     first[2]])
    return header, rows


def noise_lines(run):
    """What the machine did meanwhile, as far as the harness noted it."""
    lines = []
    work = [value for many in run.samples.values() for record in many
            for value in record.get("fixed_work_us", [])]
    if work:
        middle = statistics.median(work)
        lines.append(f"fixed work: {middle:.1f} us, from {min(work) / middle:.3f} to "
                     f"{max(work) / middle:.3f} of it")
        wide = [value for many in run.samples.values() for record in many
                for value in record.get("wide_work_us", [])]
        if wide:
            tenths = statistics.quantiles(wide, n=10) if len(wide) > 1 else wide * 9
            lines.append(f"fixed work of several chains, which a busy sibling of the core slows: "
                         f"{statistics.median(wide):.1f} us, tenths {tenths[0]:.1f} to "
                         f"{tenths[-1]:.1f}")
        steal = [sum(record.get("steal_ms", [])) for many in run.samples.values()
                 for record in many]
        lines.append(f"stolen by other machines: {sum(steal):.0f} ms in all")
    faults = {}
    for many in run.samples.values():
        for record in many:
            for arm, counts in record.get("faults", {}).items():
                faults[arm] = faults.get(arm, 0) + sum(counts)
    if faults:
        lines.append("page faults in timed rounds: "
                     + ", ".join(f"{arm} {count}" for arm, count in faults.items()))
    if run.clocks:
        lines.append("throttled: " + ", ".join(run.clocks))
    return lines


def head_lines(run, table):
    environment = table["environment"]
    lines = [f"VERDICT: {table['verdict']}: {table['why']}",
             f"{environment['device']}, {environment['driver']}",
             f"tier {environment.get('tier')}, {environment.get('date')}, "
             f"{len({entry['case'] for entry in table['entries']})} cases measured of "
             f"{len(run.cases)}" + ("" if table["complete"] else ", NOT COMPLETE")]
    versions = environment.get("versions")
    if versions:
        lines.append(", ".join(f"{name} {version}" for name, version in versions.items()))
    lines += [str(note) for note in environment.get("notes", [])]
    lines += noise_lines(run)
    lines += [f"unfinished, the run was stopped in it: {case}" for case in table["unfinished"]]
    if table["unjudged"]:
        lines.append("no case here of the gates " + ", ".join(table["unjudged"]))
    lines += [f"VOID RUN: a recorded peer was slower here: {case}" for case in table["void"]]
    lines += [f"FAILED RUN: no {peer}: {in_a_line(why)}"
              for peer, why in table["missing_peers"].items()]
    if "planted" in table:
        planted = table["planted"]
        lines.append(f"PLANTED: Croft takes {planted['factor']:.2f} of its time, seen in "
                     f"{planted['detected']} of {planted['cases']} entries")
    controls = [entry for entry in table["entries"] if not entry["control_missing"]]
    steady = sum(not entry["unstable"] for entry in controls)
    lines.append(f"an identical Croft within {gates.STABLE[0]}-{gates.STABLE[1]}: {steady} of "
                 f"{len(controls)} entries")
    return lines


def sections(run, table):
    """(title, header, rows) of everything."""
    yield ("Gates", *gate_rows(table))
    yield ("Geometric means", *mean_rows(table))
    for phase in run.phases():
        yield (f"Phase {phase}, {gates.PHASE_ABOUT[phase]}: other / Croft, median [least-greatest]",
               *case_rows(table, phase))
    yield ("Peers against their record", *check_rows(table))
    yield ("Attempts", *attempt_rows(table))
    yield ("Errors against float64", *error_rows(run))


def as_text(run, table):
    lines = head_lines(run, table)
    for title, header, rows in sections(run, table):
        if not rows:
            continue
        widths = [max(map(len, column)) for column in zip(header, *rows)]
        lines += ["", title, *["  ".join(cell.ljust(width) for cell, width in zip(row, widths))
                               .rstrip() for row in (header, *rows)]]
    return "\n".join(lines) + "\n"


def as_markdown(run, table):
    lines = [f"# Croft beside others: {table['environment']['device']}", ""]
    lines += [f"- {line}" for line in head_lines(run, table)]
    lines += ["", "![bandwidth by bytes moved](roofline.svg)",
              "![ratios of all cases](speedup.svg)"]
    for title, header, rows in sections(run, table):
        if rows:
            lines += ["", f"## {title}", "", "| " + " | ".join(header) + " |",
                      "|" + " --- |" * len(header),
                      *["| " + " | ".join(row) + " |" for row in rows]]
    return "\n".join(lines) + "\n"


# ---- commands ----

def write(folder, out=sys.stdout):
    """Reads FOLDER/raw.jsonl and writes the rest beside it; the status for the shell."""
    folder = pathlib.Path(folder)
    run = Run(read_records(folder / "raw.jsonl"))
    table = table_of(run)
    text = as_text(run, table)
    (folder / "table.txt").write_text(text)
    (folder / "table.md").write_text(as_markdown(run, table))
    (folder / "table.json").write_text(json.dumps(table, indent=1) + "\n")
    (folder / "roofline.svg").write_text(plot.roofline(run.cases, table))
    (folder / "speedup.svg").write_text(plot.speedup(run.cases, table))
    print(text, end="", file=out)
    return 1 if table["verdict"] in ("void", "failed", "planted", "missed") else 0


def merge(folders, out):
    """Writes the records of several runs as one raw file; Refused if they are not alike."""
    records, cases, ends = [], set(), []
    for folder in folders:
        theirs = read_records(pathlib.Path(folder) / "raw.jsonl")
        again = cases & {record["id"] for record in theirs if record["record"] == "case"}
        if again:
            raise Refused(f"{folder}: {sorted(again)[0]} is in two of the runs")
        cases |= {record["id"] for record in theirs if record["record"] == "case"}
        records += theirs
        ends.append(Run(theirs).end or {"complete": False, "elapsed_s": 0})
    Run(records)
    rest = [record for record in records if record["record"] != "end"]
    rest.append({"record": "end", "complete": all(record["complete"] for record in ends),
                 "elapsed_s": sum(record.get("elapsed_s", 0) for record in ends)})
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    (pathlib.Path(out) / "raw.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rest))


def twice(first, second, out=sys.stdout):
    """Compares two runs: verdicts that differ, and cases whose best ratio moved; the status."""
    tables = [table_of(Run(read_records(pathlib.Path(folder) / "raw.jsonl")))
              for folder in (first, second)]
    one, two = [{gate["gate"]: gate["verdict"] for gate in table["gates"]} for table in tables]
    differing = [name for name in {**one, **two} if one.get(name) != two.get(name)]
    for name in differing:
        print(f"{name}: {one.get(name)}, then {two.get(name)}", file=out)
    before, after = [{(entry["phase"], entry["case"]): entry for entry in table["entries"]}
                     for table in tables]
    moved = []
    for key in before:
        if key in after and before[key]["best"] and after[key]["best"]:
            change = after[key]["best"]["median"] / before[key]["best"]["median"]
            if abs(math.log(change)) > math.log(1 + MOVED):
                moved.append(key)
                print(f"{key[0]} {key[1]}: best ratio times {change:.3f}", file=out)
    print(f"{len(one)} verdicts, {len(differing)} differ; {len(before)} entries, {len(moved)} "
          f"moved by more than {MOVED:.0%}", file=out)
    return 1 if differing else 0


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="+", metavar="DIR")
    parser.add_argument("--out", help="of merge")
    options = parser.parse_args(arguments)
    word, *rest = options.words
    try:
        if word == "merge" and rest and options.out:
            merge(rest, options.out)
            return write(options.out)
        if word == "twice" and len(rest) == 2:
            return twice(*rest)
        if rest or options.out:
            parser.error("DIR, or merge DIR... --out DIR, or twice DIR DIR")
        return write(word)
    except (Refused, FileNotFoundError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
