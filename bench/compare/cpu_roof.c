/*
 * What comparisons on a CPU have beside their arms: the roofs of memory for the bytes of a case,
 * hand-written kernels, a loop that launches, work that is always the same, and errors in ulp.
 * cpu_native.py compiles it (gcc -O3 -march=native) with the hand-written kernels into a library.
 *
 *     roof_run(ROOF_NT, {x, residual, y}, 2, 1, bytes, ahead, k, {0, 1}, 2)   k passes, in ns
 *
 * A roof reads `reads` arrays and writes `writes` ones, each thread its own part, all passes
 * without meeting the others: what memory gives, not what a call costs. A hand-written kernel meets
 * after each pass, as a call has to. Threads are started before the clock and pinned.
 */
#define _GNU_SOURCE
#include "../vector_layernorm.h"
#include "../vector_softmax.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#if defined(__AVX512F__) || defined(__AVX__)
#include <immintrin.h>
#endif

enum { MOST_THREADS = 256, UNROLL = 4 };

enum { ROOF_READ, ROOF_COPY, ROOF_NT, HAND_SOFTMAX, HAND_LAYERNORM };

#if defined(__AVX512F__)
typedef float Vector __attribute__((vector_size(64), aligned(64)));
#define stream(to, value) _mm512_stream_ps((float *)(to), (__m512)(value))
#elif defined(__AVX__)
typedef float Vector __attribute__((vector_size(32), aligned(32)));
#define stream(to, value) _mm256_stream_ps((float *)(to), (__m256)(value))
#else /* no such store: the plain one */
typedef float Vector __attribute__((vector_size(16), aligned(16)));
#define stream(to, value) (*(to) = (value))
#endif

enum { LANES = sizeof(Vector) / sizeof(float) };

typedef struct work {
    int kind, reads, writes, threads;
    float *arrays[8]; /* what is read, then what is written; of hand-written kernels their own */
    int64_t bytes;    /* of each array */
    int64_t ahead;    /* bytes that are prefetched; 0: none */
    int64_t rows, width;
    long passes;
    pthread_barrier_t start;
    atomic_long arrived; /* at the ends of passes, all threads together */
} work;

typedef struct worker {
    work *work;
    int index, processor;
    double begin_ns, end_ns;
} worker;

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* The numbers of the vectors that a thread has. */
static void part_of(const work *all, int index, int64_t *begin, int64_t *end) {
    int64_t vectors = all->bytes / (int64_t)sizeof(Vector) / UNROLL;
    *begin = vectors * index / all->threads * UNROLL;
    *end = vectors * (index + 1) / all->threads * UNROLL;
}

static void read_pass(const work *all, int index) {
    int64_t begin, end;
    part_of(all, index, &begin, &end);
    Vector sums[UNROLL] = {{0.0F}};
    for (int array = 0; array < all->reads; array++) {
        const Vector *x = (const Vector *)(const void *)all->arrays[array];
        for (int64_t i = begin; i < end; i += UNROLL) {
            for (int u = 0; u < UNROLL; u++) {
                if (all->ahead > 0) {
                    __builtin_prefetch((const char *)(x + i + u) + all->ahead);
                }
                sums[u] += x[i + u];
            }
        }
    }
    Vector sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    __asm__ volatile("" : : "x"(sum) : "memory");
}

/* One read array is copied, two are added. */
static inline __attribute__((always_inline)) void copy_pass(const work *all, int index,
                                                            bool streams, bool two) {
    int64_t begin, end;
    part_of(all, index, &begin, &end);
    const Vector *x = (const Vector *)(const void *)all->arrays[0];
    const Vector *residual = (const Vector *)(const void *)all->arrays[1];
    Vector *y = (Vector *)(void *)all->arrays[all->reads];
    for (int64_t i = begin; i < end; i += UNROLL) {
        for (int u = 0; u < UNROLL; u++) {
            if (all->ahead > 0) {
                __builtin_prefetch((const char *)(x + i + u) + all->ahead);
                if (two) {
                    __builtin_prefetch((const char *)(residual + i + u) + all->ahead);
                }
            }
            Vector value = two ? x[i + u] + residual[i + u] : x[i + u];
            if (streams) {
                stream(y + i + u, value);
            } else {
                y[i + u] = value;
            }
        }
    }
    __asm__ volatile("" : : : "memory");
#if defined(__AVX__)
    if (streams) {
        _mm_sfence();
    }
#endif
}

static void hand_pass(const work *all, int index) {
    int64_t first = all->rows * index / all->threads;
    int64_t end = all->rows * (index + 1) / all->threads;
    float *const *a = all->arrays;
#if defined(__AVX512F__)
    if (all->kind == HAND_SOFTMAX) {
        vector_softmax_rows_512(a[0], a[1], first, end, all->width);
    } else {
        vector_layernorm_rows_512(a[0], a[1], a[2], a[3], first, end, all->width, 1e-5F);
    }
#elif defined(__AVX2__) && defined(__FMA__)
    if (all->kind == HAND_SOFTMAX) {
        vector_softmax_rows_256(a[0], a[1], first, end, all->width);
    } else {
        vector_layernorm_rows_256(a[0], a[1], a[2], a[3], first, end, all->width, 1e-5F);
    }
#endif
}

static void one_pass(work *all, int index) {
    switch (all->kind) {
    case ROOF_READ:
        read_pass(all, index);
        break;
    case ROOF_COPY:
        all->reads == 2 ? copy_pass(all, index, false, true) : copy_pass(all, index, false, false);
        break;
    case ROOF_NT:
        all->reads == 2 ? copy_pass(all, index, true, true) : copy_pass(all, index, true, false);
        break;
    default:
        hand_pass(all, index);
    }
}

/* Waits for the others at the end of pass number `pass`. */
static void meet(work *all, long pass) {
    atomic_fetch_add(&all->arrived, 1);
    while (atomic_load(&all->arrived) < (pass + 1) * all->threads) {
#if defined(__AVX__)
        _mm_pause();
#endif
    }
}

static void *run_worker(void *state) {
    worker *self = state;
    work *all = self->work;
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET((size_t)self->processor, &mask);
    pthread_setaffinity_np(pthread_self(), sizeof mask, &mask);
    one_pass(all, self->index); /* warm, and on its processor */
    pthread_barrier_wait(&all->start);
    self->begin_ns = now_ns();
    for (long pass = 0; pass < all->passes; pass++) {
        one_pass(all, self->index);
        if (all->kind >= HAND_SOFTMAX) {
            meet(all, pass);
        }
    }
    self->end_ns = now_ns();
    return NULL;
}

static double run_work(work *all, const int *processors) {
    worker workers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    pthread_barrier_init(&all->start, NULL, (unsigned)all->threads);
    for (int i = 0; i < all->threads; i++) {
        workers[i] = (worker){all, i, processors[i], 0.0, 0.0};
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]) != 0) {
            return -1.0; /* the barrier would never open: the caller ends the process */
        }
    }
    double begin = INFINITY, end = 0.0;
    for (int i = 0; i < all->threads; i++) {
        pthread_join(threads[i], NULL);
        begin = fmin(begin, workers[i].begin_ns);
        end = fmax(end, workers[i].end_ns);
    }
    pthread_barrier_destroy(&all->start);
    return end - begin;
}

/* `passes` of a roof over arrays of `bytes` each, in ns. `threads` processors are given. */
double roof_run(int kind, float *const *arrays, int reads, int writes, int64_t bytes, int64_t ahead,
                long passes, const int *processors, int threads) {
    work all = {.kind = kind,
                .reads = reads,
                .writes = writes,
                .threads = threads,
                .bytes = bytes,
                .ahead = ahead,
                .passes = passes};
    memcpy(all.arrays, arrays, (size_t)(reads + writes) * sizeof *arrays);
    return run_work(&all, processors);
}

/* `passes` of a hand-written kernel: {x, y} of softmax, {x, weight, bias, y} of LayerNorm. */
double hand_run(int kind, float *const *arrays, int count, int64_t rows, int64_t width, long passes,
                const int *processors, int threads) {
    work all = {.kind = kind, .threads = threads, .rows = rows, .width = width, .passes = passes};
    memcpy(all.arrays, arrays, (size_t)count * sizeof *arrays);
    return run_work(&all, processors);
}

int hand_is_here(void) {
#if defined(__AVX512F__) || (defined(__AVX2__) && defined(__FMA__))
    return 1;
#else
    return 0;
#endif
}

/* `count` calls of croft_launch, in ns; negative when one fails. */
double launch_run(int (*launch)(void *, void *, void *), void *dispatch, long count) {
    int status = 0;
    double begin = now_ns();
    for (long i = 0; i < count; i++) {
        status |= launch(dispatch, NULL, NULL);
    }
    double end = now_ns();
    return status == 0 ? end - begin : -1.0;
}

/* A chain of 200,000 products and sums in one register, in ns: what else ran, or the clock. */
double fixed_work(void) {
    double value = 1.0;
    double begin = now_ns();
    for (int i = 0; i < 200000; i++) {
        value = value * 0.999999 + 1e-6;
        __asm__ volatile("" : "+x"(value));
    }
    return now_ns() - begin;
}

/* Six chains of integers side by side, in ns: what shares the core takes issue slots from it, where
 * it takes nothing from a single chain. */
double wide_work(void) {
    uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
    double begin = now_ns();
    for (uint64_t i = 0; i < 100000; i++) {
        a += i, b ^= i, c += i, d ^= i, e += i, f ^= i;
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    return now_ns() - begin;
}

/* ---- errors ---- */

/* How many units in the last place of a number of this size make 1, in a type of `precision` bits:
 * a power of two, put together of its exponent. */
static inline double units_per_one(double value, int precision, int least_exponent) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    exponent = exponent < least_exponent ? least_exponent : exponent;
    bits = (uint64_t)(1023 - exponent + precision - 1) << 52;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double value_of(const void *values, int64_t index, int bits) {
    if (bits == 32) {
        return (double)((const float *)values)[index];
    }
    uint16_t half = ((const uint16_t *)values)[index];
    if (bits == 8) { /* bf16, by its precision */
        uint32_t word = (uint32_t)half << 16;
        float value;
        memcpy(&value, &word, sizeof value);
        return (double)value;
    }
    double sign = half & 0x8000 ? -1.0 : 1.0;
    int exponent = half >> 10 & 31, fraction = half & 1023;
    if (exponent == 31) {
        return fraction ? (double)NAN : sign * (double)INFINITY;
    }
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25));
}

/* The largest error of `rows` of `width` results: errors[0] in ulp of the result itself, errors[1]
 * in ulp of the largest result of its row. bits: 32 (f32), 16 (f16), 8 (bf16). */
void ulp_errors(const void *got, const double *exact, int64_t rows, int64_t width, int bits,
                double *errors) {
    int precision = bits == 32 ? 24 : bits == 16 ? 11 : 8, least_exponent = bits == 16 ? -14 : -126;
    errors[0] = errors[1] = 0.0;
    for (int64_t row = 0; row < rows; row++) {
        const double *e = exact + row * width;
        double largest = 0.0, worst = 0.0;
        for (int64_t i = 0; i < width; i++) {
            double error = fabs(value_of(got, row * width + i, bits) - e[i]);
            if (!(error <= 1e300)) {
                errors[0] = errors[1] = INFINITY;
                return;
            }
            double units = error * units_per_one(e[i], precision, least_exponent);
            errors[0] = units > errors[0] ? units : errors[0];
            worst = error > worst ? error : worst;
            largest = fabs(e[i]) > largest ? fabs(e[i]) : largest;
        }
        double units = worst * units_per_one(largest, precision, least_exponent);
        errors[1] = units > errors[1] ? units : errors[1];
    }
}
