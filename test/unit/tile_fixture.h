/* Builds tile modules for unit tests with few words:
 *
 *     fixture f;
 *     fixture_open(&f);                         one program axis `row` of extent R
 *     ir_value *x = fixture_tensor(&f, "x", IR_IN, 2, "R", "N");
 *     ir_value *t = fixture_load(&f, x, "t");   x[row, :]
 *     fixture_store(&f, y, t);                  y[row, :] = t
 *     fixture_close(&f);
 */
#ifndef TEST_TILE_FIXTURE_H
#define TEST_TILE_FIXTURE_H

#include "ir/builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    ir_module *module;
    ir_builder builder;
    ir_value *row;
} fixture;

static inline const layout_extent *fixture_extent(fixture *f, const char *name) {
    layout_extents *pool = &f->module->extents;
    if (name[0] >= '0' && name[0] <= '9')
        return layout_extent_constant(pool, strtol(name, NULL, 10));
    for (int64_t i = 0; i < pool->symbol_count; i++)
        if (strcmp(pool->symbols[i].name, name) == 0)
            return layout_extent_symbol(pool, i);
    return layout_extent_symbol(pool, layout_extents_declare(pool, name));
}

static inline void fixture_know(fixture *f, const char *name, int64_t value) {
    const layout_extent *extent = fixture_extent(f, name);
    f->module->extents.symbols[extent->value].known = true;
    f->module->extents.symbols[extent->value].value = value;
}

static inline ir_value *fixture_program(fixture *f, const char *name, const char *extent) {
    int axis = f->module->program_count++;
    f->module->programs[axis] =
        (ir_program){.name = name, .extent = fixture_extent(f, extent), .step = 1};
    ir_type type = ir_type_scalar(BASE_INDEX);
    ir_op *op = ir_build_op(&f->builder, IR_PROGRAM, 0, NULL, 1, &type, 0);
    op->attributes.axis = axis;
    op->results[0]->name = name;
    return op->results[0];
}

/* Without a program axis. */
static inline void fixture_open_bare(fixture *f) {
    memset(f, 0, sizeof *f);
    base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    if (setjmp(f->exhausted) != 0)
        fail_msg("out of memory");
    f->module = ir_module_create(&f->arena, "test", NULL);
    f->builder = (ir_builder){.module = f->module, .region = &f->module->body};
}

static inline void fixture_open(fixture *f) {
    fixture_open_bare(f);
    f->row = fixture_program(f, "row", "R");
}

static inline void fixture_close(fixture *f) {
    base_arena_free(&f->arena);
}

static inline ir_value *fixture_tensor(fixture *f, const char *name, ir_access_mode mode,
                                       base_dtype dtype, int rank, ...) {
    ir_module *m = f->module;
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = dtype, .rank = rank};
    va_list list;
    va_start(list, rank);
    for (int i = 0; i < rank; i++)
        type.extent[i] = fixture_extent(f, va_arg(list, const char *));
    va_end(list);
    ir_parameter *grown = BASE_NEW_ARRAY(m->arena, ir_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++)
        grown[i] = m->parameters[i];
    ir_value *value = ir_value_create(m, type, name);
    grown[m->parameter_count++] = (ir_parameter){
        .name = name, .is_tensor = true, .mode = mode, .value = value, .dtype = dtype};
    m->parameters = grown;
    return value;
}

/* The access x[first, :, ...]: a point, then whole ranges. With first NULL only ranges. */
static inline ir_access *fixture_access(fixture *f, const ir_value *tensor, const ir_value *first,
                                        ir_type *type) {
    ir_access *access = BASE_NEW(f->module->arena, ir_access);
    *access = (ir_access){.rank = tensor->type.rank, .fill = -1, .mask = -1, .width = 1};
    *type = (ir_type){.form = IR_FORM_TILE, .dtype = tensor->type.dtype};
    for (int i = 0; i < access->rank; i++) {
        bool point = i == 0 && first != NULL;
        access->index[i] = (ir_index){.kind = point ? IR_INDEX_POINT : IR_INDEX_RANGE,
                                      .operand = point ? 1 : -1,
                                      .inside = true,
                                      .vector = -1,
                                      .length = point ? NULL : tensor->type.extent[i]};
        if (!point)
            type->extent[type->rank++] = tensor->type.extent[i];
    }
    return access;
}

static inline ir_value *fixture_load_at(fixture *f, ir_value *tensor, ir_value *first,
                                        const char *name) {
    ir_type type;
    ir_access *access = fixture_access(f, tensor, first, &type);
    ir_value *operands[] = {tensor, first};
    ir_op *op = ir_build_op(&f->builder, IR_LOAD, first == NULL ? 1 : 2, operands, 1, &type, 0);
    op->attributes.access = access;
    op->results[0]->name = name;
    return op->results[0];
}

static inline ir_value *fixture_load(fixture *f, ir_value *tensor, const char *name) {
    return fixture_load_at(f, tensor, f->row, name);
}

static inline ir_op *fixture_store_at(fixture *f, ir_value *tensor, ir_value *first,
                                      ir_value *value) {
    ir_type type;
    ir_access *access = fixture_access(f, tensor, first, &type);
    ir_value *operands[3] = {tensor};
    int count = 1;
    if (first != NULL)
        operands[count++] = first;
    operands[count++] = value;
    ir_op *op = ir_build_op(&f->builder, IR_STORE, count, operands, 0, NULL, 0);
    op->attributes.access = access;
    return op;
}

static inline ir_op *fixture_store(fixture *f, ir_value *tensor, ir_value *value) {
    return fixture_store_at(f, tensor, f->row, value);
}

static inline ir_value *fixture_reduce(fixture *f, ir_monoid monoid, ir_value *tile, int axis,
                                       const char *name) {
    ir_type type = tile->type;
    type.dtype = ir_monoid_result(monoid, type.dtype);
    type.extent[axis] = layout_extent_constant(&f->module->extents, 1);
    type.domain[axis] = NULL;
    if (type.rank == 1)
        type = ir_type_scalar(type.dtype);
    ir_op *op = ir_build_op(&f->builder, IR_REDUCE, 1, &tile, 1, &type, 0);
    op->attributes.monoid = monoid;
    op->attributes.axis = axis;
    op->results[0]->name = name;
    return op->results[0];
}

static inline ir_value *fixture_expand(fixture *f, ir_value *tile, int axis) {
    ir_type type = tile->type;
    for (int i = type.rank; i > axis; i--) {
        type.extent[i] = type.extent[i - 1];
        type.domain[i] = type.domain[i - 1];
    }
    type.rank++;
    type.extent[axis] = layout_extent_constant(&f->module->extents, 1);
    type.domain[axis] = NULL;
    ir_op *op = ir_build_op(&f->builder, IR_EXPAND, 1, &tile, 1, &type, 0);
    op->attributes.axis = axis;
    return op->results[0];
}

static inline ir_value *fixture_arange(fixture *f, const char *extent) {
    ir_type type = {.form = IR_FORM_TILE,
                    .dtype = BASE_INDEX,
                    .rank = 1,
                    .extent = {fixture_extent(f, extent)}};
    ir_op *op = ir_build_op(&f->builder, IR_ARANGE, 0, NULL, 1, &type, 0);
    op->attributes.extent = type.extent[0];
    return op->results[0];
}

static inline ir_value *fixture_named(ir_value *value, const char *name) {
    value->name = name;
    return value;
}

/* A for over 0..hi step 1 with these carries; the builder then stands in its body. */
static inline ir_op *fixture_for(fixture *f, ir_value *hi, int carry_count, ir_value **carries) {
    ir_value *operands[3 + 4];
    ir_type types[4];
    operands[0] = ir_build_integer(&f->builder, BASE_INDEX, 0);
    operands[1] = hi;
    operands[2] = ir_build_integer(&f->builder, BASE_INDEX, 1);
    for (int i = 0; i < carry_count; i++) {
        operands[3 + i] = carries[i];
        types[i] = carries[i]->type;
    }
    ir_op *op = ir_build_op(&f->builder, IR_FOR, 3 + carry_count, operands, carry_count, types, 1);
    ir_region_add_argument(f->module, op->regions[0], ir_type_scalar(BASE_INDEX), "k");
    for (int i = 0; i < carry_count; i++)
        ir_region_add_argument(f->module, op->regions[0], types[i], NULL);
    f->builder.region = op->regions[0];
    return op;
}

static inline void fixture_end_for(fixture *f, ir_op *op, int count, ir_value **next) {
    ir_build_yield(&f->builder, count, next);
    f->builder.region = op->parent;
}

#endif
