"""Kernels on an OpenCL device: the simulator's bits by the same plan, the cpu's when strict.

tier: check check-long (in check some of the examples)
builds: release

Runs on what is installed (PoCL does); CROFT_OPENCL_LIBRARY names another library than the loader.
"""
import itertools
import json
import re
import sys

import command
from command import SCRATCH, case, croft
from examples import CONSTANT, EXAMPLES
from sim_examples import DTYPES, arguments, outputs_of, same

WIDTHS = [1, 33, 1000]
STRICT = ["softmax", "rmsnorm", "layernorm", "cross_entropy"]


def run_on(target, words, outputs):
    """The result, and the outputs it wrote."""
    paths = {key: SCRATCH / f"{target}_{key}.npy" for key in outputs}
    for path in paths.values():
        path.unlink(missing_ok=True)
    files = [f"{key}={before}{paths[key]}" for key, before in outputs.items()]
    result = croft("run", *words, *files, "--target", target, "--seed", command.SEED)
    return result, [command.load(path) for path in paths.values() if path.exists()]


def check_bits(label, words, outputs, machine="opencl"):
    words = [*words, "--machine", machine, "--check"]
    there, bits = run_on("opencl", words, outputs)
    if there.code:
        return case(label, False, there)
    simulated, wanted = run_on("sim", words, outputs)
    equal = len(bits) == len(wanted) and all(same(a, b) for a, b in zip(bits, wanted))
    return case(label, simulated.code == 0 and equal, f"{simulated}\n{there}")


def check_examples():
    turn = itertools.count()
    for name in EXAMPLES:
        for width in [8] if name == "transpose8" else WIDTHS:
            number = next(turn)
            if not command.in_turn(14):
                continue
            elements = (2 if name in CONSTANT else 0) if width == 1 else width
            dtype, special = DTYPES[number % 3], number % 5 == 0
            words = [f"examples/{name}.croft", *arguments(name, 3, elements, dtype, special)]
            label = "_".join([name, str(width), dtype] + ["special"] * special)
            check_bits(label, words, outputs_of(name))


def check_launches():
    """Rows in parts: what one launch hands on to the next lies in buffers of the device."""
    words = ["examples/softmax.croft", "x=randn:2x40000", "--set", "g=4"]
    plan = croft("plan", *words, "y=/dev/null", "--machine", "sm_90")
    case("rows_are_in_parts", plan.code == 0 and " | group 4\n" in plan.out, plan)
    check_bits("rows_in_parts", words, {"y": ""}, "sm_90")
    run = croft("run", *words, f"y={SCRATCH / 'again.npy'}", "--target", "opencl", "--machine",
                "sm_90", "--repeat", 5)
    case("parts_give_the_same_again", run.code == 0, run)


def check_strict():
    for number, name in enumerate(STRICT if command.LONG else STRICT[:2]):
        words = [f"examples/{name}.croft", *arguments(name, 5, 133, DTYPES[number % 3], False),
                 *[f"{key}=/dev/null" for key in outputs_of(name)], "--strict", "--hash"]
        hashes = {target: re.findall(r"^hash .*$", croft("run", *words, "--target", target).out,
                                     re.MULTILINE) for target in ("cpu", "opencl")}
        case(f"strict_{name}", hashes["cpu"] and hashes["cpu"] == hashes["opencl"], hashes)


# What a compiler may take for something else: macros of the language, of its extensions and of
# PoCL's headers, types of images, names of the text around the body.
NAMES = """CLK_ADDRESS_CLAMP CLK_RGBx CLK_sRGBA CLK_LOCAL_MEM_FENCE cl_khr_subgroup_ballot
cles_khr_int64 M_PI_H FLT_MAX NAN NULL INTTYPE IMG_RO_AQ LLVM_15_0 CLANG_MAJOR POCL_DEVICE_TYPES_H
ATOMIC_FLAG_INIT image2d_depth_t image2d_array_msaa_depth_t half half4 event_t queue_t pipe generic
vec_step barrier get_group_id vload_half rint fma as_float convert_int printf quad2 words first
arguments workspace croft_words croft_names scratch exchange thread lane pack memory INLINE u64
trips clamp_i32""".split()
NAMED = {"names": ("words", "CLK_R", "image3d_t", "M_LN2"),  # of a kernel, its arrays, a size
         "more_names": ("first", "half8", "cl_x", "LONG_MAX")}


def check_names():
    """Every value has such a name too."""
    for label, (kernel, x, y, size) in NAMED.items():
        path = SCRATCH / f"{label}.croft"
        lines = [f"kernel {kernel}({x}: in f32[R, {size}], {y}: out f32[R, {size}]) {{",
                 "    program row: R", f"    prior = {x}[row, :]"]
        for before, name in zip(["prior", *NAMES], NAMES):
            lines.append(f"    {name} = {before} * 0.5 + prior")
        lines.append(f"    {y}[row, :] = {NAMES[-1]} / max({NAMES[-1]})")
        path.write_text("\n".join(lines) + "\n}\n")
        check_bits(label, [path, f"{x}=randn:5x37"], {y: ""})


def main():
    found = json.loads(croft("devices", "--json").out)["opencl"]
    if not any(device["lacking"] is None for device in found["devices"]):
        print(f"no OpenCL device to run on: {found['library_missing']}")
        sys.exit(77)
    check_examples()
    check_launches()
    check_names()
    check_strict()
    command.finish()


if __name__ == "__main__":
    main()
