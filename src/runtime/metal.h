/* The device `metal`: emitted MSL, on the GPU of a Mac. Where a build has no Metal there is none.
 *
 * The text includes <metal_stdlib> and defines for each launch of a dispatch a kernel
 *
 *     struct croft_words { long words[W]; long first; };
 *     [[max_total_threads_per_threadgroup(T)]]
 *     kernel void ENTRY(device f32 *x [[buffer(0)]], ..., device uchar *workspace [[buffer(P)]],
 *                       constant struct croft_words &arguments [[buffer(P + 1)]],
 *                       threadgroup uint4 *shared [[threadgroup(0)]], ...)
 *
 * whose group number is arguments.first + its place in the grid; T is the artifact's threads,
 * `shared` the artifact's scratch_bytes, which stands there where they are not 0, and the memory of
 * a group workspace + its place * workspace_bytes.
 */
#ifndef RUNTIME_METAL_H
#define RUNTIME_METAL_H

#include "base/arena.h"
#include "runtime/device.h"

typedef struct runtime_metal_facts {
    const char *name;    /* of the device */
    const char *machine; /* its row in machine/machine.h */
} runtime_metal_facts;

/* Device number `index` of the system. */
runtime_status runtime_metal_create(base_allocator allocator, int index, runtime_device **device,
                                    runtime_report *report);

const runtime_metal_facts *runtime_metal_facts_of(const runtime_device *device);

#endif
