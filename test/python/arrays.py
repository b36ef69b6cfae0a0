"""Kernels on arrays from Python: every example against its oracle, every way to read an array, what
is allocated, and what is refused.

tier: check
builds: release

PyTorch's tensors are those of torch_tensors.py.
"""
import array
import gc

import numpy as np

import capsules
import examples
import package
from package import case, croft, misused, refused

TYPES = {"f32": np.float32, "f16": np.float16}


class BrainFloat:
    """As an array of ml_dtypes: two bytes that NumPy does not know, with a name of their own."""

    class dtype:
        name = "bfloat16"

    def __init__(self, values):
        self.bits = examples.command.to_bf16(np.ascontiguousarray(values, np.float32))

    @property
    def __array_interface__(self):
        return dict(self.bits.__array_interface__, typestr="<V2")

    def wide(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32)


class OnlyDlpack:
    """An array of NumPy behind DLPack alone."""

    def __init__(self, values):
        self.values = values

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **words):
        return self.values.__dlpack__(**words)


def check_example(name, dtype, width, generator):
    kernel = package.example(name)
    arrays = examples.make_inputs(name, 5, width, dtype, generator, 0.0)
    inputs = [value if value.dtype.kind == "i" else value.astype(TYPES[dtype])
              for value in arrays.values()]
    given = {"N": width} if name in examples.CONSTANT else {}
    made = kernel(*inputs, **given)
    made = made if isinstance(made, tuple) else (made,)
    again = tuple(np.full_like(one, 77) for one in made)
    returned = kernel(*inputs, out=again if len(again) > 1 else again[0], **given)
    expected = examples.oracle(name, arrays)
    moved = examples.sensitivity(name, arrays, expected, generator)
    problems = [] if returned is (again if len(again) > 1 else again[0]) else ["returns another"]
    for key, one, other in zip(examples.EXAMPLES[name][1].split(), made, again):
        if one.tobytes() != other.tobytes():
            problems.append(f"{key}: made and given outputs differ")
        if expected[key].dtype.kind == "i":
            near = np.all(np.abs(expected["quotient"] - one) <= 0.5 + 2.0 ** -12)
            problem = None if near else "integers differ"
        else:
            stored = examples.ROUNDOFF["f32" if (name, key) in examples.F32_OUTPUTS else dtype]
            problem = examples.wrong(one, expected[key], moved[key], examples.ROUNDOFF["f32"],
                                     np.sqrt(width), stored)
        if problem:
            problems.append(f"{key}: {problem}")
    case(f"{name}_{dtype}_{width}", not problems, "; ".join(problems))


def softmax_of(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def near(got, expected, bound=1e-6):
    return got.shape == expected.shape and np.abs(got - expected).max() < bound


def check_readers(k, x):
    expected = k(x)
    case("softmax_is_right", near(expected, softmax_of(x)), expected)
    frozen = x.copy()
    frozen.flags.writeable = False
    case("reads_read_only_arrays", np.array_equal(k(frozen), expected))
    out = np.empty_like(x)
    k(OnlyDlpack(x), out=OnlyDlpack(out))
    case("reads_and_writes_dlpack", np.array_equal(out, expected), out)
    case("makes_numpy_arrays_for_others", isinstance(k(OnlyDlpack(x)), np.ndarray))
    flat = array.array("f", range(12))
    view = memoryview(flat).cast("B").cast("f", (3, 4))
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    case("reads_buffers", np.array_equal(k(view), k(rows)))
    written = array.array("f", bytes(48))
    k(rows, out=memoryview(written).cast("B").cast("f", (3, 4)))
    case("writes_buffers", np.array_equal(np.array(written).reshape(3, 4), k(rows)), written)
    half = BrainFloat(x)
    out = BrainFloat(np.zeros_like(x))
    k(half, out=out)
    case("reads_and_writes_bfloat16", near(out.wide(), softmax_of(half.wide()), 2.0 ** -9),
         out.wide())
    wide = np.random.default_rng(1).standard_normal((4, 200)).astype(np.float32)
    case("rows_may_lie_apart", np.array_equal(k(wide[:, :100]), k(wide[:, :100].copy())))
    half = wide.astype(np.float16)
    case("rows_of_halves_may_lie_apart", np.array_equal(k(half[:, :100]), k(half[:, :100].copy())))
    same = np.broadcast_to(x[0], (3, x.shape[1]))
    case("a_broadcast_is_read", np.array_equal(k(same), np.broadcast_to(expected[0], same.shape)))
    case("no_rows", k(np.empty((0, 7), np.float32)).shape == (0, 7))
    place = x.copy()
    case("in_place", k(place, out=place) is place and np.array_equal(place, expected))


def check_axes(k):
    generator = np.random.default_rng(2)
    x = generator.standard_normal((2, 3, 5, 17)).astype(np.float32)
    case("leading_axes_fold", np.array_equal(k(x), k(x.reshape(30, 17)).reshape(x.shape)))
    refused("axes_that_do_not_fold", "axes-fold", lambda: k(x.transpose(1, 0, 2, 3)))
    loss = package.example("cross_entropy")
    labels = generator.integers(0, 17, (2, 3, 5))
    case("labels_of_64_bits_fold", labels.dtype == np.int64 and np.array_equal(
        loss(x, labels), loss(x.reshape(30, 17), labels.reshape(30)).reshape(2, 3, 5)))
    case("labels_of_32_bits", np.array_equal(loss(x, labels), loss(x, labels.astype(np.int32))))
    refused("axes_of_two_tensors_differ", "axes-fold", lambda: loss(x, labels.reshape(3, 2, 5)))


def check_named():
    norm = package.example("rmsnorm")
    x, w = np.ones((2, 4), np.float32) * 1e-3, np.ones(4, np.float32)
    far = norm(x, w, eps=1.0)
    case("scalars_by_name", near(far, x / np.sqrt(1 + 1e-6)), far)
    case("scalars_by_position", np.array_equal(norm(x, w, 1.0), far))
    case("scalars_of_numpy", np.array_equal(norm(x, w, eps=np.float32(1.0)), far))
    case("with_scalars", np.array_equal(norm.with_(eps=1.0)(x, w), far)
         and not np.array_equal(norm.with_(eps=1.0)(x, w, eps=1e-5), far))
    case("types_by_name", np.array_equal(norm(x, w, T=np.float32), norm(x, w))
         and np.array_equal(norm(x, w, T=np.dtype("float32"), eps=1e-5), norm(x, w, T="f32")))
    refused("a_type_that_is_not_the_tensors", "dtype-conflict", lambda: norm(x, w, T="f16"))
    refused("unknown_names", "unknown-argument", lambda: norm(x, w, epsilon=1.0))
    refused("a_text_as_a_number", "argument-kind", lambda: norm(x, w, eps="much"), "found: `much`")
    split = croft.compile("kernel k(x: in f32[R, N], y: out f32[R, N], B: const = 2) {\n"
                          "    program row: R, i: N step B\n"
                          "    y[row, i : +B] = x[row, i : +B]\n}\n")
    refused("a_fraction_as_a_constant", "argument-range", lambda: split(x, B=1.5), "found: 1.5")
    refused("huge_integers", "argument-range", lambda: norm(x, w, eps=2 ** 70), "eps")
    refused("what_is_no_number", "argument-kind", lambda: norm(x, w, eps=[1]), "list")
    case("tensors_by_name", np.array_equal(norm(x, w=w), norm(x, w))
         and np.array_equal(norm(w=w, x=x, eps=1.0), far)
         and np.array_equal(norm.bind(w=w, x=x).out.shape, x.shape))
    misused("a_tensor_twice", lambda: norm(x, w, w=w), "`w` is given by position and by name")
    misused("a_tensor_is_missing", lambda: norm(w=w), "missing: x")
    misused("an_output_by_name", lambda: norm(x, w, y=x), "the output `y` is given in `out`")
    misused("with_takes_no_tensors", lambda: norm.with_(w=w), "with_() takes no tensors (`w`)")
    case("what_is_given_is_printed", repr(norm.with_(eps=0.5, N=4))
         == "<croft kernel rmsnorm(x, w, y, eps=0.5, T, N=4)>", repr(norm.with_(eps=0.5, N=4)))
    case("bound_calls_print", repr(norm.bind(x, w))
         == "<croft bound call of <croft kernel rmsnorm(x, w, y, eps, T)>>", norm.bind(x, w))
    refused("an_array_as_a_number", "argument-kind", lambda: norm(x, w, eps=np.array(1.0)),
            "`.item()`")
    misused("too_many_numbers", lambda: norm(x, w, 1.0, "f32", 3))
    transpose = package.example("transpose8")
    source = np.arange(192, dtype=np.float32).reshape(3, 8, 8)
    layout = croft.Layout("bits(3, 4, 5, 0, 1, 2)")
    case("layouts_by_name", np.array_equal(transpose(source, L=layout), source.transpose(0, 2, 1))
         and np.array_equal(transpose(source, layout), transpose(source, str(layout))))


def check_needed():
    """A kernel whose constants and layouts have no defaults is compiled without them."""
    text = (package.ROOT / "bench" / "kernels" / "transpose.croft").read_text()
    k = croft.compile(text, kernel="transpose")
    source = np.arange(320, dtype=np.float32).reshape(10, 4, 8)
    named = {"S": "bits(7, 8, 0, 1, 2, 3, 4, 5, 6, slots=4)",
             "L": "bits(0, 1, 2, 7, 8, 3, 4, 5, 6, slots=4)", "G": 16}
    out = np.zeros((10, 8, 4), np.float32)
    with_all = k.with_(**named)
    case("needed_by_with", np.array_equal(with_all(source, out=out), source.transpose(0, 2, 1)))
    case("needed_by_name", np.array_equal(k(source, out=out, **named), out))
    refused("needed_and_not_given", "missing-argument", lambda: k(source, out=out), "`S`")


def check_bound(k, x):
    expected = k(x)
    out = np.zeros_like(x)
    for name, bound in (("all_by_position", k.bind(x, out)), ("out_by_name", k.bind(x, out=out))):
        out[:] = 0
        bound()
        case(f"binds_{name}", np.array_equal(out, expected) and bound.out is not None)
    bound = k.bind(x)
    bound()
    case("binds_and_makes_outputs", np.array_equal(bound.out, expected))
    bound = k.bind(x.copy())
    gc.collect()
    bound()
    case("keeps_what_it_is_bound_to", np.array_equal(bound.out, expected))
    plan = k.plan(x)
    case("plan_is_text", plan.startswith("plan softmax ") and bound.plan == plan, plan)
    fixed = k.with_(plan=plan)
    case("a_plan_is_obeyed", fixed.plan(x) == plan and np.array_equal(fixed(x), expected))
    package.command.SCRATCH.joinpath("softmax.plan").write_text(plan)
    case("a_plan_is_a_file", k.with_(plan=package.command.SCRATCH / "softmax.plan").plan(x) == plan)
    set_ = k.with_(set="u=2")
    case("a_part_of_a_plan", "slot 2" in set_.plan(x), set_.plan(x))
    refused("a_part_that_no_plan_has", "plan-set", lambda: k.with_(set="v=2")(x))
    refused("a_plan_that_is_none", "plan-syntax", lambda: k.with_(plan="nonsense")(x))
    case("source_is_text", "Kernel softmax" in k.source(x))
    case("strict_has_a_plan_of_its_own", "canonical" in k.with_(strict=True).plan(x),
         k.with_(strict=True).plan(x))


GATHER = """kernel pick(x: in f32[R, N], i: in i64[R], y: out f32[R]) {
    program row: R
    y[row] = x[row, i[row]]
}
"""
IN_PLACE = """kernel halve(x: inout f32[R, N]) {
    program row: R
    x[row, :] = 0.5 * x[row, :]
}
"""


def check_kinds_of_kernels():
    pick = croft.compile(GATHER, "pick.croft").with_(count_faults=True)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    bound = pick.bind(x, np.array([1, 4, -1]))
    case("faults_are_counted", bound.faults() == 2 and list(bound.out) == [1, 0, 0], bound.out)
    refused("faults_that_are_not_counted", "faults",
            lambda: croft.compile(GATHER).bind(x, np.array([1, 2, 3])).faults())
    halve = croft.compile(IN_PLACE)
    case("inout_returns_nothing", halve(x) is None and x[0, 2] == 1.0, x)
    halve.bind(x)()
    case("inout_is_bound", x[0, 2] == 0.5, x)
    x.flags.writeable = False
    refused("inout_of_read_only_memory", "read-only", lambda: halve(x), "`x`")
    misused("inout_has_no_out", lambda: halve(x, out=x), "`out` is None")


def check_refusals(k, x):
    frozen = x.copy()
    frozen.flags.writeable = False
    refused("read_only_outputs", "read-only", lambda: k(x, out=frozen), "`y`")
    refused("gaps_in_the_last_axis", "stride-last", lambda: k(x[:, ::2]), "x:", "found: 2")
    refused("negative_strides", "stride-negative", lambda: k(x[::-1]))
    refused("other_byte_order", "object", lambda: k(x.astype(">f4")), "byte order")
    refused("objects", "object", lambda: k(np.array([[1, "a"]], object)))
    refused("what_is_no_array", "object", lambda: k([[1.0]]), "softmax: `x`: list",
            "numpy.asarray")
    refused("what_is_no_output", "object", lambda: k(x, out=3), "softmax: `y`: int")
    refused("a_path_is_no_text", "misuse", lambda: croft.compile("softmax.croft"), "load()")
    refused("masked_arrays_of_fields", "object",
            lambda: k(np.zeros(3, [("a", "f4")])))
    refused("another_type_of_output", "dtype-conflict", lambda: k(x, out=x.astype(np.float16)))
    refused("another_shape_of_output", "size-mismatch", lambda: k(x, out=np.empty_like(x[:2])))
    refused("outputs_that_meet", "tensor-overlap", lambda: k(x[:-1], out=x[1:]))
    refused("types_it_has_not", "argument-value", lambda: k(x.astype(np.float64)), "found: f64\n")
    misused("too_few_tensors", lambda: k(), "softmax takes as tensors: x")
    misused("too_many_tensors", lambda: k(x, x))
    misused("too_many_outputs", lambda: k(x, out=(x, x)), "has 1 outputs (y)")
    misused("bind_of_too_many", lambda: k.bind(x, x, x))
    whole = np.zeros((5, 9), np.float32)
    try:
        k(np.ones((3, 9), np.float32), out=whole)
    except croft.CroftError:
        case("nothing_is_written_then", not whole.any())


def check_dlpack(k, x):
    expected = k(x)
    for name, words in (("versioned", {}), ("unversioned", {"version": None})):
        foreign = capsules.Foreign(x, **words)
        case(f"capsule_{name}", np.array_equal(k(foreign), expected))
        case(f"capsule_{name}_is_consumed", foreign.renamed(), foreign.names())
        gc.collect()
        case(f"capsule_{name}_deleter_is_called_once", foreign.deleted == 1, foreign.deleted)
    foreign = capsules.Foreign(x)
    bound = k.bind(foreign)
    gc.collect()
    held = foreign.deleted == 0
    bound()
    case("capsule_lives_as_long_as_a_bound_call", held and np.array_equal(bound.out, expected))
    del bound
    gc.collect()
    case("capsule_ends_with_it", foreign.deleted == 1, foreign.deleted)
    asked = capsules.Foreign(x)
    k(asked)
    case("asks_for_a_version_and_no_stream", asked.asked == [{"max_version": (1, 1)}], asked.asked)
    old = capsules.Foreign(x, version=None, knows_versions=False)
    k(old)
    case("asks_again_without_a_version", old.asked == [{"max_version": (1, 1)}, {}], old.asked)
    refused("capsule_read_only_output", "read-only",
            lambda: k(x, out=capsules.Foreign(x.copy(), flags=1)))
    case("capsule_read_only_input", np.array_equal(k(capsules.Foreign(x, flags=1)), expected))
    future = capsules.Foreign(x, version=(2, 0))
    refused("capsule_of_the_future", "object", lambda: k(future), "version 2")
    gc.collect()
    case("capsule_of_the_future_is_given_back", future.deleted == 1, future.deleted)
    refused("capsule_used_before", "object", lambda: k(capsules.Foreign(x, used=True)), "used")
    refused("device_that_is_none", "tensor-device", lambda: k(capsules.Foreign(x, device=(8, 0))))
    refused("lanes", "argument-value", lambda: k(capsules.Foreign(x, lanes=2)))


def main():
    generator = np.random.default_rng(examples.command.SEED)
    for number, name in enumerate(examples.EXAMPLES):
        width = 8 if name == "transpose8" else [33, 257][number % 2]
        check_example(name, ["f32", "f16"][number % 3 == 2], width, generator)
    k = package.example("softmax")
    x = generator.standard_normal((4, 100)).astype(np.float32)
    check_readers(k, x)
    check_axes(k)
    check_named()
    check_needed()
    check_bound(k, x)
    check_kinds_of_kernels()
    check_refusals(k, x)
    check_dlpack(k, x)
    package.finish()


if __name__ == "__main__":
    main()
