/* Functions of croft.h on a real driver: the first launch of a dispatch, and calls of a function,
 * are captured into graphs, which a pretended driver cannot run.
 *
 *     gpu_functions      ok NAME or not ok NAME: why, a line for each fact; exit 1 with a failure
 *
 * Three kernels: one without a workspace, one whose groups have one, one that hands partial results
 * from launch to launch.
 */
#include "croft.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a caller of the driver needs. */
typedef struct driver {
    void *library, *context;
    int (*initialise)(unsigned flags);
    int (*context_retain)(void **context, int device);
    int (*context_release)(int device);
    int (*context_set)(void *context);
    int (*allocate)(uint64_t *memory, size_t bytes);
    int (*release)(uint64_t memory);
    int (*copy_in)(uint64_t to, const void *from, size_t bytes);
    int (*copy_out)(void *to, uint64_t from, size_t bytes);
    int (*clear)(uint64_t memory, unsigned char byte, size_t bytes);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_destroy)(void *stream);
    int (*wait)(void);
    int (*capture_begin)(void *stream, int mode);
    int (*capture_end)(void *stream, void **graph);
    int (*graph_make)(void **executable, void *graph, unsigned long long flags);
    int (*graph_launch)(void *executable, void *stream);
    int (*graph_drop)(void *executable);
} driver;

static bool driver_open(driver *d) {
    const char *path = getenv("CROFT_CUDA_DRIVER");
    const struct {
        const char *name;
        void *function;
    } rows[] = {{"cuInit", &d->initialise},
                {"cuDevicePrimaryCtxRetain", &d->context_retain},
                {"cuDevicePrimaryCtxRelease_v2", &d->context_release},
                {"cuCtxSetCurrent", &d->context_set},
                {"cuMemAlloc_v2", &d->allocate},
                {"cuMemFree_v2", &d->release},
                {"cuMemcpyHtoD_v2", &d->copy_in},
                {"cuMemcpyDtoH_v2", &d->copy_out},
                {"cuMemsetD8_v2", &d->clear},
                {"cuStreamCreate", &d->stream_create},
                {"cuStreamDestroy_v2", &d->stream_destroy},
                {"cuCtxSynchronize", &d->wait},
                {"cuStreamBeginCapture_v2", &d->capture_begin},
                {"cuStreamEndCapture", &d->capture_end},
                {"cuGraphInstantiateWithFlags", &d->graph_make},
                {"cuGraphLaunch", &d->graph_launch},
                {"cuGraphExecDestroy", &d->graph_drop}};
    d->library = dlopen(path != NULL ? path : "libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        void *address = d->library != NULL ? dlsym(d->library, rows[i].name) : NULL;
        if (address == NULL)
            return false;
        memcpy(rows[i].function, &address, sizeof address);
    }
    return d->initialise(0) == 0 && d->context_retain(&d->context, 0) == 0 &&
           d->context_set(d->context) == 0;
}

/* ---- kernels ---- */
static bool is_near(double found, double expected, double bound) {
    return fabs(found - expected) <= bound * (fabs(expected) + 1e-30);
}

static bool scaled(const float *x, const float *y, int64_t rows, int64_t width) {
    for (int64_t i = 0; i < rows * width; i++)
        if (y[i] != 2 * x[i])
            return false;
    return true;
}

static bool softmaxed(const float *x, const float *y, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; row++) {
        const float *in = x + row * width, *out = y + row * width;
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += exp((double)in[i]);
        for (int64_t i = 0; i < width; i++)
            if (!is_near((double)out[i], exp((double)in[i]) / sum, 1e-4))
                return false;
    }
    return true;
}

static bool summed(const float *x, const float *y, int64_t rows, int64_t width) {
    for (int64_t row = 0; row < rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++)
            sum += (double)x[row * width + i];
        if (!is_near((double)y[row], sum, 1e-4))
            return false;
    }
    return true;
}

static const struct {
    const char *name, *text, *set;
    int64_t rows, width;
    int output_rank;
    bool (*right)(const float *x, const float *y, int64_t rows, int64_t width);
} kernels[] = {{"no_workspace",
                "kernel scale(x: in f32[R, N], y: out f32[R, N]) {\n"
                "    program row: R\n"
                "    y[row, :] = x[row, :] * 2.0\n"
                "}\n",
                NULL, 100, 1000, 2, scaled},
               {"a_workspace_of_groups",
                "kernel softmax(x: in f32[R, N], y: out f32[R, N]) {\n"
                "    program row: R\n"
                "    t = x[row, :]\n"
                "    e = exp(t - max(t))\n"
                "    y[row, :] = e / sum(e)\n"
                "}\n",
                "keep=private,w=32,v=1", 100, 4000, 2, softmaxed},
               {"rows_in_parts",
                "kernel total(x: in f32[R, N], y: out f32[R]) {\n"
                "    program row: R\n"
                "    y[row] = sum(x[row, :])\n"
                "}\n",
                NULL, 1, 1 << 22, 1, summed}};

enum { KERNELS = sizeof kernels / sizeof kernels[0] };

/* A kernel with its arrays. */
typedef struct fixture {
    driver *d;
    int number;
    croft_kernel *kernel;
    croft_function *function;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
    float *x, *y; /* of the process */
    uint64_t memory[2];
    size_t bytes[2];
    int64_t shape[2];
    croft_tensor tensors[2];
    const croft_tensor *pointers[2];
    void *stream;
} fixture;

static bool fixture_open(fixture *f, croft_context *context) {
    const int n = f->number;
    const croft_source source = {.size = sizeof source, .text = kernels[n].text};
    const croft_prepare_options options = {.size = sizeof options, .plan_set = kernels[n].set};
    f->shape[0] = kernels[n].rows;
    f->shape[1] = kernels[n].width;
    f->bytes[0] = sizeof(float) * (size_t)(f->shape[0] * f->shape[1]);
    f->bytes[1] = kernels[n].output_rank == 2 ? f->bytes[0] : sizeof(float) * (size_t)f->shape[0];
    f->x = malloc(f->bytes[0]);
    f->y = malloc(f->bytes[1]);
    if (f->x == NULL || f->y == NULL || f->d->stream_create(&f->stream, 1) != 0)
        return false;
    for (int64_t i = 0; i < f->shape[0] * f->shape[1]; i++)
        f->x[i] = (float)(i * 7919 % 1009) / 1009.0f;
    for (int i = 0; i < 2; i++) {
        if (f->d->allocate(&f->memory[i], f->bytes[i]) != 0)
            return false;
        f->tensors[i] = (croft_tensor){.data = (void *)(uintptr_t)f->memory[i],
                                       .device_type = CROFT_ON_CUDA,
                                       .rank = i == 0 ? 2 : kernels[n].output_rank,
                                       .dtype_code = CROFT_FLOAT,
                                       .dtype_bits = 32,
                                       .dtype_lanes = 1,
                                       .shape = f->shape};
        f->pointers[i] = &f->tensors[i];
    }
    return f->d->copy_in(f->memory[0], f->x, f->bytes[0]) == 0 &&
           croft_compile(context, &source, &f->kernel, &f->findings) == CROFT_OK &&
           croft_function_create(f->kernel, NULL, 0, &options, &f->function, &f->findings) ==
               CROFT_OK &&
           croft_function_prepare(f->function, f->pointers, 2, &f->dispatch, &f->findings) ==
               CROFT_OK;
}

static void fixture_close(fixture *f) {
    for (int i = 0; i < 2; i++)
        if (f->memory[i] != 0)
            f->d->release(f->memory[i]);
    if (f->stream != NULL)
        f->d->stream_destroy(f->stream);
    croft_dispatch_free(f->dispatch);
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_diagnostics_free(f->findings);
    free(f->x);
    free(f->y);
}

/* ---- what is asked ---- */
static int failures;

static void say(const fixture *f, const char *what, bool good) {
    failures += !good;
    printf("%s %s_%s%s%s\n", good ? "ok" : "not ok", what, kernels[f->number].name,
           good ? "" : ": ", good ? "" : croft_diagnostics_text(f->findings));
    fflush(stdout);
}

static bool clear(fixture *f) {
    return f->d->clear(f->memory[1], 0xff, f->bytes[1]) == 0 && f->d->wait() == 0;
}

static bool is_right(fixture *f) {
    return f->d->wait() == 0 && f->d->copy_out(f->y, f->memory[1], f->bytes[1]) == 0 &&
           kernels[f->number].right(f->x, f->y, f->shape[0], f->shape[1]);
}

static bool launch(fixture *f) {
    const croft_launch_options options = {.size = sizeof options, .stream = f->stream};
    return croft_launch(f->dispatch, &options, &f->findings) == CROFT_OK;
}

static bool call(fixture *f) {
    const croft_call_options options = {.size = sizeof options, .stream = f->stream};
    return croft_function_call(f->function, f->pointers, 2, &options, &f->findings) == CROFT_OK;
}

/* Captures one launch and replays it three times; capturing writes nothing. */
static bool is_captured(fixture *f, bool (*launches)(fixture *f)) {
    void *graph = NULL, *executable = NULL;
    bool good = clear(f) && f->d->capture_begin(f->stream, 0) == 0;
    bool launched = good && launches(f);
    good = good && f->d->capture_end(f->stream, &graph) == 0 && launched && !is_right(f) &&
           f->d->graph_make(&executable, graph, 0) == 0;
    for (int i = 0; i < 3 && good; i++)
        good = clear(f) && f->d->graph_launch(executable, f->stream) == 0 && is_right(f);
    if (executable != NULL)
        f->d->graph_drop(executable);
    return good;
}

static void ask(driver *d, croft_context *context, int number) {
    fixture f = {.d = d, .number = number};
    bool good = fixture_open(&f, context) && clear(&f);
    say(&f, "is_prepared", good && !is_right(&f));
    say(&f, "a_first_launch_is_captured", good && is_captured(&f, launch));
    say(&f, "a_call_is_right", good && clear(&f) && call(&f) && is_right(&f));
    say(&f, "a_call_is_captured", good && is_captured(&f, call));
    say(&f, "calls_go_on", good && clear(&f) && call(&f) && call(&f) && is_right(&f));
    void *const stream = f.stream;
    f.stream = (void *)1; /* CU_STREAM_LEGACY */
    say(&f, "the_legacy_stream", good && clear(&f) && call(&f) && is_right(&f));
    f.stream = (void *)2; /* CU_STREAM_PER_THREAD */
    say(&f, "the_threads_stream", good && clear(&f) && launch(&f) && call(&f) && is_right(&f));
    f.stream = stream;
    fixture_close(&f);
}

int main(void) {
    driver d = {0};
    croft_context *context = NULL;
    croft_diagnostics *findings = NULL;
    croft_config config = {.size = sizeof config, .device = "cuda", .findings = &findings};
    croft_config_from_environment(&config);
    config.cache = "";
    if (!driver_open(&d) || croft_context_create(&config, &context) != CROFT_OK) {
        printf("not ok the_device_opens: %s\n", croft_diagnostics_text(findings));
        croft_diagnostics_free(findings);
        return 1;
    }
    for (int i = 0; i < KERNELS; i++)
        ask(&d, context, i);
    croft_context_free(context);
    d.context_release(0);
    return failures > 0;
}
