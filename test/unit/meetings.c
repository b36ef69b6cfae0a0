/* Meetings of lanes (analysis/meetings.h) on kernels: which have a row plan where lanes do not run
 * in lock step. */
#include "kernel_fixture.h"

#include "pass/pass.h"
#include "planner/planner.h"

#define HEAD "kernel k(x: in f32[R, N], y: inout f32[R, N]) {\n    program row: R\n"

/* The slug that refuses the row plan of the machine, "" for none. */
static const char *refusal(const char *body, const char *sizes, const char *device) {
    static char slug[64];
    char text[1024];
    kernel_fixture f;
    snprintf(text, sizeof text, HEAD "%s}\n", body);
    kernel_fixture_lower(&f, text, sizes);
    assert_string_equal(kernel_findings(&f), "");
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f.arena);
    pass_context context = {.diagnostics = &diagnostics};
    pass_canonicalise(f.module, &context);
    bool made = planner_plan(&f.arena, f.module, machine_find(device), PLANNER_ROW, false,
                             &diagnostics) != NULL;
    snprintf(slug, sizeof slug, "%s", made ? "" : diagnostics.items[0].slug);
    kernel_fixture_free(&f);
    return slug;
}

static void cells_that_stay_with_their_lanes(void **unused) {
    (void)unused;
    static const char *const bodies[] = {
        "y[row, :] = y[row, :] + x[row, :]\ny[row, :] = y[row, :] * 2\n",
        "y[row, : N // 2] = x[row, : N // 2]\ny[row, N // 2 : N] = x[row, N // 2 : N]\n",
        "y[row, 0] = x[row, 0]\ny[row, 1 : +8] = x[row, 1 : +8]\n",
        "for k in 0 .. N step 16 {\ny[row, k : +16] = y[row, k : +16] + x[row, k : +16]\n}\n",
        "for k in 0 .. 4 {\ny[row, 16 * k + 1 : +16] = x[row, 16 * k + 1 : +16]\n}\n",
        "for i in 0 .. 3 {\nfor k in 0 .. N step 16 {\ny[row, k : +16] = x[row, k : +16]\n}\n}\n",
        "for i in 0 .. 3 {\ny[row, :] = y[row, :] + x[row, :]\n}\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
        if (strcmp(refusal(bodies[i], "N=100", "sm_90"), "") != 0)
            fail_msg("refused:\n%s", bodies[i]);
}

static void cells_that_another_lane_touches(void **unused) {
    (void)unused;
    static const char *const bodies[] = {
        "y[row, :] = x[row, :]\ny[row, 5] = 1.0\n",
        "y[row, :] = x[row, :] / y[row, 0]\n",
        "y[row, : 8] = x[row, : 8]\ny[row, 7 : +8] = x[row, 7 : +8]\n",
        "y[row, :] = x[row, :]\ny[row, : N - 1] = y[row, 1 : N]\n",
        "for k in 0 .. N step 8 {\ny[row, k : +16] = x[row, k : +16]\n}\n",
        "for k in 0 .. 4 {\ny[row, 8 * k : +16] = x[row, 8 * k : +16]\n}\n",
        "for k in 0 .. 4 {\ny[row, k : +16] = x[row, k : +16]\n}\n",
        "for i in 0 .. 3 {\nfor k in 0 .. N step 24 {\ny[row, 16 * i + k : +16] = 1.0\n}\n}\n",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        if (strcmp(refusal(bodies[i], "N=100", "m1"), "row-plan-refused") != 0)
            fail_msg("accepted:\n%s", bodies[i]);
        assert_string_equal(refusal(bodies[i], "N=100", "cpu-avx2"), "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_that_stay_with_their_lanes),
        cmocka_unit_test(cells_that_another_lane_touches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
