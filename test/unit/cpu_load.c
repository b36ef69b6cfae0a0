/* The device `cpu`, with C written by hand to the interface of emitted C: scaled row sums.
 *
 *     y[row] = scale * sum(x[row, :]),  x: f32[R, N], y: f32[R], scale: f32
 *     words: R N | x strides (2) | y stride (1) | scale
 *
 * The program also counts its calls, so that the tests see how the groups were split. */
#include "runtime/cpu.h"

#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char row_sum_source[] =
    "long row_sum_groups(const long *w) { return w[0]; }\n"
    "long row_sum_workspace(const long *w) { return w[1] * 4 + 4; }\n"
    "void row_sum(void *const *p, const long *w, long begin, long end, void *workspace) {\n"
    "    const float *x = p[0];\n"
    "    float *y = p[1], *row = workspace, scale;\n"
    "    long *counters = p[2];\n"
    "    unsigned bits = (unsigned)w[5];\n"
    "    __builtin_memcpy(&scale, &bits, 4);\n"
    "    __atomic_fetch_add(&counters[0], 1, __ATOMIC_RELAXED);\n"
    "    if ((unsigned long)workspace % 64 != 0)\n"
    "        __atomic_fetch_add(&counters[1], 1, __ATOMIC_RELAXED);\n"
    "    for (long r = begin; r < end; r++) {\n"
    "        float sum = 0;\n"
    "        for (long i = 0; i < w[1]; i++)\n"
    "            row[i] = x[r * w[2] + i * w[3]];\n"
    "        ((volatile float *)row)[w[1]] = (float)(r % 1024);\n"
    "        for (long i = 0; i < w[1]; i++)\n"
    "            sum += row[i];\n"
    "        if (((volatile float *)row)[w[1]] != (float)(r % 1024))\n"
    "            __atomic_fetch_add(&counters[2], 1, __ATOMIC_RELAXED);\n"
    "        y[r * w[4]] = scale * sum;\n"
    "    }\n"
    "}\n"
    /* The same device is asked for programs with other shapes of workspace. */
    "void empty(void *const *p, const long *w, long b, long e, void *s) {\n"
    "    (void)w; for (long i = b; i < e; i++) ((char *)p[0])[i] = s == 0 ? 1 : 2;\n"
    "}\n"
    "long empty_groups(const long *w) { return w[0]; }\n"
    "long empty_workspace(const long *w) { return w[1]; }\n"
    /* What the floating environment is: 1 + 2^-24 rounds to 1 only to nearest; a subnormal. */
    "void env(void *const *p, const long *w, long b, long e, void *s) {\n"
    "    (void)w; (void)b; (void)e; (void)s;\n"
    "    volatile float one = 1.0f, half_ulp = 0x1p-24f, tiny = 0x1p-126f, half = 0.5f;\n"
    "    ((float *)p[0])[0] = one + half_ulp;\n"
    "    ((float *)p[0])[1] = tiny * half;\n"
    "}\n"
    "long env_groups(const long *w) { (void)w; return 1; }\n"
    "long env_workspace(const long *w) { (void)w; return 0; }\n"
    "void partial(void) {}\n";

enum { ROWS = 1000, WIDTH = 33, ROW_STRIDE = 40 };

typedef struct counters {
    int64_t calls, unaligned, shared;
} counters;

typedef struct fixture {
    runtime_device *device;
    runtime_module *module;
    runtime_report report;
    counters counters;
    float x[ROWS * ROW_STRIDE], y[ROWS * 2];
} fixture;

static runtime_device *device_new(int threads) {
    runtime_cpu_config config = {.team.threads = threads};
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    assert_non_null(device);
    assert_string_equal(device->vtable->name, "cpu");
    return device;
}

static runtime_status load(fixture *f, const char *entry) {
    runtime_artifact artifact = {
        .text = row_sum_source, .length = sizeof row_sum_source - 1, .entry = entry};
    return f->device->vtable->load(f->device, &artifact, &f->module, &f->report);
}

static fixture *fixture_filled(void) {
    fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    for (int i = 0; i < ROWS * ROW_STRIDE; i++)
        f->x[i] = (float)(i % 17);
    for (int i = 0; i < ROWS * 2; i++)
        f->y[i] = -1.0f;
    return f;
}

static fixture *fixture_new(int threads, const char *entry) {
    fixture *f = fixture_filled();
    f->device = device_new(threads);
    assert_int_equal(load(f, entry), RUNTIME_OK);
    return f;
}

static void fixture_free(fixture *f) {
    f->device->vtable->unload(f->device, f->module);
    f->device->vtable->destroy(f->device);
    free(f);
}

static runtime_status launch(fixture *f, const int64_t *words, void *const *pointers, double work) {
    runtime_launch arguments = {.pointers = pointers, .words = words, .work_ns = work};
    return f->device->vtable->launch(f->device, f->module, &arguments, &f->report);
}

static runtime_status launch_row_sum(fixture *f, int64_t rows, double work) {
    int64_t words[6] = {rows, WIDTH, ROW_STRIDE, 1, 2, 0x3f000000 /* 0.5f */};
    void *pointers[3] = {f->x, f->y, &f->counters};
    return launch(f, words, pointers, work);
}

static void assert_row_sums(const fixture *f, int64_t rows) {
    for (int64_t r = 0; r < ROWS; r++) {
        float sum = 0;
        for (int64_t i = 0; i < WIDTH; i++)
            sum += f->x[r * ROW_STRIDE + i];
        assert_true(f->y[2 * r] == (r < rows ? 0.5f * sum : -1.0f));
        assert_true(f->y[2 * r + 1] == -1.0f);
    }
}

static void rows_are_summed_with_strides_and_a_scalar(void **state) {
    (void)state;
    static const int threads[] = {1, 2, 5};
    static const int64_t rows[] = {1, 2, 7, 999, ROWS};
    for (int t = 0; t < 3; t++) {
        for (int r = 0; r < 5; r++) {
            fixture *f = fixture_new(threads[t], "row_sum");
            assert_int_equal(launch_row_sum(f, rows[r], 1e6), RUNTIME_OK);
            assert_row_sums(f, rows[r]);
            assert_int_equal(f->counters.unaligned, 0);
            assert_int_equal(f->counters.shared, 0);
            assert_true(threads[t] > 1 && rows[r] > 1 ? f->counters.calls > 1
                                                      : f->counters.calls == 1);
            fixture_free(f);
        }
    }
}

static void little_work_stays_in_one_call(void **state) {
    (void)state;
    fixture *f = fixture_new(4, "row_sum");
    const double little[] = {0.0, 7999.0, -1.0, 0.0 / 0.0};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(launch_row_sum(f, ROWS, little[i]), RUNTIME_OK);
        assert_int_equal(f->counters.calls, i + 1);
    }
    f->counters.calls = 0;
    assert_int_equal(launch_row_sum(f, ROWS, 8000.0), RUNTIME_OK);
    assert_int_equal(f->counters.calls, 2);
    assert_row_sums(f, ROWS);
    fixture_free(f);
}

static void no_groups_launch_nothing(void **state) {
    (void)state;
    fixture *f = fixture_new(2, "row_sum");
    assert_int_equal(launch_row_sum(f, 0, 1e6), RUNTIME_OK);
    assert_int_equal(launch_row_sum(f, -1, 1e6), RUNTIME_NO_MEMORY);
    assert_non_null(strstr(f->report.text, "64 bits"));
    assert_int_equal(f->counters.calls, 0);
    assert_row_sums(f, 0);
    fixture_free(f);
}

/* An allocator that counts what is live, refuses from a given call on, and has 1 GB. */
typedef struct meter {
    int64_t live, calls, refuse_from;
} meter;

static void *metered(void *context, void *memory, size_t old_size, size_t new_size) {
    meter *m = context;
    if (new_size != 0 && ++m->calls >= m->refuse_from)
        return NULL;
    if (new_size > 1000000000)
        return NULL;
    m->live += (int64_t)new_size - (int64_t)old_size;
    if (new_size != 0)
        return realloc(memory, new_size);
    free(memory);
    return NULL;
}

static void an_impossible_workspace_is_a_status_and_writes_nothing(void **state) {
    (void)state;
    fixture *f = fixture_filled();
    meter m = {.refuse_from = INT64_MAX};
    runtime_cpu_config config = {.team.threads = 2};
    f->device = runtime_cpu_create((base_allocator){metered, &m}, &config);
    assert_non_null(f->device);
    assert_int_equal(load(f, "empty"), RUNTIME_OK);
    const int64_t sizes[] = {-1, INT64_MAX, INT64_MAX - 64, INT64_MAX / 2, INT64_MAX / 4};
    char out[2] = {0};
    void *pointers[1] = {out};
    for (int i = 0; i < 5; i++) {
        assert_int_equal(launch(f, (int64_t[]){2, sizes[i]}, pointers, 1e9), RUNTIME_NO_MEMORY);
        assert_non_null(strstr(f->report.text, "workspace"));
        assert_int_equal(out[0] + out[1], 0);
    }
    assert_int_equal(launch(f, (int64_t[]){2, 0}, pointers, 1e9), RUNTIME_OK);
    assert_int_equal(out[0] + out[1], 2); /* none asked for: NULL is passed */
    fixture_free(f);
}

static void a_missing_function_is_named(void **state) {
    (void)state;
    fixture *f = fixture_new(1, "empty");
    runtime_module *kept = f->module;
    assert_int_equal(load(f, "absent"), RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "`absent`"));
    assert_null(f->module);
    assert_int_equal(load(f, "partial"), RUNTIME_LOAD_FAILED);
    assert_non_null(strstr(f->report.text, "`partial_groups`"));
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(load(f, name), RUNTIME_LOAD_FAILED);
    f->module = kept;
    fixture_free(f);
}

static void a_compile_error_is_passed_on(void **state) {
    (void)state;
    fixture *f = fixture_new(1, "empty");
    runtime_module *module = f->module;
    runtime_artifact artifact = {.text = "int x", .length = 5, .entry = "empty"};
    assert_int_equal(f->device->vtable->load(f->device, &artifact, &module, &f->report),
                     RUNTIME_COMPILE_FAILED);
    assert_null(module);
    fixture_free(f);
}

static void the_floating_environment_of_the_caller_does_not_matter(void **state) {
    (void)state;
    fixture *f = fixture_new(1, "env");
    float out[2] = {0};
    void *pointers[1] = {out};
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
    unsigned before = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before | 0x8040); /* flush subnormals, treat them as zero */
#endif
    runtime_status status = launch(f, (int64_t[]){0}, pointers, 0.0);
    int rounding = fegetround();
#if defined(__x86_64__)
    unsigned after = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(before);
    assert_int_equal(after & 0x8040, 0x8040);
#endif
    fesetround(FE_TONEAREST);
    assert_int_equal(status, RUNTIME_OK);
    assert_int_equal(rounding, FE_UPWARD);
    assert_true(out[0] == 1.0f);
    assert_true(out[1] == 0x1p-127f);
    fixture_free(f);
}

static void each_refused_allocation_is_a_status_and_nothing_leaks(void **state) {
    (void)state;
    int succeeded = 0;
    for (int64_t refuse = 1; refuse < 8 && !succeeded; refuse++) {
        fixture *f = fixture_filled();
        meter m = {.refuse_from = refuse};
        runtime_cpu_config config = {.team.threads = 2};
        f->device = runtime_cpu_create((base_allocator){metered, &m}, &config);
        if (f->device != NULL) {
            runtime_status status = load(f, "row_sum");
            if (status == RUNTIME_OK)
                status = launch_row_sum(f, ROWS, 1e6);
            assert_true(status == RUNTIME_OK || status == RUNTIME_NO_MEMORY);
            succeeded = status == RUNTIME_OK;
            if (status == RUNTIME_OK)
                assert_row_sums(f, ROWS);
            f->device->vtable->unload(f->device, f->module);
            f->device->vtable->destroy(f->device);
        }
        assert_int_equal(m.live, 0);
        free(f);
    }
    assert_true(succeeded);
}

static void the_workspace_is_kept_between_launches(void **state) {
    (void)state;
    fixture *f = fixture_filled();
    meter m = {.refuse_from = INT64_MAX};
    runtime_cpu_config config = {.team.threads = 2};
    f->device = runtime_cpu_create((base_allocator){metered, &m}, &config);
    assert_non_null(f->device);
    assert_int_equal(load(f, "row_sum"), RUNTIME_OK);
    assert_int_equal(launch_row_sum(f, ROWS, 1e6), RUNTIME_OK);
    int64_t calls = m.calls;
    for (int i = 0; i < 10; i++)
        assert_int_equal(launch_row_sum(f, ROWS, 1e6), RUNTIME_OK);
    assert_int_equal(m.calls, calls);
    fixture_free(f);
}

static void *launch_often(void *argument) {
    fixture *shared = argument;
    fixture *own = malloc(sizeof *own);
    if (own == NULL)
        return NULL;
    *own = *shared;
    int fine = 0;
    for (int i = 0; i < 200; i++)
        fine += launch_row_sum(own, ROWS, 1e6) == RUNTIME_OK;
    assert_row_sums(own, ROWS);
    fine -= own->counters.shared != 0;
    free(own);
    return fine == 200 ? argument : NULL;
}

static void launches_from_several_threads_do_not_share_memory(void **state) {
    (void)state;
    fixture *f = fixture_new(2, "row_sum");
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_often, f), 0);
    for (int i = 0; i < 3; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_ptr_equal(result, f);
    }
    fixture_free(f);
}

static void a_child_can_launch_what_the_parent_loaded(void **state) {
    (void)state;
    fixture *f = fixture_new(2, "row_sum");
    assert_int_equal(launch_row_sum(f, ROWS, 1e6), RUNTIME_OK);
    memset(f->y, 0, sizeof f->y);
    pid_t child = fork();
    if (child == 0) {
        int failed = launch_row_sum(f, ROWS, 1e6) != RUNTIME_OK || f->y[2] == 0.0f;
        f->device->vtable->unload(f->device, f->module);
        f->device->vtable->destroy(f->device);
        _exit(failed);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fixture_free(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_summed_with_strides_and_a_scalar),
        cmocka_unit_test(little_work_stays_in_one_call),
        cmocka_unit_test(no_groups_launch_nothing),
        cmocka_unit_test(an_impossible_workspace_is_a_status_and_writes_nothing),
        cmocka_unit_test(a_missing_function_is_named),
        cmocka_unit_test(a_compile_error_is_passed_on),
        cmocka_unit_test(the_floating_environment_of_the_caller_does_not_matter),
        cmocka_unit_test(each_refused_allocation_is_a_status_and_nothing_leaks),
        cmocka_unit_test(the_workspace_is_kept_between_launches),
        cmocka_unit_test(launches_from_several_threads_do_not_share_memory),
        cmocka_unit_test(a_child_can_launch_what_the_parent_loaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
