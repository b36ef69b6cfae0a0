/* Prefetches: whether a program has the cache fetch the row of the program behind it.
 *
 *     layernorm 16384x4096, 32 MB of cache     access x.0  width 16 policy stream prefetch 1 in 2
 *     layernorm 64x4096                        access x.0  width 16 policy default
 *
 * A row that is read in several sweeps comes from memory in the first one alone; in the others
 * memory has nothing to do. There the next row is asked for, in the last sweep that reads: what
 * comes then has the least time to be pushed out again, and of a softmax that sweep has the
 * exponentials.
 * The price says whether it pays; rows that are no whole lines are left alone. */
#ifndef PLANNER_PREFETCH_H
#define PLANNER_PREFETCH_H

#include "planner/candidate.h"

/* A load that prefetches, and the sweep of those that read it. */
struct planner_prefetch {
    const ir_op *op;
    int sweep;
};

/* Lets the candidate's rows be fetched ahead if that lowers its price. After its storages are
 * chosen; of a row that is whole, one program a group, where the call's number of programs is
 * known. */
void planner_prefetch_choose(planner_program *program, planner_candidate *candidate,
                             cost_model model, const cost_coefficients *coefficients);

/* That of the op; NULL: it has none. */
const planner_prefetch *planner_prefetch_find(const planner_candidate *candidate, const ir_op *op);

#endif
