/* The op and monoid tables, built from the .def files, and the arithmetic of monoids.
 *
 *     OP(ADD, "add", T_M_R, BINARY, F_I, PURE_COMMUTES, ..)  ->  {.text = "add", .levels = 7, ..}
 *     max of u8: computed in i32 from 0, the result u8       sum of f16: computed in f32 from 0.0
 */
#include "ir/ops.h"

#include <math.h>
#include <string.h>

/* ---- the words of the .def files, as bits ---- */
enum {
    T_M_R = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M | IR_LEVEL_BIT_R,
    T_M = IR_LEVEL_BIT_T | IR_LEVEL_BIT_M,
    M = IR_LEVEL_BIT_M,
    R = IR_LEVEL_BIT_R
};
enum {
    NONE = 0,
    F = IR_DTYPES_F,
    B = IR_DTYPES_B,
    I = IR_DTYPES_I,
    ANY = IR_DTYPES_ANY,
    F_I = IR_DTYPES_F | IR_DTYPES_I,
    H_I = IR_DTYPES_F | IR_DTYPES_H | IR_DTYPES_I,
    I_B = IR_DTYPES_I | IR_DTYPES_B,
    F_I_B = IR_DTYPES_F | IR_DTYPES_I | IR_DTYPES_B
};
enum { PURE = 1, PURE_COMMUTES = 3 };

static const ir_op_info op_table[] = {
#define OP(ID, text_, levels_, shape_, dtypes_, traits_, doc_)                                     \
    [IR_##ID] = {.text = text_,                                                                    \
                 .levels = levels_,                                                                \
                 .shape = IR_SHAPE_##shape_,                                                       \
                 .dtypes = dtypes_,                                                                \
                 .pure = ((traits_)&1) != 0,                                                       \
                 .commutes = ((traits_)&2) != 0,                                                   \
                 .doc = doc_},
#include "ir/ops.def"
#undef OP
};

static const ir_monoid_info monoid_table[] = {
#define MONOID(ID, text_, dtypes_, combine_, ignoring_, doc_)                                      \
    [IR_MONOID_##ID] = {.text = text_,                                                             \
                        .dtypes = dtypes_,                                                         \
                        .combine = IR_##combine_,                                                  \
                        .combine_ignoring_nan = IR_##ignoring_,                                    \
                        .doc = doc_},
#include "ir/monoids.def"
#undef MONOID
};

static const ir_native native_table[] = {
#define NATIVE(ID, ulps_, below_, above_, near_one_, flushed_, doc_)                               \
    {.function = IR_##ID,                                                                          \
     .opcode = IR_NATIVE_##ID,                                                                     \
     .ulps = ulps_,                                                                                \
     .below = below_,                                                                              \
     .above = above_,                                                                              \
     .near_one = near_one_,                                                                        \
     .flushed = flushed_,                                                                          \
     .doc = doc_},
#include "ir/native.def"
#undef NATIVE
};

enum { NATIVE_COUNT = sizeof native_table / sizeof native_table[0] };

/* ---- ops ---- */

const ir_op_info *ir_op_describe(ir_opcode opcode) {
    return &op_table[opcode];
}

int ir_op_operand_count(ir_opcode opcode) {
    switch (ir_op_describe(opcode)->shape) {
    case IR_SHAPE_UNARY:
    case IR_SHAPE_CONVERT:
        return 1;
    case IR_SHAPE_BINARY:
    case IR_SHAPE_COMPARE:
        return 2;
    case IR_SHAPE_SELECT:
    case IR_SHAPE_TERNARY:
        return 3;
    case IR_SHAPE_LEAF:
        return 0;
    case IR_SHAPE_ACCESS:
    case IR_SHAPE_REGION:
    case IR_SHAPE_OTHER:
        break;
    }
    return IR_OPERANDS_ANY;
}

bool ir_op_is_math(ir_opcode opcode) {
    const ir_op_info *info = ir_op_describe(opcode);
    return info->shape == IR_SHAPE_UNARY && (info->levels & IR_LEVEL_BIT_R) == 0;
}

const char *ir_math_form_name(ir_math_form form) {
    static const char *const names[IR_MATH_FORM_COUNT] = {[IR_MATH_PORTABLE] = "portable",
                                                          [IR_MATH_NATIVE] = "native",
                                                          [IR_MATH_EXACT] = "exact",
                                                          [IR_MATH_RECIPROCAL] = "reciprocal",
                                                          [IR_MATH_FLUSHED] = "flushed"};
    return names[form];
}

const ir_native *ir_native_at(int index) {
    return index >= 0 && index < NATIVE_COUNT ? &native_table[index] : NULL;
}

const ir_native *ir_native_find(ir_opcode opcode) {
    for (int i = 0; i < NATIVE_COUNT; i++)
        if (native_table[i].function == opcode || native_table[i].opcode == opcode)
            return &native_table[i];
    return NULL;
}

const ir_native *ir_math_form_bound(ir_opcode opcode, ir_math_form form) {
    static const ir_native flushed_exp = {
        .function = IR_EXP,
        .opcode = IR_EXP,
        .ulps = 2.0,
        .flushed = true,
        .doc = "the expansion for arguments that are at most 0",
    };
    if (form == IR_MATH_FLUSHED && opcode == IR_EXP)
        return &flushed_exp;
    return form == IR_MATH_NATIVE ? ir_native_find(opcode) : NULL;
}

ir_opcode ir_op_find(const char *text, size_t length) {
    for (int i = 0; i < IR_OPCODE_COUNT; i++)
        if (strlen(op_table[i].text) == length && memcmp(op_table[i].text, text, length) == 0)
            return (ir_opcode)i;
    return IR_OPCODE_COUNT;
}

const char *ir_level_name(ir_level level) {
    static const char *const names[] = {"tile", "mapped", "thread"};
    return names[level];
}

/* ---- monoids ---- */

const ir_monoid_info *ir_monoid_describe(ir_monoid monoid) {
    return &monoid_table[monoid];
}

ir_monoid ir_monoid_find(const char *text, size_t length) {
    for (int i = 0; i < IR_MONOID_COUNT; i++)
        if (strlen(monoid_table[i].text) == length &&
            memcmp(monoid_table[i].text, text, length) == 0)
            return (ir_monoid)i;
    return IR_MONOID_COUNT;
}

ir_constant ir_monoid_identity(ir_monoid monoid, base_dtype dtype) {
    ir_constant identity = {.dtype = ir_monoid_state(monoid, dtype)};
    switch (monoid) {
    case IR_MONOID_SUM:
    case IR_MONOID_ANY:
        return identity;
    case IR_MONOID_PROD:
    case IR_MONOID_ALL:
        identity.integer = 1;
        identity.real = 1.0;
        return identity;
    case IR_MONOID_MAX:
        identity.integer = base_dtype_least(dtype);
        identity.real = -(double)INFINITY;
        return identity;
    case IR_MONOID_MIN:
        identity.integer = base_dtype_greatest(dtype);
        identity.real = (double)INFINITY;
        return identity;
    case IR_MONOID_COUNT:
        break;
    }
    return identity;
}

base_dtype ir_monoid_state(ir_monoid monoid, base_dtype dtype) {
    if (dtype == BASE_F16 || dtype == BASE_BF16)
        return BASE_F32;
    bool narrow = dtype == BASE_I8 || dtype == BASE_U8;
    bool counted = dtype == BASE_BOOL && (monoid == IR_MONOID_SUM || monoid == IR_MONOID_PROD);
    return narrow || counted ? BASE_I32 : dtype;
}

base_dtype ir_monoid_result(ir_monoid monoid, base_dtype dtype) {
    bool keeps = monoid == IR_MONOID_MAX || monoid == IR_MONOID_MIN;
    return keeps ? dtype : ir_monoid_state(monoid, dtype);
}
