/* Uniformity of scalars: a fixed point over "differs between programs".
 *
 *     %row = program 0           differs
 *     %n = load %lens[%row]      differs (whatever is loaded does)
 *     for %k = 0 .. %n           so its trip count does: programs cannot share a team
 *
 * What is loaded or reduced counts as different even where it happens to be one value.
 */
#include "analysis/uniform.h"

typedef struct uniform_state {
    bool *differs; /* [value number] */
    bool changed;
    bool control; /* a bound, condition or domain differs */
} uniform_state;

static void mark(uniform_state *state, const ir_value *value, bool differs) {
    if (!differs || state->differs[value->number])
        return;
    state->differs[value->number] = true;
    state->changed = true;
}

static void visit_type(uniform_state *state, const ir_type *type) {
    for (int i = 0; i < IR_MAX_RANK; i++)
        if (type->domain[i] != NULL)
            state->control |= state->differs[type->domain[i]->number];
}

static void visit_region(uniform_state *state, const ir_region *region);

/* What comes out of a for or if: what goes in, and what its regions yield. */
static void visit_control(uniform_state *state, const ir_op *op) {
    int bounds = op->opcode == IR_FOR ? 3 : 1;
    for (int i = 0; i < bounds; i++)
        state->control |= state->differs[op->operands[i]->number];
    for (int r = 0; r < op->region_count; r++) {
        const ir_op *yield = ir_region_yield(op->regions[r]);
        for (int i = 0; i < op->result_count; i++) {
            bool differs = op->opcode == IR_FOR && state->differs[op->operands[3 + i]->number];
            differs |= yield != NULL && state->differs[yield->operands[i]->number];
            mark(state, op->results[i], differs);
            if (op->opcode == IR_FOR)
                mark(state, op->regions[r]->arguments[1 + i], differs);
        }
        visit_region(state, op->regions[r]);
    }
}

static void visit_region(uniform_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool differs = op->opcode == IR_PROGRAM || op->opcode == IR_LOAD || op->opcode == IR_REDUCE;
        for (int i = 0; i < op->operand_count && op->region_count == 0; i++)
            differs |= state->differs[op->operands[i]->number];
        for (int i = 0; i < op->result_count; i++) {
            if (op->region_count == 0)
                mark(state, op->results[i], differs);
            visit_type(state, &op->results[i]->type);
        }
        if (op->region_count > 0)
            visit_control(state, op);
    }
}

bool analysis_control_depends_on_program(const ir_module *module) {
    uniform_state state = {.changed = true};
    state.differs = BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1);
    while (state.changed) {
        state.changed = false;
        visit_region(&state, &module->body);
    }
    return state.control;
}
