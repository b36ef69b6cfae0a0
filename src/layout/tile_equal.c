/* Equality of tiles as functions: the same positions own the same indices. Closed-form: no position
 * is visited.
 *
 *     lane 8 | slot 4                  lane 2 | lane 4 | slot 4           equal
 *     slot 4 | lane 2, size 1, shift 2    slot 2 @2 | slot 2 | lane 2, size 1, shift 1     equal
 *
 * Along an axis the owner starts at the position of the shift and moves by a step that depends only
 * on how many digits carry: digit k is the one that counts up wherever the position is a multiple
 * of its weight, but not of the next one's. So a tile is a start and, per digit, a step and the set
 * of places of the step, a difference of two arithmetic progressions. Two tiles are equal when they
 * start together and no place has different steps: for each pair of digits with different steps the
 * common places are counted, with the Chinese remainder theorem.
 *
 * Positions that own nothing need no look: both have the same ranges and the same owners.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

/* ---- places common to two progressions ---- */
static int64_t greatest_common_divisor(int64_t a, int64_t b) {
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* a * b % m for a, b in [0, m), without a wider type. */
static int64_t multiply_modulo(int64_t a, int64_t b, int64_t m) {
    uint64_t sum = 0, term = (uint64_t)a, modulus = (uint64_t)m;
    for (; b > 0; b >>= 1) {
        if (b & 1)
            sum = (sum + term) % modulus;
        term = (term + term) % modulus;
    }
    return (int64_t)sum;
}

/* x with a * x % m == 1 % m, for coprime a and m (extended Euclid). */
static int64_t inverse_modulo(int64_t a, int64_t m) {
    int64_t r = m, next_r = a % m, t = 0, next_t = 1;
    while (next_r != 0) {
        int64_t quotient = r / next_r, rest = r % next_r, step = t - quotient * next_t;
        r = next_r;
        next_r = rest;
        t = next_t;
        next_t = step;
    }
    return base_floor_mod(t, m);
}

int64_t tile_count_common(tile_progression a, tile_progression b, int64_t end) {
    int64_t divisor = greatest_common_divisor(a.period, b.period);
    int64_t modulus = b.period / divisor, apart = b.first - a.first;
    if (apart % divisor != 0)
        return 0;
    int64_t turns = multiply_modulo(base_floor_mod(apart / divisor, modulus),
                                    inverse_modulo(a.period / divisor, modulus), modulus);
    int64_t place = 0, period = 0;
    if (!base_checked_mul(turns, a.period, &place) || !base_checked_add(place, a.first, &place) ||
        place >= end)
        return 0;
    if (!base_checked_mul(a.period, modulus, &period))
        return 1;
    return (end - 1 - place) / period + 1;
}

/* ---- steps of an axis ---- */
typedef struct walk {
    int count;
    struct {
        int64_t step[LAYOUT_HOLDER_COUNT]; /* what the owner moves by */
        tile_progression place;            /* where this digit or a higher one counts up */
    } digit[LAYOUT_MAX_DIGITS];
} walk;

static walk walk_of(const layout_axis *axis, int64_t shift) {
    walk w = {0};
    int64_t carry[LAYOUT_HOLDER_COUNT] = {0}, weight = 1;
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        if (digit.radix == 1)
            continue;
        memcpy(w.digit[w.count].step, carry, sizeof carry);
        w.digit[w.count].step[digit.holder] += digit.stride;
        w.digit[w.count].place =
            (tile_progression){.first = weight - shift % weight, .period = weight};
        carry[digit.holder] -= (digit.radix - 1) * digit.stride;
        weight *= digit.radix;
        w.count++;
    }
    return w;
}

static int64_t places_up_to(const walk *a, int i, const walk *b, int k, int64_t end) {
    return i == a->count || k == b->count
               ? 0
               : tile_count_common(a->digit[i].place, b->digit[k].place, end);
}

/* `end` indices from the start on. */
static bool same_steps(const walk *a, const walk *b, int64_t end) {
    for (int i = 0; i < a->count; i++) {
        for (int k = 0; k < b->count; k++) {
            if (memcmp(a->digit[i].step, b->digit[k].step, sizeof a->digit[i].step) == 0)
                continue;
            int64_t common = places_up_to(a, i, b, k, end) - places_up_to(a, i + 1, b, k, end) -
                             places_up_to(a, i, b, k + 1, end) +
                             places_up_to(a, i + 1, b, k + 1, end);
            if (common != 0)
                return false;
        }
    }
    return true;
}

/* Indices that are certainly there when the size is a runtime value. */
static int64_t largest_size(int64_t size, int64_t box, int64_t shift) {
    return size != 0 ? size : (box != 0 ? box : INT64_MAX) - shift;
}

static bool same_axis(const layout_tile *a, const tile_axes *of_a, const layout_tile *b,
                      const tile_axes *of_b, int axis) {
    int64_t end = largest_size(a->size[axis], of_a->box[axis], a->shift[axis]);
    int64_t other = largest_size(b->size[axis], of_b->box[axis], b->shift[axis]);
    bool open = of_a->box[axis] == 0 && of_b->box[axis] == 0;
    if (end != other && !open)
        return false;
    walk first = walk_of(&of_a->axis[axis], a->shift[axis]);
    walk second = walk_of(&of_b->axis[axis], b->shift[axis]);
    return same_steps(&first, &second, end < other ? end : other);
}

static void add_start(const layout_axis *axis, int64_t shift, layout_position *start) {
    int64_t number[LAYOUT_HOLDER_COUNT];
    layout_axis_owner(axis, shift, number);
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        start->number[holder] += number[holder];
}

/* ---- replicas ---- */
static int compare_digits(const void *left, const void *right) {
    const layout_digit *a = left, *b = right;
    if (a->holder != b->holder)
        return a->holder < b->holder ? -1 : 1;
    return (a->stride > b->stride) - (a->stride < b->stride);
}

layout_axis tile_replicas_merged(const tile_axes *axes) {
    layout_axis sorted = axes->axis[axes->rank];
    qsort(sorted.digits, (size_t)sorted.count, sizeof sorted.digits[0], compare_digits);
    return tile_axis_merged(&sorted);
}

static bool equal_digits(const layout_tile *a, const layout_tile *b) {
    tile_axes of_a = tile_axes_of(a), of_b = tile_axes_of(b);
    layout_axis replicas = tile_replicas_merged(&of_a), others = tile_replicas_merged(&of_b);
    if (memcmp(of_a.range, of_b.range, sizeof of_a.range) != 0 ||
        !layout_axis_equal(&replicas, &others))
        return false;
    layout_position start = {0}, other_start = {0};
    for (int axis = 0; axis < a->rank; axis++) {
        if (a->size[axis] != b->size[axis] || !same_axis(a, &of_a, b, &of_b, axis))
            return false;
        add_start(&of_a.axis[axis], a->shift[axis], &start);
        add_start(&of_b.axis[axis], b->shift[axis], &other_start);
    }
    return memcmp(&start, &other_start, sizeof start) == 0;
}

static bool equal_bits(const layout_bits *a, const layout_bits *b) {
    return a->lane_bits == b->lane_bits && a->subgroup_bits == b->subgroup_bits &&
           a->block_bits == b->block_bits && a->slot_bits == b->slot_bits &&
           a->index_bits == b->index_bits && a->constant == b->constant &&
           memcmp(a->column, b->column, sizeof a->column[0] * (size_t)layout_bits_positions(a)) ==
               0;
}

/* A tile of digits that owns an index at every position of a power-of-two box has a bit form: so
 * one that has none differs from every bit tile. */
bool layout_tile_equal(const layout_tile *a, const layout_tile *b) {
    layout_bits of_a, of_b;
    if (a->rank != b->rank)
        return false;
    if (a->kind == LAYOUT_DIGITS && b->kind == LAYOUT_DIGITS)
        return equal_digits(a, b);
    return layout_tile_to_bits(a, &of_a) && layout_tile_to_bits(b, &of_b) &&
           equal_bits(&of_a, &of_b);
}
