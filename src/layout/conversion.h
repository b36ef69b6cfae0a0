/* Conversions: from the owner of each value in one layout to its owner in another.
 *
 *     convert identity(64, slots=1) -> bits(3, 4, 5, 0, 1, 2)
 *     source owner of what (subgroup, lane, slot) owns  =  M * position ^ c,
 *     M = inverse(source) o destination
 *
 * Class, by which bits move:
 *     FORWARD   none: the value itself
 *     RENAME    only slot bits, and alike in every lane: other registers of the same lane
 *     SHUFFLE   lane bits inside each subgroup, or slots by lane: at most 2^k shuffles for 2^k
 *               slots, and k * 2^k selects a side
 *     SCRATCH   subgroup bits: through scratch of the group, conflict-free both ways
 *     CLUSTER   block bits: through scratch of a peer
 * Where the source is replicated each destination position may read any copy: the nearest is taken
 * (own lane before own subgroup before own block), bit by bit. In the rare case that the copies at
 * hand admit no factorisation into 2^k shuffles, the class is SCRATCH.
 * Layouts that are not bit layouts are converted through scratch, by their owner functions.
 */
#ifndef LAYOUT_CONVERSION_H
#define LAYOUT_CONVERSION_H

#include "base/arena.h"
#include "layout/tile.h"

typedef enum layout_class {
    LAYOUT_UNDECIDED, /* not a class: nothing is known yet */
    LAYOUT_FORWARD,
    LAYOUT_RENAME,
    LAYOUT_SHUFFLE,
    LAYOUT_SCRATCH,
    LAYOUT_CLUSTER
} layout_class;

/* A conversion inside subgroups, as four steps that every lane takes; v0 by source slot, v4 by
 * destination slot:
 *
 *     v1[s] = v0[s ^ before(thread)]                        xorslot: selects
 *     v2[s] = v1[rename(s)]                                 other names
 *     v3[s] = v2[s] of thread linear(thread) ^ offset(s)    one shuffle for each different
 *                                                           (rename(s), offset(s)) that is not the
 *                                                           identity
 *     v4[s] = v3[s ^ after(thread)]                         xorslot: selects
 *
 * A thread is the number lane + subgroup * lanes (and blocks above); linear and offset keep its
 * subgroup and block. All four are linear maps (rename and offset with a constant), so that nothing
 * here grows with the number of slots. */
typedef struct layout_shuffle {
    int thread_bits, lane_bits;
    int source_slot_bits, slot_bits;
    uint32_t before[LAYOUT_MAX_BITS]; /* masks of source slots, by thread bit */
    uint32_t after[LAYOUT_MAX_BITS];  /* masks of destination slots, by thread bit */
    uint32_t linear[LAYOUT_MAX_BITS]; /* masks of thread bits, by thread bit */
    uint32_t rename[LAYOUT_MAX_BITS], rename_constant; /* source slots, by destination slot bit */
    uint32_t offset[LAYOUT_MAX_BITS], offset_constant; /* lanes, by destination slot bit */
    bool exclusive_or; /* linear is the identity: lane ^ offset(s), a butterfly */
    int shuffles;      /* that are not the identity */
    int selects;       /* of both sides together */
} layout_shuffle;

enum { LAYOUT_VECTOR_BITS = 4 }; /* 16 elements of a byte */

/* The swizzle of a conversion through scratch: the element of logical index i stands at
 * XOR over the set bits b of i of address[b], a bijection on the index bits. Neither the writes by
 * source owners nor the reads by destination owners conflict: scalar ones, or vectors of
 * 2^store_bits and 2^load_bits elements, which are consecutive addresses from a multiple of their
 * number; element e of a vector is the slot with bit e of its number in the slot bits listed. */
typedef struct layout_swizzle {
    int index_bits;
    uint32_t address[LAYOUT_MAX_BITS];
    int store_bits, load_bits;
    /* numbers of slot bits; bit 0 of the address first */
    int store_slot[LAYOUT_VECTOR_BITS], load_slot[LAYOUT_VECTOR_BITS];
} layout_swizzle;

typedef struct layout_conversion {
    layout_class class_;
    bool linear; /* both are bit layouts: everything below but the scratch is set */
    layout_bits source, destination;
    int position_bits; /* of the destination */
    /* source position = matrix * destination position ^ constant */
    uint32_t matrix[LAYOUT_MAX_BITS];
    uint32_t constant;
    layout_shuffle shuffle; /* FORWARD, RENAME, SHUFFLE */
    const int64_t *renames; /* RENAME, not linear: source slots, by destination slot */
    layout_swizzle swizzle; /* scalar, 32 banks of 4-byte elements; any class */
    int repeat_bits; /* slot bits that both sides can iterate: scratch of 2^repeat_bits less */
    int64_t scratch_words; /* SCRATCH, CLUSTER: elements, 0 = a runtime number; 0 else */
    int64_t row_words;     /* not linear: from row to row of the last axis */
    int store_conflicts, load_conflicts; /* degree: accesses served one after another; 1 = none */
} layout_conversion;

/* False with *fault when sizes, ranks or thread counts differ (the fault names both). */
bool layout_convert(base_arena *arena, const layout_tile *source, const layout_tile *destination,
                    layout_conversion *conversion, layout_fault *fault);
/* The same from axis to axis of a team, for a tile of `size` elements (0 = runtime). Where both
 * boxes are one, all of it is converted: bit layouts stay bit layouts below it. SHUFFLE is
 * linear, and its steps are alike in all subgroups; what else leaves its lane is SCRATCH. */
bool layout_convert_axes(base_arena *arena, const layout_axis *source,
                         const layout_axis *destination, int64_t size, int64_t lanes,
                         int64_t subgroups, layout_conversion *conversion, layout_fault *fault);
/* The same for two bit layouts, both onto. The texts of a fault live in the arena. */
bool layout_convert_bits(base_arena *arena, const layout_bits *source,
                         const layout_bits *destination, layout_conversion *conversion,
                         layout_fault *fault);

/* Where an index of a converted tile stands in scratch when the conversion is not linear:
 * row-major, rows row_words apart. */
int64_t layout_conversion_address(const layout_conversion *conversion, const layout_tile *tile,
                                  const int64_t index[LAYOUT_MAX_RANK]);

/* The one conversion that does the work of two: first, then second. False when one is not linear or
 * the second does not begin where the first ends. */
bool layout_conversion_compose(base_arena *arena, const layout_conversion *first,
                               const layout_conversion *second, layout_conversion *both);

/* Position of the source owner of what the destination position owns (linear conversions). */
uint32_t layout_conversion_source(const layout_conversion *conversion, uint32_t position);

/* XOR of the columns whose bit is set in `bits`: how before, after, linear are applied. */
uint32_t layout_columns_apply(const uint32_t *columns, uint32_t bits);
uint32_t layout_shuffle_rename(const layout_shuffle *shuffle, uint32_t slot);
uint32_t layout_shuffle_offset(const layout_shuffle *shuffle, uint32_t slot);

/* A swizzle without conflicts for vectors of 2^store_bits and 2^load_bits elements where a
 * subgroup reaches 2^bank_bits elements at once (32 banks: 5 for elements of 4 bytes, 4 for 8, 6
 * for pairs of 2). False when the layouts have no such vectors: the shorter vector needs slot bits
 * that are slots on both sides, the longer ones that are slots on its side. Always true for 0, 0.
 */
bool layout_swizzle_make(const layout_bits *source, const layout_bits *destination, int store_bits,
                         int load_bits, int bank_bits, layout_swizzle *swizzle);
uint32_t layout_swizzle_address(const layout_swizzle *swizzle, uint32_t index);

/* outer(inner(position)), where an index of `inner` is the number of a position of `outer`: lanes
 * first, then subgroups, blocks, slots, steps, groups. One axis each, whole boxes of one size.
 * Digits when the cumulative radices form a divisibility chain, bits when one of them is bits; else
 * false. */
bool layout_tile_compose(const layout_tile *outer, const layout_tile *inner, layout_tile *both);

const char *layout_class_name(layout_class class_);

#endif
