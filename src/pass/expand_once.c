/* An axis that lies in registers and ends where the run says: each chunk stands under a branch.
 *
 *     256 elements below %n on slot 4 | lane 32 | slot 2
 *
 *     %full = %n // 128
 *     %a, %t = if 0 < %full { load ... width 4, no mask } else { what there was }
 *     %b, %u = if 1 < %full { the same at 128 }
 *     %c, %v = if 0 < %rest { load at %full*128 ... mask=lane*4 + slot*1 < %rest }
 *
 * The branches are the same for all lanes. What is kept of a chunk is a value of its own, as of any
 * piece (expand_pieces.c); of one that is not there, zeros, which nobody asks for: a later sweep
 * ends at the same place.
 */
#include "pass/expand_internal.h"

/* What the sweep keeps of the piece in registers. */
static int kept_values(const expand_sweep_state *s, int piece, ir_value ***kept) {
    int count = 0;
    for (int i = 0; i < s->sweep->result_count; i++) {
        ir_value **pieces = s->state->pieces[s->sweep->results[i]->number];
        if (pieces != NULL && (pieces[piece] == NULL || pieces[piece]->type.form == IR_FORM_SLOTS))
            kept[count++] = &pieces[piece];
    }
    return count;
}

/* Reductions, what is kept, and tokens: as they are at the end of a side of the branch. */
static void end_side(expand_sweep_state *s, int carries, ir_value *const *kept, int kept_count,
                     expand_range tokens, const ir_type *types) {
    int live = carries + kept_count;
    ir_value **yields =
        BASE_NEW_ARRAY(s->state->module->arena, ir_value *, live + tokens.last - tokens.first);
    for (int i = 0; i < carries; i++)
        yields[i] = s->carry[i];
    for (int i = 0; i < kept_count; i++)
        yields[carries + i] = kept[i];
    expand_tokens_leave(s->state, tokens, types + live, yields + live);
    ir_build_yield(&s->state->builder, live + tokens.last - tokens.first, yields);
}

/* The piece, where `condition` holds. */
static void sweep_branch(expand_sweep_state *s, expand_place *place, int depth,
                         ir_value *condition) {
    expand_state *state = s->state;
    base_arena *arena = state->module->arena;
    ir_builder *b = &state->builder;
    bool innermost = depth + 1 == s->sweep->attributes.axis_count;
    int carries = innermost ? s->reduce_count : 0, results = s->sweep->result_count;
    expand_range tokens = {0}, around = state->released;
    if (!innermost)
        tokens = expand_scratch_inside(state, s->sweep);
    int token_count = tokens.last - tokens.first;
    ir_value **begin = BASE_NEW_ARRAY(arena, ir_value *, token_count);
    ir_value **before = BASE_NEW_ARRAY(arena, ir_value *, carries + 1);
    ir_value ***kept = BASE_NEW_ARRAY(arena, ir_value **, results);
    ir_value **inner = BASE_NEW_ARRAY(arena, ir_value *, results);
    ir_type *types = BASE_NEW_ARRAY(arena, ir_type, carries + results + token_count);
    int kept_count = kept_values(s, place->piece, kept), live = carries + kept_count;
    for (int i = 0; i < carries; i++) {
        before[i] = s->carry[i];
        types[i] = s->carry[i]->type;
    }
    expand_tokens_before(state, tokens, false, NULL, types + live);
    ir_op *branch = ir_build_op(b, IR_IF, 1, &condition, live + token_count, types, 2);
    ir_region *outer = b->region;
    expand_tokens_branch(state, tokens, begin, true);
    b->region = branch->regions[0];
    expand_tokens_branch(state, tokens, begin, false);
    expand_sweep_nest(s, place, depth + 1);
    for (int i = 0; i < kept_count; i++)
        inner[i] = *kept[i];
    end_side(s, carries, inner, kept_count, tokens, types);
    b->region = branch->regions[1];
    expand_tokens_branch(state, tokens, begin, false);
    for (int i = 0; i < carries; i++)
        s->carry[i] = before[i];
    for (int i = 0; i < kept_count; i++) {
        ir_type type = branch->results[carries + i]->type = inner[i]->type;
        ir_value *zero = ir_build_constant(b, (ir_constant){.dtype = type.dtype});
        inner[i] = expand_splat(state, zero, type.slots);
    }
    end_side(s, carries, inner, kept_count, tokens, types);
    b->region = outer;
    state->released = around;
    expand_tokens_after(state, tokens, branch);
    for (int i = 0; i < carries; i++)
        s->carry[i] = branch->results[i];
    for (int i = 0; i < kept_count; i++)
        *kept[i] = branch->results[carries + i];
}

void expand_sweep_once(expand_sweep_state *s, expand_place *place, int depth, ir_value *bound) {
    expand_state *state = s->state;
    ir_builder *b = &state->builder;
    int number = s->sweep->attributes.axes[depth];
    expand_axis *axis = &state->axis[number];
    const expand_axis whole = *axis;
    int full_pieces = whole.piece_count - 1;
    ir_value *chunk = ir_build_integer(b, BASE_I64, whole.pieces[0].chunk);
    ir_value *full = ir_build_binary(b, IR_FLOOR_DIV, bound, chunk);
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    for (int p = 0; p < full_pieces; p++) {
        *axis = whole;
        expand_enter_piece(s, place, depth, p);
        place->step[number] = place->cells_from = ir_build_integer(b, BASE_I64, p);
        sweep_branch(s, place, depth, ir_build_binary(b, IR_LT, place->step[number], full));
    }
    *axis = whole;
    expand_enter_piece(s, place, depth, full_pieces);
    place->step[number] = place->cells_from = full;
    place->count = ir_build_binary(b, IR_SUB, bound, ir_build_binary(b, IR_MUL, full, chunk));
    ir_value *some = ir_build_binary(b, IR_LT, zero, place->count);
    place->count = expand_cluster_count(state, number, place->count);
    sweep_branch(s, place, depth, some);
    place->count = NULL;
    expand_leave_pieces(s, place, depth, &whole);
}
