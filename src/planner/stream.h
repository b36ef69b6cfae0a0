/* Stores past the caches: whether the rows of a launch go to memory without being fetched first.
 *
 *     rmsnorm 16384x4096, 32 MB of cache     access y.0  width 16 policy stream
 *     rmsnorm 64x4096                        access y.0  width 16 policy default
 *
 * Of two plans, one with such stores and one without, the price says which. A row then waits in no
 * output, as its lines would be written twice. Only for machines whose lanes are vectors, where the
 * call's number of programs is known, and of tensors that are not read as well. */
#ifndef PLANNER_STREAM_H
#define PLANNER_STREAM_H

#include "planner/candidate.h"

/* Lets the candidate's stores of neighbours go past the caches, with the storages that this asks
 * for, if that lowers its price. */
void planner_stream_choose(planner_program *program, planner_candidate *candidate, cost_model model,
                           const cost_coefficients *coefficients);

#endif
