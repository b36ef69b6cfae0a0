/* The dialect of the cuda target: CUDA C++ for the run-time compiler, without any include.
 *
 * A lane is a thread, a slot a variable; a uniform is a variable of its own in every thread. The
 * text holds one kernel, which takes all its arguments in one struct (runtime/device.h says which
 * pointers and words there are; an array of none is left out):
 *
 *     struct croft_arguments {
 *         void *pointers[2];      // of the tensors
 *         i64 words[6];           // sizes, strides, scalars
 *         char *workspace;        // of the groups of this launch, one behind the other
 *         i64 first;              // number of the first of them
 *     };
 *     extern "C" __global__ void __launch_bounds__(256 GROUPS)
 *     croft_NAME(const __grid_constant__ croft_arguments arguments)
 *
 * Group `first + blockIdx.x` is the one that runs; threads beyond the lanes of the team leave at
 * once. f16 and bf16 are their bits, a bool of memory is a byte. Compiled with -fmad=false and
 * without fast arithmetic, it computes the bits of the simulator. What is not an operator of the
 * language is a function of the prelude (cuda_prelude.def). */
#include "target/cuda_internal.h"

#include <string.h>

target_cuda *target_cuda_of(target_emitter *emitter) {
    return (target_cuda *)(void *)emitter;
}

/* ---- types ---- */

static bool cuda_vectors(const target_emitter *e) {
    (void)e;
    return false;
}

static const char *cuda_type(const target_emitter *e, base_dtype dtype, bool vector) {
    (void)e;
    (void)vector;
    return base_dtype_name(dtype == BASE_INDEX ? BASE_I64 : dtype);
}

static bool cuda_operators(base_dtype dtype, bool vector) {
    (void)dtype;
    (void)vector;
    return true;
}

static const char *cuda_splat(target_emitter *e, base_dtype dtype, const char *scalar) {
    (void)e;
    (void)dtype;
    return scalar;
}

const char *target_cuda_memory_type(const target_emitter *emitter, base_dtype dtype) {
    return cuda_type(emitter, dtype == BASE_BOOL ? BASE_U8 : dtype, false);
}

/* With no loop over registers nothing is spread. */
static void cuda_spread(target_emitter *e, base_dtype dtype, const char *name) {
    (void)e;
    (void)dtype;
    (void)name;
}

bool target_cuda_is_guarded(const ir_op *op) {
    const ir_op *owner = op->parent->owner;
    while (owner != NULL && owner->opcode != IR_WHEN)
        owner = owner->parent->owner;
    return owner != NULL;
}

/* ---- teams that were planned as one thread ---- */

static bool find_tensors(void *state, ir_op *op) {
    target_cuda *cuda = state;
    if (op->opcode == IR_LOAD)
        cuda->loaded[op->operands[0]->number] = true;
    if (op->opcode == IR_STORE)
        cuda->stored[op->operands[0]->number] = true;
    return true;
}

static bool touches_output(const target_cuda *cuda, const ir_op *op) {
    if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        return cuda->stored[op->operands[0]->number];
    bool touches = false;
    for (const ir_op *inner = op->opcode == IR_WHEN ? op->regions[0]->first : NULL; inner != NULL;
         inner = inner->next)
        touches = touches || touches_output(cuda, inner);
    return touches;
}

/* Lanes of a plan for one thread see each other's stores op by op: here they wait before each
 * access of an output. */
static void cuda_before(target_emitter *e, const ir_op *op) {
    const target_cuda *cuda = target_cuda_of(e);
    if (cuda->one_thread && cuda->lanes > 1 && !target_cuda_is_guarded(op) &&
        touches_output(cuda, op))
        target_cuda_wait(e);
}

/* ---- around the body ---- */

/* Of C++ and CUDA, and of the emitted text around the body. */
static const char *const cuda_words[] = {
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "arguments",
    "asm",
    "assert",
    "auto",
    "bitand",
    "bitor",
    "blockDim",
    "blockIdx",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "co_await",
    "co_return",
    "co_yield",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "gridDim",
    "half",
    "i386",
    "if",
    "inline",
    "int",
    "lane",
    "linux",
    "long",
    "memory",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "scratch",
    "short",
    "signed",
    "size_t",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "struct",
    "subgroup",
    "switch",
    "template",
    "this",
    "thread",
    "thread_local",
    "threadIdx",
    "throw",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "warpSize",
    "wchar_t",
    "while",
    "xor",
    "xor_eq",
    "croft_arguments",
    NULL,
};

static const target_dialect cuda_dialect = {
    .type = cuda_type,
    .vectors = cuda_vectors,
    .operators = cuda_operators,
    .splat = cuda_splat,
    .infinity = "__int_as_float(0x7f800000)",
    .nan = "__int_as_float(0x7fc00000)",
    .words = cuda_words,
    .before = cuda_before,
    .block = target_cuda_block,
    .iota = target_cuda_iota,
    .combine = target_cuda_combine,
    .shuffle = target_cuda_shuffle,
    .xorslot = target_cuda_xorslot,
    .uniform = target_cuda_uniform,
    .sync = target_cuda_sync,
    .spread = cuda_spread,
    .load = target_cuda_load,
    .store = target_cuda_store,
    .pull = target_cuda_pull,
    .push = target_cuda_push,
};

static bool is_used(const target_names *used, const char *name) {
    return target_names_has(used, name, strlen(name));
}

/* A scalar from the low bytes of its word. */
static const char *scalar_from_word(const target_emitter *e, base_dtype dtype, int64_t word) {
    if (dtype == BASE_F32)
        return target_emit_text(e, "__uint_as_float((u32)arguments.words[%lld])", (long long)word);
    if (dtype == BASE_BOOL)
        return target_emit_text(e, "(arguments.words[%lld] & 255) != 0", (long long)word);
    return target_emit_text(e, "(%s)arguments.words[%lld]", cuda_type(e, dtype, false),
                            (long long)word);
}

static void declare_word(const target_names *used, const char *name, int64_t word, base_text *out) {
    if (is_used(used, name))
        base_text_format(out, "    const i64 %s = arguments.words[%lld];\n", name, (long long)word);
}

/* Tensors, sizes, strides and scalars, those that are used. */
static void declare_arguments(const target_emitter *e, const target_names *used, base_text *out) {
    const ir_module *m = e->module;
    int64_t word = 0, pointer = 0;
    for (int i = 0; i < m->parameter_count; i++) {
        const ir_parameter *p = &m->parameters[i];
        const char *type = target_cuda_memory_type(e, p->dtype), *name = e->parameters[i].name;
        const char *constant = p->mode == IR_IN ? "const " : "";
        if (p->is_tensor && is_used(used, name))
            base_text_format(out, "    %s%s *const %s = (%s%s *)arguments.pointers[%lld];\n",
                             constant, type, name, constant, type, (long long)pointer);
        pointer += p->is_tensor;
    }
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
            base_text_format(out, "    const %s %s = %s;\n", cuda_type(e, dtype, false),
                             e->parameters[i].name, scalar_from_word(e, dtype, word));
        word++;
    }
}

/* The same for all launches of a dispatch: they have the same parameters. */
static void append_struct(const target_emitter *e, base_text *out) {
    const ir_module *m = e->module;
    int64_t pointers = 0, words = m->extents.symbol_count;
    for (int i = 0; i < m->parameter_count; i++)
        words += m->parameters[i].is_tensor ? m->parameters[i].value->type.rank : 1;
    for (int i = 0; i < e->module->parameter_count; i++)
        pointers += e->module->parameters[i].is_tensor;
    base_text_string(out, "\nstruct croft_arguments {\n");
    if (pointers > 0)
        base_text_format(out, "    void *pointers[%lld];\n", (long long)pointers);
    if (words > 0)
        base_text_format(out, "    i64 words[%lld];\n", (long long)words);
    base_text_string(out, "    char *workspace;\n    i64 first;\n};\n");
}

static void append_kernel(target_emitter *e, const char *entry, int threads, base_text *out) {
    target_cuda *cuda = target_cuda_of(e);
    base_text arrays, numbers, arguments;
    base_text_init(&arrays, e->arena);
    base_text_init(&numbers, e->arena);
    base_text_init(&arguments, e->arena);
    target_names used;
    target_names_init(&used, e->arena);
    target_cuda_declare_arrays(e, &arrays);
    target_names_scan(&used, e->body.length > 0 ? e->body.bytes : "");
    target_names_scan(&used, arrays.length > 0 ? arrays.bytes : "");
    target_cuda_declare_numbers(e, &used, &numbers);
    declare_arguments(e, &used, &arguments);
    base_text_format(out,
                     "\nextern \"C\" __global__ void __launch_bounds__(%d GROUPS)\n"
                     "%s(const __grid_constant__ croft_arguments arguments) {\n",
                     threads, entry);
    if (threads > cuda->lanes)
        base_text_format(out, "    if (threadIdx.x >= %d)\n        return;\n", cuda->lanes);
    base_text_string(out, arguments.length > 0 ? arguments.bytes : "");
    base_text_string(out, numbers.length > 0 ? numbers.bytes : "");
    base_text_string(out, arrays.length > 0 ? arrays.bytes : "");
    if (is_used(&used, e->group))
        base_text_format(out, "    const i64 %s = arguments.first + blockIdx.x;\n", e->group);
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

static void cuda_begin(target_cuda *cuda, base_arena *arena, const ir_module *module,
                       const machine *on) {
    const machine *planned = module->machine != NULL ? machine_find(module->machine) : NULL;
    *cuda = (target_cuda){.emitter = {.arena = arena,
                                      .module = module,
                                      .machine = on,
                                      .dialect = &cuda_dialect,
                                      .lanes = 1,
                                      .parts = 1,
                                      .registers = 1},
                          .lanes = module->lanes,
                          .subgroup = ir_module_subgroup_lanes(module),
                          .one_thread = planned != NULL && planned->row_subgroups == 1};
    cuda->loaded = BASE_NEW_ARRAY(arena, bool, module->next_value + 1);
    cuda->stored = BASE_NEW_ARRAY(arena, bool, module->next_value + 1);
    ir_region_walk((ir_region *)&module->body, find_tensors, cuda);
}

/* The kernel of a module, with what the launch must know of it. */
static target_source emit_kernel(target_cuda *cuda, base_text *out) {
    target_emitter *e = &cuda->emitter;
    bool fits;
    target_source source = {.entry = target_emit_text(e, "croft_%s", e->module->name),
                            .threads = (e->module->lanes + CUDA_WARP - 1) / CUDA_WARP * CUDA_WARP,
                            .workspace = target_cuda_workspace(e->module, &fits)};
    target_emit_begin(e, target_cuda_prelude_names(e->arena));
    target_cuda_find_arrays(e);
    target_emit_body(e, 1);
    append_kernel(e, source.entry, source.threads, out);
    source.scratch_bytes = target_cuda_launch_scratch(e);
    return source;
}

static void append_title(const ir_module *module, int threads, const machine *on, base_text *out) {
    base_text_format(
        out,
        "/* Kernel %s for %s, %d lanes in %d threads. Includes nothing; groups of the\n"
        " * grid are independent. Compile with %s%s-fmad=false. */\n\n",
        module->name, on->name, module->lanes, threads, on->compiler_flags,
        on->compiler_flags[0] != '\0' ? " " : "");
    append_conditions(module, out);
}

void target_cuda_emit(base_arena *arena, const ir_module *const *modules, int count,
                      const machine *on, target_source *sources) {
    target_cuda cuda;
    base_text kernels, out;
    target_names used, written;
    base_text_init(&kernels, arena);
    base_text_init(&out, arena);
    target_names_init(&used, arena);
    target_names_init(&written, arena);
    for (int i = 0; i < count; i++) {
        cuda_begin(&cuda, arena, modules[i], on);
        if (i == 0)
            append_struct(&cuda.emitter, &kernels);
        sources[i] = emit_kernel(&cuda, &kernels);
        append_title(modules[i], sources[i].threads, on, &out);
        if (i + 1 < count)
            base_text_format(&kernels, "\n/* plan %016llx */\n",
                             (unsigned long long)modules[i]->plan_hash);
    }
    target_names_scan(&used, kernels.bytes);
    target_cuda_prelude(&out, &used, &written);
    base_text_string(&out, kernels.bytes);
    base_text_format(&out, "\n/* plan %016llx */\n",
                     (unsigned long long)modules[count - 1]->plan_hash);
    for (int i = 0; i < count; i++)
        sources[i].text = out.bytes;
}
