/* The portable functions in emitted C: every compiler and machine that is here gives, in vectors
 * and as scalars, the bits of the op-by-op evaluation. */
#include "emit_fixture.h"
#include "expansion_fixture.h"

enum { SAMPLES = 32 * BLOCK, SAMPLE_STEP = 131101, SLOTS = 2, FUNCTIONS = 8 };

static const ir_opcode functions[FUNCTIONS] = {IR_EXP,   IR_EXP2, IR_LOG,     IR_LOG2,
                                               IR_RSQRT, IR_TANH, IR_SIGMOID, IR_ERF};

typedef struct results {
    int lanes;
    cell argument[SAMPLES];
    cell expected[FUNCTIONS][SAMPLES];
    cell got[FUNCTIONS][SAMPLES];
} results;

/* Every SAMPLE_STEP-th bit pattern, and last the special ones. */
static void fill_arguments(results *r) {
    static const float special[] = {
        0.0f,      -0.0f,      1.0f,      -1.0f,           INFINITY, -INFINITY, NAN,
        0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -100.0f,  -149.5f};
    enum { SPECIAL = sizeof special / sizeof special[0] };
    for (int i = 0; i < SAMPLES; i++)
        r->argument[i].bits = (uint32_t)i * SAMPLE_STEP;
    for (int i = 0; i < SPECIAL; i++)
        r->argument[SAMPLES - 1 - i].real = special[i];
}

static void fill_expected(results *r) {
    for (int f = 0; f < FUNCTIONS; f++) {
        expansion e;
        expansion_open(&e, functions[f], ir_type_uniform(BASE_F32));
        for (int start = 0; start < SAMPLES; start += BLOCK) {
            memcpy(cells_of(&e, e.argument), r->argument + start, BLOCK * sizeof(cell));
            evaluate_block(&e, BLOCK);
            memcpy(r->expected[f] + start, cells_of(&e, e.result), BLOCK * sizeof(cell));
        }
        expansion_close(&e);
    }
}

static void check_bits(void *state, const emitted *kernel) {
    results *r = state;
    void *pointers[2] = {r->argument, r->got};
    int64_t words[3 + 3] = {SAMPLES, FUNCTIONS, SAMPLES, 1, SAMPLES, 1};
    memset(r->got, 0xff, sizeof r->got);
    kernel->entry(pointers, words, 0, SAMPLES / (SLOTS * r->lanes), NULL);
    for (int f = 0; f < FUNCTIONS; f++) {
        for (int i = 0; i < SAMPLES; i++) {
            cell got = r->got[f][i], expected = r->expected[f][i];
            if (got.bits != expected.bits && !(isnan(got.real) && isnan(expected.real)))
                fail_msg("%s(%a), %d lanes: %a, expected %a", ir_op_describe(functions[f])->text,
                         (double)r->argument[i].real, r->lanes, (double)got.real,
                         (double)expected.real);
        }
    }
}

static void emitted_functions_have_the_bits(int lanes) {
    results *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->lanes = lanes;
    fill_arguments(r);
    fill_expected(r);
    emit_fixture f;
    emit_fixture_begin(&f, "functions", lanes);
    ir_value *x = emit_fixture_tensor(&f, "x", BASE_F32, IR_IN, 1);
    ir_value *y = emit_fixture_tensor(&f, "y", BASE_F32, IR_OUT, 2);
    f.module->groups = layout_extent_constant(&f.module->extents, SAMPLES / (SLOTS * lanes));
    ir_value *argument = emit_fixture_load_chunk(&f, x, SLOTS);
    for (int k = 0; k < FUNCTIONS; k++) {
        ir_value *value = ir_portable_math(&f.builder, functions[k], argument);
        emit_fixture_store_chunk(&f, y, k, SLOTS, value);
    }
    emit_fixture_each(&f, check_bits, r);
    emit_fixture_end(&f);
    free(r);
}

static void vectors_have_the_bits_of_the_ops(void **state) {
    (void)state;
    emitted_functions_have_the_bits(8);
}

static void scalars_have_the_bits_of_the_ops(void **state) {
    (void)state;
    emitted_functions_have_the_bits(1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_have_the_bits_of_the_ops),
        cmocka_unit_test(scalars_have_the_bits_of_the_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
