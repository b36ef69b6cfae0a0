/* The emitter's face inside target/: what the structured walk shares with the dialects.
 *
 *     emit.c              the walk over the regions of a level-thread module, and control flow
 *     emit_arithmetic.c   the ops of the table, by their spelling
 *     emit_casts.c        conversions
 *     emit_sums.c         the parts of addresses
 *     emit_values.c       how values are called
 *     emit_text.c         lines, and the source lines that they come from
 *     emit_needs.c        what no effect depends on
 *     emit_runs.c         the loops over the registers of a team
 *     literals.c          constants and sizes
 *     prelude.c           the declarations that the text needs
 *
 * A dialect says how its types are called and writes what depends on the device: memory, lanes, the
 * prelude and the entry point. c.c is the dialect of the target cpu; those of devices whose lanes
 * are threads share gpu.c and are spellings of it: cuda.c.
 */
#ifndef TARGET_EMITTER_INTERNAL_H
#define TARGET_EMITTER_INTERNAL_H

#include "target/names_internal.h"
#include "target/target.h"

typedef struct target_emitter target_emitter;

typedef struct target_dialect {
    /* The type of a value in the emitted text. `vector`: one slot of all lanes in one variable. */
    const char *(*type)(const target_emitter *emitter, base_dtype dtype, bool vector);
    /* Slots are vector variables. */
    bool (*vectors)(const target_emitter *emitter);
    /* Whether the type has the language's operators, such as + and <; else helpers are called. */
    bool (*operators)(base_dtype dtype, bool vector);
    /* A scalar in all lanes. */
    const char *(*splat)(target_emitter *emitter, base_dtype dtype, const char *scalar);
    const char *infinity, *nan; /* of f32, as expressions */
    const char *const *words; /* of the language, which no value may have as its name; up to NULL */
    const char *const *language; /* more of them; NULL: none */
    /* Names beside the words that no value may have; NULL: none. */
    bool (*is_reserved)(const char *name);
    /* Before each op that is written, outside the loop over registers; NULL: nothing. */
    void (*before)(target_emitter *emitter, const ir_op *op);
    void (*block)(target_emitter *emitter, const ir_op *op);
    void (*iota)(target_emitter *emitter, const ir_op *op);
    void (*combine)(target_emitter *emitter, const ir_op *op);
    void (*shuffle)(target_emitter *emitter, const ir_op *op);
    void (*xorslot)(target_emitter *emitter, const ir_op *op);
    void (*uniform)(target_emitter *emitter, const ir_op *op);
    void (*sync)(target_emitter *emitter, const ir_op *op);
    /* Declares an array with an element per register, before the open loop. */
    void (*spread)(target_emitter *emitter, base_dtype dtype, const char *name);
    void (*load)(target_emitter *emitter, const ir_op *op);
    void (*store)(target_emitter *emitter, const ir_op *op);
    void (*pull)(target_emitter *emitter, const ir_op *op);
    void (*push)(target_emitter *emitter, const ir_op *op);
} target_dialect;

/* How a value is called: one name per slot (a literal for constants). */
typedef struct target_variable {
    const char **slots;
    int count;
    bool spread; /* each is an array with an element per register */
} target_variable;

/* The loop over the registers that is being written. */
typedef struct target_run {
    bool open;
    bool outside;             /* what is written now stands before it */
    base_text before;         /* what is declared for it */
    base_text outer;          /* the body around it */
    const ir_op **tensor_ops; /* loads and stores in it */
    int64_t count, capacity;
} target_run;

/* Where an op of lanes stands when there are several registers. */
typedef enum target_place {
    TARGET_JOINS_RUN,   /* each register on its own */
    TARGET_ENDS_RUN,    /* brings registers together, or must stand once */
    TARGET_OUTSIDE_RUNS /* before the loop: alike in all registers */
} target_place;

/* How a parameter and its strides are called. */
typedef struct target_parameter {
    const char *name;
    const char *strides[IR_MAX_RANK];
} target_parameter;

struct target_emitter {
    base_arena *arena;
    const ir_module *module;
    const machine *machine;
    const target_dialect *dialect;
    const char *suffix; /* of the names of its functions, which are static; NULL: they are exported
                           as `croft_NAME` */
    int lanes;          /* of a vector variable, a register; 1: scalars */
    int parts;          /* registers that hold a subgroup */
    int registers;      /* registers that hold the team */
    target_names names; /* every identifier that is taken */
    base_text body;
    int depth; /* of indentation */
    target_variable *variables;
    bool *needed;     /* by value number: some effect depends on it */
    bool *spread;     /* by value number: read outside the loop that makes it */
    bool *alike;      /* by value number: several registers, which have the same */
    target_run run;   /* several registers: the open loop */
    const char *part; /* several registers: the number of the register, in a loop */
    int64_t stack_bytes, spilled_bytes; /* of spread arrays: on the stack, in the workspace */
    target_parameter *parameters;
    const char **symbols; /* names of the sizes */
    const char *group;
    bool streams;                /* some store goes past the caches */
    const char *when;            /* inside `when`: the mask of the lanes that act; else NULL */
    base_location pending;       /* of the op being written; line 0 = its comment is written */
    int32_t comment_line;        /* of the last comment with a source line */
    const base_source *lines_of; /* the source whose lines are known, or NULL */
    const char **lines;          /* where each begins, and the end */
    int64_t line_count, line_capacity;
};

/* ---- target.c ---- */
/* Why no target runs an op, or NULL. `clusters`: groups reach each other's scratch; a wait of the
 * whole grid is refused as `no_grid_sync`. */
const char *target_supports_op(const ir_op *op, bool clusters, const char *no_grid_sync);

/* ---- emit.c ---- */
/* Names parameters and sizes and finds what is needed. Lanes, parts and registers are set. The
 * words of the language and the names of the prelude (up to NULL) are not given to values. */
void target_emit_begin(target_emitter *emitter, const char *const *prelude);
/* Writes the module's body at the given depth. */
void target_emit_body(target_emitter *emitter, int depth);

/* ---- emit_text.c ---- */
/* One line of the body, indented. */
void target_emit_line(target_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same, before the loop over registers where one is open. */
void target_emit_outside(target_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A text in the arena. */
const char *target_emit_text(const target_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- emit_values.c ---- */
/* What a slot of a value is called (slot 0 of a uniform) in the register of the loop, or in the one
 * that an expression says; as an operand of an op on vectors. */
const char *target_emit_name(const target_emitter *emitter, const ir_value *value, int slot);
const char *target_emit_part_name(const target_emitter *emitter, const ir_value *value, int slot,
                                  const char *part);
const char *target_emit_operand(target_emitter *emitter, const ir_value *value, int slot,
                                bool vector);
bool target_emit_is_vector(const target_emitter *emitter, const ir_type *type);
const char *target_emit_type(const target_emitter *emitter, const ir_value *value);
/* The identifier of a slot that has one. */
const char *target_emit_variable(const target_emitter *emitter, const ir_value *value, int slot);

/* Takes fresh names for all slots of a value; declares one slot, without or with its value. */
void target_emit_take_names(target_emitter *emitter, const ir_value *value, const char *fallback);
void target_emit_declare(target_emitter *emitter, const ir_value *value, int slot);
void target_emit_define(target_emitter *emitter, const ir_value *value, int slot,
                        const char *expression);
/* The value is called so, in every slot. */
void target_emit_alias(target_emitter *emitter, const ir_value *value, const char *name);
/* Slot s of the value is slot slots[s] of another one; NULL: s, or the only one. */
void target_emit_rename(target_emitter *emitter, const ir_value *value, const ir_value *from,
                        const int64_t *slots);
/* A name that nothing else has. */
const char *target_emit_fresh(target_emitter *emitter, const char *wanted);

/* ---- emit_sums.c ---- */
/* The parts of an address as text; NULL is 0. a + b and a * stride; `wrap`: by a function that
 * wraps. */
const char *target_emit_sum(const target_emitter *emitter, bool wrap, const char *a, const char *b);
const char *target_emit_product(const target_emitter *emitter, bool wrap, const char *a,
                                const char *stride);
const char *target_emit_addend(const target_emitter *emitter, int64_t value);
/* What neither slots nor lanes change of an access: its operands, each by the stride of its
 * dimension (NULL: 1). */
const char *target_emit_base(const target_emitter *emitter, const ir_op *op, bool wrap,
                             const char *const strides[IR_MAX_RANK]);
/* A word or a number: repeating it costs nothing. */
bool target_emit_is_word(const char *text);

/* ---- emit_arithmetic.c ---- */
/* An op of the table, a fold. */
void target_emit_arithmetic(target_emitter *emitter, const ir_op *op);
void target_emit_fold(target_emitter *emitter, const ir_op *op);
/* The op on two operands, as an expression. */
const char *target_emit_binary(target_emitter *emitter, ir_opcode opcode, base_dtype dtype,
                               bool vector, const char *a, const char *b);
ir_opcode target_emit_combine_opcode(const ir_op *op);
/* select(lt(p, q), p, q) and select(lt(p, q), q, p) on f32 are one instruction on most machines:
 * `lesser(p, q)` is p < q ? p : q and `greater(q, p)` is q > p ? q : p. NULL when op is neither. */
const char *target_emit_extreme(const ir_op *op);

/* ---- emit_casts.c ---- */
const char *target_emit_cast(target_emitter *emitter, const ir_op *op, const char *operand,
                             bool vector);
const char *target_emit_bitcast(target_emitter *emitter, const ir_op *op, const char *operand,
                                bool vector);
/* `to_from_from(expression)` on a vector, or the same on a scalar. */
const char *target_emit_convert(const target_emitter *emitter, const char *to, const char *from,
                                bool vector, const char *expression);

/* ---- emit_needs.c ---- */
void target_emit_find_needs(target_emitter *emitter);
bool target_emit_is_needed(const target_emitter *emitter, const ir_op *op);

/* ---- emit_runs.c ---- */
/* Finds what is spread over the registers. */
void target_emit_find_runs(target_emitter *emitter);
bool target_emit_is_spread(const target_emitter *emitter, const ir_value *value);
target_place target_emit_place(const target_emitter *emitter, const ir_op *op);
/* Whether an access must not share a loop with those before; adds it to them. */
bool target_emit_is_apart(const target_emitter *emitter, const ir_op *op);
void target_emit_touch(target_emitter *emitter, const ir_op *op);
/* Begin a loop over the registers unless one is open or there is one register; write it. */
void target_emit_run_open(target_emitter *emitter);
void target_emit_run_close(target_emitter *emitter);

/* ---- literals.c ---- */
/* A size formula as an expression of type i64. */
const char *target_emit_extent(target_emitter *emitter, const layout_extent *extent);
/* A constant: exact, in parentheses when negative. */
const char *target_emit_literal(const target_emitter *emitter, ir_constant constant);
const char *target_emit_integer(const target_emitter *emitter, int64_t value);
/* The integer of a constant value. */
bool target_emit_is_integer(const ir_value *value, int64_t *integer);

/* ---- c_access.c ---- */
/* Loads and gets; stores and puts. */
void target_c_load(target_emitter *emitter, const ir_op *op);
void target_c_store(target_emitter *emitter, const ir_op *op);
/* Whether a store goes past the caches. */
bool target_c_streams(target_emitter *emitter, const ir_op *op);

/* ---- c_position.c ---- */
/* What an affine form adds by lane and subgroup, slots left out. */
typedef struct target_c_position {
    const char *part;     /* by register: an expression in its number; NULL = 0 */
    bool positive;        /* which is 0 or more everywhere */
    const int64_t *lanes; /* by lane of a register, all of them alike; NULL: then `table` */
    bool strided;         /* lanes[l] = l * stride */
    int64_t stride;
    const char *table; /* no such sum: the vector of the register */
} target_c_position;

target_c_position target_c_position_of(target_emitter *emitter, const ir_affine *affine);
/* The vector of i64 of that and an offset. */
const char *target_c_position_vector(target_emitter *emitter, const target_c_position *position,
                                     int64_t offset);
/* Numbers as a vector of i64. */
const char *target_c_vector(const target_emitter *emitter, const int64_t *lanes, int64_t offset);

/* ---- c_lanes.c ---- */
void target_c_iota(target_emitter *emitter, const ir_op *op);
void target_c_combine(target_emitter *emitter, const ir_op *op);
void target_c_shuffle(target_emitter *emitter, const ir_op *op);
void target_c_xorslot(target_emitter *emitter, const ir_op *op);
void target_c_uniform(target_emitter *emitter, const ir_op *op);
void target_c_sync(target_emitter *emitter, const ir_op *op);
/* A register in which lane l has element from[l] of `count` registers in a row, as an expression.
 */
const char *target_c_gather(const target_emitter *emitter, base_dtype dtype,
                            const char *const *sources, int count, const int64_t *from);

/* ---- c.c ---- */
/* The functions of a module: its entry and its queries. */
typedef struct target_c_functions {
    const char *entry; /* the name of the first; the others are behind it */
    int lanes;         /* of a vector */
    bool workspace;    /* it may need some */
    base_text text;    /* the entry and its groups */
    base_text asking;  /* its workspace */
} target_c_functions;

/* `suffix` as in the emitter. */
target_c_functions target_c_functions_of(base_arena *arena, const ir_module *module,
                                         const machine *on, const char *suffix);
/* An emitter that has written nothing. */
void target_c_begin(target_emitter *emitter, base_arena *arena, const ir_module *module,
                    const machine *on, const char *suffix);
/* Pragmas before all else, and words that no value may have as its name, up to NULL. */
extern const char target_c_pragmas[];
extern const char *const target_c_words[];
void target_c_emit(base_arena *arena, const ir_module *const *modules, int count,
                   const machine *machine, target_source *sources);
const char *target_c_ignores_policy(base_arena *arena, const ir_module *module, const ir_op *op,
                                    const machine *machine);
/* The type that a dtype has in registers. */
base_dtype target_c_register_dtype(base_dtype dtype);
/* The type of an element in memory. */
base_dtype target_c_memory_dtype(base_dtype dtype);
/* From what is in memory (bool: a byte, 0 or 1) to a value, and back. */
const char *target_c_from_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                                 const char *expression);
const char *target_c_to_memory(const target_emitter *emitter, base_dtype dtype, bool vector,
                               const char *expression);

/* Declares those of the words that are used: sizes, strides of each tensor, scalars. */
void target_c_declare_words(const target_emitter *emitter, const target_names *used,
                            base_text *out);

/* ---- c_arrays.c ---- */
/* The private and scratch arrays of a module, in order: its workspace. */
typedef struct target_c_arrays {
    base_arena *arena;
    const ir_op **ops;
    int64_t count, capacity;
} target_c_arrays;

/* Finds and names them; declares them as pieces of `memory`. */
target_c_arrays target_c_arrays_find(target_emitter *emitter);
void target_c_arrays_declare(target_emitter *emitter, const target_c_arrays *arrays,
                             base_text *out);
/* Spread arrays lie on the stack up to a limit, the others at the workspace's beginning. */
void target_c_spread(target_emitter *emitter, base_dtype dtype, const char *name);
/* Bytes of one cell. */
int64_t target_c_cell_bytes(const target_emitter *emitter, const ir_op *array);
void target_c_pull(target_emitter *emitter, const ir_op *op);
void target_c_push(target_emitter *emitter, const ir_op *op);

/* ---- c_queries.c ---- */
/* Append `i64 ENTRY_groups(const i64 *words)` and `i64 ENTRY_workspace(const i64 *words)`. Both
 * return -1 where a size formula leaves 64 bits. */
void target_c_groups(target_emitter *emitter, const char *entry, base_text *out);
void target_c_workspace(target_emitter *emitter, const char *entry, const target_c_arrays *arrays,
                        base_text *out);
/* The same for `i64 ENTRY_rows(const i64 *words)`, the programs of the first axis, 1 where there is
 * none, and -1 also where the bytes of one of the first `parameters` leave 63 bits; and for `i64
 * ENTRY_handed(const i64 *words)`, the bytes of the tensors from parameter `first` on, each up to a
 * multiple of 64. */
void target_c_rows(target_emitter *emitter, const char *entry, int parameters, base_text *out);
void target_c_handed(target_emitter *emitter, const char *entry, int first, base_text *out);

/* ---- c_prelude.c ---- */
/* Appends the declarations of the prelude that `used` names, and those that they need. `flags`: of
 * the compiler, of which the text is sure; NULL: it asks the preprocessor. */
void target_c_prelude(base_text *out, target_names *used, target_names *written, int lanes,
                      const char *flags);
/* The names of all declarations of the prelude for this number of lanes, up to NULL. */
const char *const *target_c_prelude_names(base_arena *arena, int lanes);

#endif
