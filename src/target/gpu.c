/* Texts for devices whose lanes are threads: what all their dialects have around a body.
 *
 * A lane is a thread, a slot a variable; a uniform is a variable of its own in every thread. A text
 * holds the kernels of one dispatch, whose arguments are tensors, words (sizes, strides, scalars;
 * runtime/device.h says which), the workspace of the groups of a launch, one behind the other, and
 * the number of the first of them:
 *
 *     const f32 *const x = ...                            tensors, as the dialect passes them
 *     const i64 N = arguments.words[1];                   words, those that are used
 *     const i32 thread = (i32)(threadIdx.x & 255);        numbers of the thread (gpu_numbers.c)
 *     f32 *const w = (f32 *)(scratch + 0);                arrays (gpu_arrays.c)
 *     const i64 group = arguments.first + blockIdx.x;
 *     ...                                                 the body (emit.c)
 *
 * f16 and bf16 are their bits, a bool of memory is a byte. Compiled without contraction and without
 * fast arithmetic, it computes the bits of the simulator. What is not an operator of the language
 * is a function of the prelude. */
#include "target/gpu_internal.h"

#include <string.h>

target_gpu *target_gpu_of(target_emitter *emitter) {
    return (target_gpu *)(void *)emitter;
}

const target_gpu_spelling *target_gpu_spelling_of(const target_emitter *emitter) {
    return ((const target_gpu *)(const void *)emitter)->spelling;
}

/* ---- types ---- */

static bool has_vectors(const target_emitter *e) {
    (void)e;
    return false;
}

const char *target_gpu_type(base_dtype dtype) {
    return base_dtype_name(dtype == BASE_INDEX ? BASE_I64 : dtype);
}

static const char *type_of(const target_emitter *e, base_dtype dtype, bool vector) {
    (void)e;
    (void)vector;
    return target_gpu_type(dtype);
}

static bool has_operators(base_dtype dtype, bool vector) {
    (void)dtype;
    (void)vector;
    return true;
}

static const char *splat(target_emitter *e, base_dtype dtype, const char *scalar) {
    (void)e;
    (void)dtype;
    return scalar;
}

const char *target_gpu_memory_type(base_dtype dtype) {
    return target_gpu_type(dtype == BASE_BOOL ? BASE_U8 : dtype);
}

/* With no loop over registers nothing is spread. */
static void spread(target_emitter *e, base_dtype dtype, const char *name) {
    (void)e;
    (void)dtype;
    (void)name;
}

bool target_gpu_is_guarded(const ir_op *op) {
    const ir_op *owner = op->parent->owner;
    while (owner != NULL && owner->opcode != IR_WHEN)
        owner = owner->parent->owner;
    return owner != NULL;
}

/* ---- teams that were planned as one thread ---- */

static bool find_tensors(void *state, ir_op *op) {
    target_gpu *gpu = state;
    if (op->opcode == IR_LOAD)
        gpu->loaded[op->operands[0]->number] = true;
    if (op->opcode == IR_STORE)
        gpu->stored[op->operands[0]->number] = true;
    return true;
}

static bool touches_output(const target_gpu *gpu, const ir_op *op) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        return gpu->stored[op->operands[0]->number];
    bool touches = false;
    for (const ir_op *inner = op->opcode == IR_WHEN ? op->regions[0]->first : NULL; inner != NULL;
         inner = inner->next)
        touches = touches || touches_output(gpu, inner);
    return touches;
}

static bool reaches_far(const ir_op *op) {
    if (op->attributes.access != NULL && op->attributes.access->block > 0)
        return true;
    for (int i = 0; i < op->region_count; i++)
        for (const ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next)
            if (reaches_far(inner))
                return true;
    return false;
}

/* The scratch of another group is there once that group has begun: each says so at its own
 * beginning, and waits for the others before it first goes there. */
static void meet(target_gpu *gpu, const ir_op *op) {
    if (gpu->far == NULL || op->parent != &gpu->emitter.module->body)
        return;
    if (!gpu->arrived)
        gpu->spelling->cluster_begin(&gpu->emitter, false);
    gpu->arrived = true;
    if (op == gpu->far)
        gpu->spelling->cluster_begin(&gpu->emitter, true);
}

/* Lanes of a plan for one thread see each other's stores op by op: here they wait before each
 * access of an output. */
static void before(target_emitter *e, const ir_op *op) {
    target_gpu *gpu = target_gpu_of(e);
    meet(gpu, op);
    if (gpu->one_thread && gpu->lanes > 1 && !target_gpu_is_guarded(op) && touches_output(gpu, op))
        gpu->spelling->wait(e, IR_SCOPE_GROUP);
}

static const target_dialect gpu_dialect = {
    .type = type_of,
    .vectors = has_vectors,
    .operators = has_operators,
    .splat = splat,
    .before = before,
    .block = target_gpu_block,
    .iota = target_gpu_iota,
    .combine = target_gpu_combine,
    .shuffle = target_gpu_shuffle,
    .xorslot = target_gpu_xorslot,
    .uniform = target_gpu_uniform,
    .sync = target_gpu_sync,
    .spread = spread,
    .load = target_gpu_load,
    .store = target_gpu_store,
    .pull = target_gpu_pull,
    .push = target_gpu_push,
};

/* ---- arguments ---- */

static bool is_used(const target_names *used, const char *name) {
    return target_names_has(used, name, strlen(name));
}

int64_t target_gpu_pointer_count(const ir_module *module) {
    int64_t pointers = 0;
    for (int i = 0; i < module->parameter_count; i++)
        pointers += module->parameters[i].is_tensor;
    return pointers;
}

int64_t target_gpu_word_count(const ir_module *module) {
    int64_t words = module->extents.symbol_count;
    for (int i = 0; i < module->parameter_count; i++)
        words += module->parameters[i].is_tensor ? module->parameters[i].value->type.rank : 1;
    return words;
}

/* A scalar from the low bytes of its word. */
static const char *scalar_from_word(const target_emitter *e, base_dtype dtype, int64_t word) {
    if (dtype == BASE_F32)
        return target_emit_text(e, "%s((u32)arguments.words[%lld])",
                                target_gpu_spelling_of(e)->f32_from_u32, (long long)word);
    if (dtype == BASE_BOOL)
        return target_emit_text(e, "(arguments.words[%lld] & 255) != 0", (long long)word);
    return target_emit_text(e, "(%s)arguments.words[%lld]", target_gpu_type(dtype),
                            (long long)word);
}

static void declare_word(const target_names *used, const char *name, int64_t word, base_text *out) {
    if (is_used(used, name))
        base_text_format(out, "    const i64 %s = arguments.words[%lld];\n", name, (long long)word);
}

/* Tensors, sizes, strides and scalars, those that are used. */
static void declare_arguments(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int64_t word = 0;
    if (target_gpu_spelling_of(e)->tensors != NULL)
        target_gpu_spelling_of(e)->tensors(e, used, out);
    for (; word < m->extents.symbol_count; word++)
        declare_word(used, e->symbols[word], word, out);
    for (int i = 0; i < m->parameter_count; i++)
        for (int d = 0; m->parameters[i].is_tensor && d < m->parameters[i].value->type.rank; d++)
            declare_word(used, e->parameters[i].strides[d], word++, out);
    for (int i = 0; i < m->parameter_count; i++) {
        if (m->parameters[i].is_tensor)
            continue;
        base_dtype dtype = m->parameters[i].dtype;
        if (is_used(used, e->parameters[i].name))
            base_text_format(out, "    const %s %s = %s;\n", target_gpu_type(dtype),
                             e->parameters[i].name, scalar_from_word(e, dtype, word));
        word++;
    }
}

/* NULL where launches do not overlap. */
static const char *follow_of(const target_emitter *e) {
    const target_gpu_spelling *spelling = target_gpu_spelling_of(e);
    return spelling->follow != NULL ? spelling->follow(e->machine) : NULL;
}

static void append_kernel(target_emitter *e, const char *entry, int threads, base_text *out) {
    const target_gpu_spelling *spelling = target_gpu_spelling_of(e);
    base_text arrays, numbers, arguments;
    base_text_init(&arrays, e->arena);
    base_text_init(&numbers, e->arena);
    base_text_init(&arguments, e->arena);
    target_names used;
    target_names_init(&used, e->arena);
    target_gpu_declare_arrays(e, &arrays);
    target_names_scan(&used, e->body.length > 0 ? e->body.bytes : "");
    target_names_scan(&used, arrays.length > 0 ? arrays.bytes : "");
    target_gpu_declare_numbers(e, &used, &numbers);
    declare_arguments(e, &used, &arguments);
    spelling->head(e, entry, threads, out);
    base_text_string(out, arguments.length > 0 ? arguments.bytes : "");
    base_text_string(out, numbers.length > 0 ? numbers.bytes : "");
    base_text_string(out, arrays.length > 0 ? arrays.bytes : "");
    if (is_used(&used, e->group))
        base_text_format(out, "    const i64 %s = arguments.first + %s;\n", e->group,
                         spelling->block);
    if (follow_of(e) != NULL)
        base_text_format(out, "    %s;\n", follow_of(e));
    base_text_string(out, e->body.length > 0 ? e->body.bytes : "");
    base_text_string(out, "}\n");
}

/* ---- the text ---- */

/* What the caller has to make sure of. */
static void append_conditions(const ir_module *module, base_text *out) {
    for (int64_t i = 0; i < module->condition_count; i++) {
        base_text_string(out, i == 0 ? "/* Only for arguments with " : ", ");
        layout_condition_print(out, &module->conditions[i],
                               ir_condition_subject(module, &module->conditions[i]));
    }
    base_text_string(out, module->condition_count > 0 ? ". */\n\n" : "");
}

static void gpu_begin(target_gpu *gpu, base_arena *arena, const ir_module *module,
                      const machine *on, const target_gpu_spelling *spelling) {
    *gpu = (target_gpu){.emitter = {.arena = arena,
                                    .module = module,
                                    .machine = on,
                                    .dialect = &gpu->dialect,
                                    .lanes = 1,
                                    .parts = 1,
                                    .registers = 1},
                        .spelling = spelling,
                        .dialect = gpu_dialect,
                        .lanes = module->lanes,
                        .subgroup = ir_module_subgroup_lanes(module),
                        .one_thread = machine_runs_in_step(module->machine)};
    gpu->dialect.infinity = spelling->infinity;
    gpu->dialect.nan = spelling->nan;
    gpu->dialect.words = spelling->words;
    gpu->dialect.language = spelling->language;
    gpu->dialect.is_reserved = spelling->is_reserved;
    gpu->loaded = BASE_NEW_ARRAY(arena, bool, module->next_value + 1);
    gpu->stored = BASE_NEW_ARRAY(arena, bool, module->next_value + 1);
    ir_region_walk((ir_region *)&module->body, find_tensors, gpu);
    for (const ir_op *op = module->body.first; op != NULL && gpu->far == NULL; op = op->next)
        gpu->far = module->cluster > 1 && reaches_far(op) ? op : NULL;
}

/* The kernel of a module, with what the launch must know of it. */
static target_source emit_kernel(target_gpu *gpu, base_text *out) {
    target_emitter *e = &gpu->emitter;
    int step = gpu->spelling->any_threads ? 1 : gpu->spelling->lock_step;
    bool fits;
    target_source source = {.entry = target_emit_text(e, "croft_%s", e->module->name),
                            .threads = (e->module->lanes + step - 1) / step * step,
                            .workspace = target_gpu_workspace(e->module, &fits)};
    target_emit_begin(e, target_gpu_prelude_names(e->arena, gpu->spelling));
    target_gpu_find_arrays(e);
    target_emit_body(e, 1);
    append_kernel(e, source.entry, source.threads, out);
    source.scratch_bytes = target_gpu_launch_scratch(e);
    source.overlaps = follow_of(e) != NULL;
    return source;
}

void target_gpu_emit(base_arena *arena, const ir_module *const *modules, int count,
                     const machine *on, const target_gpu_spelling *spelling,
                     target_source *sources) {
    target_gpu gpu;
    base_text kernels, out;
    target_names used, written;
    base_text_init(&kernels, arena);
    base_text_init(&out, arena);
    target_names_init(&used, arena);
    target_names_init(&written, arena);
    for (int i = 0; i < count; i++) {
        gpu_begin(&gpu, arena, modules[i], on, spelling);
        if (i == 0)
            spelling->shared(&gpu.emitter, &kernels);
        sources[i] = emit_kernel(&gpu, &kernels);
        spelling->title(modules[i], sources[i].threads, on, &out);
        append_conditions(modules[i], &out);
        if (i + 1 < count)
            base_text_format(&kernels, "\n/* plan %016llx */\n",
                             (unsigned long long)modules[i]->plan_hash);
    }
    base_text_string(&out, spelling->before_all);
    target_names_scan(&used, kernels.bytes);
    target_gpu_prelude(&out, spelling, &used, &written);
    base_text_string(&out, kernels.bytes);
    base_text_format(&out, "\n/* plan %016llx */\n",
                     (unsigned long long)modules[count - 1]->plan_hash);
    for (int i = 0; i < count; i++)
        sources[i].text = out.bytes;
}
