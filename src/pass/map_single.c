/* A reduction over an axis of extent 1: the element itself, or the identity where the domain is
 * empty.
 *
 *     %m = reduce max %t axis=1 : f32<8, 1>      %m = broadcast %t : f32<8, 1>
 *     of a domain that may be empty              %m = broadcast (pad %t, -inf)
 *     nan=ignore                                 a NaN becomes the identity
 */
#include "pass/map_internal.h"

void map_single_reduce(map_state *state, ir_op *op) {
    ir_builder *b = &state->builder;
    ir_monoid monoid = op->attributes.monoid;
    ir_value *old_operand = op->operands[0];
    ir_value *value = map_use(state, old_operand);
    base_dtype own = value->type.dtype, dtype = ir_monoid_state(monoid, own);
    ir_value *made[5] = {0};
    int count = 0;
    if (dtype != own)
        made[count++] = value = ir_build_cast(b, value, dtype, IR_ROUND_ZERO);
    ir_value *identity = ir_build_constant(b, ir_reduce_identity(op));
    if (value->type.domain[op->attributes.axis] != NULL) {
        ir_type full = value->type; /* the broadcast below cuts the other axes again */
        for (int i = 0; i < full.rank; i++)
            full.domain[i] = NULL;
        ir_op *pad = ir_build_op(b, IR_PAD, 2, (ir_value *[]){value, identity}, 1, &full, 0);
        made[count++] = value = pad->results[0];
    }
    if (op->attributes.nan == IR_NAN_IGNORE && dtype == BASE_F32) {
        ir_value *number = ir_build_binary(b, IR_EQ, value, value);
        map_layout(state, old_operand, number);
        made[count++] = value = ir_build_select(b, number, value, identity);
    }
    base_dtype result = ir_monoid_result(monoid, own);
    if (result != dtype)
        made[count++] = value = ir_build_cast(b, value, result, IR_ROUND_ZERO);
    for (int i = 0; i < count; i++)
        map_layout(state, old_operand, made[i]);
    ir_type type = map_type(state, op->results[0]);
    ir_op *last = ir_build_op(b, op->results[0]->type.rank == 0 ? IR_DROP : IR_BROADCAST, 1, &value,
                              1, &type, 0);
    last->anchor = op->anchor;
    map_bind(state, op->results[0], last->results[0]);
}
