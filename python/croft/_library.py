"""Finds libcroft, and says to ctypes what Python needs of croft.h, croft_torch.h and
croft_python.h.

The library is the one that `pip install` built into the package (croft/lib), else the one that
CROFT_LIBRARY names, else that of the checkout which this package lies in (build/). It has to be of
the version that this package is made for.

    C.croft_prepare(...)        the interpreter's other threads run meanwhile: what may take long
    PY.croft_layout_owner(...)  they do not: what returns at once, or is handed Python's objects

A structure here has the members of its namesake in a header, in the same order: a test compiles it.
"""
from __future__ import annotations

import ctypes
import os
import pathlib
from ctypes import (POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint8, c_uint16, c_uint64, c_void_p)

__all__ = ["C", "PY", "VERSION", "path", "command_path"]

VERSION = "0.1.0"
PACKAGE = pathlib.Path(__file__).resolve().parent

OK, REJECTED, MISUSE, OUT_OF_RESOURCES = 0, 1, 2, 7
ON_CPU, ON_CUDA, ON_CUDA_HOST = 1, 2, 3
ARGUMENT_INTEGER, ARGUMENT_REAL, ARGUMENT_TEXT = 1, 2, 3
PARAMETER_TENSOR = 0
OUTPUT_AXES = 8
LAYOUT_AXES = 4
PYTHON_HEAD, PYTHON_ENTRIES = 2 * ctypes.sizeof(c_void_p), 4


class Config(Structure):
    _fields_ = [("size", c_size_t), ("resize", c_void_p), ("resize_context", c_void_p),
                ("device", c_char_p), ("machine", c_char_p), ("threads", c_int),
                ("parallel_for", c_void_p), ("parallel_context", c_void_p),
                ("compiler", c_char_p), ("path", c_char_p), ("temporary_directory", c_char_p),
                ("cuda_driver", c_char_p), ("cuda_nvrtc", c_char_p), ("cache", c_char_p),
                ("cache_home", c_char_p), ("home", c_char_p), ("cache_bytes", c_int64),
                ("opencl_library", c_char_p), ("opencl_context", c_void_p),
                ("opencl_device", c_void_p), ("device_index", c_int), ("findings", c_void_p)]


class Source(Structure):
    _fields_ = [("size", c_size_t), ("text", c_char_p), ("length", c_size_t), ("name", c_char_p),
                ("kernel", c_char_p)]


class Diagnostic(Structure):
    _fields_ = [("size", c_size_t), ("slug", c_char_p), ("source", c_char_p), ("line", c_int),
                ("column", c_int), ("length", c_int), ("message", c_char_p), ("found", c_char_p),
                ("expected", c_char_p), ("hint", c_char_p)]


class Parameter(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("kind", c_int), ("is_read", c_int),
                ("is_written", c_int), ("dtype_code", c_uint8), ("dtype_bits", c_uint8)]


class Tensor(Structure):
    """DLPack's DLTensor too."""
    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32),
                ("rank", c_int32), ("dtype_code", c_uint8), ("dtype_bits", c_uint8),
                ("dtype_lanes", c_uint16), ("shape", POINTER(c_int64)),
                ("strides", POINTER(c_int64)), ("byte_offset", c_uint64)]


class Argument(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("tensor", POINTER(Tensor)),
                ("integer", c_int64), ("real", c_double), ("text", c_char_p)]


class PrepareOptions(Structure):
    _fields_ = [("size", c_size_t), ("strict", c_int), ("plan", c_char_p), ("plan_set", c_char_p),
                ("count_faults", c_int)]


class LaunchOptions(Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("stream", c_void_p),
                ("faults", POINTER(c_uint64))]


class CallOptions(Structure):
    _fields_ = [("size", c_size_t), ("stream", c_void_p)]


class Output(Structure):
    _fields_ = [("size", c_size_t), ("dtype_code", c_uint8), ("dtype_bits", c_uint8),
                ("rank", c_int32), ("shape", c_int64 * OUTPUT_AXES)]


class KernelCounts(Structure):
    _fields_ = [("size", c_size_t), ("compiled", c_int64), ("variants", c_int64),
                ("from_cache", c_int64)]


class Objects(Structure):
    _fields_ = [("size", c_size_t), ("length", c_void_p), ("item", c_void_p),
                ("tensor", c_void_p), ("stream", c_void_p), ("leave", c_void_p),
                ("enter", c_void_p)]


class TorchDtype(Structure):
    _fields_ = [("number", c_int32), ("code", c_uint8), ("bits", c_uint8)]


class Torch(Structure):
    """croft_torch.h, as are those around it"""
    _fields_ = [("size", c_size_t), *((name, c_void_p) for name in (
        "layout", "rank", "shape", "strides", "dtype", "device_type", "device_index", "data",
        "create", "destroy", "stream", "grad_mode", "requires_grad", "is_inference",
        "count_version", "release", "check")), ("strided", c_int32), ("cpu_number", c_int32),
        ("cuda_number", c_int32), ("dtype_count", c_int32), ("dtypes", POINTER(TorchDtype))]


class TorchSource(Structure):
    _fields_ = [("size", c_size_t), ("torch", POINTER(Torch)), ("kernel", c_void_p),
                ("find", c_void_p), ("context", c_void_p)]


class Python(Structure):
    """croft_python.h, as are those that follow"""
    _fields_ = [("size", c_size_t), *((name, c_void_p) for name in (
        "type", "retain", "release", "error", "error_matches", "error_clear", "error_memory",
        "memory", "memory_free", "length", "item", "tuple", "set_item", "look_up",
        "capsule_pointer", "number", "pointer", "call_method", "none", "no", "tuple_type",
        "exception", "out", "method"))]


class PythonGetter(Structure):
    _fields_ = [("get", c_void_p), ("closure", c_void_p)]


class PythonDtype(Structure):
    _fields_ = [("object", c_void_p), ("code", c_uint8), ("bits", c_uint8)]


class PythonArrays(Structure):
    _fields_ = [("size", c_size_t), ("types", c_void_p * 2), ("objects", c_void_p),
                ("interface", PythonGetter), ("torch", POINTER(Torch)),
                ("implementation", PythonGetter), ("modes", c_void_p), ("names", c_void_p),
                ("level", c_void_p), ("no_level", c_void_p), ("wrap", c_void_p),
                ("dispatch_modes", c_void_p), ("module", c_void_p), ("empty", c_void_p),
                ("dtypes", POINTER(PythonDtype)), ("dtype_count", c_int32)]


class PythonEntry(Structure):
    _fields_ = [("arrays", POINTER(PythonArrays)), ("function", c_void_p),
                ("device_type", c_int32), ("device_id", c_int32)]


class PythonKernel(Structure):
    _fields_ = [("call", c_void_p), ("python", POINTER(Python)), ("ended", c_int32),
                ("entry_count", c_int32), ("entries", PythonEntry * PYTHON_ENTRIES)]


class PythonBound(Structure):
    _fields_ = [("call", c_void_p), ("python", POINTER(Python)), ("ended", c_int32),
                ("dispatch", c_void_p), ("objects", c_void_p), ("written", c_void_p),
                ("arrays", POINTER(PythonArrays))]


class Position(Structure):
    _fields_ = [("slot", c_int64), ("step", c_int64), ("lane", c_int64), ("subgroup", c_int64),
                ("block", c_int64), ("group", c_int64)]


class LayoutExtents(Structure):
    _fields_ = [("size", c_size_t), ("rank", c_int), ("extent", c_int64 * LAYOUT_AXES),
                ("end", Position), ("replication", c_int64)]


TENSORS = POINTER(POINTER(Tensor))
FOUND = POINTER(c_void_p)  # croft_diagnostics **, and every other handle that a call gives
PROTOTYPES = {
    "croft_version": (c_char_p, []),
    "croft_status_name": (c_char_p, [c_int]),
    "croft_diagnostics_count": (c_int, [c_void_p]),
    "croft_diagnostics_at": (c_int, [c_void_p, c_int, POINTER(Diagnostic)]),
    "croft_diagnostics_text": (c_char_p, [c_void_p]),
    "croft_diagnostics_free": (None, [c_void_p]),
    "croft_config_from_environment": (None, [POINTER(Config)]),
    "croft_context_create_for": (c_int, [c_int, POINTER(Config), FOUND]),
    "croft_context_free": (None, [c_void_p]),
    "croft_compile": (c_int, [c_void_p, POINTER(Source), FOUND, FOUND]),
    "croft_kernel_free": (None, [c_void_p]),
    "croft_kernel_name": (c_char_p, [c_void_p]),
    "croft_kernel_parameter": (c_int, [c_void_p, c_int, POINTER(Parameter)]),
    "croft_kernel_count": (c_int, [c_void_p, POINTER(KernelCounts)]),
    "croft_function_create": (c_int, [c_void_p, POINTER(Argument), c_int, POINTER(PrepareOptions),
                                      FOUND, FOUND]),
    "croft_function_free": (None, [c_void_p]),
    "croft_function_outputs": (c_int, [c_void_p, TENSORS, c_int, POINTER(Output), FOUND]),
    "croft_function_prepare": (c_int, [c_void_p, TENSORS, c_int, FOUND, FOUND]),
    "croft_function_call": (c_int, [c_void_p, TENSORS, c_int, POINTER(CallOptions), FOUND]),
    "croft_function_call_objects": (c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]),
    "croft_launch_objects": (c_int, [c_void_p, c_void_p, c_void_p]),
    "croft_torch_operator_create": (c_int, [POINTER(TorchSource), FOUND, FOUND]),
    "croft_torch_operator_function": (c_void_p, [c_void_p]),
    "croft_torch_operator_forget": (None, [c_void_p]),
    "croft_python_call_kernel": (c_void_p, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "croft_python_call_bound": (c_void_p, [c_void_p, c_void_p, c_size_t, c_void_p]),
    "croft_python_finalize_kernel": (None, [c_void_p]),
    "croft_python_finalize_bound": (None, [c_void_p]),
    "croft_dispatch_plan": (c_char_p, [c_void_p]),
    "croft_dispatch_source": (c_char_p, [c_void_p]),
    "croft_dispatch_free": (None, [c_void_p]),
    "croft_launch": (c_int, [c_void_p, POINTER(LaunchOptions), FOUND]),
    "croft_layout_parse": (c_int, [c_void_p, c_char_p, FOUND, FOUND]),
    "croft_layout_free": (None, [c_void_p]),
    "croft_layout_print": (c_int, [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "croft_layout_measure": (c_int, [c_void_p, POINTER(LayoutExtents)]),
    "croft_layout_logical": (c_int, [c_void_p, POINTER(Position), POINTER(c_int64),
                                     POINTER(c_int)]),
    "croft_layout_owner": (c_int, [c_void_p, POINTER(c_int64), POINTER(Position)]),
    "croft_layout_equal": (c_int, [c_void_p, c_void_p]),
    "croft_layout_compose": (c_int, [c_void_p, c_void_p, FOUND, FOUND]),
    "croft_layout_classify": (c_int, [c_void_p, c_void_p, POINTER(c_int), FOUND]),
}


def find() -> pathlib.Path:
    """Where the library is; ImportError with all places that were looked at. None takes the place
    of one that is named."""
    places, named = [PACKAGE / "lib" / "libcroft.so"], os.environ.get("CROFT_LIBRARY")
    places.append(pathlib.Path(named or PACKAGE.parent.parent / "build" / "libcroft.so"))
    for place in places:
        if place.is_file():
            return place.absolute()
    raise ImportError("libcroft.so is not there: " + ", ".join(map(str, places)) +
                      " (`pip install .` builds it into the package, `make` into build/)")


def open_library(kind: type[ctypes.CDLL]) -> ctypes.CDLL:
    try:
        library = kind(str(path))
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded: {error}") from error
    for name, (result, arguments) in PROTOTYPES.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{path} has no {name}: it is another version than this package")
        function.restype = result
        function.argtypes = arguments
    found = library.croft_version().decode()
    if found != VERSION:
        raise ImportError(f"{path} is croft {found}, this package is for {VERSION}")
    return library


def command_path() -> pathlib.Path:
    """The command, in the package or beside the library."""
    places = [PACKAGE / "bin" / "croft", path.parent / "croft"]
    for place in places:
        if place.is_file():
            return place
    raise FileNotFoundError("the command croft is not there: " + ", ".join(map(str, places)))


path = find()
C = open_library(ctypes.CDLL)
PY = open_library(ctypes.PyDLL)
