/* Cells of tensors that all lanes of a group store to alike, and that are read.
 *
 *     %a = load %y[%row]              lane 5 of subgroup 1 is late, and has not read it yet
 *     %b = add %a, %s
 *     store %y[%row], %b              when lane 0 stores: found
 *
 * Every lane stores, so that each may read what it has stored itself: that needs no sync. What has
 * to be over before is what any other lane does to the cell: its loads, and its stores of what was
 * there before, which would undo this one. Any two accesses of one tensor may be of one cell. Lanes
 * of a plan for a cpu run in lock step.
 */
#include "machine/machine.h"
#include "verify/hazard_internal.h"

static bool is_one_for_all(const ir_value *value) {
    return value->type.form == IR_FORM_UNIFORM || value->scope == IR_SCOPE_GROUP ||
           value->scope == IR_SCOPE_CLUSTER || value->scope == IR_SCOPE_GRID;
}

static bool stores_alike(const ir_op *op) {
    const ir_op *around = op->parent->owner;
    if (op->opcode != IR_STORE || (around != NULL && around->opcode == IR_WHEN))
        return false;
    for (int i = 1; i < op->operand_count; i++)
        if (!is_one_for_all(op->operands[i]))
            return false;
    const ir_access *access = op->attributes.access;
    for (int d = 0; d < access->rank; d++)
        for (int k = 0; k < access->index[d].affine.count; k++)
            if (access->index[d].affine.terms[k].holder != LAYOUT_SLOT)
                return false;
    return true;
}

/* Bits by number of the tensor: 1 loaded, 2 stored to alike. */
static void note_uses(const ir_region *region, uint8_t *uses) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_LOAD)
            uses[op->operands[0]->number] |= 1;
        if (stores_alike(op))
            uses[op->operands[0]->number] |= 2;
        for (int k = 0; k < op->region_count; k++)
            note_uses(op->regions[k], uses);
    }
}

void hazard_tensors_add(hazards *h) {
    const ir_module *module = h->state->module;
    if (machine_runs_in_step(module->machine) || h->lanes < 2)
        return;
    uint8_t *uses = BASE_NEW_ARRAY(h->arena, uint8_t, module->next_value + 1);
    note_uses(&module->body, uses);
    for (int i = 0; i < module->parameter_count; i++) {
        const ir_value *tensor = module->parameters[i].value;
        if (tensor == NULL || uses[tensor->number] != 3)
            continue;
        h->arrays[h->array_count].value = tensor;
        h->array_of[tensor->number] = ++h->array_count;
    }
}

bool hazard_is_of_tensor(const hazards *h, const ir_op *op) {
    bool access = op->opcode == IR_LOAD || stores_alike(op);
    return access && h->array_of[op->operands[0]->number] != 0;
}

bool hazard_tensors_meet(const hazards *h, const hazard_access *a, const hazard_access *b,
                         hazard_order order) {
    bool apart =
        order == HAZARD_UNORDERED || (order == HAZARD_BY_SUBGROUP && h->lanes > h->subgroup);
    return a->array == b->array && b->writes && apart;
}
