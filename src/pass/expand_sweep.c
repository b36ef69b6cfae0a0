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

/* ---- its axes ---- */

/* The axis that lanes or slots hold, -1: none. */
static int spread_axis(expand_state *state, const ir_op *sweep) {
    int spread = -1;
    for (int i = 0; i < sweep->attributes.axis_count; i++) {
        int axis = sweep->attributes.axes[i];
        if (state->axis[axis].spread && spread >= 0)
            expand_fail(state, sweep, "two-lane-axes",
                        "two axes of a sweep have lanes, subgroups or slots");
        spread = state->axis[axis].spread ? axis : spread;
    }
    return spread;
}

ir_value *expand_common_domain(const ir_op *sweep, int axis, bool *found) {
    ir_value *common = NULL;
    *found = false;
    for (ir_op *op = sweep->regions[0]->first; op != NULL; op = op->next) {
        if (op->opcode != IR_STORE && op->opcode != IR_REDUCE && op->opcode != IR_YIELD)
            continue;
        for (int k = op->opcode == IR_STORE ? op->operand_count - 1 : 0; k < op->operand_count;
             k++) {
            const ir_value *value = op->operands[k];
            if (value->definer != NULL && value->definer->opcode == IR_REDUCE)
                continue;
            for (int i = 0; i < value->type.rank; i++) {
                if (value->layout.axis[i] != axis)
                    continue;
                if (*found && value->type.domain[i] != common)
                    return NULL;
                common = value->type.domain[i];
                *found = true;
            }
        }
    }
    return common;
}

/* ---- what a sweep hands on ---- */

static ir_value *sweep_result_of(const expand_sweep_state *s, const ir_value *inner) {
    ir_op *yield = ir_region_yield(s->sweep->regions[0]);
    for (int i = 0; i < yield->operand_count; i++)
        if (yield->operands[i] == inner)
            return s->sweep->results[i];
    return NULL;
}

/* Keeps the thread value of a yielded tile in its array or registers; a scalar becomes the result
 * itself. */
static void sweep_keep(expand_sweep_state *s, expand_place *place, ir_value *result,
                       ir_value *value) {
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
    expand_push(state, array, cell, value);
}

static void sweep_body(expand_sweep_state *s, expand_place *place) {
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

/* The reductions end, and what the sweep hands on of them is kept. */
static void sweep_finish(expand_sweep_state *s, expand_place *place) {
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
void expand_sweep_nest(expand_sweep_state *s, expand_place *place, int depth) {
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
        expand_sweep_axis(s, place, depth);
    if (innermost)
        sweep_finish(s, place);
}

/* Reductions must run over the innermost axis; the sweep analysis orders axes so. */
static bool sweep_check(expand_sweep_state *s) {
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
    expand_sweep_state s = {.state = state, .sweep = sweep};
    if (!sweep_check(&s))
        return;
    for (int i = 0; i < sweep->result_count; i++)
        if (!expand_declare_pieces(state, sweep->results[i]) &&
            sweep->results[i]->storage == IR_STORAGE_PRIVATE)
            state->array[sweep->results[i]->number] =
                expand_declare_array(state, sweep->results[i]);
    expand_place place;
    memset(&place, 0, sizeof place);
    place.spread = spread_axis(state, sweep);
    expand_sweep_nest(&s, &place, 0);
}
