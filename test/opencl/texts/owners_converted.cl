/* Kernel transpose8 for opencl, 64 lanes in groups of 64. Includes nothing; groups of the
 * grid are independent. Compile with -cl-std=CL1.2
 * -cl-fp32-correctly-rounded-divide-sqrt. */

#pragma OPENCL FP_CONTRACT OFF

typedef float f32;
typedef long i64;
typedef int i32;

struct croft_words {
    i64 words[7];
    i64 first;
};

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
croft_transpose8(__global const f32 *source, __global f32 *dest, __global uchar *workspace, const struct croft_words arguments) {
    const i64 source_stride0 = arguments.words[1];
    const i64 source_stride1 = arguments.words[2];
    const i64 dest_stride0 = arguments.words[4];
    const i64 dest_stride1 = arguments.words[5];
    const i32 thread = (i32)(get_local_id(0) & 63);
    const i32 lane = thread & 31;
    const i32 subgroup = thread >> 5;
    const i32 at = (lane >> 3) + subgroup * 4;
    const i32 at2 = (lane & 7);
    const i32 at3 = subgroup * 36;
    const i32 at4 = (lane & 3) * 8 + (lane >> 2 & 1) * 36 + (lane >> 3);
    const i32 at5 = subgroup * 4;
    __local uchar scratch[256] __attribute__((aligned(16)));
    __local f32 *const cells = (__local f32 *)(scratch + 0);
    const i64 group = arguments.first + get_group_id(0);
    // examples/transpose8.croft:6   v = convert(source[b, i // 8, i % 8], L)
    const f32 source2 = source[group * source_stride0 + at * source_stride1 + at2];
    const i64 v = lane;
    const i64 v2 = at3;
    const i64 v3 = v ^ v2;
    const i64 v4 = at4;
    const i64 v5 = at5;
    const i64 v6 = v4 ^ v5;
    cells[v3] = source2;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    const f32 v7 = cells[v6];
    // examples/transpose8.croft:8   dest[b, o % 8, o // 8] = v
    dest[group * dest_stride0 + at * dest_stride1 + at2] = v7;
}

/* plan e5b8b10a82ffc1d9 */
