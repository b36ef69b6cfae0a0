/* Kernel rmsnorm_register for opencl, 256 lanes in groups of 256. Includes nothing; groups of the
 * grid are independent. Compile with -cl-std=CL1.2
 * -cl-fp32-correctly-rounded-divide-sqrt. */

#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
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

struct croft_words {
    i64 words[7];
    i64 first;
};

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
croft_rmsnorm_register(__global const f32 *x, __global const f32 *w, __global f32 *y, __global uchar *workspace, const struct croft_words arguments) {
    const i64 x_stride0 = arguments.words[1];
    const i64 y_stride0 = arguments.words[4];
    const f32 eps = as_float((u32)arguments.words[6]);
    const i32 thread = (i32)(get_local_id(0) & 255);
    const i32 lane = thread & 31;
    const i32 subgroup = thread >> 5;
    __local uchar scratch[4128] __attribute__((aligned(16)));
    __local uchar *const exchange = scratch;
    __local uchar *const exchange2 = scratch + 2048;
    __local f32 *const cells = (__local f32 *)(scratch + 4096);
    const i64 group = arguments.first + get_group_id(0);
    // examples/rmsnorm_register.croft:6   t = x[row, i]
    const i64 x_at = group * x_stride0;
    const f32 t_0 = x[x_at + thread];
    const f32 t_1 = x[x_at + thread + 256];
    // examples/rmsnorm_register.croft:7   y[row, i] = t * rsqrt(sum(t * t) / N + eps) * w[i]
    const f32 v_0 = t_0 * t_0;
    const f32 v_1 = t_1 * t_1;
    const f32 v2_0 = 0.0f + v_0;
    const f32 v2_1 = 0.0f + v_1;
    const f32 sum = v2_0 + v2_1;
    // examples/rmsnorm_register.croft:5   i = arange(N, LAYOUT)
    const i64 v3 = thread;
    // examples/rmsnorm_register.croft:6   t = x[row, i]
    const f32 t2 = x[group * x_stride0 + 512 + thread];
    // examples/rmsnorm_register.croft:7   y[row, i] = t * rsqrt(sum(t * t) / N + eps) * w[i]
    const f32 v4 = t2 * t2;
    const f32 v5 = sum + v4;
    // examples/rmsnorm_register.croft:6   t = x[row, i]
    const f32 t3 = thread < 241 ? x[add_i64(mul_i64(group, x_stride0), 768) + thread] : 0.0f;
    // examples/rmsnorm_register.croft:7   y[row, i] = t * rsqrt(sum(t * t) / N + eps) * w[i]
    const f32 v6 = t3 * t3;
    const i32 v7 = (i32)v3;
    const bool v8 = v7 < 241;
    const f32 v9 = v8 ? v6 : 0.0f;
    const f32 v10 = v5 + v9;
    ((__local f32 *)exchange)[thread] = v10;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other16 = ((__local f32 *)exchange)[thread ^ 16];
    const f32 sum2_lanes16 = v10 + sum2_other16;
    ((__local f32 *)exchange2)[thread] = sum2_lanes16;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other8 = ((__local f32 *)exchange2)[thread ^ 8];
    const f32 sum2_lanes8 = sum2_lanes16 + sum2_other8;
    ((__local f32 *)exchange)[thread] = sum2_lanes8;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other4 = ((__local f32 *)exchange)[thread ^ 4];
    const f32 sum2_lanes4 = sum2_lanes8 + sum2_other4;
    ((__local f32 *)exchange2)[thread] = sum2_lanes4;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other2 = ((__local f32 *)exchange2)[thread ^ 2];
    const f32 sum2_lanes2 = sum2_lanes4 + sum2_other2;
    ((__local f32 *)exchange)[thread] = sum2_lanes2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 sum2_other1 = ((__local f32 *)exchange)[thread ^ 1];
    const f32 sum2_lanes1 = sum2_lanes2 + sum2_other1;
    const f32 sum2 = sum2_lanes1;
    if (lane < 1) cells[subgroup] = sum2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
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
    const f32 v11 = sum3;
    const f32 v12 = v11 / 1009.0f;
    const f32 v13 = v12 + eps;
    const f32 v14 = sqrt_f32(v13);
    const f32 v15 = 1.0f / v14;
    const f32 v16_0 = t_0 * v15;
    const f32 v16_1 = t_1 * v15;
    const f32 w2_0 = w[thread];
    const f32 w2_1 = w[thread + 256];
    const f32 v17_0 = v16_0 * w2_0;
    const f32 v17_1 = v16_1 * w2_1;
    const i64 y_at = group * y_stride0;
    y[y_at + thread] = v17_0;
    y[y_at + thread + 256] = v17_1;
    const f32 v18 = t2 * v15;
    const f32 w3 = w[512 + thread];
    const f32 v19 = v18 * w3;
    y[group * y_stride0 + 512 + thread] = v19;
    const f32 v20 = t3 * v15;
    const f32 w4 = thread < 241 ? w[768 + thread] : 0.0f;
    const f32 v21 = v20 * w4;
    if (thread < 241) y[add_i64(mul_i64(group, y_stride0), 768) + thread] = v21;
}

/* plan b348054c29caf9cb */
