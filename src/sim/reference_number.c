/* Float arithmetic with an error: sum, product, quotient, larger, smaller, fma, compare.
 *
 * The common case is a finite result of finite operands: a few multiplications, then `settle`.
 * Anything else goes through `settle_corners`, which looks whether all corners of the operands'
 * intervals agree:
 *
 *     add({inf, 0}, {2, 0.1})   all corners inf      -> {inf, 0}
 *     mul({inf, 0}, {0, 0.1})   inf and -inf         -> loose
 *     mul({inf, 0}, {0, 0})     all corners NaN      -> {NaN, 0}
 *
 * Sums and products of exact numbers that the type holds exactly get error 0: that keeps counts,
 * indices in floats and comparisons of copied values sharp. A quotient never does, since a plan
 * may multiply by a reciprocal.
 */
#include "sim/reference_number.h"

#include "base/checked.h"

static double larger(double a, double b) {
    return a > b ? a : b;
}

sim_number sim_number_settle(const sim_float_format *format, double value, double inherited,
                             double rounding) {
    double magnitude = fabs(value);
    if (magnitude + inherited < format->overflow) {
        if (magnitude > format->tiny / 2 || magnitude == 0.0)
            return (sim_number){value, inherited + rounding};
        return (sim_number){copysign(0.0, value), inherited + rounding + magnitude};
    }
    if (isnan(value))
        return (sim_number){value, sim_is_loose(inherited) ? (double)INFINITY : 0.0};
    double reached = magnitude >= format->overflow ? copysign((double)INFINITY, value) : value;
    bool certain = magnitude - inherited >= format->overflow;
    return (sim_number){reached, certain ? 0.0 : (double)INFINITY};
}

/* ---- beyond the finite numbers ---- */
typedef double scalar_function(double a, double b);

static double scalar_add(double a, double b) {
    return a + b;
}
static double scalar_sub(double a, double b) {
    return a - b;
}
static double scalar_mul(double a, double b) {
    return a * b;
}
static double scalar_div(double a, double b) {
    return a / b;
}

static bool same_class(double a, double b) {
    return (isnan(a) && isnan(b)) || a == b;
}

/* An exact zero keeps its sign. */
static double interval_end(sim_number a, bool upper) {
    return a.error == 0.0 ? a.value : upper ? a.value + a.error : a.value - a.error;
}

static sim_number settle_corners(scalar_function *apply, sim_number a, sim_number b) {
    double value = apply(a.value, b.value);
    if (sim_is_certain_nan(a) || sim_is_certain_nan(b))
        return (sim_number){(double)NAN, 0.0};
    if (sim_is_loose(a.error) || sim_is_loose(b.error))
        return (sim_number){value, (double)INFINITY};
    for (int corner = 0; corner < 4; corner++) {
        double x = interval_end(a, corner & 1);
        double y = interval_end(b, corner & 2);
        if (!same_class(apply(x, y), value))
            return (sim_number){value, (double)INFINITY};
    }
    return (sim_number){value, 0.0};
}

/* ---- sums and products ---- */

/* The sum of two exact numbers that is itself a number of the type (a two-sum without remainder).
 */
static bool sum_is_exact(const sim_float_format *format, double a, double b, double sum) {
    double from_b = sum - a;
    double remainder = (a - (sum - from_b)) + (b - from_b);
    return remainder == 0.0 && format->round(sum) == sum;
}

static sim_number add_scalars(const sim_float_format *format, scalar_function *apply, sim_number a,
                              sim_number b) {
    double value = apply(a.value, b.value);
    if (!isfinite(value))
        return settle_corners(apply, a, b);
    double inherited = a.error + b.error;
    double signed_b = apply == scalar_sub ? -b.value : b.value;
    if (inherited == 0.0 && sum_is_exact(format, a.value, signed_b, value))
        return (sim_number){value, 0.0};
    return sim_number_settle(format, value, inherited, format->unit * fabs(value) + format->tiny);
}

static sim_number number_add(const sim_float_format *format, sim_number a, sim_number b) {
    return add_scalars(format, scalar_add, a, b);
}

static sim_number number_sub(const sim_float_format *format, sim_number a, sim_number b) {
    return add_scalars(format, scalar_sub, a, b);
}

/* How far a product of finite numbers may be off before it is rounded. */
static double product_error(sim_number a, sim_number b) {
    return fabs(a.value) * b.error + fabs(b.value) * a.error + a.error * b.error;
}

static sim_number number_mul(const sim_float_format *format, sim_number a, sim_number b) {
    double value = a.value * b.value;
    if (!isfinite(value))
        return settle_corners(scalar_mul, a, b);
    double inherited = product_error(a, b);
    bool exact = a.error == 0.0 && b.error == 0.0 && format->round(value) == value;
    if (exact) /* two numbers of at most 24 bits: the product in double is exact */
        return (sim_number){value, 0.0};
    return sim_number_settle(format, value, inherited, format->unit * fabs(value) + format->tiny);
}

static sim_number number_div(const sim_float_format *format, sim_number a, sim_number b) {
    double value = a.value / b.value;
    bool spans_zero = b.error > 0.0 && fabs(b.value) <= b.error;
    if (spans_zero)
        return sim_is_certain_nan(a) ? a : (sim_number){value, (double)INFINITY};
    if (!isfinite(value))
        return settle_corners(scalar_div, a, b);
    if (value == 0.0 && a.error == 0.0) /* 0 / b and a / inf */
        return (sim_number){value, sim_is_loose(b.error) ? (double)INFINITY : 0.0};
    double inherited =
        isinf(b.value) ? 0.0 : (a.error + fabs(value) * b.error) / (fabs(b.value) - b.error);
    return sim_number_settle(format, value, inherited, format->unit * fabs(value) + format->tiny);
}

sim_number sim_number_quotient(const sim_float_format *format, sim_number a, sim_number b) {
    sim_number quotient = number_div(format, a, b);
    if (quotient.error > 0.0) /* else it is 0, inf or NaN whatever the implementation */
        quotient.error += 0.5 * (format->unit * fabs(quotient.value) + format->tiny);
    return quotient;
}

sim_number sim_number_fma(const sim_float_format *format, sim_number a, sim_number b,
                          sim_number c) {
    double product = a.value * b.value;
    double value = fma(a.value, b.value, c.value);
    if (!isfinite(product))
        return settle_corners(scalar_add, settle_corners(scalar_mul, a, b), c);
    sim_number unrounded = {product, product_error(a, b)};
    if (!isfinite(value))
        return settle_corners(scalar_add, unrounded, c);
    double inherited = unrounded.error + c.error;
    if (inherited == 0.0 && sum_is_exact(format, product, c.value, value))
        return (sim_number){value, 0.0};
    return sim_number_settle(format, value, inherited, format->unit * fabs(value) + format->tiny);
}

/* ---- choices: exact, in the type of the operands ---- */

static sim_number larger_number(sim_number a, sim_number b) {
    if (sim_is_certain_nan(a) || sim_is_certain_nan(b))
        return (sim_number){(double)NAN, 0.0};
    double value = a.value > b.value || isnan(a.value) ? a.value : b.value;
    if (sim_is_loose(a.error) || sim_is_loose(b.error))
        return (sim_number){value, (double)INFINITY};
    if (a.value - a.error > b.value + b.error)
        return (sim_number){value, a.error};
    if (b.value - b.error > a.value + a.error)
        return (sim_number){value, b.error};
    return (sim_number){value, larger(a.error, b.error)};
}

static sim_number negated(sim_number a) {
    return (sim_number){-a.value, a.error};
}

static sim_number number_maximum(const sim_float_format *format, sim_number a, sim_number b) {
    (void)format;
    return larger_number(a, b);
}

static sim_number number_minimum(const sim_float_format *format, sim_number a, sim_number b) {
    (void)format;
    return negated(larger_number(negated(a), negated(b)));
}

static sim_number number_neg(const sim_float_format *format, sim_number a) {
    (void)format;
    return negated(a);
}

static sim_number number_abs(const sim_float_format *format, sim_number a) {
    (void)format;
    return (sim_number){fabs(a.value), a.error};
}

sim_unary_function *sim_number_unary(ir_opcode opcode) {
    static sim_unary_function *const table[IR_OPCODE_COUNT] = {
        [IR_NEG] = number_neg,
        [IR_ABS] = number_abs,
    };
    return table[opcode];
}

sim_binary_function *sim_number_binary(ir_opcode opcode) {
    static sim_binary_function *const table[IR_OPCODE_COUNT] = {
        [IR_ADD] = number_add, [IR_SUB] = number_sub,         [IR_MUL] = number_mul,
        [IR_DIV] = number_div, [IR_MAXIMUM] = number_maximum, [IR_MINIMUM] = number_minimum,
    };
    return table[opcode];
}

sim_number sim_number_narrow(const sim_float_format *format, sim_number a) {
    if (!isfinite(a.value) || sim_is_loose(a.error))
        return a;
    if (a.error == 0.0 && format->round(a.value) == a.value)
        return a;
    return sim_number_settle(format, a.value, a.error, format->unit * fabs(a.value) + format->tiny);
}

/* ---- comparisons ---- */

static bool compare_scalars(ir_opcode opcode, double a, double b) {
    switch ((int)opcode) {
    case IR_LT:
        return a < b;
    case IR_LE:
        return a <= b;
    case IR_EQ:
        return a == b;
    }
    return a != b;
}

sim_integer sim_number_compare(ir_opcode opcode, sim_number a, sim_number b) {
    sim_integer result = {compare_scalars(opcode, a.value, b.value), 0.0};
    if (sim_is_certain_nan(a) || sim_is_certain_nan(b))
        return (sim_integer){opcode == IR_NE, 0.0};
    double reach = a.error + b.error;
    if (reach > 0.0 && !(fabs(a.value - b.value) > reach))
        result.error = 1.0;
    return result;
}

sim_number sim_number_either(sim_number taken, sim_number other) {
    double apart = same_class(taken.value, other.value) ? 0.0 : fabs(taken.value - other.value);
    double error = larger(taken.error, other.error) + apart;
    return (sim_number){taken.value, error < (double)INFINITY ? error : (double)INFINITY};
}

sim_integer sim_integer_either(sim_integer taken, sim_integer other) {
    double apart = fabs((double)taken.value - (double)other.value);
    return (sim_integer){taken.value, larger(taken.error, other.error) + apart};
}
