/* The cuda dialect's face inside target/: what its files share.
 *
 *     cuda.c             types, the entry, what is around the body
 *     cuda_supports.c    what a machine can run
 *     cuda_numbers.c     what a thread's number is made into: lanes, affine forms
 *     cuda_access.c      loads and stores, puts and gets
 *     cuda_packs.c       several neighbours in one access
 *     cuda_lanes.c       values that go from lane to lane, synchronisation
 *     cuda_arrays.c      scratch in shared memory, private arrays in the workspace
 *     cuda_prelude.c     the prelude
 */
#ifndef TARGET_CUDA_INTERNAL_H
#define TARGET_CUDA_INTERNAL_H

#include "target/emitter_internal.h"

/* Threads that the device runs in lock step and lets exchange values. */
enum { CUDA_WARP = 32 };

/* A number that depends on the thread alone: computed once, before the body. */
typedef struct target_cuda_number {
    const char *type, *name, *text;
} target_cuda_number;

typedef struct target_cuda {
    target_emitter emitter; /* first: the dialect's functions get this */
    int lanes, subgroup;    /* of the team, of a subgroup */
    target_cuda_number *numbers;
    int64_t number_count, number_capacity;
    const ir_op **arrays; /* private and scratch */
    int64_t array_count, array_capacity;
    int64_t scratch_bytes; /* of all scratch, that of exchanges included */
    const char *exchange;  /* scratch through which a subgroup of several warps goes; NULL */
    bool *loaded;          /* by value number: tensors that some load reads */
    bool *stored;          /* tensors that some store writes */
    bool one_thread;       /* planned for lanes that follow each other op by op, in memory too */
} target_cuda;

target_cuda *target_cuda_of(target_emitter *emitter);

/* ---- cuda.c ---- */
void target_cuda_emit(base_arena *arena, const ir_module *const *modules, int count,
                      const machine *machine, target_source *sources);
/* The type of an element in memory. */
const char *target_cuda_memory_type(const target_emitter *emitter, base_dtype dtype);
/* Whether the op stands in a `when`. */
bool target_cuda_is_guarded(const ir_op *op);

/* ---- cuda_supports.c ---- */
const char *target_cuda_supports(const ir_module *module, const ir_op *op, const machine *machine);

/* ---- cuda_numbers.c ---- */
/* What an affine form adds by lane and subgroup, slots left out. */
typedef struct target_cuda_position {
    const char *name;        /* an i32, or an i64 if wide; NULL: 0 in all lanes */
    bool wide;               /* 32 bits do not hold it */
    int64_t least, greatest; /* of its values, unless wide */
    int64_t factor;          /* divides all values; 0: they are 0 */
} target_cuda_position;

target_cuda_position target_cuda_position_of(target_emitter *emitter, const ir_affine *affine);
/* The name of a number of the thread, given by its expression; equal ones are one. */
const char *target_cuda_number_of(target_emitter *emitter, const char *type, const char *wanted,
                                  const char *text);
/* A map of lanes by columns over GF(2), as an expression in `lane`. */
const char *target_cuda_columns(const target_emitter *emitter, const ir_list *columns);
/* The lanes of this warp that are there. */
const char *target_cuda_warp_mask(target_emitter *emitter);
/* Appends the declarations of the numbers that are there. */
void target_cuda_declare_numbers(target_emitter *emitter, const target_names *used, base_text *out);
bool target_cuda_is_power(int64_t number);

/* ---- cuda_access.c ---- */
void target_cuda_load(target_emitter *emitter, const ir_op *op);
void target_cuda_store(target_emitter *emitter, const ir_op *op);

typedef struct target_cuda_access {
    target_emitter *e;
    const ir_op *op;
    const ir_access *access;
    base_dtype dtype; /* of the array */
    bool scratch;
    bool wild; /* under a mask: the address may be anything */
    int slots;
    const char *pointer;
    const char *strides[IR_MAX_RANK]; /* NULL for 1 */
    target_cuda_position lanes[IR_MAX_RANK], mask;
    const char *base;  /* what slots and lanes do not change; NULL: 0 */
    const char *lane;  /* what a lane adds; NULL: 0 */
    const char *limit; /* the count of a range mask, as 32 bits hold it; NULL: the operand */
} target_cuda_access;

/* The element of a slot, as an lvalue; its place as an index. */
const char *target_cuda_element(const target_cuda_access *access, int slot);
const char *target_cuda_offset(const target_cuda_access *access, int slot);
/* The vector of a dimension's index is one number for all slots of a thread; false: there is none,
 * or that is not known. */
bool target_cuda_vector_is_alike(const target_cuda_access *access, int dimension);
/* The condition under which a slot takes part; NULL: always. */
const char *target_cuda_guard(const target_cuda_access *access, int slot);
/* What a slot has that takes no part in a load. */
const char *target_cuda_fill(const target_cuda_access *access, int slot);
/* Loads and stores that leave the caches first. */
bool target_cuda_streams(const target_cuda_access *access);
/* What a slot has after the load, and the statement that stores it, with their guards. */
const char *target_cuda_loaded(const target_cuda_access *access, int slot);
const char *target_cuda_storing(const target_cuda_access *access, int slot);

/* ---- cuda_packs.c ---- */
/* Elements that one access moves; 1: each on its own. */
int target_cuda_pack(const target_cuda_access *access);
void target_cuda_load_packs(const target_cuda_access *access, int pack);
void target_cuda_store_packs(const target_cuda_access *access, int pack);

/* ---- cuda_lanes.c ---- */
void target_cuda_block(target_emitter *emitter, const ir_op *op);
void target_cuda_iota(target_emitter *emitter, const ir_op *op);
void target_cuda_combine(target_emitter *emitter, const ir_op *op);
void target_cuda_shuffle(target_emitter *emitter, const ir_op *op);
void target_cuda_xorslot(target_emitter *emitter, const ir_op *op);
void target_cuda_uniform(target_emitter *emitter, const ir_op *op);
void target_cuda_sync(target_emitter *emitter, const ir_op *op);
/* All threads of the group wait for each other, and see what the others wrote. */
void target_cuda_wait(target_emitter *emitter);

/* ---- cuda_arrays.c ---- */
/* Finds and names the arrays of the module and lays out its scratch. */
void target_cuda_find_arrays(target_emitter *emitter);
void target_cuda_declare_arrays(target_emitter *emitter, base_text *out);
/* Bytes of private arrays of a running group; NULL: none, or past what a formula holds (then
 * *fits is false). */
const layout_extent *target_cuda_workspace(const ir_module *module, bool *fits);
/* Bytes of all scratch arrays, each aligned; -1: not known, or too many to count. */
int64_t target_cuda_scratch_bytes(const ir_module *module);
/* The part of it that the launch gives. */
int64_t target_cuda_launch_scratch(target_emitter *emitter);
void target_cuda_pull(target_emitter *emitter, const ir_op *op);
void target_cuda_push(target_emitter *emitter, const ir_op *op);

/* ---- cuda_prelude.c ---- */
/* Appends the declarations of the prelude that `used` names, and those that they need. */
void target_cuda_prelude(base_text *out, target_names *used, target_names *written);
/* The names of all declarations of the prelude, up to NULL. */
const char *const *target_cuda_prelude_names(base_arena *arena);

#endif
