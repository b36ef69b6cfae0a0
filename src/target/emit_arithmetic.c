/* Arithmetic: every op of the table that is neither memory, lanes nor control, spelled from a
 * table.
 *
 *     %s = add %a, %b : f32(2)      const f32x8 s_0 = a_0 + b_0;
 *                                   const f32x8 s_1 = a_1 + b_1;
 *
 *     %p = fma %a, %b, -0.0         const f32x8 p_0 = a_0 * b_0;
 *
 * Conversions are the dialect's, and whether a type has operators. */
#include "target/emitter_internal.h"

#include <math.h>
#include <string.h>

/* How an op on one to three values is spelled: an operator where the type has one, else a helper
 * `helper_TYPE(a, b)`. Signed integers wrap, which the operators + - * do not promise. */
typedef struct spelling {
    const char *infix;
    const char *helper;
    bool wraps;
} spelling;

static const spelling spellings[IR_OPCODE_COUNT] = {
    [IR_ADD] = {" + ", "add", true},
    [IR_SUB] = {" - ", "sub", true},
    [IR_MUL] = {" * ", "mul", true},
    [IR_DIV] = {" / ", NULL, false},
    [IR_FLOOR_DIV] = {NULL, "floor_div", false},
    [IR_FLOOR_MOD] = {NULL, "floor_mod", false},
    [IR_NEG] = {"-", "neg", true},
    [IR_ABS] = {NULL, "abs", false},
    [IR_FMA] = {NULL, "fma", false},
    [IR_MAXIMUM] = {NULL, "maximum", false},
    [IR_MINIMUM] = {NULL, "minimum", false},
    [IR_MAXNUM] = {NULL, "maxnum", false},
    [IR_MINNUM] = {NULL, "minnum", false},
    [IR_SQRT] = {NULL, "sqrt", false},
    [IR_NATIVE_EXP] = {NULL, "native_exp", false},
    [IR_NATIVE_EXP2] = {NULL, "native_exp2", false},
    [IR_NATIVE_LOG] = {NULL, "native_log", false},
    [IR_NATIVE_LOG2] = {NULL, "native_log2", false},
    [IR_NATIVE_RSQRT] = {NULL, "native_rsqrt", false},
    [IR_NATIVE_SIGMOID] = {NULL, "native_sigmoid", false},
    [IR_LT] = {" < ", "lt", false},
    [IR_LE] = {" <= ", "le", false},
    [IR_EQ] = {" == ", "eq", false},
    [IR_NE] = {" != ", "ne", false},
    [IR_SELECT] = {NULL, "select", false},
    [IR_AND] = {" & ", "and", false},
    [IR_OR] = {" | ", "or", false},
    [IR_XOR] = {" ^ ", "xor", false},
    [IR_NOT] = {"~", "not", false},
    [IR_SHL] = {NULL, "shl", false},
    [IR_SHR] = {NULL, "shr", false},
};

static bool spelled_by_operator(const target_emitter *e, ir_opcode opcode, base_dtype dtype,
                                bool vector) {
    const spelling *row = &spellings[opcode];
    bool signed_integer = base_dtype_kind_of(dtype) == BASE_KIND_SIGNED;
    return row->infix != NULL && e->dialect->operators(dtype, vector) &&
           !(row->wraps && signed_integer);
}

static const char *emit_unary(target_emitter *e, ir_opcode opcode, base_dtype dtype, bool vector,
                              const char *a) {
    if (opcode == IR_NOT && dtype == BASE_BOOL && !vector)
        return target_emit_text(e, "!%s", a);
    if (spelled_by_operator(e, opcode, dtype, vector))
        return target_emit_text(e, "%s%s", spellings[opcode].infix, a);
    return target_emit_text(e, "%s_%s(%s)", spellings[opcode].helper,
                            e->dialect->type(e, dtype, vector), a);
}

const char *target_emit_binary(target_emitter *emitter, ir_opcode opcode, base_dtype dtype,
                               bool vector, const char *a, const char *b) {
    if (spelled_by_operator(emitter, opcode, dtype, vector))
        return target_emit_text(emitter, "%s%s%s", a, spellings[opcode].infix, b);
    return target_emit_text(emitter, "%s_%s(%s, %s)", spellings[opcode].helper,
                            emitter->dialect->type(emitter, dtype, vector), a, b);
}

ir_opcode target_emit_combine_opcode(const ir_op *op) {
    const ir_monoid_info *monoid = ir_monoid_describe(op->attributes.monoid);
    return op->attributes.nan == IR_NAN_IGNORE ? monoid->combine_ignoring_nan : monoid->combine;
}

/* The same value, or equal constants. */
static bool same_value(const ir_value *a, const ir_value *b) {
    if (a == b)
        return true;
    if (a->definer == NULL || b->definer == NULL || a->definer->opcode != IR_CONSTANT ||
        b->definer->opcode != IR_CONSTANT)
        return false;
    const ir_constant *x = &a->definer->attributes.constant;
    const ir_constant *y = &b->definer->attributes.constant;
    return x->dtype == y->dtype && x->integer == y->integer &&
           memcmp(&x->real, &y->real, sizeof x->real) == 0;
}

const char *target_emit_extreme(const ir_op *op) {
    if (op->opcode != IR_SELECT || op->results[0]->type.dtype != BASE_F32)
        return NULL;
    const ir_op *less = op->operands[0]->definer;
    if (less == NULL || less->opcode != IR_LT)
        return NULL;
    const ir_value *p = less->operands[0], *q = less->operands[1];
    if (same_value(p, op->operands[1]) && same_value(q, op->operands[2]))
        return "lesser";
    if (same_value(q, op->operands[1]) && same_value(p, op->operands[2]))
        return "greater";
    return NULL;
}

static const char *emit_select(target_emitter *e, const ir_op *op, int slot, bool vector) {
    base_dtype dtype = op->results[0]->type.dtype;
    const char *type = e->dialect->type(e, dtype, vector);
    const char *a = target_emit_operand(e, op->operands[1], slot, vector);
    const char *b = target_emit_operand(e, op->operands[2], slot, vector);
    const char *extreme = target_emit_extreme(op);
    if (extreme != NULL)
        return target_emit_text(e, "%s_%s(%s, %s)", extreme, type, a, b);
    const char *condition = target_emit_name(e, op->operands[0], slot);
    if (!target_emit_is_vector(e, &op->operands[0]->type))
        return target_emit_text(e, "%s ? %s : %s", condition, a, b);
    return target_emit_text(e, "select_%s(%s, %s, %s)", type, condition, a, b);
}

/* Floor division by a power of two is a shift, its remainder a mask, for negative numbers too. NULL
 * when the op is neither. */
static const char *emit_division_by_power(target_emitter *e, const ir_op *op, const char *a,
                                          bool vector) {
    int64_t divisor;
    if ((op->opcode != IR_FLOOR_DIV && op->opcode != IR_FLOOR_MOD) ||
        !target_emit_is_integer(op->operands[1], &divisor) || divisor <= 0 ||
        (divisor & (divisor - 1)) != 0)
        return NULL;
    bool quotient = op->opcode == IR_FLOOR_DIV;
    base_dtype dtype = op->results[0]->type.dtype;
    ir_constant constant = {.dtype = dtype,
                            .integer = quotient ? __builtin_ctzll((uint64_t)divisor) : divisor - 1};
    const char *b = target_emit_literal(e, constant);
    return target_emit_binary(e, quotient ? IR_SHR : IR_AND, dtype, vector, a,
                              vector ? e->dialect->splat(e, dtype, b) : b);
}

/* x * y + -0.0 is the product, to the sign of a zero. */
static bool is_product(const ir_op *op) {
    const ir_op *added = op->opcode == IR_FMA ? op->operands[2]->definer : NULL;
    return added != NULL && added->opcode == IR_CONSTANT &&
           added->attributes.constant.dtype == BASE_F32 && added->attributes.constant.real == 0.0 &&
           signbit(added->attributes.constant.real);
}

/* One slot of the result of a table op. */
static const char *emit_expression(target_emitter *e, const ir_op *op, int slot) {
    bool vector = target_emit_is_vector(e, &op->results[0]->type);
    const ir_value *first = op->operands[0];
    base_dtype dtype = first->type.dtype;
    if (op->opcode == IR_SELECT)
        return emit_select(e, op, slot, vector);
    const char *a = target_emit_operand(e, first, slot, vector);
    if (op->opcode == IR_CAST)
        return target_emit_cast(e, op, a, vector);
    if (op->opcode == IR_BITCAST)
        return target_emit_bitcast(e, op, a, vector);
    if (op->operand_count == 1)
        return emit_unary(e, op->opcode, dtype, vector, a);
    const char *power = emit_division_by_power(e, op, a, vector);
    if (power != NULL)
        return power;
    const char *b = target_emit_operand(e, op->operands[1], slot, vector);
    if (op->operand_count == 2)
        return target_emit_binary(e, op->opcode, dtype, vector, a, b);
    if (is_product(op))
        return target_emit_binary(e, IR_MUL, dtype, vector, a, b);
    const char *c = target_emit_operand(e, op->operands[2], slot, vector);
    return target_emit_text(e, "%s_%s(%s, %s, %s)", spellings[op->opcode].helper,
                            e->dialect->type(e, dtype, vector), a, b, c);
}

void target_emit_arithmetic(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(emitter, result, NULL);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++)
        target_emit_define(emitter, result, s, emit_expression(emitter, op, s));
}

void target_emit_fold(target_emitter *emitter, const ir_op *op) {
    const ir_value *operand = op->operands[0];
    const ir_value *result = op->results[0];
    ir_opcode opcode = target_emit_combine_opcode(op);
    bool vector = target_emit_is_vector(emitter, &operand->type);
    int count = ir_type_slot_count(&operand->type);
    const char **parts = BASE_NEW_ARRAY(emitter->arena, const char *, count);
    for (int s = 0; s < count; s++)
        parts[s] = target_emit_name(emitter, operand, s);
    target_emit_take_names(emitter, result, ir_monoid_describe(op->attributes.monoid)->text);
    const char *name = target_emit_variable(emitter, result, 0);
    int half = 1;
    while (half * 2 < count)
        half *= 2;
    for (half = count > 1 ? half : 0; half > 0; half /= 2) {
        for (int s = 0; s < half && s + half < count; s++) {
            const char *whole = target_emit_binary(emitter, opcode, operand->type.dtype, vector,
                                                   parts[s], parts[s + half]);
            parts[s] =
                half == 1 ? whole
                          : target_emit_fresh(emitter, target_emit_text(emitter, "%s_%d", name, s));
            if (half > 1)
                target_emit_line(emitter, "const %s %s = %s;", target_emit_type(emitter, result),
                                 parts[s], whole);
        }
    }
    target_emit_define(emitter, result, 0, parts[0]);
}
