/* What it costs to find the team of a context asleep.
 *
 *     bench_threads [threads]      2, or as many as are asked for
 *
 * A softmax of 64 and of 1024 rows of 4096 is launched 200 times back to back and 200 times after
 * 20 ms of sleep, through croft.h; medians in microseconds. Exit status 1 where sleep adds more
 * than 100 us. What the machine loses by the sleep, whoever runs on it, stands beside it: the same
 * on one thread, which wakes nobody, and a memcpy of x to y on the calling thread, without the
 * library.
 */
#include "croft.h"
#include "measure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* What is timed: a dispatch, or, where there is none, a copy of so many bytes. */
typedef struct timed_work {
    croft_dispatch *dispatch;
    const float *x;
    float *y;
    size_t bytes;
} timed_work;

/* Median of a run, in microseconds. */
static double time_runs(const timed_work *work, int sleep_ms) {
    double times[TIMES];
    for (int i = -WARM; i < TIMES; i++) {
        if (sleep_ms > 0)
            nanosleep(&(struct timespec){0, sleep_ms * 1000000L}, NULL);
        double start = bench_now();
        if (work->dispatch != NULL)
            croft_launch(work->dispatch, NULL, NULL);
        else
            memcpy(work->y, work->x, work->bytes);
        if (i >= 0)
            times[i] = (bench_now() - start) * 1e6;
    }
    return bench_median(times, TIMES);
}

/* What sleep adds, in microseconds. */
static double compare(const char *who, int64_t rows, const timed_work *work) {
    double busy = time_runs(work, 0), idle = time_runs(work, SLEEP_MS);
    printf("%5lld x %d  %-10s %8.1f us back to back  %8.1f us after %d ms  %+7.1f\n",
           (long long)rows, WIDTH, who, busy, idle, SLEEP_MS, idle - busy);
    return idle - busy;
}

/* False: it could not be measured. *added: by sleep, in microseconds. */
static bool measure(int threads, int64_t rows, float *x, float *y, double *added) {
    croft_context *context = NULL;
    croft_kernel *kernel = NULL;
    croft_config config = {.size = sizeof config, .threads = threads};
    croft_source source = {.size = sizeof source, .text = text, .name = "softmax"};
    timed_work work = {.dispatch = NULL};
    if (croft_context_create(&config, &context) == CROFT_OK &&
        croft_compile(context, &source, &kernel, NULL) == CROFT_OK)
        work.dispatch = prepare(kernel, x, y, rows);
    char who[32];
    snprintf(who, sizeof who, threads == 1 ? "%d thread" : "%d threads", threads);
    if (work.dispatch != NULL)
        *added = compare(who, rows, &work);
    bool measured = work.dispatch != NULL;
    croft_dispatch_free(work.dispatch);
    croft_kernel_free(kernel);
    croft_context_free(context);
    return measured;
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
        timed_work copy = {.x = x, .y = y, .bytes = (size_t)rows[i] * WIDTH * sizeof *x};
        compare("memcpy", rows[i], &copy);
        if (!measure(1, rows[i], x, y, &alone) || !measure(threads, rows[i], x, y, &added))
            return 2;
        failed += added > most_us;
    }
    printf("%d of 2 lose more than %.0f us\n", failed, most_us);
    free(x);
    free(y);
    return failed > 0;
}
