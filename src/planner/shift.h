/* Shifted rows: where rows begin at any address, and which accesses a shift would align.
 *
 *     x, y: T[R, 4095]        rows of x begin 0 to V - 1 elements past a border of vectors
 *     axis N  .. shift x.0    accesses of x, and of y, are vectors; those of w[N] no longer are
 *
 * It follows from the sizes alone: arrays lie without gaps, as far as a plan knows. Whether that
 * pays is asked of the price. */
#ifndef PLANNER_SHIFT_H
#define PLANNER_SHIFT_H

#include "planner/candidate.h"

/* The first access of the text whose rows may shift the lane axis; NULL: there is none, or the axis
 * would be guarded everywhere (a part of it that the run says, reductions in an order). After
 * state->lane_axis. */
const ir_op *planner_shift_find(const planner_state *state, bool canonical);
/* Whether rows of `op` begin where those of the access `shift` do, up to multiples of any vector
 * that both tensors begin at. */
bool planner_shift_aligns(const planner_state *state, const ir_op *shift, const ir_op *op);

/* What the shifted candidate saves by its wider accesses, beyond the prices of both; in
 * microseconds, 0 where the machine's clock is not known. Accesses of what programs share are left
 * out: those that a shift takes apart hit the nearest cache. */
double planner_shift_saves(const planner_program *program, const planner_candidate *straight,
                           const planner_candidate *shifted);

#endif
