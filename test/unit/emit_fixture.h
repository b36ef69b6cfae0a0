/* For the tests of the cpu target: thread modules made by hand, emitted, compiled by every compiler
 * that is here for every machine that runs here, and run on arrays. Warnings of the compilers fail
 * the test. */
#ifndef TEST_EMIT_FIXTURE_H
#define TEST_EMIT_FIXTURE_H

#include "ir/builder.h"
#include "runtime/compiler.h"
#include "target/target.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_lockstep.h"
#include "sanitized.h"

/* Under a sanitizer what was emitted runs once. */
enum { EMIT_FIXTURE_ONCE = SANITIZED };

/* Of so many modules one is run as cuda text too. */
enum { EMIT_FIXTURE_TURNS = 2 };

typedef struct emit_fixture {
    base_arena arena;
    jmp_buf exhausted;
    ir_module *module;
    ir_builder builder;
    bool cpu_only; /* what only the cpu's text has is tested */
    bool thin;     /* one compiler per machine, in turn; all of them with CROFT_TEST_LONG set */
    bool idle;     /* the module may do what helps nobody: compare x with x, leave slots unread */
    bool traps;    /* undefined behaviour of the emitted code traps, which fails the test */
} emit_fixture;

static inline void emit_fixture_begin(emit_fixture *f, const char *name, int lanes) {
    base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    f->module = ir_module_create(&f->arena, name, NULL);
    f->module->level = IR_THREAD;
    f->module->lanes = lanes;
    f->module->machine = "cpu-avx2";
    f->thin = getenv("CROFT_TEST_LONG") == NULL;
    f->traps = false;
    f->cpu_only = false;
    f->idle = false;
    f->builder = (ir_builder){.module = f->module, .region = &f->module->body};
}

static inline void emit_fixture_end(emit_fixture *f) {
    base_arena_free(&f->arena);
}

/* A tensor parameter; extents are one size symbol per dimension, declared here. */
static inline ir_value *emit_fixture_tensor(emit_fixture *f, const char *name, base_dtype dtype,
                                            ir_access_mode mode, int rank) {
    ir_module *m = f->module;
    ir_parameter *grown = BASE_NEW_ARRAY(&f->arena, ir_parameter, m->parameter_count + 1);
    for (int i = 0; i < m->parameter_count; i++)
        grown[i] = m->parameters[i];
    m->parameters = grown;
    ir_type type = {.form = IR_FORM_TENSOR, .dtype = dtype, .rank = rank};
    for (int d = 0; d < rank; d++) {
        char symbol[60];
        snprintf(symbol, sizeof symbol, "%s_n%d", name, d);
        int64_t index =
            layout_extents_declare(&m->extents, base_arena_copy(&f->arena, symbol, strlen(symbol)));
        type.extent[d] = layout_extent_symbol(&m->extents, index);
    }
    ir_value *value = ir_value_create(m, type, name);
    m->parameters[m->parameter_count++] = (ir_parameter){
        .name = name, .is_tensor = true, .mode = mode, .dtype = dtype, .value = value};
    return value;
}

static inline ir_value *emit_fixture_group(emit_fixture *f) {
    ir_type type = ir_type_uniform(BASE_I64);
    return ir_build_op(&f->builder, IR_GROUP, 0, NULL, 1, &type, 0)->results[0];
}

static inline ir_value *emit_fixture_integer(emit_fixture *f, int64_t value) {
    return ir_build_integer(&f->builder, BASE_I64, value);
}

static inline ir_access *emit_fixture_access(emit_fixture *f, int rank) {
    ir_access *access = BASE_NEW(&f->arena, ir_access);
    access->rank = rank;
    access->fill = -1;
    access->mask = -1;
    access->width = 1;
    for (int d = 0; d < rank; d++)
        access->index[d] = (ir_index){.kind = IR_INDEX_AFFINE, .operand = -1, .vector = -1};
    return access;
}

/* A load of `result` or, with a value, a store. Operands named by the access are 1 + their place
 * in `operands`. */
static inline ir_op *emit_fixture_load(emit_fixture *f, ir_value *tensor, ir_access *access,
                                       int count, ir_value *const *operands, ir_type result) {
    ir_value *all[16] = {tensor};
    for (int i = 0; i < count; i++)
        all[i + 1] = operands[i];
    ir_op *op = ir_build_op(&f->builder, IR_LOAD, count + 1, all, 1, &result, 0);
    op->attributes.access = access;
    return op;
}

static inline ir_op *emit_fixture_store(emit_fixture *f, ir_value *tensor, ir_access *access,
                                        int count, ir_value *const *operands, ir_value *value) {
    ir_value *all[16] = {tensor};
    for (int i = 0; i < count; i++)
        all[i + 1] = operands[i];
    all[count + 1] = value;
    ir_op *op = ir_build_op(&f->builder, IR_STORE, count + 2, all, 0, NULL, 0);
    op->attributes.access = access;
    return op;
}

/* The slots of neighbouring elements at group * lanes * slots of the last dimension; `row` is the
 * index of a leading one, if any. */
static inline ir_access *emit_fixture_chunk(emit_fixture *f, int rank, int slots, ir_value **base) {
    ir_access *access = emit_fixture_access(f, rank);
    ir_index *last = &access->index[rank - 1];
    last->operand = 1;
    last->affine = ir_affine_of(1, f->module->lanes);
    ir_value *group = emit_fixture_group(f);
    *base = ir_build_binary(&f->builder, IR_MUL, group,
                            emit_fixture_integer(f, (int64_t)slots * f->module->lanes));
    return access;
}

static inline ir_value *emit_fixture_load_chunk(emit_fixture *f, ir_value *tensor, int slots) {
    ir_value *base;
    ir_access *access = emit_fixture_chunk(f, 1, slots, &base);
    return emit_fixture_load(f, tensor, access, 1, &base, ir_type_slots(tensor->type.dtype, slots))
        ->results[0];
}

/* Into row `row` of a tensor of rank 2. */
static inline void emit_fixture_store_chunk(emit_fixture *f, ir_value *tensor, int64_t row,
                                            int slots, ir_value *value) {
    ir_value *operands[2];
    ir_access *access = emit_fixture_chunk(f, 2, slots, &operands[0]);
    operands[1] = emit_fixture_integer(f, row);
    access->index[0].operand = 2;
    emit_fixture_store(f, tensor, access, 2, operands, value);
}

/* ---- running ---- */

typedef struct emitted {
    void *library;
    void (*entry)(void *const *, const int64_t *, int64_t, int64_t, void *);
    int64_t (*groups)(const int64_t *);
    int64_t (*workspace)(const int64_t *);
} emitted;

static inline bool emit_fixture_runs_here(const machine *m) {
    const machine *host = machine_host();
    if (strcmp(m->name, "cpu-baseline") == 0 || m == host)
        return true;
    return strcmp(m->name, "cpu-avx2") == 0 && strcmp(host->name, "cpu-avx512") == 0;
}

static inline void *emit_fixture_symbol(void *library, const char *entry, const char *suffix) {
    char name[200];
    snprintf(name, sizeof name, "%s%s", entry, suffix);
    void *symbol = runtime_library_symbol(library, name);
    assert_non_null(symbol);
    return symbol;
}

/* Compiles the text; prints it, with what the compiler said, when it is not accepted silently. */
static inline emitted emit_fixture_compile(target_source source, const machine *m,
                                           const char *compiler, bool traps, bool idle) {
    static runtime_report report;
    const char *const extra[] = {"-Wall",
                                 "-Wextra",
                                 "-Wpedantic",
                                 "-Wno-psabi",
                                 "-O0",
                                 idle ? "-Wno-unused-variable" : "-Wextra",
                                 idle ? "-Wno-unused-but-set-variable" : "-Wextra",
                                 idle ? "-Wno-tautological-compare" : "-Wextra",
                                 traps ? "-fsanitize=undefined" : NULL,
                                 "-fsanitize-undefined-trap-on-error",
                                 NULL};
    runtime_compiler_config config = {.compiler = compiler, .extra_flags = extra};
    machine_flags flags;
    machine_flags_split(m, &flags);
    emitted result = {0};
    runtime_status status = runtime_compiler_build(&config, source.text, strlen(source.text),
                                                   flags.list, &result.library, &report);
    if (status != RUNTIME_OK || report.text[0] != '\0')
        fprintf(stderr, "%s\n%s %s:\n%s\n", source.text, compiler, m->name, report.text);
    assert_int_equal(status, RUNTIME_OK);
    assert_string_equal(report.text, "");
    void *entry = emit_fixture_symbol(result.library, source.entry, "");
    void *groups = emit_fixture_symbol(result.library, source.entry, "_groups");
    void *workspace = emit_fixture_symbol(result.library, source.entry, "_workspace");
    memcpy(&result.entry, &entry, sizeof entry);
    memcpy(&result.groups, &groups, sizeof groups);
    memcpy(&result.workspace, &workspace, sizeof workspace);
    return result;
}

static inline bool emit_fixture_has(const char *compiler) {
    runtime_report report;
    char path[PATH_MAX];
    runtime_compiler_config config = {.compiler = compiler};
    return runtime_compiler_find(&config, path, &report) == RUNTIME_OK;
}

/* ---- the cuda text, on the host ---- */

static lockstep_kernel emit_fixture_threads;

static inline void emit_fixture_threads_entry(void *const *pointers, const int64_t *words,
                                              int64_t begin, int64_t end, void *workspace) {
    (void)workspace; /* its groups have one each */
    lockstep_call(&emit_fixture_threads, pointers, words, begin, end);
}

static inline int64_t emit_fixture_threads_groups(const int64_t *words) {
    const ir_module *module = emit_fixture_threads.module;
    int64_t groups = 1;
    if (module->groups != NULL)
        assert_true(layout_extent_evaluate(module->groups, words, &groups));
    return groups;
}

static inline int64_t emit_fixture_threads_workspace(const int64_t *words) {
    (void)words;
    return 0;
}

/* In turn with and without it; always with CROFT_TEST_LONG set. */
static inline void emit_fixture_threads_run(emit_fixture *f,
                                            void (*check)(void *state, const emitted *kernel),
                                            void *state) {
    static int turn;
    bool now = !f->thin || turn++ % EMIT_FIXTURE_TURNS == 0;
    if (!now || f->cpu_only || EMIT_FIXTURE_ONCE ||
        !lockstep_open(&emit_fixture_threads, &f->arena, f->module, machine_find("sm_90")))
        return;
    emitted kernel = {.entry = emit_fixture_threads_entry,
                      .groups = emit_fixture_threads_groups,
                      .workspace = emit_fixture_threads_workspace};
    check(state, &kernel);
    lockstep_close(&emit_fixture_threads);
}

/* Emits the module for each machine that runs here and compiles it with gcc and clang; calls
 * `check` with each result. Needs gcc. */
static inline void
emit_fixture_each(emit_fixture *f, void (*check)(void *state, const emitted *kernel), void *state) {
    static const char *const compilers[] = {"gcc", "clang"};
    int runs = 0;
    for (int i = 0; machine_at(i) != NULL; i++) {
        const machine *m = machine_at(i);
        /* Registers wider than the module's vectors add nothing that is not covered. */
        int widest = f->module->lanes > 4 ? f->module->lanes : 4;
        if (!emit_fixture_runs_here(m) || m->subgroup > widest)
            continue;
        for (int c = 0; c < 2; c++) {
            bool in_turn = (i + c) % 2 == 0 || !emit_fixture_has("clang");
            if (!emit_fixture_has(compilers[c]) || (f->thin && !in_turn) ||
                (EMIT_FIXTURE_ONCE && runs > 0))
                continue;
            target_source source = target_emit(target_find("cpu"), &f->arena, f->module, m);
            emitted kernel = emit_fixture_compile(source, m, compilers[c], f->traps, f->idle);
            check(state, &kernel);
            runtime_library_close(kernel.library);
            runs++;
        }
    }
    assert_true(runs > 0);
    emit_fixture_threads_run(f, check, state);
}

#endif
