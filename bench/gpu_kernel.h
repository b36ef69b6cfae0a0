/*
 * A kernel of a text, compiled and loaded for arrays in the memory of a CUDA device, and graphs of
 * its launches, timed by the device's own clock.
 *
 *     gpu_open(&gpu, stderr)
 *     gpu_kernel_open(&kernel, &gpu, path, "scatter", arguments, count, stderr)
 *     gpu_graph graph = gpu_capture(&gpu, &kernel, 20)
 *     double seconds = gpu_replay(&gpu, &graph)                    20 launches, one after another
 */
#ifndef BENCH_GPU_KERNEL_H
#define BENCH_GPU_KERNEL_H

#include "compile/compile.h"
#include "runtime/cuda.h"

#include <stdio.h>

enum { GPU_WORDS = 96, GPU_TENSORS = 8, GPU_LAUNCHES = 8 };

/* A CUDA device, and what a caller of its driver needs for graphs and times. */
typedef struct gpu_system {
    runtime_device *device;
    const runtime_cuda_facts *facts;
    void *library, *stream, *start, *stop;
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_make)(void **executable, void *graph, unsigned long long flags);
    int (*graph_launch)(void *executable, void *stream);
    int (*event_create)(void **event, unsigned flags);
    int (*event_record)(void *event, void *stream);
    int (*event_wait)(void *event);
    int (*event_time)(float *milliseconds, void *start, void *stop);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*initialise)(unsigned flags);
} gpu_system;

/* False: there is no device; why is printed. */
bool gpu_open(gpu_system *gpu, FILE *errors);
void gpu_close(gpu_system *gpu);

typedef struct gpu_kernel {
    char *text;
    base_source source;
    compile_result compiled;
    runtime_module *module;
    runtime_launch launch;
    /* of the device: the caller fills those of the kernel's tensors */
    void *pointers[GPU_TENSORS + GPU_LAUNCHES];
    void *handed_on[GPU_LAUNCHES];       /* among them, behind those: what launches hand on */
    runtime_entry entries[GPU_LAUNCHES]; /* of the launches behind the first */
    runtime_size sizes[GPU_LAUNCHES];
    int64_t words[GPU_WORDS];
} gpu_kernel;

/* Tensors are dense. `name` NULL: the only kernel; `plan` NULL: the one that is made. False: why is
 * printed. Close it in either case. */
bool gpu_kernel_open(gpu_kernel *kernel, gpu_system *gpu, const char *path, const char *name,
                     const base_source *plan, const text_argument *arguments, int count,
                     FILE *errors);
void gpu_kernel_close(gpu_kernel *kernel, gpu_system *gpu);

typedef struct gpu_graph {
    void *executable;
    int launches;
} gpu_graph;

/* NULL executable on failure. */
gpu_graph gpu_capture(gpu_system *gpu, gpu_kernel *kernel, int launches);
/* Seconds of one replay; negative on failure. */
double gpu_replay(gpu_system *gpu, const gpu_graph *graph);

#endif
