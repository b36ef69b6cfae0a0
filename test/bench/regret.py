"""Regret on a GPU: which plans are measured, what is timed, what table and rows say of it.

tier: check
builds: none

The device is a pretended one whose plans take made-up times. No framework is needed.
"""
import json
import os
import pathlib
import random
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True

from compare import cases, kernel_file, measuring, plans, raw, regret, regret_cuda  # noqa: E402

SCRATCH = pathlib.Path(os.environ["CROFT_SCRATCH"])
ENVIRONMENT = {"record": "environment", "format": raw.FORMAT, "device": "pretended", "driver": "1",
               "versions": {"torch": "0"}, "sources": {"src": "a"}}
SMALL = cases.row_case("softmax", "f32", "128x1024")
LARGE = cases.row_case("softmax", "f32", "16384x4096")
TIMES = {"croft": 10.0, "control": 10.0}


class Call:
    def __init__(self, device, name):
        self.device, self.name = device, name

    def __call__(self):
        self.device.at_s += self.device.time_us(self.name) / 1e6


class Device:
    """A graph's time is that of its launches, with noise from a seed."""

    def __init__(self, times):
        self.times, self.source, self.at_s = times, random.Random(1), 0.0
        self.graphs, self.sweeps = [], 0

    def now(self):
        return self.at_s

    def time_us(self, name):
        return self.times[name] * self.source.gauss(1.0, 0.002)

    def graph(self, calls):
        self.graphs.append(calls)
        return types.SimpleNamespace(replay=lambda: None, last=None, close=lambda: None,
                                     time_us=lambda cold: self.replay(calls, cold))

    def replay(self, calls, cold):
        self.sweeps += cold
        found = self.time_us(calls[0].name) * len(calls)
        self.at_s += found / 1e6
        return found

    def load(self, seconds, now):
        self.at_s += seconds

    def read_clock(self):
        return {"sm_mhz": 1980, "throttle": [], "temperature_c": 40, "power_w": 300.0}

    def memory_bytes(self):
        return 40_000_000_000

    def forget(self):
        pass


class Arm:
    def __init__(self, name, calls, **facts):
        self.name, self.calls, self.facts, self.failure = name, calls, facts, None

    def fail(self, error):
        self.failure = str(error)

    def record(self, case):
        return {"record": "arm", "case": case.id, "arm": self.name, "why": self.failure,
                "status": "failed" if self.failure else "ok", **self.facts}


class Stand:
    """Croft's automatic plan is the text of `automatic`; plans named in `bad` compute nonsense."""

    def __init__(self, device, count, automatic, bad):
        self.device, self.count, self.bad = device, count, bad
        self.arms = [self.arm("croft", "croft", plan=automatic), self.arm("control", "control")]

    def arm(self, name, timed, **facts):
        return Arm(name, [Call(self.device, timed) for _ in range(self.count)], **facts)

    def plan_arm(self, name, text):
        return self.arm(name, text)

    def check(self, arm, index, run, made=None):
        if arm.name in self.bad:
            raise ArithmeticError("an output is 1e6 ulp from float64")

    def close(self):
        pass


def made_plan(name, predicted, status="ok", why=None):
    return {"name": name, "choice": {"w": 32}, "set": f"w={name}", "storage": "t:registers",
            "chosen": name == "p0", "predicted_us": predicted, "causes": {"memory": predicted},
            "features": {"programs": 128}, "status": status, "why": why,
            "text": f"plan {name}" if status == "ok" else None}


def run_of(folder, times, found, automatic="plan p0", bad=(), resume=False, some=(SMALL, LARGE),
           budget_s=None):
    said, device = [], Device({**TIMES, **times})
    writer = raw.Writer(SCRATCH / folder, ENVIRONMENT, resume)
    course = regret.Regret(
        device, lambda case, count, only=None: Stand(device, count, automatic, bad),
        lambda case: ([dict(plan) for plan in found], 100), writer,
        measuring.Settings(phase_s=0.05, attempts=2), say=said.append, now=device.now)
    status = course.end(course.run(some, budget_s))
    return status, raw.read(writer.path), said, device


def close_to(value, wanted, within):
    assert abs(value - wanted) <= within, f"{value} is not {wanted}, give or take {within}"


def answer_of(count):
    """An answer of `croft plan --all --json`, with refused and unpriced candidates."""
    def candidate(index, **more):
        return {"w": 1 << index % 11, "v": 1 << index % 4, "u": 1, "p": 1 << index % 3, "g": 1,
                "chunk": ("slot", "step")[index % 2], "shift": "no", "keep": "mixed", "b": 1,
                "chosen": index == count - 1,
                "storage": [{"value": "t", "kept": ("registers", "reload")[index // 44 % 2]}],
                "features": {"programs": index},
                "prices": {"cuda": {"total": 1.0 + index, "is_time": True,
                                    "causes": [{"name": "memory", "amount": 1.0}]}}, **more}
    found = [candidate(index) for index in range(count)]
    found += [dict(candidate(0), refused={"slug": "slots"}),
              candidate(1, prices={"cuda": {"missing": "machine.x"}}),
              dict(candidate(2), keep="registers")]  # keeps as the rule `mixed` does
    return {"model": "cuda", "candidates": found}


def legal_plans_that_differ_are_chosen():
    found, legal = plans.choose(answer_of(44), 64, "a")
    assert legal == len(found) == 44 and [plan["name"] for plan in found][:2] == ["p0", "p1"]
    assert [plan["predicted_us"] for plan in found] == [1.0 + index for index in range(44)]
    assert found[3]["set"] == "w=8,v=8,u=1,p=1,g=1,chunk=step,shift=no,keep=mixed"
    assert found[2]["choice"]["keep"] == "mixed", "a rule that keeps all values alike comes twice"
    assert found[3]["causes"] == {"memory": 1.0} and found[3]["features"] == {"programs": 3}


def of_many_the_best_and_a_spread_are_chosen():
    answer = answer_of(264)
    legal = plans.legal_plans(answer)
    assert len(legal) == 264
    found, count = plans.choose(answer, 64, "a")
    again, other = plans.choose(answer, 64, "a")[0], plans.choose(answer, 64, "b")[0]
    assert count == 264 and len(found) == 64 and found == again and found != other
    sets = [(plan["set"], plan["storage"]) for plan in found]
    assert len(set(sets)) == 64
    assert [plan["predicted_us"] for plan in found[:16]] == [1.0 + index for index in range(16)]
    assert sum(plan["chosen"] for plan in found) == 1, "the plan that the planner takes is there"
    for name, least in (("v", 4), ("p", 3), ("chunk", 2), ("storage", 2)):
        values = [plans.value_of(plan, name) for plan in found]
        counts = [values.count(value) for value in set(values)]
        assert len(counts) == least and min(counts) >= 0.6 * 64 / least, (name, counts)
    lanes = [plan["choice"]["w"] for plan in found[17:]]
    assert set(lanes) == {1 << n for n in range(3, 11)}, "those of the family, and all of these"


def regret_is_measured_in_pairs_with_a_control():
    found = [made_plan("p0", 9.5), made_plan("p1", 12.0), made_plan("p2", 11.0)]
    times = {"plan p0": 10.0, "plan p1": 8.0, "plan p2": 900.0}
    status, records, said, device = run_of("pairs", times, found)
    assert status == 0 and len(said) == 2, said
    results = regret.results_of(records)
    assert [one["case"] for one in results] == [SMALL.id, LARGE.id]
    for one in results:
        close_to(one["regret"], 0.25, 0.005)
        close_to(one["control"][0], 1.0, 0.003)
        close_to(one["automatic_us"], 10.0, 0.1)
        close_to(one["best_us"], 8.0, 0.1)
        assert (one["automatic"], one["best"]) == ("w=p0 t:registers", "w=p1 t:registers")
        assert (one["automatic_predicted_us"], one["best_predicted_us"]) == (9.5, 12.0)
        assert (one["plans"], one["legal"], one["refused"], one["failed"]) == (3, 100, 0, 0)
    phases = [(record["case"], record["phase"], record["buffers"], sorted(record["arms"]))
              for record in records if record["record"] == "samples"]
    both = ["best", "control", "croft"]
    tried = ["control", "croft", "p0", "p1", "p2"]
    assert phases == [(SMALL.id, "screen", "hot", tried), (SMALL.id, "device", "hot", both),
                      (LARGE.id, "screen", "cold", tried), (LARGE.id, "device", "cold", both)]
    assert device.sweeps > 0
    slow = [calls for calls in device.graphs if calls[0].name == "plan p2"]
    assert slow and all(len(calls) == 1 for calls in slow), "a slow plan is launched once a replay"
    screen = [record for record in records if record.get("phase") == "screen"
              and record["record"] == "samples"]
    assert screen[0]["launches"]["p1"] > 50 * screen[0]["launches"]["p2"], screen[0]["launches"]


def the_automatic_plan_may_be_the_best_or_none_of_the_list():
    found = [made_plan("p0", 9.5), made_plan("p1", 12.0)]
    times = {"plan p0": 10.0, "plan p1": 10.5, "plan x": 10.0}
    for automatic, words, predicted in (("plan p0", "w=p0 t:registers", 9.5),
                                        ("plan x", "none of the list", None)):
        status, records, _, _ = run_of("own" + automatic[-1], times if automatic == "plan p0"
                                       else {**times, "plan p0": 11.0}, found, automatic)
        for one in regret.results_of(records):
            assert status == 0 and one["regret"] == 0.0 and one["automatic"] == words, one
            assert one["best"] == words and one["automatic_predicted_us"] == predicted
    text = regret.table_of(regret.results_of(records), regret.fit_rows(records))
    assert "automatic plans 0 of 2 cases (0%; 80% wanted: MISSED)" in text, text


def refused_and_wrong_plans_are_kept():
    spills = made_plan("p1", 1.0, "refused", "RejectedError: spills 96 bytes")
    found = [made_plan("p0", 9.5), spills, made_plan("p2", 2.0)]
    status, records, _, device = run_of("kept", {"plan p0": 10.0, "plan p2": 1.0}, found,
                                        bad=("p2",), some=[LARGE])
    assert status == 0
    one = regret.results_of(records)[0]
    assert (one["refused"], one["failed"], one["regret"], one["plans"]) == (1, 1, 0.0, 3), one
    assert all(calls[0].name != "plan p2" for calls in device.graphs), "a wrong plan is timed"
    rows = regret.fit_rows(records)
    assert [row["status"] for row in rows] == ["ok", "refused", "failed"]
    assert [row["measured_us"] is None for row in rows] == [False, True, True]
    text = regret.table_of([one], rows)
    assert "refused     1  RejectedError: spills N bytes" in text, text
    assert "FAILED softmax/f32/16384x4096 p2 {'w': 32}: an output is 1e6 ulp" in text, text


def rows_for_a_fit_have_facts_and_times():
    found = [made_plan("p0", 9.0), made_plan("p1", 12.0), made_plan("p2", 8.0)]
    times = {"plan p0": 10.0, "plan p1": 8.0, "plan p2": 9.0}
    _, records, _, _ = run_of("fit", times, found)
    text = regret.write_results(SCRATCH / "fit", records)
    rows = [json.loads(line) for line in
            (SCRATCH / "fit" / "fit.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [(row["case"], row["plan"]) for row in rows] == \
        [(case.id, name) for case in (SMALL, LARGE) for name in ("p0", "p1", "p2")]
    for row in rows:
        close_to(row["measured_us"], times["plan " + row["plan"]], 0.1)
        assert row["least_us"] <= row["measured_us"] <= row["greatest_us"]
        assert row["features"] == {"programs": 128} and row["automatic"] == (row["plan"] == "p0")
        assert row["causes"] == {"memory": row["predicted_us"]} and row["launches_timed"] >= 1
    assert text == (SCRATCH / "fit" / "regret.txt").read_text(encoding="utf-8")
    assert "2 cases, median regret 25." in text or "2 cases, median regret 24." in text, text
    assert "automatic plans 2 of 2 cases (100%; 80% wanted: met)" in text, text
    assert "best plans 0 of 2 cases (0%)" in text and "all plans 4 of 6 (67%)" in text, text
    assert len(json.loads((SCRATCH / "fit" / "regret.json").read_text(encoding="utf-8"))) == 2
    assert not regret.is_near(8.4, 10.0) and regret.is_near(8.6, 10.0)


def a_spent_budget_stops_and_resume_goes_on():
    found = [made_plan("p0", 9.5), made_plan("p1", 12.0)]
    times = {"plan p0": 10.0, "plan p1": 8.0}
    some = [SMALL, LARGE, cases.row_case("sum", "f32", "64x4096")]
    status, records, said, _ = run_of("resumed", times, found, some=some, budget_s=6.5)
    done = len(regret.results_of(records))
    assert status == 3 and 0 < done < 3 and "--resume" in said[-1], (status, done, said)
    status, records, said, _ = run_of("resumed", times, found, some=some, resume=True)
    assert status == 0 and len(said) == 3 - done
    assert [one["case"] for one in regret.results_of(records)] == [case.id for case in some]


def a_case_whose_plans_cannot_be_listed_fails():
    def fail(case):
        raise RuntimeError("no plans: the worker ended")

    device = Device(TIMES)
    writer, said = raw.Writer(SCRATCH / "none", ENVIRONMENT), []
    course = regret.Regret(device, None, fail, writer, measuring.Settings(), say=said.append,
                           now=device.now)
    assert course.run([SMALL]) == 1 and "no plans" in said[-1], said
    records = raw.read(writer.path)
    assert regret.results_of(records) == [] and "no case" in regret.table_of([], [])


class Workers:
    """Answers as workers do; the second task of those that compile has none."""

    def results(self, tasks):
        if tasks[0]["kind"] == "choose":
            assert tasks[0]["machine"] == "sm_90" and tasks[0]["most"] == 64
            chosen, legal = plans.choose(answer_of(44), 6, "a")
            return [{"result": {"plans": chosen, "legal": legal}}, {"failure": "it ended"}]
        assert [len(task["sets"]) for task in tasks] == [4, 4, 4, 4, 1], tasks
        return [{"result": [{"status": "ok", "why": None, "text": words} for words in
                            task["sets"]]} if index != 1 else {"failure": "it ended"}
                for index, task in enumerate(tasks)]


def plans_are_compiled_in_batches():
    options = regret_cuda.parse(["--device", "cuda", "--out", "x", "--most", "64"])
    made = regret_cuda.Plans(Workers(), [SMALL, LARGE], "sm_90", options)
    found, legal = made.compile(SMALL)
    assert legal == 44 and len(found) == 17, len(found)  # the best 16, and that of the planner
    assert [plan["status"] for plan in found] == ["ok"] * 4 + ["refused"] * 4 + ["ok"] * 9
    assert all(plan["text"] == plan["set"] for plan in found if plan["status"] == "ok")
    try:
        made.compile(LARGE)
    except RuntimeError as error:
        assert "it ended" in str(error)
    else:
        raise AssertionError("a case without plans is measured")


def workers_answer_in_order_and_may_end():
    (SCRATCH / "echo.py").write_text(
        "import sys, json\nfor line in sys.stdin:\n    task = json.loads(line)\n"
        "    if task['die']: sys.exit(1)\n"
        "    print(json.dumps({'result': task['n']}), flush=True)\n", encoding="utf-8")
    kept = regret_cuda.command.BENCH
    regret_cuda.command.BENCH = SCRATCH
    try:
        workers = regret_cuda.Workers(2, "echo")
        found = workers.results([{"n": n, "die": n == 3} for n in range(8)])
        workers.close()
    finally:
        regret_cuda.command.BENCH = kept
    assert [one.get("result") for one in found] == [0, 1, 2, None, 4, 5, 6, 7], found
    assert found[3] == {"failure": "the worker ended"}


def cases_and_arguments_are_those_of_the_options():
    words = ["--device", "cuda", "--out", "x"]
    assert len(regret_cuda.cases_of(regret_cuda.parse(words))) == 66
    some = regret_cuda.cases_of(regret_cuda.parse(words + ["--cases", "anchor,5x77", "--operators",
                                                           "sum", "--only", "*/5x77"]))
    assert [case.id for case in some] == ["sum/f32/5x77"]
    kernel = kernel_file.read_kernel(
        (ROOT / "examples" / "cross_entropy.croft").read_text(encoding="utf-8"))
    found = regret_cuda.arguments_of(kernel, cases.row_case("cross_entropy", "bf16", "5x77"))
    assert found["R"] == 5 and found["N"] == 77 and "bf16" in found.values(), found
    kept, sys.stderr = sys.stderr, open(os.devnull, "w", encoding="utf-8")
    try:
        for bad in ("16", "257"):
            try:
                regret_cuda.parse(words + ["--most", bad])
            except SystemExit:
                continue
            raise AssertionError(f"--most {bad} is taken")
    finally:
        sys.stderr = kept


TESTS = [legal_plans_that_differ_are_chosen, of_many_the_best_and_a_spread_are_chosen,
         regret_is_measured_in_pairs_with_a_control,
         the_automatic_plan_may_be_the_best_or_none_of_the_list, refused_and_wrong_plans_are_kept,
         rows_for_a_fit_have_facts_and_times, a_spent_budget_stops_and_resume_goes_on,
         a_case_whose_plans_cannot_be_listed_fails, plans_are_compiled_in_batches,
         workers_answer_in_order_and_may_end, cases_and_arguments_are_those_of_the_options]


def main():
    failed = 0
    for test in TESTS:
        try:
            test()
            print(f"ok {test.__name__}")
        except Exception as error:  # a case of its own each
            failed += 1
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            print(f"not ok {test.__name__}: {type(error).__name__} {error} (line "
                  f"{place.tb_lineno} of {pathlib.Path(place.tb_frame.f_code.co_filename).name})")
    sys.exit(1 if failed else 0)


main()
