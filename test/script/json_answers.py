"""Every command with --json: what it answers, good and bad, is what docs/schemas says, and says all
that the text form says.

tier: check
builds: release asan

Schemas are closed: a member that is missing, new or of another type fails. An answer has the exit
code of the text form, the same findings, and leaves standard error empty. Needs jsonschema.
"""
import copy
import json
import os
import pathlib
import re
import resource

import jsonschema
import numpy as np

import command
from command import SCRATCH, case

SCHEMAS = command.ROOT / "docs" / "schemas"
BASE = "file:///schemas/"
BUILT = pathlib.Path(os.environ.get("CROFT_BUILD", command.ROOT / "build")) / "test"
FAKE, LOADER = str(BUILT / "libfake_cuda.so"), str(BUILT / "libfake_opencl.so")
SOFTMAX = "examples/softmax.croft"
SLUG = re.compile(r"error: .* \[([a-zA-Z0-9_-]+)\]$", re.MULTILINE)
# Members that only some answers have; every other member of a closed object is required.
OPTIONAL = {"limit", "of", "step", "group", "rounds_possible", "store_conflicts", "load_conflicts",
            "swizzle"}
schemas = {path.name: json.loads(path.read_text(encoding="utf-8"))
           for path in SCHEMAS.glob("*.json")}
answered, refused = set(), set()


def validator(name):
    store = {BASE + other: schema for other, schema in schemas.items()}
    resolver = jsonschema.RefResolver(BASE + name, schemas[name], store=store)
    return jsonschema.Draft202012Validator(schemas[name], resolver=resolver)


def walk(schema, place=""):
    """Every schema inside a schema, with its place."""
    if isinstance(schema, dict):
        yield place, schema
        for key, inner in schema.items():
            yield from walk(inner, f"{place}/{key}")
    elif isinstance(schema, list):
        for i, inner in enumerate(schema):
            yield from walk(inner, f"{place}/{i}")


def check_schemas():
    for name, schema in sorted(schemas.items()):
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
            wrong = None
        except jsonschema.SchemaError as error:
            wrong = error
        case(f"schema_{name}_is_one", wrong is None
             and (name == "parts.json" or name == file_of(schema["title"])), wrong)
        for place, inner in walk(schema):
            if inner.get("type") != "object":
                continue
            closed = inner.get("additionalProperties")
            listed = set(inner.get("properties", {}))
            needed = set(inner.get("required", []))
            if place == "" and name != "parts.json":
                listed = needed  # those of an answer that is complete are asked for by `then`
            if closed is not False and place not in OPEN.get(name, ()):
                case(f"schema_{name}_is_closed", False, place)
            if not listed - needed <= OPTIONAL:
                case(f"schema_{name}_requires_all", False, f"{place}: {listed - needed}")


# Objects by name of a size, and one that nothing writes yet.
OPEN = {"explain.json": ("/$defs/report/properties/sizes", "/$defs/report/properties/from_ptxas"
                         "/anyOf/0")}


def file_of(title):
    return re.fullmatch(r"croft-([a-z-]+)/1", title)[1] + ".json"


def pairs(items):
    keys = [key for key, _ in items]
    assert len(set(keys)) == len(keys), f"a key stands twice: {keys}"
    return dict(items)


def no_constant(word):
    raise ValueError(f"JSON has no {word}")


def strict(text):
    return json.loads(text, object_pairs_hook=pairs, parse_constant=no_constant)


def errors_of(answer):
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:300]}"
            for error in validator(file_of(answer["schema"])).iter_errors(answer)]


def first_of_lists(value):
    if isinstance(value, dict):
        return {key: first_of_lists(inner) for key, inner in value.items()}
    return [first_of_lists(inner) for inner in value[:1]] if isinstance(value, list) else value


def drifts(answer):
    """Members whose loss, or whose company of another, the schema would not see."""
    seen = validator(file_of(answer["schema"]))
    short = first_of_lists(answer)
    if seen.is_valid(short):
        answer = short
    unseen = []
    for place, part in list(walk(answer)):
        if place.startswith("/sizes") or place.count("/") > 4 or re.search(r"/[1-9]\d*/", place):
            continue  # of a list the first element stands for all, where it may stand alone
        for key in [*part, None]:
            if key in OPTIONAL or (key == "printed" and place == ""):
                continue
            other = copy.deepcopy(answer)
            inside = other
            for step in place.split("/")[1:]:
                inside = inside[int(step) if isinstance(inside, list) else step]
            if key is None:
                inside["another"] = 1
            elif key in inside:
                del inside[key]
            if seen.is_valid(other):
                unseen.append(f"{place}/{key}")
        if len(unseen) > 3:
            break
    return unseen


def croft(*words, **options):
    environment = dict(os.environ, CROFT_CUDA_DRIVER=FAKE, CROFT_NVRTC=FAKE,
                       CROFT_OPENCL_LIBRARY=LOADER)
    environment.update(options.pop("environment", {}))
    return command.croft(*words, environment=environment, **options)


def ask(name, code, *words, text=None, drift=False, slugs=None, **options):
    """The answer to a command, validated and compared with the text form; {} when it is none.
    text=False: the text form is another command or has effects of its own."""
    result = croft(*words, "--json", **options)
    try:
        answer = strict(result.out)
    except (ValueError, AssertionError) as error:
        case(f"{name}_is_json", False, f"{error}\n{result}")
        return {}
    wrong = errors_of(answer)
    good = (result.code == code == answer["exit_code"] and result.err == ""
            and next(iter(answer)) == "schema")
    found = [finding["slug"] for finding in answer["findings"]]
    if slugs is not None:
        good = good and set(found) == set(slugs)
    case(f"{name}_answers", good and not wrong, "\n".join([*wrong, str(result)]))
    if text is not False:
        said = croft(*(words if text is None else text), **options)
        same = said.code == code and (SLUG.findall(said.err) in (found, [])
                                      or answer["findings_left_out"] > 0)
        lost = [line for line in said.err.splitlines() if line.startswith("croft: ")
                and not any(finding["message"].splitlines()[0] in line
                        for finding in answer["findings"])]
        case(f"{name}_says_what_the_text_says", same and not lost, f"{lost}\n{said}\n{result}")
    if drift and not command.SANITIZED:
        case(f"{name}_is_closed", not drifts(answer), drifts(answer))
    (refused if len(answer) <= 5 else answered).add(file_of(answer["schema"]))
    return answer


def write(name, text):
    path = SCRATCH / name
    path.write_text(text)
    return path


def facts():
    version = ask("version", 0, "version", drift=True)
    case("version_is_that_of_the_text",
         croft("version").out == f"croft {version.get('version')}\n", version)
    ask("version_option", 0, "--version")
    listed = ask("help", 0, "help", drift=True)
    text = croft("help").out
    case("help_has_the_text", listed.get("text") == text, text)
    case("help_has_the_commands", set(listed["commands"]) == set(
        re.findall(r"(?:^  |, )croft ([a-z]+)", text, re.MULTILINE)), listed["commands"])
    words = [option["option"] for option in listed["options"]]
    case("help_has_the_options", {"--json", "--kernel", "-o"} <= set(words)
         and len(set(words)) == len(words), words)
    ask("help_option", 0, "--help")
    ask("no_command", 2, slugs=["unknown-command"], text=False)
    ask("unknown_command", 2, "frob", slugs=["unknown-command"])
    ask("unknown_option", 2, "run", SOFTMAX, "--frob", slugs=["unknown-option"])
    ask("option_without_value", 2, "help", "--seed", "x", slugs=["option-value"])
    ask("version_with_a_wrong_option", 2, "version", "--list", slugs=["option-use"])
    ask("another_format", 2, "layout", "show", "identity(64)", "--format", "svg",
        slugs=["option-use"], text=False)
    value = croft("check", SOFTMAX, "--kernel", "--json")
    case("a_value_is_no_option", value.code == 3 and value.out == "" and "--json" in value.err,
         value)
    file = croft("version", "--json", "-o", SCRATCH / "version.json")
    case("an_answer_goes_into_a_file", file.code == 0 and file.text == "" and strict(
        (SCRATCH / "version.json").read_text())["version"] == version["version"], file)
    ask("an_answer_that_cannot_be_written", 4, "version", "-o", SCRATCH / "no" / "x.json",
        slugs=["file-write"], text=False)


def devices():
    found = ask("devices", 0, "devices", drift=True)
    case("devices_has_the_pretended", len(found["cuda"]["devices"]) == 2
         and len(found["opencl"]["devices"]) == 2, found)
    ask("devices_missing", 0, "devices", environment={"CROFT_CUDA_DRIVER": "/nowhere",
                                                      "CROFT_OPENCL_LIBRARY": "/nowhere"})
    ask("devices_lacking", 0, "devices", environment={"FAKE_OPENCL": "lacking"})
    ask("devices_format", 2, "devices", "--frob")


def caches():
    home = {"XDG_CACHE_HOME": str(SCRATCH / "cache")}
    (SCRATCH / "cache").mkdir()
    ask("run_that_is_kept", 0, "run", SOFTMAX, "x=ones:2x3", "y=/dev/null", environment=home)
    found = ask("cache", 0, "cache", "ls", environment=home, drift=True)
    case("cache_has_the_program", [one["kernel"] for one in found["programs"]] == ["softmax"],
         found)
    path = next((SCRATCH / "cache" / "croft").glob("*" + found["programs"][0]["file"] + "*"))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    found = ask("cache_damaged", 1, "cache", "verify", environment=home)
    case("cache_says_the_fault", found["programs"][0]["fault"] is not None, found)
    found = ask("cache_gc", 0, "cache", "gc", environment=home, text=False, drift=True)
    case("cache_gc_counts", found["damaged"] == 1, found)
    ask("cache_verb", 2, "cache", "frob", slugs=["unknown-verb"])
    ask("cache_all", 2, "cache", "ls", "--all", slugs=["option-use"])
    ask("cache_gc_words", 2, "cache", "gc", "x=1", slugs=["unknown-verb"])
    nobody = SCRATCH / "open"
    nobody.mkdir()
    nobody.chmod(0o777)
    (nobody / "croft").mkdir()
    (nobody / "croft").chmod(0o777)
    found = ask("cache_that_is_not_used", 0, "run", SOFTMAX, "x=ones:2x3", "y=/dev/null",
                environment={"XDG_CACHE_HOME": str(nobody)})
    case("a_warning_is_no_error", [one["severity"] for one in found["findings"]] == ["warning"]
         and "tensors" in found, found)


def arrays():
    path = SCRATCH / "a.npy"
    np.save(path, np.array([[1.5, -0.0, 1e30], [np.inf, -np.inf, np.nan]], np.float32))
    found = ask("show", 0, "show", path, drift=True)
    case("show_has_the_values", found["shape"] == [2, 3] and found["strides"] == [3, 1]
         and found["dtype"] == "f32" and found["values"] == [1.5, 0, 1e30, "inf", "-inf", "nan"]
         and str(found["values"][1]) == "-0.0", found)
    np.save(path, np.array([-2 ** 63, 2 ** 63 - 1, 2 ** 53 + 1], np.int64))
    found = ask("show_integers", 0, "show", path)
    case("show_integers_in_full", found["values"] == [-2 ** 63, 2 ** 63 - 1, 2 ** 53 + 1], found)
    np.save(path, np.zeros((40, 50), np.uint8))
    found = ask("show_large", 0, "show", path)
    case("show_large_shows_a_part", found["elements"] == 2000 and len(found["values"]) == 1000,
         found)
    np.save(path, np.float16(0.1))
    case("show_rank_0", ask("show_scalar", 0, "show", path)["values"] == [0.1])
    np.save(path, np.zeros((0, 3), np.float16))
    case("show_empty", ask("show_nothing", 0, "show", path)["values"] == [])
    np.save(path, np.array(["text"]))
    ask("show_text", 3, "show", path)
    ask("show_missing", 4, "show", SCRATCH / "none.npy", slugs=["file-open"])
    ask("show_no_file", 2, "show", slugs=["file-missing"])


def names():
    """Whatever a file is called, the answer is JSON."""
    for name in ('a "quoted" \\ one', "n\u00e9w \u2603 \U0001f600", "new\nline\ttab\x01\x7f",
                 os.fsdecode(b"invalid \xff\xfe utf-8 \xc3"), "a'b{}[],:"):
        path = SCRATCH / f"{name}.croft"
        path.write_text("kernel k(x: in f32[N]) { \"\u00e9\\ \x02\n")
        found = ask(f"name_{len(name.encode('utf-8', 'surrogateescape'))}", 3, "check", path)
        shown = os.fsencode(path).decode("utf-8", "replace")
        case(f"name_{len(name)}_is_shown", found["file"] == shown
             and found["findings"][0]["source"] == shown, found["file"])
    ask("name_of_a_value", 3, "check", SOFTMAX, os.fsdecode(b"N=\xff\"\n"))
    ask("name_of_a_command", 2, os.fsdecode(b"\xff\"\n"), text=False)


def checks():
    ask("check", 0, "check", SOFTMAX, drift=True)
    two = write("two.croft", "kernel good(x: in f32[N], y: out f32[N]) { y[:] = x[:] }\n"
                "kernel bad(x: in f32[N], y: out f32[N]) { y[:] = z[:] + w[:] }\n"
                "kernel fine(x: in f32[N], y: out f32[N]) { y[:] = x[:] }\n")
    found = ask("check_two", 3, "check", two, drift=True)
    case("check_says_which", found["verdict"] == "refused"
         and [(one["kernel"], one["fine"], one["findings"] > 0) for one in found["kernels"]]
         == [("good", True, False), ("bad", False, True), ("fine", True, False)], found)
    first = found["findings"][0]
    case("check_says_where", first["slug"] == "unknown-name" and first["source"] == str(two)
         and (first["line"], first["column"], first["length"]) == (2, 52, 1)
         and first["found"] is None or first["found"] == "z", first)
    ask("check_one", 0, "check", two, "--kernel", "good")
    ask("check_none", 3, "check", two, "--kernel", "none")
    ask("check_syntax", 3, "check", write("syntax.croft", "kernel k( {"))
    ask("check_empty", 3, "check", write("empty.croft", ""))
    ask("check_missing", 4, "check", SCRATCH / "none.croft", slugs=["file-open"])
    ask("check_width", 3, "check", SOFTMAX, "N=-1")
    ask("check_array", 4, "check", SOFTMAX, f"x={SCRATCH}/none.npy")
    ask("check_machine", 2, "check", SOFTMAX, "--machine", "m9", slugs=["unknown-machine"])
    found = ask("check_many", 3, "check", write(
        "many.croft", "kernel k(x: in f32[N], y: out f32[N]) { y[:] = x[:]\n"
        + "".join(f"    t{i} = no{i}\n" for i in range(50)) + "}\n"))
    case("check_counts_what_it_leaves_out", len(found["findings"]) == 20
         and found["findings_left_out"] == 30, found["findings_left_out"])
    text = croft("emit", SOFTMAX, "--level", "tile", "N=8").out
    found = ask("check_ir", 0, "check", write("good.ir", text))
    case("check_ir_has_its_level", found["kernels"][0]["level"] == "tile", found)
    broken = (command.ROOT / "test/verify/dominance.ir").read_text().split("\n---")[0]
    found = ask("check_broken_rule", 3, "check", write("broken.ir", broken + "\n"), drift=True)
    case("check_ir_names_the_rule", {one["slug"] for one in found["findings"]} == {"dominance"}
         and not found["kernels"][0]["fine"]
         and found["kernels"][0]["findings"] == len(found["findings"]), found)
    ask("check_ir_syntax", 3, "check", write("bad.ir", "kernel @k[\n"))
    ask("check_ir_missing", 4, "check", SCRATCH / "none.ir", slugs=["file-open"])
    ask("check_ir_words", 2, "check", SCRATCH / "good.ir", "x=1", slugs=["option-use"])
    printed = ask("check_printed", 0, "check", SOFTMAX, "N=8", "--print-after", "all", text=False)
    shown = croft("check", SOFTMAX, "N=8", "--print-after", "all").err
    case("what_passes_left_is_in_the_answer", shown == "".join(
        f"# after {one['pass']}\n{one['text']}" for one in printed["printed"]), printed)


def plans():
    sm_90 = ["--machine", "sm_90"]
    found = ask("plan", 0, "plan", SOFTMAX, "N=1009", *sm_90, drift=True)
    text = croft("plan", SOFTMAX, "N=1009", *sm_90).out
    case("plan_has_the_text", text == found["plan"]["text"], found)
    lines = [f"{kind} {line['anchor']} {line['decision']}"
             for kind, several in found["lines"].items() for line in several]
    case("plan_has_the_lines", lines == [" ".join(line.split()[:2]) + " " + line.split(None, 2)[2]
                                         for line in text.splitlines()[1:]], lines)
    explained = ask("explain", 0, "explain", SOFTMAX, "N=1009", *sm_90, drift=True)
    case("plan_has_the_hash", found["plan"]["hash"] == explained["plan"]["hash"]
         and found["plan"]["canonical"] == explained["plan"]["canonical"]
         and f"canon {found['plan']['canonical']}" in text, found["plan"])
    path = write("given.plan", text)
    given = ask("plan_given", 0, "plan", SOFTMAX, "N=1009", *sm_90, "--plan", path)
    case("plan_given_is_that", given["planned_by"] is None and given["plan"] == found["plan"],
         given)
    path.write_text(text.replace("lane 32", "lane 31"))
    ask("plan_refused", 3, "plan", SOFTMAX, "N=1009", *sm_90, "--plan", path)
    ask("plan_missing", 4, "plan", SOFTMAX, "N=1009", "--plan", SCRATCH / "none.plan")
    ask("plan_register", 0, "plan", "examples/rmsnorm_register.croft", *sm_90)
    ask("plan_fallback", 0, "plan", SOFTMAX, "N=64", "--plan", "fallback")
    ask("plan_transposed", 0, "plan", "examples/transpose8.croft", *sm_90)
    ask("plan_no_rows", 2, "plan", SOFTMAX, "--model", "frob", slugs=["unknown-model"])
    ask("plan_setting", 3, "plan", SOFTMAX, "N=64", "--set", "w=3")
    ask("plan_of_ir", 2, "plan", SCRATCH / "good.ir", slugs=["kernel-expected"])
    ask("plan_all", 0, "plan", SOFTMAX, "N=64", "--all", drift=True)
    ask("plan_all_in_parts", 0, "plan", SOFTMAX, "N=262144", "R=1", *sm_90, "--all",
        "--set", "w=256")
    ask("plan_all_none", 3, "plan", "examples/transpose8.croft", *sm_90, "--all",
        slugs=["plan-candidates"])


def explanations():
    on = ["--machine", "sm_90"]
    for name, words in (("transposed", ["examples/transpose8.croft"]),
                        ("obstacle", ["examples/softmax_blocks.croft"]),
                        ("register", ["examples/rmsnorm_register.croft"]),
                        ("requested", [SOFTMAX, "N=33", "--plan", "fallback"]),
                        ("given", [SOFTMAX, "N=1009", "--plan", SCRATCH / "whole.plan"])):
        if name == "given":
            (SCRATCH / "whole.plan").write_text(croft("plan", SOFTMAX, "N=1009", *on).out)
        ask(f"explain_{name}", 0, "explain", *words, *on)
    for path in sorted((command.ROOT / "test" / "explain").glob("*.croft")):
        ask(f"explain_{path.stem}", croft("explain", path, *on).code, "explain", path, *on)
    for path in sorted((command.ROOT / "examples").glob("*.croft")):
        ask(f"explain_{path.stem}_on_a_cpu", croft("explain", path, "--machine", "cpu-avx2").code,
            "explain", path, "--machine", "cpu-avx2", text=False)
    split = ask("explain_launches", 0, "explain", SOFTMAX, "N=262144", "R=1", *on, "--set", "g=64")
    case("explain_has_the_launches", [one["kernel"] for one in split["launches"]]
         == ["softmax_1", "softmax_2", "softmax_3"], split.keys())
    ask("explain_bad", 3, "explain", SCRATCH / "two.croft", "--kernel", "bad")
    ask("explain_picture", 2, "explain", SOFTMAX, "--value", "t", "--svg", text=False)


def layouts():
    ask("layout_show", 0, "layout", "show", "bits(1, 0, 2, 3, 4, slots=2)", drift=True)
    ask("layout_steps", 0, "layout", "show", "digits(slot 2 | lane 8 | step *)")
    same = ["identity(64, slots=2)", "(32,2):(1,32)"]
    ask("layout_compare", croft("layout", "compare", *same).code, "layout", "compare", *same,
        drift=True)
    ask("layout_differ", 1, "layout", "compare", "bits(1,0,2,3,4)", "bits(0,1,2,3,4)", drift=True)
    ask("layout_convert", 0, "layout", "convert", *same, drift=True)
    ask("layout_shuffle", 0, "layout", "convert", "bits(1,0,2,3,4)", "bits(0,1,2,3,4)", drift=True)
    ask("layout_scratch", 0, "layout", "convert", "bits(3, 4, 5, 0, 1, 2)", "identity(64)")
    ask("layout_bad", 3, "layout", "show", "bits(1, 1)")
    ask("layout_compare_bad", 3, "layout", "compare", "identity(64)", "identity(32)",
        slugs=["layout-mismatch"])
    ask("layout_convert_machine", 2, "layout", "convert", *same, "--machine", "m9",
        slugs=["unknown-machine"])
    ask("layout_no_file", 4, "layout", "show", f"@{SCRATCH}/none")
    ask("layout_verb", 2, "layout", "frob", slugs=["layout-use"])
    format_json = croft("layout", "show", "identity(64)", "--format", "json")
    case("format_is_the_same", format_json.out
         == croft("layout", "show", "identity(64)", "--json").out, format_json)


def runs():
    found = ask("run", 0, "run", SOFTMAX, "x=randn:3x9", f"y={SCRATCH}/y.npy", drift=True)
    hashes = croft("run", SOFTMAX, "x=randn:3x9", "y=/dev/null", "--hash").out.split()
    case("run_has_the_hashes", found["tensors"][1]["hash"] == hashes[2]
         and found["hash"] == hashes[5] and found["tensors"][1]["file"] == f"{SCRATCH}/y.npy"
         and (SCRATCH / "y.npy").exists(), found)
    plan = strict(croft("plan", SOFTMAX, "x=randn:3x9", "--json").out)
    case("run_has_the_plan", found["plan"] == plan["plan"], found["plan"])
    found = ask("run_checked", 0, "run", SOFTMAX, "x=special:12x9", "y=-", "--check", drift=True)
    case("run_has_the_check", found["checks"][0]["good"] and found["checks"][0]["elements"] == 108
         and "nan" in found["tensors"][1]["values"], found)
    for target in ("reference", "sim"):
        ask(f"run_{target}", 0, "run", SOFTMAX, "x=randn:2x9", "y=-", "--target", target, "--check")
    ask("run_planned_elsewhere", 0, "run", SOFTMAX, "x=randn:2x9", "y=-", "--machine", "sm_90",
        "--check")
    found = ask("run_offset", 0, "run", SOFTMAX, "x=randn:2x64", "y=/dev/null", "--offset", "1",
                "--check", drift=True)
    split = ask("run_split", 0, "run", SOFTMAX, "x=randn:1x4096", "y=/dev/null", "--machine",
                "sm_90", "--set", "g=4", "--check")
    case("run_split_has_its_tensors", len(split["tensors"]) == 2, split)
    inout = write("inout.croft", "kernel k(x: inout f32[N], eps: f32) { x[:] = x[:] + eps }\n")
    found = ask("run_inout", 0, "run", inout, "x=ones:4,-", "eps=0.5", "--check")
    case("run_inout_has_values", found["tensors"][0]["values"] == [1.5] * 4, found)
    gather = write("gather.croft", "kernel k(x: in f32[N], i: in i64[N], y: out f32[N]) "
                   "{ y[:] = x[i[:]] }\n")
    found = ask("run_fault", 1, "run", gather, "x=ones:4", "i=const:4:0,9,1,7", "y=-", "--check")
    case("run_fault_is_a_finding", {one["slug"] for one in found["findings"]} == {"index-outside"}
         and found["findings"][0]["line"] == 1, found["findings"])
    found = ask("run_counted", 1, "run", gather, "x=ones:4", "i=const:4:0,9,1,7", "y=-", "--check",
                "--count-faults", drift=True)
    case("run_counts_faults", found["faults"] == 2
         and [one["name"] for one in found["tensors"]] == ["x", "i", "y"], found)
    found = ask("run_tight", 1, "run", SOFTMAX, "x=randn:4x1009", "y=/dev/null", "--check", "--tol",
                "1e-30")
    case("run_tight_fails", not found["checks"][0]["good"] and found["checks"][0]["failed"] > 0
         and found["checks"][0]["worst"] is not None, found)
    ask("run_missing", 3, "run", SOFTMAX, "x=randn:3x9")
    ask("run_no_file", 4, "run", SOFTMAX, f"x={SCRATCH}/none.npy", "y=-")
    ask("run_target", 2, "run", SOFTMAX, "--target", "tpu", slugs=["unknown-target"])
    ask("run_unwritable", 4, "run", SOFTMAX, "x=ones:2x3", f"y={SCRATCH}/none/y.npy")
    ask("run_compiler", 4, "run", SOFTMAX, "x=ones:2x3", "y=-", "--compiler", "/nowhere/cc",
        "--no-cache")
    ask("run_ir_elsewhere", 2, "run", SCRATCH / "good.ir", slugs=["kernel-expected"])


def simulated():
    for path in sorted((command.ROOT / "test" / "sim").glob("*.ir")):
        first = path.read_text().splitlines()
        words = [word for line in first if line.startswith("# run: ") for word in line[7:].split()]
        said = croft("run", "--target", "sim", path, *words)
        ask(f"run_{path.stem}", said.code, "run", "--target", "sim", path, *words)


def pretended():
    kernel = write("copy.croft", "kernel copy(x: in f32[R, N], y: out f32[R, N]) {\n"
                   "    program row: R\n    y[row, :] = x[row, :]\n}\n")
    words = ["run", kernel, "x=arange:3x5", "y=-", "--target", "cuda", "--no-cache"]
    found = ask("cuda", 0, *words, "--check", environment={"FAKE_CUDA": "copy"}, drift=True)
    case("cuda_has_the_device", found["device"] == "Pretended 0" and found["runs_on"] == "sm_90"
         and found["compiler_reports"][0]["registers"] == 32, found)
    ask("cuda_unsteady", 1, *words, "--repeat", 5, environment={"FAKE_CUDA": "unsteady"},
        slugs=["launches-differ"])
    ask("cuda_overrun", 1, *words, "--check", environment={"FAKE_CUDA": "overrun"})
    ask("cuda_lost", 4, *words, environment={"FAKE_CUDA": "lost"}, slugs=["device-failed"])
    ask("cuda_old", 4, *words, environment={"FAKE_CUDA": "old"}, slugs=["device-failed"])
    words = ["run", kernel, "x=arange:3x5", "y=-", "--target", "opencl", "--no-cache"]
    copies = {"FAKE_OPENCL": "copy"}
    ask("opencl", croft(*words, environment=copies).code, *words, "--check", environment=copies)
    ask("opencl_lacking", 4, *words, environment={"FAKE_OPENCL": "lacking"},
        slugs=["device-failed"])
    ask("opencl_offset", 2, *words, "--offset", "1", slugs=["option-use"])


def emitted():
    found = ask("emit", 0, "emit", SOFTMAX, "N=1009", "--machine", "sm_90", drift=True)
    case("emit_has_the_text", found["text"] == croft("emit", SOFTMAX, "N=1009", "--machine",
                                                     "sm_90").out)
    case("emit_has_the_entry", f"\n{found['entries'][0]['name']}(" in found["text"]
         and [word["kind"] for word in found["words"]] == ["size"] * 2 + ["stride"] * 4, found)
    ask("emit_cpu", 0, "emit", SOFTMAX, "N=64", "--target", "cpu", "--assume", "all", drift=True)
    split = ask("emit_split", 0, "emit", SOFTMAX, "N=262144", "R=1", "--machine", "sm_90", "--set",
                "g=64", drift=True)
    case("emit_split_has_entries", len(split["entries"]) == 3 and any(
        pointer["mode"] == "workspace" for pointer in split["pointers"]), split["entries"])
    for level in ("tile", "mapped", "thread"):
        found = ask(f"emit_{level}", 0, "emit", SOFTMAX, "N=64", "--level", level, drift=True)
        case(f"emit_{level}_says_so", found["level"] == level and found["entries"] is None, found)
    file = SCRATCH / "softmax.c"
    found = ask("emit_files", 0, "emit", SOFTMAX, "N=64", "T=f32", "--isa", "baseline,avx2",
                "--target", "cpu", "-o", file, drift=True)
    case("emit_files_are_there", found["files"] == [str(file), str(file.with_suffix(".h"))]
         and found["function"] + "(" in file.with_suffix(".h").read_text()
         and [one["machine"] for one in found["versions"]] == ["cpu-baseline", "cpu-avx2"], found)
    file = SCRATCH / "softmax.cu"
    found = ask("emit_file", 0, "emit", SOFTMAX, "N=64", "--machine", "sm_90", "-o", file)
    case("emit_file_has_the_text", found["text"] is None and found["files"] == [str(file)]
         and found["entries"][0]["name"] in file.read_text(), found)
    ask("emit_stopped", 0, "emit", SOFTMAX, "N=64", "--stop-after", "map")
    ask("emit_level", 2, "emit", SOFTMAX, "--level", "top", slugs=["unknown-level"])
    ask("emit_target", 2, "emit", SOFTMAX, "--target", "tpu", slugs=["unknown-target"])
    ask("emit_isa", 2, "emit", SOFTMAX, "--isa", "mmx", "-o", SCRATCH / "x.c",
        slugs=["option-value"])
    ask("emit_assume", 2, "emit", SOFTMAX, "--assume", "luck", slugs=["unknown-condition"])
    ask("emit_unwritable", 4, "emit", SOFTMAX, "N=64", "-o", SCRATCH / "none" / "x.cu")


def passes():
    tile = SCRATCH / "good.ir"
    found = ask("opt", 0, "opt", tile, drift=True)
    case("opt_has_the_text", found["text"] == croft("opt", tile).out and found["level"] == "thread")
    names_run = [one["pass"] for one in found["passes"]]
    case("opt_says_what_changed", "map" in names_run and "expand" in names_run
         and all(one["changed"] for one in found["passes"] if one["pass"] in ("map", "expand"))
         and not all(one["changed"] for one in found["passes"]), found["passes"])
    found = ask("opt_nothing", 0, "opt", "-p", "canonicalise,canonicalise", tile)
    case("opt_changes_nothing_twice", not found["passes"][1]["changed"], found["passes"])
    out = SCRATCH / "out.ir"
    found = ask("opt_file", 0, "opt", "-p", "fold", tile, "-o", out)
    case("opt_file_is_there", found["file"] == str(out) and found["text"] is None
         and out.read_text() == croft("opt", "-p", "fold", tile).out, found)
    ask("opt_list", 0, "opt", "--list", drift=True)
    ask("opt_list_words", 2, "opt", "--list", "--svg", slugs=["option-use"])
    ask("opt_no_file", 2, "opt", slugs=["file-missing"])
    ask("opt_unknown", 3, "opt", "-p", "frob", tile, slugs=["unknown-pass"])
    ask("opt_stop", 2, "opt", tile, "--stop-after", "frob", slugs=["unknown-pass"])
    ask("opt_kernel", 3, "opt", SOFTMAX)
    ask("opt_level", 3, "opt", "-p", "syncs", tile, slugs=["pass-level"])


def memory():
    """Where memory ends, the answer is still one, or there is none and a code that says so."""
    if command.SANITIZED:
        return
    ends = set()
    for kilobytes in [*range(4600, 6600, 100), 64000]:
        limit = kilobytes << 10
        run = croft("plan", SOFTMAX, "N=4096", "--machine", "sm_90", "--all", "--set", "w=256",
                    "--json",
                    before=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        if run.code == 127 or run.code < 0:
            continue  # not even its libraries
        answer = strict(run.out)
        ends.add(answer["exit_code"])
        good = answer["exit_code"] == run.code and not errors_of(answer) and run.err == ""
        if run.code == 4:
            good = good and [one["slug"] for one in answer["findings"]] == ["out-of-memory"]
        case(f"within_{kilobytes}_kilobytes", good, run)
    case("memory_ended_and_did_not", ends == {0, 4}, ends)


def page():
    """docs/command.md: its example, and a line for each finding of the command itself."""
    text = (command.ROOT / "docs" / "command.md").read_text(encoding="utf-8")
    made, shown = re.search(r"```\n\$ cat bad.croft\n(.*?)\$ croft check bad.croft --json\n"
                            "(.*?)```", text, re.DOTALL).groups()
    write("bad.croft", made)
    example = command.croft("check", "bad.croft", "--json", folder=SCRATCH)
    case("the_example_of_the_page_is_right", example.code == 3 and example.out == shown, example)
    listed = set(re.findall(r"`([a-z0-9-]+)`", text[text.index("| finding of the command |"):]))
    calls = re.compile(r"cli_(?:refuse|warn)\([^;\"]*?\"([a-z-]+)\""
                       r"|usage_error\(options, \"([a-z-]+)\"")
    said = {slug for path in (command.ROOT / "cli").glob("*.c")
            for pair in calls.findall(path.read_text()) for slug in pair if slug}
    case("the_page_lists_the_findings", len(said) > 20 and said <= listed, f"{said - listed}")
    named = set(re.findall(r"`croft-([a-z-]+)/1`", text)) | {"layout-compare", "layout-convert"}
    case("the_page_lists_the_schemas", {f"{name}.json" for name in named} | {"parts.json"}
         == set(schemas), f"{named}")


def check_coverage():
    names_of = {name for name in schemas if name != "parts.json"}
    case("every_schema_has_an_answer", names_of - {"failure.json"} == answered,
         f"{names_of ^ answered}")
    # `help` and `version` refuse no more than wrong words do.
    case("every_schema_has_a_refusal", names_of == refused, f"{names_of ^ refused}")


check_schemas()
facts()
caches()
arrays()
names()
checks()
plans()
runs()
passes()
if command.LONG or not command.SANITIZED:  # the others are no other matter of memory
    devices()
    explanations()
    layouts()
    simulated()
    pretended()
    emitted()
    memory()
    page()
    check_coverage()
command.finish()
