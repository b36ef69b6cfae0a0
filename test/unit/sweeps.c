/* Sweeps: what shares a pass, what crosses, what may be repeated. */
#include "sweep_laws.h"

static void softmax_takes_three_passes(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *m = fixture_reduce(&f, IR_MONOID_MAX, t, 0, NULL);
    ir_value *d = ir_build_binary(&f.builder, IR_SUB, t, m);
    ir_value *e = ir_build_unary(&f.builder, IR_EXP, d);
    ir_value *s = fixture_reduce(&f, IR_MONOID_SUM, e, 0, NULL);
    ir_value *q = ir_build_binary(&f.builder, IR_DIV, e, s);
    fixture_store(&f, y, q);
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 3);
    assert_int_equal(sweep_of(&a, m), 0);
    assert_int_equal(sweep_of(&a, e), 1);
    assert_int_equal(sweep_of(&a, s), 1);
    assert_int_equal(sweep_of(&a, q), 2);
    assert_int_equal(a.sweeps.crossing_count, 2);
    assert_true(crosses(&a, t) && crosses(&a, e));
    assert_true(analysis_load_repeatable(&a.sweeps, t->definer, 1));
    assert_true(analysis_value_is_light(d));
    assert_false(analysis_value_is_light(e));
    fixture_close(&f);
}

static void independent_reductions_share_a_pass(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *z = fixture_tensor(&f, "z", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *w = fixture_tensor(&f, "w", IR_IN, BASE_F32, 1, "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *v = fixture_load_at(&f, w, NULL, NULL);
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *s = fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL);
    ir_value *d = ir_build_binary(&f.builder, IR_SUB, t, s);
    ir_value *p = ir_build_binary(&f.builder, IR_MUL, d, v);
    fixture_store(&f, y, p);
    /* last in the text, yet it needs nothing: it belongs to the first pass */
    ir_value *u = ir_build_binary(&f.builder, IR_MUL, fixture_load(&f, z, NULL), v);
    ir_value *r = fixture_reduce(&f, IR_MONOID_MIN, u, 0, NULL);
    ir_value *r2 = ir_build_binary(&f.builder, IR_ADD, r, s);
    ir_value *out = fixture_tensor(&f, "out", IR_OUT, BASE_F32, 1, "R");
    fixture_store(&f, out, r2);
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 2);
    assert_int_equal(sweep_of(&a, s), 0);
    assert_int_equal(sweep_of(&a, r), 0);
    assert_int_equal(sweep_of(&a, p), 1);
    assert_int_equal(sweep_of(&a, v), 0); /* moved to the lowest sweep that uses it */
    assert_true(crosses(&a, v));
    fixture_close(&f);
}

static void loads_stand_at_their_first_use(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *w = fixture_tensor(&f, "w", IR_IN, BASE_F32, 1, "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *v = fixture_load_at(&f, w, NULL, NULL);
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *s = fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL);
    ir_value *p = ir_build_binary(&f.builder, IR_MUL, ir_build_binary(&f.builder, IR_DIV, t, s), v);
    fixture_store(&f, y, p);
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 2);
    assert_int_equal(sweep_of(&a, v), 1);
    assert_false(crosses(&a, v));
    fixture_close(&f);
}

static void in_place_reload_stops_at_the_store(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "N");
    ir_value *out = fixture_tensor(&f, "out", IR_OUT, BASE_F32, 1, "R");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *s = fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL);
    ir_value *d = ir_build_binary(&f.builder, IR_SUB, t, s);
    fixture_store(&f, x, d); /* sweep 1 */
    ir_value *r = fixture_reduce(&f, IR_MONOID_SUM, ir_build_binary(&f.builder, IR_MUL, d, d), 0,
                                 NULL);                      /* may share it */
    ir_value *q = ir_build_binary(&f.builder, IR_MUL, t, r); /* sweep 2 */
    ir_value *z = fixture_reduce(&f, IR_MONOID_MAX, q, 0, NULL);
    fixture_store(&f, out, z);
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 3);
    assert_int_equal(sweep_of(&a, t), 0);
    assert_int_equal(sweep_of(&a, d), 1);
    assert_int_equal(sweep_of(&a, q), 2);
    assert_true(analysis_load_repeatable(&a.sweeps, t->definer, 1));
    assert_false(analysis_load_repeatable(&a.sweeps, t->definer, 2));
    fixture_close(&f);
}

static void loads_do_not_pass_stores(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *other = ir_build_integer(&f.builder, BASE_INDEX, 3);
    ir_value *before = fixture_load_at(&f, x, other, NULL); /* another row: not the same cells */
    ir_value *same = fixture_load(&f, x, NULL);
    ir_value *twice = ir_build_binary(&f.builder, IR_ADD, same, same);
    fixture_store(&f, x, twice);
    ir_value *after = fixture_load(&f, x, NULL);
    ir_value *sum = ir_build_binary(&f.builder, IR_ADD, before, after);
    fixture_store(&f, y, sum);
    analyse(&f, &a);
    check_laws(&f, &a);
    int store = sweep_of(&a, twice);
    assert_true(sweep_of(&a, before) < store);
    assert_int_equal(sweep_of(&a, same), store);
    assert_true(sweep_of(&a, after) > store);
    assert_true(crosses(&a, before));
    assert_false(analysis_load_repeatable(&a.sweeps, before->definer, sweep_of(&a, sum)));
    fixture_close(&f);
}

static void a_light_vector_joins_a_matrix_sweep(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 3, "R", "M", "N");
    ir_value *w = fixture_tensor(&f, "w", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 3, "R", "M", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *row = fixture_load(&f, w, NULL);
    ir_value *light = fixture_expand(&f, row, 0);
    ir_value *heavy = fixture_expand(&f, ir_build_unary(&f.builder, IR_EXP, row), 0);
    ir_value *p = ir_build_binary(&f.builder, IR_MUL, t, light);
    ir_value *q = ir_build_binary(&f.builder, IR_MUL, p, heavy);
    ir_value *columns = fixture_reduce(&f, IR_MONOID_SUM, q, 0, NULL);
    ir_value *rows = fixture_reduce(&f, IR_MONOID_SUM, q, 1, NULL);
    fixture_store(&f, y, ir_build_binary(&f.builder, IR_ADD, columns, rows));
    analyse(&f, &a);
    check_laws(&f, &a);
    /* exp of the vector, two orders of the matrix, the sum */
    assert_int_equal(a.sweeps.count, 4);
    assert_int_equal(sweep_of(&a, heavy), 0);
    assert_int_equal(sweep_of(&a, row), 0);
    assert_int_equal(sweep_of(&a, light), sweep_of(&a, p));
    assert_true(crosses(&a, row) && crosses(&a, heavy) && !crosses(&a, light));
    const analysis_sweep *column = &a.sweeps.sweeps[sweep_of(&a, columns)];
    const analysis_sweep *across = &a.sweeps.sweeps[sweep_of(&a, rows)];
    assert_string_equal(a.axes.axes[column->axes[0]].anchor, "N");
    assert_string_equal(a.axes.axes[column->axes[1]].anchor, "M");
    assert_int_equal(column->reduced, column->axes[1]);
    assert_string_equal(a.axes.axes[across->axes[0]].anchor, "M");
    assert_string_equal(a.axes.axes[across->axes[1]].anchor, "N");
    assert_true(crosses(&a, columns) && crosses(&a, rows));
    fixture_close(&f);
}

static void carries_and_captures_cross(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "128");
    ir_value *b = fixture_tensor(&f, "b", IR_IN, BASE_F32, 2, "K", "128");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "128");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *e = ir_build_unary(&f.builder, IR_EXP, t);
    ir_value *hi = ir_build_size(&f.builder, fixture_extent(&f, "K"));
    ir_op *loop = fixture_for(&f, hi, 1, &e);
    ir_value *k = loop->regions[0]->arguments[0], *acc = loop->regions[0]->arguments[1];
    ir_value *u = fixture_load_at(&f, b, k, NULL);
    ir_value *next =
        ir_build_binary(&f.builder, IR_ADD, acc, ir_build_binary(&f.builder, IR_MUL, u, t));
    fixture_end_for(&f, loop, 1, &next);
    fixture_store(&f, y, loop->results[0]);
    loop->anchor = "for.0";
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 3);
    assert_int_equal(sweep_of(&a, e), 0);
    assert_int_equal(sweep_of(&a, next), 2);
    assert_ptr_equal(a.sweeps.sweeps[2].region, loop->regions[0]);
    assert_int_equal(sweep_of(&a, acc), -1);
    assert_true(crosses(&a, e) && crosses(&a, acc) && crosses(&a, next) && crosses(&a, t));
    assert_true(crosses(&a, loop->results[0]));
    assert_false(crosses(&a, u));
    assert_true(analysis_load_repeatable(&a.sweeps, t->definer, 2));
    assert_string_equal(analysis_value_anchor(&f.arena, acc), "for.0.0");
    assert_string_equal(analysis_value_anchor(&f.arena, loop->results[0]), "for.0.0");
    fixture_close(&f);
}

static void a_store_in_a_loop_stops_reloads_into_it(void **unused) {
    (void)unused;
    fixture f;
    analysed a;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "128");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *hi = ir_build_size(&f.builder, fixture_extent(&f, "K"));
    ir_op *loop = fixture_for(&f, hi, 0, NULL);
    ir_value *twice = ir_build_binary(&f.builder, IR_ADD, t, t);
    fixture_store(&f, x, twice);
    fixture_end_for(&f, loop, 0, NULL);
    analyse(&f, &a);
    check_laws(&f, &a);
    assert_int_equal(a.sweeps.count, 2);
    assert_int_equal(sweep_of(&a, t), 0);
    assert_int_equal(sweep_of(&a, twice), 1);
    assert_true(crosses(&a, t));
    assert_false(analysis_load_repeatable(&a.sweeps, t->definer, 1));
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_takes_three_passes),
        cmocka_unit_test(independent_reductions_share_a_pass),
        cmocka_unit_test(loads_stand_at_their_first_use),
        cmocka_unit_test(in_place_reload_stops_at_the_store),
        cmocka_unit_test(loads_do_not_pass_stores),
        cmocka_unit_test(a_light_vector_joins_a_matrix_sweep),
        cmocka_unit_test(carries_and_captures_cross),
        cmocka_unit_test(a_store_in_a_loop_stops_reloads_into_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
