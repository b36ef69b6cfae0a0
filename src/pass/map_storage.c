/* Storage by the plan: every value that crosses sweeps gets what its keep line says; a tile carry
 * has one storage in all its places. Refuses a value that cannot wait in the output that the plan
 * names.
 */
#include "analysis/output.h"
#include "analysis/storage.h"
#include "ir/print.h"
#include "pass/map_internal.h"

#include <string.h>

bool map_is_tile(const ir_value *value) {
    return value->type.form == IR_FORM_TILE && value->type.rank > 0;
}

static ir_storage map_default_storage(const map_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = state->axes.of_value[value->number][i];
        bool stepped = axis >= 0 && layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP);
        if (stepped || (value->type.domain[i] != NULL && axis < 0))
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

/* What the keep line may say instead. */
static const char *storage_choices(map_state *state, const analysis_storage *storage,
                                   const ir_value *value, const ir_op *store) {
    static const ir_storage storages[] = {IR_STORAGE_REGISTERS, IR_STORAGE_PRIVATE,
                                          IR_STORAGE_RELOAD, IR_STORAGE_RECOMPUTE};
    base_text text;
    base_text_init(&text, state->context->diagnostics->arena);
    for (size_t i = 0; i < sizeof storages / sizeof *storages; i++)
        if (analysis_storage_allows(storage, value, storages[i]))
            base_text_format(&text, "%s%s", text.length > 0 ? ", " : "",
                             ir_storage_name(storages[i]));
    if (store != NULL && store->anchor != NULL)
        base_text_format(&text, "%soutput %s", text.length > 0 ? ", " : "", store->anchor);
    return text.bytes;
}

/* What a value must be to be kept so. */
static const char *storage_needs(ir_storage storage) {
    switch (storage) {
    case IR_STORAGE_REGISTERS:
        return "registers hold what is made without a loop: no axis of its sweep has steps";
    case IR_STORAGE_PRIVATE:
        return "what loops, branches and conversions take whole waits in registers where these "
               "hold it";
    case IR_STORAGE_RELOAD:
        return "only a load is read again, where nothing is stored to its tensor before";
    case IR_STORAGE_RECOMPUTE:
        return "only a few cheap ops on loads that can be read again are computed again";
    case IR_STORAGE_OUTPUT:
        return "a value waits in the cells of a store that comes after all its uses and is of its "
               "shape";
    case IR_STORAGE_NONE:
        break;
    }
    return NULL;
}

/* As the plan spells it. */
static const char *storage_text(map_state *state, const ir_plan_line *keep) {
    const char *name = ir_storage_name(keep->storage);
    if (keep->storage != IR_STORAGE_OUTPUT)
        return name;
    return base_diagnostics_text(state->context->diagnostics, "%s %s", name, keep->of);
}

static bool output_is_taken(const map_state *state, const ir_plan_line *keep) {
    const ir_plan_line *other = state->context->plan->of[IR_PLAN_KEEP].lines;
    for (; other < keep; other++)
        if (other->storage == IR_STORAGE_OUTPUT && strcmp(other->of, keep->of) == 0)
            return true;
    return false;
}

static const ir_op *output_store(map_state *state, const analysis_storage *storage,
                                 const ir_value *value) {
    if (analysis_storage_is_whole(storage, value))
        return NULL;
    return analysis_output_store(state->module, &state->axes, &state->sweeps, value);
}

static void set_storage(map_state *state, const analysis_storage *storage, const ir_value *value,
                        const ir_plan_line *keep) {
    bool waits = keep->storage == IR_STORAGE_OUTPUT;
    const ir_op *store = waits ? output_store(state, storage, value) : NULL;
    bool allowed =
        waits ? store != NULL && store->anchor != NULL && strcmp(store->anchor, keep->of) == 0
              : analysis_storage_allows(storage, value, keep->storage);
    state->storage[value->number] = keep->storage;
    state->output[value->number] = store;
    if (!allowed)
        map_fail(state, keep->location, "plan-storage", storage_text(state, keep),
                 storage_choices(state, storage, value, output_store(state, storage, value)),
                 "the plan keeps a value as it cannot be kept")
            ->hint = storage_needs(keep->storage);
    else if (waits && output_is_taken(state, keep))
        map_fail(state, keep->location, "plan-storage", keep->of, "one value in an output",
                 "another value waits in this output");
}

/* Storage of everything that crosses; carries and merged values live alike in all their places. */
void map_storages(map_state *state) {
    bool *stepped = BASE_NEW_ARRAY(state->module->arena, bool, state->module->axis_count);
    for (int i = 0; i < state->module->axis_count; i++)
        stepped[i] = layout_axis_has(&state->module->axes[i].digits, LAYOUT_STEP);
    analysis_storage storage = analysis_storage_begin(state->module->arena, state->module,
                                                      &state->axes, &state->sweeps, stepped);
    int64_t next = 0; /* line; a carry and the result that it becomes share one */
    for (int64_t i = 0; i < state->sweeps.crossing_count; i++) {
        ir_value *value = state->sweeps.crossings[i];
        const ir_plan_line *keep = map_plan_keep(state, value);
        if (keep == NULL)
            continue;
        int64_t line = keep - state->context->plan->of[IR_PLAN_KEEP].lines;
        bool shared = value->definer == NULL || value->definer->region_count > 0;
        if (line == next)
            next++;
        else if (line > next || !shared)
            map_plan_out_of_order(state, keep->anchor, keep->location);
        set_storage(state, &storage, value, keep);
    }
    if (!state->failed)
        ir_region_walk(&state->module->body, map_carry_storage, state);
}
