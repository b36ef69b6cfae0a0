/* Kernel text, meaning: what each statement becomes at level tile, and what each mistake is
 * reported as and where.
 *
 * kernel_lower_cases.h has the rules of types, domains and indices as IR, and one line for each
 * rule that can be broken. What is accepted must also satisfy the verifier and survive printing.
 */
#include "kernel_fixture.h"
#include "kernel_lower_cases.h"

#include "text/ir_parse.h"
#include "verify/verify.h"

/* Lines of a body count from 1 after these. */
enum { PARAMETER_LINES = 5 };
static const char parameters[] =
    "kernel f(x: in f32[R, N], h: in f16[R, N], i: in i32[R, N], l: in i64[N], u: in u32[N],\n"
    "         b: in i8[N], c: in u8[N], m: in bool[N], w: in f32[N], lut: in f32[256],\n"
    "         y: inout f32[R, N], yh: inout f16[R, N], yb: inout i8[N], z: inout f32[R],\n"
    "         n: i32 = 3, s: f32 = 1.5, B: const = 64, T: f32 | f16) {\n"
    "program row: R\n";

static void lower_body(kernel_fixture *f, char text[8192], const char *body,
                       const char *arguments) {
    snprintf(text, 8192, "%s%s}", parameters, body);
    kernel_fixture_lower(f, text, arguments);
}

static const char *body_findings(kernel_fixture *f) {
    for (int i = 0; i < f->diagnostics.count; i++)
        f->diagnostics.items[i].location.line -= PARAMETER_LINES;
    const char *findings = kernel_findings(f);
    for (int i = 0; i < f->diagnostics.count; i++)
        f->diagnostics.items[i].location.line += PARAMETER_LINES;
    return findings;
}

static const char *printed(kernel_fixture *f, const ir_module *module) {
    base_text out;
    base_text_init(&out, &f->arena);
    ir_module_print(&out, module, true);
    return out.bytes;
}

static bool survives_printing(kernel_fixture *f) {
    const char *text = printed(f, f->module);
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){"ir", text, strlen(text)};
    ir_module *again = text_ir_parse(&f->arena, source, &f->diagnostics);
    return again != NULL && strcmp(text, printed(f, again)) == 0;
}

static void each_statement_has_its_ir(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        kernel_fixture f;
        char text[8192];
        lower_body(&f, text, accepted[i].body, "");
        if (strcmp(kernel_body(&f), accepted[i].expected) != 0) {
            print_message("body:\n%s\nexpected:\n%s\nfound:\n%s", accepted[i].body,
                          accepted[i].expected, kernel_body(&f));
            failed++;
        } else if (!verify_module(f.module, NULL, &f.diagnostics) || !survives_printing(&f)) {
            print_message("body:\n%s\n%s", accepted[i].body, kernel_rendered(&f));
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

static void each_mistake_is_reported_where_it_is(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof rejected / sizeof rejected[0]; i++) {
        kernel_fixture f;
        char text[8192];
        lower_body(&f, text, rejected[i].body, "");
        assert_null(f.module);
        if (strcmp(body_findings(&f), rejected[i].expected) != 0) {
            print_message("body:\n%s\nexpected: %s\n%s", rejected[i].body, rejected[i].expected,
                          kernel_rendered(&f));
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

/* ---- literals ---- */

typedef struct literal_case {
    const char *expression;
    const char *constant; /* as printed beside an i32 (no point in it) or an f32 */
} literal_case;

static const literal_case literals[] = {
    {"1 + 2 * 3", "7"},
    {"7 - 10", "-3"},
    {"-7 // 2", "-4"},
    {"-7 % 3", "2"},
    {"7 // -2", "-4"},
    {"1 << 10", "1024"},
    {"-16 >> 2", "-4"},
    {"12 & 10 | 1", "9"},
    {"6 ^ 3", "5"},
    {"~5", "-6"},
    {"-(3)", "-3"},
    {"abs(-4)", "4"},
    {"B // 5", "12"},
    {"0x10 + 1_0", "26"},
    {"2147483647", "2147483647"},
    {"1 / 4", "0.25"},
    {"1.5 * 2", "3.0"},
    {"0.5 - 1", "-0.5"},
    {"1.0 / 3", "0.3333333432674408"},
    {"1 / 0", "inf"},
    {"-inf", "-inf"},
    {"inf - inf", "nan"},
    {"0x1.8p3", "12.0"},
    {"abs(-1.5)", "1.5"},
    {"-(0.0)", "-0.0"},
    {"16777217", "16777216.0"}, /* rounds beside a float, as 0.1 does */
};

static void arithmetic_of_literals_is_folded(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++) {
        bool real = strpbrk(literals[i].constant, ".in") != NULL;
        char body[128], expected[128], text[8192];
        snprintf(body, sizeof body, "a = %s + (%s)\n", real ? "s" : "n", literals[i].expression);
        snprintf(expected, sizeof expected, " = constant %s : %s\n", literals[i].constant,
                 real ? "f32" : "i32");
        kernel_fixture f;
        lower_body(&f, text, body, "");
        if (strstr(kernel_body(&f), expected) == NULL)
            fail_msg("%sexpected%sfound\n%s", body, expected, kernel_body(&f));
        kernel_fixture_free(&f);
    }
}

static void comparisons_of_literals_are_folded(void **state) {
    (void)state;
    static const char *const facts_about_numbers[] = {
        "1 < 2",    "~(2 < 1)", "2 <= 2",     "3 > 2.5",       "2 >= 2",
        "1 == 1.0", "1 != 2",   "nan != nan", "~(nan == nan)", "~(nan < 1)",
    };
    for (size_t i = 0; i < sizeof facts_about_numbers / sizeof facts_about_numbers[0]; i++) {
        bool negated = facts_about_numbers[i][0] == '~';
        char body[128], text[8192];
        snprintf(body, sizeof body, "z[row] = where(%s, 1.0, 2.0)\n", facts_about_numbers[i]);
        kernel_fixture f;
        lower_body(&f, text, body, "");
        if (strstr(kernel_body(&f), negated ? "constant false : bool" : "constant true : bool") ==
            NULL)
            fail_msg("%s%s", body, kernel_body(&f));
        kernel_fixture_free(&f);
    }
}

/* ---- sizes ---- */

static const layout_symbol *symbol(const kernel_fixture *f, const char *name) {
    for (int64_t i = 0; i < f->module->extents.symbol_count; i++)
        if (strcmp(f->module->extents.symbols[i].name, name) == 0)
            return &f->module->extents.symbols[i];
    return NULL;
}

static void widths_are_specialised_and_row_counts_are_not(void **state) {
    (void)state;
    kernel_fixture f;
    char text[8192];
    lower_body(&f, text, "y[row, :] = x[row, :]\n", "R=4 N=8");
    assert_false(symbol(&f, "R")->known);
    assert_true(symbol(&f, "N")->known);
    assert_int_equal(symbol(&f, "N")->value, 8);
    kernel_fixture_free(&f);
    lower_body(&f, text, "for k in 0..N { z[row] = x[row, k] }\n", "R=4 N=8");
    assert_false(symbol(&f, "N")->known); /* in no extent of a tile */
    kernel_fixture_free(&f);
    kernel_fixture_lower(&f,
                         "kernel f(x: in f32[R, dynamic N], y: out f32[R, N]) {\nprogram row: R\n"
                         "y[row, :] = x[row, :]\n}",
                         "R=4 N=8");
    assert_false(symbol(&f, "N")->known);
    kernel_fixture_free(&f);
}

static void whole_blocks_of_a_known_width_have_no_domain(void **state) {
    (void)state;
    static const char body[] = "y[row, :] = w[:]\n"
                               "for k in 0..N step 64 { y[row, k : +64] = x[row, k : +64] }\n";
    kernel_fixture f;
    char text[8192];
    lower_body(&f, text, body, "N=1024");
    assert_null(strstr(kernel_body(&f), "below"));
    kernel_fixture_free(&f);
    lower_body(&f, text, body, "N=1000");
    assert_non_null(strstr(kernel_body(&f), "below"));
    kernel_fixture_free(&f);
    lower_body(&f, text, body, "");
    assert_non_null(strstr(kernel_body(&f), "below"));
    kernel_fixture_free(&f);
}

static void an_index_beside_floats_is_refused_where_it_would_round(void **state) {
    (void)state;
    kernel_fixture f;
    char text[8192];
    lower_body(&f, text, "z[row] = s * N\n", "N=16777216");
    assert_non_null(f.module);
    kernel_fixture_free(&f);
    lower_body(&f, text, "z[row] = s * N\n", "N=16777217");
    assert_string_equal(body_findings(&f), "inexact-index 1:12");
    kernel_fixture_free(&f);
    lower_body(&f, text, "z[row] = s * row\n", "R=16777217");
    assert_non_null(f.module); /* the last row is 2^24 */
    kernel_fixture_free(&f);
    lower_body(&f, text, "z[row] = s * row\n", "R=16777218");
    assert_string_equal(body_findings(&f), "inexact-index 1:12");
    kernel_fixture_free(&f);
    lower_body(&f, text, "z[row] = s * f32(N)\n", "N=16777217");
    assert_non_null(f.module);
    kernel_fixture_free(&f);
}

/* ---- facts ---- */

typedef struct fact_case {
    const char *body;
    const char *facts; /* of the first access of `x` or `lut`: one letter per index, i = inside */
} fact_case;

static const fact_case facts[] = {
    {"a = x[row, 0]\n", "i-"}, /* N may be 0 */
    {"a = lut[255]\n", "i"},
    {"a = lut[256]\n", "-"},
    {"a = lut[n]\n", "-"},
    {"a = lut[n % 256]\n", "i"},
    {"a = lut[n & 255]\n", "i"},
    {"a = lut[minimum(maximum(n, 0), 255)]\n", "i"},
    {"a = lut[minimum(n, 255)]\n", "-"},
    {"a = lut[c[:]]\n", "i"},
    {"a = lut[b[:]]\n", "-"},
    {"a = lut[arange(256)]\n", "i"},
    {"a = lut[arange(257)]\n", "-"},
    {"a = lut[arange(2048) // 8]\n", "i"},
    {"a = lut[arange(2048) >> 3]\n", "i"},
    {"a = lut[arange(2049) // 8]\n", "-"},
    {"a = lut[arange(8)[:, None] * 32 + arange(32)[None, :]]\n", "i"},
    {"a = lut[arange(8)[:, None] * 33 + arange(32)[None, :]]\n", "-"},
    {"a = lut[255 - arange(256)]\n", "i"},
    {"a = lut[254 - arange(256)]\n", "-"},
    {"for k in 0..N { a = x[row, k] }\n", "ii"},
    {"for k in 0..N + 1 { a = x[row, k] }\n", "i-"},
    {"for k in 1..N { a = x[row, k - 1] }\n", "ii"},
    {"for k in 0..N { a = x[row, k - 1] }\n", "i-"},
    {"for k in 0..N { a = x[row, N - 1 - k] }\n", "ii"},
    {"for k in 0..4 { for j in 0..8 { a = lut[k * 8 + j] } }\n", "i"},
    {"for k in 0..row { a = x[k, 0] }\n", "i-"},
    {"a = lut[where(n > 0, 3, 200)]\n", "i"},
    {"a = lut[where(n > 0, 3, n)]\n", "-"},
    {"a = x[row, i[row, :]]\n", "i-"},
    {"a = x[row + 1, 0]\n", "--"},
};

typedef struct fact_state {
    const char *found;
    char text[8];
} fact_state;

static bool visit_facts(void *pointer, ir_op *op) {
    fact_state *state = pointer;
    if (op->opcode != IR_LOAD ||
        (strcmp(op->operands[0]->name, "x") != 0 && strcmp(op->operands[0]->name, "lut") != 0))
        return true;
    const ir_access *access = op->attributes.access;
    for (int d = 0; d < access->rank; d++)
        state->text[d] = access->index[d].inside ? 'i' : '-';
    return false;
}

static void indices_are_proved_inside_exactly_where_they_are(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        kernel_fixture f;
        char text[8192];
        fact_state found = {0};
        lower_body(&f, text, facts[i].body, "");
        assert_non_null(f.module);
        ir_region_walk(&f.module->body, visit_facts, &found);
        if (strcmp(found.text, facts[i].facts) != 0) {
            print_message("%sexpected %s, found %s\n", facts[i].body, facts[i].facts, found.text);
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

/* ---- types ---- */

static void type_parameters_choose_the_ir(void **state) {
    (void)state;
    static const char text[] = "kernel f(x: in T[R, N], y: out T[R, N], T: f32 | bf16) {\n"
                               "program row: R\ny[row, :] = T(x[row, :] * 2)\n}";
    kernel_fixture f;
    kernel_fixture_lower(&f, text, "");
    assert_null(strstr(kernel_body(&f), "bf16"));
    kernel_fixture_free(&f);
    kernel_fixture_lower(&f, text, "T=bf16");
    assert_string_equal(kernel_body(&f), "  %row = program row : index\n"
                                         "  %3 = load %x[%row, : N] : bf16<N>\n"
                                         "  %4 = cast %3 rounding=zero : f32<N>\n"
                                         "  %5 = constant 2.0 : f32\n"
                                         "  %6 = mul %4, %5 : f32<N>\n"
                                         "  %7 = cast %6 rounding=zero : bf16<N>\n"
                                         "  store %y[%row, : N], %7\n}\n");
    kernel_fixture_free(&f);
}

/* Loops inside loops whose carries all start as literals: each level would double the work. */
static void nested_literal_carries_stop_at_a_budget(void **state) {
    (void)state;
    enum { DEEP = 60 };
    base_text text;
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_text_init(&text, &arena);
    base_text_string(&text, "kernel f(z: out f32[1]) {\n");
    for (int i = 0; i < DEEP; i++)
        base_text_format(&text, "a%d = 0.0\nfor k%d in 0..2 {\n", i, i);
    for (int i = 0; i < DEEP; i++)
        base_text_format(&text, "a%d = a%d * 2.0 + f32(k%d)\n", i, i, i);
    for (int i = 0; i < DEEP; i++)
        base_text_string(&text, "}\n");
    base_text_string(&text, "z[0] = 0.0\n}\n");
    kernel_fixture f;
    kernel_fixture_lower(&f, text.bytes, "");
    assert_null(f.module);
    assert_string_equal(f.diagnostics.items[0].slug, "kernel-too-large");
    kernel_fixture_free(&f);
    base_arena_free(&arena);
}

static void outputs_must_be_written(void **state) {
    (void)state;
    kernel_fixture f;
    kernel_fixture_lower(&f, "kernel f(x: in f32[N], y: out f32[N]) {\na = x[0]\n}", "");
    assert_string_equal(kernel_findings(&f), "unwritten-output 1:24");
    kernel_fixture_free(&f);
    kernel_fixture_lower(&f, "kernel f(y: out f32[N]) {\na = y[0]\ny[0] = 1.0\n}", "");
    assert_string_equal(kernel_findings(&f), "read-of-out 2:5");
    kernel_fixture_free(&f);
}

static void shape_formulas_become_checks(void **state) {
    (void)state;
    kernel_fixture f;
    kernel_fixture_lower(&f,
                         "kernel f(x: in f32[2 * N, B], y: out f32[N], B: const = 4) {\n"
                         "y[:] = x[: N, 0]\n}",
                         "B=8");
    assert_int_equal(f.module->check_count, 2);
    base_text out;
    base_text_init(&out, &f.arena);
    for (int64_t i = 0; i < f.module->check_count; i++) {
        layout_extent_print(&out, &f.module->extents, f.module->checks[i].expected);
        base_text_string(&out, ";");
    }
    assert_string_equal(out.bytes, "N * 2;8;");
    kernel_fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_statement_has_its_ir),
        cmocka_unit_test(each_mistake_is_reported_where_it_is),
        cmocka_unit_test(arithmetic_of_literals_is_folded),
        cmocka_unit_test(comparisons_of_literals_are_folded),
        cmocka_unit_test(widths_are_specialised_and_row_counts_are_not),
        cmocka_unit_test(whole_blocks_of_a_known_width_have_no_domain),
        cmocka_unit_test(an_index_beside_floats_is_refused_where_it_would_round),
        cmocka_unit_test(indices_are_proved_inside_exactly_where_they_are),
        cmocka_unit_test(type_parameters_choose_the_ir),
        cmocka_unit_test(nested_literal_carries_stop_at_a_budget),
        cmocka_unit_test(outputs_must_be_written),
        cmocka_unit_test(shape_formulas_become_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
