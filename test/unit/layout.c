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
        {"lane 99999999999999999999", 5, "a radix that does not fit"},
        {"lane 8 | lane 4", 0, "a holder has one digit"},
        {"step * | group 4", 0, "only the most significant"},
        {"step 4 | slot 2", 0, "slot, lane and subgroup digits stand below"},
        {"lane *", 0, "slot, lane and subgroup digits have constant"},
        {"lane 4611686018427387904 | slot 4", 0, "the product of the radices"},
        {"slot 1 | lane 1 | step 1 | group 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1 | slot 1 "
         "| "
         "slot 1 | slot 1 | slot 1",
         109, "an axis has at most"},
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
        cmocka_unit_test(reading_stops_after_the_last_digit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
