"""Arrays of other libraries as croft_tensor, not copied: what is read, and what keeps it alive.

    table      types with DLPack's exchange table (torch.Tensor): read by a C function of theirs
    torch      torch.Tensor without the table: data_ptr, shape, stride, dtype, device
    interface  __array_interface__ (NumPy, and bfloat16 of ml_dtypes)
    dlpack     __dlpack__, versioned first; the capsule is consumed, its deleter called at the end
    buffer     memoryview, bytes, array.array

The first of them that fits a type reads it, and is kept for that type.
"""
from __future__ import annotations

import ctypes
import sys
from ctypes import (POINTER, PYFUNCTYPE, Structure, c_char_p, c_int, c_int32, c_int64, c_ssize_t,
                    c_uint32, c_uint64, c_void_p, py_object)
from typing import Any, Callable

from . import _library as lib
from ._errors import RejectedError

INT, UINT, FLOAT, BFLOAT, BOOL = 0, 1, 2, 4, 6
KINDS = {"i": INT, "u": UINT, "f": FLOAT, "b": BOOL}

python = ctypes.PyDLL(None)


def python_function(name: str, result: Any, *arguments: Any) -> Any:
    return PYFUNCTYPE(result, *arguments)((name, python))


capsule_is = python_function("PyCapsule_IsValid", c_int, py_object, c_char_p)
capsule_pointer = python_function("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
capsule_rename = python_function("PyCapsule_SetName", c_int, py_object, c_char_p)


class Reading:
    """A tensor, what has to live as long as it is used, and whether it may be written."""
    __slots__ = ("tensor", "keep", "writable")

    def __init__(self, tensor: lib.Tensor, keep: Any, writable: bool = True) -> None:
        self.tensor = tensor
        self.keep = keep
        self.writable = writable

    @property
    def device(self) -> tuple[int, int]:
        kind: int = self.tensor.device_type
        if kind in (lib.ON_CPU, lib.ON_CUDA_HOST):
            return (lib.ON_CPU, 0)
        return (kind, self.tensor.device_id)


def unreadable(value: object, why: object) -> RejectedError:
    said = str(why).partition("\nException raised from")[0]  # PyTorch adds its stack
    return RejectedError("object", f"{type(value).__name__} cannot be read as a tensor: {said}",
                         found=type(value).__name__,
                         expected="a tensor of PyTorch, an array of NumPy, or anything with "
                                  "__dlpack__ or the buffer protocol",
                         hint="numpy.asarray makes an array of it"
                         if isinstance(value, (list, tuple)) else None)


def filled(data: int | None, code: int, bits: int, shape: tuple[int, ...],
           strides: tuple[int, ...] | None, device: tuple[int, int]) -> lib.Tensor:
    rank = len(shape)
    array = c_int64 * rank
    return lib.Tensor(data=data or None, device_type=device[0], device_id=device[1], rank=rank,
                      dtype_code=code, dtype_bits=bits, dtype_lanes=1, shape=array(*shape),
                      strides=None if strides is None else array(*strides))


# ---- DLPack's exchange table (dlpack.h, 1.2 and later) ----

class TableHeader(Structure):
    pass


TableHeader._fields_ = [("major", c_uint32), ("minor", c_uint32), ("older", POINTER(TableHeader))]


class Table(Structure):
    _fields_ = [("header", TableHeader), ("allocator", c_void_p), ("managed_from", c_void_p),
                ("managed_to", c_void_p), ("tensor", c_void_p), ("stream", c_void_p)]


def table_of(kind: type) -> Table | None:
    """The exchange table of a type, of the major version that is known here."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or not capsule_is(capsule, b"dlpack_exchange_api"):
        return None
    table = ctypes.cast(capsule_pointer(capsule, b"dlpack_exchange_api"), POINTER(Table))
    while table and table.contents.header.major > 1:
        table = ctypes.cast(table.contents.header.older, POINTER(Table))
    if not table or table.contents.header.major != 1 or not table.contents.tensor:
        return None
    return table.contents


def table_reader(table: Table) -> Callable[[Any], Reading]:
    read = PYFUNCTYPE(c_int, py_object, POINTER(lib.Tensor))(table.tensor)

    def reader(value: Any) -> Reading:
        tensor = lib.Tensor()
        try:
            read(value, ctypes.byref(tensor))
        except Exception as error:
            raise unreadable(value, error) from error
        return Reading(tensor, value)

    return reader


# ---- PyTorch without the table ----

TORCH_TYPES = {"bool": (BOOL, 8), "uint8": (UINT, 8), "int8": (INT, 8), "int16": (INT, 16),
               "int32": (INT, 32), "int64": (INT, 64), "uint16": (UINT, 16), "uint32": (UINT, 32),
               "uint64": (UINT, 64), "float16": (FLOAT, 16), "float32": (FLOAT, 32),
               "float64": (FLOAT, 64), "bfloat16": (BFLOAT, 16)}
TORCH_DEVICES = {"cpu": lib.ON_CPU, "cuda": lib.ON_CUDA}


def read_torch(value: Any) -> Reading:
    code = TORCH_TYPES.get(str(value.dtype).rpartition(".")[2])
    kind = TORCH_DEVICES.get(value.device.type)
    if code is None or kind is None or not str(value.layout).endswith("strided"):
        raise unreadable(value, f"{value.dtype}, {value.layout}, on {value.device}")
    try:
        data = value.data_ptr()
    except RuntimeError as error:
        raise unreadable(value, error) from error
    return Reading(filled(data, *code, tuple(value.shape), tuple(value.stride()),
                          (kind, value.device.index or 0)), value)


def as_it_lies(reader: Callable[[Any], Reading]) -> Callable[[Any], Reading]:
    """Refuses views of PyTorch whose memory has other numbers than they."""

    def checked(value: Any) -> Reading:
        for word in ("neg", "conj"):
            if getattr(value, f"is_{word}")():
                raise unreadable(value, "it is a view that is computed when it is read: give "
                                 f"x.resolve_{word}()")
        return reader(value)

    return checked


# ---- NumPy ----

INTEGER_LIMIT = 1 << 63


def read_interface(value: Any) -> Reading:
    try:
        return read_interface_of(value, value.__array_interface__)
    except RejectedError:
        raise
    except Exception as error:  # what NumPy would not have given
        raise unreadable(value, f"its __array_interface__ is none: {error!r}") from error


def read_masked(value: Any) -> Reading:
    raise unreadable(value, "it has a mask: give x.data or x.filled()")


def read_interface_of(value: Any, interface: dict[str, Any]) -> Reading:
    name = getattr(getattr(value, "dtype", None), "name", "")
    order, kind, size = interface["typestr"][0], interface["typestr"][1], interface["typestr"][2:]
    foreign = order == (">" if sys.byteorder == "little" else "<")
    code = BFLOAT if name == "bfloat16" else KINDS.get(kind)
    if code is None or foreign:
        raise unreadable(value, f"elements of type {name or interface['typestr']}"
                         + (", of the other byte order" if foreign else ""))
    if interface.get("mask") is not None:
        raise unreadable(value, "it has a mask")
    size = int(size)
    shape, strides = interface["shape"], interface.get("strides")
    if max(shape, default=0) >= INTEGER_LIMIT:
        raise unreadable(value, f"a shape of {shape}")
    if strides is not None:
        if any(stride % size for stride in strides):
            raise unreadable(value, f"strides of {strides} bytes are no elements of {size}")
        strides = tuple(stride // size for stride in strides)
    data, read_only = interface["data"]
    return Reading(filled(data, code, 8 * size, shape, strides, (lib.ON_CPU, 0)), value,
                   not read_only)


# ---- DLPack ----

class Managed(Structure):
    _fields_ = [("tensor", lib.Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class ManagedVersioned(Structure):
    _fields_ = [("major", c_uint32), ("minor", c_uint32), ("context", c_void_p),
                ("deleter", c_void_p), ("flags", c_uint64), ("tensor", lib.Tensor)]


CAPSULES: tuple[tuple[bytes, bytes, Any], ...] = (
    (b"dltensor_versioned", b"used_dltensor_versioned", ManagedVersioned),
    (b"dltensor", b"used_dltensor", Managed))
READ_ONLY, COPIED = 1, 2  # what is written into a copy is lost
# Whose arrays do not change, though their capsules do not say so.
IMMUTABLE = {"jax", "jaxlib", "tensorflow"}
LEGACY_STREAM = 1


class Owned:
    """A managed tensor whose deleter is called when this goes."""

    def __init__(self, pointer: int, kind: Any) -> None:
        self.pointer = pointer
        self.managed = kind.from_address(pointer)

    def __del__(self) -> None:
        if self.managed.deleter:
            PYFUNCTYPE(None, c_void_p)(self.managed.deleter)(self.pointer)


def capsule_from(value: Any) -> Any:
    """The capsule, versioned where the other side knows versions. Memory of a CUDA device is
    ready on the legacy default stream."""
    words: dict[str, Any] = {}
    if hasattr(value, "__dlpack_device__") and value.__dlpack_device__()[0] == lib.ON_CUDA:
        words["stream"] = LEGACY_STREAM
    try:
        return value.__dlpack__(max_version=(1, 1), **words)
    except TypeError:
        return value.__dlpack__(**words)


def read_dlpack(value: Any) -> Reading:
    try:
        capsule = capsule_from(value)
    except Exception as error:
        raise unreadable(value, error) from error
    for name, used, kind in CAPSULES:
        if capsule_is(capsule, name):
            owned = Owned(capsule_pointer(capsule, name), kind)
            capsule_rename(capsule, used)
            break
    else:
        raise unreadable(value, "__dlpack__ gave no capsule of a tensor, or a used one")
    managed = owned.managed
    if kind is ManagedVersioned and managed.major != 1:
        raise unreadable(value, f"its DLPack is version {managed.major}, not 1")
    if type(value).__module__.partition(".")[0] in IMMUTABLE:
        writable = False
    else:
        writable = kind is Managed or not managed.flags & (READ_ONLY | COPIED)
    return Reading(managed.tensor, (value, owned), writable)


# ---- the buffer protocol ----

class Buffer(Structure):
    """Py_buffer"""
    _fields_ = [("data", c_void_p), ("object", c_void_p), ("length", c_ssize_t),
                ("itemsize", c_ssize_t), ("read_only", c_int), ("rank", c_int),
                ("format", c_char_p), ("shape", POINTER(c_ssize_t)),
                ("strides", POINTER(c_ssize_t)), ("suboffsets", POINTER(c_ssize_t)),
                ("internal", c_void_p)]


buffer_get = python_function("PyObject_GetBuffer", c_int, py_object, POINTER(Buffer), c_int)
buffer_release = python_function("PyBuffer_Release", None, POINTER(Buffer))
FULL_READ_ONLY = 0x011C  # PyBUF_FULL_RO
FORMATS = {"b": INT, "h": INT, "i": INT, "l": INT, "q": INT, "n": INT, "B": UINT, "H": UINT,
           "I": UINT, "L": UINT, "Q": UINT, "N": UINT, "e": FLOAT, "f": FLOAT, "d": FLOAT,
           "?": BOOL}


class Held:
    """A buffer that is given back when this goes."""

    def __init__(self, value: Any) -> None:
        self.buffer = Buffer()
        self.held = False
        buffer_get(value, ctypes.byref(self.buffer), FULL_READ_ONLY)
        self.held = True

    def __del__(self) -> None:
        if self.held:
            buffer_release(ctypes.byref(self.buffer))


def read_buffer(value: Any) -> Reading:
    try:
        held = Held(value)
    except TypeError as error:
        raise unreadable(value, "it is none, and has none") from error
    except Exception as error:  # ValueError, where it was given back already
        raise unreadable(value, error) from error
    buffer = held.buffer
    letter = (buffer.format or b"B").decode().lstrip("@=" + ("<" if sys.byteorder == "little"
                                                              else ">"))
    shape = tuple(buffer.shape[:buffer.rank]) if buffer.shape else ()
    # Arrays of ctypes, which are dense, have none.
    steps = tuple(buffer.strides[:buffer.rank]) if buffer.strides else None
    if letter not in FORMATS or buffer.suboffsets or any(
            step % buffer.itemsize for step in steps or ()):
        raise unreadable(value, f"a buffer of format {letter}")
    strides = None if steps is None else tuple(step // buffer.itemsize for step in steps)
    return Reading(filled(buffer.data, FORMATS[letter], 8 * buffer.itemsize, shape, strides,
                          (lib.ON_CPU, 0)), held, not buffer.read_only)


# ---- which ----

def is_torch(kind: type) -> bool:
    """Whether this is torch.Tensor or made of it; PyTorch is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.Tensor)


def is_masked(kind: type) -> bool:
    """Whether this is an array of NumPy's with a mask, which its interface does not tell."""
    return any(base.__name__ == "MaskedArray" for base in kind.__mro__)


def reader_of(kind: type) -> Callable[[Any], Reading]:
    if hasattr(kind, "__array_interface__"):
        return read_masked if is_masked(kind) else read_interface
    table = table_of(kind)
    if is_torch(kind):
        return as_it_lies(read_torch if table is None else table_reader(table))
    if table is not None:
        return table_reader(table)
    if hasattr(kind, "__dlpack__"):
        return read_dlpack
    return read_buffer


readers: dict[type, Callable[[Any], Reading]] = {}


def read(value: Any) -> Reading:
    kind = type(value)
    reader = readers.get(kind)
    if reader is None:
        try:
            reader = readers[kind] = reader_of(kind)
        except Exception as error:  # of a class that answers nothing
            raise unreadable(value, error) from error
    return reader(value)
