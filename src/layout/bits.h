/* Bit layouts: linear maps over GF(2) from a position to a logical index.
 *
 * A position is the number of bits that its holders own, packed lanes first:
 *
 *     bit 0 ..                lanes of a subgroup     (lane_bits)
 *     then                    subgroups of a group    (subgroup_bits)
 *     then                    blocks of a cluster     (block_bits)
 *     then                    slots of a lane         (slot_bits)
 *
 * and   index = constant ^ XOR over the set bits p of the position of column[p].
 *
 *     bits(3, 4, 5, 0, 1, 2)           logical bit l takes position bit order[l]: columns
 *                                      8 16 32 1 2 4
 *     gf2(lane 1 2 4 8 16 | slot 33)   slot bit 0 toggles logical bits 5 and 0
 *
 * A map onto all 2^index_bits indices; where there are more position bits than index bits, several
 * positions own one index (replication: the kernel of the map). Source of the facts: linear algebra
 * over GF(2); every function here is checked against enumeration in test/unit/layout_bits.c.
 */
#ifndef LAYOUT_BITS_H
#define LAYOUT_BITS_H

#include <stdbool.h>
#include <stdint.h>

enum { LAYOUT_MAX_BITS = 24 }; /* of a position, and of an index */

/* floor(log2(number)), for number >= 1. */
static inline int layout_log2(int64_t number) {
    int bits = 0;
    while (number >> (bits + 1) != 0)
        bits++;
    return bits;
}

typedef struct layout_bits {
    int lane_bits, subgroup_bits, block_bits, slot_bits;
    int index_bits;
    uint32_t column[LAYOUT_MAX_BITS]; /* by position bit, packed as above */
    uint32_t constant;
} layout_bits;

/* Position bits below the slots: all threads of the cluster. */
int layout_bits_threads(const layout_bits *bits);
int layout_bits_positions(const layout_bits *bits); /* all position bits */
uint32_t layout_bits_index(const layout_bits *bits, uint32_t position);

/* The canonical owner of an index: its least position with zeros on the free bits of the reduced
 * echelon form. False when no position has the index (the map is not onto). */
bool layout_bits_owner(const layout_bits *bits, uint32_t index, uint32_t *position);

/* The kernel as a reduced echelon basis of position masks; returns its dimension. The positions of
 * one index are a coset of it. */
int layout_bits_kernel(const layout_bits *bits, uint32_t basis[LAYOUT_MAX_BITS]);
bool layout_bits_is_onto(const layout_bits *bits);

/* ---- vector spaces of masks ---- */
/* Reduces `count` vectors in place to reduced echelon form, greatest leading bit first; returns the
 * rank. */
int layout_space_reduce(uint32_t *vectors, int count);
/* The same, and each payload follows its vector through every swap and sum: with payload 1 << i for
 * vector i, afterwards the mask of the vectors that make it. */
int layout_space_reduce_tracked(uint32_t *vectors, uint32_t *payloads, int count);
/* The sum of the rows that clear the pivots of `vector`, by payload; what is left of the vector in
 * *rest. */
uint32_t layout_space_express(const uint32_t *echelon, const uint32_t *payloads, int rank,
                              uint32_t vector, uint32_t *rest);
/* Adds the vector to a space in reduced echelon form; false when it was there already. */
bool layout_space_add(uint32_t *echelon, int *rank, uint32_t vector);
bool layout_space_contains(const uint32_t *echelon, int rank, uint32_t vector);
/* Basis of the intersection of two spaces; returns its dimension. */
int layout_space_intersect(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                           uint32_t *basis);
/* Basis of a common complement of two subspaces of equal dimension in GF(2)^bits; returns its
 * dimension. With bases a_i, b_i that extend a basis of the intersection inside A and B, and D a
 * complement of A + B: span{a_i ^ b_i} + D. */
int layout_space_common_complement(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                                   int bits, uint32_t *basis);
/* The same inside a space that holds both, given by vectors that span it. */
int layout_space_complement_within(const uint32_t *a, int a_count, const uint32_t *b, int b_count,
                                   const uint32_t *ambient, int ambient_count, uint32_t *basis);

#endif
