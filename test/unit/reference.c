/* The FP64 reference: what each op of level tile computes, with values that the test knows by other
 * means. Errors are test/unit/reference_bounds.c's. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tile_kernel.h"

#define EXTENTS(...) ((const layout_extent *[]){__VA_ARGS__})
#define SLOTS(...)   ((slot[]){__VA_ARGS__})

static void assert_near(double got, double expected, double tolerance) {
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("got %.17g, expected %.17g", got, expected);
}

/* ---- one op on one array: y = f(x) ---- */
typedef struct rows {
    kernel k;
    const layout_extent *R, *N;
    ir_value *row;
    int x, y;
} rows;

static void rows_begin(rows *r, int64_t row_count, int64_t width, base_dtype in, void *x,
                       base_dtype out, void *y) {
    kernel_begin(&r->k);
    r->R = kernel_size(&r->k, "R", row_count);
    r->N = kernel_size(&r->k, "N", width);
    r->row = kernel_program(&r->k, "row", r->R, 1);
    r->x = kernel_tensor(&r->k, "x", IR_IN, in, 2, EXTENTS(r->R, r->N), x);
    r->y = kernel_tensor(&r->k, "y", IR_OUT, out, 2, EXTENTS(r->R, r->N), y);
}

static ir_value *rows_load(rows *r) {
    return kernel_load(&r->k, r->x, 2, SLOTS(at(r->row), all(r->N)), NULL);
}

static void rows_store(rows *r, ir_value *value) {
    kernel_store(&r->k, r->y, 2, SLOTS(at(r->row), all(r->N)), value);
}

static const sim_reference_tensor *rows_run(rows *r) {
    kernel_run(&r->k, NULL);
    return &r->k.result.tensors[r->y];
}

static void softmax_is_the_definition(void **state) {
    (void)state;
    float x[2][5] = {{1.5f, -2.0f, 0.25f, 7.0f, 3.0f}, {-20.0f, -19.5f, -21.0f, -20.0f, -30.0f}};
    float y[2][5] = {{0}};
    rows r;
    rows_begin(&r, 2, 5, BASE_F32, x, BASE_F32, y);
    ir_value *t = rows_load(&r);
    ir_value *m = kernel_reduce(&r.k, IR_MONOID_MAX, IR_NAN_PROPAGATE, t, 0);
    ir_value *e = ir_build_unary(&r.k.b, IR_EXP, ir_build_binary(&r.k.b, IR_SUB, t, m));
    rows_store(&r, ir_build_binary(&r.k.b, IR_DIV, e, kernel_sum(&r.k, e)));
    const sim_reference_tensor *out = rows_run(&r);
    assert_int_equal(out->count, 10);
    for (int i = 0; i < 2; i++) {
        double total = 0.0;
        for (int j = 0; j < 5; j++)
            total += exp((double)x[i][j]);
        for (int j = 0; j < 5; j++) {
            double expected = exp((double)x[i][j]) / total;
            assert_near(out->value[i * 5 + j], expected, 1e-15 * expected);
            assert_true(out->written[i * 5 + j]);
            assert_false(out->loose[i * 5 + j]);
            assert_true(out->error[i * 5 + j] > 0.0);
            assert_true(out->error[i * 5 + j] < 1e-5 * expected);
        }
    }
    assert_true(y[0][0] == 0.0f); /* the caller's array is not touched */
    kernel_end(&r.k);
}

/* ---- conversions ---- */

static void cast_row(base_dtype from, void *x, base_dtype to, ir_rounding rounding, int64_t width,
                     const int64_t *expected) {
    int64_t y[16] = {0};
    rows r;
    rows_begin(&r, 1, width, from, x, to, y);
    rows_store(&r, ir_build_cast(&r.k.b, rows_load(&r), to, rounding));
    const sim_reference_tensor *out = rows_run(&r);
    for (int i = 0; i < width; i++) {
        if (out->integer[i] != expected[i])
            fail_msg("element %d: %lld", i, (long long)out->integer[i]);
        assert_false(out->loose[i]);
    }
    kernel_end(&r.k);
}

static void casts_to_integers_round_and_saturate(void **state) {
    (void)state;
    float x[10] = {2.5f, 3.5f, -2.5f, -0.75f, 300.0f, -129.0f, NAN, INFINITY, -INFINITY, 127.5f};
    const int64_t even[10] = {2, 4, -2, -1, 127, -128, 0, 127, -128, 127};
    const int64_t zero[10] = {2, 3, -2, 0, 127, -128, 0, 127, -128, 127};
    const int64_t unsigned_even[10] = {2, 4, 0, 0, 255, 0, 0, 255, 0, 128};
    const int64_t bools[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    cast_row(BASE_F32, x, BASE_I8, IR_ROUND_EVEN, 10, even);
    cast_row(BASE_F32, x, BASE_I8, IR_ROUND_ZERO, 10, zero);
    cast_row(BASE_F32, x, BASE_U8, IR_ROUND_EVEN, 10, unsigned_even);
    cast_row(BASE_F32, x, BASE_BOOL, IR_ROUND_ZERO, 10, bools);
    float large[4] = {3e9f, -3e9f, 9.3e18f, 2147483520.0f};
    const int64_t i32[4] = {INT32_MAX, INT32_MIN, INT32_MAX, 2147483520};
    const int64_t i64[4] = {3000000000, -3000000000, INT64_MAX, 2147483520};
    cast_row(BASE_F32, large, BASE_I32, IR_ROUND_ZERO, 4, i32);
    cast_row(BASE_F32, large, BASE_I64, IR_ROUND_ZERO, 4, i64);
}

static void casts_between_integers_wrap_or_saturate(void **state) {
    (void)state;
    int32_t x[4] = {200, -200, 127, -1};
    const int64_t wrapped[4] = {-56, 56, 127, -1};
    const int64_t saturated[4] = {127, -128, 127, -1};
    const int64_t u32[4] = {200, 4294967096, 127, 4294967295};
    cast_row(BASE_I32, x, BASE_I8, IR_ROUND_ZERO, 4, wrapped);
    cast_row(BASE_I32, x, BASE_I8, IR_ROUND_EVEN, 4, saturated);
    cast_row(BASE_I32, x, BASE_U32, IR_ROUND_ZERO, 4, u32);
}

/* f16(t) and back: 70000 is past its range, 65519 rounds into it, 1e-8 is under half the least. */
static void narrow_floats_have_their_range(void **state) {
    (void)state;
    float x[6] = {70000.0f, 65519.0f, -65520.0f, 1e-8f, 4e-8f, 1.0f};
    float y[6] = {0};
    rows r;
    rows_begin(&r, 1, 6, BASE_F32, x, BASE_F32, y);
    ir_value *narrow = ir_build_cast(&r.k.b, rows_load(&r), BASE_F16, IR_ROUND_EVEN);
    rows_store(&r, ir_build_cast(&r.k.b, narrow, BASE_F32, IR_ROUND_EVEN));
    const sim_reference_tensor *out = rows_run(&r);
    assert_true(out->value[0] == INFINITY && !out->loose[0]);
    assert_near(out->value[1], 65519.0, 0.0);
    assert_true(out->error[1] >= 15.0 && out->error[1] < 33.0);
    assert_true(out->value[2] == -INFINITY);
    assert_near(out->value[3], 0.0, 0.0);
    assert_near(out->value[4], (double)4e-8f, 0.0);
    assert_near(out->value[5], 1.0, 0.0);
    assert_near(out->error[5], 0.0, 0.0);
    kernel_end(&r.k);
}

static void values_past_the_range_of_f32_are_infinite(void **state) {
    (void)state;
    float x[4] = {1e38f, -1e38f, 1e-38f, 3e38f}, y[4] = {0};
    rows r;
    rows_begin(&r, 1, 4, BASE_F32, x, BASE_F32, y);
    ir_value *t = rows_load(&r);
    rows_store(&r, ir_build_binary(
                       &r.k.b, IR_MUL, t,
                       ir_build_binary(&r.k.b, IR_MUL, t, ir_build_real(&r.k.b, BASE_F32, 1.0))));
    const sim_reference_tensor *out = rows_run(&r);
    for (int i = 0; i < 4; i++)
        assert_true(out->value[i] == (i == 2 ? 0.0 : INFINITY) && !out->loose[i]);
    kernel_end(&r.k);
}

/* A stored value that was narrowed for the store is kept unrounded. */
static void the_rounding_of_a_store_is_not_an_error(void **state) {
    (void)state;
    float x[1] = {1.0f / 3.0f};
    uint16_t y[1] = {0};
    rows r;
    rows_begin(&r, 1, 1, BASE_F32, x, BASE_BF16, y);
    rows_store(&r, ir_build_cast(&r.k.b, rows_load(&r), BASE_BF16, IR_ROUND_EVEN));
    const sim_reference_tensor *out = rows_run(&r);
    assert_near(out->value[0], (double)x[0], 0.0);
    assert_near(out->error[0], 0.0, 0.0);
    kernel_end(&r.k);
}

/* ---- integers ---- */

static void check_integer_op(ir_opcode opcode, base_dtype dtype, int64_t a, int64_t b,
                             int64_t expected) {
    int64_t y[1] = {0};
    kernel k;
    kernel_begin(&k);
    int out = kernel_tensor(&k, "y", IR_OUT, dtype, 0, NULL, y);
    ir_value *x = ir_build_integer(&k.b, dtype, a);
    bool unary = ir_op_describe(opcode)->shape == IR_SHAPE_UNARY;
    kernel_store(&k, out, 0, NULL,
                 unary ? ir_build_unary(&k.b, opcode, x)
                       : ir_build_binary(&k.b, opcode, x, ir_build_integer(&k.b, dtype, b)));
    kernel_run(&k, NULL);
    if (k.result.tensors[out].integer[0] != expected)
        fail_msg("%s %s %lld %lld: %lld", ir_op_describe(opcode)->text, base_dtype_name(dtype),
                 (long long)a, (long long)b, (long long)k.result.tensors[out].integer[0]);
    kernel_end(&k);
}

static void integers_wrap_and_floor(void **state) {
    (void)state;
    static const struct {
        ir_opcode opcode;
        base_dtype dtype;
        int64_t a, b, expected;
    } cases[] = {
        {IR_ADD, BASE_I32, INT32_MAX, 1, INT32_MIN},
        {IR_ADD, BASE_I64, INT64_MAX, 1, INT64_MIN},
        {IR_SUB, BASE_U32, 0, 1, UINT32_MAX},
        {IR_MUL, BASE_I32, 65536, 65537, 65536},
        {IR_MUL, BASE_U32, UINT32_MAX, UINT32_MAX, 1},
        {IR_FLOOR_DIV, BASE_I32, -7, 2, -4},
        {IR_FLOOR_DIV, BASE_I32, 7, -2, -4},
        {IR_FLOOR_DIV, BASE_I32, 7, 0, 0},
        {IR_FLOOR_DIV, BASE_I32, INT32_MIN, -1, INT32_MIN},
        {IR_FLOOR_DIV, BASE_I64, INT64_MIN, -1, INT64_MIN},
        {IR_FLOOR_MOD, BASE_I32, -7, 2, 1},
        {IR_FLOOR_MOD, BASE_I32, 7, -2, -1},
        {IR_FLOOR_MOD, BASE_I32, 7, 0, 0},
        {IR_FLOOR_MOD, BASE_I64, INT64_MIN, -1, 0},
        {IR_NEG, BASE_I32, INT32_MIN, 0, INT32_MIN},
        {IR_NEG, BASE_U32, 1, 0, UINT32_MAX},
        {IR_ABS, BASE_I32, -5, 0, 5},
        {IR_ABS, BASE_I64, INT64_MIN, 0, INT64_MIN},
        {IR_ABS, BASE_U32, UINT32_MAX, 0, UINT32_MAX},
        {IR_MAXIMUM, BASE_U32, UINT32_MAX, 1, UINT32_MAX},
        {IR_MINIMUM, BASE_I32, -1, 1, -1},
        {IR_AND, BASE_I32, -1, 12, 12},
        {IR_OR, BASE_U32, 5, 10, 15},
        {IR_XOR, BASE_I32, -1, 0, -1},
        {IR_NOT, BASE_U32, 0, 0, UINT32_MAX},
        {IR_NOT, BASE_BOOL, 1, 0, 0},
        {IR_XOR, BASE_BOOL, 1, 1, 0},
        {IR_SHL, BASE_I32, 1, 31, INT32_MIN},
        {IR_SHL, BASE_I32, 3, 33, 6},
        {IR_SHL, BASE_I64, 1, 63, INT64_MIN},
        {IR_SHR, BASE_I32, -8, 1, -4},
        {IR_SHR, BASE_I32, -8, 34, -2},
        {IR_SHR, BASE_U32, UINT32_MAX, 31, 1},
        {IR_SHR, BASE_I32, 8, -31, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_integer_op(cases[i].opcode, cases[i].dtype, cases[i].a, cases[i].b,
                         cases[i].expected);
}

/* ---- choices ---- */

static double float_pair(ir_opcode opcode, float a, float b) {
    float y = 0;
    kernel k;
    kernel_begin(&k);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    ir_value *value = ir_build_binary(&k.b, opcode, ir_build_real(&k.b, BASE_F32, (double)a),
                                      ir_build_real(&k.b, BASE_F32, (double)b));
    if (value->type.dtype == BASE_BOOL)
        value = ir_build_select(&k.b, value, ir_build_real(&k.b, BASE_F32, 1.0),
                                ir_build_real(&k.b, BASE_F32, 0.0));
    kernel_store(&k, out, 0, NULL, value);
    kernel_run(&k, NULL);
    assert_false(k.result.tensors[out].loose[0]);
    double result = k.result.tensors[out].value[0];
    kernel_end(&k);
    return result;
}

static void maximum_and_minimum_propagate_nan(void **state) {
    (void)state;
    assert_true(isnan(float_pair(IR_MAXIMUM, NAN, 1.0f)));
    assert_true(isnan(float_pair(IR_MAXIMUM, 1.0f, NAN)));
    assert_true(isnan(float_pair(IR_MINIMUM, NAN, -INFINITY)));
    assert_true(isnan(float_pair(IR_MINIMUM, 1.0f, NAN)));
    assert_near(float_pair(IR_MAXIMUM, -2.0f, 1.0f), 1.0, 0.0);
    assert_near(float_pair(IR_MINIMUM, -2.0f, 1.0f), -2.0, 0.0);
    assert_true(float_pair(IR_MAXIMUM, INFINITY, 1.0f) == INFINITY);
}

static void comparisons_with_nan_are_false_but_for_ne(void **state) {
    (void)state;
    const ir_opcode opcodes[4] = {IR_LT, IR_LE, IR_EQ, IR_NE};
    for (int i = 0; i < 4; i++) {
        assert_near(float_pair(opcodes[i], NAN, 1.0f), opcodes[i] == IR_NE, 0.0);
        assert_near(float_pair(opcodes[i], 1.0f, NAN), opcodes[i] == IR_NE, 0.0);
        assert_near(float_pair(opcodes[i], 2.0f, 2.0f), opcodes[i] == IR_LE || opcodes[i] == IR_EQ,
                    0.0);
        assert_near(float_pair(opcodes[i], -INFINITY, INFINITY), opcodes[i] != IR_EQ, 0.0);
    }
}

static void infinities_and_zeros_follow_the_standard(void **state) {
    (void)state;
    assert_true(isnan(float_pair(IR_SUB, INFINITY, INFINITY)));
    assert_true(isnan(float_pair(IR_MUL, INFINITY, 0.0f)));
    assert_true(isnan(float_pair(IR_DIV, 0.0f, 0.0f)));
    assert_true(float_pair(IR_DIV, 1.0f, 0.0f) == INFINITY);
    assert_true(float_pair(IR_DIV, 1.0f, -0.0f) == -INFINITY);
    assert_true(float_pair(IR_ADD, INFINITY, -3.0f) == INFINITY);
    assert_near(float_pair(IR_DIV, 3.0f, INFINITY), 0.0, 0.0);
}

/* ---- reductions ---- */

static double reduce_row(ir_monoid monoid, ir_nan nan, int64_t width, float *x) {
    float y = 0;
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", width);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    kernel_store(&k, out, 0, NULL,
                 kernel_reduce(&k, monoid, nan, kernel_load(&k, in, 1, SLOTS(all(N)), NULL), 0));
    kernel_run(&k, NULL);
    assert_false(k.result.tensors[out].loose[0]);
    double result = k.result.tensors[out].value[0];
    kernel_end(&k);
    return result;
}

static void empty_reductions_give_the_identity(void **state) {
    (void)state;
    float x[1] = {5};
    assert_near(reduce_row(IR_MONOID_SUM, IR_NAN_PROPAGATE, 0, x), 0.0, 0.0);
    assert_near(reduce_row(IR_MONOID_PROD, IR_NAN_PROPAGATE, 0, x), 1.0, 0.0);
    assert_true(reduce_row(IR_MONOID_MAX, IR_NAN_PROPAGATE, 0, x) == -INFINITY);
    assert_true(reduce_row(IR_MONOID_MIN, IR_NAN_PROPAGATE, 0, x) == INFINITY);
}

static void reductions_follow_their_nan_policy(void **state) {
    (void)state;
    float x[4] = {2, NAN, -3, 4};
    const ir_monoid monoids[4] = {IR_MONOID_SUM, IR_MONOID_PROD, IR_MONOID_MAX, IR_MONOID_MIN};
    const double ignored[4] = {3, -24, 4, -3}, all_ignored[4] = {0, 1, -INFINITY, INFINITY};
    float nothing[2] = {NAN, NAN};
    for (int i = 0; i < 4; i++) {
        assert_true(isnan(reduce_row(monoids[i], IR_NAN_PROPAGATE, 4, x)));
        assert_near(reduce_row(monoids[i], IR_NAN_IGNORE, 4, x), ignored[i], 0.0);
        assert_true(reduce_row(monoids[i], IR_NAN_IGNORE, 2, nothing) == all_ignored[i]);
    }
}

static void reductions_of_infinities(void **state) {
    (void)state;
    float both[3] = {INFINITY, 1, -INFINITY}, one[3] = {-INFINITY, 1, 2};
    float zero[3] = {INFINITY, 0, 3}, signs[3] = {-2, INFINITY, 0.5f};
    assert_true(isnan(reduce_row(IR_MONOID_SUM, IR_NAN_PROPAGATE, 3, both)));
    assert_true(reduce_row(IR_MONOID_SUM, IR_NAN_PROPAGATE, 3, one) == -INFINITY);
    assert_true(isnan(reduce_row(IR_MONOID_PROD, IR_NAN_PROPAGATE, 3, zero)));
    assert_true(reduce_row(IR_MONOID_PROD, IR_NAN_PROPAGATE, 3, signs) == -INFINITY);
    assert_true(reduce_row(IR_MONOID_MAX, IR_NAN_PROPAGATE, 3, both) == INFINITY);
}

/* i32 sums wrap, i8 sums and bool counts are i32, any and all. */
static void integer_reductions_are_exact(void **state) {
    (void)state;
    int32_t x[3] = {INT32_MAX, 2, -7}, y[5] = {0};
    int8_t small[3] = {127, 127, 127};
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 3);
    int wide = kernel_tensor(&k, "x", IR_IN, BASE_I32, 1, EXTENTS(N), x);
    int narrow = kernel_tensor(&k, "s", IR_IN, BASE_I8, 1, EXTENTS(N), small);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_I32, 1, EXTENTS(kernel_constant(&k, 5)), y);
    ir_value *t = kernel_load(&k, wide, 1, SLOTS(all(N)), NULL);
    ir_value *s = kernel_load(&k, narrow, 1, SLOTS(all(N)), NULL);
    ir_value *positive = ir_build_binary(&k.b, IR_LT, ir_build_integer(&k.b, BASE_I32, 0), t);
    ir_value *any = kernel_reduce(&k, IR_MONOID_ANY, IR_NAN_PROPAGATE, positive, 0);
    ir_value *every = kernel_reduce(&k, IR_MONOID_ALL, IR_NAN_PROPAGATE, positive, 0);
    ir_value *results[5] = {kernel_sum(&k, t), kernel_sum(&k, s), kernel_sum(&k, positive),
                            ir_build_cast(&k.b, any, BASE_I32, IR_ROUND_ZERO),
                            ir_build_cast(&k.b, every, BASE_I32, IR_ROUND_ZERO)};
    for (int i = 0; i < 5; i++)
        kernel_store(&k, out, 1, SLOTS(at(ir_build_integer(&k.b, BASE_INDEX, i))), results[i]);
    kernel_run(&k, NULL);
    const int64_t expected[5] = {INT32_MAX - 5, 381, 2, 1, 0};
    for (int i = 0; i < 5; i++)
        assert_int_equal(k.result.tensors[out].integer[i], expected[i]);
    kernel_end(&k);
}

/* x[3, 4] reduced along either axis, expanded, broadcast back and subtracted. */
static void axes_reduce_expand_drop_and_broadcast(void **state) {
    (void)state;
    float x[3][4], y[3][4] = {{0}}, z[4] = {0};
    for (int i = 0; i < 12; i++)
        x[i / 4][i % 4] = (float)(i * i % 7);
    kernel k;
    kernel_begin(&k);
    const layout_extent *M = kernel_size(&k, "M", 3), *N = kernel_size(&k, "N", 4);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 2, EXTENTS(M, N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 2, EXTENTS(M, N), y);
    int column = kernel_tensor(&k, "z", IR_OUT, BASE_F32, 1, EXTENTS(N), z);
    ir_value *t = kernel_load(&k, in, 2, SLOTS(all(M), all(N)), NULL);
    ir_value *rows_max = kernel_reduce(&k, IR_MONOID_MAX, IR_NAN_PROPAGATE, t, 1);
    kernel_store(&k, out, 2, SLOTS(all(M), all(N)), ir_build_binary(&k.b, IR_SUB, t, rows_max));
    ir_value *columns = kernel_reduce(&k, IR_MONOID_SUM, IR_NAN_PROPAGATE, t, 0);
    ir_value *dropped =
        kernel_shaped(&k, IR_DROP, 1, &columns, kernel_type(BASE_F32, 1, EXTENTS(N)), 0);
    ir_value *first =
        kernel_load(&k, in, 2, SLOTS(all(M), at(ir_build_integer(&k.b, BASE_INDEX, 0))), NULL);
    ir_value *expanded = kernel_shaped(
        &k, IR_EXPAND, 1, &first, kernel_type(BASE_F32, 2, EXTENTS(M, kernel_constant(&k, 1))), 1);
    ir_value *spread =
        kernel_shaped(&k, IR_BROADCAST, 1, &expanded, kernel_type(BASE_F32, 2, EXTENTS(M, N)), 0);
    ir_value *spread_sum = kernel_reduce(&k, IR_MONOID_SUM, IR_NAN_PROPAGATE, spread, 0);
    ir_value *total = ir_build_binary(
        &k.b, IR_ADD, dropped,
        kernel_shaped(&k, IR_DROP, 1, &spread_sum, kernel_type(BASE_F32, 1, EXTENTS(N)), 0));
    kernel_store(&k, column, 1, SLOTS(all(N)), total);
    kernel_run(&k, NULL);
    double first_column = (double)x[0][0] + (double)x[1][0] + (double)x[2][0];
    for (int i = 0; i < 3; i++) {
        double largest = 0.0;
        for (int j = 0; j < 4; j++)
            largest = fmax(largest, (double)x[i][j]);
        for (int j = 0; j < 4; j++)
            assert_near(k.result.tensors[out].value[i * 4 + j], (double)x[i][j] - largest, 0.0);
    }
    for (int j = 0; j < 4; j++)
        assert_near(k.result.tensors[column].value[j],
                    (double)x[0][j] + (double)x[1][j] + (double)x[2][j] + first_column, 0.0);
    kernel_end(&k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_is_the_definition),
        cmocka_unit_test(casts_to_integers_round_and_saturate),
        cmocka_unit_test(casts_between_integers_wrap_or_saturate),
        cmocka_unit_test(narrow_floats_have_their_range),
        cmocka_unit_test(values_past_the_range_of_f32_are_infinite),
        cmocka_unit_test(the_rounding_of_a_store_is_not_an_error),
        cmocka_unit_test(integers_wrap_and_floor),
        cmocka_unit_test(maximum_and_minimum_propagate_nan),
        cmocka_unit_test(comparisons_with_nan_are_false_but_for_ne),
        cmocka_unit_test(infinities_and_zeros_follow_the_standard),
        cmocka_unit_test(empty_reductions_give_the_identity),
        cmocka_unit_test(reductions_follow_their_nan_policy),
        cmocka_unit_test(reductions_of_infinities),
        cmocka_unit_test(integer_reductions_are_exact),
        cmocka_unit_test(axes_reduce_expand_drop_and_broadcast),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
