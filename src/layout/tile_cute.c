/* Reading `shape:stride` in nested tuples, as CuTe writes layouts from (thread, value) to an index.
 *
 *     (32,4):(1,32)           identity(128, slots=4)
 *     ((4,8),2):((16,1),8)    lane = 4 * (index % 8) + index / 16, slot = index / 8 % 2
 *     (_32,_2):(_0,_1)        stride 0: 32 replicas
 *
 * Coordinates count with the leftmost part fastest. Threads are lanes, then subgroups of 32. The
 * strides that are not 0 must make up all indices once: sorted, each is stride times shape of the
 * one before.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_TOKENS = 256, MAX_NESTING = 16, MAX_PARTS = 64 };

typedef struct token {
    char sign; /* `(`, `)`, or `n` for a number */
    int64_t number;
    size_t at, length;
} token;

typedef struct tuple {
    int count;
    token tokens[MAX_TOKENS];
} tuple;

/* A digit of the index: part of a mode. */
typedef struct part {
    layout_digit digit;
    int64_t weight; /* 0: a replica */
    const token *stride;
} part;

typedef struct part_list {
    int count;
    part parts[MAX_PARTS];
} part_list;

/* ---- tuples ---- */
static bool push_token(tile_reader *r, tuple *t, char sign, int64_t number, size_t at) {
    if (t->count == MAX_TOKENS)
        return tile_fault(r, TILE_FAULT_LIMIT, at, 1, "a tuple has at most %d signs", MAX_TOKENS);
    t->tokens[t->count++] = (token){.sign = sign, .number = number, .at = at, .length = r->at - at};
    return true;
}

static bool read_leaf(tile_reader *r, tuple *t) {
    int64_t number = 0;
    tile_skip_spaces(r);
    size_t at = r->at;
    tile_accept(r, '_'); /* CuTe's constants */
    return tile_read_number(r, &number) && push_token(r, t, 'n', number, at);
}

/* Elements and opening parentheses until the tuple is closed. */
static bool read_tuple(tile_reader *r, tuple *t) {
    int depth = 0;
    for (;;) {
        while (tile_accept(r, '(')) {
            if (++depth > MAX_NESTING)
                return tile_fault(r, TILE_FAULT_NESTING, r->at - 1, 1,
                                  "tuples are nested at most %d deep", MAX_NESTING);
            if (!push_token(r, t, '(', 0, r->at - 1))
                return false;
        }
        if (!read_leaf(r, t))
            return false;
        while (depth > 0 && tile_accept(r, ')')) {
            depth--;
            if (!push_token(r, t, ')', 0, r->at - 1))
                return false;
        }
        if (depth == 0)
            return true;
        if (!tile_expect(r, ','))
            return false;
    }
}

static bool same_structure(tile_reader *r, const tuple *shape, const tuple *stride) {
    int count = shape->count < stride->count ? shape->count : stride->count;
    for (int i = 0; i < count; i++)
        if (shape->tokens[i].sign != stride->tokens[i].sign)
            return tile_fault(r, TILE_FAULT_LENGTH, stride->tokens[i].at, stride->tokens[i].length,
                              "shape and stride are not nested alike from here");
    return shape->count == stride->count ||
           tile_fault(r, TILE_FAULT_LENGTH, stride->tokens[0].at, r->at - stride->tokens[0].at,
                      "shape and stride have different lengths");
}

/* ---- modes ---- */
static bool push_part(tile_reader *r, part_list *list, layout_holder holder, int64_t place,
                      int64_t radix, int64_t weight, const token *stride) {
    if (radix == 1)
        return true;
    if (list->count == MAX_PARTS)
        return tile_fault(r, TILE_FAULT_LIMIT, stride->at, stride->length,
                          "a layout has at most %d parts", MAX_PARTS);
    list->parts[list->count++] =
        (part){.digit = {.holder = holder, .radix = radix, .stride = place},
               .weight = weight,
               .stride = stride};
    return true;
}

/* A part of the thread mode that begins at thread `place`: lanes below 32, subgroups above. */
static bool push_thread(tile_reader *r, part_list *list, int64_t place, const token *shape,
                        const token *stride) {
    int64_t end = 0, radix = shape->number, weight = 0;
    if (place >= TILE_SUBGROUP_LANES)
        return push_part(r, list, LAYOUT_SUBGROUP, place / TILE_SUBGROUP_LANES, radix,
                         stride->number, stride);
    if (base_checked_mul(place, radix, &end) && end <= TILE_SUBGROUP_LANES)
        return push_part(r, list, LAYOUT_LANE, place, radix, stride->number, stride);
    int64_t lanes = TILE_SUBGROUP_LANES / place;
    if (TILE_SUBGROUP_LANES % place != 0 || radix % lanes != 0) {
        tile_fault(r, TILE_FAULT_THREADS, shape->at, shape->length,
                   "threads beyond a subgroup of %d are whole subgroups", TILE_SUBGROUP_LANES);
        if (TILE_SUBGROUP_LANES % place == 0)
            tile_propose(r, shape->at, shape->length, "%" PRId64, radix / lanes * lanes);
        return false;
    }
    if (!base_checked_mul(lanes, stride->number, &weight))
        return tile_fault(r, TILE_FAULT_LIMIT, stride->at, stride->length,
                          "shape times stride does not fit 64 bits");
    return push_part(r, list, LAYOUT_LANE, place, lanes, stride->number, stride) &&
           push_part(r, list, LAYOUT_SUBGROUP, 1, radix / lanes, weight, stride);
}

/* `place`: of the next part in its mode. */
static bool push_leaf(tile_reader *r, part_list *list, int mode, int64_t place, const token *shape,
                      const token *stride) {
    if (shape->number < 1) {
        tile_fault(r, TILE_FAULT_SIZE, shape->at, shape->length, "a shape is at least 1");
        tile_propose(r, shape->at, shape->length, "1");
        return false;
    }
    return mode == 0
               ? push_thread(r, list, place, shape, stride)
               : push_part(r, list, LAYOUT_SLOT, place, shape->number, stride->number, stride);
}

/* The first mode is the thread, the second the value. */
static bool read_modes(tile_reader *r, const tuple *shape, const tuple *stride, part_list *list) {
    int64_t place[2] = {1, 1};
    int depth = 0, mode = 0;
    for (int i = 0; i < shape->count; i++) {
        const token *here = &shape->tokens[i];
        depth += here->sign == '(' ? 1 : here->sign == ')' ? -1 : 0;
        if (here->sign == 'n') {
            if (mode > 1)
                return tile_fault(r, TILE_FAULT_RANK, here->at, here->length,
                                  "a layout has two modes: threads and values");
            if (!push_leaf(r, list, mode, place[mode], here, &stride->tokens[i]))
                return false;
            if (!base_checked_mul(place[mode], here->number, &place[mode]))
                return tile_fault(r, TILE_FAULT_LIMIT, here->at, here->length,
                                  "the shape does not fit 64 bits");
        }
        mode += depth == 1 && here->sign != '(';
    }
    return true;
}

/* ---- the index ---- */
static void sort_parts(part_list *list) {
    for (int i = 1; i < list->count; i++) {
        part moved = list->parts[i];
        int at = i;
        for (; at > 0 && list->parts[at - 1].weight > moved.weight; at--)
            list->parts[at] = list->parts[at - 1];
        list->parts[at] = moved;
    }
}

static bool check_weights(tile_reader *r, const part_list *list, int64_t *size) {
    *size = 1;
    for (int i = 0; i < list->count; i++) {
        const part *here = &list->parts[i];
        if (here->weight == 0)
            continue;
        if (here->weight != *size) {
            tile_fault(r, TILE_FAULT_BIJECTION, here->stride->at, here->stride->length,
                       "%s: the strides, sorted, go on with %" PRId64,
                       here->weight < *size ? "an index has two owners" : "an index has no owner",
                       *size);
            tile_propose(r, here->stride->at, here->stride->length, "%" PRId64, *size);
            return false;
        }
        if (!base_checked_mul(*size, here->digit.radix, size))
            return tile_fault(r, TILE_FAULT_LIMIT, here->stride->at, here->stride->length,
                              "the size does not fit 64 bits");
    }
    return true;
}

/* What has too many digits for one axis is a bit layout when all its parts are powers of two. */
static bool as_bits(const part_list *list, int64_t size, layout_tile *tile) {
    int place[LAYOUT_HOLDER_COUNT] = {0}, total = 0;
    layout_bits bits = {0};
    for (int i = 0; i < list->count; i++) {
        int64_t radix = list->parts[i].digit.radix;
        if ((radix & (radix - 1)) != 0)
            return false;
        for (; radix > 1; radix /= 2, total++)
            place[list->parts[i].digit.holder]++;
    }
    bits.lane_bits = place[LAYOUT_LANE];
    bits.subgroup_bits = place[LAYOUT_SUBGROUP];
    bits.slot_bits = place[LAYOUT_SLOT];
    if (total > LAYOUT_MAX_BITS)
        return false;
    const int first[LAYOUT_HOLDER_COUNT] = {
        [LAYOUT_SUBGROUP] = bits.lane_bits, [LAYOUT_SLOT] = bits.lane_bits + bits.subgroup_bits};
    for (int i = 0; i < list->count; i++) {
        layout_digit digit = list->parts[i].digit;
        for (int64_t value = 1; value < digit.radix; value *= 2) {
            int position = first[digit.holder];
            for (int64_t number = value * digit.stride; number > 1; number /= 2)
                position++;
            bits.column[position] = (uint32_t)(value * list->parts[i].weight);
        }
    }
    while (INT64_C(1) << bits.index_bits < size)
        bits.index_bits++;
    *tile = (layout_tile){.kind = LAYOUT_BITS, .rank = 1, .size = {size}, .bits = bits};
    return true;
}

static bool as_tile(tile_reader *r, const part_list *list, int64_t size, size_t start,
                    layout_tile *tile) {
    *tile = (layout_tile){.kind = LAYOUT_DIGITS, .rank = 1, .size = {size}};
    for (int i = 0; i < list->count; i++) {
        layout_axis *axis = list->parts[i].weight == 0 ? &tile->replicas : &tile->axis[0];
        if (!tile_axis_push(axis, list->parts[i].digit))
            return as_bits(list, size, tile) ||
                   tile_fault(r, TILE_FAULT_LIMIT, start, r->at - start,
                              "an axis has at most %d digits", LAYOUT_MAX_DIGITS);
    }
    return true;
}

bool tile_read_cute(tile_reader *r, layout_tile *tile) {
    tuple shape = {0}, stride = {0};
    part_list list = {0};
    int64_t size = 0;
    size_t start = r->at;
    if (!read_tuple(r, &shape) || !tile_expect(r, ':') || !read_tuple(r, &stride) ||
        !same_structure(r, &shape, &stride) || !read_modes(r, &shape, &stride, &list))
        return false;
    sort_parts(&list);
    return check_weights(r, &list, &size) && as_tile(r, &list, size, start, tile);
}
