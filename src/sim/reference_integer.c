/* Integers with an error, and the casts between the kinds of numbers.
 *
 * Values are exact and wrap in their type. The error is 0 almost always; it is the distance that a
 * rounding at its edge or an undecided choice leaves, it follows +, -, *, larger and smaller, and
 * is infinite after anything else (a quotient, bits). On bool it is 1: either.
 *
 *     cast even 2.5 +- 0.1 to i8    ->  2 +- 1
 *     INT32_MAX + 1 in i32          ->  INT32_MIN
 */
#include "sim/reference_number.h"

#include "base/checked.h"

/* The number of the type that is congruent to value. */
static int64_t wrap(base_dtype dtype, int64_t value) {
    switch (dtype) {
    case BASE_I32:
        return (int32_t)(uint32_t)(uint64_t)value;
    case BASE_U32:
        return (int64_t)(uint32_t)(uint64_t)value;
    case BASE_I8:
        return (int8_t)(uint8_t)(uint64_t)value;
    case BASE_U8:
        return (int64_t)(uint8_t)(uint64_t)value;
    case BASE_BOOL:
        return value & 1;
    case BASE_I64:
    case BASE_INDEX:
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        break;
    }
    return value;
}

sim_integer sim_integer_settle(base_dtype dtype, int64_t value, double error) {
    if (dtype == BASE_BOOL)
        return (sim_integer){value, error > 0.0 ? 1.0 : 0.0};
    bool wraps = error > 0.0 && ((double)value + error > (double)base_dtype_greatest(dtype) ||
                                 (double)value - error < (double)base_dtype_least(dtype));
    return (sim_integer){value, wraps ? (double)INFINITY : error};
}

/* ---- arithmetic on values ---- */

/* The count of a shift, modulo the width of the type (a power of two). */
static int shift_count(base_dtype dtype, int64_t count) {
    return (int)(count & (8 * base_dtype_size(dtype) - 1));
}

static int64_t binary_value(ir_opcode opcode, base_dtype dtype, int64_t a, int64_t b) {
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch ((int)opcode) {
    case IR_ADD:
        return (int64_t)(x + y);
    case IR_SUB:
        return (int64_t)(x - y);
    case IR_MUL:
        return (int64_t)(x * y);
    case IR_FLOOR_DIV:
        return base_floor_div(a, b);
    case IR_FLOOR_MOD:
        return base_floor_mod(a, b);
    case IR_MAXIMUM:
        return a > b ? a : b;
    case IR_MINIMUM:
        return a < b ? a : b;
    case IR_AND:
        return (int64_t)(x & y);
    case IR_OR:
        return (int64_t)(x | y);
    case IR_XOR:
        return (int64_t)(x ^ y);
    case IR_SHL:
        return (int64_t)(x << shift_count(dtype, b));
    case IR_SHR: /* values of unsigned types are not negative */
        return a >> shift_count(dtype, b);
    }
    return 0;
}

/* ---- arithmetic on errors; at least one is positive ---- */

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* A certain false decides an and, a certain true an or. */
static double bool_error(ir_opcode opcode, sim_integer a, sim_integer b) {
    int64_t decides = opcode == IR_AND ? 0 : 1;
    bool decided = (a.error == 0.0 && a.value == decides) || (b.error == 0.0 && b.value == decides);
    return decided && (opcode == IR_AND || opcode == IR_OR) ? 0.0 : 1.0;
}

static double binary_error(ir_opcode opcode, base_dtype dtype, sim_integer a, sim_integer b) {
    if (dtype == BASE_BOOL)
        return bool_error(opcode, a, b);
    switch ((int)opcode) {
    case IR_ADD:
    case IR_SUB:
        return a.error + b.error;
    case IR_MUL: {
        double error =
            fabs((double)a.value) * b.error + fabs((double)b.value) * a.error + a.error * b.error;
        return isnan(error) ? (double)INFINITY : error; /* 0 * inf */
    }
    case IR_MAXIMUM:
    case IR_MINIMUM:
        return larger(a.error, b.error);
    }
    return (double)INFINITY;
}

sim_integer sim_integer_binary(ir_opcode opcode, base_dtype dtype, sim_integer a, sim_integer b) {
    int64_t value = wrap(dtype, binary_value(opcode, dtype, a.value, b.value));
    if (a.error == 0.0 && b.error == 0.0)
        return (sim_integer){value, 0.0};
    return sim_integer_settle(dtype, value, binary_error(opcode, dtype, a, b));
}

sim_integer sim_integer_unary(ir_opcode opcode, base_dtype dtype, sim_integer a) {
    int64_t value = a.value;
    if (opcode == IR_NOT)
        value = ~a.value;
    else if (opcode == IR_NEG || a.value < 0) /* abs of a negative */
        value = (int64_t)(0u - (uint64_t)a.value);
    value = wrap(dtype, value);
    return a.error == 0.0 ? (sim_integer){value, 0.0} : sim_integer_settle(dtype, value, a.error);
}

sim_integer sim_integer_compare(ir_opcode opcode, sim_integer a, sim_integer b) {
    bool holds = opcode == IR_LT   ? a.value < b.value
                 : opcode == IR_LE ? a.value <= b.value
                 : opcode == IR_EQ ? a.value == b.value
                                   : a.value != b.value;
    double reach = a.error + b.error;
    bool open = reach > 0.0 && fabs((double)a.value - (double)b.value) <= reach;
    return (sim_integer){holds, open ? 1.0 : 0.0};
}

/* ---- casts ---- */

/* Half to even, whatever the rounding mode of the process. */
static double round_half_even(double value) {
    double down = floor(value), fraction = value - down;
    if (fraction < 0.5)
        return down;
    if (fraction > 0.5)
        return down + 1.0;
    return fmod(down, 2.0) == 0.0 ? down : down + 1.0;
}

static int64_t rounded_integer(double value, base_dtype to, ir_rounding rounding) {
    if (isnan(value))
        return 0;
    double whole = rounding == IR_ROUND_EVEN ? round_half_even(value) : trunc(value);
    int64_t least = base_dtype_least(to), greatest = base_dtype_greatest(to);
    if (whole <= (double)least)
        return least;
    return whole >= (double)greatest ? greatest : (int64_t)whole;
}

static sim_integer cast_to_bool(sim_number a) {
    bool open = a.error > 0.0 && !(fabs(a.value) > a.error);
    return (sim_integer){a.value != 0.0, open ? 1.0 : 0.0};
}

sim_integer sim_cast_to_integer(sim_number a, base_dtype to, ir_rounding rounding) {
    if (to == BASE_BOOL)
        return cast_to_bool(a);
    int64_t value = rounded_integer(a.value, to, rounding);
    if (a.error == 0.0)
        return (sim_integer){value, 0.0};
    if (sim_is_loose(a.error))
        return (sim_integer){value, (double)INFINITY};
    int64_t low = rounded_integer(a.value - a.error, to, rounding);
    int64_t high = rounded_integer(a.value + a.error, to, rounding);
    double below = (double)value - (double)low, above = (double)high - (double)value;
    return (sim_integer){value, larger(below, above)};
}

sim_number sim_cast_to_float(sim_integer a, base_dtype to) {
    const sim_float_format *format = sim_float_format_of(to);
    double value = (double)a.value;
    bool held = fabs(value) < 0x1p53 && format->round(value) == value;
    if (held && a.error == 0.0)
        return (sim_number){value, 0.0};
    return sim_number_settle(format, value, a.error, format->unit * fabs(value));
}

static int64_t clamp(int64_t value, int64_t least, int64_t greatest) {
    return value < least ? least : value > greatest ? greatest : value;
}

sim_integer sim_cast_integer(sim_integer a, base_dtype to, ir_rounding rounding) {
    if (to == BASE_BOOL) {
        bool open = a.error > 0.0 && fabs((double)a.value) <= a.error;
        return (sim_integer){a.value != 0, open ? 1.0 : 0.0};
    }
    if (rounding == IR_ROUND_EVEN) /* clamping moves no two numbers apart */
        return (sim_integer){clamp(a.value, base_dtype_least(to), base_dtype_greatest(to)),
                             a.error};
    int64_t value = wrap(to, a.value);
    return a.error == 0.0 ? (sim_integer){value, 0.0} : sim_integer_settle(to, value, a.error);
}
