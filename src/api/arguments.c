/* Arguments as the front end knows them: types and shapes, and nothing of where they lie.
 *
 *     croft_tensor {float 32, shape 4 x 100, strides 128 1}   ->   text_argument  f32[4, 100]
 */
#include "api/api_internal.h"

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

void api_dtype_code(base_dtype dtype, uint8_t *code, uint8_t *bits) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
        if (dtypes[i].dtype == dtype) {
            *code = (uint8_t)dtypes[i].code;
            *bits = (uint8_t)dtypes[i].bits;
        }
}

static const char *code_name(int code) {
    return code == CROFT_INT      ? "i"
           : code == CROFT_UINT   ? "u"
           : code == CROFT_FLOAT  ? "f"
           : code == CROFT_BFLOAT ? "bf"
           : code == CROFT_BOOL   ? "bool"
                                  : "an unknown code, ";
}

static croft_status misuse_of(api_call *call, const char *name, const char *what) {
    return api_misuse(call,
                      base_diagnostics_text(&call->diagnostics, "argument %.200s %s", name, what));
}

/* `f64`, or `f32, 2 lanes`. */
static const char *element_text(api_call *call, const croft_tensor *tensor) {
    const char *code = code_name(tensor->dtype_code);
    if (tensor->dtype_lanes == 1)
        return base_diagnostics_text(&call->diagnostics, "%s%d", code, tensor->dtype_bits);
    return base_diagnostics_text(&call->diagnostics, "%s%d, %d lanes", code, tensor->dtype_bits,
                                 tensor->dtype_lanes);
}

static croft_status read_tensor(api_call *call, const char *name, const croft_tensor *tensor,
                                text_argument *text) {
    const char *missing = tensor == NULL                              ? "has no tensor"
                          : tensor->rank < 0                          ? "has a negative rank"
                          : tensor->rank > 0 && tensor->shape == NULL ? "has no shape"
                                                                      : NULL;
    if (missing != NULL)
        return misuse_of(call, name, missing);
    text->kind = TEXT_ARGUMENT_TENSOR;
    if (!dtype_of(tensor, &text->dtype))
        return api_refuse(call, "argument-value", name, "no kernel has elements of this type",
                          element_text(call, tensor),
                          "f32, f16, bf16, i64, i32, u32, i8, u8 or bool");
    if (tensor->rank > IR_MAX_RANK)
        return api_refuse(call, "rank-mismatch", name, "too many axes",
                          api_number_text(call, tensor->rank),
                          base_diagnostics_text(&call->diagnostics, "at most %d", IR_MAX_RANK));
    text->rank = tensor->rank;
    for (int d = 0; d < tensor->rank; d++) {
        text->extent[d] = tensor->shape[d];
        if (tensor->shape[d] < 0)
            return api_refuse(call, "argument-value", name, "a shape is negative",
                              api_number_text(call, tensor->shape[d]), "0 or more");
    }
    return CROFT_OK;
}

/* A text is the name of a type or a layout: whichever it is can be told from the text. */
static croft_status read_text(api_call *call, const char *text, text_argument *argument) {
    if (text == NULL)
        return misuse_of(call, argument->name, "has no text");
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
    return misuse_of(call, text->name, "is of no kind that there is");
}

croft_status api_arguments_read(api_call *call, const croft_argument *arguments, int count,
                                text_argument **texts) {
    *texts = BASE_NEW_ARRAY(&call->arena, text_argument, count + 1);
    for (int i = 0; i < count; i++) {
        text_argument *text = &(*texts)[i];
        if (arguments[i].name == NULL)
            return misuse_of(call, api_number_text(call, i), "has no name");
        text->name = base_arena_copy(&call->arena, arguments[i].name, strlen(arguments[i].name));
        croft_status status = read_argument(call, &arguments[i], text);
        if (status != CROFT_OK)
            return status;
    }
    return CROFT_OK;
}
