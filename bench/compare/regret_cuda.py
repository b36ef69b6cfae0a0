"""Regret on a CUDA device: options, processes that compile plans, the arms of plans.

    python -m compare.regret_cuda     (a worker; the driver is `Workers`)

Workers stay for the whole run and wait while anything is measured. A worker lists and chooses the
plans of a case, or compiles some of them into Croft's cache, on buffers of the case's shape.
"""
import argparse
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time
import traceback

from . import cases, command, plans, raw
from .gates import COHORTS
from .measuring import Settings
from .regret import Regret, write_results

BATCH = 4      # plans of a task
PHASE_S = 0.5  # for the rounds in which the best plan of a case is measured
FILES = ["plans", "regret", "regret_cuda"]


def parse(arguments):
    parser = argparse.ArgumentParser(
        prog="regret.py --device cuda", description="What the automatic plan loses to the best of "
        "the planner's other plans on a GPU, and how well the model foretells times.",
        epilog="OUT gets raw.jsonl, regret.txt, regret.json and fit.jsonl (a row for each plan "
               "with the model's facts and the measured time). Ends as compare.py does.")
    add = parser.add_argument
    add("--device", choices=["cuda"], required=True)
    add("--cases", default="base,wide,anchor", help="cohorts (gates.py) and shapes, with commas")
    add("--operators", default=",".join(cases.OPERATORS))
    add("--dtype", default="f32", help="types, with commas")
    add("--only", action="append", metavar="ID", help="cases whose name fits; * fits all")
    add("--most", type=int, default=plans.MOST, help="plans of a case, at most 256")
    add("--seed", type=int, default=0, help="of the choice among more plans than that")
    add("--out", required=True, metavar="DIR")
    add("--budget", type=float, metavar="SECONDS", default=command.BUDGET_S)
    add("--resume", action="store_true", help="goes on with what OUT has")
    add("--attempts", type=int, default=2, help="of the last measurement of a case")
    add("--workers", type=int, default=16, help="processes that compile")
    add("--cache", metavar="DIR", default=str(command.ROOT / "build" / "bench_cache"))
    add("--machine", help="whose model prices the plans (the device's)")
    options = parser.parse_args(arguments)
    if not plans.BEST < options.most <= plans.MOST:
        parser.error(f"--most is above {plans.BEST} and at most {plans.MOST}")
    # What command.py asks of the options of a comparison.
    options.file = options.peer = options.random_shapes = options.plant = None
    options.tier, options.recorded, options.own, options.phase = "regret", 0, [], PHASE_S
    return options


def cases_of(options):
    shapes = [shape for group in options.cases.split(",") for shape in COHORTS.get(group, [group])]
    found = [cases.row_case(operator, dtype, shape) for dtype in options.dtype.split(",")
             for shape in shapes for operator in options.operators.split(",")]
    return [case for case in found if command.is_wanted(case, options.only)]


def arguments_of(kernel, case):
    """The sizes and types of a case, as the command takes them by name."""
    sizes, free = {}, list(case.axes)
    for tensor in kernel.tensors:
        for axis in tensor.axes:
            if isinstance(axis, str) and axis not in sizes and axis not in kernel.defaults:
                sizes[axis] = free.pop(0)
    types = {name: case.dtype if case.dtype in choices else choices[-1]
             for name, choices in kernel.types.items()}
    return {**sizes, **types}


# ---- workers ----

def work(task, state):
    import croft
    import torch
    from . import arms, peers
    if task["operator"] not in state:
        path = command.ROOT / "examples" / f"{task['operator']}.croft"
        state[task["operator"]] = arms.Subject(path, peers.load())
    subject = state[task["operator"]]
    case = cases.row_case(task["operator"], task["dtype"], task["shape"])
    if task["kind"] == "choose":
        answer = croft.plan(str(subject.path), machine=task["machine"], all=True,
                            **arguments_of(subject.kernel, case))
        chosen, legal = plans.choose(answer, task["most"], f"{task['seed']} {case.id}")
        return {"plans": chosen, "legal": legal}
    buffers = subject.buffers(case, "cuda")
    kernel = subject.made(croft, case)
    try:
        return [compile_plan(kernel, subject, buffers, words) for words in task["sets"]]
    finally:
        del buffers
        torch.cuda.empty_cache()


def compile_plan(kernel, subject, buffers, words):
    """The plan's text, or why it cannot run: it spills, say. Nothing is launched."""
    outs = subject.outputs(buffers)
    try:
        bound = kernel.with_(set=words).bind(*subject.inputs(buffers),
                                             out=outs[0] if len(outs) == 1 else tuple(outs))
        return {"status": "ok", "why": None, "text": bound.plan}
    except Exception as error:  # whatever the library refuses is told of this plan alone
        return {"status": "refused", "why": f"{type(error).__name__}: {error}"[:500], "text": None}


def worker():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a compiler prints is no answer
    state = {}
    for line in sys.stdin:
        try:
            answer = {"result": work(json.loads(line), state)}
        except Exception as error:
            command.say(traceback.format_exc(limit=-3))
            answer = {"failure": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Workers:
    """Processes that each do one task at a time: a line of JSON in, a line out."""

    def __init__(self, count, module="compare.regret_cuda"):
        self.processes = [subprocess.Popen([sys.executable, "-m", module], cwd=command.BENCH,
                                           stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           text=True)
                          for _ in range(max(1, count))]

    def serve(self, process, left, answers):
        while True:
            try:
                index, task = left.get_nowait()
            except queue.Empty:
                return
            try:
                process.stdin.write(json.dumps(task) + "\n")
                process.stdin.flush()
                answers[index] = json.loads(process.stdout.readline())
            except (OSError, ValueError):  # the worker ended; the others do the rest
                answers[index] = {"failure": "the worker ended"}
                return

    def results(self, tasks):
        """The result of each task, in order; {"failure": why} where there is none."""
        answers, left = [{"failure": "no worker is left"}] * len(tasks), queue.Queue()
        for pair in enumerate(tasks):
            left.put(pair)
        threads = [threading.Thread(target=self.serve, args=(process, left, answers), daemon=True)
                   for process in self.processes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


class Plans:
    """The plans of each case: listed and chosen for all cases at first, compiled case by case."""

    def __init__(self, workers, found, machine, options):
        self.workers, self.chosen = workers, {}
        tasks = [dict(self.task(case), kind="choose", machine=machine, most=options.most,
                      seed=options.seed) for case in found]
        for case, answer in zip(found, workers.results(tasks)):
            self.chosen[case.id] = answer

    @staticmethod
    def task(case):
        return {"operator": case.operator, "dtype": case.dtype, "shape": case.shape}

    def compile(self, case):
        """(plans with `text` or `why`, how many are legal)"""
        if "failure" in self.chosen[case.id]:
            raise RuntimeError("no plans: " + self.chosen[case.id]["failure"])
        found = self.chosen[case.id]["result"]
        batches = [found["plans"][at:at + BATCH] for at in range(0, len(found["plans"]), BATCH)]
        tasks = [dict(self.task(case), kind="compile", sets=[plan["set"] for plan in batch])
                 for batch in batches]
        made = []
        for batch, answer in zip(batches, self.workers.results(tasks)):
            failed = {"status": "refused", "why": answer.get("failure"), "text": None}
            made += [{**plan, **one} for plan, one in
                     zip(batch, answer.get("result") or [failed] * len(batch))]
        return made, found["legal"]


# ---- the run ----

def environment_of(options, arguments, device):
    found = command.environment_of(options, arguments, device)
    own = [command.BENCH / "regret.py",
           *(command.BENCH / "compare" / f"{name}.py" for name in FILES)]
    found["sources"].update(raw.sources_of(command.ROOT, own))
    return {**found, "command": "regret.py " + " ".join(arguments), "most": options.most,
            "plan_seed": options.seed}


def run(options, arguments):
    begin = time.perf_counter()
    command.settle_caches(options)
    import croft
    import torch
    from . import arms, cuda, peers
    if not torch.cuda.is_available():
        command.say("no CUDA device")
        return 1
    device = cuda.Device()
    writer = raw.Writer(options.out, environment_of(options, arguments, device), options.resume)
    subjects = command.subjects_of(options, arms, peers)
    found = cases_of(options)
    left = [case for case in found if case.id not in writer.finished]
    workers = Workers(min(options.workers, os.cpu_count() or 1))
    try:
        chosen = Plans(workers, left, options.machine or device.architecture, options)
        command.say(f"plans of {len(left)} cases chosen, {time.perf_counter() - begin:.1f} s")

        def open_stand(case, count, only=None):
            torch.manual_seed(0)
            return arms.Stand(device, subjects[case.operator], case, count, croft, None,
                              ("croft", "control"))

        settings = Settings(phase_s=options.phase, attempts=options.attempts)
        course = Regret(device, open_stand, chosen.compile, writer, settings, say=command.say)
        course.begin = begin
        status = course.end(course.run(found, options.budget))
    finally:
        workers.close()
    print(write_results(options.out, raw.read(writer.path)), end="")
    return status


def main(arguments):
    options = parse(arguments)
    try:
        return run(options, arguments)
    except raw.Refused as error:
        command.say(f"{options.out} is of another run: {error}")
        return 1


if __name__ == "__main__":
    worker()
