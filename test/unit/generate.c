/* Generated inputs: the values each form promises, the same every time, and specs that are refused.
 */
#include "generate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    jmp_buf exhausted;
    base_arena arena;
    base_diagnostics diagnostics;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    if (f == NULL || setjmp(f->exhausted) != 0)
        return -1;
    base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    base_diagnostics_init(&f->diagnostics, &f->arena);
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    base_arena_free(&f->arena);
    free(f);
    return 0;
}

static cli_array generate(fixture *f, const char *spec, const char *name, uint64_t seed) {
    cli_array array;
    if (!cli_generate(spec, name, seed, NULL, &array, &f->diagnostics))
        fail_msg("%s was refused: %s", spec, f->diagnostics.items[0].message);
    assert_int_equal(f->diagnostics.count, 0);
    return array;
}

/* The values were computed from the header's definition by a program in another language. */
static void values_are_those_of_the_documented_generator(void **state) {
    fixture *f = *state;
    static const float normal[] = {0x1.c0f85p-3f, -0x1.8eeaeap+0f, 0x1.e669d8p-1f, -0x1.7a7b72p-3f};
    static const int64_t integers[] = {6, -3, 6, 4, -2, 1, 6, 4};
    static const float uniform[] = {-0x1.983b56p+0f, 0x1.31756ep-1f, 0x1.95892ap+0f};
    cli_array array = generate(f, "randn:4", "x", 0);
    for (int i = 0; i < 4; i++)
        assert_true(cli_array_get(&array, i) == (double)normal[i]);
    cli_array_free(&array);
    array = generate(f, "randint:8:-3:8", "label", 7);
    assert_int_equal(array.dtype, BASE_I64);
    for (int i = 0; i < 8; i++)
        assert_int_equal(cli_array_get_integer(&array, i), integers[i]);
    cli_array_free(&array);
    array = generate(f, "uniform:3:-2:3", "x", 7);
    for (int i = 0; i < 3; i++)
        assert_true(cli_array_get(&array, i) == (double)uniform[i]);
    cli_array_free(&array);
}

static void seed_and_name_each_make_another_stream(void **state) {
    fixture *f = *state;
    static const struct {
        const char *name;
        uint64_t seed;
        bool same;
    } rows[] = {{"x", 1, true}, {"x", 2, false}, {"y", 1, false}, {"x", UINT64_MAX, false}};
    cli_array first = generate(f, "randn:1000", "x", 1);
    for (int i = 0; i < 4; i++) {
        cli_array other = generate(f, "randn:1000", rows[i].name, rows[i].seed);
        int equal = 0;
        for (int e = 0; e < 1000; e++)
            equal += cli_array_get(&first, e) == cli_array_get(&other, e);
        assert_true(rows[i].same ? equal == 1000 : equal < 3);
        cli_array_free(&other);
    }
    cli_array_free(&first);
}

/* Of 100,000 values: mean and deviation within five standard errors, tails on both sides. */
static void randn_is_normal_with_its_mean_and_deviation(void **state) {
    fixture *f = *state;
    static const struct {
        const char *spec;
        double mean, deviation;
    } rows[] = {
        {"randn:100000", 0, 1}, {"randn:100x1000:3", 3, 1}, {"randn:100000:-20:0.5:f64", -20, 0.5}};
    for (int r = 0; r < 3; r++) {
        cli_array array = generate(f, rows[r].spec, "x", 3);
        double sum = 0, squares = 0;
        int above = 0, below = 0;
        for (int64_t i = 0; i < array.count; i++) {
            double z = (cli_array_get(&array, i) - rows[r].mean) / rows[r].deviation;
            sum += z;
            squares += z * z;
            above += z > 2;
            below += z < -2;
        }
        double n = (double)array.count;
        assert_true(fabs(sum / n) < 5 / sqrt(n));
        assert_true(fabs(squares / n - 1) < 5 * sqrt(2 / n));
        assert_true(above > 2000 && above < 2600 && below > 2000 && below < 2600); /* 2.275% */
        cli_array_free(&array);
    }
}

static void randint_reaches_both_ends_and_nothing_else(void **state) {
    fixture *f = *state;
    static const struct {
        const char *spec;
        base_dtype dtype;
        double low, last;
    } rows[] = {{"randint:5000:0:8", BASE_I64, 0, 7},
                {"randint:5000:-128:128:i8", BASE_I8, -128, 127},
                {"randint:50:0:2:bool", BASE_BOOL, 0, 1},
                {"randint:5000:-4:5:bf16", BASE_BF16, -4, 4}};
    for (int r = 0; r < 4; r++) {
        cli_array array = generate(f, rows[r].spec, "x", 1);
        assert_int_equal(array.dtype, rows[r].dtype);
        double low = 1e9, last = -1e9;
        for (int64_t i = 0; i < array.count; i++) {
            low = fmin(low, cli_array_get(&array, i));
            last = fmax(last, cli_array_get(&array, i));
        }
        assert_true(low == rows[r].low && last == rows[r].last);
        cli_array_free(&array);
    }
    cli_array wide = generate(f, "randint:64:-9223372036854775808:9223372036854775807", "x", 1);
    int negative = 0;
    for (int i = 0; i < 64; i++)
        negative += cli_array_get_integer(&wide, i) < 0;
    assert_true(negative > 8 && negative < 56);
    cli_array_free(&wide);
}

static void plain_forms_give_their_values_in_every_type(void **state) {
    fixture *f = *state;
    for (int dtype = 0; dtype < BASE_DTYPE_COUNT; dtype++) {
        if (dtype == BASE_INDEX)
            continue;
        static const char *const specs[] = {"zeros:2", "ones:2", "arange:2", "const:2:0,1"};
        static const double values[][2] = {{0, 0}, {1, 1}, {0, 1}, {0, 1}};
        for (int s = 0; s < 4; s++) {
            char spec[64];
            snprintf(spec, sizeof spec, "%s:%s", specs[s], base_dtype_name((base_dtype)dtype));
            cli_array array = generate(f, spec, "x", 0);
            assert_int_equal(array.dtype, dtype);
            assert_true(cli_array_get(&array, 0) == values[s][0]);
            assert_true(cli_array_get(&array, 1) == values[s][1]);
            cli_array_free(&array);
        }
    }
}

static void const_repeats_its_values(void **state) {
    fixture *f = *state;
    cli_array array = generate(f, "const:2x4:-100,9223372036854775807,7:i64", "label", 0);
    static const int64_t expected[] = {-100, INT64_MAX, 7};
    for (int i = 0; i < 8; i++)
        assert_true(cli_array_get_integer(&array, i) == expected[i % 3]);
    cli_array_free(&array);
    array = generate(f, "const:4:nan,-inf,0x1p-149,-0.0", "x", 0);
    assert_true(isnan(cli_array_get(&array, 0)));
    assert_true(cli_array_get(&array, 1) == -INFINITY);
    assert_true(cli_array_get(&array, 2) == 0x1p-149);
    assert_true(signbit(cli_array_get(&array, 3)) != 0);
    cli_array_free(&array);
}

static void ranks_0_to_4_and_empty_axes_are_made(void **state) {
    fixture *f = *state;
    static const struct {
        const char *spec;
        int rank;
        int64_t extent[4], count;
    } rows[] = {{"ones:", 0, {0}, 1},          {"ones:3", 1, {3}, 3},
                {"ones:2x0", 2, {2, 0}, 0},    {"randn:0:f16", 1, {0}, 0},
                {"special:4x0", 2, {4, 0}, 0}, {"special:", 0, {0}, 1},
                {"arange:0:i8", 1, {0}, 0},    {"ones:2x3x4x5", 4, {2, 3, 4, 5}, 120}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array = generate(f, rows[i].spec, "x", 0);
        assert_int_equal(array.rank, rows[i].rank);
        assert_memory_equal(array.extent, rows[i].extent, sizeof array.extent);
        assert_int_equal(array.count, rows[i].count);
        cli_array_free(&array);
    }
}

static void the_type_is_the_specs_else_the_parameters_else_the_forms(void **state) {
    fixture *f = *state;
    static const base_dtype wanted[] = {BASE_F16, BASE_I32};
    static const struct {
        const char *spec;
        const base_dtype *wanted;
        base_dtype dtype;
    } rows[] = {{"ones:2", NULL, BASE_F32},
                {"ones:2", &wanted[0], BASE_F16},
                {"ones:2:bf16", &wanted[0], BASE_BF16},
                {"randint:2:0:3", NULL, BASE_I64},
                {"randint:2:0:3", &wanted[1], BASE_I32},
                {"randint:2:0:3:u8", &wanted[1], BASE_U8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array;
        assert_true(cli_generate(rows[i].spec, "x", 0, rows[i].wanted, &array, &f->diagnostics));
        assert_int_equal(array.dtype, rows[i].dtype);
        cli_array_free(&array);
    }
}

static void magnitudes_span_the_range_with_both_signs(void **state) {
    fixture *f = *state;
    static const struct {
        const char *spec;
        double low, high;
    } rows[] = {{"magnitudes:4x250", 1e-30, 1e30},
                {"magnitudes:1000:bf16", 1e-30, 1e30},
                {"magnitudes:1000:f16", 1e-7, 6e4}};
    for (int r = 0; r < 3; r++) {
        cli_array array = generate(f, rows[r].spec, "x", 1);
        double low = INFINITY, high = 0;
        int negative = 0;
        for (int64_t i = 0; i < array.count; i++) {
            double value = cli_array_get(&array, i);
            low = fmin(low, fabs(value));
            high = fmax(high, fabs(value));
            negative += value < 0;
        }
        assert_true(low >= rows[r].low * 0.8 && low < rows[r].low * 10);
        assert_true(high <= rows[r].high * 1.01 && high > rows[r].high / 10);
        assert_true(negative > 400 && negative < 600);
        cli_array_free(&array);
    }
}

typedef struct row_counts {
    int nan, positive_inf, negative_inf, zero, negative_zero, subnormal, largest, other;
} row_counts;

static row_counts count_row(const cli_array *array, int64_t row, double largest, double normal) {
    row_counts c = {0};
    for (int64_t i = 0; i < array->extent[1]; i++) {
        double v = cli_array_get(array, row * array->extent[1] + i);
        if (isnan(v))
            c.nan++;
        else if (isinf(v))
            *(v > 0 ? &c.positive_inf : &c.negative_inf) += 1;
        else if (v == 0)
            *(signbit(v) ? &c.negative_zero : &c.zero) += 1;
        else if (fabs(v) < normal)
            c.subnormal++;
        else if (fabs(v) == largest)
            c.largest++;
        else
            c.other++;
    }
    return c;
}

static void special_rows_are_of_the_promised_kinds(void **state) {
    fixture *f = *state;
    static const struct {
        const char *spec;
        double largest, normal;
    } types[] = {{"special:24x40", 0x1.fffffep127, 0x1p-126},
                 {"special:24x40:f16", 65504, 0x1p-14},
                 {"special:24x40:bf16", 0x1.fep127, 0x1p-126}};
    for (int t = 0; t < 3; t++) {
        cli_array a = generate(f, types[t].spec, "x", 5);
        for (int64_t base = 0; base < 24; base += 12) {
            row_counts c[12];
            for (int64_t k = 0; k < 12; k++)
                c[k] = count_row(&a, base + k, types[t].largest, types[t].normal);
            assert_int_equal(c[0].other, 40);
            assert_true(c[1].nan == 1 && c[1].other == 39);
            assert_true(c[2].positive_inf == 1 && c[2].other == 39);
            assert_true(c[3].negative_inf == 1 && c[3].other == 39);
            assert_true(c[4].positive_inf == 1 && c[4].negative_inf == 1 && c[4].other == 38);
            assert_int_equal(c[5].negative_inf, 40);
            for (int64_t i = 0; i < 40; i++)
                assert_true(cli_array_get(&a, (base + 6) * 40 + i) ==
                            cli_array_get(&a, (base + 6) * 40));
            assert_true(c[7].zero > 5 && c[7].negative_zero > 5 &&
                        c[7].zero + c[7].negative_zero == 40);
            assert_int_equal(c[8].subnormal, 40);
            assert_int_equal(c[9].largest, 40);
        }
        cli_array_free(&a);
    }
}

static void unusable_specs_are_refused_by_name(void **state) {
    fixture *f = *state;
    static const struct {
        const char *slug, *spec;
    } rows[] = {
        {"generate-form", "rnadn:4x8"},
        {"generate-form", ":4x8"},
        {"generate-form", ""},
        {"generate-shape", "randn"},
        {"generate-shape", "randn:4xx8"},
        {"generate-shape", "randn:4x"},
        {"generate-shape", "randn:x"},
        {"generate-shape", "randn:4,8"},
        {"generate-shape", "randn:-4x8"},
        {"generate-shape", "randn: 4"},
        {"generate-shape", "randn:f32"},
        {"generate-shape", "randn:1x2x3x4x5"},
        {"generate-shape", "randn:99999999999999999999"},
        {"array-shape", "zeros:4294967296x4294967296"},
        {"array-shape", "zeros:0x4294967296x4294967296"},
        {"array-memory", "zeros:1000000000000000"},
        {"generate-argument", "randn:4:a"},
        {"generate-argument", "randn:4:nan"},
        {"generate-argument", "randn:4:1:2:3"},
        {"generate-argument", "randn:4:f31"},
        {"generate-argument", "randn:4:1:2:3:4:5:6:7:8:9"},
        {"generate-argument", "ones:4:1"},
        {"generate-argument", "const:4"},
        {"generate-argument", "const:4:"},
        {"generate-argument", "const:4:1,,2"},
        {"generate-argument", "const:4:1.5:i32"},
        {"generate-argument", "const:4:256:u8"},
        {"generate-argument", "const:4:2:bool"},
        {"generate-argument", "uniform:4:1:1"},
        {"generate-argument", "uniform:4:0:inf"},
        {"generate-argument", "randint:4:0"},
        {"generate-argument", "randint:4:0:0"},
        {"generate-argument", "randint:4:3:-3"},
        {"generate-argument", "randint:4:0:257:u8"},
        {"generate-argument", "randint:4:0:9223372036854775808"},
        {"generate-argument", "randint:4:0.5:2"},
        {"generate-dtype", "randn:4:i32"},
        {"generate-dtype", "special:4:bool"},
        {"generate-dtype", "ones:4:index"},
        {"generate-dtype", "arange:300:u8"},
        {"generate-dtype", "arange:3:bool"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array;
        base_diagnostics_init(&f->diagnostics, &f->arena);
        assert_false(cli_generate(rows[i].spec, "x", 0, NULL, &array, &f->diagnostics));
        assert_null(array.data);
        assert_int_equal(f->diagnostics.count, 1);
        assert_string_equal(f->diagnostics.items[0].slug, rows[i].slug);
        assert_non_null(f->diagnostics.items[0].found);
    }
}

static void a_long_spec_is_refused_with_a_short_message(void **state) {
    fixture *f = *state;
    static char spec[1000000];
    cli_array array;
    memset(spec, 'a', sizeof spec - 1);
    assert_false(cli_generate(spec, "x", 0, NULL, &array, &f->diagnostics));
    assert_true(strlen(f->diagnostics.items[0].message) < 300);
    assert_true(strlen(f->diagnostics.items[0].found) < 300);
}

static void specs_are_told_from_files(void **state) {
    (void)state;
    static const char *const specs[] = {"randn:4x8", "rnadn:4", "ones:", "zeros:2:f32"};
    static const char *const files[] = {"in.npy", "a/randn:4", "randn",     "4:5",    "",
                                        "-",      "x:y.npy",   "./randn:4", "RANDN:4"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
        assert_true(cli_generate_is_spec(specs[i]));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        assert_false(cli_generate_is_spec(files[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(values_are_those_of_the_documented_generator),
        TEST(seed_and_name_each_make_another_stream),
        TEST(randn_is_normal_with_its_mean_and_deviation),
        TEST(randint_reaches_both_ends_and_nothing_else),
        TEST(plain_forms_give_their_values_in_every_type),
        TEST(const_repeats_its_values),
        TEST(ranks_0_to_4_and_empty_axes_are_made),
        TEST(the_type_is_the_specs_else_the_parameters_else_the_forms),
        TEST(magnitudes_span_the_range_with_both_signs),
        TEST(special_rows_are_of_the_promised_kinds),
        TEST(unusable_specs_are_refused_by_name),
        TEST(a_long_spec_is_refused_with_a_short_message),
        TEST(specs_are_told_from_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
