/* Launching a dispatch: where its tensors lay when it was prepared, or with other memory.
 *
 *     croft_launch(dispatch, {stream})             the arguments as they are -> device
 *     croft_launch(dispatch, {stream, data})       places.c says that all is well -> device
 *                                                  else every question of a preparation that an
 *                                                  address can change is asked, and what is wrong
 *                                                  found
 */
#include "api/api_internal.h"

#include <string.h>

croft_status api_dispatch_run(croft_dispatch *dispatch, const runtime_launch *launch,
                              uint64_t *faults, croft_diagnostics **findings) {
    runtime_device *device = dispatch->kernel->context->device;
    runtime_report report; /* large: only a failure touches it */
    if (dispatch->workspace_count > 0)
        runtime_lock_take(&dispatch->lock);
    runtime_status status =
        device->vtable->launch(device, dispatch->variant->module, launch, &report);
    if (status == RUNTIME_OK && faults != NULL && dispatch->variant->compiled.faults >= 0)
        status = api_faults_add(dispatch, faults, &report);
    if (dispatch->workspace_count > 0)
        runtime_lock_give(&dispatch->lock);
    return status == RUNTIME_OK
               ? CROFT_OK
               : api_report_status(dispatch->kernel->context->allocator, findings, &report, status);
}

/* ---- with other memory ---- */
static croft_status launch_moved(api_call *call, croft_dispatch *dispatch,
                                 const croft_launch_options *options) {
    croft_dispatch *moved = BASE_NEW(&call->arena, croft_dispatch);
    memcpy(moved, dispatch, sizeof *moved);
    croft_status status = api_dispatch_relocate(call, moved, options->data);
    if (status != CROFT_OK)
        return status;
    moved->launch.stream = options->stream;
    return api_dispatch_run(dispatch, &moved->launch, options->faults, call->findings);
}

static croft_status launch_asked(croft_dispatch *dispatch, const croft_launch_options *options,
                                 croft_diagnostics **findings) {
    api_call call;
    api_call_begin(&call, dispatch->kernel->context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, launch_moved(&call, dispatch, options));
}

croft_status api_dispatch_run_at(croft_dispatch *dispatch, const uint64_t *addresses, void *stream,
                                 uint64_t *faults, croft_diagnostics **findings) {
    void *pointers[API_PARAMETERS_LIMIT];
    runtime_launch launch = dispatch->launch;
    launch.pointers = pointers;
    launch.stream = stream;
    for (int i = 0; i < dispatch->own_pointers; i++)
        pointers[i] = (void *)(uintptr_t)addresses[i];
    for (int i = dispatch->own_pointers; i < dispatch->pointer_count; i++)
        pointers[i] = dispatch->pointers[i];
    return api_dispatch_run(dispatch, &launch, faults, findings);
}

static croft_status launch_elsewhere(croft_dispatch *dispatch, const croft_launch_options *options,
                                     croft_diagnostics **findings) {
    uint64_t addresses[API_PARAMETERS_LIMIT];
    if (dispatch->places == NULL)
        return launch_asked(dispatch, options, findings);
    for (int i = 0; i < dispatch->own_pointers; i++)
        addresses[i] = (uint64_t)(uintptr_t)options->data[i];
    return api_places_hold(dispatch, addresses)
               ? api_dispatch_run_at(dispatch, addresses, options->stream, options->faults,
                                     findings)
               : launch_asked(dispatch, options, findings);
}

/* ---- launching ---- */
/* NULL, or why the launch cannot count. */
static const char *cannot_count(const croft_dispatch *dispatch,
                                const croft_launch_options *options) {
    if (options->faults == NULL)
        return NULL;
    if (!dispatch->variant->choice.count_faults)
        return "the dispatch was prepared without count_faults";
    return options->stream != NULL
               ? "the count of a launch on a stream is not there when it returns"
               : NULL;
}

static croft_status refuse_launch(const croft_dispatch *dispatch, croft_diagnostics **findings,
                                  const char *reason) {
    api_call call;
    api_call_begin(&call, dispatch->kernel->context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, api_refuse(&call, "faults", "faults", reason, NULL, NULL));
}

croft_status croft_launch(croft_dispatch *dispatch, const croft_launch_options *given,
                          croft_diagnostics **findings) {
    croft_launch_options options = {0};
    if (findings != NULL)
        *findings = NULL;
    if (dispatch == NULL)
        return api_misuse_early(NULL, findings, "there is no dispatch");
    if (given != NULL && given->size == sizeof options)
        options = *given;
    else if (given != NULL && !api_struct_read(given, &options, sizeof options))
        return api_misuse_early(&dispatch->kernel->context->allocator, findings,
                                "the size of the options is not set");
    const char *reason = cannot_count(dispatch, &options);
    if (reason != NULL)
        return refuse_launch(dispatch, findings, reason);
    if (options.data != NULL)
        return launch_elsewhere(dispatch, &options, findings);
    runtime_launch launch = dispatch->launch;
    launch.stream = options.stream;
    return api_dispatch_run(dispatch, &launch, options.faults, findings);
}
