"""IR text that is garbage, hostile or nearly right: `croft opt` ends with findings, and quickly.

tier: check
builds: release asan

* texts of hostile size or shape end with exit 3 and findings within seconds;
* broken modules (dangling values, use before definition, wrong types, missing facts) get all the
  findings that are expected, each on its line;
* damaged goldens and rule texts (CROFT_SEED) are refused or accepted, never a bug of ours.
"""
import os
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SANITIZED = os.environ.get("CROFT_KIND") == "asan"
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="croft-test-"))
SEED = int(os.environ.get("CROFT_SEED", "1"))
SECONDS, MEGABYTES, DAMAGED = (30, 4000, 60) if SANITIZED else (10, 600, 250)
HEAD = "kernel @k[R, N](%x: in f32[R, N], %y: out f32[R, N]) level tile\n  program row: R\n{\n"
ROW = "  %row = program row : index\n"
LOAD = "  %t = load %x[%row inside, : N inside] : f32<N>\n"
STORE = "  store %y[%row inside, : N inside], %t injective\n"
MAPPED = HEAD.replace("level tile", "level mapped").replace(
    "{\n", "  team 8\n  axis row program row extent R digits group *\n"
           "  axis N extent N digits lane 8 | step *\n{\n") + ROW
failures = 0


def case(name, good, why):
    global failures
    if good:
        print(f"ok {name}", flush=True)
        return
    failures += 1
    lines = str(why).splitlines() or ["wrong"]
    print(f"not ok {name}: {lines[0]}")
    print("\n".join("# " + line for line in lines[1:40]), flush=True)


def limit():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))


def opt(text, *words):
    """(exit code, findings as text, seconds)"""
    data = text if isinstance(text, bytes) else text.encode()
    path = SCRATCH / "k.ir"
    path.write_bytes(data)
    start = time.monotonic()
    try:
        done = subprocess.run([CROFT, "opt", path, *words], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=4 * SECONDS, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return 124, "out of time", 4 * SECONDS
    return done.returncode, done.stderr.decode("utf-8", "replace"), time.monotonic() - start


def hostile():
    noise = random.Random(SEED)
    megabytes_10 = 10 << 20
    yield "garbage_10_mb", noise.randbytes(megabytes_10), "ir-syntax"
    yield "garbage_after_a_head_10_mb", HEAD.encode() + noise.randbytes(megabytes_10), ""
    yield "zero_bytes_10_mb", bytes(megabytes_10), "ir-syntax"
    yield "words_10_mb", (HEAD + "kernel yield store " * (megabytes_10 // 19)).encode(), ""
    yield "too_large", HEAD + ROW + "  # words\n" * 300_000 + "}\n", "source-too-large"
    yield "dangling_values", HEAD + "  %a = add %b, %c : f32<N>\n" * 50_000, "unknown-value"
    yield "parentheses", f"kernel @k[R](%x: in f32[{'(' * 1_000_000}R]) level tile\n", "nesting"
    yield "regions", HEAD + "  if %x {\n" * 100_000, "nesting"
    yield "one_line", HEAD + "%a, " * 500_000, "ir-syntax"
    yield "empty", "", "ir-syntax"
    many = "".join(f"  %a{i} = add %row, %row : index\n" for i in range(40_000))
    yield "many_ops", HEAD + ROW + many + "}\n", None


def check_hostile():
    for name, text, slug in hostile():
        code, findings, seconds = opt(text, "-p", "fold,hoist,merge,dead")
        good = code == 0 if slug is None else (code == 3 and f"{slug}]" in findings and
                                               "error:" in findings)
        why = f"exit {code} after {seconds:.1f} s\n{findings[:2000]}"
        case(name, good and seconds < SECONDS, why)


# Each `slug@line` in its order.
BROKEN = {
    "use_before_definition": (
        HEAD + ROW + "  %a = add %b, %b : index\n  %b = add %a, %row : index\n}\n",
        "unknown-value@5"),
    "dangling_values_several": (
        HEAD + ROW + "  %a = add %row, %p : index\n  %b = add %q, %a : index\n" + LOAD
        + "  store %y[%row inside, : N inside], %r injective\n}\n",
        "unknown-value@5 unknown-value@6 unknown-value@8"),
    "wrong_types": (
        HEAD + ROW + LOAD + "  %a = add %t, %row : f32<N>\n  %b = lt %t, %t : f32<N>\n"
        "  %c = exp %row : index\n}\n",
        "operand-dtype@6 result-dtype@6 result-dtype@7 operand-dtype@8"),
    "wrong_shapes": (
        HEAD + ROW + LOAD + "  %a = expand %t axis=0 : f32<N, 1>\n"
        "  %b = reduce max %t nan=propagate axis=0 : f32<N>\n}\n",
        "shape-change@6 shape-change@7"),
    "missing_words": (
        HEAD + "  %row = program : index\n  %t = load : f32<N>\n  %u = reduce %t : f32\n"
        "  %v = frob %t : f32\n}\n",
        "unknown-name@4 ir-syntax@5 unknown-name@6 unknown-op@7"),
    "missing_layouts": (
        MAPPED + "  sweep axes=(N) {\n    %t = load %x[%row inside, : N inside] : f32<N>\n"
        "    %u = neg %t : f32<N>\n    store %y[%row inside, : N inside], %u injective\n"
        "    yield\n  }\n}\n",
        "value-layout@9 value-layout@10"),
    "missing_storage": (
        MAPPED + "  %t = sweep axes=(N) : f32<N> on (N) {\n"
        "    %u = load %x[%row inside, : N inside] : f32<N> on (N)\n    yield %u\n  }\n}\n",
        "kept-storage@8"),
    "wrong_proof": (
        HEAD + ROW + "  %one = constant 1 : index\n  %next = add %row, %one : index\n"
        "  %t = load %x[%next inside, : N inside] : f32<N>\n" + STORE + "}\n",
        "index-inside@7"),
    "findings_of_the_text_not_of_its_source": (
        HEAD.replace("{\n", "  source \"k.croft\"\n{\n") + ROW.replace("\n", " @90:1+1\n")
        + "  %a = neg %row : f32 @91:1+1\n}\n",
        "result-dtype@6"),
}


def check_broken():
    for name, (text, expected) in BROKEN.items():
        code, findings, _ = opt(text)
        found = " ".join(f"{slug}@{line}" for line, slug in
                         re.findall(r"k\.ir:(\d+):\d+: error: .* \[([a-z-]+)\]$", findings, re.M))
        case(name, code == 3 and found == expected, f"wanted {expected}, got {found}\n{findings}")


def check_passes_that_do_not_fit():
    whole = HEAD + ROW + LOAD + STORE + "}\n"
    code, findings, _ = opt(whole, "-p", "flod,canonicalise,merg")
    case("unknown_passes", code == 3 and findings.count("[unknown-pass]") == 2, findings)
    code, findings, _ = opt(whole, "-p", "expand,canonicalise,fold,map")
    case("pass_at_the_wrong_level",
         code == 3 and findings.count("[pass-level]") == 2, findings)
    code, findings, _ = opt(whole, "-p", "map")
    case("map_before_canonicalise", code == 3 and "[not-canonical]" in findings, findings)
    code, findings, _ = opt(whole, "-p", "fold", "--stop-after", "hoist")
    case("stop_after_what_does_not_run", code == 3 and "[pass-missing]" in findings, findings)
    code, findings, _ = opt(whole, "--stop-after", "frob")
    case("stop_after_no_pass", code == 2 and "frob" in findings, findings)
    code, findings, _ = opt(whole, "x=randn:2x3")
    case("inputs_without_check", code == 2 and "--check-passes" in findings, findings)
    code, findings, _ = opt(whole, "--check-passes", "x=randn:2x3:f16", "z=1")
    case("inputs_that_do_not_fit",
         code == 3 and "`z` is no" in findings and "f16[2, 3]" in findings, findings)
    code, findings, _ = opt(whole, "--check-passes", "x=randn:2x3", "N=4")
    case("sizes_that_disagree", code == 3 and "N:" in findings, findings)


def sources():
    texts = [path.read_text().split("--- ")[0] for path in sorted(ROOT.glob("test/pass/*/*.ir"))]
    for path in sorted(ROOT.glob("test/verify/*.ir")):
        texts += path.read_text().split("\n---\n")
    return texts


def damage(noise, text):
    lines = text.split("\n")
    i, j = noise.randrange(len(lines)), noise.randrange(len(lines))
    kind = noise.randrange(5)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        del lines[i]
    else:
        words = re.split(r"([ ,()\[\]<>:]+)", lines[i])
        others = re.split(r"([ ,()\[\]<>:]+)", lines[j])
        plain = ["0", "1", "-1", "9223372036854775807", "4294967296", "N", "index", "f16", "%t",
                 "%row", "bool"]
        words[noise.randrange(len(words))] = noise.choice(others if kind == 3 else plain)
        lines[i] = "".join(words)
    return "\n".join(lines)


def check_damaged():
    noise = random.Random(SEED)
    texts, accepted, wrong = sources(), 0, 0
    for i in range(DAMAGED):
        text = noise.choice(texts)
        for _ in range(noise.choice([0, 0, 0, 1, 1, 2])):
            text = damage(noise, text)
        words = ["--check-passes", "--machine", noise.choice(["cpu-avx2", "cpu-avx512"])]
        words += noise.choice([[], ["--plan", "fallback"], ["-p", "map,expand"],
                               ["-p", "fold,hoist,merge,dead"], ["-p", "expand"]])
        code, findings, seconds = opt(text, *words)
        accepted += code == 0
        if code not in (0, 3) or "CROFT_BUG" in findings or seconds > SECONDS:
            wrong += 1
            case(f"damaged_{i}", False, f"exit {code}, {' '.join(words)}\n{findings}\n{text}")
    case("damaged_texts_end_in_findings_or_run", wrong == 0 and accepted > DAMAGED // 30,
         f"{accepted} accepted, {wrong} wrong")


def main():
    check_hostile()
    check_broken()
    check_passes_that_do_not_fit()
    check_damaged()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
