/* A CUDA device gives the bytes of the simulator: random thread programs
 * (test/unit/thread_program.h) on teams of 1 to 1024 lanes, each launched several times, NaN
 * payloads aside.
 *
 *     gpu_programs 1000 25     programs 1000 to 1024: ok program_N, or not ok program_N: why
 *
 *     skip program_N: why     the target does not support it
 */
#include "../unit/program_arrays.h"

#include "base/diagnostic.h"
#include "runtime/cuda.h"
#include "sim/thread.h"
#include "target/target.h"
#include "text/ir_parse.h"

#include <stdio.h>

enum { LAUNCHES = 5 };

typedef struct programs_test {
    runtime_device *device;
    runtime_report report;
    const machine *machine;
    thread_program program;
    program_arrays arrays;
    char *expected[PROGRAM_DTYPES], *got[PROGRAM_DTYPES];
    void *memory[2 * PROGRAM_DTYPES]; /* of the device, by parameter */
    char why[RUNTIME_REPORT_LIMIT + 256];
    bool passed_over;
    int failures;
} programs_test;

static bool fail(programs_test *t, const char *what, const char *more) {
    snprintf(t->why, sizeof t->why, "%s: %s", what, more);
    return false;
}

typedef struct support_state {
    const programs_test *t;
    const ir_module *module;
    bool supported;
} support_state;

static bool ask_support(void *state, ir_op *op) {
    support_state *s = state;
    const target *cuda = target_find("cuda");
    s->supported = s->supported && cuda->supports(s->module, op, s->t->machine) == NULL;
    return s->supported;
}

static ir_module *parse(programs_test *t, base_arena *arena) {
    base_source *source = BASE_NEW(arena, base_source);
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    *source = (base_source){
        .name = "made.ir", .text = t->program.text.bytes, .length = (size_t)t->program.text.length};
    return text_ir_parse(arena, source, &diagnostics);
}

static bool simulate(programs_test *t, base_arena *arena, const ir_module *module) {
    void *pointers[2 * PROGRAM_DTYPES];
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        memset(t->expected[i], 1, PROGRAM_OUTPUT_BYTES);
    program_arrays_pointers(&t->arrays, t->expected, pointers);
    sim_options options = {.last_group = -1, .watch = true};
    return sim_thread_run(arena, module, pointers, t->arrays.words, &options, &diagnostics) ==
               SIM_OK ||
           fail(t, "the simulator", "has findings");
}

/* Inputs and outputs that nobody wrote yet go to the device. */
static bool reset(programs_test *t) {
    const runtime_device_vtable *vtable = t->device->vtable;
    for (int i = 0; i < PROGRAM_DTYPES; i++) {
        memset(t->got[i], 1, PROGRAM_OUTPUT_BYTES);
        if (vtable->copy_in(t->device, t->memory[2 * i], t->arrays.inputs[i], PROGRAM_INPUT_BYTES,
                            &t->report) != RUNTIME_OK ||
            vtable->copy_in(t->device, t->memory[2 * i + 1], t->got[i],
                            (int64_t)PROGRAM_OUTPUT_BYTES, &t->report) != RUNTIME_OK)
            return fail(t, "copying", t->report.text);
    }
    return true;
}

static bool compare(programs_test *t) {
    program_difference d;
    char text[200];
    for (int i = 0; i < PROGRAM_DTYPES; i++)
        if (t->device->vtable->copy_out(t->device, t->got[i], t->memory[2 * i + 1],
                                        (int64_t)PROGRAM_OUTPUT_BYTES, &t->report) != RUNTIME_OK)
            return fail(t, "copying", t->report.text);
    if (program_arrays_equal(&t->program, t->expected, t->got, &d))
        return true;
    snprintf(text, sizeof text, "y_%s[%zu, %zu] is %llx, %llx on the simulator",
             base_dtype_name(d.dtype), d.row, d.column, (unsigned long long)d.got,
             (unsigned long long)d.expected);
    return fail(t, "the bytes differ", text);
}

static bool launch_often(programs_test *t, runtime_module *module, int64_t workspace_bytes) {
    runtime_launch launch = {.pointers = t->memory,
                             .words = t->arrays.words,
                             .groups = PROGRAM_GROUPS,
                             .workspace_bytes = workspace_bytes};
    for (int i = 0; i < LAUNCHES; i++) {
        if (!reset(t))
            return false;
        if (t->device->vtable->launch(t->device, module, &launch, &t->report) != RUNTIME_OK)
            return fail(t, "launching", t->report.text);
        if (!compare(t))
            return false;
    }
    return true;
}

static bool run_on_device(programs_test *t, base_arena *arena, const ir_module *module) {
    const target *cuda = target_find("cuda");
    target_source source = target_emit(cuda, arena, module, t->machine);
    const char *const flags[] = {t->machine->compiler_flags, NULL};
    int64_t workspace_bytes = 0;
    if (source.workspace != NULL &&
        !layout_extent_evaluate(source.workspace, NULL, &workspace_bytes))
        return fail(t, "the workspace", "is too large");
    runtime_artifact artifact = {.text = source.text,
                                 .length = strlen(source.text),
                                 .entry = source.entry,
                                 .flags = flags,
                                 .threads = source.threads,
                                 .pointer_count = 2 * PROGRAM_DTYPES,
                                 .word_count = PROGRAM_WORDS,
                                 .scratch_bytes = source.scratch_bytes,
                                 .allow_spills = true};
    runtime_module *loaded = NULL;
    if (t->device->vtable->load(t->device, &artifact, &loaded, &t->report) != RUNTIME_OK)
        return fail(t, "loading", t->report.text);
    bool good = launch_often(t, loaded, workspace_bytes);
    t->device->vtable->unload(t->device, loaded);
    return good;
}

static bool check(programs_test *t, base_arena *arena, uint64_t seed) {
    thread_program_write(&t->program, arena, seed);
    program_arrays_fill(&t->arrays, &t->program, seed);
    ir_module *module = parse(t, arena);
    if (module == NULL)
        return fail(t, "the text", "is no module");
    support_state support = {.t = t, .module = module, .supported = true};
    ir_region_walk(&module->body, ask_support, &support);
    t->passed_over = !support.supported;
    if (t->passed_over)
        return true;
    return simulate(t, arena, module) && run_on_device(t, arena, module);
}

static void check_program(programs_test *t, uint64_t seed) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    bool good = false;
    if (setjmp(exhausted) == 0)
        good = check(t, &arena, seed);
    else
        fail(t, "memory", "ran out");
    if (good && t->passed_over)
        printf("skip program_%llu: the target does not support it\n", (unsigned long long)seed);
    else if (good)
        printf("ok program_%llu\n", (unsigned long long)seed);
    else
        printf("not ok program_%llu: %s\n", (unsigned long long)seed, t->why);
    t->failures += !good;
    fflush(stdout);
    base_arena_free(&arena);
}

static bool make_arrays(programs_test *t) {
    bool good = program_arrays_make(t->arrays.inputs, PROGRAM_INPUT_BYTES);
    good = program_arrays_make(t->expected, PROGRAM_OUTPUT_BYTES) && good;
    good = program_arrays_make(t->got, PROGRAM_OUTPUT_BYTES) && good;
    for (int i = 0; i < 2 * PROGRAM_DTYPES && good; i++)
        good = t->device->vtable->allocate(
                   t->device, i % 2 == 0 ? PROGRAM_INPUT_BYTES : (int64_t)PROGRAM_OUTPUT_BYTES,
                   &t->memory[i], &t->report) == RUNTIME_OK;
    return good;
}

int main(int argc, char **argv) {
    static programs_test t;
    runtime_cuda_config config = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                  .nvrtc = getenv("CROFT_NVRTC")};
    if (argc != 3 || runtime_cuda_create(base_allocator_default(), &config, &t.device, &t.report) !=
                         RUNTIME_OK) {
        printf("not ok the_device_opens: %s\n",
               argc != 3 ? "two numbers are needed" : t.report.text);
        return 1;
    }
    const char *name = runtime_cuda_facts_of(t.device)->machine;
    t.machine = name != NULL ? machine_find(name) : NULL;
    bool good = t.machine != NULL && make_arrays(&t);
    if (!good)
        printf("not ok arrays_are_made: %s\n", t.report.text);
    uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
    for (uint64_t i = 0; i < count && good; i++)
        check_program(&t, first + i);
    for (int i = 0; i < 2 * PROGRAM_DTYPES; i++)
        t.device->vtable->release(t.device, t.memory[i]);
    t.device->vtable->destroy(t.device);
    program_arrays_free(t.arrays.inputs);
    program_arrays_free(t.expected);
    program_arrays_free(t.got);
    return t.failures > 0 || !good;
}
