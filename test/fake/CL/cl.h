/* The part of OpenCL's header that the program of docs/library.md uses, where the real one is not
 * installed. Handles are void *. */
#ifndef FAKE_CL_CL_H
#define FAKE_CL_CL_H

#include <stddef.h>
#include <stdint.h>

#define CL_MEM_READ_WRITE    UINT64_C(1)
#define CL_MEM_COPY_HOST_PTR UINT64_C(32)
#define CL_TRUE              1

typedef void *cl_mem;

cl_mem clCreateBuffer(void *context, uint64_t flags, size_t bytes, void *host, int32_t *error);
int32_t clReleaseMemObject(cl_mem memory);
int32_t clEnqueueReadBuffer(void *queue, cl_mem memory, uint32_t blocking, size_t offset,
                            size_t bytes, void *to, uint32_t count, void *const *events,
                            void **event);

#endif
