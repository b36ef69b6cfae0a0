"""What a comparison has to show, as data: one row for each gate, read by report.py.

A row says which cases it is about (`where`), whose time is set against whose (`arm` and `against`,
in which `phase`), and the bounds: `mean` of the geometric mean, `least` of each case. Ratios are
against / arm, so more is better. `count` cases belong to it: with fewer, it is incomplete.

    {"name": "peers", "device": "cuda", "where": {"cohort": ROWS}, "against": "compiled",
     "phase": "device", "mean": 1.25, "least": 0.96, "count": 66, "about": "..."}

`against` is an arm, the faster of some (`eager or contiguous`), `best` (of all peers, for each
case), `f32` (the same case in that type) or `rounded` (the same rows at the next multiple of 8
columns). A row without bounds is reported. `where` has the words of `belongs`; footprint and
elements are (from, to).
"""

COHORTS = {
    "base": ["1x127", "17x257", "128x1024", "64x4096"],
    "wide": ["37x8191", "1024x8192", "1024x16384", "4096x8192", "8192x4096", "16384x4096"],
    "anchor": ["1024x4096"],
    "call": ["1x127", "17x257"],
    "kernel": ["128x1024", "64x4096"],
    "widest": ["4096x65536", "1024x262144"],
    "ragged": ["16384x4095", "16384x4097", "8192x8191", "8192x8193"],
    "narrow": ["4194304x16", "2097152x32", "1048576x64", "524288x128", "262144x256"],
}
ROWS = ["base", "wide", "anchor"]
OPERATORS = ["sum", "softmax", "rmsnorm", "layernorm", "residual_layernorm", "cross_entropy"]
NORMS = ["rmsnorm", "layernorm", "residual_layernorm"]
MIB = 1 << 20

# Arms that are other programs; each has to be there, or the run has failed.
PEERS = {"cuda": ["eager", "compiled"], "cpu": ["eager", "compiled", "onnxruntime", "jax"]}
# The phases of a device, the one that its plots show first.
PHASES = {"cuda": ["device", "wall", "batch", "device_cold"], "cpu": ["wall"]}
PHASE_ABOUT = {"device": "graphs, buffers hot or cold as the case is judged",
               "wall": "a single call, until it is done", "batch": "many calls, then a wait",
               "device_cold": "graphs, cold buffers of the cases that are judged hot"}
# A case is unstable where an arm with the same program takes another time than this.
STABLE = (0.98, 1.02)


def cuda(name, about, against, phase="device", **bounds):
    return {"name": name, "device": "cuda", "about": about, "against": against, "phase": phase,
            "arm": "croft", **bounds}


def cpu(name, about, against, arm="croft", **bounds):
    return {"name": name, "device": "cpu", "about": about, "against": against, "phase": "wall",
            "arm": arm, **bounds}


def rows(cohort, dtypes=("f32",), operators=OPERATORS, **more):
    return {"cohort": cohort, "dtypes": list(dtypes), "operators": list(operators), **more}


GATES = [
    cuda("eager-device", "each case faster than eager PyTorch, on the device", "eager",
         where=rows(ROWS), least=1.0, count=66),
    cuda("eager-wall", "each case faster than eager PyTorch, a single call", "eager", "wall",
         where=rows(ROWS), least=1.0, count=66),
    cuda("compiled", "against torch.compile", "compiled", where=rows(ROWS), mean=1.25, least=0.96,
         count=66),
    cuda("compiled-small", "under 4 MB", "compiled", where=rows(ROWS, footprint=(0, 4 * MIB)),
         mean=1.25, count=30),
    cuda("compiled-middle", "4 to 64 MB", "compiled",
         where=rows(ROWS, footprint=(4 * MIB, 64 * MIB)), mean=1.25, count=8),
    cuda("compiled-norms", "sum and norms of 64 MB and more", "compiled",
         where=rows(ROWS, operators=["sum", *NORMS], footprint=(64 * MIB, None)), mean=1.03,
         count=19),
    cuda("compiled-softmax", "softmax of 64 MB and more", "compiled",
         where=rows(ROWS, operators=["softmax"], footprint=(64 * MIB, None)), mean=1.20, least=1.12,
         count=5),
    cuda("compiled-cross-entropy", "cross-entropy of 64 MB and more", "compiled",
         where=rows(ROWS, operators=["cross_entropy"], footprint=(64 * MIB, None)), mean=1.95,
         least=1.75, count=4),
    *[cuda(f"roof-{dtype}", "256 MB and more: softmax and norms, of the roof", "roof",
           where={"dtypes": [dtype], "operators": ["softmax", *NORMS], "cohort": ROWS,
                  "footprint": (256 * MIB, None)}, least=0.95)
      for dtype in ("f32", "bf16", "f16")],
    *[cuda(f"roof-reduced-{dtype}", "256 MB and more: sum and cross-entropy, of the roof", "roof",
           where={"dtypes": [dtype], "operators": ["sum", "cross_entropy"], "cohort": ROWS,
                  "footprint": (256 * MIB, None)}, least=0.94)
      for dtype in ("f32", "bf16", "f16")],
    cuda("roof-narrow", "rows of 16 to 256 columns, of the roof", "roof",
         where=rows(["narrow"], operators=["softmax", "rmsnorm"]), least=0.90, count=10),
    cuda("bf16-large", "bf16, 4M elements and more, against torch.compile", "compiled",
         where=rows(ROWS, ["bf16"], elements=(4 * MIB, None)), mean=1.4, least=0.95, count=36),
    cuda("bf16-small", "bf16, fewer than 4M elements, against torch.compile", "compiled",
         where=rows(ROWS, ["bf16"], elements=(0, 4 * MIB)), mean=1.15, least=0.95, count=30),
    cuda("f16", "f16, against torch.compile", "compiled", where=rows(ROWS, ["f16"])),
    cuda("widest-roof", "the widest rows: softmax and norms, of the roof", "roof",
         where=rows(["widest"], operators=["softmax", *NORMS]), least=0.90, count=8),
    cuda("widest", "the widest rows: softmax and norms, against torch.compile", "compiled",
         where=rows(["widest"], operators=["softmax", "rmsnorm", "layernorm"]), mean=1.35, count=6),
    cuda("widest-residual", "the widest rows: residual LayerNorm", "compiled",
         where=rows(["widest"], operators=["residual_layernorm"]), mean=1.40, count=2),
    cuda("widest-cross-entropy", "the widest rows: cross-entropy", "compiled",
         where=rows(["widest"], operators=["cross_entropy"]), least=1.30, count=2),
    cuda("widest-sum", "the widest rows: sum", "compiled",
         where=rows(["widest"], operators=["sum"]), least=0.97, count=2),
    *[cuda(f"ragged-{dtype}", "within 10% of the width rounded up to a multiple of 8", "rounded",
           where=rows(["ragged"], [dtype]), least=1 / 1.1, count=24) for dtype in ("f32", "bf16")],
    cuda("random", "random shapes, against torch.compile", "compiled",
         where={"tiers": ["random"], "operators": OPERATORS, "dtypes": ["f32"]}, mean=1.15,
         least=0.85, count=60),
    cuda("transposes", "16384 tiles, against PyTorch's contiguous transpose", "eager or contiguous",
         where={"tiers": ["transposes"], "operators": ["transpose"], "rows": [16384]}, mean=1.10,
         count=8),
    cpu("kernel-bound", "12 kernel-bound base cases, against the best peer of each", "best",
        where=rows(["kernel"]), mean=1.4, least=1.0, count=12),
    cpu("call-bound", "12 call-bound base cases, through the Python call", "best",
        where=rows(["call"]), least=1.5, count=12),
    cpu("call-bound-c", "the same through the C call", "best", "croft_c", where=rows(["call"]),
        count=12),
    cpu("call-bound-bound", "the same through a bound call", "best", "croft_bound",
        where=rows(["call"]), count=12),
    cpu("kernel-bound-c", "12 kernel-bound base cases through the C call", "best", "croft_c",
        where=rows(["kernel"]), count=12),
    cpu("wide", "36 wide cases, against the best peer of each", "best", where=rows(["wide"]),
        mean=1.3, count=36),
    cpu("wide-least", "none of them below", "best",
        where=rows(["wide"], not_these={"operators": ["sum"], "beyond_cache": True}), least=0.97),
    cpu("wide-least-sum", "sum out of cache, none below", "best",
        where=rows(["wide"], operators=["sum"], beyond_cache=True), least=0.95),
    cpu("norms-roof", "LayerNorm and RMSNorm out of cache, of the non-temporal copy", "roof_nt",
        where={"operators": ["layernorm", "rmsnorm"], "dtypes": ["f32"], "beyond_cache": True},
        least=0.85),
    cpu("softmax-roof", "softmax out of cache, of the non-temporal copy", "roof_nt",
        where={"operators": ["softmax"], "dtypes": ["f32"], "beyond_cache": True}, least=0.75),
    cpu("sum-roof", "sum out of cache, of the read roof", "roof_read",
        where={"operators": ["sum"], "dtypes": ["f32"], "beyond_cache": True}, least=0.90),
    cpu("hand", "softmax and LayerNorm in cache, of the hand-written vector kernel", "hand",
        "croft_c", where={"operators": ["softmax", "layernorm"], "dtypes": ["f32"],
                          "cohort": ["kernel", "anchor"]}, least=0.90),
    *[cpu(f"{dtype}-over-f32", "RMSNorm, LayerNorm and sum out of cache, against their f32", "f32",
          where={"operators": ["rmsnorm", "layernorm", "sum"], "dtypes": [dtype],
                 "beyond_cache": True}, least=1.5) for dtype in ("f16", "bf16")],
    *[cpu(f"{dtype}-softmax-over-f32", "softmax out of cache, against its f32", "f32",
          where={"operators": ["softmax"], "dtypes": [dtype], "beyond_cache": True}, least=1.05)
      for dtype in ("f16", "bf16")],
]


def cohorts_of(case):
    shape = f"{case['rows']}x{case['width']}"
    return [name for name, shapes in COHORTS.items() if shape in shapes]


def inside(number, bounds):
    low, high = bounds
    return number >= low and (high is None or number < high)


def belongs(case, where, environment):
    """Whether the gate that `where` describes is about the case. A kernel file that somebody gave
    is no operator of ours, whatever its name."""
    if case.get("file") and "tiers" not in where:
        return False
    tests = {
        "operators": lambda names: case.get("operator") in names,
        "dtypes": lambda names: case["dtype"] in names,
        "cohort": lambda names: bool(set(cohorts_of(case)) & set(names)),
        "rows": lambda counts: case["rows"] in counts,
        "tiers": lambda names: case.get("tier", environment.get("tier")) in names,
        "footprint": lambda bounds: inside(case["footprint"], bounds),
        "elements": lambda bounds: inside(case["rows"] * case["width"], bounds),
        # of f32: halves of such a case belong to it though they may fit
        "beyond_cache": lambda wanted: wanted == beyond_cache(case, environment),
        "not_these": lambda other: not belongs(case, other, environment),
    }
    return all(tests[word](value) for word, value in where.items())


def beyond_cache(case, environment):
    """Larger than the last level of the machine's caches, as f32."""
    size = environment.get("llc_bytes", 0)
    scale = 4 if case["dtype"] == "f32" else 8
    return size > 0 and case["footprint"] * scale // 4 > size
