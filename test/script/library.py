#!/usr/bin/env python3
"""libcroft as another project uses it: what it links and exports, the header in C and C++, and the
program of docs/library.md, built outside the tree against the shared and the static library.

tier: check
builds: release
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ["CROFT_BUILD"])
FOLDER = pathlib.Path(os.environ["CROFT_SCRATCH"])
LINKED = {"linux-vdso.so.1", "libm.so.6", "libc.so.6", "libdl.so.2", "libpthread.so.0",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SIZE_LIMIT = 1_000_000  # bytes, stripped: docs/decisions/size.md
failures = 0


def check(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    return done.returncode, done.stdout


def programs_of(page):
    """The C blocks that include the header of the library; embed.py has the others."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [block for block in re.findall(r"```c\n(.*?)```", text, re.DOTALL)
            if "#include <croft.h>" in block]


def check_example(name, text, printed):
    (FOLDER / f"{name}.c").write_text(text)
    for kind, words in (("shared", [f"-L{BUILD}", "-lcroft", f"-Wl,-rpath,{BUILD}"]),
                        ("static", [BUILD / "libcroft.a", "-lm", "-ldl", "-lpthread"])):
        program = FOLDER / f"{name}_{kind}"
        status, text = run("gcc", "-std=c11", *WARNINGS, f"-I{ROOT}/include",
                           FOLDER / f"{name}.c", "-o", program, *words)
        check(f"builds_{name}_{kind}", status == 0, text)
        status, text = run(program, cwd=FOLDER)
        check(f"runs_{name}_{kind}", status == 0 and text == printed, text)
        status, text = run(program, cwd=FOLDER, env={"PATH": "/nowhere"})
        if name == "softmax":
            check(f"says_why_{kind}", status == 1 and "no compiler" in text, text)
        else:
            check(f"needs_no_compiler_{kind}", status == 0 and text == printed, text)


def check_opencl_example(text, printed):
    """Against the real header where it is installed. A machine without a device is told so."""
    source, program = FOLDER / "shares.c", FOLDER / "shares"
    source.write_text(text)
    status, text = run("gcc", "-std=c11", *WARNINGS, f"-I{ROOT}/include",
                       f"-idirafter{ROOT}/test/fake", source, "-o", program, f"-L{BUILD}",
                       "-lcroft", f"-Wl,-rpath,{BUILD}", "-l:libOpenCL.so.1")
    if "cannot find -l:libOpenCL.so.1" in text:
        return print("skip shares: no libOpenCL.so.1 is installed")
    check("builds_shares", status == 0, text)
    status, text = run(program, cwd=FOLDER)
    if status == 1 and "has no platform" in text:
        return print(f"skip shares: {text}")
    check("runs_shares", status == 0 and text == printed, text)
    status, text = run(program, cwd=FOLDER, env={"CROFT_OPENCL_LIBRARY": "/nowhere/lib.so"})
    told = text.startswith("no device\n") and "/nowhere/lib.so: cannot open" in text
    return check("says_why_shares", status == 1 and told, text)


def main():
    library = BUILD / "libcroft.so"
    status, text = run("ldd", library)
    linked = {os.path.basename(line.split()[0]) for line in text.splitlines() if line.split()}
    check("links", status == 0 and linked <= LINKED, f"{linked - LINKED}")
    header = (ROOT / "include/croft.h").read_text()
    major, minor, patch = re.findall(r"#define CROFT_VERSION_[A-Z]+ (\d+)", header)
    version = f"CROFT_{major}.{minor}"
    status, text = run("nm", "-D", "--defined-only", library)
    symbols = [line.split()[-1] for line in text.splitlines() if line.split()[-1] != version]
    names = [symbol.split("@")[0] for symbol in symbols]
    foreign = [name for name in names if not name.startswith("croft_")]
    check("exports", status == 0 and len(names) > 10 and not foreign, f"{foreign}")
    bare = [symbol for symbol in symbols if not symbol.endswith(f"@@{version}")]
    check("versions", not bare, f"{bare} without {version}")
    status, text = run("readelf", "-d", library)
    soname = re.search(r"\(SONAME\).*\[(.*)\]", text)
    check("soname", soname and soname[1] == f"libcroft.so.{major}.{minor}", text)
    check("file", library.resolve().name == f"libcroft.so.{major}.{minor}.{patch}",
          library.resolve().name)
    header += (ROOT / "include/croft_torch.h").read_text()
    header += (ROOT / "include/croft_python.h").read_text()
    declared = set(re.findall(r"^CROFT_API [^;(]*\b(croft_\w+)\(", header, re.MULTILINE))
    status, text = run("strip", "-o", FOLDER / "stripped.so", library)
    size = (FOLDER / "stripped.so").stat().st_size if status == 0 else 0
    print(f"{size} bytes stripped")
    check("size", 0 < size < SIZE_LIMIT, f"{size} bytes, {text}")
    status, text = run("nm", library)
    interpreters = re.findall(r" (sim_\w+)", text)
    check("has_no_interpreters", status == 0 and "croft_compile" in text and not interpreters,
          f"{interpreters[:5]}: through what call?")
    check("declares", set(names) == declared, f"{sorted(set(names) ^ declared)}")

    (FOLDER / "header.c").write_text('#include "croft_python.h"\nint main(void) { return 0; }\n')
    for compiler, standard, language in (("gcc", "c11", "c"), ("clang", "c11", "c"),
                                         ("g++", "c++17", "c++")):
        status, text = run(compiler, f"-std={standard}", "-x", language, *WARNINGS,
                           f"-I{ROOT}/include", "-fsyntax-only", FOLDER / "header.c")
        check(f"header_{standard}_{compiler}", status == 0, text)

    printed = {"softmax": "0.01\n", "layouts": "slot 1 of lane 4\nshuffles\n(32,2):(2,1)\n"}
    examples = programs_of("docs/library.md")
    on_opencl = [example for example in examples if "#include <CL/cl.h>" in example]
    examples = [example for example in examples if example not in on_opencl]
    check("has_these_examples", len(examples) == len(printed) and len(on_opencl) == 1,
          f"{len(examples)}, {len(on_opencl)} on OpenCL")
    for name, example in zip(printed, examples):
        check_example(name, example, printed[name])
    check_opencl_example(on_opencl[0], "0.01\n")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
