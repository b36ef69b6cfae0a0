"""The raw file of a comparison: DIR/raw.jsonl, a JSON object a line, written while it runs.

    environment   device, driver, versions, clocks, host, date, hashes of the sources, command,
                  tier, seed
    peer_check    recorded cases of the peer that were repeated first; which of them void the run
    case          id, operator or file, type, shape, bytes read and written, judged hot or cold,
                  stratum
    arm           of a case: ok or failed and why, whether it is a peer, error in ulp, plan,
                  kernel of the roof
    samples       of a case, a phase and an attempt: times of each arm for one launch; sample i of
                  all arms is of round i. `device` is what is judged: graphs, hot or cold as the
                  case says (`buffers`); `device_cold`: graphs with cold buffers of a case that is
                  judged hot; `wall`: a single call and synchronize; `batch`: many, then synchronize
    clock         of a case, a phase and an attempt
    finished      the records of this case are whole; --resume drops what follows the last of these
    end           complete or not, elapsed; the last one counts

Samples are never rewritten, nor is a file with samples begun anew. Two runs are one (--resume,
merge) only if SAME agrees; a run goes on only as what it was (GOES_ON).
"""
import gzip
import hashlib
import json
import math
import os
import pathlib

FORMAT = 1
SAME = ("format", "device", "driver", "versions", "sources", "plant", "environment")
GOES_ON = (*SAME, "tier", "seed", "phase_s")
# What a record has to have; the others are of other readers.
NEEDED = {"environment": {"format": int, "device": str},
          "case": {"id": str, "dtype": str, "rows": int, "width": int, "read": int, "write": int},
          "arm": {"case": str, "arm": str, "status": str},
          "samples": {"case": str, "phase": str, "arms": dict},
          "peer_check": {"cases": list, "void": list}, "finished": {"case": str},
          "end": {"complete": bool}}
WHOLE = ("environment", "peer_check", "finished")  # records after which a file can go on


class Refused(Exception):
    """What cannot be read as one run; the text says why."""


def digest(paths):
    """The SHA-256 of files, with their names, whatever the order."""
    total = hashlib.sha256()
    for path in sorted(map(pathlib.Path, paths)):
        total.update(os.fsencode(path.name) + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def sources_of(root, files):
    """Hashes of what a result depends on: the compiler, its package, kernels, the harness."""
    root = pathlib.Path(root)
    folders = {"src": "src/**/*", "include": "include/*", "python/croft": "python/croft/*.py",
               "examples": "examples/*.croft"}
    found = {name: digest(path for path in root.glob(pattern)
                          if path.is_file() and path.suffix != ".pyc")
             for name, pattern in folders.items()}
    for path in files:
        path = pathlib.Path(path).resolve()
        name = str(path.relative_to(root)) if path.is_relative_to(root) else f"own/{path.name}"
        found[name] = digest([path])
    return found


def agree(first, second, keys=SAME):
    """Raises Refused unless two environment records are of the same device, driver and sources."""
    for key in keys:
        one, two = first.get(key), second.get(key)
        if one == two:
            continue
        if isinstance(one, dict) and isinstance(two, dict):
            names = [name for name in {**one, **two} if one.get(name) != two.get(name)]
            raise Refused(f"runs of another {key}: {', '.join(names)} differ")
        raise Refused(f"runs of another {key}: {one} and {two}")


def read(path):
    """The records of PATH, or of PATH.gz; a last line that was not written to its end is left
    out."""
    records, packed = [], pathlib.Path(f"{path}.gz")
    if packed.exists() and pathlib.Path(path).exists():
        raise Refused(f"{path} is there twice: as it is, and packed")
    with gzip.open(packed) if packed.exists() else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                records.append(checked(json.loads(line)))
            except (ValueError, Refused) as error:
                raise Refused(f"{path}:{number}: {error}") from error
    return records


def checked(record):
    """The record, if it has what a record of its kind needs; Refused with what is wrong."""
    kind = record.get("record") if isinstance(record, dict) else None
    if not isinstance(kind, str):
        raise Refused("a line that is no record")
    for name, wanted in NEEDED.get(kind, {}).items():
        if not isinstance(record.get(name), wanted):
            raise Refused(f"a record `{kind}` whose `{name}` is {record.get(name)!r}")
    if kind == "environment" and record["format"] != FORMAT:
        raise Refused(f"format {record['format']}, {FORMAT} is known here")
    if kind == "samples":
        check_times(record["arms"])
    return record


def check_times(arms):
    """Each arm has a time for each round, or none at all."""
    for name, times in arms.items():
        if not isinstance(times, list) or not all(
                isinstance(time, (int, float)) and math.isfinite(time) and time > 0
                for time in times):
            raise Refused(f"samples of {name} that are no times")
    if len({len(times) for times in arms.values() if times}) > 1:
        raise Refused("arms with different numbers of rounds")


def write_whole(path, records):
    """A file of these records in place of what was there, which stays until all are written."""
    part = path.with_suffix(".part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.writelines(map(line_of, records))
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror}") from error


class Writer:
    """Appends records; those of a case in one piece."""

    def __init__(self, folder, environment, resume=False):
        folder = pathlib.Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Refused(f"{folder} cannot be made: {error.strerror}") from error
        self.path = folder / "raw.jsonl"
        self.finished, self.checked, self.void = set(), False, False
        if resume:
            self.take_up(environment)
            return
        if any(b'"samples"' in line for line in self.lines()):
            raise Refused(f"{self.path} has samples: --resume goes on with them, another folder "
                          "begins anew")
        write_whole(self.path, [environment])

    def lines(self):
        """Of the file that is there, whatever they are."""
        packed = pathlib.Path(f"{self.path}.gz")
        if packed.exists():
            raise Refused(f"{packed} is a run that is kept")
        return self.path.read_bytes().splitlines() if self.path.exists() else []

    def take_up(self, environment):
        """Keeps what is whole in the file; refuses that of another device, driver or source, and
        of another tier or seed."""
        records = read(self.path) if self.lines() else []
        if len(records) == 0:  # it was stopped before it began
            write_whole(self.path, [environment])
            return
        while records and records[-1]["record"] not in WHOLE:
            records.pop()
        if not records or records[0]["record"] != "environment":
            raise Refused(f"{self.path} does not begin with an environment")
        agree(records[0], environment, GOES_ON)
        self.finished = {record["case"] for record in records if record["record"] == "finished"}
        checks = [record for record in records if record["record"] == "peer_check"]
        self.checked, self.void = bool(checks), any(record["void"] for record in checks)
        write_whole(self.path, records)

    def write(self, records):
        with open(self.path, "ab") as file:
            file.write("".join(map(line_of, records)).encode())
            file.flush()
            os.fsync(file.fileno())

    def case(self, records):
        self.write(records + [{"record": "finished", "case": records[0]["id"]}])
        self.finished.add(records[0]["id"])


def line_of(record):
    return json.dumps(record) + "\n"
