/* The n-th allocation fails, for every n: a status, nothing lost, and the context goes on. The
 * context has a cache, which is empty until the first program is loaded.
 *
 * tier: check-long (three kernels; the quick run has one)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cache_fixture.h"
#include "library_fixture.h"

#define NORM                                                                                       \
    "kernel norm(x: in T[R, N], w: in f32[N], y: out T[R, N], T: f32 | bf16) {\n"                  \
    "    program row: R\n"                                                                         \
    "    t = f32(x[row, :])\n"                                                                     \
    "    y[row, :] = t * rsqrt(sum(t * t) / N + 1e-5) * w[:]\n"                                    \
    "}\n"

enum { ROWS = 3, WIDTH = 20 };

typedef struct arrays {
    float x[ROWS * WIDTH], y[ROWS * WIDTH], w[WIDTH];
    matrix in, out;
    croft_tensor weights;
    int64_t width;
} arrays;

static void set_arrays(arrays *a) {
    memset(a, 0, sizeof *a);
    matrix_set(&a->in, a->x, ROWS, WIDTH, WIDTH);
    matrix_set(&a->out, a->y, ROWS, WIDTH, WIDTH);
    a->width = WIDTH;
    a->weights = a->in.tensor;
    a->weights.data = a->w;
    a->weights.rank = 1;
    a->weights.shape = &a->width;
    a->weights.strides = NULL;
}

/* From text to a launch; the first status that is not OK. */
static croft_status go_through(croft_context *context, const char *text, arrays *a) {
    croft_kernel *kernel = NULL;
    croft_dispatch *dispatch = NULL;
    croft_diagnostics *findings = NULL;
    const croft_argument arguments[] = {
        tensor_argument("x", &a->in),
        tensor_argument("y", &a->out),
        {.name = "w", .kind = CROFT_ARGUMENT_TENSOR, .tensor = &a->weights}};
    int count = strstr(text, "w: in") != NULL ? 3 : 2;
    croft_status status = compile_text(context, text, &kernel, &findings);
    croft_diagnostics_free(findings);
    findings = NULL;
    if (status == CROFT_OK)
        status = croft_prepare(kernel, arguments, count, NULL, &dispatch, &findings);
    croft_diagnostics_free(findings);
    if (status == CROFT_OK)
        status = croft_launch(dispatch, NULL, NULL);
    croft_dispatch_free(dispatch);
    croft_kernel_free(kernel);
    return status;
}

static void fail_each(const char *text) {
    arrays a;
    scratch s;
    set_arrays(&a);
    scratch_make(&s);
    for (int64_t n = 1;; n++) {
        meter m = {.failing = n};
        croft_context *context = NULL;
        croft_config config = {.size = sizeof config,
                               .resize = metered,
                               .resize_context = &m,
                               .threads = 2,
                               .cache = s.directory};
        croft_status status = croft_context_create(&config, &context);
        if (status == CROFT_OK)
            status = go_through(context, text, &a);
        bool reached = m.asked >= n;
        if (status != (reached ? CROFT_OUT_OF_MEMORY : CROFT_OK))
            print_error("allocation %lld: %s\n", (long long)n, croft_status_name(status));
        assert_int_equal(status, reached ? CROFT_OUT_OF_MEMORY : CROFT_OK);
        if (context != NULL && n % 8 == 1)
            assert_int_equal(go_through(context, text, &a), CROFT_OK);
        croft_context_free(context);
        assert_int_equal(m.held, 0);
        if (!reached)
            break;
    }
    scratch_remove(&s);
}

static void scaling(void **state) {
    (void)state;
    fail_each(SCALE);
}

static void softmax(void **state) {
    (void)state;
    fail_each(SOFTMAX);
}

static void a_norm_of_any_type(void **state) {
    (void)state;
    fail_each(NORM);
}

int main(int argc, char **argv) {
    (void)argv;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scaling),
        cmocka_unit_test(softmax),
        cmocka_unit_test(a_norm_of_any_type),
    };
    return argc > 1 ? _cmocka_run_group_tests("long", tests, 3, NULL, NULL)
                    : _cmocka_run_group_tests("quick", tests, 1, NULL, NULL);
}
