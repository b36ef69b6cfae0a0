/* A clone prints as its original at every level, outlives it, and is not moved by it. */
#include "ir/clone.h"
#include "compile/compile.h"
#include "ir/print.h"
#include "pass/pass.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char text[] =
    "kernel blocks(x: in T[R, N], w: in f32[N], y: inout f32[R, N], label: in i32[R],\n"
    "              loss: out f32[R], eps: f32 = 1e-5, T: f32 | f16) {\n"
    "    program row: R\n"
    "    t = f32(x[row, :])\n"
    "    s = 0.0\n"
    "    for i in 0..N step 16 {\n"
    "        u = f32(x[row, i : +16])\n"
    "        if row > 3 {\n"
    "            u = u * tanh(u)\n"
    "        }\n"
    "        s = s + sum(u)\n"
    "    }\n"
    "    y[row, :] = t * rsqrt(s / N + eps) * w[:] + y[row, :]\n"
    "    loss[row] = f32(x[row, label[row], fill=0.0])\n"
    "}\n";

static const char *print(base_arena *arena, const ir_module *module) {
    base_text out;
    base_text_init(&out, arena);
    ir_module_print(&out, module, true);
    return out.bytes;
}

static void compile(compile_result *result, compile_stage stage, planner_family family,
                    const char *size) {
    static const base_source source = {"blocks.croft", text, sizeof text - 1};
    text_argument n = {
        .name = "N", .kind = TEXT_ARGUMENT_NUMBER, .integer = 48, .number = 48, .is_integer = true};
    compile_request request = {.source = &source,
                               .arguments = &n,
                               .argument_count = size != NULL,
                               .partial = true,
                               .machine = machine_find("cpu-avx2"),
                               .family = family,
                               .stage = stage};
    compile_run(&request, result);
    if (result->status != COMPILE_OK)
        fail_msg("%s: %s", result->diagnostics.items[0].slug, result->diagnostics.items[0].message);
}

static void a_clone_prints_the_same_and_outlives_its_original(void **state) {
    (void)state;
    static const compile_stage stages[] = {COMPILE_TO_TILE, COMPILE_TO_MAPPED, COMPILE_TO_THREAD};
    for (int i = 0; i < 12; i++) {
        jmp_buf exhausted;
        base_arena arena;
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        compile_result result;
        compile(&result, stages[i % 3], i / 3 % 2 == 0 ? PLANNER_ROW : PLANNER_FALLBACK,
                i / 6 == 0 ? "N" : NULL);
        const ir_module *original = i % 3 == 0 ? result.tile : result.module;
        const char *expected = print(&arena, original);
        ir_module *clone = ir_module_clone(&arena, original);
        assert_string_equal(print(&arena, clone), expected);
        result.arena.exhausted = &exhausted;
        compile_free(&result);
        assert_string_equal(print(&arena, clone), expected);
        base_arena_free(&arena);
    }
}

static void passes_on_a_clone_leave_the_original(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    compile_result result;
    compile(&result, COMPILE_TO_THREAD, PLANNER_ROW, NULL);
    result.arena.exhausted = &exhausted;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &arena);
    pass_context context = {.plan = result.plan, .diagnostics = &diagnostics};
    const char *before = print(&arena, result.tile);
    ir_module *clone = ir_module_clone(&arena, result.tile);
    assert_int_equal(pass_map(clone, &context), PASS_CHANGED);
    assert_int_equal(pass_expand(clone, &context), PASS_CHANGED);
    assert_int_equal(clone->level, IR_THREAD);
    assert_string_equal(print(&arena, result.tile), before);
    compile_free(&result);
    base_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clone_prints_the_same_and_outlives_its_original),
        cmocka_unit_test(passes_on_a_clone_leave_the_original),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
