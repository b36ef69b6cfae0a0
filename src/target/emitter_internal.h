/* The emitter's face inside target/: what the structured walk (emit.c) shares with the dialects.
 *
 * emit.c walks the regions of a level-thread module, names every value, spells arithmetic from a
 * table and writes control flow. A dialect says how its types are called and writes what depends on
 * the device: memory, lanes, the prelude and the entry point. c.c is the dialect of the cpu target.
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
    const char *(*cast)(target_emitter *emitter, const ir_op *op, const char *operand, bool vector);
    const char *(*bitcast)(target_emitter *emitter, const ir_op *op, const char *operand,
                           bool vector);
    void (*iota)(target_emitter *emitter, const ir_op *op);
    void (*combine)(target_emitter *emitter, const ir_op *op);
    void (*load)(target_emitter *emitter, const ir_op *op);
    void (*store)(target_emitter *emitter, const ir_op *op);
    void (*pull)(target_emitter *emitter, const ir_op *op);
    void (*push)(target_emitter *emitter, const ir_op *op);
} target_dialect;

/* How a value is called: one name per slot (a literal for constants). */
typedef struct target_variable {
    const char **slots;
    int count;
} target_variable;

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
    target_names names; /* every identifier that is taken */
    base_text body;
    int depth; /* of indentation */
    target_variable *variables;
    bool *needed; /* by value number: some effect depends on it */
    target_parameter *parameters;
    const char **symbols; /* names of the sizes */
    const char *group;
    const char *when;            /* inside `when`: the mask of the lanes that act; else NULL */
    base_location pending;       /* of the op being written; line 0 = its comment is written */
    int32_t comment_line;        /* of the last comment with a source line */
    const base_source *lines_of; /* the source whose lines are known, or NULL */
    const char **lines;          /* where each begins, and the end */
    int64_t line_count, line_capacity;
};

/* ---- emit.c ---- */
/* Names parameters and sizes and finds what is needed. The names in the two lists (up to NULL) are
 * not given to values. */
void target_emit_begin(target_emitter *emitter, const char *const *reserved,
                       const char *const *also_reserved);
/* Writes the module's body at the given depth. */
void target_emit_body(target_emitter *emitter, int depth);

/* One line of the body, indented. */
void target_emit_line(target_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A text in the arena. */
const char *target_emit_text(const target_emitter *emitter, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* What a slot of a value is called (slot 0 of a uniform); as an operand of an op on vectors. */
const char *target_emit_name(const target_emitter *emitter, const ir_value *value, int slot);
const char *target_emit_operand(target_emitter *emitter, const ir_value *value, int slot,
                                bool vector);
bool target_emit_is_vector(const target_emitter *emitter, const ir_type *type);
int target_emit_slots(const ir_type *type);

/* Takes fresh names for all slots of a value; declares one slot with its value. */
void target_emit_take_names(target_emitter *emitter, const ir_value *value, const char *fallback);
void target_emit_define(target_emitter *emitter, const ir_value *value, int slot,
                        const char *expression);
/* The value is called so, in every slot. */
void target_emit_alias(target_emitter *emitter, const ir_value *value, const char *name);
/* A name that nothing else has. */
const char *target_emit_fresh(target_emitter *emitter, const char *wanted);

/* The op on two operands, as an expression. */
const char *target_emit_binary(target_emitter *emitter, ir_opcode opcode, base_dtype dtype,
                               bool vector, const char *a, const char *b);
ir_opcode target_emit_combine_opcode(const ir_op *op);

/* ---- literals.c ---- */
/* A size formula as an expression of type i64. */
const char *target_emit_extent(target_emitter *emitter, const layout_extent *extent);
/* A constant: exact, in parentheses when negative. */
const char *target_emit_literal(const target_emitter *emitter, ir_constant constant);
const char *target_emit_integer(const target_emitter *emitter, int64_t value);
/* The integer of a constant value. */
bool target_emit_is_integer(const ir_value *value, int64_t *integer);

/* ---- c_access.c ---- */
void target_c_load(target_emitter *emitter, const ir_op *op);
void target_c_store(target_emitter *emitter, const ir_op *op);

/* ---- c.c ---- */
target_source target_c_emit(base_arena *arena, const ir_module *module, const machine *machine);
/* lane * lane_stride + offset as a vector expression of i64. */
const char *target_c_iota(const target_emitter *emitter, int64_t lane_stride, int64_t offset);
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
/* Bytes of one cell of a private array. */
int64_t target_c_cell_bytes(const target_emitter *emitter, const ir_op *array);

/* ---- c_queries.c ---- */
/* Append `i64 ENTRY_groups(const i64 *words)` and `i64 ENTRY_workspace(const i64 *words)`. Both
 * return -1 where a size formula leaves 64 bits. */
void target_c_groups(target_emitter *emitter, const char *entry, base_text *out);
void target_c_workspace(target_emitter *emitter, const char *entry, const ir_op *const *arrays,
                        int64_t array_count, base_text *out);

/* ---- c_prelude.c ---- */
/* Appends the declarations of the prelude that `used` names, and those that they need. */
void target_c_prelude(base_text *out, target_names *used, int lanes);
/* The names of all declarations of the prelude for this number of lanes, up to NULL. */
const char *const *target_c_prelude_names(base_arena *arena, int lanes);

#endif
