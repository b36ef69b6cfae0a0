"""DLPack capsules made by hand, of any version, device and flags, which tell what became of them.

    foreign = Foreign(array, version=None, flags=1)
    foreign.asked     the arguments of each __dlpack__ call
    foreign.deleted   how often the deleter ran
"""
import ctypes
from ctypes import c_char_p, c_void_p, py_object

import package  # noqa: F401  (the path of the package)
from croft import _library as lib
from croft._tensors import Managed, ManagedVersioned

DELETER = ctypes.PYFUNCTYPE(None, c_void_p)
make = ctypes.pythonapi.PyCapsule_New
make.restype, make.argtypes = py_object, [c_void_p, c_char_p, c_void_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype, name_of.argtypes = c_char_p, [py_object]
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}


class Foreign:
    """An array of NumPy that is offered as `device`'s."""

    def __init__(self, values, version=(1, 0), flags=0, device=(1, 0), lanes=1, used=False,
                 knows_versions=True):
        self.values = values
        self.version = version
        self.flags = flags
        self.device = device
        self.lanes = lanes
        self.used = used
        self.knows_versions = knows_versions
        self.asked = []
        self.deleted = 0
        self.capsules = []
        self.deleter = DELETER(self.delete)

    def delete(self, pointer):
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **words):
        self.asked.append(words)
        if "max_version" in words and not self.knows_versions:
            raise TypeError("__dlpack__() got an unexpected keyword argument 'max_version'")
        rank = self.values.ndim
        shape = (ctypes.c_int64 * rank)(*self.values.shape)
        strides = (ctypes.c_int64 * rank)(*[one // self.values.itemsize
                                            for one in self.values.strides])
        tensor = lib.Tensor(data=self.values.ctypes.data, device_type=self.device[0],
                            device_id=self.device[1], rank=rank, dtype_code=2,
                            dtype_bits=8 * self.values.itemsize, dtype_lanes=self.lanes,
                            shape=shape, strides=strides)
        managed = Managed() if self.version is None else ManagedVersioned(
            major=self.version[0], minor=self.version[1], flags=self.flags)
        managed.tensor = tensor
        managed.deleter = ctypes.cast(self.deleter, c_void_p)
        name = b"used_dltensor" if self.used else NAMES[self.version is not None]
        capsule = make(ctypes.addressof(managed), name, None)
        self.capsules.append((capsule, managed, shape, strides, name))
        return capsule

    def names(self):
        return [name_of(capsule) for capsule, *_ in self.capsules]

    def renamed(self):
        return self.names() == [b"used_" + NAMES[self.version is not None]]
