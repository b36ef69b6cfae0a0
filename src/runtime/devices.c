/* Devices by name: see the header. */
#include "runtime/devices.h"

#include <string.h>

typedef runtime_status opening(base_allocator allocator, const runtime_devices_config *config,
                               runtime_device **device, const machine **runs,
                               runtime_report *report);

static runtime_status open_cpu(base_allocator allocator, const runtime_devices_config *config,
                               runtime_device **device, const machine **runs,
                               runtime_report *report) {
    *runs = machine_host();
    if (config->index != 0)
        return runtime_report_set(report, RUNTIME_NO_DEVICE,
                                  "there is one cpu, number 0, and no %d", config->index);
    *device = runtime_cpu_create(allocator, &config->cpu);
    return *device != NULL ? RUNTIME_OK
                           : runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a team");
}

static runtime_status open_cuda(base_allocator allocator, const runtime_devices_config *config,
                                runtime_device **device, const machine **runs,
                                runtime_report *report) {
    runtime_cuda_config own = {.driver = config->driver,
                               .nvrtc = config->driver_compiler,
                               .ordinal = config->index,
                               .cache = config->cache};
    runtime_status status = runtime_cuda_create(allocator, &own, device, report);
    if (status != RUNTIME_OK)
        return status;
    const runtime_cuda_facts *facts = runtime_cuda_facts_of(*device);
    *runs = facts->machine != NULL ? machine_find(facts->machine) : NULL;
    if (*runs != NULL)
        return RUNTIME_OK;
    status = runtime_report_set(report, RUNTIME_NO_DEVICE,
                                "no machine describes %s of compute capability %d.%d", facts->name,
                                facts->major, facts->minor);
    (*device)->vtable->destroy(*device);
    *device = NULL;
    return status;
}

static runtime_status open_opencl(base_allocator allocator, const runtime_devices_config *config,
                                  runtime_device **device, const machine **runs,
                                  runtime_report *report) {
    runtime_opencl_config own = {.library = config->opencl_library,
                                 .context = config->opencl_context,
                                 .device = config->opencl_device,
                                 .index = config->index};
    runtime_status status = runtime_opencl_create(allocator, &own, device, report);
    if (status != RUNTIME_OK)
        return status;
    const char *name = runtime_opencl_facts_of(*device)->machine;
    *runs = machine_find(name);
    if (*runs != NULL)
        return RUNTIME_OK;
    status = runtime_report_set(report, RUNTIME_NO_DEVICE, "there is no machine `%s`", name);
    (*device)->vtable->destroy(*device);
    *device = NULL;
    return status;
}

static runtime_status open_metal(base_allocator allocator, const runtime_devices_config *config,
                                 runtime_device **device, const machine **runs,
                                 runtime_report *report) {
    runtime_status status = runtime_metal_create(allocator, config->index, device, report);
    if (status == RUNTIME_OK)
        *runs = machine_find(runtime_metal_facts_of(*device)->machine);
    return status;
}

static const struct {
    const char *name;
    opening *open;
} devices[] = {
    {"cpu", open_cpu}, {"cuda", open_cuda}, {"opencl", open_opencl}, {"metal", open_metal}};

enum { DEVICES = sizeof devices / sizeof devices[0] };

bool runtime_device_is_known(const char *name) {
    bool known = false;
    for (int i = 0; i < DEVICES; i++)
        known = known || strcmp(devices[i].name, name) == 0;
    return known;
}

const char *runtime_device_name(int index) {
    return index >= 0 && index < DEVICES ? devices[index].name : NULL;
}

runtime_status runtime_device_open(const char *name, base_allocator allocator,
                                   const runtime_devices_config *config, runtime_device **device,
                                   const machine **runs, runtime_report *report) {
    *device = NULL;
    for (int i = 0; i < DEVICES; i++)
        if (strcmp(devices[i].name, name) == 0)
            return devices[i].open(allocator, config, device, runs, report);
    runtime_report_set(report, RUNTIME_NO_DEVICE, "no device is called `%.100s`; there are", name);
    for (int i = 0; i < DEVICES; i++)
        runtime_report_add(report, "%s %s", i > 0 ? "," : "", devices[i].name);
    return RUNTIME_NO_DEVICE;
}
