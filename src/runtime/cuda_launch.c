/* Launches of the device `cuda`.
 *
 *     100,000 groups that need 8 KiB each: 256 MiB / 8 KiB = 32768 groups at a time
 *         first = 0      grid 32768      workspace W
 *         first = 32768  grid 32768      workspace W, on the same stream, so after the first
 *         first = 65536  grid 32768
 *         first = 98304  grid 1696
 *
 * Workspaces come from a memory pool of the device, in the order of the launch's stream: launches
 * on several streams do not share one, none is freed while a program runs, and the pool keeps what
 * was given back.
 */
#include "runtime/cuda_internal.h"

#include "base/checked.h"

#include <string.h>

#define WORKSPACE_LIMIT_BYTES (INT64_C(256) << 20)
#define GRID_LIMIT            INT64_C(2147483647)

enum { CLUSTER_ATTRIBUTE = 4 };

/* How many groups go at a time: a multiple of those that run together, at least that. */
static int64_t groups_at_a_time(const runtime_module *module, runtime_size size) {
    int64_t limit = GRID_LIMIT;
    if (size.workspace_bytes > 0 && WORKSPACE_LIMIT_BYTES / size.workspace_bytes < limit)
        limit = WORKSPACE_LIMIT_BYTES / size.workspace_bytes;
    limit = limit / module->cluster * module->cluster;
    limit = limit < module->cluster ? module->cluster : limit;
    return size.groups < limit ? size.groups : limit;
}

/* Of launch number `number` of the module. */
static runtime_size size_of(const runtime_launch *launch, int number) {
    return number > 0 ? launch->behind[number - 1]
                      : (runtime_size){.groups = launch->groups,
                                       .workspace_bytes = launch->workspace_bytes};
}

/* ---- workspaces ---- */

static runtime_status make_pool(cuda_device *cuda, runtime_report *report) {
    const cuda_driver *driver = &cuda->driver;
    cuda_pool_config config = {.allocation = 1, .place = 1, .ordinal = cuda->handle};
    uint64_t keep = UINT64_MAX;
    void *pool = NULL;
    runtime_status status =
        cuda_driver_status(driver, driver->pool_create(&pool, &config), "cuMemPoolCreate", report);
    if (status != RUNTIME_OK)
        return status;
    status = cuda_driver_status(driver, driver->pool_set(pool, CUDA_POOL_KEEP, &keep),
                                "cuMemPoolSetAttribute", report);
    if (status == RUNTIME_OK)
        cuda->pool = pool;
    else
        driver->pool_destroy(pool);
    return status;
}

static runtime_status take_workspace(cuda_device *cuda, int64_t bytes, void *stream,
                                     cuda_address *memory, runtime_report *report) {
    runtime_status status = RUNTIME_OK;
    pthread_mutex_lock(&cuda->lock);
    if (cuda->pool == NULL)
        status = make_pool(cuda, report);
    pthread_mutex_unlock(&cuda->lock);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(
            &cuda->driver, cuda->driver.pool_allocate(memory, (size_t)bytes, cuda->pool, stream),
            "cuMemAllocFromPoolAsync", report);
    if (status != RUNTIME_OK)
        runtime_report_add(report, "; a workspace of %lld bytes was wanted", (long long)bytes);
    return status;
}

/* ---- launch ---- */

typedef struct launch_state {
    cuda_device *cuda;
    const runtime_module *module;
    const runtime_launch *launch;
    runtime_size size;
    void *stream;
    int64_t at_a_time;
    uint64_t arguments[CUDA_ARGUMENT_BYTES_LIMIT / sizeof(uint64_t)];
} launch_state;

/* The structure of arguments, but for the first group. */
static void pack_arguments(launch_state *state, cuda_address workspace) {
    size_t pointers = (size_t)state->module->pointer_count;
    size_t words = (size_t)state->module->word_count;
    for (size_t i = 0; i < pointers; i++)
        state->arguments[i] = (uint64_t)(uintptr_t)state->launch->pointers[i];
    if (words > 0)
        memcpy(&state->arguments[pointers], state->launch->words, words * sizeof(uint64_t));
    state->arguments[pointers + words] = workspace;
}

static runtime_status launch_part(launch_state *state, int64_t first, int64_t groups,
                                  runtime_report *report) {
    const runtime_module *module = state->module;
    cuda_launch_attribute cluster = {.kind = CLUSTER_ATTRIBUTE,
                                     .value = {(uint32_t)module->cluster, 1, 1}};
    cuda_launch_config config = {.grid = {(uint32_t)groups, 1, 1},
                                 .block = {(uint32_t)module->threads, 1, 1},
                                 .scratch_bytes = (uint32_t)module->scratch_bytes,
                                 .stream = state->stream,
                                 .attributes = module->cluster > 1 ? &cluster : NULL,
                                 .attribute_count = module->cluster > 1};
    void *parameters[1] = {state->arguments};
    state->arguments[module->pointer_count + module->word_count + 1] = (uint64_t)first;
    return cuda_driver_status(
        &state->cuda->driver,
        state->cuda->driver.launch(&config, module->function, parameters, NULL), "cuLaunchKernelEx",
        report);
}

static runtime_status launch_parts(launch_state *state, runtime_report *report) {
    const runtime_size size = state->size;
    cuda_device *cuda = state->cuda;
    cuda_address workspace = 0;
    runtime_status status = RUNTIME_OK;
    if (size.workspace_bytes > 0)
        status = take_workspace(cuda, state->at_a_time * size.workspace_bytes, state->stream,
                                &workspace, report);
    if (status != RUNTIME_OK)
        return status;
    pack_arguments(state, workspace);
    for (int64_t first = 0; first < size.groups && status == RUNTIME_OK;
         first += state->at_a_time) {
        int64_t left = size.groups - first;
        status =
            launch_part(state, first, left < state->at_a_time ? left : state->at_a_time, report);
    }
    if (workspace != 0) {
        int error = cuda->driver.pool_free(workspace, state->stream);
        if (status == RUNTIME_OK)
            status = cuda_driver_status(&cuda->driver, error, "cuMemFreeAsync", report);
    }
    return status;
}

static runtime_status check_launch(const runtime_module *module, runtime_size size,
                                   runtime_report *report) {
    int64_t bytes;
    if (size.groups < 0 || size.workspace_bytes < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a size of the kernel does not fit 64 bits");
    if (size.groups % module->cluster != 0)
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED,
                                  "%lld groups are no multiple of the %d that run together",
                                  (long long)size.groups, module->cluster);
    if (!base_checked_mul(groups_at_a_time(module, size), size.workspace_bytes, &bytes))
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a workspace of %lld bytes for each group is too large",
                                  (long long)size.workspace_bytes);
    return RUNTIME_OK;
}

/* On one stream, where each begins when the one before has ended. */
static runtime_status launch_all(launch_state *state, runtime_report *report) {
    runtime_status status = RUNTIME_OK;
    int number = 0;
    for (; state->module != NULL && status == RUNTIME_OK; state->module = state->module->behind) {
        state->size = size_of(state->launch, number++);
        state->at_a_time = groups_at_a_time(state->module, state->size);
        if (state->size.groups > 0)
            status = launch_parts(state, report);
    }
    return status;
}

runtime_status cuda_launch(runtime_device *device, runtime_module *module,
                           const runtime_launch *launch, runtime_report *report) {
    cuda_device *cuda = (cuda_device *)device;
    bool any = false;
    int number = 0;
    for (const runtime_module *one = module; one != NULL; one = one->behind) {
        runtime_size size = size_of(launch, number++);
        runtime_status status = check_launch(one, size, report);
        if (status != RUNTIME_OK)
            return status;
        any = any || size.groups > 0;
    }
    if (!any)
        return RUNTIME_OK;
    bool waits = launch->stream == NULL;
    launch_state state; /* not zeroed: the arguments are large */
    state.cuda = cuda;
    state.module = module;
    state.launch = launch;
    state.stream = waits ? cuda->stream : launch->stream;
    runtime_status status = cuda_device_enter(cuda, report);
    if (status != RUNTIME_OK)
        return status;
    status = launch_all(&state, report);
    if (waits) {
        int error = cuda->driver.stream_wait(cuda->stream);
        if (status == RUNTIME_OK)
            status = cuda_driver_status(&cuda->driver, error, "cuStreamSynchronize", report);
    }
    cuda_device_leave(cuda);
    return status;
}
