/*
 * A softmax as an expert would write it by hand: the peer that generated code is held to. Compiled
 * twice, for AVX2 with FMA (8 lanes) and for AVX-512 (16 lanes).
 *
 *     pass 1: max of the row                 four accumulators of one vector
 *     pass 2: y = exp(x - max), its sum      the exponential inlined, four accumulators
 *     pass 3: y *= 1 / sum
 *
 * The exponential knows that its argument is <= 0: 2^n is formed 64 binades high and brought down
 * by one exact multiplication, so subnormal results round once; at most 2 ulp everywhere
 * (bench/rows measures it). Plain stores, no prefetch, no fast-math; a NaN makes its row NaN. It
 * splits no rows over threads: the caller gives it a range.
 */
#include "vector_softmax.h"

#include <immintrin.h>
#include <math.h>
#include <string.h>

#if defined(__AVX512F__)
#define WIDTH(name) name##_512
typedef __m512 Vector;
typedef int32_t Bits __attribute__((vector_size(64)));
#define vector_max(a, b)    _mm512_max_ps(a, b)
#define vector_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vector_splat(value) _mm512_set1_ps(value)
#else
#define WIDTH(name)         name##_256
typedef __m256 Vector;
typedef int32_t Bits __attribute__((vector_size(32)));
#define vector_max(a, b)    _mm256_max_ps(a, b)
#define vector_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vector_splat(value) _mm256_set1_ps(value)
#endif

enum { LANES = sizeof(Vector) / sizeof(float), UNROLL = 4, STRIDE = LANES * UNROLL };

#define INLINE static inline __attribute__((always_inline))

INLINE Vector vector_load(const float *from) {
    Vector value;
    memcpy(&value, from, sizeof value);
    return value;
}

INLINE void vector_store(float *to, Vector value) {
    memcpy(to, &value, sizeof value);
}

/* exp of t <= 0: t = n ln2 + r with |r| <= ln2/2; 1 + r + r^2 q(r), q a minimax quartic. */
INLINE Vector vector_exp(Vector t) {
    const Vector magic = vector_splat(0x1.8p23F + 191.0F); /* 191 = bias 127 + 64 binades */
    t = vector_max(vector_splat(-104.0F), t);              /* below, the result rounds to 0 */
    Vector k = vector_fma(t, vector_splat(0x1.715476p0F), magic);
    Vector n = k - magic;
    Vector r = vector_fma(n, vector_splat(-0x1.62e43p-1F), t);
    r = vector_fma(n, vector_splat(0x1.05c61p-29F), r);
    Vector q = vector_splat(0x1.6a2256p-10F);
    q = vector_fma(q, r, vector_splat(0x1.123b02p-7F));
    q = vector_fma(q, r, vector_splat(0x1.5558f8p-5F));
    q = vector_fma(q, r, vector_splat(0x1.555490p-3F));
    q = vector_fma(q, r, vector_splat(0x1.fffffcp-2F));
    Vector p = vector_fma(vector_fma(q, r, vector_splat(1.0F)), r, vector_splat(1.0F));
    Vector scale = (Vector)((Bits)k << 23);
    return p * scale * vector_splat(0x1p-64F);
}

static float lanes_max(Vector v) {
    float max = v[0];
    for (int lane = 1; lane < LANES; lane++) {
        max = v[lane] > max ? v[lane] : max;
    }
    return max;
}

static float lanes_sum(Vector v) {
    float sum = 0.0F;
    for (int lane = 0; lane < LANES; lane++) {
        sum += v[lane];
    }
    return sum;
}

static float row_max(const float *x, int64_t width) {
    Vector m[UNROLL];
    for (int u = 0; u < UNROLL; u++) {
        m[u] = vector_splat(-INFINITY);
    }
    int64_t i = 0;
    for (; i + STRIDE <= width; i += STRIDE) {
        for (int u = 0; u < UNROLL; u++) {
            m[u] = vector_max(vector_load(x + i + u * LANES), m[u]);
        }
    }
    float max = lanes_max(vector_max(vector_max(m[0], m[1]), vector_max(m[2], m[3])));
    for (; i < width; i++) {
        max = x[i] > max ? x[i] : max;
    }
    return max;
}

static float row_exponentials(const float *restrict x, float *restrict y, int64_t width,
                              float max) {
    Vector m = vector_splat(max);
    Vector s[UNROLL];
    for (int u = 0; u < UNROLL; u++) {
        s[u] = vector_splat(0.0F);
    }
    int64_t i = 0;
    for (; i + STRIDE <= width; i += STRIDE) {
        for (int u = 0; u < UNROLL; u++) {
            Vector e = vector_exp(vector_load(x + i + u * LANES) - m);
            vector_store(y + i + u * LANES, e);
            s[u] += e;
        }
    }
    float sum = lanes_sum((s[0] + s[1]) + (s[2] + s[3]));
    for (; i < width; i += LANES) {
        int64_t left = width - i < LANES ? width - i : LANES;
        Vector t = vector_splat(-INFINITY);
        memcpy(&t, x + i, (size_t)left * sizeof(float));
        Vector e = vector_exp(t - m);
        memcpy(y + i, &e, (size_t)left * sizeof(float));
        for (int64_t lane = 0; lane < left; lane++) {
            sum += e[lane];
        }
    }
    return sum;
}

static void row_scale(float *restrict y, int64_t width, float factor) {
    Vector scale = vector_splat(factor);
    int64_t i = 0;
    for (; i + STRIDE <= width; i += STRIDE) {
        for (int u = 0; u < UNROLL; u++) {
            vector_store(y + i + u * LANES, vector_load(y + i + u * LANES) * scale);
        }
    }
    for (; i < width; i++) {
        y[i] *= factor;
    }
}

void WIDTH(vector_softmax_rows)(const float *restrict x, float *restrict y, int64_t first,
                                int64_t end, int64_t width) {
    for (int64_t r = first; r < end; r++) {
        float max = row_max(x + r * width, width);
        float sum = row_exponentials(x + r * width, y + r * width, width, max);
        row_scale(y + r * width, width, 1.0F / sum);
    }
}

void WIDTH(vector_softmax_exponentials)(const float *restrict x, float *restrict y, int64_t count) {
    (void)row_exponentials(x, y, count, 0.0F);
}
