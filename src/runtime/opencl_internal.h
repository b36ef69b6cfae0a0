/* The parts of the device `opencl`: what the library looks like, and who does what.
 *
 *     opencl_library.c   opens the loader or a vendor's library
 *     opencl_errors.c    its errors as statuses
 *     opencl_facts.c     which devices there are, what each has and lacks
 *     opencl_memory.c    buffers, parts of buffers, copies
 *     opencl_modules.c   load, unload: building, checks and the modules that are loaded
 *     opencl_launch.c    arguments, workspaces, launches
 *     opencl.c           the device and its table
 *
 * Types and prototypes are written here, so that building needs no header of OpenCL. Handles are
 * void *, results int (0: success), numbers as the standard's headers give them.
 */
#ifndef RUNTIME_OPENCL_INTERNAL_H
#define RUNTIME_OPENCL_INTERNAL_H

#include "runtime/library.h"
#include "runtime/opencl.h"

#include <pthread.h>

/* ---- the library ---- */

/* What is asked, by the standard's numbers. */
enum {
    OPENCL_PLATFORM_VERSION = 0x0901,
    OPENCL_PLATFORM_NAME = 0x0902,
    OPENCL_DEVICE_KIND = 0x1000,
    OPENCL_DEVICE_PROCESSORS = 0x1002,
    OPENCL_DEVICE_THREADS = 0x1004,
    OPENCL_DEVICE_ITEM_SIZES = 0x1005,
    OPENCL_DEVICE_ADDRESS_BITS = 0x100D,
    OPENCL_DEVICE_ALLOCATION = 0x1010,
    OPENCL_DEVICE_ARGUMENT_BYTES = 0x1017,
    OPENCL_DEVICE_BASE_ALIGNMENT_BITS = 0x1019,
    OPENCL_DEVICE_SINGLE_CONFIG = 0x101B,
    OPENCL_DEVICE_MEMORY = 0x101F,
    OPENCL_DEVICE_SCRATCH = 0x1023,
    OPENCL_DEVICE_LITTLE_ENDIAN = 0x1026,
    OPENCL_DEVICE_AVAILABLE = 0x1027,
    OPENCL_DEVICE_COMPILER = 0x1028,
    OPENCL_DEVICE_NAME = 0x102B,
    OPENCL_DEVICE_DRIVER = 0x102D,
    OPENCL_DEVICE_PROFILE = 0x102E,
    OPENCL_DEVICE_VERSION = 0x102F,
    OPENCL_DEVICE_PLATFORM = 0x1031,
    OPENCL_DEVICE_LANGUAGE = 0x103D,
    OPENCL_CONTEXT_PLATFORM = 0x1084,
    OPENCL_MEMORY_FLAGS = 0x1101,
    OPENCL_MEMORY_BYTES = 0x1102,
    OPENCL_MEMORY_HOST = 0x1103,
    OPENCL_MEMORY_CONTEXT = 0x1106,
    OPENCL_MEMORY_WHOLE = 0x1107,  /* the buffer of which it is a part */
    OPENCL_MEMORY_OFFSET = 0x1108, /* where that part begins */
    OPENCL_PART_REGION = 0x1220,
    OPENCL_BUILD_LOG = 0x1183,
    OPENCL_KERNEL_ARGUMENTS = 0x1191,
    OPENCL_KERNEL_THREADS = 0x11B0,
    OPENCL_KERNEL_GROUP = 0x11B1, /* that the text asks for */
    OPENCL_KERNEL_SCRATCH = 0x11B2,
    OPENCL_KERNEL_PRIVATE = 0x11B4,
};

/* Bits. */
enum {
    OPENCL_KIND_CPU = 2,
    OPENCL_KIND_GPU = 4,
    OPENCL_KIND_ACCELERATOR = 8,
    OPENCL_MEMORY_READ_WRITE = 1,
    OPENCL_MEMORY_WRITE_ONLY = 2,
    OPENCL_MEMORY_READ_ONLY = 4,
    OPENCL_MEMORY_USES_HOST = 8,
    OPENCL_SINGLE_DENORM = 1,
    OPENCL_SINGLE_INF_NAN = 2,
    OPENCL_SINGLE_ROUND_TO_NEAREST = 4,
    OPENCL_SINGLE_DIVIDE_SQRT = 128,
};
#define OPENCL_KIND_ALL UINT64_C(0xFFFFFFFF)

/* CALL(result, field, symbol, place, parameters): what is used; every one must be there. `place`:
 * in the table of functions to which the objects of a vendor's library point (cl_khr_icd). */
#define OPENCL_CALLS(CALL)                                                                         \
    CALL(int, platforms, "clGetPlatformIDs", 0,                                                    \
         (uint32_t limit, void **platforms, uint32_t *count))                                      \
    CALL(int, platform_info, "clGetPlatformInfo", 1,                                               \
         (void *platform, uint32_t what, size_t size, void *value, size_t *full))                  \
    CALL(int, devices, "clGetDeviceIDs", 2,                                                        \
         (void *platform, uint64_t kinds, uint32_t limit, void **devices, uint32_t *count))        \
    CALL(int, device_info, "clGetDeviceInfo", 3,                                                   \
         (void *device, uint32_t what, size_t size, void *value, size_t *full))                    \
    CALL(void *, context_create, "clCreateContext", 4,                                             \
         (const intptr_t *properties, uint32_t count, void *const *devices,                        \
          void (*notify)(const char *, const void *, size_t, void *), void *state, int *error))    \
    CALL(int, context_release, "clReleaseContext", 7, (void *context))                             \
    CALL(void *, queue_create, "clCreateCommandQueue", 9,                                          \
         (void *context, void *device, uint64_t properties, int *error))                           \
    CALL(int, queue_release, "clReleaseCommandQueue", 11, (void *queue))                           \
    CALL(void *, buffer_create, "clCreateBuffer", 14,                                              \
         (void *context, uint64_t flags, size_t bytes, void *host, int *error))                    \
    CALL(int, memory_retain, "clRetainMemObject", 17, (void *memory))                              \
    CALL(int, memory_release, "clReleaseMemObject", 18, (void *memory))                            \
    CALL(int, memory_info, "clGetMemObjectInfo", 20,                                               \
         (void *memory, uint32_t what, size_t size, void *value, size_t *full))                    \
    CALL(void *, program_create, "clCreateProgramWithSource", 26,                                  \
         (void *context, uint32_t count, const char **texts, const size_t *lengths, int *error))   \
    CALL(int, program_release, "clReleaseProgram", 29, (void *program))                            \
    CALL(int, program_build, "clBuildProgram", 30,                                                 \
         (void *program, uint32_t count, void *const *devices, const char *options,                \
          void (*notify)(void *, void *), void *state))                                            \
    CALL(int, build_info, "clGetProgramBuildInfo", 33,                                             \
         (void *program, void *device, uint32_t what, size_t size, void *value, size_t *full))     \
    CALL(void *, kernel_create, "clCreateKernel", 34,                                              \
         (void *program, const char *name, int *error))                                            \
    CALL(int, kernel_release, "clReleaseKernel", 37, (void *kernel))                               \
    CALL(int, kernel_argument, "clSetKernelArg", 38,                                               \
         (void *kernel, uint32_t index, size_t size, const void *value))                           \
    CALL(int, kernel_info, "clGetKernelInfo", 39,                                                  \
         (void *kernel, uint32_t what, size_t size, void *value, size_t *full))                    \
    CALL(int, group_info, "clGetKernelWorkGroupInfo", 40,                                          \
         (void *kernel, void *device, uint32_t what, size_t size, void *value, size_t *full))      \
    CALL(int, events_wait, "clWaitForEvents", 41, (uint32_t count, void *const *events))           \
    CALL(int, event_release, "clReleaseEvent", 44, (void *event))                                  \
    CALL(int, flush, "clFlush", 46, (void *queue))                                                 \
    CALL(int, read, "clEnqueueReadBuffer", 48,                                                     \
         (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes, void *to,     \
          uint32_t count, void *const *events, void **event))                                      \
    CALL(int, write, "clEnqueueWriteBuffer", 49,                                                   \
         (void *queue, void *memory, uint32_t blocking, size_t offset, size_t bytes,               \
          const void *from, uint32_t count, void *const *events, void **event))                    \
    CALL(int, launch, "clEnqueueNDRangeKernel", 59,                                                \
         (void *queue, void *kernel, uint32_t dimensions, const size_t *offset,                    \
          const size_t *items, const size_t *group, uint32_t count, void *const *events,           \
          void **event))                                                                           \
    CALL(void *, part_create, "clCreateSubBuffer", 82,                                             \
         (void *buffer, uint64_t flags, uint32_t kind, const void *region, int *error))

#define OPENCL_CALL_FIELD(result, field, symbol, place, parameters) result(*field) parameters;

typedef struct opencl_library {
    void *handle;
    char path[PATH_MAX];
    const void *table; /* of a vendor's library; NULL: its functions have names */
    OPENCL_CALLS(OPENCL_CALL_FIELD)
} opencl_library;

enum { OPENCL_PLATFORMS_LIMIT = 16 };

/* On failure nothing stays open: RUNTIME_NO_DEVICE. */
runtime_status opencl_library_open(opencl_library *library, const char *path,
                                   runtime_report *report);
void opencl_library_close(opencl_library *library);
/* RUNTIME_NO_DEVICE where there is none. */
runtime_status opencl_library_platforms(const opencl_library *library,
                                        void *platforms[OPENCL_PLATFORMS_LIMIT], int *count,
                                        runtime_report *report);

/* ---- errors ---- */

/* `CL_INVALID_VALUE`; a text that says so where it has no name. */
const char *opencl_error_name(int error);
/* 0 gives RUNTIME_OK; else the report has `call`, the error's name and its number. */
runtime_status opencl_status(int error, const char *call, runtime_report *report);

/* ---- devices ---- */

typedef struct opencl_found {
    void *platform, *device;
    runtime_opencl_facts facts;
} opencl_found;

/* What cannot be asked is what it lacks. */
void opencl_facts_read(const opencl_library *library, void *platform, void *device,
                       runtime_opencl_facts *facts);
/* All devices of all platforms, in the library's order. RUNTIME_NO_DEVICE where there is none. */
runtime_status opencl_devices_find(const opencl_library *library,
                                   opencl_found found[RUNTIME_OPENCL_DEVICES_LIMIT], int *count,
                                   runtime_report *report);
/* Number `index`, from 0, of those that lack nothing, GPUs first. NULL: the report says what each
 * lacks, or how many there are. */
const opencl_found *opencl_devices_choose(const opencl_found *found, int count, int index,
                                          runtime_report *report);

typedef struct opencl_device {
    runtime_device device;
    base_allocator allocator;
    opencl_library library;
    void *context;
    bool owns_context;
    void *handle; /* cl_device_id */
    runtime_opencl_facts facts;
    void *queue;          /* its own, in order */
    pthread_mutex_t lock; /* of the list of modules, and of the arguments that kernels have now */
    runtime_module *modules;
} opencl_device;

struct runtime_module {
    runtime_module *next;
    runtime_module *behind; /* the launch behind this one: no program, key and uses of its own */
    int uses;
    void *program, *kernel;
    runtime_facts facts;
    int threads, pointer_count, word_count;
    uint64_t hash;
    size_t key_size;
    char key[]; /* artifact_key.h */
};

/* The argument structure. */
enum { OPENCL_WORDS_LIMIT = 4096 };

/* The vtable's entries. */
runtime_status opencl_module_load(runtime_device *device, const runtime_artifact *artifact,
                                  runtime_module **module, runtime_report *report);
void opencl_module_unload(runtime_device *device, runtime_module *module);
bool opencl_module_facts(const runtime_device *device, const runtime_module *module, int launch,
                         runtime_facts *facts);
runtime_status opencl_launch(runtime_device *device, runtime_module *module,
                             const runtime_launch *launch, runtime_report *report);
runtime_status opencl_allocate(runtime_device *device, int64_t bytes, void **memory,
                               runtime_report *report);
void opencl_release(runtime_device *device, void *memory);
runtime_status opencl_locate(runtime_device *device, void *memory, runtime_place *place,
                             runtime_report *report);
runtime_status opencl_part(runtime_device *device, void *memory, int64_t offset, int64_t bytes,
                           void **part, runtime_report *report);
runtime_status opencl_copy_in(runtime_device *device, void *to, const void *from, int64_t bytes,
                              runtime_report *report);
runtime_status opencl_copy_out(runtime_device *device, void *to, const void *from, int64_t bytes,
                               runtime_report *report);

#endif
