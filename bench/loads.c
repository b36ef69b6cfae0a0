/*
 * What it takes to load a program from source text: by the C compiler, and from the cache of
 * compiled programs, where it is from the second load on.
 *
 *     bench_loads
 *
 * The six row operators at 64x4096. Of loads from the cache the median is held against the gate,
 * and the greatest is shown. The cache is a folder of its own, which is removed at the end.
 */
#include "croft_kernel.h"
#include "measure.h"

#include "runtime/cpu.h"

#include <stdlib.h>

static const double GATE_S = 0.005;

enum { LOADS = 101 };

static double time_load(bench_kernel *kernel, runtime_device *device) {
    double begin = bench_now();
    if (!bench_kernel_load(kernel, device, stderr)) {
        exit(1);
    }
    return bench_now() - begin;
}

static bool time_operator(const bench_operator *row_operator, runtime_device *device) {
    bench_kernel kernel;
    bench_problem *problem = bench_problem_make(row_operator, 64, 4096);
    double times[LOADS];
    if (problem == NULL || !bench_kernel_compile(&kernel, problem, COMPILE_TO_SOURCE, stderr)) {
        exit(1);
    }
    double compiled_s = time_load(&kernel, device);
    for (int i = 0; i < LOADS; i++) {
        device->vtable->unload(device, kernel.module);
        times[i] = time_load(&kernel, device);
    }
    double median = bench_median(times, LOADS);
    bool met = median <= GATE_S;
    kernel.device = device;
    printf("  %-24s %8.1f ms %8.3f ms (%.3f)   %s\n", row_operator->name, compiled_s * 1e3,
           median * 1e3, times[LOADS - 1] * 1e3, met ? "met" : "MISSED");
    bench_kernel_close(&kernel);
    bench_problem_free(problem);
    return met;
}

int main(void) {
    char directory[] = "/tmp/croft-bench-XXXXXX", command[100];
    runtime_cache *cache = NULL;
    bool met = true;
    if (mkdtemp(directory) == NULL ||
        runtime_cache_create(base_allocator_default(),
                             &(runtime_cache_config){.directory = directory},
                             &cache) != RUNTIME_OK) {
        fprintf(stderr, "bench_loads: no folder for a cache\n");
        return 1;
    }
    runtime_cpu_config config = {.compiler.cache = cache, .team.threads = 1};
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    if (device == NULL) {
        return 1;
    }
    printf("loading from text, compiled and from the cache: median of %d loads (greatest), gate "
           "%.0f ms\n",
           LOADS, GATE_S * 1e3);
    for (int i = 0; i < BENCH_OPERATORS; i++) {
        met = time_operator(&bench_operators[i], device) && met;
    }
    device->vtable->destroy(device);
    runtime_cache_destroy(cache);
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    return system(command) != 0 || !met;
}
