/* Loads whose lines leave the device's cache last: whether a launch's own rows are read so.
 *
 *     rmsnorm 16384x4096 on sm_90     access x.0  width 4 policy evict_last     126 us, else 132
 *     rmsnorm 1024x4096               access x.0  width 4 policy default
 *
 * Where a launch reads and writes more than the last cache holds, lines that were written leave it
 * while others come. If those that were only read stay longest, the written ones leave early and in
 * the order in which they came, and memory turns from reading to writing less often. Only for
 * machines whose lanes are threads, where the call's number of programs is known. */
#ifndef PLANNER_EVICT_H
#define PLANNER_EVICT_H

#include "planner/candidate.h"

/* Sets `evicts_last` of the candidate where its launch is like that. */
void planner_evict_choose(planner_program *program, planner_candidate *candidate);
/* Whether the op is a load that the policy is for: of cells that belong to one program. */
bool planner_evict_has(const planner_program *program, const ir_op *op);

#endif
