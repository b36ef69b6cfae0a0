/* Axis classes: what is equated, what is merged, what they are called. */
#include "tile_fixture.h"

#include "analysis/axes.h"

static void one_extent_is_one_axis(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *w = fixture_tensor(&f, "w", IR_IN, BASE_F32, 1, "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, "t");
    ir_value *m = fixture_reduce(&f, IR_MONOID_MAX, t, 0, NULL);
    ir_value *d = ir_build_binary(&f.builder, IR_SUB, t, m);
    ir_value *v = fixture_load_at(&f, w, NULL, "v");
    ir_op *store = fixture_store(&f, y, d);
    ir_op *other = fixture_store(&f, y, m); /* a scalar fills the row */
    analysis_axes axes = analysis_axes_find(&f.arena, f.module);
    assert_int_equal(axes.count, 2);
    assert_string_equal(axes.axes[0].anchor, "row");
    assert_true(axes.axes[0].is_program);
    assert_string_equal(axes.axes[1].anchor, "N");
    assert_int_equal(axes.of_value[t->number][0], 1);
    assert_int_equal(axes.of_value[d->number][0], 1);
    assert_int_equal(axes.of_value[v->number][0], 1); /* merged: nothing equates it with t */
    assert_int_equal(axes.of_value[m->number][0], -1);
    assert_int_equal(axes.of_value[x->number][0], -1);
    assert_int_equal(analysis_axes_of_store(&axes, store)->axis[0], 1);
    assert_int_equal(analysis_axes_of_store(&axes, other)->axis[0], 1);
    int space[IR_MAX_RANK];
    assert_int_equal(analysis_axes_space(&axes, m->definer, space), 1);
    assert_int_equal(space[0], 1);
    assert_null(axes.doubled);
    fixture_close(&f);
}

static void a_matrix_keeps_two_axes_of_one_extent_apart(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 3, "R", "N", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 3, "R", "N", "N");
    ir_value *w = fixture_tensor(&f, "w", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *v = fixture_expand(&f, fixture_load(&f, w, NULL), 0); /* [1, N] */
    ir_value *p = ir_build_binary(&f.builder, IR_MUL, t, v);
    fixture_store(&f, y, p);
    analysis_axes axes = analysis_axes_find(&f.arena, f.module);
    assert_int_equal(axes.count, 3);
    assert_string_equal(axes.axes[1].anchor, "N");
    assert_string_equal(axes.axes[2].anchor, "N.1");
    assert_int_equal(axes.of_value[p->number][0], 1);
    assert_int_equal(axes.of_value[p->number][1], 2);
    assert_int_equal(axes.of_value[v->number][0], -1);
    assert_int_equal(axes.of_value[v->number][1], 2);
    assert_null(axes.doubled);
    fixture_close(&f);
}

static void an_outer_product_with_itself_is_reported(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    ir_value *p =
        ir_build_binary(&f.builder, IR_MUL, fixture_expand(&f, t, 0), fixture_expand(&f, t, 1));
    analysis_axes axes = analysis_axes_find(&f.arena, f.module);
    assert_ptr_equal(axes.doubled, p);
    fixture_close(&f);
}

static void formulas_and_constants_are_numbered(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    f.module->programs[0].step = 4;
    ir_value *i = fixture_arange(&f, "64");
    ir_value *j = fixture_arange(&f, "32");
    ir_value *k = fixture_arange(&f, "64");
    ir_value *one = fixture_arange(&f, "1");
    analysis_axes axes = analysis_axes_find(&f.arena, f.module);
    assert_int_equal(axes.count, 3);
    assert_string_equal(axes.axes[1].anchor, "axis.0");
    assert_string_equal(axes.axes[2].anchor, "axis.1");
    assert_int_equal(axes.of_value[i->number][0], 1);
    assert_int_equal(axes.of_value[j->number][0], 2);
    assert_int_equal(axes.of_value[k->number][0], 1);
    assert_int_equal(axes.of_value[one->number][0], -1);
    base_text text;
    base_text_init(&text, &f.arena);
    layout_extent_print(&text, &f.module->extents, axes.axes[0].extent);
    assert_string_equal(text.bytes, "(R + 3) // 4");
    fixture_close(&f);
}

static void carries_are_mapped_alike(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "128");
    ir_value *z = fixture_tensor(&f, "z", IR_IN, BASE_F32, 2, "R", "K");
    ir_value *start = fixture_load(&f, x, NULL);
    ir_value *hi = ir_build_size(&f.builder, fixture_extent(&f, "K"));
    ir_op *loop = fixture_for(&f, hi, 1, &start);
    ir_value *acc = loop->regions[0]->arguments[1];
    ir_value *next = ir_build_binary(&f.builder, IR_ADD, acc, acc);
    fixture_end_for(&f, loop, 1, &next);
    ir_value *u = fixture_load(&f, z, NULL);
    analysis_axes axes = analysis_axes_find(&f.arena, f.module);
    int axis = axes.of_value[start->number][0];
    assert_true(axis > 0);
    assert_int_equal(axes.of_value[acc->number][0], axis);
    assert_int_equal(axes.of_value[next->number][0], axis);
    assert_int_equal(axes.of_value[loop->results[0]->number][0], axis);
    assert_true(axes.of_value[u->number][0] != axis);
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_extent_is_one_axis),
        cmocka_unit_test(a_matrix_keeps_two_axes_of_one_extent_apart),
        cmocka_unit_test(an_outer_product_with_itself_is_reported),
        cmocka_unit_test(formulas_and_constants_are_numbered),
        cmocka_unit_test(carries_are_mapped_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
