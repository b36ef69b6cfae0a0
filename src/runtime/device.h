/* Devices: one small table of functions for everything that can run emitted programs.
 *
 *     device = runtime_cpu_create(allocator, &config)
 *     device->vtable->load(device, &artifact, &module, &report)
 *     device->vtable->launch(device, module, &launch, &report)      as often as wanted
 *     device->vtable->unload(device, module)
 *     device->vtable->destroy(device)
 *
 * Arrays lie in memory that the device can reach. For `cpu` that is any memory of the process; a
 * device with memory of its own has the hooks allocate, release, copy_in and copy_out, and the
 * pointers of a launch are what allocate gave. Those of `opencl` are handles: the hooks locate and
 * part do for them what adding to an address does elsewhere. Drivers are opened by the device's
 * create function and never linked.
 */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include "runtime/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct runtime_module runtime_module; /* one loaded program; each device has its own */
typedef struct runtime_device runtime_device;

/* A launch of a dispatch that has several, behind the first. */
typedef struct runtime_entry {
    const char *name; /* this and the others as in runtime_artifact */
    int threads, cluster;
    int64_t scratch_bytes;
} runtime_entry;

/* How much it is, for devices that start groups of threads. */
typedef struct runtime_size {
    int64_t groups, workspace_bytes; /* as in runtime_launch */
} runtime_size;

/* What is loaded. Read during `load` only. */
typedef struct runtime_artifact {
    const char *text; /* source: C for cpu, CUDA C++ for cuda, OpenCL C for opencl */
    size_t length;
    const char *entry;        /* the name of the entry function */
    const char *const *flags; /* of the target, NULL-terminated; NULL: none */
    /* Devices that start groups of threads; 0 for cpu. */
    int threads;                   /* of a group; for cuda whole subgroups */
    int cluster;                   /* groups that run together; 0 and 1: none */
    bool overlaps;                 /* each of its launches waits itself for those in front */
    int pointer_count, word_count; /* of every launch */
    int64_t scratch_bytes;         /* of a group, beyond what the text itself declares */
    /* A dispatch of several launches: those behind the first, in the order in which they run, in
     * the same text and with the same arguments. */
    const runtime_entry *behind;
    int behind_count;
    bool allow_spills; /* else a program whose registers spill is RUNTIME_COMPILE_FAILED */
} runtime_artifact;

/* What the device's compiler says of a loaded program, from its log and not from a guess; -1: it
 * does not say. */
typedef struct runtime_facts {
    const char *from;      /* who said so: "ptxas", or the device; lives as long as that */
    int registers;         /* of a thread */
    int64_t stack_bytes;   /* of a thread */
    int64_t spill_bytes;   /* stores and loads together, of a thread */
    int64_t scratch_bytes; /* of a group */
    int barriers;
    int threads_limit; /* of a group, for this program on this device */
} runtime_facts;

/* For work_ns: bytes of tensors that one thread is taken to work through in a nanosecond. */
enum { RUNTIME_BYTES_PER_NS = 8 };

/* The arguments of one launch, packed once and used as often as wanted. Read during `launch`. */
typedef struct runtime_launch {
    void *const *pointers; /* one for each tensor parameter, in order */
    /* All sizes in the module's order; then for each tensor its strides in elements, one for each
     * axis; then the scalar parameters, each with the bits of its element type in the low bytes of
     * one word and zeros above. */
    const int64_t *words;
    /* Predicted time on one thread; below 8,000 the launch stays on the calling thread. */
    double work_ns;
    /* Devices that start groups of threads; cpu counts for itself. */
    int64_t groups;
    int64_t workspace_bytes;    /* that each running group needs */
    const runtime_size *behind; /* of the launches behind the first: as many as were loaded */
    /* Memory of the device, of as many bytes as the hook `workspace` says, that this launch alone
     * uses until it has ended; NULL: the launch takes its own. */
    void *workspace;
    /* Of the caller (a CUstream, a cl_command_queue), on which the launch is put, which then
     * returns before the outputs are written; NULL: the device's own, and it waits. */
    void *stream;
} runtime_launch;

/* Where memory lies that a handle stands for. */
typedef struct runtime_place {
    uint64_t space;             /* of which the address is one; 0: that of the process */
    uint64_t address;           /* of its first byte */
    int64_t bytes;              /* that there are */
    int64_t part_alignment;     /* of the addresses where parts may begin; 1: anywhere */
    bool foreign;               /* of another context than the device's: no launch reaches it */
    bool read_only, write_only; /* for launches */
} runtime_place;

enum {
    RUNTIME_MEMORY_CPU = 1,
    RUNTIME_MEMORY_CUDA = 2,
    RUNTIME_MEMORY_OPENCL = 4,
    RUNTIME_MEMORY_METAL = 8
};

/* Every hook is there unless it says so. All but `destroy` may be called from several threads at
 * once. */
typedef struct runtime_device_vtable {
    const char *name; /* as in --target */
    int memory;       /* that its pointers are of: RUNTIME_MEMORY_*, DLPack's numbers */

    /* On failure *module is NULL. On success the report holds the compiler's warnings. */
    runtime_status (*load)(runtime_device *device, const runtime_artifact *artifact,
                           runtime_module **module, runtime_report *report);

    /* No launch of the module may be in progress. NULL is allowed. */
    void (*unload)(runtime_device *device, runtime_module *module);

    /* Runs the launches of the module in their order, each after the one before has ended. Returns
     * when the outputs are written. A launch of no groups writes nothing and is fine. A
     * failure is told before anything is written. Only a failure touches the report. */
    runtime_status (*launch)(runtime_device *device, runtime_module *module,
                             const runtime_launch *launch, runtime_report *report);

    /* Bytes that groups of the launch need together at any time; 0: none, or a number that no
     * memory has, which the launch tells. NULL: launches take what they need. */
    int64_t (*workspace)(const runtime_device *device, const runtime_module *module,
                         const runtime_launch *launch);
    /* Whether the stream of the caller is being captured into a graph, which keeps what a launch
     * was given. NULL: there is no such thing. */
    bool (*captures)(const runtime_device *device, void *stream);

    /* What is known of launch number `launch` of a loaded program; false: there is none. NULL: this
     * device has no such facts. */
    bool (*facts)(const runtime_device *device, const runtime_module *module, int launch,
                  runtime_facts *facts);

    /* Memory of the device, aligned to 128 bytes at least; all four are NULL where that of the
     * process is meant. Copies return when they are done. */
    runtime_status (*allocate)(runtime_device *device, int64_t bytes, void **memory,
                               runtime_report *report);
    void (*release)(runtime_device *device, void *memory);
    runtime_status (*copy_in)(runtime_device *device, void *to, const void *from, int64_t bytes,
                              runtime_report *report);
    runtime_status (*copy_out)(runtime_device *device, void *to, const void *from, int64_t bytes,
                               runtime_report *report);

    /* Where pointers are handles; both are NULL where they are addresses. A part is memory of its
     * own that begins `offset` bytes behind the beginning, and is given back with `release` before
     * the whole is. */
    runtime_status (*locate)(runtime_device *device, void *memory, runtime_place *place,
                             runtime_report *report);
    runtime_status (*part)(runtime_device *device, void *memory, int64_t offset, int64_t bytes,
                           void **part, runtime_report *report);

    /* All its modules are unloaded. NULL is allowed. */
    void (*destroy)(runtime_device *device);
} runtime_device_vtable;

/* The beginning of every device. */
struct runtime_device {
    const runtime_device_vtable *vtable;
};

#endif
