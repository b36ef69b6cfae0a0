#!/usr/bin/env python3
"""Random conversions between random owners, on the simulator, against enumeration.

    conversions.py [--seed N] [--count K] [-j 2] [--keep FOLDER]

tier: check check-long
builds: release

A kernel has a few chains; each loads a tile with one layout, changes its bits, and converts it one
to three times, with other users in between, for one of the element types:

    i0 = arange(N0, L00)
    a0 = x0[b, (i0 * 3 + 1) % N0]
    a1 = convert(-a0, L01)
    o1 = arange(N0, L01)
    y01[b, o1] = a1

Each kernel runs under the plan that was chosen and under plans whose conversions are forced
through scratch, or inside subgroups. What it stores is compared with NumPy bit by bit, and the
index vector of every store in the thread IR with what layouts.py says that each position owns.
Prints how many conversions went which way; without --seed those of a fixed seed and of CROFT_SEED.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "generated"))
import layouts  # noqa: E402
import seeds  # noqa: E402
import thread_text  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIXED_SEED = 1
COUNTS = {"check": (30, 15), "check-long": (1800, 200)}  # conversions
CONVERSIONS_OF_A_KERNEL = 10
MOST_SCRATCH_BYTES = 150 << 10
PROGRAMS = 2
# name -> (words of memory, bytes)
WORDS = {"f32": "<u4", "f16": "<u2", "bf16": "<u2", "i32": "<u4", "u32": "<u4", "i64": "<u8",
         "i8": "u1", "u8": "u1", "bool": "u1"}
FILE = {"f32": "<f4", "f16": "<f2", "bf16": "V2", "i32": "<i4", "u32": "<u4", "i64": "<i8",
        "i8": "i1", "u8": "u1", "bool": "?"}
EXPONENT = {"f32": 0x7f800000, "f16": 0x7c00, "bf16": 0x7f80}
THREADS = (32, 32, 64, 64, 96, 128, 128, 160, 256, 256, 512, 1024)


class Kernel:
    """`outputs`: name -> (dtype, expected words, layout)."""

    def __init__(self, threads):
        self.threads = threads
        self.parameters, self.lines, self.arguments = [], [], []
        self.inputs, self.outputs, self.conversions = {}, {}, 0

    def text(self):
        return (f"kernel conversions({', '.join(self.parameters)}) {{\n    program b: B\n" +
                "".join(f"    {line}\n" for line in self.lines) + "}\n")


def random_words(chance, dtype, shape):
    if dtype == "bool":
        return chance.integers(0, 2, shape).astype("u1")
    return chance.integers(0, 256, (*shape, np.dtype(WORDS[dtype]).itemsize), "u1") \
        .view(WORDS[dtype])[..., 0]


def changed(dtype, text, words):
    """The tile with other bits, exactly: a sign, or all bits of an integer."""
    if dtype == "bool":
        return f"({text} ^ true)", words ^ 1
    if dtype in EXPONENT:
        top = np.array(1 << (8 * words.itemsize - 1), words.dtype)
        return f"{dtype}(-{text})", words ^ top
    if dtype in ("i8", "u8"):  # these compute in i32
        return f"{dtype}({'255 -' if dtype == 'u8' else '-1 -'} {text})", ~words
    return f"(~{text})", ~words


def next_layout(chance, layout, threads, most):
    kind = chance.random()
    other = layouts.rearranged(chance, layout, threads) if kind < 0.45 else \
        layouts.slots_renamed(chance, layout, threads) if kind < 0.55 else None
    return other or layouts.random_layout(chance, threads, most)


def add_chain(kernel, chance, generator, number, scratch_left):
    """A load, conversions, stores. Returns the bytes of scratch that they may need."""
    dtype = chance.choice(list(WORDS))
    size_of = np.dtype(WORDS[dtype]).itemsize
    most = max(kernel.threads, min(chance.choice((256, 1024, 1024, 4096)), scratch_left // size_of))
    toggles = chance.random() < 0.25 and kernel.threads & (kernel.threads - 1) == 0
    length = chance.randint(2, 4)
    if toggles:  # all of one size
        slots = 1 << chance.randrange(max(1, most // kernel.threads).bit_length())
        slots = min(slots, 32)
        chain = [layouts.random_bits(chance, kernel.threads, slots, True)
                 for _ in range(length)]
    else:
        chain = [layouts.random_layout(chance, kernel.threads, most)]
        while len(chain) < length:
            chain.append(next_layout(chance, chain[-1], kernel.threads, most))
    size = min(layout.size for layout in chain)
    if not toggles and chance.random() < 0.4:
        size = chance.randint(max(1, size // 2), size)
    names = []
    for step, layout in enumerate(chain):
        if chance.random() < 0.5:
            names.append(layout.text)
            continue
        names.append(f"L{number}{step}")
        given = f" = digits(lane 32 | subgroup {kernel.threads // 32})"
        kernel.parameters.append(names[-1] + ": layout" + chance.choice(("", given)))
        kernel.arguments.append(f"{names[-1]}={layout.text}")
    count = f"N{number}"
    words = random_words(generator, dtype, (PROGRAMS, size))
    kernel.parameters.append(f"x{number}: in {dtype}[B, {count}]")
    kernel.inputs[f"x{number}"] = (dtype, words)
    kernel.lines.append(f"i{number} = arange({count}, {names[0]})")
    index = f"i{number}"
    if chance.random() < 0.5:
        factor = chance.choice([f for f in (1, 3, 5, 7, 11) if np.gcd(f, size) == 1])
        add = chance.randrange(size)
        index = f"({index} * {factor} + {add}) % {count}"
        words = words[:, (np.arange(size) * factor + add) % size]
    kernel.lines.append(f"a{number}0 = x{number}[b, {index}]")

    def store(step, value, words):
        name = f"y{number}{step}"
        kernel.parameters.append(f"{name}: out {dtype}[B, {count}]")
        kernel.outputs[name] = (dtype, words, chain[step])
        kernel.lines.append(f"o{number}{step} = arange({count}, {names[step]})")
        kernel.lines.append(f"{name}[b, o{number}{step}] = {value}")

    stored = []
    for step in range(1, len(chain)):
        text = f"a{number}{step - 1}"
        before = words
        if chance.random() < 0.7:
            text, words = changed(dtype, text, words)
        kernel.lines.append(f"a{number}{step} = convert({text}, {names[step]})")
        kernel.conversions += 1
        if chance.random() < 0.3:  # another user of what was converted
            stored.append((step - 1, f"a{number}{step - 1}", before))
        if step + 1 == len(chain):
            stored.append((step, f"a{number}{step}", words))
    for each in stored:
        store(*each)
    return sum(size_of * layout.owned.size for layout in chain[1:])


def make_kernel(seed):
    chance, generator = random.Random(seed), np.random.default_rng(abs(hash_of(seed)))
    kernel = Kernel(chance.choice(THREADS))
    left, number = MOST_SCRATCH_BYTES, 0
    while kernel.conversions < CONVERSIONS_OF_A_KERNEL and number < 8 and left > 16 << 10:
        left -= 2 * add_chain(kernel, chance, generator, number, left // 4)
        number += 1
    return kernel


def hash_of(seed):
    return int.from_bytes(seed.encode(), "little")


# ---- runs ----
def run(words):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=300)
    return done.returncode, done.stdout.decode("utf-8", "replace"), \
        done.stderr.decode("utf-8", "replace")


def same_words(dtype, got, expected):
    """Bit by bit; NaNs are alike."""
    if dtype not in EXPONENT:
        return np.array_equal(got, expected)
    below = (1 << (8 * got.itemsize - 1)) - 1
    nan = (got & below > EXPONENT[dtype]) & (expected & below > EXPONENT[dtype])
    return bool(np.all((got == expected) | nan))


def wrong_output(kernel, folder, text):
    """What is wrong with the outputs, or with the owners that the thread IR says; None: nothing."""
    slots_of = {name: 1 << (layout.slots - 1).bit_length() if expected.shape[1] > 1 else 1
                for name, (_, expected, layout) in kernel.outputs.items()}
    owned = thread_text.stored_elements(text, kernel.threads, slots_of)
    for name, (dtype, expected, layout) in kernel.outputs.items():
        got = np.load(f"{folder}/{name}.npy", allow_pickle=False)
        got = np.frombuffer(got.tobytes(), WORDS[dtype]).reshape(got.shape)
        if got.shape != expected.shape or not same_words(dtype, got, expected):
            places = np.argwhere(got != expected)
            return f"{name}: {len(places)} elements differ, first {places[:1].tolist()}"
        here, size = layout.owned, expected.shape[1]
        if size == 1:  # a scalar: all have it
            continue
        there = owned[name]
        more = there.shape[1] - here.shape[1]  # slots are rounded up to a power of two
        here = np.pad(here, ((0, 0), (0, max(more, 0))), constant_values=-1)
        inside = (here >= 0) & (here < size)
        # a sweep in pieces has none for slots that are all behind the end
        there = np.pad(there, ((0, 0), (0, max(-more, 0))), constant_values=size)
        if here.shape != there.shape or np.any(there[~inside] < size) or \
                not np.array_equal(here[inside], there[inside]):
            return f"{name}: the store's owners are not those of {layout.text}"
    return None


def changed_plans(plan):
    """(name, text) of plans that move values by other mechanisms."""
    line = re.compile(r"^(convert \S+ +)(\w+)$", re.MULTILINE)
    chosen = [word for _, word in line.findall(plan)]
    if "shuffle" in chosen or "rename" in chosen:
        yield "scratch", re.sub(r"^(convert \S+ +)(shuffle|rename)$", r"\1scratch", plan,
                                flags=re.MULTILINE)
    at = [m for m in line.finditer(plan) if m[2] == "scratch"]
    for m in at:
        yield "shuffle", plan[:m.start(2)] + "shuffle" + plan[m.end(2):]


class Outcome:
    def __init__(self, seed):
        self.seed, self.failure, self.report = seed, None, ""
        self.conversions, self.chosen = 0, collections.Counter()


def run_kernel(options, seed):
    outcome = Outcome(seed)
    kernel = make_kernel(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.croft"
        path.write_text(kernel.text())
        for name, (dtype, words) in kernel.inputs.items():
            array = words.view(FILE[dtype]) if dtype != "bool" else words.astype(bool)
            np.save(f"{folder}/{name}.npy", array, allow_pickle=False)
        words = [str(path), "--machine", "sm_90", *kernel.arguments]
        words += [f"{name}={folder}/{name}.npy" for name in (*kernel.inputs, *kernel.outputs)]
        judge(options, kernel, folder, words, outcome)
        if outcome.failure and options.keep:
            keep = pathlib.Path(options.keep) / seed
            keep.mkdir(parents=True, exist_ok=True)
            for file in pathlib.Path(folder).iterdir():
                (keep / file.name).write_bytes(file.read_bytes())
    outcome.conversions = kernel.conversions
    return outcome


def judge(options, kernel, folder, words, outcome):
    code, plan, errors = run([options.croft, "plan", *words])
    if code:
        outcome.failure, outcome.report = "no plan", errors + kernel.text()
        return
    plans = [("chosen", plan), *changed_plans(plan)]
    for name, text in plans:
        file = pathlib.Path(folder) / f"{name}.plan"
        file.write_text(text)
        command = [options.croft, "run", *words, "--target", "sim", "--verify-passes",
                   "--print-after", "hoist", "--plan", str(file)]
        code, _, errors = run(command)
        if name == "shuffle" and code == 3 and "[plan-convert" in errors:
            continue
        what = wrong_output(kernel, folder, errors) if code == 0 else f"exit {code}"
        if what:
            outcome.failure = f"{name} plan: {what}"
            outcome.report = (errors[:6000] if code else "") + kernel.text() + text + \
                shlex.join(command) + "\n"
            return
        mechanism = re.findall(r"^convert \S+ +(\w+)$", text, re.MULTILINE)
        outcome.chosen.update(mechanism if name != "shuffle" else ["shuffle"])


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int)
    parser.add_argument("--first", type=int, default=0, help="number of the first kernel")
    parser.add_argument("--count", type=int, help="conversions, at least")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--croft", default=os.environ.get("CROFT", str(ROOT / "build" / "croft")))
    parser.add_argument("--keep", help="a folder for the files of kernels that fail")
    return parser.parse_args()


def main():
    options = parse_options()
    failed, conversions, chosen = 0, 0, collections.Counter()
    for seed, count in seeds.pairs(options, FIXED_SEED, COUNTS):
        done, number = 0, options.first
        with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
            while done < count:
                names = [f"{seed}.{number + i}" for i in range(2 * options.jobs)]
                number += len(names)
                for outcome in pool.map(lambda name: run_kernel(options, name), names):
                    done += outcome.conversions
                    chosen.update(outcome.chosen)
                    failed += outcome.failure is not None
                    if outcome.failure:
                        print(outcome.report)
                        print(f"not ok {outcome.seed}: {outcome.failure}; "
                              "test/ownership/conversions.py --keep FOLDER --count 1 "
                              f"--seed {seed} --first {outcome.seed.split('.')[1]}", flush=True)
                    else:
                        print(f"ok {outcome.seed}", flush=True)
        conversions += done
    print(f"{conversions} conversions; " +
          ", ".join(f"{n} {word}" for word, n in sorted(chosen.items())))
    missing = [word for word in ("rename", "shuffle", "scratch") if not chosen[word]]
    if missing and not options.count:
        print(f"not ok every_mechanism: none by {', '.join(missing)}")
        failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
