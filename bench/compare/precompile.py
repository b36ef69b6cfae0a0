"""Compiles what a run needs, in processes side by side, before anything is measured.

Each worker takes a task at a time (a JSON line in, a line out): a case's compiled forms of the
peer and Croft's kernel, or a family of plain kernels. What they compile stays in caches that the
measuring process reads. Which of several variants a peer takes is no part of that: workers disturb
each other, so their choices are thrown away, and the measuring process times the variants anew.

    python -m compare.precompile     (a worker; the driver is `compile_all`)
"""
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import traceback

BENCH = pathlib.Path(__file__).resolve().parent.parent
MOST_WORKERS = 16
LIMIT_S = 300


def tasks_of(cases, path_of, peer_of):
    """The dearest first: autotuned forms, then compiled ones, then plain kernels."""
    tasks, mixes = [], set()
    for case in cases:
        own = {"kind": "case", "file": str(path_of(case)), "peer": peer_of(case),
               "operator": case.operator, "dtype": case.dtype, "shape": case.shape}
        if case.autotuned and own["peer"]:
            tasks.append(dict(own, modes=["autotuned"]))
        tasks.append(dict(own, modes=["compiled"] if own["peer"] else []))
        mixes.add((len(case.reads), len(case.writes), case.is_few))
    tasks = list({json.dumps(task): task for task in tasks}.values())
    tasks.sort(key=lambda task: task["modes"] != ["autotuned"])
    return tasks + [{"kind": "roof", "mix": list(mix)} for mix in sorted(mixes)]


def carried_tasks_of(cases, path_of, peer_of):
    """Croft's kernels alone, for a GPU that is elsewhere."""
    return [{"kind": "carried", "file": str(path_of(case)), "peer": peer_of(case),
             "operator": case.operator, "dtype": case.dtype, "shape": case.shape}
            for case in cases]


def work(task, state):
    """One task, in a worker."""
    import torch
    from . import arms, peers, prepare, roof
    if task["kind"] == "roof":
        reads, writes, few = task["mix"]
        properties = torch.cuda.get_device_properties(0)
        roof.cubin(roof.family(writes, few), reads, writes,
                   f"sm_{properties.major}{properties.minor}", os.environ["CROFT_BENCH_ROOFS"])
        return
    import croft
    from .cases import row_case
    peers.settle_compiler()
    key = task["file"], task["peer"]
    if key not in state:
        state[key] = arms.Subject(task["file"], peers.load(task["peer"]) if task["peer"] else None)
    subject = state[key]
    case = row_case(task["operator"], task["dtype"], task["shape"], moved=(1, 1))
    if task["kind"] == "carried":
        prepare.compile_case(croft, subject, case)
        return
    buffers = subject.buffers(case, "cuda")
    torch._dynamo.reset()
    for mode in task["modes"]:
        function = peers.compiled(subject.peer, task["operator"], mode)
        function(*peers.arguments_of(subject.peer, task["operator"], buffers))
    if task["modes"] != ["autotuned"]:
        outs = subject.outputs(buffers)
        kernel = subject.made(croft, case)
        kernel(*subject.inputs(buffers), out=outs[0] if len(outs) == 1 else tuple(outs))
    torch.cuda.synchronize()
    del buffers
    torch.cuda.empty_cache()


def worker():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a compiler prints is no answer
    state = {}
    for line in sys.stdin:
        task = json.loads(line)
        begin, failure = time.perf_counter(), None
        try:
            work(task, state)
        except Exception:
            failure = traceback.format_exc(limit=-3)
        answers.write(json.dumps({"seconds": time.perf_counter() - begin,
                                  "failure": failure}) + "\n")
        answers.flush()


def serve(left, failures, processes, environment, say):
    """Gives tasks to one worker until there are none."""
    process = subprocess.Popen([sys.executable, "-m", "compare.precompile"], cwd=BENCH,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment,
                               stderr=subprocess.DEVNULL, text=True)
    processes.append(process)
    while True:
        try:
            task = left.get_nowait()
        except queue.Empty:
            break
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline() or "null")
        except (OSError, ValueError):
            answer = None
        failure = answer["failure"] if answer else "the worker ended"
        if failure:
            failures.append((task, failure))
            say(f"compiling {task}: {failure.strip().splitlines()[-1]}")
        if answer is None:
            break
    process.stdin.close()


def compile_all(tasks, environment, say, workers=MOST_WORKERS, limit_s=LIMIT_S):
    """The tasks that failed, with why; the measuring process meets them again."""
    workers = min(workers, os.cpu_count() or 1, len(tasks))
    left, failures, processes = queue.Queue(), [], []
    for task in tasks:
        left.put(task)
    begin = time.perf_counter()
    say(f"compiling {len(tasks)} tasks in {workers} processes")
    threads = [threading.Thread(target=serve, args=(left, failures, processes, environment, say),
                                daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    told = begin
    while any(thread.is_alive() for thread in threads):
        time.sleep(0.2)
        if time.perf_counter() - told > 10:
            told = time.perf_counter()
            say(f"  {left.qsize()} wait, {told - begin:.0f} s")
        if time.perf_counter() - begin > limit_s:
            say(f"compiling takes more than {limit_s} s; the rest is compiled where it is measured")
            break
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        process.wait()
    say(f"compiled in {time.perf_counter() - begin:.1f} s, {len(failures)} failed")
    return failures


def forget_choices(folder):
    """Removes the choices among variants that the workers kept."""
    for path in pathlib.Path(folder).rglob("*.best_config"):
        path.unlink(missing_ok=True)


if __name__ == "__main__":
    worker()
