/* Kernel softmax for m4, 128 lanes in groups of 128. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef float f32;
typedef ushort f16; // bits
typedef long i64;
typedef ulong u64;
typedef int i32;
typedef uint u32;
#define INLINE static inline

INLINE i32 f32_as_i32(f32 a) {
    return as_type<i32>(a);
}
INLINE f32 i32_as_f32(i32 a) {
    return as_type<f32>(a);
}
INLINE f32 abs_f32(f32 a) {
    return as_type<f32>(as_type<i32>(a) & 0x7fffffff);
}
INLINE i32 shl_i32(i32 a, i32 b) {
    return (i32)((u32)a << (b & 31));
}
INLINE f32 lesser_f32(f32 a, f32 b) {
    return a < b ? a : b;
}
INLINE f32 greater_f32(f32 a, f32 b) {
    return a > b ? a : b;
}
INLINE f32 maximum_f32(f32 a, f32 b) {
    return a > b || a != a ? a : b;
}
INLINE f32 fma_f32(f32 a, f32 b, f32 c) {
    return fma(a, b, c);
}
INLINE f32 f32_from_f16(f16 a) {
    return (f32)as_type<half>(a);
}
INLINE f16 f16_from_f32(f32 a) {
    return as_type<f16>((half)a);
}
INLINE f32 shuffle_xor_f32(f32 a, i32 turned) {
    return (f32)simd_shuffle_xor((f32)a, (ushort)turned);
}
INLINE bool is_aligned(device const void *p, i64 at, i32 size, i32 bytes) {
    return (((u64)p + (u64)at * (u64)size) & (u64)(bytes - 1)) == 0;
}

struct croft_words {
    i64 words[6];
    i64 first;
};

[[max_total_threads_per_threadgroup(128)]]
kernel void croft_softmax(device const f16 *x [[buffer(0)]], device f16 *y [[buffer(1)]], device uchar *workspace [[buffer(2)]], constant struct croft_words &arguments [[buffer(3)]], threadgroup uint4 *shared [[threadgroup(0)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 x_stride0 = arguments.words[2];
    const i64 y_stride0 = arguments.words[4];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 127);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    const i32 at = worker * 2;
    threadgroup uchar *const scratch = (threadgroup uchar *)shared;
    threadgroup f32 *const cells = (threadgroup f32 *)(scratch + 0);
    threadgroup f32 *const cells2 = (threadgroup f32 *)(scratch + 16);
    const i64 group = arguments.first + group_number;
    // examples/softmax.croft:4   t = f32(x[row, :])
    const i64 x_at = group * x_stride0;
    f16 x2_0, x2_1;
    const bool x_whole = is_aligned(x, x_at, 2, 4);
    if (x_whole) {
        const ushort2 pack = *(device const ushort2 *)(x + (x_at + at));
        x2_0 = pack.x;
        x2_1 = pack.y;
    } else {
        x2_0 = x[x_at + at];
        x2_1 = x[x_at + at + 1];
    }
    const f32 t_0 = f32_from_f16(x2_0);
    const f32 t_1 = f32_from_f16(x2_1);
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v_0 = maximum_f32((-as_type<float>(0x7f800000)), t_0);
    const f32 v_1 = maximum_f32((-as_type<float>(0x7f800000)), t_1);
    const f32 max = maximum_f32(v_0, v_1);
    const f32 max2_other16 = shuffle_xor_f32(max, 16);
    const f32 max2_lanes16 = (lane & 16) != 0 ? maximum_f32(max2_other16, max) : maximum_f32(max, max2_other16);
    const f32 max2_other8 = shuffle_xor_f32(max2_lanes16, 8);
    const f32 max2_lanes8 = (lane & 8) != 0 ? maximum_f32(max2_other8, max2_lanes16) : maximum_f32(max2_lanes16, max2_other8);
    const f32 max2_other4 = shuffle_xor_f32(max2_lanes8, 4);
    const f32 max2_lanes4 = (lane & 4) != 0 ? maximum_f32(max2_other4, max2_lanes8) : maximum_f32(max2_lanes8, max2_other4);
    const f32 max2_other2 = shuffle_xor_f32(max2_lanes4, 2);
    const f32 max2_lanes2 = (lane & 2) != 0 ? maximum_f32(max2_other2, max2_lanes4) : maximum_f32(max2_lanes4, max2_other2);
    const f32 max2_other1 = shuffle_xor_f32(max2_lanes2, 1);
    const f32 max2_lanes1 = (lane & 1) != 0 ? maximum_f32(max2_other1, max2_lanes2) : maximum_f32(max2_lanes2, max2_other1);
    const f32 max2 = max2_lanes1;
    if (lane < 1) cells[subgroup] = max2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const f32 cells3_0 = cells[0];
    const f32 cells3_1 = cells[1];
    const f32 cells3_2 = cells[2];
    const f32 cells3_3 = cells[3];
    const f32 max3_0 = maximum_f32(cells3_0, cells3_2);
    const f32 max3_1 = maximum_f32(cells3_1, cells3_3);
    const f32 max3 = maximum_f32(max3_0, max3_1);
    const f32 v2 = max3;
    const f32 v3_0 = t_0 - v2;
    const f32 v3_1 = t_1 - v2;
    const f32 v4_0 = greater_f32((-104.0f), v3_0);
    const f32 v4_1 = greater_f32((-104.0f), v3_1);
    const f32 v5_0 = lesser_f32(89.0f, v4_0);
    const f32 v5_1 = lesser_f32(89.0f, v4_1);
    const f32 v6_0 = fma_f32(v5_0, 0x1.715476p-1f, 0x1.8000fep+23f);
    const f32 v6_1 = fma_f32(v5_1, 0x1.715476p-1f, 0x1.8000fep+23f);
    const f32 v7_0 = v6_0 - 0x1.8000fep+23f;
    const f32 v7_1 = v6_1 - 0x1.8000fep+23f;
    const i32 v8_0 = f32_as_i32(v6_0);
    const i32 v8_1 = f32_as_i32(v6_1);
    const i32 v9_0 = shl_i32(v8_0, 23);
    const i32 v9_1 = shl_i32(v8_1, 23);
    const f32 v10_0 = i32_as_f32(v9_0);
    const f32 v10_1 = i32_as_f32(v9_1);
    const f32 v11_0 = fma_f32(v7_0, (-0x1.62e43p+0f), v5_0);
    const f32 v11_1 = fma_f32(v7_1, (-0x1.62e43p+0f), v5_1);
    const f32 v12_0 = fma_f32(v7_0, 0x1.05c61p-28f, v11_0);
    const f32 v12_1 = fma_f32(v7_1, 0x1.05c61p-28f, v11_1);
    const f32 v13_0 = fma_f32(0x1.9baedap-13f, v12_0, 0x1.71bf66p-10f);
    const f32 v13_1 = fma_f32(0x1.9baedap-13f, v12_1, 0x1.71bf66p-10f);
    const f32 v14_0 = fma_f32(v13_0, v12_0, 0x1.1126dap-7f);
    const f32 v14_1 = fma_f32(v13_1, v12_1, 0x1.1126dap-7f);
    const f32 v15_0 = fma_f32(v14_0, v12_0, 0x1.5549eep-5f);
    const f32 v15_1 = fma_f32(v14_1, v12_1, 0x1.5549eep-5f);
    const f32 v16_0 = fma_f32(v15_0, v12_0, 0x1.555514p-3f);
    const f32 v16_1 = fma_f32(v15_1, v12_1, 0x1.555514p-3f);
    const f32 v17_0 = fma_f32(v16_0, v12_0, 0x1.00000cp-1f);
    const f32 v17_1 = fma_f32(v16_1, v12_1, 0x1.00000cp-1f);
    const f32 v18_0 = fma_f32(v17_0, v12_0, 1.0f);
    const f32 v18_1 = fma_f32(v17_1, v12_1, 1.0f);
    const f32 v19_0 = fma_f32(v18_0, v12_0, 1.0f);
    const f32 v19_1 = fma_f32(v18_1, v12_1, 1.0f);
    const f32 v20_0 = v19_0 * v10_0;
    const f32 v20_1 = v19_1 * v10_1;
    const f32 e_0 = v20_0 * v10_0;
    const f32 e_1 = v20_1 * v10_1;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 v21_0 = 0.0f + e_0;
    const f32 v21_1 = 0.0f + e_1;
    const f32 sum = v21_0 + v21_1;
    const f32 sum2_other16 = shuffle_xor_f32(sum, 16);
    const f32 sum2_lanes16 = sum + sum2_other16;
    const f32 sum2_other8 = shuffle_xor_f32(sum2_lanes16, 8);
    const f32 sum2_lanes8 = sum2_lanes16 + sum2_other8;
    const f32 sum2_other4 = shuffle_xor_f32(sum2_lanes8, 4);
    const f32 sum2_lanes4 = sum2_lanes8 + sum2_other4;
    const f32 sum2_other2 = shuffle_xor_f32(sum2_lanes4, 2);
    const f32 sum2_lanes2 = sum2_lanes4 + sum2_other2;
    const f32 sum2_other1 = shuffle_xor_f32(sum2_lanes2, 1);
    const f32 sum2_lanes1 = sum2_lanes2 + sum2_other1;
    const f32 sum2 = sum2_lanes1;
    if (lane < 1) cells2[subgroup] = sum2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const f32 cells2_v2_0 = cells2[0];
    const f32 cells2_v2_1 = cells2[1];
    const f32 cells2_v2_2 = cells2[2];
    const f32 cells2_v2_3 = cells2[3];
    const f32 sum3_0 = cells2_v2_0 + cells2_v2_2;
    const f32 sum3_1 = cells2_v2_1 + cells2_v2_3;
    const f32 sum3 = sum3_0 + sum3_1;
    const f32 v22 = sum3;
    const f32 v23 = abs_f32(v22);
    const bool v24 = v23 < 0x1p-126f;
    const bool v25 = 0x1p+126f < v23;
    const f32 v26 = v25 ? 0x1p-64f : 1.0f;
    const f32 v27 = v24 ? 0x1p+64f : v26;
    const f32 v28 = v22 * v27;
    const f32 v29 = 1.0f / v28;
    const f32 v30_0 = e_0 * v29;
    const f32 v30_1 = e_1 * v29;
    const f32 v31_0 = v30_0 * v27;
    const f32 v31_1 = v30_1 * v27;
    const f16 v32_0 = f16_from_f32(v31_0);
    const f16 v32_1 = f16_from_f32(v31_1);
    const i64 y_at = group * y_stride0;
    const bool y_whole = is_aligned(y, y_at, 2, 4);
    if (y_whole) {
        *(device ushort2 *)(y + (y_at + at)) = ushort2(v32_0, v32_1);
    } else {
        y[y_at + at] = v32_0;
        y[y_at + at + 1] = v32_1;
    }
}

/* plan cd370844ec22483d */
