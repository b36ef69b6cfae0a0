"""As much of thread IR text as says who owns a tile: the index vector of each store, evaluated for
every thread and slot.

    elements = thread_text.stored_elements(text, threads, {"y0": 4})    {"y0": threads x 4, ...}

Understands affine forms, iota, xor, add and constant; a store whose last index is anything else is
an error. Masks are left out: they say which of the positions write, not what these own. A tile that
is swept in pieces is stored by several ops, each with the slots that follow those of the one
before.
"""
import re

import numpy as np

LANES = 32
OP = re.compile(r"^ *%(\S+) = (iota|xor|add|constant) (.*?) : \w+(?:\((\d+)\))?", re.MULTILINE)
STORE = re.compile(r"^ *store %(\w+)\[.*?, ([^,\]]*?)(?: inside)?\], %(\S+)", re.MULTILINE)
RESULT = re.compile(r"^ *%(\S+) = .*? : \w+(?:\((\d+)\))?(?: |$)", re.MULTILINE)
TERM = re.compile(r"^(lane|subgroup|slot)(?:/(\d+))?(?: % (\d+))?\*(-?\d+)$")


def affine(text, threads, slots, values):
    thread, slot = np.arange(threads)[:, None], np.arange(slots)[None, :]
    number = {"lane": thread % LANES, "subgroup": thread // LANES, "slot": slot}
    total = np.zeros((threads, slots), int)
    for word in text.split(" + "):
        term = TERM.match(word)
        if not term:
            name = word.removeprefix("vector ").removeprefix("%")
            total = total + (values[name] if "%" in word else int(word))
            continue
        holder, divide, modulus, stride = term.groups()
        value = number[holder] // int(divide or 1)
        total = total + (value % int(modulus) if modulus else value) * int(stride)
    return total


def stored_elements(text, threads, slots_of):
    """`slots_of`: of each tensor's tile, for what is the same in all slots."""
    body = text[text.rindex("\n  }\n"):] if "\n  }\n" in text else text
    values = {}
    for name, opcode, operands, slots in OP.findall(body):
        if opcode == "iota":
            values[name] = affine(operands, threads, int(slots or 1), values)
        elif opcode == "constant":
            if re.fullmatch(r"-?\d+", operands):
                values[name] = int(operands)
        else:
            first, second = (word.lstrip("%") for word in operands.split(", "))
            if first in values and second in values:
                values[name] = values[first] ^ values[second] if opcode == "xor" else \
                    values[first] + values[second]
    slots_of_value = {name: int(slots) for name, slots in RESULT.findall(text) if slots}
    pieces = {}
    for tensor, index, value in STORE.findall(body):
        pieces.setdefault(tensor, []).append(
            (index, slots_of_value.get(value, slots_of[tensor])))
    stored = {}
    for tensor, parts in pieces.items():
        stored[tensor] = np.concatenate([affine(index, threads, slots, values)
                                         for index, slots in parts], axis=1)
    return stored


def mechanisms(text):
    """How many ops of each kind there are that move values."""
    return {word: len(re.findall(rf" = {word} ", text))
            for word in ("shuffle", "xorslot", "rename", "put", "get", "sync")}
