/* Arrays of the command: shapes that overflow, guards that notice, elements that print back. */
#include "array.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
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

static void shapes_are_counted_or_refused(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t extent[4];
        bool fits;
        int64_t count;
    } rows[] = {
        {0, {0}, true, 1},
        {1, {0}, true, 0},
        {4, {2, 3, 4, 5}, true, 120},
        {4, {2, 0, 4, 5}, true, 0},
        {2, {INT64_C(1) << 30, INT64_C(1) << 29}, true, INT64_C(1) << 59},
        {2, {INT64_C(1) << 30, INT64_C(1) << 30}, false, 0},
        {3, {0, INT64_C(1) << 40, INT64_C(1) << 40}, false, 0},
        {1, {INT64_MAX}, false, 0},
        {2, {3, -1}, false, 0},
        {2, {0, -1}, false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t count = -7;
        assert_int_equal(cli_shape_count(rows[i].rank, rows[i].extent, &count), rows[i].fits);
        assert_int_equal(count, rows[i].fits ? rows[i].count : -7);
    }
}

static void impossible_arrays_are_findings(void **state) {
    fixture *f = *state;
    cli_array array;
    assert_false(
        cli_array_create(&array, BASE_F32, 2, (int64_t[]){INT64_MAX, 2}, 0, "x", &f->diagnostics));
    assert_string_equal(f->diagnostics.items[0].slug, "array-shape");
    assert_null(array.data);
    assert_false(cli_array_create(&array, BASE_U8, 1, (int64_t[]){INT64_C(1) << 59}, 0, "x",
                                  &f->diagnostics));
    assert_string_equal(f->diagnostics.items[1].slug, "array-memory");
    assert_null(array.data);
    cli_array_free(&array);
}

static void a_write_past_either_end_is_noticed(void **state) {
    fixture *f = *state;
    static const int64_t guards[] = {1, 64, 1000};
    for (int i = 0; i < 3; i++) {
        cli_array array;
        assert_true(cli_array_create(&array, BASE_F16, 2, (int64_t[]){3, 7}, guards[i], "x",
                                     &f->diagnostics));
        unsigned char *bytes = array.data;
        assert_int_equal((uintptr_t)bytes % CLI_ARRAY_ALIGN, 0);
        assert_true(array.guard_bytes >= guards[i]);
        for (int64_t b = 0; b < array.size_bytes; b++)
            assert_int_equal(bytes[b], 0);
        cli_array_fill_unwritten(&array);
        assert_true(isnan(cli_array_get(&array, 0)));
        assert_true(isnan(cli_array_get(&array, 20)));
        const int64_t outside[] = {-1, -array.guard_bytes, array.size_bytes,
                                   array.size_bytes + array.guard_bytes - 1};
        for (int o = 0; o < 4; o++) {
            assert_true(cli_array_guards_intact(&array));
            bytes[outside[o]] ^= 1;
            assert_false(cli_array_guards_intact(&array));
            bytes[outside[o]] ^= 1;
        }
        cli_array_free(&array);
        assert_null(array.memory);
    }
}

static void unwritten_elements_are_nan_or_no_bool(void **state) {
    fixture *f = *state;
    for (int dtype = 0; dtype < BASE_DTYPE_COUNT; dtype++) {
        cli_array array;
        assert_true(cli_array_create(&array, (base_dtype)dtype, 1, (int64_t[]){2}, 0, "x",
                                     &f->diagnostics));
        cli_array_fill_unwritten(&array);
        if (base_dtype_is_float((base_dtype)dtype))
            assert_true(isnan(cli_array_get(&array, 1)));
        if (dtype == BASE_BOOL)
            assert_int_equal(cli_array_get_integer(&array, 1), 255);
        cli_array_free(&array);
    }
}

static void elements_come_back_at_the_ends_of_each_type(void **state) {
    fixture *f = *state;
    static const struct {
        base_dtype dtype;
        int64_t low, high;
    } rows[] = {{BASE_I64, INT64_MIN, INT64_MAX},  {BASE_I32, INT32_MIN, INT32_MAX},
                {BASE_U32, 0, UINT32_MAX},         {BASE_I8, INT8_MIN, INT8_MAX},
                {BASE_U8, 0, UINT8_MAX},           {BASE_BOOL, 0, 1},
                {BASE_INDEX, INT64_MIN, INT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array;
        assert_true(
            cli_array_create(&array, rows[i].dtype, 1, (int64_t[]){3}, 0, "x", &f->diagnostics));
        cli_array_set_integer(&array, 0, rows[i].low);
        cli_array_set_integer(&array, 2, rows[i].high);
        cli_array_set(&array, 1, 1.0);
        assert_true(cli_array_get_integer(&array, 0) == rows[i].low);
        assert_true(cli_array_get_integer(&array, 1) == 1);
        assert_true(cli_array_get_integer(&array, 2) == rows[i].high);
        assert_true(cli_array_get(&array, 0) == (double)rows[i].low);
        cli_array_free(&array);
    }
}

static void floats_print_as_the_shortest_text_of_their_type(void **state) {
    fixture *f = *state;
    static const struct {
        base_dtype dtype;
        double value;
        const char *text;
    } rows[] = {{BASE_F32, 0.1, "0.1"},
                {BASE_F64, 0.1, "0.1"},
                {BASE_F16, 0.1, "0.1"},
                {BASE_BF16, 0.1, "0.1"},
                {BASE_F32, 16777216.0, "16777216.0"},
                {BASE_F32, 0x1p-149, "1e-45"},
                {BASE_F16, 0x1p-24, "6e-08"},
                {BASE_F32, -0.0, "-0.0"},
                {BASE_F32, INFINITY, "inf"},
                {BASE_BF16, -INFINITY, "-inf"},
                {BASE_F16, NAN, "nan"},
                {BASE_I8, -5.0, "-5"},
                {BASE_BOOL, 1.0, "1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cli_array array;
        base_text text;
        base_text_init(&text, &f->arena);
        assert_true(cli_array_create(&array, rows[i].dtype, 0, NULL, 0, "x", &f->diagnostics));
        cli_array_set(&array, 0, rows[i].value);
        cli_array_print_element(&text, &array, 0);
        assert_string_equal(text.bytes, rows[i].text);
        cli_array_free(&array);
    }
}

static void every_f16_prints_text_that_reads_back(void **state) {
    fixture *f = *state;
    uint16_t bits = 0;
    cli_array array = {.dtype = BASE_F16, .count = 1, .size_bytes = 2, .data = &bits};
    for (uint32_t i = 0; i < 65536; i += 7) {
        base_text text;
        double value;
        base_text_init(&text, &f->arena);
        bits = (uint16_t)i;
        cli_array_print_element(&text, &array, 0);
        assert_true(base_number_parse(text.bytes, (size_t)text.length, &value));
        if (!isnan(cli_array_get(&array, 0)))
            assert_int_equal(base_f16_from_double(value), i);
    }
}

static void a_type_prints_with_its_extents(void **state) {
    fixture *f = *state;
    cli_array array = {.dtype = BASE_BF16, .rank = 3, .extent = {2, 0, 5}};
    base_text text;
    base_text_init(&text, &f->arena);
    cli_array_print_type(&text, &array);
    assert_string_equal(text.bytes, "bf16[2, 0, 5]");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(shapes_are_counted_or_refused),
        TEST(impossible_arrays_are_findings),
        TEST(a_write_past_either_end_is_noticed),
        TEST(unwritten_elements_are_nan_or_no_bool),
        TEST(elements_come_back_at_the_ends_of_each_type),
        TEST(floats_print_as_the_shortest_text_of_their_type),
        TEST(every_f16_prints_text_that_reads_back),
        TEST(a_type_prints_with_its_extents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
