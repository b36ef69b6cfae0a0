/* The cpu target's arithmetic: every op on every type, in vectors and as scalars, against formulas
 * written here from the op table. */
#include "emit_fixture.h"

/* Element k of an op's operands and result, in 64 bits (floats as their bits). */
typedef uint64_t bits;

typedef struct op_case {
    ir_opcode opcode;
    base_dtype dtype;
    bits (*formula)(bits a, bits b, bits c);
} op_case;

static float f32_of(bits a) {
    uint32_t low = (uint32_t)a;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static bits of_f32(float a) {
    uint32_t low;
    memcpy(&low, &a, sizeof low);
    return low;
}

/* ---- formulas ---- */
#define F(name, expression)                                                                        \
    static bits f_##name(bits x, bits y, bits z) {                                                 \
        float a = f32_of(x), b = f32_of(y), c = f32_of(z);                                         \
        (void)a, (void)b, (void)c;                                                                 \
        return expression;                                                                         \
    }
F(add, of_f32(a + b))
F(sub, of_f32(a - b))
F(mul, of_f32(a *b))
F(div, of_f32(a / b))
F(neg, x ^ 0x80000000u)
F(abs, x & 0x7fffffffu)
F(sqrt, of_f32(sqrtf(a)))
F(fma, of_f32(fmaf(a, b, c)))
F(maximum, a > b || a != a ? x : y)
F(minimum, a < b || a != a ? x : y)
F(maxnum, a > b || b != b ? x : y)
F(minnum, a < b || b != b ? x : y)
F(lt, a < b)
F(le, a <= b)
F(eq, a == b)
F(ne, a != b)

/* Integers: T the type, U its unsigned twin, W its width. */
#define INTEGERS(T, U, W)                                                                          \
    static bits T##_floordiv(bits x, bits y, bits z) {                                             \
        T a = (T)x, b = (T)y;                                                                      \
        (void)z;                                                                                   \
        if (b == 0)                                                                                \
            return 0;                                                                              \
        if ((T)-1 < 0 && b == (T)-1)                                                               \
            return (U)(0 - (U)a);                                                                  \
        return (U)(a / b - (a % b != 0 && (a < 0) != (b < 0)));                                    \
    }                                                                                              \
    static bits T##_floormod(bits x, bits y, bits z) {                                             \
        return (U)((U)x - (U)(T##_floordiv(x, y, z) * y)) * (uint64_t)((T)y != 0);                 \
    }                                                                                              \
    static bits T##_shr(bits x, bits y, bits z) {                                                  \
        (void)z;                                                                                   \
        T a = (T)x;                                                                                \
        for (unsigned i = 0; i < (unsigned)((U)y % W); i++)                                        \
            a = (T)((a - (a & 1)) / 2);                                                            \
        return (U)a;                                                                               \
    }                                                                                              \
    I(T, U, add, (U)x + (U)y)                                                                      \
    I(T, U, sub, (U)x - (U)y)                                                                      \
    I(T, U, mul, (U)x *(U)y)                                                                       \
    I(T, U, neg, 0 - (U)x)                                                                         \
    I(T, U, abs, (T)x < 0 ? 0 - (U)x : (U)x)                                                       \
    I(T, U, maximum, (T)x > (T)y ? (U)x : (U)y)                                                    \
    I(T, U, minimum, (T)x < (T)y ? (U)x : (U)y)                                                    \
    I(T, U, lt, (T)x < (T)y)                                                                       \
    I(T, U, le, (T)x <= (T)y)                                                                      \
    I(T, U, eq, (U)x == (U)y)                                                                      \
    I(T, U, ne, (U)x != (U)y)                                                                      \
    I(T, U, and, (U)x &(U)y)                                                                       \
    I(T, U, or, (U)x | (U)y)                                                                       \
    I(T, U, xor, (U)x ^ (U)y)                                                                      \
    I(T, U, not, ~(U)x)                                                                            \
    I(T, U, shl, (U)x << ((U)y % W))
#define I(T, U, name, expression)                                                                  \
    static bits T##_##name(bits x, bits y, bits z) {                                               \
        (void)x, (void)y, (void)z;                                                                 \
        return (U)(expression);                                                                    \
    }
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif
INTEGERS(int32_t, uint32_t, 32)
INTEGERS(uint32_t, uint32_t, 32)
INTEGERS(int64_t, uint64_t, 64)

#define INTEGER_CASES(D, T)                                                                        \
    {IR_ADD, D, T##_add}, {IR_SUB, D, T##_sub}, {IR_MUL, D, T##_mul}, {IR_NEG, D, T##_neg},        \
        {IR_ABS, D, T##_abs}, {IR_MAXIMUM, D, T##_maximum}, {IR_MINIMUM, D, T##_minimum},          \
        {IR_LT, D, T##_lt}, {IR_LE, D, T##_le}, {IR_EQ, D, T##_eq}, {IR_NE, D, T##_ne},            \
        {IR_AND, D, T##_and}, {IR_OR, D, T##_or}, {IR_XOR, D, T##_xor}, {IR_NOT, D, T##_not},      \
        {IR_SHL, D, T##_shl}, {IR_SHR, D, T##_shr}, {IR_FLOOR_DIV, D, T##_floordiv}, {             \
        IR_FLOOR_MOD, D, T##_floormod                                                              \
    }

static const op_case cases_f32[] = {
    {IR_ADD, BASE_F32, f_add},         {IR_SUB, BASE_F32, f_sub},
    {IR_MUL, BASE_F32, f_mul},         {IR_DIV, BASE_F32, f_div},
    {IR_NEG, BASE_F32, f_neg},         {IR_ABS, BASE_F32, f_abs},
    {IR_SQRT, BASE_F32, f_sqrt},       {IR_FMA, BASE_F32, f_fma},
    {IR_MAXIMUM, BASE_F32, f_maximum}, {IR_MINIMUM, BASE_F32, f_minimum},
    {IR_MAXNUM, BASE_F32, f_maxnum},   {IR_MINNUM, BASE_F32, f_minnum},
    {IR_LT, BASE_F32, f_lt},           {IR_LE, BASE_F32, f_le},
    {IR_EQ, BASE_F32, f_eq},           {IR_NE, BASE_F32, f_ne},
};
static const op_case cases_i32[] = {INTEGER_CASES(BASE_I32, int32_t)};
static const op_case cases_u32[] = {INTEGER_CASES(BASE_U32, uint32_t)};
static const op_case cases_i64[] = {INTEGER_CASES(BASE_I64, int64_t)};

/* ---- inputs: every pair of these ---- */
static const double real_edges[] = {0.0,       -0.0,           1.0,   -1.0, 1.5, -2.5,  0x1p-149,
                                    -0x1p-126, 0x1.fffffep127, -1e30, 3.0,  0.1, 1e-20, 8388609.0,
                                    INFINITY,  -INFINITY,      NAN,   7.0};
static const int64_t integer_edges[] = {
    0,  1,   -1,   2,         -2,        7,         -7,        8,          31,         32, 33,
    64, 100, -100, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, UINT32_MAX, 0x12345678, 63};
enum { EDGES = 21, PAIRS = 512 };

static bits edge_bits(base_dtype dtype, int i) {
    if (dtype == BASE_F32)
        return of_f32((float)real_edges[i % 18]);
    return (bits)integer_edges[i % EDGES];
}

typedef struct arrays {
    const op_case *cases;
    int count;
    int lanes;
    bool vector;
    bits input[3][PAIRS];
    uint64_t memory[3][PAIRS];
    uint64_t out[32][PAIRS];
} arrays;

static void fill_inputs(arrays *a, base_dtype dtype) {
    size_t size = (size_t)base_dtype_size(dtype);
    for (int k = 0; k < PAIRS; k++) {
        bits values[3] = {edge_bits(dtype, k % EDGES), edge_bits(dtype, k / EDGES),
                          edge_bits(dtype, k * 7 / 3)};
        for (int i = 0; i < 3; i++) {
            a->input[i][k] = size == 4 ? (uint32_t)values[i] : values[i];
            memcpy((char *)a->memory[i] + (size_t)k * size, &values[i], size);
        }
    }
}

/* A NaN of another payload is the same result. */
static bool same_bits(const op_case *c, bits got, bits expected) {
    bool compares = ir_op_describe(c->opcode)->shape == IR_SHAPE_COMPARE;
    if (c->dtype == BASE_F32 && !compares && isnan(f32_of(expected)))
        return isnan(f32_of(got));
    return got == expected;
}

static void check_ops(void *state, const emitted *kernel) {
    arrays *a = state;
    void *pointers[4] = {a->memory[0], a->memory[1], a->memory[2], a->out};
    int64_t words[5 + 5] = {PAIRS, PAIRS, PAIRS, 32, PAIRS, 1, 1, 1, PAIRS, 1};
    memset(a->out, 0xff, sizeof a->out);
    int chunk = a->vector ? 2 * a->lanes : 1;
    kernel->entry(pointers, words, 0, PAIRS / chunk, NULL);
    for (int i = 0; i < a->count; i++) {
        const op_case *c = &a->cases[i];
        size_t size = (size_t)base_dtype_size(c->dtype);
        for (int k = 0; k < PAIRS; k++) {
            bits got = 0;
            memcpy(&got, (char *)a->out + ((size_t)i * PAIRS + (size_t)k) * size, size);
            bits expected = c->formula(a->input[0][k], a->input[1][k], a->input[2][k]);
            if (!same_bits(c, got, expected))
                fail_msg("%s %s of %llx, %llx, %llx: %llx, not %llx (%d lanes, %s)",
                         ir_op_describe(c->opcode)->text, base_dtype_name(c->dtype),
                         (unsigned long long)a->input[0][k], (unsigned long long)a->input[1][k],
                         (unsigned long long)a->input[2][k], (unsigned long long)got,
                         (unsigned long long)expected, a->lanes, a->vector ? "slots" : "uniform");
        }
    }
}

static ir_value *apply(ir_builder *b, const op_case *c, ir_value *const x[3]) {
    ir_op_shape shape = ir_op_describe(c->opcode)->shape;
    if (c->opcode == IR_FMA)
        return ir_build_fma(b, x[0], x[1], x[2]);
    ir_value *result = shape == IR_SHAPE_UNARY ? ir_build_unary(b, c->opcode, x[0])
                                               : ir_build_binary(b, c->opcode, x[0], x[1]);
    return result;
}

/* One kernel with a row of the output per op; comparisons store 0 or 1 in the operands' type. */
static void check_cases(const op_case *cases, int count, int lanes, bool vector) {
    emit_fixture f;
    emit_fixture_begin(&f, "ops", lanes);
    f.traps = lanes == 8;
    base_dtype dtype = cases[0].dtype;
    ir_value *inputs[3], *x[3];
    static const char *const names[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++)
        inputs[i] = emit_fixture_tensor(&f, names[i], dtype, IR_IN, 1);
    ir_value *out = emit_fixture_tensor(&f, "out", dtype, IR_OUT, 2);
    ir_value *group = emit_fixture_group(&f);
    for (int i = 0; i < 3; i++) {
        ir_access *access = emit_fixture_access(&f, 1);
        access->index[0].operand = 1;
        x[i] = vector ? emit_fixture_load_chunk(&f, inputs[i], 2)
                      : emit_fixture_load(&f, inputs[i], access, 1, &group, ir_type_uniform(dtype))
                            ->results[0];
    }
    for (int i = 0; i < count; i++) {
        ir_value *y = apply(&f.builder, &cases[i], x);
        if (y->type.dtype == BASE_BOOL && dtype == BASE_F32)
            y = ir_build_bitcast(&f.builder, ir_build_cast(&f.builder, y, BASE_I32, IR_ROUND_ZERO),
                                 BASE_F32);
        else if (y->type.dtype == BASE_BOOL)
            y = ir_build_cast(&f.builder, y, dtype, IR_ROUND_ZERO);
        if (vector) {
            emit_fixture_store_chunk(&f, out, i, 2, y);
            continue;
        }
        ir_access *access = emit_fixture_access(&f, 2);
        access->index[0].operand = 1;
        access->index[1].operand = 2;
        emit_fixture_store(&f, out, access, 2, (ir_value *[]){emit_fixture_integer(&f, i), group},
                           y);
    }
    arrays *a = calloc(1, sizeof *a);
    assert_non_null(a);
    a->cases = cases;
    a->count = count;
    a->lanes = lanes;
    a->vector = vector;
    fill_inputs(a, dtype);
    emit_fixture_each(&f, check_ops, a);
    free(a);
    emit_fixture_end(&f);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof(*(array))))

static void check_at(int lanes, bool vector) {
    check_cases(cases_f32, COUNT(cases_f32), lanes, vector);
    check_cases(cases_i32, COUNT(cases_i32), lanes, vector);
    check_cases(cases_u32, COUNT(cases_u32), lanes, vector);
    check_cases(cases_i64, COUNT(cases_i64), lanes, vector);
}

static void eight_lanes(void **state) {
    (void)state;
    check_at(8, true);
}

static void four_lanes(void **state) {
    (void)state;
    check_at(4, true);
}

static void sixteen_lanes(void **state) {
    (void)state;
    check_at(16, true);
}

static void one_lane(void **state) {
    (void)state;
    check_at(1, true);
}

static void uniforms(void **state) {
    (void)state;
    check_at(8, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eight_lanes),   cmocka_unit_test(four_lanes),
        cmocka_unit_test(sixteen_lanes), cmocka_unit_test(one_lane),
        cmocka_unit_test(uniforms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
