/* Memory that ends: a compilation whose n-th allocation fails says so, for every n, and leaks
 * nothing. The sanitizers watch what is left over; the count of live blocks does so without them.
 *
 * Arenas take memory in chunks, so a kernel alone would fail in a few places only. The kernels are
 * repeated in a file that grows: each size moves the ends of the chunks to other places.
 */
#include "compile/compile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct meter {
    int64_t live;     /* blocks that are not freed */
    int64_t asked;    /* allocations so far */
    int64_t fails_at; /* the allocation that is refused, and all after it */
} meter;

static void *metered_resize(void *context, void *memory, size_t old_size, size_t new_size) {
    meter *m = context;
    (void)old_size;
    if (new_size == 0) {
        m->live -= memory != NULL;
        free(memory);
        return NULL;
    }
    if (m->asked++ >= m->fails_at)
        return NULL;
    m->live += memory == NULL;
    return realloc(memory, new_size);
}

static const char softmax[] = "kernel k(x: in T[R, N], y: out T[R, N], T: f32 | f16 | bf16) {\n"
                              "    program row: R\n"
                              "    t = f32(x[row, :])\n"
                              "    e = exp(t - max(t))\n"
                              "    y[row, :] = e / sum(e)\n"
                              "}\n";
static const char blocks[] = "kernel k(x: in f32[R, N], y: out f32[R]) {\n"
                             "    program row: R\n"
                             "    s = 0.0\n"
                             "    for i in 0..N step 64 {\n"
                             "        t = x[row, i : +64]\n"
                             "        if row > 3 {\n"
                             "            t = t * tanh(t)\n"
                             "        }\n"
                             "        s = s + sum(t)\n"
                             "    }\n"
                             "    y[row] = s\n"
                             "}\n";
static const char scatter[] = "kernel k(x: in i32[B, 8, 8], y: out i32[B, 8, 8]) {\n"
                              "    program b: B\n"
                              "    i = arange(64)\n"
                              "    y[b, i % 8, i // 8] = x[b, i // 8, i % 8] << 1\n"
                              "}\n";
static const char faulty[] = "kernel k(x: in f32[R, N], y: out f32[R, N]) {\n"
                             "    program row: R\n"
                             "    a = unknown + 1\n"
                             "    y[row, :] = x[row] + 1e99 + nobody(x[row, :])\n"
                             "    x[row, :] = true\n"
                             "}\n";

/* The kernel `k` of `text` after `others` kernels, each of which takes memory in the front end. */
static char *kernel_file(const char *text, int others, size_t *length) {
    size_t room = strlen(text) + (size_t)others * 128 + 1;
    char *file = malloc(room);
    assert_non_null(file);
    size_t used = 0;
    for (int i = 0; i < others; i++)
        used += (size_t)snprintf(file + used, room - used,
                                 "kernel other%d(y: out f32[N]) {\n    program i: N\n"
                                 "    y[i] = 1.0\n}\n",
                                 i);
    memcpy(file + used, text, strlen(text));
    *length = used + strlen(text);
    return file;
}

/* A result without memory can still be shown. */
static void render(const base_diagnostics *diagnostics) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    assert_int_equal(setjmp(exhausted), 0);
    base_text text;
    base_text_init(&text, &arena);
    base_diagnostics_render(&text, diagnostics);
    base_arena_free(&arena);
}

static compile_status run_limited(const base_source *source, planner_family family, meter *m) {
    compile_request request = {.allocator = {.resize = metered_resize, .context = m},
                               .source = source,
                               .kernel = "k",
                               .partial = true,
                               .machine = machine_find("cpu-avx2"),
                               .family = family,
                               .report = true,
                               .stage = COMPILE_TO_SOURCE};
    compile_result result;
    compile_run(&request, &result);
    compile_status status = result.status;
    render(&result.diagnostics);
    if (status != COMPILE_OUT_OF_MEMORY)
        assert_int_equal(result.diagnostics.count == 0, status == COMPILE_OK);
    compile_free(&result);
    assert_int_equal(m->live, 0);
    return status;
}

/* Every n until the compilation comes to its end; the number of those n. */
static int64_t fail_everywhere(const char *text, int others, planner_family family,
                               compile_status ends) {
    base_source source = {.name = "k"};
    char *file = kernel_file(text, others, &source.length);
    source.text = file;
    int64_t n = 0;
    for (;; n++) {
        meter m = {.fails_at = n};
        compile_status status = run_limited(&source, family, &m);
        if (status == ends && m.asked <= n)
            break;
        assert_int_equal(status, COMPILE_OUT_OF_MEMORY);
    }
    free(file);
    return n;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const char *const texts[] = {softmax, blocks, scatter};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        for (int others = 0; others < 40; others += 3)
            assert_true(fail_everywhere(texts[i], others,
                                        others % 2 ? PLANNER_FALLBACK : PLANNER_AUTOMATIC,
                                        COMPILE_OK) >= 4);
}

static void every_allocation_may_fail_while_findings_are_made(void **state) {
    (void)state;
    for (int others = 0; others < 120; others++)
        assert_true(fail_everywhere(faulty, others, PLANNER_AUTOMATIC, COMPILE_REJECTED) >= 1);
}

/* Adds findings until memory ends; how many were added whole. */
static int add_findings(base_arena *arena, base_diagnostics *diagnostics) {
    volatile int made = 0;
    jmp_buf exhausted;
    arena->exhausted = &exhausted;
    if (setjmp(exhausted) == 0)
        for (; made < 100; made++)
            base_diagnostics_add(diagnostics, "slug", (base_location){0},
                                 "a message that needs memory of its own, the %dth", made);
    arena->exhausted = NULL;
    return made;
}

/* With every room that a chunk may have left when the findings come. */
static void a_finding_is_whole_or_not_there(void **state) {
    (void)state;
    for (size_t room = 0; room < 512; room += 16) {
        meter m = {.fails_at = 1};
        base_arena arena;
        base_diagnostics diagnostics;
        base_arena_init(&arena, (base_allocator){metered_resize, &m}, NULL);
        base_diagnostics_init(&diagnostics, &arena);
        base_arena_alloc(&arena, 16);
        base_arena_alloc(&arena, arena.left - room);
        int made = add_findings(&arena, &diagnostics);
        assert_true(made < 100);
        assert_int_equal(diagnostics.count + diagnostics.dropped, made);
        render(&diagnostics);
        base_arena_free(&arena);
        assert_int_equal(m.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_may_fail_while_findings_are_made),
        cmocka_unit_test(a_finding_is_whole_or_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
