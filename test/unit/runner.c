/* The runner catches a pass that lies, each lie by the check of its name and by no other, and says
 * which pass it was. */
#include "pass/runner.h"
#include "ir/builder.h"
#include "ir/print.h"
#include "text/ir_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char tile[] =
    "kernel @k[R, N](%x: in f32[R, N] @1:10+1, %y: out f32[R, N] @1:30+1) level tile\n"
    "  source \"k.croft\"\n"
    "  program row: R\n"
    "{\n"
    "  %row = program row : index @2:13+3\n"
    "  %t = load %x[%row inside, : N inside] : f32<N> !x.0 @3:9+6\n"
    "  %m = reduce max %t nan=propagate axis=0 : f32 !max.0 @4:9+3\n"
    "  %d = sub %t, %m : f32<N> !sub.0 @5:9+1\n"
    "  store %y[%row inside, : N inside], %d injective !y.0 @6:5+1\n"
    "}\n";
static const char mapped[] =
    "kernel @k[R, N](%x: in f32[R, N] @1:10+1, %y: out f32[R, N] @1:30+1) level mapped\n"
    "  source \"k.croft\"\n"
    "  program row: R\n"
    "  team 8\n"
    "  machine \"cpu-avx2\"\n"
    "  axis row program row extent R digits group *\n"
    "  axis N extent N digits lane 8 | slot 4 | step *\n"
    "{\n"
    "  %row = program row : index @2:13+3\n"
    "  %t, %m = sweep axes=(N) : f32<N> on (N) in private, f32 @3:9+6 {\n"
    "    %u = load %x[%row inside, : N inside] : f32<N> on (N) !x.0 @3:9+6\n"
    "    %s = reduce max %u nan=propagate axis=0 : f32 !max.0 @4:9+3\n"
    "    yield %u, %s @4:9+3\n"
    "  }\n"
    "  sweep axes=(N) @5:9+1 {\n"
    "    %d = sub %t, %m : f32<N> on (N) !sub.0 @5:9+1\n"
    "    store %y[%row inside, : N inside], %d injective !y.0 @6:5+1\n"
    "    yield @6:5+1\n"
    "  }\n"
    "}\n";

static const char implemented[] =
    "kernel @k[R, N](%x: in f32[R, N] @1:10+1, %y: out f32[R, N] @1:30+1) level mapped\n"
    "  source \"k.croft\"\n"
    "  program row: R\n"
    "  team 8\n"
    "  machine \"cpu-avx2\"\n"
    "  axis row program row extent R digits group *\n"
    "  axis N extent N digits lane 8 | slot 4 | step *\n"
    "  implements {\n"
    "    %row = program row : index @2:13+3\n"
    "    %t = load %x[%row inside, : N inside] : f32<N> !x.0 @3:9+6\n"
    "    store %y[%row inside, : N inside], %t injective !y.0 @6:5+1\n"
    "  }\n"
    "{\n"
    "  %row = program row : index @2:13+3\n"
    "  sweep axes=(N) @3:9+6 {\n"
    "    %t = load %x[%row inside, : N inside] : f32<N> on (N) !x.0 @3:9+6\n"
    "    store %y[%row inside, : N inside], %t injective !y.0 @6:5+1\n"
    "    yield @6:5+1\n"
    "  }\n"
    "}\n";

static const char aligned[] =
    "kernel @k[R, N](%x: in f32[R, N] @1:10+1, %y: out f32[R, N] @1:30+1) level thread\n"
    "  source \"k.croft\"\n"
    "  program row: R\n"
    "  condition x aligned 16\n"
    "  team 8\n"
    "  axis row program row extent R digits group *\n"
    "  axis N extent N digits slot 4 | lane 8 | step *\n"
    "  groups R\n"
    "{\n"
    "  %row = group : i64 @2:13+3\n"
    "  %n = size N : i64 @3:9+6\n"
    "  %t = load %x[%row inside, lane*4 + slot*1 inside] mask=lane*4 + slot*1 < %n width=4 "
    "align=16 "
    ": f32(4) @3:9+6\n"
    "}\n";

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    ir_module *module;
} fixture;

static int set_up(void **state) {
    static fixture f;
    base_arena_init(&f.arena, base_allocator_default(), &f.exhausted);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(&((fixture *)*state)->arena);
    return 0;
}

static const char *rendered(fixture *f) {
    base_text out;
    base_text_init(&out, &f->arena);
    base_diagnostics_render(&out, &f->diagnostics);
    return f->diagnostics.count == 0 ? "no findings" : out.bytes;
}

/* What expand makes of `mapped`. */
static const char thread[] = "thread";

/* One pass with some checks, on inputs of 3 rows of 5. */
static bool run(fixture *f, const char *text, const pass_row *pass, int checks) {
    static float x[15];
    for (int i = 0; i < 15; i++)
        x[i] = (float)(i * 7 % 11) / 2.0F;
    const sim_tensor tensors[2] = {{BASE_F32, 2, {3, 5}, {5, 1}, x},
                                   {BASE_F32, 2, {3, 5}, {5, 1}, NULL}};
    const ir_constant scalars[2] = {{0}};
    const int64_t sizes[2] = {3, 5};
    pass_fixture inputs = {sizes, tensors, scalars};
    base_source *source = BASE_NEW(&f->arena, base_source);
    const char *written = text == thread ? mapped : text;
    *source = (base_source){.name = "k.ir", .text = written, .length = strlen(written)};
    base_diagnostics_init(&f->diagnostics, &f->arena);
    f->module = text_ir_parse(&f->arena, source, &f->diagnostics);
    if (f->module == NULL)
        fail_msg("%s", rendered(f));
    pass_context context = {.diagnostics = &f->diagnostics};
    if (text == thread)
        assert_int_equal(pass_expand(f->module, &context), PASS_CHANGED);
    pass_runner runner = {.diagnostics = &f->diagnostics, .checks = checks};
    pass_runner_interpret(&runner, &inputs);
    return pass_runner_run(&runner, f->module, pass, NULL);
}

/* ---- passes that lie ---- */
static ir_op *find(ir_region *region, ir_opcode opcode) {
    for (ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == opcode)
            return op;
        for (int i = 0; i < op->region_count; i++) {
            ir_op *inner = find(op->regions[i], opcode);
            if (inner != NULL)
                return inner;
        }
    }
    return NULL;
}

#define LIE(name) static pass_result name(ir_module *module, pass_context *context)

LIE(changes_and_says_same) {
    (void)context;
    find(&module->body, IR_SUB)->results[0]->name = "renamed";
    return PASS_SAME;
}

LIE(does_nothing_and_says_changed) {
    (void)module, (void)context;
    return PASS_CHANGED;
}

LIE(fails_without_a_reason) {
    (void)module, (void)context;
    return PASS_FAILED;
}

LIE(leads_to_another_level) {
    (void)context;
    module->level = IR_TILE;
    return PASS_CHANGED;
}

LIE(breaks_a_rule) {
    (void)context;
    ir_op *sub = find(&module->body, IR_SUB), *load = find(&module->body, IR_LOAD);
    ir_op_remove(sub);
    ir_op_insert_before(load, sub);
    return PASS_CHANGED;
}

LIE(writes_what_cannot_be_read) {
    (void)context;
    find(&module->body, IR_SUB)->anchor = "sub 0";
    return PASS_CHANGED;
}

LIE(loses_a_location) {
    (void)context;
    find(&module->body, IR_SUB)->location = (base_location){0};
    return PASS_CHANGED;
}

LIE(makes_an_op_without_location) {
    (void)context;
    ir_op *sub = find(&module->body, IR_SUB);
    ir_op *op = ir_op_create(module, IR_NEG, (base_location){0}, 1, &sub->operands[0], 1,
                             &sub->results[0]->type, 0);
    op->results[0]->layout = sub->results[0]->layout;
    ir_op_insert_before(sub, op);
    return PASS_CHANGED;
}

LIE(loses_an_anchor) {
    (void)context;
    find(&module->body, IR_SUB)->anchor = NULL;
    return PASS_CHANGED;
}

LIE(loses_a_proof) {
    (void)context;
    find(&module->body, IR_LOAD)->attributes.access->index[0].inside = false;
    return PASS_CHANGED;
}

/* The load is made anew: only its anchor tells that it is the same. */
LIE(loses_a_proof_of_a_copy) {
    (void)context;
    ir_op *load = find(&module->body, IR_LOAD);
    ir_op *copy = BASE_NEW(module->arena, ir_op);
    *copy = *load;
    copy->attributes.access = BASE_NEW(module->arena, ir_access);
    *copy->attributes.access = *load->attributes.access;
    copy->attributes.access->index[1].inside = false;
    ir_op_insert_before(load, copy);
    ir_op_remove(load);
    copy->results[0]->definer = copy;
    return PASS_CHANGED;
}

LIE(loses_a_storage) {
    (void)context;
    find(&module->body, IR_SWEEP)->results[0]->storage = IR_STORAGE_NONE;
    return PASS_CHANGED;
}

LIE(changes_the_meaning) {
    (void)context;
    find(&module->body, IR_SUB)->opcode = IR_ADD;
    return PASS_CHANGED;
}

/* The position of an element, which was recorded with its range. */
LIE(loses_a_range) {
    (void)context;
    find(&module->body, IR_IOTA)->results[0]->ranged = false;
    return PASS_CHANGED;
}

LIE(loses_an_alignment) {
    (void)context;
    find(&module->body, IR_LOAD)->attributes.access->align = 0;
    return PASS_CHANGED;
}

LIE(assumes_more) {
    (void)context;
    module->conditions[0].amount *= 2;
    return PASS_CHANGED;
}

LIE(forgets_the_program) {
    (void)context;
    module->implements = NULL;
    return PASS_CHANGED;
}

/* Differences of elements become sums. */
static bool change_difference(void *state, ir_op *op) {
    (void)state;
    if (op->opcode == IR_SUB && op->results[0]->type.dtype == BASE_F32)
        op->opcode = IR_ADD;
    return true;
}

LIE(changes_differences) {
    (void)context;
    ir_region_walk(&module->body, change_difference, NULL);
    return PASS_CHANGED;
}

LIE(expands_to_another_meaning) {
    pass_expand(module, context);
    ir_region_walk(&module->body, change_difference, NULL);
    return PASS_CHANGED;
}

LIE(changes_the_monoid) {
    (void)context;
    find(&module->body, IR_REDUCE)->attributes.monoid = IR_MONOID_MIN;
    return PASS_CHANGED;
}

LIE(tells_the_truth) {
    (void)module, (void)context;
    return PASS_SAME;
}

static const struct {
    const char *name;
    pass_result (*run)(ir_module *module, pass_context *context);
    const char *text, *slug;
    int check; /* the one that catches it; 0: more than one would */
} lies[] = {
    {"changes_and_says_same", changes_and_says_same, tile, "pass-result", PASS_CHECK_RESULT},
    {"does_nothing_and_says_changed", does_nothing_and_says_changed, tile, "pass-result",
     PASS_CHECK_RESULT},
    {"fails_without_a_reason", fails_without_a_reason, tile, "pass-result", 0},
    {"leads_to_another_level", leads_to_another_level, mapped, "pass-level", 0},
    {"breaks_a_rule", breaks_a_rule, tile, "dominance", 0},
    {"breaks_a_rule", breaks_a_rule, mapped, "dominance", 0},
    {"writes_what_cannot_be_read", writes_what_cannot_be_read, tile, "pass-text", PASS_CHECK_TEXT},
    {"loses_a_location", loses_a_location, tile, "pass-location", PASS_CHECK_LOCATION},
    {"makes_an_op_without_location", makes_an_op_without_location, tile, "pass-location",
     PASS_CHECK_LOCATION},
    {"makes_an_op_without_location", makes_an_op_without_location, mapped, "pass-location",
     PASS_CHECK_LOCATION},
    {"loses_an_anchor", loses_an_anchor, tile, "pass-facts", PASS_CHECK_FACTS},
    {"loses_a_proof", loses_a_proof, tile, "pass-facts", PASS_CHECK_FACTS},
    {"loses_a_proof_of_a_copy", loses_a_proof_of_a_copy, mapped, "pass-facts", PASS_CHECK_FACTS},
    {"loses_a_storage", loses_a_storage, mapped, "kept-storage", 0},
    {"loses_a_range", loses_a_range, thread, "pass-facts", PASS_CHECK_FACTS},
    {"loses_an_alignment", loses_an_alignment, aligned, "pass-facts", 0},
    {"assumes_more", assumes_more, aligned, "pass-facts", 0},
    {"forgets_the_program", forgets_the_program, implemented, "pass-facts", PASS_CHECK_FACTS},
    {"changes_the_meaning", changes_the_meaning, tile, "pass-meaning", PASS_CHECK_MEANING},
    {"changes_the_meaning", changes_the_meaning, mapped, "pass-meaning", PASS_CHECK_MEANING},
    {"changes_the_monoid", changes_the_monoid, mapped, "pass-meaning", PASS_CHECK_MEANING},
    {"changes_differences", changes_differences, thread, "pass-meaning", PASS_CHECK_MEANING},
    {"expands_to_another_meaning", expands_to_another_meaning, mapped, "pass-meaning",
     PASS_CHECK_MEANING},
    {"loses_a_location", loses_a_location, thread, "pass-location", PASS_CHECK_LOCATION},
};

enum { LIES = sizeof lies / sizeof lies[0] };

static pass_row row_of(int lie) {
    return (pass_row){.name = lies[lie].name,
                      .from = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M | IR_LEVEL_BIT_R,
                      .to = lies[lie].run == expands_to_another_meaning ? IR_THREAD : PASS_STAYS,
                      .run = lies[lie].run};
}

static void every_lie_is_caught_and_says_who_told_it(void **state) {
    fixture *f = *state;
    for (int i = 0; i < LIES; i++) {
        pass_row row = row_of(i);
        if (run(f, lies[i].text, &row, PASS_CHECK_ALL))
            fail_msg("%s is not caught", lies[i].name);
        const base_diagnostic *found = &f->diagnostics.items[0];
        if (strcmp(found->slug, lies[i].slug) != 0)
            fail_msg("%s: wanted %s\n%s", lies[i].name, lies[i].slug, rendered(f));
        const char *bug =
            strncmp(found->message, "CROFT_BUG", 9) == 0 ? found->message : found->hint;
        if (bug == NULL || strncmp(bug, "CROFT_BUG", 9) != 0 || strstr(bug, lies[i].name) == NULL)
            fail_msg("%s is not named:\n%s", lies[i].name, rendered(f));
    }
}

static void each_check_alone_catches_its_lie(void **state) {
    fixture *f = *state;
    for (int i = 0; i < LIES; i++) {
        pass_row row = row_of(i);
        if (lies[i].check == 0)
            continue;
        if (run(f, lies[i].text, &row, lies[i].check))
            fail_msg("%s is not caught by its check", lies[i].name);
        if (!run(f, lies[i].text, &row, PASS_CHECK_ALL & ~lies[i].check))
            fail_msg("%s is caught by another check:\n%s", lies[i].name, rendered(f));
    }
}

static void the_facts_check_sees_storage_and_layout(void **state) {
    fixture *f = *state;
    pass_row row = {.name = "loses_a_storage",
                    .from = IR_LEVEL_BIT_M,
                    .to = PASS_STAYS,
                    .run = loses_a_storage};
    assert_false(run(f, mapped, &row, PASS_CHECK_FACTS));
    assert_string_equal(f->diagnostics.items[0].slug, "pass-facts");
    assert_string_equal(f->diagnostics.items[0].expected, "private");
}

static void honest_passes_pass(void **state) {
    fixture *f = *state;
    pass_row row = {.name = "tells_the_truth",
                    .from = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M,
                    .to = PASS_STAYS,
                    .run = tells_the_truth};
    const pass_row *pass;
    if (!run(f, tile, &row, PASS_CHECK_ALL) || !run(f, mapped, &row, PASS_CHECK_ALL))
        fail_msg("%s", rendered(f));
    for (int i = 0; (pass = pass_at(i)) != NULL; i++)
        if ((pass->from & IR_LEVEL_BIT_T) != 0 && pass->to != IR_MAPPED &&
            !run(f, tile, pass, PASS_CHECK_ALL))
            fail_msg("%s", rendered(f));
    if (!run(f, mapped, pass_find("expand", 6), PASS_CHECK_ALL))
        fail_msg("%s", rendered(f));
}

static void a_pass_at_another_level_is_refused(void **state) {
    fixture *f = *state;
    assert_false(run(f, mapped, pass_find("canonicalise", 12), 0));
    assert_string_equal(f->diagnostics.items[0].slug, "pass-level");
    assert_string_equal(f->diagnostics.items[0].expected, "level tile");
    assert_false(run(f, tile, pass_find("map", 3), 0));
    assert_string_equal(f->diagnostics.items[0].slug, "plan-missing");
}

/* ---- the pipeline ---- */
typedef struct trace {
    base_text text;
} trace;

static void note(void *state, const pass_row *pass, const ir_module *module) {
    (void)module;
    base_text_format(&((trace *)state)->text, "%s ", pass->name);
}

static void the_pipeline_runs_in_its_order_and_stops_where_asked(void **state) {
    fixture *f = *state;
    base_source source = {"k.ir", mapped, strlen(mapped)};
    base_diagnostics_init(&f->diagnostics, &f->arena);
    for (int stop = 0; stop < 2; stop++) {
        ir_module *module = text_ir_parse(&f->arena, &source, &f->diagnostics);
        trace t;
        base_text_init(&t.text, &f->arena);
        pass_runner runner = {.diagnostics = &f->diagnostics,
                              .after = note,
                              .state = &t,
                              .stop_after = stop ? pass_find("hoist", 5) : NULL};
        if (!pass_runner_pipeline(&runner, module, IR_MAPPED, IR_THREAD))
            fail_msg("%s", rendered(f));
        assert_int_equal(runner.stopped, stop);
        static const char once[] = "expand fold hoist merge dead ";
        if (stop)
            assert_string_equal(t.text.bytes, "expand fold hoist ");
        else
            assert_int_equal(strncmp(t.text.bytes, once, strlen(once)), 0);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_lie_is_caught_and_says_who_told_it),
        TEST(each_check_alone_catches_its_lie),
        TEST(the_facts_check_sees_storage_and_layout),
        TEST(honest_passes_pass),
        TEST(a_pass_at_another_level_is_refused),
        TEST(the_pipeline_runs_in_its_order_and_stops_where_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
