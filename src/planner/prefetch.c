/* Prefetches of a candidate: which loads, and what the price says of all of them together; see the
 * header. The distance is one row: two were no better (docs/performance.md). */
#include "planner/prefetch.h"

#include "analysis/prefetch.h"
#include "planner/search.h"

enum { LINE_BYTES = 64 };

static const double SAVES = 0.97; /* of the price without */

/* Sweeps that load by the op. */
static int64_t sweeps_of(const planner_work *work, const ir_op *op) {
    int64_t sweeps = 0;
    for (int64_t i = 0; i < work->pass_count; i++) {
        const planner_pass *pass = &work->passes[i];
        bool reads = false;
        for (int64_t k = pass->first; k < pass->first + pass->count; k++)
            reads = reads || (work->visits[k].access->op == op && !work->visits[k].store);
        sweeps += reads;
    }
    return sweeps;
}

/* A row of neighbours, read from memory once and again later; whole lines, as rows that begin
 * within one were no faster, or slower. */
static bool may_prefetch(const planner_program *program, const planner_candidate *candidate,
                         const planner_work *work, const planner_access *access) {
    bool lines = planner_times(access->length, access->bytes) % LINE_BYTES == 0;
    return access->row && lines && !access->shared && !access->asks &&
           access->run >= candidate->lanes && access->op->opcode == IR_LOAD &&
           sweeps_of(work, access->op) > 1 &&
           analysis_prefetch_obstacle(program->state->module, access->op) == NULL;
}

/* All that may: the candidate's, with the bytes that a program reads of them. */
static void find(planner_program *program, planner_candidate *candidate) {
    base_arena *arena = program->state->arena;
    const planner_storages *storages = candidate->storages;
    const planner_work *work = planner_work_find(program, storages->storage, storages->outputs);
    planner_prefetch *found = BASE_NEW_ARRAY(arena, planner_prefetch, program->access_count);
    candidate->prefetches = found;
    for (int64_t i = 0; i < program->access_count; i++) {
        const planner_access *access = program->accesses[i];
        if (access == NULL || !may_prefetch(program, candidate, work, access))
            continue;
        found[candidate->prefetch_count++] =
            (planner_prefetch){access->op, (int)sweeps_of(work, access->op) - 1};
        int64_t bytes = planner_times(access->footprint, access->bytes);
        candidate->prefetch_bytes = planner_plus(candidate->prefetch_bytes, bytes);
    }
}

void planner_prefetch_choose(planner_program *program, planner_candidate *candidate,
                             cost_model model, const cost_coefficients *coefficients) {
    const planner_state *state = program->state;
    if (state->machine->lanes_are_threads || candidate->parts > 1 || candidate->packed > 1 ||
        candidate->shifted || state->lane_axis < 0 || !planner_sizes_are_known(program))
        return;
    cost_estimate without = planner_price(program, candidate, model, coefficients);
    planner_candidate trial = *candidate;
    find(program, &trial);
    cost_estimate with = planner_price(program, &trial, model, coefficients);
    if (trial.prefetch_count > 0 && without.available && with.available &&
        with.total <= SAVES * without.total) {
        *candidate = trial;
        candidate->price = with.total;
    }
}

const planner_prefetch *planner_prefetch_find(const planner_candidate *candidate, const ir_op *op) {
    for (int64_t i = 0; i < candidate->prefetch_count; i++)
        if (candidate->prefetches[i].op == op)
            return &candidate->prefetches[i];
    return NULL;
}
