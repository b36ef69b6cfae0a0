/* What a dispatch runs, as texts: its plan is printed when it is first asked for. */
#include "api/api_internal.h"

#include <string.h>

static char *print_plan(api_call *call, const api_variant *variant) {
    base_text text;
    base_text_init(&text, &call->arena);
    ir_plan_print(&text, variant->compiled.plan);
    if (text.bytes == NULL)
        return NULL;
    char *copy = api_allocate(call->allocator, (size_t)text.length + 1);
    if (copy != NULL)
        memcpy(copy, text.bytes, (size_t)text.length);
    return copy;
}

/* Two threads may print it; the second keeps the first's. */
static const char *publish(base_allocator allocator, api_variant *variant, char *made) {
    char *there = NULL;
    if (made == NULL || atomic_compare_exchange_strong(&variant->plan_text, &there, made))
        return made;
    api_release(allocator, made, strlen(made) + 1);
    return there;
}

const char *croft_dispatch_plan(const croft_dispatch *dispatch) {
    if (dispatch == NULL || dispatch->variant->compiled.plan == NULL)
        return NULL;
    api_variant *variant = (api_variant *)dispatch->variant;
    const char *there = atomic_load(&variant->plan_text);
    if (there != NULL)
        return there;
    base_allocator allocator = dispatch->kernel->context->allocator;
    api_call call;
    api_call_begin(&call, allocator, NULL);
    if (setjmp(call.exhausted) != 0) {
        (void)api_call_end(&call, CROFT_OUT_OF_MEMORY);
        return NULL;
    }
    char *made = print_plan(&call, variant);
    (void)api_call_end(&call, CROFT_OK);
    return publish(allocator, variant, made);
}

const char *croft_dispatch_source(const croft_dispatch *dispatch) {
    return dispatch != NULL ? dispatch->variant->compiled.source_text : NULL;
}
