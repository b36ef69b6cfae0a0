"""The command of the package: `croft` on the PATH after `pip install`, and `python -m croft`."""
from __future__ import annotations

import os
import sys

from . import _library as lib


def main() -> None:
    command = str(lib.command_path())
    os.execv(command, [command, *sys.argv[1:]])


if __name__ == "__main__":
    main()
