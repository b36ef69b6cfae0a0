/* Paired timing: see measure.h. */
#include "measure.h"

#include <stdlib.h>
#include <time.h>

enum { ROUNDS_LIMIT = 64 };

double bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double bench_processor_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (values[(count - 1) / 2] + values[count / 2]) / 2.0;
}

static double time_calls(bench_arm *arm, void *state, int64_t calls) {
    double start = bench_now();
    for (int64_t i = 0; i < calls; i++) {
        arm(state);
    }
    return (bench_now() - start) / (double)calls;
}

/* Calls of an arm that last about least_s. */
static int64_t calls_for(bench_arm *arm, void *state, double least_s) {
    int64_t calls = 1;
    arm(state);
    for (;;) {
        double took = time_calls(arm, state, calls) * (double)calls;
        if (took >= least_s || calls >= (int64_t)1 << 30) {
            return calls;
        }
        calls *= took > least_s / 8 ? 2 : 4;
    }
}

bench_pair bench_compare(bench_arm *a, void *a_state, bench_arm *b, void *b_state, int rounds,
                         double least_s) {
    double a_times[ROUNDS_LIMIT], b_times[ROUNDS_LIMIT], ratios[ROUNDS_LIMIT];
    rounds = rounds < ROUNDS_LIMIT ? rounds : ROUNDS_LIMIT;
    int64_t a_calls = calls_for(a, a_state, least_s);
    int64_t b_calls = calls_for(b, b_state, least_s);
    for (int i = 0; i < rounds; i++) {
        double a_first = time_calls(a, a_state, a_calls);
        double b_first = time_calls(b, b_state, b_calls);
        double b_second = time_calls(b, b_state, b_calls);
        double a_second = time_calls(a, a_state, a_calls);
        a_times[i] = (a_first + a_second) / 2.0;
        b_times[i] = (b_first + b_second) / 2.0;
        ratios[i] = b_times[i] / a_times[i];
    }
    bench_pair pair = {
        .ratio = bench_median(ratios, rounds), .least = ratios[0], .greatest = ratios[rounds - 1]};
    pair.a_s = bench_median(a_times, rounds);
    pair.b_s = bench_median(b_times, rounds);
    return pair;
}
