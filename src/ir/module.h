/* The IR: modules, regions, ops, values and types of all three levels.
 *
 * A module is one kernel at one level, specialised to its element types and known sizes. Ops stand
 * in regions (one list of ops, with arguments); values are defined once. The op table (ir/ops.h)
 * says what each op means and where it may stand. Everything lives in the module's arena; nothing
 * is freed alone. Passes change a module in place with the functions here; ir/builder.h makes ops;
 * ir/print.h prints, text/ir_parse.h reads.
 *
 *     kernel @softmax[R, N](%x: in f32[R, N], %y: out f32[R, N]) level tile
 *       program row: R
 *     {
 *       %row = program row : index
 *       %t = load %x[%row inside, : N inside] : f32<N>
 *       ...
 *     }
 */
#ifndef IR_MODULE_H
#define IR_MODULE_H

#include "base/arena.h"
#include "base/diagnostic.h"
#include "base/dtype.h"
#include "ir/affine.h"
#include "ir/ops.h"
#include "layout/condition.h"
#include "layout/conversion.h"
#include "layout/extent.h"
#include "layout/layout.h"

#include <stdbool.h>

enum { IR_MAX_RANK = LAYOUT_MAX_RANK, IR_MAX_PROGRAMS = 4 };

typedef enum ir_nan { IR_NAN_PROPAGATE, IR_NAN_IGNORE } ir_nan;
/* In which order a reduction joins its elements x0 .. xn-1, each after the identity e joined it.
 * TREE       as the plan's holders of the axis make it
 * LEFT       (((e + x0) + x1) + ..) + xn-1
 * RIGHT      x0 + (.. + (xn-2 + (xn-1 + e)))
 * CANONICAL  halving: padded with e to a power of two, v[i] = v[i] + v[i + h] for h = n/2 .. 1 */
typedef enum ir_order {
    IR_ORDER_TREE,
    IR_ORDER_LEFT,
    IR_ORDER_RIGHT,
    IR_ORDER_CANONICAL,
    IR_ORDER_COUNT
} ir_order;
/* STRICT: a sum begins with -0.0, and for max and min -0.0 lies below 0.0. */
typedef enum ir_zero { IR_ZERO_RELAXED, IR_ZERO_STRICT } ir_zero;
typedef enum ir_rounding { IR_ROUND_ZERO, IR_ROUND_EVEN } ir_rounding;
/* What caches should do with the elements of an access. It is a hint: never what is read or stored.
 * STREAM: they are read or stored once, so nothing else should give way to them. */
typedef enum ir_policy {
    IR_POLICY_DEFAULT,
    IR_POLICY_STREAM,     /* the first to leave the caches */
    IR_POLICY_EVICT_LAST, /* the last to leave the device's cache */
    IR_POLICY_COUNT
} ir_policy;

/* How widely a value is known to be the same, and whom a synchronisation brings together; from
 * narrow to wide. PROGRAM: the lanes that work on one program. */
typedef enum ir_scope {
    IR_SCOPE_NONE, /* nothing is recorded */
    IR_SCOPE_LANE,
    IR_SCOPE_PROGRAM,
    IR_SCOPE_SUBGROUP,
    IR_SCOPE_GROUP,
    IR_SCOPE_CLUSTER,
    IR_SCOPE_GRID,
    IR_SCOPE_COUNT
} ir_scope;

/* What may be done with a scratch array at the place where a token stands:
 * FREE       nobody reads it any more: puts may begin
 * WRITTEN    puts have been made that nobody may see yet
 * PUBLISHED  gets may be made, by every lane that the publishing sync brought together */
typedef enum ir_token_state {
    IR_TOKEN_FREE,
    IR_TOKEN_WRITTEN,
    IR_TOKEN_PUBLISHED,
    IR_TOKEN_STATE_COUNT
} ir_token_state;

/* What a value is. TILE: levels tile and mapped, rank 0 = a program's scalar. UNIFORM and SLOTS:
 * level thread. TENSOR: a kernel parameter. PRIVATE: a private array of level thread. SCRATCH: an
 * array that the lanes of a group share. TOKEN: the state of a scratch array, used up by what
 * changes it. */
typedef enum ir_form {
    IR_FORM_TILE,
    IR_FORM_UNIFORM,
    IR_FORM_SLOTS,
    IR_FORM_TENSOR,
    IR_FORM_PRIVATE,
    IR_FORM_SCRATCH,
    IR_FORM_TOKEN
} ir_form;

typedef struct ir_value ir_value;
typedef struct ir_op ir_op;
typedef struct ir_region ir_region;

typedef struct ir_type {
    ir_form form;
    base_dtype dtype;
    int rank; /* TILE, TENSOR */
    /* TILE, TENSOR. PRIVATE, SCRATCH: extent[0] = cells */
    const layout_extent *extent[IR_MAX_RANK];
    ir_value *domain[IR_MAX_RANK]; /* TILE: index scalar, elements 0..domain-1 of the axis are
                                      inside; NULL = full. It dominates the value. */
    int slots;                     /* SLOTS: k >= 1. PRIVATE: k of a cell, 0 = uniform cells */
    ir_value *scratch;             /* TOKEN: the array; it dominates the value */
    ir_token_state state;          /* TOKEN */
} ir_type;

/* Where a mapped tile value lives between the op that makes it and its uses in a later sweep. */
typedef enum ir_storage {
    IR_STORAGE_NONE,      /* used only inside its sweep */
    IR_STORAGE_REGISTERS, /* slots: the layout has no step digit */
    IR_STORAGE_PRIVATE,   /* a private array, one cell per step */
    IR_STORAGE_RELOAD,    /* plan only: the load is repeated in the later sweep */
    IR_STORAGE_RECOMPUTE, /* plan only: the ops are repeated in the later sweep */
    IR_STORAGE_OUTPUT,    /* plan only: in the cells of an output, until they are stored */
} ir_storage;

/* Level mapped: the layout of a value, per axis: which module axis, and its digits there. */
typedef struct ir_value_layout {
    int axis[IR_MAX_RANK]; /* index into module->axes, -1 for an axis of extent 1 */
} ir_value_layout;

typedef struct ir_value {
    ir_type type;
    ir_op *definer;    /* NULL for region arguments and parameters */
    ir_region *region; /* of a region argument, else NULL */
    const char *name;  /* source name, or NULL; not unique */
    int32_t number;    /* unique in the module */
    ir_storage storage;
    ir_value_layout layout;
    /* Fact, SLOTS: every lane of the scope holds the same; NONE: nothing recorded. */
    ir_scope scope;
    bool ranged; /* fact, integers: low <= every position <= high */
    int64_t low, high;
} ir_value;

/* How one dimension of a tensor is addressed. */
typedef enum ir_index_kind {
    IR_INDEX_POINT,  /* tile: an index scalar; drops the dimension */
    IR_INDEX_RANGE,  /* tile: start (operand or none = 0) and length; keeps the dimension */
    IR_INDEX_GATHER, /* tile: an index tile. All gathers of an access broadcast to one shape. */
    IR_INDEX_AFFINE, /* thread: base + affine form of lane, subgroup and slot, plus a vector */
} ir_index_kind;

typedef struct ir_index {
    ir_index_kind kind;
    int operand;                 /* POINT: the scalar. RANGE: the start, -1 = 0. GATHER: the tile.
                                    AFFINE: the uniform i64 base, -1 = 0 */
    const layout_extent *length; /* RANGE: extent of the tile axis */
    bool inside;      /* fact: proved 0 <= index < extent (POINT, GATHER), start >= 0 (RANGE) */
    int vector;       /* AFFINE: operand with an i64(k) addend, -1 = none */
    ir_affine affine; /* AFFINE */
} ir_index;

typedef enum ir_mask_kind {
    IR_MASK_NONE,
    IR_MASK_RANGE, /* thread: affine form < count (uniform i64) */
    IR_MASK_BITS,  /* thread: bool(k), or uniform bool */
} ir_mask_kind;

/* An access. Operands of the op: 0 the tensor (put, get: the scratch array), then what the indices,
 * mask, fill and block name, then (store, put) the value, and last (put, get) the token. The result
 * of a tile load has one axis per RANGE in order; with a GATHER, the axes of the broadcast index
 * tiles (then every other index is a POINT). A POINT or GATHER index outside the tensor reads the
 * fill, a store there is dropped. A stored tile has as domain, per RANGE, exactly the prefix that
 * is inside the tensor (`broadcast` narrows a full tile to it). */
typedef struct ir_access {
    int rank; /* of the tensor */
    ir_index index[IR_MAX_RANK];
    int fill;               /* operand, -1 = 0 */
    bool fill_declared;     /* written `fill=`: an index outside is meant, not a fault */
    bool unique;            /* store: the kernel says `unique` */
    bool injective;         /* fact, store: no two elements or programs write one cell */
    ir_mask_kind mask_kind; /* thread */
    int mask;               /* thread: operand, -1 = none */
    ir_affine mask_affine;
    int block;  /* put, get: operand with the block of the cluster whose scratch is meant (uniform
                   i64); 0 = the own one */
    int width;  /* consecutive elements of the last dimension that one vector access covers: mapped
                   and thread; 1 = unit */
    int align;  /* fact, thread: every group of `width` slots begins at a multiple of so many bytes,
                   by the module's conditions; 0 = not known */
    bool whole; /* fact, thread: the range mask lets through all slots of a group, or none */
    ir_policy policy; /* load, store; mapped and thread: as the plan says */
    bool early;       /* load; mapped and thread: issued before anything waits, as the plan says */
    int prefetch;     /* load; mapped and thread: beside it the cache is told to fetch what the load
                     reads so many programs (thread: groups) on, if the call has that; 0: no */
} ir_access;

/* Numbers in the module's arena. */
typedef struct ir_list {
    int count;
    const int64_t *items;
} ir_list;

typedef struct ir_attributes {
    ir_constant constant;        /* constant */
    const layout_extent *extent; /* size, arange, private */
    layout_class mechanism;      /* convert, from level mapped on */
    const char *array;           /* convert by scratch: the anchor of an earlier one of its region
                                    whose array it uses again; NULL: its own */
    const layout_axis *layout;   /* convert; arange that fixes its owner, else NULL. A rank-1 tile
                                    of up to as many elements as the digits have positions */
    int parameter;               /* parameter: index into module->parameters */
    int axis;                    /* program, reduce, expand, drop */
    ir_affine affine;            /* iota */
    ir_scope scope;              /* sync */
    ir_list lanes;               /* shuffle, xorslot: columns by lane bit. combine: masks */
    ir_list slots;               /* rename: slots. shuffle: constants by slot; none = zeros */
    ir_monoid monoid;            /* reduce, fold, combine */
    ir_nan nan;                  /* reduce, fold, combine */
    ir_order order;              /* reduce; from level mapped on the plan's */
    ir_zero zero;                /* reduce */
    ir_rounding rounding;        /* cast */
    ir_math_form form;           /* functions and div, from level mapped on and in what a module
                                    implements: NATIVE or RECIPROCAL where the plan says so */
    ir_access *access;           /* load, store */
    int axis_count;              /* sweep */
    int axes[IR_MAX_RANK];       /* sweep: indices into module->axes, outermost first */
} ir_attributes;

struct ir_op {
    ir_opcode opcode;
    ir_region *parent;
    ir_op *previous, *next;
    int operand_count;
    ir_value **operands;
    int result_count;
    ir_value **results;
    int region_count; /* for, sweep, when: 1; if: 2 */
    ir_region *regions[2];
    ir_attributes attributes;
    base_location location;
    const char *anchor; /* set by canonicalise on what a plan may speak about; carried by passes;
                           NULL else */
};

struct ir_region {
    ir_op *owner; /* NULL for the body */
    int argument_count;
    ir_value **arguments;
    ir_op *first, *last;
};

typedef enum ir_access_mode { IR_IN, IR_OUT, IR_INOUT } ir_access_mode;

typedef struct ir_parameter {
    const char *name;
    base_location location;
    bool is_tensor;
    ir_access_mode mode; /* tensors */
    ir_value *value;     /* tensors: a value of form TENSOR */
    base_dtype dtype;
    bool has_default; /* scalars */
    ir_constant initial;
} ir_parameter;

/* A shape expression that the arguments must satisfy at launch: tensor dimension == formula. */
typedef struct ir_shape_check {
    int parameter, dimension;
    const layout_extent *expected;
} ir_shape_check;

typedef struct ir_program {
    const char *name;
    const layout_extent *extent; /* the range: indices 0, step, ... below it */
    int64_t step;
} ir_program;

/* Level mapped and thread: an axis of the plan and the digits that it was given. */
typedef struct ir_axis {
    const char *anchor;          /* `N`, `axis.0`, or the name of a program axis */
    const layout_extent *extent; /* elements; programs for a program axis */
    bool is_program;
    int program; /* index into programs when is_program */
    layout_axis digits;
} ir_axis;

typedef struct ir_module {
    base_arena *arena;
    const char *name; /* of the kernel */
    ir_level level;
    const base_source *source;
    layout_extents extents;
    ir_parameter *parameters;
    int parameter_count;
    ir_shape_check *checks;
    int64_t check_count, check_capacity;
    ir_program programs[IR_MAX_PROGRAMS];
    int program_count;
    ir_region body;
    int32_t next_value; /* numbers of values */
    /* mapped and thread */
    ir_axis *axes;
    int axis_count;
    int lanes;    /* lanes of the team, all subgroups together */
    int subgroup; /* lanes of a subgroup; 0 = all lanes are one subgroup */
    int cluster;  /* groups that run together and reach each other's scratch; 0 and 1 = none */
    uint64_t plan_hash;
    const char *machine; /* name of the machine planned for; NULL at level tile */
    /* thread */
    const layout_extent *groups;  /* groups in the grid */
    layout_condition *conditions; /* under which the module is valid */
    int64_t condition_count, condition_capacity;
    /* The canonical tile program that this one maps, with a pool of extents over the same symbols;
     * NULL: not recorded. */
    const struct ir_module *implements;
} ir_module;

/* ---- modules ---- */
ir_module *ir_module_create(base_arena *arena, const char *name, const base_source *source);

/* Types. */
ir_type ir_type_scalar(base_dtype dtype);           /* TILE of rank 0 */
ir_type ir_type_uniform(base_dtype dtype);          /* thread */
ir_type ir_type_slots(base_dtype dtype, int slots); /* thread */
/* Slots of a lane: those of SLOTS, 1 for anything else. */
int ir_type_slot_count(const ir_type *type);
bool ir_type_same_shape(const ir_module *module, const ir_type *a, const ir_type *b);
bool ir_type_equal(const ir_module *module, const ir_type *a, const ir_type *b); /* domains too */

/* A value that no op defines yet (region arguments, parameters). */
ir_value *ir_value_create(ir_module *module, ir_type type, const char *name);
ir_value *ir_region_add_argument(ir_module *module, ir_region *region, ir_type type,
                                 const char *name);

/* Ops: creation unlinked, insertion, removal. Operands and results are copied. */
ir_op *ir_op_create(ir_module *module, ir_opcode opcode, base_location location, int operand_count,
                    ir_value *const *operands, int result_count, const ir_type *result_types,
                    int region_count);
void ir_op_append(ir_region *region, ir_op *op);
void ir_op_insert_before(ir_op *where, ir_op *op);
void ir_op_remove(ir_op *op);

/* Lanes of a subgroup, subgroups of a team. */
int ir_module_subgroup_lanes(const ir_module *module);
int ir_module_subgroups(const ir_module *module);
/* What a launch of the module is given: a pointer for each tensor, and as words the sizes, the
 * strides of each tensor and the scalars (runtime/device.h). */
int ir_module_pointer_count(const ir_module *module);
int64_t ir_module_word_count(const ir_module *module);
/* The position of a thread of the team (all subgroups counted on) in a slot. */
ir_position ir_module_position(const ir_module *module, int64_t thread, int64_t slot);

/* The parameter of a tensor value; -1: it is none. */
int ir_module_parameter_of(const ir_module *module, const ir_value *tensor);
/* What the subject of a condition is called: a tensor, a size. `?`: there is none. */
const char *ir_condition_subject(const ir_module *module, const layout_condition *condition);

/* Whether another order could give another result: of floats, but not where max and min tell the
 * zeros apart. */
bool ir_reduce_needs_order(const ir_op *reduce);
/* What its running state begins with, in the dtype of the state. */
ir_constant ir_reduce_identity(const ir_op *reduce);
/* Max and min of floats that tell the zeros apart reduce i32 keys in the order of the floats: the
 * key of the identity. */
ir_constant ir_zero_key_identity(ir_monoid monoid);
/* A division by a number that several elements of the result share: by a scalar, or by a tile that
 * has one element along an axis where the dividend has more. A plan may say `reciprocal` of it. */
bool ir_op_shares_divisor(const ir_module *module, const ir_op *op);
/* exp of t less the greatest element of t, or of the least less t, in a tile program: its argument
 * is at most 0 or NaN. A plan may say `flushed` of it. */
bool ir_op_may_flush(const ir_op *op);

/* A tile with axes; without any it is a scalar. */
bool ir_value_is_tile(const ir_value *value);

/* The value that a store or put writes; the token that a put or get takes. NULL for other ops. */
ir_value *ir_op_stored(const ir_op *op);
ir_value *ir_op_token(const ir_op *op);
/* Slots of a load, store, get or put: those of what it gives, else of its last operand that has
 * any; 1 where all are uniform. */
int ir_op_access_slots(const ir_op *op);

/* Whether all slots of a thread have one number: that of a rename which gives one slot to all. */
bool ir_value_repeats(const ir_value *value);

/* The yield of a region, or NULL. */
ir_op *ir_region_yield(const ir_region *region);
/* Calls visit for every op, outer before inner, in order; stops when visit returns false. */
bool ir_region_walk(ir_region *region, bool (*visit)(void *state, ir_op *op), void *state);

#endif
