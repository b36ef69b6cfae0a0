/* Calls with objects of another language, which reads them for us.
 *
 *     inputs (x, w), output y     tensor() of each -> x, w, y in the order of the list
 *     stream() of the device      -> croft_function_call on it
 */
#include "api/function_internal.h"

#include <string.h>

/* CU_STREAM_LEGACY: NULL means the device's own stream here. */
static void *const legacy_stream = (void *)1;

static bool read_reader(const croft_objects *given, croft_objects *objects) {
    *objects = (croft_objects){0};
    return given != NULL && api_struct_read(given, objects, sizeof *objects) &&
           objects->length != NULL && objects->item != NULL && objects->tensor != NULL &&
           (objects->leave != NULL) == (objects->enter != NULL);
}

static croft_status refuse_object(api_call *call, const char *name, const char *what) {
    return api_refuse(call, "object", name, what, NULL, NULL);
}

static croft_status refuse_length(api_call *call, const char *name, ptrdiff_t found, int wanted) {
    if (found < 0)
        return refuse_object(call, name, "its length cannot be read");
    return api_misuse(call,
                      base_diagnostics_text(&call->diagnostics, "%s: %lld objects, %d are wanted",
                                            name, (long long)found, wanted));
}

/* Object number `number` of a tuple, or a lone object, as the tensor of a slot. */
static croft_status read_object(api_call *call, const croft_objects *objects, void *tuple,
                                int number, bool alone, const api_slot *slot,
                                croft_tensor *tensor) {
    void *object = alone ? tuple : objects->item(tuple, number);
    if (object == NULL)
        return refuse_object(call, slot->name, "there is no object");
    return objects->tensor(object, tensor) == 0
               ? CROFT_OK
               : refuse_object(call, slot->name, "the object is no tensor");
}

static croft_status read_objects(api_call *call, const croft_function *function,
                                 const croft_objects *objects, void *inputs, void *outputs,
                                 croft_tensor *tensors) {
    int written = function->slot_count - function->read_count;
    int input = 0, output = 0;
    if (function->read_count > 0 && inputs == NULL)
        return api_misuse(call, "there are no inputs");
    if (written > 0 && outputs == NULL)
        return api_misuse(call, "there are no outputs");
    ptrdiff_t length = function->read_count > 0 ? objects->length(inputs) : 0;
    if (length != function->read_count)
        return refuse_length(call, "inputs", length, function->read_count);
    length = written > 1 ? objects->length(outputs) : written;
    if (length != written)
        return refuse_length(call, "outputs", length, written);
    for (int i = 0; i < function->slot_count; i++) {
        const api_slot *slot = &function->slots[i];
        croft_status status =
            slot->is_read
                ? read_object(call, objects, inputs, input++, false, slot, &tensors[i])
                : read_object(call, objects, outputs, output++, written == 1, slot, &tensors[i]);
        if (status != CROFT_OK)
            return status;
    }
    return CROFT_OK;
}

/* The language's current stream of the context's device; NULL: the device has none, and launches
 * are waited for. */
static croft_status current_stream(api_call *call, const croft_context *context,
                                   const croft_objects *objects, void **stream) {
    int memory = context->device->vtable->memory;
    *stream = NULL;
    if (memory == CROFT_ON_CPU)
        return CROFT_OK;
    if (objects->stream != NULL && objects->stream(memory, context->device_index, stream) != 0)
        return refuse_object(call, context->device->vtable->name, "its stream cannot be asked for");
    if (*stream == NULL && memory == CROFT_ON_CUDA)
        *stream = legacy_stream;
    return CROFT_OK;
}

croft_status croft_function_call_objects(croft_function *function, const croft_objects *given,
                                         void *inputs, void *outputs,
                                         croft_diagnostics **findings) {
    croft_objects objects;
    croft_tensor tensors[API_PARAMETERS_LIMIT];
    const croft_tensor *pointers[API_PARAMETERS_LIMIT];
    croft_call_options options = {.size = sizeof options};
    if (findings != NULL)
        *findings = NULL;
    if (function == NULL)
        return api_misuse_early(NULL, findings, "there is no function");
    const croft_context *context = function->kernel->context;
    if (!read_reader(given, &objects))
        return api_misuse_early(&context->allocator, findings,
                                "the functions that read objects, or their size, are missing");
    api_call call;
    api_call_begin(&call, context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    croft_status status = read_objects(&call, function, &objects, inputs, outputs, tensors);
    if (status == CROFT_OK)
        status = current_stream(&call, context, &objects, &options.stream);
    status = api_call_end(&call, status);
    if (status != CROFT_OK)
        return status;
    for (int i = 0; i < function->slot_count; i++)
        pointers[i] = &tensors[i];
    void *left = objects.leave != NULL ? objects.leave() : NULL;
    status = croft_function_call(function, pointers, function->slot_count, &options, findings);
    if (objects.enter != NULL)
        objects.enter(left);
    return status;
}

croft_status croft_launch_objects(croft_dispatch *dispatch, const croft_objects *given,
                                  croft_diagnostics **findings) {
    croft_objects objects;
    croft_launch_options options = {.size = sizeof options};
    if (findings != NULL)
        *findings = NULL;
    if (dispatch == NULL)
        return api_misuse_early(NULL, findings, "there is no dispatch");
    const croft_context *context = dispatch->kernel->context;
    if (!read_reader(given, &objects))
        return api_misuse_early(&context->allocator, findings,
                                "the functions that read objects, or their size, are missing");
    api_call call;
    api_call_begin(&call, context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    croft_status status =
        api_call_end(&call, current_stream(&call, context, &objects, &options.stream));
    return status == CROFT_OK ? croft_launch(dispatch, &options, findings) : status;
}
