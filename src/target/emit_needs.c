/* What is needed: ops that no effect depends on are left out of the text.
 *
 *     %a = iota lane*1          left out: only %b reads it
 *     %b = mul %a, %a           left out: nobody reads it
 *     %c = add %t, %t           needed
 *     store %y[lane*1], %c
 *
 * The condition of a select that is spelled as an extreme is not read by the text. The module stays
 * as it is; loops and branches are never left out as a whole (the pass `dead` does that).
 */
#include "target/emitter_internal.h"

typedef struct need {
    target_emitter *emitter;
    const ir_value **stack;
    int64_t count, capacity;
} need;

static void need_value(need *n, const ir_value *value) {
    if (n->emitter->needed[value->number])
        return;
    n->emitter->needed[value->number] = true;
    BASE_PUSH(n->emitter->arena, n->stack, n->count, n->capacity, value);
}

static void need_operands(need *n, const ir_op *op) {
    int first = target_emit_extreme(op) != NULL ? 1 : 0;
    for (int i = first; i < op->operand_count; i++)
        need_value(n, op->operands[i]);
}

/* Ops with an effect are needed, with everything that they read; loops and branches are taken as
 * having one. */
static bool need_effects(void *state, ir_op *op) {
    need *n = state;
    bool removable = ir_op_describe(op->opcode)->pure || op->opcode == IR_LOAD ||
                     op->opcode == IR_PULL || op->opcode == IR_GET;
    if (!removable) {
        need_operands(n, op);
        for (int i = 0; i < op->result_count; i++)
            need_value(n, op->results[i]);
    }
    while (n->count > 0) {
        const ir_value *value = n->stack[--n->count];
        if (value->definer != NULL)
            need_operands(n, value->definer);
    }
    return true;
}

void target_emit_find_needs(target_emitter *emitter) {
    const ir_module *module = emitter->module;
    emitter->needed = BASE_NEW_ARRAY(emitter->arena, bool, module->next_value + 1);
    need state = {.emitter = emitter};
    ir_region_walk((ir_region *)&module->body, need_effects, &state);
}

bool target_emit_is_needed(const target_emitter *emitter, const ir_op *op) {
    return op->result_count != 1 || emitter->needed[op->results[0]->number];
}
