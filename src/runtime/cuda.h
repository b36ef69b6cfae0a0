/* The device `cuda`: emitted CUDA C++, compiled by NVRTC, started by the CUDA driver.
 *
 *     libcuda.so.1   opened when the device is made          (the driver's library)
 *     libnvrtc.so    opened by the first load                (.13 or .12, not past the driver's)
 *
 * Both are opened at run time, so the device is in every build. The text defines one function
 *
 *     struct croft_arguments { void *pointers[P]; long long words[W]; char *workspace;
 *                              long long first; };
 *     extern "C" __global__ void ENTRY(const croft_arguments a)
 *
 * whose group number is a.first + blockIdx.x; blockDim.x is the artifact's threads and the memory
 * of a group a.workspace + blockIdx.x * workspace_bytes. A launch is cut into several where its
 * workspaces would pass 256 MiB together or its groups the largest grid.
 *
 * An artifact's flags name the architecture (-arch=sm_90a); the language, the arithmetic (no
 * contraction, no flushing, exact division and root) and the log are set here and stand last.
 * Registers, spills and barriers are read from the compiler's log, and one that cannot be read is a
 * failure. What the device cannot run is refused by `load`. Loading an equal artifact again while
 * the first is loaded gives the same module. What a running program does wrong (an address that is
 * not there) is told by the launch that waits for it or a later call; the context is then lost, and
 * every further call says so.
 */
#ifndef RUNTIME_CUDA_H
#define RUNTIME_CUDA_H

#include "base/arena.h"
#include "runtime/cache.h"
#include "runtime/device.h"

#include <limits.h>

/* Zeroed: the system's libraries, device 0, its primary context. The texts are copied. */
typedef struct runtime_cuda_config {
    const char *driver; /* path of the driver's library; NULL: looked for */
    const char *nvrtc;  /* path of NVRTC; NULL: looked for */
    void *context;      /* CUcontext of the caller, which outlives the device; NULL: the primary
                           context of device `ordinal` */
    int ordinal;
    runtime_cache *cache; /* where machine code is kept; it outlives the device. NULL: nowhere */
} runtime_cuda_config;

typedef struct runtime_cuda_facts {
    int ordinal;
    char name[128];
    int major, minor; /* compute capability */
    int processors;
    int threads_limit; /* of a group */
    int64_t memory_bytes;
    int64_t scratch_limit_bytes; /* of a group */
    bool clusters;
    const char *machine; /* its row in machine/machine.h; NULL: it has none */
} runtime_cuda_facts;

enum { RUNTIME_CUDA_DEVICES_LIMIT = 16 };

/* What there is. With RUNTIME_OK a report's text says what was found and where, else what was
 * looked for and why it will not do. */
typedef struct runtime_cuda_system {
    runtime_report driver, compiler;
    runtime_cuda_facts devices[RUNTIME_CUDA_DEVICES_LIMIT];
    int device_count; /* those listed */
} runtime_cuda_system;

/* Makes no context. `context` and `ordinal` of the config have no meaning here. */
void runtime_cuda_look(const runtime_cuda_config *config, runtime_cuda_system *system);

/* On failure *device is NULL. RUNTIME_NO_DEVICE: the report says what was looked for and what was
 * found. */
runtime_status runtime_cuda_create(base_allocator allocator, const runtime_cuda_config *config,
                                   runtime_device **device, runtime_report *report);

/* Of a device that runtime_cuda_create made. */
const runtime_cuda_facts *runtime_cuda_facts_of(const runtime_device *device);

#endif
