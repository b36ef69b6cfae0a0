/* The portable forms of the functions: straight lines of basic operations, the same bits on every
 * target. */
#ifndef IR_PORTABLE_MATH_H
#define IR_PORTABLE_MATH_H

#include "ir/builder.h"

/* Emits ops of level thread that compute the function `opcode` (exp, exp2, log, log2, rsqrt, tanh,
 * sigmoid, erf) of x, an f32 value of form UNIFORM or SLOTS, and returns the result, of x's type.
 * NULL, with nothing emitted, for an opcode that is not one of these. The error is within
 * ir/math.def. */
ir_value *ir_portable_math(ir_builder *builder, ir_opcode opcode, ir_value *x);

/* The same of exp, for x that is at most 0 or NaN: results below 2^-126 may be 0. */
ir_value *ir_portable_flushed_exp(ir_builder *builder, ir_value *x);

/* A copy of a thread module in which every native op (ir/native.def) is the portable form of its
 * function; the module itself where it has none. Memory comes from the arena. */
const ir_module *ir_portable_module(base_arena *arena, const ir_module *module);

#endif
