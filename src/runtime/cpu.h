/* The device `cpu`: emitted C, compiled by the system compiler, its groups spread over a team.
 *
 * The C defines three functions, whose names begin with the artifact's entry:
 *
 *     // groups [begin, end); workspace: memory of this call alone, aligned to 64 bytes
 *     void ENTRY(void *const *pointers, const int64_t *words, int64_t begin, int64_t end,
 *                void *workspace);
 *     int64_t ENTRY_groups(const int64_t *words);      // how many groups there are
 *     int64_t ENTRY_workspace(const int64_t *words);   // bytes that each running call needs
 *
 * Both answer -1 where a size formula of the kernel leaves 64 bits; nothing is run then. pointers
 * and words are those of runtime_launch (runtime/device.h). Groups are independent. The floating
 * environment is the default one during each call (nearest even, subnormals kept), whatever the
 * calling thread has set.
 */
#ifndef RUNTIME_CPU_H
#define RUNTIME_CPU_H

#include "runtime/compiler.h"
#include "runtime/device.h"
#include "runtime/team.h"

typedef struct runtime_cpu_config {
    runtime_compiler_config compiler; /* its texts must live as long as the device */
    runtime_team_config team;
} runtime_cpu_config;

/* NULL when memory is short. When launches come from several threads, the allocator is called from
 * them. Neither the compiler nor a thread is started before it is needed. */
runtime_device *runtime_cpu_create(base_allocator allocator, const runtime_cpu_config *config);

#endif
