/* Storage: how each tile value that crosses sweeps gets to its later uses.
 *
 *     registers   no loop stands between: every axis of its sweep lies on lanes and slots, and no
 *                 domain cuts it short at run time
 *     reload      a load that no store can have overtaken
 *     recompute   a few cheap ops on what is reloaded and on scalars
 *     output      in the cells of an output that wait for their store: the row then streams to
 * memory while it is computed, and comes back from cache (row plan) private     everything else
 *
 * A row of softmax: `keep t reload` (the row is in cache), `keep e output y.0` (exp costs more).
 */
#include "analysis/output.h"
#include "planner/planner_internal.h"

#include <string.h>

static bool is_tile(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank > 0;
}

static bool axis_has_steps(const planner_state *state, int axis) {
    return axis >= 0 && layout_axis_has(&state->plan->axes[axis].digits, LAYOUT_STEP);
}

static bool value_has_steps(const planner_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++)
        if (axis_has_steps(state, state->axes.of_value[value->number][i]))
            return true;
    return false;
}

static bool value_has_domain(const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++)
        if (value->type.domain[i] != NULL)
            return true;
    return false;
}

/* The sweep has loops around its body; around the end of a reduction when `reduced` runs inside. */
static bool sweep_has_loops(const planner_state *state, const analysis_sweep *sweep, int reduced) {
    for (int i = 0; i < sweep->axis_count; i++)
        if (sweep->axes[i] != reduced && axis_has_steps(state, sweep->axes[i]))
            return true;
    for (int64_t i = 0; i < sweep->op_count; i++) {
        const ir_op *op = sweep->ops[i];
        for (int k = 0; k < op->operand_count; k++)
            if (is_tile(op->operands[k]) && value_has_domain(op->operands[k]))
                return true;
        for (int k = 0; k < op->result_count; k++)
            if (value_has_domain(op->results[k]))
                return true;
    }
    return false;
}

/* Used as a whole by a for, if or yield, or made by one. */
static bool value_escapes(const ir_region *region, const ir_value *value) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            if (value_escapes(op->regions[r], value))
                return true;
        if (op->region_count == 0 && op->opcode != IR_YIELD)
            continue;
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == value)
                return true;
    }
    return false;
}

/* The value can be had in the sweep by loading and computing again. */
static bool value_repeatable(const planner_state *state, const ir_value *value, int sweep) {
    if (!is_tile(value) || state->sweeps.of_value[value->number] == sweep)
        return true;
    if (value->definer == NULL || !analysis_value_is_light(value))
        return false;
    const ir_op *op = value->definer;
    if (op->opcode == IR_LOAD && !analysis_load_repeatable(&state->sweeps, op, sweep))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!value_repeatable(state, op->operands[i], sweep))
            return false;
    return true;
}

static bool repeatable_everywhere(const planner_state *state, const ir_value *value) {
    int home = state->sweeps.of_value[value->number];
    if (home < 0 || !analysis_value_is_light(value) || value_escapes(&state->module->body, value))
        return false;
    for (int s = 0; s < (int)state->sweeps.count; s++) {
        const analysis_sweep *sweep = &state->sweeps.sweeps[s];
        for (int64_t i = 0; i < sweep->op_count && s != home; i++)
            for (int k = 0; k < sweep->ops[i]->operand_count; k++)
                if (sweep->ops[i]->operands[k] == value && !value_repeatable(state, value, s))
                    return false;
    }
    return true;
}

static ir_storage choose_storage(const planner_state *state, const ir_value *value) {
    int home = state->sweeps.of_value[value->number];
    bool escapes = home < 0 || value_escapes(&state->module->body, value);
    if (escapes) /* one storage for what goes into a carry and the carry itself */
        return value_has_steps(state, value) || value_has_domain(value) ? IR_STORAGE_PRIVATE
                                                                        : IR_STORAGE_REGISTERS;
    bool is_load = value->definer->opcode == IR_LOAD;
    const analysis_sweep *sweep = &state->sweeps.sweeps[home];
    const ir_op *op = value->definer;
    int reduced = -1; /* a reduction of an axis of extent 1 folds none, though its sweep may */
    if (op->opcode == IR_REDUCE)
        reduced = state->axes.of_value[op->operands[0]->number][op->attributes.axis];
    bool loops = sweep_has_loops(state, sweep, reduced);
    if (!loops && is_load)
        return IR_STORAGE_REGISTERS;
    if (repeatable_everywhere(state, value))
        return is_load ? IR_STORAGE_RELOAD : IR_STORAGE_RECOMPUTE;
    if (state->lane_axis >= 0 && loops &&
        analysis_output_store(state->module, &state->axes, &state->sweeps, value) != NULL)
        return IR_STORAGE_OUTPUT;
    return loops ? IR_STORAGE_PRIVATE : IR_STORAGE_REGISTERS;
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
    plan->keeps = BASE_NEW_ARRAY(state->arena, ir_plan_keep, state->sweeps.crossing_count);
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        const ir_value *value = state->sweeps.crossings[i];
        const char *anchor = analysis_value_anchor(state->arena, value);
        if (has_line(plan, value, anchor))
            continue;
        ir_plan_keep keep = {.anchor = anchor, .storage = choose_storage(state, value)};
        if (keep.storage == IR_STORAGE_OUTPUT) {
            keep.access =
                analysis_output_store(state->module, &state->axes, &state->sweeps, value)->anchor;
            if (output_is_taken(plan, keep.access))
                keep = (ir_plan_keep){.anchor = anchor, .storage = IR_STORAGE_PRIVATE};
        }
        plan->keeps[plan->keep_count++] = keep;
    }
}
