"""What emitted MSL is made of: two stages and one barrier for a reduction, few guards, and no words
but those of the language.

tier: check
builds: release

A reduction of f32 by several SIMD groups is one exchange among the lanes of each, and one of the
partials behind one barrier: softmax has two stages of a maximum and two of a sum. Rows of 1537
elements ask at most twice before the accesses of a sweep, whatever the width of a vector.
"""
import json
import re

from command import case, croft, finish

REDUCTIONS = {"softmax": ["max", "sum"], "rmsnorm": ["sum"], "layernorm": ["sum", "sum"]}
WIDTHS = [1537, 4096, 8191]
OWNERS = ["w=192,v=1", "w=192,v=2", "w=416,v=4"]  # workers and neighbours of a chunk
COMBINED = {"max": r"maximum_f32\(\w+, \w+\)", "sum": r"\w+ \+ \w+"}


def check_stages(name, width):
    words = [f"examples/{name}.croft", f"N={width}", "R=37", "--machine", "m1"]
    emitted = croft("emit", *words)
    lines = emitted.out.splitlines()
    wanted = len(REDUCTIONS[name])
    places = [i for i, line in enumerate(lines) if "threadgroup_barrier(" in line]
    case(f"{name}_{width}_has_a_barrier_for_each_reduction",
         len(places) == wanted and "simdgroup_barrier" not in emitted.out, emitted)
    for word in set(REDUCTIONS[name]):
        among_lanes = re.findall(rf"^    const f32 \w+_lanes1 = .*{COMBINED[word]}.*;$",
                                 emitted.out, re.M)
        count = REDUCTIONS[name].count(word)
        case(f"{name}_{width}_{word}_among_lanes", len(among_lanes) == count, emitted)
        behind = [next((line for line in lines[place:] if re.match(
            rf"    const f32 {word}\d+ = {COMBINED[word]};$", line)), None) for place in places]
        case(f"{name}_{width}_{word}_of_partials",
             len(set(behind) - {None}) == count, f"{behind}\n{emitted}")


def check_guards(name):
    for owners in OWNERS:
        told = croft("explain", f"examples/{name}.croft", "N=1537", "R=37", "--machine", "m1",
                     "--set", owners, "--json")
        if told.code == 3:
            case(f"{name}_{owners}_is_refused_by_name", "row-plan-refused" in told.out, told)
            continue
        page = json.loads(told.out)
        guards = [access["guards"] for access in page["grouped_loads"] + page["grouped_stores"]]
        case(f"{name}_{owners}_asks_twice_at_most", guards and max(guards) <= 2,
             f"{guards}\n{told}")


def main():
    for name in REDUCTIONS:
        for width in WIDTHS:
            check_stages(name, width)
        check_guards(name)
    whole = croft("emit", "examples/softmax.croft", "N=1024", "R=4", "--machine", "m4", "--set",
                  "v=4", "--assume", "aligned")
    case("aligned_rows_are_vectors", "*(device const float4 *)" in whole.out
         and "*(device float4 *)" in whole.out and "is_aligned" not in whole.out, whole)
    case("neither_double_nor_fast_arithmetic", not re.search(r"\bdouble\b|fast::", whole.out)
         and "#pragma METAL fp contract(off)" in whole.out, whole)


main()
finish()
