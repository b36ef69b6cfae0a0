"""The OpenCL text of one kernel of each family is what test/opencl/texts holds.

`test/script/opencl_texts.py --bless` (`make bless`) rewrites the texts; look at the difference.

tier: check
builds: release
"""
import sys

import command
from command import case, croft

FOLDER = command.ROOT / "test/opencl/texts"
# By name: a row in several subgroups and in one, several rows a group, a row in parts over
# launches, programs on lanes, a conversion between owners, vectors of halves, a plan of another
# machine.
TEXTS = {
    "row_of_subgroups": ["softmax", "N=1009", "R=64", "--machine", "opencl"],
    "row_of_registers": ["rmsnorm_register", "R=64", "--machine", "opencl"],
    "rows_of_a_group": ["log_softmax", "N=31", "R=4096", "--machine", "opencl"],
    "row_in_parts": ["softmax", "N=300000", "R=1", "--machine", "sm_90"],
    "programs_on_lanes": ["sum", "--plan", "fallback", "--machine", "opencl"],
    "owners_converted": ["transpose8", "B=5", "--machine", "opencl"],
    "vectors_of_halves": ["softmax", "N=256", "R=64", "T=f16", "--machine", "sm_90"],
    "planned_for_a_cpu": ["layernorm", "N=33", "R=64", "T=bf16", "--machine", "cpu-avx2"],
}
BLESS = sys.argv[1:] == ["--bless"]


def main():
    for name, (kernel, *words) in TEXTS.items():
        run = croft("emit", f"examples/{kernel}.croft", *words, "--target", "opencl")
        path = FOLDER / f"{name}.cl"
        wanted = path.read_text() if path.exists() else ""
        if BLESS and run.code == 0 and run.out != wanted:
            path.write_text(run.out)
            print(f"blessed {path.name}")
            continue
        case(name, run.code == 0 and run.out == wanted, run)
    command.finish()


main()
