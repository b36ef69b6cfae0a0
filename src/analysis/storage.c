/* Storage: the conditions, one by one (the header lists them).
 *
 *     N: lane 8 | slot 4 | step *      %t in registers? no: its sweep has a loop around the body
 *     N: lane 8 | slot 4               yes, unless a domain makes the guarded step a loop
 *
 * Repeating is asked of the places where a value is used: in each of them everything behind it must
 * be there again, loads with no store in between. What is chosen is the planner's business.
 */
#include "analysis/storage.h"

#include "analysis/output.h"

static void mark_whole(analysis_storage *storage, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int r = 0; r < op->region_count; r++)
            mark_whole(storage, op->regions[r]);
        for (int i = 0; i < op->operand_count; i++)
            if (op->region_count > 0 || op->opcode == IR_YIELD || op->opcode == IR_CONVERT)
                storage->whole[op->operands[i]->number] = true;
    }
}

analysis_storage analysis_storage_begin(base_arena *arena, const ir_module *module,
                                        const analysis_axes *axes, const analysis_sweeps *sweeps,
                                        const bool *stepped) {
    analysis_storage storage = {
        .module = module,
        .axes = axes,
        .sweeps = sweeps,
        .stepped = stepped,
        .whole = BASE_NEW_ARRAY(arena, bool, module->next_value),
    };
    mark_whole(&storage, &module->body);
    return storage;
}

bool analysis_storage_is_whole(const analysis_storage *storage, const ir_value *value) {
    return storage->sweeps->of_value[value->number] < 0 || storage->whole[value->number];
}

static bool has_steps(const analysis_storage *storage, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = storage->axes->of_value[value->number][i];
        if (axis >= 0 && storage->stepped[axis])
            return true;
    }
    return false;
}

/* A loop stops where the domain ends: on an axis of one step there is none. */
static bool has_domain(const analysis_storage *storage, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = storage->axes->of_value[value->number][i];
        if (value->type.domain[i] != NULL && (axis < 0 || storage->stepped[axis]))
            return true;
    }
    return false;
}

/* The sweep has loops around its body; around the end of a reduction when `reduced` runs inside. */
static bool sweep_has_loops(const analysis_storage *storage, const analysis_sweep *sweep,
                            int reduced) {
    for (int i = 0; i < sweep->axis_count; i++)
        if (sweep->axes[i] != reduced && storage->stepped[sweep->axes[i]])
            return true;
    for (int64_t i = 0; i < sweep->op_count; i++) {
        const ir_op *op = sweep->ops[i];
        for (int k = 0; k < op->operand_count; k++)
            if (ir_value_is_tile(op->operands[k]) && has_domain(storage, op->operands[k]))
                return true;
        for (int k = 0; k < op->result_count; k++)
            if (has_domain(storage, op->results[k]))
                return true;
    }
    return false;
}

static bool fits_registers(const analysis_storage *storage, const ir_value *value) {
    if (analysis_storage_is_whole(storage, value))
        return !has_steps(storage, value) && !has_domain(storage, value);
    const ir_op *op = value->definer;
    int reduced = -1; /* a reduction of an axis of extent 1 folds none, though its sweep may */
    if (op->opcode == IR_REDUCE)
        reduced = storage->axes->of_value[op->operands[0]->number][op->attributes.axis];
    int home = storage->sweeps->of_value[value->number];
    return !sweep_has_loops(storage, &storage->sweeps->sweeps[home], reduced);
}

/* The value can be had in the sweep by loading and computing again. */
static bool is_repeatable(const analysis_storage *storage, const ir_value *value, int sweep) {
    if (!ir_value_is_tile(value) || storage->sweeps->of_value[value->number] == sweep)
        return true;
    if (value->definer == NULL || !analysis_value_is_light(value))
        return false;
    const ir_op *op = value->definer;
    if (op->opcode == IR_LOAD && !analysis_load_repeatable(storage->sweeps, op, sweep))
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_repeatable(storage, op->operands[i], sweep))
            return false;
    return true;
}

static bool is_repeatable_everywhere(const analysis_storage *storage, const ir_value *value) {
    const analysis_sweeps *sweeps = storage->sweeps;
    int home = sweeps->of_value[value->number];
    if (analysis_storage_is_whole(storage, value) || !analysis_value_is_light(value))
        return false;
    for (int s = 0; s < (int)sweeps->count; s++) {
        const analysis_sweep *sweep = &sweeps->sweeps[s];
        for (int64_t i = 0; i < sweep->op_count && s != home; i++)
            for (int k = 0; k < sweep->ops[i]->operand_count; k++)
                if (sweep->ops[i]->operands[k] == value && !is_repeatable(storage, value, s))
                    return false;
    }
    return true;
}

bool analysis_storage_allows(const analysis_storage *storage, const ir_value *value,
                             ir_storage wanted) {
    bool is_load = value->definer != NULL && value->definer->opcode == IR_LOAD;
    switch (wanted) {
    case IR_STORAGE_REGISTERS:
        return fits_registers(storage, value);
    case IR_STORAGE_PRIVATE:
        return !analysis_storage_is_whole(storage, value) || !fits_registers(storage, value);
    case IR_STORAGE_RELOAD:
        return is_load && is_repeatable_everywhere(storage, value);
    case IR_STORAGE_RECOMPUTE:
        return !is_load && is_repeatable_everywhere(storage, value);
    case IR_STORAGE_OUTPUT:
        return !analysis_storage_is_whole(storage, value) &&
               analysis_output_store(storage->module, storage->axes, storage->sweeps, value) !=
                   NULL;
    case IR_STORAGE_NONE:
        break;
    }
    return false;
}
