"""Runs one kernel under both plans and says what is wrong with it: nothing, or a Finding.

Both plans must be taken (the row plan may be refused by its own slug), pass --check, and give the
same bytes in every output that no sum or product of floats went into; NaNs are alike.
"""
import array
import pathlib
import re
import subprocess

PLANS = ("fallback", "row")
FLOAT_NAN = {"<f4": ("I", 0x7f800000), "<f2": ("H", 0x7c00), "<V2": ("H", 0x7f80)}
TIME_LIMIT_S = 60
EXIT_CHECK, EXIT_REFUSED = 1, 3


class Finding:
    """`kind` is what stays the same while a kernel is shrunk."""

    def __init__(self, kind, plan, text):
        self.kind, self.plan, self.text = kind, plan, text


class Verdict:
    def __init__(self, finding=None, row=False, finite=0, floats=0):
        self.finding, self.row, self.finite, self.floats = finding, row, finite, floats


class Array:
    """The elements of a .npy file as words, those of NaN all alike. `count` and `finite` leave out
    the floats that were not written, whose bits are all set."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        start = 10 + int.from_bytes(data[8:10], "little")
        self.descr = re.search(rb"'descr': *'([^']*)'", data[:start]).group(1).decode()
        self.finite = self.count = 0
        self.words = data[start:]
        if self.descr in FLOAT_NAN:
            code, top = FLOAT_NAN[self.descr]
            values = array.array(code, data[start:])
            magnitude = (1 << (8 * values.itemsize - 1)) - 1
            self.words = [top + 1 if word & magnitude > top else word for word in values]
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


def command(croft, path, plan, kernel, folder):
    """The words of one run; outputs go to PLAN.NAME.npy in the folder."""
    words = [croft, "run", str(path), "--plan", plan, "--check", "--verify-passes"]
    words += kernel.arguments
    machine = kernel.machines[PLANS.index(plan)]
    if machine and machine_runs(machine):
        words += ["--machine", machine]
    outputs = kernel.outputs
    for name, before, _ in outputs:
        target = f"{folder}/{plan}.{name}.npy" if folder else "/dev/null"
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
    if status == EXIT_CHECK and may_fault and "fault:" in text and all(w == "ok" for w in lines):
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


def differing_output(outputs, folder, arrays):
    for name, _, loose in outputs:
        if loose:
            continue
        first, second = (arrays[plan, name] for plan in PLANS)
        if first.words == second.words:
            continue
        where = [i for i, (a, b) in enumerate(zip(first.words, second.words)) if a != b]
        return Finding("bits", "row", f"{name} differs between the plans, first at "
                       f"{where[:1]}: {first.words[where[0]]} and {second.words[where[0]]}, "
                       f"{len(where)} in all")
    return None


def judge(croft, path, kernel, folder):
    """The verdict on a kernel (generate.Kernel), whose text is in the file `path`."""
    verdict = Verdict()
    for plan in PLANS:
        status, text = run(command(croft, path, plan, kernel, folder))
        if plan == "row" and "[row-plan-refused]" in text and "CROFT_BUG" not in text:
            return verdict
        verdict.finding = find_in_run(plan, status, text, kernel.may_fault)
        if verdict.finding:
            return verdict
        if plan == "fallback":
            arrays = {}
        for name, _, _ in kernel.outputs:
            arrays[plan, name] = Array(f"{folder}/{plan}.{name}.npy")
            verdict.finite += arrays[plan, name].finite
            verdict.floats += arrays[plan, name].count
    verdict.row = True
    verdict.finding = differing_output(kernel.outputs, folder, arrays)
    return verdict
