/* Launches with other memory than the call was prepared with: a program that assumes alignment is
 * not run where there is less. On the pretended driver of CUDA, as only there programs assume any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda_fixture.h"
#include "library_fixture.h"

enum { ROWS = 4, WIDTH = 64 };

typedef struct session {
    fake_cuda_state *fake;
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
} session;

static _Alignas(64) float x[ROWS * WIDTH + 8], y[ROWS * WIDTH + 8];
static int ran; /* launches that came to the driver */

static void count_run(const uint64_t *arguments, uint32_t groups) {
    (void)arguments, (void)groups;
    ran++;
}

static void prepare_at(session *s, float *from, float *to) {
    matrix in, out;
    matrix_set(&in, from, ROWS, WIDTH, WIDTH);
    matrix_set(&out, to, ROWS, WIDTH, WIDTH);
    in.tensor.device_type = out.tensor.device_type = CROFT_ON_CUDA;
    croft_dispatch_free(s->dispatch);
    if (prepare_pair_set(s->kernel, &in, &out, "v=4", &s->dispatch, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
}

static void open_session(session *s) {
    *s = (session){.fake = fake_open()};
    ran = 0;
    s->fake->kernel = count_run;
    s->fake->function_name = "croft_scale";
    croft_config config = {.size = sizeof config,
                           .device = "cuda",
                           .cuda_driver = CROFT_FAKE_CUDA,
                           .cuda_nvrtc = CROFT_FAKE_CUDA};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    assert_int_equal(compile_text(s->context, SCALE, &s->kernel, NULL), CROFT_OK);
}

static void close_session(session *s) {
    croft_dispatch_free(s->dispatch);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    fake_close(s->fake);
}

/* The status of a launch there, whose one finding has this slug. */
static croft_status launch_at(session *s, void *from, void *to, const char *slug) {
    void *data[] = {from, to};
    croft_launch_options options = {.size = sizeof options, .data = data};
    croft_diagnostic found = {.size = sizeof found};
    croft_status status = croft_launch(s->dispatch, &options, &s->findings);
    if (slug != NULL) {
        assert_int_equal(croft_diagnostics_at(s->findings, 0, &found), CROFT_OK);
        assert_string_equal(found.slug, slug);
    }
    croft_diagnostics_free(s->findings);
    s->findings = NULL;
    return status;
}

static void memory_that_is_aligned_less_is_refused_by_the_condition(void **state) {
    (void)state;
    session s;
    open_session(&s);
    prepare_at(&s, x, y);
    assert_int_equal(launch_at(&s, x + 4, y, NULL), CROFT_OK);
    assert_int_equal(ran, 1);
    assert_int_equal(launch_at(&s, x + 1, y, "condition"), CROFT_REJECTED);
    assert_int_equal(launch_at(&s, x, y + 1, "condition"), CROFT_REJECTED);
    assert_int_equal(launch_at(&s, (char *)x + 2, y, "tensor-alignment"), CROFT_REJECTED);
    assert_int_equal(ran, 1);
    close_session(&s);
}

static void a_program_that_assumes_less_takes_both(void **state) {
    (void)state;
    session s;
    open_session(&s);
    prepare_at(&s, x + 1, y + 1);
    assert_int_equal(launch_at(&s, x, y, NULL), CROFT_OK);
    assert_int_equal(launch_at(&s, x + 3, y + 1, NULL), CROFT_OK);
    assert_int_equal(ran, 2);
    close_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_that_is_aligned_less_is_refused_by_the_condition),
        cmocka_unit_test(a_program_that_assumes_less_takes_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
