/* A caller of OpenCL on an implementation that is installed (PoCL is), as its own program would be
 * one: context, device, queue. CROFT_OPENCL_LIBRARY names another library than the loader. */
#ifndef OPENCL_CALLER_H
#define OPENCL_CALLER_H

#include "runtime/opencl.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CALLER_OUT_OF_ORDER = 1 }; /* a property of a queue */

typedef struct opencl_caller {
    void *library, *platform, *device, *context, *queue;
    int (*platforms)(uint32_t limit, void **platforms, uint32_t *count);
    int (*devices)(void *platform, uint64_t kinds, uint32_t limit, void **devices, uint32_t *count);
    void *(*context_create)(const intptr_t *properties, uint32_t count, void *const *devices,
                            void *notify, void *state, int *error);
    void *(*queue_create)(void *context, void *device, uint64_t properties, int *error);
    void *(*buffer_create)(void *context, uint64_t flags, size_t bytes, void *host, int *error);
    void *(*part_create)(void *buffer, uint64_t flags, uint32_t kind, const void *region,
                         int *error);
    int (*write)(void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes,
                 const void *from, uint32_t count, void *const *events, void **event);
    int (*read)(void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes, void *to,
                uint32_t count, void *const *events, void **event);
    int (*finish)(void *queue);
    int (*memory_release)(void *memory);
    int (*queue_release)(void *queue);
    int (*context_release)(void *context);
} opencl_caller;

static const char *opencl_caller_library(void) {
    return getenv("CROFT_OPENCL_LIBRARY");
}

static void opencl_caller_find(const opencl_caller *c, const char *name, void *function) {
    void *address = dlsym(c->library, name);
    assert_non_null(address);
    memcpy(function, &address, sizeof address);
}

/* Skips the test where the library's functions have no names. */
static void opencl_caller_open(opencl_caller *c, uint64_t queue_properties) {
    const char *named = opencl_caller_library();
    int error = 0;
    *c = (opencl_caller){.library = dlopen(named != NULL ? named : "libOpenCL.so.1", RTLD_NOW)};
    assert_non_null(c->library);
    if (dlsym(c->library, "clGetPlatformIDs") == NULL)
        skip();
    opencl_caller_find(c, "clGetPlatformIDs", &c->platforms);
    opencl_caller_find(c, "clGetDeviceIDs", &c->devices);
    opencl_caller_find(c, "clCreateContext", &c->context_create);
    opencl_caller_find(c, "clCreateCommandQueue", &c->queue_create);
    opencl_caller_find(c, "clCreateBuffer", &c->buffer_create);
    opencl_caller_find(c, "clCreateSubBuffer", &c->part_create);
    opencl_caller_find(c, "clEnqueueWriteBuffer", &c->write);
    opencl_caller_find(c, "clEnqueueReadBuffer", &c->read);
    opencl_caller_find(c, "clFinish", &c->finish);
    opencl_caller_find(c, "clReleaseMemObject", &c->memory_release);
    opencl_caller_find(c, "clReleaseCommandQueue", &c->queue_release);
    opencl_caller_find(c, "clReleaseContext", &c->context_release);
    assert_int_equal(c->platforms(1, &c->platform, NULL), 0);
    assert_int_equal(c->devices(c->platform, 0xFFFFFFFF, 1, &c->device, NULL), 0);
    c->context = c->context_create(NULL, 1, &c->device, NULL, NULL, &error);
    assert_int_equal(error, 0);
    c->queue = c->queue_create(c->context, c->device, queue_properties, &error);
    assert_int_equal(error, 0);
}

/* What is asked of a context that a device of Croft used: nobody else has released it. */
static void opencl_caller_close(opencl_caller *c) {
    assert_int_equal(c->queue_release(c->queue), 0);
    assert_int_equal(c->context_release(c->context), 0);
    dlclose(c->library);
}

/* Runs the tests where a device has what kernels need, else says why there is none. */
#define RUN_OPENCL_TESTS(tests)                                                                    \
    (opencl_caller_has_device() ? cmocka_run_group_tests(tests, NULL, NULL) : 77)

static bool opencl_caller_has_device(void) {
    static runtime_opencl_system found;
    const runtime_opencl_config config = {.library = opencl_caller_library()};
    runtime_opencl_look(&config, &found);
    for (int i = 0; i < found.device_count; i++)
        if (found.devices[i].lacking[0] == '\0')
            return true;
    printf("no OpenCL device to run on: %s\n", found.library.text);
    return false;
}

/* PoCL keeps memory until the process ends, and has threads that LeakSanitizer cannot always stop.
 * What the runtime itself would leak is seen with the pretended OpenCL. */
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
    return 1;
}

#endif
