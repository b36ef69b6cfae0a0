/* The syntax tree of kernel files, and what the signature of a kernel binds.
 *
 *     y[row, :] = x[row, :] * 2      STORE(index(y; row, :), binary(*, index(x; row, :), 2))
 *
 * Plain data in one arena; made by parse_*.c, read by bind.c and lower_*.c. Every node knows where
 * it stands. ERROR nodes stand for what could not be read: they have been reported.
 */
#ifndef TEXT_AST_INTERNAL_H
#define TEXT_AST_INTERNAL_H

#include "text/kernel.h"
#include "text/lexer_internal.h"

typedef struct text_expression text_expression;
typedef struct text_statement text_statement;

/* Operators: name, spelling, operation of the table. */
#define TEXT_OPERATORS(X)                                                                          \
    X(MUL, "*", IR_MUL)                                                                            \
    X(DIV, "/", IR_DIV)                                                                            \
    X(FLOOR_DIV, "//", IR_FLOOR_DIV)                                                               \
    X(FLOOR_MOD, "%", IR_FLOOR_MOD)                                                                \
    X(ADD, "+", IR_ADD)                                                                            \
    X(SUB, "-", IR_SUB)                                                                            \
    X(SHL, "<<", IR_SHL)                                                                           \
    X(SHR, ">>", IR_SHR)                                                                           \
    X(AND, "&", IR_AND)                                                                            \
    X(XOR, "^", IR_XOR)                                                                            \
    X(OR, "|", IR_OR)                                                                              \
    X(LT, "<", IR_LT)                                                                              \
    X(LE, "<=", IR_LE)                                                                             \
    X(GT, ">", IR_LT)                                                                              \
    X(GE, ">=", IR_LE)                                                                             \
    X(EQ, "==", IR_EQ)                                                                             \
    X(NE, "!=", IR_NE)                                                                             \
    X(NEG, "-", IR_NEG)                                                                            \
    X(NOT, "~", IR_NOT)

typedef enum text_operator {
#define X(id, spelling, opcode) TEXT_OPERATOR_##id,
    TEXT_OPERATORS(X)
#undef X
        TEXT_OPERATOR_COUNT
} text_operator;

const char *text_operator_spelling(text_operator operation);
ir_opcode text_operator_opcode(text_operator operation);

typedef enum text_expression_kind {
    TEXT_EXPRESSION_ERROR,
    TEXT_EXPRESSION_NAME,
    TEXT_EXPRESSION_INTEGER, /* a minus before it belongs to it */
    TEXT_EXPRESSION_REAL,
    TEXT_EXPRESSION_BOOL,
    TEXT_EXPRESSION_UNARY,
    TEXT_EXPRESSION_BINARY,
    TEXT_EXPRESSION_CALL,
    TEXT_EXPRESSION_INDEX,
    TEXT_EXPRESSION_LAYOUT, /* `bits(3, 4, 5, 0, 1, 2)`, as written */
} text_expression_kind;

typedef struct text_call_argument {
    const text_name *keyword; /* NULL: by position */
    base_location location;   /* of the keyword, else of the value */
    text_expression *value;
} text_call_argument;

typedef enum text_item_kind {
    TEXT_ITEM_VALUE, /* first */
    TEXT_ITEM_RANGE, /* first : last, first : +length; each may be missing */
    TEXT_ITEM_NONE,
} text_item_kind;

typedef struct text_index_item {
    text_item_kind kind;
    base_location location;
    text_expression *first;
    text_expression *last;   /* `a : b` */
    text_expression *length; /* `a : +n` */
} text_index_item;

struct text_expression {
    text_expression_kind kind;
    base_location location; /* of the operator, the name called, the base of an index */
    int32_t height;         /* of the tree: at most TEXT_HEIGHT_LIMIT */
    bool parenthesised;
    union {
        const text_name *name; /* NAME, and the function of a CALL */
        int64_t integer;
        double real;
        bool boolean;
        text_operator operation;
        const char *layout; /* its first byte, in the source; `count` bytes */
    };
    text_expression *left;  /* UNARY, BINARY, base of INDEX */
    text_expression *right; /* BINARY; INDEX: `fill=` or NULL */
    union {
        text_call_argument *arguments;
        text_index_item *items;
    };
    int32_t count; /* of arguments, items or bytes */
    bool unique;   /* INDEX */
};

typedef enum text_statement_kind {
    TEXT_STATEMENT_PROGRAM,
    TEXT_STATEMENT_ASSIGN,
    TEXT_STATEMENT_STORE,
    TEXT_STATEMENT_FOR,
    TEXT_STATEMENT_IF,
} text_statement_kind;

typedef struct text_block {
    text_statement **statements;
    int64_t count, capacity;
} text_block;

typedef struct text_program_axis {
    const text_name *name;
    base_location location;
    text_expression *extent;
    text_expression *step; /* NULL: 1 */
} text_program_axis;

struct text_statement {
    text_statement_kind kind;
    base_location location;
    const text_name *name;   /* ASSIGN: target. FOR: index */
    text_expression *target; /* STORE: an INDEX */
    text_expression *value;  /* ASSIGN, STORE; IF: the condition */
    text_expression *low;    /* FOR */
    text_expression *high;   /* FOR */
    text_expression *step;   /* FOR: NULL = 1 */
    text_program_axis *axes; /* PROGRAM */
    int axis_count;          /* PROGRAM */
    text_block block;        /* FOR; IF: taken when true */
    text_block else_block;   /* IF */
};

typedef enum text_parameter_kind {
    TEXT_PARAMETER_TENSOR,
    TEXT_PARAMETER_SCALAR,
    TEXT_PARAMETER_DTYPE,
    TEXT_PARAMETER_CONST,
    TEXT_PARAMETER_LAYOUT,
    TEXT_PARAMETER_BROKEN, /* reported */
} text_parameter_kind;

typedef struct text_dimension {
    text_expression *formula;
    bool dynamic;
    base_location location;
    int size; /* a bare name: index into the kernel's sizes; else -1 */
} text_dimension;

enum { TEXT_CHOICE_LIMIT = BASE_DTYPE_COUNT };

typedef struct text_parameter {
    text_parameter_kind kind;
    const text_name *name;
    base_location location;
    ir_access_mode mode;        /* TENSOR */
    const text_name *type_name; /* TENSOR, SCALAR: as written */
    base_location type_location;
    int dtype_parameter; /* TENSOR, SCALAR: ordinal of the dtype parameter, or -1 */
    base_dtype dtype;    /* TENSOR, SCALAR with dtype_parameter < 0 */
    base_dtype choices[TEXT_CHOICE_LIMIT]; /* DTYPE */
    int choice_count;
    text_dimension dimensions[IR_MAX_RANK]; /* TENSOR */
    int rank;
    text_expression *initial; /* SCALAR, CONST, LAYOUT: a literal, or NULL */
    int ordinal; /* DTYPE, CONST, LAYOUT: among its kind. TENSOR, SCALAR: number in the module */
} text_parameter;

typedef struct text_size {
    const text_name *name;
    base_location location; /* where it first stands */
    bool dynamic;
    bool bound_by_name; /* stands alone in some dimension */
} text_size;

struct text_kernel {
    const text_name *name;
    base_location location;
    text_file *file;
    text_parameter *parameters;
    int64_t parameter_count, parameter_capacity;
    text_block body;
    text_size *sizes;
    int64_t size_count, size_capacity;
    int dtype_count, const_count, layout_count;
    int module_count; /* tensors and scalars */
    bool broken;      /* something in it was reported */
};

struct text_file {
    const base_source *source;
    text_kernel **kernels;
    int64_t kernel_count, kernel_capacity;
    int32_t name_count; /* ids of names are below it */
};

/* The parameter, size, ... of that name, or -1. */
int text_kernel_find_parameter(const text_kernel *kernel, const text_name *name);
int text_kernel_find_size(const text_kernel *kernel, const text_name *name);

/* Types and names of a signature: resolves element types, finds the sizes, reports duplicates. */
void text_signature_resolve(base_arena *arena, text_kernel *kernel, base_diagnostics *diagnostics);

/* A size formula as an extent of the pool, whose symbols are the kernel's sizes in order. NULL
 * when it was reported (unknown name, not a formula, overflow). Consts by ordinal. */
const layout_extent *text_formula_build(layout_extents *pool, const text_kernel *kernel,
                                        const int64_t *consts, const text_expression *formula,
                                        base_diagnostics *diagnostics);

/* Reads the layout that stands in the source from byte `at` on, with the kernel's constants (by
 * ordinal) as numbers; layout->known says whether it is
 * one that a kernel may have: at most 1024 threads in subgroups of 32, at most 32768 elements, one
 * axis of slots, lanes and subgroups. Reported else. */
void text_layout_read(base_arena *arena, const text_kernel *kernel, const int64_t *consts,
                      const base_source *source, size_t at, size_t length, text_layout *layout,
                      base_diagnostics *diagnostics);
/* The name of a spelling that stands before `(`: `bits`, `identity`, ... */
bool text_layout_is_form(const text_name *name);

#endif
