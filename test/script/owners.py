"""Kernels that say who owns their tiles, by layouts drawn at random: the reference agrees.

tier: check
builds: release asan

Where owners meet is the business of unit tests; here kernels with several layouts at once, in
loops and branches, beside free tiles, run on the simulator by plans for GPUs, on the cpu, which
erases layouts, and by a GPU's plan on the cpu, which does not.
"""
import random

import command
from command import case, croft

# name -> (body after the head, arguments, outputs); A, B and C are layouts of 64 threads
HEAD = """kernel k(x: in f32[R, N], h: in f16[R, N], q: in i32[R, N], y: out f32[R, N],
         z: inout f32[R, N],
         N: const = 64, A: layout, B: layout, C: layout) {
    program r: R
"""
KERNELS = {
    "there_and_back": """
    a = x[r, arange(N, A)]
    b = convert(a, B)
    c = convert(b * 2.0, C)
    y[r, arange(N, A)] = convert(c, A) - a
    z[r, arange(N, B)] = b
""",
    "beside_free_tiles": """
    i = arange(N)
    o = arange(N, A)
    z[r, :] = x[r, i] * 2.0 + x[r, :]
    v = convert(x[r, :], B)
    y[r, :] = convert(v - max(v), A) + f32(h[r, o]) * x[r, N - 1 - o]
""",
    "in_a_loop": """
    t = x[r, arange(N, A)]
    for k in 0..3 {
        u = convert(t, B)
        u = u * u + f32(k)
        t = convert(u / (sum(u) + 1.0), A) + t
    }
    y[r, arange(N, A)] = t
""",
    "in_branches": """
    o = arange(N, A)
    t = x[r, o]
    if sum(t) > 0.0 {
        v = convert(t, B)
    } else {
        v = convert(-t, B)
    }
    w = convert(v - max(v), C)
    y[r, arange(N, C)] = exp(w)
""",
    "of_every_type": """
    m = convert(q[r, arange(N, A)] > 0, B)
    n = convert(q[r, arange(N, A)], B)
    g = convert(h[r, arange(N, C)], B)
    y[r, arange(N, B)] = where(m, f32(n), f32(g))
""",
    "reductions_of_each": """
    s = sum(x[r, arange(N, A)]) - max(x[r, arange(N, B)])
    p = min(convert(x[r, arange(N, B)], C))
    y[r, :] = x[r, :] * s + p
""",
}
# name -> (kernel, arguments), each once refused by the verifier
ONCE_REFUSED = {
    "lanes_that_hold_copies_are_not_the_last": ("""
kernel k(x: in f32[R, 64], y: out f32[R]) {
    program r: R
    y[r] = sum(x[r, arange(64, digits(lane 16 @2 | slot 4; replicate lane 2 @1))])
}""", ["x=randn:3x64"]),
    "every_lane_has_all_elements": ("""
kernel k(x: in f32[R, 2], y: out f32[R]) {
    program r: R
    y[r] = max(x[r, arange(2, digits(slot 2; replicate lane 32))]) * sum(
        x[r, arange(2, identity(32))])
}""", ["x=randn:3x2"]),
    "sum_without_nan_of_padding": ("""
kernel k(x: in f32[R, 15], y: out f32[R]) {
    program r: R
    y[r] = sum(convert(pad(x[r, 0 : +31], 3.0), identity(32)), nan=ignore) + sum(
        pad(x[r, 0 : +31], nan), nan=ignore)
}""", ["x=randn:3x15"]),
    "guarded_gather_at_one_place": ("""
kernel k(x: in f32[R, 1], y: out f32[R, 2]) {
    program r: R
    y[r, arange(2, identity(32))] = x[r, convert(arange(2) * 5 % 1, identity(32))]
}""", ["x=randn:3x1"]),
    "converted_axis_has_the_lanes": ("""
kernel k(x: in f32[R, 8, 64], y: out f32[R, 8]) {
    program r: R
    y[r, :] = convert(sum(x[r, :, :], axis=1)[:, 0], digits(lane 8; replicate lane 4))
}""", ["x=randn:3x8x64"]),
}
# name -> (kernel, finding)
REFUSED = {
    "more_scratch_than_there_is": ("""
kernel k(x: in f32[R, 32768], y: out i64[R, 32768], L: layout = identity(32768, slots=32)) {
    program r: R
    i = arange(32768, bits(14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, slots=32))
    y[r, arange(32768, L)] = convert(i64(x[r, i]), L)
}""", "k.croft:4:30: error: reductions and conversions meet in more scratch than sm_90 has"),
    "copies_that_one_lane_stores": ("""
kernel k(y: inout f32[R, 64]) {
    program r: R
    i = arange(64, digits(lane 16 @2 | slot 4; replicate lane 2 @1))
    y[r, i] = y[r, i] + 1.0
}""", "k.croft:4:5: error: two lanes may come to one cell"),
    "converted_beside_owned_axes": ("""
kernel k(x: in f32[R, 64], y: out f32[R, 64, 64]) {
    program r: R
    t = x[r, :]
    y[r, :, :] = t[:, None] * convert(t, identity(64))[None, :]
}""", "k.croft:4:31: error: a tile that is walked in steps cannot be converted [plan-convert]"),
}
ERASED = "# explicit layouts are erased on cpu-avx2\n"


def bits(generator, threads_log, slots_log):
    """`bits(...)` of that many threads and slots, any order, sometimes exclusive-ored."""
    count = threads_log + slots_log
    order = generator.sample(range(count), count)
    mask = generator.choice([0, generator.randrange(1 << count)])
    return f"bits({', '.join(map(str, order))}, xor={mask}, slots={1 << slots_log})"


def blocked(generator, threads_log, slots_log):
    vector = 1 << generator.randrange(slots_log + 1)
    return (f"blocked_cyclic({1 << (threads_log + slots_log)}, workers={1 << threads_log}, "
            f"vector={vector})")


def draw(generator, elements):
    """Three layouts of one number of threads, for a tile of so many elements."""
    threads_log = generator.choice([5, 6, 7])
    least = 0
    while 1 << (threads_log + least) < elements:
        least += 1
    layouts = {}
    for name in "ABC":
        exact = 1 << (threads_log + least) == elements
        slots_log = least + generator.randrange(2)
        if exact and slots_log == least and generator.random() < 0.7:
            layouts[name] = bits(generator, threads_log, slots_log)
        else:
            layouts[name] = blocked(generator, threads_log, slots_log)
    return layouts


def words_of(path, elements, layouts):
    arrays = [f"x=randn:3x{elements}", f"h=randn:3x{elements}", f"q=randint:3x{elements}:-5:9:i32",
              f"z=zeros:3x{elements},{command.SCRATCH}/z.npy", f"y={command.SCRATCH}/y.npy"]
    return [path, *arrays, f"N={elements}", *(f"{key}={text}" for key, text in layouts.items()),
            "--check", "--seed", command.SEED]


def check(name, elements, layouts, *choice):
    path = command.SCRATCH / f"{name}.croft"
    path.write_text(HEAD + KERNELS[name] + "}\n")
    result = croft("run", *words_of(path, elements, layouts), *choice)
    case(f"{name}_{elements}_{'_'.join(choice)}".replace("--", ""), result.code == 0
         and "check y: ok" in result.text, f"{layouts}\n{result}")


def check_erased():
    path = command.ROOT / "examples" / "transpose8.croft"
    erased = croft("plan", path, "--machine", "cpu-avx2")
    case("a_cpu_says_that_it_erases", erased.code == 0 and erased.out.endswith(ERASED), erased)
    kept = croft("plan", path, "--machine", "sm_90")
    case("others_keep_layouts", kept.code == 0 and "erased" not in kept.out
         and "axis axis.0        lane 4 @8 | subgroup 2 | lane 8 @1" in kept.out, kept)
    words = ["run", path, "source=arange:2x8x8:f32", f"dest={command.SCRATCH}/d.npy",
             "--target", "sim", "--check", "--machine"]
    said = "layouts: the kernel's own are erased on cpu-avx2"
    case("a_checked_simulation_says_so", said in croft(*words, "cpu-avx2").out)
    case("and_only_there", "layouts:" not in croft(*words, "sm_90").out)
    other = croft("plan", path, "--machine", "sm_90", "L=lane=[1, 2, 4, 8, 16] register=[32]")
    case("an_argument_overrides", "slot 2" in other.out, other)


def check_faults():
    path = command.ROOT / "examples" / "transpose8.croft"
    result = croft("check", path, "L=bits(0, 1, 1, 2, 3, 4)")
    case("a_fault_is_shown_in_its_argument", result.code == 3 and
         "argument L:1:12: error: bit 1 stands twice; 5 is missing [layout-duplicate-bit]\n"
         "    1 | bits(0, 1, 1, 2, 3, 4)\n      |            ^\n  found: `1`\n"
         "  hint: legal is, for one: bits(0, 1, 5, 2, 3, 4)\n" in result.err, result)
    result = croft("check", path, "L=4")
    case("a_number_is_no_layout", result.code == 3 and "[layout-syntax]" in result.err, result)
    result = croft("check", command.ROOT / "examples" / "softmax.croft", "T=identity(32)")
    case("a_layout_is_no_type", result.code == 3 and "[argument-value]" in result.err, result)


def check_kernels():
    path = command.SCRATCH / "k.croft"
    for name, (text, arguments) in ONCE_REFUSED.items():
        path.write_text(text.lstrip() + "\n")
        result = croft("run", path, *arguments, f"y={command.SCRATCH}/y.npy", "--machine", "sm_90",
                       "--target", "sim", "--check", "--verify-passes")
        case(name, result.code == 0 and "check y: ok" in result.text, result)
    for name, (text, finding) in REFUSED.items():
        path.write_text(text.lstrip() + "\n")
        result = croft("emit", path, "--machine", "sm_90")
        case(name, result.code == 3 and finding in result.err
             and "CROFT_BUG" not in result.err, result)


def main():
    generator = random.Random(command.SEED)
    for number, name in enumerate(KERNELS):
        elements = [64, 100, 128][number % 3]
        check(name, elements, draw(generator, elements), "--machine", "cpu-avx2")
        if command.SANITIZED and number % 3:
            continue
        check(name, elements, draw(generator, elements), "--machine", "sm_90", "--target", "cpu")
        for width in (64, 100, 256):
            check(name, width, draw(generator, width), "--machine",
                  generator.choice(["sm_90", "sm_80", "m1"]), "--target", "sim", "--verify-passes")
    check_erased()
    check_faults()
    check_kernels()
    command.finish()


if __name__ == "__main__":
    main()
