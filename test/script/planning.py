"""The planner: candidates are priced, refused with a reason, and what it chooses computes the same.

tier: check check-long (in check half of what is random or wide)
builds: release gcc-asan
"""
import json
import random
import re
import shlex

import command
from command import case, croft

SOFTMAX = "examples/softmax.croft"
TRANSPOSE8 = "examples/transpose8.croft"
GPU = ["--machine", "sm_90"]
OUT = command.SCRATCH / "y.npy"
random.seed(command.SEED)


def kernel(name, text):
    path = command.SCRATCH / f"{name}.croft"
    path.write_text(text)
    return path


def candidates(*words):
    run = croft("plan", *words, "--all", "--json")
    try:
        return json.loads(run.out)
    except json.JSONDecodeError:
        case("json_can_be_read", False, run)
        return {"candidates": []}


def setting_of(choice):
    numbers = ",".join(f"{key}={choice[key]}" for key in "wvupg")
    return f"{numbers},chunk={choice['chunk']},shift={choice['shift']},keep={choice['keep']}"


def check_page():
    """Commands of docs/planning.md print what stands below them."""
    text = (command.ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    for number, block in enumerate(re.findall(r"```\n(.*?)```", text, re.S)):
        for shown in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, body = shown.split("\n", 1)
            run = croft(*shlex.split(line.split("#")[0])[1:])
            printed = run.text.splitlines()
            wanted = [row for row in body.splitlines() if row.strip() not in ("", "...")]
            good = all(row in printed for row in wanted)
            case(f"docs_show_what_is_printed_{number}", good, f"{body}\n{run}")


def check_refusals():
    """What cannot be is refused with a slug, what was found, and what would do."""
    for name, words, said in (
            ("over_budget", ["N=8193", "--machine", "m1", "--set",
                             "w=256,v=1,chunk=slot,keep=registers"],
             "66 values that a worker keeps [budget]"),
            ("workers", ["N=100", *GPU, "--set", "w=33"], "[lanes]"),
            ("group", ["N=100", *GPU, "--set", "w=1056"], "[group]"),
            ("vector", ["N=100", *GPU, "--set", "v=3"], "[vector]"),
            ("unroll", ["N=9999", *GPU, "--set", "u=17,chunk=step"], "[unroll]"),
            ("cpu_lanes", ["N=100", "--machine", "cpu-avx2", "--set", "w=16"], "[lanes]"),
            ("cpu_vector", ["N=100", "--machine", "cpu-avx2", "--set", "v=2"], "[vector]"),
            ("runtime_width", [*GPU, "--set", "chunk=slot"], "[runtime-width]"),
            ("one_step", ["N=100", *GPU, "--set", "w=128,chunk=step"], "[steps]"),
            ("steps_of_slots", ["N=100", "--set", "chunk=slot,u=2"], "[unroll]"),
            ("chunks_of_a_strict_step", ["N=4096", *GPU, "--strict", "--set", "u=3,chunk=step"],
             "3 subgroups, or chunks of a step, under a canonical reduction [order]"),
            ("number_twice", ["N=4096", *GPU, "--set", "w=32,v=4,W=64"], "W=64"),
            ("chunk_twice", ["N=4096", *GPU, "--set", "chunk=slot,chunk=step"], "given twice"),
            ("rule_twice", ["N=4096", *GPU, "--set", "keep=again,keep=again"], "given twice"),
            ("policy_twice", ["N=4096", *GPU, "--set", "policy=default,policy=stream"],
             "given twice"),
            ("workers_and_subgroups", ["N=4096", *GPU, "--set", "s=8,w=32"], "count the same"),
            ("unknown_key", ["N=100", "--set", "q=1"], "q=1"),
            ("no_number", ["N=100", "--set", "w=many"], "w=many"),
            ("unknown_policy", ["N=100", "--set", "policy=keep"], "policy=keep"),
            ("unknown_rule", ["N=100", "--set", "keep=all"], "keep=all")):
        run = croft("plan", SOFTMAX, *words)
        case(f"refused_{name}", run.code == 3 and said in run.text and "plan-set" in run.text, run)
    scalars = kernel("scalars",
                     "kernel k(y: out f32[R]) {\n    program row: R\n    y[row] = 1.0\n}\n")
    run = croft("plan", scalars, *GPU)
    case("fallback_says_why", run.code == 0 and "no-element-axis" in run.out, run)
    for words in (["--set", "w=32"], ["--plan", "row"]):
        run = croft("plan", scalars, *GPU, *words)
        refused = run.code == 3 and "row-plan-refused" in run.text
        case(f"no_silent_fallback_{words[1]}", refused, run)
    run = croft("plan", TRANSPOSE8, *GPU, "--set", "w=32")
    case("no_setting_of_fixed_owners", run.code == 3 and "row-plan-refused" in run.text, run)
    run = croft("plan", scalars, *GPU, "--all")
    case("nothing_to_list", run.code == 3 and "no axis of elements" in run.text, run)
    for words in (["--plan", "fallback", "--set", "w=32"], ["--model", "best"],
                  ["--cost-model"]):
        run = croft("plan", SOFTMAX, *words)
        case(f"usage_{'_'.join(words)}", run.code == 2, run)


def check_search():
    """The cheapest is chosen, the first of equals; models and coefficients decide."""
    plan = croft("plan", SOFTMAX, "N=4096", *GPU, "--model", "cpu")
    case("a_model_without_its_facts_is_told", plan.code == 0 and
         "# no price by cpu: machine.private_bandwidth is not known" in plan.out, plan)
    page = candidates(SOFTMAX, "N=4096", *GPU, "--model", "analytic")
    legal = [c for c in page["candidates"] if "refused" not in c]
    prices = [c["prices"]["analytic"]["total"] for c in legal]
    chosen = [c for c in legal if c["chosen"]]
    case("many_candidates", len(legal) > 300 and len(chosen) == 1, len(legal))
    case("cheapest_first", legal.index(chosen[0]) == prices.index(min(prices)), chosen)
    case("budget_is_kept", all(c["features"]["private_slots"] <= 64
                               for c in legal if c["keep"] == "registers"), "over budget")
    case("refusals_have_reasons", all(c["refused"]["slug"] and c["refused"]["expected"]
                                      for c in page["candidates"] if "refused" in c), page)
    plan = croft("plan", SOFTMAX, "N=4096", *GPU, "--model", "analytic")
    again = croft("plan", SOFTMAX, "N=4096", *GPU, "--model", "analytic",
                  "--set", setting_of(chosen[0]))
    case("set_gives_the_same_plan", plan.code == 0 and plan.out == again.out, f"{plan}\n{again}")
    dear = command.SCRATCH / "dear.txt"
    dear.write_text("analytic.reduction 1000\n")
    run = croft("plan", SOFTMAX, "N=4096", *GPU, "--model", "analytic", "--cost-model", dear)
    case("coefficients_decide", run.code == 0 and not re.search("axis N .*subgroup", run.out), run)
    dear.write_text("analytic.nothing 1000\n")
    run = croft("plan", SOFTMAX, "N=4096", *GPU, "--cost-model", dear)
    case("unknown_coefficient", run.code == 3 and "coefficient-name" in run.text, run)


IN_PLACE = """kernel k(x: inout f32[R, N]) {
    program row: R
    t = x[row, :]
    x[row, :] = t / sum(t)
}
"""


def parts_of(file, inputs, *words):
    """How many parts the plan has of a row; 1: one launch; None with the run: there is no plan."""
    run = croft("plan", file, *inputs, *words)
    found = re.search(r"^axis N .*\| group (\d+)$", run.out, re.M)
    return int(found[1]) if found else 1 if run.code == 0 else run


def rows_of(name, shape):
    width = shape.split("x")[1]
    weights = {"layernorm": [f"w=zeros:{width}", f"b=zeros:{width}"],
               "rmsnorm": [f"w=zeros:{width}"]}.get(name, [])
    return [f"x=zeros:{shape}", *weights, "y=/dev/null"]


def check_parts():
    """Few wide rows are split over launches where that is cheaper, and nothing else is."""
    count = 1 if command.SANITIZED else 4 if command.LONG else 2
    for name in ("sum", "softmax", "rmsnorm", "layernorm")[:count]:
        file = f"examples/{name}.croft"
        for shape, least in (("1x262144", 32), ("2x262144", 16), ("8x1048576", 8)):
            found = parts_of(file, rows_of(name, shape), *GPU)
            case(f"{name}_{shape}_in_parts", isinstance(found, int) and found >= least, found)
        for shape in ("8192x4096", "1x4096", "1024x262144", "132x65536"):
            found = parts_of(file, rows_of(name, shape), *GPU)
            case(f"{name}_{shape}_whole", found == 1, found)
        found = parts_of(file, ["N=262144"], *GPU)
        case(f"{name}_of_rows_that_the_call_knows_whole", found == 1, found)
        for machine in ("cpu-avx2", "cpu-avx512"):
            on = ["--machine", machine]
            for shape, wanted in (("1x262144", 2), ("1x4194304", 2), ("1x16384", 1),
                                  ("2x4194304", 1), ("64x65536", 1)):
                found = parts_of(file, rows_of(name, shape), *on)
                case(f"{name}_{shape}_{machine}", found == wanted, found)
            for words in (["--plan", "row"], ["--set", "g=1"], ["--strict"]):
                found = parts_of(file, rows_of(name, "1x4194304"), *on, *words)
                case(f"{name}_{machine}_{'_'.join(words)}_whole", found == 1, found)
        found = parts_of(file, rows_of(name, "1x4194304"), "--machine", "m1")
        case(f"{name}_where_no_launch_is_priced_whole", found == 1, found)


def check_blocks_are_set():
    """Groups of a cluster are as many as asked, or refused with a slug and a reason."""
    for words, digits in ((["b=4"], r"block 4 \|"), (["b=16,w=256,v=4,chunk=slot"],
                          r"slot 4 \| lane 32 \| subgroup 8 \| block 16 \| slot 16"),
                          (["b=2,w=256,chunk=step,u=2"],
                           r"subgroup 8 \| block 2 \| slot 2 \| step")):
        plan = croft("plan", SOFTMAX, "N=262144", "R=64", *GPU, "--set", *words)
        case(f"blocks_{words[0]}", plan.code == 0 and re.search(digits, plan.out) is not None, plan)
    plan = croft("plan", SOFTMAX, *GPU, "--set", "b=4")
    case("blocks_of_an_open_width", re.search(r"^axis N .*block 4 .*step \*$", plan.out, re.M)
         is not None, plan)
    in_place = kernel("in_place", IN_PLACE)
    for name, file, words, said in (
            ("three", SOFTMAX, ["b=3,g=1,w=256,chunk=step"], "3 groups of a cluster [blocks]"),
            ("too_many", SOFTMAX, ["b=32,w=32"], "at most 16"),
            ("no_chunks", SOFTMAX, ["b=16,w=1024,v=8,chunk=slot"], "at most 8"),
            ("packed", SOFTMAX, ["b=4,p=2,w=256"], "[blocks-shared]"),
            ("in_parts", SOFTMAX, ["b=4,g=4"], "[blocks-shared]"),
            ("strict", SOFTMAX, ["b=4,w=256,chunk=step", "--strict"], "[blocks-shared]"),
            ("in_place", in_place, ["b=4,w=256,chunk=step"], "[blocks-shared]"),
            ("no_price", SOFTMAX, ["b=4", "--model", "service"], "model service")):
        inputs = ["x=zeros:3x65536", "y=/dev/null"]
        if file == in_place:
            inputs = ["x=zeros:3x65536,/dev/null"]
        run = croft("plan", file, *inputs, *GPU, "--set", *words)
        case(f"blocks_refused_{name}", run.code == 3 and said in run.text, run)
    run = croft("plan", SOFTMAX, "N=65536", "--machine", "sm_80", "--set", "b=2,w=256,chunk=step")
    case("blocks_refused_without_clusters", run.code == 3 and "[blocks]" in run.text, run)
    page = candidates(SOFTMAX, "N=65536", "R=1024", *GPU, "--set", "b=4")
    case("blocks_stand_in_the_list", all(c["b"] == 4 for c in page["candidates"]), page)


def check_parts_are_set():
    """A number of parts is obeyed, or refused with a slug and a reason."""
    wide = rows_of("softmax", "3x262144")
    for words, wanted in ((["g=1"], 1), (["g=2"], 2), (["g=64"], 64),
                          (["g=16,w=128,v=4,u=2,chunk=step"], 16)):
        for machine in ("sm_90", "sm_80"):
            found = parts_of(SOFTMAX, wide, "--machine", machine, "--set", *words)
            case(f"set_{words[0]}_{machine}", found == wanted, found)
    found = parts_of(SOFTMAX, ["x=zeros:3x5000", "y=/dev/null"], "--machine", "cpu-avx2", "--set",
                     "g=8")
    case("set_more_parts_than_cores", found == 8, found)
    plan = croft("plan", SOFTMAX, *GPU, "--set", "g=8")
    case("set_parts_of_an_open_width",
         re.search(r"^axis N .*step \* \| group 8$", plan.out, re.M) is not None, plan)
    in_place = kernel("in_place", IN_PLACE)
    left = kernel("left", "kernel k(x: in f32[R, N], y: out f32[R]) {\n    program row: R\n"
                          "    y[row] = sum(x[row, :], order=left)\n}\n")
    canonical = kernel("canonical", left.read_text().replace("left", "canonical"))
    for name, file, words, said in (
            ("three", SOFTMAX, ["g=3"], "3 parts of a row [parts]"),
            ("too_many", SOFTMAX, ["g=2048"], "at most 1024"),
            ("more_than_chunks", SOFTMAX, ["g=512,w=1024"], "at most 64"),
            ("packed", SOFTMAX, ["g=4,p=2"], "[parts-packed]"),
            ("kept", SOFTMAX, ["g=4,keep=registers"], "[parts-keep]"),
            ("strict", SOFTMAX, ["g=4", "--strict"], "[parts-order]"),
            ("canonical", canonical, ["g=4"], "[parts-order]"),
            ("left", left, ["g=4"], "order=left"),
            ("in_place", in_place, ["g=4"], "[parts-split]"),
            ("why", in_place, ["g=4"], "a tensor is read and written"),
            ("no_price", SOFTMAX, ["g=4", "--model", "service"], "model service")):
        inputs = ["x=zeros:3x262144", "y=/dev/null"]
        if file == in_place:
            inputs = ["x=zeros:3x262144,/dev/null"]
        run = croft("plan", file, *inputs, *GPU, "--set", *words)
        case(f"parts_refused_{name}", run.code == 3 and said in run.text, run)
    found = parts_of(in_place, ["x=zeros:1x262144,/dev/null"], *GPU)
    case("what_cannot_be_split_has_a_plan", found == 1, found)
    page = candidates(in_place, "x=zeros:1x262144,/dev/null", *GPU)
    refused = [c for c in page["candidates"] if c.get("refused", {}).get("slug") == "parts-split"]
    case("one_refusal_stands_for_all", len(refused) == 1, len(refused))


def check_prices_of_parts():
    """The price of parts is that of their launches, and what waits for the launch before."""
    page = candidates(SOFTMAX, *rows_of("softmax", "1x262144"), *GPU)
    parts = [c for c in page["candidates"] if c["g"] > 1 and "refused" not in c]
    case("several_numbers_of_parts", len({c["g"] for c in parts}) >= 3, len(parts))
    for c in parts:
        label = f"{c['g']}_{c['w']}_{c['v']}_{c['chunk']}_{c['u']}"
        case(f"launches_{label}", len(c["launches"]) == 3
             and all(f["programs"] == c["g"] for f in c["launches"]), c["launches"])
        prices = c["prices"]
        case(f"unpriced_{label}", prices["analytic"] == prices["service"] ==
             {"missing": "launches"}, prices)
        causes = {cause["name"]: cause["amount"] for cause in prices["cuda"]["causes"]}
        case(f"three_launches_{label}", abs(causes["launch"] - 3 * 0.35) < 1e-9
             and causes["behind"] == 1.0 and len(causes) == len(prices["cuda"]["causes"])
             and abs(sum(causes.values()) - prices["cuda"]["total"]) < 1e-9, causes)
    cheap = command.SCRATCH / "cheap.txt"
    cheap.write_text("cuda.behind 1000\n")
    found = parts_of(SOFTMAX, rows_of("softmax", "1x262144"), *GPU, "--cost-model", cheap)
    case("dear_launches_keep_rows_whole", found == 1, found)


def check_names():
    """Renaming, naming subexpressions and swapping independent statements change nothing."""
    forms = [
        "kernel a(x: in f32[R, N], w: in f32[N], y: out f32[R, N]) {\n    program row: R\n"
        "    t = x[row, :]\n    u = w[:]\n    y[row, :] = t * u / sum(t * t)\n}\n",
        "kernel b(p: in f32[A, B], q: in f32[B], r: out f32[A, B]) {\n    program i: A\n"
        "    g = q[:]\n    h = p[i, :]\n    s = h * h\n    d = sum(s)\n"
        "    r[i, :] = h * g / d\n}\n"]
    for width in (100, 5000):
        plans = []
        for name, text in zip("ab", forms):
            run = croft("plan", kernel(name, text), ("N=%d" if name == "a" else "B=%d") % width,
                        *GPU, "--model", "analytic")
            lines = run.out.splitlines()
            plans.append([lines[0].split()[3]] + [line.split("  ", 1)[-1].strip()
                                                  for line in lines[1:]])
        case(f"names_do_not_matter_{width}", len(plans[0]) > 5 and plans[0] == plans[1], plans)


def check_candidates():
    """Candidates of every kind are obeyed by the lowering, and compute what the reference says."""
    runs = 6 if command.SANITIZED else 24 if command.LONG else 12
    for number in range(runs):
        name = random.choice(["softmax", "layernorm", "cross_entropy", "sum", "residual_layernorm"])
        width = random.choice([2, 7, 31, 33, 100, 257, 600, 1009, 1024])
        machine = random.choice(["sm_90", "sm_90", "cpu-avx2"])
        file = f"examples/{name}.croft"
        page = candidates(file, f"N={width}", "--machine", machine)
        legal = [c for c in page["candidates"] if "refused" not in c]
        if not legal:
            case(f"candidate_{number}", False, f"{name} {width}: none is legal")
            continue
        setting = setting_of(random.choice(legal))
        inputs = {"softmax": ["x=randn:3x"], "sum": ["x=randn:3x"],
                  "layernorm": ["x=randn:3x", "w=randn:", "b=randn:"],
                  "residual_layernorm": ["x=randn:3x", "residual=randn:3x", "w=randn:", "b=randn:"],
                  "cross_entropy": ["logits=randn:3x"]}[name]
        words = [f"{word}{width}" for word in inputs]
        words += [f"label=randint:3:0:{width}", f"loss={OUT}"] if name == "cross_entropy" else [
            f"y={OUT}"]
        run = croft("run", file, *words, "--machine", machine, "--target", "sim", "--check",
                    "--set", setting)
        case(f"candidate_{number}_{name}_{width}_{machine}_{setting}", run.code == 0, run)


check_page()
check_refusals()
check_search()
check_names()
check_parts()
check_blocks_are_set()
check_parts_are_set()
check_prices_of_parts()
check_candidates()
command.finish()
