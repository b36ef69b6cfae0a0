"""Layouts: who owns each element of a tile (docs/layout.md).

    a = Layout("bits(3, 4, 5, 0, 1, 2, slots=2)")
    a.logical(lane=8)         0-based index that lane 8 owns in slot 0: (1,)
    a.owner(5)                Position(slot=1, lane=8)
    a.compose(b)              a(b(position))
    a.classify(b)             what a conversion takes: `shuffle`
"""
from __future__ import annotations

import ctypes
import operator
from typing import NamedTuple

from . import _handles
from . import _library as lib
from ._errors import RejectedError, check, encoded
from ._handles import Handle, obtain

__all__ = ["Layout", "Position"]

CLASSES = ("forward", "rename", "shuffle", "scratch", "cluster")


class Position(NamedTuple):
    """A number of each holder."""
    slot: int = 0
    step: int = 0
    lane: int = 0
    subgroup: int = 0
    block: int = 0
    group: int = 0


def number(value: int) -> int:
    """One that the library takes as it is."""
    found = operator.index(value)
    if not -2 ** 63 <= found < 2 ** 63:
        raise RejectedError("argument-range", "a number has more than 63 bits", found=str(found))
    return found


class Layout:
    """A map from positions to indices. It does not change."""

    def __init__(self, text: str) -> None:
        context = _handles.context((lib.ON_CPU, 0))
        self._handle = obtain(lib.C.croft_layout_parse, context.pointer,
                              encoded(text, "a layout"), free=lib.C.croft_layout_free,
                              parent=context, what="layout")
        self._measure()

    @classmethod
    def _of(cls, handle: Handle) -> Layout:
        layout = cls.__new__(cls)
        layout._handle = handle
        layout._measure()
        return layout

    def __reduce__(self) -> tuple[object, ...]:
        return Layout, (self.text(),)

    def _measure(self) -> None:
        found = lib.LayoutExtents(size=ctypes.sizeof(lib.LayoutExtents))
        check(lib.PY.croft_layout_measure(self._handle.pointer, ctypes.byref(found)), None,
              "layout")
        self.extents: tuple[int, ...] = tuple(found.extent[:found.rank])
        self.ends = Position(*(getattr(found.end, name) for name in Position._fields))
        self.replication: int = found.replication

    def text(self, spelling: str | None = None) -> str:
        """In a spelling: identity, bits, blocked_cyclic, digits, gf2, cute, triton; None: the
        shortest."""
        length = ctypes.c_size_t()
        word = None if spelling is None else encoded(spelling, "a spelling")
        status = lib.PY.croft_layout_print(self._handle.pointer, word, None, 0,
                                           ctypes.byref(length))
        check(status, None, f"the spelling {spelling}")
        room = ctypes.create_string_buffer(length.value + 1)
        lib.PY.croft_layout_print(self._handle.pointer, word, room, length.value + 1,
                                  ctypes.byref(length))
        return room.value.decode()

    def logical(self, slot: int = 0, step: int = 0, lane: int = 0, subgroup: int = 0,
                block: int = 0, group: int = 0) -> tuple[int, ...] | None:
        """The index that a position owns, one number for each axis; None where it owns nothing."""
        position = lib.Position(*map(number, (slot, step, lane, subgroup, block, group)))
        index, owns = (ctypes.c_int64 * lib.LAYOUT_AXES)(), ctypes.c_int()
        status = lib.PY.croft_layout_logical(self._handle.pointer, ctypes.byref(position), index,
                                             ctypes.byref(owns))
        check(status, None, "that position")
        return tuple(index[:len(self.extents)]) if owns.value else None

    def owner(self, *index: int) -> Position:
        """The position that owns an index, the first where several do."""
        if len(index) != len(self.extents):
            raise TypeError(f"{self} has {len(self.extents)} axes, {len(index)} numbers were given")
        position = lib.Position()
        status = lib.PY.croft_layout_owner(self._handle.pointer,
                                           (ctypes.c_int64 * lib.LAYOUT_AXES)(*map(number, index)),
                                           ctypes.byref(position))
        check(status, None, "that index")
        return Position(*(getattr(position, name) for name in Position._fields))

    def compose(self, inner: Layout) -> Layout:
        """This layout of the numbers of `inner`: self(inner(position))."""
        return Layout._of(obtain(lib.C.croft_layout_compose, self._handle.pointer,
                                 inner._handle.pointer, free=lib.C.croft_layout_free,
                                 parent=self._handle.parent, what="composition"))

    def classify(self, to: Layout) -> str:
        """What a conversion to another layout takes: forward, rename, shuffle, scratch or
        cluster."""
        found, findings = ctypes.c_int(), ctypes.c_void_p()
        status = lib.PY.croft_layout_classify(self._handle.pointer, to._handle.pointer,
                                              ctypes.byref(found), ctypes.byref(findings))
        check(status, findings, "conversion")
        return CLASSES[found.value]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        return bool(lib.PY.croft_layout_equal(self._handle.pointer, other._handle.pointer))

    def __hash__(self) -> int:
        return hash((self.extents, self.ends, self.replication))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"Layout({self.text()!r})"
