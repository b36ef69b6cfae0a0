"""Other plans for a kernel: the row plan with other digits, widths and storage.

    axis N  lane 16 | slot 4 | step 16     ->     axis N  lane 4 | slot 3 | step 84
    axis row  group *                      ->     axis row  lane 2 | subgroup 3 | group *
    keep e  output y.0                     ->     keep e  private

The extents of the axes are read off the fallback plan, which walks each alone. Many of these plans
are refused, and say so; those that are taken must give what every plan gives.
"""
import re

LANES = (1, 2, 4, 8, 16, 32)
SLOTS = (1, 2, 3, 4, 8)
STORAGES = ("registers", "private", "reload", "recompute")


def extents_of(fallback):
    """Anchor -> extent of the element axes, `*` where it is known at run time only."""
    return dict(re.findall(r"^axis (\S+) +step (\S+)$", fallback, re.MULTILINE))


def digits_of(extent, lanes, slots):
    parts = [f"lane {lanes}"] if lanes > 1 else []
    parts += [f"slot {slots}"] if slots > 1 else []
    if extent == "*":
        return " | ".join(parts + ["step *"])
    steps = -(-int(extent) // (lanes * slots))
    if steps > 1 or not parts:
        parts.append(f"step {max(steps, 1)}")
    return " | ".join(parts)


def shared_group(lanes, random):
    """Digits of programs that share the team with elements on so many lanes."""
    beside = random.choice([n for n in LANES if n * lanes <= 64])
    above = random.choice((1, 1, 2, 3))
    parts = [f"lane {beside}"] if beside > 1 else []
    parts += [f"subgroup {above}"] if above > 1 else []
    return " | ".join(parts + ["group *"])


def change_axes(lines, extents, random):
    """Lanes and slots on an axis by chance, widths that may go with them."""
    programs = [m.group(1) for m in (re.match(r"axis (\S+) .*group", line) for line in lines) if m]
    vector = random.choice(list(extents) * 4 + programs[-1:])
    lanes, slots = random.choice(LANES), random.choice(SLOTS)
    packs = vector in extents and random.random() < 0.3
    for i, line in enumerate(lines):
        axis = re.match(r"axis (\S+) +", line)
        if axis and axis.group(1) in extents:
            here = axis.group(1) == vector
            digits = digits_of(extents[axis.group(1)], lanes if here else 1, slots if here else 1)
            lines[i] = axis.group(0) + digits
        elif axis and axis.group(1) == vector:
            lines[i] = axis.group(0) + (f"lane {lanes} | group *" if lanes > 1 else "group *")
        elif axis and packs and axis.group(1) == programs[-1]:
            lines[i] = axis.group(0) + shared_group(lanes, random)
        width = re.match(r"(access \S+ +width) (\d+)", line)
        if width and (width.group(2) != "1" or random.random() < 0.1):
            wide = random.random() < 0.7
            lines[i] = f"{width.group(1)} {lanes if wide else 1}"


def change_keeps(lines, random):
    stores = re.findall(r"^access (\S+)", "\n".join(lines), re.MULTILINE)
    for i, line in enumerate(lines):
        keep = re.match(r"keep \S+ +", line)
        if keep and random.random() < 0.3:
            words = STORAGES + (("output " + random.choice(stores),) if stores else ())
            lines[i] = keep.group(0) + random.choice(words)


def with_axes(row, digits):
    """The plan's text with the digits by axis, and no wide accesses."""
    for name, text in digits.items():
        row = re.sub(rf"^(axis {re.escape(name)} +).*$", rf"\g<1>{text}", row, flags=re.MULTILINE)
    return re.sub(r"width \d+", "width 1", row)


def change(row, fallback, random):
    """Another plan's text."""
    lines = row.rstrip("\n").split("\n")
    extents = extents_of(fallback)
    if extents and random.random() < 0.8:
        change_axes(lines, extents, random)
    if random.random() < 0.6:
        change_keeps(lines, random)
    return "\n".join(lines) + "\n"
