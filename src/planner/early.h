/* Early loads: those that a plan issues before the first reduction waits, though they are used
 * behind it.
 *
 *     rmsnorm N = 4096, W = 256     access w.0  width 4 policy default early
 *                                   16 more registers of a worker, one wait for memory less
 *
 * They are chosen once the candidate is: the price of its digits and storages says how many, within
 * the limits that its registers have. Only for machines whose registers are documented; a cpu runs
 * ahead by itself. */
#ifndef PLANNER_EARLY_H
#define PLANNER_EARLY_H

#include "planner/candidate.h"

typedef struct planner_early_load {
    const ir_op *op;
    int64_t bytes; /* of an element */
    bool row;      /* runs over the lane axis */
} planner_early_load;

/* In the order of the text. */
typedef struct planner_early {
    planner_early_load *loads;
    int64_t count, capacity;
} planner_early;

/* Sets the candidate's early loads and what follows from them, if that lowers its price. */
void planner_early_choose(planner_program *program, planner_candidate *candidate, cost_model model,
                          const cost_coefficients *coefficients);
bool planner_early_has(const planner_candidate *candidate, const ir_op *op);

#endif
