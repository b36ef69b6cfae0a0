/* Tensors that all lanes of a group store to alike, and that are loaded.
 *
 *     %a = load %y[%row] : f32
 *     %b = add %a, %s : f32
 *     sync group                 lanes that are late have read the cell
 *     store %y[%row], %b
 *
 * Every lane makes such a store, so that it may read what it has stored itself. Expansion puts a
 * sync before each of them; the pass syncs keeps those that are needed. Lanes of a plan for a cpu
 * run in lock step.
 */
#include "pass/syncs_internal.h"

static bool value_is_alike(const ir_value *value) {
    return value->type.form != IR_FORM_SLOTS || value->scope >= IR_SCOPE_GROUP;
}

bool syncs_is_alike(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_op *around = op->parent->owner;
    bool alike = op->opcode == IR_STORE && (around == NULL || around->opcode != IR_WHEN);
    for (int d = 0; alike && d < access->rank; d++)
        alike = !ir_affine_uses(&access->index[d].affine, LAYOUT_LANE) &&
                !ir_affine_uses(&access->index[d].affine, LAYOUT_SUBGROUP);
    for (int i = 1; alike && i < op->operand_count; i++)
        alike = value_is_alike(op->operands[i]);
    return alike;
}

typedef struct tensor_uses {
    bool *loaded, *stored; /* by value number */
} tensor_uses;

static bool note_use(void *pointer, ir_op *op) {
    const tensor_uses *uses = pointer;
    if (op->opcode == IR_LOAD)
        uses->loaded[op->operands[0]->number] = true;
    else if (op->opcode == IR_STORE && syncs_is_alike(op))
        uses->stored[op->operands[0]->number] = true;
    return true;
}

const bool *syncs_tensors_find(ir_module *module) {
    bool in_step = module->lanes <= 1 || machine_runs_in_step(module->machine);
    tensor_uses uses = {BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1),
                        BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1)};
    ir_region_walk(&module->body, note_use, &uses);
    for (int32_t i = 0; i < module->next_value; i++)
        uses.stored[i] = uses.stored[i] && uses.loaded[i] && !in_step;
    return uses.stored;
}

typedef struct before_stores {
    ir_module *module;
    const bool *alike;
} before_stores;

static bool sync_before(void *pointer, ir_op *op) {
    const before_stores *state = pointer;
    if (op->opcode != IR_STORE || !state->alike[op->operands[0]->number] || !syncs_is_alike(op))
        return true;
    ir_op *sync = ir_op_create(state->module, IR_SYNC, op->location, 0, NULL, 0, NULL, 0);
    sync->attributes.scope = IR_SCOPE_GROUP;
    ir_op_insert_before(op, sync);
    return true;
}

void syncs_tensors_expand(ir_module *module) {
    before_stores state = {module, syncs_tensors_find(module)};
    ir_region_walk(&module->body, sync_before, &state);
}
