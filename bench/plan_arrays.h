/*
 * The arguments of programs that time plans against each other, and what their arrays hold.
 *
 *     x=65536x1001:f32 y=65536x1001:f32 T=f32
 *
 * All tensors are given in the order of the kernel, with extents and type; floats are numbers from
 * 1 to 2, integers from 0 to 15. The kernels have no scalar parameters without a default.
 */
#ifndef BENCH_PLAN_ARRAYS_H
#define BENCH_PLAN_ARRAYS_H

#include "compile/compile.h"

#include <stddef.h>

enum { BENCH_MOST_ARGUMENTS = 16, BENCH_MOST_TENSORS = 8, BENCH_PLAN_BYTES = 1 << 16 };

typedef struct bench_arrays {
    text_argument arguments[BENCH_MOST_ARGUMENTS];
    int count, tensors;
    int64_t bytes[BENCH_MOST_TENSORS];
    base_dtype dtype[BENCH_MOST_TENSORS];
} bench_arrays;

/* One word of the command line, which it cuts at `=`. */
bool bench_arrays_read(bench_arrays *arrays, char *word);
void bench_arrays_fill(base_dtype dtype, unsigned char *bytes, int64_t count);
/* Floats agree within 2 percent of the largest number, integers are not compared: plans may sum in
 * different orders. `sides`: the bytes of each tensor, for two plans. */
bool bench_arrays_agree(const bench_arrays *arrays, unsigned char *const *sides[2]);
/* What a launch is given beside pointers: sizes, strides of dense tensors, scalars by default.
 * Returns how many words; *tensors: how many pointers to tensors of the kernel there are. Behind
 * those stand the tensors that its launches hand on, where it has several. */
int bench_words_pack(const compile_result *compiled, int64_t *words, int *tensors);
/* Bytes of tensor number i of those that launches hand on; -1 past the end. */
int64_t bench_handed_on(const compile_result *compiled, int i);
/* The text of a plan's file, in `room` of BENCH_PLAN_BYTES. */
bool bench_plan_read(const char *path, char *room, base_source *plan);

#endif
