/* Element types: names, sizes, and exact conversions of the 16-bit floats.
 *
 * One table row per type; every reader, printer and emitter of a type name uses it.
 *
 *     base_dtype_name(BASE_BF16) == "bf16"      base_dtype_size(BASE_BF16) == 2
 *     base_dtype_greatest(BASE_U8) == 255       base_float_round(BASE_BF16, 257.0) == 256.0
 *     base_f16_from_double(65520.0) == 0x7c00   (half way past the largest finite value: inf)
 *
 * It does not hold the rules of arithmetic (which type an operation computes in): those are ir's.
 */
#ifndef BASE_DTYPE_H
#define BASE_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(ENUM, name, bytes, kind, least integer, greatest integer). `index` is the 64-bit type of sizes
 * and positions and never the type of a tensor; `f64` exists only in reference results. */
#define BASE_DTYPES(X)                                                                             \
    X(F32, "f32", 4, FLOAT, 0, 0)                                                                  \
    X(F16, "f16", 2, FLOAT, 0, 0)                                                                  \
    X(BF16, "bf16", 2, FLOAT, 0, 0)                                                                \
    X(I64, "i64", 8, SIGNED, INT64_MIN, INT64_MAX)                                                 \
    X(I32, "i32", 4, SIGNED, INT32_MIN, INT32_MAX)                                                 \
    X(U32, "u32", 4, UNSIGNED, 0, UINT32_MAX)                                                      \
    X(I8, "i8", 1, SIGNED, INT8_MIN, INT8_MAX)                                                     \
    X(U8, "u8", 1, UNSIGNED, 0, UINT8_MAX)                                                         \
    X(BOOL, "bool", 1, BOOLEAN, 0, 1)                                                              \
    X(INDEX, "index", 8, SIGNED, INT64_MIN, INT64_MAX)                                             \
    X(F64, "f64", 8, FLOAT, 0, 0)

typedef enum base_dtype {
#define X(id, name, bytes, kind, least, greatest) BASE_##id,
    BASE_DTYPES(X)
#undef X
} base_dtype;

#define X(id, name, bytes, kind, least, greatest) +1
enum { BASE_DTYPE_COUNT = 0 BASE_DTYPES(X) };
#undef X

typedef enum base_dtype_kind {
    BASE_KIND_FLOAT,
    BASE_KIND_SIGNED,
    BASE_KIND_UNSIGNED,
    BASE_KIND_BOOLEAN,
} base_dtype_kind;

/* The name in kernels, diagnostics and files. Static string. */
const char *base_dtype_name(base_dtype dtype);

/* Bytes of one element in memory. */
int64_t base_dtype_size(base_dtype dtype);

base_dtype_kind base_dtype_kind_of(base_dtype dtype);
bool base_dtype_is_float(base_dtype dtype);

/* Signed and unsigned integers and index; not bool. */
bool base_dtype_is_integer(base_dtype dtype);

/* The integers that a type holds, ends included; 0 and 1 for bool, 0 and 0 for floats. */
int64_t base_dtype_least(base_dtype dtype);
int64_t base_dtype_greatest(base_dtype dtype);

/* Whether an integer type or bool holds the value; false for floats. */
bool base_dtype_holds(base_dtype dtype, int64_t value);

/* Finds a type by its whole name; false when there is none. */
bool base_dtype_from_name(const char *name, size_t length, base_dtype *dtype);

/* Exact widening. A NaN stays a NaN and becomes quiet; its sign and payload are kept. */
double base_f16_to_double(uint16_t bits);
double base_bf16_to_double(uint16_t bits);

/* One rounding, to nearest even; past the largest finite value inf, subnormals kept, the sign of
 * zero kept, NaN gives a quiet NaN. */
uint16_t base_f16_from_double(double value);
uint16_t base_bf16_from_double(double value);

/* The same for any float type, and the number of that type as a double again. */
double base_float_round(base_dtype dtype, double value);

#endif
