/* Uniformity of scalars: a fixed point over "differs between programs".
 *
 *     %row = program 0           differs
 *     %n = load %lens[%row]      differs (whatever is loaded does)
 *     for %k = 0 .. %n           so its trip count does: programs cannot share a team
 *
 * What is loaded, or is a scalar made from a tile, counts as different even where it happens to be
 * one value.
 */
#include "analysis/uniform.h"

typedef struct uniform_state {
    bool *differs; /* [value number] */
    bool changed;
    const ir_op *divergent; /* the first one with a bound, condition or domain that differs */
} uniform_state;

static void mark(uniform_state *state, const ir_value *value, bool differs) {
    if (!differs || state->differs[value->number])
        return;
    state->differs[value->number] = true;
    state->changed = true;
}

static void visit_bound(uniform_state *state, const ir_op *op, const ir_value *bound) {
    if (state->divergent == NULL && bound != NULL && state->differs[bound->number])
        state->divergent = op;
}

static void visit_region(uniform_state *state, const ir_region *region);

/* What comes out of a for or if: what goes in, and what its regions yield. */
static void visit_control(uniform_state *state, const ir_op *op) {
    int bounds = op->opcode == IR_FOR ? 3 : 1;
    for (int i = 0; i < bounds; i++)
        visit_bound(state, op, op->operands[i]);
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

/* A scalar from a tile comes out of a sweep. */
static void visit_op(uniform_state *state, const ir_op *op) {
    bool differs = op->opcode == IR_PROGRAM || op->opcode == IR_LOAD || op->opcode == IR_REDUCE;
    for (int i = 0; i < op->operand_count; i++)
        differs |= state->differs[op->operands[i]->number] ||
                   (op->operands[i]->type.form == IR_FORM_TILE && op->operands[i]->type.rank > 0);
    for (int i = 0; i < op->result_count; i++)
        mark(state, op->results[i], differs);
}

static void visit_region(uniform_state *state, const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            for (int k = 0; k < IR_MAX_RANK; k++)
                visit_bound(state, op, op->results[i]->type.domain[k]);
        if (op->region_count == 0)
            visit_op(state, op);
        if (op->region_count > 0)
            visit_control(state, op);
    }
}

const ir_op *analysis_divergent_op(const ir_module *module) {
    uniform_state state = {.changed = true};
    state.differs = BASE_NEW_ARRAY(module->arena, bool, module->next_value + 1);
    while (state.changed) {
        state.changed = false;
        state.divergent = NULL;
        visit_region(&state, &module->body);
    }
    return state.divergent;
}

/* ---- what elements tell ---- */
static bool is_told_alike(const ir_value *value) {
    const ir_op *op = value->definer;
    if (value->type.form == IR_FORM_TENSOR)
        return true;
    if (op == NULL)
        return value->region != NULL && value->region->owner != NULL &&
               value->region->owner->opcode == IR_FOR && value == value->region->arguments[0];
    if (op->region_count > 0 || op->opcode == IR_REDUCE || value->type.rank > 0)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_told_alike(op->operands[i]))
            return false;
    return true;
}

const ir_op *analysis_told_by_elements(const ir_op *op) {
    for (const ir_region *region = op->parent; region != NULL && region->owner != NULL;
         region = region->owner->parent) {
        const ir_op *owner = region->owner;
        int conditions = owner->opcode == IR_FOR ? 3 : 1;
        for (int i = 0; i < conditions && i < owner->operand_count; i++)
            if (!is_told_alike(owner->operands[i]))
                return owner;
    }
    return NULL;
}
