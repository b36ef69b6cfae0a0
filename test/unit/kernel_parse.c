/* Kernel text, syntax: what each broken text is reported as and where; limits; whole files. */
#include "kernel_fixture.h"

#include <stdlib.h>

#define HEAD "kernel f(x: in f32[R, N], y: out f32[R, N]) {\n"

typedef struct parse_case {
    const char *text;
    const char *findings;
} parse_case;

static const parse_case cases[] = {
    /* fine */
    {HEAD "}", ""},
    {HEAD "a = 1 + 2 * -3 // 4 % 5\n}", ""},
    {HEAD "a = (1 +\n 2)\n b = f(1,\n 2)\n}", ""},
    {HEAD "if a { b = 1 } else if c { b = 2 }\n else { b = 3 }\n}", ""},
    {HEAD "for k in 0..N step 4 { y[k, : +3] = x[1 : 2, None] }\n}", ""},
    {HEAD "y[i, unique] = x[i, fill=0.0]\n}", ""},
    {"# a comment\n\nkernel f()\n{\n}\r\n", ""},
    {"kernel f(a: f32 = 1e-5, B: const = 64, T: f32 | f16, x: in T[dynamic N, 8, 2 * N]) {}", ""},
    {HEAD "a = 0x1f + 1_000 + 0x1.8p3 + 1. + .5 + 1e5\n}", ""},
    {HEAD "a = -9223372036854775808\n}", ""},
    /* expressions */
    {HEAD "a = 1 +\nb = 2\n}", "syntax 2:8"},
    {HEAD "a = (1 + 2\nb = 2\n}", "syntax 3:1"},
    {HEAD "a = 1 < 2 < 3\n}", "comparison-chain 2:11"},
    {HEAD "a = (1 < 2) < 3\n}", ""},
    {HEAD "a = +1\n}", "syntax 2:5"},
    {HEAD "a = x[0:1:2]\n}", "syntax 2:10"},
    {HEAD "a = x[fil=1]\n}", "unknown-keyword 2:7"},
    {HEAD "a = b c\n}", "syntax 2:7"},
    {HEAD "a = b and c\n}", "syntax 2:7"},
    {HEAD "a = if\n}", "syntax 2:5"},
    {HEAD "a = b && c\n}", "unexpected-character 2:7"},
    {HEAD "a = b ** c\n}", "unexpected-character 2:7"},
    {HEAD "a += b\n}", "unexpected-character 2:3"},
    {HEAD "a = b; c = d\n}", "unexpected-character 2:6"},
    {HEAD "a = \"b\"\n}", "unexpected-character 2:5, unexpected-character 2:7"},
    {HEAD "a = \xc3\xa9\n}", "unexpected-character 2:5, syntax 2:7"},
    {HEAD "a = 1__0\n}", "malformed-number 2:5"},
    {HEAD "a = 1_\n}", "malformed-number 2:5"},
    {HEAD "a = 12ab\n}", "malformed-number 2:5"},
    {HEAD "a = 0x\n}", "malformed-number 2:5"},
    {HEAD "a = 1e\n}", "malformed-number 2:5"},
    {HEAD "a = 1e999\n}", "literal-range 2:5"},
    {HEAD "a = 9223372036854775808\n}", "literal-range 2:5"},
    {HEAD "a = 99999999999999999999\n}", "literal-range 2:5"},
    /* statements: each is reported, the next is read */
    {HEAD "a = )\nb = ]\nc = 1\n}", "syntax 2:5, syntax 3:5"},
    {HEAD "1 = a\n}", "syntax 2:1"},
    {HEAD "f(a) = 1\n}", "assignment-target 2:1"},
    {HEAD "a == 1\n}", "expected-statement 2:3"},
    {HEAD "f(a)\n}", "expected-statement 2:1"},
    {HEAD "else { }\n}", "syntax 2:1"},
    {HEAD "for k = 0..4 { }\n}", "syntax 2:7"},
    {HEAD "for k in 4 { }\n}", "syntax 2:12"},
    {HEAD "for if in 0..4 { }\n}", "reserved-name 2:5"},
    {HEAD "a = 1 b = 2\n}", "syntax 2:7"},
    {HEAD "program a: R, b: R, c: R, d: R, e: R\n}", "program-axes 2:33"},
    {HEAD "a = 1\n", "syntax 3:1"},
    {HEAD "a = 1\nkernel g() {}", "syntax 3:1"},
    /* signatures */
    {"kernel f(x: in f32[N], x: out f32[N]) {}", "repeated-parameter 1:24"},
    {"kernel f(x: in f31[N]) {}", "unknown-type 1:16"},
    {"kernel f(x: in f64[N]) {}", "unknown-type 1:16"},
    {"kernel f(x: f32[N]) {}", "syntax 1:16"},
    {"kernel f(x: in f32) {}", "syntax 1:19"},
    {"kernel f(x: in f32[2 * N]) {}", "unbound-size 1:24"},
    {"kernel f(x: in f32[a, b, c, d, e]) {}", "rank-limit 1:32"},
    {"kernel f(x: in f32[dynamic 4]) {}", "dynamic-size 1:20"},
    {"kernel f(x: in f32[N] = 1) {}", "syntax 1:23"},
    {"kernel f(a: f32 = b) {}", "default-value 1:19"},
    {"kernel f(if: f32) {}", "reserved-name 1:10"},
    {"kernel f(f32: f32) {}", "reserved-name 1:10"},
    {"kernel f(T: f32 | f33) {}", "unknown-type 1:19"},
    {"kernel f(T: f32 | f32) {}", "repeated-type 1:19"},
    {"kernel f(L: layout = 3) {}", "default-value 1:22"},
    {"kernel f(L: layout = bits(0 {}", "syntax 1:22, syntax 1:29"},
    {"kernel f(L: layout = bits(0)[1]) {}", "syntax 1:29"},
    {"kernel f(L: layout[4]) {}", "syntax 1:19"},
    {"kernel f(a f32, b: f32) {}", "syntax 1:12"},
    {"kernel f() {}\nkernel f() {}", "repeated-kernel 2:8"},
    /* files */
    {"", "no-kernel 1:1"},
    {"x = 1\n", "syntax 1:1"},
    {"// the kernel\nkernel f() {}", "syntax 1:1"},
    {"kernel f() {}\nx = 1\nkernel g() {}", "syntax 2:1"},
};

static void each_text_is_reported_where_it_is_wrong(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kernel_fixture f;
        kernel_fixture_init(&f, cases[i].text, strlen(cases[i].text));
        text_file_parse(&f.arena, &f.source, &f.diagnostics);
        if (strcmp(kernel_findings(&f), cases[i].findings) != 0) {
            print_message("text:\n%s\nexpected: %s\n%s", cases[i].text, cases[i].findings,
                          kernel_rendered(&f));
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

/* `before`, `count` times `piece`, `after` gives exactly these findings (NULL: any, but some). */
static void check_repeated(const char *before, const char *piece, int count, const char *after,
                           const char *findings) {
    size_t length = strlen(before) + strlen(piece) * (size_t)count + strlen(after);
    char *text = malloc(length + 1);
    char *end = stpcpy(text, before);
    for (int i = 0; i < count; i++)
        end = stpcpy(end, piece);
    stpcpy(end, after);
    kernel_fixture f;
    kernel_fixture_init(&f, text, length);
    text_file_parse(&f.arena, &f.source, &f.diagnostics);
    if (findings != NULL)
        assert_string_equal(kernel_findings(&f), findings);
    assert_true(f.diagnostics.count > 0);
    assert_true(strlen(kernel_rendered(&f)) < 20000);
    kernel_fixture_free(&f);
    free(text);
}

static void nesting_stops_at_a_limit(void **state) {
    (void)state;
    enum { DEEP = 50000 };
    check_repeated(HEAD "a = ", "(", DEEP, "\n}", "nesting-limit 2:205");
    check_repeated(HEAD "a = ", "-", DEEP, "1\n}", "nesting-limit 2:205");
    check_repeated(HEAD "a = ", "~", DEEP, "1\n}", "nesting-limit 2:205");
    check_repeated(HEAD "a = ", "f(", DEEP, "\n}", "nesting-limit 2:405");
    check_repeated(HEAD "a = ", "x[", DEEP, "\n}", "nesting-limit 2:405");
    check_repeated(HEAD "a = x", "[0]", DEEP, "\n}", "nesting-limit 2:5");
    check_repeated(HEAD "a = ", "1 + ", DEEP, "1\n}", "nesting-limit 2:4003");
    check_repeated(HEAD, "if a { ", DEEP, "\n}", NULL);
    check_repeated(HEAD, "for k in 0..1 { ", DEEP, "\n}", NULL);
    check_repeated(HEAD "if a {} ", "else if a {} ", DEEP, "\n}", NULL);
    check_repeated("kernel f(x: in f32[", "(", DEEP, "]) {}", NULL);
}

static void sizes_of_texts_are_bounded(void **state) {
    (void)state;
    check_repeated("kernel ", "a", 100000, "() {}", "name-too-long 1:8");
    check_repeated("kernel ", "a", 10000000, "() {}", "source-too-large 1:1048577");
    check_repeated("kernel f(", "a: f32, ", 200, ") {}", "parameter-limit 1:1034");
    check_repeated(HEAD "a = ", "1", 1000, "\n}", "malformed-number 2:5");
    check_repeated(HEAD, ") ( ] [ ", 10000, "\n}", NULL);
    check_repeated("", "\x80\xff garbage ", 50000, "", NULL);
    check_repeated("", "kernel f( ", 50000, "", NULL);
    check_repeated("", "@", 50000, "", NULL);
}

static void bytes_that_are_no_text_are_reported_once(void **state) {
    (void)state;
    static const char text[] = "kernel f() { # \0 \xff \0 \xfe\n}";
    kernel_fixture f;
    kernel_fixture_init(&f, text, sizeof text - 1);
    text_file_parse(&f.arena, &f.source, &f.diagnostics);
    assert_string_equal(kernel_findings(&f), "nul-byte 1:16, invalid-utf8 1:18");
    kernel_fixture_free(&f);
}

static void a_finding_shows_line_caret_and_hint(void **state) {
    (void)state;
    static const char text[] = HEAD "    a = 1 < 2 < 3\n}";
    kernel_fixture f;
    kernel_fixture_init(&f, text, sizeof text - 1);
    text_file_parse(&f.arena, &f.source, &f.diagnostics);
    assert_string_equal(kernel_rendered(&f),
                        "k:2:15: error: comparisons do not chain [comparison-chain]\n"
                        "    2 |     a = 1 < 2 < 3\n"
                        "      |               ^\n"
                        "  hint: write `(a < b) & (b < c)`; `&`, `|` and `^` bind tighter than "
                        "comparisons\n");
    kernel_fixture_free(&f);
}

/* What is habit elsewhere is answered with what to write here. */
static void habits_of_other_languages_have_hints(void **state) {
    (void)state;
    static const struct {
        const char *text, *hint;
    } habits[] = {
        {HEAD "a = where(b and c, d, e)\n}", "write `&`, with parentheses around comparisons"},
        {HEAD "if a { b = 1 } elif c { b = 2 }\n}", "write `else if`"},
        {HEAD "return a\n}", "a kernel returns nothing: it stores to its `out` parameters"},
        {HEAD "return\n}", "a kernel returns nothing: it stores to its `out` parameters"},
        {HEAD "for k in 0..4 { break }\n}", "a block may be empty, and a loop runs to its end"},
        {HEAD "var a = 1\n}", "a name is assigned without a declaration: `a = ...`"},
        {HEAD "a = 1\n + 2\n}",
         "an expression that goes on in the next line stands in parentheses"},
        {HEAD "// note\n}", "a comment starts with `#`"},
        {HEAD "if a:\n b = 1\n}", "braces stand around every block"},
        {HEAD "program row in R\n}", "write `program row: R`"},
        {"// a kernel for rows\nkernel f() {}", "a comment starts with `#`"},
        {"def f(x):\n", "a kernel is written `kernel name(x: in f32[N], ...) { ... }`"},
        {"kernel f(x: in float32[N]) {}", "write `f32`"},
    };
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        kernel_fixture f;
        kernel_fixture_init(&f, habits[i].text, strlen(habits[i].text));
        text_file_parse(&f.arena, &f.source, &f.diagnostics);
        assert_true(f.diagnostics.count > 0);
        assert_non_null(f.diagnostics.items[0].hint);
        assert_string_equal(f.diagnostics.items[0].hint, habits[i].hint);
        kernel_fixture_free(&f);
    }
}

static void kernels_are_found_by_name_or_when_alone(void **state) {
    (void)state;
    static const char text[] = "kernel a() {}\nkernel b() {}";
    kernel_fixture f;
    kernel_fixture_init(&f, text, sizeof text - 1);
    text_file *file = text_file_parse(&f.arena, &f.source, &f.diagnostics);
    assert_int_equal(text_file_count(file), 2);
    assert_string_equal(text_kernel_name(text_file_find(file, "b", &f.diagnostics)), "b");
    assert_int_equal(f.diagnostics.count, 0);
    assert_null(text_file_find(file, NULL, &f.diagnostics));
    assert_null(text_file_find(file, "c", &f.diagnostics));
    assert_string_equal(f.diagnostics.items[0].slug, "which-kernel");
    assert_string_equal(f.diagnostics.items[1].slug, "unknown-kernel");
    kernel_fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_text_is_reported_where_it_is_wrong),
        cmocka_unit_test(nesting_stops_at_a_limit),
        cmocka_unit_test(sizes_of_texts_are_bounded),
        cmocka_unit_test(bytes_that_are_no_text_are_reported_once),
        cmocka_unit_test(a_finding_shows_line_caret_and_hint),
        cmocka_unit_test(habits_of_other_languages_have_hints),
        cmocka_unit_test(kernels_are_found_by_name_or_when_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
