/* Tile modules by hand, for the unit tests of the reference: a kernel under construction, the
 * arrays that it runs on, and short names for the ops.
 *
 *     kernel k; kernel_begin(&k);
 *     const layout_extent *R = kernel_size(&k, "R", 2), *N = kernel_size(&k, "N", 5);
 *     ir_value *row = kernel_program(&k, "row", R, 1);
 *     int x = kernel_tensor(&k, "x", IR_IN, BASE_F32, 2, (const layout_extent *[]){R, N}, data);
 *     ir_value *t = kernel_load(&k, x, 2, (slot[]){at(row), all(N)}, NULL);
 *     ...
 *     kernel_run(&k, NULL);      k.result.tensors[y].value[...]
 *     kernel_end(&k);
 */
#ifndef TEST_UNIT_TILE_KERNEL_H
#define TEST_UNIT_TILE_KERNEL_H

#include "ir/builder.h"
#include "sim/reference.h"
#include "sim/tensor.h"

#include <string.h>

typedef struct kernel {
    base_arena arena;
    jmp_buf exhausted;
    ir_module *module;
    ir_builder b;
    int64_t sizes[8];
    sim_tensor tensors[8];
    ir_constant scalars[8];
    ir_parameter parameters[8];
    sim_reference result;
} kernel;

static inline void kernel_begin(kernel *k) {
    memset(k, 0, sizeof *k);
    base_arena_init(&k->arena, base_allocator_default(), &k->exhausted);
    k->module = ir_module_create(&k->arena, "k", NULL);
    k->module->parameters = k->parameters;
    k->b = (ir_builder){.module = k->module, .region = &k->module->body};
}

static inline void kernel_end(kernel *k) {
    base_arena_free(&k->arena);
}

static inline const layout_extent *kernel_size(kernel *k, const char *name, int64_t value) {
    int64_t symbol = layout_extents_declare(&k->module->extents, name);
    k->sizes[symbol] = value;
    return layout_extent_symbol(&k->module->extents, symbol);
}

static inline const layout_extent *kernel_constant(kernel *k, int64_t value) {
    return layout_extent_constant(&k->module->extents, value);
}

static inline ir_value *kernel_program(kernel *k, const char *name, const layout_extent *extent,
                                       int64_t step) {
    int axis = k->module->program_count++;
    k->module->programs[axis] = (ir_program){.name = name, .extent = extent, .step = step};
    ir_type type = ir_type_scalar(BASE_INDEX);
    ir_op *op = ir_build_op(&k->b, IR_PROGRAM, 0, NULL, 1, &type, 0);
    op->attributes.axis = axis;
    return op->results[0];
}

static inline ir_type kernel_type(base_dtype dtype, int rank, const layout_extent *const *extent) {
    ir_type type = {.form = IR_FORM_TILE, .dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        type.extent[i] = extent[i];
    return type;
}

/* A tensor parameter in C order; the strides may be changed in k->tensors afterwards. */
static inline int kernel_tensor(kernel *k, const char *name, ir_access_mode mode, base_dtype dtype,
                                int rank, const layout_extent *const *extent, void *data) {
    int i = k->module->parameter_count++;
    ir_type type = kernel_type(dtype, rank, extent);
    type.form = IR_FORM_TENSOR;
    k->parameters[i] = (ir_parameter){.name = name,
                                      .is_tensor = true,
                                      .mode = mode,
                                      .dtype = dtype,
                                      .value = ir_value_create(k->module, type, name)};
    sim_tensor *tensor = &k->tensors[i];
    *tensor = (sim_tensor){.dtype = dtype, .rank = rank, .data = data};
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        layout_extent_evaluate(extent[d], k->sizes, &tensor->extent[d]);
        tensor->stride[d] = stride;
        stride *= tensor->extent[d];
    }
    return i;
}

/* One index of an access. */
typedef struct slot {
    ir_index_kind kind;
    ir_value *value; /* NULL: range from 0 */
    const layout_extent *length;
} slot;

static inline slot at(ir_value *index) {
    return (slot){IR_INDEX_POINT, index, NULL};
}
static inline slot all(const layout_extent *length) {
    return (slot){IR_INDEX_RANGE, NULL, length};
}
static inline slot range(ir_value *start, const layout_extent *length) {
    return (slot){IR_INDEX_RANGE, start, length};
}
static inline slot gather(ir_value *index) {
    return (slot){IR_INDEX_GATHER, index, NULL};
}

static inline int access_operands(kernel *k, int tensor, int rank, const slot *slots,
                                  ir_access *access, ir_value **operands, ir_type *type) {
    int count = 0;
    operands[count++] = k->parameters[tensor].value;
    *type = (ir_type){.form = IR_FORM_TILE, .dtype = k->parameters[tensor].dtype};
    *access = (ir_access){.rank = rank, .fill = -1, .width = 1};
    for (int d = 0; d < rank; d++) {
        ir_index *index = &access->index[d];
        *index = (ir_index){.kind = slots[d].kind,
                            .operand = slots[d].value == NULL ? -1 : count,
                            .length = slots[d].length,
                            .vector = -1};
        if (slots[d].value != NULL)
            operands[count++] = slots[d].value;
        if (slots[d].kind == IR_INDEX_RANGE)
            type->extent[type->rank++] = slots[d].length;
        if (slots[d].kind == IR_INDEX_GATHER && slots[d].value->type.rank >= type->rank) {
            base_dtype dtype = type->dtype;
            *type = slots[d].value->type;
            type->dtype = dtype;
        }
    }
    return count;
}

/* domain: of the axes of the result, NULL when full. fill: NULL when none is declared. */
static inline ir_value *kernel_load_domain(kernel *k, int tensor, int rank, const slot *slots,
                                           ir_value *fill, ir_value *const *domain) {
    ir_access *access = BASE_NEW(&k->arena, ir_access);
    ir_value *operands[8];
    ir_type type;
    int count = access_operands(k, tensor, rank, slots, access, operands, &type);
    if (fill != NULL) {
        access->fill = count;
        access->fill_declared = true;
        operands[count++] = fill;
    }
    for (int i = 0; domain != NULL && i < type.rank; i++)
        type.domain[i] = domain[i];
    ir_op *op = ir_build_op(&k->b, IR_LOAD, count, operands, 1, &type, 0);
    op->attributes.access = access;
    return op->results[0];
}

static inline ir_value *kernel_load(kernel *k, int tensor, int rank, const slot *slots,
                                    ir_value *fill) {
    return kernel_load_domain(k, tensor, rank, slots, fill, NULL);
}

static inline void kernel_store(kernel *k, int tensor, int rank, const slot *slots,
                                ir_value *value) {
    ir_access *access = BASE_NEW(&k->arena, ir_access);
    ir_value *operands[8];
    ir_type type;
    int count = access_operands(k, tensor, rank, slots, access, operands, &type);
    operands[count++] = value;
    ir_op *op = ir_build_op(&k->b, IR_STORE, count, operands, 0, NULL, 0);
    op->attributes.access = access;
}

static inline ir_value *kernel_reduce(kernel *k, ir_monoid monoid, ir_nan nan, ir_value *value,
                                      int axis) {
    ir_type type = value->type;
    type.dtype = ir_monoid_result(monoid, type.dtype);
    if (type.rank == 1) {
        type = ir_type_scalar(type.dtype);
    } else {
        type.extent[axis] = kernel_constant(k, 1);
        type.domain[axis] = NULL;
    }
    ir_op *op = ir_build_op(&k->b, IR_REDUCE, 1, &value, 1, &type, 0);
    op->attributes.axis = axis;
    op->attributes.monoid = monoid;
    op->attributes.nan = nan;
    return op->results[0];
}

static inline ir_value *kernel_sum(kernel *k, ir_value *value) {
    return kernel_reduce(k, IR_MONOID_SUM, IR_NAN_PROPAGATE, value, 0);
}

static inline ir_value *kernel_shaped(kernel *k, ir_opcode opcode, int count,
                                      ir_value *const *operands, ir_type type, int axis) {
    ir_op *op = ir_build_op(&k->b, opcode, count, operands, 1, &type, 0);
    op->attributes.axis = axis;
    return op->results[0];
}

static inline ir_value *kernel_arange(kernel *k, const layout_extent *extent) {
    ir_type type = kernel_type(BASE_INDEX, 1, &extent);
    ir_op *op = ir_build_op(&k->b, IR_ARANGE, 0, NULL, 1, &type, 0);
    op->attributes.extent = extent;
    return op->results[0];
}

static inline void kernel_run(kernel *k, const ir_plan *plan) {
    sim_reference_run(&k->arena, k->module, plan, k->sizes, k->tensors, k->scalars, &k->result);
}

#endif
