#!/usr/bin/env python3
"""Kernels on an OpenCL device: within the reference's bound, with the simulator's bits.

    test/opencl/device.py [--only WORD] [--one-of N] [--gpu] [-j 2]

tier: check check-long
builds: release

* The examples at edge widths by the row plan and the fallback, of the machine `opencl`, of sm_90
  with portable functions, and of the host's cpu: `--check` against the reference, guards around the
  outputs, and the bits of the simulator by the same plan. Where owners are not fixed by the text
  the cpu runs the row plan too, with the same bits.
* Generated kernels likewise (test/generated), those of one fixed and of one fresh seed.

The device is the first that `croft devices` finds: PoCL on a machine without a GPU. check takes
each example once and few generated kernels; check-long each width by the row plan and one of four
of the rest, and 300 generated kernels. Without an OpenCL library every case
fails: `make deps` installs PoCL. --gpu, for check-gpu: by build/gpu, on the device of NVIDIA's
library, without which everything is skipped and said; one example of so many.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import queue
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

MACHINES = ("opencl", "sm_90", "cpu-avx2")
CHECK_WIDTH, CHECK_PLAN = 33, "row"  # of each example in check
OTHERS_ONE_OF = 4  # examples by other plans, types and inputs in check-long
COUNTS = {"check": (1, 1), "check-long": (120, 30)}  # generated kernels, and row kernels
GPU_LIBRARY = "libnvidia-opencl.so.1"
REFUSED = 4  # by the device, with what it has


# ---- examples ----

def example_cases(one_of):
    """(name, what says None when all is well)"""
    for number, case in enumerate(gpu.make_cases(False)):
        usual = case.name.split("/") == [case.kernel.name, CHECK_PLAN, case.kernel.types[0],
                                         "randn", str(case.width)]
        taken = number % one_of == 0 if one_of else \
            command.LONG and (usual or number % OTHERS_ONE_OF == 0)
        if case.variant is not None or not (taken or (usual and case.width == CHECK_WIDTH)):
            continue
        machine = MACHINES[0] if case.packing or case.shift else MACHINES[number % 4 % 3]
        case.words[case.words.index("--machine") + 1] = machine
        yield f"{case.name}/{machine}", lambda worker, case=case: run_example(case, worker)


def run_example(case, worker):
    why = gpu.run_case(case, worker, "opencl")
    erased = case.kernel.name in ("transpose8", "rmsnorm_register")  # by a cpu
    again = command.LONG and case.plan == CHECK_PLAN and not erased
    again = again and not case.packing and not case.shift
    return gpu.run_case(case, worker, "cpu") if why is None and again else why


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
        for target in ("opencl", "sim"):
            outputs = [f"{name}={before}{folder}/{target}.{name}.npy"
                       for name, before, _ in kernel.outputs]
            words = ["--machine", "opencl", "--target", target, "--plan", plan, "--check"]
            code, text = worker.run(["run", path, *kernel.arguments, *outputs, *words])
            if code == judge.EXIT_REFUSED and "[row-plan-refused]" in text and plan == "row":
                raise gpu.NoPlan
            if code == REFUSED and "bytes of arguments: required" in text:
                return None  # more tensors than this device passes, and said
            finding = judge.find_in_run(plan, code if code is not None else -1, text,
                                        kernel.may_fault)
            if finding is not None:
                return f"{target}: {finding.kind}: {text.strip()[:1500]}\n{kernel.text}"
            for name, _, _ in kernel.outputs:
                sides[target, name] = judge.Array(f"{folder}/{target}.{name}.npy", True)
        for name, _, _ in kernel.outputs:
            if sides["opencl", name].words != sides["sim", name].words:
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
        name = find_gpu()
        if name is None:
            print(f"skipped OpenCL on a GPU: {GPU_LIBRARY} has no device")
            return
        print(name)
    cases = [*example_cases(options.one_of), *generated_cases()]
    run_all([(name, run) for name, run in cases if options.only in name], options.jobs)
    command.finish()


if __name__ == "__main__":
    main()
