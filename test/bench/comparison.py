"""What bench/compare makes of raw samples: ratios, verdicts, marks, pages, plots, refusals.

tier: check
builds: none

Raw files are made up here, with ratios that are known: what Croft takes in a round wanders by 30%,
what another arm takes in the same round is a multiple of it. No clock is read and no arm is run.
"""
import io
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPARE = ROOT / "bench" / "compare"
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from compare import command, cpu, gates, plot, raw, regret_cuda, report  # noqa: E402
from compare import reader as comparison_reader  # noqa: E402

SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="comparison-"))
RATIOS = {"control": 1.0, "eager": 1.7, "compiled": 1.55, "onnxruntime": 1.6, "jax": 1.9,
          "croft_c": 0.98, "croft_bound": 0.99, "hand": 0.96, "roof_nt": 0.9, "roof_copy": 0.8,
          "roof_read": 0.95}
failures = 0


def case(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def shape_case(operator, shape, dtype="f32"):
    rows, width = map(int, shape.split("x"))
    size = rows * width * (4 if dtype == "f32" else 2)
    written = 4 * rows if operator in ("sum", "cross_entropy") else size
    return {"record": "case", "id": f"{operator}/{dtype}/{shape}", "operator": operator,
            "dtype": dtype, "rows": rows, "width": width, "read": size, "write": written,
            "footprint": size + written, "judged": "hot", "stratum": "base"}


def samples(about, ratios, seed=1, rounds=9, phase="wall", attempt=1, scale=1.0):
    """Arms whose samples are the given multiples of Croft's, round by round."""
    numbers = random.Random(f"{seed} {about['id']}")
    base = [scale * about["footprint"] / 2e4 * numbers.uniform(1.0, 1.3) for _ in range(rounds)]
    arms = {"croft": base}
    for arm, factor in ratios.items():
        arms[arm] = [time * factor * numbers.uniform(0.999, 1.001) for time in base]
    return {"record": "samples", "case": about["id"], "phase": phase, "attempt": attempt,
            "order": "ABBA", "launches": 10, "unit": "us", "arms": arms}


def environment(**more):
    return {"record": "environment", "format": 1, "device": "cpu made up", "device_kind": "cpu",
            "driver": "1.0", "sources": {"a": "0" * 64}, "tier": "gates", "seed": 1,
            "date": "today", **more}


def base_records(change=None, **more):
    """24 base cases; change(case, ratios) may alter the ratios of a case."""
    records = [environment(**more)]
    for operator in gates.OPERATORS:
        for shape in gates.COHORTS["base"]:
            about = shape_case(operator, shape)
            ratios = dict(RATIOS)
            if change:
                change(about, ratios)
            records += [about, samples(about, ratios)]
    return [*records, {"record": "end", "complete": True, "elapsed_s": 1.0}]


def folder_of(records):
    folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
    (folder / "raw.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def written(records):
    """The folder with all that report.py writes, the table, and the status."""
    folder = folder_of(records)
    status = report.write(folder, io.StringIO())
    return folder, json.loads((folder / "table.json").read_text()), status


def verdict_of(table, gate):
    return next(found["verdict"] for found in table["gates"] if found["gate"] == gate)


def read(folder):
    done = subprocess.run([sys.executable, str(COMPARE / "reader.py"), str(folder)],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def verdicts():
    _, table, status = written(base_records())
    case("known_ratios_meet_their_gates", status == 0
         and verdict_of(table, "kernel-bound") == verdict_of(table, "call-bound") == "met",
         [gate["verdict"] for gate in table["gates"]])
    entry = table["entries"][0]
    near = all(abs(entry["ratios"][arm]["median"] / factor - 1) < 0.001
               for arm, factor in RATIOS.items())
    case("medians_are_of_paired_rounds", near and entry["best"]["peer"] == "compiled",
         entry["ratios"])

    def one_slow(about, ratios):
        if about["id"] == "softmax/f32/64x4096":
            ratios["jax"] = 0.97
    folder, table, status = written(base_records(one_slow))
    gate = next(found for found in table["gates"] if found["gate"] == "kernel-bound")
    case("one_slow_case_misses_its_gate", status == 1 and gate["verdict"] == "MISSED"
         and gate["least_case"] == "softmax/f32/64x4096", gate)
    case("a_slow_case_is_in_the_pages", all(
        any("softmax/f32/64x4096" in line and "slower" in line
            for line in (folder / name).read_text().splitlines())
        for name in ("table.txt", "table.md")))

    fewer = [record for record in base_records() if not (
        "sum/f32/17x257" in (record.get("id"), record.get("case")))]
    case("a_gate_with_too_few_cases_is_incomplete",
         verdict_of(written(fewer)[1], "call-bound") == "incomplete")


def missing():
    def no_jax(about, ratios):
        del ratios["jax"]
    _, table, status = written(base_records(no_jax))
    case("a_missing_peer_fails_the_run", status == 1 and "jax" in table["missing_peers"]
         and verdict_of(table, "kernel-bound") == "MISSED", table["missing_peers"])
    records = base_records()
    about = next(record for record in records if record["record"] == "case")
    failed = {"record": "arm", "case": about["id"], "arm": "eager", "status": "failed",
              "why": "no such operator"}
    _, table, status = written([*records[:-1], failed, records[-1]])
    case("a_failed_arm_is_told", status == 1 and table["entries"][0]["failed"] == {
        "eager": "no such operator"} and "eager" in table["missing_peers"])
    void = {"record": "peer_check", "limit": 0.15, "cases": [], "void": ["sum/f32/16384x4096"]}
    folder, table, status = written([*records[:-1], void, records[-1]])
    case("a_void_run_is_told", status == 1 and "VOID RUN" in (folder / "table.md").read_text())
    about = shape_case("sum", "5x5")
    _, table, _ = written([*records[:-1], about, records[-1]])
    case("a_case_without_samples_is_told", table["unmeasured"] == [about["id"]])


def stability():
    records = base_records()
    index = next(i for i, record in enumerate(records) if record["record"] == "samples")
    about = records[index - 1]
    moved = [samples(about, dict(RATIOS, control=factor), seed=factor, attempt=attempt)
             for attempt, factor in ((1, 1.03), (2, 1.04), (3, 0.97))]
    folder, table, _ = written([*records[:index], *moved, *records[index + 1:]])
    entry = table["entries"][0]
    case("a_wandering_control_marks_the_case", entry["unstable"] and len(entry["attempts"]) == 3
         and sum(other["unstable"] for other in table["entries"]) == 1)
    shown = [line for line in (folder / "table.md").read_text().splitlines() if about["id"] in line]
    case("all_attempts_are_in_the_page", sum("UNSTABLE (3 attempts)" in line for line in shown) == 1
         and len([line for line in shown if "eager=" in line]) == 3, shown)
    case("a_marked_case_stays_in_its_gates", all(
        about["id"] in gate["cases"] for gate in table["gates"] if gate["gate"] == "call-bound"))
    settled = [moved[0], samples(about, RATIOS, attempt=2)]
    _, table, _ = written([*records[:index], *settled, *records[index + 1:]])
    case("the_last_attempt_counts", not table["entries"][0]["unstable"]
         and len(table["entries"][0]["attempts"]) == 2)
    status, output = read(folder)
    case("reader_agrees_on_unstable_cases", status == 0, output)


def slowdown():
    """Croft 10% slower in one case, the others as they were."""
    def slower(about, ratios):
        if about["id"] == "layernorm/f32/128x1024":
            for arm in ratios:
                ratios[arm] /= 1.10
            ratios["control"] = 1.0
    before, after = folder_of(base_records()), folder_of(base_records(slower))
    told = io.StringIO()
    report.twice(before, after, told)
    lines = told.getvalue().splitlines()
    case("a_slowdown_of_a_tenth_is_told", "wall layernorm/f32/128x1024: best ratio times 0.909"
         in lines and " 1 moved" in lines[-1], told.getvalue())
    told = io.StringIO()
    case("the_same_run_twice_has_no_difference", report.twice(before, before, told) == 0
         and " 0 differ" in told.getvalue() and " 0 moved" in told.getvalue(), told.getvalue())

    def close(about, ratios):
        if about["id"] == "layernorm/f32/128x1024":
            ratios["jax"] = 1.05

    def close_and_slower(about, ratios):
        close(about, ratios)
        slower(about, ratios)
    told = io.StringIO()
    case("verdicts_that_differ_are_a_failure",
         report.twice(folder_of(base_records(close)), folder_of(base_records(close_and_slower)),
                      told) == 1 and "kernel-bound: met, then MISSED" in told.getvalue(),
         told.getvalue())

    def planted(about, ratios):
        for arm in ratios:
            ratios[arm] /= 1.10
    _, table, _ = written(base_records(planted, plant=1.10))
    case("a_planted_slowdown_is_counted", table["planted"] == {
        "factor": 1.10, "cases": 24, "detected": 24}, table.get("planted"))
    _, table, _ = written(base_records(plant=1.10))
    case("a_slowdown_that_was_not_there_is_not_counted", table["planted"]["detected"] == 0)


def reader():
    folder, table, _ = written(base_records())
    status, output = read(folder)
    case("reader_agrees", status == 0 and " 0 differ" in output, output)

    def changed(name, text):
        copy = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)) / "copy"
        shutil.copytree(folder, copy)
        (copy / name).write_text(text)
        return read(copy)

    def changed_table(change):
        copy = json.loads(json.dumps(table))
        change(copy)
        return changed("table.json", json.dumps(copy))

    tampered = {
        "a_ratio": lambda t: t["entries"][3]["ratios"]["jax"].update(median=1.901),
        "a_least": lambda t: t["entries"][3]["ratios"]["jax"].update(least=1.7),
        "a_best": lambda t: t["entries"][5]["best"].update(median=1.6),
        "a_mean": lambda t: t["means"][0].update(mean=t["means"][0]["mean"] * 1.001),
        "cases_of_a_mean": lambda t: t["means"][0]["cases"].pop(),
        "a_gate": lambda t: t["gates"][0].update(mean=9.9),
        "a_verdict": lambda t: t["gates"][0].update(verdict="MISSED"),
        "a_case_left_out": lambda t: t["entries"].pop(7),
        "an_attempt_left_out": lambda t: t["entries"][2]["attempts"].pop(),
        "an_arm_left_out": lambda t: t["entries"][2]["ratios"].pop("eager"),
        "a_mark": lambda t: t["entries"][2].update(unstable=True),
        "a_rate": lambda t: t["entries"][2].update(gb_per_s=1e4),
    }
    for name, change in tampered.items():
        status, output = changed_table(change)
        case(f"reader_refuses/{name}", status == 1, output)
    for page in ("table.md", "table.txt"):
        text = (folder / page).read_text()
        lines = text.splitlines()
        row = next(i for i, line in enumerate(lines) if "rmsnorm/f32/64x4096" in line
                   and "compiled 1.5" in line)
        status, output = changed(page, "\n".join([*lines[:row], *lines[row + 1:]]) + "\n")
        case(f"reader_refuses/a_row_left_out_of_{page}", status == 1, output)
        shown = lines[row].replace(" 1.5", " 1.4", 1)
        status, output = changed(page, "\n".join([*lines[:row], shown, *lines[row + 1:]]) + "\n")
        case(f"reader_refuses/a_cell_of_{page}", status == 1 and shown != lines[row], output)


class Edited(comparison_reader.Reader):
    """A reader of files of which some are replaced."""

    def __init__(self, folder, **texts):
        self.texts = texts
        super().__init__(folder)

    def text_of(self, name):
        return self.texts.get(name.replace(".", "_")) or super().text_of(name)

    def notices(self):
        try:
            self.read()
        except (LookupError, TypeError, ValueError, AttributeError):
            return True
        return bool(self.wrong)


def places_of(value, path=(), kind=()):
    """(kind of place, path) of every number, word, list and object of a table."""
    yield kind, path
    for name, one in (value.items() if isinstance(value, dict) else
                      enumerate(value) if isinstance(value, list) else ()):
        own = "*" if isinstance(value, list) or name in RATIOS else name
        yield from places_of(one, (*path, name), (*kind, own))


def edit(table, path):
    """The table with another value at this place."""
    copy = json.loads(json.dumps(table))
    place = copy
    for name in path[:-1]:
        place = place[name]
    before = place[path[-1]]
    if isinstance(before, (dict, list)):
        place[path[-1]] = type(before)(list(before.items())[1:]) if before and isinstance(
            before, dict) else before[1:] if before else ["x"] if isinstance(before, list) else {
                "x": 1}
    else:
        place[path[-1]] = not before if isinstance(before, bool) else before * 1.01 + 1e-6 \
            if isinstance(before, float) else before + 1 if isinstance(before, int) else 1.5 \
            if before is None else before + "x"
    return json.dumps(copy)


def edits():
    """Whatever is changed in what is published is noticed: a place of each kind in table.json,
    every line of the pages, every mark of the plots."""
    records = base_records()
    index = next(i for i, one in enumerate(records) if one["record"] == "samples")
    about = records[index - 1]
    records[index:index + 1] = [samples(about, dict(RATIOS, control=1.1), attempt=1),
                                samples(about, RATIOS, attempt=2)]
    records[-1:-1] = [{"record": "arm", "case": about["id"], "arm": arm, "status": "ok",
                       "error_ulp": 3.0, "error_row_ulp": 2.0} for arm in ("croft", "eager")]
    folder, table, _ = written(records)
    case("nothing_is_noticed_before", not Edited(folder).notices(), Edited(folder).wrong)
    kinds = {}
    for kind, path in places_of(table):
        kinds.setdefault(kind, []).append(path)
    choose = random.Random(5)
    missed = [path for kind, paths in kinds.items() if kind for path in [choose.choice(paths)]
              if not Edited(folder, table_json=edit(table, path)).notices()]
    case("every_kind_of_number", not missed and len(kinds) > 70, missed)
    for name in ("table.txt", "table.md", "roofline.svg", "speedup.svg"):
        lines, missed, seen = (folder / name).read_text().split("\n"), [], 0
        for number, line in enumerate(lines):
            is_mark = "<title>" in line and ": " in line
            if name.endswith(".svg") and not is_mark or not re.search(r"\d", line) \
                    or line.startswith("!["):
                continue
            seen += 1
            places = [found.start() for found in re.finditer(r"\d", line)]
            at = choose.choice(places) if not is_mark else \
                line.index(choose.choice(['cy="', "<title>"])) + 4
            other = line[:at] + ("7" if line[at] != "7" else "3") + line[at + 1:]
            for new in ([other], []):
                text = "\n".join([*lines[:number], *new, *lines[number + 1:]])
                if not Edited(folder, **{name.replace(".", "_"): text}).notices():
                    missed.append((line, new))
        case(f"every_line_of_{name}", not missed and seen > 20, missed[:3])


def merging():
    records = base_records()
    first = [record for record in records if "softmax" not in str(record.get("id"))
             and "softmax" not in str(record.get("case"))]
    second = [records[0], *[record for record in records if record not in first], records[-1]]
    out = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)) / "merged"
    report.merge([folder_of(first), folder_of(second)], out)
    report.write(out, io.StringIO())
    table = json.loads((out / "table.json").read_text())
    case("runs_alike_are_merged", len(table["entries"]) == 24 and table["complete"]
         and verdict_of(table, "call-bound") == "met" and read(out)[0] == 0)
    for word, other in (("driver", "2.0"), ("device", "cpu of another"), ("sources", {"a": "1"})):
        try:
            report.merge([folder_of(first), folder_of([dict(second[0], **{word: other}),
                                                       *second[1:]])], out)
            case(f"another_{word}_is_refused", False, "merged")
        except raw.Refused as refused:
            case(f"another_{word}_is_refused", word in str(refused), refused)
    try:
        report.merge([folder_of(first), folder_of(first)], out)
        case("a_case_of_two_runs_is_refused", False, "merged")
    except raw.Refused as refused:
        case("a_case_of_two_runs_is_refused", "in two" in str(refused), refused)


def pairs():
    """Gates that set cases against other cases."""
    records = [environment(llc_bytes=1 << 20)]
    for dtype, scale in (("f32", 1.0), ("bf16", 0.8)):
        about = shape_case("rmsnorm", "1024x4096", dtype)
        records += [about, samples(about, RATIOS, scale=scale)]
    _, table, _ = written(records)
    gate = next(found for found in table["gates"] if found["gate"] == "bf16-over-f32")
    # half the bytes at 0.8 of the time for each: about 2.5, and Croft's times wander
    case("halves_are_set_against_f32", 2.0 < gate["mean"] < 3.2 and gate["verdict"] == "met", gate)
    records = [dict(environment(), device_kind="cuda", device="made up GPU")]
    for width in (4095, 4096):
        about = shape_case("sum", f"16384x{width}")
        records += [about, samples(about, RATIOS, phase="device",
                                   scale=1.5 if width == 4095 else 1.0)]
    folder, table, _ = written(records)
    case("ragged_widths_are_set_against_rounded", verdict_of(table, "ragged-f32") == "MISSED"
         and read(folder)[0] == 0, table["gates"])


def halves():
    """A peer that cannot do a type is told, and the best of the others counts; of f32 all do."""
    for dtype, wanted in (("bf16", "compiled"), ("f32", None)):
        about = shape_case("rmsnorm", "17x257", dtype)
        ratios = {arm: factor for arm, factor in RATIOS.items() if arm != "onnxruntime"}
        failed = {"record": "arm", "case": about["id"], "arm": "onnxruntime", "status": "failed",
                  "why": "not implemented"}
        folder, table, _ = written([environment(), about, failed, samples(about, ratios)])
        best = table["entries"][0]["best"]
        case(f"the_best_of_those_that_can/{dtype}", (best and best["peer"]) == wanted
             and table["entries"][0]["failed"] == {"onnxruntime": "not implemented"}
             and read(folder)[0] == 0, read(folder)[1])


def strata():
    """The counts that the gates name are those of the cohorts."""
    counts = {}
    for gate in gates.GATES:
        cases = [shape_case(operator, shape, dtype) for operator in gates.OPERATORS
                 for dtype in ("f32", "bf16", "f16") for names in gates.COHORTS.values()
                 for shape in names]
        unique = {about["id"]: about for about in cases}.values()
        counts[gate["name"]] = (gate.get("count"), sum(
            gates.belongs(about, gate["where"], {"tier": "gates", "llc_bytes": 0})
            for about in unique))
    wrong = {name: pair for name, pair in counts.items()
             if pair[0] is not None and pair[0] != pair[1]
             and name not in ("random", "transposes")}  # which have cases of their own
    case("gates_count_their_cases", not wrong, wrong)


def transpose_records(ratios, batches=("1024", "16384"), **more):
    """The tier of transposes on a made-up GPU."""
    records = [dict(environment(), device_kind="cuda", device="made up GPU", tier="transposes",
                    **more)]
    for dtype in ("f16", "f32"):
        for shape in [f"{count}x{size}" for count in batches for size in (32, 64, 128, 256)]:
            about = shape_case("transpose", shape, dtype)
            records += [about, {"record": "arm", "case": about["id"], "arm": "contiguous",
                                "status": "ok", "why": None, "peer": True}]
            records += [samples(about, ratios, phase=phase) for phase in ("device", "device_cold")]
            records.append({"record": "finished", "case": about["id"]})
    return [*records, {"record": "end", "complete": True, "elapsed_s": 1.0}]


def long_reasons():
    """What a peer says of its failure has lines of its own."""
    records = base_records(lambda about, ratios: ratios.pop("jax"))
    about = next(record for record in records if record["record"] == "case")
    failed = {"record": "arm", "case": about["id"], "arm": "jax", "status": "failed",
              "why": "RuntimeError: no driver\n\n  | set FLAG\n"}
    folder, _, _ = written([*records[:-1], failed, records[-1]])
    case("reasons_of_many_lines", read(folder)[0] == 0
         and "no jax: RuntimeError: no driver / set FLAG\n" in (folder / "table.txt").read_text(),
         read(folder)[1])


def transposes():
    ratios = {"control": 1.0, "eager": 1.3, "contiguous": 1.2, "compiled": 1.4, "roof": 0.8}
    folder, table, status = written(transpose_records(ratios))
    gate = next(found for found in table["gates"] if found["gate"] == "transposes")
    case("transposes_are_set_against_the_faster_form", gate["verdict"] == "met" and status == 0
         and len(gate["cases"]) == 8 and abs(gate["mean"] - 1.2) < 0.01, gate)
    case("a_case_has_further_peers", {entry["best"]["peer"] for entry in table["entries"]}
         == {"contiguous"} and any(mean["against"] == "contiguous" for mean in table["means"]))
    page = (folder / "table.md").read_text()
    case("cold_buffers_have_a_table_of_their_own", page.count("## Phase device_cold, ") == 1
         and page.count("## Phase device, ") == 1)
    case("gates_without_a_case_are_told", "no case here of the gates eager-device" in page
         and table["verdict"] == "met", table["verdict"])
    case("reader_agrees_on_transposes", read(folder)[0] == 0, read(folder)[1])
    _, table, status = written(transpose_records({**ratios, "contiguous": 1.05}))
    case("transposes_that_are_too_slow_miss", table["verdict"] == "missed" and status == 1)
    records = transpose_records(ratios)
    failed = dict(next(record for record in records if record["record"] == "arm"),
                  arm="croft", status="failed", why="an output differs in its bits", peer=None)
    _, table, status = written([*records[:-1], failed, records[-1]])
    case("croft_failing_fails_the_run", table["verdict"] == "failed" and status == 1)


def kernels_of_others():
    """A kernel file that somebody gave: no gate is about it, though its name be that of one of
    ours; a form that its peer names is drawn; without a peer none is missing."""
    about = dict(shape_case("softmax", "16384x4096"), file="mine.croft")
    head = dict(environment(), device_kind="cuda", device="made up GPU", tier="quick")
    end = [{"record": "finished", "case": about["id"]},
           {"record": "end", "complete": True, "elapsed_s": 1.0}]
    form = {"record": "arm", "case": about["id"], "arm": "by_parts", "status": "ok", "why": None,
            "peer": True}
    ratios = {"control": 1.0, "eager": 1.3, "compiled": 0.9, "by_parts": 1.2, "roof": 0.8}
    folder, table, status = written([head, about, form, samples(about, ratios, phase="device"),
                                     *end])
    case("a_kernel_of_others_is_measured", table["verdict"] == "measured" and status == 0
         and "no case here" not in (folder / "table.txt").read_text() and read(folder)[0] == 0,
         (table["verdict"], read(folder)[1]))
    case("its_further_forms_are_drawn", "by_parts: 1.2" in (folder / "speedup.svg").read_text())
    table["verdict"] = "met"
    (folder / "table.json").write_text(json.dumps(table))
    case("reader_refuses/met_without_gates", read(folder)[0] == 1)
    folder, table, status = written([dict(head, peers=[]), about, samples(
        about, {"control": 1.0, "roof": 0.8}, phase="device"), *end])
    case("without_a_peer_none_is_missing", table["verdict"] == "measured" and status == 0
         and not table["missing_peers"] and read(folder)[0] == 0, (table, read(folder)[1]))
    path = ROOT / "bench" / "compare.py"
    done = subprocess.run([sys.executable, str(path), "--device", "cpu", "mine.croft", "--out",
                           str(SCRATCH)], capture_output=True, text=True, check=False)
    case("a_cpu_has_none_yet", done.returncode == 2 and "on a GPU alone" in done.stderr,
         done.stderr)


def void_runs():
    ratios = {"control": 1.0, "eager": 1.3, "contiguous": 1.2, "compiled": 1.4, "roof": 0.8}
    records = transpose_records(ratios)
    arms = {"roof": [0.8, 0.9, 0.7], "compiled": [1.0, 1.0, 1.0]}
    for slower, void in ((0.10, []), (0.20, ["softmax/f32/16384x4096"]),
                         (None, ["softmax/f32/16384x4096"])):
        check = {"record": "peer_check", "limit": 0.15, "void": void, "cases": [
            {"case": "softmax/f32/16384x4096", "slower": slower, "why": None,
             "arms": arms if slower else None}]}
        folder, table, status = written([records[0], check, *records[1:]])
        first = [(folder / name).read_text().split("VERDICT: ")[1] for name in
                 ("table.txt", "table.md")]
        case(f"a_peer_slower_by_{slower}", status == bool(void) and all(
            text.startswith("void: " if void else "met: ") for text in first), first[0][:200])
        case(f"the_first_line_is_the_verdict_{slower}",
             (folder / "table.txt").read_text().startswith("VERDICT: "))
        case(f"reader_agrees_on_checked_peers_{slower}", read(folder)[0] == 0, read(folder)[1])
        if not void:
            continue
        for name, change in (("verdict", lambda t: t.update(verdict="met")),
                             ("void", lambda t: t.update(void=[])),
                             ("check", lambda t: t["peer_checks"].clear())):
            copy = json.loads((folder / "table.json").read_text())
            change(copy)
            (folder / "changed").mkdir(exist_ok=True)
            for page in ("raw.jsonl", "table.md", "table.txt"):
                shutil.copy(folder / page, folder / "changed" / page)
            (folder / "changed" / "table.json").write_text(json.dumps(copy))
            case(f"reader_refuses/{name}_of_a_void_run_{slower}",
                 read(folder / "changed")[0] == 1)


def stopped_runs():
    """What a run leaves that was killed while it wrote."""
    ratios = {"control": 1.0, "eager": 1.3, "contiguous": 1.2, "compiled": 1.4, "roof": 0.8}
    records = transpose_records(ratios)
    last = max(i for i, record in enumerate(records) if record["record"] == "finished")
    folder, table, _ = written([*records[:last], *records[last + 1:]])
    case("an_unfinished_case_is_told", table["unfinished"] == [records[last]["case"]]
         and table["verdict"] == "incomplete" and read(folder)[0] == 0, table["verdict"])
    folder = folder_of(records[:-1])
    with open(folder / "raw.jsonl", "a", encoding="utf-8") as file:
        file.write('{"record": "sam')
    report.write(folder, io.StringIO())
    table = json.loads((folder / "table.json").read_text())
    case("a_line_without_an_end_is_left_out", table["verdict"] == "incomplete"
         and len(table["entries"]) == 32 and read(folder)[0] == 0, table["verdict"])


def merged_tiers():
    """Cases keep the tier that they were measured in."""
    ratios = {"control": 1.0, "eager": 1.3, "contiguous": 1.2, "compiled": 1.4, "roof": 0.8}
    other = [dict(environment(), device_kind="cuda", device="made up GPU", tier="gates")]
    about = shape_case("sum", "1x127")
    other += [about, samples(about, ratios, phase="device"),
              {"record": "finished", "case": about["id"]},
              {"record": "end", "complete": True, "elapsed_s": 1.0}]
    out = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH)) / "merged"
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "compare.py"), "--merge", str(folder_of(other)),
         str(folder_of(transpose_records(ratios))), "--out", str(out)],
        capture_output=True, text=True, check=False)
    table = json.loads((out / "table.json").read_text())
    case("merged_runs_keep_their_tiers", verdict_of(table, "transposes") == "met"
         and verdict_of(table, "compiled") == "incomplete" and read(out)[0] == 0,
         done.stdout + done.stderr)
    try:
        report.merge([folder_of(other), folder_of(transpose_records(ratios, plant=1.1))], out)
        case("a_planted_run_is_not_merged", False, "merged")
    except raw.Refused as refused:
        case("a_planted_run_is_not_merged", "plant" in str(refused), refused)


def published():
    """Every comparison that is kept has the figures that its samples give."""
    kept = sorted(path.parent for path in (ROOT / "bench/results").glob("*/raw.jsonl.gz"))
    for folder in kept:
        done = subprocess.run([sys.executable, ROOT / "bench/compare/reader.py", folder],
                              stdout=subprocess.PIPE, text=True, check=False)
        case(f"published_{folder.name}", done.returncode == 0 and " 0 differ" in done.stdout,
             done.stdout[-500:])
    case("something_is_published", len(kept) > 0, kept)


def commands_of_the_page():
    """Those that read or merge run; those that measure are read by their parsers."""
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    folder, another = folder_of(base_records()), folder_of(base_records())
    scratch = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
    lines = [line.split("#")[0].split() for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
             for line in block.splitlines()]
    run = []
    for words in lines:
        name = " ".join(words)
        if "--device" in words:
            parse = cpu.parser().parse_args if "cpu" in words else \
                regret_cuda.parse if words[0] == "bench/regret.py" else command.parse
            options = parse(words[1:])
            goes_to = options.prepare if "--prepare" in words else options.out
            case(f"page/{name}", goes_to == "DIR", name)
            continue
        places = {"DIR": str(folder), "ANOTHER": str(another)}
        if "--merge" in words:  # the same cases twice are refused
            records = base_records()
            first = [one for one in records if "/sum/" not in f"/{one.get('case', one.get('id'))}"]
            places = {"DIR": str(folder_of(first)), "ANOTHER": str(folder_of(
                [records[0], *[one for one in records if one not in first], records[-1]]))}
        words = [places.get(word, word) for word in words]
        if "--out" in words:
            words[words.index("--out") + 1] = str(scratch / "merged")
        done = subprocess.run([sys.executable, str(ROOT / words[0]), *words[1:]],
                              capture_output=True, text=True, check=False)
        run.append(name)
        case(f"page/{name}", done.returncode == 0, done.stdout[-500:] + done.stderr[-500:])
    case("page/has_commands", len(run) == 5 and len(lines) > 10, run)
    found = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    done = subprocess.run([sys.executable, "-c", found.replace("DIR", str(folder))],
                          capture_output=True, text=True, check=False)
    table = json.loads((folder / "table.json").read_text())
    own = [f"wall {entry['case']} {arm}: {figure['median']:.3f} of 9 rounds"
           for entry in table["entries"] for arm, figure in sorted(entry["ratios"].items())
           if arm != "control"]
    case("page/by_hand", done.stdout.splitlines() == [*own, "control: 24 of 24"],
         done.stdout[-500:] + done.stderr)


def plots():
    folder, table, _ = written(base_records())
    for name, marks in (("roofline.svg", 48), ("speedup.svg", 96)):
        root = xml.etree.ElementTree.fromstring((folder / name).read_text())
        titles = [element for element in root.iter() if element.tag.endswith("title")]
        texts = [element for element in root.iter() if element.tag.endswith("text")]
        numbers = [float(element.get(word)) for element in root.iter()
                   for word in ("cx", "cy") if element.get(word)]
        width, height = float(root.get("width")), float(root.get("height"))
        case(f"{name}_is_well_formed", len(titles) >= marks and len(texts) > 8 and all(
            0 <= number <= max(width, height) for number in numbers), len(titles))
    about = shape_case("softmax", "17x257")
    folder, _, _ = written([environment(device="cpu Intel(R) Xeon(R) Processor, 2 of 2 processors"),
                            about, samples(about, RATIOS)])
    for name in ("roofline.svg", "speedup.svg"):
        root = xml.etree.ElementTree.fromstring((folder / name).read_text())
        texts = [one for one in root.iter() if one.tag.endswith("text")]
        # half an em for a letter, on average
        ends = [float(one.get("x")) + len(one.text) * float(one.get("font-size")) / 2
                for one in texts if one.get("text-anchor") == "start"]
        case(f"titles_of_a_small_{name}_fit", max(ends) <= float(root.get("width")), ends)
        case(f"a_single_case_of_{name}_has_ticks", name == "speedup.svg"
             or any(one.text.endswith("KB") for one in texts), [one.text for one in texts])
    nothing = {"entries": [], "environment": table["environment"]}
    xml.etree.ElementTree.fromstring(plot.roofline({}, nothing))
    xml.etree.ElementTree.fromstring(plot.speedup({}, nothing))


for part in (verdicts, missing, stability, slowdown, reader, edits, merging, pairs, halves, strata,
             long_reasons, transposes, kernels_of_others, void_runs, stopped_runs, merged_tiers,
             commands_of_the_page, plots, published):
    part()
sys.exit(1 if failures else 0)
