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

/* ---- with other memory ---- */
static croft_status check_conditions(api_call *call, const croft_dispatch *dispatch) {
    const api_variant *variant = dispatch->variant;
    const runtime_arguments arguments = {.tensors = dispatch->tensors, .sizes = dispatch->words};
    for (int64_t i = 0; i < variant->compiled.condition_count; i++) {
        const layout_condition *condition = &variant->compiled.conditions[i];
        runtime_obstacle obstacle;
        if (!variant->holds[i] || runtime_condition_holds(condition, &arguments, &obstacle))
            continue;
        const char *subject = ir_condition_subject(variant->compiled.module, condition);
        base_text asked, found;
        base_text_init(&asked, &call->arena);
        base_text_init(&found, &call->arena);
        layout_condition_print(&asked, condition, subject);
        runtime_obstacle_print(&found, condition, subject, &obstacle);
        return api_refuse(call, "condition", subject,
                          "the variant that was prepared does not run there", found.bytes,
                          asked.bytes);
    }
    return CROFT_OK;
}

static croft_status move_tensor(api_call *call, croft_dispatch *moved, int parameter, int pointer,
                                void *data) {
    const croft_kernel *kernel = moved->kernel;
    runtime_tensor *tensor = &moved->tensors[parameter];
    if (data == NULL && api_tensor_bytes(tensor) > 0)
        return api_misuse(
            call, base_diagnostics_text(&call->diagnostics, "data: NULL for the elements of %s",
                                        moved->variant->compiled.tile->parameters[parameter].name));
    if (kernel->context->device->vtable->locate == NULL)
        tensor->address = (uint64_t)(uintptr_t)data;
    int64_t bytes = api_tensor_bytes(tensor);
    bool kept = kernel->context->device->vtable->locate != NULL && bytes == 0;
    moved->pointers[pointer] = kept ? NULL : data;
    return api_memory_place(call, moved, moved->variant->compiled.tile->parameters[parameter].name,
                            data, 0, parameter);
}

static croft_status check_alignments(api_call *call, const croft_dispatch *dispatch) {
    const ir_parameter *parameters = dispatch->variant->compiled.tile->parameters;
    croft_status status = CROFT_OK;
    for (int i = 0; i < dispatch->parameter_count && status == CROFT_OK; i++)
        if (parameters[i].is_tensor)
            status = api_tensor_check_alignment(call, parameters[i].name, &dispatch->tensors[i]);
    return status;
}

/* Gives a copy of a dispatch the addresses that its tensors have now, and asks again what depends
 * on them. */
static croft_status move_tensors(api_call *call, croft_dispatch *moved, void *const *data) {
    int pointer = 0;
    for (int i = 0; i < moved->parameter_count; i++) {
        if (!moved->variant->compiled.tile->parameters[i].is_tensor)
            continue;
        croft_status placed = move_tensor(call, moved, i, pointer, data[pointer]);
        if (placed != CROFT_OK)
            return placed;
        pointer++;
    }
    moved->launch.pointers = moved->pointers;
    croft_status status = check_alignments(call, moved);
    status = status == CROFT_OK ? api_overlaps_check(call, moved) : status;
    return status == CROFT_OK ? check_conditions(call, moved) : status;
}

/* Adds the faults of all programs of the launch that has just run; nothing on failure. */
static runtime_status add_faults(const croft_dispatch *dispatch, uint64_t *faults,
                                 runtime_report *report) {
    const compile_result *compiled = &dispatch->variant->compiled;
    runtime_device *device = dispatch->kernel->context->device;
    int number = compiled->faults - compiled->own_parameters;
    int64_t bytes = dispatch->workspace_bytes[number];
    const uint64_t *counts = dispatch->workspace[number];
    if (dispatch->counts != NULL && bytes > 0) {
        runtime_status status =
            device->vtable->copy_out(device, dispatch->counts, counts, bytes, report);
        if (status != RUNTIME_OK)
            return status;
        counts = dispatch->counts;
    }
    for (int64_t i = 0; i < bytes / (int64_t)sizeof *counts; i++)
        *faults += counts[i];
    return RUNTIME_OK;
}

croft_status api_dispatch_run(croft_dispatch *dispatch, const runtime_launch *launch,
                              uint64_t *faults, croft_diagnostics **findings) {
    runtime_device *device = dispatch->kernel->context->device;
    runtime_report report; /* large: only a failure touches it */
    if (dispatch->workspace_count > 0)
        runtime_lock_take(&dispatch->lock);
    runtime_status status =
        device->vtable->launch(device, dispatch->variant->module, launch, &report);
    if (status == RUNTIME_OK && faults != NULL && dispatch->variant->compiled.faults >= 0)
        status = add_faults(dispatch, faults, &report);
    if (dispatch->workspace_count > 0)
        runtime_lock_give(&dispatch->lock);
    return status == RUNTIME_OK
               ? CROFT_OK
               : api_report_status(dispatch->kernel->context->allocator, findings, &report, status);
}

static croft_status launch_moved(api_call *call, croft_dispatch *dispatch,
                                 const croft_launch_options *options) {
    croft_dispatch *moved = BASE_NEW(&call->arena, croft_dispatch);
    memcpy(moved, dispatch, sizeof *moved);
    croft_status status = move_tensors(call, moved, options->data);
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
