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

int64_t explore_position(const explore_place *place, int64_t lane_stride, int64_t slot_stride) {
    return (int64_t)((uint64_t)place->lane * (uint64_t)lane_stride +
                     (uint64_t)place->slot * (uint64_t)slot_stride);
}

/* The value as the dtype holds it. */
static int64_t wrapped(base_dtype dtype, int64_t value) {
    int64_t bits = 8 * base_dtype_size(dtype);
    if (dtype == BASE_BOOL)
        return value != 0;
    if (bits == 64)
        return value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    bool negative = base_dtype_kind_of(dtype) == BASE_KIND_SIGNED && (low >> (bits - 1)) != 0;
    return negative ? (int64_t)(low | ~((UINT64_C(1) << bits) - 1)) : (int64_t)low;
}

static explore_number compare_values(ir_opcode opcode, int64_t a, int64_t b) {
    if (opcode == IR_LT)
        return known(a < b);
    if (opcode == IR_LE)
        return known(a <= b);
    return known(opcode == IR_EQ ? a == b : a != b);
}

static int64_t shift(base_dtype dtype, bool left, int64_t a, int64_t count) {
    int64_t bits = 8 * base_dtype_size(dtype);
    count = base_floor_mod(count, bits);
    return left ? (int64_t)((uint64_t)a << count) : a >> count; /* a has the sign of its dtype */
}

static explore_number binary_value(const ir_op *op, int64_t a, int64_t b) {
    static const struct {
        ir_opcode opcode;
        int number;
    } order[] = {{IR_ADD, 0},       {IR_SUB, 1},     {IR_MUL, 2},     {IR_FLOOR_DIV, 3},
                 {IR_FLOOR_MOD, 4}, {IR_MAXIMUM, 5}, {IR_MINIMUM, 6}, {IR_AND, 7},
                 {IR_OR, 8},        {IR_XOR, 9},     {IR_SHL, 10},    {IR_SHR, 11}};
    base_dtype dtype = op->results[0]->type.dtype;
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    const int64_t results[] = {(int64_t)(x + y),
                               (int64_t)(x - y),
                               (int64_t)(x * y),
                               base_floor_div(a, b),
                               base_floor_mod(a, b),
                               a > b ? a : b,
                               a < b ? a : b,
                               a & b,
                               a | b,
                               a ^ b,
                               shift(dtype, true, a, b),
                               shift(dtype, false, a, b)};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        if (order[i].opcode == op->opcode)
            return known(wrapped(dtype, results[order[i].number]));
    return unknown;
}

static explore_number unary_value(const ir_op *op, int64_t a) {
    base_dtype dtype = op->results[0]->type.dtype;
    int64_t negated = (int64_t)(0 - (uint64_t)a);
    if (op->opcode == IR_NEG || (op->opcode == IR_ABS && a < 0))
        return known(wrapped(dtype, negated));
    if (op->opcode == IR_NOT)
        return known(dtype == BASE_BOOL ? a == 0 : wrapped(dtype, ~a));
    return op->opcode == IR_ABS ? known(a) : unknown;
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

static explore_number leaf_value(const explore_place *place, const ir_op *op,
                                 const int64_t element[IR_MAX_RANK]) {
    const ir_attributes *attributes = &op->attributes;
    if (op->opcode == IR_CONSTANT && !base_dtype_is_float(attributes->constant.dtype))
        return known(attributes->constant.integer);
    if (op->opcode == IR_SIZE)
        return explore_extent(place, attributes->extent);
    if (op->opcode == IR_PROGRAM)
        return known(place->programs[attributes->axis]);
    if (op->opcode == IR_ARANGE)
        return known(element[0]);
    if (op->opcode == IR_GROUP)
        return known(place->group);
    if (op->opcode == IR_IOTA)
        return known(explore_position(place, attributes->lane_stride, attributes->slot_stride));
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
                        op->opcode == IR_BROADCAST || op->opcode == IR_CAST;
    if (!same_element && shape != IR_SHAPE_UNARY && shape != IR_SHAPE_BINARY &&
        shape != IR_SHAPE_COMPARE)
        return unknown;
    for (int i = 0; i < op->operand_count; i++) {
        int64_t inner[IR_MAX_RANK];
        operand_element(place, op, &op->operands[i]->type, element, inner);
        operand[i] = explore_value(place, op->operands[i], inner);
        if (!operand[i].known)
            return unknown;
    }
    if (op->opcode == IR_CAST)
        return op->attributes.rounding == IR_ROUND_ZERO
                   ? known(wrapped(op->results[0]->type.dtype, operand[0].value))
                   : unknown;
    if (same_element)
        return operand[0];
    if (shape == IR_SHAPE_COMPARE)
        return compare_values(op->opcode, operand[0].value, operand[1].value);
    return shape == IR_SHAPE_UNARY ? unary_value(op, operand[0].value)
                                   : binary_value(op, operand[0].value, operand[1].value);
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
        return known(wrapped(value->type.dtype, place->loaded));
    if (ir_op_describe(value->definer->opcode)->shape == IR_SHAPE_LEAF)
        return leaf_value(place, value->definer, element);
    return op_value(place, value->definer, element);
}
