"""What a kernel file's head says about its tensors, and their shapes for the sizes of a case.

    kernel swiglu(gate: in T[R, N], up: in T[R, N], y: out T[R, N], T: f32 | f16 | bf16) {

has the tensors gate, up (in) and y (out), each of type T and with the axes R, N. The names among
the axes are the case's sizes, in the order in which they come; a type parameter is the case's type,
or i64 where it may not be that. A name that has a default (`N: const = 1009`) keeps it. This reads
the head alone; what a kernel means is the compiler's.
"""
import dataclasses
import math
import re

from .cases import TYPE_BYTES, Case, axes_of


class BadKernel(Exception):
    """A kernel file that this harness cannot call; the text says why."""


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    way: str     # in, out, inout
    dtype: str   # a type or the name of a type parameter
    axes: tuple  # numbers, names and formulas of them


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    tensors: tuple
    types: dict     # type parameter -> the types it may be
    defaults: dict  # name -> number

    def named(self, way):
        """The tensors that are read ("in") or written ("out"); inout ones are both."""
        return [tensor for tensor in self.tensors if way in tensor.way]

    def inputs(self):
        """What a call takes by position: everything that is read."""
        return self.named("in")

    def outputs(self):
        """What a call takes as `out`: what is written alone."""
        return [tensor for tensor in self.tensors if tensor.way == "out"]

    def dtype(self, tensor, dtype):
        """The type of one of the tensors where the case's type is `dtype`."""
        choices = self.types.get(tensor.dtype)
        if choices is None:
            return tensor.dtype
        return dtype if dtype in choices else choices[-1]

    def shapes(self, axes):
        """name -> shape of each tensor, where the sizes of the case are `axes`."""
        numbers, free = dict(self.defaults), list(axes)
        for tensor in self.tensors:
            for axis in tensor.axes:
                for name in re.findall(r"[A-Za-z_]\w*", str(axis)):
                    if name in numbers:
                        continue
                    if not free:
                        raise BadKernel(f"{self.name}: {name} is a size more than the "
                                        f"{len(axes)} of the case")
                    numbers[name] = free.pop(0)
        return {tensor.name: tuple(self.extent(axis, numbers) for axis in tensor.axes)
                for tensor in self.tensors}

    def extent(self, axis, numbers):
        """An axis as a number: 2 * N for its sizes."""
        if isinstance(axis, int):
            return axis
        if not re.fullmatch(r"[\w\s+*/()-]+", axis) or "**" in axis:
            raise BadKernel(f"{self.name}: the size {axis} cannot be read")
        try:
            return eval(axis.replace("/", "//"), {"__builtins__": {}}, dict(numbers))
        except (SyntaxError, TypeError, ArithmeticError) as error:
            raise BadKernel(f"{self.name}: the size {axis} cannot be read: {error}") from error

    def whole(self, axes):
        """The tensors of the most axes and, among these, of the most elements."""
        shapes = self.shapes(axes)
        sizes = {name: (len(shape), math.prod(shape)) for name, shape in shapes.items()}
        most = max(sizes.values())
        return [tensor for tensor in self.tensors if sizes[tensor.name] == most]

    def case(self, dtype, shape, file=None):
        """The case of this kernel for a shape."""
        axes = axes_of(shape)
        shapes, whole = self.shapes(axes), self.whole(axes)
        size = {tensor.name: math.prod(shapes[tensor.name]) * TYPE_BYTES[self.dtype(tensor, dtype)]
                for tensor in self.tensors}
        reads = tuple(size[tensor.name] for tensor in whole if tensor in self.named("in"))
        writes = tuple(size[tensor.name] for tensor in whole if tensor in self.named("out"))
        small = sum(size[tensor.name] for tensor in self.named("out") if tensor not in whole)
        return Case(self.name, dtype, axes, reads, writes, small, file)


def split_parameters(text):
    """The parameters of a head: split at commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append(text[begin:at])
            begin = at + 1
    return [part.strip() for part in parts + [text[begin:]] if part.strip()]


def read_kernel(text, name=None):
    """The first kernel of a file's text, or the one of that name."""
    text = re.sub(r"#[^\n]*", "", text)
    head = re.search(r"\bkernel\s+(" + (re.escape(name) if name else r"\w+") + r")\s*\(", text)
    if not head:
        raise BadKernel(f"no kernel {name or ''} in the file")
    depth, end = 1, head.end()
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    tensors, types, defaults = [], {}, {}
    parts = split_parameters(text[head.end():end - 1])
    for part in parts:
        tensor = re.fullmatch(r"(\w+)\s*:\s*(in|out|inout)\s+(\w+)\s*\[(.*)\]", part, re.DOTALL)
        if tensor:
            axes = tuple(int(axis) if axis.isdigit() else axis
                         for axis in (word.strip() for word in tensor[4].split(",")))
            tensors.append(Tensor(tensor[1], tensor[2], tensor[3], axes))
    for part in parts:
        kind = re.fullmatch(r"(\w+)\s*:\s*(\w+(?:\s*\|\s*\w+)+|[fiu]\d+|bf16)", part)
        if kind and any(tensor.dtype == kind[1] for tensor in tensors):
            types[kind[1]] = [word.strip() for word in kind[2].split("|")]
        number = re.fullmatch(r"(\w+)\s*:\s*const\s*=\s*(\d+)", part)
        if number:
            defaults[number[1]] = int(number[2])
    if not tensors:
        raise BadKernel(f"kernel {head[1]} has no tensors")
    return Kernel(head[1], tuple(tensors), types, defaults)
