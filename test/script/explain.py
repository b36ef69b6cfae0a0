"""What `croft explain` says: as text, JSON and pictures; and that it is true of the source emitted.

tier: check
builds: release asan

test/explain/FACT.txt holds, behind `$ croft`, a command and what it prints, hashes left out.
`test/script/explain.py --bless` (`make bless`) rewrites them; look at the difference.
"""
import json
import re
import shlex
import sys
import xml.etree.ElementTree

import command
from command import case, croft

FOLDER = command.ROOT / "test" / "explain"
TRANSPOSE = "test/explain/transpose8.croft"
RAGGED = "test/explain/ragged.croft"
SOFTMAX = "examples/softmax.croft"
ON = ["--machine", "sm_90"]
# Of 2 slots on sm_90: 2 puts, 2 gets and one barrier, each access without conflicts.
SCRATCH_PRICE = 2 * 1 + 2 * 1 + 16
HASH = re.compile(r"\b[0-9a-f]{16}\b")

ACCESS = "anchor tensor line column dtype width groups singles guarded guards in_loops " \
         "uniform waits policy obeyed ignored prefetch prefetch_sweep prefetching"
KEYS = {key: set(names.split()) for key, names in {
    "": "schema exit_code findings findings_left_out "
        "kernel machine sizes plan group erased_layouts planned value_layouts "
        "layout_conversions layout_optimizations register_reductions grouped_loads "
        "grouped_stores guarded_accesses grouped_widths "
        "index_widths barriers conditions allocations from_ptxas",
    "plan": "hash canonical text",
    "group": "threads subgroups groups counted",
    "value_layouts": "value line column dtype shape layout fixed threads slots steps replication "
                     "storage access",
    "layout_conversions": "anchor line column source result dtype source_layout result_layout "
                          "class mechanism shuffles selects scratch_bytes puts put_width gets "
                          "get_width put_conflicts get_conflicts barriers price alternative "
                          "alternative_price",
    "layout_optimizations": "kind anchor through line column source_layout result_layout proof",
    "register_reductions": "anchor line column operation axis dtype state threads slots steps "
                           "subgroups partials scratch_bytes barriers",
    "grouped_loads": ACCESS,
    "grouped_stores": ACCESS,
    "grouped_widths": "width loads stores",
    "index_widths": "access dimension part bits low high",
    "conditions": "condition kind subject amount accesses",
    "barriers": "line column publishes releases in_loop scope",
    "allocations": "scratch_bytes scratch_limit_bytes workspace_bytes arrays",
}.items()}


def words_of(text):
    first = text.split("\n", 1)[0]
    return shlex.split(first.removeprefix("$ croft "))


def goldens(bless):
    for path in sorted(FOLDER.glob("*.txt")):
        text = path.read_text(encoding="utf-8")
        head = text.split("\n", 1)[0] + "\n"
        run = croft(*words_of(text))
        printed = head + HASH.sub("HASH", run.out)
        if bless and run.code == 0 and printed != text:
            path.write_text(printed, encoding="utf-8")
            print(f"blessed {path.name}")
            continue
        case(path.stem, run.code == 0 and printed == text, run)


def page_shows_what_is_printed(bless):
    """The first block of docs/explain.md."""
    page = command.ROOT / "docs" / "explain.md"
    text = page.read_text(encoding="utf-8")
    shown = text.split("```", 2)[1]
    head, body = shown.lstrip("\n").split("\n", 1)
    run = croft("explain", TRANSPOSE, *ON)
    if bless:
        page.write_text(text.replace(shown, f"\n{head}\n{run.out}", 1), encoding="utf-8")
    else:
        case("docs_show_what_is_printed", HASH.sub("", body) == HASH.sub("", run.out), run)


def explained(*words):
    run = croft("explain", *words, "--json")
    try:
        return json.loads(run.out)
    except json.JSONDecodeError:
        case("json_can_be_read", False, run)
        return None


def keys_are_there():
    seen = set()
    for words in (["test/explain/exchange.croft", *ON], ["test/explain/twice.croft", *ON],
                  ["test/explain/rms.croft", *ON], [TRANSPOSE, *ON],
                  [TRANSPOSE, "--machine", "cpu-avx2"], [SOFTMAX, *ON],
                  [SOFTMAX, "--plan", "fallback"]):
        report = explained(*words)
        wrong = [] if report["schema"] == "croft-explain/1" else ["schema"]
        wrong += [""] if set(report) != KEYS[""] else []
        for key, wanted in KEYS.items():
            rows = report.get(key, []) if key else []
            for row in rows if isinstance(rows, list) else [rows]:
                seen.add(key)
                wrong += [key] if set(row) != wanted else []
        case("json_keys_" + "_".join(re.findall(r"\w+", " ".join(words))), not wrong, str(wrong))
    case("json_shows_every_kind_of_row", seen == set(KEYS) - {""}, str(set(KEYS) - seen))


def emitted(*words):
    """Barriers, shuffles and bytes of scratch in the body of the CUDA text."""
    text = croft("emit", *words).out
    body = text[text.index("__launch_bounds__"):]
    scratch = re.search(r"char scratch\[(\d+)\]", body)
    return (body.count("__syncthreads()"), len(re.findall(r"= shuffle_\w+\(", body)),
            int(scratch.group(1)) if scratch else 0)


def counts_are_those_of_the_source():
    layouts = ["bits(3, 4, 5, 0, 1, 2)", "bits(1, 0, 2, 3, 4, 5)",
               "bits(5, 4, 3, 2, 1, 0, slots=2)", "identity(64, slots=2)",
               "bits(1, 2, 3, 4, 5, 0, slots=2)", "bits(3, 4, 5, 0, 1, 2, xor=9)"]
    for dtype in ("f32", "f16"):
        for layout in layouts:
            words = [TRANSPOSE, f"L={layout}", f"T={dtype}", *ON]
            report = explained(*words)
            move = report["layout_conversions"][0]
            told = (len(report["barriers"]), move["shuffles"],
                    report["allocations"]["scratch_bytes"])
            found = emitted(*words)
            name = "_".join(re.findall(r"\w+", f"{dtype} {layout}"))
            case(f"counts_of_{name}", told == found and move["barriers"] == told[0]
                 and move["scratch_bytes"] == told[2], f"told {told}, emitted {found}")
    for words in (["test/explain/exchange.croft", *ON], ["test/explain/rms.croft", "N=1009", *ON],
                  [SOFTMAX, "N=1009", *ON], ["examples/layernorm.croft", "N=4096", *ON]):
        report = explained(*words)
        found = emitted(*words)
        told = (len(report["barriers"]), report["allocations"]["scratch_bytes"])
        arrays = [row["bytes"] for row in report["allocations"]["arrays"]
                  if row["memory"] == "scratch"]
        laid = sum((size + 15) // 16 * 16 for size in arrays)  # the target aligns each
        name = "_".join(re.findall(r"\w+", words[0]))
        case(f"barriers_and_bytes_of_{name}", told == (found[0], sum(arrays)) and laid == found[2],
             f"told {told}, arrays {arrays}, emitted {found}")


def workspace_is_that_of_the_source():
    for words in (["test/explain/tiles.croft", *ON], [SOFTMAX, "N=100", "--plan", "fallback", *ON]):
        told = explained(*words)["allocations"]["workspace_bytes"]
        text = croft("emit", *words).out
        found = int(re.search(r"arguments\.workspace \+ \(i64\)blockIdx\.x \* \((\d+)\)", text)[1])
        case("workspace_of_" + "_".join(re.findall(r"\w+", words[0])), told == found > 0,
             f"told {told}, emitted {found}")


def groups_are_those_of_the_source():
    """Packs of several elements, as the CUDA text reads and writes them."""
    for example in ("softmax", "causal_softmax", "layernorm", "cross_entropy", "rmsnorm_quant"):
        for sizes in ([], ["N=1009", "--set", "v=4"], ["N=4096"]):
            words = [f"examples/{example}.croft", *sizes, *ON]
            report = explained(*words)
            text = croft("emit", *words).out
            body = text[text.index("__launch_bounds__"):]
            found = (len(re.findall(r"\*\(const pack\d+ \*\)", body)),
                     len(re.findall(r"\*\(pack\d+ \*\)", body)))
            told = tuple(sum(row["groups"] for row in report[key])
                         for key in ("grouped_loads", "grouped_stores"))
            summed = tuple(sum(row[key] for row in report["grouped_widths"])
                           for key in ("loads", "stores"))
            case(f"groups_of_{example}_{''.join(sizes)}", told == found == summed and found[0] > 0,
                 f"told {told}, by widths {summed}, emitted {found}")


def values_of(text, lane, subgroup, slot):
    """The whole numbers of thread IR at one position, by number: iota, constant and xor."""
    values = {}
    for number, op, rest in re.findall(r"^  %(\S+) = (iota|constant|xor) (.*?) : i64", text, re.M):
        if op == "xor":
            operands = [values.get(name.strip(" %")) for name in rest.split(",")]
            values[number] = None if None in operands else operands[0] ^ operands[1]
        else:
            form = rest.replace("/", "//")
            values[number] = eval(form, {"lane": lane, "subgroup": subgroup, "slot": slot})
    return values


def worst_of(text, access, size, subgroups):
    """How often 32 banks of 4 bytes serve the accesses of a subgroup at most, from their cells."""
    cells = re.search(rf"\b{access} %\S+\[vector %(\d+)\]", text).group(1)
    slots = int(re.search(rf"^  %{cells} = .* : i64\((\d+)\)", text, re.M).group(1))
    words, worst = max(1, size // 4), 0
    for subgroup in range(subgroups):
        for slot in range(slots):
            at = [values_of(text, lane, subgroup, slot)[cells] * size // 4 for lane in range(32)]
            for first in range(0, 32, 32 // words):
                asked = {}
                for word in set(at[first:first + 32 // words]):
                    for more in range(words):
                        asked[(word + more) % 32] = asked.get((word + more) % 32, 0) + 1
                worst = max(worst, *asked.values())
    return worst


def conflicts_are_those_of_the_addresses():
    for file, layout in ((TRANSPOSE, "bits(3, 4, 5, 0, 1, 2)"),
                         (RAGGED, "blocked_cyclic(1000, workers=32, vector=32)"),
                         (RAGGED, "blocked_cyclic(1000, workers=64, vector=4)")):
        for dtype, size in (("f32", 4), ("f16", 2), ("i64", 8)):
            if file == TRANSPOSE and dtype == "i64":
                continue
            words = [file, f"L={layout}", f"T={dtype}", *ON]
            report = explained(*words)
            move = report["layout_conversions"][0]
            text = croft("emit", *words, "--level", "thread").out
            found = [worst_of(text, access, size, report["group"]["subgroups"])
                     for access in ("put", "get")]
            told = [move["put_conflicts"], move["get_conflicts"]]
            name = "_".join(re.findall(r"\w+", f"{file[13:]} {dtype} {layout}"))
            case(f"conflicts_of_{name}", told == found, f"told {told}, found {found}")


def prices_are_those_of_the_layouts():
    """Shuffles cost what `layout convert` says, scratch what is emitted; the cheaper is chosen."""
    a, b = "identity(64, slots=2)", "bits(5, 4, 3, 2, 1, 0, slots=2)"
    listed = croft("layout", "convert", a, b, *ON).out
    row = re.search(r"^  sm_90 .*$", listed, re.MULTILINE).group(0).split()
    move = explained(TRANSPOSE, f"L={b}", *ON)["layout_conversions"][0]
    case("prices_are_those_of_what_is_emitted",
         move["mechanism"] == "shuffle" and move["price"] == float(row[2])
         and move["alternative"] == "scratch" and move["alternative_price"] == SCRATCH_PRICE
         and move["price"] <= move["alternative_price"], f"{row} {move}")
    move = explained(TRANSPOSE, *ON)["layout_conversions"][0]
    case("what_cannot_be_has_no_price",
         move["alternative"] == "shuffle" and move["alternative_price"] is None, str(move))


def erased():
    run = croft("explain", TRANSPOSE, "--machine", "cpu-avx2")
    report = explained(TRANSPOSE, "--machine", "cpu-avx2")
    case("a_cpu_says_that_layouts_are_erased",
         "explicit layouts are erased on cpu-avx2: 2 of the kernel's text" in run.out
         and report["erased_layouts"] == 2 and report["layout_conversions"] == [], run)


def pictures():
    run = croft("explain", TRANSPOSE, "--value", "v", "--svg", *ON)
    again = croft("explain", TRANSPOSE, "--value", "v", "--svg", *ON)
    root = xml.etree.ElementTree.fromstring(run.out)
    name = "{http://www.w3.org/2000/svg}"
    cells = [g for g in root.iter(name + "g") if g.get("class", "").startswith("cell")]
    titles = [g.find(name + "title").text for g in cells]
    case("a_picture_has_every_element", len(cells) == 64 and run.out == again.out, run)
    case("a_picture_says_where_an_element_goes",
         "element 8: subgroup 0, lane 1, slot 0; byte 4" in titles
         or "element 8: subgroup 0, lane 1; byte 4" in titles, str(titles[:12]))
    case("a_picture_counts_the_sectors_of_the_access",
         "sectors of the store dest.0 in dest" in run.out and "sectors of 32 bytes 4," in run.out
         and "sectors in all 8<" in run.out, run)
    run = croft("explain", TRANSPOSE, "--value", "source.0", "L=identity(64)", "--svg", *ON)
    case("a_load_has_its_sectors", "sectors of the load source.0 in source" in run.out, run)
    run = croft("explain", TRANSPOSE, "L=identity(64)", "--value", "v", "--svg", *ON)
    case("a_scattered_store_needs_more_sectors", "sectors of 32 bytes 8," in run.out, run)
    run = croft("explain", TRANSPOSE, "--value", "i", "--svg", *ON)
    case("a_tile_without_an_access_has_no_sectors",
         "no load makes it and no store writes it" in run.out
         and 'class="touched"' not in run.out, run)
    run = croft("explain", "test/explain/tiles.croft", "--value", "t", "--svg",
                "--plan", "row", *ON)
    case("a_tile_of_two_axes_is_drawn", run.code == 0 and "element (7, 15): " in run.out
         and "element (0, 1): step 0, lane 1; byte 4<" in run.out
         and "; byte 60<" in run.out and "in the first step<" in run.out, run)
    file = command.SCRATCH / "v.html"
    run = croft("explain", TRANSPOSE, "--value", "v", "--html", "-o", file, *ON)
    case("a_page_has_the_report", run.code == 0 and run.out == ""
         and "by scratch: 256 bytes" in file.read_text(encoding="utf-8"), run)
    file = command.SCRATCH / "whole.html"
    run = croft("explain", "examples/softmax.croft", "N=1008", "--html", "-o", file, *ON)
    page = file.read_text(encoding="utf-8") if run.code == 0 else ""
    case("a_whole_page_stands_in_one_file", page.count("<svg ") == 1 and "reduce max.0" in page
         and "program row: R" in page and page.endswith("</html>\n")
         and not re.search(r'(src|href)=|url\(|@import', page), run)
    try:
        xml.etree.ElementTree.fromstring(page.replace("<!DOCTYPE html>\n", ""))
        broken = None
    except xml.etree.ElementTree.ParseError as error:
        broken = error
    case("a_page_is_well_formed", broken is None, broken)
    split = ["examples/softmax.croft", "x=zeros:1x262144", "y=/dev/null", "--set", "g=64", *ON]
    file = command.SCRATCH / "launches.html"
    run = croft("explain", *split, "--html", "-o", file)
    page = file.read_text(encoding="utf-8") if run.code == 0 else ""
    case("a_page_of_launches_shows_them_all", page.count("<svg ") >= 3 and page.count("<h1>") == 4
         and all(f"<h1>softmax_{i}</h1>" in page for i in (1, 2, 3))
         and page.count("<h2>Candidates") == 1 and "| group 64" in page
         and page.endswith("</html>\n"), run)
    try:
        xml.etree.ElementTree.fromstring(page.replace("<!DOCTYPE html>\n", ""))
        broken = None
    except xml.etree.ElementTree.ParseError as error:
        broken = error
    case("a_page_of_launches_is_well_formed", broken is None, broken)
    run = croft("explain", *split)
    lines = run.out.splitlines()
    case("launches_are_told_before_their_reports", run.code == 0
         and "3 launches, one behind the other" in lines[0]
         and "takes max_0_parts; hands on sum_0_parts" in run.out
         and "handed on   max_0_parts f32[R, 64], sum_0_parts f32[R, 64]" in run.out
         and run.out.count("predicted") == 1
         and len(re.findall(r"^softmax_[123]  N=262144", run.out, re.M)) == 3, run)
    run = croft("explain", *split, "--json")
    reports = json.loads(run.out)["launches"] if run.code == 0 else []
    case("launches_are_a_list_for_programs", [r["kernel"] for r in reports]
         == ["softmax_1", "softmax_2", "softmax_3"]
         and reports[0]["planned"]["chosen"][0]["g"] == 64
         and reports[1]["planned"] is None, run)
    run = croft("explain", "examples/softmax.croft", "--html", "--json")
    case("a_page_is_no_json", run.code == 2 and "a page has no --json" in run.out, run)


def refusals():
    run = croft("explain", TRANSPOSE, "--value", "w", "--svg", *ON)
    case("an_unknown_tile_is_named", run.code == 2 and run.out == ""
         and "kernel transpose8 has no tile named w\n  its tiles are i, v, source.0," in run.err,
         run)
    for name, words in (("a_picture_needs_a_tile", ["--svg"]),
                        ("a_tile_needs_a_form", ["--value", "v"]),
                        ("a_tile_has_one_form", ["--value", "v", "--svg", "--html"]),
                        ("a_picture_is_no_json", ["--value", "v", "--svg", "--json"]),
                        ("an_unknown_machine", ["--machine", "sm_1"])):
        run = croft("explain", TRANSPOSE, *words)
        said = run.out if "--json" in words else run.err
        begins = "{\n  \"schema\": \"croft-explain/1\"" if "--json" in words else "croft: "
        case(name, run.code == 2 and said == run.text and said.startswith(begins), run)
    run = croft("plan", TRANSPOSE, "--svg", *ON)
    case("pictures_belong_to_explain", run.code == 2 and "belongs to explain" in run.err, run)
    run = croft("explain", TRANSPOSE, "L=bits(0, 0)", *ON)
    case("a_wrong_layout_is_refused", run.code == 3 and run.out == "", run)
    run = croft("explain", "nowhere.croft", *ON)
    case("a_missing_file", run.code == 4 and run.out == "", run)
    run = croft("explain", TRANSPOSE, "-o", command.SCRATCH / "no" / "file", *ON)
    case("a_file_that_cannot_be", run.code == 4, run)


BLESS = sys.argv[1:] == ["--bless"]
goldens(BLESS)
page_shows_what_is_printed(BLESS)
if BLESS:
    sys.exit(0)
keys_are_there()
counts_are_those_of_the_source()
workspace_is_that_of_the_source()
groups_are_those_of_the_source()
conflicts_are_those_of_the_addresses()
prices_are_those_of_the_layouts()
erased()
pictures()
refusals()
command.finish()
