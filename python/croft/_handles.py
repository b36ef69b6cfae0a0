"""Objects of the library, freed in the right order; contexts, one for each device.

A handle holds its parent, and counts its children, so that a dispatch ends before its kernel and
that before its context, whatever order Python forgets them in: the collector finishes objects of a
cycle parents first, as often as not. Nothing is freed by a process that ends (threads may still be
inside a call) nor by the child of a fork: the threads of a context stay with the parent, so the
child forgets every context without touching it, and makes new ones when it wants them.
"""
from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from typing import Any, Callable, Protocol

from . import _library as lib
from ._errors import check

DEVICES = {lib.ON_CPU: b"cpu", lib.ON_CUDA: b"cuda"}


class Lives:
    """Which handles may still be freed: those made since the process began, until it ends."""
    generation = 0
    ending = False
    counting = threading.RLock()  # one thread may collect while it counts


class Handle:
    """A pointer that the library gave, and the function that frees it. Its end makes the
    pointer NULL for all who have it, and itself false: a finalizer may bring back what has it."""
    __slots__ = ("pointer", "freed", "parent", "free", "generation", "lives", "__weakref__")

    def __init__(self, pointer: ctypes.c_void_p, free: Callable[[ctypes.c_void_p], object],
                 parent: Handle | None) -> None:
        self.pointer = self.freed = pointer
        self.free = free
        self.parent = parent
        self.generation = Lives.generation
        self.lives = 1  # its own, and those of its children
        if parent is not None:
            with Lives.counting:
                parent.lives += 1

    def __del__(self) -> None:
        self.freed = type(self.pointer)(self.pointer.value)
        self.pointer.value = None
        self.end_life()

    def __bool__(self) -> bool:
        return bool(self.pointer)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("what the library made cannot be copied or pickled")

    def end_life(self, lives: type[Lives] = Lives) -> None:
        """Its own or a child's; with the last one it is freed."""
        with lives.counting:
            self.lives -= 1
            if self.lives:
                return
        if not lives.ending and self.generation == lives.generation:
            self.free(self.freed)
        if self.parent is not None:
            self.parent.end_life()


def obtain(call: Callable[..., int], *arguments: Any, free: Callable[[ctypes.c_void_p], object],
           parent: Handle | None, what: str) -> Handle:
    """Calls what gives a handle and findings through its last two arguments."""
    pointer, findings = ctypes.c_void_p(), ctypes.c_void_p()
    status = call(*arguments, ctypes.byref(pointer), ctypes.byref(findings))
    check(status, findings, what)
    return Handle(pointer, free, parent)


contexts: dict[tuple[int, int], Handle] = {}
lock = threading.RLock()


def context(device: tuple[int, int]) -> Handle:
    """The context of a device (type, index), made when it is first wanted. CROFT_COMPILER, PATH,
    HOME and so on are read then."""
    with lock:
        found = contexts.get(device)
        if found is None:
            kind, index = device
            if kind not in DEVICES:
                from ._errors import RejectedError
                raise RejectedError("tensor-device", f"memory of device type {kind} (DLPack's "
                                    "number) is none that kernels run on",
                                    expected="the process (1, 3) or a CUDA device (2)")
            config = lib.Config(size=ctypes.sizeof(lib.Config))
            lib.PY.croft_config_from_environment(ctypes.byref(config))
            config.device = DEVICES[kind]
            config.device_index = index
            pointer, findings = ctypes.c_void_p(), ctypes.c_void_p()
            config.findings = ctypes.addressof(findings)
            major, minor, patch = map(int, lib.VERSION.split("."))
            status = lib.C.croft_context_create_for(major * 1000000 + minor * 1000 + patch,
                                                    ctypes.byref(config), ctypes.byref(pointer))
            check(status, findings, f"a context for {DEVICES[kind].decode()}:{index}")
            found = contexts[device] = Handle(pointer, lib.C.croft_context_free, None)
        return found


class Forgets(Protocol):
    """Who keeps handles has this called in the child of a fork."""

    def forget(self) -> None: ...


keepers: weakref.WeakSet[Any] = weakref.WeakSet()


def forget_all() -> None:
    global lock
    Lives.generation += 1
    Lives.counting = threading.RLock()
    lock = threading.RLock()
    contexts.clear()
    for keeper in list(keepers):
        keeper.forget()


def end() -> None:
    Lives.ending = True


atexit.register(end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget_all)
