"""The command of the package: plans, explanations and programs without arrays or a device.

    plan("softmax.croft", N=1009, R=64, machine="sm_90")["plan"]["text"]

Sizes, scalars, types and layouts are given by name as on the command line, and so are options, `_`
for `-`: machine="sm_90", set="w=256", strict=True. What has the name of an option is given with a
`_` behind it. docs/command.md has both, docs/schemas what comes back.
"""
from __future__ import annotations

import json
import os
import subprocess
from typing import Any

from . import _library as lib
from ._arrays import element_name
from ._errors import (CLASSES, CroftError, Finding, MisuseError, RejectedError, SystemFailedError,
                      rebuild)

__all__ = ["emit", "explain", "plan", "run_command"]

OPTIONS = {"kernel", "target", "machine", "plan", "set", "all", "model", "cost_model", "level",
           "assume", "strict", "count_faults", "print_after", "stop_after", "verify_passes",
           "check_passes"}
FAILURES: dict[int, type[CroftError]] = {2: MisuseError, 3: RejectedError, 4: SystemFailedError}


def words_of(named: dict[str, Any]) -> list[str]:
    words = []
    for name, value in named.items():
        if name not in OPTIONS:
            own = name[:-1] if name.endswith("_") and name[:-1] in OPTIONS else name
            words.append(f"{own}={element_name(value) or value}")
        elif value is True:
            words.append("--" + name.replace("_", "-"))
        elif value is not None and value is not False:
            words += ["--" + name.replace("_", "-"), str(value)]
    return words


def path_word(path: str | bytes | os.PathLike[str]) -> str:
    """A path that is no option and not the standard input, whatever its name."""
    word = os.fsdecode(path)
    return "./" + word if word.startswith("-") else word


def run_command(verb: str, *words: str) -> dict[str, Any]:
    """What a verb of the command answers with --json; CroftError where it refuses."""
    if any("\0" in word for word in words):
        raise RejectedError("nul-byte", "a word has a NUL character")
    done = subprocess.run([str(lib.command_path()), verb, *words, "--json"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise SystemFailedError("command", f"croft {verb} ended with {done.returncode}",
                                text=done.stderr.decode("utf-8", "replace")) from error
    if done.returncode == 0:
        return answer
    findings = tuple(Finding(one["slug"], one["message"], one["source"], one["line"] or 0,
                             one["column"] or 0, one["length"] or 0, one["found"],
                             one["expected"], one["hint"])
                     for one in answer.get("findings", []))
    kind = FAILURES.get(done.returncode, CroftError)
    if not findings:
        raise kind("command", f"croft {verb} ended with {done.returncode}",
                   text=done.stderr.decode("utf-8", "replace"))
    raise rebuild(kind, "\n".join(map(str, findings)), findings)


def plan(path: str | bytes | os.PathLike[str], /, **named: Any) -> dict[str, Any]:
    """How a kernel is mapped to a machine: the answer of `croft plan --json`."""
    return run_command("plan", path_word(path), *words_of(named))


def explain(path: str | bytes | os.PathLike[str], /, **named: Any) -> dict[str, Any]:
    """Who owns what, what moves, and at what price: the answer of `croft explain --json`."""
    return run_command("explain", path_word(path), *words_of(named))


def emit(path: str | bytes | os.PathLike[str], /, **named: Any) -> str:
    """The program for a target, or with `level` the IR, as text."""
    text: str = run_command("emit", path_word(path), *words_of(named))["text"]
    return text
