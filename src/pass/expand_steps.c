/* The steps of one axis of a sweep: loops and pieces (expand_sweep.c has an example).
 *
 *     N known      each piece once: a loop, or straight-line code, the guarded chunk last
 *     N open       all slots, single chunks, the guarded one: three loops
 *     in registers, ending where the run says      single chunks, each once (expand_once.c)
 *     shifted, N known    those that every row fills, then those at both ends, each once
 *     shifted, N open     whole steps, then those at both ends
 *
 * Where a piece has fewer slots than the one before, reductions fold what they have so far:
 *
 *     %a : f32(4), 2 slots next      maximum(rename %a slots=(0, 1), rename %a slots=(2, 3))
 *     %a : f32(6), 2 slots next      maximum(maximum(.. (0, 1), .. (4, 5)), .. (2, 3))
 *
 * Which pieces there are is decided in expand_pieces.c. */
#include "pass/expand_internal.h"

/* ---- reductions from piece to piece ---- */

/* Nothing has entered yet. */
static bool begins(const ir_value *carry) {
    return carry->definer != NULL && carry->definer->opcode == IR_BROADCAST;
}

/* Slots of a state from `first` on. */
static ir_value *slots_from(expand_state *state, ir_value *carry, int first, int slots) {
    ir_type type = ir_type_slots(carry->type.dtype, slots);
    int64_t *from = BASE_NEW_ARRAY(state->module->arena, int64_t, slots);
    for (int i = 0; i < slots; i++)
        from[i] = first + i;
    ir_op *op = ir_build_op(&state->builder, IR_RENAME, 1, &carry, 1, &type, 0);
    op->attributes.slots = (ir_list){.count = slots, .items = from};
    return op->results[0];
}

/* Parts of a state with `slots` each become one, as a fold of them begins: those from the greatest
 * power of two below their number on join the ones at the beginning, and so on. */
static ir_value *fold_parts(expand_state *state, const ir_op *reduce, ir_value *carry, int slots) {
    int left = carry->type.slots / slots, half = 1;
    while (half * 2 < left)
        half *= 2;
    if (half * 2 == left) { /* all of them at once */
        ir_value *lower = slots_from(state, carry, 0, half * slots);
        ir_value *upper = slots_from(state, carry, half * slots, half * slots);
        carry = expand_reduce_join(state, reduce, lower, upper);
        return half == 1 ? carry : fold_parts(state, reduce, carry, slots);
    }
    ir_value **part = BASE_NEW_ARRAY(state->module->arena, ir_value *, left);
    for (int i = 0; i < left; i++)
        part[i] = slots_from(state, carry, i * slots, slots);
    for (; half > 0; left = half, half /= 2)
        for (int i = 0; i < half && i + half < left; i++)
            part[i] = expand_reduce_join(state, reduce, part[i], part[i + half]);
    return part[0];
}

/* The running state of a reduction with the slots of the piece that begins. */
static ir_value *carry_on(expand_state *state, const ir_op *reduce, ir_value *carry) {
    int slots = expand_slots_of(state, reduce->operands[0]);
    if (carry->type.form != IR_FORM_SLOTS || carry->type.slots == slots ||
        reduce->attributes.order == IR_ORDER_CANONICAL)
        return carry;
    state->builder.location = reduce->location;
    if (begins(carry))
        return expand_reduce_begin(state, reduce);
    if (slots == 1)
        return expand_reduce_fold(state, reduce, carry);
    return fold_parts(state, reduce, carry, slots);
}

/* ---- loops ---- */

/* The loop over steps of an axis, with the reductions as carries when it is the innermost. */
static void sweep_loop(expand_sweep_state *s, expand_place *place, int depth, expand_steps steps) {
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
    expand_sweep_nest(s, place, depth + 1);
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
static void sweep_keep_nothing(expand_sweep_state *s) {
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

static bool sweep_is_innermost(const expand_sweep_state *s, int depth) {
    return depth + 1 == s->sweep->attributes.axis_count;
}

void expand_enter_piece(expand_sweep_state *s, expand_place *place, int depth, int piece) {
    expand_state *state = s->state;
    int axis = s->sweep->attributes.axes[depth];
    place->piece = piece;
    state->axis[axis] = expand_piece_axis(state, axis, piece);
    for (int i = 0; sweep_is_innermost(s, depth) && i < s->reduce_count; i++)
        s->carry[i] = carry_on(state, s->reduces[i], s->carry[i]);
}

void expand_leave_pieces(expand_sweep_state *s, expand_place *place, int depth,
                         const expand_axis *whole) {
    s->state->axis[s->sweep->attributes.axes[depth]] = *whole;
    place->piece = 0;
    place->cells_from = NULL;
}

/* One piece of an axis with a known bound: full steps, or the guarded one as straight-line code. */
static void sweep_piece_known(expand_sweep_state *s, expand_place *place, int depth,
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
    if (piece->rest > 0)
        place->count =
            expand_cluster_count(s->state, axis, ir_build_integer(b, BASE_I64, piece->rest));
    if (piece->begins || piece->ends)
        expand_guard_piece(s->state, place, axis, piece);
    expand_sweep_nest(s, place, depth + 1);
    place->count = place->first = NULL;
}

static void sweep_axis_known(expand_sweep_state *s, expand_place *place, int depth) {
    expand_axis *axis = &s->state->axis[s->sweep->attributes.axes[depth]];
    const expand_axis whole = *axis;
    if (whole.piece_count == 0)
        sweep_keep_nothing(s);
    for (int p = 0; p < whole.piece_count; p++) {
        if (whole.cut) {
            *axis = whole;
            expand_enter_piece(s, place, depth, p);
        }
        sweep_piece_known(s, place, depth, &whole.pieces[p]);
    }
    if (whole.cut)
        expand_leave_pieces(s, place, depth, &whole);
}

/* Steps from `first` on, full ones, and the guarded one behind them. */
static ir_value *sweep_steps(expand_sweep_state *s, expand_place *place, int depth, ir_value *first,
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
    place->count = expand_cluster_count(s->state, s->sweep->attributes.axes[depth], rest);
    sweep_loop(s, place, depth, (expand_steps){.first = full, .end = end});
    place->count = NULL;
    return end;
}

/* The same with a bound that is known at run time: the guarded step is a loop of at most one trip.
 */
static void sweep_axis_runtime(expand_sweep_state *s, expand_place *place, int depth,
                               ir_value *bound) {
    ir_builder *b = &s->state->builder;
    expand_axis *axis = &s->state->axis[s->sweep->attributes.axes[depth]];
    const expand_axis whole = *axis;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    ir_value *full = sweep_steps(s, place, depth, zero, bound, !whole.cut);
    if (!whole.cut)
        return;
    expand_enter_piece(s, place, depth, 1);
    ir_value *times = ir_build_integer(b, BASE_I64, whole.chunk / axis->chunk);
    place->cells_from = ir_build_binary(b, IR_MUL, full, times);
    sweep_steps(s, place, depth, place->cells_from, bound, true);
    expand_leave_pieces(s, place, depth, &whole);
}

/* An axis of one step, as straight-line code: what is kept of it stays in slots. */
static void sweep_once(expand_sweep_state *s, expand_place *place, int depth, ir_value *bound) {
    int axis = s->sweep->attributes.axes[depth];
    place->step[axis] = ir_build_integer(&s->state->builder, BASE_I64, 0);
    place->count = expand_cluster_count(s->state, axis, bound);
    expand_sweep_nest(s, place, depth + 1);
    place->count = NULL;
}

/* A shifted axis of `bound` elements: steps that are whole, then those at the ends. */
static void sweep_axis_shifted(expand_sweep_state *s, expand_place *place, int depth,
                               ir_value *bound) {
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
        expand_sweep_nest(s, place, depth + 1);
    }
    place->count = place->first = NULL;
}

void expand_sweep_axis(expand_sweep_state *s, expand_place *place, int depth) {
    expand_state *state = s->state;
    int axis = s->sweep->attributes.axes[depth];
    int64_t known = 0;
    bool found, once = !layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP);
    ir_value *domain = expand_common_domain(s->sweep, axis, &found);
    const layout_extent *extent = state->module->axes[axis].extent;
    place->domain[axis] = domain;
    bool is_known = layout_extent_known(&state->module->extents, extent, &known);
    if (state->axis[axis].shift != NULL && !state->axis[axis].known && !(is_known && known == 0))
        sweep_axis_shifted(s, place, depth,
                           domain != NULL ? state->value[domain->number]
                                          : ir_build_size(&state->builder, extent));
    else if (domain != NULL && once && state->axis[axis].cut)
        expand_sweep_once(s, place, depth, state->value[domain->number]);
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
