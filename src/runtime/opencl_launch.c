/* Launches of the device `opencl`.
 *
 *     100,000 groups that need 8 KiB each: 256 MiB / 8 KiB = 32768 groups at a time
 *         first = 0      32768 groups    workspace W
 *         first = 32768  32768 groups    workspace W, behind the event of the one before
 *         first = 65536  32768 groups
 *         first = 98304  1696 groups
 *
 * Each part waits for the event of the part before, so that their order holds on a caller's queue
 * that keeps none; what was on the queue before is the caller's to order there. Arguments are set
 * and the part is put on the queue under a lock: a kernel has one set of them. A workspace is
 * released at once, and lives until the commands that use it have ended.
 */
#include "runtime/opencl_internal.h"

#include "base/checked.h"

#include <string.h>

#define WORKSPACE_LIMIT_BYTES (INT64_C(256) << 20)
#define ITEMS_LIMIT           INT64_C(2147483647)

typedef struct launch_state {
    opencl_device *opencl;
    const runtime_module *module;
    const runtime_launch *launch;
    void *queue;
    void *event; /* of the last part; NULL: none yet */
} launch_state;

/* Of launch number `number` of the module. */
static runtime_size size_of(const runtime_launch *launch, int number) {
    return number > 0 ? launch->behind[number - 1]
                      : (runtime_size){.groups = launch->groups,
                                       .workspace_bytes = launch->workspace_bytes};
}

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many groups go at a time, at least one. */
static int64_t groups_at_a_time(const opencl_device *opencl, const runtime_module *module,
                                runtime_size size) {
    int64_t limit = ITEMS_LIMIT / module->threads;
    int64_t bytes = least_of(WORKSPACE_LIMIT_BYTES, opencl->facts.allocation_limit_bytes);
    if (size.workspace_bytes > 0)
        limit = least_of(limit, bytes / size.workspace_bytes);
    limit = limit < 1 ? 1 : limit;
    return least_of(size.groups, limit);
}

static runtime_status set_arguments(const launch_state *state, void *workspace, int64_t first,
                                    runtime_report *report) {
    const runtime_module *module = state->module;
    const opencl_library *library = &state->opencl->library;
    int64_t words[OPENCL_WORDS_LIMIT];
    size_t count = (size_t)module->word_count;
    uint32_t index = 0;
    int error = 0;
    if (count > 0)
        memcpy(words, state->launch->words, count * sizeof words[0]);
    words[count] = first;
    for (int i = 0; i < module->pointer_count && error == 0; i++)
        error = library->kernel_argument(module->kernel, index++, sizeof(void *),
                                         &state->launch->pointers[i]);
    if (error == 0)
        error = library->kernel_argument(module->kernel, index++, sizeof(void *), &workspace);
    if (error == 0)
        error =
            library->kernel_argument(module->kernel, index++, (count + 1) * sizeof words[0], words);
    runtime_status status = opencl_status(error, "clSetKernelArg", report);
    if (status != RUNTIME_OK)
        runtime_report_add(report, "; it is argument %u", index - 1);
    return status;
}

static runtime_status launch_part(launch_state *state, void *workspace, int64_t first,
                                  int64_t groups, runtime_report *report) {
    const opencl_library *library = &state->opencl->library;
    const size_t group = (size_t)state->module->threads, items = (size_t)groups * group;
    void *event = NULL;
    pthread_mutex_lock(&state->opencl->lock);
    runtime_status status = set_arguments(state, workspace, first, report);
    if (status == RUNTIME_OK)
        status = opencl_status(library->launch(state->queue, state->module->kernel, 1, NULL, &items,
                                               &group, state->event != NULL,
                                               state->event != NULL ? &state->event : NULL, &event),
                               "clEnqueueNDRangeKernel", report);
    pthread_mutex_unlock(&state->opencl->lock);
    if (status != RUNTIME_OK)
        return status;
    if (state->event != NULL)
        library->event_release(state->event);
    state->event = event;
    return RUNTIME_OK;
}

static runtime_status launch_parts(launch_state *state, runtime_size size, runtime_report *report) {
    runtime_device *device = &state->opencl->device;
    int64_t at_a_time = groups_at_a_time(state->opencl, state->module, size);
    void *workspace = NULL;
    runtime_status status = RUNTIME_OK;
    if (size.workspace_bytes > 0)
        status = opencl_allocate(device, at_a_time * size.workspace_bytes, &workspace, report);
    for (int64_t first = 0; first < size.groups && status == RUNTIME_OK; first += at_a_time)
        status =
            launch_part(state, workspace, first, least_of(size.groups - first, at_a_time), report);
    opencl_release(device, workspace);
    return status;
}

static runtime_status check_launch(const opencl_device *opencl, const runtime_module *module,
                                   runtime_size size, runtime_report *report) {
    int64_t bytes;
    if (size.groups < 0 || size.workspace_bytes < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a size of the kernel does not fit 64 bits");
    if (!base_checked_mul(groups_at_a_time(opencl, module, size), size.workspace_bytes, &bytes) ||
        bytes > opencl->facts.allocation_limit_bytes)
        return runtime_report_set(report, RUNTIME_NO_MEMORY,
                                  "a workspace of %lld bytes for each group is too large",
                                  (long long)size.workspace_bytes);
    return RUNTIME_OK;
}

/* All that was put on the queue; with a queue of the caller that it begins at all. */
static runtime_status finish(launch_state *state, bool waits, runtime_status status,
                             runtime_report *report) {
    const opencl_library *library = &state->opencl->library;
    if (state->event == NULL)
        return status;
    int error = waits ? library->events_wait(1, &state->event) : library->flush(state->queue);
    if (status == RUNTIME_OK)
        status = opencl_status(error, waits ? "clWaitForEvents" : "clFlush", report);
    error = library->event_release(state->event);
    return status == RUNTIME_OK ? opencl_status(error, "clReleaseEvent", report) : status;
}

runtime_status opencl_launch(runtime_device *device, runtime_module *module,
                             const runtime_launch *launch, runtime_report *report) {
    launch_state state = {
        .opencl = (opencl_device *)device, .launch = launch, .queue = launch->stream};
    bool waits = launch->stream == NULL;
    runtime_status status = RUNTIME_OK;
    int number = 0;
    if (waits)
        state.queue = state.opencl->queue;
    for (const runtime_module *one = module; one != NULL && status == RUNTIME_OK; one = one->behind)
        status = check_launch(state.opencl, one, size_of(launch, number++), report);
    number = 0;
    for (state.module = module; state.module != NULL && status == RUNTIME_OK;
         state.module = state.module->behind) {
        runtime_size size = size_of(launch, number++);
        if (size.groups > 0)
            status = launch_parts(&state, size, report);
    }
    return finish(&state, waits, status, report);
}
