/* The figures in the log of a compilation, in the forms that versions of the compiler write. */
#include "runtime/cuda_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char newest[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function 'croft_x' for 'sm_90a'\n"
    "ptxas info    : Function properties for croft_x\n"
    "ptxas         .     80 bytes stack frame, 12 bytes spill stores, 20 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 96 bytes cumulative stack size, "
    "1024 bytes smem, 408 bytes cmem[0]\n"
    "ptxas info    : Compile time = 6.904 ms\n"
    "ptxas info    : Function properties for _Z6helperfPf\n"
    "ptxas         .     160 bytes stack frame, 0 bytes spill stores, 4 bytes spill loads\n";

static const char oldest[] = "ptxas info    : 0 bytes gmem\n"
                             "ptxas info    : Compiling entry function 'croft_x' for 'sm_80'\n"
                             "ptxas info    : Function properties for croft_x\n"
                             "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 8 registers, 368 bytes cmem[0]\n";

static void figures_are_those_of_the_entry_and_all_spills(void **state) {
    (void)state;
    runtime_facts facts;
    assert_true(cuda_log_read(newest, "croft_x", &facts));
    assert_string_equal(facts.from, "ptxas");
    assert_int_equal(facts.registers, 32);
    assert_int_equal(facts.stack_bytes, 96);
    assert_int_equal(facts.spill_bytes, 12 + 20 + 4);
    assert_int_equal(facts.scratch_bytes, 1024);
    assert_int_equal(facts.barriers, 1);
}

static void what_is_left_out_is_0(void **state) {
    (void)state;
    runtime_facts facts;
    assert_true(cuda_log_read(oldest, "croft_x", &facts));
    assert_int_equal(facts.registers, 8);
    assert_int_equal(facts.stack_bytes, 0);
    assert_int_equal(facts.spill_bytes, 0);
    assert_int_equal(facts.scratch_bytes, 0);
    assert_int_equal(facts.barriers, 0);
}

static void another_entry_is_not_taken_for_this_one(void **state) {
    (void)state;
    runtime_facts facts;
    assert_false(cuda_log_read(oldest, "croft", &facts));
    assert_false(cuda_log_read(oldest, "croft_x2", &facts));
    assert_false(cuda_log_read(oldest, "roft_x", &facts));
}

/* Any line but the time and the global bytes is needed. */
static void a_log_that_lacks_a_line_is_not_read(void **state) {
    (void)state;
    runtime_facts facts;
    char log[sizeof oldest];
    int line = 0;
    for (const char *at = oldest; *at != '\0'; at = strchr(at, '\n') + 1, line++) {
        const char *rest = strchr(at, '\n') + 1;
        memcpy(log, oldest, (size_t)(at - oldest));
        strcpy(log + (at - oldest), rest);
        assert_int_equal(cuda_log_read(log, "croft_x", &facts), line == 0);
    }
    assert_int_equal(line, 5);
    assert_false(cuda_log_read("", "croft_x", &facts));
}

static void spills_that_are_not_told_make_a_log_unreadable(void **state) {
    (void)state;
    runtime_facts facts;
    char log[sizeof oldest];
    strcpy(log, oldest);
    memcpy(strstr(log, "spill loads"), "other loads", 11);
    assert_false(cuda_log_read(log, "croft_x", &facts));
    strcpy(log, oldest);
    memcpy(strstr(log, "8 registers"), "x registers", 11);
    assert_false(cuda_log_read(log, "croft_x", &facts));
}

static void what_is_no_figure_is_a_warning(void **state) {
    (void)state;
    static runtime_report report;
    char log[2048];
    report.text[0] = '\0';
    cuda_log_warnings(newest, &report);
    assert_string_equal(report.text, "");
    snprintf(log, sizeof log, "k.cu(3): warning #177-D: `t` is not used\n\n%s%s", newest,
             "ptxas warning : a count was adjusted");
    cuda_log_warnings(log, &report);
    assert_string_equal(report.text, "k.cu(3): warning #177-D: `t` is not used\n"
                                     "ptxas warning : a count was adjusted");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(figures_are_those_of_the_entry_and_all_spills),
        cmocka_unit_test(what_is_left_out_is_0),
        cmocka_unit_test(another_entry_is_not_taken_for_this_one),
        cmocka_unit_test(a_log_that_lacks_a_line_is_not_read),
        cmocka_unit_test(spills_that_are_not_told_make_a_log_unreadable),
        cmocka_unit_test(what_is_no_figure_is_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
