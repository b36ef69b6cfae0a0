/* The FP64 reference: domains, loads and stores, gathers and faults, loops and branches, programs,
 * and the memory of a run. */
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

/* ---- domains ---- */

/* x = 1 2 3 4 5 and x[2 : +4] has three elements inside; what lies outside never counts. */
static void reductions_act_on_exactly_the_domain(void **state) {
    (void)state;
    float x[5] = {1, 2, 3, 4, 5}, y[4] = {0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 5), *four = kernel_constant(&k, 4);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(four), y);
    ir_value *start = ir_build_integer(&k.b, BASE_INDEX, 2);
    ir_value *inside = ir_build_binary(&k.b, IR_SUB, ir_build_size(&k.b, N), start);
    ir_value *t = kernel_load_domain(&k, in, 1, SLOTS(range(start, four)), NULL, &inside);
    ir_value *shifted = ir_build_binary(&k.b, IR_ADD, t, ir_build_real(&k.b, BASE_F32, 10.0));
    ir_monoid monoids[3] = {IR_MONOID_SUM, IR_MONOID_MAX, IR_MONOID_PROD};
    for (int i = 0; i < 3; i++)
        kernel_store(&k, out, 1, SLOTS(at(ir_build_integer(&k.b, BASE_INDEX, i))),
                     kernel_reduce(&k, monoids[i], IR_NAN_PROPAGATE, shifted, 0));
    ir_type full = kernel_type(BASE_F32, 1, EXTENTS(four));
    ir_value *padded = kernel_shaped(
        &k, IR_PAD, 2, (ir_value *[]){t, ir_build_real(&k.b, BASE_F32, 0.5)}, full, 0);
    kernel_store(&k, out, 1, SLOTS(at(ir_build_integer(&k.b, BASE_INDEX, 3))),
                 kernel_sum(&k, padded));
    kernel_run(&k, NULL);
    const double expected[4] = {13 + 14 + 15, 15, 13 * 14 * 15, 3 + 4 + 5 + 0.5};
    for (int i = 0; i < 4; i++)
        assert_near(k.result.tensors[out].value[i], expected[i], 0.0);
    kernel_end(&k);
}

/* A tile that reaches past the tensor and claims a full domain: the poison shows. */
static void what_lies_outside_a_tensor_is_poison(void **state) {
    (void)state;
    float x[3] = {1, 2, 3}, y = 0;
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 3), *four = kernel_constant(&k, 4);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    kernel_store(&k, out, 0, NULL, kernel_sum(&k, kernel_load(&k, in, 1, SLOTS(all(four)), NULL)));
    kernel_run(&k, NULL);
    assert_true(isnan(k.result.tensors[out].value[0]));
    assert_false(k.result.tensors[out].loose[0]);
    kernel_end(&k);
}

/* A store past the end of a tensor is dropped, element by element. */
static void stores_outside_are_dropped(void **state) {
    (void)state;
    float y[5] = {0};
    int32_t where[4] = {3, -1, 5, 0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 5), *four = kernel_constant(&k, 4);
    int index = kernel_tensor(&k, "i", IR_IN, BASE_I32, 1, EXTENTS(four), where);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(N), y);
    ir_value *i = kernel_load(&k, index, 1, SLOTS(all(four)), NULL);
    ir_value *value = ir_build_cast(&k.b, kernel_arange(&k, four), BASE_F32, IR_ROUND_ZERO);
    kernel_store(&k, out, 1, SLOTS(gather(i)), value);
    kernel_run(&k, NULL);
    const sim_reference_tensor *result = &k.result.tensors[out];
    const bool written[5] = {true, false, false, true, false};
    for (int j = 0; j < 5; j++)
        assert_int_equal(result->written[j], written[j]);
    assert_near(result->value[3], 0.0, 0.0);
    assert_near(result->value[0], 3.0, 0.0);
    assert_int_equal(k.result.fault_total, 0);
    kernel_end(&k);
}

/* ---- gathers ---- */

static void cross_entropy_rows(bool fill_declared, kernel *k, float *loss) {
    static float logits[3][4] = {{1, 2, 3, 4}, {0.5f, -1, 0, 2}, {9, 8, 7, 6}};
    static int32_t labels[3] = {2, -100, 4};
    kernel_begin(k);
    const layout_extent *R = kernel_size(k, "R", 3), *N = kernel_size(k, "N", 4);
    ir_value *row = kernel_program(k, "row", R, 1);
    int x = kernel_tensor(k, "logits", IR_IN, BASE_F32, 2, EXTENTS(R, N), logits);
    int label = kernel_tensor(k, "label", IR_IN, BASE_I32, 1, EXTENTS(R), labels);
    int out = kernel_tensor(k, "loss", IR_OUT, BASE_F32, 1, EXTENTS(R), loss);
    ir_value *l = kernel_load(k, label, 1, SLOTS(at(row)), NULL);
    ir_value *fill = fill_declared ? ir_build_real(&k->b, BASE_F32, 0.25) : NULL;
    ir_value *picked = kernel_load(k, x, 2, SLOTS(at(row), at(l)), fill);
    ir_value *e = ir_build_unary(&k->b, IR_EXP, kernel_load(k, x, 2, SLOTS(at(row), all(N)), NULL));
    ir_value *log_sum = ir_build_unary(&k->b, IR_LOG, kernel_sum(k, e));
    kernel_store(k, out, 1, SLOTS(at(row)), ir_build_binary(&k->b, IR_SUB, log_sum, picked));
    kernel_run(k, NULL);
}

static void a_gather_outside_reads_its_fill(void **state) {
    (void)state;
    float loss[3];
    kernel k;
    cross_entropy_rows(true, &k, loss);
    const double *value = k.result.tensors[2].value;
    assert_near(value[0], log(exp(1) + exp(2) + exp(3) + exp(4)) - 3.0, 1e-14);
    assert_near(value[1], log(exp(0.5) + exp(-1) + exp(0) + exp(2)) - 0.25, 1e-14);
    assert_near(value[2], log(exp(9) + exp(8) + exp(7) + exp(6)) - 0.25, 1e-14);
    assert_int_equal(k.result.fault_total, 0);
    kernel_end(&k);
}

static void a_gather_outside_without_fill_is_a_fault(void **state) {
    (void)state;
    float loss[3];
    kernel k;
    cross_entropy_rows(false, &k, loss);
    assert_near(k.result.tensors[2].value[1], log(exp(0.5) + exp(-1) + exp(0) + exp(2)), 1e-14);
    assert_int_equal(k.result.fault_total, 2);
    assert_int_equal(k.result.fault_count, 2);
    const sim_fault *fault = &k.result.faults[0];
    assert_string_equal(fault->tensor, "logits");
    assert_int_equal(fault->dimension, 1);
    assert_int_equal(fault->index, -100);
    assert_int_equal(fault->extent, 4);
    assert_int_equal(fault->program[0], 1);
    assert_int_equal(k.result.faults[1].index, 4);
    assert_int_equal(k.result.faults[1].program[0], 2);
    kernel_end(&k);
}

/* y[j, i] = x[i, j] with i = n // 3, j = n % 3. */
static void index_arithmetic_transposes(void **state) {
    (void)state;
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, y[3][2] = {{0}};
    kernel k;
    kernel_begin(&k);
    const layout_extent *two = kernel_constant(&k, 2), *three = kernel_constant(&k, 3);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 2, EXTENTS(two, three), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 2, EXTENTS(three, two), y);
    ir_value *n = kernel_arange(&k, kernel_constant(&k, 6));
    ir_value *width = ir_build_integer(&k.b, BASE_INDEX, 3);
    ir_value *i = ir_build_binary(&k.b, IR_FLOOR_DIV, n, width);
    ir_value *j = ir_build_binary(&k.b, IR_FLOOR_MOD, n, width);
    kernel_store(&k, out, 2, SLOTS(gather(j), gather(i)),
                 kernel_load(&k, in, 2, SLOTS(gather(i), gather(j)), NULL));
    kernel_run(&k, NULL);
    const double expected[6] = {1, 4, 2, 5, 3, 6};
    for (int e = 0; e < 6; e++)
        assert_near(k.result.tensors[out].value[e], expected[e], 0.0);
    kernel_end(&k);
}

/* ---- control ---- */

/* The sum of a row in blocks of 2, carried; N = 5, and 0 trips leave the first carry. */
static double sum_in_blocks(int64_t width) {
    float x[5] = {1, 2, 3, 4, 5}, y = 0;
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", width), *two = kernel_constant(&k, 2);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 0, NULL, &y);
    ir_value *zero = ir_build_integer(&k.b, BASE_INDEX, 0), *size = ir_build_size(&k.b, N);
    ir_value *step = ir_build_integer(&k.b, BASE_INDEX, 2);
    ir_value *first = ir_build_real(&k.b, BASE_F32, 100.0);
    ir_type scalar = ir_type_scalar(BASE_F32);
    ir_op *loop =
        ir_build_op(&k.b, IR_FOR, 4, (ir_value *[]){zero, size, step, first}, 1, &scalar, 1);
    ir_region *body = loop->regions[0];
    ir_value *i = ir_region_add_argument(k.module, body, ir_type_scalar(BASE_INDEX), "i");
    ir_value *carry = ir_region_add_argument(k.module, body, scalar, "carry");
    ir_region *outer = k.b.region;
    k.b.region = body;
    ir_value *inside = ir_build_binary(&k.b, IR_SUB, size, i);
    ir_value *t = kernel_load_domain(&k, in, 1, SLOTS(range(i, two)), NULL, &inside);
    ir_value *next = ir_build_binary(&k.b, IR_ADD, carry, kernel_sum(&k, t));
    ir_build_yield(&k.b, 1, &next);
    k.b.region = outer;
    kernel_store(&k, out, 0, NULL, loop->results[0]);
    kernel_run(&k, NULL);
    double total = k.result.tensors[out].value[0];
    kernel_end(&k);
    return total;
}

static void loops_carry_values_for_any_trip_count(void **state) {
    (void)state;
    assert_near(sum_in_blocks(0), 100.0, 0.0);
    assert_near(sum_in_blocks(1), 101.0, 0.0);
    assert_near(sum_in_blocks(4), 110.0, 0.0);
    assert_near(sum_in_blocks(5), 115.0, 0.0);
}

/* Both carries change places each turn: neither may see the other's new value. */
static void carries_are_assigned_at_once(void **state) {
    (void)state;
    float y[2] = {0};
    kernel k;
    kernel_begin(&k);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(kernel_constant(&k, 2)), y);
    ir_value *bound[3] = {ir_build_integer(&k.b, BASE_INDEX, 0),
                          ir_build_integer(&k.b, BASE_INDEX, 3),
                          ir_build_integer(&k.b, BASE_INDEX, 1)};
    ir_value *operands[5] = {bound[0], bound[1], bound[2], ir_build_real(&k.b, BASE_F32, 1.0),
                             ir_build_real(&k.b, BASE_F32, 2.0)};
    ir_type scalars[2] = {ir_type_scalar(BASE_F32), ir_type_scalar(BASE_F32)};
    ir_op *loop = ir_build_op(&k.b, IR_FOR, 5, operands, 2, scalars, 1);
    ir_region *body = loop->regions[0];
    ir_region_add_argument(k.module, body, ir_type_scalar(BASE_INDEX), "i");
    ir_value *a = ir_region_add_argument(k.module, body, scalars[0], "a");
    ir_value *b = ir_region_add_argument(k.module, body, scalars[1], "b");
    k.b.region = body;
    ir_build_yield(&k.b, 2, (ir_value *[]){b, a});
    k.b.region = &k.module->body;
    for (int i = 0; i < 2; i++)
        kernel_store(&k, out, 1, SLOTS(at(bound[i == 0 ? 0 : 2])), loop->results[i]);
    kernel_run(&k, NULL);
    assert_near(k.result.tensors[out].value[0], 2.0, 0.0);
    assert_near(k.result.tensors[out].value[1], 1.0, 0.0);
    kernel_end(&k);
}

/* Each row: x[row, 0] > 0 ? x + 1, and y is stored in the branch : x - 1. */
static void an_if_runs_one_branch(void **state) {
    (void)state;
    float x[2][1] = {{2}, {-2}}, y[2][1] = {{0}}, z[2] = {0};
    rows r;
    rows_begin(&r, 2, 1, BASE_F32, x, BASE_F32, y);
    kernel *k = &r.k;
    int side = kernel_tensor(k, "z", IR_OUT, BASE_F32, 1, EXTENTS(r.R), z);
    ir_value *zero = ir_build_integer(&k->b, BASE_INDEX, 0);
    ir_value *t = kernel_load(k, r.x, 2, SLOTS(at(r.row), at(zero)), NULL);
    ir_value *positive = ir_build_binary(&k->b, IR_LT, ir_build_real(&k->b, BASE_F32, 0.0), t);
    ir_value *one = ir_build_real(&k->b, BASE_F32, 1.0);
    ir_type scalar = ir_type_scalar(BASE_F32);
    ir_op *choice = ir_build_op(&k->b, IR_IF, 1, &positive, 1, &scalar, 2);
    for (int branch = 0; branch < 2; branch++) {
        k->b.region = choice->regions[branch];
        ir_value *result = ir_build_binary(&k->b, branch == 0 ? IR_ADD : IR_SUB, t, one);
        if (branch == 0)
            kernel_store(k, side, 1, SLOTS(at(r.row)), result);
        ir_build_yield(&k->b, 1, &result);
    }
    k->b.region = &k->module->body;
    kernel_store(k, r.y, 2, SLOTS(at(r.row), at(zero)), choice->results[0]);
    const sim_reference_tensor *out = rows_run(&r);
    assert_near(out->value[0], 3.0, 0.0);
    assert_near(out->value[1], -3.0, 0.0);
    assert_true(k->result.tensors[side].written[0]);
    assert_false(k->result.tensors[side].written[1]);
    kernel_end(k);
}

/* ---- memory ---- */

/* y += x, then y read again: the second load sees the store, in the tensor's type. */
static void loads_see_earlier_stores(void **state) {
    (void)state;
    uint16_t y[2] = {base_f16_from_double(1.0), base_f16_from_double(2.0)};
    float z[2] = {0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 2);
    int both = kernel_tensor(&k, "y", IR_INOUT, BASE_F16, 1, EXTENTS(N), y);
    int out = kernel_tensor(&k, "z", IR_OUT, BASE_F32, 1, EXTENTS(N), z);
    ir_value *t =
        ir_build_cast(&k.b, kernel_load(&k, both, 1, SLOTS(all(N)), NULL), BASE_F32, IR_ROUND_EVEN);
    ir_value *large = ir_build_binary(&k.b, IR_MUL, t, ir_build_real(&k.b, BASE_F32, 40000.0));
    kernel_store(&k, both, 1, SLOTS(all(N)), ir_build_cast(&k.b, large, BASE_F16, IR_ROUND_EVEN));
    kernel_store(&k, out, 1, SLOTS(all(N)),
                 ir_build_cast(&k.b, kernel_load(&k, both, 1, SLOTS(all(N)), NULL), BASE_F32,
                               IR_ROUND_EVEN));
    kernel_run(&k, NULL);
    assert_near(k.result.tensors[out].value[0], 40000.0, 0.0);
    assert_true(k.result.tensors[out].value[1] == INFINITY);
    assert_true(k.result.tensors[both].value[1] == INFINITY); /* the range of the type */
    kernel_end(&k);
}

static void any_stride_is_followed(void **state) {
    (void)state;
    float x[8] = {0, 1, 2, 3, 4, 5, 6, 7}, y[6] = {0};
    rows r;
    rows_begin(&r, 2, 3, BASE_F32, x + 7, BASE_F32, y);
    r.k.tensors[r.x].stride[0] = -4;
    r.k.tensors[r.x].stride[1] = -1;
    rows_store(&r, rows_load(&r));
    const sim_reference_tensor *out = rows_run(&r);
    const double expected[6] = {7, 6, 5, 3, 2, 1};
    for (int i = 0; i < 6; i++)
        assert_near(out->value[i], expected[i], 0.0);
    kernel_end(&r.k);
}

/* program i: N step 2, row: R: blocks of two columns, the last one cut at N = 5. */
static void programs_step_and_nest(void **state) {
    (void)state;
    float x[2][5], y[2][5] = {{0}};
    for (int i = 0; i < 10; i++)
        x[i / 5][i % 5] = (float)i;
    kernel k;
    kernel_begin(&k);
    const layout_extent *R = kernel_size(&k, "R", 2), *N = kernel_size(&k, "N", 5);
    const layout_extent *two = kernel_constant(&k, 2);
    ir_value *i = kernel_program(&k, "i", N, 2), *row = kernel_program(&k, "row", R, 1);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 2, EXTENTS(R, N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 2, EXTENTS(R, N), y);
    ir_value *inside = ir_build_binary(&k.b, IR_SUB, ir_build_size(&k.b, N), i);
    ir_value *t = kernel_load_domain(&k, in, 2, SLOTS(at(row), range(i, two)), NULL, &inside);
    kernel_store(&k, out, 2, SLOTS(at(row), range(i, two)), ir_build_binary(&k.b, IR_ADD, t, t));
    kernel_run(&k, NULL);
    for (int e = 0; e < 10; e++)
        assert_near(k.result.tensors[out].value[e], 2.0 * e, 0.0);
    kernel_end(&k);
}

/* A counting allocator: the memory of a run is the outputs and one program's tiles. */
static void *count_bytes(void *context, void *memory, size_t old_size, size_t new_size) {
    (void)old_size;
    *(size_t *)context += new_size;
    if (new_size == 0) {
        free(memory);
        return NULL;
    }
    return realloc(memory, new_size);
}

static size_t bytes_of_run(int64_t row_count) {
    size_t bytes = 0;
    float *x = calloc((size_t)row_count * 2048, sizeof(float)),
          *y = calloc((size_t)row_count, sizeof(float));
    kernel k;
    kernel_begin(&k);
    const layout_extent *R = kernel_size(&k, "R", row_count), *N = kernel_size(&k, "N", 2048);
    ir_value *row = kernel_program(&k, "row", R, 1);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 2, EXTENTS(R, N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(R), y);
    ir_value *t = kernel_load(&k, in, 2, SLOTS(at(row), all(N)), NULL);
    kernel_store(&k, out, 1, SLOTS(at(row)), kernel_sum(&k, ir_build_unary(&k.b, IR_EXP, t)));
    base_arena counted;
    base_arena_init(&counted, (base_allocator){count_bytes, &bytes}, &k.exhausted);
    sim_reference_run(&counted, k.module, NULL, k.sizes, k.tensors, k.scalars, &k.result);
    base_arena_free(&counted);
    kernel_end(&k);
    free(x);
    free(y);
    return bytes;
}

static void memory_does_not_grow_with_the_programs(void **state) {
    (void)state;
    size_t few = bytes_of_run(2), many = bytes_of_run(200);
    assert_true(many - few < 200 * 40);
}

static void no_programs_and_no_columns_work(void **state) {
    (void)state;
    float x[3] = {1, 2, 3}, y[3] = {0};
    rows r;
    rows_begin(&r, 0, 3, BASE_F32, x, BASE_F32, y);
    rows_store(&r, rows_load(&r));
    assert_int_equal(rows_run(&r)->count, 0);
    kernel_end(&r.k);
    rows_begin(&r, 3, 0, BASE_F32, x, BASE_F32, y);
    rows_store(&r, rows_load(&r));
    assert_int_equal(rows_run(&r)->count, 0);
    kernel_end(&r.k);
}

/* Indices outside the domain of their tile are not followed: no fault, no cell. */
static void poisoned_indices_are_not_followed(void **state) {
    (void)state;
    int32_t where[3] = {2, 0, 1};
    float x[3] = {10, 20, 30}, y[4] = {0};
    kernel k;
    kernel_begin(&k);
    const layout_extent *N = kernel_size(&k, "N", 3), *four = kernel_constant(&k, 4);
    int index = kernel_tensor(&k, "i", IR_IN, BASE_I32, 1, EXTENTS(N), where);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 1, EXTENTS(N), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(four), y);
    ir_value *inside = ir_build_size(&k.b, N);
    ir_value *i = kernel_load_domain(&k, index, 1, SLOTS(all(four)), NULL, &inside);
    kernel_store(&k, out, 1, SLOTS(gather(i)), kernel_load(&k, in, 1, SLOTS(gather(i)), NULL));
    kernel_run(&k, NULL);
    const sim_reference_tensor *result = &k.result.tensors[out];
    for (int j = 0; j < 3; j++)
        assert_near(result->value[j], (double)x[j], 0.0);
    assert_false(result->written[3]);
    assert_int_equal(k.result.fault_total, 0);
    kernel_end(&k);
}

/* x[2, 3, 4, 5] of which a [2, 2, 4, 3] slice from (0, 2, 0, 3) has 1 and 2 inside on axes 1, 3. */
static void four_axes_and_two_domains(void **state) {
    (void)state;
    float x[2][3][4][5], y[2] = {0};
    for (int e = 0; e < 120; e++)
        (&x[0][0][0][0])[e] = (float)e;
    kernel k;
    kernel_begin(&k);
    const layout_extent *e[6];
    for (int i = 0; i < 6; i++)
        e[i] = kernel_constant(&k, i);
    int in = kernel_tensor(&k, "x", IR_IN, BASE_F32, 4, EXTENTS(e[2], e[3], e[4], e[5]), x);
    int out = kernel_tensor(&k, "y", IR_OUT, BASE_F32, 1, EXTENTS(e[2]), y);
    ir_value *two = ir_build_integer(&k.b, BASE_INDEX, 2);
    ir_value *three = ir_build_integer(&k.b, BASE_INDEX, 3);
    ir_value *one = ir_build_integer(&k.b, BASE_INDEX, 1);
    ir_value *domain[4] = {NULL, one, NULL, two};
    ir_value *t = kernel_load_domain(
        &k, in, 4, SLOTS(all(e[2]), range(two, e[2]), all(e[4]), range(three, e[3])), NULL, domain);
    for (int axis = 3; axis > 0; axis--)
        t = kernel_reduce(&k, IR_MONOID_SUM, IR_NAN_PROPAGATE, t, axis);
    for (int axis = 3; axis > 0; axis--) {
        ir_type type = t->type;
        type.rank = axis;
        t = kernel_shaped(&k, IR_DROP, 1, &t, type, axis);
    }
    kernel_store(&k, out, 1, SLOTS(all(e[2])), t);
    kernel_run(&k, NULL);
    for (int a = 0; a < 2; a++) {
        double expected = 0.0;
        for (int c = 0; c < 4; c++)
            expected += (double)x[a][2][c][3] + (double)x[a][2][c][4];
        assert_near(k.result.tensors[out].value[a], expected, 0.0);
    }
    kernel_end(&k);
}

static void check_copy(base_dtype dtype, void *x, const double *expected) {
    int64_t y[3] = {0};
    rows r;
    rows_begin(&r, 1, 3, dtype, x, dtype, y);
    rows_store(&r, rows_load(&r));
    const sim_reference_tensor *out = rows_run(&r);
    for (int i = 0; i < 3; i++)
        assert_near(base_dtype_is_float(dtype) ? out->value[i] : (double)out->integer[i],
                    expected[i], 0.0);
    kernel_end(&r.k);
}

static void every_type_is_read(void **state) {
    (void)state;
    check_copy(BASE_F32, (float[]){1.5f, -2, 0}, (double[]){1.5, -2, 0});
    check_copy(BASE_F16, (uint16_t[]){0x3c00, 0xc000, 1}, (double[]){1, -2, 0x1p-24});
    check_copy(BASE_BF16, (uint16_t[]){0x3f80, 0xc000, 1}, (double[]){1, -2, 0x1p-133});
    check_copy(BASE_I64, (int64_t[]){INT64_MIN, -1, 3}, (double[]){-0x1p63, -1, 3});
    check_copy(BASE_I32, (int32_t[]){INT32_MIN, -1, 3}, (double[]){INT32_MIN, -1, 3});
    check_copy(BASE_U32, (uint32_t[]){UINT32_MAX, 1, 3}, (double[]){UINT32_MAX, 1, 3});
    check_copy(BASE_I8, (int8_t[]){-128, -1, 3}, (double[]){-128, -1, 3});
    check_copy(BASE_U8, (uint8_t[]){255, 1, 3}, (double[]){255, 1, 3});
    check_copy(BASE_BOOL, (uint8_t[]){0, 1, 7}, (double[]){0, 1, 1});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_act_on_exactly_the_domain),
        cmocka_unit_test(what_lies_outside_a_tensor_is_poison),
        cmocka_unit_test(stores_outside_are_dropped),
        cmocka_unit_test(a_gather_outside_reads_its_fill),
        cmocka_unit_test(a_gather_outside_without_fill_is_a_fault),
        cmocka_unit_test(index_arithmetic_transposes),
        cmocka_unit_test(loops_carry_values_for_any_trip_count),
        cmocka_unit_test(carries_are_assigned_at_once),
        cmocka_unit_test(an_if_runs_one_branch),
        cmocka_unit_test(loads_see_earlier_stores),
        cmocka_unit_test(any_stride_is_followed),
        cmocka_unit_test(programs_step_and_nest),
        cmocka_unit_test(memory_does_not_grow_with_the_programs),
        cmocka_unit_test(no_programs_and_no_columns_work),
        cmocka_unit_test(poisoned_indices_are_not_followed),
        cmocka_unit_test(four_axes_and_two_domains),
        cmocka_unit_test(every_type_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
