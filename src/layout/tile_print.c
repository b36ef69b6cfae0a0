/* Tiles as text, in seven spellings; each is read back as the same function.
 *
 *     identity(1024, slots=4)
 *     bits(8, 9, 0, 1, 2, 3, 4, 5, 6, 7, slots=4)
 *     blocked_cyclic(1009, workers=32, vector=4, shift=3)
 *     digits(slot 4 | lane 32 | slot 8, size=1009, shift=3)
 *     gf2(lane 4 8 16 32 64 | slot 1 2)
 *     (32,4):(4,1)                                               CuTe: thread and value modes
 *     register=[1, 2] lane=[4, 8, 16, 32, 64] warp=[] block=[]   bases, as Triton writes them
 *
 * A spelling that could not say everything of the tile prints nothing.
 */
#include "layout/tile_internal.h"

#include <inttypes.h>

const char *layout_spelling_name(layout_spelling spelling) {
    static const char *const names[LAYOUT_SPELLING_COUNT] = {
        [LAYOUT_SPELL_IDENTITY] = "identity",
        [LAYOUT_SPELL_BITS] = "bits",
        [LAYOUT_SPELL_BLOCKED_CYCLIC] = "blocked_cyclic",
        [LAYOUT_SPELL_DIGITS] = "digits",
        [LAYOUT_SPELL_GF2] = "gf2",
        [LAYOUT_SPELL_CUTE] = "cute",
        [LAYOUT_SPELL_TRITON] = "triton",
    };
    return names[spelling];
}

/* The tile as digits, defaults filled in; false when it has none. */
static bool as_digits(const layout_tile *tile, layout_tile *digits) {
    *digits = *tile;
    return tile->kind == LAYOUT_DIGITS || tile_bits_to_digits(&tile->bits, digits);
}

/* ---- identity, bits ---- */
static bool print_identity(base_text *out, const layout_tile *tile) {
    int64_t slots = layout_tile_capacity(tile);
    if (tile->rank != 1 || tile->size[0] < 1)
        return false;
    layout_tile identity = layout_tile_identity(tile->size[0], slots);
    if (identity.size[0] < 1 || !layout_tile_equal(tile, &identity))
        return false;
    base_text_format(out, "identity(%" PRId64 ", slots=%" PRId64 ")", tile->size[0], slots);
    return true;
}

/* The position bit whose column is this bit of the index alone; -1 when there is none. */
static int position_of_bit(const layout_bits *bits, int index_bit) {
    for (int p = 0; p < layout_bits_positions(bits); p++)
        if (bits->column[p] == 1u << index_bit)
            return p;
    return -1;
}

static bool print_bits(base_text *out, const layout_tile *tile) {
    layout_bits bits;
    if (tile->rank != 1 || !layout_tile_to_bits(tile, &bits) || bits.index_bits == 0 ||
        layout_bits_positions(&bits) != bits.index_bits || bits.block_bits != 0)
        return false;
    int threads = layout_bits_threads(&bits);
    if (bits.lane_bits != (threads < TILE_SUBGROUP_BITS ? threads : TILE_SUBGROUP_BITS))
        return false;
    for (int b = 0; b < bits.index_bits; b++)
        if (position_of_bit(&bits, b) < 0)
            return false;
    for (int b = 0; b < bits.index_bits; b++)
        base_text_format(out, "%s%d", b == 0 ? "bits(" : ", ", position_of_bit(&bits, b));
    if (bits.constant != 0)
        base_text_format(out, ", xor=%" PRIu32, bits.constant);
    if (bits.slot_bits != 0)
        base_text_format(out, ", slots=%" PRId64, INT64_C(1) << bits.slot_bits);
    base_text_string(out, ")");
    return true;
}

/* ---- blocked_cyclic ---- */
typedef struct blocked_form {
    int64_t workers, vector, subgroup;
    layout_holder chunks;
} blocked_form;

static bool blocked_equals(const layout_tile *tile, const blocked_form *form) {
    if (tile->shift[0] >= form->vector)
        return false;
    layout_tile blocked = layout_tile_blocked_cyclic(tile->size[0], form->workers, form->vector,
                                                     tile->shift[0], form->chunks, form->subgroup);
    return blocked.size[0] >= 0 && layout_tile_equal(tile, &blocked);
}

/* V is the innermost slot digit, or a part of it where chunks come next (one worker). */
static bool find_blocked_form(const layout_tile *tile, blocked_form *form) {
    static const layout_holder holders[] = {LAYOUT_SLOT, LAYOUT_STEP};
    const int64_t vectors[] = {tile_shift_limit(&tile->axis[0]), 1, 2, 4, 8};
    const int64_t lanes = tile_axes_of(tile).range[LAYOUT_LANE];
    const int64_t subgroups[] = {TILE_SUBGROUP_LANES, lanes};
    form->workers = layout_tile_threads(tile);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0] * 4; i++) {
        form->vector = vectors[i / 4];
        form->chunks = holders[i / 2 % 2];
        form->subgroup = subgroups[i % 2];
        if (blocked_equals(tile, form))
            return true;
    }
    return false;
}

static bool print_blocked_cyclic(base_text *out, const layout_tile *tile) {
    layout_tile digits;
    blocked_form form;
    if (tile->rank != 1 || !as_digits(tile, &digits) || !find_blocked_form(&digits, &form))
        return false;
    base_text_string(out, "blocked_cyclic(");
    if (digits.size[0] == 0)
        base_text_string(out, "*");
    else
        base_text_format(out, "%" PRId64, digits.size[0]);
    base_text_format(out, ", workers=%" PRId64 ", vector=%" PRId64, form.workers, form.vector);
    if (digits.shift[0] != 0)
        base_text_format(out, ", shift=%" PRId64, digits.shift[0]);
    if (form.chunks == LAYOUT_STEP)
        base_text_string(out, ", chunks=step");
    if (form.subgroup != TILE_SUBGROUP_LANES)
        base_text_format(out, ", subgroup=%" PRId64, form.subgroup);
    base_text_string(out, ")");
    return true;
}

/* ---- digits ---- */
/* `next`: where the number of each holder goes on by default; 0 after a runtime radix. */
static void print_axis(base_text *out, const layout_axis *axis, int64_t next[LAYOUT_HOLDER_COUNT]) {
    if (axis->count == 0)
        base_text_string(out, "none");
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        base_text_format(out, "%s%s ", i == 0 ? "" : " | ", layout_holder_name(digit.holder));
        if (digit.radix == 0)
            base_text_string(out, "*");
        else
            base_text_format(out, "%" PRId64, digit.radix);
        if (digit.stride != next[digit.holder])
            base_text_format(out, " @%" PRId64, digit.stride);
        next[digit.holder] *= digit.radix;
    }
}

static void print_list(base_text *out, const char *name, const int64_t *numbers, int count,
                       bool zero_is_runtime) {
    base_text_format(out, ", %s=%s", name, count == 1 ? "" : "(");
    for (int i = 0; i < count; i++) {
        base_text_string(out, i == 0 ? "" : ", ");
        if (numbers[i] == 0 && zero_is_runtime)
            base_text_string(out, "*");
        else
            base_text_format(out, "%" PRId64, numbers[i]);
    }
    base_text_string(out, count == 1 ? "" : ")");
}

static bool print_digits(base_text *out, const layout_tile *tile) {
    layout_tile digits;
    int64_t next[LAYOUT_HOLDER_COUNT] = {1, 1, 1, 1, 1, 1};
    bool shifted = false;
    if (!as_digits(tile, &digits))
        return false;
    tile_axes axes = tile_axes_of(&digits);
    base_text_string(out, "digits(");
    for (int a = 0; a < axes.rank; a++) {
        base_text_string(out, a == 0 ? "" : "; ");
        print_axis(out, &axes.axis[a], next);
        shifted = shifted || digits.shift[a] != 0;
    }
    if (axes.axis[axes.rank].count > 0 || axes.rank == 0) {
        base_text_string(out, axes.rank == 0 ? "replicate " : "; replicate ");
        print_axis(out, &axes.axis[axes.rank], next);
    }
    if (axes.rank > 0)
        print_list(out, "size", digits.size, axes.rank, true);
    if (shifted)
        print_list(out, "shift", digits.shift, axes.rank, false);
    base_text_string(out, ")");
    return true;
}

/* ---- gf2 and bases ---- */
typedef struct basis_part {
    const char *name, *basis;
    int first, bits;
} basis_part;

static void basis_parts(const layout_bits *bits, basis_part parts[4]) {
    int threads = layout_bits_threads(bits);
    parts[0] = (basis_part){"slot", "register", threads, bits->slot_bits};
    parts[1] = (basis_part){"lane", "lane", 0, bits->lane_bits};
    parts[2] = (basis_part){"subgroup", "warp", bits->lane_bits, bits->subgroup_bits};
    parts[3] = (basis_part){"block", "block", threads - bits->block_bits, bits->block_bits};
}

static bool print_gf2(base_text *out, const layout_tile *tile) {
    static const int order[] = {1, 2, 3, 0};
    basis_part parts[4];
    layout_bits bits;
    if (tile->rank != 1 || !layout_tile_to_bits(tile, &bits))
        return false;
    basis_parts(&bits, parts);
    const char *separator = "";
    base_text_string(out, "gf2(");
    for (int i = 0; i < 4; i++) {
        const basis_part *part = &parts[order[i]];
        if (part->bits == 0 && order[i] != 1)
            continue;
        base_text_format(out, "%s%s", separator, part->name);
        for (int b = 0; b < part->bits; b++)
            base_text_format(out, " %" PRIu32, bits.column[part->first + b]);
        separator = " | ";
    }
    if (bits.constant != 0)
        base_text_format(out, ", xor=%" PRIu32, bits.constant);
    base_text_string(out, ")");
    return true;
}

static bool print_triton(base_text *out, const layout_tile *tile) {
    basis_part parts[4];
    layout_bits bits;
    if (tile->rank != 1 || !layout_tile_to_bits(tile, &bits) || bits.constant != 0)
        return false;
    basis_parts(&bits, parts);
    for (int i = 0; i < 4; i++) {
        base_text_format(out, "%s%s=[", i == 0 ? "" : " ", parts[i].basis);
        for (int b = 0; b < parts[i].bits; b++)
            base_text_format(out, "%s%" PRIu32, b == 0 ? "" : ", ",
                             bits.column[parts[i].first + b]);
        base_text_string(out, "]");
    }
    return true;
}

/* ---- CuTe ---- */
/* Shapes and strides of the digits of one mode, by their place in the number of the thread or the
 * slot. */
typedef struct cute_mode {
    int count;
    struct {
        int64_t place, shape, stride;
    } part[(LAYOUT_MAX_RANK + 1) * LAYOUT_MAX_DIGITS];
} cute_mode;

static void insert_part(cute_mode *mode, int64_t place, int64_t shape, int64_t stride) {
    int at = mode->count++;
    for (; at > 0 && mode->part[at - 1].place > place; at--)
        mode->part[at] = mode->part[at - 1];
    mode->part[at].place = place;
    mode->part[at].shape = shape;
    mode->part[at].stride = stride;
}

static void merge_parts(cute_mode *mode) {
    int kept = 0;
    for (int i = 0; i < mode->count; i++) {
        if (kept > 0 &&
            mode->part[i].stride == mode->part[kept - 1].stride * mode->part[kept - 1].shape)
            mode->part[kept - 1].shape *= mode->part[i].shape;
        else
            mode->part[kept++] = mode->part[i];
    }
    mode->count = kept;
}

static void print_mode(base_text *out, const cute_mode *mode, bool strides) {
    if (mode->count == 0)
        base_text_string(out, strides ? "0" : "1");
    if (mode->count > 1)
        base_text_string(out, "(");
    for (int i = 0; i < mode->count; i++)
        base_text_format(out, "%s%" PRId64, i == 0 ? "" : ",",
                         strides ? mode->part[i].stride : mode->part[i].shape);
    if (mode->count > 1)
        base_text_string(out, ")");
}

/* The mode of threads counts lanes, then subgroups of 32. */
static bool cute_modes(const layout_tile *tile, cute_mode modes[2]) {
    tile_axes axes = tile_axes_of(tile);
    int64_t lanes = axes.range[LAYOUT_LANE];
    if (tile->size[0] != axes.box[0] || tile->shift[0] != 0 || axes.range[LAYOUT_STEP] != 1 ||
        axes.range[LAYOUT_GROUP] != 1 || axes.range[LAYOUT_BLOCK] != 1 ||
        lanes > TILE_SUBGROUP_LANES ||
        (lanes < TILE_SUBGROUP_LANES && axes.range[LAYOUT_SUBGROUP] > 1))
        return false;
    for (int a = 0; a <= 1; a++) { /* the axis, then the replicas */
        for (int i = 0; i < axes.axis[a].count; i++) {
            layout_digit digit = axes.axis[a].digits[i];
            int64_t weight = a == 0 ? layout_axis_digit_weight(&axes.axis[0], i) : 0;
            int64_t place =
                digit.stride * (digit.holder == LAYOUT_SUBGROUP ? TILE_SUBGROUP_LANES : 1);
            if (digit.radix != 1)
                insert_part(&modes[digit.holder == LAYOUT_SLOT], place, digit.radix, weight);
        }
    }
    merge_parts(&modes[0]);
    merge_parts(&modes[1]);
    return true;
}

/* A bit tile may have more digits than an axis can hold: each of its bits is a part. */
static bool cute_modes_of_bits(const layout_bits *bits, cute_mode modes[2]) {
    int threads = layout_bits_threads(bits), single = 0, zero = 0;
    for (int p = 0; p < layout_bits_positions(bits); p++) {
        bool slot = p >= threads;
        uint32_t column = bits->column[p];
        insert_part(&modes[slot], INT64_C(1) << (slot ? p - threads : p), 2, column);
        zero += column == 0;
        single += column != 0 && (column & (column - 1)) == 0;
    }
    merge_parts(&modes[0]);
    merge_parts(&modes[1]);
    return bits->constant == 0 && bits->block_bits == 0 && single == bits->index_bits &&
           single + zero == layout_bits_positions(bits) && bits->lane_bits <= TILE_SUBGROUP_BITS &&
           (bits->lane_bits == TILE_SUBGROUP_BITS || bits->subgroup_bits == 0);
}

static bool print_cute(base_text *out, const layout_tile *tile) {
    cute_mode modes[2] = {{0}, {0}};
    bool has = tile->kind == LAYOUT_BITS ? cute_modes_of_bits(&tile->bits, modes)
                                         : tile->rank == 1 && cute_modes(tile, modes);
    if (!has)
        return false;
    for (int strides = 0; strides <= 1; strides++) {
        base_text_string(out, strides ? ":(" : "(");
        print_mode(out, &modes[0], strides == 1);
        base_text_string(out, ",");
        print_mode(out, &modes[1], strides == 1);
        base_text_string(out, ")");
    }
    return true;
}

bool layout_tile_print(base_text *out, const layout_tile *tile, layout_spelling spelling) {
    switch (spelling) {
    case LAYOUT_SPELL_IDENTITY:
        return print_identity(out, tile);
    case LAYOUT_SPELL_BITS:
        return print_bits(out, tile);
    case LAYOUT_SPELL_BLOCKED_CYCLIC:
        return print_blocked_cyclic(out, tile);
    case LAYOUT_SPELL_DIGITS:
        return print_digits(out, tile);
    case LAYOUT_SPELL_GF2:
        return print_gf2(out, tile);
    case LAYOUT_SPELL_CUTE:
        return print_cute(out, tile);
    case LAYOUT_SPELL_TRITON:
        return print_triton(out, tile);
    case LAYOUT_SPELLING_COUNT:
        return false;
    }
    return false;
}

void layout_tile_print_shortest(base_text *out, const layout_tile *tile) {
    for (int spelling = LAYOUT_SPELL_IDENTITY; spelling <= LAYOUT_SPELL_GF2; spelling++)
        if (layout_tile_print(out, tile, (layout_spelling)spelling))
            return;
}
