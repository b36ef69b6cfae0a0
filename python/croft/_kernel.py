"""Kernels, called with arrays.

    k = load("softmax.croft")
    y = k(x)               the output is made
    k(x, out=y)            it is there already
    d = k.bind(x, out=y)   for these arrays alone; d() runs it

Three ways lead to the library. A call with arrays of a kind that came before goes there without a
line of Python (_direct.py). What comes back from that is done by `call_in_python`, which hands over
tensors of a type that has DLPack's exchange table unopened. A first call, other arrays, named
arguments and whatever was refused there is read here, one by one (`call_read`). A bound call has
nothing left to read. The first two ways never say what is wrong: they leave that to the third,
which meets it again. Nothing is written by a call that is refused.
"""
from __future__ import annotations

import ctypes
import inspect
import numbers
import operator
import os
import pathlib
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Sequence

from . import _arrays, _cuda, _direct, _handles, _tensors
from . import _library as lib
from ._arrays import Autograd, any_grad
from ._errors import MisuseError, RejectedError, check, encoded
from ._handles import Handle, obtain
from ._layout import Layout

__all__ = ["Bound", "Kernel", "Parameter", "compile", "load"]

FUNCTIONS_LIMIT = 64  # of a kernel, by device and named arguments: the oldest goes
SHAPES_LIMIT = 1024
SHAPE = operator.attrgetter("shape", "dtype")
KINDS = ("tensor", "scalar", "dtype", "const", "layout")
# Not ours to judge: whatever is wrong with objects is found again, and said, by call_read.
FOREIGN = (AttributeError, TypeError, ValueError, RuntimeError, BufferError, SystemError)


@dataclass(frozen=True)
class Parameter:
    """One of a kernel's list. `kind` is tensor, scalar, dtype, const or layout; `dtype` the name of
    a scalar's type where it has only one."""
    name: str
    kind: str
    is_read: bool
    is_written: bool
    dtype: str | None = None


@dataclass(frozen=True)
class Options:
    """croft_prepare_options"""
    strict: bool = False
    plan: str | None = None
    set: str | None = None
    count_faults: bool = False


# name, kind, value: an argument that is not a tensor
Named = tuple[tuple[str, int, "int | float | str"], ...]


def named_argument(name: str, value: Any) -> tuple[str, int, int | float | str]:
    if _arrays.is_numpy(value, "generic"):
        value = value.item()
    if isinstance(value, numbers.Integral):  # bool too, and NumPy's
        if not -2 ** 63 <= int(value) < 2 ** 63:
            raise RejectedError("argument-range", f"`{name}` has more than 63 bits",
                                found=str(value))
        return (name, lib.ARGUMENT_INTEGER, int(value))
    if isinstance(value, numbers.Real):
        try:
            return (name, lib.ARGUMENT_REAL, float(value))
        except OverflowError as error:
            raise RejectedError("argument-range", f"`{name}` is larger than any float",
                                found=str(value)) from error
    if isinstance(value, (str, Layout)):
        return (name, lib.ARGUMENT_TEXT, str(value))
    word = _arrays.element_name(value)
    if word is None:
        raise RejectedError("argument-kind", f"`{name}` cannot be a {type(value).__name__}",
                            found=type(value).__name__,
                            expected="a number, a type, a layout or a text",
                            hint="`.item()` is the number of an array of one element"
                            if hasattr(value, "item") else None)
    return (name, lib.ARGUMENT_TEXT, word)


def argument_array(named: Named) -> Any:
    array = (lib.Argument * max(len(named), 1))()
    for argument, (name, kind, value) in zip(array, named):
        argument.name = encoded(name, "a name")
        argument.kind = kind
        if kind == lib.ARGUMENT_INTEGER:
            argument.integer = value
        elif kind == lib.ARGUMENT_REAL:
            argument.real = value
        else:
            argument.text = encoded(str(value), f"`{name}`")
    return array


class Program:
    """A kernel's text, and what it is on each device."""

    def __init__(self, text: str | bytes, name: str, kernel: str | None) -> None:
        self.text = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        self.source = name
        self.kernel = kernel
        self.made: dict[tuple[int, int], Handle] = {}
        self.lock = threading.RLock()
        handle = self.on((lib.ON_CPU, 0))  # what is wrong with the text is found now
        self.name = lib.PY.croft_kernel_name(handle.pointer).decode()
        self.parameters = tuple(self.read_parameters(handle))
        _handles.keepers.add(self)

    def read_parameters(self, handle: Handle) -> list[Parameter]:
        found: list[Parameter] = []
        one = lib.Parameter(size=ctypes.sizeof(lib.Parameter))
        while lib.PY.croft_kernel_parameter(handle.pointer, len(found),
                                            ctypes.byref(one)) == lib.OK:
            found.append(Parameter(one.name.decode(), KINDS[one.kind], bool(one.is_read),
                                   bool(one.is_written),
                                   _arrays.TYPES[one.dtype_code, one.dtype_bits][0]
                                   if one.dtype_bits else None))
        return found

    def on(self, device: tuple[int, int]) -> Handle:
        with self.lock:
            handle = self.made.get(device)
            if not handle:
                parent = _handles.context(device)
                source = lib.Source(size=ctypes.sizeof(lib.Source), text=self.text,
                                    length=len(self.text),
                                    name=encoded(self.source, "a name", "surrogateescape"),
                                    kernel=encoded_if(self.kernel, "a name"))
                handle = self.made[device] = obtain(
                    lib.C.croft_compile, parent.pointer, ctypes.byref(source),
                    free=lib.C.croft_kernel_free, parent=parent, what=self.source)
            return handle

    def forget(self) -> None:
        self.made.clear()
        self.lock = threading.RLock()


class Tensors:
    """The tensors of a call, read: inputs as given, outputs (None: to be made), the device."""

    def __init__(self, kernel: Kernel, inputs: Sequence[Any],
                 outputs: Sequence[Any] | None) -> None:
        self.kernel = kernel
        self.inputs = tuple(inputs)
        self.read_inputs = self.read(inputs, kernel.names_of(is_output=False))
        self.outputs: tuple[Any, ...] | None = None
        self.read_outputs: list[_tensors.Reading] = []
        if outputs is not None:
            self.set_outputs(outputs)
        devices = [one.device for one in self.read_inputs + self.read_outputs]
        self.device = next((device for device in devices if device[0] != lib.ON_CPU),
                           (lib.ON_CPU, 0))
        _arrays.refuse_grad(self.inputs + (self.outputs or ()), self.names())

    def names(self) -> list[str]:
        """Of the inputs and then of the outputs."""
        return self.kernel.names_of(is_output=False) + self.kernel.names_of(is_output=True)

    def read(self, values: Sequence[Any], names: list[str]) -> list[_tensors.Reading]:
        found = []
        for value, name in zip(values, names):
            try:
                found.append(_tensors.read(value))
            except RejectedError as error:
                raise RejectedError(error.slug, f"{self.kernel.name}: `{name}`: {error.message}",
                                    found=error.found, expected=error.expected, hint=error.hint
                                    ) from error.__cause__
        return found

    def set_outputs(self, outputs: Sequence[Any]) -> None:
        self.outputs = tuple(outputs)
        self.read_outputs = self.read(outputs, self.kernel.names_of(is_output=True))

    def array(self) -> Any:
        """What croft.h calls `tensors`: pointers in the order of the list."""
        inputs, outputs = iter(self.read_inputs), iter(self.read_outputs)
        kernel = self.kernel
        array = (ctypes.POINTER(lib.Tensor) * len(kernel.tensor_parameters))()
        for index, parameter in enumerate(kernel.tensor_parameters):
            one = next(inputs if parameter.is_read else outputs, None)
            if one is None:
                continue  # an output that is to be made
            if parameter.is_written and not one.writable:
                raise RejectedError("read-only", f"`{parameter.name}` is written, and its memory "
                                    "is read-only", hint="give a writable array")
            array[index] = ctypes.pointer(one.tensor)
        return array

    def make_outputs(self, function: Handle) -> None:
        """Outputs of the kind of the first input."""
        array, parameters = self.array(), self.kernel.tensor_parameters
        sizes = (lib.Output * max(len(parameters), 1))()
        for one in sizes:
            one.size = ctypes.sizeof(lib.Output)
        findings = ctypes.c_void_p()
        status = lib.C.croft_function_outputs(function.pointer, array, len(parameters), sizes,
                                              ctypes.byref(findings))
        check(status, findings, self.kernel.name)
        like = self.inputs[0] if self.inputs else None
        self.set_outputs([
            _arrays.empty(like, self.device, (one.dtype_code, one.dtype_bits),
                          tuple(one.shape[:one.rank]))
            for one, parameter in zip(sizes, parameters) if not parameter.is_read])

    def changed(self) -> tuple[Any, ...]:
        """Inputs of PyTorch that are written."""
        return _arrays.of_torch(self.inputs[number] for number in self.kernel.changed)

    def written(self) -> tuple[Any, ...]:
        return self.changed() + _arrays.of_torch(self.outputs or ())

    def stream(self, given: int | None) -> tuple[int | None, bool]:
        """The stream to launch on, and whether the call has to wait for it."""
        if given is not None:
            given = operator.index(given)
        if self.device[0] != lib.ON_CUDA:
            if given is not None:
                raise MisuseError("stream", "`stream` is of a CUDA device, the tensors are not",
                                  hint="`stream_`, where a parameter has that name")
            return None, False
        if given is not None:
            return given or _tensors.LEGACY_STREAM, False
        for value in self.inputs + (self.outputs or ()):
            if _tensors.is_torch(type(value)):
                return _arrays.torch_stream(self.device[1]) or _tensors.LEGACY_STREAM, False
        return _tensors.LEGACY_STREAM, True  # nobody says which stream the caller is on


class Kernel(_direct.KernelBase):
    """A kernel that can be called with tensors of any types, shapes and strides that it has.
    Several threads may call it.

    k(*arguments, out=None, **named) runs it on the current stream of the tensors' device, or on
    `stream=`. Arguments are the parameters in the order of the list, without outputs, or by name;
    sizes by name only. `out` is the output, or a tuple of several; without it they are made.
    Returns them: one, a tuple of several, None where all tensors are inputs.
    """
    own_type: type

    if TYPE_CHECKING:
        def __call__(self, /, *arguments: Any, out: Any = None, **named: Any) -> Any: ...

    def __init__(self, program: Program, options: Options = Options(), named: Named = ()) -> None:
        _direct.begin_kernel(self)
        self.__signature__ = CALL_SIGNATURE
        self.program = program
        self.options = options
        self.named = named
        self.name: str = program.name
        self.parameters = program.parameters
        self.tensor_parameters: list[Parameter] = [one for one in self.parameters
                                                   if one.kind == "tensor"]
        self.inputs = sum(one.is_read for one in self.tensor_parameters)
        self.outputs = len(self.tensor_parameters) - self.inputs
        self.changed: tuple[int, ...] = tuple(number for number, one in enumerate(  # of the inputs
            one for one in self.tensor_parameters if one.is_read) if one.is_written)
        self.functions: dict[Any, Handle] = {}
        # What hands tensors over unopened, by get_device(), and of these, by types that may be, the
        # one that did last: see learn().
        self.known: dict[int, Any] = {}
        self.fast: dict[type, Any] = {}
        self.shapes: dict[Any, Any] = {}
        self.learned: dict[Any, Handle] = {}  # by kind and device of the first: see _direct
        self.lock = threading.RLock()
        _handles.keepers.add(self)

    def __repr__(self) -> str:
        given = {name: value for name, _, value in self.named}
        words = [f"{one.name}={given.pop(one.name)}" if one.name in given else one.name
                 for one in self.parameters]
        words += [f"{name}={value}" for name, value in given.items()]  # sizes
        return f"<croft kernel {self.name}({', '.join(words)})>"

    def __reduce__(self) -> tuple[object, ...]:
        program = self.program
        return kernel_again, (program.text, program.source, program.kernel, self.options,
                              self.named)

    def call_in_python(self, /, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """A call, where _direct.py does not take it."""
        if not named:
            try:
                call, pointer, objects, grad_mode, _ = self.fast[type(arguments[0])]
                made = self.made_like(arguments) if out is None else out
                if Autograd.forward._current_level >= 0:
                    return self.call_read(arguments, out, None, named)
                if grad_mode():
                    for one in arguments:
                        if one.requires_grad:
                            return self.call_read(arguments, out, None, named)
                    if (any_grad(made) if type(made) is tuple else made.requires_grad):
                        return self.call_read(arguments, out, None, named)
                done = call(pointer, objects, id(arguments), id(made), None) == 0 or \
                    self.call_elsewhere(arguments, made)
            except LookupError:
                done = False  # a type or shapes that come for the first time
            except FOREIGN:
                done = False
            if done:
                if out is not None:
                    Autograd.count_versions(out if type(out) is tuple else (out,))
                if self.changed:
                    Autograd.count_versions([arguments[number] for number in self.changed])
                return made
        return self.call_read(arguments, out, named.pop("stream", None), named)

    def call_elsewhere(self, arguments: tuple[Any, ...], made: Any) -> bool:
        """Hands over tensors of a device that is not the one of the call before."""
        kind, entry = type(arguments[0]), self.known.get(arguments[0].get_device())
        if entry is None or entry is self.fast[kind]:
            return False
        self.fast[kind] = entry
        call, pointer, objects, _, _ = entry
        return bool(call(pointer, objects, id(arguments), id(made), None) == 0)

    def made_like(self, tensors: tuple[Any, ...]) -> Any:
        """Outputs for inputs of shapes that came before; KeyError where they did not."""
        if self.outputs == 0:
            return None
        empty, made = self.shapes[tuple(map(SHAPE, tensors))]
        device = tensors[0].device
        if self.outputs == 1:
            shape, strides, dtype = made[0]
            return empty(shape, strides, dtype=dtype, device=device)
        return tuple([empty(shape, strides, dtype=dtype, device=device)
                      for shape, strides, dtype in made])

    def call_read(self, arguments: tuple[Any, ...], out: Any, stream: int | None,
                  named: dict[str, Any]) -> Any:
        given, others = self.sorted(arguments, named)
        if len(given) != self.inputs:
            raise self.count_error(len(given))
        tensors = Tensors(self, given, self.outputs_given(out))
        function = self.function(tensors.device, others)
        if tensors.outputs is None:
            tensors.make_outputs(function)
            self.remember_shapes(tensors, others)
        queue, waits = tensors.stream(stream)
        options = lib.CallOptions(size=ctypes.sizeof(lib.CallOptions), stream=queue)
        findings = ctypes.c_void_p()
        status = lib.C.croft_function_call(function.pointer, tensors.array(),
                                           len(self.tensor_parameters), ctypes.byref(options),
                                           ctypes.byref(findings))
        check(status, findings, self.name)
        if waits:
            _cuda.wait(tensors.device[1], _tensors.LEGACY_STREAM)
        _arrays.meet_torch()
        Autograd.count_versions(tensors.written() if out is not None else tensors.changed())
        if others == self.named:
            self.learn(tensors, function)
        return self.result(tensors, out)

    def result(self, tensors: Tensors, out: Any) -> Any:
        if out is not None or self.outputs == 0:
            return out
        outputs = tensors.outputs or ()
        like = tensors.inputs[0] if tensors.inputs else None
        made = tuple(_arrays.as_kind_of(like, value) for value in outputs)
        return made[0] if self.outputs == 1 else made

    def learn(self, tensors: Tensors, function: Handle) -> None:
        """From now on tensors of this type and device are handed over unopened."""
        values = tensors.inputs
        if not values:
            return
        first = tensors.read_inputs[0]
        if first.device == tensors.device:
            _direct.learn(self, type(values[0]), (first.tensor.device_type, first.tensor.device_id),
                          function)
        if not _tensors.is_torch(type(values[0])):
            return
        objects = _arrays.objects_of(type(values[0]))
        if objects is not None:
            entry = (lib.PY.croft_function_call_objects, function.pointer, objects,
                     _arrays.grad_mode(), function)
            self.fast[type(values[0])] = self.known[values[0].get_device()] = entry

    def remember_shapes(self, tensors: Tensors, others: Named) -> None:
        values, outputs = tensors.inputs, tensors.outputs or ()
        if others == self.named and values and all(_tensors.is_torch(type(one)) for one in values):
            if len(self.shapes) >= SHAPES_LIMIT:
                self.shapes.clear()
            self.shapes[tuple(map(SHAPE, values))] = (
                _arrays.torch_empty(),
                [(tuple(one.shape), tuple(one.stride()), one.dtype) for one in outputs])

    def names_of(self, is_output: bool) -> list[str]:
        """The tensors that are written alone, or the others, in the order of the list."""
        return [one.name for one in self.tensor_parameters if one.is_read is not is_output]

    def in_order(self, tensors: list[Any], by_name: dict[str, Any]) -> list[Any]:
        """Inputs in the order of the list: those by position, then those by name."""
        names = self.names_of(is_output=False)
        for name in by_name:
            if name not in names:
                raise TypeError(f"{self.name}: the output `{name}` is given in `out`")
            if name in names[:len(tensors)]:
                raise TypeError(f"{self.name}: the tensor `{name}` is given by position and by "
                                "name")
        missing = [name for name in names[len(tensors):] if name not in by_name]
        if missing:
            raise TypeError(f"{self.name} takes as tensors: {', '.join(names)}; missing: "
                            f"{', '.join(missing)}")
        return tensors + [by_name[name] for name in names[len(tensors):]]

    def sorted(self, arguments: tuple[Any, ...],
               named: dict[str, Any]) -> tuple[list[Any], Named]:
        """Tensors among the arguments, and the others with their names, those of with_() too."""
        tensors = [one for one in arguments if not is_plain(one)]
        plain = [one for one in arguments if is_plain(one)]
        names = [one.name for one in self.parameters if one.kind != "tensor"]
        named = {self.own_name(name): value for name, value in named.items()}
        if len(plain) > len(names):
            raise TypeError(f"{self.name} takes {len(names)} arguments that are no tensors "
                            f"({', '.join(names) or 'none'}), {len(plain)} were given")
        if not plain and not named:
            return tensors, self.named
        others = {one[0]: one for one in self.named}
        by_name = {one.name: named[one.name] for one in self.tensor_parameters
                   if one.name in named}
        if by_name:
            tensors = self.in_order(tensors, by_name)
        for name, value in [*zip(names, plain), *named.items()]:
            if name not in by_name:
                others[name] = named_argument(name, value)
        return tensors, tuple(others.values())

    def own_name(self, name: str) -> str:
        """`out` of `out_`: parameters with a name that calls have themselves, or Python."""
        known = {one.name for one in self.parameters}
        return name[:-1] if name.endswith("_") and name not in known and name[:-1] in known \
            else name

    def count_error(self, count: int) -> TypeError:
        names = ", ".join(one.name for one in self.tensor_parameters if one.is_read)
        return TypeError(f"{self.name} takes as tensors: {names or 'none'}; {count} were given")

    def outputs_given(self, out: Any) -> tuple[Any, ...] | None:
        if self.outputs == 0:
            if out is not None:
                raise TypeError(f"{self.name} has no output that is written alone: `out` is None")
            return ()
        if out is None:
            return None
        outputs = tuple(out) if isinstance(out, (tuple, list)) else (out,)
        if len(outputs) != self.outputs:
            names = ", ".join(one.name for one in self.tensor_parameters if not one.is_read)
            raise TypeError(f"{self.name} has {self.outputs} outputs ({names}), `out` has "
                            f"{len(outputs)}")
        return outputs

    def function(self, device: tuple[int, int], named: Named) -> Handle:
        key = (device, named)
        with self.lock:
            handle = self.functions.get(key)
            if not handle:
                parent = self.program.on(device)
                options = lib.PrepareOptions(
                    size=ctypes.sizeof(lib.PrepareOptions), strict=self.options.strict,
                    plan=encoded_if(self.options.plan, "a plan"),
                    plan_set=encoded_if(self.options.set, "what is set of a plan"),
                    count_faults=self.options.count_faults)
                handle = obtain(lib.C.croft_function_create, parent.pointer,
                                argument_array(named), len(named), ctypes.byref(options),
                                free=lib.C.croft_function_free, parent=parent, what=self.name)
                if len(self.functions) >= FUNCTIONS_LIMIT:
                    self.functions.pop(next(iter(self.functions)))
                self.functions[key] = handle
            return handle

    def bind(self, /, *arguments: Any, out: Any = None, **named: Any) -> Bound:
        """The kernel with these tensors, which have to stay as they are; the outputs are the last
        arguments or `out`, else they are made (`.out`)."""
        given, others = self.sorted(arguments, named)
        if out is None and self.outputs and len(given) == len(self.tensor_parameters):
            inputs = [one for one, parameter in zip(given, self.tensor_parameters)
                      if parameter.is_read]
            out = tuple(one for one, parameter in zip(given, self.tensor_parameters)
                        if not parameter.is_read)
        elif len(given) == self.inputs:
            inputs = given
        else:
            raise self.count_error(len(given))
        return Bound(self, Tensors(self, inputs, self.outputs_given(out)), others)

    def with_(self, /, *, strict: bool | None = None, plan: str | os.PathLike[str] | None = None,
              set: str | None = None, count_faults: bool | None = None, **named: Any) -> Kernel:
        """The same text otherwise: a plan (its text, or a file), what is fixed of one, the strict
        mode, counted faults, or arguments by name, which calls may still give."""
        options = self.options
        if strict is not None:
            options = replace(options, strict=strict)
        if plan is not None:
            options = replace(options, plan=pathlib.Path(plan).read_text("utf-8", "surrogateescape")
                              if isinstance(plan, os.PathLike) else plan)
        if set is not None:
            options = replace(options, set=set)
        if count_faults is not None:
            options = replace(options, count_faults=count_faults)
        given = {self.own_name(name) for name in named}
        for one in self.tensor_parameters:
            if one.name in given:
                raise TypeError(f"{self.name}: with_() takes no tensors (`{one.name}`)")
        _, others = self.sorted((), named)
        return Kernel(self.program, options, others)

    def plan(self, /, *arguments: Any, out: Any = None, **named: Any) -> str:
        """The text of the plan for such tensors, as with_(plan=...) takes it."""
        return self.bind(*arguments, out=out, **named).plan

    def source(self, /, *arguments: Any, out: Any = None, **named: Any) -> str:
        """The program that runs on such tensors, as it was emitted."""
        return self.bind(*arguments, out=out, **named).source

    def forget(self) -> None:
        self.known.clear()
        self.fast.clear()
        _direct.forget_kernel(self)
        self.functions = {}
        self.lock = threading.RLock()


class Bound(_direct.BoundBase):
    """A kernel with tensors, ready to run: d() launches it on the current stream of their device
    (of CUDA) or returns when it is done."""
    own_type: type

    if TYPE_CHECKING:
        def __call__(self) -> None: ...

    def __init__(self, kernel: Kernel, tensors: Tensors, named: Named) -> None:
        _direct.begin_bound(self)
        self.kernel = kernel
        self.tensors = tensors
        self.named = named
        function = kernel.function(tensors.device, named)
        if tensors.outputs is None:
            tensors.make_outputs(function)
        self.out = kernel.result(tensors, None)
        values = tensors.inputs + (tensors.outputs or ())
        kind = next((type(one) for one in values if _tensors.is_torch(type(one))), None)
        self.objects = _arrays.objects_of(kind) or _arrays.plain_objects()
        self.launch = lib.PY.croft_launch_objects
        self.dispatch: Handle | None = None
        self.pointer: ctypes.c_void_p | None = None
        self.refused = any(getattr(one, "requires_grad", False) for one in values)
        _arrays.meet_torch()
        self.written = tensors.written()
        self.prepare()
        _handles.keepers.add(self)

    def __repr__(self) -> str:
        return f"<croft bound call of {self.kernel!r}>"

    def prepare(self) -> Handle:
        function = self.kernel.function(self.tensors.device, self.named)
        self.dispatch = obtain(lib.C.croft_function_prepare, function.pointer,
                               self.tensors.array(), len(self.kernel.tensor_parameters),
                               free=lib.C.croft_dispatch_free, parent=function,
                               what=self.kernel.name)
        if not self.refused:  # else every call looks at the grad mode first
            self.pointer = self.dispatch.pointer
        _direct.set_bound(self, self.pointer, self.objects, self.written)
        return self.dispatch

    def call_in_python(self) -> None:
        """A call, where _direct.py does not take it."""
        if self.launch(self.pointer, self.objects, None):
            self.call_again()
        if self.written:
            Autograd.count_versions(self.written)

    def call_again(self) -> None:
        """After a fork there is no dispatch; else this says what was wrong."""
        _arrays.refuse_grad(self.tensors.inputs + (self.tensors.outputs or ()))
        dispatch = self.dispatch or self.prepare()
        findings = ctypes.c_void_p()
        status = self.launch(dispatch.pointer, self.objects, ctypes.addressof(findings))
        check(status, findings, self.kernel.name)

    def faults(self) -> int:
        """Runs it, waits, and counts the gathers without `fill=` whose index was outside; of a
        kernel with_(count_faults=True)."""
        _arrays.refuse_grad(self.tensors.inputs + (self.tensors.outputs or ()))
        dispatch = self.dispatch or self.prepare()
        word, findings = ctypes.c_uint64(), ctypes.c_void_p()
        options = lib.LaunchOptions(size=ctypes.sizeof(lib.LaunchOptions),
                                    faults=ctypes.pointer(word))
        status = lib.C.croft_launch(dispatch.pointer, ctypes.byref(options),
                                    ctypes.byref(findings))
        check(status, findings, self.kernel.name)
        return word.value

    @property
    def plan(self) -> str:
        return self.text_of(lib.PY.croft_dispatch_plan, "plan")

    @property
    def source(self) -> str:
        return self.text_of(lib.PY.croft_dispatch_source, "source")

    def text_of(self, call: Any, what: str) -> str:
        text = call((self.dispatch or self.prepare()).pointer)
        if text is None:
            raise MisuseError("no-text", f"{self.kernel.name} has no {what} for these tensors")
        return str(text, "utf-8")

    def forget(self) -> None:
        self.dispatch = self.pointer = None
        _direct.set_bound(self, None, self.objects, ())

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a bound call is of memory of this process: pickle the kernel, bind again")


Kernel.own_type = Kernel  # subclasses may do anything with a call: theirs stay in Python
Bound.own_type = Bound
CALL_SIGNATURE = inspect.signature(Kernel.call_in_python.__get__(object()))


def encoded_if(text: str | None, what: str) -> bytes | None:
    return None if text is None else encoded(text, what)


def is_plain(value: Any) -> bool:
    """Not a tensor: a number, a text, a layout, an element type."""
    return isinstance(value, (numbers.Number, str, Layout, type)) or \
        _arrays.is_numpy(value, "generic") or _arrays.element_name(value) is not None


def kernel_again(text: bytes, source: str, kernel: str | None, options: Options,
                 named: Named) -> Kernel:
    """A kernel that was pickled or copied."""
    return Kernel(Program(text, source, kernel), options, named)


def compile(text: str | bytes, name: str | None = None, kernel: str | None = None) -> Kernel:
    """The kernel of a text; `name` stands for it in findings, `kernel` chooses one of several."""
    if isinstance(text, str) and text.endswith(".croft") and "\n" not in text:
        raise MisuseError("misuse", f"`{text}` is no text of a kernel", found="a path",
                          expected="what is in the file", hint="load() takes a path")
    return Kernel(Program(text, name or "<string>", kernel))


def load(path: str | bytes | os.PathLike[str], kernel: str | None = None) -> Kernel:
    """The kernel of a file."""
    with open(path, "rb") as file:
        return compile(file.read(), os.fsdecode(path), kernel)
