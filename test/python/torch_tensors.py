"""Kernels on tensors of PyTorch: by the exchange table and without it, by every entry, gradients,
operators, torch.compile; where there is a CUDA device, its streams and graphs.

tier: check
builds: release
"""
import importlib.util
import sys
import threading

if importlib.util.find_spec("torch") is None:
    print("PyTorch is not installed")
    sys.exit(77)

import numpy as np  # noqa: E402
import torch  # noqa: E402

import package  # noqa: E402
from package import case, croft, refused  # noqa: E402
from croft import _arrays, _tensors  # noqa: E402


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
    refused("without_memory", "object", lambda: k(torch.empty(3, 3, device="meta")))
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
        case("inference_mode_is_fine", torch.allclose(k(x), torch.softmax(x, -1)))


def check_operator(k, device):
    softmax = croft.torch_operator(k, f"croft_test_{device}::softmax")
    norm = croft.torch_operator(package.example("rmsnorm"), f"croft_test_{device}::rmsnorm")
    quant = croft.torch_operator(package.example("rmsnorm_quant"), f"croft_test_{device}::quant")
    case("schema", str(norm.default._schema).endswith(
        "::rmsnorm(Tensor x, Tensor w, *, Scalar? eps=None) -> Tensor"), norm.default)
    x, w = torch.randn(4, 64, device=device), torch.randn(64, device=device)
    y = torch.empty_like(x)
    softmax.out(x, y)
    case("operator", torch.equal(softmax(x), y) and torch.allclose(y, torch.softmax(x, -1)))
    case("operator_with_scalars", torch.allclose(norm(x, w, eps=1.0), x * w * torch.rsqrt(
        (x * x).mean(-1, keepdim=True) + 1.0), atol=1e-6))
    for operator, words in ((softmax, (x,)), (norm, (x, w)), (quant, (x, w))):
        torch.library.opcheck(operator.default, words)
    torch.library.opcheck(softmax.out, (x, y))
    case("opcheck", True)
    grad = x.clone().requires_grad_()
    refused("operator_gradient", "requires-grad", lambda: softmax(grad))
    with torch.no_grad():
        case("operator_no_grad", torch.equal(softmax(grad), softmax(x)))
    check_compiled(softmax, norm, device, x, w, grad)


def check_compiled(softmax, norm, device, x, w, grad):
    def block(x, w):
        y = torch.empty_like(x)
        softmax.out(norm(x * 2, w, eps=1e-6), y)
        return softmax(y) + 1

    compiled = torch.compile(block, fullgraph=True, dynamic=True)
    case("compiled", torch.allclose(compiled(x, w), block(x, w), atol=1e-6))
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    x2, w2 = torch.randn(7, 33, device=device), torch.randn(33, device=device)
    case("compiled_for_other_sizes", torch.allclose(compiled(x2, w2), block(x2, w2), atol=1e-6)
         and torch._dynamo.utils.counters["stats"]["unique_graphs"] == before)
    try:
        compiled(grad, w)
        case("compiled_gradient", False, "nothing was refused")
    except Exception as error:  # Dynamo's, around ours
        case("compiled_gradient", "requires grad" in str(error), error)


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


def check_threads(k):
    wrong = []

    def work(number):
        torch.manual_seed(number)
        for rows in range(1, 9):
            x = torch.randn(rows, 20 + number)
            if not torch.allclose(k(x), torch.softmax(x, -1), atol=1e-6):
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
    check_operator(package.example("softmax"), "cuda")
    x, y = torch.randn(64, 4096, device="cuda"), torch.empty(64, 4096, device="cuda")
    refused("memory_of_two_devices", "tensor-device", lambda: k(x, out=y.cpu()))
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
    for name, kernel in (("call", lambda: k(x, out=y)), ("bound", k.bind(x, y)),
                         ("makes", lambda: y.copy_(k(x)))):
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
    operator = croft.torch_operator(k, "croft_test_graphs::softmax")
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
    check_operator(k, "cpu")
    without_table(package.example("softmax"))
    check_threads(package.example("softmax"))
    check_cuda(k)
    package.finish()


if __name__ == "__main__":
    main()
