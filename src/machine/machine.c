/* The machine table. A new machine is a row here. */
#include "machine/machine.h"

#include <stddef.h>
#include <string.h>

static const machine machines[] = {
    {.name = "cpu-avx512",
     .target = "cpu",
     .subgroup = 16,
     .compiler_flags = "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c "
                       "-mprefer-vector-width=512"},
    {.name = "cpu-avx2", .target = "cpu", .subgroup = 8, .compiler_flags = "-mavx2 -mfma -mf16c"},
    {.name = "cpu-neon", .target = "cpu", .subgroup = 4, .compiler_flags = ""},
    {.name = "cpu-baseline", .target = "cpu", .subgroup = 4, .compiler_flags = ""},
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
