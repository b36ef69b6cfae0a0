/* Hazards of scratch memory, computed from who touches which cell and from nothing that a producer
 * says: tokens are not looked at.
 *
 *     put %s[lane*1 + subgroup*32], ..     cell 33: lane 1 of subgroup 1 writes
 *     sync subgroup                        lanes of one subgroup are ordered
 *     get %s[slot*32]                      cell 32: every lane reads; lane 0 of subgroup 1 wrote
 *
 * Numbers that depend on lane, subgroup, slot and block only are computed for all of them
 * (hazard_value.c). Of an access that gives the owners of each cell (hazard_access.c). The program
 * becomes steps, in which short loops with constant bounds are written out (hazard_steps.c). What
 * is pending at a place, and what is certainly written, flows through them until nothing changes
 * (hazard.c).
 *
 * A thread is a lane of the cluster: block * lanes of the team + lane of the team. */
#ifndef VERIFY_HAZARD_INTERNAL_H
#define VERIFY_HAZARD_INTERNAL_H

#include "verify/verify_internal.h"

enum { HAZARD_MAX_CELLS = 1 << 18, HAZARD_MAX_THREADS = 1 << 14, HAZARD_MAX_SLOTS = 1 << 10 };

/* What an integer or bool value is at every position. */
typedef struct hazard_table {
    bool known;
    const ir_value *base; /* a uniform that stands as an addend beside; NULL: none */
    int64_t epoch;        /* of the base: one SSA value is another in each written-out round */
    int blocks, threads, slots; /* entries along each; 1: it does not vary there */
    const int64_t *number;      /* [block][thread of the team][slot] */
} hazard_table;

/* Who touches a cell: nobody, one thread, several of a subgroup, of a group, of the cluster. */
typedef enum hazard_crowd {
    HAZARD_NOBODY,
    HAZARD_THREAD,
    HAZARD_SUBGROUP,
    HAZARD_GROUP,
    HAZARD_CLUSTER
} hazard_crowd;

typedef struct hazard_owner {
    uint8_t crowd;
    uint32_t number : 24; /* of the thread, subgroup or group in the cluster */
} hazard_owner;

/* Which synchronisation stands between an access and the place that is looked at, on the path that
 * has least of it. */
typedef enum hazard_order {
    HAZARD_ORDERED, /* one that holds all lanes that might touch the cell */
    HAZARD_BY_GROUP,
    HAZARD_BY_SUBGROUP,
    HAZARD_UNORDERED
} hazard_order;

typedef struct hazard_access {
    const ir_op *op;
    int array;
    bool writes;
    bool tensor;        /* of a tensor that all lanes store to alike */
    bool remote;        /* into the scratch of a block that is named */
    bool targets_known; /* which block, at every position */
    bool cells_known;   /* which cells, up to the base */
    bool certain;       /* which positions the mask lets through */
    bool outside;       /* one that may happen is of a cell or block that is not there */
    const ir_value *base;
    int64_t epoch;       /* of the base */
    int64_t low, span;   /* cells that are known: low .. low + span - 1 */
    hazard_owner *owner; /* [target][span], one target where targets are not known */
    hazard_owner *any;   /* [group]: who of the group touches any cell */
} hazard_access;

typedef struct hazard_array {
    const ir_value *value; /* scratch, or a tensor: without cells that are followed */
    int64_t cells;
} hazard_array;

typedef enum hazard_step_kind {
    HAZARD_ACCESS,
    HAZARD_SYNC,
    HAZARD_SCRATCH, /* new contents */
    HAZARD_LOOP,
    HAZARD_BRANCH
} hazard_step_kind;

typedef struct hazard_step {
    hazard_step_kind kind;
    int access;                    /* ACCESS */
    ir_scope scope;                /* SYNC */
    int array;                     /* SCRATCH */
    const ir_region *region;       /* LOOP */
    bool runs, once;               /* LOOP: at least once, exactly once */
    struct hazard_step *inside[2]; /* LOOP: the body. BRANCH: both sides */
    struct hazard_step *next;
} hazard_step;

typedef struct hazards {
    verify_state *state;
    base_arena *arena;
    int blocks, lanes, subgroup;
    hazard_table *tables; /* by number of the value */
    bool *looked;         /* by number: its table is made */
    bool *inside;         /* by number: in a loop that is written out */
    int64_t epochs;       /* given out */
    int depth;            /* of hazard_value */
    int64_t work;         /* entries that may still be computed */
    int array_count;
    hazard_array *arrays;
    int *array_of; /* by number of the value: 1 + index, 0 for others */
    int64_t access_count, access_capacity;
    hazard_access *accesses;
    bool *marked;    /* by number, while a loop is looked at: depends on its index */
    int64_t unrolls; /* accesses that may still be written out */
} hazards;

/* ---- hazard_value.c ---- */
/* Sizes of the machine and room for tables; no array is known yet. False for teams and clusters
 * that are too large, which other rules refuse. */
bool hazard_begin(hazards *h, verify_state *state);
/* The numbers of a value; not known where data or loops decide them. */
hazard_table hazard_value(hazards *h, const ir_value *value);
int64_t hazard_number(const hazard_table *table, int block, int thread, int slot);
hazard_table hazard_affine(hazards *h, const ir_affine *affine, int slots);
hazard_table hazard_add(hazards *h, hazard_table a, hazard_table b);

/* The value is this number from now on; the values of the region are to be computed again. */
void hazard_value_set(hazards *h, const ir_value *value, int64_t number);
void hazard_region_forget(hazards *h, const ir_region *region);
/* A number that is the same at every position. */
bool hazard_constant(hazards *h, const ir_value *value, int64_t *number);

/* ---- hazard_access.c ---- */
/* Fills in the access of a put or get of an array. */
void hazard_access_make(hazards *h, const ir_op *op, hazard_access *access);
/* Two threads, one in each access, may touch one cell, one of them writes, and no synchronisation
 * but `order` stands between. stale: the first access was made in an earlier iteration, where its
 * base was another. *cell: a cell where they meet, -1 where none can be named. */
bool hazard_accesses_meet(const hazards *h, const hazard_access *a, const hazard_access *b,
                          hazard_order order, bool stale, int64_t *cell);

/* ---- hazard_tensors.c ---- */
/* Adds the tensors that are loaded, and that all lanes store to alike, where they do not run in
 * lock step. */
void hazard_tensors_add(hazards *h);
/* Whether the op is an access of one of them that is followed. */
bool hazard_is_of_tensor(const hazards *h, const ir_op *op);
/* hazard_accesses_meet of two of them. */
bool hazard_tensors_meet(const hazards *h, const hazard_access *a, const hazard_access *b,
                         hazard_order order);

/* ---- hazard_steps.c ---- */
/* The program as steps, and its arrays and accesses. NULL when there are none. */
hazard_step *hazard_steps_make(hazards *h);

#endif
