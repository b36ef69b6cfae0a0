/* Tiles: makers, the map in both directions, and counts, from digits or from GF(2) columns.
 *
 *     digits(slot 4 | lane 32 | step 3, size=300, shift=2)
 *     index 5 stands at 5 + 2 = 7 = slot 3 + 4 * lane 1; position slot 0 of lane 0 owns nothing
 *
 * Every query first fills in the default strides (tile_axes_of); replicas stand after the axes. All
 * arithmetic is closed-form. What the text says is read in tile_parse.c; equality is in
 * tile_equal.c.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <string.h>

/* ---- digits ---- */
/* The digits that there are; the rest of an axis is never read. */
static void copy_axis(layout_axis *to, const layout_axis *from) {
    to->count = from->count;
    to->exclusive_or = from->exclusive_or;
    memcpy(to->digits, from->digits, sizeof from->digits[0] * (size_t)from->count);
}

tile_axes tile_axes_of(const layout_tile *tile) {
    tile_axes axes;
    axes.rank = tile->rank;
    for (int a = 0; a < tile->rank; a++)
        copy_axis(&axes.axis[a], &tile->axis[a]);
    copy_axis(&axes.axis[tile->rank], &tile->replicas);
    layout_axes_resolve(axes.axis, tile->rank + 1);
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        axes.range[holder] = 1;
    for (int a = 0; a <= tile->rank; a++)
        for (int i = 0; i < axes.axis[a].count; i++)
            axes.range[axes.axis[a].digits[i].holder] *= axes.axis[a].digits[i].radix;
    for (int a = 0; a < tile->rank; a++)
        axes.box[a] = layout_axis_digit_weight(&axes.axis[a], axes.axis[a].count);
    return axes;
}

bool tile_axis_push(layout_axis *axis, layout_digit digit) {
    layout_digit *last = axis->count > 0 ? &axis->digits[axis->count - 1] : NULL;
    if (digit.radix == 1)
        return true;
    if (last != NULL && last->holder == digit.holder && last->radix != 0 &&
        digit.stride == last->stride * last->radix) {
        last->radix *= digit.radix;
        return true;
    }
    if (axis->count == LAYOUT_MAX_DIGITS)
        return false;
    axis->digits[axis->count++] = digit;
    return true;
}

layout_axis tile_axis_merged(const layout_axis *axis) {
    layout_axis merged = {0};
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        digit.stride = layout_axis_digit_stride(axis, i);
        tile_axis_push(&merged, digit);
    }
    return merged;
}

/* ---- makers ---- */
/* A tile without digits whose size is beyond its box: layout_tile_check refuses it. */
static layout_tile no_tile(void) {
    layout_tile tile = {.kind = LAYOUT_DIGITS, .rank = 1, .size = {-1}};
    return tile;
}

/* Threads as lanes of subgroups. */
static bool push_threads(layout_axis *axis, int64_t threads, int64_t subgroup) {
    if (threads < 1 || subgroup < 1 || (threads > subgroup && threads % subgroup != 0))
        return false;
    int64_t lanes = threads < subgroup ? threads : subgroup;
    tile_axis_push(axis, (layout_digit){.holder = LAYOUT_LANE, .radix = lanes, .stride = 1});
    tile_axis_push(
        axis, (layout_digit){.holder = LAYOUT_SUBGROUP, .radix = threads / lanes, .stride = 1});
    return true;
}

layout_tile layout_tile_identity(int64_t size, int64_t slots) {
    layout_tile tile = {.kind = LAYOUT_DIGITS, .rank = 1, .size = {size}};
    if (size < 1 || slots < 1 || size % slots != 0 ||
        !push_threads(&tile.axis[0], size / slots, TILE_SUBGROUP_LANES))
        return no_tile();
    tile_axis_push(&tile.axis[0],
                   (layout_digit){.holder = LAYOUT_SLOT, .radix = slots, .stride = 1});
    return tile;
}

layout_tile layout_tile_blocked_cyclic(int64_t size, int64_t workers, int64_t vector, int64_t shift,
                                       layout_holder chunk_holder, int64_t subgroup) {
    layout_tile tile = {.kind = LAYOUT_DIGITS, .rank = 1, .size = {size}, .shift = {shift}};
    int64_t chunk = 0, end = 0;
    if (size < 0 || vector < 1 || shift < 0 || shift >= vector || workers < 1 ||
        !base_checked_mul(workers, vector, &chunk) || !base_checked_add(size, shift, &end))
        return no_tile();
    int64_t chunks = end / chunk + (end % chunk != 0);
    layout_axis *axis = &tile.axis[0];
    tile_axis_push(axis, (layout_digit){.holder = LAYOUT_SLOT, .radix = vector, .stride = 1});
    if (!push_threads(axis, workers, subgroup) ||
        (size == 0 && chunk_holder != LAYOUT_STEP && chunk_holder != LAYOUT_GROUP))
        return no_tile();
    tile_axis_push(axis, (layout_digit){.holder = chunk_holder,
                                        .radix = size == 0 ? 0 : chunks,
                                        .stride = chunk_holder == LAYOUT_SLOT ? vector : 1});
    return tile;
}

/* ---- counts ---- */
int64_t layout_tile_threads(const layout_tile *tile) {
    if (tile->kind == LAYOUT_BITS)
        return INT64_C(1) << layout_bits_threads(&tile->bits);
    tile_axes axes = tile_axes_of(tile);
    return axes.range[LAYOUT_LANE] * axes.range[LAYOUT_SUBGROUP] * axes.range[LAYOUT_BLOCK];
}

int64_t layout_tile_capacity(const layout_tile *tile) {
    if (tile->kind == LAYOUT_BITS)
        return INT64_C(1) << tile->bits.slot_bits;
    return tile_axes_of(tile).range[LAYOUT_SLOT];
}

int64_t layout_tile_replication(const layout_tile *tile) {
    if (tile->kind == LAYOUT_BITS)
        return INT64_C(1) << (layout_bits_positions(&tile->bits) - tile->bits.index_bits);
    return layout_axis_digit_weight(&tile->replicas, tile->replicas.count);
}

/* Product of the slot radices among the first `count` digits. */
static int64_t slots_below(const layout_axis *axis, int count) {
    int64_t slots = 1;
    for (int i = 0; i < count; i++)
        slots *= axis->digits[i].holder == LAYOUT_SLOT ? axis->digits[i].radix : 1;
    return slots;
}

/* How many different slot digits occur among `length` >= 1 consecutive positions from `start` on,
 * modulo the product of the first `count` digits. A digit that is no slot's is forgotten: the
 * positions are then consecutive modulo the product below it. A slot's digit splits them into a
 * first part, whole blocks and a last part; the last part may come round to the first one's block,
 * and then they are one run modulo the block. */
static int64_t distinct_slots(const layout_axis *axis, int count, int64_t start, int64_t length) {
    int64_t box = layout_axis_digit_weight(axis, count);
    if (count == 0 || length >= box)
        return slots_below(axis, count);
    int64_t radix = axis->digits[count - 1].radix, block = box / radix, first = start % block;
    if (axis->digits[count - 1].holder != LAYOUT_SLOT || first + length <= block)
        return distinct_slots(axis, count - 1, first, length);
    int64_t head = block - first, rest = length - head, whole = rest / block, tail = rest % block;
    int64_t middle = whole * slots_below(axis, count - 1);
    if (tail > 0 && whole + 1 == radix)
        return middle + distinct_slots(axis, count - 1, first, head + tail);
    return middle + distinct_slots(axis, count - 1, first, head) +
           (tail > 0 ? distinct_slots(axis, count - 1, 0, tail) : 0);
}

int64_t layout_tile_slots(const layout_tile *tile) {
    if (tile->kind == LAYOUT_BITS)
        return layout_tile_capacity(tile);
    tile_axes axes = tile_axes_of(tile);
    int64_t slots = layout_axis_radix(&axes.axis[axes.rank], LAYOUT_SLOT);
    for (int a = 0; a < axes.rank; a++) {
        const layout_axis *axis = &axes.axis[a];
        bool runtime = tile->size[a] == 0 || axes.box[a] == 0;
        slots *= runtime ? layout_axis_radix(axis, LAYOUT_SLOT)
                         : distinct_slots(axis, axis->count, tile->shift[a], tile->size[a]);
    }
    return slots;
}

/* ---- the map ---- */
/* Packs the numbers of the holders into bits; false for a number that no position has. */
static bool pack_position(const layout_bits *bits, const layout_position *position,
                          uint32_t *packed) {
    const struct {
        layout_holder holder;
        int bits;
    } parts[] = {{LAYOUT_LANE, bits->lane_bits},
                 {LAYOUT_SUBGROUP, bits->subgroup_bits},
                 {LAYOUT_BLOCK, bits->block_bits},
                 {LAYOUT_SLOT, bits->slot_bits},
                 {LAYOUT_STEP, 0},
                 {LAYOUT_GROUP, 0}};
    int at = 0;
    *packed = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int64_t number = position->number[parts[i].holder];
        if (number < 0 || number >> parts[i].bits != 0)
            return false;
        *packed |= (uint32_t)number << at;
        at += parts[i].bits;
    }
    return true;
}

static void unpack_position(const layout_bits *bits, uint32_t packed, layout_position *position) {
    const struct {
        layout_holder holder;
        int bits;
    } parts[] = {{LAYOUT_LANE, bits->lane_bits},
                 {LAYOUT_SUBGROUP, bits->subgroup_bits},
                 {LAYOUT_BLOCK, bits->block_bits},
                 {LAYOUT_SLOT, bits->slot_bits}};
    *position = (layout_position){0};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        position->number[parts[i].holder] = packed & ((1u << parts[i].bits) - 1);
        packed >>= parts[i].bits;
    }
}

bool layout_tile_logical(const layout_tile *tile, const layout_position *position,
                         int64_t index[LAYOUT_MAX_RANK]) {
    uint32_t packed = 0;
    if (tile->kind == LAYOUT_BITS) {
        if (!pack_position(&tile->bits, position, &packed))
            return false;
        index[0] = layout_bits_index(&tile->bits, packed);
        return true;
    }
    tile_axes axes = tile_axes_of(tile);
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++) {
        int64_t number = position->number[holder], range = axes.range[holder];
        if (number < 0 || (range != 0 && number >= range))
            return false;
    }
    for (int a = 0; a < axes.rank; a++) {
        index[a] = layout_axis_logical(&axes.axis[a], position->number) - tile->shift[a];
        if (index[a] < 0 || (tile->size[a] != 0 && index[a] >= tile->size[a]))
            return false;
    }
    return true;
}

bool layout_tile_owner(const layout_tile *tile, const int64_t index[LAYOUT_MAX_RANK],
                       layout_position *position) {
    uint32_t packed = 0;
    if (tile->kind == LAYOUT_BITS) {
        if (index[0] < 0 || index[0] >= tile->size[0] ||
            !layout_bits_owner(&tile->bits, (uint32_t)index[0], &packed))
            return false;
        unpack_position(&tile->bits, packed, position);
        return true;
    }
    tile_axes axes = tile_axes_of(tile);
    *position = (layout_position){0};
    for (int a = 0; a < axes.rank; a++) {
        int64_t number[LAYOUT_HOLDER_COUNT], place = 0;
        if (index[a] < 0 || (tile->size[a] != 0 && index[a] >= tile->size[a]) ||
            !base_checked_add(index[a], tile->shift[a], &place) ||
            (axes.box[a] != 0 && place >= axes.box[a]))
            return false;
        layout_axis_owner(&axes.axis[a], place, number);
        for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
            position->number[holder] += number[holder];
    }
    return true;
}
