"""The course of a run: peers checked against their record, then case after case, to the raw file.

`device` gives graphs, load and clocks (cuda.py), `open_stand(case, count)` a case's arms (arms.py);
nothing here knows a framework, and tests put made-up ones in their place.
"""
import gc
import math
import sys
import time

from . import clock, measuring
from .recorded import Recorded

SINGLE_US, BATCH_US = 300.0, 2000.0  # calls of one sample last about so long
MOST_SINGLE, MOST_BATCH = 20, 100
CHECKED = ("compiled", "roof")  # arms of the cases that were recorded
NOT_CALLED = ("roof",)   # arms that are measured in graphs alone
MARGIN_S = 6.0           # a case is not begun when less than this is left
COMPLETE, FAILED, UNFINISHED, VOID = 0, 1, 3, 4


class Course:
    def __init__(self, device, open_stand, writer, settings, say=None, now=time.perf_counter):
        self.device, self.open_stand, self.writer = device, open_stand, writer
        self.settings, self.now = settings, now
        self.say = say or (lambda text: print(text, file=sys.stderr, flush=True))
        self.begin, self.failed = now(), []

    # ---- one case ----

    def counts(self, case):
        """warmth -> launches of a replay; and how many sets of buffers all of them need."""
        plant, memory = self.settings.plant, self.device.memory_bytes()
        warmths = ("hot", "cold") if case.judged == "hot" else ("cold",)
        launches = {warmth: measuring.launches_for(case, warmth, plant, memory,
                                                   self.settings.replay_us)
                    for warmth in warmths}
        sets = max(max(measuring.buffers_of(count, warmth, plant)) + 1
                   for warmth, count in launches.items())
        return launches, sets

    def plant_of(self, arm):
        return self.settings.plant if arm.name == "croft" else None

    def graph_phase(self, case, stand, phase, warmth, launches):
        """Replays of graphs of `launches` launches each."""
        graphs = {}
        for arm in stand.arms:
            if arm.failure:
                continue
            try:
                if arm.name == "roof":
                    stand.choose_roof(arm, warmth, launches)
                used = measuring.buffers_of(launches, warmth, self.plant_of(arm))
                graphs[arm.name] = self.device.graph([arm.calls[index] for index in used])
                graph = graphs[arm.name]
                stand.check(arm, used[-1], graph.replay, graph.last)
            except Exception as error:  # whatever a peer, a driver or a compiler raises
                arm.fail(error)
        samplers = {arm.name: self.sampler(graphs[arm.name], warmth, launches)
                    for arm in stand.arms if not arm.failure}
        records = self.phase(case, phase, samplers, launches, self.settings.phase_s,
                             buffers=warmth)
        for graph in graphs.values():
            graph.close()
        return records

    def sampler(self, graph, warmth, launches):
        return lambda: graph.time_us(warmth == "cold") / launches

    def call_phase(self, case, stand, phase, sampler_of):
        """Calls as a program makes them; `sampler_of(arm, count)` gives the time of one."""
        arms = [arm for arm in stand.arms if not arm.failure and arm.name not in NOT_CALLED]
        if not arms:
            return []
        wanted, most = {"wall": (SINGLE_US, MOST_SINGLE), "batch": (BATCH_US, MOST_BATCH)}[phase]
        once = sampler_of(arms[0], 1)()
        count = max(1, min(most, int(wanted / max(0.1, once))))
        if self.settings.plant:
            count = math.ceil(count / measuring.PLANT_STEP) * measuring.PLANT_STEP
        samplers = {arm.name: sampler_of(arm, count) for arm in arms}
        return self.phase(case, phase, samplers, count, self.settings.phase_s / 2,
                          buffers="rotated")

    def calls_of(self, arm, count):
        """The calls of a sample, over the sets of buffers in turn."""
        extra = len(measuring.buffers_of(count, "hot", self.plant_of(arm)))
        return [arm.calls[index % len(arm.calls)] for index in range(extra)]

    def single(self, arm, count):
        calls, synchronize = self.calls_of(arm, count), self.device.synchronize

        def run():
            for call in calls:
                call()
                synchronize()

        return self.timed(calls, run, count)

    def batch(self, arm, count):
        calls, synchronize = self.calls_of(arm, count), self.device.synchronize

        def run():
            for call in calls:
                call()
            synchronize()

        return self.timed(calls, run, count)

    def timed(self, calls, run, count):
        """A sample of `run`, for one of its `count` calls."""
        synchronize, now = self.device.synchronize, self.now

        def sample():
            calls[-1]()  # untimed: what the arm before left in the caches is not this one's time
            synchronize()
            begin = now()
            run()
            return (now() - begin) * 1e6 / count

        return sample

    def phase(self, case, phase, samplers, launches, seconds, **more):
        if not samplers:
            return []
        return measuring.measure_phase(
            case, phase, samplers, launches, seconds, self.settings.attempts,
            self.device.read_clock, clock.moved, **more)

    def case(self, case, only=None):
        """All records of a case; `only`: of these arms, in graphs."""
        begin = self.now()
        gc.disable()  # what is collected during a capture or a round would be part of it
        try:
            return self.measured(case, only, begin)
        except Exception as error:  # no memory for the buffers, say: the case stays, as failed
            return [dict(case.record(), elapsed_s=round(self.now() - begin, 3)),
                    {"record": "arm", "case": case.id, "arm": "croft", "status": "failed",
                     "why": f"{type(error).__name__}: {error}"[:2000]}]
        finally:
            gc.enable()
            gc.collect()
            self.device.forget()

    def measured(self, case, only, begin):
        launches, sets = self.counts(case)
        stand = self.open_stand(case, sets, only)
        try:
            for arm in stand.arms:
                try:
                    if not arm.failure:
                        stand.check(arm, 0, arm.calls[0])
                except Exception as error:  # a reference that does not fit, a call that fails
                    arm.fail(error)
            self.device.load(self.settings.load_s, self.now)
            samples = self.graph_phase(case, stand, "device", case.judged, launches[case.judged])
            if case.judged == "hot":
                samples += self.graph_phase(case, stand, "device_cold", "cold", launches["cold"])
            if only is None:
                samples += self.call_phase(case, stand, "wall", self.single)
                samples += self.call_phase(case, stand, "batch", self.batch)
            records = [dict(case.record(), elapsed_s=round(self.now() - begin, 3))]
            return records + [arm.record(case) for arm in stand.arms] + samples
        finally:
            stand.close()

    def summary(self, records):
        return summary(records)

    # ---- the run ----

    def check_peer(self, cases):
        """Repeats recorded cases of the peer; whether it is as fast as it was."""
        found = []
        for case in cases:
            records = self.case(case, only=CHECKED)
            arms = last_samples(records)
            failures = [record["why"] for record in records if record["record"] == "arm"
                        and record["status"] != "ok"]
            found.append((case, arms if set(CHECKED) <= set(arms) else None,
                          failures[0] if failures else None))
        record = Recorded().record(found)
        self.writer.write([record])
        for one in record["cases"]:
            slower = "not measured: " + str(one["why"]) if one["slower"] is None else \
                f"{one['slower']:+.1%} against its record"
            self.say(f"peer {one['case']}: {slower}")
        return not record["void"]

    def run(self, cases, budget_s=None):
        """Measures what is not in the file yet; the status to end with."""
        cases = list(cases)
        left = [case for case in cases if case.id not in self.writer.finished]
        complete = True
        for index, case in enumerate(left):
            if budget_s and self.now() - self.begin > budget_s - MARGIN_S:
                self.say(f"the budget is spent: {len(left) - index} cases are left (--resume)")
                complete = False
                break
            records = self.case(case)
            self.writer.case(records)
            self.failed += [(record["case"], record["arm"], record["why"]) for record in records
                            if record["record"] == "arm" and record["status"] != "ok"]
            self.say(f"[{len(cases) - len(left) + index + 1}/{len(cases)}] {self.summary(records)}")
        for case, arm, why in self.failed:
            self.say(f"failed: {case} {arm}: {why.splitlines()[0]}")
        return COMPLETE if complete and not self.failed else FAILED if complete else UNFINISHED

    def end(self, status, **more):
        self.writer.write([{"record": "end", "complete": status in (COMPLETE, FAILED), **more,
                            "elapsed_s": round(self.now() - self.begin, 1)}])
        return status


def last_samples(records, phase="device"):
    """arm -> samples of the last attempt of a phase."""
    found = [record for record in records if record["record"] == "samples"
             and record["phase"] == phase]
    return found[-1]["arms"] if found else {}


def summary(records):
    """A case in a line: times, ratios to Croft, the control."""
    samples, words = last_samples(records), [f"{records[0]['id']:32}"]
    for name in [name for name in samples if name != "control"]:
        middle = sorted(samples[name])[len(samples[name]) // 2]
        found = measuring.ratio(samples, name)
        words.append(f"{name} {middle:.2f} us" +
                     (f" ({found[0]:.2f}x)" if found and name != "croft" else ""))
    found = measuring.ratio(samples, "control")
    words.append(f"control {found[0]:.3f}" if found else "no control")
    attempts = max([record["attempt"] for record in records if record["record"] == "samples"],
                   default=0)
    words.append((f"{attempts} attempts, " if attempts > 1 else "") +
                 f"{records[0]['elapsed_s']:.1f} s")
    return "  ".join(words)
