/* The simulator's face: words and strides, ranges of groups, what is refused, and the limit. */
#include "sim/thread.h"
#include "text/ir_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* y[r, c] = x[r, c] + s: a group for each row, a lane for each of four columns. */
static const char add_rows[] =
    "kernel @add[R, N = 4](%x: in f32[R, N], %y: out f32[R, N], s: f32) level thread\n"
    "  team 4\n"
    "  groups R\n"
    "{\n"
    "  %r = group : i64\n"
    "  %s = parameter s : f32\n"
    "  %v = load %x[%r, lane*1] : f32(1)\n"
    "  %w = add %v, %s : f32(1)\n"
    "  store %y[%r, lane*1], %w injective\n"
    "}\n";

static const char endless[] = "kernel @endless[N = 4](%y: out f32[N]) level thread\n"
                              "  team 4\n"
                              "  groups 1\n"
                              "{\n"
                              "  %zero = constant 0 : i64\n"
                              "  %one = constant 1 : i64\n"
                              "  %most = constant 9223372036854775807 : i64\n"
                              "  for %zero, %most, %one (%k: i64) {\n"
                              "    yield\n"
                              "  }\n"
                              "}\n";

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
} fixture;

static int set_up(void **state) {
    static fixture f;
    base_arena_init(&f.arena, base_allocator_default(), &f.exhausted);
    base_diagnostics_init(&f.diagnostics, &f.arena);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(&((fixture *)*state)->arena);
    return 0;
}

static ir_module *parse(fixture *f, const char *text) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "k.ir", .text = text, .length = strlen(text)};
    ir_module *module = text_ir_parse(&f->arena, source, &f->diagnostics);
    assert_non_null(module);
    return module;
}

static const sim_options all_groups = {.last_group = -1, .watch = true};

/* Rows of x lie 5 elements apart, rows of y 6; the scalar is the last word. */
static sim_status run_rows(fixture *f, ir_module *module, const sim_options *options, float y[18]) {
    float x[15], s = 0.5f;
    for (int i = 0; i < 15; i++)
        x[i] = (float)i;
    for (int i = 0; i < 18; i++)
        y[i] = -1.0f;
    int64_t words[] = {3, 4, 5, 1, 6, 1, 0};
    memcpy(&words[6], &s, sizeof s);
    void *pointers[] = {x, y};
    return sim_thread_run(&f->arena, module, pointers, words, options, &f->diagnostics);
}

static void strides_and_scalars_come_from_the_words(void **state) {
    float y[18];
    ir_module *module = parse(*state, add_rows);
    assert_int_equal(run_rows(*state, module, &all_groups, y), SIM_OK);
    for (int i = 0; i < 18; i++) {
        int row = i / 6, column = i % 6;
        float expected = column < 4 ? (float)(5 * row + column) + 0.5f : -1.0f;
        assert_true(y[i] == expected);
    }
}

static void only_the_groups_of_the_range_run(void **state) {
    float y[18];
    ir_module *module = parse(*state, add_rows);
    sim_options options = {.first_group = 1, .last_group = 2, .watch = true};
    assert_int_equal(run_rows(*state, module, &options, y), SIM_OK);
    assert_true(y[0] == -1.0f && y[6] == 5.5f && y[12] == -1.0f);
}

static void the_grid_follows_the_sizes(void **state) {
    ir_module *module = parse(*state, add_rows);
    const int64_t sizes[] = {7, 4};
    assert_int_equal(sim_thread_groups(module, sizes), 7);
}

static void a_run_ends_at_the_limit(void **state) {
    fixture *f = *state;
    ir_module *module = parse(f, endless);
    float y[4] = {0};
    void *pointers[] = {y};
    const int64_t words[] = {4, 1};
    sim_options options = {.last_group = -1, .limit = 1000};
    assert_int_equal(sim_thread_run(&f->arena, module, pointers, words, &options, &f->diagnostics),
                     SIM_REFUSED);
    assert_string_equal(f->diagnostics.items[0].slug, "sim-refused");
}

/* One change to a module that runs, and a word of the reason. */
static void refuses(fixture *f, void (*spoil)(ir_module *module), const char *reason) {
    float y[18];
    ir_module *module = parse(f, add_rows);
    base_diagnostics_init(&f->diagnostics, &f->arena);
    spoil(module);
    assert_int_equal(run_rows(f, module, &all_groups, y), SIM_REFUSED);
    assert_string_equal(f->diagnostics.items[0].slug, "sim-refused");
    if (strstr(f->diagnostics.items[0].message, reason) == NULL)
        fail_msg("%s, not: %s", f->diagnostics.items[0].message, reason);
    assert_true(y[0] == -1.0f);
}

static void spoil_level(ir_module *module) {
    module->level = IR_TILE;
}

static void spoil_lanes(ir_module *module) {
    module->lanes = SIM_MAX_LANES + 1;
}

static void spoil_subgroup(ir_module *module) {
    module->subgroup = 3;
}

static void spoil_cluster(ir_module *module) {
    module->cluster = 2; /* of three groups */
}

static void spoil_dtype(ir_module *module) {
    module->body.first->next->results[0]->type.dtype = BASE_I32;
}

static void spoil_slots(ir_module *module) {
    module->body.last->previous->results[0]->type.slots = 2;
}

static void spoil_order(ir_module *module) {
    ir_op *first = module->body.first;
    ir_op_remove(first);
    ir_op_append(&module->body, first);
}

static void spoil_mode(ir_module *module) {
    module->parameters[1].mode = IR_IN;
}

static void spoil_mask(ir_module *module) {
    ir_access *access = module->body.last->attributes.access;
    access->mask_kind = IR_MASK_BITS;
    access->mask = 9;
}

static void what_cannot_be_run_is_refused_with_a_reason(void **state) {
    refuses(*state, spoil_level, "level thread");
    refuses(*state, spoil_lanes, "1 to 1024");
    refuses(*state, spoil_subgroup, "whole subgroups");
    refuses(*state, spoil_cluster, "whole clusters");
    refuses(*state, spoil_dtype, "dtype");
    refuses(*state, spoil_slots, "slots");
    refuses(*state, spoil_order, "not defined");
    refuses(*state, spoil_mode, "input");
    refuses(*state, spoil_mask, "mask");
}

/* A yield that is given a result: nothing computes it. */
static void a_value_that_nothing_computes_is_refused(void **state) {
    fixture *f = *state;
    ir_module *module = parse(f, "kernel @k[N = 4](%y: out i64[N]) level thread\n"
                                 "  team 4\n"
                                 "  groups 1\n"
                                 "{\n"
                                 "  %one = constant 1 : i64\n"
                                 "  %c = constant true : bool\n"
                                 "  %v = if %c : i64 {\n"
                                 "    %b = yield %one : i64\n"
                                 "    yield %b\n"
                                 "  } else {\n"
                                 "    yield %one\n"
                                 "  }\n"
                                 "  store %y[lane*1], %v\n"
                                 "}\n");
    int64_t y[4] = {0};
    void *pointers[] = {y};
    const int64_t words[] = {4, 1};
    assert_int_equal(
        sim_thread_run(&f->arena, module, pointers, words, &all_groups, &f->diagnostics),
        SIM_REFUSED);
    assert_non_null(strstr(f->diagnostics.items[0].message, "does not compute"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(strides_and_scalars_come_from_the_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_the_groups_of_the_range_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_grid_follows_the_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_run_ends_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_that_nothing_computes_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_run_is_refused_with_a_reason, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
