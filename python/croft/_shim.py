"""PyTorch's C interface in this process, for operators that it calls without Python in the way.

    found = table()                               a croft_torch; None: this PyTorch has it not
    function = Finder(kernel).operator()          an address; None: Python has to do it
    implement("mine", "rmsnorm.out", function)    torch_library_impl

Nearly all of it is PyTorch's stable interface (torch/csrc/stable/c/shim.h). That has no way to ask
whether a tensor requires grad, nor to say that one was written, so three functions of C++ are
called by the names that compilers give them. They are tried out before anything relies on them:
where an answer is wrong, or a name is missing, operators are implemented in Python.
"""
from __future__ import annotations

import ctypes
import threading
from typing import Any

from . import _handles, _tensors
from . import _library as lib
from ._errors import CroftError, check
from ._kernel import Kernel

ABI = 2 << 56 | 10 << 48  # torch_library_impl's: the calling convention of 2.10
NAMES = {"layout": "aoti_torch_get_layout", "rank": "aoti_torch_get_dim",
         "shape": "aoti_torch_get_sizes", "strides": "aoti_torch_get_strides",
         "dtype": "aoti_torch_get_dtype", "device_type": "aoti_torch_get_device_type",
         "device_index": "aoti_torch_get_device_index", "data": "aoti_torch_get_data_ptr",
         "create": "aoti_torch_empty_strided", "destroy": "aoti_torch_delete_tensor_object",
         "grad_mode": "aoti_torch_grad_mode_is_enabled", "check": "aoti_torch_check",
         "requires_grad": "_ZNK3c1010TensorImpl13requires_gradEv",
         "is_inference": "_ZN2at6native12is_inferenceERKNS_6TensorE",
         "count_version": "_ZN5torch8autograd4impl12bump_versionERKN2at6TensorE"}
STREAM = "aoti_torch_get_current_cuda_stream"  # of a PyTorch with CUDA
RELEASE = ("torch_delete_stable_ivalue", "_ZdlPv")  # 2.13 and later; operator delete(void *)
REGISTERING = ("aoti_torch_library_init_impl", "torch_library_impl")
NUMBERS = {"strided": "aoti_torch_layout_strided", "cpu_number": "aoti_torch_device_type_cpu",
           "cuda_number": "aoti_torch_device_type_cuda"}
DTYPES = ("float32", "bfloat16", "float16", "int64", "int32", "int8", "uint8", "bool", "float64",
          "int16", "uint16", "uint32", "uint64")

Find = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32,
                        ctypes.POINTER(lib.Argument), ctypes.c_int, ctypes.c_int,
                        ctypes.POINTER(ctypes.c_char_p))


class Shim:
    """What was found, once."""
    lock = threading.Lock()
    looked = False
    found: lib.Torch | None = None
    library: ctypes.CDLL
    kept: list[Any] = []


def address(library: ctypes.CDLL, name: str) -> int | None:
    function = getattr(library, name, None)
    return None if function is None else ctypes.cast(function, ctypes.c_void_p).value


def number(library: ctypes.CDLL, name: str) -> int | None:
    function = getattr(library, name, None)
    if function is None:
        return None
    function.restype = ctypes.c_int32
    return int(function())


def look() -> lib.Torch | None:
    import torch
    library = Shim.library = ctypes.CDLL(torch._C.__file__)  # and all that it links
    places = {member: address(library, name) for member, name in NAMES.items()}
    places["release"] = address(library, RELEASE[0]) or address(library, RELEASE[1])
    numbers = {member: number(library, name) for member, name in NUMBERS.items()}
    if None in places.values() or None in numbers.values() or not all(
            hasattr(library, name) for name in REGISTERING):
        return None
    dtypes = [lib.TorchDtype(found, *_tensors.TORCH_TYPES[name]) for name in DTYPES
              if (found := number(library, f"aoti_torch_dtype_{name}")) is not None]
    array = (lib.TorchDtype * len(dtypes))(*dtypes)
    made = lib.Torch(size=ctypes.sizeof(lib.Torch), stream=address(library, STREAM), dtypes=array,
                     dtype_count=len(dtypes), **places, **numbers)
    return made if answers_rightly(made) else None


def answers_rightly(made: lib.Torch) -> bool:
    """Whether the functions of C++ do what they are called for, on handles as the interface has
    them: pointers to what points to a tensor's implementation."""
    import torch

    def call(result: Any, place: int) -> Any:
        return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(place)

    requires_grad = call(ctypes.c_bool, made.requires_grad)
    is_inference = call(ctypes.c_bool, made.is_inference)
    count_version = call(None, made.count_version)
    with torch.inference_mode(False):
        plain, asking = torch.empty(1), torch.empty(1, requires_grad=True)
        handle = ctypes.c_void_p(plain._cdata)
        before = plain._version
        count_version(ctypes.addressof(handle))
        right = plain._version == before + 1 and not is_inference(ctypes.addressof(handle))
        right = right and requires_grad(asking._cdata) and not requires_grad(plain._cdata)
    with torch.inference_mode():
        inferred = torch.empty(1)
        handle = ctypes.c_void_p(inferred._cdata)
        return bool(right and is_inference(ctypes.addressof(handle)))


def table() -> lib.Torch | None:
    with Shim.lock:
        if not Shim.looked:
            Shim.found = look()
            Shim.looked = True
        return Shim.found


def implement(namespace: str, name: str, function: int) -> None:
    """Registers a function of libcroft for an operator that is defined, for every device."""
    library, handle = Shim.library, ctypes.c_void_p()
    failed = library.aoti_torch_library_init_impl(
        namespace.encode(), b"CompositeExplicitAutograd", b"croft", ctypes.c_uint32(0),
        ctypes.byref(handle)) or library.torch_library_impl(
        handle, name.encode(), ctypes.c_void_p(function), ctypes.c_uint64(ABI))
    if failed:
        raise RuntimeError(f"PyTorch does not take an implementation of {namespace}::{name}")
    Shim.kept.append(handle)  # never deleted: that would take the implementation back


class Finder:
    """Finds the functions that an operator calls, from whatever thread; stays with it for ever."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.kept: list[_handles.Handle] = []
        self.last: dict[int, Any] = {}  # by thread: what has to live until it asks again
        self.find_call = Find(self.find)
        self.pointer = ctypes.c_void_p()

    def find(self, _: Any, kind: int, index: int, arguments: Any, count: int, keep: int,
             why: Any) -> int | None:
        try:
            named = {one.name.decode(): one.integer if one.kind == lib.ARGUMENT_INTEGER
                     else one.real for one in arguments[:count]}
            function = self.kernel.function((kind, index), self.kernel.sorted((), named)[1])
        except BaseException as error:  # not through a caller in C
            text = str(error) if isinstance(error, CroftError) else repr(error)
            self.last[threading.get_ident()] = said = text.encode()
            why[0] = said
            return None
        if keep:
            self.kept.append(function)
        else:
            self.last[threading.get_ident()] = function
        return function.pointer.value

    def operator(self) -> int | None:
        """The address of a function for PyTorch; None: there is no more, or the kernel has numbers
        that its schema cannot say."""
        torch = table()
        if torch is None:
            return None
        source = lib.TorchSource(
            size=ctypes.sizeof(lib.TorchSource), torch=ctypes.pointer(torch),
            kernel=self.kernel.program.on((lib.ON_CPU, 0)).pointer,
            find=ctypes.cast(self.find_call, ctypes.c_void_p))
        findings = ctypes.c_void_p()
        status = lib.C.croft_torch_operator_create(ctypes.byref(source),
                                                   ctypes.byref(self.pointer),
                                                   ctypes.byref(findings))
        try:
            check(status, findings, self.kernel.name)
        except CroftError:
            if status in (lib.REJECTED, lib.OUT_OF_RESOURCES):
                return None
            raise
        Shim.kept.append(self)
        _handles.keepers.add(self)
        function: int = lib.PY.croft_torch_operator_function(self.pointer)
        return function

    def forget(self) -> None:
        lib.PY.croft_torch_operator_forget(self.pointer)
        self.kept.clear()
        self.last.clear()
