#!/usr/bin/env python3
"""One arm of a comparison on a CPU: a process that computes a case when its driver says so.

    cpu_arm.py ARM LIBRARY      commands on the standard input, answers on the standard output

A command and its answer are a line of JSON each (cpu.py sends them):

    {"do": "load", "case": {...}, "folder": F}  -> {"error_ulp", "error_row_ulp", "call_us", "plan"}
    {"do": "round", "calls": 40}                -> {"us": 12.5, "faults": 0, "between_us": 60}
    {"do": "drop"}                              -> {}
    what goes wrong                             -> {"failed": "why"}

`us` is of a call, over 40; `between_us` the processor time that the process used since its last
round. Between commands it sleeps in a read. A kernel may wake a thread beside its waker and leave
both on one processor, so after loading the threads that worked most are put on a processor each, in
every arm alike (place). A round begins with untimed calls (LEAD_S), which wake its
threads. Inputs are read from files of the folder into memory of the process; `exact`, the result in
float64, stays a mapped file. Outputs are the arm's own and have been written before any round.
"""
import ctypes
import gc
import json
import mmap
import os
import pathlib
import resource
import sys
import time

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cpu_native  # noqa: E402
from cpu_problem import numpy_type  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LEAD_S = 0.001
PLACED_S = 0.030     # of calls, in which threads show that they work
PLACED_PART = 0.05   # of all processor time: less is no work
HUGE = 1 << 21
OPERANDS = {"sum": ["x"], "softmax": ["x"], "rmsnorm": ["x", "weight"],
            "layernorm": ["x", "weight", "bias"],
            "residual_layernorm": ["x", "residual", "weight", "bias"],
            "cross_entropy": ["x", "label"]}
REDUCED = ("sum", "cross_entropy")


def thread_times():
    """Nanoseconds of processor time of each thread of this process."""
    times = {}
    for name in os.listdir("/proc/self/task"):
        try:  # clock_gettime's number for the clock of a thread
            times[int(name)] = time.clock_gettime_ns(~int(name) << 3 | 6)
        except OSError:
            pass  # has ended
    return times


def displace(processors):
    """Lets all threads run on all processors again."""
    for thread in os.listdir("/proc/self/task"):
        try:
            os.sched_setaffinity(int(thread), processors)
        except OSError:
            pass  # has ended


def place(call, processors):
    """Puts the threads that work most in calls on a processor each; how many there are."""
    before, end = thread_times(), time.perf_counter() + PLACED_S
    while time.perf_counter() < end:
        call()
    used = {one: at - before.get(one, 0) for one, at in thread_times().items()}
    least = PLACED_PART * sum(used.values())
    working = sorted((one for one in used if used[one] > least), key=used.get, reverse=True)
    for thread, processor in zip(working, processors):
        os.sched_setaffinity(thread, {processor})
    return min(len(working), len(processors))


def aligned(shape, dtype):
    """Zeros of memory that begins at a boundary of 2 MB and has been touched: of every arm alike,
    huge pages where the system gives them."""
    size = int(numpy.prod(shape)) * numpy.dtype(dtype).itemsize
    memory = mmap.mmap(-1, size + HUGE)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        memory.madvise(mmap.MADV_HUGEPAGE)
    whole = numpy.frombuffer(memory, numpy.uint8)
    begin = -whole.ctypes.data % HUGE
    array = whole[begin:begin + size].view(dtype).reshape(shape)
    array[...] = 0
    return array


class Problem:
    """The arrays of a case in this process."""

    def __init__(self, case, folder):
        self.operator, self.dtype = case["operator"], case["dtype"]
        self.rows, self.width = case["rows"], case["width"]
        self.folder = pathlib.Path(folder)
        kind = numpy_type(self.dtype)
        shapes = {"x": (self.rows, self.width), "residual": (self.rows, self.width),
                  "weight": (self.width,), "bias": (self.width,), "label": (self.rows,)}
        self.inputs = {}
        for name in OPERANDS[self.operator]:
            array = aligned(shapes[name], numpy.int64 if name == "label" else kind)
            with open(self.folder / name, "rb") as file:
                file.readinto(memoryview(array.reshape(-1).view(numpy.uint8)))
            self.inputs[name] = array
        reduced = self.operator in REDUCED
        self.out_shape = (self.rows,) if reduced else (self.rows, self.width)
        self.out_dtype = self.dtype
        self.kind = kind

    def output(self, dtype=None):
        return aligned(self.out_shape, dtype or self.kind)

    def errors(self, native, got):
        """Errors of an output (an array) in ulp of its type."""
        exact = numpy.memmap(self.folder / "exact", numpy.float64, "r", shape=self.out_shape)
        got = numpy.ascontiguousarray(got)
        if got.shape != self.out_shape:
            raise ValueError(f"the output has the shape {got.shape}")
        dtype = "f32" if got.dtype == numpy.float32 else self.dtype
        rows, width = self.out_shape if len(self.out_shape) == 2 else (1, self.rows)
        return native.ulp_errors(got.ctypes.data, exact.ctypes.data, rows, width, dtype)


class Arm:
    """load() makes what call() runs; result() is the array that it wrote."""
    checks = True
    plan = None

    def __init__(self, native):
        self.native = native

    def load(self, problem):
        raise NotImplementedError

    def run(self, calls):
        """Microseconds of a call, over so many of them."""
        call = self.call
        begin = time.perf_counter_ns()
        for _ in range(calls):
            call()
        return (time.perf_counter_ns() - begin) * 1e-3 / calls

    def lead(self):
        end = time.perf_counter() + LEAD_S
        self.call()
        while time.perf_counter() < end:
            self.call()


class Torch(Arm):
    """Tensors over the problem's memory, called as in peer_rows.py."""

    def __init__(self, native):
        super().__init__(native)
        import peer_rows
        import torch
        self.torch, self.peers = torch, peer_rows
        torch.set_num_threads(len(native.processors))
        torch.set_grad_enabled(False)

    def tensor(self, array):
        torch = self.torch
        if array.dtype.itemsize == 2:  # torch reads no bf16 of NumPy: the same bytes as integers
            words = torch.from_numpy(array.view(numpy.int16))
            return words.view(torch.bfloat16 if "bfloat" in array.dtype.name else torch.float16)
        return torch.from_numpy(array)

    def arguments(self, problem):
        given = {name: self.tensor(array) for name, array in problem.inputs.items()}
        for name in ("residual", "weight", "bias", "label"):
            given.setdefault(name, given["x"][:1, :1])  # named by the signature, not used
        given["y"] = given["s"] = self.tensor(problem.output())
        return given

    def array(self, tensor):
        tensor = tensor.detach()
        if tensor.dtype == self.torch.bfloat16:
            return tensor.view(self.torch.int16).numpy().view(numpy_type("bf16"))
        return tensor.numpy()


class Eager(Torch):
    def load(self, problem):
        given, function = self.arguments(problem), self.peers.EAGER[problem.operator]
        self.call = lambda: function(given)
        self.result = lambda: self.array(function(given))


class Compiled(Torch):
    def load(self, problem):
        torch, peers = self.torch, self.peers
        torch._dynamo.reset()
        function = torch.compile(peers.FUNCTION[problem.operator], fullgraph=True, dynamic=False)
        given = self.arguments(problem)
        out = given[peers.OUTPUT[problem.operator]]
        words = [given[name] for name in ("x", "residual", "weight", "bias", "label")]
        self.call = lambda: function(*words, out)
        self.result = lambda: self.array(out)


class Onnx(Arm):
    def __init__(self, native):
        super().__init__(native)
        import onnxruntime
        self.runtime = onnxruntime

    def session(self, model, options):
        return self.runtime.InferenceSession(model, options, ["CPUExecutionProvider"])

    def load(self, problem):
        import cpu_onnx
        onnxruntime = self.runtime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = len(self.native.processors)
        options.inter_op_num_threads = 1
        if os.environ.get("CROFT_BENCH_SPIN") != "1":
            options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        words = problem.operator, problem.dtype, problem.rows, problem.width
        try:
            session = self.session(cpu_onnx.model_of(*words), options)
        except Exception:  # its exceptions have no common class of their own
            if problem.operator != "rmsnorm":
                raise
            session = self.session(cpu_onnx.model_of(*words, older=True), options)
        binding = session.io_binding()
        for name, array in problem.inputs.items():
            binding.bind_input(name, "cpu", 0, self.element(array), array.shape, array.ctypes.data)
        output = problem.output()
        binding.bind_output("y", "cpu", 0, self.element(output), output.shape, output.ctypes.data)
        self.keep = session, problem
        self.call = lambda: session.run_with_iobinding(binding)
        self.result = lambda: output

    @staticmethod
    def element(array):
        import cpu_onnx
        return cpu_onnx.BFLOAT16 if "bfloat" in array.dtype.name else array.dtype.type


class Jax(Arm):
    """No output can be handed in: each call makes one, of memory that its allocator kept."""

    def __init__(self, native):
        super().__init__(native)
        import jax
        self.jax = jax

    def function(self, operator):
        jax, numbers = self.jax, self.jax.numpy

        def norm(t, w, b):
            d = t - numbers.mean(t, -1, keepdims=True)
            variance = numbers.mean(d * d, -1, keepdims=True)
            return d * jax.lax.rsqrt(variance + 1e-5) * w + b

        def rmsnorm(x, w):
            return x * jax.lax.rsqrt(numbers.mean(x * x, -1, keepdims=True) + 1e-5) * w

        def cross_entropy(x, label):
            chosen = numbers.take_along_axis(x, label[:, None], -1)[:, 0]
            return jax.nn.logsumexp(x, axis=-1) - chosen

        return {"sum": lambda x: numbers.sum(x, -1), "softmax": lambda x: jax.nn.softmax(x, -1),
                "rmsnorm": rmsnorm, "layernorm": norm, "cross_entropy": cross_entropy,
                "residual_layernorm": lambda x, r, w, b: norm(x + r, w, b)}[operator]

    def load(self, problem):
        jax = self.jax
        given = [jax.device_put(array.astype(numpy.int32) if name == "label" else array)
                 for name, array in problem.inputs.items()]
        function = jax.jit(self.function(problem.operator)).lower(*given).compile()
        self.call = lambda: function(*given).block_until_ready()
        self.result = lambda: numpy.asarray(function(*given))


class Croft(Torch):
    """`k(x, out=y)` with tensors of PyTorch."""

    def __init__(self, native):
        super().__init__(native)
        sys.path.insert(0, str(ROOT / "python"))
        import croft
        self.croft = croft

    def load(self, problem):
        kernel = self.croft.load(str(ROOT / "examples" / f"{problem.operator}.croft"))
        inputs = tuple(self.tensor(array) for array in problem.inputs.values())
        whole = problem.operator == "cross_entropy"  # its loss is f32 whatever the logits are
        output = self.tensor(problem.output(numpy.float32 if whole else None))
        self.bound = kernel.bind(*inputs, out=output)
        self.plan = self.bound.plan
        self.prepare(kernel, inputs, output)
        self.result = lambda: self.array(output)

    def prepare(self, kernel, inputs, output):
        if len(inputs) == 1:
            x, = inputs
            self.call = lambda: kernel(x, out=output)
        else:
            self.call = lambda: kernel(*inputs, out=output)


class Planted(Croft):
    """Croft that takes a given part longer: after each call it waits, doing nothing."""

    def prepare(self, kernel, inputs, output):
        super().prepare(kernel, inputs, output)
        self.part = float(os.environ["CROFT_BENCH_PLANTED"]) - 1.0

    def run(self, calls):
        call, begin = self.call, time.perf_counter_ns()
        for _ in range(calls):
            call()
        end = time.perf_counter_ns()
        until = end + self.part * (end - begin)
        while time.perf_counter_ns() < until:
            pass
        return (time.perf_counter_ns() - begin) * 1e-3 / calls


class CroftC(Croft):
    """Without what a Python call with tensors costs, two names in one process: croft_launch in a
    loop of C (croft_c), and `d()` of `d = k.bind(x, out=y)` (croft_bound), whose tensors are fixed
    as those of ONNX Runtime's binding are."""

    def prepare(self, kernel, inputs, output):
        library = ctypes.CDLL(str(croft_library()))
        self.launch = ctypes.cast(library.croft_launch, ctypes.c_void_p).value
        self.dispatch = self.bound.dispatch.pointer.value
        self.call = self.bound
        self.parts = {"croft_c": self.run_c, "croft_bound": self.run}

    def run_c(self, calls):
        time_ns = self.native.launches(self.launch, self.dispatch, calls)
        if time_ns < 0:
            raise RuntimeError("croft_launch failed")
        return time_ns * 1e-3 / calls

    def run_part(self, part, calls):
        return self.parts[part](calls)


def croft_library():
    from croft import _library
    return _library.path


class Roofs(Arm):
    """What memory gives for the case's bytes, and the hand-written kernels: several names, one
    process. Of each roof the fastest of a few distances of prefetch is taken."""
    checks = False
    AHEAD = (0, 512, 2048, 8192)

    def load(self, problem):
        size = problem.inputs["x"].nbytes // 256 * 256
        reads = [array for name, array in problem.inputs.items() if name in ("x", "residual")]
        out = aligned(problem.inputs["x"].shape, problem.kind)
        addresses = [array.ctypes.data for array in (*reads, out)]
        self.keep = problem, out
        self.parts, self.plan = {}, {}
        for kind in ("nt", "copy", "read"):
            def run(passes, ahead, kind=kind):
                scale = problem.inputs["x"].nbytes / max(size, 1)
                return scale * self.native.roof(kind, addresses, len(reads), 1, size, ahead, passes)
            few = max(1, int(2e7 / max(size, 4096) / 3))
            ahead = min(self.AHEAD, key=lambda ahead: min(run(few, ahead) for _ in range(3)))
            self.plan[f"roof_{kind}"] = f"{kind}, prefetch {ahead}"
            self.parts[f"roof_{kind}"] = lambda passes, run=run, ahead=ahead: run(passes, ahead)
        if size == 0:
            self.parts = {}
        if self.native.has_hand(problem.operator, problem.dtype):
            arrays = [array.ctypes.data for array in (*problem.inputs.values(), out)]
            self.parts["hand"] = lambda passes: self.native.hand(
                problem.operator, arrays, problem.rows, problem.width, passes)
            self.parts["hand"](1)
            self.hand_errors = problem.errors(self.native, out)

    def run_part(self, part, calls):
        return self.parts[part](calls) * 1e-3 / calls


ARMS = {"croft": Croft, "control": Croft, "planted": Planted, "croft_c": CroftC, "eager": Eager,
        "compiled": Compiled, "onnxruntime": Onnx, "jax": Jax, "roofs": Roofs}


class Session:
    """The state between commands."""

    def __init__(self, name, native):
        self.arm, self.native, self.ended = ARMS[name](native), native, time.process_time()

    def load(self, command):
        problem = Problem(command["case"], command["folder"])
        displace(self.native.processors)
        self.arm.load(problem)
        if not self.arm.checks:
            parts = {part: self.arm.run_part(part, 1) for part in self.arm.parts}
            answer = {"parts": parts, "plan": self.arm.plan}
            if "hand" in parts:
                answer["hand_errors"] = self.arm.hand_errors
            return answer
        self.arm.call()
        errors = problem.errors(self.native, self.arm.result())
        placed = place(self.arm.call, self.native.processors)
        self.arm.lead()
        times = [self.arm.run(1) for _ in range(5)]
        gc.collect()
        return {"error_ulp": errors[0], "error_row_ulp": errors[1], "plan": self.arm.plan,
                "placed": placed, "call_us": sorted(times)[2],
                "parts": list(getattr(self.arm, "parts", ()))}

    def round(self, command):
        between = (time.process_time() - self.ended) * 1e6
        answer = {**self.timed(command), "between_us": between}
        self.ended = time.process_time()
        return answer

    def timed(self, command):
        if not self.arm.checks:
            return {"us": self.arm.run_part(command["part"], command["calls"]), "faults": 0}
        self.arm.lead()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        gc.disable()  # what is collected in a round would be part of it
        part, calls = command.get("part"), command["calls"]
        time_us = self.arm.run_part(part, calls) if part else self.arm.run(calls)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        gc.enable()
        return {"us": time_us, "faults": faults}

    def drop(self, _):
        self.arm = type(self.arm)(self.native)
        return {}


def serve(name, library):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever a framework prints goes with the errors
    processors = sorted(os.sched_getaffinity(0))
    try:
        session = Session(name, cpu_native.Native(library, processors))
        answers.write(json.dumps({"ready": name}) + "\n")
    except Exception as error:  # an import that fails is the answer
        answers.write(json.dumps({"failed": f"{type(error).__name__}: {error}"}) + "\n")
        return 1
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(session, command["do"])(command)
        except Exception as error:  # a case that fails is told and the next one asked
            answer = {"failed": f"{type(error).__name__}: {str(error)[:600]}"}
        answers.write(json.dumps(answer) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(serve(sys.argv[1], sys.argv[2]))
