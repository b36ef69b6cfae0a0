"""The six row operators on every cohort of shapes, in every float type, against the reference.

tier: check-long
builds: release

    cohorts.py [--target cpu|sim|cuda] [--operators sum,softmax] [--dtypes f32,f16,bf16] [-j 2]

Without --target: the cpu in full, and the simulator with as many rows as make 32,768 elements. Each
case is `croft run --check`: every output element within its bound, the memory around the outputs
intact. The shapes are rows x width; a case with fewer rows keeps its width.
"""
import argparse
import concurrent.futures
import sys

import command
from examples import KERNELS, path_of

OPERATORS = ["sum", "softmax", "rmsnorm", "layernorm", "residual_layernorm", "cross_entropy"]
DTYPES = ["f32", "f16", "bf16"]
COHORTS = {
    "base": "1x127 17x257 128x1024 64x4096",
    "wide": "37x8191 1024x8192 1024x16384 4096x8192 8192x4096 16384x4096",
    "anchor": "1024x4096",
    "held_out": "37x1537 256x3072 768x6144 64x12289",
    "width_search": "7x1537 128x8192",
    "joint": "23x769 128x2048 128x8193",
    "fixed_group": "37x769 1024x1024 16384x257 4096x1024",
    "edges": " ".join(f"5x{n}" for n in [1, 31, 32, 33, 127, 128, 129, 257, 1009, 1024, 1537, 4095,
                                         4096, 4097, 4103, 8191, 8192, 8193, 12289, 16384, 65537]),
}
SIM_ELEMENTS = 32768
CASE_LIMIT_S = 300


def cases(targets, operators, dtypes):
    """(name, words) of each case, those with most elements first."""
    found = []
    for target in targets:
        for cohort, shapes in COHORTS.items():
            for shape in shapes.split():
                rows, width = map(int, shape.split("x"))
                if target == "sim":
                    rows = max(1, min(rows, SIM_ELEMENTS // width))
                for operator in operators:
                    for dtype in dtypes:
                        name = f"{target}_{cohort}_{operator}_{rows}x{width}_{dtype}"
                        words = arguments(operator, rows, width, dtype) + ["--target", target]
                        found.append((rows * width, name, words))
    return [case[1:] for case in sorted(found, key=lambda case: -case[0])]


def arguments(operator, rows, width, dtype):
    inputs, outputs = KERNELS[operator]
    words = ["run", path_of(operator)]
    for word in inputs.split():
        key, kind = word.split(":")
        words.append(f"{key}=randint:{rows}:-1:{width}:i64" if kind == "l" else
                     f"{key}=randn:{rows}x{width}:{dtype}" if kind == "rw" else
                     f"{key}=randn:{width}:{dtype}")
    return words + [f"{key}=/dev/null" for key in outputs.split()] + ["--check"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--target", choices=["cpu", "sim", "cuda"])
    parser.add_argument("--operators", default=",".join(OPERATORS))
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    targets = [options.target] if options.target else ["cpu", "sim"]
    todo = cases(targets, options.operators.split(","), options.dtypes.split(","))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        runs = pool.map(lambda case: command.croft(*case[1], timeout=CASE_LIMIT_S), todo)
        for (name, _), run in zip(todo, runs):
            command.case(name, run.code == 0 and " ok, " in run.out, run)
    command.finish()


if __name__ == "__main__":
    sys.exit(main())
