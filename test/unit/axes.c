/* Axis classes: what is equated, what is merged, what they are called. */
#include "tile_fixture.h"

#include "analysis/axes.h"
#include "text/ir_parse.h"

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

/* ---- fixed owners ---- */
static const ir_module *read_module(fixture *f, const char *body) {
    base_text text;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    base_text_init(&text, &f->arena);
    base_text_format(&text,
                     "kernel @k(%%x: in f32[64], %%y: out f32[64]) level tile\n{\n"
                     "  %%t = load %%x[: 64] : f32<64>\n%s}\n",
                     body);
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){"k.ir", text.bytes, (size_t)text.length};
    const ir_module *module = text_ir_parse(&f->arena, source, &diagnostics);
    assert_non_null(module);
    return module;
}

static const ir_value *find_named(const ir_region *region, const char *name) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->name != NULL && strcmp(op->results[i]->name, name) == 0)
                return op->results[i];
        for (int k = 0; k < op->region_count; k++) {
            const ir_value *inner = find_named(op->regions[k], name);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

static void a_conversion_is_the_border_of_two_classes(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    const ir_module *m =
        read_module(&f, "  %v = convert %t layout slot 2 | lane 32 : f32<64>\n"
                        "  %o = arange 64 layout slot 2 | lane 4 | lane 8 : index<64>\n"
                        "  %p = arange 64 layout lane 32 | slot 2 : index<64>\n"
                        "  %i = arange 64 : index<64>\n"
                        "  %w = add %v, %v : f32<64>\n");
    analysis_axes axes = analysis_axes_find(&f.arena, m);
    const int *t = axes.of_value[find_named(&m->body, "t")->number];
    const int *v = axes.of_value[find_named(&m->body, "v")->number];
    const int *o = axes.of_value[find_named(&m->body, "o")->number];
    const int *p = axes.of_value[find_named(&m->body, "p")->number];
    const int *i = axes.of_value[find_named(&m->body, "i")->number];
    const int *w = axes.of_value[find_named(&m->body, "w")->number];
    assert_int_equal(axes.count, 3);
    assert_true(t[0] != v[0] && p[0] != v[0] && p[0] != t[0]);
    assert_int_equal(o[0], v[0]); /* the same function */
    assert_int_equal(w[0], v[0]); /* arithmetic keeps the owner */
    assert_int_equal(i[0], t[0]); /* free ones are merged as ever */
    assert_null(axes.axes[t[0]].fixed);
    assert_null(axes.axes[t[0]].fixed_by);
    assert_ptr_equal(axes.axes[v[0]].fixed_by, find_named(&m->body, "v"));
    assert_int_equal(axes.axes[v[0]].fixed->digits[0].holder, LAYOUT_SLOT);
    assert_ptr_equal(axes.axes[p[0]].fixed_by, find_named(&m->body, "p"));
    const ir_value *first = NULL, *second = NULL;
    assert_null(analysis_owners_conflict(&f.arena, m, &first, &second));
    fixture_close(&f);
}

static void check_conflict(const char *body, const char *first_name, const char *second_name,
                           ir_opcode where, const char *left, const char *right) {
    fixture f;
    fixture_open(&f);
    const ir_module *m = read_module(&f, body);
    const ir_value *first = NULL, *second = NULL;
    const ir_op *op = analysis_owners_conflict(&f.arena, m, &first, &second);
    assert_non_null(op);
    assert_string_equal(first->name, first_name);
    assert_string_equal(second->name, second_name);
    assert_int_equal(op->opcode, where);
    assert_string_equal(analysis_owners_operand(&f.arena, m, op, first)->name, left);
    assert_string_equal(analysis_owners_operand(&f.arena, m, op, second)->name, right);
    fixture_close(&f);
}

#define TWO_OWNERS                                                                                 \
    "  %v = convert %t layout slot 2 | lane 32 : f32<64>\n"                                        \
    "  %o = arange 64 layout lane 32 | slot 2 : index<64>\n"                                       \
    "  %w = neg %v : f32<64>\n"                                                                    \
    "  %g = load %x[gather %o] : f32<64>\n"

static void two_owners_in_one_class_are_found_where_they_meet(void **unused) {
    (void)unused;
    check_conflict(TWO_OWNERS "  %s = add %w, %g : f32<64>\n", "v", "o", IR_ADD, "w", "g");
    check_conflict(TWO_OWNERS "  store %y[gather %o], %w\n", "v", "o", IR_STORE, "w", "o");
    check_conflict(TWO_OWNERS "  %l = constant 0 : index\n  %h = constant 4 : index\n"
                              "  %n = constant 1 : index\n"
                              "  %r = for %l, %h, %n, %w : f32<64> (%k: index, %a: f32<64>) {\n"
                              "    yield %g\n  }\n",
                   "v", "o", IR_FOR, "w", "g");
    check_conflict(TWO_OWNERS "  %l = constant 0 : index\n  %h = constant 4 : index\n"
                              "  %n = constant 1 : index\n"
                              "  %r = for %l, %h, %n, %w : f32<64> (%k: index, %a: f32<64>) {\n"
                              "    %b = add %a, %g : f32<64>\n    yield %b\n  }\n",
                   "v", "o", IR_ADD, "a", "g");
    check_conflict(TWO_OWNERS "  %c = constant true : bool\n"
                              "  %r = if %c : f32<64> {\n    yield %w\n  } else {\n"
                              "    yield %g\n  }\n",
                   "v", "o", IR_IF, "w", "g");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_extent_is_one_axis),
        cmocka_unit_test(a_matrix_keeps_two_axes_of_one_extent_apart),
        cmocka_unit_test(an_outer_product_with_itself_is_reported),
        cmocka_unit_test(formulas_and_constants_are_numbered),
        cmocka_unit_test(carries_are_mapped_alike),
        cmocka_unit_test(a_conversion_is_the_border_of_two_classes),
        cmocka_unit_test(two_owners_in_one_class_are_found_where_they_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
