/* Contexts: where memory comes from, and which device runs what is compiled. */
#include "api/api_internal.h"

#include <stdlib.h>
#include <string.h>

void *api_allocate(base_allocator allocator, size_t size) {
    void *memory = allocator.resize(allocator.context, NULL, 0, size);
    if (memory != NULL)
        memset(memory, 0, size);
    return memory;
}

void api_release(base_allocator allocator, void *memory, size_t size) {
    if (memory != NULL)
        allocator.resize(allocator.context, memory, size, 0);
}

/* What ends in the middle of a pointer would be read as another one. */
static bool is_size(size_t size) {
    return size >= sizeof size && size % sizeof(void *) == 0;
}

bool api_struct_read(const void *given, void *known, size_t known_size) {
    size_t size = 0;
    if (given == NULL)
        return true;
    memcpy(&size, given, sizeof size);
    if (!is_size(size))
        return false;
    memcpy(known, given, size < known_size ? size : known_size);
    return true;
}

bool api_struct_write(const void *known, size_t known_size, void *given) {
    size_t size = 0;
    if (given == NULL)
        return false;
    memcpy(&size, given, sizeof size);
    if (!is_size(size))
        return false;
    memcpy(given, known, size < known_size ? size : known_size);
    memcpy(given, &size, sizeof size);
    return true;
}

const char *croft_status_name(croft_status status) {
    static const char *const names[] = {
        [CROFT_OK] = "ok",
        [CROFT_REJECTED] = "rejected",
        [CROFT_MISUSE] = "misuse",
        [CROFT_OUT_OF_MEMORY] = "out of memory",
        [CROFT_NO_COMPILER] = "no compiler",
        [CROFT_COMPILER_FAILED] = "compiler failed",
        [CROFT_NO_DEVICE] = "no device",
        [CROFT_OUT_OF_RESOURCES] = "out of resources",
        [CROFT_SYSTEM_FAILED] = "system failed",
    };
    size_t count = sizeof names / sizeof names[0];
    return (size_t)status < count ? names[status] : "unknown status";
}

static void set_unless(const char **field, const char *name) {
    if (*field == NULL)
        *field = getenv(name);
}

void croft_config_from_environment(croft_config *given) {
    croft_config config = {0};
    if (given == NULL || !api_struct_read(given, &config, sizeof config))
        return;
    set_unless(&config.path, "PATH");
    set_unless(&config.temporary_directory, "TMPDIR");
    set_unless(&config.compiler, "CROFT_COMPILER");
    set_unless(&config.cuda_driver, "CROFT_CUDA_DRIVER");
    set_unless(&config.cuda_nvrtc, "CROFT_NVRTC");
    set_unless(&config.opencl_library, "CROFT_OPENCL_LIBRARY");
    set_unless(&config.cache_home, "XDG_CACHE_HOME");
    set_unless(&config.home, "HOME");
    (void)api_struct_write(&config, sizeof config, given);
}

static bool is_device(const char *name) {
    bool known = false;
    for (int i = 0; runtime_device_name(i) != NULL; i++)
        known = known || strcmp(runtime_device_name(i), name) == 0;
    return known;
}

/* What no caller can mean; NULL: nothing. */
static const char *misused(const croft_config *config) {
    if (config->device != NULL && !is_device(config->device))
        return "device: there is none of this name";
    if (config->machine != NULL && machine_find(config->machine) == NULL)
        return "machine: there is none of this name";
    if (config->threads < 0 || config->threads > RUNTIME_TEAM_LIMIT)
        return "threads: below 0, or more than there can be";
    if (config->cache_bytes < 0)
        return "cache_bytes: below 0";
    if ((config->opencl_context != NULL) != (config->opencl_device != NULL))
        return "opencl_context, opencl_device: the one without the other";
    if (config->device_index < 0 || (config->device_index > 0 && config->opencl_device != NULL))
        return "device_index: below 0, or beside opencl_device";
    return NULL;
}

/* Texts that the devices read later on. Unwinds where memory ends. */
static void copy_texts(croft_context *context, croft_config *config) {
    const char **texts[] = {
        &config->device,      &config->machine,    &config->compiler,           &config->path,
        &config->cuda_driver, &config->cuda_nvrtc, &config->temporary_directory};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (*texts[i] != NULL)
            *texts[i] = base_arena_copy(&context->texts, *texts[i], strlen(*texts[i]));
}

/* The directory is not touched before a program is wanted. */
static croft_status make_cache(croft_context *context, const croft_config *config) {
    const runtime_cache_config cache = {.directory = config->cache,
                                        .cache_home = config->cache_home,
                                        .home = config->home,
                                        .limit_bytes = config->cache_bytes};
    runtime_status status = runtime_cache_create(context->allocator, &cache, &context->cache);
    return status == RUNTIME_OK ? CROFT_OK : CROFT_OUT_OF_MEMORY;
}

static croft_status open_device(croft_context *context, const croft_config *config) {
    const char *name = config->device != NULL ? config->device : runtime_device_name(0);
    context->device_index = config->device_index;
    runtime_devices_config devices = {
        .index = config->device_index,
        .cpu = {.compiler = {.compiler = config->compiler,
                             .path = config->path,
                             .temporary_directory = config->temporary_directory,
                             .cache = context->cache},
                .team = {.threads = config->threads,
                         .parallel_for = config->parallel_for,
                         .context = config->parallel_context}},
        .driver = config->cuda_driver,
        .driver_compiler = config->cuda_nvrtc,
        .cache = context->cache,
        .opencl_library = config->opencl_library,
        .opencl_context = config->opencl_context,
        .opencl_device = config->opencl_device};
    runtime_report report;
    runtime_status status = runtime_device_open(name, context->allocator, &devices,
                                                &context->device, &context->runs_on, &report);
    context->machine = config->machine != NULL ? machine_find(config->machine) : context->runs_on;
    if (status == RUNTIME_OK)
        return CROFT_OK;
    if (status == RUNTIME_NO_MEMORY)
        return CROFT_OUT_OF_MEMORY;
    if (config->findings != NULL)
        *config->findings = api_findings_of(context->allocator, "no-device", report.text);
    return CROFT_NO_DEVICE;
}

/* What it has made when it fails goes with the context. */
static croft_status fill_context(croft_context *context, croft_config *config) {
    base_arena_init(&context->texts, context->allocator, &context->exhausted);
    if (setjmp(context->exhausted) != 0)
        return CROFT_OUT_OF_MEMORY;
    copy_texts(context, config);
    context->texts.exhausted = NULL;
    croft_status status = make_cache(context, config);
    return status == CROFT_OK ? open_device(context, config) : status;
}

croft_status croft_context_create_for(int version, const croft_config *given,
                                      croft_context **made) {
    croft_config config = {0};
    if (made == NULL)
        return CROFT_MISUSE;
    *made = NULL;
    if (version / 1000 != CROFT_VERSION / 1000 || !api_struct_read(given, &config, sizeof config))
        return CROFT_MISUSE;
    if (config.findings != NULL)
        *config.findings = NULL;
    base_allocator allocator = config.resize != NULL
                                   ? (base_allocator){config.resize, config.resize_context}
                                   : base_allocator_default();
    const char *reason = misused(&config);
    if (reason != NULL)
        return api_misuse_early(&allocator, config.findings, reason);
    croft_context *context = api_allocate(allocator, sizeof *context);
    if (context == NULL)
        return CROFT_OUT_OF_MEMORY;
    context->allocator = allocator;
    croft_status status = fill_context(context, &config);
    if (status == CROFT_OK)
        *made = context;
    else
        croft_context_free(context);
    return status;
}

void croft_context_free(croft_context *context) {
    if (context == NULL)
        return;
    if (context->device != NULL)
        context->device->vtable->destroy(context->device);
    runtime_cache_destroy(context->cache);
    base_arena_free(&context->texts);
    api_release(context->allocator, context, sizeof *context);
}

croft_status croft_context_opencl(const croft_context *context, croft_opencl_handles *given) {
    if (context == NULL || context->device->vtable->memory != RUNTIME_MEMORY_OPENCL)
        return CROFT_MISUSE;
    const runtime_opencl_handles known = runtime_opencl_handles_of(context->device);
    const croft_opencl_handles handles = {.context = known.context,
                                          .device = known.device,
                                          .queue = known.queue,
                                          .library = known.library};
    return api_struct_write(&handles, sizeof handles, given) ? CROFT_OK : CROFT_MISUSE;
}

croft_status croft_context_findings(croft_context *context, croft_diagnostics **findings) {
    if (findings != NULL)
        *findings = NULL;
    if (context == NULL || findings == NULL)
        return CROFT_MISUSE;
    if (context->cache == NULL)
        return CROFT_OK;
    runtime_report *report = api_allocate(context->allocator, sizeof *report);
    if (report == NULL)
        return CROFT_OUT_OF_MEMORY;
    if (runtime_cache_complaint(context->cache, report))
        *findings = api_findings_of(context->allocator, "no-cache", report->text);
    api_release(context->allocator, report, sizeof *report);
    return CROFT_OK;
}
