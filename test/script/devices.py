"""What there is to run on: `croft devices`, and devices that are not there or will not do.

tier: check
builds: release asan

CUDA is pretended: the library of test/fake, which the build makes, is both driver and compiler. So
is OpenCL, as a loader and as a vendor's library; the system's own loader is asked without vendors.
"""
import json
import os
import pathlib

import numpy as np

import command

BUILT = pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build")) / "test"
FAKE = str(BUILT / "libfake_cuda.so")
LOADER = str(BUILT / "libfake_opencl.so")
VENDOR = str(BUILT / "libfake_opencl_vendor.so")
NOWHERE = "/nowhere/libcuda.so.1"
SOFTMAX = ["run", "examples/softmax.croft", "x=randn:4x33", "--target", "cuda"]


def croft(*words, driver=FAKE, compiler=FAKE, does="", opencl=LOADER, opencl_does=""):
    environment = dict(os.environ, CROFT_CUDA_DRIVER=driver, CROFT_NVRTC=compiler, FAKE_CUDA=does,
                       CROFT_OPENCL_LIBRARY=opencl, FAKE_OPENCL=opencl_does,
                       XDG_CACHE_HOME=str(command.SCRATCH))  # what is pretended is for this test
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


def runs():
    """Arrays in and out of the device's memory; what the pretended device does is in FAKE_CUDA."""
    kernel = command.SCRATCH / "copy.croft"
    kernel.write_text("kernel copy(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n"
                      "    y[row, :] = x[row, :]\n}\n")
    x, y = command.SCRATCH / "x.npy", command.SCRATCH / "y.npy"
    values = np.arange(15, dtype=np.float32).reshape(3, 5)
    command.save(x, values, "f32")
    words = ["run", kernel, f"x={x}", f"y={y}", "--target", "cuda"]
    run = croft(*words, "--check", does="copy")
    command.case("arrays_go_to_the_device_and_back",
                 run.code == 0 and "check y: ok, 15 elements" in run.out
                 and np.array_equal(np.load(y), values), run)
    command.case("what_the_compiler_says_is_printed",
                 run.out.startswith("from ptxas: 32 registers, 16 bytes of stack, 0 spilled, "
                                    "1 barriers, 1024 bytes of scratch\n"), run)
    y.unlink()
    run = croft(*words, does="copy")
    command.case("without_check_only_the_file_is_written",
                 run.code == 0 and run.text == "" and np.array_equal(np.load(y), values), run)
    run = croft(*words, "--check", does="overrun")
    command.case("a_write_past_the_end_in_the_devices_memory_is_seen",
                 run.code == 1 and "memory around y was written" in run.out, run)
    run = croft(*words, "--check")
    command.case("elements_that_nobody_wrote_fail",
                 run.code == 1 and "15 failed" in run.out and np.isnan(np.load(y)).all(), run)
    run = croft(*words, "--repeat", 5, "--check", does="copy")
    command.case("launches_that_agree_are_fine",
                 run.code == 0 and "check y: ok" in run.out and np.array_equal(np.load(y), values),
                 run)
    run = croft(*words, "--repeat", 5, does="unsteady")
    command.case("a_launch_that_gives_other_bytes_is_told",
                 run.code == 1 and "launch 3 of 5 gave other bytes of y" in run.out, run)
    run = croft("run", kernel, f"x={x}", "y=-", "--repeat", 5)
    command.case("repeating_belongs_to_devices", run.code == 2 and "--repeat" in run.err, run)
    kept = [words for words in croft("cache", "ls").out.splitlines() if words.startswith("copy ")]
    command.case("machine_code_is_kept", len(kept) == 1 and " sm_90 " in kept[0]
                 and " NVRTC " in kept[0], kept)
    y.unlink()
    run = croft(*words, does="lost")
    command.case("a_lost_device_is_told_and_writes_nothing",
                 run.code == 4 and "cuLaunchKernelEx: CUDA_ERROR_ILLEGAL_ADDRESS" in run.err
                 and not y.exists(), run)
    run = croft(*words, compiler=NOWHERE, does="copy")
    command.case("without_the_compiler_nothing_runs",
                 run.code == 4 and "no NVRTC" in run.err and NOWHERE in run.err
                 and not y.exists(), run)
    for machine in ("sm_80", "cpu-avx2"):
        run = croft(*words, "--machine", machine, "--check", does="copy")
        command.case(f"a_plan_for_{machine}_runs_on_the_device", run.code == 0, run)


def spills():
    """A program that spills: another plan, if none was asked for."""
    kernel = command.SCRATCH / "copy.croft"
    words = ["run", kernel, "x=randn:3x4096", "y=-", "--target", "cuda"]
    run = croft(*words, "--check", does="spills")
    command.case("a_program_that_spills_makes_room_for_another_plan",
                 run.code == 0 and "check y: ok, 12288 elements" in run.out, run)
    run = croft(*words, "--set", "w=64", does="spills")
    command.case("a_plan_that_was_asked_for_and_spills_is_refused",
                 run.code == 4 and "the program spills: 8 bytes" in run.err, run)


def lists_opencl():
    run = croft("devices")
    command.case("opencl_devices_are_listed",
                 run.code == 0
                 and "\nopencl  0: Pretended processor, cpu of Pretending, OpenCL 3.0, machine "
                     "opencl, 4 processors, 16.0 GiB\n        1: Pretended graphics, gpu of "
                 in run.out and run.out.endswith(f"        library: {LOADER}\n")
                 and "lacks" not in run.out, run)
    run = croft("devices", opencl_does="lacking")
    command.case("what_an_opencl_device_lacks_is_said",
                 run.code == 0
                 and "          not used: it lacks CL_FP_DENORM (subnormals), "
                     "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT (exact division and roots)\n" in run.out
                 and "it lacks OpenCL C 1.2 (it has OpenCL C 1.1 ), CL_DEVICE_COMPILER" in run.out,
                 run)
    for does, words in (("none", "has no platform"), ("empty", "has a device")):
        run = croft("devices", opencl_does=does)
        command.case(f"opencl_that_is_{does}_says_so",
                     run.code == 0 and "\nopencl  none: " in run.out and words in run.out, run)
    run = croft("devices", "--opencl-library", VENDOR, opencl=NOWHERE)
    command.case("a_vendors_library_is_named_by_an_option",
                 run.code == 0 and "1: Pretended graphics" in run.out
                 and f"library: {VENDOR}\n" in run.out, run)
    run = croft("devices", opencl="libc.so.6")
    command.case("a_library_that_is_no_opencl_is_told",
                 run.code == 0 and "libc.so.6 has neither clGetPlatformIDs" in run.out, run)
    found = json.loads(croft("devices", "--json", opencl_does="lacking").out)["opencl"]
    command.case("json_has_the_opencl_devices",
                 found["library"] == LOADER and found["library_missing"] is None
                 and found["devices"][0]["lacking"].startswith("CL_FP_DENORM")
                 and found["devices"][1]["kind"] == "gpu", found)
    found = json.loads(croft("devices", "--json").out)["opencl"]["devices"][0]
    command.case("json_has_what_an_opencl_device_has",
                 found == dict(ordinal=0, name="Pretended processor", kind="cpu",
                               platform="Pretending", platform_version="OpenCL 3.0 pretended",
                               driver="7.5", machine="opencl", lacking=None, processors=4,
                               memory_bytes=1 << 34, allocation_bytes=1 << 32, threads_limit=256,
                               scratch_bytes=32768, part_alignment_bytes=128), found)
    found = json.loads(croft("devices", "--json", opencl=NOWHERE).out)["opencl"]
    command.case("json_says_that_opencl_is_missing",
                 found["library"] is None and NOWHERE in found["library_missing"]
                 and found["devices"] == [], found)


def loader():
    """The loader of the system, without any vendor."""
    empty = command.SCRATCH / "vendors"
    empty.mkdir()
    environment = dict(os.environ, OCL_ICD_VENDORS=str(empty), CROFT_CUDA_DRIVER=FAKE,
                       CROFT_NVRTC=FAKE)
    environment.pop("CROFT_OPENCL_LIBRARY", None)
    run = command.croft("devices", environment=environment)
    missing = "no OpenCL; looked for\n        libOpenCL.so.1: " in run.out
    command.case("a_loader_without_vendors_is_told",
                 run.code == 0 and "\nopencl  none: " in run.out
                 and (missing or "libOpenCL.so.1 has no platform: no vendor's library is installed"
                      in run.out), run)


def runs_opencl():
    """As above; buffers are handles, and the arrays parts of them between the guards."""
    kernel = command.SCRATCH / "copy.croft"
    x, y = command.SCRATCH / "x.npy", command.SCRATCH / "z.npy"
    values = np.load(x)
    words = ["run", kernel, f"x={x}", f"y={y}", "--target", "opencl"]
    for name, library in (("a_loader", LOADER), ("a_vendor", VENDOR)):
        run = croft(*words, "--check", opencl=library, opencl_does="copy")
        command.case(f"arrays_go_to_an_opencl_device_of_{name}_and_back",
                     run.code == 0 and "check y: ok, 15 elements" in run.out
                     and "from Pretended graphics: 48 bytes of stack, 512 bytes of scratch\n"
                     in run.out
                     and np.array_equal(np.load(y), values), run)
        y.unlink()
    run = croft(*words, "--check", opencl_does="overrun")
    command.case("a_write_past_the_end_of_a_buffers_part_is_seen",
                 run.code == 1 and "memory around y was written" in run.out, run)
    run = croft(*words, "--repeat", 5, "--check", opencl_does="copy")
    command.case("launches_of_opencl_that_agree_are_fine", run.code == 0, run)
    run = croft(*words, "--repeat", 5, opencl_does="unsteady")
    command.case("a_launch_of_opencl_that_gives_other_bytes_is_told",
                 run.code == 1 and "launch 3 of 5 gave other bytes of y" in run.out, run)
    y.unlink()
    run = croft(*words, opencl_does="lost")
    command.case("a_launch_of_opencl_that_fails_is_told_and_writes_nothing",
                 run.code == 4 and "clWaitForEvents: CL_EXEC_STATUS_ERROR" in run.err
                 and not y.exists(), run)
    run = croft(*words, opencl_does="lacking")
    command.case("devices_that_lack_something_run_nothing",
                 run.code == 4 and "no OpenCL device has what kernels need:" in run.err
                 and "Pretended processor: it lacks CL_FP_DENORM" in run.err
                 and not y.exists(), run)
    for does in ("none", "empty"):
        run = croft(*words, opencl_does=does)
        command.case(f"opencl_that_is_{does}_runs_nothing", run.code == 4 and not y.exists(), run)
    run = croft(*words, opencl=NOWHERE)
    command.case("without_opencl_nothing_runs",
                 run.code == 4 and "no OpenCL; looked for" in run.err and NOWHERE in run.err
                 and not y.exists(), run)
    run = croft(*words, "--opencl-library", LOADER, opencl=NOWHERE, opencl_does="copy")
    command.case("an_option_goes_before_the_environment", run.code == 0, run)
    run = croft(*words, "--offset", 1, opencl_does="copy")
    command.case("buffers_are_not_moved", run.code == 2 and "--offset" in run.err, run)
    run = croft(*SOFTMAX[:-2], f"y={y}", "--opencl-library", LOADER)
    command.case("the_library_is_of_the_target",
                 run.code == 2 and "run --target opencl and devices: --opencl-library" in run.err,
                 run)
    run = croft("plan", "examples/softmax.croft", "N=8", "--opencl-library", LOADER)
    command.case("the_library_belongs_to_what_opens_it",
                 run.code == 2 and "run and devices: --opencl-library" in run.err, run)


lists()
lists_opencl()
loader()
reports()
missing()
runs()
spills()
runs_opencl()
command.finish()
