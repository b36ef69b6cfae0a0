"""croft opt on good input, and what run, emit and the others do with the options of passes.

tier: check
builds: release asan
"""
import re
import subprocess

import command
from command import ROOT, case, croft

KERNELS = ["softmax", "layernorm", "cross_entropy", "transpose8", "softmax_blocks"]
MACHINE = ["--machine", "cpu-avx2"]


def emit(name, *words):
    result = croft("emit", f"examples/{name}.croft", *MACHINE, *words)
    return result.out if result.code == 0 else str(result)


def opt(text, *words):
    """opt on a text by standard input."""
    done = subprocess.run([command.CROFT, "opt", "-", *words], cwd=ROOT, input=text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return command.Result(["opt", *words], done.returncode, done.stdout, done.stderr)


def check_pipeline():
    """The pipeline by hand, from wherever it stopped, ends where a compilation does."""
    for name in KERNELS:
        whole = emit(name, "--level", "thread")
        for step in ("canonicalise", "map", "expand", "hoist"):
            half = emit(name, "--stop-after", step)
            result = opt(half, *MACHINE)
            case(f"goes_on_after_{step}_{name}", result.code == 0 and result.out == whole, result)
        mapped = emit(name, "--level", "mapped")
        case(f"stop_after_map_{name}", emit(name, "--stop-after", "map") == mapped, mapped)
        source = emit(name)
        case(f"checked_{name}", emit(name, "--check-passes") == source and "{" in source, source)


def check_by_plan():
    tile = emit("softmax", "N=64", "--level", "tile")
    plan = command.SCRATCH / "k.plan"
    printed = croft("plan", "examples/softmax.croft", "N=64", *MACHINE)
    plan.write_text(printed.out)
    result = opt(tile, "-p", "map", "--plan", plan)
    case("a_plan_from_a_file", result.out == emit("softmax", "N=64", "--level", "mapped"), result)
    result = opt(tile, "-p", "map", "--plan", plan, "--machine", "cpu-avx512")
    case("a_plan_of_another_machine", result.code == 3 and "[plan-machine]" in result.err, result)
    plan.write_text(printed.out.replace("canon ", "canon 0"))
    result = opt(tile, "-p", "map", "--plan", plan)
    case("a_broken_plan", result.code == 3 and "k.plan:1:" in result.err, result)
    plan.write_text("")
    result = opt(tile, "-p", "map", "--plan", plan)
    case("an_empty_plan", result.code == 3 and result.err, result)
    fallback = opt(tile, "-p", "map", "--plan", "fallback", *MACHINE)
    case("a_family", fallback.out == emit("softmax", "N=64", "--plan", "fallback", "--level",
                                          "mapped"), fallback)


def check_printing():
    listed = croft("opt", "--list")
    names = re.findall(r"^(\w+) ", listed.out.split("\n\n")[0], re.M)
    case("list", listed.code == 0 and names[0] == "canonicalise" and "dead" in names, listed)
    tile = emit("softmax", "--level", "tile")
    result = opt(tile, *MACHINE, "--print-after", "all")
    after = re.findall(r"^# after (\w+)$", result.err, re.M)
    first = ["canonicalise", "conversions", "erase", "map", "expand", "fold"]
    case("print_after_all", after[:6] == first
         and result.out == emit("softmax", "--level", "thread"), result)
    result = croft("run", "examples/softmax.croft", "x=ones:2x4", "y=-", "--print-after", "map")
    case("print_after_in_run", result.code == 0 and result.out.count("0.25") == 8
         and result.err.startswith("# after map\nkernel @softmax"), result)
    texts = result.err.split("# after map\n")[1:]
    result = opt(texts[0], "-p", "expand", "--check-passes")
    case("what_was_printed_reads_back", result.code == 0, result)
    path = command.SCRATCH / "out.ir"
    result = opt(tile, "-p", "fold", "-o", path)
    case("output_file", result.code == 0 and result.out == ""
         and path.read_text().startswith("kernel @softmax"), result)
    case("same_from_a_file", croft("opt", path, "-p", "fold").out == path.read_text())


def check_inputs():
    tile = emit("rmsnorm", "T=f32", "--level", "tile")
    words = ["x=randn:3x37", "w=randn:37", "eps=0.5"]
    result = opt(tile, "--check-passes", *MACHINE, *words)
    case("interpreted", result.code == 0 and result.out, result)
    result = opt(tile, "--check-passes", *MACHINE, "x=randn:3x37")
    case("an_input_is_missing", result.code == 3 and "[missing-argument]" in result.err
         and "`w=`" in result.err, result)
    result = opt(tile, "--check-passes", *MACHINE, "x=randn:3x37", "w=randn:36")
    case("inputs_disagree", result.code == 3 and "N:" in result.err, result)


def main():
    check_pipeline()
    check_by_plan()
    check_printing()
    check_inputs()
    command.finish()


if __name__ == "__main__":
    main()
