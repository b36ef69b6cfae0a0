/* The run of a tile or mapped module: values as whole tiles of signatures, shared by the files
 * signature_tile*.c.
 *
 *     %t = load %x[%row, : N]     N = 3, row 1: items {x 3} {x 4} {x 5}
 *     %m = reduce max %t          rank 0: one item, max of {x 3} {x 4} {x 5}
 *
 * Layouts and storage of a mapped module mean nothing here: a sweep is run once, and an op computes
 * all of its tile at once.
 */
#ifndef VERIFY_SIGNATURE_TILE_INTERNAL_H
#define VERIFY_SIGNATURE_TILE_INTERNAL_H

#include "verify/signature_internal.h"

typedef struct signature_tile {
    int rank;
    int64_t extent[IR_MAX_RANK];
    int64_t domain[IR_MAX_RANK]; /* elements inside, at most extent */
    int64_t count, capacity;
    signature_value *items; /* C order */
} signature_tile;

struct signature_tile_run {
    verify_state *state;
    const ir_module *module;
    const signature_setting *setting;
    signature_memory *memory;
    base_arena *arena;
    signature_tile *tiles; /* by number */
    int64_t extents[IR_MAX_RANK];
    const int64_t *programs;
    int32_t writer;
    uint64_t instance; /* the iterations of all loops around, hashed */
    int64_t work;      /* that is left */
    int chained;       /* parameters from this one on are handed on by runs before: what they have
                          stored there is loaded, and nothing else is known; 0: none are */
    bool orders;       /* some reduction has an order: */
    bool notes;        /* it is the one that others are compared with */
};

/* Where the elements of a tile stand behind those of another shape, per axis of that shape. */
typedef struct signature_walk {
    int rank;
    int64_t extent[IR_MAX_RANK];
    int64_t at[IR_MAX_RANK]; /* coordinates */
} signature_walk;

static inline signature_tile *signature_tile_of(signature_tile_run *run, const ir_value *value) {
    return &run->tiles[value->number];
}

/* The next element in C order; false after the last. */
static inline bool signature_walk_next(signature_walk *walk) {
    for (int d = walk->rank - 1; d >= 0; d--) {
        if (++walk->at[d] < walk->extent[d])
            return true;
        walk->at[d] = 0;
    }
    return false;
}

/* ---- signature_tile.c ---- */
/* Gives the value's tile its shape and domain, and room. False: not known, or no work left. */
bool signature_tile_shape(signature_tile_run *run, const ir_value *value);

/* ---- signature_tile_value.c ---- */
/* Ops that compute. False: no work left, or a shape that is not known. */
bool signature_tile_compute(signature_tile_run *run, const ir_op *op);

/* ---- signature_tile_memory.c ---- */
bool signature_tile_load(signature_tile_run *run, const ir_op *op);
bool signature_tile_store(signature_tile_run *run, const ir_op *op);

#endif
