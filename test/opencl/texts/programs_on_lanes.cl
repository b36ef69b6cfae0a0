/* Kernel sum for opencl, 32 lanes in groups of 32. Includes nothing; groups of the
 * grid are independent. Compile with -cl-std=CL1.2
 * -cl-fp32-correctly-rounded-divide-sqrt. */

#pragma OPENCL FP_CONTRACT OFF

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

__kernel __attribute__((reqd_work_group_size(32, 1, 1))) void
croft_sum(__global const f32 *x, __global f32 *y, __global uchar *workspace, const struct croft_words arguments) {
    const i64 R = arguments.words[0];
    const i64 N = arguments.words[1];
    const i64 x_stride0 = arguments.words[2];
    const i32 thread = (i32)(get_local_id(0) & 31);
    const i64 group = arguments.first + get_group_id(0);
    // examples/sum.croft:3   program row: R
    const i64 v = thread;
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

/* plan f5bced8fc26fc469 */
