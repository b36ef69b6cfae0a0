"""Wrong programs are found by the simulator too, and their right twins run clean.

tier: check
builds: release asan

test/zoo/*.ir: the first line ends with `; sim SLUG`, the finding, or `; sim values`: --check sees
other values than the program that the text implements gives, or a recorded fact is wrong. (That the
verifier refuses each, on its own, is the business of a unit test.) test/hazard/*.ir are right, and
with any one of their syncs taken out they race (in a tensor: two writers) or end too early.
"""
import re

import command

SIZES = {"R": 5, "N": 96}


def inputs(text):
    """Arrays for the inputs of the kernel's first line; rows of negative numbers."""
    head = re.search(r"^kernel @\w+.*$", text, re.MULTILINE)[0]
    words = []
    for name, mode, dtype, shape in re.findall(r"%(\w+): (in|inout) (\w+)\[([^\]]*)\]", head):
        sizes = [re.sub(r"[A-Z]\w*", lambda m: str(SIZES.get(m[0], 4)), part).strip()
                 for part in shape.split(",")]
        sizes = "x".join(str(eval(size, {})) for size in sizes)  # `N + 1`
        form = f"randn:{sizes}:-20:3" if dtype in ("f32", "f16", "bf16") else f"arange:{sizes}"
        words.append(f"{name}={form}")
    declared = re.search(r"@\w+\[([^\]]*\])", head)
    for name, known in re.findall(r"(\w+)(?: = (\d+))?[,\]]", declared[1] if declared else ""):
        bound = re.search(rf"in \w+\[[^\]]*\b{name}\b", head)
        if not known and not bound:
            words.append(f"{name}={SIZES.get(name, 4)}")
    return words


def run(path, text, *more):
    check = ["--check"] if "  implements {" in text else []
    return command.croft("run", "--target", "sim", path, *inputs(text), *more, *check)


def ways(text):
    """A run for each way that a flag of the kernel leads."""
    return [[]] + [[f"{name}=1"] for name in re.findall(r", (\w+): bool = false", text)]


def check_wrong(path):
    text = path.read_text()
    slug = re.match(r"# wrong: .*; sim ([\w-]+)\n", text)
    if not slug:
        return command.case(path.stem, False, "no line says what the simulator finds")
    result = run(path, text)
    found = set(re.findall(r"\[(sim-[a-z-]+)\]", result.err))
    if slug[1] == "values":
        good = found == {"sim-fact"} or (not found and "FAILED" in result.out)
    else:
        good = slug[1] in found
    return command.case(path.stem, result.code == 1 and good, result)


def without(lines, at):
    """The text without the sync of that line, its tokens taken for those that went in."""
    taken = re.match(r"\s*(?:(%.*?) = )?sync \w+ ?(%[^:]*)?", lines[at])
    text = "".join(lines[:at] + lines[at + 1:])
    for new, old in zip((taken[1] or "").split(", "), (taken[2] or "").strip().split(", ")):
        if new:
            text = re.sub(re.escape(new) + r"(?![\w.])", old, text)
    return text


def check_right(path):
    text = path.read_text()
    for way in ways(text):
        result = run(path, text, *way)
        command.case("_".join(["right", path.stem, *way]), result.code == 0 and not result.err,
                     result)
    lines = text.splitlines(keepends=True)
    for at, line in enumerate(lines):
        if not re.match(r"\s*(%.* = )?sync ", line) or command.SANITIZED:
            continue
        spoiled = command.SCRATCH / "spoiled.ir"
        spoiled.write_text(without(lines, at))
        results = [run(spoiled, text, *way) for way in ways(text)]
        found = [result for result in results
                 if result.code == 1 and re.search(r"\[sim-(race|exit|two-writers)\]", result.err)]
        command.case(f"{path.stem}_without_line_{at + 1}", found, results[0])


def main():
    for path in sorted((command.ROOT / "test" / "zoo").glob("*.ir")):
        check_wrong(path)
    for path in sorted((command.ROOT / "test" / "hazard").glob("*.ir")):
        check_right(path)
    command.finish()


if __name__ == "__main__":
    main()
