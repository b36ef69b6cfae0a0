"""`croft run --target sim` as a debugger: IR texts with their lines, findings, exit codes.

tier: check
builds: release asan
"""
import re

import numpy as np

import command

RACE = """kernel @reverse[N](%x: in f32[N], %y: out f32[N], bias: f32 = 0.5) level thread
  team 64
  subgroup 32
  groups 1
{
  %n = size N : i64
  %v = load %x[lane*1 + subgroup*32] mask=lane*1 + subgroup*32 < %n : f32(1)
  %bias = parameter bias : f32
  %b = add %v, %bias : f32(1)
  %s, %f = scratch 64 : scratch f32[64], token free
  %w = put %s[lane*1 + subgroup*32], %b, %f : token written %s
  %p = sync group %w : token published %s
  %i = iota lane*-1 + subgroup*-32 : i64(1)
  %one = constant 1 : i64
  %last = sub %n, %one : i64
  %r = get %s[%last + vector %i], %p mask=lane*1 + subgroup*32 < %n : f32(1)
  store %y[lane*1 + subgroup*32], %r injective mask=lane*1 + subgroup*32 < %n
}
"""


def write(text):
    path = command.SCRATCH / "k.ir"
    path.write_text(text)
    return path


def check_page():
    """The program of docs/simulator.md is right, and without its sync it is found twice."""
    page = (command.ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    text = re.search(r"^```ir\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
    result = run(text, "x=arange:2x8", "y=-")
    command.case("page_program", result.code == 0 and result.err == "" and
                 "15.0 14.0 13.0 12.0 11.0 10.0 9.0 8.0" in result.out, result)
    racy = re.sub(r"^  %p = sync.*\n", "", text, flags=re.MULTILINE).replace("%p", "%w")
    result = run(racy, "x=arange:2x8", "y=-")
    command.case("page_program_without_sync", result.code == 1 and "[sim-race]" in result.err,
                 result)
    result = command.croft("opt", "-p", "dead", write(racy))
    command.case("page_program_without_sync_verified", result.code == 3 and
                 all(slug in result.err for slug in ("[token-state]", "[hazard-race]")), result)
    result = command.croft("check", write(racy))
    command.case("page_program_without_sync_checked", result.code == 3 and
                 all(slug in result.err for slug in ("[token-state]", "[hazard-race]")) and
                 "`get` takes a token that is written [" in result.err and
                 "found: %r = get %s[vector %from], %w : f32(1)\n" in result.err, result)
    result = command.croft("check", write(text))
    command.case("page_program_checked", result.code == 0 and
                 result.out.endswith("k.ir: kernel reverse of level thread is fine\n"), result)
    result = run(text, "x=arange:2x9", "y=-")
    command.case("shape_that_does_not_fit", result.code == 3 and
                 "found: f32[2, 9]\n  expected: f32[R, 8]" in result.err, result)


def check_machines():
    """Whatever takes a machine says which there are; the help lists the same ones."""
    listed = command.croft("help").out.split("machines: ")[1].split("\n")[0]
    convert = ["layout", "convert", "identity(64)", "identity(64)"]
    for words in (["run", "examples/softmax.croft"], ["opt", "k.ir"], convert):
        result = command.croft(*words, "--machine", "abacus")
        command.case(f"unknown_machine_{words[0]}", result.code == 2 and
                     f"machines are {listed}\n" in result.err, result)


def run(text, *words):
    return command.croft("run", "--target", "sim", write(text), *words)


def main():
    out = command.SCRATCH / "y.npy"
    result = run(RACE, "x=arange:40", f"y={out}", "bias=2")
    good = result.code == 0 and not result.text
    command.case("text_runs", good and np.array_equal(command.load(out), np.arange(40)[::-1] + 2),
                 result)
    result = run(RACE, "x=arange:3", "y=-")
    command.case("text_prints", result.code == 0 and "2.5 1.5 0.5" in result.out, result)

    broken = RACE.replace("%p = sync group %w", "%p = sync subgroup %w")
    result = run(broken, "x=arange:40", f"y={out}")
    shown = re.search(r"k\.ir:16:3: error: .*\[sim-race\]", result.err)
    other = re.search(r"line 11, group 0, subgroup \d, lane \d+", result.err)
    command.case("race_has_both_lines", result.code == 1 and shown and other, result)
    command.case("race_once", result.err.count("sim-race") == 1, result)

    located = re.sub(r"(\n  %[^\n]*)", r"\1 @3:1+2", broken).replace(
        "  team", '  source "k.croft"\n  team', 1)
    result = run(located, "x=arange:40")
    command.case("lines_are_of_the_text", re.search(r"k\.ir:17:3: error", result.err), result)

    for name, text, words, code, slug in [
            ("outside", RACE.replace("team 64", "team 128"), ["x=arange:128"], 1, "sim-outside"),
            ("not_structure", RACE.replace("lane*1 + subgroup*32] mask", "vector %v] mask").replace(
                "%x[vector %v]", "%x[vector %n, 0]"), ["x=ones:4"], 3, "access|sim-refused|ir-"),
            ("no_input", RACE, [], 3, "missing-argument"),
            ("unknown_name", RACE, ["x=ones:4", "z=1"], 3, "unknown-name"),
            ("wrong_rank", RACE, ["x=ones:4x4"], 3, "argument-value"),
            ("not_thread", "kernel @k() level tile\n{\n}\n", [], 3, "sim-refused"),
            ("not_ir", "kernel k(x: in f32[N]) {}", [], 3, "ir-")]:
        result = run(text, *words)
        command.case(name, result.code == code and re.search(rf"\[({slug})", result.err), result)

    emitted = command.SCRATCH / "emitted.ir"
    command.croft("emit", "examples/softmax.croft", "N=100", "--machine", "sm_90", "--level",
                  "thread", "-o", emitted)
    result = command.croft("run", "--target", "sim", emitted, "x=randn:3x100", "--check")
    command.case("text_checked", result.code == 0 and "check y: ok, 300" in result.out, result)
    text = emitted.read_text()
    start = text.index("  }\n")  # behind the program that it implements
    spoiled = text[start:].replace("= fold sum", "= fold max", 1)
    emitted.write_text(text[:start] + spoiled)
    result = command.croft("run", "--target", "sim", emitted, "x=randn:3x100", "--check")
    command.case("text_checked_wrong", result.code == 1 and "check y: FAILED" in result.out, result)
    result = run(RACE, "x=ones:4", "--check")
    command.case("nothing_to_check", result.code == 2 and "implements" in result.err, result)

    result = command.croft("run", write(RACE), "x=ones:4")
    command.case("needs_sim", result.code == 2 and "--target sim" in result.err, result)
    result = run(RACE, "x=ones:4", "y=/nowhere/y.npy")
    command.case("output_refused", result.code == 4 and "file-write" in result.err, result)
    result = command.croft("run", "examples/cross_entropy.croft", "logits=randn:3x40",
                           "label=const:3:3,-100,41:i32", "loss=-", "--target", "sim", "--check")
    command.case("declared_fill_is_no_finding", result.code == 0, result)
    kernel = command.SCRATCH / "pick.croft"
    kernel.write_text("kernel pick(x: in f32[R, N], i: in i32[R], y: out f32[R]) {\n"
                      "    program row: R\n    y[row] = x[row, i[row]]\n}\n")
    for target in ("sim", "cpu"):
        result = command.croft("run", kernel, "x=randn:3x40", "i=const:3:3,0,41:i32", "y=-",
                               "--target", target, "--check")
        slug = "[sim-gather]" if target == "sim" else "fault"
        command.case(f"gather_outside_{target}", result.code == 1 and slug in result.err, result)
    result = command.croft("run", kernel, "x=randn:3x40", "i=const:3:3,0,41:i32", "y=-",
                           "--target", "sim")
    command.case("gather_unchecked", result.code == 0, result)
    check_page()
    check_machines()
    command.finish()


if __name__ == "__main__":
    main()
