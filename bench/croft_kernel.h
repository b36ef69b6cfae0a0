/*
 * An example, compiled and loaded for one problem: what a bench calls as often as it likes.
 *
 *     device = runtime_cpu_create(...)
 *     bench_kernel_open(&kernel, device, problem, stderr)
 *     bench_kernel_run(&kernel)                            problem's output is written
 *     bench_kernel_close(&kernel)
 */
#ifndef BENCH_CROFT_KERNEL_H
#define BENCH_CROFT_KERNEL_H

#include "compile/compile.h"
#include "row_operators.h"
#include "runtime/device.h"

#include <stdio.h>

enum { BENCH_WORDS = 64, BENCH_EXAMPLES = 64 };

typedef struct bench_kernel {
    char *text; /* of the kernel's file */
    base_source source;
    compile_result compiled;
    runtime_device *device;
    runtime_module *module;
    runtime_launch launch;
    void *pointers[BENCH_PARAMETERS];
    int64_t words[BENCH_WORDS];
} bench_kernel;

/* Reads a whole file; NULL when it cannot be read. The caller frees it. */
char *bench_text_read(const char *path, size_t *length);

/* The same of a file of the examples' folder; NULL when it cannot be read. The caller frees it. */
char *bench_example_read(const char *name, size_t *length);

/* The examples' names in order, without .croft; the caller frees each. How many there are. */
int bench_example_names(char *names[BENCH_EXAMPLES]);

/* Compiles the operator's example for the problem's shapes, far enough for the stage, without
 * loading it. False when that failed; the reason is printed to errors. The kernel must be closed in
 * either case. */
bool bench_kernel_compile(bench_kernel *kernel, const bench_problem *problem, compile_stage stage,
                          FILE *errors);

/* Loads what was compiled to source into the device. False as above. The module is the kernel's. */
bool bench_kernel_load(bench_kernel *kernel, runtime_device *device, FILE *errors);

/* Both, then packs its arguments. */
bool bench_kernel_open(bench_kernel *kernel, runtime_device *device, const bench_problem *problem,
                       FILE *errors);
void bench_kernel_close(bench_kernel *kernel);

/* A bench_arm; the state is an open bench_kernel. Ends the program when a launch fails. */
void bench_kernel_run(void *kernel);

#endif
