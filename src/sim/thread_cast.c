/* Casts of the simulator, by way of 64-bit integers or f32.
 *
 *     f16 -> i8 even    f16 -> f32, to the nearest whole number, into [-128, 127]
 *     i64 -> bf16       one rounding, whatever the size of the number
 *
 * A row of threads is widened to one of two types and narrowed from it. What rounds and what wraps
 * is said at `cast` in ir/ops.def.
 */
#include "sim/thread_internal.h"

#include <math.h>
#include <string.h>

#define WIDEN(T, to, from, count)                                                                  \
    do {                                                                                           \
        const T *elements = (from);                                                                \
        for (int64_t i = 0; i < (count); i++)                                                      \
            (to)[i] = elements[i];                                                                 \
    } while (0)

static void widen_integers(base_dtype dtype, int64_t count, int64_t *to, const void *from) {
    switch (dtype) {
    case BASE_I64:
    case BASE_INDEX:
        WIDEN(int64_t, to, from, count);
        return;
    case BASE_I32:
        WIDEN(int32_t, to, from, count);
        return;
    case BASE_U32:
        WIDEN(uint32_t, to, from, count);
        return;
    case BASE_I8:
        WIDEN(int8_t, to, from, count);
        return;
    case BASE_U8:
    case BASE_BOOL:
        WIDEN(uint8_t, to, from, count);
        return;
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        return;
    }
}

static void widen_floats(base_dtype dtype, int64_t count, float *to, const void *from) {
    const uint16_t *bits = from;
    if (dtype == BASE_F32)
        memcpy(to, from, (size_t)count * sizeof *to);
    else
        for (int64_t i = 0; i < count; i++)
            to[i] = (float)(dtype == BASE_F16 ? base_f16_to_double(bits[i])
                                              : base_bf16_to_double(bits[i]));
}

#define NARROW(T, U, to, from, count)                                                              \
    do {                                                                                           \
        T *elements = (to);                                                                        \
        for (int64_t i = 0; i < (count); i++)                                                      \
            elements[i] = (T)(U)(uint64_t)(from)[i];                                               \
    } while (0)

static void narrow_integers(base_dtype dtype, int64_t count, void *to, const int64_t *from) {
    switch (dtype) {
    case BASE_I64:
    case BASE_INDEX:
        NARROW(int64_t, uint64_t, to, from, count);
        return;
    case BASE_I32:
        NARROW(int32_t, uint32_t, to, from, count);
        return;
    case BASE_U32:
        NARROW(uint32_t, uint32_t, to, from, count);
        return;
    case BASE_I8:
        NARROW(int8_t, uint8_t, to, from, count);
        return;
    case BASE_U8:
    case BASE_BOOL:
        NARROW(uint8_t, uint8_t, to, from, count);
        return;
    case BASE_F32:
    case BASE_F16:
    case BASE_BF16:
    case BASE_F64:
        return;
    }
}

/* Of an integer with one rounding: bits below the 53 of a double become one sticky bit. */
static uint16_t bf16_from_integer(int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int shift = 0;
    for (; magnitude >> 53 != 0; shift++)
        magnitude = magnitude >> 1 | (magnitude & 1);
    double exact = ldexp((double)magnitude, shift);
    return base_bf16_from_double(value < 0 ? -exact : exact);
}

/* ---- rows ---- */

static void clamp_integers(base_dtype to, int64_t count, int64_t *values) {
    int64_t least = base_dtype_least(to), greatest = base_dtype_greatest(to);
    for (int64_t i = 0; i < count; i++)
        values[i] = values[i] < least ? least : values[i] > greatest ? greatest : values[i];
}

static void row_from_integers(base_dtype to, int64_t count, void *result, int64_t *values) {
    if (to == BASE_F32)
        for (int64_t i = 0; i < count; i++)
            ((float *)result)[i] = (float)values[i];
    else if (to == BASE_F16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[i] = base_f16_from_double((double)(float)values[i]);
    else if (to == BASE_BF16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[i] = bf16_from_integer(values[i]);
    else if (to == BASE_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)result)[i] = values[i] != 0;
    else
        narrow_integers(to, count, result, values);
}

static float round_even(float value) {
    float magnitude = fabsf(value);
    return magnitude < 0x1p23f ? copysignf((magnitude + 0x1p23f) - 0x1p23f, value) : value;
}

static int64_t saturated(base_dtype to, float value) {
    int64_t least = base_dtype_least(to), greatest = base_dtype_greatest(to);
    if (value != value)
        return 0;
    if (value >= 0x1p63f)
        return greatest;
    if (value < -0x1p63f)
        return least;
    int64_t whole = (int64_t)value;
    return whole < least ? least : whole > greatest ? greatest : whole;
}

static void row_from_floats(base_dtype to, ir_rounding rounding, int64_t count, void *result,
                            const float *values, int64_t *integers) {
    if (to == BASE_F32)
        memcpy(result, values, (size_t)count * sizeof *values);
    else if (to == BASE_F16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[i] = base_f16_from_double((double)values[i]);
    else if (to == BASE_BF16)
        for (int64_t i = 0; i < count; i++)
            ((uint16_t *)result)[i] = base_bf16_from_double((double)values[i]);
    else if (to == BASE_BOOL)
        for (int64_t i = 0; i < count; i++)
            ((uint8_t *)result)[i] = values[i] != 0;
    else {
        for (int64_t i = 0; i < count; i++)
            integers[i] =
                saturated(to, rounding == IR_ROUND_EVEN ? round_even(values[i]) : values[i]);
        narrow_integers(to, count, result, integers);
    }
}

static void cast_row(sim_team *team, const ir_op *op, int64_t count, void *result,
                     const void *operand) {
    base_dtype to = op->results[0]->type.dtype, from = op->operands[0]->type.dtype;
    if (to == from) {
        memcpy(result, operand, (size_t)(count * base_dtype_size(to)));
        return;
    }
    int64_t *integers = team->room[2];
    if (base_dtype_is_float(from)) {
        widen_floats(from, count, team->room[1], operand);
        row_from_floats(to, op->attributes.rounding, count, result, team->room[1], integers);
        return;
    }
    widen_integers(from, count, integers, operand);
    bool narrower = base_dtype_size(to) < base_dtype_size(from);
    bool clamps = op->attributes.rounding == IR_ROUND_EVEN && narrower && to != BASE_BOOL;
    if (clamps && !base_dtype_is_float(to))
        clamp_integers(to, count, integers);
    row_from_integers(to, count, result, integers);
}

void sim_do_cast(sim_team *team, const ir_op *op) {
    bool wide = sim_lanes_of(team, op->operands[0])->wide;
    sim_lanes *to = sim_lanes_begin(team, op->results[0], wide);
    if (!wide) {
        cast_row(team, op, 1, to->data, sim_lanes_of(team, op->operands[0])->data);
        return;
    }
    int64_t step = team->threads * base_dtype_size(op->results[0]->type.dtype);
    for (int s = 0; s < to->slots; s++)
        cast_row(team, op, team->threads, (char *)to->data + s * step,
                 sim_lanes_row(team, op->operands[0], s, 0));
}

/* The same bytes: both types have four. */
void sim_do_bitcast(sim_team *team, const ir_op *op) {
    bool wide = sim_lanes_of(team, op->operands[0])->wide;
    sim_lanes *to = sim_lanes_begin(team, op->results[0], wide);
    int64_t size = base_dtype_size(op->results[0]->type.dtype);
    if (!wide) {
        memcpy(to->data, sim_lanes_of(team, op->operands[0])->data, (size_t)size);
        return;
    }
    for (int s = 0; s < to->slots; s++)
        memcpy((char *)to->data + s * team->threads * size,
               sim_lanes_row(team, op->operands[0], s, 0), (size_t)(team->threads * size));
}
