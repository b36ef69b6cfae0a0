/* dead: any level. Ops that no effect needs go.
 *
 * Effects are stores, pushes, puts and syncs, and what holds them. A for or if without effects goes
 * with its results; a private array goes when nothing is pulled from it, with the pushes into it.
 *
 *     %t = load %x[%row, :]     used by nothing: gone, though it reads memory
 *
 * So do results of an if and carries of a for that nothing reads, with what only they needed.
 */
#include "pass/pass.h"

typedef struct dead_state {
    bool *needed; /* [value number] */
    bool changed;
} dead_state;

static bool mark_region(dead_state *state, const ir_region *region);

static bool has_effect(const dead_state *state, const ir_op *op) {
    if (op->opcode == IR_STORE || op->opcode == IR_PUT || op->opcode == IR_SYNC)
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
    return mark(state, type->scratch) || changed;
}

/* A result that is read, or a carry that the body reads, needs what it comes from. */
static bool mark_results(dead_state *state, const ir_op *op) {
    bool changed = false, loop = op->opcode == IR_FOR;
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *argument = loop ? op->regions[0]->arguments[1 + i] : NULL;
        if (!state->needed[op->results[i]->number] &&
            (argument == NULL || !state->needed[argument->number]))
            continue;
        changed |= mark(state, op->results[i]);
        if (loop) {
            changed |= mark(state, argument);
            changed |= mark(state, op->operands[3 + i]);
        }
        for (int r = 0; r < op->region_count; r++)
            changed |= mark(state, ir_region_yield(op->regions[r])->operands[i]);
    }
    return changed;
}

static bool carries_values(const ir_op *op) {
    return op->opcode == IR_FOR || op->opcode == IR_IF || op->opcode == IR_SWEEP;
}

/* True when something became needed. */
static bool mark_op(dead_state *state, const ir_op *op) {
    bool changed = false;
    int operands = op->opcode == IR_FOR ? 3 : op->opcode == IR_IF ? 1 : op->operand_count;
    if (op->opcode == IR_YIELD && op->parent->owner != NULL && carries_values(op->parent->owner))
        operands = 0; /* mark_results knows which */
    for (int i = 0; i < operands; i++)
        changed |= mark(state, op->operands[i]);
    for (int i = 0; i < op->result_count; i++) /* a result that goes needs no domain */
        if (!carries_values(op) || state->needed[op->results[i]->number])
            changed |= mark_type(state, &op->results[i]->type);
    for (int i = 0; i < op->region_count; i++) {
        for (int k = 0; k < op->regions[i]->argument_count; k++)
            if (state->needed[op->regions[i]->arguments[k]->number])
                changed |= mark_type(state, &op->regions[i]->arguments[k]->type);
        changed |= mark_region(state, op->regions[i]);
    }
    if (carries_values(op))
        changed |= mark_results(state, op);
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

/* Closes the gaps that unneeded results leave. */
static void drop_results(dead_state *state, ir_op *op) {
    int kept = 0, loop = op->opcode == IR_FOR;
    for (int i = 0; i < op->result_count; i++) {
        if (!state->needed[op->results[i]->number])
            continue;
        op->results[kept] = op->results[i];
        for (int r = 0; r < op->region_count; r++) {
            ir_op *yield = ir_region_yield(op->regions[r]);
            yield->operands[kept] = yield->operands[i];
        }
        if (loop) {
            op->operands[3 + kept] = op->operands[3 + i];
            op->regions[0]->arguments[1 + kept] = op->regions[0]->arguments[1 + i];
        }
        kept++;
    }
    state->changed |= kept < op->result_count;
    op->result_count = kept;
    for (int r = 0; r < op->region_count; r++) {
        ir_op *yield = ir_region_yield(op->regions[r]);
        if (yield != NULL)
            yield->operand_count = kept;
    }
    if (loop) {
        op->operand_count = 3 + kept;
        op->regions[0]->argument_count = 1 + kept;
    }
}

static void sweep_region(dead_state *state, ir_region *region) {
    for (ir_op *op = region->last, *previous; op != NULL; op = previous) {
        previous = op->previous;
        if (!is_needed(state, op)) {
            ir_op_remove(op);
            state->changed = true;
            continue;
        }
        if (carries_values(op))
            drop_results(state, op);
        for (int i = 0; i < op->region_count; i++)
            sweep_region(state, op->regions[i]);
    }
}

pass_result pass_dead(ir_module *module, pass_context *context) {
    (void)context;
    dead_state state = {0};
    state.needed = BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1);
    while (mark_region(&state, &module->body))
        continue;
    sweep_region(&state, &module->body);
    return state.changed ? PASS_CHANGED : PASS_SAME;
}
