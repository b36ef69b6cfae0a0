/* Loading for the device `cuda`: compile, check, keep.
 *
 *     artifact -> key -> loaded already? ------------------------------------> uses + 1
 *                          | no
 *        cache or NVRTC -> figures of the log -> spills? -> driver -> what the function needs
 *                                                                     and the device has -> kept
 *
 * Modules that are loaded stand in a list; one that everybody has unloaded is gone. The key is the
 * content itself (artifact_key.h; the device has one driver and one compiler), its hash only finds
 * it faster. Two threads that load one artifact at the same time compile it both, and the second
 * takes the first's.
 */
#include "runtime/artifact_key.h"
#include "runtime/cuda_internal.h"

#include "base/hash.h"

#include <stdio.h>
#include <string.h>

enum { SCRATCH_WITHOUT_ASKING = 48 * 1024, SUBGROUP = 32, USUAL_CLUSTER = 8 };

static void *resize(const cuda_device *cuda, void *memory, size_t old_size, size_t new_size) {
    return cuda->allocator.resize(cuda->allocator.context, memory, old_size, new_size);
}

static void module_free(const cuda_device *cuda, runtime_module *module) {
    for (runtime_module *behind; module != NULL; module = behind) {
        behind = module->behind;
        resize(cuda, module, sizeof *module + module->key_size, 0);
    }
}

/* The launches behind the first. */
static bool add_behind(const cuda_device *cuda, runtime_module *module,
                       const runtime_artifact *artifact, runtime_report *report) {
    for (int i = 0; i < artifact->behind_count; i++) {
        const runtime_entry *entry = &artifact->behind[i];
        runtime_module *made = resize(cuda, NULL, 0, sizeof *made);
        if (made == NULL) {
            runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a module");
            return false;
        }
        *made = (runtime_module){.threads = entry->threads,
                                 .cluster = entry->cluster > 1 ? entry->cluster : 1,
                                 .pointer_count = artifact->pointer_count,
                                 .word_count = artifact->word_count,
                                 .scratch_bytes = entry->scratch_bytes,
                                 .overlaps = artifact->overlaps};
        module = module->behind = made;
    }
    return true;
}

/* The name of the entry of launch number `launch`. */
static const char *entry_name(const runtime_artifact *artifact, int launch) {
    return launch == 0 ? artifact->entry : artifact->behind[launch - 1].name;
}

static runtime_module *module_new(const cuda_device *cuda, const runtime_artifact *artifact,
                                  runtime_report *report) {
    size_t size = runtime_artifact_key(NULL, artifact);
    runtime_module *module = resize(cuda, NULL, 0, sizeof *module + size);
    if (module == NULL) {
        runtime_report_set(report, RUNTIME_NO_MEMORY, "no memory for a module");
        return NULL;
    }
    *module = (runtime_module){.uses = 1,
                               .threads = artifact->threads,
                               .cluster = artifact->cluster > 1 ? artifact->cluster : 1,
                               .pointer_count = artifact->pointer_count,
                               .word_count = artifact->word_count,
                               .scratch_bytes = artifact->scratch_bytes,
                               .overlaps = artifact->overlaps,
                               .key_size = size};
    runtime_artifact_key(module->key, artifact);
    module->hash = base_hash_bytes(BASE_HASH_START, module->key, size);
    if (add_behind(cuda, module, artifact, report))
        return module;
    module_free(cuda, module);
    return NULL;
}

/* With the lock held. An equal module gets one use more. */
static runtime_module *find_loaded(cuda_device *cuda, const runtime_module *wanted) {
    for (runtime_module *module = cuda->modules; module != NULL; module = module->next) {
        if (module->hash == wanted->hash && module->key_size == wanted->key_size &&
            memcmp(module->key, wanted->key, wanted->key_size) == 0) {
            module->uses++;
            return module;
        }
    }
    return NULL;
}

/* ---- what a program needs ---- */

static runtime_status refuse(runtime_report *report, const char *what, int64_t required,
                             int64_t available) {
    return runtime_report_set(report, RUNTIME_OUT_OF_RESOURCES, "%s: required %lld, available %lld",
                              what, (long long)required, (long long)available);
}

static runtime_status check_entry(const cuda_device *cuda, const runtime_entry *entry,
                                  runtime_report *report) {
    if (entry->threads <= 0 || entry->threads % SUBGROUP != 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED,
                                  "a group of %d threads is not made of whole subgroups of %d",
                                  entry->threads, SUBGROUP);
    if (entry->scratch_bytes < 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "the artifact has a count below 0");
    if (entry->threads > cuda->facts.threads_limit)
        return refuse(report, "threads of a group", entry->threads, cuda->facts.threads_limit);
    if (entry->scratch_bytes > cuda->facts.scratch_limit_bytes)
        return refuse(report, "bytes of scratch of a group", entry->scratch_bytes,
                      cuda->facts.scratch_limit_bytes);
    if (entry->cluster > 1 && !cuda->facts.clusters)
        return refuse(report, "groups that run together", entry->cluster, 1);
    return RUNTIME_OK;
}

/* What needs no compiler to be seen. */
static runtime_status check_artifact(const cuda_device *cuda, const runtime_artifact *artifact,
                                     runtime_report *report) {
    int64_t bytes = 8 * ((int64_t)artifact->pointer_count + artifact->word_count + 2);
    runtime_entry first = {.name = artifact->entry,
                           .threads = artifact->threads,
                           .cluster = artifact->cluster,
                           .scratch_bytes = artifact->scratch_bytes};
    if (artifact->pointer_count < 0 || artifact->word_count < 0 || artifact->behind_count < 0)
        return runtime_report_set(report, RUNTIME_LOAD_FAILED, "the artifact has a count below 0");
    runtime_status status = check_entry(cuda, &first, report);
    for (int i = 0; i < artifact->behind_count && status == RUNTIME_OK; i++)
        status = check_entry(cuda, &artifact->behind[i], report);
    if (status != RUNTIME_OK)
        return status;
    if (bytes > CUDA_ARGUMENT_BYTES_LIMIT)
        return refuse(report, "bytes of arguments", bytes, CUDA_ARGUMENT_BYTES_LIMIT);
    return RUNTIME_OK;
}

/* Clusters of more groups than every device has are asked for, function by function. */
static runtime_status check_cluster(const cuda_device *cuda, const runtime_module *module,
                                    runtime_report *report) {
    cuda_launch_config config = {.grid = {(uint32_t)module->cluster, 1, 1},
                                 .block = {(uint32_t)module->threads, 1, 1},
                                 .scratch_bytes = (uint32_t)module->scratch_bytes};
    int available = 0;
    runtime_status status = RUNTIME_OK;
    if (module->cluster > USUAL_CLUSTER)
        status = cuda_driver_status(
            &cuda->driver,
            cuda->driver.function_set(module->function, CUDA_FUNCTION_LARGE_CLUSTERS, 1),
            "cuFuncSetAttribute", report);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(
            &cuda->driver, cuda->driver.cluster_limit(&available, module->function, &config),
            "cuOccupancyMaxPotentialClusterSize", report);
    if (status == RUNTIME_OK && available < module->cluster)
        status = refuse(report, "groups that run together", module->cluster, available);
    return status;
}

/* The driver's figures of the loaded function against the device. */
static runtime_status check_function(const cuda_device *cuda, runtime_module *module,
                                     runtime_report *report) {
    const cuda_driver *driver = &cuda->driver;
    int threads = 0, scratch = 0;
    runtime_status status = cuda_driver_status(
        driver, driver->function_attribute(&threads, CUDA_FUNCTION_THREADS, module->function),
        "cuFuncGetAttribute", report);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(
            driver, driver->function_attribute(&scratch, CUDA_FUNCTION_SCRATCH, module->function),
            "cuFuncGetAttribute", report);
    if (status != RUNTIME_OK)
        return status;
    module->facts.threads_limit = threads;
    module->facts.scratch_bytes = scratch + module->scratch_bytes;
    if (module->threads > threads)
        return refuse(report, "threads of a group of this program", module->threads, threads);
    if (module->facts.scratch_bytes > cuda->facts.scratch_limit_bytes)
        return refuse(report, "bytes of scratch of a group", module->facts.scratch_bytes,
                      cuda->facts.scratch_limit_bytes);
    if (module->facts.scratch_bytes > SCRATCH_WITHOUT_ASKING)
        status =
            cuda_driver_status(driver,
                               driver->function_set(module->function, CUDA_FUNCTION_ASKED_SCRATCH,
                                                    (int)module->scratch_bytes),
                               "cuFuncSetAttribute", report);
    if (status == RUNTIME_OK && module->cluster > 1)
        status = check_cluster(cuda, module, report);
    return status;
}

/* ---- load ---- */

static runtime_status read_log(runtime_module *module, const runtime_artifact *artifact,
                               const char *log, runtime_report *report) {
    int launch = 0;
    for (runtime_module *one = module; one != NULL; one = one->behind, launch++)
        if (!cuda_log_read(log, entry_name(artifact, launch), &one->facts))
            return runtime_report_set(report, RUNTIME_COMPILE_FAILED,
                                      "the compiler's log has no registers, stack and spills of "
                                      "`%s`:\n%s",
                                      entry_name(artifact, launch), log);
    report->text[0] = '\0';
    cuda_log_warnings(log, report);
    return report->status = RUNTIME_OK;
}

/* Says for what the code was made, where the driver only says that it will not take it. */
static runtime_status explain_refusal(const cuda_device *cuda, const runtime_artifact *artifact,
                                      runtime_status status, runtime_report *report) {
    runtime_report_add(report, "; the device %s has compute capability %d.%d, the flags are",
                       cuda->facts.name, cuda->facts.major, cuda->facts.minor);
    for (int i = 0; artifact->flags != NULL && artifact->flags[i] != NULL; i++)
        runtime_report_add(report, " %s", artifact->flags[i]);
    return status;
}

static void drop_code(const cuda_device *cuda, runtime_module *module) {
    runtime_report unread;
    if (module->library == NULL || cuda_device_enter(cuda, &unread) != RUNTIME_OK)
        return;
    int mode = cuda_capture_relax(cuda);
    cuda->driver.module_unload(module->library);
    cuda_capture_restore(cuda, mode);
    cuda_device_leave(cuda);
    module->library = NULL;
}

static runtime_status load_functions(const cuda_device *cuda, runtime_module *module,
                                     const runtime_artifact *artifact, runtime_report *report) {
    runtime_status status = RUNTIME_OK;
    int launch = 0;
    for (runtime_module *one = module; one != NULL && status == RUNTIME_OK; one = one->behind) {
        const char *name = entry_name(artifact, launch++);
        status = cuda_driver_status(
            &cuda->driver, cuda->driver.module_function(&one->function, module->library, name),
            "cuModuleGetFunction", report);
        if (status == RUNTIME_LOAD_FAILED)
            runtime_report_add(report, "; the function is `%s`", name);
        if (status == RUNTIME_OK)
            status = check_function(cuda, one, report);
        /* Else the driver loads it when it is first launched, which a captured stream forbids. */
        if (status == RUNTIME_OK && cuda->driver.function_load != NULL)
            status = cuda_driver_status(&cuda->driver, cuda->driver.function_load(one->function),
                                        "cuFuncLoad", report);
    }
    return status;
}

static runtime_status load_code(const cuda_device *cuda, runtime_module *module,
                                const runtime_artifact *artifact, const char *code,
                                runtime_report *report) {
    const cuda_driver *driver = &cuda->driver;
    runtime_report failure; /* the report has the warnings */
    failure.from_cache = report->from_cache;
    runtime_status status = cuda_device_enter(cuda, &failure);
    if (status == RUNTIME_OK) {
        int mode = cuda_capture_relax(cuda);
        status = cuda_driver_status(driver, driver->module_load(&module->library, code),
                                    "cuModuleLoadData", &failure);
        if (status == RUNTIME_LOAD_FAILED)
            explain_refusal(cuda, artifact, status, &failure);
        if (status == RUNTIME_OK)
            status = load_functions(cuda, module, artifact, &failure);
        cuda_capture_restore(cuda, mode);
        cuda_device_leave(cuda);
    }
    if (status != RUNTIME_OK) {
        *report = failure;
        drop_code(cuda, module);
    }
    return status;
}

/* The first launch whose registers spill; NULL: none, or it is allowed. */
static const runtime_module *find_spill(const runtime_module *module,
                                        const runtime_artifact *artifact) {
    while (module != NULL && module->facts.spill_bytes == 0)
        module = module->behind;
    return artifact->allow_spills ? NULL : module;
}

static runtime_status compile(cuda_device *cuda, runtime_module *module,
                              const runtime_artifact *artifact, bool free_registers, bool fresh,
                              cuda_compiled *compiled, runtime_report *report) {
    runtime_status status =
        cuda_cache_compile(cuda, artifact, free_registers, fresh, compiled, report);
    return status == RUNTIME_OK ? read_log(module, artifact, compiled->log, report) : status;
}

/* The compiler keeps registers few by itself, for more groups at a time, and may spill a few bytes
 * for that: then again without. */
static runtime_status build(cuda_device *cuda, runtime_module *module,
                            const runtime_artifact *artifact, bool fresh, runtime_report *report) {
    cuda_compiled compiled;
    runtime_status status = compile(cuda, module, artifact, false, fresh, &compiled, report);
    if (status == RUNTIME_OK && find_spill(module, artifact) != NULL) {
        cuda_compiled_free(cuda->allocator, &compiled);
        status = compile(cuda, module, artifact, true, fresh, &compiled, report);
    }
    const runtime_module *spill = status == RUNTIME_OK ? find_spill(module, artifact) : NULL;
    if (spill != NULL) {
        status = runtime_report_set(
            report, RUNTIME_COMPILE_FAILED,
            "the program spills: %lld bytes of a thread are stored and loaded for want of "
            "registers (from ptxas: %d registers)",
            (long long)spill->facts.spill_bytes, spill->facts.registers);
        report->spilled = true;
    }
    if (status == RUNTIME_OK)
        status = load_code(cuda, module, artifact, compiled.code, report);
    cuda_compiled_free(cuda->allocator, &compiled);
    return status;
}

/* The first load opens the compiler, whose version is part of every key. */
static runtime_status open_compiler(cuda_device *cuda, runtime_report *report) {
    runtime_status status = RUNTIME_OK;
    pthread_mutex_lock(&cuda->lock);
    if (cuda->compiler.library == NULL)
        status = cuda_compiler_open(&cuda->compiler, cuda->has_nvrtc_path ? cuda->nvrtc_path : NULL,
                                    cuda->driver.number, report);
    pthread_mutex_unlock(&cuda->lock);
    return status;
}

/* The equal module that is loaded, or NULL; then `module` is put into the list when it is built. */
static runtime_module *share(cuda_device *cuda, runtime_module *module, bool built) {
    pthread_mutex_lock(&cuda->lock);
    runtime_module *loaded = find_loaded(cuda, module);
    if (loaded == NULL && built) {
        module->next = cuda->modules;
        cuda->modules = module;
    }
    pthread_mutex_unlock(&cuda->lock);
    return loaded;
}

runtime_status cuda_module_load(runtime_device *device, const runtime_artifact *artifact,
                                runtime_module **module, runtime_report *report) {
    cuda_device *cuda = (cuda_device *)device;
    *module = NULL;
    report->from_cache = false;
    runtime_report_set(report, RUNTIME_OK, "%s", "");
    runtime_status status = check_artifact(cuda, artifact, report);
    if (status == RUNTIME_OK)
        status = open_compiler(cuda, report);
    if (status != RUNTIME_OK)
        return status;
    runtime_module *made = module_new(cuda, artifact, report);
    if (made == NULL)
        return RUNTIME_NO_MEMORY;
    runtime_module *loaded = share(cuda, made, false);
    if (loaded == NULL) {
        status = build(cuda, made, artifact, false, report);
        if (status != RUNTIME_OK && report->from_cache) /* what was kept may be what is wrong */
            status = build(cuda, made, artifact, true, report);
        if (status == RUNTIME_OK)
            loaded = share(cuda, made, true);
    }
    if (status == RUNTIME_OK && loaded == NULL) {
        *module = made;
        return RUNTIME_OK;
    }
    drop_code(cuda, made);
    module_free(cuda, made);
    *module = loaded;
    return status;
}

void cuda_module_unload(runtime_device *device, runtime_module *module) {
    cuda_device *cuda = (cuda_device *)device;
    if (module == NULL)
        return;
    pthread_mutex_lock(&cuda->lock);
    bool last = --module->uses == 0;
    for (runtime_module **at = &cuda->modules; last && *at != NULL; at = &(*at)->next) {
        if (*at == module) {
            *at = module->next;
            break;
        }
    }
    pthread_mutex_unlock(&cuda->lock);
    if (!last)
        return;
    drop_code(cuda, module);
    module_free(cuda, module);
}

bool cuda_module_facts(const runtime_device *device, const runtime_module *module, int launch,
                       runtime_facts *facts) {
    (void)device;
    for (; module != NULL && launch > 0; launch--)
        module = module->behind;
    if (module != NULL)
        *facts = module->facts;
    return module != NULL;
}
