/* Tiles of one axis and axes: the form in which a plan and the IR hold a layout.
 *
 *     bits(3, 4, 5, 0, 1, 2)         lane 4 @8 | subgroup 2 | lane 8
 *     bits(1, 0, 2, 3, 4, xor=3)     lane 2 @2 | lane 2 @1 | lane 8 xor 3
 *     lane 8 | slot 2, 32 lanes      digits(lane 8 | slot 2; replicate lane 4 @8)
 */
#include "layout/tile_internal.h"

#include <string.h>

bool layout_tile_to_axis(const layout_tile *tile, layout_axis *axis) {
    if (tile->rank != 1 || tile->shift[0] != 0)
        return false;
    layout_tile digits = *tile;
    int64_t constant = 0;
    if (tile->kind == LAYOUT_BITS) {
        layout_bits bits = tile->bits;
        constant = bits.constant;
        bits.constant = 0;
        if (!tile_bits_to_digits(&bits, &digits))
            return false;
    }
    tile_axes axes = tile_axes_of(&digits);
    *axis = tile_axis_merged(&axes.axis[0]);
    axis->exclusive_or = constant;
    return true;
}

/* Replicas for the positions of a holder that the axis does not count: below, between and above its
 * digits, whose strides are resolved. */
static void fill_holder(const layout_axis *axis, layout_holder holder, int64_t range,
                        layout_axis *replicas) {
    for (int64_t end = 1; end < range;) {
        int64_t next = range, after = range;
        for (int i = 0; i < axis->count; i++) {
            layout_digit digit = axis->digits[i];
            if (digit.holder == holder && digit.radix > 1 && digit.stride >= end &&
                digit.stride < next) {
                next = digit.stride;
                after = digit.stride * digit.radix;
            }
        }
        if (next > end)
            tile_axis_push(replicas,
                           (layout_digit){.holder = holder, .radix = next / end, .stride = end});
        end = after;
    }
}

bool layout_tile_of_axis(const layout_axis *axis, int64_t size, int64_t lanes, int64_t subgroups,
                         layout_tile *tile) {
    memset(tile, 0, sizeof *tile);
    if (axis->shift != NULL)
        return false;
    tile->kind = LAYOUT_DIGITS;
    tile->rank = 1;
    tile->axis[0] = *axis;
    tile->axis[0].exclusive_or = 0;
    tile->size[0] = size;
    layout_axes_resolve(tile->axis, 1);
    fill_holder(&tile->axis[0], LAYOUT_LANE, lanes, &tile->replicas);
    fill_holder(&tile->axis[0], LAYOUT_SUBGROUP, subgroups, &tile->replicas);
    if (axis->exclusive_or == 0)
        return true;
    layout_bits bits;
    if (!layout_tile_to_bits(tile, &bits))
        return false;
    bits.constant = (uint32_t)axis->exclusive_or;
    memset(tile, 0, sizeof *tile);
    tile->kind = LAYOUT_BITS;
    tile->rank = 1;
    tile->size[0] = size;
    tile->bits = bits;
    return true;
}

/* Where the number of the holder ends, `least` or later. */
static int64_t holder_end(const layout_axis *axis, layout_holder holder, int64_t least) {
    for (int i = 0; i < axis->count; i++) {
        int64_t end = layout_axis_digit_stride(axis, i) * axis->digits[i].radix;
        if (axis->digits[i].holder == holder && end > least)
            least = end;
    }
    return least;
}

bool layout_axis_same(const layout_axis *a, const layout_axis *b) {
    const layout_axis *axes[2] = {a, b};
    layout_tile tiles[2];
    int64_t lanes = 1, subgroups = 1;
    if (layout_axis_equal(a, b))
        return true;
    if (a->shift != NULL || b->shift != NULL)
        return false;
    for (int i = 0; i < 2; i++) {
        lanes = holder_end(axes[i], LAYOUT_LANE, lanes);
        subgroups = holder_end(axes[i], LAYOUT_SUBGROUP, subgroups);
    }
    for (int i = 0; i < 2; i++) {
        int64_t size = 1;
        for (int k = 0; k < axes[i]->count; k++)
            size *= axes[i]->digits[k].radix;
        if (!layout_tile_of_axis(axes[i], size, lanes, subgroups, &tiles[i]))
            return false;
    }
    return layout_tile_equal(&tiles[0], &tiles[1]);
}

void layout_axis_spell(base_text *out, const layout_axis *axis) {
    layout_tile tile;
    int64_t size = 1;
    for (int i = 0; i < axis->count; i++)
        size *= axis->digits[i].radix;
    if (layout_tile_of_axis(axis, size, holder_end(axis, LAYOUT_LANE, 1),
                            holder_end(axis, LAYOUT_SUBGROUP, 1), &tile))
        layout_tile_print_shortest(out, &tile);
    else
        layout_axis_print(out, axis);
}
