#!/usr/bin/env python3
"""An independent reader of a comparison: recomputes every published figure from the raw samples.

    reader.py DIR       DIR/raw.jsonl against DIR/table.json, DIR/table.md, DIR/table.txt and the
                        two plots, each of which may be packed (.gz)

It shares no code with what measured or with report.py, on purpose: the median is sorted here, the
means are products here; all it takes from there is the list of gates (gates.py), which is data. It
makes every number, word and cell that is to be published and holds what is published against that,
so that nothing is published which it has not read. Ends with 1, and names them, when some differ.
"""
import gzip
import html
import json
import math
import os
import re
import runpy
import sys

NEAR = 1e-9  # relative, of table.json
CONTROL_LOW, CONTROL_HIGH = 0.98, 1.02
PEERS = {"cuda": ["eager", "compiled"], "cpu": ["eager", "compiled", "onnxruntime", "jax"]}
GATES = runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "gates.py"))


def middle(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def mean_of(values):
    """By halves, so that no product leaves the range."""
    if len(values) == 1:
        return values[0]
    cut = len(values) // 2
    return (mean_of(values[:cut]) ** (cut / len(values))
            * mean_of(values[cut:]) ** ((len(values) - cut) / len(values)))


def triple(arms, own, other):
    """Median, least and greatest of other / own over the rounds, or None."""
    if not arms.get(own) or not arms.get(other):
        return None
    if len(arms[own]) != len(arms[other]):
        raise ValueError(f"{own} and {other} have different numbers of rounds")
    quotients = [arms[other][index] / arms[own][index] for index in range(len(arms[own]))]
    return {"median": middle(quotients), "least": min(quotients), "greatest": max(quotients)}


def figures(arms):
    found = {name: triple(arms, "croft", name) for name in arms if name != "croft"}
    return {name: three for name, three in found.items() if three}


def is_unstable(ratios):
    return "control" in ratios and not CONTROL_LOW <= ratios["control"]["median"] <= CONTROL_HIGH


class Samples:
    """The raw file, as it is."""

    def __init__(self, lines):
        self.environment, self.cases, self.attempts, self.arms = None, {}, {}, {}
        self.tiers, self.further, self.checks, self.finished = {}, {}, [], set()
        self.throttled, self.end, tier = {}, None, None
        for line in lines:
            if not line.endswith("\n"):
                break  # not written to its end
            record = json.loads(line)
            kind, case = record["record"], record.get("case")
            if kind == "environment":
                tier, self.environment = record.get("tier"), self.environment or record
            elif kind == "case":
                self.cases[record["id"]], self.tiers[record["id"]] = record, tier
            elif kind == "samples":
                self.attempts.setdefault((case, record["phase"]), []).append(record)
            elif kind == "arm":
                self.arms[case, record["arm"]] = record
            elif kind == "peer_check":
                self.checks += [(one, record["limit"], record["void"]) for one in record["cases"]]
                self.checks += [({"case": name}, None, record["void"]) for name in record["void"]
                                if name not in [one["case"] for one in record["cases"]]]
            elif kind == "finished":
                self.finished.add(case)
            elif kind == "clock" and record.get("throttle"):
                self.throttled[case] = True
            elif kind == "end":
                self.end = record
        device = self.environment["device"].lower()
        self.kind = self.environment.get("device_kind")
        if self.kind not in PEERS:
            self.kind = "cpu" if device.startswith("cpu") else "cuda"
        self.expected = self.environment.get("peers", PEERS[self.kind])
        for (case, arm), record in self.arms.items():
            if record.get("peer") and arm not in self.expected:
                self.further.setdefault(case, []).append(arm)

    def last(self, case, phase):
        return self.attempts[case, phase][-1]["arms"]

    def every(self):
        return [record for many in self.attempts.values() for record in many]

    def phases(self):
        return [phase for phase in GATES["PHASES"][self.kind]
                if any(key[1] == phase for key in self.attempts)]

    def peers(self, case):
        """Those of every run and what the case's own arms say; of halves those that can."""
        names = self.expected + self.further.get(case, [])
        if self.cases[case]["dtype"] == "f32":
            return names
        return [name for name in names
                if (case, name) not in self.arms or self.arms[case, name]["status"] == "ok"]


# ---- table.json ----

def entry_of(samples, case, phase):
    many = samples.attempts[case, phase]
    arms, about = many[-1]["arms"], samples.cases[case]
    entry = {"case": case, "phase": phase, "ratios": figures(arms),
             "attempts": [figures(one["arms"]) for one in many],
             "us": {name: middle(times) for name, times in arms.items() if times}}
    own, best = entry["us"].get("croft"), None
    names = samples.peers(case)
    if names and all(name in entry["ratios"] for name in names):
        for name in names:
            if best is None or entry["ratios"][name]["median"] < best["median"]:
                best = {"peer": name, **entry["ratios"][name]}
    entry.update(gb_per_s=(about["read"] + about["write"]) / (own * 1000) if own else None,
                 best=best, unstable=is_unstable(entry["ratios"]),
                 clock_moved=bool(many[-1].get("clock_moved")),
                 control_missing="control" not in entry["ratios"],
                 failed={arm: record.get("why", "") for (of, arm), record in samples.arms.items()
                         if of == case and record["status"] != "ok"})
    return entry


def means_of(samples, entries):
    groups = {}
    for entry in entries:
        about = samples.cases[entry["case"]]
        for subject in (about.get("operator") or about.get("file"), "all"):
            group = f"{subject}/{about['dtype']}"
            groups.setdefault((entry["phase"], group), []).append(entry)
    others = sorted({arm for arms in samples.further.values() for arm in arms})
    found = []
    for (phase, group), members in groups.items():
        for against in samples.expected + others + ["best"]:
            values = [(one["best"] or {}) if against == "best" else one["ratios"].get(against, {})
                      for one in members]
            values = [value["median"] for value in values if value]
            if values:
                found.append({"group": group, "phase": phase, "against": against,
                              "cases": [one["case"] for one in members], "count": len(values),
                              "mean": mean_of(values), "least": min(values)})
    return found


def belongs(samples, case, where):
    """Whether a gate is about a case, by what the gate says."""
    about = samples.cases[case]
    if about.get("file") and "tiers" not in where:
        return False  # a kernel that somebody gave
    size = about["rows"] * about["width"]
    beyond = samples.environment.get("llc_bytes", 0)
    beyond = 0 < beyond < about["footprint"] * (1 if about["dtype"] == "f32" else 2)
    shape = f"{about['rows']}x{about['width']}"
    for word, value in where.items():
        if word in ("footprint", "elements"):
            number = about["footprint"] if word == "footprint" else size
            good = value[0] <= number and (value[1] is None or number < value[1])
        else:
            good = {"operators": lambda: about.get("operator") in value,
                    "dtypes": lambda: about["dtype"] in value,
                    "rows": lambda: about["rows"] in value,
                    "tiers": lambda: samples.tiers[case] in value,
                    "cohort": lambda: any(shape in GATES["COHORTS"][name] for name in value),
                    "beyond_cache": lambda: beyond == value,
                    "not_these": lambda: not belongs(samples, case, value)}[word]()
        if not good:
            return False
    return True


def gate_ratio(samples, gate, case):
    """The ratio that a gate takes of a case, or why there is none."""
    key, arm, against = (case, gate["phase"]), gate["arm"], gate["against"]
    if key not in samples.attempts:
        return "not measured"
    arms, about = samples.last(*key), samples.cases[case]
    if not arms.get(arm):
        return "Croft failed"
    if against in ("f32", "rounded"):
        width = -(-about["width"] // 8) * 8 if against == "rounded" else about["width"]
        dtype = "f32" if against == "f32" else about["dtype"]
        for name, other in samples.cases.items():
            if (other.get("operator") == about.get("operator") and other["rows"] == about["rows"]
                    and other["width"] == width and other["dtype"] == dtype):
                theirs = samples.last(name, key[1]).get(arm) \
                    if (name, key[1]) in samples.attempts else None
                return middle(theirs) / middle(arms[arm]) if theirs else "nothing to set it against"
        return "nothing to set it against"
    names = samples.peers(case) if against == "best" else against.split(" or ")
    for name in names:
        if not arms.get(name):
            return f"no {name}"
    return min(triple(arms, arm, name)["median"] for name in names)


def gate_of(samples, gate):
    cases = [case for case in samples.cases if belongs(samples, case, gate["where"])]
    if not cases:
        return None
    ratios = {case: gate_ratio(samples, gate, case) for case in cases}
    found = {case: ratio for case, ratio in ratios.items() if not isinstance(ratio, str)}
    lowest = min(found, key=found.get) if found else None
    own = {"gate": gate["name"], "about": gate["about"], "arm": gate["arm"],
           "against": gate["against"], "phase": gate["phase"], "cases": list(found),
           "missing": {case: why for case, why in ratios.items() if isinstance(why, str)},
           "count": gate.get("count"), "wanted_mean": gate.get("mean"),
           "wanted_least": gate.get("least"), "least_case": lowest,
           "mean": mean_of(list(found.values())) if found else None,
           "least": found[lowest] if found else None,
           "unstable": [case for case in found
                        if is_unstable(figures(samples.last(case, gate["phase"])))]}
    mean, least = own["wanted_mean"], own["wanted_least"]
    if mean is None and least is None:
        verdict = "reported"
    elif own["missing"] or (least is not None and own["least"] < least):
        verdict = "MISSED"
    elif own["count"] is not None and len(found) < own["count"]:
        verdict = "incomplete"
    else:
        verdict = "MISSED" if mean is not None and own["mean"] < mean else "met"
    return {**own, "verdict": verdict}


def missing_peers(samples):
    missing = {}
    for peer in samples.expected:
        failed = [record for (_, arm), record in samples.arms.items()
                  if arm == peer and record["status"] != "ok"]
        counted = [record for record in failed if samples.cases[record["case"]]["dtype"] == "f32"]
        if not any(record["arms"].get(peer) for record in samples.every()):
            missing[peer] = failed[0].get("why", "") if failed else "it was not run"
        elif counted:
            missing[peer] = f"{counted[0]['case']}: {counted[0].get('why', '')}"
    return missing


def checks_of(samples):
    """The peers that were held against their record; and the cases that void the run."""
    found, void = [], []
    for one, limit, named in samples.checks:
        if limit is None:
            void.append(one["case"])
            continue
        arms = one.get("arms") or {}
        shares = [roof / peer for roof, peer in zip(arms.get("roof", []),
                                                    arms.get("compiled", []))]
        bad = one["slower"] is None or one["slower"] > limit
        if bad or one["case"] in named:
            void.append(one["case"])
        found.append({"case": one["case"], "slower": one["slower"], "limit": limit,
                      "roof_over_peer": middle(shares) if shares else None, "void": bad,
                      "why": one.get("why")})
    return found, void


def verdict_of(samples, table):
    broken = list(dict.fromkeys(case for (case, arm), record in samples.arms.items()
                                if arm in ("croft", "control") and record["status"] != "ok"))
    judged = [gate for gate in table["gates"] if gate["verdict"] != "reported"]
    missed, short = ([gate["gate"] for gate in judged if gate["verdict"] == word]
                     for word in ("MISSED", "incomplete"))
    if table["void"]:
        return "void", "the peer is slower here than it was recorded: " + ", ".join(table["void"])
    if table["missing_peers"]:
        return "failed", "no " + ", ".join(table["missing_peers"])
    if broken:
        return "failed", "Croft fails in " + ", ".join(broken)
    if "planted" in table:
        return "planted", "Croft was made slower, to show that it is seen"
    if missed:
        return "missed", f"{len(missed)} of {len(judged)} gates: " + ", ".join(missed)
    if short or not table["complete"]:
        return "incomplete", ", ".join(short) or "cases are left"
    return ("met", f"{len(judged)} gates") if judged else \
        ("measured", "no gate is about these cases")


def table_of(samples):
    """What has to be in table.json."""
    environment = {**samples.environment, "device_kind": samples.kind}
    del environment["record"]
    entries = [entry_of(samples, case, phase) for phase in samples.phases()
               for case in samples.cases if (case, phase) in samples.attempts]
    own = [gate for gate in GATES["GATES"] if gate["device"] == samples.kind]
    judged = {gate["name"]: gate_of(samples, gate) for gate in own}
    checks, void = checks_of(samples)
    unfinished = [case for case in samples.cases
                  if samples.finished and case not in samples.finished]
    table = {"format": 1, "environment": environment, "entries": entries,
             "means": means_of(samples, entries), "gates": [one for one in judged.values() if one],
             "missing_peers": missing_peers(samples), "void": void, "peer_checks": checks,
             "unfinished": unfinished,
             "complete": bool(samples.end and samples.end["complete"] and not unfinished),
             "unjudged": [name for name, gate in judged.items() if gate is None],
             "unmeasured": [case for case in samples.cases
                            if case not in {key[0] for key in samples.attempts}]}
    if environment.get("plant"):
        factor, controls = environment["plant"], [
            entry["ratios"]["control"]["median"] for entry in entries
            if not entry["control_missing"]]
        table["planted"] = {"factor": factor, "cases": len(controls), "detected": sum(
            value < (1 + 1 / factor) / 2 for value in controls)}
    table["verdict"], table["why"] = verdict_of(samples, table)
    return table


# ---- what people read ----

def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def three(value):
    return "-" if value is None else f"{value:.3f}"


def span(ratio):
    return "-" if not ratio else \
        f"{ratio['median']:.3f} [{ratio['least']:.3f}-{ratio['greatest']:.3f}]"


def short(text):
    return " ".join(text.replace("|", "/").split())[:200]


def case_rows(table, phase):
    entries = [entry for entry in table["entries"] if entry["phase"] == phase]
    arms = list(dict.fromkeys(arm for entry in entries for arm in entry["ratios"]
                              if arm != "control"))
    yield ["case", "croft us", "GB/s", *arms, "best", "control", "marks"]
    for entry in entries:
        own, best = entry["us"].get("croft"), entry["best"]
        marks = []
        if entry["unstable"]:
            marks.append("planted" if table["environment"].get("plant") else
                         f"UNSTABLE ({len(entry['attempts'])} attempts)")
        marks += ["CLOCK MOVED"] * entry["clock_moved"] + ["no control"] * entry["control_missing"]
        marks += ["slower"] if best and best["median"] < 1 else []
        marks += [f"{arm} failed" for arm in entry["failed"]]
        yield [entry["case"], *([number(own), number(entry["gb_per_s"])] if own else ["-", "-"]),
               *(span(entry["ratios"].get(arm)) for arm in arms),
               f"{best['peer']} {best['median']:.3f}" if best else "-",
               span(entry["ratios"].get("control")), ", ".join(marks) or "-"]


def gate_rows(table):
    yield ["gate", "about", "phase", "cases", "mean", "wanted mean", "least", "wanted least",
           "least case", "verdict"]
    for gate in table["gates"]:
        notes = [gate["verdict"]] + ["(void run)"] * bool(table["void"])
        notes += [f"({word}: {len(gate[word])})" for word in ("missing", "unstable") if gate[word]]
        yield [gate["gate"], gate["about"], gate["phase"],
               f"{len(gate['cases'])} of {gate['count'] or len(gate['cases'])}",
               three(gate["mean"]), three(gate["wanted_mean"]), three(gate["least"]),
               three(gate["wanted_least"]), gate["least_case"] or "-", " ".join(notes)]


def mean_rows(table):
    yield ["group", "phase", "against", "cases", "mean", "least"]
    for mean in table["means"]:
        yield [mean["group"], mean["phase"], mean["against"], str(mean["count"]),
               three(mean["mean"]), three(mean["least"])]


def check_rows(table):
    yield ["case", "roof / compiled", "slower than recorded", "limit", "verdict", "why"]
    for one in table["peer_checks"]:
        slower = one["slower"]
        yield [one["case"], three(one["roof_over_peer"]),
               "-" if slower is None else f"{slower:+.1%}", f"{one['limit']:.0%}",
               "VOID" if one["void"] else "as recorded", short(one["why"] or "-")]


def attempt_rows(table):
    yield ["case", "phase", "attempt", "control", "ratios"]
    for entry in table["entries"]:
        many = entry["attempts"] if len(entry["attempts"]) > 1 else []
        for index, ratios in enumerate(many, 1):
            yield [entry["case"], entry["phase"], str(index), span(ratios.get("control")),
                   " ".join(f"{arm}={ratio['median']:.3f}" for arm, ratio in ratios.items()
                            if arm not in ("croft", "control"))]


def error_rows(samples):
    yield ["arm", "cases", "largest error, ulp of the result", "of the row's largest", "case"]
    errors = {}
    for (case, arm), record in samples.arms.items():
        if record.get("error_ulp") is not None:
            errors.setdefault(arm, []).append((case, record))
    for arm, many in errors.items():
        worst = many[0]
        for one in many:
            worst = one if one[1]["error_ulp"] > worst[1]["error_ulp"] else worst
        of_row = [one["error_row_ulp"] for _, one in many if one.get("error_row_ulp") is not None]
        yield [arm, str(len(many)), number(worst[1]["error_ulp"]),
               number(max(of_row)) if of_row else "-", worst[0]]


def tables_of(samples, table):
    """(title, header and rows) of every table of a page."""
    found = [("Gates", gate_rows(table)), ("Geometric means", mean_rows(table))]
    found += [(f"Phase {phase}, {GATES['PHASE_ABOUT'][phase]}: other / Croft, median "
               "[least-greatest]", case_rows(table, phase)) for phase in samples.phases()]
    found += [("Peers against their record", check_rows(table)), ("Attempts", attempt_rows(table)),
              ("Errors against float64", error_rows(samples))]
    found = [(title, list(rows)) for title, rows in found]
    return [(title, rows) for title, rows in found if len(rows) > 1]


def noise_of(samples):
    every, lines = samples.every(), []
    work, wide = ([value for record in every for value in record.get(word, [])]
                  for word in ("fixed_work_us", "wide_work_us"))
    if work:
        usual = middle(work)
        lines.append(f"fixed work: {usual:.1f} us, from {min(work) / usual:.3f} to "
                     f"{max(work) / usual:.3f} of it")
        if wide:
            lines.append("fixed work of several chains, which a busy sibling of the core slows: "
                         f"{middle(wide):.1f} us, tenths {tenth(wide, 1):.1f} to "
                         f"{tenth(wide, 9):.1f}")
        stolen = sum(sum(record.get("steal_ms", [])) for record in every)
        lines.append(f"stolen by other machines: {stolen:.0f} ms in all")
    faults = {}
    for record in every:
        for arm, counts in record.get("faults", {}).items():
            faults[arm] = faults.get(arm, 0) + sum(counts)
    if faults:
        lines.append("page faults in timed rounds: "
                     + ", ".join(f"{arm} {count}" for arm, count in faults.items()))
    if samples.throttled:
        lines.append("throttled: " + ", ".join(samples.throttled))
    return lines


def tenth(values, which):
    """Between the two values around the place which / 10 of n + 1."""
    if len(values) == 1:
        return values[0]
    ordered, place = sorted(values), which * (len(values) + 1) / 10
    below = min(max(int(place), 1), len(values) - 1)
    return ordered[below - 1] + (ordered[below] - ordered[below - 1]) * (place - below)


def head_of(samples, table):
    environment, entries = table["environment"], table["entries"]
    lines = [f"VERDICT: {table['verdict']}: {table['why']}",
             f"{environment['device']}, {environment['driver']}",
             f"tier {environment.get('tier')}, {environment.get('date')}, "
             f"{len({entry['case'] for entry in entries})} cases measured of {len(samples.cases)}"
             + ("" if table["complete"] else ", NOT COMPLETE")]
    if environment.get("versions"):
        lines.append(", ".join(f"{name} {version}" for name, version
                               in environment["versions"].items()))
    lines += [*map(str, environment.get("notes", [])), *noise_of(samples)]
    lines += [f"unfinished, the run was stopped in it: {case}" for case in table["unfinished"]]
    if table["unjudged"] and table["verdict"] != "measured":
        lines.append("no case here of the gates " + ", ".join(table["unjudged"]))
    lines += [f"VOID RUN: a recorded peer was slower here: {case}" for case in table["void"]]
    lines += [f"FAILED RUN: no {peer}: {short(why)}"
              for peer, why in table["missing_peers"].items()]
    if "planted" in table:
        planted = table["planted"]
        lines.append(f"PLANTED: Croft takes {planted['factor']:.2f} of its time, seen in "
                     f"{planted['detected']} of {planted['cases']} entries")
    controls = [entry for entry in entries if not entry["control_missing"]]
    steady = [entry for entry in controls if not entry["unstable"]]
    return lines + [f"an identical Croft within {CONTROL_LOW}-{CONTROL_HIGH}: {len(steady)} of "
                    f"{len(controls)} entries"]


def text_page(text):
    """The head and the tables; columns stand two blanks apart."""
    head, *parts = text.rstrip("\n").split("\n\n")
    tables = []
    for part in parts:
        title, *rows = part.split("\n")
        tables.append((title, [re.split(r"\s{2,}", row.strip()) for row in rows]))
    return head.split("\n"), tables


def markdown_page(text):
    head, tables = [], []
    for line in text.split("\n"):
        if line.startswith("## "):
            tables.append((line[3:], []))
        elif line.startswith("- ") and not tables:
            head.append(line[2:])
        elif line.startswith("|") and tables and not set(line) <= set("|- "):
            tables[-1][1].append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif line and not line.startswith(("|", "# ", "![")):
            head.append(f"a line that is none of these: {line}")
    return head, tables


# ---- plots ----

def marks_of(samples, table, name):
    """What the marks of a plot say -> (number of its height, number of its place or None)."""
    entries = table["entries"]
    entries = [entry for entry in entries if entry["phase"] == entries[0]["phase"]]
    marks = {}
    for entry in entries:
        about, best = samples.cases[entry["case"]], entry["best"]
        moved, own = about["read"] + about["write"], entry["us"].get("croft")
        if name == "roofline.svg":
            times = {"Croft": own, **({best["peer"]: entry["us"][best["peer"]]} if best else {})}
            for who, time in times.items() if own else ():
                rate = moved / (time * 1000)
                marks[f"{entry['case']} {who}: {rate:.1f} GB/s"] = rate, moved
            continue
        for peer in entry["ratios"]:
            if re.match("croft|roof|control$|hand$", peer):
                continue
            value = entry["ratios"][peer]["median"]
            note = " (unstable)" if entry["unstable"] else ""
            marks[f"{entry['case']} {peer}: {value:.3f}{note}"] = value, None
    return marks


LABEL = re.compile(r'<text x="[\d.]+" y="([\d.]+)" text-anchor="end"[^>]*>([\d.]+)</text>')
CIRCLE = re.compile(r'<circle cx="([\d.]+)" cy="([\d.]+)"[^>]*><title>([^<]*)</title>')


def off_line(points):
    """Names of (name, number, coordinate) that do not lie on one line over the logarithm."""
    points = sorted(points, key=lambda point: point[1])
    if len(points) < 2 or points[0][1] == points[-1][1]:
        return []
    low, high = math.log(points[0][1]), math.log(points[-1][1])
    slope = (points[-1][2] - points[0][2]) / (high - low)
    return [name for name, value, at in points
            if abs(points[0][2] + slope * (math.log(value) - low) - at) > 0.3]


# ---- holding one against the other ----

class Reader:
    def __init__(self, folder):
        self.folder, self.wrong, self.checked = folder, [], 0
        self.samples = Samples(self.text_of("raw.jsonl").splitlines(keepends=True))

    def text_of(self, name):
        """The file, or NAME.gz as it is kept in bench/results."""
        path = os.path.join(self.folder, name)
        if os.path.exists(path) and os.path.exists(path + ".gz"):
            self.wrong.append(f"{name} is there twice: as it is, and packed")
        if os.path.exists(path + ".gz"):
            with gzip.open(path + ".gz", "rt", encoding="utf-8", newline="") as file:
                return file.read()
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()

    def same(self, where, published, own):
        """Notes every difference; numbers of the samples are equal but for rounding."""
        if isinstance(own, dict) and isinstance(published, dict):
            for name in {**own, **published}:
                if name in own and name in published:
                    self.same(f"{where} {name}", published[name], own[name])
                else:
                    self.wrong.append(f"{where} {name}: " + (
                        "not published" if name in own else "published, not in the samples"))
        elif isinstance(own, list) and isinstance(published, list):
            self.same(f"{where} count", len(published), len(own))
            for index, (one, other) in enumerate(zip(published, own)):
                self.same(f"{where} {name_of(other, index)}", one, other)
        else:
            self.checked += 1
            near = isinstance(own, float) and isinstance(published, (int, float)) and \
                abs(published - own) <= NEAR * abs(own)
            if not near and (published != own or isinstance(own, bool) != isinstance(
                    published, bool)):
                self.wrong.append(f"{where}: published `{published}`, samples give `{own}`")

    def read(self):
        own = table_of(self.samples)
        self.same("table.json", json.loads(self.text_of("table.json")), own)
        head = head_of(self.samples, own)
        tables = [[title, rows] for title, rows in tables_of(self.samples, own)]
        title = f"# Croft beside others: {own['environment']['device']}"
        for name, page in (("table.txt", text_page), ("table.md", markdown_page)):
            text = self.text_of(name)
            found, shown = page(text)
            self.same(f"{name} head", found, head)
            self.same(name, [list(one) for one in shown], tables)
            if name == "table.md":
                self.same(f"{name} title", text.split("\n")[0], title)
        for name in ("roofline.svg", "speedup.svg"):
            self.plot(name, own)

    def plot(self, name, table):
        """Every mark says its number, stands at its height by the labels, and none is left out."""
        wanted = marks_of(self.samples, table, name) if table["entries"] else {}
        text = self.text_of(name)
        found = [(html.unescape(words), float(x), float(y))
                 for x, y, words in CIRCLE.findall(text) if ": " in words]
        labels = [(f"the label {words}", float(words), float(y) - 4)
                  for y, words in LABEL.findall(text)]
        self.same(f"{name} marks", sorted(words for words, _, _ in found), sorted(wanted))
        found = [one for one in found if one[0] in wanted]
        for axis in (1, 0):
            points = [(words, wanted[words][1 - axis], (x, y)[axis]) for words, x, y in found
                      if wanted[words][1 - axis] is not None]
            points += labels if axis == 1 and points else []
            self.checked += len(points)
            self.wrong += [f"{name}: not where its number is: {words}"
                           for words in off_line(points)]


def name_of(item, index):
    words = [str(item[word]) for word in ("gate", "group", "case", "phase", "against")
             if isinstance(item, dict) and word in item]
    return " ".join(words) or (str(item[0]) if isinstance(item, list) and item else str(index))


def main(arguments):
    if len(arguments) != 1:
        print("reader.py DIR", file=sys.stderr)
        return 2
    try:
        reader = Reader(arguments[0])
        reader.read()
    except (ArithmeticError, AttributeError, LookupError, OSError, TypeError, ValueError) as error:
        print(f"{arguments[0]} cannot be read: {type(error).__name__}: {error}")
        return 1
    for line in reader.wrong:
        print(line)
    print(f"{reader.checked} figures read, {len(reader.wrong)} differ")
    return 1 if reader.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
