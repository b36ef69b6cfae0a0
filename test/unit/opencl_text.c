/* What the OpenCL text says of single ops: exchanges through local memory and where they wait,
 * order in reductions, packs with their alignment, scratch, what all lanes write alike, and what is
 * refused. */
#include "dialect_text.h"

#define LOAD  "%t = load %x[lane*1 + subgroup*32] : f32(1)\n"
#define STORE "store %y[lane*1 + subgroup*32], %r injective\n"
#define WAIT  "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"

static const text_case cases[] = {
    /* a group has the lanes of the team, no more */
    {16,
     16,
     LOAD "%r = combine sum %t nan=propagate lanes=(8) : f32(1)\n" STORE,
     {"reqd_work_group_size(16, 1, 1)",
      "((__local f32 *)exchange)[thread] = t;\n    " WAIT
      "\n    const f32 r_other8 = ((__local f32 *)exchange)[thread ^ 8];",
      "__global uchar *workspace, const struct croft_words arguments)"},
     "lane & 8"},
    {64,
     32,
     LOAD "%r = combine max %t nan=propagate lanes=(16) : f32(1)\n" STORE,
     {"(get_local_id(0) & 63)", "(lane & 16) != 0 ? maximum_f32("},
     "sub_group"},
    {96,
     32,
     LOAD "%r = shuffle %t lanes=(2, 1, 4, 8, 16) : f32(1)\n" STORE,
     {"(lane & 1) << 1", "(lane & 2) >> 1", "[subgroup * 32 + (source)]"},
     NULL},
    /* the first exchange waits once; so does the next, which goes through another piece */
    {32,
     32,
     LOAD "%r = combine sum %t nan=propagate lanes=(2, 1) : f32(1)\n" STORE,
     {"__local uchar scratch[512] __attribute__((aligned(16)));",
      "__local uchar *const exchange2 = scratch + 256;",
      "    const f32 r_lanes2 = t + r_other2;\n    ((__local f32 *)exchange2)[thread] = r_lanes2;"},
     WAIT "\n    ((__local f32 *)exchange"},
    /* in a loop others may still read what the iteration before has put there */
    {32,
     32,
     LOAD "%n = constant 3 : i64\n%z = constant 0 : i64\n%o = constant 1 : i64\n"
          "%r = for %z, %n, %o, %t : f32(1) (%k: i64, %c: f32(1)) {\n"
          "%s = combine sum %c nan=propagate lanes=(1) : f32(1)\nyield %s\n}\n" STORE,
     {WAIT "\n        ((__local f32 *)exchange)[thread] = c;"},
     NULL},
    {32,
     32,
     "%t = load %x[lane*4 + slot*1] width=4 : f32(4)\nstore %y[lane*4 + slot*1], %t "
     "injective width=4\n",
     {"const bool x_whole = is_aligned(x, 0, 4, 16);",
      "const float4 pack = *(__global const float4 *)(x + (at));", "t_3 = pack.s3;",
      "*(__global float4 *)(y + (at)) = (float4)(t_0, t_1, t_2, t_3);"},
     NULL},
    {32,
     32,
     "%n = constant 50 : i64\n%r = load %x[lane*2 + slot*1] mask=lane*2 + slot*1 < %n width=2 "
     ": f32(2)\nstore %y[lane*2 + slot*1], %r injective\n",
     {"x_whole && at + 1 < 50", "r_1 = at + 1 < 50 ? x[at + 1] : 0.0f;"},
     NULL},
    /* words of the language, and what may be a macro or a type of images, are no names */
    {32,
     32,
     "%half = load %x[lane*1] : f32(1)\n%cl_khr_fp64 = add %half, %half : f32(1)\n"
     "%MAX = add %cl_khr_fp64, %half : f32(1)\nstore %y[lane*1], %MAX injective\n",
     {"const f32 half5 = x[thread];", "const f32 vcl_khr_fp64 = half5 + half5;",
      "const f32 vMAX = vcl_khr_fp64 + half5;"},
     "f32 half ="},
    {32,
     32,
     "%CLK_Rx = load %x[lane*1] : f32(1)\n%image2d_depth_t = add %CLK_Rx, %CLK_Rx : f32(1)\n"
     "%image = add %image2d_depth_t, %CLK_Rx : f32(1)\n%M2 = add %image, %CLK_Rx : f32(1)\n"
     "store %y[lane*1], %M2 injective\n",
     {"const f32 vCLK_Rx = x[thread];", "const f32 vimage2d_depth_t = vCLK_Rx + vCLK_Rx;",
      "const f32 image = vimage2d_depth_t + vCLK_Rx;", "const f32 M2 = image + vCLK_Rx;"},
     NULL},
    /* the policy reaches nothing */
    {32,
     32,
     "%t = load %x[lane*1] policy=stream : f32(1)\nstore %y[lane*1], %t injective "
     "policy=stream\n",
     {"const f32 t = x[thread];", "y[thread] = t;"},
     "_once"},
    {64,
     32,
     LOAD "%s, %f = scratch 64 : scratch f32[64], token free\n"
          "%w = put %s[lane*1 + subgroup*32], %t, %f : token written %s\n"
          "%p = sync subgroup %w : token published %s\n%r = get %s[lane*1 + subgroup*32], %p : "
          "f32(1)\n" STORE,
     {"__local uchar scratch[256] __attribute__((aligned(16)));",
      "__local f32 *const s = (__local f32 *)(scratch + 0);", "s[thread] = t;\n    // k.ir:10",
      WAIT},
     "exchange"},
    {64,
     32,
     "%n = constant 0 : i64\n%t = load %x[%n inside] : f32\nstore %y[%n inside], %t injective\n",
     {"if (thread == 0) {\n        y[0] = t;"},
     WAIT},
    /* one lane waits for nobody */
    {1,
     1,
     "%t = load %x[lane*1] : f32(1)\nsync group\nstore %y[lane*1], %t injective\n",
     {"reqd_work_group_size(1, 1, 1)"},
     "barrier"},
};

static void ops_say_what_they_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        base_arena arena;
        jmp_buf exhausted;
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        const ir_module *module = text_case_parse(&arena, &cases[i]);
        const machine *on = machine_find("opencl");
        target_source source = target_emit(target_find("opencl"), &arena, module, on);
        text_case_check(&cases[i], &source);
        assert_int_equal(source.scratch_bytes, 0);
        assert_int_equal(source.threads, cases[i].lanes);
        assert_string_equal(source.entry, "croft_k");
        base_arena_free(&arena);
    }
}

static const char *refusal(const ir_module *module, const char *name) {
    return text_case_refusal(&module->body, module, target_find("opencl"), name);
}

static void what_a_machine_lacks_is_refused(void **state) {
    (void)state;
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    ir_module *module = text_case_parse(&arena, &cases[0]);
    assert_null(refusal(module, "opencl"));
    assert_string_equal(refusal(module, "sm_90"), "the machine is not one of opencl");
    module->cluster = 2;
    assert_string_equal(refusal(module, "opencl"), "OpenCL has no clusters");
    module->cluster = 0;
    module->lanes = 2048;
    assert_non_null(strstr(refusal(module, "opencl"), "more lanes than a group"));
    text_case large = {
        32, 32, "%s, %f = scratch 50000 : scratch f32[50000], token free\n", {0}, NULL};
    module = text_case_parse(&arena, &large);
    assert_string_equal(refusal(module, "opencl"),
                        "the scratch of a group is more than the machine has");
    text_case native = {32, 32, LOAD "%r = native_exp %t : f32(1)\n" STORE, {0}, NULL};
    module = text_case_parse(&arena, &native);
    assert_non_null(strstr(refusal(module, "opencl"), "plans say `portable`"));
    base_arena_free(&arena);
}

/* A barrier that some lanes do not come to stops the group for ever. */
static void lanes_that_meet_where_some_may_not_come_are_refused(void **state) {
    (void)state;
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    text_case some = {32,
                      32,
                      LOAD "%z = constant 0 : f32\n%b = lt %t, %z : bool(1)\nwhen %b {\n"
                           "sync group\nstore %y[lane*1], %t injective\n}\n",
                      {0},
                      NULL};
    const char *reason = refusal(text_case_parse(&arena, &some), "opencl");
    assert_string_equal(
        reason, "lanes meet under a condition that is not known to be alike in all of them");
    text_case all = {32,
                     32,
                     LOAD
                     "%z = constant 0 : f32\n%f = load %x[lane*0] : f32\n%b = lt %f, %z : "
                     "bool\nif %b {\nsync group\n} else {\n}\nstore %y[lane*1], %t injective\n",
                     {0},
                     NULL};
    assert_null(refusal(text_case_parse(&arena, &all), "opencl"));
    base_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_say_what_they_should),
        cmocka_unit_test(what_a_machine_lacks_is_refused),
        cmocka_unit_test(lanes_that_meet_where_some_may_not_come_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
