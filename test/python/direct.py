"""Calls that go from the interpreter straight into the library: which do, that all others do what
they did, references, objects that end while they are called.

tier: check
builds: release

PyTorch's part is skipped where it is not installed.
"""
import gc
import importlib.util
import inspect
import os
import subprocess
import sys
import tracemalloc
import warnings

import numpy as np

import package
from package import ROOT, case, croft
from croft import _direct

ODD = """kernel odd(x: in T[R, N], y: out T[R, N], s: out f32[R], a: inout T[R, N], T: f32 | f16) {
    program row: R
    t = f32(x[row, :])
    y[row, :] = t
    s[row] = sum(t)
    a[row, :] = f32(a[row, :]) + t
}
"""


class Watched:
    """How many calls of an object came back to Python."""

    def __init__(self, called):
        self.called = called
        self.count = 0

    def __enter__(self):
        def method(*arguments, **named):
            self.count += 1
            return type(self.called).call_in_python(self.called, *arguments, **named)

        self.called.call_in_python = method  # which it looks for in the object first
        return self

    def __exit__(self, *_):
        del self.called.call_in_python


def outcome(call, *arguments, **named):
    """What a call returns or raises, to be compared."""
    try:
        made = call(*arguments, **named)
    except Exception as error:  # whatever it is
        return type(error), str(error)
    return None if made is None else tuple(map(id, made)) if isinstance(made, tuple) else id(made)


def is_direct(name, called, *arguments, **named):
    """A second call comes back to Python no more, and returns the same."""
    first = called(*arguments, **named)
    with Watched(called) as watched:
        second = called(*arguments, **named)
    case(name, watched.count == 0 and second is first, (watched.count, second))


def described(made):
    """All of an output but where it lies."""
    others = made.strides if isinstance(made, np.ndarray) else (
        made.stride(), made.device, made.requires_grad, made.is_inference(),
        made.is_inference() or made._version)
    return type(made), tuple(made.shape), made.dtype, others, made.tolist()


def makes_directly(name, called, *arguments):
    """Outputs are made like those that Python makes, and nothing else has them."""
    called(*arguments)
    with Watched(called) as watched:
        made = called(*arguments)
    expected = called.call_in_python(*arguments)
    if isinstance(made, tuple):
        same = isinstance(expected, tuple) and list(map(described, made)) == \
            list(map(described, expected)) and sys.getrefcount(made[0]) == 2
    else:
        same = described(made) == described(expected) and sys.getrefcount(made) == 2
    case(name, watched.count == 0 and same, (watched.count, made, expected))


def is_same(name, k, *arguments, **named):
    """A call comes back to Python, which says what it always said."""
    with Watched(k) as watched:
        found = outcome(k, *arguments, **named)
    expected = outcome(k.call_in_python, *arguments, **named)
    case(name, watched.count == 1 and found == expected, (watched.count, found, expected))


def check_arrays(k):
    generator = np.random.default_rng(1)
    for dtype in (np.float32, np.float16):
        for shape in ((5, 33), (2, 3, 40), (1, 127), (0, 8), (4, 1)):
            x = generator.standard_normal(shape).astype(dtype)
            y = np.zeros_like(x)
            name = f"{np.dtype(dtype)}_{'x'.join(map(str, shape))}"
            is_direct(f"direct_{name}", k, x, out=y)
            expected = k.call_in_python(x, out=np.zeros_like(x))
            case(f"result_{name}", np.array_equal(y, expected))
            makes_directly(f"makes_{name}", k, x)
    wide = generator.standard_normal((6, 90)).astype(np.float32)
    y = np.zeros((6, 40), np.float32)
    is_direct("direct_rows_apart", k, wide[:, :40], out=y)
    for turn in range(30):  # more kinds than are kept at a time
        x = generator.standard_normal((2, 10 + turn)).astype(np.float32)
        y = np.zeros_like(x)
        is_direct(f"direct_width_{10 + turn}", k, x, out=y)
    loss = package.example("cross_entropy")
    is_direct("direct_labels", loss, wide, np.arange(6), out=np.zeros(6, np.float32))
    odd = croft.compile(ODD)
    x, a = wide, np.ones_like(wide)
    outputs = (np.zeros_like(wide), np.zeros(6, np.float32))
    is_direct("direct_several_outputs", odd, x, a, out=outputs)
    case("several_outputs", np.allclose(outputs[1], x.sum(1), atol=1e-4)
         and np.allclose(a, 1 + 2 * x, atol=1e-5) and np.array_equal(outputs[0], x),
         (outputs[1] - x.sum(1), a - 1 - 2 * x))
    makes_directly("makes_several_outputs", package.example("rmsnorm_quant"), x, np.ones(90, "f4"))
    makes_directly("makes_rows_apart", k, wide[:, :40])
    makes_directly("makes_labels", loss, wide, np.arange(6))
    is_direct("direct_bound", k.bind(x, out=outputs[0]))


def check_others(k):
    x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
    k(x, out=y)
    read_only = np.zeros_like(y)
    read_only.flags.writeable = False

    class Own(np.ndarray):
        pass

    others = {
        "list": ([x], {"out": [y]}), "tuple_of_one": ([x], {"out": (y,)}),
        "out_is_a_number": ([x], {"out": 1}),
        "read_only": ([x], {"out": read_only}), "bytes": ([bytes(96)], {"out": y}),
        "other_order": ([x.astype(">f4")], {"out": y}), "gaps": ([x[:, ::2]], {"out": y[:, :4]}),
        "gaps_of_bytes": ([np.zeros((3, 8), "f4,i1")["f0"]], {"out": y}),
        "complex": ([x.astype(complex)], {"out": y}), "dates": ([x.astype("M8[s]")], {"out": y}),
        "long_double": ([x.astype(np.longdouble)], {"out": y}),
        "structures": ([np.zeros((3, 8), "f4,i4")], {"out": y}),
        "texts": ([np.zeros((3, 8), "U4")], {"out": y}),
        "objects": ([x.astype(object)], {"out": y}),
        "nine_axes": ([x.reshape(1, 1, 1, 1, 1, 1, 1, 3, 8)], {"out": y}),
        "own_type": ([x.view(Own)], {"out": y}), "out_of_own_type": ([x], {"out": y.view(Own)}),
        "mask": ([np.ma.masked_array(x)], {"out": y}), "another_size": ([x], {"out": y[:1]}),
        "another_type": ([x], {"out": y.astype(np.float16)}),
        "no_axes": ([x[0, 0:1][0]], {"out": y}),
        "meets": ([y], {"out": y[::-1]}), "nothing": ([], {}), "out_alone": ([], {"out": y}),
        "two_inputs": ([x, x], {"out": y}), "an_unknown_name": ([x], {"out": y, "eps": 1.0}),
        "another_name": ([x], {"to": y}), "by_name": ([], {"x": x, "out": y}),
        "a_size": ([x], {"out": y, "N": 8}), "a_stream": ([x], {"out": y, "stream": 0}),
        "many": ([x] * 200, {"out": y}), "many_names": ([x], {f"n{i}": 1 for i in range(200)})}
    for name, (arguments, named) in others.items():
        is_same(f"others_{name}", k, *arguments, **named)
    case("others_without_out", np.array_equal(k(x), k(x, out=y)))
    for name, k, arguments in (
            ("odd_tuple", croft.compile(ODD), ([x, x.copy()], (y, y[:, 0].copy(), y))),
            ("odd_list", croft.compile(ODD), ([x, x.copy()], [y, np.zeros(3, np.float32)]))):
        outcome(k, *arguments[0], out=(y, np.zeros(3, np.float32)))
        is_same(f"others_{name}", k, *arguments[0], out=arguments[1])


def check_refused_writes_nothing(k):
    x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
    k(x, out=y)
    y[:] = 0
    outcome(k, x, out=y[:2])
    outcome(k, x, x, out=y)
    case("refused_writes_nothing", not y.any())


def check_references(k):
    x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
    d, odd = k.bind(x, out=y), croft.compile(ODD)
    outputs, a = (np.zeros_like(x), np.zeros(3, np.float32)), np.ones_like(x)
    watched = [x, y, d, k, None, "out", np.ndarray, tuple, outputs, outputs[0], a, x.dtype, False]
    calls = [lambda: k(x, out=y), d, lambda: outcome(k, x, out=y[:1]), lambda: k(x, out=[y]),
             lambda: odd(x, a, out=outputs), lambda: outcome(k, *[x] * 50)]
    for number, call in enumerate(calls):
        call(), call()
        gc.collect()
        before = [sys.getrefcount(one) for one in watched]
        for _ in range(1000):
            call()
        gc.collect()
        after = [sys.getrefcount(one) for one in watched]
        case(f"references_{number}", all(abs(one - two) < 20 for one, two in zip(before, after)),
             list(zip(before, after)))


def check_made(k):
    """What is made and dropped, or refused, leaves nothing."""
    x, quant = np.ones((3, 800), np.float32), package.example("rmsnorm_quant")
    w = np.ones(800, np.float32)

    def calls():
        for _ in range(300):
            k(x)
            quant(x, w)
            outcome(k, x[:, ::2])

    calls()
    tracemalloc.start()
    calls()
    before = tracemalloc.get_traced_memory()[0]
    calls()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    case("made_and_dropped", after - before < 20000, after - before)


def check_objects(k):
    x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
    for kind in (croft.Kernel, croft.Bound):
        found = outcome(kind.__new__(kind))
        case(f"not_made_{kind.__name__}", found[0] in (TypeError, AttributeError), found)

    class Counting(croft.Kernel):
        calls = 0

        def __call__(self, *arguments, **named):
            Counting.calls += 1
            return super().__call__(*arguments, **named)

    class Named(croft.Kernel):
        pass

    own, named = Counting(k.program), Named(k.program)
    for _ in range(3):
        own(x, out=y)
        y[:] = 0
        named(x, out=y)
    case("own_call_of_a_subclass", Counting.calls == 3)
    case("a_subclass_without", np.allclose(y, 1 / 8))
    case("signature", str(inspect.signature(k)) == "(*arguments: 'Any', out: 'Any' = None, "
         "**named: 'Any') -> 'Any'", inspect.signature(k))
    case("dunder_call", k.__call__(x, out=y) is y and callable(k))
    found = outcome(k.bind(x, out=y), 1)
    case("bound_takes_nothing", found[0] is TypeError, found)


def python(code):
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, timeout=120,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    return f"status {done.returncode}\n{done.stdout}"


HEAD = f"""
import ctypes, gc, sys
import numpy as np
import croft
k = croft.load({str(ROOT / "examples/softmax.croft")!r})
x, y = np.ones((3, 8), np.float32), np.zeros((3, 8), np.float32)
k(x, out=y), k(x, out=y)
d = k.bind(x, out=y)
d()
"""
ENDINGS = {
    # Untracked, so it ends while the dictionaries of a cycle are cleared; what it calls is cleared.
    "called_while_it_is_cleared": """
class Last:
    __slots__ = ()
    def __del__(self):
        for address in addresses:
            one = ctypes.cast(address, ctypes.py_object).value
            try:
                said.append("called")
                one(x, out=y) if type(one) is croft.Kernel else one()
            except Exception as error:
                said.append(type(error).__name__)
said = []
k = croft.Kernel(k.program)
k(x, out=y), k(x, out=y)
d = k.bind(x.copy(), out=y.copy())
d()
addresses = [id(k), id(d)]
d.__dict__["first"], k.__dict__["last"] = Last(), Last()
k.us, d.us = [k, d], [k, d]
del k, d
gc.collect()
assert len(said) > 0, said
""",
    "called_by_a_finalizer": """
class Friend:
    def __del__(self):
        kept.append((self.k, self.d))
kept = []
friend = Friend()
friend.k, friend.d = k, d
k.friend = d.friend = friend
del friend, k, d
gc.collect()
(k, d), = kept
for turn in range(3):
    y[:] = 0
    assert k(x, out=y) is y and np.allclose(y, 1 / 8)
    y[:] = 0
    d()
    assert np.allclose(y, 1 / 8)
""",
    "called_at_the_end": """
class Late:
    def __init__(self): self.k, self.d, self.x, self.y = k, d, x, y
    def __del__(self):
        self.k(self.x, out=self.y), self.d()
sys.late = Late()
""",
    "many_end": """
for turn in range(200):
    one = croft.Kernel(k.program)
    one(x, out=y), one(x, out=y)
    bound = one.bind(x, out=y)
    bound()
    if turn % 2:
        one.me, bound.me = one, bound
""",
}
ELSEWHERE = """
import sys
sys.abiflags = "t"
""" + HEAD + """
from croft import _direct
assert _direct.table is None and np.allclose(y, 1 / 8)
assert k(x, out=y) is y and np.allclose(k(x), y) and d() is None
try:
    k(x, x)
except TypeError:
    print("done")
"""
INNER = """
import _xxsubinterpreters as interpreters
inner = interpreters.create()
try:
    interpreters.run_string(inner, %r)
except interpreters.RunFailedError as error:
    print(error)
interpreters.destroy(inner)
k(x, out=y), d()
print("done")
"""
INSIDE = f"""
import array, sys
sys.path[:] = {[str(ROOT / "python"), *sys.path]!r}
import croft
k = croft.load({str(ROOT / "examples/softmax.croft")!r})
x = memoryview(array.array("f", [1] * 24)).cast("B").cast("f", (3, 8))
y = array.array("f", [0] * 24)
z = memoryview(y).cast("B").cast("f", (3, 8))
k(x, out=z), k(x, out=z)
d = k.bind(x, out=z)
d()
assert abs(y[3] - 1 / 8) < 1e-6
"""


def check_endings():
    for name, code in ENDINGS.items():
        said = python(HEAD + code + "print('done')")
        case(name, said == "status 0\ndone\n", said)
    said = python(ELSEWHERE)
    case("where_calls_are_not_taken", said == "status 0\ndone\n", said)
    if importlib.util.find_spec("_xxsubinterpreters") is not None:
        said = python(HEAD + INNER % INSIDE)
        case("in_a_subinterpreter", said == "status 0\ndone\n", said)


# ---- PyTorch ----

def check_torch(k):
    import torch
    x, y = torch.randn(5, 33), torch.zeros(5, 33)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        one = x.to(dtype)
        is_direct(f"torch_{str(dtype)[6:]}", k, one, out=torch.zeros_like(one))
        makes_directly(f"torch_makes_{str(dtype)[6:]}", k, one)
    is_direct("torch_three_axes", k, x.reshape(5, 3, 11), out=y.reshape(5, 3, 11))
    for shape in ((0, 8), (4, 1), (1, 127), (2, 3, 40)):
        makes_directly(f"torch_makes_{shape}", k, torch.randn(shape))
    makes_directly("torch_makes_rows_apart", k, x[:, :20])
    makes_directly("torch_makes_several", package.example("rmsnorm_quant"), x, torch.ones(33))
    is_direct("torch_bound", k.bind(x, out=y))
    before = y._version
    k(x, out=y)
    k.bind(x, out=y)()
    case("torch_versions", y._version == before + 2 and x._version == 0)
    odd, a = croft.compile(ODD), torch.zeros(5, 33)
    outputs = (torch.zeros(5, 33), torch.zeros(5))
    is_direct("torch_several_outputs", odd, x, a, out=outputs)
    case("torch_versions_of_several", (a._version, outputs[0]._version, outputs[1]._version,
                                       x._version) == (2, 2, 2, 0))
    norm = package.example("rmsnorm")
    with torch.no_grad():
        weight = torch.nn.Parameter(torch.ones(33))
        is_direct("torch_parameter", norm, x, weight, out=y)
        is_direct("torch_parameter_first", norm, torch.nn.Parameter(x), weight, out=y)
    is_same("torch_parameter_in_grad_mode", norm, x, weight, out=y)
    with torch.inference_mode():
        inferred = torch.zeros(5, 33)
        is_direct("torch_inference", k, x, out=inferred)
        is_direct("torch_inference_bound", k.bind(x, out=inferred))
        makes_directly("torch_makes_inference", k, x)
    before = sys.getrefcount(y), sys.getrefcount(x)
    for _ in range(1000):
        k(x, out=y)
    case("torch_references", (sys.getrefcount(y), sys.getrefcount(x)) == before)
    w = torch.ones(5, 33, requires_grad=True)
    product = w * y
    k(x, out=y)
    case("torch_saved_tensors", outcome(product.sum().backward)[0] is RuntimeError)


def check_torch_others(k):
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.overrides import TorchFunctionMode
    x, y = torch.randn(4, 8), torch.zeros(4, 8)
    k(x, out=y)

    class Own(torch.Tensor):
        pass

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nested = torch.nested.nested_tensor([x[0], x[1]])
    others = {
        "requires_grad": (x.clone().requires_grad_(), y),
        "out_requires_grad": (x, y.clone().requires_grad_()),
        "meta": (x.to("meta"), y), "out_on_meta": (x, y.to("meta")),
        "sparse": (x.to_sparse(), y), "nested": (nested, y), "own_type": (x.as_subclass(Own), y),
        "out_of_own_type": (x, y.as_subclass(Own)), "complex": (x.to(torch.complex64), y),
        "a_negative_view": (torch.randn(4, 1, dtype=torch.complex64).conj().imag, y[:, :1]),
        "gaps": (torch.randn(4, 16)[:, ::2], y),
        "numpy": (x.numpy(), y), "numpy_out": (x, y.numpy()),
        "a_number": (1, y), "another_size": (x, y[:1]), "no_axes": (x.sum(), y)}
    for name, (given, out) in others.items():
        is_same(f"torch_others_{name}", k, given, out=out)
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, kinds, arguments=(), named=None):
            seen.append(str(function))
            return function(*arguments, **(named or {}))

    with Mode():
        is_same("torch_others_function_mode", k, x, out=y)
        bound = k.bind(x, out=y)
        with Watched(bound) as watched:
            bound()
        case("torch_others_function_mode_bound", watched.count == 1)
    with FakeTensorMode() as mode:
        fake = mode.from_tensor(x)
        is_same("torch_others_fake", k, fake, out=y)
        is_same("torch_others_fake_out", k, x, out=fake)
        with Watched(k) as watched:
            outcome(k, x)
        case("torch_others_dispatch_mode_makes", watched.count == 1)
    with torch.autograd.forward_ad.dual_level():
        is_same("torch_others_forward_mode", k, x, out=y)
        is_same("torch_others_dual", k, torch.autograd.forward_ad.make_dual(x, x), out=y)
    for name, transform in (("vmap", torch.vmap), ("grad", torch.func.grad),
                            ("functionalize", torch.func.functionalize)):
        def inside(one, name=name):
            is_same(f"torch_others_{name}", k, one, out=y)
            return one.sum()
        transform(inside)(x)

    @torch.compile
    def compiled(x, y):
        k(x * 2, out=y)
        return y + 1

    expected = torch.softmax(x * 2, -1) + 1
    for _ in range(2):
        case("torch_compile", torch.allclose(compiled(x, y), expected, atol=1e-6))
    is_direct("torch_still_direct", k, x, out=y)


def main():
    k = package.example("softmax")
    case("calls_are_taken", _direct.table is not None or sys.version_info < (3, 10))
    if _direct.table is not None:
        check_arrays(k)
        check_others(k)
        check_refused_writes_nothing(k)
        check_references(k)
        check_made(k)
    check_objects(k)
    check_endings()
    if importlib.util.find_spec("torch") is not None and _direct.table is not None:
        check_torch(k)
        check_torch_others(package.example("softmax"))
    package.finish()


if __name__ == "__main__":
    main()
