/* Composition of tiles: outer(inner(position)).
 *
 * Puts the position number that `outer` takes
 *
 *     lane + lanes * (subgroup + subgroups * (block + blocks * (slot + slots * (step + ...))))
 *
 * where `inner` has its index. Both count it in mixed radix, and where every cumulative radix
 * divides the next one of either, the common refinement has digits that belong to one digit of
 * each:
 *
 *     inner lane 4 | slot 6          cumulative 1 4 24
 *     outer slot 2 | lane 12: the number is lane 12 first, then slot 2: 1 12 24
 *     chain 1 4 12 24: lane 4 and slot 3 are outer's lane, the last slot 2 its slot
 *
 * Bit layouts compose column by column.
 */
#include "layout/conversion.h"
#include "layout/tile_access_internal.h"

#include <stdlib.h>

enum { PARTS = LAYOUT_MAX_DIGITS * (LAYOUT_MAX_RANK + 1) };

/* A digit of one side: its weight in the number between inner and outer, and where that goes. */
typedef struct part {
    int64_t weight, radix;
    layout_holder holder; /* of inner */
    int64_t to;           /* inner: stride in the holder; outer: weight in the index, 0 = none */
} part;

typedef struct number {
    int count;
    part parts[PARTS];
} number;

static int by_weight(const void *left, const void *right) {
    const part *a = left, *b = right;
    return (a->weight > b->weight) - (a->weight < b->weight);
}

static int by_target(const void *left, const void *right) {
    const part *a = left, *b = right;
    return (a->to > b->to) - (a->to < b->to);
}

static number number_of_inner(const tile_axes *inner) {
    number n = {0};
    const layout_axis *axis = &inner->axis[0];
    for (int i = 0; i < axis->count; i++)
        if (axis->digits[i].radix != 1)
            n.parts[n.count++] = (part){.weight = layout_axis_digit_weight(axis, i),
                                        .radix = axis->digits[i].radix,
                                        .holder = axis->digits[i].holder,
                                        .to = axis->digits[i].stride};
    return n;
}

/* The digits of the position number that outer takes, least first. */
static number number_of_outer(const tile_axes *outer) {
    static const layout_holder order[LAYOUT_HOLDER_COUNT] = {
        LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK, LAYOUT_SLOT, LAYOUT_STEP, LAYOUT_GROUP};
    number n = {0};
    int64_t base = 1;
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        for (int a = 0; a <= 1; a++) /* the axis, then the replicas */
            for (int i = 0; i < outer->axis[a].count; i++) {
                layout_digit digit = outer->axis[a].digits[i];
                if (digit.holder != order[h] || digit.radix == 1)
                    continue;
                n.parts[n.count++] =
                    (part){.weight = base * digit.stride,
                           .radix = digit.radix,
                           .holder = digit.holder,
                           .to = a == 0 ? layout_axis_digit_weight(&outer->axis[0], i) : 0};
            }
        base *= outer->range[order[h]];
    }
    qsort(n.parts, (size_t)n.count, sizeof n.parts[0], by_weight);
    return n;
}

static const part *part_at(const number *n, int64_t weight) {
    for (int i = 0; i < n->count; i++)
        if (n->parts[i].weight <= weight && weight < n->parts[i].weight * n->parts[i].radix)
            return &n->parts[i];
    return NULL;
}

/* The next cumulative radix of either number above `weight`. */
static int64_t next_weight(const number *a, const number *b, int64_t weight, int64_t end) {
    int64_t next = end;
    const number *both[2] = {a, b};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < both[k]->count; i++)
            if (both[k]->parts[i].weight > weight && both[k]->parts[i].weight < next)
                next = both[k]->parts[i].weight;
    return next;
}

/* One digit for each step of the common refinement; false when the radices form no chain. */
static bool refine(const number *inner, const number *outer, int64_t end, number *refined) {
    for (int64_t weight = 1, next; weight < end; weight = next) {
        next = next_weight(inner, outer, weight, end);
        const part *from = part_at(inner, weight), *to = part_at(outer, weight);
        if (next % weight != 0 || from == NULL || to == NULL)
            return false;
        refined->parts[refined->count++] =
            (part){.weight = from->to * (weight / from->weight), /* stride in inner's holder */
                   .radix = next / weight,
                   .holder = from->holder,
                   .to = to->to * (weight / to->weight)};
    }
    return true;
}

static bool digits_of(number *refined, const tile_axes *inner, layout_tile *both) {
    layout_tile made = {.kind = LAYOUT_DIGITS, .rank = 1};
    qsort(refined->parts, (size_t)refined->count, sizeof refined->parts[0], by_target);
    int64_t size = 1;
    for (int i = 0; i < refined->count; i++) {
        const part *p = &refined->parts[i];
        layout_digit digit = {.holder = p->holder, .radix = p->radix, .stride = p->weight};
        if (!tile_axis_push(p->to == 0 ? &made.replicas : &made.axis[0], digit))
            return false;
        size *= p->to == 0 ? 1 : p->radix;
    }
    for (int i = 0; i < inner->axis[1].count; i++)
        if (!tile_axis_push(&made.replicas, inner->axis[1].digits[i]))
            return false;
    made.size[0] = size;
    *both = made;
    return true;
}

static bool compose_bits(const layout_tile *outer, const layout_tile *inner, layout_tile *both) {
    layout_bits from, to;
    if (!layout_tile_to_bits(inner, &from) || !layout_tile_to_bits(outer, &to) ||
        from.index_bits != layout_bits_positions(&to))
        return false;
    layout_bits made = from;
    made.index_bits = to.index_bits;
    made.constant = layout_bits_index(&to, from.constant);
    for (int p = 0; p < layout_bits_positions(&from); p++)
        made.column[p] = layout_bits_index(&to, from.column[p]) ^ to.constant;
    *both = (layout_tile){.kind = LAYOUT_BITS, .rank = 1, .bits = made};
    both->size[0] = INT64_C(1) << made.index_bits;
    layout_tile_canonicalise(both);
    return true;
}

/* A full box without a shift: every position has its index. */
static bool is_box(const layout_tile *tile, const tile_axes *axes) {
    return tile->rank == 1 && tile->shift[0] == 0 && axes->box[0] != 0 &&
           axes->box[0] == tile->size[0];
}

bool layout_tile_compose(const layout_tile *outer, const layout_tile *inner, layout_tile *both) {
    if (outer->rank != 1 || inner->rank != 1)
        return false;
    if (outer->kind == LAYOUT_BITS || inner->kind == LAYOUT_BITS)
        return compose_bits(outer, inner, both);
    tile_axes from = tile_axes_of(inner), to = tile_axes_of(outer);
    if (!is_box(inner, &from) || !is_box(outer, &to))
        return false;
    number of_inner = number_of_inner(&from), of_outer = number_of_outer(&to), refined = {0};
    int64_t positions = 1;
    for (int i = 0; i < of_outer.count; i++)
        positions *= of_outer.parts[i].radix;
    return positions == inner->size[0] && refine(&of_inner, &of_outer, positions, &refined) &&
           digits_of(&refined, &from, both);
}
