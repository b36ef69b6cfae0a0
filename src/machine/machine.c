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
 *   opencl any device of OpenCL 1.2, of which nothing is known: numbers of the same shape as
 *          cuda's, which say no more than that every shuffle is a store and a load of scratch with
 *          two barriers, so that scratch is the cheaper way to move more than one register.
 *   metal  no maker's numbers: the same shape, a shuffle twice as dear; 32 banks assumed.
 *   cpu    a shuffle is one permute of a register, a select one blend; a scratch access is one
 *          scalar access for each lane (gathers and scatters are no faster), there are no banks and
 *          lanes in lock step need no barrier.
 *
 * Capacities:
 *   sm_90  an H200. Documented: 132 multiprocessors of 128 lanes, 2048 threads, 32 groups, 65536
 *          registers and 228 KiB of shared memory out of 256 KiB beside the L1 each; 60 MB of L2 as
 *          the driver says; 1.98 GHz; 128 bytes a cycle of an L1. Measured: 4.68 TB/s of reads
 *          alone, and 600 ns, since about 10 KB under way on each multiprocessor carry reads of
 *          2.15 TB/s. ESTIMATE: 6.5 TB/s of the L2; kernels that read each byte twice stay at the
 *          roof of memory with 6.3. Documented: 16 groups of a cluster, those beyond 8 where the
 *          kernel allows it.
 *   sm_80  an A100 of 40 GB. Documented: 108 multiprocessors of 64 lanes, 164 of 192 KiB, 40 MB of
 *          L2, 1.41 GHz, 1.555 TB/s. ESTIMATES: nine tenths of that, 4 TB/s of the L2, 600 ns.
 *   opencl nothing is known of the device: local memory of 32 KiB is what full profile promises.
 *   m1, m4 the GPUs of 8 and 10 cores of 128 lanes. Documented: 68.25 and 120 GB/s. What the maker
 *          does not say is not known here.
 *   cpu    two cores, those that were measured.
 *          avx2: copies in memory moved 28 GB/s of reads and writes, and half as many again to
 *          fetch the lines that are written: 42. In the L3 135 together, in the L2 350 together.
 *          ESTIMATES: 3.4 GHz, two loads of a register a cycle from the L1.
 *          avx512: a Zen 4 at 3.7 GHz, as chains of additions show. Copies in memory moved 68 GB/s;
 *          sums read 107 from the L2 and 96 from the L3 on one core, which was not quite the limit:
 *          115 and 105. Four pipes of 8 lanes do two products and two sums; exponentials show 26
 *          lanes. ESTIMATE: the L1, as above.
 *          neon, baseline: no measurements, avx2's bandwidths; two registers of 4 lanes a cycle.
 *          Registers are those of vectors: 32 of 16 lanes, 16 of 8, 32 and 16 of 4.
 */
#include "machine/machine.h"

#include <stddef.h>
#include <stdio.h>
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
               .scratch_bytes = KIB(256)},
     .capacity = {.processors = 2,
                  .lanes = 26,
                  .registers = 512,
                  .masks_lanes = 1,
                  .near_cache_bytes = KIB(32),
                  .private_cache_bytes = KIB(1024),
                  .cache_bytes = KIB(32768),
                  .near_bandwidth = 237e9,
                  .private_bandwidth = 115e9,
                  .cache_bandwidth = 210e9,
                  .memory_bandwidth = 102e9,
                  .clock = 3.7e9}},
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
               .scratch_bytes = KIB(256)},
     .capacity = {.processors = 2,
                  .lanes = 16,
                  .registers = 128,
                  .near_cache_bytes = KIB(32),
                  .private_cache_bytes = KIB(512),
                  .cache_bytes = KIB(16384),
                  .near_bandwidth = 218e9,
                  .private_bandwidth = 175e9,
                  .cache_bandwidth = 135e9,
                  .memory_bandwidth = 42e9,
                  .clock = 3.4e9}},
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
               .scratch_bytes = KIB(256)},
     .capacity = {.processors = 2,
                  .lanes = 8,
                  .registers = 128,
                  .near_cache_bytes = KIB(32),
                  .private_cache_bytes = KIB(512),
                  .cache_bytes = KIB(16384),
                  .near_bandwidth = 109e9,
                  .private_bandwidth = 109e9,
                  .cache_bandwidth = 135e9,
                  .memory_bandwidth = 42e9,
                  .clock = 3.4e9}},
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
               .scratch_bytes = KIB(256)},
     .capacity = {.processors = 2,
                  .lanes = 8,
                  .registers = 64,
                  .near_cache_bytes = KIB(32),
                  .private_cache_bytes = KIB(512),
                  .cache_bytes = KIB(16384),
                  .near_bandwidth = 109e9,
                  .private_bandwidth = 109e9,
                  .cache_bandwidth = 135e9,
                  .memory_bandwidth = 42e9,
                  .clock = 3.4e9}},
    {.name = "sm_80",
     .target = "cuda",
     .subgroup = 32,
     .compiler_flags = "-arch=sm_80",
     .lanes_limit = 1024,
     .lanes_are_threads = true,
     .row_subgroups = 8,
     .native_math = true,
     .scratch_bytes = KIB(163),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(163)},
     .capacity = {.processors = 108,
                  .lanes = 64,
                  .threads_limit = 2048,
                  .groups_limit = 32,
                  .registers = 65536,
                  .scratch_bytes = KIB(164),
                  .near_cache_bytes = KIB(192),
                  .cache_bytes = KIB(40960),
                  .near_bandwidth = 180e9,
                  .cache_bandwidth = 4e12,
                  .memory_bandwidth = 1.4e12,
                  .clock = 1.41e9,
                  .latency_seconds = 600e-9}},
    {.name = "sm_90",
     .target = "cuda",
     .subgroup = 32,
     .compiler_flags = "-arch=sm_90a",
     .lanes_limit = 1024,
     .lanes_are_threads = true,
     .cluster_limit = 16,
     .row_subgroups = 8,
     .native_math = true,
     .launches_overlap = true,
     .scratch_bytes = KIB(227),
     .costs = {.shuffle = 1,
               .select = 0.5,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(227)},
     .capacity = {.processors = 132,
                  .lanes = 128,
                  .threads_limit = 2048,
                  .groups_limit = 32,
                  .registers = 65536,
                  .scratch_bytes = KIB(228),
                  .near_cache_bytes = KIB(256),
                  .cache_bytes = KIB(61440),
                  .near_bandwidth = 253e9,
                  .cache_bandwidth = 6.5e12,
                  .memory_bandwidth = 4.68e12,
                  .clock = 1.98e9,
                  .latency_seconds = 600e-9}},
    {.name = "opencl",
     .target = "opencl",
     .subgroup = 32,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .lanes_are_threads = true,
     .row_subgroups = 8,
     .scratch_bytes = KIB(32),
     .costs = {.shuffle = 34,
               .select = 1,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(32)},
     .capacity = {0}},
    {.name = "m1",
     .target = "metal",
     .subgroup = 32,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .lanes_are_threads = true,
     .row_subgroups = 8,
     .scratch_bytes = KIB(32),
     .costs = {.shuffle = 2,
               .select = 1,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(32)},
     .capacity = {.processors = 8, .lanes = 128, .memory_bandwidth = 68.25e9}},
    {.name = "m4",
     .target = "metal",
     .subgroup = 32,
     .compiler_flags = "",
     .lanes_limit = 1024,
     .lanes_are_threads = true,
     .row_subgroups = 8,
     .scratch_bytes = KIB(32),
     .costs = {.shuffle = 2,
               .select = 1,
               .store = 1,
               .load = 1,
               .wave = 1,
               .barrier = 16,
               .banks = 32,
               .scratch_bytes = KIB(32)},
     .capacity = {.processors = 10, .lanes = 128, .memory_bandwidth = 120e9}},
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

bool machine_runs_in_step(const char *name) {
    const machine *found = name != NULL ? machine_find(name) : NULL;
    return found != NULL && !found->lanes_are_threads;
}

void machine_flags_split(const machine *device, machine_flags *flags) {
    int count = 0;
    *flags = (machine_flags){0};
    snprintf(flags->text, sizeof flags->text, "%s", device->compiler_flags);
    for (char *at = flags->text; *at != '\0' && count < MACHINE_FLAG_LIMIT;) {
        size_t length = strcspn(at, " ");
        bool more = at[length] == ' ';
        at[length] = '\0';
        flags->list[count++] = at;
        at += length + more;
    }
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
