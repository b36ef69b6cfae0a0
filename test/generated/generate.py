#!/usr/bin/env python3
"""Random valid kernels with arguments: the same text for the same seed.

    generate.py --seed 7          prints the kernel and its arguments

A statement wants a value of some type and shape and gets one from expressions.py. Each output knows
whether it holds a value whose bits may depend on the plan. Nothing here looks at what Croft
accepts: a kernel that it refuses is a finding.
"""
import argparse
import math
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from expressions import DTYPES, FLOATS, Axis, Expressions, Tensor, Value  # noqa: E402


MACHINES = ("cpu-baseline", "cpu-avx2")  # beside the host's


class Kernel:
    """What the generator hands over: `text`, the `arguments` of inputs, scalars and sizes, the
    outputs as (name, argument before the file's name, loose), for the two plans the machines
    (None: the host's), and what seeds the change of a third plan (None: there is none). Of a
    regression `plan_axes` may say the digits of that plan, by the names of axes."""

    def __init__(self, text, arguments, outputs, may_fault, machines, plan_seed):
        self.text, self.arguments, self.outputs = text, arguments, outputs
        self.may_fault, self.machines, self.plan_seed = may_fault, machines, plan_seed
        self.plan_axes = {}


class Generator(Expressions):
    # ---- statements ----

    def new_value(self, dtype=None, shape=None):
        """A value, and a name for it that is not defined yet."""
        self.cost = 0
        dtype = dtype or self.dtype()
        shape = self.shape_or_known() if shape is None else shape
        return self.expression(dtype, shape, self.random.randrange(1, 4))

    def define(self, value):
        name = self.fresh("t")
        self.emit(f"{name} = {value.text}")
        defined = Value(name, value.dtype, value.shape, value.loose or self.context_loose)
        self.pool.append(defined)
        return defined

    def assign(self):
        self.define(self.new_value())

    def reassign(self, names):
        """Another value of the same type and shape for a name."""
        found = [v for v in self.pool if v.text in names]
        if not found:
            return self.assign()
        old = self.pick(found)
        twin = [v for v in found if v is not old and (v.dtype, v.shape) == (old.dtype, old.shape)]
        if twin and self.chance(0.3):  # swap
            other, name = self.pick(twin), self.fresh("t")
            self.emit(f"{name} = {old.text}")
            self.emit(f"{old.text} = {other.text}")
            self.emit(f"{other.text} = {name}")
            old.loose = other.loose = old.loose or other.loose
            return None
        value = self.new_value(old.dtype, old.shape)
        if self.chance(0.6):
            value = self.accumulate(old, value)
        self.emit(f"{old.text} = {value.text}")
        old.loose = value.loose or self.context_loose
        return None

    def accumulate(self, old, value):
        if old.dtype in ("f32", "i32", "u32", "i64"):
            scale = " * 0.5" if old.dtype == "f32" else ""
            text = f"({old.text}{scale} {self.pick('+-')} {value.text})"
        elif old.dtype == "bool":
            text = f"({old.text} {self.pick('&|^')} {value.text})"
        else:
            text = f"maximum({old.text}, {value.text})"
        return Value(text, old.dtype, old.shape, old.loose or value.loose)

    def store(self, new=False):
        recent = [v for v in self.pool[-4:] if v.dtype != "index"]
        outputs = [t for t in self.tensors if t.mode != "in"]
        if outputs and not new and self.chance(0.6):
            self.store_again(self.pick(outputs))
            return
        if recent and self.chance(0.75):
            value = self.pick(recent)
            tensor = self.output(value.shape, value.dtype)
            if tensor:
                self.emit_store(tensor, self.store_index(tensor), value)
            return
        tensor = self.output(self.shape_or_known(), self.dtype())
        if tensor:
            self.store_again(tensor)

    def store_again(self, tensor):
        """Another value to a tensor, or to a part of it."""
        shape, loose = tensor.shape, False
        if all(a.start is None for a in shape) and self.chance(0.5):
            index, shape, loose = self.piece(tensor)
        elif all(axis in self.axes for axis in shape):
            index = self.store_index(tensor)
        else:
            return
        self.cost = 0
        source = tensor.dtype
        if source in FLOATS and self.chance(0.5):
            source = "f32"
        elif source in ("i8", "u8") and self.chance(0.6):
            source = self.pick(("i32", "f32", source))
        value = self.expression(source, shape, self.random.randrange(1, 4), self.chance(0.85))
        if self.chance(0.05) and tensor.dtype != "bool":
            value = Value(self.pick(("0", "1", "7")), source)
        value.loose = value.loose or loose
        self.emit_store(tensor, index, value)

    def emit_store(self, tensor, index, value):
        self.emit(f"{tensor.name}[{index}] = {value.text}")
        tensor.loose = tensor.loose or value.loose or self.context_loose

    def store_index(self, tensor):
        items = [text for _, text in tensor.items]
        shape = tensor.shape
        if shape and all(a.start is None for a in shape) and self.chance(0.2):
            return self.scatter_index(tensor)
        return ", ".join(items)

    def scatter_index(self, tensor):
        """Index tiles instead of ranges: reversed, strided (what falls outside is dropped), or a
        permutation by multiplication, which only `unique` allows."""
        shape, texts, unique = tensor.shape, [], ""
        for i, axis in enumerate(shape):
            tile = f"arange({axis.length})"
            number = self.number(axis.length)
            kind = self.weighted((("same", 3), ("reverse", 2), ("stride", 1), ("permute", 2)))
            if kind == "reverse":
                tile = f"({axis.length} - 1 - {tile})"
            elif kind == "stride":
                tile = f"({tile} * 2)"
            elif kind == "permute" and number > 0:
                factor = self.pick([f for f in (1, 3, 5, 7) if math.gcd(f, number) == 1])
                tile = f"(({tile} * {factor} + 2) % ({axis.length}))"
                unique = ", unique"
            if len(shape) > 1:
                item = ", ".join(":" if k == i else "None" for k in range(len(shape)))
                tile = f"{tile}[{item}]"
            texts.append(tile)
        result = [name if not is_axis else texts[is_axis - 1]
                  for (_, name), is_axis in zip(tensor.items, tensor.axis_of_item)]
        return ", ".join(result) + unique

    def output(self, shape, dtype):
        """A new out or inout tensor for values of a shape; None when there can be none."""
        for _ in range(4):
            programs = self.program_items(True, shape)
            tile = [(self.range_item(axis), i + 1) for i, axis in enumerate(shape)]
            merged = self.mix([(item, 0) for item in programs], tile)
            if len(merged) > 4 or any(axis not in self.axes for axis in shape):
                continue
            steps = {(p.name, p.size): str(p.step) for p in self.programs}
            if any(axis.start in {p.name for p in self.programs} and
                   steps.get((axis.start, axis.size)) != axis.length for axis in shape):
                return None  # two programs would write one cell
            if len({axis.start for axis in shape if axis.start}) < \
                    len([axis for axis in shape if axis.start]):
                continue
            mode = "inout" if self.chance(0.2 + self.inout_share / 2) else "out"
            if sum(t.mode != "in" for t in self.tensors) >= 4:
                return None
            name = self.fresh("y" if mode == "out" else "z")
            tensor = Tensor(name, mode, dtype, tuple(item[0] for item, _ in merged))
            tensor.items = [item for item, _ in merged]
            tensor.axis_of_item = [place for _, place in merged]
            tensor.shape = shape
            if mode == "inout":
                tensor.spec = self.input_spec(tensor.dtype)
            self.tensors.append(tensor)
            return tensor
        return None

    def scalar(self, dtype):
        """The text of a scalar expression."""
        self.cost = 40
        value = self.expression(dtype, (), 2)
        return value

    def loop(self, level):
        axes, pool, loose = list(self.axes), list(self.pool), self.context_loose
        sums = self.allow_sums
        name = self.fresh("k")
        low, high, step, bound_loose = self.loop_bounds()
        carried = [v for v in self.pool if self.chance(0.5)][-4:]
        blurs = self.chance(0.6) or bound_loose or any(v.loose for v in self.pool) or \
            any(t.loose for t in self.tensors)
        self.allow_sums = self.allow_sums and blurs
        if blurs:
            for value in carried:
                value.loose = True
            for tensor in self.tensors:
                tensor.loose = tensor.loose or tensor.mode == "inout"
        self.context_loose = loose or bound_loose
        accumulators = []
        for _ in range(self.pick((0, 0, 1, 2))):
            dtype = self.pick(("f32", "i32", "i64", "bf16", "u8"))
            start = self.pick({"f32": ("0.0", "1.5", "-2"), "bf16": ("0.0", "-inf", "3")}.get(
                dtype, ("0", "1", "7")))
            accumulators.append((self.fresh("c"), dtype, self.shape_or_known()))
            self.emit(f"{accumulators[-1][0]} = {start}")
        self.emit(f"for {name} in {low}..{high}{step} {{")
        self.indent += 1
        self.loop_indices.append(name)
        if low == "0" or low.isdigit():
            self.axes.append(Axis(str(self.pick((1, 4, 8, 16, 33))), name, self.pick(("N", "M"))))
            self.axes += [self.axes[-1]] * 4
        self.block(self.random.randrange(1, 4), level + 1, [v.text for v in carried])
        for value in carried:
            if self.chance(0.5):
                self.reassign([value.text])
        for text, dtype, shape in accumulators:  # a literal before the loop takes this type
            value = self.accumulate(Value(text, dtype, shape, blurs), self.new_value(dtype, shape))
            self.emit(f"{text} = {value.text}")
            pool.append(Value(text, dtype, shape, blurs or self.context_loose))
        self.indent -= 1
        self.emit("}")
        self.loop_indices.pop()
        self.axes, self.context_loose, self.allow_sums = axes, loose, sums
        self.pool = pool

    def loop_bounds(self):
        """Low, high and step as texts, and whether they are loose. At most about 20 trips."""
        kind = self.weighted((("constant", 3), ("size", 4), ("data", 2), ("program", 1)))
        if kind == "size":
            size = self.pick(("N", "M"))
            step = max(1, -(-self.sizes[size] // self.pick((1, 2, 5, 9))))
            return "0", size, f" step {step}", False
        if kind == "data":
            value = self.scalar(self.pick(("i32", "i64", "u8", "index")))
            return "0", f"({value.text} % 5)", "", value.loose
        if kind == "program" and self.programs:
            name = self.programs[0].name
            high = f"({name} % 4)" if self.chance(0.5) else f"minimum({name} + 1, 6)"
            return "0", high, "", False
        low = self.pick((0, 0, 1, 3))
        high = low + self.pick((0, 1, 2, 3, 7))
        step = "" if self.chance(0.6) else f" step {self.pick((1, 2, 3))}"
        return str(low), str(high), step, False

    def branch(self, level):
        condition = self.scalar("bool")
        loose, axes = self.context_loose, list(self.axes)
        self.context_loose = loose or condition.loose
        pool = list(self.pool)
        before = {v.text: v.loose for v in pool}
        names = [v.text for v in self.pool][-5:]
        merged = None
        if self.chance(0.5):
            merged = (self.fresh("t"), self.dtype(), self.shape_or_known())
        known = [v for v in self.pool]
        if merged and any(axis not in self.axes for axis in merged[2]):
            merged = None
        ends = []
        branches = 2 if merged or self.chance(0.6) else 1
        self.emit(f"if {condition.text} {{")
        for side in range(branches):
            if side == 1:
                self.emit("} else {")
            self.indent += 1
            self.pool = list(known)
            for value in known:
                value.loose = before[value.text]
            self.axes = list(axes)
            self.block(self.random.randrange(1, 3), level + 1, names)
            if merged:
                value = self.new_value(merged[1], merged[2])
                self.emit(f"{merged[0]} = {value.text}")
                ends.append(value.loose)
            ends.append({v.text: v.loose for v in known})
            self.indent -= 1
        self.emit("}")
        self.pool = pool
        ends_of_names = [end for end in ends if isinstance(end, dict)]
        for value in known:
            value.loose = before[value.text] or any(end[value.text] for end in ends_of_names)
        if merged:
            self.pool.append(Value(merged[0], merged[1], merged[2],
                                   self.context_loose or any(e is True for e in ends)))
        self.context_loose, self.axes = loose, axes

    def block(self, count, level, names):
        """Statements; `names` may be given new values."""
        for _ in range(count):
            kind = self.weighted((("assign", 6), ("reassign", 3 if names else 0),
                                  ("store", 2), ("loop", 1.5 if level < 3 else 0),
                                  ("branch", 1.2 if level < 3 else 0), ("start", 0.3)))
            if kind == "assign":
                self.assign()
            elif kind == "reassign":
                self.reassign(names)
            elif kind == "store":
                self.store()
            elif kind == "loop":
                self.loop(level)
            elif kind == "branch":
                self.branch(level)
            else:
                self.computed_start()

    def computed_start(self):
        """A range from a start that is known at run time only."""
        value = self.scalar(self.pick(("i32", "index", "u8")))
        if value.loose:
            return
        name = self.fresh("a")
        self.emit(f"{name} = maximum(({value.text} % 40), 0)")
        self.axes.append(Axis(str(self.pick((3, 8, 16))), name, self.pick(("N", "M"))))

    # ---- all ----

    def kernel(self):
        self.loop_indices = []
        self.set_up()
        if self.programs:
            axes = [f"{p.name}: {p.size}" + (f" step {p.step}" if p.step > 1 else "")
                    for p in self.programs]
            self.emit("program " + ", ".join(axes))
        for _ in range(self.random.randrange(1, 4)):
            self.assign()
        self.block(self.pick((1, 2, 3, 4, 6, 9)), 1, [v.text for v in self.pool])
        for _ in range(self.random.randrange(1, 4)):
            self.store(new=True)
        stored = {line.strip().split("[")[0] for line in self.lines}
        self.tensors = [t for t in self.tensors if t.mode != "out" or t.name in stored]
        if not any(t.mode != "in" for t in self.tensors):
            return None
        return self.finish()

    def parameter(self, tensor, bound):
        dims = []
        for dim in tensor.dims:
            word = "dynamic " if dim in self.dynamic and dim not in bound else ""
            bound.add(dim)
            dims.append(word + dim)
        dtype = "T" if tensor.dtype == self.generic and tensor.name != "sizes" else tensor.dtype
        return f"{tensor.name}: {tensor.mode} {dtype}[{', '.join(dims)}]"

    def finish(self):
        body = "\n".join(self.lines)
        self.generic = self.pick(self.tensors).dtype if self.chance(0.25) else None
        bound, parameters, arguments, outputs = set(), [], [], []
        given = {dim for t in self.tensors if t.mode != "out" for dim in t.dims}
        for tensor in self.tensors:
            parameters.append(self.parameter(tensor, bound))
            shape = "x".join(str(self.number(dim)) for dim in tensor.dims)
            if tensor.mode == "out":
                outputs.append((tensor.name, "", tensor.loose))
                continue
            form, *options = tensor.spec.split(":")
            spec = ":".join([form, shape] + options + [tensor.dtype])
            if tensor.mode == "inout":
                outputs.append((tensor.name, spec + ",", tensor.loose))
            else:
                arguments.append(f"{tensor.name}={spec}")
        used = set(body.replace("(", " ").replace(")", " ").replace(",", " ").replace("[", " ")
                   .replace("]", " ").replace(":", " ").replace("+", " ").replace(".", " ").split())
        arguments += [f"{size}={self.sizes[size]}" for size in self.sizes
                      if size in bound and size not in given]
        for dim in list(bound):
            used.update(dim.replace("(", " ").replace(",", " ").split())
        missing = [size for size in self.sizes if size not in bound and size in used]
        if missing:
            tensor = Tensor("sizes", "in", "u8", tuple(missing))
            parameters.append(self.parameter(tensor, bound))
            shape = "x".join(str(self.sizes[size]) for size in missing)
            arguments.append(f"sizes=zeros:{shape}:u8")
        for name, value in self.consts.items():
            if name in used or name in bound:
                parameters.append(f"{name}: const" + (f" = {value}" if self.chance(0.5) else ""))
                arguments.append(f"{name}={value}")
        for name, dtype, value in self.scalars:
            default = self.chance(0.5) and dtype != "bool"
            parameters.append(f"{name}: {dtype}" + (f" = {value}" if default else ""))
            if not default or self.chance(0.5):
                arguments.append(f"{name}={value}")
        if self.generic:
            others = self.random.sample([d for d in DTYPES if d != self.generic], 2)
            choices = " | ".join(self.random.sample([self.generic] + others, 3))
            parameters.append(f"T: {choices}")
            arguments.append(f"T={self.generic}")
        text = f"kernel generated({', '.join(parameters)}) {{\n{body}\n}}\n"
        machines = [self.pick(MACHINES) if self.chance(0.3) else None for _ in range(2)]
        return Kernel(text, arguments, outputs, self.may_fault, machines, self.random.random())


def generate(seed, all_special=False):
    """The kernel of a seed; its float inputs all special on demand."""
    attempt = 0
    while True:
        kernel = Generator(f"{seed}.{attempt}", all_special).kernel()
        if kernel is not None:
            return kernel
        attempt += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", required=True)
    parser.add_argument("--special", action="store_true", help="all float inputs are special")
    options = parser.parse_args()
    kernel = generate(options.seed, options.special)
    print(kernel.text)
    print("# " + " ".join(kernel.arguments +
                          [f"{name}={before}/dev/null" for name, before, _ in kernel.outputs]))


if __name__ == "__main__":
    main()
