/* A device `opencl` on the pretended implementation of test/fake. */
#ifndef OPENCL_FIXTURE_H
#define OPENCL_FIXTURE_H

#include "../fake/fake_opencl.h"

#include "runtime/opencl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef CROFT_FAKE_OPENCL /* their paths, which the build knows */
#define CROFT_FAKE_OPENCL        "libfake_opencl.so"
#define CROFT_FAKE_OPENCL_VENDOR "libfake_opencl_vendor.so"
#endif

/* The state of the pretended library at `path`, as it is in the beginning. */
static fake_opencl_state *fake_open_at(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    fake_opencl_state *fake = dlsym(library, "fake_opencl");
    void (*reset)(void);
    void *address = dlsym(library, "fake_opencl_reset");
    memcpy(&reset, &address, sizeof reset);
    reset();
    return fake;
}

static inline fake_opencl_state *fake_open(void) {
    return fake_open_at(CROFT_FAKE_OPENCL);
}

/* Nothing is held, and no rule was broken. */
static void fake_close(const fake_opencl_state *fake) {
    if (fake->broken_rules > 0)
        fail_msg("%d broken rules, the last: %s", fake->broken_rules, fake->broken);
    assert_int_equal(fake->live_contexts, 0);
    assert_int_equal(fake->live_queues, 0);
    assert_int_equal(fake->live_memories, 0);
    assert_int_equal(fake->live_programs, 0);
    assert_int_equal(fake->live_kernels, 0);
    assert_int_equal(fake->live_events, 0);
}

/* An allocator that counts what is live and refuses from a given call on. */
typedef struct opencl_meter {
    int64_t live, calls, refuse_from;
    pthread_mutex_t lock;
} opencl_meter;

static void *opencl_metered(void *context, void *memory, size_t old_size, size_t new_size) {
    opencl_meter *meter = context;
    pthread_mutex_lock(&meter->lock);
    int refused = new_size != 0 && ++meter->calls >= meter->refuse_from;
    if (!refused)
        meter->live += (int64_t)new_size - (int64_t)old_size;
    pthread_mutex_unlock(&meter->lock);
    if (refused)
        return NULL;
    if (new_size != 0)
        return realloc(memory, new_size);
    free(memory);
    return NULL;
}

static const char opencl_text[] = "__kernel void croft_row() {}\n";
static const char *const opencl_flags[] = {"-DGIVEN", NULL};

typedef struct opencl_fixture {
    fake_opencl_state *fake;
    runtime_device *device;
    runtime_report report;
    opencl_meter meter;
    runtime_artifact artifact;
} opencl_fixture;

static inline opencl_fixture *opencl_fixture_without_device(void) {
    opencl_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->fake = fake_open();
    f->meter.refuse_from = INT64_MAX;
    pthread_mutex_init(&f->meter.lock, NULL);
    f->artifact = (runtime_artifact){.text = opencl_text,
                                     .length = sizeof opencl_text - 1,
                                     .entry = "croft_row",
                                     .flags = opencl_flags,
                                     .threads = 64,
                                     .pointer_count = 2,
                                     .word_count = 3};
    return f;
}

static inline runtime_status opencl_fixture_create(opencl_fixture *f, void *context, void *device) {
    runtime_opencl_config config = {
        .library = CROFT_FAKE_OPENCL, .context = context, .device = device};
    return runtime_opencl_create((base_allocator){opencl_metered, &f->meter}, &config, &f->device,
                                 &f->report);
}

static inline opencl_fixture *opencl_fixture_new(void) {
    opencl_fixture *f = opencl_fixture_without_device();
    if (opencl_fixture_create(f, NULL, NULL) != RUNTIME_OK)
        fail_msg("%s", f->report.text);
    return f;
}

static inline void opencl_fixture_free(opencl_fixture *f) {
    if (f->device != NULL)
        f->device->vtable->destroy(f->device);
    fake_close(f->fake);
    assert_int_equal(f->meter.live, 0);
    pthread_mutex_destroy(&f->meter.lock);
    free(f);
}

static inline runtime_status opencl_fixture_load(opencl_fixture *f, runtime_module **module) {
    return f->device->vtable->load(f->device, &f->artifact, module, &f->report);
}

#endif
