/* Dispatches: a variant with its arguments packed. */
#include "api/api_internal.h"

#include "base/checked.h"

#include <string.h>

/* ---- packing ---- */
/* The bits of a scalar in the low bytes of a word (runtime/device.h). */
static int64_t scalar_word(const text_argument *bound, base_dtype dtype) {
    double real = bound->is_integer ? (double)bound->integer : bound->number;
    int64_t word = 0;
    float single = (float)base_float_round(dtype, real);
    if (dtype == BASE_F32)
        memcpy(&word, &single, sizeof single);
    else if (dtype == BASE_F16)
        word = base_f16_from_double(real);
    else if (dtype == BASE_BF16)
        word = base_bf16_from_double(real);
    else
        word = base_dtype_size(dtype) == 8
                   ? bound->integer
                   : bound->integer & (((int64_t)1 << (8 * base_dtype_size(dtype))) - 1);
    return word;
}

/* The module whose parameters a launch has: those of the kernel, and behind them the faults of each
 * program, where they are counted, and the tensors that the launches hand on. */
static const ir_module *whole_module(const compile_result *compiled) {
    return compiled->launch_count > 1 ? compiled->launches[0].module : compiled->tile;
}

static void pack(croft_dispatch *dispatch, const text_bindings *bindings) {
    const ir_module *module = whole_module(&dispatch->variant->compiled);
    int64_t *words = dispatch->words;
    int64_t count = module->extents.symbol_count;
    if (count > 0)
        memcpy(words, bindings->sizes, sizeof *words * (size_t)count);
    for (int i = 0; i < module->parameter_count; i++) {
        const runtime_tensor *tensor = &dispatch->tensors[i];
        if (!module->parameters[i].is_tensor)
            continue;
        for (int d = 0; d < tensor->rank; d++)
            words[count++] = tensor->strides[d];
        dispatch->pointers[dispatch->pointer_count++] = dispatch->memory[i];
        dispatch->own_pointers += i < dispatch->variant->compiled.own_parameters;
    }
    for (int i = 0; i < module->parameter_count; i++)
        if (!module->parameters[i].is_tensor)
            words[count++] = scalar_word(&bindings->arguments[i], module->parameters[i].dtype);
}

/* ---- what launches hand on ---- */
/* Allocates a tensor that one launch writes and a later one reads: dense, on the device. */
static croft_status make_tensor(api_call *call, croft_dispatch *dispatch,
                                const text_bindings *bindings, int parameter, int number) {
    runtime_device *device = dispatch->kernel->context->device;
    const ir_parameter *known = &whole_module(&dispatch->variant->compiled)->parameters[parameter];
    const ir_type *type = &known->value->type;
    runtime_tensor *tensor = &dispatch->tensors[parameter];
    int64_t bytes = base_dtype_size(known->dtype);
    *tensor = (runtime_tensor){.rank = type->rank, .element_bytes = bytes};
    int64_t dense = 1;
    for (int d = type->rank - 1; d >= 0; d--) {
        tensor->strides[d] = dense;
        if (!layout_extent_evaluate(type->extent[d], bindings->sizes, &tensor->extents[d]) ||
            !base_checked_mul(dense, tensor->extents[d], &dense))
            return CROFT_OUT_OF_MEMORY;
    }
    if (!base_checked_mul(bytes, dense, &bytes))
        return CROFT_OUT_OF_MEMORY;
    void **memory = &dispatch->workspace[number];
    dispatch->workspace_bytes[number] = bytes;
    if (device->vtable->allocate != NULL) {
        runtime_report *report = api_allocate(call->allocator, sizeof *report);
        if (report == NULL)
            return CROFT_OUT_OF_MEMORY;
        runtime_status status = device->vtable->allocate(device, bytes, memory, report);
        croft_status answer = api_runtime_status(call, report, status);
        api_release(call->allocator, report, sizeof *report);
        if (answer != CROFT_OK)
            return answer;
    } else {
        *memory = api_allocate(call->allocator, (size_t)bytes + 1);
        if (*memory == NULL)
            return CROFT_OUT_OF_MEMORY;
    }
    dispatch->memory[parameter] = *memory;
    if (device->vtable->locate != NULL)
        tensor->space = (uint64_t)(uintptr_t)*memory;
    else
        tensor->address = (uint64_t)(uintptr_t)*memory;
    return CROFT_OK;
}

static croft_status make_workspace(api_call *call, croft_dispatch *dispatch,
                                   const text_bindings *bindings) {
    const compile_result *compiled = &dispatch->variant->compiled;
    const ir_module *module = whole_module(compiled);
    int own = compiled->own_parameters;
    if (module->parameter_count > API_PARAMETERS_LIMIT) {
        (void)api_refuse(
            call, "parameter-limit", module->name,
            "its launches hand on more tensors than there may be parameters", NULL,
            base_diagnostics_text(&call->diagnostics, "at most %d", API_PARAMETERS_LIMIT));
        return CROFT_OUT_OF_RESOURCES;
    }
    int count = module->parameter_count - own;
    if (count == 0)
        return CROFT_OK;
    dispatch->workspace = api_allocate(call->allocator, sizeof(void *) * (size_t)count);
    dispatch->workspace_bytes = api_allocate(call->allocator, sizeof(int64_t) * (size_t)count);
    dispatch->workspace_count = count;
    if (dispatch->workspace == NULL || dispatch->workspace_bytes == NULL)
        return CROFT_OUT_OF_MEMORY;
    croft_status status = CROFT_OK;
    for (int i = 0; i < count && status == CROFT_OK; i++)
        status = make_tensor(call, dispatch, bindings, own + i, i);
    if (status != CROFT_OK || compiled->faults < 0 ||
        dispatch->kernel->context->device->vtable->copy_out == NULL)
        return status;
    dispatch->counts = api_allocate(call->allocator,
                                    (size_t)dispatch->workspace_bytes[compiled->faults - own] + 1);
    return dispatch->counts != NULL ? CROFT_OK : CROFT_OUT_OF_MEMORY;
}

static void free_workspace(croft_dispatch *dispatch) {
    base_allocator allocator = dispatch->kernel->context->allocator;
    runtime_device *device = dispatch->kernel->context->device;
    size_t count = (size_t)dispatch->workspace_count;
    if (dispatch->counts != NULL) {
        const compile_result *compiled = &dispatch->variant->compiled;
        api_release(allocator, dispatch->counts,
                    (size_t)dispatch->workspace_bytes[compiled->faults - compiled->own_parameters] +
                        1);
    }
    for (size_t i = 0; i < count && dispatch->workspace != NULL; i++)
        if (dispatch->workspace[i] != NULL && device->vtable->release != NULL)
            device->vtable->release(device, dispatch->workspace[i]);
        else if (dispatch->workspace[i] != NULL)
            api_release(allocator, dispatch->workspace[i],
                        (size_t)dispatch->workspace_bytes[i] + 1);
    api_release(allocator, dispatch->workspace, sizeof(void *) * count);
    api_release(allocator, dispatch->workspace_bytes, sizeof(int64_t) * count);
}

/* ---- preparing ---- */
/* Roughly how long the launch takes on one thread, by the bytes of its tensors: short ones do not
 * wake other threads. */
static double predicted_work_ns(const croft_dispatch *dispatch) {
    double bytes = 0;
    for (int i = 0; i < dispatch->parameter_count; i++) {
        double elements = (double)dispatch->tensors[i].element_bytes;
        for (int d = 0; d < dispatch->tensors[i].rank; d++)
            elements *= (double)dispatch->tensors[i].extents[d];
        bytes += elements;
    }
    return bytes / RUNTIME_BYTES_PER_NS;
}

static croft_status size_launches(api_call *call, croft_dispatch *dispatch,
                                  const text_bindings *bindings) {
    const compile_result *compiled = &dispatch->variant->compiled;
    dispatch->sizes =
        api_allocate(call->allocator, sizeof *dispatch->sizes * (size_t)compiled->launch_count);
    if (dispatch->sizes == NULL)
        return CROFT_OUT_OF_MEMORY;
    for (int i = compiled->launch_count - 1; i >= 0; i--) {
        compile_launch size;
        if (!compile_launch_of(compiled, i, bindings->sizes, &size))
            return api_refuse(call, "size-range", compiled->tile->name,
                              "a size of the kernel does not fit 64 bits", NULL, NULL);
        dispatch->launch.groups = size.groups;
        dispatch->launch.workspace_bytes = size.workspace_bytes;
        if (i > 0)
            dispatch->sizes[i - 1] = (runtime_size){size.groups, size.workspace_bytes};
    }
    dispatch->launch.behind = dispatch->sizes;
    return CROFT_OK;
}

/* What groups of a launch need, so that no launch has to take it. */
static croft_status make_group_workspace(api_call *call, croft_dispatch *dispatch) {
    runtime_device *device = dispatch->kernel->context->device;
    int64_t bytes =
        device->vtable->workspace != NULL
            ? device->vtable->workspace(device, dispatch->variant->module, &dispatch->launch)
            : 0;
    if (bytes == 0)
        return CROFT_OK;
    runtime_report *report = api_allocate(call->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    runtime_status status =
        device->vtable->allocate(device, bytes, &dispatch->launch.workspace, report);
    dispatch->group_workspace_bytes = status == RUNTIME_OK ? bytes : 0;
    croft_status answer = api_runtime_status(call, report, status);
    api_release(call->allocator, report, sizeof *report);
    return answer;
}

static croft_status fill_dispatch(api_call *call, croft_dispatch *dispatch,
                                  const text_bindings *bindings) {
    const compile_result *compiled = &dispatch->variant->compiled;
    dispatch->parameter_count = compiled->own_parameters;
    croft_status status = api_overlaps_check(call, dispatch);
    if (status == CROFT_OK)
        status = make_workspace(call, dispatch, bindings);
    if (status != CROFT_OK)
        return status;
    size_t words = (size_t)ir_module_word_count(whole_module(compiled)) + 1;
    dispatch->words = api_allocate(call->allocator, sizeof(int64_t) * words);
    if (dispatch->words == NULL)
        return CROFT_OUT_OF_MEMORY;
    pack(dispatch, bindings);
    status = api_places_make(dispatch);
    if (status != CROFT_OK)
        return status;
    dispatch->launch = (runtime_launch){.pointers = dispatch->pointers,
                                        .words = dispatch->words,
                                        .work_ns = predicted_work_ns(dispatch)};
    status = size_launches(call, dispatch, bindings);
    return status == CROFT_OK ? make_group_workspace(call, dispatch) : status;
}

/* Fills a dispatch that has only its kernel yet. The caller frees it, even after a failure. */
static croft_status prepare(api_call *call, const croft_argument *arguments, int count,
                            const api_choice *choice, croft_dispatch *dispatch) {
    croft_kernel *kernel = dispatch->kernel;
    if (choice->plan != NULL && choice->set != NULL && choice->set[0] != '\0')
        return api_refuse(call, "plan-set", "plan_set",
                          "a plan that is given leaves nothing to set", choice->set,
                          "the one or the other");
    text_argument *texts = NULL;
    text_bindings bindings;
    croft_status status = api_arguments_read(call, arguments, count, &texts);
    if (status != CROFT_OK)
        return status;
    if (!text_kernel_bind(&call->arena, kernel->syntax.kernel, texts, count, false, &bindings,
                          &call->diagnostics))
        return CROFT_REJECTED;
    if (bindings.argument_count > API_PARAMETERS_LIMIT)
        return CROFT_OUT_OF_RESOURCES;
    status = api_tensors_read(call, kernel, &bindings, arguments, count, dispatch);
    if (status == CROFT_OK)
        api_homes_find(dispatch, &bindings, texts, count);
    if (status == CROFT_OK)
        status = api_variant_take(call, kernel, &bindings, texts, count, choice, dispatch->tensors,
                                  &dispatch->variant);
    return status == CROFT_OK ? fill_dispatch(call, dispatch, &bindings) : status;
}

static bool read_options(const croft_prepare_options *given, api_choice *choice) {
    croft_prepare_options options = {0};
    if (given != NULL && !api_struct_read(given, &options, sizeof options))
        return false;
    *choice = (api_choice){.strict = options.strict != 0,
                           .count_faults = options.count_faults != 0,
                           .plan = options.plan,
                           .set = options.plan_set};
    return true;
}

croft_status croft_prepare(croft_kernel *kernel, const croft_argument *arguments, int count,
                           const croft_prepare_options *options, croft_dispatch **made,
                           croft_diagnostics **findings) {
    api_choice choice;
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *early = kernel != NULL ? &kernel->context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(early, findings, "there is nowhere to put the dispatch");
    *made = NULL;
    if (kernel == NULL)
        return api_misuse_early(early, findings, "there is no kernel");
    if (count < 0 || (count > 0 && arguments == NULL))
        return api_misuse_early(early, findings, "there are no arguments");
    if (!read_options(options, &choice))
        return api_misuse_early(early, findings, "the size of the options is not set");
    base_allocator allocator = kernel->context->allocator;
    croft_dispatch *dispatch = api_allocate(allocator, sizeof *dispatch);
    if (dispatch == NULL)
        return CROFT_OUT_OF_MEMORY;
    dispatch->kernel = kernel;
    api_call call;
    api_call_begin(&call, allocator, findings);
    if (setjmp(call.exhausted) != 0) {
        croft_dispatch_free(dispatch);
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    }
    croft_status status = api_call_end(&call, prepare(&call, arguments, count, &choice, dispatch));
    if (status == CROFT_OK)
        *made = dispatch;
    else
        croft_dispatch_free(dispatch);
    return status;
}

void croft_dispatch_free(croft_dispatch *dispatch) {
    if (dispatch == NULL)
        return;
    base_allocator allocator = dispatch->kernel->context->allocator;
    runtime_device *device = dispatch->kernel->context->device;
    if (dispatch->launch.workspace != NULL)
        device->vtable->release(device, dispatch->launch.workspace);
    free_workspace(dispatch);
    api_places_free(dispatch);
    api_memory_release(dispatch);
    if (dispatch->variant != NULL) {
        const compile_result *compiled = &dispatch->variant->compiled;
        size_t words = (size_t)ir_module_word_count(whole_module(compiled)) + 1;
        api_release(allocator, dispatch->words, sizeof(int64_t) * words);
        api_release(allocator, dispatch->sizes,
                    sizeof *dispatch->sizes * (size_t)compiled->launch_count);
    }
    api_release(allocator, dispatch, sizeof *dispatch);
}
