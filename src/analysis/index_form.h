/* Closed forms of index tiles: what stands at each position, as a formula of the position.
 *
 *     %i = arange 64                      i
 *     %q = floordiv %i, 8                 i / 8
 *     %r = floormod %i, 8                 i % 8
 *     %k = add (mul %row, 64), %q         row*64 + i / 8
 *
 * A form is a constant, uniform scalars with weights, and terms ((index of an axis / divide) %
 * modulus) * stride. It is exact: quotients and remainders are floors, narrow integers are followed
 * only where they cannot wrap, and of 64 bits, whose sums wrap, a quotient is taken only where they
 * cannot either. Levels tile and mapped. What is loaded, selected or padded has no form. */
#ifndef ANALYSIS_INDEX_FORM_H
#define ANALYSIS_INDEX_FORM_H

#include "ir/module.h"

enum { ANALYSIS_INDEX_TERMS = 8, ANALYSIS_INDEX_SCALARS = 4 };

typedef struct analysis_index_term {
    int axis;
    int64_t divide;  /* at least 1 */
    int64_t modulus; /* 0 = the whole quotient */
    int64_t stride;  /* not 0 */
    int64_t limit;   /* the greatest index that an element of the axis has */
} analysis_index_term;

typedef struct analysis_index_scalar {
    const ir_value *value; /* an integer of rank 0 */
    int64_t weight;        /* not 0 */
} analysis_index_scalar;

/* Sums wrap as 64 bits do. */
typedef struct analysis_index_form {
    int64_t constant;
    int term_count, scalar_count;
    analysis_index_term terms[ANALYSIS_INDEX_TERMS];
    analysis_index_scalar scalars[ANALYSIS_INDEX_SCALARS];
} analysis_index_form;

/* The axis of each dimension of a value: [number][dimension]; NULL: as the mapped value says. */
typedef int (*analysis_axis_table)[IR_MAX_RANK];

/* The form of an integer scalar or tile; false where it has none. */
bool analysis_index_form_find(const ir_module *module, analysis_axis_table axes,
                              const ir_value *value, analysis_index_form *form);
/* The form of an axis's own index: of a range from 0. `extent` is that of the axis. */
analysis_index_form analysis_index_form_of_axis(const ir_module *module, int axis,
                                                const layout_extent *extent);
/* *sum += form * weight; false past the capacity. */
bool analysis_index_form_add(analysis_index_form *sum, const analysis_index_form *form,
                             int64_t weight);

#endif
