"""Makes a failing kernel smaller while it fails in the same way.

Lines are deleted (a loop or branch with its block, or only its braces), then parts of expressions
stand in for the whole: `(a + b)` becomes a or b, `f(a, b)` becomes a or b, `(a)` becomes a. What
the command refuses does not fail in the same way, so nothing here knows the language.
"""
import re

OPENERS, CLOSERS = "([", ")]"


def block_end(lines, start):
    """The line that closes the block opened by line `start`."""
    depth = 0
    for i in range(start, len(lines)):
        text = lines[i].strip()
        depth += text.endswith("{") - text.startswith("}")
        if depth == 0:
            return i
    return len(lines) - 1


def without_statements(text):
    """Smaller texts by whole statements, the largest cuts first."""
    lines = text.rstrip("\n").split("\n")
    for i in range(len(lines) - 2, 0, -1):
        line = lines[i].strip()
        if line.startswith("}"):
            continue
        if not line.endswith("{"):
            yield lines[:i] + lines[i + 1:]
            continue
        end = block_end(lines, i)
        middle = [k for k in range(i + 1, end) if lines[k].strip() == "} else {" and
                  block_end_else(lines, i) == k]
        closing = end
        if middle:
            closing = block_end(lines, middle[0])
            yield lines[:i] + lines[closing + 1:]
            yield lines[:i] + lines[i + 1:middle[0]] + lines[closing + 1:]
            yield lines[:i] + lines[middle[0] + 1:closing] + lines[closing + 1:]
            yield lines[:middle[0]] + lines[closing:]
        else:
            yield lines[:i] + lines[end + 1:]
            yield lines[:i] + lines[i + 1:end] + lines[end + 1:]


def block_end_else(lines, start):
    """The `} else {` of the `if` at `start`, or -1."""
    depth = 1
    for i in range(start + 1, len(lines)):
        text = lines[i].strip()
        if text == "} else {" and depth == 1:
            return i
        depth += text.endswith("{") - text.startswith("}")
        if depth == 0:
            return -1
    return -1


def closing(text, start):
    depth = 0
    for i in range(start, len(text)):
        depth += (text[i] in OPENERS) - (text[i] in CLOSERS)
        if depth == 0:
            return i
    return -1


def split_parts(text):
    """The operands at the top of an expression list."""
    parts, depth, last, i = [], 0, 0, 0
    marks = re.compile(r"(, | (?:[-+*/%&|^<>]|//|<<|>>|<=|>=|==|!=) )")
    while i < len(text):
        depth += (text[i] in OPENERS) - (text[i] in CLOSERS)
        found = marks.match(text, i) if depth == 0 else None
        if found:
            parts.append(text[last:i])
            last = i = found.end()
            continue
        i += 1
    parts.append(text[last:])
    return [re.sub(r"^\w+=", "", part.lstrip("-~")) for part in parts]


def with_smaller_expression(text):
    """Smaller texts by one expression each."""
    begin = text.index("{")
    for match in re.finditer(r"\w*\(", text):
        if match.start() < begin:
            continue
        end = closing(text, match.end() - 1)
        if end < 0:
            continue
        inner = text[match.end():end]
        after = end + 1
        index = re.match(r"(?:\[[:,0None ]*\])+", text[after:])
        parts = split_parts(inner)
        for part in parts:
            for tail in {after, after + (index.end() if index else 0)}:
                yield text[:match.start()] + part + text[tail:]
    for match in re.finditer(r"(?<== )(.*)$", text, re.MULTILINE):
        for part in split_parts(match.group(1)):
            yield text[:match.start()] + part + text[match.end():]


def without_parameters(text, arguments, outputs):
    """The parameters that the body does not name taken away."""
    begin, end = text.index("("), closing(text, text.index("("))
    parameters, body = text[begin + 1:end], text[end:]
    kept, dropped = [], set()
    pieces = re.split(r", (?=\w+: )", parameters)
    for piece in pieces:
        name = piece.split(":")[0]
        if re.search(rf"\b{name}\b", body) or any(
                other is not piece and re.search(rf"\b{name}\b", other) for other in pieces):
            kept.append(piece)
        else:
            dropped.add(name)
    smaller = text[:begin + 1] + ", ".join(kept) + text[end:]
    return (smaller, [a for a in arguments if a.split("=")[0] not in dropped],
            [o for o in outputs if o[0] not in dropped])


def shrink(text, arguments, outputs, fails, budget):
    """`fails(text, arguments, outputs)` tells whether it still fails in the same way; it is asked
    at most `budget` times. The smallest (text, arguments, outputs) found."""
    best = (text, list(arguments), list(outputs))
    asked = 0
    progress = True
    while progress and asked < budget:
        progress = False
        for make in (without_statements, with_smaller_expression):
            again = True
            while again and asked < budget:
                again = False
                seen = set()
                for candidate in make(best[0]):
                    smaller = "\n".join(candidate) + "\n" if isinstance(candidate, list) \
                        else candidate
                    if len(smaller) >= len(best[0]) or smaller in seen:
                        continue
                    seen.add(smaller)
                    tried = without_parameters(smaller, best[1], best[2])
                    asked += 1
                    if fails(*tried):
                        best, progress, again = tried, True, True
                        break
                    if asked >= budget:
                        break
    return best
