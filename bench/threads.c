/* What it costs to find the team of a context asleep.
 *
 *     bench_threads [threads]      2, or as many as are asked for
 *
 * A softmax of 64 and of 1024 rows of 4096 is launched 200 times back to back and 200 times after
 * 20 ms of sleep, through croft.h; medians in microseconds. Exit status 1 where sleep adds more
 * than 100 us. What a processor's own sleep costs stands beside it: the same on one thread, which
 * wakes nobody.
 */
#include "croft.h"
#include "measure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WIDTH = 4096, MOST_ROWS = 1024, TIMES = 200, WARM = 20, SLEEP_MS = 20 };

static const double most_us = 100;
static const char text[] = "kernel softmax(x: in f32[R, N], y: out f32[R, N]) {\n"
                           "    program row: R\n"
                           "    t = x[row, :]\n"
                           "    e = exp(t - max(t))\n"
                           "    y[row, :] = e / sum(e)\n"
                           "}\n";

static croft_dispatch *prepare(croft_kernel *kernel, float *x, float *y, int64_t rows) {
    int64_t shape[] = {rows, WIDTH};
    croft_tensor in = {.data = x,
                       .device_type = CROFT_ON_CPU,
                       .rank = 2,
                       .dtype_code = CROFT_FLOAT,
                       .dtype_bits = 32,
                       .dtype_lanes = 1,
                       .shape = shape};
    croft_tensor out = in;
    out.data = y;
    const croft_argument arguments[] = {
        {.name = "x", .kind = CROFT_ARGUMENT_TENSOR, .tensor = &in},
        {.name = "y", .kind = CROFT_ARGUMENT_TENSOR, .tensor = &out}};
    croft_dispatch *dispatch = NULL;
    croft_diagnostics *findings = NULL;
    if (croft_prepare(kernel, arguments, 2, NULL, &dispatch, &findings) != CROFT_OK)
        fprintf(stderr, "%s", croft_diagnostics_text(findings));
    croft_diagnostics_free(findings);
    return dispatch;
}

/* Median of a launch, in microseconds. */
static double time_launches(croft_dispatch *dispatch, int sleep_ms) {
    double times[TIMES];
    for (int i = -WARM; i < TIMES; i++) {
        if (sleep_ms > 0)
            nanosleep(&(struct timespec){0, sleep_ms * 1000000L}, NULL);
        double start = bench_now();
        croft_launch(dispatch, NULL, NULL);
        if (i >= 0)
            times[i] = (bench_now() - start) * 1e6;
    }
    return bench_median(times, TIMES);
}

/* False: it could not be measured. *added: by sleep, in microseconds. */
static bool measure(int threads, int64_t rows, float *x, float *y, double *added) {
    croft_context *context = NULL;
    croft_kernel *kernel = NULL;
    croft_config config = {.size = sizeof config, .threads = threads};
    croft_source source = {.size = sizeof source, .text = text, .name = "softmax"};
    croft_dispatch *dispatch = NULL;
    if (croft_context_create(&config, &context) == CROFT_OK &&
        croft_compile(context, &source, &kernel, NULL) == CROFT_OK)
        dispatch = prepare(kernel, x, y, rows);
    if (dispatch != NULL) {
        double busy = time_launches(dispatch, 0), idle = time_launches(dispatch, SLEEP_MS);
        *added = idle - busy;
        printf("%5lld x %d  %d threads  %8.1f us back to back  %8.1f us after %d ms  %+7.1f\n",
               (long long)rows, WIDTH, threads, busy, idle, SLEEP_MS, *added);
    }
    croft_dispatch_free(dispatch);
    croft_kernel_free(kernel);
    croft_context_free(context);
    return dispatch != NULL;
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 2, failed = 0;
    float *x = calloc((size_t)MOST_ROWS * WIDTH, sizeof *x);
    float *y = calloc((size_t)MOST_ROWS * WIDTH, sizeof *y);
    if (x == NULL || y == NULL || threads < 1)
        return 2;
    for (int i = 0; i < MOST_ROWS * WIDTH; i++)
        x[i] = (float)(i % 97) / 16.0f;
    static const int64_t rows[] = {64, 1024};
    for (int i = 0; i < 2; i++) {
        double added = 0, alone = 0;
        if (!measure(1, rows[i], x, y, &alone) || !measure(threads, rows[i], x, y, &added))
            return 2;
        failed += added > most_us;
    }
    printf("%d of 2 lose more than %.0f us\n", failed, most_us);
    free(x);
    free(y);
    return failed > 0;
}
