/* Storage by the plan: every value that crosses sweeps gets what its keep line says; a tile carry
 * has one storage in all its places. Refuses a value that cannot wait in the output that the plan
 * names.
 */
#include "analysis/output.h"
#include "pass/map_internal.h"

#include <string.h>

bool map_is_tile(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank > 0;
}

static ir_storage map_default_storage(const map_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = state->axes.of_value[value->number][i];
        if (value->type.domain[i] != NULL ||
            (axis >= 0 && layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP)))
            return IR_STORAGE_PRIVATE;
    }
    return IR_STORAGE_REGISTERS;
}

/* A tile carry has one storage: init, argument, yield and result; one that nobody reads has the
 * least. */
static bool map_carry_storage(void *pointer, ir_op *op) {
    map_state *state = pointer;
    if (op->opcode != IR_FOR && op->opcode != IR_IF)
        return true;
    for (int i = 0; i < op->result_count; i++) {
        if (!map_is_tile(op->results[i]))
            continue;
        ir_storage storage = map_default_storage(state, op->results[i]);
        state->storage[op->results[i]->number] = storage;
        if (op->opcode == IR_FOR)
            state->storage[op->regions[0]->arguments[1 + i]->number] = storage;
    }
    return true;
}

/* Storage of everything that crosses; carries and merged values live alike in all their places. */
void map_storages(map_state *state) {
    int next = 0; /* line; a carry and the result that it becomes share one */
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        ir_value *value = state->sweeps.crossings[i];
        const ir_plan_keep *keep = map_plan_keep(state, value);
        if (keep == NULL)
            continue;
        int line = (int)(keep - state->context->plan->keeps);
        bool shared = value->definer == NULL || value->definer->region_count > 0;
        if (line == next)
            next++;
        else if (line > next || !shared)
            map_plan_out_of_order(state, keep->anchor);
        state->storage[value->number] = keep->storage;
        if (keep->storage != IR_STORAGE_OUTPUT)
            continue;
        const ir_op *store =
            analysis_output_store(state->module, &state->axes, &state->sweeps, value);
        state->output[value->number] = store;
        if (store == NULL || store->anchor == NULL || strcmp(store->anchor, keep->access) != 0)
            map_fail(state, value->definer != NULL ? value->definer->location : (base_location){0},
                     "plan-storage", keep->access, store != NULL ? store->anchor : "private",
                     "the value cannot wait in this output");
    }
    if (!state->failed)
        ir_region_walk(&state->module->body, map_carry_storage, state);
}
