/* What an axis may be shifted by: the elements between the last border of vectors and the first
 * element of a row.
 *
 *     %t = load %x[%row, : N] !x.0       (%row * stride of x's rows) mod V
 *
 * A row is the last dimension of an access from its beginning on, at points of the other dimensions
 * that are computed from programs, sizes and constants alone: so there is one amount a program, and
 * it can be computed before anything else. */
#ifndef ANALYSIS_SHIFT_H
#define ANALYSIS_SHIFT_H

#include "ir/module.h"

/* The first load or store with the anchor; NULL: none. Levels tile and mapped. */
const ir_op *analysis_shift_access(const ir_module *module, const char *anchor);
/* NULL, or why no axis can be shifted by the rows of the access (static text). */
const char *analysis_shift_refusal(const ir_op *access);

#endif
