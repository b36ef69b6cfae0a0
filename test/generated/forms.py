#!/usr/bin/env python3
"""However a kernel is written, its plan is one, and its source too up to names.

    forms.py [--seed N] [--count K] [-j 2] [--croft build/croft] [--keep FOLDER]

tier: check check-long
builds: release

Every example and generated kernels (generate.py, row_kernels.py), for a cpu and for sm_90 with the
plan of the search: all identifiers renamed, independent statements in another order, parts of
expressions named, names written out where they are read (rewrite.py), and all of it at once. The
plan's hash must be the same, and the source, when names are matched one by one. Without --seed:
kernels of one fixed and of one fresh seed; the fresh one is CROFT_SEED.
"""
import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402
import rewrite  # noqa: E402
import row_kernels  # noqa: E402
import seeds  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
FIXED_SEED = 1
COUNTS = {"check": (8, 4), "check-long": (300, 100)}
EXAMPLE_ROUNDS = {"check": 3, "check-long": 30}
MACHINES = (("cpu-avx2", ["--model", "cpu"]), ("sm_90", []))
SHAPES = {"transpose8": [[]], "rmsnorm_register": [[]]}
WIDTHS = [["N=1009"], ["N=4096"], []]
TIME_LIMIT_S = 120
WAYS = {
    "renamed": (rewrite.rename,),
    "reordered": (rewrite.reorder,),
    "named": (rewrite.name_parts,),
    "written-out": (rewrite.write_out,),
    "all": (rewrite.name_parts, rewrite.write_out, rewrite.reorder, rewrite.rename),
}


def emit(croft, path, machine, words, arguments):
    """(status, source or message)"""
    done = subprocess.run([croft, "emit", str(path), "--machine", machine] + words + arguments,
                          capture_output=True, text=True, timeout=TIME_LIMIT_S)
    return done.returncode, done.stdout if done.returncode == 0 else done.stderr


def plan_hash(source):
    return re.search(r"/\* plan ([0-9a-f]+) \*/", source).group(1)


def tokens_of(source):
    source = re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)
    return re.findall(r"0x[\w.+]+|\d[\w.]*|\.?[A-Za-z_]\w*|\S", source)  # `.x`: a member


def functions_of(source):
    """The words of each function and declaration, and the names that all of them share."""
    parts, shared, braces, rounds = [[]], set(), 0, 0
    for word in tokens_of(source):
        braces += (word == "{") - (word == "}")
        rounds += (word == "(") - (word == ")")
        parts[-1].append(word)
        if braces == 0 and rounds == 0:
            shared.add(word)
            if word in ";}":
                parts.append([])
    return parts, {word for word in shared if not word.startswith("croft_")}


def first_difference(first, second):
    """Where the sources differ beyond names; None: nowhere. Each function has its own names."""
    parts, shared = functions_of(first)
    others, other_shared = functions_of(second)
    if shared != other_shared or len(parts) != len(others):
        return f"other functions: {sorted(shared ^ other_shared)}"
    for a, b in zip(parts, others):
        there, back = {}, {}
        for i, (one, other) in enumerate(zip(a + [""], b + [""])):
            name = rewrite.NAME.match(one) and rewrite.NAME.match(other)
            same = one == other if not name or {one, other} & shared else \
                there.setdefault(one, other) == other and back.setdefault(other, one) == one
            if not same:
                return f"{' '.join(a[max(i - 12, 0):i + 6])}\n{' '.join(b[max(i - 12, 0):i + 6])}"
    return None


def renamed_arguments(arguments, names):
    words = [word.partition("=") for word in arguments]
    return [names.get(name, name) + equals + value for name, equals, value in words]


def written(text, way, chance):
    """(the text written otherwise, {old: new} of its names)"""
    kernel, names = rewrite.parse(text), {}
    for step in WAYS[way]:
        names = step(kernel, chance) or names
    return rewrite.print_kernel(kernel), names


def difference(plain, other):
    """What is wrong with (status, source) of the other text; None: nothing."""
    if plain[0] or other[0]:
        return f"status {plain[0]} and {other[0]}\n{plain[1] if plain[0] else other[1]}"
    if plan_hash(plain[1]) != plan_hash(other[1]):
        return "another plan"
    found = first_difference(plain[1], other[1])
    return f"another source\n{found}" if found else None


def report(options, way, machine, what, text, other, arguments):
    if options.keep:
        stem = f"{options.keep}/{way}-{zlib.crc32(other.encode()):08x}"
        pathlib.Path(stem + ".plain.croft").write_text(text)
        pathlib.Path(stem + ".other.croft").write_text(other)
    print(f"{way} on {machine}: {what}\n{text}\nand\n{other}\n# {' '.join(arguments)}", flush=True)


def judge(options, item):
    """Whether something is wrong, which is printed."""
    name, text, arguments = item
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.croft"
        path.write_text(text)
        plain = {machine: emit(options.croft, path, machine, words, arguments)
                 for machine, words in MACHINES}
        for way in WAYS:
            other, names = written(text, way, random.Random(f"{name} {way}"))
            path.write_text(other)
            for machine, words in MACHINES:
                what = difference(plain[machine], emit(options.croft, path, machine, words,
                                                       renamed_arguments(arguments, names)))
                if what:
                    failed = True
                    report(options, way, machine, what, text, other, arguments)
    print(f"{'not ok' if failed else 'ok'} {name}", flush=True)
    return failed


def row_kernel(seed):
    return row_kernels.RowKernel(seed).kernel()


def items(options):
    """(name, text, arguments)"""
    tier = os.environ.get("TIER", "check")
    for path in sorted(EXAMPLES.glob("*.croft")) if options.seed is None else []:
        text = path.read_text()
        shapes = SHAPES.get(path.stem, WIDTHS)
        for i in range(EXAMPLE_ROUNDS[tier]):
            yield f"{path.stem}-{i}", text, shapes[i % len(shapes)]
    for seed in seeds.names(options, FIXED_SEED, COUNTS):
        make = generate.generate if int(seed.split(".")[1]) % 2 == 0 else row_kernel
        kernel = make(seed)
        arguments = kernel.arguments + [f"{name}={before}/dev/null"
                                        for name, before, _ in kernel.outputs]
        yield f"seed-{seed}", kernel.text, arguments


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--croft", default=os.environ.get("CROFT", str(ROOT / "build" / "croft")))
    parser.add_argument("--keep", help="a folder for the pairs that differ")
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        failed = sum(pool.map(lambda item: judge(options, item), items(options)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
