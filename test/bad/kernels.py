"""Kernel texts of hostile size or shape: accepted or refused within seconds and in bounded memory.

tier: check
builds: release asan
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
SECONDS, MEGABYTES = (30, 4000) if SANITIZED else (10, 600)
HEAD = "kernel k(x: in f32[R, N], y: out f32[R, N]) {\n    program row: R\n    t = x[row, :]\n"
TAIL = "    y[row, :] = t\n}\n"
failures = 0


def kernel(body):
    return HEAD + body + TAIL


def texts():
    """(name, text, the slug of its refusal, or None where it is accepted)."""
    many = range(100_000)
    yield "statements_4000", kernel("    t = t + 1.0\n" * 4000), None
    yield "statements_5000", kernel("    t = t + 1.0\n" * 5000), "kernel-too-large"
    yield "stores_5000", kernel("    y[row, :] = t\n" * 5000), "kernel-too-large"
    yield "ifs_1000", kernel("    if row > 0 { t = t + 1.0 }\n" * 1000), None
    yield "ifs_5000", kernel("    if row > 0 { t = t + 1.0 }\n" * 5000), "kernel-too-large"
    yield "loops_1000", kernel("    for k in 0..2 { t = t + 1.0 }\n" * 1000), None
    yield "sums_1000", kernel("    t = t + sum(t)\n" * 1000), None
    yield "functions_500", kernel("    t = exp(t)\n" * 500), None
    wide = "maximum(" * 14 + "t" + ", t)" * 14
    for _ in range(3):
        wide = f"maximum({wide}, minimum({wide}, {wide}))"
    yield "wide_expression", kernel(f"    t = {wide}\n    t = {wide}\n" * 30), "kernel-too-large"
    yield "else_ifs_100", kernel("    if row == 0 { t = t + 1.0 }" + "".join(
        f" else if row == {i} {{ t = t + {i}.0 }}" for i in range(1, 100)) + "\n"), None
    yield "else_ifs_20000", kernel("    if row == 0 { t = t + 1.0 }" + "".join(
        f" else if row == {i} {{ t = t * 2.0 }}" for i in range(1, 20_000)) + "\n"), "nesting-limit"
    yield "loops_in_loops_60", kernel(
        "".join(f"for k{i} in 0..2 {{\n" for i in range(60)) + "t = t + 1.0\n" + "}\n" * 60), None
    yield "million_parameters", "kernel k(" + ", ".join(
        f"x{i}: in f32[N]" for i in many) + ") {}\n", "source-too-large"
    yield "many_parameters", "kernel k(" + ", ".join(
        f"x{i}: in f32[N]" for i in range(1000)) + ") {}\n", "parameter-limit"
    yield "many_kernels", "".join(f"kernel k{i}() {{}}\n" for i in range(20_000)), "kernel-limit"
    yield "program_axes", HEAD.replace("row: R", "row: R" + "".join(
        f", a{i}: R" for i in range(9000))) + TAIL, ""
    yield "long_range", kernel("    t = x[row, 0 : +9223372036854775807]\n"), "size-overflow"
    yield "long_arange", kernel("    i = arange(9223372036854775807)\n"), "size-overflow"
    yield "long_program", kernel("").replace("row: R", "row: 9223372036854775807"), "size-overflow"
    yield "large_grid", kernel("").replace(
        "row: R", "row: 4611686018427387904, column: 4"), "size-overflow"
    yield "byte_order_mark", "\ufeff" + kernel(""), None
    yield "carriage_returns", kernel("").replace("\n", "\r\n"), None
    yield "tabs", kernel("").replace("    ", "\t"), None
    yield "utf_16", kernel("").encode("utf-16"), "invalid-utf8"
    yield "one_line", b"y " * 5_000_000, "source-too-large"
    yield "random_bytes", random.Random(SEED).randbytes(900_000), ""
    yield "random_words", " ".join(random.Random(SEED).choices(
        HEAD.split() + list("()[]{}:=+-*/\n") + TAIL.split(), k=200_000)), ""
    yield "long_lines", HEAD + "    t = nothing" + " " * 5000 + "+ zebra\n" + TAIL, "unknown-name"


def check_run(name, text, code, *words):
    """A run that asks for more than there is, or than 64 bits hold, ends with the code and why."""
    global failures
    (SCRATCH / "k.croft").write_text(text)
    done = subprocess.run([CROFT, "run", "k.croft", "y=/dev/null", *words[1:]], cwd=SCRATCH,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    said = done.stderr.decode(errors="replace")
    good = done.returncode == code and words[0] in said
    print(f"ok {name}" if good else f"not ok {name}: {done.returncode} {said[:1500]}", flush=True)
    failures += not good


KEPT = """kernel k(x: in f32[R, dynamic N], y: out f32[R]) {{
    program row: R
    e = exp(f32(arange({}) % 1000) * 0.001)
    for k in 0..2 {{
        e = e * 0.5 + sum(e) / N
    }}
    y[row] = sum(e) + sum(x[row, :])
}}
"""


def check_runs():
    """Workspace and grids of sizes that come with the arrays."""
    for cells in (2 ** 40, 2 ** 60, 2 ** 62):
        for plan in ("row", "fallback"):
            check_run(f"workspace_{cells}_{plan}", KEPT.format(cells), 4, "workspace",
                      "x=randn:1x3", "--plan", plan)
    for formula in ("N * N * N * N", "N * N * N * 32768", "N * N * N * 32769 - N * N * N"):
        check_run("formula_" + formula.replace(" ", ""), KEPT.format(formula), 3, "size-overflow",
                  "x=randn:1x65536")
    check_run("grid_past_64_bits", "kernel k(x: in f32[N], y: out f32[N]) {\n"
              "    program i: N * N * N * N\n    y[i, unique] = x[i]\n}\n", 3, "size-overflow",
              "x=randn:65536")


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))


def check(name, text, slug):
    """Ends in time and bounds; refused with the slug ("": with any), or accepted."""
    global failures
    path = SCRATCH / "k.croft"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    before = time.monotonic()
    with open(SCRATCH / "errors", "wb") as errors:
        process = subprocess.Popen([CROFT, "emit", "k.croft"], cwd=SCRATCH,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=errors, preexec_fn=limit)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = (SCRATCH / "errors").read_text(errors="replace")
    findings = re.findall(r"^k\.croft:\d+:\d+: error: .*\[([a-z0-9-]+)\]$", said, re.MULTILINE)
    good = process.returncode == (0 if slug is None else 3)
    good = good and (not slug or slug in findings) and (slug is None or 1 <= len(findings) <= 20)
    good = good and all(len(line) < 600 for line in said.split("\n")) and "CROFT_BUG" not in said
    good = good and usage.ru_maxrss < MEGABYTES * 1024
    why = (f"wanted {slug}, exit {process.returncode}, {time.monotonic() - before:.1f} s, "
           f"{usage.ru_maxrss // 1024} MB: {said[:1500]}")
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)
    failures += not good


def main():
    for name, text, slug in texts():
        check(name, text, slug)
    check_runs()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
