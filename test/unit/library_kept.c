/* The dispatches that a function keeps: what finds one, what does not, who goes when there are too
 * many, and what memory they take.
 *
 * threads: tsan (built and run under ThreadSanitizer in check-long) */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "library_fixture.h"

enum { ROWS = 3, WIDTH = 8, KINDS = 100, THREADS = 4, ROUNDS = 3, STEP = 16, CELLS = 8192 };

/* Adds 1: what is in place can be seen. */
#define INCREMENT                                                                                  \
    "kernel increment(x: in f32[R, N], y: out f32[R, N]) {\n"                                      \
    "    program row: R\n"                                                                         \
    "    y[row, :] = x[row, :] + 1.0\n"                                                            \
    "}\n"

typedef struct fixture {
    meter meter;
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    croft_diagnostics *findings;
} fixture;

static void open_function(fixture *f) {
    *f = (fixture){0};
    croft_config config = {
        .size = sizeof config, .threads = 1, .resize = metered, .resize_context = &f->meter};
    assert_int_equal(croft_context_create(&config, &f->context), CROFT_OK);
    assert_int_equal(compile_text(f->context, INCREMENT, &f->kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(f->kernel, NULL, 0, NULL, &f->function, NULL), CROFT_OK);
}

static void close_function(fixture *f) {
    croft_diagnostics_free(f->findings);
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
    assert_int_equal(f->meter.held, 0);
}

static _Alignas(64) float cells[CELLS], others[CELLS];

/* Calls it for ROWS x WIDTH elements with rows that lie so far apart, and looks at the result. */
static croft_status call(croft_function *function, float *x, int64_t x_step, float *y,
                         int64_t y_step, croft_diagnostics **findings) {
    matrix in, out;
    float before[ROWS * WIDTH];
    matrix_set(&in, x, ROWS, WIDTH, x_step);
    matrix_set(&out, y, ROWS, WIDTH, y_step);
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i < WIDTH; i++)
            before[row * WIDTH + i] = x[row * x_step + i] = (float)(row + 10 * i);
    const croft_tensor *tensors[] = {&in.tensor, &out.tensor};
    croft_status status = croft_function_call(function, tensors, 2, NULL, findings);
    for (int row = 0; row < ROWS && status == CROFT_OK; row++)
        for (int i = 0; i < WIDTH; i++)
            if (y[row * y_step + i] != before[row * WIDTH + i] + 1)
                return CROFT_SYSTEM_FAILED;
    return status;
}

static int64_t variants(const fixture *f) {
    croft_kernel_counts counts = {.size = sizeof counts};
    assert_int_equal(croft_kernel_count(f->kernel, &counts), CROFT_OK);
    return counts.variants;
}

/* Whether a call allocates something. */
static bool asks(fixture *f, float *x, float *y) {
    int64_t asked = f->meter.asked;
    assert_int_equal(call(f->function, x, STEP, y, STEP, &f->findings), CROFT_OK);
    return f->meter.asked != asked;
}

static void a_kind_that_is_kept_allocates_nothing(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    assert_true(asks(&f, cells, others));
    assert_false(asks(&f, cells, others));
    assert_false(asks(&f, cells + 64, others + 128));
    assert_false(asks(&f, others, cells));
    close_function(&f);
}

static void outputs_in_place_are_a_kind_of_their_own(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    assert_true(asks(&f, cells, others));
    assert_true(asks(&f, cells, cells));
    for (int i = 0; i < 3; i++) {
        assert_false(asks(&f, others + 64 * i, others + 64 * i));
        assert_false(asks(&f, others + 64 * i, cells));
    }
    close_function(&f);
}

static void a_call_that_would_be_refused_is_refused_when_its_kind_is_kept(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    assert_true(asks(&f, cells, others));
    static const struct {
        ptrdiff_t apart; /* of y from x */
        const char *slug;
    } rows[] = {{4, "tensor-overlap"},  {STEP, "tensor-overlap"},
                {-4, "tensor-overlap"}, {WIDTH, NULL}, /* the other columns of a matrix */
                {-WIDTH, NULL},         {WIDTH + 4, "tensor-overlap"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float *x = cells + 64, *y = x + rows[i].apart;
        croft_status status = call(f.function, x, STEP, y, STEP, &f.findings);
        assert_int_equal(status, rows[i].slug == NULL ? CROFT_OK : CROFT_REJECTED);
        croft_diagnostic d = {.size = sizeof d};
        if (rows[i].slug != NULL) {
            assert_int_equal(croft_diagnostics_at(f.findings, 0, &d), CROFT_OK);
            assert_string_equal(d.slug, rows[i].slug);
        } else {
            assert_false(asks(&f, x, y)); /* the kind is that of tensors apart */
        }
        croft_diagnostics_free(f.findings);
        f.findings = NULL;
    }
    assert_int_equal(call(f.function, cells, STEP, (float *)((char *)others + 2), STEP, NULL),
                     CROFT_REJECTED); /* tensor-alignment */
    matrix in, out;
    matrix_set(&in, cells, ROWS, WIDTH, STEP);
    matrix_set(&out, NULL, ROWS, WIDTH, STEP);
    const croft_tensor *tensors[] = {&in.tensor, &out.tensor};
    assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_REJECTED);
    matrix_set(&out, others, ROWS, WIDTH, STEP);
    out.tensor.device_type = CROFT_ON_CUDA;
    assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_REJECTED);
    out.tensor.device_type = CROFT_ON_CUDA_HOST;
    assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_OK);
    out.tensor.dtype_bits = 16;
    assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_REJECTED);
    close_function(&f);
}

/* On the pretended sm_90, by a plan whose accesses are wide where tensors are aligned. */
static void open_pretended(fixture *f) {
    *f = (fixture){0};
    croft_config config = {.size = sizeof config,
                           .device = "cuda",
                           .cuda_driver = CROFT_FAKE_CUDA,
                           .cuda_nvrtc = CROFT_FAKE_CUDA};
    assert_int_equal(croft_context_create(&config, &f->context), CROFT_OK);
    assert_int_equal(compile_text(f->context, INCREMENT, &f->kernel, NULL), CROFT_OK);
    const croft_prepare_options options = {.size = sizeof options, .plan_set = "v=4"};
    assert_int_equal(croft_function_create(f->kernel, NULL, 0, &options, &f->function, NULL),
                     CROFT_OK);
}

static void another_alignment_takes_another_variant(void **state) {
    (void)state;
    fixture f;
    open_pretended(&f);
    matrix in, out;
    matrix_set(&in, cells, ROWS, 64, 64);
    matrix_set(&out, others, ROWS, 64, 64);
    in.tensor.device_type = out.tensor.device_type = CROFT_ON_CUDA;
    const croft_tensor *tensors[] = {&in.tensor, &out.tensor};
    const struct {
        float *x;
        int64_t variants;
    } rows[] = {{cells, 1},     {cells + 1, 2},  {cells, 2}, {cells + 4, 2},
                {cells + 3, 2}, {cells + 64, 2}, {cells, 2}, {cells + 5, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        in.tensor.data = rows[i].x;
        assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_OK);
        assert_int_equal(variants(&f), rows[i].variants);
        /* by its offset the same */
        in.tensor.data = cells;
        in.tensor.byte_offset = (uint64_t)((char *)rows[i].x - (char *)cells);
        assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_OK);
        assert_int_equal(variants(&f), rows[i].variants);
        in.tensor.byte_offset = 0;
    }
    close_function(&f);
    /* What came unaligned first does not serve what is aligned. */
    open_pretended(&f);
    for (int i = 1; i >= 0; i--) {
        in.tensor.data = cells + i;
        assert_int_equal(croft_function_call(f.function, tensors, 2, NULL, NULL), CROFT_OK);
        assert_int_equal(variants(&f), 2 - i);
    }
    close_function(&f);
}

static void old_kinds_go_when_there_are_too_many(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    int64_t held = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < KINDS; i++)
            assert_int_equal(
                call(f.function, cells, STEP + STEP * (i % KINDS), others, STEP, &f.findings),
                CROFT_OK);
        if (round > 0)
            assert_int_equal(f.meter.held, held);
        held = f.meter.held;
    }
    /* The newest 64 are there, the one before is not. */
    int64_t asked = f.meter.asked;
    for (int i = KINDS - 64; i < KINDS; i++)
        assert_int_equal(call(f.function, cells, STEP + STEP * i, others, STEP, NULL), CROFT_OK);
    assert_int_equal(f.meter.asked, asked);
    /* Used again, the oldest stays, and the next oldest goes. */
    assert_int_equal(call(f.function, cells, STEP + STEP * (KINDS - 64), others, STEP, NULL),
                     CROFT_OK);
    assert_int_equal(call(f.function, cells, STEP, others, STEP, NULL), CROFT_OK);
    assert_true(f.meter.asked > asked);
    asked = f.meter.asked;
    assert_int_equal(call(f.function, cells, STEP + STEP * (KINDS - 64), others, STEP, NULL),
                     CROFT_OK);
    assert_int_equal(f.meter.asked, asked);
    assert_int_equal(call(f.function, cells, STEP + STEP * (KINDS - 63), others, STEP, NULL),
                     CROFT_OK);
    assert_true(f.meter.asked > asked);
    close_function(&f);
}

typedef struct caller {
    croft_function *function;
    float *x, *y;
    int first, failures;
} caller;

static void *call_often(void *argument) {
    caller *c = argument;
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < KINDS; i++) {
            int kind = (c->first + i) % KINDS;
            c->failures +=
                call(c->function, c->x, STEP + STEP * kind, c->y, STEP, NULL) != CROFT_OK;
            c->failures += call(c->function, c->x, STEP, c->y, STEP, NULL) != CROFT_OK;
        }
    return NULL;
}

static void threads_launch_what_others_push_out(void **state) {
    (void)state;
    croft_config config = {.size = sizeof config, .threads = 1};
    fixture f = {0};
    assert_int_equal(croft_context_create(&config, &f.context), CROFT_OK);
    assert_int_equal(compile_text(f.context, INCREMENT, &f.kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(f.kernel, NULL, 0, NULL, &f.function, NULL), CROFT_OK);
    pthread_t threads[THREADS];
    caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        float *memory = aligned_alloc(64, 2 * sizeof(float) * CELLS);
        assert_non_null(memory);
        callers[i] = (caller){
            .function = f.function, .x = memory, .y = memory + CELLS, .first = i * KINDS / THREADS};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].failures, 0);
        free(callers[i].x);
    }
    close_function(&f);
}

/* Asked once for each kind of inputs, by several in turn; an answer that another took the place of
 * comes again. */
static void what_outputs_have_to_be_is_kept(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    for (int round = 0; round < 3; round++) {
        for (int rows = 1; rows <= 200; rows++) {
            matrix in;
            matrix_set(&in, cells, rows, WIDTH, WIDTH + round % 2);
            const croft_tensor *tensors[] = {&in.tensor, NULL};
            for (int again = 0; again < 2; again++) {
                croft_output outputs[2] = {{.size = sizeof *outputs}, {.size = sizeof *outputs}};
                const int64_t asked = f.meter.asked;
                assert_int_equal(croft_function_outputs(f.function, tensors, 2, outputs, NULL),
                                 CROFT_OK);
                assert_true(again == 0 || f.meter.asked == asked);
                assert_int_equal(outputs[1].size, sizeof *outputs);
                assert_int_equal(outputs[1].dtype_bits, 32);
                assert_int_equal(outputs[1].rank, 2);
                assert_int_equal(outputs[1].shape[0], rows);
                assert_int_equal(outputs[1].shape[1], WIDTH);
            }
        }
    }
    matrix in;
    matrix_set(&in, cells, ROWS, WIDTH, WIDTH);
    in.tensor.dtype_bits = 16; /* what would be refused is refused */
    const croft_tensor *tensors[] = {&in.tensor, NULL};
    croft_output outputs[2] = {{.size = sizeof *outputs}, {.size = sizeof *outputs}};
    for (int i = 0; i < 2; i++)
        assert_int_equal(croft_function_outputs(f.function, tensors, 2, outputs, NULL),
                         CROFT_REJECTED);
    close_function(&f);
}

/* From an allocator whose nth answer is none: creating, asking for outputs, calling twice. */
static croft_status use(fixture *f, int64_t failing) {
    matrix in;
    matrix_set(&in, cells, ROWS, WIDTH, STEP);
    const croft_tensor *tensors[] = {&in.tensor, NULL};
    croft_output outputs[2] = {{.size = sizeof *outputs}, {.size = sizeof *outputs}};
    f->meter.failing = failing > 0 ? f->meter.asked + failing : 0;
    croft_status status = croft_function_create(f->kernel, NULL, 0, NULL, &f->function, NULL);
    if (status == CROFT_OK)
        status = croft_function_outputs(f->function, tensors, 2, outputs, NULL);
    for (int i = 0; i < 2 && status == CROFT_OK; i++)
        status = call(f->function, cells, STEP, others, STEP, NULL);
    return status;
}

static void each_allocation_may_fail(void **state) {
    (void)state;
    fixture f;
    open_function(&f);
    assert_int_equal(call(f.function, cells, STEP, others, STEP, NULL), CROFT_OK); /* compiles */
    croft_function_free(f.function);
    int64_t held = f.meter.held, failures = 0;
    croft_status status = CROFT_OUT_OF_MEMORY;
    for (int64_t n = 1; status != CROFT_OK; n++) {
        f.function = NULL;
        status = use(&f, n);
        assert_true(status == CROFT_OK || status == CROFT_OUT_OF_MEMORY);
        failures += status != CROFT_OK;
        f.meter.failing = 0;
        if (f.function != NULL) {
            assert_int_equal(call(f.function, cells, STEP, others, STEP, NULL), CROFT_OK);
            assert_int_equal(call(f.function, cells, STEP, others, STEP, NULL), CROFT_OK);
        }
        croft_function_free(f.function);
        assert_int_equal(f.meter.held, held);
    }
    assert_true(failures > 8);
    f.function = NULL;
    close_function(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_that_is_kept_allocates_nothing),
        cmocka_unit_test(outputs_in_place_are_a_kind_of_their_own),
        cmocka_unit_test(a_call_that_would_be_refused_is_refused_when_its_kind_is_kept),
        cmocka_unit_test(another_alignment_takes_another_variant),
        cmocka_unit_test(old_kinds_go_when_there_are_too_many),
        cmocka_unit_test(threads_launch_what_others_push_out),
        cmocka_unit_test(what_outputs_have_to_be_is_kept),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
