/* Totals: the work of a program summed up by what a candidate multiplies it with.
 *
 *     softmax N = 4096, t and e kept       facts     2 reductions, 4096 exps, 16384 bytes read, ..
 *                                          accesses  3 x (4 bytes, neighbours, 4096 elements)
 *                                          living    0 | 1 a slot of the row, 1 a slot | ..
 *
 * They are made once for each choice of storage; facts and limits of a candidate are then closed
 * forms of few terms, however many passes, accesses and kept values there are. */
#ifndef PLANNER_TOTALS_H
#define PLANNER_TOTALS_H

#include "planner/work.h"

/* row * slots + others: of slots of a worker in the row, and what does not depend on it. */
typedef struct planner_line {
    int64_t row, others;
} planner_line;

/* Accesses that run over the lane axis and are alike. */
typedef struct planner_access_total {
    const planner_access *access; /* one of them */
    int64_t elements, times;      /* of the pass */
    bool limited;
    int64_t count;
} planner_access_total;

/* What registers hold at one time: passes that are alike count once. */
typedef struct planner_living {
    planner_line before, behind; /* what is kept into the pass, and out of it */
    bool row;
    bool loads;         /* of the row, whose values are not kept in registers */
    int64_t reductions; /* of the lane axis */
} planner_living;

typedef struct planner_totals {
    cost_facts facts; /* what is the same for all candidates; the rest is 0 */
    planner_access_total *accesses;
    int64_t access_count, access_capacity;
    planner_living *living;
    int64_t living_count, living_capacity;
    int64_t exchanges; /* reductions of the lane axis, each as often as it ends */
    int64_t meetings;  /* passes with such reductions, as often as they end */
    int64_t partial_bytes, ordered_bytes;
    int64_t asked_row, asked_other; /* bytes of one element that one pass loads, at most */
    int64_t asked_first;            /* the same of the first pass over the row */
    planner_line arrays;            /* reads and writes of private arrays */
    planner_line kept_bytes;        /* of a worker: read and written of what is kept */
    planner_line kept;              /* elements of all that is kept, and of what is in registers */
    planner_line registers;
} planner_totals;

planner_totals *planner_totals_find(const planner_program *program, const planner_work *work);

/* The value of a line. */
static inline int64_t planner_line_at(planner_line line, int64_t slots) {
    return planner_plus(planner_times(line.row, slots), line.others);
}

#endif
