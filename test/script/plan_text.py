"""Plans as text: other digits for an axis, other widths of accesses.

    axis row  group *                     with_axis(plan, "row", "lane 4 | group *")
    axis N    slot 4 | lane 32 | step 8   with_axis(plan, "N", "slot 2 | lane 8 | step 64")
    keep t    registers                   in_arrays(plan)
    access x.0  width 4 policy default    with_widths(plan, 2)

Shared by the scripts that try plans which the planner did not choose.
"""
import re


def product(digits):
    """Elements that the digits tell apart, those of `step 8` too."""
    elements = 1
    for radix in re.findall(r"\d+", digits):
        elements *= int(radix)
    return elements


def slots_of_a_row(digits, width):
    """The least power of two of chunks that hold the row."""
    slots = 1
    while slots * product(digits) < width:
        slots *= 2
    return slots


def elements_axis(plan):
    """(name, digits) of the only axis that no groups count; None where there are more."""
    found = re.findall(r"^axis (\S+) +(?!.*\bgroup)(.*)$", plan, re.MULTILINE)
    return found[0] if len(found) == 1 else None


def program_axes(plan):
    return re.findall(r"^axis (\S+) +(?=.*\bgroup)", plan, re.MULTILINE)


def with_axis(plan, name, digits):
    return re.sub(rf"^axis {re.escape(name)} .*", f"axis {name}  {digits}", plan,
                  flags=re.MULTILINE)


def in_arrays(plan):
    """What waits in registers waits in private arrays: where an axis has steps."""
    return plan.replace(" registers", " private")


def with_row(plan, name, digits, width, before=0, keep_steps=False):
    """The axis with its row of `width` elements in steps, or in slots where the steps are few; it
    may begin up to `before` positions late. The digits that it got are part of the plan."""
    steps = -(-(width + before) // product(digits))
    if steps > 1 and (keep_steps or steps > 16):
        digits += f" | step {steps}"
        plan = in_arrays(plan)
    elif steps > 1:
        digits += f" | slot {slots_of_a_row(digits, width + before)}"
    return with_axis(plan, name, digits)


def with_widths(plan, width, most=False):
    """Every access of several elements as wide as this; `most`: no wider, whatever it has."""
    def narrow(old):
        return f"{old[1]}width {min(int(old[2]), width) if most else width}"
    pattern = r"^(access \S+ +)width " + (r"(\d+)" if most else r"(?!1\b)(\d+)")
    return re.sub(pattern, narrow, plan, flags=re.MULTILINE)


def neighbours(digits):
    """V: the first digit, where slots count it."""
    first = re.match(r"slot (\d+)", digits)
    return int(first[1]) if first else 1
