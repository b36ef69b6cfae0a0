/* Uniformity of scalars at level tile: what is the same for all programs (grid), and what depends
 * on the program. */
#ifndef ANALYSIS_UNIFORM_H
#define ANALYSIS_UNIFORM_H

#include "ir/module.h"

/* The first op in walk order whose for bound, if condition or domain depends on the program (its
 * index, or anything loaded or reduced); NULL when there is none. With one, programs cannot share a
 * team. */
const ir_op *analysis_divergent_op(const ir_module *module);

/* The loop or branch around the op, the nearest one, whose bounds or condition come from elements:
 * from reductions, or carries of loops. Those of others programs, sizes, parameters and what is
 * loaded by such tell, alike for all who work on one program. NULL: there is none. */
const ir_op *analysis_told_by_elements(const ir_op *op);

#endif
