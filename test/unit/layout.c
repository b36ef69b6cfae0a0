/* Layouts: the map is a bijection with an exact inverse, by enumeration; text comes back. */
#include "layout/layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static layout_axis read(const char *text) {
    layout_axis axis;
    size_t used = 0;
    const char *reason = NULL;
    if (!layout_axis_parse(text, strlen(text), &axis, &used, &reason))
        fail_msg("%s: %s", text, reason);
    assert_int_equal(used, strlen(text));
    return axis;
}

static const char *const legal[] = {
    "none",
    "lane 8",
    "slot 4",
    "step 5",
    "group 7",
    "lane 8 | slot 4 | step 3",
    "slot 4 | lane 8 | step 3",
    "slot 2 | lane 3 | group 5",
    "lane 1 | slot 1 | step 1",
    "slot 3 | lane 5 | step 2 | group 4",
    "lane 7 | slot 3 | group 2 | step 6",
    "step 4 | slot 2",
    "subgroup 2 | lane 4 | block 3 | subgroup 5",
    "slot 4 | lane 8 | slot 2",
    "slot 4 | lane 8 | slot 2 | step 3",
    "lane 2 @4 | lane 4 @1 | slot 3",
    "lane 3 @8 | slot 2 | lane 4 @2 | lane 2 @1",
    "lane 4 | slot 8 xor 21",
    "lane 2 @2 | lane 2 @1 | slot 2 xor 3",
    "slot 2 @9 | lane 4 | slot 3 @3 | step 2 | slot 3 @1",
};

/* Every position, in mixed-radix order of the holders, maps to a different index below the product
 * of the radices; owner is its inverse. */
static void every_index_has_exactly_one_position(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++) {
        layout_axis axis = read(legal[i]);
        int64_t radix[LAYOUT_HOLDER_COUNT], total = 1;
        for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
            radix[h] = layout_axis_radix(&axis, (layout_holder)h);
            total *= radix[h];
        }
        char seen[1024] = {0};
        assert_true(total <= (int64_t)sizeof seen);
        for (int64_t n = 0; n < total; n++) {
            int64_t rest = n, position[LAYOUT_HOLDER_COUNT], back[LAYOUT_HOLDER_COUNT];
            for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
                position[h] = rest % radix[h];
                rest /= radix[h];
            }
            int64_t index = layout_axis_logical(&axis, position);
            assert_in_range(index, 0, total - 1);
            assert_false(seen[index]);
            seen[index] = 1;
            layout_axis_owner(&axis, index, back);
            assert_memory_equal(back, position, sizeof back);
        }
    }
}

static void runtime_radix_has_an_exact_inverse_without_bound(void **state) {
    (void)state;
    layout_axis axis = read("lane 8 | slot 4 | step *");
    const int64_t indices[] = {0, 1, 31, 32, 4095, 1000003, INT64_MAX};
    for (int i = 0; i < 7; i++) {
        int64_t position[LAYOUT_HOLDER_COUNT];
        layout_axis_owner(&axis, indices[i], position);
        assert_int_equal(position[LAYOUT_LANE], indices[i] % 8);
        assert_int_equal(position[LAYOUT_SLOT], indices[i] / 8 % 4);
        assert_int_equal(position[LAYOUT_STEP], indices[i] / 32);
        assert_int_equal(layout_axis_logical(&axis, position), indices[i]);
    }
}

static void weights_radices_and_chunk_follow_the_digits(void **state) {
    (void)state;
    layout_axis axis = read("lane 8 | slot 4 | step *");
    assert_int_equal(layout_axis_weight(&axis, LAYOUT_LANE), 1);
    assert_int_equal(layout_axis_weight(&axis, LAYOUT_SLOT), 8);
    assert_int_equal(layout_axis_weight(&axis, LAYOUT_STEP), 32);
    assert_int_equal(layout_axis_weight(&axis, LAYOUT_GROUP), 0);
    assert_int_equal(layout_axis_radix(&axis, LAYOUT_SLOT), 4);
    assert_int_equal(layout_axis_radix(&axis, LAYOUT_STEP), 0);
    assert_int_equal(layout_axis_radix(&axis, LAYOUT_GROUP), 1);
    assert_int_equal(layout_axis_chunk(&axis), 32);
    assert_true(layout_axis_has(&axis, LAYOUT_STEP));
    assert_false(layout_axis_has(&axis, LAYOUT_GROUP));
    layout_axis other = read("lane 8 | slot 4 | step 2");
    assert_true(layout_axis_equal(&axis, &axis));
    assert_false(layout_axis_equal(&axis, &other));
}

static void printed_text_reads_back(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    for (size_t i = 0; i < sizeof legal / sizeof legal[0]; i++) {
        layout_axis axis = read(legal[i]);
        base_text out;
        base_text_init(&out, &arena);
        layout_axis_print(&out, &axis);
        assert_string_equal(out.bytes, legal[i]);
    }
    base_arena_free(&arena);
}

static void ill_formed_digits_are_refused_where_they_stand(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t at;
        const char *reason;
    } cases[] = {
        {"", 0, "expected a holder"},
        {"warp 8", 0, "expected a holder"},
        {"lane 8 | ", 9, "expected a holder"},
        {"lane", 4, "expected a radix"},
        {"lane 0", 5, "expected a radix"},
        {"lane x", 5, "expected a radix"},
        {"lane 99999999999999999999", 5, "a number that does not fit"},
        {"step * | group *", 0, "only the most significant"},
        {"lane 2 | step * | slot 4", 9, "only the most significant"},
        {"lane 2 | group * | step 4", 9, "only the most significant"},
        {"step * | group 4 | slot 2", 0, "only the most significant"},
        {"lane *", 0, "slot, lane, subgroup and block digits have constant"},
        {"lane 8 | block *", 9, "slot, lane, subgroup and block digits have constant"},
        {"lane 4611686018427387904 | slot 4", 27, "the product of the radices"},
        {"lane 4 @", 8, "expected a stride"},
        {"lane 4 @0", 8, "expected a stride"},
        {"lane 4 @99999999999999999999", 8, "a number that does not fit"},
        {"lane 8 | lane 4 @4", 9, "two digits of one holder overlap"},
        {"lane 8 | slot 2 | lane 4 @1", 18, "two digits of one holder overlap"},
        {"lane 8 | lane 4 @12", 9, "two digits of one holder overlap"},
        {"lane 4 @2 | lane 2", 12, "two digits of one holder overlap"},
        {"step 4 @4611686018427387904", 0, "stride times radix does not fit"},
        {"slot 1 | lane 1 | step 1 | group 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1 "
         "| slot 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1",
         145, "an axis has at most"},
        {"lane 8 | slot 3 xor 1", 9, "with xor every radix"},
        {"lane 8 | step * xor 1", 9, "with xor every radix"},
        {"lane 8 | slot 4 xor 32", 9, "xor is below"},
        {"lane 8 xor x", 11, "expected what to xor with"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_axis axis;
        size_t used = 99;
        const char *reason = "none";
        assert_false(
            layout_axis_parse(cases[i].text, strlen(cases[i].text), &axis, &used, &reason));
        assert_int_equal(used, cases[i].at);
        if (strncmp(reason, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("`%s` was refused because: %s", cases[i].text, reason);
    }
}

static void steps_of_parts_may_have_a_runtime_radix(void **state) {
    (void)state;
    static const char *const texts[] = {"step * | group 4", "lane 2 | slot 4 | step * | group 16"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        layout_axis axis = read(texts[i]);
        base_arena arena;
        base_arena_init(&arena, base_allocator_default(), NULL);
        base_text out;
        base_text_init(&out, &arena);
        layout_axis_print(&out, &axis);
        assert_string_equal(out.bytes, texts[i]);
        assert_int_equal(layout_axis_radix(&axis, LAYOUT_STEP), 0);
        base_arena_free(&arena);
    }
}

static void weights_and_strides_of_each_digit(void **state) {
    (void)state;
    layout_axis axis = read("slot 4 | lane 8 | slot 2 | step *");
    const int64_t weight[] = {1, 4, 32, 64}, stride[] = {1, 1, 4, 1};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(layout_axis_digit_weight(&axis, i), weight[i]);
        assert_int_equal(layout_axis_digit_stride(&axis, i), stride[i]);
    }
    assert_int_equal(layout_axis_weight(&axis, LAYOUT_SLOT), 1);
    assert_int_equal(layout_axis_radix(&axis, LAYOUT_SLOT), 8);
    assert_int_equal(layout_axis_chunk(&axis), 64);
    layout_axis written = read("slot 4 @1 | lane 8 | slot 2 @4 | step *");
    assert_true(layout_axis_equal(&axis, &written));
    layout_axis swapped = read("slot 4 @2 | lane 8 | slot 2 @1 | step *");
    assert_false(layout_axis_equal(&axis, &swapped));
    const int64_t position[LAYOUT_HOLDER_COUNT] = {[LAYOUT_SLOT] = 6, [LAYOUT_LANE] = 5};
    assert_int_equal(layout_axis_logical(&axis, position), 2 + 5 * 4 + 32);
    assert_int_equal(layout_axis_logical(&swapped, position), 3 + 5 * 4 + 0);
}

static void strides_of_a_holder_partition_its_range_over_all_axes(void **state) {
    (void)state;
    static const struct {
        const char *axis[3];
        const char *reason; /* NULL: a partition */
        int at_axis, at_digit;
    } cases[] = {
        {{"lane 8", "slot 4", "none"}, NULL, 0, 0},
        {{"lane 8", "lane 4", "none"}, NULL, 0, 0}, /* the default goes on over the axes */
        {{"lane 4 @8", "lane 8 @1", "none"}, NULL, 0, 0},
        {{"lane 4 @2 | slot 2", "lane 3 @8", "lane 2 @1"}, NULL, 0, 0},
        {{"lane 1 @7", "slot 4", "none"}, NULL, 0, 0}, /* a digit of radix 1 has no weight */
        {{"slot 2 | step * @4", "step 4 @1", "none"}, NULL, 0, 0},
        {{"lane 4 @8", "slot 4", "none"}, "the strides of a holder leave a gap", 0, 0},
        {{"lane 4", "slot 2 | lane 2 @8", "none"}, "the strides of a holder leave a gap", 1, 1},
        {{"lane 8", "lane 2 @4", "none"}, "two digits of one holder overlap", 1, 0},
        {{"group *", "lane 2", "group 4"}, "nothing of a holder", 2, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_axis axes[3];
        int axis = -1, digit = -1;
        for (int a = 0; a < 3; a++)
            axes[a] = read(cases[i].axis[a]);
        layout_axes_resolve(axes, 3);
        const char *reason = layout_axes_partition(axes, 3, &axis, &digit);
        if (cases[i].reason == NULL) {
            if (reason != NULL)
                fail_msg("case %zu: %s", i, reason);
            continue;
        }
        if (reason == NULL || strncmp(reason, cases[i].reason, strlen(cases[i].reason)) != 0)
            fail_msg("case %zu: %s", i, reason == NULL ? "accepted" : reason);
        assert_int_equal(axis, cases[i].at_axis);
        assert_int_equal(digit, cases[i].at_digit);
    }
}

static void reading_stops_after_the_last_digit(void **state) {
    (void)state;
    layout_axis axis;
    size_t used = 0;
    const char *reason = NULL, *text = "  lane 8 | step *   # rest";
    assert_true(layout_axis_parse(text, strlen(text), &axis, &used, &reason));
    assert_int_equal(used, 17);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_index_has_exactly_one_position),
        cmocka_unit_test(runtime_radix_has_an_exact_inverse_without_bound),
        cmocka_unit_test(weights_radices_and_chunk_follow_the_digits),
        cmocka_unit_test(printed_text_reads_back),
        cmocka_unit_test(ill_formed_digits_are_refused_where_they_stand),
        cmocka_unit_test(steps_of_parts_may_have_a_runtime_radix),
        cmocka_unit_test(weights_and_strides_of_each_digit),
        cmocka_unit_test(strides_of_a_holder_partition_its_range_over_all_axes),
        cmocka_unit_test(reading_stops_after_the_last_digit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
