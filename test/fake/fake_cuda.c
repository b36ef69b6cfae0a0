/* The pretended CUDA driver and NVRTC of fake_cuda.h. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { POOL_HEAD = 256 };

EXPORT fake_cuda_state fake_cuda;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
enum { DEPTH_LIMIT = 16 };
static __thread int depth;        /* of this thread */
static __thread int capture_mode; /* of this thread; 2: relaxed */
static __thread void *contexts[DEPTH_LIMIT];

static char driver_handle[16]; /* its address stands for contexts, functions and streams */

static void *handle(int number) {
    return &driver_handle[number];
}

static const char log_text[] =
    "ptxas info    : 0 bytes gmem\n"
    "ptxas info    : Compiling entry function '%s' for 'sm_90a'\n"
    "ptxas info    : Function properties for %s\n"
    "ptxas         .     16 bytes stack frame, %d bytes spill stores, 0 bytes spill loads\n"
    "ptxas info    : Used 32 registers, used 1 barriers, 16 bytes cumulative stack size, "
    "1024 bytes smem\n"
    "ptxas info    : Compile time = 3.305 ms\n";
static char log_room[FAKE_TEXT_LIMIT];

/* arguments: x, y, R, N, ... */
static void copy_elements(const uint64_t *arguments, uint64_t more) {
    float *to = (float *)(uintptr_t)arguments[1];
    const float *from = (const float *)(uintptr_t)arguments[0];
    for (uint64_t i = 0; i < arguments[2] * arguments[3]; i++)
        to[i] = from[i];
    for (uint64_t i = 0; i < more; i++)
        to[arguments[2] * arguments[3] + i] = 7.0f;
}

static void copy(const uint64_t *arguments, uint32_t groups) {
    (void)groups;
    copy_elements(arguments, 0);
}

static void overrun(const uint64_t *arguments, uint32_t groups) {
    (void)groups;
    copy_elements(arguments, 1);
}

static void unsteady(const uint64_t *arguments, uint32_t groups) {
    copy(arguments, groups);
    if (fake_cuda.launch_count % 3 == 0)
        ((float *)(uintptr_t)arguments[1])[1] = 7.0f;
}

EXPORT void fake_cuda_reset(void);

EXPORT __attribute__((constructor)) void fake_cuda_reset(void) {
    fake_cuda = (fake_cuda_state){.caller_context = handle(2),
                                  .caller_stream = handle(8),
                                  .driver_version = 13000,
                                  .nvrtc_major = 13,
                                  .device_count = 2,
                                  .major = 9,
                                  .device_threads = 1024,
                                  .device_scratch = 232448,
                                  .device_clusters = 1,
                                  .function_threads = 1024,
                                  .function_scratch = 1024,
                                  .cluster_limit = 8};
    const char *word = getenv("FAKE_CUDA");
    word = word != NULL ? word : "";
    fake_cuda.spilling = strcmp(word, "spills") == 0 ? 2 : 0;
    fake_cuda.kernel = strcmp(word, "copy") == 0       ? copy
                       : strcmp(word, "spills") == 0   ? copy
                       : strcmp(word, "overrun") == 0  ? overrun
                       : strcmp(word, "unsteady") == 0 ? unsteady
                                                       : NULL;
    fake_cuda.lost = strcmp(word, "lost") == 0;
    if (strcmp(word, "none") == 0)
        fake_cuda.init_error = 100;
    if (strcmp(word, "old") == 0)
        fake_cuda.major = 7;
}

static void rule(int holds, const char *what) {
    if (!holds) {
        fake_cuda.broken_rules++;
        fake_cuda.broken = what;
    }
}

/* Counts a call; the error it is to give. */
static int called(const char *name) {
    pthread_mutex_lock(&lock);
    int fails = ++fake_cuda.calls == fake_cuda.fail_at;
    if (fails)
        fake_cuda.failed = name;
    pthread_mutex_unlock(&lock);
    return fails ? fake_cuda.fail_with : 0;
}

static int called_in_context(const char *name) {
    rule(depth > 0, name);
    return called(name);
}

/* What a stream that is captured forbids to the thread, unless its mode is relaxed. */
static int called_without_capture(const char *name) {
    int forbidden = fake_cuda.capturing && capture_mode != 2;
    rule(!forbidden, name);
    int error = called_in_context(name);
    return forbidden ? 900 : error;
}

static void add(int *counter, int number) {
    pthread_mutex_lock(&lock);
    *counter += number;
    rule(*counter >= 0, "given back more often than taken");
    pthread_mutex_unlock(&lock);
}

#define CALL(name)                                                                                 \
    do {                                                                                           \
        int error_ = called(name);                                                                 \
        if (error_ != 0)                                                                           \
            return error_;                                                                         \
    } while (0)
#define CALL_IN_CONTEXT(name)                                                                      \
    do {                                                                                           \
        int error_ = called_in_context(name);                                                      \
        if (error_ != 0)                                                                           \
            return error_;                                                                         \
    } while (0)

#define CALL_WITHOUT_CAPTURE(name)                                                                 \
    do {                                                                                           \
        int error_ = called_without_capture(name);                                                 \
        if (error_ != 0)                                                                           \
            return error_;                                                                         \
    } while (0)

/* ---- the driver ---- */

EXPORT int cuInit(unsigned flags) {
    CALL("cuInit");
    rule(flags == 0, "cuInit takes no flags");
    return fake_cuda.init_error;
}

EXPORT int cuDriverGetVersion(int *version) {
    CALL("cuDriverGetVersion");
    *version = fake_cuda.driver_version;
    return 0;
}

EXPORT int cuGetErrorName(int error, const char **name) {
    *name = error == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
            : error == 100 ? "CUDA_ERROR_NO_DEVICE"
            : error == 209 ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
            : error == 500 ? "CUDA_ERROR_NOT_FOUND"
            : error == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                           : NULL;
    return *name != NULL ? 0 : 1;
}

EXPORT int cuGetErrorString(int error, const char **text) {
    *text = error == 2 ? "out of memory" : error == 700 ? "an illegal memory access" : NULL;
    return *text != NULL ? 0 : 1;
}

EXPORT int cuDeviceGetCount(int *count) {
    CALL("cuDeviceGetCount");
    *count = fake_cuda.device_count;
    return 0;
}

EXPORT int cuDeviceGet(int *device, int ordinal) {
    CALL("cuDeviceGet");
    *device = ordinal;
    return ordinal < fake_cuda.device_count ? 0 : 101;
}

EXPORT int cuDeviceGetName(char *name, int size, int device) {
    CALL("cuDeviceGetName");
    snprintf(name, (size_t)size, "Pretended %d", device);
    return 0;
}

EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
    CALL("cuDeviceGetAttribute");
    (void)device;
    *value = attribute == 1     ? fake_cuda.device_threads
             : attribute == 16  ? 132
             : attribute == 75  ? fake_cuda.major
             : attribute == 76  ? fake_cuda.minor
             : attribute == 97  ? fake_cuda.device_scratch
             : attribute == 120 ? fake_cuda.device_clusters
                                : -1;
    return *value >= 0 ? 0 : 1;
}

EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    CALL("cuDeviceTotalMem");
    (void)device;
    *bytes = (size_t)1 << 37;
    return 0;
}

EXPORT int cuDevicePrimaryCtxRetain(void **context, int device) {
    CALL("cuDevicePrimaryCtxRetain");
    (void)device;
    *context = handle(1);
    add(&fake_cuda.live_contexts, 1);
    return 0;
}

EXPORT int cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    add(&fake_cuda.live_contexts, -1);
    CALL("cuDevicePrimaryCtxRelease");
    return 0;
}

EXPORT int cuCtxPushCurrent_v2(void *context) {
    CALL("cuCtxPushCurrent");
    rule(context == handle(1) || context == handle(2), "an unknown context");
    rule(depth < DEPTH_LIMIT, "contexts are pushed and not popped");
    contexts[depth++] = context;
    add(&fake_cuda.depth, 1);
    add(&fake_cuda.pushes, 1);
    return 0;
}

EXPORT int cuCtxPopCurrent_v2(void **context) {
    rule(depth > 0, "popped without a push");
    depth--;
    add(&fake_cuda.depth, -1);
    *context = contexts[depth];
    CALL("cuCtxPopCurrent");
    return 0;
}

EXPORT int cuCtxGetCurrent(void **context) {
    CALL("cuCtxGetCurrent");
    *context = depth > 0 ? contexts[depth - 1] : NULL;
    return 0;
}

EXPORT int cuCtxGetDevice(int *device) {
    CALL_IN_CONTEXT("cuCtxGetDevice");
    *device = 0;
    return 0;
}

EXPORT int cuStreamCreate(void **stream, unsigned flags) {
    CALL_WITHOUT_CAPTURE("cuStreamCreate");
    rule(flags == 1, "the stream waits for the caller's");
    *stream = handle(3);
    add(&fake_cuda.live_streams, 1);
    return 0;
}

EXPORT int cuStreamDestroy_v2(void *stream) {
    rule(stream == handle(3), "an unknown stream");
    add(&fake_cuda.live_streams, -1);
    CALL_IN_CONTEXT("cuStreamDestroy");
    return 0;
}

EXPORT int cuStreamSynchronize(void *stream) {
    CALL_WITHOUT_CAPTURE("cuStreamSynchronize");
    rule(stream == handle(3), "waits for a stream that is not its own");
    add(&fake_cuda.waits, 1);
    return 0;
}

EXPORT int cuStreamIsCapturing(void *stream, int *status) {
    CALL_IN_CONTEXT("cuStreamIsCapturing");
    rule(stream != NULL, "asks about no stream");
    *status = fake_cuda.capturing;
    return 0;
}

EXPORT int cuThreadExchangeStreamCaptureMode(int *mode) {
    CALL_IN_CONTEXT("cuThreadExchangeStreamCaptureMode");
    rule(*mode >= 0 && *mode <= 2, "a capture mode");
    int before = capture_mode;
    capture_mode = *mode;
    if ((before == 2) != (capture_mode == 2))
        add(&fake_cuda.relaxed, capture_mode == 2 ? 1 : -1);
    *mode = before;
    return 0;
}

EXPORT int cuMemAlloc_v2(uint64_t *memory, size_t bytes) {
    CALL_WITHOUT_CAPTURE("cuMemAlloc");
    rule(bytes > 0, "no bytes are allocated");
    void *taken = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (taken == NULL)
        return 2;
    memset(taken, 0xa5, bytes);
    *memory = (uint64_t)(uintptr_t)taken;
    add(&fake_cuda.live_memories, 1);
    return 0;
}

EXPORT int cuMemFree_v2(uint64_t memory) {
    free((void *)(uintptr_t)memory);
    add(&fake_cuda.live_memories, -1);
    CALL_WITHOUT_CAPTURE("cuMemFree");
    return 0;
}

EXPORT int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
    CALL_WITHOUT_CAPTURE("cuMemcpyHtoDAsync");
    rule(stream == handle(3), "copies over a stream that is not its own");
    memcpy((void *)(uintptr_t)to, from, bytes);
    add(&fake_cuda.copies, 1);
    return 0;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
    CALL_WITHOUT_CAPTURE("cuMemcpyDtoHAsync");
    rule(stream == handle(3), "copies over a stream that is not its own");
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    add(&fake_cuda.copies, 1);
    return 0;
}

EXPORT int cuMemPoolCreate(void **pool, const int32_t *config) {
    CALL_WITHOUT_CAPTURE("cuMemPoolCreate");
    rule(config[0] == 1 && config[1] == 0 && config[2] == 1 && config[3] == 0,
         "the pool is not of pinned memory of device 0");
    *pool = handle(4);
    add(&fake_cuda.live_pools, 1);
    return 0;
}

EXPORT int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
    CALL_IN_CONTEXT("cuMemPoolSetAttribute");
    rule(pool == handle(4) && attribute == 4 && *(uint64_t *)value == UINT64_MAX,
         "the pool does not keep its memory");
    return 0;
}

EXPORT int cuMemPoolDestroy(void *pool) {
    rule(pool == handle(4), "an unknown pool");
    add(&fake_cuda.live_pools, -1);
    CALL_IN_CONTEXT("cuMemPoolDestroy");
    return 0;
}

/* Of real memory only a head is taken: workspaces of tests are large. */
EXPORT int cuMemAllocFromPoolAsync(uint64_t *memory, size_t bytes, void *pool, void *stream) {
    CALL_WITHOUT_CAPTURE("cuMemAllocFromPoolAsync");
    rule(pool == handle(4) && stream != NULL, "an unknown pool or stream");
    int64_t *taken = aligned_alloc(256, POOL_HEAD);
    if (taken == NULL)
        return 2;
    *taken = (int64_t)bytes;
    pthread_mutex_lock(&lock);
    fake_cuda.live_pool_bytes += (int64_t)bytes;
    if (fake_cuda.live_pool_bytes > fake_cuda.pool_bytes_peak)
        fake_cuda.pool_bytes_peak = fake_cuda.live_pool_bytes;
    pthread_mutex_unlock(&lock);
    *memory = (uint64_t)(uintptr_t)taken;
    return 0;
}

EXPORT int cuMemFreeAsync(uint64_t memory, void *stream) {
    int64_t *taken = (int64_t *)(uintptr_t)memory;
    rule(stream != NULL, "freed on no stream");
    pthread_mutex_lock(&lock);
    fake_cuda.live_pool_bytes -= *taken;
    pthread_mutex_unlock(&lock);
    free(taken);
    CALL_IN_CONTEXT("cuMemFreeAsync");
    return 0;
}

EXPORT int cuModuleLoadData(void **module, const void *image) {
    CALL_WITHOUT_CAPTURE("cuModuleLoadData");
    rule(strcmp(image, "pretended code") == 0, "not what the compiler gave");
    *module = handle(5);
    add(&fake_cuda.live_modules, 1);
    return 0;
}

EXPORT int cuModuleUnload(void *module) {
    rule(module == handle(5), "an unknown module");
    add(&fake_cuda.live_modules, -1);
    CALL_IN_CONTEXT("cuModuleUnload");
    return 0;
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name) {
    CALL_IN_CONTEXT("cuModuleGetFunction");
    rule(module == handle(5), "an unknown module");
    *function = handle(6);
    const char *known = fake_cuda.function_name;
    return known == NULL || strcmp(known, name) == 0 ? 0 : 500;
}

EXPORT int cuFuncLoad(void *function) {
    CALL_WITHOUT_CAPTURE("cuFuncLoad");
    rule(function == handle(6), "an unknown function");
    add(&fake_cuda.loads, 1);
    return 0;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function) {
    CALL_IN_CONTEXT("cuFuncGetAttribute");
    rule(function == handle(6), "an unknown function");
    *value = attribute == 0   ? fake_cuda.function_threads
             : attribute == 1 ? fake_cuda.function_scratch
                              : -1;
    return *value >= 0 ? 0 : 1;
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value) {
    CALL_IN_CONTEXT("cuFuncSetAttribute");
    int asked = attribute == 8 && value > 0, large = attribute == 14 && value == 1;
    rule(function == handle(6) && (asked || large), "not the asked scratch, nor large clusters");
    return 0;
}

EXPORT int cuOccupancyMaxPotentialClusterSize(int *size, void *function, const void *config) {
    CALL_WITHOUT_CAPTURE("cuOccupancyMaxPotentialClusterSize");
    rule(function == handle(6) && config != NULL, "an unknown function");
    *size = fake_cuda.cluster_limit;
    return 0;
}

/* As the driver lays it out. */
typedef struct launch_config {
    uint32_t grid[3], block[3], scratch_bytes;
    void *stream;
    const uint32_t *attributes; /* of so many words each: kind, nothing, value */
    uint32_t attribute_count;
} launch_config;

enum { ATTRIBUTE_WORDS = 18 };

static int launch(const launch_config *config, void *function, void **parameters, void **extra) {
    if (fake_cuda.lost)
        return 700;
    rule(!fake_cuda.capturing || fake_cuda.loads > 0, "a function is loaded by its first launch");
    rule(function == handle(6) && extra == NULL && config->stream != NULL, "an unknown function");
    rule(config->grid[1] == 1 && config->grid[2] == 1 && config->block[1] == 1 &&
             config->block[2] == 1,
         "only x has an extent");
    fake_launch launch = {.scratch_bytes = config->scratch_bytes,
                          .cluster = 1,
                          .stream = config->stream,
                          .function = function};
    memcpy(launch.grid, config->grid, sizeof launch.grid);
    memcpy(launch.block, config->block, sizeof launch.block);
    for (uint32_t i = 0; i < config->attribute_count; i++) {
        const uint32_t *attribute = config->attributes + i * ATTRIBUTE_WORDS;
        rule(attribute[0] == 4 || attribute[0] == 6, "an unknown attribute of a launch");
        *(attribute[0] == 4 ? &launch.cluster : &launch.overlaps) = attribute[2];
    }
    rule(config->grid[0] % launch.cluster == 0, "groups are left over");
    memcpy(launch.arguments, parameters[0], 8 * (size_t)fake_cuda.argument_words);
    pthread_mutex_lock(&lock);
    if (fake_cuda.launch_count < FAKE_LAUNCH_LIMIT)
        fake_cuda.launches[fake_cuda.launch_count] = launch;
    fake_cuda.launch_count++;
    pthread_mutex_unlock(&lock);
    if (fake_cuda.kernel != NULL)
        fake_cuda.kernel(parameters[0], config->grid[0]);
    return 0;
}

EXPORT int cuLaunchKernelEx(const launch_config *config, void *function, void **parameters,
                            void **extra) {
    CALL_IN_CONTEXT("cuLaunchKernelEx");
    return launch(config, function, parameters, extra);
}

EXPORT int cuLaunchKernel(void *function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                          uint32_t block_x, uint32_t block_y, uint32_t block_z,
                          uint32_t scratch_bytes, void *stream, void **parameters, void **extra) {
    const launch_config config = {.grid = {grid_x, grid_y, grid_z},
                                  .block = {block_x, block_y, block_z},
                                  .scratch_bytes = scratch_bytes,
                                  .stream = stream};
    CALL_IN_CONTEXT("cuLaunchKernel");
    return launch(&config, function, parameters, extra);
}

/* ---- NVRTC ---- */

static const char code[] = "pretended code";

/* The errors of the compiler are others. */
#define COMPILER_CALL(name)                                                                        \
    do {                                                                                           \
        int error_ = called(name);                                                                 \
        if (error_ != 0)                                                                           \
            return error_ == 2 ? 1 : 11;                                                           \
    } while (0)

EXPORT int nvrtcVersion(int *major, int *minor) {
    COMPILER_CALL("nvrtcVersion");
    *major = fake_cuda.nvrtc_major;
    *minor = fake_cuda.nvrtc_minor;
    return 0;
}

EXPORT const char *nvrtcGetErrorString(int error) {
    return error == 1 ? "NVRTC_ERROR_OUT_OF_MEMORY" : error == 6 ? "NVRTC_ERROR_COMPILATION" : "?";
}

EXPORT int nvrtcCreateProgram(void **program, const char *text, const char *name, int headers,
                              const char *const *header_texts, const char *const *header_names) {
    COMPILER_CALL("nvrtcCreateProgram");
    rule(headers == 0 && header_texts == NULL && header_names == NULL && name != NULL,
         "a text stands alone");
    pthread_mutex_lock(&lock);
    snprintf(fake_cuda.text, sizeof fake_cuda.text, "%s", text);
    snprintf(log_room, sizeof log_room, log_text, name, name, fake_cuda.spilling > 0 ? 8 : 0);
    fake_cuda.spilling -= fake_cuda.spilling > 0;
    pthread_mutex_unlock(&lock);
    *program = handle(7);
    add(&fake_cuda.live_programs, 1);
    return 0;
}

EXPORT int nvrtcCompileProgram(void *program, int count, const char *const *options) {
    COMPILER_CALL("nvrtcCompileProgram");
    rule(program == handle(7), "an unknown program");
    pthread_mutex_lock(&lock);
    size_t length = 0;
    fake_cuda.options[0] = '\0';
    for (int i = 0; i < count && length < sizeof fake_cuda.options; i++)
        length += (size_t)snprintf(fake_cuda.options + length, sizeof fake_cuda.options - length,
                                   "%s ", options[i]);
    fake_cuda.compiles++;
    pthread_mutex_unlock(&lock);
    return fake_cuda.compile_error;
}

static const char *log_now(void) {
    if (fake_cuda.free_log != NULL && strstr(fake_cuda.options, "-DGROUPS=, 1 ") != NULL)
        return fake_cuda.free_log;
    return fake_cuda.log != NULL ? fake_cuda.log : log_room;
}

EXPORT int nvrtcGetProgramLogSize(void *program, size_t *size) {
    COMPILER_CALL("nvrtcGetProgramLogSize");
    (void)program;
    *size = strlen(log_now()) + 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(void *program, char *log) {
    COMPILER_CALL("nvrtcGetProgramLog");
    (void)program;
    strcpy(log, log_now());
    return 0;
}

EXPORT int nvrtcGetCUBINSize(void *program, size_t *size) {
    COMPILER_CALL("nvrtcGetCUBINSize");
    (void)program;
    *size = sizeof code;
    return 0;
}

EXPORT int nvrtcGetCUBIN(void *program, char *out) {
    COMPILER_CALL("nvrtcGetCUBIN");
    (void)program;
    memcpy(out, code, sizeof code);
    return 0;
}

EXPORT int nvrtcDestroyProgram(void **program) {
    rule(*program == handle(7), "an unknown program");
    *program = NULL;
    add(&fake_cuda.live_programs, -1);
    COMPILER_CALL("nvrtcDestroyProgram");
    return 0;
}
