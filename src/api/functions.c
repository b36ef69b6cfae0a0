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

static void list_slots(croft_function *function) {
    text_signature_entry entry;
    int count = 0;
    while (text_kernel_signature(function->kernel->syntax.kernel, count, &entry))
        count++;
    function->slots = BASE_NEW_ARRAY(&function->arena, api_slot, count + 1);
    for (int i = 0; i < count; i++) {
        (void)text_kernel_signature(function->kernel->syntax.kernel, i, &entry);
        if (entry.kind != TEXT_ENTRY_TENSOR)
            continue;
        api_slot *slot = &function->slots[function->slot_count++];
        *slot = (api_slot){.name = entry.name,
                           .rank = entry.rank,
                           .first_size = entry.first_size,
                           .is_read = entry.mode != IR_OUT,
                           .is_written = entry.mode != IR_IN};
        function->read_count += slot->is_read;
    }
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
    list_slots(function);
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

/* The arguments of the kernel, tensors first; the missing tensors are left out. */
static croft_argument *all_arguments(api_call *call, const croft_function *function,
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

/* ---- outputs ---- */
static croft_status write_output(api_call *call, const croft_function *function,
                                 const api_folded *folded, const text_bindings *bindings, int slot,
                                 croft_output *output) {
    const char *name = function->slots[slot].name;
    const text_argument *bound = NULL;
    croft_output known = {.size = sizeof known};
    for (int i = 0; i < bindings->argument_count; i++)
        if (strcmp(bindings->arguments[i].name, name) == 0)
            bound = &bindings->arguments[i];
    if (bound == NULL)
        return api_misuse(call, "an output is no parameter");
    const api_folded *other = api_function_leading(function, folded, slot);
    int leading = other != NULL ? other->leading_count : bound->rank > 0;
    api_dtype_code(bound->dtype, &known.dtype_code, &known.dtype_bits);
    known.rank = leading + (bound->rank > 0 ? bound->rank - 1 : 0);
    if (known.rank > CROFT_OUTPUT_AXES)
        return api_refuse(
            call, "rank-mismatch", name, "too many axes", api_number_text(call, known.rank),
            base_diagnostics_text(&call->diagnostics, "at most %d", CROFT_OUTPUT_AXES));
    for (int d = 0; d < known.rank; d++) {
        known.shape[d] = d >= leading    ? bound->extent[d - leading + 1]
                         : other != NULL ? other->leading[d]
                                         : bound->extent[0];
        if (known.shape[d] < 0)
            return api_refuse(call, "missing-argument", name,
                              "its shape does not follow from the other tensors", NULL,
                              "the output, or its sizes as arguments of the function");
    }
    return api_struct_write(&known, sizeof known, output)
               ? CROFT_OK
               : api_misuse(call, "the size of an output is not set");
}

static croft_status find_outputs(api_call *call, const croft_function *function,
                                 const croft_tensor *const *tensors, int count,
                                 croft_output *outputs) {
    api_folded *folded = BASE_NEW_ARRAY(&call->arena, api_folded, count + 1);
    text_argument *texts = NULL;
    text_bindings bindings;
    int given = 0;
    croft_status status = api_function_check(call, function, tensors, count, true);
    if (status == CROFT_OK && outputs == NULL && count > 0)
        status = api_misuse(call, "there is nowhere to put the outputs");
    if (status == CROFT_OK)
        status = api_function_fold(call, function, tensors, folded);
    if (status != CROFT_OK)
        return status;
    const croft_argument *arguments = all_arguments(call, function, tensors, folded, &given);
    status = api_arguments_read(call, arguments, given, &texts);
    if (status != CROFT_OK)
        return status;
    text_argument *all = BASE_NEW_ARRAY(&call->arena, text_argument, given + count + 1);
    memcpy(all, texts, sizeof *all * (size_t)given);
    for (int i = 0; i < count; i++)
        if (tensors[i] == NULL)
            all[given++] = (text_argument){.name = function->slots[i].name,
                                           .kind = TEXT_ARGUMENT_TENSOR,
                                           .dtype_open = true,
                                           .extent_open = true};
    if (!text_kernel_bind(&call->arena, function->kernel->syntax.kernel, all, given, false,
                          &bindings, &call->diagnostics))
        return CROFT_REJECTED;
    for (int i = 0; i < count && status == CROFT_OK; i++)
        if (tensors[i] == NULL)
            status = write_output(call, function, folded, &bindings, i, &outputs[i]);
    return status;
}

croft_status croft_function_outputs(croft_function *function, const croft_tensor *const *tensors,
                                    int count, croft_output *outputs,
                                    croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    if (function == NULL)
        return api_misuse_early(NULL, findings, "there is no function");
    api_call call;
    api_call_begin(&call, function->kernel->context->allocator, findings);
    if (setjmp(call.exhausted) != 0)
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    return api_call_end(&call, find_outputs(&call, function, tensors, count, outputs));
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
    const croft_argument *arguments = all_arguments(call, function, tensors, folded, &given);
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
