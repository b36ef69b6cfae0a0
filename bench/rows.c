/*
 * The speed and memory figures of docs/performance.md, each beside its gate.
 *
 *     bench_rows [CROFT]     CROFT: the command, for its peak memory; else that part is left out
 *
 * Arms alternate in this one process (measure.h); ratios are medians with the least and greatest.
 * Ends with 1 when a gate is missed. It tunes nothing, pins nothing and hides no run.
 */
#include "croft_kernel.h"
#include "measure.h"
#include "row_operators.h"
#include "vector_softmax.h"

#include "runtime/cpu.h"

#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CROFT_EXAMPLES
#define CROFT_EXAMPLES "examples" /* seen from the root of the repository */
#endif

#ifndef CROFT_BENCH_KERNELS
#define CROFT_BENCH_KERNELS "bench/kernels"
#endif

enum { THREADS = 2, ROUNDS = 41, COMPILE_RUNS = 101 };

extern char **environ;

static int missed_gates;

static const char *verdict(bool good) {
    missed_gates += !good;
    return good ? "met" : "MISSED";
}

static void print_ratio(const char *what, bench_pair pair, double gate) {
    printf("  %-44s %8.3f ms %8.3f ms   %5.2f  [%.2f, %.2f]   gate %.2f %s\n", what, pair.a_s * 1e3,
           pair.b_s * 1e3, pair.ratio, pair.least, pair.greatest, gate,
           verdict(pair.ratio >= gate));
}

/* ---- softmax 1024x4096 against its two peers ---- */

typedef struct team_work {
    runtime_team *team;
    bench_problem *problem;
    bool wide; /* AVX-512 */
} team_work;

static void vector_rows(void *state, int64_t begin, int64_t end, int worker) {
    const team_work *work = state;
    (void)worker;
    void (*rows)(const float *restrict, float *restrict, int64_t, int64_t, int64_t) =
        work->wide ? vector_softmax_rows_512 : vector_softmax_rows_256;
    rows(work->problem->arrays[BENCH_X], work->problem->scalar_output, begin, end,
         work->problem->width);
}

static void vector_run(void *state) {
    team_work *work = state;
    runtime_team_run(work->team, work->problem->rows, 8, vector_rows, work);
}

static void copy_rows(void *state, int64_t begin, int64_t end, int worker) {
    const team_work *work = state;
    (void)worker;
    int64_t width = work->problem->width;
    const float *x = work->problem->arrays[BENCH_X];
    memcpy(work->problem->scalar_output + begin * width, x + begin * width,
           (size_t)((end - begin) * width) * sizeof(float));
}

static void copy_run(void *state) {
    team_work *work = state;
    runtime_team_run(work->team, work->problem->rows, 8, copy_rows, work);
}

/* The largest error of the peer's exponential over [-104, 0], in ulp of the result. */
static double vector_exp_error(bool wide) {
    enum { COUNT = 1 << 16 };
    static float x[COUNT], y[COUNT];
    double worst = 0.0;
    for (int block = 0; block < 64; block++) {
        for (int i = 0; i < COUNT; i++) {
            x[i] = -104.0F * ((float)(block * COUNT + i) / (64.0F * COUNT));
        }
        (wide ? vector_softmax_exponentials_512 : vector_softmax_exponentials_256)(x, y, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double exact = exp((double)x[i]);
            int exponent;
            frexp(exact, &exponent);
            double ulp = ldexp(1.0, (exponent < -125 ? -125 : exponent) - 24);
            worst = fmax(worst, fabs((double)y[i] - exact) / ulp);
        }
    }
    return worst;
}

static void bench_softmax(runtime_device *device, runtime_team *team) {
    bench_problem *problem = bench_problem_make(&bench_operators[1], 1024, 4096);
    bench_kernel kernel;
    if (problem == NULL || !bench_kernel_open(&kernel, device, problem, stdout)) {
        missed_gates++;
        return;
    }
    printf("softmax f32 1024x4096, %d threads                 Croft        peer      ratio\n",
           THREADS);
    print_ratio("against scalar_rows (one thread)",
                bench_compare(bench_kernel_run, &kernel, bench_scalar_run, problem, ROUNDS, 0.01),
                8.0);
    printf("  largest difference from it, relative          %.2g\n", bench_difference(problem));
    team_work work = {team, problem, __builtin_cpu_supports("avx512f") != 0};
    if (work.wide || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))) {
        print_ratio("against vector_softmax (same threads)",
                    bench_compare(bench_kernel_run, &kernel, vector_run, &work, ROUNDS, 0.01),
                    0.80);
        printf("  its exponential                               %.2f ulp at most, %d lanes\n",
               vector_exp_error(work.wide), work.wide ? 16 : 8);
    }
    bench_pair copy = bench_compare(bench_kernel_run, &kernel, copy_run, &work, ROUNDS, 0.01);
    double bytes = 2.0 * 4.0 * 1024.0 * 4096.0;
    printf("  rate: Croft %.1f GB/s, copy %.1f GB/s (read + write)\n", bytes / copy.a_s * 1e-9,
           bytes / copy.b_s * 1e-9);
    bench_kernel_close(&kernel);
    bench_problem_free(problem);
}

/* ---- the emitted vectors, not the compiler's ---- */

static void bench_own_vectors(runtime_device *plain, runtime_device *unvectorised) {
    printf(
        "\n64x4096: emitted C as is, and built with -fno-tree-vectorize -fno-tree-slp-vectorize\n");
    for (int i = 0; i < BENCH_OPERATORS; i++) {
        bench_problem *problem = bench_problem_make(&bench_operators[i], 64, 4096);
        bench_kernel a, b;
        bool opened = bench_kernel_open(&b, plain, problem, stdout);
        opened = bench_kernel_open(&a, unvectorised, problem, stdout) && opened;
        if (opened) {
            print_ratio(bench_operators[i].name,
                        bench_compare(bench_kernel_run, &a, bench_kernel_run, &b, ROUNDS, 0.004),
                        0.90);
        } else {
            missed_gates++;
        }
        bench_kernel_close(&a);
        bench_kernel_close(&b);
        bench_problem_free(problem);
    }
}

/* ---- text to source ---- */

/* The width N is an argument that may be anything. */
static bool has_free_width(const char *name) {
    return strcmp(name, "transpose8") != 0 && strcmp(name, "rmsnorm_register") != 0;
}

/* Median and greatest time from text to emitted source; negative when it is refused. */
static double time_compile(const char *name, double *greatest) {
    size_t length = 0;
    char *text = bench_example_read(name, &length);
    base_source source = {name, text, length};
    text_argument size = {
        .name = "N", .kind = TEXT_ARGUMENT_NUMBER, .is_integer = true, .integer = 4096};
    compile_request request = {.source = &source,
                               .arguments = &size,
                               .argument_count = has_free_width(name) ? 1 : 0,
                               .partial = true,
                               .machine = machine_host(),
                               .stage = COMPILE_TO_SOURCE};
    double times[COMPILE_RUNS];
    bool good = true;
    for (int i = 0; i < COMPILE_RUNS && good; i++) {
        compile_result result;
        double start = bench_now();
        compile_run(&request, &result);
        times[i] = bench_now() - start;
        good = result.status == COMPILE_OK;
        compile_free(&result);
    }
    free(text);
    double median = bench_median(times, good ? COMPILE_RUNS : 1);
    *greatest = times[good ? COMPILE_RUNS - 1 : 0];
    return good ? median : -1.0;
}

static void bench_compile(void) {
    printf("\ntext to emitted source, N = 4096, median of %d (greatest), gate 10 ms\n",
           COMPILE_RUNS);
    char *names[BENCH_EXAMPLES];
    int count = bench_example_names(names);
    for (int i = 0; i < count; i++) {
        double greatest;
        double median = time_compile(names[i], &greatest);
        printf("  %-24s %7.3f ms (%.3f)   %s\n", names[i], median * 1e3, greatest * 1e3,
               verdict(median >= 0.0 && median <= 0.010));
        free(names[i]);
    }
}

/* From text to thread level on sm_90, median; negative when it is refused. */
static double time_passes(const char *path, const text_argument *arguments, int count) {
    size_t length = 0;
    char *text = bench_text_read(path, &length);
    base_source source = {path, text, length};
    compile_request request = {.source = &source,
                               .arguments = arguments,
                               .argument_count = count,
                               .partial = true,
                               .machine = machine_find("sm_90"),
                               .stage = COMPILE_TO_THREAD};
    double times[COMPILE_RUNS];
    bool good = text != NULL;
    for (int i = 0; i < COMPILE_RUNS && good; i++) {
        compile_result result;
        double start = bench_processor_now();
        compile_run(&request, &result);
        times[i] = bench_processor_now() - start;
        good = result.status == COMPILE_OK;
        compile_free(&result);
    }
    free(text);
    return good ? bench_median(times, COMPILE_RUNS) : -1.0;
}

/* A row of 1024 elements in the registers of 32 lanes: reduced, and given to other owners. */
static void bench_passes(void) {
    const text_argument arguments[] = {
        {.name = "N", .kind = TEXT_ARGUMENT_NUMBER, .is_integer = true, .integer = 1024},
        {.name = "LAYOUT", .kind = TEXT_ARGUMENT_LAYOUT, .layout = "identity(1024, slots=32)"}};
    const struct {
        const char *name, *path;
        int arguments;
    } kernels[] = {{"rmsnorm_register", CROFT_EXAMPLES "/rmsnorm_register.croft", 2},
                   {"convert_row", CROFT_BENCH_KERNELS "/convert_row.croft", 1}};
    printf("\ntext to thread level for sm_90, processor time, median of %d\n", COMPILE_RUNS);
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        double median = time_passes(kernels[i].path, arguments, kernels[i].arguments);
        printf("  %-24s passes and verification, 1024 elements x 32 slots: %.2f ms, gate 10 %s\n",
               kernels[i].name, median * 1e3, verdict(median >= 0.0 && median <= 0.010));
    }
}

/* ---- peak memory of the command ---- */

static int64_t peak_kib(pid_t process) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    int64_t kib = 0;
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtoll(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

static void bench_memory(const char *command) {
    char output[] = "/tmp/croft-bench-XXXXXX";
    int descriptor = mkstemp(output);
    if (descriptor < 0) {
        return;
    }
    close(descriptor);
    char file[4200], y[64];
    snprintf(file, sizeof file, "%s/softmax.croft", CROFT_EXAMPLES);
    snprintf(y, sizeof y, "y=%s", output);
    char *words[] = {(char *)command, "run", file, "x=randn:4096x4096", y, "--no-cache", NULL};
    pid_t process;
    int status = -1;
    int64_t peak = 0;
    if (posix_spawn(&process, command, NULL, NULL, words, environ) == 0) {
        while (waitpid(process, &status, WNOHANG) == 0) {
            int64_t now = peak_kib(process);
            peak = now > peak ? now : peak;
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
    }
    unlink(output);
    double arrays = 2.0 * 4096.0 * 4096.0 * 4.0 / (1 << 20);
    printf(
        "\npeak memory of `croft run softmax` 4096x4096: %.1f MiB, arrays %.0f MiB, gate +64: %s\n",
        (double)peak / 1024.0, arrays,
        verdict(status == 0 && (double)peak / 1024.0 <= arrays + 64.0));
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    const char *const off[] = {"-fno-tree-vectorize", "-fno-tree-slp-vectorize", NULL};
    runtime_cpu_config config = {.compiler = {.path = getenv("PATH")},
                                 .team = {.threads = THREADS}};
    runtime_cpu_config without = config;
    without.compiler.extra_flags = off;
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    runtime_device *unvectorised = runtime_cpu_create(base_allocator_default(), &without);
    runtime_team *team = runtime_team_create(base_allocator_default(), &config.team);
    if (device == NULL || unvectorised == NULL || team == NULL) {
        fprintf(stderr, "out of memory\n");
        return 1;
    }
    double load = 0.0;
    getloadavg(&load, 1);
    printf("machine %s, load average %.1f%s\n", machine_host()->name, load,
           load > 0.5 ? ": others disturb this run" : "");
    bench_softmax(device, team);
    bench_own_vectors(device, unvectorised);
    bench_compile();
    bench_passes();
    if (count > 1) {
        bench_memory(words[1]);
    }
    runtime_team_destroy(team);
    unvectorised->vtable->destroy(unvectorised);
    device->vtable->destroy(device);
    printf("\n%d gates missed\n", missed_gates);
    return missed_gates > 0;
}
