/* Which layouts of the reduced axis can keep the order of a reduction.
 *
 *     left, right    step *                                 one worker, one element after the other
 *     canonical      slot 4 | lane 32 | subgroup 8 | step *     halves are digits of powers of two
 *                    lane 3 | ..   and   .. xor 5   and   .. shift x.0   are refused
 *
 * It says nothing about the way there: expand_order.c reads that off the digits.
 */
#include "analysis/orders.h"

static bool is_power_of_two(int64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

static const char *refuse_canonical(const layout_axis *digits) {
    for (int i = 0; i < digits->count; i++) {
        layout_digit digit = digits->digits[i];
        if (digit.holder == LAYOUT_GROUP || digit.holder == LAYOUT_BLOCK)
            return "an axis within one group";
        if (digit.holder != LAYOUT_STEP && !is_power_of_two(digit.radix))
            return "lane, subgroup and slot digits of powers of two";
    }
    return digits->exclusive_or != 0 || digits->shift != NULL ? "digits without `xor` and `shift`"
                                                              : NULL;
}

const char *analysis_order_refusal(ir_order order, const layout_axis *digits) {
    if (order == IR_ORDER_TREE)
        return NULL;
    if (order == IR_ORDER_CANONICAL)
        return refuse_canonical(digits);
    for (int i = 0; i < digits->count; i++)
        if (digits->digits[i].holder != LAYOUT_STEP && digits->digits[i].radix != 1)
            return "one worker for the axis: a `step` digit alone";
    return digits->shift != NULL ? "one worker for the axis: a `step` digit alone" : NULL;
}

bool analysis_order_refines(const ir_op *reduce, ir_order order) {
    return order == reduce->attributes.order ||
           (reduce->attributes.order == IR_ORDER_TREE && order == IR_ORDER_CANONICAL);
}

ir_order analysis_order_planned(const ir_op *reduce, bool strict) {
    ir_order order = reduce->attributes.order;
    return strict && order == IR_ORDER_TREE && ir_reduce_needs_order(reduce) ? IR_ORDER_CANONICAL
                                                                             : order;
}

typedef struct order_search {
    const analysis_axes *axes;
    const layout_axis *digits;
    const ir_op *found;
    int axis;
    bool strict;
} order_search;

static bool visit_reduce(void *pointer, ir_op *op) {
    order_search *search = pointer;
    if (op->opcode == IR_REDUCE &&
        search->axes->of_value[op->operands[0]->number][op->attributes.axis] == search->axis &&
        analysis_order_refusal(analysis_order_planned(op, search->strict), search->digits) != NULL)
        search->found = op;
    return search->found == NULL;
}

const ir_op *analysis_order_conflict(const ir_module *module, const analysis_axes *axes, int axis,
                                     const layout_axis *digits, bool strict) {
    order_search search = {.axes = axes, .digits = digits, .axis = axis, .strict = strict};
    ir_region_walk((ir_region *)&module->body, visit_reduce, &search); /* changes nothing */
    return search.found;
}
