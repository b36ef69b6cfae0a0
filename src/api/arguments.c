/* Arguments: as the front end knows them (types and shapes), and as memory (addresses and strides).
 *
 *     croft_tensor {float 32, shape 4 x 100, strides 128 1}   ->   text_argument  f32[4, 100]
 *                                                             ->   runtime_tensor 4 x 100, 128 1
 */
#include "api/api_internal.h"

#include "base/checked.h"

#include <string.h>

static const struct {
    int code, bits;
    base_dtype dtype;
} dtypes[] = {
    {CROFT_FLOAT, 32, BASE_F32}, {CROFT_FLOAT, 16, BASE_F16}, {CROFT_BFLOAT, 16, BASE_BF16},
    {CROFT_INT, 64, BASE_I64},   {CROFT_INT, 32, BASE_I32},   {CROFT_INT, 8, BASE_I8},
    {CROFT_UINT, 32, BASE_U32},  {CROFT_UINT, 8, BASE_U8},    {CROFT_BOOL, 8, BASE_BOOL},
};

static bool dtype_of(const croft_tensor *tensor, base_dtype *dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        *dtype = dtypes[i].dtype;
        if (dtypes[i].code == tensor->dtype_code && dtypes[i].bits == tensor->dtype_bits &&
            tensor->dtype_lanes == 1)
            return true;
    }
    return false;
}

static const char *code_name(int code) {
    return code == CROFT_INT      ? "i"
           : code == CROFT_UINT   ? "u"
           : code == CROFT_FLOAT  ? "f"
           : code == CROFT_BFLOAT ? "bf"
           : code == CROFT_BOOL   ? "bool"
                                  : "an unknown code, ";
}

static const char *number_text(api_call *call, int64_t number) {
    return base_diagnostics_text(&call->diagnostics, "%lld", (long long)number);
}

/* ---- for the front end ---- */
static croft_status read_tensor(api_call *call, const char *name, const croft_tensor *tensor,
                                text_argument *text) {
    if (tensor == NULL || tensor->rank < 0 || (tensor->rank > 0 && tensor->shape == NULL))
        return CROFT_MISUSE;
    text->kind = TEXT_ARGUMENT_TENSOR;
    if (!dtype_of(tensor, &text->dtype))
        return api_refuse(call, "argument-value", name, "no kernel has elements of this type",
                          base_diagnostics_text(&call->diagnostics, "%s%d, %d lanes",
                                                code_name(tensor->dtype_code), tensor->dtype_bits,
                                                tensor->dtype_lanes),
                          "f32, f16, bf16, i64, i32, u32, i8, u8 or bool");
    if (tensor->rank > IR_MAX_RANK)
        return api_refuse(call, "rank-mismatch", name, "too many axes",
                          number_text(call, tensor->rank), "at most 4");
    text->rank = tensor->rank;
    for (int d = 0; d < tensor->rank; d++) {
        text->extent[d] = tensor->shape[d];
        if (tensor->shape[d] < 0)
            return api_refuse(call, "argument-value", name, "a shape is negative",
                              number_text(call, tensor->shape[d]), "0 or more");
    }
    return CROFT_OK;
}

/* A type's name or a layout, by what the parameter is. */
static croft_status read_text(api_call *call, const char *text, text_argument *argument) {
    if (text == NULL)
        return CROFT_MISUSE;
    bool dtype = base_dtype_from_name(text, strlen(text), &argument->dtype);
    argument->kind = dtype ? TEXT_ARGUMENT_DTYPE : TEXT_ARGUMENT_LAYOUT;
    argument->layout = base_arena_copy(&call->arena, text, strlen(text));
    return CROFT_OK;
}

static croft_status read_argument(api_call *call, const croft_argument *argument,
                                  text_argument *text) {
    switch (argument->kind) {
    case CROFT_ARGUMENT_TENSOR:
        return read_tensor(call, text->name, argument->tensor, text);
    case CROFT_ARGUMENT_INTEGER:
        text->kind = TEXT_ARGUMENT_NUMBER;
        text->is_integer = true;
        text->integer = argument->integer;
        text->number = (double)argument->integer;
        return CROFT_OK;
    case CROFT_ARGUMENT_REAL:
        text->kind = TEXT_ARGUMENT_NUMBER;
        text->number = argument->real;
        return CROFT_OK;
    case CROFT_ARGUMENT_TEXT:
        return read_text(call, argument->text, text);
    }
    return CROFT_MISUSE;
}

croft_status api_arguments_read(api_call *call, const croft_argument *arguments, int count,
                                text_argument **texts) {
    *texts = BASE_NEW_ARRAY(&call->arena, text_argument, count + 1);
    for (int i = 0; i < count; i++) {
        text_argument *text = &(*texts)[i];
        if (arguments[i].name == NULL)
            return CROFT_MISUSE;
        text->name = base_arena_copy(&call->arena, arguments[i].name, strlen(arguments[i].name));
        croft_status status = read_argument(call, &arguments[i], text);
        if (status != CROFT_OK)
            return status;
    }
    return CROFT_OK;
}

/* ---- memory ---- */
/* Bytes from the first element to behind the last one. False: more than 63 bits. */
static bool span_of(const runtime_tensor *tensor, int64_t *bytes) {
    int64_t last = 0, step;
    *bytes = 0;
    for (int d = 0; d < tensor->rank; d++) {
        if (tensor->extents[d] == 0)
            return true;
        if (!base_checked_mul(tensor->extents[d] - 1, tensor->strides[d], &step) ||
            !base_checked_add(last, step, &last))
            return false;
    }
    return base_checked_add(last, 1, &last) &&
           base_checked_mul(last, tensor->element_bytes, bytes) &&
           tensor->address <= UINT64_MAX - (uint64_t)*bytes;
}

static croft_status check_alignment(api_call *call, const char *name,
                                    const runtime_tensor *tensor) {
    if (tensor->address % (uint64_t)tensor->element_bytes == 0)
        return CROFT_OK;
    return api_refuse(call, "tensor-alignment", name, "an element is not aligned to its size", NULL,
                      base_diagnostics_text(&call->diagnostics, "a multiple of %lld",
                                            (long long)tensor->element_bytes));
}

/* Whether two indices of the tensor are one element: each axis, from the smallest step on, has to
 * step over all of those before. */
static bool meets_itself(const runtime_tensor *tensor) {
    bool done[LAYOUT_MAX_RANK] = {false};
    int64_t covered = 0;
    for (int round = 0; round < tensor->rank; round++) {
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

static bool read_strides(const croft_tensor *given, runtime_tensor *tensor) {
    int64_t dense = 1;
    for (int d = given->rank - 1; d >= 0; d--) {
        tensor->extents[d] = given->shape[d];
        tensor->strides[d] = given->strides != NULL ? given->strides[d] : dense;
        if (given->strides == NULL &&
            !base_checked_mul(dense, given->shape[d] > 0 ? given->shape[d] : 1, &dense))
            return false;
    }
    return true;
}

static croft_status check_strides(api_call *call, const char *name, const runtime_tensor *tensor) {
    for (int d = 0; d < tensor->rank; d++)
        if (tensor->strides[d] < 0)
            return api_refuse(call, "stride-negative", name, "a stride is negative",
                              number_text(call, tensor->strides[d]),
                              "0 or more; a copy, where elements lie backwards");
    int last = tensor->rank - 1;
    if (last >= 0 && tensor->extents[last] > 1 && tensor->strides[last] != 1)
        return api_refuse(call, "stride-last", name, "elements of the last axis lie apart",
                          number_text(call, tensor->strides[last]),
                          "stride 1 along the last axis; a copy, where it is another");
    return CROFT_OK;
}

static croft_status check_place(api_call *call, const char *name, const croft_tensor *given,
                                const runtime_tensor *tensor, int device_type) {
    int64_t bytes = 0;
    if (!span_of(tensor, &bytes))
        return api_refuse(call, "tensor-range", name,
                          "its elements span more than the address "
                          "space",
                          NULL, "shape times strides within 63 bits");
    if (bytes > 0 && given->data == NULL)
        return api_refuse(call, "argument-value", name, "no memory for its elements", "NULL",
                          "a pointer");
    if (bytes > 0 && given->device_type != device_type)
        return api_refuse(
            call, "tensor-device", name, "it lies on another device",
            number_text(call, given->device_type),
            base_diagnostics_text(&call->diagnostics, "%d, that of the context", device_type));
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

int64_t api_tensor_bytes(const runtime_tensor *tensor) {
    int64_t bytes = 0;
    return span_of(tensor, &bytes) ? bytes : 0;
}

/* What is left once types and strides are known to be right: where it lies. */
static croft_status place_tensor(api_call *call, const croft_kernel *kernel, const char *name,
                                 const croft_tensor *given, croft_dispatch *dispatch,
                                 int parameter) {
    const runtime_device_vtable *device = kernel->context->device->vtable;
    runtime_tensor *tensor = &dispatch->tensors[parameter];
    if (device->locate == NULL)
        tensor->address = (uint64_t)(uintptr_t)given->data + given->byte_offset;
    croft_status status = check_place(call, name, given, tensor, device->memory);
    int64_t bytes = api_tensor_bytes(tensor);
    if (status == CROFT_OK)
        status =
            api_memory_place(call, kernel, name, given->data, given->byte_offset, bytes, tensor);
    if (status == CROFT_OK && bytes > 0)
        status = check_alignment(call, name, tensor);
    return status == CROFT_OK ? api_memory_take(call, dispatch, given, bytes, parameter) : status;
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
            status = api_refuse(call, "tensor-range", bound->name,
                                "its elements span more than "
                                "the address space",
                                NULL, "shape times strides within 63 bits");
        dispatch->written[i] = mode_of(kernel, bound->name) != IR_IN;
        dispatch->read[i] = mode_of(kernel, bound->name) != IR_OUT;
        status = status == CROFT_OK ? check_strides(call, bound->name, tensor) : status;
        if (status == CROFT_OK)
            status = place_tensor(call, kernel, bound->name, given, dispatch, i);
        if (status == CROFT_OK && dispatch->written[i] && meets_itself(tensor))
            status =
                api_refuse(call, "output-overlap", bound->name, "two indices of it are one element",
                           NULL, "strides that keep the elements of an output apart");
        if (status != CROFT_OK)
            return status;
    }
    return CROFT_OK;
}

/* ---- tensors that meet ---- */
static bool is_one_tensor(const runtime_tensor *a, const runtime_tensor *b) {
    bool one = a->space == b->space && a->address == b->address && a->rank == b->rank &&
               a->element_bytes == b->element_bytes && a->element_bytes > 0;
    for (int d = 0; one && d < a->rank; d++)
        one = a->extents[d] == b->extents[d] &&
              (a->strides[d] == b->strides[d] || a->extents[d] <= 1);
    return one;
}

/* The first input that the tensor is; -1: none. */
static int find_home(const croft_dispatch *dispatch, const text_bindings *bindings, int tensor) {
    for (int i = 0; i < bindings->argument_count; i++)
        if (!dispatch->written[i] && bindings->arguments[i].kind == TEXT_ARGUMENT_TENSOR &&
            bindings->arguments[i].dtype == bindings->arguments[tensor].dtype &&
            is_one_tensor(&dispatch->tensors[i], &dispatch->tensors[tensor]))
            return i;
    return -1;
}

static void set_home(text_bindings *bindings, text_argument *arguments, int count, int tensor,
                     int home) {
    const char *name = bindings->arguments[home].name;
    bindings->arguments[tensor].home = name;
    for (int i = 0; i < count; i++)
        if (strcmp(arguments[i].name, bindings->arguments[tensor].name) == 0)
            arguments[i].home = name;
}

void api_homes_find(const croft_dispatch *dispatch, text_bindings *bindings,
                    text_argument *arguments, int count) {
    for (int i = 0; i < bindings->argument_count; i++) {
        int home =
            dispatch->written[i] && !dispatch->read[i] ? find_home(dispatch, bindings, i) : -1;
        if (home < 0)
            continue;
        set_home(bindings, arguments, count, i, home);
        for (int k = home + 1; k < bindings->argument_count; k++)
            if (!dispatch->written[k] && find_home(dispatch, bindings, k) == home)
                set_home(bindings, arguments, count, k, home);
    }
}

static bool has_bytes(const runtime_tensor *tensor) {
    int64_t bytes = 0;
    return tensor->element_bytes > 0 && span_of(tensor, &bytes) && bytes > 0;
}

static bool meet(const runtime_tensor *a, const runtime_tensor *b) {
    int64_t a_bytes = 0, b_bytes = 0;
    if (a->element_bytes == 0 || b->element_bytes == 0 || a->space != b->space)
        return false;
    (void)!(span_of(a, &a_bytes) && span_of(b, &b_bytes)); /* both were asked before */
    return a_bytes > 0 && b_bytes > 0 && a->address < b->address + (uint64_t)b_bytes &&
           b->address < a->address + (uint64_t)a_bytes;
}

/* An output and the inputs that are it. */
static const char *home_of(const text_argument *tensor) {
    return tensor->home != NULL ? tensor->home : tensor->name;
}

croft_status api_overlaps_check(api_call *call, const croft_dispatch *dispatch) {
    const text_argument *bound = dispatch->variant->compiled.bindings.arguments;
    for (int i = 0; i < dispatch->parameter_count; i++)
        for (int k = 0; k < dispatch->parameter_count; k++) {
            const runtime_tensor *a = &dispatch->tensors[i], *b = &dispatch->tensors[k];
            bool once = i != k && dispatch->written[i] && !(dispatch->written[k] && k < i);
            bool one = !dispatch->written[k] && strcmp(home_of(&bound[i]), home_of(&bound[k])) == 0;
            if (once && (one ? !is_one_tensor(a, b) && has_bytes(a) : meet(a, b)))
                return api_refuse(call, "tensor-overlap", bound[i].name,
                                  "bytes of an output are those of another tensor", bound[k].name,
                                  one ? "the tensor that it was when this was prepared"
                                      : "tensors that lie apart, or are one, element for element");
        }
    return CROFT_OK;
}

croft_status api_alignments_check(api_call *call, const croft_dispatch *dispatch) {
    const ir_parameter *names = dispatch->variant->compiled.tile->parameters;
    croft_status status = CROFT_OK;
    for (int i = 0; i < dispatch->parameter_count && status == CROFT_OK; i++) {
        const runtime_tensor *tensor = &dispatch->tensors[i];
        int64_t bytes = 0;
        if (tensor->element_bytes > 0 && span_of(tensor, &bytes) && bytes > 0)
            status = check_alignment(call, names[i].name, tensor);
    }
    return status;
}
