/* Batched transposes on a CUDA device: owners changed by conversion against scattered stores.
 *
 *     bench_transposes [--rounds 31] [--launches 20] [--json FILE]
 *
 * For each element type, tile and number of batches, and for each number of slots with whole
 * subgroups: contiguous loads, a conversion to the owners of contiguous stores, those stores; the
 * baseline stores from the loading threads, one element each. Both are captured as graphs of as
 * many launches and replayed in turn, A B B A; a ratio is the baseline's time over the other's in
 * one round, so above 1 the conversion is faster. All layouts are timed and shown; the verdict of a
 * case is over the best of them, timed again. Outputs are compared bit by bit, zeros with signs.
 */
#include "gpu_kernel.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64, MOST_SLOTS = 32 };

typedef struct bench_settings {
    int rounds, launches;
    FILE *json;
} bench_settings;

typedef struct transposition {
    gpu_system *gpu;
    base_dtype dtype;
    int64_t batches, p, q;
    int64_t bytes; /* of either array */
    void *source, *dest;
    unsigned char *host, *expected, *got;
} transposition;

typedef struct bench_side {
    gpu_kernel kernel;
    gpu_graph graph;
    char loads[96], stores[96]; /* layouts; scattered: none for the stores */
    bool ok;
} bench_side;

/* ---- layouts ---- */
static int log2_of(int64_t power) {
    int bits = 0;
    while (power >> (bits + 1) != 0)
        bits++;
    return bits;
}

/* Bits of the tile's index, least first, as positions: `where[l]` of index bit l. */
static void print_bits(char *out, size_t room, const int *where, int bits, int slots) {
    int length = snprintf(out, room, "bits(");
    for (int l = 0; l < bits; l++)
        length +=
            snprintf(out + length, room - (size_t)length, "%s%d", l == 0 ? "" : ", ", where[l]);
    snprintf(out + length, room - (size_t)length, ", slots=%d)", slots);
}

/* Neighbours of the source, or of the destination, in the slots of a thread. */
static void make_layouts(const transposition *problem, int slots, bench_side *arm) {
    int bits = log2_of(problem->p * problem->q), q_bits = log2_of(problem->q);
    int p_bits = bits - q_bits, slot_bits = log2_of(slots), threads = bits - slot_bits;
    int loads[16], stores[16];
    for (int l = 0; l < bits; l++) {
        int d = l >= q_bits ? l - q_bits : l + p_bits; /* the bit's place in the destination */
        loads[l] = l < slot_bits ? threads + l : l - slot_bits;
        stores[l] = d < slot_bits ? threads + d : d - slot_bits;
    }
    print_bits(arm->loads, sizeof arm->loads, loads, bits, slots);
    print_bits(arm->stores, sizeof arm->stores, stores, bits, slots);
}

/* ---- arms ---- */
static bool open_arm(transposition *problem, bench_side *arm, const char *folder, bool scattered,
                     int launches) {
    text_argument arguments[] = {
        {.name = "source",
         .kind = TEXT_ARGUMENT_TENSOR,
         .dtype = problem->dtype,
         .rank = 3,
         .extent = {problem->batches, problem->p, problem->q}},
        {.name = "dest",
         .kind = TEXT_ARGUMENT_TENSOR,
         .dtype = problem->dtype,
         .rank = 3,
         .extent = {problem->batches, problem->q, problem->p}},
        {.name = "S", .kind = TEXT_ARGUMENT_LAYOUT, .layout = arm->loads},
        {.name = "L", .kind = TEXT_ARGUMENT_LAYOUT, .layout = arm->stores},
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/transpose.croft", folder);
    if (!gpu_kernel_open(&arm->kernel, problem->gpu, path, scattered ? "scatter" : "transpose",
                         arguments, scattered ? 3 : 4, stderr))
        return false;
    arm->kernel.pointers[0] = problem->source;
    arm->kernel.pointers[1] = problem->dest;
    arm->graph = gpu_capture(problem->gpu, &arm->kernel, launches);
    return arm->graph.executable != NULL;
}

static bool is_right(transposition *problem, bench_side *arm) {
    static runtime_report report;
    runtime_device *device = problem->gpu->device;
    memset(problem->got, 0xff, (size_t)problem->bytes);
    return device->vtable->copy_in(device, problem->dest, problem->got, problem->bytes, &report) ==
               RUNTIME_OK &&
           gpu_replay(problem->gpu, &arm->graph) >= 0 &&
           device->vtable->copy_out(device, problem->got, problem->dest, problem->bytes, &report) ==
               RUNTIME_OK &&
           memcmp(problem->got, problem->expected, (size_t)problem->bytes) == 0;
}

typedef struct paired {
    double a_s, b_s, ratio, least, greatest; /* ratio: a / b */
    double samples[MOST_ROUNDS];
} paired;

static paired compare(transposition *problem, bench_side *a, bench_side *b,
                      const bench_settings *options) {
    paired result = {0};
    double a_s[MOST_ROUNDS], b_s[MOST_ROUNDS], sorted[MOST_ROUNDS];
    for (int warm = 0; warm < 3; warm++) {
        gpu_replay(problem->gpu, &a->graph);
        gpu_replay(problem->gpu, &b->graph);
    }
    for (int i = 0; i < options->rounds; i++) {
        double first = gpu_replay(problem->gpu, &a->graph);
        b_s[i] = gpu_replay(problem->gpu, &b->graph);
        b_s[i] += gpu_replay(problem->gpu, &b->graph);
        a_s[i] = first + gpu_replay(problem->gpu, &a->graph);
        result.samples[i] = sorted[i] = a_s[i] / b_s[i];
    }
    result.ratio = bench_median(sorted, options->rounds);
    result.least = sorted[0];
    result.greatest = sorted[options->rounds - 1];
    result.a_s = bench_median(a_s, options->rounds) / 2 / options->launches;
    result.b_s = bench_median(b_s, options->rounds) / 2 / options->launches;
    return result;
}

/* ---- one case ---- */
static void fill(transposition *problem) {
    int64_t size = base_dtype_size(problem->dtype), count = problem->bytes / size;
    uint32_t state = 12345;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        uint32_t word = i % 7 == 0 ? 0x80000000u : (state >> 9 | 0x3f800000u); /* -0.0; 1 to 2 */
        uint16_t half = (uint16_t)(i % 7 == 0 ? 0x8000u : 0x3c00u | state >> 22);
        memcpy(problem->host + i * size, size == 4 ? (void *)&word : (void *)&half, (size_t)size);
        int64_t tile = problem->p * problem->q, at = i % tile;
        int64_t to = i / tile * tile + at % problem->q * problem->p + at / problem->q;
        memcpy(problem->expected + to * size, problem->host + i * size, (size_t)size);
    }
}

static void write_samples(const bench_settings *options, const transposition *problem,
                          const bench_side *arm, const paired *result, bool final) {
    if (options->json == NULL)
        return;
    fprintf(options->json,
            "{\"dtype\": \"%s\", \"p\": %d, \"q\": %d, \"batches\": %d, \"loads\": \"%s\", "
            "\"stores\": \"%s\", \"final\": %s, \"scatter_s\": %.3e, \"convert_s\": %.3e, "
            "\"ratio\": %.4f, \"samples\": [",
            base_dtype_name(problem->dtype), (int)problem->p, (int)problem->q,
            (int)problem->batches, arm->loads, arm->stores, final ? "true" : "false", result->a_s,
            result->b_s, result->ratio);
    for (int i = 0; i < options->rounds; i++)
        fprintf(options->json, "%s%.4f", i == 0 ? "" : ", ", result->samples[i]);
    fprintf(options->json, "]}\n");
}

static double gate_of(const transposition *problem) {
    bool wide = problem->dtype == BASE_F16 && problem->q == 16;
    return problem->batches < 16384 ? 0.97 : wide ? 1.10 : 0.98;
}

static int run_arms(transposition *problem, const char *folder, const bench_settings *options) {
    bench_side scatter = {.ok = false}, arms[8];
    int count = 0, best = -1;
    double best_ratio = 0;
    int64_t elements = problem->p * problem->q;
    snprintf(scatter.loads, sizeof scatter.loads, "identity(%d)", (int)elements);
    if (!open_arm(problem, &scatter, folder, true, options->launches) ||
        !is_right(problem, &scatter))
        return fprintf(stderr, "the baseline fails\n"), 1;
    for (int slots = 1; elements / slots >= 32 && slots <= MOST_SLOTS; slots *= 2) {
        bench_side *arm = &arms[count];
        make_layouts(problem, slots, arm);
        if (!open_arm(problem, arm, folder, false, options->launches) || !is_right(problem, arm))
            return fprintf(stderr, "%s -> %s is wrong\n", arm->loads, arm->stores), 1;
        paired result = compare(problem, &scatter, arm, options);
        write_samples(options, problem, arm, &result, false);
        printf("    %2d slots  %.3f [%.3f, %.3f]  %s  %s\n", slots, result.ratio, result.least,
               result.greatest, arm->loads, arm->stores);
        best = result.ratio > best_ratio ? count : best;
        best_ratio = result.ratio > best_ratio ? result.ratio : best_ratio;
        count++;
    }
    paired result = compare(problem, &scatter, &arms[best], options);
    write_samples(options, problem, &arms[best], &result, true);
    double gate = gate_of(problem);
    printf("%-4s %2dx%-2d %6d  scatter %7.2f us  convert %7.2f us  ratio %.3f [%.3f, %.3f]  gate "
           "%.2f %s\n",
           base_dtype_name(problem->dtype), (int)problem->p, (int)problem->q, (int)problem->batches,
           result.a_s * 1e6, result.b_s * 1e6, result.ratio, result.least, result.greatest, gate,
           result.ratio >= gate ? "met" : "MISSED");
    gpu_kernel_close(&scatter.kernel, problem->gpu);
    for (int i = 0; i < count; i++)
        gpu_kernel_close(&arms[i].kernel, problem->gpu);
    return result.ratio < gate;
}

static int run_case(transposition problem, const char *folder, const bench_settings *options) {
    static runtime_report report;
    runtime_device *device = problem.gpu->device;
    problem.bytes = problem.batches * problem.p * problem.q * base_dtype_size(problem.dtype);
    problem.host = malloc((size_t)problem.bytes);
    problem.expected = malloc((size_t)problem.bytes);
    problem.got = malloc((size_t)problem.bytes);
    int missed = 1;
    if (problem.host != NULL && problem.expected != NULL && problem.got != NULL) {
        fill(&problem);
        if (device->vtable->allocate(device, problem.bytes, &problem.source, &report) ==
                RUNTIME_OK &&
            device->vtable->allocate(device, problem.bytes, &problem.dest, &report) == RUNTIME_OK &&
            device->vtable->copy_in(device, problem.source, problem.host, problem.bytes, &report) ==
                RUNTIME_OK)
            missed = run_arms(&problem, folder, options);
    }
    device->vtable->release(device, problem.source);
    device->vtable->release(device, problem.dest);
    free(problem.host);
    free(problem.expected);
    free(problem.got);
    return missed;
}

int main(int count, char **words) {
    bench_settings options = {.rounds = 31, .launches = 20};
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(words[i], "--rounds") == 0)
            options.rounds = atoi(words[i + 1]);
        else if (strcmp(words[i], "--launches") == 0)
            options.launches = atoi(words[i + 1]);
        else if (strcmp(words[i], "--json") == 0)
            options.json = fopen(words[i + 1], "w");
    }
    if (options.rounds < 1 || options.rounds > MOST_ROUNDS || options.launches < 1)
        return 2;
    static gpu_system device;
    if (!gpu_open(&device, stderr))
        return 4;
    static const int64_t tiles[][2] = {{4, 8}, {8, 8}, {8, 16}, {16, 16}};
    static const base_dtype dtypes[] = {BASE_F16, BASE_F32};
    int missed = 0;
    for (int d = 0; d < 2; d++)
        for (int t = 0; t < 4; t++)
            for (int64_t batches = 1024; batches <= 16384; batches *= 16)
                missed += run_case((transposition){.gpu = &device,
                                                   .dtype = dtypes[d],
                                                   .batches = batches,
                                                   .p = tiles[t][0],
                                                   .q = tiles[t][1]},
                                   CROFT_BENCH_KERNELS, &options);
    printf("%s: %d gates missed\n", device.facts->name, missed);
    if (options.json != NULL)
        fclose(options.json);
    gpu_close(&device);
    return missed > 0;
}
