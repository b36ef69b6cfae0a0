/* Faults of gathers, counted into a word of the caller's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_fixture.h"
#include "library_fixture.h"

#define TAKE                                                                                       \
    "kernel take(x: in f32[R, N], label: in i32[R, K], y: out f32[R, K]) {\n"                      \
    "    program row: R\n"                                                                         \
    "    y[row, :] = x[row, label[row, :]]\n"                                                      \
    "}\n"

enum { ROWS = 300, WIDTH = 50, TAKEN = 40, STEP = 64 };

typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *counting, *plain;
    croft_diagnostics *findings;
    matrix in, labels, out;
    float x[ROWS * STEP], y[ROWS * STEP];
    int32_t label[ROWS * STEP];
    uint64_t expected;
} session;

static croft_status prepare(session *s, const croft_prepare_options *options,
                            croft_dispatch **dispatch) {
    const croft_argument arguments[] = {tensor_argument("x", &s->in),
                                        tensor_argument("label", &s->labels),
                                        tensor_argument("y", &s->out)};
    return croft_prepare(s->kernel, arguments, 3, options, dispatch, &s->findings);
}

/* Labels between the rows are outside too, and nobody reads them. */
static void set_labels(session *s, int32_t *label, int salt) {
    s->expected = 0;
    for (int i = 0; i < ROWS * STEP; i++) {
        label[i] = i % STEP < TAKEN ? (i * 7 + salt) % (WIDTH + 9) - 4 : -1;
        s->expected += i % STEP < TAKEN && (label[i] < 0 || label[i] >= WIDTH);
    }
}

static session *open_session(int threads) {
    session *s = calloc(1, sizeof *s);
    assert_non_null(s);
    set_labels(s, s->label, 0);
    for (int i = 0; i < ROWS * STEP; i++)
        s->x[i] = (float)i;
    matrix_set(&s->in, s->x, ROWS, WIDTH, STEP);
    matrix_set(&s->labels, (float *)(void *)s->label, ROWS, TAKEN, STEP);
    s->labels.tensor.dtype_code = CROFT_INT;
    matrix_set(&s->out, s->y, ROWS, TAKEN, STEP);
    croft_config config = {.size = sizeof config, .threads = threads};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, TAKE, &s->kernel, NULL), CROFT_OK);
    croft_prepare_options options = {.size = sizeof options, .count_faults = 1};
    if (prepare(s, &options, &s->counting) != CROFT_OK || prepare(s, NULL, &s->plain) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    return s;
}

static void close_session(session *s) {
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(s->counting);
    croft_dispatch_free(s->plain);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    free(s);
}

static bool is_right(const session *s) {
    for (int i = 0; i < ROWS * STEP; i++) {
        int at = s->label[i], row = i / STEP;
        float value = at < 0 || at >= WIDTH ? 0.0f : (float)(row * STEP + at);
        if (s->y[i] != (i % STEP < TAKEN ? value : 0.0f))
            return false;
    }
    return true;
}

static void each_launch_adds_its_faults(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads += 3) {
        session *s = open_session(threads);
        uint64_t faults = 5;
        croft_launch_options options = {.size = sizeof options, .faults = &faults};
        assert_true(s->expected > 0);
        for (uint64_t i = 1; i <= 3; i++) {
            assert_int_equal(croft_launch(s->counting, &options, NULL), CROFT_OK);
            assert_true(faults == 5 + i * s->expected);
            assert_true(is_right(s));
        }
        close_session(s);
    }
}

static void a_launch_without_a_word_counts_nothing(void **state) {
    (void)state;
    session *s = open_session(1);
    croft_launch_options options = {.size = offsetof(croft_launch_options, faults)};
    uint64_t faults = 0;
    options.faults = &faults; /* behind the size that the caller's header has */
    assert_int_equal(croft_launch(s->counting, NULL, NULL), CROFT_OK);
    assert_int_equal(croft_launch(s->counting, &options, NULL), CROFT_OK);
    assert_int_equal(croft_launch(s->plain, &options, NULL), CROFT_OK);
    assert_true(faults == 0 && is_right(s));
    close_session(s);
}

static void faults_of_other_memory_are_those_counted(void **state) {
    (void)state;
    session *s = open_session(1);
    int32_t *other = malloc(sizeof s->label);
    assert_non_null(other);
    set_labels(s, other, 3);
    void *data[] = {s->x, other, s->y};
    uint64_t faults = 0;
    croft_launch_options options = {.size = sizeof options, .data = data, .faults = &faults};
    assert_int_equal(croft_launch(s->counting, &options, NULL), CROFT_OK);
    assert_true(faults == s->expected);
    free(other);
    close_session(s);
}

static void assert_refused(session *s, croft_dispatch *dispatch, void *stream) {
    uint64_t faults = 7;
    croft_launch_options options = {.size = sizeof options, .stream = stream, .faults = &faults};
    croft_diagnostic one = {.size = sizeof one};
    memset(s->y, 0xff, sizeof s->y);
    assert_int_equal(croft_launch(dispatch, &options, &s->findings), CROFT_REJECTED);
    assert_int_equal(croft_diagnostics_at(s->findings, 0, &one), CROFT_OK);
    assert_string_equal(one.slug, "faults");
    croft_diagnostics_free(s->findings);
    s->findings = NULL;
    assert_true(faults == 7 && s->y[0] != s->y[0]);
}

static void what_cannot_be_counted_is_refused(void **state) {
    (void)state;
    session *s = open_session(1);
    assert_refused(s, s->plain, NULL);
    assert_refused(s, s->counting, s);
    close_session(s);
}

/* The two are variants of their own, and each is found again. */
static void counting_is_a_variant(void **state) {
    (void)state;
    session *s = open_session(1);
    croft_kernel_counts counts = {.size = sizeof counts};
    croft_prepare_options options = {.size = sizeof options, .count_faults = 1};
    croft_dispatch *again = NULL;
    assert_int_equal(prepare(s, &options, &again), CROFT_OK);
    assert_int_equal(croft_kernel_count(s->kernel, &counts), CROFT_OK);
    assert_true(counts.variants == 2 && counts.compiled == 2);
    croft_dispatch_free(again);
    close_session(s);
}

/* A kernel that can have none has none, and needs no other program. */
static void a_kernel_without_faults_counts_none(void **state) {
    (void)state;
    session *s = open_session(1);
    croft_kernel *scale;
    croft_dispatch *dispatches[2];
    croft_kernel_counts counts = {.size = sizeof counts};
    assert_int_equal(compile_text(s->context, SCALE, &scale, NULL), CROFT_OK);
    matrix_set(&s->out, s->y, ROWS, WIDTH, STEP);
    const croft_argument arguments[] = {tensor_argument("x", &s->in),
                                        tensor_argument("y", &s->out)};
    for (int i = 0; i < 2; i++) {
        croft_prepare_options options = {.size = sizeof options, .count_faults = i};
        assert_int_equal(croft_prepare(scale, arguments, 2, &options, &dispatches[i], NULL),
                         CROFT_OK);
    }
    uint64_t faults = 1;
    croft_launch_options options = {.size = sizeof options, .faults = &faults};
    assert_int_equal(croft_launch(dispatches[1], &options, NULL), CROFT_OK);
    assert_int_equal(croft_kernel_count(scale, &counts), CROFT_OK);
    assert_true(faults == 1 && counts.compiled == 1);
    croft_dispatch_free(dispatches[0]);
    croft_dispatch_free(dispatches[1]);
    croft_kernel_free(scale);
    close_session(s);
}

typedef struct caller {
    croft_dispatch *dispatch;
    uint64_t faults;
    bool good;
} caller;

static void *launch_often(void *pointer) {
    caller *c = pointer;
    croft_launch_options options = {.size = sizeof options, .faults = &c->faults};
    c->good = true;
    for (int i = 0; i < 50; i++)
        c->good = c->good && croft_launch(c->dispatch, &options, NULL) == CROFT_OK;
    return NULL;
}

static void threads_that_share_a_dispatch_count_their_own(void **state) {
    (void)state;
    session *s = open_session(2);
    pthread_t threads[3];
    caller callers[3];
    for (int i = 0; i < 3; i++) {
        callers[i] = (caller){.dispatch = s->counting};
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &callers[i]), 0);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 3; i++)
        assert_true(callers[i].good && callers[i].faults == 50 * s->expected);
    assert_true(is_right(s));
    close_session(s);
}

/* ---- memory of a device ---- */
/* The count of each of its programs, which is the last of the four tensors. */
static void count_two_of_each(const uint64_t *arguments, uint32_t groups) {
    (void)groups;
    int64_t *counts = (int64_t *)(uintptr_t)arguments[3];
    for (int i = 0; i < ROWS; i++)
        counts[i] = 2;
}

static void counts_are_copied_from_the_device(void **state) {
    (void)state;
    fake_cuda_state *fake = fake_open();
    fake->kernel = count_two_of_each;
    fake->function_name = "croft_take";
    session *s = calloc(1, sizeof *s);
    assert_non_null(s);
    meter held = {0};
    croft_config config = {.size = sizeof config,
                           .device = "cuda",
                           .cuda_driver = CROFT_FAKE_CUDA,
                           .cuda_nvrtc = CROFT_FAKE_CUDA,
                           .resize = metered,
                           .resize_context = &held};
    matrix_set(&s->in, s->x, ROWS, WIDTH, STEP);
    matrix_set(&s->labels, (float *)(void *)s->label, ROWS, TAKEN, STEP);
    s->labels.tensor.dtype_code = CROFT_INT;
    matrix_set(&s->out, s->y, ROWS, TAKEN, STEP);
    s->in.tensor.device_type = s->labels.tensor.device_type = s->out.tensor.device_type =
        CROFT_ON_CUDA;
    croft_prepare_options counting = {.size = sizeof counting, .count_faults = 1};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, TAKE, &s->kernel, NULL), CROFT_OK);
    if (prepare(s, &counting, &s->counting) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    uint64_t faults = 1;
    croft_launch_options options = {.size = sizeof options, .faults = &faults};
    assert_int_equal(croft_launch(s->counting, &options, NULL), CROFT_OK);
    assert_true(faults == 1 + 2 * ROWS);
    int copies = fake->copies;
    assert_int_equal(croft_launch(s->counting, NULL, NULL), CROFT_OK);
    assert_int_equal(fake->copies, copies);
    close_session(s);
    assert_true(held.held == 0);
    fake_close(fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launch_adds_its_faults),
        cmocka_unit_test(a_launch_without_a_word_counts_nothing),
        cmocka_unit_test(faults_of_other_memory_are_those_counted),
        cmocka_unit_test(what_cannot_be_counted_is_refused),
        cmocka_unit_test(counting_is_a_variant),
        cmocka_unit_test(a_kernel_without_faults_counts_none),
        cmocka_unit_test(threads_that_share_a_dispatch_count_their_own),
        cmocka_unit_test(counts_are_copied_from_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
