/* Kernel transpose8 for m1, 64 lanes in groups of 64. Includes the language's own header; groups
 * of the grid are independent. Compile without fast arithmetic (-fno-fast-math, mathMode safe). */

#include <metal_stdlib>

#pragma METAL fp math_mode(safe)
#pragma METAL fp contract(off)

using namespace metal;

typedef float f32;
typedef long i64;
typedef int i32;

struct croft_words {
    i64 words[7];
    i64 first;
};

[[max_total_threads_per_threadgroup(64)]]
kernel void croft_transpose8(device const f32 *source [[buffer(0)]], device f32 *dest [[buffer(1)]], device uchar *workspace [[buffer(2)]], constant struct croft_words &arguments [[buffer(3)]], threadgroup uint4 *shared [[threadgroup(0)]], uint simd_number [[simdgroup_index_in_threadgroup]], uint simd_place [[thread_index_in_simdgroup]], uint group_number [[threadgroup_position_in_grid]]) {
    const i64 source_stride0 = arguments.words[1];
    const i64 source_stride1 = arguments.words[2];
    const i64 dest_stride0 = arguments.words[4];
    const i64 dest_stride1 = arguments.words[5];
    const i32 worker = (i32)((simd_number * 32 + simd_place) & 63);
    const i32 lane = worker & 31;
    const i32 subgroup = worker >> 5;
    const i32 at = (lane >> 3) + subgroup * 4;
    const i32 at2 = (lane & 7);
    const i32 at3 = subgroup * 36;
    const i32 at4 = (lane & 3) * 8 + (lane >> 2 & 1) * 36 + (lane >> 3);
    const i32 at5 = subgroup * 4;
    threadgroup uchar *const scratch = (threadgroup uchar *)shared;
    threadgroup f32 *const cells = (threadgroup f32 *)(scratch + 0);
    const i64 group = arguments.first + group_number;
    // examples/transpose8.croft:6   v = convert(source[b, i // 8, i % 8], L)
    const f32 source2 = source[group * source_stride0 + at * source_stride1 + at2];
    const i64 v = lane;
    const i64 v2 = at3;
    const i64 v3 = v ^ v2;
    const i64 v4 = at4;
    const i64 v5 = at5;
    const i64 v6 = v4 ^ v5;
    cells[v3] = source2;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const f32 v7 = cells[v6];
    // examples/transpose8.croft:8   dest[b, o % 8, o // 8] = v
    dest[group * dest_stride0 + at * dest_stride1 + at2] = v7;
}

/* plan b8c218e67da56626 */
