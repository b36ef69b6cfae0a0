/* The CUDA driver: finding it, asking it, and its errors as statuses.
 *
 *     libcuda.so.1 -> symbols -> version at least 12.0 -> cuInit
 *     error 2 of cuMemAlloc_v2 -> RUNTIME_NO_MEMORY,
 *         `cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)`
 */
#include "runtime/cuda_internal.h"

#include "machine/machine.h"

#include <dlfcn.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- errors ---- */

typedef struct error_row {
    int error;
    runtime_status status;
} error_row;

/* All others: RUNTIME_SYSTEM_FAILED. */
static const error_row error_rows[] = {
    {2, RUNTIME_NO_MEMORY},          /* out of memory */
    {34, RUNTIME_NO_DEVICE},         /* a stub library */
    {36, RUNTIME_NO_DEVICE},         /* needs a newer driver */
    {46, RUNTIME_NO_DEVICE},         /* device busy or unavailable */
    {100, RUNTIME_NO_DEVICE},        /* none */
    {101, RUNTIME_NO_DEVICE},        /* no such ordinal */
    {200, RUNTIME_LOAD_FAILED},      /* not an image */
    {209, RUNTIME_LOAD_FAILED},      /* an image for another architecture */
    {218, RUNTIME_LOAD_FAILED},      /* refused by the assembler */
    {500, RUNTIME_LOAD_FAILED},      /* no such function */
    {701, RUNTIME_OUT_OF_RESOURCES}, /* too many threads or registers */
    {803, RUNTIME_NO_DEVICE},        /* library and kernel driver do not match */
    {804, RUNTIME_NO_DEVICE},        /* the same */
    {912, RUNTIME_OUT_OF_RESOURCES}, /* the cluster is too large */
};

runtime_status cuda_driver_status(const cuda_driver *driver, int error, const char *call,
                                  runtime_report *report) {
    if (error == 0)
        return RUNTIME_OK;
    const char *name = NULL, *text = NULL;
    runtime_status status = RUNTIME_SYSTEM_FAILED;
    for (size_t i = 0; i < COUNT(error_rows); i++)
        if (error_rows[i].error == error)
            status = error_rows[i].status;
    if (driver->error_name(error, &name) != 0 || name == NULL)
        name = "an error without a name";
    if (driver->error_text(error, &text) != 0 || text == NULL)
        text = "no text";
    return runtime_report_set(report, status, "%s: %s (%s), error %d of the CUDA driver", call,
                              name, text, error);
}

/* ---- opening ---- */

typedef struct call_row {
    const char *symbol;
    size_t offset;
} call_row;

#define DRIVER_ROW(field, symbol, parameters) {symbol, offsetof(cuda_driver, field)},

static const call_row driver_rows[] = {CUDA_DRIVER_CALLS(DRIVER_ROW)};
static const call_row newer_rows[] = {CUDA_DRIVER_NEWER_CALLS(DRIVER_ROW)};

static const char *const driver_names[] = {"libcuda.so.1", NULL};
static const char *const driver_directories[] = {"", "/usr/local/nvidia/lib64/", NULL};

static runtime_status check_version(cuda_driver *driver, runtime_report *report) {
    char path[PATH_MAX];
    memcpy(path, driver->path, sizeof path);
    runtime_status status =
        cuda_driver_status(driver, driver->version(&driver->number), "cuDriverGetVersion", report);
    if (status == RUNTIME_OK && driver->number < CUDA_DRIVER_LEAST)
        return runtime_report_set(
            report, RUNTIME_NO_DEVICE,
            "the CUDA driver %s is of version %d.%d, at least %d.%d is needed", path,
            driver->number / 1000, driver->number % 1000 / 10, CUDA_DRIVER_LEAST / 1000,
            CUDA_DRIVER_LEAST % 1000 / 10);
    if (status == RUNTIME_OK)
        status = cuda_driver_status(driver, driver->init(0), "cuInit", report);
    if (status == RUNTIME_OK)
        return status;
    runtime_report_add(report, "; the driver's library is %s", path);
    return report->status = RUNTIME_NO_DEVICE;
}

runtime_status cuda_driver_open(cuda_driver *driver, const char *path, runtime_report *report) {
    *driver = (cuda_driver){0};
    runtime_library_search search = {
        .given = path, .names = driver_names, .directories = driver_directories};
    int next = 0;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "no CUDA driver; looked for");
    driver->library = runtime_library_open(&search, &next, driver->path, report);
    if (driver->library == NULL)
        return RUNTIME_NO_DEVICE;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "the CUDA driver %s", driver->path);
    bool complete = true;
    for (size_t i = 0; i < COUNT(driver_rows) && complete; i++)
        complete = runtime_library_function(driver->library, driver_rows[i].symbol,
                                            (char *)driver + driver_rows[i].offset, report);
    for (size_t i = 0; i < COUNT(newer_rows); i++) {
        void *address = dlsym(driver->library, newer_rows[i].symbol);
        memcpy((char *)driver + newer_rows[i].offset, &address, sizeof address);
    }
    runtime_status status = complete ? check_version(driver, report) : RUNTIME_NO_DEVICE;
    if (!complete)
        runtime_report_add(report, ": it is older than %d.%d", CUDA_DRIVER_LEAST / 1000,
                           CUDA_DRIVER_LEAST % 1000 / 10);
    if (status != RUNTIME_OK)
        cuda_driver_close(driver);
    return status;
}

void cuda_driver_close(cuda_driver *driver) {
    if (driver->library != NULL)
        dlclose(driver->library);
    driver->library = NULL;
}

/* ---- facts ---- */

typedef struct machine_row {
    int major;
    const char *name;
} machine_row;

/* Compute capability -> the row of the machine table whose programs it runs. */
static const machine_row machine_rows[] = {{8, "sm_80"}, {9, "sm_90"}};

static const char *machine_name(int major) {
    for (size_t i = 0; i < COUNT(machine_rows); i++)
        if (machine_rows[i].major == major && machine_find(machine_rows[i].name) != NULL)
            return machine_rows[i].name;
    return NULL;
}

runtime_status cuda_driver_facts(const cuda_driver *driver, int device, runtime_cuda_facts *facts,
                                 runtime_report *report) {
    int scratch = 0, clusters = 0;
    const struct {
        int attribute;
        int *value;
    } asked[] = {
        {CUDA_DEVICE_MAJOR, &facts->major},
        {CUDA_DEVICE_MINOR, &facts->minor},
        {CUDA_DEVICE_THREADS, &facts->threads_limit},
        {CUDA_DEVICE_PROCESSORS, &facts->processors},
        {CUDA_DEVICE_SCRATCH, &scratch},
        {CUDA_DEVICE_CLUSTERS, &clusters},
    };
    runtime_status status = cuda_driver_status(
        driver, driver->device_name(facts->name, (int)sizeof facts->name, device),
        "cuDeviceGetName", report);
    facts->name[sizeof facts->name - 1] = '\0';
    for (size_t i = 0; i < COUNT(asked) && status == RUNTIME_OK; i++)
        status = cuda_driver_status(
            driver, driver->device_attribute(asked[i].value, asked[i].attribute, device),
            "cuDeviceGetAttribute", report);
    size_t bytes = 0;
    if (status == RUNTIME_OK)
        status = cuda_driver_status(driver, driver->device_memory(&bytes, device),
                                    "cuDeviceTotalMem", report);
    facts->memory_bytes = (int64_t)bytes;
    facts->scratch_limit_bytes = scratch;
    facts->clusters = clusters != 0;
    facts->machine = machine_name(facts->major);
    return status;
}
