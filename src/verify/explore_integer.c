/* Exact integer arithmetic of single ops: add wraps, floordiv by 0 is 0, shifts count modulo the
 * width. */
#include "verify/explore_internal.h"

#include "base/checked.h"

int64_t explore_wrapped(base_dtype dtype, int64_t value) {
    int64_t bits = 8 * base_dtype_size(dtype);
    if (dtype == BASE_BOOL)
        return value != 0;
    if (bits == 64)
        return value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    bool negative = base_dtype_kind_of(dtype) == BASE_KIND_SIGNED && (low >> (bits - 1)) != 0;
    return negative ? (int64_t)(low | ~((UINT64_C(1) << bits) - 1)) : (int64_t)low;
}

/* A store saturates, a cast wraps; to bool it is whether it is not 0. */
int64_t explore_converted(const ir_op *cast, int64_t value) {
    base_dtype to = cast->results[0]->type.dtype;
    int64_t bits = 8 * base_dtype_size(to);
    if (cast->attributes.rounding == IR_ROUND_ZERO || to == BASE_BOOL || bits == 64)
        return explore_wrapped(to, value);
    bool is_signed = base_dtype_kind_of(to) == BASE_KIND_SIGNED;
    int64_t greatest = (INT64_C(1) << (is_signed ? bits - 1 : bits)) - 1;
    int64_t least = is_signed ? -greatest - 1 : 0;
    return value < least ? least : value > greatest ? greatest : value;
}

/* name: the expression of x, y (as 64 unsigned bits) or a, b. */
#define FUNCTION(name, expression)                                                                 \
    static int64_t name(base_dtype dtype, int64_t a, int64_t b) {                                  \
        uint64_t x = (uint64_t)a, y = (uint64_t)b;                                                 \
        (void)dtype, (void)x, (void)y;                                                             \
        return (int64_t)(expression);                                                              \
    }

static int64_t shift_count(base_dtype dtype, int64_t count) {
    return base_floor_mod(count, 8 * base_dtype_size(dtype));
}

FUNCTION(added, x + y)
FUNCTION(subtracted, x - y)
FUNCTION(multiplied, x *y)
FUNCTION(divided, base_floor_div(a, b))
FUNCTION(remainder_of, base_floor_mod(a, b))
FUNCTION(negated, 0 - x)
FUNCTION(magnitude, a < 0 ? 0 - x : x)
FUNCTION(greater, a > b ? a : b)
FUNCTION(lesser, a < b ? a : b)
FUNCTION(both, a &b)
FUNCTION(either, a | b)
FUNCTION(one_of, a ^ b)
FUNCTION(inverted, dtype == BASE_BOOL ? a == 0 : ~a)
FUNCTION(left, x << shift_count(dtype, b))
FUNCTION(right, a >> shift_count(dtype, b)) /* a has the sign of its dtype */
FUNCTION(below, a < b)
FUNCTION(at_most, a <= b)
FUNCTION(equal, a == b)
FUNCTION(unequal, a != b)

static const explore_function functions[IR_OPCODE_COUNT] = {
    [IR_ADD] = added,     [IR_SUB] = subtracted,    [IR_MUL] = multiplied,
    [IR_NEG] = negated,   [IR_FLOOR_DIV] = divided, [IR_FLOOR_MOD] = remainder_of,
    [IR_ABS] = magnitude, [IR_MAXIMUM] = greater,   [IR_MINIMUM] = lesser,
    [IR_AND] = both,      [IR_OR] = either,         [IR_XOR] = one_of,
    [IR_NOT] = inverted,  [IR_SHL] = left,          [IR_SHR] = right,
    [IR_LT] = below,      [IR_LE] = at_most,        [IR_EQ] = equal,
    [IR_NE] = unequal,
};

explore_function explore_integer_function(ir_opcode opcode) {
    return functions[opcode];
}
