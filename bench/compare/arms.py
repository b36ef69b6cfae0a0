"""The arms of a case on a CUDA device: who is called, with which of the rotated buffers.

    croft      the kernel, called through the package: kernel(x, out=y)
    control    the same text, compiled by another kernel object: what differs is noise
    eager, compiled, autotuned   the peer's forms (peers.py); further ones by its own names
    roof       the best plain kernel of the same bytes and mix (roof.py), for cold or hot buffers

An arm is a call without arguments for each set of buffers. All arms read the same inputs. One that
cannot be made or called, or whose outputs are wrong, has failed: it keeps its name and says why.
"""
import dataclasses
import functools
import math
import pathlib
import time

import torch

from . import outputs, peers, roof
from .kernel_file import read_kernel

# What kernels call the tensors that the peer's `make` calls otherwise.
NAMES = {"logits": "x", "w": "weight", "b": "bias", "loss": "s"}


@dataclasses.dataclass
class Arm:
    name: str
    calls: list = dataclasses.field(default_factory=list)
    written: object = None   # set -> tensors that a call writes, or None: what it returns
    failure: str | None = None
    is_croft: bool = False
    facts: dict = dataclasses.field(default_factory=dict)

    def record(self, case):
        return {"record": "arm", "case": case.id, "arm": self.name,
                "status": "failed" if self.failure else "ok", "why": self.failure, **self.facts}

    def fail(self, error):
        self.failure = f"{type(error).__name__}: {error}"[:2000]
        self.calls = []


class Subject:
    """A kernel file and its peer: what a run is about, with one case after another."""

    def __init__(self, path, peer):
        self.path, self.peer = pathlib.Path(path), peer
        self.text = self.path.read_text(encoding="utf-8")
        self.kernel = read_kernel(self.text)
        self.operator = self.kernel.name

    def made(self, croft, case, note=""):
        """The kernel as it is called: with what it takes by name for this case."""
        kernel = croft.compile(self.text + note, name=str(self.path), kernel=self.operator)
        named = peers.kernel_arguments(self.peer, self.operator, case)
        return kernel.with_(**named) if named else kernel

    def buffers(self, case, device):
        """One set: what the peer makes, or random numbers for each tensor of the kernel."""
        if self.peer:
            found = self.peer.make(*case.axes, peers.DTYPES[case.dtype], device)
        else:
            found = {}
            for name, shape in self.kernel.shapes(case.axes).items():
                tensor = next(one for one in self.kernel.tensors if one.name == name)
                found[name] = random(shape, self.kernel.dtype(tensor, case.dtype), case.width,
                                     device)
        return self.with_own_outputs(found, case, device)

    def with_own_outputs(self, found, case, device):
        """Adds `croft:NAME` where the kernel's output is of another type than the peer's."""
        shapes = self.kernel.shapes(case.axes)
        for index, tensor in enumerate(self.kernel.outputs()):
            dtype = peers.DTYPES[self.kernel.dtype(tensor, case.dtype)]
            name = self.output_name(index, tensor)
            if name not in found or found[name].dtype != dtype:
                found["croft:" + tensor.name] = torch.empty(shapes[tensor.name], dtype=dtype,
                                                            device=device)
        return found

    def output_name(self, index, tensor):
        if not self.peer:
            return tensor.name
        return peers.output_names(self.peer, self.operator)[index]

    def inputs(self, buffers):
        return [self.tensor(buffers, tensor) for tensor in self.kernel.inputs()]

    def tensor(self, buffers, tensor):
        name = tensor.name if tensor.name in buffers else NAMES.get(tensor.name, tensor.name)
        return buffers[name]

    def outputs(self, buffers):
        """The kernel's outputs, in its order."""
        return [buffers["croft:" + tensor.name] if "croft:" + tensor.name in buffers
                else buffers[self.output_name(index, tensor)]
                for index, tensor in enumerate(self.kernel.outputs())]

    def whole(self, buffers, case):
        """The whole tensors read and written: what the roof moves."""
        whole = self.kernel.whole(case.axes)
        reads = [self.tensor(buffers, one) for one in whole if one in self.kernel.inputs()]
        outs = dict(zip((one.name for one in self.kernel.outputs()), self.outputs(buffers)))
        writes = [outs.get(one.name, buffers.get(one.name)) for one in whole
                  if one in self.kernel.named("out")]
        return reads[:len(case.reads)], writes[:len(case.writes)]


def random(shape, dtype, width, device):
    kind = peers.DTYPES[dtype]
    if kind.is_floating_point:
        return torch.randn(shape, device=device).to(kind)
    low, high = (0, width) if dtype in ("i32", "i64") else (0, 100)
    return torch.randint(low, max(1, high), shape, device=device).to(kind)


class Stand:
    """A case's buffers and arms; `roofs` chooses its plain kernel."""

    def __init__(self, device, subject, case, count, croft, roofs, only=None):
        self.device, self.subject, self.case, self.roofs = device, subject, case, roofs
        self.croft = croft
        self.sets = [subject.buffers(case, device.place) for _ in range(count)]
        self.device.synchronize()
        self.references = {}
        makers = {"croft": self.croft_calls, "control": self.croft_calls}
        if subject.peer:
            torch._dynamo.reset()
            for name, forms in peers.plain_forms(subject.peer).items():
                makers[name] = functools.partial(self.plain_calls, forms)
            makers["compiled"] = functools.partial(self.compiled_calls, "compiled")
            if case.autotuned:
                makers["autotuned"] = functools.partial(self.compiled_calls, "autotuned")
        makers["roof"] = self.roof_calls
        torch.compiler.set_stance("default")
        self.arms = [self.make(name, maker) for name, maker in makers.items()
                     if only is None or name in only]
        torch.compiler.set_stance("fail_on_recompile")  # it would be measured in place of a call

    def make(self, name, maker):
        arm = Arm(name)
        try:
            begin = time.perf_counter()
            maker(arm)
            arm.calls[0]()
            self.device.synchronize()
            arm.facts["prepare_s"] = round(time.perf_counter() - begin, 3)
        except Exception as error:  # whatever a peer or a compiler raises: it is told, and kept
            arm.fail(error)
        return arm

    def plan_arm(self, name, text):
        """An arm that runs this plan (regret.py)."""
        return self.make(name, functools.partial(self.plan_calls, text))

    def plan_calls(self, text, arm):
        kernel = self.subject.made(self.croft, self.case)
        self.kernel_calls(kernel.with_(plan=text), arm)

    def croft_calls(self, arm):
        kernel = self.subject.made(self.croft, self.case, f"\n# {arm.name}\n")
        self.kernel_calls(kernel, arm)
        if arm.name == "croft":
            arm.facts["plan"] = kernel.plan(*self.subject.inputs(self.sets[0]),
                                            out=self.out(self.sets[0]))

    def kernel_calls(self, kernel, arm):
        """The calls of a kernel of Croft, and that its outputs have to be as good as Croft's."""
        arm.calls = [functools.partial(kernel, *self.subject.inputs(buffers),
                                       out=self.out(buffers)) for buffers in self.sets]
        arm.written, arm.is_croft = self.subject.outputs, True

    def out(self, buffers):
        """What a call takes as `out`."""
        outs = self.subject.outputs(buffers)
        return outs[0] if len(outs) == 1 else tuple(outs) if outs else None

    def plain_calls(self, forms, arm):
        arm.facts["peer"] = True
        call = forms[self.subject.operator]
        arm.calls = [functools.partial(call, buffers) for buffers in self.sets]

    def compiled_calls(self, mode, arm):
        peer, operator = self.subject.peer, self.subject.operator
        arm.facts["peer"] = mode == "compiled"
        function = peers.compiled(peer, operator, mode)
        arm.calls = [functools.partial(function, *peers.arguments_of(peer, operator, buffers))
                     for buffers in self.sets]
        arm.written = functools.partial(self.peer_outputs, peer, operator)

    def peer_outputs(self, peer, operator, buffers):
        return [buffers[name] for name in peers.output_names(peer, operator)]

    def roof_calls(self, arm):
        self.choose_roof(arm, self.case.judged, len(self.sets))

    def choose_roof(self, arm, warmth, count):
        """Takes the best plain kernel for this warmth of buffers; again for the other warmth."""
        whole = [self.subject.whole(buffers, self.case) for buffers in self.sets]
        variant, arm.calls = self.roofs.best(self.case, whole, warmth, count)
        arm.facts["roof_kernel"] = variant.name
        arm.facts.setdefault("roof_kernels", {})[warmth] = variant.name

    def reference(self, index):
        if index not in self.references:
            self.references[index] = peers.reference(self.subject.peer, self.subject.operator,
                                                     self.sets[index])
        return self.references[index]

    def check(self, arm, index, run, made=None):
        """Poisons the outputs of a set, runs, compares them in full, and notes the error.

        An arm that makes its outputs returns them, or has `made` them: what the last launch of a
        graph gave, and gives again whenever it is replayed.
        """
        if arm.name == "roof" or not self.subject.peer or arm.failure:
            return
        buffers = self.sets[index]
        own = arm.written(buffers) if arm.written else \
            self.peer_outputs(self.subject.peer, self.subject.operator, buffers) + listed(made)
        for tensor in own:
            outputs.poison(tensor)
        result = run()
        self.device.synchronize()
        found = arm.written(buffers) if arm.written else listed(result if made is None else made)
        worst, bound = arm.facts.get("error_ulp") or 0.0, 0
        for output, wanted in zip(found, self.reference(index), strict=True):
            if peers.is_exact(self.subject.peer):
                worst = max(worst, math.inf if outputs.differing(output, wanted) else 0.0)
                continue
            worst = max(worst, outputs.error_ulp(output, wanted))
            bound = max(bound, outputs.BOUND.get(output.dtype, 0))
        bound *= 1 if arm.is_croft else outputs.PEER_BOUND
        arm.facts["error_ulp"] = worst if math.isfinite(worst) else None  # JSON has no infinity
        arm.facts["error_bound"] = bound
        if worst > bound:
            arm.fail(ArithmeticError(f"an output is {worst:.3g} ulp from float64, bound {bound}"
                                     if bound else "an output differs in its bits"))

    def close(self):
        torch.compiler.set_stance("default")
        self.arms, self.sets, self.references = [], [], {}


class Roofs:
    """Plain kernels of every mix, compiled once, and which was best for which bytes."""

    LOAD_S = 0.1    # before a screening, so that its first variant has the clock of the last
    SCREENED = 100  # launches of a replay while the family is screened

    def __init__(self, device, cache):
        self.device, self.cache, self.modules, self.found = device, pathlib.Path(cache), {}, {}
        self.sink = torch.zeros(1024, dtype=torch.int32, device=device.place)

    def module(self, reads, writes, few):
        key = (reads, writes, few)
        if key not in self.modules:
            variants = roof.family(writes, few)
            cubin = roof.cubin(variants, reads, writes, self.device.architecture, self.cache)
            self.modules[key] = (variants, self.device.driver.load(cubin))
        return self.modules[key]

    def calls(self, module, variant, whole):
        """A call for each set: (tensors read, tensors written)."""
        driver = self.device.driver
        function = driver.function(module, variant.name)
        return [driver.launch(function, *self.shape(variant, tensors),
                              roof.arguments(variant, [t.data_ptr() for t in sum(tensors, [])],
                                             sizes_of(tensors), self.sink.data_ptr()),
                              current_stream) for tensors in whole]

    def shape(self, variant, tensors):
        return variant.grid(max(sizes_of(tensors)), self.device.processors), variant.threads

    def best(self, case, whole, warmth, count):
        """(variant, calls for all sets), of a screening on these buffers."""
        variants, module = self.module(len(case.reads), len(case.writes), case.is_few)
        key = (case.reads, case.writes, warmth)
        if key not in self.found:
            cold = warmth == "cold"
            self.device.load(self.LOAD_S, time.perf_counter)
            screened = whole[:min(count, self.SCREENED)] if cold else whole[:1] * self.SCREENED

            def time_us(variant, again=1):
                graph = self.device.graph(self.calls(module, variant, screened))
                best = min(graph.time_us(cold) for _ in range(2 * again))
                graph.close()
                return best

            self.found[key] = roof.choose(variants, time_us, lambda one: time_us(one, 4))
        variant = self.found[key]
        return variant, self.calls(module, variant, whole)


def listed(result):
    """The tensors of what a call returns."""
    return [] if result is None else list(result) if isinstance(result, tuple) else [result]


def sizes_of(tensors):
    return [tensor.numel() * tensor.element_size() for tensor in sum(tensors, [])]


def current_stream():
    return torch.cuda.current_stream().cuda_stream
