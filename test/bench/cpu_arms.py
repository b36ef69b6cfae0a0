"""The parts of a comparison on a CPU: exact results, errors in ulp, roofs, processes, rounds.

tier: check
builds: none

Needs NumPy and gcc. The arms of frameworks are not run here: processes are pretended, but for that
of the roofs, which needs none, and one whose framework cannot be imported. No time is judged.
"""
import math
import os
import pathlib
import sys
import tempfile
import types

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
from compare import cases, cpu, cpu_native, cpu_onnx, cpu_problem  # noqa: E402

SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="cpu-arms-"))
PROCESSORS = sorted(os.sched_getaffinity(0))[:2]
failures = 0


def case(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def folder():
    return pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))


def by_definition(operator, x, residual, weight, bias, label):
    """One row, number by number, with sums that do not round."""
    total, count = math.fsum, len(x)
    if operator == "sum":
        return [total(x)]
    if operator == "cross_entropy":
        return [math.log(total(math.exp(v) for v in x)) - x[label]]
    if operator == "softmax":
        return [math.exp(v) / total(math.exp(u) for u in x) for v in x]
    if operator == "rmsnorm":
        root = math.sqrt(total(v * v for v in x) / count + 1e-5)
        return [v / root * w for v, w in zip(x, weight)]
    if operator == "residual_layernorm":
        x = [v + r for v, r in zip(x, residual)]
    mean = total(x) / count
    root = math.sqrt(total((v - mean) ** 2 for v in x) / count + 1e-5)
    return [(v - mean) / root * w + b for v, w, b in zip(x, weight, bias)]


def exact_results():
    for operator in cases.OPERATORS:
        place = folder()
        cpu_problem.write(cases.row_case(operator, "f32", "5x37").record(), place, 3)
        read = {name: numpy.fromfile(place / name, numpy.float32) if (place / name).exists() else
                numpy.zeros(5 * 37) for name in ("x", "residual", "weight", "bias")}
        labels = numpy.fromfile(place / "label", numpy.int64)
        exact = numpy.fromfile(place / "exact")
        own = []
        for row in range(5):
            part = slice(37 * row, 37 * row + 37)
            x, residual = read["x"][part].tolist(), read["residual"][part].tolist()
            own += by_definition(operator, x, residual, read["weight"].tolist(),
                                 read["bias"].tolist(), labels[row])
        case(f"exact_{operator}_is_its_definition",
             len(own) == len(exact) and numpy.allclose(exact, own, rtol=1e-12, atol=1e-13), exact)
    cpu_problem.CHUNK = 64  # pieces of one row
    place = folder()
    cpu_problem.write(cases.row_case("softmax", "f16", "5x37").record(), place, 3)
    sums = numpy.fromfile(place / "exact").reshape(5, 37).sum(-1)
    case("pieces_are_whole_rows", numpy.allclose(sums, 1.0, rtol=1e-12), sums)


def ulp_errors(native):
    source = numpy.random.default_rng(1)
    exact = source.standard_normal((7, 33)) * 10.0 ** source.integers(-30, 30, (7, 33))
    for dtype, kind in (("f32", numpy.float32), ("f16", numpy.float16)):
        values = exact if dtype == "f32" else source.standard_normal((7, 33))
        got = values.astype(kind)
        errors = native.ulp_errors(got.ctypes.data, values.ctypes.data, 7, 33, dtype)
        case(f"rounding_{dtype}_is_half_an_ulp", 0.3 < errors[0] <= 0.5 and errors[1] <= 0.5,
             errors)
        units = numpy.spacing(numpy.abs(got))
        rounded = got.astype(numpy.float64)
        got[3, 4] += 3 * units[3, 4]
        errors = native.ulp_errors(got.ctypes.data, rounded.ctypes.data, 7, 33, dtype)
        case(f"three_ulp_of_{dtype}_are_three", errors[0] == 3.0 and errors[1] <= 3.0, errors)
    words = numpy.array([[0x3F80, 0x4049]], numpy.uint16)  # bf16: 1, 3.140625
    values = numpy.array([[1.0, 3.140625 + 2.0 ** -6]])
    errors = native.ulp_errors(words.ctypes.data, values.ctypes.data, 1, 2, "bf16")
    case("bf16_has_eight_bits", errors[0] == 1.0, errors)
    got = numpy.array([[1.0, numpy.nan]], numpy.float32)
    errors = native.ulp_errors(got.ctypes.data, values.ctypes.data, 1, 2, "f32")
    case("nan_is_wrong", math.isinf(errors[0]) and math.isinf(errors[1]), errors)


def aligned(count):
    """Random f32 at a boundary of 64 bytes."""
    room = numpy.empty(count + 16, numpy.float32)
    begin = -room.ctypes.data % 64 // 4
    array = room[begin:begin + count]
    array[:] = numpy.random.default_rng(count).standard_normal(count)
    return array


def roofs(native):
    size = 1 << 17
    x, residual = aligned(size // 4), aligned(size // 4)
    for kind in ("copy", "nt"):
        for reads in ([x], [x, residual]):
            for ahead in (0, 512):
                y = aligned(size // 4)
                time_ns = native.roof(kind, [one.ctypes.data for one in (*reads, y)], len(reads),
                                      1, size, ahead, 3)
                case(f"roof_{kind}_writes_all/{len(reads)}_{ahead}", time_ns > 0
                     and numpy.array_equal(y, sum(reads)))
    addresses = [one.ctypes.data for one in (x, residual)]
    case("roof_read_returns", native.roof("read", addresses, 1, 1, size, 0, 3) > 0)


def hands(native):
    for operator in ("softmax", "layernorm"):
        place = folder()
        about = cases.row_case(operator, "f32", "33x517").record()
        cpu_problem.write(about, place, 1)
        arrays = []
        for name in ("x", "weight", "bias") if operator == "layernorm" else ("x",):
            arrays.append(numpy.fromfile(place / name, numpy.float32))
        y = numpy.full(33 * 517, numpy.nan, numpy.float32)
        exact = numpy.fromfile(place / "exact")
        if native.has_hand(operator, "f32"):
            native.hand(operator, [one.ctypes.data for one in (*arrays, y)], 33, 517, 2)
            errors = native.ulp_errors(y.ctypes.data, exact.ctypes.data, 33, 517, "f32")
            case(f"hand_written_{operator}_is_right", errors[1] < 6.0, errors)
        case(f"no_hand_written_{operator}_of_halves", not native.has_hand(operator, "f16"))


class Pretended:
    """An arm's process whose calls take what `times` says."""

    def __init__(self, name, times, log, answer=None):
        self.name, self.times, self.log = name, times, log
        self.loaded = answer or {"error_ulp": 1.0, "error_row_ulp": 0.5, "call_us": 9.0,
                                 "plan": None}

    def tell(self, **command):
        pass

    def answer(self):
        return self.loaded

    def ask(self, **command):
        if command["do"] == "round":
            name = command.get("part", self.name)
            self.log.append(name)
            return {"us": self.times[name], "faults": int(name == "jax")}
        return {}


def pretended_bench(native, times, answers=None):
    bench, log = cpu.Bench.__new__(cpu.Bench), []
    bench.options = types.SimpleNamespace(spin=False, plant=0.0, rounds=4, seed=1)
    bench.folder, bench.processors, bench.native = folder(), PROCESSORS, native
    bench.processes = {name: Pretended(name, times, log, (answers or {}).get(name))
                       for name in cpu.ARMS}
    return bench, log


def rounds(native):
    cpu.GAP_S = 0.0
    times = {name: 4000.0 + index for index, name in enumerate(cpu.ARMS)}
    times.update(control=4000.0, roof_nt=900.0, croft_bound=4001.0)
    roof = {"parts": {"roof_nt": 900.0}, "plan": {"roof_nt": "nt, prefetch 512"}}
    about = cases.row_case("softmax", "f32", "3x5").record()
    two = {"error_ulp": 1.0, "error_row_ulp": 0.5, "plan": "a plan",
           "parts": ["croft_c", "croft_bound"]}
    bench, log = pretended_bench(native, times, {"roofs": roof, "croft_c": two})
    records = bench.measure(about)
    names = ["croft", "eager", "compiled", "onnxruntime", "jax", "croft_c", "croft_bound",
             "roof_nt", "control"]
    taken = log[-4 * len(names):]
    forwards = [taken[index * len(names):][:len(names)] for index in range(4)]
    case("rounds_go_forwards_and_backwards", forwards == [names, names[::-1], names[::-1], names],
         forwards)
    samples = [record for record in records if record["record"] == "samples"]
    case("a_stable_case_is_measured_once", len(samples) == 1 and records[0] is about
         and all(len(values) == 4 for values in samples[0]["arms"].values())
         and len(samples[0]["steal_ms"]) == len(samples[0]["fixed_work_us"]) == 4)
    faults = samples[0]["faults"]
    case("page_faults_are_kept", faults == {"jax": [1, 1, 1, 1]}, faults)
    kernels = [record.get("roof_kernel") for record in records if record.get("arm") == "roof_nt"]
    case("the_kernel_of_a_roof_is_kept", kernels == ["nt, prefetch 512"], kernels)

    bench, _ = pretended_bench(native, dict(times, control=4200.0), {"roofs": roof})
    samples = [one for one in bench.measure(about) if one["record"] == "samples"]
    case("an_unstable_case_has_three_attempts", [one["attempt"] for one in samples] == [1, 2, 3])

    bench, log = pretended_bench(native, times)
    records = bench.measure(cases.row_case("softmax", "f32", "1048576x1048576").record())
    case("too_little_memory_is_told", not log and len(records) == 1 + len(cpu.ARMS) and all(
        record["status"] == "failed" and "memory" in record["why"] for record in records[1:])
        and "not measured" in cpu.line_about(records), records)

    wrong = {"error_ulp": 9e9, "error_row_ulp": 9e9, "call_us": 1.0, "plan": None}
    bench, _ = pretended_bench(native, times, {"roofs": roof, "eager": wrong,
                                               "jax": {"failed": "no such function"}})
    records = bench.measure(about)
    failed = {record["arm"]: record["why"] for record in records
              if record["record"] == "arm" and record["status"] != "ok"}
    arms = [one for one in records if one["record"] == "samples"][0]["arms"]
    case("wrong_and_failed_arms_are_told", sorted(failed) == ["eager", "jax"]
         and failed["eager"].startswith("wrong") and "eager" not in arms and "jax" not in arms,
         failed)


def processes(native):
    place = folder()
    (place / "jax.py").write_text("raise ImportError('there is none')\n")
    os.environ["PYTHONPATH"] = str(place)
    with open(place / "log", "w", encoding="utf-8") as log:
        options = types.SimpleNamespace(spin=False, plant=0.0, log=log)
        bench = cpu.Bench.__new__(cpu.Bench)
        bench.processes = {name: cpu.Process(name, name, native.path, PROCESSORS, options)
                           for name in ("roofs", "jax")}
        try:
            bench.wait_for_arms()
            case("an_arm_that_cannot_import_fails_the_run", False, "it was not noticed")
        except cpu.Lost as lost:
            case("an_arm_that_cannot_import_fails_the_run",
                 "jax: ImportError: there is none" in str(lost) and "roofs" not in str(lost), lost)
        about = cases.row_case("softmax", "f32", "64x257").record()
        problem = folder()
        cpu_problem.write(about, problem, 1)
        roofs_process = bench.processes["roofs"]
        answer = roofs_process.ask(do="load", case=about, folder=str(problem))
        case("the_process_of_the_roofs_loads", {"roof_nt", "roof_copy", "roof_read"}
             <= set(answer.get("parts", ())), answer)
        answer = roofs_process.ask(do="round", part="roof_nt", calls=10)
        case("it_runs_a_round", answer.get("us", 0) > 0, answer)
        answer = roofs_process.ask(do="load", case=dict(about, operator="none"),
                                   folder=str(problem))
        case("what_goes_wrong_is_an_answer", "KeyError" in answer.get("failed", ""), answer)
        bench.end()
        case("processes_end", all(one.child.poll() is not None for one in bench.processes.values()))


def fields(message):
    """(number, value) of a message of protobuf: integers, bytes of floats, texts and messages."""
    def varint():
        nonlocal message
        number = shift = 0
        while True:
            byte, message = message[0], message[1:]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    found = []
    while message:
        key = varint()
        size = {0: 0, 2: 0, 5: 4}[key & 7]
        value = varint() if size == 0 else None
        if key & 7:
            size = size or value
            assert len(message) >= size
            value, message = message[:size], message[size:]
        found.append((key >> 3, value))
    return found


def models():
    """What is written as ONNX can be read again; that it is valid, ONNX Runtime says."""
    wanted = {"sum": [b"ReduceSum"], "softmax": [b"Softmax"], "rmsnorm": [b"RMSNormalization"],
              "layernorm": [b"LayerNormalization"], "cross_entropy": [b"SoftmaxCrossEntropyLoss"],
              "residual_layernorm": [b"Add", b"LayerNormalization"]}
    for operator in cases.OPERATORS:
        model = dict(fields(cpu_onnx.model_of(operator, "f32", 300, 70000)))
        graph = fields(model[7])
        names = [dict(fields(value))[4] for number, value in graph if number == 1]
        inputs = [dict(fields(value))[1].decode() for number, value in graph if number == 11]
        shape = [dict(fields(dim))[1] for _, dim in fields(dict(fields(dict(fields(dict(fields(
            [value for number, value in graph if number == 11][0]))[2]))[1]))[2])]
        case(f"model_of_{operator}", names == wanted[operator] and shape == [300, 70000]
             and inputs == cpu_onnx.INPUTS[operator], (names, inputs, shape))
    case("negative_numbers_have_ten_bytes", cpu_onnx.varint(-1) == b"\xff" * 9 + b"\x01")


native = cpu_native.Native.built(folder(), PROCESSORS)
for part in (roofs, hands, ulp_errors, rounds, processes):
    part(native)
exact_results()
models()
sys.exit(1 if failures else 0)
