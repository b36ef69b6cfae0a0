/* What the cuda text says of single ops: masks of lanes, order in reductions, packs with their
 * alignment, limits of 32 bits, scratch beyond what a text may declare, and what is refused. */
#include "dialect_text.h"

#define LOAD  "%t = load %x[lane*1 + subgroup*32] : f32(1)\n"
#define STORE "store %y[lane*1 + subgroup*32], %r injective\n"

static const text_case cases[] = {
    /* the threads that fill the last warp are not named */
    {16,
     16,
     LOAD "%r = combine sum %t nan=propagate lanes=(8) : f32(1)\n" STORE,
     {"__launch_bounds__(32 GROUPS)", "if (threadIdx.x >= 16)", "shuffle_xor_f32(t, 0xffffu, 8)"},
     "lane & 8"},
    {64,
     32,
     LOAD "%r = combine max %t nan=propagate lanes=(16) : f32(1)\n" STORE,
     {"threadIdx.x & 63", "0xffffffffu, 16)", "(lane & 16) != 0 ? maximum_f32("},
     "threadIdx.x >="},
    {96,
     32,
     LOAD "%r = shuffle %t lanes=(2, 1, 4, 8, 16) : f32(1)\n" STORE,
     {"(lane & 1) << 1", "(lane & 2) >> 1", "shuffle_f32(t, 0xffffffffu, source, 32)"},
     NULL},
    {32,
     32,
     "%t = load %x[lane*4 + slot*1] width=4 : f32(4)\nstore %y[lane*4 + slot*1], %t "
     "injective width=4\n",
     {"const bool x_whole = is_aligned(x, 0, 4, 16);", "pack16 pack = *(const pack16 *)(x + (at));",
      "t_3 = x[at + 3];", "y[at + 3] = t_3;"},
     NULL},
    {32,
     32,
     "%n = constant 50 : i64\n%r = load %x[lane*2 + slot*1] mask=lane*2 + slot*1 < %n width=2 "
     ": f32(2)\nstore %y[lane*2 + slot*1], %r injective\n",
     {"x_whole && at + 1 < 50", "r_1 = at + 1 < 50 ? x[at + 1] : 0.0f;"},
     NULL},
    /* what is read or written once */
    {32,
     32,
     "%t = load %x[lane*4 + slot*1] width=4 policy=stream : f32(4)\nstore %y[lane*4 + slot*1], %t "
     "injective width=4 policy=stream\n",
     {"const pack16 pack = load_once_pack16((const pack16 *)(x + (at)));",
      "t_3 = load_once_f32(x + (at + 3));", "store_once_pack16((pack16 *)(y + (at)), pack16{",
      "store_once_f32(y + (at + 3), t_3);"},
     " = *(const pack16"},
    {32,
     32,
     "%n = constant 50 : i64\n%r = load %x[lane*2 + slot*1] mask=lane*2 + slot*1 < %n "
     "policy=stream "
     ": f32(2)\nstore %y[lane*2 + slot*1], %r injective mask=lane*2 + slot*1 < %n policy=stream\n",
     {"r_1 = at + 1 < 50 ? load_once_f32(x + (at + 1)) : 0.0f;",
      "if (at + 1 < 50) store_once_f32(y + (at + 1), r_1);"},
     "? x["},
    /* loads that leave the last cache last; stores have no such form */
    {32,
     32,
     "%t = load %x[lane*4 + slot*1] width=4 policy=evict_last : f32(4)\nstore %y[lane*4 + "
     "slot*1], %t injective width=4 policy=evict_last\n",
     {"const pack16 pack = load_last_pack16((const pack16 *)(x + (at)));",
      "t_3 = load_last_f32(x + (at + 3));", "*(pack16 *)(y + (at)) = pack16{",
      "asm volatile(\"ld.global.L2::cache_hint.f32 %0, [%1], %2;\" : \"=f\"(r) : \"l\"(p), "
      "\"l\"(leaves_last()) : \"memory\");"},
     "store_last"},
    /* of a tensor that is stored too the loads stay where they are: volatile, memory clobbered */
    {32,
     32,
     "%t = load %y[lane*1] policy=stream : f32(1)\n%r = add %t, %t : f32(1)\n"
     "store %y[lane*1], %r injective policy=stream\n",
     {"asm volatile(\"ld.global.cs.f32 %0, [%1];\" : \"=f\"(r) : \"l\"(p) : \"memory\");",
      "asm volatile(\"st.global.cs.f32 [%0], %1;\" : : \"l\"(p), \"f\"(a) : \"memory\");"},
     "global.nc"},
    /* past 32 bits what a lane adds has 64 */
    {32,
     32,
     "%r = load %x[lane*100000000] : f32(1)\nstore %y[lane*1], %r injective\n",
     {"const i64 at = mul_i64(thread, 100000000);"},
     "const i32 at ="},
    {64,
     32,
     LOAD "%s, %f = scratch 64 : scratch f32[64], token free\n"
          "%w = put %s[lane*1 + subgroup*32], %t, %f : token written %s\n"
          "%p = sync group %w : token published %s\n%r = get %s[lane*1 + subgroup*32], %p : "
          "f32(1)\n" STORE,
     {"__shared__ __align__(16) char scratch[256];", "__syncthreads();"},
     "extern __shared__"},
    {32,
     32,
     LOAD
     "%s, %f = scratch 20000 : scratch f32[20000], token free\n"
     "%w = put %s[lane*1], %t, %f : token written %s\n%p = sync group %w : token published %s\n"
     "%r = get %s[lane*1], %p : f32(1)\n" STORE,
     {"extern __shared__ __align__(16) char scratch[];", "__syncwarp(0xffffffffu);"},
     NULL},
    /* a warp may not store before the others have read what was there: the sync says so */
    {64,
     32,
     "%n = constant 0 : i64\n%t = load %y[%n inside] : f32\n%r = add %t, %t : f32\n"
     "sync group\nstore %y[%n inside], %r injective\n",
     {"__syncthreads();\n    // k.ir:11", "\n    y[0] = r;"},
     "thread == 0"},
    {64,
     32,
     "%n = constant 0 : i64\n%t = load %x[%n inside] : f32\nstore %y[%n inside], %t injective\n",
     {"if (thread == 0) {\n        y[0] = t;"},
     "__syncthreads"},
};

static void ops_say_what_they_should(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        base_arena arena;
        jmp_buf exhausted;
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        const ir_module *module = text_case_parse(&arena, &cases[i]);
        target_source source =
            target_emit(target_find("cuda"), &arena, module, machine_find("sm_90"));
        text_case_check(&cases[i], &source);
        bool given = strstr(source.text, "extern __shared__") != NULL;
        assert_int_equal(source.scratch_bytes, given ? 80000 : 0);
        assert_int_equal(source.threads, (cases[i].lanes + 31) / 32 * 32);
        assert_string_equal(source.entry, "croft_k");
        base_arena_free(&arena);
    }
}

static const char *refusal(const ir_module *module, const char *name) {
    return text_case_refusal(&module->body, module, target_find("cuda"), name);
}

static void what_a_machine_lacks_is_refused(void **state) {
    (void)state;
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    ir_module *module = text_case_parse(&arena, &cases[0]);
    assert_null(refusal(module, "sm_80"));
    assert_string_equal(refusal(module, "cpu-avx2"), "the machine is not one of cuda");
    module->cluster = 2;
    assert_string_equal(refusal(module, "sm_80"), "the machine has no clusters");
    assert_null(refusal(module, "sm_90"));
    module->cluster = 16;
    assert_null(refusal(module, "sm_90"));
    module->cluster = 17;
    assert_string_equal(refusal(module, "sm_90"), "a cluster has more than 16 groups");
    module->cluster = 0;
    module->lanes = 2048;
    assert_non_null(strstr(refusal(module, "sm_90"), "more lanes than a group"));
    text_case large = {
        32, 32, "%s, %f = scratch 50000 : scratch f32[50000], token free\n", {0}, NULL};
    module = text_case_parse(&arena, &large);
    assert_null(refusal(module, "sm_90"));
    assert_string_equal(refusal(module, "sm_80"),
                        "the scratch of a group is more than the machine has");
    base_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_say_what_they_should),
        cmocka_unit_test(what_a_machine_lacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
