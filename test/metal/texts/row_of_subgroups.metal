/* Kernel softmax for m1, 128 lanes in groups of 128. Includes the language's own header; groups
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
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE f32 abs_f32(f32 a) {
    return as_type<f32>(as_type<i32>(a) & 0x7fffffff);
}
INLINE i32 shl_i32(i32 a, i32 b) {
    return (i32)((u32)a << (b & 31));
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
INLINE f32 shuffle_xor_f32(f32 a, i32 turned) {
    return (f32)simd_shuffle_xor((f32)a, (ushort)turned);
}

struct croft_words {
    i64 words[6];
    i64 first;
};

[[max_total_threads_per_threadgroup(128)]]
kernel void croft_softmax(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]], device uchar *workspace [[buffer(2)]], constant struct croft_words &arguments [[buffer(3)]], threadgroup uint4 *shared [[threadgroup(0)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 x_stride0 = arguments.words[2];
    const i64 y_stride0 = arguments.words[4];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 127);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    threadgroup uchar *const scratch = (threadgroup uchar *)shared;
    threadgroup f32 *const cells = (threadgroup f32 *)(scratch + 0);
    threadgroup f32 *const cells2 = (threadgroup f32 *)(scratch + 16);
    const i64 group = arguments.first + group_number;
    // examples/softmax.croft:4   t = f32(x[row, :])
    const i64 x_at = group * x_stride0;
    const f32 t_0 = x[x_at + worker];
    const f32 t_1 = x[x_at + worker + 128];
    const f32 t_2 = x[x_at + worker + 256];
    const f32 t_3 = x[x_at + worker + 384];
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v_0 = maximum_f32((-as_type<float>(0x7f800000)), t_0);
    const f32 v_1 = maximum_f32((-as_type<float>(0x7f800000)), t_1);
    const f32 v_2 = maximum_f32((-as_type<float>(0x7f800000)), t_2);
    const f32 v_3 = maximum_f32((-as_type<float>(0x7f800000)), t_3);
    const f32 v2_0 = maximum_f32(v_0, v_2);
    const f32 v2_1 = maximum_f32(v_1, v_3);
    // examples/softmax.croft:4   t = f32(x[row, :])
    const i64 x_at2 = group * x_stride0 + 512;
    const f32 t2_0 = x[x_at2 + worker];
    const f32 t2_1 = x[x_at2 + worker + 128];
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v3_0 = maximum_f32(v2_0, t2_0);
    const f32 v3_1 = maximum_f32(v2_1, t2_1);
    const f32 max = maximum_f32(v3_0, v3_1);
    // examples/softmax.croft:4   t = f32(x[row, :])
    const f32 t3 = x[group * x_stride0 + 768 + worker];
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v4 = maximum_f32(max, t3);
    // examples/softmax.croft:4   t = f32(x[row, :])
    const f32 t4 = worker < 113 ? x[add_i64(mul_i64(group, x_stride0), 896) + worker] : 0.0f;
    // examples/softmax.croft:5   e = exp(t - max(t))
    const i64 v5 = worker;
    const i32 v6 = (i32)v5;
    const bool v7 = v6 < 113;
    const f32 v8 = v7 ? t4 : (-as_type<float>(0x7f800000));
    const f32 v9 = maximum_f32(v4, v8);
    const f32 max2_other16 = shuffle_xor_f32(v9, 16);
    const f32 max2_lanes16 = (lane & 16) != 0 ? maximum_f32(max2_other16, v9) : maximum_f32(v9, max2_other16);
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
    const f32 v10 = max3;
    const f32 v11_0 = t_0 - v10;
    const f32 v11_1 = t_1 - v10;
    const f32 v11_2 = t_2 - v10;
    const f32 v11_3 = t_3 - v10;
    const f32 v12_0 = greater_f32((-88.0f), v11_0);
    const f32 v12_1 = greater_f32((-88.0f), v11_1);
    const f32 v12_2 = greater_f32((-88.0f), v11_2);
    const f32 v12_3 = greater_f32((-88.0f), v11_3);
    const f32 v13_0 = fma_f32(v12_0, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v13_1 = fma_f32(v12_1, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v13_2 = fma_f32(v12_2, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v13_3 = fma_f32(v12_3, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v14_0 = v13_0 - 0x1.8000fep+23f;
    const f32 v14_1 = v13_1 - 0x1.8000fep+23f;
    const f32 v14_2 = v13_2 - 0x1.8000fep+23f;
    const f32 v14_3 = v13_3 - 0x1.8000fep+23f;
    const i32 v15_0 = f32_as_i32(v13_0);
    const i32 v15_1 = f32_as_i32(v13_1);
    const i32 v15_2 = f32_as_i32(v13_2);
    const i32 v15_3 = f32_as_i32(v13_3);
    const i32 v16_0 = shl_i32(v15_0, 23);
    const i32 v16_1 = shl_i32(v15_1, 23);
    const i32 v16_2 = shl_i32(v15_2, 23);
    const i32 v16_3 = shl_i32(v15_3, 23);
    const f32 v17_0 = i32_as_f32(v16_0);
    const f32 v17_1 = i32_as_f32(v16_1);
    const f32 v17_2 = i32_as_f32(v16_2);
    const f32 v17_3 = i32_as_f32(v16_3);
    const f32 v18_0 = fma_f32(v14_0, (-0x1.62e43p-1f), v12_0);
    const f32 v18_1 = fma_f32(v14_1, (-0x1.62e43p-1f), v12_1);
    const f32 v18_2 = fma_f32(v14_2, (-0x1.62e43p-1f), v12_2);
    const f32 v18_3 = fma_f32(v14_3, (-0x1.62e43p-1f), v12_3);
    const f32 v19_0 = fma_f32(v14_0, 0x1.05c61p-29f, v18_0);
    const f32 v19_1 = fma_f32(v14_1, 0x1.05c61p-29f, v18_1);
    const f32 v19_2 = fma_f32(v14_2, 0x1.05c61p-29f, v18_2);
    const f32 v19_3 = fma_f32(v14_3, 0x1.05c61p-29f, v18_3);
    const f32 v20_0 = fma_f32(0x1.6b97a6p-10f, v19_0, 0x1.122538p-7f);
    const f32 v20_1 = fma_f32(0x1.6b97a6p-10f, v19_1, 0x1.122538p-7f);
    const f32 v20_2 = fma_f32(0x1.6b97a6p-10f, v19_2, 0x1.122538p-7f);
    const f32 v20_3 = fma_f32(0x1.6b97a6p-10f, v19_3, 0x1.122538p-7f);
    const f32 v21_0 = fma_f32(v20_0, v19_0, 0x1.5556f6p-5f);
    const f32 v21_1 = fma_f32(v20_1, v19_1, 0x1.5556f6p-5f);
    const f32 v21_2 = fma_f32(v20_2, v19_2, 0x1.5556f6p-5f);
    const f32 v21_3 = fma_f32(v20_3, v19_3, 0x1.5556f6p-5f);
    const f32 v22_0 = fma_f32(v21_0, v19_0, 0x1.5554b4p-3f);
    const f32 v22_1 = fma_f32(v21_1, v19_1, 0x1.5554b4p-3f);
    const f32 v22_2 = fma_f32(v21_2, v19_2, 0x1.5554b4p-3f);
    const f32 v22_3 = fma_f32(v21_3, v19_3, 0x1.5554b4p-3f);
    const f32 v23_0 = fma_f32(v22_0, v19_0, 0x1.fffffep-2f);
    const f32 v23_1 = fma_f32(v22_1, v19_1, 0x1.fffffep-2f);
    const f32 v23_2 = fma_f32(v22_2, v19_2, 0x1.fffffep-2f);
    const f32 v23_3 = fma_f32(v22_3, v19_3, 0x1.fffffep-2f);
    const f32 v24_0 = fma_f32(v23_0, v19_0, 1.0f);
    const f32 v24_1 = fma_f32(v23_1, v19_1, 1.0f);
    const f32 v24_2 = fma_f32(v23_2, v19_2, 1.0f);
    const f32 v24_3 = fma_f32(v23_3, v19_3, 1.0f);
    const f32 v25_0 = fma_f32(v24_0, v19_0, 1.0f);
    const f32 v25_1 = fma_f32(v24_1, v19_1, 1.0f);
    const f32 v25_2 = fma_f32(v24_2, v19_2, 1.0f);
    const f32 v25_3 = fma_f32(v24_3, v19_3, 1.0f);
    const f32 e_0 = v25_0 * v17_0;
    const f32 e_1 = v25_1 * v17_1;
    const f32 e_2 = v25_2 * v17_2;
    const f32 e_3 = v25_3 * v17_3;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 v26_0 = 0.0f + e_0;
    const f32 v26_1 = 0.0f + e_1;
    const f32 v26_2 = 0.0f + e_2;
    const f32 v26_3 = 0.0f + e_3;
    const f32 v27_0 = v26_0 + v26_2;
    const f32 v27_1 = v26_1 + v26_3;
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v28_0 = t2_0 - v10;
    const f32 v28_1 = t2_1 - v10;
    const f32 v29_0 = greater_f32((-88.0f), v28_0);
    const f32 v29_1 = greater_f32((-88.0f), v28_1);
    const f32 v30_0 = fma_f32(v29_0, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v30_1 = fma_f32(v29_1, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v31_0 = v30_0 - 0x1.8000fep+23f;
    const f32 v31_1 = v30_1 - 0x1.8000fep+23f;
    const i32 v32_0 = f32_as_i32(v30_0);
    const i32 v32_1 = f32_as_i32(v30_1);
    const i32 v33_0 = shl_i32(v32_0, 23);
    const i32 v33_1 = shl_i32(v32_1, 23);
    const f32 v34_0 = i32_as_f32(v33_0);
    const f32 v34_1 = i32_as_f32(v33_1);
    const f32 v35_0 = fma_f32(v31_0, (-0x1.62e43p-1f), v29_0);
    const f32 v35_1 = fma_f32(v31_1, (-0x1.62e43p-1f), v29_1);
    const f32 v36_0 = fma_f32(v31_0, 0x1.05c61p-29f, v35_0);
    const f32 v36_1 = fma_f32(v31_1, 0x1.05c61p-29f, v35_1);
    const f32 v37_0 = fma_f32(0x1.6b97a6p-10f, v36_0, 0x1.122538p-7f);
    const f32 v37_1 = fma_f32(0x1.6b97a6p-10f, v36_1, 0x1.122538p-7f);
    const f32 v38_0 = fma_f32(v37_0, v36_0, 0x1.5556f6p-5f);
    const f32 v38_1 = fma_f32(v37_1, v36_1, 0x1.5556f6p-5f);
    const f32 v39_0 = fma_f32(v38_0, v36_0, 0x1.5554b4p-3f);
    const f32 v39_1 = fma_f32(v38_1, v36_1, 0x1.5554b4p-3f);
    const f32 v40_0 = fma_f32(v39_0, v36_0, 0x1.fffffep-2f);
    const f32 v40_1 = fma_f32(v39_1, v36_1, 0x1.fffffep-2f);
    const f32 v41_0 = fma_f32(v40_0, v36_0, 1.0f);
    const f32 v41_1 = fma_f32(v40_1, v36_1, 1.0f);
    const f32 v42_0 = fma_f32(v41_0, v36_0, 1.0f);
    const f32 v42_1 = fma_f32(v41_1, v36_1, 1.0f);
    const f32 e2_0 = v42_0 * v34_0;
    const f32 e2_1 = v42_1 * v34_1;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 v43_0 = v27_0 + e2_0;
    const f32 v43_1 = v27_1 + e2_1;
    const f32 sum = v43_0 + v43_1;
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v44 = t3 - v10;
    const f32 v45 = greater_f32((-88.0f), v44);
    const f32 v46 = fma_f32(v45, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v47 = v46 - 0x1.8000fep+23f;
    const i32 v48 = f32_as_i32(v46);
    const i32 v49 = shl_i32(v48, 23);
    const f32 v50 = i32_as_f32(v49);
    const f32 v51 = fma_f32(v47, (-0x1.62e43p-1f), v45);
    const f32 v52 = fma_f32(v47, 0x1.05c61p-29f, v51);
    const f32 v53 = fma_f32(0x1.6b97a6p-10f, v52, 0x1.122538p-7f);
    const f32 v54 = fma_f32(v53, v52, 0x1.5556f6p-5f);
    const f32 v55 = fma_f32(v54, v52, 0x1.5554b4p-3f);
    const f32 v56 = fma_f32(v55, v52, 0x1.fffffep-2f);
    const f32 v57 = fma_f32(v56, v52, 1.0f);
    const f32 v58 = fma_f32(v57, v52, 1.0f);
    const f32 e3 = v58 * v50;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 v59 = sum + e3;
    // examples/softmax.croft:5   e = exp(t - max(t))
    const f32 v60 = t4 - v10;
    const f32 v61 = greater_f32((-88.0f), v60);
    const f32 v62 = fma_f32(v61, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v63 = v62 - 0x1.8000fep+23f;
    const i32 v64 = f32_as_i32(v62);
    const i32 v65 = shl_i32(v64, 23);
    const f32 v66 = i32_as_f32(v65);
    const f32 v67 = fma_f32(v63, (-0x1.62e43p-1f), v61);
    const f32 v68 = fma_f32(v63, 0x1.05c61p-29f, v67);
    const f32 v69 = fma_f32(0x1.6b97a6p-10f, v68, 0x1.122538p-7f);
    const f32 v70 = fma_f32(v69, v68, 0x1.5556f6p-5f);
    const f32 v71 = fma_f32(v70, v68, 0x1.5554b4p-3f);
    const f32 v72 = fma_f32(v71, v68, 0x1.fffffep-2f);
    const f32 v73 = fma_f32(v72, v68, 1.0f);
    const f32 v74 = fma_f32(v73, v68, 1.0f);
    const f32 e4 = v74 * v66;
    // examples/softmax.croft:6   y[row, :] = e / sum(e)
    const f32 v75 = v7 ? e4 : 0.0f;
    const f32 v76 = v59 + v75;
    const f32 sum2_other16 = shuffle_xor_f32(v76, 16);
    const f32 sum2_lanes16 = v76 + sum2_other16;
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
    const f32 v77 = sum3;
    const f32 v78 = abs_f32(v77);
    const bool v79 = v78 < 0x1p-126f;
    const bool v80 = 0x1p+126f < v78;
    const f32 v81 = v80 ? 0x1p-64f : 1.0f;
    const f32 v82 = v79 ? 0x1p+64f : v81;
    const f32 v83 = v77 * v82;
    const f32 v84 = 1.0f / v83;
    const f32 v85_0 = e_0 * v84;
    const f32 v85_1 = e_1 * v84;
    const f32 v85_2 = e_2 * v84;
    const f32 v85_3 = e_3 * v84;
    const f32 v86_0 = v85_0 * v82;
    const f32 v86_1 = v85_1 * v82;
    const f32 v86_2 = v85_2 * v82;
    const f32 v86_3 = v85_3 * v82;
    const i64 y_at = group * y_stride0;
    y[y_at + worker] = v86_0;
    y[y_at + worker + 128] = v86_1;
    y[y_at + worker + 256] = v86_2;
    y[y_at + worker + 384] = v86_3;
    const f32 v87_0 = e2_0 * v84;
    const f32 v87_1 = e2_1 * v84;
    const f32 v88_0 = v87_0 * v82;
    const f32 v88_1 = v87_1 * v82;
    const i64 y_at2 = group * y_stride0 + 512;
    y[y_at2 + worker] = v88_0;
    y[y_at2 + worker + 128] = v88_1;
    const f32 v89 = e3 * v84;
    const f32 v90 = v89 * v82;
    y[group * y_stride0 + 768 + worker] = v90;
    const f32 v91 = e4 * v84;
    const f32 v92 = v91 * v82;
    if (worker < 113) y[add_i64(mul_i64(group, y_stride0), 896) + worker] = v92;
}

/* plan ff517af3743f8e39 */
