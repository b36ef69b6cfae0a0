"""The analytic and service models against test/data/planner_golden.json: scores, choices, slots.

tier: check
builds: release gcc-asan

The file's facts are fed to the models as given: every row domain has as many elements as the row is
wide, every scalar domain one; a cached input is one more row domain and one more kept tile. The
planner of the file tries S subgroups of 32 on a row, and packs Q = 1..8 programs a group for S = 1;
what keeps more than 64 values is refused before it is priced, and of equal scores the least S wins.

The service model's bytes are not in the file. Read here as: the row once with a cached input, twice
without (each operator has two sweeps that read it, since what they make is kept); its weights once
(RMSNorm one, LayerNorm two); the output once; all in four bytes. The busiest worker moves its
slots' share of all those. Private bytes are 0: their coefficient is.
"""
import json
import os
import pathlib
import subprocess

import command
from command import case

BUILD = pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build"))
GOLDEN = json.loads((command.ROOT / "test/data/planner_golden.json").read_text(encoding="utf-8"))
DOMAINS = GOLDEN["domains"]
WEIGHTS = {"softmax": 0, "rmsnorm": 1, "layernorm": 2}
BUDGET = 64
SUBGROUP = 32
ALL_WIDTHS = range(1, 33)


def ask(lines):
    """One answer for each line."""
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([BUILD / "test/cost_estimate"], input=text, capture_output=True,
                          text=True, timeout=60, check=False)
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(lines):
        raise SystemExit(f"cost_estimate: status {done.returncode}: {done.stderr}")
    return answers


def slots_of(width, widths, vector):
    """S -> values that a worker keeps of a row."""
    answers = ask([f"slots {width} {SUBGROUP * s} {vector}" for s in widths])
    return dict(zip(widths, map(int, answers)))


def candidates(programs, widths):
    """(S, Q) in the order in which of equal ones the first wins."""
    return [(s, q) for s in sorted(widths)
            for q in (range(1, min(programs, 8) + 1) if s == 1 else [1])]


def facts(op, row, s, q, cached):
    """The golden file's facts as fields of cost_facts."""
    counts = DOMAINS[op]
    domains = [f"{row['width']}x{counts['row_domains'] + cached}"]
    if counts["scalar_domains"]:
        domains.append(f"1x{counts['scalar_domains']}")
    fields = {"programs": row["rows"], "reductions": counts["reductions"], "subgroup": SUBGROUP,
              "workers": SUBGROUP * s, "vector": row["v"], "packed": q}
    return [f"domain={domain}" for domain in domains] + [f"{k}={v}" for k, v in fields.items()]


def within_budget(op, slots, cached):
    return (DOMAINS[op]["tiles"] + cached) * slots <= BUDGET


def choose(model, op, row, widths, cached, more=lambda s, q: []):
    """(score, S, Q, kept values) of the best candidate, and all of their scores."""
    slots = slots_of(row["width"], widths, row["v"])
    legal = [(s, q) for s, q in candidates(row["rows"], widths)
             if within_budget(op, slots[s], cached)]
    lines = [" ".join([model] + facts(op, row, s, q, cached) + more(s, q)) for s, q in legal]
    scores = [float(answer.split()[0]) for answer in ask(lines)]
    best = min(range(len(legal)), key=lambda i: scores[i])  # the first of equal ones
    s, q = legal[best]
    tiles = DOMAINS[op]["tiles"] + cached
    return (scores[best], s, q, tiles * slots[s]), dict(zip(legal, scores))


def check_historical():
    for row in GOLDEN["historical"]:
        op = row["op"]
        chosen, _ = choose("analytic", op, row, row["widths_allowed"], 0)
        threads = SUBGROUP * chosen[1] * chosen[2]
        found = (chosen[0], chosen[1], threads, chosen[3], DOMAINS[op]["reductions"])
        wanted = (row["score"], row["subgroups_per_program"], row["threads_per_group"],
                  row["private_slots"], row["reductions"])
        case(f"historical/{op}/{row['rows']}x{row['width']}", found == wanted,
             f"found {found}, expected {wanted}")


def check_wide(table, cached):
    for row in GOLDEN[table]:
        op = row["op"]
        chosen, _ = choose("analytic", op, row, ALL_WIDTHS, cached)
        workers = row.get("workers", SUBGROUP * row.get("subgroups_per_program", 0))
        found = (SUBGROUP * chosen[1], chosen[2], chosen[3],
                 len(candidates(row["rows"], ALL_WIDTHS)))
        wanted = (workers, row.get("programs_per_group", 1), row["private_slots"],
                  row["candidates"])
        case(f"{table}/{op}/{row['rows']}x{row['width']}", found == wanted,
             f"found {found}, expected {wanted}")


def check_ties():
    """Choices of the file that the tie rule makes: the models give the two the same score."""
    for table, op, rows, cached, equal in (
            ("wide_cached_v4", "softmax", 8192, 1, (11, 16)),
            ("wide_cached_v4", "rmsnorm", 1024, 1, (16, 22)),
            ("old_automatic_reload_v4", "layernorm", 768, 0, (12, 16))):
        row = next(r for r in GOLDEN[table] if r["op"] == op and r["rows"] == rows)
        chosen, scores = choose("analytic", op, row, ALL_WIDTHS, cached)
        case(f"tie/{op}/{rows}", chosen[1] == equal[0] and
             scores[(equal[0], 1)] == scores[(equal[1], 1)] == min(scores.values()),
             f"chosen {chosen}, {[scores.get((s, 1)) for s in equal]}")


def check_slots():
    for row in GOLDEN["private_slots"]:
        found = ask([f"slots {row['n']} {row['w']} {row['v']}"])[0]
        case(f"slots/{row['n']}/{row['w']}", int(found) == row["slots"], found)
    # softmax with its input cached keeps two tiles: 66 values are over the budget, 34 are not
    row = {"width": 8193, "rows": 128, "v": 4}
    slots = slots_of(row["width"], (8, 16), row["v"])
    case("budget_refuses_66", slots[8] * 2 == 66 and not within_budget("softmax", slots[8], 1))
    case("budget_takes_34", slots[16] * 2 == 34 and within_budget("softmax", slots[16], 1))
    case("budget_takes_rmsnorm", within_budget("rmsnorm", slots[8], 1))
    _, scores = choose("analytic", "softmax", row, ALL_WIDTHS, 1)
    case("budget_is_met_by_all", min(s for s, _ in scores) == 9, sorted(scores)[:1])


def service_facts(op, row, s, cached):
    reads = (1 if cached else 2) + WEIGHTS[op]
    element = 4
    worker = slots_of(row["width"], [s], row["v"])[s] * element * (reads + 1)
    again = 0 if cached else 1
    fields = {"read_bytes": row["width"] * element, "reread_bytes": row["width"] * element * again,
              "shared_read_bytes": row["width"] * element * WEIGHTS[op],
              "write_bytes": row["width"] * element, "worker_bytes": worker}
    return [f"{k}={v}" for k, v in fields.items()]


def check_service():
    model = GOLDEN["service_model_m1_max"]
    names = [f"set=service.{name}:{model[name]!r}"
             for name in ("C", "D", "R", "K", "G", "Wb", "Pv")]
    for wanted in model["must_choose"]:
        op = wanted["op"]
        row = {"width": wanted["width"], "rows": wanted["rows"], "v": 4}
        found = []
        for cached in (0, 1):
            def more(s, _, cached=cached):
                return service_facts(op, row, s, cached)
            chosen, _ = choose("service", op, row, ALL_WIDTHS, cached, more)
            given, _ = choose("service", op, row, ALL_WIDTHS, cached,
                              lambda s, q: more(s, q) + names)
            case(f"service_defaults/{op}/{row['rows']}/{cached}", chosen == given,
                 f"defaults {chosen}, the file's {given}")
            found.append((chosen[0], SUBGROUP * chosen[1], bool(cached)))
        best = min(found)
        case(f"service/{op}/{row['rows']}x{row['width']}",
             best[1:] == (wanted["workers"], wanted["cache"]), found)


def check_formula():
    """The service model's formula once more, in other words, at a place where each part counts."""
    m = GOLDEN["service_model_m1_max"]
    row = {"width": 1537, "rows": 5000, "v": 4}
    line = ["service"] + facts("layernorm", row, 3, 1, 0) + service_facts("layernorm", row, 3, 0)
    found = float(ask([" ".join(line + ["private_bytes=80", "set=service.Pv:0.5"])])[0].split()[0])
    rounds, worker = 4 * 17, 17 * 4 * 5
    local = rounds * m["R"] + 2 * 3 * m["K"] + 80 * 0.5
    wanted = m["D"] + local * (5000 * 3 / m["C"]) + 5000 * 1537 * 4 * 5 * m["G"] + worker * m["Wb"]
    case("service_formula", abs(found / wanted - 1) < 1e-12, f"found {found}, expected {wanted}")


check_historical()
check_wide("wide_cached_v4", 1)
check_wide("old_automatic_reload_v4", 0)
check_ties()
check_slots()
check_service()
check_formula()
command.finish()
