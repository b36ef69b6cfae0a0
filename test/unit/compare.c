/* Outputs against the reference: what passes, what fails, what is counted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "sim/reference.h"

/* One float element: value and E expected, `got` as it is in an array of the type. */
static sim_comparison compare_float(base_dtype dtype, double value, double error, const void *got,
                                    double tighten) {
    bool loose = !(error < (double)INFINITY), written = true;
    sim_reference_tensor expected = {
        .count = 1, .value = &value, .error = &error, .loose = &loose, .written = &written};
    uint64_t copy = 0;
    memcpy(&copy, got, (size_t)base_dtype_size(dtype));
    sim_tensor tensor = {.dtype = dtype, .rank = 1, .extent = {1}, .stride = {1}, .data = &copy};
    return sim_compare(&expected, &tensor, tighten);
}

static bool f32_passes(double value, double error, float got) {
    return compare_float(BASE_F32, value, error, &got, 0.0).failed == 0;
}

static bool f16_passes(double value, double error, double got) {
    uint16_t bits = base_f16_from_double(got);
    return compare_float(BASE_F16, value, error, &bits, 0.0).failed == 0;
}

static bool bf16_passes(double value, double error, double got) {
    uint16_t bits = base_bf16_from_double(got);
    return compare_float(BASE_BF16, value, error, &bits, 0.0).failed == 0;
}

/* 1 + 2^-24 lies half way between 1 and 1 + 2^-23. */
static void one_rounding_is_granted_and_no_more(void **state) {
    (void)state;
    assert_true(f32_passes(1.0 + 0x1p-24, 0.0, 1.0f));
    assert_true(f32_passes(1.0 + 0x1p-24, 0.0, 1.0f + 0x1p-23f));
    assert_false(f32_passes(1.0 + 0x1p-24, 0.0, 1.0f - 0x1p-24f));
    assert_false(f32_passes(1.0, 0.0, 1.0f + 0x1p-23f));
    assert_true(f16_passes(1.0 + 0x1p-11, 0.0, 1.0));
    assert_false(f16_passes(1.0, 0.0, 1.0 + 0x1p-10));
    assert_true(bf16_passes(1.0 + 0x1p-8, 0.0, 1.0));
    assert_false(bf16_passes(1.0, 0.0, 1.0 + 0x1p-7));
}

static void four_times_the_error_is_granted(void **state) {
    (void)state;
    assert_true(f32_passes(1.0, 0x1p-24, 1.0f + 2 * 0x1p-23f));
    assert_false(f32_passes(1.0, 0x1p-24, 1.0f + 3 * 0x1p-23f));
    assert_true(f16_passes(100.0, 0.01, 100.0 + 0x1p-4));
    assert_false(f16_passes(100.0, 0.01, 100.0 + 0x1p-3));
}

/* The grid of subnormals is even: one rounding is half the least subnormal there. */
static void subnormals_are_rounded_on_their_own_grid(void **state) {
    (void)state;
    assert_true(f32_passes(0x1.8p-149, 0.0, 0x1p-149f));
    assert_true(f32_passes(0x1.8p-149, 0.0, 0x1p-148f));
    assert_false(f32_passes(0x1.8p-149, 0.0, 0.0f));
    assert_true(f32_passes(0x1p-150, 0.0, 0.0f));
    assert_true(f16_passes(0x1.8p-24, 0.0, 0x1p-24));
    assert_false(f16_passes(0x1.8p-24, 0.0, 0x1.8p-23));
    assert_true(bf16_passes(0x1p-134, 0.0, 0.0));
}

static void nan_and_infinities_must_be_themselves(void **state) {
    (void)state;
    assert_true(f32_passes(NAN, 0.0, NAN));
    assert_true(f32_passes(NAN, 0.0, -NAN));
    assert_false(f32_passes(NAN, 0.0, 0.0f));
    assert_false(f32_passes(NAN, 0.0, INFINITY));
    assert_false(f32_passes(0.0, 0.0, NAN));
    assert_false(f32_passes(0.0, 1e30, NAN));
    assert_true(f32_passes(INFINITY, 0.0, INFINITY));
    assert_false(f32_passes(INFINITY, 0.0, -INFINITY));
    assert_false(f32_passes(INFINITY, 0.0, 3.4e38f));
    assert_false(f32_passes(1.0, 0.0, INFINITY));
    assert_true(f32_passes(0.0, 0.0, -0.0f));
    assert_true(f32_passes(-0.0, 0.0, 0.0f));
}

/* A finite value that the type cannot hold becomes inf when it is stored; near the threshold either
 * may be. */
static void values_past_the_range_of_the_type_may_be_infinite(void **state) {
    (void)state;
    assert_true(f16_passes(70000.0, 0.0, INFINITY));
    assert_false(f16_passes(70000.0, 0.0, -INFINITY));
    assert_false(f16_passes(70000.0, 0.0, 65504.0));
    assert_true(f16_passes(65519.0, 0.0, 65504.0));
    assert_false(f16_passes(65519.0, 0.0, INFINITY));
    assert_true(f16_passes(65519.0, 1.0, INFINITY));
    assert_true(f16_passes(-65530.0, 20.0, -65504.0));
    assert_true(f32_passes(0x1.ffffffp127, 0.0, INFINITY));
}

static void a_tolerance_only_tightens(void **state) {
    (void)state;
    float got = 1.0f + 2 * 0x1p-23f;
    assert_int_equal(compare_float(BASE_F32, 1.0, 0x1p-24, &got, 1.0).failed, 0);
    assert_int_equal(compare_float(BASE_F32, 1.0, 0x1p-24, &got, 1e-7).failed, 1);
    float far = 2.0f;
    assert_int_equal(compare_float(BASE_F32, 1.0, 0x1p-24, &far, 10.0).failed, 1);
}

static void loose_elements_pass_and_are_counted(void **state) {
    (void)state;
    float got[3] = {NAN, 1.0f, 2.0f};
    double value[3] = {5.0, 1.0, 1.0}, error[3] = {INFINITY, 0.0, 0.0};
    bool loose[3] = {true, false, false}, written[3] = {true, true, true};
    sim_reference_tensor expected = {
        .count = 3, .value = value, .error = error, .loose = loose, .written = written};
    sim_tensor tensor = {.dtype = BASE_F32, .rank = 1, .extent = {3}, .stride = {1}, .data = got};
    sim_comparison c = sim_compare(&expected, &tensor, 0.0);
    assert_int_equal(c.elements, 3);
    assert_int_equal(c.loose, 1);
    assert_int_equal(c.failed, 1);
    assert_int_equal(c.worst, 2);
    assert_true(c.largest_error == 1.0);
    assert_true(c.its_bound == 0x1p-24);
    assert_true(c.worst_got == 2.0 && c.worst_expected == 1.0);
}

/* The worst element is the one whose error is largest beside its bound, not the largest error. */
static void the_worst_is_relative_to_the_bound(void **state) {
    (void)state;
    float got[2] = {1000.5f, 1.0f + 0x1p-22f};
    double value[2] = {1000.0, 1.0}, error[2] = {1.0, 0x1p-24};
    bool loose[2] = {false, false}, written[2] = {true, true};
    sim_reference_tensor expected = {
        .count = 2, .value = value, .error = error, .loose = loose, .written = written};
    sim_tensor tensor = {.dtype = BASE_F32, .rank = 1, .extent = {2}, .stride = {1}, .data = got};
    sim_comparison c = sim_compare(&expected, &tensor, 0.0);
    assert_int_equal(c.failed, 0);
    assert_int_equal(c.worst, 1);
}

/* Integers are exact, in 64 bits too; a rounding at its edge may go one further. */
static void integers_are_exact_unless_loose(void **state) {
    (void)state;
    int64_t got[6] = {7, INT64_MAX, INT64_MAX - 1, 8, 9, -40532396646333644};
    int64_t integer[6] = {7, INT64_MAX, INT64_MAX, 7, 7, -40532396646333645};
    double error[6] = {0.0, 0.0, 0.0, 1.0, 1.0, 1.0}; /* the last two are 8 apart as doubles */
    bool loose[6] = {false, false, false, true, true, true};
    bool written[6] = {true, true, true, true, true, true};
    sim_reference_tensor expected = {
        .count = 6, .integer = integer, .error = error, .loose = loose, .written = written};
    sim_tensor tensor = {.dtype = BASE_I64, .rank = 1, .extent = {6}, .stride = {1}, .data = got};
    sim_comparison c = sim_compare(&expected, &tensor, 0.0);
    assert_int_equal(c.failed, 2);
    assert_int_equal(c.loose, 3);
}

/* Rows of two elements, three apart; only [0, 0] was to be written. */
static void unwritten_elements_are_counted_and_must_be_untouched(void **state) {
    (void)state;
    float prefill = NAN, got[6];
    for (int i = 0; i < 6; i++)
        got[i] = prefill;
    sim_tensor tensor = {
        .dtype = BASE_F32, .rank = 2, .extent = {2, 2}, .stride = {3, 1}, .data = got};
    sim_tensor before = {.dtype = BASE_F32, .rank = 2, .extent = {2, 2}, .data = &prefill};
    got[0] = 1.0f;
    got[2] = 2.0f; /* between the rows: no element */
    double value[4] = {1.0, 0, 0, 0}, error[4] = {0};
    bool loose[4] = {false}, written[4] = {true, false, false, false};
    sim_reference_tensor expected = {
        .count = 4, .value = value, .error = error, .loose = loose, .written = written};
    sim_comparison c = sim_compare(&expected, &tensor, 0.0);
    assert_int_equal(c.elements, 1);
    assert_int_equal(c.unwritten, 3);
    assert_int_equal(c.failed, 0);
    int64_t first = 0;
    assert_int_equal(sim_compare_untouched(&expected, &before, &tensor, &first), 0);
    got[4] = 0.0f; /* element [1, 1] */
    assert_int_equal(sim_compare_untouched(&expected, &before, &tensor, &first), 1);
    assert_int_equal(first, 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rounding_is_granted_and_no_more),
        cmocka_unit_test(four_times_the_error_is_granted),
        cmocka_unit_test(subnormals_are_rounded_on_their_own_grid),
        cmocka_unit_test(nan_and_infinities_must_be_themselves),
        cmocka_unit_test(values_past_the_range_of_the_type_may_be_infinite),
        cmocka_unit_test(a_tolerance_only_tightens),
        cmocka_unit_test(loose_elements_pass_and_are_counted),
        cmocka_unit_test(the_worst_is_relative_to_the_bound),
        cmocka_unit_test(integers_are_exact_unless_loose),
        cmocka_unit_test(unwritten_elements_are_counted_and_must_be_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
