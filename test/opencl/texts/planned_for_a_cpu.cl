/* Kernel layernorm for opencl, 8 lanes in groups of 8. Includes nothing; groups of the
 * grid are independent. Compile with -cl-std=CL1.2
 * -cl-fp32-correctly-rounded-divide-sqrt. */

#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
typedef ushort bf16; // bits
typedef long i64;
typedef ulong u64;
typedef int i32;
typedef uint u32;
#define INLINE static inline

INLINE i64 add_i64(i64 a, i64 b) {
    return (i64)((u64)a + (u64)b);
}
INLINE i64 mul_i64(i64 a, i64 b) {
    return (i64)((u64)a * (u64)b);
}
INLINE f32 sqrt_f32(f32 a) {
    return sqrt(a);
}
INLINE f32 f32_from_bf16(bf16 a) {
    return as_float((u32)a << 16);
}
INLINE bf16 bf16_from_f32(f32 a) {
    const u32 bits = as_uint(a);
    if ((bits & 0x7fffffff) > 0x7f800000) // NaN
        return (bf16)(bits >> 16 | 0x40);
    return (bf16)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

struct croft_words {
    i64 words[9];
    i64 first;
};

__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void
croft_layernorm(__global const bf16 *x, __global const bf16 *w, __global const bf16 *b, __global bf16 *y, __global uchar *workspace, const struct croft_words arguments) {
    const i64 x_stride0 = arguments.words[2];
    const i64 y_stride0 = arguments.words[6];
    const f32 eps = as_float((u32)arguments.words[8]);
    const i32 thread = (i32)(get_local_id(0) & 7);
    __local uchar scratch[128] __attribute__((aligned(16)));
    __local uchar *const exchange = scratch;
    __local uchar *const exchange2 = scratch + 64;
    const i64 group = arguments.first + get_group_id(0);
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const i64 x_at = group * x_stride0;
    const bf16 x2_0 = x[x_at + thread];
    const bf16 x2_1 = x[x_at + thread + 8];
    const bf16 x2_2 = x[x_at + thread + 16];
    const bf16 x2_3 = x[x_at + thread + 24];
    const f32 t_0 = f32_from_bf16(x2_0);
    const f32 t_1 = f32_from_bf16(x2_1);
    const f32 t_2 = f32_from_bf16(x2_2);
    const f32 t_3 = f32_from_bf16(x2_3);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const f32 v_0 = 0.0f + t_0;
    const f32 v_1 = 0.0f + t_1;
    const f32 v_2 = 0.0f + t_2;
    const f32 v_3 = 0.0f + t_3;
    const f32 sum_0 = v_0 + v_2;
    const f32 sum_1 = v_1 + v_3;
    const f32 sum = sum_0 + sum_1;
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const bf16 x3 = thread < 1 ? x[add_i64(mul_i64(group, x_stride0), 32) + thread] : 0;
    const f32 t2 = f32_from_bf16(x3);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const i64 v2 = thread;
    const i32 v3 = (i32)v2;
    const bool v4 = v3 < 1;
    const f32 v5 = v4 ? t2 : 0.0f;
    const f32 v6 = sum + v5;
    ((__local f32 *)exchange)[thread] = v6;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other4 = ((__local f32 *)exchange)[thread ^ 4];
    const f32 sum2_lanes4 = v6 + sum2_other4;
    ((__local f32 *)exchange2)[thread] = sum2_lanes4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other2 = ((__local f32 *)exchange2)[thread ^ 2];
    const f32 sum2_lanes2 = sum2_lanes4 + sum2_other2;
    ((__local f32 *)exchange)[thread] = sum2_lanes2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other1 = ((__local f32 *)exchange)[thread ^ 1];
    const f32 sum2_lanes1 = sum2_lanes2 + sum2_other1;
    const f32 sum2 = sum2_lanes1;
    const f32 v7 = sum2 / 33.0f;
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const i64 x_at2 = group * x_stride0;
    const bf16 x4_0 = x[x_at2 + thread];
    const bf16 x4_1 = x[x_at2 + thread + 8];
    const bf16 x4_2 = x[x_at2 + thread + 16];
    const bf16 x4_3 = x[x_at2 + thread + 24];
    const f32 t3_0 = f32_from_bf16(x4_0);
    const f32 t3_1 = f32_from_bf16(x4_1);
    const f32 t3_2 = f32_from_bf16(x4_2);
    const f32 t3_3 = f32_from_bf16(x4_3);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const f32 d_0 = t3_0 - v7;
    const f32 d_1 = t3_1 - v7;
    const f32 d_2 = t3_2 - v7;
    const f32 d_3 = t3_3 - v7;
    // examples/layernorm.croft:7   y[row, :] = d * rsqrt(sum(d * d) / N + eps) * w[:] + b[:]
    const f32 v8_0 = d_0 * d_0;
    const f32 v8_1 = d_1 * d_1;
    const f32 v8_2 = d_2 * d_2;
    const f32 v8_3 = d_3 * d_3;
    const f32 v9_0 = 0.0f + v8_0;
    const f32 v9_1 = 0.0f + v8_1;
    const f32 v9_2 = 0.0f + v8_2;
    const f32 v9_3 = 0.0f + v8_3;
    const f32 sum3_0 = v9_0 + v9_2;
    const f32 sum3_1 = v9_1 + v9_3;
    const f32 sum3 = sum3_0 + sum3_1;
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const bf16 x5 = thread < 1 ? x[add_i64(mul_i64(group, x_stride0), 32) + thread] : 0;
    const f32 t4 = f32_from_bf16(x5);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const f32 d2 = t4 - v7;
    // examples/layernorm.croft:7   y[row, :] = d * rsqrt(sum(d * d) / N + eps) * w[:] + b[:]
    const f32 v10 = d2 * d2;
    const f32 v11 = v4 ? v10 : 0.0f;
    const f32 v12 = sum3 + v11;
    ((__local f32 *)exchange2)[thread] = v12;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum4_other4 = ((__local f32 *)exchange2)[thread ^ 4];
    const f32 sum4_lanes4 = v12 + sum4_other4;
    ((__local f32 *)exchange)[thread] = sum4_lanes4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum4_other2 = ((__local f32 *)exchange)[thread ^ 2];
    const f32 sum4_lanes2 = sum4_lanes4 + sum4_other2;
    ((__local f32 *)exchange2)[thread] = sum4_lanes2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum4_other1 = ((__local f32 *)exchange2)[thread ^ 1];
    const f32 sum4_lanes1 = sum4_lanes2 + sum4_other1;
    const f32 sum4 = sum4_lanes1;
    const f32 v13 = sum4 / 33.0f;
    const f32 v14 = v13 + eps;
    const f32 v15 = sqrt_f32(v14);
    const f32 v16 = 1.0f / v15;
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const i64 x_at3 = group * x_stride0;
    const bf16 x6_0 = x[x_at3 + thread];
    const bf16 x6_1 = x[x_at3 + thread + 8];
    const bf16 x6_2 = x[x_at3 + thread + 16];
    const bf16 x6_3 = x[x_at3 + thread + 24];
    const f32 t5_0 = f32_from_bf16(x6_0);
    const f32 t5_1 = f32_from_bf16(x6_1);
    const f32 t5_2 = f32_from_bf16(x6_2);
    const f32 t5_3 = f32_from_bf16(x6_3);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const f32 d3_0 = t5_0 - v7;
    const f32 d3_1 = t5_1 - v7;
    const f32 d3_2 = t5_2 - v7;
    const f32 d3_3 = t5_3 - v7;
    // examples/layernorm.croft:7   y[row, :] = d * rsqrt(sum(d * d) / N + eps) * w[:] + b[:]
    const f32 v17_0 = d3_0 * v16;
    const f32 v17_1 = d3_1 * v16;
    const f32 v17_2 = d3_2 * v16;
    const f32 v17_3 = d3_3 * v16;
    const bf16 w2_0 = w[thread];
    const bf16 w2_1 = w[thread + 8];
    const bf16 w2_2 = w[thread + 16];
    const bf16 w2_3 = w[thread + 24];
    const f32 v18_0 = f32_from_bf16(w2_0);
    const f32 v18_1 = f32_from_bf16(w2_1);
    const f32 v18_2 = f32_from_bf16(w2_2);
    const f32 v18_3 = f32_from_bf16(w2_3);
    const f32 v19_0 = v17_0 * v18_0;
    const f32 v19_1 = v17_1 * v18_1;
    const f32 v19_2 = v17_2 * v18_2;
    const f32 v19_3 = v17_3 * v18_3;
    const bf16 b2_0 = b[thread];
    const bf16 b2_1 = b[thread + 8];
    const bf16 b2_2 = b[thread + 16];
    const bf16 b2_3 = b[thread + 24];
    const f32 v20_0 = f32_from_bf16(b2_0);
    const f32 v20_1 = f32_from_bf16(b2_1);
    const f32 v20_2 = f32_from_bf16(b2_2);
    const f32 v20_3 = f32_from_bf16(b2_3);
    const f32 v21_0 = v19_0 + v20_0;
    const f32 v21_1 = v19_1 + v20_1;
    const f32 v21_2 = v19_2 + v20_2;
    const f32 v21_3 = v19_3 + v20_3;
    const bf16 v22_0 = bf16_from_f32(v21_0);
    const bf16 v22_1 = bf16_from_f32(v21_1);
    const bf16 v22_2 = bf16_from_f32(v21_2);
    const bf16 v22_3 = bf16_from_f32(v21_3);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const i64 y_at = group * y_stride0;
    y[y_at + thread] = v22_0;
    y[y_at + thread + 8] = v22_1;
    y[y_at + thread + 16] = v22_2;
    y[y_at + thread + 24] = v22_3;
    // examples/layernorm.croft:5   t = f32(x[row, :])
    const bf16 x7 = thread < 1 ? x[add_i64(mul_i64(group, x_stride0), 32) + thread] : 0;
    const f32 t6 = f32_from_bf16(x7);
    // examples/layernorm.croft:6   d = t - sum(t) / N
    const f32 d4 = t6 - v7;
    // examples/layernorm.croft:7   y[row, :] = d * rsqrt(sum(d * d) / N + eps) * w[:] + b[:]
    const f32 v23 = d4 * v16;
    const bf16 w3 = thread < 1 ? w[32 + thread] : 0;
    const f32 v24 = f32_from_bf16(w3);
    const f32 v25 = v23 * v24;
    const bf16 b3 = thread < 1 ? b[32 + thread] : 0;
    const f32 v26 = f32_from_bf16(b3);
    const f32 v27 = v25 + v26;
    const bf16 v28 = bf16_from_f32(v27);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (thread < 1) y[add_i64(mul_i64(group, y_stride0), 32) + thread] = v28;
}

/* plan 67b74d669dcedd1b */
