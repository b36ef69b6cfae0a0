/* An OpenCL implementation that only pretends: one library with the functions that Croft calls.
 *
 *     state = dlsym(dlopen(path), "fake_opencl"), and "fake_opencl_reset" for a cpu and a gpu
 *     state->fail_at = 5; state->fail_with = -6;     the fifth call from now fails, out of memory
 *     state->launches[0].items                       what was launched
 *
 * It is built twice: as a loader, whose functions have names, and (fake_opencl_vendor) as a
 * vendor's library, which has clGetExtensionFunctionAddress alone; its objects point to a table of
 * functions. Memory of the device is memory of the process, and a launch runs `kernel`, a function
 * of the test, when there is one. Without a test, as a library that the command opens, FAKE_OPENCL
 * in the environment says which devices there are (`none`: no platform; `empty`: no device;
 * `lacking`: both lack something) and what a launch does to two f32[R, N]: `copy`, `overrun`
 * (copies one element more), `unsteady` (every third launch other elements), `lost` (fails); groups
 * are then of the size that the text asks for. It checks what an implementation would only crash
 * on: what is made is given back once, arguments are set by the thread that launches, parts lie
 * inside.
 */
#ifndef FAKE_OPENCL_H
#define FAKE_OPENCL_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_LAUNCH_LIMIT = 64, FAKE_TEXT_LIMIT = 4096, FAKE_ARGUMENT_LIMIT = 32 };

typedef struct fake_device {
    uint64_t kind, memory_bytes, allocation_bytes, scratch_bytes, single_config;
    uint32_t available, compiler, little_endian, address_bits, processors, alignment_bits;
    size_t threads, argument_bytes;
    const char *name, *version, *language, *profile;
} fake_device;

typedef struct fake_launch {
    size_t items, group;
    void *queue, *kernel;
    void *memories[FAKE_ARGUMENT_LIMIT]; /* those of its arguments */
    int64_t words[FAKE_ARGUMENT_LIMIT];  /* of the last argument */
    size_t word_bytes;
    int argument_count;
    int waits_for; /* number of the launch whose event it waits for; -1: none */
} fake_launch;

typedef struct fake_opencl_state {
    void *caller_context, *caller_queue; /* what a caller may have made */
    void *caller_device;                 /* number 0 */
    int calls, fail_at, fail_with;       /* as of fake_cuda.h */
    const char *failed;                  /* the name of the call that failed */

    int platform_count, device_count; /* of the one platform */
    fake_device devices[2];
    int build_error;
    int lost;   /* every launch fails, once it runs */
    void *host; /* where buffers of the caller's lie (CL_MEM_USE_HOST_PTR); NULL: elsewhere */
    const char *log;
    const char *kernel_name; /* the one that is in every program; NULL: any */
    size_t kernel_threads;
    size_t kernel_group; /* that the text asks for; 0: none */
    int reads_text;      /* kernel_group becomes what stands in it */
    uint64_t kernel_scratch;
    uint32_t kernel_arguments;
    void (*kernel)(const fake_launch *launch);

    char options[FAKE_TEXT_LIMIT];
    char text[FAKE_TEXT_LIMIT];
    int builds;
    int live_contexts, live_queues, live_memories, live_programs, live_kernels, live_events;
    int64_t bytes_peak, live_bytes; /* of buffers */
    int waits, flushes, copies;
    int broken_rules;
    const char *broken;
    int launch_count;
    fake_launch launches[FAKE_LAUNCH_LIMIT];
} fake_opencl_state;

#endif
