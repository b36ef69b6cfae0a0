#!/usr/bin/env python3
"""Kernels on an OpenCL device: within the reference's bound, with the simulator's bits.

    test/opencl/device.py [--only WORD] [--one-of N] [--gpu] [-j 2]

tier: check check-long
builds: release

* The examples at edge widths, of all types and on special values, by the row plan, by the fallback
  and by owners that the text gives, of the machine `opencl`, of sm_90 with portable functions, and
  of the host's cpu: `--check` against the reference, guards around the outputs, and the bits of the
  simulator by the same plan. Where owners are not fixed by the text the cpu runs the row plan too,
  with the same bits.
* Rows in parts, over several launches; results under --strict, which are those of the cpu; values
  whose names a compiler of OpenCL may take for something else.
* Generated kernels likewise (test/generated), those of one fixed and of one fresh seed.

The device is the first that `croft devices` finds: PoCL on a machine without a GPU. check takes
each example at two widths by the row plan, one of so many of the rest and few generated kernels;
check-long all by the row plan, one of four by others, and 150 generated kernels. Without an OpenCL
library every case fails: `make deps` installs PoCL. --gpu, for check-gpu: by build/gpu, on the
device of NVIDIA's library, without which everything is skipped and said; one example of so many.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import threading
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
for folder in ("script", "generated"):
    sys.path.insert(0, str(ROOT / "test" / folder))
import command  # noqa: E402
import generate  # noqa: E402
import judge  # noqa: E402
import row_kernels  # noqa: E402
import seeds  # noqa: E402

spec = importlib.util.spec_from_file_location("gpu_run", ROOT / "test" / "gpu" / "run.py")
gpu = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu)

TARGET = "opencl"  # test/metal/device.py makes it another
MACHINES = ("opencl", "sm_90", "cpu-avx2")
CHECK_WIDTHS, CHECK_PLAN = (33, 1009), "row"  # of each example in check
# One of so many of other widths, of special values, of other types, and of other plans.
ONE_OF = {"check": (59, 13, 59, 59), "check-long": (1, 1, 1, 4)}
STRICT = ["softmax", "rmsnorm", "layernorm", "cross_entropy"]  # in check half of them
# Macros of the language, its extensions and PoCL's headers, types of images, names of the text
# around the body.
NAMES = """CLK_ADDRESS_CLAMP CLK_RGBx CLK_sRGBA CLK_LOCAL_MEM_FENCE cl_khr_subgroup_ballot
cles_khr_int64 M_PI_H FLT_MAX NAN NULL INTTYPE IMG_RO_AQ LLVM_15_0 CLANG_MAJOR POCL_DEVICE_TYPES_H
ATOMIC_FLAG_INIT image2d_depth_t image2d_array_msaa_depth_t half half4 event_t queue_t pipe generic
vec_step barrier get_group_id vload_half rint fma as_float convert_int printf quad2 words first
arguments workspace croft_words croft_names scratch exchange thread lane pack memory INLINE u64
trips clamp_i32""".split()
NAMED = {"names": ("words", "CLK_R", "image3d_t", "M_LN2"),  # of a kernel, its arrays, a size
         "more_names": ("first", "half8", "cl_x", "LONG_MAX")}
COUNTS = {"check": (1, 1), "check-long": (120, 30)}  # generated kernels, and row kernels
GPU_LIBRARY = "libnvidia-opencl.so.1"
MANY = "a Metal kernel takes 31 buffers"  # of a generated kernel with more tensors
REFUSED = 4  # by the device, with what it has


# ---- examples ----

def example_cases(one_of):
    """(name, what says None when all is well)"""
    for number, case in enumerate(gpu.make_cases(False)):
        usual = case.name.split("/") == [case.kernel.name, CHECK_PLAN, case.kernel.types[0],
                                         "randn", str(case.width)]
        special, edited = "/special/" in case.name, bool(case.packing or case.shift)
        kind = 0 if usual else 1 if special else 2 if case.plan == CHECK_PLAN and not edited else 3
        taken = number % (one_of or ONE_OF[command.TIER][kind]) == 0
        clusters = case.packing is not None and "block" in case.packing[1]
        taken = taken or (usual and case.width in CHECK_WIDTHS)
        if clusters or case.variant is not None or not taken:
            continue
        machine = MACHINES[0] if case.packing or case.shift else MACHINES[number % 4 % 3]
        case.words[case.words.index("--machine") + 1] = machine
        yield f"{case.name}/{machine}", lambda worker, case=case: run_example(case, worker)


def run_example(case, worker):
    erased = case.kernel.name in ("transpose8", "rmsnorm_register")  # by a cpu
    cpu = case.plan == CHECK_PLAN and not erased and not case.packing and not case.shift
    cpu = cpu and (command.LONG or case.width == CHECK_WIDTHS[0])
    return gpu.run_case(case, worker, TARGET, *["cpu"] * cpu)


# ---- launches, names, and one result for every plan ----

def other_cases():
    yield "rows_in_parts", run_parts
    for label in NAMED:
        kernel = named_kernel(label)
        yield label, lambda worker, kernel=kernel: run_generated(kernel, worker)
    for name in STRICT if command.LONG else STRICT[::2]:
        kernel = gpu.Kernel(ROOT / "examples" / f"{name}.croft")
        dtype = kernel.types[STRICT.index(name) % len(kernel.types)]
        yield f"strict_{name}", lambda worker, case=gpu.Case(kernel, "row", dtype, 133): \
            run_strict(case, worker)


def run_parts(worker):
    """What one launch hands on to the next lies in buffers of the device, launched often too."""
    kernel = gpu.Kernel(ROOT / "examples" / "softmax.croft")
    case = gpu.Case(kernel, "row", "f32", 40000, rows=2)
    case.words[case.words.index("--plan"):] = ["--set", "g=4"]
    with tempfile.TemporaryDirectory(prefix="croft-opencl-") as folder:
        plan = command.croft("plan", *case.words[1:], "y=/dev/null")
        path = pathlib.Path(folder) / "parts.plan"
        path.write_text(plan.out.replace(" native\n", " portable\n"))
        case.words[case.words.index("--set"):] = ["--plan", path]
        again = [*case.words, f"y={folder}/again.npy", "--target", TARGET, "--repeat", 5]
        return (str(plan) if plan.code or " | group 4\n" not in plan.out else None) \
            or gpu.run_case(case, worker, TARGET) or failure(*worker.run(again))


def named_kernel(label):
    """Every value has such a name."""
    kernel, x, y, size = NAMED[label]
    lines = [f"kernel {kernel}({x}: in f32[R, {size}], {y}: out f32[R, {size}]) {{",
             "    program row: R", f"    prior = {x}[row, :]"]
    for before, name in zip(["prior", *NAMES], NAMES):
        lines.append(f"    {name} = {before} * 0.5 + prior")
    lines.append(f"    {y}[row, :] = {NAMES[-1]} / max({NAMES[-1]})")
    return generate.Kernel("\n".join(lines) + "\n}\n", [f"{x}=randn:5x37"], [(y, "", False)], False,
                           (None, None), label)


def run_strict(case, worker):
    """The hash that the cpu prints."""
    words = [*case.words[:case.words.index("--machine")], "--strict", "--hash",
             *(f"{name}=/dev/null" for name in case.outputs(pathlib.Path("."), ""))]
    printed = {}
    for target in (TARGET, "cpu"):
        code, text = worker.run([*words, "--target", target])
        printed[target] = re.findall(r"^hash .*$", text, re.MULTILINE)
        if code != 0 or not printed[target]:
            return f"{target}: exit {code}: {text}"
    return None if printed[TARGET] == printed["cpu"] else str(printed)


def failure(code, text):
    return None if code == 0 else f"exit {code}: {text}"


# ---- generated kernels ----

def generated_cases():
    options = types.SimpleNamespace(seed=None, count=None)
    for maker, fixed in ((lambda name: generate.generate(name, False), 1),
                         (lambda name: row_kernels.RowKernel(name).kernel(), 5)):
        for name in seeds.names(options, fixed, COUNTS):
            kernel = maker(name)
            yield (f"generated_{fixed}/{name}",
                   lambda worker, kernel=kernel: run_generated(kernel, worker))


def run_generated(kernel, worker):
    """By the row plan; by the fallback where there is none."""
    try:
        return run_plan(kernel, "row", worker)
    except gpu.NoPlan:
        return run_plan(kernel, "fallback", worker)


def run_plan(kernel, plan, worker):
    with tempfile.TemporaryDirectory(prefix="croft-opencl-") as folder:
        path = pathlib.Path(folder) / "kernel.croft"
        path.write_text(kernel.text)
        sides = {}
        for target in (TARGET, "sim"):
            outputs = [f"{name}={before}{folder}/{target}.{name}.npy"
                       for name, before, _ in kernel.outputs]
            words = ["--machine", MACHINES[0], "--target", target, "--plan", plan, "--check"]
            code, text = worker.run(["run", path, *kernel.arguments, *outputs, *words])
            if code == judge.EXIT_REFUSED and "[row-plan-refused]" in text and plan == "row":
                raise gpu.NoPlan
            if (code == REFUSED and "bytes of arguments: required" in text) or MANY in text:
                return None  # more tensors than this device passes, and said
            finding = judge.find_in_run(plan, code if code is not None else -1, text,
                                        kernel.may_fault)
            if finding is not None:
                return f"{target}: {finding.kind}: {text.strip()[:1500]}\n{kernel.text}"
            for name, _, _ in kernel.outputs:
                sides[target, name] = judge.Array(f"{folder}/{target}.{name}.npy", True)
        for name, _, _ in kernel.outputs:
            if sides[TARGET, name].words != sides["sim", name].words:
                return f"{name}: the device's bits are not those of the simulator\n{kernel.text}"
        return None


# ---- running ----

def run_all(cases, jobs):
    left, lock = queue.Queue(), threading.Lock()
    for case in cases:
        left.put(case)

    def work():
        worker = gpu.Worker()
        while True:
            try:
                name, run = left.get_nowait()
            except queue.Empty:
                break
            try:
                why = run(worker)
            except gpu.NoPlan:
                continue
            except Exception as error:  # a case of its own, whatever it is
                why = repr(error)
            with lock:
                command.case(name, why is None, why)
        worker.close()

    threads = [threading.Thread(target=work) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def find_gpu():
    """Its name, or None."""
    os.environ["CROFT_OPENCL_LIBRARY"] = GPU_LIBRARY
    done = subprocess.run([gpu.BUILD / "croft", "devices", "--json"], stdout=subprocess.PIPE,
                          check=True, text=True)
    devices = json.loads(done.stdout)["opencl"]["devices"]
    return next((device["name"] for device in devices if device["lacking"] is None), None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--one-of", type=int, default=0, help="examples: one of so many")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    gpu.BUILD = ROOT / "build" / "gpu" if options.gpu else pathlib.Path(command.CROFT).parent
    if options.gpu:
        if not (gpu.BUILD / "croft").exists():
            sys.exit("there is no build/gpu, which test/gpu/run.py makes")
        command.CROFT = str(gpu.BUILD / "croft")
        name = find_gpu()
        if name is None:
            print(f"skipped OpenCL on a GPU: {GPU_LIBRARY} has no device")
            return
        print(name)
    cases = [*example_cases(options.one_of), *other_cases(), *generated_cases()]
    run_all([(name, run) for name, run in cases if options.only in name], options.jobs)
    command.finish()


if __name__ == "__main__":
    main()
