/* An access as the cpu dialect writes it: shared by c_access.c and c_blocks.c. */
#ifndef TARGET_C_ACCESS_INTERNAL_H
#define TARGET_C_ACCESS_INTERNAL_H

#include "target/emitter_internal.h"

/* What the addresses of a slot look like. */
typedef enum target_c_shape {
    SHAPE_SCALAR,
    SHAPE_SAME,
    SHAPE_NEIGHBOURS,
    SHAPE_STRIDED,
    SHAPE_SCATTERED
} target_c_shape;

typedef enum target_c_guard_kind {
    GUARD_NONE,
    GUARD_IF,
    GUARD_FIRST,
    GUARD_LANES
} target_c_guard_kind;

typedef struct target_c_guard {
    target_c_guard_kind kind;
    const char *text; /* the condition, n, or the mask */
} target_c_guard;

typedef struct target_c_access {
    target_emitter *e;
    const ir_op *op;
    const ir_access *access;
    const char *pointer;
    const char *base;                 /* hoisted part of the index; "" = in the pointer */
    const char *strides[IR_MAX_RANK]; /* NULL for 1 */
    const char *type;                 /* of the memory's elements, or vectors of them */
    base_dtype dtype;                 /* of the tensor */
    bool vector;
    /* An index has a vector operand, or lanes that are no multiples of one stride. */
    bool scattered;
    target_c_position index[IR_MAX_RANK], mask; /* what lanes and subgroups add */
    target_c_shape shape;
    int slots;
    bool streams; /* a store whose vectors go past the caches */
} target_c_access;

/* ---- c_access.c ---- */
/* The first lane's address in a slot: as a pointer; as an index, with arithmetic that wraps where
 * the address may be wild. */
const char *target_c_access_place(const target_c_access *access, int slot);
const char *target_c_access_offset(const target_c_access *access, bool wrap, int slot);
/* A number of the mask's form in the first lane: `first` and what the register adds. */
const char *target_c_access_first(const target_c_access *access, int64_t first, bool wrap);
/* What lanes that take no part have. */
const char *target_c_access_fill(const target_c_access *access, int slot);

/* ---- c_prefetch.c ---- */
/* Whether the load has lines fetched, and the text that does it, in front of the load. */
bool target_c_fetches(const target_c_access *access);
void target_c_prefetch(const target_c_access *access);

/* ---- c_blocks.c ---- */
/* How many slots in a row are one block of neighbours in memory; 0: none. */
int target_c_block_slots(const target_c_access *access);
/* The block of slots from `first` on. */
void target_c_block_load(const target_c_access *access, int first, int count);
void target_c_block_store(const target_c_access *access, int first, int count);

#endif
