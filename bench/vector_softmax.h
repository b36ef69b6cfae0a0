/*
 * The hand-written peer of softmax: three passes over each row with explicit 8-lane vectors. Needs
 * AVX2 and FMA at run time (vector_softmax_supported tells).
 */
#ifndef BENCH_VECTOR_SOFTMAX_H
#define BENCH_VECTOR_SOFTMAX_H

#include <stdbool.h>
#include <stdint.h>

bool vector_softmax_supported(void);

/* Softmax of the rows first <= r < end of the dense f32 tensors x and y, which do not overlap. */
void vector_softmax_rows(const float *restrict x, float *restrict y, int64_t first, int64_t end,
                         int64_t width);

/* The exponential that the kernel inlines, of `count` values <= 0 (NaN stays NaN): for measuring
 * its error. */
void vector_softmax_exponentials(const float *restrict x, float *restrict y, int64_t count);

#endif
