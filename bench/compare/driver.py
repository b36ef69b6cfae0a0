"""The little of CUDA's driver and of its run-time compiler that the harness calls by itself.

Kernels of the roof, and events that are nodes of a graph: framework calls for both exist only in
some versions. The framework has to have made its context current in this thread before.

    module = Driver().load(compile_cubin(text, "sm_90"))
    launch = driver.launch(module.function("roof_0"), grid, block, [pointer, count], stream_of)
"""
import ctypes
import glob
import os
import sys

RECORD_EXTERNAL = 1  # CU_EVENT_RECORD_EXTERNAL: a node of the graph that is being captured


class Driver:
    def __init__(self, name="libcuda.so.1"):
        self.library = ctypes.CDLL(name)

    def check(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(ctypes.c_int(status), ctypes.byref(text))
            raise RuntimeError(f"{function}: {(text.value or b'?').decode()} ({status})")

    def event(self):
        event = ctypes.c_void_p()
        self.check("cuEventCreate", ctypes.byref(event), ctypes.c_uint(0))
        return event

    def free_event(self, event):
        self.library.cuEventDestroy_v2(event)

    def record(self, event, stream, inside):
        """Into a stream; `inside`: as a node of the graph that the stream captures."""
        if inside:
            self.check("cuEventRecordWithFlags", event, ctypes.c_void_p(stream),
                       ctypes.c_uint(RECORD_EXTERNAL))
        else:
            self.check("cuEventRecord", event, ctypes.c_void_p(stream))

    def elapsed_us(self, begin, end):
        milliseconds = ctypes.c_float()
        self.check("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
        return milliseconds.value * 1e3

    def load(self, cubin):
        module = ctypes.c_void_p()
        self.check("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(cubin))
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.check("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        return function

    def launch(self, function, grid, block, arguments, stream):
        """A call without arguments that launches on the stream that `stream()` gives then."""
        values = (ctypes.c_void_p * len(arguments))(
            *[ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in arguments])
        kept, launch, check = arguments, self.library.cuLaunchKernel, self.check
        grid, block, one, none = (ctypes.c_uint(grid), ctypes.c_uint(block), ctypes.c_uint(1),
                                  ctypes.c_uint(0))

        def call():
            if launch(function, grid, one, one, block, one, one, none, ctypes.c_void_p(stream()),
                      values, None):
                check("cuLaunchKernel", function, grid, one, one, block, one, one, none,
                      ctypes.c_void_p(stream()), values, None)
            return kept

        return call


def compiler_names():
    """Where the run-time compiler may lie: loaded, with the framework, in the toolkit."""
    folders = [os.path.join(path, "nvidia") for path in sys.path]
    found = [path for folder in folders
             for pattern in ("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
             for path in sorted(glob.glob(os.path.join(folder, pattern)), reverse=True)]
    found += sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so.*"), reverse=True)
    return ["libnvrtc.so.13", "libnvrtc.so.12", *found, "libnvrtc.so"]


def load_compiler():
    for name in compiler_names():
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise RuntimeError("no libnvrtc, the run-time compiler of CUDA: the roof cannot be compiled")


def compile_cubin(text, architecture):
    """The machine code of a text in CUDA C."""
    library = load_compiler()
    program = ctypes.c_void_p()
    source = ctypes.c_char_p(text.encode())
    status = library.nvrtcCreateProgram(ctypes.byref(program), source, b"roof.cu", 0, None, None)
    if status:
        raise RuntimeError(f"nvrtcCreateProgram gives {status}")
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={architecture}".encode(), b"--std=c++17")
    status = library.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    if status:
        library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        library.nvrtcGetProgramLog(program, log)
        raise RuntimeError(f"nvrtcCompileProgram gives {status}: {log.value.decode()[:2000]}")
    library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    cubin = ctypes.create_string_buffer(size.value)
    library.nvrtcGetCUBIN(program, cubin)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin.raw
