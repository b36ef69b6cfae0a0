/* Builder: computes result types by the broadcast rule and appends ops.
 *
 *     add f32<N below %d>, f32<1>     f32<N below %d>     an axis of extent 1 takes the other's
 *     lt f32(4), f32                  bool(4)             a uniform stands for every slot
 *
 * Operands that do not broadcast give a type that the verifier refuses.
 */
#include "ir/builder.h"

ir_op *ir_build_op(ir_builder *builder, ir_opcode opcode, int operand_count,
                   ir_value *const *operands, int result_count, const ir_type *result_types,
                   int region_count) {
    ir_op *op = ir_op_create(builder->module, opcode, builder->location, operand_count, operands,
                             result_count, result_types, region_count);
    ir_op_append(builder->region, op);
    return op;
}

/* The shape that the operands broadcast to, with the dtype of the last one. */
static ir_type type_broadcast(const ir_module *module, int count, ir_value *const *operands) {
    ir_type type = operands[0]->type;
    for (int k = 1; k < count; k++) {
        const ir_type *other = &operands[k]->type;
        if (other->form == IR_FORM_SLOTS && type.form != IR_FORM_SLOTS) {
            type = *other;
        } else if (other->form == IR_FORM_TILE && other->rank > type.rank) {
            type = *other;
        } else if (other->form == IR_FORM_TILE && other->rank == type.rank) {
            for (int i = 0; i < type.rank; i++) {
                if (layout_extent_is(&module->extents, type.extent[i], 1)) {
                    type.extent[i] = other->extent[i];
                    type.domain[i] = other->domain[i];
                } else if (type.domain[i] == NULL &&
                           !layout_extent_is(&module->extents, other->extent[i], 1)) {
                    type.domain[i] = other->domain[i];
                }
            }
        }
    }
    type.dtype = operands[count - 1]->type.dtype;
    return type;
}

static ir_value *build_table_op(ir_builder *builder, ir_opcode opcode, int count,
                                ir_value *const *operands) {
    ir_type type = type_broadcast(builder->module, count, operands);
    if (ir_op_describe(opcode)->shape == IR_SHAPE_COMPARE)
        type.dtype = BASE_BOOL;
    return ir_build_op(builder, opcode, count, operands, 1, &type, 0)->results[0];
}

ir_value *ir_build_unary(ir_builder *builder, ir_opcode opcode, ir_value *a) {
    return build_table_op(builder, opcode, 1, &a);
}

ir_value *ir_build_binary(ir_builder *builder, ir_opcode opcode, ir_value *a, ir_value *b) {
    return build_table_op(builder, opcode, 2, (ir_value *[]){a, b});
}

ir_value *ir_build_select(ir_builder *builder, ir_value *condition, ir_value *a, ir_value *b) {
    return build_table_op(builder, IR_SELECT, 3, (ir_value *[]){condition, a, b});
}

ir_value *ir_build_fma(ir_builder *builder, ir_value *a, ir_value *b, ir_value *c) {
    return build_table_op(builder, IR_FMA, 3, (ir_value *[]){a, b, c});
}

ir_value *ir_build_cast(ir_builder *builder, ir_value *a, base_dtype dtype, ir_rounding rounding) {
    ir_type type = a->type;
    type.dtype = dtype;
    ir_op *op = ir_build_op(builder, IR_CAST, 1, &a, 1, &type, 0);
    op->attributes.rounding = rounding;
    return op->results[0];
}

ir_value *ir_build_bitcast(ir_builder *builder, ir_value *a, base_dtype dtype) {
    ir_type type = a->type;
    type.dtype = dtype;
    return ir_build_op(builder, IR_BITCAST, 1, &a, 1, &type, 0)->results[0];
}

base_dtype ir_build_dtype(const ir_builder *builder, base_dtype dtype) {
    return builder->module->level == IR_THREAD && dtype == BASE_INDEX ? BASE_I64 : dtype;
}

static ir_type level_scalar(const ir_builder *builder, base_dtype dtype) {
    dtype = ir_build_dtype(builder, dtype);
    return builder->module->level == IR_THREAD ? ir_type_uniform(dtype) : ir_type_scalar(dtype);
}

ir_value *ir_build_constant(ir_builder *builder, ir_constant constant) {
    constant.dtype = ir_build_dtype(builder, constant.dtype);
    ir_type type = level_scalar(builder, constant.dtype);
    ir_op *op = ir_build_op(builder, IR_CONSTANT, 0, NULL, 1, &type, 0);
    op->attributes.constant = constant;
    return op->results[0];
}

ir_value *ir_build_integer(ir_builder *builder, base_dtype dtype, int64_t value) {
    return ir_build_constant(builder, (ir_constant){.dtype = dtype, .integer = value});
}

ir_value *ir_build_real(ir_builder *builder, base_dtype dtype, double value) {
    return ir_build_constant(builder,
                             (ir_constant){.dtype = dtype, .real = base_float_round(dtype, value)});
}

ir_value *ir_build_size(ir_builder *builder, const layout_extent *extent) {
    ir_type type = level_scalar(builder, BASE_INDEX);
    ir_op *op = ir_build_op(builder, IR_SIZE, 0, NULL, 1, &type, 0);
    op->attributes.extent = extent;
    return op->results[0];
}

void ir_build_yield(ir_builder *builder, int count, ir_value *const *values) {
    ir_build_op(builder, IR_YIELD, count, values, 0, NULL, 0);
}
