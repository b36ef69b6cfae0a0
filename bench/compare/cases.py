"""Which cases a tier has, and what each of them moves. No framework is needed to read this.

A case is an operator (or a kernel file), a type and a shape, mostly rows x width. It moves whole
tensors (of the shape and, by default, of the case's type), and what it writes for each row alone.
`footprint` is all of it, without weights and labels. Up to HOT_BYTES a case is judged with its
buffers in the L2, above with cold ones.

    softmax/f32/1024x4096: reads 16.8 MB, writes 16.8 MB, cold, stratum "4-64 MB"
"""
import dataclasses
import math
import random

from . import transposes
from .gates import COHORTS

TYPE_BYTES = {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i8": 1, "u8": 1, "i16": 2, "i32": 4,
              "u32": 4, "i64": 8, "bool": 1}
# Whole tensors read and written, and bytes written for each row alone where that is its output.
MOVED = {"sum": (1, 0), "softmax": (1, 1), "rmsnorm": (1, 1), "layernorm": (1, 1),
         "residual_layernorm": (2, 1), "cross_entropy": (1, 0)}
OPERATORS = list(MOVED)

# Ragged widths stand beside the next multiples of 8.
RAGGED = COHORTS["ragged"] + ["16384x4096", "16384x4104", "8192x8192", "8192x8200"]
GATES = COHORTS["base"] + COHORTS["wide"] + COHORTS["anchor"]
AUTOTUNED = {"1024x4096", "4096x8192", "16384x4096"}
NARROW_OPERATORS = ["softmax", "rmsnorm"]

TIERS = ["smoke", "quick", "gates", "wide", "ragged", "random", "halves", "transposes"]
# Types of a tier where they are not f32 alone.
DTYPES = {"halves": ["bf16"], "transposes": ["f16", "f32"]}
HOT_BYTES = 30_000_000
FEW_BYTES = 4_000_000
MB = 1_000_000
RANDOM_CASES, RANDOM_BYTES = 60, 2_000_000_000


@dataclasses.dataclass(frozen=True)
class Case:
    operator: str
    dtype: str
    axes: tuple    # sizes: the first is the number of rows
    reads: tuple   # bytes of each whole tensor that is read
    writes: tuple  # bytes of each whole tensor that is written
    row_write: int = 0  # bytes written for the rows alone
    file: str | None = None  # a kernel file that is no example

    @property
    def shape(self):
        return "x".join(map(str, self.axes))

    @property
    def rows(self):
        return self.axes[0]

    @property
    def width(self):
        """Elements of a row."""
        return math.prod(self.axes[1:])

    @property
    def id(self):
        return f"{self.operator}/{self.dtype}/{self.shape}"

    @property
    def read(self):
        return sum(self.reads)

    @property
    def write(self):
        return sum(self.writes) + self.row_write

    @property
    def footprint(self):
        return self.read + self.write

    @property
    def judged(self):
        return "hot" if self.footprint <= HOT_BYTES else "cold"

    @property
    def is_few(self):
        """Few bytes: narrow accesses may be the best."""
        return self.footprint <= FEW_BYTES

    @property
    def autotuned(self):
        return self.shape in AUTOTUNED

    @property
    def stratum(self):
        if self.footprint < 4 * MB:
            return "under 4 MB"
        if self.footprint < 64 * MB:
            return "4-64 MB"
        kinds = {"softmax": "softmax", "cross_entropy": "cross-entropy"}
        return kinds.get(self.operator, "sum and norms") + " of 64 MB and more"

    def record(self):
        name = {"file": self.file} if self.file else {}
        return {"record": "case", "id": self.id, "operator": self.operator, **name,
                "dtype": self.dtype, "axes": list(self.axes), "rows": self.rows,
                "width": self.width, "read": self.read, "write": self.write,
                "footprint": self.footprint, "judged": self.judged, "stratum": self.stratum}


class BadCase(ValueError):
    """A case that is asked for and cannot be; the text says why."""


def axes_of(shape):
    """The sizes of a shape as it is written: 1024x4096."""
    words = shape.split("x")
    if not all(word.isascii() and word.isdigit() and int(word) > 0 for word in words):
        raise BadCase(f"{shape!r} is no shape like 1024x4096")
    return tuple(map(int, words))


def known(words, names, what):
    """The words of an option with commas, each one of the names."""
    found = words.split(",")
    for word in found:
        if word not in names:
            raise BadCase(f"{what} {word!r} is none of {', '.join(names)}")
    return found


def row_case(operator, dtype, shape, moved=None, file=None):
    """A case of whole tensors of the case's type; where none is written, one element a row is."""
    axes = axes_of(shape)
    reads, writes = moved or MOVED[operator]
    size = TYPE_BYTES[dtype]
    whole = math.prod(axes) * size
    return Case(operator, dtype, axes, (whole,) * reads, (whole,) * writes,
                0 if writes else axes[0] * size, file)


def random_shapes(seed):
    """(operator, shape) for each of RANDOM_CASES cases: log-uniform in rows and width."""
    source = random.Random(seed)
    found = []
    while len(found) < RANDOM_CASES:
        operator = source.choice(OPERATORS)
        rows = round(math.exp(source.uniform(0, math.log(65536))))
        width = round(math.exp(source.uniform(math.log(16), math.log(131072))))
        pair = (operator, f"{rows}x{width}")
        if row_case(operator, "f32", pair[1]).footprint <= RANDOM_BYTES and pair not in found:
            found.append(pair)
    return found


def pairs_of(tier, seed, operators):
    """(operator, shape) of a tier; a kernel file is its own only operator."""
    if tier == "smoke":
        shapes = ["128x1024", "1024x4096", "16384x4096"]
        some = ["softmax", "cross_entropy", "residual_layernorm"]
        return list(zip(some if operators == OPERATORS else operators * 3, shapes))
    if tier == "random":
        own = operators != OPERATORS
        return [(operators[i % len(operators)] if own else operator, shape)
                for i, (operator, shape) in enumerate(random_shapes(seed))]
    shapes = {"quick": ["128x1024", "16384x4096"], "gates": GATES, "halves": GATES,
              "wide": COHORTS["widest"], "ragged": RAGGED, "transposes": transposes.SHAPES}[tier]
    found = [(operator, shape) for shape in shapes for operator in operators]
    if tier == "wide":
        narrow = NARROW_OPERATORS if operators == OPERATORS else operators
        found += [(operator, shape) for shape in COHORTS["narrow"]
                  for operator in narrow]
    return found


def cases_of(tier, dtypes=None, seed=0, make=row_case, operators=None):
    """The cases of a tier in their order; `make(operator, dtype, shape)` builds each."""
    return [make(operator, dtype, shape) for dtype in dtypes or DTYPES.get(tier, ["f32"])
            for operator, shape in pairs_of(tier, seed, operators or OPERATORS)]
