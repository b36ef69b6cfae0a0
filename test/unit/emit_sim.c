/* The cpu gives the bytes of the simulator: random thread programs on teams of 1 to 1024 lanes, NaN
 * payloads aside. The simulator also says whether a program is one that has to agree: a finding is
 * a fault of the generator.
 *
 *     CROFT_SEED=7 unit_emit_sim     programs of another seed, then of the fixed one
 *     CROFT_PROGRAM=7 unit_emit_sim  that program alone, and its text
 */
#include "emit_fixture.h"
#include "thread_program.h"

#include "sim/thread.h"
#include "text/ir_parse.h"

enum { INPUT_BYTES = PROGRAM_INPUT * 8, FIXED_SEED = 1 };
#define ROW_ELEMENTS ((size_t)PROGRAM_GROUPS * PROGRAM_SLOTS * 1024)
#define OUTPUT_BYTES (PROGRAM_ROWS * ROW_ELEMENTS * 8)

typedef struct bytes_test {
    uint64_t seed;
    thread_program program;
    char *inputs[PROGRAM_DTYPES], *expected[PROGRAM_DTYPES], *got[PROGRAM_DTYPES];
    int64_t words[3 * PROGRAM_DTYPES];
} bytes_test;

/* ---- arrays ---- */

static uint64_t next_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 20;
}

/* Bits of an element: small numbers, and now and then any. */
static uint64_t element_bits(base_dtype dtype, uint64_t *state) {
    uint64_t any = next_bits(state), small = any % 41;
    float value = (float)((int)small - 20) * 0.375f;
    uint32_t bits;
    if (dtype == BASE_BOOL)
        return any >> 9 & 1;
    if (any % 7 == 0)
        return next_bits(state) << 30 ^ any;
    memcpy(&bits, &value, sizeof bits);
    switch (dtype) {
    case BASE_F32:
        return bits;
    case BASE_F16:
        return base_f16_from_double((double)value);
    case BASE_BF16:
        return bits >> 16;
    case BASE_I32:
    case BASE_U32:
    case BASE_I64:
    case BASE_INDEX:
    case BASE_I8:
    case BASE_U8:
    case BASE_BOOL:
    case BASE_F64:
        break;
    }
    return small - 10;
}

static void fill_arrays(bytes_test *t) {
    uint64_t state = t->seed * 77 + 5;
    int64_t row = (int64_t)PROGRAM_GROUPS * PROGRAM_SLOTS * t->program.lanes;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        size_t size = (size_t)base_dtype_size(program_dtypes[i]);
        for (size_t e = 0; e < PROGRAM_INPUT; e++) {
            uint64_t bits = element_bits(program_dtypes[i], &state);
            memcpy(t->inputs[i] + e * size, &bits, size);
        }
        memset(t->expected[i], 1, OUTPUT_BYTES);
        t->words[3 * i] = 1;
        t->words[3 * i + 1] = row;
        t->words[3 * i + 2] = 1;
    }
}

static void set_pointers(const bytes_test *t, char *const *outputs, void **pointers) {
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        pointers[2 * i] = t->inputs[i];
        pointers[2 * i + 1] = outputs[i];
    }
}

/* ---- comparing ---- */

static bool is_nan(base_dtype dtype, uint64_t bits) {
    if (dtype == BASE_F32)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (dtype == BASE_F16)
        return (bits & 0x7fff) > 0x7c00;
    return dtype == BASE_BF16 && (bits & 0x7fff) > 0x7f80;
}

static void compare_outputs(bytes_test *t) {
    size_t row = (size_t)PROGRAM_GROUPS * PROGRAM_SLOTS * (size_t)t->program.lanes;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        base_dtype dtype = program_dtypes[i];
        size_t size = (size_t)base_dtype_size(dtype);
        for (size_t e = 0; e < row * PROGRAM_ROWS; e++) {
            uint64_t a = 0, b = 0;
            memcpy(&a, t->expected[i] + e * size, size);
            memcpy(&b, t->got[i] + e * size, size);
            if (a == b || (is_nan(dtype, a) && is_nan(dtype, b)))
                continue;
            fprintf(stderr, "%s\n", t->program.text.bytes);
            fail_msg("program %llu: y_%s[%zu, %zu] is %llx on the cpu, %llx on the simulator",
                     (unsigned long long)t->seed, base_dtype_name(dtype), e / row, e % row,
                     (unsigned long long)b, (unsigned long long)a);
        }
    }
}

static void check_bytes(void *state, const emitted *kernel) {
    bytes_test *t = state;
    void *pointers[2 * PROGRAM_DTYPES];
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        memset(t->got[i], 1, OUTPUT_BYTES);
    set_pointers(t, t->got, pointers);
    size_t bytes = (size_t)kernel->workspace(t->words);
    char *workspace = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(workspace);
    memset(workspace, 0x5a, bytes);
    kernel->entry(pointers, t->words, 0, PROGRAM_GROUPS, workspace);
    free(workspace);
    compare_outputs(t);
}

/* ---- a program ---- */

static void fail_with(const bytes_test *t, base_arena *arena, const base_diagnostics *diagnostics,
                      const char *what) {
    base_text said;
    base_text_init(&said, arena);
    base_diagnostics_render(&said, diagnostics);
    fprintf(stderr, "%s\n%s\n", t->program.text.bytes, said.bytes);
    fail_msg("program %llu: %s", (unsigned long long)t->seed, what);
}

static void run_simulator(bytes_test *t, emit_fixture *f) {
    void *pointers[2 * PROGRAM_DTYPES];
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    set_pointers(t, t->expected, pointers);
    sim_options options = {.last_group = -1, .watch = true};
    if (sim_thread_run(&f->arena, f->module, pointers, t->words, &options, &diagnostics) != SIM_OK)
        fail_with(t, &f->arena, &diagnostics, "the simulator has findings");
}

static void check_program(bytes_test *t, uint64_t seed) {
    emit_fixture f;
    emit_fixture_begin(&f, "made", 1);
    t->seed = seed;
    thread_program_write(&t->program, &f.arena, seed);
    fill_arrays(t);
    base_source *source = BASE_NEW(&f.arena, base_source);
    *source = (base_source){
        .name = "made.ir", .text = t->program.text.bytes, .length = (size_t)t->program.text.length};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f.arena);
    f.module = text_ir_parse(&f.arena, source, &diagnostics);
    if (f.module == NULL)
        fail_with(t, &f.arena, &diagnostics, "is no module");
    f.idle = true;
    f.traps = seed % 4 == 0;
    run_simulator(t, &f);
    emit_fixture_each(&f, check_bytes, t);
    emit_fixture_end(&f);
}

static void with_programs(uint64_t first, int count) {
    bytes_test *t = calloc(1, sizeof *t);
    assert_non_null(t);
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        t->inputs[i] = calloc(1, INPUT_BYTES);
        t->expected[i] = malloc(OUTPUT_BYTES);
        t->got[i] = malloc(OUTPUT_BYTES);
        assert_true(t->inputs[i] != NULL && t->expected[i] != NULL && t->got[i] != NULL);
    }
    for (int i = 0; i < count; i++)
        check_program(t, first + (uint64_t)i);
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        free(t->inputs[i]);
        free(t->expected[i]);
        free(t->got[i]);
    }
    free(t);
}

static int program_count(void) {
    return getenv("CROFT_TEST_LONG") != NULL ? 100 : EMIT_FIXTURE_ONCE ? 8 : 10;
}

static void programs_of_the_fixed_seed(void **state) {
    (void)state;
    with_programs((uint64_t)FIXED_SEED * 1000, program_count());
}

static void programs_of_the_given_seed(void **state) {
    (void)state;
    const char *text = getenv("CROFT_SEED"), *one = getenv("CROFT_PROGRAM");
    uint64_t seed = text != NULL ? strtoull(text, NULL, 10) : 2;
    printf("seed %llu\n", (unsigned long long)seed);
    with_programs(one != NULL ? strtoull(one, NULL, 10) : seed * 1000,
                  one != NULL ? 1 : program_count());
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_given_seed),
        cmocka_unit_test(programs_of_the_fixed_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
