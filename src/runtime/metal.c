/* No Metal: what a build has in place of the device. */
#include "runtime/metal.h"

#include <stddef.h>

runtime_status runtime_metal_create(base_allocator allocator, int index, runtime_device **device,
                                    runtime_report *report) {
    (void)allocator, (void)index;
    *device = NULL;
    return runtime_report_set(report, RUNTIME_NO_DEVICE,
                              "this build has no runtime for Metal: `croft emit` writes its text");
}

const runtime_metal_facts *runtime_metal_facts_of(const runtime_device *device) {
    (void)device;
    return NULL;
}
