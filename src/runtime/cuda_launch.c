/* Launches of the device `cuda`.
 *
 *     100,000 groups that need 8 KiB each: 256 MiB / 8 KiB = 32768 groups at a time
 *         first = 0      grid 32768      workspace W
 *         first = 32768  grid 32768      workspace W, on the same stream, so after the first
 *         first = 65536  grid 32768
 *         first = 98304  grid 1696
 *
 * Workspaces are given with the launch; else they come from a memory pool of the device, in the
 * order of the launch's stream: launches on several streams do not share one, none is freed while a
 * program runs, and the pool keeps what was given back.
 *
 * A program that waits itself for the launches in front of its own is launched so that it may start
 * while they end: its groups are in place when they have ended, which hides most of the launch.
 *
 * Most launches are a single one that needs no workspace and fits into one grid, and what is done
 * for them is what the driver needs: a look at the current context, the arguments, one call.
 */
#include "runtime/cuda_internal.h"

#include "base/checked.h"

#include <string.h>

#define WORKSPACE_LIMIT_BYTES (INT64_C(256) << 20)
#define GRID_LIMIT            INT64_C(2147483647)

/* The first driver (12.3) that can have launches that overlap in a graph. */
enum { ATTRIBUTES = 2, OVERLAP_DRIVER = 12030 };

enum { PLAIN_WORDS = 128 };

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

int64_t cuda_launch_workspace(const runtime_device *device, const runtime_module *module,
                              const runtime_launch *launch) {
    int64_t most = 0, bytes;
    int number = 0;
    (void)device;
    for (; module != NULL; module = module->behind) {
        runtime_size size = size_of(launch, number++);
        if (size.groups < 0 || size.workspace_bytes < 0 ||
            !base_checked_mul(groups_at_a_time(module, size), size.workspace_bytes, &bytes))
            return 0;
        most = bytes > most ? bytes : most;
    }
    return most;
}

bool cuda_stream_captures(const runtime_device *device, void *stream) {
    const cuda_device *cuda = (const cuda_device *)device;
    int status = 0;
    runtime_report unread;
    bool entered = false;
    if (cuda_device_enter_once(cuda, &entered, &unread) != RUNTIME_OK)
        return false;
    int error = cuda->driver.stream_captures(stream, &status);
    if (entered)
        cuda_device_leave(cuda);
    return error != 0 || status != 0; /* an error: the legacy stream while another is captured */
}

/* ---- launch ---- */

typedef struct launch_state {
    cuda_device *cuda;
    const runtime_module *module;
    const runtime_launch *launch;
    runtime_size size;
    void *stream;
    int64_t at_a_time;
    uint64_t *arguments; /* of all launches, and two words behind those */
} launch_state;

/* The structure of arguments, but for the first group. */
static void pack_arguments(const launch_state *state, cuda_address workspace) {
    size_t pointers = (size_t)state->module->pointer_count;
    size_t words = (size_t)state->module->word_count;
    for (size_t i = 0; i < pointers; i++)
        state->arguments[i] = (uint64_t)(uintptr_t)state->launch->pointers[i];
    if (words > 0)
        memcpy(&state->arguments[pointers], state->launch->words, words * sizeof(uint64_t));
    state->arguments[pointers + words] = workspace;
}

static bool overlaps(const launch_state *state) {
    return state->module->overlaps && state->cuda->driver.number >= OVERLAP_DRIVER;
}

static runtime_status launch_with(const launch_state *state, int64_t groups, void **parameters,
                                  runtime_report *report) {
    const runtime_module *module = state->module;
    cuda_launch_attribute attributes[ATTRIBUTES];
    cuda_launch_config config = {.grid = {(uint32_t)groups, 1, 1},
                                 .block = {(uint32_t)module->threads, 1, 1},
                                 .scratch_bytes = (uint32_t)module->scratch_bytes,
                                 .stream = state->stream,
                                 .attributes = attributes};
    if (module->cluster > 1)
        attributes[config.attribute_count++] = (cuda_launch_attribute){
            .kind = CLUSTER_ATTRIBUTE, .value = {(uint32_t)module->cluster, 1, 1}};
    if (overlaps(state))
        attributes[config.attribute_count++] =
            (cuda_launch_attribute){.kind = OVERLAP_ATTRIBUTE, .value = {1}};
    return cuda_driver_status(
        &state->cuda->driver,
        state->cuda->driver.launch_with(&config, module->function, parameters, NULL),
        "cuLaunchKernelEx", report);
}

static runtime_status launch_part(const launch_state *state, int64_t first, int64_t groups,
                                  runtime_report *report) {
    const runtime_module *module = state->module;
    void *parameters[1] = {state->arguments};
    state->arguments[module->pointer_count + module->word_count + 1] = (uint64_t)first;
    if (module->cluster > 1 || overlaps(state))
        return launch_with(state, groups, parameters, report);
    return cuda_driver_status(&state->cuda->driver,
                              state->cuda->driver.launch(module->function, (unsigned)groups, 1, 1,
                                                         (unsigned)module->threads, 1, 1,
                                                         (unsigned)module->scratch_bytes,
                                                         state->stream, parameters, NULL),
                              "cuLaunchKernel", report);
}

static runtime_status launch_parts(const launch_state *state, runtime_report *report) {
    const runtime_size size = state->size;
    cuda_device *cuda = state->cuda;
    cuda_address workspace = (cuda_address)(uintptr_t)state->launch->workspace;
    bool takes = size.workspace_bytes > 0 && workspace == 0;
    runtime_status status = RUNTIME_OK;
    if (takes)
        status = take_workspace(cuda, state->at_a_time * size.workspace_bytes, state->stream,
                                &workspace, report);
    if (status != RUNTIME_OK)
        return status;
    pack_arguments(state, size.workspace_bytes > 0 ? workspace : 0);
    for (int64_t first = 0; first < size.groups && status == RUNTIME_OK;
         first += state->at_a_time) {
        int64_t left = size.groups - first;
        status =
            launch_part(state, first, left < state->at_a_time ? left : state->at_a_time, report);
    }
    if (takes) {
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

/* *any: whether there is something to launch. */
static runtime_status check_all(const runtime_module *module, const runtime_launch *launch,
                                bool *any, runtime_report *report) {
    int number = 0;
    *any = false;
    for (; module != NULL; module = module->behind) {
        runtime_size size = size_of(launch, number++);
        runtime_status status = check_launch(module, size, report);
        if (status != RUNTIME_OK)
            return status;
        *any = *any || size.groups > 0;
    }
    return RUNTIME_OK;
}

/* On one stream, where each begins when the one before has ended. */
static runtime_status launch_all(cuda_device *cuda, const runtime_module *module,
                                 const runtime_launch *launch, void *stream,
                                 runtime_report *report) {
    uint64_t arguments[CUDA_ARGUMENT_BYTES_LIMIT / sizeof(uint64_t)]; /* large: not zeroed */
    launch_state state = {.cuda = cuda, .launch = launch, .stream = stream, .arguments = arguments};
    runtime_status status = RUNTIME_OK;
    int number = 0;
    for (; module != NULL && status == RUNTIME_OK; module = module->behind) {
        state.module = module;
        state.size = size_of(launch, number++);
        state.at_a_time = groups_at_a_time(module, state.size);
        if (state.size.groups > 0)
            status = launch_parts(&state, report);
    }
    return status;
}

/* One grid without a workspace: its only part. */
static bool is_plain(const runtime_module *module, const runtime_launch *launch) {
    return module->behind == NULL && module->cluster == 1 && launch->workspace_bytes == 0 &&
           launch->groups > 0 && launch->groups <= GRID_LIMIT &&
           module->pointer_count + module->word_count + 2 <= PLAIN_WORDS;
}

static runtime_status launch_plain(cuda_device *cuda, const runtime_module *module,
                                   const runtime_launch *launch, void *stream,
                                   runtime_report *report) {
    uint64_t arguments[PLAIN_WORDS];
    const launch_state state = {
        .cuda = cuda, .module = module, .launch = launch, .stream = stream, .arguments = arguments};
    pack_arguments(&state, 0);
    return launch_part(&state, 0, launch->groups, report);
}

runtime_status cuda_launch(runtime_device *device, runtime_module *module,
                           const runtime_launch *launch, runtime_report *report) {
    cuda_device *cuda = (cuda_device *)device;
    bool plain = is_plain(module, launch), any = plain, entered = false;
    runtime_status status = plain ? RUNTIME_OK : check_all(module, launch, &any, report);
    if (status != RUNTIME_OK || !any)
        return status;
    bool waits = launch->stream == NULL;
    void *stream = waits ? cuda->stream : launch->stream;
    status = cuda_device_enter_once(cuda, &entered, report);
    if (status != RUNTIME_OK)
        return status;
    status = plain ? launch_plain(cuda, module, launch, stream, report)
                   : launch_all(cuda, module, launch, stream, report);
    if (waits) {
        int error = cuda->driver.stream_wait(cuda->stream);
        if (status == RUNTIME_OK)
            status = cuda_driver_status(&cuda->driver, error, "cuStreamSynchronize", report);
    }
    if (entered)
        cuda_device_leave(cuda);
    return status;
}
