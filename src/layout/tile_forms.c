/* Tiles: well-formedness, and from one way of holding a map to the other.
 *
 *     digits(slot 4 | lane 32 | subgroup 8)      columns slot 1 2, lane 4 8 .. 64, subgroup 128 ..
 *     gf2(lane 1 4 | slot 2)                     digits(lane 2 | slot 2 | lane 2)
 *
 * A tile of digits has a bit form when every radix is a power of two, every size its box, and
 * nothing is shifted. A bit tile has digits when each column is one bit of the index, or none (a
 * replica), and the constant is zero. Several axes are numbered with the last one in the low bits.
 */
#include "layout/tile_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <string.h>

/* The exponent of a power of two; -1 for other numbers. */
static int exponent_of(int64_t number) {
    int exponent = 0;
    if (number < 1 || (number & (number - 1)) != 0)
        return -1;
    while (number >> exponent != 1)
        exponent++;
    return exponent;
}

/* The number of the first position bit of each holder, in the order that bits.h packs. */
static void first_bits(const layout_bits *bits, int first[LAYOUT_HOLDER_COUNT]) {
    first[LAYOUT_LANE] = 0;
    first[LAYOUT_SUBGROUP] = bits->lane_bits;
    first[LAYOUT_BLOCK] = bits->lane_bits + bits->subgroup_bits;
    first[LAYOUT_SLOT] = bits->lane_bits + bits->subgroup_bits + bits->block_bits;
    first[LAYOUT_STEP] = first[LAYOUT_GROUP] = 0; /* hold nothing */
}

static bool holder_bits(const tile_axes *axes, layout_bits *bits) {
    *bits = (layout_bits){.lane_bits = exponent_of(axes->range[LAYOUT_LANE]),
                          .subgroup_bits = exponent_of(axes->range[LAYOUT_SUBGROUP]),
                          .block_bits = exponent_of(axes->range[LAYOUT_BLOCK]),
                          .slot_bits = exponent_of(axes->range[LAYOUT_SLOT])};
    return bits->lane_bits >= 0 && bits->subgroup_bits >= 0 && bits->block_bits >= 0 &&
           bits->slot_bits >= 0 && axes->range[LAYOUT_STEP] == 1 &&
           axes->range[LAYOUT_GROUP] == 1 && layout_bits_positions(bits) <= LAYOUT_MAX_BITS;
}

/* Fills the columns of one axis, whose indices begin at bit bits->index_bits. */
static bool axis_columns(const layout_axis *axis, layout_bits *bits) {
    int first[LAYOUT_HOLDER_COUNT];
    first_bits(bits, first);
    for (int i = 0; i < axis->count; i++) {
        layout_digit digit = axis->digits[i];
        int radix_bits = exponent_of(digit.radix), stride_bits = exponent_of(digit.stride);
        if (radix_bits < 0 || (stride_bits < 0 && radix_bits > 0))
            return false;
        for (int b = 0; b < radix_bits; b++)
            bits->column[first[digit.holder] + stride_bits + b] = 1u << bits->index_bits++;
    }
    return true;
}

bool layout_tile_to_bits(const layout_tile *tile, layout_bits *bits) {
    if (tile->kind == LAYOUT_BITS) {
        *bits = tile->bits;
        return true;
    }
    tile_axes axes = tile_axes_of(tile);
    if (!holder_bits(&axes, bits))
        return false;
    for (int a = tile->rank - 1; a >= 0; a--) {
        if (tile->size[a] != axes.box[a] || !axis_columns(&axes.axis[a], bits))
            return false; /* what is shifted has a size below its box */
    }
    return true;
}

/* The digit of one position bit. */
static layout_digit bit_digit(const layout_bits *bits, int position_bit) {
    static const layout_holder holders[] = {LAYOUT_SLOT, LAYOUT_BLOCK, LAYOUT_SUBGROUP,
                                            LAYOUT_LANE}; /* from the highest bits down */
    int first[LAYOUT_HOLDER_COUNT];
    layout_digit digit = {.radix = 2};
    first_bits(bits, first);
    for (int h = 0; h < 4; h++) {
        if (position_bit < first[holders[h]])
            continue;
        digit.holder = holders[h];
        digit.stride = INT64_C(1) << (position_bit - first[holders[h]]);
        return digit;
    }
    return digit;
}

bool tile_bits_to_digits(const layout_bits *bits, layout_tile *tile) {
    int positions = layout_bits_positions(bits), single = 0;
    *tile =
        (layout_tile){.kind = LAYOUT_DIGITS, .rank = 1, .size = {INT64_C(1) << bits->index_bits}};
    for (int p = 0; p < positions; p++)
        if (bits->column[p] == 0 && !tile_axis_push(&tile->replicas, bit_digit(bits, p)))
            return false;
    for (int b = 0; b < bits->index_bits; b++) {
        for (int p = 0; p < positions; p++) {
            if (bits->column[p] != 1u << b)
                continue;
            single++;
            if (!tile_axis_push(&tile->axis[0], bit_digit(bits, p)))
                return false;
        }
    }
    int zero = 0;
    for (int p = 0; p < positions; p++)
        zero += bits->column[p] == 0;
    return bits->constant == 0 && single == bits->index_bits && single + zero == positions;
}

void layout_tile_canonicalise(layout_tile *tile) {
    layout_bits bits;
    if (tile->rank == 1 && layout_tile_to_bits(tile, &bits)) {
        *tile = (layout_tile){
            .kind = LAYOUT_BITS, .rank = 1, .size = {INT64_C(1) << bits.index_bits}, .bits = bits};
        return;
    }
    tile_axes axes = tile_axes_of(tile);
    for (int a = 0; a < tile->rank; a++)
        tile->axis[a] = tile_axis_merged(&axes.axis[a]);
    tile->replicas = tile_replicas_merged(&axes);
}

/* ---- well-formedness ---- */
static bool found(tile_finding *finding, tile_fault_id id, tile_part part, const char *reason) {
    finding->id = id;
    finding->part = part;
    finding->reason = reason;
    return false;
}

static bool check_digits(const layout_axis *axes, int rank, tile_finding *finding) {
    const char *reason = layout_axes_partition(axes, rank + 1, &finding->axis, &finding->digit);
    if (reason != NULL)
        return found(finding, TILE_FAULT_STRIDE, TILE_PART_DIGIT, reason);
    for (int a = 0; a <= rank; a++) {
        finding->axis = a;
        finding->digit = 0;
        reason = layout_axis_check(&axes[a]);
        for (int i = 0; reason == NULL && i + 1 < axes[a].count; i++)
            if (axes[a].digits[i].radix == 0)
                reason = "only the most significant digit may have a runtime radix";
        if (reason == NULL && a == rank && layout_axis_digit_weight(&axes[a], axes[a].count) == 0)
            reason = "replicas have constant radices";
        if (reason != NULL)
            return found(finding, TILE_FAULT_DIGITS, TILE_PART_DIGIT, reason);
    }
    return true;
}

/* Positions are counted in 64 bits: threads, slots and replicas together. */
static bool check_counts(const layout_axis *axes, int rank, tile_finding *finding) {
    int64_t positions = 1;
    for (int a = 0; a <= rank; a++)
        for (int i = 0; i < axes[a].count; i++)
            if (axes[a].digits[i].radix != 0 &&
                !base_checked_mul(positions, axes[a].digits[i].radix, &positions)) {
                finding->axis = a;
                finding->digit = i;
                return found(finding, TILE_FAULT_LIMIT, TILE_PART_DIGIT,
                             "the positions of all holders do not fit 64 bits");
            }
    return true;
}

int64_t tile_shift_limit(const layout_axis *axis) {
    bool vector = axis->count > 0 && axis->digits[0].holder == LAYOUT_SLOT;
    return vector ? axis->digits[0].radix : 1;
}

static bool check_size(const layout_tile *tile, int a, tile_finding *finding) {
    int64_t box = layout_axis_digit_weight(&tile->axis[a], tile->axis[a].count), end = 0;
    finding->axis = a;
    if (tile->shift[a] < 0 || tile->shift[a] >= tile_shift_limit(&tile->axis[a]))
        return found(finding, TILE_FAULT_SHIFT, TILE_PART_SHIFT,
                     "a shift is less than the innermost digit, of slots");
    if (tile->size[a] < 0)
        return found(finding, TILE_FAULT_SIZE, TILE_PART_SIZE, "a size is at least 1");
    if (tile->size[a] == 0)
        return box == 0 || box > tile->shift[a] ||
               found(finding, TILE_FAULT_SHIFT, TILE_PART_SHIFT, "the shift leaves no index");
    if (box == 0)
        return found(finding, TILE_FAULT_SIZE, TILE_PART_SIZE,
                     "a runtime radix has a runtime size");
    return (base_checked_add(tile->size[a], tile->shift[a], &end) && end <= box) ||
           found(finding, TILE_FAULT_SIZE, TILE_PART_SIZE,
                 "size and shift are beyond the product of the radices");
}

bool tile_digits_check(const layout_tile *tile, tile_finding *finding) {
    layout_axis axes[LAYOUT_MAX_RANK + 1];
    *finding = (tile_finding){0};
    if (tile->rank < 0 || tile->rank > LAYOUT_MAX_RANK)
        return found(finding, TILE_FAULT_RANK, TILE_PART_WHOLE, "a tile has 0 to 4 axes");
    for (int a = 0; a < tile->rank; a++)
        axes[a] = tile->axis[a];
    axes[tile->rank] = tile->replicas;
    for (int a = 0; a <= tile->rank; a++)
        if (axes[a].count < 0 || axes[a].count > LAYOUT_MAX_DIGITS)
            return found(finding, TILE_FAULT_LIMIT, TILE_PART_WHOLE,
                         "an axis has at most 16 digits");
    for (int a = 0; a <= tile->rank; a++)
        if (axes[a].exclusive_or != 0)
            return found(finding, TILE_FAULT_DIGITS, TILE_PART_WHOLE,
                         "digits have no xor: a bit layout holds it as its constant");
    layout_axes_resolve(axes, tile->rank + 1);
    if (!check_digits(axes, tile->rank, finding) || !check_counts(axes, tile->rank, finding))
        return false;
    for (int a = 0; a < tile->rank; a++)
        if (!check_size(tile, a, finding))
            return false;
    return true;
}

static bool check_bits(tile_reader *r, const layout_tile *tile) {
    const layout_bits *bits = &tile->bits;
    int least = bits->lane_bits;
    least = bits->subgroup_bits < least ? bits->subgroup_bits : least;
    least = bits->block_bits < least ? bits->block_bits : least;
    least = bits->slot_bits < least ? bits->slot_bits : least;
    if (tile->rank != 1)
        return tile_fault(r, TILE_FAULT_RANK, 0, 0, "a bit layout has one axis");
    if (least < 0 || bits->index_bits < 0 || bits->index_bits > LAYOUT_MAX_BITS ||
        bits->lane_bits > LAYOUT_MAX_BITS || bits->subgroup_bits > LAYOUT_MAX_BITS ||
        bits->block_bits > LAYOUT_MAX_BITS || bits->slot_bits > LAYOUT_MAX_BITS ||
        layout_bits_positions(bits) > LAYOUT_MAX_BITS)
        return tile_fault(r, TILE_FAULT_LIMIT, 0, 0, "positions and indices have up to %d bits",
                          LAYOUT_MAX_BITS);
    uint32_t all = bits->constant;
    for (int p = 0; p < layout_bits_positions(bits); p++)
        all |= bits->column[p];
    if (all >> bits->index_bits != 0)
        return tile_fault(r, TILE_FAULT_MASK, 0, 0, "a column or the constant is beyond the index");
    if (tile->size[0] != INT64_C(1) << bits->index_bits || tile->shift[0] != 0)
        return tile_fault(r, TILE_FAULT_SIZE, 0, 0, "a bit layout has 2^bits indices");
    return layout_bits_is_onto(bits) ||
           tile_fault(r, TILE_FAULT_BIJECTION, 0, 0, "some indices have no owner");
}

bool layout_tile_check(base_arena *arena, const layout_tile *tile, layout_fault *fault) {
    tile_reader r = {.arena = arena, .text = "", .fault = fault};
    tile_finding finding;
    if (tile->kind == LAYOUT_BITS)
        return check_bits(&r, tile);
    return tile_digits_check(tile, &finding) ||
           tile_fault(&r, finding.id, 0, 0, "%s", finding.reason);
}

/* ---- geometry of kernels ---- */
enum { LEAST_THREAD_BITS = 5, MOST_THREAD_BITS = 10, MOST_SLOT_BITS = 5 };

static int clamp(int number, int least, int most) {
    return number < least ? least : number > most ? most : number;
}

/* The identity with as few thread and slot bits more or less as possible. */
static const char *nearest_geometry(base_arena *arena, const layout_tile *tile) {
    layout_bits bits;
    layout_tile near;
    base_text text;
    base_text_init(&text, arena);
    if (!layout_tile_to_bits(tile, &bits))
        return "";
    int slot_bits = clamp(bits.slot_bits, 0, MOST_SLOT_BITS);
    int threads =
        clamp(layout_bits_positions(&bits) - slot_bits, LEAST_THREAD_BITS, MOST_THREAD_BITS);
    near = layout_tile_identity(INT64_C(1) << (threads + slot_bits), INT64_C(1) << slot_bits);
    layout_tile_print_shortest(&text, &near);
    return text.bytes;
}

bool layout_tile_check_kernel(base_arena *arena, const layout_tile *tile, layout_fault *fault) {
    tile_reader r = {.arena = arena, .text = "", .fault = fault};
    int64_t threads = layout_tile_threads(tile), slots = layout_tile_capacity(tile);
    if (threads < 32 || threads > 1024 || (threads & (threads - 1)) != 0)
        tile_fault(&r, TILE_FAULT_GEOMETRY, 0, 0,
                   "threads are 32, 64, 128, 256, 512 or 1024 here, not %" PRId64, threads);
    else if (slots > 32 || (slots & (slots - 1)) != 0)
        tile_fault(&r, TILE_FAULT_GEOMETRY, 0, 0,
                   "slots are 1, 2, 4, 8, 16 or 32 here, not %" PRId64, slots);
    else
        return true;
    fault->neighbour = nearest_geometry(arena, tile);
    return false;
}
