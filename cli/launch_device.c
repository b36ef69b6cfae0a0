/* Launching on a device that has memory of its own.
 *
 *     [guard | elements | guard]  ->  memory there  ->  launch  ->  the same here
 *
 * so that --check sees what was written past the ends there. With --repeat the same launch runs
 * again and again, from the same outputs, and has to give the same bytes.
 */
#include "answer.h"
#include "launch_room.h"

#include <stdlib.h>
#include <string.h>

/* What lies on the device, by parameter. */
typedef struct device_memory {
    void *whole[CLI_ARGUMENT_LIMIT]; /* with the guards */
    void *part[CLI_ARGUMENT_LIMIT];  /* without them, where pointers are handles */
} device_memory;

/* The elements and the guards around them, as one piece. */
static char *guarded_begin(const cli_array *array) {
    return (char *)array->data - array->guard_bytes;
}

static int64_t guarded_bytes(const cli_array *array) {
    return array->size_bytes + 2 * array->guard_bytes;
}

/* What a launch is given for an array that lies on the device: what is between the guards. */
static runtime_status point_at(runtime_device *device, const cli_array *array,
                               cli_launch_room *room, device_memory *memory, int parameter,
                               int pointer) {
    const runtime_device_vtable *vtable = device->vtable;
    void *whole = memory->whole[parameter];
    runtime_place place = {0};
    if (vtable->part == NULL) {
        room->pointers[pointer] = (char *)whole + array->guard_bytes;
        return RUNTIME_OK;
    }
    runtime_status status = vtable->part(device, whole, array->guard_bytes, array->size_bytes,
                                         &memory->part[parameter], &room->report);
    if (status == RUNTIME_OK)
        status = vtable->locate(device, memory->part[parameter], &place, &room->report);
    room->pointers[pointer] = memory->part[parameter];
    room->addresses[pointer] = (void *)(uintptr_t)place.address;
    room->places = room->addresses;
    return status;
}

/* Puts the arrays into memory of the device. */
static runtime_status copy_in(const cli_launch *launch, runtime_device *device,
                              cli_launch_room *room, device_memory *memory) {
    const runtime_device_vtable *vtable = device->vtable;
    int pointer = 0;
    for (int i = 0; i < launch->module->parameter_count; i++) {
        const cli_array *array = launch->arrays[i];
        if (array == NULL)
            continue;
        runtime_status status =
            vtable->allocate(device, guarded_bytes(array), &memory->whole[i], &room->report);
        if (status == RUNTIME_OK)
            status = vtable->copy_in(device, memory->whole[i], guarded_begin(array),
                                     guarded_bytes(array), &room->report);
        if (status == RUNTIME_OK)
            status = point_at(device, array, room, memory, i, pointer++);
        if (status != RUNTIME_OK)
            return status;
    }
    return RUNTIME_OK;
}

static runtime_status copy_out(const cli_launch *launch, runtime_device *device,
                               cli_launch_room *room, const device_memory *memory) {
    for (int i = 0; i < launch->module->parameter_count; i++) {
        const cli_array *array = launch->arrays[i];
        bool workspace = i >= launch->job->compiled.own_parameters;
        if (array == NULL || (launch->module->parameters[i].mode == IR_IN && !workspace))
            continue;
        runtime_status status = device->vtable->copy_out(
            device, guarded_begin(array), memory->whole[i], guarded_bytes(array), &room->report);
        if (status != RUNTIME_OK)
            return status;
    }
    return RUNTIME_OK;
}

/* The first launch's outputs, by parameter; NULL for the others. */
static bool keep_outputs(const cli_launch *launch, char *kept[CLI_ARGUMENT_LIMIT]) {
    for (int i = 0; i < launch->module->parameter_count; i++) {
        const cli_array *array = launch->arrays[i];
        if (array == NULL || launch->module->parameters[i].mode == IR_IN)
            continue;
        kept[i] = malloc((size_t)guarded_bytes(array) + 1);
        if (kept[i] == NULL)
            return false;
        memcpy(kept[i], guarded_begin(array), (size_t)guarded_bytes(array));
    }
    return true;
}

/* Outputs as before the first launch, on the device. */
static runtime_status reset_outputs(const cli_launch *launch, runtime_device *device,
                                    cli_launch_room *room, const device_memory *memory,
                                    char *const before[CLI_ARGUMENT_LIMIT]) {
    for (int i = 0; i < launch->module->parameter_count; i++) {
        if (before[i] == NULL)
            continue;
        runtime_status status = device->vtable->copy_in(
            device, memory->whole[i], before[i], guarded_bytes(launch->arrays[i]), &room->report);
        if (status != RUNTIME_OK)
            return status;
    }
    return RUNTIME_OK;
}

/* The name of an output whose bytes are not the kept ones. */
static const char *changed_output(const cli_launch *launch, char *const kept[CLI_ARGUMENT_LIMIT]) {
    for (int i = 0; i < launch->module->parameter_count; i++)
        if (kept[i] != NULL && memcmp(kept[i], guarded_begin(launch->arrays[i]),
                                      (size_t)guarded_bytes(launch->arrays[i])) != 0)
            return launch->module->parameters[i].name;
    return NULL;
}

static runtime_status launch_once(const cli_launch *launch, runtime_device *device,
                                  runtime_module *module, cli_launch_room *room,
                                  const device_memory *memory) {
    runtime_status status = device->vtable->launch(device, module, &room->launch, &room->report);
    return status == RUNTIME_OK ? copy_out(launch, device, room, memory) : status;
}

static void say_changed(const cli_options *options, int number, const char *changed) {
    static const char format[] = "launch %d of %d gave other bytes of %s than the first";
    char text[400];
    snprintf(text, sizeof text, format, number, options->repeat, changed);
    if (options->json)
        cli_refuse(options, CLI_EXIT_CHECK_FAILED, "launches-differ", NULL, "%s", text);
    else
        printf("%s\n", text);
}

/* With --repeat: the same launch again and again, which has to give the same bytes. The exit code.
 */
static int launch_repeated(const cli_launch *launch, runtime_device *device, runtime_module *module,
                           cli_launch_room *room, const device_memory *memory) {
    char *before[CLI_ARGUMENT_LIMIT] = {NULL}, *first[CLI_ARGUMENT_LIMIT] = {NULL};
    int count = launch->job->options->repeat, exit_code = CLI_EXIT_OK;
    const char *changed = NULL;
    bool kept = count <= 1 || keep_outputs(launch, before);
    runtime_status status = launch_once(launch, device, module, room, memory);
    kept = kept && (count <= 1 || keep_outputs(launch, first));
    for (int i = 1; i < count && kept && changed == NULL && status == RUNTIME_OK; i++) {
        status = reset_outputs(launch, device, room, memory, before);
        if (status == RUNTIME_OK)
            status = launch_once(launch, device, module, room, memory);
        if (status == RUNTIME_OK)
            changed = changed_output(launch, first);
        if (changed != NULL)
            say_changed(launch->job->options, i + 1, changed);
    }
    const cli_options *options = launch->job->options;
    exit_code = status != RUNTIME_OK ? cli_launch_failed(options, &room->report)
                : !kept              ? cli_out_of_memory(options)
                : changed != NULL    ? CLI_EXIT_CHECK_FAILED
                                     : CLI_EXIT_OK;
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++) {
        free(before[i]);
        free(first[i]);
    }
    return exit_code;
}

/* How many groups each launch has, and what they need. The exit code. */
static int size_launches(const cli_launch *launch, cli_launch_room *room) {
    compile_launch size;
    const compile_result *compiled = &launch->job->compiled;
    for (int i = compiled->launch_count - 1; i >= 0; i--) {
        if (!compile_launch_of(compiled, i, compiled->bindings.sizes, &size))
            return cli_refuse(launch->job->options, CLI_EXIT_SYSTEM, "size-overflow", NULL,
                              "a size of the kernel does not fit 64 bits");
        room->launch.groups = size.groups;
        room->launch.workspace_bytes = size.workspace_bytes;
        if (i > 0)
            room->sizes[i - 1] = (runtime_size){size.groups, size.workspace_bytes};
    }
    room->launch.behind = room->sizes;
    return CLI_EXIT_OK;
}

/* The arrays are on the device. */
static int launch_loaded(cli_launch *launch, runtime_device *device, cli_launch_room *room,
                         const device_memory *memory) {
    runtime_module *module = NULL;
    int exit_code = cli_launch_choose(launch, room);
    if (exit_code == CLI_EXIT_OK)
        exit_code = size_launches(launch, room);
    if (exit_code != CLI_EXIT_OK)
        return exit_code;
    if (device->vtable->load(device, &room->artifact, &module, &room->report) != RUNTIME_OK) {
        cli_job *job = launch->job;
        launch->spilled = room->report.spilled && compile_with_less(&job->compiled, &job->planning);
        return launch->spilled ? CLI_EXIT_OK : cli_launch_failed(job->options, &room->report);
    }
    cli_launch_say_facts(launch->job->options, device, module);
    exit_code = launch_repeated(launch, device, module, room, memory);
    device->vtable->unload(device, module);
    return exit_code;
}

static int launch_copied(cli_launch *launch, runtime_device *device, cli_launch_room *room) {
    device_memory memory = {.whole = {NULL}};
    int exit_code = copy_in(launch, device, room, &memory) == RUNTIME_OK
                        ? launch_loaded(launch, device, room, &memory)
                        : cli_launch_failed(launch->job->options, &room->report);
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++) {
        device->vtable->release(device, memory.part[i]);
        device->vtable->release(device, memory.whole[i]);
    }
    return exit_code;
}

int cli_launch_device(cli_launch *launch, runtime_device *device) {
    cli_launch_room *room = cli_launch_room_make(launch);
    int status = room != NULL ? launch_copied(launch, device, room) : CLI_EXIT_SYSTEM;
    if (room != NULL)
        status = cli_launch_workspace_status(launch, room, status);
    cli_launch_room_free(room);
    return status;
}
