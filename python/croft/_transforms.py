"""Operators under torch.func: grad and jvp have to be refused before they take their wrapping off.

    torch.func.grad(lambda x: norm(x, w).sum())(x)        refused: requires-grad
    torch.func.grad(lambda x: (norm(c, w) * x).sum())(x)  fine: nothing asks for one of norm

A transform puts tensors into tensors of its own, calls the operator, and takes them out again below
autograd, so that the operator would see no derivative and the answer be 0. What is registered here
is called in between, and only there. Without a derivative it does what PyTorch does otherwise.
"""
from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

from . import _arrays
from ._errors import CroftError

FRONT, BACK = "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"
# What a transform includes or excludes while the operator is called in it.
KEYS = (FRONT, BACK, "FuncTorchGradWrapper", "FuncTorchBatched", "FuncTorchVmapMode",
        "AutogradFunctionality", "ADInplaceOrView")


@contextlib.contextmanager
def around(interpreter: Any) -> Iterator[None]:
    """Calls go to what is around a transform: the next one, or none."""
    import torch
    key = torch._C.DispatchKey
    with interpreter.lower():
        include = torch._C._dispatch_tls_local_include_set()
        exclude = torch._C._dispatch_tls_local_exclude_set()
        for name in KEYS:
            exclude = exclude.remove(getattr(key, name))
        another = torch._C._functorch.peek_interpreter_stack() is not None
        for name in (FRONT, BACK):
            include = (include.add if another else include.remove)(getattr(key, name))
        with torch._C._ForceDispatchKeyGuard(include, exclude):
            yield


def transformed_of(operator: Any) -> Callable[..., Any]:
    """What an operator does at the key BACK."""
    from torch._C import _functorch
    from torch._functorch import pyfunctorch

    def transformed(*values: Any, **named: Any) -> Any:
        interpreter = pyfunctorch.retrieve_current_functorch_interpreter()
        level, kind = interpreter.level(), interpreter.key()
        wraps = kind in (_functorch.TransformType.Grad, _functorch.TransformType.Jvp)
        if wraps:
            try:
                _arrays.refuse_grad(values)
            except CroftError as error:
                raise RuntimeError(str(error)) from error
            values = tuple(_functorch._unwrap_for_grad(value, level) for value in values)
        with around(interpreter):
            made = operator(*values, **named)
        if made is None or not wraps:
            return made
        several = made if isinstance(made, tuple) else (made,)
        wrapped = tuple(_functorch._wrap_for_grad(one, level) for one in several)
        return wrapped if isinstance(made, tuple) else wrapped[0]

    return transformed
