/* The two plans: digits, storage, widths, and when one is refused. */
#include "tile_fixture.h"

#include "pass/pass.h"
#include "planner/planner.h"

/* The decisions of a plan, one line each, without the first line. */
static const char *plan_on(fixture *f, const char *device, planner_family family) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_canonicalise(f->module, &context);
    ir_plan *plan =
        planner_plan(&f->arena, f->module, machine_find(device), family, false, &diagnostics);
    if (plan == NULL) {
        assert_int_equal(diagnostics.count, 1);
        return diagnostics.items[0].slug;
    }
    assert_int_equal(diagnostics.count, 0);
    assert_true(plan->canonical_hash == pass_canonical_hash(f->module));
    base_text text;
    base_text_init(&text, &f->arena);
    ir_plan_print(&text, plan);
    return strchr(text.bytes, '\n') + 1;
}

static const char *plan_of(fixture *f, planner_family family) {
    return plan_on(f, "cpu-avx2", family);
}

static void build_softmax(fixture *f) {
    ir_value *x = fixture_tensor(f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(f, x, "t");
    ir_value *d =
        ir_build_binary(&f->builder, IR_SUB, t, fixture_reduce(f, IR_MONOID_MAX, t, 0, NULL));
    ir_value *e = fixture_named(ir_build_unary(&f->builder, IR_EXP, d), "e");
    ir_value *s = fixture_reduce(f, IR_MONOID_SUM, e, 0, NULL);
    fixture_store(f, y, ir_build_binary(&f->builder, IR_DIV, e, s));
}

static void softmax_of_any_width(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    build_softmax(&f);
    assert_string_equal(plan_of(&f, PLANNER_AUTOMATIC), "axis row      group *\n"
                                                        "axis N        lane 8 | slot 4 | step *\n"
                                                        "keep t        reload\n"
                                                        "keep e        private\n"
                                                        "reduce max.0  tree\n"
                                                        "reduce sum.0  tree\n"
                                                        "access x.0    width 8\n"
                                                        "access y.0    width 8\n"
                                                        "math exp.0    portable\n");
    assert_string_equal(plan_of(&f, PLANNER_FALLBACK), "axis row      lane 8 | group *\n"
                                                       "axis N        step *\n"
                                                       "keep t        reload\n"
                                                       "keep e        private\n"
                                                       "reduce max.0  tree\n"
                                                       "reduce sum.0  tree\n"
                                                       "access x.0    width 1\n"
                                                       "access y.0    width 1\n"
                                                       "math exp.0    portable\n");
    fixture_close(&f);
}

/* The digits of N in the row plan, for each known width. */
static void known_widths_take_the_slots_they_need(void **unused) {
    (void)unused;
    static const struct {
        int64_t width;
        const char *axis, *keep;
    } rows[] = {
        {0, "axis N        lane 8\n", "keep e        registers\n"},
        {3, "axis N        lane 8\n", "keep e        registers\n"},
        {8, "axis N        lane 8\n", "keep e        registers\n"},
        {9, "axis N        lane 8 | slot 2\n", "keep e        registers\n"},
        {17, "axis N        lane 8 | slot 4\n", "keep t        registers\n"},
        {32, "axis N        lane 8 | slot 4\n", "keep e        registers\n"},
        {33, "axis N        lane 8 | slot 4 | step 2\n", "keep e        private\n"},
        {4096, "axis N        lane 8 | slot 4 | step 128\n", "keep t        reload\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        fixture_open(&f);
        build_softmax(&f);
        fixture_know(&f, "N", rows[i].width);
        const char *text = plan_of(&f, PLANNER_ROW);
        if (strstr(text, rows[i].axis) == NULL || strstr(text, rows[i].keep) == NULL)
            fail_msg("width %lld:\n%s", (long long)rows[i].width, text);
        fixture_close(&f);
    }
}

/* Where subgroups run side by side, lanes own neighbours; as many subgroups as leave a lane at most
 * four times four elements; what does not fit is walked in steps. */
static void wide_machines_spread_a_row_over_subgroups(void **unused) {
    (void)unused;
    static const struct {
        int64_t width; /* -1: runtime */
        const char *axis, *access;
    } rows[] = {
        {-1, "axis N        slot 4 | lane 32 | subgroup 8 | step *\n", "access x.0    width 4\n"},
        {0, "axis N        lane 32\n", "access x.0    width 1\n"},
        {32, "axis N        lane 32\n", "access x.0    width 1\n"},
        {33, "axis N        slot 2 | lane 32\n", "access x.0    width 2\n"},
        {128, "axis N        slot 4 | lane 32\n", "access x.0    width 4\n"},
        {257, "axis N        slot 4 | lane 32 | slot 4\n", "access y.0    width 4\n"},
        {513, "axis N        slot 4 | lane 32 | subgroup 2 | slot 4\n", "access x.0    width 4\n"},
        {4096, "axis N        slot 4 | lane 32 | subgroup 8 | slot 4\n",
         "keep e        registers\n"},
        {4097, "axis N        slot 4 | lane 32 | subgroup 8 | step 5\n", "access x.0    width 4\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        fixture_open(&f);
        build_softmax(&f);
        if (rows[i].width >= 0)
            fixture_know(&f, "N", rows[i].width);
        const char *plan = plan_on(&f, "sm_90", PLANNER_ROW);
        assert_non_null(strstr(plan, rows[i].axis));
        assert_non_null(strstr(plan, rows[i].access));
        fixture_close(&f);
    }
}

static void scalars_have_no_row_plan(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "R");
    fixture_store(&f, y, ir_build_real(&f.builder, BASE_F32, 1.0));
    assert_string_equal(plan_of(&f, PLANNER_ROW), "row-plan-refused");
    assert_string_equal(plan_of(&f, PLANNER_AUTOMATIC), "axis row    lane 8 | group *\n"
                                                        "access y.0  width 1\n");
    fixture_close(&f);
}

static void programs_share_no_team_where_control_differs(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "R");
    ir_value *start = ir_build_real(&f.builder, BASE_F32, 0.0);
    ir_op *loop = fixture_for(&f, f.row, 1, &start); /* row trips */
    ir_value *sum = fixture_reduce(
        &f, IR_MONOID_SUM, fixture_load_at(&f, x, loop->regions[0]->arguments[0], NULL), 0, NULL);
    ir_value *next = ir_build_binary(&f.builder, IR_ADD, loop->regions[0]->arguments[1], sum);
    fixture_end_for(&f, loop, 1, &next);
    fixture_store(&f, y, loop->results[0]);
    assert_non_null(strstr(plan_of(&f, PLANNER_FALLBACK), "axis row      group *\n"));
    fixture_close(&f);
}

/* y = x - max(x) in place, then max(x) again needs the old x: it has to be kept. */
static void what_a_store_overtakes_is_kept(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_INOUT, BASE_F32, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = fixture_load(&f, x, "t");
    ir_value *d =
        ir_build_binary(&f.builder, IR_SUB, t, fixture_reduce(&f, IR_MONOID_MAX, t, 0, NULL));
    fixture_store(&f, x, d);
    assert_non_null(strstr(plan_of(&f, PLANNER_ROW), "keep t        reload\n"));
    ir_value *r = fixture_reduce(&f, IR_MONOID_SUM, d, 0, NULL);
    fixture_store(&f, y, ir_build_binary(&f.builder, IR_MUL, t, r));
    assert_non_null(strstr(plan_of(&f, PLANNER_ROW), "keep t        private\n"));
    fixture_close(&f);
}

/* d is cheap: the last sweep computes it again from what it reloads. */
static void cheap_values_are_recomputed(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F16, 2, "R", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "N");
    ir_value *t = ir_build_cast(&f.builder, fixture_load(&f, x, NULL), BASE_F32, IR_ROUND_ZERO);
    ir_value *d =
        ir_build_binary(&f.builder, IR_SUB, t, fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL));
    fixture_named(d, "d");
    ir_value *v =
        fixture_reduce(&f, IR_MONOID_SUM, ir_build_binary(&f.builder, IR_MUL, d, d), 0, NULL);
    fixture_store(&f, y, ir_build_binary(&f.builder, IR_MUL, d, v));
    assert_string_equal(plan_of(&f, PLANNER_ROW), "axis row      group *\n"
                                                  "axis N        lane 8 | slot 4 | step *\n"
                                                  "keep x.0      reload\n"
                                                  "keep cast.0   recompute\n"
                                                  "keep d        recompute\n"
                                                  "reduce sum.0  tree\n"
                                                  "reduce sum.1  tree\n"
                                                  "access x.0    width 8\n"
                                                  "access y.0    width 8\n");
    fixture_close(&f);
}

/* A domain that cuts an axis of one step short is a guard, not a loop. */
static void registers_hold_what_a_domain_guards(void **unused) {
    (void)unused;
    for (int cut = 0; cut < 2; cut++) {
        fixture f;
        fixture_open(&f);
        ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 2, "R", "16");
        ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 2, "R", "16");
        ir_value *n = ir_build_size(&f.builder, fixture_extent(&f, "K"));
        ir_value *t = fixture_load(&f, x, "t");
        t->type.domain[0] = cut == 1 ? n : NULL;
        ir_op *loop = fixture_for(&f, n, 1, &t);
        ir_value *next = ir_build_unary(&f.builder, IR_EXP, loop->regions[0]->arguments[1]);
        fixture_end_for(&f, loop, 1, &next);
        fixture_store(&f, y, loop->results[0]);
        const char *text = plan_of(&f, PLANNER_ROW);
        assert_non_null(strstr(text, "axis axis.0   lane 8 | slot 2\n"));
        assert_non_null(strstr(text, "keep t        registers\n"));
        assert_non_null(strstr(text, "keep for.0.0  registers\n"));
        fixture_close(&f);
    }
}

/* Lanes go where memory is contiguous: the last dimension. */
static void columns_get_the_lanes(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *x = fixture_tensor(&f, "x", IR_IN, BASE_F32, 3, "R", "M", "N");
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 3, "R", "1", "N");
    ir_value *t = fixture_load(&f, x, NULL);
    fixture_store(&f, y, fixture_reduce(&f, IR_MONOID_SUM, t, 0, NULL));
    const char *text = plan_of(&f, PLANNER_ROW);
    assert_non_null(strstr(text, "axis M        step *\n"));
    assert_non_null(strstr(text, "axis N        lane 8 | slot 4 | step *\n"));
    assert_non_null(strstr(text, "keep sum.0    private\n"));
    fixture_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_of_any_width),
        cmocka_unit_test(known_widths_take_the_slots_they_need),
        cmocka_unit_test(wide_machines_spread_a_row_over_subgroups),
        cmocka_unit_test(scalars_have_no_row_plan),
        cmocka_unit_test(programs_share_no_team_where_control_differs),
        cmocka_unit_test(what_a_store_overtakes_is_kept),
        cmocka_unit_test(cheap_values_are_recomputed),
        cmocka_unit_test(registers_hold_what_a_domain_guards),
        cmocka_unit_test(columns_get_the_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
