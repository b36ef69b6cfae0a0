/* The device `cuda`: its context, its memory, its table of functions.
 *
 *     driver -> device of the ordinal -> primary context retained -> a stream of its own
 *     driver -> the caller's context  -> its device                -> a stream of its own
 *
 * The context is made current around each call, unless it is, and taken away again, so a caller's
 * own current context never changes. Copies go over the device's stream, which does not wait for
 * the caller's: who launched on a stream waits for it before copying.
 */
#include "runtime/cuda_internal.h"

#include <stdio.h>
#include <string.h>

runtime_status cuda_device_enter(const cuda_device *cuda, runtime_report *report) {
    return cuda_driver_status(&cuda->driver, cuda->driver.context_push(cuda->context),
                              "cuCtxPushCurrent", report);
}

runtime_status cuda_device_enter_once(const cuda_device *cuda, bool *entered,
                                      runtime_report *report) {
    void *current = NULL;
    int error = cuda->driver.context_current(&current);
    *entered = false;
    if (error == 0 && current == cuda->context)
        return RUNTIME_OK;
    runtime_status status = cuda_driver_status(&cuda->driver, error, "cuCtxGetCurrent", report);
    if (status == RUNTIME_OK)
        status = cuda_device_enter(cuda, report);
    *entered = status == RUNTIME_OK;
    return status;
}

void cuda_device_leave(const cuda_device *cuda) {
    void *popped = NULL;
    cuda->driver.context_pop(&popped);
}

int cuda_capture_relax(const cuda_device *cuda) {
    int mode = CUDA_CAPTURE_RELAXED;
    return cuda->driver.capture_mode(&mode) == 0 ? mode : -1;
}

void cuda_capture_restore(const cuda_device *cuda, int mode) {
    if (mode >= 0)
        cuda->driver.capture_mode(&mode);
}

/* ---- memory ---- */

static runtime_status cuda_allocate(runtime_device *device, int64_t bytes, void **memory,
                                    runtime_report *report) {
    const cuda_device *cuda = (cuda_device *)device;
    cuda_address address = 0;
    *memory = NULL;
    if (bytes < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "a size does not fit 64 bits");
    runtime_status status = cuda_device_enter(cuda, report);
    if (status != RUNTIME_OK)
        return status;
    int mode = cuda_capture_relax(cuda);
    status = cuda_driver_status(
        &cuda->driver, cuda->driver.memory_allocate(&address, bytes > 0 ? (size_t)bytes : 1),
        "cuMemAlloc", report);
    if (status != RUNTIME_OK)
        runtime_report_add(report, "; %lld bytes were wanted", (long long)bytes);
    cuda_capture_restore(cuda, mode);
    cuda_device_leave(cuda);
    *memory = (void *)(uintptr_t)address;
    return status;
}

static void cuda_release(runtime_device *device, void *memory) {
    const cuda_device *cuda = (cuda_device *)device;
    runtime_report unread;
    if (memory == NULL || cuda_device_enter(cuda, &unread) != RUNTIME_OK)
        return;
    int mode = cuda_capture_relax(cuda);
    cuda->driver.memory_free((cuda_address)(uintptr_t)memory);
    cuda_capture_restore(cuda, mode);
    cuda_device_leave(cuda);
}

/* A copy from pageable memory may be under way when the driver's call returns: it is waited for. */
static runtime_status finish_copy(const cuda_device *cuda, int error, const char *call,
                                  runtime_report *report) {
    runtime_status status = cuda_driver_status(&cuda->driver, error, call, report);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(&cuda->driver, cuda->driver.stream_wait(cuda->stream),
                                    "cuStreamSynchronize", report);
    cuda_device_leave(cuda);
    return status;
}

static runtime_status cuda_copy_in(runtime_device *device, void *to, const void *from,
                                   int64_t bytes, runtime_report *report) {
    const cuda_device *cuda = (cuda_device *)device;
    runtime_status status = bytes > 0 ? cuda_device_enter(cuda, report) : RUNTIME_OK;
    if (bytes <= 0 || status != RUNTIME_OK)
        return status;
    int error =
        cuda->driver.copy_in((cuda_address)(uintptr_t)to, from, (size_t)bytes, cuda->stream);
    return finish_copy(cuda, error, "cuMemcpyHtoDAsync", report);
}

static runtime_status cuda_copy_out(runtime_device *device, void *to, const void *from,
                                    int64_t bytes, runtime_report *report) {
    const cuda_device *cuda = (cuda_device *)device;
    runtime_status status = bytes > 0 ? cuda_device_enter(cuda, report) : RUNTIME_OK;
    if (bytes <= 0 || status != RUNTIME_OK)
        return status;
    int error =
        cuda->driver.copy_out(to, (cuda_address)(uintptr_t)from, (size_t)bytes, cuda->stream);
    return finish_copy(cuda, error, "cuMemcpyDtoHAsync", report);
}

/* ---- the device ---- */

static void cuda_destroy(runtime_device *device) {
    cuda_device *cuda = (cuda_device *)device;
    runtime_report unread;
    if (cuda == NULL)
        return;
    if (cuda->context != NULL && cuda_device_enter(cuda, &unread) == RUNTIME_OK) {
        if (cuda->pool != NULL)
            cuda->driver.pool_destroy(cuda->pool);
        if (cuda->stream != NULL)
            cuda->driver.stream_destroy(cuda->stream);
        cuda_device_leave(cuda);
    }
    if (cuda->owns_context)
        cuda->driver.primary_release(cuda->handle);
    cuda_compiler_close(&cuda->compiler);
    cuda_driver_close(&cuda->driver);
    pthread_mutex_destroy(&cuda->lock);
    cuda->allocator.resize(cuda->allocator.context, cuda, sizeof *cuda, 0);
}

static const runtime_device_vtable cuda_vtable = {
    .name = "cuda",
    .memory = RUNTIME_MEMORY_CUDA,
    .load = cuda_module_load,
    .unload = cuda_module_unload,
    .launch = cuda_launch,
    .workspace = cuda_launch_workspace,
    .captures = cuda_stream_captures,
    .facts = cuda_module_facts,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .copy_in = cuda_copy_in,
    .copy_out = cuda_copy_out,
    .destroy = cuda_destroy,
};

static runtime_status find_device(const cuda_driver *driver, int ordinal, int *handle,
                                  runtime_report *report) {
    int count = 0;
    runtime_status status =
        cuda_driver_status(driver, driver->device_count(&count), "cuDeviceGetCount", report);
    if (status == RUNTIME_OK && count == 0)
        return runtime_report_set(report, RUNTIME_NO_DEVICE, "the CUDA driver %s has no device",
                                  driver->path);
    if (status == RUNTIME_OK && (ordinal < 0 || ordinal >= count))
        return runtime_report_set(report, RUNTIME_NO_DEVICE,
                                  "there is no CUDA device %d: the driver has %d, from 0 on",
                                  ordinal, count);
    if (status == RUNTIME_OK)
        status =
            cuda_driver_status(driver, driver->device_get(handle, ordinal), "cuDeviceGet", report);
    return status;
}

static runtime_status open_context(cuda_device *cuda, const runtime_cuda_config *config,
                                   runtime_report *report) {
    const cuda_driver *driver = &cuda->driver;
    if (config->context != NULL) {
        cuda->context = config->context;
        return RUNTIME_OK;
    }
    runtime_status status = find_device(driver, config->ordinal, &cuda->handle, report);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(driver, driver->primary_retain(&cuda->context, cuda->handle),
                                    "cuDevicePrimaryCtxRetain", report);
    cuda->owns_context = status == RUNTIME_OK;
    if (!cuda->owns_context)
        cuda->context = NULL;
    return status;
}

static runtime_status open_device(cuda_device *cuda, runtime_report *report) {
    const cuda_driver *driver = &cuda->driver;
    runtime_status status = cuda_device_enter(cuda, report);
    if (status != RUNTIME_OK)
        return status;
    if (!cuda->owns_context)
        status = cuda_driver_status(driver, driver->context_device(&cuda->handle), "cuCtxGetDevice",
                                    report);
    cuda->facts.ordinal = cuda->handle;
    if (status == RUNTIME_OK)
        status = cuda_driver_facts(driver, cuda->handle, &cuda->facts, report);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(driver,
                                    driver->stream_create(&cuda->stream, CUDA_STREAM_NON_BLOCKING),
                                    "cuStreamCreate", report);
    cuda_device_leave(cuda);
    return status;
}

static bool copy_path(cuda_device *cuda, const char *path) {
    cuda->has_nvrtc_path = path != NULL;
    return path == NULL ||
           snprintf(cuda->nvrtc_path, sizeof cuda->nvrtc_path, "%s", path) < PATH_MAX;
}

runtime_status runtime_cuda_create(base_allocator allocator, const runtime_cuda_config *config,
                                   runtime_device **device, runtime_report *report) {
    *device = NULL;
    cuda_device *cuda = allocator.resize(allocator.context, NULL, 0, sizeof *cuda);
    if (cuda == NULL)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a device");
    memset(cuda, 0, sizeof *cuda);
    cuda->device.vtable = &cuda_vtable;
    cuda->allocator = allocator;
    runtime_status status = cuda_driver_open(&cuda->driver, config->driver, report);
    if (status != RUNTIME_OK || pthread_mutex_init(&cuda->lock, NULL) != 0) {
        cuda_driver_close(&cuda->driver);
        allocator.resize(allocator.context, cuda, sizeof *cuda, 0);
        return status != RUNTIME_OK
                   ? status
                   : runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "no mutex for a device");
    }
    cuda->cache = config->cache;
    if (!copy_path(cuda, config->nvrtc))
        status = runtime_report_set(report, RUNTIME_NO_COMPILER, "the path of NVRTC is too long");
    if (status == RUNTIME_OK)
        status = open_context(cuda, config, report);
    if (status == RUNTIME_OK)
        status = open_device(cuda, report);
    if (status != RUNTIME_OK) {
        cuda_destroy(&cuda->device);
        return status;
    }
    report->text[0] = '\0';
    report->status = RUNTIME_OK;
    *device = &cuda->device;
    return RUNTIME_OK;
}

const runtime_cuda_facts *runtime_cuda_facts_of(const runtime_device *device) {
    return &((const cuda_device *)device)->facts;
}

/* ---- looking ---- */

static void look_at_devices(const cuda_driver *driver, runtime_cuda_system *system) {
    runtime_report *report = &system->driver;
    int count = 0, handle = 0;
    runtime_status status =
        cuda_driver_status(driver, driver->device_count(&count), "cuDeviceGetCount", report);
    for (int i = 0; i < count && i < RUNTIME_CUDA_DEVICES_LIMIT && status == RUNTIME_OK; i++) {
        system->devices[i].ordinal = i;
        status = cuda_driver_status(driver, driver->device_get(&handle, i), "cuDeviceGet", report);
        if (status == RUNTIME_OK)
            status = cuda_driver_facts(driver, handle, &system->devices[i], report);
        system->device_count += status == RUNTIME_OK;
    }
    if (status == RUNTIME_OK)
        runtime_report_set(report, count > 0 ? RUNTIME_OK : RUNTIME_NO_DEVICE,
                           "%s, version %d.%d%s", driver->path, driver->number / 1000,
                           driver->number % 1000 / 10, count > 0 ? "" : ", has no device");
}

void runtime_cuda_look(const runtime_cuda_config *config, runtime_cuda_system *system) {
    cuda_driver driver;
    cuda_compiler compiler;
    memset(system, 0, sizeof *system);
    bool opened = cuda_driver_open(&driver, config->driver, &system->driver) == RUNTIME_OK;
    if (opened)
        look_at_devices(&driver, system);
    /* Without a driver any compiler fits. */
    if (cuda_compiler_open(&compiler, config->nvrtc, opened ? driver.number : INT_MAX,
                           &system->compiler) == RUNTIME_OK)
        runtime_report_set(&system->compiler, RUNTIME_OK, "%s, version %d.%d", compiler.path,
                           compiler.major, compiler.minor);
    cuda_compiler_close(&compiler);
    if (opened)
        cuda_driver_close(&driver);
}
