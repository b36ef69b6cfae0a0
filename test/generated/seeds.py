"""The seeds of tests that draw by chance: one that is fixed, so that a day's run can be repeated,
and one that is fresh in each run of CI (CROFT_SEED), of which fewer are drawn: what a change breaks
must show at every run, and what nobody has seen yet at some. Longer walks: `make soak`.

    COUNTS = {"check": (20, 8), "check-long": (400, 100)}      of the fixed and the fresh one
    for name in seeds.names(options, 1, COUNTS): ...                  "1.0" .. "1.19", "77.0" ..

`options.seed` and `options.count`, where they are given, stand for both.
"""
import os

TIER = os.environ.get("TIER", "check")


def pairs(options, fixed, counts):
    """(seed, how many) of each seed."""
    of_fixed, of_fresh = counts[TIER] if isinstance(counts, dict) else counts
    if options.seed is not None:
        found = [(options.seed, options.count or of_fixed)]
    else:
        found = [(fixed, options.count or of_fixed),
                 (int(os.environ.get("CROFT_SEED", "2")), options.count or of_fresh)]
    print("seeds " + " ".join(str(seed) for seed, _ in found))
    return found


def names(options, fixed, counts):
    first = getattr(options, "first", 0)
    return [f"{seed}.{first + i}" for seed, count in pairs(options, fixed, counts)
            for i in range(count)]
