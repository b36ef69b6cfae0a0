/* The device `opencl`: finding it, choosing, loading, what it refuses, and what it keeps. */
#include "opencl_fixture.h"

/* ---- libraries ---- */

static runtime_status create_from(const char *library, char text[RUNTIME_REPORT_LIMIT]) {
    runtime_opencl_config config = {.library = library};
    runtime_report report;
    runtime_device *device = NULL;
    runtime_status status =
        runtime_opencl_create(base_allocator_default(), &config, &device, &report);
    assert_int_equal(status, report.status);
    assert_null(device);
    strcpy(text, report.text);
    return status;
}

static void a_library_that_is_not_there_is_no_device(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    assert_int_equal(create_from("/nowhere/libOpenCL.so.1", text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "no OpenCL; looked for\n  /nowhere/libOpenCL.so.1: "));
    assert_non_null(strstr(text, "No such file"));
}

static void a_library_that_is_none_of_opencl_is_named(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    assert_int_equal(create_from("libc.so.6", text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "libc.so.6 has neither clGetPlatformIDs nor"));
}

/* The loader of the system would take the program itself for a library without a name. */
static void a_library_without_a_name_is_the_loader(void **state) {
    (void)state;
    static runtime_opencl_system system;
    const runtime_opencl_config config = {.library = ""};
    runtime_opencl_look(&config, &system);
    assert_non_null(strstr(system.library.text, "libOpenCL.so.1"));
}

static void no_platform_and_no_device_are_told_apart(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    fake_opencl_state *fake = fake_open();
    fake->platform_count = 0;
    assert_int_equal(create_from(CROFT_FAKE_OPENCL, text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, CROFT_FAKE_OPENCL " has no platform"));
    fake->platform_count = 1;
    fake->device_count = 0;
    assert_int_equal(create_from(CROFT_FAKE_OPENCL, text), RUNTIME_NO_DEVICE);
    assert_string_equal(text, "no platform of " CROFT_FAKE_OPENCL " has a device");
    fake_close(fake);
}

/* Its functions have no names: they are those of the table to which its platforms point. */
static void a_vendors_library_is_driven_through_its_table(void **state) {
    (void)state;
    fake_opencl_state *fake = fake_open_at(CROFT_FAKE_OPENCL_VENDOR);
    runtime_opencl_config config = {.library = CROFT_FAKE_OPENCL_VENDOR};
    static runtime_report report;
    runtime_device *device = NULL;
    runtime_module *module = NULL;
    void *memory[2] = {NULL}, *part = NULL;
    char bytes[512];
    int64_t words[3] = {1, 2, 3};
    const runtime_artifact artifact = {.text = opencl_text,
                                       .length = sizeof opencl_text - 1,
                                       .entry = "croft_row",
                                       .threads = 64,
                                       .pointer_count = 2,
                                       .word_count = 3};
    if (runtime_opencl_create(base_allocator_default(), &config, &device, &report) != RUNTIME_OK)
        fail_msg("%s", report.text);
    const runtime_device_vtable *v = device->vtable;
    for (int i = 0; i < 2; i++)
        assert_int_equal(v->allocate(device, sizeof bytes, &memory[i], &report), RUNTIME_OK);
    memset(bytes, 7, sizeof bytes);
    assert_int_equal(v->copy_in(device, memory[0], bytes, sizeof bytes, &report), RUNTIME_OK);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(v->copy_out(device, bytes, memory[0], sizeof bytes, &report), RUNTIME_OK);
    assert_int_equal(bytes[511], 7);
    assert_int_equal(v->part(device, memory[0], 128, 64, &part, &report), RUNTIME_OK);
    assert_int_equal(v->load(device, &artifact, &module, &report), RUNTIME_OK);
    const runtime_launch launch = {.pointers = memory, .words = words, .groups = 5};
    assert_int_equal(v->launch(device, module, &launch, &report), RUNTIME_OK);
    assert_int_equal(fake->launch_count, 1);
    assert_int_equal(fake->launches[0].items, 5 * 64);
    assert_ptr_equal(fake->launches[0].memories[1], memory[1]);
    v->unload(device, module);
    v->release(device, part);
    v->release(device, memory[0]);
    v->release(device, memory[1]);
    v->destroy(device);
    char text[RUNTIME_REPORT_LIMIT];
    fake->platform_count = 0;
    assert_int_equal(create_from(CROFT_FAKE_OPENCL_VENDOR, text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "clIcdGetPlatformIDsKHR: CL_PLATFORM_NOT_FOUND_KHR, error -1001"));
    fake_close(fake);
}

/* ---- choosing ---- */

static void a_gpu_goes_before_what_stands_before_it(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    const runtime_opencl_facts *facts = runtime_opencl_facts_of(f->device);
    assert_string_equal(facts->name, "Pretended graphics");
    assert_string_equal(facts->kind, "gpu");
    assert_int_equal(facts->ordinal, 1);
    assert_string_equal(facts->platform, "Pretending");
    assert_string_equal(facts->driver, "7.5");
    assert_int_equal(facts->threads_limit, 256);
    assert_int_equal(facts->scratch_limit_bytes, 32768);
    assert_int_equal(facts->part_alignment_bytes, 128);
    assert_string_equal(facts->machine, "opencl");
    opencl_fixture_free(f);
    f = opencl_fixture_without_device();
    f->fake->devices[1].single_config = 0x7f; /* the processor will do, the graphics not */
    assert_int_equal(opencl_fixture_create(f, NULL, NULL), RUNTIME_OK);
    assert_string_equal(runtime_opencl_facts_of(f->device)->name, "Pretended processor");
    opencl_fixture_free(f);
    f = opencl_fixture_without_device();
    f->fake->devices[1].kind = 8;
    assert_int_equal(opencl_fixture_create(f, NULL, NULL), RUNTIME_OK);
    assert_string_equal(runtime_opencl_facts_of(f->device)->kind, "cpu");
    opencl_fixture_free(f);
}

/* What the device does not have, by each way of not having it. */
static void break_device(fake_device *device, int way) {
    switch (way) {
    case 0:
        device->available = 0;
        break;
    case 1:
        device->compiler = 0;
        break;
    case 2:
        device->little_endian = 0;
        break;
    case 3:
        device->address_bits = 32;
        break;
    case 4:
        device->version = "OpenCL 1.1 old";
        break;
    case 5:
        device->language = "OpenCL C 1.0 ";
        break;
    case 6:
        device->profile = "EMBEDDED_PROFILE";
        break;
    case 7:
        device->single_config &= ~UINT64_C(1);
        break;
    case 8:
        device->single_config &= ~UINT64_C(2);
        break;
    case 9:
        device->single_config &= ~UINT64_C(4);
        break;
    case 10:
        device->single_config &= ~UINT64_C(128);
        break;
    default:
        device->version = "no version";
        break;
    }
}

static void what_a_device_lacks_is_said_by_name(void **state) {
    (void)state;
    static const char *const names[] = {
        "CL_DEVICE_AVAILABLE",
        "CL_DEVICE_COMPILER_AVAILABLE (a compiler)",
        "CL_DEVICE_ENDIAN_LITTLE",
        "CL_DEVICE_ADDRESS_BITS 64",
        "OpenCL 1.2 (it has OpenCL 1.1 old)",
        "OpenCL C 1.2 (it has OpenCL C 1.0 )",
        "FULL_PROFILE (64-bit integers; it has EMBEDDED_PROFILE)",
        "CL_FP_DENORM (subnormals)",
        "CL_FP_INF_NAN",
        "CL_FP_ROUND_TO_NEAREST",
        "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT (exact division and roots)",
        "OpenCL 1.2 (it has no version)",
    };
    for (int way = 0; way < 12; way++) {
        opencl_fixture *f = opencl_fixture_without_device();
        f->fake->device_count = 1;
        break_device(&f->fake->devices[0], way);
        assert_int_equal(opencl_fixture_create(f, NULL, NULL), RUNTIME_NO_DEVICE);
        char expected[200];
        snprintf(expected, sizeof expected, "\n  Pretended processor: it lacks %s", names[way]);
        if (strstr(f->report.text, expected) == NULL)
            fail_msg("`%s` is not in: %s", expected, f->report.text);
        assert_null(strchr(strstr(f->report.text, "lacks") + strlen(names[way]) + 7, ','));
        opencl_fixture_free(f);
    }
    opencl_fixture *f = opencl_fixture_without_device();
    break_device(&f->fake->devices[0], 1);
    break_device(&f->fake->devices[0], 7);
    break_device(&f->fake->devices[1], 3);
    assert_int_equal(opencl_fixture_create(f, NULL, NULL), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(f->report.text, "(a compiler), CL_FP_DENORM (subnormals)\n"
                                           "  Pretended graphics: it lacks CL_DEVICE_ADDRESS"));
    opencl_fixture_free(f);
}

static void looking_says_what_there_is_and_lacks(void **state) {
    (void)state;
    static runtime_opencl_system found;
    fake_opencl_state *fake = fake_open();
    runtime_opencl_config config = {.library = CROFT_FAKE_OPENCL};
    fake->devices[1].compiler = 0;
    runtime_opencl_look(&config, &found);
    assert_int_equal(found.library.status, RUNTIME_OK);
    assert_string_equal(found.library.text, CROFT_FAKE_OPENCL);
    assert_int_equal(found.device_count, 2);
    assert_string_equal(found.devices[0].lacking, "");
    assert_string_equal(found.devices[1].lacking, "CL_DEVICE_COMPILER_AVAILABLE (a compiler)");
    fake->platform_count = 0;
    runtime_opencl_look(&config, &found);
    assert_int_equal(found.library.status, RUNTIME_NO_DEVICE);
    assert_int_equal(found.device_count, 0);
    fake_close(fake);
}

static void a_callers_context_is_used_and_left_alone(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_without_device();
    fake_opencl_state *fake = f->fake;
    assert_int_equal(opencl_fixture_create(f, fake->caller_context, fake->caller_device),
                     RUNTIME_OK);
    assert_int_equal(fake->live_contexts, 0);
    assert_int_equal(fake->live_queues, 1);
    assert_string_equal(runtime_opencl_facts_of(f->device)->name, "Pretended processor");
    opencl_fixture_free(f); /* live_contexts would be -1 */
    f = opencl_fixture_without_device();
    assert_int_equal(opencl_fixture_create(f, fake->caller_context, NULL), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(f->report.text, "without a device"));
    fake->devices[0].compiler = 0;
    assert_int_equal(opencl_fixture_create(f, fake->caller_context, fake->caller_device),
                     RUNTIME_NO_DEVICE);
    assert_string_equal(f->report.text, "the OpenCL device Pretended processor lacks "
                                        "CL_DEVICE_COMPILER_AVAILABLE (a compiler)");
    opencl_fixture_free(f);
}

/* ---- load ---- */

static void options_are_the_machines_and_those_of_the_arithmetic(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    runtime_module *module = NULL;
    runtime_facts facts;
    f->fake->log = "\n warning: something \n";
    assert_int_equal(opencl_fixture_load(f, &module), RUNTIME_OK);
    assert_string_equal(f->fake->options,
                        "-DGIVEN -cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt");
    assert_string_equal(f->fake->text, opencl_text);
    assert_string_equal(f->report.text, "warning: something");
    assert_true(f->device->vtable->facts(f->device, module, 0, &facts));
    assert_string_equal(facts.from, "Pretended graphics");
    assert_int_equal(facts.registers, -1);
    assert_int_equal(facts.spill_bytes, -1);
    assert_int_equal(facts.barriers, -1);
    assert_int_equal(facts.stack_bytes, 48);
    assert_int_equal(facts.scratch_bytes, 512);
    assert_int_equal(facts.threads_limit, 256);
    assert_false(f->device->vtable->facts(f->device, module, 1, &facts));
    f->device->vtable->unload(f->device, module);
    opencl_fixture_free(f);
}

static void assert_refused(opencl_fixture *f, runtime_status status, const char *text, int builds) {
    runtime_module *module = NULL;
    assert_int_equal(opencl_fixture_load(f, &module), status);
    assert_int_equal(f->report.status, status);
    if (strstr(f->report.text, text) == NULL)
        fail_msg("`%s` is not in: %s", text, f->report.text);
    assert_null(module);
    assert_int_equal(f->fake->live_programs, 0);
    assert_int_equal(f->fake->live_kernels, 0);
    assert_int_equal(f->fake->builds, builds);
}

static void a_build_error_comes_with_the_log(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    f->fake->build_error = -11;
    f->fake->log = "<source>:1: error: expected `;`\n";
    assert_refused(f, RUNTIME_COMPILE_FAILED,
                   "clBuildProgram: CL_BUILD_PROGRAM_FAILURE, error -11 of OpenCL\n"
                   "<source>:1: error: expected `;`",
                   1);
    f->fake->build_error = -9999;
    f->fake->log = "";
    assert_refused(f, RUNTIME_SYSTEM_FAILED, "clBuildProgram: an error without a name, error -9999",
                   2);
    opencl_fixture_free(f);
}

static void a_kernel_that_is_another_is_not_started(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    f->fake->kernel_name = "croft_other";
    assert_refused(f, RUNTIME_LOAD_FAILED,
                   "clCreateKernel: CL_INVALID_KERNEL_NAME, error -46 of OpenCL; the kernel is "
                   "`croft_row`",
                   1);
    f->fake->kernel_name = NULL;
    f->fake->kernel_group = 32;
    assert_refused(f, RUNTIME_LOAD_FAILED, "groups of 32 x 1 x 1 where 64 x 1 x 1", 2);
    f->fake->kernel_group = 0; /* the text asks for none */
    assert_refused(f, RUNTIME_LOAD_FAILED, "groups of 0 x 1 x 1 where 64 x 1 x 1", 3);
    f->fake->kernel_group = 64;
    f->fake->kernel_arguments = 5;
    assert_refused(f, RUNTIME_LOAD_FAILED, "5 arguments where 4 are wanted", 4);
    opencl_fixture_free(f);
}

static void what_the_device_cannot_have_is_refused_before_building(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    f->artifact.threads = 257;
    assert_refused(f, RUNTIME_OUT_OF_RESOURCES, "threads of a group: required 257, available 256",
                   0);
    f->artifact.threads = 0;
    assert_refused(f, RUNTIME_LOAD_FAILED, "a group has no threads", 0);
    f->artifact.threads = 64;
    f->artifact.cluster = 2;
    assert_refused(f, RUNTIME_OUT_OF_RESOURCES, "run together: required 2, available 1", 0);
    f->artifact.cluster = 1;
    f->artifact.scratch_bytes = 16;
    assert_refused(f, RUNTIME_LOAD_FAILED, "declares its scratch itself", 0);
    f->artifact.scratch_bytes = 0;
    f->artifact.word_count = 125;
    assert_refused(f, RUNTIME_OUT_OF_RESOURCES, "bytes of arguments: required 1032, available 1024",
                   0);
    f->artifact.word_count = -1;
    assert_refused(f, RUNTIME_LOAD_FAILED, "a count below 0", 0);
    f->artifact.word_count = 3;
    static const runtime_entry behind[] = {{.name = "croft_behind", .threads = 512}};
    f->artifact.behind = behind;
    f->artifact.behind_count = 1;
    assert_refused(f, RUNTIME_OUT_OF_RESOURCES, "threads of a group: required 512", 0);
    opencl_fixture_free(f);
}

static void what_the_kernel_needs_is_refused_before_it_is_kept(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    f->fake->kernel_scratch = 32769;
    assert_refused(f, RUNTIME_OUT_OF_RESOURCES,
                   "bytes of scratch of a group: required 32769, available 32768", 1);
    runtime_module *module = NULL; /* the refused one was not kept */
    f->fake->kernel_scratch = 32768;
    assert_int_equal(opencl_fixture_load(f, &module), RUNTIME_OK);
    assert_int_equal(f->fake->builds, 2);
    f->device->vtable->unload(f->device, module);
    opencl_fixture_free(f);
}

/* Of a kernel that says for what groups it is made the implementation's limit is no more than a
 * guess: one says the same of all. What it cannot launch, it says then. */
static void a_kernel_made_for_its_groups_is_taken(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    runtime_module *module = NULL;
    runtime_facts facts;
    f->fake->kernel_threads = 32;
    assert_int_equal(opencl_fixture_load(f, &module), RUNTIME_OK);
    assert_true(f->device->vtable->facts(f->device, module, 0, &facts));
    assert_int_equal(facts.threads_limit, 64);
    f->device->vtable->unload(f->device, module);
    opencl_fixture_free(f);
}

/* ---- what is kept ---- */

static void an_equal_artifact_is_built_once_while_loaded(void **state) {
    (void)state;
    opencl_fixture *f = opencl_fixture_new();
    runtime_module *first = NULL, *second = NULL, *other = NULL;
    char copy[sizeof opencl_text];
    assert_int_equal(opencl_fixture_load(f, &first), RUNTIME_OK);
    memcpy(copy, opencl_text, sizeof copy);
    f->artifact.text = copy;
    assert_int_equal(opencl_fixture_load(f, &second), RUNTIME_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(f->fake->builds, 1);
    f->artifact.flags = NULL;
    assert_int_equal(opencl_fixture_load(f, &other), RUNTIME_OK);
    assert_ptr_not_equal(other, first);
    assert_int_equal(f->fake->builds, 2);
    f->device->vtable->unload(f->device, first);
    assert_int_equal(f->fake->live_programs, 2);
    f->device->vtable->unload(f->device, second);
    assert_int_equal(f->fake->live_programs, 1);
    f->device->vtable->unload(f->device, other);
    f->device->vtable->unload(f->device, NULL);
    opencl_fixture_free(f);
}

/* ---- every call may fail ---- */

static void each_failing_call_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int failures = 0, succeeded = 0;
    static const runtime_entry behind[] = {{.name = "croft_behind", .threads = 64}};
    for (int at = 1; at < 200 && !succeeded; at++) {
        opencl_fixture *f = opencl_fixture_without_device();
        runtime_module *module = NULL;
        f->fake->device_count = 1; /* what one device does not answer, another might */
        f->artifact.behind = behind;
        f->artifact.behind_count = 1;
        f->fake->fail_at = at;
        f->fake->fail_with = -6;
        runtime_status status = opencl_fixture_create(f, NULL, NULL);
        if (status == RUNTIME_OK)
            status = opencl_fixture_load(f, &module);
        succeeded = f->fake->failed == NULL;
        f->fake->fail_at = 0;
        int log = !succeeded && strcmp(f->fake->failed, "clGetProgramBuildInfo") == 0;
        assert_true(log || (status == RUNTIME_OK) == succeeded);
        if (!succeeded && !log) {
            failures++;
            assert_int_equal(status, f->report.status);
            assert_null(module);
            assert_non_null(strstr(f->report.text, "CL_OUT_OF_HOST_MEMORY, error -6"));
            assert_non_null(strstr(f->report.text, f->fake->failed));
            /* what one device does not answer is what it lacks */
            int asks = strstr(f->fake->failed, "Info") != NULL && f->device == NULL;
            int finds = asks || strcmp(f->fake->failed, "clGetPlatformIDs") == 0 ||
                        strcmp(f->fake->failed, "clGetDeviceIDs") == 0;
            assert_int_equal(status, finds ? RUNTIME_NO_DEVICE : RUNTIME_NO_MEMORY);
        }
        if (module != NULL)
            f->device->vtable->unload(f->device, module);
        opencl_fixture_free(f);
    }
    assert_true(succeeded);
    assert_true(failures > 35);
}

static void each_refused_allocation_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int succeeded = 0;
    static const runtime_entry behind[] = {{.name = "croft_behind", .threads = 64}};
    for (int64_t refuse = 1; refuse < 12 && !succeeded; refuse++) {
        opencl_fixture *f = opencl_fixture_without_device();
        runtime_module *module = NULL;
        f->artifact.behind = behind;
        f->artifact.behind_count = 1;
        f->meter.refuse_from = refuse;
        runtime_status status = opencl_fixture_create(f, NULL, NULL);
        if (status == RUNTIME_OK)
            status = opencl_fixture_load(f, &module);
        succeeded = status == RUNTIME_OK;
        assert_true(succeeded || status == RUNTIME_NO_MEMORY);
        if (module != NULL)
            f->device->vtable->unload(f->device, module);
        opencl_fixture_free(f);
    }
    assert_true(succeeded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_that_is_not_there_is_no_device),
        cmocka_unit_test(a_library_that_is_none_of_opencl_is_named),
        cmocka_unit_test(a_library_without_a_name_is_the_loader),
        cmocka_unit_test(no_platform_and_no_device_are_told_apart),
        cmocka_unit_test(a_vendors_library_is_driven_through_its_table),
        cmocka_unit_test(a_gpu_goes_before_what_stands_before_it),
        cmocka_unit_test(what_a_device_lacks_is_said_by_name),
        cmocka_unit_test(looking_says_what_there_is_and_lacks),
        cmocka_unit_test(a_callers_context_is_used_and_left_alone),
        cmocka_unit_test(options_are_the_machines_and_those_of_the_arithmetic),
        cmocka_unit_test(a_build_error_comes_with_the_log),
        cmocka_unit_test(a_kernel_that_is_another_is_not_started),
        cmocka_unit_test(what_the_device_cannot_have_is_refused_before_building),
        cmocka_unit_test(what_the_kernel_needs_is_refused_before_it_is_kept),
        cmocka_unit_test(a_kernel_made_for_its_groups_is_taken),
        cmocka_unit_test(an_equal_artifact_is_built_once_while_loaded),
        cmocka_unit_test(each_failing_call_is_a_status_and_nothing_leaks),
        cmocka_unit_test(each_refused_allocation_is_a_status_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
