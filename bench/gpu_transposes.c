/* Batched transposes on a CUDA device: owners changed by conversion against scattered stores.
 *
 *     bench_transposes [--rounds 31] [--launches 20] [--json FILE]
 *
 * For each element type, tile and number of batches: contiguous loads, a conversion to the owners
 * of contiguous stores, those stores; against stores from the threads that loaded, one element
 * each. Both ways are timed for every number of tiles a group (and of slots a thread, where owners
 * are converted), each alone; then the fastest of either kind run in turn, A B B A, as graphs of as
 * many launches. A ratio is the scattering time over the other's in one round: above 1 the
 * conversion is faster. A tile that one subgroup holds is also loaded by the owners of its stores,
 * which leaves nothing to convert: the order of lanes inside a span of memory costs nothing. Every
 * output is compared bit by bit, zeros with their signs.
 */
#include "gpu_kernel.h"
#include "measure.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROUNDS = 64,
    MOST_SLOTS = 8,
    MOST_TILES = 64,
    MOST_THREADS = 1024,
    MOST_SIDES = 64,
    FINALISTS = 3
};

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
    bool scatters;
    int slots, tiles;           /* of a thread; of a group */
    char loads[96], stores[96]; /* layouts; that of the stores is not used when it scatters */
    double seconds;             /* of one launch, alone */
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

/* Neighbours of the source, or of the destination, in the slots of a thread; tiles of a group in
 * the threads' high bits. */
static void make_layouts(const transposition *problem, int slots, int tiles, bench_side *side) {
    int bits = log2_of(problem->p * problem->q), q_bits = log2_of(problem->q);
    int p_bits = bits - q_bits, slot_bits = log2_of(slots), tile_bits = log2_of(tiles);
    int threads = bits + tile_bits - slot_bits;
    int loads[16], stores[16];
    for (int l = 0; l < bits; l++) {
        int d = l >= q_bits ? l - q_bits : l + p_bits; /* the bit's place in the destination */
        loads[l] = l < slot_bits ? threads + l : l - slot_bits;
        stores[l] = d < slot_bits ? threads + d : d - slot_bits;
    }
    for (int l = bits; l < bits + tile_bits; l++)
        loads[l] = stores[l] = l - slot_bits;
    side->slots = slots;
    side->tiles = tiles;
    print_bits(side->loads, sizeof side->loads, loads, bits + tile_bits, slots);
    print_bits(side->stores, sizeof side->stores, stores, bits + tile_bits, slots);
}

/* ---- arms ---- */
static bool open_side(transposition *problem, bench_side *side, const char *folder, int launches) {
    text_argument layouts = {.name = "L", .kind = TEXT_ARGUMENT_LAYOUT, .layout = side->stores};
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
        {.name = "S", .kind = TEXT_ARGUMENT_LAYOUT, .layout = side->loads},
        {.name = "G",
         .kind = TEXT_ARGUMENT_NUMBER,
         .is_integer = true,
         .integer = side->tiles,
         .number = side->tiles},
        layouts,
    };
    char path[4096];
    snprintf(path, sizeof path, "%s/transpose.croft", folder);
    if (!gpu_kernel_open(&side->kernel, problem->gpu, path,
                         side->scatters ? "scatter" : "transpose", NULL, arguments,
                         side->scatters ? 4 : 5, stderr))
        return false;
    side->kernel.pointers[0] = problem->source;
    side->kernel.pointers[1] = problem->dest;
    side->graph = gpu_capture(problem->gpu, &side->kernel, launches);
    return side->graph.executable != NULL;
}

static bool is_right(transposition *problem, bench_side *side) {
    static runtime_report report;
    runtime_device *device = problem->gpu->device;
    memset(problem->got, 0xff, (size_t)problem->bytes);
    return device->vtable->copy_in(device, problem->dest, problem->got, problem->bytes, &report) ==
               RUNTIME_OK &&
           gpu_replay(problem->gpu, &side->graph) >= 0 &&
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
                          const bench_side *scatter, const bench_side *convert,
                          const paired *result) {
    if (options->json == NULL)
        return;
    fprintf(options->json,
            "{\"dtype\": \"%s\", \"p\": %d, \"q\": %d, \"batches\": %d, "
            "\"scatter_tiles\": %d, \"loads\": \"%s\", \"stores\": \"%s\", \"tiles\": %d, "
            "\"scatter_s\": %.4e, \"convert_s\": %.4e, \"ratio\": %.4f, \"samples\": [",
            base_dtype_name(problem->dtype), (int)problem->p, (int)problem->q,
            (int)problem->batches, scatter->tiles, convert->loads, convert->stores, convert->tiles,
            result->a_s, result->b_s, result->ratio);
    for (int i = 0; i < options->rounds; i++)
        fprintf(options->json, "%s%.4f", i == 0 ? "" : ", ", result->samples[i]);
    fprintf(options->json, "]}\n");
}

static double gate_of(const transposition *problem) {
    bool wide = problem->dtype == BASE_F16 && problem->q == 16;
    return problem->batches < 16384 ? 0.97 : wide ? 1.10 : 0.98;
}

static bool time_side(transposition *problem, bench_side *side, const char *folder,
                      const bench_settings *options) {
    double seconds[MOST_ROUNDS];
    if (!open_side(problem, side, folder, options->launches) || !is_right(problem, side)) {
        fprintf(stderr, "%s -> %s is wrong\n", side->loads, side->stores);
        return false;
    }
    for (int i = 0; i < options->rounds; i++)
        seconds[i] = gpu_replay(problem->gpu, &side->graph) / options->launches;
    side->seconds = bench_median(seconds, options->rounds);
    printf("    %-8s %2d slots %2d tiles  %7.2f us  %s%s%s\n",
           side->scatters ? "scatter" : "convert", side->slots, side->tiles, side->seconds * 1e6,
           side->loads, side->scatters ? "" : " -> ", side->scatters ? "" : side->stores);
    return true;
}

/* All ways of one kind, fastest first; false on failure. */
static bool time_sides(transposition *problem, bench_side *sides, int *count, bool scatters,
                       const char *folder, const bench_settings *options) {
    int64_t elements = problem->p * problem->q;
    *count = 0;
    for (int tiles = 1; tiles <= MOST_TILES; tiles *= 2)
        for (int slots = 1; slots <= (scatters ? 1 : MOST_SLOTS); slots *= 2) {
            int64_t threads = elements * tiles / slots;
            if (threads < 32 || threads > MOST_THREADS)
                continue;
            bench_side *side = &sides[(*count)++];
            side->scatters = scatters;
            make_layouts(problem, slots, tiles, side);
            if (!time_side(problem, side, folder, options))
                return false;
            if (scatters || elements > 32)
                continue;
            bench_side *gather = &sides[(*count)++];
            make_layouts(problem, slots, tiles, gather);
            memcpy(gather->loads, gather->stores, sizeof gather->loads);
            if (!time_side(problem, gather, folder, options))
                return false;
        }
    for (int i = 1; i < *count; i++)
        for (int k = i; k > 0 && sides[k].seconds < sides[k - 1].seconds; k--) {
            bench_side other = sides[k];
            sides[k] = sides[k - 1];
            sides[k - 1] = other;
        }
    return true;
}

/* Of the fastest few, the one that does best beside the other kind. */
static int find_best(transposition *problem, bench_side *sides, int count, bench_side *scatter,
                     const bench_settings *options) {
    int best = 0;
    double ratio = 0;
    for (int i = 0; i < count && i < FINALISTS; i++) {
        paired result = compare(problem, scatter, &sides[i], options);
        best = result.ratio > ratio ? i : best;
        ratio = result.ratio > ratio ? result.ratio : ratio;
    }
    return best;
}

static int run_sides(transposition *problem, const char *folder, const bench_settings *options) {
    static bench_side scatters[MOST_SIDES], sides[MOST_SIDES];
    memset(scatters, 0, sizeof scatters);
    memset(sides, 0, sizeof sides);
    int scatter_count = 0, count = 0;
    if (!time_sides(problem, scatters, &scatter_count, true, folder, options) ||
        !time_sides(problem, sides, &count, false, folder, options))
        return 1;
    int convert = find_best(problem, sides, count, &scatters[0], options);
    paired result = compare(problem, &scatters[0], &sides[convert], options);
    write_samples(options, problem, &scatters[0], &sides[convert], &result);
    double gate = gate_of(problem);
    printf("%-4s %2dx%-2d %6d  scatter %7.2f us (%d tiles)  convert %7.2f us (%d slots, %d tiles)  "
           "ratio %.3f [%.3f, %.3f]  gate %.2f %s\n",
           base_dtype_name(problem->dtype), (int)problem->p, (int)problem->q, (int)problem->batches,
           result.a_s * 1e6, scatters[0].tiles, result.b_s * 1e6, sides[convert].slots,
           sides[convert].tiles, result.ratio, result.least, result.greatest, gate,
           result.ratio >= gate ? "met" : "MISSED");
    for (int i = 0; i < scatter_count; i++)
        gpu_kernel_close(&scatters[i].kernel, problem->gpu);
    for (int i = 0; i < count; i++)
        gpu_kernel_close(&sides[i].kernel, problem->gpu);
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
            missed = run_sides(&problem, folder, options);
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
