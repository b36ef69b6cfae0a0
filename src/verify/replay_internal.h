/* Replaying a thread module: control, indices and masks are computed for every lane and slot; of
 * data only this is known, position by position:
 *
 *     an element   computed from elements
 *     outside      no element stands here: a load behind its mask, and what is computed from it
 *     unset        a cell that its lane has pushed no element to: later steps may do without it
 *     stand-in     outside, but a select put a constant there. The identity of a monoid may enter a
 *                  reduction; whatever else is done with it is outside.
 *
 *     %t = load %x[lane*1] mask=lane*1 < %5       element element element element element out ...
 *     %u = select %inside, %t, %zero              ... stand-in 0 from lane 5 on
 *     %s = add %acc, %u                           an element, in every lane
 *
 * A position is lane * slots + slot; a uniform has one. */
#ifndef VERIFY_REPLAY_INTERNAL_H
#define VERIFY_REPLAY_INTERNAL_H

#include "verify/explore_internal.h"

enum { REPLAY_ROUNDS = 3 };
enum { REPLAY_WRITES = 1 << 13 /* that are remembered */ };
enum { REPLAY_POSITIONS = 1024, REPLAY_WORDS = REPLAY_POSITIONS / 64 };

typedef enum replay_plane {
    REPLAY_OUTSIDE,
    REPLAY_UNSET,
    REPLAY_STANDIN,
    REPLAY_PLANES
} replay_plane;

typedef struct replay_value {
    int positions, words;
    uint64_t *plane[REPLAY_PLANES]; /* a bit for each position */
    bool known;                     /* integers and bools: the numbers are exact */
    int64_t *number;                /* by position; NULL until known once */
    const ir_constant *literal;     /* every position holds it, or NULL */
    const ir_constant *standin;     /* what stand-ins hold */
} replay_value;

typedef struct replay_array {
    int64_t cells;
    int words;       /* of a cell; 0: not followed */
    uint64_t *unset; /* [cell * words] */
    bool maybe;      /* something that was not replayed may have pushed */
} replay_array;

typedef struct replay_tensor {
    const ir_value *value;
    ir_access_mode mode;
    int64_t extent[IR_MAX_RANK];
    int64_t cells;  /* -1: too many */
    int32_t *owner; /* out: 0, or the run and the lane that stored last */
    bool maybe;     /* as above */
} replay_tensor;

typedef struct replay {
    verify_state *state;
    base_arena *arena;
    int lanes;
    replay_value *values; /* by number */
    replay_array *arrays; /* by number */
    const int8_t *carry;  /* by number: 1 + the operand of a joining op that is its carry, else 0 */
    replay_tensor *tensors; /* by parameter */
    uint64_t *writes;       /* hash table: of a store, its iteration and a cell; 0 = empty */
    int64_t write_count;
    uint64_t iteration; /* the indices of all loops around, hashed */
    int64_t *sizes;
    int64_t group, loaded;
    int32_t run; /* groups replayed */
    const ir_value *when;
    int64_t work; /* that is left; 0: nothing is said any more */
    const ir_op *reported[BASE_DIAGNOSTIC_LIMIT];
    int reported_count;
} replay;

/* ---- replay_value.c ---- */
replay_value *replay_of(const replay *r, const ir_value *value);
uint64_t replay_word(const replay_value *value, replay_plane plane, int word);
int64_t replay_number(const replay_value *value, int position);
/* Makes the value one of elements that are not known. */
void replay_clear(replay_value *value);
/* Room for the numbers, which become known. */
int64_t *replay_numbers(replay *r, replay_value *value);
void replay_copy(replay *r, replay_value *to, const replay_value *from);
/* Ops that compute: leaves, the op table, select, broadcast, fold, combine. */
void replay_compute(replay *r, const ir_op *op);

/* ---- replay_select.c ---- */
void replay_select(replay *r, const ir_op *op);

/* ---- replay_memory.c ---- */
void replay_load(replay *r, const ir_op *op);
void replay_store(replay *r, const ir_op *op);
void replay_pull(replay *r, const ir_op *op);
void replay_push(replay *r, const ir_op *op);
replay_array *replay_array_of(replay *r, const ir_value *array);
/* NULL when the value is no tensor parameter. */
replay_tensor *replay_tensor_of(replay *r, const ir_value *tensor);

/* ---- replay_access.c ---- */
/* Positions where the access happens, as bits, and those of them that nothing decided: where a mask
 * or an index is outside or unset. False when that cannot be computed. */
bool replay_active(const replay *r, const ir_op *op, int positions, uint64_t active[REPLAY_WORDS]);
void replay_index_planes(const replay *r, const ir_op *op, int word, uint64_t planes[2]);
/* The number of the cell at a position; false when it is unknown or not inside the tensor. */
bool replay_cell(replay *r, const ir_op *op, const replay_tensor *tensor, int position, int slots,
                 int64_t *cell);

/* ---- replay_sizes.c ---- */
/* Sizes and tensors of the round; nothing is written yet. False when no call has these sizes. */
bool replay_start_round(replay *r, int round);

/* True once for an op: whether a finding about it is new. */
bool replay_is_news(replay *r, const ir_op *op);

#endif
