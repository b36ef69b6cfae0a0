/* What the two halves of the sweep analysis share: placing (sweeps.c) and crossing (crossings.c).
 */
#ifndef ANALYSIS_SWEEPS_INTERNAL_H
#define ANALYSIS_SWEEPS_INTERNAL_H

#include "analysis/sweeps.h"

/* Two accesses of one tensor touch the same cell at the same element of the same axes. */
bool analysis_access_same_elements(const analysis_axes *axes, const ir_op *load,
                                   const ir_op *store);
/* Fills crossings, when the schedules are made. */
void analysis_sweeps_find_crossings(base_arena *arena, analysis_sweeps *sweeps);

#endif
