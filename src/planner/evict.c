/* See the header. What every program reads (weights) is small and stays by itself; a launch that
 * hardly writes has no lines to get rid of. */
#include "planner/evict.h"

#include "planner/facts.h"

enum { LEAST_WRITTEN = 8 }; /* at least one byte written for so many that are read */

void planner_evict_choose(planner_program *program, planner_candidate *candidate) {
    const machine *device = program->state->machine;
    if (!device->lanes_are_threads || device->capacity.cache_bytes == 0 || candidate->parts > 1 ||
        !planner_sizes_are_known(program))
        return;
    cost_facts facts;
    planner_facts_find(program, candidate, &facts);
    int64_t moved =
        planner_times(planner_plus(facts.read_bytes, facts.write_bytes), facts.programs);
    candidate->evicts_last = moved > device->capacity.cache_bytes &&
                             planner_times(facts.write_bytes, LEAST_WRITTEN) >= facts.read_bytes;
}

bool planner_evict_has(const planner_program *program, const ir_op *op) {
    for (int64_t i = 0; i < program->access_count; i++)
        if (program->accesses[i]->op == op)
            return op->opcode == IR_LOAD && !program->accesses[i]->shared;
    return false;
}
