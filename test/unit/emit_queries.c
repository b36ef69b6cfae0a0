/* The questions that emitted C answers before it runs: right numbers past 32 bits, and -1 where a
 * formula leaves 64. The kernel itself is not run. */
#include "emit_fixture.h"

enum { CELL_BYTES = 4 * 8 * 4 };

/* Sizes n, m; groups n * m; an axis of n * n * n; two private arrays of m + 7 cells of 4 slots in 8
 * lanes. */
static void make_kernel(emit_fixture *f) {
    emit_fixture_begin(f, "query", 8);
    layout_extents *pool = &f->module->extents;
    const layout_extent *n = layout_extent_symbol(pool, layout_extents_declare(pool, "n"));
    const layout_extent *m = layout_extent_symbol(pool, layout_extents_declare(pool, "m"));
    ir_value *x = emit_fixture_tensor(f, "x", BASE_F32, IR_IN, 1);
    const layout_extent *square = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, n, n);
    f->module->axis_count = 1;
    f->module->axes = BASE_NEW_ARRAY(&f->arena, ir_axis, 1);
    f->module->axes[0] = (ir_axis){
        .anchor = "n", .extent = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, square, n)};
    f->module->groups = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, n, m);
    for (int i = 0; i < 2; i++) {
        ir_type type = {.form = IR_FORM_PRIVATE, .dtype = BASE_F32, .slots = 4};
        type.extent[0] =
            layout_extent_binary(pool, LAYOUT_EXTENT_ADD, m, layout_extent_constant(pool, 7));
        ir_op *op = ir_build_op(&f->builder, IR_PRIVATE, 0, NULL, 1, &type, 0);
        op->attributes.extent = type.extent[0];
        op->results[0]->name = "cells";
        ir_value *value = emit_fixture_load_chunk(f, x, 4);
        ir_value *operands[] = {op->results[0], emit_fixture_integer(f, 0), value};
        ir_build_op(&f->builder, IR_PUSH, 3, operands, 0, NULL, 0);
    }
}

static void check_answers(void *state, const emitted *kernel) {
    (void)state;
    static const struct {
        int64_t n, m, groups, bytes;
    } rows[] = {
        {0, 0, 0, 2 * 7 * CELL_BYTES},
        {3, 5, 15, 2 * 12 * CELL_BYTES},
        {1 << 20, 1 << 20, INT64_C(1) << 40, 2 * ((INT64_C(1) << 20) + 7) * CELL_BYTES},
        {1, INT64_C(1) << 40, INT64_C(1) << 40, 2 * ((INT64_C(1) << 40) + 7) * CELL_BYTES},
        {INT64_C(1) << 21, 1, -1, 2 * 8 * CELL_BYTES}, /* the axis is 2^63 long */
        {INT64_C(1) << 33, 0, -1, 2 * 7 * CELL_BYTES},
        {2, INT64_C(1) << 62, -1, -1},
        {1, (INT64_C(1) << 55) - 7, (INT64_C(1) << 55) - 7, -1}, /* the two together are 2^63 */
        {1, (INT64_C(1) << 55) - 8, (INT64_C(1) << 55) - 8, INT64_MAX - 2 * CELL_BYTES + 1},
        {1, INT64_MAX, INT64_MAX, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int64_t words[] = {rows[i].n, rows[i].m, 0, 0};
        assert_int_equal(kernel->groups(words), rows[i].groups);
        assert_int_equal(kernel->workspace(words), rows[i].bytes);
    }
}

static void sizes_past_64_bits_are_told(void **state) {
    (void)state;
    emit_fixture f;
    make_kernel(&f);
    f.traps = true;
    f.cpu_only = true;
    emit_fixture_each(&f, check_answers, NULL);
    emit_fixture_end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_past_64_bits_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
