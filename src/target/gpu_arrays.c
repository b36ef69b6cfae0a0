/* Arrays of threads: scratch is memory of their group, private arrays lie in the workspace.
 *
 *     %w, %f = scratch 8 : scratch f32[8]     f32 *const w = (f32 *)(scratch + 0);
 *     %s = private 9 : private f32(4)[9]      f32 *const s = (f32 *)memory;
 *
 * Scratch arrays are aligned pieces of one array of the group; past what a text may declare, the
 * launch gives the memory. A bool of scratch is a byte. Element `slot` of a private cell lies at
 * (cell * slots + slot) * lanes + thread, so that neighbours in the team are neighbours in memory;
 * a uniform cell is kept by each thread for itself. */
#include "target/gpu_internal.h"

#include "base/checked.h"

enum { SCRATCH_ALIGNMENT = 16, PRIVATE_ALIGNMENT = 256 };

/* ---- scratch ---- */

/* Bytes of the array up to the next one; -1 where nobody knows. */
static int64_t piece_bytes(const ir_module *module, const ir_op *array) {
    const ir_type *type = &array->results[0]->type;
    int64_t cells, bytes;
    if (!layout_extent_known(&module->extents, type->extent[0], &cells) || cells < 0 ||
        !base_checked_mul(cells, base_dtype_size(type->dtype), &bytes) ||
        !base_checked_add(bytes, SCRATCH_ALIGNMENT - 1, &bytes))
        return -1;
    return bytes / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

static bool goes_through_scratch(void *state, ir_op *op) {
    bool *goes = state;
    *goes = *goes || op->opcode == IR_SHUFFLE || op->opcode == IR_COMBINE;
    return !*goes;
}

/* A piece of scratch for exchanges that do not stay among threads that exchange registers: an
 * element of each thread. */
static int64_t exchange_bytes(const ir_module *module, const target_gpu_spelling *spelling) {
    bool goes = false;
    if (ir_module_subgroup_lanes(module) <= spelling->lock_step)
        return 0;
    ir_region_walk((ir_region *)&module->body, goes_through_scratch, &goes);
    int64_t bytes = goes ? 8 * (int64_t)module->lanes : 0;
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

typedef struct scratch_sum {
    const ir_module *module;
    int64_t bytes; /* -1: not known */
} scratch_sum;

static bool add_scratch(void *state, ir_op *op) {
    scratch_sum *sum = state;
    int64_t bytes = op->opcode == IR_SCRATCH ? piece_bytes(sum->module, op) : 0;
    if (bytes < 0 || !base_checked_add(sum->bytes, bytes, &sum->bytes))
        sum->bytes = -1;
    return sum->bytes >= 0;
}

int64_t target_gpu_scratch_bytes(const ir_module *module, const target_gpu_spelling *spelling) {
    scratch_sum sum = {module, spelling->exchanges * exchange_bytes(module, spelling)};
    ir_region_walk((ir_region *)&module->body, add_scratch, &sum);
    return sum.bytes;
}

/* ---- private arrays ---- */

static int64_t private_row(const ir_module *module, const ir_op *array) {
    const ir_type *type = &array->results[0]->type;
    return base_dtype_size(type->dtype) * (type->slots > 0 ? type->slots : 1) * module->lanes;
}

/* Bytes of an array, up to the next one. */
static const layout_extent *private_bytes(layout_extents *pool, const ir_module *module,
                                          const ir_op *array) {
    const layout_extent *row = layout_extent_constant(pool, private_row(module, array));
    const layout_extent *alignment = layout_extent_constant(pool, PRIVATE_ALIGNMENT);
    const layout_extent *bytes =
        layout_extent_binary(pool, LAYOUT_EXTENT_MUL, array->results[0]->type.extent[0], row);
    const layout_extent *units =
        bytes != NULL ? layout_extent_ceil(pool, bytes, PRIVATE_ALIGNMENT) : NULL;
    return units != NULL ? layout_extent_binary(pool, LAYOUT_EXTENT_MUL, units, alignment) : NULL;
}

typedef struct workspace_sum {
    const ir_module *module;
    const layout_extent *sum;
    bool fits;
} workspace_sum;

static bool add_private(void *state, ir_op *op) {
    workspace_sum *workspace = state;
    layout_extents *pool = (layout_extents *)&workspace->module->extents;
    if (op->opcode != IR_PRIVATE)
        return true;
    const layout_extent *bytes = private_bytes(pool, workspace->module, op);
    if (bytes != NULL && workspace->sum != NULL)
        bytes = layout_extent_binary(pool, LAYOUT_EXTENT_ADD, workspace->sum, bytes);
    workspace->sum = bytes;
    workspace->fits = bytes != NULL;
    return workspace->fits;
}

const layout_extent *target_gpu_workspace(const ir_module *module, bool *fits) {
    workspace_sum workspace = {.module = module, .fits = true};
    ir_region_walk((ir_region *)&module->body, add_private, &workspace);
    *fits = workspace.fits;
    return workspace.sum;
}

/* ---- declarations ---- */

static bool find_array(void *state, ir_op *op) {
    target_gpu *gpu = state;
    if (op->opcode == IR_PRIVATE || op->opcode == IR_SCRATCH)
        BASE_PUSH(gpu->emitter.arena, gpu->arrays, gpu->array_count, gpu->array_capacity, op);
    return true;
}

void target_gpu_find_arrays(target_emitter *emitter) {
    target_gpu *gpu = target_gpu_of(emitter);
    const ir_module *module = emitter->module;
    ir_region_walk((ir_region *)&module->body, find_array, gpu);
    for (int64_t i = 0; i < gpu->array_count; i++) {
        const ir_value *array = gpu->arrays[i]->results[0];
        const char *wanted = array->type.form == IR_FORM_SCRATCH ? "cells" : "kept";
        target_emit_alias(emitter, array,
                          target_emit_fresh(emitter, array->name != NULL ? array->name : wanted));
    }
    gpu->scratch_bytes = target_gpu_scratch_bytes(module, gpu->spelling);
    for (int i = 0; exchange_bytes(module, gpu->spelling) > 0 && i < gpu->spelling->exchanges; i++)
        gpu->exchange[i] = target_emit_fresh(emitter, "exchange");
}

int64_t target_gpu_launch_scratch(target_emitter *emitter) {
    const target_gpu *gpu = target_gpu_of(emitter);
    return gpu->scratch_bytes > gpu->spelling->scratch_declared ? gpu->scratch_bytes : 0;
}

static void declare_scratch(const target_gpu *gpu, base_text *out) {
    const ir_module *module = gpu->emitter.module;
    const char *space = gpu->spelling->scratch_space;
    int64_t at = 0;
    gpu->spelling->scratch(&gpu->emitter, gpu->scratch_bytes, out);
    for (int i = 0; i < TARGET_GPU_EXCHANGES && gpu->exchange[i] != NULL; i++) {
        base_text_format(out, "    %s%s *const %s = scratch", space, gpu->spelling->byte,
                         gpu->exchange[i]);
        base_text_format(out, at > 0 ? " + %lld;\n" : ";\n", (long long)at);
        at += exchange_bytes(module, gpu->spelling);
    }
    for (int64_t i = 0; i < gpu->array_count; i++) {
        const ir_op *op = gpu->arrays[i];
        if (op->opcode != IR_SCRATCH)
            continue;
        const char *type = target_gpu_memory_type(op->results[0]->type.dtype);
        const char *name = target_emit_name(&gpu->emitter, op->results[0], 0);
        base_text_format(out, "    %s%s *const %s = (%s%s *)(scratch + %lld);\n", space, type, name,
                         space, type, (long long)at);
        at += piece_bytes(module, op);
    }
}

static void declare_private(target_gpu *gpu, const layout_extent *workspace, base_text *out) {
    target_emitter *e = &gpu->emitter;
    layout_extents *pool = (layout_extents *)&e->module->extents;
    const char *space = gpu->spelling->tensor_space;
    const layout_extent *at = NULL;
    base_text_format(out, "    %s%s *const memory = %s + (i64)%s * (%s);\n", space,
                     gpu->spelling->byte, gpu->spelling->workspace, gpu->spelling->block,
                     target_emit_extent(e, workspace));
    for (int64_t i = 0; i < gpu->array_count; i++) {
        const ir_op *op = gpu->arrays[i];
        if (op->opcode != IR_PRIVATE)
            continue;
        const char *type = target_gpu_memory_type(op->results[0]->type.dtype);
        const char *name = target_emit_name(e, op->results[0], 0);
        base_text_format(out, "    %s%s *const %s = (%s%s *)", space, type, name, space, type);
        if (at == NULL)
            base_text_string(out, "memory;\n");
        else
            base_text_format(out, "(memory + (%s));\n", target_emit_extent(e, at));
        const layout_extent *bytes = private_bytes(pool, e->module, op);
        at = at == NULL ? bytes : layout_extent_binary(pool, LAYOUT_EXTENT_ADD, at, bytes);
    }
}

void target_gpu_declare_arrays(target_emitter *emitter, base_text *out) {
    target_gpu *gpu = target_gpu_of(emitter);
    bool fits;
    const layout_extent *workspace = target_gpu_workspace(emitter->module, &fits);
    if (gpu->scratch_bytes > 0)
        declare_scratch(gpu, out);
    if (workspace != NULL)
        declare_private(gpu, workspace, out);
}

/* ---- cells ---- */

/* A slot of a private cell, as an lvalue. */
static const char *private_cell(target_emitter *e, const ir_op *op, int slot) {
    const ir_value *array = op->operands[0];
    int lanes = target_gpu_of(e)->lanes;
    int64_t slots = array->type.slots > 0 ? array->type.slots : 1, cell;
    const char *name = target_emit_name(e, array, 0);
    const char *first;
    if (target_emit_is_integer(op->operands[1], &cell))
        first = target_emit_integer(e, (cell * slots + slot) * lanes);
    else
        first = target_emit_text(e, slot > 0 ? "%s * %lld + %lld" : "%s * %lld",
                                 target_emit_name(e, op->operands[1], 0),
                                 (long long)(slots * lanes), (long long)slot * lanes);
    return target_emit_text(e, "%s[%s + %s]", name, first, target_gpu_spelling_of(e)->own);
}

void target_gpu_pull(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(emitter, result, NULL);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++)
        target_emit_define(emitter, result, s, private_cell(emitter, op, s));
}

void target_gpu_push(target_emitter *emitter, const ir_op *op) {
    const ir_value *array = op->operands[0];
    for (int s = 0; s < (array->type.slots > 0 ? array->type.slots : 1); s++)
        target_emit_line(emitter, "%s = %s;", private_cell(emitter, op, s),
                         target_emit_operand(emitter, op->operands[2], s, false));
}
