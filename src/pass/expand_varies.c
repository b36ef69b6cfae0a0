/* Which scalars may differ between the programs of a team: those that a program's index, a load or
 * a sweep leads to.
 *
 *     %row = program 0           differs
 *     %m = sweep (N) { .. }      differs: of the program's own row
 *     %i = add %k, 1             differs where %k does
 *
 * A carry of a loop makes values differ that stand before it: the walk is repeated until nothing
 * changes. What a branch gives differs where a side does; its condition is alike in a team.
 */
#include "pass/expand_internal.h"

static bool varies_region(expand_state *state, ir_region *region);

static bool varies_mark(expand_state *state, const ir_value *value, bool varies) {
    bool change = varies && !state->varies[value->number];
    state->varies[value->number] |= varies;
    return change;
}

static bool varies_op(expand_state *state, ir_op *op) {
    bool varies = op->opcode == IR_PROGRAM || op->opcode == IR_LOAD || op->opcode == IR_SWEEP;
    bool change = false;
    bool is_loop = op->opcode == IR_FOR;
    for (int i = 0; i < op->operand_count && op->opcode != IR_IF && !is_loop; i++)
        varies |=
            op->operands[i]->type.form == IR_FORM_TILE && state->varies[op->operands[i]->number];
    for (int i = 0; i < op->region_count; i++)
        change |= varies_region(state, op->regions[i]);
    for (int i = 0; i < op->result_count; i++) {
        bool result = varies;
        for (int k = 0; k < op->region_count && op->opcode != IR_SWEEP; k++) {
            const ir_op *yield = ir_region_yield(op->regions[k]);
            result |= yield != NULL && state->varies[yield->operands[i]->number];
        }
        if (is_loop) {
            result |= state->varies[op->operands[3 + i]->number];
            change |= varies_mark(state, op->regions[0]->arguments[1 + i], result);
        }
        change |= varies_mark(state, op->results[i], result);
    }
    return change;
}

static bool varies_region(expand_state *state, ir_region *region) {
    bool change = false;
    for (ir_op *op = region->first; op != NULL; op = op->next)
        change |= varies_op(state, op);
    return change;
}

void expand_find_varying(expand_state *state, ir_region *mapped) {
    state->varies = BASE_NEW_ARRAY(state->module->arena, bool, state->value_count);
    while (varies_region(state, mapped))
        continue;
}
