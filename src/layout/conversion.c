/* Conversions between bit layouts: which position a value comes from, and what moves.
 *
 * M = inverse(source) o destination, column by column. A replicated source has several owners for
 * a value, a coset of its kernel; with positions written as
 *
 *     block | subgroup | lane | slot        most expensive part first
 *
 * the nearest owner is the one whose difference from the asking position is the least number, and
 * "least of a coset" is one reduction by an echelon basis. That choice is linear, so it is made for
 * the columns only. What differs then gives the class.
 *
 * Not here: how the lanes of a subgroup exchange values (shuffle.c), where elements stand in
 * scratch (swizzle.c), layouts that are no bit layouts (conversion_tile.c).
 */
#include "layout/conversion.h"

#include "layout/conversion_internal.h"
#include "layout/memory.h"

uint32_t layout_columns_apply(const uint32_t *columns, uint32_t bits) {
    uint32_t sum = 0;
    for (int i = 0; bits >> i != 0; i++)
        if (bits >> i & 1)
            sum ^= columns[i];
    return sum;
}

/* Slots to the bottom, threads above them; and back. */
static uint32_t by_distance(const layout_bits *bits, uint32_t position) {
    int threads = layout_bits_threads(bits);
    return (position & ((1u << threads) - 1)) << bits->slot_bits | position >> threads;
}

static uint32_t from_distance(const layout_bits *bits, uint32_t distance) {
    return distance >> bits->slot_bits | (distance & ((1u << bits->slot_bits) - 1))
                                             << layout_bits_threads(bits);
}

/* The owner of `index` in the source that is nearest to `asking`; the kernel is by distance. */
static uint32_t nearest_owner(const layout_bits *source, const uint32_t *kernel, int dimension,
                              uint32_t index, uint32_t asking) {
    uint32_t owner = 0, distance;
    (void)layout_bits_owner(source, index, &owner);
    (void)layout_space_express(kernel, kernel, dimension, by_distance(source, owner ^ asking),
                               &distance);
    return from_distance(source, distance) ^ asking;
}

/* The position of the source with the same thread and slot; slots that it has not are 0. */
static uint32_t same_place(const layout_conversion *conversion, int destination_bit) {
    return destination_bit < layout_bits_positions(&conversion->source) ? 1u << destination_bit : 0;
}

static void choose_matrix(layout_conversion *conversion) {
    const layout_bits *source = &conversion->source;
    uint32_t kernel[LAYOUT_MAX_BITS];
    int dimension = layout_bits_kernel(source, kernel);
    for (int i = 0; i < dimension; i++)
        kernel[i] = by_distance(source, kernel[i]);
    layout_space_reduce(kernel, dimension);
    for (int p = 0; p < conversion->position_bits; p++)
        conversion->matrix[p] = nearest_owner(source, kernel, dimension,
                                              conversion->destination.column[p] ^ source->constant,
                                              same_place(conversion, p));
    conversion->constant =
        nearest_owner(source, kernel, dimension, conversion->destination.constant, 0);
}

/* What a difference between the source position and the asking position costs. */
static layout_class class_of(const layout_bits *source, uint32_t difference, bool by_thread) {
    int lanes = source->lane_bits, groups = lanes + source->subgroup_bits;
    int threads = layout_bits_threads(source);
    uint32_t thread = difference & ((1u << threads) - 1);
    if (thread >> groups)
        return LAYOUT_CLUSTER;
    if (thread >> lanes)
        return LAYOUT_SCRATCH;
    if (thread)
        return LAYOUT_SHUFFLE;
    if (difference)
        return by_thread ? LAYOUT_SHUFFLE : LAYOUT_RENAME;
    return LAYOUT_FORWARD;
}

static layout_class classify(const layout_conversion *conversion) {
    const layout_bits *source = &conversion->source;
    int threads = layout_bits_threads(source);
    layout_class worst = class_of(source, conversion->constant, false);
    if (worst == LAYOUT_FORWARD && source->slot_bits != conversion->destination.slot_bits)
        worst = LAYOUT_RENAME;
    for (int p = 0; p < conversion->position_bits; p++) {
        layout_class class_ =
            class_of(source, conversion->matrix[p] ^ same_place(conversion, p), p < threads);
        if (class_ > worst)
            worst = class_;
    }
    return worst;
}

/* Dimension of the functionals of the index that vary with slots only, on both sides: those are
 * constant on the span of all thread columns. */
static int repeat_bits(const layout_bits *source, const layout_bits *destination) {
    uint32_t threads[LAYOUT_MAX_BITS];
    int rank = 0, count = layout_bits_threads(source);
    for (int p = 0; p < count; p++) {
        layout_space_add(threads, &rank, source->column[p]);
        layout_space_add(threads, &rank, destination->column[p]);
    }
    return source->index_bits - rank;
}

static int conflicts(const layout_bits *bits, const layout_swizzle *swizzle) {
    uint32_t words[LAYOUT_MAX_BITS];
    for (int p = 0; p < bits->lane_bits; p++)
        words[p] = layout_swizzle_address(swizzle, bits->column[p]);
    return layout_bank_conflicts(words, bits->lane_bits, CONVERSION_BANKS, 1);
}

static bool refuse(base_arena *arena, layout_fault *fault, const char *what,
                   const int64_t source[3], const int64_t destination[3]) {
    base_text text;
    base_text_init(&text, arena);
    base_text_format(&text, "%s differ: %lld x %lld x %lld against %lld x %lld x %lld", what,
                     (long long)source[0], (long long)source[1], (long long)source[2],
                     (long long)destination[0], (long long)destination[1],
                     (long long)destination[2]);
    *fault = (layout_fault){.slug = "layout-mismatch", .reason = text.bytes, .neighbour = ""};
    return false;
}

static bool comparable(base_arena *arena, const layout_bits *a, const layout_bits *b,
                       layout_fault *fault) {
    if (a->index_bits != b->index_bits) {
        base_text text;
        base_text_init(&text, arena);
        base_text_format(&text, "sizes differ: %lld against %lld elements",
                         (long long)1 << a->index_bits, (long long)1 << b->index_bits);
        *fault = (layout_fault){.slug = "layout-mismatch", .reason = text.bytes, .neighbour = ""};
        return false;
    }
    if (a->lane_bits != b->lane_bits || a->subgroup_bits != b->subgroup_bits ||
        a->block_bits != b->block_bits) {
        const int64_t of_a[3] = {1 << a->lane_bits, 1 << a->subgroup_bits, 1 << a->block_bits};
        const int64_t of_b[3] = {1 << b->lane_bits, 1 << b->subgroup_bits, 1 << b->block_bits};
        return refuse(arena, fault, "lanes x subgroups x blocks", of_a, of_b);
    }
    if (!layout_bits_is_onto(a) || !layout_bits_is_onto(b)) {
        *fault = (layout_fault){.slug = "layout-bijection",
                                .reason = "some index has no owner: the columns do not span the "
                                          "index bits",
                                .neighbour = ""};
        return false;
    }
    return true;
}

bool layout_convert_bits(base_arena *arena, const layout_bits *source,
                         const layout_bits *destination, layout_conversion *conversion,
                         layout_fault *fault) {
    if (!comparable(arena, source, destination, fault))
        return false;
    *conversion = (layout_conversion){.linear = true,
                                      .source = *source,
                                      .destination = *destination,
                                      .position_bits = layout_bits_positions(destination)};
    choose_matrix(conversion);
    conversion->class_ = classify(conversion);
    if (conversion->class_ <= LAYOUT_SHUFFLE && !layout_shuffle_factor(conversion))
        conversion->class_ = LAYOUT_SCRATCH;
    conversion->repeat_bits = repeat_bits(source, destination);
    if (conversion->class_ >= LAYOUT_SCRATCH)
        conversion->scratch_words = (int64_t)1 << source->index_bits;
    (void)layout_swizzle_make(source, destination, 0, 0, CONVERSION_BANK_BITS,
                              &conversion->swizzle);
    conversion->store_conflicts = conflicts(source, &conversion->swizzle);
    conversion->load_conflicts = conflicts(destination, &conversion->swizzle);
    return true;
}

static bool same_map(const layout_bits *a, const layout_bits *b) {
    bool same = a->lane_bits == b->lane_bits && a->subgroup_bits == b->subgroup_bits &&
                a->block_bits == b->block_bits && a->slot_bits == b->slot_bits &&
                a->index_bits == b->index_bits && a->constant == b->constant;
    for (int p = 0; same && p < layout_bits_positions(a); p++)
        same = a->column[p] == b->column[p];
    return same;
}

bool layout_conversion_compose(base_arena *arena, const layout_conversion *first,
                               const layout_conversion *second, layout_conversion *both) {
    layout_fault fault;
    return first->linear && second->linear && same_map(&first->destination, &second->source) &&
           layout_convert_bits(arena, &first->source, &second->destination, both, &fault);
}

uint32_t layout_conversion_source(const layout_conversion *conversion, uint32_t position) {
    return layout_columns_apply(conversion->matrix, position) ^ conversion->constant;
}

const char *layout_class_name(layout_class class_) {
    switch (class_) {
    case LAYOUT_UNDECIDED:
        return "undecided";
    case LAYOUT_FORWARD:
        return "forward";
    case LAYOUT_RENAME:
        return "rename";
    case LAYOUT_SHUFFLE:
        return "shuffle";
    case LAYOUT_SCRATCH:
        return "scratch";
    case LAYOUT_CLUSTER:
        return "cluster";
    }
    return "?";
}
