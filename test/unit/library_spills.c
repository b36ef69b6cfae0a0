/* Programs whose registers spill, on the pretended driver: the library takes the next plan with
 * fewer values in registers, and says so when there is none. */
#include "cuda_fixture.h"

#include "library_fixture.h"

enum { ROWS = 1000, WIDTH = 16384, TRIES = 16, TEXT = 4096 };

/* What a call gives after so many compilations that spill; of a good one its plan. */
typedef struct outcome {
    croft_status status;
    int compiles;
    char text[TEXT]; /* the plan, or the findings */
} outcome;

static void copy(outcome *o, const char *text) {
    snprintf(o->text, sizeof o->text, "%s", text);
}

static void try_with(int spilling, const char *set, const char *plan, outcome *o) {
    fake_cuda_state *fake = fake_open();
    fake->argument_words = 16;
    fake->spilling = spilling;
    croft_config config = {.size = sizeof config,
                           .device = "cuda",
                           .cuda_driver = CROFT_FAKE_CUDA,
                           .cuda_nvrtc = CROFT_FAKE_CUDA};
    const croft_prepare_options options = {.size = sizeof options, .plan_set = set, .plan = plan};
    croft_context *context = NULL;
    croft_kernel *kernel = NULL;
    croft_function *function = NULL;
    croft_dispatch *dispatch = NULL;
    croft_diagnostics *findings = NULL;
    matrix in, out;
    matrix_set(&in, (float *)0x100000000, ROWS, WIDTH, WIDTH);
    matrix_set(&out, (float *)0x10000000000, ROWS, WIDTH, WIDTH);
    in.tensor.device_type = out.tensor.device_type = CROFT_ON_CUDA;
    const croft_tensor *tensors[] = {&in.tensor, &out.tensor};
    assert_int_equal(croft_context_create(&config, &context), CROFT_OK);
    assert_int_equal(compile_text(context, SOFTMAX, &kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(kernel, NULL, 0, &options, &function, NULL), CROFT_OK);
    o->status = croft_function_prepare(function, tensors, 2, &dispatch, &findings);
    o->compiles = fake->compiles;
    copy(o,
         o->status == CROFT_OK ? croft_dispatch_plan(dispatch) : croft_diagnostics_text(findings));
    croft_diagnostics_free(findings);
    croft_dispatch_free(dispatch);
    croft_function_free(function);
    croft_kernel_free(kernel);
    croft_context_free(context);
    fake_close(fake);
}

/* Elements of the row that a lane owns. */
static int slots_of(const char *plan) {
    int slots = 1, n = 0;
    const char *at = strstr(plan, "axis N ");
    assert_non_null(at);
    size_t line = strcspn(at, "\n");
    for (size_t i = 0; i < line; i++)
        if (sscanf(at + i, "slot %d", &n) == 1)
            slots *= n;
    return slots;
}

static void the_next_plan_has_fewer_values(void **state) {
    (void)state;
    outcome first, next;
    try_with(0, NULL, NULL, &first);
    try_with(2, NULL, NULL, &next); /* each plan is compiled twice: with few registers, and free */
    assert_int_equal(first.status, CROFT_OK);
    assert_int_equal(next.status, CROFT_OK);
    assert_int_equal(first.compiles, 1);
    assert_int_equal(next.compiles, 3);
    assert_string_not_equal(first.text, next.text);
    try_with(6, NULL, NULL, &next);
    assert_int_equal(next.status, CROFT_OK);
    assert_int_equal(next.compiles, 7);
    assert_true(slots_of(next.text) < slots_of(first.text));
}

static void where_all_spill_the_reason_is_given(void **state) {
    (void)state;
    outcome o;
    try_with(1 << 20, NULL, NULL, &o);
    assert_int_equal(o.status, CROFT_COMPILER_FAILED);
    assert_non_null(strstr(o.text, "the program spills: 8 bytes"));
    assert_in_range(o.compiles, 4, 2 * TRIES);
}

static void what_was_asked_for_is_not_replaced(void **state) {
    (void)state;
    outcome first, o;
    try_with(2, "w=256", NULL, &o);
    assert_int_equal(o.status, CROFT_COMPILER_FAILED);
    assert_int_equal(o.compiles, 2);
    try_with(0, NULL, NULL, &first);
    try_with(2, NULL, first.text, &o);
    assert_int_equal(o.status, CROFT_COMPILER_FAILED);
    assert_int_equal(o.compiles, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_plan_has_fewer_values),
        cmocka_unit_test(where_all_spill_the_reason_is_given),
        cmocka_unit_test(what_was_asked_for_is_not_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
