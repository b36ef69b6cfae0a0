"""What the tests of the Python package share: the package of this checkout over the library of this
build, and whether what should be refused is.

    import package
    from package import croft, refused
    refused("gaps_are_refused", "stride-last", lambda: k(x[:, ::2]))

Cases, scratch folder and seed are those of test/script/command.py.
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "test/script"), str(ROOT / "test/oracle")]
os.environ.setdefault("CROFT_LIBRARY", str(pathlib.Path(
    os.environ.get("CROFT_BUILD", ROOT / "build")) / "libcroft.so"))

import command  # noqa: E402  (the path comes first)

# Not what PyTorch compiled for operators of the same names before.
os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(command.SCRATCH / "inductor")

import croft  # noqa: E402

case, finish = command.case, command.finish


def example(name):
    return croft.load(ROOT / f"examples/{name}.croft")


def refused(name, slug, call, *words):
    """The call raises CroftError with this slug, and its text has these words."""
    try:
        call()
    except croft.CroftError as error:
        missing = [word for word in words if word not in str(error)]
        case(name, error.slug == slug and not missing,
             f"[{error.slug}], expected [{slug}]; not in it: {missing}\n{error}")
    else:
        case(name, False, f"nothing was refused, expected [{slug}]")


def misused(name, call, *words):
    """The call raises TypeError with these words."""
    try:
        call()
    except TypeError as error:
        case(name, all(word in str(error) for word in words), str(error))
    else:
        case(name, False, "nothing was refused")
