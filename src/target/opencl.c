/* The dialect of the opencl target: OpenCL C 1.2 without extensions, and without any include.
 *
 * Tensors are arguments by themselves, behind them the workspace of the groups of this launch, one
 * behind the other, and a struct by value (without words where there are none):
 *
 *     struct croft_words {
 *         i64 words[6];           // sizes, strides, scalars
 *         i64 first;              // number of the first group
 *     };
 *     __kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
 *     croft_NAME(__global const f32 *x, __global f32 *y, __global uchar *workspace,
 *                const struct croft_words arguments)
 *
 * A group has as many work-items as the team has lanes. Nothing is assumed of which of them run
 * together: a value goes to another lane through local memory, behind a barrier, and a wait of a
 * subgroup is one of the group. Every lane comes to every barrier (gpu_supports.c). Packs are
 * vectors of the element type, at addresses that are multiples of their size. f16 and bf16 are
 * their bits, converted by functions that need no extension. There is no access that leaves the
 * caches first.
 *
 * It computes the bits of the simulator where the device divides and takes roots correctly rounded
 * and keeps subnormals (gpu.c says what else is in the text). */
#include "target/opencl_internal.h"

#include <string.h>

static const target_prelude_row opencl_prelude[] = {
#define DECLARE(name, text)               {name, "", NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#include "target/opencl_prelude.def"
#undef DECLARE
#undef FUNCTION
};

/* Of OpenCL C and of the emitted text around the body. Names of built-in functions may be hidden by
 * a value. */
static const char *const opencl_words[] = {
    "arguments", "as_float", "as_int",    "as_uint",  "asm",          "auto",         "barrier",
    "bool",      "bool16",   "bool2",     "bool3",    "bool4",        "bool8",        "break",
    "case",      "char",     "char16",    "char2",    "char3",        "char4",        "char8",
    "complex",   "const",    "constant",  "continue", "default",      "do",           "double",
    "double16",  "double2",  "double3",   "double4",  "double8",      "else",         "enum",
    "event_t",   "extern",   "false",     "float",    "float16",      "float2",       "float3",
    "float4",    "float8",   "for",       "generic",  "get_group_id", "get_local_id", "global",
    "goto",      "half",     "half16",    "half2",    "half3",        "half4",        "half8",
    "i386",      "if",       "imaginary", "inline",   "int",          "int16",        "int2",
    "int3",      "int4",     "int8",      "intptr_t", "kernel",       "lane",         "linux",
    "local",     "long",     "long16",    "long2",    "long3",        "long4",        "long8",
    "memory",    "pipe",     "popcount",  "private",  "ptrdiff_t",    "quad",         "quad16",
    "quad2",     "quad3",    "quad4",     "quad8",    "read_only",    "read_write",   "register",
    "restrict",  "return",   "sampler_t", "scratch",  "short",        "short16",      "short2",
    "short3",    "short4",   "short8",    "signed",   "size_t",       "sizeof",       "static",
    "struct",    "subgroup", "switch",    "this",     "thread",       "true",         "typedef",
    "typeof",    "uchar",    "uchar16",   "uchar2",   "uchar3",       "uchar4",       "uchar8",
    "uint",      "uint16",   "uint2",     "uint3",    "uint4",        "uint8",        "uintptr_t",
    "ulong",     "ulong16",  "ulong2",    "ulong3",   "ulong4",       "ulong8",       "union",
    "unix",      "unsigned", "ushort",    "ushort16", "ushort2",      "ushort3",      "ushort4",
    "ushort8",   "vec_step", "void",      "volatile", "while",        "workspace",    "write_only",
    NULL,
};

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Macros of the language, of its extensions and of the headers that implementations put in front of
 * a text: nobody has a list of them all, but they are written like macros. So are types of images
 * the language's, those that are not of 1.2 too. */
static bool opencl_is_reserved(const char *name) {
    bool small = false;
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        small = small || (name[i] >= 'a' && name[i] <= 'z');
    return (length > 2 && !small) || starts_with(name, "CLK_") || starts_with(name, "cl_") ||
           starts_with(name, "cles_") ||
           (starts_with(name, "image") && strcmp(name + length - 2, "_t") == 0);
}

/* ---- around the body ---- */

static void opencl_title(const ir_module *module, int threads, const machine *on, base_text *out) {
    base_text_format(
        out,
        "/* Kernel %s for %s, %d lanes in groups of %d. Includes nothing; groups of the\n"
        " * grid are independent. Compile with %s%s-cl-std=CL1.2\n"
        " * -cl-fp32-correctly-rounded-divide-sqrt. */\n\n",
        module->name, on->name, module->lanes, threads, on->compiler_flags,
        on->compiler_flags[0] != '\0' ? " " : "");
}

/* The same for all launches of a dispatch: they have the same parameters. */
static void opencl_shared(const target_emitter *e, base_text *out) {
    int64_t words = target_gpu_word_count(e->module);
    base_text_string(out, "\nstruct croft_words {\n");
    if (words > 0)
        base_text_format(out, "    i64 words[%lld];\n", (long long)words);
    base_text_string(out, "    i64 first;\n};\n");
}

static void opencl_head(const target_emitter *e, const char *entry, int threads, base_text *out) {
    base_text_format(out, "\n__kernel __attribute__((reqd_work_group_size(%d, 1, 1))) void\n%s(",
                     threads, entry);
    for (int i = 0; i < e->module->parameter_count; i++) {
        const ir_parameter *p = &e->module->parameters[i];
        if (p->is_tensor)
            base_text_format(out, "__global %s%s *%s, ", p->mode == IR_IN ? "const " : "",
                             target_gpu_memory_type(p->dtype), e->parameters[i].name);
    }
    base_text_string(out, "__global uchar *workspace, const struct croft_words arguments) {\n");
}

static void opencl_scratch(const target_emitter *e, int64_t bytes, base_text *out) {
    (void)e;
    base_text_format(out, "    __local uchar scratch[%lld] __attribute__((aligned(16)));\n",
                     (long long)bytes);
}

/* Of the subgroup too: its lanes may be anywhere. */
static void opencl_wait(target_emitter *e, ir_scope scope) {
    (void)scope;
    if (e->module->lanes > 1)
        target_emit_line(e, "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
}

/* ---- packs ---- */

static const char *opencl_pack_type(const target_emitter *e, base_dtype dtype, int count) {
    return target_emit_text(e, "%s%d", target_gpu_vector_of(dtype), count);
}

static const char *opencl_pack_part(const target_emitter *e, base_dtype dtype, const char *pack,
                                    int count, int i) {
    (void)count;
    return target_emit_text(e, dtype == BASE_BOOL ? "%s.s%x != 0" : "%s.s%x", pack, (unsigned)i);
}

static const char *opencl_pack_of(const target_emitter *e, base_dtype dtype, int count,
                                  const char *const *elements) {
    base_text out;
    base_text_init(&out, e->arena);
    base_text_format(&out, "(%s%d)(", target_gpu_vector_of(dtype), count);
    for (int i = 0; i < count; i++)
        base_text_format(&out, "%s%s", i > 0 ? ", " : "", elements[i]);
    base_text_string(&out, ")");
    return out.bytes;
}

/* ---- what a machine lacks ---- */

static const char *opencl_refuses(const ir_module *module, const ir_op *op, const machine *on) {
    if (strcmp(on->target, "opencl") != 0)
        return "the machine is not one of opencl";
    if (module->cluster > 1)
        return "OpenCL has no clusters";
    if (ir_native_find(op->opcode) != NULL)
        return "native forms of functions differ from device to device: plans say `portable`";
    return NULL;
}

static const target_gpu_spelling opencl_spelling = {
    .infinity = "as_float(0x7f800000)",
    .nan = "as_float(0x7fc00000)",
    .words = opencl_words,
    .is_reserved = opencl_is_reserved,
    .prelude = opencl_prelude,
    .prelude_rows = sizeof opencl_prelude / sizeof opencl_prelude[0],
    .before_all = "#pragma OPENCL FP_CONTRACT OFF\n\n",
    .tensor_space = "__global ",
    .scratch_space = "__local ",
    .byte = "uchar",
    .thread = "get_local_id(0)",
    .block = "get_group_id(0)",
    .workspace = "workspace",
    .f32_from_i32 = "as_float",
    .f32_from_u32 = "as_float",
    .i32_from_f32 = "as_int",
    .u32_from_f32 = "as_uint",
    .popcount = "popcount",
    .own = "thread",
    .lock_step = 1,
    .exchanges = 2,
    .scratch_declared = INT64_MAX,
    .refuses = opencl_refuses,
    .title = opencl_title,
    .shared = opencl_shared,
    .head = opencl_head,
    .scratch = opencl_scratch,
    .wait = opencl_wait,
    .pack_type = opencl_pack_type,
    .pack_part = opencl_pack_part,
    .pack_of = opencl_pack_of,
};

/* ---- the target ---- */

static const char *opencl_supports(const ir_module *module, const ir_op *op, const machine *on) {
    return target_gpu_supports(module, op, on, &opencl_spelling);
}

static const char *opencl_ignores_policy(base_arena *arena, const ir_module *module,
                                         const ir_op *op, const machine *on) {
    (void)arena, (void)module, (void)op, (void)on;
    return "OpenCL C 1.2 has no access with a policy";
}

static void opencl_emit(base_arena *arena, const ir_module *const *modules, int count,
                        const machine *on, target_source *sources) {
    target_gpu_emit(arena, modules, count, on, &opencl_spelling, sources);
}

const target target_opencl = {.name = "opencl",
                              .uses_conditions = true,
                              .supports = opencl_supports,
                              .ignores_policy = opencl_ignores_policy,
                              .emit = opencl_emit};
