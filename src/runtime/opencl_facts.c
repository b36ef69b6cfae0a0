/* Devices of OpenCL: what each is, what it lacks, and which one is taken.
 *
 *     0: Portable Computing Language: pthread-skylake-avx512 ..., cpu
 *     1: Some Platform: Some GPU        lacks CL_FP_DENORM (subnormals)
 *
 * A platform or a device that cannot be asked is no failure of the others.
 */
#include "runtime/opencl_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- asking ---- */

/* Where asking has failed once, nothing more is asked. */
typedef struct questions {
    const opencl_library *library;
    void *device;
    runtime_opencl_facts *facts;
    bool failed;
} questions;

static void lack(runtime_opencl_facts *facts, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void lack(runtime_opencl_facts *facts, const char *format, ...) {
    size_t used = strlen(facts->lacking);
    va_list arguments;
    if (used > 0)
        used += (size_t)snprintf(facts->lacking + used, sizeof facts->lacking - used, ", ");
    va_start(arguments, format);
    if (used < sizeof facts->lacking)
        vsnprintf(facts->lacking + used, sizeof facts->lacking - used, format, arguments);
    va_end(arguments);
}

static void answer(questions *asked, const char *call, int error) {
    if (error == 0)
        return;
    asked->failed = true;
    lack(asked->facts, "an answer to %s (%s, error %d)", call, opencl_error_name(error), error);
}

static void ask(questions *asked, uint32_t what, void *value, size_t size) {
    memset(value, 0, size);
    if (!asked->failed)
        answer(asked, "clGetDeviceInfo",
               asked->library->device_info(asked->device, what, size, value, NULL));
}

static void ask_text(questions *asked, uint32_t what, char *text, size_t size) {
    char whole[4096];
    ask(asked, what, whole, sizeof whole);
    whole[sizeof whole - 1] = '\0';
    const char *begin = whole + strspn(whole, " ");
    snprintf(text, size, "%.*s", (int)(size - 1), begin);
}

static uint32_t ask_number(questions *asked, uint32_t what) {
    uint32_t number;
    ask(asked, what, &number, sizeof number);
    return number;
}

static uint64_t ask_wide(questions *asked, uint32_t what) {
    uint64_t number;
    ask(asked, what, &number, sizeof number);
    return number;
}

static int64_t limited(uint64_t number) {
    return number < INT64_MAX ? (int64_t)number : INT64_MAX;
}

static void ask_platform(questions *asked, void *platform) {
    const struct {
        uint32_t what;
        char *text;
        size_t size;
    } rows[] = {
        {OPENCL_PLATFORM_NAME, asked->facts->platform, sizeof asked->facts->platform},
        {OPENCL_PLATFORM_VERSION, asked->facts->platform_version,
         sizeof asked->facts->platform_version},
    };
    char whole[4096];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && !asked->failed; i++) {
        memset(whole, 0, sizeof whole);
        answer(
            asked, "clGetPlatformInfo",
            asked->library->platform_info(platform, rows[i].what, sizeof whole - 1, whole, NULL));
        snprintf(rows[i].text, rows[i].size, "%.*s", (int)(rows[i].size - 1), whole);
    }
}

static const char *kind_name(uint64_t kind) {
    return (kind & OPENCL_KIND_GPU) != 0           ? "gpu"
           : (kind & OPENCL_KIND_CPU) != 0         ? "cpu"
           : (kind & OPENCL_KIND_ACCELERATOR) != 0 ? "accelerator"
                                                   : "other";
}

/* ---- what kernels need ---- */

/* `OpenCL 3.0 PoCL ...`, `OpenCL C 1.2 ...`: the number behind the prefix, 102 for 1.2. */
static int version_in(const char *text, const char *prefix) {
    int major = 0, minor = 0;
    size_t length = strlen(prefix);
    if (strncmp(text, prefix, length) != 0 || sscanf(text + length, "%d.%d", &major, &minor) != 2)
        return 0;
    return major * 100 + minor;
}

static void check_versions(questions *asked) {
    enum { LEAST = 102 };
    char version[128], language[128], profile[64];
    ask_text(asked, OPENCL_DEVICE_VERSION, version, sizeof version);
    ask_text(asked, OPENCL_DEVICE_LANGUAGE, language, sizeof language);
    ask_text(asked, OPENCL_DEVICE_PROFILE, profile, sizeof profile);
    if (asked->failed)
        return;
    if (version_in(version, "OpenCL ") < LEAST)
        lack(asked->facts, "OpenCL 1.2 (it has %s)", version);
    if (version_in(language, "OpenCL C ") < LEAST)
        lack(asked->facts, "OpenCL C 1.2 (it has %s)", language);
    if (strcmp(profile, "FULL_PROFILE") != 0)
        lack(asked->facts, "FULL_PROFILE (64-bit integers; it has %s)", profile);
}

static void check_arithmetic(questions *asked) {
    static const struct {
        uint64_t bit;
        const char *name;
    } needed[] = {
        {OPENCL_SINGLE_DENORM, "CL_FP_DENORM (subnormals)"},
        {OPENCL_SINGLE_INF_NAN, "CL_FP_INF_NAN (infinities and NaN)"},
        {OPENCL_SINGLE_ROUND_TO_NEAREST, "CL_FP_ROUND_TO_NEAREST"},
        {OPENCL_SINGLE_DIVIDE_SQRT, "CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT (exact division and "
                                    "roots)"},
    };
    uint64_t bits = ask_wide(asked, OPENCL_DEVICE_SINGLE_CONFIG);
    for (size_t i = 0; i < sizeof needed / sizeof needed[0] && !asked->failed; i++)
        if ((bits & needed[i].bit) == 0)
            lack(asked->facts, "%s", needed[i].name);
}

static void check_machine(questions *asked) {
    const struct {
        uint32_t what, good;
        const char *name;
    } needed[] = {
        {OPENCL_DEVICE_AVAILABLE, 1, "CL_DEVICE_AVAILABLE"},
        {OPENCL_DEVICE_COMPILER, 1, "CL_DEVICE_COMPILER_AVAILABLE (a compiler)"},
        {OPENCL_DEVICE_LITTLE_ENDIAN, 1, "CL_DEVICE_ENDIAN_LITTLE (the low byte first)"},
        {OPENCL_DEVICE_ADDRESS_BITS, 64, "CL_DEVICE_ADDRESS_BITS 64"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        uint32_t found = ask_number(asked, needed[i].what);
        if (!asked->failed && found != needed[i].good)
            lack(asked->facts, "%s", needed[i].name);
    }
}

void opencl_facts_read(const opencl_library *library, void *platform, void *device,
                       runtime_opencl_facts *facts) {
    questions asked = {.library = library, .device = device, .facts = facts};
    size_t threads = 0, sizes[8] = {0};
    *facts = (runtime_opencl_facts){.ordinal = facts->ordinal, .machine = "opencl"};
    ask_platform(&asked, platform);
    ask_text(&asked, OPENCL_DEVICE_NAME, facts->name, sizeof facts->name);
    ask_text(&asked, OPENCL_DEVICE_DRIVER, facts->driver, sizeof facts->driver);
    facts->kind = kind_name(ask_wide(&asked, OPENCL_DEVICE_KIND));
    facts->processors = (int)ask_number(&asked, OPENCL_DEVICE_PROCESSORS);
    ask(&asked, OPENCL_DEVICE_THREADS, &threads, sizeof threads);
    ask(&asked, OPENCL_DEVICE_ITEM_SIZES, sizes, sizeof sizes);
    threads = threads < sizes[0] ? threads : sizes[0];
    facts->threads_limit = threads < INT32_MAX ? (int)threads : INT32_MAX;
    facts->memory_bytes = limited(ask_wide(&asked, OPENCL_DEVICE_MEMORY));
    facts->allocation_limit_bytes = limited(ask_wide(&asked, OPENCL_DEVICE_ALLOCATION));
    facts->scratch_limit_bytes = limited(ask_wide(&asked, OPENCL_DEVICE_SCRATCH));
    size_t argument_bytes;
    ask(&asked, OPENCL_DEVICE_ARGUMENT_BYTES, &argument_bytes, sizeof argument_bytes);
    facts->argument_limit_bytes = limited(argument_bytes);
    uint32_t bits = ask_number(&asked, OPENCL_DEVICE_BASE_ALIGNMENT_BITS);
    facts->part_alignment_bytes = bits >= 8 ? bits / 8 : 1;
    check_versions(&asked);
    check_machine(&asked);
    check_arithmetic(&asked);
}

/* ---- all of them ---- */

/* Those of one platform, behind the `*count` that are there. */
static void find_in_platform(const opencl_library *library, void *platform,
                             opencl_found found[RUNTIME_OPENCL_DEVICES_LIMIT], int *count,
                             runtime_report *failures) {
    enum { NO_DEVICE = -1 };
    void *devices[RUNTIME_OPENCL_DEVICES_LIMIT] = {NULL};
    uint32_t there = 0;
    int error =
        library->devices(platform, OPENCL_KIND_ALL, RUNTIME_OPENCL_DEVICES_LIMIT, devices, &there);
    if (error != 0 && error != NO_DEVICE)
        runtime_report_add(failures, "; clGetDeviceIDs: %s, error %d of OpenCL",
                           opencl_error_name(error), error);
    for (uint32_t i = 0; error == 0 && i < there && i < RUNTIME_OPENCL_DEVICES_LIMIT &&
                         *count < RUNTIME_OPENCL_DEVICES_LIMIT;
         i++) {
        opencl_found *one = &found[*count];
        *one = (opencl_found){.platform = platform, .device = devices[i]};
        one->facts.ordinal = (*count)++;
        opencl_facts_read(library, platform, devices[i], &one->facts);
    }
}

runtime_status opencl_devices_find(const opencl_library *library,
                                   opencl_found found[RUNTIME_OPENCL_DEVICES_LIMIT], int *count,
                                   runtime_report *report) {
    void *platforms[OPENCL_PLATFORMS_LIMIT] = {NULL};
    int platform_count = 0;
    *count = 0;
    runtime_status status = opencl_library_platforms(library, platforms, &platform_count, report);
    if (status != RUNTIME_OK)
        return status;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "no platform of %s has a device", library->path);
    for (int i = 0; i < platform_count; i++)
        find_in_platform(library, platforms[i], found, count, report);
    return *count > 0 ? RUNTIME_OK : RUNTIME_NO_DEVICE;
}

const opencl_found *opencl_devices_choose(const opencl_found *found, int count, int index,
                                          runtime_report *report) {
    int usable = 0;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "no OpenCL device has what kernels need:");
    for (int i = 0; i < count; i++) {
        usable += found[i].facts.lacking[0] == '\0';
        if (found[i].facts.lacking[0] != '\0')
            runtime_report_add(report, "\n  %s: it lacks %s", found[i].facts.name,
                               found[i].facts.lacking);
    }
    if (index >= usable && usable > 0)
        runtime_report_set(report, RUNTIME_NO_DEVICE,
                           "there is no OpenCL device %d: %d have what kernels need, from 0 on",
                           index, usable);
    for (int others = 0; others <= 1; others++) /* GPUs first */
        for (int i = 0; i < count; i++) {
            bool gpu = strcmp(found[i].facts.kind, "gpu") == 0;
            if (found[i].facts.lacking[0] == '\0' && gpu == (others == 0) && index-- == 0)
                return &found[i];
        }
    return NULL;
}
