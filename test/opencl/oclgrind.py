#!/usr/bin/env python3
"""Barriers before an outside judge: OpenCL texts of right and wrong modules under Oclgrind.

tier: check check-long
builds: release

Oclgrind runs OpenCL C item by item, shares no code with Croft, and reports data races, values that
nobody wrote, barriers that not all items reach, and accesses outside of memory.

* The modules of test/hazard and the thread modules of examples (planned for the machine `opencl`;
  in check-long all of them, in several types and by plans of every family) are right: nothing is
  found, and the outputs have the simulator's bits.
* Each of their syncs is deleted, weakened to a subgroup, and made to depend on the lane. Oclgrind
  must report the text, and what Oclgrind reports the simulator must report: else the simulator has
  a bug. Counted apart: texts that come out as before, as a sync of a subgroup is a barrier of the
  whole group in OpenCL, and a sync beside an exchange of lanes, which brings barriers of its own.
* The wrong programs of test/zoo run as they are.

Prints a table: what the simulator and Oclgrind each saw.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test" / "script"))
import command  # noqa: E402

EMIT = pathlib.Path(os.environ.get("CROFT_BUILD", ROOT / "build")) / "test" / "opencl_emit"
KINDS = [("data race", "race"), ("Uninitialized value", "unwritten"), ("divergence", "divergent"),
         ("Invalid read", "outside"), ("Invalid write", "outside"),
         ("Unaligned", "unaligned")]
# Oclgrind makes a store of a vector two: of no value, and of the elements; the first is no finding.
REWRITTEN = re.compile(r"^Uninitialized value.*store <\d+ x \w+> undef,", re.MULTILINE | re.DOTALL)
SIZES = {"R": 5, "N": 96}
SYNC = re.compile(r"^(\s*)(?:(%.*?) = )?sync (\w+) ?(%[^:]*?)?\s*(?:: (.*))?$")
# Examples, and plans whose rows are of several subgroups, share a group, or wait in scratch.
PLANNED = [("softmax", "R=3", "N=300", "--set", "w=64"),
           ("layernorm", "R=3", "N=300", "--set", "w=128"),
           ("causal_softmax", "R=5", "N=130", "--set", "w=64"),
           ("cross_entropy", "R=3", "N=300", "--set", "w=64"),
           ("rmsnorm", "R=5", "N=70"), ("softmax", "R=5", "N=30", "--set", "w=8"),
           ("sum", "R=3", "N=1000", "--set", "w=96"), ("transpose8", "B=8")]
# Examples whose modules have to be clean: all, by the row plan and the fallback, and some by plans
# of the other families: parts of a subgroup, several, rows that share them, kept and loaded again,
# wide accesses, one order of sums.
FAMILIES = [("softmax", "--set", "w=8"), ("softmax", "--set", "w=64,v=4"),
            ("softmax", "--set", "w=32,p=4"), ("softmax", "--set", "keep=private"),
            ("softmax", "--set", "keep=nothing"), ("softmax", "--strict"),
            ("layernorm", "--set", "w=16,p=4"), ("layernorm", "--strict"),
            ("sum", "--set", "w=96")]
rows = []  # (module, mutation, simulator, Oclgrind)
quiet, loud = set(), set()  # (module whatever its flags, line, mutation): by a way of it


# ---- a module, its inputs and both judges ----

class Module:
    """The text of a thread module, and arrays for its inputs."""

    def __init__(self, name, text, machine, scalars=(), family=None):
        self.name, self.text, self.machine, self.scalars = name, text, machine, list(scalars)
        self.family = family or name  # the same for all ways of a kernel
        self.has_ways = ": bool = false" in text


def emitted(module, text, *more):
    """(facts, OpenCL text without the lines that it comes from), or None and why not."""
    path = command.SCRATCH / "module.ir"
    path.write_text(text)
    sizes = [f"{name}={size}" for name, size in SIZES.items()] + module.scalars
    done = subprocess.run([EMIT, path, module.machine, *sizes, *more], text=True, check=False,
                          stdout=subprocess.PIPE)
    if done.returncode != 0:
        return None, done.stdout.strip() or f"exit {done.returncode}"
    head, _, source = done.stdout.partition("\ntext\n")
    facts = collections.defaultdict(list)
    for line in head.splitlines():
        word, *rest = line.split()
        facts[word].append(rest)
    return facts, re.sub(r"^ *//.*\n", "", source, flags=re.MULTILINE)


def array_of(dtype, count, drawn):
    """Bits of the elements of an input."""
    if dtype in ("f32", "f16", "bf16"):
        values = (drawn.integers(-1500, 500, count) * 0.125).astype("<f4")
        return {"f32": lambda: values.view("<u4"), "f16": lambda: values.astype("<f2").view("<u2"),
                "bf16": lambda: (values.view("<u4") >> 16).astype("<u2")}[dtype]()
    numbers = np.arange(count).astype(command.NUMPY[dtype])
    return numbers.view(f"<u{numbers.itemsize}")


def arrays_of(facts):
    drawn = np.random.default_rng(7)
    arrays = {}
    for name, mode, dtype, count in facts["tensor"]:
        bits = array_of(dtype, int(count), drawn)
        arrays[name] = bits if mode != "out" else np.full_like(bits, 0)
    return arrays


def run_oclgrind(facts, source, arrays):
    """(kinds of findings, outputs by name)"""
    text, described = command.SCRATCH / "kernel.cl", command.SCRATCH / "kernel.sim"
    text.write_text(source)
    threads, groups = int(facts["threads"][0][0]), int(facts["groups"][0][0])
    lines = [str(text), facts["entry"][0][0], f"{threads * groups} 1 1", f"{threads} 1 1", ""]
    kinds = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
    for name, mode, _, _ in facts["tensor"]:
        bits = arrays[name]
        size = max(bits.nbytes, 1)
        dump = "" if mode == "in" else " dump"
        noinit = mode == "out"
        lines.append(f"<size={size} {kinds[bits.itemsize]} {'noinit' if noinit else ''}{dump}>")
        if not noinit:
            lines.append(" ".join(map(str, bits.tolist())))
    workspace = int(facts["workspace"][0][0])
    lines.append(f"<size={workspace} uchar noinit>" if workspace > 0 else "<null>")
    words = [int(word) % 2**64 for word in facts["words"][0]] + [0]
    lines.append(f"<size={8 * len(words)} ulong>")
    lines.append(" ".join(map(str, words)))
    described.write_text("\n".join(lines) + "\n")
    done = subprocess.run(["oclgrind-kernel", "--data-races", "--uninitialized",
                           described], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=300, check=False)
    said = [part for part in done.stdout.split("\n\n") if not REWRITTEN.search(part)]
    found = {kind for word, kind in KINDS for part in said if word in part}
    outputs = {name: np.zeros_like(bits) for name, bits in arrays.items()}
    for name, at, value in re.findall(r"^  (\w+)\[(\d+)\] = (\d+)", done.stdout, re.MULTILINE):
        outputs[name][int(at)] = int(value)
    if done.returncode != 0 or "rror:" in done.stdout:
        found.add("failed: " + done.stdout.strip()[-300:])
    return found, outputs


def run_simulator(module, text, facts, arrays):
    """(slugs, outputs by name)"""
    path = command.SCRATCH / "module.ir"
    path.write_text(text)
    words, outputs = [], {}
    for name, mode, dtype, _ in facts["tensor"]:
        bits = arrays[name]
        store = command.SCRATCH / f"sim_{name}.npy"
        stored = bits if dtype == "bf16" else bits.view(command.NUMPY[dtype])
        shape = shape_of(module, name, len(bits))
        np.save(command.SCRATCH / f"in_{name}.npy", stored.reshape(shape))
        words.append({"in": f"{name}={command.SCRATCH}/in_{name}.npy",
                      "out": f"{name}={store}",
                      "inout": f"{name}={command.SCRATCH}/in_{name}.npy,{store}"}[mode])
        if mode != "in":
            outputs[name] = store
    sizes = [f"{name}={size}" for name, size in SIZES.items()
             if re.search(rf"@\w+\[[^\]]*\b{name}\b", text)]
    done = command.croft("run", "--target", "sim", path, *words, *sizes, *module.scalars)
    slugs = set(re.findall(r"\[(sim-[a-z-]+)\]", done.err))
    if done.code not in (0, 1) or (done.code == 1 and not slugs):
        slugs.add("failed: " + done.text[-300:])
    read = {name: np.load(path).view(arrays[name].dtype).ravel()
            for name, path in outputs.items() if path.exists()}
    return slugs, read


def shape_of(module, name, count):
    shape = re.search(rf"%{name}: \w+ \w+\[([^\]]*)\]", module.text)[1]
    names = dict(re.findall(r"(\w+) = (\d+)", module.text.split("\n{")[0]))
    sizes = [re.sub(r"[A-Za-z_]\w*", lambda m: names.get(m[0], str(SIZES.get(m[0], 4))), part)
             for part in shape.split(",")]
    sizes = [eval(size, {}) for size in sizes]  # `N + 1`
    return sizes if np.prod(sizes) == count else [count]


# ---- mutations of a sync ----

def deleted(lines, at):
    """Its tokens are those that went in."""
    _, new, _, old, _ = SYNC.match(lines[at]).groups()
    text = "\n".join(lines[:at] + lines[at + 1:])
    for result, operand in zip((new or "").split(", "), (old or "").strip().split(", ")):
        if result:
            text = re.sub(re.escape(result) + r"(?![\w.])", operand, text)
    return text


def weakened(lines, at):
    weaker = lines[at].replace("sync group", "sync subgroup")
    return "\n".join(lines[:at] + [weaker] + lines[at + 1:])


def conditional(lines, at):
    """Lanes from 3 on alone come to it."""
    indent, new, scope, old, types = SYNC.match(lines[at]).groups()
    inner = [f"{name}.in" for name in new.split(", ")] if new else []
    makes = f"{', '.join(inner)} = " if inner else ""
    head = f"{indent}{new} = if %apart.{at} : {types} {{" if new else f"{indent}if %apart.{at} {{"
    body = [f"{indent}%lane.{at} = iota lane*1 : i64(1)",
            f"{indent}%three.{at} = constant 3 : i64",
            f"{indent}%apart.{at} = lt %three.{at}, %lane.{at} : bool(1)",
            head,
            f"{indent}  {makes}sync {scope}{' ' + old.strip() if old else ''}"
            f"{' : ' + types if types else ''}",
            f"{indent}  yield{' ' + ', '.join(inner) if inner else ''}",
            f"{indent}}} else {{",
            f"{indent}  yield{' ' + old.strip() if inner else ''}",
            f"{indent}}}"]
    return "\n".join(lines[:at] + body + lines[at + 1:])


MUTATIONS = [("deleted", deleted), ("weakened", weakened), ("conditional", conditional)]


# ---- cases ----

def check_right(module):
    """The facts and the text where nothing is wrong; None: the target does not run it."""
    facts, source = emitted(module, module.text)
    if facts is None:
        refused = "cluster" in source or "native" in source
        command.case(f"{module.name}_is_refused_with_a_reason", refused, source)
        return None
    arrays = arrays_of(facts)
    seen, outputs = run_oclgrind(facts, source, arrays)
    slugs, expected = run_simulator(module, module.text, facts, arrays)
    same = all(np.array_equal(outputs[name], expected[name]) for name in expected)
    command.case(f"{module.name}_is_clean", not seen and not slugs, f"{seen} {slugs}")
    command.case(f"{module.name}_has_the_simulators_bits", same and expected, "outputs differ")
    return facts, source, arrays


def check_mutants(module, right):
    facts, source, arrays = right
    lines = module.text.split("\n")
    for at, line in enumerate(lines):
        if not SYNC.match(line):
            continue
        for what, mutate in MUTATIONS:
            if what == "weakened" and "sync group" not in line:
                continue
            name = f"{module.name}_line_{at + 1}_{what}"
            text = mutate(lines, at)
            slugs, _ = run_simulator(module, text, facts, arrays)
            now, changed = emitted(module, text, "--wrong")
            if now is None:
                command.case(name, False, changed)
                continue
            if changed == source:
                rows.append((module.name, what, slugs, {"alike"}))
                continue
            seen, _ = run_oclgrind(now, changed, arrays)
            rows.append((module.name, what, slugs, seen))
            place = (module.family, at + 1, what)
            if not slugs and not seen and module.has_ways:
                quiet.add(place)  # the other way has to come here: check_quiet
                continue
            loud.add(place)
            if slugs == {"sim-race"} and not seen and " exchange" in changed:
                rows[-1] = (module.name, what, slugs, {"an exchange's barrier is between"})
                continue
            failed = any("failed" in word for word in seen | slugs)
            command.case(name, seen and slugs and not failed,
                         f"Oclgrind saw {seen or 'nothing'}, the simulator {slugs or 'nothing'}")


def check_quiet():
    """A sync that one way of a kernel does not come to is one of the other's."""
    for family, line, what in sorted(quiet):
        command.case(f"{family}_line_{line}_{what}_is_seen_by_some_way",
                     (family, line, what) in loud, "no way of the kernel comes to it")


def check_zoo(path):
    text = path.read_text()
    module = Module(path.stem, text, "opencl")
    facts, source = emitted(module, text)
    if facts is None:
        rows.append((module.name, "as it is", set(), {"refused"}))
        return
    arrays = arrays_of(facts)
    slugs, _ = run_simulator(module, text, facts, arrays)
    seen, _ = run_oclgrind(facts, source, arrays)
    rows.append((module.name, "as it is", slugs, seen))
    command.case(f"zoo_{module.name}", not seen or slugs,
                 f"Oclgrind saw {seen}, the simulator nothing")


def ways(text):
    """Nothing, and each flag of the kernel."""
    return [[], *([f"{name}=1"] for name in re.findall(r", (\w+): bool = false", text))]


def clean():
    """Examples by name and words of which only the module as it is counts."""
    types = ("f32", "f16", "bf16")
    for number, path in enumerate(sorted((ROOT / "examples").glob("*.croft"))):
        sizes = ["B=3"] if path.stem == "transpose8" else ["R=3", f"N={50 + 7 * number}"]
        dtype = f"T={types[number % 3]}"
        for plan in ("row", "fallback"):
            words = [] if path.stem in ("transpose8", "rmsnorm_register") else ["--plan", plan]
            if words or plan == "row":
                yield path.stem, *sizes, dtype, *words
    for name, *words in FAMILIES:
        yield name, "R=5", "N=132", *words


def planned(cases):
    """Thread modules of examples."""
    for name, *words in cases:
        emitted_ir = command.croft("emit", f"examples/{name}.croft", *words, "--level", "thread",
                                   "--machine", "opencl")
        label = "_".join([name, *words]).replace("=", "").replace("--set_", "")
        if emitted_ir.code != 0:
            command.case(f"{label}_is_planned", False, emitted_ir)
            continue
        yield Module(label, emitted_ir.out, "opencl")


def print_table():
    tally = collections.Counter()
    for _, what, slugs, seen in rows:
        tally[what, " ".join(sorted(slugs)) or "-", " ".join(sorted(seen)) or "-"] += 1
    print(f"# {'mutation':12} {'simulator':32} {'Oclgrind':28} cases")
    for (what, slugs, seen), count in sorted(tally.items()):
        print(f"# {what:12} {slugs:32} {seen:28} {count}")


def main():
    modules = [Module("_".join([path.stem, *way])[:-2 if way else None], path.read_text(), "opencl",
                      way, path.stem)
               for path in sorted((ROOT / "test" / "hazard").glob("*.ir"))
               for way in ways(path.read_text())]
    for module in [*modules, *(planned(PLANNED) if command.LONG else [])]:
        right = check_right(module)
        if right is not None:
            check_mutants(module, right)
    check_quiet()
    for module in planned(clean()) if command.LONG else []:
        check_right(module)
    for path in sorted((ROOT / "test" / "zoo").glob("*.ir")):
        check_zoo(path)
    print_table()
    command.finish()


if __name__ == "__main__":
    main()
