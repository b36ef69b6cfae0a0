/* The limits of the float types, as the FP64 reference and the comparison need them.
 *
 *     f32   unit 2^-24   tiny 2^-149   overflow 2^128 - 2^103 (from there a number rounds to inf)
 *
 * A number is rounded to a type only through `round`; nothing here knows of errors or tiles.
 */
#ifndef SIM_FLOAT_FORMAT_H
#define SIM_FLOAT_FORMAT_H

#include "base/dtype.h"

typedef struct sim_float_format {
    double unit;             /* unit roundoff: half the distance from 1 to the next number */
    double tiny;             /* the least subnormal */
    double overflow;         /* the least magnitude that rounds to inf; f64: inf */
    double (*round)(double); /* to the nearest number of the type, ties to even */
    int mantissa_bits;       /* without the leading one */
    int least_exponent;      /* of a normal number 1.f * 2^e */
} sim_float_format;

/* NULL for types that are no floats. */
const sim_float_format *sim_float_format_of(base_dtype dtype);

/* Half the distance between neighbours at |value| (finite): the largest error of one rounding. */
double sim_half_ulp(const sim_float_format *format, double value);

#endif
