/* The library on the pretended OpenCL: what a launch hands to an implementation, and every call of
 * it that fails, from the context to its end. */
#include "opencl_fixture.h"

#include "library_fixture.h"

enum { ROWS = 5, WIDTH = 64, BYTES = ROWS * WIDTH * 4 };

typedef struct session {
    fake_opencl_state *fake;
    meter held;
    croft_context *context;
    croft_kernel *kernel;
    croft_dispatch *dispatch;
    croft_diagnostics *findings;
    croft_opencl_handles handles;
    matrix x, y;
} session;

/* The pretended library's own, for a caller. */
static void *caller_buffer(const session *s, size_t bytes) {
    void *(*create)(void *, uint64_t, size_t, void *, int *) = NULL;
    void *library = dlopen(CROFT_FAKE_OPENCL, RTLD_NOW),
         *address = dlsym(library, "clCreateBuffer");
    int error = 0;
    memcpy(&create, &address, sizeof create);
    void *made = create(s->handles.context, 1, bytes, NULL, &error);
    dlclose(library);
    return made;
}

static void *caller_part(void *buffer, size_t origin, size_t bytes) {
    void *(*create)(void *, uint64_t, uint32_t, const void *, int *) = NULL;
    void *library = dlopen(CROFT_FAKE_OPENCL, RTLD_NOW);
    void *address = dlsym(library, "clCreateSubBuffer");
    const size_t region[2] = {origin, bytes};
    int error = 0;
    memcpy(&create, &address, sizeof create);
    void *made = create(buffer, 0, 0x1220, region, &error);
    dlclose(library);
    return made;
}

static void caller_release(void *memory) {
    int (*release)(void *) = NULL;
    void *library = dlopen(CROFT_FAKE_OPENCL, RTLD_NOW);
    void *address = dlsym(library, "clReleaseMemObject");
    memcpy(&release, &address, sizeof release);
    if (memory != NULL)
        release(memory);
    dlclose(library);
}

static void place(matrix *m, void *data, uint64_t offset) {
    matrix_set(m, NULL, ROWS, WIDTH, WIDTH);
    m->tensor.data = data;
    m->tensor.byte_offset = offset;
    m->tensor.device_type = CROFT_ON_OPENCL;
}

static croft_status make_context(session *s) {
    croft_config config = {.size = sizeof config,
                           .resize = metered,
                           .resize_context = &s->held,
                           .device = "opencl",
                           .opencl_library = CROFT_FAKE_OPENCL};
    croft_status status = croft_context_create(&config, &s->context);
    s->handles.size = sizeof s->handles;
    return status == CROFT_OK ? croft_context_opencl(s->context, &s->handles) : status;
}

static croft_status compile_scale(session *s) {
    return compile_text(s->context, SCALE, &s->kernel, &s->findings);
}

static croft_status prepare_and_launch(session *s) {
    croft_status status = prepare_pair(s->kernel, &s->x, &s->y, &s->dispatch, &s->findings);
    return status == CROFT_OK ? croft_launch(s->dispatch, NULL, &s->findings) : status;
}

static void close_session(session *s) {
    croft_dispatch_free(s->dispatch);
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    croft_diagnostics_free(s->findings);
    fake_close(s->fake);
    assert_int_equal(s->held.held, 0);
}

static session open_session(void) {
    session s = {.fake = fake_open()};
    s.fake->reads_text = 1;
    return s;
}

/* ---- handles ---- */

static void launch_at(session *s, void *x, uint64_t x_offset, void *y, uint64_t y_offset) {
    place(&s->x, x, x_offset);
    place(&s->y, y, y_offset);
    int before = s->fake->launch_count;
    if (prepare_and_launch(s) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    assert_int_equal(s->fake->launch_count, before + 1);
    croft_dispatch_free(s->dispatch);
    s->dispatch = NULL;
}

/* OpenCL defines no launch that writes to one handle what it reads through another of the same
 * bytes: a buffer has those of all its parts. The pretended library breaks a rule there. */
static void handles_of_a_launch_share_no_bytes(void **state) {
    (void)state;
    session s = open_session();
    assert_int_equal(make_context(&s), CROFT_OK);
    assert_int_equal(compile_scale(&s), CROFT_OK);
    void *whole = caller_buffer(&s, 8192), *part = caller_part(whole, 2048, 4096);
    void *twin = caller_part(whole, 2048, BYTES);
    launch_at(&s, whole, 0, whole, 2048);
    launch_at(&s, whole, 4096, whole, 0);
    launch_at(&s, whole, 0, part, 0);
    launch_at(&s, part, 2048, part, 0);
    const fake_launch *last = &s.fake->launches[3];
    assert_ptr_not_equal(last->memories[0], last->memories[1]);
    /* the same bytes, by whatever names: one handle */
    launch_at(&s, whole, 2048, whole, 2048);
    launch_at(&s, whole, 2048, part, 0);
    launch_at(&s, twin, 0, part, 0);
    launch_at(&s, whole, 2048, twin, 0);
    for (int i = 4; i < 8; i++)
        assert_ptr_equal(s.fake->launches[i].memories[0], s.fake->launches[i].memories[1]);
    /* a handle that is no more than the tensor is given as it is */
    launch_at(&s, twin, 0, whole, 4096);
    assert_ptr_equal(s.fake->launches[8].memories[0], twin);
    caller_release(twin);
    caller_release(part);
    caller_release(whole);
    close_session(&s);
}

/* ---- failures ---- */

static croft_status use_everything(session *s, void **whole) {
    croft_status status = make_context(s);
    if (status == CROFT_OK)
        status = compile_scale(s);
    if (status != CROFT_OK)
        return status;
    int failing = s->fake->fail_at; /* the caller's own calls do not fail */
    s->fake->fail_at = 0;
    int before = s->fake->calls;
    *whole = caller_buffer(s, 8192);
    s->fake->calls = before;
    s->fake->fail_at = failing;
    place(&s->x, *whole, 0);
    place(&s->y, *whole, 4096);
    return prepare_and_launch(s);
}

/* What fails here need not be told: warnings of a text that was built, too. */
static bool may_be_silent(const char *call) {
    return strncmp(call, "clRelease", 9) == 0 || strcmp(call, "clGetProgramBuildInfo") == 0;
}

static void each_failing_call_is_a_finding_and_nothing_leaks(void **state) {
    (void)state;
    int failures = 0;
    bool reached = true;
    for (int at = 1; at < 300 && reached; at++) {
        session s = open_session();
        void *whole = NULL;
        s.fake->device_count = 1; /* another would be taken where this one cannot be asked */
        s.fake->fail_at = at;
        s.fake->fail_with = -5;
        croft_status status = use_everything(&s, &whole);
        reached = s.fake->failed != NULL;
        bool told = status != CROFT_OK;
        if (told ? !reached : reached && !may_be_silent(s.fake->failed))
            fail_msg("call %d, %s: status %d", at, reached ? s.fake->failed : "none", (int)status);
        if (told && s.context != NULL)
            assert_non_null(strstr(croft_diagnostics_text(s.findings), s.fake->failed));
        failures += told;
        s.fake->fail_at = 0;
        caller_release(whole);
        close_session(&s);
    }
    assert_false(reached);
    assert_true(failures > 40);
}

static void each_refused_allocation_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    croft_status status = CROFT_OUT_OF_MEMORY;
    int64_t at = 1;
    for (; status != CROFT_OK && at < 5000; at++) {
        session s = open_session();
        void *whole = NULL;
        s.held.failing = at;
        status = use_everything(&s, &whole);
        bool reached = s.held.asked >= at;
        assert_true(!reached || status == CROFT_OK || status == CROFT_OUT_OF_MEMORY);
        status = reached ? CROFT_OUT_OF_MEMORY : status;
        caller_release(whole);
        close_session(&s);
    }
    assert_int_equal(status, CROFT_OK);
    assert_true(at > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handles_of_a_launch_share_no_bytes),
        cmocka_unit_test(each_failing_call_is_a_finding_and_nothing_leaks),
        cmocka_unit_test(each_refused_allocation_is_a_status_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
