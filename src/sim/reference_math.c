/* Functions with an error: exp, log, tanh and the others of ir/math.def.
 *
 * All are monotone where they are defined. The propagated error is the derivative times E, widened
 * by what the derivative can grow within E while E is small, and else the larger distance to the
 * values at the ends of the interval:
 *
 *     exp(0 +- 0.001)  ->  1 +- 0.001001         exp(0 +- 3)  ->  1 +- 19.08
 *
 * log, log2, rsqrt and sqrt of an interval that reaches past 0 are loose.
 */
#include "sim/reference_number.h"

static const double ln_2 = 0x1.62e42fefa39efp-1;
static const double two_over_root_pi = 0x1.20dd750429b6dp0;
static const double small = 0x1p-6; /* up to here the derivative is nearly constant */

/* The propagated error of y = f(x) for x +- e; e > 0 and, for functions on half a line, e < x. */
typedef double spread_function(double x, double y, double e);

typedef struct math_function {
    double (*value)(double x);
    spread_function *spread;
    double edge; /* the least argument, -inf when there is none */
} math_function;

static double at_the_ends(double (*value)(double x), double x, double y, double e) {
    double above = fabs(value(x + e) - y);
    double below = fabs(y - value(x - e));
    return above > below ? above : below;
}

static double value_rsqrt(double x) {
    return 1.0 / sqrt(x);
}
static double value_sigmoid(double x) {
    return 1.0 / (1.0 + exp(-x));
}

static double spread_exp(double x, double y, double e) {
    return e < small ? y * e * (1.0 + e) : exp(x + e) - y;
}
static double spread_exp2(double x, double y, double e) {
    double natural = e * ln_2;
    return natural < small ? y * natural * (1.0 + natural) : exp2(x + e) - y;
}
static double spread_log(double x, double y, double e) {
    (void)y;
    double relative = e / x;
    return relative < small ? relative * (1.0 + relative) : -log1p(-relative);
}
static double spread_log2(double x, double y, double e) {
    return spread_log(x, y, e) / ln_2;
}
static double spread_tanh(double x, double y, double e) {
    return e < small ? (1.0 - y * y) * e * (1.0 + 3.0 * e) : at_the_ends(tanh, x, y, e);
}
static double spread_sigmoid(double x, double y, double e) {
    return e < small ? y * (1.0 - y) * e * (1.0 + 2.0 * e) : at_the_ends(value_sigmoid, x, y, e);
}
static double spread_erf(double x, double y, double e) {
    double growth = (2.0 * fabs(x) + e) * e;
    if (growth < small)
        return two_over_root_pi * exp(-x * x) * e * (1.0 + 2.0 * growth);
    return at_the_ends(erf, x, y, e);
}
static double spread_sqrt(double x, double y, double e) {
    return e / (y + sqrt(x - e));
}
static double spread_rsqrt(double x, double y, double e) {
    (void)y;
    double root = sqrt(x), least_root = sqrt(x - e);
    return e / (root * least_root * (root + least_root));
}

static const math_function functions[IR_OPCODE_COUNT] = {
    [IR_SQRT] = {sqrt, spread_sqrt, 0.0},
    [IR_RSQRT] = {value_rsqrt, spread_rsqrt, 0.0},
    [IR_EXP] = {exp, spread_exp, -(double)INFINITY},
    [IR_EXP2] = {exp2, spread_exp2, -(double)INFINITY},
    [IR_LOG] = {log, spread_log, 0.0},
    [IR_LOG2] = {log2, spread_log2, 0.0},
    [IR_TANH] = {tanh, spread_tanh, -(double)INFINITY},
    [IR_SIGMOID] = {value_sigmoid, spread_sigmoid, -(double)INFINITY},
    [IR_ERF] = {erf, spread_erf, -(double)INFINITY},
};

/* At least one: a correctly rounded function (half a unit of the last place) has k = 1. */
static const double roundings[IR_OPCODE_COUNT] = {
#define MATH(ID, ulps) [IR_##ID] = (ulps) < 1.0 ? 1.0 : (ulps),
#include "ir/math.def"
#undef MATH
};

/* What the implementation adds to the error that it inherits: its roundings are of what it holds,
 * which is as large as the size at most. */
static double implementation_error(const sim_float_format *format, ir_opcode opcode,
                                   const ir_native *native, sim_number a, double size) {
    enum { LEAST_EXPONENT = -126 };
    double unit = format->unit * size;
    if (native == NULL)
        return roundings[opcode] * unit + format->tiny;
    double slope = a.value < 0.0 ? native->below : native->above;
    double further = slope > 0.0 && unit > 0.0 ? slope * (fabs(a.value) + a.error) : 0.0;
    double error = (native->ulps + further) * unit + format->tiny;
    if (a.value + a.error >= 0.5 && a.value - a.error <= 2.0)
        error += native->near_one;
    return native->flushed ? error + ldexp(1.0, LEAST_EXPONENT) : error;
}

sim_number sim_number_math(const sim_float_format *format, ir_opcode opcode,
                           const ir_native *native, sim_number a) {
    const math_function *function = &functions[opcode];
    double value = function->value(a.value);
    if (sim_is_certain_nan(a))
        return a;
    bool reaches_edge = a.error > 0.0 && a.value - a.error <= function->edge &&
                        a.value + a.error >= function->edge && isfinite(function->edge);
    if (sim_is_loose(a.error) || reaches_edge)
        return (sim_number){value, (double)INFINITY};
    if (isnan(value))
        return (sim_number){value, 0.0};
    if (isinf(value)) { /* exp of a large number in double too, or a pole */
        bool certain = fabs(function->value(a.value - a.error)) >= format->overflow;
        return (sim_number){value, certain ? 0.0 : (double)INFINITY};
    }
    if (value == 0.0 && a.error == 0.0 && (a.value == 0.0 || isinf(a.value)))
        return (sim_number){value, 0.0}; /* sqrt(0), exp(-inf): no implementation errs there */
    double inherited = a.error > 0.0 ? function->spread(a.value, value, a.error) : 0.0;
    double own = implementation_error(format, opcode, native, a, fabs(value) + inherited);
    double rounding = format->unit * fabs(value) + format->tiny; /* the last of its roundings */
    return sim_number_settle(format, value, inherited + own - rounding, rounding);
}
