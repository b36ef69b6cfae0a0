"""Grouped accesses: what plans print, what thread level has, forced and mutated widths, and random
index arithmetic on random owners, on the simulator against the reference.

tier: check
builds: release
"""
import os
import random
import re
import sys

from command import SCRATCH, case, croft, finish

SEED = int(os.environ.get("CROFT_SEED", "1"))
SM = ("--machine", "sm_90")
TRANSPOSE = """kernel transpose16(source: in T[B, 16, 16], dest: out T[B, 16, 16],
                   L: layout = identity(256, slots=4), T: f32 | f16) {
    program b: B
    i = arange(256, L)
    dest[b, i % 16, i // 16] = source[b, i // 16, i % 16]
}
"""
ROWS = """kernel rows(x: in f32[R, 1009], y: out f32[R, 1009],
            L: layout = identity(1024, slots=4)) {
    program row: R
    i = arange(1009, L)
    t = x[row, i]
    y[row, i] = t * rsqrt(sum(t * t) / 1009.0 + 1e-5)
}
"""
STRIPED, ADJACENT = "L=identity(256, slots=4)", "L=bits(6, 7, 0, 1, 2, 3, 4, 5, slots=4)"
ROWS_ADJACENT = "L=bits(8, 9, 0, 1, 2, 3, 4, 5, 6, 7, slots=4)"
RAGGED = "mask=lane*4 + subgroup*128 + slot*1 < %"


def write(name, text):
    path = SCRATCH / name
    path.write_text(text)
    return path


def widths(path, *words):
    """By access: the width that the plan prints."""
    text = croft("plan", path, *words, *SM).text
    return {name: int(width) for name, width in re.findall(r"^access (\S+) +width (\d+) ", text,
                                                           re.MULTILINE)}


def accesses(path, *words):
    """The loads and stores of level thread, without their places."""
    text = croft("emit", path, *words, *SM, "--level", "thread").text
    body = text[text.index("\n{\n"):]
    return [re.sub(r" @\d+:\d+\+\d+$", "", line.strip())
            for line in body.splitlines() if re.search(r"\b(load|store) %", line)]


# ---- golden accesses ----
def check_transposes(path):
    for name, layout, expected in (
            ("striped", STRIPED,
             ["%3 = load %source[%b inside, lane/16*1 + subgroup*2 + slot*4 inside, "
              "lane % 16*1 inside] : f32(4)",
              "store %dest[%b inside, lane % 16*1 inside, "
              "lane/16*1 + subgroup*2 + slot*4 inside], %3 injective"]),
            ("adjacent", ADJACENT,
             ["%3 = load %source[%b inside, lane/4*1 + subgroup*8 inside, "
              "lane % 4*4 + slot*1 inside] width=4 : f32(4)",
              "store %dest[%b inside, lane % 4*4 + slot*1 inside, "
              "lane/4*1 + subgroup*8 inside], %3 injective"])):
        found = accesses(path, layout)
        case(f"transpose_{name}", found == expected, found)
    for dtype, layout, expected in (("f32", ADJACENT, 4), ("f16", ADJACENT, 4),
                                    ("f32", "L=bits(5,6,7,0,1,2,3,4, slots=8)", 4),
                                    ("f16", "L=bits(5,6,7,0,1,2,3,4, slots=8)", 8)):
        found = widths(path, layout, f"T={dtype}")
        case(f"width_of_{dtype}_{expected}_{layout}", found == {"source.0": expected, "dest.0": 1},
             found)


def check_rows(path):
    found = accesses(path, ROWS_ADJACENT)
    case("ragged_rows_in_fours",
         len(found) == 2 and all("width=4" in line and RAGGED in line for line in found), found)
    found = accesses(path)
    guarded = sum("mask" in line for line in found)
    case("striped_rows_alone", guarded == 2 and not any("width" in line for line in found), found)
    result = croft("run", path, "x=randn:3x1009", "y=/dev/null", *SM, "--target", "sim", "--check",
                   "--verify-passes", ROWS_ADJACENT)
    case("ragged_rows_compute", result.code == 0, result)


# ---- plans ----
def check_forced(path):
    plan = croft("plan", path, ROWS_ADJACENT, *SM).text
    words = ["x=randn:3x1009", *SM, "--target", "sim", "--verify-passes", ROWS_ADJACENT, "--plan"]
    bytes_of = {}
    for width in (1, 2, 4):
        edited = write(f"rows{width}.plan", plan.replace("width 4", f"width {width}"))
        output = SCRATCH / f"rows{width}.npy"
        result = croft("run", path, f"y={output}", *words, edited)
        case(f"width_{width}_is_obeyed", result.code == 0, result)
        bytes_of[width] = output.read_bytes() if result.code == 0 else None
    case("widths_change_no_bit", len(set(bytes_of.values())) == 1)
    for width in (3, 8, 16):
        edited = write(f"rows{width}.plan", plan.replace("width 4", f"width {width}", 1))
        result = croft("run", path, "y=/dev/null", *words, edited)
        case(f"width_{width}_is_refused",
             result.code == 3 and "[plan-width]" in str(result) and "up to width 4" in str(result),
             result)
    striped = croft("plan", path, *SM).text
    edited = write("striped.plan", striped.replace("width 1", "width 2", 1))
    result = croft("emit", path, *SM, "--plan", edited)
    case("nothing_is_possible", result.code == 3 and "expected: width 1" in str(result), result)


def check_mutated(path):
    """Level thread is looked at for itself."""
    text = croft("emit", path, ROWS_ADJACENT, *SM, "--level", "thread").text
    whole = croft("opt", "-p", "dead", write("rows.ir", text))
    case("thread_text_is_legal", whole.code == 0, whole)
    for name, slug, pattern, replacement in (
            ("wider", "access-width", "width=4", "width=8"),
            ("slots_apart", "access-width",
             r"(load .*)slot\*1 inside\] mask=\S+ \+ \S+ \+ slot\*1",
             r"\1slot*2 inside] mask=lane*4 + subgroup*128 + slot*1"),
            ("lanes_for_slots", "affine-digits",
             r"(load .*)lane\*4 \+ subgroup\*128 \+ slot\*1 inside",
             r"\1lane*1 + subgroup*32 + slot*256 inside")):
        mutated = re.sub(pattern, replacement, text, count=1)
        result = croft("opt", "-p", "dead", write("mutated.ir", mutated))
        case(f"mutated_{name}_is_refused",
             mutated != text and result.code == 3 and f"[{slug}]" in str(result), result)


# ---- random ----
def random_layout(dice, bits):
    threads = dice.choice([5, 6])
    order = list(range(bits))
    slots = bits - threads
    if dice.random() < 0.8:  # some slots are neighbours
        low = [threads + k for k in range(slots)]
        high = list(range(threads))
        dice.shuffle(high)
        order = low + high
        if dice.random() < 0.3:
            at = dice.randrange(len(high) + 1)
            order = high[:at] + low + high[at:]
    else:
        dice.shuffle(order)
    return f"bits({', '.join(map(str, order))}, slots={1 << slots})"


def random_kernel(dice, number):
    """A copy of 2^bits elements or fewer, by a tile of indices that is cut into two or three."""
    bits = dice.choice([7, 8])
    size, low = 1 << bits, dice.choice([1, 2, 3, 4])
    count = size if dice.random() < 0.6 else size - dice.randrange(1, size // 3)
    inner, outer = 1 << low, size >> low
    load = dice.choice([f"i // {inner}, i % {inner}", f"i % {outer}, i // {outer}",
                        f"i // {inner}, i % {inner}",
                        f"i // {inner}, (i + row * {inner}) % {inner}",
                        f"i >> {low}, i & {inner - 1}",
                        f"i // {inner}, {inner - 1} - i % {inner}"])
    shape = f"{outer}, {inner}"
    text = f"""kernel k{number}(x: in f32[R, {shape}], y: inout f32[R, 256]) {{
    program row: R
    i = arange({count}, {random_layout(dice, bits)})
    v = x[row, {load}]
    y[row, i] = v + 1.0
}}
"""
    return text, f"x=randn:3x{outer}x{inner}"


def check_random(dice, count):
    wide = 0
    for number in range(count):
        text, data = random_kernel(dice, number)
        path = write("random.croft", text)
        result = croft("run", path, data, "y=const:3x256:0,/dev/null", *SM, "--target", "sim",
                       "--check", "--verify-passes")
        case(f"random_{number}", result.code == 0, f"{result}\n{text}")
        wide += any(width > 1 for width in widths(path).values())
    case("random_kernels_have_groups", wide > count // 8, wide)


def main():
    transpose, rows = write("transpose.croft", TRANSPOSE), write("rows.croft", ROWS)
    check_transposes(transpose)
    check_rows(rows)
    check_forced(rows)
    check_mutated(rows)
    check_random(random.Random(SEED), 24)
    finish()


if __name__ == "__main__":
    sys.exit(main())
