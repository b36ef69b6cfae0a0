/* Search: every candidate of a machine's family, checked, priced, and the best.
 *
 *     sm_90    W 1, 2, 4, 8, 16 and 32 to 1024 by 32 x V 1, 2, 4, 8 x chunks in slots, or in steps
 *              of U 1, 2, 4 x what differs between the rules of storage
 *     cpu      one register of lanes x accumulators U 1, 2, 4, 8 x the same
 *     few wide rows besides   G parts of each row, from as many as there are processors, twice and
 *              half as many while that is cheaper x W 256, 512, 1024 x V 4, 8 x chunks
 *
 * The lowest price wins; of equal ones the first: fewer workers, then smaller V, chunks in slots
 * before steps, smaller U, and the rules of storage in their order. The standard plan is
 * taken where its time is within 10% of the lowest; else, of times within 4%, which are equal to
 * the models, chunks in slots, the smaller U, the lower price. Parts are taken where they save a
 * fifth of what the best of one launch takes. */
#ifndef PLANNER_SEARCH_H
#define PLANNER_SEARCH_H

#include "planner/candidate.h"
#include "planner/facts.h"

/* What `--set` fixes; 0, or -1, where it is free. */
typedef struct planner_setting {
    int64_t workers, subgroups, vector, unroll, packed, parts; /* W, S, V, U, P, G; 0: free */
    int stepped;                                               /* -1: free */
    int keeping;                                               /* planner_keeping, -1: free */
    ir_policy policy; /* of all accesses; no part of the search, which has no price for it */
} planner_setting;

/* `v=4,w=256,chunk=slot,keep=again,policy=stream`. False: a finding. NULL and "" set nothing. */
bool planner_setting_parse(const char *text, planner_setting *setting,
                           base_diagnostics *diagnostics);
bool planner_setting_is_free(const planner_setting *setting);

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
