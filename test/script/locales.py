"""What Croft reads and writes does not depend on the locale of the process, nor on the process.

tier: check
builds: release

Each command runs in C.UTF-8 and in de_DE.UTF-8, where 0.5 is written 0,5 (test/fake/locale.c sets
the locale before main, as a program may that embeds the library), and a second time: the bytes of
both streams and of the files are the same. A locale that is refused is a failure.
"""
import os
import subprocess

import command

FILES = ("y.npy", "x.c", "x.h", "page.html")
COST = "cpu.team_awake 2.25\nanalytic.reduction 4.5\n"
COMMANDS = [
    *(["emit", f"examples/{name}.croft", "R=5", "N=1009", "--target", target, "--machine", machine]
      for name in ("softmax", "gelu_add", "rmsnorm_quant", "cross_entropy")
      for target, machine in (("cpu", "cpu-avx2"), ("cuda", "sm_90"), ("opencl", "opencl"))),
    ["emit", "examples/layernorm.croft", "--level", "thread", "--machine", "sm_90", "N=300"],
    ["emit", "examples/layernorm.croft", "-o", "x.c", "--isa", "baseline,avx2"],
    ["plan", "examples/softmax.croft", "R=1", "N=262144", "--machine", "sm_90", "--all", "--json"],
    ["plan", "examples/softmax.croft", "N=4096", "--all", "--cost-model", "cost"],
    ["explain", "examples/softmax.croft", "N=4096", "--machine", "sm_90"],
    ["explain", "examples/softmax.croft", "N=4096", "--json"],
    ["explain", "examples/softmax.croft", "N=4096", "--html", "-o", "page.html"],
    ["run", "examples/rmsnorm.croft", "x=uniform:3x10:-1.5:2.5", "w=randn:10:0.5:1.5", "eps=1.5e-3",
     "y=-", "--check"],
    ["run", "examples/gelu_add.croft", "x=const:2x3:0.1,-1e-3,inf", "bias=const:3:0.25",
     "other=ones:2x3", "y=y.npy", "--hash"],
    ["show", "y.npy"],
    ["layout", "convert", "identity(128,slots=4)", "bits(2,3,4,0,1,5,6,slots=4)"],
    ["check", "examples/softmax.croft"],
    ["check", "wrong.croft"],
]
WRONG = ("kernel k(x: in f32[R, N], y: out f32[R, N]) {\n  program r: R\n"
         "  y[r, :] = x[r, :] * 1,5\n}")


def build():
    library = command.SCRATCH / "locale.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, command.ROOT / "test/fake/locale.c"],
                   check=True)
    return library


def run(words, library, locale):
    """Both streams, the exit code and the files, in an empty folder."""
    folder = command.SCRATCH / "work"
    folder.mkdir(exist_ok=True)
    for name in FILES:
        if name not in words or words[0] != "show":
            (folder / name).unlink(missing_ok=True)
    (folder / "wrong.croft").write_text(WRONG)
    (folder / "cost").write_text(COST)
    (folder / "examples").unlink(missing_ok=True)
    (folder / "examples").symlink_to(command.ROOT / "examples")
    point = command.SCRATCH / "point"
    environment = dict(os.environ, LC_ALL=locale, LD_PRELOAD=str(library),
                       CROFT_TEST_POINT=str(point))
    done = command.croft(*words, environment=environment, folder=folder)
    files = {name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()}
    return (done.code, done.out, done.err, files), point.read_text().strip(), done


def main():
    library = build()
    for number, words in enumerate(COMMANDS):
        name = f"{number}_" + "_".join(word.split("/")[-1] for word in words[:2])
        first, point, done = run(words, library, "C.UTF-8")
        again = run(words, library, "C.UTF-8")[0]
        german, comma, _ = run(words, library, "de_DE.UTF-8")
        command.case(f"{name}_runs", done.code == (3 if "wrong.croft" in words else 0), done)
        command.case(f"{name}_in_its_locale", (point, comma) == ("set 0.5", "set 0,5"),
                     f"{point}; {comma}")
        command.case(f"{name}_again", again == first, f"{first}\n{again}")
        command.case(f"{name}_in_german", german == first, f"{first}\n{german}")
    command.finish()


if __name__ == "__main__":
    main()
