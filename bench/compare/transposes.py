"""Owners of bench/kernels/transpose.croft: for each type, tile and number of batches those that
bench_transposes found fastest on an H200 (results/transposes-h200.jsonl). No framework is needed.

A group has `tiles` tiles, a thread `slots` elements of them: neighbours of the source when they are
loaded (S), of the destination when they are stored (L). Where a tile in the source and in the
destination is one span of memory, it may be loaded by the owners of its stores.
"""

SHAPES = [f"{batches}x{tile}" for batches in (1024, 16384)
          for tile in ("4x8", "8x8", "8x16", "16x16")]
FEW = 1024  # batches up to which the first owners are the best
# type, tile -> (slots, tiles) for few batches, for many
OWNERS = {("f16", 4, 8): ((2, 16), (4, 64)), ("f16", 8, 8): ((4, 16), (8, 32)),
          ("f16", 8, 16): ((4, 8), (8, 8)), ("f16", 16, 16): ((8, 4), (8, 4)),
          ("f32", 4, 8): ((2, 16), (4, 16)), ("f32", 8, 8): ((2, 16), (4, 16)),
          ("f32", 8, 16): ((2, 4), (4, 8)), ("f32", 16, 16): ((2, 4), (4, 2))}
LOADED_AS_STORED = {("f16", 4, 8)}


def text_of(places, slots):
    return f"bits({', '.join(map(str, places))}, slots={slots})"


def layouts(p, q, slots, tiles):
    """(loads, stores): the place of each bit of an element's number, in the source's order."""
    bits, q_bits, slot_bits, tile_bits = ((size - 1).bit_length()
                                          for size in (p * q, q, slots, tiles))
    threads = bits + tile_bits - slot_bits

    def place(bit):
        return threads + bit if bit < slot_bits else bit - slot_bits

    others = [place(bit) for bit in range(bits, bits + tile_bits)]
    turned = [bit - q_bits if bit >= q_bits else bit + bits - q_bits for bit in range(bits)]
    return (text_of([place(bit) for bit in range(bits)] + others, slots),
            text_of([place(bit) for bit in turned] + others, slots))


def owners(dtype, batches, p, q):
    """What the kernel takes by name."""
    key = dtype, p, q
    if key not in OWNERS:
        raise KeyError(f"no owners were measured for tiles of {p}x{q} in {dtype}")
    slots, tiles = OWNERS[key][batches > FEW]
    loads, stores = layouts(p, q, slots, tiles)
    return {"S": stores if key in LOADED_AS_STORED else loads, "L": stores, "G": tiles}
