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
 * All are made of q = exp(r) - 1 = r + r^2 P(r), |r| <= ln(2) / 2, whose relative error is small
 * near 0 too: exp(n ln 2 + r) is 2^n + 2^n q, and is added to 1 without having been rounded. */
static const float expm1_terms[] = {
    0x1.fffffep-2f, 0x1.5554b4p-3f, 0x1.5556f6p-5f, 0x1.122538p-7f, 0x1.6b97a6p-10f,
};

static ir_value *expm1_of_rest(ir_builder *b, ir_value *r) {
    ir_value *p = polynomial(b, expm1_terms, COUNT(expm1_terms), r);
    return ir_build_fma(b, mul(b, r, r), p, r);
}

/* y = n ln 2 + r with |y| <= 21: where one f32 for ln 2 is near enough, for what follows weighs the
 * error, which grows with n, by 2^-n. */
static ir_value *rest_of(ir_builder *b, rounded n, ir_value *y) {
    ir_value *r = ir_build_fma(b, n.integer, real(b, -0x1.62e43p-1), y); /* ln 2 */
    return expm1_of_rest(b, r);
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

/* Small arguments have a polynomial of their own, x + x^3 P(x^2); from 0.55 on tanh is at least
 * 1/2, and 1 - 2 / (1 + exp(2|x|)) loses nothing. It is 1 from |x| = 9.02 on. */
static const float tanh_terms[] = {
    -0x1.555450p-2f,
    0x1.10ce9ep-3f,
    -0x1.af738ep-5f,
    0x1.0d2bc0p-6f,
};

static ir_value *tanh_of_large(ir_builder *b, ir_value *a) {
    ir_value *y = binary_real(b, IR_MUL, at_most(b, a, 10.0), 2.0);
    rounded n = round_and_scale(b, y, 0x1.715476p+0); /* 1 / ln 2 */
    ir_value *q = rest_of(b, n, y);
    ir_value *below = ir_build_fma(b, n.power, q, binary_real(b, IR_ADD, n.power, 1.0));
    ir_value *rest = ir_build_binary(b, IR_DIV, real(b, 2.0), below);
    return ir_build_binary(b, IR_SUB, real(b, 1.0), rest);
}

static ir_value *expand_tanh(ir_builder *b, ir_value *x) {
    ir_value *a = ir_build_unary(b, IR_ABS, x);
    ir_value *large = tanh_of_large(b, a);
    ir_value *square = mul(b, a, a);
    ir_value *p = polynomial(b, tanh_terms, COUNT(tanh_terms), square);
    ir_value *small = ir_build_fma(b, mul(b, a, square), p, a);
    ir_value *magnitude = select_less(b, a, real(b, 0.55), small, large);
    return with_sign_of(b, magnitude, x);
}

/* sigmoid(-a) = s / (s + exp(r)) with a = -n ln 2 + r, s = 2^n, for a >= 0; for positive arguments
 * one less that. s has the factors 2^floor(n / 2) and 2^ceil(n / 2), both normal down to the least
 * subnormal result: the low bits of the rounded sum hold n + 254, and both halves of it are
 * exponent fields. What stands above them falls out. */
static ir_value *expand_sigmoid(ir_builder *b, ir_value *x) {
    ir_value *one = real(b, 1.0);
    ir_value *shift = real(b, 0x1.8p23 + 254.0);
    ir_value *a = at_most(b, ir_build_unary(b, IR_ABS, x), 104.0);
    ir_value *sum = ir_build_fma(b, a, real(b, -0x1.715476p+0), shift); /* 1 / ln 2 */
    ir_value *n = ir_build_binary(b, IR_SUB, sum, shift);
    ir_value *r = ir_build_fma(b, n, real(b, 0x1.62e43p-1), a); /* ln 2, high */
    r = ir_build_fma(b, n, real(b, -0x1.05c61p-29), r);         /* and low part */
    ir_value *q = expm1_of_rest(b, r);

    ir_value *bits = to_bits(b, sum);
    ir_value *half = binary_integer(b, IR_SHR, bits, 1);
    ir_value *other = ir_build_binary(b, IR_SUB, bits, half);
    ir_value *floor = from_bits(b, binary_integer(b, IR_SHL, half, F32_FRACTION_BITS));
    ir_value *ceiling = from_bits(b, binary_integer(b, IR_SHL, other, F32_FRACTION_BITS));
    ir_value *below = ir_build_binary(b, IR_ADD, ir_build_fma(b, floor, ceiling, q), one);
    ir_value *lower = mul(b, ir_build_binary(b, IR_DIV, floor, below), ceiling);
    ir_value *upper = ir_build_binary(b, IR_SUB, one, lower);
    return select_less(b, x, real(b, 0.0), lower, upper);
}

/* -log(1 - erf(a)) / a - H for 0 <= a <= 4, a smooth function; H is 2 / sqrt(pi) rounded to f32, so
 * that the exponent a H + a P(a) has one rounding of full size. erf(|x|) = -expm1(-that) needs no
 * border between small and large arguments; a relative error of the exponent never grows on its way
 * to erf. It is 1 from |x| = 3.92 on. */
static const float erf_terms[] = {
    -0x1.d0e242p-25f, 0x1.45f2fap-1f,   0x1.a4fa4ap-4f,  -0x1.39cc9ep-6f,  -0x1.516b80p-13f,
    0x1.b520c8p-10f,  -0x1.4bec5ap-11f, 0x1.edb72ep-14f, -0x1.36d7a2p-17f,
};

static ir_value *expand_erf(ir_builder *b, ir_value *x) {
    ir_value *a = at_most(b, ir_build_unary(b, IR_ABS, x), 4.0);
    ir_value *small = mul(b, a, polynomial(b, erf_terms, COUNT(erf_terms), a));
    ir_value *exponent = ir_build_fma(b, a, real(b, 0x1.20dd76p+0), small); /* H */
    ir_value *y = ir_build_unary(b, IR_NEG, exponent);
    rounded n = round_and_scale(b, y, 0x1.715476p+0); /* 1 / ln 2 */
    ir_value *q = rest_of(b, n, y);
    ir_value *negative = ir_build_fma(b, n.power, q, binary_real(b, IR_SUB, n.power, 1.0));
    return with_sign_of(b, negative, x);
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
