"""How much the automatic plan of a case loses to the best other one, and what the model foretold.

A case: its plans are compiled (`compile_plans`), each is checked once and timed in rounds over all
of them, in replays that last about as long (phase `screen`; a plan that a launch shows to be slow
gets fewer launches). The fastest is then measured again, beside the automatic plan and the same
plan compiled separately (phase `device`: arms croft, control, best). Regret is croft / best - 1 of
the median over rounds, 0 where none is faster. Plans that were refused or spilled are records too.

Beside the records of raw.py the raw file has, for each plan of a case:

    plan      the plan as plans.py has it, status ok, refused (not compiled) or failed, why, text,
              `automatic`: it is the one that a call takes

`device`, `open_stand` and `compile_plans` are given; tests put made-up ones in their place.
"""
import json
import math
import pathlib
import re
import statistics

from . import clock, measuring
from .course import Course, last_samples

SCREEN_S = 0.3        # of the rounds over all plans, which are at least nine
NEAR = 0.15           # a prediction within this part of the measured time is right
WANTED_NEAR = 0.80
FIT = ("choice", "storage", "chosen", "automatic", "predicted_us", "causes", "features",
       "launches", "status", "why")


class Regret(Course):
    def __init__(self, device, open_stand, compile_plans, writer, settings, **more):
        super().__init__(device, open_stand, writer, settings, **more)
        self.compile_plans = compile_plans  # case -> (plans with `text` or `why`, how many legal)

    def measured(self, case, only, begin):
        plans, legal = self.compile_plans(case)
        launches = measuring.launches_for(case, case.judged, None, self.device.memory_bytes())
        sets = max(measuring.buffers_of(launches, case.judged)) + 1
        stand = self.open_stand(case, sets)
        try:
            samples = self.judged(case, stand, plans, launches)
            found = dict(case.record(), legal=legal, plans=len(plans),
                         elapsed_s=round(self.now() - begin, 3))
            return [found] + [arm.record(case) for arm in stand.arms] + \
                [dict(plan, record="plan", case=case.id) for plan in plans] + samples
        finally:
            stand.close()

    def judged(self, case, stand, plans, launches):
        for arm in stand.arms:
            self.check(stand, arm)
        if stand.arms[0].failure:
            return []
        mark_automatic(plans, stand.arms[0].facts["plan"])
        tried = {}
        for plan in plans:
            if plan["status"] == "ok":
                tried[plan["name"]] = stand.plan_arm(plan["name"], plan["text"])
                self.check(stand, tried[plan["name"]])
        self.device.load(self.settings.load_s, self.now)
        samples = self.screen(case, stand, tried, launches)
        for plan in plans:
            arm = tried.get(plan["name"])
            if arm:
                plan.update(arm.facts)
            if arm and arm.failure:
                plan.update(status="failed", why=arm.failure)
        times = {name: statistics.median(values)
                 for name, values in last_samples(samples, "screen").items() if name in tried}
        best = min(times, key=times.get, default=None)
        own = [plan["name"] for plan in plans if plan["automatic"]]
        if best is not None and best not in own:
            tried[best].name = "best"
            tried[best].facts["plan_name"] = best
            stand.arms.append(tried[best])
        return samples + self.graph_phase(case, stand, "device", case.judged, launches)

    @staticmethod
    def check(stand, arm):
        try:
            if not arm.failure:
                stand.check(arm, 0, arm.calls[0])
        except Exception as error:  # a call that fails, an output that does not fit
            arm.fail(error)

    def screen(self, case, stand, tried, launches):
        """Times of all plans, and of the automatic one and its control."""
        cold, graphs, counts = case.judged == "cold", {}, {}
        for arm in [*stand.arms, *tried.values()]:
            try:
                if not arm.failure:
                    count = self.count_of(arm, cold, launches)
                    used = measuring.buffers_of(count, case.judged)
                    graphs[arm.name] = self.device.graph([arm.calls[index] for index in used])
                    counts[arm.name] = count
            except Exception as error:
                arm.fail(error)
        samplers = {name: self.sampler(graph, case.judged, counts[name])
                    for name, graph in graphs.items()}
        records = measuring.measure_phase(case, "screen", samplers, counts, SCREEN_S, 1,
                                          self.device.read_clock, clock.moved,
                                          buffers=case.judged, order="there and back, turned")
        for graph in graphs.values():
            graph.close()
        return records

    def count_of(self, arm, cold, launches):
        """Launches of a replay, as many as make it long enough: those of slow plans are fewer."""
        graph = self.device.graph(arm.calls[:1])
        once = graph.time_us(cold)
        graph.close()
        return max(1, min(launches, math.ceil(measuring.REPLAY_US / max(0.1, once))))

    def summary(self, records):
        found = results_of(records)
        return line_of(found[0]) if found else f"{records[0]['id']:32} failed"


def mark_automatic(plans, text):
    """Which plan a call takes; where it is none of them, it is one more, without a prediction."""
    for plan in plans:
        plan["automatic"] = plan.get("text") == text
    if not any(plan["automatic"] for plan in plans):
        plans.append({"name": f"p{len(plans)}", "text": text, "status": "ok", "why": None,
                      "automatic": True, "chosen": False, "predicted_us": None})


# ---- what the records say ----

def cases_in(records):
    """The records of each case, in the order of the file."""
    found = {}
    for record in records:
        key = record["id"] if record["record"] == "case" else record.get("case")
        if isinstance(key, str):
            found.setdefault(key, []).append(record)
    return found


def result_of(records):
    """A case's figures, or None where it has none."""
    case = next((record for record in records if record["record"] == "case"), None)
    samples = last_samples(records)
    plans = {record["name"]: record for record in records if record["record"] == "plan"}
    automatic = next((plan for plan in plans.values() if plan["automatic"]), None) \
        if "croft" in samples else None
    if case is None or automatic is None:
        return None
    best = next((record["plan_name"] for record in records if record["record"] == "arm"
                 and record["arm"] == "best" and "best" in samples), automatic["name"])
    ratio = measuring.ratio(samples, "croft", "best") or (1.0, 1.0, 1.0)
    statuses = [plan["status"] for plan in plans.values()]
    return {"case": case["id"], "judged": case["judged"], "legal": case["legal"],
            "plans": len(plans), "refused": statuses.count("refused"),
            "failed": statuses.count("failed"), "regret": max(0.0, ratio[0] - 1), "ratio": ratio,
            "control": measuring.ratio(samples, "control"),
            "automatic_us": statistics.median(samples["croft"]),
            "best_us": statistics.median(samples.get("best", samples["croft"])),
            "automatic_predicted_us": automatic["predicted_us"],
            "best_predicted_us": plans[best]["predicted_us"],
            "automatic": words_of(automatic), "best": words_of(plans[best]),
            "automatic_text": automatic["text"], "best_text": plans[best]["text"],
            "elapsed_s": case["elapsed_s"]}


def results_of(records):
    return [found for found in map(result_of, cases_in(records).values()) if found]


def words_of(plan):
    return plan["set"] + " " + plan["storage"] if "set" in plan else "none of the list"


def is_near(predicted, measured):
    return predicted is not None and abs(predicted / measured - 1) <= NEAR


def line_of(result):
    control = f"control {result['control'][0]:.3f}" if result["control"] else "no control"
    predicted = result["automatic_predicted_us"]
    foretold = "none" if predicted is None else f"{predicted:.2f}"
    return (f"{result['case']:32} {result['plans']:4} of {result['legal']} plans "
            f"({result['refused']} refused, {result['failed']} failed)  automatic "
            f"{result['automatic_us']:9.2f} us (predicted {foretold})  best "
            f"{result['best_us']:9.2f} us  regret {result['regret']:6.1%}  {control}  "
            f"{result['elapsed_s']:.1f} s")


def table_of(results, rows):
    """All cases, then medians, worst, and how many predictions are right."""
    lines = []
    for one in results:
        lines += [line_of(one), f"    automatic {one['automatic']}"]
        if one["best"] != one["automatic"]:
            lines.append(f"    best      {one['best']} (predicted {one['best_predicted_us']:.2f}, "
                         f"ratio {one['ratio'][0]:.3f} [{one['ratio'][1]:.3f}, "
                         f"{one['ratio'][2]:.3f}])")
    if not results:
        return "no case was measured\n"
    regrets = [one["regret"] for one in results]
    worst = max(results, key=lambda one: one["regret"])
    lines.append(f"{len(results)} cases, median regret {statistics.median(regrets):.1%}, worst "
                 f"{worst['regret']:.1%} ({worst['case']})")
    near = [is_near(one["automatic_predicted_us"], one["automatic_us"]) for one in results]
    verdict = "met" if sum(near) >= WANTED_NEAR * len(near) else "MISSED"
    lines.append(f"predicted within {NEAR:.0%} of measured: automatic plans {sum(near)} of "
                 f"{len(near)} cases ({sum(near) / len(near):.0%}; {WANTED_NEAR:.0%} wanted: "
                 f"{verdict})")
    near = [is_near(one["best_predicted_us"], one["best_us"]) for one in results]
    lines.append(f"    best plans {sum(near)} of {len(near)} cases ({sum(near) / len(near):.0%})")
    timed = [row for row in rows if row["measured_us"] and row["predicted_us"]]
    near = [is_near(row["predicted_us"], row["measured_us"]) for row in timed]
    if timed:
        lines.append(f"    all plans {sum(near)} of {len(near)} ({sum(near) / len(near):.0%})")
    return "\n".join(lines + left_out(rows)) + "\n"


def left_out(rows):
    """Plans without a time: how many for which reason, and each whose output or launch is wrong."""
    reasons = [without_numbers(row["why"]) for row in rows if row["status"] == "refused"]
    lines = [f"refused {reasons.count(reason):5}  {reason}" for reason in sorted(set(reasons))]
    return lines + [f"FAILED {row['case']} {row['plan']} {row['choice']}: "
                    f"{row['why'].splitlines()[0]}" for row in rows if row["status"] == "failed"]


def without_numbers(why):
    return re.sub(r"\d+", "N", (why or "?").splitlines()[0])[:100]


def fit_rows(records):
    """A row for each plan of each case: what the model knew and said, and what was measured."""
    rows = []
    for own in cases_in(records).values():
        case = next((record for record in own if record["record"] == "case"), None)
        screened = [record for record in own if record["record"] == "samples"
                    and record["phase"] == "screen"]
        times = screened[-1]["arms"] if screened else {}
        for plan in [record for record in own if record["record"] == "plan"]:
            values = times.get(plan["name"]) if plan["status"] == "ok" else None
            rows.append({"case": case["id"], "operator": case["operator"], "dtype": case["dtype"],
                         "rows": case["rows"], "width": case["width"], "judged": case["judged"],
                         "plan": plan["name"], **{key: plan.get(key) for key in FIT},
                         "launches_timed": screened[-1]["launches"][plan["name"]]
                         if values else None,
                         "measured_us": statistics.median(values) if values else None,
                         "least_us": min(values) if values else None,
                         "greatest_us": max(values) if values else None})
    return rows


def write_results(folder, records):
    """regret.json, fit.jsonl and regret.txt beside the raw file; the text of the last."""
    folder = pathlib.Path(folder)
    results, rows = results_of(records), fit_rows(records)
    (folder / "regret.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (folder / "fit.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows),
                                      encoding="utf-8")
    text = table_of(results, rows)
    (folder / "regret.txt").write_text(text, encoding="utf-8")
    return text
