/* The devices by name: one call that makes any of them.
 *
 *     runtime_device_open("cpu", allocator, &config, &device, &facts, &report)
 *     -> device, facts.machine = the best row of machine/ that this process runs on
 */
#ifndef RUNTIME_DEVICES_H
#define RUNTIME_DEVICES_H

#include "runtime/cpu.h"
#include "runtime/cuda.h"
#include "runtime/metal.h"
#include "runtime/opencl.h"

#include "machine/machine.h"

/* What each device reads of it, that it reads alone. */
typedef struct runtime_devices_config {
    int index; /* among the devices of its kind, from 0; all read it */
    runtime_cpu_config cpu;
    const char *driver, *driver_compiler; /* libraries; NULL: their usual names */
    runtime_cache *cache; /* of the devices with a driver; cpu's is in the config of its compiler */
    const char *opencl_library;           /* as in runtime_opencl_config */
    void *opencl_context, *opencl_device; /* likewise */
} runtime_devices_config;

/* Whether a device has this name. */
bool runtime_device_is_known(const char *name);
/* Number `index` of the names, from 0; NULL past the end. */
const char *runtime_device_name(int index);

/* On failure *device is NULL and the report says why: RUNTIME_NO_DEVICE also for a name that no
 * device has. *machine: the machine whose programs it runs. */
runtime_status runtime_device_open(const char *name, base_allocator allocator,
                                   const runtime_devices_config *config, runtime_device **device,
                                   const machine **runs, runtime_report *report);

#endif
