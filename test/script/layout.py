"""croft layout: reports against enumeration, pictures as XML, texts and files that are refused.

tier: check
builds: release asan
"""
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import xml.etree.ElementTree as ElementTree

import command
from command import case, croft

USAGE, REFUSED, SYSTEM = 2, 3, 4
PAGE = command.ROOT / "docs" / "layout.md"
FAULTS = command.ROOT / "src" / "layout" / "faults.def"
BYTES = {"f32": 4, "f16": 2, "i64": 8, "u8": 1}


def layout(*words, stdin=None):
    """Runs `croft layout`, with bytes on its standard input."""
    words = [command.CROFT, "layout", *map(str, words)]
    done = subprocess.run(words, cwd=command.ROOT, input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    return command.Result(words, done.returncode, done.stdout, done.stderr)


def report(*words):
    """The parsed JSON report; None when the command failed."""
    result = layout(*words, "--format", "json")
    return json.loads(result.out) if result.code in (0, 1) else None


# ---- the page ----
def check_page():
    """The page's examples print what it says, and its findings are those of the table."""
    text = PAGE.read_text(encoding="utf-8")
    count = 0
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, expected = part.split("\n", 1)
            words = shlex.split(line)
            result = croft(*words[1:])
            count += 1
            case(f"page_example_{count}", words[0] == "croft" and result.text == expected,
                 f"the page says:\n{expected}\nthe command:\n{result}")
    case("page_has_examples", count >= 8, count)
    table = dict(re.findall(r"^\| `([a-z-]+)` \| (.*) \|$", text, re.MULTILINE))
    faults = dict(re.findall(r'^FAULT\(\w+, "([^"]*)", "(.*)"\)$', FAULTS.read_text(),
                             re.MULTILINE))
    wrong = [slug for slug, doc in faults.items() if table.get(slug) != doc]
    case("page_lists_every_fault", faults and not wrong, wrong)


# ---- the definitions, enumerated ----
def identity(size, slots):
    threads = size // slots
    return [(i % threads, i // threads) for i in range(size)]


def bits(order, mask, slots):
    threads = len(order) - (slots.bit_length() - 1)
    owners = [None] * (1 << len(order))
    for position in range(1 << len(order)):
        index = mask ^ sum((position >> bit & 1) << l for l, bit in enumerate(order))
        owners[index] = (position & ((1 << threads) - 1), position >> threads)
    return owners


def gf2(columns, thread_bits):
    owners = [None] * (1 << len(columns))
    for position in range(1 << len(columns)):
        owners[apply(columns, position)] = (position & ((1 << thread_bits) - 1),
                                            position >> thread_bits)
    return owners


def blocked(size, workers, vector, shift=0):
    places = [i + shift for i in range(size)]
    return [(p // vector % workers, p // vector // workers * vector + p % vector) for p in places]


ONE_AXIS = {
    "identity(64, slots=2)": identity(64, 2),
    "identity(4096, slots=16)": identity(4096, 16),
    "identity(96, slots=3)": identity(96, 3),
    "bits(3, 4, 5, 0, 1, 2, slots=2)": bits([3, 4, 5, 0, 1, 2], 0, 2),
    "bits(6, 2, 5, 0, 7, 1, 3, 4, xor=77, slots=4)": bits([6, 2, 5, 0, 7, 1, 3, 4], 77, 4),
    "blocked_cyclic(1009, workers=32, vector=4)": blocked(1009, 32, 4),
    "blocked_cyclic(1009, workers=96, vector=4, shift=3)": blocked(1009, 96, 4, 3),
    "blocked_cyclic(8193, workers=256, vector=8)": blocked(8193, 256, 8),
    "(32,4):(4,1)": blocked(128, 32, 4),
    "((4,8),2):((8,1),32)": [(i // 8 % 4 + i % 8 * 4, i // 32) for i in range(64)],
    "register=[1, 2] lane=[4, 8, 16, 32, 64] warp=[128] block=[]": blocked(256, 64, 4),
    "gf2(lane 1 2 4 8 16 | slot 33)": [((i % 32) ^ (i // 32), i // 32) for i in range(64)],
}


def accesses(owners, slots, width):
    """Elements of each access: by subgroup of 32 threads and group of slots, those of a lane in a
    list."""
    by_position = {owner: element for element, owner in enumerate(owners)}
    threads = max(thread for thread, _ in owners) + 1
    for first in range(0, threads, 32):
        for slot in range(0, slots, width):
            lanes = [[by_position.get((first + lane, slot + k)) for k in range(width)]
                     for lane in range(min(32, threads - first))]
            yield [[e for e in lane if e is not None] for lane in lanes]


def pieces(access, element_bytes, piece):
    return len({e * element_bytes // piece for lane in access for e in lane})


def degree(access, element_bytes):
    """Words of the fullest bank, elements one by one; wide ones in halves of the subgroup."""
    together = 32 // max(1, element_bytes // 4)
    worst = 0
    for first in range(0, len(access), together):
        words = {e * element_bytes // max(4, element_bytes)
                 for lane in access[first:first + together] for e in lane[:1]}
        banks = [word % together for word in words]
        worst = max([worst] + [banks.count(bank) for bank in banks])
    return worst


def check_show():
    for number, (text, owners) in enumerate(ONE_AXIS.items()):
        element = list(BYTES)[number % len(BYTES)]
        width = 2 if number % 3 == 2 and element != "u8" else 1
        got = report("show", text, "--element", element, "--width", width)
        name = re.sub(r"[^a-z0-9]+", "_", text)
        if got is None:
            case(f"show_{name}", False, layout("show", text))
            continue
        listed = list(zip(got["owners"]["thread"], got["owners"]["slot"]))
        case(f"owners_{name}", listed == owners and got["owners"]["of"] == len(owners), listed[:40])
        every = [a for a in accesses(owners, got["layout"]["capacity"], width) if any(a)]
        said = got["access"]
        counts = {key: max(pieces(a, BYTES[element], piece) for a in every) for key, piece in
                  (("sectors", 32), ("half_lines", 64), ("lines", 128))}
        counts["accesses"] = len(every)
        counts["total_sectors"] = sum(pieces(a, BYTES[element], 32) for a in every)
        case(f"sectors_{name}", said["all_accesses"] and said["width"] == width
             and all(said[key] == value for key, value in counts.items()), f"{counts}\n{said}")
        scratch = report("show", text, "--element", element)["scratch"]
        worst = max(degree(a, BYTES[element])
                    for a in accesses(owners, got["layout"]["capacity"], 1))
        case(f"conflicts_{name}", scratch["conflicts"] == worst and scratch["all_accesses"],
             f"{worst}\n{scratch}")
        check_spellings(name, text, got["layout"])


def check_spellings(name, text, said):
    """Every spelling that is printed is read back as the same function."""
    spellings = {kind: spelling for kind, spelling in said["spellings"].items() if spelling}
    wrong = [layout("compare", text, spelling) for spelling in spellings.values()]
    wrong = [result for result in wrong if result.code != 0]
    case(f"spellings_{name}", len(spellings) >= 2 and not wrong, "\n".join(map(str, wrong)))


def check_two_axes():
    """Two axes: thread and slot of every element, rows beginning on lines of 128 bytes."""
    got = report("show", "digits(slot 2 | lane 4; lane 8 | slot 3, size=(7, 20))")
    owners = [((row // 2) + column % 8 * 4, row % 2 + column // 8 * 2)
              for row in range(7) for column in range(20)]
    case("two_axes", list(zip(got["owners"]["thread"], got["owners"]["slot"])) == owners
         and got["layout"]["size"] == [7, 20] and got["access"]["sectors"] == 4, got["access"])
    runtime = report("show", "digits(slot 4 | lane 8 | step *, size=*)")
    case("runtime_sizes_are_null", runtime["layout"]["size"] == [None]
         and runtime["layout"]["steps"] is None and runtime["owners"]["of"] is None
         and runtime["owners"]["shown"] == 32, runtime["layout"])
    blocks = layout("show", "digits(lane 2 | slot 2 | subgroup 2 | block 3)")
    case("threads_are_lanes_subgroups_blocks", "thread 11    21 23" in blocks.out
         and "lanes 2, subgroups 2, blocks 3" in blocks.out and " 7:0 " in blocks.out, blocks)
    huge = layout("show", "blocked_cyclic(9000000000000000000, workers=32, vector=4)")
    case("huge_sizes_are_not_counted", huge.code == 0 and "not counted" in huge.out
         and len(huge.out) < 20000, huge)
    big = layout("show", "identity(32768, slots=32)")
    case("big_tables_are_clipped", big.code == 0 and "rows more" in big.out
         and max(map(len, big.out.splitlines())) <= 130 and len(big.out) < 6000, big)


# ---- comparing ----
def check_compare():
    same = report("compare", "identity(64, slots=2)", "(32,2):(1,32)")
    case("equal", same["equal"] and same["first_difference"] is None, same)
    texts = [(a, b) for a in ONE_AXIS for b in ONE_AXIS
             if a < b and len(ONE_AXIS[a]) == len(ONE_AXIS[b])]
    for number, (a, b) in enumerate(texts):
        result = layout("compare", a, b, "--format", "json")
        if result.code == REFUSED:
            continue
        threads = max(t for t, _ in ONE_AXIS[a]) + 1
        maps = [{t + s * threads: e for e, (t, s) in enumerate(ONE_AXIS[x])} for x in (a, b)]
        first = min([p for p in set(maps[0]) | set(maps[1]) if maps[0].get(p) != maps[1].get(p)],
                    default=None)
        said = json.loads(result.out)["first_difference"]
        if first is None:
            case(f"compare_{number}", result.code == 0 and said is None, result)
            continue
        place = said["position"]
        found = place["lane"] + 32 * place["subgroup"] + threads * place["slot"]
        owned = [None if said[key] is None else said[key][0] for key in "ab"]
        case(f"compare_{number}", result.code == 1 and found == first
             and owned == [m.get(first) for m in maps], result)


# ---- converting ----
def apply(columns, number):
    """XOR of the columns of the bits that are set."""
    picked = [column for i, column in enumerate(columns) if number >> i & 1]
    return functools.reduce(lambda a, b: a ^ b, picked, 0)


def play_shuffle(steps, source, threads, slots):
    """What each (thread, slot) holds after the four steps; `source` is what it held before."""
    def rename(slot):
        return apply(steps["rename_columns"], slot) ^ steps["rename_constant"]

    def offset(slot):
        return apply(steps["offset_columns"], slot) ^ steps["offset_constant"]

    result = {}
    for thread in range(threads):
        for slot in range(slots):
            asked = slot ^ apply(steps["after"], thread)
            giver = apply(steps["thread_columns"], thread) ^ offset(asked)
            register = rename(asked) ^ apply(steps["before"], giver)
            result[thread, slot] = source[giver, register]
    return result


def check_swizzle(name, said, owners, slots):
    """A bijection on the indices; no bank is asked for two words by an access."""
    for which, side in zip(("store", "load"), owners):
        worst = max(degree([[apply(said["swizzle"], e) for e in lane] for lane in access], 4)
                    for access in accesses(side, slots, 1))
        case(f"swizzle_{which}_{name}", worst == said[f"{which}_conflicts"] == 1, worst)
    places = {apply(said["swizzle"], e) for e in range(len(owners[0]))}
    case(f"swizzle_is_a_bijection_{name}", places == set(range(len(owners[0]))), said["swizzle"])


CONVERSIONS = [
    ("identity(64, slots=2)", "identity(64, slots=2)", "forward"),
    ("bits(0, 1, 2, 3, 4, 5, 6, slots=4)", "bits(0, 1, 2, 3, 4, 6, 5, slots=4)", "rename"),
    ("identity(64, slots=2)", "bits(3, 4, 5, 0, 1, 2, slots=2)", "shuffle"),
    ("bits(1, 0, 2, 3, 4, xor=9)", "identity(32)", "shuffle"),
    ("bits(5, 6, 7, 0, 1, 2, 3, 4, xor=200, slots=8)", "bits(1, 7, 0, 2, 6, 3, 4, 5, slots=8)",
     "shuffle"),
    ("gf2(lane 1 2 4 8 16 | subgroup 96 64)", "gf2(lane 2 1 12 4 16 | subgroup 97 66)", "shuffle"),
    ("gf2(lane 3 2 4 8 16 | subgroup 32 | slot 64)",
     "gf2(lane 64 1 4 8 16 | subgroup 34 | slot 2)", "shuffle"),
    ("identity(256, slots=2)", "bits(6, 5, 4, 7, 3, 2, 1, 0, xor=3, slots=2)", "scratch"),
]


def owners_of(text):
    """(thread, slot) by element, from the text: the definition of `identity`, `bits`, `gf2`."""
    numbers = [int(n) for n in re.findall(r"(?<![=\w])\d+", text)]
    named = dict(re.findall(r"(\w+)=(\d+)", text))
    slots = int(named.get("slots", 1))
    if text.startswith("gf2"):
        return gf2(numbers, len(re.findall(r" \d+", text.split("slot")[0])))
    return identity(numbers[0], slots) if text.startswith("identity") else \
        bits(numbers, int(named.get("xor", 0)), slots)


def check_convert():
    for number, (a, b, kind) in enumerate(CONVERSIONS):
        got = report("convert", a, b)
        owners = [owners_of(a), owners_of(b)]
        held = [{owner: e for e, owner in enumerate(side)} for side in owners]
        threads, slots = got["source"]["threads"], got["source"]["capacity"]
        case(f"class_{number}_{kind}", got["class"] == kind, got["class"])
        columns, constant = got["owner_map"]["columns"], got["owner_map"]["constant"]
        mapped = {}
        for position in range(threads * slots):
            source = apply(columns, position) ^ constant
            mapped[position % threads, position // threads] = \
                held[0][source % threads, source // threads]
        case(f"owner_map_{number}", mapped == held[1], got["owner_map"])
        if kind == "scratch":
            case(f"no_steps_{number}", got["shuffle"] is None
                 and got["scratch"]["elements"] == len(owners[0]), got["scratch"])
        else:
            after = play_shuffle(got["shuffle"], held[0], threads, slots)
            case(f"four_steps_{number}", after == held[1], got["shuffle"])
            case(f"at_most_a_shuffle_a_slot_{number}", got["shuffle"]["shuffles"] <= slots,
                 got["shuffle"])
        check_swizzle(str(number), got["scratch"], owners, slots)
        case(f"prices_{number}", len(got["prices"]) >= 4 and all(
            (row["shuffles"] is None) == (kind == "scratch") for row in got["prices"]),
            got["prices"])
    one = report("convert", "identity(64)", "bits(1, 0, 2, 3, 4, 5)", "--machine", "sm_90,cpu-avx2")
    case("machines_are_chosen", [row["machine"] for row in one["prices"]] == ["sm_90", "cpu-avx2"],
         one["prices"])
    ragged = layout("convert", "identity(960, slots=10)",
                    "blocked_cyclic(960, workers=96, vector=2)")
    case("what_is_no_bit_layout_goes_through_scratch", ragged.code == 0
         and "scratch      960 elements" in ragged.out, ragged)


# ---- pictures ----
def check_pictures():
    svg = "{http://www.w3.org/2000/svg}"
    for text, cells, clipped in (("bits(3, 4, 5, 0, 1, 2, slots=2)", 64, False),
                                 ("blocked_cyclic(229, workers=32, vector=4, shift=3)", 229, False),
                                 ("digits(lane 8 | slot 4; lane 4, size=(30, 4))", 120, False),
                                 ("identity(32768, slots=32)", 1024, True)):
        result = layout("show", text, "--format", "svg")
        tree = ElementTree.fromstring(result.out)
        drawn = [group for group in tree.iter(f"{svg}g") if "cell" in group.get("class", "")]
        owner = drawn[-1].find(f"{svg}text").text
        names = re.sub(r"[^a-z0-9]+", "_", text)
        case(f"svg_{names}", len(drawn) == cells and ("shown: 32 of" in result.out) == clipped
             and re.fullmatch(r"\d+:\d+", owner) and len(result.out) < 500_000
             and "prefers-color-scheme:dark" in result.out, result.out[:400])
        frames = [box.get("class") for box in tree.iter(f"{svg}rect")]
        case(f"svg_frames_{names}", "touched" in frames, set(frames))
    result = layout("show", "identity(128, slots=4)", "--format", "svg")
    tree = ElementTree.fromstring(result.out)
    frames = [box.get("class") for box in tree.iter(f"{svg}rect")]
    case("svg_counts_sectors", frames.count("touched") == 4 and frames.count("sector") == 12,
         frames)
    accessed = [group.find(f"{svg}text").text for group in tree.iter(f"{svg}g")
                if "accessed" in group.get("class", "")]
    case("svg_marks_the_first_access", accessed == [f"{lane}:0" for lane in range(32)], accessed)
    banks = [group.find(f"{svg}text").text for group in tree.iter(f"{svg}g")
             if group.get("class") == "bank"]
    case("svg_counts_banks", banks == ["1"] * 32, banks)
    for words in (["show", "identity(64, slots=2)"],
                  ["compare", "identity(64, slots=2)", "bits(3, 4, 5, 0, 1, 2, slots=2)"],
                  ["convert", "identity(64, slots=2)", "bits(3, 4, 5, 0, 1, 2, slots=2)"]):
        result = layout(*words, "--format", "html")
        tree = ElementTree.fromstring(result.out)
        elsewhere = re.findall(r'(?:src|href)=|url\(|@import|<script', result.out)
        case(f"html_{words[0]}", tree.tag == "html" and tree.find(f".//{svg}svg") is not None
             and not elsewhere and result.out.startswith("<!DOCTYPE html>"), elsewhere)
    changed = layout("compare", "identity(64)", "bits(1, 0, 2, 3, 4, 5)", "--format", "svg").out
    case("svg_marks_what_changes", changed.count("differs\"") == 32, changed.count("differs\""))


# ---- what is refused ----
BAD = [
    ("", "layout-syntax", 1),
    ("hello", "layout-name", 1),
    ("bit(0, 1, 2)", "layout-name", 1),
    ("bits(0, 1, 2, 2, 4)", "layout-duplicate-bit", 15),
    ("bits(0, 1, 2, 9)", "layout-bijection", 15),
    ("bits(0, 1, 2, 3, 4, xor=77)", "layout-mask", 25),
    ("bits(0, 1, 2, 3, 4, slots=3)", "layout-slots", 27),
    ("bits(0, 1, 2, 3, 4, slots=64)", "layout-slots", 27),
    ("bits(0, 1, 2, slots=2, slots=2)", "layout-argument", 24),
    ("bits(0, 1, -2)", "layout-syntax", 12),
    ("bits(" + ", ".join(map(str, range(40))) + ")", "layout-limit", None),
    ("identity(100, slots=3)", "layout-slots", 21),
    ("identity(0)", "layout-size", 10),
    ("identity(33)", "layout-threads", 10),
    ("identity(99999999999999999999)", "layout-limit", 10),
    ("identity(64", "layout-syntax", 12),
    ("identity(64) and more", "layout-syntax", 14),
    ("blocked_cyclic(64, workers=33)", "layout-threads", 28),
    ("blocked_cyclic(64, workers=32, vector=2, shift=2)", "layout-shift", 48),
    ("blocked_cyclic(64)", "layout-argument", 18),
    ("digits(lane 8 @2 | slot 4)", "layout-stride", None),
    ("digits(lane 8 | slot 4, size=33)", "layout-size", 30),
    ("digits(lane 8 | slot 4, size=(4, 8))", "layout-length", None),
    ("digits(thread 8)", "layout-digits", 8),
    ("gf2(lane 1 2 8)", "layout-bijection", None),
    ("gf2(lane 1 2 | lane 4)", "layout-argument", None),
    ("(4,8):(1,3)", "layout-bijection", None),
    ("(4,8):(1,4", "layout-syntax", None),
    ("((4,8),2):(1,4)", "layout-length", None),
    ("register=[1, 2] lane=[1, 2, 4, 16]", "layout-bijection", None),
    ("lane=[1, 2, 4", "layout-syntax", None),
]


def check_refused():
    for number, (text, slug, column) in enumerate(BAD):
        result = layout("show", text)
        name = re.sub(r"[^a-z0-9]+", "_", text)[:40] or "empty"
        said = re.search(r"^layout:1:(\d+): error: .* \[([a-z-]+)\]$", result.err, re.MULTILINE)
        good = (result.code == REFUSED and said and said.group(2) == slug and result.out == ""
                and (column is None or int(said.group(1)) == column) and "^" in result.err)
        case(f"refused_{number}_{name}", good, f"wanted {slug} at {column}\n{result}")
        hint = re.search(r"^  hint: legal is, for one: (.*)$", result.err, re.MULTILINE)
        if hint:
            legal = layout("show", hint.group(1))
            case(f"neighbour_{number}_{name}", legal.code == 0, legal)
    hints = [layout("show", text).err.count("legal is") for text, _, _ in BAD[3:8]]
    case("near_layouts_are_proposed", hints == [1] * 5, hints)
    for verb in ("compare", "convert"):
        for name, b in (("size", "identity(128, slots=2)"), ("threads", "identity(64, slots=1)"),
                        ("axes", "digits(lane 8; lane 4 | slot 2)")):
            result = layout(verb, "identity(64, slots=2)", b)
            case(f"{verb}_of_other_{name}", result.code == REFUSED and "[layout-mismatch]"
                 in result.err and result.err.startswith("B:1:1:"), result)
    both = layout("compare", "identity(1", "bits(0, 0)")
    case("both_texts_are_reported", both.code == REFUSED and both.err.startswith("A:1:")
         and "\nB:1:" in both.err, both)


def check_files():
    path = command.SCRATCH / "a.layout"
    path.write_text("# no\n")
    result = layout("show", f"@{path}")
    case("file_is_named", result.code == REFUSED and f"{path}:1:1" in result.err, result)
    path.write_text("bits(3, 4, 5,\n     0, 1, 2,\n     slots=2)\n")
    result = layout("compare", f"@{path}", "-", stdin=b"(((8,4),2):((8,1),4))"[1:-1] + b"\n")
    case("file_and_standard_input", result.code == 0, result)
    path.write_text("bits(3, 4, 5,\n     0, 1, 1,\n     slots=2)\n")
    result = layout("show", f"@{path}")
    case("lines_are_counted", f"{path}:2:12" in result.err and "layout-duplicate-bit" in result.err,
         result)
    garbage = os.urandom(1 << 16)
    for name, content in (("nul", b"identity(64\0)"), ("nul_behind", b"identity(64)\0"),
                          ("utf8", "identity(６4)".encode()), ("broken_utf8", b"\xff\xfe\xc3("),
                          ("escape", b"\x1b[31midentity(64)"), ("random", garbage)):
        path.write_bytes(content)
        result = layout("show", f"@{path}")
        case(f"bytes_{name}", result.code == REFUSED and "error:" in result.err
             and "\x1b" not in result.err and "\0" not in result.err
             and len(result.err) < 5000, result)
    many = {"parentheses": b"(" * 10_000_000, "bits": b"bits(" + b"0," * 5_000_000,
            "spaces": b"identity(64)" + b" " * 10_000_000,
            "digits": b"digits(" + b"lane 2|" * 1_500_000,
            "random": garbage * 160, "number": b"identity(" + b"9" * 10_000_000}
    for name, content in many.items():
        path.write_bytes(content)
        result = layout("show", f"@{path}")
        case(f"ten_megabytes_of_{name}", result.code == REFUSED and len(result.err) < 5000, result)
    path.unlink()
    result = layout("show", f"@{path}")
    case("no_file", result.code == SYSTEM and "file-open" in result.err, result)
    result = layout("show", f"@{command.SCRATCH}")
    case("folder", result.code == SYSTEM and result.err, result)


def check_usage():
    good = "identity(64)"
    for name, words in (("nothing", []), ("verb", ["draw", good]), ("no_layout", ["show"]),
                        ("two_of_show", ["show", good, good]),
                        ("one_of_compare", ["compare", good]),
                        ("three", ["compare", good, good, good]),
                        ("stdin_twice", ["compare", "-", "-"]),
                        ("format", ["show", good, "--format", "png"]),
                        ("element", ["show", good, "--element", "f37"]),
                        ("width", ["show", good, "--width", "3"]),
                        ("wide", ["show", good, "--width", "8"]),
                        ("width_0", ["show", good, "--width", "0"]),
                        ("machine", ["convert", good, good, "--machine", "abacus"]),
                        ("machine_of_show", ["show", good, "--machine", "sm_90"])):
        result = layout(*words)
        case(f"usage_{name}", result.code == USAGE and result.err and not result.out, result)


def check_output():
    good = ["show", "identity(64)", "--format", "svg"]
    path = command.SCRATCH / "out.svg"
    result = layout(*good, "-o", path)
    case("output_file", result.code == 0 and not result.out
         and path.read_text() == layout(*good).out, result)
    path.write_text("precious")
    refused = layout("show", "identity(33)", "--format", "svg", "-o", path)
    case("refused_layouts_write_nothing", refused.code == REFUSED
         and path.read_text() == "precious", refused)
    full = layout(*good, "-o", "/dev/full")
    case("full_disk", full.code == SYSTEM and "file-write" in full.err, full)
    missing = layout(*good, "-o", command.SCRATCH / "none" / "out.svg")
    case("no_such_folder", missing.code == SYSTEM and missing.err, missing)
    left = [p.name for p in pathlib.Path(command.SCRATCH).iterdir() if p.name.endswith(".tmp")]
    case("no_temporary_files_are_left", not left, left)
    again = [layout(*good).out, layout(*good).out]
    case("same_bytes", again[0] == again[1])


def main():
    check_page()
    check_show()
    check_two_axes()
    check_compare()
    check_convert()
    check_pictures()
    check_refused()
    check_files()
    check_usage()
    check_output()
    command.finish()


if __name__ == "__main__":
    main()
