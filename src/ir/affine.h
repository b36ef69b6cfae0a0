/* Affine forms of level thread: sums of digits of a lane's numbers, each with a weight.
 *
 *     lane*1 + slot*8                        the SIMD row: neighbours in lanes, 8 apart in slots
 *     lane*4 + subgroup*128 + slot % 4*1 + slot/4*1024
 *                                            slot 4 | lane 32 | subgroup 8 | slot 4
 *     lane % 8*1                             eight lanes for a row, lane/8 says which row
 *
 * A term is ((number of the holder / divide) % modulus) * stride. Every map by digits is such a
 * sum; maps with bits mixed over GF(2) are computed by ops and enter an index as its vector.
 */
#ifndef IR_AFFINE_H
#define IR_AFFINE_H

#include "layout/layout.h"

#include <stdbool.h>
#include <stdint.h>

enum { IR_MAX_TERMS = 16 };

typedef struct ir_term {
    layout_holder holder; /* slot, lane or subgroup */
    int64_t divide;       /* at least 1 */
    int64_t modulus;      /* 0 = the whole quotient */
    int64_t stride;       /* not 0 */
} ir_term;

/* Terms in the order holder, divide. */
typedef struct ir_affine {
    int count;
    ir_term terms[IR_MAX_TERMS];
} ir_affine;

/* The numbers of one position. */
typedef struct ir_position {
    int64_t slot, lane, subgroup;
} ir_position;

/* lane*lane_stride + slot*slot_stride; strides of 0 have no term. */
ir_affine ir_affine_of(int64_t lane_stride, int64_t slot_stride);
/* Puts a term at its place; a stride of 0 and a term past IR_MAX_TERMS are left out (false for the
 * latter). */
bool ir_affine_add(ir_affine *affine, ir_term term);
/* The sum at a position, as 64 bits hold it. */
int64_t ir_affine_at(const ir_affine *affine, ir_position position);
bool ir_affine_equal(const ir_affine *a, const ir_affine *b); /* of the spellings */
bool ir_affine_uses(const ir_affine *affine, layout_holder holder);

#endif
