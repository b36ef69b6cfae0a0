/* Kernel softmax_1 for m4, 256 lanes in groups of 256. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

/* Kernel softmax_2 for m4, 256 lanes in groups of 256. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

/* Kernel softmax_3 for m4, 256 lanes in groups of 256. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef float f32;
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
INLINE i64 add_i64(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}
INLINE i64 sub_i64(i64 a, i64 b) {
    return (i64)((u64)a - (u64)b);
}
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE f32 abs_f32(f32 a) {
    return as_type<f32>(as_type<i32>(a) & 0x7fffffff);
}
INLINE i32 shl_i32(i32 a, i32 b) {
    return (i32)((u32)a << (b & 31));
}
INLINE i64 shr_i64(i64 a, i64 b) {
    return a >> (b & 63);
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
INLINE i64 maximum_i64(i64 a, i64 b) {
    return a > b ? a : b;
}
INLINE i64 minimum_i64(i64 a, i64 b) {
    return a < b ? a : b;
}
INLINE f32 fma_f32(f32 a, f32 b, f32 c) {
    return fma(a, b, c);
}
INLINE i32 clamp_i32(i64 a, i32 least, i32 greatest) {
    return a < least ? least : a > greatest ? greatest : (i32)a;
}
INLINE f32 shuffle_xor_f32(f32 a, i32 turned) {
    return (f32)simd_shuffle_xor((f32)a, (ushort)turned);
}
INLINE bool is_aligned(device const void *p, i64 at, i32 size, i32 bytes) {
    return (((u64)p + (u64)at * (u64)size) & (u64)(bytes - 1)) == 0;
}

struct croft_words {
    i64 words[10];
    i64 first;
};

[[max_total_threads_per_threadgroup(256)]]
kernel void croft_softmax_1(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]], device f32 *max_0_parts [[buffer(2)]], device const f32 *sum_0_parts [[buffer(3)]], device uchar *workspace [[buffer(4)]], constant struct croft_words &arguments [[buffer(5)]], threadgroup uint4 *shared [[threadgroup(0)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 x_stride0 = arguments.words[2];
    const i64 max_0_parts_stride0 = arguments.words[6];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 255);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    const i32 at = worker * 4;
    threadgroup uchar *const scratch = (threadgroup uchar *)shared;
    threadgroup f32 *const cells = (threadgroup f32 *)(scratch + 0);
    const i64 group = arguments.first + group_number;
    // examples/softmax.croft:3   program row: R
    const i64 part = group & 255;
    const i64 row = shr_i64(group, 8);
    const i64 v = mul_i64(part, 2048);
    const i64 v2 = sub_i64(300000, v);
    const i64 v3 = maximum_i64(v2, 0);
    const i64 v4 = minimum_i64(v3, 2048);
    // examples/softmax.croft:5   e = exp(t - max(t))
    const i64 v5 = shr_i64(v4, 10);
    const bool v6 = 0 < v5;
    f32 v7_0;
    f32 v7_1;
    f32 v7_2;
    f32 v7_3;
    if (v6) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 x_at = row * x_stride0 + v;
        f32 t_0, t_1, t_2, t_3;
        const bool x_whole = is_aligned(x, x_at, 4, 16);
        if (x_whole) {
            const float4 pack = *(device const float4 *)(x + (x_at + at));
            t_0 = pack.x;
            t_1 = pack.y;
            t_2 = pack.z;
            t_3 = pack.w;
        } else {
            t_0 = x[x_at + at];
            t_1 = x[x_at + at + 1];
            t_2 = x[x_at + at + 2];
            t_3 = x[x_at + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v8_0 = maximum_f32((-as_type<float>(0x7f800000)), t_0);
        const f32 v8_1 = maximum_f32((-as_type<float>(0x7f800000)), t_1);
        const f32 v8_2 = maximum_f32((-as_type<float>(0x7f800000)), t_2);
        const f32 v8_3 = maximum_f32((-as_type<float>(0x7f800000)), t_3);
        v7_0 = v8_0;
        v7_1 = v8_1;
        v7_2 = v8_2;
        v7_3 = v8_3;
    } else {
        v7_0 = (-as_type<float>(0x7f800000));
        v7_1 = (-as_type<float>(0x7f800000));
        v7_2 = (-as_type<float>(0x7f800000));
        v7_3 = (-as_type<float>(0x7f800000));
    }
    const bool v9 = 1 < v5;
    f32 v10_0;
    f32 v10_1;
    f32 v10_2;
    f32 v10_3;
    if (v9) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v11 = add_i64(1024, v);
        const i64 x_at2 = row * x_stride0 + v11;
        f32 t2_0, t2_1, t2_2, t2_3;
        const bool x_whole2 = is_aligned(x, x_at2, 4, 16);
        if (x_whole2) {
            const float4 pack2 = *(device const float4 *)(x + (x_at2 + at));
            t2_0 = pack2.x;
            t2_1 = pack2.y;
            t2_2 = pack2.z;
            t2_3 = pack2.w;
        } else {
            t2_0 = x[x_at2 + at];
            t2_1 = x[x_at2 + at + 1];
            t2_2 = x[x_at2 + at + 2];
            t2_3 = x[x_at2 + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v12_0 = maximum_f32(v7_0, t2_0);
        const f32 v12_1 = maximum_f32(v7_1, t2_1);
        const f32 v12_2 = maximum_f32(v7_2, t2_2);
        const f32 v12_3 = maximum_f32(v7_3, t2_3);
        v10_0 = v12_0;
        v10_1 = v12_1;
        v10_2 = v12_2;
        v10_3 = v12_3;
    } else {
        v10_0 = v7_0;
        v10_1 = v7_1;
        v10_2 = v7_2;
        v10_3 = v7_3;
    }
    const i64 v13 = mul_i64(v5, 1024);
    const i64 v14 = sub_i64(v4, v13);
    const bool v15 = 0 < v14;
    f32 v16_0;
    f32 v16_1;
    f32 v16_2;
    f32 v16_3;
    if (v15) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v17 = add_i64(v13, v);
        const i64 x_at3 = add_i64(mul_i64(row, x_stride0), v17);
        const i32 x_end = clamp_i32(v14, 0, 1024);
        f32 t3_0, t3_1, t3_2, t3_3;
        const bool x_whole3 = is_aligned(x, x_at3, 4, 16);
        if (x_whole3 && at + 3 < x_end) {
            const float4 pack3 = *(device const float4 *)(x + (x_at3 + at));
            t3_0 = pack3.x;
            t3_1 = pack3.y;
            t3_2 = pack3.z;
            t3_3 = pack3.w;
        } else {
            t3_0 = at < x_end ? x[x_at3 + at] : 0.0f;
            t3_1 = at + 1 < x_end ? x[x_at3 + at + 1] : 0.0f;
            t3_2 = at + 2 < x_end ? x[x_at3 + at + 2] : 0.0f;
            t3_3 = at + 3 < x_end ? x[x_at3 + at + 3] : 0.0f;
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const i64 v18_0 = at;
        const i64 v18_1 = add_i64(at, 1);
        const i64 v18_2 = add_i64(at, 2);
        const i64 v18_3 = add_i64(at, 3);
        const i32 v19_0 = (i32)v18_0;
        const i32 v19_1 = (i32)v18_1;
        const i32 v19_2 = (i32)v18_2;
        const i32 v19_3 = (i32)v18_3;
        const i32 v20 = (i32)v14;
        const bool v21_0 = v19_0 < v20;
        const bool v21_1 = v19_1 < v20;
        const bool v21_2 = v19_2 < v20;
        const bool v21_3 = v19_3 < v20;
        const f32 v22_0 = v21_0 ? t3_0 : (-as_type<float>(0x7f800000));
        const f32 v22_1 = v21_1 ? t3_1 : (-as_type<float>(0x7f800000));
        const f32 v22_2 = v21_2 ? t3_2 : (-as_type<float>(0x7f800000));
        const f32 v22_3 = v21_3 ? t3_3 : (-as_type<float>(0x7f800000));
        const f32 v23_0 = maximum_f32(v10_0, v22_0);
        const f32 v23_1 = maximum_f32(v10_1, v22_1);
        const f32 v23_2 = maximum_f32(v10_2, v22_2);
        const f32 v23_3 = maximum_f32(v10_3, v22_3);
        v16_0 = v23_0;
        v16_1 = v23_1;
        v16_2 = v23_2;
        v16_3 = v23_3;
    } else {
        v16_0 = v10_0;
        v16_1 = v10_1;
        v16_2 = v10_2;
        v16_3 = v10_3;
    }
    const f32 max_0 = maximum_f32(v16_0, v16_2);
    const f32 max_1 = maximum_f32(v16_1, v16_3);
    const f32 max = maximum_f32(max_0, max_1);
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
    const f32 cells2_0 = cells[0];
    const f32 cells2_1 = cells[1];
    const f32 cells2_2 = cells[2];
    const f32 cells2_3 = cells[3];
    const f32 cells2_4 = cells[4];
    const f32 cells2_5 = cells[5];
    const f32 cells2_6 = cells[6];
    const f32 cells2_7 = cells[7];
    const f32 max3_0 = maximum_f32(cells2_0, cells2_4);
    const f32 max3_1 = maximum_f32(cells2_1, cells2_5);
    const f32 max3_2 = maximum_f32(cells2_2, cells2_6);
    const f32 max3_3 = maximum_f32(cells2_3, cells2_7);
    const f32 max3_0_v2 = maximum_f32(max3_0, max3_2);
    const f32 max3_1_v2 = maximum_f32(max3_1, max3_3);
    const f32 max3 = maximum_f32(max3_0_v2, max3_1_v2);
    const f32 v24 = max3;
    if (worker == 0) {
        max_0_parts[row * max_0_parts_stride0 + part] = v24;
    }
}

/* plan 9c9c9f9b968442ec */

[[max_total_threads_per_threadgroup(256)]]
kernel void croft_softmax_2(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]], device const f32 *max_0_parts [[buffer(2)]], device f32 *sum_0_parts [[buffer(3)]], device uchar *workspace [[buffer(4)]], constant struct croft_words &arguments [[buffer(5)]], threadgroup uint4 *shared [[threadgroup(0)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 x_stride0 = arguments.words[2];
    const i64 max_0_parts_stride0 = arguments.words[6];
    const i64 sum_0_parts_stride0 = arguments.words[8];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 255);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    const i32 at = worker * 4;
    threadgroup uchar *const scratch = (threadgroup uchar *)shared;
    threadgroup f32 *const cells = (threadgroup f32 *)(scratch + 0);
    const i64 group = arguments.first + group_number;
    // examples/softmax.croft:3   program row: R
    const i64 part = group & 255;
    const i64 row = shr_i64(group, 8);
    const i64 v = mul_i64(part, 2048);
    const i64 v2 = sub_i64(300000, v);
    const i64 v3 = maximum_i64(v2, 0);
    const i64 v4 = minimum_i64(v3, 2048);
    // examples/softmax.croft:5   e = exp(t - max(t))
    f32 carry = (-as_type<float>(0x7f800000));
    for (i64 k = 0; k < 8; k++) {
        const i64 v5 = mul_i64(k, 32);
        const f32 max_0_parts2 = max_0_parts[row * max_0_parts_stride0 + v5 + lane];
        const f32 v6 = maximum_f32(carry, max_0_parts2);
        carry = v6;
    }
    const f32 max_other16 = shuffle_xor_f32(carry, 16);
    const f32 max_lanes16 = (lane & 16) != 0 ? maximum_f32(max_other16, carry) : maximum_f32(carry, max_other16);
    const f32 max_other8 = shuffle_xor_f32(max_lanes16, 8);
    const f32 max_lanes8 = (lane & 8) != 0 ? maximum_f32(max_other8, max_lanes16) : maximum_f32(max_lanes16, max_other8);
    const f32 max_other4 = shuffle_xor_f32(max_lanes8, 4);
    const f32 max_lanes4 = (lane & 4) != 0 ? maximum_f32(max_other4, max_lanes8) : maximum_f32(max_lanes8, max_other4);
    const f32 max_other2 = shuffle_xor_f32(max_lanes4, 2);
    const f32 max_lanes2 = (lane & 2) != 0 ? maximum_f32(max_other2, max_lanes4) : maximum_f32(max_lanes4, max_other2);
    const f32 max_other1 = shuffle_xor_f32(max_lanes2, 1);
    const f32 max_lanes1 = (lane & 1) != 0 ? maximum_f32(max_other1, max_lanes2) : maximum_f32(max_lanes2, max_other1);
    const f32 max = max_lanes1;
    const f32 v7 = max;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const i64 v8 = shr_i64(v4, 10);
    const bool v9 = 0 < v8;
    f32 v10_0;
    f32 v10_1;
    f32 v10_2;
    f32 v10_3;
    if (v9) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 x_at = row * x_stride0 + v;
        f32 t_0, t_1, t_2, t_3;
        const bool x_whole = is_aligned(x, x_at, 4, 16);
        if (x_whole) {
            const float4 pack = *(device const float4 *)(x + (x_at + at));
            t_0 = pack.x;
            t_1 = pack.y;
            t_2 = pack.z;
            t_3 = pack.w;
        } else {
            t_0 = x[x_at + at];
            t_1 = x[x_at + at + 1];
            t_2 = x[x_at + at + 2];
            t_3 = x[x_at + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v11_0 = t_0 - v7;
        const f32 v11_1 = t_1 - v7;
        const f32 v11_2 = t_2 - v7;
        const f32 v11_3 = t_3 - v7;
        const f32 v12_0 = greater_f32((-104.0f), v11_0);
        const f32 v12_1 = greater_f32((-104.0f), v11_1);
        const f32 v12_2 = greater_f32((-104.0f), v11_2);
        const f32 v12_3 = greater_f32((-104.0f), v11_3);
        const f32 v13_0 = lesser_f32(89.0f, v12_0);
        const f32 v13_1 = lesser_f32(89.0f, v12_1);
        const f32 v13_2 = lesser_f32(89.0f, v12_2);
        const f32 v13_3 = lesser_f32(89.0f, v12_3);
        const f32 v14_0 = fma_f32(v13_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v14_1 = fma_f32(v13_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v14_2 = fma_f32(v13_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v14_3 = fma_f32(v13_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v15_0 = v14_0 - 0x1.8000fep+23f;
        const f32 v15_1 = v14_1 - 0x1.8000fep+23f;
        const f32 v15_2 = v14_2 - 0x1.8000fep+23f;
        const f32 v15_3 = v14_3 - 0x1.8000fep+23f;
        const i32 v16_0 = f32_as_i32(v14_0);
        const i32 v16_1 = f32_as_i32(v14_1);
        const i32 v16_2 = f32_as_i32(v14_2);
        const i32 v16_3 = f32_as_i32(v14_3);
        const i32 v17_0 = shl_i32(v16_0, 23);
        const i32 v17_1 = shl_i32(v16_1, 23);
        const i32 v17_2 = shl_i32(v16_2, 23);
        const i32 v17_3 = shl_i32(v16_3, 23);
        const f32 v18_0 = i32_as_f32(v17_0);
        const f32 v18_1 = i32_as_f32(v17_1);
        const f32 v18_2 = i32_as_f32(v17_2);
        const f32 v18_3 = i32_as_f32(v17_3);
        const f32 v19_0 = fma_f32(v15_0, (-0x1.62e43p+0f), v13_0);
        const f32 v19_1 = fma_f32(v15_1, (-0x1.62e43p+0f), v13_1);
        const f32 v19_2 = fma_f32(v15_2, (-0x1.62e43p+0f), v13_2);
        const f32 v19_3 = fma_f32(v15_3, (-0x1.62e43p+0f), v13_3);
        const f32 v20_0 = fma_f32(v15_0, 0x1.05c61p-28f, v19_0);
        const f32 v20_1 = fma_f32(v15_1, 0x1.05c61p-28f, v19_1);
        const f32 v20_2 = fma_f32(v15_2, 0x1.05c61p-28f, v19_2);
        const f32 v20_3 = fma_f32(v15_3, 0x1.05c61p-28f, v19_3);
        const f32 v21_0 = fma_f32(0x1.9baedap-13f, v20_0, 0x1.71bf66p-10f);
        const f32 v21_1 = fma_f32(0x1.9baedap-13f, v20_1, 0x1.71bf66p-10f);
        const f32 v21_2 = fma_f32(0x1.9baedap-13f, v20_2, 0x1.71bf66p-10f);
        const f32 v21_3 = fma_f32(0x1.9baedap-13f, v20_3, 0x1.71bf66p-10f);
        const f32 v22_0 = fma_f32(v21_0, v20_0, 0x1.1126dap-7f);
        const f32 v22_1 = fma_f32(v21_1, v20_1, 0x1.1126dap-7f);
        const f32 v22_2 = fma_f32(v21_2, v20_2, 0x1.1126dap-7f);
        const f32 v22_3 = fma_f32(v21_3, v20_3, 0x1.1126dap-7f);
        const f32 v23_0 = fma_f32(v22_0, v20_0, 0x1.5549eep-5f);
        const f32 v23_1 = fma_f32(v22_1, v20_1, 0x1.5549eep-5f);
        const f32 v23_2 = fma_f32(v22_2, v20_2, 0x1.5549eep-5f);
        const f32 v23_3 = fma_f32(v22_3, v20_3, 0x1.5549eep-5f);
        const f32 v24_0 = fma_f32(v23_0, v20_0, 0x1.555514p-3f);
        const f32 v24_1 = fma_f32(v23_1, v20_1, 0x1.555514p-3f);
        const f32 v24_2 = fma_f32(v23_2, v20_2, 0x1.555514p-3f);
        const f32 v24_3 = fma_f32(v23_3, v20_3, 0x1.555514p-3f);
        const f32 v25_0 = fma_f32(v24_0, v20_0, 0x1.00000cp-1f);
        const f32 v25_1 = fma_f32(v24_1, v20_1, 0x1.00000cp-1f);
        const f32 v25_2 = fma_f32(v24_2, v20_2, 0x1.00000cp-1f);
        const f32 v25_3 = fma_f32(v24_3, v20_3, 0x1.00000cp-1f);
        const f32 v26_0 = fma_f32(v25_0, v20_0, 1.0f);
        const f32 v26_1 = fma_f32(v25_1, v20_1, 1.0f);
        const f32 v26_2 = fma_f32(v25_2, v20_2, 1.0f);
        const f32 v26_3 = fma_f32(v25_3, v20_3, 1.0f);
        const f32 v27_0 = fma_f32(v26_0, v20_0, 1.0f);
        const f32 v27_1 = fma_f32(v26_1, v20_1, 1.0f);
        const f32 v27_2 = fma_f32(v26_2, v20_2, 1.0f);
        const f32 v27_3 = fma_f32(v26_3, v20_3, 1.0f);
        const f32 v28_0 = v27_0 * v18_0;
        const f32 v28_1 = v27_1 * v18_1;
        const f32 v28_2 = v27_2 * v18_2;
        const f32 v28_3 = v27_3 * v18_3;
        const f32 e_0 = v28_0 * v18_0;
        const f32 e_1 = v28_1 * v18_1;
        const f32 e_2 = v28_2 * v18_2;
        const f32 e_3 = v28_3 * v18_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 v29_0 = 0.0f + e_0;
        const f32 v29_1 = 0.0f + e_1;
        const f32 v29_2 = 0.0f + e_2;
        const f32 v29_3 = 0.0f + e_3;
        v10_0 = v29_0;
        v10_1 = v29_1;
        v10_2 = v29_2;
        v10_3 = v29_3;
    } else {
        v10_0 = 0.0f;
        v10_1 = 0.0f;
        v10_2 = 0.0f;
        v10_3 = 0.0f;
    }
    const bool v30 = 1 < v8;
    f32 v31_0;
    f32 v31_1;
    f32 v31_2;
    f32 v31_3;
    if (v30) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v32 = add_i64(1024, v);
        const i64 x_at2 = row * x_stride0 + v32;
        f32 t2_0, t2_1, t2_2, t2_3;
        const bool x_whole2 = is_aligned(x, x_at2, 4, 16);
        if (x_whole2) {
            const float4 pack2 = *(device const float4 *)(x + (x_at2 + at));
            t2_0 = pack2.x;
            t2_1 = pack2.y;
            t2_2 = pack2.z;
            t2_3 = pack2.w;
        } else {
            t2_0 = x[x_at2 + at];
            t2_1 = x[x_at2 + at + 1];
            t2_2 = x[x_at2 + at + 2];
            t2_3 = x[x_at2 + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v33_0 = t2_0 - v7;
        const f32 v33_1 = t2_1 - v7;
        const f32 v33_2 = t2_2 - v7;
        const f32 v33_3 = t2_3 - v7;
        const f32 v34_0 = greater_f32((-104.0f), v33_0);
        const f32 v34_1 = greater_f32((-104.0f), v33_1);
        const f32 v34_2 = greater_f32((-104.0f), v33_2);
        const f32 v34_3 = greater_f32((-104.0f), v33_3);
        const f32 v35_0 = lesser_f32(89.0f, v34_0);
        const f32 v35_1 = lesser_f32(89.0f, v34_1);
        const f32 v35_2 = lesser_f32(89.0f, v34_2);
        const f32 v35_3 = lesser_f32(89.0f, v34_3);
        const f32 v36_0 = fma_f32(v35_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v36_1 = fma_f32(v35_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v36_2 = fma_f32(v35_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v36_3 = fma_f32(v35_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v37_0 = v36_0 - 0x1.8000fep+23f;
        const f32 v37_1 = v36_1 - 0x1.8000fep+23f;
        const f32 v37_2 = v36_2 - 0x1.8000fep+23f;
        const f32 v37_3 = v36_3 - 0x1.8000fep+23f;
        const i32 v38_0 = f32_as_i32(v36_0);
        const i32 v38_1 = f32_as_i32(v36_1);
        const i32 v38_2 = f32_as_i32(v36_2);
        const i32 v38_3 = f32_as_i32(v36_3);
        const i32 v39_0 = shl_i32(v38_0, 23);
        const i32 v39_1 = shl_i32(v38_1, 23);
        const i32 v39_2 = shl_i32(v38_2, 23);
        const i32 v39_3 = shl_i32(v38_3, 23);
        const f32 v40_0 = i32_as_f32(v39_0);
        const f32 v40_1 = i32_as_f32(v39_1);
        const f32 v40_2 = i32_as_f32(v39_2);
        const f32 v40_3 = i32_as_f32(v39_3);
        const f32 v41_0 = fma_f32(v37_0, (-0x1.62e43p+0f), v35_0);
        const f32 v41_1 = fma_f32(v37_1, (-0x1.62e43p+0f), v35_1);
        const f32 v41_2 = fma_f32(v37_2, (-0x1.62e43p+0f), v35_2);
        const f32 v41_3 = fma_f32(v37_3, (-0x1.62e43p+0f), v35_3);
        const f32 v42_0 = fma_f32(v37_0, 0x1.05c61p-28f, v41_0);
        const f32 v42_1 = fma_f32(v37_1, 0x1.05c61p-28f, v41_1);
        const f32 v42_2 = fma_f32(v37_2, 0x1.05c61p-28f, v41_2);
        const f32 v42_3 = fma_f32(v37_3, 0x1.05c61p-28f, v41_3);
        const f32 v43_0 = fma_f32(0x1.9baedap-13f, v42_0, 0x1.71bf66p-10f);
        const f32 v43_1 = fma_f32(0x1.9baedap-13f, v42_1, 0x1.71bf66p-10f);
        const f32 v43_2 = fma_f32(0x1.9baedap-13f, v42_2, 0x1.71bf66p-10f);
        const f32 v43_3 = fma_f32(0x1.9baedap-13f, v42_3, 0x1.71bf66p-10f);
        const f32 v44_0 = fma_f32(v43_0, v42_0, 0x1.1126dap-7f);
        const f32 v44_1 = fma_f32(v43_1, v42_1, 0x1.1126dap-7f);
        const f32 v44_2 = fma_f32(v43_2, v42_2, 0x1.1126dap-7f);
        const f32 v44_3 = fma_f32(v43_3, v42_3, 0x1.1126dap-7f);
        const f32 v45_0 = fma_f32(v44_0, v42_0, 0x1.5549eep-5f);
        const f32 v45_1 = fma_f32(v44_1, v42_1, 0x1.5549eep-5f);
        const f32 v45_2 = fma_f32(v44_2, v42_2, 0x1.5549eep-5f);
        const f32 v45_3 = fma_f32(v44_3, v42_3, 0x1.5549eep-5f);
        const f32 v46_0 = fma_f32(v45_0, v42_0, 0x1.555514p-3f);
        const f32 v46_1 = fma_f32(v45_1, v42_1, 0x1.555514p-3f);
        const f32 v46_2 = fma_f32(v45_2, v42_2, 0x1.555514p-3f);
        const f32 v46_3 = fma_f32(v45_3, v42_3, 0x1.555514p-3f);
        const f32 v47_0 = fma_f32(v46_0, v42_0, 0x1.00000cp-1f);
        const f32 v47_1 = fma_f32(v46_1, v42_1, 0x1.00000cp-1f);
        const f32 v47_2 = fma_f32(v46_2, v42_2, 0x1.00000cp-1f);
        const f32 v47_3 = fma_f32(v46_3, v42_3, 0x1.00000cp-1f);
        const f32 v48_0 = fma_f32(v47_0, v42_0, 1.0f);
        const f32 v48_1 = fma_f32(v47_1, v42_1, 1.0f);
        const f32 v48_2 = fma_f32(v47_2, v42_2, 1.0f);
        const f32 v48_3 = fma_f32(v47_3, v42_3, 1.0f);
        const f32 v49_0 = fma_f32(v48_0, v42_0, 1.0f);
        const f32 v49_1 = fma_f32(v48_1, v42_1, 1.0f);
        const f32 v49_2 = fma_f32(v48_2, v42_2, 1.0f);
        const f32 v49_3 = fma_f32(v48_3, v42_3, 1.0f);
        const f32 v50_0 = v49_0 * v40_0;
        const f32 v50_1 = v49_1 * v40_1;
        const f32 v50_2 = v49_2 * v40_2;
        const f32 v50_3 = v49_3 * v40_3;
        const f32 e2_0 = v50_0 * v40_0;
        const f32 e2_1 = v50_1 * v40_1;
        const f32 e2_2 = v50_2 * v40_2;
        const f32 e2_3 = v50_3 * v40_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 v51_0 = v10_0 + e2_0;
        const f32 v51_1 = v10_1 + e2_1;
        const f32 v51_2 = v10_2 + e2_2;
        const f32 v51_3 = v10_3 + e2_3;
        v31_0 = v51_0;
        v31_1 = v51_1;
        v31_2 = v51_2;
        v31_3 = v51_3;
    } else {
        v31_0 = v10_0;
        v31_1 = v10_1;
        v31_2 = v10_2;
        v31_3 = v10_3;
    }
    const i64 v52 = mul_i64(v8, 1024);
    const i64 v53 = sub_i64(v4, v52);
    const bool v54 = 0 < v53;
    f32 v55_0;
    f32 v55_1;
    f32 v55_2;
    f32 v55_3;
    if (v54) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v56 = add_i64(v52, v);
        const i64 x_at3 = add_i64(mul_i64(row, x_stride0), v56);
        const i32 x_end = clamp_i32(v53, 0, 1024);
        f32 t3_0, t3_1, t3_2, t3_3;
        const bool x_whole3 = is_aligned(x, x_at3, 4, 16);
        if (x_whole3 && at + 3 < x_end) {
            const float4 pack3 = *(device const float4 *)(x + (x_at3 + at));
            t3_0 = pack3.x;
            t3_1 = pack3.y;
            t3_2 = pack3.z;
            t3_3 = pack3.w;
        } else {
            t3_0 = at < x_end ? x[x_at3 + at] : 0.0f;
            t3_1 = at + 1 < x_end ? x[x_at3 + at + 1] : 0.0f;
            t3_2 = at + 2 < x_end ? x[x_at3 + at + 2] : 0.0f;
            t3_3 = at + 3 < x_end ? x[x_at3 + at + 3] : 0.0f;
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v57_0 = t3_0 - v7;
        const f32 v57_1 = t3_1 - v7;
        const f32 v57_2 = t3_2 - v7;
        const f32 v57_3 = t3_3 - v7;
        const f32 v58_0 = greater_f32((-104.0f), v57_0);
        const f32 v58_1 = greater_f32((-104.0f), v57_1);
        const f32 v58_2 = greater_f32((-104.0f), v57_2);
        const f32 v58_3 = greater_f32((-104.0f), v57_3);
        const f32 v59_0 = lesser_f32(89.0f, v58_0);
        const f32 v59_1 = lesser_f32(89.0f, v58_1);
        const f32 v59_2 = lesser_f32(89.0f, v58_2);
        const f32 v59_3 = lesser_f32(89.0f, v58_3);
        const f32 v60_0 = fma_f32(v59_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v60_1 = fma_f32(v59_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v60_2 = fma_f32(v59_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v60_3 = fma_f32(v59_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v61_0 = v60_0 - 0x1.8000fep+23f;
        const f32 v61_1 = v60_1 - 0x1.8000fep+23f;
        const f32 v61_2 = v60_2 - 0x1.8000fep+23f;
        const f32 v61_3 = v60_3 - 0x1.8000fep+23f;
        const i32 v62_0 = f32_as_i32(v60_0);
        const i32 v62_1 = f32_as_i32(v60_1);
        const i32 v62_2 = f32_as_i32(v60_2);
        const i32 v62_3 = f32_as_i32(v60_3);
        const i32 v63_0 = shl_i32(v62_0, 23);
        const i32 v63_1 = shl_i32(v62_1, 23);
        const i32 v63_2 = shl_i32(v62_2, 23);
        const i32 v63_3 = shl_i32(v62_3, 23);
        const f32 v64_0 = i32_as_f32(v63_0);
        const f32 v64_1 = i32_as_f32(v63_1);
        const f32 v64_2 = i32_as_f32(v63_2);
        const f32 v64_3 = i32_as_f32(v63_3);
        const f32 v65_0 = fma_f32(v61_0, (-0x1.62e43p+0f), v59_0);
        const f32 v65_1 = fma_f32(v61_1, (-0x1.62e43p+0f), v59_1);
        const f32 v65_2 = fma_f32(v61_2, (-0x1.62e43p+0f), v59_2);
        const f32 v65_3 = fma_f32(v61_3, (-0x1.62e43p+0f), v59_3);
        const f32 v66_0 = fma_f32(v61_0, 0x1.05c61p-28f, v65_0);
        const f32 v66_1 = fma_f32(v61_1, 0x1.05c61p-28f, v65_1);
        const f32 v66_2 = fma_f32(v61_2, 0x1.05c61p-28f, v65_2);
        const f32 v66_3 = fma_f32(v61_3, 0x1.05c61p-28f, v65_3);
        const f32 v67_0 = fma_f32(0x1.9baedap-13f, v66_0, 0x1.71bf66p-10f);
        const f32 v67_1 = fma_f32(0x1.9baedap-13f, v66_1, 0x1.71bf66p-10f);
        const f32 v67_2 = fma_f32(0x1.9baedap-13f, v66_2, 0x1.71bf66p-10f);
        const f32 v67_3 = fma_f32(0x1.9baedap-13f, v66_3, 0x1.71bf66p-10f);
        const f32 v68_0 = fma_f32(v67_0, v66_0, 0x1.1126dap-7f);
        const f32 v68_1 = fma_f32(v67_1, v66_1, 0x1.1126dap-7f);
        const f32 v68_2 = fma_f32(v67_2, v66_2, 0x1.1126dap-7f);
        const f32 v68_3 = fma_f32(v67_3, v66_3, 0x1.1126dap-7f);
        const f32 v69_0 = fma_f32(v68_0, v66_0, 0x1.5549eep-5f);
        const f32 v69_1 = fma_f32(v68_1, v66_1, 0x1.5549eep-5f);
        const f32 v69_2 = fma_f32(v68_2, v66_2, 0x1.5549eep-5f);
        const f32 v69_3 = fma_f32(v68_3, v66_3, 0x1.5549eep-5f);
        const f32 v70_0 = fma_f32(v69_0, v66_0, 0x1.555514p-3f);
        const f32 v70_1 = fma_f32(v69_1, v66_1, 0x1.555514p-3f);
        const f32 v70_2 = fma_f32(v69_2, v66_2, 0x1.555514p-3f);
        const f32 v70_3 = fma_f32(v69_3, v66_3, 0x1.555514p-3f);
        const f32 v71_0 = fma_f32(v70_0, v66_0, 0x1.00000cp-1f);
        const f32 v71_1 = fma_f32(v70_1, v66_1, 0x1.00000cp-1f);
        const f32 v71_2 = fma_f32(v70_2, v66_2, 0x1.00000cp-1f);
        const f32 v71_3 = fma_f32(v70_3, v66_3, 0x1.00000cp-1f);
        const f32 v72_0 = fma_f32(v71_0, v66_0, 1.0f);
        const f32 v72_1 = fma_f32(v71_1, v66_1, 1.0f);
        const f32 v72_2 = fma_f32(v71_2, v66_2, 1.0f);
        const f32 v72_3 = fma_f32(v71_3, v66_3, 1.0f);
        const f32 v73_0 = fma_f32(v72_0, v66_0, 1.0f);
        const f32 v73_1 = fma_f32(v72_1, v66_1, 1.0f);
        const f32 v73_2 = fma_f32(v72_2, v66_2, 1.0f);
        const f32 v73_3 = fma_f32(v72_3, v66_3, 1.0f);
        const f32 v74_0 = v73_0 * v64_0;
        const f32 v74_1 = v73_1 * v64_1;
        const f32 v74_2 = v73_2 * v64_2;
        const f32 v74_3 = v73_3 * v64_3;
        const f32 e3_0 = v74_0 * v64_0;
        const f32 e3_1 = v74_1 * v64_1;
        const f32 e3_2 = v74_2 * v64_2;
        const f32 e3_3 = v74_3 * v64_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const i64 v75_0 = at;
        const i64 v75_1 = add_i64(at, 1);
        const i64 v75_2 = add_i64(at, 2);
        const i64 v75_3 = add_i64(at, 3);
        const i32 v76_0 = (i32)v75_0;
        const i32 v76_1 = (i32)v75_1;
        const i32 v76_2 = (i32)v75_2;
        const i32 v76_3 = (i32)v75_3;
        const i32 v77 = (i32)v53;
        const bool v78_0 = v76_0 < v77;
        const bool v78_1 = v76_1 < v77;
        const bool v78_2 = v76_2 < v77;
        const bool v78_3 = v76_3 < v77;
        const f32 v79_0 = v78_0 ? e3_0 : 0.0f;
        const f32 v79_1 = v78_1 ? e3_1 : 0.0f;
        const f32 v79_2 = v78_2 ? e3_2 : 0.0f;
        const f32 v79_3 = v78_3 ? e3_3 : 0.0f;
        const f32 v80_0 = v31_0 + v79_0;
        const f32 v80_1 = v31_1 + v79_1;
        const f32 v80_2 = v31_2 + v79_2;
        const f32 v80_3 = v31_3 + v79_3;
        v55_0 = v80_0;
        v55_1 = v80_1;
        v55_2 = v80_2;
        v55_3 = v80_3;
    } else {
        v55_0 = v31_0;
        v55_1 = v31_1;
        v55_2 = v31_2;
        v55_3 = v31_3;
    }
    const f32 sum_0 = v55_0 + v55_2;
    const f32 sum_1 = v55_1 + v55_3;
    const f32 sum = sum_0 + sum_1;
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
    if (lane < 1) cells[subgroup] = sum2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const f32 cells2_0 = cells[0];
    const f32 cells2_1 = cells[1];
    const f32 cells2_2 = cells[2];
    const f32 cells2_3 = cells[3];
    const f32 cells2_4 = cells[4];
    const f32 cells2_5 = cells[5];
    const f32 cells2_6 = cells[6];
    const f32 cells2_7 = cells[7];
    const f32 sum3_0 = cells2_0 + cells2_4;
    const f32 sum3_1 = cells2_1 + cells2_5;
    const f32 sum3_2 = cells2_2 + cells2_6;
    const f32 sum3_3 = cells2_3 + cells2_7;
    const f32 sum3_0_v2 = sum3_0 + sum3_2;
    const f32 sum3_1_v2 = sum3_1 + sum3_3;
    const f32 sum3 = sum3_0_v2 + sum3_1_v2;
    const f32 v81 = sum3;
    if (worker == 0) {
        sum_0_parts[row * sum_0_parts_stride0 + part] = v81;
    }
}

/* plan bc21780950d6c78d */

[[max_total_threads_per_threadgroup(256)]]
kernel void croft_softmax_3(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]], device const f32 *max_0_parts [[buffer(2)]], device const f32 *sum_0_parts [[buffer(3)]], device uchar *workspace [[buffer(4)]], constant struct croft_words &arguments [[buffer(5)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 x_stride0 = arguments.words[2];
    const i64 y_stride0 = arguments.words[4];
    const i64 max_0_parts_stride0 = arguments.words[6];
    const i64 sum_0_parts_stride0 = arguments.words[8];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 255);
    const i32 lane = worker & 31;
    const i32 at = worker * 4;
    const i64 group = arguments.first + group_number;
    // examples/softmax.croft:3   program row: R
    const i64 part = group & 255;
    const i64 row = shr_i64(group, 8);
    const i64 v = mul_i64(part, 2048);
    const i64 v2 = sub_i64(300000, v);
    const i64 v3 = maximum_i64(v2, 0);
    const i64 v4 = minimum_i64(v3, 2048);
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    f32 carry = (-as_type<float>(0x7f800000));
    f32 carry2 = 0.0f;
    for (i64 k = 0; k < 8; k++) {
        // examples/softmax.croft:5   e = exp(t - max(t))
        const i64 v5 = mul_i64(k, 32);
        const f32 max_0_parts2 = max_0_parts[row * max_0_parts_stride0 + v5 + lane];
        const f32 v6 = maximum_f32(carry, max_0_parts2);
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 sum_0_parts2 = sum_0_parts[row * sum_0_parts_stride0 + v5 + lane];
        const f32 v7 = carry2 + sum_0_parts2;
        carry = v6;
        carry2 = v7;
    }
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 max_other16 = shuffle_xor_f32(carry, 16);
    const f32 max_lanes16 = (lane & 16) != 0 ? maximum_f32(max_other16, carry) : maximum_f32(carry, max_other16);
    const f32 max_other8 = shuffle_xor_f32(max_lanes16, 8);
    const f32 max_lanes8 = (lane & 8) != 0 ? maximum_f32(max_other8, max_lanes16) : maximum_f32(max_lanes16, max_other8);
    const f32 max_other4 = shuffle_xor_f32(max_lanes8, 4);
    const f32 max_lanes4 = (lane & 4) != 0 ? maximum_f32(max_other4, max_lanes8) : maximum_f32(max_lanes8, max_other4);
    const f32 max_other2 = shuffle_xor_f32(max_lanes4, 2);
    const f32 max_lanes2 = (lane & 2) != 0 ? maximum_f32(max_other2, max_lanes4) : maximum_f32(max_lanes4, max_other2);
    const f32 max_other1 = shuffle_xor_f32(max_lanes2, 1);
    const f32 max_lanes1 = (lane & 1) != 0 ? maximum_f32(max_other1, max_lanes2) : maximum_f32(max_lanes2, max_other1);
    const f32 max = max_lanes1;
    const f32 v8 = max;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 sum_other16 = shuffle_xor_f32(carry2, 16);
    const f32 sum_lanes16 = carry2 + sum_other16;
    const f32 sum_other8 = shuffle_xor_f32(sum_lanes16, 8);
    const f32 sum_lanes8 = sum_lanes16 + sum_other8;
    const f32 sum_other4 = shuffle_xor_f32(sum_lanes8, 4);
    const f32 sum_lanes4 = sum_lanes8 + sum_other4;
    const f32 sum_other2 = shuffle_xor_f32(sum_lanes4, 2);
    const f32 sum_lanes2 = sum_lanes4 + sum_other2;
    const f32 sum_other1 = shuffle_xor_f32(sum_lanes2, 1);
    const f32 sum_lanes1 = sum_lanes2 + sum_other1;
    const f32 sum = sum_lanes1;
    const f32 v9 = sum;
    // examples/softmax.croft:4   t = f32(x[row, :])
    const i64 v10 = shr_i64(v4, 10);
    const bool v11 = 0 < v10;
    if (v11) {
        const i64 x_at = row * x_stride0 + v;
        f32 t_0, t_1, t_2, t_3;
        const bool x_whole = is_aligned(x, x_at, 4, 16);
        if (x_whole) {
            const float4 pack = *(device const float4 *)(x + (x_at + at));
            t_0 = pack.x;
            t_1 = pack.y;
            t_2 = pack.z;
            t_3 = pack.w;
        } else {
            t_0 = x[x_at + at];
            t_1 = x[x_at + at + 1];
            t_2 = x[x_at + at + 2];
            t_3 = x[x_at + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v12_0 = t_0 - v8;
        const f32 v12_1 = t_1 - v8;
        const f32 v12_2 = t_2 - v8;
        const f32 v12_3 = t_3 - v8;
        const f32 v13_0 = greater_f32((-104.0f), v12_0);
        const f32 v13_1 = greater_f32((-104.0f), v12_1);
        const f32 v13_2 = greater_f32((-104.0f), v12_2);
        const f32 v13_3 = greater_f32((-104.0f), v12_3);
        const f32 v14_0 = lesser_f32(89.0f, v13_0);
        const f32 v14_1 = lesser_f32(89.0f, v13_1);
        const f32 v14_2 = lesser_f32(89.0f, v13_2);
        const f32 v14_3 = lesser_f32(89.0f, v13_3);
        const f32 v15_0 = fma_f32(v14_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v15_1 = fma_f32(v14_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v15_2 = fma_f32(v14_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v15_3 = fma_f32(v14_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v16_0 = v15_0 - 0x1.8000fep+23f;
        const f32 v16_1 = v15_1 - 0x1.8000fep+23f;
        const f32 v16_2 = v15_2 - 0x1.8000fep+23f;
        const f32 v16_3 = v15_3 - 0x1.8000fep+23f;
        const i32 v17_0 = f32_as_i32(v15_0);
        const i32 v17_1 = f32_as_i32(v15_1);
        const i32 v17_2 = f32_as_i32(v15_2);
        const i32 v17_3 = f32_as_i32(v15_3);
        const i32 v18_0 = shl_i32(v17_0, 23);
        const i32 v18_1 = shl_i32(v17_1, 23);
        const i32 v18_2 = shl_i32(v17_2, 23);
        const i32 v18_3 = shl_i32(v17_3, 23);
        const f32 v19_0 = i32_as_f32(v18_0);
        const f32 v19_1 = i32_as_f32(v18_1);
        const f32 v19_2 = i32_as_f32(v18_2);
        const f32 v19_3 = i32_as_f32(v18_3);
        const f32 v20_0 = fma_f32(v16_0, (-0x1.62e43p+0f), v14_0);
        const f32 v20_1 = fma_f32(v16_1, (-0x1.62e43p+0f), v14_1);
        const f32 v20_2 = fma_f32(v16_2, (-0x1.62e43p+0f), v14_2);
        const f32 v20_3 = fma_f32(v16_3, (-0x1.62e43p+0f), v14_3);
        const f32 v21_0 = fma_f32(v16_0, 0x1.05c61p-28f, v20_0);
        const f32 v21_1 = fma_f32(v16_1, 0x1.05c61p-28f, v20_1);
        const f32 v21_2 = fma_f32(v16_2, 0x1.05c61p-28f, v20_2);
        const f32 v21_3 = fma_f32(v16_3, 0x1.05c61p-28f, v20_3);
        const f32 v22_0 = fma_f32(0x1.9baedap-13f, v21_0, 0x1.71bf66p-10f);
        const f32 v22_1 = fma_f32(0x1.9baedap-13f, v21_1, 0x1.71bf66p-10f);
        const f32 v22_2 = fma_f32(0x1.9baedap-13f, v21_2, 0x1.71bf66p-10f);
        const f32 v22_3 = fma_f32(0x1.9baedap-13f, v21_3, 0x1.71bf66p-10f);
        const f32 v23_0 = fma_f32(v22_0, v21_0, 0x1.1126dap-7f);
        const f32 v23_1 = fma_f32(v22_1, v21_1, 0x1.1126dap-7f);
        const f32 v23_2 = fma_f32(v22_2, v21_2, 0x1.1126dap-7f);
        const f32 v23_3 = fma_f32(v22_3, v21_3, 0x1.1126dap-7f);
        const f32 v24_0 = fma_f32(v23_0, v21_0, 0x1.5549eep-5f);
        const f32 v24_1 = fma_f32(v23_1, v21_1, 0x1.5549eep-5f);
        const f32 v24_2 = fma_f32(v23_2, v21_2, 0x1.5549eep-5f);
        const f32 v24_3 = fma_f32(v23_3, v21_3, 0x1.5549eep-5f);
        const f32 v25_0 = fma_f32(v24_0, v21_0, 0x1.555514p-3f);
        const f32 v25_1 = fma_f32(v24_1, v21_1, 0x1.555514p-3f);
        const f32 v25_2 = fma_f32(v24_2, v21_2, 0x1.555514p-3f);
        const f32 v25_3 = fma_f32(v24_3, v21_3, 0x1.555514p-3f);
        const f32 v26_0 = fma_f32(v25_0, v21_0, 0x1.00000cp-1f);
        const f32 v26_1 = fma_f32(v25_1, v21_1, 0x1.00000cp-1f);
        const f32 v26_2 = fma_f32(v25_2, v21_2, 0x1.00000cp-1f);
        const f32 v26_3 = fma_f32(v25_3, v21_3, 0x1.00000cp-1f);
        const f32 v27_0 = fma_f32(v26_0, v21_0, 1.0f);
        const f32 v27_1 = fma_f32(v26_1, v21_1, 1.0f);
        const f32 v27_2 = fma_f32(v26_2, v21_2, 1.0f);
        const f32 v27_3 = fma_f32(v26_3, v21_3, 1.0f);
        const f32 v28_0 = fma_f32(v27_0, v21_0, 1.0f);
        const f32 v28_1 = fma_f32(v27_1, v21_1, 1.0f);
        const f32 v28_2 = fma_f32(v27_2, v21_2, 1.0f);
        const f32 v28_3 = fma_f32(v27_3, v21_3, 1.0f);
        const f32 v29_0 = v28_0 * v19_0;
        const f32 v29_1 = v28_1 * v19_1;
        const f32 v29_2 = v28_2 * v19_2;
        const f32 v29_3 = v28_3 * v19_3;
        const f32 e_0 = v29_0 * v19_0;
        const f32 e_1 = v29_1 * v19_1;
        const f32 e_2 = v29_2 * v19_2;
        const f32 e_3 = v29_3 * v19_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 v30 = abs_f32(v9);
        const bool v31 = v30 < 0x1p-126f;
        const bool v32 = 0x1p+126f < v30;
        const f32 v33 = v32 ? 0x1p-64f : 1.0f;
        const f32 v34 = v31 ? 0x1p+64f : v33;
        const f32 v35 = v9 * v34;
        const f32 v36 = 1.0f / v35;
        const f32 v37_0 = e_0 * v36;
        const f32 v37_1 = e_1 * v36;
        const f32 v37_2 = e_2 * v36;
        const f32 v37_3 = e_3 * v36;
        const f32 v38_0 = v37_0 * v34;
        const f32 v38_1 = v37_1 * v34;
        const f32 v38_2 = v37_2 * v34;
        const f32 v38_3 = v37_3 * v34;
        const i64 y_at = row * y_stride0 + v;
        const bool y_whole = is_aligned(y, y_at, 4, 16);
        if (y_whole) {
            *(device float4 *)(y + (y_at + at)) = float4(v38_0, v38_1, v38_2, v38_3);
        } else {
            y[y_at + at] = v38_0;
            y[y_at + at + 1] = v38_1;
            y[y_at + at + 2] = v38_2;
            y[y_at + at + 3] = v38_3;
        }
    }
    const bool v39 = 1 < v10;
    if (v39) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v40 = add_i64(1024, v);
        const i64 x_at2 = row * x_stride0 + v40;
        f32 t2_0, t2_1, t2_2, t2_3;
        const bool x_whole2 = is_aligned(x, x_at2, 4, 16);
        if (x_whole2) {
            const float4 pack2 = *(device const float4 *)(x + (x_at2 + at));
            t2_0 = pack2.x;
            t2_1 = pack2.y;
            t2_2 = pack2.z;
            t2_3 = pack2.w;
        } else {
            t2_0 = x[x_at2 + at];
            t2_1 = x[x_at2 + at + 1];
            t2_2 = x[x_at2 + at + 2];
            t2_3 = x[x_at2 + at + 3];
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v41_0 = t2_0 - v8;
        const f32 v41_1 = t2_1 - v8;
        const f32 v41_2 = t2_2 - v8;
        const f32 v41_3 = t2_3 - v8;
        const f32 v42_0 = greater_f32((-104.0f), v41_0);
        const f32 v42_1 = greater_f32((-104.0f), v41_1);
        const f32 v42_2 = greater_f32((-104.0f), v41_2);
        const f32 v42_3 = greater_f32((-104.0f), v41_3);
        const f32 v43_0 = lesser_f32(89.0f, v42_0);
        const f32 v43_1 = lesser_f32(89.0f, v42_1);
        const f32 v43_2 = lesser_f32(89.0f, v42_2);
        const f32 v43_3 = lesser_f32(89.0f, v42_3);
        const f32 v44_0 = fma_f32(v43_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v44_1 = fma_f32(v43_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v44_2 = fma_f32(v43_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v44_3 = fma_f32(v43_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v45_0 = v44_0 - 0x1.8000fep+23f;
        const f32 v45_1 = v44_1 - 0x1.8000fep+23f;
        const f32 v45_2 = v44_2 - 0x1.8000fep+23f;
        const f32 v45_3 = v44_3 - 0x1.8000fep+23f;
        const i32 v46_0 = f32_as_i32(v44_0);
        const i32 v46_1 = f32_as_i32(v44_1);
        const i32 v46_2 = f32_as_i32(v44_2);
        const i32 v46_3 = f32_as_i32(v44_3);
        const i32 v47_0 = shl_i32(v46_0, 23);
        const i32 v47_1 = shl_i32(v46_1, 23);
        const i32 v47_2 = shl_i32(v46_2, 23);
        const i32 v47_3 = shl_i32(v46_3, 23);
        const f32 v48_0 = i32_as_f32(v47_0);
        const f32 v48_1 = i32_as_f32(v47_1);
        const f32 v48_2 = i32_as_f32(v47_2);
        const f32 v48_3 = i32_as_f32(v47_3);
        const f32 v49_0 = fma_f32(v45_0, (-0x1.62e43p+0f), v43_0);
        const f32 v49_1 = fma_f32(v45_1, (-0x1.62e43p+0f), v43_1);
        const f32 v49_2 = fma_f32(v45_2, (-0x1.62e43p+0f), v43_2);
        const f32 v49_3 = fma_f32(v45_3, (-0x1.62e43p+0f), v43_3);
        const f32 v50_0 = fma_f32(v45_0, 0x1.05c61p-28f, v49_0);
        const f32 v50_1 = fma_f32(v45_1, 0x1.05c61p-28f, v49_1);
        const f32 v50_2 = fma_f32(v45_2, 0x1.05c61p-28f, v49_2);
        const f32 v50_3 = fma_f32(v45_3, 0x1.05c61p-28f, v49_3);
        const f32 v51_0 = fma_f32(0x1.9baedap-13f, v50_0, 0x1.71bf66p-10f);
        const f32 v51_1 = fma_f32(0x1.9baedap-13f, v50_1, 0x1.71bf66p-10f);
        const f32 v51_2 = fma_f32(0x1.9baedap-13f, v50_2, 0x1.71bf66p-10f);
        const f32 v51_3 = fma_f32(0x1.9baedap-13f, v50_3, 0x1.71bf66p-10f);
        const f32 v52_0 = fma_f32(v51_0, v50_0, 0x1.1126dap-7f);
        const f32 v52_1 = fma_f32(v51_1, v50_1, 0x1.1126dap-7f);
        const f32 v52_2 = fma_f32(v51_2, v50_2, 0x1.1126dap-7f);
        const f32 v52_3 = fma_f32(v51_3, v50_3, 0x1.1126dap-7f);
        const f32 v53_0 = fma_f32(v52_0, v50_0, 0x1.5549eep-5f);
        const f32 v53_1 = fma_f32(v52_1, v50_1, 0x1.5549eep-5f);
        const f32 v53_2 = fma_f32(v52_2, v50_2, 0x1.5549eep-5f);
        const f32 v53_3 = fma_f32(v52_3, v50_3, 0x1.5549eep-5f);
        const f32 v54_0 = fma_f32(v53_0, v50_0, 0x1.555514p-3f);
        const f32 v54_1 = fma_f32(v53_1, v50_1, 0x1.555514p-3f);
        const f32 v54_2 = fma_f32(v53_2, v50_2, 0x1.555514p-3f);
        const f32 v54_3 = fma_f32(v53_3, v50_3, 0x1.555514p-3f);
        const f32 v55_0 = fma_f32(v54_0, v50_0, 0x1.00000cp-1f);
        const f32 v55_1 = fma_f32(v54_1, v50_1, 0x1.00000cp-1f);
        const f32 v55_2 = fma_f32(v54_2, v50_2, 0x1.00000cp-1f);
        const f32 v55_3 = fma_f32(v54_3, v50_3, 0x1.00000cp-1f);
        const f32 v56_0 = fma_f32(v55_0, v50_0, 1.0f);
        const f32 v56_1 = fma_f32(v55_1, v50_1, 1.0f);
        const f32 v56_2 = fma_f32(v55_2, v50_2, 1.0f);
        const f32 v56_3 = fma_f32(v55_3, v50_3, 1.0f);
        const f32 v57_0 = fma_f32(v56_0, v50_0, 1.0f);
        const f32 v57_1 = fma_f32(v56_1, v50_1, 1.0f);
        const f32 v57_2 = fma_f32(v56_2, v50_2, 1.0f);
        const f32 v57_3 = fma_f32(v56_3, v50_3, 1.0f);
        const f32 v58_0 = v57_0 * v48_0;
        const f32 v58_1 = v57_1 * v48_1;
        const f32 v58_2 = v57_2 * v48_2;
        const f32 v58_3 = v57_3 * v48_3;
        const f32 e2_0 = v58_0 * v48_0;
        const f32 e2_1 = v58_1 * v48_1;
        const f32 e2_2 = v58_2 * v48_2;
        const f32 e2_3 = v58_3 * v48_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 v59 = abs_f32(v9);
        const bool v60 = v59 < 0x1p-126f;
        const bool v61 = 0x1p+126f < v59;
        const f32 v62 = v61 ? 0x1p-64f : 1.0f;
        const f32 v63 = v60 ? 0x1p+64f : v62;
        const f32 v64 = v9 * v63;
        const f32 v65 = 1.0f / v64;
        const f32 v66_0 = e2_0 * v65;
        const f32 v66_1 = e2_1 * v65;
        const f32 v66_2 = e2_2 * v65;
        const f32 v66_3 = e2_3 * v65;
        const f32 v67_0 = v66_0 * v63;
        const f32 v67_1 = v66_1 * v63;
        const f32 v67_2 = v66_2 * v63;
        const f32 v67_3 = v66_3 * v63;
        const i64 y_at2 = row * y_stride0 + v40;
        const bool y_whole2 = is_aligned(y, y_at2, 4, 16);
        if (y_whole2) {
            *(device float4 *)(y + (y_at2 + at)) = float4(v67_0, v67_1, v67_2, v67_3);
        } else {
            y[y_at2 + at] = v67_0;
            y[y_at2 + at + 1] = v67_1;
            y[y_at2 + at + 2] = v67_2;
            y[y_at2 + at + 3] = v67_3;
        }
    }
    const i64 v68 = mul_i64(v10, 1024);
    const i64 v69 = sub_i64(v4, v68);
    const bool v70 = 0 < v69;
    if (v70) {
        // examples/softmax.croft:4   t = f32(x[row, :])
        const i64 v71 = add_i64(v68, v);
        const i64 x_at3 = add_i64(mul_i64(row, x_stride0), v71);
        const i32 x_end = clamp_i32(v69, 0, 1024);
        f32 t3_0, t3_1, t3_2, t3_3;
        const bool x_whole3 = is_aligned(x, x_at3, 4, 16);
        if (x_whole3 && at + 3 < x_end) {
            const float4 pack3 = *(device const float4 *)(x + (x_at3 + at));
            t3_0 = pack3.x;
            t3_1 = pack3.y;
            t3_2 = pack3.z;
            t3_3 = pack3.w;
        } else {
            t3_0 = at < x_end ? x[x_at3 + at] : 0.0f;
            t3_1 = at + 1 < x_end ? x[x_at3 + at + 1] : 0.0f;
            t3_2 = at + 2 < x_end ? x[x_at3 + at + 2] : 0.0f;
            t3_3 = at + 3 < x_end ? x[x_at3 + at + 3] : 0.0f;
        }
        // examples/softmax.croft:5   e = exp(t - max(t))
        const f32 v72_0 = t3_0 - v8;
        const f32 v72_1 = t3_1 - v8;
        const f32 v72_2 = t3_2 - v8;
        const f32 v72_3 = t3_3 - v8;
        const f32 v73_0 = greater_f32((-104.0f), v72_0);
        const f32 v73_1 = greater_f32((-104.0f), v72_1);
        const f32 v73_2 = greater_f32((-104.0f), v72_2);
        const f32 v73_3 = greater_f32((-104.0f), v72_3);
        const f32 v74_0 = lesser_f32(89.0f, v73_0);
        const f32 v74_1 = lesser_f32(89.0f, v73_1);
        const f32 v74_2 = lesser_f32(89.0f, v73_2);
        const f32 v74_3 = lesser_f32(89.0f, v73_3);
        const f32 v75_0 = fma_f32(v74_0, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v75_1 = fma_f32(v74_1, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v75_2 = fma_f32(v74_2, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v75_3 = fma_f32(v74_3, 0x1.715476p-1f, 0x1.8000fep+23f);
        const f32 v76_0 = v75_0 - 0x1.8000fep+23f;
        const f32 v76_1 = v75_1 - 0x1.8000fep+23f;
        const f32 v76_2 = v75_2 - 0x1.8000fep+23f;
        const f32 v76_3 = v75_3 - 0x1.8000fep+23f;
        const i32 v77_0 = f32_as_i32(v75_0);
        const i32 v77_1 = f32_as_i32(v75_1);
        const i32 v77_2 = f32_as_i32(v75_2);
        const i32 v77_3 = f32_as_i32(v75_3);
        const i32 v78_0 = shl_i32(v77_0, 23);
        const i32 v78_1 = shl_i32(v77_1, 23);
        const i32 v78_2 = shl_i32(v77_2, 23);
        const i32 v78_3 = shl_i32(v77_3, 23);
        const f32 v79_0 = i32_as_f32(v78_0);
        const f32 v79_1 = i32_as_f32(v78_1);
        const f32 v79_2 = i32_as_f32(v78_2);
        const f32 v79_3 = i32_as_f32(v78_3);
        const f32 v80_0 = fma_f32(v76_0, (-0x1.62e43p+0f), v74_0);
        const f32 v80_1 = fma_f32(v76_1, (-0x1.62e43p+0f), v74_1);
        const f32 v80_2 = fma_f32(v76_2, (-0x1.62e43p+0f), v74_2);
        const f32 v80_3 = fma_f32(v76_3, (-0x1.62e43p+0f), v74_3);
        const f32 v81_0 = fma_f32(v76_0, 0x1.05c61p-28f, v80_0);
        const f32 v81_1 = fma_f32(v76_1, 0x1.05c61p-28f, v80_1);
        const f32 v81_2 = fma_f32(v76_2, 0x1.05c61p-28f, v80_2);
        const f32 v81_3 = fma_f32(v76_3, 0x1.05c61p-28f, v80_3);
        const f32 v82_0 = fma_f32(0x1.9baedap-13f, v81_0, 0x1.71bf66p-10f);
        const f32 v82_1 = fma_f32(0x1.9baedap-13f, v81_1, 0x1.71bf66p-10f);
        const f32 v82_2 = fma_f32(0x1.9baedap-13f, v81_2, 0x1.71bf66p-10f);
        const f32 v82_3 = fma_f32(0x1.9baedap-13f, v81_3, 0x1.71bf66p-10f);
        const f32 v83_0 = fma_f32(v82_0, v81_0, 0x1.1126dap-7f);
        const f32 v83_1 = fma_f32(v82_1, v81_1, 0x1.1126dap-7f);
        const f32 v83_2 = fma_f32(v82_2, v81_2, 0x1.1126dap-7f);
        const f32 v83_3 = fma_f32(v82_3, v81_3, 0x1.1126dap-7f);
        const f32 v84_0 = fma_f32(v83_0, v81_0, 0x1.5549eep-5f);
        const f32 v84_1 = fma_f32(v83_1, v81_1, 0x1.5549eep-5f);
        const f32 v84_2 = fma_f32(v83_2, v81_2, 0x1.5549eep-5f);
        const f32 v84_3 = fma_f32(v83_3, v81_3, 0x1.5549eep-5f);
        const f32 v85_0 = fma_f32(v84_0, v81_0, 0x1.555514p-3f);
        const f32 v85_1 = fma_f32(v84_1, v81_1, 0x1.555514p-3f);
        const f32 v85_2 = fma_f32(v84_2, v81_2, 0x1.555514p-3f);
        const f32 v85_3 = fma_f32(v84_3, v81_3, 0x1.555514p-3f);
        const f32 v86_0 = fma_f32(v85_0, v81_0, 0x1.00000cp-1f);
        const f32 v86_1 = fma_f32(v85_1, v81_1, 0x1.00000cp-1f);
        const f32 v86_2 = fma_f32(v85_2, v81_2, 0x1.00000cp-1f);
        const f32 v86_3 = fma_f32(v85_3, v81_3, 0x1.00000cp-1f);
        const f32 v87_0 = fma_f32(v86_0, v81_0, 1.0f);
        const f32 v87_1 = fma_f32(v86_1, v81_1, 1.0f);
        const f32 v87_2 = fma_f32(v86_2, v81_2, 1.0f);
        const f32 v87_3 = fma_f32(v86_3, v81_3, 1.0f);
        const f32 v88_0 = fma_f32(v87_0, v81_0, 1.0f);
        const f32 v88_1 = fma_f32(v87_1, v81_1, 1.0f);
        const f32 v88_2 = fma_f32(v87_2, v81_2, 1.0f);
        const f32 v88_3 = fma_f32(v87_3, v81_3, 1.0f);
        const f32 v89_0 = v88_0 * v79_0;
        const f32 v89_1 = v88_1 * v79_1;
        const f32 v89_2 = v88_2 * v79_2;
        const f32 v89_3 = v88_3 * v79_3;
        const f32 e3_0 = v89_0 * v79_0;
        const f32 e3_1 = v89_1 * v79_1;
        const f32 e3_2 = v89_2 * v79_2;
        const f32 e3_3 = v89_3 * v79_3;
        // examples/softmax.croft:6   y[row, :] = e / sum(e)
        const f32 v90 = abs_f32(v9);
        const bool v91 = v90 < 0x1p-126f;
        const bool v92 = 0x1p+126f < v90;
        const f32 v93 = v92 ? 0x1p-64f : 1.0f;
        const f32 v94 = v91 ? 0x1p+64f : v93;
        const f32 v95 = v9 * v94;
        const f32 v96 = 1.0f / v95;
        const f32 v97_0 = e3_0 * v96;
        const f32 v97_1 = e3_1 * v96;
        const f32 v97_2 = e3_2 * v96;
        const f32 v97_3 = e3_3 * v96;
        const f32 v98_0 = v97_0 * v94;
        const f32 v98_1 = v97_1 * v94;
        const f32 v98_2 = v97_2 * v94;
        const f32 v98_3 = v97_3 * v94;
        const i64 y_at3 = add_i64(mul_i64(row, y_stride0), v71);
        const i32 y_end = clamp_i32(v69, 0, 1024);
        const bool y_whole3 = is_aligned(y, y_at3, 4, 16);
        if (y_whole3 && at + 3 < y_end) {
            *(device float4 *)(y + (y_at3 + at)) = float4(v98_0, v98_1, v98_2, v98_3);
        } else {
            if (at < y_end) y[y_at3 + at] = v98_0;
            if (at + 1 < y_end) y[y_at3 + at + 1] = v98_1;
            if (at + 2 < y_end) y[y_at3 + at + 2] = v98_2;
            if (at + 3 < y_end) y[y_at3 + at + 3] = v98_3;
        }
    }
}

/* plan c4db865e584a4e7a */
