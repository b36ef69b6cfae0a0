/* Reading `digits(..)`: axes separated by `;`, then digits without an axis, then sizes and shifts.
 *
 *     digits(slot 4 | lane 32 | step *, size=*, shift=3)
 *     digits(lane 4 @8 | slot 2; lane 8 @1, size=(7, 8))
 *     digits(lane 8; replicate lane 4 | slot 2)
 *
 * Sizes that are not given are the boxes; a runtime radix of a known size becomes the number of
 * steps that the size needs.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

/* Where the parts of the text stand. */
typedef struct places {
    size_t begin, end;                                    /* of all digits */
    size_t digit[LAYOUT_MAX_RANK + 1][LAYOUT_MAX_DIGITS]; /* [rank]: the replicas */
    size_t size[LAYOUT_MAX_RANK], size_length[LAYOUT_MAX_RANK];
    size_t shift[LAYOUT_MAX_RANK], shift_length[LAYOUT_MAX_RANK];
} places;

/* One of the numbers of `size=` or `shift=`. */
typedef struct list {
    int count;
    int64_t number[LAYOUT_MAX_RANK];
    size_t at[LAYOUT_MAX_RANK], length[LAYOUT_MAX_RANK];
    size_t begin, end;
} list;

static size_t digit_length(const tile_reader *r, size_t at) {
    size_t end = at;
    while (end < r->length && strchr("|;,)", r->text[end]) == NULL && end - at < 80)
        end++;
    while (end > at && r->text[end - 1] == ' ')
        end--;
    return end - at;
}

static bool read_one_axis(tile_reader *r, layout_axis *axis, size_t at[LAYOUT_MAX_DIGITS]) {
    size_t used = 0, start = r->at;
    const char *reason = "";
    bool ok = layout_axis_read(r->text + start, r->length - start, axis, &used, at, &reason);
    for (int i = 0; i < LAYOUT_MAX_DIGITS && i <= axis->count; i++)
        at[i] += start;
    r->at = start + used;
    for (int i = 0; ok && i + 1 < axis->count; i++)
        if (axis->digits[i].radix == 0)
            return tile_fault(r, TILE_FAULT_DIGITS, at[i], digit_length(r, at[i]),
                              "only the most significant digit may have a runtime radix");
    if (ok)
        return true;
    bool full = axis->count == LAYOUT_MAX_DIGITS;
    return tile_fault(r, full ? TILE_FAULT_LIMIT : TILE_FAULT_DIGITS, r->at, digit_length(r, r->at),
                      "%s", reason);
}

static bool read_axes(tile_reader *r, layout_tile *tile, places *p) {
    size_t replicas[LAYOUT_MAX_DIGITS] = {0};
    tile_skip_spaces(r);
    p->begin = r->at;
    do {
        tile_skip_spaces(r);
        size_t length = tile_word(r);
        if (tile_word_is(r, r->at, length, "replicate")) {
            r->at += length;
            if (!read_one_axis(r, &tile->replicas, replicas))
                return false;
            break;
        }
        if (tile->rank == LAYOUT_MAX_RANK)
            return tile_fault(r, TILE_FAULT_RANK, r->at, 1, "a tile has at most %d axes",
                              LAYOUT_MAX_RANK);
        if (!read_one_axis(r, &tile->axis[tile->rank], p->digit[tile->rank]))
            return false;
        tile->rank++;
    } while (tile_accept(r, ';'));
    memcpy(p->digit[tile->rank], replicas, sizeof replicas);
    p->end = r->at;
    return true;
}

/* ---- sizes and shifts ---- */
static bool read_list_number(tile_reader *r, list *l, bool runtime) {
    tile_skip_spaces(r);
    if (l->count == LAYOUT_MAX_RANK)
        return tile_fault(r, TILE_FAULT_LENGTH, r->at, 1, "at most %d axes", LAYOUT_MAX_RANK);
    int64_t *number = &l->number[l->count];
    l->at[l->count] = r->at;
    bool star = runtime && tile_accept(r, '*');
    if (!star && !tile_read_number(r, number))
        return false;
    if (runtime && !star && *number == 0) {
        tile_fault(r, TILE_FAULT_SIZE, l->at[l->count], 1, "a size is at least 1");
        tile_propose(r, l->at[l->count], r->at - l->at[l->count], "1");
        return false;
    }
    l->length[l->count] = r->at - l->at[l->count];
    l->count++;
    return true;
}

static bool read_list(tile_reader *r, list *l, bool runtime) {
    tile_skip_spaces(r);
    l->begin = r->at;
    if (tile_accept(r, '(')) {
        do {
            if (!read_list_number(r, l, runtime))
                return false;
        } while (tile_accept(r, ','));
        if (!tile_expect(r, ')'))
            return false;
    } else if (!read_list_number(r, l, runtime)) {
        return false;
    }
    l->end = r->at;
    return true;
}

/* A list has a number for each axis; else the boxes (or zeros) are proposed. */
static bool check_list(tile_reader *r, const layout_tile *tile, const list *l, bool sizes) {
    base_text text;
    if (l->count == tile->rank)
        return true;
    base_text_init(&text, r->arena);
    for (int a = 0; a < tile->rank; a++) {
        int64_t box = layout_axis_digit_weight(&tile->axis[a], tile->axis[a].count);
        base_text_string(&text, a == 0 ? "" : ", ");
        if (sizes && box == 0)
            base_text_string(&text, "*");
        else
            base_text_format(&text, "%" PRId64, sizes ? box : 0);
    }
    tile_fault(r, TILE_FAULT_LENGTH, l->begin, l->end - l->begin, "%d numbers for %d axes",
               l->count, tile->rank);
    tile_propose(r, l->begin, l->end - l->begin, tile->rank == 1 ? "%s" : "(%s)", text.bytes);
    return false;
}

static bool read_lists(tile_reader *r, const layout_tile *tile, list *sizes, list *shifts) {
    while (tile_accept(r, ',')) {
        tile_skip_spaces(r);
        size_t length = tile_word(r), at = r->at;
        bool size = tile_word_is(r, at, length, "size");
        list *l = size ? sizes : shifts;
        if (!size && !tile_word_is(r, at, length, "shift")) {
            tile_fault(r, TILE_FAULT_ARGUMENT, at, length == 0 ? 1 : length,
                       "digits takes size, shift and no other argument");
            tile_propose(r, at, length,
                         r->text[at] == 's' && length > 1 && r->text[at + 1] == 'h' ? "shift"
                                                                                    : "size");
            return false;
        }
        r->at += length;
        if (l->count > 0)
            return tile_fault(r, TILE_FAULT_ARGUMENT, at, length, "%s stands twice",
                              size ? "size" : "shift");
        if (!tile_expect(r, '=') || !read_list(r, l, size) || !check_list(r, tile, l, size))
            return false;
    }
    return tile_expect(r, ')');
}

/* ---- faults of the whole ---- */
/* The text of the digits without any stride of its own, which is always legal. */
static const char *without_strides(tile_reader *r, const places *p) {
    base_text text;
    base_text_init(&text, r->arena);
    for (size_t i = p->begin; i < p->end; i++) {
        if (r->text[i] != '@') {
            base_text_append(&text, r->text + i, 1);
            continue;
        }
        while (text.length > 0 && text.bytes[text.length - 1] == ' ')
            text.length--;
        while (i + 1 < p->end && r->text[i + 1] >= '0' && r->text[i + 1] <= '9')
            i++;
    }
    text.bytes[text.length] = '\0';
    return text.bytes;
}

static bool fail_digit(tile_reader *r, const places *p, const tile_finding *finding) {
    size_t at = p->digit[finding->axis][finding->digit], length = digit_length(r, at);
    const char *stride = memchr(r->text + at, '@', length);
    tile_fault(r, finding->id, at, length, "%s", finding->reason);
    if (finding->id != TILE_FAULT_STRIDE)
        return false;
    if (stride != NULL) {
        size_t end = (size_t)(stride - r->text);
        while (end > at && r->text[end - 1] == ' ')
            end--;
        tile_propose(r, end, at + length - end, "%s", "");
    } else {
        tile_propose(r, p->begin, p->end - p->begin, "%s", without_strides(r, p));
    }
    return false;
}

static bool fail_part(tile_reader *r, const layout_tile *tile, const list *sizes,
                      const list *shifts, const tile_finding *finding) {
    int a = finding->axis;
    const layout_axis *axis = &tile->axis[a];
    bool shift = finding->part == TILE_PART_SHIFT;
    const list *l = shift ? shifts : sizes;
    size_t at = l->count > a ? l->at[a] : 0, length = l->count > a ? l->length[a] : r->length;
    int64_t box = layout_axis_digit_weight(axis, axis->count);
    tile_fault(r, finding->id, at, length, "%s", finding->reason);
    if (l->count > a)
        tile_propose(r, at, length, "%" PRId64,
                     shift ? tile_shift_limit(axis) - 1 : box - tile->shift[a]);
    return false;
}

/* Steps of a known size, as many as it needs; false when their box does not fit 64 bits. */
static bool resolve_runtime_radix(layout_axis *axis, int64_t size, int64_t shift) {
    layout_digit *last = axis->count > 0 ? &axis->digits[axis->count - 1] : NULL;
    int64_t end = 0, box = 0;
    if (last == NULL || last->radix != 0 || size < 1)
        return true;
    int64_t below = layout_axis_digit_weight(axis, axis->count - 1);
    if (!base_checked_add(size, shift, &end) ||
        !base_checked_mul(end / below + (end % below != 0), below, &box))
        return false;
    last->radix = box / below;
    return true;
}

bool tile_read_digits(tile_reader *r, layout_tile *tile) {
    places p = {0};
    list sizes = {0}, shifts = {0};
    tile_finding finding;
    *tile = (layout_tile){.kind = LAYOUT_DIGITS};
    if (!read_axes(r, tile, &p) || !read_lists(r, tile, &sizes, &shifts))
        return false;
    for (int a = 0; a < tile->rank; a++) {
        layout_axis *axis = &tile->axis[a];
        tile->shift[a] = shifts.number[a];
        if (sizes.count > 0 && !resolve_runtime_radix(axis, sizes.number[a], shifts.number[a]))
            return tile_fault(r, TILE_FAULT_LIMIT, sizes.at[a], sizes.length[a],
                              "the steps of this size do not fit 64 bits");
        int64_t box = layout_axis_digit_weight(axis, axis->count);
        tile->size[a] = sizes.count > 0          ? sizes.number[a]
                        : box == 0               ? 0
                        : box > shifts.number[a] ? box - shifts.number[a]
                                                 : -1;
    }
    if (tile_digits_check(tile, &finding))
        return true;
    if (finding.part == TILE_PART_DIGIT)
        return fail_digit(r, &p, &finding);
    return fail_part(r, tile, &sizes, &shifts, &finding);
}
