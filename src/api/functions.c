/* Functions: a kernel with all its arguments but the tensors, called with any.
 *
 *     tensors -> their kind is kept -> launch
 *             -> folded -> croft_prepare with the function's arguments -> kept -> launch
 */
#include "api/function_internal.h"

#include <string.h>

/* ---- creating ---- */
static const char *copied(base_arena *arena, const char *text) {
    return text != NULL ? base_arena_copy(arena, text, strlen(text)) : NULL;
}

/* NULL, or what is wrong with an argument whatever the kernel. */
static const char *missing_of(const croft_argument *argument) {
    return argument->name == NULL ? "an argument has no name"
           : argument->kind == CROFT_ARGUMENT_TEXT && argument->text == NULL
               ? "an argument has no text"
               : NULL;
}

static void copy_arguments(croft_function *function, const croft_argument *arguments, int count) {
    base_arena *arena = &function->arena;
    function->arguments = BASE_NEW_ARRAY(arena, croft_argument, count + 1);
    function->argument_count = count;
    for (int i = 0; i < count; i++) {
        function->arguments[i] = arguments[i];
        function->arguments[i].name = copied(arena, arguments[i].name);
        function->arguments[i].text =
            arguments[i].kind == CROFT_ARGUMENT_TEXT ? copied(arena, arguments[i].text) : NULL;
    }
    function->options.size = sizeof function->options;
    function->options.plan = copied(arena, function->options.plan);
    function->options.plan_set = copied(arena, function->options.plan_set);
}

int api_slots_list(const croft_kernel *kernel, base_arena *arena, api_slot **slots) {
    text_signature_entry entry;
    int count = 0, tensors = 0;
    while (text_kernel_signature(kernel->syntax.kernel, count, &entry))
        count++;
    *slots = BASE_NEW_ARRAY(arena, api_slot, count + 1);
    for (int i = 0; i < count; i++) {
        (void)text_kernel_signature(kernel->syntax.kernel, i, &entry);
        if (entry.kind == TEXT_ENTRY_TENSOR)
            (*slots)[tensors++] = (api_slot){.name = entry.name,
                                             .rank = entry.rank,
                                             .first_size = entry.first_size,
                                             .is_read = entry.mode != IR_OUT,
                                             .is_written = entry.mode != IR_IN};
    }
    return tensors;
}

static croft_status create(api_call *call, croft_function *function,
                           const croft_argument *arguments, int count) {
    for (int i = 0; i < count; i++) {
        const char *missing = missing_of(&arguments[i]);
        if (missing != NULL)
            return api_misuse(call, missing);
        if (arguments[i].kind == CROFT_ARGUMENT_TENSOR)
            return api_refuse(call, "argument-kind", arguments[i].name,
                              "tensors are given to the calls of a function", "a tensor",
                              "a scalar, a size, a type, a constant or a layout");
    }
    copy_arguments(function, arguments, count);
    function->slot_count = api_slots_list(function->kernel, &function->arena, &function->slots);
    for (int i = 0; i < function->slot_count; i++)
        function->read_count += function->slots[i].is_read;
    return function->slot_count <= API_PARAMETERS_LIMIT ? CROFT_OK : CROFT_OUT_OF_RESOURCES;
}

croft_status croft_function_create(croft_kernel *kernel, const croft_argument *arguments, int count,
                                   const croft_prepare_options *options, croft_function **made,
                                   croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *early = kernel != NULL ? &kernel->context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(early, findings, "there is nowhere to put the function");
    *made = NULL;
    if (kernel == NULL)
        return api_misuse_early(early, findings, "there is no kernel");
    if (count < 0 || (count > 0 && arguments == NULL))
        return api_misuse_early(early, findings, "there are no arguments");
    base_allocator allocator = kernel->context->allocator;
    croft_function *function = api_allocate(allocator, sizeof *function);
    if (function == NULL)
        return CROFT_OUT_OF_MEMORY;
    function->kernel = kernel;
    api_call call;
    base_arena_init(&function->arena, allocator, &call.exhausted);
    api_call_begin(&call, allocator, findings);
    if (setjmp(call.exhausted) != 0) {
        croft_function_free(function);
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    }
    croft_status status = api_struct_read(options, &function->options, sizeof function->options)
                              ? create(&call, function, arguments, count)
                              : api_misuse(&call, "the size of the options is not set");
    function->arena.exhausted = NULL;
    status = api_call_end(&call, status);
    if (status == CROFT_OK)
        *made = function;
    else
        croft_function_free(function);
    return status;
}

void croft_function_free(croft_function *function) {
    if (function == NULL)
        return;
    base_allocator allocator = function->kernel->context->allocator;
    api_table_free(function);
    api_outputs_free(function);
    base_arena_free(&function->arena);
    api_release(allocator, function, sizeof *function);
}

/* ---- its tensors ---- */
croft_status api_function_check(api_call *call, const croft_function *function,
                                const croft_tensor *const *tensors, int count, bool open) {
    if (count != function->slot_count || (count > 0 && tensors == NULL))
        return api_misuse(
            call, base_diagnostics_text(&call->diagnostics, "%d tensors for the %d of the kernel",
                                        tensors != NULL ? count : 0, function->slot_count));
    for (int i = 0; i < count; i++) {
        const api_slot *slot = &function->slots[i];
        bool may_miss = open && !slot->is_read;
        if (tensors[i] == NULL && !may_miss)
            return api_misuse(
                call, base_diagnostics_text(&call->diagnostics, "no tensor for %s", slot->name));
    }
    return CROFT_OK;
}

croft_argument *api_function_arguments(api_call *call, const croft_function *function,
                                       const croft_tensor *const *tensors, const api_folded *folded,
                                       int *count) {
    croft_argument *arguments = BASE_NEW_ARRAY(&call->arena, croft_argument,
                                               function->slot_count + function->argument_count + 1);
    *count = 0;
    for (int i = 0; i < function->slot_count; i++)
        if (tensors[i] != NULL)
            arguments[(*count)++] = (croft_argument){.name = function->slots[i].name,
                                                     .kind = CROFT_ARGUMENT_TENSOR,
                                                     .tensor = &folded[i].tensor};
    for (int i = 0; i < function->argument_count; i++)
        arguments[(*count)++] = function->arguments[i];
    return arguments;
}

/* ---- preparing ---- */
static croft_status prepare(api_call *call, const croft_function *function,
                            const croft_tensor *const *tensors, int count,
                            croft_dispatch **dispatch, croft_diagnostics **findings) {
    croft_status status = api_function_check(call, function, tensors, count, false);
    if (status != CROFT_OK)
        return status;
    api_folded *folded = BASE_NEW_ARRAY(&call->arena, api_folded, count + 1);
    int given = 0;
    status = api_function_fold(call, function, tensors, folded);
    if (status != CROFT_OK)
        return status;
    const croft_argument *arguments =
        api_function_arguments(call, function, tensors, folded, &given);
    return croft_prepare(function->kernel, arguments, given, &function->options, dispatch,
                         findings);
}

croft_status croft_function_prepare(croft_function *function, const croft_tensor *const *tensors,
                                    int count, croft_dispatch **made,
                                    croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *early = function != NULL ? &function->kernel->context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(early, findings, "there is nowhere to put the dispatch");
    *made = NULL;
    if (function == NULL)
        return api_misuse_early(early, findings, "there is no function");
    api_call call;
    api_call_begin(&call, function->kernel->context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, prepare(&call, function, tensors, count, made, findings));
}

/* ---- calling ---- */
bool api_worth_leaving(const croft_dispatch *dispatch) {
    const double enough_ns = 20000; /* roughly: other threads get going meanwhile */
    return dispatch->kernel->context->device->vtable->memory == RUNTIME_MEMORY_CPU &&
           dispatch->launch.work_ns > enough_ns;
}

/* Leaves the other language; what is to be given back when it is entered again. */
static void *leave(const croft_objects *around, bool worth) {
    return around != NULL && around->leave != NULL && worth ? around->leave() : NULL;
}

static void enter(const croft_objects *around, bool worth, void *left) {
    if (around != NULL && around->leave != NULL && worth)
        around->enter(left);
}

/* Where memory is a handle nothing tells whether it is what it was. */
static bool keeps(const croft_function *function) {
    return function->kernel->context->device->vtable->locate == NULL;
}

static croft_status launch_kept(api_kept *kept, const uint64_t *addresses, void *stream,
                                const croft_objects *around, croft_diagnostics **findings) {
    bool worth = api_worth_leaving(kept->dispatch);
    api_kept_capture(kept, stream);
    void *left = leave(around, worth);
    croft_status status = api_dispatch_run_at(kept->dispatch, addresses, stream, NULL, findings);
    enter(around, worth, left);
    api_kept_leave(kept);
    return status;
}

/* Prepares and launches; NULL kind: the dispatch is not kept. */
static croft_status call_new(croft_function *function, const croft_tensor *const *tensors,
                             int count, void *stream, const api_kind *kind,
                             croft_diagnostics **findings) {
    croft_dispatch *dispatch = NULL;
    croft_status status = croft_function_prepare(function, tensors, count, &dispatch, findings);
    if (status != CROFT_OK)
        return status;
    if (kind == NULL) {
        const croft_launch_options options = {.size = sizeof options, .stream = stream};
        status = croft_launch(dispatch, &options, findings);
        croft_dispatch_free(dispatch);
        return status;
    }
    api_kept *kept = api_kept_new(dispatch, kind);
    if (kept == NULL) {
        croft_dispatch_free(dispatch);
        return CROFT_OUT_OF_MEMORY;
    }
    api_kept_put(function, kept);
    return launch_kept(kept, kind->addresses, stream, NULL, findings);
}

croft_status api_function_call(croft_function *function, const croft_tensor *const *tensors,
                               int count, void *stream, const croft_objects *around,
                               croft_diagnostics **findings) {
    api_kind kind; /* large: not zeroed */
    bool known = count == function->slot_count && (tensors != NULL || count == 0) &&
                 keeps(function) && api_kind_read(tensors, count, stream, &kind);
    api_kept *kept = known ? api_kept_find(function, &kind) : NULL;
    if (kept != NULL)
        return launch_kept(kept, kind.addresses, stream, around, findings);
    void *left = leave(around, true);
    croft_status status =
        call_new(function, tensors, count, stream, known ? &kind : NULL, findings);
    enter(around, true, left);
    return status;
}

croft_status croft_function_call(croft_function *function, const croft_tensor *const *tensors,
                                 int count, const croft_call_options *given,
                                 croft_diagnostics **findings) {
    croft_call_options options = {0};
    if (findings != NULL)
        *findings = NULL;
    if (function == NULL)
        return api_misuse_early(NULL, findings, "there is no function");
    if (given != NULL && !api_struct_read(given, &options, sizeof options))
        return api_misuse_early(&function->kernel->context->allocator, findings,
                                "the size of the options is not set");
    return api_function_call(function, tensors, count, options.stream, NULL, findings);
}
