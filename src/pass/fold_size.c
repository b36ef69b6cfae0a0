/* Sizes of sizes: an op on sizes and constants as one formula, for fold.
 *
 *     %b = floordiv (size N), 2       size N // 2
 *     %c = add %b, %i                 no formula: %i is no size
 *
 * Where constants leave 64 bits, or a formula would have more leaves than it may, the op stays as
 * it is.
 */
#include "pass/simplify.h"

static const struct {
    ir_opcode opcode;
    layout_extent_kind kind;
} kinds[] = {
    {IR_ADD, LAYOUT_EXTENT_ADD},       {IR_SUB, LAYOUT_EXTENT_SUB},
    {IR_MUL, LAYOUT_EXTENT_MUL},       {IR_FLOOR_DIV, LAYOUT_EXTENT_DIV},
    {IR_FLOOR_MOD, LAYOUT_EXTENT_MOD}, {IR_MINIMUM, LAYOUT_EXTENT_MIN},
    {IR_MAXIMUM, LAYOUT_EXTENT_MAX},
};

static const layout_extent *size_of(ir_module *module, const ir_value *value) {
    const ir_op *op = value->definer;
    if (op != NULL && op->opcode == IR_SIZE)
        return op->attributes.extent;
    return op != NULL && op->opcode == IR_CONSTANT
               ? layout_extent_constant(&module->extents, op->attributes.constant.integer)
               : NULL;
}

const layout_extent *pass_fold_size(ir_module *module, const ir_op *op) {
    base_dtype dtype = module->level == IR_THREAD ? BASE_I64 : BASE_INDEX;
    if (op->operand_count != 2 || op->operands[0]->type.dtype != dtype ||
        op->operands[1]->type.dtype != dtype)
        return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].opcode != op->opcode)
            continue;
        const layout_extent *left = size_of(module, op->operands[0]);
        const layout_extent *right = size_of(module, op->operands[1]);
        return left == NULL || right == NULL
                   ? NULL
                   : layout_extent_binary(&module->extents, kinds[i].kind, left, right);
    }
    return NULL;
}
