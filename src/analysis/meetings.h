/* Meetings: accesses of one tensor, one of them a store, that may come to one cell from two lanes.
 *
 *     y[row, :] = a               the lane that owns column 5 writes it ...
 *     y[row, 1 : +2] = b          ... and the lane that owns element 4 of the second tile
 *
 * Where a program is spread over lanes that do not run in lock step, nothing orders the two.
 * Accesses whose indices are the same, along the same axes, come to a cell by one lane: `x[row, :]
 * = f(x[row, :])`. Iterations of a loop are accesses too. */
#ifndef ANALYSIS_MEETINGS_H
#define ANALYSIS_MEETINGS_H

#include "analysis/axes.h"

/* Such a pair, of a module of level tile: the first one of a tensor in walk order. They may be one
 * op, in two iterations. `copied[axis]`: several lanes read each element along the axis, of which
 * one stores it; NULL: no axis is so. False, and NULL, when there is none. */
bool analysis_meetings_find(base_arena *arena, const ir_module *module, const analysis_axes *axes,
                            const bool *copied, const ir_op **first, const ir_op **second);

#endif
