/* Where tensors lie: an address, or a handle that the device is asked about.
 *
 *     croft_tensor {data 0x7f..00, byte_offset 64}     ->   address 0x7f..40, of the process
 *     croft_tensor {data a handle, byte_offset 1024}   ->   address 1024, of that buffer's space;
 *                                                           the device is given a part of it,
 *                                                           those bytes and no others
 */
#include "api/api_internal.h"

static croft_status ask_device(api_call *call, runtime_device *device, void *data,
                               runtime_place *place) {
    runtime_report *report = api_allocate(call->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    runtime_status status = device->vtable->locate(device, data, place, report);
    croft_status answer = api_runtime_status(call, report, status);
    api_release(call->allocator, report, sizeof *report);
    return answer;
}

/* Whether launches may do with it what the kernel does. */
static croft_status check_access(api_call *call, const char *name, const runtime_place *place,
                                 bool read, bool written) {
    if (place->foreign)
        return api_refuse(call, "tensor-device", name, "its buffer is of another cl_context", NULL,
                          "a buffer of the context's own");
    if (written && place->read_only)
        return api_refuse(call, "tensor-access", name, "its buffer is not for launches to write",
                          "CL_MEM_READ_ONLY", "CL_MEM_READ_WRITE");
    if (read && place->write_only)
        return api_refuse(call, "tensor-access", name, "its buffer is not for launches to read",
                          "CL_MEM_WRITE_ONLY", "CL_MEM_READ_WRITE");
    return CROFT_OK;
}

static croft_status check_range(api_call *call, const char *name, const runtime_place *place,
                                uint64_t byte_offset, int64_t bytes) {
    const uint64_t there = (uint64_t)place->bytes;
    if (byte_offset > there || there - byte_offset < (uint64_t)bytes)
        return api_refuse(call, "tensor-range", name, "its elements lie past the end of its buffer",
                          base_diagnostics_text(&call->diagnostics, "a buffer of %lld bytes",
                                                (long long)place->bytes),
                          base_diagnostics_text(&call->diagnostics, "%lld bytes from %llu on",
                                                (long long)bytes, (unsigned long long)byte_offset));
    if (byte_offset % (uint64_t)place->part_alignment != 0)
        return api_refuse(call, "tensor-alignment", name,
                          "parts of buffers do not begin there on this device",
                          base_diagnostics_text(&call->diagnostics, "byte_offset %llu",
                                                (unsigned long long)byte_offset),
                          base_diagnostics_text(&call->diagnostics, "a multiple of %lld",
                                                (long long)place->part_alignment));
    return CROFT_OK;
}

croft_status api_memory_place(api_call *call, croft_dispatch *dispatch, const char *name,
                              void *data, uint64_t byte_offset, int parameter) {
    runtime_device *device = dispatch->kernel->context->device;
    runtime_tensor *tensor = &dispatch->tensors[parameter];
    int64_t bytes = api_tensor_bytes(tensor);
    runtime_place place = {0};
    if (device->vtable->locate == NULL || bytes == 0)
        return CROFT_OK;
    croft_status status = ask_device(call, device, data, &place);
    if (status == CROFT_OK)
        status = check_access(call, name, &place, dispatch->read[parameter],
                              dispatch->written[parameter]);
    if (status == CROFT_OK)
        status = check_range(call, name, &place, byte_offset, bytes);
    tensor->space = place.space;
    tensor->address = place.address + byte_offset;
    return status;
}

static bool are_same_bytes(const croft_dispatch *dispatch, int a, int b) {
    const runtime_tensor *first = &dispatch->tensors[a], *second = &dispatch->tensors[b];
    int64_t bytes = api_tensor_bytes(first);
    return dispatch->memory[a] != NULL && first->space == second->space &&
           first->address == second->address && bytes == api_tensor_bytes(second);
}

static croft_status take_part(api_call *call, croft_dispatch *dispatch, const croft_tensor *given,
                              int64_t bytes, int parameter) {
    runtime_device *device = dispatch->kernel->context->device;
    runtime_report *report = api_allocate(call->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    runtime_status status = device->vtable->part(device, given->data, (int64_t)given->byte_offset,
                                                 bytes, &dispatch->parts[parameter], report);
    croft_status answer = api_runtime_status(call, report, status);
    api_release(call->allocator, report, sizeof *report);
    dispatch->memory[parameter] = dispatch->parts[parameter];
    return answer;
}

/* What reads one handle and writes another one of the same bytes does anything. So each handle has
 * the bytes of its tensor alone, and the same bytes by several names are one handle: that of a
 * tensor that is written. */
croft_status api_memory_take(api_call *call, croft_dispatch *dispatch, const croft_tensor *given,
                             int64_t bytes, int parameter) {
    void **memory = &dispatch->memory[parameter];
    if (dispatch->kernel->context->device->vtable->part == NULL) {
        *memory = (void *)(uintptr_t)dispatch->tensors[parameter].address;
        return CROFT_OK;
    }
    if (bytes == 0)
        return CROFT_OK;
    for (int i = 0; i < parameter; i++) {
        if (are_same_bytes(dispatch, i, parameter) &&
            (dispatch->written[i] || !dispatch->written[parameter])) {
            *memory = dispatch->memory[i];
            return CROFT_OK;
        }
    }
    croft_status status = take_part(call, dispatch, given, bytes, parameter);
    for (int i = 0; i < parameter && status == CROFT_OK; i++)
        if (are_same_bytes(dispatch, i, parameter))
            dispatch->memory[i] = *memory;
    return status;
}

void api_memory_release(croft_dispatch *dispatch) {
    runtime_device *device = dispatch->kernel->context->device;
    for (int i = 0; i < API_PARAMETERS_LIMIT; i++)
        if (dispatch->parts[i] != NULL)
            device->vtable->release(device, dispatch->parts[i]);
}
