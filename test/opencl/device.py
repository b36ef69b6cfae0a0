#!/usr/bin/env python3
"""Kernels on an OpenCL device: within the reference's bound, with the simulator's bits.

    test/opencl/device.py [WORD]

tier: check check-long
builds: release

* The examples at edge widths by the row plan and the fallback, of the machine `opencl`, of sm_90
  with portable functions, and of the host's cpu: `--check` against the reference, guards around the
  outputs, and the bits of the simulator by the same plan. Where owners are not fixed by the text
  the cpu runs that plan too, with the same bits.
* Generated kernels likewise (test/generated), those of one fixed and of one fresh seed.

The device is the first that `croft devices` finds: PoCL on a machine without a GPU. check takes
each example once and few generated kernels, check-long all. Without an OpenCL library every case
fails: `make deps` installs PoCL.
"""
import importlib.util
import pathlib
import queue
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
COUNTS = {"check": (2, 1), "check-long": (120, 30)}  # generated kernels, and row kernels
JOBS = 2


# ---- examples ----

def example_cases():
    """(name, what says None when all is well)"""
    for number, case in enumerate(gpu.make_cases(False)):
        usual = [case.kernel.name, CHECK_PLAN, case.kernel.types[0], "randn", str(CHECK_WIDTH)]
        if case.variant is not None or not (command.LONG or case.name.split("/") == usual):
            continue
        machine = MACHINES[0] if case.packing or case.shift else MACHINES[number % 4 % 3]
        case.words[case.words.index("--machine") + 1] = machine
        yield f"{case.name}/{machine}", lambda worker, case=case: run_example(case, worker)


def run_example(case, worker):
    why = gpu.run_case(case, worker, "opencl")
    erased = case.kernel.name in ("transpose8", "rmsnorm_register")  # by a cpu
    return why if why is not None or erased else gpu.run_case(case, worker, "cpu")


# ---- generated kernels ----

def generated_cases():
    options = types.SimpleNamespace(seed=None, count=None)
    for maker, fixed in ((lambda name: generate.generate(name, False), 1),
                         (lambda name: row_kernels.RowKernel(name).kernel(), 5)):
        for name in seeds.names(options, fixed, COUNTS):
            kernel = maker(name)
            for plan in ("fallback", "row"):
                yield (f"generated_{fixed}/{name}/{plan}",
                       lambda worker, kernel=kernel, plan=plan: run_generated(kernel, plan, worker))


def run_generated(kernel, plan, worker):
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

def run_all(cases):
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

    threads = [threading.Thread(target=work) for _ in range(JOBS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    only = sys.argv[1] if len(sys.argv) > 1 else ""
    gpu.BUILD = pathlib.Path(command.CROFT).parent
    run_all([(name, run) for name, run in [*example_cases(), *generated_cases()] if only in name])
    command.finish()


if __name__ == "__main__":
    main()
