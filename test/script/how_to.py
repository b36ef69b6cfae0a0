"""What docs/how-to-*.md name exists: linked files, files, and identifiers in backticks.

tier: check
builds: release

A page adds something that is not there yet. What is called after it is left out: NEW says what it
is called in each page.
"""
import re

import command
from command import case

NEW = {"how-to-add-cost-model.md": "metal", "how-to-add-dialect.md": "toy"}
FILES = [path for room in ("src", "cli", "include", "test", "bench", "tools")
         for path in sorted((command.ROOT / room).rglob("*")) if path.is_file()]


def exists(word, names):
    """None: it is neither a file nor an identifier."""
    program = re.fullmatch(r"build/test/unit_(\w+)( \w+)*", word)
    if program:
        word = f"test/unit/{program[1]}.c"
    if re.fullmatch(r"[\w.-]+(/[\w.-]+)+", word):
        return (command.ROOT / word).is_file()
    if re.fullmatch(r"\w+\.(c|h|def|py)", word):
        return any(path.name == word for path in FILES)
    return word in names if re.fullmatch(r"[A-Za-z_]\w+", word) else None


def check_page(page, names):
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)#]+)", text):
        case(f"{page.stem}_links_{link}", (page.parent / link).is_file(), "no such file")
    words = {word for word in re.findall(r"`([^`]+)`", text) if NEW[page.name] not in word}
    found = {word: there for word in words if (there := exists(word, names)) is not None}
    case(f"{page.stem}_names_many_things", len(found) >= 10, found)
    for word in sorted(found):
        case(f"{page.stem}_names_{word}", found[word], "no such file or identifier")


def main():
    pages = sorted((command.ROOT / "docs").glob("how-to-*.md"))
    names = {name for path in FILES if path.suffix in (".c", ".h", ".def", ".py")
             for name in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    case("every_page_says_what_it_adds", [page.name for page in pages] == sorted(NEW), pages)
    for page in pages:
        check_page(page, names)
    command.finish()


if __name__ == "__main__":
    main()
