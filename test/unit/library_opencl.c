/* The library on OpenCL: a caller's context, device, queue and buffers, on an implementation that
 * is installed (PoCL does). CROFT_OPENCL_LIBRARY names another than the loader. */
#include "library_fixture.h"
#include "opencl_caller.h"

#include <math.h>

enum { ROWS = 13, WIDTH = 100, COUNT = ROWS * WIDTH, SHIFT = 4096 };

typedef struct session {
    opencl_caller c;
    croft_context *context;
    croft_kernel *kernel;
    croft_diagnostics *findings;
    void *x, *y; /* buffers of SHIFT bytes and a matrix, and SHIFT bytes more */
    float in[COUNT], out[COUNT];
    matrix from, to;
} session;

static void *buffer_of(const session *s, void *context, uint64_t flags, size_t bytes) {
    int error = 0;
    void *made = s->c.buffer_create(context, flags, bytes, NULL, &error);
    assert_int_equal(error, 0);
    return made;
}

static void *buffer(const session *s, size_t bytes) {
    return buffer_of(s, s->c.context, 1, bytes);
}

static void on_device(matrix *m, void *data, uint64_t offset) {
    matrix_set(m, NULL, ROWS, WIDTH, WIDTH);
    m->tensor.data = data;
    m->tensor.byte_offset = offset;
    m->tensor.device_type = CROFT_ON_OPENCL;
}

static session *open_session(const char *text) {
    session *s = calloc(1, sizeof *s);
    assert_non_null(s);
    opencl_caller_open(&s->c, 0);
    croft_config config = {.size = sizeof config,
                           .device = "opencl",
                           .opencl_library = opencl_caller_library(),
                           .opencl_context = s->c.context,
                           .opencl_device = s->c.device};
    assert_int_equal(croft_context_create(&config, &s->context), CROFT_OK);
    if (compile_text(s->context, text, &s->kernel, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    for (int i = 0; i < COUNT; i++)
        s->in[i] = (float)(i % 251) / 16.0f - 5.0f;
    s->x = buffer(s, sizeof s->in + 2 * SHIFT);
    s->y = buffer(s, sizeof s->out + 2 * SHIFT);
    on_device(&s->from, s->x, 0);
    on_device(&s->to, s->y, 0);
    return s;
}

static void close_session(session *s) {
    croft_kernel_free(s->kernel);
    croft_context_free(s->context);
    s->c.memory_release(s->x);
    s->c.memory_release(s->y);
    opencl_caller_close(&s->c);
    free(s);
}

static void write_input(session *s, void *memory, size_t offset) {
    assert_int_equal(s->c.write(s->c.queue, memory, 1, offset, sizeof s->in, s->in, 0, NULL, NULL),
                     0);
}

static void read_output(session *s, void *memory, size_t offset) {
    assert_int_equal(s->c.read(s->c.queue, memory, 1, offset, sizeof s->out, s->out, 0, NULL, NULL),
                     0);
}

static croft_dispatch *prepare(session *s) {
    croft_dispatch *dispatch = NULL;
    if (prepare_pair(s->kernel, &s->from, &s->to, &dispatch, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
    return dispatch;
}

static void launch(session *s, croft_dispatch *dispatch, const croft_launch_options *options) {
    if (croft_launch(dispatch, options, &s->findings) != CROFT_OK)
        fail_msg("%s", croft_diagnostics_text(s->findings));
}

static void is_scaled(const session *s) {
    for (int i = 0; i < COUNT; i++)
        assert_true(s->out[i] == 2.0f * s->in[i]);
}

/* ---- what runs ---- */

static void rows_of_buffers_are_computed(void **state) {
    (void)state;
    session *s = open_session(SOFTMAX);
    write_input(s, s->x, 0);
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, NULL);
    read_output(s, s->y, 0);
    for (int row = 0; row < ROWS; row++) {
        double sum = 0, most = -INFINITY;
        for (int i = 0; i < WIDTH; i++)
            most = fmax(most, s->in[row * WIDTH + i]);
        for (int i = 0; i < WIDTH; i++)
            sum += exp(s->in[row * WIDTH + i] - most);
        for (int i = 0; i < WIDTH; i++) {
            double expected = exp(s->in[row * WIDTH + i] - most) / sum;
            assert_true(fabs(s->out[row * WIDTH + i] - expected) <= 1e-5 * expected);
        }
    }
    croft_dispatch_free(dispatch);
    close_session(s);
}

static void tensors_may_begin_inside_of_buffers(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    write_input(s, s->x, SHIFT);
    on_device(&s->from, s->x, SHIFT);
    on_device(&s->to, s->y, 2 * SHIFT);
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, NULL);
    read_output(s, s->y, 2 * SHIFT);
    is_scaled(s);
    croft_dispatch_free(dispatch);
    close_session(s);
}

static void two_halves_of_one_buffer_are_two_tensors(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    void *both = buffer(s, 4 * SHIFT + 2 * sizeof s->in);
    write_input(s, both, 0);
    on_device(&s->from, both, 0);
    on_device(&s->to, both, 2 * SHIFT);
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, NULL);
    read_output(s, both, 2 * SHIFT);
    is_scaled(s);
    croft_dispatch_free(dispatch);
    s->c.memory_release(both);
    close_session(s);
}

static void an_output_may_be_an_input(void **state) {
    (void)state;
    for (uint64_t offset = 0; offset <= SHIFT; offset += SHIFT) {
        session *s = open_session(SCALE);
        write_input(s, s->x, offset);
        on_device(&s->from, s->x, offset);
        on_device(&s->to, s->x, offset);
        croft_dispatch *dispatch = prepare(s);
        launch(s, dispatch, NULL);
        read_output(s, s->x, offset);
        is_scaled(s);
        croft_dispatch_free(dispatch);
        close_session(s);
    }
}

static void launches_go_on_a_callers_queue_and_to_other_buffers(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    void *z = buffer(s, sizeof s->out);
    void *data[2] = {s->x, z};
    croft_launch_options options = {.size = sizeof options, .stream = s->c.queue};
    write_input(s, s->x, 0);
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, &options);
    read_output(s, s->y, 0); /* in order on the same queue */
    is_scaled(s);
    memset(s->out, 0, sizeof s->out);
    options.data = data;
    launch(s, dispatch, &options);
    read_output(s, z, 0);
    is_scaled(s);
    void *small = buffer(s, sizeof s->out - 4);
    data[1] = small;
    assert_int_equal(croft_launch(dispatch, &options, &s->findings), CROFT_REJECTED);
    assert_non_null(strstr(croft_diagnostics_text(s->findings), "tensor-range"));
    croft_diagnostics_free(s->findings);
    data[1] = s->x;
    assert_int_equal(croft_launch(dispatch, &options, &s->findings), CROFT_REJECTED);
    assert_non_null(strstr(croft_diagnostics_text(s->findings), "tensor-overlap"));
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(dispatch);
    s->c.memory_release(small);
    s->c.memory_release(z);
    close_session(s);
}

/* Its cl_context is for buffers of a caller who has none, its queue for their copies. */
static void a_context_of_its_own_gives_what_buffers_are_made_with(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    croft_context *own = NULL;
    croft_kernel *kernel = NULL;
    croft_opencl_handles handles = {.size = sizeof handles}, given = {.size = sizeof given};
    const croft_config config = {
        .size = sizeof config, .device = "opencl", .opencl_library = opencl_caller_library()};
    assert_int_equal(croft_context_opencl(s->context, &given), CROFT_OK);
    assert_ptr_equal(given.context, s->c.context);
    assert_ptr_equal(given.device, s->c.device);
    assert_ptr_not_equal(given.queue, s->c.queue);
    assert_int_equal(croft_context_create(&config, &own), CROFT_OK);
    assert_int_equal(croft_context_opencl(own, &handles), CROFT_OK);
    assert_ptr_not_equal(handles.context, given.context);
    assert_string_equal(handles.library, given.library);
    assert_int_equal(compile_text(own, SCALE, &kernel, NULL), CROFT_OK);
    void *memory = buffer_of(s, handles.context, 1, sizeof s->in);
    on_device(&s->from, memory, 0);
    on_device(&s->to, memory, 0);
    assert_int_equal(s->c.write(handles.queue, memory, 1, 0, sizeof s->in, s->in, 0, NULL, NULL),
                     0);
    croft_dispatch *dispatch = NULL;
    assert_int_equal(prepare_pair(kernel, &s->from, &s->to, &dispatch, NULL), CROFT_OK);
    launch(s, dispatch, NULL);
    assert_int_equal(s->c.read(handles.queue, memory, 1, 0, sizeof s->out, s->out, 0, NULL, NULL),
                     0);
    is_scaled(s);
    croft_dispatch_free(dispatch);
    s->c.memory_release(memory);
    croft_kernel_free(kernel);
    croft_context_free(own);
    close_session(s);
}

static void no_rows_need_no_buffer(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    on_device(&s->from, NULL, 0);
    on_device(&s->to, NULL, 0);
    s->from.shape[0] = s->to.shape[0] = 0;
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, NULL);
    croft_dispatch_free(dispatch);
    close_session(s);
}

/* A buffer of host memory begins where that does: no variant takes for granted what does not
 * hold. */
static void buffers_of_host_memory_begin_where_that_does(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    static float host[COUNT + 64];
    int error = 0;
    float *odd = host + 16 - (uintptr_t)host % 64 / 4 + 1;
    memcpy(odd, s->in, sizeof s->in);
    void *memory = s->c.buffer_create(s->c.context, 1 | 8, sizeof s->in, odd, &error);
    assert_int_equal(error, 0);
    on_device(&s->from, memory, 0);
    croft_dispatch *dispatch = prepare(s);
    launch(s, dispatch, NULL);
    read_output(s, s->y, 0);
    is_scaled(s);
    croft_dispatch_free(dispatch);
    s->c.memory_release(memory);
    close_session(s);
}

/* ---- what is refused ---- */

static void expect_refused(session *s, const char *text) {
    croft_dispatch *dispatch = NULL;
    s->findings = NULL;
    assert_int_equal(prepare_pair(s->kernel, &s->from, &s->to, &dispatch, &s->findings),
                     CROFT_REJECTED);
    assert_null(dispatch);
    if (strstr(croft_diagnostics_text(s->findings), text) == NULL)
        fail_msg("%s is not in: %s", text, croft_diagnostics_text(s->findings));
    croft_diagnostics_free(s->findings);
}

static void tensors_that_cannot_lie_so_are_refused(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    on_device(&s->from, s->x, 4);
    expect_refused(s, "tensor-alignment");
    on_device(&s->from, s->x, 4 * SHIFT);
    expect_refused(s, "[tensor-range]\n  found: a buffer of 13392 bytes\n"
                      "  expected: 5200 bytes from 16384 on\n");
    on_device(&s->from, s->x, UINT64_MAX - 127);
    expect_refused(s, "tensor-range");
    on_device(&s->from, s->x, 3 * SHIFT - 128); /* begins inside, ends behind the end */
    expect_refused(s, "  expected: 5200 bytes from 12160 on\n");
    on_device(&s->from, NULL, 0);
    expect_refused(s, "argument-value");
    on_device(&s->from, s->x, 0);
    s->from.tensor.device_type = CROFT_ON_CPU;
    expect_refused(s, "tensor-device");
    s->from.tensor.device_type = CROFT_ON_CUDA;
    expect_refused(s, "tensor-device");
    close_session(s);
}

/* Implementations take them, and compute what they like. */
static void buffers_that_launches_may_not_use_so_are_refused(void **state) {
    (void)state;
    enum { WRITE_ONLY = 2, READ_ONLY = 4 };
    session *s = open_session(SCALE);
    int error = 0;
    void *other = s->c.context_create(NULL, 1, &s->c.device, NULL, NULL, &error);
    assert_int_equal(error, 0);
    void *foreign = buffer_of(s, other, 1, sizeof s->in);
    void *fixed = buffer_of(s, s->c.context, READ_ONLY, sizeof s->in);
    void *blind = buffer_of(s, s->c.context, WRITE_ONLY, sizeof s->in);
    on_device(&s->to, foreign, 0);
    expect_refused(s, "y: its buffer is of another cl_context [tensor-device]");
    on_device(&s->to, fixed, 0);
    expect_refused(s, "y: its buffer is not for launches to write [tensor-access]\n"
                      "  found: CL_MEM_READ_ONLY\n  expected: CL_MEM_READ_WRITE");
    on_device(&s->to, blind, 0);
    on_device(&s->from, blind, 0);
    expect_refused(s, "x: its buffer is not for launches to read [tensor-access]");
    on_device(&s->from, fixed, 0);
    write_input(s, fixed, 0);
    croft_dispatch *dispatch = prepare(s); /* each as it may be used */
    launch(s, dispatch, NULL);
    read_output(s, blind, 0);
    is_scaled(s);
    void *data[2] = {s->x, fixed};
    const croft_launch_options options = {.size = sizeof options, .data = data};
    assert_int_equal(croft_launch(dispatch, &options, &s->findings), CROFT_REJECTED);
    assert_non_null(strstr(croft_diagnostics_text(s->findings), "tensor-access"));
    croft_diagnostics_free(s->findings);
    croft_dispatch_free(dispatch);
    s->c.memory_release(foreign);
    s->c.memory_release(fixed);
    s->c.memory_release(blind);
    s->c.context_release(other);
    close_session(s);
}

static void bytes_that_are_anothers_are_seen_through_handles(void **state) {
    (void)state;
    session *s = open_session(SCALE);
    on_device(&s->from, s->x, 0);
    on_device(&s->to, s->x, SHIFT);
    expect_refused(s, "tensor-overlap"); /* a matrix has more bytes than that */
    const size_t region[2] = {SHIFT, sizeof s->out};
    int error = 0;
    void *part = s->c.part_create(s->x, 0, 0x1220, region, &error);
    assert_int_equal(error, 0);
    on_device(&s->to, part, 0);
    expect_refused(s, "tensor-overlap");
    on_device(&s->from, s->x, SHIFT);
    croft_dispatch *dispatch = prepare(s); /* one tensor, by two names */
    croft_dispatch_free(dispatch);
    s->c.memory_release(part);
    close_session(s);
}

static void the_environment_names_the_library(void **state) {
    (void)state;
    const char *before = opencl_caller_library();
    croft_config config = {.size = sizeof config};
    setenv("CROFT_OPENCL_LIBRARY", "/some/libOpenCL.so", 1);
    croft_config_from_environment(&config);
    assert_string_equal(config.opencl_library, "/some/libOpenCL.so");
    if (before == NULL)
        unsetenv("CROFT_OPENCL_LIBRARY");
    else
        setenv("CROFT_OPENCL_LIBRARY", before, 1);
    config = (croft_config){.size = offsetof(croft_config, opencl_library)}; /* an older header */
    croft_config_from_environment(&config);
    assert_null(config.opencl_library);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_buffers_are_computed),
        cmocka_unit_test(tensors_may_begin_inside_of_buffers),
        cmocka_unit_test(two_halves_of_one_buffer_are_two_tensors),
        cmocka_unit_test(an_output_may_be_an_input),
        cmocka_unit_test(launches_go_on_a_callers_queue_and_to_other_buffers),
        cmocka_unit_test(a_context_of_its_own_gives_what_buffers_are_made_with),
        cmocka_unit_test(no_rows_need_no_buffer),
        cmocka_unit_test(buffers_of_host_memory_begin_where_that_does),
        cmocka_unit_test(tensors_that_cannot_lie_so_are_refused),
        cmocka_unit_test(buffers_that_launches_may_not_use_so_are_refused),
        cmocka_unit_test(bytes_that_are_anothers_are_seen_through_handles),
        cmocka_unit_test(the_environment_names_the_library),
    };
    return RUN_OPENCL_TESTS(tests);
}
