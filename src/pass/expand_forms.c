/* Expansion of functions and divisions, in the form that the plan recorded:
 *
 *     %e = exp %t                        a polynomial (ir/portable_math.h)
 *     %e = exp %t form=native            %e = native_exp %t
 *     %e = exp %t form=flushed           a shorter polynomial, for %t <= 0
 *     %q = div %e, %s                    %q = div %e, %s
 *     %q = div %e, %s form=reciprocal    %r = div 1, %s    %q = %e * %r, with a scale
 *
 * What gives the result of a native function or of a division has its anchor: the verifier asks
 * what is recorded of it. */
#include "pass/expand_internal.h"

#include "ir/portable_math.h"

/* x * y with one rounding; not `mul`, which is a step of a product that a kernel reduces. */
static ir_value *build_product(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_build_fma(b, x, y, ir_build_real(b, BASE_F32, -0.0));
}

/* x / d as x * r * s with r = 1 / (d * s). s is 1 where d and 1/d are normal, and 2^64 or 2^-64
 * where d is so small or so large that 1/d would leave the range or lose digits: the products with
 * s are exact, but for one rounding where the result is subnormal. Zero, inf and NaN come out as by
 * a division. All but the two products depend on d alone: `hoist` and `merge` leave one of each. */
static ir_value *build_quotient(ir_builder *b, ir_value *x, ir_value *d) {
    ir_value *least = ir_build_real(b, BASE_F32, 0x1p-126);
    ir_value *most = ir_build_real(b, BASE_F32, 0x1p126);
    ir_value *up = ir_build_real(b, BASE_F32, 0x1p64);
    ir_value *down = ir_build_real(b, BASE_F32, 0x1p-64);
    ir_value *one = ir_build_real(b, BASE_F32, 1.0);
    ir_value *size = ir_build_unary(b, IR_ABS, d);
    ir_value *is_small = ir_build_binary(b, IR_LT, size, least);
    ir_value *is_large = ir_build_binary(b, IR_LT, most, size);
    ir_value *scale = ir_build_select(b, is_large, down, one);
    scale = ir_build_select(b, is_small, up, scale);
    ir_value *reciprocal = ir_build_binary(b, IR_DIV, one, build_product(b, d, scale));
    return build_product(b, build_product(b, x, reciprocal), scale);
}

ir_value *expand_formed(ir_builder *b, const ir_op *op, ir_value *const *operands) {
    ir_value *result = NULL;
    if (op->attributes.form == IR_MATH_NATIVE)
        result = ir_build_unary(b, ir_native_find(op->opcode)->opcode, operands[0]);
    else if (op->attributes.form == IR_MATH_RECIPROCAL)
        result = build_quotient(b, operands[0], operands[1]);
    else if (op->attributes.form == IR_MATH_FLUSHED)
        return ir_portable_flushed_exp(b, operands[0]);
    else if (op->operand_count == 1)
        return ir_portable_math(b, op->opcode, operands[0]);
    else if (op->opcode == IR_DIV)
        result = ir_build_binary(b, IR_DIV, operands[0], operands[1]);
    if (result != NULL)
        result->definer->anchor = op->anchor;
    return result;
}
