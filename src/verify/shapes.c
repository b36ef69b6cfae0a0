/* Ops that change shapes: shape-change, and the dtypes of reductions.
 *
 *     %r = reduce sum %t axis=0 : f32<1, N>       %t: f32<M below %k, N>
 *     %e = expand %r axis=0 : f32<1, 1, N>
 *     %b = broadcast %e : f32<4, 1, N>
 */
#include "verify/verify_internal.h"

/* Axis `a` of one tile is axis `b` of the other: extent and domain. */
static bool same_axis(const verify_state *state, const ir_type *x, int a, const ir_type *y, int b) {
    return verify_extent_equal(state, x->extent[a], y->extent[b]) &&
           verify_same_value(state, x->domain[a], y->domain[b]);
}

static bool is_one_and_full(const verify_state *state, const ir_type *type, int axis) {
    return verify_extent_is_one(state, type->extent[axis]) && type->domain[axis] == NULL;
}

/* `large` is `small` with one axis more, of extent 1 and full. */
static bool has_axis_more(const verify_state *state, const ir_type *large, const ir_type *small,
                          int axis) {
    if (large->form != IR_FORM_TILE || small->form != IR_FORM_TILE ||
        large->rank != small->rank + 1 || !is_one_and_full(state, large, axis))
        return false;
    for (int i = 0; i < large->rank; i++)
        if (i != axis && !same_axis(state, large, i, small, i < axis ? i : i - 1))
            return false;
    return true;
}

static bool reduce_shape_holds(const verify_state *state, const ir_type *from, const ir_type *to,
                               int axis) {
    if (from->form != IR_FORM_TILE || from->rank < 1 || to->form != IR_FORM_TILE)
        return false;
    if (from->rank == 1)
        return to->rank == 0;
    if (to->rank != from->rank || !is_one_and_full(state, to, axis))
        return false;
    for (int i = 0; i < from->rank; i++)
        if (i != axis && !same_axis(state, from, i, to, i))
            return false;
    return true;
}

/* Full axes of extent 1 spread; others keep extent, and a domain that they have. */
static bool broadcast_shape_holds(const verify_state *state, const ir_type *from,
                                  const ir_type *to) {
    if (from->form == IR_FORM_UNIFORM)
        return to->form == IR_FORM_SLOTS || to->form == IR_FORM_UNIFORM;
    if (from->form == IR_FORM_SLOTS)
        return to->form == IR_FORM_SLOTS && to->slots == from->slots;
    if (from->form != IR_FORM_TILE || to->form != IR_FORM_TILE)
        return false;
    if (from->rank == 0)
        return true;
    if (from->rank != to->rank)
        return false;
    for (int i = 0; i < from->rank; i++) {
        bool equal = verify_extent_equal(state, from->extent[i], to->extent[i]);
        if (!equal && !is_one_and_full(state, from, i))
            return false;
        if (equal && from->domain[i] != NULL &&
            !verify_same_value(state, from->domain[i], to->domain[i]))
            return false;
    }
    return true;
}

static bool pad_shape_holds(const verify_state *state, const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    if (from->form != IR_FORM_TILE || !verify_is_scalar(op->operands[1]) ||
        !ir_type_same_shape(state->module, from, to))
        return false;
    for (int i = 0; i < to->rank; i++)
        if (to->domain[i] != NULL)
            return false;
    return true;
}

static bool shape_holds(const verify_state *state, const ir_op *op) {
    const ir_type *from = &op->operands[0]->type, *to = &op->results[0]->type;
    int axis = op->attributes.axis;
    int rank = op->opcode == IR_EXPAND ? from->rank + 1 : from->rank;
    bool has_axis = op->opcode == IR_EXPAND || op->opcode == IR_DROP || op->opcode == IR_REDUCE;
    if (has_axis && (axis < 0 || axis >= rank))
        return true; /* attribute-range */
    if (op->opcode == IR_EXPAND)
        return has_axis_more(state, to, from, axis);
    if (op->opcode == IR_DROP)
        return has_axis_more(state, from, to, axis);
    if (op->opcode == IR_BROADCAST)
        return broadcast_shape_holds(state, from, to);
    if (op->opcode == IR_PAD)
        return pad_shape_holds(state, op);
    if (op->opcode == IR_CONVERT)
        return from->form == IR_FORM_TILE && from->rank == 1 && verify_types_agree(state, from, to);
    return op->opcode != IR_REDUCE || reduce_shape_holds(state, from, to, axis);
}

static bool monoid_takes(ir_monoid monoid, base_dtype dtype) {
    base_dtype state = ir_monoid_state(monoid, dtype);
    int allowed = ir_monoid_describe(monoid)->dtypes;
    if (state == BASE_F32)
        return (allowed & IR_DTYPES_F) != 0;
    return (allowed & (state == BASE_BOOL ? IR_DTYPES_B : IR_DTYPES_I)) != 0;
}

static void rule_reduce_dtypes(verify_state *state, const ir_op *op) {
    base_dtype dtype = op->operands[0]->type.dtype;
    ir_monoid monoid = op->attributes.monoid;
    if (!monoid_takes(monoid, dtype))
        verify_report(state, VERIFY_OPERAND_DTYPE, op, "a dtype of the monoid table",
                      "`%s` does not reduce %s", ir_monoid_describe(monoid)->text,
                      base_dtype_name(dtype));
    if (op->results[0]->type.dtype != ir_monoid_result(monoid, dtype))
        verify_report(state, VERIFY_RESULT_DTYPE, op,
                      base_dtype_name(ir_monoid_result(monoid, dtype)), "the result is %s",
                      base_dtype_name(op->results[0]->type.dtype));
}

void verify_shape_change(verify_state *state, const ir_op *op) {
    if (op->opcode == IR_YIELD || op->opcode == IR_PUSH || op->opcode == IR_PULL ||
        op->opcode == IR_FOLD || op->opcode == IR_COMBINE || op->opcode == IR_SCRATCH ||
        op->opcode == IR_SYNC || op->opcode == IR_SHUFFLE || op->opcode == IR_RENAME ||
        op->opcode == IR_XORSLOT || op->opcode == IR_UNIFORM)
        return;
    if (!shape_holds(state, op))
        verify_report(state, VERIFY_SHAPE_CHANGE, op, ir_op_describe(op->opcode)->doc,
                      "`%s` does not give this shape", ir_op_describe(op->opcode)->text);
    if (op->opcode == IR_REDUCE) {
        rule_reduce_dtypes(state, op);
        return;
    }
    for (int i = 0; i < op->operand_count; i++)
        if (op->operands[i]->type.dtype != op->results[0]->type.dtype)
            verify_report(state, VERIFY_RESULT_DTYPE, op,
                          base_dtype_name(op->results[0]->type.dtype), "operand %d is %s", i,
                          base_dtype_name(op->operands[i]->type.dtype));
}
