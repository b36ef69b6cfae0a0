/* What a compilation decided and what stands in the thread module, as data: what `croft explain`
 * prints.
 *
 *     transpose8, 'L=bits(1, 0, 2, 3, 4, 5)', sm_90
 *     values         i on identity(64), v on bits(1, 0, 2, 3, 4, 5), ...
 *     conversions    v: shuffle, 1 shuffle a thread, price 1; alternative scratch, price 34
 *     accesses       source.0: 1 load of one element a thread
 *
 * What is counted (accesses, shuffles, selects, puts, barriers, bytes) is counted in the module of
 * level thread that targets write out, for one thread and once for each place in the text; what
 * stands in a loop says so. Prices are estimates of the machine's table, and chosen mechanisms the
 * plan's. Nothing here speaks of registers, machine instructions or occupancy.
 */
#ifndef COMPILE_REPORT_H
#define COMPILE_REPORT_H

#include "analysis/grouped.h"
#include "ir/module.h"
#include "ir/plan.h"
#include "layout/memory.h"
#include "machine/machine.h"
#include "pass/pass.h"
#include "planner/planner.h"

/* A tile value of the canonical program and who owns its elements. */
typedef struct compile_report_value {
    const char *anchor; /* its source name, else the anchor of the op that makes it; unique */
    bool named;         /* it has a source name */
    base_location location;
    base_dtype dtype;
    const char *shape;  /* `64`, `R x 8`: sizes that are known as numbers */
    const char *layout; /* the shortest spelling; axes of several are separated by ` ; ` */
    bool fixed;         /* the kernel's text says so */
    layout_tile tile;   /* the same; rank 0: it has none that could be drawn */
    int64_t threads, slots, steps; /* that hold it; steps 0: a runtime number */
    int64_t replication;           /* threads and slots that hold the same element */
    const char *storage; /* `sweep`: used where it is made; registers, private, reload, recompute,
                            output */
    const char *access;  /* the load that makes it, else a store that writes it; NULL: none */
} compile_report_value;

/* A conversion of owners. Counts are of one thread. */
typedef struct compile_report_conversion {
    const char *anchor, *source, *result; /* source, result: anchors of values */
    base_location location;
    base_dtype dtype;
    const char *source_layout, *result_layout;
    layout_class needed; /* what has to move, by the layouts alone */
    layout_class mechanism;
    int64_t shuffles, selects; /* registers of 32 bits */
    int64_t scratch_bytes, puts, gets;
    int put_width, get_width;         /* elements of one access */
    int put_conflicts, get_conflicts; /* times that the banks serve one access, of the addresses in
                                         the module; 0: not known, or the machine has no banks */
    int barriers;
    layout_class alternative;        /* FORWARD: there is none */
    double price, alternative_price; /* estimated cycles of a subgroup; negative: not possible */
} compile_report_conversion;

typedef struct compile_report_reduction {
    const char *anchor, *axis;
    base_location location;
    ir_monoid monoid;
    base_dtype dtype, state;
    int64_t threads;                 /* that share the work */
    int64_t slots, steps;            /* that each folds alone; steps 0: a runtime number */
    int64_t subgroups;               /* whose partial results meet */
    int64_t partials, scratch_bytes; /* in scratch; 0: they do not meet there */
    int barriers;
} compile_report_reduction;

typedef struct compile_report_access {
    const char *anchor, *tensor; /* anchor of the access, or of the value that waits */
    base_location location;
    bool is_store;
    bool waits; /* no access of the kernel: a value that waits in an output for a later sweep */
    base_dtype dtype;
    int width;                /* elements of one access */
    int64_t groups, elements; /* accesses of several elements, and of one, in the module: of a
                                 thread, or of the team (by_team) */
    int64_t guarded;          /* of both together: under a mask */
    int64_t looped;           /* of both together: in loops */
    int64_t guards;           /* that a worker (a lane) meets in one sweep: analysis/guards.h */
    bool uniform;             /* all threads access the same element */
    ir_policy policy;         /* that the plan asks for */
    int64_t obeyed;           /* of both together: whose policy, if not the default, is emitted */
    const char *ignored;      /* why that of others is not; NULL: it is for all */
    int prefetch, prefetch_sweep; /* as the plan says; 0: none */
    int64_t prefetching; /* of both together: beside which the row of a later program is fetched */
} compile_report_access;

/* A part of an address: what it adds to the index of a dimension. */
typedef struct compile_report_index {
    const char *anchor; /* of the access */
    int dimension;
    enum compile_report_part {
        COMPILE_REPORT_BASE,   /* alike in all threads */
        COMPILE_REPORT_LANES,  /* an affine form of lane, subgroup and slot */
        COMPILE_REPORT_VECTOR, /* a value of each thread */
    } part;
    int bits;    /* 32: the range proves that they are enough; else 64 */
    bool ranged; /* low and high are set */
    int64_t low, high;
} compile_report_index;

typedef struct compile_report_allocation {
    const char *owner; /* anchor of the conversion, reduction or value */
    bool is_private;   /* an array of each thread, in memory; else scratch of the group */
    base_dtype dtype;
    const char *cells; /* a formula or a number */
    int64_t bytes;     /* of a group; -1: a runtime number */
} compile_report_allocation;

/* A synchronisation and the hazards that it serves. */
typedef struct compile_report_barrier {
    base_location location;
    ir_scope scope;
    int publish_count, release_count;
    const char **publishes, **releases; /* owners of the arrays */
    bool looped;
} compile_report_barrier;

/* A condition on the arguments that would help, and what it helps. */
typedef struct compile_report_condition {
    layout_condition condition;
    const char *text, *subject; /* `x aligned 16`; `x` */
    bool ragged;                /* of tensors whose rows are not all aligned: another way than the
                                   conditions that are not */
    const char **accesses;      /* anchors of those that need it */
    int64_t access_count, access_capacity;
} compile_report_condition;

typedef struct compile_report {
    const char *kernel;
    const machine *machine;
    uint64_t plan_hash, canonical_hash;
    const ir_module *module; /* level thread */
    const ir_plan *plan;
    const planner_report *planning; /* why the plan is what it is; NULL: it was given */
    const pass_log *log;            /* conversions that were not needed; erased layouts */
    int64_t threads, subgroups;
    bool by_team;       /* accesses are counted for all lanes together, whose neighbours a register
                           of a cpu reaches at once */
    const char *groups; /* formula */
    compile_report_value *values;
    int64_t value_count, value_capacity;
    compile_report_conversion *conversions;
    int64_t conversion_count, conversion_capacity;
    compile_report_reduction *reductions;
    int64_t reduction_count, reduction_capacity;
    compile_report_access *accesses;
    int64_t access_count, access_capacity;
    compile_report_index *indices;
    int64_t index_count, index_capacity;
    compile_report_allocation *allocations;
    int64_t allocation_count, allocation_capacity;
    compile_report_barrier *barriers;
    int64_t barrier_count, barrier_capacity;
    compile_report_condition *conditions; /* none of them is assumed by `module` */
    int64_t condition_count, condition_capacity;
    analysis_grouped grouped; /* all accesses together, by width */
    int64_t guards;           /* of a worker and a sweep: the most of an access */
    int64_t scratch_bytes;    /* of a group, all arrays together */
    int64_t workspace_bytes;  /* of a group; -1: a runtime number */
} compile_report;

/* From the modules of one compilation: canonical tile, mapped, thread. Everything lives in the
 * arena or in the modules. */
compile_report *compile_report_make(base_arena *arena, const machine *device, const ir_plan *plan,
                                    const pass_log *log, const ir_module *tile,
                                    const ir_module *mapped, const ir_module *thread);

/* Adds the conditions that would help the thread module. */
void compile_report_add_conditions(base_arena *arena, compile_report *report,
                                   const layout_condition *conditions, int64_t count);

/* NULL when there is no such value. */
const compile_report_value *compile_report_find(const compile_report *report, const char *anchor);

/* Bytes from the first element of its tensor that the access of a value puts or finds the element
 * that a thread has in a slot at: of program 0, in the first step, of an array in row-major order.
 * False where data, a runtime size or no access says so. */
bool compile_report_address(const compile_report *report, const compile_report_value *value,
                            int64_t thread, int64_t slot, int64_t *bytes);

#endif
