/* Tensors of a call that share memory: outputs that lie in an input, and overlaps that are refused.
 *
 *     x 4 x 100 at 0x1000, y 4 x 100 at 0x1000     y lies in x: x is the home of y, and the variant
 *                                                  is one that works in place
 *     x 4 x 100 at 0x1000, y 4 x 100 at 0x1004     refused: tensor-overlap
 *     both with rows 0x400 apart, y at 0x1190      columns of one matrix: they share nothing
 *
 * A home is an input of the same type, shape, strides and address, so that each index of both is
 * the same element. Which outputs have one is decided when a call is prepared, as other code is
 * compiled then; launches with other memory have to keep it so.
 */
#include "api/api_internal.h"

#include <string.h>

/* Whether each index of both is the same element in memory. */
static bool is_same_tensor(const runtime_tensor *a, const runtime_tensor *b) {
    bool same = a->space == b->space && a->address == b->address && a->rank == b->rank &&
                a->element_bytes == b->element_bytes && a->element_bytes > 0;
    for (int d = 0; same && d < a->rank; d++)
        same = a->extents[d] == b->extents[d] &&
               (a->strides[d] == b->strides[d] || a->extents[d] <= 1);
    return same;
}

/* The number of the first input that the output `tensor` lies in; -1: none. */
static int find_home(const croft_dispatch *dispatch, const text_bindings *bindings, int tensor) {
    for (int i = 0; i < bindings->argument_count; i++)
        if (!dispatch->written[i] && bindings->arguments[i].kind == TEXT_ARGUMENT_TENSOR &&
            bindings->arguments[i].dtype == bindings->arguments[tensor].dtype &&
            is_same_tensor(&dispatch->tensors[i], &dispatch->tensors[tensor]))
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

/* The bytes of one row. Into *pitch goes what steps from row to row are multiples of, together with
 * what is there; 0: there are none. */
static uint64_t row_bytes(const runtime_tensor *tensor, uint64_t *pitch) {
    int last = tensor->rank - 1;
    for (int d = 0; d < last; d++) {
        uint64_t step = (uint64_t)tensor->strides[d] * (uint64_t)tensor->element_bytes;
        for (uint64_t rest; tensor->extents[d] > 1 && step != 0; step = rest) {
            rest = *pitch % step; /* Euclid */
            *pitch = step;
        }
    }
    return (uint64_t)tensor->element_bytes * (last >= 0 ? (uint64_t)tensor->extents[last] : 1);
}

/* Columns of one matrix: rows of each lie in what the steps of the other leave free. */
static bool are_columns(const runtime_tensor *a, const runtime_tensor *b) {
    const runtime_tensor *first = a->address < b->address ? a : b;
    const runtime_tensor *second = first == a ? b : a;
    uint64_t pitch = 0;
    uint64_t first_row = row_bytes(first, &pitch), second_row = row_bytes(second, &pitch);
    if (pitch == 0)
        return false;
    uint64_t apart = (second->address - first->address) % pitch;
    return apart >= first_row && pitch - apart >= second_row;
}

bool api_tensors_meet(const runtime_tensor *a, const runtime_tensor *b) {
    int64_t a_bytes = api_tensor_bytes(a), b_bytes = api_tensor_bytes(b);
    return a->space == b->space && a_bytes > 0 && b_bytes > 0 &&
           a->address < b->address + (uint64_t)b_bytes &&
           b->address < a->address + (uint64_t)a_bytes && !are_columns(a, b);
}

/* The name of the input that an output lies in, else the tensor's own. */
static const char *home_of(const text_argument *tensor) {
    return tensor->home != NULL ? tensor->home : tensor->name;
}

static bool have_same_home(const text_argument *a, const text_argument *b) {
    return strcmp(home_of(a), home_of(b)) == 0;
}

/* Of the pairs of two outputs one is asked about. */
static bool is_asked(const croft_dispatch *dispatch, int output, int other) {
    bool seen = dispatch->written[other] && other < output;
    return output != other && dispatch->written[output] && !seen;
}

bool api_pair_matters(const croft_dispatch *dispatch, int output, int other) {
    return is_asked(dispatch, output, other) && api_tensor_bytes(&dispatch->tensors[output]) > 0 &&
           api_tensor_bytes(&dispatch->tensors[other]) > 0;
}

bool api_pair_is_one(const croft_dispatch *dispatch, int output, int other) {
    const text_argument *bound = dispatch->variant->compiled.bindings.arguments;
    return !dispatch->written[other] && have_same_home(&bound[output], &bound[other]);
}

/* What is expected of two tensors, of which the first is written; NULL: they are as they have to
 * be. An output and its home have to be the same tensor still. */
static const char *expect_otherwise(const croft_dispatch *dispatch, int output, int other) {
    const runtime_tensor *a = &dispatch->tensors[output], *b = &dispatch->tensors[other];
    if (api_pair_is_one(dispatch, output, other))
        return is_same_tensor(a, b) || api_tensor_bytes(a) == 0
                   ? NULL
                   : "the tensor that it was when this was prepared";
    return api_tensors_meet(a, b) ? "tensors that lie apart, or are one, element for element"
                                  : NULL;
}

croft_status api_overlaps_check(api_call *call, const croft_dispatch *dispatch) {
    const text_argument *bound = dispatch->variant->compiled.bindings.arguments;
    for (int i = 0; i < dispatch->parameter_count; i++)
        for (int k = 0; k < dispatch->parameter_count; k++) {
            if (!is_asked(dispatch, i, k))
                continue;
            const char *expected = expect_otherwise(dispatch, i, k);
            if (expected != NULL)
                return api_refuse(call, "tensor-overlap", bound[i].name,
                                  "bytes of an output are those of another tensor", bound[k].name,
                                  expected);
        }
    return CROFT_OK;
}
