"""C for embedders: `croft emit -o NAME.c` as a program that knows nothing of Croft uses it. Files
are built outside the tree by gcc and clang without a warning, called on strided arrays in three
ranges of rows by three threads, and give the bits of `croft run` with the same plan, each version
its own; the header agrees with the code and is C++; arguments that cannot be are refused before
anything is written; and a file that cannot be written leaves none.

tier: check check-long
builds: release

check takes a few kernels, check-long every example in every type with both compilers.
"""
import concurrent.futures
import ctypes
import os
import pathlib
import platform
import re
import resource
import signal
import subprocess

import numpy as np

import command
import examples
from command import SCRATCH, case, croft

LONG = os.environ.get("TIER") == "check-long"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
VERSIONS = ["baseline", "avx2", "avx512"]
ALL = ",".join(VERSIONS)
OK, UNSUPPORTED, SIZE, RANGE, STRIDE, ALIGNMENT, WORKSPACE = range(7)
C_TYPES = {"float": ctypes.c_float, "long long": ctypes.c_longlong, "int": ctypes.c_int,
           "unsigned": ctypes.c_uint, "unsigned short": ctypes.c_ushort,
           "unsigned char": ctypes.c_ubyte, "signed char": ctypes.c_byte}
# Which versions a processor is said to run: so many of VERSIONS. Stands before the file.
PRETEND = """int pretended;
__attribute__((unused)) static int pretends(const char *feature) {
    return feature[0] == 'a' && feature[3] == '5' ? pretended > 2 : pretended > 1;
}
#define __builtin_cpu_supports(feature) pretends(feature)
"""
ODD = """kernel odd(class: in f32[R, H, dynamic N], new: in bool[N], int: in i32[R],
           y: out f32[R, H, N], words: f32 = 2.5, end: i32 = 3, small: f16 = 0.5,
           on: bool = false) {
    program begin: R step 2, h: H
    t = class[begin, h, :]
    s = where(new[:], t, words) + f32(int[begin] + end) * f32(small)
    y[begin, h, :] = s / (1.0 + sum(s * s)) + where(on, 1.0, 0.0)
}
kernel whole(x: in f32[N], total: out f32[], N: const = 37) {
    total[] = sum(x[:] * x[:])
}
"""


# Macros of headers that a caller may have included before.
MACROS = """kernel macros(NAN: in f32[EOF, dynamic I], complex: out f32[EOF, I], small: f32) {
    program noreturn: EOF
    complex[noreturn, :] = NAN[noreturn, :] * small
}
"""
BEFORE = "".join(f"#include <{name}.h>\n" for name in (
    "complex", "errno", "limits", "math", "signal", "stdio", "stdlib", "stdnoreturn"))


def host_versions():
    """The versions that this processor runs."""
    machine = re.search(r"machine (\S+)", croft("plan", "examples/sum.croft", "N=8").out)[1]
    machine = machine.removeprefix("cpu-")
    return VERSIONS[:VERSIONS.index(machine) + 1] if machine in VERSIONS else ["baseline"]


HOST = host_versions()


def compile_with(compiler, *words):
    done = subprocess.run([compiler, *map(str, words)], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, cwd=SCRATCH)
    return done.stdout if done.returncode or done.stdout else ""


class Embedded:
    """An emitted file: its prototype, and the function once it is built."""

    def __init__(self, name, path, *words):
        self.file = SCRATCH / f"{name}.c"
        self.header = SCRATCH / f"{name}.h"
        for old in (self.file, self.header):
            old.unlink(missing_ok=True)
        self.emitted = croft("emit", path, *words, "--target", "cpu", "-o", self.file)
        if self.emitted.code:
            return
        text = self.header.read_text()
        self.kernel, listed = re.search(r"^int croft_(\w+)\((.*?)\);", text, re.M | re.S).groups()
        form = re.compile(r"(const )?(.*?) (\*?)(\w+)")
        self.parameters = [form.fullmatch(" ".join(one.split())).groups()
                           for one in listed.split(",")]
        self.sizes = re.search(rf"^long long croft_{self.kernel}_workspace\((.*?)\);", text, re.M)
        self.library = None

    def build(self, compiler, *flags):
        """What the compiler says: nothing, where all is well."""
        library = self.file.with_suffix(f".{compiler}.so")
        (SCRATCH / "pretend.h").write_text(PRETEND)
        said = compile_with(compiler, "-std=c11", "-O2", *WARNINGS, "-fPIC", "-shared", *flags,
                            "-include", "pretend.h", self.file, "-o", library, "-lm")
        if not said:
            self.library = ctypes.CDLL(str(library))
            version = getattr(self.library, f"croft_{self.kernel}_version")
            version.restype = ctypes.c_char_p
            self.version = version
            self.run = getattr(self.library, f"croft_{self.kernel}")
        return said

    def pretend(self, versions):
        ctypes.c_int.in_dll(self.library, "pretended").value = versions

    def workspace(self, sizes):
        """Memory for one call, which must live until it ends; None where none is asked for."""
        if self.sizes is None:
            return None
        ask = getattr(self.library, f"croft_{self.kernel}_workspace")
        ask.restype = ctypes.c_longlong
        names = [] if self.sizes[1] == "void" else [word.split()[-1] for word in
                                                    self.sizes[1].split(",")]
        needed = ask(*(ctypes.c_longlong(sizes[name]) for name in names))
        assert needed >= 0
        memory = np.full(needed + 128, 0xA5, np.uint8)
        first = -memory.ctypes.data % 64
        return (memory, first, needed)

    def arguments(self, arrays, values, span, workspace):
        """ctypes for the prototype; `values` has scalars and sizes by the parameter's name."""
        out = []
        for _, kind, pointer, name in self.parameters:
            stride = re.fullmatch(r"(\w+)_stride(\d)", name)
            if pointer and name == "workspace":
                memory = workspace and workspace[0].ctypes.data + workspace[1]
                out.append(ctypes.c_void_p(memory))
            elif pointer:
                out.append(ctypes.c_void_p(arrays[name].ctypes.data))
            elif stride and stride[1] in arrays:
                array = arrays[stride[1]]
                out.append(ctypes.c_longlong(array.strides[int(stride[2])] // array.itemsize))
            elif name in ("begin", "end"):
                out.append(ctypes.c_longlong(span[name == "end"]))
            else:
                out.append(C_TYPES[kind](values[name]))
        return out


def bits(path):
    """The elements of a .npy as unsigned integers of their size."""
    array = np.load(path, allow_pickle=False)
    return array.view(f"u{array.dtype.itemsize}")


def strided(values, odd):
    """A copy with gaps behind every dimension but the first, whose bytes are 0xa5, beginning at an
    element that is aligned to nothing more: the elements, and all of it."""
    padded = [extent + (2 * k + odd if k > 0 else 0) for k, extent in enumerate(values.shape)]
    whole = np.full(int(np.prod(padded)) + 1, 0xA5 * 0x0101010101010101 %
                    (1 << 8 * values.itemsize), values.dtype)
    view = whole[1:].reshape(padded)
    view = view[tuple(slice(extent) for extent in values.shape)] if padded else view
    view[...] = values
    return view, whole


def in_ranges(embedded, arrays, values, rows, grain):
    """The statuses of three calls, of three threads, which have all rows together."""
    cuts = sorted({0, min(rows, -(-rows // 3) // grain * grain), rows // grain * grain // 2 //
                   grain * grain, rows})
    def one(span):
        memory = embedded.workspace(values)
        status = embedded.run(*embedded.arguments(arrays, values, span, memory))
        intact = memory is None or (np.all(memory[0][:memory[1]] == 0xA5) and
                                    np.all(memory[0][memory[1] + memory[2]:] == 0xA5))
        return status if intact else "wrote around the workspace"
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        return list(pool.map(one, zip(cuts, cuts[1:])))


def call_all(embedded, inputs, expected, values, rows, grain=1):
    """What is wrong with the outputs of a run in three ranges; "": all bits are as expected."""
    arrays, wholes, before = {}, {}, {}
    for odd, (key, path) in enumerate(inputs.items()):
        arrays[key], wholes[key] = strided(bits(path), odd)
    for odd, (key, wanted) in enumerate(expected.items()):
        arrays[key], wholes[key] = strided(np.full_like(wanted, 1), odd + 1)
        before[key] = wholes[key].copy()
    statuses = in_ranges(embedded, arrays, values, rows, grain)
    if any(status != OK for status in statuses):
        return f"answers {statuses}"
    for key, wanted in expected.items():
        if not np.array_equal(arrays[key], wanted):
            return f"{key}: {np.sum(arrays[key] != wanted)} of {wanted.size} elements differ"
        arrays[key][...] = 1
        if not np.array_equal(wholes[key], before[key]):
            return f"{key}: what lies between the rows was written"
    return ""


def expect(path, inputs, outputs, words, machine):
    """What `croft run` writes with the plan for a machine, or what it says."""
    paths = {key: SCRATCH / f"expected_{key}.npy" for key in outputs}
    files = (f"{key}={file}" for key, file in {**inputs, **paths}.items())
    run = croft("run", path, *words, *files, "--target", "cpu", "--machine", machine)
    return {key: bits(file) for key, file in paths.items()} if run.code == 0 else run


def make_inputs(name, rows, width, dtype):
    generator = np.random.default_rng(command.SEED)
    inputs = {}
    for key, value in examples.make_inputs(name, rows, width, dtype, generator, 0.0).items():
        inputs[key] = SCRATCH / f"{key}.npy"
        command.save(inputs[key], value, "i64" if key == "label" else dtype)
    return inputs


def check_versions(label, embedded, path, inputs, outputs, words, values, rows, grain):
    """Each version that this processor runs, chosen by what it is said to have."""
    for count, version in enumerate(HOST, 1):
        embedded.pretend(count)
        chosen = embedded.version()
        case(f"{label}_chooses_{version}", chosen == version.encode(), chosen)
        expected = expect(path, inputs, outputs, words, f"cpu-{version}")
        wrong = (call_all(embedded, inputs, expected, values, rows, grain)
                 if isinstance(expected, dict) else expected)
        case(f"{label}_{version}_has_the_bits_of_run", not wrong, wrong)


def check_example(name, width, dtype, compilers, extra=(), dynamic=False, rows=7, grain=1,
                  flags=()):
    """An example with three versions, by each compiler."""
    path = pathlib.Path(command.ROOT, "examples", f"{name}.croft")
    label = "_".join([name, dtype, str(width), *(re.sub(r"\W", "", word) for word in extra),
                      *["dynamic"] * dynamic])
    if dynamic:
        text = path.read_text().replace("N]", "dynamic N]", 1)
        path = SCRATCH / f"{name}.croft"
        path.write_text(text)
    words = [f"T={dtype}", *extra, *(["I=i64"] if name == "cross_entropy" else [])]
    size = [] if name == "transpose8" or dynamic else [f"N={width}"]
    row = ["B" if name == "transpose8" else "R"]
    embedded = Embedded(label, path, *words, *size, f"{row[0]}={rows}", "--isa", ALL)
    if embedded.emitted.code:
        case(f"{label}_is_emitted", False, embedded.emitted)
        return None
    inputs = make_inputs(name, rows, width, dtype)
    values = {"N": width, row[0]: rows, "eps": 1e-5, "ignore": -100}
    outputs = examples.KERNELS[name][1].split()
    constant = size if name in examples.CONSTANT else []
    for compiler in compilers:
        said = embedded.build(compiler, *flags)
        case(f"{label}_builds_with_{compiler}", not said, said)
        if not said:
            check_versions(f"{label}_{compiler}", embedded, path, inputs, outputs,
                           [*words[1:], *constant], values, rows, grain)
    return embedded


def emit_odd(kernel, *words):
    path = SCRATCH / "odd_kernels.croft"
    path.write_text(ODD)
    return path, Embedded(kernel, path, "--kernel", kernel, "--isa", ALL, *words)


def check_odd_names():
    """Parameters called as words of C, of C++ and of the file itself; strided programs of two axes;
    every type of scalar."""
    path, embedded = emit_odd("odd")
    if embedded.emitted.code:
        case("odd_is_emitted", False, embedded.emitted)
        return
    generator = np.random.default_rng(command.SEED)
    made = {"class": (generator.standard_normal((9, 3, 21)), "f32"),
            "new": (generator.random(21) < 0.5, "bool"),
            "int": (generator.integers(-5, 5, 9), "i32")}
    inputs = {}
    for key, (value, dtype) in made.items():
        inputs[key] = SCRATCH / f"{key}.npy"
        command.save(inputs[key], value, dtype)
    scalars = {"words": 2.25, "end": -7, "small": 0.75, "on": 1}
    given = {**scalars, "small": int(np.float16(0.75).view(np.uint16)), "R": 9, "H": 3, "N": 21}
    # what the caller sees, by the kernel's own names
    own = {**{name + "2": name for name in ("class", "new", "int", "words", "end", "small")}}
    seen = {own.get(name, name) for *_, name in embedded.parameters}
    case("odd_names_are_those_of_neither_language", seen >= {*inputs, *scalars, "y"} and
         all(name not in ("class", "new", "int") for *_, name in embedded.parameters), seen)
    named = {key + "2": path for key, path in inputs.items()}
    for compiler in ("gcc", "clang"):
        said = embedded.build(compiler)
        case(f"odd_builds_with_{compiler}", not said, said)
    words = ["--kernel", "odd", *(f"{key}={value}" for key, value in scalars.items())]
    wanted = expect(path, inputs, ["y"], words, f"cpu-{HOST[-1]}")
    values = {own_name if own_name not in own.values() else f"{own_name}2": value
              for own_name, value in given.items()}
    embedded.pretend(len(HOST))
    if isinstance(wanted, dict):
        wanted["y"][1::2] = 1  # rows between the programs are nobody's
    wrong = (call_all(embedded, named, wanted, values, 5) if isinstance(wanted, dict) else wanted)
    case("odd_has_the_bits_of_run", not wrong, wrong)


def check_macros():
    """The header stands behind others, whose macros are no names of its own."""
    path = SCRATCH / "macros.croft"
    path.write_text(MACROS + "kernel flat(x: in f32[dynamic N], y: out f32[N]) {\n"
                    "    y[:] = x[:] + 1.0\n}\n")
    embedded = Embedded("macros", path, "--kernel", "macros", "--isa", "baseline")
    user = SCRATCH / "macros_user.c"
    user.write_text(BEFORE + '#include "macros.h"\nint main(void) { return 0; }\n')
    for compiler in ("gcc", "clang"):
        said = compile_with(compiler, "-std=c11", *WARNINGS, "-fsyntax-only", user)
        case(f"header_behind_others_with_{compiler}", not embedded.emitted.code and not said, said)
    flat = Embedded("flat", path, "--kernel", "flat", "--isa", "baseline")
    said = flat.build("gcc")
    x, y = np.ones(8, np.float32), np.zeros(8, np.float32)
    flat.pretend(1)
    for size, wanted in ((8, OK), (2**61, SIZE), (-1, SIZE)):
        status = flat.run(*flat.arguments({"x": x, "y": y}, {"N": size}, (0, 1), None))
        case(f"flat_of_{size}", not said and status == wanted, f"{said} {status}")
    case("flat_is_computed", np.all(y == 2), y)


def check_whole():
    """A kernel without programs and sizes: the range is that of the one program there is."""
    path, embedded = emit_odd("whole")
    said = embedded.build("gcc")
    case("whole_builds", not said, said)
    inputs = {"x": SCRATCH / "x.npy"}
    command.save(inputs["x"], np.random.default_rng(command.SEED).standard_normal(37), "f32")
    wanted = expect(path, inputs, ["total"], ["--kernel", "whole"],
                    f"cpu-{HOST[-1]}")
    embedded.pretend(len(HOST))
    wrong = call_all(embedded, inputs, wanted, {}, 1) if isinstance(wanted, dict) else wanted
    case("whole_has_the_bits_of_run", not wrong, wrong)


def check_header(embedded):
    """The header agrees with the code, says it again without harm, and is C++17."""
    name = embedded.header.name
    (SCRATCH / "both.c").write_text(f'#include "{name}"\n#include "{name}"\n'
                                    f'#include "{embedded.file.name}"\n')
    (SCRATCH / "plus.cpp").write_text(f'#include "{name}"\n#include "{name}"\nint main() {{ return '
                                      f'CROFT_{embedded.kernel.upper()}_OK; }}\n')
    strict = [*WARNINGS, "-Wmissing-prototypes", "-Wshadow", "-Wcast-qual", "-Wundef"]
    for compiler in ("gcc", "clang"):
        said = compile_with(compiler, "-std=c11", *strict, "-fsyntax-only", "both.c")
        case(f"header_agrees_{compiler}", not said, said)
        said = compile_with("g++" if compiler == "gcc" else compiler, "-std=c++17", *WARNINGS,
                            "-fsyntax-only", "plus.cpp")
        case(f"header_is_cpp_{compiler}", not said, said)
    text = embedded.file.read_text()
    case("code_includes_nothing", "#include" not in text and "#include" not in
         embedded.header.read_text(), text[:2000])
    symbols = subprocess.run(["nm", "-g", "--defined-only", embedded.file.with_suffix(".gcc.so")],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
    named = {line.split()[-1] for line in symbols.splitlines()}
    case("exports_its_own_alone", {word for word in named if "softmax" in word} ==
         {"croft_softmax", "croft_softmax_version"}, symbols)
    case("keeps_nothing_between_calls", not re.search(r" [bBdD] \w*softmax", subprocess.run(
        ["nm", embedded.file.with_suffix(".gcc.so")], stdout=subprocess.PIPE, text=True,
        check=True).stdout))
    case("says_what_it_is", all(word in text for word in (
        "emitted by croft ", "Both are yours", "N          100, built in",
        "axis N        lane 16 | ", "aligned")), text[:4000])
    asked = re.findall(r"defined\(__(?:SSE|AVX|FMA|F16C)\w*__\)", text.split("---- avx2: ")[1])
    case("what_a_version_has_is_not_asked", not asked, asked)


def check_refusals(embedded):
    """Statuses of softmax, and nothing written for any of them."""
    x, y = np.ones((7, 100), np.float32), np.full((7, 100), -1, np.float32)
    embedded.pretend(1)
    good = {"x": x, "y": y}
    def call(span, sizes, arrays=None):
        words = embedded.arguments(arrays or good, sizes, span, None)
        return embedded.run(*words), words
    for name, span, rows, wanted in (("empty", (3, 3), 7, OK), ("below", (-1, 3), 7, RANGE),
                                     ("turned", (4, 3), 7, RANGE), ("behind", (0, 8), 7, RANGE),
                                     ("negative_size", (0, 0), -1, SIZE),
                                     ("too_many_bytes", (0, 1), 2**61, SIZE)):
        status, _ = call(span, {"R": rows})
        case(f"range_{name}", status == wanted and np.all(y == -1), status)
    for name, at, value, wanted in (("stride", 1, -100, STRIDE), ("alignment", 0, None, ALIGNMENT)):
        words = call((0, 0), {"R": 7})[1]
        words[-1] = ctypes.c_longlong(7)
        words[at] = ctypes.c_longlong(value) if value else ctypes.c_void_p(x.ctypes.data + 2)
        status = embedded.run(*words)
        case(f"refuses_{name}", status == wanted and np.all(y == -1), status)
    status, _ = call((0, 7), {"R": 7})
    case("then_runs", status == OK and np.allclose(y, 0.01), status)


def check_only_avx2():
    """A file without a version for every processor says so."""
    embedded = Embedded("only", "examples/sum.croft", "N=8", "T=f32", "--machine", "cpu-avx2")
    said = embedded.build("gcc")
    x, y = np.ones((1, 8), np.float32), np.zeros(1, np.float32)
    embedded.pretend(1)
    words = embedded.arguments({"x": x, "y": y}, {"R": 1}, (0, 1), None)
    case("unsupported_is_told", not said and embedded.version() is None and
         embedded.run(*words) == UNSUPPORTED and y[0] == 0, said or embedded.version())


def check_workspace():
    """Launches that hand results on: their memory is asked for, and checked."""
    embedded = Embedded("parts", "examples/softmax.croft", "N=100", "T=f32", "--set", "g=2",
                        "--isa", "baseline")
    said = embedded.build("gcc")
    case("parts_build", not said, said)
    x, y = np.ones((1, 100), np.float32), np.zeros((1, 100), np.float32)
    words = embedded.arguments({"x": x, "y": y}, {"R": 1}, (0, 1), None)
    memory = embedded.workspace({"R": 1})
    words[-1] = ctypes.c_void_p(memory[0].ctypes.data + memory[1] + 8)
    unaligned = embedded.run(*words)
    words[-1] = ctypes.c_void_p(None)
    case("workspace_is_asked_for", embedded.run(*words) == WORKSPACE == unaligned and memory[2] > 0
         and np.all(y == 0), (unaligned, memory[2]))
    ask = embedded.library.croft_softmax_workspace
    case("workspace_of_no_size", ask(ctypes.c_longlong(-1)) == -1 and
         ask(ctypes.c_longlong(2 ** 62)) == -1)


def check_other_machine():
    """A plan for a GPU, whose launches have scratch and hand results on, in the registers of this
    processor."""
    path, words = "examples/layernorm.croft", ["--set", "g=2,s=4"]
    embedded = Embedded("gpu", path, "N=1000", "R=29", "T=f16", "--machine", "sm_90", *words)
    said = embedded.build("gcc", "-O1")
    case("other_machine_builds", not said, said)
    inputs = make_inputs("layernorm", 29, 1000, "f16")
    wanted = expect(path, inputs, ["y"], words, "sm_90")
    embedded.pretend(len(HOST))
    wrong = (call_all(embedded, inputs, wanted, {"R": 29, "eps": 1e-5}, 29)
             if isinstance(wanted, dict) else wanted)
    case("other_machine_has_the_bits_of_run", not wrong, wrong)
    needed = embedded.workspace({"R": 29})[2]
    case("other_machine_needs_scratch_too", needed > embedded.workspace({"R": 0})[2] > 0, needed)


def check_usage():
    softmax, out = "examples/softmax.croft", SCRATCH / "usage.c"
    for name, words, code, told in (
            ("unknown", ["--isa", "avx9", "-o", out], 2, "baseline, avx2, avx512"),
            ("twice", ["--isa", "avx2,avx2", "-o", out], 2, "stands twice"),
            ("nothing", ["--isa", "avx2,", "-o", out], 2, "a name is missing"),
            ("no_file", ["--isa", "avx2"], 2, "-o NAME.c"),
            ("no_c_file", ["--isa", "avx2", "-o", SCRATCH / "usage.txt"], 2, "-o NAME.c"),
            ("machine", ["--isa", "avx2", "--machine", "cpu-avx2", "-o", out], 2, "--machine"),
            ("target", ["--isa", "avx2", "--target", "cuda", "-o", out], 2, "the target cpu"),
            ("level", ["--isa", "avx2", "--level", "tile", "-o", out], 2, "of IR"),
            ("kernel", ["--isa", "avx2", "Q=1", "-o", out], 3, "unknown-argument")):
        result = croft("emit", softmax, *words)
        case(f"usage_{name}", result.code == code and told in result.text and not out.exists(),
             result)
    walking = SCRATCH / "walking.plan"
    walking.write_text(re.sub(r"(?m)^axis row .*", "axis row      group 4 | step *",
                              croft("plan", softmax, "N=100", "--machine", "cpu-avx2").out))
    result = croft("emit", softmax, "N=100", "--plan", walking, "--machine", "cpu-avx2", "-o", out)
    case("walking_groups_have_no_ranges", result.code == 3 and not out.exists() and
         "walk over the programs" in result.text, result)
    result = croft("run", softmax, "x=zeros:1x8", "y=-", "--isa", "avx2")
    case("usage_elsewhere", result.code == 2 and "belongs to emit" in result.text, result)
    plain = croft("emit", softmax, "N=8", "-o", SCRATCH / "plain.txt")
    case("other_names_get_what_runs", plain.code == 0 and (SCRATCH / "plain.txt").read_text() ==
         croft("emit", softmax, "N=8").out, plain)


def check_unwritable():
    """Both files or none."""
    folder = SCRATCH / "outputs"
    folder.mkdir()
    (folder / "k.h").mkdir()
    result = croft("emit", "examples/sum.croft", "N=8", "-o", folder / "k.c")
    case("unwritable_header_leaves_no_code", result.code == 4 and "file-write" in result.text and
         sorted(path.name for path in folder.iterdir()) == ["k.h"], result)
    result = croft("emit", "examples/sum.croft", "N=8", "-o", SCRATCH / "nowhere" / "k.c")
    case("unwritable_folder_is_told", result.code == 4 and "file-write" in result.text, result)
    (folder / "k.h").rmdir()
    (folder / "k.c").write_text("before")
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    result = croft("emit", "examples/sum.croft", "N=8", "-o", folder / "k.c", before=limit)
    case("full_disk_leaves_what_was_there", result.code == 4 and "file-write" in result.text and
         [path.name for path in folder.iterdir()] == ["k.c"] and
         (folder / "k.c").read_text() == "before", result)


def check_chosen():
    """Without a pretence the processor itself is asked."""
    embedded = Embedded("chosen", "examples/sum.croft", "N=8", "T=f32", "--isa", ALL)
    said = compile_with("gcc", "-std=gnu11", "-O3", "-march=native", *WARNINGS, "-fPIC", "-shared",
                        embedded.file, "-o", "chosen.so", "-lm")
    case("chosen_builds", not said, said)
    version = ctypes.CDLL(str(SCRATCH / "chosen.so")).croft_sum_version
    version.restype = ctypes.c_char_p
    case("chosen_is_the_best_there_is", version() == HOST[-1].encode(), version())


def check_docs():
    """The example of docs/library.md: its commands, and what it says that it prints."""
    section = (command.ROOT / "docs/library.md").read_text().split("## C without the library")[1]
    emit, build = re.search(r"```sh\n(.*)\n(.*)\n```", section).groups()
    folder = SCRATCH / "docs"
    folder.mkdir()
    (folder / "main.c").write_text(re.search(r"```c\n(.*?)```", section, re.S)[1])
    words = [*emit.split()[1:-1], folder / emit.split()[-1]]
    emitted = croft(*words)
    made = subprocess.run([*build.split(), *WARNINGS], cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    printed = subprocess.run([folder / "main"], stdout=subprocess.PIPE, text=True, check=False)
    case("docs_example", emitted.code == 0 and not made.stdout and printed.returncode == 0 and
         f"It prints `{printed.stdout.strip()}`" in section, made.stdout + printed.stdout)


def check_strict():
    """What --strict promises: every version has the same bits."""
    embedded = Embedded("strict", "examples/layernorm.croft", "N=257", "T=f32", "--strict", "--isa",
                        ALL)
    said = embedded.build("clang")
    case("strict_builds", not said, said)
    inputs = make_inputs("layernorm", 7, 257, "f32")
    wanted = expect("examples/layernorm.croft", inputs, ["y"], ["--strict"],
                    "cpu-baseline")
    for count, version in enumerate(HOST, 1):
        embedded.pretend(count)
        wrong = (call_all(embedded, inputs, wanted, {"R": 7, "eps": 1e-5}, 7)
                 if isinstance(wanted, dict) else wanted)
        case(f"strict_{version}_has_the_bits_of_baseline", not wrong, wrong)


def check_flags():
    """The bits do not depend on how the embedder compiles."""
    path, words = "examples/softmax.croft", ["T=f16"]
    inputs = make_inputs("softmax", 7, 129, "f16")
    for compiler in ("gcc", "clang"):
        for flags in (["-O0"], ["-O1", "-fwrapv"], ["-O3", "-std=gnu11", "-march=native"],
                      ["-Os", "-std=gnu17", "-mfma"]):
            label = f"softmax_{compiler}{''.join(flags).replace('=', '')}"
            embedded = Embedded(label, path, *words, "N=129", "--isa", ALL)
            said = embedded.build(compiler, *flags)
            case(f"{label}_builds", not said, said)
            check_versions(label, embedded, path, inputs, ["y"], [], {"R": 7}, 7, 1)


def check_long():
    check_strict()
    check_flags()
    for name in examples.EXAMPLES:
        for dtype in ("f32", "f16", "bf16"):
            width = 8 if name == "transpose8" else 257
            check_example(name, width, dtype, ["gcc", "clang"])
        dynamic = name not in ("transpose8", "rmsnorm_register", "softmax_blocks")
        if dynamic:
            check_example(name, 75, "f32", ["gcc"], dynamic=True)
            check_example(name, 75, "bf16", ["clang"], ["--plan", "fallback"], rows=53, grain=16)
        if dynamic and name not in ("swiglu", "gelu_add"):
            check_example(name, 1000, "f32", ["clang"], ["--set", "g=4"])


def main():
    softmax = check_example("softmax", 100, "f32", ["gcc", "clang"])
    check_header(softmax)
    check_refusals(softmax)
    check_example("layernorm", 75, "f32", ["gcc"], ["--set", "g=2"], rows=29,
                  flags=["-std=gnu11", "-O3"])
    check_example("cross_entropy", 33, "f16", ["gcc"], ["--plan", "fallback"], dynamic=True,
                  rows=37, grain=16)
    check_odd_names()
    check_macros()
    check_whole()
    if platform.machine() == "x86_64":
        check_only_avx2()
    check_workspace()
    check_other_machine()
    check_usage()
    check_unwritable()
    check_chosen()
    check_docs()
    if LONG:
        check_long()
    command.finish()


if __name__ == "__main__":
    main()
