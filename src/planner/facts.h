/* Facts: what the cost models are told of a candidate.
 *
 *     softmax N = 4096, W = 256, V = 4    domains 3 x 4096, 2 reductions, 32 kept slots,
 *                                         16384 bytes read, 16384 written, 8 accesses a worker
 *
 * Closed forms of the program's work and the candidate's numbers; nothing is expanded. The same
 * function serves all machines and programs. */
#ifndef PLANNER_FACTS_H
#define PLANNER_FACTS_H

#include "planner/candidate.h"
#include "planner/cost/cost.h"

/* planner_candidate_keep must have set the candidate's storages; legal or not. */
void planner_facts_find(const planner_program *program, const planner_candidate *candidate,
                        cost_facts *facts);

/* The facts by name, for reports: false past the end. */
bool planner_fact_at(const cost_facts *facts, int index, const char **name, int64_t *value);

#endif
