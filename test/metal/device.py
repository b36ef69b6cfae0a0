#!/usr/bin/env python3
"""Emitted MSL on threads of this host: within the reference's bound, with the simulator's bits.

    test/metal/device.py [--only WORD] [--one-of N] [-j 2]

tier: check check-long
builds: release

The cases of test/opencl/device.py, with plans of the machine `m1` in place of those of `opencl`.
The text is compiled by clang++ against test/metal/metal_stdlib, once with its spaces of memory and
once to be run; test/metal/lanes.c runs its threads and watches their memory. Then mutants: a shim
that does something wrong, and texts that Metal would refuse, have to be noticed.
"""
import argparse
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("opencl_device", ROOT / "test/opencl/device.py")
device = importlib.util.module_from_spec(spec)
spec.loader.exec_module(device)
command, gpu = device.command, device.gpu

device.TARGET = "metal"
device.MACHINES = ("m1", "sm_90", "cpu-avx2")
device.ONE_OF = {"check": (97, 29, 97, 97), "check-long": (3, 3, 3, 12)}
device.COUNTS = {"check": (1, 1), "check-long": (60, 20)}
device.CHECK_WIDTHS = (1009, )
gpu.Worker.PROGRAM = "metal_batch"
WRONG = {"right": (0, ""), "a_barrier_is_skipped": (1, "nobody has written"),
         "a_lane_beside": (2, "FAILED"), "a_thread_less_at_a_barrier": (3, "thread ")}
# A text that is right, and what Metal refuses in its place.
TEXT = """#include <metal_stdlib>
using namespace metal;
kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
              threadgroup float *shared [[shared_memory(0)]],
              uint t [[thread_index_in_simdgroup]]) {
    shared[t] = simd_shuffle_xor(x[t], (ushort)1);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float4 pack = *(device const float4 *)(x + 4 * t);
    device float *const to = y + t;
    *to = shared[t ^ 2] + fma(pack.x, pack.y, 1.0f) + as_type<float>(1);
}
"""
REFUSED = {
    "a_space_is_another": ("device float *const to = y + t", "threadgroup float *const to = y + t"),
    "a_space_is_none": ("device float *const to = y + t", "float *const to = y + t"),
    "what_is_const_is_written": ("device float *const to = y", "device float *const to = x"),
    "a_vector_is_another": ("const float4 pack = *(device const float4 *)",
                            "const int4 pack = *(device const float4 *)"),
    "a_function_is_unknown": ("fma(", "fmaf("),
    "a_function_of_another_library": ("fma(", "__builtin_nothing("),
    "a_double": ("1.0f)", "(double)1.0f)"),
    "a_shuffle_of_64_bits": ("simd_shuffle_xor(x[t],", "simd_shuffle_xor((long)x[t],"),
    "a_sum_without_an_order": ("simd_shuffle_xor(x[t], (ushort)1)", "simd_sum(x[t])"),
    "bits_of_another_size": ("as_type<float>(1)", "as_type<float>(1l)"),
    "a_flag_is_unknown": ("mem_threadgroup", "mem_shared"),
}


def integers_case(worker):
    """Sums wrap; a team that fills its SIMD groups, one that does not, and a smaller subgroup."""
    text = (ROOT / "test/metal/integers.croft").read_text()
    outputs = [(name, "", False) for name in ("low", "high", "total", "wrapped")]
    for width in (256, 40, 8):
        arguments = [f"x=randint:9x{width}:-2000000000:2000000000:i32",
                     f"u=randint:9x{width}:0:4000000000:u32"]
        kernel = device.generate.Kernel(text, arguments, outputs, True, (None, None), "integers")
        why = device.run_generated(kernel, worker)
        if why is not None:
            return why
    return None


def check_diagnostics():
    """What the language cannot express, and machines that nobody knows, are told with a reason."""
    many = pathlib.Path(command.SCRATCH) / "many.croft"
    names = [f"x{i}" for i in range(29)]
    many.write_text("kernel many(" + ", ".join(f"{name}: in f32[R, N]" for name in names)
                    + ", y: out f32[R, N]) {\n    program row: R\n    y[row, :] = "
                    + " + ".join(f"{name}[row, :]" for name in names) + "\n}\n")
    softmax = "examples/softmax.croft"
    for name, words, said in (
            ("thirty_tensors", [many, "--machine", "m1"], "a Metal kernel takes 31 buffers"),
            ("a_cluster", [softmax, "N=65536", "R=1", "--machine", "sm_90", "--set", "b=2",
                           "--target", "metal"], "Metal has no clusters"),
            ("an_unknown_machine", [softmax, "--machine", "m0"], "unknown machine: m0"),
            ("an_unknown_target", [softmax, "--target", "mtl"], "mtl")):
        told = command.croft("emit", *words)
        command.case(f"{name}_is_told", told.code in (2, 3) and said in told.err and not told.out,
                     told)


def check_wrong(name):
    """The shim does something wrong in a kernel of several SIMD groups."""
    number, said = WRONG[name]
    line = ("run examples/softmax.croft x=randn:2x1009 y=/dev/null --target metal --machine m1 "
            "--check\n")
    done = subprocess.run([gpu.BUILD / "test" / "metal_batch"], cwd=ROOT, input=line, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          env={**os.environ, "METAL_SHIM_WRONG": str(number)})
    if number == 0:
        return None if "done 0" in done.stdout else done.stdout
    return None if "done 0" not in done.stdout and said in done.stdout else done.stdout


def compiles(text):
    with tempfile.TemporaryDirectory(prefix="croft-metal-") as folder:
        path = pathlib.Path(folder) / "kernel.metal"
        path.write_text(text)
        return subprocess.run(
            ["clang++", "-x", "c++", "-std=c++17", "-nostdinc", "-fno-lax-vector-conversions",
             "-fsyntax-only", "-Werror", "-Wdouble-promotion", "-Wno-unknown-attributes",
             "-DMETAL_STRICT", f"-I{ROOT}/test/metal", path],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def check_refused():
    """None where the text is taken and every other one refused."""
    taken = compiles(TEXT)
    command.case("text_is_taken", taken.returncode == 0, taken.stdout)
    for name, (right, wrong) in REFUSED.items():
        assert right in TEXT
        done = compiles(TEXT.replace(right, wrong))
        command.case(name, done.returncode != 0 and "error:" in done.stdout, done.stdout or wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--one-of", type=int, default=0, help="examples: one of so many")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    gpu.BUILD = pathlib.Path(command.CROFT).parent
    cases = [*device.example_cases(options.one_of), *device.other_cases(),
             *device.generated_cases()]
    cases.append(("integers", integers_case))
    cases += [(name, lambda worker, name=name: check_wrong(name)) for name in WRONG]
    device.run_all([(name, run) for name, run in cases if options.only in name], options.jobs)
    if options.only in "refused":
        check_refused()
        check_diagnostics()
    command.finish()


if __name__ == "__main__":
    main()
