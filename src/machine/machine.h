/* Machines: what a device can do, and what things cost on it, as data. No driver is asked here:
 * plans can be made for a machine that is not present. */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include "layout/memory.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes that a thread moves in one access at most, where lanes are threads. */
enum { MACHINE_ACCESS_BYTES = 16 };

/* What one device has, for models of what a launch costs; 0: not known. Of cpus a usual one: how
 * many cores a process may use is not the table's business. */
typedef struct machine_capacity {
    int64_t processors;    /* multiprocessors, cores */
    int64_t lanes;         /* that one processor computes on at once, of 32 bits */
    int64_t threads_limit; /* resident on one processor */
    int64_t groups_limit;  /* resident on one processor */
    int64_t registers;     /* of one processor, of 32 bits */
    int64_t scratch_bytes; /* of one processor */
    int64_t masks_lanes;   /* 1: one access of a register can leave out lanes */
    /* caches from the nearest on: of one processor, of one processor, of the device */
    int64_t near_cache_bytes, private_cache_bytes, cache_bytes;
    /* bytes a second: of one processor, of one processor, of the device, of the device (reads) */
    double near_bandwidth, private_bandwidth, cache_bandwidth, memory_bandwidth;
    double clock;           /* cycles a second */
    double latency_seconds; /* of a read from memory */
} machine_capacity;

typedef struct machine {
    const char *name;   /* cpu-avx2, cpu-avx512, cpu-neon, cpu-baseline; sm_80, sm_90; m1, m4 */
    const char *target; /* the target that emits for it; a build may be without it */
    int subgroup;       /* lanes that run in lock step: f32 elements of a vector register */
    const char *compiler_flags; /* separated by single spaces; "" for none */
    int lanes_limit;            /* lanes of one group at most */
    /* Each lane is a thread of its own (a GPU). Else a whole group is one thread: its lanes are the
     * elements of vector registers, and all of them run in lock step (a cpu). */
    bool lanes_are_threads;
    int cluster_limit;     /* groups that reach each other's scratch, at most; 0: no clusters */
    int row_subgroups;     /* subgroups of a group that run side by side, for one row at most */
    bool native_math;      /* its target has the native forms of ir/native.def */
    bool launches_overlap; /* a launch may start while those in front of it end, and wait itself */
    int64_t scratch_bytes; /* scratch that one group can have */
    layout_costs costs;    /* of moving values between lanes */
    machine_capacity capacity;
} machine;

/* NULL when unknown. */
const machine *machine_find(const char *name);
/* The table, for messages and docs: machine_at(i) is NULL past the end. */
const machine *machine_at(int index);
/* Whether all lanes of a group run in lock step on the machine of this name. False where there is
 * no such machine, or the name is NULL. */
bool machine_runs_in_step(const char *name);
enum { MACHINE_FLAG_LIMIT = 15, MACHINE_FLAG_TEXT = 256 };

/* The compiler flags of a machine one by one, NULL-terminated, as a compiler's arguments. They
 * point into the text: do not copy the struct. */
typedef struct machine_flags {
    const char *list[MACHINE_FLAG_LIMIT + 1];
    char text[MACHINE_FLAG_TEXT];
} machine_flags;
void machine_flags_split(const machine *device, machine_flags *flags);
/* The best cpu machine that this process runs on (asks the processor, not the environment). */
const machine *machine_host(void);

#endif
