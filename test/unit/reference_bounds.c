/* The error that the FP64 reference carries: every f32 implementation stays within it, it is not
 * larger than the rules say, and what cannot be decided is loose. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/reference_number.h"
#include "tile_kernel.h"

#define EXTENTS(...) ((const layout_extent *[]){__VA_ARGS__})
#define SLOTS(...)   ((slot[]){__VA_ARGS__})

static const double unit = 0x1p-24, tiny = 0x1p-149;

static const sim_float_format *f32(void) {
    return sim_float_format_of(BASE_F32);
}

/* ---- random operands ---- */
static double random_unit(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (double)(*seed >> 11) * 0x1p-53;
}

/* What an implementation holds, and a number with an error that stands for it. */
typedef struct sample {
    float held;
    sim_number stated;
} sample;

static float random_float(uint64_t *seed, double spread) {
    static const float special[8] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, 0x1p-149f, 3e38f};
    if (random_unit(seed) < 0.03)
        return special[(int)(random_unit(seed) * 8)];
    double magnitude = exp2((random_unit(seed) - 0.5) * spread);
    return (float)(random_unit(seed) < 0.5 ? -magnitude : magnitude);
}

/* The error: none, some roundings, a good part of the value, or more than the value. */
static sample random_sample(uint64_t *seed, double spread) {
    static const double parts[4] = {0.0, 0x1p-22, 0x1p-5, 1.5};
    sample s = {.held = random_float(seed, spread)};
    double held = (double)s.held;
    double error = isfinite(held) ? fabs(held) * parts[(int)(random_unit(seed) * 4)] : 0.0;
    double off = error * (2.0 * random_unit(seed) - 1.0);
    s.stated = (sim_number){error > 0.0 ? held + off : held, error}; /* -0 stays -0 */
    return s;
}

static bool stands_for(sim_number stated, float held) {
    if (sim_is_loose(stated.error))
        return true;
    if (isnan(stated.value))
        return isnan(held);
    if (isinf(stated.value))
        return (double)held == stated.value;
    return fabs((double)held - stated.value) <= stated.error * (1.0 + 1e-9);
}

typedef struct tally {
    int checked, loose;
} tally;

static void check_stands_for(tally *count, const char *op, sim_number result, float held, sample a,
                             sample b) {
    count->checked++;
    count->loose += sim_is_loose(result.error);
    if (!stands_for(result, held))
        fail_msg("%s of %a (%a +- %a) and %a (%a +- %a): %a is not %a +- %a", op, (double)a.held,
                 a.stated.value, a.stated.error, (double)b.held, b.stated.value, b.stated.error,
                 (double)held, result.value, result.error);
}

static float binary_in_f32(ir_opcode opcode, float a, float b) {
    switch ((int)opcode) {
    case IR_ADD:
        return a + b;
    case IR_SUB:
        return a - b;
    case IR_MUL:
        return a * b;
    case IR_DIV:
        return a / b;
    case IR_MAXIMUM:
        return a > b || isnan(a) ? a : b;
    }
    return a < b || isnan(a) ? a : b;
}

static void arithmetic_in_f32_stays_within_the_error(void **state) {
    (void)state;
    static const ir_opcode opcodes[6] = {IR_ADD, IR_SUB, IR_MUL, IR_DIV, IR_MAXIMUM, IR_MINIMUM};
    uint64_t seed = 1;
    for (int k = 0; k < 6; k++) {
        tally count = {0, 0};
        for (int i = 0; i < 40000; i++) {
            double spread = i % 2 ? 6.0 : 250.0;
            sample a = random_sample(&seed, spread), b = random_sample(&seed, spread);
            sim_number result = sim_number_binary(opcodes[k])(f32(), a.stated, b.stated);
            check_stands_for(&count, ir_op_describe(opcodes[k])->text, result,
                             binary_in_f32(opcodes[k], a.held, b.held), a, b);
        }
        assert_true(count.loose < count.checked * 2 / 5); /* a divisor may be 0 in a quarter */
    }
}

static void fma_in_f32_stays_within_the_error(void **state) {
    (void)state;
    uint64_t seed = 2;
    tally count = {0, 0};
    for (int i = 0; i < 40000; i++) {
        double spread = i % 2 ? 6.0 : 200.0;
        sample a = random_sample(&seed, spread), b = random_sample(&seed, spread);
        sample c = random_sample(&seed, spread);
        sim_number result = sim_number_fma(f32(), a.stated, b.stated, c.stated);
        check_stands_for(&count, "fma", result, fmaf(a.held, b.held, c.held), a, b);
    }
    assert_true(count.loose < count.checked / 5);
}

static double math_in_double(ir_opcode opcode, double x) {
    switch ((int)opcode) {
    case IR_SQRT:
        return sqrt(x);
    case IR_RSQRT:
        return 1.0 / sqrt(x);
    case IR_EXP:
        return exp(x);
    case IR_EXP2:
        return exp2(x);
    case IR_LOG:
        return log(x);
    case IR_LOG2:
        return log2(x);
    case IR_TANH:
        return tanh(x);
    case IR_SIGMOID:
        return 1.0 / (1.0 + exp(-x));
    }
    return erf(x);
}

static void functions_in_f32_stay_within_the_error(void **state) {
    (void)state;
    static const ir_opcode opcodes[9] = {IR_SQRT, IR_RSQRT, IR_EXP,     IR_EXP2, IR_LOG,
                                         IR_LOG2, IR_TANH,  IR_SIGMOID, IR_ERF};
    uint64_t seed = 3;
    for (int k = 0; k < 9; k++) {
        tally count = {0, 0};
        for (int i = 0; i < 40000; i++) {
            sample a = random_sample(&seed, i % 4 ? 16.0 : 200.0);
            sim_number result = sim_number_math(f32(), opcodes[k], NULL, a.stated);
            float held = (float)math_in_double(opcodes[k], (double)a.held);
            check_stands_for(&count, ir_op_describe(opcodes[k])->text, result, held, a, a);
        }
        assert_true(count.loose < count.checked / 2);
    }
}

/* ---- the rules, number by number ---- */

static void assert_error(sim_number result, double value, double error) {
    if (!(fabs(result.value - value) <= 1e-15 * fabs(value)))
        fail_msg("value %.17g, expected %.17g", result.value, value);
    if (!(fabs(result.error - error) <= 1e-6 * error))
        fail_msg("error %.17g, expected %.17g", result.error, error);
}

static void first_order_errors_are_as_stated(void **state) {
    (void)state;
    sim_number a = {3.0, 1e-6}, b = {7.0, 2e-6}, x = {0.5, 1e-7};
    assert_error(sim_number_binary(IR_ADD)(f32(), a, b), 10.0, 3e-6 + unit * 10.0);
    assert_error(sim_number_binary(IR_SUB)(f32(), a, b), -4.0, 3e-6 + unit * 4.0);
    assert_error(sim_number_binary(IR_MUL)(f32(), a, b), 21.0, 13e-6 + unit * 21.0);
    assert_error(sim_number_binary(IR_DIV)(f32(), a, b), 3.0 / 7.0,
                 1e-6 / 7.0 + 3.0 / 49.0 * 2e-6 + unit * 3.0 / 7.0);
    assert_error(sim_number_math(f32(), IR_EXP, NULL, x), exp(0.5), exp(0.5) * (1e-7 + 2 * unit));
    assert_error(sim_number_math(f32(), IR_LOG, NULL, x), log(0.5), 2e-7 - log(0.5) * 2 * unit);
    assert_error(sim_number_math(f32(), IR_SQRT, NULL, x), sqrt(0.5),
                 0.5 / sqrt(0.5) * 1e-7 + sqrt(0.5) * unit);
    assert_error(sim_number_math(f32(), IR_RSQRT, NULL, x), 1 / sqrt(0.5),
                 0.5 / (0.5 * sqrt(0.5)) * 1e-7 + 2 * unit / sqrt(0.5));
    double t = tanh(0.5), s = 1 / (1 + exp(-0.5));
    assert_error(sim_number_math(f32(), IR_TANH, NULL, x), t, (1 - t * t) * 1e-7 + 2 * unit * t);
    assert_error(sim_number_math(f32(), IR_SIGMOID, NULL, x), s, s * (1 - s) * 1e-7 + 2 * unit * s);
    assert_error(sim_number_math(f32(), IR_ERF, NULL, x), erf(0.5),
                 2 / sqrt(acos(-1.0)) * exp(-0.25) * 1e-7 + 2 * unit * erf(0.5));
}

static void what_the_type_holds_exactly_has_no_error(void **state) {
    (void)state;
    sim_number half = {0.5, 0.0}, seven = {7.0, 0.0}, third = {(double)(1.0f / 3.0f), 0.0};
    sim_number large = {0x1p25, 0.0}, one = {1.0, 0.0}, zero = {0.0, 0.0};
    assert_true(sim_number_binary(IR_ADD)(f32(), half, seven).error == 0.0);
    assert_true(sim_number_binary(IR_MUL)(f32(), half, third).error == 0.0);
    assert_true(sim_number_binary(IR_SUB)(f32(), third, third).error == 0.0);
    assert_true(sim_number_binary(IR_MUL)(f32(), third, zero).error == 0.0);
    assert_true(sim_number_binary(IR_MUL)(f32(), third, third).error > 0.0);
    assert_true(sim_number_binary(IR_ADD)(f32(), large, one).error >= 1.0);
    assert_true(sim_number_binary(IR_ADD)(f32(), (sim_number){1e30, 0.0}, one).error > 0.0);
}

/* 3.3e38 +- 1e37 doubled is past the range; 1.7e38 +- 1e36 doubled may be. */
static void overflow_within_the_error_is_loose(void **state) {
    (void)state;
    sim_number sure = {3.3e38, 1e37}, open = {1.7e38, 1e36}, two = {2.0, 0.0};
    sim_number result = sim_number_binary(IR_MUL)(f32(), sure, two);
    assert_true(result.value == INFINITY && result.error == 0.0);
    result = sim_number_binary(IR_MUL)(f32(), open, two);
    assert_true(sim_is_loose(result.error));
    result = sim_number_binary(IR_MUL)(f32(), (sim_number){1.6e38, 1e36}, two);
    assert_true(result.value == 3.2e38 && !sim_is_loose(result.error));
    assert_true(sim_is_loose(sim_number_math(f32(), IR_EXP, NULL, (sim_number){88.7, 0.1}).error));
    assert_true(sim_number_math(f32(), IR_EXP, NULL, (sim_number){900.0, 0.1}).value == INFINITY);
}

static void poles_and_edges_within_the_error_are_loose(void **state) {
    (void)state;
    sim_number near_zero = {1e-7, 2e-7}, one = {1.0, 0.0}, infinite = {INFINITY, 0.0};
    assert_true(sim_is_loose(sim_number_binary(IR_DIV)(f32(), one, near_zero).error));
    assert_true(sim_is_loose(sim_number_binary(IR_MUL)(f32(), infinite, near_zero).error));
    assert_true(sim_is_loose(sim_number_math(f32(), IR_LOG, NULL, near_zero).error));
    assert_true(sim_is_loose(sim_number_math(f32(), IR_SQRT, NULL, near_zero).error));
    sim_number below = {-1.0, 0.1};
    assert_true(isnan(sim_number_math(f32(), IR_LOG, NULL, below).value));
    assert_true(sim_number_math(f32(), IR_LOG, NULL, below).error == 0.0);
    assert_true(sim_number_math(f32(), IR_LOG, NULL, (sim_number){0.0, 0.0}).value == -INFINITY);
}

static void comparisons_within_the_error_may_go_either_way(void **state) {
    (void)state;
    sim_number a = {1.0, 0.25}, b = {1.5, 0.125}, c = {1.25, 0.125};
    sim_integer sure = sim_number_compare(IR_LT, a, b), open = sim_number_compare(IR_LT, a, c);
    assert_true(sure.value == 1 && sure.error == 0.0);
    assert_true(open.error > 0.0);
    sim_number exact = {1.0, 0.0};
    assert_true(sim_number_compare(IR_EQ, exact, exact).error == 0.0);
    assert_true(sim_number_compare(IR_EQ, a, a).error > 0.0);
    sim_number either = sim_number_either(a, b);
    assert_true(either.value == 1.0 && either.error == 0.25 + 0.5);
    assert_true(sim_is_loose(sim_number_either(a, (sim_number){INFINITY, 0.0}).error));
}

static void roundings_within_the_error_reach_both_integers(void **state) {
    (void)state;
    sim_integer sure = sim_cast_to_integer((sim_number){2.5, 0.0}, BASE_I8, IR_ROUND_EVEN);
    assert_true(sure.value == 2 && sure.error == 0.0);
    sim_integer open = sim_cast_to_integer((sim_number){2.5, 1e-6}, BASE_I8, IR_ROUND_EVEN);
    assert_true(open.value == 2 && open.error == 1.0);
    open = sim_cast_to_integer((sim_number){3.0, 1e-6}, BASE_I32, IR_ROUND_ZERO);
    assert_true(open.value == 3 && open.error == 1.0);
    sure = sim_cast_to_integer((sim_number){127.5, 1e-3}, BASE_I8, IR_ROUND_EVEN);
    assert_true(sure.value == 127 && sure.error == 0.0);
    sim_integer sum = sim_integer_binary(IR_ADD, BASE_I32, open, (sim_integer){10, 0.0});
    assert_true(sum.value == 13 && sum.error == 1.0);
    sum = sim_integer_binary(IR_ADD, BASE_I32, open, (sim_integer){INT32_MAX - 3, 0.0});
    assert_true(sim_is_loose(sum.error)); /* may wrap */
    assert_true(sim_cast_to_float(open, BASE_F32).error == 1.0 + 3 * unit);
}

/* ---- reductions ---- */

static sim_number reduce(ir_monoid monoid, int64_t width, float *x, float scale,
                         const ir_plan *plan) {
    float y = 0;
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", width);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    ir_value *t = kernel_load(&k, in, 1, SLOTS(all(N)), NULL);
    if (scale != 1.0f)
        t = ir_build_binary(&k.b, IR_MUL, t, ir_build_real(&k.b, BASE_F32, (double)scale));
    kernel_store(&k, out, 0, NULL, kernel_reduce(&k, monoid, IR_NAN_PROPAGATE, t, 0));
    kernel_run(&k, plan);
    sim_number result = {k.result.tensors[out].value[0], k.result.tensors[out].error[0]};
    kernel_end(&k);
    return result;
}

static void a_sum_has_the_depth_of_the_plan(void **state) {
    (void)state;
    enum { WIDTH = 1000 };
    float x[WIDTH];
    uint64_t seed = 4;
    double magnitude = 0.0;
    for (int i = 0; i < WIDTH; i++) {
        x[i] = (float)(random_unit(&seed) - 0.5);
        magnitude += fabs((double)x[i]);
    }
    ir_plan_line axes[3] = {
        {.anchor = "row", .digits = {.count = 1, .digits = {{.holder = LAYOUT_GROUP, .radix = 0}}}},
        {.anchor = "N",
         .digits = {.count = 3,
                    .digits = {{.holder = LAYOUT_LANE, .radix = 8},
                               {.holder = LAYOUT_SLOT, .radix = 4},
                               {.holder = LAYOUT_STEP, .radix = 0}}}},
        {.anchor = "axis.0",
         .digits = {.count = 1, .digits = {{.holder = LAYOUT_STEP, .radix = 0}}}},
    };
    ir_plan plan = {.of[IR_PLAN_AXIS] = {.lines = axes, .count = 3}};
    double sequential = reduce(IR_MONOID_SUM, WIDTH, x, 1.0f, NULL).error;
    double planned = reduce(IR_MONOID_SUM, WIDTH, x, 1.0f, &plan).error;
    assert_true(fabs(sequential / (999 * unit * magnitude) - 1.0) < 1e-9);
    assert_true(fabs(planned / ((32 + 3 + 2) * unit * magnitude) - 1.0) < 1e-9);
    axes[1].anchor = "N.1"; /* a second class of that extent */
    assert_true(reduce(IR_MONOID_SUM, WIDTH, x, 1.0f, &plan).error == planned);
    axes[1].anchor = "M"; /* not named: the deepest element axis, which is axis.0 */
    assert_true(reduce(IR_MONOID_SUM, WIDTH, x, 1.0f, &plan).error == sequential);
    assert_true(reduce(IR_MONOID_SUM, 1, x, 1.0f, NULL).error == 0.0);
}

/* Sums in f32 in random order, of products that f32 rounds: all within the sequential error. */
static void sums_in_f32_stay_within_the_error(void **state) {
    (void)state;
    enum { WIDTH = 300 };
    uint64_t seed = 5;
    for (int trial = 0; trial < 300; trial++) {
        float x[WIDTH], left = 0.0f, right = 0.0f, product = 1.0f;
        for (int i = 0; i < WIDTH; i++)
            x[i] = (float)((random_unit(&seed) - 0.3) * exp2(random_unit(&seed) * 4.0));
        for (int i = 0; i < WIDTH; i++) {
            left += x[i] * 0.7f;
            right += x[WIDTH - 1 - i] * 0.7f;
        }
        sim_number sum = reduce(IR_MONOID_SUM, WIDTH, x, 0.7f, NULL);
        assert_true(stands_for(sum, left) && stands_for(sum, right));
        assert_true(sum.error < 1e-2);
        for (int i = 0; i < 40; i++)
            product *= x[i] * 0.7f;
        sim_number prod = reduce(IR_MONOID_PROD, 40, x, 0.7f, NULL);
        assert_true(stands_for(prod, product));
        assert_true(prod.error < 1e-4 * fabs(prod.value));
    }
}

static void counts_are_exact(void **state) {
    (void)state;
    float x[4] = {1, 0, 3, -2}, halves[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    assert_true(reduce(IR_MONOID_SUM, 4, x, 1.0f, NULL).error == 0.0);
    assert_true(reduce(IR_MONOID_SUM, 4, halves, 1.0f, NULL).error > 0.0);
}

static void the_order_of_a_sum_may_decide_overflow(void **state) {
    (void)state;
    float both[3] = {3e38f, -3e38f, 3e38f}, one[3] = {2e38f, 1e38f, 1e38f};
    float undone[3] = {3e38f, 1e38f, -2e38f}, infinite[3] = {-INFINITY, 3e38f, 1e38f};
    assert_true(sim_is_loose(reduce(IR_MONOID_SUM, 3, both, 1.0f, NULL).error));
    sim_number sure = reduce(IR_MONOID_SUM, 3, one, 1.0f, NULL);
    assert_true(sure.value == INFINITY && sure.error == 0.0);
    assert_true(sim_is_loose(reduce(IR_MONOID_SUM, 3, undone, 1.0f, NULL).error));
    assert_true(sim_is_loose(reduce(IR_MONOID_SUM, 3, infinite, 1.0f, NULL).error));
    float factors[3] = {1e30f, 1e30f, 1e-30f}, small[3] = {1e-30f, 1e-30f, 1e20f};
    assert_true(sim_is_loose(reduce(IR_MONOID_PROD, 3, factors, 1.0f, NULL).error));
    sim_number vanishing = reduce(IR_MONOID_PROD, 3, small, 1.0f, NULL);
    assert_true(vanishing.error > tiny * 1e20); /* 1e-60 on the way, or 1e-10 first */
}

static void an_extreme_has_the_error_of_those_that_may_be_it(void **state) {
    (void)state;
    float x[3] = {1.1f, 5.3f, 1000.7f}, close[3] = {1.1f, 1000.7f, 1000.70001f};
    sim_number least = reduce(IR_MONOID_MIN, 3, x, 0.3f, NULL);
    assert_true(least.error < 2 * unit * 0.4);
    sim_number largest = reduce(IR_MONOID_MAX, 3, close, 0.3f, NULL);
    assert_true(largest.error >= unit * 300.0 && largest.error < 2 * unit * 310.0);
    assert_true(reduce(IR_MONOID_MAX, 3, x, 1.0f, NULL).error == 0.0);
}

/* All equal: the mean of f32 is off by a rounding, and the variance is its square, not 0. */
static void the_variance_of_equal_elements_is_within_its_error(void **state) {
    (void)state;
    enum { WIDTH = 37 };
    float x[WIDTH], y = 0, sum = 0.0f, squares = 0.0f;
    for (int i = 0; i < WIDTH; i++) {
        x[i] = 1e4f / 3.0f;
        sum += x[i];
    }
    for (int i = 0; i < WIDTH; i++)
        squares += (x[i] - sum / WIDTH) * (x[i] - sum / WIDTH);
    assert_true(squares > 0.0f);
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", WIDTH);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    ir_value *t = kernel_load(&k, in, 1, SLOTS(all(N)), NULL);
    ir_value *width = ir_build_real(&k.b, BASE_F32, WIDTH);
    ir_value *mean = ir_build_binary(&k.b, IR_DIV, kernel_sum(&k, t), width);
    ir_value *c = ir_build_binary(&k.b, IR_SUB, t, mean);
    kernel_store(&k, out, 0, NULL, kernel_sum(&k, ir_build_binary(&k.b, IR_MUL, c, c)));
    kernel_run(&k, NULL);
    sim_number variance = {k.result.tensors[out].value[0], k.result.tensors[out].error[0]};
    assert_true(stands_for(variance, squares));
    kernel_end(&k);
}

/* ---- control and places that are not certain ---- */

/* x * 0.1f < 0.3f where x = 3: open. The results of both branches pass, their stores are loose. */
static void an_undecided_if_takes_both_branches(void **state) {
    (void)state;
    float x = 3.0f, y = 0, z[2] = {0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *two = kernel_constant(&k, 2);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 0, NULL, &x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    int side = kernel_tensor(&k, "z", IR_OUT, BASE_F32, 1, EXTENTS(two), z);
    ir_value *t = ir_build_binary(&k.b, IR_MUL, kernel_load(&k, in, 0, NULL, NULL),
                                  ir_build_real(&k.b, BASE_F32, 0.1));
    ir_value *condition =
        ir_build_binary(&k.b, IR_LT, t, ir_build_real(&k.b, BASE_F32, (double)0.3f));
    ir_type scalar = ir_type_scalar(BASE_F32);
    ir_op *choice = ir_build_op(&k.b, IR_IF, 1, &condition, 1, &scalar, 2);
    for (int branch = 0; branch < 2; branch++) {
        k.b.region = choice->regions[branch];
        ir_value *result = ir_build_real(&k.b, BASE_F32, branch == 0 ? 10.0 : 12.0);
        kernel_store(&k, side, 1, SLOTS(at(ir_build_integer(&k.b, BASE_INDEX, branch))), result);
        ir_build_yield(&k.b, 1, &result);
    }
    k.b.region = &k.module->body;
    kernel_store(&k, out, 0, NULL, choice->results[0]);
    kernel_run(&k, NULL);
    assert_true(k.result.tensors[out].error[0] == 2.0);
    assert_true(k.result.tensors[side].loose[0] && k.result.tensors[side].loose[1]);
    kernel_end(&k);
}

static void undecided_indices_are_loose(void **state) {
    (void)state;
    float x[4] = {3, 1, 2, 5}, y = 0, z[4] = {0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *four = kernel_constant(&k, 4);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(four), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    int side = kernel_tensor(&k, "z", IR_OUT, BASE_F32, 1, EXTENTS(four), z);
    ir_value *zero = ir_build_integer(&k.b, BASE_INDEX, 0);
    ir_value *first = kernel_load(&k, in, 1, SLOTS(at(zero)), NULL);
    ir_value *scaled = ir_build_binary(
        &k.b, IR_DIV, first, ir_build_real(&k.b, BASE_F32, 3.0)); /* 1, within a rounding */
    ir_value *index = ir_build_cast(&k.b, scaled, BASE_I32, IR_ROUND_ZERO);
    kernel_store(&k, out, 0, NULL, kernel_load(&k, in, 1, SLOTS(at(index)), NULL));
    kernel_store(&k, side, 1, SLOTS(at(index)), first);
    kernel_run(&k, NULL);
    assert_true(k.result.tensors[out].loose[0]);
    for (int i = 0; i < 4; i++)
        assert_true(k.result.tensors[side].loose[i] && k.result.tensors[side].written[i]);
    assert_int_equal(k.result.fault_total, 0);
    kernel_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_in_f32_stays_within_the_error),
        cmocka_unit_test(fma_in_f32_stays_within_the_error),
        cmocka_unit_test(functions_in_f32_stay_within_the_error),
        cmocka_unit_test(first_order_errors_are_as_stated),
        cmocka_unit_test(what_the_type_holds_exactly_has_no_error),
        cmocka_unit_test(overflow_within_the_error_is_loose),
        cmocka_unit_test(poles_and_edges_within_the_error_are_loose),
        cmocka_unit_test(comparisons_within_the_error_may_go_either_way),
        cmocka_unit_test(roundings_within_the_error_reach_both_integers),
        cmocka_unit_test(a_sum_has_the_depth_of_the_plan),
        cmocka_unit_test(sums_in_f32_stay_within_the_error),
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(the_order_of_a_sum_may_decide_overflow),
        cmocka_unit_test(an_extreme_has_the_error_of_those_that_may_be_it),
        cmocka_unit_test(the_variance_of_equal_elements_is_within_its_error),
        cmocka_unit_test(an_undecided_if_takes_both_branches),
        cmocka_unit_test(undecided_indices_are_loose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
