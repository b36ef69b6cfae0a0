"""Kernels as operators of PyTorch, for torch.compile and CUDA graphs.

    norm = croft.torch_operator(croft.load("rmsnorm.croft"), "mine::rmsnorm")
    y = norm(x, w, eps=1e-6)        also torch.ops.mine.rmsnorm
    norm.out(x, w, y)               into memory that is there

An operator is a Library.define with a function of libcroft that calls the kernel, found by
_shim.py, and a fake implementation that asks the library for shapes alone. It has no derivative.
What it refuses is a RuntimeError with the findings' text: that is what PyTorch makes of it. Where
_shim.py finds nothing, the implementation is in Python and does the same more slowly.
"""
from __future__ import annotations

import ctypes
import itertools
from typing import Any, Callable

from . import _arrays, _shim, _tensors, _transforms
from . import _library as lib
from ._errors import CroftError, RejectedError, check
from ._arrays import Autograd, any_grad
from ._kernel import FOREIGN, Kernel, Parameter
from ._tensors import Reading, filled

ADDRESS = 1 << 12  # of fake tensors: never read
STAND_INS = (1009, 908)  # the first of those that stand for sizes that are not known, twice
kept: list[Any] = []


def type_of(number: Parameter) -> str:
    """Of a scalar or a constant, in a schema; element types and layouts come from with_()."""
    if number.kind == "const":
        return "int"
    if number.dtype is None:
        return "Scalar"
    return "float" if number.dtype in ("f32", "f16", "bf16", "f64") else "int"


def schema_of(kernel: Kernel, with_outputs: bool) -> str:
    """`(Tensor x, Tensor w, *, float? eps=None) -> Tensor`; outputs stand behind the inputs."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    words = [f"Tensor({next(letters)}!) {one.name}" if one.is_written else f"Tensor {one.name}"
             for one in kernel.tensor_parameters if one.is_read]
    if with_outputs:
        words += [f"Tensor({next(letters)}!) {one.name}" for one in kernel.tensor_parameters
                  if not one.is_read]
    named = [f"{type_of(one)}? {one.name}=None" for one in kernel.parameters
             if one.kind in ("scalar", "const")]
    result = "()" if with_outputs or kernel.outputs == 0 else ", ".join(
        ["Tensor"] * kernel.outputs)
    if kernel.outputs > 1 and not with_outputs:
        result = f"({result})"
    return f"({', '.join(words + (['*'] + named if named else []))}) -> {result}"


def given(named: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in named.items() if value is not None}


def sizes_for(values: tuple[Any, ...], first: int, meets: bool,
              known: dict[int, list[Any]]) -> list[tuple[int, ...]]:
    """Shapes in numbers: what is a symbol becomes a number that no other size is, found in `known`.
    With `meets`, symbols that have one value now have one number, and one whose value a fixed size
    has is fixed itself."""
    import torch
    fixed = {int(size) for value in values for size in value.shape
             if not isinstance(size, torch.SymInt)}
    free = (number for number in itertools.count(first, 2) if number not in fixed)
    numbers: dict[Any, int] = {}

    def number(size: Any) -> int:
        if not isinstance(size, torch.SymInt):
            return int(size)
        key: Any = str(size.node.expr)
        if meets and size.node.has_hint():
            if size.node.hint in fixed:
                return int(size)
            key = size.node.hint
        if key not in numbers:
            numbers[key] = next(free)
        known.setdefault(numbers[key], []).append(size)
        return numbers[key]

    return [tuple(number(size) for size in value.shape) for value in values]


def shapes_of(kernel: Kernel, values: tuple[Any, ...], shapes: list[tuple[int, ...]],
              named: dict[str, Any]) -> list[tuple[tuple[int, ...], str]]:
    """Shapes and types of the outputs for inputs of such shapes."""
    readings = iter([Reading(filled(ADDRESS, *_tensors.TORCH_TYPES[str(value.dtype)[6:]], shape,
                                    None, (lib.ON_CPU, 0)), value)
                     for value, shape in zip(values, shapes)])
    count = len(kernel.tensor_parameters)
    tensors = (ctypes.POINTER(lib.Tensor) * count)()
    outputs = (lib.Output * count)()
    for index, parameter in enumerate(kernel.tensor_parameters):
        outputs[index].size = ctypes.sizeof(lib.Output)
        if parameter.is_read:
            tensors[index] = ctypes.pointer(next(readings).tensor)
    function = kernel.function((lib.ON_CPU, 0), kernel.sorted((), named)[1])
    findings = ctypes.c_void_p()
    status = lib.C.croft_function_outputs(function.pointer, tensors, count, outputs,
                                          ctypes.byref(findings))
    check(status, findings, kernel.name)
    return [(tuple(one.shape[:one.rank]), _arrays.TYPES[one.dtype_code, one.dtype_bits][1])
            for one, parameter in zip(outputs, kernel.tensor_parameters) if not parameter.is_read]


def refuse_fake(kernel: Kernel, values: tuple[Any, ...]) -> None:
    """What the operator would refuse of tensors without memory; those of the device `meta` among
    others come here too."""
    _arrays.refuse_grad(values)
    for value in values:
        if value.device != values[0].device:
            raise RejectedError("tensor-device", f"{kernel.name}: tensors of several devices",
                                found=f"{values[0].device}, {value.device}")


def open_shapes(kernel: Kernel, values: tuple[Any, ...], named: dict[str, Any],
                meets: bool) -> list[tuple[tuple[Any, ...], str]] | None:
    """Shapes and types of the outputs, with the symbols of the inputs; None where a size of an
    output is neither a symbol nor a number, but made of symbols. Asked for twice, with other
    numbers for the symbols, the library says which is which."""
    import torch
    asked = []
    for first in STAND_INS:
        known: dict[int, list[Any]] = {}
        asked.append((shapes_of(kernel, values, sizes_for(values, first, meets, known), named),
                      known))
    (found, known), (again, other) = asked
    for symbols in known.values():
        for symbol in symbols[1:]:
            torch._check(symbols[0] == symbol)  # a guard, where they met
    made: list[tuple[tuple[Any, ...], str]] = []
    for (shape, dtype), (twice, _) in zip(found, again):
        sizes: list[Any] = []
        for one, two in zip(shape, twice):
            if one in known and two in other:
                sizes.append(known[one][0])
            elif one == two:
                sizes.append(one)
            else:
                return None
        made.append((tuple(sizes), dtype))
    return made


def fake_of(kernel: Kernel) -> Callable[..., Any]:
    """What the operator makes of tensors without memory, whose sizes may be symbols. Symbols stay
    open where the kernel takes any numbers for them; else they are made equal where they are, and
    at last, where that is not what the kernel asks for, specialised."""
    import torch

    def shapes(values: tuple[Any, ...],
               named: dict[str, Any]) -> list[tuple[tuple[Any, ...], str]]:
        if any(isinstance(size, torch.SymInt) for value in values for size in value.shape):
            for meets in (False, True):
                try:
                    found = open_shapes(kernel, values, named, meets)
                except CroftError:
                    continue
                if found is not None:
                    return found
        return shapes_of(kernel, values, [tuple(int(size) for size in value.shape)
                                          for value in values], named)

    def fake(*values: Any, **named: Any) -> Any:
        refuse_fake(kernel, values)
        made = tuple(values[0].new_empty(shape, dtype=getattr(torch, dtype))
                     for shape, dtype in shapes(values, given(named)))
        return None if not made else made[0] if len(made) == 1 else made

    return fake


def fake_out_of(kernel: Kernel) -> Callable[..., None]:
    def fake_out(*values: Any, **named: Any) -> None:
        refuse_fake(kernel, values)

    return fake_out


# The implementation in Python: Kernel.__call__ once more, without what PyTorch has looked at.

def call_read(kernel: Kernel, inputs: tuple[Any, ...], outputs: Any, named: dict[str, Any]) -> Any:
    try:
        return kernel.call_read(inputs, outputs, None, given(named))
    except CroftError as error:
        raise RuntimeError(str(error)) from error


def run_of(kernel: Kernel) -> Callable[..., Any]:
    known, make, no_outputs = kernel.known, kernel.made_like, kernel.outputs == 0

    def run(*values: Any, **named: Any) -> Any:
        done = False
        if not named and Autograd.forward is not None and Autograd.forward._current_level < 0:
            try:
                call, pointer, objects, grad_mode, _ = known[values[0].get_device()]
                if not grad_mode() or not any_grad(values):
                    made = None if no_outputs else make(values)
                    done = call(pointer, objects, id(values), id(made), None) == 0
            except (LookupError, *FOREIGN):
                pass
        if not done:
            return call_read(kernel, values, None, named)
        if kernel.changed:
            Autograd.count_versions([values[index] for index in kernel.changed])
        return made

    return run


def run_out_of(kernel: Kernel) -> Callable[..., None]:
    known, count, one = kernel.known, kernel.inputs, kernel.outputs == 1
    written = [*kernel.changed, *range(count, count + kernel.outputs)]

    def run_out(*values: Any, **named: Any) -> None:
        inputs, outputs = values[:count], values[count] if one else values[count:]
        done = False
        if not named and Autograd.forward is not None and Autograd.forward._current_level < 0:
            try:
                call, pointer, objects, grad_mode, _ = known[values[0].get_device()]
                if not grad_mode() or not any_grad(values):
                    done = call(pointer, objects, id(inputs), id(outputs), None) == 0
            except (LookupError, *FOREIGN):
                pass
        if done:
            Autograd.count_versions([values[index] for index in written])
        else:
            call_read(kernel, inputs, outputs, named)

    return run_out


def torch_operator(kernel: Kernel, name: str) -> Any:
    """Defines `namespace::name` in PyTorch and returns torch.ops.namespace.name. Inputs are given
    by position, numbers by name; `.out` takes outputs behind the inputs and returns nothing."""
    import torch
    namespace, _, short = name.partition("::")
    if not namespace or not short:
        raise ValueError(f"{name!r} is no `namespace::name`")
    tags = [torch.Tag.pt2_compliant_tag]
    for word in ("needs_exact_strides", "needs_fixed_stride_order"):
        if hasattr(torch.Tag, word):
            tags.append(getattr(torch.Tag, word))
            break
    library = torch.library.Library(namespace, "FRAGMENT")
    kept.append(library)
    kinds = [("", run_of(kernel), fake_of(kernel))]
    if kernel.outputs:
        kinds.append((".out", run_out_of(kernel), fake_out_of(kernel)))
    for overload, _, _ in kinds:
        library.define(short + overload + schema_of(kernel, bool(overload)), tags=tuple(tags))
    function = _shim.Finder(kernel).operator()
    for overload, implementation, fake in kinds:
        if function is not None:
            _shim.implement(namespace, short + overload, function)
        else:
            library.impl(short + overload, implementation, "CompositeExplicitAutograd")
        # What asks for a derivative is refused by both: autograd has nothing to do, nor to warn of.
        library.impl(short + overload, torch.library.fallthrough_kernel, "Autograd")
        torch.library.register_fake(f"{name}{overload}", fake, lib=library)
        operator = getattr(getattr(getattr(torch.ops, namespace), short), overload[1:] or "default")
        library.impl(short + overload, _transforms.transformed_of(operator), _transforms.BACK)
    return getattr(getattr(torch.ops, namespace), short)
