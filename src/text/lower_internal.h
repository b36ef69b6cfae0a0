/* Lowering: the syntax tree of one kernel to a module of level tile.
 *
 *     lower_kernel.c     entry: parameters, which sizes become known, what every output needs
 *     lower_scope.c      names, regions, index arithmetic that is built once
 *     lower_statement.c  program, assignment, if, for
 *     lower_carry.c      the carried names of a loop and the types that literals take
 *     lower_operator.c   operators: types, shapes, domains     lower_literal.c   untyped numbers
 *     lower_type.c       implicit conversions, broadcasting     lower_call.c      functions
 *     lower_access.c     indices, ranges, loads                 lower_store.c     stores
 *     lower_layout.c     tiles whose owners the kernel says
 *     lower_in_place.c   outputs that are inputs
 *     lower_owner.c      which program and element writes a cell   lower_enumerate.c   by trying
 *
 * Every function that finds an error reports it and gives a POISON value; whatever uses that value
 * stays silent.
 */
#ifndef TEXT_LOWER_INTERNAL_H
#define TEXT_LOWER_INTERNAL_H

#include "ir/builder.h"
#include "text/ast_internal.h"
#include "text/range_internal.h"

typedef enum lower_kind {
    LOWER_POISON,  /* an error that was reported */
    LOWER_LITERAL, /* a number without a type */
    LOWER_TYPED,   /* a value of the module */
} lower_kind;

typedef struct lower_value {
    lower_kind kind;
    bool open;       /* LITERAL: a carry whose type is being found; its number means nothing */
    bool is_integer; /* LITERAL */
    int64_t integer; /* LITERAL with is_integer */
    double real;     /* LITERAL: always */
    base_location location; /* LITERAL: where it is written; line 0: computed */
    ir_value *value;        /* TYPED */
} lower_value;

typedef enum lower_binding_kind {
    LOWER_UNBOUND,
    LOWER_BOUND,
    LOWER_FIXED,     /* a loop index or program index: cannot be assigned */
    LOWER_LEFT_LOOP, /* was assigned in a loop only */
    LOWER_LEFT_IF,   /* was assigned in one branch only */
} lower_binding_kind;

typedef struct lower_binding {
    lower_binding_kind kind;
    lower_value value;
    base_location location; /* of the assignment */
} lower_binding;

typedef struct lower_undo {
    const text_name *name;
    lower_binding before;
} lower_undo;

typedef struct lower_scope {
    ir_region *region;
    struct lower_scope *outer;
    int depth; /* 0: the body */
    int64_t undo_start;
    int64_t shared_start;
} lower_scope;

/* A pure op on integer scalars that stands once in its region. */
typedef struct lower_shared {
    ir_op *op; /* NULL: its region is closed */
    int64_t next;
} lower_shared;

#define LOWER_AXIS_LIMIT (INT64_C(1) << 62)
enum { LOWER_SHARED_BUCKETS = 1024, LOWER_SHARED_OPERANDS = 3, LOWER_BUDGET = 1 << 18 };

/* How one access divides its tensor among the programs: index = offset + strides * programs + rest.
 * See lower_owner.c. */
typedef struct lower_division {
    const layout_extent *offset;                  /* NULL: of no such form */
    const layout_extent *stride[IR_MAX_PROGRAMS]; /* of the program's own number */
    bool finds[IR_MAX_PROGRAMS];                  /* what is left is less than the stride */
} lower_division;

typedef struct lower_owner {
    base_location location;
    int rank;
    lower_division division[IR_MAX_RANK]; /* of each index */
    const struct lower_owner *next;       /* of another access */
} lower_owner;

typedef struct lowerer {
    base_arena *arena;
    const text_kernel *kernel;
    const text_bindings *bindings;
    base_diagnostics *diagnostics; /* where findings go: nowhere while speculating */
    base_diagnostics *findings;    /* the caller's */
    ir_module *module;
    ir_builder builder;
    range range;
    lower_scope *scope;
    lower_binding *names; /* by id */
    lower_undo *undo;
    int64_t undo_count, undo_capacity;
    lower_shared *shared;
    int64_t shared_count, shared_capacity;
    int64_t shared_bucket[LOWER_SHARED_BUCKETS]; /* index + 1 */
    int64_t budget;                              /* expressions that may still be lowered */
    bool budget_reported;
    int64_t enumerated; /* elements that lower_enumerate has tried */
    bool dropped;       /* a statement was left out: then there must be a finding */
    bool speculating;   /* finding the types of carries: findings are thrown away */
    bool *seen;         /* by name id, all false between uses */
    bool *is_width;     /* symbols that stand in the extent of a tile of the body */
    bool *stored;       /* by module parameter */
    int *home;          /* by module parameter: whose memory it is; most are their own */
    const lower_owner **owners;
    const text_layout *layout; /* the first that is used: all have its threads */
} lowerer;

/* ---- findings ---- */
base_diagnostic *lower_report(lowerer *l, const char *slug, base_location at, const char *format,
                              ...) __attribute__((format(printf, 4, 5)));
const char *lower_text(lowerer *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "f32[N, 64]", "i32", "the literal 2.5". */
const char *lower_describe(lowerer *l, lower_value value);
const char *lower_describe_extent(lowerer *l, const layout_extent *extent);
/* "[N, 64]". */
const char *lower_describe_shape(lowerer *l, const ir_type *type);

/* ---- values ---- */
lower_value lower_poison(void);
lower_value lower_typed(ir_value *value);
lower_value lower_integer(int64_t value);
lower_value lower_real(double value);
/* A literal whose number is not known, of two of which one is such. */
lower_value lower_open(lower_value a, lower_value b);
bool lower_is_tile(lower_value value);     /* typed, rank above 0 */
base_dtype lower_dtype(lower_value value); /* of a typed value */

/* ---- lower_scope.c ---- */
void lower_scope_enter(lowerer *l, lower_scope *scope, ir_region *region);
/* Closes it; the names keep what the scope gave them until lower_scope_restore. */
void lower_scope_leave(lowerer *l);
/* Takes back every assignment since the scope was entered. */
void lower_scope_restore(lowerer *l, const lower_scope *scope);
void lower_bind(lowerer *l, const text_name *name, lower_binding binding);
/* True when the value is defined in an open region (or is no op's result). */
bool lower_exists_here(const lowerer *l, const ir_value *value);
/* Integer and bool scalars, each built once, in the outermost region where its operands exist. */
ir_value *lower_shared_constant(lowerer *l, base_dtype dtype, int64_t value);
ir_value *lower_shared_op(lowerer *l, ir_opcode opcode, base_dtype dtype, int count,
                          ir_value *const *operands);
ir_value *lower_index_constant(lowerer *l, int64_t value);
ir_value *lower_index_size(lowerer *l, const layout_extent *extent);
ir_value *lower_index_binary(lowerer *l, ir_opcode opcode, ir_value *a, ir_value *b);
ir_value *lower_parameter(lowerer *l, int parameter);
/* The size formula that an index scalar is, or NULL. */
const layout_extent *lower_formula(lowerer *l, const ir_value *value);
/* Notes that the symbols of a tile's extent are widths, and gives it back. */
const layout_extent *lower_extent(lowerer *l, const layout_extent *extent);
/* False, reported, when an axis is known to have more elements or programs than can be counted. */
bool lower_check_extent(lowerer *l, const layout_extent *extent, base_location at);

/* ---- lower_literal.c ---- */
/* A constant of that dtype; NULL when reported (it does not fit). */
ir_value *lower_literal(lowerer *l, lower_value literal, base_dtype dtype, base_location at);
lower_value lower_fold_unary(lowerer *l, text_operator operation, lower_value a, base_location at);
lower_value lower_fold_binary(lowerer *l, text_operator operation, lower_value a, lower_value b,
                              base_location at);
/* The dtype that a literal takes when nothing else decides. */
base_dtype lower_literal_default(lower_value literal);

/* ---- lower_type.c ---- */
/* What arithmetic on the dtype computes in: f32 for f16 and bf16, i32 for i8, u8 and bool. */
base_dtype lower_compute_dtype(base_dtype dtype);
/* Converts exactly (rounding irrelevant) or as a cast does. */
ir_value *lower_cast(lowerer *l, ir_value *value, base_dtype dtype, base_location at);
typedef enum lower_mix {
    LOWER_MIX_COMPUTE, /* arithmetic: always the compute dtype */
    LOWER_MIX_COMPARE, /* likewise; i64 beside i32 widens it */
    LOWER_MIX_KEEP,    /* select, maximum, minimum: the operands' own dtype where they agree */
    LOWER_MIX_BITS,    /* bitwise: bool stays bool */
} lower_mix;
/* Brings both to one dtype, literals too; false when reported. */
bool lower_unify(lowerer *l, lower_mix mix, const char *what, base_location at, lower_value *a,
                 lower_value *b);
/* An integer of any type as index (tile or scalar); poison when reported. */
lower_value lower_to_index(lowerer *l, lower_value value, const char *what, base_location at);
/* The shape and domain that elementwise operands have together; false when reported. */
bool lower_combine(lowerer *l, base_location at, int count, ir_value *const *operands,
                   ir_type *type);
/* One table op on operands of agreed dtypes, `dtype` of the result; poison when reported. */
lower_value lower_table_op(lowerer *l, ir_opcode opcode, base_location at, int count,
                           ir_value *const *operands, base_dtype dtype);
bool lower_extent_equal(lowerer *l, const layout_extent *a, const layout_extent *b);
bool lower_extent_is_one(const layout_extent *extent);
/* The value in a larger shape or smaller domain. */
ir_value *lower_broadcast(lowerer *l, ir_value *value, const ir_type *shape, base_location at);

/* ---- expressions ---- */
lower_value lower_expression(lowerer *l, const text_expression *node);
lower_value lower_operation(lowerer *l, text_operator operation, lower_value a, lower_value b,
                            base_location at);
lower_value lower_call(lowerer *l, const text_expression *node);
lower_value lower_index(lowerer *l, const text_expression *node);
bool lower_is_function(const text_name *name);
/* The tile of an arange, owned as the layout `node` says; poison when reported. */
lower_value lower_fix_owner(lowerer *l, lower_value tile, const text_expression *node);
/* convert(value, layout). */
lower_value lower_convert(lowerer *l, const text_expression *node, lower_value value);

/* ---- accesses ---- */
typedef struct lower_access {
    ir_access *access;
    int operand_count;
    ir_value *operands[2 * IR_MAX_RANK + 3]; /* tensor, indices, fill */
    ir_type shape;                           /* of the elements: extents and domain */
    int none_axes[IR_MAX_RANK];              /* axes that `None` adds to the result */
    int none_count;
} lower_access;
/* What the kernel says of a tensor that it has. */
ir_access_mode lower_mode(const lowerer *l, const text_name *name);
/* The module parameter that a tensor name stands for, or -1. */
int lower_tensor(const lowerer *l, const text_name *name);
/* Indices of tensor[...]; false when reported. */
bool lower_access_build(lowerer *l, const text_expression *node, int parameter,
                        lower_access *access);
void lower_store(lowerer *l, const text_statement *statement);
/* Tries all elements, where they are few and their indices plain; a collision names two. */
typedef enum lower_enumeration {
    LOWER_ENUMERATION_UNKNOWN,
    LOWER_ENUMERATION_INJECTIVE,
    LOWER_ENUMERATION_COLLISION,
} lower_enumeration;
lower_enumeration lower_enumerate(lowerer *l, const lower_access *access, const char **witness);
/* Proves that no two elements or programs write one cell, and that the tensor is divided among the
 * programs as before; reports when not. */
bool lower_owner_check_store(lowerer *l, const text_expression *node, int parameter,
                             lower_access *access);
void lower_owner_check_load(lowerer *l, const text_expression *node, int parameter,
                            lower_access *access);

/* ---- statements ---- */
void lower_block(lowerer *l, const text_block *block);

/* ---- lower_in_place.c ---- */
/* Finds the homes; inputs that are one become inout. */
void lower_homes_find(lowerer *l);
/* Reports loads from memory that a store under another name may have changed before. */
void lower_homes_check(lowerer *l);
void lower_for(lowerer *l, const text_statement *statement);
void lower_if(lowerer *l, const text_statement *statement);
/* The names that a block assigns, in order of first assignment. */
typedef struct lower_names {
    const text_name **items;
    int64_t count, capacity;
} lower_names;
lower_names lower_assigned(lowerer *l, const text_block *block);
/* A literal as a value of the type, or a value that has it (carries, branches); NULL when reported:
 * "<what> changes its type". */
ir_value *lower_convert_to(lowerer *l, lower_value value, const ir_type *type, const char *what,
                           base_location at);

#endif
