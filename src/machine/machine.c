/* The machine table. A new machine is a row here.
 *
 * Sizes are documented by the makers: 1024 threads a group; 163 and 227 KiB of shared memory that a
 * block can opt in to (compute capability 8.0 and 9.0); 32 KiB of threadgroup memory and SIMD
 * groups of 32 on Apple GPUs. A cpu has no scratch of its own: 256 KiB stay in the second-level
 * cache.
 *
 * Costs are ESTIMATES until they are measured here, in cycles that one subgroup keeps its core
 * (multiprocessor) busy, other subgroups hiding the latency:
 *   cuda   documented throughputs of a multiprocessor a cycle: 32 lanes of shuffle, 64 of select,
 *          128 bytes of shared memory. `barrier` is no documented number: the part of a
 *          write-barrier-read round trip (about 20 cycles each for the access and the barrier) that
 *          is taken not to be hidden; 16 makes scratch overtake shuffles at about 8 registers.
 *   metal  no maker's numbers: the same shape, a shuffle twice as dear; 32 banks assumed.
 *   cpu    a shuffle is one permute of a register, a select one blend; a scratch access is one
 *          scalar access for each lane (gathers and scatters are no faster), there are no banks and
 *          lanes in lock step need no barrier.
 */
#include "machine/machine.h"

#include <stddef.h>
#include <string.h>

#define KIB(n) ((int64_t)(n)*1024)

static const machine machines[] = {
    {.name = "cpu-avx512",
     .target = "cpu",
     .subgroup = 16,
     .compiler_flags = "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c "
                       "-mprefer-vector-width=512",
     .lanes_limit = 1024,
     .row_subgroups = 1,
     .scratch_bytes = KIB(256),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 16,
               .load = 8,
               .wave = 0,
               .barrier = 0,
               .banks = 1,
               .scratch_bytes = KIB(256)}},
    {.name = "cpu-avx2",
     .target = "cpu",
     .subgroup = 8,
     .compiler_flags = "-mavx2 -mfma -mf16c",
     .lanes_limit = 1024,
     .row_subgroups = 1,
     .scratch_bytes = KIB(256),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 8,
               .load = 4,
               .wave = 0,
               .barrier = 0,
               .banks = 1,
               .scratch_bytes = KIB(256)}},
    {.name = "cpu-neon",
     .target = "cpu",
     .subgroup = 4,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .row_subgroups = 1,
     .scratch_bytes = KIB(256),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 4,
               .load = 2,
               .wave = 0,
               .barrier = 0,
               .banks = 1,
               .scratch_bytes = KIB(256)}},
    {.name = "cpu-baseline",
     .target = "cpu",
     .subgroup = 4,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .row_subgroups = 1,
     .scratch_bytes = KIB(256),
     .costs = {.shuffle = 1,
               .select = 1,
               .store = 4,
               .load = 2,
               .wave = 0,
               .barrier = 0,
               .banks = 1,
               .scratch_bytes = KIB(256)}},
    {.name = "sm_80",
     .target = "cuda",
     .subgroup = 32,
     .compiler_flags = "-arch=sm_80",
     .lanes_limit = 1024,
     .row_subgroups = 8,
     .scratch_bytes = KIB(163),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(163)}},
    {.name = "sm_90",
     .target = "cuda",
     .subgroup = 32,
     .compiler_flags = "-arch=sm_90a",
     .lanes_limit = 1024,
     .row_subgroups = 8,
     .scratch_bytes = KIB(227),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(227)}},
    {.name = "m1",
     .target = "metal",
     .subgroup = 32,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .row_subgroups = 8,
     .scratch_bytes = KIB(32),
     .costs = {.shuffle = 2,
               .select = 1,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(32)}},
    {.name = "m4",
     .target = "metal",
     .subgroup = 32,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .row_subgroups = 8,
     .scratch_bytes = KIB(32),
     .costs = {.shuffle = 2,
               .select = 1,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(32)}},
};

enum { MACHINE_COUNT = sizeof machines / sizeof machines[0] };

const machine *machine_find(const char *name) {
    for (int i = 0; i < MACHINE_COUNT; i++)
        if (strcmp(machines[i].name, name) == 0)
            return &machines[i];
    return NULL;
}

const machine *machine_at(int index) {
    return index >= 0 && index < MACHINE_COUNT ? &machines[index] : NULL;
}

const machine *machine_host(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return machine_find("cpu-avx512");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return machine_find("cpu-avx2");
    return machine_find("cpu-baseline");
#elif defined(__aarch64__)
    return machine_find("cpu-neon");
#else
    return machine_find("cpu-baseline");
#endif
}
