/* The dialect of the metal target: the Metal Shading Language, 2.1 or newer.
 *
 * Tensors are arguments by themselves, behind them the workspace of the groups of this launch, one
 * behind the other, and a struct (without words where there are none); scratch is memory that the
 * launch gives, where there is any:
 *
 *     struct croft_words {
 *         i64 words[6];           // sizes, strides, scalars
 *         i64 first;              // number of the first group
 *     };
 *     [[max_total_threads_per_threadgroup(256)]]
 *     kernel void croft_NAME(device const f32 *x [[buffer(0)]], device f32 *y [[buffer(1)]],
 *                            device uchar *workspace [[buffer(2)]],
 *                            constant struct croft_words &arguments [[buffer(3)]],
 *                            threadgroup uint4 *shared [[threadgroup(0)]], ...)
 *
 * A group has as many threads as the team has lanes. A thread's number is made from those of its
 * SIMD group and of its place in it, so that lanes which exchange registers are those of one SIMD
 * group whatever the language makes of the others; `thread` is a word of the language, so it is
 * called `worker`. Reductions of f32 are shuffles, since the order of simd_sum is nobody's promise
 * and the zero of simd_max neither; those of i32 and u32 show no order and are one function.
 *
 * Packs are vectors of the element type, or of words where there are more elements than the 4 that
 * a vector has, at addresses that are multiples of their size. f16 and bf16 are their bits. There
 * is no access with a policy, no double, no fast arithmetic.
 *
 * It computes the bits of the simulator where the device keeps subnormals (gpu.c says what else is
 * in the text). */
#include "target/metal_internal.h"

#include <string.h>

enum { METAL_SIMD = 32, METAL_BUFFERS = 31, METAL_OTHER_BUFFERS = 2, VECTOR_MAX = 4 };

static const target_prelude_row metal_prelude[] = {
#define DECLARE(name, text)               {name, "", NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#include "target/metal_prelude.def"
#undef DECLARE
#undef FUNCTION
};

/* Of the language beside those of C++, and of the emitted text around the body. Names of functions
 * may be hidden by a value, but not those that a body calls. */
static const char *const metal_words[] = {
    "arguments",    "as_type",       "constant",     "device",      "fragment",
    "group_number", "half",          "kernel",       "lane",        "mem_flags",
    "memory",       "metal",         "precise",      "scratch",     "shared",
    "simd",         "subgroup",      "thread",       "threadgroup", "threadgroup_barrier",
    "vec",          "vertex",        "worker",       "workspace",   "simd_number",
    "simd_place",   "popcount",      "ray_data",     "bfloat",      "object_data",
    "assert",       "packed_float4", "packed_half4", NULL,
};

static const char *const vector_types[] = {"bool", "char", "uchar", "short", "ushort", "int",
                                           "uint", "long", "ulong", "half",  "float",  "bfloat"};

/* uchar, float4, int2: types of the language. */
static bool is_vector_type(const char *name) {
    for (size_t i = 0; i < sizeof vector_types / sizeof vector_types[0]; i++) {
        size_t length = strlen(vector_types[i]);
        if (strncmp(name, vector_types[i], length) == 0 &&
            (name[length] == '\0' || (name[length] >= '2' && name[length] <= '4')))
            return true;
    }
    return false;
}

/* Macros of the language and of its headers are written like macros: nobody lists them all. */
static bool metal_is_reserved(const char *name) {
    bool small = false;
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        small = small || (name[i] >= 'a' && name[i] <= 'z');
    return (length > 2 && !small) || is_vector_type(name);
}

/* ---- around the body ---- */

static void metal_title(const ir_module *module, int threads, const machine *on, base_text *out) {
    base_text_format(out,
                     "/* Kernel %s for %s, %d lanes in groups of %d. Includes the language's own "
                     "header; groups\n * of the grid are independent. Compile without fast "
                     "arithmetic (-fno-fast-math, mathMode safe). */\n\n",
                     module->name, on->name, module->lanes, threads);
}

/* The same for all launches of a dispatch: they have the same parameters. */
static void metal_shared(const target_emitter *e, base_text *out) {
    int64_t words = target_gpu_word_count(e->module);
    base_text_string(out, "\nstruct croft_words {\n");
    if (words > 0)
        base_text_format(out, "    i64 words[%lld];\n", (long long)words);
    base_text_string(out, "    i64 first;\n};\n");
}

static void metal_head(const target_emitter *e, const char *entry, int threads, base_text *out) {
    int buffer = 0;
    base_text_format(out, "\n[[max_total_threads_per_threadgroup(%d)]]\nkernel void %s(", threads,
                     entry);
    for (int i = 0; i < e->module->parameter_count; i++) {
        const ir_parameter *p = &e->module->parameters[i];
        if (p->is_tensor)
            base_text_format(out, "device %s%s *%s [[buffer(%d)]], ",
                             p->mode == IR_IN ? "const " : "", target_gpu_memory_type(p->dtype),
                             e->parameters[i].name, buffer++);
    }
    base_text_format(out,
                     "device uchar *workspace [[buffer(%d)]], "
                     "constant struct croft_words &arguments [[buffer(%d)]], ",
                     buffer, buffer + 1);
    if (((const target_gpu *)(const void *)e)->scratch_bytes > 0)
        base_text_string(out, "threadgroup uint4 *shared [[threadgroup(0)]], ");
    base_text_string(out, "uint simd_number [[simdgroup_index_in_threadgroup]], "
                          "uint simd_place [[thread_index_in_simdgroup]], "
                          "uint group_number [[threadgroup_position_in_grid]]) {\n");
}

static void metal_scratch(const target_emitter *e, int64_t bytes, base_text *out) {
    (void)e, (void)bytes;
    base_text_string(out, "    threadgroup uchar *const scratch = (threadgroup uchar *)shared;\n");
}

/* ---- lanes ---- */

static const char *metal_shuffle(target_emitter *e, base_dtype dtype, const char *value,
                                 int64_t turned, const char *number) {
    const char *type = target_gpu_type(dtype);
    int lanes = ir_module_subgroup_lanes(e->module);
    if (number == NULL)
        return target_emit_text(e, "shuffle_xor_%s(%s, %lld)", type, value, (long long)turned);
    if (lanes < METAL_SIMD && lanes < e->module->lanes)
        number = target_emit_text(e, "(worker & %d) + (%s)", METAL_SIMD - lanes, number);
    return target_emit_text(e, "shuffle_%s(%s, %s)", type, value, number);
}

/* Integers alone: the order of a sum of f32 and the zero of its maximum are not promised. */
static const char *metal_together(const target_emitter *e, ir_opcode opcode, base_dtype dtype,
                                  const char *value) {
    const char *word = opcode == IR_ADD       ? "sum"
                       : opcode == IR_MAXIMUM ? "max"
                       : opcode == IR_MINIMUM ? "min"
                                              : NULL;
    if (word == NULL || (dtype != BASE_I32 && dtype != BASE_U32))
        return NULL;
    return target_emit_text(e, "%s_together_%s(%s)", word, target_gpu_type(dtype), value);
}

/* Whether what one thread stored in a tensor may be what another one reads, or writes again. */
static bool shares_tensors(const target_gpu *gpu) {
    bool shares = gpu->one_thread;
    for (int i = 0; i < gpu->emitter.module->parameter_count; i++) {
        const ir_parameter *p = &gpu->emitter.module->parameters[i];
        shares = shares ||
                 (p->is_tensor && gpu->stored[p->value->number] && gpu->loaded[p->value->number]);
    }
    return shares;
}

static void metal_wait(target_emitter *e, ir_scope scope) {
    int lanes = e->module->lanes;
    if (scope == IR_SCOPE_SUBGROUP && ir_module_subgroup_lanes(e->module) <= METAL_SIMD)
        lanes = ir_module_subgroup_lanes(e->module);
    if (lanes == 1)
        return;
    target_emit_line(e, "%s_barrier(%smem_flags::mem_threadgroup);",
                     lanes <= METAL_SIMD ? "simdgroup" : "threadgroup",
                     shares_tensors(target_gpu_of(e)) ? "mem_flags::mem_device | " : "");
}

/* ---- packs ---- */

static bool is_of_words(base_dtype dtype, int count) {
    return count > VECTOR_MAX || (base_dtype_size(dtype) == 8 && count > 2);
}

static const char *metal_pack_type(const target_emitter *e, base_dtype dtype, int count) {
    if (!is_of_words(dtype, count))
        return target_emit_text(e, "%s%d", target_gpu_vector_of(dtype), count);
    return target_emit_text(e, "uint%lld", (long long)count * base_dtype_size(dtype) / 4);
}

static const char *metal_pack_part(const target_emitter *e, base_dtype dtype, const char *pack,
                                   int count, int i) {
    if (is_of_words(dtype, count))
        return target_gpu_words_part(e, dtype, pack, i);
    return target_emit_text(e, dtype == BASE_BOOL ? "%s.%c != 0" : "%s.%c", pack, "xyzw"[i]);
}

static const char *metal_pack_of(const target_emitter *e, base_dtype dtype, int count,
                                 const char *const *elements) {
    base_text out;
    base_text_init(&out, e->arena);
    const char *type = metal_pack_type(e, dtype, count);
    base_text_format(&out, "%s(", type);
    if (is_of_words(dtype, count))
        base_text_string(&out, target_gpu_words_of(e, dtype, count, elements));
    for (int i = 0; !is_of_words(dtype, count) && i < count; i++)
        base_text_format(&out, "%s%s", i > 0 ? ", " : "", elements[i]);
    base_text_string(&out, ")");
    return out.bytes;
}

/* ---- what a machine lacks ---- */

static const char *metal_refuses(const ir_module *module, const ir_op *op, const machine *on) {
    if (strcmp(on->target, "metal") != 0)
        return "the machine is not one of metal";
    if (module->cluster > 1)
        return "Metal has no clusters";
    if (target_gpu_pointer_count(module) + METAL_OTHER_BUFFERS > METAL_BUFFERS)
        return "a Metal kernel takes 31 buffers: 29 tensors, the workspace and the words";
    if (ir_native_find(op->opcode) != NULL)
        return "native forms of functions are not bounded there: plans say `portable`";
    return NULL;
}

static const target_gpu_spelling metal_spelling = {
    .infinity = "as_type<float>(0x7f800000)",
    .nan = "as_type<float>(0x7fc00000)",
    .words = metal_words,
    .language = target_gpu_cxx_words,
    .is_reserved = metal_is_reserved,
    .prelude = metal_prelude,
    .prelude_rows = sizeof metal_prelude / sizeof metal_prelude[0],
    .before_all = "#include <metal_stdlib>\n\n#pragma METAL fp math_mode(safe)\n"
                  "#pragma METAL fp contract(off)\n\nusing namespace metal;\n\n",
    .tensor_space = "device ",
    .scratch_space = "threadgroup ",
    .byte = "uchar",
    .thread = "(simd_number * 32 + simd_place)",
    .block = "group_number",
    .own = "worker",
    .word_letters = "xyzw",
    .workspace = "workspace",
    .f32_from_i32 = "as_type<f32>",
    .f32_from_u32 = "as_type<f32>",
    .i32_from_f32 = "as_type<i32>",
    .u32_from_f32 = "as_type<u32>",
    .popcount = "popcount",
    .lock_step = METAL_SIMD,
    .any_threads = true,
    .exchanges = 1,
    .scratch_declared = 0,
    .refuses = metal_refuses,
    .title = metal_title,
    .shared = metal_shared,
    .head = metal_head,
    .scratch = metal_scratch,
    .shuffle = metal_shuffle,
    .together = metal_together,
    .wait = metal_wait,
    .pack_type = metal_pack_type,
    .pack_part = metal_pack_part,
    .pack_of = metal_pack_of,
};

/* ---- the target ---- */

static const char *metal_supports(const ir_module *module, const ir_op *op, const machine *on) {
    return target_gpu_supports(module, op, on, &metal_spelling);
}

static const char *metal_ignores_policy(base_arena *arena, const ir_module *module, const ir_op *op,
                                        const machine *on) {
    (void)arena, (void)module, (void)op, (void)on;
    return "MSL has no access with a policy";
}

static void metal_emit(base_arena *arena, const ir_module *const *modules, int count,
                       const machine *on, target_source *sources) {
    target_gpu_emit(arena, modules, count, on, &metal_spelling, sources);
}

const target target_metal = {.name = "metal",
                             .uses_conditions = true,
                             .supports = metal_supports,
                             .ignores_policy = metal_ignores_policy,
                             .emit = metal_emit};
