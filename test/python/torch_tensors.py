"""Kernels on tensors of PyTorch: by the exchange table and without it, by every entry, gradients,
operators, torch.compile; where there is a CUDA device, its streams and graphs.

tier: check
builds: release
"""
import ctypes
import gc
import importlib.util
import os
import sys
import threading
import weakref

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.autograd.forward_ad as forward_ad  # noqa: E402

import package  # noqa: E402
from package import case, croft, refused  # noqa: E402
from croft import _arrays, _shim, _tensors, _torch  # noqa: E402
from croft._shim import Shim  # noqa: E402


def check_entries(k, device, how):
    """Each entry twice: the second call is the one that hands tensors over unopened."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x = torch.randn(6, 100, device=device).to(dtype)
        expected = torch.softmax(x.float(), -1)
        bound_to, y = torch.zeros_like(x), torch.zeros_like(x)
        made = [k(x), k(x), k(x, out=y)]
        y.zero_()
        made.append(k(x, out=y))
        k.bind(x, bound_to)()
        made.append(bound_to)
        bound = k.bind(x)
        bound()
        made.append(bound.out)
        near = 2e-6 if dtype == torch.float32 else 2.0 ** -8
        case(f"{how}_entries_{str(dtype)[6:]}", made[2] is y and all(
            one.dtype == dtype and one.device == x.device
            and (one.float() - expected).abs().max() < near for one in made), made)
    x = torch.randn(2, 3, 50, device=device)
    case(f"{how}_leading_axes", all(torch.allclose(k(x), torch.softmax(x, -1), atol=1e-6)
                                    for _ in range(2)))
    case(f"{how}_shapes_are_not_mixed_up", all(k(one).shape == one.shape for one in (
        x, x.reshape(6, 50), x, x.reshape(3, 2, 50), x.reshape(1, 6, 50), x[:1], x)))
    case(f"{how}_rows_apart", all(torch.allclose(k(x[..., :40]), torch.softmax(x[..., :40], -1),
                                                 atol=1e-6) for _ in range(2)))
    x = x[:, 0]
    for name, call in (("gaps", lambda: k(x[:, ::2])), ("gaps_again", lambda: k(x[:, ::2]))):
        refused(f"{how}_{name}", "stride-last", call, "x:")
    y = torch.zeros(2, 50, device=device)
    refused(f"{how}_outputs_that_meet", "size-mismatch", lambda: k(x, out=y[:1]))
    case(f"{how}_nothing_is_written_then", not y.any())


def check_labels(device, how):
    loss = package.example("cross_entropy")
    x, labels = torch.randn(4, 5, 30, device=device), torch.randint(0, 30, (4, 5), device=device)
    labels[0, 0] = -100
    expected = torch.nn.functional.cross_entropy(x.reshape(20, 30), labels.reshape(20),
                                                 reduction="none").reshape(4, 5)
    case(f"{how}_labels", all(torch.allclose(loss(x, labels), expected, atol=1e-5)
                              for _ in range(2)))
    quant = package.example("rmsnorm_quant")
    w = torch.ones(30, device=device)
    made = [quant(x, w) for _ in range(2)]
    given = (torch.empty_like(made[0][0]), torch.empty_like(made[0][1]))
    returned = quant(x, w, out=given)
    case(f"{how}_several_outputs", returned is given and all(
        torch.equal(one[0], given[0]) and torch.equal(one[1], given[1]) for one in made))


def check_mixed(k):
    x = torch.randn(3, 8)
    for _ in range(2):
        out = np.zeros((3, 8), np.float32)
        k(x, out=out)
        case("tensor_into_array", np.allclose(out, torch.softmax(x, -1)), out)
        y = torch.zeros(3, 8)
        k(x.numpy(), out=y)
        case("array_into_tensor", torch.allclose(y, torch.softmax(x, -1)), y)
    refused("not_an_output", "object", lambda: k(x, out="y"))
    refused("sparse", "object", lambda: k(torch.eye(3).to_sparse()))
    refused("without_memory", "object", lambda: k(torch.empty(3, 3, device="meta")), "`x`")
    try:
        k(torch.empty(3, 3, device="meta"))
    except croft.CroftError as error:
        case("without_pytorchs_own_trace", len(str(error).splitlines()) == 3, error)
    parameter = torch.nn.Parameter(x.clone())
    with torch.no_grad():
        case("parameters", all(torch.equal(k(parameter), k(x)) for _ in range(2)))


def check_gradients(k):
    x, y = torch.randn(3, 8, requires_grad=True), torch.zeros(3, 8)
    k(x.detach(), out=y)
    y.zero_()
    for name, call in (("made", lambda: k(x)), ("given", lambda: k(x, out=y)),
                       ("output", lambda: k(y, out=x)), ("bound", lambda: k.bind(x, y))):
        refused(f"gradient_{name}", "requires-grad", call, "torch.no_grad()")
    case("nothing_is_written_for_a_gradient", not y.any())
    with torch.no_grad():
        bound = k.bind(x, y)
        bound()
        case("no_grad_is_fine", torch.allclose(k(x), y) and torch.equal(k(x, out=y), y)
             and not y.requires_grad)
    refused("bound_call_in_grad_mode", "requires-grad", bound)
    with torch.inference_mode():
        case("inference_mode_is_fine", torch.allclose(k(x), torch.softmax(x, -1))
             and k(x, out=torch.empty(3, 8)).is_inference())
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(y, torch.ones_like(y))
        for name, call in (("made", lambda: k(dual)), ("given", lambda: k(dual, out=y.clone())),
                           ("bound", lambda: k.bind(dual))):
            refused(f"tangent_{name}", "requires-grad", call, "tangent")
        case("forward_mode_without_a_tangent", torch.equal(k(y), k(y.clone())))


HALVES = """kernel halve(x: inout f32[R, N]) {
    program row: R
    x[row, :] = 0.5 * x[row, :]
}
"""


def check_written(k):
    """What was saved for a derivative and is written then is gone, and PyTorch knows it."""
    x, halve = torch.randn(3, 8), croft.compile(HALVES)
    given, inplace, bound = torch.ones(3, 8), torch.ones(3, 8), torch.ones(3, 8)
    d = k.bind(x, bound)
    ways = {"given": (given, lambda: k(x, out=given)), "inout": (inplace, lambda: halve(inplace)),
            "bound": (bound, d), "list": (given, lambda: k(x, out=[given])),
            "array": (given, lambda: k(x.numpy(), out=given))}
    for turn in ("first", "again"):
        for name, (tensor, call) in ways.items():
            w = torch.ones(8, requires_grad=True)
            loss, before = (w * tensor).sum(), tensor._version
            call()
            try:
                loss.backward()
                case(f"written_{name}_{turn}", False, "a derivative of what is gone")
            except RuntimeError as error:
                case(f"written_{name}_{turn}", tensor._version == before + 1
                     and "modified by an inplace operation" in str(error), error)
    case("inputs_are_not_written", x._version == 0 and k(x)._version == 0, x._version)


def check_views(k):
    """Views whose memory has other numbers than they."""
    z = torch.randn(3, 1, dtype=torch.complex64)
    refused("negated_output", "object",
            lambda: k(torch.zeros(3, 8), out=torch._neg_view(torch.zeros(3, 8))))
    for name, view in {"negated": torch._neg_view(torch.randn(3, 8)),
                       "imaginary": z.conj().imag}.items():
        for turn in range(2):
            refused(f"{name}_{turn}", "object", lambda: k(view), "resolve_neg()")
        refused(f"{name}_bound", "object", lambda: k.bind(view))
        case(f"{name}_resolved", torch.allclose(k(view.resolve_neg()), torch.softmax(view, -1)))
    k(torch.zeros(3, 1))  # from here on tensors are handed over unopened
    case("imaginary_is_handed_over", torch.equal(k(z.imag), torch.ones(3, 1)))
    refused("imaginary_is_not_handed_over", "object", lambda: k(z.conj().imag), "resolve_neg()")
    refused("imaginary_output", "object",
            lambda: k(torch.zeros(3, 1), out=torch.zeros_like(z).conj().imag), "resolve_neg()")
    try:
        k(torch.eye(3).to_sparse())
    except croft.CroftError as error:
        case("refusals_have_no_stack", "frame #" not in str(error), error)


def thrown(name, call, *words):
    """The call raises what PyTorch makes of an operator's refusal, with these words in it."""
    try:
        call()
    except RuntimeError as error:
        missing = [word for word in words if word not in str(error)]
        case(name, not missing, f"not in it: {missing}\n{error}")
    else:
        case(name, False, f"nothing was thrown, expected {words}")


def check_operator(k, device, how):
    space = f"croft_test_{device}_{how}"
    softmax = croft.torch_operator(k, f"{space}::softmax")
    norm = croft.torch_operator(package.example("rmsnorm"), f"{space}::rmsnorm")
    quant = croft.torch_operator(package.example("rmsnorm_quant"), f"{space}::quant")
    case(f"{how}_schema", str(norm.default._schema).endswith(
        "::rmsnorm(Tensor x, Tensor w, *, float? eps=None) -> Tensor"), norm.default)
    x, w = torch.randn(4, 64, device=device), torch.randn(64, device=device)
    y = torch.empty_like(x)
    for _ in range(2):
        softmax.out(x, y)
        case(f"{how}_operator", torch.equal(softmax(x), y)
             and torch.allclose(y, torch.softmax(x, -1)))
    for eps in (1.0, 2, 1.0):
        expected = x * w * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
        case(f"{how}_operator_with_scalars", torch.allclose(norm(x, w, eps=eps), expected,
                                                            atol=1e-6))
    for eps in range(1, 30):  # more than an operator keeps functions for
        norm.out(x, w, y, eps=eps)
        if not torch.equal(y, norm(x, w, eps=eps)):
            case(f"{how}_many_scalars", False, eps)
    several = quant(x, w)
    given = tuple(map(torch.zeros_like, several))
    quant.out(x, w, *given)
    case(f"{how}_operator_several", all(map(torch.equal, several, given)))
    for operator, words in ((softmax, (x,)), (norm, (x, w)), (quant, (x, w))):
        torch.library.opcheck(operator.default, words)
    torch.library.opcheck(softmax.out, (x, y))
    case(f"{how}_opcheck", True)
    check_operator_refusals(softmax, norm, x, w, how)
    check_versions(softmax, x, device, how)
    check_transforms(norm, x, w, how)
    check_compiled(softmax, norm, x, w, how)
    with torch.inference_mode():
        case(f"{how}_operator_inference_mode", torch.equal(softmax(x), torch.softmax(x, -1))
             or torch.allclose(softmax(x), torch.softmax(x, -1), atol=1e-6))


def check_operator_refusals(softmax, norm, x, w, how):
    grad, y = x.clone().requires_grad_(), torch.zeros_like(x)
    for name, call in (("made", lambda: softmax(grad)), ("given", lambda: softmax.out(grad, y)),
                       ("second", lambda: norm(x, w.clone().requires_grad_())),
                       ("output", lambda: softmax.out(x, grad))):
        thrown(f"{how}_operator_gradient_{name}", call, "requires grad", "torch.no_grad()")
    with torch.no_grad():
        case(f"{how}_operator_no_grad", torch.equal(softmax(grad), softmax(x)))
    thrown(f"{how}_operator_gaps", lambda: softmax(x[:, ::2]), "[stride-last]", "x:", "found: 2")
    thrown(f"{how}_operator_types", lambda: softmax.out(x, y.half()), "y:", "f16")
    thrown(f"{how}_operator_type", lambda: softmax(x.to(torch.complex64)), "x:")
    thrown(f"{how}_operator_sizes", lambda: softmax.out(x, y[:1]), "[size-mismatch]")
    thrown(f"{how}_operator_two_errors_are_told", lambda: norm(x, w[:8]), "[size-mismatch]", "w:")
    refused(f"{how}_operator_on_two_devices", "tensor-device", lambda: norm(x, w.to("meta")))
    case(f"{how}_operator_nothing_is_written", not y.any())


def check_versions(softmax, x, device, how):
    """What was written counts a version, so that autograd sees that a saved tensor has changed."""
    y = torch.zeros_like(x)
    before = y._version
    softmax.out(x, y)
    case(f"{how}_operator_counts_versions", y._version == before + 1 and x._version == 0,
         (y._version, before, x._version))
    saved, w = torch.zeros_like(x), torch.ones_like(x).requires_grad_()
    product = (w * saved).sum()
    softmax.out(x, saved)
    thrown(f"{how}_operator_saved_tensor_changed", product.backward, "modified by an inplace")
    with torch.inference_mode():
        inferred = torch.zeros_like(x)
        softmax.out(x, inferred)
    softmax.out(x, inferred)
    case(f"{how}_operator_inference_tensor", torch.equal(inferred, y))


def check_transforms(norm, x, w, how):
    """Under torch.func a derivative is refused, whatever is around or inside; without one it goes
    on."""
    func, y, plain = torch.func, torch.zeros_like(x), norm(x, w)
    for name, call in (
            ("grad", lambda: func.grad(lambda z: norm(z, w).sum())(x)),
            ("out_grad", lambda: func.grad(lambda z: (norm.out(z, w, y), z.sum())[1])(x)),
            ("jvp", lambda: func.jvp(lambda z: norm(z, w), (x,), (x,))),
            ("vmap_of_grad", lambda: func.vmap(func.grad(lambda z: norm(z, w).sum()))(
                torch.stack([x, x]))),
            ("grad_of_vmap", lambda: func.grad(lambda z: func.vmap(lambda one: norm(one, w))(
                torch.stack([z, z])).sum())(x))):
        thrown(f"{how}_transform_{name}", call, "requires-grad")
    case(f"{how}_transform_writes_nothing", not y.any())
    for name, made in (
            ("constants", func.grad(lambda z: (norm(x, w) * z).sum())(x)),
            ("detached", func.grad(lambda z: (norm(z.detach(), w) * z).sum())(x)),
            ("twice", func.grad(lambda u: func.grad(lambda z: (norm(u.detach(), w) * z * u).sum())(
                x).sum())(x)),
            ("jvp_of_constants", func.jvp(lambda z: norm(x, w) * z, (x,), (y + 1,))[1]),
            ("vmap", func.vmap(lambda z: norm(z, w))(torch.stack([x, x]))[1]),
            ("vmap_of_detached", func.vmap(func.grad(lambda z: (norm(z.detach(), w) * z).sum()))(
                torch.stack([x, x]))[1]),
            ("afterwards", norm(x, w))):
        case(f"{how}_transform_{name}", torch.equal(made, plain), made)


def check_ownership(how):
    """Each tensor that an operator was given or made goes when it is forgotten, whatever came of
    the call: its memory is an array's, whose references are counted."""
    operator = croft.torch_operator(package.example("rmsnorm"), f"croft_test_{how}_owns::rmsnorm")
    array, weights = np.ones((3, 8), np.float32), np.ones(8, np.float32)
    before = sys.getrefcount(array), sys.getrefcount(weights)

    def calls():
        x, w, y = torch.from_numpy(array), torch.from_numpy(weights), torch.zeros(3, 8)
        kept = operator(x, w)
        operator.out(x, w, y, eps=1e-3)
        for wrong in ((x[:, ::2], w), (x, w[:3]), (x, w.half()), (x, x.to_sparse())):
            try:
                operator(*wrong)
                case(f"{how}_operator_owns_refused", False, wrong)
            except RuntimeError:
                pass
        return weakref.ref(kept), weakref.ref(y)

    gone = [one for _ in range(3) for one in calls()]
    gc.collect()
    case(f"{how}_operator_owns_nothing", (sys.getrefcount(array), sys.getrefcount(weights))
         == before and not any(one() is not None for one in gone), before)


def check_functions_in_c(k):
    """More operators than libcroft has functions; the others are in Python, and nobody sees it."""
    case("the_interface_was_found", (_shim.table() is not None)
         == hasattr(ctypes.CDLL(torch._C.__file__), "torch_library_impl"), torch.__version__)
    x = torch.randn(2, 16)
    many = [croft.torch_operator(k, f"croft_test_many::softmax{number}") for number in range(70)]
    case("many_operators", all(torch.equal(one(x), k(x)) for one in many))
    made = package.croft.compile(
        "kernel scaled(x: in T[R, N], y: out T[R, N], c: T, T: f32 | f16) {\n"
        "    program row: R\n    y[row, :] = x[row, :] * c\n}\n")
    scaled = croft.torch_operator(made, "croft_test_many::scaled")
    case("a_scalar_of_any_type", "Scalar? c" in str(scaled.default._schema)
         and torch.equal(scaled(x, c=3), x * 3), scaled.default._schema)


def check_fork(operator, how):
    x = torch.randn(2, 16)
    expected = operator(x)
    child = os.fork()
    if child == 0:
        made = [operator(x), operator(x)]
        os._exit(0 if all(torch.equal(one, expected) for one in made) else 1)
    case(f"{how}_operator_in_a_child", os.waitpid(child, 0)[1] == 0)
    case(f"{how}_operator_beside_a_child", torch.equal(operator(x), expected))


def check_compiled(softmax, norm, x, w, how):
    device, grad = x.device, x.clone().requires_grad_()

    def block(x, w):
        y = torch.empty_like(x)
        softmax.out(norm(x * 2, w, eps=1e-6), y)
        return softmax(y) + 1

    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    case(f"{how}_compiled", torch.allclose(compiled(x, w), block(x, w), atol=1e-6))
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    x2, w2 = torch.randn(7, 33, device=device), torch.randn(33, device=device)
    same = torch.allclose(compiled(x2, w2), block(x2, w2), atol=1e-6)
    case(f"{how}_compiled_for_other_sizes", same
         and torch._dynamo.utils.counters["stats"]["unique_graphs"] == before)
    try:
        compiled(grad, w)
        case(f"{how}_compiled_gradient", False, "nothing was refused")
    except Exception as error:  # Dynamo's, around ours
        case(f"{how}_compiled_gradient", "requires grad" in str(error), error)


def in_python(k):
    """Operators where PyTorch has not the interface for those in C."""
    found, Shim.found = Shim.found, None
    try:
        check_operator(k, "cpu", "in_python")
        check_ownership("in_python")
    finally:
        Shim.found = found


GATED = """kernel gated(x: in f32[R, N], gate: in f32[R, N], bias: in f32[N], y: out f32[R, N]) {
    program row: R
    y[row, :] = x[row, :] * (gate[row, :] + bias[:])
}
"""
TWICE = """kernel twice(x: in f32[R, N], y: out f32[R, 2 * N]) {
    program row: R
    y[row, : N] = x[row, :]
    y[row, N : 2 * N] = x[row, :]
}
"""


def check_open_sizes():
    """Sizes that PyTorch leaves open: those of two inputs that have to be equal, a fixed one that
    is a number which stands for an open one, and one that is made of them."""
    gated = croft.torch_operator(croft.compile(GATED), "croft_test_open::gated")
    twice = croft.torch_operator(croft.compile(TWICE), "croft_test_open::twice")

    def graphs_of(function, many):
        """How many graphs it takes, and whether the sizes seen while tracing are right."""
        torch._dynamo.reset()
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        right = True
        for words in many:
            y, sizes = compiled(*words)
            right = right and tuple(y.shape) == tuple(sizes) and torch.equal(y, function(*words)[0])
        return torch._dynamo.utils.counters["stats"]["unique_graphs"] - before, right

    def rows(width):
        return [(torch.randn(count, width), torch.randn(count, width), torch.randn(width))
                for count in (64, 32, 16, 8)]

    def of_gated(x, gate, bias):
        y = gated(x * 2, gate, bias)
        return y, y.size()

    for width in (1000, *_torch.STAND_INS):
        found = graphs_of(of_gated, rows(width))
        case(f"rows_stay_open_of_{width}", found == (2, True), found)
    found = graphs_of(of_gated, [*rows(40), (torch.randn(24, 24), torch.randn(24, 24),
                                             torch.randn(24))])
    case("equal_sizes_are_two", found[1], found)

    def of_twice(x):
        y = twice(x * 2)
        return y, y.size()

    found = graphs_of(of_twice, [(torch.randn(4, width),) for width in (8, 12, 24)])
    case("sizes_of_formulas_are_right", found[1], found)


def without_table(k):
    """The attributes are read where there is no table: as with a PyTorch before it."""
    found, _tensors.table_of = _tensors.table_of, lambda kind: None
    _tensors.readers.clear()
    _arrays.objects.clear()
    try:
        check_entries(k, "cpu", "without_table")
        check_labels("cpu", "without_table")
        case("without_table_nothing_is_handed_over", not k.fast, k.fast)
        refused("without_table_sparse", "object", lambda: k(torch.eye(3).to_sparse()))
    finally:
        _tensors.table_of = found
        _tensors.readers.clear()
        _arrays.objects.clear()


def check_threads(k, operator):
    wrong = []

    def work(number):
        torch.manual_seed(number)
        for rows in range(1, 9):
            x = torch.randn(rows, 20 + number)
            if not all(torch.allclose(call(x), torch.softmax(x, -1), atol=1e-6)
                       for call in (k, operator)):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    case("threads_of_tensors", not wrong, wrong)


def check_cuda(k):
    if not torch.cuda.is_available():
        print("skip cuda: no CUDA device", flush=True)
        return
    check_entries(package.example("softmax"), "cuda", "cuda")
    check_labels("cuda", "cuda")
    check_operator(package.example("softmax"), "cuda", "in_c")
    x, y = torch.randn(64, 4096, device="cuda"), torch.empty(64, 4096, device="cuda")
    refused("memory_of_two_devices", "tensor-device", lambda: k(x, out=y.cpu()))
    two = croft.torch_operator(k, "croft_test_devices::softmax")
    thrown("operator_on_two_devices", lambda: two.out(x, y.cpu()), "[tensor-device]")
    k(x, out=y)  # compiled here: that takes longer than what the stream is given to do
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)  # on its way when the kernel is put behind it
        x.mul_(0)
        k(x, out=y)
        waiting = not stream.query()
    stream.synchronize()
    case("current_stream", waiting and torch.allclose(y, torch.full_like(y, 1 / 4096)))
    x.copy_(torch.randn_like(x))
    expected = torch.softmax(x, -1)
    operator = croft.torch_operator(k, "croft_test_graphs::softmax")
    operator.out(x, y)
    for name, kernel in (("call", lambda: k(x, out=y)), ("bound", k.bind(x, y)),
                         ("makes", lambda: y.copy_(k(x))),
                         ("operator", lambda: operator.out(x, y)),
                         ("operator_makes", lambda: y.copy_(operator(x)))):
        y.zero_()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            kernel()
        untouched = not y.any()
        graph.replay()
        torch.cuda.synchronize()
        case(f"graph_{name}", untouched and torch.allclose(y, expected, atol=1e-6))
    bound = package.example("softmax").bind(x, y)
    y.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound()  # its first launch
    graph.replay()
    torch.cuda.synchronize()
    case("first_launch_is_captured", torch.allclose(y, expected, atol=1e-6))
    reduced = torch.compile(lambda x: operator(x) * 2, fullgraph=True, mode="reduce-overhead")
    for _ in range(3):
        made = reduced(x).clone()
    case("compiled_into_graphs", torch.allclose(made, 2 * expected, atol=1e-6))
    view = torch.from_dlpack(x)
    case("waits_for_others", torch.allclose(torch.as_tensor(k(OnlyDlpack(view), out=y)), expected,
                                            atol=1e-6))


class OnlyDlpack:
    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return tuple(map(int, self.tensor.__dlpack_device__()))

    def __dlpack__(self, **words):
        return self.tensor.__dlpack__(**words)


def main():
    torch.manual_seed(package.command.SEED)
    k = package.example("softmax")
    case("there_is_a_table", _tensors.table_of(torch.Tensor) is not None)
    check_entries(k, "cpu", "table")
    case("handed_over_unopened", list(k.fast) == [torch.Tensor])
    check_labels("cpu", "table")
    check_mixed(k)
    check_gradients(k)
    check_written(k)
    check_views(package.example("softmax"))
    check_operator(k, "cpu", "in_c")
    check_open_sizes()
    check_ownership("in_c")
    in_python(package.example("softmax"))
    without_table(package.example("softmax"))
    operator = croft.torch_operator(package.example("softmax"), "croft_test_threads::softmax")
    check_threads(package.example("softmax"), operator)
    check_fork(operator, "in_c")
    check_functions_in_c(k)
    check_cuda(k)
    package.finish()


if __name__ == "__main__":
    main()
