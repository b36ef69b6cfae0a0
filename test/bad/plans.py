"""Edited plans: a finding on the line of the plan, whatever was changed, and never our own bug.

tier: check
builds: release asan
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="croft-test-"))
SEED = int(os.environ.get("CROFT_SEED", "1"))
MACHINE = ["--machine", "cpu-avx2"]
KERNEL = """kernel edited(x: in f32[R, N], y: out f32[R, N]) {
    program row: R
    t = x[row, :]
    d = t - sum(t) / N
    e = exp(t - max(t))
    y[row, :] = d * rsqrt(sum(d * d) / N + 1e-5) + e / sum(e) + t
}
"""
# (name, pattern, replacement, slug): one edit of the plan that is printed for N = 1000
EDITS = [
    ("other_kernel", r"^plan edited", "plan other", "plan-kernel"),
    ("other_text", r"canon \w{4}", "canon 0000", "plan-canon"),
    ("other_machine", r"cpu-avx2", "cpu-avx512", "plan-machine"),
    ("other_size", r"N = 1000", "N = 999", "plan-size"),
    ("no_size", r" for N = 1000", "", "plan-size"),
    ("unknown_size", r"N = 1000", "N = 1000, Q = 3", "plan-size"),
    ("size_twice", r"N = 1000", "N = 1000, N = 1000", "plan-size"),
    ("runtime_size", r"N = 1000", "N = 1000, R = 3", "plan-size"),
    ("huge_size", r"N = 1000", "N = 99999999999999999999", "plan-number"),
    ("axis_lost", r"^axis N .*\n", "", "plan-missing-anchor"),
    ("axis_added", r"\Z", "axis Q lane 4\n", "plan-unknown-anchor"),
    ("axis_twice", r"^(axis N .*\n)", r"\1\1", "plan-repeats"),
    ("axes_swapped", r"^(axis row .*\n)(axis N .*\n)", r"\2\1", "plan-order"),
    ("lanes_3", r"lane 8", "lane 3", "plan-axis"),
    ("lanes_0", r"lane 8", "lane 0", "plan-digits"),
    ("lanes_negative", r"lane 8", "lane -8", "plan-digits"),
    ("lanes_1000000", r"lane 8", "lane 1048576", "plan-axis"),
    ("slots_1000000", r"slot 4", "slot 1000000", "plan-axis"),
    ("lanes_swapped", r"lane 8", "lane 2 @4 | lane 4 @1", "plan-width"),
    ("slots_with_a_stride", r"slot 4", "slot 4 @2", "plan-axis"),
    ("lanes_that_overlap", r"lane 8", "lane 8 | lane 4 @4", "plan-digits"),
    ("lanes_above_steps", r"lane 8 \| slot 4 \| step 32", "slot 4 | step 32 | lane 8", "plan-axis"),
    ("blocks", r"lane 8", "lane 8 | block 2", "plan-axis"),
    ("subgroups_129", r"lane 8", "lane 8 | subgroup 129", "plan-axis"),
    ("subgroups_above_steps", r"step 32", "step 32 | subgroup 2", "plan-axis"),
    ("steps_0", r"step 32", "step 0", "plan-digits"),
    ("steps_too_few", r"step 32", "step 31", "plan-axis"),
    ("steps_open", r"step 32", "step *", "plan-axis"),
    ("steps_past_64_bits", r"step 32", "step 99999999999999999999", "plan-digits"),
    ("steps_that_overflow", r"step 32", "step 9223372036854775807", "plan-digits"),
    ("groups_counted", r"group \*", "group 4", "plan-axis"),
    ("group_for_an_element_axis", r"lane 8 .*", "group *", "plan-axis"),
    ("lanes_of_programs_and_elements", r"group \*", "lane 4 @4 | group *", "plan-packed"),
    ("lanes_for_two_axes_past_64", r"group \*", "lane 16 | group *", "plan-axis"),
    ("steps_of_programs", r"group \*", "step 2 | group *", "plan-axis"),
    ("steps_of_programs_counted", r"group \*", "group 4 | step 2", "plan-axis"),
    ("steps_of_programs_without_groups", r"group \*", "step *", "plan-axis"),
    ("shift_by_nothing", r"step 32", "step 32 shift", "plan-syntax"),
    ("shift_by_a_number", r"step 32", "step 32 shift 3", "plan-syntax"),
    ("shift_by_an_unknown_access", r"step 32", "step 32 shift q.0", "plan-unknown-anchor"),
    ("shift_of_programs", r"group \*", "group * shift x.0", "plan-shift"),
    ("shift_without_a_vector", r"lane 8 .*", "step 1000 shift x.0", "plan-shift"),
    ("shift_past_the_steps", r"lane 8 .*", "lane 8 | step 125 shift x.0", "plan-axis"),
    ("keep_lost", r"^keep t .*\n", "", "plan-missing-anchor"),
    ("keep_unknown", r"^keep t ", "keep zebra ", "plan-unknown-anchor"),
    ("keep_in_registers_over_steps", r"^(keep t +).*", r"\1registers", "plan-storage"),
    ("keep_what_is_not_a_load_by_reload", r"^(keep e +).*", r"\1reload", "plan-storage"),
    ("keep_what_is_heavy_by_computing", r"^(keep e +).*", r"\1recompute", "plan-storage"),
    ("keep_in_no_output", r"^(keep e +).*", r"\1output x.0", "plan-storage"),
    ("keep_two_in_one_output", r"^(keep [de] +).*", r"\1output y.0", "plan-storage"),
    ("keep_nowhere", r"^(keep e +).*", r"\1under the bed", "plan-choice"),
    ("reduce_lost", r"^reduce max.0 .*\n", "", "plan-missing-anchor"),
    ("reduce_unknown", r"^reduce max.0", "reduce max.7", "plan-unknown-anchor"),
    ("access_unknown", r"^access x.0", "access q.0", "plan-unknown-anchor"),
    ("width_that_does_not_divide", r"width 8", "width 3", "plan-width"),
    ("width_past_the_lanes", r"width 8", "width 16", "plan-width"),
    ("width_huge", r"width 8", "width 1048577", "plan-number"),
    ("policy_unknown", r"policy default", "policy keep", "plan-choice"),
    ("policy_missing", r"policy default", "policy", "plan-choice"),
    ("policy_in_front", r"width 8 policy default", "policy default width 8", "plan-syntax"),
    ("early_in_front", r"policy default", "early policy default", "plan-syntax"),
    ("early_in_steps", r"^(access x.0 .*)", r"\1 early", "plan-early"),
    ("early_store", r"^(access y.0 .*)", r"\1 early", "plan-early"),
    ("prefetch_in_front", r"policy default", "prefetch 1 in 0 policy default", "plan-syntax"),
    ("prefetch_of_no_program", r"^(access x.0 .*)", r"\1 prefetch 0 in 0", "plan-number"),
    ("prefetch_in_no_sweep", r"^(access x.0 .*)", r"\1 prefetch 1", "plan-syntax"),
    ("prefetch_in_a_sweep_past_all", r"^(access x.0 .*)", r"\1 prefetch 1 in 9", "plan-prefetch"),
    ("prefetch_of_a_store", r"^(access y.0 .*)", r"\1 prefetch 1 in 0", "plan-prefetch"),
    ("prefetch_of_single_elements", r"^(access x.0 .*)width 8(.*)", r"\1width 1\2 prefetch 1 in 0",
     "plan-prefetch"),
    ("math_unknown", r"^math exp.0", "math sin.0", "plan-unknown-anchor"),
    ("math_of_no_form", r"portable", "quick", "plan-choice"),
    ("math_of_a_form_of_quotients", r"portable", "exact", "plan-choice"),
    ("math_of_another_machine", r"portable", "native", "plan-form"),
    ("div_of_a_product", r"^math", "div mul.0 exact\nmath", "plan-unknown-anchor"),
    ("words_after_a_line", r"tree", "tree house", "plan-syntax"),
    ("nul_byte", r"tree", "tree\0", "plan-syntax"),
    ("no_text", r"(?s).*", "", "plan-syntax"),
]
failures = 0


def case(name, good, why=""):
    global failures
    print(f"ok {name}" if good else f"not ok {name}: {str(why)[:2000]}", flush=True)
    failures += not good


def emit(plan, command="emit"):
    path = SCRATCH / "edited.plan"
    path.write_bytes(plan if isinstance(plan, bytes) else plan.encode())
    done = subprocess.run([CROFT, command, SCRATCH / "k.croft", "N=1000", *MACHINE, "--plan", path],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    return done.returncode, done.stderr.decode("utf-8", "replace")


def sound(result):
    """Obeyed or refused; not crashed, not our bug, bounded."""
    return (result[0] in (0, 3) and "CROFT_BUG" not in result[1] and "ERROR: " not in result[1]
            and "runtime error" not in result[1] and len(result[1]) < 20000)


def check_edits(plan):
    for name, pattern, replacement, slug in EDITS:
        edited = re.sub(pattern, replacement, plan, count=0 if "two" in name else 1,
                        flags=re.MULTILINE)
        result = emit(edited)
        on_a_line = re.search(rf"(edited\.plan|k\.croft):\d+:\d+: error: .*\[{slug}\]", result[1])
        case(name, edited != plan and result[0] == 3 and sound(result) and on_a_line, result)
        printed = emit(edited, "plan")
        case(f"{name}_is_not_printed", printed == result, printed)


def check_what_is_said(plan):
    """Every access that an axis no longer serves is told at once; what was found is what stands
    there."""
    narrower = plan.replace("lane 8 | slot 4 | step 32", "lane 4 | slot 4 | step 63")
    result = emit(narrower)
    accesses = re.findall(r"^access ", plan, re.MULTILINE)
    case("every_width_that_does_not_fit", len(accesses) > 1 and result[1].count("[plan-width]") ==
         result[1].count("expected: a power of two up to width 4\n") == len(accesses), result)
    result = emit(plan.replace("step 32", "step 31"))
    case("digits_that_do_not_fit", "found: lane 8 | slot 4 | step 31\n" in result[1] and
         result[1].count("error:") == 1, result)
    result = emit(re.sub(r"^(keep t +).*", r"\1registers", plan, flags=re.MULTILINE))
    case("why_registers_do_not_hold_it", "found: registers\n" in result[1] and
         "hint: registers hold what is made without a loop" in result[1], result)
    result = emit(re.sub(r"^(keep e +).*", r"\1output x.0", plan, flags=re.MULTILINE))
    case("why_an_output_does_not_hold_it", "found: output x.0\n" in result[1], result)


def check_legal_edits(plan):
    """Choices that the kernel allows are obeyed."""
    for name, pattern, replacement in (
            ("narrower_accesses", r"width 8", "width 4"),
            ("lanes_in_two_digits", r"lane 8", "lane 4 | lane 2"),
            ("more_slots", r"slot 4 \| step 32", "slot 8 | step 16"),
            ("slots_only", r"lane 8 \| slot 4", "slot 32"),
            ("digits_that_hold_nothing", r"lane 8", "lane 8 | subgroup 1"),
            ("lanes_for_two_axes", r"group \*", "lane 8 | group *"),
            ("subgroups_for_programs", r"group \*", "subgroup 3 | group *"),
            ("programs_above_elements", r"group \*", "lane 2 @16 | lane 2 @8 | group *"),
            ("groups_that_walk", r"group \*", "group 4 | step *"),
            ("lane_1_for_programs", r"group \*", "lane 1 | group *"),
            ("two_digits_of_slots", r"lane 8 \| slot 4", "lane 8 | slot 2 | slot 2"),
            ("subgroups", r"lane 8 \| slot 4", "lane 8 | subgroup 4"),
            ("shifted_rows", r"step 32", "step 32 shift x.0"),
            ("rows_shifted_by_what_is_stored", r"step 32", "step 32 shift y.0"),
            ("one_output_for_one_value", r"^(keep d +).*", r"\1private")):
        result = emit(re.sub(pattern, replacement, plan, flags=re.MULTILINE))
        case(name, result[0] == 0, result)


def check_programs_that_part():
    """Programs that share a team go the same ways."""
    for name, lines in (("branch", ["if t > 0.0 {", "    t = t * 2.0", "}"]),
                        ("loop", ["for k in 0..(row % 3) {", "    t = t * 2.0", "}"]),
                        ("length", ["t = t + sum(x[row : +5])"])):
        kernel = SCRATCH / "part.croft"
        kernel.write_text("kernel k(x: in f32[R], y: out f32[R]) {\n    program row: R\n"
                          "    t = x[row]\n    " + "\n    ".join(lines) + "\n    y[row] = t\n}\n")
        plan = subprocess.run([CROFT, "plan", kernel, "--plan", "fallback", *MACHINE],
                              stdout=subprocess.PIPE, check=True).stdout.decode()
        path = SCRATCH / "part.plan"
        for digits, status in (("lane 8 | group *", 3), ("lane 1 | group *", 0)):
            edited = re.sub(r"^(axis row +).*", rf"\1{digits}", plan, flags=re.MULTILINE)
            path.write_text(edited)
            done = subprocess.run([CROFT, "run", kernel, "--plan", path, *MACHINE, "--check",
                                   "x=randn:7", "y=/dev/null"], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=60, check=False)
            said = re.search(rb"part\.plan:2:6: error: .*\[plan-divergent\]", done.stdout)
            case(f"programs_that_part_at_a_{name}_{digits.split()[1]}",
                 edited != plan and done.returncode == status and (status == 0 or said), done)


def check_lines(plan):
    """Every line lost, doubled, or swapped with the next; kinds may stand in any order."""
    lines = plan.splitlines(keepends=True)
    for i in range(len(lines)):
        for name, edited in (("lost", lines[:i] + lines[i + 1:]),
                             ("doubled", lines[:i + 1] + lines[i:]),
                             ("swapped", lines[:i] + lines[i:i + 2][::-1] + lines[i + 2:])):
            result = emit("".join(edited))
            kinds = {line.split()[0] for line in lines[i:i + 2]}
            free = name == "swapped" and (len(kinds) == 2 and i > 0 or edited == lines)
            case(f"line_{i}_{name}", result[0] == (0 if free else 3) and sound(result), result)


def check_garbage(plan):
    rand = random.Random(SEED)
    for name, text in (("random_bytes", rand.randbytes(200_000)),
                       ("ten_megabytes", b"axis " * 2_000_000),
                       ("one_line", b"plan" + b" k" * 400_000),
                       ("lines", b"axis q lane 2\n" * 20_000)):
        result = emit(text)
        case(f"garbage_{name}", result[0] == 3 and sound(result), result)
    wrong = []
    for _ in range(60):
        edited = bytearray(plan.encode())
        for _ in range(rand.randint(1, 3)):
            at = rand.randrange(len(edited))
            put = [b"0", b"9", b"|", b" ", b"\n", b"N", b"*"]
            edited[at:at + rand.randint(0, 2)] = rand.choice(put)
        result = emit(bytes(edited))
        if not sound(result):
            wrong.append((bytes(edited), result))
    case(f"random_edits_{SEED}", not wrong, wrong[:1])


def check_lanes_that_meet():
    """A row plan of another machine, on a kernel whose cells two of its lanes would touch."""
    kernel = SCRATCH / "meet.croft"
    kernel.write_text("kernel k(y: inout f32[R, 64]) {\n    program row: R\n"
                      "    y[row, 1 : +32] = y[row, 0 : +32] * 2.0\n}\n")
    plan = subprocess.run([CROFT, "plan", kernel, "--machine", "sm_90", "--plan", "fallback"],
                          stdout=subprocess.PIPE, timeout=60, check=True).stdout.decode()
    rows = re.sub(r"^(axis row +).*", r"\1group *", plan, flags=re.MULTILINE)
    rows = re.sub(r"^(axis axis.0 +).*", r"\1lane 32", rows, flags=re.MULTILINE)
    path = SCRATCH / "meet.plan"
    path.write_text(rows)
    done = subprocess.run([CROFT, "emit", kernel, "--level", "thread", "--machine", "sm_90",
                           "--plan", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, check=False)
    case("lanes_that_meet_in_a_cell", done.returncode == 3 and b"[plan-lanes]" in done.stderr,
         done)


def main():
    (SCRATCH / "k.croft").write_text(KERNEL)
    plan = subprocess.run([CROFT, "plan", SCRATCH / "k.croft", "N=1000", "--plan", "row", *MACHINE],
                          stdout=subprocess.PIPE, check=True).stdout.decode()
    case("as_printed", emit(plan)[0] == 0, emit(plan))
    check_lanes_that_meet()
    check_programs_that_part()
    for check in (check_edits, check_legal_edits, check_lines, check_garbage):
        check(plan)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
