/* Conversions: from the owner of each value in one layout to its owner in another.
 *
 *     convert identity(64, slots=1) -> bits(3, 4, 5, 0, 1, 2)
 *     source owner of what (subgroup, lane, slot) owns = M * position ^ c, M = inverse(source) o
 * destination
 *
 * Class, by which bits move:
 *     FORWARD   none: the value itself
 *     RENAME    only slot bits: other registers of the same lane
 *     SHUFFLE   lane bits inside each subgroup: at most 2^k shuffles for 2^k slots, and k * 2^k
 * selects a side SCRATCH   subgroup bits: through scratch of the group, conflict-free both ways
 *     CLUSTER   block bits: through scratch of a peer
 * Layouts that are not bit layouts are converted through scratch, by their owner functions.
 */
#ifndef LAYOUT_CONVERSION_H
#define LAYOUT_CONVERSION_H

#include "base/arena.h"
#include "layout/tile.h"

typedef enum layout_class {
    LAYOUT_FORWARD,
    LAYOUT_RENAME,
    LAYOUT_SHUFFLE,
    LAYOUT_SCRATCH,
    LAYOUT_CLUSTER
} layout_class;

/* A conversion inside subgroups, as four steps that every lane takes:
 *     v1[s] = v0[s ^ before(lane)]          xorslot
 *     v2[s] = v1[s] of lane L * lane ^ constant[s]   one shuffle for each s whose map is not the
 * identity v3[s] = v2[rename[s]]                 other names v4[s] = v3[s ^ after(lane)] xorslot
 * `before`, `after`: masks of slots by lane bit. */
typedef struct layout_shuffle {
    int lane_bits, slot_bits;
    uint32_t before[LAYOUT_MAX_BITS], after[LAYOUT_MAX_BITS];
    uint32_t linear[LAYOUT_MAX_BITS]; /* columns of L, by lane bit */
    uint32_t *constant;               /* 2^slot_bits, in the arena */
    uint32_t *rename;                 /* 2^slot_bits, in the arena */
    int shuffles;                     /* that are not the identity */
    int selects;                      /* of both sides together */
} layout_shuffle;

/* The swizzle of a conversion through scratch: element of logical index i stands at word
 * XOR over the set bits b of i of address[b]: a bijection on the index bits, such that neither the
 * scalar 4-byte writes by source owners nor the reads by destination owners conflict in 32 banks.
 * Iterated bits shrink the scratch: `repetitions` rounds of `words` words. */
typedef struct layout_swizzle {
    int index_bits;
    uint32_t address[LAYOUT_MAX_BITS];
} layout_swizzle;

typedef struct layout_conversion {
    layout_class class_;
    bool linear; /* matrix and constant are set: both are bit layouts */
    int position_bits;
    uint32_t
        matrix[LAYOUT_MAX_BITS]; /* source position = matrix * destination position ^ constant */
    uint32_t constant;
    layout_shuffle shuffle;              /* RENAME, SHUFFLE */
    layout_swizzle swizzle;              /* SCRATCH with bits */
    int64_t scratch_words;               /* SCRATCH: elements; 0 else */
    int store_conflicts, load_conflicts; /* degree: accesses served one after another; 1 = none */
} layout_conversion;

/* False with *fault when sizes, ranks or thread counts differ (the fault names both). */
bool layout_convert(base_arena *arena, const layout_tile *source, const layout_tile *destination,
                    layout_conversion *conversion, layout_fault *fault);

/* The same value for a caller that has composed two conversions: first, then second. False when one
 * is not linear. */
bool layout_conversion_compose(base_arena *arena, const layout_conversion *first,
                               const layout_conversion *second, layout_conversion *both);

/* Position of the source owner of what the destination position owns. */
uint32_t layout_conversion_source(const layout_conversion *conversion, uint32_t position);

/* outer(inner(position)): digits when cumulative radices form a divisibility chain, else false. */
bool layout_tile_compose(const layout_tile *outer, const layout_tile *inner, layout_tile *both);

const char *layout_class_name(layout_class class_);

#endif
