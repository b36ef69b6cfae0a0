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

Samples are never rewritten. Two runs are one (--resume, merge) only if SAME agrees.
"""
import gzip
import hashlib
import json
import os
import pathlib

FORMAT = 1
SAME = ("format", "device", "driver", "versions", "sources", "plant")
WHOLE = ("environment", "peer_check", "finished")  # records after which a file can go on


class Refused(Exception):
    """What cannot be read as one run; the text says why."""


def digest(paths):
    """The SHA-256 of files, with their names, whatever the order."""
    total = hashlib.sha256()
    for path in sorted(map(pathlib.Path, paths)):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
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
        name = str(path.relative_to(root)) if path.is_relative_to(root) else path.name
        found[name] = digest([path])
    return found


def agree(first, second):
    """Raises Refused unless two environment records are of the same device, driver and sources."""
    for key in SAME:
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
    with gzip.open(packed) if packed.exists() else open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                records.append(json.loads(line))
            except ValueError as error:
                raise Refused(f"{path}:{number}: {error}") from error
    return records


class Writer:
    """Appends records; those of a case in one piece."""

    def __init__(self, folder, environment, resume=False):
        folder = pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "raw.jsonl"
        self.finished, self.checked = set(), False
        if resume and self.path.exists():
            self.take_up(environment)
        else:
            self.path.write_bytes(b"")
            self.write([environment])

    def take_up(self, environment):
        """Keeps what is whole in the file; refuses that of another device, driver or source."""
        records = read(self.path)
        while records and records[-1]["record"] not in WHOLE:
            records.pop()
        if not records or records[0]["record"] != "environment":
            raise Refused(f"{self.path} does not begin with an environment")
        agree(records[0], environment)
        self.finished = {record["case"] for record in records if record["record"] == "finished"}
        self.checked = any(record["record"] == "peer_check" for record in records)
        whole = self.path.with_suffix(".part")
        whole.write_text("".join(map(line_of, records)), encoding="utf-8")
        os.replace(whole, self.path)

    def write(self, records):
        with open(self.path, "ab", buffering=0) as file:
            file.write("".join(map(line_of, records)).encode())
            os.fsync(file.fileno())

    def case(self, records):
        self.write(records + [{"record": "finished", "case": records[0]["id"]}])
        self.finished.add(records[0]["id"])


def line_of(record):
    return json.dumps(record) + "\n"
