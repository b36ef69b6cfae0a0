/* The tables of the IR as data: levels, ops (ops.def) and monoids (monoids.def).
 *
 *     ir_op_describe(IR_ADD)->text                  "add"
 *     ir_op_describe(IR_EXP)->levels                IR_LEVEL_BIT_T | IR_LEVEL_BIT_M: not at thread
 *     ir_monoid_identity(IR_MONOID_MAX, BASE_F32)   f32 -inf
 *
 * What an op means and where it may stand is one row of a table; parser, printer, builder, verifier
 * and docs read it here. Ops that stand in a module are in ir/module.h.
 */
#ifndef IR_OPS_H
#define IR_OPS_H

#include "base/dtype.h"

typedef enum ir_level { IR_TILE, IR_MAPPED, IR_THREAD } ir_level;

typedef enum ir_opcode {
#define OP(ID, text, levels, shape, dtypes, traits, doc) IR_##ID,
#include "ir/ops.def"
#undef OP
    IR_OPCODE_COUNT
} ir_opcode;

typedef enum ir_monoid {
#define MONOID(ID, text, dtypes, combine, combine_ignoring_nan, doc) IR_MONOID_##ID,
#include "ir/monoids.def"
#undef MONOID
    IR_MONOID_COUNT
} ir_monoid;

typedef struct ir_constant {
    base_dtype dtype;
    int64_t integer; /* integers, bool, index */
    double real;     /* f32, f16, bf16: exactly representable in the dtype */
} ir_constant;

typedef enum ir_op_shape {
    IR_SHAPE_UNARY,
    IR_SHAPE_BINARY,
    IR_SHAPE_COMPARE,
    IR_SHAPE_SELECT,
    IR_SHAPE_TERNARY,
    IR_SHAPE_CONVERT,
    IR_SHAPE_LEAF,
    IR_SHAPE_ACCESS,
    IR_SHAPE_REGION,
    IR_SHAPE_OTHER
} ir_op_shape;

enum { IR_LEVEL_BIT_T = 1, IR_LEVEL_BIT_M = 2, IR_LEVEL_BIT_R = 4 };
enum { IR_DTYPES_F = 1, IR_DTYPES_H = 2, IR_DTYPES_I = 4, IR_DTYPES_B = 8, IR_DTYPES_ANY = 16 };

typedef struct ir_op_info {
    const char *text;
    int levels; /* IR_LEVEL_BIT_* */
    ir_op_shape shape;
    int dtypes; /* IR_DTYPES_*; 0 = none; H implies F */
    bool pure, commutes;
    const char *doc;
} ir_op_info;

const ir_op_info *ir_op_describe(ir_opcode opcode);
/* Operands that the shape of the op's row says; IR_OPERANDS_ANY where it says nothing. */
enum { IR_OPERANDS_ANY = -1 };
int ir_op_operand_count(ir_opcode opcode);
/* A function that has a portable form instead of an op at level thread: exp, tanh, ... */
bool ir_op_is_math(ir_opcode opcode);
/* How a function or a division is computed; what an op says that says nothing is PORTABLE or EXACT.
 * PORTABLE    the expansion of ir/portable_math.h: one result on every target
 * NATIVE      the target's own approximation, within ir/native.def
 * EXACT       correctly rounded division
 * RECIPROCAL  one reciprocal of a divisor that many elements share, and multiplications: within
 *             1.5 units of the last place (ir_divides_by_reciprocal)
 * FLUSHED     exp of what is proved to be at most 0, or NaN (ir_op_may_flush): a shorter expansion,
 *             the same on every target, whose results below 2^-126 may be 0 */
typedef enum ir_math_form {
    IR_MATH_PORTABLE,
    IR_MATH_NATIVE,
    IR_MATH_EXACT,
    IR_MATH_RECIPROCAL,
    IR_MATH_FLUSHED,
    IR_MATH_FORM_COUNT
} ir_math_form;

const char *ir_math_form_name(ir_math_form form);

/* A row of ir/native.def. */
typedef struct ir_native {
    ir_opcode function, opcode; /* exp; native_exp, of level thread */
    double ulps, below, above, near_one;
    bool flushed;
    const char *doc;
} ir_native;

/* Of a function or of its native op; NULL: there is none. */
const ir_native *ir_native_find(ir_opcode opcode);
const ir_native *ir_native_at(int index); /* NULL past the end */
/* The bound of a form of a function; NULL: that of ir/math.def. */
const ir_native *ir_math_form_bound(ir_opcode opcode, ir_math_form form);
/* IR_OPCODE_COUNT when there is no such op. */
ir_opcode ir_op_find(const char *text, size_t length);
const char *ir_level_name(ir_level level);

typedef struct ir_monoid_info {
    const char *text;
    int dtypes;
    ir_opcode combine, combine_ignoring_nan;
    const char *doc;
} ir_monoid_info;

const ir_monoid_info *ir_monoid_describe(ir_monoid monoid);
ir_monoid ir_monoid_find(const char *text, size_t length); /* IR_MONOID_COUNT when unknown */
/* The identity of a reduction of `dtype`, which is a value of that type, in the state's dtype (f32,
 * i32, u32, i64, index, bool): the least u8 is 0, in i32. */
ir_constant ir_monoid_identity(ir_monoid monoid, base_dtype dtype);
/* The dtype in which a reduction of `dtype` accumulates, and the dtype of its result. */
base_dtype ir_monoid_state(ir_monoid monoid, base_dtype dtype);
base_dtype ir_monoid_result(ir_monoid monoid, base_dtype dtype);

#endif
