/* Element types: the 16-bit conversions over all 65,536 values, and the boundaries of rounding. */
#include "base/dtype.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct format {
    double (*widen)(uint16_t bits);
    uint16_t (*narrow)(double value);
    int exponent_bits, mantissa_bits;
} format;

static const format f16 = {base_f16_to_double, base_f16_from_double, 5, 10};
static const format bf16 = {base_bf16_to_double, base_bf16_from_double, 8, 7};

/* The definition of the format, by ldexp. */
static double defined_value(format f, uint16_t bits) {
    int exponent = (bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
    int mantissa = bits & ((1 << f.mantissa_bits) - 1);
    int bias = (1 << (f.exponent_bits - 1)) - 1;
    double value;
    if (exponent == (1 << f.exponent_bits) - 1)
        value = mantissa != 0 ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - f.mantissa_bits);
    else
        value = ldexp((1 << f.mantissa_bits) + mantissa, exponent - bias - f.mantissa_bits);
    return bits & 0x8000 ? -value : value;
}

static void check_every_value_widens_as_defined_and_comes_back(format f) {
    uint16_t quiet = (uint16_t)(1 << (f.mantissa_bits - 1));
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        double expected = defined_value(f, bits);
        double got = f.widen(bits);
        if (isnan(expected)) {
            assert_true(isnan(got));
            assert_int_equal(f.narrow(got), bits | quiet);
            continue;
        }
        assert_memory_equal(&got, &expected, sizeof got); /* the sign of zero too */
        assert_int_equal(f.narrow(got), bits);
    }
}

/* Between each neighbouring pair: the middle goes to the even one, anything beside it to the nearer
 * one. Past the last finite value the next "value" is the power of two where inf begins. */
static void check_middles_go_to_even(format f) {
    uint16_t infinity = (uint16_t)(((1 << f.exponent_bits) - 1) << f.mantissa_bits);
    for (uint16_t low = 0; low < infinity; low++) {
        uint16_t high = (uint16_t)(low + 1);
        double below = f.widen(low);
        double above = high == infinity ? ldexp(1.0, 1 << (f.exponent_bits - 1)) : f.widen(high);
        double middle = below + (above - below) / 2;
        assert_int_equal(f.narrow(middle), low % 2 == 0 ? low : high);
        assert_int_equal(f.narrow(nextafter(middle, 0.0)), low);
        assert_int_equal(f.narrow(nextafter(middle, INFINITY)), high);
        assert_int_equal(f.narrow(-middle), 0x8000 | (low % 2 == 0 ? low : high));
    }
}

static void f16_every_value_widens_as_defined_and_comes_back(void **state) {
    (void)state;
    check_every_value_widens_as_defined_and_comes_back(f16);
}

static void bf16_every_value_widens_as_defined_and_comes_back(void **state) {
    (void)state;
    check_every_value_widens_as_defined_and_comes_back(bf16);
}

static void f16_middles_go_to_even(void **state) {
    (void)state;
    check_middles_go_to_even(f16);
}

static void bf16_middles_go_to_even(void **state) {
    (void)state;
    check_middles_go_to_even(bf16);
}

static void far_values_become_inf_and_zero(void **state) {
    (void)state;
    assert_int_equal(base_f16_from_double(1e300), 0x7c00);
    assert_int_equal(base_f16_from_double(-1e300), 0xfc00);
    assert_int_equal(base_f16_from_double(5e-324), 0x0000);
    assert_int_equal(base_bf16_from_double(-5e-324), 0x8000);
    assert_int_equal(base_bf16_from_double(INFINITY), 0x7f80);
    assert_int_equal(base_bf16_from_double(1e39), 0x7f80);
}

static void one_rounding_not_two(void **state) {
    (void)state;
    /* Through f32 this would become exactly the middle of 1 and 1 + 2^-10, and go to 1. */
    assert_int_equal(base_f16_from_double(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);
}

static void names_and_enums_agree(void **state) {
    (void)state;
    for (int i = 0; i < BASE_DTYPE_COUNT; i++) {
        base_dtype found = BASE_F32;
        const char *name = base_dtype_name((base_dtype)i);
        assert_true(base_dtype_from_name(name, strlen(name), &found));
        assert_int_equal(found, i);
    }
    base_dtype unused = BASE_F32;
    assert_false(base_dtype_from_name("f3", 2, &unused));
    assert_false(base_dtype_from_name("f322", 4, &unused));
    assert_false(base_dtype_from_name("", 0, &unused));
    assert_int_equal(base_dtype_size(BASE_BF16), 2);
    assert_int_equal(base_dtype_size(BASE_INDEX), 8);
    assert_true(base_dtype_is_integer(BASE_U8));
    assert_false(base_dtype_is_integer(BASE_BOOL));
    assert_true(base_dtype_is_float(BASE_F64));
}

static void the_ends_of_each_integer_type(void **state) {
    (void)state;
    static const struct {
        base_dtype dtype;
        int64_t least, greatest;
    } rows[] = {{BASE_I64, INT64_MIN, INT64_MAX},  {BASE_I32, INT32_MIN, INT32_MAX},
                {BASE_U32, 0, UINT32_MAX},         {BASE_I8, INT8_MIN, INT8_MAX},
                {BASE_U8, 0, UINT8_MAX},           {BASE_BOOL, 0, 1},
                {BASE_INDEX, INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        base_dtype dtype = rows[i].dtype;
        assert_true(base_dtype_least(dtype) == rows[i].least);
        assert_true(base_dtype_greatest(dtype) == rows[i].greatest);
        assert_true(base_dtype_holds(dtype, rows[i].least));
        assert_true(base_dtype_holds(dtype, rows[i].greatest));
        if (rows[i].least == INT64_MIN)
            continue;
        assert_false(base_dtype_holds(dtype, rows[i].least - 1));
        assert_false(base_dtype_holds(dtype, rows[i].greatest + 1));
    }
    assert_false(base_dtype_holds(BASE_F32, 0));
}

static void doubles_round_once_to_each_float_type(void **state) {
    (void)state;
    assert_true(base_float_round(BASE_F64, 0.1) == 0.1);
    assert_true(base_float_round(BASE_F32, 0.1) == 0x1.99999ap-4);
    assert_true(base_float_round(BASE_F16, 2049.0) == 2048.0);
    assert_true(base_float_round(BASE_BF16, 257.0) == 256.0);
    assert_true(isinf(base_float_round(BASE_F16, 65520.0)));
    assert_true(isinf(base_float_round(BASE_F32, 0x1p128)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f16_every_value_widens_as_defined_and_comes_back),
        cmocka_unit_test(bf16_every_value_widens_as_defined_and_comes_back),
        cmocka_unit_test(f16_middles_go_to_even),
        cmocka_unit_test(bf16_middles_go_to_even),
        cmocka_unit_test(far_values_become_inf_and_zero),
        cmocka_unit_test(one_rounding_not_two),
        cmocka_unit_test(names_and_enums_agree),
        cmocka_unit_test(the_ends_of_each_integer_type),
        cmocka_unit_test(doubles_round_once_to_each_float_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
