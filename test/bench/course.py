"""The harness of bench/compare measures in pairs, sees what is slow, goes on where it was.

tier: check
builds: none

The device is a pretended one: a graph's time is its launches' made-up times, with noise from a
seed, and a clock that only measuring moves. No framework is needed.
"""
import contextlib
import io
import json
import os
import pathlib
import random
import statistics
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))

from compare import cases, clock, command, kernel_file, measuring  # noqa: E402
from compare import precompile, raw, recorded, roof, transposes  # noqa: E402
from compare.course import Course  # noqa: E402

SCRATCH = pathlib.Path(os.environ["CROFT_SCRATCH"])
TIMES = {"croft": 10.0, "control": 10.0, "eager": 20.0, "compiled": 14.0, "roof": 9.5}
ENVIRONMENT = {"record": "environment", "format": raw.FORMAT, "device": "pretended", "driver": "1",
               "versions": {"torch": "0"}, "sources": {"src": "a"}}


class Call:
    """A launch that takes a made-up time; its device counts it."""

    def __init__(self, device, name, index):
        self.device, self.name, self.index = device, name, index

    def __call__(self):
        self.device.pass_us(self.device.time_us(self.name))


class PretendedDevice:
    def __init__(self, times, seed=1, drift=0.0):
        self.times, self.source, self.drift = times, random.Random(seed), drift
        self.at_s, self.clocks, self.captured, self.sweeps = 0.0, [], [], 0

    def now(self):
        return self.at_s

    def pass_us(self, time_us):
        self.at_s += time_us / 1e6

    def time_us(self, name):
        """Slower and slower where the device drifts: pairs have to cancel it."""
        noise = self.source.gauss(1.0, 0.002)
        return self.times[name] * noise * (1 + self.drift * self.at_s)

    def graph(self, calls):
        self.captured.append(calls)
        return PretendedGraph(self, calls)

    def load(self, seconds, now):
        self.at_s += seconds

    def synchronize(self):
        self.pass_us(5.0)

    def read_clock(self):
        mhz = self.clocks.pop(0) if self.clocks else 1980
        return {"sm_mhz": mhz, "throttle": [], "temperature_c": 40, "power_w": 300.0}

    def memory_bytes(self):
        return 40_000_000_000

    def forget(self):
        pass


class PretendedGraph:
    def __init__(self, device, calls):
        self.device, self.calls, self.last = device, calls, None

    def replay(self):
        pass

    def time_us(self, cold):
        self.device.sweeps += cold
        one = self.device.time_us(self.calls[0].name)
        self.device.pass_us(one * len(self.calls))
        return one * len(self.calls)

    def close(self):
        pass


class Arm:
    def __init__(self, name, calls):
        self.name, self.calls, self.failure = name, calls, None

    def fail(self, error):
        self.failure = str(error)

    def record(self, case):
        return {"record": "arm", "case": case.id, "arm": self.name, "why": self.failure,
                "status": "failed" if self.failure else "ok"}


class PretendedStand:
    def __init__(self, device, count, names, bad=()):
        self.arms = [Arm(name, [Call(device, name, index) for index in range(count)])
                     for name in names]
        self.bad = bad

    def choose_roof(self, arm, warmth, count):
        pass

    def check(self, arm, index, run, made=None):
        if arm.name in self.bad:
            raise ArithmeticError("wrong outputs")

    def close(self):
        pass


def course(device, folder, settings=None, bad=(), resume=False, environment=None):
    """A course on the device, and what it said."""
    said = []
    writer = raw.Writer(SCRATCH / folder, environment or ENVIRONMENT, resume)

    def open_stand(case, count, only=None):
        return PretendedStand(device, count, only or list(device.times), bad)

    return Course(device, open_stand, writer, settings or measuring.Settings(phase_s=0.1),
                  said.append, device.now), said


def samples_of(records, phase):
    return [record for record in records if record["record"] == "samples"
            and record["phase"] == phase]


def close_to(value, wanted, within):
    assert abs(value - wanted) <= within, f"{value} is not {wanted}, give or take {within}"


SMALL = cases.row_case("softmax", "f32", "128x1024")
LARGE = cases.row_case("softmax", "f32", "16384x4096")


def gates_have_66_cases_in_their_strata():
    found = cases.cases_of("gates")
    strata = [case.stratum for case in found]
    counts = {name: strata.count(name) for name in strata}
    assert len(found) == 66, len(found)
    assert counts == {"under 4 MB": 30, "4-64 MB": 8, "sum and norms of 64 MB and more": 19,
                      "softmax of 64 MB and more": 5, "cross-entropy of 64 MB and more": 4}, counts
    assert len(cases.cases_of("quick")) == 12 and len(cases.cases_of("smoke")) == 3
    assert {case.dtype for case in cases.cases_of("halves")} == {"bf16"}


def random_shapes_are_those_of_their_seed():
    first, again, other = (cases.cases_of("random", seed=seed) for seed in (7, 7, 8))
    assert first == again and first != other and len(first) == cases.RANDOM_CASES
    assert len({case.id for case in first}) == len(first)
    for case in first:
        assert case.footprint <= cases.RANDOM_BYTES and 16 <= case.width <= 131072, case


def examples_move_what_the_peer_moves():
    for operator in cases.OPERATORS:
        text = (ROOT / "examples" / f"{operator}.croft").read_text(encoding="utf-8")
        for shape in ("1x127", "1024x4096"):
            assert kernel_file.read_kernel(text).case("f32", shape) == \
                cases.row_case(operator, "f32", shape), (operator, shape)


def kernel_heads_are_read():
    head = kernel_file.read_kernel("""# kernel no(
        kernel k(x: in T[R, N], label: in I[R], q: out i8[R, N], s: out f32[R], N: const = 8,
                 eps: f32 = 1e-5, L: layout = bits(1, 0), T: f32 | bf16, I: i32 | i64) {""")
    assert [tensor.name for tensor in head.inputs()] == ["x", "label"]
    assert [tensor.name for tensor in head.outputs()] == ["q", "s"]
    assert head.shapes((5, 99)) == {"x": (5, 8), "label": (5,), "q": (5, 8), "s": (5,)}
    assert [head.dtype(tensor, "bf16") for tensor in head.tensors] == ["bf16", "i64", "i8", "f32"]
    case = head.case("bf16", "5x99")
    assert (case.reads, case.writes, case.row_write) == ((80,), (40,), 20), case
    try:
        kernel_file.read_kernel("kernel k(x: in f32[A, B, C]) {").shapes((2, 3))
    except kernel_file.BadKernel:
        return
    raise AssertionError("three sizes are not refused")


def transposes_are_16_with_the_owners_that_were_found():
    path = ROOT / "bench" / "kernels" / "transpose.croft"
    head = kernel_file.read_kernel(path.read_text(encoding="utf-8"))
    found = cases.cases_of("transposes", operators=["transpose"],
                           make=lambda operator, dtype, shape: head.case(dtype, shape))
    assert len({case.id for case in found}) == 16
    for case in found:
        size = 2 if case.dtype == "f16" else 4
        assert case.reads == case.writes == (case.rows * case.width * size,), case
        assert head.shapes(case.axes)["dest"] == (case.axes[0], case.axes[2], case.axes[1])
    assert found[0].record()["axes"] == [1024, 4, 8] and found[0].id == "transpose/f16/1024x4x8"
    samples = (ROOT / "bench" / "results" / "transposes-h200.jsonl").read_text(encoding="utf-8")
    best = [json.loads(line) for line in samples.splitlines()]
    for one in best:
        own = transposes.owners(one["dtype"], one["batches"], one["p"], one["q"])
        assert own == {"S": one["loads"], "L": one["stores"], "G": one["tiles"]}, one
    assert len(best) == 16
    options = command.parse(["--device", "cuda", "--out", "x", "--tier", "transposes"])
    assert options.file == path and options.recorded == 2 and not options.own


def replays_last_long_enough_on_buffers_of_their_own():
    for case in cases.cases_of("gates") + cases.cases_of("wide"):
        count = measuring.launches_for(case, "cold", None, 40_000_000_000)
        fastest = max(1.0, case.footprint / 5e6)  # us, at more than any memory gives
        assert count * fastest >= measuring.REPLAY_US, (case, count)
        assert count >= 400 or case.footprint > 5_000_000, (case, count)
        assert count == 1 or (count - 1) * case.footprint <= 4_000_000_000, case
        used = measuring.buffers_of(count, "cold")
        assert len(set(used)) == len(used) == count
    assert measuring.launches_for(SMALL, "hot", replay_us=200.0) == 200
    assert set(measuring.buffers_of(500, "hot")) == {0}
    assert len(measuring.buffers_of(10, "cold", 1.1)) == 11


def rounds_go_there_and_back_and_cancel_drift():
    order = []

    def sampler(name):
        def sample():
            order.append(name)
            return float(len(order)) * 10  # every sample later is slower
        return sample

    samples = measuring.paired_rounds({name: sampler(name) for name in "abc"}, 2)
    assert "".join(order) == "abccba" + "bcaacb", order
    assert samples["a"] == samples["b"] == samples["c"], samples
    assert measuring.letters(["croft", "control"]) == "ABBA"


def a_case_has_all_arms_phases_and_ratios():
    device = PretendedDevice(TIMES, drift=0.005)
    run, _ = course(device, "whole")
    assert run.run([SMALL, LARGE]) == 0
    records = raw.read(run.writer.path)
    for case, phases in ((SMALL, ["device", "device_cold", "wall", "batch"]),
                         (LARGE, ["device", "wall", "batch"])):
        own = [record for record in records if record.get("case") == case.id]
        assert [record["phase"] for record in own if record["record"] == "samples"] == phases
        found = samples_of(own, "device")[0]
        assert found["buffers"] == case.judged and found["order"] == "ABCDEEDCBA", found["order"]
        for name, wanted in (("compiled", 1.4), ("eager", 2.0), ("roof", 0.95), ("control", 1.0)):
            close_to(measuring.ratio(found["arms"], name)[0], wanted, 0.005)
        close_to(statistics.median(found["arms"]["croft"]), 10.0, 2.0)
        assert "roof" not in samples_of(own, "wall")[0]["arms"]
        close_to(measuring.ratio(samples_of(own, "wall")[0]["arms"], "compiled")[0], 19 / 15, 0.03)
        close_to(measuring.ratio(samples_of(own, "batch")[0]["arms"], "compiled")[0], 1.4, 0.03)
        assert len({len(times) for times in found["arms"].values()}) == 1
    cold = [calls for calls in device.captured if len({call.index for call in calls}) > 1]
    assert all(len({call.index for call in calls}) == len(calls) for calls in cold) and cold
    assert device.sweeps > 0


def a_planted_tenth_is_seen():
    device = PretendedDevice(TIMES)
    run, _ = course(device, "planted", measuring.Settings(phase_s=0.1, attempts=1, plant=1.10))
    assert run.run([SMALL, LARGE]) == 0
    records = raw.read(run.writer.path)
    for record in [record for record in records if record["record"] == "samples"]:
        assert not record["stable"], record["phase"]
        close_to(measuring.ratio(record["arms"], "control")[0], 1 / 1.1, 0.005)


def an_unstable_case_is_measured_again_and_kept():
    device = PretendedDevice(dict(TIMES, control=10.5))
    run, said = course(device, "unstable")
    run.run([LARGE])
    found = samples_of(raw.read(run.writer.path), "device")
    assert [record["attempt"] for record in found] == [1, 2, 3], found
    assert not any(record["stable"] for record in found) and "3 attempts" in said[0], said


def a_moved_clock_is_measured_again():
    device = PretendedDevice(TIMES)
    device.clocks = [1980, 1900, 1980, 1975]
    run, _ = course(device, "clock")
    run.run([LARGE])
    found = samples_of(raw.read(run.writer.path), "device")
    assert [record["clock_moved"] for record in found] == [True, False], found
    assert not clock.moved({"sm_mhz": None}, {"sm_mhz": 1980})


def a_failed_arm_is_kept_and_the_run_has_failed():
    run, said = course(PretendedDevice(TIMES), "failed", bad=("compiled",))
    assert run.run([LARGE]) == 1
    records = raw.read(run.writer.path)
    why = [record["why"] for record in records if record["record"] == "arm"
           and record["arm"] == "compiled"]
    assert why == ["wrong outputs"], why
    assert "compiled" not in samples_of(records, "device")[0]["arms"]
    assert any("failed: softmax/f32/16384x4096 compiled" in line for line in said), said


def a_case_without_memory_stays_as_failed():
    run, said = course(PretendedDevice(TIMES), "memory")

    def open_stand(case, count, only=None):
        raise MemoryError("no memory for the buffers")

    run.open_stand = open_stand
    assert run.run([SMALL, LARGE]) == 1
    records = raw.read(run.writer.path)
    assert [record["case"] for record in records if record.get("status") == "failed"] == \
        [SMALL.id, LARGE.id]
    assert "no memory" in said[-1], said


def a_spent_budget_stops_and_resume_goes_on():
    some = cases.cases_of("quick")[:3]
    device = PretendedDevice(TIMES)
    run, _ = course(device, "resumed")
    assert run.run(some, budget_s=8.0) == 3
    run.end(3)
    done = set(run.writer.finished)
    assert 0 < len(done) < 3, done
    with open(run.writer.path, "ab") as file:  # killed while it wrote
        file.write(raw.line_of(some[-1].record()).encode() + b'{"record": "sam')
    run, _ = course(device, "resumed", resume=True)
    assert run.writer.finished == done
    assert run.run(some) == 0
    run.end(0)
    records = raw.read(run.writer.path)
    assert [record["id"] for record in records if record["record"] == "case"] == \
        [case.id for case in some]
    assert records[-1]["record"] == "end" and records[-1]["complete"]


def another_device_or_source_is_not_taken_up():
    course(PretendedDevice(TIMES), "other")
    for key, value in (("device", "another"), ("driver", "2"), ("sources", {"src": "b"})):
        try:
            course(PretendedDevice(TIMES), "other", resume=True,
                   environment=dict(ENVIRONMENT, **{key: value}))
        except raw.Refused as error:
            assert key in str(error), error
        else:
            raise AssertionError(f"another {key} is taken up")


def a_peer_slower_than_its_record_voids_the_run():
    some = recorded.recorded_cases("f32")
    assert len(some) == 10 and all(case.footprint >= 64_000_000 for case in some)
    table = recorded.Recorded()
    row = table.rows["softmax", "float32", 16384, 4096]
    close_to(table.roof_us(some[0]), 126.6, 0.2)  # 537 MB at 4.24 TB/s
    near = table.roof_us(some[0]) / row["compiled_us_cold"]
    for factor, good in ((1.0, True), (1.13, True), (1.17, False)):
        device = PretendedDevice({"compiled": 100.0 * factor, "roof": 100.0 * near})
        run, _ = course(device, f"peer{factor}")
        assert run.check_peer(some[:1]) is good, factor
        record = raw.read(run.writer.path)[-1]
        close_to(record["cases"][0]["slower"], factor - 1, 0.005)
    run, _ = course(PretendedDevice({"roof": 100.0, "compiled": 100.0}), "none", bad=("compiled",))
    assert run.check_peer(some[:1]) is False


def a_family_has_16_to_96_kernels_of_their_own():
    for writes in (0, 1):
        for few in (False, True):
            family = roof.family(writes, few)
            assert 16 <= len(family) <= 96 and len({one.name for one in family}) == len(family)
            text = roof.family_text(family, 2, writes)
            assert all(text.count(f"\n{one.name}(") == 1 for one in family)
    one = roof.Variant(256, 2, 16, "ld", "st", 0)
    assert one.grid(16 * 512, 132) == 1 and one.grid(16 * 513, 132) == 2
    arguments = [value.value for value in
                 roof.arguments(one, [64, 128], [16 * 513 + 4, 16 * 100], 1)]
    assert arguments == [64, 513, 2, 128, 100, 0, 2, 100, 1], arguments
    best = roof.choose([3, 1, 2, 9, 8], lambda one: one, lambda one: -one)
    assert best == 8, best


def tasks_come_once_with_the_dearest_first():
    some = cases.cases_of("smoke") + cases.cases_of("smoke")
    tasks = precompile.tasks_of(some, lambda case: case.operator, lambda case: "peer")
    kinds = [task.get("modes", ["roof"]) for task in tasks]
    assert kinds == [["autotuned"]] * 2 + [["compiled"]] * 3 + [["roof"]] * 3, kinds


def options_that_make_no_sense_are_refused():
    for words in (["--device", "cuda"],
                  ["--device", "cuda", "--out", "x", "--tier", "transposes", "own.croft"],
                  ["--device", "cuda", "--out", "x", "--peer", "p.py"],
                  ["--device", "cuda", "--out", "x", "--plant", "0.9"]):
        with contextlib.redirect_stderr(io.StringIO()):
            try:
                command.parse(words)
            except SystemExit as error:
                assert error.code == 2, words
                continue
        raise AssertionError(f"{words} are taken")
    options = command.parse(["--device", "cuda", "--out", "x", "--random-shapes", "5"])
    assert options.tier == "random" and options.random_shapes == 5


def lines_of_the_raw_file_are_json():
    for path in SCRATCH.glob("*/raw.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert "record" in json.loads(line), path


TESTS = [gates_have_66_cases_in_their_strata, random_shapes_are_those_of_their_seed,
         examples_move_what_the_peer_moves, kernel_heads_are_read,
         transposes_are_16_with_the_owners_that_were_found,
         replays_last_long_enough_on_buffers_of_their_own,
         rounds_go_there_and_back_and_cancel_drift, a_case_has_all_arms_phases_and_ratios,
         a_planted_tenth_is_seen, an_unstable_case_is_measured_again_and_kept,
         a_moved_clock_is_measured_again, a_failed_arm_is_kept_and_the_run_has_failed,
         a_case_without_memory_stays_as_failed, a_spent_budget_stops_and_resume_goes_on,
         another_device_or_source_is_not_taken_up, a_peer_slower_than_its_record_voids_the_run,
         a_family_has_16_to_96_kernels_of_their_own, tasks_come_once_with_the_dearest_first,
         options_that_make_no_sense_are_refused, lines_of_the_raw_file_are_json]


def main():
    failed = 0
    for test in TESTS:
        name = test.__name__
        try:
            test()
            print(f"ok {name}")
        except Exception as error:  # a case of its own each
            failed += 1
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            print(f"not ok {name}: {type(error).__name__} {error} (line {place.tb_lineno} of "
                  f"{pathlib.Path(place.tb_frame.f_code.co_filename).name})")
    sys.exit(1 if failed else 0)


main()
