/* Kernels: a text that was read, and the variants that were made of it. */
#include "api/api_internal.h"

#include <string.h>

static bool read_source(const croft_source *given, croft_source *source) {
    *source = (croft_source){0};
    if (!api_struct_read(given, source, sizeof *source) || source->text == NULL)
        return false;
    if (source->length == 0)
        source->length = strlen(source->text);
    return true;
}

static void copy_source(croft_kernel *kernel, const croft_source *source) {
    const char *name = source->name != NULL ? source->name : "<string>";
    kernel->source =
        (base_source){.name = base_arena_copy(&kernel->arena, name, strlen(name)),
                      .text = base_arena_copy(&kernel->arena, source->text, source->length),
                      .length = source->length};
    if (source->kernel != NULL)
        kernel->name = base_arena_copy(&kernel->arena, source->kernel, strlen(source->kernel));
}

static croft_kernel *make_kernel(croft_context *context, const croft_source *source) {
    croft_kernel *kernel = api_allocate(context->allocator, sizeof *kernel);
    if (kernel == NULL)
        return NULL;
    kernel->context = context;
    base_arena_init(&kernel->arena, context->allocator, &kernel->exhausted);
    base_arena_init(&kernel->syntax.arena, context->allocator, NULL);
    if (setjmp(kernel->exhausted) != 0) {
        croft_kernel_free(kernel);
        return NULL;
    }
    copy_source(kernel, source);
    kernel->arena.exhausted = NULL;
    return kernel;
}

/* Whether a constant or a layout has no default: nothing is known of the program without it. */
static bool needs_arguments(const croft_kernel *kernel) {
    text_signature_entry entry;
    for (int i = 0; text_kernel_signature(kernel->syntax.kernel, i, &entry); i++)
        if ((entry.kind == TEXT_ENTRY_CONST || entry.kind == TEXT_ENTRY_LAYOUT) &&
            !entry.has_default)
            return true;
    return false;
}

/* To level tile without arguments, where that can be: it finds what no argument can mend. */
static croft_status read_kernel(api_call *call, croft_kernel *kernel) {
    compile_request request = {.allocator = kernel->context->allocator,
                               .source = &kernel->source,
                               .kernel = kernel->name,
                               .partial = true,
                               .machine = kernel->context->machine,
                               .stage = COMPILE_TO_SYNTAX};
    compile_run(&request, &kernel->syntax);
    croft_status status = api_compiled_status(call, &kernel->syntax);
    if (status != CROFT_OK || needs_arguments(kernel))
        return status;
    compile_result tile;
    request.stage = COMPILE_TO_TILE;
    compile_run(&request, &tile);
    status = api_compiled_status(call, &tile);
    compile_free(&tile);
    return status;
}

croft_status croft_compile(croft_context *context, const croft_source *given, croft_kernel **made,
                           croft_diagnostics **findings) {
    croft_source source;
    if (findings != NULL)
        *findings = NULL;
    const base_allocator *allocator = context != NULL ? &context->allocator : NULL;
    if (made == NULL)
        return api_misuse_early(allocator, findings, "there is nowhere to put the kernel");
    *made = NULL;
    if (context == NULL)
        return api_misuse_early(allocator, findings, "there is no context");
    if (!read_source(given, &source))
        return api_misuse_early(allocator, findings, "the source, its size or its text is missing");
    croft_kernel *kernel = make_kernel(context, &source);
    if (kernel == NULL)
        return CROFT_OUT_OF_MEMORY;
    api_call call;
    api_call_begin(&call, context->allocator, findings);
    if (setjmp(call.exhausted) != 0) {
        croft_status short_of = api_call_end(&call, CROFT_OUT_OF_MEMORY);
        croft_kernel_free(kernel);
        return short_of;
    }
    croft_status status = api_call_end(&call, read_kernel(&call, kernel));
    if (status == CROFT_OK)
        *made = kernel;
    else
        croft_kernel_free(kernel);
    return status;
}

void croft_kernel_free(croft_kernel *kernel) {
    if (kernel == NULL)
        return;
    api_variants_free(kernel);
    compile_free(&kernel->syntax);
    base_arena_free(&kernel->arena);
    api_release(kernel->context->allocator, kernel, sizeof *kernel);
}

const char *croft_kernel_name(const croft_kernel *kernel) {
    return kernel != NULL ? text_kernel_name(kernel->syntax.kernel) : NULL;
}

croft_status croft_kernel_parameter(const croft_kernel *kernel, int index,
                                    croft_parameter *parameter) {
    static const croft_parameter_kind kinds[] = {[TEXT_ENTRY_TENSOR] = CROFT_PARAMETER_TENSOR,
                                                 [TEXT_ENTRY_SCALAR] = CROFT_PARAMETER_SCALAR,
                                                 [TEXT_ENTRY_DTYPE] = CROFT_PARAMETER_DTYPE,
                                                 [TEXT_ENTRY_CONST] = CROFT_PARAMETER_CONST,
                                                 [TEXT_ENTRY_LAYOUT] = CROFT_PARAMETER_LAYOUT};
    text_signature_entry entry;
    if (kernel == NULL || index < 0 || !text_kernel_signature(kernel->syntax.kernel, index, &entry))
        return CROFT_MISUSE;
    bool tensor = entry.kind == TEXT_ENTRY_TENSOR;
    croft_parameter known = {.size = sizeof known,
                             .name = entry.name,
                             .kind = kinds[entry.kind],
                             .is_read = tensor && entry.mode != IR_OUT,
                             .is_written = tensor && entry.mode != IR_IN};
    if (entry.kind == TEXT_ENTRY_SCALAR && entry.dtype_name == NULL)
        api_dtype_code(entry.dtype, &known.dtype_code, &known.dtype_bits);
    return api_struct_write(&known, sizeof known, parameter) ? CROFT_OK : CROFT_MISUSE;
}

croft_status croft_kernel_count(const croft_kernel *kernel, croft_kernel_counts *counts) {
    croft_kernel_counts found = {0};
    if (kernel == NULL)
        return CROFT_MISUSE;
    runtime_lock *lock = (runtime_lock *)&kernel->lock;
    runtime_lock_take(lock);
    found.compiled = kernel->compiled;
    found.variants = kernel->variant_count;
    found.from_cache = kernel->from_cache;
    runtime_lock_give(lock);
    return api_struct_write(&found, sizeof found, counts) ? CROFT_OK : CROFT_MISUSE;
}
