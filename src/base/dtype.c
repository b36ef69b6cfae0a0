/* Element types: the table's accessors, and the 16-bit floats.
 *
 * Both formats are sign | exponent | mantissa with 1 + e + m = 16 bits (f16: 5 + 10, bf16: 8 + 7),
 * so one pair of functions on the bits of a double serves both, without the floating environment.
 *
 *     0x3c00 (f16) = +2^(15-15) * 1.0      0x0001 (f16) = 2^-24, the smallest subnormal
 */
#include "base/dtype.h"

#include <string.h>

static const struct {
    const char *name;
    int8_t size_bytes;
    base_dtype_kind kind;
    int64_t least, greatest;
} dtype_rows[BASE_DTYPE_COUNT] = {
#define X(id, name, bytes, kind, least, greatest) {name, bytes, BASE_KIND_##kind, least, greatest},
    BASE_DTYPES(X)
#undef X
};

typedef struct small_float {
    int exponent_bits;
    int mantissa_bits;
} small_float;

static const small_float format_f16 = {5, 10};
static const small_float format_bf16 = {8, 7};

enum { DOUBLE_MANTISSA = 52, DOUBLE_BIAS = 1023 };

static const uint64_t double_infinity = UINT64_C(0x7ff) << DOUBLE_MANTISSA;
static const uint64_t double_quiet = UINT64_C(1) << (DOUBLE_MANTISSA - 1);

static double double_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double small_float_widen(small_float format, uint16_t bits) {
    uint64_t sign = (uint64_t)(bits >> 15) << 63;
    int64_t exponent_limit = (1 << format.exponent_bits) - 1;
    int64_t exponent = (bits >> format.mantissa_bits) & exponent_limit;
    uint64_t mantissa = bits & ((1u << format.mantissa_bits) - 1u);
    int bias = (1 << (format.exponent_bits - 1)) - 1;
    uint64_t fraction = mantissa << (DOUBLE_MANTISSA - format.mantissa_bits);
    if (exponent == exponent_limit) {
        if (mantissa != 0)
            fraction |= double_quiet;
        return double_from_bits(sign | double_infinity | fraction);
    }
    if (exponent == 0) {
        int scale = DOUBLE_BIAS + 1 - bias - format.mantissa_bits;
        double magnitude = (double)mantissa * double_from_bits((uint64_t)scale << DOUBLE_MANTISSA);
        return sign != 0 ? -magnitude : magnitude;
    }
    uint64_t widened = (uint64_t)(exponent - bias + DOUBLE_BIAS);
    return double_from_bits(sign | widened << DOUBLE_MANTISSA | fraction);
}

/* value / 2^shift to nearest even. */
static uint64_t shift_to_nearest_even(uint64_t value, int shift) {
    uint64_t half = UINT64_C(1) << (shift - 1);
    uint64_t rest = value & (half * 2 - 1);
    uint64_t quotient = value >> shift;
    return quotient + (rest > half || (rest == half && (quotient & 1) != 0));
}

static uint16_t small_float_narrow(small_float format, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint64_t sign = bits >> 63 << 15;
    uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
    int shift = DOUBLE_MANTISSA - format.mantissa_bits;
    int64_t exponent_limit = (1 << format.exponent_bits) - 1;
    uint64_t infinity = (uint64_t)exponent_limit << format.mantissa_bits;
    if (magnitude > double_infinity) {
        uint64_t payload =
            ((magnitude | double_quiet) >> shift) & ((UINT64_C(1) << format.mantissa_bits) - 1);
        return (uint16_t)(sign | infinity | payload);
    }
    int64_t bias = (1 << (format.exponent_bits - 1)) - 1;
    int64_t exponent = (int64_t)(magnitude >> DOUBLE_MANTISSA) - DOUBLE_BIAS + bias;
    uint64_t fraction = magnitude & ((UINT64_C(1) << DOUBLE_MANTISSA) - 1);
    if (exponent >= exponent_limit)
        return (uint16_t)(sign | infinity);
    if (exponent > 0) /* a carry out of the mantissa enters the exponent, up to inf */
        return (uint16_t)(sign | shift_to_nearest_even(
                                     (uint64_t)exponent << DOUBLE_MANTISSA | fraction, shift));
    int64_t subnormal_shift = shift + 1 - exponent;
    if (subnormal_shift > DOUBLE_MANTISSA + 1) /* under half the smallest subnormal */
        return (uint16_t)sign;
    uint64_t significand = UINT64_C(1) << DOUBLE_MANTISSA | fraction;
    return (uint16_t)(sign | shift_to_nearest_even(significand, (int)subnormal_shift));
}

const char *base_dtype_name(base_dtype dtype) {
    return dtype_rows[dtype].name;
}

int64_t base_dtype_size(base_dtype dtype) {
    return dtype_rows[dtype].size_bytes;
}

base_dtype_kind base_dtype_kind_of(base_dtype dtype) {
    return dtype_rows[dtype].kind;
}

bool base_dtype_is_float(base_dtype dtype) {
    return dtype_rows[dtype].kind == BASE_KIND_FLOAT;
}

bool base_dtype_is_integer(base_dtype dtype) {
    return dtype_rows[dtype].kind == BASE_KIND_SIGNED ||
           dtype_rows[dtype].kind == BASE_KIND_UNSIGNED;
}

int64_t base_dtype_least(base_dtype dtype) {
    return dtype_rows[dtype].least;
}

int64_t base_dtype_greatest(base_dtype dtype) {
    return dtype_rows[dtype].greatest;
}

bool base_dtype_holds(base_dtype dtype, int64_t value) {
    return !base_dtype_is_float(dtype) && value >= dtype_rows[dtype].least &&
           value <= dtype_rows[dtype].greatest;
}

bool base_dtype_from_name(const char *name, size_t length, base_dtype *dtype) {
    for (int i = 0; i < BASE_DTYPE_COUNT; i++) {
        if (strlen(dtype_rows[i].name) == length && memcmp(dtype_rows[i].name, name, length) == 0) {
            *dtype = (base_dtype)i;
            return true;
        }
    }
    return false;
}

double base_f16_to_double(uint16_t bits) {
    return small_float_widen(format_f16, bits);
}

double base_bf16_to_double(uint16_t bits) {
    return small_float_widen(format_bf16, bits);
}

uint16_t base_f16_from_double(double value) {
    return small_float_narrow(format_f16, value);
}

uint16_t base_bf16_from_double(double value) {
    return small_float_narrow(format_bf16, value);
}

double base_float_round(base_dtype dtype, double value) {
    switch (dtype) {
    case BASE_F16:
        return base_f16_to_double(base_f16_from_double(value));
    case BASE_BF16:
        return base_bf16_to_double(base_bf16_from_double(value));
    case BASE_F32:
        return (double)(float)value;
    case BASE_F64:
    case BASE_I64:
    case BASE_I32:
    case BASE_U32:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
    case BASE_INDEX:
        break;
    }
    return value;
}
