/* Plan text: what is printed reads back, faults are reported where they stand, and the hash keeps
 * decisions and forgets names. */
#include "ir/plan.h"
#include "text/plan_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
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

static ir_plan *read_bytes(fixture *f, const char *text, size_t length) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "k.plan", .text = text, .length = length};
    base_diagnostics_init(&f->diagnostics, &f->arena);
    return text_plan_parse(&f->arena, source, &f->diagnostics);
}

static ir_plan *read(fixture *f, const char *text) {
    ir_plan *plan = read_bytes(f, text, strlen(text));
    if (plan == NULL)
        fail_msg("%s\n%s: %s", text, f->diagnostics.items[0].slug, f->diagnostics.items[0].message);
    return plan;
}

static const char *print(fixture *f, const ir_plan *plan) {
    base_text out;
    base_text_init(&out, &f->arena);
    ir_plan_print(&out, plan);
    return out.bytes;
}

#define FIRST "plan k canon 5d1e8c0a91b2f733 machine m\n"

static const char softmax[] = "plan softmax canon 5d1e8c0a91b2f733 machine cpu-avx2 for N = 4096\n"
                              "axis row      group *\n"
                              "axis N        lane 8 | slot 4 | step 128\n"
                              "keep t        reload\n"
                              "keep e        private\n"
                              "reduce max.0  tree\n"
                              "reduce sum.0  canonical\n"
                              "access x.0    width 8 policy default early prefetch 2 in 1\n"
                              "access y.0    width 8 policy stream\n"
                              "math exp.0    portable\n"
                              "div div.0     exact\n";

static void canonical_plans_come_back_byte_for_byte(void **state) {
    fixture *f = *state;
    const char *const texts[] = {
        softmax,
        "plan k canon 0000000000000000 machine m\n",
        "plan k canon e000000000000001 machine sm_90 for N = 0, M = 9223372036854775807\n"
        "axis a_name_that_is_longer_than_a_column_should_be none\n"
        "keep t  registers\nkeep u  recompute\n",
    };
    for (int i = 0; i < 3; i++)
        assert_string_equal(print(f, read(f, texts[i])), texts[i]);
}

static void blanks_comments_and_order_of_kinds_are_free(void **state) {
    fixture *f = *state;
    ir_plan *plan = read(f, "# a plan\n\nplan k canon 00000000000000ff machine cpu-avx2 # where\n"
                            "math   exp.0 portable\n\n  axis N   lane 8|step *# how\n");
    assert_string_equal(print(f, plan), "plan k canon 00000000000000ff machine cpu-avx2\n"
                                        "axis N      lane 8 | step *\nmath exp.0  portable\n");
}

static void a_policy_that_is_not_said_is_the_default(void **state) {
    fixture *f = *state;
    static const char said[] = FIRST "access x.0  width 4 policy default\n";
    ir_plan *plan = read(f, FIRST "access x.0 width 4\n");
    assert_string_equal(print(f, plan), said);
    assert_int_equal(ir_plan_hash(&f->arena, plan), ir_plan_hash(&f->arena, read(f, said)));
}

static const char *replaced(fixture *f, const char *text, const char *old, const char *new) {
    base_text out;
    base_text_init(&out, &f->arena);
    const char *at = text, *found = strstr(text, old);
    assert_non_null(found);
    for (; found != NULL; found = strstr(at, old)) {
        base_text_append(&out, at, (size_t)(found - at));
        base_text_string(&out, new);
        at = found + strlen(old);
    }
    base_text_string(&out, at);
    return out.bytes;
}

static void names_do_not_change_the_hash(void **state) {
    fixture *f = *state;
    static const char *const renamings[][2] = {
        {"plan softmax", "plan other"}, {"x.0", "weights.0"}, {"axis row", "axis b"},
        {"axis N", "axis width"},       {"for N", "for K"},   {"keep e", "keep exp.0"},
        {"keep t", "keep values"},
    };
    uint64_t hash = ir_plan_hash(&f->arena, read(f, softmax));
    for (size_t i = 0; i < sizeof renamings / sizeof renamings[0]; i++)
        assert_int_equal(ir_plan_hash(&f->arena, read(f, replaced(f, softmax, renamings[i][0],
                                                                  renamings[i][1]))),
                         hash);
}

static void a_shift_is_hashed_by_the_place_of_its_access(void **state) {
    fixture *f = *state;
    const char *text = replaced(f, softmax, "step 128", "step 128 shift x.0");
    const char *renamed = replaced(f, text, "x.0", "w.0");
    const char *other = replaced(f, softmax, "step 128", "step 128 shift y.0");
    assert_string_equal(print(f, read(f, text)), text);
    assert_int_equal(ir_plan_hash(&f->arena, read(f, renamed)),
                     ir_plan_hash(&f->arena, read(f, text)));
    assert_int_not_equal(ir_plan_hash(&f->arena, read(f, other)),
                         ir_plan_hash(&f->arena, read(f, text)));
}

static void every_decision_changes_the_hash(void **state) {
    fixture *f = *state;
    static const char *const changes[][2] = {
        {"5d1e8c0a91b2f733", "5d1e8c0a91b2f734"},
        {"avx2", "avx512"},
        {"N = 4096", "N = 4097"},
        {"step 128", "step *"},
        {"step 128", "step 128 shift x.0"},
        {"lane 8", "lane 4"},
        {"lane 8 | slot 4", "slot 4 | lane 8"},
        {"e        private", "e        reload"},
        {"x.0    width 8", "x.0    width 4"},
        {"8 policy default", "8 policy stream"},
        {"default early", "default"},
        {" prefetch 2 in 1", ""},
        {"prefetch 2", "prefetch 1"},
        {"2 in 1", "2 in 0"},
        {"8 policy stream", "8 policy default"},
        {"reduce sum.0  canonical\n", ""},
        {"sum.0  canonical", "sum.0  tree"},
        {"math exp.0    portable\n", ""},
        {"exp.0    portable", "exp.0    native"},
        {"exp.0    portable", "exp.0    flushed"},
        {"div.0     exact", "div.0     reciprocal"},
        {" for N = 4096", ""},
    };
    uint64_t hash = ir_plan_hash(&f->arena, read(f, softmax));
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++)
        assert_int_not_equal(
            ir_plan_hash(&f->arena, read(f, replaced(f, softmax, changes[i][0], changes[i][1]))),
            hash);
}

static void faults_are_reported_where_they_stand(void **state) {
    fixture *f = *state;
    static const struct {
        const char *text, *slug;
        int line, column;
    } cases[] = {
        {"", "plan-syntax", 1, 1},
        {"plam k", "plan-syntax", 1, 1},
        {"plan 3 canon", "plan-syntax", 1, 6},
        {"plan k canon 5D1E8C0A91B2F733 machine m\n", "plan-number", 1, 14},
        {"plan k canon 5d1e machine m\n", "plan-number", 1, 14},
        {"plan k canon 5d1e8c0a91b2f733 machine\n", "plan-syntax", 1, 38},
        {"plan k canon 5d1e8c0a91b2f733 machine m for N\n", "plan-syntax", 1, 46},
        {"plan k canon 5d1e8c0a91b2f733 machine m for N = -1\n", "plan-number", 1, 49},
        {"plan k canon 5d1e8c0a91b2f733 machine m N = 1\n", "plan-syntax", 1, 41},
        {FIRST "hold e private\n", "plan-syntax", 2, 1},
        {FIRST "axis N lane 8 | lane 8 @4\n", "plan-digits", 2, 17},
        {FIRST "axis N lane 8 | step 0\n", "plan-digits", 2, 22},
        {FIRST "axis N lane 8 step 2\n", "plan-syntax", 2, 15},
        {FIRST "axis N lane 8 shift\n", "plan-syntax", 2, 20},
        {FIRST "axis N shift x.0\n", "plan-digits", 2, 8},
        {FIRST "keep e shared\n", "plan-choice", 2, 8},
        {FIRST "keep e none\n", "plan-choice", 2, 8},
        {FIRST "keep\n", "plan-syntax", 2, 5},
        {FIRST "reduce max.0 leftmost\n", "plan-choice", 2, 14},
        {FIRST "access x.0 width 0\n", "plan-number", 2, 18},
        {FIRST "access x.0 width 9999999999999999999\n", "plan-number", 2, 18},
        {FIRST "access x.0 width 4 policy keep\n", "plan-choice", 2, 27},
        {FIRST "access x.0 width 4 policy\n", "plan-choice", 2, 26},
        {FIRST "access x.0 width 4 stream\n", "plan-syntax", 2, 20},
        {FIRST "access x.0 policy stream width 4\n", "plan-syntax", 2, 12},
        {FIRST "math exp.0 exact\n", "plan-choice", 2, 12},
        {FIRST "div div.0 native\n", "plan-choice", 2, 11},
        {FIRST "keep e private\nkeep e reload\n", "plan-repeats", 3, 6},
        {FIRST "\x80 e\n", "plan-syntax", 2, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_null(read_bytes(f, cases[i].text, strlen(cases[i].text)));
        const base_diagnostic *first = &f->diagnostics.items[0];
        if (f->diagnostics.count != 1 || strcmp(first->slug, cases[i].slug) != 0 ||
            first->location.line != cases[i].line || first->location.column != cases[i].column)
            fail_msg("%s\ngave %s at %d:%d, %d findings", cases[i].text, first->slug,
                     first->location.line, first->location.column, f->diagnostics.count);
    }
}

static void damaged_plans_are_refused_or_come_back(void **state) {
    fixture *f = *state;
    static const char changes[] = {'\0', '\n', '"', '%', '#', '|', '*', '9', 'a', ' ', '\x80'};
    for (size_t at = 0; at < sizeof softmax - 1; at++) {
        for (size_t c = 0; c < sizeof changes; c++) {
            char *text = base_arena_copy(&f->arena, softmax, sizeof softmax - 1);
            text[at] = changes[c];
            ir_plan *plan = read_bytes(f, text, sizeof softmax - 1);
            assert_true((plan == NULL) == (f->diagnostics.count > 0));
            if (plan != NULL) {
                const char *once = print(f, plan);
                assert_string_equal(print(f, read(f, once)), once);
            }
        }
    }
}

static void several_faults_are_reported_in_one_run(void **state) {
    fixture *f = *state;
    const char *text = FIRST "keep e shared\naxis N step 0\nkeep t private\nmath exp.0\n";
    assert_null(read_bytes(f, text, strlen(text)));
    assert_int_equal(f->diagnostics.count, 3);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(canonical_plans_come_back_byte_for_byte),
        TEST(blanks_comments_and_order_of_kinds_are_free),
        TEST(a_policy_that_is_not_said_is_the_default),
        TEST(names_do_not_change_the_hash),
        TEST(a_shift_is_hashed_by_the_place_of_its_access),
        TEST(every_decision_changes_the_hash),
        TEST(faults_are_reported_where_they_stand),
        TEST(damaged_plans_are_refused_or_come_back),
        TEST(several_faults_are_reported_in_one_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
