/* Meetings: accesses of one tensor, one of them a store, that may come to one cell from two lanes.
 *
 *     y[row, :] = a               the lane that owns column 5 writes it ...
 *     y[row, 1 : +2] = b          ... and the lane that owns element 4 of the second tile
 *
 * Where a program is spread over lanes that do not run in lock step, nothing orders the two.
 * Accesses whose indices are the same, along the same axes, come to a cell by one lane: `x[row, :]
 * = f(x[row, :])`. */
#ifndef ANALYSIS_MEETINGS_H
#define ANALYSIS_MEETINGS_H

#include "analysis/axes.h"

/* The first such pair in walk order, of a module of level tile; false when there is none. */
bool analysis_meetings_find(base_arena *arena, const ir_module *module, const analysis_axes *axes,
                            const ir_op **first, const ir_op **second);

#endif
