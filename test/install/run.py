#!/usr/bin/env python3
"""What `make install` puts where, and a project outside the tree that finds it there, by pkg-config
and by CMake, shared and static: test/install/consumer.

tier: check
builds: release
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ["CROFT_BUILD"])
FOLDER = pathlib.Path(os.environ["CROFT_SCRATCH"])
CONSUMER = ROOT / "test/install/consumer"
VERSION = ".".join(re.findall(r"#define CROFT_VERSION_[A-Z]+ (\d+)",
                              (ROOT / "include/croft.h").read_text()))
INTERFACE = VERSION.rsplit(".", 1)[0]
# Below the prefix; libraries stand in LIBRARIES, whatever its name is here.
FILES = {"bin/croft", "include/croft.h", "include/croft_python.h", "include/croft_torch.h",
         "share/man/man1/croft.1",
         "share/bash-completion/completions/croft",
         "LIBRARIES/libcroft.a", "LIBRARIES/libcroft.so", f"LIBRARIES/libcroft.so.{INTERFACE}",
         f"LIBRARIES/libcroft.so.{VERSION}", "LIBRARIES/pkgconfig/croft.pc",
         "LIBRARIES/cmake/croft/croft-config.cmake",
         "LIBRARIES/cmake/croft/croft-config-version.cmake",
         "LIBRARIES/cmake/croft/croft-targets.cmake",
         "LIBRARIES/cmake/croft/croft-targets-release.cmake"}
PAGES = [path.relative_to(ROOT) for path in (ROOT / "README.md", ROOT / "LICENSE",
                                             *(ROOT / "docs").rglob("*.md"),
                                             *(ROOT / "docs").rglob("*.json"),
                                             *(ROOT / "examples").glob("*.croft"))]
FILES |= {f"share/doc/croft/{page}" for page in PAGES}
PRINTED = re.compile(r"rows 4096, right, threads 3\nunknown-name wrong:3:29\n"
                     r"wrong:3:29: error: unknown name `factor`.*\^{6}\n.*\n  hint: .*\n",
                     re.DOTALL)
failures = 0


def check(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)
    return good


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **options)
    return done.returncode, done.stdout


def install():
    """The prefix as it lies in the staging folder, and the folder of libraries in it."""
    status, text = run("make", "install-built", f"DESTDIR={FOLDER}/stage", "PREFIX=/opt/croft",
                       cwd=ROOT)
    prefix = FOLDER / "stage/opt/croft"
    if not check("installs", status == 0 and prefix.is_dir(), text):
        sys.exit(1)
    libraries = next(prefix.rglob("libcroft.a")).parent
    below = str(libraries.relative_to(prefix))
    found = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
    wanted = {name.replace("LIBRARIES", below) for name in FILES}
    check("installs_these_files", found == wanted, f"{sorted(found ^ wanted)}")
    outside = [path for path in (FOLDER / "stage").rglob("*")
               if not path.is_dir() and prefix not in path.parents]
    check("installs_below_the_prefix", not outside, f"{outside}")
    named = [path.name for path in prefix.rglob("*") if path.suffix in (".pc", ".cmake")
             and re.search(rf"{re.escape(str(FOLDER))}|{re.escape(str(ROOT))}|/opt/croft",
                           path.read_text())]
    check("can_be_moved", not named, f"{named} name the folder that they lie in")
    status, text = run(prefix / "bin/croft", "version")
    check("runs_the_command", status == 0 and text == f"croft {VERSION}\n", text)
    return prefix, libraries


def check_program(name, program):
    status, text = run(program, cwd=FOLDER)
    check(f"runs_{name}", status == 0 and PRINTED.fullmatch(text), text)


def use_pkg_config(prefix, libraries):
    environment = {"PATH": os.environ["PATH"], "PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    status, text = run("pkg-config", "--modversion", "croft", env=environment)
    check("pkg_config_version", status == 0 and text.strip() == VERSION, text)
    _, flags = run("pkg-config", "--cflags", "--libs", "croft", env=environment)
    program = FOLDER / "by_pkg_config"
    words = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
             CONSUMER / "scale_rows.c", "-o", program, f"-Wl,-rpath,{libraries}"]
    status, text = run(*words, *flags.split())
    check("builds_by_pkg_config", status == 0, text)
    check_program("by_pkg_config", program)
    # What the static library needs is told, too.
    _, flags = run("pkg-config", "--static", "--cflags", "--libs", "croft", env=environment)
    flags = flags.replace("-lcroft", "-l:libcroft.a")
    program = FOLDER / "by_pkg_config_static"
    status, text = run("gcc", "-std=c11", CONSUMER / "scale_rows.c", "-o", program, *flags.split())
    check("builds_by_pkg_config_static", status == 0, text)
    check_program("by_pkg_config_static", program)


def use_cmake(prefix):
    status, text = run("cmake", "-S", CONSUMER, "-B", FOLDER / "by_cmake",
                       f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_COMPILER=gcc")
    if check("finds_by_cmake", status == 0, text):
        status, text = run("cmake", "--build", FOLDER / "by_cmake")
        check("builds_by_cmake", status == 0, text)
        for kind in ("shared", "static"):
            check_program(f"by_cmake_{kind}", FOLDER / f"by_cmake/consumer_{kind}")
    other = f"{INTERFACE.split('.')[0]}.{int(INTERFACE.split('.')[1]) + 1}"
    (FOLDER / "other").mkdir()
    (FOLDER / "other/CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(other LANGUAGES C)\n"
        f"find_package(croft {other} REQUIRED)\n")
    status, text = run("cmake", "-S", FOLDER / "other", "-B", FOLDER / "other/build",
                       f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_C_COMPILER=gcc")
    check("is_not_another_version", status != 0 and f'"{other}"' in text, text)


def without_tools():
    """What is installed does not depend on CROFT_TOOLS, whose tests need more than a compiler."""
    build = FOLDER / "without_tools"
    status, text = run("cmake", "-S", ROOT, "-B", build, "-DCROFT_TOOLS=OFF",
                       "-DCMAKE_C_COMPILER=gcc", "-DCMAKE_BUILD_TYPE=Release")
    check("configures_without_tools", status == 0, text)
    rules = [(folder / "cmake_install.cmake").read_text().replace(str(folder), "BUILD")
             for folder in (BUILD, build)]
    for name in ("CMAKE_OBJDUMP", "CMAKE_INSTALL_PREFIX"):
        rules = [re.sub(rf".*set\({name} .*", "", rule) for rule in rules]
    check("installs_the_same_without_tools", rules[0] == rules[1], "cmake_install.cmake differs")


def main():
    prefix, libraries = install()
    use_pkg_config(prefix, libraries)
    use_cmake(prefix)
    without_tools()
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
