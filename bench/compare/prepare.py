"""Croft's programs of a run, compiled where there is no GPU: they are carried to one.

    compare.py --device cuda --tier gates --dtype f32,bf16 --prepare DIR      here
    compare.py --device cuda --tier gates ... --carry DIR --out ...          there

Every kernel is called as the run calls it, on a pretended driver that says it drives a GPU of
machine sm_90 and runs nothing (test/fake/fake_cuda.c), with the NVRTC of this machine. So plans,
variants and the second compilation of what spills are those of the library and of nobody else, and
its cache, which is DIR, has what it would have compiled. Arrays have addresses that nobody reads,
aligned as PyTorch aligns its own.

On the device machine a program that was carried is one whose file the cache has touched.
"""
import ctypes
import os
import pathlib
import shutil

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DRIVER = ROOT / "build" / "test" / "libfake_cuda.so"
FIRST_ADDRESS, ALIGNMENT = 1 << 40, 1 << 21
CUDA = (2, 0)  # DLPack's number of CUDA devices; the first one
UNUSED_S = 1   # when a carried program was last used: never


class Pretended:
    """An array on the pretended device, with shape and type of a tensor without memory."""
    made = []  # what capsules point to: until the process ends

    def __init__(self, tensor, address):
        self.tensor, self.address = tensor, address

    def __dlpack_device__(self):
        return CUDA

    def __dlpack__(self, **words):
        from croft import _library as lib
        from croft._tensors import ManagedVersioned
        rank, name = self.tensor.dim(), str(self.tensor.dtype)
        code = 4 if "bfloat" in name else 2 if "float" in name else 6 if "bool" in name \
            else 1 if "uint" in name else 0
        numbers = ctypes.c_int64 * rank
        shape, strides = numbers(*self.tensor.shape), numbers(*self.tensor.stride())
        managed = ManagedVersioned(major=1, minor=0, flags=0)
        managed.tensor = lib.Tensor(data=self.address, device_type=CUDA[0], device_id=CUDA[1],
                                    rank=rank, dtype_code=code,
                                    dtype_bits=8 * self.tensor.element_size(), dtype_lanes=1,
                                    shape=shape, strides=strides)
        self.made.append((managed, shape, strides))
        capsule = ctypes.pythonapi.PyCapsule_New
        capsule.restype = ctypes.py_object
        capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return capsule(ctypes.addressof(managed), b"dltensor_versioned", None)


def compile_case(croft, subject, case):
    """Has a case's kernel compiled, and kept; in a process with the environment of `settle`."""
    address, arrays = FIRST_ADDRESS, {}
    for name, tensor in subject.buffers(case, "meta").items():
        arrays[name] = Pretended(tensor, address)
        size = tensor.numel() * tensor.element_size()
        address += (size // ALIGNMENT + 2) * ALIGNMENT
    outs = subject.outputs(arrays)
    kernel = subject.made(croft, case)
    kernel(*subject.inputs(arrays), out=outs[0] if len(outs) == 1 else tuple(outs))


def settle(folder, driver=DRIVER):
    """Before Croft is imported: programs stay in `folder`, and the driver is pretended."""
    if not pathlib.Path(driver).exists():
        raise OSError(f"{driver} is not built: cmake -B build -DCROFT_TOOLS=ON")
    home = pathlib.Path(folder).resolve()
    (home / "croft").mkdir(parents=True, exist_ok=True, mode=0o700)
    os.environ.update(CROFT_CUDA_DRIVER=str(driver), XDG_CACHE_HOME=str(home), FAKE_CUDA="")


def programs_in(folder):
    return sorted(pathlib.Path(folder).rglob("*.program"))


def carry(source, target):
    """Copies programs into the cache `target`; the names of those that were not there before."""
    names = []
    for path in programs_in(source):
        copy = pathlib.Path(target) / path.name
        if not copy.exists():
            shutil.copyfile(path, copy)
            os.utime(copy, (UNUSED_S, UNUSED_S))
            names.append(path.name)
    return names


def used(target, names):
    """How many of the programs that were carried the cache has found since."""
    paths = [pathlib.Path(target) / name for name in names]
    return sum(path.exists() and path.stat().st_mtime != UNUSED_S for path in paths)
