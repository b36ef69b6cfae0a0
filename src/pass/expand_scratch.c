/* Expansion of reductions over several subgroups: partial results meet in scratch.
 *
 *     %w = combine max %f : f32(1) uniform subgroup              a partial result for each subgroup
 *     %a = put %s[subgroup*1], %w, %t mask=lane*1 < 1 : token written %s
 *     %p = sync group %a : token published %s
 *     %g = get %s[slot*1], %p : f32(8)                           every subgroup reads them all
 *     %m = uniform (fold max %g) : f32                           and finishes alone: no second sync
 *
 * Where several programs share the group each has cells of its own, and one sync serves all:
 *
 *     %g = get %s[subgroup/2*2 + slot*1], %p : f32(2)            two subgroups a program
 *     %m = fold max %g : f32(1) uniform subgroup
 *
 * Every reduction of the text has an array of its own. Where it stands in a loop its array is
 * written again: then the last reads must be over, which the sync of another reduction may see to;
 * only where none stands in between there is one more, at the end of the body.
 *
 *     for: max.0, sum.0    sync publish(max.0) release(sum.0) ...
 *                          sync publish(sum.0) release(max.0)
 *     for: max.0           sync publish(max.0) ... sync release(max.0)
 *
 * A conversion through scratch has an array too, of a cell for each element, and the same rules;
 * the plan may let it use that of an earlier one again, which a sync then releases before the put.
 *
 * These syncs are what tokens ask for in any program; the pass syncs leaves those that this one
 * needs.
 */
#include "pass/expand_internal.h"

#include <string.h>

static bool stands_inside(const ir_op *op, const ir_op *outer) {
    while (op != NULL && op != outer)
        op = op->parent != NULL ? op->parent->owner : NULL;
    return op == outer;
}

expand_range expand_scratch_inside(const expand_state *state, const ir_op *op) {
    expand_range range = {0};
    for (int i = 0; i < state->scratch_count; i++) {
        if (!stands_inside(state->scratch[i].user, op))
            continue;
        range.first = range.last == 0 ? i : range.first;
        range.last = i + 1;
    }
    return range;
}

static expand_scratch *scratch_of(expand_state *state, const ir_op *user) {
    for (int i = 0; i < state->scratch_count; i++)
        if (!state->scratch[i].far &&
            (state->scratch[i].user == user ||
             (user->attributes.array != NULL && state->scratch[i].user->anchor != NULL &&
              strcmp(state->scratch[i].user->anchor, user->attributes.array) == 0)))
            return &state->scratch[i];
    return NULL;
}

/* ---- one synchronisation ---- */
static ir_token_state after_sync(ir_token_state before) {
    return before == IR_TOKEN_WRITTEN ? IR_TOKEN_PUBLISHED : IR_TOKEN_FREE;
}

ir_scope expand_scratch_scope(const expand_state *state, int at) {
    return state->scratch[at].far ? IR_SCOPE_CLUSTER : IR_SCOPE_GROUP;
}

void expand_scratch_sync(expand_state *state, expand_range released, ir_scope scope) {
    ir_value *operands[EXPAND_MAX_SCRATCH] = {NULL};
    ir_type types[EXPAND_MAX_SCRATCH] = {{0}};
    expand_scratch *taken[EXPAND_MAX_SCRATCH];
    int count = 0;
    for (int i = 0; i < state->scratch_count; i++) {
        expand_scratch *scratch = &state->scratch[i];
        ir_token_state before = scratch->token->type.state;
        bool again = i >= released.first && i < released.last;
        if ((before != IR_TOKEN_WRITTEN && !(before == IR_TOKEN_PUBLISHED && again)) ||
            scope < expand_scratch_scope(state, i))
            continue;
        taken[count] = scratch;
        operands[count] = scratch->token;
        types[count] = scratch->token->type;
        types[count++].state = after_sync(before);
    }
    ir_op *sync = ir_build_op(&state->builder, IR_SYNC, count, operands, count, types, 0);
    sync->attributes.scope = scope;
    for (int i = 0; i < count; i++)
        taken[i]->token = sync->results[i];
}

/* ---- put, get ---- */
ir_access *expand_scratch_access(expand_state *state) {
    ir_access *access = BASE_NEW(state->module->arena, ir_access);
    *access = (ir_access){.rank = 1, .fill = -1, .mask = -1, .width = 1};
    access->index[0] = (ir_index){.kind = IR_INDEX_AFFINE, .operand = -1, .vector = -1};
    return access;
}

/* One lane of each subgroup writes its cell. */
static void build_put(expand_state *state, expand_scratch *scratch, ir_value *value) {
    ir_value *one = ir_build_integer(&state->builder, BASE_I64, 1);
    ir_value *operands[] = {scratch->array, one, value, scratch->token};
    ir_type type = scratch->token->type;
    type.state = IR_TOKEN_WRITTEN;
    ir_op *put = ir_build_op(&state->builder, IR_PUT, 4, operands, 1, &type, 0);
    ir_access *access = expand_scratch_access(state);
    ir_affine_add(&access->index[0].affine, (ir_term){LAYOUT_SUBGROUP, 1, 0, 1});
    access->mask_kind = IR_MASK_RANGE;
    access->mask = 1;
    access->mask_affine = ir_affine_of(1, 0);
    put->attributes.access = access;
    scratch->token = put->results[0];
}

/* Partial results of a program are for its own subgroups. */
static ir_scope scope_of_partials(const expand_state *state) {
    return state->packed ? IR_SCOPE_SUBGROUP : IR_SCOPE_GROUP;
}

ir_value *expand_scratch_get(expand_state *state, const expand_scratch *scratch,
                             const ir_affine *index, int64_t cells, ir_scope scope) {
    ir_builder *b = &state->builder;
    int slots = 1;
    while (slots < cells)
        slots *= 2;
    ir_access *access = expand_scratch_access(state);
    access->index[0].affine = *index;
    ir_value *operands[4] = {scratch->array};
    int count = 1;
    if (slots != cells) {
        access->mask_kind = IR_MASK_RANGE;
        access->mask_affine = ir_affine_of(0, 1);
        access->mask = count;
        operands[count++] = ir_build_integer(b, BASE_I64, cells);
        access->fill = count;
        operands[count++] = expand_reduce_identity(state, scratch->user);
    }
    operands[count++] = scratch->token;
    ir_type type = ir_type_slots(scratch->array->type.dtype, slots);
    ir_op *get = ir_build_op(b, IR_GET, count, operands, 1, &type, 0);
    get->attributes.access = access;
    get->results[0]->scope = scope;
    return get->results[0];
}

/* All partial results of its program. */
static ir_value *get_partials(expand_state *state, const expand_scratch *scratch) {
    const expand_axis *axis = &state->axis[expand_reduce_axis(scratch->user)];
    return expand_scratch_get(state, scratch, &axis->partials, axis->subgroups,
                              scope_of_partials(state));
}

/* The arrays may be read still, from an iteration before: one sync releases all of them, before the
 * first put, so that none of this iteration's is released unread. */
static void release_before_puts(expand_state *state, ir_op *const *reduces, int count,
                                ir_value **values) {
    bool read = false;
    for (int i = 0; i < count; i++) {
        expand_scratch *scratch = values[i] != NULL ? scratch_of(state, reduces[i]) : NULL;
        if (scratch == NULL || scratch->token->type.state != IR_TOKEN_PUBLISHED)
            continue;
        if (!read)
            state->builder.location = reduces[i]->location;
        read = true;
    }
    if (read)
        expand_scratch_sync(state, state->released, IR_SCOPE_GROUP);
}

void expand_scratch_combine(expand_state *state, ir_op *const *reduces, int count,
                            ir_value **values) {
    int used = 0;
    if (!state->failed)
        release_before_puts(state, reduces, count, values);
    for (int i = 0; i < count && !state->failed; i++) {
        expand_scratch *scratch = values[i] != NULL ? scratch_of(state, reduces[i]) : NULL;
        if (scratch == NULL)
            continue;
        state->builder.location = reduces[i]->location;
        build_put(state, scratch, values[i]);
        used++;
    }
    if (used == 0 || state->failed)
        return;
    expand_scratch_sync(state, state->released, IR_SCOPE_GROUP);
    for (int i = 0; i < count; i++) {
        if (values[i] == NULL)
            continue;
        state->builder.location = reduces[i]->location;
        ir_value *all = get_partials(state, scratch_of(state, reduces[i]));
        ir_value *folded = expand_reduce_fold(state, reduces[i], all);
        folded->scope = scope_of_partials(state);
        values[i] = state->packed ? folded : expand_uniform(state, folded);
    }
}

/* ---- conversions ---- */
/* Operands after the array: the cells, a mask, then (put) the value, then the token. */
static ir_access *exchange_access(expand_state *state, ir_value *cells, ir_value *inside,
                                  ir_value **operands, int *count) {
    ir_access *access = BASE_NEW(state->module->arena, ir_access);
    *access = (ir_access){.rank = 1, .fill = -1, .mask = -1, .width = 1};
    access->index[0] = (ir_index){.kind = IR_INDEX_AFFINE, .operand = -1, .vector = *count};
    operands[(*count)++] = cells;
    if (inside != NULL) {
        access->mask_kind = IR_MASK_BITS;
        access->mask = *count;
        operands[(*count)++] = inside;
    }
    return access;
}

/* The array was read, by a conversion before or in an iteration before. */
static void release_again(expand_state *state, const expand_scratch *scratch) {
    int at = (int)(scratch - state->scratch);
    expand_range range = state->released;
    if (range.last == range.first)
        range = (expand_range){at, at + 1};
    range.first = range.first < at ? range.first : at;
    range.last = range.last > at + 1 ? range.last : at + 1;
    expand_scratch_sync(state, range, IR_SCOPE_GROUP);
}

ir_value *expand_scratch_exchange(expand_state *state, const expand_exchange *exchange) {
    ir_builder *b = &state->builder;
    expand_scratch *scratch = scratch_of(state, exchange->user);
    if (scratch == NULL)
        return exchange->value;
    if (scratch->token->type.state == IR_TOKEN_PUBLISHED)
        release_again(state, scratch);
    ir_value *operands[5] = {scratch->array};
    int count = 1;
    ir_access *access =
        exchange_access(state, exchange->put, exchange->put_inside, operands, &count);
    operands[count++] = exchange->value;
    operands[count++] = scratch->token;
    ir_type type = scratch->token->type;
    type.state = IR_TOKEN_WRITTEN;
    ir_op *put = ir_build_op(b, IR_PUT, count, operands, 1, &type, 0);
    put->attributes.access = access;
    scratch->token = put->results[0];
    expand_scratch_sync(state, state->released, IR_SCOPE_GROUP);
    count = 1;
    access = exchange_access(state, exchange->get, exchange->get_inside, operands, &count);
    operands[count++] = scratch->token;
    type = ir_type_slots(scratch->array->type.dtype, exchange->slots);
    ir_op *get = ir_build_op(b, IR_GET, count, operands, 1, &type, 0);
    get->attributes.access = access;
    return get->results[0];
}
