/* Where elements stand in scratch, so that neither side of a conversion conflicts.
 *
 * Banks see the low address bits only. A subgroup that stores reaches the span A of its lane
 * columns at once, one that loads the span B; an access has no conflict when the bank map is
 * injective there, that is when the kernel X of the bank map meets A and B in 0 alone. So X is a
 * common complement of A and B (each filled up to one dimension per bank bit), and the address is
 * any coordinate system with X as its high bits:
 *
 *     address bits    vector | A: banks     | X: rows
 *                     0..    | up to banks  | the rest
 *
 * Vectors: an access of 2^v elements a lane needs v low address bits that vary with v slot bits of
 * that side and nothing else of it. For the side with the shorter vectors they must do so on both
 * sides; the other's further bits may be lanes here. Wide accesses run in halves and quarters of
 * the subgroup, so that as many lane bits less take part. Everything then happens inside the
 * subspace on which the vector bits are 0.
 *
 *     rows of 32 words, read by columns: index = lane + 32 slot -> slot + 32 lane
 *     A = bits 0-4, B = bits 5-9, X = {a_i ^ b_i}: bank = row ^ column, the classic XOR swizzle
 */
#include "layout/conversion_internal.h"

static int parity(uint32_t mask) {
    return __builtin_parity(mask);
}

/* The functional of the index (a mask of index bits) that is bit p of the canonical owner. */
static uint32_t coordinate(const layout_bits *bits, int p) {
    uint32_t mask = 0;
    for (int b = 0; b < bits->index_bits; b++) {
        uint32_t owner = 0;
        (void)layout_bits_owner(bits, 1u << b ^ bits->constant, &owner);
        mask |= (owner >> p & 1) << b;
    }
    return mask;
}

/* The number of the one slot bit that the functional follows in this layout; -1 when it varies with
 * a thread bit or with several slot bits. */
static int slot_followed(const layout_bits *bits, uint32_t functional) {
    int threads = layout_bits_threads(bits), found = -1;
    for (int p = 0; p < layout_bits_positions(bits); p++) {
        if (!parity(functional & bits->column[p]))
            continue;
        if (p < threads || found >= 0)
            return -1;
        found = p - threads;
    }
    return found;
}

typedef struct vectors {
    const layout_bits *wide, *narrow; /* the side with the longer vectors, and the other */
    int wide_bits, narrow_bits, bank_bits;
    int lane_dimensions; /* bank bits that lanes of one access tell apart, wide side */
    uint32_t functional[LAYOUT_VECTOR_BITS];
    int wide_slot[LAYOUT_VECTOR_BITS], narrow_slot[LAYOUT_VECTOR_BITS];
} vectors;

/* A basis of the vectors spanned by `span` on which the first `count` functionals are 0. */
static int where_zero(const uint32_t *functional, int count, const uint32_t *span, int span_count,
                      uint32_t *basis) {
    int rank = 0;
    for (int i = 0; i < span_count; i++)
        layout_space_add(basis, &rank, span[i]);
    for (int f = 0; f < count; f++) {
        int pivot = -1, kept = 0;
        for (int i = 0; i < rank && pivot < 0; i++)
            if (parity(functional[f] & basis[i]))
                pivot = i;
        if (pivot < 0)
            continue;
        uint32_t vector = basis[pivot];
        for (int i = 0; i < rank; i++)
            if (i != pivot)
                basis[kept++] = basis[i] ^ (parity(functional[f] & basis[i]) ? vector : 0);
        rank = kept;
    }
    return rank;
}

/* What one access of a side reaches: its lanes (as many as run at once) and its vector. */
static int reach(const layout_bits *bits, int bank_bits, int vector_bits, const int *slot,
                 uint32_t *span) {
    int count = 0, threads = layout_bits_threads(bits);
    for (int p = 0; p < bits->lane_bits && p < bank_bits - vector_bits; p++)
        span[count++] = bits->column[p];
    for (int i = 0; i < vector_bits; i++)
        span[count++] = bits->column[threads + slot[i]];
    return count;
}

/* The lanes of the narrow side, and its vector, where the chosen functionals are 0. */
static int narrow_rest(const vectors *v, int functionals, uint32_t *basis) {
    uint32_t span[LAYOUT_MAX_BITS];
    int count = reach(v->narrow, v->bank_bits, v->narrow_bits, v->narrow_slot, span);
    return where_zero(v->functional, functionals, span, count, basis);
}

/* Takes slot bit b of the wide side as vector bit `chosen`; false when it cannot be one. A shared
 * one moves the same index bits on both sides. */
static bool take_vector(vectors *v, int chosen, int b, bool shared) {
    uint32_t functional = coordinate(v->wide, layout_bits_threads(v->wide) + b);
    if (functional == 0 || slot_followed(v->wide, functional) != b)
        return false;
    for (int i = 0; i < chosen; i++)
        if (v->wide_slot[i] == b)
            return false;
    int other = slot_followed(v->narrow, functional);
    if (shared && (other < 0 || v->narrow->column[layout_bits_threads(v->narrow) + other] !=
                                    v->wide->column[layout_bits_threads(v->wide) + b]))
        return false;
    v->functional[chosen] = functional;
    v->wide_slot[chosen] = b;
    v->narrow_slot[chosen] = other;
    uint32_t basis[LAYOUT_MAX_BITS];
    int still = v->wide_bits - (chosen + 1); /* vector bits that will split lanes further */
    return shared || narrow_rest(v, chosen + 1, basis) <= v->lane_dimensions + still;
}

/* Vector bits both sides have, then those of the wide side that split the narrow side's lanes. */
static bool choose_vectors(vectors *v) {
    int chosen = 0;
    for (int b = 0; b < v->wide->slot_bits && chosen < v->narrow_bits; b++)
        chosen += take_vector(v, chosen, b, true);
    if (chosen < v->narrow_bits)
        return false;
    for (int b = 0; b < v->wide->slot_bits && chosen < v->wide_bits; b++)
        chosen += take_vector(v, chosen, b, false);
    return chosen == v->wide_bits;
}

/* Fills a basis up to `dimension` from the ambient space. */
static void fill_up(uint32_t *basis, int rank, int dimension, const uint32_t *ambient, int count) {
    uint32_t span[LAYOUT_MAX_BITS + 1];
    for (int i = 0; i < rank; i++)
        span[i] = basis[i];
    rank = layout_space_reduce(span, rank);
    for (int i = 0; i < count && rank < dimension; i++) {
        int before = rank;
        if (layout_space_add(span, &rank, ambient[i]))
            basis[before] = ambient[i];
    }
}

/* The linear map that takes the basis to the unit vectors. */
static void coordinates_of(uint32_t *basis, int bits, uint32_t address[LAYOUT_MAX_BITS]) {
    uint32_t made[LAYOUT_MAX_BITS];
    for (int i = 0; i < bits; i++)
        made[i] = 1u << i;
    (void)layout_space_reduce_tracked(basis, made, bits); /* unit vectors, greatest first */
    for (int i = 0; i < bits; i++)
        address[bits - 1 - i] = made[i];
}

/* Lanes of the wide side first, as many as stay independent: they become the low bank bits. */
static int wide_lanes(const vectors *v, uint32_t *basis) {
    uint32_t span[LAYOUT_MAX_BITS + 1];
    int rank = 0, kept = 0;
    for (int p = 0; p < v->wide->lane_bits && p < v->bank_bits - v->wide_bits; p++)
        if (layout_space_add(span, &rank, v->wide->column[p]))
            basis[kept++] = v->wide->column[p];
    return kept;
}

static void place(const vectors *v, uint32_t address[LAYOUT_MAX_BITS]) {
    int bits = v->wide->index_bits, threads = layout_bits_threads(v->wide);
    uint32_t units[LAYOUT_MAX_BITS], inside[LAYOUT_MAX_BITS + 1];
    for (int b = 0; b < bits; b++)
        units[b] = 1u << b;
    int room = where_zero(v->functional, v->wide_bits, units, bits, inside);
    uint32_t a[LAYOUT_MAX_BITS], b[LAYOUT_MAX_BITS], basis[2 * LAYOUT_MAX_BITS];
    int a_rank = wide_lanes(v, a), b_rank = narrow_rest(v, v->wide_bits, b);
    fill_up(a, a_rank, v->lane_dimensions, inside, room);
    fill_up(b, b_rank, v->lane_dimensions, inside, room);
    int count = 0;
    for (int i = 0; i < v->wide_bits; i++)
        basis[count++] = v->wide->column[threads + v->wide_slot[i]];
    for (int i = 0; i < v->lane_dimensions; i++)
        basis[count++] = a[i];
    count += layout_space_complement_within(a, v->lane_dimensions, b, v->lane_dimensions, inside,
                                            room, basis + count);
    coordinates_of(basis, count, address);
}

bool layout_swizzle_make(const layout_bits *source, const layout_bits *destination, int store_bits,
                         int load_bits, int bank_bits, layout_swizzle *swizzle) {
    bool stores_wide = store_bits >= load_bits;
    vectors v = {.wide = stores_wide ? source : destination,
                 .narrow = stores_wide ? destination : source,
                 .wide_bits = stores_wide ? store_bits : load_bits,
                 .narrow_bits = stores_wide ? load_bits : store_bits,
                 .bank_bits = bank_bits};
    int banks = bank_bits < source->index_bits ? bank_bits : source->index_bits;
    v.lane_dimensions = banks - v.wide_bits;
    if (v.wide_bits > LAYOUT_VECTOR_BITS || v.lane_dimensions < 0)
        return false;
    *swizzle = (layout_swizzle){
        .index_bits = source->index_bits, .store_bits = store_bits, .load_bits = load_bits};
    if (!choose_vectors(&v))
        return false;
    place(&v, swizzle->address);
    for (int i = 0; i < v.wide_bits; i++)
        (stores_wide ? swizzle->store_slot : swizzle->load_slot)[i] = v.wide_slot[i];
    for (int i = 0; i < v.narrow_bits; i++)
        (stores_wide ? swizzle->load_slot : swizzle->store_slot)[i] = v.narrow_slot[i];
    return true;
}

uint32_t layout_swizzle_address(const layout_swizzle *swizzle, uint32_t index) {
    return layout_columns_apply(swizzle->address, index);
}
