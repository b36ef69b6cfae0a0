/* Ops of an axis in parts: what a launch does of one part.
 *
 *     load %x[%row, : N]                  load %x[%row, %start : +C]      : f32<C below %left>
 *     store %y[%row, : N], %s             store %y[%row, %start : +C], broadcast %s
 *     arange N                            broadcast (add arange C, %start)
 *
 * Ops that compute element by element only change their types.
 */
#include "pass/split_build_internal.h"

static void change_types(split_build_state *b, const ir_op *old, ir_op *op) {
    const split_state *s = b->split;
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < op->results[i]->type.rank; d++)
            if (s->axes.of_value[old->results[i]->number][d] == s->axis) {
                op->results[i]->type.extent[d] = b->length;
                op->results[i]->type.domain[d] = b->left;
            }
}

/* The operands again, with the start of the part behind the ranges that run over it. */
static void change_access(split_build_state *b, const ir_op *old, ir_op *op) {
    const split_state *s = b->split;
    ir_access *access = op->attributes.access;
    ir_value **operands =
        BASE_NEW_ARRAY(b->module->arena, ir_value *, op->operand_count + IR_MAX_RANK);
    const analysis_store_axes *store = analysis_axes_of_store(&s->axes, old);
    int count = 0;
    operands[count++] = op->operands[0];
    for (int d = 0, next = 0; d < access->rank; d++) {
        ir_index *index = &access->index[d];
        int axis = -1, tile = index->kind == IR_INDEX_RANGE ? next++ : -1;
        if (tile >= 0)
            axis = op->opcode == IR_LOAD ? s->axes.of_value[old->results[0]->number][tile]
                   : store != NULL       ? store->axis[tile]
                                         : -1;
        ir_value *operand = index->operand >= 0 ? op->operands[index->operand] : NULL;
        if (axis == s->axis) {
            operand = b->start;
            index->length = b->length;
        }
        index->operand = operand != NULL ? count : -1;
        if (operand != NULL)
            operands[count++] = operand;
    }
    if (access->fill >= 0) {
        operands[count] = op->operands[access->fill];
        access->fill = count++;
    }
    if (op->opcode == IR_STORE)
        operands[count++] = op->operands[op->operand_count - 1];
    op->operands = operands;
    op->operand_count = count;
}

/* A store of a scalar, or of an axis of extent 1, along the axis: of as many as there are left. */
static void spread_stored(split_build_state *b, const ir_op *old, ir_op *op) {
    const split_state *s = b->split;
    const analysis_store_axes *store = analysis_axes_of_store(&s->axes, old);
    ir_value *value = op->operands[op->operand_count - 1];
    int dimension = split_store_dimension(s, old);
    if (b->left == NULL || (value->type.rank > 0 && value->type.domain[dimension] != NULL))
        return;
    ir_type type = value->type;
    type.rank = store->rank;
    for (int d = 0, next = 0; d < op->attributes.access->rank; d++) {
        if (op->attributes.access->index[d].kind == IR_INDEX_RANGE)
            type.extent[next++] = op->attributes.access->index[d].length;
        else if (op->attributes.access->index[d].kind == IR_INDEX_GATHER)
            return; /* the index ends where its tile does */
    }
    type.domain[dimension] = b->left;
    ir_op *spread = ir_op_create(b->module, IR_BROADCAST, op->location, 1, &value, 1, &type, 0);
    ir_op_insert_before(op, spread);
    op->operands[op->operand_count - 1] = spread->results[0];
}

/* arange N: the one of the part, from its start on, as far as the row goes. */
static void change_arange(split_build_state *b, ir_op *op) {
    ir_type full = op->results[0]->type;
    full.domain[0] = NULL;
    ir_op *own = ir_op_create(b->module, IR_ARANGE, op->location, 0, NULL, 1, &full, 0);
    own->attributes.extent = b->length;
    ir_op_insert_before(op, own);
    ir_value *operands[] = {own->results[0], b->start};
    if (b->left != NULL) {
        ir_op *moved = ir_op_create(b->module, IR_ADD, op->location, 2, operands, 1, &full, 0);
        ir_op_insert_before(op, moved);
        operands[0] = moved->results[0];
    }
    op->opcode = b->left != NULL ? IR_BROADCAST : IR_ADD;
    op->attributes = (ir_attributes){0};
    op->operand_count = b->left != NULL ? 1 : 2;
    op->operands = BASE_NEW_ARRAY(b->module->arena, ir_value *, 2);
    op->operands[0] = operands[0];
    op->operands[1] = operands[1];
}

void split_op_into_parts(split_build_state *b, const ir_op *old, ir_op *op) {
    change_types(b, old, op);
    if (op->attributes.access != NULL)
        change_access(b, old, op);
    if (op->opcode == IR_STORE && split_store_dimension(b->split, old) >= 0)
        spread_stored(b, old, op);
    if (op->opcode == IR_ARANGE && split_is_on_axis(b->split, old->results[0]))
        change_arange(b, op);
}
