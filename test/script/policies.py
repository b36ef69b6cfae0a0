"""Cache policies: hints that change no byte of what is stored, in every example.

tier: check check-long (in check a third of the cases)
builds: release gcc-asan

Every access of every example streams, on ordinary and ragged rows, aligned or not, by row plans and
the fallback: the simulator, which ignores policies, and the cpu give the bytes of the default. What
`croft explain` says is obeyed stands in the emitted text, and nothing else.
"""
import json
import re

import numpy as np

import command
from command import case, croft
from examples import EXAMPLES
from sim_examples import arguments, outputs_of, runs_here, same

WIDTHS = [1, 77, 1024, 300, 1009]  # every other one for an example
DTYPES = ["f32", "f16", "bf16"]
STREAM = ["--set", "policy=stream"]
ON_CPU = re.compile(r"^ +stream_\w+\(", re.M)
SOFTMAX = ["examples/softmax.croft", "N=1024", "--machine", "cpu-avx2"]


def plan_of(words, machine, fallback):
    """The plan with every access streaming, in a file."""
    run = croft("plan", *words, *machine, *(["--plan", "fallback"] if fallback else []))
    text = run.out.replace("policy default", "policy stream")
    path = command.SCRATCH / "stream.plan"
    path.write_text(text)
    good = run.code == 0 and text.count("policy stream") >= 2 and "policy default" not in text
    return path if good else case(f"plan_of_{words[0]}", False, run)


def run_all(name, words, machine, path, offset):
    """The outputs of the default on the cpu, of the streaming plan there and on the simulator."""
    results = []
    for target, plan in (("cpu", None), ("cpu", path), ("sim", path)):
        files = {key: command.SCRATCH / f"{key}.npy" for key in outputs_of(name)}
        run = croft("run", *words, *(f"{key}={file}" for key, file in files.items()), *machine,
                    "--target", target, "--seed", command.SEED, "--offset", offset, "--threads",
                    2 if target == "cpu" else 1, *(["--plan", plan] if plan else []))
        if run.code or run.err:
            return run
        results.append([np.load(file) for file in files.values()])
    return results


def check_bytes(name, width, dtype, machine, offset):
    if not command.in_turn(3):
        return
    label = f"{name}_{width}_{dtype}_{machine[-1] if machine else 'host'}_offset_{offset}"
    words = [f"examples/{name}.croft", *arguments(name, 3, width, dtype, False)]
    path = plan_of([*words, *(f"{key}=-" for key in outputs_of(name))], machine, False)
    if path is None:
        return
    results = run_all(name, words, machine, path, offset)
    if not isinstance(results, list):
        case(label, False, results)
        return
    default, cpu, sim = results
    equal = all(same(a, b) and same(a, c) for a, b, c in zip(default, cpu, sim))
    case(label, equal, "outputs differ")


def check_explained(name, machine):
    """Stores that go past the caches: as many in the text as explain counts, and then a fence."""
    words = [f"examples/{name}.croft", "--machine", machine, *STREAM]
    explained, emitted = croft("explain", *words, "--json"), croft("emit", *words)
    try:
        report = json.loads(explained.out)
    except json.JSONDecodeError:
        case(f"explained_{name}_{machine}", False, explained)
        return
    stores, loads = report["grouped_stores"], report["grouped_loads"]
    planned = [row for row in stores + loads if not row["waits"]]
    case(f"every_access_of_{name}_streams_on_{machine}",
         planned and all(row["policy"] == "stream" for row in planned), explained)
    obeyed = any(row["obeyed"] for row in stores)
    if machine.startswith("sm_"):
        good = all(row["obeyed"] == row["groups"] + row["singles"] and row["ignored"] is None
                   for row in planned) and "store_once_" in emitted.out
    else:
        good = (bool(ON_CPU.search(emitted.out)) == obeyed
                and (emitted.out.count("    }\n    streamed();\n}") == 1) == obeyed
                and all("a cpu loads" in row["ignored"] for row in loads if not row["waits"])
                and all(bool(row["ignored"]) or row["obeyed"] for row in planned))
    case(f"explained_{name}_{machine}", good, f"{explained}\n{emitted.out}")


def check_text():
    """Emitted text has a policy where the plan has one, and only there."""
    plain, run = croft("emit", *SOFTMAX), croft("emit", *SOFTMAX, *STREAM)
    case("a_default_says_nothing", "stream" not in plain.out and plain.code == 0, plain)
    case("whole_vectors_go_past_the_caches", len(ON_CPU.findall(run.out)) == 4, run)
    case("a_fence_ends_the_entry", "    }\n    streamed();\n}\n" in run.out
         and "__builtin_ia32_sfence();" in run.out, run)
    level = ["--level", "thread"]
    run = croft("emit", *SOFTMAX, *STREAM, *level)
    plain = croft("emit", *SOFTMAX, *level)
    bare = run.out.replace(" policy=stream", "")
    drop = re.compile(r"\n  plan \w{16}\n")
    case("thread_modules_differ_in_policies_alone",
         run.out != bare and drop.sub("", bare) == drop.sub("", plain.out), run)
    run = croft("explain", *SOFTMAX, "--machine", "m1", *STREAM)
    case("metal_ignores_policies",
         "policy stream ignored: MSL has no access with a policy" in run.out, run)


def check_split():
    """Each launch of a split row has the policies of the accesses that are its own."""
    plan = croft("plan", "examples/sum.croft", "N=4096", "--machine", "sm_90", *STREAM)
    digits = "axis N  slot 4 | lane 32 | step 8 | group 4"
    split = re.sub(r"^axis N .*", digits, plan.out, flags=re.M)
    path = command.SCRATCH / "split.plan"
    path.write_text(split)
    run = croft("emit", "examples/sum.croft", "N=4096", "--machine", "sm_90", "--plan", path,
                "--level", "thread")
    lines = [line for line in run.out.splitlines() if " load %" in line or " store %" in line]
    streams = {re.search(r"%\w+", line.split("load ")[-1].split("store ")[-1])[0]
               for line in lines if "policy=stream" in line}
    case("launches_of_a_split_row", run.code == 0 and streams == {"%x", "%y"}
         and len(lines) > 2, run)


def check_automatic():
    """Rows that outgrow the caches by far go past them, and wait in no output."""
    def accesses(kernel, *words):
        run = croft("plan", f"examples/{kernel}.croft", "N=4096", "--machine", "cpu-avx512", *words)
        return re.findall(r"^(?:access y.0 .*policy|keep e) +(.*)", run.out, re.M)

    for kernel, small, large in (("rmsnorm", ["default"], ["stream"]),
                                 ("softmax", ["output y.0", "default"], ["private", "stream"])):
        for words, wanted in ((["R=64"], small), (["R=16384"], large), ([], small),
                              (["R=16384", "--plan", "row"], small),
                              (["R=16384", "--set", "u=4"], small)):
            found = accesses(kernel, *words)
            case(f"automatic_{kernel}_{'_'.join(words)}", found == wanted, found)
    for kernel in ("swiglu", "layernorm", "softmax"):  # arithmetic is nearly as long as memory
        for dtype in ("f32", "f16", "bf16"):
            found = accesses(kernel, "R=16384", f"T={dtype}")
            case(f"automatic_{kernel}_of_{dtype}", found[-1:] == ["stream"], found)
    text = "kernel add(x: in f32[R, N], y: inout f32[R, N]) {\n    program row: R\n" \
           "    y[row, :] = y[row, :] + x[row, :]\n}\n"
    path = command.SCRATCH / "add.croft"
    path.write_text(text)
    run = croft("plan", path, "N=4096", "R=16384", "--machine", "cpu-avx512")
    case("what_is_read_too_stays", run.code == 0 and "stream" not in run.out, run)
    path.write_text(text.replace("inout", "out").replace("y[row, :] + ", ""))
    run = croft("plan", path, "N=4096", "R=16384", "--machine", "cpu-avx512")
    case("a_copy_streams", "policy stream" in run.out, run)


def check_evicted_last():
    """Rows that outgrow a GPU's cache together, of launches that write."""
    def loads(kernel, *words):
        run = croft("plan", f"examples/{kernel}.croft", "N=4096", "--machine", "sm_90", *words)
        return dict(re.findall(r"^access (\S+) +width \d+ policy (\w+)", run.out, re.M))

    large, small = ["R=16384"], ["R=1024"]  # 537 and 34 MB; the cache has 60
    none, last = "default", "evict_last"
    for kernel, words, wanted in (
            ("rmsnorm", large, {"x.0": last, "w.0": none, "y.0": none}),
            ("rmsnorm", small, {"x.0": none, "w.0": none, "y.0": none}),
            ("rmsnorm", [], {"x.0": none, "w.0": none, "y.0": none}),
            ("rmsnorm", [*large, "--set", "policy=stream"],
             {"x.0": "stream", "w.0": "stream", "y.0": "stream"}),
            ("residual_layernorm", large, {"x.0": last, "residual.0": last, "w.0": none,
                                           "b.0": none, "y.0": none}),
            ("sum", large, {"x.0": none, "y.0": none})):
        found = loads(kernel, *words)
        case(f"evicted_last_{kernel}_{'_'.join(words)}", found == wanted, found)
    words = ["examples/rmsnorm.croft", "N=4096", *large]
    run = croft("explain", *words, "--machine", "sm_90")
    case("evict_last_is_obeyed", run.out.count("policy evict_last obeyed\n") == 1, run)
    run = croft("emit", *words, "--machine", "sm_90")
    case("evict_last_is_emitted", "load_last_pack16((" in run.out, run)
    level = ["--level", "thread"]
    run = croft("emit", *words, "--machine", "sm_90", *level)
    path = command.SCRATCH / "last.ir"
    path.write_text(run.out)
    again = croft("opt", path)
    case("evict_last_is_read_again", run.code == 0 and "policy=evict_last" in run.out
         and again.code == 0 and again.out == run.out, again)
    run = croft("explain", *words, "--machine", "cpu-avx2", "--set", "policy=evict_last")
    case("a_cpu_takes_no_hint", run.out.count("evict_last ignored: a cpu's caches") >= 3, run)
    run = croft("explain", *words, "--machine", "sm_90", "--set", "policy=evict_last")
    case("stores_are_not_asked_to_stay",
         run.out.count("evict_last ignored: only lines that are loaded") == 1, run)


def check_fallback():
    """A policy alone asks for no row plan; of owners that the text fixes it speaks, too."""
    for name in ("transpose8", "softmax"):
        words = [f"examples/{name}.croft", *STREAM]
        for more in ([], ["--plan", "row"]) if name == "softmax" else ([],):
            run = croft("plan", *words, *more)
            case(f"planned_{name}_{'row' if more else 'automatic'}",
                 run.code == 0 and run.out.count("policy stream") == 2, run)
    path = command.SCRATCH / "scalars.croft"
    path.write_text("kernel k(x: in f32[R], y: out f32[R]) {\n"
                    "    program row: R\n    y[row] = x[row]\n}\n")
    run = croft("plan", path, *STREAM)
    case("planned_by_the_fallback", run.code == 0 and run.out.count("policy stream") == 2, run)


def main():
    check_automatic()
    check_evicted_last()
    check_text()
    check_fallback()
    check_split()
    machines = [[]] + ([["--machine", "cpu-avx2"]] if runs_here("cpu-avx2") else [])
    for number, name in enumerate(sorted(EXAMPLES)):
        for machine in ("cpu-avx2", "cpu-avx512", "cpu-neon", "sm_90"):
            check_explained(name, machine)
        chosen = WIDTHS[number % 5:][:1] if command.SANITIZED else WIDTHS[number % 2::2]
        for i, width in enumerate(chosen):
            turn = number + i
            check_bytes(name, width, DTYPES[turn % 3], machines[turn % len(machines)], turn % 2)
    command.finish()


main()
