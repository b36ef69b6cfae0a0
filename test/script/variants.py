"""Variants of a kernel: what `emit --assume` prints, and which one a run takes by its arrays.

tier: check
builds: release asan

On the simulator, whose every aligned access is looked at, and on a pretended device (test/fake).
"""
import os
import pathlib
import re

import numpy as np

import command
from command import case, croft

FAKE = str(pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build"))
           / "test" / "libfake_cuda.so")
SOFTMAX = "examples/softmax.croft"
ON = ["--target", "sim", "--machine", "sm_90", "--check"]


def emitted():
    general = croft("emit", SOFTMAX, "--machine", "sm_90")
    case("the_general_source_looks_at_addresses",
         general.code == 0 and "is_aligned(x, " in general.out and "Only for" not in general.out,
         general)
    run = croft("emit", SOFTMAX, "--machine", "sm_90", "--assume", "nothing")
    case("nothing_assumed_is_the_general_source", run.out == general.out, run)
    run = croft("emit", SOFTMAX, "--machine", "sm_90", "--assume", "aligned")
    case("aligned_source_says_for_what",
         "/* Only for arguments with x aligned 16, y aligned 16. */" in run.out
         and "is_aligned(" not in run.out and " ? x[" in run.out, run)
    run = croft("emit", SOFTMAX, "--machine", "sm_90", "--assume", "aligned,multiple")
    case("whole_groups_leave_no_single_elements",
         "x aligned 16, y aligned 16, N % 4 == 0. */" in run.out
         and "is_aligned(" not in run.out and " ? x[" not in run.out, run)
    packed = [SOFTMAX, "--machine", "sm_90", "R=4096", "N=256"]  # rows that share a group
    general, narrow = croft("emit", *packed), croft("emit", *packed, "--assume", "aligned")
    case("packed_rows_are_aligned_too", "is_aligned(" in general.out and narrow.code == 0
         and "subgroup" in narrow.out and "is_aligned(" not in narrow.out, narrow)
    every = croft("emit", SOFTMAX, "--machine", "sm_90", "--assume", "all")
    case("all_is_every_kind", every.out == run.out, every)
    run = croft("emit", SOFTMAX, "--machine", "cpu-avx2", "--assume", "all")
    case("a_cpu_has_one_variant",
         run.code == 0 and run.out == croft("emit", SOFTMAX, "--machine", "cpu-avx2").out, run)
    run = croft("emit", SOFTMAX, "--assume", "aligned,odd")
    case("an_unknown_condition_is_refused",
         run.code == 2 and "aligned, begins, spaced, multiple" in run.err, run)
    run = croft("plan", SOFTMAX, "--assume", "all")
    case("conditions_belong_to_emit_and_run", run.code == 2 and "--assume" in run.err, run)


def texts():
    """The IR of a variant, read again: accepted as it is, refused without a condition."""
    path = command.SCRATCH / "variant.ir"
    run = croft("emit", SOFTMAX, "--machine", "sm_90", "--assume", "all", "--level", "thread",
                "-o", path)
    text = path.read_text()
    case("thread_text_has_conditions",
         run.code == 0 and "  condition N % 4 == 0\n" in text and " align=16 whole" in text, text)
    run = croft("opt", "-p", "align", path)
    case("what_is_known_stays_known", run.code == 0 and run.out == text, run)
    bare = re.sub(r" align=16( whole)?", "", text)
    run = croft("opt", "-p", "align", "--check-passes", put("bare.ir", bare))
    case("the_pass_finds_it_again", run.code == 0 and run.out == text, run)
    for condition in re.findall(r"  condition .*\n", text):
        less = put("less.ir", text.replace(condition, ""))
        run = croft("opt", "-p", "align", less)
        case(f"refused_without_{condition.split()[1]}",
             run.code == 3 and "[access-align]" in run.err, run)


def put(name, text):
    path = command.SCRATCH / name
    path.write_text(text)
    return path


def simulated():
    """Arrays at an address of their own, each by its variant, all with the same bytes."""
    aligned = "variant: x aligned 16, y aligned 16\n"
    past = "x aligned 16 does not hold: x begins 4 bytes past a multiple of 16\n"
    outputs = []
    for words, said in ((["--offset", 0], aligned), (["--offset", 4], aligned),
                        (["--offset", 1], "variant: general\n  " + past),
                        (["--assume", "nothing"], "x aligned 16 is not tried\n"),
                        (["--assume", "multiple"], "x aligned 16 is not tried\n")):
        y = command.SCRATCH / "y.npy"
        run = croft("run", SOFTMAX, "x=randn:3x1024", f"y={y}", *ON, *words)
        case("_".join(map(str, words)).replace("--", "") + "_takes_its_variant",
             run.code == 0 and said in run.out and "check y: ok" in run.out, run)
        outputs.append(np.load(y).tobytes())
    case("all_variants_give_the_same_bytes", len(set(outputs)) == 1)
    run = croft("run", SOFTMAX, "x=randn:3x1009", "y=-", *ON, "--plan", "row")
    case("ragged_rows_are_told",
         run.code == 0 and "x has 4036 bytes from one index of dimension 0 to the next" in run.out
         and "check y: ok" in run.out, run)
    run = croft("run", SOFTMAX, "x=randn:1x1009", "y=-", *ON, "--plan", "row")
    case("the_number_of_rows_is_not_asked", "variant: general\n" in run.out, run)
    run = croft("run", "examples/swiglu.croft", "gate=randn:3x256", "up=randn:3x256", "y=-", *ON,
                "--offset", 1, "--plan", "row")
    case("other_kernels_are_right_too", run.code == 0 and "variant: general\n" in run.out, run)
    run = croft("run", SOFTMAX, "x=randn:3x64", "y=-", "--target", "cpu", "--check", "--offset", 1)
    case("a_cpu_takes_any_address", run.code == 0 and "variant" not in run.out, run)
    run = croft("emit", SOFTMAX, "--offset", 1)
    case("offset_belongs_to_run", run.code == 2 and "--offset" in run.err, run)


def partly():
    """Rows of one tensor that are aligned, of others that are not; a width that is open."""
    kernel = put("mixed.croft", "kernel mixed(x: in f32[R, N], w: in f32[R, 2 * N], "
                 "y: out f32[R, N]) {\n    program row: R\n    y[row, :] = x[row, :] * "
                 "w[row, 0 : +N]\n}\n")
    run = croft("run", kernel, "x=randn:3x66", "w=randn:3x132", "y=-", *ON, "--set", "v=4")
    case("each_tensor_has_a_condition_of_its_own",
         run.code == 0 and "variant: w aligned 16\n" in run.out
         and "x aligned 16 does not hold: x has 264 bytes" in run.out
         and "y aligned 16 does not hold: y has 264 bytes" in run.out, run)
    kernel = put("open.croft", "kernel open(x: in f32[R, dynamic N], y: out f32[R, N]) {\n"
                 "    program row: R\n    t = x[row, :]\n    y[row, :] = t / sum(t)\n}\n")
    for width, said in ((300, "variant: x aligned 16, y aligned 16, N % 4 == 0\n"),
                        (302, "  N % 4 == 0 does not hold: N is 302\n")):
        run = croft("run", kernel, f"x=uniform:3x{width}", "y=-", *ON, "--plan", "row")
        case(f"open_width_{width}", run.code == 0 and said in run.out, run)
    run = croft("run", kernel, "x=uniform:1x302", "y=-", *ON, "--plan", "row")
    case("open_width_of_one_row", run.code == 0 and "variant: general\n" in run.out, run)


def shifted():
    """Rows that begin anywhere, by a plan that shifts them: what follows from the first element."""
    plan = command.SCRATCH / "shifted.plan"
    text = croft("plan", SOFTMAX, "N=1009", "--machine", "sm_90", "--set", "w=256,v=4,p=1").out
    text = re.sub(r"(?m)^axis N .*$", "axis N  slot 4 | lane 32 | slot 8 shift x.0", text)
    plan.write_text(text)
    words = ["x=randn:3x1009", f"y={command.SCRATCH / 'y.npy'}", "--plan", plan, *ON]
    outputs = []
    for offset, said in ((0, "variant: x begins 16, y begins 16, x spaced 16, y spaced 16\n"),
                         (1, "  x begins 16 does not hold: x begins 4 bytes past")):
        run = croft("run", SOFTMAX, *words, "--offset", offset)
        case(f"shifted_rows_offset_{offset}",
             run.code == 0 and said in run.out and "check y: ok" in run.out, run)
        outputs.append((command.SCRATCH / "y.npy").read_bytes())
    case("shifted_rows_give_the_same_bytes", outputs[0] == outputs[1])
    run = croft("emit", SOFTMAX, "N=1009", "--plan", plan, "--machine", "sm_90", "--assume",
                "begins,spaced")
    case("shifted_rows_look_at_no_address",
         "/* Only for arguments with x begins 16, y begins 16, x spaced 16, y spaced 16. */"
         in run.out and "is_aligned(" not in run.out, run)
    run = croft("emit", SOFTMAX, "N=1009", "--plan", plan, "--machine", "sm_90", "--assume",
                "spaced")
    case("spacing_alone_serves_nothing", "Only for" not in run.out, run)


def devices():
    """The pointers of the device decide, once the arrays are there."""
    kernel = put("copy.croft", "kernel copy(x: in f32[R, N], y: out f32[R, N]) {\n"
                 "    program row: R\n    y[row, :] = x[row, :]\n}\n")
    environment = dict(os.environ, CROFT_CUDA_DRIVER=FAKE, CROFT_NVRTC=FAKE, FAKE_CUDA="copy")
    for width, offset, said in ((256, 0, "variant: x aligned 16, y aligned 16\n"),
                                (256, 1, "y begins 4 bytes past a multiple of 16\n"),
                                (258, 0, "x has 1032 bytes from one index")):
        y = command.SCRATCH / "y.npy"
        run = croft("run", kernel, f"x=arange:3x{width}", f"y={y}", "--target", "cuda", "--check",
                    "--offset", offset, "--set", "v=4", environment=environment)
        case(f"device_{width}_{offset}",
             run.code == 0 and said in run.out and "check y: ok" in run.out
             and run.out.index("variant: ") < run.out.index("from ptxas: "), run)


emitted()
texts()
simulated()
partly()
shifted()
devices()
command.finish()
