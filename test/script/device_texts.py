"""The OpenCL C and MSL of one kernel of each family is what the texts of test/opencl and
test/metal hold.

`test/script/device_texts.py --bless` (`make bless`) rewrites the texts; look at the difference.

tier: check
builds: release
"""
import sys

import command
from command import case, croft

FOLDERS = {"opencl": ("test/opencl/texts", "cl"), "metal": ("test/metal/texts", "metal")}
# By name: a row in several subgroups and in one, several rows a group, a row in parts over
# launches, programs on lanes, a conversion between owners, vectors of halves, a plan of another
# machine; of metal's the functions of a SIMD group for integers, too.
TEXTS = {
    "opencl/row_of_subgroups": ["softmax", "N=1009", "R=64", "--machine", "opencl"],
    "opencl/row_of_registers": ["rmsnorm_register", "R=64", "--machine", "opencl"],
    "opencl/rows_of_a_group": ["log_softmax", "N=31", "R=4096", "--machine", "opencl"],
    "opencl/row_in_parts": ["softmax", "N=300000", "R=1", "--machine", "sm_90"],
    "opencl/programs_on_lanes": ["sum", "--plan", "fallback", "--machine", "opencl"],
    "opencl/owners_converted": ["transpose8", "B=5", "--machine", "opencl"],
    "opencl/vectors_of_halves": ["softmax", "N=256", "R=64", "T=f16", "--machine", "sm_90"],
    "opencl/planned_for_a_cpu": ["layernorm", "N=33", "R=64", "T=bf16", "--machine", "cpu-avx2"],
    "metal/row_of_subgroups": ["softmax", "N=1009", "R=64", "--machine", "m1"],
    "metal/row_in_parts": ["softmax", "N=300000", "R=1", "--machine", "sm_90"],
    "metal/programs_on_lanes": ["sum", "--plan", "fallback", "--machine", "m4"],
    "metal/owners_converted": ["transpose8", "B=5", "--machine", "m1"],
    "metal/vectors_of_halves": ["softmax", "N=256", "R=64", "T=f16", "--machine", "sm_90"],
    "metal/integers": ["test/metal/integers.croft", "N=256", "R=4", "--machine", "m1"],
}
BLESS = sys.argv[1:] == ["--bless"]


def main():
    for name, (kernel, *words) in TEXTS.items():
        target, name = name.split("/")
        folder, suffix = FOLDERS[target]
        path = kernel if kernel.endswith(".croft") else f"examples/{kernel}.croft"
        run = croft("emit", path, *words, "--target", target)
        path = command.ROOT / folder / f"{name}.{suffix}"
        wanted = path.read_text() if path.exists() else ""
        if BLESS and run.code == 0 and run.out != wanted:
            path.write_text(run.out)
            print(f"blessed {path.name}")
            continue
        case(f"{target}_{name}", run.code == 0 and run.out == wanted, run)
    command.finish()


main()
