/* The parts of the device `cuda`: what the driver and NVRTC look like, and who does what.
 *
 *     cuda_driver.c    opens libcuda, gives its errors as statuses
 *     cuda_compiler.c  opens NVRTC, compiles a text
 *     cuda_cache.c     finds and keeps what it compiled
 *     cuda_log.c       reads the compiler's log
 *     cuda_modules.c   load, unload: checks and the modules that are loaded
 *     cuda_launch.c    arguments, workspaces, launches
 *     cuda.c           the device, its context, its memory
 *
 * Types and prototypes are written here, so that building needs no header of the toolkit. Handles
 * are void *, results int (0: success), sizes and structures as the driver documents them.
 */
#ifndef RUNTIME_CUDA_INTERNAL_H
#define RUNTIME_CUDA_INTERNAL_H

#include "runtime/cuda.h"
#include "runtime/library.h"

#include <pthread.h>

/* ---- the driver ---- */

typedef uint64_t cuda_address;

enum {
    CUDA_DRIVER_LEAST = 12000,
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_POOL_KEEP = 4,
    CUDA_CAPTURE_RELAXED = 2
};

/* Attributes of a device and of a function, by the driver's numbers. */
enum {
    CUDA_DEVICE_THREADS = 1,
    CUDA_DEVICE_PROCESSORS = 16,
    CUDA_DEVICE_MAJOR = 75,
    CUDA_DEVICE_MINOR = 76,
    CUDA_DEVICE_SCRATCH = 97, /* shared memory that a group can have when it asks */
    CUDA_DEVICE_CLUSTERS = 120,
    CUDA_FUNCTION_THREADS = 0,
    CUDA_FUNCTION_SCRATCH = 1,
    CUDA_FUNCTION_ASKED_SCRATCH = 8,
    CUDA_FUNCTION_LARGE_CLUSTERS = 14, /* allowed: more groups than every device has */
};

enum { CLUSTER_ATTRIBUTE = 4, OVERLAP_ATTRIBUTE = 6 }; /* of a launch, as the driver numbers them */

typedef struct cuda_launch_attribute {
    uint32_t kind;
    uint32_t unused;
    uint32_t value[16];
} cuda_launch_attribute;

typedef struct cuda_launch_config {
    uint32_t grid[3], block[3];
    uint32_t scratch_bytes;
    void *stream;
    cuda_launch_attribute *attributes;
    uint32_t attribute_count;
} cuda_launch_config;

typedef struct cuda_pool_config {
    int32_t allocation; /* 1: pinned, the only kind */
    int32_t handles;
    int32_t place, ordinal; /* 1: a device */
    void *security;
    size_t limit_bytes;
    unsigned char reserved[56];
} cuda_pool_config;

/* CALL(field, symbol, parameters): what is used of the driver; every one must be there. */
#define CUDA_DRIVER_CALLS(CALL)                                                                    \
    CALL(init, "cuInit", (unsigned flags))                                                         \
    CALL(version, "cuDriverGetVersion", (int *version))                                            \
    CALL(error_name, "cuGetErrorName", (int error, const char **name))                             \
    CALL(error_text, "cuGetErrorString", (int error, const char **text))                           \
    CALL(device_count, "cuDeviceGetCount", (int *count))                                           \
    CALL(device_get, "cuDeviceGet", (int *device, int ordinal))                                    \
    CALL(device_name, "cuDeviceGetName", (char *name, int size, int device))                       \
    CALL(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))        \
    CALL(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                       \
    CALL(primary_retain, "cuDevicePrimaryCtxRetain", (void **context, int device))                 \
    CALL(primary_release, "cuDevicePrimaryCtxRelease_v2", (int device))                            \
    CALL(context_push, "cuCtxPushCurrent_v2", (void *context))                                     \
    CALL(context_pop, "cuCtxPopCurrent_v2", (void **context))                                      \
    CALL(context_current, "cuCtxGetCurrent", (void **context))                                     \
    CALL(context_device, "cuCtxGetDevice", (int *device))                                          \
    CALL(stream_create, "cuStreamCreate", (void **stream, unsigned flags))                         \
    CALL(stream_destroy, "cuStreamDestroy_v2", (void *stream))                                     \
    CALL(stream_wait, "cuStreamSynchronize", (void *stream))                                       \
    CALL(stream_captures, "cuStreamIsCapturing", (void *stream, int *status))                      \
    CALL(capture_mode, "cuThreadExchangeStreamCaptureMode", (int *mode))                           \
    CALL(memory_allocate, "cuMemAlloc_v2", (cuda_address * memory, size_t bytes))                  \
    CALL(memory_free, "cuMemFree_v2", (cuda_address memory))                                       \
    CALL(copy_in, "cuMemcpyHtoDAsync_v2",                                                          \
         (cuda_address to, const void *from, size_t bytes, void *stream))                          \
    CALL(copy_out, "cuMemcpyDtoHAsync_v2",                                                         \
         (void *to, cuda_address from, size_t bytes, void *stream))                                \
    CALL(pool_create, "cuMemPoolCreate", (void **pool, const cuda_pool_config *config))            \
    CALL(pool_set, "cuMemPoolSetAttribute", (void *pool, int attribute, void *value))              \
    CALL(pool_destroy, "cuMemPoolDestroy", (void *pool))                                           \
    CALL(pool_allocate, "cuMemAllocFromPoolAsync",                                                 \
         (cuda_address * memory, size_t bytes, void *pool, void *stream))                          \
    CALL(pool_free, "cuMemFreeAsync", (cuda_address memory, void *stream))                         \
    CALL(module_load, "cuModuleLoadData", (void **module, const void *image))                      \
    CALL(module_unload, "cuModuleUnload", (void *module))                                          \
    CALL(module_function, "cuModuleGetFunction",                                                   \
         (void **function, void *module, const char *name))                                        \
    CALL(function_attribute, "cuFuncGetAttribute", (int *value, int attribute, void *function))    \
    CALL(function_set, "cuFuncSetAttribute", (void *function, int attribute, int value))           \
    CALL(cluster_limit, "cuOccupancyMaxPotentialClusterSize",                                      \
         (int *size, void *function, const cuda_launch_config *config))                            \
    CALL(launch, "cuLaunchKernel",                                                                 \
         (void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
          unsigned block_y, unsigned block_z, unsigned scratch_bytes, void *stream,                \
          void **parameters, void **extra))                                                        \
    CALL(launch_with, "cuLaunchKernelEx",                                                          \
         (const cuda_launch_config *config, void *function, void **parameters, void **extra))

/* What newer drivers have; NULL where it is missing. */
#define CUDA_DRIVER_NEWER_CALLS(CALL) CALL(function_load, "cuFuncLoad", (void *function))

#define CUDA_CALL_FIELD(field, symbol, parameters) int(*field) parameters;

typedef struct cuda_driver {
    void *library;
    char path[PATH_MAX];
    int number; /* 12040: version 12.4 */
    CUDA_DRIVER_CALLS(CUDA_CALL_FIELD)
    CUDA_DRIVER_NEWER_CALLS(CUDA_CALL_FIELD)
} cuda_driver;

/* Opens, asks the version, initialises. On failure nothing stays open. */
runtime_status cuda_driver_open(cuda_driver *driver, const char *path, runtime_report *report);
void cuda_driver_close(cuda_driver *driver);
/* 0 gives RUNTIME_OK; else the report has `call`, and the driver's name and text of the error. */
runtime_status cuda_driver_status(const cuda_driver *driver, int error, const char *call,
                                  runtime_report *report);
runtime_status cuda_driver_facts(const cuda_driver *driver, int device, runtime_cuda_facts *facts,
                                 runtime_report *report);

/* ---- the compiler ---- */

#define CUDA_COMPILER_CALLS(CALL)                                                                  \
    CALL(version, "nvrtcVersion", (int *major, int *minor))                                        \
    CALL(create, "nvrtcCreateProgram",                                                             \
         (void **program, const char *text, const char *name, int headers,                         \
          const char *const *header_texts, const char *const *header_names))                       \
    CALL(compile, "nvrtcCompileProgram", (void *program, int count, const char *const *options))   \
    CALL(log_size, "nvrtcGetProgramLogSize", (void *program, size_t *size))                        \
    CALL(log, "nvrtcGetProgramLog", (void *program, char *log))                                    \
    CALL(code_size, "nvrtcGetCUBINSize", (void *program, size_t *size))                            \
    CALL(code, "nvrtcGetCUBIN", (void *program, char *code))                                       \
    CALL(destroy, "nvrtcDestroyProgram", (void **program))

enum { CUDA_OPTION_LIMIT = 64 };

typedef struct cuda_compiler {
    void *library; /* NULL: not opened yet */
    char path[PATH_MAX];
    int major, minor;
    CUDA_COMPILER_CALLS(CUDA_CALL_FIELD)
    const char *(*error_text)(int error);
} cuda_compiler;

typedef struct cuda_compiled {
    char *log; /* NUL-terminated */
    char *code;
    size_t log_size, code_size; /* as allocated */
} cuda_compiled;

/* The newest NVRTC that is not newer than the driver. RUNTIME_NO_COMPILER. */
runtime_status cuda_compiler_open(cuda_compiler *compiler, const char *path, int driver_version,
                                  runtime_report *report);
void cuda_compiler_close(cuda_compiler *compiler);
/* The options of a compilation, in room for CUDA_OPTION_LIMIT; false when there are too many. */
bool cuda_compiler_options(const cuda_compiler *compiler, const runtime_artifact *artifact,
                           bool free_registers, const char **options, int *count);
/* The result is freed with cuda_compiled_free in any case. With `free_registers` the compiler need
 * not keep registers few so that more groups share a processor: what would spill has room. */
runtime_status cuda_compiler_run(const cuda_compiler *compiler, base_allocator allocator,
                                 const runtime_artifact *artifact, bool free_registers,
                                 cuda_compiled *compiled, runtime_report *report);
void cuda_compiled_free(base_allocator allocator, cuda_compiled *compiled);

/* ---- the log ---- */

/* The facts of the entry; spills of all functions together. False when a figure is missing. */
bool cuda_log_read(const char *log, const char *entry, runtime_facts *facts);
/* The lines that are no figures: warnings. */
void cuda_log_warnings(const char *log, runtime_report *report);

/* ---- the device ---- */

typedef struct cuda_device {
    runtime_device device;
    base_allocator allocator;
    cuda_driver driver;
    void *context;
    bool owns_context; /* the primary one was retained */
    int handle;        /* the driver's name of the device */
    runtime_cuda_facts facts;
    void *stream;
    runtime_cache *cache; /* NULL: none */
    bool has_nvrtc_path;
    char nvrtc_path[PATH_MAX];
    pthread_mutex_t lock; /* of what follows */
    cuda_compiler compiler;
    runtime_module *modules;
    void *pool; /* of workspaces; NULL: not made yet */
} cuda_device;

struct runtime_module {
    runtime_module *next;
    runtime_module *behind; /* the launch behind this one, by itself, without library, key and uses;
                               NULL: none */
    int64_t uses;
    void *library, *function;
    runtime_facts facts;
    int threads, cluster, pointer_count, word_count;
    int64_t scratch_bytes;
    bool overlaps;
    uint64_t hash;
    size_t key_size;
    char key[]; /* everything that decides what is loaded */
};

/* Between them the context is current on this thread. A failed enter needs no leave. */
runtime_status cuda_device_enter(const cuda_device *cuda, runtime_report *report);
void cuda_device_leave(const cuda_device *cuda);
/* The same for calls whose price is felt: where the context is current already, *entered is false
 * and nothing is to be left. */
runtime_status cuda_device_enter_once(const cuda_device *cuda, bool *entered,
                                      runtime_report *report);

/* Between them this thread may allocate and load while a stream of its is captured into a graph, of
 * which that becomes no part. The mode that was, which is given back; -1: the driver refused. */
int cuda_capture_relax(const cuda_device *cuda);
void cuda_capture_restore(const cuda_device *cuda, int mode);

/* As cuda_compiler_run with `fresh`, and where there is no cache; else the program may come from
 * the cache, which the report then says. */
runtime_status cuda_cache_compile(const cuda_device *cuda, const runtime_artifact *artifact,
                                  bool free_registers, bool fresh, cuda_compiled *compiled,
                                  runtime_report *report);

/* The vtable's entries. */
runtime_status cuda_module_load(runtime_device *device, const runtime_artifact *artifact,
                                runtime_module **module, runtime_report *report);
void cuda_module_unload(runtime_device *device, runtime_module *module);
bool cuda_module_facts(const runtime_device *device, const runtime_module *module, int launch,
                       runtime_facts *facts);
runtime_status cuda_launch(runtime_device *device, runtime_module *module,
                           const runtime_launch *launch, runtime_report *report);
int64_t cuda_launch_workspace(const runtime_device *device, const runtime_module *module,
                              const runtime_launch *launch);
bool cuda_stream_captures(const runtime_device *device, void *stream);

/* The bytes of the argument structure. */
enum { CUDA_ARGUMENT_BYTES_LIMIT = 32764 };

#endif
