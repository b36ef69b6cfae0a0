"""Builds libcroft and the command with CMake and puts them into the package: croft/lib, croft/bin.

A wheel has no compiled extension, so it is one for every Python 3 of its platform
(py3-none-PLATFORM). CMake and a C compiler have to be there; nothing else is needed.
"""
import os
import pathlib
import re
import shutil
import subprocess

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1
    from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent
VERSION = ".".join(re.findall(r"#define CROFT_VERSION_[A-Z]+ (\d+)",
                              (ROOT / "include/croft.h").read_text(encoding="utf-8")))


class BuildWithLibrary(build_py):
    """build_py, and then CMake; an editable install uses the checkout's own build/ (`make`)."""

    def run(self):
        super().run()
        if not getattr(self, "editable_mode", False):
            self.build_library(pathlib.Path(self.build_lib) / "croft")

    def build_library(self, package):
        folder = pathlib.Path(self.get_finalized_command("build").build_temp).resolve() / "cmake"
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-DCROFT_TOOLS=OFF",
                        "-DCMAKE_BUILD_TYPE=Release"], check=True)
        subprocess.run(["cmake", "--build", folder, "-j", str(os.cpu_count() or 1), "--target",
                        "croft", "croft_shared"], check=True)
        for name, place in (("libcroft.so", "lib"), ("croft", "bin")):
            (package / place).mkdir(parents=True, exist_ok=True)
            built = (folder / name).resolve()
            shutil.copyfile(built, package / place / name)
            (package / place / name).chmod(0o755)
            strip = shutil.which("strip")
            if strip:
                subprocess.run([strip, "--strip-unneeded", package / place / name], check=True)


class PlatformWheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    """Its files go where a platform's go, though none is an extension."""

    def has_ext_modules(self):
        return True


setup(version=VERSION, distclass=PlatformDistribution,
      cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
      options={"build": {"build_base": "build/python"}})
