/* A CUDA driver and an NVRTC that only pretend: one library with the functions that Croft calls.
 *
 *     state = dlsym(dlopen(path), "fake_cuda"), and "fake_cuda_reset" for a device like an H200
 *     state->fail_at = 5; state->fail_with = 2;      the fifth call from now fails, out of memory
 *     state->launches[0].grid                        what was launched
 *
 * Device memory is memory of the process, and a launch runs `kernel`, a function of the test, when
 * there is one. Without a test, as a library that the command opens, FAKE_CUDA in the environment
 * says what a launch does to two f32[R, N]: `copy`, `overrun` (copies one element more), `unsteady`
 * (every third launch other elements), `lost` (fails with an illegal address), `spills` (copies but
 * the first two programs that are compiled spill), or which device there is: `none`, `old` (compute
 * capability 7.5). It checks what a real driver would only crash on: contexts are pushed and popped
 * in pairs, memory, streams, pools and modules are given back once, calls have a current context.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

enum { FAKE_LAUNCH_LIMIT = 64, FAKE_TEXT_LIMIT = 4096 };

typedef struct fake_launch {
    uint32_t grid[3], block[3], scratch_bytes, cluster, overlaps;
    void *stream, *function;
    uint64_t arguments[32];
} fake_launch;

typedef struct fake_cuda_state {
    void *caller_context, *caller_stream; /* what a caller may have made */
    int calls;                            /* of the driver and the compiler, error names left out */
    int fail_at;                          /* this call fails, counted from 1; 0: none */
    int fail_with;      /* the driver's error; NVRTC fails with 1 (memory) or 11 (internal) */
    const char *failed; /* the name of the call that failed */

    int driver_version, nvrtc_major, nvrtc_minor;
    int device_count, major, minor, device_threads, device_scratch, device_clusters;
    int init_error, lost; /* every launch fails */
    int function_threads, function_scratch, cluster_limit;
    const char *function_name; /* the one that is in every module */
    const char *log;           /* NULL: figures of the program that was compiled last */
    const char *free_log;      /* where registers need not be few; NULL: the same */
    int spilling;              /* so many compilations from now have registers that spill */
    int compile_error;
    int argument_words; /* copied of every launch */
    void (*kernel)(const uint64_t *arguments, uint32_t groups);

    char options[FAKE_TEXT_LIMIT]; /* of the last compilation, a space behind each */
    char text[FAKE_TEXT_LIMIT];
    int compiles;
    int live_programs, live_modules, live_streams, live_pools, live_memories, live_contexts;
    int64_t live_pool_bytes, pool_bytes_peak;
    int depth;     /* contexts that are current */
    int capturing; /* streams are captured: what a graph cannot have breaks a rule */
    int relaxed;   /* threads that may do all the same what a captured stream forbids */
    int loads;     /* functions that were loaded ahead */
    int pushes;    /* of contexts */
    int waits, copies;
    int broken_rules; /* see above */
    const char *broken;
    int launch_count;
    fake_launch launches[FAKE_LAUNCH_LIMIT];
} fake_cuda_state;

#endif
