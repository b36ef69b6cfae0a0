/* The device `cuda`: its memory, and what arrives at the driver for a launch. */
#include "cuda_fixture.h"

static runtime_module *load(cuda_fixture *f) {
    runtime_module *module = NULL;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    return module;
}

static void finish(cuda_fixture *f, runtime_module *module) {
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static int x, y; /* only their addresses */
static void *const pointers[2] = {&x, &y};
static const int64_t words[3] = {4096, -1, 0x3f000000};

static runtime_status launch(cuda_fixture *f, runtime_module *module, int64_t groups,
                             int64_t workspace_bytes, void *stream) {
    runtime_launch arguments = {.pointers = pointers,
                                .words = words,
                                .groups = groups,
                                .workspace_bytes = workspace_bytes,
                                .stream = stream};
    return f->device->vtable->launch(f->device, module, &arguments, &f->report);
}

static void arguments_are_pointers_words_workspace_and_first(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = load(f);
    assert_int_equal(launch(f, module, 1000, 0, NULL), RUNTIME_OK);
    assert_int_equal(f->fake->launch_count, 1);
    const fake_launch *seen = &f->fake->launches[0];
    const uint64_t expected[7] = {
        (uint64_t)(uintptr_t)&x, (uint64_t)(uintptr_t)&y, 4096, UINT64_MAX, 0x3f000000, 0, 0};
    assert_memory_equal(seen->arguments, expected, sizeof expected);
    assert_int_equal(seen->grid[0], 1000);
    assert_int_equal(seen->block[0], 256);
    assert_int_equal(seen->cluster, 1);
    assert_int_equal(seen->scratch_bytes, 0);
    assert_int_equal(f->fake->waits, 1);
    finish(f, module);
}

static void no_groups_launch_nothing_and_a_negative_number_is_a_status(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = load(f);
    int calls = f->fake->calls;
    assert_int_equal(launch(f, module, 0, 1 << 20, NULL), RUNTIME_OK);
    assert_int_equal(launch(f, module, -1, 0, NULL), RUNTIME_NO_MEMORY);
    assert_int_equal(launch(f, module, 1, -1, NULL), RUNTIME_NO_MEMORY);
    assert_non_null(strstr(f->report.text, "64 bits"));
    assert_int_equal(f->fake->calls, calls);
    finish(f, module);
}

static void a_callers_stream_is_used_and_not_waited_for(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = load(f);
    assert_int_equal(launch(f, module, 3, 512, f->fake->caller_stream), RUNTIME_OK);
    assert_ptr_equal(f->fake->launches[0].stream, f->fake->caller_stream);
    assert_int_equal(f->fake->waits, 0);
    assert_int_equal(f->fake->live_pool_bytes, 0);
    finish(f, module);
}

static void large_launches_are_cut(void **state) {
    (void)state;
    static const struct {
        int64_t groups, workspace_bytes;
        int parts;
        int64_t part, last, peak;
    } rows[] = {
        {100000, 8192, 4, 32768, 1696, INT64_C(256) << 20},
        {32768, 8192, 1, 32768, 32768, INT64_C(256) << 20},
        {32769, 8192, 2, 32768, 1, INT64_C(256) << 20},
        {3, INT64_C(300) << 20, 3, 1, 1, INT64_C(300) << 20},
        {5000000001, 0, 3, 2147483647, 705032707, 0},
        {7, 1, 1, 7, 7, 7},
    };
    for (int i = 0; i < 6; i++) {
        cuda_fixture *f = cuda_fixture_new();
        runtime_module *module = load(f);
        assert_int_equal(launch(f, module, rows[i].groups, rows[i].workspace_bytes, NULL),
                         RUNTIME_OK);
        assert_int_equal(f->fake->launch_count, rows[i].parts);
        for (int k = 0; k < rows[i].parts; k++) {
            const fake_launch *seen = &f->fake->launches[k];
            assert_int_equal(seen->arguments[6], k * rows[i].part);
            assert_int_equal(seen->grid[0], k + 1 < rows[i].parts ? rows[i].part : rows[i].last);
            assert_int_equal(seen->arguments[5] != 0, rows[i].workspace_bytes > 0);
            assert_int_equal(seen->arguments[5], f->fake->launches[0].arguments[5]);
        }
        assert_int_equal(f->fake->pool_bytes_peak, rows[i].peak);
        assert_int_equal(f->fake->waits, 1);
        finish(f, module);
    }
}

static void groups_that_run_together_are_not_cut_apart(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->artifact.cluster = 8;
    f->artifact.scratch_bytes = 100000;
    runtime_module *module = load(f);
    assert_int_equal(launch(f, module, 40, INT64_C(20) << 20, NULL), RUNTIME_OK);
    assert_int_equal(f->fake->launch_count, 5); /* 12 would fit */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(f->fake->launches[i].grid[0], 8);
        assert_int_equal(f->fake->launches[i].cluster, 8);
        assert_int_equal(f->fake->launches[i].scratch_bytes, 100000);
    }
    assert_int_equal(launch(f, module, 41, 0, NULL), RUNTIME_SYSTEM_FAILED);
    assert_non_null(strstr(f->report.text, "41 groups are no multiple of the 8"));
    assert_int_equal(f->fake->launch_count, 5);
    finish(f, module);
}

static void launches_overlap_where_program_and_driver_can(void **state) {
    (void)state;
    static const struct {
        bool program;
        int driver, cluster, want;
    } rows[] = {{true, 13000, 0, 1},  {true, 12030, 0, 1}, {true, 12020, 0, 0},
                {false, 13000, 0, 0}, {true, 13000, 4, 1}, {true, 12020, 4, 0}};
    for (int i = 0; i < 6; i++) {
        cuda_fixture *f = cuda_fixture_without_device();
        f->fake->driver_version = rows[i].driver;
        f->fake->nvrtc_major = 12;
        f->fake->nvrtc_minor = 0;
        assert_int_equal(cuda_fixture_create(f, NULL), RUNTIME_OK);
        f->artifact.overlaps = rows[i].program;
        f->artifact.cluster = rows[i].cluster;
        runtime_module *module = load(f);
        assert_int_equal(launch(f, module, 8, 0, NULL), RUNTIME_OK);
        assert_int_equal(f->fake->launches[0].overlaps, rows[i].want);
        assert_int_equal(f->fake->launches[0].cluster, rows[i].cluster > 1 ? rows[i].cluster : 1);
        finish(f, module);
    }
}

static void an_impossible_workspace_is_a_status(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->artifact.cluster = 4;
    runtime_module *module = load(f);
    assert_int_equal(launch(f, module, 8, INT64_MAX / 2, NULL), RUNTIME_NO_MEMORY);
    assert_non_null(strstr(f->report.text, "workspace"));
    assert_int_equal(f->fake->launch_count, 0);
    finish(f, module);
}

static void memory_goes_in_and_out(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    const runtime_device_vtable *vtable = f->device->vtable;
    void *memory = NULL, *empty = NULL, *none = &memory;
    char in[100], out[100] = {0};
    memset(in, 7, sizeof in);
    assert_int_equal(vtable->allocate(f->device, 100, &memory, &f->report), RUNTIME_OK);
    assert_int_equal((uintptr_t)memory % 256, 0);
    assert_int_equal(vtable->copy_in(f->device, memory, in, 100, &f->report), RUNTIME_OK);
    assert_int_equal(f->fake->waits, 1);
    assert_int_equal(vtable->copy_out(f->device, out, memory, 100, &f->report), RUNTIME_OK);
    assert_int_equal(f->fake->waits, 2);
    assert_memory_equal(in, out, 100);
    assert_int_equal(vtable->allocate(f->device, 0, &empty, &f->report), RUNTIME_OK);
    assert_int_equal(vtable->copy_in(f->device, empty, NULL, 0, &f->report), RUNTIME_OK);
    assert_int_equal(f->fake->copies, 2);
    assert_int_equal(vtable->allocate(f->device, -1, &none, &f->report), RUNTIME_NO_MEMORY);
    assert_null(none);
    vtable->release(f->device, memory);
    vtable->release(f->device, empty);
    vtable->release(f->device, NULL);
    cuda_fixture_free(f);
}

/* Everything a caller does between create and destroy, each of its driver calls failing once. */
static runtime_status do_everything(cuda_fixture *f, runtime_module *module, void **taken) {
    const runtime_device_vtable *vtable = f->device->vtable;
    char in[64] = {1};
    void *memory = NULL;
    runtime_status status = vtable->allocate(f->device, 64, &memory, &f->report);
    *taken = memory;
    if (status == RUNTIME_OK)
        status = vtable->copy_in(f->device, memory, in, 64, &f->report);
    if (status == RUNTIME_OK)
        status = launch(f, module, 100000, 8192, NULL);
    if (status == RUNTIME_OK)
        status = launch(f, module, 100, 0, f->fake->caller_stream);
    if (status == RUNTIME_OK)
        status = vtable->copy_out(f->device, in, memory, 64, &f->report);
    vtable->release(f->device, memory);
    return status;
}

static void each_failing_call_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    static const struct {
        int error;
        runtime_status status;
        const char *text;
    } rows[] = {{2, RUNTIME_NO_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (out of memory), error 2"},
                {700, RUNTIME_SYSTEM_FAILED, "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory"},
                {701, RUNTIME_OUT_OF_RESOURCES, "error 701"},
                {12345, RUNTIME_SYSTEM_FAILED, "an error without a name (no text), error 12345"}};
    int failures = 0;
    for (int i = 0; i < 4; i++) {
        bool failed = true;
        for (int at = 1; failed && at < 100; at++) {
            cuda_fixture *f = cuda_fixture_new();
            runtime_module *module = load(f);
            void *taken = NULL;
            f->fake->fail_at = f->fake->calls + at;
            f->fake->fail_with = rows[i].error;
            runtime_status status = do_everything(f, module, &taken);
            failed = f->fake->failed != NULL;
            f->fake->fail_at = 0;
            /* What gives back has nobody to tell, and not to be allowed more is no failure. */
            if (failed && strcmp(f->fake->failed, "cuMemFree") != 0 &&
                strcmp(f->fake->failed, "cuThreadExchangeStreamCaptureMode") != 0 &&
                strcmp(f->fake->failed, "cuCtxPopCurrent") != 0 && status == RUNTIME_OK)
                assert_string_equal(f->fake->failed, "cuCtxPushCurrent"); /* of release */
            if (status != RUNTIME_OK) {
                failures++;
                assert_int_equal(status, rows[i].status);
                assert_int_equal(status, f->report.status);
                assert_non_null(strstr(f->report.text, rows[i].text));
                assert_non_null(strstr(f->report.text, f->fake->failed));
            } else if (failed && strcmp(f->fake->failed, "cuCtxPushCurrent") == 0) {
                f->fake->live_memories--; /* a lost context keeps its memory */
                free(taken);
            }
            finish(f, module);
        }
        assert_false(failed);
    }
    assert_true(failures > 4 * 15);
}

/* Launches of two threads on one module: each sees its own arguments. */
static pthread_mutex_t sum_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_words(const uint64_t *arguments, uint32_t groups) {
    pthread_mutex_lock(&sum_lock);
    *(int64_t *)(uintptr_t)arguments[0] += (int64_t)arguments[2] * groups;
    pthread_mutex_unlock(&sum_lock);
}

typedef struct launcher {
    cuda_fixture *f;
    runtime_module *module;
    int64_t sum, step;
    int failed;
} launcher;

static void *launch_often(void *argument) {
    launcher *l = argument;
    runtime_report *report = malloc(sizeof *report);
    void *own[2] = {&l->sum, NULL};
    int64_t own_words[3] = {l->step, 0, 0};
    runtime_launch arguments = {
        .pointers = own, .words = own_words, .groups = 100000, .workspace_bytes = 8192};
    for (int i = 0; i < 100 && report != NULL; i++)
        l->failed +=
            l->f->device->vtable->launch(l->f->device, l->module, &arguments, report) != RUNTIME_OK;
    free(report);
    return NULL;
}

static void several_threads_may_launch(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->fake->kernel = add_words;
    runtime_module *module = load(f);
    launcher launchers[3];
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        launchers[i] = (launcher){.f = f, .module = module, .step = i + 1};
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &launchers[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(launchers[i].failed, 0);
        assert_int_equal(launchers[i].sum, 100 * 100000 * (i + 1));
    }
    assert_int_equal(f->fake->live_pools, 1);
    finish(f, module);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_pointers_words_workspace_and_first),
        cmocka_unit_test(no_groups_launch_nothing_and_a_negative_number_is_a_status),
        cmocka_unit_test(a_callers_stream_is_used_and_not_waited_for),
        cmocka_unit_test(large_launches_are_cut),
        cmocka_unit_test(groups_that_run_together_are_not_cut_apart),
        cmocka_unit_test(launches_overlap_where_program_and_driver_can),
        cmocka_unit_test(an_impossible_workspace_is_a_status),
        cmocka_unit_test(memory_goes_in_and_out),
        cmocka_unit_test(each_failing_call_is_a_status_and_nothing_leaks),
        cmocka_unit_test(several_threads_may_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
