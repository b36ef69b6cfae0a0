/* The device `cuda` on a real driver, where a pretended one cannot tell: what it does with memory,
 * streams, graphs, limits and errors. Programs are written by hand here.
 *
 *     gpu_device         ok NAME or not ok NAME: why, a line for each fact; exit 1 with a failure
 *     gpu_device lost    the same, of a program that writes where nothing is and loses the context
 */
#include "runtime/cuda.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARGUMENTS(pointers, words)                                                                 \
    "struct croft_arguments { void *p[" #pointers "]; long long w[" #words                         \
    "]; char *workspace; long long first; };\n"
#define KERNEL(bounds)                                                                             \
    "extern \"C\" __global__ void __launch_bounds__(" #bounds ")\n"                                \
    "croft_test(const __grid_constant__ croft_arguments a) {\n"                                    \
    "    const long long g = a.first + blockIdx.x;\n"

typedef struct test_state {
    runtime_device *device;
    const runtime_device_vtable *vtable;
    runtime_report report;
    int failures;
} test_state;

static void say(test_state *t, const char *name, bool good, const char *why) {
    t->failures += !good;
    printf(good ? "ok %s\n" : "not ok %s: %s\n", name, why);
    fflush(stdout);
}

/* ---- programs ---- */

static const char *const flags[] = {"-arch=sm_90a", NULL};

static runtime_artifact program(const char *text, int threads) {
    return (runtime_artifact){.text = text,
                              .length = strlen(text),
                              .entry = "croft_test",
                              .flags = flags,
                              .threads = threads,
                              .pointer_count = 1,
                              .word_count = 1};
}

/* The module, or NULL after a failed case. */
static runtime_module *load(test_state *t, const char *name, const runtime_artifact *artifact) {
    runtime_module *module = NULL;
    if (t->vtable->load(t->device, artifact, &module, &t->report) != RUNTIME_OK)
        say(t, name, false, t->report.text);
    return module;
}

static void refused(test_state *t, const char *name, const runtime_artifact *artifact,
                    runtime_status status, const char *text) {
    runtime_module *module = NULL;
    runtime_status got = t->vtable->load(t->device, artifact, &module, &t->report);
    say(t, name, got == status && strstr(t->report.text, text) != NULL,
        got == RUNTIME_OK ? "it was loaded" : t->report.text);
    t->vtable->unload(t->device, module);
}

/* Launches with an array of `count` numbers, first all -1, and brings it back. */
static bool run(test_state *t, runtime_module *module, const runtime_launch *launch, void *memory,
                int64_t *numbers, int64_t count) {
    memset(numbers, 0xff, (size_t)count * sizeof *numbers);
    return t->vtable->copy_in(t->device, memory, numbers, count * 8, &t->report) == RUNTIME_OK &&
           t->vtable->launch(t->device, module, launch, &t->report) == RUNTIME_OK &&
           t->vtable->copy_out(t->device, numbers, memory, count * 8, &t->report) == RUNTIME_OK;
}

/* ---- the driver, as a caller of Croft has it ---- */

typedef struct caller {
    void *library;
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_current)(void **context);
    int (*context_set)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_make)(void **executable, void *graph, unsigned long long flags);
    int (*graph_launch)(void *executable, void *stream);
} caller;

static bool caller_open(caller *c) {
    const struct {
        const char *name;
        void *slot;
    } rows[] = {{"cuDevicePrimaryCtxRetain", &c->context_retain},
                {"cuDevicePrimaryCtxRelease_v2", &c->context_release},
                {"cuCtxGetCurrent", &c->context_current},
                {"cuCtxSetCurrent", &c->context_set},
                {"cuStreamCreate", &c->stream_create},
                {"cuStreamSynchronize", &c->stream_wait},
                {"cuStreamDestroy_v2", &c->stream_destroy},
                {"cuStreamBeginCapture_v2", &c->capture_begin},
                {"cuStreamEndCapture", &c->capture_end},
                {"cuGraphInstantiateWithFlags", &c->graph_make},
                {"cuGraphLaunch", &c->graph_launch}};
    const char *path = getenv("CROFT_CUDA_DRIVER");
    c->library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && c->library != NULL; i++) {
        void *symbol = dlsym(c->library, rows[i].name);
        if (symbol == NULL)
            return false;
        memcpy(rows[i].slot, &symbol, sizeof symbol);
    }
    return c->library != NULL;
}

/* ---- cases ---- */

enum { GROUPS = 100000 };

/* Each group has 8 KiB of its own: it writes all of it, then finds its number in it. */
static const char workspace_text[] = ARGUMENTS(1, 1)
    KERNEL(256) "    long long *own = (long long *)(a.workspace + blockIdx.x * 8192ll);\n"
                "    for (int i = threadIdx.x; i < 1024; i += 256) own[i] = g * a.w[0];\n"
                "    __syncthreads();\n"
                "    long long sum = 0;\n"
                "    for (int i = 0; i < 1024; i++) sum += own[i];\n"
                "    if (threadIdx.x == 0) ((long long *)a.p[0])[g] = sum;\n"
                "}\n";

static bool sums_are_right(const int64_t *numbers, int64_t factor) {
    for (int64_t i = 0; i < GROUPS; i++)
        if (numbers[i] != 1024 * i * factor)
            return false;
    return true;
}

static void workspaces(test_state *t, const caller *c) {
    static const char cut[] = "a_cut_launch_has_its_workspaces";
    static int64_t numbers[GROUPS];
    runtime_artifact artifact = program(workspace_text, 256);
    runtime_module *module = load(t, cut, &artifact);
    void *memory = NULL, *stream = NULL, *graph = NULL, *executable = NULL;
    if (module == NULL ||
        t->vtable->allocate(t->device, sizeof numbers, &memory, &t->report) != RUNTIME_OK) {
        say(t, "memory_is_given", false, t->report.text);
        return;
    }
    int64_t word = 3;
    runtime_launch launch = {
        .pointers = &memory, .words = &word, .groups = GROUPS, .workspace_bytes = 8192};
    bool good = run(t, module, &launch, memory, numbers, GROUPS);
    say(t, cut, good && sums_are_right(numbers, 3), good ? "wrong sums" : t->report.text);

    void *context = NULL; /* the caller's calls need one; the device brings its own */
    good = c->context_retain(&context, 0) == 0 && c->context_set(context) == 0 &&
           c->stream_create(&stream, 1) == 0;
    launch.stream = stream;
    word = 5;
    good =
        good && t->vtable->launch(t->device, module, &launch, &t->report) == RUNTIME_OK &&
        c->stream_wait(stream) == 0 &&
        t->vtable->copy_out(t->device, numbers, memory, sizeof numbers, &t->report) == RUNTIME_OK;
    say(t, "a_callers_stream_is_used", good && sums_are_right(numbers, 5), t->report.text);

    word = 7;
    memset(numbers, 0, sizeof numbers);
    good = c->capture_begin(stream, 0) == 0 &&
           t->vtable->launch(t->device, module, &launch, &t->report) == RUNTIME_OK;
    good = c->capture_end(stream, &graph) == 0 && good && c->graph_make(&executable, graph, 0) == 0;
    word = 0; /* the graph has its own */
    for (int i = 0; i < 3 && good; i++)
        good = c->graph_launch(executable, stream) == 0;
    good =
        good && c->stream_wait(stream) == 0 &&
        t->vtable->copy_out(t->device, numbers, memory, sizeof numbers, &t->report) == RUNTIME_OK;
    say(t, "a_launch_is_captured_into_a_graph", good && sums_are_right(numbers, 7), t->report.text);
    c->stream_destroy(stream);
    c->context_set(NULL);
    c->context_release(0);
    t->vtable->release(t->device, memory);
    t->vtable->unload(t->device, module);
}

/* One number is written by the first thread; `text` has it as `value`. */
static void number(test_state *t, const char *name, const runtime_artifact *artifact,
                   int64_t groups, int64_t expected) {
    runtime_module *module = load(t, name, artifact);
    void *memory = NULL;
    int64_t got = 0, word = 0x3f800001;
    if (module == NULL)
        return;
    if (t->vtable->allocate(t->device, 8, &memory, &t->report) == RUNTIME_OK) {
        runtime_launch launch = {.pointers = &memory, .words = &word, .groups = groups};
        bool good = run(t, module, &launch, memory, &got, 1);
        char why[64];
        snprintf(why, sizeof why, "%lld, not %lld", (long long)got, (long long)expected);
        say(t, name, good && got == expected, good ? why : t->report.text);
    } else {
        say(t, name, false, t->report.text);
    }
    t->vtable->release(t->device, memory);
    t->vtable->unload(t->device, module);
}

static const char cluster_text[] = ARGUMENTS(1, 1)
    KERNEL(32) "    unsigned n; asm(\"mov.u32 %0, %%cluster_nctaid.x;\" : \"=r\"(n));\n"
               "    if (g == 15 && threadIdx.x == 0) ((long long *)a.p[0])[0] = n;\n"
               "}\n";

static const char large_scratch_text[] = ARGUMENTS(1, 1)
    KERNEL(256) "    extern __shared__ char scratch[];\n"
                "    for (int i = threadIdx.x; i < 200000; i += 256) scratch[i] = 1;\n"
                "    __syncthreads();\n"
                "    long long n = 0;\n"
                "    if (threadIdx.x != 0 || g != 0) return;\n"
                "    for (int i = 0; i < 200000; i++) n += scratch[i];\n"
                "    ((long long *)a.p[0])[0] = n;\n"
                "}\n";

/* (1 + 2^-23)^2 - 1 - 2^-22 is 0 when the product is rounded, 2^-46 when it is not. A subnormal
 * that is halved is kept. Both must hold: the answer is then 3. */
static const char arithmetic_text[] = ARGUMENTS(1, 1)
    KERNEL(32) "    const float x = __int_as_float((int)a.w[0]);\n"
               "    const float difference = x * x - 1.00000023841857910156f;\n"
               "    const float tiny = __int_as_float((int)a.w[0] - 0x3f800001 + 2) * 0.5f;\n"
               "    if (threadIdx.x == 0 && g == 0)\n"
               "        ((long long *)a.p[0])[0] = (difference == 0.0f) + 2 * (tiny != 0.0f);\n"
               "}\n";

static const char small_text[] =
    ARGUMENTS(1, 1) KERNEL(256) "    if (threadIdx.x == 0) ((long long *)a.p[0])[g] = a.w[0];\n"
                                "}\n";

static const char spilling_text[] = ARGUMENTS(1, 1)
    KERNEL(1024) "    float *x = (float *)a.p[0], t[200];\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < 200; i++) t[i] = x[i * 1024 + threadIdx.x];\n"
                 "    __syncthreads();\n"
                 "    #pragma unroll\n"
                 "    for (int i = 0; i < 200; i++) x[(199 - i) * 1024 + threadIdx.x + g] = t[i] * "
                 "t[199 - i];\n"
                 "}\n";

static void limits(test_state *t) {
    runtime_artifact artifact = program(small_text, 1024);
    refused(t, "more_threads_than_the_function_takes_are_refused", &artifact,
            RUNTIME_OUT_OF_RESOURCES, "required 1024, available 256");
    artifact = program(large_scratch_text, 256);
    artifact.scratch_bytes = 300000;
    refused(t, "more_scratch_than_the_device_has_is_refused", &artifact, RUNTIME_OUT_OF_RESOURCES,
            "required 300000");
    artifact.scratch_bytes = 200000;
    number(t, "scratch_past_48_kib_is_asked_for", &artifact, 3, 200000);
    artifact = program(spilling_text, 1024);
    refused(t, "spills_are_refused", &artifact, RUNTIME_COMPILE_FAILED, "the program spills");
    artifact = program(cluster_text, 32);
    artifact.cluster = 8;
    number(t, "groups_run_together", &artifact, 16, 8);
    artifact.cluster = 64;
    refused(t, "too_many_groups_together_are_refused", &artifact, RUNTIME_OUT_OF_RESOURCES,
            "required 64");
    artifact = program(arithmetic_text, 32);
    number(t, "products_round_and_subnormals_stay", &artifact, 1, 3);
    artifact = program("this is no program", 32);
    refused(t, "a_compile_error_is_told", &artifact, RUNTIME_COMPILE_FAILED,
            "NVRTC_ERROR_COMPILATION");
    static const char *const other[] = {"-arch=sm_80", NULL};
    artifact = program(small_text, 256);
    artifact.flags = other;
    refused(t, "code_for_another_architecture_is_refused", &artifact, RUNTIME_LOAD_FAILED,
            "compute capability");
    void *memory = NULL;
    runtime_status status = t->vtable->allocate(t->device, INT64_C(1) << 50, &memory, &t->report);
    say(t, "too_much_memory_is_told",
        status == RUNTIME_NO_MEMORY && strstr(t->report.text, "OUT_OF_MEMORY") != NULL,
        t->report.text);
}

static void contexts(test_state *t, const caller *c) {
    static const char name[] = "a_callers_context_is_used_and_left_alone";
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                  .nvrtc = getenv("CROFT_NVRTC")};
    void *context = NULL, *current = NULL;
    test_state own = {0};
    bool good = c->context_retain(&context, 0) == 0 && c->context_set(NULL) == 0;
    config.context = context;
    good = good && runtime_cuda_create(base_allocator_default(), &config, &own.device,
                                       &own.report) == RUNTIME_OK;
    if (good) {
        own.vtable = own.device->vtable;
        runtime_artifact artifact = program(small_text, 256);
        number(&own, "a_program_runs_in_a_callers_context", &artifact, 1, 0x3f800001);
        good = c->context_current(&current) == 0 && current == NULL;
        own.vtable->destroy(own.device);
    }
    t->failures += own.failures;
    say(t, name, good && c->context_current(&current) == 0 && current == NULL,
        own.report.text[0] != '\0' ? own.report.text : "another context is current");
    c->context_release(0);
}

/* The context is lost at the end. */
static void lost(test_state *t) {
    static const char name[] = "an_address_that_is_not_there_is_told";
    runtime_artifact artifact = program(small_text, 256);
    runtime_module *module = load(t, name, &artifact);
    void *nothing = (void *)(uintptr_t)4096, *memory = NULL;
    int64_t word = 1;
    if (module == NULL)
        return;
    runtime_launch launch = {.pointers = &nothing, .words = &word, .groups = 1};
    runtime_status status = t->vtable->launch(t->device, module, &launch, &t->report);
    say(t, name,
        status == RUNTIME_SYSTEM_FAILED && strstr(t->report.text, "ILLEGAL_ADDRESS") != NULL,
        status == RUNTIME_OK ? "the launch was fine" : t->report.text);
    status = t->vtable->allocate(t->device, 8, &memory, &t->report);
    say(t, "a_lost_context_says_so", status == RUNTIME_SYSTEM_FAILED, "memory was given");
    t->vtable->unload(t->device, module);
}

int main(int argc, char **argv) {
    static test_state t;
    caller c;
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                  .nvrtc = getenv("CROFT_NVRTC")};
    if (runtime_cuda_create(base_allocator_default(), &config, &t.device, &t.report) !=
            RUNTIME_OK ||
        !caller_open(&c)) {
        printf("not ok the_device_opens: %s\n", t.report.text);
        return 1;
    }
    t.vtable = t.device->vtable;
    if (argc > 1 && strcmp(argv[1], "lost") == 0) {
        lost(&t);
    } else {
        workspaces(&t, &c);
        limits(&t);
        contexts(&t, &c);
    }
    t.vtable->destroy(t.device);
    return t.failures > 0;
}
