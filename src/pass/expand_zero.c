/* Expansion of max and min that tell the zeros apart: floats are reduced as integers in their
 * order.
 *
 *     %b = bitcast %x : i32                    0.0 -> 0            1.0 -> 0x3f800000
 *     %k = xor %b, (shr %b, 31) & 0x7fffffff   -0.0 -> -1          -inf -> 0x807fffff
 *
 * which undoes itself. A NaN wins as the integer above or below all others, or is left out as the
 * identity, which is that of an infinity. Integers have one largest and one least in every order.
 */
#include "pass/expand_internal.h"

bool expand_zero_has_keys(const ir_op *reduce) {
    return reduce->attributes.zero == IR_ZERO_STRICT &&
           (reduce->attributes.monoid == IR_MONOID_MAX ||
            reduce->attributes.monoid == IR_MONOID_MIN) &&
           base_dtype_is_float(reduce->operands[0]->type.dtype);
}

static ir_value *turn(ir_builder *b, ir_value *bits) {
    ir_value *sign = ir_build_binary(b, IR_SHR, bits, ir_build_integer(b, BASE_I32, 31));
    ir_value *magnitude = ir_build_integer(b, BASE_I32, INT32_MAX);
    return ir_build_binary(b, IR_XOR, bits, ir_build_binary(b, IR_AND, sign, magnitude));
}

ir_value *expand_zero_key(expand_state *state, const ir_op *reduce, ir_value *value) {
    ir_builder *b = &state->builder;
    bool max = reduce->attributes.monoid == IR_MONOID_MAX;
    ir_value *nan = reduce->attributes.nan == IR_NAN_IGNORE
                        ? expand_reduce_identity(state, reduce)
                        : ir_build_integer(b, BASE_I32, max ? INT32_MAX : INT32_MIN);
    ir_value *key = turn(b, ir_build_bitcast(b, value, BASE_I32));
    return ir_build_select(b, ir_build_binary(b, IR_EQ, value, value), key, nan);
}

ir_value *expand_zero_value(expand_state *state, ir_value *key) {
    return ir_build_bitcast(&state->builder, turn(&state->builder, key), BASE_F32);
}
