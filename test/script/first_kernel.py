"""docs/first-kernel.md, from the first line to the last: its files are written, its commands run in
one shell, and each prints what stands below it.

tier: check
builds: release

A block that names a file behind its language is that file. A block `console` has commands behind
`$ ` with their output, in which `...` stands for anything in a line, or alone for any lines. A
command fails where its output says `error:`, and only there.
"""
import os
import re
import subprocess

import command
from command import case

PAGE = command.ROOT / "docs/first-kernel.md"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "-- command "


def pattern_of(body):
    """What the output has to match."""
    lines = [r"(?:.*\n)*" if line == "..." else
             r"[^\n]*".join(re.escape(part) for part in line.split("...")) + r" *\n"
             for line in body.splitlines()]
    return "".join(lines)


def as_tested(line):
    """The build of this test is there already, and stays as it is."""
    return line.replace("croft install ", "croft install-built ")


def run_all(steps):
    """The output and the status of each command; they run in one shell, in the scratch folder."""
    (command.SCRATCH / "croft").symlink_to(command.ROOT)
    build = command.pathlib.Path(command.CROFT).parent
    script = ["exec 2>&1"]
    for number, (kind, name, text) in enumerate(steps):
        if kind == "file":
            script += [f"cat >{name} <<'END-OF-FILE'", text + "END-OF-FILE"]
        else:
            script += [as_tested(name), f"status=$?; echo; echo '{MARK}{number}' $status"]
    done = subprocess.run(["bash", "-c", "\n".join(script)], cwd=command.SCRATCH,
                          env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}"},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=250,
                          check=False)
    pieces = re.split(rf"\n{MARK}(\d+) (\d+)\n", done.stdout)
    return {int(number): (printed, int(status)) for printed, number, status in
            zip(pieces[0::3], pieces[1::3], pieces[2::3])}


def main():
    steps = []
    for word, name, body in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if name:
            steps.append(("file", name, body))
        elif word == "console":
            for shown in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
                line, output = shown.split("\n", 1)
                steps.append(("command", line, output))
    commands = [number for number, step in enumerate(steps) if step[0] == "command"]
    case("page_has_commands_and_files", len(commands) > 20 and len(steps) > len(commands), steps)
    found = run_all(steps)
    for number in commands:
        _, line, body = steps[number]
        printed, status = found.get(number, ("nothing: the shell ended", -1))
        good = re.fullmatch(pattern_of(body), printed)
        case(f"{number}_prints_what_is_shown", good, f"$ {line}\n{printed}\n-- shown\n{body}")
        case(f"{number}_ends_as_is_shown", (status == 0) == ("error:" not in body),
             f"$ {line}\n[exit {status}]\n{printed}")
    command.finish()


if __name__ == "__main__":
    main()
