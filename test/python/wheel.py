"""The package as a user installs it: a source distribution, a wheel made of that alone, an
environment with nothing but the wheel, and a kernel run there.

tier: check-long
builds: release

The wheel is built with the setuptools and wheel that are here (--no-build-isolation), without a
network.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

import package
from package import ROOT, case

FOLDER = package.command.SCRATCH
VERSION = ".".join(re.findall(r"#define CROFT_VERSION_[A-Z]+ (\d+)",
                              (ROOT / "include/croft.h").read_text(encoding="utf-8")))
USE = """
import pathlib, sys
import croft
here = pathlib.Path(croft.__file__).parent
assert here.is_relative_to(sys.prefix), here
assert croft._library.path == here / "lib/libcroft.so", croft._library.path
assert croft._library.command_path() == here / "bin/croft"
assert (here / "py.typed").exists()
k = croft.compile('''kernel twice(x: in f32[R, N], y: out f32[R, N]) {
    program row: R
    y[row, :] = 2.0 * x[row, :]
}''')
x = memoryview(bytearray(24)).cast("f", (2, 3))
y = memoryview(bytearray(24)).cast("f", (2, 3))
x[1, 2] = 1.5
k(x, out=y)
assert y.tolist() == [[0, 0, 0], [0, 0, 3.0]], y.tolist()
d = k.bind(x, out=y)
x[0, 0] = 4.0
d()
assert y[0, 0] == 8.0
assert croft.plan(sys.argv[1], N=64, machine="sm_90")["kernel"] == "softmax"
try:
    k(x)
except croft.CroftError as error:
    assert error.slug == "no-array" and "numpy" in error.hint, error
else:
    raise AssertionError("an output without NumPy")
assert "numpy" not in sys.modules
print(croft.__version__)
"""


def python_with_setuptools():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import setuptools, wheel, pip, venv"], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            return python
    case("setuptools_wheel_and_pip_are_there", False, "python3-setuptools, -wheel, -pip, -venv")
    package.finish()
    return ""


def run(*words, **options):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("PYTHONPATH", "CROFT_LIBRARY")}
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, env=environment,
                          **options)
    return done.returncode == 0, done.stdout[-4000:]


def must(name, good, why=""):
    case(name, good, why)
    if not good:
        package.finish()


def make_source(python):
    """The source distribution of a copy of the checkout, unpacked."""
    copy = FOLDER / "checkout"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=lambda folder, names: [
        name for name in names if name == "__pycache__" or name.endswith(".egg-info")
        or (pathlib.Path(folder) == ROOT and (name == ".git" or name.startswith("build")))])
    good, text = run(python, "-c", "from setuptools.build_meta import build_sdist; "
                     f"build_sdist({str(FOLDER)!r})", cwd=copy)
    archive = FOLDER / f"croft-kernels-{VERSION}.tar.gz"
    if not archive.exists():
        archive = FOLDER / f"croft_kernels-{VERSION}.tar.gz"
    must("makes_a_source_distribution", good and archive.exists(), text)
    with tarfile.open(archive) as file:
        file.extractall(FOLDER / "unpacked")
    return next((FOLDER / "unpacked").iterdir())


def check_wheel(wheel):
    platform = wheel.name.removeprefix(f"croft_kernels-{VERSION}-").removesuffix(".whl")
    case("wheel_is_for_every_python_of_a_platform", platform.startswith("py3-none-linux_"),
         wheel.name)
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if name.startswith("croft/")}
        modes = {name: file.getinfo(name).external_attr >> 16 for name in names}
    expected = {f"croft/{path.name}" for path in (ROOT / "python/croft").iterdir()
                if path.is_file()} | {"croft/lib/libcroft.so", "croft/bin/croft"}
    case("wheel_has_these_files", names == expected, names ^ expected)
    case("command_can_be_run", modes.get("croft/bin/croft", 0) & 0o111 == 0o111, modes)


def main():
    python = python_with_setuptools()
    source = make_source(python)
    good, text = run(python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
                     "--no-index", "-w", FOLDER / "wheels", source)
    wheels = list((FOLDER / "wheels").glob("*.whl")) if good else []
    must("makes_a_wheel", len(wheels) == 1, text)
    check_wheel(wheels[0])
    good, text = run(python, "-m", "venv", FOLDER / "fresh")
    must("makes_an_environment", good, text)
    fresh = FOLDER / "fresh/bin/python"
    good, text = run(fresh, "-m", "pip", "install", "--no-index", "--no-deps", wheels[0])
    must("installs", good, text)
    good, text = run(fresh, "-I", "-c", USE, ROOT / "examples/softmax.croft", cwd=FOLDER)
    case("runs_where_nothing_else_is_installed", good and text == f"{VERSION}\n", text)
    for words in ([FOLDER / "fresh/bin/croft"], [fresh, "-I", "-m", "croft"]):
        good, text = run(*words, "check", ROOT / "examples/softmax.croft", cwd=FOLDER)
        case(f"has_the_command_{len(words)}", good and "kernel softmax is fine" in text, text)
    good, text = run(fresh, "-m", "pip", "uninstall", "-y", "croft-kernels")
    left = [path for path in pathlib.Path(FOLDER / "fresh/lib").rglob("croft*")]
    case("uninstalls", good and not left, f"{text}\n{left}")
    package.finish()


if __name__ == "__main__":
    main()
