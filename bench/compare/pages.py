"""The pages of a comparison: its numbers as a text and as Markdown.

Both have the same head and the same tables; reader.py reads their cells again. Nothing is left out:
a slow case, a failed arm, a missing peer are lines as well.
"""
import statistics

from . import gates
from .verdicts import NOT_PEERS


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
    if table["unjudged"] and table["verdict"] != "measured":
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
