/* The device `cuda`: finding it, loading, what it refuses, and what it keeps. */
#include "cuda_fixture.h"

/* ---- the device ---- */

static runtime_status create_from(const char *driver, char text[RUNTIME_REPORT_LIMIT]) {
    runtime_cuda_config config = {.driver = driver};
    runtime_report report;
    runtime_device *device = NULL;
    runtime_status status =
        runtime_cuda_create(base_allocator_default(), &config, &device, &report);
    assert_int_equal(status, report.status);
    assert_null(device);
    strcpy(text, report.text);
    return status;
}

static void a_driver_that_is_not_there_is_no_device(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    assert_int_equal(create_from("/nowhere/libcuda.so.1", text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "/nowhere/libcuda.so.1: "));
    assert_non_null(strstr(text, "No such file"));
}

static void a_library_that_is_no_driver_is_named(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    assert_int_equal(create_from("libc.so.6", text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "libc.so.6 has no function cuInit"));
}

static void an_old_driver_is_told_its_version(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    fake_cuda_state *fake = fake_open();
    fake->driver_version = 11080;
    assert_int_equal(create_from(CROFT_FAKE_CUDA, text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "version 11.8, at least 12.0"));
    fake_close(fake);
}

static void no_device_behind_a_driver_is_told(void **state) {
    (void)state;
    char text[RUNTIME_REPORT_LIMIT];
    fake_cuda_state *fake = fake_open();
    fake->init_error = 100;
    assert_int_equal(create_from(CROFT_FAKE_CUDA, text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "cuInit: CUDA_ERROR_NO_DEVICE"));
    assert_non_null(strstr(text, CROFT_FAKE_CUDA));
    fake->init_error = 0;
    fake->device_count = 0;
    assert_int_equal(create_from(CROFT_FAKE_CUDA, text), RUNTIME_NO_DEVICE);
    assert_non_null(strstr(text, "has no device"));
    fake_close(fake);
}

static void an_ordinal_past_the_last_is_refused(void **state) {
    (void)state;
    fake_cuda_state *fake = fake_open();
    runtime_cuda_config config = {.driver = CROFT_FAKE_CUDA, .ordinal = 2};
    runtime_report report;
    runtime_device *device = NULL;
    assert_int_equal(runtime_cuda_create(base_allocator_default(), &config, &device, &report),
                     RUNTIME_NO_DEVICE);
    assert_non_null(strstr(report.text, "no CUDA device 2: the driver has 2"));
    config.ordinal = 1;
    assert_int_equal(runtime_cuda_create(base_allocator_default(), &config, &device, &report),
                     RUNTIME_OK);
    assert_int_equal(runtime_cuda_facts_of(device)->ordinal, 1);
    assert_string_equal(runtime_cuda_facts_of(device)->name, "Pretended 1");
    device->vtable->destroy(device);
    fake_close(fake);
}

static void a_device_has_the_machine_of_its_capability(void **state) {
    (void)state;
    static const struct {
        int major, minor;
        const char *machine;
    } rows[] = {{8, 0, "sm_80"}, {8, 9, "sm_80"}, {9, 0, "sm_90"}, {7, 5, NULL}, {12, 0, NULL}};
    for (int i = 0; i < 5; i++) {
        cuda_fixture *f = cuda_fixture_without_device();
        f->fake->major = rows[i].major;
        f->fake->minor = rows[i].minor;
        assert_int_equal(cuda_fixture_create(f, NULL), RUNTIME_OK);
        const runtime_cuda_facts *facts = runtime_cuda_facts_of(f->device);
        assert_int_equal(facts->minor, rows[i].minor);
        assert_int_equal(facts->threads_limit, 1024);
        assert_int_equal(facts->scratch_limit_bytes, 232448);
        if (rows[i].machine == NULL)
            assert_null(facts->machine);
        else
            assert_string_equal(facts->machine, rows[i].machine);
        cuda_fixture_free(f);
    }
}

static void a_callers_context_is_used_and_left_alone(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_without_device();
    assert_int_equal(cuda_fixture_create(f, f->fake->caller_context), RUNTIME_OK);
    assert_int_equal(f->fake->live_contexts, 0);
    cuda_fixture_free(f); /* live_contexts would be -1 */
}

static void looking_says_what_there_is(void **state) {
    (void)state;
    static runtime_cuda_system found;
    fake_cuda_state *fake = fake_open();
    runtime_cuda_config config = {.driver = CROFT_FAKE_CUDA, .nvrtc = CROFT_FAKE_CUDA};
    runtime_cuda_look(&config, &found);
    assert_int_equal(found.driver.status, RUNTIME_OK);
    assert_string_equal(found.driver.text, CROFT_FAKE_CUDA ", version 13.0");
    assert_int_equal(found.compiler.status, RUNTIME_OK);
    assert_string_equal(found.compiler.text, CROFT_FAKE_CUDA ", version 13.0");
    assert_int_equal(found.device_count, 2);
    assert_int_equal(found.devices[1].ordinal, 1);
    assert_string_equal(found.devices[1].machine, "sm_90");
    fake->device_count = 0;
    runtime_cuda_look(&config, &found);
    assert_int_equal(found.driver.status, RUNTIME_NO_DEVICE);
    assert_non_null(strstr(found.driver.text, "has no device"));
    config.driver = config.nvrtc = "/nowhere/lib.so";
    runtime_cuda_look(&config, &found);
    assert_int_equal(found.driver.status, RUNTIME_NO_DEVICE);
    assert_int_equal(found.compiler.status, RUNTIME_NO_COMPILER);
    assert_non_null(strstr(found.compiler.text, "/nowhere/lib.so: "));
    assert_int_equal(found.device_count, 0);
    fake_close(fake);
}

/* ---- load ---- */

static void options_name_the_architecture_and_keep_the_arithmetic(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    assert_string_equal(f->fake->options,
                        "-arch=sm_90a -std=c++17 -default-device -fmad=false -ftz=false "
                        "-prec-div=true -prec-sqrt=true --ptxas-options=-v --no-cache ");
    assert_string_equal(f->fake->text, cuda_text);
    assert_string_equal(f->report.text, "");
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
    f = cuda_fixture_new();
    f->fake->nvrtc_major = 12;
    f->fake->nvrtc_minor = 8; /* has no cache, and refuses the option */
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    assert_null(strstr(f->fake->options, "cache"));
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static void facts_come_from_the_log_and_the_function(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    runtime_facts facts;
    f->fake->function_threads = 512;
    f->fake->function_scratch = 2048;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    f->device->vtable->facts(f->device, module, 0, &facts);
    assert_string_equal(facts.from, "ptxas");
    assert_int_equal(facts.registers, 32);
    assert_int_equal(facts.stack_bytes, 16);
    assert_int_equal(facts.spill_bytes, 0);
    assert_int_equal(facts.barriers, 1);
    assert_int_equal(facts.scratch_bytes, 2048);
    assert_int_equal(facts.threads_limit, 512);
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static const char spilling[] =
    "ptxas info    : Compiling entry function 'croft_row' for 'sm_90a'\n"
    "ptxas info    : Function properties for croft_row\n"
    "    64 bytes stack frame, 24 bytes spill stores, 40 bytes spill loads\n"
    "ptxas info    : Used 255 registers\n";

static void spills_are_refused_unless_allowed(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    runtime_facts facts;
    f->fake->log = spilling;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "64 bytes"));
    assert_null(module);
    assert_int_equal(f->fake->live_modules, 0);
    f->artifact.allow_spills = true;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    f->device->vtable->facts(f->device, module, 0, &facts);
    assert_int_equal(facts.spill_bytes, 64);
    runtime_module *refused = NULL; /* also while it is loaded */
    f->artifact.allow_spills = false;
    assert_int_equal(cuda_fixture_load(f, &refused), RUNTIME_COMPILE_FAILED);
    assert_null(refused);
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

/* The compiler spills a few bytes so that registers are few: it may have more, and does not. */
static void registers_are_freed_before_a_spill_is_refused(void **state) {
    (void)state;
    static const char free_log[] =
        "ptxas info    : Compiling entry function 'croft_row' for 'sm_90a'\n"
        "ptxas info    : Function properties for croft_row\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 50 registers\n";
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    runtime_facts facts;
    f->fake->log = spilling;
    f->fake->free_log = free_log;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    f->device->vtable->facts(f->device, module, 0, &facts);
    assert_int_equal(facts.spill_bytes, 0);
    assert_int_equal(facts.registers, 50);
    f->device->vtable->unload(f->device, module);
    f->fake->log = free_log;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    assert_null(strstr(f->fake->options, "GROUPS")); /* nothing spilled: once is enough */
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static void a_log_without_figures_is_a_failure(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    f->fake->log = "compiled, and nothing more to say\n";
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "`croft_row`"));
    assert_non_null(strstr(f->report.text, "nothing more to say"));
    assert_null(module);
    cuda_fixture_free(f);
}

static void a_compile_error_is_passed_on(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    f->fake->compile_error = 6;
    f->fake->log = "croft_row(1): error: expected a `;`\n";
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_COMPILE_FAILED);
    assert_non_null(strstr(f->report.text, "NVRTC_ERROR_COMPILATION"));
    assert_non_null(strstr(f->report.text, "expected a `;`"));
    cuda_fixture_free(f);
}

static void warnings_are_in_the_report_of_a_success(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    f->fake->log = "row(1): warning: not used\n"
                   "ptxas info    : Compiling entry function 'croft_row' for 'sm_90a'\n"
                   "ptxas info    : Function properties for croft_row\n"
                   "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                   "ptxas info    : Used 8 registers\n";
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    assert_string_equal(f->report.text, "row(1): warning: not used");
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static void a_missing_compiler_is_told_by_load(void **state) {
    (void)state;
    fake_cuda_state *fake = fake_open();
    runtime_cuda_config config = {.driver = CROFT_FAKE_CUDA, .nvrtc = "/nowhere/libnvrtc.so"};
    static runtime_report report;
    runtime_device *device = NULL;
    runtime_module *module = NULL;
    runtime_artifact artifact = {.text = "", .entry = "croft_row", .threads = 32};
    assert_int_equal(runtime_cuda_create(base_allocator_default(), &config, &device, &report),
                     RUNTIME_OK);
    assert_int_equal(device->vtable->load(device, &artifact, &module, &report),
                     RUNTIME_NO_COMPILER);
    assert_non_null(strstr(report.text, "/nowhere/libnvrtc.so: "));
    device->vtable->destroy(device);
    fake_close(fake);
}

static void a_compiler_newer_than_the_driver_is_not_taken(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_without_device();
    runtime_module *module = NULL;
    f->fake->driver_version = 12040;
    assert_int_equal(cuda_fixture_create(f, NULL), RUNTIME_OK);
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_NO_COMPILER);
    assert_non_null(strstr(f->report.text, "version 13.0 is newer than the driver, 12.4"));
    f->fake->nvrtc_major = 12;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static void a_missing_function_is_named(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    f->fake->function_name = "croft_other";
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "CUDA_ERROR_NOT_FOUND"));
    assert_non_null(strstr(f->report.text, "`croft_row`"));
    assert_int_equal(f->fake->live_modules, 0);
    cuda_fixture_free(f);
}

static void code_for_another_architecture_is_explained(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *module = NULL;
    int calls = f->fake->calls;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    f->device->vtable->unload(f->device, module);
    for (int i = 1; i < f->fake->calls - calls; i++) {
        f->fake->fail_at = f->fake->calls + i;
        f->fake->fail_with = 209;
        if (cuda_fixture_load(f, &module) == RUNTIME_OK)
            f->device->vtable->unload(f->device, module);
        else if (strcmp(f->fake->failed, "cuModuleLoadData") == 0)
            break;
    }
    assert_string_equal(f->fake->failed, "cuModuleLoadData");
    assert_int_equal(f->report.status, RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "CUDA_ERROR_NO_BINARY_FOR_GPU"));
    assert_non_null(strstr(f->report.text, "compute capability 9.0, the flags are -arch=sm_90a"));
    cuda_fixture_free(f);
}

/* ---- resources ---- */

static void assert_refused(cuda_fixture *f, const char *text, int compiles) {
    runtime_module *module = NULL;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OUT_OF_RESOURCES);
    assert_int_equal(f->report.status, RUNTIME_OUT_OF_RESOURCES);
    assert_non_null(strstr(f->report.text, text));
    assert_null(module);
    assert_int_equal(f->fake->live_modules, 0);
    assert_int_equal(f->fake->compiles, compiles);
}

static void what_the_device_cannot_have_is_refused_before_compiling(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->artifact.threads = 1056;
    assert_refused(f, "threads of a group: required 1056, available 1024", 0);
    f->artifact.threads = 256;
    f->artifact.scratch_bytes = 232449;
    assert_refused(f, "scratch of a group: required 232449, available 232448", 0);
    f->artifact.scratch_bytes = 0;
    f->artifact.word_count = 5000;
    assert_refused(f, "bytes of arguments: required 40032, available 32764", 0);
    f->artifact.word_count = 3;
    runtime_module *module = NULL;
    f->artifact.threads = 40;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "40 threads"));
    cuda_fixture_free(f);
}

static void what_the_function_needs_is_refused_before_it_is_kept(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->fake->function_threads = 224;
    assert_refused(f, "threads of a group of this program: required 256, available 224", 1);
    f->fake->function_threads = 256;
    f->fake->function_scratch = 232448;
    f->artifact.scratch_bytes = 16;
    assert_refused(f, "scratch of a group: required 232464, available 232448", 2);
    runtime_module *module = NULL; /* the refused one was not kept */
    f->fake->function_scratch = 200000;
    assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
    assert_int_equal(f->fake->compiles, 3);
    f->device->vtable->unload(f->device, module);
    cuda_fixture_free(f);
}

static void groups_that_run_together_are_refused_past_the_limit(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    f->artifact.cluster = 16;
    assert_refused(f, "groups that run together: required 16, available 8", 1);
    cuda_fixture_free(f);
    f = cuda_fixture_without_device();
    f->fake->device_clusters = 0;
    f->artifact.cluster = 2;
    assert_int_equal(cuda_fixture_create(f, NULL), RUNTIME_OK);
    assert_refused(f, "groups that run together: required 2, available 1", 0);
    cuda_fixture_free(f);
}

/* ---- what is kept ---- */

static void an_equal_artifact_is_compiled_once_while_loaded(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    runtime_module *first = NULL, *second = NULL;
    assert_int_equal(cuda_fixture_load(f, &first), RUNTIME_OK);
    char copy[sizeof cuda_text];
    memcpy(copy, cuda_text, sizeof copy);
    f->artifact.text = copy;
    assert_int_equal(cuda_fixture_load(f, &second), RUNTIME_OK);
    assert_ptr_equal(first, second);
    assert_int_equal(f->fake->compiles, 1);
    f->device->vtable->unload(f->device, first);
    assert_int_equal(f->fake->live_modules, 1);
    f->device->vtable->unload(f->device, second);
    assert_int_equal(f->fake->live_modules, 0);
    assert_int_equal(cuda_fixture_load(f, &first), RUNTIME_OK);
    assert_int_equal(f->fake->compiles, 2);
    f->device->vtable->unload(f->device, first);
    f->device->vtable->unload(f->device, NULL);
    cuda_fixture_free(f);
}

static void anything_that_decides_makes_another_module(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    static const char *const other_flags[] = {"-arch=sm_90", NULL};
    static const char other_text[] = "extern \"C\" __global__ void croft_row() {;}\n";
    const runtime_artifact base = f->artifact;
    runtime_artifact artifacts[8];
    runtime_module *modules[8];
    for (int i = 0; i < 8; i++)
        artifacts[i] = base;
    artifacts[1].text = other_text;
    artifacts[1].length = sizeof other_text - 1;
    artifacts[2].flags = other_flags;
    artifacts[3].threads = 128;
    artifacts[4].pointer_count = 1;
    artifacts[5].word_count = 4;
    artifacts[6].cluster = 2;
    artifacts[7].scratch_bytes = 64;
    for (int i = 0; i < 8; i++) {
        f->artifact = artifacts[i];
        assert_int_equal(cuda_fixture_load(f, &modules[i]), RUNTIME_OK);
        assert_int_equal(f->fake->compiles, i + 1);
    }
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(modules[i], modules[k]);
    for (int i = 0; i < 8; i++)
        f->device->vtable->unload(f->device, modules[(5 * i) % 8]);
    cuda_fixture_free(f);
}

static void *load_often(void *argument) {
    cuda_fixture *f = argument;
    runtime_report *report = malloc(sizeof *report);
    int fine = 0;
    for (int i = 0; i < 200 && report != NULL; i++) {
        runtime_artifact artifact = f->artifact;
        artifact.word_count = 1 + i % 3;
        runtime_module *module = NULL;
        if (f->device->vtable->load(f->device, &artifact, &module, report) != RUNTIME_OK)
            continue;
        fine++;
        f->device->vtable->unload(f->device, module);
    }
    free(report);
    return fine == 200 ? argument : NULL;
}

static void several_threads_may_load(void **state) {
    (void)state;
    cuda_fixture *f = cuda_fixture_new();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, load_often, f), 0);
    for (int i = 0; i < 4; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, f);
    }
    cuda_fixture_free(f);
}

/* ---- every call may fail ---- */

static void each_failing_call_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int failures = 0, succeeded = 0;
    for (int at = 1; at < 100 && !succeeded; at++) {
        cuda_fixture *f = cuda_fixture_without_device();
        runtime_module *module = NULL;
        f->artifact.cluster = 2;
        f->artifact.scratch_bytes = 100000;
        f->fake->fail_at = at;
        f->fake->fail_with = 2;
        runtime_status status = cuda_fixture_create(f, NULL);
        if (status == RUNTIME_OK)
            status = cuda_fixture_load(f, &module);
        succeeded = f->fake->failed == NULL;
        f->fake->fail_at = 0;
        if (!succeeded && status != RUNTIME_OK) {
            failures++;
            assert_int_equal(status, f->report.status);
            assert_true(f->report.text[0] != '\0');
            assert_null(module);
            if (f->device != NULL && strcmp(f->fake->failed, "nvrtcVersion") != 0) {
                assert_int_equal(status, RUNTIME_NO_MEMORY);
                assert_non_null(strstr(f->report.text, "OUT_OF_MEMORY"));
                assert_non_null(strstr(f->report.text, f->fake->failed));
            }
        }
        if (module != NULL)
            f->device->vtable->unload(f->device, module);
        cuda_fixture_free(f);
    }
    assert_true(succeeded);
    assert_true(failures > 25);
}

/* Of a context that is lost nothing can be given back to the driver, but all memory of ours. */
static void giving_back_through_a_lost_context_is_silent(void **state) {
    (void)state;
    for (int at = 1; at < 20; at++) {
        cuda_fixture *f = cuda_fixture_new();
        runtime_module *module = NULL;
        assert_int_equal(cuda_fixture_load(f, &module), RUNTIME_OK);
        f->fake->fail_at = f->fake->calls + at;
        f->fake->fail_with = 700;
        f->device->vtable->unload(f->device, module);
        f->device->vtable->destroy(f->device);
        f->device = NULL;
        if (f->fake->failed != NULL && strcmp(f->fake->failed, "cuCtxPushCurrent") == 0)
            f->fake->live_modules = f->fake->live_streams = 0;
        at = f->fake->failed == NULL ? 20 : at;
        cuda_fixture_free(f);
    }
}

static void each_refused_allocation_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int succeeded = 0;
    for (int64_t refuse = 1; refuse < 12 && !succeeded; refuse++) {
        cuda_fixture *f = cuda_fixture_without_device();
        runtime_module *module = NULL;
        f->meter.refuse_from = refuse;
        runtime_status status = cuda_fixture_create(f, NULL);
        if (status == RUNTIME_OK)
            status = cuda_fixture_load(f, &module);
        succeeded = status == RUNTIME_OK;
        assert_true(succeeded || status == RUNTIME_NO_MEMORY);
        if (module != NULL)
            f->device->vtable->unload(f->device, module);
        cuda_fixture_free(f);
    }
    assert_true(succeeded);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_is_not_there_is_no_device),
        cmocka_unit_test(a_library_that_is_no_driver_is_named),
        cmocka_unit_test(an_old_driver_is_told_its_version),
        cmocka_unit_test(no_device_behind_a_driver_is_told),
        cmocka_unit_test(an_ordinal_past_the_last_is_refused),
        cmocka_unit_test(a_device_has_the_machine_of_its_capability),
        cmocka_unit_test(a_callers_context_is_used_and_left_alone),
        cmocka_unit_test(looking_says_what_there_is),
        cmocka_unit_test(options_name_the_architecture_and_keep_the_arithmetic),
        cmocka_unit_test(facts_come_from_the_log_and_the_function),
        cmocka_unit_test(spills_are_refused_unless_allowed),
        cmocka_unit_test(registers_are_freed_before_a_spill_is_refused),
        cmocka_unit_test(a_log_without_figures_is_a_failure),
        cmocka_unit_test(a_compile_error_is_passed_on),
        cmocka_unit_test(warnings_are_in_the_report_of_a_success),
        cmocka_unit_test(a_missing_compiler_is_told_by_load),
        cmocka_unit_test(a_compiler_newer_than_the_driver_is_not_taken),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(code_for_another_architecture_is_explained),
        cmocka_unit_test(what_the_device_cannot_have_is_refused_before_compiling),
        cmocka_unit_test(what_the_function_needs_is_refused_before_it_is_kept),
        cmocka_unit_test(groups_that_run_together_are_refused_past_the_limit),
        cmocka_unit_test(an_equal_artifact_is_compiled_once_while_loaded),
        cmocka_unit_test(anything_that_decides_makes_another_module),
        cmocka_unit_test(several_threads_may_load),
        cmocka_unit_test(each_failing_call_is_a_status_and_nothing_leaks),
        cmocka_unit_test(giving_back_through_a_lost_context_is_silent),
        cmocka_unit_test(each_refused_allocation_is_a_status_and_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
