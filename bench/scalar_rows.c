/*
 * The scalar baseline: what a competent C programmer writes before thinking of vectors.
 *
 * One thread, libm, restrict pointers, two or three passes over a row that stays in cache:
 *
 *     softmax:   max;  y = exp(x - max) and its sum;  y *= 1 / sum
 *     layernorm: mean; centred variance;              normalise, scale, shift
 *
 * Built by gcc -O3 without -march, so the compiler may use what every x86-64 has where C's
 * arithmetic rules let it. It does not split rows over threads, block, prefetch or approximate.
 */
#include "scalar_rows.h"

#include <math.h>

void scalar_sum(const float *restrict x, float *restrict y, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * width;
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            sum += row[i];
        }
        y[r] = sum;
    }
}

void scalar_softmax(const float *restrict x, float *restrict y, int64_t rows, int64_t width) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * width;
        float *out = y + r * width;
        float max = -INFINITY;
        for (int64_t i = 0; i < width; i++) {
            max = row[i] > max ? row[i] : max;
        }
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            out[i] = expf(row[i] - max);
            sum += out[i];
        }
        float scale = 1.0F / sum;
        for (int64_t i = 0; i < width; i++) {
            out[i] *= scale;
        }
    }
}

void scalar_rmsnorm(const float *restrict x, const float *restrict weight, float *restrict y,
                    int64_t rows, int64_t width, float eps) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * width;
        float *out = y + r * width;
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            sum += row[i] * row[i];
        }
        float scale = 1.0F / sqrtf(sum / (float)width + eps);
        for (int64_t i = 0; i < width; i++) {
            out[i] = row[i] * scale * weight[i];
        }
    }
}

void scalar_layernorm(const float *restrict x, const float *restrict weight,
                      const float *restrict bias, float *restrict y, int64_t rows, int64_t width,
                      float eps) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * width;
        float *out = y + r * width;
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            sum += row[i];
        }
        float mean = sum / (float)width;
        float squares = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            float centred = row[i] - mean;
            squares += centred * centred;
        }
        float scale = 1.0F / sqrtf(squares / (float)width + eps);
        for (int64_t i = 0; i < width; i++) {
            out[i] = (row[i] - mean) * scale * weight[i] + bias[i];
        }
    }
}

void scalar_residual_layernorm(const float *restrict x, const float *restrict residual,
                               const float *restrict weight, const float *restrict bias,
                               float *restrict y, int64_t rows, int64_t width, float eps) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = x + r * width;
        const float *other = residual + r * width;
        float *out = y + r * width;
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            out[i] = row[i] + other[i];
            sum += out[i];
        }
        float mean = sum / (float)width;
        float squares = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            float centred = out[i] - mean;
            squares += centred * centred;
        }
        float scale = 1.0F / sqrtf(squares / (float)width + eps);
        for (int64_t i = 0; i < width; i++) {
            out[i] = (out[i] - mean) * scale * weight[i] + bias[i];
        }
    }
}

void scalar_cross_entropy(const float *restrict logits, const int32_t *restrict label,
                          float *restrict loss, int64_t rows, int64_t width, int32_t ignore) {
    for (int64_t r = 0; r < rows; r++) {
        if (label[r] == ignore) {
            loss[r] = 0.0F;
            continue;
        }
        const float *row = logits + r * width;
        float max = -INFINITY;
        for (int64_t i = 0; i < width; i++) {
            max = row[i] > max ? row[i] : max;
        }
        float sum = 0.0F;
        for (int64_t i = 0; i < width; i++) {
            sum += expf(row[i] - max);
        }
        float picked = label[r] >= 0 && label[r] < width ? row[label[r]] : 0.0F;
        loss[r] = logf(sum) + max - picked;
    }
}
