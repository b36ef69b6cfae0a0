/* Ops that no effect needs go.
 *
 * Effects are stores and pushes, and what holds them. A for or if without effects goes with its
 * results; a private array goes when nothing is pulled from it, with the pushes into it.
 *
 *     %t = load %x[%row, :]     used by nothing: gone, though it reads memory
 *
 * A carry that only feeds itself stays.
 */
#include "pass/simplify.h"

typedef struct dead_state {
    bool *needed; /* [value number] */
    bool changed;
} dead_state;

static bool mark_region(dead_state *state, const ir_region *region);

static bool has_effect(const dead_state *state, const ir_op *op) {
    if (op->opcode == IR_STORE)
        return true;
    if (op->opcode == IR_PUSH) /* matters when someone pulls */
        return state->needed[op->operands[0]->number];
    for (int i = 0; i < op->region_count; i++)
        for (const ir_op *inner = op->regions[i]->first; inner != NULL; inner = inner->next)
            if (has_effect(state, inner))
                return true;
    return false;
}

static bool is_needed(const dead_state *state, const ir_op *op) {
    for (int i = 0; i < op->result_count; i++)
        if (state->needed[op->results[i]->number])
            return true;
    return op->opcode == IR_YIELD || has_effect(state, op);
}

static bool mark(dead_state *state, const ir_value *value) {
    if (value == NULL || state->needed[value->number])
        return false;
    state->needed[value->number] = true;
    return true;
}

static bool mark_type(dead_state *state, const ir_type *type) {
    bool changed = false;
    for (int i = 0; i < IR_MAX_RANK; i++)
        changed |= mark(state, type->domain[i]);
    return changed;
}

/* True when something became needed. */
static bool mark_op(dead_state *state, const ir_op *op) {
    bool changed = false;
    for (int i = 0; i < op->operand_count; i++)
        changed |= mark(state, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        changed |= mark_type(state, &op->results[i]->type);
    for (int i = 0; i < op->region_count; i++) {
        for (int k = 0; k < op->regions[i]->argument_count; k++)
            changed |= mark_type(state, &op->regions[i]->arguments[k]->type);
        changed |= mark_region(state, op->regions[i]);
    }
    return changed;
}

/* Backwards: users come first, so that one walk is nearly always enough. */
static bool mark_region(dead_state *state, const ir_region *region) {
    bool changed = false;
    for (const ir_op *op = region->last; op != NULL; op = op->previous)
        if (is_needed(state, op))
            changed |= mark_op(state, op);
    return changed;
}

static void sweep_region(dead_state *state, ir_region *region) {
    for (ir_op *op = region->last, *previous; op != NULL; op = previous) {
        previous = op->previous;
        if (!is_needed(state, op)) {
            ir_op_remove(op);
            state->changed = true;
            continue;
        }
        for (int i = 0; i < op->region_count; i++)
            sweep_region(state, op->regions[i]);
    }
}

bool pass_remove_dead(ir_module *module) {
    dead_state state = {0};
    state.needed = BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1);
    while (mark_region(&state, &module->body))
        continue;
    sweep_region(&state, &module->body);
    return state.changed;
}
