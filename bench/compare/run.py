"""A run: the records of its raw file, by what they are about.

    run = Run(raw.read(folder / "raw.jsonl"))
    run.samples["softmax/f32/64x4096", "wall"][-1]["arms"]["eager"]      one time for each round

Several raw files that were merged are one run if raw.agree takes their environments for alike.
"""
from . import gates, raw


class Run:
    """The records of a raw file, by what they are about."""

    def __init__(self, records):
        self.environment, self.cases, self.samples, self.arms = None, {}, {}, {}
        self.clocks, self.checks, self.void, self.end = {}, [], [], None
        self.further, self.finished, self.tier = {}, set(), None
        for record in records:
            self.take(record)
        if self.environment is None:
            raise raw.Refused("no environment record")
        for case, _ in [*self.samples, *self.arms]:
            if case not in self.cases:
                raise raw.Refused(f"samples or an arm of {case}, which is no case of the run")
        for (case, phase), many in self.samples.items():
            if [record.get("attempt", 1) for record in many] != [*range(1, len(many) + 1)]:
                raise raw.Refused(f"{phase} {case}: an attempt is missing, or there twice")

    def take(self, record):
        kind = record["record"]
        if kind != "environment" and self.environment is None:
            raise raw.Refused("it does not begin with an environment")
        if kind == "environment":
            if self.environment is not None:
                raw.agree(self.environment, record)
            self.environment = self.environment or dict(record, device_kind=device_kind(record))
            self.tier = record.get("tier")
        elif kind == "case":
            self.cases[record["id"]] = {**record, "tier": self.tier}
        elif kind == "samples":
            self.samples.setdefault((record["case"], record["phase"]), []).append(record)
        elif kind == "arm":
            self.arms[record["case"], record["arm"]] = record
            if record.get("peer") and record["arm"] not in self.peers():
                self.further.setdefault(record["case"], []).append(record["arm"])
        elif kind == "clock" and record.get("throttle"):
            self.clocks[record["case"]] = record
        elif kind == "peer_check":
            self.void += record["void"]
            self.checks += [{**one, "limit": record["limit"]} for one in record["cases"]]
        elif kind == "finished":
            self.finished.add(record["case"])
        elif kind == "end":
            self.end = record

    def phases(self):
        device = self.environment["device_kind"]
        return [phase for phase in gates.PHASES[device]
                if any(key[1] == phase for key in self.samples)]

    def peers(self, case=None):
        """Those of every run, and further ones of a case; of halves those that can do it."""
        peers = self.environment.get("peers", gates.PEERS[self.environment["device_kind"]])
        if case is None:
            return peers
        peers = [*peers, *self.further.get(case["id"], [])]
        if case["dtype"] == "f32":
            return peers
        return [peer for peer in peers
                if self.arms.get((case["id"], peer), {}).get("status", "ok") == "ok"]

    def unfinished(self):
        """Cases whose records are not whole: the run was stopped while it wrote them."""
        return [name for name in self.cases if self.finished and name not in self.finished]


def device_kind(environment):
    """`cuda` or `cpu`, by the option that the run was given."""
    kind = environment.get("device_kind")
    if kind in gates.PEERS:
        return kind
    return "cpu" if environment["device"].lower().startswith("cpu") else "cuda"
