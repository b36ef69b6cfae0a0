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

/* What is wrong with the objects of a call. */
typedef struct object_fault {
    const char *name;      /* a parameter, or one of the tuples; NULL: nothing is wrong */
    const char *failed;    /* what the language could not do, which it has told; NULL: */
    int64_t found, wanted; /* a tuple of another length; -1: there is none */
} object_fault;

static croft_status tell(const base_allocator *allocator, const object_fault *fault,
                         croft_diagnostics **findings) {
    api_call call;
    api_call_begin(&call, *allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    if (fault->failed != NULL)
        return api_call_end(&call,
                            api_refuse(&call, "object", fault->name, fault->failed, NULL, NULL));
    return api_call_end(
        &call,
        api_misuse(&call,
                   fault->found < 0
                       ? base_diagnostics_text(&call.diagnostics, "there are no %s", fault->name)
                       : base_diagnostics_text(&call.diagnostics,
                                               "%s: %lld objects, %lld are wanted", fault->name,
                                               (long long)fault->found, (long long)fault->wanted)));
}

static object_fault check_tuple(const croft_objects *objects, const char *name, void *tuple,
                                int wanted) {
    if (tuple == NULL)
        return (object_fault){.name = name, .found = -1};
    ptrdiff_t length = objects->length(tuple);
    if (length < 0)
        return (object_fault){.name = name, .failed = "its length cannot be read"};
    return length != wanted ? (object_fault){.name = name, .found = length, .wanted = wanted}
                            : (object_fault){0};
}

/* A view that is computed when it is read, as PyTorch's x.conj().imag, does not say so here. Its
 * memory steps over the other half of each number, which is refused of more elements than one. */
static bool may_be_computed(const croft_tensor *tensor) {
    const int last = tensor->rank - 1;
    return last >= 0 && tensor->shape != NULL && tensor->strides != NULL &&
           tensor->shape[last] == 1 && tensor->strides[last] != 1;
}

bool api_object_read(const croft_objects *objects, void *object, croft_tensor *tensor) {
    return objects->tensor(object, tensor) == 0 && !may_be_computed(tensor);
}

/* The tensor that an object is. */
static object_fault read_object(const croft_objects *objects, void *object, const api_slot *slot,
                                croft_tensor *tensor) {
    if (object == NULL)
        return (object_fault){.name = slot->name, .failed = "there is no object"};
    if (objects->tensor(object, tensor) != 0)
        return (object_fault){.name = slot->name, .failed = "the object is no tensor"};
    if (may_be_computed(tensor))
        return (object_fault){.name = slot->name, .failed = "it may be a view that is computed"};
    return (object_fault){0};
}

static object_fault read_objects(const croft_function *function, const croft_objects *objects,
                                 void *inputs, void *outputs, croft_tensor *tensors) {
    const int written = function->slot_count - function->read_count;
    object_fault fault = {0};
    if (function->read_count > 0)
        fault = check_tuple(objects, "inputs", inputs, function->read_count);
    if (fault.name == NULL && written > 1)
        fault = check_tuple(objects, "outputs", outputs, written);
    if (fault.name == NULL && written == 1 && outputs == NULL)
        fault = (object_fault){.name = "outputs", .found = -1};
    int input = 0, output = 0;
    for (int i = 0; i < function->slot_count && fault.name == NULL; i++) {
        const api_slot *slot = &function->slots[i];
        void *object = slot->is_read  ? objects->item(inputs, input++)
                       : written == 1 ? outputs
                                      : objects->item(outputs, output++);
        fault = read_object(objects, object, slot, &tensors[i]);
    }
    return fault;
}

/* The language's current stream of the context's device; NULL: the device has none, and launches
 * are waited for. */
static object_fault find_stream(const croft_context *context, const croft_objects *objects,
                                void **stream) {
    const runtime_device_vtable *device = context->device->vtable;
    *stream = NULL;
    if (device->memory == RUNTIME_MEMORY_CPU)
        return (object_fault){0};
    if (objects->stream != NULL &&
        objects->stream(device->memory, context->device_index, stream) != 0)
        return (object_fault){.name = device->name, .failed = "its stream cannot be asked for"};
    if (*stream == NULL && device->memory == RUNTIME_MEMORY_CUDA)
        *stream = legacy_stream;
    return (object_fault){0};
}

bool api_objects_stream(const croft_context *context, const croft_objects *objects, void **stream) {
    return find_stream(context, objects, stream).name == NULL;
}

croft_status croft_function_call_objects(croft_function *function, const croft_objects *given,
                                         void *inputs, void *outputs,
                                         croft_diagnostics **findings) {
    croft_objects objects;
    croft_tensor tensors[API_PARAMETERS_LIMIT]; /* this and the next not zeroed: they are large */
    const croft_tensor *pointers[API_PARAMETERS_LIMIT];
    void *stream = NULL;
    if (findings != NULL)
        *findings = NULL;
    if (function == NULL)
        return api_misuse_early(NULL, findings, "there is no function");
    const croft_context *context = function->kernel->context;
    if (!read_reader(given, &objects))
        return api_misuse_early(&context->allocator, findings,
                                "the functions that read objects, or their size, are missing");
    object_fault fault = read_objects(function, &objects, inputs, outputs, tensors);
    if (fault.name == NULL)
        fault = find_stream(context, &objects, &stream);
    if (fault.name != NULL)
        return tell(&context->allocator, &fault, findings);
    for (int i = 0; i < function->slot_count; i++)
        pointers[i] = &tensors[i];
    return api_function_call(function, pointers, function->slot_count, stream, &objects, findings);
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
    object_fault fault = find_stream(context, &objects, &options.stream);
    if (fault.name != NULL)
        return tell(&context->allocator, &fault, findings);
    bool worth = api_worth_leaving(dispatch) && objects.leave != NULL;
    void *left = worth ? objects.leave() : NULL;
    croft_status status = croft_launch(dispatch, &options, findings);
    if (worth)
        objects.enter(left);
    return status;
}
