/*
 * Timing two arms against each other: A B B A rounds in one process, the median of the rounds'
 * ratios with the least and the greatest. Absolute times are shown, never compared across runs.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

typedef void bench_arm(void *state);

typedef struct bench_pair {
    double a_s, b_s;               /* median time of one call of each arm, in seconds */
    double ratio, least, greatest; /* time of b / time of a: above 1, a is faster */
} bench_pair;

/* Monotonic time in seconds. */
double bench_now(void);

/* Processor time of this thread in seconds: other work on the machine counts as little as it can.
 */
double bench_processor_now(void);

/* The median of values[0..count), which it sorts. */
double bench_median(double *values, int count);

/* Each timing repeats an arm until it lasts about least_s. Both arms are called once before, so
 * that pages are resident and threads exist. rounds is at most 64. */
bench_pair bench_compare(bench_arm *a, void *a_state, bench_arm *b, void *b_state, int rounds,
                         double least_s);

#endif
