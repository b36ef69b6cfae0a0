/* syncs: level thread. Lanes wait for each other where two of them could meet in a cell of scratch,
 * and nowhere else.
 *
 *     for 0, %n, 1 {
 *       put A; sync group; get A                   a sync releases A, as the tokens of a sequence
 *       sync group; put B; sync group; get B       ask for
 *       sync group
 *     }                                ==>
 *     for 0, %n, 1 {
 *       put A; sync group; get A       the syncs that publish B and A also stand between the gets
 *       put B; sync group; get B       of A and B and the next puts
 *     }
 *
 * Cells of tensors that all lanes store to alike, and read, are cells too: a sync without tokens
 * stands before such a store where one may still be reading what was there.
 *
 * At first every access and every loop waits for the group. Then each sync goes without which every
 * pair of accesses still has what it needs between, those in most loops first; and what stays waits
 * for the subgroup only where that does. So none of those that stay can go, and none is wider than
 * it must be. Where no choice does, as with groups that reach each other's scratch, all stays as it
 * was.
 */
#include "pass/syncs_internal.h"

#include "base/hash.h"
#include "ir/print.h"

static int greatest_depth(const syncs *s) {
    int depth = 0;
    for (int64_t i = 0; i < s->place_count; i++)
        depth = s->places[i]->depth > depth ? s->places[i]->depth : depth;
    return depth;
}

/* Narrows the syncs inside so many loops to the scope, where that does. */
static void narrow(syncs *s, int depth, ir_scope scope) {
    for (int64_t i = 0; i < s->place_count; i++) {
        syncs_step *place = s->places[i];
        ir_scope before = place->scope;
        if (place->depth != depth || before == IR_SCOPE_NONE)
            continue;
        place->scope = scope;
        if (!syncs_flow(s))
            place->scope = before;
    }
}

/* Or it may be there for a tensor. */
static bool takes_a_token(const syncs *s, const syncs_step *place) {
    for (int i = 0; i < s->array_count; i++)
        if (place->taken[i] != 0)
            return true;
    return place->scope == IR_SCOPE_NONE || s->tensor_count > 0;
}

static bool choose(syncs *s) {
    if (!syncs_flow(s))
        return false;
    for (int depth = greatest_depth(s); depth >= 0; depth--) {
        narrow(s, depth, IR_SCOPE_NONE);
        narrow(s, depth, IR_SCOPE_SUBGROUP);
    }
    bool holds = syncs_flow(s);
    for (int64_t i = 0; i < s->place_count; i++)
        holds = holds && takes_a_token(s, s->places[i]);
    return holds;
}

static uint64_t hash_of_text(const ir_module *module) {
    base_text text;
    base_text_init(&text, module->arena);
    ir_module_print(&text, module, true);
    return base_hash_bytes(BASE_HASH_START, text.bytes, (size_t)text.length);
}

pass_result pass_syncs(ir_module *module, pass_context *context) {
    (void)context;
    syncs s = {.module = module, .arena = module->arena};
    if (!syncs_steps_make(&s))
        return PASS_SAME;
    syncs_steps_look_ahead(&s);
    if (!choose(&s))
        return PASS_SAME;
    uint64_t before = hash_of_text(module);
    syncs_tokens_write(&s);
    return hash_of_text(module) == before ? PASS_SAME : PASS_CHANGED;
}
