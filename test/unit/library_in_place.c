/* Calls in which an output is an input: as if the output had memory of its own, or refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "library_fixture.h"

enum { MOST = 300000 };

#define KERNEL(body) "kernel k(x: in f32[R, N], z: in f32[R, N], y: out f32[R, N]) {\n" body "}\n"

static const char *const allowed[] = {
    KERNEL("program row: R\ny[row, :] = x[row, :] * 2.0 + z[row, :]\n"),
    KERNEL("program row: R\nt = x[row, :] + z[row, :]\ne = exp(t - max(t))\n"
           "y[row, :] = e / sum(e)\n"),
    /* every element is read before one is written, wherever it lies in the row */
    KERNEL("program row: R\ni = arange(N)\ny[row, i] = x[row, (i + 1) % N] - z[row, N - 1 - i]\n"),
    KERNEL("program row: R\ny[row, 0:N // 2] = x[row, 0:N // 2] + sum(z[row, :])\n"),
    KERNEL("program row: R\ns = sum(x[row, :])\nm = max(z[row, :] - s / N)\n"
           "y[row, :] = x[row, :] * m\n"),
    KERNEL("program row: R, column: N\ny[row, column] = x[row, column] - z[row, column]\n"),
};

static const struct {
    const char *text, *slug;
} refused[] = {
    {KERNEL("program row: R\ny[row, :] = x[R - 1 - row, :] + z[row, :]\n"), "program-overlap"},
    {KERNEL("program row: R\ny[row, :] = x[0, :] + z[row, :]\n"), "program-overlap"},
    {KERNEL("program row: R\ny[row, :] = x[row, :] * 2.0\ns = sum(x[row, :])\n"
            "y[row, 0:1] = z[row, 0:1] + s\n"),
     "in-place-order"},
    {KERNEL("program row: R\nfor k in 0..N {\ny[row, k] = x[row, k] + z[row, 0]\n}\n"),
     "in-place-order"},
};

typedef struct session {
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
    float *x, *z, *y;
    matrix in, more, out;
    bool strict; /* one order of sums, whatever the plan */
} session;

static float *make_row(int64_t count, int seed) {
    float *row = malloc(sizeof(float) * (size_t)count);
    assert_non_null(row);
    for (int64_t i = 0; i < count; i++)
        row[i] = (float)((i * 37 + seed) % 101) / 64.0f - 0.7f;
    return row;
}

static void open_session(session *s, const char *text, int64_t count) {
    *s = (session){.x = make_row(count, 1), .z = make_row(count, 7), .y = make_row(count, 3)};
    croft_config config = {.size = sizeof config, .threads = 2};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    if (compile_text(s->context, text, &s->kernel, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
}

static void close_session(session *s) {
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(s->dispatch);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    free(s->x);
    free(s->z);
    free(s->y);
}

static croft_status prepare(session *s, float *x, float *z, float *y, int64_t rows, int64_t width) {
    matrix_set(&s->in, x, rows, width, width);
    matrix_set(&s->more, z, rows, width, width);
    matrix_set(&s->out, y, rows, width, width);
    const croft_argument arguments[] = {tensor_argument("x", &s->in),
                                        tensor_argument("z", &s->more),
                                        tensor_argument("y", &s->out)};
    croft_dispatch_free(s->dispatch);
    croft_diagnostics_free(s->findings);
    croft_prepare_options options = {.size = sizeof options, .strict = s->strict};
    return croft_prepare(s->kernel, arguments, 3, &options, &s->dispatch, &s->findings);
}

static void run(session *s, float *x, float *z, float *y, int64_t rows, int64_t width) {
    if (prepare(s, x, z, y, rows, width) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    assert_int_equal(croft_launch(s->dispatch, NULL, NULL), CROFT_OK);
}

/* The largest difference from what the output is in memory of its own. What is not written stays.
 * Form 0: y is x; 1: it is z; 2: all three are one. */
static float difference(const char *text, int64_t rows, int64_t width, int form, bool strict) {
    session s;
    int64_t count = rows * width;
    open_session(&s, text, count);
    s.strict = strict;
    float *home = form == 1 ? s.z : s.x, *other = form == 2 ? s.x : s.z, most = 0;
    memcpy(s.y, home, sizeof(float) * (size_t)count);
    run(&s, s.x, other, s.y, rows, width);
    run(&s, s.x, other, home, rows, width);
    for (int64_t i = 0; i < count; i++) {
        float apart = fabsf(home[i] - s.y[i]);
        most = apart > most || isnan(apart) ? apart : most;
    }
    close_session(&s);
    return most;
}

static void an_output_may_be_an_input(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        for (int form = 0; form < 3; form++)
            if (difference(allowed[i], 5, 37, form, true) != 0)
                fail_msg("form %d: other bits:\n%s", form, allowed[i]);
        if (difference(allowed[i], 3, 1000, 0, true) != 0)
            fail_msg("3x1000: other bits:\n%s", allowed[i]);
    }
}

/* Rows that may be done in parts by one plan and whole by the other: another order of sums. */
static void a_wide_row_may_be_an_input_too(void **state) {
    (void)state;
    assert_true(difference(allowed[0], 1, MOST, 0, false) == 0);
    assert_true(difference(allowed[1], 1, MOST, 0, false) < 1e-9f);
}

static void what_would_read_its_own_output_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        session s;
        open_session(&s, refused[i].text, 5 * 8);
        run(&s, s.x, s.z, s.y, 5, 8);
        assert_int_equal(prepare(&s, s.x, s.z, s.x, 5, 8), CROFT_REJECTED);
        croft_diagnostic found = {.size = sizeof found};
        assert_int_equal(croft_diagnostics_at(s.findings, 0, &found), CROFT_OK);
        if (strcmp(found.slug, refused[i].slug) != 0)
            fail_msg("%s", croft_diagnostics_text(s.findings));
        close_session(&s);
    }
}

static void a_launch_keeps_to_what_was_prepared(void **state) {
    (void)state;
    session s;
    open_session(&s, allowed[0], 40);
    run(&s, s.x, s.z, s.x, 5, 8);
    void *apart[] = {s.x, s.z, s.y}, *again[] = {s.y, s.z, s.y};
    croft_launch_options options = {.size = sizeof options, .data = apart};
    assert_int_equal(croft_launch(s.dispatch, &options, &s.findings), CROFT_REJECTED);
    assert_non_null(strstr(croft_diagnostics_text(s.findings), "tensor-overlap"));
    options.data = again;
    assert_int_equal(croft_launch(s.dispatch, &options, NULL), CROFT_OK);
    assert_int_equal(prepare(&s, s.x, s.z, s.y, 5, 8), CROFT_OK);
    assert_int_equal(croft_launch(s.dispatch, &options, NULL), CROFT_REJECTED);
    close_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_output_may_be_an_input),
        cmocka_unit_test(a_wide_row_may_be_an_input_too),
        cmocka_unit_test(what_would_read_its_own_output_is_refused),
        cmocka_unit_test(a_launch_keeps_to_what_was_prepared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
