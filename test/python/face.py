"""What Python says of the library is what its header says, the package finds it and its command,
errors carry findings, layouts are those of the C interface, types are right.

tier: check
builds: release
"""
import ctypes
import os
import pickle
import re
import shutil
import subprocess
import sys

import package
from package import ROOT, case, croft, refused
from croft import _library as lib

HEADER = "".join((ROOT / "include" / name).read_text(encoding="utf-8")
                 for name in ("croft.h", "croft_torch.h", "croft_python.h"))
STRUCTURES = {"croft_config": lib.Config, "croft_source": lib.Source,
              "croft_diagnostic": lib.Diagnostic, "croft_parameter": lib.Parameter,
              "croft_tensor": lib.Tensor, "croft_argument": lib.Argument,
              "croft_prepare_options": lib.PrepareOptions,
              "croft_launch_options": lib.LaunchOptions, "croft_call_options": lib.CallOptions,
              "croft_output": lib.Output, "croft_kernel_counts": lib.KernelCounts,
              "croft_objects": lib.Objects, "croft_position": lib.Position,
              "croft_layout_extents": lib.LayoutExtents, "croft_torch": lib.Torch,
              "croft_torch_dtype": lib.TorchDtype, "croft_torch_source": lib.TorchSource,
              "croft_python": lib.Python, "croft_python_getter": lib.PythonGetter,
              "croft_python_dtype": lib.PythonDtype,
              "croft_python_arrays": lib.PythonArrays,
              "croft_python_entry": lib.PythonEntry, "croft_python_kernel": lib.PythonKernel,
              "croft_python_bound": lib.PythonBound}
CONSTANTS = {"CROFT_VERSION": None, "CROFT_OK": lib.OK, "CROFT_REJECTED": lib.REJECTED,
             "CROFT_MISUSE": lib.MISUSE, "CROFT_OUT_OF_RESOURCES": lib.OUT_OF_RESOURCES,
             "CROFT_ON_CPU": lib.ON_CPU, "CROFT_ON_CUDA": lib.ON_CUDA,
             "CROFT_ON_CUDA_HOST": lib.ON_CUDA_HOST,
             "CROFT_ARGUMENT_INTEGER": lib.ARGUMENT_INTEGER,
             "CROFT_ARGUMENT_REAL": lib.ARGUMENT_REAL, "CROFT_ARGUMENT_TEXT": lib.ARGUMENT_TEXT,
             "CROFT_PARAMETER_TENSOR": lib.PARAMETER_TENSOR, "CROFT_INT": 0, "CROFT_UINT": 1,
             "CROFT_FLOAT": 2, "CROFT_BFLOAT": 4, "CROFT_BOOL": 6,
             "CROFT_OUTPUT_AXES": lib.OUTPUT_AXES, "CROFT_PYTHON_HEAD": lib.PYTHON_HEAD,
             "CROFT_PYTHON_ENTRIES": lib.PYTHON_ENTRIES, "CROFT_LAYOUT_AXES": lib.LAYOUT_AXES,
             "CROFT_LAYOUT_CLUSTER": 4, "CROFT_PARAMETER_LAYOUT": 4, "CROFT_SYSTEM_FAILED": 8}


def check_structures():
    """Offsets of all members and sizes, from a program that the C compiler makes."""
    lines = ["#include <croft_python.h>", "#include <stdio.h>", "int main(void) {"]
    expected = {}
    for name, structure in STRUCTURES.items():
        for member, _ in structure._fields_:
            expected[f"{name}.{member}"] = getattr(structure, member).offset
            lines.append(f'printf("{name}.{member} %zu\\n", offsetof({name}, {member}));')
        expected[name] = ctypes.sizeof(structure)
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
    major, minor, patch = map(int, lib.VERSION.split("."))
    for name, value in CONSTANTS.items():
        expected[name] = major * 1000000 + minor * 1000 + patch if value is None else value
        lines.append(f'printf("{name} %d\\n", (int){name});')
    source = package.command.SCRATCH / "face.c"
    source.write_text("\n".join(lines + ["return 0; }"]))
    program = package.command.SCRATCH / "face"
    subprocess.run(["gcc", f"-I{ROOT}/include", source, "-o", program], check=True)
    printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {line.split()[0]: int(line.split()[1]) for line in printed.splitlines()}
    case("structures_are_those_of_the_header", found == expected,
         {name: (found.get(name), expected[name]) for name in expected
          if found.get(name) != expected[name]})


def check_prototypes():
    """Each function has as many arguments as the header says."""
    declared = {name: [] if text.strip() == "void" else text.split(",") for name, text in
                re.findall(r"CROFT_API [^;(]*?\b(croft_\w+)\(([^;]*)\);", HEADER)}
    wrong = {name: (len(arguments), len(declared.get(name, []))) for name, (_, arguments)
             in lib.PROTOTYPES.items() if len(arguments) != len(declared.get(name, []))}
    case("functions_are_those_of_the_header", not wrong, wrong)


def python(code, **environment):
    """Status and output of another interpreter with the package of this checkout."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment})
    return done.returncode, done.stdout


def check_finding():
    copy = package.command.SCRATCH / "elsewhere"
    shutil.copytree(ROOT / "python/croft", copy / "python/croft",
                    ignore=shutil.ignore_patterns("__pycache__", "lib", "bin"))
    where = {"PYTHONPATH": str(copy / "python"), "CROFT_LIBRARY": ""}
    status, text = python("import croft", **where)
    case("says_where_it_looked", status and "libcroft.so is not there" in text
         and "croft/lib/libcroft.so" in text and "build/libcroft.so" in text, text)
    status, text = python("import croft._library as lib; print(lib.path)",
                          **{**where, "CROFT_LIBRARY": os.environ["CROFT_LIBRARY"]})
    case("takes_the_one_of_the_environment", text.strip() == os.environ["CROFT_LIBRARY"], text)
    library = copy / "old.c"
    library.write_text('const char *croft_version(void) { return "0.0.9"; }\n')
    subprocess.run(["gcc", "-shared", "-fPIC", library, "-o", copy / "old.so"], check=True)
    status, text = python("import croft", **{**where, "CROFT_LIBRARY": str(copy / "old.so")})
    case("refuses_another_version", status and "another version" in text, text)
    status, text = python("import sys, croft; print(sorted({'torch', 'numpy', 'jax'} & "
                          "set(sys.modules)))")
    case("imports_nothing_else", text.strip() == "[]", text)


def check_errors():
    text = "kernel k(x: in f32[R], y: out f32[R]) {\n    program row: R\n    y[row] = z\n}\n"
    refused("a_text_that_is_wrong", "unknown-name", lambda: croft.compile(text, "k.croft"),
            "k.croft:3:14", "^")
    try:
        croft.compile("kernel", "k.croft")
    except croft.CroftError as error:
        again = pickle.loads(pickle.dumps(error))
        case("errors_are_pickled", type(again) is croft.RejectedError
             and (again.slug, str(again), again.findings)
             == (error.slug, str(error), error.findings))
        case("errors_are_value_errors", isinstance(error, ValueError) and error.line == 1
             and error.findings[0].message == error.message and error.text == str(error))
    status, text = python("import croft\ntry: croft.compile('kernel k(x: in f32[R], y: out f32[R])"
                          " {\\n program row: R\\n y[row] = x[row]\\n}')(memoryview(bytes(8)).cast("
                          "'f'), out=memoryview(bytearray(8)).cast('f'))\n"
                          "except croft.NoCompilerError as error: print(error.slug)",
                          CROFT_COMPILER="/nowhere/cc", XDG_CACHE_HOME=str(
                              package.command.SCRATCH / "empty"))
    case("no_compiler_has_a_class_of_its_own", text.strip() == "no-compiler", text)
    two = "".join(f"kernel {name}(x: in f32[R], y: out f32[R]) {{\n    program row: R\n"
                  f"    y[row] = {name[1]}.0 * x[row]\n}}\n" for name in ("k1", "k2"))
    case("one_of_several_kernels", croft.compile(two, kernel="k2").name == "k2")
    k = package.example("rmsnorm_quant")
    case("parameters", [(one.name, one.kind, one.is_read, one.is_written) for one in k.parameters]
         == [("x", "tensor", True, False), ("w", "tensor", True, False),
             ("q", "tensor", False, True), ("scale", "tensor", False, True),
             ("eps", "scalar", False, False), ("T", "dtype", False, False)], k.parameters)
    case("kernels_print", repr(k) == "<croft kernel rmsnorm_quant(x, w, q, scale, eps, T)>")


def check_command():
    path = ROOT / "examples/softmax.croft"
    answer = croft.plan(path, N=1009, R=64, machine="sm_90", set="w=128,v=1", strict=True)
    text = answer["plan"]["text"]
    case("plans_by_the_command", answer["schema"] == "croft-plan/1" and "machine sm_90" in text
         and "canonical" in text and "lane 32 | subgroup 4" in text, text)
    case("explains_by_the_command", croft.explain(path, N=64)["sizes"]["N"] == 64)
    case("emits_by_the_command", "Kernel softmax for sm_90" in croft.emit(
        path, N=64, machine="sm_90", target="cuda") and "level tile" in croft.emit(
            path, level="tile"))
    case("types_for_the_command", "bf16" in croft.emit(path, T="bf16", level="tile"))
    refused("the_command_refuses", "unknown-argument", lambda: croft.plan(path, Q=3),
            "softmax.croft:2:8")
    try:
        croft.emit(ROOT / "nowhere.croft")
    except croft.SystemFailedError as error:
        case("a_file_that_is_not_there", error.slug == "file-open" and error.findings, error)
    try:
        croft.plan(path, model="nobody")
    except croft.MisuseError as error:
        case("an_option_that_is_wrong", "nobody" in str(error), error)


def check_layouts():
    a = croft.Layout("bits(3, 4, 5, 0, 1, 2, slots=2)")
    case("layout_text", str(a) == "bits(3, 4, 5, 0, 1, 2, slots=2)"
         and repr(a) == f"Layout('{a}')" and a.text("cute") == "((8,4),2):((8,1),4)")
    case("layout_extents", (a.extents, a.ends, a.replication)
         == ((64,), croft.Position(2, 1, 32, 1, 1, 1), 1))
    owners = [a.owner(index) for index in range(64)]
    case("layout_owner_and_logical", [a.logical(*one)[0] for one in owners] == list(range(64))
         and a.owner(5) == croft.Position(slot=1, lane=8))
    same = croft.Layout("digits(lane 4 @8 | slot 2 | lane 8 @1, size=64)")
    identity = croft.Layout("identity(64, slots=2)")
    case("layout_equal", a == same and hash(a) == hash(same) and a != identity and a != "bits")
    case("layout_classify", (a.classify(same), a.classify(identity)) == ("forward", "shuffle"))
    ragged = croft.Layout("blocked_cyclic(13, workers=4, vector=2)")
    case("layout_owns_nothing", ragged.logical(slot=3, lane=3) is None)
    both = croft.Layout("bits(1, 0, 2, 3, 4)").compose(croft.Layout("bits(1, 0, 2, 3, 4)"))
    case("layout_compose", both == croft.Layout("identity(32)"), both)
    refused("layout_syntax", "layout-syntax", lambda: croft.Layout("bits(1"))
    refused("layout_positions_end", "misuse", lambda: a.logical(lane=99))
    refused("layout_mismatch", "layout-mismatch", lambda: a.classify(ragged))
    refused("layout_spelling", "rejected", lambda: ragged.text("bits"))


def check_types():
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir",
                           package.command.SCRATCH / "mypy"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    case("types", done.returncode == 0, done.stdout)


def main():
    check_structures()
    check_prototypes()
    check_finding()
    check_errors()
    check_command()
    check_layouts()
    check_types()
    package.finish()


if __name__ == "__main__":
    main()
