"""Clock, throttling and driver of an NVIDIA GPU, asked of its management library (libnvidia-ml).

    Clock(uuid).read() -> {"sm_mhz": 1980, "throttle": [], "temperature_c": 41, "power_w": 233}

Where the library is missing or refuses, `why` says so and every reading is None: a run without
clocks is possible, and its raw file says that it is one.
"""
import ctypes

SM, MEMORY = 1, 2  # nvmlClockType_t
# nvmlClocksEventReasons; an idle GPU's and the clocks that an application asked for slow nothing.
REASONS = {0x4: "power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "software thermal",
           0x40: "hardware thermal", 0x80: "power brake", 0x100: "display clock"}
MOVED = 0.02  # a case during which the clock moved by more is measured again


class Clock:
    def __init__(self, uuid=None, name="libnvidia-ml.so.1"):
        self.library, self.device, self.why = None, ctypes.c_void_p(), None
        try:
            self.library = ctypes.CDLL(name)
            self.check("nvmlInit_v2")
            self.find(uuid)
        except (OSError, AttributeError, RuntimeError) as error:
            self.library, self.why = None, str(error)

    def check(self, function, *arguments):
        status = getattr(self.library, function)(*arguments)
        if status:
            raise RuntimeError(f"{function} gives {status}")

    def find(self, uuid):
        """The device with this UUID, or the first one."""
        if uuid:
            text = str(uuid)
            text = text if text.startswith(("GPU-", "MIG-")) else "GPU-" + text
            try:
                self.check("nvmlDeviceGetHandleByUUID", text.encode(), ctypes.byref(self.device))
                return
            except RuntimeError:
                pass
        self.check("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(0), ctypes.byref(self.device))

    def number(self, function, *arguments, kind=ctypes.c_uint):
        """What a query of the device gives, or None where it is refused."""
        if not self.library:
            return None
        value = kind()
        try:
            self.check(function, self.device, *arguments, ctypes.byref(value))
        except (RuntimeError, AttributeError):
            return None
        return value.value

    def read(self):
        bits = self.number("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong)
        if bits is None:
            bits = self.number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong)
        power = self.number("nvmlDeviceGetPowerUsage")
        return {"sm_mhz": self.number("nvmlDeviceGetClockInfo", ctypes.c_uint(SM)),
                "throttle": None if bits is None else
                [name for bit, name in REASONS.items() if bits & bit],
                "temperature_c": self.number("nvmlDeviceGetTemperature", ctypes.c_uint(0)),
                "power_w": None if power is None else power / 1000}

    def limits(self):
        """Greatest clocks, for the environment of a run."""
        return {"sm_max_mhz": self.number("nvmlDeviceGetMaxClockInfo", ctypes.c_uint(SM)),
                "memory_mhz": self.number("nvmlDeviceGetClockInfo", ctypes.c_uint(MEMORY)),
                "unreadable": self.why}

    def driver(self):
        if not self.library:
            return None
        text = ctypes.create_string_buffer(96)
        try:
            self.check("nvmlSystemGetDriverVersion", text, ctypes.c_uint(len(text)))
        except (RuntimeError, AttributeError):
            return None
        return text.value.decode()


def moved(before, after):
    """Whether the clock of two readings differs by more than MOVED; unknown clocks did not move."""
    first, last = before["sm_mhz"], after["sm_mhz"]
    return bool(first and last) and abs(last - first) > MOVED * first
