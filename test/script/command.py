"""What the scripts of this folder share: starting the command, cases, and .npy files of every type.

    run = command.croft("run", "examples/softmax.croft", "x=in.npy", "y=out.npy")
    command.case("softmax_runs", run.code == 0, run.text)
    command.finish()

Environment: CROFT (the command), CROFT_SCRATCH (an empty folder), CROFT_SEED; all have defaults for
use by hand. Needs NumPy.
"""
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SANITIZED = os.environ.get("CROFT_KIND", "").endswith("asan")
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="croft-test-"))
if "CROFT_SCRATCH" not in os.environ:  # by hand: not the user's own compiled programs
    os.environ["XDG_CACHE_HOME"] = str(SCRATCH)
SEED = int(os.environ.get("CROFT_SEED", "1"))
if SANITIZED:  # PoCL has threads that LeakSanitizer cannot always stop
    os.environ["OCL_ICD_VENDORS"] = str(SCRATCH / "no_platforms")
NUMPY = {"f32": "<f4", "f16": "<f2", "i64": "<i8", "i32": "<i4", "u32": "<u4", "i8": "i1",
         "u8": "u1", "bool": "?"}

TIER = os.environ.get("TIER", "check")
LONG = TIER == "check-long"

failures = 0
drawn = random.Random(1)


class Result:
    """What a finished command left: its code, its output as text, and both streams."""

    def __init__(self, words, code, out, err):
        self.words = words
        self.code = code
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        self.text = self.out + self.err

    def __str__(self):
        words = " ".join(word if len(word) < 200 else word[:200] + "..." for word in self.words)
        return f"$ {words}\n[exit {self.code}]\n{self.text[:3000]}"


def croft(*words, environment=None, folder=None, timeout=120, before=None):
    """Runs the command from the root of the checkout; `before` runs in the child first."""
    words = [CROFT, *map(str, words)]
    try:
        done = subprocess.run(words, cwd=folder or ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              preexec_fn=before)
    except subprocess.TimeoutExpired as expired:
        return Result(words, 124, expired.stdout or b"", (expired.stderr or b"") + b"\nout of time")
    return Result(words, done.returncode, done.stdout, done.stderr)


def in_turn(one_of):
    """Whether a case is run: in check about one of so many, the same each time; else all."""
    return LONG or drawn.random() * one_of < 1


def case(name, good, why=""):
    """Reports one case; `why` (a Result or text) is shown when it is not good."""
    global failures
    if good:
        print(f"ok {name}", flush=True)
        return
    failures += 1
    print(f"not ok {name}: {str(why).strip().splitlines()[0] if str(why).strip() else 'wrong'}")
    print("\n".join("# " + line for line in str(why).splitlines()), flush=True)


def finish():
    sys.exit(1 if failures else 0)


def to_bf16(values):
    """f32 to bf16 bits, to nearest even; NaN stays NaN."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    quiet = ((bits >> 16).astype(np.uint16)) | 0x40
    return np.where(np.isnan(np.asarray(values, np.float32)), quiet, rounded).astype(np.uint16)


def save(path, values, dtype):
    """Writes a .npy of Croft's element type `dtype` (bf16 as two-byte void)."""
    if dtype == "bf16":
        array = to_bf16(values).view("V2")
    else:
        array = np.asarray(values).astype(NUMPY[dtype])
    np.save(path, array, allow_pickle=False)


def load(path):
    """Reads a .npy; bf16 becomes f32."""
    array = np.load(path, allow_pickle=False)
    if array.dtype.kind == "V":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return array


def npy_header(version=(1, 0), descr="<f4", order="False", shape="(2, 3)", extra="",
               magic=b"\x93NUMPY", length=None):
    """The bytes of a .npy header, lying as asked."""
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, {extra}}}"
    raw = text.encode("latin-1")
    prefix = 10 if version[0] == 1 else 12
    raw += b" " * (-(len(raw) + prefix + 1) % 64) + b"\n"
    size = len(raw) if length is None else length
    packed = struct.pack("<H", size) if version[0] == 1 else struct.pack("<I", size)
    return magic + bytes(version) + packed + raw
