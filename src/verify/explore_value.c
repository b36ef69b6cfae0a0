/* Integer values at a place: exact arithmetic of index, integer and bool ops.
 *
 *     %h = floordiv %i, %c8      at element 13 of %i = arange 64: 13 // 8 = 1
 */
#include "verify/explore_internal.h"

#include "base/checked.h"

static explore_number known(int64_t value) {
    return (explore_number){.known = true, .value = value};
}

static const explore_number unknown = {.known = false};

explore_number explore_extent(const explore_place *place, const layout_extent *extent) {
    int64_t value = 0;
    if (extent == NULL || !layout_extent_evaluate(extent, place->sizes, &value))
        return unknown;
    return known(value);
}

int64_t explore_position(const explore_place *place, const ir_affine *affine) {
    return ir_affine_at(affine, ir_module_position(place->state->module, place->lane, place->slot));
}

/* The operand's element that stands behind an element of the result. */
static void operand_element(const explore_place *place, const ir_op *op, const ir_type *operand,
                            const int64_t element[IR_MAX_RANK], int64_t out[IR_MAX_RANK]) {
    for (int i = 0; i < IR_MAX_RANK; i++)
        out[i] = 0;
    for (int i = 0; operand->form == IR_FORM_TILE && i < operand->rank; i++) {
        int from = i;
        if (op->opcode == IR_EXPAND)
            from = i < op->attributes.axis ? i : i + 1;
        else if (op->opcode == IR_DROP)
            from = i < op->attributes.axis ? i : i - 1;
        bool dropped = op->opcode == IR_DROP && i == op->attributes.axis;
        explore_number extent = explore_extent(place, operand->extent[i]);
        bool one = extent.known && extent.value == 1;
        out[i] = dropped || one || from < 0 || from >= IR_MAX_RANK ? 0 : element[from];
    }
}

/* Rows lie at an odd distance, which no multiple of the width of a vector is. */
static explore_number stride_value(const explore_place *place, const ir_op *op) {
    const ir_type *tensor = &place->state->module->parameters[op->attributes.parameter].value->type;
    explore_number stride = known(1);
    for (int d = op->attributes.axis + 1; d < tensor->rank; d++) {
        explore_number extent = explore_extent(place, tensor->extent[d]);
        stride.known = stride.known && extent.known;
        stride.value = (int64_t)((uint64_t)stride.value * (uint64_t)extent.value);
    }
    stride.value |= 1;
    return stride;
}

static explore_number leaf_value(const explore_place *place, const ir_op *op,
                                 const int64_t element[IR_MAX_RANK]) {
    const ir_attributes *attributes = &op->attributes;
    if (op->opcode == IR_CONSTANT && !base_dtype_is_float(attributes->constant.dtype))
        return known(attributes->constant.integer);
    if (op->opcode == IR_SIZE)
        return explore_extent(place, attributes->extent);
    if (op->opcode == IR_STRIDE && verify_stride_is_formed(place->state, op))
        return stride_value(place, op);
    if (op->opcode == IR_PROGRAM)
        return known(place->programs[attributes->axis]);
    if (op->opcode == IR_ARANGE)
        return known(element[0]);
    if (op->opcode == IR_GROUP)
        return known(place->group);
    if (op->opcode == IR_IOTA)
        return known(explore_position(place, &attributes->affine));
    return unknown;
}

static explore_number loop_index(const explore_place *place, const ir_value *value) {
    for (int i = 0; i < place->loop_count; i++)
        if (place->loops[i]->regions[0] == value->region &&
            place->loops[i]->regions[0]->arguments[0] == value)
            return known(place->index[i]);
    return unknown;
}

static explore_number select_value(const explore_place *place, const ir_op *op,
                                   const int64_t element[IR_MAX_RANK]) {
    int64_t inner[IR_MAX_RANK];
    operand_element(place, op, &op->operands[0]->type, element, inner);
    explore_number condition = explore_value(place, op->operands[0], inner);
    if (!condition.known)
        return unknown;
    const ir_value *chosen = op->operands[condition.value != 0 ? 1 : 2];
    operand_element(place, op, &chosen->type, element, inner);
    return explore_value(place, chosen, inner);
}

static explore_number op_value(const explore_place *place, const ir_op *op,
                               const int64_t element[IR_MAX_RANK]) {
    explore_number operand[2] = {unknown, unknown};
    ir_op_shape shape = ir_op_describe(op->opcode)->shape;
    if (op->opcode == IR_SELECT)
        return select_value(place, op, element);
    bool same_element = op->opcode == IR_EXPAND || op->opcode == IR_DROP ||
                        op->opcode == IR_BROADCAST || op->opcode == IR_CAST ||
                        op->opcode == IR_CONVERT;
    if (!same_element && shape != IR_SHAPE_UNARY && shape != IR_SHAPE_BINARY &&
        shape != IR_SHAPE_COMPARE)
        return unknown;
    explore_function function = explore_integer_function(op->opcode);
    for (int i = 0; i < op->operand_count; i++) {
        int64_t inner[IR_MAX_RANK];
        operand_element(place, op, &op->operands[i]->type, element, inner);
        operand[i] = explore_value(place, op->operands[i], inner);
        if (!operand[i].known)
            return unknown;
    }
    if (op->opcode == IR_CAST)
        return op->attributes.rounding == IR_ROUND_ZERO
                   ? known(explore_wrapped(op->results[0]->type.dtype, operand[0].value))
                   : unknown;
    if (same_element)
        return operand[0];
    if (function == NULL)
        return unknown;
    base_dtype dtype = op->results[0]->type.dtype;
    return known(explore_wrapped(dtype, function(dtype, operand[0].value, operand[1].value)));
}

explore_number explore_value(const explore_place *place, const ir_value *value,
                             const int64_t element[IR_MAX_RANK]) {
    if (base_dtype_is_float(value->type.dtype) || *place->work <= 0)
        return unknown;
    --*place->work;
    if (value->definer == NULL)
        return value->region != NULL ? loop_index(place, value) : unknown;
    if (!verify_op_is_formed(place->state, value->definer))
        return unknown;
    if (value->definer->opcode == IR_LOAD)
        return known(explore_wrapped(value->type.dtype, place->loaded));
    if (ir_op_describe(value->definer->opcode)->shape == IR_SHAPE_LEAF)
        return leaf_value(place, value->definer, element);
    return op_value(place, value->definer, element);
}
