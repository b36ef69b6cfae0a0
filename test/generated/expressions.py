"""Random expressions of a type and shape: the lower half of the generator.

A type and shape is wanted, and is made of smaller expressions, of values that have names, of loads.
Shapes are tuples of axes; an axis with a start is a range that may reach past its tensor, so that
it has a domain. Every value knows whether its bits may depend on the plan (`loose`: sums and
products of floats). It makes no statements: generate.py does.
"""
import random

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i32", "u32", "i64", "i8", "u8")
DTYPES = FLOATS + INTEGERS + ("bool",)
DTYPE_WEIGHTS = (8, 2, 2, 4, 2, 2, 2, 2, 3)
MOST_HELD = 1 << 18  # elements of a tensor, for one program
WIDTHS = (0, 1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 129, 257)
WIDTH_WEIGHTS = (1, 3, 3, 4, 4, 6, 6, 6, 3, 5, 5, 5, 5, 5, 3, 4, 3, 3, 2, 3)
MOST_ELEMENTS = 2048
MOST_CELLS = 40000  # elements times programs

# Casts that lose nothing of the range of values that the generator keeps to.
NARROW = {"i8": 100, "u8": 100, "f16": 1000, "bf16": 1000}


class Axis:
    """`length` elements; from `start` of a dimension `size` when that is given, else all."""

    def __init__(self, length, start=None, size=None):
        self.length, self.start, self.size = length, start, size

    def key(self):
        return (self.length, self.start, self.size)

    def __eq__(self, other):
        return self.key() == other.key()

    def __hash__(self):
        return hash(self.key())


ONE = Axis("1")


class Value:
    """An expression of a type and shape. `loose`: its bits may depend on the plan."""

    def __init__(self, text, dtype, shape=(), loose=False):
        self.text, self.dtype, self.shape, self.loose = text, dtype, shape, loose


class Tensor:
    def __init__(self, name, mode, dtype, dims):
        self.name, self.mode, self.dtype, self.dims = name, mode, dtype, dims
        self.loose = False
        self.spec = None


class Program:
    def __init__(self, name, size, step):
        self.name, self.size, self.step = name, size, step


def compatible(shape, wanted):
    """`shape` can be broadcast to `wanted`."""
    if shape == () or shape == wanted:
        return True
    return len(shape) == len(wanted) and all(a == b or a == ONE for a, b in zip(shape, wanted))


def join(*shapes):
    result = ()
    for shape in shapes:
        if result == ():
            result = shape
        elif shape != ():
            result = tuple(b if a == ONE else a for a, b in zip(result, shape))
    return result


class Expressions:
    def __init__(self, seed, all_special=False):
        self.all_special = all_special
        self.random = random.Random(seed)
        self.counter = 0
        self.tensors, self.scalars = [], []
        self.lines = []
        self.indent = 1
        self.pool = []
        self.may_fault = False
        self.allow_sums = True
        self.context_loose = False
        self.depth = 0
        self.cost = 0

    # ---- chance ----

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, items):
        return self.random.choice(items)

    def weighted(self, pairs):
        return self.random.choices([item for item, _ in pairs], [weight for _, weight in pairs])[0]

    def fresh(self, stem):
        self.counter += 1
        return f"{stem}{self.counter}"

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    # ---- sizes and shapes ----

    def set_up(self):
        self.inout_share = self.pick((0.1, 0.1, 0.1, 0.6))
        self.sizes, self.dynamic, self.programs, self.consts = {}, set(), [], {}
        for name in ("N", "M", "K"):
            self.sizes[name] = self.random.choices(WIDTHS, WIDTH_WEIGHTS)[0]
            if self.chance(0.2):
                self.dynamic.add(name)
        if self.chance(0.3):
            self.consts["BM"] = self.pick((1, 3, 4, 8, 16, 20))
        for name, size in zip(("row", "b", "h"), ("R", "B", "H")):
            if not self.chance((0.95, 0.3, 0.15)[len(self.programs)]):
                break
            step = 1
            self.sizes[size] = self.random.choices(range(21), [0.5] + [2] * 20)[0]
            if len(self.programs) > 0:
                self.sizes[size] = self.random.randrange(1, 5)
            if self.chance(0.15):
                step = self.pick((2, 4, 8))
                self.sizes[size] = self.random.randrange(0, 40)
            self.programs.append(Program(name, size, step))
        count = 1
        for program in self.programs:
            count *= -(-self.sizes[program.size] // program.step)
        lengths = [length for length, fits in (
            ("N - 1", self.sizes["N"] > 0), ("N + 1", True), ("M // 2", True), ("2 * M", True),
            ("minimum(N, 7)", True)) if fits and self.chance(0.15)]
        self.most = max(1, min(MOST_ELEMENTS, MOST_CELLS // max(1, count)))
        lengths += ["N", "N", "M", "K", "1", str(self.pick((1, 2, 3, 4, 8, 12)))]
        lengths += list(self.consts)
        self.axes = [Axis(length) for length in lengths]
        for program in self.programs:
            if program.step > 1:
                self.axes.append(Axis(str(program.step), program.name, program.size))
        if self.chance(0.35):
            size = self.pick(("N", "M"))
            start = str(self.pick((0, 1, 3, 8)))
            self.axes.append(Axis(str(self.pick((4, 8, 16, 33))), start, size))
        if self.programs and self.chance(0.15):
            self.axes.append(Axis(str(self.pick((4, 8, 16))), self.programs[0].name, "N"))

    def number(self, text):
        names = {"__builtins__": {}, "minimum": min, **self.sizes, **self.consts}
        return int(eval(text, names))

    def elements(self, shape):
        count = 1
        for axis in shape:
            count *= max(1, self.number(axis.length))
        return count

    def held(self, shape):
        """Elements of a tensor in which ranges of the shape stand."""
        count = 1
        for axis in shape:
            count *= max(1, self.number(axis.length if axis.start is None else axis.size))
        return count

    def fits(self, shape):
        return len(shape) <= 4 and self.elements(shape) <= self.most and \
            self.held(shape) <= MOST_HELD

    def shape(self):
        for _ in range(20):
            rank = self.weighted(((0, 2), (1, 8), (2, 5), (3, 2), (4, 1)))
            shape = tuple(self.pick(self.axes) for _ in range(rank))
            if self.fits(shape):
                return shape
        return ()

    def shape_or_known(self):
        known = [value.shape for value in self.pool]
        return self.pick(known) if known and self.chance(0.6) else self.shape()

    def dtype(self):
        return self.random.choices(DTYPES, DTYPE_WEIGHTS)[0]

    # ---- tensors ----

    def input_spec(self, dtype):
        if dtype in FLOATS:
            if self.all_special:
                return self.pick(("magnitudes", "special", "special"))
            form = self.weighted((("randn", 16), ("randn:3:1", 2), ("randn:-20:2", 1),
                                  ("uniform:-1:1", 3), ("magnitudes", 0.3), ("special", 0.6)))
            return form
        low, high = {"bool": (0, 2), "i8": (-128, 128), "u8": (0, 256), "i32": (-2**31, 2**31),
                     "u32": (0, 2**32), "i64": (-2**62, 2**62)}[dtype]
        if dtype != "bool" and self.chance(0.8):
            low, high = max(low, -8), self.pick((9, 12, 100))
        return f"randint:{low}:{high}"

    def tensor(self, mode, dtype, dims):
        same = [t for t in self.tensors if (t.mode, t.dtype, t.dims) == (mode, dtype, dims)]
        if same and self.chance(0.8):
            return self.pick(same)
        tensor = Tensor(self.fresh({"in": "x", "out": "y", "inout": "z"}[mode]), mode, dtype, dims)
        if mode != "out":
            tensor.spec = self.input_spec(dtype)
        self.tensors.append(tensor)
        return tensor

    def program_items(self, all_of_them, axes=()):
        """(dimension, index) of program axes, except those on which a range of `axes` stands."""
        ranged = {axis.start for axis in axes if axis.start}
        items = []
        for program in self.programs:
            if program.name not in ranged and (all_of_them or self.chance(0.75)):
                items.append((program.size, program.name))
        return items

    def range_item(self, axis):
        if axis.start is not None:
            if self.chance(0.2) and not axis.start.startswith("a"):  # an i32 end might wrap
                return (axis.size, f"{axis.start} : {axis.start} + {axis.length}")
            return (axis.size, f"{axis.start} : +{axis.length}")
        if axis.length.isdigit() and self.chance(0.15):
            return (str(int(axis.length) + 2), f"{self.pick((0, 1, 2))} : +{axis.length}")
        if axis.length == "N - 1" and self.chance(0.7):
            return ("N", self.pick(("1 : N", "0 : N - 1", "1 : +N - 1", "1 :")))
        return (axis.length, ":")

    def mix(self, first, second):
        """The two lists merged in a random order that keeps that of the second."""
        result = list(second)
        for item in first:
            place = 0 if self.chance(0.7) else self.random.randrange(len(result) + 1)
            result.insert(place, item)
        return result

    # ---- loads ----

    def load(self, dtype, shape):
        items = self.mix(self.program_items(False, shape), [self.range_item(a) for a in shape])
        if len(items) > 4:
            items = [self.range_item(axis) for axis in shape]
        if self.chance(self.inout_share):
            value = self.load_inout(dtype, shape)
            if value:
                return value
        tensor = self.tensor("in", dtype, tuple(size for size, _ in items))
        return Value(f"{tensor.name}[{', '.join(text for _, text in items)}]", dtype, shape)

    def load_inout(self, dtype, shape):
        """From a tensor that the kernel also writes; the programs divide it as everywhere."""
        found = [t for t in self.tensors if t.mode == "inout" and t.dtype == dtype]
        same = [t for t in found if t.shape == shape and
                all(axis in self.axes for axis in t.shape)]
        free = [t for t in found if all(axis.start is None for axis in t.shape)]
        if same and self.chance(0.6):
            tensor = self.pick(same)
            items = [text for _, text in tensor.items]
            if len(shape) == 1 and shape[0].start is None and self.chance(0.3):
                length = shape[0].length
                items[tensor.axis_of_item.index(1)] = f"{length} - 1 - arange({length})"
            return Value(f"{tensor.name}[{', '.join(items)}]", dtype, shape, tensor.loose)
        if not free or self.depth > 2:
            return None
        tensor = self.pick(free)
        if shape == () and any(self.number(size) == 0 for size in tensor.dims):
            return None
        if shape == ():
            text, _, loose = self.piece(tensor, points=True)
            return Value(f"{tensor.name}[{text}]", dtype, (), loose or tensor.loose)
        return self.gather_inout(tensor, shape)

    def gather_inout(self, tensor, shape):
        """With an index tile of the shape for each of its axes."""
        texts, parts, loose = [], [], tensor.loose
        self.depth += 1
        for (_, name), axis in zip(tensor.items, tensor.axis_of_item):
            if axis == 0:
                texts.append(name)
                continue
            value = self.filled_index(shape, 1) if not parts else \
                self.index(self.looser(shape), 1)
            parts.append(value.shape)
            texts.append(value.text)
            loose = loose or value.loose
        self.depth -= 1
        if not parts or join(*parts) != shape:
            return None
        text = f"{tensor.name}[{', '.join(texts)}, fill={self.literal(tensor.dtype)}]"
        return Value(text, tensor.dtype, shape, loose)

    def piece(self, tensor, points=False):
        """(index, shape, loose) of a part of a tensor without starts: points and ranges."""
        texts, shape, loose = [], [], False
        for (size, name), axis in zip(tensor.items, tensor.axis_of_item):
            kind = "point" if points else self.pick(("all", "range", "point"))
            if axis == 0 or kind == "all":
                texts.append(name)
                shape += [tensor.shape[axis - 1]] if axis else []
            elif kind == "range":
                start = self.pick(["0", "1", "3"] + self.loop_indices)
                part = Axis(str(self.pick((1, 2, 4, 8))), start, size)
                texts.append(f"{start} : +{part.length}")
                shape.append(part)
            elif self.number(size) == 0:
                texts.append("0")
            else:
                value = self.leaf(self.pick(("i32", "index")), (), True)
                loose = loose or value.loose
                texts.append(f"({value.text} % ({size}))")
        return ", ".join(texts), tuple(shape), loose

    def index(self, shape, depth):
        dtype = self.weighted((("i32", 6), ("i64", 2), ("u32", 1), ("u8", 1), ("i8", 1),
                               ("index", 4)))
        return self.expression(dtype, shape, depth, exact=True)

    def filled_index(self, shape, depth):
        """An index of the shape beside `fill=`. Where a range of the shape may reach past its
        tensor the language wants an index that may lie outside, too: a load, of which nothing is
        proved."""
        if any(axis.start is not None for axis in shape):
            return self.load(self.pick(("i32", "i64", "i8")), shape)
        return self.index(shape, depth)

    def gather(self, dtype, shape, depth):
        """An access with index tiles of the shape, or scalars."""
        count = self.random.randrange(1, 3)
        programs = [item for item in self.program_items(False) if self.chance(0.6)][:4 - count]
        sizes = [self.pick(("N", "M", "K", "5", "3", "17")) for _ in range(count)]
        wraps = self.chance(0.3) and all(self.number(size) > 0 for size in sizes)
        fills = not wraps and (self.chance(0.9) or self.may_fault is None)
        exact = self.random.randrange(count)
        texts, parts, loose = [], [], False
        for i, size in enumerate(sizes):
            if i == exact and fills:
                value = self.filled_index(shape, depth - 1)
            else:
                value = self.index(shape if i == exact else self.looser(shape), depth - 1)
            loose = loose or value.loose
            parts.append(value.shape)
            texts.append(f"({value.text} % ({size}))" if wraps else value.text)
        if not wraps and not fills:
            self.may_fault = True
        items = self.mix(programs, list(zip(sizes, texts)))
        tensor = self.tensor("in", dtype, tuple(size for size, _ in items))
        fill = f", fill={self.literal(dtype)}" if fills else ""
        return Value(f"{tensor.name}[{', '.join(text for _, text in items)}{fill}]", dtype,
                     join(*parts), loose)

    # ---- leaves ----

    def literal(self, dtype):
        if dtype in FLOATS:
            return self.weighted((("0.0", 2), ("1.0", 2), ("-1.5", 2), ("0.25", 2), ("3", 1),
                                  ("-0.0", 1), ("1e-3", 1), ("inf", 0.1), ("nan", 0.05)))
        if dtype == "bool":
            return self.pick(("true", "false"))
        low = 0 if dtype in ("u32", "u8") else -9
        return str(self.random.randrange(low, 12))

    def scalar_leaf(self, dtype):
        if dtype == "index":
            names = [p.name for p in self.programs] + list(self.sizes)[:3] + list(self.consts)
            names += self.loop_indices
            return Value(self.pick(names), dtype)
        if self.chance(0.5):
            return Value(f"{dtype}({self.literal(dtype)})", dtype)
        same = [name for name, kind, _ in self.scalars if kind == dtype]
        if not same or self.chance(0.3):
            name = self.fresh("s")
            value = self.literal(dtype)
            if value in ("inf", "nan"):
                value = "2.5"
            self.scalars.append((name, dtype, {"true": "1", "false": "0"}.get(value, value)))
            same = [name]
        return Value(self.pick(same), dtype)

    def index_leaf(self, shape):
        """An index tile of exactly this shape."""
        if shape == ():
            return self.scalar_leaf("index")
        full = all(axis.start is None for axis in shape)
        if not full:
            base = self.leaf("i32", shape, True)
            return Value(f"({base.text} + {self.scalar_leaf('index').text})", "index", shape,
                         base.loose)
        parts = []
        for i, axis in enumerate(shape):
            item = ", ".join(":" if k == i else "None" for k in range(len(shape)))
            parts.append(f"arange({axis.length})" + (f"[{item}]" if len(shape) > 1 else ""))
        text = parts[0]
        for part in parts[1:]:
            text = f"({text} {self.pick('+-*+')} {part})"
        return Value(text, "index", shape)

    def expanded(self, dtype, shape):
        """A pool value of one axis less, with None."""
        places = [i for i, axis in enumerate(shape) if axis == ONE]
        if not places or len(shape) < 2:
            return None
        at = self.pick(places)
        rest = shape[:at] + shape[at + 1:]
        found = [v for v in self.pool if v.dtype == dtype and v.shape == rest]
        if found and self.chance(0.7):
            value = self.pick(found)
        else:
            value = self.leaf(dtype, rest, True)
        return Value(f"{value.text}[{self.none_at(at, len(rest))}]", dtype, shape, value.loose)

    @staticmethod
    def none_at(at, rank):
        items = [":"] * rank
        items.insert(at, "None")
        return ", ".join(items)

    @staticmethod
    def zero_at(at, rank):
        items = [":"] * rank
        items[at] = "0"
        return ", ".join(items)

    def leaf(self, dtype, shape, exact):
        known = [v for v in self.pool if v.dtype == dtype and
                 (v.shape == shape if exact else compatible(v.shape, shape))]
        other = [v for v in self.pool if v.dtype != dtype and
                 (v.shape == shape if exact else compatible(v.shape, shape))]
        kind = self.weighted((("known", 5 if known else 0), ("cast", 1.5 if other else 0),
                              ("load", 2), ("gather", 0.4), ("expand", 1),
                              ("scalar", 1 if not exact or shape == () else 0)))
        if kind == "known":
            return self.pick(known)
        if dtype == "index":
            return self.index_leaf(shape)
        if kind == "cast":
            return self.cast(dtype, self.pick(other))
        if kind == "gather" and self.depth < 3:
            self.depth += 1
            value = self.gather(dtype, shape, 1)
            self.depth -= 1
            return value
        if kind == "expand" and self.depth < 3:
            value = self.expanded(dtype, shape)
            if value:
                return value
        if kind == "scalar":
            return self.scalar_leaf(dtype)
        return self.load(dtype, shape)

    def cast(self, dtype, value):
        text = value.text
        limit = NARROW.get(dtype)
        if limit and value.dtype in ("i32", "u32", "i64", "index") and self.chance(0.98):
            text = f"({text} % {limit})"
        return Value(f"{dtype}({text})", dtype, value.shape, value.loose)

    def looser(self, shape):
        """A shape that broadcasts to this one."""
        if self.chance(0.5):
            return shape
        if self.chance(0.5):
            return ()
        return tuple(ONE if self.chance(0.4) else axis for axis in shape)

    # ---- expressions ----

    def expression(self, dtype, shape, depth, exact=True):
        self.cost += 1
        if not exact:
            shape = self.looser(shape)
        if depth <= 0 or self.chance(0.12) or self.cost > 60:
            return self.leaf(dtype, shape, exact)
        makers = {"f32": self.make_f32, "f16": self.make_half, "bf16": self.make_half,
                  "i32": self.make_integer, "u32": self.make_integer, "i64": self.make_integer,
                  "i8": self.make_narrow, "u8": self.make_narrow, "bool": self.make_bool,
                  "index": self.make_index}
        value = makers[dtype](dtype, shape, depth - 1)
        if value is None or (exact and value.shape != shape):
            return self.leaf(dtype, shape, exact)
        return value

    def pair(self, first, second, shape, depth):
        """Two operands that together have the shape, in a random order."""
        a = self.expression(first, shape, depth, exact=True)
        b = self.expression(second, shape, depth, exact=False)
        return (a, b) if self.chance(0.5) else (b, a)

    def combine(self, text, dtype, *operands):
        return Value(text, dtype, join(*[v.shape for v in operands]),
                     any(v.loose for v in operands))

    def binary(self, operation, dtype, a, b):
        return self.combine(f"({a.text} {operation} {b.text})", dtype, a, b)

    def with_literal(self, operation, dtype, a, literal):
        if self.chance(0.5):
            return self.combine(f"({a.text} {operation} {literal})", dtype, a)
        return self.combine(f"({literal} {operation} {a.text})", dtype, a)

    def wider(self, dtype):
        """A type whose arithmetic gives the dtype."""
        if dtype == "f32":
            return self.weighted((("f32", 5), ("f16", 1), ("bf16", 1)))
        if dtype == "i32":
            return self.weighted((("i32", 5), ("i8", 1), ("u8", 1), ("bool", 0.5)))
        return dtype

    def where(self, dtype, shape, depth):
        condition = self.expression("bool", shape, depth, exact=self.chance(0.6))
        a = self.expression(dtype, shape, depth, exact=condition.shape != shape)
        if self.chance(0.25) and a.dtype != "bool":
            literal = self.literal(dtype)
            sides = (a.text, literal) if self.chance(0.5) else (literal, a.text)
            return self.combine(f"where({condition.text}, {sides[0]}, {sides[1]})", dtype,
                                condition, a)
        b = self.expression(dtype, shape, depth, exact=False)
        return self.combine(f"where({condition.text}, {a.text}, {b.text})", dtype, condition, a, b)

    def extreme(self, dtype, shape, depth):
        name = self.pick(("maximum", "minimum"))
        if self.chance(0.25):
            a = self.expression(dtype, shape, depth)
            return self.combine(f"{name}({a.text}, {self.literal(dtype)})", dtype, a)
        a, b = self.pair(dtype, dtype, shape, depth)
        return self.combine(f"{name}({a.text}, {b.text})", dtype, a, b)

    def cast_from(self, dtype, shape, depth):
        source = self.pick([d for d in DTYPES + ("index",) if d != dtype])
        return self.cast(dtype, self.expression(source, shape, depth))

    def reduce(self, dtype, shape, depth):
        """A reduction whose result has the shape, or an axis of 1 in it."""
        monoids = []
        if dtype == "bool":
            monoids = [("any", "bool"), ("all", "bool")]
        else:
            monoids = [("max", dtype), ("min", dtype)]
            if dtype in ("i32", "u32", "i64") or (dtype == "f32" and self.allow_sums):
                monoids += [("sum", self.wider(dtype))] * 3 + [("prod", self.wider(dtype))]
        monoid, source = self.pick(monoids)
        axis = self.pick(self.axes)
        rank = len(shape)
        drop = self.chance(0.4) or rank == 0
        ones = [i for i, a in enumerate(shape) if a == ONE]
        if drop or not ones:
            at = self.random.randrange(rank + 1)
            big = shape[:at] + (axis,) + shape[at:]
            drop = True
        else:
            at = self.pick(ones)
            big = shape[:at] + (axis,) + shape[at + 1:]
        if not self.fits(big):
            return None
        inner = self.expression(source, big, depth)
        if inner.shape != big:
            return None
        options = "" if len(big) == 1 and self.chance(0.7) else f", axis={at}"
        if dtype in FLOATS and self.chance(0.2):
            options += ", nan=" + self.pick(("ignore", "ignore", "propagate"))
        if self.chance(0.15):
            options += self.pick((", order=tree", ", order=canonical", ", zero=strict"))
        text = f"{monoid}({inner.text}{options})"
        if drop and len(big) > 1:
            text += f"[{self.zero_at(at, len(big))}]"
        loose = inner.loose or (dtype == "f32" and monoid in ("sum", "prod"))
        return Value(text, dtype, () if len(big) == 1 else shape, loose)

    def padded(self, dtype, shape, depth):
        places = [i for i, a in enumerate(shape) if a.start is None and a.length.isdigit()]
        ranges = [a for a in self.axes if a.start is not None]
        if not places or not ranges:
            return None
        at = self.pick(places)
        ranges = [a for a in ranges if a.length == shape[at].length]
        if not ranges:
            return None
        inner = self.expression(dtype, shape[:at] + (self.pick(ranges),) + shape[at + 1:], depth)
        if any(a.start is not None and i != at for i, a in enumerate(inner.shape)):
            return None
        return self.combine(f"pad({inner.text}, {self.literal(dtype)})", dtype,
                            Value("", dtype, shape, inner.loose))

    def make_f32(self, dtype, shape, depth):
        kind = self.weighted((("arith", 8), ("literal", 3), ("divide", 2), ("math", 4),
                              ("extreme", 2), ("where", 2), ("sign", 1), ("cast", 1.5),
                              ("reduce", 4), ("pad", 1), ("index", 0.5)))
        if kind == "arith":
            a, b = self.pair(self.wider(dtype), self.wider(dtype), shape, depth)
            return self.binary(self.pick("+-*"), dtype, a, b)
        if kind == "literal":
            a = self.expression(self.wider(dtype), shape, depth)
            return self.with_literal(self.pick("+-*"), dtype, a, self.literal(dtype))
        if kind == "divide":
            a, b = self.pair(self.wider(dtype), self.wider(dtype), shape, depth)
            text = b.text if self.chance(0.02) else f"(abs({b.text}) + 0.5)"
            return self.combine(f"({a.text} / {text})", dtype, a, b)
        if kind == "math":
            return self.make_math(shape, depth)
        if kind == "sign":
            a = self.expression(dtype, shape, depth)
            return self.combine(self.pick((f"abs({a.text})", f"(-{a.text})")), dtype, a)
        if kind == "index":
            a = self.expression(dtype, shape, depth)
            size = self.pick(("N", "M"))
            operation = "/" if self.sizes[size] > 0 else "*"
            return self.combine(f"({a.text} {operation} {size})", dtype, a)
        return {"extreme": self.extreme, "where": self.where, "cast": self.cast_from,
                "reduce": self.reduce, "pad": self.padded}[kind](dtype, shape, depth)

    def make_math(self, shape, depth):
        a = self.expression(self.wider("f32"), shape, depth)
        name = self.pick(("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "tanh", "sigmoid", "erf"))
        text = a.text
        if self.chance(0.95):
            text = {"exp": "(-abs({}))", "exp2": "minimum(f32({}), 5.0)",
                    "log": "(abs({}) + 0.25)", "log2": "(abs({}) + 0.25)", "sqrt": "abs({})",
                    "rsqrt": "(abs({}) + 0.125)"}.get(name, "{}").format(text)
        return self.combine(f"{name}({text})", "f32", a)

    def make_half(self, dtype, shape, depth):
        kind = self.weighted((("extreme", 2), ("where", 2), ("sign", 2), ("cast", 4),
                              ("reduce", 2), ("pad", 0.5)))
        if kind == "sign":
            a = self.expression(dtype, shape, depth)
            return self.combine(self.pick((f"abs({a.text})", f"(-{a.text})")), dtype, a)
        if kind == "cast":
            return self.cast(dtype, self.expression("f32", shape, depth))
        return {"extreme": self.extreme, "where": self.where,
                "reduce": self.reduce, "pad": self.padded}[kind](dtype, shape, depth)

    def make_integer(self, dtype, shape, depth):
        kind = self.weighted((("arith", 6), ("literal", 3), ("divide", 3), ("bits", 3),
                              ("shift", 2), ("not", 1), ("sign", 1), ("extreme", 2),
                              ("where", 2), ("cast", 2), ("reduce", 4), ("pad", 0.5)))
        if kind in ("arith", "divide", "bits", "shift"):
            a, b = self.pair(self.wider(dtype), self.wider(dtype), shape, depth)
            if "bool" in (a.dtype, b.dtype) and kind == "bits":
                return None
            if kind == "divide" and b.text == f"{b.dtype}(0)":
                return None  # a constant zero divisor is an error
            operation = {"arith": "+-*", "divide": ("//", "%"), "bits": "&|^",
                         "shift": ("<<", ">>")}[kind]
            return self.binary(self.pick(operation), dtype, a, b)
        if kind == "literal":
            a = self.expression(self.wider(dtype), shape, depth)
            operation = self.pick(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"))
            literal = self.literal(dtype)
            if a.dtype == "bool" and operation in "&|^":
                return None
            if operation in ("//", "%"):
                literal = self.pick(("1", "2", "3", "7", "16"))
                return self.combine(f"({a.text} {operation} {literal})", dtype, a)
            return self.with_literal(operation, dtype, a, literal)
        if kind in ("not", "sign"):
            a = self.expression(dtype, shape, depth)
            sign = self.pick((f"(-{a.text})", f"abs({a.text})"))
            return self.combine(f"(~{a.text})" if kind == "not" else sign, dtype, a)
        return {"extreme": self.extreme, "where": self.where, "cast": self.cast_from,
                "reduce": self.reduce, "pad": self.padded}[kind](dtype, shape, depth)

    def make_narrow(self, dtype, shape, depth):
        kind = self.weighted((("extreme", 2), ("where", 2), ("sign", 1), ("cast", 4),
                              ("reduce", 2), ("pad", 0.5)))
        if kind == "sign":
            a = self.expression(dtype, shape, depth)
            return self.combine(f"(-{a.text})", dtype, a)
        return {"extreme": self.extreme, "where": self.where, "cast": self.cast_from,
                "reduce": self.reduce, "pad": self.padded}[kind](dtype, shape, depth)

    def make_bool(self, dtype, shape, depth):
        kind = self.weighted((("compare", 8), ("bits", 3), ("not", 1), ("reduce", 2),
                              ("where", 1), ("cast", 1)))
        if kind == "compare":
            source = self.pick(DTYPES + ("index",))
            operation = self.pick(("<", "<=", ">", ">=", "==", "!="))
            if self.chance(0.3) and source not in ("bool",):
                a = self.expression(source, shape, depth)
                literal = self.literal("i32" if source == "index" else source)
                return self.with_literal(operation, dtype, a, literal)
            other = source
            if self.chance(0.3):
                other = {"i32": "i64", "i64": "i32", "index": "i32", "f32": "f16", "f16": "bf16",
                         "i8": "u8", "u8": "i32"}.get(source, source)
            a, b = self.pair(source, other, shape, depth)
            return self.binary(operation, dtype, a, b)
        if kind == "bits":
            a, b = self.pair(dtype, dtype, shape, depth)
            return self.binary(self.pick("&|^"), dtype, a, b)
        if kind == "not":
            a = self.expression(dtype, shape, depth)
            return self.combine(f"(~{a.text})", dtype, a)
        return {"where": self.where, "cast": self.cast_from,
                "reduce": self.reduce}[kind](dtype, shape, depth)

    def make_index(self, dtype, shape, depth):
        a = self.index_leaf(shape)
        kind = self.weighted((("leaf", 3), ("arith", 3), ("mix", 2), ("divide", 1)))
        if kind == "arith":
            return self.binary(self.pick("+-*"), dtype, a, self.scalar_leaf("index"))
        if kind == "mix":
            b = self.expression(self.pick(("i32", "i8", "u8")), shape, depth, exact=False)
            return self.binary(self.pick("+-*"), dtype, a, b)
        if kind == "divide":
            return self.combine(f"({a.text} {self.pick(('//', '%'))} {self.pick('235')})", dtype, a)
        return a
