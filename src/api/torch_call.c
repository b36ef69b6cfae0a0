/* One call of an operator of PyTorch.
 *
 *     stack  x  w  [eps]    ->   read, a derivative refused, the function found   ->   launched
 *     stack  y              <-   made (no outputs: given, and their versions counted)
 *
 * The tensors on the stack are the callee's, and so is the memory of each number. They are released
 * whatever happens; then only may PyTorch throw, through this file and the pool, which alone are
 * compiled with tables for that.
 */
#include "api/torch_internal.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 16 * 1024 };

/* CU_STREAM_LEGACY: NULL means the device's own stream here. */
static void *const legacy_stream = (void *)1;

typedef struct torch_call {
    croft_torch_operator *one;
    uint64_t *stack;
    int given_count; /* tensors on the stack; those that are made are behind them in `handles` */
    int made_count;
    void *handles[API_PARAMETERS_LIMIT]; /* by place in the schema */
    api_torch_choice choice;
    croft_tensor tensors[API_PARAMETERS_LIMIT]; /* by slot */
    const croft_tensor *pointers[API_PARAMETERS_LIMIT];
    croft_diagnostics *findings;
    const char *why; /* in place of findings; NULL: the status says all */
} torch_call;

/* ---- what goes wrong ---- */
static croft_status refuse(torch_call *call, const char *slug, const char *name,
                           const char *message, const char *found, const char *expected,
                           const char *hint) {
    api_call told;
    api_call_begin(&told, call->one->allocator, &call->findings);
    if (setjmp(told.exhausted) != 0)
        return api_call_end(&told, CROFT_OUT_OF_MEMORY);
    croft_status status = api_refuse(&told, slug, name, message, found, expected);
    told.diagnostics.items[told.diagnostics.count - 1].hint = hint;
    return api_call_end(&told, status);
}

static croft_status refuse_number(torch_call *call, const char *slug, const char *name,
                                  const char *message, int64_t number, const char *expected) {
    char found[32];
    (void)snprintf(found, sizeof found, "number %lld", (long long)number);
    return refuse(call, slug, name, message, found, expected, NULL);
}

static void release(torch_call *call) {
    const int count = call->given_count + call->made_count;
    for (int i = 0; i < count; i++)
        (void)call->one->torch.destroy(call->handles[i]);
}

static void throw_what(torch_call *call, croft_status status) {
    char text[TEXT_BYTES]; /* on the stack: nobody is left to free it */
    const croft_torch *torch = &call->one->torch;
    const char *told = call->why;
    if (call->findings != NULL)
        told = croft_diagnostics_text(call->findings);
    if (told == NULL)
        told = croft_status_name(status);
    size_t length = strnlen(told, sizeof text - 1);
    while (length > 0 && told[length - 1] == '\n')
        length--;
    memcpy(text, told, length);
    text[length] = 0;
    croft_diagnostics_free(call->findings);
    release(call);
    torch->check(false, "croft", "torch_call.c", 0, text);
}

/* ---- reading ---- */
static void take_numbers(torch_call *call, int first) {
    const croft_torch_operator *one = call->one;
    for (int i = 0; i < one->number_count; i++) {
        void *word = (void *)(uintptr_t)call->stack[first + i];
        if (word == NULL)
            continue;
        memcpy(&call->choice.words[i], word, sizeof call->choice.words[i]);
        call->choice.given |= UINT32_C(1) << i;
        one->torch.release(word);
    }
}

/* Takes what lies on the stack. False: another number of things than the schema has. */
static bool take(torch_call *call, uint64_t input_count, uint64_t output_count) {
    const croft_torch_operator *one = call->one;
    const int written = one->slot_count - one->read_count;
    call->given_count = output_count > 0 ? one->read_count : one->slot_count;
    if ((output_count != 0 && output_count != (uint64_t)written) ||
        input_count != (uint64_t)call->given_count + (uint64_t)one->number_count) {
        call->given_count = 0;
        return false;
    }
    for (int i = 0; i < call->given_count; i++)
        call->handles[i] = (void *)(uintptr_t)call->stack[i];
    take_numbers(call, call->given_count);
    return true;
}

static const croft_torch_dtype *find_dtype(const croft_torch *torch, int32_t number) {
    for (int i = 0; i < torch->dtype_count; i++)
        if (torch->dtypes[i].number == number)
            return &torch->dtypes[i];
    return NULL;
}

static int32_t number_of(const croft_torch *torch, uint8_t code, uint8_t bits) {
    for (int i = 0; i < torch->dtype_count; i++)
        if (torch->dtypes[i].code == code && torch->dtypes[i].bits == bits)
            return torch->dtypes[i].number;
    return -1;
}

/* The element type and the device. */
static croft_status read_kind(torch_call *call, const char *name, void *handle,
                              croft_tensor *tensor) {
    const croft_torch *torch = &call->one->torch;
    int32_t layout, dtype, type, index;
    if (torch->layout(handle, &layout) != 0 || torch->dtype(handle, &dtype) != 0 ||
        torch->device_type(handle, &type) != 0 || torch->device_index(handle, &index) != 0)
        return refuse(call, "object", name, "PyTorch does not say what it is", NULL, NULL, NULL);
    if (layout != torch->strided)
        return refuse_number(call, "object", name, "its elements do not lie in strides", layout,
                             "a strided tensor");
    const croft_torch_dtype *known = find_dtype(torch, dtype);
    if (known == NULL)
        return refuse_number(call, "object", name, "kernels have no elements of this type", dtype,
                             "a type of real numbers or bool");
    if (type != torch->cpu_number && type != torch->cuda_number)
        return refuse_number(call, "tensor-device", name, "memory that no kernel runs on", type,
                             "the process, or a device that a context can be made for");
    tensor->dtype_code = known->code;
    tensor->dtype_bits = known->bits;
    tensor->dtype_lanes = 1;
    tensor->device_type = type == torch->cpu_number ? CROFT_ON_CPU : CROFT_ON_CUDA;
    tensor->device_id = type == torch->cpu_number ? 0 : index;
    return CROFT_OK;
}

static croft_status read_tensor(torch_call *call, int place) {
    const croft_torch *torch = &call->one->torch;
    const int slot = call->one->order[place];
    const char *name = call->one->slots[slot].name;
    void *handle = call->handles[place];
    croft_tensor *tensor = &call->tensors[slot];
    int64_t rank, *shape, *strides;
    croft_status status = read_kind(call, name, handle, tensor);
    if (status != CROFT_OK)
        return status;
    if (torch->rank(handle, &rank) != 0 || torch->shape(handle, &shape) != 0 ||
        torch->strides(handle, &strides) != 0 || torch->data(handle, &tensor->data) != 0)
        return refuse(call, "object", name, "PyTorch does not say where it lies", NULL,
                      "a tensor that has memory", NULL);
    if (rank > CROFT_OUTPUT_AXES)
        return refuse_number(call, "rank-mismatch", name, "too many axes", rank, "at most 8");
    tensor->rank = (int32_t)rank;
    tensor->shape = shape;
    tensor->strides = strides;
    tensor->byte_offset = 0;
    call->pointers[slot] = tensor;
    return CROFT_OK;
}

static croft_status refuse_derivatives(torch_call *call) {
    const croft_torch *torch = &call->one->torch;
    if (!torch->grad_mode())
        return CROFT_OK;
    for (int i = 0; i < call->given_count; i++)
        if (torch->requires_grad(*(void *const *)call->handles[i]))
            return refuse(call, "requires-grad", call->one->slots[call->one->order[i]].name,
                          "it requires grad, and kernels have no derivative",
                          "requires_grad=True in grad mode", NULL,
                          "call it under torch.no_grad(), or with x.detach()");
    return CROFT_OK;
}

/* The tensors that are given, and the device: of the first that does not lie in the process. */
static croft_status read_tensors(torch_call *call) {
    croft_status status = refuse_derivatives(call);
    call->choice.device_type = CROFT_ON_CPU;
    call->choice.device_id = 0;
    for (int i = 0; i < call->given_count && status == CROFT_OK; i++) {
        const croft_tensor *tensor = &call->tensors[call->one->order[i]];
        status = read_tensor(call, i);
        if (status != CROFT_OK || call->choice.device_type != CROFT_ON_CPU)
            continue;
        call->choice.device_type = tensor->device_type;
        call->choice.device_id = tensor->device_id;
    }
    return status;
}

/* ---- making ---- */
int32_t api_torch_create(const croft_torch *torch, const croft_output *output, int32_t device_type,
                         int32_t device_id, void **handle) {
    int64_t strides[CROFT_OUTPUT_AXES], dense = 1;
    for (int d = output->rank - 1; d >= 0; d--) {
        strides[d] = dense;
        dense *= output->shape[d] > 1 ? output->shape[d] : 1;
    }
    return torch->create(output->rank, output->shape, strides,
                         number_of(torch, output->dtype_code, output->dtype_bits),
                         device_type == CROFT_ON_CUDA ? torch->cuda_number : torch->cpu_number,
                         device_id, handle);
}

static croft_status make(torch_call *call, int place, const croft_output *output) {
    const croft_torch *torch = &call->one->torch;
    if (api_torch_create(torch, output, call->choice.device_type, call->choice.device_id,
                         &call->handles[place]) != 0)
        return refuse(call, "no-memory", call->one->slots[call->one->order[place]].name,
                      "PyTorch has not made it", NULL, NULL, NULL);
    call->made_count++;
    return read_tensor(call, place);
}

static croft_status make_outputs(torch_call *call, croft_function *function) {
    const croft_torch_operator *one = call->one;
    croft_output outputs[API_PARAMETERS_LIMIT]; /* large: not zeroed */
    for (int i = call->given_count; i < one->slot_count; i++) {
        outputs[one->order[i]].size = sizeof *outputs;
        call->pointers[one->order[i]] = NULL;
    }
    croft_status status =
        croft_function_outputs(function, call->pointers, one->slot_count, outputs, &call->findings);
    for (int i = call->given_count; i < one->slot_count && status == CROFT_OK; i++)
        status = make(call, i, &outputs[one->order[i]]);
    return status;
}

/* ---- running ---- */
static croft_status find_stream(torch_call *call, void **stream) {
    const croft_torch *torch = &call->one->torch;
    *stream = NULL;
    if (call->choice.device_type == CROFT_ON_CPU)
        return CROFT_OK;
    if (torch->stream == NULL || torch->stream(call->choice.device_id, stream) != 0)
        return refuse(call, "object", "stream", "PyTorch does not say which is the current one",
                      NULL, NULL, NULL);
    if (*stream == NULL)
        *stream = legacy_stream;
    return CROFT_OK;
}

static void count_versions(torch_call *call) {
    const croft_torch *torch = &call->one->torch;
    for (int i = 0; i < call->given_count; i++)
        if (call->one->slots[call->one->order[i]].is_written &&
            !torch->is_inference(call->handles[i])) /* which has no version */
            torch->count_version(call->handles[i]);
}

static croft_status run(torch_call *call) {
    void *stream;
    croft_status status = read_tensors(call);
    if (status != CROFT_OK)
        return status;
    croft_function *function = api_torch_function(call->one, &call->choice, &call->why);
    if (function == NULL)
        return CROFT_REJECTED;
    if (call->given_count < call->one->slot_count)
        status = make_outputs(call, function);
    if (status == CROFT_OK)
        status = find_stream(call, &stream);
    if (status == CROFT_OK)
        status = api_function_call(function, call->pointers, call->one->slot_count, stream, NULL,
                                   &call->findings);
    if (status == CROFT_OK)
        count_versions(call);
    return status;
}

void api_torch_call(uint64_t *stack, uint64_t input_count, uint64_t output_count, int place) {
    torch_call call; /* large: not zeroed */
    call.one = api_torch_pool_operator(place);
    call.stack = stack;
    call.given_count = call.made_count = 0;
    call.choice.given = 0;
    call.findings = NULL;
    call.why = "the schema of this operator is not that of its kernel";
    croft_status status = CROFT_MISUSE;
    if (take(&call, input_count, output_count)) {
        call.why = NULL;
        status = run(&call);
    }
    if (status != CROFT_OK) {
        throw_what(&call, status);
        return;
    }
    for (int i = 0; i < call.made_count; i++)
        stack[i] = (uint64_t)(uintptr_t)call.handles[call.given_count + i];
    call.made_count = 0;
    release(&call);
}
