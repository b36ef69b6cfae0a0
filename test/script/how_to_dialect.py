"""docs/how-to-add-dialect.md is followed word by word, in a copy: it builds, and its output runs.

tier: check-long
builds: release

Blocks `file=PATH` are written, blocks `into=PATH behind=LINE` go behind that line. The toy's text
of examples is compiled with test/fake/toy_host.c, which runs its threads, and must store the bits
that the simulator gives by the same plan. Nothing else than the page's files may have to change.
"""
import os
import re
import shutil
import subprocess

import numpy as np

import command

PAGE = command.ROOT / "docs" / "how-to-add-dialect.md"
COPY = command.SCRATCH / "copy"
COPIED = ["CMakeLists.txt", "CMakePresets.json", "src", "cli", "include", "bench", "test",
          "package", "docs", "examples"]
# Kernels, sizes, inputs by name, options of the plan.
KERNELS = [("softmax", {"R": 5, "N": 100}, ["x"], []),
           ("softmax", {"R": 3, "N": 257}, ["x"], ["--set", "w=64"]),
           ("softmax", {"R": 2, "N": 1000}, ["x"], ["--set", "w=96,v=4"]),
           ("sum", {"R": 4, "N": 333}, ["x"], []),
           ("layernorm", {"R": 3, "N": 130}, ["x", "w", "b"], ["--set", "w=128"])]


def follow(page):
    """What the page says is done in the copy; the shell lines."""
    for info, body in re.findall(r"^```(\S+[^\n]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        whole = re.search(r"file=(\S+)", info)
        into = re.search(r"into=(\S+) behind=(.*)$", info)
        if whole:
            (COPY / whole[1]).write_text(body)
        elif into:
            path = COPY / into[1]
            lines = path.read_text().splitlines(keepends=True)
            at = [i for i, line in enumerate(lines) if line.rstrip("\n") == into[2]]
            command.case(f"{into[1]}_has_the_line", len(at) == 1, into[2])
            if at:
                path.write_text("".join(lines[:at[0] + 1]) + body + "".join(lines[at[0] + 1:]))
    return "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))


def shapes(name, sizes):
    """(name, shape, whether it is an output) of each tensor of an example."""
    text = (COPY / "examples" / f"{name}.croft").read_text()
    head = re.search(rf"kernel {name}\((.*?)\)\s*\{{", text, re.DOTALL)[1]
    return [(tensor, [sizes[dim.strip()] for dim in dims.split(",")], mode == "out")
            for tensor, mode, dims in re.findall(r"(\w+): (in|out) \w+\[(.*?)\]", head)]


def check_kernel(name, sizes, more):
    label = "_".join([name, *map(str, sizes.values())])
    croft, folder = COPY / "build" / "croft", command.SCRATCH
    tensors, words = shapes(name, sizes), []
    drawn = np.random.default_rng(3)
    data = {}
    for tensor, shape, is_output in tensors:
        values = np.zeros(shape) if is_output else drawn.standard_normal(shape)
        data[tensor] = values.astype("<f4")
        np.save(folder / f"{tensor}.npy", data[tensor])
        words.append(f"{tensor}={folder}/{'out_' if is_output else ''}{tensor}.npy")
    given = [f"{size}={value}" for size, value in sizes.items()]
    source = subprocess.run([croft, "emit", f"examples/{name}.croft", *given, "--target", "toy",
                             "--machine", "toy", *more], cwd=COPY, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False)
    simulated = subprocess.run([croft, "run", f"examples/{name}.croft", *words, "--target", "sim",
                                "--machine", "toy", *more], cwd=COPY, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, check=False)
    if source.returncode or simulated.returncode:
        return command.case(label, False, source.stdout + simulated.stdout)
    text = folder / "toy.c"
    host = (command.ROOT / "test" / "fake" / "toy_host.c").read_text()
    text.write_text(source.stdout + f"\n#define TOY_ENTRY croft_{name}\n" + host)
    words = ["gcc", "-O1", "-ffp-contract=off", "-pthread", "-o", folder / "toy", text, "-lm"]
    built = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           check=False)
    if built.returncode:
        return command.case(label, False, built.stdout)
    strides = [word for _, shape, _ in tensors
               for word in np.cumprod([1, *shape[:0:-1]])[::-1].tolist()]
    scalars = scalar_words(name)
    symbols = [sizes[size] for size in order_of_sizes(name)]
    sizes_bytes = [data[tensor].nbytes for tensor, _, _ in tensors]
    words = [groups_of(croft, name, given, more), *sizes_bytes, "-", *symbols, *strides, *scalars]
    done = subprocess.run([folder / "toy", *map(str, words)],
                          input=b"".join(data[tensor].tobytes() for tensor, _, _ in tensors),
                          stdout=subprocess.PIPE, timeout=120, check=False)
    at, same = 0, done.returncode == 0
    for tensor, shape, is_output in tensors:
        got = np.frombuffer(done.stdout[at:at + data[tensor].nbytes], "<u4")
        at += data[tensor].nbytes
        if is_output:
            expected = np.load(folder / f"out_{tensor}.npy").ravel().view("<u4")
            same = same and np.array_equal(got, expected)
    return command.case(label, same, f"exit {done.returncode}: the bits are not the simulator's")


def order_of_sizes(name):
    """Sizes in the order in which the signature names them first."""
    found = []
    for _, dims in re.findall(r"(\w+): (?:in|out|inout) \w+\[(.*?)\]",
                              (COPY / "examples" / f"{name}.croft").read_text()):
        found += [dim.strip() for dim in dims.split(",") if dim.strip() not in found]
    return found


def scalar_words(name):
    """Defaults of the scalars as words."""
    text = (COPY / "examples" / f"{name}.croft").read_text()
    head = re.search(rf"kernel {name}\((.*?)\)\s*\{{", text, re.DOTALL)[1]
    values = re.findall(r"\w+: f32 = ([\d.e+-]+)", head)
    return [int(np.float32(value).view("<u4")) for value in values]


def groups_of(croft, name, given, more):
    """Groups of the grid, which the head of the thread level says."""
    text = subprocess.run([croft, "emit", f"examples/{name}.croft", *given, "--level", "thread",
                           "--machine", "toy", *more], cwd=COPY, stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    formula = re.search(r"^  groups (.*)$", text, re.MULTILINE)[1]
    sizes = dict(word.split("=") for word in given)
    return eval(re.sub(r"[A-Z]\w*", lambda m: sizes[m[0]], formula), {})


def main():
    COPY.mkdir()
    for name in COPIED:
        path = command.ROOT / name
        if path.is_dir():
            shutil.copytree(path, COPY / name)
        elif path.exists():
            shutil.copy(path, COPY / name)
    commands = follow(PAGE.read_text())
    written = re.findall(r"^```c file=(\S+\.[ch])$", PAGE.read_text(), re.MULTILINE)
    style = f"--style=file:{command.ROOT}/.clang-format"
    formatted = subprocess.run(["clang-format", style, "--dry-run", "-Werror", *written], cwd=COPY,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               check=False)
    command.case("the_files_are_formatted", written and formatted.returncode == 0,
                 formatted.stdout)
    done = subprocess.run(["sh", "-ec", commands], cwd=COPY, stdout=subprocess.PIPE, env=os.environ,
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    command.case("the_page_builds_and_runs", done.returncode == 0, done.stdout[-3000:])
    if done.returncode == 0:
        words = ["emit", "examples/softmax.croft", "T=f16", "--target", "toy", "--machine", "toy"]
        refused = subprocess.run([COPY / "build" / "croft", *words, "N=64"], cwd=COPY, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        command.case("what_it_refuses_is_said", refused.returncode == 3 and
                     "the language has no elements of 16 bits" in refused.stdout, refused.stdout)
        words = ["run", "examples/softmax.croft", "x=ones:2x8", "--target", "toy"]
        refused = subprocess.run([COPY / "build" / "croft", *words], cwd=COPY, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        command.case("that_nothing_runs_it_is_said", refused.returncode == 2 and
                     "target toy: no device here runs it" in refused.stdout, refused.stdout)
        for name, sizes, _, more in KERNELS:
            check_kernel(name, sizes, more)
    command.finish()


if __name__ == "__main__":
    main()
