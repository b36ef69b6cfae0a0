"""The thin layer over the framework's CUDA: graphs with events inside, load, a sweep of the L2,
clocks.

A graph holds an event, the launches and another event, so that its time is that of the launches
and not of the graph's start. Before a timed replay with cold buffers a buffer of four times the L2
is read, untimed; with hot ones the graph itself is replayed once. Tests stand in for this class
with made-up times.
"""
import platform
import statistics

import torch

from .clock import Clock
from .driver import Driver

L2_SWEEPS = 4       # the sweep reads so many times the L2
PROBE_LAUNCHES = 64


class Graph:
    """Launches, captured from calls without arguments."""

    def __init__(self, device, calls):
        self.device, self.graph = device, torch.cuda.CUDAGraph()
        self.last = None  # what the last launch gave: a tensor of the graph, where it made one
        self.begin, self.end = device.driver.event(), device.driver.event()
        torch.cuda.synchronize()
        with torch.cuda.stream(device.side):
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                self.mark(self.begin)
                for call in calls:
                    self.last = None  # its memory is free again before the next call
                    self.last = call()
                self.mark(self.end)
            except BaseException:
                self.abandon()
                raise
            self.graph.capture_end()
        torch.cuda.synchronize()
        self.graph.replay()
        torch.cuda.synchronize()

    def mark(self, event):
        if self.device.inside:
            self.device.driver.record(event, self.device.side.cuda_stream, inside=True)

    def abandon(self):
        try:
            self.graph.capture_end()
        except RuntimeError:
            pass  # what went wrong in the capture is the error worth telling

    def replay(self):
        self.graph.replay()

    def time_us(self, cold):
        """Of one replay, all launches together."""
        device = self.device
        if cold:
            device.sweep()
        else:
            self.graph.replay()
        if device.inside:
            self.graph.replay()
        else:
            stream = torch.cuda.current_stream().cuda_stream
            device.driver.record(self.begin, stream, inside=False)
            self.graph.replay()
            device.driver.record(self.end, stream, inside=False)
        torch.cuda.synchronize()
        return device.driver.elapsed_us(self.begin, self.end)

    def close(self):
        self.last = None
        self.graph.reset()
        self.device.driver.free_event(self.begin)
        self.device.driver.free_event(self.end)


class Device:
    place = "cuda"  # where buffers are made

    def __init__(self, index=0):
        torch.cuda.set_device(index)
        torch.cuda.init()
        self.properties = torch.cuda.get_device_properties(index)
        self.side = torch.cuda.Stream()
        self.l2_bytes = self.properties.L2_cache_size
        count = L2_SWEEPS * self.l2_bytes // 4
        self.buffer = torch.ones(count, device="cuda", dtype=torch.float32)
        self.swept = torch.empty((), device="cuda", dtype=torch.float32)
        self.driver = Driver()
        self.clock = Clock(getattr(self.properties, "uuid", None))
        self.inside, self.inside_why = True, None
        self.probe()

    def probe(self):
        """Whether events inside a graph give the time that events around it give, about."""
        try:
            inside = self.probe_us()
        except (RuntimeError, AttributeError) as error:
            self.inside, self.inside_why = False, str(error)
            return
        self.inside = False
        around = self.probe_us()
        self.inside = 0.7 * around < inside < 1.05 * around
        if not self.inside:
            self.inside_why = f"{inside:.1f} us inside, {around:.1f} us around"

    def probe_us(self):
        graph = Graph(self, [self.sweep] * PROBE_LAUNCHES)
        times = [graph.time_us(cold=True) for _ in range(5)]
        graph.close()
        return statistics.median(times)

    @property
    def architecture(self):
        return f"sm_{self.properties.major}{self.properties.minor}"

    @property
    def processors(self):
        return self.properties.multi_processor_count

    def memory_bytes(self):
        """What one case may take for its buffers."""
        return int(0.3 * self.properties.total_memory)

    def sweep(self):
        torch.sum(self.buffer, 0, out=self.swept)

    def graph(self, calls):
        return Graph(self, calls)

    def load(self, seconds, now):
        """Keeps the device busy, so that its clock is that of work."""
        begin = now()
        while now() - begin < seconds:
            for _ in range(50):
                self.sweep()
            torch.cuda.synchronize()

    def synchronize(self):
        torch.cuda.synchronize()

    def read_clock(self):
        return self.clock.read()

    def forget(self):
        """Gives back what the last case took."""
        torch.cuda.synchronize()
        torch.cuda.empty_cache()

    def environment(self):
        driver = self.clock.driver()
        return {"device": self.properties.name, "driver": driver,
                "torch": torch.__version__,
                "versions": {"torch": torch.__version__, "cuda": torch.version.cuda,
                             "triton": triton_version(), "python": platform.python_version()},
                "clocks": self.clock.limits(), "l2_bytes": self.l2_bytes,
                "processors": self.processors,
                "events": "inside the graph" if self.inside else f"around: {self.inside_why}"}


def triton_version():
    """A peer that does not import is a failed run: the error passes on."""
    import triton
    return triton.__version__
