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
 * A position is lane * slots + slot; a uniform has one.
 *
 * The groups of a cluster are replayed together, each op in all of them before the next one, so
 * that what one puts into another's scratch is there when it is got. They have values and arrays of
 * their own, and one of them its turn; loops and branches they go through alike. */
#ifndef VERIFY_REPLAY_INTERNAL_H
#define VERIFY_REPLAY_INTERNAL_H

#include "verify/signature_internal.h"

enum { REPLAY_ROUNDS = 6 };
enum { REPLAY_EXTENTS = 16 /* of tensors */ };
/* Positions of a value: 1024 lanes of 128 slots. */
enum { REPLAY_POSITIONS = 1 << 17, REPLAY_WORDS = REPLAY_POSITIONS / 64 };

typedef enum replay_plane {
    REPLAY_OUTSIDE,
    REPLAY_UNSET,
    REPLAY_STANDIN,
    REPLAY_UNNUMBERED, /* where a number of a `partly` known value is not known */
    REPLAY_UNMODELLED, /* where a `modelled` value has no number of the model */
    REPLAY_PLANES
} replay_plane;

/* Signatures by position, or one for all; shared by values that have the same. */
typedef struct replay_marks {
    int references, count;
    bool special;              /* some may be partial results or constants */
    struct replay_marks *next; /* in the list of free ones */
    signature *items;
} replay_marks;

typedef struct replay_value {
    int positions, words;
    uint64_t *plane[REPLAY_PLANES]; /* a bit for each position */
    bool known;                     /* integers and bools: the numbers are exact */
    bool partly;                    /* .. but where they are unnumbered */
    bool modelled; /* there are numbers of the model, where none is known, but where unmodelled */
    replay_marks *marks;        /* signatures; NULL: constants */
    int64_t *number;            /* by position; NULL until known once */
    const ir_constant *literal; /* every position holds it, or NULL */
    const ir_constant *standin; /* what stand-ins hold */
} replay_value;

typedef struct replay_array {
    int64_t cells;
    int words;       /* of a cell; 0: not followed */
    uint64_t *unset; /* [cell * words] */
    bool maybe;      /* something that was not replayed may have pushed */
    int positions;   /* of a cell */
    int64_t held_capacity;
    signature_value *held; /* private: [cell * positions]. scratch: [cell]. NULL: not followed */
} replay_array;

typedef struct replay_tensor {
    const ir_value *value;
    ir_access_mode mode;
    int64_t extent[IR_MAX_RANK];
    int64_t cells;  /* -1: too many */
    int32_t *owner; /* out: 0, or the run and the lane that stored last */
    /* inout, where it is followed: 0, or the run and the lane that came to the cell; 0 as the lane:
     * several. Of loads, and of stores. */
    int32_t *reader, *writer;
    bool maybe; /* as above */
} replay_tensor;

typedef struct replay_owner_room {
    int32_t *owner;
    int64_t cells;
} replay_owner_room;

typedef struct replay {
    verify_state *state;
    base_arena *arena;
    int lanes;
    int blocks;      /* groups of a cluster, replayed op by op side by side; 1: no cluster */
    int first, last; /* those of them that are replayed now */
    replay_value **own_values; /* by block, by number */
    replay_array **own_arrays;
    replay_value *values; /* of the block whose turn it is, by number */
    replay_array *arrays; /* the same */
    const int8_t *carry;  /* by number: 1 + the operand of a joining op that is its carry, else 0 */
    replay_tensor *tensors;           /* by parameter */
    struct replay_owner_room *owners; /* by parameter: of rounds before */
    uint64_t *writes; /* hash table: of a store, its iteration and a cell; 0 = empty */
    int64_t write_count, write_capacity;
    uint64_t iteration; /* the indices of all loops around, hashed */
    int64_t *sizes;
    int64_t first_group; /* of the cluster */
    int64_t group, loaded;
    int64_t extents[REPLAY_EXTENTS]; /* those of tensors, each once */
    int extent_count;
    int32_t run, first_run; /* groups replayed; when the cluster began */
    const ir_value *when;
    int64_t work;        /* that is left; 0: nothing is said any more */
    bool signing;        /* signatures are computed, and loops run whole */
    int32_t *program_of; /* by lane: the first lane that has the same programs */
    signature_setting setting;
    signature_memory wanted, stored;
    signature_tile_run *tile;
    int64_t positions;        /* of the widest vector */
    int64_t *cells, *indices; /* of replay_rows.c: room for positions */
    uint64_t *of_slot;
    int64_t unsigned_work, signed_work, *tile_work;
    int64_t group_work, group_tile_work;        /* the most that a group has taken */
    replay_marks *unknown, *outside, *compared; /* of one mark each; NULL until needed */
    replay_marks *free[2];                      /* of one position, of many */
    void *meeting;                              /* of replay_lanes.c: room for positions */
    signature *meeting_marks;
    int meeting_positions;
    const ir_op *reported[BASE_DIAGNOSTIC_LIMIT];
    int reported_count;
} replay;

/* Of bits by position or by cell. */
static inline bool replay_bit(const uint64_t *bits, int64_t at) {
    return (bits[at / 64] >> (at % 64) & 1) != 0;
}

/* ---- replay.c ---- */
/* The values, arrays and group number are those of this block from now on. */
void replay_turn(replay *r, int block);
void replay_region(replay *r, const ir_region *region);

/* ---- replay_round.c ---- */
void replay_rounds(replay *r);

/* ---- replay_value.c ---- */
replay_value *replay_of(const replay *r, const ir_value *value);
uint64_t replay_word(const replay_value *value, replay_plane plane, int word);
int64_t replay_number(const replay_value *value, int position);
/* Makes the value one of elements that are not known. */
void replay_clear(replay *r, replay_value *value);
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
/* Nothing will be compared of the tensor. */
void replay_open(replay *r, const replay_tensor *tensor);
/* NULL when the value is no tensor parameter. */
replay_tensor *replay_tensor_of(replay *r, const ir_value *tensor);

/* ---- replay_access.c ---- */
/* Positions where the access happens, as bits, and those of them that nothing decided: where a mask
 * or an index is outside or unset. False when that cannot be computed. */
bool replay_active(replay *r, const ir_op *op, int positions, uint64_t active[REPLAY_WORDS]);
void replay_index_planes(const replay *r, const ir_op *op, int word, uint64_t planes[2]);
/* The number of the cell at a position; false when it is unknown or not inside the tensor. */
bool replay_cell(replay *r, const ir_op *op, const replay_tensor *tensor, int position, int slots,
                 int64_t *cell);

/* ---- replay_rows.c: all positions at once ---- */
/* Room for the positions of the widest vector. */
void replay_rows_begin(replay *r);
/* Adds the affine form at every position. */
void replay_add_affine(replay *r, const ir_affine *affine, int positions, int slots,
                       int64_t *numbers);
/* The cells at all positions, until the next call; -1 where an index is outside. NULL: the number
 * of an index is not known. */
const int64_t *replay_cells(replay *r, const ir_op *op, const replay_tensor *tensor, int positions,
                            int slots);
/* Whether all indices are known and none comes from data. */
bool replay_index_is_constant(const replay *r, const ir_op *op);

/* ---- replay_marks.c: signatures, when r->signing ---- */
/* What is known of a position. */
signature_value replay_at(const replay *r, const replay_value *value, int position);
/* Sets all positions of a value, by number; replay_set_end once after the last. */
void replay_set_begin(replay *r, replay_value *value);
void replay_set(replay *r, replay_value *value, int position, signature_value to);
void replay_set_end(replay *r, replay_value *value);
/* Nothing may be said of the value. */
void replay_forget(replay *r, replay_value *value);
void replay_share_marks(replay *r, replay_value *to, replay_marks *marks);
/* The signatures (and, of integers, the numbers) of what an op computes. */
void replay_marks_compute(replay *r, const ir_op *op);
void replay_marks_load(replay *r, const ir_op *op, const uint64_t *active, bool decided);
/* Whether an index comes from data. */
bool replay_is_scattered(const replay *r, const ir_op *op, int position, int slots);
/* `constant`: replay_index_is_constant. */
void replay_marks_store(replay *r, const ir_op *op, int position, int64_t cell, bool constant);

/* ---- replay_lanes.c: ops by which lanes and slots meet ---- */
bool replay_is_collective(const ir_op *op);
void replay_collective(replay *r, const ir_op *op);

/* ---- replay_scratch.c ---- */
void replay_start_scratch(replay *r, const ir_op *op);
void replay_put(replay *r, const ir_op *op);
void replay_get(replay *r, const ir_op *op);

/* ---- replay_programs.c ---- */
/* The programs of a group, one after the other. */
typedef struct replay_programs {
    int count;
    int64_t first[IR_MAX_PROGRAMS], end[IR_MAX_PROGRAMS], next[IR_MAX_PROGRAMS];
    int64_t ordinal_radix[IR_MAX_PROGRAMS];
    int64_t together, walking; /* programs at once, and groups that walk over one axis; 0: none */
} replay_programs;

/* False when the group has none, or the digits do not say which. */
bool replay_programs_first(replay_programs *at, const replay *r, int64_t group);
void replay_programs_next(replay_programs *at);
int64_t replay_programs_count(const replay_programs *at);
/* The indices of the program, and a number for it. */
void replay_programs_read(const replay_programs *at, const replay *r,
                          int64_t programs[IR_MAX_PROGRAMS], int32_t *writer);

/* ---- replay_sizes.c ---- */
void replay_choose_sizes(replay *r, int round);
/* Tensors of these sizes; nothing is written yet. False when no call has them. */
bool replay_start_round(replay *r, int round);

/* The machine of the plan runs a team as one thread, so that its lanes come one after the other. */
bool replay_in_step(const replay *r);

/* True once for an op: whether a finding about it is new. */
bool replay_is_news(replay *r, const ir_op *op);

#endif
