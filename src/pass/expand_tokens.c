/* Tokens of scratch arrays through loops and branches: their last carries.
 *
 *     for ... (%c: i64, %t: token free %s) { ... yield %u }
 *
 * A token that is free may be carried as a published one: it asks for a release before the next
 * put, no more.
 */
#include "pass/expand_internal.h"

/* The first array of a loop has to be free when an iteration begins; the others are released on the
 * way there. */
void expand_tokens_before(expand_state *state, expand_range range, bool loop, ir_value **operands,
                          ir_type *types) {
    bool first = loop && range.last > range.first;
    if (first && state->scratch[range.first].token->type.state == IR_TOKEN_PUBLISHED)
        expand_scratch_sync(state, state->released, expand_scratch_scope(state, range.first));
    for (int i = range.first; i < range.last; i++) {
        ir_value *token = state->scratch[i].token;
        types[i - range.first] = token->type;
        types[i - range.first].state =
            loop && i == range.first ? IR_TOKEN_FREE : IR_TOKEN_PUBLISHED;
        if (loop)
            operands[i - range.first] = token;
    }
}

void expand_tokens_enter(expand_state *state, expand_range range, ir_region *region) {
    for (int i = range.first; i < range.last; i++) {
        ir_type type = state->scratch[i].token->type;
        type.state = i == range.first ? IR_TOKEN_FREE : IR_TOKEN_PUBLISHED;
        state->scratch[i].token = ir_region_add_argument(state->module, region, type, NULL);
    }
    if (range.last > range.first)
        state->released = range;
}

void expand_tokens_branch(expand_state *state, expand_range range, ir_value **tokens, bool begin) {
    for (int i = range.first; i < range.last; i++) {
        if (begin)
            tokens[i - range.first] = state->scratch[i].token;
        else
            state->scratch[i].token = tokens[i - range.first];
    }
    expand_range *released = &state->released;
    released->first = released->first > range.first ? released->first : range.first;
    released->last = released->last < range.last ? released->last : range.last;
}

void expand_tokens_leave(expand_state *state, expand_range range, const ir_type *types,
                         ir_value **yields) {
    bool missing = false;
    for (int i = range.first; i < range.last; i++)
        missing |= types[i - range.first].state == IR_TOKEN_FREE &&
                   state->scratch[i].token->type.state != IR_TOKEN_FREE;
    if (missing)
        expand_scratch_sync(state, range, expand_scratch_scope(state, range.first));
    for (int i = range.first; i < range.last; i++)
        yields[i - range.first] = state->scratch[i].token;
}

void expand_tokens_after(expand_state *state, expand_range range, ir_op *op) {
    int first = op->result_count - (range.last - range.first);
    for (int i = range.first; i < range.last; i++)
        state->scratch[i].token = op->results[first + i - range.first];
}
