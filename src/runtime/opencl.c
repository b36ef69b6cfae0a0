/* The device `opencl`: its context, its queue, its table of functions.
 *
 *     library -> devices -> the one that is taken -> a context and a queue of its own
 *     library -> the caller's context and device   -> a queue of its own
 */
#include "runtime/opencl_internal.h"

#include <string.h>

static void opencl_destroy(runtime_device *device) {
    opencl_device *opencl = (opencl_device *)device;
    if (opencl == NULL)
        return;
    if (opencl->queue != NULL)
        opencl->library.queue_release(opencl->queue);
    if (opencl->owns_context)
        opencl->library.context_release(opencl->context);
    opencl_library_close(&opencl->library);
    pthread_mutex_destroy(&opencl->lock);
    opencl->allocator.resize(opencl->allocator.context, opencl, sizeof *opencl, 0);
}

static const runtime_device_vtable opencl_vtable = {
    .name = "opencl",
    .memory = RUNTIME_MEMORY_OPENCL,
    .load = opencl_module_load,
    .unload = opencl_module_unload,
    .launch = opencl_launch,
    .facts = opencl_module_facts,
    .allocate = opencl_allocate,
    .release = opencl_release,
    .copy_in = opencl_copy_in,
    .copy_out = opencl_copy_out,
    .locate = opencl_locate,
    .part = opencl_part,
    .destroy = opencl_destroy,
};

static runtime_status open_own(opencl_device *opencl, int index, runtime_report *report) {
    opencl_found found[RUNTIME_OPENCL_DEVICES_LIMIT];
    int count = 0, error = 0;
    runtime_status status = opencl_devices_find(&opencl->library, found, &count, report);
    if (status != RUNTIME_OK)
        return status;
    const opencl_found *chosen = opencl_devices_choose(found, count, index, report);
    if (chosen == NULL)
        return RUNTIME_NO_DEVICE;
    const intptr_t properties[] = {OPENCL_CONTEXT_PLATFORM, (intptr_t)chosen->platform, 0};
    opencl->facts = chosen->facts;
    opencl->handle = chosen->device;
    opencl->context =
        opencl->library.context_create(properties, 1, &opencl->handle, NULL, NULL, &error);
    status = opencl_status(error, "clCreateContext", report);
    opencl->owns_context = status == RUNTIME_OK;
    return status;
}

static runtime_status open_callers(opencl_device *opencl, const runtime_opencl_config *config,
                                   runtime_report *report) {
    void *platform = NULL;
    opencl->context = config->context;
    opencl->handle = config->device;
    runtime_status status =
        opencl_status(opencl->library.device_info(config->device, OPENCL_DEVICE_PLATFORM,
                                                  sizeof(void *), &platform, NULL),
                      "clGetDeviceInfo", report);
    if (status != RUNTIME_OK)
        return status;
    opencl->facts.ordinal = -1;
    opencl_facts_read(&opencl->library, platform, config->device, &opencl->facts);
    if (opencl->facts.lacking[0] == '\0')
        return RUNTIME_OK;
    return runtime_report_set(report, RUNTIME_NO_DEVICE, "the OpenCL device %s lacks %s",
                              opencl->facts.name, opencl->facts.lacking);
}

static runtime_status open_device(opencl_device *opencl, const runtime_opencl_config *config,
                                  runtime_report *report) {
    int error = 0;
    if ((config->context != NULL) != (config->device != NULL))
        return runtime_report_set(report, RUNTIME_NO_DEVICE,
                                  "a context of OpenCL is given without a device, or a device "
                                  "without a context");
    runtime_status status = config->context != NULL ? open_callers(opencl, config, report)
                                                    : open_own(opencl, config->index, report);
    if (status != RUNTIME_OK)
        return status;
    void *queue = opencl->library.queue_create(opencl->context, opencl->handle, 0, &error);
    status = opencl_status(error, "clCreateCommandQueue", report);
    if (status == RUNTIME_OK)
        opencl->queue = queue;
    return status;
}

runtime_status runtime_opencl_create(base_allocator allocator, const runtime_opencl_config *config,
                                     runtime_device **device, runtime_report *report) {
    *device = NULL;
    opencl_device *opencl = allocator.resize(allocator.context, NULL, 0, sizeof *opencl);
    if (opencl == NULL)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a device");
    memset(opencl, 0, sizeof *opencl);
    opencl->device.vtable = &opencl_vtable;
    opencl->allocator = allocator;
    if (pthread_mutex_init(&opencl->lock, NULL) != 0) {
        allocator.resize(allocator.context, opencl, sizeof *opencl, 0);
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED, "no mutex for a device");
    }
    runtime_status status = opencl_library_open(&opencl->library, config->library, report);
    if (status == RUNTIME_OK)
        status = open_device(opencl, config, report);
    if (status != RUNTIME_OK) {
        opencl_destroy(&opencl->device);
        return status;
    }
    report->text[0] = '\0';
    report->status = RUNTIME_OK;
    *device = &opencl->device;
    return RUNTIME_OK;
}

const runtime_opencl_facts *runtime_opencl_facts_of(const runtime_device *device) {
    return &((const opencl_device *)device)->facts;
}

runtime_opencl_handles runtime_opencl_handles_of(const runtime_device *device) {
    const opencl_device *opencl = (const opencl_device *)device;
    return (runtime_opencl_handles){.context = opencl->context,
                                    .device = opencl->handle,
                                    .queue = opencl->queue,
                                    .library = opencl->library.path};
}

void runtime_opencl_look(const runtime_opencl_config *config, runtime_opencl_system *system) {
    opencl_library library;
    opencl_found found[RUNTIME_OPENCL_DEVICES_LIMIT];
    memset(system, 0, sizeof *system);
    if (opencl_library_open(&library, config->library, &system->library) != RUNTIME_OK)
        return;
    if (opencl_devices_find(&library, found, &system->device_count, &system->library) == RUNTIME_OK)
        runtime_report_set(&system->library, RUNTIME_OK, "%s", library.path);
    for (int i = 0; i < system->device_count; i++)
        system->devices[i] = found[i].facts;
    opencl_library_close(&library);
}
