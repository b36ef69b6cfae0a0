"""Calls from the interpreter straight into libcroft, without a frame of Python and without ctypes.

    class Kernel(KernelBase)        k(x, out=y) is croft_python_call_kernel(k, {x, y}, 1, ("out",))
    learn(k, ...)                   from now on calls with such arrays are done there
    k.call_in_python(x, out=y)      what it calls for everything else

The bases are made here, at import, by the interpreter's own C interface: the package has no
compiled extension, and libcroft knows of Python but the addresses that it is given
(include/croft_python.h). Where the interpreter is another one, or has no lock, the bases are plain
classes and every call is `call_in_python`; nothing else is different.
"""
from __future__ import annotations

import ctypes
import sys
import types
from ctypes import POINTER, Structure, c_char_p, c_int, c_ssize_t, c_uint, c_void_p, py_object
from typing import TYPE_CHECKING, Any

from . import _arrays, _tensors
from . import _library as lib
from ._tensors import python

METHOD = "call_in_python"
BASE_TYPE, HAS_VECTORCALL = 1 << 10, 1 << 11
SLOT_CALL, SLOT_DOC, SLOT_MEMBERS, SLOT_GETSET, SLOT_FINALIZE = 50, 56, 72, 73, 80
MEMBER_SIZE, READ_ONLY = 19, 1  # Py_T_PYSSIZET, Py_READONLY
MODES = "_ZN2at4impl27torch_function_mode_enabledEv"
DISPATCH_MODES = "_ZN3c104impl20TorchDispatchModeTLS13any_modes_setEb"
WRAP = "_Z16THPVariable_WrapRKN2at10TensorBaseE"


class Slot(Structure):
    """PyType_Slot, and what follows likewise"""
    _fields_ = [("number", c_int), ("function", c_void_p)]


class Spec(Structure):
    _fields_ = [("name", c_char_p), ("basicsize", c_int), ("itemsize", c_int), ("flags", c_uint),
                ("slots", POINTER(Slot))]


class Member(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("offset", c_ssize_t), ("flags", c_int),
                ("doc", c_char_p)]


class GetSet(Structure):
    _fields_ = [("name", c_char_p), ("get", c_void_p), ("set", c_void_p), ("doc", c_char_p),
                ("closure", c_void_p)]


def address(name: str) -> int | None:
    function = getattr(python, name, None)
    return None if function is None else ctypes.cast(function, c_void_p).value


def for_ever(value: Any) -> int:
    """The address of an object that never goes, not even when the interpreter ends."""
    ctypes.pythonapi.Py_IncRef(py_object(value))
    return id(value)


FUNCTIONS = {"type": "PyObject_Type", "retain": "Py_IncRef", "release": "Py_DecRef",
             "error": "PyErr_Occurred", "error_matches": "PyErr_ExceptionMatches",
             "error_clear": "PyErr_Clear", "error_memory": "PyErr_NoMemory",
             "memory": "PyMem_Malloc", "memory_free": "PyMem_Free", "length": "PyTuple_Size",
             "item": "PyTuple_GetItem", "tuple": "PyTuple_New", "set_item": "PyTuple_SetItem",
             "look_up": "PyDict_GetItemWithError", "capsule_pointer": "PyCapsule_GetPointer",
             "number": "PyLong_FromLongLong", "pointer": "PyLong_AsVoidPtr",
             "call_method": "PyObject_VectorcallMethod"}
OTHERS = ("PyType_FromSpec", "PyType_GetSlot", "PyVectorcall_Call")


def look() -> lib.Python | None:
    """The interpreter's functions; None: it is not one whose calls can be taken here.
    PyType_GetSlot answers for all types from 3.10 on, and the objects of an interpreter without a
    lock have another head."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 10) or \
            object.__basicsize__ != lib.PYTHON_HEAD or "t" in getattr(sys, "abiflags", "t"):
        return None
    places = {member: address(name) for member, name in FUNCTIONS.items()}
    if None in places.values() or None in map(address, OTHERS):
        return None
    return lib.Python(size=ctypes.sizeof(lib.Python), none=for_ever(None), no=for_ever(False),
                      tuple_type=for_ever(tuple), exception=for_ever(Exception),
                      out=for_ever(sys.intern("out")), method=for_ever(sys.intern(METHOD)),
                      **places)


table = look()
if table is not None:
    for_ever(table)


def make_base(name: str, part: type[Structure], finalize: str) -> type:
    """A type whose objects have such a part behind their head, and whose calls go to what is
    there."""
    doc = ctypes.create_string_buffer(b"Calls go to libcroft.")
    members = (Member * 2)(Member(b"__vectorcalloffset__", MEMBER_SIZE, lib.PYTHON_HEAD, READ_ONLY))
    slots = (Slot * 5)(
        Slot(SLOT_CALL, address("PyVectorcall_Call")),
        Slot(SLOT_DOC, ctypes.addressof(doc)),
        Slot(SLOT_MEMBERS, ctypes.addressof(members)),
        Slot(SLOT_FINALIZE, ctypes.cast(getattr(lib.PY, finalize), c_void_p).value))
    spec = Spec(f"{__name__}.{name}".encode(), lib.PYTHON_HEAD + ctypes.sizeof(part), 0,
                BASE_TYPE | HAS_VECTORCALL, slots)
    for one in (doc, members, slots, spec):
        for_ever(one)
    make = ctypes.PYFUNCTYPE(py_object, c_void_p)(("PyType_FromSpec", python))
    made: type = make(ctypes.addressof(spec))
    return made


class PlainBase:
    """Where calls cannot be taken."""

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        return getattr(self, METHOD)(*arguments, **named)


if TYPE_CHECKING:
    class KernelBase:
        pass

    class BoundBase:
        pass
elif table is None:
    KernelBase = BoundBase = PlainBase
else:
    KernelBase = make_base("KernelBase", lib.PythonKernel, "croft_python_finalize_kernel")
    BoundBase = make_base("BoundBase", lib.PythonBound, "croft_python_finalize_bound")


# ---- arrays ----

def getter_of(kind: type, name: str) -> lib.PythonGetter | None:
    """What reads an attribute of a type that is written in C."""
    owner = next((one for one in kind.__mro__ if name in vars(one)), None)
    if owner is None or type(vars(owner)[name]) is not types.GetSetDescriptorType:
        return None
    find = ctypes.PYFUNCTYPE(c_void_p, py_object, c_int)(("PyType_GetSlot", python))
    rows = ctypes.cast(find(owner, SLOT_GETSET), POINTER(GetSet))
    index = 0
    while rows and rows[index].name:
        if rows[index].name == name.encode() and rows[index].get:
            return lib.PythonGetter(rows[index].get, rows[index].closure)
        index += 1
    return None


def arrays_of_torch() -> lib.PythonArrays | None:
    from . import _shim
    import torch
    shim, objects = _shim.table(), _arrays.objects_of(torch.Tensor)
    implementation = getter_of(torch.Tensor, "_cdata")
    names = vars(torch.autograd.forward_ad)
    if shim is None or objects is None or implementation is None or \
            type(names.get("_current_level")) is not int:
        return None
    modes = _shim.address(_shim.Shim.library, MODES)
    if modes is None:
        return None
    return lib.PythonArrays(
        size=ctypes.sizeof(lib.PythonArrays),
        types=(c_void_p * 2)(for_ever(torch.Tensor), for_ever(torch.nn.Parameter)),
        wrap=wrapper(torch), dispatch_modes=_shim.address(_shim.Shim.library, DISPATCH_MODES),
        objects=objects, torch=ctypes.pointer(shim), implementation=implementation, modes=modes,
        names=for_ever(names), level=for_ever(sys.intern("_current_level")), no_level=for_ever(-1))


def wrapper(torch: Any) -> int | None:
    """What makes an object of a tensor of PyTorch's, tried out on one; None: Python makes
    outputs."""
    from . import _shim
    wrap = _shim.address(_shim.Shim.library, WRAP)
    if wrap is None or _shim.address(_shim.Shim.library, DISPATCH_MODES) is None:
        return None
    tried = torch.empty(2, 3)
    handle = c_void_p(tried._cdata)
    found = ctypes.PYFUNCTYPE(py_object, c_void_p)(wrap)(ctypes.addressof(handle))
    return wrap if found is tried else None


def arrays_of_numpy() -> lib.PythonArrays | None:
    import numpy
    interface = getter_of(numpy.ndarray, "__array_struct__")
    if interface is None:
        return None
    dtypes = [lib.PythonDtype(for_ever(numpy.dtype(name)), *element)
              for element, (_, name) in _arrays.TYPES.items() if name != "bfloat16"]
    return lib.PythonArrays(size=ctypes.sizeof(lib.PythonArrays),
                            types=(c_void_p * 2)(for_ever(numpy.ndarray), None),
                            interface=interface, module=for_ever(numpy),
                            empty=for_ever(sys.intern("empty")),
                            dtypes=(lib.PythonDtype * len(dtypes))(*dtypes),
                            dtype_count=len(dtypes))


known: dict[type, lib.PythonArrays | None] = {}


def arrays_of(kind: type) -> lib.PythonArrays | None:
    """How arrays of exactly this type are read in calls; None: they are not."""
    if kind not in known:
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None and kind in (torch.Tensor, torch.nn.Parameter):
            made = arrays_of_torch()
            known[torch.Tensor] = known[torch.nn.Parameter] = made
        elif numpy is not None and kind is numpy.ndarray:
            made = known[kind] = arrays_of_numpy()
        else:
            return None
        if made is not None:
            for_ever(made)
    return known[kind]


# ---- objects ----

def begin_kernel(kernel: Any) -> None:
    """All calls are the method's at first."""
    if table is not None:
        part = lib.PythonKernel.from_address(id(kernel) + lib.PYTHON_HEAD)
        part.python = ctypes.pointer(table)
        part.call = ctypes.cast(lib.PY.croft_python_call_kernel, c_void_p)


def learn(kernel: Any, kind: type, device: tuple[int, int], function: Any) -> None:
    """From now on calls whose first argument is like this go to the function, which lives as long
    as the kernel; other arguments are of the same kind."""
    key = (kind, device)
    if table is None or key in kernel.learned or type(kernel) is not kernel.own_type:
        return
    arrays = arrays_of(kind)
    with kernel.lock:
        part = lib.PythonKernel.from_address(id(kernel) + lib.PYTHON_HEAD)
        count = part.entry_count
        if arrays is None or part.ended or key in kernel.learned or count == len(part.entries):
            return
        kernel.learned[key] = function
        entry = part.entries[count]
        entry.arrays = ctypes.pointer(arrays)
        entry.function = ctypes.addressof(function.pointer)  # NULL once it is freed
        entry.device_type, entry.device_id = device
        part.entry_count = count + 1


def forget_kernel(kernel: Any) -> None:
    kernel.learned.clear()
    if table is not None:
        lib.PythonKernel.from_address(id(kernel) + lib.PYTHON_HEAD).entry_count = 0


def begin_bound(bound: Any) -> None:
    if table is not None:
        part = lib.PythonBound.from_address(id(bound) + lib.PYTHON_HEAD)
        part.python = ctypes.pointer(table)
        part.call = ctypes.cast(lib.PY.croft_python_call_bound, c_void_p)


def set_bound(bound: Any, dispatch: c_void_p | None, objects: c_void_p,
              written: tuple[Any, ...]) -> None:
    """What its calls launch; None: they are the method's. `bound` keeps everything."""
    if table is None:
        return
    part = lib.PythonBound.from_address(id(bound) + lib.PYTHON_HEAD)
    part.dispatch = None
    if dispatch is None or part.ended or type(bound) is not bound.own_type:
        return
    if written:
        arrays = arrays_of(sys.modules["torch"].Tensor)
        if arrays is None:
            return
        part.arrays = ctypes.pointer(arrays)
    part.written = id(written) if written else None
    part.objects = objects
    part.dispatch = ctypes.addressof(dispatch)  # NULL once it is freed
