/* Layouts in kernels: what they become in the IR, and every way in which they are refused, with its
 * place. */
#include "kernel_fixture.h"

#include "pass/pass.h"

/* The kernel around a body that begins on line 3; L and M are the layouts of the parameters. */
#define HEAD                                                                                       \
    "kernel k(x: in f32[R, N], h: in f16[R, 64], y: out f32[R, N], z: inout f32[R, 64], N0: "      \
    "const = 64,\n"                                                                                \
    "         L: layout = bits(3, 4, 5, 0, 1, 2), M: layout) { program r: R\n"

/* Parses, binds M (and L, when given) and lowers; then canonicalises, where conflicts are found. */
static void open(kernel_fixture *f, const char *text, const char *l, const char *m) {
    text_argument arguments[3] = {
        {.name = "M", .kind = TEXT_ARGUMENT_LAYOUT, .layout = m},
        {.name = "N", .kind = TEXT_ARGUMENT_NUMBER, .is_integer = true, .integer = 64},
        {.name = "L", .kind = TEXT_ARGUMENT_LAYOUT, .layout = l}};
    kernel_fixture_init(f, text, strlen(text));
    text_file *file = text_file_parse(&f->arena, &f->source, &f->diagnostics);
    if (f->diagnostics.count > 0)
        return;
    f->kernel = text_file_at(file, 0);
    if (text_kernel_bind(&f->arena, f->kernel, arguments, l == NULL ? 2 : 3, true, &f->bindings,
                         &f->diagnostics))
        f->module = text_kernel_lower(&f->arena, f->kernel, &f->bindings, &f->diagnostics);
    pass_context context = {.diagnostics = &f->diagnostics};
    if (f->module != NULL && pass_canonicalise(f->module, &context) == PASS_FAILED)
        f->module = NULL;
}

/* ---- accepted ---- */
typedef struct accepted_case {
    const char *body, *l, *m;
    const char *line; /* of the module; NULL: there are no findings */
} accepted_case;

static const accepted_case accepted[] = {
    /* the default, an argument that overrides it, a layout in the text */
    {"o = arange(64, L)\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64)",
     "%o = arange 64 layout lane 4 @8 | subgroup 2 | lane 8 @1 : index<64>\n"},
    {"o = arange(64, L)\ny[r, o] = x[r, o]\n}\n", "identity(64, slots=2)", "identity(64)",
     "%o = arange 64 layout lane 32 | slot 2 : index<64>\n"},
    {"o = arange(64, bits(5, 0, 1, 2, 3, 4, slots=2))\ny[r, o] = x[r, o]\n}\n", NULL,
     "identity(64)", "%o = arange 64 layout slot 2 | lane 32 : index<64>\n"},
    {"v = convert(x[r, :], digits(slot 2 | lane 32))\ny[r, :] = v\n}\n", NULL, "identity(64)",
     "convert %5 layout slot 2 | lane 32 : f32<N>\n"},
    {"v = convert(x[r, :], digits(lane 4 @8 |\n  lane 8 @1 | slot 2,\n size=64))\ny[r, :] = v\n}\n",
     NULL, "identity(64)", "convert %5 layout lane 4 @8 | lane 8 @1 | slot 2 : f32<N>\n"},
    {"v = convert(x[r, :], blocked_cyclic(64, workers=32, vector=2))\ny[r, :] = v\n}\n", NULL,
     "identity(64)", "convert %5 layout slot 2 | lane 32 : f32<N>\n"},
    /* every spelling of the command line */
    {"o = arange(64, M)\ny[r, o] = x[r, o]\n}\n", NULL, "(32,2):(2,1)",
     "%o = arange 64 layout slot 2 | lane 32 : index<64>\n"},
    {"o = arange(64, M)\ny[r, o] = x[r, o]\n}\n", NULL, "register=[32] lane=[1,2,4,8,16]",
     "%o = arange 64 layout lane 32 | slot 2 : index<64>\n"},
    {"o = arange(64, M)\ny[r, o] = x[r, o]\n}\n", NULL, "gf2(lane 2 4 8 16 32 | slot 1, xor=0)",
     "%o = arange 64 layout slot 2 | lane 32 : index<64>\n"},
    {"o = arange(64, M)\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64, slots=2)",
     "%o = arange 64 layout lane 32 | slot 2 : index<64>\n"},
    /* constants of the kernel are numbers, also in an argument */
    {"o = arange(N0, identity(N0, slots = 2))\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64)",
     "%o = arange 64 layout lane 32 | slot 2 : index<64>\n"},
    {"o = arange(N0, M)\ny[r, o] = x[r, o]\n}\n", NULL, "digits(slot 2 | lane 32, size=N0)",
     "%o = arange 64 layout slot 2 | lane 32 : index<64>\n"},
    /* exclusive or; replicas; more owners than elements; threads that are no power of two */
    {"o = arange(64, bits(0, 1, 2, 3, 4, 5, xor=9))\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64)",
     "%o = arange 64 layout lane 32 | subgroup 2 xor 9 : index<64>\n"},
    {"o = arange(64, digits(lane 16 | slot 4; replicate lane 2))\ny[r, o] = x[r, o]\n}\n", NULL,
     "identity(64)", "%o = arange 64 layout lane 16 | slot 4 : index<64>\n"},
    {"o = arange(N0 - 4, L)\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64)",
     "%o = arange 60 layout lane 4 @8 | subgroup 2 | lane 8 @1 : index<60>\n"},
    {"o = arange(64, digits(lane 32 | subgroup 3))\ny[r, o] = x[r, o]\n}\n", NULL, "identity(64)",
     "%o = arange 64 layout lane 32 | subgroup 3 : index<64>\n"},
    /* slots are made up to a power of two */
    {"o = arange(64, blocked_cyclic(190, workers=32, vector=2))\ny[r, o] = x[r, o]\n}\n", NULL,
     "identity(32)", "%o = arange 64 layout slot 2 | lane 32 | slot 4 : index<64>\n"},
    {"v = convert(x[r, :], digits(lane 32 | slot 3))\ny[r, :] = v\n}\n", NULL, "identity(32)",
     "convert %5 layout lane 32 | slot 4 : f32<N>\n"},
    /* the owner goes on through arithmetic, compare, select, cast and load; slots may differ */
    {"o = arange(64, L)\nh2 = f32(h[r, o])\nv = where(h2 < o % 2, -h2, h2 * 2)\n"
     "y[r, o] = v\n}\n",
     NULL, "identity(64)", NULL},
    {"v = convert(x[r, :], L)\nw = convert(x[r, :], identity(128, slots=2))\n"
     "y[r, :] = convert(w, L) + v\n}\n",
     NULL, "identity(64)", "convert %5 layout lane 32 | subgroup 2 | slot 2 : f32<N>\n"},
    {"o = arange(64, L)\nacc = x[r, o]\nfor k in 0..3 { acc = acc + x[r, o] }\n"
     "if sum(acc) > 0.0 { acc = acc * 2.0 }\ny[r, o] = acc\n}\n",
     NULL, "identity(64)", NULL},
};

static void what_is_written_becomes_digits(void **unused) {
    (void)unused;
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        kernel_fixture f;
        char kernel[2048];
        snprintf(kernel, sizeof kernel, "%s%s", HEAD, accepted[i].body);
        open(&f, kernel, accepted[i].l, accepted[i].m);
        const char *body = kernel_body(&f);
        const char *line = accepted[i].line == NULL ? "store" : accepted[i].line;
        if (strstr(body, line) == NULL)
            fail_msg("%s\n%s", kernel, body);
        kernel_fixture_free(&f);
    }
}

/* ---- rejected ---- */
typedef struct rejected_case {
    const char *body, *l, *m;
    const char *findings;
} rejected_case;

#define O   "o = arange(64, L)\n"
#define P   "p = arange(64, bits(1, 0, 2, 3, 4, 5))\n"
#define END "y[r, :] = 0.0\n}\n"

static const rejected_case rejected[] = {
    /* texts that are no layouts, in the kernel and in an argument */
    {"o = arange(64, bits(0, 1, 1, 2, 3, 4))\n" END, NULL, "identity(64)",
     "layout-duplicate-bit 3:27"},
    {"o = arange(64, bits(0, 1, 2, 3,\n    4, 9))\n" END, NULL, "identity(64)",
     "layout-bijection 4:8"},
    {"o = arange(64, bits(0, 1, 2, 3, 4, 5, xor=70))\n" END, NULL, "identity(64)",
     "layout-mask 3:43"},
    {"o = arange(64, digits(lane 32 | slab 2))\n" END, NULL, "identity(64)", "layout-digits 3:33"},
    {"o = arange(64, digits(lane 32 | lane 2 @8))\n" END, NULL, "identity(64)",
     "layout-stride 3:33"},
    {"o = arange(64, identity(64, slots=3))\n" END, NULL, "identity(64)", "layout-slots 3:35"},
    {"o = arange(64, blocked_cyclic(64, workers=32, vector=2, shift=2))\n" END, NULL,
     "identity(64)", "layout-shift 3:63"},
    {"o = arange(64, bits(0, 1\n" END, NULL, "identity(64)", "syntax 3:16"},
    {END, NULL, "bits(0, 1, 1, 2, 3, 4)", "layout-duplicate-bit 1:12"},
    {END, "lane=[1,2] lane=[4]", "identity(64)", "layout-argument 1:12"},
    {END, NULL, "", "layout-syntax 1:1"},
    /* layouts that a kernel cannot have */
    {"o = arange(64, identity(16))\n" END, NULL, "identity(64)", "layout-geometry 3:16"},
    {"o = arange(64, identity(4096, slots=2))\n" END, NULL, "identity(64)", "layout-geometry 3:16"},
    {"o = arange(64, identity(2048, slots=64))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 16 | slot 4))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 16 | subgroup 4))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 64))\n" END, NULL, "identity(64)", "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 32 | subgroup 64))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 32 | slot 2048))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(slot 3 | lane 32))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 32 | slot 65))\n" END, NULL, "identity(64)",
     "layout-geometry 3:16"},
    {"o = arange(64, digits(lane 32 | step 2))\n" END, NULL, "identity(64)",
     "unsupported-layout 3:16"},
    {"o = arange(64, digits(lane 32 | block 2))\n" END, NULL, "identity(64)",
     "unsupported-layout 3:16"},
    {"o = arange(64, digits(lane 8; lane 4 | slot 2))\n" END, NULL, "identity(64)",
     "unsupported-layout 3:16"},
    {"o = arange(64, gf2(lane 3 2 4 8 16 | slot 32, xor=0))\n" END, NULL, "identity(64)",
     "unsupported-layout 3:16"},
    {"o = arange(64, blocked_cyclic(63, workers=32, vector=2, shift=1))\n" END, NULL,
     "identity(64)", "unsupported-layout 3:16"},
    /* sizes */
    {"o = arange(65, L)\n" END, NULL, "identity(64)", "layout-size 3:16"},
    {"v = convert(x[r, :], M)\n" END, NULL, "identity(32)", "layout-size 3:22"},
    {"o = arange(60, bits(0, 1, 2, 3, 4, 5, xor=1))\n" END, NULL, "identity(64)",
     "layout-size 3:16"},
    {"o = arange(64, identity(N0, slots=N))\n" END, NULL, "identity(64)", "layout-syntax 3:35"},
    {"o = arange(64, identity(N0, slots=3))\n" END, NULL, "identity(64)", "layout-slots 3:35"},
    {"o = arange(N0 - 64, L)\n" END, NULL, "identity(64)", "layout-size 3:21"},
    {"o = arange(R, L)\n" END, NULL, "identity(64)", "layout-size 3:15"},
    /* what is no layout, no tile, no value */
    {"o = arange(64, 3)\n" END, NULL, "identity(64)", "layout-expected 3:16"},
    {"o = arange(64, Q)\n" END, NULL, "identity(64)", "layout-expected 3:16"},
    {"o = arange(64, N0)\n" END, NULL, "identity(64)", "layout-expected 3:16"},
    {"v = convert(sum(x[r, :]), L)\n" END, NULL, "identity(64)", "convert-scalar 3:13"},
    {"v = convert(2.0, L)\n" END, NULL, "identity(64)", "convert-scalar 3:13"},
    {"v = convert(x[:, :], L)\n" END, NULL, "identity(64)", "unsupported-layout 3:13"},
    {"a = L + 1\n" END, NULL, "identity(64)", "layout-as-value 3:5"},
    {"a = bits(0, 1)\n" END, NULL, "identity(64)", "layout-as-value 3:5"},
    {"v = convert(x[r, :])\n" END, NULL, "identity(64)", "argument-count 3:5"},
    {"o = arange(64, L, M)\n" END, NULL, "identity(64)", "argument-count 3:5"},
    /* one number of threads */
    {O "p = arange(64, M)\n" END, NULL, "identity(64, slots=2)", "threads-differ 4:16"},
    {O "p = arange(64, L)\nq = convert(x[r, o], identity(128))\n" END, NULL, "identity(64)",
     "threads-differ 5:22"},
    /* two owners in one class, named by both values and both layouts */
    {O P "y[r, o] = x[r, o] + x[r, p]\n}\n", NULL, "identity(64)", "layout-conflict 5:19"},
    {O P "a = o < p\ny[r, o] = where(a, 1.0, 0.0)\n}\n", NULL, "identity(64)",
     "layout-conflict 5:7"},
    {O P "y[r, o] = where(o < 3, x[r, o], x[r, p])\n}\n", NULL, "identity(64)",
     "layout-conflict 5:11"},
    {O P "a = o + f32(h[r, p])\ny[r, o] = a\n}\n", NULL, "identity(64)", "layout-conflict 5:7"},
    {O P "y[r, :] = convert(x[o, p], M)\n}\n", NULL, "identity(64)", "layout-conflict 5:19"},
    {O P "y[r, p] = x[r, o]\n}\n", NULL, "identity(64)", "layout-conflict 5:1"},
    {O P "y[o, p, unique] = 1.0\n}\n", NULL, "identity(64)", "layout-conflict 5:1"},
    {O P "a = x[r, o]\nfor k in 0..4 { a = a + x[r, p] }\ny[r, o] = a\n}\n", NULL, "identity(64)",
     "layout-conflict 6:23"},
    {O P "a = x[r, o]\nfor k in 0..4 { a = x[r, p] }\ny[r, o] = a\n}\n", NULL, "identity(64)",
     "layout-conflict 6:1"},
    {O P "if r > 2 {\na = x[r, o] } else { a = x[r, p] }\ny[r, o] = a\n}\n", NULL, "identity(64)",
     "layout-conflict 5:1"},
    /* two owned axes of one tile */
    {O "t = x[r, o]\na = t[:, None] * t[None, :]\n" END, NULL, "identity(64)", "layout-axes 5:16"},
    {O "p = arange(32, M)\nx2 = x[r, o]\na = x2[:, None] < p[None, :]\n" END, NULL, "identity(64)",
     "layout-axes 6:17"},
    {O "z[o[:, None], o[None, :], unique] = 1.0\n" END, NULL, "identity(64)", "layout-axes 4:1"},
    {O P "a = x[r, :] + x[r, o]\nb = exp(a)\nc = x[r, p]\ny[r, :] = b - c\n}\n", NULL,
     "identity(64)", "layout-conflict 8:13"},
};

static void what_is_wrong_is_said_where_it_stands(void **unused) {
    (void)unused;
    int failed = 0;
    for (size_t i = 0; i < sizeof rejected / sizeof rejected[0]; i++) {
        kernel_fixture f;
        char kernel[2048];
        snprintf(kernel, sizeof kernel, "%s%s", HEAD, rejected[i].body);
        open(&f, kernel, rejected[i].l, rejected[i].m);
        if (strcmp(kernel_findings(&f), rejected[i].findings) != 0) {
            print_message("%sexpected: %s\nfound: %s\n%s", rejected[i].body, rejected[i].findings,
                          kernel_findings(&f), kernel_rendered(&f));
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

/* ---- words ---- */
static void a_conflict_names_both_values_and_both_layouts(void **unused) {
    (void)unused;
    kernel_fixture f;
    open(&f, HEAD O P "w = x[r, p] * 2.0\nv = x[r, o]\ny[r, o] = v + w\n}\n", NULL, "identity(64)");
    assert_string_equal(
        kernel_rendered(&f),
        "k:7:13: error: `v` and `w` belong to different threads [layout-conflict]\n"
        "    7 | y[r, o] = v + w\n"
        "      |             ^\n"
        "  found: `v` is owned as `bits(3, 4, 5, 0, 1, 2)`, `w` as `bits(1, 0, 2, 3, 4, 5)`\n"
        "  expected: one layout for the tiles that meet in an operation\n"
        "  hint: `convert(w, bits(3, 4, 5, 0, 1, 2))` gives it the same owners\n");
    kernel_fixture_free(&f);
}

static void two_values_of_one_name_have_their_places(void **unused) {
    (void)unused;
    kernel_fixture f;
    open(&f,
         HEAD O P "v = x[r, o]\nif r == 0 { v = convert(x[r, p], identity(64)) }\n"
                  "y[r, o] = v\n}\n",
         NULL, "bits(3, 4, 5, 0, 1, 2)");
    const char *text = kernel_rendered(&f);
    assert_non_null(strstr(text, "error: `v` of 5:5 and `v` of 6:17 belong to different threads"));
    kernel_fixture_free(&f);
}

static void threads_that_differ_come_with_a_layout_of_the_others(void **unused) {
    (void)unused;
    kernel_fixture f;
    open(&f,
         HEAD "v = x[r, arange(64, identity(64))]\n"
              "y[r, arange(64, identity(64, slots=2))] = v\n}\n",
         NULL, "identity(64)");
    assert_non_null(strstr(kernel_rendered(&f), "legal is, for one, `identity(64, slots=1)`"));
    kernel_fixture_free(&f);
}

static void a_layout_that_is_missing_or_of_another_kind_is_reported(void **unused) {
    (void)unused;
    const char *text = HEAD END;
    text_argument number = {.name = "L", .kind = TEXT_ARGUMENT_NUMBER, .is_integer = true};
    kernel_fixture f;
    kernel_fixture_init(&f, text, strlen(text));
    text_file *file = text_file_parse(&f.arena, &f.source, &f.diagnostics);
    assert_false(text_kernel_bind(&f.arena, text_file_at(file, 0), &number, 1, true, &f.bindings,
                                  &f.diagnostics));
    assert_string_equal(kernel_findings(&f), "argument-kind 2:10, missing-argument 2:46");
    kernel_fixture_free(&f);
}

/* ---- the canonical hash ---- */
static uint64_t hash_of(const char *body, const char *l) {
    kernel_fixture f;
    char kernel[2048];
    snprintf(kernel, sizeof kernel, "%s%s", HEAD, body);
    open(&f, kernel, l, "identity(64)");
    if (f.module == NULL)
        fail_msg("%s", kernel_rendered(&f));
    uint64_t hash = pass_canonical_hash(f.module);
    kernel_fixture_free(&f);
    return hash;
}

/* Equal index tiles that lie with different layouts are told apart by what they lie with. */
static void the_hash_knows_layouts_and_no_order(void **unused) {
    (void)unused;
    const char *one = "i = arange(64)\nj = arange(64)\no = arange(64, L)\np = arange(64, M)\n"
                      "y[r, o] = x[r, i] + x[r, o]\nz[r, p] = x[r, j] * x[r, p]\n}\n";
    const char *other = "p = arange(64, M)\na = arange(64)\nv = x[r, p]\nz[r, p] = x[r, a] * v\n"
                        "o = arange(64, L)\nb = arange(64)\ny[r, o] = x[r, b] + x[r, o]\n}\n";
    const char *moved = "p = arange(64, L)\na = arange(64)\nv = x[r, p]\nz[r, p] = x[r, a] * v\n"
                        "o = arange(64, M)\nb = arange(64)\ny[r, o] = x[r, b] + x[r, o]\n}\n";
    assert_int_equal(hash_of(one, NULL), hash_of(other, NULL));
    assert_true(hash_of(one, NULL) != hash_of(moved, NULL));
    assert_true(hash_of(one, NULL) != hash_of(one, "bits(3, 4, 5, 0, 1, 2, xor=1)"));
    assert_int_equal(hash_of(one, NULL), hash_of(one, "gf2(lane 8 16 32 1 2 | subgroup 4, xor=0)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_becomes_digits),
        cmocka_unit_test(what_is_wrong_is_said_where_it_stands),
        cmocka_unit_test(a_conflict_names_both_values_and_both_layouts),
        cmocka_unit_test(the_hash_knows_layouts_and_no_order),
        cmocka_unit_test(two_values_of_one_name_have_their_places),
        cmocka_unit_test(threads_that_differ_come_with_a_layout_of_the_others),
        cmocka_unit_test(a_layout_that_is_missing_or_of_another_kind_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
