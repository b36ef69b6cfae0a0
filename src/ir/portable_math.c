/* The portable forms of the functions: see portable_math.h; docs/math.md has the measured errors.
 *
 * Each function is a table of coefficients, lowest power first, and a short sequence of basic
 * operations: no branch, no table lookup, no double, no integer division. Only fma contracts, so
 * every target that rounds add, mul, div, sqrt and fma correctly computes the same bits. For
 * instance exp of %x begins
 *
 *     %t = fma %x, 0x1.715476p-1, 0x1.8000fep+23
 *     %n = sub %t, 0x1.8000fep+23
 *     %r = fma %n, -0x1.62e43p+0, %x
 *
 * Three tricks carry most of it.
 * - Nearest integer: in t = x * c + (1.5 * 2^23 + 127) the addition rounds x * c to an integer n;
 *   t - (1.5 * 2^23 + 127) is n, and the low bits of t hold n + 127.
 * - Power of two: those bits shifted left by 23 are the float 2^n, for -126 <= n <= 127.
 * - Clamping by `select(lt(x, c), c, x)`: lets a NaN pass, and is one instruction on most machines.
 *
 * The coefficients are our own minimax fits (tools/fit_math.py prints them).
 *
 * It does not choose between the portable and a target's native form, and knows only f32. */
#include "ir/portable_math.h"

#include "ir/clone.h"

#include <math.h>

enum { F32_FRACTION_BITS = 23 };

/* 1.5 * 2^23: adding it rounds to an integer. The exponent bias on top makes the low bits of the
 * sum an exponent field. */
static const double ROUNDING_SHIFT = 0x1.8p23 + 127.0;

#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

/* ---- shorthands ----
 * No call below has two arguments that emit ops: C leaves their order open, and the same kernel
 * must give the same text from every compiler that builds this. */

static ir_value *real(ir_builder *b, double value) {
    return ir_build_real(b, BASE_F32, value);
}

static ir_value *binary_real(ir_builder *b, ir_opcode opcode, ir_value *x, double value) {
    return ir_build_binary(b, opcode, x, real(b, value));
}

static ir_value *binary_integer(ir_builder *b, ir_opcode opcode, ir_value *x, int64_t value) {
    return ir_build_binary(b, opcode, x, ir_build_integer(b, BASE_I32, value));
}

static ir_value *mul(ir_builder *b, ir_value *x, ir_value *y) {
    return ir_build_binary(b, IR_MUL, x, y);
}

static ir_value *to_bits(ir_builder *b, ir_value *x) {
    return ir_build_bitcast(b, x, BASE_I32);
}

static ir_value *from_bits(ir_builder *b, ir_value *x) {
    return ir_build_bitcast(b, x, BASE_F32);
}

/* x < y ? a : c */
static ir_value *select_less(ir_builder *b, ir_value *x, ir_value *y, ir_value *a, ir_value *c) {
    return ir_build_select(b, ir_build_binary(b, IR_LT, x, y), a, c);
}

static ir_value *at_least(ir_builder *b, ir_value *x, double bound) {
    ir_value *c = real(b, bound);
    return select_less(b, x, c, c, x);
}

static ir_value *at_most(ir_builder *b, ir_value *x, double bound) {
    ir_value *c = real(b, bound);
    return select_less(b, c, x, c, x);
}

/* terms[0] + terms[1] * x + ... by Horner's rule. */
static ir_value *polynomial(ir_builder *b, const float *terms, int count, ir_value *x) {
    ir_value *sum = real(b, (double)terms[count - 1]);
    for (int power = count - 2; power >= 0; power--)
        sum = ir_build_fma(b, sum, x, real(b, (double)terms[power]));
    return sum;
}

/* |magnitude| with the sign of x; keeps the sign of zero. */
static ir_value *with_sign_of(ir_builder *b, ir_value *magnitude, ir_value *x) {
    ir_value *sign = binary_integer(b, IR_AND, to_bits(b, x), INT32_MIN);
    ir_value *rest = to_bits(b, ir_build_unary(b, IR_ABS, magnitude));
    return from_bits(b, ir_build_binary(b, IR_OR, rest, sign));
}

/* x * per_unit rounded to the nearest integer, and two to that power. */
typedef struct rounded {
    ir_value *integer; /* as f32 */
    ir_value *power;
} rounded;

static rounded round_and_scale(ir_builder *b, ir_value *x, double per_unit) {
    rounded result;
    ir_value *factor = real(b, per_unit);
    ir_value *shift = real(b, ROUNDING_SHIFT);
    ir_value *sum = ir_build_fma(b, x, factor, shift);
    result.integer = ir_build_binary(b, IR_SUB, sum, shift);
    result.power = from_bits(b, binary_integer(b, IR_SHL, to_bits(b, sum), F32_FRACTION_BITS));
    return result;
}

/* ---- exp, exp2 ----
 * exp(x) = 4^n * exp(r) with n = round(x / (2 ln 2)), r = x - 2n ln 2, |r| <= ln 2. Powers of four
 * because 2^n * 2^n then covers all results, from below the subnormals to infinity, with every
 * factor normal and only the last product rounded: two multiplications are all that subnormal
 * results cost. 2 ln 2 is taken in two parts; the first product is exact inside fma and so is its
 * difference from x. The clamp keeps n within -75..64; outside it the result is 0 or inf. */
static const float exp_terms[] = {
    0x1p+0f,        0x1p+0f,        0x1.00000cp-1f,  0x1.555514p-3f,
    0x1.5549eep-5f, 0x1.1126dap-7f, 0x1.71bf66p-10f, 0x1.9baedap-13f,
};

static ir_value *expand_exp(ir_builder *b, ir_value *x) {
    ir_value *inside = at_most(b, at_least(b, x, -104.0), 89.0);
    rounded n = round_and_scale(b, inside, 0x1.715476p-1);                    /* 1 / (2 ln 2) */
    ir_value *r = ir_build_fma(b, n.integer, real(b, -0x1.62e43p+0), inside); /* 2 ln 2, high */
    r = ir_build_fma(b, n.integer, real(b, 0x1.05c61p-28), r);                /* and low part */
    ir_value *p = polynomial(b, exp_terms, COUNT(exp_terms), r);
    return mul(b, mul(b, p, n.power), n.power);
}

/* exp2(x) = 4^n * 2^r with n = round(x / 2), r = x - 2n exactly, |r| <= 1. */
static const float exp2_terms[] = {
    0x1p+0f,        0x1.62e432p-1f,  0x1.ebfbf8p-3f,  0x1.c6af9cp-5f,
    0x1.3b1ff0p-7f, 0x1.5dbec4p-10f, 0x1.481b0ap-13f, 0x1.f4878ep-17f,
};

static ir_value *expand_exp2(ir_builder *b, ir_value *x) {
    ir_value *inside = at_most(b, at_least(b, x, -151.0), 129.0);
    rounded n = round_and_scale(b, inside, 0.5);
    ir_value *r = ir_build_fma(b, n.integer, real(b, -2.0), inside);
    ir_value *p = polynomial(b, exp2_terms, COUNT(exp2_terms), r);
    return mul(b, mul(b, p, n.power), n.power);
}

/* ---- log, log2 ----
 * x = 2^e * (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2): subtracting the bits of sqrt(1/2) moves the
 * border of the exponent field there. A subnormal is first multiplied by 2^23. log(x) = e ln 2 +
 * log(1 + f); near 1 e is 0, so the relative error is that of log(1 + f) = f + f^2 P(f). Zero,
 * negatives, inf and NaN are put right at the end. */
typedef struct split {
    ir_value *exponent; /* e as f32 */
    ir_value *fraction; /* f */
} split;

static split split_exponent(ir_builder *b, ir_value *x) {
    ir_value *subnormal = binary_real(b, IR_LT, x, 0x1p-126);
    ir_value *scaled = binary_real(b, IR_MUL, x, 0x1p23);
    ir_value *bits = to_bits(b, ir_build_select(b, subnormal, scaled, x));
    ir_value *field = binary_integer(b, IR_SUB, bits, 0x3f3504f3); /* sqrt(1/2), rounded down */
    ir_value *e = binary_integer(b, IR_SHR, field, F32_FRACTION_BITS);
    ir_value *e_field = binary_integer(b, IR_SHL, e, F32_FRACTION_BITS);
    ir_value *significand = from_bits(b, ir_build_binary(b, IR_SUB, bits, e_field));
    ir_value *rescaled = binary_integer(b, IR_SUB, e, 23);
    e = ir_build_select(b, subnormal, rescaled, e);

    split result;
    result.exponent = ir_build_cast(b, e, BASE_F32, IR_ROUND_EVEN);
    result.fraction = binary_real(b, IR_SUB, significand, 1.0);
    return result;
}

/* value where x is positive and finite; x = inf: inf; 0: -inf; negative or NaN: NaN. */
static ir_value *finish_log(ir_builder *b, ir_value *x, ir_value *value) {
    ir_value *zero = real(b, 0.0);
    ir_value *infinity = real(b, (double)INFINITY);
    ir_value *minus_infinity = real(b, -(double)INFINITY);
    ir_value *not_a_number = real(b, (double)NAN);
    ir_value *is_zero = ir_build_binary(b, IR_EQ, x, zero);
    ir_value *outside = ir_build_select(b, is_zero, minus_infinity, not_a_number);
    ir_value *finite = select_less(b, x, infinity, value, x);
    return select_less(b, zero, x, finite, outside);
}

/* (log(1 + f) - f) / f^2 */
static const float log_terms[] = {
    -0x1.fffffap-2f, 0x1.5556f0p-2f, -0x1.0004a8p-2f, 0x1.98d3a0p-3f,
    -0x1.535c2ap-3f, 0x1.317ca8p-3f, -0x1.2505acp-3f, 0x1.65f0f0p-4f,
};

static ir_value *expand_log(ir_builder *b, ir_value *x) {
    split s = split_exponent(b, x);
    ir_value *f = s.fraction;
    ir_value *p = polynomial(b, log_terms, COUNT(log_terms), f);
    ir_value *near_one = ir_build_fma(b, mul(b, f, f), p, f);
    ir_value *value = ir_build_fma(b, s.exponent, real(b, 0x1.62e43p-1), near_one); /* ln 2 */
    return finish_log(b, x, value);
}

/* log2(1 + f) / f - H, where H is log2(e) rounded to f32: log2(1 + f) = f H + f P(f) then has one
 * rounding of full size. */
static const float log2_terms[] = {
    -0x1.34d732p-26f, -0x1.715470p-1f, 0x1.ec73d2p-2f,  -0x1.715c7ep-2f, 0x1.26d448p-2f,
    -0x1.e95706p-3f,  0x1.b9b732p-3f,  -0x1.a88ee4p-3f, 0x1.01f44cp-3f,
};

static ir_value *expand_log2(ir_builder *b, ir_value *x) {
    split s = split_exponent(b, x);
    ir_value *f = s.fraction;
    ir_value *rest = mul(b, f, polynomial(b, log2_terms, COUNT(log2_terms), f));
    ir_value *near_one = ir_build_fma(b, f, real(b, 0x1.715476p+0), rest); /* H */
    return finish_log(b, x, ir_build_binary(b, IR_ADD, s.exponent, near_one));
}

/* ---- rsqrt ---- two correctly rounded steps. */
static ir_value *expand_rsqrt(ir_builder *b, ir_value *x) {
    ir_value *root = ir_build_unary(b, IR_SQRT, x);
    return ir_build_binary(b, IR_DIV, real(b, 1.0), root);
}

/* ---- tanh, sigmoid, erf ----
 * exp(y) - 1 for -21 <= y <= 0, with a small relative error near 0 too: y = n ln 2 + r, and with
 * q = exp(r) - 1 = r + r^2 P(r) it is 2^n q + (2^n - 1). The rounding of ln 2 does not count: 2^n
 * shrinks it faster than n enlarges it. */
static const float expm1_terms[] = {
    0x1.fffffep-2f, 0x1.5554b4p-3f, 0x1.5556f6p-5f, 0x1.122538p-7f, 0x1.6b97a6p-10f,
};

static ir_value *expm1_of_negative(ir_builder *b, ir_value *y) {
    rounded n = round_and_scale(b, y, 0x1.715476p+0);                    /* 1 / ln 2 */
    ir_value *r = ir_build_fma(b, n.integer, real(b, -0x1.62e43p-1), y); /* ln 2 */
    ir_value *p = polynomial(b, expm1_terms, COUNT(expm1_terms), r);
    ir_value *q = ir_build_fma(b, mul(b, r, r), p, r);
    return ir_build_fma(b, n.power, q, binary_real(b, IR_SUB, n.power, 1.0));
}

/* exp(x) for x <= 0 = 2^n exp(r) with n = round(x / ln 2), |r| <= ln(2) / 2. The clamp lets n be
 * -127, whose power is the float of an empty exponent field: 0. So results from x = -87.68 down are
 * 0, those from there to 2^-126 are right, and one product and one term less than above do. */
ir_value *ir_portable_flushed_exp(ir_builder *b, ir_value *x) {
    ir_value *inside = at_least(b, x, -88.0);
    rounded n = round_and_scale(b, inside, 0x1.715476p+0);                    /* 1 / ln 2 */
    ir_value *r = ir_build_fma(b, n.integer, real(b, -0x1.62e43p-1), inside); /* ln 2, high */
    r = ir_build_fma(b, n.integer, real(b, 0x1.05c61p-29), r);                /* and low part */
    ir_value *p = polynomial(b, expm1_terms, COUNT(expm1_terms), r);
    p = ir_build_fma(b, p, r, real(b, 1.0));
    p = ir_build_fma(b, p, r, real(b, 1.0));
    return mul(b, p, n.power);
}

/* tanh(|x|) = -m / (m + 2) with m = exp(-2|x|) - 1; it is 1 from |x| = 9.02 on. */
static ir_value *expand_tanh(ir_builder *b, ir_value *x) {
    ir_value *a = at_most(b, ir_build_unary(b, IR_ABS, x), 10.0);
    ir_value *m = expm1_of_negative(b, binary_real(b, IR_MUL, a, -2.0));
    ir_value *quotient = ir_build_binary(b, IR_DIV, m, binary_real(b, IR_ADD, m, 2.0));
    return with_sign_of(b, quotient, x);
}

/* With e = exp(-|x|), which cannot overflow: 1 / (1 + e), or e / (1 + e) where x is negative. */
static ir_value *expand_sigmoid(ir_builder *b, ir_value *x) {
    ir_value *one = real(b, 1.0);
    ir_value *e = expand_exp(b, ir_build_unary(b, IR_NEG, ir_build_unary(b, IR_ABS, x)));
    ir_value *above = select_less(b, x, real(b, 0.0), e, one);
    ir_value *below = ir_build_binary(b, IR_ADD, e, one);
    return ir_build_binary(b, IR_DIV, above, below);
}

/* -log(1 - erf(a)) / a for 0 <= a <= 4, a smooth function. erf(|x|) = -expm1(-a P(a)) needs no
 * border between small and large arguments; a relative error of the exponent never grows on its way
 * to erf. It is 1 from |x| = 3.92 on. */
static const float erf_terms[] = {
    0x1.20dd76p+0f,  0x1.45f266p-1f,   0x1.a534b8p-4f,  -0x1.3dfe04p-6f, 0x1.9b982cp-12f,
    0x1.112f06p-10f, -0x1.0b9c62p-12f, 0x1.6784bcp-19f, 0x1.2ff2b4p-18f,
};

static ir_value *expand_erf(ir_builder *b, ir_value *x) {
    ir_value *a = at_most(b, ir_build_unary(b, IR_ABS, x), 4.0);
    ir_value *exponent = mul(b, a, polynomial(b, erf_terms, COUNT(erf_terms), a));
    return with_sign_of(b, expm1_of_negative(b, ir_build_unary(b, IR_NEG, exponent)), x);
}

/* ---- the table ---- */
static const struct {
    ir_opcode opcode;
    ir_value *(*expand)(ir_builder *builder, ir_value *x);
} functions[] = {
    {IR_EXP, expand_exp},         {IR_EXP2, expand_exp2},   {IR_LOG, expand_log},
    {IR_LOG2, expand_log2},       {IR_RSQRT, expand_rsqrt}, {IR_TANH, expand_tanh},
    {IR_SIGMOID, expand_sigmoid}, {IR_ERF, expand_erf},
};

ir_value *ir_portable_math(ir_builder *builder, ir_opcode opcode, ir_value *x) {
    for (int i = 0; i < COUNT(functions); i++) {
        if (functions[i].opcode == opcode)
            return functions[i].expand(builder, x);
    }
    return NULL;
}

/* ---- modules without native ops ---- */
static bool is_native(const ir_op *op) {
    const ir_native *native = ir_native_find(op->opcode);
    return native != NULL && native->opcode == op->opcode;
}

static bool has_native(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (is_native(op))
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (has_native(op->regions[i]))
                return true;
    }
    return false;
}

/* The last op of the expansion takes over the value that the op defined. */
static void replace_native(ir_module *module, ir_op *op) {
    ir_region room = {0};
    ir_builder b = {.module = module, .region = &room, .location = op->location};
    ir_value *made = ir_portable_math(&b, ir_native_find(op->opcode)->function, op->operands[0]);
    ir_op *last = made->definer;
    last->results[0] = op->results[0];
    last->results[0]->definer = last;
    while (room.first != NULL) {
        ir_op *next = room.first;
        ir_op_remove(next);
        ir_op_insert_before(op, next);
    }
    ir_op_remove(op);
}

static void replace_natives(ir_module *module, ir_region *region) {
    for (ir_op *op = region->first, *next; op != NULL; op = next) {
        next = op->next;
        for (int i = 0; i < op->region_count; i++)
            replace_natives(module, op->regions[i]);
        if (is_native(op))
            replace_native(module, op);
    }
}

const ir_module *ir_portable_module(base_arena *arena, const ir_module *module) {
    if (!has_native(&module->body))
        return module;
    ir_module *copy = ir_module_clone(arena, module);
    replace_natives(copy, &copy->body);
    return copy;
}
