"""Croft: numeric kernels from short texts, on arrays of NumPy, PyTorch and others (docs/python.md).

    k = croft.load("softmax.croft")
    y = k(x)
"""
from ._command import emit, explain, plan
from ._errors import (CompilerFailedError, CroftError, Finding, MisuseError, NoCompilerError,
                      NoDeviceError, OutOfMemoryError, OutOfResourcesError, RejectedError,
                      SystemFailedError)
from ._kernel import Bound, Kernel, Parameter, compile, load
from ._layout import Layout, Position
from ._library import VERSION as __version__
from ._torch import torch_operator

__all__ = ["Bound", "CompilerFailedError", "CroftError", "Finding", "Kernel", "Layout",
           "MisuseError", "NoCompilerError", "NoDeviceError", "OutOfMemoryError",
           "OutOfResourcesError", "Parameter", "Position", "RejectedError", "SystemFailedError",
           "compile", "emit", "explain", "load", "plan", "torch_operator", "__version__"]
