/* Ops on constants, in the exact arithmetic of their dtype.
 *
 *     add i32 2147483647, 1      = -2147483648     integers wrap
 *     floordiv i32 7, 0          = 0
 *     mul f32 0.1, 3.0           = 0x1.333334p-2   one rounding, to f32
 *     cast f32 -> i8 300.0       = 127             saturates
 *
 * Functions (exp, ...) are not evaluated: their bits belong to their portable form. A result that
 * is a NaN stays an op, since the sign of a NaN is the machine's.
 */
#include "pass/simplify.h"

#include "base/checked.h"

#include <math.h>

enum { MAX_OPERANDS = 3 };

static int dtype_bits(base_dtype dtype) {
    return dtype == BASE_BOOL ? 1 : 8 * (int)base_dtype_size(dtype);
}

static bool dtype_signed(base_dtype dtype) {
    return base_dtype_kind_of(dtype) == BASE_KIND_SIGNED;
}

/* The number that the low bits are in the dtype. */
static int64_t wrap(base_dtype dtype, int64_t value) {
    int bits = dtype_bits(dtype);
    if (bits == 64)
        return value;
    uint64_t low = (uint64_t)value & ((UINT64_C(1) << bits) - 1);
    bool negative = dtype_signed(dtype) && (low >> (bits - 1)) != 0;
    return (int64_t)(negative ? low | ~((UINT64_C(1) << bits) - 1) : low);
}

/* ---- arithmetic ---- */
static bool fold_integer(ir_opcode opcode, base_dtype dtype, const int64_t *v, int64_t *out) {
    uint64_t a = (uint64_t)v[0], b = (uint64_t)v[1];
    int count = (int)(b & (uint64_t)(dtype_bits(dtype) - 1));
    if (opcode == IR_ADD)
        *out = (int64_t)(a + b);
    else if (opcode == IR_SUB)
        *out = (int64_t)(a - b);
    else if (opcode == IR_MUL)
        *out = (int64_t)(a * b);
    else if (opcode == IR_FLOOR_DIV)
        *out = base_floor_div(v[0], v[1]);
    else if (opcode == IR_FLOOR_MOD)
        *out = base_floor_mod(v[0], v[1]);
    else if (opcode == IR_NEG)
        *out = (int64_t)(0 - a);
    else if (opcode == IR_ABS)
        *out = v[0] < 0 ? (int64_t)(0 - a) : v[0];
    else if (opcode == IR_MAXIMUM)
        *out = v[0] > v[1] ? v[0] : v[1];
    else if (opcode == IR_MINIMUM)
        *out = v[0] < v[1] ? v[0] : v[1];
    else if (opcode == IR_AND)
        *out = (int64_t)(a & b);
    else if (opcode == IR_OR)
        *out = (int64_t)(a | b);
    else if (opcode == IR_XOR)
        *out = (int64_t)(a ^ b);
    else if (opcode == IR_NOT)
        *out = dtype == BASE_BOOL ? !v[0] : (int64_t)~a;
    else if (opcode == IR_SHL)
        *out = (int64_t)(a << count);
    else if (opcode == IR_SHR)
        *out = v[0] >> count;
    else
        return false;
    *out = wrap(dtype, *out);
    return true;
}

/* Storage types keep their type through these; f32 computes in float. */
static bool fold_kept(ir_opcode opcode, const double *v, double *out) {
    if (opcode == IR_NEG)
        *out = -v[0];
    else if (opcode == IR_ABS)
        *out = fabs(v[0]);
    else if (opcode == IR_MAXIMUM)
        *out = v[0] > v[1] || isnan(v[0]) ? v[0] : v[1];
    else if (opcode == IR_MINIMUM)
        *out = v[0] < v[1] || isnan(v[0]) ? v[0] : v[1];
    else if (opcode == IR_MAXNUM)
        *out = v[0] > v[1] || isnan(v[1]) ? v[0] : v[1];
    else if (opcode == IR_MINNUM)
        *out = v[0] < v[1] || isnan(v[1]) ? v[0] : v[1];
    else
        return false;
    return true;
}

/* a + b in double has no rounding error. */
static bool sum_is_exact(double a, double b) {
    double sum = a + b, second = sum - a;
    return (a - (sum - second)) + (b - second) == 0.0;
}

/* The f32 result is the mathematical one. Products of f32 are exact in double. */
static bool real_is_exact(ir_opcode opcode, const double *v, double result) {
    if (opcode == IR_ADD || opcode == IR_SUB) {
        double b = opcode == IR_ADD ? v[1] : -v[1];
        return sum_is_exact(v[0], b) && v[0] + b == result;
    }
    if (opcode == IR_MUL)
        return v[0] * v[1] == result;
    if (opcode == IR_DIV)
        return v[1] != 0.0 && result * v[1] == v[0];
    if (opcode == IR_FMA)
        return sum_is_exact(v[0] * v[1], v[2]) && v[0] * v[1] + v[2] == result;
    return opcode != IR_SQRT || result * result == v[0];
}

static bool fold_real(ir_opcode opcode, base_dtype dtype, const double *v, double *out) {
    if (fold_kept(opcode, v, out))
        return true;
    float a = (float)v[0], b = (float)v[1], c = (float)v[2], result = 0.0F;
    if (dtype != BASE_F32)
        return false;
    if (opcode == IR_ADD)
        result = a + b;
    else if (opcode == IR_SUB)
        result = a - b;
    else if (opcode == IR_MUL)
        result = a * b;
    else if (opcode == IR_DIV)
        result = a / b;
    else if (opcode == IR_FMA)
        result = fmaf(a, b, c);
    else if (opcode == IR_SQRT)
        result = sqrtf(a);
    else
        return false;
    *out = (double)result;
    return true;
}

static bool fold_compare(ir_opcode opcode, const ir_constant *v, int64_t *out) {
    bool real = base_dtype_is_float(v[0].dtype);
    bool less = real ? v[0].real < v[1].real : v[0].integer < v[1].integer;
    bool equal = real ? v[0].real == v[1].real : v[0].integer == v[1].integer;
    if (opcode == IR_LT)
        *out = less;
    else if (opcode == IR_LE)
        *out = less || equal;
    else if (opcode == IR_EQ)
        *out = equal;
    else if (opcode == IR_NE)
        *out = !equal;
    else
        return false;
    return true;
}

/* ---- conversion ---- */
static int64_t real_to_integer(base_dtype dtype, double value, ir_rounding rounding) {
    if (isnan(value))
        return 0;
    value = rounding == IR_ROUND_EVEN ? nearbyint(value) : trunc(value);
    if (value <= (double)base_dtype_least(dtype))
        return base_dtype_least(dtype);
    return value >= (double)base_dtype_greatest(dtype) ? base_dtype_greatest(dtype)
                                                       : (int64_t)value;
}

static int64_t saturate(base_dtype dtype, int64_t value) {
    int64_t low = base_dtype_least(dtype), high = base_dtype_greatest(dtype);
    return value < low ? low : value > high ? high : value;
}

/* An integer to f16 or bf16 stays an op: which way it rounds twice is the lowering's. */
static bool fold_cast(const ir_constant *v, ir_rounding rounding, ir_constant *out) {
    bool from_real = base_dtype_is_float(v->dtype);
    if (out->dtype == BASE_BOOL) {
        out->integer = from_real ? v->real != 0.0 : v->integer != 0;
    } else if (base_dtype_is_float(out->dtype)) {
        if (!from_real && out->dtype != BASE_F32)
            return false;
        out->real = from_real ? base_float_round(out->dtype, v->real) : (double)(float)v->integer;
    } else if (from_real) {
        out->integer = real_to_integer(out->dtype, v->real, rounding);
    } else {
        bool narrower = base_dtype_size(out->dtype) < base_dtype_size(v->dtype);
        bool saturates = rounding == IR_ROUND_EVEN && narrower && v->dtype != BASE_BOOL;
        out->integer = saturates ? saturate(out->dtype, v->integer) : wrap(out->dtype, v->integer);
    }
    return true;
}

static bool cast_is_exact(const ir_constant *from, const ir_constant *to) {
    if (!base_dtype_is_float(to->dtype))
        return true;
    if (base_dtype_is_float(from->dtype))
        return from->real == to->real;
    return to->real < 0x1p62 && to->real > -0x1p62 && (int64_t)to->real == from->integer;
}

/* ---- ops ---- */
static bool fold_arithmetic(const ir_op *op, const ir_constant *v, bool exact,
                            ir_constant *result) {
    if (base_dtype_is_float(result->dtype)) {
        double operands[MAX_OPERANDS] = {v[0].real, v[1].real, v[2].real};
        return fold_real(op->opcode, result->dtype, operands, &result->real) &&
               (!exact || real_is_exact(op->opcode, operands, result->real));
    }
    int64_t operands[MAX_OPERANDS] = {v[0].integer, v[1].integer, v[2].integer};
    return fold_integer(op->opcode, result->dtype, operands, &result->integer);
}

/* The value of the op on the constants v. */
static bool fold_op(const ir_op *op, const ir_constant *v, ir_constant *folded) {
    /* The reference evaluates level tile unrounded: what is folded there must not have rounded. */
    bool exact = op->results[0]->type.form == IR_FORM_TILE;
    *folded = (ir_constant){.dtype = op->results[0]->type.dtype};
    switch (ir_op_describe(op->opcode)->shape) {
    case IR_SHAPE_UNARY:
    case IR_SHAPE_BINARY:
    case IR_SHAPE_TERNARY:
        return fold_arithmetic(op, v, exact, folded);
    case IR_SHAPE_COMPARE:
        return fold_compare(op->opcode, v, &folded->integer);
    case IR_SHAPE_SELECT:
        *folded = v[v[0].integer != 0 ? 1 : 2];
        return true;
    case IR_SHAPE_CONVERT:
        return op->opcode == IR_CAST && fold_cast(&v[0], op->attributes.rounding, folded) &&
               (!exact || cast_is_exact(&v[0], folded));
    case IR_SHAPE_LEAF:
    case IR_SHAPE_ACCESS:
    case IR_SHAPE_REGION:
    case IR_SHAPE_OTHER:
        break;
    }
    return false;
}

bool pass_fold_integers(const ir_op *op, const int64_t v[3], int64_t *result) {
    ir_constant constants[MAX_OPERANDS] = {{0}}, folded;
    if (op->operand_count < 1 || op->operand_count > MAX_OPERANDS || op->result_count != 1 ||
        base_dtype_is_float(op->results[0]->type.dtype))
        return false;
    for (int i = 0; i < op->operand_count; i++) {
        constants[i] = (ir_constant){.dtype = op->operands[i]->type.dtype, .integer = v[i]};
        if (base_dtype_is_float(constants[i].dtype))
            return false;
    }
    if (!fold_op(op, constants, &folded))
        return false;
    *result = folded.integer;
    return true;
}

const ir_constant *pass_constant_of(const ir_value *value) {
    const ir_op *op = value->definer;
    while (op != NULL && op->operand_count > 0 && op->results[0]->type.form == IR_FORM_TILE &&
           (op->opcode == IR_BROADCAST || op->opcode == IR_EXPAND || op->opcode == IR_DROP))
        op = op->operands[0]->definer;
    return op != NULL && op->opcode == IR_CONSTANT ? &op->attributes.constant : NULL;
}

bool pass_fold_constant(const ir_op *op, ir_constant *result) {
    ir_constant v[MAX_OPERANDS] = {{0}}, folded;
    if (op->operand_count < 1 || op->operand_count > MAX_OPERANDS || op->result_count != 1)
        return false;
    for (int i = 0; i < op->operand_count; i++) {
        const ir_constant *constant = pass_constant_of(op->operands[i]);
        if (constant == NULL)
            return false;
        v[i] = *constant;
    }
    if (!fold_op(op, v, &folded) || (base_dtype_is_float(folded.dtype) && isnan(folded.real)))
        return false;
    *result = folded;
    return true;
}
