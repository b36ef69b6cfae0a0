/* The device `opencl`: its memory, and what arrives at the implementation for a launch.
 *
 * threads: tsan (built and run under ThreadSanitizer in check-long) */
#include "opencl_fixture.h"

typedef struct session {
    opencl_fixture *f;
    runtime_module *module;
    void *memory[2];
} session;

static const int64_t words[3] = {4096, -1, 0x3f000000};

static session open_session(void) {
    session s = {.f = opencl_fixture_new()};
    assert_int_equal(opencl_fixture_load(s.f, &s.module), RUNTIME_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            s.f->device->vtable->allocate(s.f->device, 4096, &s.memory[i], &s.f->report),
            RUNTIME_OK);
    return s;
}

static void close_session(session *s) {
    for (int i = 0; i < 2; i++)
        s->f->device->vtable->release(s->f->device, s->memory[i]);
    s->f->device->vtable->unload(s->f->device, s->module);
    opencl_fixture_free(s->f);
}

static runtime_status launch(session *s, int64_t groups, int64_t workspace_bytes, void *stream) {
    runtime_launch arguments = {.pointers = s->memory,
                                .words = words,
                                .groups = groups,
                                .workspace_bytes = workspace_bytes,
                                .stream = stream};
    return s->f->device->vtable->launch(s->f->device, s->module, &arguments, &s->f->report);
}

static void arguments_are_buffers_workspace_and_words(void **state) {
    (void)state;
    session s = open_session();
    assert_int_equal(launch(&s, 1000, 0, NULL), RUNTIME_OK);
    assert_int_equal(s.f->fake->launch_count, 1);
    const fake_launch *seen = &s.f->fake->launches[0];
    assert_int_equal(seen->argument_count, 4);
    assert_ptr_equal(seen->memories[0], s.memory[0]);
    assert_ptr_equal(seen->memories[1], s.memory[1]);
    assert_null(seen->memories[2]);
    assert_int_equal(seen->word_bytes, 4 * 8);
    assert_memory_equal(seen->words, words, sizeof words);
    assert_int_equal(seen->words[3], 0);
    assert_int_equal(seen->items, 64000);
    assert_int_equal(seen->group, 64);
    assert_int_equal(seen->waits_for, -1);
    assert_int_equal(s.f->fake->waits, 1);
    assert_int_equal(s.f->fake->flushes, 0);
    close_session(&s);
}

static void no_groups_launch_nothing_and_a_negative_number_is_a_status(void **state) {
    (void)state;
    session s = open_session();
    int calls = s.f->fake->calls;
    assert_int_equal(launch(&s, 0, 1 << 20, NULL), RUNTIME_OK);
    assert_int_equal(launch(&s, -1, 0, NULL), RUNTIME_NO_MEMORY);
    assert_int_equal(launch(&s, 1, -1, NULL), RUNTIME_NO_MEMORY);
    assert_non_null(strstr(s.f->report.text, "64 bits"));
    assert_int_equal(s.f->fake->calls, calls);
    close_session(&s);
}

static void a_callers_queue_is_used_and_not_waited_for(void **state) {
    (void)state;
    session s = open_session();
    assert_int_equal(launch(&s, 1000, 64, s.f->fake->caller_queue), RUNTIME_OK);
    assert_ptr_equal(s.f->fake->launches[0].queue, s.f->fake->caller_queue);
    assert_int_equal(s.f->fake->waits, 0);
    assert_int_equal(s.f->fake->flushes, 1);
    close_session(&s);
}

static void workspaces_cut_a_launch(void **state) {
    (void)state;
    session s = open_session();
    int64_t held = s.f->fake->live_bytes;
    assert_int_equal(launch(&s, 100000, 8192, NULL), RUNTIME_OK);
    static const int64_t groups[] = {32768, 32768, 32768, 1696};
    assert_int_equal(s.f->fake->launch_count, 4);
    for (int i = 0; i < 4; i++) {
        const fake_launch *seen = &s.f->fake->launches[i];
        assert_int_equal(seen->words[3], i * 32768);
        assert_int_equal(seen->items, groups[i] * 64);
        assert_int_equal(seen->waits_for, i - 1);
        assert_non_null(seen->memories[2]);
        assert_ptr_equal(seen->memories[2], s.f->fake->launches[0].memories[2]);
    }
    assert_int_equal(s.f->fake->bytes_peak - held, 256 << 20);
    assert_int_equal(s.f->fake->live_bytes, held);
    assert_int_equal(s.f->fake->waits, 1);
    close_session(&s);
}

static void items_cut_a_launch(void **state) {
    (void)state;
    session s = open_session();
    const int64_t most = INT64_C(2147483647) / 64;
    assert_int_equal(launch(&s, 2 * most + 5, 0, NULL), RUNTIME_OK);
    assert_int_equal(s.f->fake->launch_count, 3);
    assert_int_equal(s.f->fake->launches[1].items, most * 64);
    assert_int_equal(s.f->fake->launches[2].items, 5 * 64);
    assert_int_equal(s.f->fake->launches[2].words[3], 2 * most);
    close_session(&s);
}

static void a_workspace_is_at_most_what_a_buffer_may_be(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_without_device();
    f->fake->devices[1].allocation_bytes = 1 << 20;
    assert_int_equal(opencl_fixture_create(f, NULL, NULL), RUNTIME_OK);
    session s = {.f = f};
    assert_int_equal(opencl_fixture_load(f, &s.module), RUNTIME_OK);
    assert_int_equal(launch(&s, 3, 1 << 19, NULL), RUNTIME_OK);
    assert_int_equal(f->fake->launch_count, 2);
    assert_int_equal(launch(&s, 3, (1 << 20) + 1, NULL), RUNTIME_NO_MEMORY);
    assert_non_null(strstr(f->report.text, "a workspace of 1048577 bytes"));
    void *memory = NULL;
    assert_int_equal(f->device->vtable->allocate(f->device, (1 << 20) + 1, &memory, &f->report),
                     RUNTIME_NO_MEMORY);
    assert_string_equal(f->report.text, "bytes of a buffer: required 1048577, available 1048576");
    close_session(&s);
}

static void launches_behind_wait_for_those_before(void **state) {
    (void)state;
    static const runtime_entry behind[] = {{.name = "croft_none", .threads = 64},
                                           {.name = "croft_last", .threads = 64}};
    static const runtime_size sizes[] = {{.groups = 0}, {.groups = 7, .workspace_bytes = 16}};
    opencl_fixture *f = opencl_fixture_new();
    session s = {.f = f};
    f->artifact.behind = behind;
    f->artifact.behind_count = 2;
    assert_int_equal(opencl_fixture_load(f, &s.module), RUNTIME_OK);
    runtime_launch arguments = {.pointers = s.memory, .words = words, .groups = 3, .behind = sizes};
    assert_int_equal(f->device->vtable->launch(f->device, s.module, &arguments, &f->report),
                     RUNTIME_OK);
    assert_int_equal(f->fake->launch_count, 2);
    assert_int_equal(f->fake->launches[1].items, 7 * 64);
    assert_int_equal(f->fake->launches[1].waits_for, 0);
    assert_ptr_not_equal(f->fake->launches[0].kernel, f->fake->launches[1].kernel);
    assert_non_null(f->fake->launches[1].memories[2]);
    assert_int_equal(f->fake->waits, 1);
    close_session(&s);
}

static void a_failure_while_it_runs_is_told_by_the_launch_that_waits(void **state) {
    (void)state;
    session s = open_session();
    s.f->fake->lost = 1;
    assert_int_equal(launch(&s, 1, 0, NULL), RUNTIME_SYSTEM_FAILED);
    assert_string_equal(s.f->report.text,
                        "clWaitForEvents: CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, error -14 "
                        "of OpenCL");
    close_session(&s);
}

static void places_are_those_of_the_whole(void **state) {
    (void)state;
    session s = open_session();
    const runtime_device_vtable *v = s.f->device->vtable;
    runtime_place whole, place;
    void *part = NULL, *inner = NULL;
    assert_int_equal(v->locate(s.f->device, s.memory[0], &whole, &s.f->report), RUNTIME_OK);
    assert_int_equal(whole.space, (uint64_t)(uintptr_t)s.memory[0]);
    assert_int_equal(whole.address, 0);
    assert_int_equal(whole.bytes, 4096);
    assert_int_equal(whole.part_alignment, 128);
    assert_false(whole.foreign || whole.read_only || whole.write_only);
    assert_int_equal(v->part(s.f->device, s.memory[0], 1024, 2048, &part, &s.f->report),
                     RUNTIME_OK);
    assert_int_equal(v->part(s.f->device, part, 512, 0, &inner, &s.f->report), RUNTIME_OK);
    assert_int_equal(v->locate(s.f->device, inner, &place, &s.f->report), RUNTIME_OK);
    assert_int_equal(place.space, whole.space);
    assert_int_equal(place.address, 1536);
    assert_int_equal(place.bytes, 1);
    v->release(s.f->device, inner);
    v->release(s.f->device, part);
    assert_int_equal(v->part(s.f->device, s.memory[0], 64, 2048, &part, &s.f->report),
                     RUNTIME_SYSTEM_FAILED);
    assert_non_null(strstr(s.f->report.text, "a multiple of 128 bytes on this device, and 64"));
    s.f->fake->host = s.memory; /* any address: no kernel runs */
    assert_int_equal(v->locate(s.f->device, s.memory[0], &place, &s.f->report), RUNTIME_OK);
    assert_int_equal(place.space, 0);
    assert_int_equal(place.address, (uint64_t)(uintptr_t)s.memory);
    s.f->fake->host = NULL;
    assert_int_equal(v->locate(s.f->device, NULL, &place, &s.f->report), RUNTIME_OK);
    assert_int_equal(place.bytes, 0);
    close_session(&s);
}

static runtime_status use_everything(session *s) {
    const runtime_device_vtable *v = s->f->device->vtable;
    char bytes[16] = {0};
    void *part = NULL;
    runtime_place place;
    runtime_report *report = &s->f->report;
    runtime_status status = v->copy_in(s->f->device, s->memory[0], bytes, sizeof bytes, report);
    if (status == RUNTIME_OK)
        status = v->part(s->f->device, s->memory[0], 128, 16, &part, report);
    if (status == RUNTIME_OK)
        status = v->locate(s->f->device, part, &place, report);
    v->release(s->f->device, part);
    if (status == RUNTIME_OK)
        status = launch(s, 3, INT64_C(200) << 20, NULL);
    if (status == RUNTIME_OK)
        status = launch(s, 3, 0, s->f->fake->caller_queue);
    if (status == RUNTIME_OK)
        status = v->copy_out(s->f->device, bytes, s->memory[1], sizeof bytes, report);
    return status;
}

static void each_failing_call_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int succeeded = 0, failures = 0;
    for (int at = 1; at < 100 && !succeeded; at++) {
        session s = open_session();
        s.f->fake->fail_at = s.f->fake->calls + at;
        s.f->fake->fail_with = -6;
        runtime_status status = use_everything(&s);
        succeeded = s.f->fake->failed == NULL;
        s.f->fake->fail_at = 0;
        int silent = !succeeded && strcmp(s.f->fake->failed, "clReleaseMemObject") == 0;
        silent = silent || (!succeeded && strcmp(s.f->fake->failed, "clReleaseEvent") == 0 &&
                            status == RUNTIME_OK);
        if (!succeeded && !silent) {
            failures++;
            assert_int_equal(status, RUNTIME_NO_MEMORY);
            assert_non_null(strstr(s.f->report.text, s.f->fake->failed));
            assert_non_null(strstr(s.f->report.text, "CL_OUT_OF_HOST_MEMORY, error -6"));
        } else {
            assert_int_equal(status, RUNTIME_OK);
        }
        close_session(&s);
    }
    assert_true(succeeded);
    assert_true(failures > 30);
}

/* ---- threads ---- */

static void *launch_often(void *argument) {
    session *s = argument;
    runtime_report *report = malloc(sizeof *report);
    int fine = 0;
    for (int i = 0; i < 100 && report != NULL; i++) {
        runtime_artifact artifact = s->f->artifact;
        runtime_module *module = NULL;
        runtime_launch arguments = {.pointers = s->memory, .words = words, .groups = 1 + i % 3};
        artifact.allow_spills = i % 2 != 0; /* one that all share, and one that comes and goes */
        if (s->f->device->vtable->load(s->f->device, &artifact, &module, report) != RUNTIME_OK)
            continue;
        fine +=
            s->f->device->vtable->launch(s->f->device, module, &arguments, report) == RUNTIME_OK;
        s->f->device->vtable->unload(s->f->device, module);
    }
    free(report);
    return fine == 100 ? argument : NULL;
}

static void several_threads_may_load_and_launch(void **state) {
    (void)state;
    session s = open_session();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &s), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, &s);
    }
    assert_int_equal(s.f->fake->launch_count, 400);
    close_session(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_buffers_workspace_and_words),
        cmocka_unit_test(no_groups_launch_nothing_and_a_negative_number_is_a_status),
        cmocka_unit_test(a_callers_queue_is_used_and_not_waited_for),
        cmocka_unit_test(workspaces_cut_a_launch),
        cmocka_unit_test(items_cut_a_launch),
        cmocka_unit_test(a_workspace_is_at_most_what_a_buffer_may_be),
        cmocka_unit_test(launches_behind_wait_for_those_before),
        cmocka_unit_test(a_failure_while_it_runs_is_told_by_the_launch_that_waits),
        cmocka_unit_test(places_are_those_of_the_whole),
        cmocka_unit_test(each_failing_call_is_a_status_and_nothing_leaks),
        cmocka_unit_test(several_threads_may_load_and_launch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
