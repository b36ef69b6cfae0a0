/* Loading for the device `opencl`: build, check, keep.
 *
 *     artifact -> loaded already? ------------------------------------------------> uses + 1
 *                   | no
 *        program -> build, or its log -> a kernel for each launch -> what it needs and
 *                                                                    the device has -> kept
 *
 * Modules that are loaded stand in a list; one that everybody has unloaded is gone. The key is the
 * content itself (artifact_key.h), its hash only finds it faster. Two threads that load one
 * artifact at the same time build it both, and the second takes the first's.
 */
#include "runtime/artifact_key.h"
#include "runtime/opencl_internal.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { OPTION_LIMIT = 2048 };

static void *resize(const opencl_device *opencl, void *memory, size_t old_size, size_t new_size) {
    return opencl->allocator.resize(opencl->allocator.context, memory, old_size, new_size);
}

static void module_free(const opencl_device *opencl, runtime_module *module) {
    for (runtime_module *behind; module != NULL; module = behind) {
        behind = module->behind;
        if (module->kernel != NULL)
            opencl->library.kernel_release(module->kernel);
        if (module->program != NULL)
            opencl->library.program_release(module->program);
        resize(opencl, module, sizeof *module + module->key_size, 0);
    }
}

/* Launch number `launch` of an artifact. */
static runtime_entry entry_at(const runtime_artifact *artifact, int launch) {
    return launch > 0 ? artifact->behind[launch - 1]
                      : (runtime_entry){.name = artifact->entry,
                                        .threads = artifact->threads,
                                        .cluster = artifact->cluster,
                                        .scratch_bytes = artifact->scratch_bytes};
}

static runtime_module *module_new(const opencl_device *opencl, const runtime_artifact *artifact,
                                  runtime_report *report) {
    runtime_module *first = NULL, **end = &first;
    for (int i = 0; i <= artifact->behind_count; i++) {
        size_t size = i == 0 ? runtime_artifact_key(NULL, artifact) : 0;
        runtime_module *made = resize(opencl, NULL, 0, sizeof *made + size);
        if (made == NULL) {
            runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a module");
            module_free(opencl, first);
            return NULL;
        }
        *made = (runtime_module){.uses = 1,
                                 .threads = entry_at(artifact, i).threads,
                                 .pointer_count = artifact->pointer_count,
                                 .word_count = artifact->word_count,
                                 .key_size = size};
        *end = made;
        end = &made->behind;
    }
    runtime_artifact_key(first->key, artifact);
    first->hash = base_hash_bytes(BASE_HASH_START, first->key, first->key_size);
    return first;
}

/* ---- what a program needs ---- */

static runtime_status refuse(runtime_report *report, const char *what, int64_t required,
                             int64_t available) {
    return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES, "%s: required %lld, available %lld",
                              what, (long long)required, (long long)available);
}

static runtime_status check_entry(const opencl_device *opencl, const runtime_entry *entry,
                                  runtime_report *report) {
    if (entry->threads <= 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "a group has no threads");
    if (entry->scratch_bytes != 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                  "the text of an OpenCL program declares its scratch itself");
    if (entry->threads > opencl->facts.threads_limit)
        return refuse(report, "threads of a group", entry->threads, opencl->facts.threads_limit);
    if (entry->cluster > 1)
        return refuse(report, "groups that run together", entry->cluster, 1);
    return RUNTIME_OK;
}

/* What needs no compiler to be seen. */
static runtime_status check_artifact(const opencl_device *opencl, const runtime_artifact *artifact,
                                     runtime_report *report) {
    if (artifact->pointer_count < 0 || artifact->word_count < 0 || artifact->behind_count < 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "the artifact has a count below 0");
    for (int i = 0; i <= artifact->behind_count; i++) {
        runtime_entry entry = entry_at(artifact, i);
        runtime_status status = check_entry(opencl, &entry, report);
        if (status != RUNTIME_OK)
            return status;
    }
    if (artifact->word_count >= OPENCL_WORDS_LIMIT)
        return refuse(report, "words of arguments", artifact->word_count, OPENCL_WORDS_LIMIT - 1);
    int64_t bytes = 8 * ((int64_t)artifact->pointer_count + artifact->word_count + 2);
    if (bytes > opencl->facts.argument_limit_bytes)
        return refuse(report, "bytes of arguments", bytes, opencl->facts.argument_limit_bytes);
    return RUNTIME_OK;
}

static runtime_status ask_kernel(const opencl_device *opencl, const runtime_module *module,
                                 uint32_t what, void *value, size_t size, runtime_report *report) {
    return opencl_status(
        opencl->library.group_info(module->kernel, opencl->handle, what, size, value, NULL),
        "clGetKernelWorkGroupInfo", report);
}

/* The facts of the kernel, and for which groups the text says that it is. */
static runtime_status read_facts(const opencl_device *opencl, runtime_module *module,
                                 size_t group[3], runtime_report *report) {
    size_t threads = 0;
    uint64_t scratch = 0, private = 0;
    const struct {
        uint32_t what;
        void *value;
        size_t size;
    } asked[] = {
        {OPENCL_KERNEL_THREADS, &threads, sizeof threads},
        {OPENCL_KERNEL_GROUP, group, 3 * sizeof *group},
        {OPENCL_KERNEL_SCRATCH, &scratch, sizeof scratch},
        {OPENCL_KERNEL_PRIVATE, &private, sizeof private},
    };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        runtime_status status =
            ask_kernel(opencl, module, asked[i].what, asked[i].value, asked[i].size, report);
        if (status != RUNTIME_OK)
            return status;
    }
    /* NVIDIA's says 256 of every kernel, and runs groups of 1024 of those that are made for them */
    if (threads < (size_t)module->threads)
        threads = (size_t)module->threads;
    module->facts =
        (runtime_facts){.from = opencl->facts.name,
                        .registers = -1,
                        .stack_bytes = (int64_t) private,
                        .spill_bytes = -1,
                        .scratch_bytes = (int64_t)scratch,
                        .barriers = -1,
                        .threads_limit = threads < INT32_MAX ? (int)threads : INT32_MAX};
    return RUNTIME_OK;
}

static runtime_status check_arguments(const opencl_device *opencl, const runtime_module *module,
                                      runtime_report *report) {
    const int64_t wanted = (int64_t)module->pointer_count + 2; /* the workspace and the words */
    uint32_t found = 0;
    runtime_status status =
        opencl_status(opencl->library.kernel_info(module->kernel, OPENCL_KERNEL_ARGUMENTS,
                                                  sizeof found, &found, NULL),
                      "clGetKernelInfo", report);
    if (status != RUNTIME_OK || found == wanted)
        return status;
    return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                              "the kernel has %u arguments where %lld are wanted", found,
                              (long long)wanted);
}

/* The implementation's figures of the kernel against the device. */
static runtime_status check_kernel(const opencl_device *opencl, runtime_module *module,
                                   runtime_report *report) {
    size_t group[3] = {0};
    runtime_status status = read_facts(opencl, module, group, report);
    if (status == RUNTIME_OK)
        status = check_arguments(opencl, module, report);
    if (status != RUNTIME_OK)
        return status;
    if (group[0] != (size_t)module->threads || group[1] != 1 || group[2] != 1)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                  "the kernel is for groups of %zu x %zu x %zu where %d x 1 x 1 "
                                  "are wanted",
                                  group[0], group[1], group[2], module->threads);
    if (module->facts.scratch_bytes > opencl->facts.scratch_limit_bytes)
        return refuse(report, "bytes of scratch of a group", module->facts.scratch_bytes,
                      opencl->facts.scratch_limit_bytes);
    return RUNTIME_OK;
}

/* ---- load ---- */

/* What the compiler printed, behind what the report has. */
static void add_log(const opencl_device *opencl, void *program, runtime_report *report) {
    size_t size = 0;
    if (opencl->library.build_info(program, opencl->handle, OPENCL_BUILD_LOG, 0, NULL, &size) !=
            0 ||
        size == 0)
        return;
    char *log = resize(opencl, NULL, 0, size + 1);
    if (log == NULL)
        return;
    memset(log, 0, size + 1);
    if (opencl->library.build_info(program, opencl->handle, OPENCL_BUILD_LOG, size, log, NULL) ==
        0) {
        size_t length = strlen(log);
        while (length > 0 && strchr(" \n", log[length - 1]) != NULL)
            log[--length] = '\0';
        const char *begin = log + strspn(log, " \n");
        if (*begin != '\0')
            runtime_report_add(report, "%s%s", report->text[0] != '\0' ? "\n" : "", begin);
    }
    resize(opencl, log, size + 1, 0);
}

/* The artifact's options and those of the language and the arithmetic; false: too many. */
static bool write_options(const runtime_artifact *artifact, char options[OPTION_LIMIT]) {
    size_t used = 0;
    options[0] = '\0';
    for (int i = 0; artifact->flags != NULL && artifact->flags[i] != NULL; i++) {
        int length = snprintf(options + used, OPTION_LIMIT - used, "%s ", artifact->flags[i]);
        if (length < 0 || (size_t)length >= OPTION_LIMIT - used)
            return false;
        used += (size_t)length;
    }
    int length = snprintf(options + used, OPTION_LIMIT - used,
                          "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt");
    return length > 0 && (size_t)length < OPTION_LIMIT - used;
}

static runtime_status build_program(const opencl_device *opencl, runtime_module *module,
                                    const runtime_artifact *artifact, runtime_report *report) {
    char options[OPTION_LIMIT];
    int error = 0;
    if (!write_options(artifact, options))
        return runtime_report_set(report, RUNTIME_COMPILE_FAILED, "too many flags");
    const char *text = artifact->text;
    void *program =
        opencl->library.program_create(opencl->context, 1, &text, &artifact->length, &error);
    runtime_status status = opencl_status(error, "clCreateProgramWithSource", report);
    if (status != RUNTIME_OK)
        return status;
    module->program = program;
    error = opencl->library.program_build(program, 1, &opencl->handle, options, NULL, NULL);
    status = opencl_status(error, "clBuildProgram", report);
    if (status == RUNTIME_OK)
        report->text[0] = '\0';
    add_log(opencl, program, report);
    return status;
}

static runtime_status make_kernel(const opencl_device *opencl, runtime_module *module,
                                  void *program, const char *name, runtime_report *report) {
    int error = 0;
    void *kernel = opencl->library.kernel_create(program, name, &error);
    runtime_status status = opencl_status(error, "clCreateKernel", report);
    if (status == RUNTIME_OK) {
        module->kernel = kernel;
        status = check_kernel(opencl, module, report);
    }
    if (status == RUNTIME_LOAD_FAILED)
        runtime_report_add(report, "; the kernel is `%s`", name);
    return status;
}

static runtime_status build(const opencl_device *opencl, runtime_module *module,
                            const runtime_artifact *artifact, runtime_report *report) {
    runtime_report failure = {0}; /* the report has the warnings */
    runtime_status status = build_program(opencl, module, artifact, report);
    if (status != RUNTIME_OK)
        return status;
    int launch = 0;
    for (runtime_module *one = module; one != NULL && status == RUNTIME_OK; one = one->behind)
        status =
            make_kernel(opencl, one, module->program, entry_at(artifact, launch++).name, &failure);
    if (status != RUNTIME_OK)
        *report = failure;
    return status;
}

/* The equal module that is loaded, with one use more, or NULL; then `module` is put into the list
 * when it is built. */
static runtime_module *share(opencl_device *opencl, runtime_module *module, bool built) {
    pthread_mutex_lock(&opencl->lock);
    runtime_module *loaded = opencl->modules;
    while (loaded != NULL &&
           (loaded->hash != module->hash || loaded->key_size != module->key_size ||
            memcmp(loaded->key, module->key, module->key_size) != 0))
        loaded = loaded->next;
    if (loaded != NULL) {
        loaded->uses++;
    } else if (built) {
        module->next = opencl->modules;
        opencl->modules = module;
    }
    pthread_mutex_unlock(&opencl->lock);
    return loaded;
}

runtime_status opencl_module_load(runtime_device *device, const runtime_artifact *artifact,
                                  runtime_module **module, runtime_report *report) {
    opencl_device *opencl = (opencl_device *)device;
    *module = NULL;
    report->from_cache = false;
    runtime_report_set(report, RUNTIME_OK, "%s", "");
    runtime_status status = check_artifact(opencl, artifact, report);
    if (status != RUNTIME_OK)
        return status;
    runtime_module *made = module_new(opencl, artifact, report);
    if (made == NULL)
        return RUNTIME_NO_MEMORY;
    runtime_module *loaded = share(opencl, made, false);
    if (loaded == NULL) {
        status = build(opencl, made, artifact, report);
        if (status == RUNTIME_OK)
            loaded = share(opencl, made, true);
    }
    if (status == RUNTIME_OK && loaded == NULL) {
        *module = made;
        return RUNTIME_OK;
    }
    module_free(opencl, made);
    *module = loaded;
    return status;
}

void opencl_module_unload(runtime_device *device, runtime_module *module) {
    opencl_device *opencl = (opencl_device *)device;
    if (module == NULL)
        return;
    pthread_mutex_lock(&opencl->lock);
    bool last = --module->uses == 0;
    for (runtime_module **at = &opencl->modules; last && *at != NULL; at = &(*at)->next) {
        if (*at == module) {
            *at = module->next;
            break;
        }
    }
    pthread_mutex_unlock(&opencl->lock);
    if (last)
        module_free(opencl, module);
}

bool opencl_module_facts(const runtime_device *device, const runtime_module *module, int launch,
                         runtime_facts *facts) {
    (void)device;
    for (; module != NULL && launch > 0; launch--)
        module = module->behind;
    if (module != NULL)
        *facts = module->facts;
    return module != NULL;
}
