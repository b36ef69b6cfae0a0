"""docs/python.md, from the first block to the last: its Python blocks, in one namespace and from
the root of the checkout as a reader runs them. Those with PyTorch run where it is installed. Then
the line of README.md.

tier: check
builds: release
"""
import contextlib
import importlib.util
import io
import os
import re
import traceback

import package
from package import ROOT, case



def blocks_of(page):
    """(page, line, text) of its Python blocks."""
    text = page.read_text(encoding="utf-8")
    return [(page, text[:found.start()].count("\n") + 2, found[1])
            for found in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


def main():
    blocks = blocks_of(ROOT / "docs/python.md")
    case("page_has_blocks", len(blocks) > 6, len(blocks))
    blocks += blocks_of(ROOT / "README.md")
    os.chdir(ROOT)
    names = {}
    for page, line, block in blocks:
        name = f"block_of_{page.stem}_line_{line}"
        if "import torch" in block:
            name = "block_with_torch"
            if importlib.util.find_spec("torch") is None:
                print(f"skip {name}: PyTorch is not installed", flush=True)
                continue
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                # Its lines are those of the page, and torch.compile reads them there.
                exec(compile("\n" * (line - 1) + block, str(page), "exec"), names)
        except Exception:  # whatever it is, the page is wrong
            case(name, False, f"{block}\n{traceback.format_exc()}")
        else:
            case(name, "print(" not in block or printed.getvalue().strip(), block)
    package.finish()


if __name__ == "__main__":
    main()
