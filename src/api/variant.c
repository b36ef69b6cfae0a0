/* Variants of a kernel: which one fits, and making one that is not there.
 *
 *     softmax x: 4 x 100, aligned          variant 1: N = 100, x aligned 16, y aligned 16
 *     softmax x: 9 x 100, aligned          variant 1, as the number of rows enters by class alone
 *     softmax x: 4 x 100, 4 bytes off      variant 2: N = 100
 *     softmax x: 4 x 200                   variant 3: N = 200
 */
#include "api/api_internal.h"

#include <string.h>

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* ---- which one fits ---- */
/* The class of a size that is not built into the program: plans are chosen by its power of two. */
static int class_of(int64_t size) {
    int class_ = 0;
    while (size > 1) {
        size /= 2;
        class_++;
    }
    return class_;
}

static bool same_sizes(const ir_module *tile, const text_bindings *a, const text_bindings *b) {
    for (int i = 0; i < a->size_count; i++) {
        bool known = i < tile->extents.symbol_count && tile->extents.symbols[i].known;
        if (known ? a->sizes[i] != b->sizes[i] : class_of(a->sizes[i]) != class_of(b->sizes[i]))
            return false;
    }
    return a->size_count == b->size_count;
}

/* Types, constants and layouts are numbered separately in bindings, in the signature's order. */
static bool same_parameters(const croft_kernel *kernel, const text_bindings *a,
                            const text_bindings *b) {
    text_signature_entry entry;
    int dtypes = 0, consts = 0, layouts = 0;
    for (int i = 0; text_kernel_signature(kernel->syntax.kernel, i, &entry); i++) {
        if (entry.kind == TEXT_ENTRY_DTYPE && a->dtypes[dtypes] != b->dtypes[dtypes])
            return false;
        if (entry.kind == TEXT_ENTRY_CONST && a->consts[consts] != b->consts[consts])
            return false;
        if (entry.kind == TEXT_ENTRY_LAYOUT &&
            !same_text(a->layouts[layouts].spelling, b->layouts[layouts].spelling))
            return false;
        dtypes += entry.kind == TEXT_ENTRY_DTYPE;
        consts += entry.kind == TEXT_ENTRY_CONST;
        layouts += entry.kind == TEXT_ENTRY_LAYOUT;
    }
    for (int i = 0; i < a->argument_count; i++)
        if (!same_text(a->arguments[i].home, b->arguments[i].home))
            return false;
    return true;
}

static bool fits(const croft_kernel *kernel, const api_variant *variant,
                 const text_bindings *bindings, const api_choice *choice) {
    return variant->choice.strict == choice->strict &&
           variant->choice.count_faults == choice->count_faults &&
           same_text(variant->choice.plan, choice->plan) &&
           same_text(variant->choice.set, choice->set) &&
           same_sizes(variant->compiled.tile, &variant->compiled.bindings, bindings) &&
           same_parameters(kernel, &variant->compiled.bindings, bindings);
}

static bool holds(const api_variant *variant, int64_t condition, const runtime_tensor *tensors,
                  const text_bindings *bindings) {
    const runtime_arguments arguments = {.tensors = tensors, .sizes = bindings->sizes};
    return runtime_condition_holds(&variant->compiled.conditions[condition], &arguments, NULL);
}

/* Whether the variant assumes all conditions that hold for these tensors, and no others. */
static bool is_exact(const api_variant *variant, const runtime_tensor *tensors,
                     const text_bindings *bindings) {
    for (int64_t i = 0; i < variant->compiled.condition_count; i++)
        if (variant->holds[i] != holds(variant, i, tensors, bindings))
            return false;
    return true;
}

static api_variant *find_variant(const croft_kernel *kernel, const text_bindings *bindings,
                                 const api_choice *choice, const runtime_tensor *tensors) {
    for (api_variant *variant = kernel->variants; variant != NULL; variant = variant->next)
        if (fits(kernel, variant, bindings, choice) && is_exact(variant, tensors, bindings))
            return variant;
    return NULL;
}

/* ---- making one ---- */
static size_t text_size(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

static bool copy_text(base_allocator allocator, const char *text, const char **copy) {
    *copy = NULL;
    if (text == NULL)
        return true;
    char *made = api_allocate(allocator, text_size(text));
    if (made != NULL)
        memcpy(made, text, text_size(text));
    *copy = made;
    return made != NULL;
}

static void free_compiled(base_allocator allocator, api_variant *variant) {
    api_release(allocator, variant->holds,
                sizeof(bool) * (size_t)(variant->compiled.condition_count + 1));
    variant->holds = NULL;
    compile_free(&variant->compiled);
}

static void free_variant(const croft_kernel *kernel, api_variant *variant) {
    base_allocator allocator = kernel->context->allocator;
    runtime_device *device = kernel->context->device;
    if (variant->module != NULL && !variant->borrowed)
        device->vtable->unload(device, variant->module);
    char *plan_text = atomic_load(&variant->plan_text);
    api_release(allocator, plan_text, text_size(plan_text));
    api_release(allocator, (void *)variant->choice.plan, text_size(variant->choice.plan));
    api_release(allocator, (void *)variant->choice.set, text_size(variant->choice.set));
    free_compiled(allocator, variant);
    api_release(allocator, variant, sizeof *variant);
}

void api_variants_free(croft_kernel *kernel) {
    while (kernel->variants != NULL) {
        api_variant *next = kernel->variants->next;
        free_variant(kernel, kernel->variants);
        kernel->variants = next;
    }
}

static croft_status compile_variant(api_call *call, const croft_kernel *kernel,
                                    const text_argument *arguments, int count,
                                    api_variant *variant) {
    const croft_context *context = kernel->context;
    const char *plan = variant->choice.plan;
    if (plan != NULL)
        variant->plan = (base_source){.name = "<plan>", .text = plan, .length = strlen(plan)};
    variant->planning =
        (planner_options){.set = variant->choice.set, .live_most = variant->planning.live_most};
    variant->request = (compile_request){.allocator = context->allocator,
                                         .source = &kernel->source,
                                         .kernel = kernel->name,
                                         .arguments = arguments,
                                         .argument_count = count,
                                         .strict = variant->choice.strict,
                                         .count_faults = variant->choice.count_faults,
                                         .machine = context->machine,
                                         .runs_on = context->runs_on,
                                         .family = PLANNER_AUTOMATIC,
                                         .planning = &variant->planning,
                                         .plan = plan != NULL ? &variant->plan : NULL,
                                         .stage = COMPILE_TO_SOURCE};
    compile_run(&variant->request, &variant->compiled);
    return api_compiled_status(call, &variant->compiled);
}

static croft_status specialise(api_call *call, const text_bindings *bindings,
                               const runtime_tensor *tensors, api_variant *variant) {
    int64_t count = variant->compiled.condition_count;
    variant->holds = api_allocate(call->allocator, sizeof(bool) * (size_t)(count + 1));
    if (variant->holds == NULL)
        return CROFT_OUT_OF_MEMORY;
    for (int64_t i = 0; i < count; i++)
        variant->holds[i] = holds(variant, i, tensors, bindings);
    if (count > 0)
        (void)compile_specialise(&variant->request, &variant->compiled, variant->holds);
    return api_compiled_status(call, &variant->compiled);
}

/* Another variant whose program is the same, letter by letter. */
static runtime_module *module_of_same(const croft_kernel *kernel, const api_variant *variant) {
    for (const api_variant *other = kernel->variants; other != NULL; other = other->next)
        if (strcmp(other->compiled.source_text, variant->compiled.source_text) == 0)
            return other->module;
    return NULL;
}

/* *spilled: nothing is loaded, and another plan may have fewer values in registers. */
static croft_status load_module(api_call *call, croft_kernel *kernel, api_variant *variant,
                                runtime_entry *behind, bool *spilled) {
    const compile_result *compiled = &variant->compiled;
    runtime_device *device = kernel->context->device;
    machine_flags flags;
    machine_flags_split(kernel->context->runs_on, &flags);
    for (int i = 1; i < compiled->launch_count; i++)
        behind[i - 1] = (runtime_entry){.name = compiled->launches[i].entry,
                                        .threads = compiled->launches[i].threads,
                                        .cluster = compiled->launches[i].module->cluster,
                                        .scratch_bytes = compiled->launches[i].scratch_bytes};
    runtime_artifact artifact = {.text = compiled->source_text,
                                 .length = strlen(compiled->source_text),
                                 .entry = compiled->entry,
                                 .flags = flags.list,
                                 .threads = compiled->threads,
                                 .cluster = compiled->module->cluster,
                                 .overlaps = compiled->overlaps,
                                 .pointer_count = ir_module_pointer_count(compiled->module),
                                 .word_count = (int)ir_module_word_count(compiled->module),
                                 .scratch_bytes = compiled->scratch_bytes,
                                 .behind = behind,
                                 .behind_count = compiled->launch_count - 1};
    runtime_report *report = api_allocate(call->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    runtime_status status = device->vtable->load(device, &artifact, &variant->module, report);
    kernel->compiled += status == RUNTIME_OK && !report->from_cache;
    kernel->from_cache += status == RUNTIME_OK && report->from_cache;
    *spilled = status == RUNTIME_COMPILE_FAILED && report->spilled &&
               compile_with_less(compiled, &variant->planning);
    croft_status answer =
        *spilled ? CROFT_COMPILER_FAILED : api_runtime_status(call, report, status);
    api_release(call->allocator, report, sizeof *report);
    return answer;
}

static croft_status load_variant(api_call *call, croft_kernel *kernel, api_variant *variant,
                                 bool *spilled) {
    *spilled = false;
    variant->module = module_of_same(kernel, variant);
    variant->borrowed = variant->module != NULL;
    if (variant->borrowed)
        return CROFT_OK;
    size_t size = sizeof(runtime_entry) * (size_t)variant->compiled.launch_count;
    runtime_entry *behind = api_allocate(call->allocator, size);
    if (behind == NULL)
        return CROFT_OUT_OF_MEMORY;
    croft_status status = load_module(call, kernel, variant, behind, spilled);
    api_release(call->allocator, behind, size);
    return status;
}

/* A plan whose program spills is rejected: the next has fewer values in registers, until one does
 * not or none has fewer. */
static croft_status build_variant(api_call *call, croft_kernel *kernel,
                                  const text_bindings *bindings, const text_argument *arguments,
                                  int count, const runtime_tensor *tensors, api_variant *variant) {
    for (;;) {
        bool spilled = false;
        croft_status status = compile_variant(call, kernel, arguments, count, variant);
        if (status == CROFT_OK)
            status = specialise(call, bindings, tensors, variant);
        if (status == CROFT_OK)
            status = load_variant(call, kernel, variant, &spilled);
        if (!spilled)
            return status;
        free_compiled(call->allocator, variant);
    }
}

/* The kernel's lock is held, so nothing in here may unwind. */
static croft_status make_variant(api_call *call, croft_kernel *kernel,
                                 const text_bindings *bindings, const text_argument *arguments,
                                 int count, const api_choice *choice, const runtime_tensor *tensors,
                                 const api_variant **made) {
    api_variant *variant = api_allocate(call->allocator, sizeof *variant);
    if (variant == NULL)
        return CROFT_OUT_OF_MEMORY;
    base_arena_init(&variant->compiled.arena, call->allocator, NULL);
    variant->choice.strict = choice->strict;
    variant->choice.count_faults = choice->count_faults;
    croft_status status = copy_text(call->allocator, choice->plan, &variant->choice.plan) &&
                                  copy_text(call->allocator, choice->set, &variant->choice.set)
                              ? CROFT_OK
                              : CROFT_OUT_OF_MEMORY;
    if (status == CROFT_OK)
        status = build_variant(call, kernel, bindings, arguments, count, tensors, variant);
    if (status != CROFT_OK) {
        free_variant(kernel, variant);
        return status;
    }
    variant->request.arguments = NULL; /* they were the call's */
    variant->next = kernel->variants;
    atomic_thread_fence(memory_order_release); /* a child may find the list at any moment */
    kernel->variants = variant;
    kernel->variant_count++;
    *made = variant;
    return CROFT_OK;
}

croft_status api_variant_take(api_call *call, croft_kernel *kernel, const text_bindings *bindings,
                              const text_argument *arguments, int count, const api_choice *choice,
                              const runtime_tensor *tensors, const api_variant **variant) {
    croft_status status = CROFT_OK;
    runtime_lock_take(&kernel->lock);
    *variant = find_variant(kernel, bindings, choice, tensors);
    if (*variant == NULL)
        status = make_variant(call, kernel, bindings, arguments, count, choice, tensors, variant);
    runtime_lock_give(&kernel->lock);
    return status;
}
