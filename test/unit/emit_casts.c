/* The cpu target's casts: every type to every type, with both roundings, on edges, on ties and on
 * all values of the 16-bit floats. Expected values come from exact arithmetic here. */
#include "emit_fixture.h"

enum { COUNT = 65536, LANES = 8, TYPES = 9 };

static const base_dtype types[TYPES] = {BASE_F32, BASE_F16, BASE_BF16, BASE_I64, BASE_I32,
                                        BASE_U32, BASE_I8,  BASE_U8,   BASE_BOOL};

typedef struct cast_test {
    base_dtype from;
    bool vector;
    _Alignas(8) char input[COUNT * 8];
    char outputs[TYPES][2 * COUNT * 8]; /* rounding zero, then even */
} cast_test;

/* An element: its exact value. */
typedef struct exact {
    bool is_float;
    double real;
    int64_t integer;
} exact;

static exact read_exact(base_dtype dtype, const char *at) {
    exact value = {.is_float = base_dtype_is_float(dtype)};
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)base_dtype_size(dtype));
    float real;
    memcpy(&real, at, sizeof real);
    if (dtype == BASE_F32)
        value.real = (double)real;
    else if (dtype == BASE_F16)
        value.real = base_f16_to_double((uint16_t)bits);
    else if (dtype == BASE_BF16)
        value.real = base_bf16_to_double((uint16_t)bits);
    else if (dtype == BASE_I32)
        value.integer = (int32_t)bits;
    else if (dtype == BASE_I8)
        value.integer = (int8_t)bits;
    else
        value.integer = (int64_t)bits;
    return value;
}

/* The bf16 nearest to an integer, by trying the neighbours of an estimate. */
static uint64_t nearest_bf16(int64_t integer) {
    uint16_t estimate = base_bf16_from_double((double)integer), best = estimate;
    for (int d = -1; d <= 1; d++) {
        uint16_t candidate = (uint16_t)(estimate + d);
        long double error = fabsl((long double)base_bf16_to_double(candidate) - integer);
        long double least = fabsl((long double)base_bf16_to_double(best) - integer);
        if (error < least || (error == least && candidate % 2 == 0))
            best = candidate;
    }
    return best;
}

static const struct {
    int64_t least, greatest;
} ranges[BASE_DTYPE_COUNT] = {
    [BASE_I64] = {INT64_MIN, INT64_MAX}, [BASE_I32] = {INT32_MIN, INT32_MAX},
    [BASE_U32] = {0, UINT32_MAX},        [BASE_I8] = {INT8_MIN, INT8_MAX},
    [BASE_U8] = {0, UINT8_MAX},
};

static int64_t saturate(base_dtype to, int64_t value) {
    if (value < ranges[to].least)
        return ranges[to].least;
    return value > ranges[to].greatest ? ranges[to].greatest : value;
}

static int64_t integer_from_real(base_dtype to, double value, ir_rounding rounding) {
    if (isnan(value))
        return 0;
    double whole = rounding == IR_ROUND_EVEN ? nearbyint(value) : trunc(value);
    if (whole >= 0x1p63)
        return ranges[to].greatest;
    if (whole < -0x1p63)
        return ranges[to].least;
    return saturate(to, (int64_t)whole);
}

static uint64_t expected_bits(base_dtype from, base_dtype to, ir_rounding rounding, exact value) {
    if (to == BASE_BOOL)
        return value.is_float ? value.real != 0 : value.integer != 0;
    if (to == BASE_F32) {
        float real = value.is_float ? (float)value.real : (float)value.integer;
        uint32_t bits;
        memcpy(&bits, &real, sizeof bits);
        return bits;
    }
    if (to == BASE_F16) /* an integer past 2^53 is inf in any case */
        return base_f16_from_double(value.is_float ? value.real : (double)value.integer);
    if (to == BASE_BF16)
        return value.is_float ? base_bf16_from_double(value.real) : nearest_bf16(value.integer);
    if (value.is_float)
        return (uint64_t)integer_from_real(to, value.real, rounding);
    bool narrower = base_dtype_size(to) < base_dtype_size(from);
    if (rounding == IR_ROUND_EVEN && narrower)
        return (uint64_t)saturate(to, value.integer);
    return (uint64_t)value.integer;
}

static bool is_nan(base_dtype dtype, uint64_t bits) {
    exact value = read_exact(dtype, (const char *)&bits);
    return value.is_float && isnan(value.real);
}

static void check_casts(void *state, const emitted *kernel) {
    const cast_test *t = state;
    void *pointers[1 + TYPES] = {(void *)(uintptr_t)t->input};
    int64_t words[64] = {0};
    int64_t word = 1 + 2 * TYPES;
    words[word++] = 1;
    for (int i = 0; i < TYPES; i++) {
        pointers[1 + i] = (void *)(uintptr_t)t->outputs[i];
        words[word++] = COUNT;
        words[word++] = 1;
    }
    kernel->entry(pointers, words, 0, t->vector ? COUNT / (2 * LANES) : COUNT, NULL);
    size_t from_size = (size_t)base_dtype_size(t->from);
    for (int i = 0; i < TYPES; i++) {
        size_t size = (size_t)base_dtype_size(types[i]);
        for (int k = 0; k < 2 * COUNT; k++) {
            ir_rounding rounding = k < COUNT ? IR_ROUND_ZERO : IR_ROUND_EVEN;
            exact value = read_exact(t->from, t->input + (size_t)(k % COUNT) * from_size);
            uint64_t expected = expected_bits(t->from, types[i], rounding, value), got = 0;
            memcpy(&got, t->outputs[i] + (size_t)k * size, size);
            expected &= size == 8 ? UINT64_MAX : (UINT64_C(1) << size * 8) - 1;
            if (got == expected || (is_nan(types[i], expected) && is_nan(types[i], got)))
                continue;
            fail_msg("%s to %s, rounding %d: element %d (%a, %lld) gives %llx, not %llx",
                     base_dtype_name(t->from), base_dtype_name(types[i]), rounding, k % COUNT,
                     value.real, (long long)value.integer, (unsigned long long)got,
                     (unsigned long long)expected);
        }
    }
}

/* Around each power of two and each multiple of a half, from near and far. */
static float real_input(int k) {
    if (k < 4096) /* halves, and their neighbours */
        return nextafterf((float)(k / 3 - 700) / 2, k % 3 == 0 ? -INFINITY : INFINITY);
    if (k < 8192)
        return (float)(k - 6144) / 2;
    if (k < 12288) {
        float power = ldexpf(1.0f, (k - 8192) / 6 % 280 - 150);
        float sign = k % 2 == 0 ? 1 : -1;
        return sign * (k % 3 == 0   ? nextafterf(power, 0)
                       : k % 3 == 1 ? power
                                    : nextafterf(power, INFINITY));
    }
    uint32_t bits = (uint32_t)k * 2654435761u;
    if (k < 40000) { /* middles of f16 and bf16 neighbours, and beside them */
        uint16_t half = (uint16_t)(k * 7);
        double low = base_f16_to_double(half), high = base_f16_to_double((uint16_t)(half + 1));
        float middle = (float)((low + high) / 2);
        return k % 3 == 0 ? middle : nextafterf(middle, k % 3 == 1 ? 0 : INFINITY);
    }
    if (k < 50000)
        bits = (bits & 0xffff0000u) | (0x7fffu + (uint32_t)(k % 3));
    float real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

static int64_t integer_input(int k) {
    if (k < 32768)
        return k - 16384;
    uint64_t bits = (uint64_t)k * UINT64_C(0x9e3779b97f4a7c15);
    if (k < 49152) { /* middles between bf16 neighbours, and beside them */
        int shift = k % 55;
        int64_t value = ((int64_t)((k / 55) % 128 + 128) * 2 + 1) * (INT64_C(1) << shift % 50);
        value += (k >> 6) % 3 - 1;
        return k % 2 == 0 ? value : -value;
    }
    return (int64_t)(bits >> k % 64) * (k % 2 == 0 ? 1 : -1);
}

static void fill_input(cast_test *t) {
    static const float edges[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1.fffffep127f, 65520.0f};
    size_t size = (size_t)base_dtype_size(t->from);
    for (int k = 0; k < COUNT; k++) {
        float real = k < 7 ? edges[k] : real_input(k);
        int64_t integer =
            k < 3 ? (int64_t[]){INT64_MIN, INT64_MAX, INT32_MIN}[k] : integer_input(k);
        uint16_t half = (uint16_t)k;
        uint8_t truth = (uint8_t)(k % 3 == 0);
        const void *bytes = base_dtype_is_float(t->from) ? (const void *)&half : &integer;
        if (t->from == BASE_F32)
            bytes = &real;
        if (t->from == BASE_BOOL)
            bytes = &truth;
        memcpy(t->input + (size_t)k * size, bytes, size);
    }
}

static void check_from(base_dtype from, bool vector, int lanes) {
    cast_test *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->from = from;
    t->vector = vector;
    fill_input(t);
    emit_fixture f;
    emit_fixture_begin(&f, "casts", lanes);
    f.thin = true;
    f.traps = !vector;
    ir_value *input = emit_fixture_tensor(&f, "input", from, IR_IN, 1);
    ir_value *group = emit_fixture_group(&f);
    ir_access *access = emit_fixture_access(&f, 1);
    access->index[0].operand = 1;
    ir_value *x =
        vector ? emit_fixture_load_chunk(&f, input, 2 * LANES / lanes)
               : emit_fixture_load(&f, input, access, 1, &group, ir_type_uniform(from))->results[0];
    for (int i = 0; i < TYPES; i++) {
        ir_value *out = emit_fixture_tensor(&f, base_dtype_name(types[i]), types[i], IR_OUT, 2);
        for (int r = 0; r < 2; r++) {
            ir_value *y =
                ir_build_cast(&f.builder, x, types[i], r == 0 ? IR_ROUND_ZERO : IR_ROUND_EVEN);
            if (vector) {
                emit_fixture_store_chunk(&f, out, r, 2 * LANES / lanes, y);
                continue;
            }
            ir_access *to = emit_fixture_access(&f, 2);
            to->index[0].operand = 1;
            to->index[1].operand = 2;
            emit_fixture_store(&f, out, to, 2, (ir_value *[]){emit_fixture_integer(&f, r), group},
                               y);
        }
    }
    emit_fixture_each(&f, check_casts, t);
    emit_fixture_end(&f);
    free(t);
}

/* Every second one, all of them with CROFT_TEST_LONG set. */
static bool is_taken(int number) {
    return number % 2 == 0 || getenv("CROFT_TEST_LONG") != NULL;
}

static void from_every_type_in_eight_lanes(void **state) {
    (void)state;
    for (int i = 0; i < TYPES; i++)
        if (is_taken(i))
            check_from(types[i], true, 8);
}

static void floats_in_four_and_sixteen_lanes(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        if (is_taken(i))
            check_from(types[i], true, 4);
        if (is_taken(i + 1))
            check_from(types[i], true, 16);
    }
}

static void from_every_type_as_scalars(void **state) {
    (void)state;
    for (int i = 0; i < TYPES; i++)
        if (is_taken(i + 1))
            check_from(types[i], false, 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_every_type_in_eight_lanes),
        cmocka_unit_test(floats_in_four_and_sixteen_lanes),
        cmocka_unit_test(from_every_type_as_scalars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
