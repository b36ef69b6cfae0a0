/* What the files of the planner share: a module looked at once, and the plan being written. */
#ifndef PLANNER_PLANNER_INTERNAL_H
#define PLANNER_PLANNER_INTERNAL_H

#include "analysis/axes.h"
#include "analysis/sweeps.h"
#include "base/diagnostic.h"
#include "ir/plan.h"
#include "machine/machine.h"

typedef struct planner_state {
    base_arena *arena;
    const ir_module *module;
    const machine *machine;
    analysis_axes axes;
    analysis_sweeps sweeps;
    ir_plan *plan;                    /* axes are set, in the order of analysis_axes */
    const layout_axis *const *digits; /* of the plan's axes, once they are set */
    int lane_axis;    /* the element axis with lanes, -1 when there is none or several */
    bool strict;      /* one result for every plan */
    bool portable;    /* no native form of a function */
    ir_policy policy; /* of all accesses */
    bool streams;     /* stores of neighbours go past the caches */
    const struct planner_program *evicts; /* whose loads evict last; NULL: none do */
    const ir_op *shift; /* the access whose rows shift the lane axis of the plan; NULL: none */
    const struct planner_candidate *early; /* whose early loads the plan has; NULL: none */
    bool owners;                           /* the text fixes owners: */
    int64_t lanes, subgroups;              /* of the team that it speaks of */
} planner_state;

layout_axis planner_step_digits(const planner_state *state, const layout_extent *extent);

/* Which forms a plan has: native functions where there are such; reciprocals for quotients. */
bool planner_is_native(const planner_state *state);
bool planner_has_reciprocals(const planner_state *state);

/* owners.c: whether the text fixes any owner; then the digits of all axes (weights: of what stands
 * on the last dimension of accesses), and the mechanism of a conversion. */
bool planner_owners_are_fixed(const planner_state *state);
void planner_owners_axes(planner_state *state, const int64_t *weights);
/* False: *fault says why the layouts cannot be converted. After the axes are set. */
bool planner_conversion(const planner_state *state, const ir_op *op, layout_conversion *conversion,
                        layout_fault *fault);
/* Lets conversions use scratch again where all of it together is too much. */
void planner_share_scratch(planner_state *state);
layout_class planner_mechanism(const planner_state *state, const ir_op *op);

/* keep.c. The plan's keep lines: one for each crossing value. NULL: by the rule `mixed`, for the
 * digits of the plan. */
struct planner_storages;
void planner_keep(planner_state *state, const struct planner_storages *chosen);

#endif
