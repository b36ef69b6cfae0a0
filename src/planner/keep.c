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
    return shares && ir_plan_find(plan, IR_PLAN_KEEP, anchor) != NULL;
}

/* One value waits in an output. */
static bool output_is_taken(const ir_plan *plan, const char *access) {
    const ir_plan_list *keeps = &plan->of[IR_PLAN_KEEP];
    for (int64_t i = 0; i < keeps->count; i++)
        if (keeps->lines[i].of != NULL && strcmp(keeps->lines[i].of, access) == 0)
            return true;
    return false;
}

void planner_keep(planner_state *state) {
    ir_plan *plan = state->plan;
    bool *stepped = BASE_NEW_ARRAY(state->arena, bool, state->axes.count);
    for (int i = 0; i < state->axes.count; i++)
        stepped[i] = layout_axis_has(&plan->of[IR_PLAN_AXIS].lines[i].digits, LAYOUT_STEP);
    analysis_storage storage =
        analysis_storage_begin(state->arena, state->module, &state->axes, &state->sweeps, stepped);
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        const ir_value *value = state->sweeps.crossings[i];
        const char *anchor = analysis_value_anchor(state->arena, value);
        if (has_line(plan, value, anchor))
            continue;
        ir_storage chosen = choose_storage(&storage, value, state->lane_axis >= 0);
        const char *access = NULL;
        if (chosen == IR_STORAGE_OUTPUT) {
            access =
                analysis_output_store(state->module, &state->axes, &state->sweeps, value)->anchor;
            if (output_is_taken(plan, access)) {
                chosen = IR_STORAGE_PRIVATE;
                access = NULL;
            }
        }
        ir_plan_line *line = ir_plan_add(state->arena, plan, IR_PLAN_KEEP, anchor);
        line->storage = chosen;
        line->of = access;
    }
}
