/* Rows in parts: each launch of a split program looked at as a program of its own.
 *
 *     softmax 1 x 262144, G = 64      launch 1    64 programs of 4096 elements: max
 *                                     launch 2    64 of 4096: 64 partial results, exp, sum
 *                                     launch 3    64 of 4096: 2 x 64 partial results, exp, y
 *
 * The lowering makes them (pass/split.h), so what it refuses is refused here for the same reason.
 * Then each has work and facts like any other program, and the price is that of all, one behind
 * the other. Launches for as many parts are made once, for the digits of the first candidate that
 * asks; other digits would move the ends of parts by less than a step. */
#ifndef PLANNER_LAUNCHES_H
#define PLANNER_LAUNCHES_H

#include "planner/candidate.h"

typedef struct planner_launch {
    planner_program *program;      /* its programs are rows times parts, its lane axis a part */
    planner_storages *storages[2]; /* by whether a part is walked in steps; NULL: not yet */
} planner_launch;

struct planner_launches {
    int64_t parts;
    planner_launch *items;
    int count;                     /* 0: refused */
    const char *reason, *expected; /* refused: of the lowering */
};

/* Whether parts are candidates unless they are asked for: rows that are fewer than processors, and
 * wide, on a machine whose own model knows what launches cost. */
bool planner_parts_are_wanted(const planner_program *program, cost_model model);
/* The most parts, a power of two, for which the machine has room at once; at least 1. */
int64_t planner_parts_limit(const planner_program *program);

/* The launches of the form's parts; its storages must be set. */
const planner_launches *planner_launches_find(planner_program *program,
                                              const planner_candidate *form);
/* The facts of launch number i, false past the end. */
bool planner_launch_facts(const planner_candidate *candidate, int i, cost_facts *facts);
cost_estimate planner_launches_price(const planner_program *program,
                                     const planner_candidate *candidate, cost_model model,
                                     const cost_coefficients *coefficients);

#endif
