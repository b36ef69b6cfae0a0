/* Machine code that NVRTC made and the cache keeps, on the pretended driver of test/fake: when it
 * is compiled, and that log, spills and warnings come back as they were. */
#include "cuda_fixture.h"

#include "cache_fixture.h"

static const char spilling[] =
    "ptxas info    : Compiling entry function 'croft_row' for 'sm_90a'\n"
    "ptxas info    : Function properties for croft_row\n"
    "    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads\n"
    "ptxas info    : Used 40 registers, 0 bytes smem\n";

static const char fitting[] = "croft_row(1): warning: something\n"
                              "ptxas info    : Compiling entry function 'croft_row' for 'sm_90a'\n"
                              "ptxas info    : Function properties for croft_row\n"
                              "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                              "ptxas info    : Used 77 registers, 0 bytes smem\n";

typedef struct cached {
    scratch s;
    runtime_cache *cache;
    cuda_fixture *f;
} cached;

static void open_device_with(cached *c, const char *nvrtc) {
    runtime_cuda_config config = {.driver = CROFT_FAKE_CUDA, .nvrtc = nvrtc, .cache = c->cache};
    c->f = cuda_fixture_without_device();
    assert_int_equal(runtime_cuda_create((base_allocator){cuda_metered, &c->f->meter}, &config,
                                         &c->f->device, &c->f->report),
                     RUNTIME_OK);
}

static void open_device(cached *c) {
    open_device_with(c, CROFT_FAKE_CUDA);
}

/* Another process, as far as the cache can tell. */
static void open_again(cached *c) {
    cuda_fixture_free(c->f);
    open_device(c);
}

static int set_up(void **state) {
    cached *c = calloc(1, sizeof *c);
    if (c == NULL)
        return -1;
    scratch_make(&c->s);
    c->cache = cache_of(c->s.directory, 0);
    open_device(c);
    *state = c;
    return 0;
}

static int tear_down(void **state) {
    cached *c = *state;
    cuda_fixture_free(c->f);
    runtime_cache_destroy(c->cache);
    scratch_remove(&c->s);
    free(c);
    return 0;
}

/* Loads and unloads; how often that compiled. `registers`: what the module says of itself. */
static int load(cached *c, int *registers) {
    runtime_module *module;
    runtime_facts facts;
    int before = c->f->fake->compiles;
    runtime_status status = cuda_fixture_load(c->f, &module);
    if (status != RUNTIME_OK)
        fail_msg("%s", c->f->report.text);
    assert_true(c->f->device->vtable->facts(c->f->device, module, 0, &facts));
    *registers = facts.registers;
    c->f->device->vtable->unload(c->f->device, module);
    assert_int_equal(c->f->report.from_cache, c->f->fake->compiles == before);
    return c->f->fake->compiles - before;
}

static void a_program_is_compiled_once(void **state) {
    cached *c = *state;
    int registers = 0, first;
    c->f->fake->log = fitting;
    assert_int_equal(load(c, &registers), 1);
    assert_int_equal(registers, 77);
    assert_string_equal(c->f->report.text, "croft_row(1): warning: something");
    open_again(c);
    assert_int_equal(load(c, &registers), 0);
    assert_int_equal(registers, 77);
    assert_string_equal(c->f->report.text, "croft_row(1): warning: something");
    assert_int_equal(load(c, &first), 0);
    assert_int_equal(count_files(c->s.directory, ".program", NULL), 1);
    assert_int_equal(faults_of(c->cache), 0);
}

static void another_text_flag_name_or_version_is_another_program(void **state) {
    static const char *const other[] = {"-arch=sm_80", NULL};
    cached *c = *state;
    int registers;
    assert_int_equal(load(c, &registers), 1);
    c->f->artifact.flags = other;
    assert_int_equal(load(c, &registers), 1);
    c->f->artifact.flags = cuda_flags;
    c->f->artifact.length--;
    assert_int_equal(load(c, &registers), 1);
    c->f->artifact.length++;
    c->f->artifact.entry = "croft_column";
    assert_int_equal(load(c, &registers), 1);
    open_again(c);
    c->f->fake->nvrtc_major = 12; /* the same options */
    c->f->fake->nvrtc_minor = 9;
    assert_int_equal(load(c, &registers), 1);
    open_again(c);
    assert_int_equal(load(c, &registers), 0);
    assert_int_equal(count_files(c->s.directory, ".program", NULL), 5);
}

/* With few registers it spills, and without that it does not: both results are kept. */
/* ---- the same NVRTC elsewhere ---- */

/* Writes the pretended library, another one of its kind under `name` in a directory of its own;
 * `edit` is done to the note with its build ID. The path, until the next call. */
typedef void note_edit(unsigned char *note);

static const char *another_library(cached *c, const char *directory, const char *name,
                                   note_edit *edit) {
    static const unsigned char note[] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    static char path[700];
    struct stat status;
    int from = open(CROFT_FAKE_CUDA, O_RDONLY);
    assert_true(from >= 0);
    assert_int_equal(fstat(from, &status), 0);
    unsigned char *bytes = malloc((size_t)status.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(from, bytes, (size_t)status.st_size), status.st_size);
    close(from);
    unsigned char *found = memmem(bytes, (size_t)status.st_size, note, sizeof note);
    assert_non_null(found); /* test/CMakeLists.txt asks for it */
    if (edit != NULL)
        edit(found);
    snprintf(path, sizeof path, "%s/%s", c->s.root, directory);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", c->s.root, directory, name);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);
    assert_true(to >= 0);
    assert_int_equal(write(to, bytes, (size_t)status.st_size), status.st_size);
    close(to);
    free(bytes);
    return path;
}

static void change_build(unsigned char *note) {
    note[16 + 19] ^= 1; /* the last byte of 20 */
}

static void drop_build(unsigned char *note) {
    note[8] = 1;
}

/* Whether a program is found by a device with this NVRTC; it is kept then. */
static bool finds_with(cached *c, const char *nvrtc) {
    runtime_module *module;
    cuda_fixture_free(c->f);
    open_device_with(c, nvrtc);
    if (cuda_fixture_load(c->f, &module) != RUNTIME_OK)
        fail_msg("%s", c->f->report.text);
    c->f->device->vtable->unload(c->f->device, module);
    return c->f->report.from_cache;
}

static void the_same_build_elsewhere_finds_what_was_kept(void **state) {
    cached *c = *state;
    int registers;
    assert_int_equal(load(c, &registers), 1);
    assert_true(finds_with(c, another_library(c, "a", "libnvrtc.so", NULL)));
    assert_false(finds_with(c, another_library(c, "b", "libnvrtc.so", change_build)));
    assert_true(finds_with(c, another_library(c, "c", "libnvrtc.so", change_build)));
    assert_int_equal(count_files(c->s.directory, ".program", NULL), 2);
}

static void builtin_functions_of_another_build_make_other_programs(void **state) {
    static const char builtins[] = "libnvrtc-builtins.so.13.0";
    cached *c = *state;
    int registers;
    assert_int_equal(load(c, &registers), 1);
    another_library(c, "a", builtins, NULL);
    assert_false(finds_with(c, another_library(c, "a", "libnvrtc.so", NULL)));
    another_library(c, "b", builtins, NULL);
    assert_true(finds_with(c, another_library(c, "b", "libnvrtc.so", NULL)));
    another_library(c, "c", builtins, change_build);
    assert_false(finds_with(c, another_library(c, "c", "libnvrtc.so", NULL)));
}

static void without_a_build_id_the_very_file_decides(void **state) {
    char first[700];
    cached *c = *state;
    snprintf(first, sizeof first, "%s", another_library(c, "a", "libnvrtc.so", drop_build));
    assert_false(finds_with(c, first));
    assert_true(finds_with(c, first));
    assert_false(finds_with(c, another_library(c, "b", "libnvrtc.so", drop_build)));
}

static void a_program_that_spilled_is_not_tried_again(void **state) {
    cached *c = *state;
    int registers;
    c->f->fake->log = spilling;
    c->f->fake->free_log = fitting;
    assert_int_equal(load(c, &registers), 2);
    assert_int_equal(registers, 77);
    open_again(c);
    assert_int_equal(load(c, &registers), 0);
    assert_int_equal(registers, 77);
    assert_int_equal(count_files(c->s.directory, ".program", NULL), 2);
}

static void a_damaged_program_is_compiled_again(void **state) {
    cached *c = *state;
    char name[NAME_MAX + 1], path[700];
    int registers;
    assert_int_equal(load(c, &registers), 1);
    assert_int_equal(count_files(c->s.directory, ".program", name), 1);
    snprintf(path, sizeof path, "%s/%s", c->s.directory, name);
    assert_int_equal(truncate(path, 300), 0);
    open_again(c);
    assert_int_equal(load(c, &registers), 1);
    open_again(c);
    assert_int_equal(load(c, &registers), 0);
}

typedef struct taken_key {
    char text[RUNTIME_CACHE_HEAD_LIMIT + 1];
} taken_key;

static void take_key(void *state, const runtime_cache_entry *entry) {
    snprintf(((taken_key *)state)->text, sizeof((taken_key *)state)->text, "%s", entry->key);
}

/* Whole under the right key, but nothing that could have been kept, or with a log that says
 * nothing. */
static void a_program_that_makes_no_sense_is_compiled_again(void **state) {
    static const char programs[][32] = {"",
                                        "short",
                                        "\xff\xff\xff\xff\xff\xff\xff\x7f rest",
                                        "\xff\xff\xff\xff\xff\xff\xff\xff rest",
                                        "\0\0\0\0\0\0\0\0pretended code",
                                        "\x05\0\0\0\0\0\0\0no\nfipretended code",
                                        "\x05\0\0\0\0\0\0\0none\0pretended code"};
    static const size_t sizes[] = {0, 5, 13, 13, 23, 28, 28};
    enum { PROGRAMS = sizeof sizes / sizeof *sizes };
    cached *c = *state;
    taken_key key;
    int registers;
    assert_int_equal(load(c, &registers), 1);
    assert_int_equal(runtime_cache_each(c->cache, false, take_key, &key, &c->f->report),
                     RUNTIME_OK);
    assert_true(strlen(key.text) < RUNTIME_CACHE_HEAD_LIMIT);
    runtime_cache_key same = key_of(key.text, "");
    for (int i = 0; i < PROGRAMS; i++) {
        runtime_cache_keep(c->cache, &same, programs[i], sizes[i]);
        open_again(c);
        assert_int_equal(load(c, &registers), 1);
        open_again(c);
        assert_int_equal(load(c, &registers), 0);
    }
}

/* One call of the driver fails where the program was kept, and it is compiled afresh. */
static void a_program_that_the_driver_refuses_is_compiled_again(void **state) {
    cached *c = *state;
    int registers;
    runtime_module *module;
    assert_int_equal(load(c, &registers), 1);
    open_again(c);
    int calls = c->f->fake->calls, refused = 0;
    assert_int_equal(load(c, &registers), 0);
    int of_load = c->f->fake->calls - calls;
    for (int i = 1; i <= of_load; i++) {
        open_again(c);
        c->f->fake->fail_at = c->f->fake->calls + i;
        c->f->fake->fail_with = 200;
        runtime_status status = cuda_fixture_load(c->f, &module);
        if (c->f->fake->failed != NULL && strcmp(c->f->fake->failed, "cuModuleLoadData") == 0) {
            assert_int_equal(status, RUNTIME_OK);
            assert_int_equal(c->f->fake->compiles, 1);
            refused++;
        }
        c->f->fake->fail_at = 0;
        if (status == RUNTIME_OK)
            c->f->device->vtable->unload(c->f->device, module);
    }
    assert_int_equal(refused, 1);
}

static void a_failure_is_not_kept(void **state) {
    cached *c = *state;
    runtime_module *module;
    c->f->fake->compile_error = 6;
    c->f->fake->log = "croft_row(1): error: expected a `;`\n";
    assert_int_equal(cuda_fixture_load(c->f, &module), RUNTIME_COMPILE_FAILED);
    assert_int_equal(count_files(c->s.directory, ".program", NULL), 0);
    assert_int_equal(count_files(c->s.directory, ".new", NULL), 0);
}

/* Whatever allocation fails: a status, and nothing is lost. */
static void memory_may_end_anywhere(void **state) {
    cached *c = *state;
    int registers;
    for (int kept = 0; kept < 2; kept++) {
        for (int64_t n = 1;; n++) {
            runtime_module *module;
            open_again(c);
            c->f->meter.refuse_from = c->f->meter.calls + n;
            runtime_status status = cuda_fixture_load(c->f, &module);
            c->f->meter.refuse_from = INT64_MAX;
            if (status == RUNTIME_OK) {
                c->f->device->vtable->unload(c->f->device, module);
                break;
            }
            assert_int_equal(status, RUNTIME_NO_MEMORY);
        }
        assert_int_equal(faults_of(c->cache), 0);
        assert_true(load(c, &registers) <= 1);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_program_is_compiled_once),
        TEST(another_text_flag_name_or_version_is_another_program),
        TEST(the_same_build_elsewhere_finds_what_was_kept),
        TEST(builtin_functions_of_another_build_make_other_programs),
        TEST(without_a_build_id_the_very_file_decides),
        TEST(a_program_that_spilled_is_not_tried_again),
        TEST(a_damaged_program_is_compiled_again),
        TEST(a_program_that_makes_no_sense_is_compiled_again),
        TEST(a_program_that_the_driver_refuses_is_compiled_again),
        TEST(a_failure_is_not_kept),
        TEST(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
