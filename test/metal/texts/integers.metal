/* Kernel integers for m1, 128 lanes in groups of 128. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef long i64;
typedef ulong u64;
typedef int i32;
typedef uint u32;
#define INLINE static inline

INLINE i32 add_i32(i32 a, i32 b) {
    return (i32)((u32)a + (u32)b);
}
INLINE i64 add_i64(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE u32 maximum_u32(u32 a, u32 b) {
    return a > b ? a : b;
}
INLINE i32 minimum_i32(i32 a, i32 b) {
    return a < b ? a : b;
}
INLINE i64 minimum_i64(i64 a, i64 b) {
    return a < b ? a : b;
}
INLINE i32 sum_together_i32(i32 a) {
    return (i32)simd_sum((u32)a);
}
INLINE u32 sum_together_u32(u32 a) {
    return (u32)simd_sum((u32)a);
}
INLINE u32 max_together_u32(u32 a) {
    return simd_max(a);
}
INLINE i32 min_together_i32(i32 a) {
    return simd_min(a);
}

struct croft_words {
    i64 words[10];
    i64 first;
};

[[max_total_threads_per_threadgroup(128)]]
kernel void croft_integers(device const i32 *x [[buffer(0)]], device const u32 *u [[buffer(1)]], device i32 *low [[buffer(2)]], device u32 *high [[buffer(3)]], device i32 *total [[buffer(4)]], device u32 *wrapped [[buffer(5)]], device uchar *workspace [[buffer(6)]], constant struct croft_words &arguments [[buffer(7)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 R = arguments.words[0];
    const i64 x_stride0 = arguments.words[2];
    const i64 u_stride0 = arguments.words[4];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 127);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    const i64 group = arguments.first + group_number;
    // test/metal/integers.croft:4   program row: R
    const i64 v = subgroup;
    const i64 v2 = mul_i64(group, 4);
    const i64 v3 = add_i64(v2, v);
    const i64 v4 = (R - 1);
    const bool v5 = v3 < R;
    const i64 row = minimum_i64(v3, v4);
    // test/metal/integers.croft:5   low[row] = min(x[row, :])
    const i64 x_lane = row * x_stride0 + lane;
    const i32 x2_0 = x[x_lane];
    const i32 x2_1 = x[x_lane + 32];
    const i32 x2_2 = x[x_lane + 64];
    const i32 x2_3 = x[x_lane + 96];
    const i32 x2_4 = x[x_lane + 128];
    const i32 x2_5 = x[x_lane + 160];
    const i32 x2_6 = x[x_lane + 192];
    const i32 x2_7 = x[x_lane + 224];
    const i32 v6_0 = minimum_i32(2147483647, x2_0);
    const i32 v6_1 = minimum_i32(2147483647, x2_1);
    const i32 v6_2 = minimum_i32(2147483647, x2_2);
    const i32 v6_3 = minimum_i32(2147483647, x2_3);
    const i32 v6_4 = minimum_i32(2147483647, x2_4);
    const i32 v6_5 = minimum_i32(2147483647, x2_5);
    const i32 v6_6 = minimum_i32(2147483647, x2_6);
    const i32 v6_7 = minimum_i32(2147483647, x2_7);
    // test/metal/integers.croft:6   high[row] = max(u[row, :])
    const i64 u_lane = row * u_stride0 + lane;
    const u32 u2_0 = u[u_lane];
    const u32 u2_1 = u[u_lane + 32];
    const u32 u2_2 = u[u_lane + 64];
    const u32 u2_3 = u[u_lane + 96];
    const u32 u2_4 = u[u_lane + 128];
    const u32 u2_5 = u[u_lane + 160];
    const u32 u2_6 = u[u_lane + 192];
    const u32 u2_7 = u[u_lane + 224];
    const u32 v7_0 = maximum_u32(0u, u2_0);
    const u32 v7_1 = maximum_u32(0u, u2_1);
    const u32 v7_2 = maximum_u32(0u, u2_2);
    const u32 v7_3 = maximum_u32(0u, u2_3);
    const u32 v7_4 = maximum_u32(0u, u2_4);
    const u32 v7_5 = maximum_u32(0u, u2_5);
    const u32 v7_6 = maximum_u32(0u, u2_6);
    const u32 v7_7 = maximum_u32(0u, u2_7);
    // test/metal/integers.croft:7   total[row] = sum(x[row, :])
    const i32 v8_0 = add_i32(0, x2_0);
    const i32 v8_1 = add_i32(0, x2_1);
    const i32 v8_2 = add_i32(0, x2_2);
    const i32 v8_3 = add_i32(0, x2_3);
    const i32 v8_4 = add_i32(0, x2_4);
    const i32 v8_5 = add_i32(0, x2_5);
    const i32 v8_6 = add_i32(0, x2_6);
    const i32 v8_7 = add_i32(0, x2_7);
    // test/metal/integers.croft:8   wrapped[row] = sum(u[row, :])
    const u32 v9_0 = 0u + u2_0;
    const u32 v9_1 = 0u + u2_1;
    const u32 v9_2 = 0u + u2_2;
    const u32 v9_3 = 0u + u2_3;
    const u32 v9_4 = 0u + u2_4;
    const u32 v9_5 = 0u + u2_5;
    const u32 v9_6 = 0u + u2_6;
    const u32 v9_7 = 0u + u2_7;
    // test/metal/integers.croft:5   low[row] = min(x[row, :])
    const i32 min_0 = minimum_i32(v6_0, v6_4);
    const i32 min_1 = minimum_i32(v6_1, v6_5);
    const i32 min_2 = minimum_i32(v6_2, v6_6);
    const i32 min_3 = minimum_i32(v6_3, v6_7);
    const i32 min_0_v2 = minimum_i32(min_0, min_2);
    const i32 min_1_v2 = minimum_i32(min_1, min_3);
    const i32 min = minimum_i32(min_0_v2, min_1_v2);
    const i32 min2 = min_together_i32(min);
    // test/metal/integers.croft:6   high[row] = max(u[row, :])
    const u32 max_0 = maximum_u32(v7_0, v7_4);
    const u32 max_1 = maximum_u32(v7_1, v7_5);
    const u32 max_2 = maximum_u32(v7_2, v7_6);
    const u32 max_3 = maximum_u32(v7_3, v7_7);
    const u32 max_0_v2 = maximum_u32(max_0, max_2);
    const u32 max_1_v2 = maximum_u32(max_1, max_3);
    const u32 max = maximum_u32(max_0_v2, max_1_v2);
    const u32 max2 = max_together_u32(max);
    // test/metal/integers.croft:7   total[row] = sum(x[row, :])
    const i32 sum_0 = add_i32(v8_0, v8_4);
    const i32 sum_1 = add_i32(v8_1, v8_5);
    const i32 sum_2 = add_i32(v8_2, v8_6);
    const i32 sum_3 = add_i32(v8_3, v8_7);
    const i32 sum_0_v2 = add_i32(sum_0, sum_2);
    const i32 sum_1_v2 = add_i32(sum_1, sum_3);
    const i32 sum = add_i32(sum_0_v2, sum_1_v2);
    const i32 sum2 = sum_together_i32(sum);
    // test/metal/integers.croft:8   wrapped[row] = sum(u[row, :])
    const u32 sum3_0 = v9_0 + v9_4;
    const u32 sum3_1 = v9_1 + v9_5;
    const u32 sum3_2 = v9_2 + v9_6;
    const u32 sum3_3 = v9_3 + v9_7;
    const u32 sum3_0_v2 = sum3_0 + sum3_2;
    const u32 sum3_1_v2 = sum3_1 + sum3_3;
    const u32 sum3 = sum3_0_v2 + sum3_1_v2;
    const u32 sum4 = sum_together_u32(sum3);
    // test/metal/integers.croft:5   low[row] = min(x[row, :])
    const i64 v10 = lane;
    const bool v11 = v10 < 1;
    if (v5) {
        if (v11) low[row] = min2;
    }
    // test/metal/integers.croft:6   high[row] = max(u[row, :])
    if (v5) {
        if (v11) high[row] = max2;
    }
    // test/metal/integers.croft:7   total[row] = sum(x[row, :])
    if (v5) {
        if (v11) total[row] = sum2;
    }
    // test/metal/integers.croft:8   wrapped[row] = sum(u[row, :])
    if (v5) {
        if (v11) wrapped[row] = sum4;
    }
}

/* plan 7f8e134b14851049 */
