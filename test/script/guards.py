"""Guards: what a worker asks before accesses of a row, in the thread program and in the planner's
facts, whatever plan the planner lists.

tier: check check-long
builds: release

A worker that owns V neighbours in each chunk of W*V meets no guard in a sweep where the chunks take
the width, and at most two else: `croft explain --json` counts them on the thread program. The fact
that prices are made of counts guarded accesses in closed form; it must come to what stands in the
program; of rows in parts, over several launches, the guards alone are looked at. Plans are the
planner's candidates, of all row kernels (examples and test/rows) on four machines, some of each,
and for one kernel every (W, V, U, chunk); numbers of chunks that the search does not look at (3, 5,
7, ...) are asked for. With TIER=check-long there are more of all.
"""
import concurrent.futures
import json
import os
import random
import re

import command
from command import ROOT, case, croft

LONG = os.environ.get("TIER") == "check-long"
MACHINES = ["sm_90", "sm_80", "m1", "cpu-avx2"]
KERNELS = sorted(ROOT.glob("examples/*.croft")) + sorted(ROOT.glob("test/rows/*.croft"))
OWNED = {"rmsnorm_register": [1001, 1000]}  # on GPUs the text says who owns what; at most 1024
WALKED = "sum"  # every (W, V, U, chunk)
UNROLLS = range(1, 17)
BLOCK = 256  # of the loop in softmax_blocks, the last of which ends where the call says
RAGGED, DIVIDING = [1001, 4103, 333], [8192, 1024, 3072]
ROW = re.compile(r"^[* ] +\d+ +[\d.]+" + r" +(\d+)" * 5 + r" +(slot|step) +(\w+) +(shifted)?", re.M)
random.seed(command.SEED)


def is_row_kernel(path):
    return "[R, N]" in path.read_text(encoding="utf-8")


def planned(words):
    """Legal candidates whose rows are not shifted, and the page that lists them (guards of others:
    shifted_rows.py)."""
    page = croft("plan", *words, "--all")
    keys = ("w", "v", "u", "p", "g", "chunk", "keep")
    return [dict(zip(keys, [int(word) if word.isdigit() else word for word in row]), asked=False,
                 shift="no") for row in ROW.findall(page.out) if not row[-1]], page


def setting_of(choice):
    numbers = ",".join(f"{key}={choice[key]}" for key in "wvupg")
    return f"{numbers},chunk={choice['chunk']},shift={choice['shift']},keep={choice['keep']}"


def in_blocks(text):
    return f"step {BLOCK}" in text


def slots_of_the_rest(choice, n):
    """Of the chunk that is there in part: some worker has an element in each half of them."""
    slots, rest = choice["v"], n % (choice["w"] * choice["v"])
    while slots > 1 and slots // 2 >= rest:
        slots //= 2
    return slots


def guarded_accesses(page, text, choice, n):
    """As the planner counts: all that are made, one by one where rows begin anywhere. Where the
    call decides the width, as blocks do, it is taken for the power of two below."""
    total = 0
    for access in page["grouped_loads"] + page["grouped_stores"]:
        times = access["guarded"]
        rows = re.search(rf"\b{access['tensor']}: \w+ \w+\[[^\]]*,", text) is not None
        if rows and not in_blocks(text) and n % access["width"] != 0:
            times *= min(access["width"], slots_of_the_rest(choice, n))
        total += times
    return total * ((1 << n.bit_length() - 1) // BLOCK if in_blocks(text) else 1)


def look_at(path, machine, n, choice, dtype):
    """A finding, or None."""
    text = path.read_text(encoding="utf-8")
    words = [path.relative_to(ROOT), f"N={n}", "--machine", machine]
    words += [f"T={dtype}"] if re.search(r"\bT:", text) else []
    words += ["--set", setting_of(choice)] if choice else []
    words += ["--strict"] if choice and choice.get("strict") else []
    result = croft("explain", *words, "--json")
    if result.code and choice and choice["asked"] and '"slug": "plan-set"' in result.out:
        return None  # no such candidate
    if result.code:
        return str(result)
    answer = json.loads(result.out)
    pages = answer.get("launches", [answer])
    whole = choice and not in_blocks(text) and n % (choice["w"] * choice["v"] * choice["g"]) == 0
    found = max(page["guarded_accesses"] for page in pages)
    if found > (0 if whole else 2):
        return f"{found} guards: croft {' '.join(result.words[1:])}"
    if not choice or choice["g"] > 1:
        return None
    fact = pages[0]["planned"]["chosen"][0]["features"]["guarded_accesses"]
    wanted = guarded_accesses(pages[0], text, choice, n)
    return None if fact == wanted else (f"{fact} guarded accesses by the facts, {wanted} in the "
                                        f"program: croft {' '.join(result.words[1:])}")


def drawn(legal, count, blocks):
    """Some candidates, a part of those in steps with another number of chunks, of the others with
    reductions in the canonical order."""
    for choice in random.sample(legal, min(count, len(legal))):
        asked = choice["chunk"] == "step" and random.random() < 0.4
        walked = blocks and choice["chunk"] == "step"  # the order is kept for whole steps there
        strict = not asked and not walked and random.random() < 0.3
        yield dict(choice, asked=asked or strict, strict=strict,
                   u=random.choice(UNROLLS) if asked else choice["u"])


def list_kernels():
    """(label, path, machine, N, choice, dtype) of some candidates of every kernel."""
    for number, path in enumerate(filter(is_row_kernel, KERNELS)):
        for turn, machine in enumerate(MACHINES):
            both = (RAGGED, DIVIDING)
            for widths in both if LONG else [both[(number + turn) // 3 % 2]]:
                n = OWNED.get(path.stem, widths)[(number + turn) % (2 if path.stem in OWNED else 3)]
                label = f"{path.stem}_{machine}_{n}"
                legal, page = planned([path.relative_to(ROOT), f"N={n}", "--machine", machine])
                if not legal:
                    case(f"{label}_has_candidates", path.stem in OWNED, page)
                    yield label, path, machine, n, None, "f32"
                for choice in drawn(legal, 24 if LONG else 1, in_blocks(path.read_text())):
                    yield label, path, machine, n, choice, ["f32", "f16"][turn % 2]


def list_all_forms():
    """Every (W, V, U, chunk) of one kernel once, with any number of programs of a group."""
    path = ROOT / "examples" / f"{WALKED}.croft"
    for turn, machine in enumerate(MACHINES if LONG else ["sm_90", "cpu-avx2"]):
        for n in (4103, 16384):
            legal, page = planned([path.relative_to(ROOT), f"N={n}", "--machine", machine])
            case(f"{WALKED}_{machine}_{n}_has_candidates", len(legal) > 3, page)
            forms = {}
            for choice in random.sample(legal, len(legal)):
                forms.setdefault((choice["w"], choice["v"], choice["u"], choice["chunk"]), choice)
            for number, choice in enumerate(forms.values()):
                if LONG or number % 3 == (n == 4103):
                    yield f"all_{machine}_{n}", path, machine, n, choice, "f32"
            for unroll in UNROLLS if LONG else (3, 7, 12):
                stepped = [c for c in legal if c["chunk"] == "step"]
                for choice in random.sample(stepped, min(len(stepped), 40 if LONG else 2)):
                    yield (f"unroll_{machine}_{n}", path, machine, n,
                           dict(choice, u=unroll, asked=True), "f32")


def main():
    work = list(list_kernels()) + list(list_all_forms())
    findings, counts = {}, {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (label, *_), finding in zip(work, pool.map(lambda one: look_at(*one[1:]), work)):
            counts[label] = counts.get(label, 0) + 1
            if finding is not None:
                findings.setdefault(label, []).append(finding)
    for label in counts:
        case(label, label not in findings, "\n".join(findings.get(label, [])))
    case("candidates", len(work) > (5000 if LONG else 300), len(work))
    print(f"{len(work)} plans")
    command.finish()


if __name__ == "__main__":
    main()
