"""Programs that compare.py --prepare makes where there is no GPU are found where they are carried.

tier: check
builds: release

Both machines are processes here, with the pretended driver and compiler of test/fake; the second
has the same compiler at another path. Without PyTorch: a tensor is what prepare.py asks of one.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]
sys.dont_write_bytecode = True
from compare import prepare  # noqa: E402

SCRATCH = pathlib.Path(os.environ["CROFT_SCRATCH"])
FAKE = pathlib.Path(os.environ.get("CROFT_BUILD", ROOT / "build")) / "test" / "libfake_cuda.so"
SHAPES = {"softmax": (64, 1000), "sum": (64, 1000)}
failures = 0


def case(name, good, why=""):
    global failures
    failures += not good
    print(f"ok {name}" if good else f"not ok {name}: {why}", flush=True)


class Tensor:
    """Shape and type of one."""
    dtype = "torch.float32"

    def __init__(self, *shape):
        self.shape = shape

    def dim(self):
        return len(self.shape)

    def stride(self):
        return (self.shape[1], 1) if len(self.shape) == 2 else (1,)

    def numel(self):
        return self.shape[0] * (self.shape[1] if len(self.shape) == 2 else 1)

    def element_size(self):
        return 4


def subject_of(operator):
    """What compare/arms.py makes of an example."""
    path = ROOT / "examples" / f"{operator}.croft"
    rows, width = SHAPES[operator]
    out = Tensor(rows) if operator == "sum" else Tensor(rows, width)
    return types.SimpleNamespace(
        buffers=lambda about, device: {"x": Tensor(rows, width), "y": out},
        inputs=lambda arrays: [arrays["x"]], outputs=lambda arrays: [arrays["y"]],
        made=lambda croft, about: croft.compile(path.read_text(encoding="utf-8"),
                                                name=str(path), kernel=operator))


def machine(folder):
    """A process: compiles what a run needs, with the programs that lie in its cache."""
    prepare.settle(folder, FAKE)
    import croft
    for operator in SHAPES:
        prepare.compile_case(croft, subject_of(operator), None)


def run(folder, nvrtc):
    done = subprocess.run([sys.executable, __file__, str(folder)], capture_output=True,
                          text=True, check=False, env=dict(os.environ, CROFT_NVRTC=str(nvrtc)))
    case(f"{folder.name}_compiles", done.returncode == 0, done.stderr[-500:])
    return len(prepare.programs_in(folder))


def with_another_build(path):
    """A copy whose build ID is another."""
    head = bytes([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]) + b"GNU\0"
    content = bytearray(FAKE.read_bytes())
    content[content.index(head) + len(head)] ^= 1
    path.parent.mkdir()
    path.write_bytes(content)
    path.chmod(0o700)
    return path


def carried_to(name, nvrtc):
    """Programs found, and compiled, by a machine to which those of the first were carried."""
    target = SCRATCH / name / "croft"
    target.mkdir(parents=True, mode=0o700)
    names = prepare.carry(SCRATCH / "first", target)
    whole = run(SCRATCH / name, nvrtc)
    return prepare.used(target, names), whole - len(names)


def main():
    made = run(SCRATCH / "first", FAKE)
    case("programs_are_made_without_a_gpu", made == len(SHAPES), made)
    copy = SCRATCH / "elsewhere" / FAKE.name
    copy.parent.mkdir()
    shutil.copy(FAKE, copy)
    found = carried_to("second", copy)
    case("the_same_build_finds_all", found == (made, 0), found)
    case("they_are_carried_once", prepare.carry(SCRATCH / "first", SCRATCH / "second/croft") == [])
    found = carried_to("third", with_another_build(SCRATCH / "another" / FAKE.name))
    case("another_build_finds_none", found == (0, made), found)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main() if len(sys.argv) == 1 else machine(*sys.argv[1:]))
