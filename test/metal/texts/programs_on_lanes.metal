/* Kernel sum for m4, 32 lanes in groups of 32. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef float f32;
typedef long i64;
typedef ulong u64;
typedef int i32;
#define INLINE static inline

INLINE i64 add_i64(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE i64 minimum_i64(i64 a, i64 b) {
    return a < b ? a : b;
}

struct croft_words {
    i64 words[5];
    i64 first;
};

[[max_total_threads_per_threadgroup(32)]]
kernel void croft_sum(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]], device uchar *workspace [[buffer(2)]], constant struct croft_words &arguments [[buffer(3)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 R = arguments.words[0];
    const i64 N = arguments.words[1];
    const i64 x_stride0 = arguments.words[2];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 31);
    const i64 group = arguments.first + group_number;
    // examples/sum.croft:3   program row: R
    const i64 v = worker;
    const i64 v2 = mul_i64(group, 32);
    const i64 v3 = add_i64(v2, v);
    const i64 v4 = (R - 1);
    const bool v5 = v3 < R;
    const i64 row = minimum_i64(v3, v4);
    // examples/sum.croft:4   y[row] = sum(x[row, :])
    f32 carry = 0.0f;
    for (i64 k = 0; k < N; k++) {
        const f32 x2 = x[k + row * x_stride0];
        const f32 v6 = carry + x2;
        carry = v6;
    }
    if (v5) {
        y[row] = carry;
    }
}

/* plan 4e3056a0145585bf */
