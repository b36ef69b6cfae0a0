/* Plans of one kernel against the first of them on this processor.
 *
 *     bench_cpu_plans KERNEL.croft A.plan B.plan C.plan .. -- x=1024x4096:f32 y=1024x4096:f32
 *                     [--rounds 9] [--threads 1] [--least 0.003]
 *
 * Each plan runs in turn with the first one, A B B A, and has a line: the median times, and the
 * ratio of B's time to A's in one round, its median with the least and the greatest; below 1 B is
 * faster. The first plan's line is of A against itself: what the machine's noise does. What all
 * store must agree with what A stores. A plan that is not compiled says why and ends nothing.
 */
#include "measure.h"
#include "plan_arrays.h"
#include "runtime/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_PLANS = 256,
    MOST_ROUNDS = 64,
    MOST_WORDS = 96,
    MOST_HANDED_ON = 8,
    KERNEL_BYTES = 1 << 16
};

typedef struct plan_arm {
    char text[BENCH_PLAN_BYTES];
    compile_result compiled;
    runtime_device *device;
    runtime_module *module;
    runtime_launch launch;
    int64_t words[MOST_WORDS];
    void *pointers[BENCH_MOST_TENSORS + MOST_HANDED_ON + 1];
    void **handed_on; /* among them: those that the launches hand on; NULL: there are none */
    runtime_entry behind[MOST_HANDED_ON]; /* of the launches behind the first */
} plan_arm;

typedef struct cpu_bench {
    const char *kernel;
    const char *plans[MOST_PLANS];
    int plan_count;
    bench_arrays arrays;
    unsigned char *memory[2][BENCH_MOST_TENSORS]; /* of A, and of who runs against it */
    int rounds, threads;
    double least_s;
} cpu_bench;

static bool read_kernel(const char *path, base_source *source) {
    static char text[KERNEL_BYTES];
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    *source = (base_source){path, text, fread(text, 1, sizeof text, file)};
    fclose(file);
    return true;
}

static bool make_memory(cpu_bench *bench) {
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < bench->arrays.tensors; i++) {
            size_t size = ((size_t)bench->arrays.bytes[i] + 63) / 64 * 64;
            bench->memory[side][i] = aligned_alloc(64, size > 0 ? size : 64);
            if (bench->memory[side][i] == NULL)
                return false;
            bench_arrays_fill(bench->arrays.dtype[i], bench->memory[side][i],
                              bench->arrays.bytes[i]);
        }
    }
    return true;
}

static bool compile(plan_arm *arm, const cpu_bench *bench, const base_source *source,
                    const char *path) {
    base_source plan;
    if (!bench_plan_read(path, arm->text, &plan)) {
        printf("%s: cannot be read\n", path);
        return false;
    }
    compile_request request = {.source = source,
                               .arguments = bench->arrays.arguments,
                               .argument_count = bench->arrays.count,
                               .machine = machine_host(),
                               .plan = &plan,
                               .stage = COMPILE_TO_SOURCE};
    compile_run(&request, &arm->compiled);
    if (arm->compiled.status == COMPILE_OK)
        return true;
    base_text rendered;
    base_text_init(&rendered, &arm->compiled.arena);
    base_diagnostics_render(&rendered, &arm->compiled.diagnostics);
    printf("%s: %s\n", path, rendered.bytes);
    return false;
}

/* Memory of what the launches of a plan hand on. */
static bool hand_on(plan_arm *arm, int tensors) {
    int64_t bytes = 0;
    if (arm->compiled.launch_count > MOST_HANDED_ON)
        return false;
    for (int i = 0; (bytes = bench_handed_on(&arm->compiled, i)) >= 0; i++) {
        if (i == MOST_HANDED_ON)
            return false;
        arm->pointers[tensors + i] = aligned_alloc(64, ((size_t)bytes + 64) / 64 * 64);
        if (arm->pointers[tensors + i] == NULL)
            return false;
        arm->handed_on = &arm->pointers[tensors];
    }
    return true;
}

/* One byte of the first array a nanosecond: the team is woken for arrays of 8000 bytes or more. */
static double predicted_ns(const bench_arrays *arrays) {
    return arrays->tensors > 0 ? (double)arrays->bytes[0] : 0;
}

/* False: why is printed. To be closed in either case. */
static bool open_arm(plan_arm *arm, const cpu_bench *bench, runtime_device *device,
                     const base_source *source, const char *path, int side) {
    memset(arm, 0, sizeof *arm);
    arm->device = device;
    if (!compile(arm, bench, source, path))
        return false;
    machine_flags flags;
    machine_flags_split(machine_host(), &flags);
    runtime_artifact artifact = {.text = arm->compiled.source_text,
                                 .length = strlen(arm->compiled.source_text),
                                 .entry = arm->compiled.entry,
                                 .flags = flags.list,
                                 .behind = arm->behind,
                                 .behind_count = arm->compiled.launch_count - 1};
    for (int i = 1; i < arm->compiled.launch_count && i <= MOST_HANDED_ON; i++)
        arm->behind[i - 1].name = arm->compiled.launches[i].entry;
    static runtime_report report;
    if (device->vtable->load(device, &artifact, &arm->module, &report) != RUNTIME_OK) {
        printf("%s: %s\n", path, report.text);
        return false;
    }
    int tensors = 0;
    bench_words_pack(&arm->compiled, arm->words, &tensors);
    for (int i = 0; i < tensors; i++)
        arm->pointers[i] = bench->memory[side][i];
    if (!hand_on(arm, tensors)) {
        printf("%s: more launches than are timed here\n", path);
        return false;
    }
    arm->launch = (runtime_launch){
        .pointers = arm->pointers, .words = arm->words, .work_ns = predicted_ns(&bench->arrays)};
    return true;
}

static void close_arm(plan_arm *arm) {
    for (int i = 0; arm->handed_on != NULL && i < MOST_HANDED_ON && arm->handed_on[i] != NULL; i++)
        free(arm->handed_on[i]);
    if (arm->module != NULL)
        arm->device->vtable->unload(arm->device, arm->module);
    compile_free(&arm->compiled);
}

static void run_arm(void *state) {
    const plan_arm *arm = state;
    static runtime_report report;
    if (arm->device->vtable->launch(arm->device, arm->module, &arm->launch, &report) == RUNTIME_OK)
        return;
    fprintf(stderr, "launch failed: %s\n", report.text);
    exit(4);
}

/* The line of a plan. False: it stores something else than A. */
static bool report(const cpu_bench *bench, plan_arm *a, plan_arm *b, const char *path) {
    bench_pair pair = bench_compare(run_arm, b, run_arm, a, bench->rounds, bench->least_s);
    unsigned char *const *sides[2] = {bench->memory[0], bench->memory[1]};
    bool agrees = bench_arrays_agree(&bench->arrays, sides);
    printf("%s: A %.3f us, B %.3f us, ratio %.4f [%.4f, %.4f]%s\n", path, pair.b_s * 1e6,
           pair.a_s * 1e6, 1 / pair.ratio, 1 / pair.greatest, 1 / pair.least,
           agrees ? "" : " DISAGREES");
    fflush(stdout);
    return agrees;
}

static int run(cpu_bench *bench) {
    static plan_arm first, other;
    base_source source;
    runtime_cpu_config config = {.team = {.threads = bench->threads}};
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    bool ready = device != NULL && read_kernel(bench->kernel, &source) && make_memory(bench);
    bool good = ready && open_arm(&first, bench, device, &source, bench->plans[0], 0);
    for (int i = 0; i < bench->plan_count && good; i++) {
        if (open_arm(&other, bench, device, &source, bench->plans[i], 1))
            good = report(bench, &first, &other, bench->plans[i]);
        close_arm(&other);
    }
    if (ready)
        close_arm(&first);
    if (device != NULL)
        device->vtable->destroy(device);
    return good ? 0 : 1;
}

/* False: the words are not those of the head comment. */
static bool read_words(cpu_bench *bench, int count, char **words) {
    bool good = count > 3, arrays = false;
    bench->kernel = count > 1 ? words[1] : NULL;
    for (int i = 2; i < count && good; i++) {
        bool more = i + 1 < count;
        if (strcmp(words[i], "--") == 0)
            arrays = true;
        else if (strcmp(words[i], "--rounds") == 0 && more)
            bench->rounds = atoi(words[++i]);
        else if (strcmp(words[i], "--threads") == 0 && more)
            bench->threads = atoi(words[++i]);
        else if (strcmp(words[i], "--least") == 0 && more)
            bench->least_s = atof(words[++i]);
        else if (arrays)
            good = bench_arrays_read(&bench->arrays, words[i]);
        else if ((good = bench->plan_count < MOST_PLANS))
            bench->plans[bench->plan_count++] = words[i];
    }
    return good && bench->plan_count > 0 && bench->rounds >= 1 && bench->rounds <= MOST_ROUNDS;
}

int main(int count, char **words) {
    static cpu_bench bench = {.rounds = 9, .threads = 1, .least_s = 0.003};
    if (read_words(&bench, count, words))
        return run(&bench);
    fputs("usage: bench_cpu_plans KERNEL.croft PLAN .. -- NAME=SHAPE:TYPE .. [--rounds N] "
          "[--threads N] [--least SECONDS]\n",
          stderr);
    return 2;
}
