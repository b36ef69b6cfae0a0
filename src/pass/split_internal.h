/* What the files of the split share: the axis in parts, when each value is there, partial results.
 *
 * A value's *phase* counts the reductions over the split axis that stand one behind the other
 * before it: what has phase p is computed in launch p, and again in later ones that need it.
 */
#ifndef PASS_SPLIT_INTERNAL_H
#define PASS_SPLIT_INTERNAL_H

#include "analysis/axes.h"
#include "ir/builder.h"
#include "pass/split.h"

/* A reduction over the split axis. */
typedef struct split_partial {
    const ir_op *reduce;
    int phase;        /* of its result; the launch before it stores the partial results */
    const char *name; /* of the tensor */
} split_partial;

typedef struct split_state {
    base_arena *arena;
    const ir_module *tile;
    const ir_plan *plan;
    base_diagnostics *diagnostics;
    analysis_axes axes;
    int axis;                 /* that is split */
    const ir_plan_line *line; /* of the plan, for it */
    layout_axis digits;       /* of a part: those of the line without the group digit */
    int64_t parts, chunk;
    int64_t length; /* elements of a part, where the extent is known; 0: it is not */
    bool even;      /* every part has that many */
    const char *part_name;
    int *phase; /* by value number */
    split_partial *partials;
    int64_t partial_count, partial_capacity;
    bool failed;
} split_state;

/* What a launch is made of. */
typedef struct split_launch {
    int phase;
    bool parts; /* a program for each part of a row; else one for each row, */
    bool rows;  /* .. which makes the stores that are no part's */
} split_launch;

void split_fail(split_state *state, base_location location, const char *found, const char *expected,
                const char *message);

bool split_is_on_axis(const split_state *state, const ir_value *value);
/* The reduction is one over the split axis. */
bool split_is_partial(const split_state *state, const ir_op *op);
/* The dimension of what the store writes that lies on the split axis; -1: none. */
int split_store_dimension(const split_state *state, const ir_op *store);

/* split_check.c: reports what cannot be split; fills phases and partial results. */
void split_check(split_state *state);
/* The phase of the op's operands. After split_check. */
int split_phase_of(const split_state *state, const ir_op *op);
/* split_build.c: the tile program of a launch. */
ir_module *split_build(split_state *state, split_launch launch, int number);
/* split_plan.c: its plan, and what of the plan cannot be done. *axis: that of a part, or -1. */
ir_plan *split_plan(split_state *state, ir_module *module, split_launch launch, int *axis);
/* Reports values that are needed in several launches and that the plan keeps. */
void split_check_keeps(split_state *state, const pass_launches *launches);

#endif
