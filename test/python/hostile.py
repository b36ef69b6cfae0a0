"""What nobody should give: arrays that lie, names that are taken, texts that are none, kernels that
are copied, libraries that are no libraries. Each is refused with a finding, or means what it says.

tier: check
builds: release
"""
import copy
import ctypes
import mmap
import os
import pickle
import signal
import subprocess
import sys

import numpy as np

import capsules
import package
from package import ROOT, case, croft, misused, refused

NAMED = """kernel scaled(x: in f32[R], y: out f32[R], {name}: f32 = 2.0) {{
    program row: R
    y[row] = {name} * x[row]
}}
"""


class Interface:
    """An object with this __array_interface__, or whose attribute raises it."""

    def __init__(self, interface):
        self.interface = interface

    @property
    def __array_interface__(self):
        if isinstance(self.interface, Exception):
            raise self.interface
        return self.interface


def check_interfaces(k, x):
    good, expected = x.__array_interface__, k(x)
    bare = {name: value for name, value in good.items() if name not in ("strides", "descr")}
    case("interface_without_strides", np.array_equal(k(Interface(bare)), expected))
    for name, change in {"shape": None, "sizes": ("a", 4), "type": "", "type_": None,
                         "letters": "<fx", "memory": None, "bytes": b"abc", "steps": "x"}.items():
        word = {"sizes": "shape", "type_": "typestr", "type": "typestr", "letters": "typestr",
                "memory": "data", "bytes": "data", "steps": "strides"}.get(name, name)
        refused(f"interface_with_another_{name}", "object",
                lambda: k(Interface({**good, word: change})))
    refused("interface_of_2_70_rows", "object",
            lambda: k(Interface({**good, "shape": (1 << 70, 100)})))
    for missing in ("data", "shape", "typestr"):
        refused(f"interface_without_{missing}", "object", lambda: k(Interface(
            {name: value for name, value in good.items() if name != missing})))
    refused("interface_that_is_none", "object", lambda: k(Interface(3)))
    refused("interface_that_raises", "object", lambda: k(Interface(RuntimeError("no"))))


def check_arrays(k, x):
    expected = k(x)
    refused("masks_are_not_left_out", "object", lambda: k(np.ma.array(x, mask=x > 0)), "filled()")

    class Called(np.ndarray):
        name = "float32"

    case("an_array_may_have_a_name", np.array_equal(k(x.view(Called)), expected))
    rows = (ctypes.c_float * 100 * 4).from_buffer_copy(x)
    out = (ctypes.c_float * 100 * 4)()
    k(rows, out=out)
    case("arrays_of_ctypes", np.array_equal(np.array(out), expected))
    view, mapped = memoryview(bytearray(16)).cast("f", (1, 4)), mmap.mmap(-1, 4096)
    view.release()
    mapped.close()
    refused("memory_that_was_given_back", "object", lambda: k(view), "released")
    refused("a_map_that_was_closed", "object", lambda: k(mapped))
    refused("what_is_written_into_a_copy_is_lost", "read-only",
            lambda: k(x, out=capsules.Foreign(x.copy(), flags=2)))
    case("a_copy_is_read", np.array_equal(k(capsules.Foreign(x, flags=2)), expected))

    class Silent(type):
        @property
        def __dlpack_c_exchange_api__(cls):
            raise RuntimeError("says nothing")

    refused("a_class_that_answers_nothing", "object", lambda: k(Silent("Any", (), {})()), "nothing")


def check_names(x):
    for name in ("self", "lambda", "arguments", "named", "function"):
        k = croft.compile(NAMED.format(name=name))
        case(f"a_parameter_is_called_{name}", np.array_equal(k(x, **{name: 3.0}), 3 * x)
             and np.array_equal(k.with_(**{name: 3.0})(x), 3 * x)
             and k.bind(x, **{name: 3.0}).out.shape == x.shape)
    for name in ("out", "stream", "plan", "set", "strict", "count_faults"):
        k = croft.compile(NAMED.format(name=name))
        own = {name + "_": 3.0}
        case(f"a_parameter_is_called_{name}", np.array_equal(k(x, **own), 3 * x)
             and np.array_equal(k.with_(**own)(x), 3 * x) and np.array_equal(k(x, 3.0), 3 * x))
    k = croft.compile(NAMED.format(name="stream"))
    misused("a_number_is_no_stream", lambda: k(x, stream=3.0))
    refused("no_stream_of_a_cpu", "stream", lambda: k(x, stream=3), "stream_")
    k = croft.compile(NAMED.format(name="out_"))
    case("a_name_with_a_line_is_its_own", np.array_equal(k(x, out_=3.0), 3 * x))


def check_numbers(x):
    k = croft.compile(NAMED.format(name="c"))
    case("bools_of_numpy_are_numbers", np.array_equal(k(x, np.True_), x)
         and np.array_equal(k(x, c=np.False_), 0 * x))
    refused("a_fraction_beyond_floats", "argument-range",
            lambda: k(x, c=__import__("fractions").Fraction(10 ** 400)))
    layout = croft.Layout("identity(32)")
    for name, call in (("owner", lambda: layout.owner((1 << 64) + 3)),
                       ("logical", lambda: layout.logical(lane=(1 << 64) + 3))):
        refused(f"layout_{name}_of_65_bits", "argument-range", call)


def check_texts(k, x):
    plan = k.plan(x)
    for name, call in (("plan", lambda: k.with_(plan=plan + "\0 else")(x)),
                       ("set", lambda: k.with_(set="u=2\0else")(x)),
                       ("type", lambda: k(x, T="f32\0else")),
                       ("name", lambda: k(x, **{"T\0else": "f32"})),
                       ("kernel", lambda: croft.compile(k.program.text, kernel="softmax\0else")),
                       ("layout", lambda: croft.Layout("identity(32)\0else")),
                       ("spelling", lambda: croft.Layout("identity(32)").text("cute\0else")),
                       ("word", lambda: croft.plan(ROOT / "examples/softmax.croft", N="6\0"))):
        refused(f"nul_in_a_{name}", "nul-byte", call)
    refused("surrogates", "invalid-utf8", lambda: croft.compile("# \udc80"), ":1:3")
    refused("surrogates_of_a_layout", "invalid-utf8", lambda: croft.Layout("\udc80"))
    folder = os.fsencode(package.command.SCRATCH)
    text, path = k.program.text, folder + b"/n\xff.croft"
    for place, words in ((path, text), (folder + b"/-x.croft", text),
                         (folder + b"/bad", b"# \xff")):
        with open(place, "wb") as file:
            file.write(words)
    case("a_path_need_not_be_utf8", croft.load(path).name == croft.load(os.fsdecode(path)).name
         == croft.plan(path, N=64)["kernel"] == "softmax")
    refused("a_file_that_is_not_utf8", "invalid-utf8", lambda: croft.load(folder + b"/bad"), ":1:3")
    here = os.getcwd()
    os.chdir(folder)
    case("a_path_is_no_option", croft.plan("-x.croft", N=64)["kernel"] == "softmax")
    os.chdir(here)


def check_copies(k, x):
    expected = k(x)
    fixed = k.with_(plan=k.plan(x), T="f32")
    for name, made in (("pickled", pickle.loads(pickle.dumps(fixed))), ("copied", copy.copy(fixed)),
                       ("deeply_copied", copy.deepcopy([fixed])[0])):
        case(f"a_kernel_is_{name}", np.array_equal(made(x), expected)
             and made.plan(x) == fixed.plan(x) and made.program is not k.program)
    layout = croft.Layout("bits(3, 4, 5, 0, 1, 2, slots=2)")
    case("a_layout_is_pickled", pickle.loads(pickle.dumps(layout)) == layout
         and copy.deepcopy(layout) == layout)
    bound = k.bind(x)
    misused("a_bound_call_is_not_pickled", lambda: pickle.dumps(bound), "bind again")
    misused("nor_is_it_copied", lambda: copy.copy(bound), "bind again")


def check_signals(k, x):
    """A handler that runs while a function is made may make one itself."""
    ran, raised = [], []

    def handler(*_):
        ran.append(k(x, T="f32").shape)

    create = croft._kernel.lib.C.croft_function_create

    def interrupted(*words):
        status = create(*words)
        if not raised:
            raised.append(True)
            signal.raise_signal(signal.SIGUSR1)
        return status

    before = signal.signal(signal.SIGUSR1, handler)
    croft._kernel.lib.C.croft_function_create = interrupted
    signal.alarm(30)  # it would wait for itself
    try:
        k.functions.clear()
        k(x, T="f32")
    finally:
        signal.alarm(0)
        croft._kernel.lib.C.croft_function_create = create
        signal.signal(signal.SIGUSR1, before)
    case("a_handler_calls_the_kernel_it_interrupts", ran == [x.shape], ran)


def check_library():
    """CROFT_LIBRARY of another place, where the package has no library of its own."""
    scratch = package.command.SCRATCH
    (scratch / "libcroft.so").write_text("no library")
    for name, value, words in (("nowhere", "/nowhere/libcroft.so", "is not there"),
                               ("junk", str(scratch / "libcroft.so"), "cannot be loaded"),
                               ("relative_junk", "libcroft.so", "cannot be loaded"),
                               ("a_folder", str(scratch), "is not there")):
        done = subprocess.run([sys.executable, "-c", "import croft"], cwd=scratch, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                                   "CROFT_LIBRARY": value})
        said = done.stdout.splitlines()[-1]
        case(f"library_is_{name}", said.startswith("ImportError") and words in said, done.stdout)


def check_growth(k, x):
    """Neither a call nor a refusal leaves anything behind."""
    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    out, wrong = np.empty_like(x), x[:, ::2]

    def some(count):
        for _ in range(count):
            k(x, out=out)
            k(x, T="f32")
            k.bind(x, out)
            try:
                k(wrong, out=out)
            except croft.CroftError:
                pass

    some(1000)
    before = resident()
    some(5000)
    case("memory_does_not_grow", resident() - before < 1 << 20, resident() - before)


def main():
    k = package.example("softmax")
    x = np.random.default_rng(3).standard_normal((4, 100)).astype(np.float32)
    check_interfaces(k, x)
    check_arrays(k, x)
    check_names(x[0])
    check_numbers(x[0])
    check_texts(k, x)
    check_copies(k, x)
    check_signals(k, x)
    check_library()
    check_growth(k, x)
    package.finish()


if __name__ == "__main__":
    main()
