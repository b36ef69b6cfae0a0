/* Linear algebra over GF(2) on masks of at most 32 bits.
 *
 * Everything rests on one step: a set of vectors is brought to echelon form while a payload rides
 * along, so that afterwards each vector still knows how it was made. With the columns of a layout
 * as vectors and one position bit each as payload
 *
 *     column   1  2  3          vector 2 payload 010      lane bit 1 owns index 2
 *     payload  1  2  4    ->    vector 1 payload 001      lane bit 0 owns index 1
 *                               vector 0 payload 111      the kernel: all three toggled, same index
 *
 * the vectors that vanish carry the kernel and the others solve for owners. No enumeration: the
 * cost is cubic in the number of bits.
 */
#include "layout/bits.h"

#include <stddef.h>

int layout_bits_threads(const layout_bits *bits) {
    return bits->lane_bits + bits->subgroup_bits + bits->block_bits;
}

int layout_bits_positions(const layout_bits *bits) {
    return layout_bits_threads(bits) + bits->slot_bits;
}

uint32_t layout_bits_index(const layout_bits *bits, uint32_t position) {
    uint32_t index = bits->constant;
    int positions = layout_bits_positions(bits);
    for (int p = 0; p < positions; p++)
        if (position >> p & 1)
            index ^= bits->column[p];
    return index;
}

static uint32_t leading_bit(uint32_t vector) {
    return 1u << (31 - __builtin_clz(vector));
}

/* Reduced echelon form of `vectors`, greatest leading bit first, vanished vectors last; `payloads`
 * (may be NULL) follow every swap and sum. Returns the rank. */
int layout_space_reduce_tracked(uint32_t *vectors, uint32_t *payloads, int count) {
    int rank = 0;
    for (;;) {
        int pivot = rank;
        for (int i = rank + 1; i < count; i++)
            if (vectors[i] > vectors[pivot])
                pivot = i;
        if (rank == count || vectors[pivot] == 0)
            return rank;
        uint32_t vector = vectors[pivot], payload = payloads ? payloads[pivot] : 0;
        vectors[pivot] = vectors[rank];
        vectors[rank] = vector;
        if (payloads) {
            payloads[pivot] = payloads[rank];
            payloads[rank] = payload;
        }
        for (int i = 0; i < count; i++)
            if (i != rank && vectors[i] & leading_bit(vector)) {
                vectors[i] ^= vector;
                if (payloads)
                    payloads[i] ^= payload;
            }
        rank++;
    }
}

/* The least vector of vector + span(echelon). */
static uint32_t least_of_coset(const uint32_t *echelon, int rank, uint32_t vector) {
    for (int i = 0; i < rank; i++)
        if (vector & leading_bit(echelon[i]))
            vector ^= echelon[i];
    return vector;
}

/* The columns in echelon form, each with the position mask that makes it; returns the rank. The
 * positions behind the rank span the kernel. */
static int solve(const layout_bits *bits, uint32_t vectors[LAYOUT_MAX_BITS],
                 uint32_t positions[LAYOUT_MAX_BITS]) {
    int count = layout_bits_positions(bits);
    for (int p = 0; p < count; p++) {
        vectors[p] = bits->column[p];
        positions[p] = 1u << p;
    }
    return layout_space_reduce_tracked(vectors, positions, count);
}

bool layout_bits_owner(const layout_bits *bits, uint32_t index, uint32_t *position) {
    uint32_t vectors[LAYOUT_MAX_BITS], positions[LAYOUT_MAX_BITS];
    int rank = solve(bits, vectors, positions);
    uint32_t rest;
    uint32_t owner = layout_space_express(vectors, positions, rank, index ^ bits->constant, &rest);
    if (rest != 0)
        return false;
    int dimension = layout_bits_positions(bits) - rank;
    layout_space_reduce(positions + rank, dimension);
    *position = least_of_coset(positions + rank, dimension, owner);
    return true;
}

int layout_bits_kernel(const layout_bits *bits, uint32_t basis[LAYOUT_MAX_BITS]) {
    uint32_t vectors[LAYOUT_MAX_BITS], positions[LAYOUT_MAX_BITS];
    int rank = solve(bits, vectors, positions);
    int dimension = layout_bits_positions(bits) - rank;
    for (int i = 0; i < dimension; i++)
        basis[i] = positions[rank + i];
    return layout_space_reduce(basis, dimension);
}

bool layout_bits_is_onto(const layout_bits *bits) {
    uint32_t vectors[LAYOUT_MAX_BITS], positions[LAYOUT_MAX_BITS];
    return solve(bits, vectors, positions) == bits->index_bits;
}

int layout_space_reduce(uint32_t *vectors, int count) {
    return layout_space_reduce_tracked(vectors, NULL, count);
}

uint32_t layout_space_express(const uint32_t *echelon, const uint32_t *payloads, int rank,
                              uint32_t vector, uint32_t *rest) {
    uint32_t sum = 0;
    for (int i = 0; i < rank; i++)
        if (vector & leading_bit(echelon[i])) {
            vector ^= echelon[i];
            sum ^= payloads[i];
        }
    *rest = vector;
    return sum;
}

bool layout_space_contains(const uint32_t *echelon, int rank, uint32_t vector) {
    return least_of_coset(echelon, rank, vector) == 0;
}

bool layout_space_add(uint32_t *echelon, int *rank, uint32_t vector) {
    if (layout_space_contains(echelon, *rank, vector))
        return false;
    echelon[*rank] = vector;
    *rank = layout_space_reduce(echelon, *rank + 1);
    return true;
}

static int span_of(const uint32_t *vectors, int count, uint32_t echelon[32]) {
    int rank = 0;
    for (int i = 0; i < count; i++)
        layout_space_add(echelon, &rank, vectors[i]);
    return rank;
}

/* A sum of vectors of `a` that equals a sum of vectors of `b` lies in both: those sums are the
 * dependencies of the two bases taken together, and the part made of `a` is the payload. */
int layout_space_intersect(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                           uint32_t *basis) {
    uint32_t vectors[64], payloads[64];
    int a_rank = span_of(a, a_count, vectors);
    for (int i = 0; i < a_rank; i++)
        payloads[i] = vectors[i];
    int count = a_rank + span_of(b, b_count, vectors + a_rank);
    for (int i = a_rank; i < count; i++)
        payloads[i] = 0;
    int rank = layout_space_reduce_tracked(vectors, payloads, count);
    for (int i = rank; i < count; i++)
        basis[i - rank] = payloads[i];
    return layout_space_reduce(basis, count - rank);
}

/* Vectors of `space` that extend `core` to it, in `extension`; `core` becomes the sum. */
static int extend(uint32_t *core, int *core_rank, const uint32_t *space, int count,
                  uint32_t *extension) {
    int added = 0;
    for (int i = 0; i < count; i++)
        if (layout_space_add(core, core_rank, space[i]))
            extension[added++] = space[i];
    return added;
}

int layout_space_complement_within(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                                   const uint32_t *ambient, int ambient_count, uint32_t *basis) {
    uint32_t sum[32], core[32], of_a[32], of_b[32];
    int sum_rank = layout_space_intersect(a, a_count, b, b_count, sum);
    int core_rank = sum_rank;
    for (int i = 0; i < core_rank; i++)
        core[i] = sum[i];
    int pairs = extend(sum, &sum_rank, a, a_count, of_a);
    int b_pairs = extend(core, &core_rank, b, b_count, of_b);
    int dimension = 0;
    for (int i = 0; i < pairs && i < b_pairs; i++)
        basis[dimension++] = of_a[i] ^ of_b[i];
    (void)extend(sum, &sum_rank, b, b_count, of_b);
    return dimension + extend(sum, &sum_rank, ambient, ambient_count, basis + dimension);
}

int layout_space_common_complement(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                                   int bits, uint32_t *basis) {
    uint32_t units[32];
    for (int i = 0; i < bits; i++)
        units[i] = 1u << i;
    return layout_space_complement_within(a, a_count, b, b_count, units, bits, basis);
}
