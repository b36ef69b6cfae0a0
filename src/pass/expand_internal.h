/* What the files of the expand pass share: the mapped value -> thread value tables, and the place
 * in a sweep that an op is expanded for. */
#ifndef PASS_EXPAND_INTERNAL_H
#define PASS_EXPAND_INTERNAL_H

#include "ir/builder.h"
#include "pass/pass.h"

enum { EXPAND_MAX_AXES = 32, EXPAND_MAX_REDUCES = 64, EXPAND_MAX_SCRATCH = 256 };

/* The scratch array of a reduction over several subgroups, a cell for each partial result; or of a
 * conversion, a cell for each element. */
typedef struct expand_scratch {
    const ir_op *user;
    ir_value *array;
    ir_value *token; /* its state at the place that is being written */
    bool far;        /* other groups of the cluster write it: a cell for each */
} expand_scratch;

/* Arrays [first, last) of state->scratch. */
typedef struct expand_range {
    int first, last;
} expand_range;

/* Steps of one axis with as many slots; of a known extent: from step `first` on, in chunks of this
 * piece. */
typedef struct expand_piece {
    int slots;
    int64_t chunk, first, steps;
    int64_t rest;      /* elements of its one step; 0: all of the chunk */
    bool begins, ends; /* of a shifted axis: the row may begin, and end, within its one step */
} expand_piece;

/* How lanes hold an axis: the element of a position is affine + constant + chunk * step. */
typedef struct expand_axis {
    bool spread; /* over lanes, subgroups or slots */
    int slots;
    int64_t chunk; /* elements of a step */
    ir_affine affine;
    int64_t constant;  /* of an exclusive or, whose terms count down */
    ir_value *shift;   /* uniform i64: the element is that of the position - shift; NULL: none */
    int64_t blocks;    /* groups of the cluster that share it; 0, 1: each has all of it */
    ir_value *part;    /* uniform i64, of this group: added to the element; NULL: none */
    ir_affine replica; /* 0 in one position of all that own the same element, more in the others */
    int64_t lanes, subgroups; /* that its digits tell apart */
    ir_list lane_bits;        /* masks of the lane number: what its lane digits count */
    ir_affine partials;       /* the subgroups that hold different elements, by slot, of the own
                                 program */
    bool cut, known;      /* its pieces have different slots; they are those of a known extent */
    expand_piece *pieces; /* of an open extent: all slots, then single chunks; of one that lies in
                             registers and ends before: single chunks, each once, the guarded one */
    int piece_count;
    const layout_axis *digits;  /* of the piece that is expanded; NULL: the module's */
    bool scattered;             /* its slots are no digits */
    const layout_extent *cells; /* of a kept tile in this piece; NULL: as many as steps */
} expand_axis;

/* Where in a sweep: one step of every axis of the nest so far. */
typedef struct expand_place {
    ir_value *step[EXPAND_MAX_AXES]; /* uniform i64 by module axis; NULL: not in this sweep */
    ir_value
        *domain[EXPAND_MAX_AXES]; /* mapped domain that the loop bound honours; NULL: the extent */
    int spread;                   /* the axis of the sweep that lanes or slots hold; -1: none */
    ir_value *count; /* positions of that axis inside this step, which ends early; NULL: all */
    ir_value *first; /* the first of them that has an element; NULL: position 0 */
    int piece;       /* of that axis; which step of it has the first cell: NULL: step 0 */
    ir_value *cells_from;
    int32_t body; /* number of the body being expanded: pulled cells are remembered within it */
} expand_place;

/* A loop over steps of an axis. `step` NULL: 1. `positions`: of all steps together, where each is
 * guarded, as a shifted axis asks; NULL: none is. */
typedef struct expand_steps {
    ir_value *first, *end, *step, *positions;
} expand_steps;

typedef struct expand_state {
    ir_module *module;
    ir_builder builder;
    base_diagnostics *diagnostics;
    ir_value **value;   /* by mapped value number: the thread value */
    ir_value **array;   /* by mapped value number: the private array of a kept tile */
    ir_value ***pieces; /* by mapped value number: the array or value of each piece; NULL: it has
                           none, as an axis that is not cut */
    int32_t *pulled; /* by mapped value number: the body in which value[] was pulled from array[] */
    bool *varies; /* by mapped value number: a scalar that may differ between programs of a team */
    int32_t value_count;
    int32_t next_body;
    ir_op *last_array; /* the next private array is declared after it, the first one first of all */
    expand_axis axis[EXPAND_MAX_AXES]; /* by module axis */
    bool packed;                       /* several programs share the team, by lanes or subgroups */
    ir_affine replica;                 /* 0 in one position of all that have the same programs */
    expand_scratch scratch[EXPAND_MAX_SCRATCH]; /* in the order of their users in the text */
    int scratch_count;
    expand_range released; /* arrays that a loop uses again: a sync on the way releases them */
    ir_value *block;       /* uniform i64, the number in the cluster; NULL: there is none */
    ir_value *active;      /* bool(1): lanes with a program of their own; NULL: all */
    ir_value *program[IR_MAX_PROGRAMS];
    ir_op *walk;         /* the loop of a group over programs, when there is one */
    ir_type *walk_types; /* of its tokens */
    bool failed;
} expand_state;

/* expand_axes.c: fills state->axis. */
void expand_axes(expand_state *state);

/* expand_programs.c: whether the grid is counted by the axes of the programs; then the programs:
 * the grid is their mixed-radix number, the last axis fastest. Sets state->active. A group that
 * walks over several has all that is expanded then in a loop, up to expand_programs_end. */
void expand_check_programs(expand_state *state);
void expand_programs(expand_state *state, ir_region *mapped);
void expand_programs_end(expand_state *state);

/* expand_pieces.c: decides which axes are cut, and where. */
void expand_pieces(expand_state *state, const ir_region *mapped);
/* expand_narrow.c. The axis in a piece: what state->axis holds while the piece is expanded. */
expand_axis expand_piece_axis(expand_state *state, int axis, int piece);
/* Room for the pieces of a kept tile, and its arrays; false where its axes are not cut. */
bool expand_declare_pieces(expand_state *state, const ir_value *mapped);
/* The width of an access with the slots of the piece that is expanded. */
void expand_piece_width(const expand_state *state, int axis, ir_access *access, int slots);

/* expand.c */
void expand_region(expand_state *state, ir_region *from);
void expand_fail(expand_state *state, const ir_op *op, const char *slug, const char *message);
/* Steps of a module axis as a formula: ceil(extent / elements of a step). */
const layout_extent *expand_axis_steps(expand_state *state, int axis);
/* Slots of the thread value of a mapped value: 0 = uniform. */
int expand_slots_of(const expand_state *state, const ir_value *mapped);

/* expand_varies.c: fills state->varies. */
void expand_find_varying(expand_state *state, ir_region *mapped);

/* expand_private.c: the private array of a kept tile value, declared at the head of the body; of
 * cells of a type, of so many; and moves from and to their cells. A uniform is pushed to all slots
 * of its cell. */
ir_value *expand_declare_array(expand_state *state, const ir_value *mapped);
ir_value *expand_declare_cells(expand_state *state, base_dtype dtype, int slots,
                               const layout_extent *cells, const char *name);
ir_value *expand_pull(expand_state *state, ir_value *array, ir_value *cell);
void expand_push(expand_state *state, ir_value *array, ir_value *cell, ir_value *value);
/* Cell by cell, of two arrays that are alike. */
void expand_copy_array(expand_state *state, ir_value *to, ir_value *from);

/* expand_control.c: a for, or an if, with its regions. */
void expand_for(expand_state *state, ir_op *op);
void expand_if(expand_state *state, ir_op *op);

/* expand_op.c: one op that is no region, at a place (NULL: outside sweeps). */
void expand_op(expand_state *state, expand_place *place, ir_op *op);

/* expand_value.c. A uniform value, or T(1), as T(k); others unchanged. */
ir_value *expand_splat(expand_state *state, ir_value *value, int slots);
/* T(1) in all slots of T(k). */
ir_value *expand_splat_lane(expand_state *state, ir_value *value, int slots);
/* T(1) that is alike in all lanes, as a uniform. */
ir_value *expand_uniform(expand_state *state, ir_value *value);
/* Those of the values that are T(1) as T(k), where another is. */
void expand_level(expand_state *state, ir_value **values, int count);
/* An affine form as i64(slots), with the facts that it has. */
ir_value *expand_iota(expand_state *state, const ir_affine *affine, int slots);
/* The element of a position on an axis that lanes hold, of its first step. */
ir_value *expand_element(expand_state *state, int axis);
/* Logical index of an axis at the place: uniform or i64(k). */
ir_value *expand_axis_index(expand_state *state, const expand_place *place, int axis);
/* bool(1): the one position of all that own an element of the axis (-1: that have the program);
 * NULL: there is one anyway. */
ir_value *expand_first_copy(expand_state *state, int axis);
/* bool(k): which positions of the guarded step are from place->first on and below place->count. */
ir_value *expand_count_bits(expand_state *state, const expand_place *place);
/* bool that is true where every axis of the value is inside its domain; NULL when that is
 * everywhere. */
ir_value *expand_inside(expand_state *state, const expand_place *place, const ir_value *mapped);
/* The same of domains alone; whether the step is guarded too, for the value. */
ir_value *expand_inside_domains(expand_state *state, const expand_place *place,
                                const ir_value *mapped);
bool expand_is_guarded(const expand_place *place, const ir_value *mapped);
/* The cell of a kept value at the place. */
ir_value *expand_cell(expand_state *state, const expand_place *place, const ir_value *mapped);
/* The thread value of a mapped value, pulled from its array where it is kept in one. */
ir_value *expand_use(expand_state *state, expand_place *place, ir_value *mapped);

/* expand_shift.c: the amounts of shifted axes, after the programs. */
void expand_shifts(expand_state *state, const ir_region *mapped);
/* What a spread axis adds to the element of a position in the first step: uniform i64. */
ir_value *expand_axis_base(expand_state *state, const expand_place *place, int axis);
/* Loops over a shifted axis of `bound` elements: steps in which every position has one; and the
 * first and the last step, guarded. */
void expand_shifted_steps(expand_state *state, int axis, ir_value *bound, expand_steps *whole,
                          expand_steps *ends);
/* Guards a step of a shifted axis: `positions` of them in all steps together. */
void expand_guard(expand_state *state, expand_place *place, int axis, ir_value *positions);
/* The pieces of a shifted axis of `bound` elements, those that every row fills first; `least`: the
 * slots of its smallest piece. */
void expand_shifted_pieces(expand_axis *axis, int64_t shifts, int64_t bound, int least,
                           bool stepped);
/* Guards the one step of such a piece, at the ends that may lie in it. */
void expand_guard_piece(expand_state *state, expand_place *place, int axis,
                        const expand_piece *piece);

/* expand_access.c */
void expand_load(expand_state *state, expand_place *place, ir_op *op);
void expand_store(expand_state *state, expand_place *place, ir_op *op);

/* expand_index.c: the indices of a tile as base + affine form (base NULL: 0); false where they have
 * no closed form at this place. `op` is the access that uses them. */
bool expand_closed_index(expand_state *state, expand_place *place, const ir_op *op,
                         const ir_value *tile, ir_value **base, ir_affine *affine);

/* expand_reduce.c: the running state before the first element, after one more, and the results of
 * reductions that end together. */
ir_value *expand_reduce_begin(expand_state *state, const ir_op *op);
ir_value *expand_reduce_enter(expand_state *state, expand_place *place, const ir_op *op,
                              ir_value *carry);
void expand_reduce_finish(expand_state *state, ir_op *const *reduces, int count, ir_value **values);
ir_value *expand_reduce_identity(expand_state *state, const ir_op *reduce);
ir_value *expand_reduce_fold(expand_state *state, const ir_op *reduce, ir_value *value);
/* Two states of the reduction as one; a fold or combine of its monoid. */
ir_value *expand_reduce_join(expand_state *state, const ir_op *reduce, ir_value *a, ir_value *b);
ir_value *expand_reduce_build(expand_state *state, ir_opcode opcode, const ir_op *reduce,
                              ir_value *value, ir_type type);
/* The module axis that is reduced. */
int expand_reduce_axis(const ir_op *op);
/* Its partial results are in several subgroups. */
bool expand_reduce_meets(const expand_state *state, const ir_op *op);

/* expand_order.c, expand_order_array.c: reductions in an order that the plan records. Whether each
 * element waits, joined with the identity, in a private array until the axis ends; then there is
 * one, and elements are put there. */
bool expand_order_keeps(const expand_state *state, const ir_op *reduce);
void expand_order_begin(expand_state *state, const ir_op *reduce);
void expand_order_keep(expand_state *state, const expand_place *place, const ir_op *reduce,
                       ir_value *value);
/* In a piece of an axis: the value in its slots of the whole step, identities in the others. */
ir_value *expand_order_piece(expand_state *state, const expand_place *place, const ir_op *reduce,
                             ir_value *value);
/* Of all cells of the array; of none of them `carry`. */
ir_value *expand_order_array(expand_state *state, const ir_op *reduce, ir_value *carry);
/* The state at the end of the axis, from the carry: of the array; for the canonical order, where
 * lanes hold the axis, that of all lanes. Other reductions keep their carry. */
ir_value *expand_order_finish(expand_state *state, const ir_op *reduce, ir_value *carry,
                              bool over_lanes);
/* Cells of scratch that a reduction over several subgroups needs. */
int64_t expand_order_cells(const expand_state *state, const ir_op *reduce);

/* expand_zero.c: max and min that tell the zeros apart reduce integers in the order of the floats.
 * The integer of an element, and the float of a result. */
bool expand_zero_has_keys(const ir_op *reduce);
ir_value *expand_zero_key(expand_state *state, const ir_op *reduce, ir_value *value);
ir_value *expand_zero_value(expand_state *state, ir_value *key);

/* expand_convert.c: a conversion between two layouts; how many cells of scratch it needs. */
void expand_convert(expand_state *state, ir_op *op);
int64_t expand_convert_cells(expand_state *state, const ir_op *op);

/* expand_scratch_arrays.c: declares the arrays of all reductions over several subgroups, and of
 * conversions. */
void expand_scratch_declare(expand_state *state, const ir_region *mapped);

/* Every lane puts its slots into the array of the conversion, or of the reduction in the canonical
 * order, and gets those that it owns then. */
typedef struct expand_exchange {
    const ir_op *user;
    ir_value *value, *put, *get;       /* what is put; cells, i64(k) */
    ir_value *put_inside, *get_inside; /* bool(k); NULL: all of them */
    int slots;                         /* of the result */
} expand_exchange;

/* expand_scratch.c. */
ir_value *expand_scratch_exchange(expand_state *state, const expand_exchange *exchange);
/* The arrays whose users stand inside a mapped op. */
expand_range expand_scratch_inside(const expand_state *state, const ir_op *op);
/* Puts the partial results of reductions that end together, synchronises once, and gives the
 * combined values. The values are T(1), one for each subgroup; NULL ones are passed over. What
 * comes of them is uniform, or where programs share the team T(1). */
void expand_scratch_combine(expand_state *state, ir_op *const *reduces, int count,
                            ir_value **values);
/* An access of scratch by an index that is 0 so far. */
ir_access *expand_scratch_access(expand_state *state);
/* The cells of the array at this index of the slots, in every lane; past the last one the identity
 * of the array's reduction. */
ir_value *expand_scratch_get(expand_state *state, const expand_scratch *scratch,
                             const ir_affine *index, int64_t cells, ir_scope scope);
/* Publishes what is written, and releases the published arrays of the range; the sync of a group
 * only those that no other group writes. */
void expand_scratch_sync(expand_state *state, expand_range released, ir_scope scope);
/* The scope of a sync that the array at this place of state->scratch waits for. */
ir_scope expand_scratch_scope(const expand_state *state, int at);

/* expand_cluster.c: the number of the group in its cluster and the parts of axes, before the
 * programs. */
void expand_cluster_begin(expand_state *state);
/* Of `count` positions of a guarded step those that are left from the part of the group on. */
ir_value *expand_cluster_count(expand_state *state, int axis, ir_value *count);
/* bool, uniform: whether the group stores a tile; NULL: each stores its part, or is alone. */
ir_value *expand_cluster_first(expand_state *state, const ir_value *tile);
/* Its results are in several groups. */
bool expand_cluster_meets(const expand_state *state, const ir_op *reduce);
/* The results of reductions that end together, of this group, become those of the cluster. */
void expand_cluster_combine(expand_state *state, ir_op *const *reduces, int count,
                            ir_value **values);

/* expand_tokens.c. Tokens as the last carries of a loop, or results of a branch. Before the op is
 * made: operands and types of the range, appended. */
void expand_tokens_before(expand_state *state, expand_range range, bool loop, ir_value **operands,
                          ir_type *types);
/* In the region of a loop: its last arguments are the tokens. */
void expand_tokens_enter(expand_state *state, expand_range range, ir_region *region);
/* In a branch: remembers the tokens that each side begins with, or goes back to them; a sync in a
 * side releases only what the branch hands on. */
void expand_tokens_branch(expand_state *state, expand_range range, ir_value **tokens, bool begin);
/* At the end of a region: the tokens in the states that the types ask for, as last yields. */
void expand_tokens_leave(expand_state *state, expand_range range, const ir_type *types,
                         ir_value **yields);
/* After the op: its last results. */
void expand_tokens_after(expand_state *state, expand_range range, ir_op *op);

/* A sweep that is expanded. */
typedef struct expand_sweep_state {
    expand_state *state;
    ir_op *sweep;
    ir_op *reduces[EXPAND_MAX_REDUCES];
    ir_value *carry[EXPAND_MAX_REDUCES]; /* the running state of each reduction */
    int reduce_count;
} expand_sweep_state;

/* expand_sweep.c: a sweep; the axes of its nest from `depth` on, and the body. */
void expand_sweep_nest(expand_sweep_state *s, expand_place *place, int depth);
void expand_sweep(expand_state *state, ir_op *sweep);
/* The domain that everything observable in the sweep has on the axis, or NULL: the loop over its
 * steps may stop there. *found: something observable has the axis. */
ir_value *expand_common_domain(const ir_op *sweep, int axis, bool *found);

/* expand_steps.c: the axis at `depth`, with what stands inside. */
void expand_sweep_axis(expand_sweep_state *s, expand_place *place, int depth);
/* The place goes on in a piece of its axis, with the slots of it; and behind the last one. */
void expand_enter_piece(expand_sweep_state *s, expand_place *place, int depth, int piece);
void expand_leave_pieces(expand_sweep_state *s, expand_place *place, int depth,
                         const expand_axis *whole);

/* expand_once.c: a cut axis without steps, below `bound`. */
void expand_sweep_once(expand_sweep_state *s, expand_place *place, int depth, ir_value *bound);

/* expand_forms.c: a function or a division; NULL for any other op. */
ir_value *expand_formed(ir_builder *b, const ir_op *op, ir_value *const *operands);

#endif
