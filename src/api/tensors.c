/* Tensors of a call as memory: where they begin, their strides, and what is wrong with those.
 *
 *     croft_tensor {float 32, shape 4 x 100, strides 128 1}   ->   runtime_tensor 4 x 100, 128 1
 *
 * What a tensor's type and shape have to be for the kernel was asked before, by the front end.
 */
#include "api/api_internal.h"

#include "base/checked.h"

#include <string.h>

static bool has_no_elements(const runtime_tensor *tensor) {
    bool none = false;
    for (int d = 0; d < tensor->rank; d++)
        none = none || tensor->extents[d] == 0;
    return none;
}

/* The bytes between the beginning of the first element and the end of the last one. False: they are
 * not within 63 bits, or not within the address space from where the tensor begins. */
static bool span_of(const runtime_tensor *tensor, int64_t *bytes) {
    int64_t last = 0, step;
    *bytes = 0;
    if (has_no_elements(tensor))
        return true;
    for (int d = 0; d < tensor->rank; d++) {
        if (!base_checked_mul(tensor->extents[d] - 1, tensor->strides[d], &step) ||
            !base_checked_add(last, step, &last))
            return false;
    }
    return base_checked_add(last, 1, &last) &&
           base_checked_mul(last, tensor->element_bytes, bytes) &&
           tensor->address <= UINT64_MAX - (uint64_t)*bytes;
}

/* Whether two indices of the tensor may be the same element. They are not where each stride, from
 * the smallest on, is larger than all that the axes with smaller strides cover together. */
static bool repeats_elements(const runtime_tensor *tensor) {
    bool done[LAYOUT_MAX_RANK] = {false};
    int64_t covered = 0;
    for (int round = 0; round < tensor->rank && !has_no_elements(tensor); round++) {
        int least = -1;
        for (int d = 0; d < tensor->rank; d++)
            if (!done[d] && (least < 0 || tensor->strides[d] < tensor->strides[least]))
                least = d;
        done[least] = true;
        if (tensor->extents[least] <= 1)
            continue;
        if (tensor->strides[least] <= covered)
            return true;
        covered += (tensor->extents[least] - 1) * tensor->strides[least];
    }
    return false;
}

int64_t api_tensor_bytes(const runtime_tensor *tensor) {
    int64_t bytes = 0;
    return span_of(tensor, &bytes) ? bytes : 0;
}

croft_status api_tensor_check_alignment(api_call *call, const char *name,
                                        const runtime_tensor *tensor) {
    if (api_tensor_bytes(tensor) == 0 || tensor->address % (uint64_t)tensor->element_bytes == 0)
        return CROFT_OK;
    return api_refuse(call, "tensor-alignment", name, "an element is not aligned to its size", NULL,
                      base_diagnostics_text(&call->diagnostics, "a multiple of %lld",
                                            (long long)tensor->element_bytes));
}

static croft_status refuse_range(api_call *call, const char *name) {
    return api_refuse(call, "tensor-range", name, "its elements span more than the address space",
                      NULL, "shape times strides within 63 bits");
}

/* Takes extents and strides; rows are dense where no strides are given. False: there are elements,
 * and their number is not within 63 bits. */
static bool read_strides(const croft_tensor *given, runtime_tensor *tensor) {
    int64_t dense = 1;
    bool fits = true;
    for (int d = given->rank - 1; d >= 0; d--) {
        tensor->extents[d] = given->shape[d];
        tensor->strides[d] = given->strides != NULL ? given->strides[d] : dense;
        if (given->strides == NULL &&
            !base_checked_mul(dense, given->shape[d] > 0 ? given->shape[d] : 1, &dense)) {
            fits = false;
            dense = 1;
        }
    }
    return fits || has_no_elements(tensor);
}

static croft_status check_strides(api_call *call, const char *name, const runtime_tensor *tensor) {
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->strides[d] < 0)
            return api_refuse(call, "stride-negative", name, "a stride is negative",
                              api_number_text(call, tensor->strides[d]),
                              "0 or more; a copy, where elements lie backwards");
    int last = tensor->rank - 1;
    if (last >= 0 && tensor->extents[last] > 1 && tensor->strides[last] != 1)
        return api_refuse(call, "stride-last", name, "elements of the last axis lie apart",
                          api_number_text(call, tensor->strides[last]),
                          "stride 1 along the last axis; a copy, where it is another");
    return CROFT_OK;
}

static croft_status check_place(api_call *call, const char *name, const croft_tensor *given,
                                const runtime_tensor *tensor, const croft_context *context) {
    int device_type = context->device->vtable->memory;
    int64_t bytes = 0;
    if (!span_of(tensor, &bytes) ||
        (bytes > 0 && given->byte_offset > UINT64_MAX - (uint64_t)(uintptr_t)given->data))
        return refuse_range(call, name);
    if (bytes > 0 && given->data == NULL)
        return api_refuse(call, "argument-value", name, "no memory for its elements", "NULL",
                          "a pointer");
    if (bytes == 0)
        return CROFT_OK;
    int of_process = given->device_type == CROFT_ON_CPU || given->device_type == CROFT_ON_CUDA_HOST;
    if (device_type == CROFT_ON_CPU ? !of_process : given->device_type != device_type)
        return api_refuse(
            call, "tensor-device", name, "it lies on another device",
            api_number_text(call, given->device_type),
            base_diagnostics_text(&call->diagnostics, "%d, that of the context", device_type));
    if (device_type != CROFT_ON_CPU && given->device_id != context->device_index)
        return api_refuse(call, "tensor-device", name, "it lies on another device of this kind",
                          base_diagnostics_text(&call->diagnostics, "number %d", given->device_id),
                          base_diagnostics_text(&call->diagnostics,
                                                "number %d, that of the context",
                                                context->device_index));
    return CROFT_OK;
}

static const croft_tensor *tensor_named(const croft_argument *arguments, int count,
                                        const char *name) {
    for (int i = 0; i < count; i++)
        if (arguments[i].kind == CROFT_ARGUMENT_TENSOR && strcmp(arguments[i].name, name) == 0)
            return arguments[i].tensor;
    return NULL;
}

static ir_access_mode mode_of(const croft_kernel *kernel, const char *name) {
    text_signature_entry entry;
    for (int i = 0; text_kernel_signature(kernel->syntax.kernel, i, &entry); i++)
        if (strcmp(entry.name, name) == 0)
            return entry.mode;
    return IR_IN;
}

/* Finds and checks where a tensor lies whose type and strides are known to be right. */
static croft_status place_tensor(api_call *call, const char *name, const croft_tensor *given,
                                 croft_dispatch *dispatch, int parameter) {
    const runtime_device_vtable *device = dispatch->kernel->context->device->vtable;
    runtime_tensor *tensor = &dispatch->tensors[parameter];
    if (device->locate == NULL)
        tensor->address = (uint64_t)(uintptr_t)given->data + given->byte_offset;
    croft_status status = check_place(call, name, given, tensor, dispatch->kernel->context);
    if (status == CROFT_OK)
        status = api_memory_place(call, dispatch, name, given->data, given->byte_offset, parameter);
    if (status == CROFT_OK)
        status = api_tensor_check_alignment(call, name, tensor);
    return status == CROFT_OK
               ? api_memory_take(call, dispatch, given, api_tensor_bytes(tensor), parameter)
               : status;
}

croft_status api_tensors_read(api_call *call, const croft_kernel *kernel,
                              const text_bindings *bindings, const croft_argument *arguments,
                              int count, croft_dispatch *dispatch) {
    for (int i = 0; i < bindings->argument_count; i++) {
        const text_argument *bound = &bindings->arguments[i];
        const croft_tensor *given = bound->kind == TEXT_ARGUMENT_TENSOR
                                        ? tensor_named(arguments, count, bound->name)
                                        : NULL;
        if (given == NULL)
            continue;
        runtime_tensor *tensor = &dispatch->tensors[i];
        *tensor =
            (runtime_tensor){.rank = given->rank, .element_bytes = base_dtype_size(bound->dtype)};
        croft_status status = CROFT_OK;
        if (!read_strides(given, tensor))
            status = refuse_range(call, bound->name);
        dispatch->written[i] = mode_of(kernel, bound->name) != IR_IN;
        dispatch->read[i] = mode_of(kernel, bound->name) != IR_OUT;
        status = status == CROFT_OK ? check_strides(call, bound->name, tensor) : status;
        if (status == CROFT_OK)
            status = place_tensor(call, bound->name, given, dispatch, i);
        if (status == CROFT_OK && dispatch->written[i] && repeats_elements(tensor))
            status =
                api_refuse(call, "output-overlap", bound->name, "two indices of it are one element",
                           NULL, "strides that keep the elements of an output apart");
        if (status != CROFT_OK)
            return status;
    }
    return CROFT_OK;
}
