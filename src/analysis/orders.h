/* Which layouts of the reduced axis can keep the order of a reduction. */
#ifndef ANALYSIS_ORDERS_H
#define ANALYSIS_ORDERS_H

#include "analysis/axes.h"

/* NULL, or what digits of the reduced axis must be for the order: a constant text. A tree takes any
 * digits; left and right one worker that walks the axis; canonical digits of powers of two below
 * the step, in the order of the elements. */
const char *analysis_order_refusal(ir_order order, const layout_axis *digits);
/* Whether a plan may give a reduction this order: its own, or, of a tree, the canonical one. */
bool analysis_order_refines(const ir_op *reduce, ir_order order);
/* The order that an automatic plan gives it. */
ir_order analysis_order_planned(const ir_op *reduce, bool strict);
/* The first reduction over the axis whose planned order these digits cannot keep; NULL: none. */
const ir_op *analysis_order_conflict(const ir_module *module, const analysis_axes *axes, int axis,
                                     const layout_axis *digits, bool strict);

#endif
