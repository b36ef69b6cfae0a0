"""Arrays on a CUDA device, on the pretended driver of test/fake, whose launches copy x to y: which
context, stream and memory a call takes, when it waits, and that it drives the driver as it wants.

tier: check
builds: release
"""
import ctypes
import os
import pathlib
import subprocess

import package  # before the library reads the environment

FAKE = pathlib.Path(os.environ.get("CROFT_BUILD", package.ROOT / "build")) / "test/libfake_cuda.so"
os.environ.update(CROFT_CUDA_DRIVER=str(FAKE), CROFT_NVRTC=str(FAKE), FAKE_CUDA="copy")

import numpy as np  # noqa: E402

import capsules  # noqa: E402
from package import case, croft, refused  # noqa: E402

MEMBERS = {"waits": "waits", "launch_count": "launch_count", "broken_rules": "broken_rules",
           "stream": "launches[0].stream", "next_stream": "launches[1].stream", "depth": "depth",
           "broken": "broken"}


class State:
    """Members of the driver's fake_cuda_state, at the offsets that its header says."""

    def __init__(self):
        lines = [f'printf("%zu\\n", offsetof(fake_cuda_state, {place}));'
                 for place in MEMBERS.values()]
        source = package.command.SCRATCH / "offsets.c"
        source.write_text('#include "fake_cuda.h"\n#include <stdio.h>\nint main(void) {\n'
                          + "\n".join(lines) + "\nreturn 0; }\n")
        program = package.command.SCRATCH / "offsets"
        subprocess.run(["gcc", f"-I{package.ROOT}/test/fake", source, "-o", program], check=True)
        printed = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.offsets = dict(zip(MEMBERS, map(int, printed.split())))
        self.driver = ctypes.CDLL(str(FAKE))
        self.base = ctypes.addressof(ctypes.c_char.in_dll(self.driver, "fake_cuda"))

    def __getattr__(self, name):
        kind = (ctypes.c_void_p if name.endswith("stream") else
                ctypes.c_char_p if name == "broken" else ctypes.c_int)
        return kind.from_address(self.base + self.offsets[name]).value

    def clear(self):
        for name in ("waits", "launch_count"):
            ctypes.c_int.from_address(self.base + self.offsets[name]).value = 0


def on_device(values, **words):
    return capsules.Foreign(values, device=(2, 0), **words)


def main():
    state = State()
    k = package.example("softmax")
    values, out = np.random.default_rng(1).standard_normal((2, 4, 64)).astype(np.float32)
    y = on_device(out)
    x = on_device(values)
    k(x, out=y)
    case("runs_on_the_device", np.array_equal(out, values) and state.launch_count == 1, out)
    case("asks_for_the_legacy_stream",
         x.asked == [{"max_version": (1, 1), "stream": 1}], x.asked)
    case("launches_on_the_legacy_stream", state.stream == 1, state.stream)
    case("waits_for_who_names_no_stream", state.waits == 1, state.waits)
    state.clear()
    k(x, out=y, stream=0x1230)
    case("launches_on_the_stream_named", state.stream == 0x1230, state.stream)
    case("does_not_wait_for_a_stream_named", state.waits == 0, state.waits)
    k(x, out=y, stream=0)
    case("stream_0_is_the_legacy_one", state.next_stream == 1 and state.waits == 0)
    bound = k.bind(x, out=y)
    state.clear()
    out[:] = 0
    bound()
    case("a_bound_call_is_launched_alone", state.launch_count == 1 and state.waits == 0
         and np.array_equal(out, values), (state.launch_count, state.waits))
    case("plan_is_that_of_the_device", "machine sm_90" in bound.plan, bound.plan)
    case("source_is_that_of_the_device", "__global__" in bound.source)
    refused("an_array_that_cannot_be_made", "no-array", lambda: k(x), "`out`")
    refused("memory_of_two_devices", "tensor-device", lambda: k(x, out=out))
    refused("a_device_that_is_not_there", "no-device",
            lambda: k(capsules.Foreign(values, device=(2, 9)), out=y))
    pinned = capsules.Foreign(values, device=(3, 0))
    case("pinned_memory_is_the_processs", np.allclose(k(pinned).sum(-1), 1))
    # The library waits for streams of its own alone; that of the legacy stream was the package's.
    case("the_driver_is_used_as_it_wants", state.broken_rules == 1 and state.depth == 0
         and state.broken == b"waits for a stream that is not its own",
         (state.broken_rules, state.broken, state.depth))
    package.finish()


if __name__ == "__main__":
    main()
