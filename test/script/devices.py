"""What there is to run on: `croft devices`, and devices that are not there or will not do.

tier: check
builds: release asan

CUDA is pretended: the library of test/fake, which the build makes, is both driver and compiler.
"""
import json
import os
import pathlib

import command

FAKE = str(pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build"))
           / "test" / "libfake_cuda.so")
NOWHERE = "/nowhere/libcuda.so.1"
SOFTMAX = ["run", "examples/softmax.croft", "x=randn:4x33", "--target", "cuda"]


def croft(*words, driver=FAKE, compiler=FAKE, does=""):
    environment = dict(os.environ, CROFT_CUDA_DRIVER=driver, CROFT_NVRTC=compiler, FAKE_CUDA=does)
    return command.croft(*words, environment=environment)


def lists():
    run = croft("devices")
    command.case("devices_are_listed",
                 run.code == 0 and run.out.startswith("cpu   cpu-")
                 and "\nsim   any machine" in run.out
                 and "\ncuda  0: Pretended 0, compute capability 9.0, machine sm_90, "
                     "132 processors, 128.0 GiB\n" in run.out
                 and f"driver: {FAKE}, version 13.0\n" in run.out
                 and f"compiler: {FAKE}, version 13.0\n" in run.out, run)
    run = croft("devices", driver=NOWHERE, compiler=NOWHERE)
    command.case("what_is_missing_is_no_failure",
                 run.code == 0 and "cuda  none: no CUDA driver; looked for\n" in run.out
                 and run.out.count(NOWHERE + ": cannot open shared object file") == 2, run)
    run = croft("devices", does="none")
    command.case("a_driver_without_a_device_says_why",
                 run.code == 0 and "cuda  none: cuInit: CUDA_ERROR_NO_DEVICE" in run.out
                 and FAKE in run.out, run)
    run = croft("devices", does="old")
    command.case("a_device_without_a_machine_says_so",
                 run.code == 0 and "capability 7.0, no machine describes it" in run.out, run)


def reports():
    run = croft("devices", "--json")
    found = json.loads(run.out)
    command.case("json_has_the_schema", found["schema"] == "croft-devices/1", run)
    command.case("json_has_the_cpu", found["cpu"]["machine"].startswith("cpu-")
                 and found["cpu"]["processors"] >= 1 and found["cpu"]["compiler_missing"] is None,
                 run)
    devices = found["cuda"]["devices"]
    command.case("json_has_the_devices",
                 [device["name"] for device in devices] == ["Pretended 0", "Pretended 1"]
                 and devices[1] == dict(ordinal=1, name="Pretended 1", capability_major=9,
                                        capability_minor=0, machine="sm_90", processors=132,
                                        memory_bytes=1 << 37, threads_limit=1024,
                                        scratch_bytes=232448, clusters=True), run)
    run = croft("devices", "--json", driver=NOWHERE, compiler=NOWHERE)
    found = json.loads(run.out)["cuda"]
    command.case("json_says_what_is_missing",
                 run.code == 0 and found["driver"] is None and NOWHERE in found["driver_missing"]
                 and found["compiler"] is None and NOWHERE in found["compiler_missing"]
                 and found["devices"] == [], run)
    path = command.SCRATCH / "devices.json"
    run = croft("devices", "--format", "json", "-o", path)
    command.case("a_report_goes_into_a_file",
                 run.code == 0 and run.out == "" and json.loads(path.read_text())["sim"], run)
    run = croft("devices", "--format", "svg")
    command.case("other_formats_are_refused", run.code == 2 and "text, json" in run.err, run)
    run = croft("plan", "examples/softmax.croft", "N=8", "--json")
    command.case("json_belongs_to_devices", run.code == 2 and "--json" in run.err, run)


def missing():
    output = command.SCRATCH / "y.npy"
    run = croft(*SOFTMAX, f"y={output}", driver=NOWHERE)
    command.case("without_a_driver_nothing_runs",
                 run.code == 4 and NOWHERE in run.err and not output.exists(), run)
    run = croft(*SOFTMAX, f"y={output}", does="none")
    command.case("without_a_device_nothing_runs",
                 run.code == 4 and "CUDA_ERROR_NO_DEVICE" in run.err and not output.exists(), run)
    run = croft(*SOFTMAX, f"y={output}", does="old")
    command.case("a_device_that_no_machine_describes_is_refused",
                 run.code == 4 and "compute capability 7.0" in run.err and not output.exists(), run)


lists()
reports()
missing()
command.finish()
