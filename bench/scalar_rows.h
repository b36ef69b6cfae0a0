/*
 * The scalar baseline of the six row operators: plain loops over one row after another, one thread,
 * libm. All tensors are dense f32 with `rows` rows of `width` elements; weights have `width`
 * elements. Every function writes its whole output and allocates nothing. scalar_rows.c is compiled
 * by gcc -O3 without -march and is never edited to get slower.
 */
#ifndef BENCH_SCALAR_ROWS_H
#define BENCH_SCALAR_ROWS_H

#include <stdint.h>

/* y[r] = sum of row r. */
void scalar_sum(const float *restrict x, float *restrict y, int64_t rows, int64_t width);

/* y[r, i] = exp(x[r, i] - max of row r) / sum of those exponentials. */
void scalar_softmax(const float *restrict x, float *restrict y, int64_t rows, int64_t width);

/* y[r, i] = x[r, i] * weight[i] / sqrt(mean of x[r]^2 + eps). */
void scalar_rmsnorm(const float *restrict x, const float *restrict weight, float *restrict y,
                    int64_t rows, int64_t width, float eps);

/* y[r, i] = (x[r, i] - mean) / sqrt(centred variance + eps) * weight[i] + bias[i]. */
void scalar_layernorm(const float *restrict x, const float *restrict weight,
                      const float *restrict bias, float *restrict y, int64_t rows, int64_t width,
                      float eps);

/* The layer norm of x + residual. */
void scalar_residual_layernorm(const float *restrict x, const float *restrict residual,
                               const float *restrict weight, const float *restrict bias,
                               float *restrict y, int64_t rows, int64_t width, float eps);

/* loss[r] = log(sum exp(logits[r])) - logits[r, label[r]], 0 where the label equals `ignore`;
 * a label outside the row contributes a logit of 0. */
void scalar_cross_entropy(const float *restrict logits, const int32_t *restrict label,
                          float *restrict loss, int64_t rows, int64_t width, int32_t ignore);

#endif
