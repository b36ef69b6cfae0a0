/* Builder: makes ops at the end of a region, checks nothing (the verifier does), folds nothing.
 *
 *     ir_builder b = {.module = m, .region = &m->body, .location = at};
 *     ir_value *d = ir_build_binary(&b, IR_SUB, t, max);
 */
#ifndef IR_BUILDER_H
#define IR_BUILDER_H

#include "ir/module.h"

typedef struct ir_builder {
    ir_module *module;
    ir_region *region;
    base_location location; /* given to every op made */
} ir_builder;

/* Results of table ops have the shape that the broadcast rule gives (module.h, ops.def); the domain
 * is that of the first operand whose axis is not full. */
ir_value *ir_build_unary(ir_builder *builder, ir_opcode opcode, ir_value *a);
ir_value *ir_build_binary(ir_builder *builder, ir_opcode opcode, ir_value *a,
                          ir_value *b); /* BINARY, COMPARE */
ir_value *ir_build_select(ir_builder *builder, ir_value *condition, ir_value *a, ir_value *b);
ir_value *ir_build_fma(ir_builder *builder, ir_value *a, ir_value *b, ir_value *c);
ir_value *ir_build_cast(ir_builder *builder, ir_value *a, base_dtype dtype, ir_rounding rounding);
ir_value *ir_build_bitcast(ir_builder *builder, ir_value *a, base_dtype dtype);

/* What a dtype is at the module's level: at level thread the dtype index becomes i64. */
base_dtype ir_build_dtype(const ir_builder *builder, base_dtype dtype);
/* Scalars of tile and mapped, uniforms of thread, by the module's level. Reals are rounded to the
 * dtype, which is that of the level. */
ir_value *ir_build_integer(ir_builder *builder, base_dtype dtype, int64_t value);
ir_value *ir_build_real(ir_builder *builder, base_dtype dtype, double value);
ir_value *ir_build_constant(ir_builder *builder, ir_constant constant);
ir_value *ir_build_size(ir_builder *builder, const layout_extent *extent);

/* Anything else: one op with these operands and results, appended; attributes are filled by the
 * caller. */
ir_op *ir_build_op(ir_builder *builder, ir_opcode opcode, int operand_count,
                   ir_value *const *operands, int result_count, const ir_type *result_types,
                   int region_count);
void ir_build_yield(ir_builder *builder, int count, ir_value *const *values);

#endif
