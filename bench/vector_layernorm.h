/*
 * The hand-written peer of LayerNorm: three passes over each row with explicit vectors, for two
 * widths of register. The caller asks the processor which it has.
 */
#ifndef BENCH_VECTOR_LAYERNORM_H
#define BENCH_VECTOR_LAYERNORM_H

#include <stdint.h>

/* LayerNorm of the rows first <= r < end of the dense f32 tensors x and y, which do not overlap,
 * with weight and bias of a row's width. _256 needs AVX2 and FMA, _512 AVX-512F. */
void vector_layernorm_rows_256(const float *restrict x, const float *restrict weight,
                               const float *restrict bias, float *restrict y, int64_t first,
                               int64_t end, int64_t width, float eps);
void vector_layernorm_rows_512(const float *restrict x, const float *restrict weight,
                               const float *restrict bias, float *restrict y, int64_t first,
                               int64_t end, int64_t width, float eps);

#endif
