/*
 * The hand-written peer of softmax: three passes over each row with explicit vectors, for two
 * widths of register. The caller asks the processor which it has.
 */
#ifndef BENCH_VECTOR_SOFTMAX_H
#define BENCH_VECTOR_SOFTMAX_H

#include <stdint.h>

/* Softmax of the rows first <= r < end of the dense f32 tensors x and y, which do not overlap.
 * _256 needs AVX2 and FMA, _512 AVX-512F. */
void vector_softmax_rows_256(const float *restrict x, float *restrict y, int64_t first, int64_t end,
                             int64_t width);
void vector_softmax_rows_512(const float *restrict x, float *restrict y, int64_t first, int64_t end,
                             int64_t width);

/* The exponential that the kernel inlines, of `count` values <= 0 (NaN stays NaN): for measuring
 * its error. */
void vector_softmax_exponentials_256(const float *restrict x, float *restrict y, int64_t count);
void vector_softmax_exponentials_512(const float *restrict x, float *restrict y, int64_t count);

#endif
