/* What the dialects of devices share whose lanes are threads, and what each says of itself.
 *
 *     gpu.c              the text: arguments, kernels, what is around a body
 *     gpu_supports.c     what a machine can run
 *     gpu_numbers.c      what a thread's number is made into: lanes, affine forms
 *     gpu_access.c       loads and stores, puts and gets
 *     gpu_packs.c        several neighbours in one access
 *     gpu_words.c        such a pack as words of 32 bits
 *     gpu_lanes.c        values that go from lane to lane, synchronisation
 *     gpu_arrays.c       scratch, and private arrays in the workspace
 *     gpu_prelude.c      the prelude
 *
 * A dialect is a row of spellings with few hooks (target_gpu_spelling), a table of its prelude and
 * its row of the table of targets: cuda.c.
 */
#ifndef TARGET_GPU_INTERNAL_H
#define TARGET_GPU_INTERNAL_H

#include "target/emitter_internal.h"
#include "target/prelude_internal.h"

enum { TARGET_GPU_EXCHANGES = 2 };

typedef struct target_gpu_spelling {
    const char *infinity, *nan;            /* of f32, as expressions */
    const char *const *words;              /* that no value may have as its name: of the language */
    const char *const *language;           /* more of them, shared by languages; NULL: none */
    bool (*is_reserved)(const char *name); /* beside the words; NULL: none is */
    const target_prelude_row *prelude;
    int64_t prelude_rows;
    const char *before_all; /* behind the comment in front; "": nothing */
    /* Before the type of what a pointer points to: of tensors and the workspace; of scratch. */
    const char *tensor_space, *scratch_space;
    const char *byte;           /* the type of a byte of memory */
    const char *thread, *block; /* the number of a thread in its group, of a group in its launch */
    const char *own;            /* the name of a thread's number in the text */
    const char *word_letters;   /* members of a pack of words; NULL: abcd */
    const char *workspace;      /* where that of the first group begins */
    /* Functions of the language: the same bits, and how many are set. */
    const char *f32_from_i32, *f32_from_u32, *i32_from_f32, *u32_from_f32, *popcount;
    int lock_step;    /* threads that exchange registers; 1: none do */
    bool any_threads; /* a group has just the lanes of its team, which need not fill those */
    int exchanges; /* pieces of scratch through which the others exchange in turn, 1 or 2: two need
                      one wait for each exchange, where they follow each other */
    int64_t scratch_declared; /* bytes of scratch that a text declares; past it the launch gives */
    bool policies;            /* there are loads and stores with a policy (ir_policy) */

    /* Why the machine is none of the dialect's, or lacks what it asks for; NULL: it has all. */
    const char *(*refuses)(const ir_module *module, const ir_op *op, const machine *machine);
    /* A comment before everything, declarations that all kernels share, the head of a kernel up to
     * its brace and what must stand behind it. */
    void (*title)(const ir_module *module, int threads, const machine *machine, base_text *out);
    void (*shared)(const target_emitter *emitter, base_text *out);
    void (*head)(const target_emitter *emitter, const char *entry, int threads, base_text *out);
    /* The call that waits for the launches in front, if launches of the machine overlap, else NULL;
     * the function is NULL where none do. */
    const char *(*follow)(const machine *machine);
    /* Declares the tensors that are used; NULL: the head has done so. */
    void (*tensors)(const target_emitter *emitter, const target_names *used, base_text *out);
    /* Declares `scratch`, so many bytes. */
    void (*scratch)(const target_emitter *emitter, int64_t bytes, base_text *out);
    /* The value of another lane of those that exchange registers: the lane's number, or NULL, that
     * of this one with bits turned over. NULL where none do. */
    const char *(*shuffle)(target_emitter *emitter, base_dtype dtype, const char *value,
                           int64_t turned, const char *number);
    /* What all lanes of a subgroup have together by an op whose order no bit shows; NULL: the
     * language has no function for it. NULL where none has. */
    const char *(*together)(const target_emitter *emitter, ir_opcode opcode, base_dtype dtype,
                            const char *value);
    /* All threads of the scope wait for each other, and see what the others wrote. */
    void (*wait)(target_emitter *emitter, ir_scope scope);
    /* The group says to its cluster that it has begun, or waits until all have; the number of a
     * group in its cluster, its scratch in another group. NULL: no clusters. */
    void (*cluster_begin)(target_emitter *emitter, bool wait);
    const char *(*block_number)(target_emitter *emitter);
    const char *(*far_scratch)(const target_emitter *emitter, const char *own, const char *block);
    /* A pack of elements: its type, element `i` of one as a value, one that has these elements. */
    const char *(*pack_type)(const target_emitter *emitter, base_dtype dtype, int count);
    const char *(*pack_part)(const target_emitter *emitter, base_dtype dtype, const char *pack,
                             int count, int i);
    const char *(*pack_of)(const target_emitter *emitter, base_dtype dtype, int count,
                           const char *const *elements);
} target_gpu_spelling;

/* A number that depends on the thread alone: computed once, before the body. */
typedef struct target_gpu_number {
    const char *type, *name, *text;
} target_gpu_number;

typedef struct target_gpu {
    target_emitter emitter; /* first: the dialect's functions get this */
    const target_gpu_spelling *spelling;
    target_dialect dialect; /* the emitter's */
    int lanes, subgroup;    /* of the team, of a subgroup */
    target_gpu_number *numbers;
    int64_t number_count, number_capacity;
    const ir_op **arrays; /* private and scratch */
    int64_t array_count, array_capacity;
    int64_t scratch_bytes;                      /* of all scratch, that of exchanges included */
    const char *exchange[TARGET_GPU_EXCHANGES]; /* the pieces; NULL: no value goes that way */
    int64_t exchange_count;                     /* so far */
    const ir_region *exchanged;                 /* where the last one stands */
    const ir_op *far; /* of the body: goes to another group's scratch, or holds what does, first */
    bool arrived;     /* the cluster was told that this group has begun */
    bool *loaded;     /* by value number: tensors that some load reads */
    bool *stored;     /* tensors that some store writes */
    bool one_thread;  /* planned for lanes that follow each other op by op, in memory too */
} target_gpu;

target_gpu *target_gpu_of(target_emitter *emitter);

const target_gpu_spelling *target_gpu_spelling_of(const target_emitter *emitter);

/* ---- gpu.c ---- */
/* As target.emit does it. */
void target_gpu_emit(base_arena *arena, const ir_module *const *modules, int count,
                     const machine *machine, const target_gpu_spelling *spelling,
                     target_source *sources);
/* The type of a value, of an element in memory. */
const char *target_gpu_type(base_dtype dtype);
const char *target_gpu_memory_type(base_dtype dtype);
/* Whether the op stands in a `when`. */
bool target_gpu_is_guarded(const ir_op *op);
/* Tensors, and words of every launch. */
int64_t target_gpu_pointer_count(const ir_module *module);
int64_t target_gpu_word_count(const ir_module *module);

/* ---- cxx_words.c ---- */
extern const char *const target_gpu_cxx_words[]; /* up to NULL */

/* ---- gpu_supports.c ---- */
const char *target_gpu_supports(const ir_module *module, const ir_op *op, const machine *machine,
                                const target_gpu_spelling *spelling);

/* ---- gpu_numbers.c ---- */
/* What an affine form adds by lane and subgroup, slots left out. */
typedef struct target_gpu_position {
    const char *name;        /* an i32, or an i64 if wide; NULL: 0 in all lanes */
    bool wide;               /* 32 bits do not hold it */
    int64_t least, greatest; /* of its values, unless wide */
    int64_t factor;          /* divides all values; 0: they are 0 */
} target_gpu_position;

target_gpu_position target_gpu_position_of(target_emitter *emitter, const ir_affine *affine);
/* The name of a number of the thread, given by its expression; equal ones are one. */
const char *target_gpu_number_of(target_emitter *emitter, const char *type, const char *wanted,
                                 const char *text);
/* A map of lanes by columns over GF(2), as an expression in `lane`. */
const char *target_gpu_columns(const target_emitter *emitter, const ir_list *columns);
/* Appends the declarations of the numbers that are there. */
void target_gpu_declare_numbers(target_emitter *emitter, const target_names *used, base_text *out);
bool target_gpu_is_power(int64_t number);

/* ---- gpu_access.c ---- */
void target_gpu_load(target_emitter *emitter, const ir_op *op);
void target_gpu_store(target_emitter *emitter, const ir_op *op);

typedef struct target_gpu_access {
    target_emitter *e;
    const ir_op *op;
    const ir_access *access;
    base_dtype dtype; /* of the array */
    bool scratch;
    bool wild; /* under a mask: the address may be anything */
    int slots;
    const char *pointer;
    const char *strides[IR_MAX_RANK]; /* NULL for 1 */
    target_gpu_position lanes[IR_MAX_RANK], mask;
    const char *base;  /* what slots and lanes do not change; NULL: 0 */
    const char *lane;  /* what a lane adds; NULL: 0 */
    const char *limit; /* the count of a range mask, as 32 bits hold it; NULL: the operand */
} target_gpu_access;

/* The element of a slot, as an lvalue; its place as an index. */
const char *target_gpu_element(const target_gpu_access *access, int slot);
const char *target_gpu_offset(const target_gpu_access *access, int slot);
/* The vector of a dimension's index is one number for all slots of a thread; false: there is none,
 * or that is not known. */
bool target_gpu_vector_is_alike(const target_gpu_access *access, int dimension);
/* The condition under which a slot takes part; NULL: always. */
const char *target_gpu_guard(const target_gpu_access *access, int slot);
/* What a slot has that takes no part in a load. */
const char *target_gpu_fill(const target_gpu_access *access, int slot);
/* What functions of the prelude that access memory as the policy says have in their names, `once`
 * or `last`; NULL: it is accessed as usual. */
const char *target_gpu_policy(const target_gpu_access *access);
/* What a slot has after the load, and the statement that stores it, with their guards. */
const char *target_gpu_loaded(const target_gpu_access *access, int slot);
const char *target_gpu_storing(const target_gpu_access *access, int slot);

/* ---- gpu_packs.c ---- */
/* Elements that one access moves; 1: each on its own. */
int target_gpu_pack(const target_gpu_access *access);
void target_gpu_load_packs(const target_gpu_access *access, int pack);
void target_gpu_store_packs(const target_gpu_access *access, int pack);

/* ---- gpu_words.c ---- */
/* The name of a vector of such elements in OpenCL C and MSL, before their number: f16 and bf16 are
 * their bits. */
const char *target_gpu_vector_of(base_dtype dtype);
/* Element `i` of a pack whose words are the members a, b, c and d, or as the letters say; the words
 * of one with these elements, parted by commas. */
const char *target_gpu_words_part(const target_emitter *emitter, base_dtype dtype, const char *pack,
                                  int i);
const char *target_gpu_words_of(const target_emitter *emitter, base_dtype dtype, int count,
                                const char *const *elements);

/* ---- gpu_lanes.c ---- */
void target_gpu_block(target_emitter *emitter, const ir_op *op);
void target_gpu_iota(target_emitter *emitter, const ir_op *op);
void target_gpu_combine(target_emitter *emitter, const ir_op *op);
void target_gpu_shuffle(target_emitter *emitter, const ir_op *op);
void target_gpu_xorslot(target_emitter *emitter, const ir_op *op);
void target_gpu_uniform(target_emitter *emitter, const ir_op *op);
void target_gpu_sync(target_emitter *emitter, const ir_op *op);

/* ---- gpu_arrays.c ---- */
/* Finds and names the arrays of the module and lays out its scratch. */
void target_gpu_find_arrays(target_emitter *emitter);
void target_gpu_declare_arrays(target_emitter *emitter, base_text *out);
/* Bytes of private arrays of a running group; NULL: none, or past what a formula holds (then
 * *fits is false). */
const layout_extent *target_gpu_workspace(const ir_module *module, bool *fits);
/* Bytes of all scratch arrays, each aligned, and of exchanges; -1: not known, or too many to count.
 */
int64_t target_gpu_scratch_bytes(const ir_module *module, const target_gpu_spelling *spelling);
/* The part of it that the launch gives. */
int64_t target_gpu_launch_scratch(target_emitter *emitter);
void target_gpu_pull(target_emitter *emitter, const ir_op *op);
void target_gpu_push(target_emitter *emitter, const ir_op *op);

/* ---- gpu_prelude.c ---- */
/* Appends the declarations of the prelude that `used` names, and those that they need. */
void target_gpu_prelude(base_text *out, const target_gpu_spelling *spelling, target_names *used,
                        target_names *written);
/* The names of all declarations of the prelude, up to NULL. */
const char *const *target_gpu_prelude_names(base_arena *arena, const target_gpu_spelling *spelling);

#endif
