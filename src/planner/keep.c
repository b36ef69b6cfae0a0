/* Storage: how each tile value that crosses sweeps gets to its later uses, of the ways that
 * analysis/storage.h allows.
 *
 *     t   a load              in registers if it fits, else reloaded: the row is in cache
 *     e   more than light     waits in an output (row plan: the row then streams to memory while it
 *                             is computed, and comes back from cache), else private
 *
 * A row of softmax: `keep t reload`, `keep e output y.0` (exp costs more).
 */
#include "analysis/output.h"
#include "analysis/storage.h"
#include "planner/planner_internal.h"

#include <string.h>

static ir_storage choose_storage(const analysis_storage *storage, const ir_value *value,
                                 bool may_wait) {
    bool registers = analysis_storage_allows(storage, value, IR_STORAGE_REGISTERS);
    if (analysis_storage_is_whole(storage, value))
        return registers ? IR_STORAGE_REGISTERS : IR_STORAGE_PRIVATE;
    bool is_load = value->definer->opcode == IR_LOAD;
    if (registers && is_load)
        return IR_STORAGE_REGISTERS;
    ir_storage again = is_load ? IR_STORAGE_RELOAD : IR_STORAGE_RECOMPUTE;
    if (analysis_storage_allows(storage, value, again))
        return again;
    if (registers)
        return IR_STORAGE_REGISTERS;
    return may_wait && analysis_storage_allows(storage, value, IR_STORAGE_OUTPUT)
               ? IR_STORAGE_OUTPUT
               : IR_STORAGE_PRIVATE;
}

/* A carry and the result that it becomes share one line. */
static bool has_line(const ir_plan *plan, const ir_value *value, const char *anchor) {
    bool shares = value->definer == NULL || value->definer->region_count > 0;
    for (int i = 0; i < plan->keep_count && shares; i++)
        if (strcmp(plan->keeps[i].anchor, anchor) == 0)
            return true;
    return false;
}

/* One value waits in an output. */
static bool output_is_taken(const ir_plan *plan, const char *access) {
    for (int i = 0; i < plan->keep_count; i++)
        if (plan->keeps[i].access != NULL && strcmp(plan->keeps[i].access, access) == 0)
            return true;
    return false;
}

void planner_keep(planner_state *state) {
    ir_plan *plan = state->plan;
    bool *stepped = BASE_NEW_ARRAY(state->arena, bool, plan->axis_count);
    for (int i = 0; i < plan->axis_count; i++)
        stepped[i] = layout_axis_has(&plan->axes[i].digits, LAYOUT_STEP);
    analysis_storage storage =
        analysis_storage_begin(state->arena, state->module, &state->axes, &state->sweeps, stepped);
    plan->keeps = BASE_NEW_ARRAY(state->arena, ir_plan_keep, state->sweeps.crossing_count);
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        const ir_value *value = state->sweeps.crossings[i];
        const char *anchor = analysis_value_anchor(state->arena, value);
        if (has_line(plan, value, anchor))
            continue;
        ir_plan_keep keep = {.anchor = anchor,
                             .storage = choose_storage(&storage, value, state->lane_axis >= 0)};
        if (keep.storage == IR_STORAGE_OUTPUT) {
            keep.access =
                analysis_output_store(state->module, &state->axes, &state->sweeps, value)->anchor;
            if (output_is_taken(plan, keep.access))
                keep = (ir_plan_keep){.anchor = anchor, .storage = IR_STORAGE_PRIVATE};
        }
        plan->keeps[plan->keep_count++] = keep;
    }
}
