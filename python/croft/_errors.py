"""What goes wrong, as exceptions: one class for each status of croft.h, with the finding in it.

    try:
        k(x, out=y)
    except croft.CroftError as error:
        error.slug, error.line, error.hint    # `stride-last`, 0, None
        print(error)                          # all findings with their source lines
"""
from __future__ import annotations

import ctypes
from dataclasses import dataclass

from . import _library as lib


@dataclass(frozen=True)
class Finding:
    """One of the things that are wrong. `line` and `column` count from 1; line 0: in no text."""
    slug: str
    message: str
    source: str | None = None
    line: int = 0
    column: int = 0
    length: int = 0
    found: str | None = None
    expected: str | None = None
    hint: str | None = None

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}:{self.column}: " if self.source and self.line else ""
        words = [f"{place}error: {self.message} [{self.slug}]"]
        for what in ("found", "expected", "hint"):
            said = getattr(self, what)
            if said is not None:
                words.append(f"  {what}: {said}")
        return "\n".join(words)


class CroftError(Exception):
    """What the library or the command refused, or failed to do. The members of its first finding
    are its own; `findings` has them all, `text` is what people read."""

    def __init__(self, slug: str, message: str, *, line: int = 0, column: int = 0,
                 found: str | None = None, expected: str | None = None, hint: str | None = None,
                 text: str = "", findings: tuple[Finding, ...] = ()) -> None:
        findings = findings or (Finding(slug, message, None, line, column, 0, found, expected,
                                        hint),)
        text = text or "\n".join(map(str, findings))
        super().__init__(text)
        self.slug = slug
        self.message = message
        self.line = line
        self.column = column
        self.found = found
        self.expected = expected
        self.hint = hint
        self.text = text
        self.findings = findings

    def __reduce__(self) -> tuple[object, ...]:
        return rebuild, (type(self), self.text, self.findings)


class RejectedError(CroftError, ValueError):
    """A kernel, an argument, a plan or a layout is not right."""


class MisuseError(CroftError, ValueError):
    """A call that cannot be meant."""


class OutOfMemoryError(CroftError, MemoryError):
    """There is not enough memory."""


class NoCompilerError(CroftError):
    """No C compiler was found, or it cannot be run."""


class CompilerFailedError(CroftError):
    """The compiler failed, or what it made cannot be loaded."""


class NoDeviceError(CroftError):
    """No driver, or no device behind it."""


class OutOfResourcesError(CroftError):
    """More threads, scratch or registers than the device has."""


class SystemFailedError(CroftError):
    """No usable temporary directory, no process, a failed write."""


CLASSES: tuple[type[CroftError], ...] = (
    CroftError, RejectedError, MisuseError, OutOfMemoryError, NoCompilerError, CompilerFailedError,
    NoDeviceError, OutOfResourcesError, SystemFailedError)


def rebuild(kind: type[CroftError], text: str, findings: tuple[Finding, ...]) -> CroftError:
    first = findings[0]
    return kind(first.slug, first.message, line=first.line, column=first.column, found=first.found,
                expected=first.expected, hint=first.hint, text=text, findings=findings)


def decoded(text: bytes | None) -> str | None:
    return None if text is None else text.decode("utf-8", "replace")


def encoded(text: object, what: str, errors: str = "strict") -> bytes:
    """A text for the library, where a NUL ends it."""
    if not isinstance(text, str):
        raise TypeError(f"{what} is a text, not {type(text).__name__}")
    try:
        found = text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise RejectedError("invalid-utf8", f"{what} has characters that UTF-8 has not",
                            found=repr(text)) from error
    if b"\0" in found:
        raise RejectedError("nul-byte", f"{what} has a NUL character", found=repr(text))
    return found


def findings_of(pointer: ctypes.c_void_p) -> tuple[Finding, ...]:
    found = []
    for index in range(lib.PY.croft_diagnostics_count(pointer)):
        one = lib.Diagnostic(size=ctypes.sizeof(lib.Diagnostic))
        if lib.PY.croft_diagnostics_at(pointer, index, ctypes.byref(one)) == lib.OK:
            found.append(Finding(decoded(one.slug) or "", decoded(one.message) or "",
                                 decoded(one.source), one.line, one.column, one.length,
                                 decoded(one.found), decoded(one.expected), decoded(one.hint)))
    return tuple(found)


def check(status: int, pointer: ctypes.c_void_p | None, what: str) -> None:
    """Frees the findings of a call, and raises what its status says. `what` was called for."""
    try:
        if status == lib.OK:
            return
        kind = CLASSES[status] if status < len(CLASSES) else CroftError
        findings = findings_of(pointer) if pointer is not None else ()
        if findings:
            text = lib.PY.croft_diagnostics_text(pointer).decode("utf-8", "replace")
            raise rebuild(kind, text.rstrip("\n"), findings)
        name = lib.PY.croft_status_name(status).decode()
        raise kind(name.replace(" ", "-"), f"{what}: {name}")
    finally:
        if pointer is not None and pointer.value:
            lib.PY.croft_diagnostics_free(pointer)
            pointer.value = None
