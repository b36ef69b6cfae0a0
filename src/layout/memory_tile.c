/* Contiguity, traffic and price of whole tiles: by ranks where the tile is a bit layout, else by
 * visiting its accesses.
 *
 *     digits(slot 4 | lane 32 | step *) of f32, width 4: 512 bytes, 16 sectors, 4 lines an access
 */
#include "layout/memory.h"
#include "layout/tile_access_internal.h"

#include <stdlib.h>

int64_t layout_contiguity(const layout_tile *tile) {
    if (tile->kind == LAYOUT_BITS)
        return layout_contiguity_bits(&tile->bits);
    tile_axes axes = tile_axes_of(tile);
    if (axes.rank == 0)
        return 1;
    layout_axis last = tile_axis_merged(&axes.axis[axes.rank - 1]);
    if (last.count == 0 || last.digits[0].holder != LAYOUT_SLOT || last.digits[0].stride != 1)
        return 1;
    int64_t radix = last.digits[0].radix;
    return radix & -radix;
}

/* ---- traffic ---- */

enum { ROW_BYTES = 128 };

static int compare_numbers(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Different values of sorted sectors, `merged` sectors at a time. */
static int64_t count_pieces(const int64_t *sectors, int64_t count, int64_t merged) {
    int64_t pieces = 0;
    for (int64_t i = 0; i < count; i++)
        pieces += i == 0 || sectors[i] / merged != sectors[i - 1] / merged;
    return pieces;
}

/* The sectors of one access, sorted. Rows begin at multiples of 128 bytes. */
static int64_t sectors_of(const tile_access *access, int64_t element_bytes, int64_t *sectors) {
    const layout_tile *tile = access->tile;
    int64_t count = 0, last = tile->rank > 0 ? tile->size[tile->rank - 1] : 1;
    int64_t row_sectors =
        (last * element_bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES / LAYOUT_SECTOR_BYTES;
    for (int64_t lane = 0; lane < access->range[LAYOUT_LANE]; lane++)
        for (int64_t e = 0; e < access->width; e++) {
            int64_t index[LAYOUT_MAX_RANK], row = 0;
            if (!tile_access_index(access, lane, e, index))
                continue;
            for (int axis = 0; axis < tile->rank - 1; axis++)
                row = row * tile->size[axis] + index[axis];
            int64_t column = tile->rank > 0 ? index[tile->rank - 1] : 0;
            sectors[count++] = row * row_sectors + column * element_bytes / LAYOUT_SECTOR_BYTES;
        }
    qsort(sectors, (size_t)count, sizeof *sectors, compare_numbers);
    return count;
}

layout_traffic layout_traffic_of(const layout_tile *tile, int64_t element_bytes, int64_t width) {
    layout_traffic traffic = {0};
    layout_bits bits;
    if (tile->rank == 1 && layout_tile_to_bits(tile, &bits))
        return layout_traffic_of_bits(&bits, element_bytes, width);
    tile_access access;
    if (!tile_access_first(tile, width, &access))
        return traffic;
    int64_t sectors[TILE_ACCESS_WORDS];
    do {
        int64_t count = sectors_of(&access, element_bytes, sectors);
        if (count == 0)
            continue;
        int64_t of_sectors = count_pieces(sectors, count, 1);
        int64_t of_halves = count_pieces(sectors, count, 2),
                of_lines = count_pieces(sectors, count, 4);
        traffic.sectors = of_sectors > traffic.sectors ? of_sectors : traffic.sectors;
        traffic.half_lines = of_halves > traffic.half_lines ? of_halves : traffic.half_lines;
        traffic.lines = of_lines > traffic.lines ? of_lines : traffic.lines;
        traffic.total_sectors += of_sectors;
        traffic.accesses++;
    } while (tile_access_next(&access));
    traffic.whole = access.whole;
    return traffic;
}

/* ---- price ---- */

/* Through row-major scratch, an element a word, without vectors. */
static layout_price price_rows(const layout_conversion *conversion, const layout_tile *source,
                               const layout_tile *destination, int64_t element_bytes,
                               const layout_costs *costs) {
    int64_t word = element_bytes < 4 ? 4 : element_bytes, waves = word / 4;
    layout_price price = {.shuffles = conversion->class_ <= LAYOUT_RENAME ? 0 : -1,
                          .scratch = -1,
                          .packing = 1,
                          .store_vector = 1,
                          .load_vector = 1,
                          .store_conflicts = conversion->store_conflicts,
                          .load_conflicts = conversion->load_conflicts,
                          .stores = layout_tile_slots(source),
                          .loads = layout_tile_slots(destination),
                          .repetitions = 1,
                          .scratch_bytes = conversion->scratch_words * word};
    if (price.scratch_bytes == 0 || price.scratch_bytes > costs->scratch_bytes)
        return price;
    double again = costs->banks > 1 ? costs->wave : 0;
    price.scratch =
        (double)price.stores *
            (costs->store + again * (double)(waves * price.store_conflicts - 1)) +
        (double)price.loads * (costs->load + again * (double)(waves * price.load_conflicts - 1)) +
        2 * costs->barrier;
    return price;
}

layout_price layout_price_of(const layout_conversion *conversion, const layout_tile *source,
                             const layout_tile *destination, int64_t element_bytes,
                             const layout_costs *costs) {
    return conversion->linear ? layout_price_of_bits(conversion, element_bytes, costs, NULL)
                              : price_rows(conversion, source, destination, element_bytes, costs);
}
