"""The arms of bench/compare with PyTorch: buffers, peers, checked outputs, and the layer over CUDA.

tier: check-long
builds: none

There is no device here: buffers lie in the memory of the process, Croft is played by PyTorch's own
functions, and CUDA's graphs, streams and events by a few lines that call what was captured. What is
tested is that every arm is called with its buffers, that the outputs are compared in full, that a
wrong or missing one fails its arm, and that the peer is compiled once. Skips without PyTorch.
"""
import contextlib
import functools
import os
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
SCRATCH = pathlib.Path(os.environ["CROFT_SCRATCH"])
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(SCRATCH / "inductor")
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"

try:
    import torch
except ImportError:
    print("PyTorch is not installed")
    sys.exit(77)

from compare import arms, cases, cuda, measuring, outputs, peers, raw, regret  # noqa: E402
from compare.course import Course  # noqa: E402

ENVIRONMENT = {"record": "environment", "format": raw.FORMAT, "device": "pretended", "driver": "1",
               "versions": {}, "sources": {}}
calls_of_croft = []


class PretendedCroft:
    """`compile` gives a kernel that PyTorch computes; `factor` makes its outputs wrong."""

    def __init__(self, operator, factor=1.0):
        self.operator, self.factor = operator, factor

    def compile(self, text, name, kernel):
        assert kernel == self.operator

        def made(*tensors, out):
            calls_of_croft.append(out.data_ptr())
            wide = [tensor.double() if tensor.dtype.is_floating_point else tensor
                    for tensor in tensors]
            names = {"softmax": ["x"], "residual_layernorm": ["x", "residual", "weight", "bias"],
                     "cross_entropy": ["x", "label"]}[self.operator]
            known = dict.fromkeys(["x", "residual", "weight", "bias", "label"])
            known.update(zip(names, wide, strict=True))
            result = torch.empty(out.shape, dtype=torch.float64)
            peers.load().FUNCTION[self.operator](*known.values(), result)
            out.copy_(result * self.factor)
            return out

        made.plan = lambda *tensors, out: "a plan"
        made.with_ = lambda plan: functools.partial(self.run_plan, made, plan)
        return made

    def run_plan(self, kernel, plan, *tensors, out):
        kernel(*tensors, out=out)
        if plan == "a wrong plan":
            out.mul_(1.1)
        return out


class PretendedTranspose:
    """The kernel of transposes; `right` leaves the sign of zeros as it was."""

    def __init__(self, right=True):
        self.right, self.named = right, []

    def compile(self, text, name, kernel):
        assert kernel == "transpose"

        def made(source, out):
            moved = source.transpose(1, 2)
            return out.copy_(moved if self.right else torch.where(moved == 0, 0.0, moved))

        made.plan = lambda source, out: "a plan"
        made.with_ = lambda **named: self.named.append(named) or made
        return made


class PretendedCuda:
    """torch.cuda, as far as cuda.py takes it: a graph is the calls that were made into it."""

    def __init__(self):
        self.events = 0
        self.properties = types.SimpleNamespace(
            name="pretended", major=9, minor=0, L2_cache_size=4096, total_memory=1 << 30,
            multi_processor_count=4, uuid="0")

    def set_device(self, index):
        pass

    def init(self):
        pass

    def synchronize(self):
        pass

    def empty_cache(self):
        pass

    def get_device_properties(self, index):
        return self.properties

    def Stream(self):  # noqa: N802 (its name there)
        return types.SimpleNamespace(cuda_stream=7)

    def current_stream(self):
        return self.Stream()

    def stream(self, stream):
        return contextlib.nullcontext()

    def CUDAGraph(self):  # noqa: N802
        graph = types.SimpleNamespace(state="new", replays=0)
        graph.capture_begin = lambda capture_error_mode: setattr(graph, "state", "capturing")
        graph.capture_end = lambda: setattr(graph, "state", "captured")
        graph.reset = lambda: setattr(graph, "state", "reset")

        def replay():
            assert graph.state == "captured", graph.state
            graph.replays += 1
        graph.replay = replay
        return graph


class PretendedDriver:
    def __init__(self, inside_works=True):
        self.recorded, self.inside_works = [], inside_works

    def event(self):
        return object()

    def free_event(self, event):
        pass

    def record(self, event, stream, inside):
        if inside and not self.inside_works:
            raise RuntimeError("cuEventRecordWithFlags: CUDA_ERROR_NOT_SUPPORTED (801)")
        self.recorded.append((stream, inside))

    def elapsed_us(self, begin, end):
        return 950.0 if self.recorded[-1][1] else 1000.0

    def load(self, cubin):
        return cubin

    def function(self, module, name):
        return name

    def launch(self, function, grid, block, arguments, stream):
        assert grid >= 1 and block % 32 == 0 and stream is arms.current_stream
        return lambda: None


@contextlib.contextmanager
def pretended_cuda(driver):
    """cuda.py with a torch whose CUDA is pretended and whose buffers lie here."""
    fake, real = PretendedCuda(), cuda.torch
    here = types.SimpleNamespace(**{name: getattr(torch, name) for name in ("float32", "sum")})
    here.cuda, here.__version__ = fake, torch.__version__
    here.version = types.SimpleNamespace(cuda="0")
    here.ones = lambda count, device, dtype: torch.ones(count, dtype=dtype)
    here.empty = lambda shape, device, dtype: torch.empty(shape, dtype=dtype)
    cuda.torch, made = here, cuda.Driver
    cuda.Driver, triton = lambda: driver, cuda.triton_version
    cuda.triton_version = lambda: "0"
    try:
        device = cuda.Device()
        device.place = "cpu"
        yield device
    finally:
        cuda.torch, cuda.Driver, cuda.triton_version = real, made, triton


def subject(operator):
    return arms.Subject(ROOT / "examples" / f"{operator}.croft", peers.load())


def stand(device, operator, dtype, shape, croft, only=None, count=2):
    case = cases.row_case(operator, dtype, shape)
    roofs = arms.Roofs(device, SCRATCH / "roofs")
    roofs.module = lambda reads, writes, few: (arms.roof.family(writes, few), b"module")
    return arms.Stand(device, subject(operator), case, count, croft, roofs, only)


def the_peer_is_the_one_that_was_recorded():
    rows = peers.load()
    assert rows.TENSORS_MOVED == cases.MOVED
    assert list(rows.EAGER) == list(rows.FUNCTION) == cases.OPERATORS


def outputs_are_compared_in_full():
    reference = torch.randn(100, 50, dtype=torch.float64)
    for dtype, bound in ((torch.float32, 0.51), (torch.bfloat16, 0.51), (torch.float16, 0.51)):
        exact = reference.to(dtype)
        assert outputs.error_ulp(exact, reference) < bound, dtype
        exact[99, 49] += 0.5
        assert outputs.error_ulp(exact, reference) > 50, dtype
        exact[99, 49] = float("nan")
        assert outputs.error_ulp(exact, reference) == float("inf")
    poisoned = torch.empty(7)
    outputs.poison(poisoned)
    assert outputs.error_ulp(poisoned, torch.zeros(7, dtype=torch.float64)) == float("inf")
    ones = torch.ones(4, 8, dtype=torch.float64)
    wrong = ones.float() * (1 + 2 ** -23)
    assert outputs.error_ulp(wrong, ones) == 1.0, outputs.error_ulp(wrong, ones)


def every_arm_is_checked_and_a_wrong_one_fails():
    with pretended_cuda(PretendedDriver()) as device:
        for operator, dtype in (("softmax", "f32"), ("residual_layernorm", "bf16"),
                                ("cross_entropy", "f16")):
            for factor in (1.0, 1.02 if dtype == "f32" else 1.1):
                made = stand(device, operator, dtype, "7x33", PretendedCroft(operator, factor),
                             only=("croft", "control", "eager"))
                for arm in made.arms:
                    made.check(arm, 1, arm.calls[1])
                    wrong = factor != 1.0 and arm.name != "eager"
                    assert bool(arm.failure) == wrong, (operator, arm.name, factor, arm.facts)
                assert made.arms[0].facts["plan"] == "a plan"
                made.close()


def transposes_are_compared_bit_by_bit():
    path = ROOT / "bench" / "kernels" / "transpose.croft"
    own = arms.Subject(path, peers.load(path.parent.parent / "compare" / "peer_transposes.py"))
    case = cases.row_case("transpose", "f16", "1024x4x8", own.peer.TENSORS_MOVED["transpose"])
    for right in (True, False):
        with pretended_cuda(PretendedDriver()) as device:
            croft, roofs = PretendedTranspose(right), arms.Roofs(device, SCRATCH / "roofs")
            roofs.module = lambda reads, writes, few: (arms.roof.family(writes, few), b"module")
            made = arms.Stand(device, own, case, 2, croft, roofs)
            assert [arm.name for arm in made.arms] == \
                ["croft", "control", "eager", "contiguous", "compiled", "roof"]
            for arm in made.arms:
                made.check(arm, 1, arm.calls[1])
                bad = not right and arm.name in ("croft", "control")
                assert bool(arm.failure) == bad, (arm.name, arm.failure)
                assert arm.record(case).get("peer") is \
                    (True if arm.name in ("eager", "contiguous", "compiled") else None)
            assert set(croft.named[0]) == {"S", "L", "G"}
            made.close()


def croft_writes_its_own_type():
    with pretended_cuda(PretendedDriver()) as device:
        made = stand(device, "cross_entropy", "bf16", "7x33", PretendedCroft("cross_entropy"),
                     only=("croft",))
        assert made.arms[0].written(made.sets[0])[0].dtype == torch.float32
        assert made.sets[0]["s"].dtype == torch.bfloat16
        made.close()


def compiled_forms_are_not_compiled_again():
    with pretended_cuda(PretendedDriver()) as device:
        made = stand(device, "softmax", "f32", "17x257", PretendedCroft("softmax"), count=3)
        assert [arm.name for arm in made.arms] == ["croft", "control", "eager", "compiled", "roof"]
        failures = [(arm.name, arm.failure) for arm in made.arms if arm.failure]
        assert not failures, failures
        compiled = made.arms[3]
        for call in compiled.calls:
            call()
        made.check(compiled, 2, compiled.calls[2])
        assert not compiled.failure and compiled.facts["error_ulp"] < 16, compiled.facts
        other = peers.load().make(3, 5, torch.float32, "cpu")
        try:
            compiled.calls[0].func(*peers.arguments_of(peers.load(), "softmax", other))
        except RuntimeError:
            pass
        else:
            raise AssertionError("another shape is compiled again")
        made.close()


def events_are_inside_or_said_to_be_around():
    with pretended_cuda(PretendedDriver()) as device:
        assert device.inside and device.environment()["events"] == "inside the graph"
        stream, inside = device.driver.recorded[-1]
        assert device.graph([lambda: None]).time_us(True) == 950.0 and not inside and stream == 7
    with pretended_cuda(PretendedDriver(inside_works=False)) as device:
        assert not device.inside and "801" in device.environment()["events"]
        assert device.graph([lambda: None]).time_us(False) == 1000.0


def a_capture_that_fails_ends_and_tells_why():
    def bad():
        raise ValueError("not in a capture")

    with pretended_cuda(PretendedDriver()) as device:
        try:
            device.graph([bad])
        except ValueError:
            return
    raise AssertionError("a failed capture is taken")


class Again(cuda.Graph):
    """A graph that, replayed, calls its last calls again, into where they wrote when captured."""

    def __init__(self, device, calls):
        super().__init__(device, calls)
        self.calls = calls

    def replay(self):
        result = self.calls[-1]()
        if result is not None and result is not self.last:
            self.last.copy_(result)


def a_run_has_every_arm_in_every_phase():
    with pretended_cuda(PretendedDriver()) as device:
        device.graph = functools.partial(Again, device)
        writer = raw.Writer(SCRATCH / "run", ENVIRONMENT)
        said = []

        def open_stand(case, count, only=None):
            return stand(device, case.operator, case.dtype, case.shape,
                         PretendedCroft(case.operator), only, count)

        measuring.ROUNDS, kept = (1, 2), measuring.ROUNDS
        run = Course(device, open_stand, writer,
                     measuring.Settings(phase_s=0.01, load_s=0.0, attempts=1), said.append)
        status = run.run([cases.row_case("softmax", "f32", "17x257")])
        measuring.ROUNDS = kept
        assert status == 0, said
    records = raw.read(writer.path)
    phases = {record["phase"]: set(record["arms"]) for record in records
              if record["record"] == "samples"}
    called = {"croft", "control", "eager", "compiled"}
    assert phases == {"device": called | {"roof"}, "device_cold": called | {"roof"},
                      "wall": called, "batch": called}, phases
    roof = [record for record in records if record["record"] == "arm" and record["arm"] == "roof"]
    assert set(roof[0]["roof_kernels"]) == {"hot", "cold"}, roof
    assert len(set(calls_of_croft)) > 400, "buffers are not rotated"


def plans_are_checked_and_measured():
    plans = [{"name": f"p{index}", "set": text, "storage": "", "chosen": not index, "text": text,
              "status": "ok", "why": None, "choice": {}, "predicted_us": 1.0, "causes": {}}
             for index, text in enumerate(["a plan", "a wrong plan", "another plan"])]
    with pretended_cuda(PretendedDriver()) as device:
        device.graph = functools.partial(Again, device)
        writer = raw.Writer(SCRATCH / "regret", ENVIRONMENT)

        def open_stand(case, count, only=None):
            return stand(device, case.operator, case.dtype, case.shape,
                         PretendedCroft(case.operator), ("croft", "control"), count)

        measuring.ROUNDS, kept = (1, 2), measuring.ROUNDS
        run = regret.Regret(device, open_stand, lambda case: (plans, 3), writer,
                            measuring.Settings(phase_s=0.01, load_s=0.0, attempts=1),
                            say=lambda text: None)
        status = run.run([cases.row_case("softmax", "f32", "17x257")])
        measuring.ROUNDS = kept
    rows = regret.fit_rows(raw.read(writer.path))
    assert [row["status"] for row in rows] == ["ok", "failed", "ok"], \
        [(row["status"], row["why"]) for row in rows]
    assert status == 0
    assert [row["automatic"] for row in rows] == [True, False, False]
    assert [row["measured_us"] is None for row in rows] == [False, True, False]
    assert "ulp from float64" in rows[1]["why"], rows[1]["why"]
    assert len(regret.results_of(raw.read(writer.path))) == 1


def a_file_without_a_peer_is_measured_beside_the_roof():
    with pretended_cuda(PretendedDriver()) as device:
        alone = arms.Subject(ROOT / "examples" / "swiglu.croft", None)
        case = alone.kernel.case("bf16", "5x64")
        buffers = alone.buffers(case, device.place)
        reads, writes = alone.whole(buffers, case)
        assert len(reads) == 2 and len(writes) == 1 and writes[0].dtype == torch.bfloat16
        assert len(case.reads) == 2 and case.footprint == 3 * 5 * 64 * 2


def the_peer_of_the_page_can_be_called():
    page = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    path = SCRATCH / "gated_peer.py"
    path.write_text(re.search(r"```py\n(.*?)```", page, re.DOTALL)[1], encoding="utf-8")
    peer = peers.load(path)
    head = re.search(r"`(gated\(.*?), \.\.\.\)`", page)[1]
    text = SCRATCH / "gated.croft"
    text.write_text(f"kernel {head}, T: f32 | f16) {{\n    program row: R\n    y[row, :] = "
                    "x[row, :] * sigmoid(gate[row, :] + bias[:])\n}\n", encoding="utf-8")
    own = arms.Subject(text, peer)
    case = own.kernel.case("f32", "5x64")
    assert (len(case.reads), len(case.writes)) == (2, 1), case
    buffers = own.buffers(case, torch.device("cpu"))
    wanted, = peers.reference(peer, "gated", buffers)
    own.peer.EAGER["gated"](buffers)
    assert outputs.error_ulp(buffers["y"], wanted) < 8
    assert [one.data_ptr() for one in own.inputs(buffers)] == \
        [buffers[name].data_ptr() for name in ("x", "gate", "bias")]
    assert own.outputs(buffers)[0] is buffers["y"]


TESTS = [the_peer_is_the_one_that_was_recorded, outputs_are_compared_in_full,
         every_arm_is_checked_and_a_wrong_one_fails, transposes_are_compared_bit_by_bit,
         croft_writes_its_own_type, compiled_forms_are_not_compiled_again,
         events_are_inside_or_said_to_be_around, a_capture_that_fails_ends_and_tells_why,
         a_run_has_every_arm_in_every_phase, plans_are_checked_and_measured,
         a_file_without_a_peer_is_measured_beside_the_roof, the_peer_of_the_page_can_be_called]


def main():
    arms.current_stream = lambda: 7
    failed = 0
    for test in TESTS:
        try:
            test()
            print(f"ok {test.__name__}", flush=True)
        except Exception as error:  # a case of its own each
            failed += 1
            place = error.__traceback__
            while place.tb_next:
                place = place.tb_next
            print(f"not ok {test.__name__}: {type(error).__name__} {str(error)[:300]} (line "
                  f"{place.tb_lineno} of {pathlib.Path(place.tb_frame.f_code.co_filename).name})")
    sys.exit(1 if failed else 0)


main()
