"""Wrong arguments, hostile .npy files, a hostile system: an exit code, a reason, nothing written.

tier: check
builds: release asan
"""
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import tempfile

import numpy as np

import command
from command import case, croft, npy_header

SOFTMAX = "examples/softmax.croft"
OUT = command.SCRATCH / "out.npy"
USAGE, KERNEL, SYSTEM = 2, 3, 4


def refused(name, result, *codes, says=()):
    """The command ended with one of the codes, said why, and wrote nothing."""
    leftovers = [path.name for path in command.SCRATCH.iterdir() if path.name.startswith("out")]
    says = [says] if isinstance(says, str) else says
    good = (result.code in codes and result.err.strip() and not leftovers
            and all(word in result.err for word in says) and "==ERROR" not in result.err)
    case(name, good, f"wanted exit {codes}, {says}; left behind: {leftovers}\n{result}")
    for path in leftovers:
        (command.SCRATCH / path).unlink()


def check_arguments():
    def run(*words):
        return croft("run", SOFTMAX, *words)

    y = f"y={OUT}"
    wrong = (USAGE, KERNEL)
    refused("missing_argument", run(y), *wrong, says="`x`")
    refused("extra_argument", run("x=randn:4x8", "zebra=ones:3", y), *wrong, says="zebra")
    refused("repeated_argument", run("x=randn:4x8", "x=randn:4x8", y), *wrong, says="`x`")
    refused("wrong_rank", run("x=randn:4x8x2", y), *wrong, says="`x`")
    refused("wrong_dtype", run("x=randint:4x8:0:3:i32", y), *wrong, says="`x`")
    refused("sizes_that_disagree",
            croft("run", "examples/residual_layernorm.croft", "x=randn:4x8", "residual=randn:4x9",
                  "w=ones:8", "b=ones:8", y), *wrong, says=["residual", "9", "8"])
    refused("size_that_disagrees_with_an_array", run("x=randn:4x8", "N=9", y), *wrong, says="`N`")
    refused("text_for_a_number",
            croft("run", "examples/rmsnorm.croft", "x=randn:4x8", "w=ones:8", "eps=soup", y),
            *wrong, says="soup")
    refused("negative_size", run("x=randn:4x-8", y), *wrong)
    refused("size_that_overflows", run("x=randn:4294967296x4294967296x4", y), *wrong, SYSTEM)
    refused("size_past_memory", run("x=randn:1000000x100000000", y), *wrong, SYSTEM)
    refused("unknown_generator", run("x=chaos:4x8", y), *wrong, says="x=chaos")
    refused("unknown_command", croft("frobnicate"), USAGE, says="frobnicate")
    refused("unknown_option", run("x=randn:4x8", "--frobnicate", y), USAGE, says="frobnicate")
    refused("unknown_target", run("x=randn:4x8", "--target", "abacus", y), USAGE, says="abacus")
    refused("no_metal_here", run("x=randn:4x8", "--target", "metal", y), SYSTEM,
            says="this build has no runtime for Metal")
    refused("no_kernel_file", croft("run", command.SCRATCH / "none.croft", y), USAGE, SYSTEM,
            says="none.croft")
    refused("kernel_file_is_a_folder", croft("run", command.SCRATCH, y), USAGE, SYSTEM)
    refused("unknown_kernel", run("--kernel", "nobody", "x=randn:4x8", y), *wrong, says="nobody")
    refused("no_input_file", run(f"x={command.SCRATCH}/none.npy", y), USAGE, SYSTEM,
            says="none.npy")
    case("no_words_shows_usage", croft().code == USAGE, croft())
    version = croft("version")
    case("version", version.code == 0 and version.out.startswith("croft "), version)


def npy_files():
    """(name, bytes, words of the message): each lies in one way about a 2x3 f32 array."""
    body = np.arange(6, dtype="<f4").tobytes()
    good = npy_header() + body
    yield "npy_truncated_body", good[:-1]
    yield "npy_truncated_header", good[:40]
    yield "npy_only_magic", good[:8]
    yield "npy_empty", b""
    yield "npy_not_an_npy", b"PK\3\4 not an array" * 20
    yield "npy_claims_too_much", npy_header(shape="(2000000, 3000000)") + body
    yield "npy_size_overflows", npy_header(shape="(4294967296, 4294967296)") + body
    yield "npy_size_overflows_64", npy_header(shape="(9223372036854775807, 2)") + body
    yield "npy_extent_past_64_bits", npy_header(shape="(99999999999999999999, 2)") + body
    yield "npy_negative_extent", npy_header(shape="(-2, 3)") + body
    yield "npy_trailing_bytes", good + b"\0" * 64
    yield "npy_big_endian", npy_header(descr=">f4") + body
    yield "npy_fortran_order", npy_header(order="True") + body
    yield "npy_object", npy_header(descr="|O") + body
    yield "npy_f64", npy_header(descr="<f8") + body + body
    yield "npy_complex", npy_header(descr="<c8") + body + body
    yield "npy_text", npy_header(descr="<U1") + body
    yield "npy_unknown_version", npy_header(version=(9, 0)) + body
    yield "npy_header_length_lies", npy_header(length=60000) + body
    yield "npy_header_length_huge", npy_header(version=(2, 0), length=0xFFFFFFFF) + body
    length = struct.pack("<H", 118)
    yield "npy_header_not_a_dict", b"\x93NUMPY\1\0" + length + b"x" * 117 + b"\n" + body
    yield "npy_header_open_string", npy_header(extra="'open") + body
    yield "npy_no_shape", npy_header().replace(b"'shape'", b"'shape2'")[:128] + body
    yield "npy_rank_9", npy_header(shape="(1, 1, 1, 1, 1, 1, 1, 2, 3)") + body
    yield "npy_deep_header", npy_header(shape="(" * 20000 + ")" * 20000) + body
    yield "npy_nul_in_header", npy_header(descr="<f4\0") + body


def check_npy():
    for name, content in npy_files():
        path = command.SCRATCH / "in.npy"
        path.write_bytes(content)
        refused(name, croft("run", SOFTMAX, f"x={path}", f"y={OUT}"), USAGE, KERNEL, SYSTEM,
                says="`x`" if name == "npy_f64" else "in.npy")
        shown = croft("show", path)
        case(name + "_show", (shown.code == KERNEL and "in.npy" in shown.err)
             or (name == "npy_f64" and shown.code == 0), shown)
    for version in ((1, 0), (2, 0), (3, 0)):
        path = command.SCRATCH / "in.npy"
        path.write_bytes(npy_header(version=version) + np.arange(6, dtype="<f4").tobytes())
        result = croft("run", SOFTMAX, f"x={path}", f"y={OUT}")
        case(f"npy_version_{version[0]}_is_read", result.code == 0 and np.load(OUT).shape == (2, 3),
             result)
        OUT.unlink(missing_ok=True)


def small_file_limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def check_disk():
    """Nowhere to write: a reason, exit 4, and what stood there before is intact."""
    def run(path, **more):
        return croft("run", SOFTMAX, "x=randn:64x1024", f"y={path}", **more)

    refused("folder_is_not_there", run(command.SCRATCH / "none" / "y.npy"), SYSTEM, says="y.npy")
    refused("output_is_a_folder", run(command.SCRATCH), SYSTEM)
    keep = command.SCRATCH / "keep.npy"
    keep.write_bytes(b"precious")
    result = run("/dev/full")
    case("dev_full", result.code == SYSTEM and result.err, result)
    if os.geteuid() == 0:
        mounted = pathlib.Path(tempfile.mkdtemp(dir=command.SCRATCH, prefix="small-"))
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", mounted],
                               stderr=subprocess.DEVNULL)
        if mount.returncode == 0:
            try:
                (mounted / "y.npy").write_bytes(b"precious")
                result = run(mounted / "y.npy")
                names = [path.name for path in mounted.iterdir()]
                case("disk_full_keeps_the_old_file",
                     result.code == SYSTEM and result.err and names == ["y.npy"]
                     and (mounted / "y.npy").read_bytes() == b"precious", f"{names}\n{result}")
            finally:
                subprocess.run(["umount", mounted], check=True)
    result = run(keep, before=small_file_limit)
    leftovers = [path.name for path in command.SCRATCH.iterdir()
                 if path.name != "keep.npy" and "keep" in path.name]
    case("file_size_limit_keeps_the_old_file",
         result.code != 0 and keep.read_bytes() == b"precious" and not leftovers,
         f"{leftovers}\n{result}")
    folder = command.SCRATCH / "none"
    result = croft("run", "examples/rmsnorm_quant.croft", "x=randn:4x8", "w=ones:8", f"q={OUT}",
                   f"scale={folder}/scale.npy")
    refused("no_output_is_written_when_one_cannot_be", result, SYSTEM, says="scale.npy")
    check_locked_folder()


def check_locked_folder():
    """A folder without write permission; root, who may write anywhere, becomes nobody first."""
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="croft-locked-") as name:
        folder = pathlib.Path(name)
        binary = folder / "croft"
        shutil.copy(command.CROFT, binary)
        shutil.copy(command.ROOT / SOFTMAX, folder / "softmax.croft")
        for path, mode in ((folder, 0o755), (binary, 0o755), (folder / "softmax.croft", 0o644)):
            path.chmod(mode)
        locked = folder / "locked"
        locked.mkdir(mode=0o555)

        def become_nobody():
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)

        done = subprocess.run([binary, "run", "softmax.croft", "x=randn:4x8", "y=locked/y.npy"],
                              cwd=folder, preexec_fn=become_nobody, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        result = command.Result(["croft", "run", "y=locked/y.npy"], done.returncode, done.stdout,
                                done.stderr)
        case("folder_is_not_writable", result.code == SYSTEM and "locked/y.npy" in result.err
             and not list(locked.iterdir()), result)


def check_environment():
    empty = croft("run", SOFTMAX, "x=randn:4x8", f"y={OUT}", environment={})
    case("empty_environment", empty.code == 0 and OUT.exists(), empty)
    OUT.unlink(missing_ok=True)
    hostile = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", "XDG_CACHE_HOME": "/proc",
               "PATH": os.environ["PATH"]}
    result = croft("run", SOFTMAX, "x=randn:4x8", f"y={OUT}", environment=hostile)
    case("unwritable_home_and_tmpdir", result.code == 0 and OUT.exists(), result)
    OUT.unlink(missing_ok=True)
    nowhere = dict(os.environ, PATH="/nonexistent")
    refused("no_compiler", croft("run", SOFTMAX, "x=randn:4x8", f"y={OUT}", environment=nowhere),
            SYSTEM, says="compiler")
    refused("compiler_fails", croft("run", SOFTMAX, "x=randn:4x8", f"y={OUT}", "--compiler",
                                    "/bin/false"), SYSTEM, says="/bin/false")
    refused("compiler_is_not_there", croft("run", SOFTMAX, "x=randn:4x8", f"y={OUT}", "--compiler",
                                           "/nonexistent/cc"), SYSTEM, says="/nonexistent/cc")
    emitted = croft("emit", SOFTMAX, "x=randn:4x8", environment=nowhere)
    case("emit_needs_no_compiler", emitted.code == 0 and "softmax" in emitted.out, emitted)
    closed = croft("run", SOFTMAX, "x=randn:4x8", "y=-", before=lambda: os.close(1))
    case("closed_output_is_told", closed.code in (0, SYSTEM), closed)


def main():
    check_arguments()
    check_npy()
    check_disk()
    check_environment()
    command.finish()


if __name__ == "__main__":
    main()
