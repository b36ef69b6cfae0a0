/* Lowering: the elements of a store one by one, where their indices are plain arithmetic on arange
 * and constants.
 *
 *     y[row, arange(8) ^ 5]     8 elements, 8 cells: fine        y[row, arange(8) % 4]     elements
 *                                                                0 and 4 write one cell
 *
 * What the closed form (lower_owner.c) cannot prove is tried here when the extents are known and
 * small; it also finds the two elements that an error names.
 */
#include "text/lower_internal.h"

#include "base/checked.h"
#include "base/hash.h"

#include <string.h>

enum { ELEMENT_LIMIT = 1 << 16, WORK_LIMIT = 1 << 20, DEPTH_LIMIT = 40 };

typedef struct element {
    int64_t at[IR_MAX_RANK];
} element;

/* ---- one index of one element ---- */

static bool evaluate(const ir_value *value, const element *e, int depth, int64_t *result);

static int64_t wrap(base_dtype dtype, int64_t value) {
    if (dtype == BASE_I32)
        return (int32_t)(uint32_t)(uint64_t)value;
    if (dtype == BASE_U32)
        return (uint32_t)(uint64_t)value;
    return value;
}

static bool evaluate_binary(ir_opcode opcode, base_dtype dtype, int64_t a, int64_t b,
                            int64_t *result) {
    int64_t count = b & (base_dtype_size(dtype) * 8 - 1);
    switch ((int)opcode) {
    case IR_ADD:
        *result = (int64_t)((uint64_t)a + (uint64_t)b);
        return true;
    case IR_SUB:
        *result = (int64_t)((uint64_t)a - (uint64_t)b);
        return true;
    case IR_MUL:
        *result = (int64_t)((uint64_t)a * (uint64_t)b);
        return true;
    case IR_FLOOR_DIV:
        *result = base_floor_div(a, b);
        return true;
    case IR_FLOOR_MOD:
        *result = base_floor_mod(a, b);
        return true;
    case IR_MAXIMUM:
        *result = a > b ? a : b;
        return true;
    case IR_MINIMUM:
        *result = a < b ? a : b;
        return true;
    case IR_AND:
        *result = a & b;
        return true;
    case IR_OR:
        *result = a | b;
        return true;
    case IR_XOR:
        *result = a ^ b;
        return true;
    case IR_SHL:
        *result = (int64_t)((uint64_t)a << count);
        return true;
    case IR_SHR:
        *result = a >> count; /* keeps the sign with gcc and clang */
        return true;
    default:
        return false;
    }
}

/* The element of the operand that the element of the result is made of. */
static element operand_element(const ir_op *op, const ir_type *operand, const element *e) {
    element from = {{0}};
    for (int i = 0; i < operand->rank; i++) {
        int axis = i;
        if (op->opcode == IR_EXPAND && i >= op->attributes.axis)
            axis = i + 1;
        else if (op->opcode == IR_DROP && i > op->attributes.axis)
            axis = i - 1;
        bool dropped = op->opcode == IR_DROP && i == op->attributes.axis;
        from.at[i] = dropped || lower_extent_is_one(operand->extent[i]) ? 0 : e->at[axis];
    }
    return from;
}

static bool passes_through(const ir_op *op) {
    return op->opcode == IR_EXPAND || op->opcode == IR_DROP || op->opcode == IR_BROADCAST ||
           (op->opcode == IR_CAST && base_dtype_is_integer(op->operands[0]->type.dtype));
}

static bool evaluate(const ir_value *value, const element *e, int depth, int64_t *result) {
    const ir_op *op = value->definer;
    base_dtype dtype = value->type.dtype;
    bool wide = dtype == BASE_INDEX || dtype == BASE_I64 || dtype == BASE_I32 || dtype == BASE_U32;
    if (op == NULL || depth > DEPTH_LIMIT || !wide)
        return false;
    if (op->opcode == IR_CONSTANT) {
        *result = op->attributes.constant.integer;
        return true;
    }
    if (op->opcode == IR_ARANGE) {
        *result = e->at[0];
        return true;
    }
    int64_t operands[2] = {0, 0};
    bool binary = ir_op_describe(op->opcode)->shape == IR_SHAPE_BINARY;
    if (!binary && !passes_through(op))
        return false;
    for (int i = 0; i < op->operand_count; i++) {
        element from = operand_element(op, &op->operands[i]->type, e);
        if (!evaluate(op->operands[i], &from, depth + 1, &operands[i]))
            return false;
    }
    *result = operands[0];
    if (binary && !evaluate_binary(op->opcode, dtype, operands[0], operands[1], result))
        return false;
    *result = wrap(dtype, *result);
    return true;
}

/* ---- all elements ---- */

/* The cell of an element, without what is the same for all of them. */
static bool find_cell(const lower_access *access, const element *e, element *cell) {
    int axis = 0;
    *cell = (element){{0}};
    for (int d = 0; d < access->access->rank; d++) {
        const ir_index *index = &access->access->index[d];
        if (index->kind == IR_INDEX_RANGE) {
            cell->at[d] = e->at[axis++];
        } else if (index->kind == IR_INDEX_GATHER) {
            const ir_value *value = access->operands[index->operand];
            element from = {{0}};
            for (int i = 0; i < value->type.rank; i++)
                from.at[i] = lower_extent_is_one(value->type.extent[i]) ? 0 : e->at[i];
            if (!evaluate(value, &from, 0, &cell->at[d]))
                return false;
        }
    }
    return true;
}

static bool count_elements(lowerer *l, const ir_type *shape, int64_t *extents, int64_t *count) {
    *count = 1;
    for (int i = 0; i < shape->rank; i++) {
        if (shape->domain[i] != NULL ||
            !layout_extent_known(&l->module->extents, shape->extent[i], &extents[i]) ||
            !base_checked_mul(*count, extents[i], count) || *count > ELEMENT_LIMIT)
            return false;
    }
    return l->enumerated + *count <= WORK_LIMIT;
}

static element nth_element(const ir_type *shape, const int64_t *extents, int64_t n) {
    element e = {{0}};
    for (int i = shape->rank - 1; i >= 0; i--) {
        e.at[i] = n % extents[i];
        n /= extents[i];
    }
    return e;
}

static const char *describe_element(lowerer *l, const ir_type *shape, const element *e) {
    base_text text;
    base_text_init(&text, l->arena);
    base_text_string(&text, "[");
    for (int i = 0; i < shape->rank; i++)
        base_text_format(&text, "%s%lld", i > 0 ? ", " : "", (long long)e->at[i]);
    base_text_string(&text, "]");
    return text.bytes;
}

lower_enumeration lower_enumerate(lowerer *l, const lower_access *access, const char **witness) {
    int64_t extents[IR_MAX_RANK];
    int64_t count;
    const ir_type *shape = &access->shape;
    if (!count_elements(l, shape, extents, &count))
        return LOWER_ENUMERATION_UNKNOWN;
    l->enumerated += count;
    int64_t capacity = 64;
    while (capacity < 2 * count)
        capacity *= 2;
    element *cells = BASE_NEW_ARRAY(l->arena, element, count + 1);
    int32_t *table = BASE_NEW_ARRAY(l->arena, int32_t, capacity); /* element + 1 */
    for (int64_t n = 0; n < count; n++) {
        element e = nth_element(shape, extents, n);
        if (!find_cell(access, &e, &cells[n]))
            return LOWER_ENUMERATION_UNKNOWN;
        uint64_t slot = base_hash_bytes(BASE_HASH_START, &cells[n], sizeof cells[n]);
        for (;; slot++) {
            int32_t *place = &table[slot & (uint64_t)(capacity - 1)];
            if (*place == 0) {
                *place = (int32_t)n + 1;
                break;
            }
            if (memcmp(&cells[*place - 1], &cells[n], sizeof cells[n]) != 0)
                continue;
            element first = nth_element(shape, extents, *place - 1);
            *witness = lower_text(l, "elements %s and %s", describe_element(l, shape, &first),
                                  describe_element(l, shape, &e));
            return LOWER_ENUMERATION_COLLISION;
        }
    }
    return LOWER_ENUMERATION_INJECTIVE;
}
