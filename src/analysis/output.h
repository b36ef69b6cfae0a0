/* Waiting in an output: which tile values may lie in the cells of a tensor that the kernel stores
 * later.
 *
 *     %e = exp %d                     crosses to the sweep that divides it
 *     %q = div %e, %s
 *     store %y[%row, :], %q           the only access of %y: until here its cells are free,
 *                                     and they have the shape of %e
 *
 * The cells are stored twice then, and read back in between, by the lane that owns them. */
#ifndef ANALYSIS_OUTPUT_H
#define ANALYSIS_OUTPUT_H

#include "analysis/axes.h"
#include "analysis/sweeps.h"

/* The store in whose cells the value can wait for all its uses in later sweeps, or NULL. The value
 * has the dtype of the tensor (nothing is rounded), the axes and domain of what is stored, and no
 * use after the store's sweep; the tensor is `out`, nothing else touches it, and its indices are
 * ranges and points that stand before everything. */
const ir_op *analysis_output_store(const ir_module *module, const analysis_axes *axes,
                                   const analysis_sweeps *sweeps, const ir_value *value);

#endif
