#!/usr/bin/env python3
"""What a call from Python costs above a bare ctypes call of the same function.

    make && PYTHONPATH=python python3 bench/python_calls.py     # the CUDA device, else the cpu
    PYTHONPATH=python python3 bench/python_calls.py --device cpu
    CROFT_CUDA_DRIVER=build/test/libfake_cuda.so ... --device pretended   # the host's part alone

The function is the residual LayerNorm of examples/ on five small tensors. On CUDA the bare call is
cuLaunchKernel through ctypes, with everything prepared, of the program that Croft emitted, compiled
here by NVRTC with the same options; its bytes are compared with Croft's. On the cpu it is
croft_launch through ctypes. Each round times batches of calls in the order A B B A, and waits for
the device outside of them; a figure is the median over rounds of (B + B - A - A) / 2, per call.

Prints a table and whether the gates are met: d() at most 0.5 us above the bare call, k(x, out=y) at
most 2 us, an operator of PyTorch at most 2 us more: 4 where the output is there, and 2 above k(...)
where both make it. Exit 1: missed.
Beside each call stands what it costs in Python alone, `call_in_python`: what calls were before
they went from the interpreter into libcroft, and are where that cannot be. On the cpu arrays of
NumPy come too. Needs PyTorch, but for `--device pretended`, which has bound calls alone.
"""
import argparse
import ctypes
import functools
import gc
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy as np

import croft
from croft import _command, _shim
from croft import _library as lib

ROOT = pathlib.Path(__file__).resolve().parent.parent
KERNEL = ROOT / "examples/residual_layernorm.croft"
EPS = 1e-5
NVRTC_OPTIONS = ["-std=c++17", "-default-device", "-fmad=false", "-ftz=false", "-prec-div=true",
                 "-prec-sqrt=true"]


def checked(error, what):
    if error:
        sys.exit(f"{what} failed with error {error}")


# ---- the bare call of CUDA ----

def open_first(names):
    for name in names:
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    sys.exit("none of these libraries can be opened: " + ", ".join(names))


def nvrtc():
    names = [os.environ["CROFT_NVRTC"]] if os.environ.get("CROFT_NVRTC") else []
    names += ["libnvrtc.so.13", "libnvrtc.so.12"]
    for folder in sys.path:
        names += map(str, pathlib.Path(folder or ".").glob("nvidia/*/lib/libnvrtc.so.1[23]"))
    return open_first(names)


def compile_program(source, architecture):
    compiler, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
    checked(compiler.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"k.cu", 0, None,
                                        None), "nvrtcCreateProgram")
    words = [word.encode() for word in (f"-arch={architecture}", *NVRTC_OPTIONS)]
    checked(compiler.nvrtcCompileProgram(program, len(words),
                                         (ctypes.c_char_p * len(words))(*words)),
            "nvrtcCompileProgram")
    checked(compiler.nvrtcGetCUBINSize(program, ctypes.byref(size)), "nvrtcGetCUBINSize")
    code = ctypes.create_string_buffer(size.value)
    checked(compiler.nvrtcGetCUBIN(program, code), "nvrtcGetCUBIN")
    return code


def word_of(word, shapes, strides):
    """A word of the kernel's arguments, as `croft emit --json` describes it."""
    if word["kind"] == "size":
        return shapes["x"][["R", "N"].index(word["of"])]
    if word["kind"] == "stride":
        return strides[word["of"]][word["dimension"]]
    return struct.unpack("<q", struct.pack("<f4x", EPS))[0]


class BareCuda:
    """cuLaunchKernel of the program of a bound call. `addresses`, shapes and strides by name."""

    def __init__(self, bound, addresses, shapes, strides, stream):
        driver = open_first([os.environ.get("CROFT_CUDA_DRIVER") or "libcuda.so.1"])
        device, context = ctypes.c_int(), ctypes.c_void_p()
        major, minor = ctypes.c_int(), ctypes.c_int()
        checked(driver.cuInit(0), "cuInit")
        checked(driver.cuDeviceGet(ctypes.byref(device), 0), "cuDeviceGet")
        checked(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "a context")
        checked(driver.cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")
        for number, at in ((75, major), (76, minor)):
            checked(driver.cuDeviceGetAttribute(ctypes.byref(at), number, device), "an attribute")
        name = f"sm_{major.value}{minor.value}" + ("a" if major.value >= 9 else "")
        self.code = compile_program(bound.source, name)
        self.entry = re.search(r"\n(croft_\w+)\(const __grid_constant__", bound.source)[1]
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        checked(driver.cuModuleLoadData(ctypes.byref(module), self.code), "cuModuleLoadData")
        checked(driver.cuModuleGetFunction(ctypes.byref(function), module, self.entry.encode()),
                "cuModuleGetFunction")
        with tempfile.NamedTemporaryFile("w", suffix=".plan") as plan:
            plan.write(bound.plan)
            plan.flush()
            said = _command.run_command("emit", str(KERNEL), f"R={shapes['x'][0]}",
                                        f"N={shapes['x'][1]}", "--target", "cuda", "--machine",
                                        bound.plan.split(" machine ")[1].split()[0], "--plan",
                                        plan.name)
        entry, = said["entries"]
        assert entry["groups"] == "R" and entry["cluster"] == 1 and not entry["workspace_bytes"]
        threads = int(re.search(r"__launch_bounds__\((\d+)", bound.source)[1])
        words = [addresses[one["name"]] for one in said["pointers"]]
        words += [word_of(one, shapes, strides) for one in said["words"]] + [0, 0]
        self.arguments = (ctypes.c_int64 * len(words))(*words)
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(self.arguments))
        queue, launch = ctypes.c_void_p(stream), driver.cuLaunchKernel
        rows, scratch = shapes["x"][0], entry["scratch_bytes"]
        self.call = functools.partial(launch, function, rows, 1, 1, threads, 1, 1, scratch, queue,
                                      parameters, None)
        self.call.kept = (self.arguments, parameters, queue)  # as long as the call
        checked(self.call(), "cuLaunchKernel")


# ---- arrays ----

class Pretended:
    """Memory of the process that says it is a CUDA device's, for the pretended driver."""

    def __init__(self, values):
        self.values = values

    def __dlpack_device__(self):
        return (2, 0)

    def __dlpack__(self, **words):
        capsule = self.values.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        lib.Tensor.from_address(pointer(capsule, b"dltensor")).device_type = 2
        return capsule


def make_arrays(device, rows, width):
    """x, residual, w, b, y of the device, and what has their addresses."""
    generator = np.random.default_rng(1)
    shapes = [(rows, width), (rows, width), (width,), (width,), (rows, width)]
    values = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    if device == "pretended":
        return [Pretended(value) for value in values], [value.ctypes.data for value in values]
    import torch
    tensors = [torch.from_numpy(value).to(device) for value in values]
    return tensors, [tensor.data_ptr() for tensor in tensors]


# ---- measuring ----

def batch(call, count, wait):
    """Microseconds of one of `count` calls."""
    loop = [None] * count
    start = time.perf_counter_ns()
    for _ in loop:
        call()
    spent = time.perf_counter_ns() - start
    wait()
    return spent / count / 1e3


def compare(bare, call, options, wait):
    """(cost of the call, of the bare one, median difference, its quartiles)."""
    for one in (bare, call):
        batch(one, options.calls, wait)
    first, second, differences = [], [], []
    gc.disable()
    for _ in range(options.rounds):
        a1, b1, b2, a2 = (batch(one, options.calls, wait) for one in (bare, call, call, bare))
        first.append((a1 + a2) / 2)
        second.append((b1 + b2) / 2)
        differences.append(second[-1] - first[-1])
    gc.enable()
    quartiles = statistics.quantiles(differences, n=4)
    return (statistics.median(second), statistics.median(first), statistics.median(differences),
            quartiles[0], quartiles[2])


def bare_call(options, bound, addresses, torch):
    """What the calls are compared with: its name, and the call."""
    if options.device == "cpu":
        return "croft_launch by ctypes", functools.partial(lib.C.croft_launch,
                                                           bound.dispatch.pointer, None, None)
    rows, width = options.rows, options.width
    names = [one.name for one in bound.kernel.tensor_parameters]
    shapes = {name: (width,) if name in ("w", "b") else (rows, width) for name in names}
    strides = {name: (width, 1)[-len(shape):] for name, shape in shapes.items()}
    stream = (torch.cuda.current_stream().cuda_stream if torch else 0) or 1
    y = bound.tensors.outputs[0]
    if torch:
        expected = y.clone()
        y.zero_()
    call = BareCuda(bound, dict(zip(names, addresses)), shapes, strides, stream).call
    if torch and not torch.equal(expected, y):
        sys.exit("the bare call computes something else")
    return "cuLaunchKernel by ctypes", call


NOTHING = """#include <stdint.h>
int32_t (*croft_release)(void *);
void croft_nothing(uint64_t *stack, uint64_t input_count, uint64_t output_count) {
    for (int i = 0; i < 5; i++)
        croft_release((void *)(uintptr_t)stack[i]);
    (void)input_count, (void)output_count;
}
"""


def empty_function():
    """The address of a C function for PyTorch that releases five tensors and does nothing else;
    None: PyTorch, or a compiler, is not there for that."""
    if _shim.table() is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, made = pathlib.Path(folder, "nothing.c"), pathlib.Path(folder, "nothing.so")
        source.write_text(NOTHING)
        try:
            subprocess.run(["cc", "-O2", "-shared", "-fPIC", source, "-o", made], check=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        library = empty_function.library = ctypes.CDLL(made)  # as long as the process
    ctypes.c_void_p.in_dll(library, "croft_release").value = _shim.table().destroy
    return _shim.address(library, "croft_nothing")


def empty_operators():
    """What PyTorch takes for an operator of five tensors that does nothing, with the schema of the
    kernel's: implemented in Python, and in C (None: it cannot be)."""
    import torch
    library = torch.library.Library("python_calls_empty", "DEF")
    for name in ("in_python", "in_c"):
        library.define(name + "(Tensor x, Tensor r, Tensor w, Tensor b, Tensor(a!) y, *, "
                       "float? eps=None) -> ()")
        library.impl(name, torch.library.fallthrough_kernel, "Autograd")
    library.impl("in_python", lambda *tensors, **named: None, "CompositeExplicitAutograd")
    function = empty_function()
    if function is not None:
        _shim.implement("python_calls_empty", "in_c", function)
    empty_operators.library = library  # as long as the process
    made = torch.ops.python_calls_empty
    return made.in_python.default, made.in_c.default if function is not None else None


def beside_python(name, called, arguments, named):
    """The entry of a call, above the same in Python."""
    def direct():
        called(*arguments, **named)

    def in_python():
        called.call_in_python(*arguments, **named)

    direct(), in_python(), direct()
    return name, direct, "in Python", in_python, None


def entries_in_python(options, kernel, bound, tensors):
    x, residual, w, b, y = tensors
    entries = [beside_python("d()", bound, [], {}),
               beside_python("k(..., out=y)", kernel, [x, residual, w, b], {"out": y}),
               beside_python("k(...)", kernel, [x, residual, w, b], {})]
    if options.device == "cpu":
        *inputs, y = [tensor.numpy() for tensor in tensors]
        entries += [beside_python("NumPy: k(..., out=y)", kernel, inputs, {"out": y}),
                    beside_python("NumPy: k(...)", kernel, inputs, {}),
                    beside_python("NumPy: d()", kernel.bind(*inputs, y), [], {})]
    return entries


def entries_of(kernel, tensors, what, bare):
    """(name, call, what it is above, that call, the most it may be above it)."""
    x, residual, w, b, y = tensors
    operator = croft.torch_operator(kernel, "python_calls::residual_layernorm")
    out, plain = operator.out, operator.default

    def given():
        kernel(x, residual, w, b, out=y)

    def made():
        kernel(x, residual, w, b)

    def out_operator():
        out(x, residual, w, b, y)

    def operator_call():
        plain(x, residual, w, b)

    given(), made(), out_operator(), operator_call()
    entries = [("k(..., out=y)", given, what, bare, 2.0),
               ("operator.out(..., y)", out_operator, what, bare, 4.0),
               ("operator.out(..., y)", out_operator, "k(..., out=y)", given, None),
               ("k(...)", made, what, bare, None),
               ("operator(...)", operator_call, "k(...)", made, 2.0)]

    def nothing():
        pass

    for language, empty in zip(("Python", "C"), empty_operators()):
        if empty is None:
            print(f"an empty operator in {language}: there is none here")
            continue
        call = functools.partial(empty, x, residual, w, b, y)
        call()
        entries += [("operator.out(..., y)", out_operator, f"an empty one in {language}", call,
                     None),
                    (f"an empty one in {language}", call, "an empty call", nothing, None)]
    return entries


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", choices=["cuda", "cpu", "pretended"])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--width", type=int)
    parser.add_argument("--calls", type=int, default=100, help="of a batch")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    torch = None
    if options.device != "pretended":
        import torch
        options.device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        where = (torch.cuda.get_device_name() if options.device == "cuda"
                 else f"{os.cpu_count()} cpus")
        print(f"{where}, PyTorch {torch.__version__}, Python {sys.version.split()[0]}")
    options.rows = options.rows or (2 if options.device == "cpu" else 64)
    options.width = options.width or (16 if options.device == "cpu" else 256)
    wait = torch.cuda.synchronize if options.device == "cuda" else lambda: None
    tensors, addresses = make_arrays(options.device, options.rows, options.width)
    kernel = croft.load(KERNEL)
    bound = kernel.bind(*tensors)
    bound()
    what, bare = bare_call(options, bound, addresses, torch)
    entries = [("d()", bound, what, bare, 0.5)]
    if torch:
        entries += entries_of(kernel, tensors, what, bare)
        entries += entries_in_python(options, kernel, bound, tensors)
    print(f"residual_layernorm {options.rows}x{options.width}, 5 tensors; {options.rounds} rounds "
          f"of {options.calls} calls, A B B A; us per call")
    print(f"operators are implemented in {'Python' if _shim.table() is None else 'C'}" if torch
          else "no operators")
    print(f"{'call':24}{'above':26}{'call':>8}{'above':>8}{'difference':>12}  quartiles      gate")
    missed = 0
    for name, call, above, base, gate in entries:
        cost, of_base, difference, low, high = compare(base, call, options, wait)
        verdict = "" if gate is None else f"{gate:.1f} {'met' if difference <= gate else 'MISSED'}"
        missed += gate is not None and difference > gate
        print(f"{name:24}{above:26}{cost:8.3f}{of_base:8.3f}{difference:+12.3f}  {low:+.3f} "
              f"{high:+.3f}  {verdict}", flush=True)
    print("gates: " + (f"{missed} missed" if missed else "all met"))
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
