"""What differs between the libraries that arrays come from: new arrays, types, streams, gradients.

Neither PyTorch nor NumPy is imported before an array of theirs, or one that has to be made, asks
for it.
"""
from __future__ import annotations

import ctypes
import sys
from typing import Any, Callable, Iterable, Sequence

from . import _library as lib
from . import _tensors
from ._errors import RejectedError
from ._tensors import BFLOAT, BOOL, FLOAT, INT, UINT, python

# DLPack's (code, bits) -> names here, in NumPy and PyTorch
TYPES = {(FLOAT, 16): ("f16", "float16"), (FLOAT, 32): ("f32", "float32"),
         (FLOAT, 64): ("f64", "float64"), (BFLOAT, 16): ("bf16", "bfloat16"),
         (INT, 8): ("i8", "int8"), (INT, 16): ("i16", "int16"), (INT, 32): ("i32", "int32"),
         (INT, 64): ("i64", "int64"), (UINT, 8): ("u8", "uint8"), (UINT, 16): ("u16", "uint16"),
         (UINT, 32): ("u32", "uint32"), (UINT, 64): ("u64", "uint64"), (BOOL, 8): ("bool", "bool")}
ELEMENT_NAMES = {foreign: own for own, foreign in TYPES.values()}


def element_name(value: Any) -> str | None:
    """`f32` of numpy.float32, numpy.dtype("float32"), torch.float32; None of what is no type."""
    if isinstance(value, type):
        word = value.__name__.rstrip("_")  # numpy.bool_
    elif is_numpy(value, "dtype"):
        word = value.name
    elif type(value).__name__ == "dtype":  # torch.dtype
        word = str(value).rpartition(".")[2]
    else:
        return None
    return ELEMENT_NAMES.get(word)


def is_numpy(value: Any, kind: str) -> bool:
    """Whether this is a numpy.generic, say; NumPy is not imported for that."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, getattr(numpy, kind))


# ---- new arrays ----

def torch_empty() -> Callable[..., Any]:
    made: Callable[..., Any] = sys.modules["torch"].empty_strided
    return made


def numpy_type(name: str) -> Any:
    import numpy
    if name != "bfloat16":
        return numpy.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise RejectedError("no-array", "NumPy has no bfloat16 without the package ml_dtypes",
                            hint="give the output as `out`") from error
    return numpy.dtype(ml_dtypes.bfloat16)


def empty(like: Any, device: tuple[int, int], element: tuple[int, int],
          shape: tuple[int, ...]) -> Any:
    """A new array of the kind of `like` (None: NumPy's), on its device."""
    name = TYPES[element][1]
    if like is not None and _tensors.is_torch(type(like)):
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, name), device=like.device)
    if device[0] != lib.ON_CPU:
        raise RejectedError("no-array", f"a new array like {type(like).__name__} on a device "
                            "cannot be made here", hint="give the output as `out`")
    try:
        import numpy
    except ImportError as error:
        raise RejectedError("no-array", "an output that is made is an array of NumPy, which is not "
                            "installed", hint="install numpy, or give the output as `out`"
                            ) from error
    return numpy.empty(shape, numpy_type(name))


def as_kind_of(like: Any, made: Any) -> Any:
    """An array of NumPy as one of the library that `like` is from, where it takes it as it is."""
    if like is None or type(made).__module__ != "numpy" or not hasattr(like, "__array_namespace__"):
        return made
    namespace = like.__array_namespace__()
    if namespace.__name__.partition(".")[0] == "numpy" or not hasattr(namespace, "from_dlpack"):
        return made
    try:
        return namespace.from_dlpack(made)
    except (BufferError, TypeError, RuntimeError, ValueError):
        return made


# ---- gradients ----

def grad_mode() -> Callable[[], bool]:
    mode: Callable[[], bool] = sys.modules["torch"].is_grad_enabled
    return mode


def any_grad(values: tuple[Any, ...]) -> bool:
    for value in values:
        if value.requires_grad:
            return True
    return False


def refuse_grad(values: tuple[Any, ...], names: list[str] | None = None) -> None:
    """A kernel is not differentiated: in grad mode no tensor may ask for that, and none may have a
    tangent."""
    torch = sys.modules.get("torch")
    if torch is None:
        return
    reverse, level = torch.is_grad_enabled(), torch.autograd.forward_ad._current_level
    for number, value in enumerate(values):
        if not (reverse or level >= 0) or not isinstance(value, torch.Tensor):
            continue
        what = f"`{names[number]}`" if names else f"tensor {number}"
        if reverse and value.requires_grad:
            raise RejectedError("requires-grad", f"{what} requires grad, and kernels have no "
                                "derivative", found="requires_grad=True in grad mode",
                                hint="call it under torch.no_grad(), or with x.detach()")
        if level >= 0 and torch.autograd.forward_ad.unpack_dual(value).tangent is not None:
            raise RejectedError("requires-grad", f"{what} has a tangent, and kernels have no "
                                "derivative", found="a dual tensor of forward mode",
                                hint="give it its primal")


def count_nothing(values: Sequence[Any]) -> None:
    pass


class Autograd:
    """What is asked and told at every call with tensors of PyTorch, once one came: the level of
    forward mode, below 0 where there is none; that tensors were written, so that what was saved of
    them for a derivative is known to be gone."""
    forward: Any = None
    count_versions: Callable[[Sequence[Any]], object] = staticmethod(count_nothing)


def meet_torch() -> None:
    torch = sys.modules.get("torch")
    if torch is None or Autograd.forward is not None:
        return
    count: Any = getattr(torch._C, "_increment_version", count_nothing)
    try:
        count(())
        Autograd.count_versions = staticmethod(count)
    except TypeError:  # older ones take one tensor
        Autograd.count_versions = staticmethod(lambda values: [count(one) for one in values])
    Autograd.forward = torch.autograd.forward_ad


def of_torch(values: Iterable[Any]) -> tuple[Any, ...]:
    """Those whose versions are counted."""
    return tuple(one for one in values if _tensors.is_torch(type(one)))


# ---- streams ----

def torch_stream(index: int) -> int:
    torch = sys.modules["torch"]
    stream: int = torch.cuda.current_stream(index).cuda_stream
    return stream


def torch_stream_call(kind: int, index: int, stream: Any) -> int:
    """DLPackCurrentWorkStream where PyTorch has no table."""
    stream[0] = torch_stream(index) if kind == lib.ON_CUDA else None
    return 0


# ---- objects that the library reads itself ----

STREAM_CALL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32,
                                ctypes.POINTER(ctypes.c_void_p))
TENSOR_CALL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
stream_call = STREAM_CALL(torch_stream_call)
tensor_call = TENSOR_CALL(lambda value, tensor: -1)


def address(function: Any) -> int | None:
    return ctypes.cast(function, ctypes.c_void_p).value


def make_objects(tensor: int | None, stream: int | None) -> ctypes.c_void_p:
    """A croft_objects, which stays for the life of the process."""
    made = lib.Objects(size=ctypes.sizeof(lib.Objects), length=address(python.PyTuple_Size),
                       item=address(python.PyTuple_GetItem), tensor=tensor, stream=stream,
                       leave=address(python.PyEval_SaveThread),
                       enter=address(python.PyEval_RestoreThread))
    kept.append(made)
    return ctypes.c_void_p(ctypes.addressof(made))


kept: list[lib.Objects] = []
objects: dict[type, ctypes.c_void_p | None] = {}
plain: list[ctypes.c_void_p] = []


def objects_of(kind: type | None) -> ctypes.c_void_p | None:
    """How the library reads objects of a type; None where it cannot."""
    if kind is None:
        return None
    if kind not in objects:
        table = _tensors.table_of(kind)
        objects[kind] = None if table is None else make_objects(table.tensor, table.stream)
    return objects[kind]


def plain_objects() -> ctypes.c_void_p:
    """For launches of what is bound: nothing is read, and PyTorch is asked for its stream where it
    is there."""
    if not plain:
        plain.append(make_objects(address(tensor_call),
                                  address(stream_call) if "torch" in sys.modules else None))
    return plain[0]
