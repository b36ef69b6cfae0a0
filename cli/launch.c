/* Launching: an artifact and the arguments of one launch, on the cpu or on a device of its own
 * memory.
 *
 *     cpu            the arrays as they lie
 *     cuda, opencl   [guard | elements | guard] -> memory of the device -> launch -> [guard |
 *                    elements | guard], so that --check sees what was written past the ends there
 *
 * Once the arrays lie where they are used, the variant is chosen whose conditions they meet
 * (variant.h). Each run loads once, from the cache where that has the program, and launches once.
 */
#include "launch.h"

#include "answer.h"
#include "cache.h"
#include "simulate.h"
#include "variant.h"
#include "workspace.h"

#include "runtime/cpu.h"
#include "runtime/devices.h"

#include <stdlib.h>
#include <string.h>

/* What stands behind the artifact and the launch. */
typedef struct launch_room {
    machine_flags flags;
    void *pointers[CLI_ARGUMENT_LIMIT];
    void *addresses[CLI_ARGUMENT_LIMIT]; /* where pointers are handles */
    void *const *places;                 /* the one or the other, which conditions are about */
    int64_t words[CLI_WORDS_LIMIT], word_count;
    runtime_report report;
    runtime_artifact artifact;
    runtime_launch launch;
    runtime_entry *entries; /* of the launches behind the first */
    runtime_size *sizes;
    cli_workspace workspace;
} launch_room;

/* Roughly how long the launch takes on one thread: short ones do not wake other threads. */
static double predicted_work_ns(const cli_launch *launch) {
    double bytes = 0;
    for (int i = 0; i < launch->module->parameter_count; i++)
        if (launch->arrays[i] != NULL)
            bytes += (double)launch->arrays[i]->size_bytes;
    return bytes / RUNTIME_BYTES_PER_NS;
}

static int pointer_count(const cli_launch *launch) {
    int count = 0;
    for (int i = 0; i < launch->module->parameter_count; i++)
        count += launch->arrays[i] != NULL;
    return count;
}

static void free_room(launch_room *room) {
    if (room == NULL)
        return;
    cli_workspace_close(&room->workspace);
    free(room->entries);
    free(room->sizes);
    free(room);
}

/* NULL where something is missing, which has been printed; freed with free_room. From here on the
 * launch has the arrays of the workspace too. */
static launch_room *make_room(cli_launch *launch) {
    int launches = launch->job->compiled.launch_count;
    launch_room *room = calloc(1, sizeof *room);
    if (room != NULL) {
        room->entries = calloc((size_t)launches, sizeof *room->entries);
        room->sizes = calloc((size_t)launches, sizeof *room->sizes);
    }
    if (room == NULL || room->entries == NULL || room->sizes == NULL) {
        cli_out_of_memory(launch->job->options);
        free_room(room);
        return NULL;
    }
    if (cli_workspace_open(&room->workspace, launch->job, launch->arrays) != CLI_EXIT_OK) {
        free_room(room);
        return NULL;
    }
    launch->module = room->workspace.module;
    launch->arrays = room->workspace.arrays;
    machine_flags_split(launch->job->runs_on, &room->flags);
    room->word_count =
        cli_launch_pack(launch->module, launch->job->compiled.bindings.sizes, launch->arrays,
                        launch->scalars, room->pointers, room->words);
    room->places = room->pointers;
    room->launch = (runtime_launch){
        .pointers = room->pointers, .words = room->words, .work_ns = predicted_work_ns(launch)};
    return room;
}

/* Once all pointers are there: the variant that may run with them. The exit code. */
static int choose_artifact(const cli_launch *launch, launch_room *room) {
    cli_job *job = launch->job;
    int status = cli_variant_choose(job, room->places, room->words);
    if (status != CLI_EXIT_OK)
        return status;
    room->artifact = (runtime_artifact){.text = job->compiled.source_text,
                                        .length = strlen(job->compiled.source_text),
                                        .entry = job->compiled.entry,
                                        .flags = room->flags.list,
                                        .threads = job->compiled.threads,
                                        .cluster = job->compiled.module->cluster,
                                        .pointer_count = pointer_count(launch),
                                        .word_count = (int)room->word_count,
                                        .scratch_bytes = job->compiled.scratch_bytes,
                                        .behind = room->entries,
                                        .behind_count = job->compiled.launch_count - 1};
    for (int i = 1; i < job->compiled.launch_count; i++) {
        const compile_code *code = &job->compiled.launches[i];
        room->entries[i - 1] = (runtime_entry){.name = code->entry,
                                               .threads = code->threads,
                                               .cluster = code->module->cluster,
                                               .scratch_bytes = code->scratch_bytes};
    }
    return CLI_EXIT_OK;
}

/* What the workspace says after the launches: the faults that were counted, and, where the run is
 * checked, whether nobody wrote around it. */
static int workspace_status(const cli_launch *launch, const launch_room *room, int status) {
    if (status == CLI_EXIT_OK)
        cli_workspace_add_faults(&room->workspace, launch->job);
    bool asked = status == CLI_EXIT_OK && launch->job->options->check;
    return asked && !cli_workspace_is_intact(launch->job->options, &room->workspace)
               ? CLI_EXIT_CHECK_FAILED
               : status;
}

static int failed(const cli_options *options, const runtime_report *report) {
    return cli_refuse(options, CLI_EXIT_SYSTEM, "device-failed", NULL, "%s", report->text);
}

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
    launch_room *room = make_room(launch);
    if (room == NULL)
        return CLI_EXIT_SYSTEM;
    runtime_device *device = runtime_cpu_create(base_allocator_default(), &config);
    if (device == NULL) {
        free_room(room);
        return cli_out_of_memory(options);
    }
    runtime_module *module = NULL;
    int status = choose_artifact(launch, room);
    if (status != CLI_EXIT_OK) {
        device->vtable->destroy(device);
        free_room(room);
        return status;
    }
    if (device->vtable->load(device, &room->artifact, &module, &room->report) != RUNTIME_OK ||
        device->vtable->launch(device, module, &room->launch, &room->report) != RUNTIME_OK)
        status = failed(options, &room->report);
    device->vtable->unload(device, module);
    device->vtable->destroy(device);
    status = workspace_status(launch, room, status);
    free_room(room);
    return status;
}

int cli_launch_cpu(cli_launch *launch) {
    runtime_cache *cache = cli_cache_open(launch->job->options);
    int status = launch_cpu(launch, cache);
    cli_cache_close(launch->job->options, cache);
    return status;
}

/* ---- devices with memory of their own ---- */

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
        failed(options, &report);
        return NULL;
    }
    *runs_on = runs->name;
    return device;
}

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
static runtime_status point_at(runtime_device *device, const cli_array *array, launch_room *room,
                               device_memory *memory, int parameter, int pointer) {
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
static runtime_status copy_in(const cli_launch *launch, runtime_device *device, launch_room *room,
                              device_memory *memory) {
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

static runtime_status copy_out(const cli_launch *launch, runtime_device *device, launch_room *room,
                               const device_memory *memory) {
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
                                    launch_room *room, const device_memory *memory,
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
                                  runtime_module *module, launch_room *room,
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
                           launch_room *room, const device_memory *memory) {
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
    exit_code = status != RUNTIME_OK ? failed(options, &room->report)
                : !kept              ? cli_out_of_memory(options)
                : changed != NULL    ? CLI_EXIT_CHECK_FAILED
                                     : CLI_EXIT_OK;
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++) {
        free(before[i]);
        free(first[i]);
    }
    return exit_code;
}

/* A figure that the device's compiler gives; -1: it does not. */
static void print_fact(int *printed, int64_t figure, const char *what) {
    if (figure >= 0)
        printf("%s %lld %s", (*printed)++ > 0 ? "," : "", (long long)figure, what);
}

static void print_facts(const runtime_facts *facts) {
    int printed = 0;
    printf("from %s:", facts->from);
    print_fact(&printed, facts->registers, "registers");
    print_fact(&printed, facts->stack_bytes, "bytes of stack");
    print_fact(&printed, facts->spill_bytes, "spilled");
    print_fact(&printed, facts->barriers, "barriers");
    print_fact(&printed, facts->scratch_bytes, "bytes of scratch");
    puts("");
}

static void write_fact(base_json *json, const char *key, int64_t figure) {
    if (figure >= 0)
        base_json_integer(json, key, figure);
    else
        base_json_null(json, key);
}

static void write_facts(base_json *json, const void *state) {
    const runtime_facts *facts = state;
    base_json_object(json, NULL);
    base_json_string(json, "from", facts->from);
    write_fact(json, "registers", facts->registers);
    write_fact(json, "stack_bytes", facts->stack_bytes);
    write_fact(json, "spill_bytes", facts->spill_bytes);
    write_fact(json, "barriers", facts->barriers);
    write_fact(json, "scratch_bytes", facts->scratch_bytes);
    base_json_close(json);
}

static void say_facts(const cli_options *options, const runtime_device *device,
                      const runtime_module *module) {
    runtime_facts facts;
    for (int i = 0; device->vtable->facts(device, module, i, &facts); i++) {
        cli_answer_add(options, "compiler_reports", write_facts, &facts);
        if (options->check && !options->json)
            print_facts(&facts);
    }
}

/* The arrays are on the device. */
static int launch_loaded(const cli_launch *launch, runtime_device *device, launch_room *room,
                         const device_memory *memory) {
    compile_launch size;
    runtime_module *module = NULL;
    int exit_code = choose_artifact(launch, room);
    if (exit_code != CLI_EXIT_OK)
        return exit_code;
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
    if (device->vtable->load(device, &room->artifact, &module, &room->report) != RUNTIME_OK)
        return failed(launch->job->options, &room->report);
    say_facts(launch->job->options, device, module);
    exit_code = launch_repeated(launch, device, module, room, memory);
    device->vtable->unload(device, module);
    return exit_code;
}

static int launch_copied(const cli_launch *launch, runtime_device *device, launch_room *room) {
    device_memory memory = {.whole = {NULL}};
    int exit_code = copy_in(launch, device, room, &memory) == RUNTIME_OK
                        ? launch_loaded(launch, device, room, &memory)
                        : failed(launch->job->options, &room->report);
    for (int i = 0; i < CLI_ARGUMENT_LIMIT; i++) {
        device->vtable->release(device, memory.part[i]);
        device->vtable->release(device, memory.whole[i]);
    }
    return exit_code;
}

int cli_launch_device(cli_launch *launch, runtime_device *device) {
    launch_room *room = make_room(launch);
    int status = room != NULL ? launch_copied(launch, device, room) : CLI_EXIT_SYSTEM;
    if (room != NULL)
        status = workspace_status(launch, room, status);
    free_room(room);
    return status;
}
