/* The portable forms of the functions, as ops: each expansion is built and evaluated, op by op, on
 * samples of the whole f32 range and around every border; the largest error must stay within
 * ir/math.def. The oracle is the C library in double. */
#include "expansion_fixture.h"
#include "sanitized.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE_STEP = 4999, AROUND = 600, SLOTS = 4 };

/* ---- the oracle ---- */

static double exact_rsqrt(double x) {
    return 1.0 / sqrt(x);
}

static double exact_sigmoid(double x) {
    return x < 0 ? exp(x) / (1.0 + exp(x)) : 1.0 / (1.0 + exp(-x));
}

/* |got - exact| in units of the last place of exact; infinite when a special value differs. From
 * half a unit past the largest finite number on the right f32 is inf, which counts as 2^128. */
static double error_ulps(float got, double exact) {
    float nearest = (float)exact;
    if (isnan(nearest) || isnan(got))
        return isnan(nearest) && isnan(got) ? 0.0 : INFINITY;
    if (exact == 0.0 || isinf(exact))
        return memcmp(&got, &nearest, sizeof got) == 0 ? 0.0 : INFINITY;
    double limit = copysign(0x1p128, exact);
    double value = isinf(got) ? copysign(0x1p128, (double)got) : (double)got;
    if (isinf(nearest)) {
        if (isinf(got))
            return (double)got == (double)nearest ? 0.0 : INFINITY;
        exact = limit;
    }
    int exponent;
    frexp(exact, &exponent);
    exponent = exponent < -125 ? -125 : exponent > 128 ? 128 : exponent;
    return fabs(value - exact) / ldexp(1.0, exponent - 24);
}

typedef struct function {
    ir_opcode opcode;
    double (*exact)(double x);
    float borders[12];
} function;

static const function functions[] = {
    {IR_EXP, exp, {88.72284f, -87.33655f, -103.97208f, -103.27893f, 0.6931472f, 2.0794415f}},
    {IR_EXP2, exp2, {128.0f, -126.0f, -149.0f, -150.0f, -151.0f, 129.0f, 2.0f, -3.0f}},
    {IR_LOG, log, {0x1.6a09e6p-1f, 0x1.6a09e6p+0f, 0x1.6a09e6p-140f, 0x1p-149f}},
    {IR_LOG2, log2, {0x1.6a09e6p-1f, 0x1.6a09e6p+0f, 0x1.6a09e6p-140f, 0x1p-149f}},
    {IR_RSQRT, exact_rsqrt, {0x1p-149f, 4.0f}},
    {IR_TANH, tanh, {0.17328680f, 9.0109134f, 10.0f, 0.34657359f}},
    {IR_SIGMOID, exact_sigmoid, {88.72284f, -87.33655f, -103.97208f, -104.0f, 17.3f}},
    {IR_ERF, erf, {3.9192059f, 4.0f, 0.31f, 0.97f}},
};

static const float common_borders[] = {0.0f, 0x1p-126f, 0.5f, 1.0f, 2.0f, 0x1.fffffep127f};

typedef struct survey {
    expansion *expansion;
    const function *function;
    double largest;
    float at;
    int pending;
} survey;

static void flush(survey *s) {
    evaluate_block(s->expansion, s->pending);
    const cell *in = cells_of(s->expansion, s->expansion->argument);
    const cell *out = cells_of(s->expansion, s->expansion->result);
    for (int lane = 0; lane < s->pending; lane++) {
        double error = error_ulps(out[lane].real, s->function->exact((double)in[lane].real));
        if (error > s->largest) {
            s->largest = error;
            s->at = in[lane].real;
        }
    }
    s->pending = 0;
}

static void visit(survey *s, uint32_t bits) {
    cells_of(s->expansion, s->expansion->argument)[s->pending++].bits = bits;
    if (s->pending == BLOCK)
        flush(s);
}

static void visit_around(survey *s, float border) {
    cell centre = {.real = border};
    for (uint32_t distance = 0; distance <= 2 * AROUND; distance++) {
        visit(s, centre.bits + distance - AROUND);
        visit(s, (centre.bits ^ 0x80000000u) + distance - AROUND);
    }
}

static double stated_ulps(ir_opcode opcode) {
    static const struct {
        ir_opcode opcode;
        double ulps;
    } rows[] = {
#define MATH(ID, ulps) {IR_##ID, ulps},
#include "ir/math.def"
#undef MATH
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].opcode == opcode)
            return rows[i].ulps;
    fail_msg("no accuracy stated for %s", ir_op_describe(opcode)->text);
    return 0.0;
}

static void survey_function(const function *f) {
    expansion e;
    expansion_open(&e, f->opcode, ir_type_uniform(BASE_F32));
    survey s = {.expansion = &e, .function = f};
    uint64_t step = sanitized_in_part() ? 5 * SAMPLE_STEP : SAMPLE_STEP;
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step)
        visit(&s, (uint32_t)bits);
    for (size_t i = 0; i < sizeof f->borders / sizeof *f->borders; i++)
        visit_around(&s, f->borders[i]);
    for (size_t i = 0; i < sizeof common_borders / sizeof *common_borders; i++)
        visit_around(&s, common_borders[i]);
    flush(&s);
    expansion_close(&e);
    printf("%-8s %.3f ulp at %a\n", ir_op_describe(f->opcode)->text, s.largest, (double)s.at);
    if (!(s.largest <= stated_ulps(f->opcode)))
        fail_msg("%s: %g ulp at %a", ir_op_describe(f->opcode)->text, s.largest, (double)s.at);
}

static void every_function_is_within_its_stated_ulps(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        survey_function(&functions[i]);
}

static void exact_results_are_exact(void **state) {
    static const struct {
        ir_opcode opcode;
        float x, y;
    } rows[] = {
        {IR_EXP, 0.0f, 1.0f},        {IR_EXP, -0.0f, 1.0f},          {IR_EXP2, -149.0f, 0x1p-149f},
        {IR_EXP2, 127.0f, 0x1p127f}, {IR_LOG, 1.0f, 0.0f},           {IR_LOG2, 0x1p-149f, -149.0f},
        {IR_LOG2, 0x1p127f, 127.0f}, {IR_RSQRT, 0x1p-148f, 0x1p74f}, {IR_RSQRT, 4.0f, 0.5f},
        {IR_TANH, 20.0f, 1.0f},      {IR_TANH, -20.0f, -1.0f},       {IR_SIGMOID, 0.0f, 0.5f},
        {IR_SIGMOID, 40.0f, 1.0f},   {IR_ERF, 5.0f, 1.0f},           {IR_ERF, -5.0f, -1.0f},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        expansion e;
        expansion_open(&e, rows[i].opcode, ir_type_uniform(BASE_F32));
        cells_of(&e, e.argument)->real = rows[i].x;
        evaluate_block(&e, 1);
        assert_memory_equal(&cells_of(&e, e.result)->real, &rows[i].y, sizeof(float));
        expansion_close(&e);
    }
}

static bool stands_at_thread(void *state, ir_op *op) {
    (void)state;
    assert_true((ir_op_describe(op->opcode)->levels & IR_LEVEL_BIT_R) != 0);
    return true;
}

static void expansions_keep_the_form_and_stand_at_thread(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const ir_type types[] = {ir_type_uniform(BASE_F32), ir_type_slots(BASE_F32, SLOTS)};
        for (int t = 0; t < 2; t++) {
            expansion e;
            expansion_open(&e, functions[i].opcode, types[t]);
            assert_true(ir_type_equal(e.module, &e.result->type, &types[t]));
            assert_true(ir_region_walk(&e.module->body, stands_at_thread, NULL));
            expansion_close(&e);
        }
    }
}

static void the_math_ops_of_the_table_and_no_others_have_a_portable_form(void **state) {
    (void)state;
    int count = 0;
    for (int opcode = 0; opcode < IR_OPCODE_COUNT; opcode++) {
        expansion e;
        expansion_open(&e, (ir_opcode)opcode, ir_type_uniform(BASE_F32));
        bool is_math = ir_op_is_math((ir_opcode)opcode);
        assert_true((e.result != NULL) == is_math);
        assert_true((e.module->body.first != NULL) == is_math);
        count += is_math;
        expansion_close(&e);
    }
    assert_int_equal(count, sizeof functions / sizeof *functions);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_within_its_stated_ulps),
        cmocka_unit_test(exact_results_are_exact),
        cmocka_unit_test(expansions_keep_the_form_and_stand_at_thread),
        cmocka_unit_test(the_math_ops_of_the_table_and_no_others_have_a_portable_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
