/* One axis per use: a tile that would lie along two axes of one op is made twice.
 *
 *     %t = load %x[%row, :]                 %t = load %x[%row, :]     along the columns
 *     %a = expand %t axis=0                 %u = load %x[%row, :]     along the rows
 *     %b = expand %t axis=1            ->   %a = expand %t axis=0
 *     %p = mul %a, %b                       %b = expand %u axis=1
 *                                           %p = mul %a, %b
 *
 * An element of a layout has one owner; the same tile along two axes of %p would need two. Merging
 * (and the kernel's author) made one tile of both, so this runs when all merging is done. What
 * comes out of a loop or branch cannot be made twice.
 */
#include "pass/canonicalise_internal.h"

#include "analysis/axes.h"

typedef struct split_state {
    ir_module *module;
    ir_value **copies; /* [value number] */
} split_state;

/* The tile can be made again: loads and pure ops all the way down. `seen` spares what was asked. */
static bool is_repeatable(const ir_value *value, bool *seen) {
    if (!ir_value_is_tile(value) || seen[value->number])
        return true;
    const ir_op *op = value->definer;
    if (op == NULL || op->region_count > 0)
        return false;
    seen[value->number] = true;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_repeatable(op->operands[i], seen))
            return false;
    return true;
}

/* Each copy stands right after its original: what was legal there still is. Only tiles are copied:
 * a scalar lies along no axis. */
static ir_value *copy_value(split_state *state, ir_value *value) {
    if (!ir_value_is_tile(value))
        return value;
    if (state->copies[value->number] != NULL)
        return state->copies[value->number];
    ir_op *op = value->definer;
    ir_op *copy = ir_op_create(state->module, op->opcode, op->location, op->operand_count,
                               op->operands, 1, &value->type, 0);
    for (int i = 0; i < copy->operand_count; i++)
        copy->operands[i] = copy_value(state, copy->operands[i]);
    copy->attributes = op->attributes;
    if (op->attributes.access != NULL) {
        copy->attributes.access = BASE_NEW(state->module->arena, ir_access);
        *copy->attributes.access = *op->attributes.access;
    }
    copy->results[0]->name = value->name;
    if (op->next != NULL)
        ir_op_insert_before(op->next, copy);
    else
        ir_op_append(op->parent, copy);
    return state->copies[value->number] = copy->results[0];
}

/* Gives the op a tile operand of its own, the next one (from the last on) that can be repeated. */
static bool split_op(ir_module *module, ir_op *op, int *next) {
    for (; *next >= 0; (*next)--) {
        ir_value *operand = op->operands[*next];
        bool *seen = BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1);
        if (!ir_value_is_tile(operand) || !is_repeatable(operand, seen))
            continue;
        split_state state = {.module = module};
        state.copies = BASE_NEW_ARRAY(module->arena, ir_value *, module->next_value + 1);
        op->operands[*next] = copy_value(&state, operand);
        (*next)--;
        return true;
    }
    return false;
}

bool pass_canonical_split(ir_module *module, const ir_op **stuck) {
    *stuck = NULL;
    bool changed = false;
    if (analysis_axes_find(module->arena, module).doubled == NULL)
        return false;
    ir_op *last = NULL;
    int next = 0;
    for (;;) {
        ir_op *op = (ir_op *)analysis_axes_conflict(module->arena, module);
        if (op == NULL)
            return changed;
        if (op != last)
            next = op->operand_count - 1;
        last = op;
        if (!split_op(module, op, &next)) {
            *stuck = op;
            return changed;
        }
        changed = true;
    }
}
