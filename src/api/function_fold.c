/* Leading axes: tensors that have more of them than their parameters.
 *
 *     x: in T[R, N]    given  2 x 3 x 100, strides 384 128 1    ->   6 x 100, strides 128 1
 *     x: in T[R, N]    given  2 x 3 x 100, strides 100 200 1    ->   refused: axes-fold
 *     labels: in i64[R]       2 x 3, dense                      ->   6
 *     y: out T[R, N]   to be made, R = 6, N = 100               ->   2 x 3 x 100, as x has it
 *
 * The axes before the last ones of the parameter become its first. An axis can join the ones behind
 * it where its stride is what those cover together; one of a single element always does.
 */
#include "api/function_internal.h"

#include "base/checked.h"

static const char *list(api_call *call, const int64_t *numbers, int count) {
    base_text text;
    base_text_init(&text, &call->arena);
    for (int i = 0; i < count; i++)
        base_text_format(&text, "%s%lld", i > 0 ? ", " : "", (long long)numbers[i]);
    return text.bytes != NULL ? text.bytes : "";
}

static croft_status refuse_strides(api_call *call, const api_slot *slot, const croft_tensor *given,
                                   const int64_t *strides) {
    const char *shape = list(call, given->shape, given->rank);
    const char *steps = list(call, strides, given->rank);
    return api_refuse(
        call, "axes-fold", slot->name, "its leading axes cannot be one axis",
        base_diagnostics_text(&call->diagnostics, "shape %s, strides %s", shape, steps),
        base_diagnostics_text(&call->diagnostics,
                              "each stride of the first %d axes that of the axis behind it times "
                              "its elements; a copy, where they are others",
                              given->rank - slot->rank + 1));
}

static bool has_no_elements(const croft_tensor *tensor) {
    bool none = false;
    for (int d = 0; d < tensor->rank; d++)
        none = none || tensor->shape[d] == 0;
    return none;
}

/* Of a tensor without strides. Where they do not fit they are of no use, and the tensor is refused
 * later on. */
static void fill_dense(const croft_tensor *given, int64_t *strides) {
    int64_t dense = 1;
    for (int d = given->rank - 1; d >= 0; d--) {
        strides[d] = dense;
        if (!base_checked_mul(dense, given->shape[d], &dense))
            dense = 0;
    }
}

/* The first `count` axes as one. */
static croft_status fold_axes(api_call *call, const api_slot *slot, const croft_tensor *given,
                              const int64_t *strides, int count, api_folded *folded) {
    int64_t extent = 1, stride = strides[count - 1], covered = 0;
    bool any = false, none = has_no_elements(given);
    for (int d = count - 1; d >= 0; d--) {
        if (!base_checked_mul(extent, given->shape[d], &extent))
            return api_refuse(call, "tensor-range", slot->name,
                              "its leading axes have more elements together than 63 bits count",
                              list(call, given->shape, given->rank), NULL);
        if (given->shape[d] == 1)
            continue;
        if (any && !none && strides[d] != covered)
            return refuse_strides(call, slot, given, strides);
        if (!any)
            stride = strides[d];
        any = true;
        if (!base_checked_mul(strides[d], given->shape[d], &covered) && d > 0)
            return refuse_strides(call, slot, given, strides);
    }
    folded->shape[0] = extent;
    folded->strides[0] = stride;
    return CROFT_OK;
}

static croft_status fold(api_call *call, const api_slot *slot, const croft_tensor *given,
                         api_folded *folded) {
    int64_t dense[CROFT_OUTPUT_AXES];
    const int64_t *strides = given->strides;
    int count = given->rank - slot->rank + 1;
    folded->tensor = *given;
    if (count <= 1 || slot->rank == 0 || given->shape == NULL)
        return CROFT_OK;
    if (given->rank > CROFT_OUTPUT_AXES)
        return api_refuse(
            call, "rank-mismatch", slot->name, "too many axes", api_number_text(call, given->rank),
            base_diagnostics_text(&call->diagnostics, "at most %d", CROFT_OUTPUT_AXES));
    for (int d = 0; d < given->rank; d++)
        if (given->shape[d] < 0)
            return api_refuse(call, "argument-value", slot->name, "a shape is negative",
                              api_number_text(call, given->shape[d]), "0 or more");
    if (strides == NULL) {
        fill_dense(given, dense);
        strides = dense;
    }
    croft_status status = fold_axes(call, slot, given, strides, count, folded);
    for (int d = 1; d < slot->rank; d++) {
        folded->shape[d] = given->shape[count - 1 + d];
        folded->strides[d] = strides[count - 1 + d];
    }
    folded->leading = given->shape;
    folded->leading_count = count;
    folded->tensor.rank = slot->rank;
    folded->tensor.shape = folded->shape;
    folded->tensor.strides = folded->strides;
    return status;
}

static bool same_leading(const api_folded *a, const api_folded *b) {
    bool same = a->leading_count == b->leading_count;
    for (int i = 0; same && i < a->leading_count; i++)
        same = a->leading[i] == b->leading[i];
    return same;
}

const api_folded *api_function_leading(const croft_function *function, const api_folded *folded,
                                       int slot) {
    const int size = function->slots[slot].first_size;
    for (int i = 0; i < function->slot_count && size >= 0; i++)
        if (folded[i].leading_count > 0 && function->slots[i].first_size == size)
            return &folded[i];
    return NULL;
}

croft_status api_function_fold(api_call *call, const croft_function *function,
                               const croft_tensor *const *tensors, api_folded *folded) {
    for (int i = 0; i < function->slot_count; i++) {
        const api_slot *slot = &function->slots[i];
        if (tensors[i] == NULL)
            continue;
        croft_status status = fold(call, slot, tensors[i], &folded[i]);
        if (status != CROFT_OK)
            return status;
        const api_folded *first = api_function_leading(function, folded, i);
        if (folded[i].leading_count == 0 || first == NULL || same_leading(first, &folded[i]))
            continue;
        const char *found = list(call, folded[i].leading, folded[i].leading_count);
        const char *expected = list(call, first->leading, first->leading_count);
        return api_refuse(call, "axes-fold", slot->name,
                          "its leading axes are not those of another tensor of the same size",
                          found,
                          base_diagnostics_text(&call->diagnostics, "%s, as `%s` has them",
                                                expected, function->slots[first - folded].name));
    }
    return CROFT_OK;
}
