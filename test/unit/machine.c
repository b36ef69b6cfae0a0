/* The machine table: facts of a row that have to agree with each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machine/machine.h"

/* Who adds a machine has to say what its lanes are: a GPU without the fact would be planned for as
 * a cpu. */
static void lanes_are_threads_everywhere_but_on_a_cpu(void **state) {
    (void)state;
    for (int i = 0; machine_at(i) != NULL; i++) {
        const machine *m = machine_at(i);
        assert_int_equal(m->lanes_are_threads, strcmp(m->target, "cpu") != 0);
        assert_int_equal(machine_runs_in_step(m->name), !m->lanes_are_threads);
    }
}

static void lanes_in_step_need_no_barrier_and_no_second_subgroup(void **state) {
    (void)state;
    for (int i = 0; machine_at(i) != NULL; i++) {
        const machine *m = machine_at(i);
        if (m->lanes_are_threads)
            continue;
        assert_int_equal(m->row_subgroups, 1);
        assert_true(m->costs.barrier == 0);
    }
}

/* No flag of the table is cut off or forgotten for want of room. */
static void flags_are_split_whole(void **state) {
    (void)state;
    for (int i = 0; machine_at(i) != NULL; i++) {
        const machine *m = machine_at(i);
        machine_flags flags;
        char joined[2 * MACHINE_FLAG_TEXT] = "";
        machine_flags_split(m, &flags);
        for (int k = 0; flags.list[k] != NULL; k++) {
            strcat(joined, k > 0 ? " " : "");
            strcat(joined, flags.list[k]);
            assert_null(strchr(flags.list[k], ' '));
        }
        assert_string_equal(joined, m->compiler_flags);
    }
}

static void an_unknown_machine_is_not_said_to_run_in_step(void **state) {
    (void)state;
    assert_false(machine_runs_in_step(NULL));
    assert_false(machine_runs_in_step("cpu"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lanes_are_threads_everywhere_but_on_a_cpu),
        cmocka_unit_test(lanes_in_step_need_no_barrier_and_no_second_subgroup),
        cmocka_unit_test(flags_are_split_whole),
        cmocka_unit_test(an_unknown_machine_is_not_said_to_run_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
