/* The cpu gives the bytes of the simulator: random thread programs on teams of 1 to 1024 lanes, NaN
 * payloads aside. The simulator also says whether a program is one that has to agree: a finding is
 * a fault of the generator.
 *
 *     CROFT_SEED=7 unit_emit_sim     programs of another seed, then of the fixed one
 *     CROFT_PROGRAM=7 unit_emit_sim  that program alone, and its text
 */
#include "emit_fixture.h"
#include "program_arrays.h"

#include "sim/thread.h"
#include "text/ir_parse.h"

enum { FIXED_SEED = 1 };

typedef struct bytes_test {
    uint64_t seed;
    thread_program program;
    program_arrays arrays;
    char *expected[PROGRAM_DTYPES], *got[PROGRAM_DTYPES];
} bytes_test;

static void compare_outputs(const bytes_test *t) {
    program_difference d;
    if (program_arrays_equal(&t->program, t->expected, t->got, &d))
        return;
    fprintf(stderr, "%s\n", t->program.text.bytes);
    fail_msg("program %llu: y_%s[%zu, %zu] is %llx on the cpu, %llx on the simulator",
             (unsigned long long)t->seed, base_dtype_name(d.dtype), d.row, d.column,
             (unsigned long long)d.got, (unsigned long long)d.expected);
}

static void check_bytes(void *state, const emitted *kernel) {
    bytes_test *t = state;
    void *pointers[2 * PROGRAM_DTYPES];
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        memset(t->got[i], 1, PROGRAM_OUTPUT_BYTES);
    program_arrays_pointers(&t->arrays, t->got, pointers);
    size_t bytes = (size_t)kernel->workspace(t->arrays.words);
    char *workspace = aligned_alloc(64, (bytes + 64) / 64 * 64);
    assert_non_null(workspace);
    memset(workspace, 0x5a, bytes);
    kernel->entry(pointers, t->arrays.words, 0, PROGRAM_GROUPS, workspace);
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
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        memset(t->expected[i], 1, PROGRAM_OUTPUT_BYTES);
    program_arrays_pointers(&t->arrays, t->expected, pointers);
    sim_options options = {.last_group = -1, .watch = true};
    if (sim_thread_run(&f->arena, f->module, pointers, t->arrays.words, &options, &diagnostics) !=
        SIM_OK)
        fail_with(t, &f->arena, &diagnostics, "the simulator has findings");
}

static void check_program(bytes_test *t, uint64_t seed) {
    emit_fixture f;
    emit_fixture_begin(&f, "made", 1);
    t->seed = seed;
    thread_program_write(&t->program, &f.arena, seed);
    program_arrays_fill(&t->arrays, &t->program, seed);
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
    bool made = program_arrays_make(t->arrays.inputs, PROGRAM_INPUT_BYTES);
    made = program_arrays_make(t->expected, PROGRAM_OUTPUT_BYTES) && made;
    made = program_arrays_make(t->got, PROGRAM_OUTPUT_BYTES) && made;
    assert_true(made);
    for (int i = 0; i < count; i++)
        check_program(t, first + (uint64_t)i);
    program_arrays_free(t->arrays.inputs);
    program_arrays_free(t->expected);
    program_arrays_free(t->got);
    free(t);
}

static int program_count(void) {
    return getenv("CROFT_TEST_LONG") != NULL ? 30 : EMIT_FIXTURE_ONCE ? 3 : 4;
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
