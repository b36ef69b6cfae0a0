/* The dialect of the cuda target: CUDA C++ for the run-time compiler, without any include.
 *
 * A kernel takes all its arguments in one struct (an array of none is left out):
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
 * Threads beyond the lanes of the team leave at once. A subgroup that lies in one warp exchanges
 * registers; masks name the lanes that are there and no others. It is compiled with -fmad=false
 * (gpu.c says what else is in the text). */
#include "target/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

enum { CUDA_WARP = 32, CLUSTER_MAX = 16, CLUSTER_FROM = 90, DECLARED_MAX = 48 * 1024 };

static const target_prelude_row cuda_prelude[] = {
#define DECLARE(name, text)               {name, "", NULL, text},
#define FUNCTION(name, types, head, body) {name, types, head, body},
#include "target/cuda_prelude.def"
#undef DECLARE
#undef FUNCTION
};

/* Of CUDA, and of the emitted text around the body. */
static const char *const cuda_words[] = {
    "arguments", "assert", "blockDim", "blockIdx",        "gridDim", "half",     "i386",
    "lane",      "linux",  "memory",   "private",         "scratch", "subgroup", "thread",
    "threadIdx", "unix",   "warpSize", "croft_arguments", NULL,
};

/* ---- around the body ---- */

static void cuda_title(const ir_module *module, int threads, const machine *on, base_text *out) {
    base_text_format(
        out,
        "/* Kernel %s for %s, %d lanes in %d threads. Includes nothing; groups of the\n"
        " * grid are independent. Compile with %s%s-fmad=false. */\n\n",
        module->name, on->name, module->lanes, threads, on->compiler_flags,
        on->compiler_flags[0] != '\0' ? " " : "");
}

/* The same for all launches of a dispatch: they have the same parameters. */
static void cuda_shared(const target_emitter *e, base_text *out) {
    int64_t pointers = target_gpu_pointer_count(e->module);
    int64_t words = target_gpu_word_count(e->module);
    base_text_string(out, "\nstruct croft_arguments {\n");
    if (pointers > 0)
        base_text_format(out, "    void *pointers[%lld];\n", (long long)pointers);
    if (words > 0)
        base_text_format(out, "    i64 words[%lld];\n", (long long)words);
    base_text_string(out, "    char *workspace;\n    i64 first;\n};\n");
}

static void cuda_head(const target_emitter *e, const char *entry, int threads, base_text *out) {
    base_text_format(out,
                     "\nextern \"C\" __global__ void __launch_bounds__(%d GROUPS)\n"
                     "%s(const __grid_constant__ croft_arguments arguments) {\n",
                     threads, entry);
    if (threads > e->module->lanes)
        base_text_format(out, "    if (threadIdx.x >= %d)\n        return;\n", e->module->lanes);
}

static const char *cuda_follow(const machine *on) {
    return on->launches_overlap ? "follow_launches()" : NULL;
}

static void cuda_tensors(const target_emitter *e, const target_names *used, base_text *out) {
    int64_t pointer = 0;
    for (int i = 0; i < e->module->parameter_count; i++) {
        const ir_parameter *p = &e->module->parameters[i];
        const char *type = target_gpu_memory_type(p->dtype), *name = e->parameters[i].name;
        const char *constant = p->mode == IR_IN ? "const " : "";
        if (p->is_tensor && target_names_has(used, name, strlen(name)))
            base_text_format(out, "    %s%s *const %s = (%s%s *)arguments.pointers[%lld];\n",
                             constant, type, name, constant, type, (long long)pointer);
        pointer += p->is_tensor;
    }
}

static void cuda_scratch(const target_emitter *e, int64_t bytes, base_text *out) {
    (void)e;
    if (bytes > DECLARED_MAX)
        base_text_string(out, "    extern __shared__ __align__(16) char scratch[];\n");
    else
        base_text_format(out, "    __shared__ __align__(16) char scratch[%lld];\n",
                         (long long)bytes);
}

/* ---- lanes ---- */

/* The lanes of this warp that are there. */
static const char *warp_mask(target_emitter *e) {
    int lanes = e->module->lanes;
    unsigned rest = (1u << lanes % CUDA_WARP) - 1;
    if (lanes % CUDA_WARP == 0)
        return "0xffffffffu";
    if (lanes < CUDA_WARP)
        return target_emit_text(e, "0x%xu", rest);
    const char *mask =
        target_emit_text(e, "thread < %d ? 0xffffffffu : 0x%xu", lanes - lanes % CUDA_WARP, rest);
    return target_gpu_number_of(e, "u32", "warp", mask);
}

static const char *cuda_shuffle(target_emitter *e, base_dtype dtype, const char *value,
                                int64_t turned, const char *number) {
    const char *mask = warp_mask(e), *type = target_gpu_type(dtype);
    if (number == NULL)
        return target_emit_text(e, "shuffle_xor_%s(%s, %s, %lld)", type, value, mask,
                                (long long)turned);
    return target_emit_text(e, "shuffle_%s(%s, %s, %s, %d)", type, value, mask, number,
                            ir_module_subgroup_lanes(e->module));
}

static void cuda_wait(target_emitter *e, ir_scope scope) {
    bool within_warp =
        e->module->lanes <= CUDA_WARP ||
        (scope == IR_SCOPE_SUBGROUP && ir_module_subgroup_lanes(e->module) <= CUDA_WARP);
    if (scope == IR_SCOPE_CLUSTER && e->module->cluster > 1)
        target_emit_line(e, "cluster_wait();");
    else if (within_warp)
        target_emit_line(e, "__syncwarp(%s);", warp_mask(e));
    else
        target_emit_line(e, "__syncthreads();");
}

static void cuda_cluster_begin(target_emitter *e, bool wait) {
    target_emit_line(e, wait ? "cluster_begun();" : "cluster_begins();");
}

/* Groups of a cluster are neighbours in the grid. */
static const char *cuda_block_number(target_emitter *e) {
    return target_gpu_number_of(e, "i64", "block", "cluster_block()");
}

static const char *cuda_far_scratch(const target_emitter *e, const char *own, const char *block) {
    return target_emit_text(e, "cluster_memory(%s, (u32)(%s))", own, block);
}

/* ---- packs ---- */

static const char *cuda_pack_type(const target_emitter *e, base_dtype dtype, int count) {
    return target_emit_text(e, "pack%lld", (long long)count * base_dtype_size(dtype));
}

static const char *cuda_pack_part(const target_emitter *e, base_dtype dtype, const char *pack,
                                  int count, int i) {
    (void)count;
    return target_gpu_words_part(e, dtype, pack, i);
}

static const char *cuda_pack_of(const target_emitter *e, base_dtype dtype, int count,
                                const char *const *elements) {
    const char *words = target_gpu_words_of(e, dtype, count, elements);
    if (count * base_dtype_size(dtype) < 4)
        words = target_emit_text(e, "(u16)(%s)", words);
    return target_emit_text(e, "%s{%s}", cuda_pack_type(e, dtype, count), words);
}

/* ---- what a machine lacks ---- */

/* The number behind `sm_`. */
static long capability_of(const machine *on) {
    return strncmp(on->name, "sm_", 3) == 0 ? strtol(on->name + 3, NULL, 10) : 0;
}

static const char *cuda_refuses(const ir_module *module, const ir_op *op, const machine *on) {
    (void)op;
    if (strcmp(on->target, "cuda") != 0)
        return "the machine is not one of cuda";
    if (module->cluster > 1 && capability_of(on) < CLUSTER_FROM)
        return "the machine has no clusters";
    if (module->cluster > CLUSTER_MAX)
        return "a cluster has more than 16 groups";
    return NULL;
}

static const target_gpu_spelling cuda_spelling = {
    .infinity = "__int_as_float(0x7f800000)",
    .nan = "__int_as_float(0x7fc00000)",
    .language = target_gpu_cxx_words,
    .words = cuda_words,
    .prelude = cuda_prelude,
    .prelude_rows = sizeof cuda_prelude / sizeof cuda_prelude[0],
    .before_all = "",
    .tensor_space = "",
    .scratch_space = "",
    .byte = "char",
    .thread = "threadIdx.x",
    .block = "blockIdx.x",
    .workspace = "arguments.workspace",
    .f32_from_i32 = "__int_as_float",
    .f32_from_u32 = "__uint_as_float",
    .i32_from_f32 = "__float_as_int",
    .u32_from_f32 = "__float_as_uint",
    .popcount = "__popc",
    .own = "thread",
    .lock_step = CUDA_WARP,
    .exchanges = 1,
    .scratch_declared = DECLARED_MAX,
    .policies = true,
    .refuses = cuda_refuses,
    .title = cuda_title,
    .shared = cuda_shared,
    .head = cuda_head,
    .follow = cuda_follow,
    .tensors = cuda_tensors,
    .scratch = cuda_scratch,
    .shuffle = cuda_shuffle,
    .wait = cuda_wait,
    .cluster_begin = cuda_cluster_begin,
    .block_number = cuda_block_number,
    .far_scratch = cuda_far_scratch,
    .pack_type = cuda_pack_type,
    .pack_part = cuda_pack_part,
    .pack_of = cuda_pack_of,
};

/* ---- the target ---- */

static const char *cuda_supports(const ir_module *module, const ir_op *op, const machine *on) {
    return target_gpu_supports(module, op, on, &cuda_spelling);
}

/* Every load has a form with each policy, every store one with `stream`. */
static const char *cuda_ignores_policy(base_arena *arena, const ir_module *module, const ir_op *op,
                                       const machine *on) {
    (void)arena, (void)module, (void)on;
    bool stays = op->opcode == IR_STORE && op->attributes.access->policy == IR_POLICY_EVICT_LAST;
    return stays ? "only lines that are loaded are asked to stay" : NULL;
}

static void cuda_emit(base_arena *arena, const ir_module *const *modules, int count,
                      const machine *on, target_source *sources) {
    target_gpu_emit(arena, modules, count, on, &cuda_spelling, sources);
}

const target target_cuda = {.name = "cuda",
                            .uses_conditions = true,
                            .supports = cuda_supports,
                            .ignores_policy = cuda_ignores_policy,
                            .emit = cuda_emit};
