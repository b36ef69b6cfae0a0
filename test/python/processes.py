"""Kernels among threads, forks and ends of processes.

tier: check
builds: release

Each case that may end badly is a process of its own: it has to print `done` and end with 0.
"""
import ctypes
import gc
import os
import subprocess
import sys
import threading

import numpy as np

import package
from package import ROOT, case
from croft import _handles

HEAD = f"""
import ctypes, os, sys, threading
import numpy as np
import croft
k = croft.load({str(ROOT / "examples/softmax.croft")!r})
x = np.random.default_rng(1).standard_normal((1024, 1000)).astype(np.float32)  # worth threads
"""
ENDS = {
    "ends_with_everything_alive": "y = k(x); d = k.bind(x); d()",
    "ends_with_a_cycle": "d = k.bind(x); d.me = d; k.us = [k, d]; d()",
    "frees_in_any_order": "import gc\nd = k.bind(x); layout = croft.Layout('identity(32)')\n"
                          "del k\ngc.collect()\nd()\ndel d\ngc.collect()\nassert str(layout)",
    "collects_cycles": "import gc\nfor turn in range(20):\n"
                       "    k = croft.compile(k.program.text.decode()); d = k.bind(x); d()\n"
                       "    d.me = d; k.us = [k, d]\n    y = croft.Layout('identity(32)')\n"
                       "    k = croft.compile(k.program.text.decode()); del d\n    gc.collect()",
    "ends_with_a_thread_in_a_call": "def run():\n    while True: k(x)\n"
                                    "[threading.Thread(target=run, daemon=True).start() "
                                    "for _ in range(3)]\nk(x)",
    "ends_by_an_exception_in_a_thread": "t = threading.Thread(target=lambda: k(x)); t.start(); "
                                        "t.join()",
    "frees_nothing_when_it_ends": "from croft._handles import Handle\n"
                                  "h = Handle(ctypes.c_void_p(), lambda _: os.write(1, b'freed'),"
                                  " None)",
    "ends_by_sys_exit": "k(x)\nprint('done')\nsys.exit(0)",
}
FORKS = {
    "calls": "y = k(x)",
    "calls_into_what_is_there": "y = np.empty_like(x)\n"
                                "for turn in range(3): assert k(x, out=y) is y",
    "frees_nothing_of_its_parent": "del h; y = expected",
    "forgets_contexts": "assert not croft._handles.contexts and d.dispatch is None; y = k(x)",
    "bound_calls": "d(); y = d.out",
    "makes": "y = croft.compile(k.program.text.decode())(x)",
    "layouts": "y = expected; assert croft.Layout('identity(32)').owner(3).lane == 3",
    "forgets": "import gc\nglobals().pop('d'); gc.collect(); y = k(x)",
}


def alone(name, code):
    try:
        done = subprocess.run([sys.executable, "-c", HEAD + code + "\nprint('done')"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    except subprocess.TimeoutExpired:
        return case(name, False, "it does not end")
    return case(name, done.returncode == 0 and done.stdout == "done\n",
                f"status {done.returncode}\n{done.stdout}")


def forked(name, code):
    """The child of a fork, whose parent's contexts have threads, does this and ends well."""
    body = "\n    ".join(code.splitlines())
    alone(f"child_{name}", f"""
from croft._handles import Handle
h = Handle(ctypes.c_void_p(), lambda _: os.write(1, b"freed"), None)
before = len(os.listdir("/proc/self/task"))
k(x); d = k.bind(x); d(); expected = d.out.copy()
if len(os.sched_getaffinity(0)) > 1:
    assert len(os.listdir("/proc/self/task")) > before, "the library started no thread"
child = os.fork()
if child == 0:
    {body}
    assert np.array_equal(y, expected)
    sys.exit(0)
_, status = os.waitpid(child, 0)
assert status == 0, status
d.out[:] = 0
d()
assert np.array_equal(d.out, expected) and np.array_equal(k(x), expected)
""")


def check_threads():
    """16 threads, each with arrays of its own, on one kernel and one bound call of each."""
    k = package.example("rmsnorm")
    wrong = []
    start = threading.Barrier(16)

    def work(number):
        generator = np.random.default_rng(number)
        width = [31, 64, 100, 257][number % 4]
        w = generator.standard_normal(width).astype(np.float32)
        start.wait()
        for turn in range(8):
            x = generator.standard_normal((3 + turn, width)).astype(np.float32)
            wide = x.astype(np.float64)
            expected = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5) * w
            out = np.empty_like(x)
            bound = k.bind(x, w)
            for made in (k(x, w), k(x, w, out=out), k(x, w, eps=1e-5), bound() or bound.out):
                if not np.allclose(made, expected, rtol=1e-5, atol=1e-6):
                    wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    case("sixteen_threads", not wrong, wrong)


def check_order():
    """The collector ends what is in a cycle in any order: nothing is freed before its children."""
    freed = []

    def handle(number, parent):
        return _handles.Handle(ctypes.c_void_p(number), lambda one: freed.append(one.value), parent)

    handles = [handle(1, None)]  # a context, a kernel, a function, a dispatch
    for number in (2, 3, 4):
        handles.append(handle(number, handles[-1]))
    holder = [handles, *handles]
    holder.append(holder)
    del handles, holder
    gc.collect()
    case("a_cycle_is_freed_children_first", freed == [4, 3, 2, 1], freed)
    freed.clear()
    parent = handle(1, None)
    child = handle(2, parent)
    pointer = parent.pointer
    del parent
    case("a_parent_lives_with_its_child", freed == [], freed)
    del child
    case("nobody_has_its_pointer", not pointer)
    case("then_it_ends_too", freed == [2, 1], freed)


def main():
    check_order()
    check_threads()
    for name, code in ENDS.items():
        alone(name, code)
    for name, code in FORKS.items():
        forked(name, code)
    package.finish()


if __name__ == "__main__":
    main()
