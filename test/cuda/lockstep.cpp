/* Runs an emitted CUDA kernel on the host, thread by thread, without a device.
 *
 * Each thread of a group is a fiber, which runs until it waits: at a barrier of the group, at one of
 * its warp, or in a shuffle, where it leaves its value. When no thread can go on, those that are
 * complete are let go: a group whose threads all wait, a warp whose named lanes all wait for the same.
 * Anything else is a fault, and so is a mask that names a lane that has left or does not name the
 * caller. Threads run in turn upwards and downwards, so that a missing barrier shows.
 *
 * The kernel's text stands at the line KERNEL, its entry at ENTRY; the text of inline PTX is replaced
 * by calls of host functions (cuda_lockstep.h). The functions at the end have the contract of the cpu
 * target, with every running group's workspace behind the last one's. */
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__
#define __global__
#define __forceinline__ inline __attribute__((always_inline, unused))
#define __launch_bounds__(threads)
#define __grid_constant__
#define __shared__ static
#define __align__(bytes) __attribute__((aligned(bytes)))

namespace {

enum { THREADS_MAX = 1024, WARP = 32, STACK_BYTES = 256 * 1024 };
enum wait_kind { READY, GROUP, WARPS, LEFT };

struct fiber {
    ucontext_t context; /* where it begins */
    jmp_buf at;         /* where it goes on, once it has begun */
    bool begun;
    wait_kind kind;
    unsigned mask;     /* WARPS: the lanes that are named */
    uint64_t left;     /* what it leaves for the others */
    uint64_t taken[WARP]; /* what the lanes of its warp had left */
};

struct thread_number {
    unsigned x;
};

fiber *fibers;
jmp_buf scheduler;
int current, thread_count;
thread_number blockIdx;
char *lockstep_scratch;
const char *fault;
void (*body)();

#define threadIdx (thread_number{(unsigned)current})

/* Switching by jumps asks nothing of the system, as contexts do for the signals of each. */
void go_on(fiber *f) {
    if (_setjmp(scheduler) != 0)
        return;
    if (f->begun)
        _longjmp(f->at, 1);
    f->begun = true;
    setcontext(&f->context);
}

void let_others() {
    if (_setjmp(fibers[current].at) == 0)
        _longjmp(scheduler, 1);
}

void wait_for(wait_kind kind, unsigned mask, uint64_t left) {
    fiber *own = &fibers[current];
    own->kind = kind;
    own->mask = mask;
    own->left = left;
    if (kind == WARPS && (mask >> current % WARP & 1) == 0)
        fault = "a mask does not name its own lane";
    let_others();
}

void run_fiber() {
    for (;;) { /* a group after the other */
        body();
        fibers[current].kind = LEFT;
        let_others();
    }
}

void make_fiber(fiber *f, char *stack) {
    getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = STACK_BYTES;
    f->context.uc_link = nullptr;
    makecontext(&f->context, run_fiber, 0);
}

bool release_group() {
    int waiting = 0, left = 0;
    for (int t = 0; t < thread_count; t++) {
        waiting += fibers[t].kind == GROUP;
        left += fibers[t].kind == LEFT;
    }
    if (waiting == 0 || waiting + left < thread_count)
        return false;
    for (int t = 0; t < thread_count; t++)
        if (fibers[t].kind == GROUP)
            fibers[t].kind = READY;
    return true;
}

/* The lanes that thread t named, when they all wait and name the same. */
bool release_warp(int t) {
    int first = t - t % WARP;
    unsigned mask = fibers[t].mask;
    for (int l = 0; l < WARP; l++) {
        if ((mask >> l & 1) == 0)
            continue;
        if (first + l >= thread_count || fibers[first + l].kind == LEFT)
            fault = "a mask names a lane that is not there";
        if (fault || fibers[first + l].kind != WARPS)
            return false;
        if (fibers[first + l].mask != mask)
            fault = "lanes of a warp name different masks";
    }
    for (int l = 0; l < WARP; l++)
        for (int other = 0; (mask >> l & 1) != 0 && other < WARP; other++)
            if ((mask >> other & 1) != 0)
                fibers[first + l].taken[other] = fibers[first + other].left;
    for (int l = 0; l < WARP; l++)
        if ((mask >> l & 1) != 0)
            fibers[first + l].kind = READY;
    return true;
}

void run_group() {
    for (int t = 0; t < thread_count; t++)
        fibers[t].kind = READY;
    for (int round = 0;; round++) {
        bool moves = false, over = true;
        for (int i = 0; i < thread_count && !fault; i++) {
            current = round % 2 == 0 ? i : thread_count - 1 - i;
            if (fibers[current].kind == READY)
                go_on(&fibers[current]);
        }
        for (int t = 0; t < thread_count && !fault; t++) {
            over = over && fibers[t].kind == LEFT;
            if (fibers[t].kind == WARPS)
                moves = release_warp(t) || moves;
        }
        if (fault || over)
            return;
        if (!moves && !release_group())
            fault = "threads wait for each other for ever";
    }
}

/* ---- the language's own functions ---- */

template <typename T> uint64_t bits_of(T value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <typename To, typename From> To as(From value) {
    To result;
    static_assert(sizeof result == sizeof value, "the same size");
    memcpy(&result, &value, sizeof result);
    return result;
}

void __syncthreads() {
    wait_for(GROUP, 0, 0);
}

void __syncwarp(unsigned mask) {
    wait_for(WARPS, mask, 0);
}

template <typename T> T take(int lane, unsigned mask) {
    T result;
    if ((mask >> lane & 1) == 0)
        fault = "a lane takes from one that is not named";
    memcpy(&result, &fibers[current].taken[lane], sizeof result);
    return result;
}

template <typename T> T __shfl_xor_sync(unsigned mask, T value, int turned) {
    wait_for(WARPS, mask, bits_of(value));
    return take<T>((current ^ turned) % WARP, mask);
}

template <typename T> T __shfl_sync(unsigned mask, T value, int lane, int width) {
    wait_for(WARPS, mask, bits_of(value));
    int first = current % WARP & ~(width - 1);
    return take<T>(first + (lane & (width - 1)), mask);
}

int __float_as_int(float a) {
    return as<int>(a);
}
unsigned __float_as_uint(float a) {
    return as<unsigned>(a);
}
float __int_as_float(int a) {
    return as<float>(a);
}
float __uint_as_float(unsigned a) {
    return as<float>(a);
}
float __fmaf_rn(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
float __fsqrt_rn(float a) {
    return __builtin_sqrtf(a);
}
int __popc(unsigned a) {
    return __builtin_popcount(a);
}
int __float2int_rz(float a) {
    return a != a ? 0 : a >= 0x1p31f ? INT32_MAX : a < -0x1p31f ? INT32_MIN : (int)a;
}
unsigned __float2uint_rz(float a) {
    return !(a > 0) ? 0 : a >= 0x1p32f ? UINT32_MAX : (unsigned)a;
}
/* What the device makes of NaN is no zero. */
long long __float2ll_rz(float a) {
    return a >= 0x1p63f ? INT64_MAX : !(a >= -0x1p63f) ? INT64_MIN : (long long)a;
}

/* ---- what inline PTX is replaced by ---- */

float lockstep_f32_from_f16(unsigned short a) {
    float magnitude = (a & 0x7c00) == 0x7c00 ? ((a & 0x3ff) ? __builtin_nanf("") : __builtin_inff())
                      : as<float>((a & 0x7fffu) << 13) * 0x1p112f;
    return (a & 0x8000) != 0 ? -magnitude : magnitude;
}

/* Half a unit and the rounding to even are left to the addition of a number whose last bit is the
 * last bit of the result. */
unsigned short lockstep_f16_from_f32(float a) {
    unsigned sign = as<unsigned>(a) >> 16 & 0x8000;
    float m = as<float>(as<unsigned>(a) & 0x7fffffff);
    if (a != a)
        return 0x7fff;
    if (m >= 65520)
        return (unsigned short)(sign | 0x7c00);
    int exponent = (int)(as<unsigned>(m) >> 23) - 127;
    float unit = as<float>((unsigned)((exponent < -14 ? -14 : exponent) + 127 + 13) << 23);
    float rounded = (m + unit) - unit;
    return (unsigned short)(sign | (unsigned)(as<unsigned>(rounded * 0x1p-112f) >> 13));
}

unsigned short lockstep_bf16_from_f32(float a) {
    unsigned bits = as<unsigned>(a);
    return a != a ? 0x7fff : (unsigned short)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float lockstep_round_even(float a) {
    return __builtin_rintf(a);
}

} // namespace

KERNEL

namespace {

croft_arguments arguments_of_all;

void call_entry() {
    ENTRY(arguments_of_all);
}

} // namespace

/* NULL, or what went wrong. The scratch of each group begins as 0x5a. */
extern "C" const char *lockstep_run(const void *arguments, size_t size, long long begin,
                                    long long end, int threads, size_t scratch_bytes) {
    if (size != sizeof arguments_of_all)
        return "the arguments have another size";
    fibers = (fiber *)calloc(THREADS_MAX, sizeof *fibers);
    char *stacks = (char *)malloc((size_t)THREADS_MAX * STACK_BYTES);
    char *scratch = (char *)malloc(scratch_bytes + 16);
    if (!fibers || !stacks || !scratch)
        return "out of memory";
    memcpy((void *)&arguments_of_all, arguments, size);
    arguments_of_all.first = begin;
    lockstep_scratch = scratch + (16 - (uintptr_t)scratch % 16) % 16;
    body = call_entry;
    thread_count = threads;
    fault = nullptr;
    for (int t = 0; t < threads; t++)
        make_fiber(&fibers[t], stacks + (size_t)t * STACK_BYTES);
    for (blockIdx.x = 0; blockIdx.x < end - begin && !fault; blockIdx.x++) {
        memset(lockstep_scratch, 0x5a, scratch_bytes);
        run_group();
    }
    free(scratch);
    free(stacks);
    free(fibers);
    return fault;
}
