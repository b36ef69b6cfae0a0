/* The cuda text of every example computes the simulator's bytes, NaN payloads aside: in each of its
 * types, with aligned and ragged rows, of a known and an open width, by both families of plans, and
 * by plans whose rows share a subgroup or a group, or whose accesses stream. Of the variants of a
 * kernel that one runs whose conditions the arrays meet. The text runs on the host
 * (cuda_lockstep.h); what stands beside the rows of an output stays as it was.
 *
 * Skips where no C++ compiler is installed: then the tests of emitted text do not run cuda's
 * either.
 *
 * sanitized: check-long
 */
#include "compile/compile.h"
#include "runtime/condition.h"
#include "sim/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda_lockstep.h"
#include "example_files.h"
#include "packed_plan.h"
#include "sanitized.h"

enum { SKIPPED = 77, ROWS = 3, ARRAYS_MAX = 8, WORDS_MAX = 64, BYTES_MAX = 1 << 19 };

typedef struct example_case {
    base_dtype dtype;
    int width;
    int pad; /* elements between rows */
    bool known;
    planner_family family;
    int offset;                  /* elements from an aligned address to the first of each tensor */
    const char *rows, *elements; /* digits in place of those of the plan; NULL: the plan's */
    const char *set;             /* of the plan; NULL: nothing */
} example_case;

#define STREAM "policy=stream"
#define LAST   "policy=evict_last"

static const example_case cases[] = {
    {.dtype = BASE_F32, .width = 1009, .known = true, .family = PLANNER_ROW},
    {.dtype = BASE_F16, .width = 1024, .known = true, .offset = 1, .family = PLANNER_ROW},
    {.dtype = BASE_BF16, .width = 77, .pad = 3, .family = PLANNER_ROW},
    {.dtype = BASE_F32, .width = 4100, .offset = 3, .family = PLANNER_ROW},
    {.dtype = BASE_F16, .width = 5, .family = PLANNER_FALLBACK},
    {.dtype = BASE_F32, .width = 130, .pad = 2, .known = true, .family = PLANNER_FALLBACK},
    {.dtype = BASE_F16, .width = 1024, .known = true, .family = PLANNER_ROW},
    {.dtype = BASE_F32, .width = 4100, .family = PLANNER_ROW},
    {.dtype = BASE_F32, .width = 1009, .pad = 3, .known = true, .offset = 4, .family = PLANNER_ROW},
    {BASE_F32, 60, 0, false, PLANNER_ROW, 0, "lane 4 | group *", "slot 4 | lane 8 | step *", NULL},
    {BASE_F16, 21, 1, false, PLANNER_ROW, 1, "lane 16 | subgroup 2 | group *", "lane 2 | step *",
     NULL},
    {BASE_F32, 300, 0, false, PLANNER_ROW, 0, "subgroup 4 | group *", "slot 4 | lane 32 | step *",
     NULL},
    {BASE_BF16, 400, 0, false, PLANNER_ROW, 0, "subgroup 2 | group *",
     "slot 4 | lane 32 | subgroup 3 | step *", NULL},
    {BASE_F32, 90, 0, false, PLANNER_ROW, 0, "group 2 | step *", "slot 2 | lane 32 | step *", NULL},
    {.dtype = BASE_F32, .width = 1009, .known = true, .set = STREAM},
    {.dtype = BASE_F16, .width = 1024, .known = true, .offset = 1, .set = STREAM},
    {.dtype = BASE_BF16, .width = 4100, .set = STREAM},
    {.dtype = BASE_F32, .width = 77, .pad = 3, .family = PLANNER_FALLBACK, .set = STREAM},
    {.dtype = BASE_F32, .width = 1009, .known = true, .set = LAST},
    {.dtype = BASE_BF16, .width = 1024, .known = true, .offset = 1, .set = LAST},
};

enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct arrays {
    char *memory[2][ARRAYS_MAX];                  /* aligned */
    void *expected[ARRAYS_MAX], *got[ARRAYS_MAX]; /* in it; inputs are in both */
    runtime_tensor tensors[WORDS_MAX];            /* by parameter */
    base_dtype dtypes[ARRAYS_MAX];
    int64_t bytes[ARRAYS_MAX];
    int count;
    int64_t words[WORDS_MAX];
} arrays;

/* ---- arguments ---- */

static uint64_t next_bits(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 24;
}

static void fill(void *memory, base_dtype dtype, int64_t count, int width, uint64_t *state) {
    for (int64_t i = 0; i < count; i++) {
        uint64_t any = next_bits(state);
        float value = (float)((int)(any % 4001) - 2000) / 512.0f;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        int64_t element = (int64_t)(any % (uint64_t)(width + 2)) - 1; /* of labels */
        if (dtype == BASE_F32)
            element = (int64_t)bits;
        else if (dtype == BASE_F16)
            element = base_f16_from_double((double)value);
        else if (dtype == BASE_BF16)
            element = bits >> 16;
        memcpy((char *)memory + i * base_dtype_size(dtype), &element,
               (size_t)base_dtype_size(dtype));
    }
}

/* Rows of tensors lie `pad` elements apart. */
static void make_arrays(const ir_module *m, const example_case *c, arrays *a) {
    uint64_t state = (uint64_t)c->width * 31 + 7;
    int64_t word = m->extents.symbol_count;
    memset(a->words, 0, sizeof a->words);
    for (int64_t i = 0; i < word; i++)
        a->words[i] = strcmp(m->extents.symbols[i].name, "N") == 0 ? c->width : ROWS;
    a->count = 0;
    for (int p = 0; p < m->parameter_count; p++) {
        const ir_parameter *parameter = &m->parameters[p];
        int64_t extent[IR_MAX_RANK], stride[IR_MAX_RANK], step = 1, count = 1;
        if (!parameter->is_tensor)
            continue;
        for (int d = parameter->value->type.rank - 1; d >= 0; d--) {
            assert_true(
                layout_extent_evaluate(parameter->value->type.extent[d], a->words, &extent[d]));
            stride[d] = step;
            count = stride[d] * extent[d];
            step = step * extent[d] + (d == parameter->value->type.rank - 1 ? c->pad : 0);
        }
        int i = a->count++;
        int64_t past = c->offset * base_dtype_size(parameter->dtype);
        a->expected[i] = a->memory[0][i] + past;
        a->got[i] = a->memory[1][i] + past;
        a->tensors[p] = (runtime_tensor){.address = (uint64_t)(uintptr_t)a->got[i],
                                         .rank = parameter->value->type.rank,
                                         .element_bytes = base_dtype_size(parameter->dtype)};
        for (int d = 0; d < parameter->value->type.rank; d++) {
            a->words[word++] = a->tensors[p].strides[d] = stride[d];
            a->tensors[p].extents[d] = extent[d];
        }
        a->dtypes[i] = parameter->dtype;
        a->bytes[i] = count * base_dtype_size(parameter->dtype);
        assert_true(a->count <= ARRAYS_MAX && a->bytes[i] <= BYTES_MAX - 128);
        memset(a->memory[0][i], 1, BYTES_MAX);
        if (parameter->mode != IR_OUT)
            fill(a->expected[i], parameter->dtype, count, c->width, &state);
        memcpy(a->memory[1][i], a->memory[0][i], BYTES_MAX);
    }
    for (int p = 0; p < m->parameter_count; p++) {
        float real = (float)m->parameters[p].initial.real;
        if (m->parameters[p].is_tensor)
            continue;
        if (m->parameters[p].dtype == BASE_F32)
            memcpy(&a->words[word], &real, sizeof real);
        else
            a->words[word] = m->parameters[p].initial.integer & 0xffffffff;
        word++;
    }
    assert_true(word <= WORDS_MAX);
}

/* ---- comparing ---- */

static bool is_nan(base_dtype dtype, uint64_t bits) {
    if (dtype == BASE_F32)
        return (bits & 0x7fffffff) > 0x7f800000;
    if (dtype == BASE_F16)
        return (bits & 0x7fff) > 0x7c00;
    return dtype == BASE_BF16 && (bits & 0x7fff) > 0x7f80;
}

static void compare(const arrays *a, const char *name, const example_case *c) {
    for (int i = 0; i < a->count; i++) {
        int64_t size = base_dtype_size(a->dtypes[i]);
        for (int64_t at = 0; at + size <= a->bytes[i] + 64; at += size) {
            uint64_t expected = 0, got = 0;
            memcpy(&expected, (char *)a->expected[i] + at, (size_t)size);
            memcpy(&got, (char *)a->got[i] + at, (size_t)size);
            if (expected == got || (is_nan(a->dtypes[i], expected) && is_nan(a->dtypes[i], got)))
                continue;
            fail_msg("%s (%s, N %d): element %lld of tensor %d is %llx, of the simulator %llx",
                     name, base_dtype_name(c->dtype), c->width, (long long)(at / size), i,
                     (unsigned long long)got, (unsigned long long)expected);
        }
    }
}

/* ---- an example ---- */

/* The variant whose conditions the arrays meet; whether it has any. */
static bool choose_variant(const compile_request *request, compile_result *result,
                           const arrays *a) {
    bool holds[WORDS_MAX] = {false};
    runtime_arguments arguments = {.tensors = a->tensors, .sizes = a->words};
    assert_true(result->condition_count <= WORDS_MAX);
    for (int64_t i = 0; i < result->condition_count; i++)
        holds[i] = runtime_condition_holds(&result->conditions[i], &arguments, NULL);
    assert_int_equal(compile_specialise(request, result, holds), COMPILE_OK);
    return result->module->condition_count > 0;
}

/* Whether the kernel has such a plan: some have no row of their own, or one that cannot share, or a
 * text that leaves nothing to be set. */
static bool is_refused(const compile_result *result, const example_case *c) {
    if (result->status == COMPILE_OK || (c->family != PLANNER_ROW && c->set == NULL))
        return false;
    const char *slug = result->diagnostics.items[0].slug;
    return strcmp(slug, "row-plan-refused") == 0 ||
           (c->rows != NULL && strncmp(slug, "plan-", 5) == 0);
}

static bool compile_case(const base_source *source, const example_case *c, arrays *a,
                         compile_result *result, int *variants) {
    text_argument arguments[] = {{.name = "T", .kind = TEXT_ARGUMENT_DTYPE, .dtype = c->dtype},
                                 {.name = "N",
                                  .kind = TEXT_ARGUMENT_NUMBER,
                                  .is_integer = true,
                                  .integer = c->width,
                                  .number = c->width}};
    bool sized = c->known && strstr(source->text, ", N]") != NULL;
    const planner_options bits = {.portable = true,
                                  .set = c->set}; /* native forms have bits of their own */
    compile_request request = {.source = source,
                               .arguments = arguments,
                               .argument_count = sized ? 2 : 1,
                               .partial = true,
                               .machine = machine_find("sm_90"),
                               .planning = &bits,
                               .family = c->family,
                               .stage = COMPILE_TO_SOURCE};
    base_source packed;
    compile_run(&request, result);
    if (c->rows != NULL && result->status == COMPILE_OK) {
        packed = packed_plan(result, c->rows, c->elements);
        request.plan = &packed;
        compile_free(result);
        compile_run(&request, result);
    }
    if (is_refused(result, c))
        return false;
    if (result->status != COMPILE_OK)
        fail_msg("%s: %s", source->name, result->diagnostics.items[0].message);
    make_arrays(result->module, c, a);
    *variants += choose_variant(&request, result, a);
    return true;
}

static void run_case(const base_source *source, const example_case *c, arrays *a, int *runs,
                     int *variants) {
    compile_result result;
    jmp_buf exhausted;
    if (!compile_case(source, c, a, &result, variants)) {
        compile_free(&result);
        return;
    }
    result.arena.exhausted = &exhausted;
    assert_int_equal(setjmp(exhausted), 0);
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &result.arena);
    sim_options options = {.last_group = -1};
    assert_int_equal(
        sim_thread_run(&result.arena, result.module, a->expected, a->words, &options, &diagnostics),
        SIM_OK);
    bool streams = strstr(result.source_text, "store_once_") != NULL;
    assert_int_equal(streams, c->set != NULL && strcmp(c->set, STREAM) == 0);
    bool stays = strstr(result.source_text, "load_last_") != NULL;
    assert_int_equal(stays, c->set != NULL && strcmp(c->set, LAST) == 0);
    lockstep_kernel kernel;
    assert_true(lockstep_open(&kernel, &result.arena, result.module, machine_find("sm_90")));
    lockstep_call(&kernel, a->got, a->words, 0, sim_thread_groups(result.module, a->words));
    lockstep_close(&kernel);
    compare(a, source->name, c);
    compile_free(&result);
    ++*runs;
}

static void every_example_gives_the_bytes_of_the_simulator(void **state) {
    (void)state;
    static example_files files;
    arrays a;
    int runs = 0, variants = 0, packed = 0;
    size_t examples = 0;
    size_t share = getenv("CROFT_TEST_LONG") != NULL ? 1 : 6;
    for (int i = 0; i < ARRAYS_MAX; i++) {
        a.memory[0][i] = aligned_alloc(64, BYTES_MAX);
        a.memory[1][i] = aligned_alloc(64, BYTES_MAX);
        assert_true(a.memory[0][i] != NULL && a.memory[1][i] != NULL);
    }
    example_files_open(&files);
    while (example_files_next(&files)) {
        base_source source = {.name = files.name, .text = files.text, .length = strlen(files.text)};
        for (size_t i = 0; i < CASES; i++)
            if (i % share == examples % share)
                run_case(&source, &cases[i], &a, cases[i].rows != NULL ? &packed : &runs,
                         &variants);
        examples++;
    }
    example_files_close(&files);
    printf("%d by plans as they are, %d by rows that share\n", runs, packed);
    int least = (int)share; /* of so many cases one was taken */
    assert_true(runs >= 90 / least && variants >= 24 / least && packed >= 30 / least);
    for (int i = 0; i < ARRAYS_MAX; i++) {
        free(a.memory[0][i]);
        free(a.memory[1][i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_gives_the_bytes_of_the_simulator),
    };
    if (lockstep_compiler() == NULL) {
        puts("no C++ compiler is installed");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
