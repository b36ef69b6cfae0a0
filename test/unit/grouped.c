/* Counts of grouped accesses (analysis/grouped.h) on texts of level thread. */
#include "arena_fixture.h"

#include "analysis/grouped.h"
#include "text/ir_parse.h"

#include <stdio.h>
#include <string.h>

#define HEAD                                                                                       \
    "kernel @k[R, N](%x: in f32[R, N], %y: out f32[R, N]) level thread\n  source none\n"           \
    "  program row: R\n  team 256\n  subgroup 32\n"                                                \
    "  axis row program row extent R digits group *\n"                                             \
    "  axis N extent N digits slot 4 | lane 32 | subgroup 8 | slot 4\n  groups R\n{\n"             \
    "  %row = group : i64\n"
#define PLACE "lane*4 + subgroup*128 + slot % 4*1 + slot/4*1024"

static analysis_grouped count(fixture *f, const char *body) {
    char text[2048];
    base_diagnostics diagnostics;
    snprintf(text, sizeof text, "%s%s}\n", HEAD, body);
    base_diagnostics_init(&diagnostics, &f->arena);
    const base_source source = {.name = "k.ir", .text = text, .length = strlen(text)};
    const ir_module *module = text_ir_parse(&f->arena, &source, &diagnostics);
    if (module == NULL)
        fail_msg("%s", render(f, &diagnostics));
    return analysis_grouped_count(module);
}

static void groups_of_slots(void **state) {
    analysis_grouped grouped = count(*state, "  %t = load %x[%row, " PLACE "] width=4 : f32(16)\n"
                                             "  %u = load %x[%row, " PLACE "] width=2 : f32(16)\n"
                                             "  %v = load %x[%row, " PLACE "] width=4 : f32(16)\n"
                                             "  store %y[%row, " PLACE "], %t width=4\n");
    assert_int_equal(grouped.count, 2);
    assert_int_equal(grouped.rows[0].width, 2);
    assert_int_equal(grouped.rows[0].loads, 8);
    assert_int_equal(grouped.rows[0].stores, 0);
    assert_int_equal(grouped.rows[1].width, 4);
    assert_int_equal(grouped.rows[1].loads, 8);
    assert_int_equal(grouped.rows[1].stores, 4);
    assert_int_equal(grouped.single_loads, 0);
}

static void groups_of_lanes(void **state) {
    analysis_grouped grouped =
        count(*state, "  %t = load %x[%row, lane*1 + slot*32] width=8 : f32(4)\n");
    assert_int_equal(grouped.count, 1);
    assert_int_equal(grouped.rows[0].width, 8);
    assert_int_equal(grouped.rows[0].loads, 4);
}

static void elements_alone(void **state) {
    analysis_grouped grouped = count(*state, "  %t = load %x[%row, " PLACE "] : f32(16)\n"
                                             "  %s = load %x[%row, %row] : f32\n"
                                             "  store %y[%row, " PLACE "], %t\n");
    assert_int_equal(grouped.count, 0);
    assert_int_equal(grouped.single_loads, 17);
    assert_int_equal(grouped.single_stores, 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_of_slots, set_up, tear_down),
        cmocka_unit_test_setup_teardown(groups_of_lanes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(elements_alone, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
