/* Two plans of one kernel against each other on a CUDA device.
 *
 *     bench_plans KERNEL.croft A.plan B.plan x=65536x1001:f32 y=65536x1001:f32 [T=f32]
 *                 [--rounds 31] [--launches 5]
 *
 * Arguments are those of plan_arrays.h. Both plans run in turn, A B B A, as graphs of as many
 * launches; the ratio is A's time over B's in one round: above 1 B is faster. What both store must
 * agree.
 */
#include "gpu_kernel.h"
#include "measure.h"
#include "plan_arrays.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64 };

typedef struct plans_bench {
    gpu_system gpu;
    bench_arrays arrays;
    void *memory[GPU_TENSORS];
    unsigned char *host[2][GPU_TENSORS];
    int rounds, launches;
} plans_bench;

/* ---- memory ---- */
static bool make_memory(plans_bench *bench) {
    static runtime_report report;
    runtime_device *device = bench->gpu.device;
    for (int i = 0; i < bench->arrays.tensors; i++) {
        for (int side = 0; side < 2; side++)
            if ((bench->host[side][i] = malloc((size_t)bench->arrays.bytes[i])) == NULL)
                return false;
        bench_arrays_fill(bench->arrays.dtype[i], bench->host[0][i], bench->arrays.bytes[i]);
        if (device->vtable->allocate(device, bench->arrays.bytes[i], &bench->memory[i], &report) !=
                RUNTIME_OK ||
            device->vtable->copy_in(device, bench->memory[i], bench->host[0][i],
                                    bench->arrays.bytes[i], &report) != RUNTIME_OK)
            return false;
    }
    return true;
}

static bool copy_out(plans_bench *bench, int side) {
    static runtime_report report;
    runtime_device *device = bench->gpu.device;
    for (int i = 0; i < bench->arrays.tensors; i++)
        if (device->vtable->copy_out(device, bench->host[side][i], bench->memory[i],
                                     bench->arrays.bytes[i], &report) != RUNTIME_OK)
            return false;
    return true;
}

/* ---- times ---- */
static void compare(plans_bench *bench, const gpu_graph *a, const gpu_graph *b) {
    double ratios[MOST_ROUNDS], a_s[MOST_ROUNDS], b_s[MOST_ROUNDS];
    for (int i = 0; i < bench->rounds; i++) {
        double first = gpu_replay(&bench->gpu, a);
        b_s[i] = gpu_replay(&bench->gpu, b);
        b_s[i] += gpu_replay(&bench->gpu, b);
        a_s[i] = first + gpu_replay(&bench->gpu, a);
        ratios[i] = a_s[i] / b_s[i];
    }
    double ratio = bench_median(ratios, bench->rounds);
    double bytes = 0;
    for (int i = 0; i < bench->arrays.tensors; i++)
        bytes += (double)bench->arrays.bytes[i];
    double a_us = bench_median(a_s, bench->rounds) / 2 / bench->launches * 1e6;
    double b_us = bench_median(b_s, bench->rounds) / 2 / bench->launches * 1e6;
    printf("A %9.2f us %7.1f GB/s   B %9.2f us %7.1f GB/s   ratio %.3f [%.3f, %.3f]\n", a_us,
           bytes / a_us / 1e3, b_us, bytes / b_us / 1e3, ratio, ratios[0],
           ratios[bench->rounds - 1]);
}

static int run(plans_bench *bench, const char *path, const char *const plans[2]) {
    static gpu_kernel kernels[2];
    static char texts[2][BENCH_PLAN_BYTES];
    gpu_graph graphs[2];
    for (int side = 0; side < 2; side++) {
        base_source plan;
        if (!bench_plan_read(plans[side], texts[side], &plan) ||
            !gpu_kernel_open(&kernels[side], &bench->gpu, path, NULL, &plan,
                             bench->arrays.arguments, bench->arrays.count, stderr))
            return 3;
        for (int i = 0; i < bench->arrays.tensors; i++)
            kernels[side].pointers[i] = bench->memory[i];
        graphs[side] = gpu_capture(&bench->gpu, &kernels[side], bench->launches);
        if (graphs[side].executable == NULL || gpu_replay(&bench->gpu, &graphs[side]) < 0 ||
            !copy_out(bench, side))
            return 4;
    }
    unsigned char *const *sides[2] = {bench->host[0], bench->host[1]};
    if (!bench_arrays_agree(&bench->arrays, sides)) {
        printf("the plans do not agree\n");
        return 1;
    }
    compare(bench, &graphs[0], &graphs[1]);
    for (int side = 0; side < 2; side++)
        gpu_kernel_close(&kernels[side], &bench->gpu);
    return 0;
}

int main(int count, char **words) {
    static plans_bench bench = {.rounds = 31, .launches = 5};
    bool good = count > 4;
    for (int i = 4; i < count && good; i++) {
        if (strcmp(words[i], "--rounds") == 0 && i + 1 < count)
            bench.rounds = atoi(words[++i]);
        else if (strcmp(words[i], "--launches") == 0 && i + 1 < count)
            bench.launches = atoi(words[++i]);
        else
            good = bench_arrays_read(&bench.arrays, words[i]);
    }
    if (!good || bench.rounds < 1 || bench.rounds > MOST_ROUNDS || bench.launches < 1)
        return 2;
    if (!gpu_open(&bench.gpu, stderr) || !make_memory(&bench))
        return 4;
    const char *const plans[] = {words[2], words[3]};
    int code = run(&bench, words[1], plans);
    gpu_close(&bench.gpu);
    return code;
}
