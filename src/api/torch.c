/* Operators of PyTorch: made, and the functions that they call found.
 *
 *     kernel rmsnorm(x: in, w: in, y: out, eps: f32 = 1e-5)  (Tensor x, Tensor w, *, float? eps)
 *     a call on device 0 with eps = 1e-6  ->  find(device 0, eps = 1e-6)   kept: asked for once
 *
 * An operator keeps the first functions that it was given. They stay until it forgets all of them,
 * so that a call looks through them without a lock.
 */
#include "api/torch_internal.h"

#include <string.h>

/* ---- making ---- */
static const char *missing_of(const croft_torch *torch) {
    return torch->layout == NULL || torch->rank == NULL || torch->shape == NULL ||
                   torch->strides == NULL || torch->dtype == NULL || torch->device_type == NULL ||
                   torch->device_index == NULL || torch->data == NULL || torch->create == NULL ||
                   torch->destroy == NULL || torch->grad_mode == NULL ||
                   torch->requires_grad == NULL || torch->is_inference == NULL ||
                   torch->count_version == NULL || torch->release == NULL || torch->check == NULL
               ? "a function of PyTorch is missing"
           : torch->dtypes == NULL || torch->dtype_count <= 0 ? "there are no element types"
                                                              : NULL;
}

static croft_status list_numbers(api_call *call, croft_torch_operator *one) {
    text_signature_entry entry;
    for (int i = 0; text_kernel_signature(one->source.kernel->syntax.kernel, i, &entry); i++) {
        if (entry.kind != TEXT_ENTRY_SCALAR && entry.kind != TEXT_ENTRY_CONST)
            continue;
        bool is_scalar = entry.kind == TEXT_ENTRY_SCALAR;
        if (is_scalar && entry.dtype_name != NULL)
            return api_refuse(call, "operator-schema", entry.name,
                              "its type is a parameter, which no schema of an operator can say",
                              entry.dtype_name, "a scalar of one type");
        if (one->number_count == API_TORCH_NUMBERS_LIMIT)
            return api_refuse(call, "operator-schema", entry.name, "one number too many", NULL,
                              "at most 16 scalars and constants");
        one->numbers[one->number_count++] = (api_torch_number){
            .name = entry.name, .is_real = is_scalar && base_dtype_is_float(entry.dtype)};
    }
    return CROFT_OK;
}

/* The schema has what is read first. */
static croft_status list_tensors(croft_torch_operator *one) {
    one->slot_count = api_slots_list(one->source.kernel, &one->arena, &one->slots);
    if (one->slot_count > API_PARAMETERS_LIMIT)
        return CROFT_OUT_OF_RESOURCES;
    int place = 0;
    for (int i = 0; i < one->slot_count; i++)
        if (one->slots[i].is_read)
            one->order[place++] = i;
    one->read_count = place;
    for (int i = 0; i < one->slot_count; i++)
        if (!one->slots[i].is_read)
            one->order[place++] = i;
    return CROFT_OK;
}

static croft_status fill(api_call *call, croft_torch_operator *one) {
    const char *missing = missing_of(&one->torch);
    if (missing != NULL || one->source.find == NULL)
        return api_misuse(call, missing != NULL ? missing : "nobody finds functions");
    croft_status status = list_tensors(one);
    if (status == CROFT_OK)
        status = list_numbers(call, one);
    if (status != CROFT_OK)
        return status;
    one->place = api_torch_pool_take(one);
    return one->place >= 0 ? CROFT_OK : CROFT_OUT_OF_RESOURCES;
}

croft_status croft_torch_operator_create(const croft_torch_source *given,
                                         croft_torch_operator **made,
                                         croft_diagnostics **findings) {
    croft_torch_source source = {0};
    croft_torch torch = {0};
    if (findings != NULL)
        *findings = NULL;
    if (made == NULL)
        return api_misuse_early(NULL, findings, "there is nowhere to put the operator");
    *made = NULL;
    if (given == NULL || !api_struct_read(given, &source, sizeof source) || source.kernel == NULL ||
        source.torch == NULL || !api_struct_read(source.torch, &torch, sizeof torch))
        return api_misuse_early(NULL, findings,
                                "the kernel, PyTorch's functions, or a size is missing");
    base_allocator allocator = source.kernel->context->allocator;
    croft_torch_operator *one = api_allocate(allocator, sizeof *one);
    if (one == NULL)
        return CROFT_OUT_OF_MEMORY;
    one->allocator = allocator;
    one->torch = torch;
    one->source = source;
    one->place = -1;
    api_call call;
    base_arena_init(&one->arena, allocator, &call.exhausted);
    api_call_begin(&call, allocator, findings);
    if (setjmp(call.exhausted) != 0) {
        croft_torch_operator_free(one);
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    }
    croft_status status = fill(&call, one);
    one->arena.exhausted = NULL;
    status = api_call_end(&call, status);
    if (status == CROFT_OK)
        *made = one;
    else
        croft_torch_operator_free(one);
    return status;
}

void croft_torch_operator_free(croft_torch_operator *one) {
    if (one == NULL)
        return;
    if (one->place >= 0)
        api_torch_pool_give(one->place);
    base_arena_free(&one->arena);
    api_release(one->allocator, one, sizeof *one);
}

croft_torch_function *croft_torch_operator_function(const croft_torch_operator *one) {
    return one != NULL ? api_torch_pool_function(one->place) : NULL;
}

/* ---- functions ---- */
void croft_torch_operator_forget(croft_torch_operator *one) {
    if (one != NULL)
        atomic_store(&one->kept_count, 0);
}

static bool same(const api_torch_choice *a, const api_torch_choice *b, int number_count) {
    bool equal =
        a->device_type == b->device_type && a->device_id == b->device_id && a->given == b->given;
    for (int i = 0; i < number_count && equal; i++)
        equal = (a->given >> i & 1) == 0 || a->words[i] == b->words[i];
    return equal;
}

static void keep(croft_torch_operator *one, const api_torch_choice *choice,
                 croft_function *function) {
    runtime_lock_take(&one->lock);
    int count = atomic_load(&one->kept_count);
    if (count < API_TORCH_FUNCTIONS_LIMIT) {
        one->kept[count].choice = *choice;
        one->kept[count].function = function;
        atomic_store_explicit(&one->kept_count, count + 1, memory_order_release);
    }
    runtime_lock_give(&one->lock);
}

static int list_given(const croft_torch_operator *one, const api_torch_choice *choice,
                      croft_argument *arguments) {
    int count = 0;
    for (int i = 0; i < one->number_count; i++) {
        if ((choice->given >> i & 1) == 0)
            continue;
        croft_argument *argument = &arguments[count++];
        *argument = (croft_argument){.name = one->numbers[i].name,
                                     .kind = one->numbers[i].is_real ? CROFT_ARGUMENT_REAL
                                                                     : CROFT_ARGUMENT_INTEGER};
        if (one->numbers[i].is_real)
            memcpy(&argument->real, &choice->words[i], sizeof argument->real);
        else
            argument->integer = (int64_t)choice->words[i];
    }
    return count;
}

croft_function *api_torch_function(croft_torch_operator *one, const api_torch_choice *choice,
                                   const char **why) {
    croft_argument arguments[API_TORCH_NUMBERS_LIMIT];
    int kept = atomic_load_explicit(&one->kept_count, memory_order_acquire);
    for (int i = 0; i < kept; i++)
        if (same(&one->kept[i].choice, choice, one->number_count))
            return one->kept[i].function;
    int count = list_given(one, choice, arguments);
    bool keeps = kept < API_TORCH_FUNCTIONS_LIMIT;
    croft_function *function = one->source.find(one->source.context, choice->device_type,
                                                choice->device_id, arguments, count, keeps, why);
    if (function != NULL && keeps)
        keep(one, choice, function);
    return function;
}
