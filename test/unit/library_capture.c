/* Launches on a stream that is captured into a graph, on the pretended driver: it refuses there
 * what a real one does. And the devices of a driver by number. */
#include "cuda_fixture.h"

#include "library_fixture.h"

enum { KINDS = 80 };

#define SUM                                                                                        \
    "kernel sum(x: in f32[R, N], y: out f32[R]) {\n"                                               \
    "    program row: R\n"                                                                         \
    "    y[row] = sum(x[row, :])\n"                                                                \
    "}\n"

typedef struct fixture {
    fake_cuda_state *fake;
    croft_context *context;
    croft_kernel *kernel;
    croft_function *function;
    void *streams[2];
} fixture;

static croft_status open_context(fixture *f, int index) {
    croft_config config = {.size = sizeof config,
                           .device = "cuda",
                           .cuda_driver = CROFT_FAKE_CUDA,
                           .cuda_nvrtc = CROFT_FAKE_CUDA,
                           .device_index = index};
    return croft_context_create(&config, &f->context);
}

static void open_function(fixture *f, const char *text, const char *set, int index) {
    const croft_prepare_options options = {.size = sizeof options, .plan_set = set};
    *f = (fixture){.fake = fake_open()};
    f->fake->argument_words = 16;
    f->streams[0] = f->fake->caller_stream;
    f->streams[1] = (char *)f->fake->caller_stream + 1;
    assert_int_equal(open_context(f, index), CROFT_OK);
    assert_int_equal(compile_text(f->context, text, &f->kernel, NULL), CROFT_OK);
    assert_int_equal(croft_function_create(f->kernel, NULL, 0, &options, &f->function, NULL),
                     CROFT_OK);
}

static void close_function(fixture *f) {
    croft_function_free(f->function);
    croft_kernel_free(f->kernel);
    croft_context_free(f->context);
    fake_close(f->fake);
}

/* Two launches, whose log has both. */
static char log_room[FAKE_TEXT_LIMIT];

static void expect_parts(fixture *f) {
    int length = 0;
    for (int i = 1; i <= 2; i++)
        length += snprintf(
            log_room + length, sizeof log_room - (size_t)length,
            "ptxas info    : Compiling entry function 'croft_sum_%d' for 'sm_90a'\n"
            "ptxas info    : Function properties for croft_sum_%d\n"
            "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
            "ptxas info    : Used 32 registers, used 1 barriers\n",
            i, i);
    f->fake->log = log_room;
}

/* Memory that is only named, of either tensor. */
static const uintptr_t first_memory = 0x100000000, second_memory = 0x10000000000;

static void tensors_of(matrix *in, matrix *out, int64_t rows, int64_t width, int64_t step, int id) {
    matrix_set(in, (float *)first_memory, rows, width, step);
    matrix_set(out, (float *)second_memory, rows, width, width);
    in->tensor.device_type = out->tensor.device_type = CROFT_ON_CUDA;
    in->tensor.device_id = out->tensor.device_id = id;
}

static croft_status call(fixture *f, const matrix *in, const matrix *out, void *stream) {
    const croft_tensor *tensors[] = {&in->tensor, &out->tensor};
    const croft_call_options options = {.size = sizeof options, .stream = stream};
    f->fake->launch_count = 0;
    return croft_function_call(f->function, tensors, 2, &options, NULL);
}

/* Kernels of every kind of workspace: none, one of groups, one that launches hand on. */
static const struct {
    const char *text, *set;
    int64_t rows, width;
    int launches;
    int workspace; /* the word of the arguments that has it; -1: none */
} kernels[] = {{SCALE, NULL, 4, 64, 1, -1},
               {SOFTMAX, "keep=private,w=32,v=1", 4, 4000, 1, 8},
               {SUM, NULL, 1, 1 << 22, 2, 2}};

static void open_kernel(fixture *f, int number, matrix *in, matrix *out) {
    open_function(f, kernels[number].text, kernels[number].set, 0);
    tensors_of(in, out, kernels[number].rows, kernels[number].width, kernels[number].width, 0);
    if (kernels[number].launches == 2) {
        expect_parts(f);
        out->tensor.rank = 1;
    }
}

static void the_first_launch_may_be_captured(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        matrix in, out;
        open_kernel(&f, i, &in, &out);
        const croft_tensor *tensors[] = {&in.tensor, &out.tensor};
        croft_dispatch *dispatch = NULL;
        croft_diagnostics *findings = NULL;
        if (croft_function_prepare(f.function, tensors, 2, &dispatch, &findings) != CROFT_OK)
            fail_msg("%s", croft_diagnostics_text(findings));
        assert_int_equal(f.fake->launch_count, 0);
        assert_int_equal(f.fake->loads, kernels[i].launches);
        f.fake->capturing = 1;
        int pushes = f.fake->pushes;
        for (int k = 0; k < 2; k++) {
            void *data[] = {in.tensor.data, out.tensor.data};
            const croft_launch_options options = {
                .size = sizeof options, .stream = f.streams[0], .data = k == 1 ? data : NULL};
            assert_int_equal(croft_launch(dispatch, &options, NULL), CROFT_OK);
            assert_int_equal(f.fake->launch_count, (k + 1) * kernels[i].launches);
            if (kernels[i].workspace >= 0)
                assert_true(f.fake->launches[k].arguments[kernels[i].workspace] != 0);
        }
        assert_int_equal(f.fake->pushes, pushes + 2);
        f.fake->capturing = 0;
        croft_dispatch_free(dispatch);
        assert_int_equal(f.fake->live_memories, 0);
        close_function(&f);
    }
}

/* As programs that use the driver have it. */
static void a_context_that_is_current_is_not_pushed(void **state) {
    (void)state;
    fixture f;
    matrix in, out;
    open_kernel(&f, 0, &in, &out);
    assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
    void *library = dlopen(CROFT_FAKE_CUDA, RTLD_NOW), *primary = NULL, *popped = NULL;
    int (*push)(void *context), (*pop)(void **context), (*retain)(void **context, int device);
    int (*release)(int device);
    *(void **)&push = dlsym(library, "cuCtxPushCurrent_v2");
    *(void **)&pop = dlsym(library, "cuCtxPopCurrent_v2");
    *(void **)&retain = dlsym(library, "cuDevicePrimaryCtxRetain");
    *(void **)&release = dlsym(library, "cuDevicePrimaryCtxRelease_v2");
    retain(&primary, 0);
    release(0);
    void *const current[] = {primary, f.fake->caller_context};
    for (int i = 0; i < 2; i++) {
        push(current[i]);
        int pushes = f.fake->pushes;
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        assert_int_equal(f.fake->pushes - pushes, i);
        pop(&popped);
        assert_ptr_equal(popped, current[i]);
    }
    dlclose(library);
    close_function(&f);
}

static void calls_on_two_streams_share_no_workspace(void **state) {
    (void)state;
    for (int i = 1; i < 3; i++) {
        fixture f;
        matrix in, out;
        uint64_t seen[2];
        open_kernel(&f, i, &in, &out);
        for (int round = 0; round < 3; round++)
            for (int k = 0; k < 2; k++) {
                assert_int_equal(call(&f, &in, &out, f.streams[k]), CROFT_OK);
                uint64_t here = f.fake->launches[0].arguments[kernels[i].workspace];
                assert_true(round == 0 || here == seen[k]);
                assert_ptr_equal(f.fake->launches[0].stream, f.streams[k]);
                seen[k] = here;
            }
        assert_true(seen[0] != seen[1]);
        assert_int_equal(f.fake->live_memories, 2);
        close_function(&f);
    }
}

/* A kind that nobody called before: it is compiled, loaded and given its workspace while the stream
 * is captured, and afterwards the thread is forbidden what it was before. */
static void a_new_kind_may_be_captured(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        fixture f;
        matrix in, out;
        open_kernel(&f, i, &in, &out);
        f.fake->capturing = 1;
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        assert_int_equal(f.fake->launch_count, kernels[i].launches);
        if (kernels[i].workspace >= 0)
            assert_true(f.fake->launches[0].arguments[kernels[i].workspace] != 0);
        assert_int_equal(f.fake->relaxed, 0);
        f.fake->capturing = 0;
        close_function(&f);
    }
}

static void what_a_graph_has_stays(void **state) {
    (void)state;
    for (int i = 1; i < 3; i++) {
        fixture f;
        matrix in, out;
        open_kernel(&f, i, &in, &out);
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        uint64_t before = f.fake->launches[0].arguments[kernels[i].workspace];
        f.fake->capturing = 1;
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        f.fake->capturing = 0;
        for (int k = 1; k <= KINDS; k++) {
            matrix other, unused;
            tensors_of(&other, &unused, kernels[i].rows, kernels[i].width, kernels[i].width + 4 * k,
                       0);
            assert_int_equal(call(&f, &other, &out, f.streams[0]), CROFT_OK);
        }
        assert_int_equal(f.fake->live_memories, 64);
        f.fake->capturing = 1; /* were it not kept, it would have to be prepared */
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        f.fake->capturing = 0;
        assert_true(f.fake->launches[0].arguments[kernels[i].workspace] == before);
        close_function(&f);
    }
}

/* While the first launch runs, as many other kinds come as push it out. */
static struct {
    fixture *f;
    bool runs;
    int live_memories;
} pushing;

static void push_out(const uint64_t *arguments, uint32_t groups) {
    (void)arguments;
    (void)groups;
    if (pushing.runs)
        return;
    pushing.runs = true;
    for (int k = 1; k <= KINDS; k++) {
        matrix in, out;
        tensors_of(&in, &out, kernels[1].rows, kernels[1].width, kernels[1].width + 4 * k, 0);
        assert_int_equal(call(pushing.f, &in, &out, pushing.f->streams[0]), CROFT_OK);
    }
    pushing.live_memories = pushing.f->fake->live_memories;
}

static void what_is_launched_lives_until_it_has_returned(void **state) {
    (void)state;
    fixture f;
    matrix in, out;
    open_kernel(&f, 1, &in, &out);
    pushing.f = &f;
    f.fake->kernel = push_out;
    assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
    assert_int_equal(pushing.live_memories, 64 + 1);
    assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK); /* prepared again */
    assert_int_equal(f.fake->live_memories, 64);
    close_function(&f);
}

static void kept_workspaces_have_a_limit(void **state) {
    (void)state;
    fixture f;
    matrix in, out;
    open_kernel(&f, 1, &in, &out);
    tensors_of(&in, &out, 8000, 4000, 4000, 0); /* 1,000 groups of 256,000 bytes: 244 MiB */
    for (int k = 0; k < 10; k++) {
        in.strides[0] = 4000 + 4 * k;
        assert_int_equal(call(&f, &in, &out, f.streams[0]), CROFT_OK);
        assert_int_equal(f.fake->live_memories, k < 4 ? k + 1 : 4);
    }
    close_function(&f);
}

static void streams_with_a_name_of_the_drivers_are_streams(void **state) {
    (void)state;
    fixture f;
    matrix in, out;
    open_kernel(&f, 0, &in, &out);
    for (uintptr_t name = 1; name <= 2; name++) {
        int waits = f.fake->waits;
        assert_int_equal(call(&f, &in, &out, (void *)name), CROFT_OK);
        assert_ptr_equal(f.fake->launches[0].stream, (void *)name);
        assert_int_equal(f.fake->waits, waits);
    }
    assert_int_equal(call(&f, &in, &out, NULL), CROFT_OK);
    assert_int_equal(f.fake->waits, 1);
    close_function(&f);
}

static void a_device_has_a_number(void **state) {
    (void)state;
    static const struct {
        int device, tensor, type;
        croft_status status;
    } rows[] = {{0, 0, CROFT_ON_CUDA, CROFT_OK},        {0, 1, CROFT_ON_CUDA, CROFT_REJECTED},
                {1, 1, CROFT_ON_CUDA, CROFT_OK},        {1, 0, CROFT_ON_CUDA, CROFT_REJECTED},
                {0, 0, CROFT_ON_CPU, CROFT_REJECTED},   {0, 0, CROFT_ON_CUDA_HOST, CROFT_REJECTED},
                {0, 0, CROFT_ON_OPENCL, CROFT_REJECTED}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fixture f;
        matrix in, out;
        open_function(&f, SCALE, NULL, rows[i].device);
        tensors_of(&in, &out, 4, 64, 64, rows[i].tensor);
        out.tensor.device_type = rows[i].type;
        for (int again = 0; again < 2; again++)
            assert_int_equal(call(&f, &in, &out, f.streams[0]), rows[i].status);
        close_function(&f);
    }
    fixture f = {.fake = fake_open()};
    assert_int_equal(open_context(&f, 2), CROFT_NO_DEVICE);
    assert_int_equal(open_context(&f, -1), CROFT_MISUSE);
    const croft_config cpu = {.size = sizeof cpu, .device_index = 1};
    assert_int_equal(croft_context_create(&cpu, &f.context), CROFT_NO_DEVICE);
    fake_close(f.fake);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_launch_may_be_captured),
        cmocka_unit_test(a_new_kind_may_be_captured),
        cmocka_unit_test(a_context_that_is_current_is_not_pushed),
        cmocka_unit_test(calls_on_two_streams_share_no_workspace),
        cmocka_unit_test(what_a_graph_has_stays),
        cmocka_unit_test(what_is_launched_lives_until_it_has_returned),
        cmocka_unit_test(kept_workspaces_have_a_limit),
        cmocka_unit_test(streams_with_a_name_of_the_drivers_are_streams),
        cmocka_unit_test(a_device_has_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
