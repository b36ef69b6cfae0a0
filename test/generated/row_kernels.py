#!/usr/bin/env python3
"""Random row kernels: what softmax and its kin look like, with what else a row program may hold.

    row_kernels.py [--seed N] [--count K] [-j 2] [--croft build/croft] [--keep FOLDER]

tier: check check-long
builds: release

One program a row: row tiles of several tensors and of two widths, weights that all rows share,
tiles that are used again after a reduction, reductions of reductions, gathers of single elements
and of tiles, masks by position, scalars for each row, several outputs. Arithmetic keeps values
small, so that results stay finite. Each kernel runs as judge.py says: fallback and row plan, the
simulator, wide teams, plans changed by chance; all against the reference. Without --seed: kernels
of one fixed and of one fresh seed, CROFT_SEED.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import sys
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402
import judge  # noqa: E402,F401
import run  # noqa: E402
import seeds  # noqa: E402

FIXED_SEED = 5
COUNTS = {"check": (8, 4), "check-long": (400, 100)}
WIDTHS = (1, 2, 3, 7, 31, 32, 33, 63, 64, 100, 127, 128, 129, 200, 256, 257, 300, 520, 1009)
ROWS = (1, 2, 3, 5, 8, 9, 17, 33)
TYPES = ("f32", "f32", "f16", "bf16")


class Value:
    """A text of f32: a scalar of the row, or a tile of `width`. `loose`: its bits may depend on the
    plan, as those of sums do."""

    def __init__(self, text, width=None, loose=False):
        self.text, self.width, self.loose = text, width, loose


class RowKernel:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.sizes = {"R": self.pick(ROWS), "N": self.pick(WIDTHS), "M": self.pick(WIDTHS)}
        self.parameters, self.arguments, self.outputs = [], [], []
        self.lines, self.names = [], 0
        self.pool = []
        self.tensors = {}  # name -> width, of the inputs R x width
        self.given = set()  # sizes that an input brings
        self.dynamic = {size for size in ("N", "M") if self.chance(0.3)}

    def pick(self, choices):
        return self.random.choice(choices)

    def chance(self, share):
        return self.random.random() < share

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    # ---- parameters ----

    def declare(self, name, mode, dtype, dims):
        self.parameters.append((name, mode, dtype, dims))

    def input(self, dims, dtype=None, spec="randn"):
        name, dtype = self.fresh("x"), dtype or self.pick(TYPES)
        self.declare(name, "in", dtype, dims)
        shape = "x".join(str(self.sizes[dim]) for dim in dims)
        kind, *options = spec.split(":")
        self.arguments.append(f"{name}=" + ":".join([kind, shape, *options, dtype]))
        self.given.update(dims)
        return name

    # ---- expressions: values of magnitude 10 at most, more or less ----

    def row_input(self, width):
        """A row of an input: a new one, or one that is read already."""
        old = [name for name, own in self.tensors.items() if own == width]
        name = self.pick(old) if old and self.chance(0.4) else self.input(("R", width))
        self.tensors[name] = width
        return name

    def leaf(self, width):
        same = [v for v in self.pool if v.width == width]
        scalars = [v for v in self.pool if v.width is None]
        kind = self.random.random()
        if same and kind < 0.55:
            return self.pick(same[-4:])
        if scalars and kind < 0.7:
            return self.pick(scalars[-4:])
        if width is None:
            return Value(self.pick(("0.5", "-1.25", "2.0", "0.0")))
        if kind < 0.85:
            return Value(f"f32({self.row_input(width)}[row, :])", width)
        if kind < 0.93:
            return Value(f"f32({self.input((width,))}[:])", width)
        return self.tile_gather(width)

    def tile_gather(self, width):
        source = self.row_input(self.pick((width, "N", "M")))
        at = self.input((width,), "i32", f"randint:-2:{self.sizes[self.tensors[source]] + 2}")
        return Value(f"f32({source}[row, {at}[:], fill=0.25])", width)

    def expression(self, width, depth):
        if depth == 0:
            return self.leaf(width)
        kind = self.pick(("unary", "binary", "binary", "binary", "choose", "leaf"))
        if kind == "leaf":
            return self.leaf(width)
        a = self.expression(width, depth - 1)
        if kind == "unary":
            form = self.pick(("exp(minimum({}, 1.5))", "tanh({})", "sigmoid({})", "abs({})",
                              "-({})", "sqrt(abs({}) + 0.1)", "rsqrt(abs({}) + 0.5)",
                              "log(abs({}) + 0.5)", "minimum({} * {}, 30.0)", "maximum({}, 0.0)"))
            return Value(form.replace("{}", a.text), a.width, a.loose)
        b = self.expression(width if a.width else self.pick((None, width)), depth - 1)
        shape, loose = a.width or b.width, a.loose or b.loose
        if kind == "binary":
            form = self.pick(("({} + {})", "({} - {})", "({} * {} * 0.5)", "({} / (abs({}) + 0.5))",
                              "maximum({}, {})", "minimum({}, {})"))
            return Value(form.format(a.text, b.text), shape, loose)
        if shape and self.chance(0.4):
            test = f"arange({shape}) {self.pick(('<=', '<', '>'))} row"
            other = self.pick((b.text, "0.0"))
        else:
            test, other = f"{a.text} {self.pick(('<', '>='))} 0.25", b.text
        return Value(f"where({test}, {a.text}, {other})", shape, loose)

    # ---- statements ----

    def define(self, value, prefix):
        name = self.fresh(prefix)
        self.lines.append(f"{name} = {value.text}")
        self.pool.append(Value(name, value.width, value.loose))

    def tile(self):
        width = self.pick(("N", "N", "N", "M"))
        value = self.expression(width, self.pick((1, 2, 2, 3)))
        if value.width is None:
            row = self.row_input(width)
            value = Value(f"{value.text} + f32({row}[row, :])", width, value.loose)
        self.define(value, "t")

    def reduce(self):
        tiles = [v for v in self.pool if v.width]
        if not tiles:
            return self.tile()
        t = self.pick(tiles[-3:])
        form = self.pick(("sum({t}) / maximum({n}, 1)", "sum({t} * {t}) / maximum({n}, 1)",
                          "max({t})", "min({t})", "max(abs({t}))",
                          "where(any({t} > 1.0), 1.0, 0.5)", "where(all({t} > -2.0), 0.0, 1.5)",
                          "sum({t}, nan=ignore) / 64.0", "sum(exp({t} - max({t})))",
                          "maximum(max({t}), -50.0)"))
        loose = t.loose or "sum" in form
        return self.define(Value(form.format(t=t.text, n=t.width), None, loose), "s")

    def scalar(self):
        if self.chance(0.4):
            return self.define(Value(f"f32({self.input(('R',))}[row])"), "s")
        source = self.row_input(self.pick(("N", "M")))
        at = self.input(("R",), self.pick(("i32", "i64")),
                        f"randint:-3:{self.sizes[self.tensors[source]] + 3}")
        return self.define(Value(f"f32({source}[row, {at}[row], fill=-0.5])"), "s")

    def store(self):
        value = self.pick(self.pool[-4:])
        name = self.fresh("y")
        dims = ("R", value.width) if value.width else ("R",)
        self.declare(name, "out", self.pick(TYPES), dims)
        self.outputs.append((name, "", value.loose))
        self.lines.append(f"{name}[{', '.join(['row', ':'][:len(dims)])}] = {value.text}")

    # ---- all ----

    def kernel(self):
        self.tile()
        for _ in range(self.random.randrange(1, 7)):
            self.pick((self.tile, self.tile, self.reduce, self.reduce, self.scalar))()
        for _ in range(self.pick((1, 1, 2, 3))):
            self.store()
        texts, bound = [], set()
        for name, mode, dtype, dims in self.parameters:
            words = ["dynamic " + dim if dim in self.dynamic and dim not in bound else dim
                     for dim in dims]
            bound.update(dims)
            texts.append(f"{name}: {mode} {dtype}[{', '.join(words)}]")
        sizes = [f"{dim}={self.sizes[dim]}" for dim in sorted(bound - self.given)]
        body = "\n".join("    " + line for line in ["program row: R", *self.lines])
        text = f"kernel generated({', '.join(texts)}) {{\n{body}\n}}\n"
        machines = [self.pick(generate.MACHINES) if self.chance(0.3) else None for _ in range(2)]
        return generate.Kernel(text, self.arguments + sizes, self.outputs, False, machines,
                               self.random.random())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--croft", default=os.environ.get("CROFT", str(run.ROOT / "build/croft")))
    parser.add_argument("--keep", help="a folder for the shrunk kernels")
    options = parser.parse_args()
    settings = types.SimpleNamespace(croft=options.croft, keep=options.keep, shrink=120,
                                     special=False)
    names = seeds.names(options, FIXED_SEED, COUNTS)
    failed, results = 0, []
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for result in pool.map(lambda name: run.run_kernel(
                settings, name, RowKernel(name).kernel()), names):
            run.print_result(result)
            results.append(result)
            failed += result.verdict.finding is not None
    good = run.print_finite(settings, results)
    sys.exit(1 if failed or not good else 0)


if __name__ == "__main__":
    main()
