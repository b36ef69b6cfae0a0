/* The device `opencl`: emitted OpenCL C, compiled and started by an OpenCL 1.2 implementation.
 *
 *     libOpenCL.so.1     the loader, which finds the vendors' libraries in /etc/OpenCL/vendors
 *     libpocl.so.2       a vendor's library itself, where it is named: no .icd file is needed
 *
 * It is opened at run time, so the device is in every build. The text includes nothing and defines
 * for each launch of a dispatch a kernel
 *
 *     struct croft_words { long words[W]; long first; };
 *     __kernel __attribute__((reqd_work_group_size(T, 1, 1)))
 *     void ENTRY(__global f32 *x, ..., __global uchar *workspace,
 *                const struct croft_words arguments)
 *
 * whose group number is arguments.first + get_group_id(0); T is the artifact's threads, and the
 * memory of a group workspace + get_group_id(0) * workspace_bytes. The pointers of a launch are
 * cl_mem handles. A launch is cut into several where its workspaces would pass 256 MiB together or
 * its items 2^31 - 1.
 *
 * Of all devices of all platforms the first GPU is taken that has what kernels need, else the first
 * device at all. What a device lacks for that is said by name. Results are those of every other
 * device, so single precision has to have subnormals and correctly rounded division and roots.
 *
 * What a program needs and the device does not have is refused by `load`. Loading an equal artifact
 * again while the first is loaded gives the same module. Programs are not kept on disk.
 */
#ifndef RUNTIME_OPENCL_H
#define RUNTIME_OPENCL_H

#include "base/arena.h"
#include "runtime/device.h"

/* Zeroed: the system's loader, the first GPU that will do, else the first device, a context of its
 * own. The text is
 * read during create. */
typedef struct runtime_opencl_config {
    const char *library; /* the loader or a vendor's; NULL: the loader, looked for */
    /* cl_context and cl_device_id of the caller, which outlive the device and come from the same
     * library; both or neither. */
    void *context, *device;
    int index; /* without them: of the devices that will do, GPUs first */
} runtime_opencl_config;

typedef struct runtime_opencl_facts {
    int ordinal; /* among all devices, from 0; -1: the caller's */
    char platform[128], platform_version[128];
    char name[128], driver[64];
    const char *kind; /* gpu, cpu, accelerator, other */
    int processors;
    int threads_limit; /* of a group */
    int64_t memory_bytes, allocation_limit_bytes;
    int64_t scratch_limit_bytes;  /* of a group */
    int64_t argument_limit_bytes; /* of a launch */
    int64_t part_alignment_bytes; /* where parts of buffers may begin */
    char lacking[512];            /* what kernels need and it does not have, by name; "": nothing */
    const char *machine;          /* its row in machine/machine.h */
} runtime_opencl_facts;

enum { RUNTIME_OPENCL_DEVICES_LIMIT = 16 };

/* What there is. With RUNTIME_OK the report says what was opened, else what was looked for and why
 * it will not do. */
typedef struct runtime_opencl_system {
    runtime_report library;
    runtime_opencl_facts devices[RUNTIME_OPENCL_DEVICES_LIMIT];
    int device_count; /* those listed */
} runtime_opencl_system;

/* Makes no context. Of the config only `library` has a meaning here. */
void runtime_opencl_look(const runtime_opencl_config *config, runtime_opencl_system *system);

/* On failure *device is NULL. RUNTIME_NO_DEVICE: the report says what was looked for, what was
 * found and what it lacks. */
runtime_status runtime_opencl_create(base_allocator allocator, const runtime_opencl_config *config,
                                     runtime_device **device, runtime_report *report);

/* What a device works with: the caller's, or its own. They live as long as it. */
typedef struct runtime_opencl_handles {
    void *context, *device; /* cl_context, cl_device_id */
    void *queue;            /* its own, in order, of copies and of launches without a stream */
    const char *library;    /* that was opened */
} runtime_opencl_handles;

/* Of a device that runtime_opencl_create made. */
const runtime_opencl_facts *runtime_opencl_facts_of(const runtime_device *device);
runtime_opencl_handles runtime_opencl_handles_of(const runtime_device *device);

#endif
