#!/usr/bin/env python3
"""Golden tests of passes: what `croft opt -p PASS` makes of a text stands below it in its file.

tier: check
builds: release asan

A case is test/pass/PASS/FACT.ir:

    # Why, in a sentence or two.
    # options: --machine cpu-avx2        words for the command; none by default
    # input x = randn:4x9                interpreted before and after on these; needed, or
    # input eps = 0.5                    `# not interpreted: why`
    kernel @k[R, N](...) level tile
      source none
    ...
    --- plan                             optional, for map; `canon 0000000000000000` stands for the
    plan k canon 0000000000000000 ...    hash that the input has
    --- expected
    kernel @k[R, N](...) ...

The pass runs with --check-passes. What it refuses has as expected part `# exit 3` and the findings
behind `# `. `test/pass/golden.py --bless` (`make bless`) rewrites the parts below `--- expected`;
look at the difference before it is committed.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "test" / "pass"
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="croft-test-"))
EXPECTED = "--- expected\n"
PLAN = "--- plan\n"
NO_HASH = "canon " + "0" * 16


def run(words, text):
    done = subprocess.run([CROFT, *words], cwd=ROOT, input=text.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode(
        "utf-8", "replace")


class Case:
    def __init__(self, path):
        self.path = path
        self.pass_name = path.parent.name
        self.name = f"{self.pass_name}/{path.stem}"
        text = path.read_text(encoding="utf-8")
        above, mark, self.expected = text.partition(EXPECTED)
        self.above = above if mark or above.endswith("\n") else above + "\n"
        self.source, _, self.plan = self.above.partition(PLAN)
        head = [line[2:] for line in self.source.splitlines() if line.startswith("# ")]
        self.options = [word for line in head if line.startswith("options: ")
                        for word in line.removeprefix("options: ").split()]
        self.inputs = [re.sub(r"^input (\w+) = ", r"\1=", line) for line in head
                       if re.match(r"input \w+ = ", line)]
        self.excused = any(line.startswith("not interpreted: ") for line in head)

    def words(self, plan):
        words = ["opt", "-p", self.pass_name, "-", "--check-passes", *self.options, *self.inputs]
        if plan:
            path = SCRATCH / "golden.plan"
            path.write_text(plan, encoding="utf-8")
            words += ["--plan", str(path)]
        return words

    def result(self):
        """The text that should stand below `--- expected`."""
        code, out, err = run(self.words(self.plan), self.source)
        if NO_HASH in self.plan:
            known = re.search(r"\[plan-canon\][^[]*expected: ([0-9a-f]{16})", err)
            if known:
                plan = self.plan.replace(NO_HASH, "canon " + known.group(1))
                code, out, err = run(self.words(plan), self.source)
                err = err.replace(known.group(1), "0" * 16)
        err = err.replace(str(SCRATCH) + "/", "")
        if code == 0:
            return out
        lines = [f"exit {code}", *err.splitlines()]
        return "".join(f"# {line}".rstrip() + "\n" for line in lines) + out


def passes():
    code, out, _ = run(["opt", "--list"], "")
    assert code == 0
    return [line.split()[0] for line in out.split("\n\n")[0].splitlines()
            if not line.startswith(" ")]


def show(expected, got):
    """The first lines that differ."""
    left, right = expected.splitlines(), got.splitlines()
    for i in range(max(len(left), len(right))):
        a = left[i] if i < len(left) else "(end)"
        b = right[i] if i < len(right) else "(end)"
        if a != b:
            return f"line {i + 1}\n# expected: {a}\n# got:      {b}"
    return "the end of the last line"


def main():
    bless = sys.argv[1:] == ["--bless"]
    failed = changed = 0

    def fail(name, why):
        nonlocal failed
        failed += 1
        print(f"not ok {name}: {why}", flush=True)

    names = passes()
    for name in sorted({path.parent.name for path in FOLDER.glob("*/*.ir")} | set(names)):
        count = len(list((FOLDER / name).glob("*.ir")))
        if name not in names or count < 4:
            fail(name, "no such pass" if name not in names else f"{count} golden tests, at least 4")
    for path in sorted(FOLDER.glob("*/*.ir")):
        case = Case(path)
        got = case.result()
        if bless:
            text = case.above + EXPECTED + got
            if text != path.read_text(encoding="utf-8"):
                path.write_text(text, encoding="utf-8")
                changed += 1
                print(f"changed {case.name}")
            continue
        if got != case.expected:
            fail(case.name, show(case.expected, got))
        elif not (case.inputs or case.excused or got.startswith("# exit")):
            fail(case.name, "no `# input`, and no `# not interpreted: why`")
        else:
            print(f"ok {case.name}", flush=True)
    if bless:
        print(f"{changed} changed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
