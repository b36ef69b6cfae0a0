/* What a launch through croft.h costs beyond what it is made of.
 *
 *     bench_launch cpu             against the device's own launch, of one row
 *     bench_launch cuda            against the driver's launch of the same function, arguments and
 *                                  attributes, on a stream that is waited for between the timings
 *
 * A kernel of five tensors; nanoseconds of a call, the median of the rounds, and the median of the
 * paired differences with quarter and three quarters. In each round the arms stand in turn, there
 * and back. Exit status 1 where a gate is missed: croft_launch at most 200 ns above the direct
 * launch with its attributes, a croft_function_call that finds its dispatch at most 300 ns above
 * croft_launch.
 *
 * CROFT_CUDA_DRIVER and CROFT_NVRTC name other libraries, such as the pretended ones of test/fake:
 * the driver's part of a launch is then small, ours what it is.
 */
#include "api/function_internal.h"
#include "measure.h"
#include "runtime/cuda_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS = 5, ROWS = 1, WIDTH = 64, ROUNDS = 201, BATCH = 200, WARM = 2000 };

static const char text[] =
    "kernel five(x: in f32[R, N], r: in f32[R, N], w: in f32[N], y: out f32[R, N],\n"
    "            z: out f32[R, N]) {\n"
    "    program row: R\n"
    "    t = x[row, :] + r[row, :]\n"
    "    z[row, :] = t\n"
    "    y[row, :] = t * w[:]\n"
    "}\n";

typedef struct launch_bench {
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
    int64_t shape[2];
    croft_tensor tensors[TENSORS];
    const croft_tensor *pointers[TENSORS];
    void *data[TENSORS];
    void *stream;            /* NULL: of cpu */
    const cuda_device *cuda; /* NULL: cpu */
    uint64_t words[512];     /* the arguments of the function itself */
    bool failed;
} launch_bench;

/* ---- arms ---- */
static void launch_directly(launch_bench *b) {
    croft_dispatch *dispatch = b->dispatch;
    const runtime_module *module = dispatch->variant->module;
    runtime_device *device = b->context->device;
    runtime_report report;
    if (b->cuda == NULL) {
        b->failed |= device->vtable->launch(device, dispatch->variant->module, &dispatch->launch,
                                            &report) != RUNTIME_OK;
        return;
    }
    void *parameters[1] = {b->words};
    b->failed |=
        b->cuda->driver.launch(module->function, (unsigned)dispatch->launch.groups, 1, 1,
                               (unsigned)module->threads, 1, 1, (unsigned)module->scratch_bytes,
                               b->stream, parameters, NULL) != 0;
}

/* With the attribute that the library gives to programs that overlap; else as above. */
static void launch_with_attributes(launch_bench *b) {
    croft_dispatch *dispatch = b->dispatch;
    const runtime_module *module = dispatch->variant->module;
    if (b->cuda == NULL || !module->overlaps) {
        launch_directly(b);
        return;
    }
    void *parameters[1] = {b->words};
    cuda_launch_attribute overlap = {.kind = OVERLAP_ATTRIBUTE, .value = {1}};
    cuda_launch_config config = {.grid = {(unsigned)dispatch->launch.groups, 1, 1},
                                 .block = {(unsigned)module->threads, 1, 1},
                                 .scratch_bytes = (unsigned)module->scratch_bytes,
                                 .stream = b->stream,
                                 .attributes = &overlap,
                                 .attribute_count = 1};
    b->failed |= b->cuda->driver.launch_with(&config, module->function, parameters, NULL) != 0;
}

static void launch(launch_bench *b) {
    const croft_launch_options options = {.size = sizeof options, .stream = b->stream};
    b->failed |= croft_launch(b->dispatch, &options, NULL) != CROFT_OK;
}

static void launch_with_data(launch_bench *b) {
    const croft_launch_options options = {
        .size = sizeof options, .data = b->data, .stream = b->stream};
    b->failed |= croft_launch(b->dispatch, &options, NULL) != CROFT_OK;
}

static void call_function(launch_bench *b) {
    const croft_call_options options = {.size = sizeof options, .stream = b->stream};
    b->failed |= croft_function_call(b->function, b->pointers, TENSORS, &options, NULL) != CROFT_OK;
}

/* Objects that are tensors already. */
static launch_bench *of_objects;

static ptrdiff_t object_count(void *tuple) {
    return tuple == &of_objects->pointers[0] ? 3 : 2;
}

static void *object_at(void *tuple, ptrdiff_t index) {
    return ((void **)tuple)[index];
}

static int object_tensor(void *object, croft_tensor *tensor) {
    *tensor = *(const croft_tensor *)object;
    return 0;
}

static int object_stream(int32_t type, int32_t id, void **stream) {
    (void)type;
    (void)id;
    *stream = of_objects->stream;
    return 0;
}

static void call_objects(launch_bench *b) {
    static const croft_objects objects = {.size = sizeof objects,
                                          .length = object_count,
                                          .item = object_at,
                                          .tensor = object_tensor,
                                          .stream = object_stream};
    of_objects = b;
    b->failed |= croft_function_call_objects(b->function, &objects, &b->pointers[0],
                                             &b->pointers[3], NULL) != CROFT_OK;
}

static const struct {
    const char *name;
    void (*run)(launch_bench *b);
    int against;    /* an arm whose price it is above */
    double most_ns; /* 0: no gate */
} arms[] = {
    {"direct launch", launch_directly, 0, 0},
    {"... with attributes", launch_with_attributes, 0, 0},
    {"croft_launch", launch, 1, 200},
    {"croft_launch, data", launch_with_data, 2, 0},
    {"croft_function_call", call_function, 2, 300},
    {"... with objects", call_objects, 4, 0},
};

enum { ARMS = sizeof arms / sizeof arms[0] };

/* ---- opening ---- */
static bool fail(const launch_bench *b, const char *what, croft_status status) {
    fprintf(stderr, "%s: %s\n%s", what, croft_status_name(status),
            croft_diagnostics_text(b->findings));
    return false;
}

static bool make_tensors(launch_bench *b) {
    runtime_device *device = b->context->device;
    runtime_report report;
    b->shape[0] = ROWS;
    b->shape[1] = WIDTH;
    for (int i = 0; i < TENSORS; i++) {
        void *memory = NULL;
        int64_t bytes = ROWS * WIDTH * (int64_t)sizeof(float);
        if (device->vtable->allocate == NULL)
            memory = aligned_alloc(128, (size_t)bytes);
        else if (device->vtable->allocate(device, bytes, &memory, &report) != RUNTIME_OK)
            return false;
        bool vector = i == 2;
        b->data[i] = memory;
        b->tensors[i] = (croft_tensor){.data = memory,
                                       .device_type = device->vtable->memory,
                                       .rank = vector ? 1 : 2,
                                       .dtype_code = CROFT_FLOAT,
                                       .dtype_bits = 32,
                                       .dtype_lanes = 1,
                                       .shape = vector ? &b->shape[1] : b->shape};
        b->pointers[i] = &b->tensors[i];
        if (memory == NULL)
            return false;
    }
    return true;
}

/* The arguments as the function itself takes them: pointers, words, no workspace, first group 0. */
static bool pack(launch_bench *b) {
    const runtime_module *module = b->dispatch->variant->module;
    const runtime_launch *launch_ = &b->dispatch->launch;
    if (module->pointer_count + module->word_count + 2 > 512 || launch_->workspace_bytes > 0 ||
        module->behind != NULL || module->cluster > 1)
        return false;
    for (int i = 0; i < module->pointer_count; i++)
        b->words[i] = (uint64_t)(uintptr_t)launch_->pointers[i];
    memcpy(&b->words[module->pointer_count], launch_->words,
           sizeof(uint64_t) * (size_t)module->word_count);
    return true;
}

static bool open_bench(launch_bench *b, const char *device) {
    croft_config config = {.size = sizeof config, .device = device, .findings = &b->findings};
    croft_config_from_environment(&config);
    config.cache = "";
    croft_status status = croft_context_create(&config, &b->context);
    if (status != CROFT_OK)
        return fail(b, device, status);
    const croft_source source = {.size = sizeof source, .text = text, .name = "five.croft"};
    status = croft_compile(b->context, &source, &b->kernel, &b->findings);
    if (status == CROFT_OK)
        status = croft_function_create(b->kernel, NULL, 0, NULL, &b->function, &b->findings);
    if (status != CROFT_OK)
        return fail(b, "five.croft", status);
    if (!make_tensors(b))
        return fail(b, "memory", CROFT_OUT_OF_MEMORY);
    status = croft_function_prepare(b->function, b->pointers, TENSORS, &b->dispatch, &b->findings);
    if (status != CROFT_OK)
        return fail(b, "prepare", status);
    if (strcmp(device, "cuda") != 0)
        return true;
    b->cuda = (const cuda_device *)b->context->device;
    /* As a program that uses the driver has it: its context is current. */
    return pack(b) && b->cuda->driver.context_push(b->cuda->context) == 0 &&
           b->cuda->driver.stream_create(&b->stream, CUDA_STREAM_NON_BLOCKING) == 0;
}

static void close_bench(launch_bench *b) {
    runtime_device *device = b->context != NULL ? b->context->device : NULL;
    for (int i = 0; i < TENSORS && device != NULL; i++) {
        if (device->vtable->allocate == NULL)
            free(b->data[i]);
        else
            device->vtable->release(device, b->data[i]);
    }
    void *unread = NULL;
    if (b->stream != NULL) {
        b->cuda->driver.stream_destroy(b->stream);
        b->cuda->driver.context_pop(&unread);
    }
    croft_dispatch_free(b->dispatch);
    croft_function_free(b->function);
    croft_kernel_free(b->kernel);
    croft_context_free(b->context);
    croft_diagnostics_free(b->findings);
}

/* ---- timing ---- */
static void wait(launch_bench *b) {
    if (b->stream != NULL)
        b->failed |= b->cuda->driver.stream_wait(b->stream) != 0;
}

/* Nanoseconds of one call. */
static double time_batch(launch_bench *b, int arm) {
    double start = bench_now();
    for (int i = 0; i < BATCH; i++)
        arms[arm].run(b);
    double each = (bench_now() - start) * 1e9 / BATCH;
    wait(b);
    return each;
}

static int by_value(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static int report(double times[ARMS][ROUNDS]) {
    int missed = 0;
    for (int arm = 0; arm < ARMS; arm++) {
        double above[ROUNDS], own[ROUNDS];
        for (int i = 0; i < ROUNDS; i++)
            above[i] = times[arm][i] - times[arms[arm].against][i];
        memcpy(own, times[arm], sizeof own);
        qsort(above, ROUNDS, sizeof *above, by_value);
        printf("%-20s %8.1f ns", arms[arm].name, bench_median(own, ROUNDS));
        if (arm > 0)
            printf("  %+8.1f above %s (%+.1f %+.1f)", above[ROUNDS / 2],
                   arms[arms[arm].against].name, above[ROUNDS / 4], above[3 * ROUNDS / 4]);
        if (arms[arm].most_ns > 0) {
            bool bad = above[ROUNDS / 2] > arms[arm].most_ns;
            missed += bad;
            printf("  gate %.0f: %s", arms[arm].most_ns, bad ? "missed" : "held");
        }
        printf("\n");
    }
    return missed;
}

int main(int argc, char **argv) {
    static launch_bench bench;
    static double times[ARMS][ROUNDS];
    const char *device = argc > 1 ? argv[1] : "cpu";
    if (!open_bench(&bench, device)) {
        close_bench(&bench);
        return 2;
    }
    for (int arm = 0; arm < ARMS; arm++)
        for (int i = 0; i < WARM; i += BATCH)
            (void)time_batch(&bench, arm);
    for (int i = 0; i < ROUNDS; i++) {
        double there[ARMS];
        for (int arm = 0; arm < ARMS; arm++)
            there[arm] = time_batch(&bench, arm);
        for (int arm = ARMS - 1; arm >= 0; arm--)
            times[arm][i] = (there[arm] + time_batch(&bench, arm)) / 2;
    }
    printf("%s, %d tensors, %d x %d, %d rounds of 2 x %d calls\n", device, TENSORS, ROWS, WIDTH,
           ROUNDS, BATCH);
    int missed = report(times);
    bool failed = bench.failed;
    close_bench(&bench);
    if (failed)
        printf("a launch failed\n");
    printf("%d gates missed\n", missed);
    return failed || missed > 0;
}
