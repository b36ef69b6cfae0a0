/* An odometer over the positions of a tile, lanes and the slots of one access left out.
 *
 *     lane 6, slot 4, step 3, width 2     step 0 slot 0, step 0 slot 2, step 1 slot 0, ...
 *
 * Lanes are looped over by the caller, who wants to see all of an access at once. A range that is
 * known at run time only counts as one step, and so does what is past the limit (the header).
 */
#include "layout/tile_access_internal.h"

#include "base/checked.h"

void layout_tile_ranges(const layout_tile *tile, int64_t range[LAYOUT_HOLDER_COUNT]) {
    if (tile->kind == LAYOUT_DIGITS) {
        tile_axes axes = tile_axes_of(tile);
        for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
            range[holder] = axes.range[holder];
        return;
    }
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        range[holder] = 1;
    range[LAYOUT_LANE] = INT64_C(1) << tile->bits.lane_bits;
    range[LAYOUT_SUBGROUP] = INT64_C(1) << tile->bits.subgroup_bits;
    range[LAYOUT_BLOCK] = INT64_C(1) << tile->bits.block_bits;
    range[LAYOUT_SLOT] = INT64_C(1) << tile->bits.slot_bits;
}

static bool within_limit(const int64_t range[LAYOUT_HOLDER_COUNT]) {
    int64_t positions = 1;
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        if (range[holder] == 0 || !base_checked_mul(positions, range[holder], &positions) ||
            positions > TILE_ACCESS_LIMIT)
            return false;
    return true;
}

bool tile_access_first(const layout_tile *tile, int64_t width, tile_access *access) {
    *access = (tile_access){.tile = tile, .width = width};
    layout_tile_ranges(tile, access->range);
    access->whole = within_limit(access->range);
    if (!access->whole)
        access->range[LAYOUT_STEP] = access->range[LAYOUT_GROUP] = 1;
    return within_limit(access->range) && width <= TILE_ACCESS_WORDS / access->range[LAYOUT_LANE];
}

bool tile_access_next(tile_access *access) {
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++) {
        int64_t *number = &access->at.number[holder];
        if (holder == LAYOUT_LANE)
            continue;
        *number += holder == LAYOUT_SLOT ? access->width : 1;
        if (*number < access->range[holder])
            return true;
        *number = 0;
    }
    return false;
}

bool tile_access_index(const tile_access *access, int64_t lane, int64_t element,
                       int64_t index[LAYOUT_MAX_RANK]) {
    layout_position position = access->at;
    position.number[LAYOUT_LANE] = lane;
    position.number[LAYOUT_SLOT] += element;
    return position.number[LAYOUT_SLOT] < access->range[LAYOUT_SLOT] &&
           layout_tile_logical(access->tile, &position, index);
}
