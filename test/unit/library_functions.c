/* Functions: tensors with leading axes, outputs that are to be made, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "library_fixture.h"

#define NORM                                                                                       \
    "kernel norm(x: in T[R, N], labels: in i64[R], y: out T[R, N], s: out f32[R],\n"               \
    "            T: f32 | f16, a: f32) {\n"                                                        \
    "    program row: R\n"                                                                         \
    "    t = f32(x[row, :])\n"                                                                     \
    "    y[row, :] = T(t * a)\n"                                                                   \
    "    s[row] = sum(t) + f32(labels[row])\n"                                                     \
    "}\n"

/* A tensor of up to eight axes. */
typedef struct array {
    int64_t shape[8], strides[8];
    croft_tensor tensor;
} array;

static array array_of(void *data, int code, int bits, int rank, const int64_t *shape,
                      const int64_t *strides) {
    array made = {.tensor = {.data = data,
                             .device_type = CROFT_ON_CPU,
                             .rank = rank,
                             .dtype_code = (uint8_t)code,
                             .dtype_bits = (uint8_t)bits,
                             .dtype_lanes = 1}};
    memcpy(made.shape, shape, sizeof *shape * (size_t)rank);
    if (strides != NULL)
        memcpy(made.strides, strides, sizeof *strides * (size_t)rank);
    return made;
}

#define SHAPE(...)                                                                                 \
    (const int64_t[]) {                                                                            \
        __VA_ARGS__                                                                                \
    }

static const croft_tensor *of(array *a, int strided) {
    a->tensor.shape = a->shape;
    a->tensor.strides = strided ? a->strides : NULL;
    return &a->tensor;
}

typedef struct fixture {
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    croft_diagnostics *findings;
} fixture;

static fixture open_function(const char *text, const croft_argument *arguments, int count) {
    fixture f = {0};
    croft_config config = {.size = sizeof config, .threads = 1};
    assert_int_equal(croft_context_create(&config, &f.context), CROFT_OK);
    assert_int_equal(compile_text(f.context, text, &f.kernel, NULL), CROFT_OK);
    assert_int_equal(
        croft_function_create(f.kernel, arguments, count, NULL, &f.function, &f.findings),
        CROFT_OK);
    return f;
}

static fixture open_norm(void) {
    const croft_argument a = {.name = "a", .kind = CROFT_ARGUMENT_REAL, .real = 2.0};
    return open_function(NORM, &a, 1);
}

static void close_function(fixture *f) {
    croft_diagnostics_free(f->findings);
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
}

static void expect_slug(fixture *f, const char *slug) {
    croft_diagnostic d = {.size = sizeof d};
    assert_int_equal(croft_diagnostics_at(f->findings, 0, &d), CROFT_OK);
    assert_string_equal(d.slug, slug);
    croft_diagnostics_free(f->findings);
    f->findings = NULL;
}

static float x[64], y[64], s[16];
static int64_t labels[16];

static void leading_axes_become_rows(void **state) {
    (void)state;
    fixture f = open_norm();
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    for (int i = 0; i < 6; i++)
        labels[i] = 100 * i;
    /* rows 8 apart */
    array tx = array_of(x, CROFT_FLOAT, 32, 3, SHAPE(2, 3, 5), SHAPE(24, 8, 1));
    array tl = array_of(labels, CROFT_INT, 64, 2, SHAPE(2, 3), NULL);
    array ty = array_of(y, CROFT_FLOAT, 32, 3, SHAPE(2, 3, 5), NULL);
    array ts = array_of(s, CROFT_FLOAT, 32, 2, SHAPE(2, 3), NULL);
    const croft_tensor *tensors[] = {of(&tx, 1), of(&tl, 0), of(&ty, 0), of(&ts, 0)};
    for (int again = 0; again < 2; again++) {
        memset(y, 0, sizeof y);
        assert_int_equal(croft_function_call(f.function, tensors, 4, NULL, &f.findings), CROFT_OK);
        for (int row = 0; row < 6; row++) {
            float sum = 100.0f * (float)row;
            for (int i = 0; i < 5; i++) {
                sum += x[8 * row + i];
                assert_true(y[5 * row + i] == 2.0f * x[8 * row + i]);
            }
            assert_true(s[row] == sum);
        }
    }
    close_function(&f);
}

static void outputs_get_the_leading_axes_back(void **state) {
    (void)state;
    fixture f = open_norm();
    array tx = array_of(x, CROFT_FLOAT, 16, 4, SHAPE(2, 1, 3, 5), NULL);
    array tl = array_of(labels, CROFT_INT, 64, 3, SHAPE(2, 1, 3), NULL);
    const croft_tensor *tensors[] = {of(&tx, 0), of(&tl, 0), NULL, NULL};
    croft_output outputs[4];
    memset(outputs, 0x55, sizeof outputs);
    for (int i = 0; i < 4; i++)
        outputs[i].size = sizeof outputs[i];
    assert_int_equal(croft_function_outputs(f.function, tensors, 4, outputs, &f.findings),
                     CROFT_OK);
    assert_int_equal(outputs[1].rank, 0x55555555);
    assert_int_equal(outputs[2].dtype_code, CROFT_FLOAT);
    assert_int_equal(outputs[2].dtype_bits, 16);
    assert_int_equal(outputs[2].rank, 4);
    assert_memory_equal(outputs[2].shape, SHAPE(2, 1, 3, 5), 4 * sizeof(int64_t));
    assert_int_equal(outputs[3].dtype_bits, 32);
    assert_int_equal(outputs[3].rank, 3);
    assert_memory_equal(outputs[3].shape, SHAPE(2, 1, 3), 3 * sizeof(int64_t));
    tensors[0] = NULL;
    assert_int_equal(croft_function_outputs(f.function, tensors, 4, outputs, &f.findings),
                     CROFT_MISUSE);
    expect_slug(&f, "misuse");
    close_function(&f);
}

/* Shapes and strides of x, those of labels, the answer. */
static void folds_where_strides_allow(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t shape[8], strides[8];
        int label_rank;
        int64_t labels[8];
        const char *slug; /* NULL: it is taken */
    } rows[] = {
        {3, {2, 3, 5}, {15, 5, 1}, 2, {2, 3}, NULL},
        {3, {2, 3, 5}, {0, 0, 1}, 2, {2, 3}, NULL},
        {3, {2, 3, 5}, {0, 5, 1}, 2, {2, 3}, "axes-fold"},
        {3, {2, 3, 5}, {5, 10, 1}, 2, {2, 3}, "axes-fold"},
        {3, {2, 1, 5}, {8, 77, 1}, 2, {2, 1}, NULL},
        {3, {1, 3, 5}, {77, 8, 1}, 2, {1, 3}, NULL},
        {4, {2, 1, 3, 5}, {24, 3, 8, 1}, 3, {2, 1, 3}, NULL},
        {4, {2, 1, 3, 5}, {24, 3, 8, 1}, 2, {2, 3}, "axes-fold"},
        {3, {2, 3, 5}, {15, 5, 1}, 2, {3, 2}, "axes-fold"},
        {3, {2, 3, 5}, {15, 5, 1}, 1, {6}, NULL},
        {3, {2, 3, 5}, {15, 5, 1}, 1, {5}, "size-mismatch"},
        {3, {2, 0, 5}, {3, 7, 1}, 2, {2, 0}, NULL},
        {3, {2, 3, 0}, {3, 7, 1}, 2, {2, 3}, NULL},
        {3, {2, -3, 5}, {15, 5, 1}, 2, {2, 3}, "argument-value"},
        {8, {1, 1, 1, 1, 1, 2, 3, 5}, {0, 0, 0, 0, 0, 15, 5, 1}, 1, {6}, NULL},
    };
    fixture f = open_norm();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        array tx = array_of(x, CROFT_FLOAT, 32, rows[i].rank, rows[i].shape, rows[i].strides);
        array tl = array_of(labels, CROFT_INT, 64, rows[i].label_rank, rows[i].labels, NULL);
        const croft_tensor *tensors[] = {of(&tx, 1), of(&tl, 0), NULL, NULL};
        croft_output outputs[4] = {[2].size = sizeof *outputs, [3].size = sizeof *outputs};
        croft_status status = croft_function_outputs(f.function, tensors, 4, outputs, &f.findings);
        assert_int_equal(status, rows[i].slug == NULL ? CROFT_OK : CROFT_REJECTED);
        if (rows[i].slug != NULL) {
            expect_slug(&f, rows[i].slug);
            continue;
        }
        array ty = array_of(y, CROFT_FLOAT, 32, outputs[2].rank, outputs[2].shape, NULL);
        array ts = array_of(s, CROFT_FLOAT, 32, outputs[3].rank, outputs[3].shape, NULL);
        tensors[2] = of(&ty, 0);
        tensors[3] = of(&ts, 0);
        if (croft_function_call(f.function, tensors, 4, NULL, &f.findings) != CROFT_OK)
            fail_msg("row %d: %s", (int)i, croft_diagnostics_text(f.findings));
    }
    close_function(&f);
}

static void tensors_among_the_arguments_are_refused(void **state) {
    (void)state;
    fixture f = open_norm();
    croft_function *function = f.function;
    croft_argument tensor = {.name = "x", .kind = CROFT_ARGUMENT_TENSOR};
    assert_int_equal(croft_function_create(f.kernel, &tensor, 1, NULL, &function, &f.findings),
                     CROFT_REJECTED);
    assert_null(function);
    expect_slug(&f, "argument-kind");
    tensor.name = NULL;
    assert_int_equal(croft_function_create(f.kernel, &tensor, 1, NULL, &function, &f.findings),
                     CROFT_MISUSE);
    expect_slug(&f, "misuse");
    close_function(&f);
}

static void texts_of_a_dispatch(void **state) {
    (void)state;
    fixture f = open_function(SOFTMAX, NULL, 0);
    array tx = array_of(x, CROFT_FLOAT, 32, 2, SHAPE(4, 8), NULL);
    array ty = array_of(y, CROFT_FLOAT, 32, 2, SHAPE(4, 8), NULL);
    const croft_tensor *tensors[] = {of(&tx, 0), of(&ty, 0)};
    croft_dispatch *dispatch = NULL, *again = NULL;
    assert_int_equal(croft_function_prepare(f.function, tensors, 2, &dispatch, NULL), CROFT_OK);
    const char *plan = croft_dispatch_plan(dispatch);
    assert_non_null(plan);
    assert_ptr_equal(plan, croft_dispatch_plan(dispatch));
    assert_non_null(strstr(croft_dispatch_source(dispatch), "softmax"));
    croft_function *obeys = NULL;
    croft_prepare_options options = {.size = sizeof options, .plan = plan};
    assert_int_equal(croft_function_create(f.kernel, NULL, 0, &options, &obeys, NULL), CROFT_OK);
    assert_int_equal(croft_function_prepare(obeys, tensors, 2, &again, NULL), CROFT_OK);
    assert_string_equal(plan, croft_dispatch_plan(again));
    croft_dispatch_free(again);
    croft_dispatch_free(dispatch);
    croft_function_free(obeys);
    close_function(&f);
}

static void what_no_caller_can_mean(void **state) {
    (void)state;
    fixture f = open_function(SOFTMAX, NULL, 0);
    array tx = array_of(x, CROFT_FLOAT, 32, 2, SHAPE(4, 8), NULL);
    const croft_tensor *tensors[] = {of(&tx, 0), NULL};
    croft_call_options options = {0};
    assert_int_equal(croft_function_call(f.function, tensors, 1, NULL, &f.findings), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, &f.findings), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_call(f.function, NULL, 2, NULL, &f.findings), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_call(NULL, tensors, 2, NULL, &f.findings), CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_call(f.function, tensors, 2, &options, &f.findings),
                     CROFT_MISUSE);
    expect_slug(&f, "misuse");
    assert_int_equal(croft_function_prepare(f.function, tensors, 2, NULL, NULL), CROFT_MISUSE);
    assert_int_equal(croft_function_outputs(f.function, tensors, 2, NULL, NULL), CROFT_MISUSE);
    assert_null(croft_dispatch_plan(NULL));
    assert_null(croft_dispatch_source(NULL));
    croft_function_free(NULL);
    close_function(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leading_axes_become_rows),
        cmocka_unit_test(outputs_get_the_leading_axes_back),
        cmocka_unit_test(folds_where_strides_allow),
        cmocka_unit_test(tensors_among_the_arguments_are_refused),
        cmocka_unit_test(texts_of_a_dispatch),
        cmocka_unit_test(what_no_caller_can_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
