/* The cuda target's text is what the run-time compiler takes without a word: every example, for
 * both machines and both families of plans, rows that share a subgroup or a group, and random
 * thread programs on teams of every width. Row plans keep their slots in registers: the compiler's
 * log says that nothing spills. For sm_90 also the variant under all conditions that help. Policies
 * of accesses arrive in its PTX, in every type and width.
 *
 * Skips where the run-time compiler (libnvrtc) is not installed. No device is asked.
 *
 *     CROFT_SEED=7 unit_cuda_compile     random programs of another seed
 *
 * sanitized: check-long
 */
#include "example_files.h"

#include "compile/compile.h"
#include "packed_plan.h"
#include "sanitized.h"
#include "target/target.h"
#include "text/ir_parse.h"
#include "thread_program.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SKIPPED = 77, FIXED_SEED = 1, PROGRAMS = 6 };

/* ---- the run-time compiler ---- */

typedef struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*ptx_size)(void *, size_t *);
    int (*ptx)(void *, char *);
    int (*destroy)(void **);
} nvrtc;

static bool nvrtc_open(nvrtc *n) {
    static const char *const paths[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                        "/usr/local/cuda/lib64/libnvrtc.so",
                                        "/usr/local/cuda/lib/libnvrtc.so"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && library == NULL; i++)
        library = dlopen(paths[i], RTLD_NOW);
    if (library == NULL)
        return false;
    const struct {
        const char *name;
        void *slot;
    } symbols[] = {{"nvrtcCreateProgram", &n->create},       {"nvrtcCompileProgram", &n->compile},
                   {"nvrtcGetProgramLogSize", &n->log_size}, {"nvrtcGetProgramLog", &n->log},
                   {"nvrtcGetPTXSize", &n->ptx_size},        {"nvrtcGetPTX", &n->ptx},
                   {"nvrtcDestroyProgram", &n->destroy}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *symbol = dlsym(library, symbols[i].name);
        assert_non_null(symbol);
        memcpy(symbols[i].slot, &symbol, sizeof symbol);
    }
    return true;
}

static nvrtc compiler;

static char *ptx_of(void *program) {
    size_t size = 0;
    assert_int_equal(compiler.ptx_size(program, &size), 0);
    char *ptx = calloc(1, size + 1);
    assert_non_null(ptx);
    assert_int_equal(compiler.ptx(program, ptx), 0);
    return ptx;
}

/* The log of a compilation that must succeed; *ptx, unless NULL: what it made. */
static char *compile_to_ptx(const char *text, const machine *m, const char *what, char **ptx) {
    const char *const options[] = {strcmp(m->name, "sm_90") == 0 ? "-arch=sm_90a" : "-arch=sm_80",
                                   "-fmad=false", "--ptxas-options=-v"};
    void *program = NULL;
    size_t size = 0;
    assert_int_equal(compiler.create(&program, text, "kernel.cu", 0, NULL, NULL), 0);
    int status = compiler.compile(program, 3, options);
    assert_int_equal(compiler.log_size(program, &size), 0);
    char *log = calloc(1, size + 1);
    assert_non_null(log);
    assert_int_equal(compiler.log(program, log), 0);
    if (status == 0 && ptx != NULL)
        *ptx = ptx_of(program);
    compiler.destroy(&program);
    if (status != 0) {
        fprintf(stderr, "%s\n%s\n", text, log);
        fail_msg("%s is not compiled for %s", what, m->name);
    }
    return log;
}

/* Every second text, all of them with CROFT_TEST_LONG set; under a sanitizer, which watches what
 * emits the text, one in so many. NULL: not compiled. */
static char *compile_text(const char *text, const machine *m, const char *what) {
    static int turn;
    if (turn++ % (SANITIZED ? 5 : 2) != 0 && getenv("CROFT_TEST_LONG") == NULL)
        return NULL;
    return compile_to_ptx(text, m, what, NULL);
}

static const machine *const *machines(void) {
    static const machine *list[3];
    list[0] = machine_find("sm_80");
    list[1] = machine_find("sm_90");
    return list;
}

/* ---- examples ---- */

static bool spills(const char *log) {
    const char *at = strstr(log, " bytes spill stores");
    assert_non_null(at);
    while (at > log && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strncmp(at, "0 bytes spill stores, 0 bytes spill loads", 41) != 0;
}

static void compile_example(const char *name, const base_source *source, const machine *m,
                            planner_family family, unsigned assume, int *rows) {
    compile_request request = {.source = source,
                               .assume = assume,
                               .partial = true,
                               .machine = m,
                               .family = family,
                               .stage = COMPILE_TO_SOURCE};
    compile_result result;
    compile_run(&request, &result);
    bool none = result.status == COMPILE_REJECTED && family == PLANNER_ROW &&
                strcmp(result.diagnostics.items[0].slug, "row-plan-refused") == 0;
    if (result.status != COMPILE_OK && !none)
        fail_msg("%s: %s", name, result.diagnostics.items[0].message);
    if (!none) {
        char *log = compile_text(result.source_text, m, name);
        if (log != NULL && strstr(log, "warning") != NULL)
            fail_msg("%s for %s: %s", name, m->name, log);
        if (log != NULL && family == PLANNER_ROW && spills(log))
            fail_msg("%s for %s spills registers: %s", name, m->name, log);
        *rows += family == PLANNER_ROW;
        free(log);
    }
    compile_free(&result);
}

static void every_example_is_compiled_without_a_word(void **state) {
    (void)state;
    static example_files files;
    int rows = 0;
    example_files_open(&files);
    while (example_files_next(&files)) {
        base_source source = {.name = files.name, .text = files.text, .length = strlen(files.text)};
        for (int i = 0; i < 2; i++) {
            compile_example(files.name, &source, machines()[i], PLANNER_ROW, 0, &rows);
            compile_example(files.name, &source, machines()[i], PLANNER_FALLBACK, 0, &rows);
        }
        compile_example(files.name, &source, machines()[1], PLANNER_ROW, COMPILE_ASSUME_ALL, &rows);
    }
    example_files_close(&files);
    assert_true(rows >= 30);
}

/* ---- rows that share a team ---- */

/* Whether the kernel can be planned so. */
static bool compile_packed(const base_source *source, const machine *m, const char *rows,
                           const char *elements) {
    compile_request request = {.source = source,
                               .partial = true,
                               .machine = m,
                               .family = PLANNER_ROW,
                               .stage = COMPILE_TO_SOURCE};
    compile_result result;
    compile_run(&request, &result);
    bool compiled = result.status == COMPILE_OK;
    if (compiled) {
        base_source plan = packed_plan(&result, rows, elements);
        request.plan = &plan;
        compile_free(&result);
        compile_run(&request, &result);
        compiled = result.status == COMPILE_OK;
        if (!compiled && strncmp(result.diagnostics.items[0].slug, "plan-", 5) != 0)
            fail_msg("%s: %s", source->name, result.diagnostics.items[0].message);
    }
    if (compiled) {
        char *log = compile_text(result.source_text, m, source->name);
        if (log != NULL && (strstr(log, "warning") != NULL || spills(log)))
            fail_msg("%s for %s: %s", source->name, m->name, log);
        free(log);
    }
    compile_free(&result);
    return compiled;
}

static void rows_that_share_a_team_are_compiled(void **state) {
    (void)state;
    static const char *const digits[][2] = {
        {"lane 4 | group *", "slot 4 | lane 8 | step *"},
        {"lane 8 | subgroup 4 | group *", "slot 2 | lane 4 | step *"},
        {"subgroup 2 | group *", "slot 4 | lane 32 | subgroup 3 | step *"}};
    static example_files files;
    int compiled = 0, number = 0;
    example_files_open(&files);
    for (; example_files_next(&files); number++) {
        base_source source = {.name = files.name, .text = files.text, .length = strlen(files.text)};
        const char *const *chosen = digits[number % 3];
        compiled += compile_packed(&source, machines()[number % 2], chosen[0], chosen[1]);
    }
    example_files_close(&files);
    assert_true(compiled >= 8);
}

/* ---- launches ---- */

/* The plan with its axis N in parts, and nothing kept from launch to launch, as text. */
static base_source split_plan(compile_result *result) {
    static char text[1 << 14];
    ir_plan_line *axis = ir_plan_find(result->plan, IR_PLAN_AXIS, "N");
    assert_non_null(axis);
    axis->digits = (layout_axis){.count = 4,
                                 .digits = {{.holder = LAYOUT_SLOT, .radix = 4},
                                            {.holder = LAYOUT_LANE, .radix = 32},
                                            {.holder = LAYOUT_STEP},
                                            {.holder = LAYOUT_GROUP, .radix = 16}}};
    for (int64_t i = 0; i < result->plan->of[IR_PLAN_KEEP].count; i++) {
        ir_plan_line *keep = &result->plan->of[IR_PLAN_KEEP].lines[i];
        bool loaded = keep->storage == IR_STORAGE_RELOAD;
        keep->storage = loaded ? IR_STORAGE_RELOAD : IR_STORAGE_RECOMPUTE;
        keep->of = NULL;
    }
    base_text out;
    base_text_init(&out, &result->arena);
    ir_plan_print(&out, result->plan);
    assert_true(out.length < (int64_t)sizeof text);
    memcpy(text, out.bytes, (size_t)out.length);
    return (base_source){.name = "split.plan", .text = text, .length = (size_t)out.length};
}

/* One text with an entry for each launch, of which the log has the figures. */
static void compile_split(const base_source *source, const machine *m, unsigned assume,
                          int launches) {
    compile_request request = {.source = source,
                               .partial = true,
                               .machine = m,
                               .family = PLANNER_ROW,
                               .assume = assume,
                               .stage = COMPILE_TO_SOURCE};
    compile_result result;
    compile_run(&request, &result);
    assert_int_equal(result.status, COMPILE_OK);
    base_source plan = split_plan(&result);
    request.plan = &plan;
    compile_free(&result);
    compile_run(&request, &result);
    if (result.status != COMPILE_OK)
        fail_msg("%s: %s", source->name, result.diagnostics.items[0].message);
    assert_int_equal(result.launch_count, launches);
    char *log = compile_text(result.source_text, m, source->name);
    if (log != NULL && (strstr(log, "warning") != NULL || spills(log)))
        fail_msg("%s for %s: %s", source->name, m->name, log);
    for (int i = 0; i < launches && log != NULL; i++)
        assert_non_null(strstr(log, result.launches[i].entry));
    free(log);
    compile_free(&result);
}

static void launches_of_split_rows_are_compiled(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int launches;
    } kernels[] = {{"softmax", 3}, {"layernorm", 3}, {"sum", 2}, {"cross_entropy", 3}};
    static example_files files;
    int compiled = 0;
    example_files_open(&files);
    while (example_files_next(&files))
        for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
            base_source source = {
                .name = files.name, .text = files.text, .length = strlen(files.text)};
            size_t length = strlen(kernels[i].name);
            if (strncmp(files.name, kernels[i].name, length) != 0 || files.name[length] != '.')
                continue;
            compile_split(&source, machines()[compiled % 2], i % 2 ? COMPILE_ASSUME_ALL : 0,
                          kernels[i].launches);
            compiled++;
        }
    example_files_close(&files);
    assert_int_equal(compiled, 4);
}

/* ---- policies ---- */

enum { POLICY_WIDTHS = 5 }; /* 1, 2, 4, 8 and 16 elements */

/* Loads and stores of one type in all widths, all of them with the policy. */
static target_source policy_source(base_arena *arena, const char *dtype, const char *policy,
                                   const machine *m) {
    base_text text;
    base_text_init(&text, arena);
    base_text_format(&text,
                     "kernel @k(%%x: in %s[65536], %%y: inout %s[65536]) level thread\n"
                     "  team 32\n  subgroup 32\n  machine \"sm_90\"\n  groups 1\n{\n",
                     dtype, dtype);
    for (int i = 0; i < POLICY_WIDTHS; i++) {
        int width = 1 << i;
        char words[32] = "";
        if (width > 1)
            snprintf(words, sizeof words, " width=%d", width);
        base_text_format(&text, "%%b%d = constant %d : i64\n", i, i * 4096);
        base_text_format(&text, "%%t%d = load %%x[%%b%d + lane*%d + slot*1]%s policy=%s : %s(%d)\n",
                         i, i, width, words, policy, dtype, width);
        base_text_format(&text,
                         "store %%y[%%b%d + lane*%d + slot*1], %%t%d injective%s policy=%s\n", i,
                         width, i, words, policy);
    }
    base_text_string(&text, "}\n");
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    base_source source = {.name = "k.ir", .text = text.bytes, .length = (size_t)text.length};
    ir_module *module = text_ir_parse(arena, &source, &diagnostics);
    if (module == NULL)
        fail_msg("%s: %s", text.bytes, diagnostics.items[0].message);
    return target_emit(target_find("cuda"), arena, module, m);
}

static int count_of(const char *text, const char *word) {
    int count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        count++;
    return count;
}

/* As many with the hint as there are at all: what has no hint is a load of arguments. */
static void check_ptx(const char *ptx, const char *dtype) {
    int loads = count_of(ptx, "ld.global"), stores = count_of(ptx, "st.global");
    int wide = count_of(ptx, "ld.global.cs.v4") + count_of(ptx, "st.global.cs.v4");
    if (loads < POLICY_WIDTHS || stores < POLICY_WIDTHS ||
        count_of(ptx, "ld.global.cs.") != loads || count_of(ptx, "st.global.cs.") != stores ||
        wide < 2 || strstr(ptx, ".nc") != NULL)
        fail_msg("%s: %d loads, %d stores, %d wide ones in\n%s", dtype, loads, stores, wide, ptx);
}

/* Only loads have it. */
static void check_ptx_last(const char *ptx, const char *dtype) {
    int loads = count_of(ptx, "ld.global"), hinted = count_of(ptx, "ld.global.L2::cache_hint.");
    if (loads < POLICY_WIDTHS || hinted != loads ||
        count_of(ptx, "ld.global.L2::cache_hint.v4") < 1 || strstr(ptx, "L2::evict_last") == NULL ||
        count_of(ptx, "st.global.L2") > 0 || strstr(ptx, ".nc") != NULL)
        fail_msg("%s: %d loads, %d of them hinted in\n%s", dtype, loads, hinted, ptx);
}

static void check_policy(const char *dtype, const char *policy, const machine *m,
                         void (*check)(const char *ptx, const char *dtype)) {
    base_arena arena;
    jmp_buf exhausted;
    char *ptx = NULL;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    char *log = compile_to_ptx(policy_source(&arena, dtype, policy, m).text, m, dtype, &ptx);
    if (strstr(log, "warning") != NULL)
        fail_msg("%s: %s", dtype, log);
    check(ptx, dtype);
    free(ptx);
    free(log);
    base_arena_free(&arena);
}

static void policies_arrive_in_every_type_and_width(void **state) {
    (void)state;
    static const char *const dtypes[] = {"f32", "f16", "bf16", "i32", "u32",
                                         "i64", "i8",  "u8",   "bool"};
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        check_policy(dtypes[i], "stream", machines()[i % 2], check_ptx);
        check_policy(dtypes[i], "evict_last", machines()[i % 2], check_ptx_last);
    }
}

/* ---- random programs ---- */

static void compile_program(uint64_t seed, const machine *m) {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&diagnostics, &arena);
    thread_program program;
    thread_program_write(&program, &arena, seed);
    base_source source = {
        .name = "made.ir", .text = program.text.bytes, .length = (size_t)program.text.length};
    ir_module *module = text_ir_parse(&arena, &source, &diagnostics);
    assert_non_null(module);
    for (const ir_op *op = module->body.first; op != NULL; op = op->next)
        assert_null(target_find("cuda")->supports(module, op, m));
    target_source text = target_emit(target_find("cuda"), &arena, module, m);
    char name[60];
    snprintf(name, sizeof name, "program %llu", (unsigned long long)seed);
    free(compile_text(text.text, m, name));
    assert_true(text.threads >= module->lanes && text.threads % 32 == 0);
    base_arena_free(&arena);
}

static void random_programs_are_compiled(void **state) {
    (void)state;
    const char *given = getenv("CROFT_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : FIXED_SEED;
    printf("seed %llu\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < PROGRAMS; i++)
        compile_program(seed * 1000 + i, machines()[i % 2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_is_compiled_without_a_word),
        cmocka_unit_test(rows_that_share_a_team_are_compiled),
        cmocka_unit_test(launches_of_split_rows_are_compiled),
        cmocka_unit_test(policies_arrive_in_every_type_and_width),
        cmocka_unit_test(random_programs_are_compiled),
    };
    if (!nvrtc_open(&compiler)) {
        puts("the run-time compiler of CUDA (libnvrtc) is not installed");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
