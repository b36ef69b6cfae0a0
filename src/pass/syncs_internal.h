/* What the files of the pass syncs share: the accesses of scratch and who needs whom behind a
 * synchronisation, the program as steps with places where one may stand, and what is chosen.
 *
 *     put A          access 0                    need[1]: 0 by the group
 *     (sync)         a place                     need[2]: 1 by nobody: the same lanes get and put
 *     get A          access 1
 *     put A          access 2
 */
#ifndef PASS_SYNCS_INTERNAL_H
#define PASS_SYNCS_INTERNAL_H

#include "pass/pass.h"

/* Integers at every thread of the team and slot. */
typedef struct syncs_numbers {
    bool known;
    int threads, slots; /* entries along each; 1: it does not vary there */
    int64_t *at;        /* [thread][slot] */
} syncs_numbers;

/* A put or get, and the threads that touch each cell of its array; or a load or store of a tensor
 * that all lanes store to alike. */
typedef struct syncs_access {
    const ir_op *op;
    int array;
    bool writes;
    bool tensor;           /* of a tensor, which has no token */
    bool known;            /* which cells; else it may touch any, from any thread */
    int32_t *first, *last; /* by cell: least and greatest thread; first < 0: nobody */
} syncs_access;

typedef enum syncs_kind { SYNCS_ACCESS, SYNCS_PLACE, SYNCS_LOOP, SYNCS_BRANCH } syncs_kind;

/* What holds at a point of the program. */
typedef struct syncs_point {
    uint64_t *open;  /* by access: made on some path with no sync behind it */
    uint64_t *near;  /* ... with syncs of the subgroup only */
    uint64_t *since; /* by access: made since the token of its array got its state */
    uint8_t *state;  /* by array: ir_token_state */
} syncs_point;

typedef struct syncs_step {
    syncs_kind kind;
    ir_op *op;       /* PLACE: a sync may stand before it */
    int access;      /* ACCESS */
    int depth;       /* PLACE: loops around it */
    ir_scope scope;  /* PLACE: of the sync that stands here; NONE: no sync */
    bool runs, once; /* LOOP: at least once, exactly once */
    uint64_t *next;  /* PLACE: of each array the accesses that come first, of gets all before the
                        next put */
    uint8_t *taken;  /* PLACE: by array: 1 + state of the token that the sync takes, 0: none.
                        LOOP, BRANCH: whether its token is carried */
    uint8_t *head;   /* LOOP: by array: the state in the body, at first */
    uint8_t *after;  /* LOOP, BRANCH: by array: the state behind it */
    syncs_point point[2];
    uint64_t *live;               /* LOOP: next, at the end of the body */
    struct syncs_step *inside[2]; /* LOOP: the body. BRANCH: both sides */
    struct syncs_step *last[2];   /* of these */
    struct syncs_step *previous, *following;
} syncs_step;

typedef struct syncs {
    ir_module *module;
    base_arena *arena;
    int lanes, subgroup;
    syncs_numbers *numbers; /* by value number */
    bool *looked;           /* by value number */
    int array_count;
    int tensor_count; /* of the arrays, the last ones: tensors */
    ir_op **arrays;   /* scratch ops; NULL for tensors */
    int *array_of;    /* by value number: 1 + array, 0 for others */
    int64_t *cells;   /* by array */
    int64_t access_count, access_capacity;
    syncs_access *accesses;
    int64_t words;       /* of a set of accesses */
    uint64_t **any;      /* by access: those that it needs any sync behind, ... */
    uint64_t **group;    /* ... one of the group */
    uint64_t **of_array; /* by array: its accesses */
    syncs_step *first, *last;
    syncs_step **places; /* in the order of the text */
    int64_t place_count, place_capacity;
} syncs;

/* ---- syncs_owners.c ---- */
/* Fills in the threads of an access. */
void syncs_access_make(syncs *s, const ir_op *op, syncs_access *access);
/* The narrowest scope of a sync that the pair needs between, in this order: NONE, SUBGROUP or
 * GROUP. */
ir_scope syncs_need(const syncs *s, const syncs_access *before, const syncs_access *now);

/* ---- syncs_tensors.c ---- */
/* All lanes store the same to one cell of a tensor. */
bool syncs_is_alike(const ir_op *op);
/* By value number: tensors with such stores that are loaded, where lanes do not run in lock step.
 */
const bool *syncs_tensors_find(ir_module *module);
/* A sync of the group before each of these stores. */
void syncs_tensors_expand(ir_module *module);

/* ---- syncs_steps.c ---- */
/* Arrays, accesses, needs and steps. False when there are none, or groups reach each other's
 * scratch. */
bool syncs_steps_make(syncs *s);
/* Fills in `next` of the places. */
void syncs_steps_look_ahead(syncs *s);

/* ---- syncs_flow.c ---- */
/* Follows every path with the syncs that are chosen: true when each pair has what it needs between,
 * and tokens are in the state that their op asks for. Fills in taken, head and after. */
bool syncs_flow(syncs *s);

/* ---- syncs_tokens.c ---- */
/* Takes all syncs and carried tokens out of the module, and puts in those that are chosen. */
void syncs_tokens_write(syncs *s);

/* ---- sets of accesses ---- */
static inline bool syncs_has(const uint64_t *set, int64_t access) {
    return (set[access / 64] >> (access % 64) & 1) != 0;
}

static inline void syncs_add(uint64_t *set, int64_t access) {
    set[access / 64] |= UINT64_C(1) << (access % 64);
}

#endif
