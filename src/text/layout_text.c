/* Layouts that kernels and arguments spell, read into the form that the IR holds.
 *
 *     bits(3, 4, 5, 0, 1, 2)        lane 4 @8 | subgroup 2 | lane 8        64 threads, 64 elements
 *     identity(1024, slots=4)       lane 32 | subgroup 8 | slot 4          256 threads
 *     identity(BLOCK, slots=4)      the same, with the constant BLOCK = 1024
 *
 * The grammar and its faults are layout/tile.h's; here a fault gets its place in the source, and
 * what is a layout but none that a kernel can have is refused. Two spellings of one function give
 * one axis. Slots are rounded up to a power of two.
 */
#include "text/ast_internal.h"

#include "layout/tile.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LANES = 32, MOST_THREADS = 1024, MOST_ELEMENTS = 32768, MOST_SLOTS = 64 };

typedef struct layout_reader {
    base_arena *arena;
    const base_source *source;
    size_t at, length; /* of the layout in the source */
    base_text text;    /* the layout, numbers in the place of constants */
    size_t *origin;    /* [byte of text, and its end]: where it stands behind `at` */
    layout_tile tile;
    base_diagnostics *diagnostics;
} layout_reader;

static const char *const forms[] = {"bits", "identity", "blocked_cyclic", "digits", "gf2"};
enum { FORM_COUNT = sizeof forms / sizeof forms[0] };

bool text_layout_is_form(const text_name *name) {
    for (int i = 0; i < FORM_COUNT; i++)
        if (strcmp(name->text, forms[i]) == 0)
            return true;
    return false;
}

/* ---- constants ---- */
static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t word_length(const char *text, size_t length) {
    size_t end = 0;
    while (end < length &&
           (is_letter(text[end]) || (end > 0 && text[end] >= '0' && text[end] <= '9')))
        end++;
    return end;
}

/* The value of the constant with this name; false when there is none. */
static bool find_constant(const text_kernel *kernel, const int64_t *consts, const char *name,
                          size_t length, int64_t *value) {
    for (int64_t i = 0; i < kernel->parameter_count; i++) {
        const text_parameter *parameter = &kernel->parameters[i];
        if (parameter->kind != TEXT_PARAMETER_CONST || (size_t)parameter->name->length != length ||
            memcmp(parameter->name->text, name, length) != 0)
            continue;
        *value = consts[parameter->ordinal];
        return true;
    }
    return false;
}

/* Bytes of the text from here on stand at `from` in the source. */
static void append(layout_reader *r, const char *text, size_t length, size_t from, bool together) {
    for (size_t i = 0; i < length; i++)
        r->origin[(size_t)r->text.length + i] = together ? from : from + i;
    base_text_append(&r->text, text, length);
}

/* The text with constants replaced by their numbers. */
static void expand_constants(layout_reader *r, const text_kernel *kernel, const int64_t *consts) {
    enum { NUMBER = 24 };
    const char *text = r->source->text + r->at;
    base_text_init(&r->text, r->arena);
    r->origin = BASE_NEW_ARRAY(r->arena, size_t, r->length * NUMBER + 1);
    for (size_t i = 0; i < r->length;) {
        char number[NUMBER];
        int64_t value = 0;
        size_t word = word_length(text + i, r->length - i);
        if (word > 0 && find_constant(kernel, consts, text + i, word, &value)) {
            int digits = snprintf(number, sizeof number, "%" PRId64, value);
            append(r, number, (size_t)digits, i, true);
        } else {
            word = word > 0 ? word : 1;
            append(r, text + i, word, i, false);
        }
        i += word;
    }
    r->origin[r->text.length] = r->length;
}

/* ---- findings ---- */
static base_diagnostic *report(layout_reader *r, const char *slug, size_t at, size_t length,
                               const char *message) {
    size_t all = (size_t)r->text.length;
    at = at < all ? at : all;
    length = length < all - at ? length : all - at;
    length = r->origin[at + length] - r->origin[at];
    at = r->origin[at];
    base_diagnostic *item = base_diagnostics_add(
        r->diagnostics, slug, base_location_at(r->source, r->at + at, length), "%s", message);
    if (length > 0)
        item->found =
            base_diagnostics_text(r->diagnostics, "`%.*s`%s", length < 80 ? (int)length : 80,
                                  r->source->text + r->at + at, length > 80 ? " ..." : "");
    return item;
}

static bool reject(layout_reader *r, const char *slug, const char *message, const char *expected,
                   const char *hint) {
    base_diagnostic *item = report(r, slug, 0, (size_t)r->text.length, message);
    item->expected = expected;
    item->hint = hint;
    return false;
}

/* ---- what a kernel can have ---- */
/* Of slots, lanes and subgroups only. */
static bool check_holders(layout_reader *r) {
    const layout_tile *tile = &r->tile;
    bool steps = false, blocks = false;
    for (int i = 0; tile->kind == LAYOUT_DIGITS && i < tile->axis[0].count; i++) {
        layout_holder holder = tile->axis[0].digits[i].holder;
        steps = steps || holder == LAYOUT_STEP || holder == LAYOUT_GROUP;
        blocks = blocks || holder == LAYOUT_BLOCK;
    }
    blocks = blocks || (tile->kind == LAYOUT_BITS && tile->bits.block_bits > 0) ||
             layout_axis_has(&tile->replicas, LAYOUT_BLOCK);
    if (!steps && !blocks)
        return true;
    return reject(r, "unsupported-layout",
                  steps ? "a layout of steps or groups is not yet in kernel text"
                        : "a layout of several blocks is not yet in kernel text",
                  "slots, lanes and subgroups", "the planner makes such layouts of free tiles");
}

static bool check_map(layout_reader *r) {
    if (r->tile.rank != 1)
        return reject(r, "unsupported-layout", "a layout of several axes is not yet in kernel text",
                      "one axis", "give each axis its own `arange`");
    if (r->tile.shift[0] != 0)
        return reject(r, "unsupported-layout", "a shifted layout is not yet in kernel text",
                      "no shift", "leave out `shift=`");
    return check_holders(r);
}

/* What `bits` and `identity` may ask for; others only as much as a group holds. */
static bool check_geometry(layout_reader *r) {
    layout_fault fault = {0};
    const char *text = r->text.bytes;
    bool seeded = strncmp(text, "bits", 4) == 0 || strncmp(text, "identity", 8) == 0;
    if (seeded && !layout_tile_check_kernel(r->arena, &r->tile, &fault))
        return reject(r, fault.slug, fault.reason,
                      "32 to 1024 threads and 1 to 32 slots, powers of two",
                      layout_fault_hint(r->diagnostics, &fault));
    int64_t threads = layout_tile_threads(&r->tile), size = r->tile.size[0];
    if (threads < LANES || threads > MOST_THREADS || threads % LANES != 0) {
        const char *message = base_diagnostics_text(
            r->diagnostics, "%lld threads are no whole subgroups of one group", (long long)threads);
        return reject(r, "layout-geometry", message, "32, 64, 96, ... or 1024 threads",
                      threads < LANES ? "digits `; replicate lane N` make up for lanes that own "
                                        "nothing of their own"
                                      : NULL);
    }
    if (size < 1 || size > MOST_ELEMENTS) {
        const char *message = base_diagnostics_text(
            r->diagnostics, "%lld elements are too many for one tile", (long long)size);
        return reject(r, "layout-geometry", message, "at most 32768 elements", NULL);
    }
    return true;
}

/* Lanes of a subgroup that the axis and the replicas count: 32 of them. */
static bool check_lanes(layout_reader *r, const layout_axis *axis) {
    int64_t lanes = layout_axis_radix(axis, LAYOUT_LANE);
    int64_t subgroups = layout_axis_radix(axis, LAYOUT_SUBGROUP);
    int64_t replicas = layout_tile_threads(&r->tile) / (lanes * subgroups);
    if (lanes == LANES || (lanes < LANES && lanes * replicas >= LANES))
        return true;
    const char *message = base_diagnostics_text(r->diagnostics, "a subgroup of %lld lanes",
                                                (long long)(lanes * replicas));
    return reject(r, "layout-geometry", message, "subgroups of 32 lanes",
                  "write `lane 32 | subgroup N`");
}

/* Slots are a power of two: the last rounds of an axis are made up by slots that own nothing. */
static bool round_slots(layout_reader *r, layout_axis *axis) {
    int64_t slots = layout_axis_radix(axis, LAYOUT_SLOT), rounded = 1;
    while (rounded < slots)
        rounded *= 2;
    int last = axis->count - 1;
    if (rounded != slots && axis->digits[last].holder == LAYOUT_SLOT) {
        int64_t stride = layout_axis_digit_stride(axis, last);
        int64_t others = slots / axis->digits[last].radix;
        if (stride == others && (others & (others - 1)) == 0)
            axis->digits[last].radix = rounded / others;
    }
    if (layout_axis_radix(axis, LAYOUT_SLOT) == rounded && rounded <= MOST_SLOTS)
        return true;
    const char *message = base_diagnostics_text(
        r->diagnostics, "%lld slots are no power of two up to %d", (long long)slots, MOST_SLOTS);
    return reject(r, "layout-geometry", message, "1, 2, 4, 8, 16, 32 or 64 slots",
                  slots > MOST_SLOTS ? "more threads"
                                     : "round the size up: a tile may have fewer elements than its "
                                       "layout");
}

static bool read_layout(layout_reader *r, text_layout *layout) {
    layout_fault fault = {0};
    if (!layout_tile_parse(r->arena, r->text.bytes, (size_t)r->text.length, &r->tile, &fault)) {
        base_diagnostic *item = report(r, fault.slug, fault.at, fault.length, fault.reason);
        item->hint = layout_fault_hint(r->diagnostics, &fault);
        return false;
    }
    if (!check_map(r) || !check_geometry(r))
        return false;
    base_text spelling;
    base_text_init(&spelling, r->arena);
    layout_tile_print_shortest(&spelling, &r->tile);
    layout->spelling = spelling.bytes;
    layout->size = r->tile.size[0];
    layout->threads = layout_tile_threads(&r->tile);
    layout_tile_canonicalise(&r->tile);
    if (!layout_tile_to_axis(&r->tile, &layout->axis))
        return reject(r, "unsupported-layout", "a layout that mixes bits is not yet in kernel text",
                      "each bit of the index in one bit of slot, lane or subgroup, and `xor=`",
                      "`croft layout` shows and converts it");
    return check_lanes(r, &layout->axis) && round_slots(r, &layout->axis);
}

void text_layout_read(base_arena *arena, const text_kernel *kernel, const int64_t *consts,
                      const base_source *source, size_t at, size_t length, text_layout *layout,
                      base_diagnostics *diagnostics) {
    layout_reader r = {
        .arena = arena, .source = source, .at = at, .length = length, .diagnostics = diagnostics};
    expand_constants(&r, kernel, consts);
    *layout = (text_layout){.location = base_location_at(source, at, length)};
    layout->known = read_layout(&r, layout);
}
