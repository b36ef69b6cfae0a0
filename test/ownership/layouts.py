"""Layouts by chance, and what each position of them owns, by formulas of this file alone.

    layout = random_layout(random, threads=64, fewest=100, most=2048)
    layout.text             digits(lane 8 | slot 2 | subgroup 2 | lane 4 @8 | slot 3 @2)
    layout.owned[t, s]      the element that slot s of thread t owns, -1: none
    layout.size             elements at most

A thread is the number lane + 32 * subgroup. Nothing here asks the command: the two must agree.
"""
import numpy as np

LANES = 32


class Layout:
    def __init__(self, text, owned, size, places=None):
        self.text, self.owned, self.size = text, owned, size
        self.places = places  # (holder, bit) of each bit of the element, where it is one of a bit

    @property
    def slots(self):
        return self.owned.shape[1]


def positions(threads, slots):
    return np.arange(threads)[:, None], np.arange(slots)[None, :]


def identity(threads, slots):
    thread, slot = positions(threads, slots)
    bits_in_all = (threads * slots).bit_length() - 1
    return Layout(f"identity({threads * slots}, slots={slots})", thread + threads * slot,
                  threads * slots, [place_of(bit, threads) for bit in range(bits_in_all)])


def place_of(bit, threads):
    """The holder of a bit of thread + threads * slot, a power of two of them."""
    thread_bits = threads.bit_length() - 1
    if bit < 5:
        return "lane", bit
    return ("subgroup", bit - 5) if bit < thread_bits else ("slot", bit - thread_bits)


def bits(order, slots, mask):
    """Bit l of the element is bit order[l] of thread + threads * slot, then `mask` is toggled."""
    threads = 2 ** len(order) // slots
    thread, slot = positions(threads, slots)
    position = thread + threads * slot
    element = np.zeros_like(position)
    for place, bit in enumerate(order):
        element |= (position >> bit & 1) << place
    words = ", ".join(map(str, order)) + (f", xor={mask}" if mask else "") + \
        (f", slots={slots}" if slots > 1 else "")
    return Layout(f"bits({words})", element ^ mask, 2 ** len(order),
                  [place_of(bit, threads) for bit in order])


def blocked_cyclic(size, threads, vector):
    """Worker after worker takes `vector` elements, round and round."""
    rounds = -(-size // (threads * vector))
    thread, slot = positions(threads, vector * rounds)
    element = slot // vector * vector * threads + thread * vector + slot % vector
    text = f"blocked_cyclic({size}, workers={threads}, vector={vector})"
    return Layout(text, np.where(element < size, element, -1), size)


def digits(parts, replicas, threads):
    """`parts`: (holder, radix, stride) from the least significant; `replicas`: those of lanes and
    subgroups that the axis does not count."""
    slots = int(np.prod([radix for holder, radix, _ in parts if holder == "slot"]))
    thread, slot = positions(threads, slots)
    number = {"lane": thread % LANES + 0 * slot, "subgroup": thread // LANES + 0 * slot,
              "slot": slot + 0 * thread}
    element, weight = np.zeros((threads, slots), int), 1
    for holder, radix, stride in parts:
        element += number[holder] // stride % radix * weight
        weight *= radix
    counted = {"lane": 1, "subgroup": 1, "slot": 1}
    words = [[], []]
    for into, some in zip(words, (parts, replicas)):
        for holder, radix, stride in some:
            into.append(f"{holder} {radix}" + (f" @{stride}" if stride != counted[holder] else ""))
            counted[holder] *= radix
    text = (" | ".join(words[0]) or "none") + "; replicate " * bool(replicas) + " | ".join(words[1])
    return Layout(f"digits({text})", element, weight)


def digits_of_bits(places, threads):
    """Each bit of the element is (holder, bit); lanes and subgroups without one are copies."""
    parts = [(holder, 2, 1 << bit) for holder, bit in places]
    all_threads = [place_of(bit, threads) for bit in range(threads.bit_length() - 1)]
    replicas = [(holder, 2, 1 << bit) for holder, bit in all_threads if (holder, bit) not in places]
    layout = digits(parts, replicas, threads)
    layout.places = places
    return layout


# ---- by chance ----
def factors(random, number, most=3):
    """A list of factors, in any order, whose product is the number."""
    found = []
    while number > 1 and len(found) < most - 1 and random.random() < 0.6:
        divisors = [d for d in range(2, number + 1) if number % d == 0]
        found.append(random.choice(divisors))
        number //= found[-1]
    found += [number] if number > 1 else []
    random.shuffle(found)
    return found


def holder_digits(random, holder, number):
    """(holder, radix, stride): the strides in any order, without gaps."""
    radices = factors(random, number)
    strides, stride = {}, 1
    for i in random.sample(range(len(radices)), len(radices)):
        strides[i] = stride
        stride *= radices[i]
    return [(holder, radix, strides[i]) for i, radix in enumerate(radices)]


def random_digits(random, threads, slots):
    replicas = random.choice((1, 1, 1, 1, 2, 4, 8, 32))
    parts = holder_digits(random, "lane", LANES // replicas)
    parts += holder_digits(random, "subgroup", threads // LANES)
    parts += holder_digits(random, "slot", slots)
    random.shuffle(parts)
    if not parts:
        parts = [("slot", 1, 1)]
    copies = [("lane", replicas, LANES // replicas)] if replicas > 1 else []
    return digits(parts, copies, threads)


def rearranged(random, layout, threads):
    """The same elements, moved among the lanes of each subgroup and their slots; None where that
    layout is none of bits."""
    places = layout.places
    if places is None or threads & (threads - 1):
        return None
    inside = [i for i, (holder, _) in enumerate(places) if holder != "subgroup"]
    copied = random.choice((0, 0, 0, 1, 2, 5))
    slot_bits = len(inside) - (5 - copied)
    if not 0 <= slot_bits <= 5:
        slot_bits = max(0, len(inside) - 5)
    lanes = random.sample(range(5), min(len(inside) - slot_bits, 5))
    free = [("lane", bit) for bit in lanes] + [("slot", bit) for bit in range(slot_bits)]
    kind = random.random()
    if kind < 0.2 and sorted(free) == sorted(places[i] for i in inside):  # few change
        free = [places[i] for i in inside]
        a, b = random.randrange(len(free)), random.randrange(len(free))
        free[a], free[b] = free[b], free[a]
    elif kind < 0.35:
        free = sorted(free, reverse=random.random() < 0.5)
    else:
        random.shuffle(free)
    places = list(places)
    for i, place in zip(inside, free):
        places[i] = place
    return digits_of_bits(places, threads)


def slots_renamed(random, layout, threads):
    places = layout.places
    if places is None or threads & (threads - 1):
        return None
    slots = [i for i, (holder, _) in enumerate(places) if holder == "slot"]
    mixed = [places[i] for i in random.sample(slots, len(slots))]
    places = list(places)
    for i, place in zip(slots, mixed):
        places[i] = place
    return digits_of_bits(places, threads)


def random_bits(random, threads, slots, may_toggle):
    count = (threads * slots).bit_length() - 1
    order = list(range(count))
    kind = random.random()
    if kind < 0.3:  # lanes and slots change places, subgroups stay
        inside = [b for b in order if b < 5 or 2 ** b >= threads]
        mixed = random.sample(inside, len(inside))
        for at, bit in zip(inside, mixed):
            order[at] = bit
    elif kind < 0.4:  # slots only
        inside = [b for b in order if 2 ** b >= threads]
        for at, bit in zip(inside, random.sample(inside, len(inside))):
            order[at] = bit
    elif kind < 0.9:
        random.shuffle(order)
    mask = random.randrange(2 ** count) if may_toggle and random.random() < 0.7 else 0
    return bits(order, slots, mask)


def random_layout(random, threads, most, may_toggle=False):
    """With at most `most` places. `may_toggle`: it may be one of exactly its size."""
    slots_most = max(1, min(32, most // threads))
    slots = power = 1 << random.randrange(slots_most.bit_length())
    kind = random.random()
    if threads & (threads - 1) == 0 and kind < 0.5:
        return random_bits(random, threads, power, may_toggle)
    if threads & (threads - 1) == 0 and kind < 0.6:
        return identity(threads, power)
    if kind < 0.75:
        vector = random.choice([v for v in (1, 2, 4, 8, 16) if v <= slots])
        return blocked_cyclic(random.randrange(slots * threads) + 1, threads, vector)
    return random_digits(random, threads, slots)
