/* What a program leaves in its tensors: of every cell that was stored, the signature and the number
 * that were stored last.
 *
 *     tile     store %y[3, 0 : 70], %d         y 210: {x 210, sum of ..}, y 211: ..
 *     thread   store %y[%b + lane + slot*16]   the same cells, in another order
 *
 * Two memories are compared cell by cell. Cells are kept in a hash table: what is stored counts,
 * not how large the tensors are.
 */
#ifndef VERIFY_SIGNATURE_MEMORY_INTERNAL_H
#define VERIFY_SIGNATURE_MEMORY_INTERNAL_H

#include "ir/module.h"
#include "verify/signature_table_internal.h"

/* Of integers and bools that are known: the number. Of others the number that stands for the value
 * in the model (signature_model.c), where there is one. */
typedef struct signature_value {
    signature mark;
    bool known, modelled;
    bool literal; /* of literals alone: a pass may have written it as one */
    int64_t number;
} signature_value;

static inline bool signature_is_modelled(const signature_value *value) {
    return value->known || value->modelled;
}

typedef struct signature_cell {
    int64_t cell;
    int32_t tensor;    /* parameter; -1: an empty place of the table */
    int32_t writer;    /* who else may write and read the cell in some order: a program, or the
                          group or lane that runs it */
    uint64_t instance; /* of the store op: one iteration of it */
    const ir_op *op;   /* the store */
    bool torn;         /* written twice by one instance: any of the values may be there */
    signature_value value;
} signature_cell;

typedef struct signature_memory {
    base_arena *arena;
    signature_cell *cells;
    int64_t count, capacity; /* a power of two */
    bool *open;              /* by parameter: it was stored to by what was not followed, */
    bool *doubtful;          /* .. by a store whose mask or index depends on data */
    bool *scattered;         /* a store has an index that depends on data, which was followed */
} signature_memory;

void signature_memory_start(signature_memory *memory, base_arena *arena, int parameters);
/* Room for so many cells more. */
void signature_memory_reserve(signature_memory *memory, int64_t cells);
/* NULL when the cell has not been stored. */
const signature_cell *signature_memory_find(const signature_memory *memory, int tensor,
                                            int64_t cell);
void signature_memory_store(signature_memory *memory, const signature_cell *stored);

#endif
