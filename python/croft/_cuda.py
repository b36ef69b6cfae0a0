"""Waiting for a stream of CUDA: for arrays of libraries that do not say which stream they are on.

Their memory is ready on the legacy default stream (DLPack's promise), the kernel is launched there,
and the call returns when it is done.
"""
from __future__ import annotations

import ctypes
import os

from ._errors import SystemFailedError

drivers: list[ctypes.CDLL] = []


def driver() -> ctypes.CDLL:
    if not drivers:
        drivers.append(ctypes.CDLL(os.environ.get("CROFT_CUDA_DRIVER") or "libcuda.so.1"))
    return drivers[0]


def wait(index: int, stream: int) -> None:
    """Until all that was put on a stream of the device's primary context is done."""
    cuda = driver()
    device, context, before = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p()
    failed: int = (cuda.cuDeviceGet(ctypes.byref(device), index) or
                   cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    if not failed:
        failed = cuda.cuCtxPushCurrent_v2(context)
        if not failed:
            failed = cuda.cuStreamSynchronize(ctypes.c_void_p(stream))
            cuda.cuCtxPopCurrent_v2(ctypes.byref(before))
        cuda.cuDevicePrimaryCtxRelease_v2(device)
    if failed:
        raise SystemFailedError("cuda", f"waiting for a stream of CUDA failed with error {failed}")
