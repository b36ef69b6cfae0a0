/* Launching on the cpu, where arrays are used as they lie, and opening other devices.
 *
 * Once the arrays lie where they are used, the variant is chosen whose conditions they meet
 * (variant.h). Each run loads once, from the cache where that has the program, and launches once.
 */
#include "launch.h"

#include "answer.h"
#include "cache.h"
#include "launch_room.h"

#include "runtime/cpu.h"
#include "runtime/devices.h"

#include <stdlib.h>

/* ---- the cpu ---- */

static int launch_cpu(cli_launch *launch, runtime_cache *cache) {
    const cli_options *options = launch->job->options;
    runtime_cpu_config config = {
        .compiler = {.compiler = options->compiler,
                     .path = getenv("PATH"),
                     .temporary_directory = getenv("TMPDIR"),
                     .cache = cache},
        .team = {.threads = options->threads},
    };
    cli_launch_room *room = cli_launch_room_make(launch);
    if (room == NULL)
        return CLI_EXIT_SYSTEM;
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    if (device == NULL) {
        cli_launch_room_free(room);
        return cli_out_of_memory(options);
    }
    runtime_module *module = NULL;
    int status = cli_launch_choose(launch, room);
    if (status != CLI_EXIT_OK) {
        device->vtable->destroy(device);
        cli_launch_room_free(room);
        return status;
    }
    if (device->vtable->load(device, &room->artifact, &module, &room->report) != RUNTIME_OK ||
        device->vtable->launch(device, module, &room->launch, &room->report) != RUNTIME_OK)
        status = cli_launch_failed(options, &room->report);
    device->vtable->unload(device, module);
    device->vtable->destroy(device);
    status = cli_launch_workspace_status(launch, room, status);
    cli_launch_room_free(room);
    return status;
}

int cli_launch_cpu(cli_launch *launch) {
    runtime_cache *cache = cli_cache_open(launch->job->options);
    int status = launch_cpu(launch, cache);
    cli_cache_close(launch->job->options, cache);
    return status;
}

/* ---- other devices ---- */

const char *cli_opencl_library(const cli_options *options) {
    return options->opencl_library != NULL ? options->opencl_library
                                           : getenv("CROFT_OPENCL_LIBRARY");
}

runtime_device *cli_device_open(const cli_options *options, runtime_cache *cache,
                                const char **runs_on) {
    const runtime_devices_config config = {.driver = getenv("CROFT_CUDA_DRIVER"),
                                           .driver_compiler = getenv("CROFT_NVRTC"),
                                           .cache = cache,
                                           .opencl_library = cli_opencl_library(options)};
    static runtime_report report;
    runtime_device *device = NULL;
    const machine *runs = NULL;
    if (runtime_device_open(options->target, base_allocator_default(), &config, &device, &runs,
                            &report) != RUNTIME_OK) {
        cli_launch_failed(options, &report);
        return NULL;
    }
    *runs_on = runs->name;
    return device;
}
