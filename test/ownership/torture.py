#!/usr/bin/env python3
"""Conversions and reductions by chance, in loops and branches: no race, the same bits.

    torture.py [--seed N] [--count K] [-j 2] [--keep FOLDER]

tier: check check-long
builds: release

Each kernel strings together conversions back to back, reductions of what was just converted, loops
of no or several trips, or as many as the group says, and branches with conversions on either
side. It runs with 64 groups four times over in one launch on the simulator, which follows every
cell of scratch and may find nothing: the four give the same bits, those of --check's reference
where all is integer, and those of the cpu. Then each sync of its thread IR is deleted, alone, and
each one of the group made one of the subgroup: the verifier must refuse the rest, deletions by the
rules of tokens and by those of hazards, each without the other (unit_verify_hazards FOLDER).
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "generated"))
import layouts  # noqa: E402
import seeds  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXED_SEED = 1
COUNTS = {"check": (5, 2), "check-long": (250, 50)}
GROUPS, TIMES = 64, 4
MOST_STATEMENTS = 14
FEWEST = 1  # syncs of a kernel, on average: else the run shows nothing
MACHINES = ("sm_90", "m1")


class Kernel:
    def __init__(self, seed):
        self.chance = random.Random(seed)
        self.threads = self.chance.choice((32, 64, 64, 128, 256))
        self.is_float = self.chance.random() < 0.3
        self.dtype = "f32" if self.is_float else "i32"
        self.layouts = [layouts.random_layout(self.chance, self.threads, self.threads * 4)]
        while len(self.layouts) < self.chance.choice((2, 3)):
            near = layouts.rearranged(self.chance, self.layouts[-1], self.threads)
            self.layouts.append(near if near and self.chance.random() < 0.5 else
                                layouts.random_layout(self.chance, self.threads, self.threads * 4))
        size = min(layout.size for layout in self.layouts)
        self.size = size if self.chance.random() < 0.4 else self.chance.randint(-(-size // 2), size)
        self.lines, self.indent, self.number, self.left = [], 1, 0, MOST_STATEMENTS
        self.bits = 0  # of the row's number that conditions have asked for
        self.syncs = 0  # of its thread IR
        self.tiles, self.scalars = {}, []  # name -> number of its layout
        self.build()

    def emit(self, line):
        self.lines.append("    " * self.indent + line)

    def fresh(self, letter):
        self.number += 1
        return f"{letter}{self.number}"

    def build(self):
        for i in range(2):
            name, layout = self.fresh("t"), self.chance.randrange(len(self.layouts))
            self.emit(f"i{i} = arange(N, L{layout})")
            self.emit(f"{name} = x[row, i{i}]" + (f" + {self.literal()}" if i else ""))
            self.tiles[name] = layout
        while self.left > 0:
            self.statement(0)
        for i, (name, layout) in enumerate(list(self.tiles.items())[-4:]):
            self.emit(f"y{i}[row, arange(N, L{layout})] = {name}")
        outputs = "".join(f", y{i}: out {self.dtype}[R, N]" for i in range(min(4, len(self.tiles))))
        given = "".join(f", L{i}: layout = {layout.text}" for i, layout in enumerate(self.layouts))
        self.text = f"kernel torture(x: in {self.dtype}[R, N]{outputs}{given}, N: const = " \
            f"{self.size}) {{\n    program row: R\n" + "\n".join(self.lines) + "\n}\n"
        self.outputs = [f"y{i}" for i in range(min(4, len(self.tiles)))]

    def literal(self):
        return self.chance.choice(("0.25", "1.5", "-0.5") if self.is_float else ("3", "-7", "11"))

    def changed(self, text):
        kind = self.chance.randrange(3)
        if kind == 0:
            return text
        return f"({text} * 0.5)" if self.is_float else f"({text} * 5)" if kind == 1 else \
            f"({text} + {self.literal()})"

    def tile(self, layout=None):
        names = [n for n, at in self.tiles.items() if layout is None or at == layout]
        return self.chance.choice(names[-4:]) if names else None

    def operand(self, layout):
        """A tile or a scalar that goes with tiles of the layout."""
        choices = [self.literal(), self.tile(layout) or self.literal()] + \
            [f"{s} * 0.001" if self.is_float else s for s in self.scalars[-2:]]
        return self.chance.choice(choices)

    def converted(self, layout):
        source = self.tile()
        return f"convert({self.changed(source)}, L{layout})"

    def statement(self, depth):
        self.left -= 1
        kind = self.chance.random()
        if kind < 0.35 or not self.scalars and kind < 0.5:
            self.conversion()
        elif kind < 0.6:
            self.reduction()
        elif kind < 0.7 or depth == 3:
            name = self.tile()
            self.emit(f"{name} = {self.changed(name)} + {self.operand(self.tiles[name])}")
        elif kind < 0.86 and self.bits < 5:
            self.loop(depth)
        elif self.bits < 6:
            self.branch(depth)

    def conversion(self):
        layout = self.chance.randrange(len(self.layouts))
        same = self.tile(layout)
        if same and self.chance.random() < 0.6:
            self.emit(f"{same} = {self.converted(layout)}" +
                      (f" + {self.operand(layout)}" if self.chance.random() < 0.5 else ""))
            return
        name = self.fresh("t")
        self.emit(f"{name} = {self.converted(layout)}")
        self.tiles[name] = layout

    def reduction(self):
        tile = self.tile()
        what = self.chance.choice(("max", "min", "sum"))
        value = f"{what}({self.changed(tile)})"
        if self.scalars and self.chance.random() < 0.4:
            self.emit(f"{self.chance.choice(self.scalars)} = {value}")
            return
        name = self.fresh("s")
        self.emit(f"{name} = {value}")
        self.scalars.append(name)

    def inside(self, depth, changes):
        """Statements of a region, of which what is new is forgotten; each of `changes` gets a value
        by a conversion."""
        tiles, scalars = dict(self.tiles), list(self.scalars)
        self.indent += 1
        for _ in range(self.chance.randint(0, 3)):
            if self.left > 0:
                self.statement(depth + 1)
        for name in changes:
            self.emit(f"{name} = {self.converted(tiles[name])}")
        self.indent -= 1
        self.tiles, self.scalars = tiles, scalars

    def some_tiles(self):
        return self.chance.sample(list(self.tiles), self.chance.randint(1, min(2, len(self.tiles))))

    def other_bit(self):
        """A number whose last bit no other condition asks for: where two conditions are known to
        agree, what stands in a branch that is never taken needs no sync."""
        self.bits += 1
        return f"(row // {1 << (self.bits - 1)})"

    def loop(self, depth):
        bit = self.other_bit()
        trips = self.chance.choice(("0..0", "0..2", "1..4", f"0..{bit} % 4", f"{bit} % 2..2"))
        self.emit(f"for {self.fresh('k')} in {trips} {{")
        self.inside(depth, self.some_tiles())
        self.emit("}")

    def branch(self, depth):
        condition = f"{self.other_bit()} % 2 == 1"
        if self.scalars and not self.is_float and self.chance.random() < 0.5:
            condition = f"{self.chance.choice(self.scalars)} > {self.number}"
        changes = self.some_tiles()
        self.emit(f"if {condition} {{")
        self.inside(depth, changes)
        if self.chance.random() < 0.7:
            self.emit("} else {")
            self.inside(depth, changes)
        self.emit("}")


def run(words, limit=300):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=limit)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def wrong_kernel(options, kernel, machine, folder):
    """What is wrong and the text that shows it; (None, "") when nothing is."""
    path = folder / "kernel.croft"
    path.write_text(kernel.text)
    generator = np.random.default_rng(kernel.size)
    once = generator.standard_normal((GROUPS, kernel.size)).astype("f4") if kernel.is_float else \
        generator.integers(-100, 100, (GROUPS, kernel.size)).astype("i4")
    # 64 rows over again: the bits of `row` that are asked for are those of the row's first time
    rows = np.tile(once, (TIMES, 1))
    np.save(folder / "x.npy", rows)
    results = {}
    for target in ("sim", "cpu"):
        words = [options.croft, "run", path, f"x={folder}/x.npy", "--machine", machine, "--target",
                 target, *[f"{y}={folder}/{target}.{y}.npy" for y in kernel.outputs]]
        words += ["--verify-passes", "--check"] if target == "sim" else []
        code, text = run(words)
        if code:
            return f"{target}: exit {code}", text + shlex.join(map(str, words))
        results[target] = [np.load(folder / f"{target}.{y}.npy") for y in kernel.outputs]
    for y, sim, cpu in zip(kernel.outputs, results["sim"], results["cpu"]):
        times = sim.view("u4").reshape(TIMES, GROUPS, -1)
        if not (times == times[:1]).all():
            return f"{y} differs between repetitions", ""
        if sim.tobytes() != cpu.tobytes():
            return f"{y} differs between sim and cpu", ""
    texts = folder / "ir"
    texts.mkdir()
    code, text = run([options.croft, "emit", path, "--machine", machine, "--level", "thread", "-o",
                      texts / "kernel.ir"])
    if code:
        return "no thread IR", text
    if not re.search(r"^ +.* = put ", (texts / "kernel.ir").read_text(), re.MULTILINE):
        return None, ""
    code, text = run([options.hazards, texts])
    counts = re.search(r"^(\d+) syncs, (\d+) useless$", text, re.MULTILINE)
    if code or not counts:
        return "a sync can be deleted", text
    kernel.syncs = int(counts.group(1))
    if int(counts.group(2)) > 0:
        return "a sync is needed by no hazard", text
    return None, ""


def run_kernel(options, seed):
    kernel = Kernel(seed)
    machine = MACHINES[len(kernel.text) % len(MACHINES)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        what, report = wrong_kernel(options, kernel, machine, folder)
        if what and options.keep:
            (pathlib.Path(options.keep) / f"{seed}.croft").write_text(kernel.text)
    return seed, what and f"{what} ({machine})", report + kernel.text if what else "", kernel.syncs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = pathlib.Path(os.environ.get("CROFT_BUILD", ROOT / "build"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first kernel")
    parser.add_argument("--count", type=int)
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--croft", default=os.environ.get("CROFT", str(build / "croft")))
    parser.add_argument("--hazards", default=str(build / "test" / "unit_verify_hazards"))
    parser.add_argument("--keep", help="a folder for the kernels that fail")
    options = parser.parse_args()
    failed = syncs = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        names = seeds.names(options, FIXED_SEED, COUNTS)
        for outcome in pool.map(lambda name: run_kernel(options, name), names):
            seed, what, report, count = outcome
            syncs += count
            if what:
                print(report)
                first, number = seed.split(".")
                print(f"not ok {seed}: {what}; test/ownership/torture.py --keep FOLDER --seed "
                      f"{first} --first {number} --count 1", flush=True)
                failed += 1
            else:
                print(f"ok {seed}", flush=True)
    print(f"{syncs} syncs, each of them needed")
    if syncs < FEWEST * len(names) and len(names) > 10:
        print("not ok few-syncs: hardly any syncs were looked at")
        failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
