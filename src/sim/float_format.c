/* The table of float types, and the size of one rounding.
 *
 *     f16 at 1.5      half an ulp 2^-11      bits behind the point: 10, and one for the half
 *     f16 at 2^-20    half an ulp 2^-25      subnormals stand as far apart as the least normals
 *
 * The limits are written down, not computed.
 */
#include "sim/float_format.h"

#include <math.h>

static double round_to_f32(double value) {
    return (double)(float)value;
}
static double round_to_f16(double value) {
    return base_f16_to_double(base_f16_from_double(value));
}
static double round_to_bf16(double value) {
    return base_bf16_to_double(base_bf16_from_double(value));
}
static double round_to_f64(double value) {
    return value;
}

static const sim_float_format formats[BASE_DTYPE_COUNT] = {
    [BASE_F32] = {0x1p-24, 0x1p-149, 0x1.ffffffp127, round_to_f32, 23, -126},
    [BASE_F16] = {0x1p-11, 0x1p-24, 65520.0, round_to_f16, 10, -14},
    [BASE_BF16] = {0x1p-8, 0x1p-133, 0x1.ffp127, round_to_bf16, 7, -126},
    [BASE_F64] = {0x1p-53, 0x1p-1074, (double)INFINITY, round_to_f64, 52, -1022},
};

const sim_float_format *sim_float_format_of(base_dtype dtype) {
    return formats[dtype].round != NULL ? &formats[dtype] : NULL;
}

double sim_half_ulp(const sim_float_format *format, double value) {
    int exponent = value == 0.0 ? format->least_exponent : ilogb(value);
    if (exponent < format->least_exponent)
        exponent = format->least_exponent;
    return ldexp(1.0, exponent - format->mantissa_bits - 1);
}
