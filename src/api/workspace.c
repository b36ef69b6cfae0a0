/* Memory of a dispatch besides the caller's: what its launches hand on, and what groups need.
 *
 * Launches hand on tensors that one writes and a later one reads, dense and in memory of the
 * device. They stand behind the kernel's own parameters; the faults of each program, where they are
 * counted, are one of them. */
#include "api/api_internal.h"

#include "base/checked.h"

/* Dense, with the extents of the parameter. False: more than 63 bits can count. */
static bool describe_tensor(const ir_parameter *parameter, const text_bindings *bindings,
                            runtime_tensor *tensor, int64_t *bytes) {
    const ir_type *type = &parameter->value->type;
    int64_t elements = 1;
    *tensor =
        (runtime_tensor){.rank = type->rank, .element_bytes = base_dtype_size(parameter->dtype)};
    for (int d = type->rank - 1; d >= 0; d--) {
        tensor->strides[d] = elements;
        if (!layout_extent_evaluate(type->extent[d], bindings->sizes, &tensor->extents[d]) ||
            !base_checked_mul(elements, tensor->extents[d], &elements))
            return false;
    }
    return base_checked_mul(tensor->element_bytes, elements, bytes);
}

/* A tensor without elements has memory too. */
static size_t room_of(int64_t bytes) {
    return (size_t)bytes + 1;
}

static croft_status allocate(api_call *call, runtime_device *device, int64_t bytes, void **memory) {
    if (device->vtable->allocate == NULL) {
        *memory = api_allocate(call->allocator, room_of(bytes));
        return *memory != NULL ? CROFT_OK : CROFT_OUT_OF_MEMORY;
    }
    runtime_report *report = api_allocate(call->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    runtime_status status = device->vtable->allocate(device, bytes, memory, report);
    croft_status answer = api_runtime_status(call, report, status);
    api_release(call->allocator, report, sizeof *report);
    return answer;
}

static croft_status make_tensor(api_call *call, croft_dispatch *dispatch,
                                const text_bindings *bindings, int number) {
    runtime_device *device = dispatch->kernel->context->device;
    const int parameter = dispatch->variant->compiled.own_parameters + number;
    runtime_tensor *tensor = &dispatch->tensors[parameter];
    void **memory = &dispatch->workspace[number];
    int64_t *bytes = &dispatch->workspace_bytes[number];
    if (!describe_tensor(&api_dispatch_module(dispatch)->parameters[parameter], bindings, tensor,
                         bytes))
        return CROFT_OUT_OF_MEMORY;
    croft_status status = allocate(call, device, *bytes, memory);
    if (status != CROFT_OK)
        return status;
    dispatch->memory[parameter] = *memory;
    if (device->vtable->locate != NULL)
        tensor->space = (uint64_t)(uintptr_t)*memory;
    else
        tensor->address = (uint64_t)(uintptr_t)*memory;
    return CROFT_OK;
}

/* Which of the tensors has the faults of each program. */
static int counts_number(const croft_dispatch *dispatch) {
    return dispatch->variant->compiled.faults - dispatch->variant->compiled.own_parameters;
}

static int64_t counts_bytes(const croft_dispatch *dispatch) {
    return dispatch->workspace_bytes[counts_number(dispatch)];
}

/* To read them where they lie in memory of a device. */
static croft_status make_counts(api_call *call, croft_dispatch *dispatch) {
    const runtime_device *device = dispatch->kernel->context->device;
    if (dispatch->variant->compiled.faults < 0 || device->vtable->copy_out == NULL)
        return CROFT_OK;
    dispatch->counts = api_allocate(call->allocator, room_of(counts_bytes(dispatch)));
    return dispatch->counts != NULL ? CROFT_OK : CROFT_OUT_OF_MEMORY;
}

static croft_status refuse_count(api_call *call, const ir_module *module) {
    (void)api_refuse(call, "parameter-limit", module->name,
                     "its launches hand on more tensors than there may be parameters", NULL,
                     base_diagnostics_text(&call->diagnostics, "at most %d", API_PARAMETERS_LIMIT));
    return CROFT_OUT_OF_RESOURCES;
}

croft_status api_workspace_make(api_call *call, croft_dispatch *dispatch,
                                const text_bindings *bindings) {
    const ir_module *module = api_dispatch_module(dispatch);
    int count = module->parameter_count - dispatch->variant->compiled.own_parameters;
    if (module->parameter_count > API_PARAMETERS_LIMIT)
        return refuse_count(call, module);
    if (count == 0)
        return CROFT_OK;
    dispatch->workspace = api_allocate(call->allocator, sizeof(void *) * (size_t)count);
    dispatch->workspace_bytes = api_allocate(call->allocator, sizeof(int64_t) * (size_t)count);
    dispatch->workspace_count = count;
    if (dispatch->workspace == NULL || dispatch->workspace_bytes == NULL)
        return CROFT_OUT_OF_MEMORY;
    croft_status status = CROFT_OK;
    for (int i = 0; i < count && status == CROFT_OK; i++)
        status = make_tensor(call, dispatch, bindings, i);
    return status == CROFT_OK ? make_counts(call, dispatch) : status;
}

croft_status api_group_workspace_make(api_call *call, croft_dispatch *dispatch) {
    runtime_device *device = dispatch->kernel->context->device;
    if (device->vtable->workspace == NULL)
        return CROFT_OK;
    int64_t bytes = device->vtable->workspace(device, dispatch->variant->module, &dispatch->launch);
    if (bytes == 0)
        return CROFT_OK;
    croft_status status = allocate(call, device, bytes, &dispatch->launch.workspace);
    dispatch->group_workspace_bytes = status == CROFT_OK ? bytes : 0;
    return status;
}

static void free_tensor(const croft_dispatch *dispatch, size_t number) {
    runtime_device *device = dispatch->kernel->context->device;
    void *memory = dispatch->workspace[number];
    if (memory == NULL)
        return;
    if (device->vtable->release != NULL)
        device->vtable->release(device, memory);
    else
        api_release(dispatch->kernel->context->allocator, memory,
                    room_of(dispatch->workspace_bytes[number]));
}

void api_workspace_free(croft_dispatch *dispatch) {
    runtime_device *device = dispatch->kernel->context->device;
    base_allocator allocator = dispatch->kernel->context->allocator;
    size_t count = (size_t)dispatch->workspace_count;
    if (dispatch->launch.workspace != NULL)
        device->vtable->release(device, dispatch->launch.workspace);
    if (dispatch->counts != NULL)
        api_release(allocator, dispatch->counts, room_of(counts_bytes(dispatch)));
    for (size_t i = 0; i < count && dispatch->workspace != NULL; i++)
        free_tensor(dispatch, i);
    api_release(allocator, dispatch->workspace, sizeof(void *) * count);
    api_release(allocator, dispatch->workspace_bytes, sizeof(int64_t) * count);
}

runtime_status api_faults_add(const croft_dispatch *dispatch, uint64_t *faults,
                              runtime_report *report) {
    runtime_device *device = dispatch->kernel->context->device;
    const int64_t bytes = counts_bytes(dispatch);
    const uint64_t *counts = dispatch->workspace[counts_number(dispatch)];
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
