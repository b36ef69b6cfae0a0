"""Paired rounds over all arms of a case, and when they are measured again. Knows no framework.

A round goes over all arms and back again (A B C C B A): an arm's sample is the mean of its two
times, so a drift within the round is in every arm alike, and sample i of one arm belongs to
sample i of another. Each round begins with the next arm (B C A A C B), so that each arm is as
often first, last and behind itself as any other. A phase is a number of rounds; it is measured
again, at most ATTEMPTS times in all, when the control (the same text, by a kernel object of its
own) differs from Croft by more than STABLE, or the clock moved. Every attempt is kept.
"""
import dataclasses
import math
import statistics
import time

from .gates import STABLE

ATTEMPTS = 3
REPLAY_US = 500.0        # a replay lasts at least so long, where a run does not say otherwise
LEAST_LAUNCH_US = 1.0    # no kernel in a graph is faster
COLD_BYTES_PER_US = 6e6  # no memory is faster than these, and the time of a replay is no guess
HOT_BYTES_PER_US = 12e6
ROUNDS = (9, 31)         # least and most of a phase
PLANT_STEP = 10          # with a planted slowdown launches come in tens


@dataclasses.dataclass
class Settings:
    phase_s: float = 0.5      # time for the rounds of graphs of one phase; of calls the half
    load_s: float = 0.3       # load before a case
    replay_us: float = REPLAY_US
    attempts: int = ATTEMPTS
    plant: float | None = None  # Croft's arm is made so many times slower, to show that it is seen


def launches_for(case, warmth, plant=None, memory_bytes=None, replay_us=REPLAY_US):
    """Launches of one replay: those that last `replay_us` at the fastest, each on buffers of its
    own when cold, and as many as fit into the memory."""
    rate = HOT_BYTES_PER_US if warmth == "hot" else COLD_BYTES_PER_US
    count = math.ceil(replay_us / max(LEAST_LAUNCH_US, case.footprint / rate))
    if plant:
        count = math.ceil(count / PLANT_STEP) * PLANT_STEP
    elif warmth == "cold" and memory_bytes:
        count = max(1, min(count, memory_bytes // max(1, case.footprint)))
    return count


def buffers_of(count, warmth, plant=None):
    """Which set of buffers each launch of a replay uses; a planted slowdown is further launches."""
    further = round(count * (plant - 1)) if plant else 0
    return [0] * (count + further) if warmth == "hot" else list(range(count + further))


def order_of(names, turn=0):
    turn %= max(1, len(names))
    turned = list(names[turn:]) + list(names[:turn])
    return turned + turned[::-1]


def paired_rounds(samplers, rounds):
    """name -> samples; `samplers`: name -> function that gives one time."""
    samples = {name: [] for name in samplers}
    for turn in range(rounds):
        times = {name: 0.0 for name in samplers}
        for name in order_of(list(samplers), turn):
            times[name] += samplers[name]() / 2
        for name, value in times.items():
            samples[name].append(value)
    return samples


def rounds_for(samplers, seconds, now=time.perf_counter):
    """How many rounds fit into the time, after one round that is not kept."""
    begin = now()
    paired_rounds(samplers, 1)
    once = max(1e-6, now() - begin)
    return max(ROUNDS[0], min(ROUNDS[1], int(seconds / once)))


def ratio(samples, other, arm="croft"):
    """(median, least, greatest) of other / arm over the rounds; None where one was not measured."""
    if not samples.get(other) or not samples.get(arm):
        return None
    ratios = [o / a for o, a in zip(samples[other], samples[arm])]
    return statistics.median(ratios), min(ratios), max(ratios)


def is_stable(samples):
    found = ratio(samples, "control")
    return found is None or STABLE[0] <= found[0] <= STABLE[1]


def letters(names):
    """A letter for each arm, in the order of the raw file, as the first round has them: ABBA."""
    text = "".join(chr(ord("A") + index) for index in range(len(names)))
    return text + text[::-1]


def measure_phase(case, phase, samplers, launches, seconds, attempts, read_clock, clock_moved,
                  **more):
    """The records of a phase: samples and clock of every attempt."""
    records = []
    for attempt in range(1, attempts + 1):
        rounds = rounds_for(samplers, seconds)
        before = read_clock()
        samples = paired_rounds(samplers, rounds)
        after = read_clock()
        moved, stable = clock_moved(before, after), is_stable(samples)
        records.append({"record": "samples", "case": case.id, "phase": phase, "attempt": attempt,
                        "order": letters(list(samplers)), "launches": launches, "unit": "us",
                        "arms": samples, "stable": stable, "clock_moved": moved, **more})
        records.append({"record": "clock", "case": case.id, "phase": phase, "attempt": attempt,
                        "before": before["sm_mhz"], "after": after["sm_mhz"],
                        "throttle": after["throttle"], "temperature_c": after["temperature_c"],
                        "power_w": after["power_w"]})
        if stable and not moved:
            break
    return records
