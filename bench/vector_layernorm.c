/*
 * A LayerNorm as an expert would write it by hand: the peer that generated code is held to.
 * Compiled twice, for AVX2 with FMA (8 lanes) and for AVX-512 (16 lanes).
 *
 *     pass 1: sum of the row                          eight accumulators of one vector
 *     pass 2: sum of (x - mean)^2                     likewise: centred, large means do not cancel
 *     pass 3: y = (x - mean) * (rsqrt * weight) + bias
 *
 * Plain stores, no prefetch, no fast-math. It splits no rows over threads: the caller gives it a
 * range.
 */
#include "vector_layernorm.h"

#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define WIDTH(name) name##_512
typedef float Vector __attribute__((vector_size(64)));
#else
#define WIDTH(name) name##_256
typedef float Vector __attribute__((vector_size(32)));
#endif

enum { LANES = sizeof(Vector) / sizeof(float), UNROLL = 8, STRIDE = LANES * UNROLL };

#define INLINE static inline __attribute__((always_inline))

INLINE Vector vector_load(const float *from) {
    Vector value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE void vector_store(float *to, Vector value) {
    memcpy(to, &value, sizeof value);
}

static float lanes_sum(const Vector *v) {
    Vector all = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    float sum = 0.0F;
    for (int lane = 0; lane < LANES; lane++) {
        sum += all[lane];
    }
    return sum;
}

static float row_sum(const float *x, int64_t width) {
    Vector sums[UNROLL] = {{0.0F}};
    int64_t i = 0;
    for (; i + STRIDE <= width; i += STRIDE) {
        for (int u = 0; u < UNROLL; u++) {
            sums[u] += vector_load(x + i + u * LANES);
        }
    }
    float sum = lanes_sum(sums);
    for (; i < width; i++) {
        sum += x[i];
    }
    return sum;
}

static float row_squares(const float *x, int64_t width, float mean) {
    Vector sums[UNROLL] = {{0.0F}};
    int64_t i = 0;
    for (; i + STRIDE <= width; i += STRIDE) {
        for (int u = 0; u < UNROLL; u++) {
            Vector d = vector_load(x + i + u * LANES) - mean;
            sums[u] += d * d;
        }
    }
    float sum = lanes_sum(sums);
    for (; i < width; i++) {
        sum += (x[i] - mean) * (x[i] - mean);
    }
    return sum;
}

void WIDTH(vector_layernorm_rows)(const float *restrict x, const float *restrict weight,
                                  const float *restrict bias, float *restrict y, int64_t first,
                                  int64_t end, int64_t width, float eps) {
    for (int64_t row = first; row < end; row++) {
        const float *from = x + row * width;
        float *to = y + row * width;
        float mean = row_sum(from, width) / (float)width;
        float scale = 1.0F / sqrtf(row_squares(from, width, mean) / (float)width + eps);
        int64_t i = 0;
        for (; i + LANES <= width; i += LANES) {
            Vector d = (vector_load(from + i) - mean) * scale;
            vector_store(to + i, d * vector_load(weight + i) + vector_load(bias + i));
        }
        for (; i < width; i++) {
            to[i] = (from[i] - mean) * scale * weight[i] + bias[i];
        }
    }
}
