/* The order of a reduction, as a plan's line gives it: refused where the kernel asks for another
 * one, where strictness asks for one, and where the digits of the axis cannot keep it.
 *
 *     sum(t)                reduce sum.0 tree, or canonical: that is one of its trees
 *     sum(t, order=left)    reduce sum.0 left      axis N  step *
 *     --strict sum(t)       reduce sum.0 canonical
 */
#include "analysis/orders.h"
#include "ir/print.h"
#include "pass/map_internal.h"

static const char *print_digits(map_state *state, const layout_axis *digits) {
    base_text text;
    base_text_init(&text, state->context->diagnostics->arena);
    layout_axis_print(&text, digits);
    return text.bytes;
}

void map_check_order(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const ir_order wanted = op->attributes.order;
    int axis = state->axes.of_value[op->operands[0]->number][op->attributes.axis];
    const layout_axis *digits = axis >= 0 ? &state->module->axes[axis].digits : NULL;
    const char *reason = digits != NULL ? analysis_order_refusal(line->order, digits) : NULL;
    if (!analysis_order_refines(op, line->order))
        map_fail(state, line->location, "plan-reduce", ir_order_name(line->order),
                 wanted == IR_ORDER_TREE ? "tree or canonical" : ir_order_name(wanted),
                 "the kernel asks for another order of a reduction");
    else if (state->context->strict && line->order == IR_ORDER_TREE && ir_reduce_needs_order(op))
        map_fail(state, line->location, "plan-strict", ir_order_name(line->order), "canonical",
                 "`strict` asks for an order of a reduction that no plan changes");
    else if (reason != NULL)
        map_fail(state, line->location, "plan-reduce", print_digits(state, digits), reason,
                 base_diagnostics_text(state->context->diagnostics,
                                       "the digits of the axis cannot keep the order `%s`",
                                       ir_order_name(line->order)));
}

void map_set_order(map_state *state, const ir_op *op, ir_op *copy) {
    const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_REDUCE, op->anchor);
    copy->attributes.order = line->order;
}

static bool visit_reduce(void *state, ir_op *op) {
    if (op->opcode == IR_REDUCE)
        map_set_order(state, op, op);
    return true;
}

void map_orders(map_state *state, ir_module *tile) {
    ir_region_walk(&tile->body, visit_reduce, state);
}
