/* What an access costs in memory: contiguity, sectors, bank conflicts; and the price of a
 * conversion.
 *
 *     bank conflict degree of an affine access =
 *         2^(rank(word address on lane bits) - rank(its low 5 bits))
 *
 * Equal addresses broadcast. 64- and 128-bit accesses run in halves and quarters of the subgroup: 1
 * or 2 lane bits less. Sectors are 32 bytes, half lines 64, lines 128.
 */
#ifndef LAYOUT_MEMORY_H
#define LAYOUT_MEMORY_H

#include "layout/conversion.h"

enum { LAYOUT_SECTOR_BYTES = 32 };

/* Consecutive logical indices (of the last axis) that one position of a thread owns in consecutive
 * slots, a power of two that divides everything: 1 = none. For an access at `alignment` elements:
 * the widest vector. */
int64_t layout_contiguity(const layout_tile *tile);
int64_t layout_contiguity_bits(const layout_bits *bits);

/* Distinct pieces of memory that one subgroup touches in one slot: elements of `element_bytes`, the
 * tile's last axis contiguous, row starts aligned to 128 bytes. Maximum over subgroups and slots.
 */
typedef struct layout_traffic {
    int64_t sectors, half_lines,
        lines;             /* worst of any subgroup access of `width` elements a lane */
    int64_t total_sectors; /* over all accesses of the tile */
    int64_t accesses;
    bool whole; /* every access was looked at; else one step of one group, or (0 accesses) none */
} layout_traffic;
/* For a bit layout: all its accesses cost the same. */
layout_traffic layout_traffic_of_bits(const layout_bits *bits, int64_t element_bytes,
                                      int64_t width);
layout_traffic layout_traffic_of(const layout_tile *tile, int64_t element_bytes, int64_t width);

/* Degree of conflicts in `banks` banks of 4 bytes when each lane accesses the word
 * address(lane) = XOR of column[bit]; `width_words` 1, 2 or 4. Columns are word addresses by lane
 * bit. */
int layout_bank_conflicts(const uint32_t *column, int lane_bits, int banks, int width_words);

/* Costs of a machine, in cycles of a subgroup: machine/ holds them. */
typedef struct layout_costs {
    double shuffle, select;
    double store, load; /* one scratch access of a subgroup, up to banks * 4 bytes */
    double wave;        /* each further time that the banks serve the same access: a conflict, or
                           the second to fourth part of a vector access */
    double barrier;
    int64_t banks; /* 1: no banks, no conflicts, no vectors */
    int64_t scratch_bytes;
} layout_costs;

typedef struct layout_price {
    double shuffles, scratch; /* cycles of the two mechanisms; negative = impossible */
    /* What stands behind the numbers: */
    int shuffle_count, select_count; /* of 4-byte registers, after packing */
    int packing;                     /* values a register moves: 4 / element_bytes at best */
    int store_vector, load_vector;   /* elements of one access of a lane */
    int store_conflicts, load_conflicts;
    int64_t stores, loads; /* accesses of a subgroup */
    int64_t repetitions;   /* rounds, each with two barriers: written, and read */
    int64_t scratch_bytes; /* of one round */
} layout_price;
/* What the conversion costs either way for elements of `element_bytes` (1, 2, 4, 8); elements under
 * 4 bytes share words where slots that stay together are enough. The fastest vectors of up to 16
 * bytes are chosen. Conversions in a subgroup's own registers (forward, rename) cost 0. */
layout_price layout_price_of(const layout_conversion *conversion, const layout_tile *source,
                             const layout_tile *destination, int64_t element_bytes,
                             const layout_costs *costs);
/* The same for a linear conversion; *swizzle (may be NULL) is the one of the price. */
layout_price layout_price_of_bits(const layout_conversion *conversion, int64_t element_bytes,
                                  const layout_costs *costs, layout_swizzle *swizzle);

#endif
