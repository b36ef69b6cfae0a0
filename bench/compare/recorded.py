"""Whether the peer is as fast here as where it was recorded: ten compiled cases of 64 MB and more.

Absolute times do not carry between machines. What carries is how near the peer comes to the roof of
the same bytes and mix: recorded, that is the bytes over the recorded time and the recorded ceiling;
now, the roof's time over the peer's. A peer that is more than LIMIT slower than that voids the run.
"""
import json
import math
import pathlib
import statistics

from .cases import row_case

FILE = pathlib.Path(__file__).resolve().parent.parent / "data" / "peer_h200_torch.json"
LIMIT = 0.15
TYPES = {"f32": "float32", "bf16": "bfloat16"}
CEILINGS = {(1, 0): "read", (1, 1): "one_to_one", (2, 1): "two_to_one"}
CASES = [("softmax", "16384x4096"), ("rmsnorm", "16384x4096"), ("layernorm", "8192x4096"),
         ("residual_layernorm", "16384x4096"), ("cross_entropy", "16384x4096"),
         ("sum", "16384x4096"), ("softmax", "4096x8192"), ("rmsnorm", "8192x4096"),
         ("layernorm", "1024x16384"), ("residual_layernorm", "4096x8192")]


def recorded_cases(dtype, count=len(CASES)):
    """The cases that are repeated; other types than the recorded ones are checked in f32."""
    return [row_case(operator, dtype if dtype in TYPES else "f32", shape)
            for operator, shape in CASES[:count]]


class Recorded:
    def __init__(self, path=FILE):
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        self.ceilings = data["ceilings"]
        self.rows = {(row["op"], row["dtype"], row["rows"], row["width"]): row
                     for row in data["rows"]}

    def roof_us(self, case):
        """The recorded ceiling's time: interpolated in the logarithm of the bytes."""
        rates = self.ceilings[CEILINGS[len(case.reads), len(case.writes)]]
        at, points = case.footprint / 1e6, self.ceilings["mb"]
        at = min(max(at, points[0]), points[-1])
        upper = next(k for k in range(1, len(points)) if at <= points[k])
        low, high = math.log(points[upper - 1]), math.log(points[upper])
        part = (math.log(at) - low) / (high - low)
        rate = rates[upper - 1] + part * (rates[upper] - rates[upper - 1])
        return case.footprint / (rate * 1e6)

    def slower(self, case, samples):
        """By how much the peer is slower than recorded, relative to the roof (0.1: 10%)."""
        row = self.rows[case.operator, TYPES[case.dtype], case.rows, case.width]
        then = self.roof_us(case) / row["compiled_us_cold"]
        now = statistics.median(roof / peer for roof, peer in
                                zip(samples["roof"], samples["compiled"]))
        return then / now - 1

    def record(self, found):
        """The record of the check; `found`: [(case, samples or None, why)]."""
        cases = []
        for case, samples, why in found:
            slower = self.slower(case, samples) if samples else None
            cases.append({"case": case.id, "slower": slower, "why": why, "arms": samples})
        void = [case["case"] for case in cases if case["slower"] is None or case["slower"] > LIMIT]
        return {"record": "peer_check", "limit": LIMIT, "cases": cases, "void": void}
