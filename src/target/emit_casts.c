/* Conversions: casts by the rules of ir/ops.def, in operators and helpers of the prelude.
 *
 *     %b = cast %a rounding=even : i8(1)    const i8 b = (i8)minimum_i32(maximum_i32(
 *       (of f32)                                i32_from_f32(round_even_f32(a)), (-128)), 127);
 *
 * A value goes by way of the types that compute: f16 and bf16 through f32, small integers and bool
 * through i32. What `i32_from_f32` and its like do outside the range is the prelude's promise:
 * they saturate, and NaN gives 0. */
#include "target/emitter_internal.h"

const char *target_emit_convert(const target_emitter *emitter, const char *to, const char *from,
                                bool vector, const char *expression) {
    const target_emitter *e = emitter;
    if (vector)
        return target_emit_text(e, "%s_from_%sx%d(%s)", to, from, e->lanes, expression);
    return target_emit_text(e, "%s_from_%s(%s)", to, from, expression);
}

/* The same integers modulo the width of `to`; also the bits of u32 as i32 and back. */
static const char *cast_wrap(const target_emitter *e, base_dtype to, base_dtype from, bool vector,
                             const char *expression) {
    int64_t size_to = base_dtype_size(to), size_from = base_dtype_size(from);
    if (to == from)
        return expression;
    if (!vector || size_to == size_from)
        return target_emit_text(e, "(%s)%s", e->dialect->type(e, to, vector), expression);
    if (to == BASE_I64)
        return target_emit_convert(e, "i64", base_dtype_name(from), true, expression);
    if (from == BASE_I64) {
        const char *low = target_emit_convert(e, "i32", "i64", true, expression);
        return cast_wrap(e, to, BASE_I32, true, low);
    }
    if (size_to == 1) {
        const char *narrow = target_emit_convert(e, "i8", "i32", true,
                                                 cast_wrap(e, BASE_I32, from, true, expression));
        return cast_wrap(e, to, BASE_I8, true, narrow);
    }
    return cast_wrap(e, to, BASE_I32, true,
                     target_emit_convert(e, "i32", base_dtype_name(from), true, expression));
}

/* The nearest value that `to` holds, still of type `from`. */
static const char *cast_clamp(target_emitter *e, base_dtype to, base_dtype from, bool vector,
                              const char *expression) {
    const struct {
        ir_opcode opcode;
        int64_t limit;
        bool needed;
    } sides[] = {
        {IR_MAXIMUM, base_dtype_least(to), base_dtype_least(from) < base_dtype_least(to)},
        {IR_MINIMUM, base_dtype_greatest(to), base_dtype_greatest(from) > base_dtype_greatest(to)},
    };
    for (int i = 0; i < 2; i++) {
        if (!sides[i].needed)
            continue;
        ir_constant constant = {.dtype = from, .integer = sides[i].limit};
        const char *limit = target_emit_literal(e, constant);
        expression = target_emit_binary(e, sides[i].opcode, from, vector, expression,
                                        vector ? e->dialect->splat(e, from, limit) : limit);
    }
    return expression;
}

static const char *integer_from_f32(target_emitter *e, base_dtype to, ir_rounding rounding,
                                    bool vector, const char *expression) {
    if (rounding == IR_ROUND_EVEN)
        expression = target_emit_text(e, "round_even_%s(%s)", e->dialect->type(e, BASE_F32, vector),
                                      expression);
    if (base_dtype_size(to) >= 4)
        return target_emit_convert(e, base_dtype_name(to), "f32", vector, expression);
    expression = target_emit_convert(e, "i32", "f32", vector, expression);
    return cast_wrap(e, to, BASE_I32, vector, cast_clamp(e, to, BASE_I32, vector, expression));
}

static const char *float_from(target_emitter *e, base_dtype to, base_dtype from, bool vector,
                              const char *expression) {
    if (to == BASE_BF16 && from != BASE_F32)
        return target_emit_convert(e, "bf16", "i64", vector,
                                   vector ? cast_wrap(e, BASE_I64, from, true, expression)
                                          : expression);
    if (from != BASE_F32) /* past 2^24, where this rounds, f16 is inf: one rounding */
        expression = vector ? target_emit_convert(e, "f32", base_dtype_name(from), true, expression)
                            : target_emit_text(e, "(f32)%s", expression);
    return to == BASE_F32 ? expression
                          : target_emit_convert(e, base_dtype_name(to), "f32", vector, expression);
}

/* To one of the types that compute: f16 and bf16 to f32, the small integers and bool to i32. */
static base_dtype cast_widen(const target_emitter *e, base_dtype from, bool vector,
                             const char **expression) {
    if (from == BASE_F16 || from == BASE_BF16) {
        *expression = target_emit_convert(e, "f32", base_dtype_name(from), vector, *expression);
        return BASE_F32;
    }
    if (from == BASE_BOOL && vector)
        *expression = target_emit_text(e, "(%s & 1)", *expression);
    else if (from == BASE_I8 || from == BASE_U8)
        *expression = cast_wrap(e, BASE_I32, from, vector, *expression);
    return base_dtype_size(from) == 1 ? BASE_I32 : from;
}

const char *target_emit_cast(target_emitter *emitter, const ir_op *op, const char *operand,
                             bool vector) {
    target_emitter *e = emitter;
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    bool narrower = base_dtype_size(to) < base_dtype_size(from);
    bool saturates = op->attributes.rounding == IR_ROUND_EVEN && narrower;
    to = to == BASE_INDEX ? BASE_I64 : to;
    from = from == BASE_INDEX ? BASE_I64 : from;
    if (to == from)
        return operand;
    from = cast_widen(e, from, vector, &operand);
    if (to == BASE_BOOL) {
        const char *zero = target_emit_literal(e, (ir_constant){.dtype = from});
        return target_emit_binary(e, IR_NE, from, vector, operand,
                                  vector ? e->dialect->splat(e, from, zero) : zero);
    }
    if (base_dtype_is_float(to))
        return float_from(e, to, from, vector, operand);
    if (from == BASE_F32)
        return integer_from_f32(e, to, op->attributes.rounding, vector, operand);
    if (saturates)
        operand = cast_clamp(e, to, from, vector, operand);
    return cast_wrap(e, to, from, vector, operand);
}

const char *target_emit_bitcast(target_emitter *emitter, const ir_op *op, const char *operand,
                                bool vector) {
    target_emitter *e = emitter;
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    if (vector || (to != BASE_F32 && from != BASE_F32))
        return target_emit_text(e, "(%s)%s", e->dialect->type(e, to, vector), operand);
    if (to == from)
        return operand;
    return target_emit_text(e, "%s_as_%s(%s)", base_dtype_name(from), base_dtype_name(to), operand);
}
