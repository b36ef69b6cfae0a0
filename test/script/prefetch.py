"""Prefetches: which plans have them, the text that they become, and that they change no byte.

tier: check check-long (in check a third of the cases)
builds: release gcc-asan

The automatic plan of a cpu has the next row fetched where rows come from memory and are read
again; every sweep, distance, element type and width gives the bytes of the plan without, on the
cpu and on the simulator; what cannot be a later program's row is refused.
"""
import json
import re

import numpy as np

import command
from command import case, croft
from examples import EXAMPLES
from sim_examples import arguments, outputs_of, runs_here, same

SWEEPS = {"softmax": 2, "rmsnorm": 2, "layernorm": 3, "log_softmax": 3, "residual_layernorm": 3}
FETCH = re.compile(r"__builtin_prefetch\(")


def plan(name, *words, machine="cpu-avx512"):
    run = croft("plan", f"examples/{name}.croft", *words, "--machine", machine)
    return run, re.findall(r"^access (\S+) .*prefetch (.*)", run.out, re.M)


def check_automatic():
    """Rows from memory that several sweeps read: in the last of those; others are left alone."""
    for name, sweeps in SWEEPS.items():
        tensors = ["x.0", "residual.0"] if name == "residual_layernorm" else ["x.0"]
        wanted = [(tensor, f"1 in {sweeps - 1}") for tensor in tensors]
        for words, good in ((["N=4096", "R=16384"], wanted), (["N=4096", "R=64"], []),
                            (["N=4096"], []), (["R=16384"], []),
                            (["N=4095", "R=16384"], []), (["N=4080", "R=16384"], wanted),
                            (["N=4096", "R=16384", "--plan", "row"], []),
                            (["N=4096", "R=16384", "--set", "u=4"], [])):
            run, found = plan(name, *words)
            case(f"automatic_{name}_{'_'.join(words)}", run.code == 0 and found == good, run)
    for name in ("sum", "swiglu"):
        run, found = plan(name, "N=4096", "R=16384")
        case(f"one_sweep_of_{name}", run.code == 0 and not found, run)


def edited(name, words, machine, load, prefetch):
    """The plan with a prefetch of its own, in a file."""
    run = croft("plan", f"examples/{name}.croft", *words, "--machine", machine)
    path = command.SCRATCH / "prefetch.plan"
    text = re.sub(r" prefetch .*", "", run.out)
    path.write_text(re.sub(rf"^(access {load} .*)", rf"\1{prefetch}", text, flags=re.M))
    return path


def check_text():
    """One prefetch for each line, of a row that the call has, beside the one load."""
    for machine, dtype, lines in (("cpu-avx512", "f32", 4), ("cpu-avx512", "bf16", 2),
                                  ("cpu-avx2", "f32", 2), ("cpu-avx2", "f16", 1),
                                  ("cpu-neon", "f32", 1)):
        words = ["N=4096", f"T={dtype}"]
        path = edited("softmax", words, machine, "x.0", " prefetch 3 in 1")
        run = croft("emit", "examples/softmax.croft", *words, "--machine", machine, "--plan", path)
        case(f"lines_of_{dtype}_on_{machine}", len(FETCH.findall(run.out)) == lines, run)
        case(f"inside_the_call_{dtype}_on_{machine}",
             run.out.count("= group + 3 < end ? 3 * x_stride0 : 0;") == 1, run)
    path = edited("softmax", ["N=4096"], "cpu-avx512", "x.0", " prefetch 1 in 0")
    with_it = croft("emit", "examples/softmax.croft", "N=4096", "--machine", "cpu-avx512", "--plan",
                    path, "--level", "thread")
    path = edited("softmax", ["N=4096"], "cpu-avx512", "x.0", "")
    without = croft("emit", "examples/softmax.croft", "N=4096", "--machine", "cpu-avx512",
                    "--plan", path, "--level", "thread")
    drop = re.compile(r"\n  plan \w{16}\n")
    bare = with_it.out.replace(" prefetch=1", "")
    case("thread_modules_differ_in_the_word_alone",
         with_it.out.count(" prefetch=1") == 1
         and drop.sub("", bare) == drop.sub("", without.out), with_it)
    path = edited("softmax", ["N=100"], "cpu-avx512", "x.0", " prefetch 1 in 1")
    run = croft("emit", "examples/softmax.croft", "N=100", "--machine", "cpu-avx512", "--plan",
                path)
    case("the_end_of_a_row_fetches_nothing", 0 < len(FETCH.findall(run.out)) <= 6, run)


def outputs(name, words, machine, target, path, threads):
    files = {key: command.SCRATCH / f"{key}.npy" for key in outputs_of(name)}
    run = croft("run", *words, *(f"{key}={file}" for key, file in files.items()), "--machine",
                machine, "--target", target, "--seed", command.SEED, "--threads", threads,
                "--plan", path)
    if run.code or run.err:
        return run
    return [np.load(file) for file in files.values()]


def check_bytes(name, machine, width, dtype, sweep, distance):
    if not command.in_turn(3):
        return
    label = f"bytes_{name}_{machine}_{width}_{dtype}_{distance}_in_{sweep}"
    words = [f"examples/{name}.croft", *arguments(name, 5, width, dtype, False)]
    plain = croft("plan", *words, *(f"{key}=-" for key in outputs_of(name)), "--machine", machine)
    paths = [command.SCRATCH / "plain.plan", command.SCRATCH / "fetching.plan"]
    paths[0].write_text(plain.out)
    text = re.sub(r"^(access x\.0 .*)", rf"\1 prefetch {distance} in {sweep}", plain.out,
                  flags=re.M)
    paths[1].write_text(text)
    results = [outputs(name, words, machine, target, path, 2 if target == "cpu" else 1)
               for target, path in (("cpu", paths[0]), ("cpu", paths[1]), ("sim", paths[1]))]
    failed = [result for result in results if not isinstance(result, list)]
    if failed:
        case(label, False, failed[0])
        return
    case(label, text != plain.out and all(same(a, b) and same(a, c) for a, b, c in zip(*results)),
         "outputs differ")


REFUSED = {
    "two_axes": ("x: in f32[B, R, N], y: out f32[B, R, N]",
                 "program b: B, row: R\n    y[b, row, :] = x[b, row, :] * 2.0"),
    "rows_by_number": ("x: in f32[V, N], i: in i32[R], y: out f32[R, N]",
                       "program row: R\n    y[row, :] = x[i[row], :] * 2.0"),
    "stored_too": ("x: inout f32[R, N]", "program row: R\n    x[row, :] = x[row, :] * 2.0"),
    "one_row_for_all": ("x: in f32[N], y: out f32[R, N]",
                        "program row: R\n    y[row, :] = x[:] * 2.0"),
}


def check_refused():
    kernel, path = command.SCRATCH / "k.croft", command.SCRATCH / "k.plan"
    for name, (parameters, body) in REFUSED.items():
        kernel.write_text(f"kernel k({parameters}) {{\n    {body}\n}}\n")
        run = croft("plan", kernel, "N=1024", "--machine", "cpu-avx512")
        path.write_text(re.sub(r"^(access x.0 .*)", r"\1 prefetch 1 in 0", run.out, flags=re.M))
        run = croft("emit", kernel, "N=1024", "--machine", "cpu-avx512", "--plan", path)
        case(f"refused_{name}", run.code == 3 and "[plan-prefetch]" in run.err, run)
    for machine, words in (("sm_90", []), ("cpu-avx512", ["--plan", "fallback"])):
        run = croft("plan", "examples/sum.croft", "N=1024", "--machine", machine, *words)
        path.write_text(re.sub(r"^(access x.0 .*)", r"\1 prefetch 1 in 0", run.out, flags=re.M))
        run = croft("emit", "examples/sum.croft", "N=1024", "--machine", machine, "--plan", path)
        case(f"refused_on_{machine}{len(words)}", run.code == 3 and "[plan-prefetch]" in run.err,
             run)


def check_explained():
    words = ["examples/layernorm.croft", "N=4096", "R=16384", "--machine", "cpu-avx512"]
    text, page = croft("explain", *words), croft("explain", *words, "--json")
    case("explained", "prefetch of 1 program on, in sweep 2 of those that read, beside 4"
         in text.out, text)
    rows = {row["anchor"]: row for row in json.loads(page.out)["grouped_loads"]}
    case("explained_as_json",
         [(rows[a]["prefetch"], rows[a]["prefetch_sweep"], rows[a]["prefetching"])
          for a in ("x.0", "w.0")] == [(1, 2, 4), (0, 0, 0)], page)


def main():
    check_automatic()
    check_text()
    check_refused()
    check_explained()
    machines = [name for name in ("cpu-avx512", "cpu-avx2") if runs_here(name)]
    number = 0
    for name in sorted(SWEEPS):
        assert name in EXAMPLES
        for width in (100, 1024, 1009):
            for machine in machines:
                number += 1
                check_bytes(name, machine, width, ("f32", "f16", "bf16")[number % 3],
                            number % 2, 1 + number % 4)
    command.finish()


main()
