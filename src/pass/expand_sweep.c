/* Expansion of sweeps: a nest of loops over steps, reductions as carries of the innermost loop.
 *
 *     %m = sweep (N) { %t = load ...; %r = reduce max %t; yield %r }
 *
 * becomes, with N on lane 8 | slot 4 | step *,
 *
 *     %a = for %c = 0 .. N // 32 carry(-inf) { %t = load ... width 8; yield maximum(%c, %t) }
 *     %b = for %c = N // 32 * 4 .. N // 8 carry(fold<max> %a) { ... one slot ... }
 *     %d = for %c = N // 8 .. (N + 7) // 8 carry(%b) {
 *         %t = load ... mask range(N % 8); yield maximum(%c, select(inside, %t, -inf)) }
 *     %m = combine<max> %d
 *
 * The second loop takes single chunks of slots (expand_pieces.c), the third one is the guarded
 * step: at most one trip; straight-line code when the extent is known, and absent when it
 * divides. An axis without lanes or slots has no guarded step. A shifted
 * axis walks the steps that are whole for every shift, and then the first and the last one, guarded
 * at both ends:
 *
 *     for %c = 1 .. (N + %s) // 32               for %c = 0 .. (N + %s + 31) // 32 by the last
 */
#include "pass/expand_internal.h"

#include <string.h>

typedef struct sweep_state {
    expand_state *state;
    ir_op *sweep;
    ir_op *reduces[EXPAND_MAX_REDUCES];
    ir_value *carry[EXPAND_MAX_REDUCES]; /* the running state of each reduction */
    ir_value *total[EXPAND_MAX_REDUCES]; /* of pieces that have ended; NULL: none */
    int reduce_count;
} sweep_state;

static void sweep_nest(sweep_state *s, expand_place *place, int depth);

/* ---- what a sweep hands on ---- */

static ir_value *sweep_result_of(const sweep_state *s, const ir_value *inner) {
    ir_op *yield = ir_region_yield(s->sweep->regions[0]);
    for (int i = 0; i < yield->operand_count; i++)
        if (yield->operands[i] == inner)
            return s->sweep->results[i];
    return NULL;
}

/* Keeps the thread value of a yielded tile in its array or registers; a scalar becomes the result
 * itself. */
static void sweep_keep(sweep_state *s, expand_place *place, ir_value *result, ir_value *value) {
    expand_state *state = s->state;
    ir_value *array = state->array[result->number], **pieces = state->pieces[result->number];
    if (pieces != NULL && pieces[place->piece] == NULL) {
        pieces[place->piece] = expand_splat(state, value, expand_slots_of(state, result));
        return;
    }
    if (pieces != NULL)
        array = pieces[place->piece];
    if (array == NULL) {
        state->value[result->number] = expand_splat(state, value, expand_slots_of(state, result));
        return;
    }
    ir_value *cell = expand_cell(state, place, result);
    value = expand_splat(state, value, array->type.slots);
    ir_build_op(&state->builder, IR_PUSH, 3, (ir_value *[]){array, cell, value}, 0, NULL, 0);
}

static void sweep_body(sweep_state *s, expand_place *place) {
    place->body = ++s->state->next_body;
    int which = 0;
    for (ir_op *op = s->sweep->regions[0]->first; op != NULL; op = op->next) {
        s->state->builder.location = op->location;
        if (op->opcode == IR_REDUCE) {
            s->carry[which] = expand_reduce_enter(s->state, place, op, s->carry[which]);
            which++;
        } else if (op->opcode != IR_YIELD) {
            expand_op(s->state, place, op);
        }
    }
    ir_op *yield = ir_region_yield(s->sweep->regions[0]);
    for (int i = 0; i < yield->operand_count; i++) {
        ir_value *inner = yield->operands[i];
        bool reduced = inner->definer != NULL && inner->definer->opcode == IR_REDUCE &&
                       inner->definer->parent == s->sweep->regions[0];
        if (!reduced)
            sweep_keep(s, place, s->sweep->results[i], expand_use(s->state, place, inner));
    }
}

/* ---- loops ---- */

/* The loop over steps of an axis, with the reductions as carries when it is the innermost. */
static void sweep_loop(sweep_state *s, expand_place *place, int depth, expand_steps steps) {
    expand_state *state = s->state;
    ir_builder *b = &state->builder;
    int axis = s->sweep->attributes.axes[depth];
    bool innermost = depth + 1 == s->sweep->attributes.axis_count;
    int carries = innermost ? s->reduce_count : 0;
    expand_range tokens = {0};
    if (!innermost)
        tokens = expand_scratch_inside(state, s->sweep);
    int live = carries + tokens.last - tokens.first;
    ir_value *step = steps.step != NULL ? steps.step : ir_build_integer(b, BASE_I64, 1);
    ir_value *operands[3 + 2 * EXPAND_MAX_REDUCES] = {steps.first, steps.end, step};
    ir_type types[2 * EXPAND_MAX_REDUCES];
    for (int i = 0; i < carries; i++) {
        operands[3 + i] = s->carry[i];
        types[i] = s->carry[i]->type;
    }
    expand_tokens_before(state, tokens, true, operands + 3 + carries, types + carries);
    ir_op *loop = ir_build_op(b, IR_FOR, 3 + live, operands, live, types, 1);
    ir_region *outer = b->region;
    b->region = loop->regions[0];
    place->step[axis] =
        ir_region_add_argument(state->module, b->region, ir_type_uniform(BASE_I64), NULL);
    for (int i = 0; i < carries; i++)
        s->carry[i] = ir_region_add_argument(state->module, b->region, types[i], NULL);
    expand_range around = state->released;
    expand_tokens_enter(state, tokens, b->region);
    if (steps.positions != NULL)
        expand_guard(state, place, axis, steps.positions);
    sweep_nest(s, place, depth + 1);
    ir_value *yields[2 * EXPAND_MAX_REDUCES];
    for (int i = 0; i < carries; i++)
        yields[i] = s->carry[i];
    expand_tokens_leave(state, tokens, types + carries, yields + carries);
    ir_build_yield(b, live, yields);
    b->region = outer;
    state->released = around;
    for (int i = 0; i < carries; i++)
        s->carry[i] = loop->results[i];
    expand_tokens_after(state, tokens, loop);
}

/* An empty axis: what would be kept in registers has no element, and any value will do. */
static void sweep_keep_nothing(sweep_state *s) {
    expand_state *state = s->state;
    for (int i = 0; i < s->sweep->result_count; i++) {
        const ir_value *result = s->sweep->results[i];
        if (result->storage != IR_STORAGE_REGISTERS || state->value[result->number] != NULL)
            continue;
        base_dtype dtype = result->type.dtype == BASE_INDEX ? BASE_I64 : result->type.dtype;
        ir_value *zero = ir_build_constant(&state->builder, (ir_constant){.dtype = dtype});
        state->value[result->number] = expand_splat(state, zero, expand_slots_of(state, result));
    }
}

static bool sweep_is_innermost(const sweep_state *s, int depth) {
    return depth + 1 == s->sweep->attributes.axis_count;
}

/* The place goes on in a piece of its axis, with the slots of it. */
static void sweep_enter_piece(sweep_state *s, expand_place *place, int depth, int piece) {
    expand_state *state = s->state;
    int axis = s->sweep->attributes.axes[depth];
    place->piece = piece;
    state->axis[axis] = expand_piece_axis(state, axis, piece);
    for (int i = 0; sweep_is_innermost(s, depth) && i < s->reduce_count; i++)
        expand_piece_begin(state, s->reduces[i], &s->carry[i], &s->total[i]);
}

/* Behind the last piece. */
static void sweep_leave_pieces(sweep_state *s, expand_place *place, int depth,
                               const expand_axis *whole) {
    for (int i = 0; sweep_is_innermost(s, depth) && i < s->reduce_count; i++)
        expand_piece_end(s->state, s->reduces[i], &s->carry[i], &s->total[i]);
    s->state->axis[s->sweep->attributes.axes[depth]] = *whole;
    place->piece = 0;
    place->cells_from = NULL;
}

/* One piece of an axis with a known bound: full steps, or the guarded one as straight-line code. */
static void sweep_piece_known(sweep_state *s, expand_place *place, int depth,
                              const expand_piece *piece) {
    ir_builder *b = &s->state->builder;
    int axis = s->sweep->attributes.axes[depth];
    ir_value *first = ir_build_integer(b, BASE_I64, piece->first);
    if (s->state->axis[axis].cut)
        place->cells_from = first;
    if (piece->steps > 1) {
        ir_value *end = ir_build_integer(b, BASE_I64, piece->first + piece->steps);
        sweep_loop(s, place, depth, (expand_steps){.first = first, .end = end});
        return;
    }
    place->step[axis] = first;
    place->count = piece->rest > 0 ? ir_build_integer(b, BASE_I64, piece->rest) : NULL;
    sweep_nest(s, place, depth + 1);
    place->count = NULL;
}

static void sweep_axis_known(sweep_state *s, expand_place *place, int depth) {
    expand_axis *axis = &s->state->axis[s->sweep->attributes.axes[depth]];
    const expand_axis whole = *axis;
    if (whole.piece_count == 0)
        sweep_keep_nothing(s);
    for (int p = 0; p < whole.piece_count; p++) {
        if (whole.cut) {
            *axis = whole;
            sweep_enter_piece(s, place, depth, p);
        }
        sweep_piece_known(s, place, depth, &whole.pieces[p]);
    }
    if (whole.cut)
        sweep_leave_pieces(s, place, depth, &whole);
}

/* Steps from `first` on, full ones, and the guarded one behind them. */
static ir_value *sweep_steps(sweep_state *s, expand_place *place, int depth, ir_value *first,
                             ir_value *bound, bool guarded) {
    ir_builder *b = &s->state->builder;
    int64_t chunk = s->state->axis[s->sweep->attributes.axes[depth]].chunk;
    if (chunk == 1) {
        sweep_loop(s, place, depth, (expand_steps){.first = first, .end = bound});
        return bound;
    }
    ir_value *elements = ir_build_integer(b, BASE_I64, chunk);
    ir_value *full = ir_build_binary(b, IR_FLOOR_DIV, bound, elements);
    if (!guarded) {
        sweep_loop(s, place, depth, (expand_steps){.first = first, .end = full});
        return full;
    }
    ir_value *rest = ir_build_binary(b, IR_SUB, bound, ir_build_binary(b, IR_MUL, full, elements));
    ir_value *one = ir_build_integer(b, BASE_I64, 1);
    ir_value *end = ir_build_binary(b, IR_ADD, full, ir_build_binary(b, IR_MINIMUM, rest, one));
    sweep_loop(s, place, depth, (expand_steps){.first = first, .end = full});
    place->count = rest;
    sweep_loop(s, place, depth, (expand_steps){.first = full, .end = end});
    place->count = NULL;
    return end;
}

/* The same with a bound that is known at run time: the guarded step is a loop of at most one trip.
 */
static void sweep_axis_runtime(sweep_state *s, expand_place *place, int depth, ir_value *bound) {
    ir_builder *b = &s->state->builder;
    expand_axis *axis = &s->state->axis[s->sweep->attributes.axes[depth]];
    const expand_axis whole = *axis;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    ir_value *full = sweep_steps(s, place, depth, zero, bound, !whole.cut);
    if (!whole.cut)
        return;
    sweep_enter_piece(s, place, depth, 1);
    ir_value *times = ir_build_integer(b, BASE_I64, whole.chunk / axis->chunk);
    place->cells_from = ir_build_binary(b, IR_MUL, full, times);
    sweep_steps(s, place, depth, place->cells_from, bound, true);
    sweep_leave_pieces(s, place, depth, &whole);
}

/* An axis of one step, as straight-line code: what is kept of it stays in slots. */
static void sweep_once(sweep_state *s, expand_place *place, int depth, ir_value *bound) {
    place->step[s->sweep->attributes.axes[depth]] =
        ir_build_integer(&s->state->builder, BASE_I64, 0);
    place->count = bound;
    sweep_nest(s, place, depth + 1);
    place->count = NULL;
}

/* A shifted axis of `bound` elements: steps that are whole, then those at the ends. */
static void sweep_axis_shifted(sweep_state *s, expand_place *place, int depth, ir_value *bound) {
    expand_state *state = s->state;
    int axis = s->sweep->attributes.axes[depth];
    expand_steps whole, ends;
    expand_shifted_steps(state, axis, bound, &whole, &ends);
    if (layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP)) {
        sweep_loop(s, place, depth, whole);
        sweep_loop(s, place, depth, ends);
    } else {
        place->step[axis] = ends.first;
        expand_guard(state, place, axis, ends.positions);
        sweep_nest(s, place, depth + 1);
    }
    place->count = place->first = NULL;
}

static void sweep_axis(sweep_state *s, expand_place *place, int depth) {
    expand_state *state = s->state;
    int axis = s->sweep->attributes.axes[depth];
    int64_t known = 0;
    bool found, once = !layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP);
    ir_value *domain = expand_common_domain(s->sweep, axis, &found);
    const layout_extent *extent = state->module->axes[axis].extent;
    place->domain[axis] = domain;
    bool is_known = layout_extent_known(&state->module->extents, extent, &known);
    if (state->axis[axis].shift != NULL && !(is_known && known == 0))
        sweep_axis_shifted(s, place, depth,
                           domain != NULL ? state->value[domain->number]
                                          : ir_build_size(&state->builder, extent));
    else if (domain != NULL && once && axis == place->spread)
        sweep_once(s, place, depth, state->value[domain->number]);
    else if (domain != NULL)
        sweep_axis_runtime(s, place, depth, state->value[domain->number]);
    else if (is_known)
        sweep_axis_known(s, place, depth);
    else
        sweep_axis_runtime(s, place, depth, ir_build_size(&state->builder, extent));
    place->domain[axis] = NULL;
    place->step[axis] = NULL;
}

/* The reductions end, and what the sweep hands on of them is kept. */
static void sweep_finish(sweep_state *s, expand_place *place) {
    expand_reduce_finish(s->state, s->reduces, s->reduce_count, s->carry);
    for (int i = 0; i < s->reduce_count; i++) {
        s->state->builder.location = s->reduces[i]->location;
        ir_value *result = sweep_result_of(s, s->reduces[i]->results[0]);
        if (result == NULL)
            continue;
        if (s->carry[i]->name == NULL)
            s->carry[i]->name = s->reduces[i]->results[0]->name;
        sweep_keep(s, place, result, s->carry[i]);
    }
}

/* One level of the nest; the reductions begin and end around the innermost axis. */
static void sweep_nest(sweep_state *s, expand_place *place, int depth) {
    int axes = s->sweep->attributes.axis_count;
    if (depth == axes && axes > 0) {
        sweep_body(s, place);
        return;
    }
    bool innermost = depth + 1 >= axes;
    for (int i = 0; innermost && i < s->reduce_count; i++) {
        s->state->builder.location = s->reduces[i]->location;
        s->carry[i] = expand_reduce_begin(s->state, s->reduces[i]);
    }
    if (axes == 0)
        sweep_body(s, place);
    else
        sweep_axis(s, place, depth);
    if (innermost)
        sweep_finish(s, place);
}

/* Reductions must run over the innermost axis; the sweep analysis orders axes so. */
static bool sweep_check(sweep_state *s) {
    int axes = s->sweep->attributes.axis_count;
    for (ir_op *op = s->sweep->regions[0]->first; op != NULL; op = op->next) {
        if (op->opcode != IR_REDUCE)
            continue;
        int axis = expand_reduce_axis(op);
        bool inner = axes == 0 || s->sweep->attributes.axes[axes - 1] == axis;
        if (!inner || s->reduce_count == EXPAND_MAX_REDUCES) {
            expand_fail(s->state, op, "sweep-order",
                        inner ? "more than 64 reductions in one sweep"
                              : "the reduced axis is not the innermost of its sweep");
            return false;
        }
        s->reduces[s->reduce_count++] = op;
    }
    return true;
}

void expand_sweep(expand_state *state, ir_op *sweep) {
    sweep_state s = {.state = state, .sweep = sweep};
    if (!sweep_check(&s))
        return;
    for (int i = 0; i < sweep->result_count; i++)
        if (!expand_declare_pieces(state, sweep->results[i]) &&
            sweep->results[i]->storage == IR_STORAGE_PRIVATE)
            state->array[sweep->results[i]->number] =
                expand_declare_array(state, sweep->results[i]);
    expand_place place;
    memset(&place, 0, sizeof place);
    place.spread = expand_spread_axis(state, sweep);
    sweep_nest(&s, &place, 0);
}
