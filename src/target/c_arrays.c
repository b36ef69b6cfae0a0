/* Arrays of the workspace: private ones, a cell for every lane, and scratch, which the lanes share.
 *
 *     %s = private 9 : private f32(4)[9]       f32x8 *const s = (f32x8 *)memory;
 *     %w = scratch 8 : scratch f32[8], token   memory += ((i64)9 * 128 + 63) / 64 * 64;
 *                                              f32 *const w = (f32 *)memory;
 *
 * A private cell is its slots in their order, each with all registers of the team. Scratch holds
 * what a tensor would hold, a bool in a byte. Before them lie values of many registers that the
 * stack of a thread should not have to hold. */
#include "target/emitter_internal.h"

enum { STACK_BYTES = 48 * 1024 };

void target_c_spread(target_emitter *emitter, base_dtype dtype, const char *name) {
    target_emitter *e = emitter;
    const char *type = e->dialect->type(e, dtype, e->lanes > 1);
    int64_t bytes = base_dtype_size(target_c_register_dtype(dtype)) * e->lanes * e->registers;
    if (e->stack_bytes + bytes <= STACK_BYTES) {
        e->stack_bytes += bytes;
        target_emit_outside(e, "%s %s[%d];", type, name, e->registers);
        return;
    }
    target_emit_outside(e, "%s *const %s = (%s *)((char *)workspace + %lld);", type, name, type,
                        (long long)e->spilled_bytes);
    e->spilled_bytes += (bytes + 63) / 64 * 64;
}

/* ---- private cells ---- */

/* A slot of a cell, as an lvalue. */
static const char *private_cell(const target_emitter *e, const ir_op *op, int slot) {
    const ir_value *array = op->operands[0];
    const char *name = target_emit_name(e, array, 0);
    const char *cell = target_emit_name(e, op->operands[1], 0);
    bool spread = array->type.slots > 0 && e->registers > 1;
    int per_slot = spread ? e->registers : 1;
    int per_cell = array->type.slots > 0 ? array->type.slots * per_slot : 1;
    int64_t constant, first = (int64_t)slot * per_slot;
    const char *part = spread ? target_emit_text(e, " + %s", e->part) : "";
    if (per_cell == 1)
        return target_emit_text(e, "%s[%s]", name, cell);
    if (target_emit_is_integer(op->operands[1], &constant))
        return target_emit_text(e, "%s[%s%s]", name,
                                target_emit_integer(e, constant * per_cell + first), part);
    const char *place = first > 0 ? target_emit_text(e, " + %lld", (long long)first) : "";
    return target_emit_text(e, "%s[%s * %d%s%s]", name, cell, per_cell, place, part);
}

void target_c_pull(target_emitter *emitter, const ir_op *op) {
    const ir_value *result = op->results[0];
    target_emit_take_names(emitter, result, NULL);
    for (int s = 0; s < ir_type_slot_count(&result->type); s++)
        target_emit_define(emitter, result, s, private_cell(emitter, op, s));
}

void target_c_push(target_emitter *emitter, const ir_op *op) {
    const ir_value *array = op->operands[0], *value = op->operands[2];
    const target_dialect *dialect = emitter->dialect;
    bool vector = array->type.slots > 0 && dialect->vectors(emitter);
    int slots = array->type.slots > 0 ? array->type.slots : 1;
    for (int s = 0; s < slots; s++) {
        const char *cell = private_cell(emitter, op, s);
        const char *next = target_emit_operand(emitter, value, s, vector);
        if (emitter->when != NULL && vector)
            next = target_emit_text(emitter, "select_%s(%s, %s, %s)",
                                    dialect->type(emitter, array->type.dtype, true), emitter->when,
                                    next, cell);
        bool guarded = emitter->when != NULL && !vector;
        target_emit_line(emitter, "%s%s%s%s = %s;", guarded ? "if (" : "",
                         guarded ? emitter->when : "", guarded ? ") " : "", cell, next);
    }
}

/* ---- the arrays of a module ---- */

static bool array_visit(void *state, ir_op *op) {
    target_c_arrays *arrays = state;
    if (op->opcode == IR_PRIVATE || op->opcode == IR_SCRATCH)
        BASE_PUSH(arrays->arena, arrays->ops, arrays->count, arrays->capacity, op);
    return true;
}

target_c_arrays target_c_arrays_find(target_emitter *emitter) {
    target_c_arrays arrays = {.arena = emitter->arena};
    ir_region_walk((ir_region *)&emitter->module->body, array_visit, &arrays);
    for (int64_t i = 0; i < arrays.count; i++) {
        const ir_value *array = arrays.ops[i]->results[0];
        const char *wanted = arrays.ops[i]->opcode == IR_SCRATCH ? "scratch" : "cells";
        target_emit_alias(emitter, array,
                          target_emit_fresh(emitter, array->name != NULL ? array->name : wanted));
    }
    return arrays;
}

int64_t target_c_cell_bytes(const target_emitter *emitter, const ir_op *array) {
    const ir_type *type = &array->results[0]->type;
    if (array->opcode == IR_SCRATCH)
        return base_dtype_size(target_c_memory_dtype(type->dtype));
    int64_t cell = base_dtype_size(target_c_register_dtype(type->dtype));
    return type->slots > 0 ? cell * type->slots * emitter->module->lanes : cell;
}

/* Bytes of an array, up to a multiple of 64; the workspace has been found to fit 64 bits. */
static const char *array_bytes(target_emitter *e, const ir_op *op) {
    return target_emit_text(e, "((i64)%s * %lld + 63) / 64 * 64",
                            target_emit_extent(e, op->results[0]->type.extent[0]),
                            (long long)target_c_cell_bytes(e, op));
}

void target_c_arrays_declare(target_emitter *emitter, const target_c_arrays *arrays,
                             base_text *out) {
    target_emitter *e = emitter;
    for (int64_t i = 0; i < arrays->count; i++) {
        const ir_value *array = arrays->ops[i]->results[0];
        bool scratch = arrays->ops[i]->opcode == IR_SCRATCH;
        bool vector = !scratch && array->type.slots > 0 && e->dialect->vectors(e);
        base_dtype dtype = array->type.dtype;
        const char *type =
            e->dialect->type(e, scratch ? target_c_memory_dtype(dtype) : dtype, vector);
        base_text_format(out, "    %s *const %s = (%s *)memory;\n", type,
                         target_emit_name(e, array, 0), type);
        if (i + 1 < arrays->count)
            base_text_format(out, "    memory += %s;\n", array_bytes(e, arrays->ops[i]));
    }
}
