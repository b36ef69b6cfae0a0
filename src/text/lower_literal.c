/* Lowering: literals, which have no type until they meet one.
 *
 *     t * 2     2 is f32 beside f32, f16 and bf16      label == -100     -100 is i32 beside i32
 *     1.0 / 3   folded in double, rounded once where it is used
 *
 * A literal that does not fit its type (out of range, a fraction beside an integer, a number that
 * would round to zero) is an error.
 */
#include "text/lower_internal.h"

#include "base/checked.h"

#include <inttypes.h>
#include <math.h>

/* ---- a type for a literal ---- */

static ir_value *reject(lowerer *l, lower_value literal, base_dtype dtype, base_location at,
                        const char *slug, const char *hint) {
    base_diagnostic *item = lower_report(l, slug, at, "%s does not fit %s",
                                         lower_describe(l, literal), base_dtype_name(dtype));
    item->found = lower_describe(l, literal);
    item->expected = lower_text(l, "a value of %s", base_dtype_name(dtype));
    item->hint = hint;
    return NULL;
}

static ir_value *build_constant(lowerer *l, ir_constant constant, base_location at) {
    l->builder.location = at;
    return ir_build_constant(&l->builder, constant);
}

static ir_value *float_literal(lowerer *l, lower_value literal, base_dtype dtype,
                               base_location at) {
    double rounded = base_float_round(dtype, literal.real);
    bool overflows = isinf(rounded) && !isinf(literal.real);
    bool vanishes = rounded == 0 && literal.real != 0;
    if (overflows || vanishes)
        return reject(l, literal, dtype, at, "literal-range",
                      overflows ? "write `inf` for infinity"
                                : "it would be rounded to 0: write 0.0");
    return build_constant(l, (ir_constant){.dtype = dtype, .real = rounded}, at);
}

ir_value *lower_literal(lowerer *l, lower_value literal, base_dtype dtype, base_location at) {
    if (literal.location.line > 0)
        at = literal.location;
    if (literal.open) /* its type is being found: any number will do */
        literal = base_dtype_is_float(dtype) ? lower_real(0) : lower_integer(0);
    if (base_dtype_is_float(dtype))
        return float_literal(l, literal, dtype, at);
    if (dtype == BASE_BOOL)
        return reject(l, literal, dtype, at, "type-mismatch", "write `true` or `false`");
    int64_t value = literal.integer;
    if (!literal.is_integer) {
        if (literal.real != floor(literal.real))
            return reject(l, literal, dtype, at, "literal-fraction",
                          "a number with a fraction needs a floating value beside it: f32(...)");
        if (!(literal.real >= -0x1p63 && literal.real < 0x1p63))
            return reject(l, literal, dtype, at, "literal-range", NULL);
        value = (int64_t)literal.real;
    }
    if (!base_dtype_holds(dtype, value)) {
        base_diagnostic *item = lower_report(l, "literal-range", at, "%s does not fit %s",
                                             lower_describe(l, literal), base_dtype_name(dtype));
        item->found = lower_describe(l, literal);
        item->expected = lower_text(l, "%" PRId64 " to %" PRId64, base_dtype_least(dtype),
                                    base_dtype_greatest(dtype));
        item->hint = "a cast to a wider type computes in that type";
        return NULL;
    }
    return lower_shared_constant(l, dtype, value);
}

base_dtype lower_literal_default(lower_value literal) {
    if (!literal.is_integer)
        return BASE_F32;
    return base_dtype_holds(BASE_I32, literal.integer) ? BASE_I32 : BASE_I64;
}

/* ---- arithmetic of literals ---- */

lower_value lower_open(lower_value a, lower_value b) {
    lower_value result = a.is_integer && b.is_integer ? lower_integer(0) : lower_real(0);
    result.open = true;
    return result;
}

static lower_value overflow(lowerer *l, base_location at) {
    lower_report(l, "literal-range", at, "the integer overflows 64 bits");
    return lower_poison();
}

static lower_value bool_constant(lowerer *l, bool value, base_location at) {
    return lower_typed(build_constant(l, (ir_constant){.dtype = BASE_BOOL, .integer = value}, at));
}

lower_value lower_fold_unary(lowerer *l, text_operator operation, lower_value a, base_location at) {
    if (a.open)
        return a;
    if (operation == TEXT_OPERATOR_NEG) {
        int64_t negated = 0;
        if (!a.is_integer)
            return lower_real(-a.real);
        return base_checked_sub(0, a.integer, &negated) ? lower_integer(negated) : overflow(l, at);
    }
    if (a.is_integer)
        return lower_integer(~a.integer);
    lower_report(l, "type-mismatch", at, "`~` needs an integer or bool")->found =
        lower_describe(l, a);
    return lower_poison();
}

static lower_value fold_integers(lowerer *l, text_operator operation, int64_t a, int64_t b,
                                 base_location at) {
    int64_t value = 0;
    bool fits = true;
    switch (operation) {
    case TEXT_OPERATOR_ADD:
        fits = base_checked_add(a, b, &value);
        break;
    case TEXT_OPERATOR_SUB:
        fits = base_checked_sub(a, b, &value);
        break;
    case TEXT_OPERATOR_MUL:
        fits = base_checked_mul(a, b, &value);
        break;
    case TEXT_OPERATOR_FLOOR_DIV:
        value = base_floor_div(a, b);
        break;
    case TEXT_OPERATOR_FLOOR_MOD:
        value = base_floor_mod(a, b);
        break;
    case TEXT_OPERATOR_SHL:
        value = (int64_t)((uint64_t)a << (b & 63));
        break;
    case TEXT_OPERATOR_SHR:
        value = a >> (b & 63); /* keeps the sign with gcc and clang */
        break;
    case TEXT_OPERATOR_AND:
        value = a & b;
        break;
    case TEXT_OPERATOR_OR:
        value = a | b;
        break;
    case TEXT_OPERATOR_XOR:
        value = a ^ b;
        break;
    case TEXT_OPERATOR_DIV:
    case TEXT_OPERATOR_LT:
    case TEXT_OPERATOR_LE:
    case TEXT_OPERATOR_GT:
    case TEXT_OPERATOR_GE:
    case TEXT_OPERATOR_EQ:
    case TEXT_OPERATOR_NE:
    case TEXT_OPERATOR_NEG:
    case TEXT_OPERATOR_NOT:
    case TEXT_OPERATOR_COUNT:
        break;
    }
    return fits ? lower_integer(value) : overflow(l, at);
}

static lower_value fold_compare(lowerer *l, text_operator operation, lower_value a, lower_value b,
                                base_location at) {
    bool integers = a.is_integer && b.is_integer;
    bool less = integers ? a.integer < b.integer : a.real < b.real;
    bool greater = integers ? a.integer > b.integer : a.real > b.real;
    bool equal = integers ? a.integer == b.integer : a.real == b.real;
    bool result = operation == TEXT_OPERATOR_LT   ? less
                  : operation == TEXT_OPERATOR_LE ? less || equal
                  : operation == TEXT_OPERATOR_GT ? greater
                  : operation == TEXT_OPERATOR_GE ? greater || equal
                  : operation == TEXT_OPERATOR_EQ ? equal
                                                  : !equal;
    return bool_constant(l, result, at);
}

lower_value lower_fold_binary(lowerer *l, text_operator operation, lower_value a, lower_value b,
                              base_location at) {
    bool compares = operation >= TEXT_OPERATOR_LT && operation <= TEXT_OPERATOR_NE;
    if (compares)
        return fold_compare(l, operation, a, b, at);
    if (a.open || b.open)
        return operation == TEXT_OPERATOR_DIV ? lower_open(lower_real(0), b) : lower_open(a, b);
    if (a.is_integer && b.is_integer && operation != TEXT_OPERATOR_DIV)
        return fold_integers(l, operation, a.integer, b.integer, at);
    switch (operation) {
    case TEXT_OPERATOR_ADD:
        return lower_real(a.real + b.real);
    case TEXT_OPERATOR_SUB:
        return lower_real(a.real - b.real);
    case TEXT_OPERATOR_MUL:
        return lower_real(a.real * b.real);
    case TEXT_OPERATOR_DIV:
        return lower_real(a.real / b.real);
    case TEXT_OPERATOR_FLOOR_DIV:
    case TEXT_OPERATOR_FLOOR_MOD:
    case TEXT_OPERATOR_SHL:
    case TEXT_OPERATOR_SHR:
    case TEXT_OPERATOR_AND:
    case TEXT_OPERATOR_OR:
    case TEXT_OPERATOR_XOR:
    case TEXT_OPERATOR_LT:
    case TEXT_OPERATOR_LE:
    case TEXT_OPERATOR_GT:
    case TEXT_OPERATOR_GE:
    case TEXT_OPERATOR_EQ:
    case TEXT_OPERATOR_NE:
    case TEXT_OPERATOR_NEG:
    case TEXT_OPERATOR_NOT:
    case TEXT_OPERATOR_COUNT:
        break;
    }
    base_diagnostic *item = lower_report(l, "type-mismatch", at, "`%s` needs integers",
                                         text_operator_spelling(operation));
    item->found = lower_text(l, "%s and %s", lower_describe(l, a), lower_describe(l, b));
    item->expected = "integers on both sides";
    item->hint = "`/` divides floats; `i32(t)` rounds toward zero";
    return lower_poison();
}
