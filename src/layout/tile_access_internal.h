/* The accesses of a tile one after another, for what has no closed form: layouts that are no bit
 * layouts. Only inside layout/.
 *
 *     digits(slot 4 | lane 6 | step 3, size=70), width 4:
 *         three accesses, six lanes of four elements
 *
 * Never more than TILE_ACCESS_LIMIT positions are visited: of a larger tile, and where the number
 * of steps or groups is a runtime value, one step of one group.
 */
#ifndef LAYOUT_TILE_ACCESS_INTERNAL_H
#define LAYOUT_TILE_ACCESS_INTERNAL_H

#include "layout/tile_internal.h"

enum { TILE_ACCESS_LIMIT = 1 << 18, TILE_ACCESS_WORDS = 1 << 14 };

typedef struct tile_access {
    const layout_tile *tile;
    int64_t range[LAYOUT_HOLDER_COUNT]; /* visited */
    int64_t width;                      /* slots of one access */
    bool whole;                         /* every position is visited */
    layout_position at;                 /* lane 0, first slot */
} tile_access;

/* The first access. False when one step of one group is past the limit already, or an access has
 * more than TILE_ACCESS_WORDS elements. */
bool tile_access_first(const layout_tile *tile, int64_t width, tile_access *access);
bool tile_access_next(tile_access *access);
/* The index that a lane owns in slot `element` of the access; false when it owns nothing. */
bool tile_access_index(const tile_access *access, int64_t lane, int64_t element,
                       int64_t index[LAYOUT_MAX_RANK]);

#endif
