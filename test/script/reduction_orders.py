"""Reductions in a stated order: canonical sums have the bits of NumPy's halving tree in every plan,
left and right those of a loop; NaN and zeros do what docs/language.md says; plans that cannot keep
an order are refused.

tier: check check-long (in check a third of the plans)
builds: release

What is expected is computed here, in f32 and element by element.
"""
import re

import numpy as np

import command
from command import SCRATCH, case, croft

RANDOM = np.random.default_rng(command.SEED)
KERNELS = """kernel orders(x: in f32[R, N], l: out f32[R], r: out f32[R], c: out f32[R],
              t: out f32[R]) {
    program row: R
    v = x[row, :]
    l[row] = sum(v, order=left)
    r[row] = sum(v, order=right)
    c[row] = sum(v, order=canonical)
    t[row] = sum(v)
}
kernel canonical(x: in f32[R, N], c: out f32[R], p: out f32[R], t: out f32[R]) {
    program row: R
    v = x[row, :]
    c[row] = sum(v, order=canonical)
    p[row] = prod(1.0 + v * 0.01, order=canonical)
    t[row] = sum(v)
}
kernel left(x: in f32[R, N], l: out f32[R]) {
    program row: R
    l[row] = sum(x[row, :], order=left)
}
kernel part(x: in f32[R, N], c: out f32[R], l: out f32[R], r: out f32[R], B: const = 64) {
    program row: R
    v = x[row, 3 : +B]
    c[row] = sum(v, order=canonical)
    l[row] = sum(v, order=left)
    r[row] = sum(v, order=right)
}
kernel columns(x: in f32[N, M], c: out f32[M], l: out f32[M], r: out f32[M]) {
    v = x[:, :]
    c[:] = sum(v, axis=0, order=canonical)[0, :]
    l[:] = sum(v, axis=0, order=left)[0, :]
    r[:] = sum(v, axis=0, order=right)[0, :]
}
kernel policies(x: in f32[R, N], y: out f32[R, 16]) {
    program row: R
    v = x[row, :]
%s}
"""
MONOIDS = ["sum", "prod", "max", "min"]
FORMS = [(m, nan, zero) for m in MONOIDS for nan in ("propagate", "ignore")
         for zero in ("relaxed", "strict")]
LINES = "".join(f"    y[row, {i}] = {m}(v, nan={nan}, zero={zero})\n"
                for i, (m, nan, zero) in enumerate(FORMS))
FILE = SCRATCH / "orders.croft"
# W lanes and V slots of a step, and on a machine whose subgroup has 32 lanes, several of those.
PAIRS = [(w, v) for w in (1, 2, 4, 8, 16, 32) for v in (1, 2, 4, 8)]
TEAMS = ["slot 4 | lane 32 | subgroup 8", "lane 8 | subgroup 4 | slot 2",
         "slot 2 | lane 32 | slot 4", "lane 4 | slot 4 | lane 4",
         "slot 1 | subgroup 4 | lane 8 @2 | slot 2", "slot 4 | subgroup 4", "subgroup 4 | slot 2"]
# Several rows of a team: digits of the rows, and those of the elements.
PACKED = [("lane 4 @8", "lane 8 | slot 2"), ("lane 16 @2", "slot 4 | lane 2 | slot 2"),
          ("subgroup 2 @4", "slot 2 | lane 32 | subgroup 4"), ("subgroup 4", "lane 32 | slot 4")]


def halved(row, join=np.add, identity=np.float32(0)):
    """Joined with the identity; then halves, the upper one to the lower."""
    row = join(identity, row.astype(np.float32))
    size = 1
    while size < len(row):
        size *= 2
    row = np.concatenate([row, np.full(size - len(row), identity, np.float32)])
    while len(row) > 1:
        row = join(row[:len(row) // 2], row[len(row) // 2:])
    return row[0] if len(row) else identity


def left(row):
    total = np.float32(0)
    for element in row:
        total = np.float32(total + element)
    return total


def right(row):
    total = np.float32(0)
    for element in row[::-1]:
        total = np.float32(element + total)
    return total


def bits(values):
    return np.asarray(values, np.float32).view(np.uint32)


def run(kernel, words, outputs, *options):
    paths = {key: SCRATCH / f"{key}.npy" for key in outputs}
    for path in paths.values():
        path.unlink(missing_ok=True)
    result = croft("run", FILE, "--kernel", kernel, *words,
                   *(f"{key}={path}" for key, path in paths.items()), *options)
    arrays = {key: command.load(path) for key, path in paths.items() if path.exists()}
    return result, arrays


def same(name, result, arrays, expected):
    wrong = [key for key in expected
             if result.code or key not in arrays or
             (bits(arrays[key]) != bits(expected[key])).any()]
    case(name, not wrong and not result.err,
         "\n".join([str(result)] + [f"{key}: {arrays.get(key)} expected {expected[key]}"
                                    for key in wrong]))


def values(rows, width):
    """Of magnitudes far apart, so that every order rounds otherwise."""
    return (RANDOM.standard_normal((rows, width)) *
            10.0 ** RANDOM.uniform(-3, 3, (rows, width))).astype(np.float32)


def planned(kernel, words, outputs, digits, width, rows=""):
    """The row plan with the elements on these digits and in steps, programs on those of `rows`."""
    plan = croft("plan", FILE, "--kernel", kernel, *words, *(f"{key}=/dev/null" for key in outputs),
                 "--machine", "sm_90", "--plan", "row")
    chunk = 1
    for radix in re.findall(r"(?:slot|lane|subgroup) (\d+)", digits):
        chunk *= int(radix)
    steps = -(-width // chunk)
    text = re.sub(r"^(axis N +).*$", rf"\1{digits} | step {steps}", plan.out, flags=re.MULTILINE)
    text = re.sub(r"^(axis row +)(group \*)$", rf"\1{rows and rows + ' | '}\2", text,
                  flags=re.MULTILINE)
    file = SCRATCH / "orders.plan"
    file.write_text(re.sub(r"width \d+", "width 1", text))
    return file


def check_plans():
    """24 pairs and teams: one result; the tree of the plan gives several."""
    for width in (1000, 64, 7):
        x = SCRATCH / "x.npy"
        data = values(3, width)
        command.save(x, data, "f32")
        expected = {"c": [halved(row) for row in data],
                    "p": [halved(np.float32(1) + row * np.float32(0.01), np.multiply, np.float32(1))
                          for row in data]}
        trees = set()
        digits = [("", f"slot {v} | lane {w}") for w, v in PAIRS] + [("", text) for text in TEAMS]
        for turn, (packed, text) in enumerate((digits if width == 1000 else digits[::3]) + PACKED):
            if not command.in_turn(3):
                continue
            plan = planned("canonical", [f"x={x}"], ["c", "p", "t"], text, width, packed)
            for target in ["sim", "cpu"] if turn % 4 == 0 else ["sim"]:
                result, arrays = run("canonical", [f"x={x}"], ["c", "p", "t"], "--machine", "sm_90",
                                     "--plan", plan, "--target", target)
                name = f"canonical_{width}_{target}_{packed}_{text}".replace(" ", "")
                same(name, result, arrays, expected)
                trees.add(bits(arrays.get("t", [])).tobytes())
        if width == 1000:
            case("trees_differ_between_plans", len(trees) >= 4, f"{len(trees)} results")


def check_orders():
    for width in (0, 1, 2, 5, 31, 257, 1025):
        x = SCRATCH / "x.npy"
        data = values(5, width)
        command.save(x, data, "f32")
        expected = {"l": [left(row) for row in data], "r": [right(row) for row in data],
                    "c": [halved(row) for row in data]}
        for machine in ("cpu-avx2", "sm_90"):
            for target in ("cpu", "sim"):
                result, arrays = run("orders", [f"x={x}"], ["l", "r", "c", "t"], "--machine",
                                     machine, "--target", target)
                same(f"orders_{width}_{machine}_{target}", result, arrays, expected)
        result, _ = run("orders", [f"x={x}"], ["l", "r", "c", "t"], "--check")
        case(f"orders_{width}_are_within_the_bound", result.code == 0, result)
    data = values(3, 70)
    command.save(SCRATCH / "x.npy", data, "f32")
    for block in (1, 6, 64, 90):
        rows = [row[3:3 + block] for row in data]
        expected = {"c": [halved(row) for row in rows], "l": [left(row) for row in rows],
                    "r": [right(row) for row in rows]}
        for target in ("cpu", "sim"):
            words = [f"x={SCRATCH / 'x.npy'}", f"B={block}"]
            result, arrays = run("part", words, ["c", "l", "r"], "--target", target)
            same(f"part_{block}_{target}", result, arrays, expected)
    expected = {"c": [halved(row) for row in data.T], "l": [left(row) for row in data.T],
                "r": [right(row) for row in data.T]}
    for machine in ("cpu-avx2", "sm_90"):
        result, arrays = run("columns", [f"x={SCRATCH / 'x.npy'}"], ["c", "l", "r"], "--machine",
                             machine, "--target", "sim")
        same(f"columns_{machine}", result, arrays, expected)


def expected_policy(monoid, nan, zero, row):
    """The table of docs/language.md; None: either zero."""
    if nan == "ignore":
        row = row[~np.isnan(row)]
    if np.isnan(row).any():
        return np.float32(np.nan)
    strict = zero == "strict"
    if monoid in ("sum", "prod"):
        start = -0.0 if strict and monoid == "sum" else 0.0 if monoid == "sum" else 1.0
        total = np.float32(start)
        for element in row:
            total = np.float32(total + element if monoid == "sum" else total * element)
        return total
    best = np.float32(-np.inf if monoid == "max" else np.inf)
    for element in row:
        better = element > best if monoid == "max" else element < best
        if strict and element == best == 0:
            better = np.signbit(best) if monoid == "max" else np.signbit(element)
        best = element if better else best
    zeros = np.signbit(row[row == 0])
    return None if best == 0 and not strict and zeros.any() and not zeros.all() else best


def check_policies():
    nan, inf = np.nan, np.inf
    rows = [[0.0, -0.0, 0.0, -0.0], [-0.0] * 4, [-0.0, -0.0, 0.0, -0.0], [nan] * 4,
            [nan, -0.0, nan, 0.0], [1.0, -0.0, nan, -2.0], [-inf, -1.0, -0.0, -2.0],
            [inf, nan, 3.0, 2.0], [-1e-42, -0.0, 1e-42, 0.0], [-inf] * 4, [0.0] * 4]
    for repeat in (0, 1, 9):
        data = np.tile(np.array(rows, np.float32), (1, repeat))
        x = SCRATCH / "x.npy"
        command.save(x, data, "f32")
        for machine, plan in [("cpu-avx2", "row"), ("sm_90", "row"), ("cpu-avx2", "fallback")]:
            for target in ("cpu", "sim"):
                options = ["--machine", machine, "--plan", plan, "--target", target]
                result, arrays = run("policies", [f"x={x}"], ["y"], *options)
                check_policy(f"policies_{repeat}_{machine}_{plan}_{target}", result, arrays, data)
        result, arrays = run("policies", [f"x={x}"], ["y"], "--target", "reference")
        check_policy(f"policies_{repeat}_reference", result, arrays, data)


def check_policy(name, result, arrays, data):
    wrong = []
    for i, form in enumerate(FORMS):
        for k, row in enumerate(data):
            want = expected_policy(*form, row)
            got = np.float32(arrays["y"][k, i]) if "y" in arrays else None
            if got is None or (want is None and got != 0) or (want is not None and (
                    np.isnan(want) != np.isnan(got) or
                    not np.isnan(want) and bits(want) != bits(got))):
                wrong.append(f"{form} of {row}: {got}, expected {want}")
    case(name, result.code == 0 and not wrong and not result.err, "\n".join([str(result)] + wrong))


def check_refusals():
    words = [FILE, "--kernel", "left", "x=randn:3x64", "l=/dev/null"]
    result = croft("plan", *words, "--plan", "row")
    case("left_has_no_row_plan", result.code == 3 and "row-plan-refused" in result.text and
         "order=left" in result.text, result)
    automatic = croft("plan", *words, "--machine", "cpu-avx2")
    case("left_is_planned_by_one_worker", automatic.code == 0 and "reduce sum.0  left" in
         automatic.out and re.search(r"^axis N +step 64$", automatic.out, re.MULTILINE), automatic)
    edits = [("wider", r"lane 8 \| (group \*\naxis N +)step 64$", r"\1slot 4 | step 16",
              "plan-reduce"),
             ("lanes", r"^(axis N +)step 64$", r"\1lane 8 | step 8", "plan-reduce"),
             ("tree", r"sum.0 +left", "sum.0 tree", "plan-reduce"),
             ("right", r"sum.0 +left", "sum.0 right", "plan-reduce")]
    for name, old, new, slug in edits:
        refuse(f"left_{name}", words, automatic.out, old, new, slug, "cpu-avx2")
    words = [FILE, "--kernel", "canonical", "x=randn:3x96", *(f"{k}=/dev/null" for k in "cpt")]
    plan = croft("plan", *words, "--machine", "sm_90", "--plan", "row").out
    axis = r"^(axis N +).*$"
    refuse("canonical_of_three_subgroups", words, plan, axis, r"\1lane 32 | subgroup 3",
           "plan-reduce")
    refuse("canonical_turned", words, plan, axis, r"\1lane 32 | slot 4 xor 5", "plan-reduce")
    refuse("canonical_as_a_tree", words, plan, r"sum.0 +canonical", "sum.0 tree", "plan-reduce")
    refuse("a_tree_as_left", words, plan, r"sum.1 +tree", "sum.1 left", "plan-reduce")
    text = re.sub(r"sum.1 +tree", "sum.1 canonical", plan)
    (SCRATCH / "orders.plan").write_text(text)
    result = croft("run", *words, "--machine", "sm_90", "--target", "sim", "--plan",
                   SCRATCH / "orders.plan", "--check")
    case("a_tree_may_be_canonical", text != plan and result.code == 0, result)


def refuse(name, words, plan, old, new, slug, machine="sm_90"):
    edited = re.sub(old, new, plan, flags=re.MULTILINE)
    (SCRATCH / "orders.plan").write_text(re.sub(r"width \d+", "width 1", edited))
    result = croft("run", *words, "--machine", machine, "--target", "sim", "--plan",
                   SCRATCH / "orders.plan")
    case(f"refused_{name}", edited != plan and result.code == 3 and f"[{slug}]" in result.text,
         result)


def main():
    FILE.write_text(KERNELS % LINES)
    check_plans()
    check_orders()
    check_policies()
    check_refusals()
    command.finish()


main()
