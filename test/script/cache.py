"""The command's cache of compiled programs: what `run` keeps, what `croft cache` says of it, and
that a cache that cannot be used is no failure.

tier: check
builds: release asan
"""
import concurrent.futures
import json
import os
import re

import command
from command import case, croft

HOME = command.SCRATCH / "home"
STARTS = command.SCRATCH / "starts"
COMPILER = command.SCRATCH / "compiler"
SCALE = command.SCRATCH / "scale.croft"
REFUSED = "compiled programs are not kept"


def environment(**changes):
    """With a home of its own; a change to None removes the variable."""
    changed = {"HOME": str(HOME), "XDG_CACHE_HOME": None, **changes}
    values = {**os.environ, **{name: value for name, value in changed.items() if value is not None}}
    return {name: value for name, value in values.items() if changed.get(name, "") is not None}


def run(*words, **changes):
    return croft("run", SCALE, "x=arange:3x20", "y=/dev/null", "--hash", "--compiler", COMPILER,
                 *words, environment=environment(**changes))


def cache(*words, **changes):
    return croft("cache", *words, environment=environment(**changes))


def starts():
    return len(STARTS.read_text().splitlines()) if STARTS.exists() else 0


def programs():
    return sorted((HOME / ".cache/croft").glob("*.program"))


def check_runs():
    first = run()
    case("first_run_compiles", first.code == 0 and starts() == 1 and not first.err, first)
    mode = (HOME / ".cache/croft").stat().st_mode & 0o777
    case("made_for_its_owner", mode == 0o700 and len(programs()) == 1, oct(mode))
    second = run()
    case("second_run_does_not", second.code == 0 and starts() == 1 and second.out == first.out
         and not second.err, second)
    third = run("--no-cache")
    case("without_cache_it_does", third.code == 0 and starts() == 2 and third.out == first.out,
         third)
    other = run("a=3.0")
    case("scalars_are_arguments", other.code == 0 and starts() == 2 and other.out != first.out,
         other)
    strange = croft("plan", SCALE, "--no-cache")
    case("no_cache_belongs_to_run", strange.code == 2 and "belongs to run" in strange.err, strange)


def check_listing():
    listed = cache("ls")
    case("lists", listed.code == 0 and re.search(
        rf"^scale +cpu-\w+ +{re.escape(str(COMPILER))} +\d+\.\d KiB  \d{{4}}-\d\d-\d\d "
        r"\d\d:\d\d:\d\d  [0-9a-f]{16}$", listed.out, re.MULTILINE) is not None
         and f"{HOME}/.cache/croft: 1 program, " in listed.out
         and listed.out.endswith(" of 256.0 MiB\n"), listed)
    listed = cache("ls", "--json")
    found = json.loads(listed.out)
    one = found["programs"][0]
    case("lists_as_json", found["schema"] == "croft-cache/1" and len(found["programs"]) == 1
         and found["directory"] == f"{HOME}/.cache/croft" and found["limit_bytes"] == 256 << 20
         and one["file"] == programs()[0].name and one["kernel"] == "scale"
         and one["bytes"] == programs()[0].stat().st_size == found["bytes"]
         and one["compiler"] == str(COMPILER) and one["machine"].startswith("cpu-")
         and one["used_s"] == int(programs()[0].stat().st_mtime) and one["fault"] is None, listed)
    good = cache("verify")
    case("verifies", good.code == 0 and good.out.endswith(", 0 damaged\n"), good)


def check_damage():
    before = run()
    path = programs()[0]
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    count = starts()
    bad = cache("verify")
    case("damage_is_named", bad.code == 1 and path.name[:16] in bad.out
         and "1 damaged" in bad.out, bad)
    bad = json.loads(cache("verify", "--json").out)
    case("damage_is_named_in_json", bad["programs"][0]["fault"] == "other bytes than were kept",
         bad)
    again = run()
    case("damage_is_compiled_again", again.code == 0 and again.out == before.out
         and starts() == count + 1 and cache("verify").code == 0, again)
    path.write_bytes(raw)
    removed = cache("gc")
    case("damage_is_removed", removed.code == 0 and "removed 1 damaged, 0 unused" in removed.out
         and not programs(), removed)
    run()
    removed = json.loads(cache("gc", "--all", "--json").out)
    case("all_is_removed", removed["schema"] == "croft-cache-removed/1" and removed["unused"] == 1
         and removed["damaged"] == 0 and removed["bytes"] > 1000 and not programs(), removed)
    empty = cache("ls")
    case("empty", empty.code == 0 and ": 0 programs, 0.0 KiB of" in empty.out, empty)


def check_many():
    count = starts()
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        runs = list(pool.map(lambda _: run(), range(8)))
    outputs = {one.out for one in runs}
    bad = [one for one in runs if one.code or one.err]
    case("eight_processes_compile_once", not bad and len(outputs) == 1 and starts() == count + 1,
         bad[0] if bad else f"{starts() - count} starts")


def check_refusals():
    """A run goes on without the cache and says so in one line."""
    good = run().out
    shared = command.SCRATCH / "shared"
    (shared / "croft").mkdir(parents=True)
    (shared / "croft").chmod(0o770)
    link = command.SCRATCH / "link"
    link.mkdir()
    (link / "croft").symlink_to(HOME / ".cache/croft")
    file = command.SCRATCH / "file"
    file.write_text("")
    for name, place, why in (("shared", shared, "writable for a group"),
                             ("link", link, "symbolic link"), ("file", file, "Not a directory")):
        count = starts()
        done = run(XDG_CACHE_HOME=str(place))
        case(f"runs_without_{name}", done.code == 0 and done.out == good and starts() == count + 1
             and done.err.count(REFUSED) == 1 and why in done.err and done.err.count("\n") == 1,
             done)
        listed = cache("ls", XDG_CACHE_HOME=str(place))
        case(f"lists_no_{name}", listed.code == 4 and why in listed.err, listed)
    count = starts()
    done = run(HOME=None)
    case("no_home_is_no_cache", done.code == 0 and done.out == good and not done.err
         and starts() == count + 1, done)
    listed = cache("ls", HOME=None)
    case("no_home_has_no_list", listed.code == 4 and "HOME" in listed.err, listed)


def check_usage():
    for name, words in (("no_verb", []), ("unknown_verb", ["remove"]),
                        ("word_too_many", ["ls", "x=1"]), ("all_of_ls", ["ls", "--all"])):
        done = cache(*words)
        case(f"usage_{name}", done.code == 2 and done.err.startswith("croft: ") and not done.out,
             done)


def main():
    HOME.mkdir()
    SCALE.write_text("kernel scale(x: in f32[R, N], y: out f32[R, N], a: f32 = 2.0) {\n"
                     "    program row: R\n    y[row, :] = x[row, :] * a\n}\n")
    COMPILER.write_text(f'#!/bin/sh\necho start >> {STARTS}\nexec cc "$@"\n')
    COMPILER.chmod(0o700)
    check_runs()
    check_listing()
    check_damage()
    check_many()
    check_refusals()
    check_usage()
    command.finish()


if __name__ == "__main__":
    main()
