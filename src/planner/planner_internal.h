/* What the files of the planner share: a module looked at once, and the plan being written. */
#ifndef PLANNER_PLANNER_INTERNAL_H
#define PLANNER_PLANNER_INTERNAL_H

#include "analysis/axes.h"
#include "analysis/sweeps.h"
#include "planner/planner.h"

typedef struct planner_state {
    base_arena *arena;
    const ir_module *module;
    const machine *machine;
    analysis_axes axes;
    analysis_sweeps sweeps;
    ir_plan *plan; /* axes are set, in the order of analysis_axes */
    int lane_axis; /* the element axis with lanes, -1 when there is none */
} planner_state;

/* Fills plan->keeps: one line per crossing value. */
void planner_keep(planner_state *state);

#endif
