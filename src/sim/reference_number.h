/* Numbers with a first-order error: the arithmetic of the FP64 reference on single elements.
 *
 * A number stands for everything within `error` of `value`. Three cases:
 *
 *     error 0            exact: every implementation has this very number (inf and NaN included)
 *     0 < error < inf    a finite value that an implementation may miss by so much
 *     error not finite   loose: nothing is known; it spreads to all that is computed from it
 *
 * A value that is inf or NaN is therefore either certain (error 0) or loose.
 *
 *     sub({3, e1}, {3, e2})  =  {0, e1 + e2 + tiny}
 *     div({1, 0}, {0, 0})    =  {inf, 0}         div({1, 0}, {0, e})  =  {inf, loose}
 *
 * The propagated part is exact where a first-order term would be wrong by more than a constant
 * (products keep E(a) E(b); quotients, logarithms and roots use the interval's end): rows whose
 * elements are all equal live from those terms. Integers carry the same error: how far off they may
 * be after a rounding or a choice that lay at its edge.
 */
#ifndef SIM_REFERENCE_NUMBER_H
#define SIM_REFERENCE_NUMBER_H

#include "ir/module.h"
#include "sim/float_format.h"

#include <math.h>

typedef struct sim_number {
    double value, error;
} sim_number;

typedef struct sim_integer {
    int64_t value;
    double error;
} sim_integer;

static inline bool sim_is_loose(double error) {
    return !(error < (double)INFINITY);
}

/* NaN whatever the implementation. */
static inline bool sim_is_certain_nan(sim_number a) {
    return isnan(a.value) && !sim_is_loose(a.error);
}

/* Puts a result in the range of its type. `inherited`: how far the number that is rounded last may
 * be from `value`; `rounding`: the error of that rounding. Where both sides of the overflow
 * threshold are within reach the result is loose. */
sim_number sim_number_settle(const sim_float_format *format, double value, double inherited,
                             double rounding);

typedef sim_number sim_unary_function(const sim_float_format *format, sim_number a);
typedef sim_number sim_binary_function(const sim_float_format *format, sim_number a, sim_number b);

/* NULL for ops that are not of that kind. */
sim_unary_function *sim_number_unary(ir_opcode opcode);
sim_binary_function *sim_number_binary(ir_opcode opcode);
sim_number sim_number_fma(const sim_float_format *format, sim_number a, sim_number b, sim_number c);
/* exp, tanh, ...: with the accuracy of ir/math.def, of which `opcode` is a row; `native`: with that
 * of ir/native.def instead. */
sim_number sim_number_math(const sim_float_format *format, ir_opcode opcode,
                           const ir_native *native, sim_number a);
/* A quotient by way of a reciprocal: 1.5 units of the last place. */
sim_number sim_number_quotient(const sim_float_format *format, sim_number a, sim_number b);

/* To the narrower float type: one rounding, none for a number that the type holds. */
sim_number sim_number_narrow(const sim_float_format *format, sim_number a);

/* a < b and so on: 0 or 1, error 1 where either may be. */
sim_integer sim_number_compare(ir_opcode opcode, sim_number a, sim_number b);

/* Either of two numbers may be taken, `taken` is. */
sim_number sim_number_either(sim_number taken, sim_number other);
sim_integer sim_integer_either(sim_integer taken, sim_integer other);

/* ---- integers ---- */
sim_integer sim_integer_unary(ir_opcode opcode, base_dtype dtype, sim_integer a);
sim_integer sim_integer_binary(ir_opcode opcode, base_dtype dtype, sim_integer a, sim_integer b);
sim_integer sim_integer_compare(ir_opcode opcode, sim_integer a, sim_integer b);
/* An error that could reach past an end of the type would wrap: then nothing is known. */
sim_integer sim_integer_settle(base_dtype dtype, int64_t value, double error);

/* ---- casts ---- */
sim_integer sim_cast_to_integer(sim_number a, base_dtype to, ir_rounding rounding);
sim_number sim_cast_to_float(sim_integer a, base_dtype to);
sim_integer sim_cast_integer(sim_integer a, base_dtype to, ir_rounding rounding);

#endif
