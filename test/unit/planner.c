/* Row plans and the fallback: digits, storage, widths, budgets, and when one is refused. */
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
                                                        "access x.0    width 8 policy default\n"
                                                        "access y.0    width 8 policy default\n"
                                                        "math exp.0    flushed\n"
                                                        "div div.0     reciprocal\n");
    assert_string_equal(plan_of(&f, PLANNER_FALLBACK), "axis row      lane 8 | group *\n"
                                                       "axis N        step *\n"
                                                       "keep t        reload\n"
                                                       "keep e        private\n"
                                                       "reduce max.0  tree\n"
                                                       "reduce sum.0  tree\n"
                                                       "access x.0    width 1 policy default\n"
                                                       "access y.0    width 1 policy default\n"
                                                       "math exp.0    flushed\n"
                                                       "div div.0     reciprocal\n");
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

/* What candidates are compared with. */
static const char *standard_on(fixture *f, const char *device) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_canonicalise(f->module, &context);
    planner_state state = {.arena = &f->arena,
                           .module = f->module,
                           .machine = machine_find(device),
                           .axes = analysis_axes_find(&f->arena, f->module)};
    state.sweeps = analysis_sweeps_find(&f->arena, f->module, &state.axes);
    while (state.axes.axes[state.lane_axis].is_program)
        state.lane_axis++;
    planner_program *program = planner_program_begin(&state, NULL);
    planner_candidate standard = planner_candidate_standard(program);
    layout_axis digits = planner_candidate_digits(program, &standard);
    base_text text;
    base_text_init(&text, &f->arena);
    layout_axis_print(&text, &digits);
    return text.bytes;
}

/* Where subgroups run side by side, lanes own neighbours; as many subgroups as leave a lane at most
 * four times four elements; what does not fit is walked in steps. */
static void the_standard_spreads_a_row_over_subgroups(void **unused) {
    (void)unused;
    static const struct {
        int64_t width; /* -1: runtime */
        const char *axis;
    } rows[] = {
        {-1, "slot 4 | lane 32 | subgroup 8 | step *"},
        {0, "lane 32"},
        {32, "lane 32"},
        {33, "slot 2 | lane 32"},
        {128, "slot 4 | lane 32"},
        {257, "slot 4 | lane 32 | slot 4"},
        {513, "slot 4 | lane 32 | subgroup 2 | slot 4"},
        {4096, "slot 4 | lane 32 | subgroup 8 | slot 4"},
        {4097, "slot 4 | lane 32 | subgroup 8 | step 5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        fixture_open(&f);
        build_softmax(&f);
        if (rows[i].width >= 0)
            fixture_know(&f, "N", rows[i].width);
        assert_string_equal(standard_on(&f, "sm_90"), rows[i].axis);
        fixture_close(&f);
    }
}

/* A plan for a device with subgroups side by side is searched: many short rows share a group, and
 * every row has an element in some slot of each subgroup. */
static void short_rows_share_a_group(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    build_softmax(&f);
    fixture_know(&f, "N", 64);
    const char *plan = plan_on(&f, "sm_90", PLANNER_AUTOMATIC);
    assert_non_null(strstr(plan, "axis row      lane "));
    assert_null(strstr(plan, " | step "));
    fixture_close(&f);
}

/* Registers of a processor over the threads that have to be there, less those that every thread
 * needs; at most 64, which is what there is where nothing is known. */
static void budgets_follow_from_registers(void **unused) {
    (void)unused;
    static const struct {
        const char *device;
        int64_t threads, values;
    } rows[] = {
        {"sm_90", 1024, 40}, {"sm_90", 768, 61}, {"sm_90", 512, 64}, {"sm_90", 128, 64},
        {"sm_80", 1024, 40}, {"m1", 1024, 64},   {"m1", 32, 64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(planner_budget(machine_find(rows[i].device), rows[i].threads),
                         rows[i].values);
}

static void scalars_have_no_row_plan(void **unused) {
    (void)unused;
    fixture f;
    fixture_open(&f);
    ir_value *y = fixture_tensor(&f, "y", IR_OUT, BASE_F32, 1, "R");
    fixture_store(&f, y, ir_build_real(&f.builder, BASE_F32, 1.0));
    assert_string_equal(plan_of(&f, PLANNER_ROW), "row-plan-refused");
    assert_string_equal(plan_of(&f, PLANNER_AUTOMATIC), "axis row    lane 8 | group *\n"
                                                        "access y.0  width 1 policy default\n");
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
                                                  "access x.0    width 8 policy default\n"
                                                  "access y.0    width 8 policy default\n");
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
        cmocka_unit_test(the_standard_spreads_a_row_over_subgroups),
        cmocka_unit_test(short_rows_share_a_group),
        cmocka_unit_test(budgets_follow_from_registers),
        cmocka_unit_test(scalars_have_no_row_plan),
        cmocka_unit_test(programs_share_no_team_where_control_differs),
        cmocka_unit_test(what_a_store_overtakes_is_kept),
        cmocka_unit_test(cheap_values_are_recomputed),
        cmocka_unit_test(registers_hold_what_a_domain_guards),
        cmocka_unit_test(columns_get_the_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
