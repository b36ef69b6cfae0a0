/* The model: numbers that stand for values, so that what an op makes of its elements shows too.
 *
 *     %t = load %x[3]          { x 3 }    some number below p, by the name of the element
 *     %u = mul %t, 0.5         { x 3 }    its product with 2^-1 mod p
 *     %v = add %t, %t          { x 3 }    another number, though it comes from the same element
 *
 * Floats are numbers mod the prime p = 2^61 - 1, where sums and products are exact in whatever
 * order they are made and every constant that is m * 2^e has its place; infinities stand below and
 * above. They have an order, so that comparisons, maxima and choices go one way in both runs.
 * Rounding changes nothing. exp and the like are numbers by name, where both runs have them in one
 * op. What has no place (NaN, the bits of a float, what is known to be constant and may be folded
 * with rounding) has no number, nor has what is made of it.
 */
#include "verify/signature_internal.h"

#include "base/checked.h"

#include <math.h>

static const int64_t PRIME = (INT64_C(1) << 61) - 1;
enum { LOW_INFINITY = -1 };
#define HIGH_INFINITY PRIME

static bool is_finite(int64_t x) {
    return x >= 0 && x < PRIME;
}

/* x < 2^64 to its place. */
static int64_t reduced(uint64_t x) {
    x = (x & (uint64_t)PRIME) + (x >> 61);
    return (int64_t)(x >= (uint64_t)PRIME ? x - (uint64_t)PRIME : x);
}

static int64_t plus(int64_t a, int64_t b) {
    return reduced((uint64_t)a + (uint64_t)b);
}

static int64_t negative(int64_t a) {
    return a == 0 ? 0 : PRIME - a;
}

static int64_t times(int64_t a, int64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)(uint64_t)a * (uint64_t)b;
    return plus(reduced((uint64_t)product & (uint64_t)PRIME), reduced((uint64_t)(product >> 61)));
}

/* a^(p-2); 0 for 0. */
static int64_t inverse(int64_t a) {
    int64_t result = 1;
    for (int64_t n = PRIME - 2; n > 0; n >>= 1) {
        if ((n & 1) != 0)
            result = times(result, a);
        a = times(a, a);
    }
    return result;
}

static uint64_t mixed(uint64_t x) {
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

int64_t signature_model_named(uint64_t name) {
    return reduced(mixed(name));
}

static int64_t of_integer(int64_t number) {
    return number >= 0 ? reduced((uint64_t)number) : negative(reduced(0 - (uint64_t)number));
}

int64_t signature_model_element(uint64_t name) {
    enum { KINDS = 8, SMALL = 9 };
    uint64_t random = mixed(name + 1);
    return random % KINDS != 0 ? signature_model_named(name)
                               : of_integer((int64_t)(random / KINDS % SMALL) - SMALL / 2);
}

bool signature_model_literal(const ir_constant *constant, int64_t *number) {
    enum { DIGITS = 53 };
    int exponent = 0;
    if (!base_dtype_is_float(constant->dtype)) {
        *number = constant->integer;
        return true;
    }
    if (constant->real != constant->real)
        return false;
    if (isinf(constant->real)) {
        *number = constant->real > 0 ? HIGH_INFINITY : LOW_INFINITY;
        return true;
    }
    double digits = ldexp(frexp(constant->real, &exponent), DIGITS);
    int64_t shift = base_floor_mod(exponent - DIGITS, 61);
    *number = times(of_integer((int64_t)digits), INT64_C(1) << shift);
    return true;
}

/* ---- ops ---- */
static bool extreme(ir_opcode opcode, int64_t a, int64_t b, int64_t *number) {
    bool greater = opcode == IR_MAXIMUM || opcode == IR_MAXNUM;
    if (!greater && opcode != IR_MINIMUM && opcode != IR_MINNUM)
        return false;
    *number = (a > b) == greater ? a : b;
    return true;
}

/* A function that both sides have in one op, its native form too: a number by the function's name.
 * Not of rsqrt, whose portable form is made of ops that have numbers. */
static bool of_function(ir_opcode opcode, int64_t x, int64_t *number) {
    const ir_native *native = ir_native_find(opcode);
    bool named = native != NULL && native->function != IR_RSQRT;
    if (named)
        *number = signature_model_named(mixed((uint64_t)x + 1) + (uint64_t)native->function);
    return named;
}

static bool of_floats(ir_opcode opcode, const int64_t *x, int count, int64_t *number) {
    if (count == 2 && extreme(opcode, x[0], x[1], number))
        return true;
    for (int i = 0; i < count; i++)
        if (!is_finite(x[i]))
            return false;
    if (opcode == IR_ADD)
        *number = plus(x[0], x[1]);
    else if (opcode == IR_SUB)
        *number = plus(x[0], negative(x[1]));
    else if (opcode == IR_MUL)
        *number = times(x[0], x[1]);
    else if (opcode == IR_DIV)
        *number = times(x[0], inverse(x[1]));
    else if (opcode == IR_FMA)
        *number = plus(times(x[0], x[1]), x[2]);
    else if (opcode == IR_NEG)
        *number = negative(x[0]);
    else if (opcode == IR_ABS)
        *number = x[0] < negative(x[0]) ? x[0] : negative(x[0]);
    else if (opcode == IR_SQRT)
        *number = signature_model_named((uint64_t)x[0] + 1);
    else
        return of_function(opcode, x[0], number);
    return true;
}

/* The integer that a float becomes: small, or near the end of a tensor of few elements. */
static int64_t chosen_integer(const signature_setting *setting, uint64_t random) {
    enum { SMALL = 8, FEW = 100 };
    int64_t small = (int64_t)(random % SMALL);
    random /= SMALL;
    if (setting->extent_count == 0)
        return small;
    int64_t extent = setting->extents[random % (uint64_t)setting->extent_count];
    return extent < 1 || extent > FEW || small >= SMALL / 2 ? small : extent - small % 2;
}

static bool of_cast(const signature_setting *setting, const ir_op *op, int64_t x, int64_t *number) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    if (base_dtype_is_float(to))
        *number = base_dtype_is_float(from) ? x : of_integer(x);
    else if (!base_dtype_is_float(from))
        *number = explore_converted(op, x);
    else if (to == BASE_BOOL)
        *number = x != 0;
    else
        *number = chosen_integer(setting, mixed((uint64_t)x + (uint64_t)setting->round));
    return true;
}

/* Of integers and bools, also of a comparison of floats. */
static bool of_integers(ir_opcode opcode, base_dtype dtype, const int64_t *x, int count,
                        int64_t *number) {
    explore_function function = explore_integer_function(opcode);
    if (function == NULL || count > 2)
        return false;
    *number = explore_wrapped(dtype, function(dtype, x[0], count > 1 ? x[1] : 0));
    return true;
}

static bool of_op(const signature_setting *setting, const ir_op *op, ir_opcode opcode,
                  base_dtype dtype, const int64_t *x, int count, int64_t *number) {
    if (opcode == IR_CAST)
        return of_cast(setting, op, x[0], number);
    return base_dtype_is_float(dtype) ? of_floats(opcode, x, count, number)
                                      : of_integers(opcode, dtype, x, count, number);
}

/* Float constants may be folded: to one that is rounded, to the integer that they become. */
static bool may_be_folded(const signature_setting *setting, const ir_op *op, ir_opcode opcode,
                          base_dtype dtype, const signature_value *operands, int count) {
    bool from_float = opcode == IR_CAST && base_dtype_is_float(op->operands[0]->type.dtype);
    bool constant = base_dtype_is_float(dtype) || from_float;
    for (int i = 0; i < count; i++)
        constant = constant && signature_is_constant(setting->table, operands[i].mark);
    return constant;
}

static signature_value with_number(signature_value value, int64_t number) {
    value.modelled = true;
    value.number = number;
    return value;
}

/* false and anything, true or anything. */
static bool decides(ir_opcode opcode, const signature_value *value) {
    return signature_is_modelled(value) &&
           ((opcode == IR_AND && value->number == 0) || (opcode == IR_OR && value->number == 1));
}

signature_value signature_model_op(const signature_setting *setting, const ir_op *op,
                                   ir_opcode opcode, base_dtype dtype,
                                   const signature_value *operands, int count,
                                   signature_value value) {
    enum { OPERANDS = 3 };
    int64_t numbers[OPERANDS] = {0}, number = 0;
    bool modelled = count <= OPERANDS;
    if (value.known)
        return value;
    value.modelled = false;
    for (int i = 0; i < count && i < OPERANDS; i++) {
        if (dtype == BASE_BOOL && count == 2 && decides(opcode, &operands[i]))
            return with_number(value, operands[i].number);
        modelled = modelled && signature_is_modelled(&operands[i]);
        numbers[i] = operands[i].number;
    }
    if (!modelled || may_be_folded(setting, op, opcode, dtype, operands, count) ||
        !of_op(setting, op, opcode, dtype, numbers, count, &number))
        return value;
    return with_number(value, number);
}

signature_value signature_model_either(signature_value condition, signature_value a,
                                       signature_value b, signature_value value) {
    const signature_value *side = condition.number != 0 ? &a : &b;
    bool alike = signature_is_modelled(&a) && signature_is_modelled(&b) && a.number == b.number;
    if (value.known)
        return value;
    value.modelled = false;
    if (signature_is_modelled(&condition) ? signature_is_modelled(side) : alike)
        return with_number(value, side->number);
    return value;
}
