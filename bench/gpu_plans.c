/* Two plans of one kernel against each other on a CUDA device.
 *
 *     bench_plans KERNEL.croft A.plan B.plan x=65536x1001:f32 y=65536x1001:f32 [T=f32]
 *                 [--rounds 31] [--launches 5]
 *
 * All tensors are given in the order of the kernel, with extents and type; they hold numbers from 1
 * to 2 (integers: the same bits). The kernel has no scalar parameters. Both plans run in turn, A B
 * B A, as graphs of as many launches; the ratio is A's time over B's in one round: above 1 B is
 * faster. What both store must agree within 2 percent of the largest number, floats alone: plans
 * may sum in different orders.
 */
#include "gpu_kernel.h"
#include "measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 16, MOST_ROUNDS = 64, PLAN_BYTES = 1 << 16 };

typedef struct plans_bench {
    gpu_system gpu;
    text_argument arguments[MOST_ARGUMENTS];
    int count, tensors;
    int64_t bytes[GPU_TENSORS];
    base_dtype dtype[GPU_TENSORS];
    void *memory[GPU_TENSORS];
    unsigned char *host[2][GPU_TENSORS];
    int rounds, launches;
} plans_bench;

/* ---- arguments ---- */
/* `4x8:f32` */
static bool read_tensor(const char *text, text_argument *argument) {
    char *end = NULL;
    for (;; text = end + 1) {
        if (argument->rank == LAYOUT_MAX_RANK)
            return false;
        argument->extent[argument->rank++] = strtoll(text, &end, 10);
        if (*end != 'x')
            break;
    }
    argument->kind = TEXT_ARGUMENT_TENSOR;
    return *end == ':' && base_dtype_from_name(end + 1, strlen(end + 1), &argument->dtype);
}

static bool read_argument(plans_bench *bench, char *word) {
    char *value = strchr(word, '=');
    if (value == NULL || bench->count == MOST_ARGUMENTS)
        return false;
    *value++ = '\0';
    text_argument *argument = &bench->arguments[bench->count++];
    *argument = (text_argument){.name = word, .kind = TEXT_ARGUMENT_DTYPE};
    if (base_dtype_from_name(value, strlen(value), &argument->dtype))
        return true;
    if (bench->tensors == GPU_TENSORS || !read_tensor(value, argument))
        return false;
    int64_t bytes = base_dtype_size(argument->dtype);
    for (int d = 0; d < argument->rank; d++)
        bytes *= argument->extent[d];
    bench->dtype[bench->tensors] = argument->dtype;
    bench->bytes[bench->tensors++] = bytes;
    return true;
}

static bool read_plan(const char *path, char *text, base_source *plan) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    *plan = (base_source){path, text, fread(text, 1, PLAN_BYTES, file)};
    fclose(file);
    return true;
}

/* ---- memory ---- */
static void fill(base_dtype dtype, unsigned char *bytes, int64_t count) {
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; i += base_dtype_size(dtype)) {
        state = state * 1664525u + 1013904223u;
        uint32_t word = state >> 9 | 0x3f800000u;
        uint16_t half = (uint16_t)(dtype == BASE_F16 ? 0x3c00u | state >> 22 : word >> 16);
        memcpy(bytes + i, base_dtype_size(dtype) == 4 ? (void *)&word : (void *)&half,
               base_dtype_size(dtype) == 4   ? 4
               : base_dtype_size(dtype) == 2 ? 2
                                             : 1);
    }
}

static bool make_memory(plans_bench *bench) {
    static runtime_report report;
    runtime_device *device = bench->gpu.device;
    for (int i = 0; i < bench->tensors; i++) {
        for (int side = 0; side < 2; side++)
            if ((bench->host[side][i] = malloc((size_t)bench->bytes[i])) == NULL)
                return false;
        fill(bench->dtype[i], bench->host[0][i], bench->bytes[i]);
        if (device->vtable->allocate(device, bench->bytes[i], &bench->memory[i], &report) !=
                RUNTIME_OK ||
            device->vtable->copy_in(device, bench->memory[i], bench->host[0][i], bench->bytes[i],
                                    &report) != RUNTIME_OK)
            return false;
    }
    return true;
}

static bool copy_out(plans_bench *bench, int side) {
    static runtime_report report;
    runtime_device *device = bench->gpu.device;
    for (int i = 0; i < bench->tensors; i++)
        if (device->vtable->copy_out(device, bench->host[side][i], bench->memory[i],
                                     bench->bytes[i], &report) != RUNTIME_OK)
            return false;
    return true;
}

static double number_at(const plans_bench *bench, int side, int tensor, int64_t at) {
    const unsigned char *bytes = bench->host[side][tensor] + at;
    float value = 0;
    uint16_t half = 0;
    if (bench->dtype[tensor] == BASE_F32) {
        memcpy(&value, bytes, sizeof value);
        return value;
    }
    memcpy(&half, bytes, sizeof half);
    return bench->dtype[tensor] == BASE_F16 ? base_f16_to_double(half) : base_bf16_to_double(half);
}

static bool agrees(const plans_bench *bench) {
    for (int i = 0; i < bench->tensors; i++) {
        double largest = 0, apart = 0;
        if (!base_dtype_is_float(bench->dtype[i]))
            continue;
        for (int64_t at = 0; at < bench->bytes[i]; at += base_dtype_size(bench->dtype[i])) {
            double a = number_at(bench, 0, i, at), b = number_at(bench, 1, i, at);
            largest = fabs(a) > largest ? fabs(a) : largest;
            apart = !(fabs(a - b) <= apart) ? fabs(a - b) : apart;
        }
        if (!(apart <= largest * 0.02))
            return false;
    }
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
    for (int i = 0; i < bench->tensors; i++)
        bytes += (double)bench->bytes[i];
    double a_us = bench_median(a_s, bench->rounds) / 2 / bench->launches * 1e6;
    double b_us = bench_median(b_s, bench->rounds) / 2 / bench->launches * 1e6;
    printf("A %9.2f us %7.1f GB/s   B %9.2f us %7.1f GB/s   ratio %.3f [%.3f, %.3f]\n", a_us,
           bytes / a_us / 1e3, b_us, bytes / b_us / 1e3, ratio, ratios[0],
           ratios[bench->rounds - 1]);
}

static int run(plans_bench *bench, const char *path, const char *const plans[2]) {
    static gpu_kernel kernels[2];
    static char texts[2][PLAN_BYTES];
    gpu_graph graphs[2];
    for (int side = 0; side < 2; side++) {
        base_source plan;
        if (!read_plan(plans[side], texts[side], &plan) ||
            !gpu_kernel_open(&kernels[side], &bench->gpu, path, NULL, &plan, bench->arguments,
                             bench->count, stderr))
            return 3;
        memcpy(kernels[side].pointers, bench->memory, sizeof bench->memory);
        graphs[side] = gpu_capture(&bench->gpu, &kernels[side], bench->launches);
        if (graphs[side].executable == NULL || gpu_replay(&bench->gpu, &graphs[side]) < 0 ||
            !copy_out(bench, side))
            return 4;
    }
    if (!agrees(bench)) {
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
            good = read_argument(&bench, words[i]);
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
