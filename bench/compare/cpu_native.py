"""cpu_roof.c and the hand-written kernels as a library, compiled when a comparison starts.

    native = Native.built(folder)         gcc -O3 -march=native, once; the arms open what is there
    native.roof("nt", reads, write, passes=20)   microseconds for each pass
    native.ulp_errors(array, exact)       (of the result, of the row's largest result)
"""
import ctypes
import pathlib
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = [HERE / "cpu_roof.c", *(HERE.parent / f"vector_{name}.c"
                                  for name in ("softmax", "layernorm"))]
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-mprefer-vector-width=512", "-shared", "-fPIC",
         "-pthread"]
ROOFS = {"read": 0, "copy": 1, "nt": 2}
HANDS = {"softmax": 3, "layernorm": 4}
BITS = {"f32": 32, "f16": 16, "bf16": 8}
ALONE_BYTES = 1 << 16  # less than this of an array is left to one thread


class Native:
    def __init__(self, path, processors):
        self.path = path
        self.library = ctypes.CDLL(str(path))
        for name in ("roof_run", "hand_run", "launch_run", "fixed_work", "wide_work"):
            getattr(self.library, name).restype = ctypes.c_double
        self.processors = processors

    @classmethod
    def built(cls, folder, processors):
        path = pathlib.Path(folder) / "cpu_roof.so"
        subprocess.run(["gcc", *FLAGS, *map(str, SOURCES), "-lm", "-o", str(path)], check=True)
        return cls(path, processors)

    def threads(self, size):
        use = self.processors if size >= ALONE_BYTES else self.processors[:1]
        return (ctypes.c_int * len(use))(*use), len(use)

    def roof(self, kind, arrays, reads, writes, size, ahead, passes):
        """ns of `passes` over addresses of aligned arrays of `size` bytes."""
        addresses = (ctypes.c_void_p * len(arrays))(*arrays)
        processors, count = self.threads(size)
        return self.library.roof_run(ROOFS[kind], addresses, reads, writes, ctypes.c_int64(size),
                                     ctypes.c_int64(ahead), ctypes.c_long(passes), processors,
                                     count)

    def hand(self, operator, arrays, rows, width, passes):
        addresses = (ctypes.c_void_p * len(arrays))(*arrays)
        processors, count = self.threads(4 * rows * width)
        return self.library.hand_run(HANDS[operator], addresses, len(arrays), ctypes.c_int64(rows),
                                     ctypes.c_int64(width), ctypes.c_long(passes), processors,
                                     count)

    def has_hand(self, operator, dtype):
        return operator in HANDS and dtype == "f32" and bool(self.library.hand_is_here())

    def launches(self, launch, dispatch, count):
        """ns of `count` calls of croft_launch (an address) with a dispatch."""
        return self.library.launch_run(ctypes.c_void_p(launch), ctypes.c_void_p(dispatch),
                                       ctypes.c_long(count))

    def fixed_work_us(self):
        return self.library.fixed_work() * 1e-3

    def wide_work_us(self):
        return self.library.wide_work() * 1e-3

    def ulp_errors(self, address, exact, rows, width, dtype):
        errors = (ctypes.c_double * 2)()
        self.library.ulp_errors(ctypes.c_void_p(address), ctypes.c_void_p(exact),
                                ctypes.c_int64(rows), ctypes.c_int64(width), BITS[dtype], errors)
        return errors[0], errors[1]
