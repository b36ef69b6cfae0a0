/* Opening OpenCL: the loader by its functions' names, a vendor's library by its platforms' table.
 *
 *     libOpenCL.so.1            clGetPlatformIDs, clCreateBuffer, ...     by their names
 *     libpocl.so.2              clGetExtensionFunctionAddress("clIcdGetPlatformIDsKHR")
 *                                 -> platforms, whose first word points to
 *                                 -> the table of functions, in the order of cl_khr_icd
 *
 * A vendor's library may export its functions too; where clGetPlatformIDs is among them it is used
 * as the loader is.
 */
#include "runtime/opencl_internal.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef int platform_lister(uint32_t limit, void **platforms, uint32_t *count);

typedef struct call_row {
    const char *symbol;
    size_t place, offset;
} call_row;

#define CALL_ROW(result, field, symbol, place, parameters)                                         \
    {symbol, place, offsetof(opencl_library, field)},

static const call_row call_rows[] = {OPENCL_CALLS(CALL_ROW)};

static const char *const loader_names[] = {"libOpenCL.so.1", NULL};
static const char *const loader_directories[] = {"", "/usr/local/cuda/lib64/", "/opt/rocm/lib/",
                                                 NULL};

static bool functions_by_name(opencl_library *library, runtime_report *report) {
    for (size_t i = 0; i < COUNT(call_rows); i++) {
        if (runtime_library_function(library->handle, call_rows[i].symbol,
                                     (char *)library + call_rows[i].offset, report))
            continue;
        runtime_report_add(report, ": it is older than OpenCL 1.2");
        return false;
    }
    return true;
}

static bool functions_of_table(opencl_library *library, runtime_report *report) {
    for (size_t i = 0; i < COUNT(call_rows); i++) {
        const char *entry = (const char *)library->table + call_rows[i].place * sizeof(void *);
        static const char none[sizeof(void *)];
        memcpy((char *)library + call_rows[i].offset, entry, sizeof(void *));
        if (memcmp(entry, none, sizeof none) != 0)
            continue;
        runtime_report_add(report, " has no function %s in its table", call_rows[i].symbol);
        return false;
    }
    return true;
}

/* The function by which a loader would find the platforms. NULL: there is none. */
static platform_lister *vendor_lister(void *handle) {
    void *(*extension)(const char *name) = NULL;
    platform_lister *lister = NULL;
    void *address = dlsym(handle, "clIcdGetPlatformIDsKHR");
    void *asking = dlsym(handle, "clGetExtensionFunctionAddress");
    memcpy(&extension, &asking, sizeof asking);
    if (address == NULL && asking != NULL)
        address = extension("clIcdGetPlatformIDsKHR");
    memcpy(&lister, &address, sizeof address);
    return lister;
}

/* Every platform of a vendor's library points to one table, but for layers that nobody opens so. */
static bool open_vendor(opencl_library *library, runtime_report *report) {
    void *platforms[OPENCL_PLATFORMS_LIMIT] = {NULL};
    uint32_t count = 0;
    platform_lister *lister = vendor_lister(library->handle);
    if (lister == NULL) {
        runtime_report_add(report, " has neither clGetPlatformIDs nor clIcdGetPlatformIDsKHR: it "
                                   "is no library of OpenCL");
        return false;
    }
    int error = lister(OPENCL_PLATFORMS_LIMIT, platforms, &count);
    if (error != 0 || count == 0 || platforms[0] == NULL) {
        runtime_report_add(report, " has no platform: clIcdGetPlatformIDsKHR: %s, error %d",
                           opencl_error_name(error), error);
        return false;
    }
    memcpy(&library->table, platforms[0], sizeof library->table);
    if (library->table == NULL) {
        runtime_report_add(report, " has a platform without functions");
        return false;
    }
    if (!functions_of_table(library, report))
        return false;
    library->platforms = lister; /* that of the table is the loader's in some libraries */
    return true;
}

runtime_status opencl_library_open(opencl_library *library, const char *path,
                                   runtime_report *report) {
    *library = (opencl_library){0};
    runtime_library_search search = {
        .given = path, .names = loader_names, .directories = loader_directories};
    int next = 0;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "no OpenCL; looked for");
    library->handle = runtime_library_open(&search, &next, library->path, report);
    if (library->handle == NULL)
        return RUNTIME_NO_DEVICE;
    runtime_report_set(report, RUNTIME_NO_DEVICE, "the OpenCL library %s", library->path);
    bool named = dlsym(library->handle, "clGetPlatformIDs") != NULL;
    if (named ? functions_by_name(library, report) : open_vendor(library, report))
        return report->status = RUNTIME_OK;
    opencl_library_close(library);
    return RUNTIME_NO_DEVICE;
}

void opencl_library_close(opencl_library *library) {
    if (library->handle != NULL)
        dlclose(library->handle);
    library->handle = NULL;
}

/* Those of a vendor's library whose objects have other functions are left out. */
runtime_status opencl_library_platforms(const opencl_library *library,
                                        void *platforms[OPENCL_PLATFORMS_LIMIT], int *count,
                                        runtime_report *report) {
    enum { NO_PLATFORM = -1001 };
    uint32_t found = 0;
    *count = 0;
    int error = library->platforms(OPENCL_PLATFORMS_LIMIT, platforms, &found);
    if (error != 0 && error != NO_PLATFORM) {
        (void)opencl_status(error, "clGetPlatformIDs", report);
        return report->status = RUNTIME_NO_DEVICE;
    }
    for (uint32_t i = 0; error == 0 && i < found && i < OPENCL_PLATFORMS_LIMIT; i++) {
        const void *table = library->table;
        if (table != NULL)
            memcpy(&table, platforms[i], sizeof table);
        if (table == library->table)
            platforms[(*count)++] = platforms[i];
    }
    if (*count > 0)
        return RUNTIME_OK;
    return runtime_report_set(report, RUNTIME_NO_DEVICE,
                              "%s has no platform: no vendor's library is installed for it (the "
                              "loader reads /etc/OpenCL/vendors, or OCL_ICD_VENDORS)",
                              library->path);
}
