/* The device `opencl` on an implementation that is installed (PoCL does), with texts by hand: what
 * a pretended library cannot tell. CROFT_OPENCL_LIBRARY names another than the loader. */
#include "opencl_caller.h"

#include <math.h>
#include <pthread.h>

#define HEAD                                                                                       \
    "#pragma OPENCL FP_CONTRACT OFF\n"                                                             \
    "struct croft_words { long words[3]; long first; };\n"                                         \
    "#define KERNEL(NAME, T) __kernel __attribute__((reqd_work_group_size(T, 1, 1))) void NAME("   \
    "__global const float *x, __global float *y, __global uchar *workspace, "                      \
    "const struct croft_words arguments)\n"                                                        \
    "#define GROUP (arguments.first + (long)get_group_id(0))\n"                                    \
    "#define N arguments.words[1]\n"

/* words: R, N, the bits of a scalar. */
static const char text[] =
    HEAD "KERNEL(croft_scale, 8) {\n"
         "    float a = as_float((uint)arguments.words[2]);\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 8)\n"
         "        y[GROUP * N + i] = x[GROUP * N + i] * a;\n"
         "}\n"
         "KERNEL(croft_add, 8) {\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 8)\n"
         "        y[GROUP * N + i] += 1.0f;\n"
         "}\n"
         "KERNEL(croft_sum, 32) {\n"
         "    __local float part[32];\n"
         "    float sum = 0.0f;\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 32)\n"
         "        sum += x[GROUP * N + i];\n"
         "    part[get_local_id(0)] = sum;\n"
         "    barrier(CLK_LOCAL_MEM_FENCE);\n"
         "    for (uint k = 16; k > 0; k /= 2) {\n"
         "        if (get_local_id(0) < k)\n"
         "            part[get_local_id(0)] += part[get_local_id(0) + k];\n"
         "        barrier(CLK_LOCAL_MEM_FENCE);\n"
         "    }\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 32)\n"
         "        y[GROUP * N + i] = part[0];\n"
         "}\n"
         "KERNEL(croft_through_workspace, 8) {\n"
         "    __global float *own = (__global float *)(workspace + get_group_id(0) * "
         "(ulong)WORKSPACE);\n"
         "    long last = (long)WORKSPACE / 4 - 8 + (long)get_local_id(0);\n"
         "    own[get_local_id(0)] = own[last] = (float)GROUP;\n"
         "    barrier(CLK_GLOBAL_MEM_FENCE);\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 8)\n"
         "        y[GROUP * N + i] += own[i % 8] + own[WORKSPACE / 4 - 8 + i % 8];\n"
         "}\n"
         "KERNEL(croft_divide, 8) {\n"
         "    for (long i = (long)get_local_id(0); i < N; i += 8)\n"
         "        y[GROUP * N + i] = x[GROUP * N + i] / sqrt(fabs(x[(GROUP * N + i) ^ 1]));\n"
         "}\n";

enum { ROWS = 37, WIDTH = 50, COUNT = ROWS * WIDTH, WORKSPACE = 32 << 20 };

static const char *const flags[] = {"-DWORKSPACE=33554432", NULL};

typedef struct session {
    runtime_device *device;
    runtime_report report;
    void *memory[2]; /* x, y */
    float x[COUNT], y[COUNT];
    int64_t words[3];
} session;

static session *open_session(const runtime_opencl_config *config) {
    session *s = calloc(1, sizeof *s);
    const runtime_opencl_config own = {.library = opencl_caller_library()};
    assert_non_null(s);
    if (runtime_opencl_create(base_allocator_default(), config != NULL ? config : &own, &s->device,
                              &s->report) != RUNTIME_OK)
        fail_msg("%s", s->report.text);
    const runtime_device_vtable *v = s->device->vtable;
    for (int i = 0; i < COUNT; i++)
        s->x[i] = (float)(i % 251) - 100.0f;
    float a = 3.0f;
    s->words[0] = ROWS;
    s->words[1] = WIDTH;
    memcpy(&s->words[2], &a, sizeof a);
    for (int i = 0; i < 2; i++)
        assert_int_equal(v->allocate(s->device, sizeof s->x, &s->memory[i], &s->report),
                         RUNTIME_OK);
    assert_int_equal(v->copy_in(s->device, s->memory[0], s->x, sizeof s->x, &s->report),
                     RUNTIME_OK);
    assert_int_equal(v->copy_in(s->device, s->memory[1], s->y, sizeof s->y, &s->report),
                     RUNTIME_OK);
    return s;
}

static void close_session(session *s) {
    for (int i = 0; i < 2; i++)
        s->device->vtable->release(s->device, s->memory[i]);
    s->device->vtable->destroy(s->device);
    free(s);
}

static runtime_artifact artifact_of(const char *source, const char *entry, int threads) {
    return (runtime_artifact){.text = source,
                              .length = strlen(source),
                              .entry = entry,
                              .flags = flags,
                              .threads = threads,
                              .pointer_count = 2,
                              .word_count = 3};
}

static runtime_status load(session *s, const runtime_artifact *artifact, runtime_module **module) {
    return s->device->vtable->load(s->device, artifact, module, &s->report);
}

static runtime_module *load_entry(session *s, const char *entry, int threads) {
    runtime_artifact artifact = artifact_of(text, entry, threads);
    runtime_module *module = NULL;
    if (load(s, &artifact, &module) != RUNTIME_OK)
        fail_msg("%s", s->report.text);
    return module;
}

static void run_and_read(session *s, runtime_module *module, const runtime_launch *launch) {
    runtime_launch own = launch != NULL ? *launch : (runtime_launch){.groups = ROWS};
    own.pointers = s->memory;
    own.words = s->words;
    if (s->device->vtable->launch(s->device, module, &own, &s->report) != RUNTIME_OK ||
        s->device->vtable->copy_out(s->device, s->y, s->memory[1], sizeof s->y, &s->report) !=
            RUNTIME_OK)
        fail_msg("%s", s->report.text);
}

static void unload(session *s, runtime_module *module) {
    s->device->vtable->unload(s->device, module);
}

/* ---- results ---- */

static void arguments_arrive(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_scale", 8);
    run_and_read(s, module, NULL);
    for (int i = 0; i < COUNT; i++)
        assert_true(s->y[i] == s->x[i] * 3.0f);
    runtime_launch none = {.groups = 0};
    memset(s->y, 0, sizeof s->y);
    assert_int_equal(
        s->device->vtable->copy_in(s->device, s->memory[1], s->y, sizeof s->y, &s->report),
        RUNTIME_OK);
    run_and_read(s, module, &none);
    for (int i = 0; i < COUNT; i++)
        assert_true(s->y[i] == 0.0f);
    unload(s, module);
    close_session(s);
}

static void local_memory_is_a_groups_own(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_sum", 32);
    run_and_read(s, module, NULL);
    for (int row = 0; row < ROWS; row++) {
        float sum = 0;
        for (int i = 0; i < WIDTH; i++)
            sum += s->x[row * WIDTH + i];
        for (int i = 0; i < WIDTH; i++)
            assert_true(s->y[row * WIDTH + i] == sum);
    }
    unload(s, module);
    close_session(s);
}

/* Eight groups at a time: 256 MiB of workspaces. */
static void groups_in_parts_have_workspaces_and_their_numbers(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_through_workspace", 8);
    runtime_launch launch = {.groups = 19, .workspace_bytes = WORKSPACE};
    run_and_read(s, module, &launch);
    for (int i = 0; i < COUNT; i++)
        assert_true(s->y[i] == (i / WIDTH < 19 ? 2.0f * (float)(i / WIDTH) : 0.0f));
    unload(s, module);
    close_session(s);
}

static void launches_behind_run_in_order(void **state) {
    (void)state;
    session *s = open_session(NULL);
    static const runtime_entry behind[] = {{.name = "croft_add", .threads = 8},
                                           {.name = "croft_add", .threads = 8}};
    static const runtime_size sizes[] = {{.groups = ROWS}, {.groups = 10}};
    runtime_artifact artifact = artifact_of(text, "croft_scale", 8);
    artifact.behind = behind;
    artifact.behind_count = 2;
    runtime_module *module = NULL;
    runtime_launch launch = {.groups = ROWS, .behind = sizes};
    assert_int_equal(load(s, &artifact, &module), RUNTIME_OK);
    run_and_read(s, module, &launch);
    for (int i = 0; i < COUNT; i++)
        assert_true(s->y[i] == s->x[i] * 3.0f + (i / WIDTH < 10 ? 2.0f : 1.0f));
    unload(s, module);
    close_session(s);
}

static void division_and_roots_are_rounded_and_subnormals_kept(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_divide", 8);
    uint32_t seed = 12345;
    for (int i = 0; i < COUNT; i++) {
        seed = seed * 1664525u + 1013904223u;
        uint32_t bits = i < 64 ? seed & 0x807fffffu : seed; /* the first are subnormal */
        memcpy(&s->x[i], &bits, sizeof bits);
    }
    assert_int_equal(
        s->device->vtable->copy_in(s->device, s->memory[0], s->x, sizeof s->x, &s->report),
        RUNTIME_OK);
    run_and_read(s, module, NULL);
    for (int i = 0; i < COUNT; i++) {
        float expected = s->x[i] / sqrtf(fabsf(s->x[i ^ 1]));
        assert_true(isnan(expected) ? isnan(s->y[i])
                                    : memcmp(&expected, &s->y[i], sizeof expected) == 0);
    }
    unload(s, module);
    close_session(s);
}

/* ---- what is refused ---- */

static void expect_refused(session *s, const runtime_artifact *artifact, runtime_status status,
                           const char *words) {
    runtime_module *module = NULL;
    runtime_status found = load(s, artifact, &module);
    if (found != status || strstr(s->report.text, words) == NULL)
        fail_msg("status %d, expected %d and `%s`: %s", found, status, words, s->report.text);
    assert_int_equal(s->report.status, status);
    assert_null(module);
}

static void a_text_that_is_wrong_comes_with_the_log(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_artifact artifact =
        artifact_of(HEAD "KERNEL(croft_k, 8) { nothing_known = 1; }\n", "croft_k", 8);
    expect_refused(s, &artifact, RUNTIME_COMPILE_FAILED, "CL_BUILD_PROGRAM_FAILURE, error -11");
    assert_non_null(strstr(s->report.text, "nothing_known"));
    artifact = artifact_of(text, "croft_missing", 8);
    expect_refused(s, &artifact, RUNTIME_LOAD_FAILED, "clCreateKernel: CL_INVALID_KERNEL_NAME");
    assert_non_null(strstr(s->report.text, "`croft_missing`"));
    artifact = artifact_of(text, "croft_scale", 16);
    expect_refused(s, &artifact, RUNTIME_LOAD_FAILED, "groups of 8 x 1 x 1 where 16 x 1 x 1");
    artifact = artifact_of(text, "croft_scale", 8);
    artifact.pointer_count = 3;
    expect_refused(s, &artifact, RUNTIME_LOAD_FAILED, "4 arguments where 5 are wanted");
    close_session(s);
}

static void what_the_device_does_not_have_is_told_in_numbers(void **state) {
    (void)state;
    session *s = open_session(NULL);
    const runtime_opencl_facts *facts = runtime_opencl_facts_of(s->device);
    char source[sizeof text + 400], words[100];
    runtime_artifact artifact = artifact_of(text, "croft_scale", facts->threads_limit + 1);
    snprintf(words, sizeof words, "threads of a group: required %d, available %d",
             facts->threads_limit + 1, facts->threads_limit);
    expect_refused(s, &artifact, RUNTIME_OUT_OF_RESOURCES, words);
    long long bytes = (long long)facts->scratch_limit_bytes + 1024;
    snprintf(source, sizeof source,
             HEAD "KERNEL(croft_k, 8) {\n"
                  "    __local uchar much[%lld];\n"
                  "    for (long i = (long)get_local_id(0); i < %lld; i += 8) much[i] = (uchar)i;\n"
                  "    barrier(CLK_LOCAL_MEM_FENCE);\n"
                  "    y[GROUP] = (float)much[(arguments.words[0] * 977) %% %lld];\n"
                  "}\n",
             bytes, bytes, bytes);
    artifact = artifact_of(source, "croft_k", 8);
    snprintf(words, sizeof words, "bytes of scratch of a group: required %lld, available %lld",
             bytes, (long long)facts->scratch_limit_bytes);
    expect_refused(s, &artifact, RUNTIME_OUT_OF_RESOURCES, words);
    close_session(s);
}

static void facts_are_the_devices(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_sum", 32);
    runtime_facts facts;
    assert_true(s->device->vtable->facts(s->device, module, 0, &facts));
    assert_string_equal(facts.from, runtime_opencl_facts_of(s->device)->name);
    assert_true(facts.scratch_bytes >= 32 * 4);
    assert_true(facts.threads_limit >= 32);
    assert_int_equal(facts.registers, -1);
    assert_false(s->device->vtable->facts(s->device, module, 1, &facts));
    unload(s, module);
    close_session(s);
}

/* ---- memory ---- */

static void parts_of_buffers_begin_where_they_may(void **state) {
    (void)state;
    session *s = open_session(NULL);
    const runtime_device_vtable *v = s->device->vtable;
    int64_t step = runtime_opencl_facts_of(s->device)->part_alignment_bytes;
    runtime_module *module = load_entry(s, "croft_scale", 8);
    runtime_place whole, place;
    void *part = NULL, *same = NULL;
    assert_int_equal(v->part(s->device, s->memory[0], step + 4, 16, &part, &s->report),
                     RUNTIME_SYSTEM_FAILED);
    assert_null(part);
    assert_non_null(strstr(s->report.text, "begins at a multiple of"));
    int64_t bytes = (int64_t)sizeof s->x - step;
    assert_int_equal(v->part(s->device, s->memory[0], step, bytes, &part, &s->report), RUNTIME_OK);
    assert_int_equal(v->locate(s->device, s->memory[0], &whole, &s->report), RUNTIME_OK);
    assert_int_equal(v->locate(s->device, part, &place, &s->report), RUNTIME_OK);
    assert_true(place.space == whole.space && place.space != 0);
    assert_int_equal(place.address, whole.address + (uint64_t)step);
    assert_int_equal(place.bytes, bytes);
    assert_int_equal(whole.bytes, sizeof s->x);
    assert_int_equal(place.part_alignment, step);
    void *pointers[2] = {part, s->memory[1]};
    runtime_launch launch = {.pointers = pointers, .words = s->words, .groups = 1};
    assert_int_equal(v->launch(s->device, module, &launch, &s->report), RUNTIME_OK);
    assert_int_equal(v->copy_out(s->device, s->y, s->memory[1], sizeof s->y, &s->report),
                     RUNTIME_OK);
    for (int i = 0; i < WIDTH; i++)
        assert_true(s->y[i] == 3.0f * s->x[i + step / 4]);
    assert_int_equal(v->part(s->device, part, 0, bytes, &same, &s->report), RUNTIME_OK);
    assert_ptr_equal(same, part);
    v->release(s->device, same);
    assert_int_equal(v->part(s->device, part, 0, 1, &same, &s->report), RUNTIME_OK);
    assert_int_equal(v->locate(s->device, same, &place, &s->report), RUNTIME_OK);
    assert_int_equal(place.bytes, 1); /* no more than was asked for */
    v->release(s->device, same);
    v->release(s->device, part);
    unload(s, module);
    close_session(s);
}

static void a_buffer_that_is_too_large_is_told(void **state) {
    (void)state;
    session *s = open_session(NULL);
    void *memory = &memory;
    assert_int_equal(s->device->vtable->allocate(s->device, INT64_MAX / 2, &memory, &s->report),
                     RUNTIME_NO_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(s->report.text, "bytes of a buffer: required 46116860184273879"));
    close_session(s);
}

/* ---- the caller's context, device and queue ---- */

static void a_callers_context_and_queues_are_used(void **state) {
    (void)state;
    for (uint64_t properties = 0; properties <= CALLER_OUT_OF_ORDER; properties++) {
        opencl_caller c;
        opencl_caller_open(&c, properties);
        const runtime_opencl_config config = {
            .library = opencl_caller_library(), .context = c.context, .device = c.device};
        session *s = open_session(&config);
        static const runtime_entry behind[] = {{.name = "croft_add", .threads = 8},
                                               {.name = "croft_add", .threads = 8}};
        static const runtime_size sizes[] = {{.groups = ROWS}, {.groups = ROWS}};
        runtime_artifact artifact = artifact_of(text, "croft_scale", 8);
        artifact.behind = behind;
        artifact.behind_count = 2;
        runtime_module *module = NULL;
        assert_int_equal(load(s, &artifact, &module), RUNTIME_OK);
        runtime_launch launch = {.pointers = s->memory,
                                 .words = s->words,
                                 .groups = ROWS,
                                 .behind = sizes,
                                 .stream = c.queue};
        assert_int_equal(s->device->vtable->launch(s->device, module, &launch, &s->report),
                         RUNTIME_OK);
        assert_int_equal(c.finish(c.queue), 0);
        assert_int_equal(
            s->device->vtable->copy_out(s->device, s->y, s->memory[1], sizeof s->y, &s->report),
            RUNTIME_OK);
        for (int i = 0; i < COUNT; i++)
            assert_true(s->y[i] == s->x[i] * 3.0f + 2.0f);
        assert_int_equal(runtime_opencl_facts_of(s->device)->ordinal, -1);
        unload(s, module);
        close_session(s);
        opencl_caller_close(&c);
    }
}

/* ---- threads ---- */

typedef struct worker {
    session *s;
    runtime_module *module;
    float scale;
    int wrong;
} worker;

static void *launch_often(void *argument) {
    worker *w = argument;
    runtime_device *device = w->s->device;
    runtime_report *report = malloc(sizeof *report);
    float *y = malloc(sizeof w->s->y);
    void *memory[2] = {w->s->memory[0], NULL};
    int64_t words[3] = {ROWS, WIDTH, 0};
    memcpy(&words[2], &w->scale, sizeof w->scale);
    w->wrong += report == NULL || y == NULL ||
                device->vtable->allocate(device, sizeof w->s->y, &memory[1], report) != RUNTIME_OK;
    for (int round = 0; round < 20 && w->wrong == 0; round++) {
        runtime_launch launch = {.pointers = memory, .words = words, .groups = ROWS};
        w->wrong +=
            device->vtable->launch(device, w->module, &launch, report) != RUNTIME_OK ||
            device->vtable->copy_out(device, y, memory[1], sizeof w->s->y, report) != RUNTIME_OK;
        for (int i = 0; i < COUNT && w->wrong == 0; i++)
            w->wrong += y[i] != w->s->x[i] * w->scale;
    }
    device->vtable->release(device, memory[1]);
    free(report);
    free(y);
    return NULL;
}

static void threads_do_not_mix_their_arguments(void **state) {
    (void)state;
    session *s = open_session(NULL);
    runtime_module *module = load_entry(s, "croft_scale", 8);
    pthread_t threads[4];
    worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.s = s, .module = module, .scale = (float)(i + 2)};
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    unload(s, module);
    close_session(s);
}

/* ---- libraries ---- */

/* The vendor's library of Debian's PoCL exports none of its functions. */
static void a_vendors_library_needs_no_loader(void **state) {
    (void)state;
    void *there = dlopen("libpocl.so.2", RTLD_NOW);
    if (there == NULL)
        skip();
    dlclose(there);
    const runtime_opencl_config config = {.library = "libpocl.so.2"};
    session *s = open_session(&config);
    runtime_module *module = load_entry(s, "croft_scale", 8);
    run_and_read(s, module, NULL);
    for (int i = 0; i < COUNT; i++)
        assert_true(s->y[i] == s->x[i] * 3.0f);
    unload(s, module);
    close_session(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_arrive),
        cmocka_unit_test(local_memory_is_a_groups_own),
        cmocka_unit_test(groups_in_parts_have_workspaces_and_their_numbers),
        cmocka_unit_test(launches_behind_run_in_order),
        cmocka_unit_test(division_and_roots_are_rounded_and_subnormals_kept),
        cmocka_unit_test(a_text_that_is_wrong_comes_with_the_log),
        cmocka_unit_test(what_the_device_does_not_have_is_told_in_numbers),
        cmocka_unit_test(facts_are_the_devices),
        cmocka_unit_test(parts_of_buffers_begin_where_they_may),
        cmocka_unit_test(a_buffer_that_is_too_large_is_told),
        cmocka_unit_test(a_callers_context_and_queues_are_used),
        cmocka_unit_test(threads_do_not_mix_their_arguments),
        cmocka_unit_test(a_vendors_library_needs_no_loader),
    };
    return RUN_OPENCL_TESTS(tests);
}
