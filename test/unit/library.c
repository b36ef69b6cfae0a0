/* The library as another program uses it: contexts, kernels, dispatches, findings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "library_fixture.h"

enum { ROWS = 5, WIDTH = 37, STEP = 41 };

typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
    float x[ROWS * STEP], y[ROWS * STEP];
    matrix in, out;
} session;

static void open_session(session *s, const char *text) {
    *s = (session){0};
    croft_config config = {.size = sizeof config, .threads = 1};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, text, &s->kernel, &s->findings), CROFT_OK);
    for (int i = 0; i < ROWS * STEP; i++) {
        s->x[i] = (float)(i % 13) - 6.0f;
        s->y[i] = -1.0f;
    }
    matrix_set(&s->in, s->x, ROWS, WIDTH, STEP);
    matrix_set(&s->out, s->y, ROWS, WIDTH, STEP);
}

static void close_session(session *s) {
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(s->dispatch);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
}

static void prepare(session *s) {
    croft_status status = prepare_pair(s->kernel, &s->in, &s->out, &s->dispatch, &s->findings);
    if (status != CROFT_OK)
        print_error("%s\n", croft_diagnostics_text(s->findings));
    assert_int_equal(status, CROFT_OK);
}

/* The one finding of a refused call. */
static void assert_finding(session *s, croft_status status, const char *slug) {
    croft_diagnostic found = {.size = sizeof found};
    assert_int_equal(status, CROFT_REJECTED);
    assert_int_equal(croft_diagnostics_at(s->findings, 0, &found), CROFT_OK);
    if (strcmp(found.slug, slug) != 0)
        print_error("%s", croft_diagnostics_text(s->findings));
    assert_string_equal(found.slug, slug);
    croft_diagnostics_free(s->findings);
    s->findings = NULL;
}

static int64_t compiled(const session *s) {
    croft_kernel_counts counts = {.size = sizeof counts};
    assert_int_equal(croft_kernel_count(s->kernel, &counts), CROFT_OK);
    return counts.compiled;
}

/* ---- running ---- */
static void a_kernel_runs_on_strided_rows_and_leaves_what_lies_between(void **state) {
    (void)state;
    session s;
    open_session(&s, SOFTMAX);
    prepare(&s);
    assert_int_equal(croft_launch(s.dispatch, NULL, NULL), CROFT_OK);
    for (int row = 0; row < ROWS; row++) {
        double sum = 0, most = -INFINITY;
        for (int i = 0; i < WIDTH; i++)
            most = fmax(most, (double)s.x[row * STEP + i]);
        for (int i = 0; i < WIDTH; i++)
            sum += exp((double)s.x[row * STEP + i] - most);
        for (int i = 0; i < WIDTH; i++)
            assert_true(fabs((double)s.y[row * STEP + i] -
                             exp((double)s.x[row * STEP + i] - most) / sum) < 1e-6);
        for (int i = WIDTH; i < STEP; i++)
            assert_true(s.y[row * STEP + i] == -1.0f);
    }
    close_session(&s);
}

static void an_input_may_be_one_row_for_all(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    s.in.strides[0] = 0;
    prepare(&s);
    assert_int_equal(croft_launch(s.dispatch, NULL, NULL), CROFT_OK);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++)
            assert_true(s.y[row * STEP + i] == 2.0f * s.x[i]);
    close_session(&s);
}

static void scalars_are_arguments_or_their_defaults(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    const croft_argument arguments[] = {tensor_argument("x", &s.in),
                                        tensor_argument("y", &s.out),
                                        {.name = "a", .kind = CROFT_ARGUMENT_REAL, .real = -0.5}};
    assert_int_equal(croft_prepare(s.kernel, arguments, 3, NULL, &s.dispatch, NULL), CROFT_OK);
    assert_int_equal(croft_launch(s.dispatch, NULL, NULL), CROFT_OK);
    assert_true(s.y[7] == -0.5f * s.x[7]);
    close_session(&s);
}

static void a_launch_may_take_other_memory_of_the_same_shape(void **state) {
    (void)state;
    session s;
    float other[ROWS * STEP] = {0};
    open_session(&s, SCALE);
    prepare(&s);
    void *data[] = {s.y, other};
    croft_launch_options options = {.size = sizeof options, .data = data};
    assert_int_equal(croft_launch(s.dispatch, &options, &s.findings), CROFT_OK);
    assert_true(other[0] == -2.0f && s.y[0] == -1.0f);
    data[1] = s.y;
    assert_finding(&s, croft_launch(s.dispatch, &options, &s.findings), "tensor-overlap");
    close_session(&s);
}

/* Vectors of a cpu may lie anywhere; library_conditions.c has a device whose vectors may not. */
static void memory_aligned_to_its_elements_runs_and_other_memory_is_refused(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    _Alignas(64) static float in[4 * 64 + 1], out[4 * 64 + 1];
    matrix_set(&s.in, in, 4, 64, 64);
    matrix_set(&s.out, out, 4, 64, 64);
    prepare(&s);
    void *data[] = {in + 1, out};
    croft_launch_options options = {.size = sizeof options, .data = data};
    assert_int_equal(croft_launch(s.dispatch, &options, &s.findings), CROFT_OK);
    data[0] = in;
    data[1] = (char *)out + 2;
    out[0] = 7.0f;
    assert_finding(&s, croft_launch(s.dispatch, &options, &s.findings), "tensor-alignment");
    assert_true(out[0] == 7.0f);
    close_session(&s);
}

/* ---- variants ---- */
static void the_number_of_rows_makes_no_variant_and_the_width_does(void **state) {
    (void)state;
    session s;
    croft_dispatch *more = NULL;
    open_session(&s, SCALE);
    prepare(&s);
    assert_int_equal(compiled(&s), 1);
    matrix_set(&s.in, s.x, ROWS - 1, WIDTH, STEP);
    matrix_set(&s.out, s.y, ROWS - 1, WIDTH, STEP);
    assert_int_equal(prepare_pair(s.kernel, &s.in, &s.out, &more, NULL), CROFT_OK);
    croft_dispatch_free(more);
    matrix_set(&s.in, s.x, 1, WIDTH, STEP);
    matrix_set(&s.out, s.y, 1, WIDTH, STEP);
    assert_int_equal(prepare_pair(s.kernel, &s.in, &s.out, &more, NULL), CROFT_OK);
    croft_dispatch_free(more);
    assert_int_equal(compiled(&s), 1);
    matrix_set(&s.in, s.x, ROWS, WIDTH + 1, STEP);
    matrix_set(&s.out, s.y, ROWS, WIDTH + 1, STEP);
    assert_int_equal(prepare_pair(s.kernel, &s.in, &s.out, &more, NULL), CROFT_OK);
    croft_dispatch_free(more);
    assert_int_equal(compiled(&s), 2);
    close_session(&s);
}

/* ---- refusals ---- */
static void a_wrong_kernel_comes_with_its_findings(void **state) {
    (void)state;
    session s = {0};
    croft_diagnostic found = {.size = sizeof found};
    assert_int_equal(croft_context_create(NULL, &s.context), CROFT_OK);
    const char *text = "kernel bad(x: in f32[R, N], y: out f32[R, N]) {\n"
                       "    program row: R\n"
                       "    y[row, :] = z + q\n"
                       "}\n";
    assert_int_equal(compile_text(s.context, text, &s.kernel, &s.findings), CROFT_REJECTED);
    assert_null(s.kernel);
    assert_int_equal(croft_diagnostics_count(s.findings), 2);
    assert_int_equal(croft_diagnostics_at(s.findings, 1, &found), CROFT_OK);
    assert_string_equal(found.slug, "unknown-name");
    assert_string_equal(found.source, "test.croft");
    assert_true(found.line == 3 && found.column == 21 && found.length == 1);
    assert_non_null(strstr(croft_diagnostics_text(s.findings), "y[row, :] = z + q"));
    assert_int_equal(croft_diagnostics_at(s.findings, 2, &found), CROFT_MISUSE);
    close_session(&s);
}

static croft_status prepare_again(session *s) {
    croft_dispatch_free(s->dispatch);
    return prepare_pair(s->kernel, &s->in, &s->out, &s->dispatch, &s->findings);
}

static void tensors_that_no_launch_could_take_are_refused(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    s.in.strides[0] = -STEP;
    assert_finding(&s, prepare_again(&s), "stride-negative");
    s.in.strides[0] = 1, s.in.strides[1] = ROWS;
    assert_finding(&s, prepare_again(&s), "stride-last");
    matrix_set(&s.in, s.x, ROWS, WIDTH, STEP);
    s.out.strides[0] = 0;
    assert_finding(&s, prepare_again(&s), "output-overlap");
    matrix_set(&s.out, s.y, ROWS, WIDTH - 1, STEP);
    assert_finding(&s, prepare_again(&s), "size-mismatch");
    matrix_set(&s.out, s.x + 3, ROWS, WIDTH, STEP);
    assert_finding(&s, prepare_again(&s), "tensor-overlap");
    matrix_set(&s.out, s.x, ROWS, WIDTH, STEP + 1);
    assert_finding(&s, prepare_again(&s), "tensor-overlap");
    matrix_set(&s.out, s.y, ROWS, WIDTH, STEP);
    s.out.tensor.device_type = CROFT_ON_CUDA;
    assert_finding(&s, prepare_again(&s), "tensor-device");
    s.out.tensor.device_type = CROFT_ON_CPU;
    s.out.tensor.dtype_bits = 64;
    assert_finding(&s, prepare_again(&s), "argument-value");
    s.out.tensor.dtype_bits = 32;
    s.out.tensor.data = NULL;
    assert_finding(&s, prepare_again(&s), "argument-value");
    s.out.tensor.data = (char *)s.y + 2;
    assert_finding(&s, prepare_again(&s), "tensor-alignment");
    s.out.tensor.data = s.y;
    s.in.strides[0] = INT64_MAX / 8;
    assert_finding(&s, prepare_again(&s), "tensor-range");
    s.in.strides[0] = STEP;
    s.in.shape[0] = s.out.shape[0] = INT64_MAX / 8;
    assert_finding(&s, prepare_again(&s), "size-overflow");
    close_session(&s);
}

static void no_rows_are_a_launch_of_nothing(void **state) {
    (void)state;
    session s;
    open_session(&s, SOFTMAX);
    matrix_set(&s.in, NULL, 0, WIDTH, STEP);
    matrix_set(&s.out, NULL, 0, WIDTH, STEP);
    prepare(&s);
    assert_int_equal(croft_launch(s.dispatch, NULL, NULL), CROFT_OK);
    close_session(&s);
}

static void misuse_is_told(void **state) {
    (void)state;
    session s = {0};
    croft_config config = {.size = 3};
    assert_int_equal(croft_context_create(&config, &s.context), CROFT_MISUSE);
    assert_int_equal(croft_context_create_for(CROFT_VERSION + 1000, NULL, &s.context),
                     CROFT_MISUSE);
    assert_int_equal(croft_launch(NULL, NULL, NULL), CROFT_MISUSE);
    croft_opencl_handles handles = {.size = sizeof handles};
    assert_int_equal(croft_context_opencl(NULL, &handles), CROFT_MISUSE);
    assert_int_equal(croft_context_create(NULL, &s.context), CROFT_OK); /* of the cpu */
    assert_int_equal(croft_context_opencl(s.context, &handles), CROFT_MISUSE);
    croft_context_free(s.context);
}

static void assert_misuse(session *s, croft_status status, const char *words) {
    croft_diagnostic one = {.size = sizeof one};
    assert_int_equal(status, CROFT_MISUSE);
    assert_int_equal(croft_diagnostics_at(s->findings, 0, &one), CROFT_OK);
    assert_string_equal(one.slug, "misuse");
    if (strstr(one.message, words) == NULL)
        fail_msg("`%s` is not in `%s`", words, one.message);
    croft_diagnostics_free(s->findings);
    s->findings = NULL;
}

static void a_config_that_cannot_be_meant_is_told(void **state) {
    (void)state;
    session s = {0};
    int there = 0;
    const struct {
        croft_config config;
        const char *words;
    } cases[] = {
        {{.device = "toaster"}, "device: there is none"},
        {{.machine = "sm_1"}, "machine: there is none"},
        {{.threads = -1}, "threads: below 0"},
        {{.threads = 257}, "threads: below 0, or more"},
        {{.cache_bytes = -1}, "cache_bytes: below 0"},
        {{.device = "opencl", .opencl_context = &there}, "the one without the other"},
        {{.device = "opencl", .opencl_device = &there}, "the one without the other"},
        {{.device = "opencl", .device_index = -1}, "device_index: below 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        croft_config config = cases[i].config;
        config.size = sizeof config;
        config.findings = &s.findings;
        assert_misuse(&s, croft_context_create(&config, &s.context), cases[i].words);
        assert_null(s.context);
        config.findings = NULL; /* nobody asks */
        assert_int_equal(croft_context_create(&config, &s.context), CROFT_MISUSE);
    }
}

/* The findings are of the config's memory, and say what was looked for. */
static void why_there_is_no_device_is_told(void **state) {
    (void)state;
    meter memory = {0};
    session s = {0};
    croft_config config = {.size = sizeof config,
                           .device = "opencl",
                           .opencl_library = "/nowhere/libOpenCL.so.1",
                           .resize = metered,
                           .resize_context = &memory,
                           .findings = &s.findings};
    croft_diagnostic one = {.size = sizeof one};
    assert_int_equal(croft_context_create(&config, &s.context), CROFT_NO_DEVICE);
    assert_null(s.context);
    assert_int_equal(croft_diagnostics_at(s.findings, 0, &one), CROFT_OK);
    assert_string_equal(one.slug, "no-device");
    assert_non_null(strstr(one.message, "no OpenCL; looked for\n  /nowhere/libOpenCL.so.1: "));
    assert_true(memory.held > 0);
    croft_diagnostics_free(s.findings);
    assert_int_equal(memory.held, 0);
    config.device = "cpu";
    s.findings = (croft_diagnostics *)&memory; /* what was there before is not read */
    assert_int_equal(croft_context_create(&config, &s.context), CROFT_OK);
    assert_null(s.findings);
    croft_context_free(s.context);
    assert_int_equal(memory.held, 0);
}

static croft_status prepare_one(session *s, croft_argument argument) {
    return croft_prepare(s->kernel, &argument, 1, NULL, &s->dispatch, &s->findings);
}

static void misuse_of_objects_has_a_finding(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    croft_kernel *kernel = NULL;
    croft_source source = {.size = sizeof source};
    croft_prepare_options unset = {.size = 0};
    assert_misuse(&s, croft_compile(NULL, &source, &kernel, &s.findings), "context");
    assert_misuse(&s, croft_compile(s.context, NULL, &kernel, &s.findings), "source");
    assert_misuse(&s, croft_compile(s.context, &source, &kernel, &s.findings), "text");
    assert_misuse(&s, croft_compile(s.context, &source, NULL, &s.findings), "nowhere");
    assert_misuse(&s, croft_prepare(s.kernel, NULL, 0, NULL, NULL, &s.findings), "nowhere");
    assert_misuse(&s, croft_prepare(NULL, NULL, 0, NULL, &s.dispatch, &s.findings), "kernel");
    assert_misuse(&s, croft_prepare(s.kernel, NULL, 1, NULL, &s.dispatch, &s.findings),
                  "arguments");
    assert_misuse(&s, croft_prepare(s.kernel, NULL, 0, &unset, &s.dispatch, &s.findings), "size");
    assert_misuse(&s, croft_launch(NULL, NULL, &s.findings), "dispatch");
    close_session(&s);
}

static void misuse_of_arguments_has_a_finding(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    croft_tensor shapeless = s.in.tensor, negative = s.in.tensor;
    shapeless.shape = NULL;
    negative.rank = -1;
    assert_misuse(&s, prepare_one(&s, (croft_argument){.kind = CROFT_ARGUMENT_INTEGER}),
                  "0 has no");
    assert_misuse(&s, prepare_one(&s, (croft_argument){.name = "x"}), "x has no tensor");
    assert_misuse(&s, prepare_one(&s, (croft_argument){.name = "x", .tensor = &shapeless}),
                  "shape");
    assert_misuse(&s, prepare_one(&s, (croft_argument){.name = "x", .tensor = &negative}), "rank");
    assert_misuse(&s, prepare_one(&s, (croft_argument){.name = "T", .kind = CROFT_ARGUMENT_TEXT}),
                  "T has no text");
    assert_misuse(&s, prepare_one(&s, (croft_argument){.name = "a", .kind = 77}), "kind");
    close_session(&s);
}

static void misuse_of_launches_has_a_finding(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    matrix_set(&s.out, s.x, ROWS, WIDTH, STEP); /* in place */
    assert_int_equal(prepare_again(&s), CROFT_OK);
    void *data[] = {s.x, NULL};
    croft_launch_options options = {.size = sizeof options, .data = data}, unset = {.size = 0};
    assert_misuse(&s, croft_launch(s.dispatch, &options, &s.findings), "elements of y");
    assert_misuse(&s, croft_launch(s.dispatch, &unset, &s.findings), "size");
    close_session(&s);
}

static void a_missing_compiler_is_a_status_with_its_reason(void **state) {
    (void)state;
    session s = {0};
    croft_config config = {.size = sizeof config, .compiler = "/nowhere/cc"};
    assert_int_equal(croft_context_create(&config, &s.context), CROFT_OK);
    assert_int_equal(compile_text(s.context, SCALE, &s.kernel, NULL), CROFT_OK);
    float x[4] = {0}, y[4];
    matrix_set(&s.in, x, 2, 2, 2);
    matrix_set(&s.out, y, 2, 2, 2);
    assert_int_equal(prepare_pair(s.kernel, &s.in, &s.out, &s.dispatch, &s.findings),
                     CROFT_NO_COMPILER);
    assert_non_null(strstr(croft_diagnostics_text(s.findings), "/nowhere/cc"));
    close_session(&s);
}

static void parameters_can_be_asked_for(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    croft_parameter p = {.size = sizeof p};
    assert_string_equal(croft_kernel_name(s.kernel), "scale");
    assert_int_equal(croft_kernel_parameter(s.kernel, 1, &p), CROFT_OK);
    assert_string_equal(p.name, "y");
    assert_true(p.kind == CROFT_PARAMETER_TENSOR && p.is_written && !p.is_read);
    assert_int_equal(croft_kernel_parameter(s.kernel, 2, &p), CROFT_OK);
    assert_true(p.kind == CROFT_PARAMETER_SCALAR);
    assert_int_equal(croft_kernel_parameter(s.kernel, 3, &p), CROFT_MISUSE);
    close_session(&s);
}

/* ---- plans ---- */
static void a_plan_is_obeyed_or_refused(void **state) {
    (void)state;
    session s;
    open_session(&s, SCALE);
    croft_prepare_options options = {.size = sizeof options, .plan_set = "u=2"};
    const croft_argument arguments[] = {tensor_argument("x", &s.in), tensor_argument("y", &s.out)};
    assert_int_equal(croft_prepare(s.kernel, arguments, 2, &options, &s.dispatch, &s.findings),
                     CROFT_OK);
    croft_dispatch_free(s.dispatch);
    options.plan_set = "u=5";
    croft_status status = croft_prepare(s.kernel, arguments, 2, &options, &s.dispatch, &s.findings);
    assert_int_equal(status, CROFT_REJECTED);
    assert_true(croft_diagnostics_count(s.findings) > 0);
    croft_diagnostics_free(s.findings);
    options.plan = "plan scale"; /* whatever it says: a setting beside it would not be looked at */
    assert_finding(&s, croft_prepare(s.kernel, arguments, 2, &options, &s.dispatch, &s.findings),
                   "plan-set");
    close_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_runs_on_strided_rows_and_leaves_what_lies_between),
        cmocka_unit_test(an_input_may_be_one_row_for_all),
        cmocka_unit_test(scalars_are_arguments_or_their_defaults),
        cmocka_unit_test(a_launch_may_take_other_memory_of_the_same_shape),
        cmocka_unit_test(memory_aligned_to_its_elements_runs_and_other_memory_is_refused),
        cmocka_unit_test(the_number_of_rows_makes_no_variant_and_the_width_does),
        cmocka_unit_test(a_wrong_kernel_comes_with_its_findings),
        cmocka_unit_test(tensors_that_no_launch_could_take_are_refused),
        cmocka_unit_test(no_rows_are_a_launch_of_nothing),
        cmocka_unit_test(misuse_is_told),
        cmocka_unit_test(a_config_that_cannot_be_meant_is_told),
        cmocka_unit_test(why_there_is_no_device_is_told),
        cmocka_unit_test(misuse_of_objects_has_a_finding),
        cmocka_unit_test(misuse_of_arguments_has_a_finding),
        cmocka_unit_test(misuse_of_launches_has_a_finding),
        cmocka_unit_test(a_missing_compiler_is_a_status_with_its_reason),
        cmocka_unit_test(parameters_can_be_asked_for),
        cmocka_unit_test(a_plan_is_obeyed_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
