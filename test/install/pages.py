#!/usr/bin/env python3
"""The manual page and the completion for bash know what `croft --help` lists, and nothing else.

tier: check
builds: release
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ["CROFT"]
FOLDER = pathlib.Path(os.environ["CROFT_SCRATCH"])
OPTION = re.compile(r"(?:^  |, )(--?[a-z][a-z-]*)", re.MULTILINE)
# Accepted, but not worth a line of the help.
UNLISTED = {"--help", "-h", "--version", "--output", "--passes"}
failures = 0


def check(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


def output(*words):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, cwd=ROOT,
                          text=True, check=True).stdout


def refuses(*words):
    return subprocess.run([CROFT, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          cwd=ROOT, check=False).returncode != 0


def help_of_command():
    """(commands, options, machines) that the help lists."""
    text = output(CROFT, "--help")
    commands = set(re.findall(r"(?:^  |, )croft ([a-z]+)", text, re.MULTILINE))
    options = set(OPTION.findall(text.split("\noptions\n")[1].split("\n\n")[0]))
    machines = set(re.search(r"^machines: (.*)$", text, re.MULTILINE)[1].split())
    return commands, options, machines


def check_page(commands, options, machines):
    page = (ROOT / "docs/croft.1").read_text(encoding="utf-8")
    items = [line for line in page.split("\n") if line.startswith(".It ")]
    described = {"-" + word for line in items for word in re.findall(r"\bFl (\S+)", line)}
    check("page_has_every_option", options | UNLISTED == described,
          f"{sorted((options | UNLISTED) ^ described)}")
    rows = (ROOT / "cli/options.c").read_text(encoding="utf-8")
    taken = set(re.findall(r'^    \{"(--?[a-z-]+)", OPTION_', rows, re.MULTILINE))
    check("command_takes_these_options", taken == described, f"{sorted(taken ^ described)}")
    verbs = {line.split()[2] for line in items if line.startswith(".It Cm ")}
    check("page_has_every_command", verbs == commands, f"{sorted(verbs ^ commands)}")
    words = set(re.findall(r"[\w-]+", page))
    check("page_has_every_machine", machines <= words, f"{sorted(machines - words)}")
    named = set(re.findall(r"^\.Pa (\S+\.md)$", page, re.MULTILINE))
    lost = [name for name in named if not (ROOT / "docs" / name).is_file()]
    check("page_names_pages_that_there_are", named and not lost, f"{lost}")
    for name in ("ENVIRONMENT", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        check(f"page_has_{name.lower().replace(' ', '_')}", f"\n.Sh {name}\n" in page)


def completed(*words):
    """What bash offers for the last word."""
    script = (f'. "{ROOT}/package/croft.bash"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
              'COMPREPLY=(); _croft; printf "%s\\n" "${COMPREPLY[@]}"')
    return set(output("bash", "--norc", "-c", script, "bash", CROFT, *words).split())


def check_completion(commands, options, machines):
    (FOLDER / "two.croft").write_text("kernel first(x: in f32[N]) {\n}\nkernel second() {\n}\n")
    (FOLDER / "two.npy").write_text("")
    long = FOLDER / "long.croft"
    long.write_text("kernel long(x: in T[R, dynamic N], # z: out\n   eps: f32 = 1,\n"
                    " y: out T[2 * N], T: f32 | f16) {\n a = x[0:1]\n}\n")
    passes = set(re.findall(r"^([a-z]+) ", output(CROFT, "opt", "--list"), re.MULTILINE))
    file = FOLDER / "two.croft"
    for name, words, wanted in (
            ("commands", [""], commands),
            ("commands_that_begin_so", ["ex"], {"explain"}),
            ("options", ["run", "-"], options | {"--help", "--version"}),
            ("options_that_begin_so", ["emit", file, "--le"], {"--level"}),
            ("kernels_of_a_folder", ["plan", f"{FOLDER}/t"], {str(file)}),
            ("kernels_of_a_file", ["run", file, "--kernel", ""], {"first", "second"}),
            ("parameters_and_sizes", ["run", long, ""],
             {"x=", "y=", "eps=", "T=", "R=", "N="}),
            ("parameters_that_begin_so", ["plan", long, "--strict", "e"], {"eps="}),
            ("arrays_made_here", ["run", file, "x", "=", "rand"], {"randn:", "randint:"}),
            ("arrays", ["run", file, "x", "=", f"{FOLDER}/t"], {f"{FOLDER}/two.npy"}),
            ("targets", ["run", file, "--target", ""],
             {"cpu", "cuda", "opencl", "metal", "reference", "sim"}),
            ("targets_behind_equals", ["run", file, "--target", "=", "c"], {"cpu", "cuda"}),
            ("machines", ["plan", "--machine", ""], machines),
            ("passes", ["opt", "-p", ""], passes),
            ("layouts", ["layout", ""], {"show", "compare", "convert"}),
            ("verbs_of_the_cache", ["cache", ""], {"ls", "verify", "gc"}),
            ("nothing_for_numbers", ["run", file, "--seed", ""], set())):
        found = completed(*words)
        check(f"completes_{name}", found == wanted, f"{sorted(found ^ wanted)}")
    # Words that the help does not list: each is taken.
    for option, words in (("--element", ["layout", "show", "identity(64)"]),
                          ("--format", ["layout", "show", "identity(64)"]),
                          ("--level", ["emit", "examples/softmax.croft", "N=64"]),
                          ("--model", ["plan", "examples/softmax.croft", "N=64"]),
                          ("--assume", ["emit", "examples/softmax.croft", "N=64"])):
        offered = completed(*words, option, "")
        refused = [value for value in offered if refuses(*words, option, value)]
        check(f"offers_right_values_of_{option[2:]}", offered and not refused, f"{refused}")


def main():
    listed = help_of_command()
    check_page(*listed)
    check_completion(*listed)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
