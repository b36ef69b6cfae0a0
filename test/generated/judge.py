"""Runs one kernel under several plans and says what is wrong with it: nothing, or a Finding.

The fallback and the row plan must be taken (the row plan may be refused by its own slug), pass
--check, and give the same bytes in every output that no sum or product of floats went into; NaNs
are alike. So must a third plan, changed by chance (plans.py), unless it is refused. The row plan of
a machine with several subgroups runs on the simulator, which may find nothing, and for some kernels
on the cpu: the same bytes in every output.
"""
import array
import pathlib
import random
import re
import subprocess

import plans

PLANS = ("fallback", "row")
WIDE = ("sm_90", "m1")
TARGETS = {"sim": "sim", "wide": "cpu"}  # runs of the row plan of such a machine
FLOAT_NAN = {"<f4": ("I", 0x7f800000), "<f2": ("H", 0x7c00), "<V2": ("H", 0x7f80)}
TIME_LIMIT_S = 60
EXIT_CHECK, EXIT_REFUSED = 1, 3


class Finding:
    """`kind` is what stays the same while a kernel is shrunk."""

    def __init__(self, kind, plan, text):
        self.kind, self.plan, self.text = kind, plan, text


class Verdict:
    def __init__(self, finding=None, row=False, changed=False, finite=0, floats=0):
        self.finding, self.row, self.changed = finding, row, changed
        self.finite, self.floats = finite, floats


class Array:
    """The elements of a .npy file as words, those of NaN all alike, and those of zero too without
    `signs`. `count` and `finite` leave out the floats that were not written, all bits set."""

    def __init__(self, path, signs):
        data = pathlib.Path(path).read_bytes()
        start = 10 + int.from_bytes(data[8:10], "little")
        self.descr = re.search(rb"'descr': *'([^']*)'", data[:start]).group(1).decode()
        self.finite = self.count = 0
        self.words = data[start:]
        if self.descr in FLOAT_NAN:
            code, top = FLOAT_NAN[self.descr]
            values = array.array(code, data[start:])
            magnitude = (1 << (8 * values.itemsize - 1)) - 1
            self.words = [top + 1 if word & magnitude > top else
                          0 if word & magnitude == 0 and not signs else word for word in values]
            self.finite = sum(word & magnitude < top for word in values)
            self.count = len(values) - values.count(2 * magnitude + 1)


def machine_runs(name):
    """Whether this host runs what is made for the machine."""
    if name != "cpu-avx2":
        return True
    try:
        return "avx2" in pathlib.Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


def plan_words(plan, kernel):
    if plan in TARGETS:
        machine = WIDE[len(kernel.text) % len(WIDE)]
        return ["--plan", "row", "--target", TARGETS[plan], "--machine", machine]
    machine = kernel.machines[PLANS.index(plan)] if plan in PLANS else kernel.machines[1]
    words = ["--plan", plan]
    return words + ["--machine", machine] if machine and machine_runs(machine) else words


def portable(croft, path, plan, kernel, folder):
    """The words of a run whose plan is made for a cpu, with the forms of functions that the
    fallback plan has: only its bits are those of other plans. The planner's own words where it
    makes no plan."""
    words = plan_words(plan, kernel)
    if plan not in TARGETS or folder is None:
        return words
    outputs = [f"{name}={before}/dev/null" for name, before, _ in kernel.outputs]
    machine = words[words.index("--machine") + 1]
    status, text = run([croft, "plan", str(path), "--plan", "row", "--machine", machine,
                        "--target", "cpu"] + kernel.arguments + outputs)
    if status:
        return words
    file = pathlib.Path(folder) / "portable.plan"
    own = plan_words("fallback", kernel)
    _, other = run([croft, "plan", str(path), *own] + kernel.arguments + outputs)
    for line in re.findall(r"^math \S+ +flushed$", other, re.MULTILINE):
        anchor = re.escape(line.split()[1])
        text = re.sub(rf"^(math {anchor} +)portable$", r"\1flushed", text, flags=re.MULTILINE)
    file.write_text(text)
    words[words.index("--plan") + 1] = str(file)
    return words


def command(croft, path, plan, kernel, folder):
    """The words of one run; outputs go to PLAN.NAME.npy in the folder. `plan` may be a file."""
    words = [croft, "run", str(path), "--check", "--verify-passes"]
    words += portable(croft, path, plan, kernel, folder) + kernel.arguments
    for name, before, _ in kernel.outputs:
        target = f"{folder}/{pathlib.Path(plan).stem}.{name}.npy" if folder else "/dev/null"
        words.append(f"{name}={before}{target}")
    return words


def find_in_run(plan, status, text, may_fault):
    """The finding of one run, None when all is well."""
    if "CROFT_BUG" in text:
        slug = re.search(r"error: .*\[([\w-]+)\]", text)
        return Finding("bug " + (slug.group(1) if slug else ""), plan, text)
    if "runtime error" in text or "Sanitizer" in text:
        what = re.search(r"(runtime error: [a-z ]*|ERROR: \w+Sanitizer: [\w-]*)", text)
        return Finding("sanitizer " + (what.group(1) if what else ""), plan, text)
    if status < 0 or status > 128:
        return Finding(f"crash {status}", plan, text)
    if status == EXIT_REFUSED:
        message = re.search(r"error: (.*)$", text, re.MULTILINE)
        return Finding("refused: " + (message.group(1) if message else ""), plan, text)
    lines = re.findall(r"^check \w+: (\w+)", text, re.MULTILINE)
    faults = "fault:" in text or set(re.findall(r"\[(sim-[a-z-]+)\]", text)) == {"sim-gather"}
    if status == EXIT_CHECK and may_fault and faults and all(w == "ok" for w in lines):
        return None
    if status == EXIT_CHECK and "fault:" in text and all(w == "ok" for w in lines):
        return Finding("fault", plan, text)
    if status == EXIT_CHECK:
        return Finding("check", plan, text)
    return Finding(f"status {status}", plan, text) if status else None


def run(words):
    try:
        result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return -1, "out of time"
    return result.returncode, result.stdout.decode("utf-8", "replace")


def differing_output(kernel, plan, other, arrays):
    """Bits that may not differ: on one plan none, else all but those of `loose` outputs."""
    for name, _, loose in kernel.outputs:
        key = (name, "exact") if plan == "wide" else (name,)
        first, second = arrays[other, *key], arrays[plan, *key]
        if (loose and plan != "wide") or first.words == second.words:
            continue
        where = [i for i, (a, b) in enumerate(zip(first.words, second.words)) if a != b]
        return Finding("bits", plan, f"{name} differs from the {other} run, first at "
                       f"{where[:1]}: {first.words[where[0]]} and {second.words[where[0]]}, "
                       f"{len(where)} in all")
    return None


def run_plan(croft, path, plan, kernel, folder, verdict, arrays):
    """Runs under one plan; the finding goes into the verdict. False when the plan is refused."""
    status, text = run(command(croft, path, plan, kernel, folder))
    stem = pathlib.Path(plan).stem
    row = plan == "row" or plan in TARGETS
    refusal = r"\[row-plan-refused\]" if row else r"\[plan-[a-z-]+\]"
    if status == EXIT_REFUSED and plan != "fallback" and re.search(refusal, text) and \
            "CROFT_BUG" not in text:
        return False
    verdict.finding = find_in_run(stem, status, text, kernel.may_fault)
    if verdict.finding:
        return True
    signs = re.search(r"\b(max|min)\(", kernel.text) is None  # their zero may have either sign
    for name, _, _ in kernel.outputs:
        arrays[stem, name] = Array(f"{folder}/{stem}.{name}.npy", signs)
        if plan in TARGETS:
            arrays[stem, name, "exact"] = Array(f"{folder}/{stem}.{name}.npy", True)
        if stem in PLANS:
            verdict.finite += arrays[stem, name].finite
            verdict.floats += arrays[stem, name].count
    if plan != "fallback":
        other = "sim" if plan == "wide" else "fallback"
        verdict.finding = differing_output(kernel, stem, other, arrays)
    return True


def changed_plan(croft, path, kernel, folder):
    """The file of a plan that was changed by chance."""
    texts = []
    for plan in ("row", "fallback"):
        machine = plan_words("row", kernel)[2:]
        outputs = [f"{name}={before}/dev/null" for name, before, _ in kernel.outputs]
        texts.append(run([croft, "plan", str(path), "--plan", plan] + machine + kernel.arguments +
                         outputs)[1])
    file = pathlib.Path(folder) / "changed.plan"
    if kernel.plan_axes:
        file.write_text(plans.with_axes(texts[0], kernel.plan_axes))
    else:
        file.write_text(plans.change(texts[0], texts[1], random.Random(kernel.plan_seed)))
    return str(file)


def judge(croft, path, kernel, folder):
    """The verdict on a kernel (generate.Kernel), whose text is in the file `path`."""
    verdict, arrays = Verdict(), {}
    run_plan(croft, path, "fallback", kernel, folder, verdict, arrays)
    if verdict.finding or not run_plan(croft, path, "row", kernel, folder, verdict, arrays):
        return verdict
    verdict.row = True
    for target in TARGETS:
        if not verdict.finding and (target == "sim" or len(kernel.text) % 3 == 0):
            run_plan(croft, path, target, kernel, folder, verdict, arrays)
    if verdict.finding or kernel.plan_seed is None:
        return verdict
    plan = changed_plan(croft, path, kernel, folder)
    verdict.changed = run_plan(croft, path, plan, kernel, folder, verdict, arrays)
    if kernel.plan_axes and not verdict.changed:
        verdict.finding = Finding("refused: the plan that the kernel names", plan, "")
    if verdict.finding:
        verdict.finding.text += "\n" + pathlib.Path(plan).read_text()
    return verdict
