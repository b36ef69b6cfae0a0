#!/usr/bin/env python3
"""Tables, plots and verdicts of a comparison, from its raw samples.

    report.py DIR                   DIR/raw.jsonl -> table.txt, table.md, table.json, roofline.svg
                                    and speedup.svg beside it
    report.py merge DIR... --out D  one raw file of several, if device, driver and sources agree
    report.py twice DIR DIR         whether two runs give the same verdicts, and whose times moved

The ratio of a case against another arm is the median over rounds of other / Croft, in the last
attempt. A case whose second identical Croft lies outside gates.STABLE is marked and stays, with all
of its attempts. Nothing is left out: a slow case, a failed arm, a missing peer are lines as well.
The first line is the verdict of the run: void, failed, planted, missed, incomplete, measured or
met. Ends with 1 when it is one of the first four. reader.py recomputes what is printed here.
"""
import argparse
import json
import math
import pathlib
import sys

if not __package__:  # run as a program
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from compare import figures, gates, pages, plot, raw, verdicts  # noqa: E402
from compare.run import Run  # noqa: E402

MOVED = 0.05  # of a case's best ratio between two runs


def table_of(run):
    """All that is published, as numbers."""
    environment = {key: value for key, value in run.environment.items() if key != "record"}
    entries = figures.entries_of(run)
    planted = environment.get("plant")
    table = {"format": 1, "environment": environment, "entries": entries,
             "means": figures.means_of(run, entries), "gates": verdicts.verdicts(run),
             "missing_peers": verdicts.missing_peers(run), "void": run.void,
             "peer_checks": figures.checks_of(run), "unfinished": run.unfinished(),
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
    table["verdict"], table["why"] = verdicts.run_verdict(run, table)
    return table


def write(folder, out=sys.stdout):
    """Reads FOLDER/raw.jsonl and writes the rest beside it; the status for the shell."""
    folder = pathlib.Path(folder)
    run = Run(raw.read(folder / "raw.jsonl"))
    table = table_of(run)
    text = pages.as_text(run, table)
    for name, words in (("table.txt", text), ("table.md", pages.as_markdown(run, table)),
                        ("table.json", json.dumps(table, indent=1) + "\n"),
                        ("roofline.svg", plot.roofline(run.cases, table)),
                        ("speedup.svg", plot.speedup(run.cases, table))):
        (folder / name).write_text(words, encoding="utf-8")
    print(text, end="", file=out)
    return 1 if table["verdict"] in ("void", "failed", "planted", "missed") else 0


def merge(folders, out):
    """Writes the records of several runs as one raw file; raw.Refused if they are not alike."""
    records, cases, ends = [], set(), []
    for folder in folders:
        theirs = raw.read(pathlib.Path(folder) / "raw.jsonl")
        again = cases & {record["id"] for record in theirs if record["record"] == "case"}
        if again:
            raise raw.Refused(f"{folder}: {sorted(again)[0]} is in two of the runs")
        cases |= {record["id"] for record in theirs if record["record"] == "case"}
        records += theirs
        ends.append(Run(theirs).end or {"complete": False, "elapsed_s": 0})
    Run(records)
    rest = [record for record in records if record["record"] != "end"]
    rest.append({"record": "end", "complete": all(record["complete"] for record in ends),
                 "elapsed_s": sum(record.get("elapsed_s", 0) for record in ends)})
    pathlib.Path(out).mkdir(parents=True, exist_ok=True)
    raw.write_whole(pathlib.Path(out) / "raw.jsonl", rest)


def twice(first, second, out=sys.stdout):
    """Compares two runs: verdicts that differ, and cases whose best ratio moved; the status."""
    tables = [table_of(Run(raw.read(pathlib.Path(folder) / "raw.jsonl")))
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
    alone = sorted(set(before) ^ set(after))
    for phase, case in alone:
        print(f"{phase} {case}: in one of the runs alone", file=out)
    print(f"{len(one)} verdicts, {len(differing)} differ; {len(before)} entries, {len(moved)} "
          f"moved by more than {MOVED:.0%}", file=out)
    return 1 if differing or alone or not before else 0


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
    except (raw.Refused, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
