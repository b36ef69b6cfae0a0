/* Search: every candidate of a machine's family, checked, priced, and the best.
 *
 *     sm_90    W 1, 2, 4, 8, 16 and 32 to 1024 by 32 x V 1, 2, 4, 8 x chunks in slots, or in steps
 *              of U 1, 2, 4 x what differs between the rules of storage
 *     cpu      one register of lanes x accumulators U 1, 2, 4, 8 x the same
 *     few wide rows besides   G parts of each row, from as many as there are processors, twice and
 *              half as many while that is cheaper x W 256, 512, 1024 x V 4, 8 x chunks
 *
 * The lowest price wins; of equal prices the first candidate: fewer workers, then smaller V, chunks
 * in slots before steps, smaller U, and the rules of storage in their order. Where prices are
 * times, near ones count as equal, and the standard plan comes first (settle.c). */
#ifndef PLANNER_SEARCH_H
#define PLANNER_SEARCH_H

#include "planner/candidate.h"
#include "planner/facts.h"
#include "planner/setting.h"

typedef struct planner_search {
    planner_candidate *candidates; /* in the order of the search, refused ones too */
    int64_t count, capacity;
    int64_t best; /* -1: none is legal and priced */
    bool is_time; /* prices are times, not scores */
    cost_model model;
} planner_search;

/* The model that a machine's candidates are priced by where none is asked for. */
cost_model planner_model_of(const machine *device);
cost_estimate planner_price(const planner_program *program, const planner_candidate *candidate,
                            cost_model model, const cost_coefficients *coefficients);

planner_search *planner_search_run(planner_program *program, const planner_setting *setting,
                                   cost_model model, const cost_coefficients *coefficients);

#endif
