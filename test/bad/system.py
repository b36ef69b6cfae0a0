"""A hostile system and hostile files: an exit code, a reason, nothing half written, no waiting.

tier: check
builds: release asan
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CROFT = os.environ.get("CROFT", str(ROOT / "build" / "croft"))
SCRATCH = pathlib.Path(os.environ.get("CROFT_SCRATCH") or tempfile.mkdtemp(prefix="croft-test-"))
SOFTMAX = ROOT / "examples" / "softmax.croft"
QUANT = ROOT / "examples" / "rmsnorm_quant.croft"
REFUSED, SYSTEM = 3, 4
failures = 0


def croft(*words, environment=None, before=None, text=None, timeout=60, streams=None):
    """(exit code, stdout, stderr); code 124 when it did not end in time."""
    streams = streams or {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    if text is None:
        streams = dict(streams, stdin=subprocess.DEVNULL)
    try:
        done = subprocess.run([CROFT, *map(str, words)], cwd=SCRATCH, env=environment, input=text,
                              timeout=timeout, preexec_fn=before, check=False, **streams)
    except subprocess.TimeoutExpired:
        return 124, "", "out of time"
    return (done.returncode, (done.stdout or b"").decode("utf-8", "replace"),
            (done.stderr or b"").decode("utf-8", "replace"))


def case(name, good, why=""):
    global failures
    print(f"ok {name}" if good else f"not ok {name}: {str(why)[:2000]}", flush=True)
    failures += not good


def refused(name, result, code, *words):
    """Ended with this code, said these words, and not in the words of a sanitizer."""
    good = (result[0] == code and all(word in result[2] for word in words)
            and "ERROR: " not in result[2] and "runtime error" not in result[2])
    case(name, good, f"wanted exit {code} and {words}, got {result}")


def temporaries():
    return [path.name for path in SCRATCH.iterdir() if ".tmp" in path.name]


def check_text_files():
    """Texts that never end, or that nobody writes."""
    fifo = SCRATCH / "fifo"
    os.mkfifo(fifo)
    memory = lambda: resource.setrlimit(resource.RLIMIT_CPU, (20, 20))  # noqa: E731
    refused("kernel_from_a_pipe_without_a_writer", croft("check", fifo, timeout=20), REFUSED,
            "no-kernel")
    refused("kernel_that_never_ends", croft("check", "/dev/zero", before=memory, timeout=20),
            REFUSED, "source-too-large")
    refused("plan_that_never_ends",
            croft("emit", SOFTMAX, "--plan", "/dev/zero", before=memory, timeout=20), REFUSED,
            "source-too-large")
    refused("array_from_a_device", croft("show", "/dev/zero", timeout=20), SYSTEM, "regular file")
    for command in ("check", "emit"):
        piped = croft(command, "/dev/stdin", text=SOFTMAX.read_bytes())
        case(f"{command}_reads_a_pipe", piped[0] == 0 and "softmax" in piped[1], piped)
    loop = SCRATCH / "loop"
    loop.symlink_to("loop")
    refused("kernel_link_in_a_ring", croft("check", loop), SYSTEM, "symbolic links")
    refused("array_link_in_a_ring", croft("show", loop), SYSTEM, "symbolic links")


def check_outputs():
    """Where outputs go, and what is left where one of them cannot go."""
    def run(path):
        return croft("run", SOFTMAX, "x=randn:4x8", f"y={path}")

    def quantise(q, scale):
        return croft("run", QUANT, "x=randn:4x8", "w=ones:8", f"q={q}", f"scale={scale}")

    refused("output_link_in_a_ring", run("loop"), SYSTEM, "symbolic links")
    case("ring_stays", (SCRATCH / "loop").is_symlink())
    (SCRATCH / "sub").mkdir()
    (SCRATCH / "link.npy").symlink_to("sub/../real.npy")
    result = run("link.npy")
    case("output_through_a_link_to_no_file_yet",
         result[0] == 0 and (SCRATCH / "link.npy").is_symlink() and (SCRATCH / "real.npy").exists(),
         result)
    refused("output_without_a_name", run(""), REFUSED, "argument-value")
    refused("input_without_a_name", croft("run", SOFTMAX, "x=", "y=-"), REFUSED, "argument-value")
    refused("two_outputs_in_one_file", quantise("same.npy", "sub/../same.npy"), REFUSED,
            "output-repeated", "`q`", "`scale`")
    case("two_outputs_in_one_file_wrote_nothing", not (SCRATCH / "same.npy").exists())
    case("two_outputs_in_one_device", quantise("/dev/null", "/dev/null")[0] == 0)
    for first, second, name in (("old.npy", "/dev/full", "last"), ("/dev/full", "old.npy", "first"),
                                ("old.npy", "none/z.npy", "missing_folder")):
        (SCRATCH / "old.npy").write_bytes(b"precious")
        refused(f"one_output_fails_{name}", quantise(first, second), SYSTEM, "file-write")
        case(f"one_output_fails_{name}_keeps_the_other",
             (SCRATCH / "old.npy").read_bytes() == b"precious" and not temporaries(),
             temporaries())
    in_place = croft("run", SOFTMAX, "x=real.npy", "y=real.npy")
    case("output_over_its_input", in_place[0] == 0 and not temporaries(), in_place)


def check_values():
    """Numbers on the command line obey the rules of literals."""
    def run(word):
        return croft("run", ROOT / "examples" / "rmsnorm.croft", "x=randn:4x8", "w=ones:8",
                     "y=/dev/null", word)

    for value in ("1e999", "1e-999", "1e39", "-1e39", "1e-60", " 1", "1_0", "0x", "", "1e", "--1"):
        refused(f"scalar_{value!r}".replace(" ", "_"), run(f"eps={value}"), REFUSED, "eps")
    for value in ("nan", "inf", "-inf", "0", "1e-30", "0x1p-3"):
        case(f"scalar_{value}", run(f"eps={value}")[0] == 0, run(f"eps={value}"))
    for value in ("010", "08"):
        want = 0 if int(value) == 8 else REFUSED
        case(f"size_{value}_is_decimal", run(f"N={value}")[0] == want, run(f"N={value}"))


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))


def close_all():
    for number in (0, 1, 2):
        os.close(number)


def check_streams():
    """Standard streams that are closed, full or limited."""
    for number in (1, 2):
        code = croft("run", SOFTMAX, "x=randn:4x8", "y=shut.npy",
                     before=lambda: os.close(number))[0]  # pylint: disable=cell-var-from-loop
        case(f"closed_stream_{number}", code == 0, code)
    code = croft("run", SOFTMAX, "x=randn:4x8", "y=shut.npy", before=close_all)[0]
    shown = croft("show", "shut.npy")
    case("all_streams_closed", code == 0 and shown[0] == 0 and "f32[4, 8]" in shown[1], shown)
    code = croft("run", SOFTMAX, "x=randn:4x8", "y=shut.npy", "--check", before=close_all)[0]
    shown = croft("show", "shut.npy")
    case("a_closed_output_is_told_and_spares_the_file", code == SYSTEM and shown[0] == 0, shown)
    for words in (("emit", SOFTMAX), ("plan", SOFTMAX), ("version",), ("--help",)):
        with open("/dev/full", "wb") as full:
            result = croft(*words, streams={"stdout": full, "stderr": subprocess.PIPE})
        refused(f"full_output_{words[0]}", result, SYSTEM, "standard output")
    with open(SCRATCH / "limited.c", "wb") as file:
        result = croft("emit", SOFTMAX, before=limit_files,
                       streams={"stdout": file, "stderr": subprocess.PIPE})
    refused("output_past_the_file_size_limit", result, SYSTEM, "standard output")


def main():
    for check in (check_text_files, check_outputs, check_values, check_streams):
        check()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
