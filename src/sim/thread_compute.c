/* Elementwise ops of the simulator: one loop for each op and dtype.
 *
 *     add f32   for (i ..) to[i] = a[i] + b[i]
 *
 * Every loop runs over arrays of elements without a gap; operands that are the same in all threads
 * are spread before. Formulas are those of ir/ops.def: integers wrap, a division by 0 gives 0,
 * shifts count modulo the width, floats are rounded once an op.
 */
#include "sim/thread_internal.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

/* ---- loops ---- */

#define UNARY(name, T, R, expression)                                                              \
    static void name(int64_t count, void *to, const void *pa, const void *pb, const void *pc) {    \
        const T *as = pa;                                                                          \
        R *results = to;                                                                           \
        (void)pb;                                                                                  \
        (void)pc;                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const T a = as[i];                                                                     \
            results[i] = (R)(expression);                                                          \
        }                                                                                          \
    }
#define BINARY(name, T, R, expression)                                                             \
    static void name(int64_t count, void *to, const void *pa, const void *pb, const void *pc) {    \
        const T *as = pa, *bs = pb;                                                                \
        R *results = to;                                                                           \
        (void)pc;                                                                                  \
        for (int64_t i = 0; i < count; i++) {                                                      \
            const T a = as[i], b = bs[i];                                                          \
            results[i] = (R)(expression);                                                          \
        }                                                                                          \
    }
#define SELECT(name, T)                                                                            \
    static void name(int64_t count, void *to, const void *pa, const void *pb, const void *pc) {    \
        const uint8_t *conditions = pa;                                                            \
        const T *bs = pb, *cs = pc;                                                                \
        T *results = to;                                                                           \
        for (int64_t i = 0; i < count; i++)                                                        \
            results[i] = conditions[i] != 0 ? bs[i] : cs[i];                                       \
    }

/* T: the type, U: its unsigned, W: a type that holds the arithmetic of U without promotion to int.
 */
#define INTEGER(T, U, W)                                                                           \
    BINARY(add_##T, T, T, (U)((W)(U)a + (W)(U)b))                                                  \
    BINARY(sub_##T, T, T, (U)((W)(U)a - (W)(U)b))                                                  \
    BINARY(mul_##T, T, T, (U)((W)(U)a * (W)(U)b))                                                  \
    BINARY(floor_div_##T, T, T, (U)(uint64_t)base_floor_div((int64_t)a, (int64_t)b))               \
    BINARY(floor_mod_##T, T, T, (U)(uint64_t)base_floor_mod((int64_t)a, (int64_t)b))               \
    UNARY(neg_##T, T, T, (U)((W)0 - (W)(U)a))                                                      \
    BINARY(maximum_##T, T, T, a > b ? a : b)                                                       \
    BINARY(minimum_##T, T, T, a < b ? a : b)                                                       \
    BINARY(lt_##T, T, uint8_t, a < b)                                                              \
    BINARY(le_##T, T, uint8_t, a <= b)                                                             \
    BINARY(eq_##T, T, uint8_t, a == b)                                                             \
    BINARY(ne_##T, T, uint8_t, a != b)                                                             \
    BINARY(and_##T, T, T, a &b)                                                                    \
    BINARY(or_##T, T, T, a | b)                                                                    \
    BINARY(xor_##T, T, T, a ^ b)                                                                   \
    UNARY(not_##T, T, T, ~a)                                                                       \
    BINARY(shl_##T, T, T, (U)((W)(U)a << ((U)b & (8 * sizeof(T) - 1))))                            \
    BINARY(shr_##T, T, T, a >> ((U)b & (8 * sizeof(T) - 1)))

INTEGER(int64_t, uint64_t, uint64_t)
INTEGER(int32_t, uint32_t, uint32_t)
INTEGER(uint32_t, uint32_t, uint32_t)
INTEGER(int8_t, uint8_t, uint32_t)
INTEGER(uint8_t, uint8_t, uint32_t)

UNARY(abs_int64_t, int64_t, int64_t, a < 0 ? 0 - (uint64_t)a : (uint64_t)a)
UNARY(abs_int32_t, int32_t, int32_t, a < 0 ? 0 - (uint32_t)a : (uint32_t)a)
UNARY(abs_int8_t, int8_t, int8_t, (uint8_t)(a < 0 ? -a : a))
UNARY(abs_uint32_t, uint32_t, uint32_t, a)
UNARY(abs_uint8_t, uint8_t, uint8_t, a)

BINARY(add_float, float, float, a + b)
BINARY(sub_float, float, float, a - b)
BINARY(mul_float, float, float, a *b)
BINARY(div_float, float, float, a / b)
UNARY(neg_float, float, float, -a)
UNARY(abs_float, float, float, fabsf(a))
UNARY(sqrt_float, float, float, sqrtf(a))
BINARY(maximum_float, float, float, a > b || a != a ? a : b)
BINARY(minimum_float, float, float, a < b || a != a ? a : b)
BINARY(maxnum_float, float, float, a > b || b != b ? a : b)
BINARY(minnum_float, float, float, a < b || b != b ? a : b)
BINARY(lt_float, float, uint8_t, a < b)
BINARY(le_float, float, uint8_t, a <= b)
BINARY(eq_float, float, uint8_t, a == b)
BINARY(ne_float, float, uint8_t, a != b)

UNARY(not_bool, uint8_t, uint8_t, a == 0)

SELECT(select_1, uint8_t)
SELECT(select_2, uint16_t)
SELECT(select_4, uint32_t)
SELECT(select_8, uint64_t)

static void fma_float(int64_t count, void *to, const void *pa, const void *pb, const void *pc) {
    const float *as = pa, *bs = pb, *cs = pc;
    float *results = to;
    for (int64_t i = 0; i < count; i++)
        results[i] = fmaf(as[i], bs[i], cs[i]);
}

/* ---- the table ---- */

#define INTEGERS(name)                                                                             \
    {                                                                                              \
        [BASE_I64] = name##_int64_t, [BASE_INDEX] = name##_int64_t, [BASE_I32] = name##_int32_t,   \
        [BASE_U32] = name##_uint32_t, [BASE_I8] = name##_int8_t, [BASE_U8] = name##_uint8_t,       \
    }
#define NUMBERS(name)                                                                              \
    {                                                                                              \
        [BASE_F32] = name##_float, [BASE_I64] = name##_int64_t, [BASE_INDEX] = name##_int64_t,     \
        [BASE_I32] = name##_int32_t, [BASE_U32] = name##_uint32_t, [BASE_I8] = name##_int8_t,      \
        [BASE_U8] = name##_uint8_t,                                                                \
    }
#define NUMBERS_AND_BOOL(name)                                                                     \
    {                                                                                              \
        [BASE_F32] = name##_float, [BASE_I64] = name##_int64_t, [BASE_INDEX] = name##_int64_t,     \
        [BASE_I32] = name##_int32_t, [BASE_U32] = name##_uint32_t, [BASE_I8] = name##_int8_t,      \
        [BASE_U8] = name##_uint8_t, [BASE_BOOL] = name##_uint8_t,                                  \
    }
#define BITS(name)                                                                                 \
    {                                                                                              \
        [BASE_I64] = name##_int64_t, [BASE_INDEX] = name##_int64_t, [BASE_I32] = name##_int32_t,   \
        [BASE_U32] = name##_uint32_t, [BASE_I8] = name##_int8_t, [BASE_U8] = name##_uint8_t,       \
        [BASE_BOOL] = name##_uint8_t,                                                              \
    }

static sim_kernel *const kernels[IR_OPCODE_COUNT][BASE_DTYPE_COUNT] = {
    [IR_ADD] = NUMBERS(add),
    [IR_SUB] = NUMBERS(sub),
    [IR_MUL] = NUMBERS(mul),
    [IR_DIV] = {[BASE_F32] = div_float},
    [IR_FLOOR_DIV] = INTEGERS(floor_div),
    [IR_FLOOR_MOD] = INTEGERS(floor_mod),
    [IR_NEG] = NUMBERS(neg),
    [IR_ABS] = NUMBERS(abs),
    [IR_FMA] = {[BASE_F32] = fma_float},
    [IR_MAXIMUM] = NUMBERS(maximum),
    [IR_MINIMUM] = NUMBERS(minimum),
    [IR_MAXNUM] = {[BASE_F32] = maxnum_float},
    [IR_MINNUM] = {[BASE_F32] = minnum_float},
    [IR_SQRT] = {[BASE_F32] = sqrt_float},
    [IR_LT] = NUMBERS(lt),
    [IR_LE] = NUMBERS(le),
    [IR_EQ] = NUMBERS_AND_BOOL(eq),
    [IR_NE] = NUMBERS_AND_BOOL(ne),
    [IR_SELECT] = {[BASE_F32] = select_4,
                   [BASE_F16] = select_2,
                   [BASE_BF16] = select_2,
                   [BASE_I64] = select_8,
                   [BASE_INDEX] = select_8,
                   [BASE_I32] = select_4,
                   [BASE_U32] = select_4,
                   [BASE_I8] = select_1,
                   [BASE_U8] = select_1,
                   [BASE_BOOL] = select_1},
    [IR_AND] = BITS(and),
    [IR_OR] = BITS(or),
    [IR_XOR] = BITS(xor),
    [IR_NOT] = {[BASE_I64] = not_int64_t,
                [BASE_INDEX] = not_int64_t,
                [BASE_I32] = not_int32_t,
                [BASE_U32] = not_uint32_t,
                [BASE_I8] = not_int8_t,
                [BASE_U8] = not_uint8_t,
                [BASE_BOOL] = not_bool},
    [IR_SHL] = INTEGERS(shl),
    [IR_SHR] = INTEGERS(shr),
};

sim_kernel *sim_kernel_of(ir_opcode opcode, base_dtype dtype) {
    return kernels[opcode][dtype];
}

/* ---- running ---- */

void sim_do_compute(sim_team *team, const ir_op *op) {
    const ir_value *result = op->results[0];
    const ir_value *last = op->operands[op->operand_count - 1];
    sim_kernel *kernel = kernels[op->opcode][last->type.dtype];
    bool wide = false, gapless = true;
    for (int i = 0; i < op->operand_count; i++)
        wide |= sim_lanes_of(team, op->operands[i])->wide;
    sim_lanes *to = sim_lanes_begin(team, result, wide);
    for (int i = 0; i < op->operand_count; i++) {
        const sim_lanes *operand = sim_lanes_of(team, op->operands[i]);
        gapless &= operand->wide && operand->slots == to->slots;
    }
    const void *rows[3] = {NULL, NULL, NULL};
    if (!wide || gapless) {
        for (int i = 0; i < op->operand_count; i++)
            rows[i] = sim_lanes_of(team, op->operands[i])->data;
        kernel(wide ? to->slots * team->threads : 1, to->data, rows[0], rows[1], rows[2]);
        return;
    }
    int64_t step = team->threads * base_dtype_size(result->type.dtype);
    for (int s = 0; s < to->slots; s++) {
        for (int i = 0; i < op->operand_count; i++)
            if (s == 0 || sim_lanes_of(team, op->operands[i])->wide)
                rows[i] = sim_lanes_row(team, op->operands[i], s, i);
        kernel(team->threads, (char *)to->data + s * step, rows[0], rows[1], rows[2]);
    }
}
