/* What is said to have been meant by a name that is not known. */
#include "base/nearest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char *const names[] = {"x", "residual", "N", "--check", "--compiler", "ab"};

static void nearest_names_are_few_edits_away(void **state) {
    (void)state;
    static const struct {
        const char *wanted, *found;
    } cases[] = {
        {"residul", "residual"},
        {"resdiual", "residual"}, /* neighbours that are swapped are one edit */
        {"Residual", "residual"},
        {"--chek", "--check"},
        {"--complier", "--compiler"},
        {"n", "N"}, /* the other case of a letter is no edit */
        {"X", "x"},
        {"y", NULL}, /* a letter is near no other */
        {"ba", "ab"},
        {"cd", NULL},
        {"rest", NULL},
        {"", NULL},
        {"a_name_of_more_letters_than_are_looked_at_here", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *found = base_nearest_name(cases[i].wanted, names, sizeof names / sizeof *names);
        if (cases[i].found == NULL)
            assert_null(found);
        else
            assert_string_equal(found, cases[i].found);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_names_are_few_edits_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
