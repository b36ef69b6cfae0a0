/* Memory of the device `opencl`: buffers are handles, and parts of them other handles.
 *
 *     buffer of 4096 bytes       space: the handle      address 0
 *     its part from 1024 on      space: the buffer's    address 1024
 *     made of host memory        space 0, the process   address: that of the memory
 *
 * So tensors of whatever handles can be compared, and their alignment is known: a device begins
 * buffers at its base alignment. Copies go over the device's own queue, which does not wait for the
 * caller's: who launched on a queue waits for it before copying.
 */
#include "runtime/opencl_internal.h"

typedef struct part_region {
    size_t origin, size;
} part_region;

runtime_status opencl_allocate(runtime_device *device, int64_t bytes, void **memory,
                               runtime_report *report) {
    const opencl_device *opencl = (opencl_device *)device;
    int error = 0;
    *memory = NULL;
    if (bytes < 0)
        return runtime_report_set(report, RUNTIME_NO_MEMORY, "a size does not fit 64 bits");
    if (bytes > opencl->facts.allocation_limit_bytes)
        return runtime_report_set(
            report, RUNTIME_NO_MEMORY, "bytes of a buffer: required %lld, available %lld",
            (long long)bytes, (long long)opencl->facts.allocation_limit_bytes);
    *memory = opencl->library.buffer_create(opencl->context, OPENCL_MEMORY_READ_WRITE,
                                            bytes > 0 ? (size_t)bytes : 1, NULL, &error);
    runtime_status status = opencl_status(error, "clCreateBuffer", report);
    if (status == RUNTIME_OK)
        return status;
    *memory = NULL;
    runtime_report_add(report, "; %lld bytes were wanted", (long long)bytes);
    return status;
}

void opencl_release(runtime_device *device, void *memory) {
    if (memory != NULL)
        ((opencl_device *)device)->library.memory_release(memory);
}

/* ---- where it lies ---- */

typedef struct memory_info {
    uint64_t flags;
    size_t bytes, offset;
    void *host, *context;
    void *whole; /* the buffer of which it is a part; NULL: of none */
} memory_info;

static runtime_status ask(const opencl_device *opencl, void *memory, memory_info *info,
                          runtime_report *report) {
    const struct {
        uint32_t what;
        void *value;
        size_t size;
    } asked[] = {
        {OPENCL_MEMORY_FLAGS, &info->flags, sizeof info->flags},
        {OPENCL_MEMORY_BYTES, &info->bytes, sizeof info->bytes},
        {OPENCL_MEMORY_HOST, &info->host, sizeof info->host},
        {OPENCL_MEMORY_CONTEXT, &info->context, sizeof info->context},
        {OPENCL_MEMORY_WHOLE, &info->whole, sizeof info->whole},
        {OPENCL_MEMORY_OFFSET, &info->offset, sizeof info->offset},
    };
    *info = (memory_info){0};
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        runtime_status status = opencl_status(
            opencl->library.memory_info(memory, asked[i].what, asked[i].size, asked[i].value, NULL),
            "clGetMemObjectInfo", report);
        if (status != RUNTIME_OK)
            return status;
    }
    return RUNTIME_OK;
}

runtime_status opencl_locate(runtime_device *device, void *memory, runtime_place *place,
                             runtime_report *report) {
    const opencl_device *opencl = (opencl_device *)device;
    memory_info info;
    *place = (runtime_place){.part_alignment = opencl->facts.part_alignment_bytes};
    if (memory == NULL)
        return RUNTIME_OK;
    runtime_status status = ask(opencl, memory, &info, report);
    if (status != RUNTIME_OK)
        return status;
    place->bytes = info.bytes < INT64_MAX ? (int64_t)info.bytes : INT64_MAX;
    place->foreign = info.context != opencl->context;
    place->read_only = (info.flags & OPENCL_MEMORY_READ_ONLY) != 0;
    place->write_only = (info.flags & OPENCL_MEMORY_WRITE_ONLY) != 0;
    if ((info.flags & OPENCL_MEMORY_USES_HOST) != 0 && info.host != NULL) {
        place->address = (uint64_t)(uintptr_t)info.host;
        return RUNTIME_OK;
    }
    place->space = (uint64_t)(uintptr_t)(info.whole != NULL ? info.whole : memory);
    place->address = info.offset;
    return RUNTIME_OK;
}

runtime_status opencl_part(runtime_device *device, void *memory, int64_t offset, int64_t bytes,
                           void **part, runtime_report *report) {
    const opencl_device *opencl = (opencl_device *)device;
    memory_info info;
    int error = 0;
    *part = NULL;
    if (offset < 0 || offset % opencl->facts.part_alignment_bytes != 0)
        return runtime_report_set(report, RUNTIME_SYSTEM_FAILED,
                                  "a part of a buffer begins at a multiple of %lld bytes on this "
                                  "device, and %lld is none",
                                  (long long)opencl->facts.part_alignment_bytes, (long long)offset);
    runtime_status status = ask(opencl, memory, &info, report);
    if (status != RUNTIME_OK)
        return status;
    if (offset == 0 && bytes >= 0 && (uint64_t)bytes == info.bytes) {
        status = opencl_status(opencl->library.memory_retain(memory), "clRetainMemObject", report);
        *part = status == RUNTIME_OK ? memory : NULL;
        return status;
    }
    part_region region = {.origin = info.offset + (size_t)offset,
                          .size = bytes > 0 ? (size_t)bytes : 1};
    *part = opencl->library.part_create(info.whole != NULL ? info.whole : memory, 0,
                                        OPENCL_PART_REGION, &region, &error);
    status = opencl_status(error, "clCreateSubBuffer", report);
    *part = status == RUNTIME_OK ? *part : NULL;
    return status;
}

/* ---- copies ---- */

runtime_status opencl_copy_in(runtime_device *device, void *to, const void *from, int64_t bytes,
                              runtime_report *report) {
    const opencl_device *opencl = (opencl_device *)device;
    if (bytes <= 0)
        return RUNTIME_OK;
    return opencl_status(
        opencl->library.write(opencl->queue, to, 1, 0, (size_t)bytes, from, 0, NULL, NULL),
        "clEnqueueWriteBuffer", report);
}

runtime_status opencl_copy_out(runtime_device *device, void *to, const void *from, int64_t bytes,
                               runtime_report *report) {
    const opencl_device *opencl = (opencl_device *)device;
    if (bytes <= 0)
        return RUNTIME_OK;
    return opencl_status(opencl->library.read(opencl->queue, (void *)(uintptr_t)from, 1, 0,
                                              (size_t)bytes, to, 0, NULL, NULL),
                         "clEnqueueReadBuffer", report);
}
