/* Binding: which arguments fit a signature, what they bind, and what is said of those that do not.
 */
#include "kernel_fixture.h"

static const char text[] =
    "kernel f(x: in T[R, N], w: in f32[N], p: in f32[N // 2, 4], y: out T[R, 2 * N], label: in "
    "I[R],\n"
    "         eps: f32 = 1e-5, k: i32, flag: bool = true, B: const = 64, C: const,\n"
    "         T: f32 | f16 | bf16, I: i32 | i64) {\n"
    "}\n";

/* One argument: `x=f16:4x8`, `y=?:?` (open), `N=8`, `eps=0.5`, `T=f16`. */
static text_argument read_argument(kernel_fixture *f, const char *word, size_t length) {
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)length, word);
    char *equals = strchr(copy, '=');
    char *colon = strchr(copy, ':');
    text_argument argument = {.name = base_arena_copy(&f->arena, copy, (size_t)(equals - copy))};
    const char *value = equals + 1;
    if (colon == NULL) {
        if (base_dtype_from_name(value, strlen(value), &argument.dtype)) {
            argument.kind = TEXT_ARGUMENT_DTYPE;
            return argument;
        }
        argument.kind = TEXT_ARGUMENT_NUMBER;
        base_number_parse(value, strlen(value), &argument.number);
        argument.integer = (int64_t)argument.number;
        argument.is_integer = (double)argument.integer == argument.number;
        return argument;
    }
    argument.kind = TEXT_ARGUMENT_TENSOR;
    argument.dtype_open = !base_dtype_from_name(value, (size_t)(colon - value), &argument.dtype);
    argument.extent_open = colon[1] == '?';
    for (const char *p = colon + 1; !argument.extent_open && *p != '\0';) {
        double number = 0;
        size_t digits = strcspn(p, "x");
        base_number_parse(p, digits, &number);
        argument.extent[argument.rank++] = (int64_t)number;
        p += digits;
        p += *p == 'x';
    }
    return argument;
}

static bool bind_words(kernel_fixture *f, const char *words, bool partial) {
    text_argument arguments[20];
    int count = 0;
    kernel_fixture_init(f, text, sizeof text - 1);
    for (const char *p = words; *p != '\0' && count < 20;) {
        size_t length = strcspn(p, " ");
        arguments[count++] = read_argument(f, p, length);
        p += length;
        p += *p == ' ';
    }
    text_file *file = text_file_parse(&f->arena, &f->source, &f->diagnostics);
    assert_int_equal(f->diagnostics.count, 0);
    f->kernel = text_file_at(file, 0);
    return text_kernel_bind(&f->arena, f->kernel, arguments, count, partial, &f->bindings,
                            &f->diagnostics);
}

/* "T=f16 I=i32 R=4 N=8 B=64 C=1 x=f16:4x8 ... eps=1e-05" */
static const char *describe(kernel_fixture *f) {
    base_text out;
    base_text_init(&out, &f->arena);
    for (int i = 0; i < 2; i++)
        base_text_format(&out, "%s ", base_dtype_name(f->bindings.dtypes[i]));
    for (int i = 0; i < f->bindings.size_count; i++)
        base_text_format(&out, "%s=%d ", f->bindings.size_names[i], (int)f->bindings.sizes[i]);
    for (int i = 0; i < 2; i++)
        base_text_format(&out, "%d ", (int)f->bindings.consts[i]);
    for (int i = 0; i < f->bindings.argument_count; i++) {
        const text_argument *a = &f->bindings.arguments[i];
        base_text_format(&out, "%s:%s", a->name, base_dtype_name(a->dtype));
        for (int d = 0; d < a->rank; d++)
            base_text_format(&out, "%c%d", d > 0 ? 'x' : ':', (int)a->extent[d]);
        if (a->kind == TEXT_ARGUMENT_NUMBER) {
            base_text_string(&out, "=");
            base_text_double(&out, a->number);
        }
        base_text_string(&out, a->extent_open ? "? " : " ");
    }
    return out.bytes;
}

typedef struct bind_case {
    const char *words;
    bool partial;
    const char *expected; /* a description, or findings */
} bind_case;

#define GOOD "x=f16:4x8 w=f32:8 p=f32:4x4 label=i64:4 k=3 C=1 "

static const bind_case cases[] = {
    {GOOD "y=?:?", false,
     "f16 i64 R=4 N=8 64 1 x:f16:4x8 w:f32:8 p:f32:4x4 y:f16:4x16 label:i64:4 eps:f32=1e-05 "
     "k:i32=3.0 flag:bool=1.0 "},
    {GOOD "y=f16:4x16 eps=2 B=8 flag=0", false,
     "f16 i64 R=4 N=8 8 1 x:f16:4x8 w:f32:8 p:f32:4x4 y:f16:4x16 label:i64:4 eps:f32=2.0 "
     "k:i32=3.0 flag:bool=0.0 "},
    {"x=?:4x8 w=f32:8 p=f32:4x4 label=?:4 y=?:? k=3 C=1 T=bf16", false,
     "bf16 i32 R=4 N=8 64 1 x:bf16:4x8 w:f32:8 p:f32:4x4 y:bf16:4x16 label:i32:4 eps:f32=1e-05 "
     "k:i32=3.0 flag:bool=1.0 "},
    {"x=f32:0x0 w=f32:0 p=f32:0x4 label=i32:0 y=?:? k=3 C=1", false,
     "f32 i32 R=0 N=0 64 1 x:f32:0x0 w:f32:0 p:f32:0x4 y:f32:0x0 label:i32:0 eps:f32=1e-05 "
     "k:i32=3.0 flag:bool=1.0 "},
    {"x=?:? w=?:? p=?:? label=?:? y=?:? k=3 C=1 R=2 N=6", false,
     "f32 i32 R=2 N=6 64 1 x:f32:2x6 w:f32:6 p:f32:3x4 y:f32:2x12 label:i32:2 eps:f32=1e-05 "
     "k:i32=3.0 flag:bool=1.0 "},
    {"C=1", true,
     "f32 i32 R=-1 N=-1 64 1 x:f32:-1x-1? w:f32:-1? p:f32:-1x4? y:f32:-1x-1? label:i32:-1? "
     "eps:f32=1e-05 k:i32=0.0 flag:bool=1.0 "},
    {"C=1 N=4", true,
     "f32 i32 R=-1 N=4 64 1 x:f32:-1x4? w:f32:4 p:f32:2x4 y:f32:-1x8? label:i32:-1? "
     "eps:f32=1e-05 k:i32=0.0 flag:bool=1.0 "},
    /* mistakes */
    {"", true, "missing-argument 2:69"},
    {"C=1", false,
     "missing-argument 1:10, missing-argument 1:25, missing-argument 1:39, missing-argument 1:61, "
     "missing-argument 1:81, missing-argument 2:27"},
    {GOOD "y=?:? z=1", false, "unknown-argument 1:8"},
    {GOOD "y=?:? k=4", false, "repeated-argument 1:8"},
    {GOOD "y=3", false, "argument-kind 1:61"},
    {GOOD "y=?:? N=f32", false, "argument-kind 1:21"},
    {"x=f16:4x8 w=f32:8 p=f32:4x4 label=i64:4 k=?:? C=1 y=?:?", false, "argument-kind 2:27"},
    {GOOD "y=f32:4x16", false, "dtype-conflict 1:61"},
    {GOOD "y=i32:4x16", false, "dtype-mismatch 1:61"},
    {GOOD "y=?:? T=f32", false, "dtype-conflict 1:10"},
    {GOOD "y=?:? T=i32", false, "dtype-mismatch 3:10"},
    {"x=f16:4x8 w=f16:8 p=f32:4x4 label=i64:4 k=3 C=1 y=?:?", false, "dtype-mismatch 1:25"},
    {"x=f16:4x8 w=f32:4x8 p=f32:4x4 label=i64:4 k=3 C=1 y=?:?", false, "rank-mismatch 1:25"},
    {"x=f16:4x8 w=f32:9 p=f32:4x4 label=i64:4 k=3 C=1 y=?:?", false, "size-mismatch 1:25"},
    {"x=f16:4x8 w=f32:8 p=f32:5x4 label=i64:4 k=3 C=1 y=?:?", false, "size-mismatch 1:39"},
    {"x=f16:4x8 w=f32:8 p=f32:4x5 label=i64:4 k=3 C=1 y=?:?", false, "size-mismatch 1:39"},
    {GOOD "y=f16:4x15", false, "size-mismatch 1:61"},
    {GOOD "y=?:? N=9", false, "size-mismatch 1:10, size-mismatch 1:25"},
    {GOOD "y=?:? N=-1", false, "argument-range 1:21"},
    {"x=f16:4x8 w=f32:8 p=f32:4x4 label=i64:4 k=2.5 C=1 y=?:?", false, "argument-range 2:27"},
    {"x=f16:4x8 w=f32:8 p=f32:4x4 label=i64:4 k=3000000000 C=1 y=?:?", false,
     "argument-range 2:27"},
    {"x=f16:4x8 w=f32:8 p=f32:4x4 label=i64:4 k=3 C=1.5 y=?:?", false, "argument-range 2:69"},
    {GOOD "y=?:? flag=2", false, "argument-range 2:35"},
    {"x=?:? w=?:? p=?:? label=?:? y=?:? k=3 C=1 N=6", false, "unbound-size 1:18"},
    {"x=?:? w=?:? p=?:? label=?:? y=?:? k=3 C=1 R=4000000000 N=4000000000", false,
     "size-overflow 1:10, size-overflow 1:61"},
};

static void arguments_bind_or_are_reported(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        kernel_fixture f;
        bool bound = bind_words(&f, cases[i].words, cases[i].partial);
        const char *found = bound ? describe(&f) : kernel_findings(&f);
        if (strcmp(found, cases[i].expected) != 0) {
            print_message("%s\nexpected: %s\nfound:    %s\n%s", cases[i].words, cases[i].expected,
                          found, kernel_rendered(&f));
            failed++;
        }
        kernel_fixture_free(&f);
    }
    assert_int_equal(failed, 0);
}

static void a_conflict_names_both_arguments(void **state) {
    (void)state;
    kernel_fixture f;
    assert_false(bind_words(&f, "x=f16:4x8 w=f32:9 p=f32:4x4 label=i64:4 k=3 C=1 y=?:?", false));
    assert_string_equal(f.diagnostics.items[0].message, "`x` and `w` differ in the size `N`");
    assert_string_equal(f.diagnostics.items[0].found, "N = 8 in x, 9 in w");
    kernel_fixture_free(&f);
    assert_false(bind_words(&f, GOOD "y=f32:4x16", false));
    assert_string_equal(f.diagnostics.items[0].message,
                        "`x` and `y` differ in the type parameter `T`");
    assert_string_equal(f.diagnostics.items[0].found, "x is f16, y is f32");
    kernel_fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_bind_or_are_reported),
        cmocka_unit_test(a_conflict_names_both_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
