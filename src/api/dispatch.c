/* Dispatches: arguments that are bound, the variant for them, and what a launch needs.
 *
 *     arguments -> texts and bindings -> tensors -> variant -> workspace -> packed arguments
 */
#include "api/api_internal.h"

static croft_status fill_dispatch(api_call *call, croft_dispatch *dispatch,
                                  const text_bindings *bindings) {
    dispatch->parameter_count = dispatch->variant->compiled.own_parameters;
    croft_status status = api_overlaps_check(call, dispatch);
    if (status == CROFT_OK)
        status = api_workspace_make(call, dispatch, bindings);
    if (status == CROFT_OK)
        status = api_launch_pack(call, dispatch, bindings);
    if (status == CROFT_OK)
        status = api_places_make(dispatch);
    return status == CROFT_OK ? api_group_workspace_make(call, dispatch) : status;
}

/* Fills a dispatch that has only its kernel yet. The caller frees it, even after a failure. */
static croft_status prepare(api_call *call, const croft_argument *arguments, int count,
                            const api_choice *choice, croft_dispatch *dispatch) {
    croft_kernel *kernel = dispatch->kernel;
    if (choice->plan != NULL && choice->set != NULL && choice->set[0] != '\0')
        return api_refuse(call, "plan-set", "plan_set",
                          "a plan that is given leaves nothing to set", choice->set,
                          "the one or the other");
    text_argument *texts = NULL;
    text_bindings bindings;
    croft_status status = api_arguments_read(call, arguments, count, &texts);
    if (status != CROFT_OK)
        return status;
    if (!text_kernel_bind(&call->arena, kernel->syntax.kernel, texts, count, false, &bindings,
                          &call->diagnostics))
        return CROFT_REJECTED;
    if (bindings.argument_count > API_PARAMETERS_LIMIT)
        return CROFT_OUT_OF_RESOURCES;
    status = api_tensors_read(call, kernel, &bindings, arguments, count, dispatch);
    if (status == CROFT_OK)
        api_homes_find(dispatch, &bindings, texts, count);
    if (status == CROFT_OK)
        status = api_variant_take(call, kernel, &bindings, texts, count, choice, dispatch->tensors,
                                  &dispatch->variant);
    return status == CROFT_OK ? fill_dispatch(call, dispatch, &bindings) : status;
}

static bool read_options(const croft_prepare_options *given, api_choice *choice) {
    croft_prepare_options options = {0};
    if (given != NULL && !api_struct_read(given, &options, sizeof options))
        return false;
    *choice = (api_choice){.strict = options.strict != 0,
                           .count_faults = options.count_faults != 0,
                           .plan = options.plan,
                           .set = options.plan_set};
    return true;
}

croft_status croft_prepare(croft_kernel *kernel, const croft_argument *arguments, int count,
                           const croft_prepare_options *options, croft_dispatch **made,
                           croft_diagnostics **findings) {
    api_choice choice;
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *early = kernel != NULL ? &kernel->context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(early, findings, "there is nowhere to put the dispatch");
    *made = NULL;
    if (kernel == NULL)
        return api_misuse_early(early, findings, "there is no kernel");
    if (count < 0 || (count > 0 && arguments == NULL))
        return api_misuse_early(early, findings, "there are no arguments");
    if (!read_options(options, &choice))
        return api_misuse_early(early, findings, "the size of the options is not set");
    base_allocator allocator = kernel->context->allocator;
    croft_dispatch *dispatch = api_allocate(allocator, sizeof *dispatch);
    if (dispatch == NULL)
        return CROFT_OUT_OF_MEMORY;
    dispatch->kernel = kernel;
    api_call call;
    api_call_begin(&call, allocator, findings);
    if (setjmp(call.exhausted) != 0) {
        croft_dispatch_free(dispatch);
        return api_call_end(&call, CROFT_OUT_OF_MEMORY);
    }
    croft_status status = api_call_end(&call, prepare(&call, arguments, count, &choice, dispatch));
    if (status == CROFT_OK)
        *made = dispatch;
    else
        croft_dispatch_free(dispatch);
    return status;
}

void croft_dispatch_free(croft_dispatch *dispatch) {
    if (dispatch == NULL)
        return;
    base_allocator allocator = dispatch->kernel->context->allocator;
    api_workspace_free(dispatch);
    api_places_free(dispatch);
    api_memory_release(dispatch);
    if (dispatch->variant != NULL)
        api_launch_release(dispatch);
    api_release(allocator, dispatch, sizeof *dispatch);
}
