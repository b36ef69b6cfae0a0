/* Conversions of whole tiles: bit layouts by linear algebra, the others by their owner functions.
 *
 * A conversion of layouts that are no bit layouts goes through scratch where anything but the slot
 * moves, or the slot moves differently from lane to lane: the element stands in row-major order,
 * rows padded to an odd number of words, so that columns of a tile meet every bank. Class and
 * conflicts are found by visiting the positions (tile_access_internal.h); a tile that is too large
 * for that is taken to need scratch.
 */
#include "base/checked.h"
#include "layout/conversion_internal.h"
#include "layout/memory.h"
#include "layout/tile_access_internal.h"

/* ---- what cannot be converted ---- */

static bool refuse(base_arena *arena, const char *what, const layout_tile *source,
                   const layout_tile *destination, layout_fault *fault) {
    base_text text;
    base_text_init(&text, arena);
    base_text_format(&text, "%s differ between ", what);
    layout_tile_print_shortest(&text, source);
    base_text_string(&text, " and ");
    layout_tile_print_shortest(&text, destination);
    *fault = (layout_fault){.slug = "layout-mismatch", .reason = text.bytes, .neighbour = ""};
    return false;
}

static bool comparable(base_arena *arena, const layout_tile *source, const layout_tile *destination,
                       layout_fault *fault) {
    static const layout_holder fixed[] = {LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK, LAYOUT_GROUP};
    int64_t from[LAYOUT_HOLDER_COUNT], to[LAYOUT_HOLDER_COUNT];
    if (source->rank != destination->rank)
        return refuse(arena, "the axes", source, destination, fault);
    for (int axis = 0; axis < source->rank; axis++)
        if (source->size[axis] != destination->size[axis])
            return refuse(arena, "the sizes", source, destination, fault);
    layout_tile_ranges(source, from);
    layout_tile_ranges(destination, to);
    for (int i = 0; i < 4; i++)
        if (from[fixed[i]] != to[fixed[i]])
            return refuse(arena, i < 3 ? "the threads" : "the groups", source, destination, fault);
    return true;
}

/* The steps of a conversion inside subgroups do not ask which one it is. */
static bool is_alike(const layout_conversion *conversion) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    if (!conversion->linear)
        return conversion->renames != NULL;
    for (int bit = shuffle->lane_bits; bit < shuffle->thread_bits; bit++)
        if (shuffle->before[bit] != 0 || shuffle->after[bit] != 0 ||
            shuffle->linear[bit] != 1u << bit)
            return false;
    return shuffle->offset_constant >> shuffle->lane_bits == 0;
}

static int64_t box_of(const layout_axis *axis) {
    return layout_axis_digit_weight(axis, axis->count);
}

bool layout_convert_axes(base_arena *arena, const layout_axis *source,
                         const layout_axis *destination, int64_t size, int64_t lanes,
                         int64_t subgroups, layout_conversion *conversion, layout_fault *fault) {
    int64_t box = box_of(source);
    if (box != 0 && box == box_of(destination))
        size = box;
    layout_tile from, to;
    if (!layout_tile_of_axis(source, size, lanes, subgroups, &from) ||
        !layout_tile_of_axis(destination, size, lanes, subgroups, &to)) {
        *fault = (layout_fault){.slug = "layout-mismatch",
                                .reason = "a layout with xor has all elements of its box",
                                .neighbour = ""};
        return false;
    }
    if (!layout_convert(arena, &from, &to, conversion, fault))
        return false;
    bool moves = conversion->class_ == LAYOUT_RENAME || conversion->class_ == LAYOUT_SHUFFLE;
    if (moves && !is_alike(conversion))
        conversion->class_ = LAYOUT_SCRATCH;
    return true;
}

/* ---- the class, by visiting ---- */

/* The copy in the asker's own place, as far as digits without an axis go. */
static void nearest_copy(const layout_tile *source, const layout_position *asking,
                         layout_position *owner) {
    if (source->kind != LAYOUT_DIGITS)
        return;
    tile_axes axes = tile_axes_of(source);
    const layout_axis *replicas = &axes.axis[axes.rank];
    for (int i = 0; i < replicas->count; i++) {
        layout_digit digit = replicas->digits[i];
        int64_t own = digit.radix == 0 ? asking->number[digit.holder] / digit.stride
                                       : asking->number[digit.holder] / digit.stride % digit.radix;
        owner->number[digit.holder] += own * digit.stride;
    }
}

/* What moves between the owner and the asker. Another step's value needs scratch. */
static layout_class class_of(const layout_position *owner, const layout_position *asking) {
    static const struct {
        layout_holder holder;
        layout_class class_;
    } parts[] = {{LAYOUT_BLOCK, LAYOUT_CLUSTER},
                 {LAYOUT_SUBGROUP, LAYOUT_SCRATCH},
                 {LAYOUT_LANE, LAYOUT_SCRATCH},
                 {LAYOUT_STEP, LAYOUT_SCRATCH},
                 {LAYOUT_SLOT, LAYOUT_RENAME}};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (owner->number[parts[i].holder] != asking->number[parts[i].holder])
            return parts[i].class_;
    return LAYOUT_FORWARD;
}

/* False when a value would have to come from another group. */
static bool classify(base_arena *arena, const layout_tile *source, tile_access *access,
                     layout_conversion *conversion) {
    layout_class *class_ = &conversion->class_;
    int64_t slots = access->range[LAYOUT_SLOT], source_range[LAYOUT_HOLDER_COUNT];
    int64_t *names = BASE_NEW_ARRAY(arena, int64_t, slots); /* source slot + 1 */
    layout_tile_ranges(source, source_range);
    *class_ = source_range[LAYOUT_SLOT] == slots ? LAYOUT_FORWARD : LAYOUT_RENAME;
    do {
        for (int64_t lane = 0; lane < access->range[LAYOUT_LANE]; lane++) {
            layout_position asking = access->at, owner;
            int64_t index[LAYOUT_MAX_RANK];
            asking.number[LAYOUT_LANE] = lane;
            if (!tile_access_index(access, lane, 0, index) ||
                !layout_tile_owner(source, index, &owner))
                continue;
            nearest_copy(source, &asking, &owner);
            if (owner.number[LAYOUT_GROUP] != asking.number[LAYOUT_GROUP])
                return false;
            layout_class here = class_of(&owner, &asking);
            int64_t *name = &names[asking.number[LAYOUT_SLOT]];
            if (here <= LAYOUT_RENAME && *name != 0 && *name != owner.number[LAYOUT_SLOT] + 1)
                here = LAYOUT_SCRATCH;
            *name = owner.number[LAYOUT_SLOT] + 1;
            *class_ = here > *class_ ? here : *class_;
        }
    } while (tile_access_next(access));
    for (int64_t slot = 0; slot < slots; slot++)
        names[slot] -= names[slot] != 0;
    conversion->renames = *class_ == LAYOUT_RENAME ? names : NULL;
    return true;
}

/* ---- row-major scratch ---- */

static bool place_rows(const layout_tile *tile, layout_conversion *conversion) {
    int64_t row = tile->rank > 0 ? tile->size[tile->rank - 1] : 1,
            words = tile->rank > 1 ? row | 1 : row;
    conversion->row_words = words;
    for (int axis = 0; axis < tile->rank - 1; axis++)
        if (!base_checked_mul(words, tile->size[axis], &words))
            return false;
    conversion->scratch_words = words;
    return words > 0;
}

int64_t layout_conversion_address(const layout_conversion *conversion, const layout_tile *tile,
                                  const int64_t index[LAYOUT_MAX_RANK]) {
    int64_t row = 0;
    if (tile->rank == 0)
        return 0;
    for (int axis = 0; axis < tile->rank - 1; axis++)
        row = row * tile->size[axis] + index[axis];
    return row * conversion->row_words + index[tile->rank - 1];
}

/* Words that the busiest bank serves for up to 32 lanes; equal words are one. */
static int busiest_bank(const int64_t *words, int count) {
    int most = 1, in_bank[CONVERSION_BANKS] = {0};
    for (int i = 0; i < count; i++) {
        bool first = true;
        for (int k = 0; k < i && first; k++)
            first = words[k] != words[i];
        int *bank = &in_bank[words[i] % CONVERSION_BANKS];
        *bank += first;
        most = *bank > most ? *bank : most;
    }
    return most;
}

static int conflicts_of(const layout_tile *tile, const layout_conversion *conversion) {
    tile_access access;
    int worst = 1;
    if (!tile_access_first(tile, 1, &access))
        return CONVERSION_BANKS; /* not visited: the worst is assumed */
    do {
        for (int64_t first = 0; first < access.range[LAYOUT_LANE]; first += CONVERSION_BANKS) {
            int64_t words[CONVERSION_BANKS], index[LAYOUT_MAX_RANK];
            int count = 0;
            for (int64_t lane = first; lane < first + CONVERSION_BANKS; lane++)
                if (lane < access.range[LAYOUT_LANE] && tile_access_index(&access, lane, 0, index))
                    words[count++] = layout_conversion_address(conversion, tile, index);
            int degree = busiest_bank(words, count);
            worst = degree > worst ? degree : worst;
        }
    } while (tile_access_next(&access));
    return worst;
}

bool layout_convert(base_arena *arena, const layout_tile *source, const layout_tile *destination,
                    layout_conversion *conversion, layout_fault *fault) {
    layout_bits from, to;
    tile_access access;
    if (!comparable(arena, source, destination, fault))
        return false;
    if (layout_tile_to_bits(source, &from) && layout_tile_to_bits(destination, &to))
        return layout_convert_bits(arena, &from, &to, conversion, fault);
    *conversion =
        (layout_conversion){.class_ = LAYOUT_FORWARD, .store_conflicts = 1, .load_conflicts = 1};
    if (layout_tile_equal(source, destination))
        return true; /* forward */
    conversion->class_ = LAYOUT_SCRATCH;
    if (tile_access_first(destination, 1, &access) && access.whole &&
        !classify(arena, source, &access, conversion))
        return refuse(arena, "the groups of a value", source, destination, fault);
    if (conversion->class_ < LAYOUT_SCRATCH || !place_rows(source, conversion))
        return true;
    conversion->store_conflicts = conflicts_of(source, conversion);
    conversion->load_conflicts = conflicts_of(destination, conversion);
    return true;
}
