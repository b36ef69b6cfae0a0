/* A device `cuda` on the pretended driver of test/fake. */
#ifndef CUDA_FIXTURE_H
#define CUDA_FIXTURE_H

#include "../fake/fake_cuda.h"

#include "runtime/cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifndef CROFT_FAKE_CUDA /* its path, which the build knows */
#define CROFT_FAKE_CUDA "libfake_cuda.so"
#endif

/* The pretended driver's state, as it is in the beginning. */
static inline fake_cuda_state *fake_open(void) {
    void *library = dlopen(CROFT_FAKE_CUDA, RTLD_NOW);
    if (library == NULL)
        fail_msg("%s", dlerror());
    fake_cuda_state *fake = dlsym(library, "fake_cuda");
    void (*reset)(void);
    void *address = dlsym(library, "fake_cuda_reset");
    memcpy(&reset, &address, sizeof reset);
    reset();
    return fake;
}

/* Nothing is held, and no rule was broken. */
static inline void fake_close(const fake_cuda_state *fake) {
    if (fake->broken_rules > 0)
        fail_msg("%d broken rules, the last: %s", fake->broken_rules, fake->broken);
    assert_int_equal(fake->live_programs, 0);
    assert_int_equal(fake->live_modules, 0);
    assert_int_equal(fake->live_streams, 0);
    assert_int_equal(fake->live_pools, 0);
    assert_int_equal(fake->live_pool_bytes, 0);
    assert_int_equal(fake->live_memories, 0);
    assert_int_equal(fake->live_contexts, 0);
    assert_int_equal(fake->depth, 0);
}

/* An allocator that counts what is live and refuses from a given call on. */
typedef struct cuda_meter {
    int64_t live, calls, refuse_from;
    pthread_mutex_t lock;
} cuda_meter;

static inline void *cuda_metered(void *context, void *memory, size_t old_size, size_t new_size) {
    cuda_meter *meter = context;
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

static const char cuda_text[] = "extern \"C\" __global__ void croft_row() {}\n";
static const char *const cuda_flags[] = {"-arch=sm_90a", NULL};

typedef struct cuda_fixture {
    fake_cuda_state *fake;
    runtime_device *device;
    runtime_report report;
    cuda_meter meter;
    runtime_artifact artifact;
} cuda_fixture;

static inline cuda_fixture *cuda_fixture_without_device(void) {
    cuda_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    f->fake = fake_open();
    f->fake->argument_words = 7;
    f->meter.refuse_from = INT64_MAX;
    pthread_mutex_init(&f->meter.lock, NULL);
    f->artifact = (runtime_artifact){.text = cuda_text,
                                     .length = sizeof cuda_text - 1,
                                     .entry = "croft_row",
                                     .flags = cuda_flags,
                                     .threads = 256,
                                     .pointer_count = 2,
                                     .word_count = 3};
    return f;
}

static inline runtime_status cuda_fixture_create(cuda_fixture *f, void *context) {
    runtime_cuda_config config = {
        .driver = CROFT_FAKE_CUDA, .nvrtc = CROFT_FAKE_CUDA, .context = context};
    return runtime_cuda_create((base_allocator){cuda_metered, &f->meter}, &config, &f->device,
                               &f->report);
}

static inline cuda_fixture *cuda_fixture_new(void) {
    cuda_fixture *f = cuda_fixture_without_device();
    assert_int_equal(cuda_fixture_create(f, NULL), RUNTIME_OK);
    return f;
}

static inline void cuda_fixture_free(cuda_fixture *f) {
    if (f->device != NULL)
        f->device->vtable->destroy(f->device);
    fake_close(f->fake);
    assert_int_equal(f->meter.live, 0);
    pthread_mutex_destroy(&f->meter.lock);
    free(f);
}

static inline runtime_status cuda_fixture_load(cuda_fixture *f, runtime_module **module) {
    return f->device->vtable->load(f->device, &f->artifact, module, &f->report);
}

#endif
