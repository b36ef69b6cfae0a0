#!/usr/bin/env python3
"""An independent reader of a comparison: recomputes every published figure from the raw samples.

    reader.py DIR       DIR/raw.jsonl against DIR/table.json, DIR/table.md and DIR/table.txt, each
                        of which may be packed (.gz)

It shares no code with what measured or with report.py, on purpose: the median is sorted here, the
means are products here. Ends with 1, and names the figures, when a published one differs, when one
is published that the samples do not give, or when a case of the samples is not published.
"""
import gzip
import json
import os
import re
import sys

NEAR = 1e-9  # relative, of table.json
CONTROL_LOW, CONTROL_HIGH = 0.98, 1.02


def middle(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


class Reader:
    def __init__(self, folder):
        self.folder, self.wrong, self.checked = folder, [], 0
        self.attempts = {}  # (case, phase) -> list of arms
        self.further, self.checks, self.finished = {}, [], set()
        self.cases, self.unable = {}, set()  # (case of halves, arm that cannot do it)
        with self.opened("raw.jsonl") as file:
            for line in file:
                if not line.endswith("\n"):
                    break  # not written to its end
                record = json.loads(line)
                if record["record"] == "samples":
                    key = record["case"], record["phase"]
                    self.attempts.setdefault(key, []).append(record["arms"])
                elif record["record"] == "case":
                    self.cases[record["id"]] = record
                elif record["record"] == "peer_check":
                    self.checks += [(one, record["limit"]) for one in record["cases"]]
                elif record["record"] == "finished":
                    self.finished.add(record["case"])
                if record["record"] == "arm" and record.get("peer"):
                    self.further.setdefault(record["case"], []).append(record["arm"])
                if record["record"] == "arm" and record["status"] != "ok":
                    if self.cases[record["case"]]["dtype"] != "f32":
                        self.unable.add((record["case"], record["arm"]))

    def opened(self, name):
        """The file, or NAME.gz as it is kept in bench/results."""
        path = os.path.join(self.folder, name)
        if os.path.exists(path + ".gz"):
            return gzip.open(path + ".gz", "rt", encoding="utf-8")
        return open(path, encoding="utf-8")

    def text_of(self, name):
        with self.opened(name) as file:
            return file.read()

    def same(self, where, published, own):
        """Notes a difference of numbers; None is the absence of one."""
        self.checked += 1
        if published is None or own is None:
            good = published is None and own is None
        else:
            good = abs(published - own) <= NEAR * abs(own)
        if not good:
            self.wrong.append(f"{where}: published {published}, samples give {own}")

    def same_text(self, where, published, own):
        self.checked += 1
        if published != own:
            self.wrong.append(f"{where}: published `{published}`, samples give `{own}`")

    # ---- own figures ----

    def triple(self, key, own, other, attempt=-1):
        """(median, least, greatest) of other / own over the rounds, or None."""
        arms = self.attempts[key][attempt]
        if not arms.get(own) or not arms.get(other):
            return None
        quotients = []
        for index in range(min(len(arms[own]), len(arms[other]))):
            quotients.append(arms[other][index] / arms[own][index])
        return middle(quotients), min(quotients), max(quotients)

    def others(self, key, attempt=-1):
        arms = self.attempts[key][attempt]
        return [name for name in arms if name != "croft" and arms[name] and arms.get("croft")]

    def unstable(self, key):
        control = self.triple(key, "croft", "control")
        return control is not None and not CONTROL_LOW <= control[0] <= CONTROL_HIGH

    def all_peers(self, name, peers):
        """Those of every run and what the case's own arms say."""
        return [*peers, *(arm for arm in self.further.get(name, []) if arm not in peers)]

    def least_of(self, key, own, names):
        found = [self.triple(key, own, name) for name in names
                 if (key[0], name) not in self.unable]
        return None if not found or None in found else min(one[0] for one in found)

    def mean(self, values):
        """By halves, so that no product leaves the range."""
        if len(values) == 1:
            return values[0]
        cut = len(values) // 2
        left, right = values[:cut], values[cut:]
        return (self.mean(left) ** (len(left) / len(values))
                * self.mean(right) ** (len(right) / len(values)))

    # ---- table.json ----

    def figures(self, where, published, key, attempt=-1):
        names = self.others(key, attempt)
        self.same_text(f"{where} arms", sorted(published), sorted(names))
        for name in set(names) & set(published):
            own = self.triple(key, "croft", name, attempt)
            for index, word in enumerate(("median", "least", "greatest")):
                self.same(f"{where} {name} {word}", published[name][word], own[index])

    def entry(self, entry, peers):
        key = entry["case"], entry["phase"]
        where = f"{key[1]} {key[0]}"
        if key not in self.attempts:
            self.wrong.append(f"{where}: published without samples")
            return
        arms = self.attempts[key][-1]
        self.figures(where, entry["ratios"], key)
        self.same(f"{where} attempts", len(entry["attempts"]), len(self.attempts[key]))
        for index, ratios in enumerate(entry["attempts"][:len(self.attempts[key])]):
            self.figures(f"{where} attempt {index + 1}", ratios, key, index)
        for name, values in arms.items():
            if values:
                self.same(f"{where} us of {name}", entry["us"].get(name), middle(values))
        case = self.cases[key[0]]
        time = middle(arms["croft"]) if arms.get("croft") else None
        self.same(f"{where} GB/s", entry["gb_per_s"],
                  time and (case["read"] + case["write"]) / (time * 1000))
        self.same_text(f"{where} unstable", entry["unstable"], self.unstable(key))
        best = self.least_of(key, "croft", self.all_peers(key[0], peers))
        self.same(f"{where} best", entry["best"] and entry["best"]["median"], best)

    def ratio_for(self, key, arm, against, peers):
        """The ratio that a mean or gate takes of a case."""
        if against in ("f32", "rounded"):
            case = self.cases[key[0]]
            width = -(-case["width"] // 8) * 8 if against == "rounded" else case["width"]
            dtype = "f32" if against == "f32" else case["dtype"]
            for name, other in self.cases.items():
                if (other.get("operator") == case.get("operator") and other["rows"] == case["rows"]
                        and other["width"] == width and other["dtype"] == dtype):
                    return (middle(self.attempts[name, key[1]][-1][arm])
                            / middle(self.attempts[key][-1][arm]))
            return None
        return self.least_of(key, arm, self.all_peers(key[0], peers) if against == "best"
                             else against.split(" or "))

    def group(self, where, group, arm, peers, every):
        """A mean and a least over the named cases; `every`: all of them have to have a ratio."""
        values = [self.ratio_for((case, group["phase"]), arm, group["against"], peers)
                  for case in group["cases"]]
        if every and None in values:
            self.wrong.append(f"{where}: a case without a ratio is counted")
        values = [value for value in values if value is not None]
        self.same(f"{where} mean", group["mean"], self.mean(values) if values else None)
        self.same(f"{where} least", group["least"], min(values) if values else None)
        return values

    def verdict(self, gate):
        """What the published bounds make of the published numbers."""
        mean, least = gate["wanted_mean"], gate["wanted_least"]
        if mean is None and least is None:
            return "reported"
        if gate["missing"] or (least is not None and gate["least"] < least):
            return "MISSED"
        if gate["count"] is not None and len(gate["cases"]) < gate["count"]:
            return "incomplete"
        return "MISSED" if mean is not None and gate["mean"] < mean else "met"

    def table(self, table, peers):
        published = {(entry["case"], entry["phase"]) for entry in table["entries"]}
        for key in set(self.attempts) - published:
            self.wrong.append(f"{key[1]} {key[0]}: measured, not published")
        for name in self.cases:
            if not any(key[0] == name for key in published) and name not in table["unmeasured"]:
                self.wrong.append(f"{name}: neither published nor told as unmeasured")
        for entry in table["entries"]:
            self.entry(entry, peers)
        for mean in table["means"]:
            where = f"mean {mean['phase']} {mean['group']} {mean['against']}"
            members = [case for case, phase in self.attempts if phase == mean["phase"]
                       and self.in_group(case, mean["group"])]
            self.same_text(f"{where} cases", sorted(mean["cases"]), sorted(members))
            values = self.group(where, mean, "croft", peers, every=False)
            self.same(f"{where} count", mean["count"], len(values))
        for gate in table["gates"]:
            self.group(f"gate {gate['gate']}", gate, gate["arm"], peers, every=True)
            self.same_text(f"gate {gate['gate']} verdict", gate["verdict"], self.verdict(gate))

    def run_verdict(self, table):
        """The checked peers, and what can be said of the run without the bounds of gates."""
        void = []
        for one, limit in self.checks:
            arms = one.get("arms") or {}
            shares = [roof / peer for roof, peer in zip(arms.get("roof", []),
                                                        arms.get("compiled", []))]
            bad = one["slower"] is None or one["slower"] > limit
            void += [one["case"]] if bad else []
            where = f"peer check {one['case']}"
            shown = [row for row in table["peer_checks"] if row["case"] == one["case"]]
            self.same(f"{where} published", len(shown), 1)
            for row in shown:
                self.same(f"{where} share", row["roof_over_peer"],
                          middle(shares) if shares else None)
                self.same(f"{where} slower", row["slower"], one["slower"])
                self.same_text(f"{where} void", row["void"], bad)
        self.same_text("void cases", table["void"], void)
        self.same_text("verdict of a void run", table["verdict"] == "void", bool(void))
        stopped = [name for name in self.cases if self.finished and name not in self.finished]
        self.same_text("unfinished cases", table["unfinished"], stopped)
        if table["verdict"] == "met":
            bad = [gate["gate"] for gate in table["gates"]
                   if self.verdict(gate) not in ("met", "reported")]
            self.same_text("gates of a run whose verdict is met", bad, [])
        if table["verdict"] in ("met", "measured"):
            judged = any(self.verdict(gate) != "reported" for gate in table["gates"])
            self.same_text("verdict by whether there are gates", table["verdict"] == "met", judged)

    def in_group(self, name, group):
        case = self.cases[name]
        subject, dtype = group.rsplit("/", 1)
        own = case.get("operator") or case.get("file")
        return case["dtype"] == dtype and subject in ("all", own)

    # ---- what people read ----

    def cell(self, where, header, text, key, peers):
        """One cell of a table of cases."""
        arms = self.attempts[key][-1]
        if header == "best":
            best = self.least_of(key, "croft", self.all_peers(key[0], peers))
            shown = text.split()[-1] if best is not None else text
            self.same_text(f"{where} best", shown, "-" if best is None else f"{best:.3f}")
        elif header == "croft us":
            own = middle(arms["croft"]) if arms.get("croft") else None
            self.same_text(f"{where} us", text, "-" if own is None else
                           f"{own:.3g}" if own < 100 else f"{own:.0f}")
        elif header == "marks":
            said = "UNSTABLE" in text or "planted" in text
            self.same_text(f"{where} marked unstable", said, self.unstable(key))
            best = self.least_of(key, "croft", self.all_peers(key[0], peers))
            self.same_text(f"{where} marked slower", "slower" in text,
                           best is not None and best < 1)
        elif header not in ("case", "GB/s"):
            own = self.triple(key, "croft", header)
            self.same_text(f"{where} {header}", text, "-" if own is None else
                           f"{own[0]:.3f} [{own[1]:.3f}-{own[2]:.3f}]")

    def page(self, name, tables, table, peers):
        """The tables of cases, means and gates in a page that people read."""
        self.same_text(f"{name} verdict", f"VERDICT: {table['verdict']}: " in self.text_of(name),
                       True)
        seen, phase = set(), None
        for title, header, rows in tables:
            found = re.match(r"Phase (\w+)\b", title)
            if found:
                phase = found.group(1)
                for row in rows:
                    key = row[0], phase
                    seen.add(key)
                    if key not in self.attempts:
                        self.wrong.append(f"{name} {phase} {row[0]}: no samples")
                        continue
                    for column, text in zip(header, row):
                        self.cell(f"{name} {phase} {row[0]}", column, text, key, peers)
            elif title == "Geometric means":
                self.rows_agree(name, rows, [
                    [mean["group"], mean["phase"], mean["against"], str(mean["count"]),
                     "%.3f" % mean["mean"], "%.3f" % mean["least"]] for mean in table["means"]])
            elif title == "Gates":
                own = [[gate["gate"], gate["phase"], *("-" if gate[word] is None else
                        "%.3f" % gate[word] for word in ("mean", "wanted_mean", "least",
                                                         "wanted_least")), gate["verdict"]]
                       for gate in table["gates"]]
                self.rows_agree(name, [[row[0], row[2], *row[4:8], row[9].split(" ")[0]]
                                       for row in rows], own)
        for key in set(self.attempts) - seen:
            self.wrong.append(f"{name}: {key[1]} {key[0]} is not in it")

    def rows_agree(self, name, shown, own):
        """Rows of a page against those of table.json, which the samples were held against."""
        self.same_text(f"{name} rows", len(shown), len(own))
        for row, expected in zip(shown, own):
            self.same_text(f"{name} {row[0]}", row, expected)


def markdown_tables(text):
    """(title, header, rows) of each table below a heading."""
    title, header, rows = "", None, []
    for line in [*text.split("\n"), "## "]:
        if line.startswith("## "):
            if header:
                yield title, header, rows
            title, header, rows = line[3:], None, []
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if header is None:
                header = cells
            elif not set(line) <= set("|- "):
                rows.append(cells)


def text_tables(text):
    """(title, header, rows) of each part after an empty line; columns stand two blanks apart."""
    for part in text.rstrip("\n").split("\n\n")[1:]:
        title, header, *rows = part.split("\n")
        yield (title, re.split(r"\s{2,}", header.strip()),
               [re.split(r"\s{2,}", row.strip()) for row in rows])


def main(arguments):
    if len(arguments) != 1:
        print("reader.py DIR", file=sys.stderr)
        return 2
    reader = Reader(arguments[0])
    table = json.loads(reader.text_of("table.json"))
    kind = table["environment"]["device_kind"]
    peers = table["environment"].get("peers", {
        "cuda": ["eager", "compiled"], "cpu": ["eager", "compiled", "onnxruntime", "jax"]}[kind])
    reader.table(table, peers)
    reader.run_verdict(table)
    reader.page("table.md", markdown_tables(reader.text_of("table.md")), table, peers)
    reader.page("table.txt", text_tables(reader.text_of("table.txt")), table, peers)
    for line in reader.wrong:
        print(line)
    print(f"{reader.checked} figures read, {len(reader.wrong)} differ")
    return 1 if reader.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
