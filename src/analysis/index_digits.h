/* An index form over the digits of its axes: the index of each lane, subgroup and slot.
 *
 *     i / 8, i on slot 2 | lane 32        lane/4*1
 *     i % 8                               lane % 4*2 + slot*1
 *     i / 8, i on lane 8 | slot 4 | step *    slot*1 + step*4
 *
 * Only where the borders of divide and modulus fall on borders of the digits, or cut a digit into
 * whole parts; an exclusive or of the index turns digits round. Of a shifted axis only whole
 * indices fall apart: what is found is of its positions. So of an axis on blocks: what is found is
 * of one block. */
#ifndef ANALYSIS_INDEX_DIGITS_H
#define ANALYSIS_INDEX_DIGITS_H

#include "analysis/index_form.h"

/* ((step of the axis / divide) % modulus) * stride. */
typedef analysis_index_term analysis_index_step;

typedef struct analysis_index_digits {
    ir_affine affine;
    int64_t constant; /* what the exclusive or turns round counts down from it */
    int step_count;
    analysis_index_step steps[ANALYSIS_INDEX_TERMS];
} analysis_index_digits;

/* `axes`: the digits of each. `ranges`: of the numbers of each holder, 0 = not known (a whole
 * number is then written with its modulus). Constant and scalars of the form are left to the
 * caller. False where it does not fall apart. */
bool analysis_index_digits_find(const analysis_index_form *form, const layout_axis *const *axes,
                                const int64_t ranges[LAYOUT_HOLDER_COUNT],
                                analysis_index_digits *digits);

#endif
