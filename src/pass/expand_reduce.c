/* Expansion of reductions: identity, one element entering, and the end of the reduced axis.
 *
 *     %r = reduce max %t : f32        %a = maximum(%a, %t) at every step, then
 *                                     %m = combine<max> fold<max> %a
 *
 * The running state is a slot vector where the operand is one: slots and lanes reduce apart and
 * meet at the end, when the reduced axis is the one that they hold. Where programs share the team
 * a result stays T(1): it is that of the lane's own program. Lanes of a row that is narrower than
 * its subgroup combine over their own bits, each row for itself:
 *
 *     axis row lane 4 @8 | group *       %m = combine<max> lanes=(1, 2, 4) fold<max> %a : f32(1)
 */
#include "pass/expand_internal.h"

ir_value *expand_reduce_identity(expand_state *state, const ir_op *reduce) {
    ir_constant identity = expand_zero_has_keys(reduce)
                               ? ir_zero_key_identity(reduce->attributes.monoid)
                               : ir_reduce_identity(reduce);
    return ir_build_constant(&state->builder, identity);
}

int expand_reduce_axis(const ir_op *reduce) {
    return reduce->operands[0]->layout.axis[reduce->attributes.axis];
}

ir_value *expand_reduce_begin(expand_state *state, const ir_op *op) {
    expand_order_begin(state, op);
    int slots = expand_slots_of(state, op->operands[0]);
    return expand_splat(state, expand_reduce_identity(state, op), slots);
}

/* One element enters: converted to the state, NaN and what is outside the domain replaced by the
 * identity. */
ir_value *expand_reduce_enter(expand_state *state, expand_place *place, const ir_op *op,
                              ir_value *carry) {
    ir_builder *b = &state->builder;
    ir_monoid monoid = op->attributes.monoid;
    ir_value *value = expand_use(state, place, op->operands[0]);
    base_dtype dtype = ir_monoid_state(monoid, value->type.dtype);
    if (dtype != value->type.dtype)
        value = ir_build_cast(b, value, dtype, IR_ROUND_ZERO);
    if (expand_zero_has_keys(op)) {
        value = expand_zero_key(state, op, value);
        dtype = value->type.dtype;
    }
    ir_value *identity = expand_reduce_identity(state, op);
    bool ignore = op->attributes.nan == IR_NAN_IGNORE && dtype == BASE_F32;
    if (ignore && (monoid == IR_MONOID_SUM || monoid == IR_MONOID_PROD))
        value = ir_build_select(b, ir_build_binary(b, IR_EQ, value, value), value, identity);
    ir_value *bits = expand_inside(state, place, op->operands[0]);
    if (bits != NULL) {
        ir_value *sides[2] = {bits, value};
        expand_level(state, sides, 2);
        value = ir_build_select(b, sides[0], sides[1], identity);
    }
    if (op->attributes.order == IR_ORDER_CANONICAL)
        value = expand_order_piece(state, place, op, value);
    if (expand_order_keeps(state, op)) {
        expand_order_keep(state, place, op, value);
        return carry;
    }
    return expand_reduce_join(state, op, carry, value);
}

ir_value *expand_reduce_join(expand_state *state, const ir_op *reduce, ir_value *a, ir_value *b) {
    const ir_monoid_info *info = ir_monoid_describe(reduce->attributes.monoid);
    bool ignore = reduce->attributes.nan == IR_NAN_IGNORE && a->type.dtype == BASE_F32;
    ir_value *joined[2] = {a, b};
    expand_level(state, joined, 2);
    return ir_build_binary(&state->builder, ignore ? info->combine_ignoring_nan : info->combine,
                           joined[0], joined[1]);
}

ir_value *expand_reduce_build(expand_state *state, ir_opcode opcode, const ir_op *reduce,
                              ir_value *value, ir_type type) {
    ir_op *op = ir_build_op(&state->builder, opcode, 1, &value, 1, &type, 0);
    op->attributes.monoid = reduce->attributes.monoid;
    op->attributes.nan = expand_zero_has_keys(reduce) ? IR_NAN_PROPAGATE : reduce->attributes.nan;
    return op->results[0];
}

ir_value *expand_reduce_fold(expand_state *state, const ir_op *reduce, ir_value *value) {
    return expand_reduce_build(state, IR_FOLD, reduce, value, ir_type_slots(value->type.dtype, 1));
}

static bool is_over_lanes(const expand_state *state, const ir_op *reduce, const ir_value *value) {
    return state->axis[expand_reduce_axis(reduce)].spread && value->type.form == IR_FORM_SLOTS;
}

bool expand_reduce_meets(const expand_state *state, const ir_op *op) {
    int axis = expand_reduce_axis(op);
    return axis >= 0 && state->axis[axis].spread && state->axis[axis].subgroups > 1;
}

/* Slots folded, lanes of each subgroup combined that hold different elements. */
static ir_value *reduce_lanes(expand_state *state, const ir_op *reduce, ir_value *value) {
    const expand_axis *axis = &state->axis[expand_reduce_axis(reduce)];
    base_dtype dtype = value->type.dtype;
    bool all = axis->lanes == ir_module_subgroup_lanes(state->module);
    bool alone = all && ir_module_subgroups(state->module) == 1 && !state->packed;
    if (value->type.slots > 1)
        value = expand_reduce_build(state, IR_FOLD, reduce, value, ir_type_slots(dtype, 1));
    if (alone)
        return expand_reduce_build(state, IR_COMBINE, reduce, value, ir_type_uniform(dtype));
    if (axis->lanes > 1) {
        value = expand_reduce_build(state, IR_COMBINE, reduce, value, ir_type_slots(dtype, 1));
        value->definer->attributes.lanes = all ? (ir_list){0} : axis->lane_bits;
        value->scope = all || !state->packed ? IR_SCOPE_SUBGROUP : IR_SCOPE_NONE;
    }
    if (axis->subgroups > 1 || state->packed)
        return value;
    value->scope = IR_SCOPE_GROUP; /* no lane has elements of its own left */
    return expand_uniform(state, value);
}

/* The carries at the end of the reduced axis: slots folded, lanes combined, subgroups joined
 * through scratch, back to the result's dtype. */
void expand_reduce_finish(expand_state *state, ir_op *const *reduces, int count,
                          ir_value **values) {
    ir_value *partial[EXPAND_MAX_REDUCES] = {NULL};
    for (int i = 0; i < count; i++) {
        state->builder.location = reduces[i]->location;
        bool over_lanes = is_over_lanes(state, reduces[i], values[i]);
        values[i] = expand_order_finish(state, reduces[i], values[i], over_lanes);
        if (!over_lanes || reduces[i]->attributes.order == IR_ORDER_CANONICAL)
            continue;
        values[i] = reduce_lanes(state, reduces[i], values[i]);
        partial[i] = expand_reduce_meets(state, reduces[i]) ? values[i] : NULL;
    }
    expand_scratch_combine(state, reduces, count, partial);
    for (int i = 0; i < count; i++)
        values[i] = partial[i] != NULL ? partial[i] : values[i];
    expand_cluster_combine(state, reduces, count, values);
    for (int i = 0; i < count; i++) {
        const ir_op *op = reduces[i];
        state->builder.location = op->location;
        if (expand_zero_has_keys(op))
            values[i] = expand_zero_value(state, values[i]);
        base_dtype result = ir_build_dtype(
            &state->builder, ir_monoid_result(op->attributes.monoid, op->operands[0]->type.dtype));
        if (result != values[i]->type.dtype)
            values[i] = ir_build_cast(&state->builder, values[i], result, IR_ROUND_ZERO);
    }
}
