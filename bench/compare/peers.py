"""The peer's forms of an operator: eager, and compiled with static shapes; and its reference.

A peer file defines make, EAGER, FUNCTION and OUTPUT as peer_rows.py does. `make` takes the sizes of
a case, type and device. FUNCTION's parameters are names of what it gives; `out` is what OUTPUT
names (one, or a tuple). A file may define more, as peer_transposes.py does:

    FURTHER = {"contiguous": {"transpose": lambda a: ...}}     arms beside EAGER, by their names
    EXACT = True                                               outputs have the same bits
    TENSORS_MOVED = {"sum": (1, 0)}                            whole tensors read and written, where
                                                               it is not as the kernel's head says
    def kernel_arguments(operator, dtype, axes): ...           what the kernel takes by name
"""
import importlib.util
import inspect
import pathlib
import types

import torch

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64,
          "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
          "i64": torch.int64, "bool": torch.bool}
MODES = {"compiled": None, "autotuned": "max-autotune-no-cudagraphs"}
ROWS = pathlib.Path(__file__).with_name("peer_rows.py")


def load(path=ROWS):
    """The module of a peer file."""
    spec = importlib.util.spec_from_file_location("peer_" + pathlib.Path(path).stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    missing = [name for name in ("make", "EAGER", "FUNCTION", "OUTPUT")
               if not hasattr(module, name)]
    if missing:
        raise AttributeError(f"{path} does not define {', '.join(missing)}")
    return module


def plain_forms(peer):
    """name -> the forms of an arm that are called as they are."""
    return {"eager": peer.EAGER, **getattr(peer, "FURTHER", {})}


def is_exact(peer):
    """Whether outputs are compared bit by bit."""
    return getattr(peer, "EXACT", False)


def kernel_arguments(peer, operator, case):
    """name -> layouts, constants and types that the kernel is called with."""
    function = getattr(peer, "kernel_arguments", None)
    return function(operator, case.dtype, case.axes) if function else {}


def names_of(peer, operator):
    """What the function to compile takes, without `out`."""
    names = list(inspect.signature(peer.FUNCTION[operator]).parameters)
    return [name for name in names if name != "out"]


def output_names(peer, operator):
    names = peer.OUTPUT[operator]
    return (names,) if isinstance(names, str) else tuple(names)


def outputs_of(peer, operator, buffers):
    found = tuple(buffers[name] for name in output_names(peer, operator))
    return found[0] if len(found) == 1 else found


def arguments_of(peer, operator, buffers):
    """All arguments of the function to compile, `out` where its parameters have it."""
    out = outputs_of(peer, operator, buffers)
    return [out if name == "out" else buffers[name]
            for name in inspect.signature(peer.FUNCTION[operator]).parameters]


def apart(function):
    """The same function with a code object of its own: what the compiler keeps hangs on that."""
    return types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__,
                              function.__defaults__, function.__closure__)


def compiled(peer, operator, mode):
    """The function, compiled for the shapes that come first and no others."""
    return torch.compile(apart(peer.FUNCTION[operator]), fullgraph=True, dynamic=False,
                         mode=MODES[mode])


def settle_compiler():
    """Settings that every process has: choices among variants are timed anew in the quiet of the
    measuring process, never taken from processes that compiled side by side."""
    import torch._inductor.config as inductor
    if hasattr(inductor, "autotune_local_cache"):
        inductor.autotune_local_cache = False


def reference(peer, operator, buffers):
    """The outputs in float64, or in their own types where bits are compared, from the same
    inputs."""
    from .outputs import widened
    exact = is_exact(peer)
    wide = {name: buffers[name] if exact else widened(buffers[name])
            for name in names_of(peer, operator)}
    outs = tuple(torch.empty(buffers[name].shape, device=buffers[name].device,
                             dtype=buffers[name].dtype if exact else torch.float64)
                 for name in output_names(peer, operator))
    wide["out"] = outs[0] if len(outs) == 1 else outs
    peer.FUNCTION[operator](*[wide[name] for name in
                              inspect.signature(peer.FUNCTION[operator]).parameters])
    return outs
