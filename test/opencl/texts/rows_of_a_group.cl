/* Kernel log_softmax for opencl, 256 lanes in groups of 256. Includes nothing; groups of the
 * grid are independent. Compile with -cl-std=CL1.2
 * -cl-fp32-correctly-rounded-divide-sqrt. */

#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
typedef long i64;
typedef ulong u64;
typedef int i32;
typedef uint u32;
#define INLINE static inline

INLINE i32 f32_as_i32(f32 a) {
    return as_int(a);
}
INLINE f32 i32_as_f32(i32 a) {
    return as_float(a);
}
INLINE i64 add_i64(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}
INLINE i32 sub_i32(i32 a, i32 b) {
    return (i32)((u32)a - (u32)b);
}
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE i32 shl_i32(i32 a, i32 b) {
    return (i32)((u32)a << (b & 31));
}
INLINE i32 shr_i32(i32 a, i32 b) {
    return a >> (b & 31);
}
INLINE f32 greater_f32(f32 a, f32 b) {
    return a > b ? a : b;
}
INLINE f32 maximum_f32(f32 a, f32 b) {
    return a > b || a != a ? a : b;
}
INLINE i64 minimum_i64(i64 a, i64 b) {
    return a < b ? a : b;
}
INLINE f32 fma_f32(f32 a, f32 b, f32 c) {
    return fma(a, b, c);
}

struct croft_words {
    i64 words[6];
    i64 first;
};

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
croft_log_softmax(__global const f32 *x, __global f32 *y, __global uchar *workspace, const struct croft_words arguments) {
    const i64 R = arguments.words[0];
    const i64 x_stride0 = arguments.words[2];
    const i64 y_stride0 = arguments.words[4];
    const i32 thread = (i32)(get_local_id(0) & 255);
    const i32 lane = thread & 31;
    const i32 subgroup = thread >> 5;
    __local uchar scratch[4096] __attribute__((aligned(16)));
    __local uchar *const exchange = scratch;
    __local uchar *const exchange2 = scratch + 2048;
    const i64 group = arguments.first + get_group_id(0);
    // examples/log_softmax.croft:3   program row: R
    const i64 v = subgroup;
    const i64 v2 = mul_i64(group, 8);
    const i64 v3 = add_i64(v2, v);
    const i64 v4 = (R - 1);
    const bool v5 = v3 < R;
    const i64 row = minimum_i64(v3, v4);
    // examples/log_softmax.croft:4   t = f32(x[row, :])
    const f32 t = lane < 31 ? x[lane + mul_i64(row, x_stride0)] : 0.0f;
    // examples/log_softmax.croft:5   d = t - max(t)
    const i64 v6 = lane;
    const i32 v7 = (i32)v6;
    const bool v8 = v7 < 31;
    const f32 v9 = v8 ? t : (-as_float(0x7f800000));
    const f32 v10 = maximum_f32((-as_float(0x7f800000)), v9);
    ((__local f32 *)exchange)[thread] = v10;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 max_other16 = ((__local f32 *)exchange)[thread ^ 16];
    const f32 max_lanes16 = (lane & 16) != 0 ? maximum_f32(max_other16, v10) : maximum_f32(v10, max_other16);
    ((__local f32 *)exchange2)[thread] = max_lanes16;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 max_other8 = ((__local f32 *)exchange2)[thread ^ 8];
    const f32 max_lanes8 = (lane & 8) != 0 ? maximum_f32(max_other8, max_lanes16) : maximum_f32(max_lanes16, max_other8);
    ((__local f32 *)exchange)[thread] = max_lanes8;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 max_other4 = ((__local f32 *)exchange)[thread ^ 4];
    const f32 max_lanes4 = (lane & 4) != 0 ? maximum_f32(max_other4, max_lanes8) : maximum_f32(max_lanes8, max_other4);
    ((__local f32 *)exchange2)[thread] = max_lanes4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 max_other2 = ((__local f32 *)exchange2)[thread ^ 2];
    const f32 max_lanes2 = (lane & 2) != 0 ? maximum_f32(max_other2, max_lanes4) : maximum_f32(max_lanes4, max_other2);
    ((__local f32 *)exchange)[thread] = max_lanes2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 max_other1 = ((__local f32 *)exchange)[thread ^ 1];
    const f32 max_lanes1 = (lane & 1) != 0 ? maximum_f32(max_other1, max_lanes2) : maximum_f32(max_lanes2, max_other1);
    const f32 max = max_lanes1;
    const f32 d = t - max;
    // examples/log_softmax.croft:6   y[row, :] = d - log(sum(exp(d)))
    const f32 v11 = greater_f32((-88.0f), d);
    const f32 v12 = fma_f32(v11, 0x1.715476p+0f, 0x1.8000fep+23f);
    const f32 v13 = v12 - 0x1.8000fep+23f;
    const i32 v14 = f32_as_i32(v12);
    const i32 v15 = shl_i32(v14, 23);
    const f32 v16 = i32_as_f32(v15);
    const f32 v17 = fma_f32(v13, (-0x1.62e43p-1f), v11);
    const f32 v18 = fma_f32(v13, 0x1.05c61p-29f, v17);
    const f32 v19 = fma_f32(0x1.6b97a6p-10f, v18, 0x1.122538p-7f);
    const f32 v20 = fma_f32(v19, v18, 0x1.5556f6p-5f);
    const f32 v21 = fma_f32(v20, v18, 0x1.5554b4p-3f);
    const f32 v22 = fma_f32(v21, v18, 0x1.fffffep-2f);
    const f32 v23 = fma_f32(v22, v18, 1.0f);
    const f32 v24 = fma_f32(v23, v18, 1.0f);
    const f32 v25 = v24 * v16;
    const f32 v26 = v8 ? v25 : 0.0f;
    const f32 v27 = 0.0f + v26;
    ((__local f32 *)exchange2)[thread] = v27;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum_other16 = ((__local f32 *)exchange2)[thread ^ 16];
    const f32 sum_lanes16 = v27 + sum_other16;
    ((__local f32 *)exchange)[thread] = sum_lanes16;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum_other8 = ((__local f32 *)exchange)[thread ^ 8];
    const f32 sum_lanes8 = sum_lanes16 + sum_other8;
    ((__local f32 *)exchange2)[thread] = sum_lanes8;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum_other4 = ((__local f32 *)exchange2)[thread ^ 4];
    const f32 sum_lanes4 = sum_lanes8 + sum_other4;
    ((__local f32 *)exchange)[thread] = sum_lanes4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum_other2 = ((__local f32 *)exchange)[thread ^ 2];
    const f32 sum_lanes2 = sum_lanes4 + sum_other2;
    ((__local f32 *)exchange2)[thread] = sum_lanes2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum_other1 = ((__local f32 *)exchange2)[thread ^ 1];
    const f32 sum_lanes1 = sum_lanes2 + sum_other1;
    const f32 sum = sum_lanes1;
    const bool v28 = sum < 0x1p-126f;
    const f32 v29 = sum * 0x1p+23f;
    const f32 v30 = v28 ? v29 : sum;
    const i32 v31 = f32_as_i32(v30);
    const i32 v32 = sub_i32(v31, 1060439283);
    const i32 v33 = shr_i32(v32, 23);
    const i32 v34 = shl_i32(v33, 23);
    const i32 v35 = sub_i32(v31, v34);
    const f32 v36 = i32_as_f32(v35);
    const i32 v37 = sub_i32(v33, 23);
    const i32 v38 = v28 ? v37 : v33;
    const f32 v39 = (f32)v38;
    const f32 v40 = v36 - 1.0f;
    const f32 v41 = fma_f32(0x1.65f0fp-4f, v40, (-0x1.2505acp-3f));
    const f32 v42 = fma_f32(v41, v40, 0x1.317ca8p-3f);
    const f32 v43 = fma_f32(v42, v40, (-0x1.535c2ap-3f));
    const f32 v44 = fma_f32(v43, v40, 0x1.98d3ap-3f);
    const f32 v45 = fma_f32(v44, v40, (-0x1.0004a8p-2f));
    const f32 v46 = fma_f32(v45, v40, 0x1.5556fp-2f);
    const f32 v47 = fma_f32(v46, v40, (-0x1.fffffap-2f));
    const f32 v48 = v40 * v40;
    const f32 v49 = fma_f32(v48, v47, v40);
    const f32 v50 = fma_f32(v39, 0x1.62e43p-1f, v49);
    const bool v51 = sum == 0.0f;
    const f32 v52 = v51 ? (-as_float(0x7f800000)) : as_float(0x7fc00000);
    const bool v53 = sum < as_float(0x7f800000);
    const f32 v54 = v53 ? v50 : sum;
    const bool v55 = 0.0f < sum;
    const f32 v56 = v55 ? v54 : v52;
    const f32 v57 = d - v56;
    if (v5) {
        if (lane < 31) y[lane + mul_i64(row, y_stride0)] = v57;
    }
}

/* plan d3f34bbbc927a2a3 */
