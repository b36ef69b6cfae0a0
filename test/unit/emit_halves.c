/* The cpu target's casts between f32 and the floats of 16 bits, value by value: all of the narrow
 * ones in f32, and each middle between neighbours, with the f32 before and behind it, back. What is
 * expected is what the library's own conversions say; of a NaN, that it stays one.
 */
#include "emit_fixture.h"

enum { COUNT = 65536 };

typedef struct halves {
    base_dtype narrow;
    int lanes;
    float wide[COUNT], widened[COUNT];
    uint16_t bits[COUNT], narrowed[COUNT];
} halves;

static double to_double(base_dtype narrow, uint16_t bits) {
    return narrow == BASE_F16 ? base_f16_to_double(bits) : base_bf16_to_double(bits);
}

static uint16_t from_double(base_dtype narrow, double value) {
    return narrow == BASE_F16 ? base_f16_from_double(value) : base_bf16_from_double(value);
}

/* The middle of the value of these bits and the next one up in magnitude, which may be infinite:
 * then the unit is as below. */
static float middle(base_dtype narrow, uint16_t bits) {
    double low = to_double(narrow, bits), high = to_double(narrow, (uint16_t)(bits + 1));
    if (isinf(high) && !isinf(low))
        high = 2 * low - to_double(narrow, (uint16_t)(bits - 1));
    return (float)((low + high) / 2);
}

static void check_narrowed(const halves *t, int beside) {
    for (int i = 0; i < COUNT; i++) {
        uint16_t wanted = from_double(t->narrow, (double)t->wide[i]);
        bool nan = isnan(to_double(t->narrow, wanted));
        if (t->narrowed[i] != wanted && !(nan && isnan(to_double(t->narrow, t->narrowed[i]))))
            fail_msg("%a, %d beside a middle of %s: %x, not %x", (double)t->wide[i], beside,
                     base_dtype_name(t->narrow), t->narrowed[i], wanted);
    }
}

static void check_widened(const halves *t) {
    for (int i = 0; i < COUNT; i++) {
        float wanted = (float)to_double(t->narrow, (uint16_t)i);
        bool same = memcmp(&wanted, &t->widened[i], sizeof wanted) == 0;
        if (!same && !(isnan(wanted) && isnan(t->widened[i])))
            fail_msg("%s %x: %a, not %a", base_dtype_name(t->narrow), i, (double)t->widened[i],
                     (double)wanted);
    }
}

static void run(halves *t, const emitted *kernel) {
    void *pointers[] = {t->bits, t->widened, t->wide, t->narrowed};
    int64_t words[32] = {COUNT, 1, COUNT, COUNT, 1, COUNT, 1, COUNT, 1, 1, COUNT, 1};
    kernel->entry(pointers, words, 0, COUNT / t->lanes, NULL);
}

static void check(void *state, const emitted *kernel) {
    halves *t = state;
    for (int beside = -1; beside <= 1; beside++) {
        for (int i = 0; i < COUNT; i++) {
            t->bits[i] = (uint16_t)i;
            t->wide[i] = middle(t->narrow, (uint16_t)i);
            if (beside != 0)
                t->wide[i] = nextafterf(t->wide[i], beside < 0 ? -INFINITY : INFINITY);
        }
        run(t, kernel);
        check_narrowed(t, beside);
    }
    check_widened(t);
}

static void check_type(base_dtype narrow, int lanes) {
    halves *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->narrow = narrow;
    t->lanes = lanes;
    emit_fixture f;
    emit_fixture_begin(&f, "halves", lanes);
    ir_value *bits = emit_fixture_tensor(&f, "bits", narrow, IR_IN, 1);
    ir_value *widened = emit_fixture_tensor(&f, "widened", BASE_F32, IR_OUT, 2);
    ir_value *wide = emit_fixture_tensor(&f, "wide", BASE_F32, IR_IN, 1);
    ir_value *narrowed = emit_fixture_tensor(&f, "narrowed", narrow, IR_OUT, 2);
    ir_value *x = emit_fixture_load_chunk(&f, bits, 1);
    emit_fixture_store_chunk(&f, widened, 0, 1,
                             ir_build_cast(&f.builder, x, BASE_F32, IR_ROUND_EVEN));
    ir_value *y = emit_fixture_load_chunk(&f, wide, 1);
    emit_fixture_store_chunk(&f, narrowed, 0, 1,
                             ir_build_cast(&f.builder, y, narrow, IR_ROUND_EVEN));
    emit_fixture_each(&f, check, t);
    emit_fixture_end(&f);
    free(t);
}

static void every_value_and_every_middle(void **state) {
    (void)state;
    for (int lanes = 4; lanes <= 16; lanes *= 2) {
        check_type(BASE_F16, lanes);
        check_type(BASE_BF16, lanes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_value_and_every_middle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
