/* hoist: any level. Invariant ops leave their loops.
 *
 *     for %k = 0 .. %n { %e = exp %t; .. }   ->   %e = exp %t    for %k = 0 .. %n { .. }
 *
 * Nothing traps, so that it does not matter whether the loop runs at all. Out of a branch only
 * constants, sizes and the like move: they cost nothing where the branch is not taken. Loads stay.
 */
#include "pass/pass.h"

static const ir_region *region_of(const ir_value *value) {
    return value->definer != NULL ? value->definer->parent : value->region;
}

/* Nothing that the op uses is made in its own region. */
static bool is_invariant(const ir_op *op) {
    for (int i = 0; i < op->operand_count; i++)
        if (region_of(op->operands[i]) == op->parent)
            return false;
    for (int i = 0; i < op->result_count; i++)
        for (int d = 0; d < IR_MAX_RANK; d++) {
            const ir_value *domain = op->results[i]->type.domain[d];
            if (domain != NULL && region_of(domain) == op->parent)
                return false;
        }
    return true;
}

static bool leaves(const ir_op *op) {
    if (!ir_op_describe(op->opcode)->pure)
        return false;
    ir_opcode owner = op->parent->owner->opcode;
    bool free_of_cost = op->operand_count == 0 && op->results[0]->type.rank == 0 &&
                        op->results[0]->type.form != IR_FORM_SLOTS;
    if (owner != IR_FOR && !(owner == IR_IF && free_of_cost))
        return false;
    return is_invariant(op);
}

static bool hoist_region(ir_region *region) {
    bool changed = false;
    for (ir_op *op = region->first; op != NULL; op = op->next)
        for (int i = 0; i < op->region_count; i++) {
            changed |= hoist_region(op->regions[i]);
            for (ir_op *inner = op->regions[i]->first, *next; inner != NULL; inner = next) {
                next = inner->next;
                if (!leaves(inner))
                    continue;
                ir_op_remove(inner);
                ir_op_insert_before(op, inner);
                changed = true;
            }
        }
    return changed;
}

pass_result pass_hoist(ir_module *module, pass_context *context) {
    (void)context;
    return hoist_region(&module->body) ? PASS_CHANGED : PASS_SAME;
}
