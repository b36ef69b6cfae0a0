#!/usr/bin/env python3
"""Runs the examples of docs/language.md through `croft check`.

tier: check
builds: release asan

    ```croft                     a whole file that is fine
    ```croft error=SLUG          a whole file that is refused with that finding, and no other
    ```croft frame               the kernel around fragments: they replace its line `...`
    ```croft fragment [error=SLUG]

Also: every finding that the front end can report stands in the page's table, and the table has no
other.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "language.md"
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH", "/tmp"))
REJECTED = 3
REPORTS = re.compile(r"\b(?:report|base_diagnostics_add|number_error|reject|lower_report)\(([^;]*)")
SLUG = re.compile(r'"([a-z0-9]+(?:-[a-z0-9]+)+|syntax)"')


def blocks(text):
    """(line, words of the fence, content) of each block of the language."""
    for found in re.finditer(r"^```croft([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start()) + 1, found.group(1).split(), found.group(2)


def framed(frame, fragment):
    def indent(match):
        return "".join(f"{match.group(1)}{line}\n" for line in fragment.splitlines())
    return re.sub(r"^( *)\.\.\.\n", indent, frame, flags=re.MULTILINE)


def check(name, source, expected):
    path = SCRATCH / f"{name}.croft"
    path.write_text(source, encoding="utf-8")
    result = subprocess.run([CROFT, "check", str(path)], capture_output=True, text=True,
                            errors="replace")
    output = result.stdout + result.stderr
    found = sorted(set(re.findall(r"^[^\n]*error: .* \[([a-z0-9-]+)\]$", output, re.MULTILINE)))
    path.unlink()
    if expected is None and result.returncode == 0 and not found:
        return None
    if expected is not None and result.returncode == REJECTED and found == [expected]:
        return None
    wanted = expected or "no finding"
    return f"expected {wanted}, found {found}, status {result.returncode}\n{output}"


def reported_slugs():
    slugs = set()
    folder = ROOT / "src" / "text"
    owners = ROOT / "src" / "pass" / "owners.c"  # the one finding on kernels that a pass makes
    for path in sorted(folder.glob("*.c")) + [owners]:
        if path.name.startswith(("ir_", "plan_")):
            continue
        for arguments in REPORTS.findall(path.read_text(encoding="utf-8")):
            slug = SLUG.search(arguments)
            if slug:
                slugs.add(slug.group(1))
    return slugs


def main():
    text = PAGE.read_text(encoding="utf-8")
    failures = 0
    frame = None
    count = 0
    for line, words, content in blocks(text):
        if words == ["frame"]:
            frame = content
            continue
        expected = next((word[len("error="):] for word in words if word.startswith("error=")), None)
        source = framed(frame, content) if "fragment" in words else content
        why = check(f"line_{line}", source, expected)
        count += 1
        print(f"ok line {line}" if why is None else f"not ok line {line}: {why}")
        failures += why is not None
    documented = set(re.findall(r"^\| `([a-z0-9-]+)` \| ", text.split("## Findings")[-1],
                                re.MULTILINE))
    for slug in sorted(reported_slugs() ^ documented):
        print(f"not ok finding {slug}: " + ("not in the page" if slug not in documented
                                            else "no such finding in the source"))
        failures += 1
    if count < 50:
        print(f"not ok page: only {count} examples were found")
        failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
