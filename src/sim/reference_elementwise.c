/* Elementwise ops of the FP64 reference: one loop per kind of op, the arithmetic by table.
 *
 *     %d = sub %t, %m : f32<N>      operands broadcast (a scalar is read with stride 0), then
 *                                   number_sub on each element, poison included
 *
 * Nothing here looks at domains: what is computed from poison is not observable.
 */
#include "sim/reference_internal.h"

void sim_run_unary(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_operand a = sim_operand_of(machine, sim_tile_of(machine, op->operands[0]), to, 0);
    if (!sim_tile_is_float(to)) {
        for (int64_t i = 0; i < to->count; i++)
            sim_tile_set_integer(
                to, i, sim_integer_unary(op->opcode, to->dtype, sim_operand_integer(&a, i)));
        return;
    }
    const sim_float_format *format = sim_float_format_of(to->dtype);
    sim_unary_function *apply = sim_number_unary(op->opcode);
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_number(to, i, apply(format, sim_operand_number(&a, i)));
}

/* What the plan says of the op; portable and exact where there is no plan. */
static ir_math_form form_of(const sim_machine *machine, const ir_op *op, ir_plan_kind kind) {
    const ir_plan_line *line =
        machine->plan != NULL ? ir_plan_find(machine->plan, kind, op->anchor) : NULL;
    return line != NULL ? line->form : IR_MATH_PORTABLE;
}

void sim_run_math(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_operand a = sim_operand_of(machine, sim_tile_of(machine, op->operands[0]), to, 0);
    const sim_float_format *format = sim_float_format_of(to->dtype);
    const ir_native *bound = ir_math_form_bound(op->opcode, form_of(machine, op, IR_PLAN_MATH));
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_number(to, i,
                            sim_number_math(format, op->opcode, bound, sim_operand_number(&a, i)));
}

void sim_run_binary(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_operand a = sim_operand_of(machine, sim_tile_of(machine, op->operands[0]), to, 0);
    sim_operand b = sim_operand_of(machine, sim_tile_of(machine, op->operands[1]), to, 1);
    if (!sim_tile_is_float(to)) {
        for (int64_t i = 0; i < to->count; i++)
            sim_tile_set_integer(to, i,
                                 sim_integer_binary(op->opcode, to->dtype,
                                                    sim_operand_integer(&a, i),
                                                    sim_operand_integer(&b, i)));
        return;
    }
    const sim_float_format *format = sim_float_format_of(to->dtype);
    sim_binary_function *apply = sim_number_binary(op->opcode);
    if (op->opcode == IR_DIV && form_of(machine, op, IR_PLAN_DIV) == IR_MATH_RECIPROCAL)
        apply = sim_number_quotient;
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_number(to, i,
                            apply(format, sim_operand_number(&a, i), sim_operand_number(&b, i)));
}

void sim_run_fma(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    const sim_float_format *format = sim_float_format_of(to->dtype);
    sim_operand of[3];
    for (int k = 0; k < 3; k++)
        of[k] = sim_operand_of(machine, sim_tile_of(machine, op->operands[k]), to, k);
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_number(to, i,
                            sim_number_fma(format, sim_operand_number(&of[0], i),
                                           sim_operand_number(&of[1], i),
                                           sim_operand_number(&of[2], i)));
}

void sim_run_compare(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    const sim_tile *left = sim_tile_of(machine, op->operands[0]);
    sim_operand a = sim_operand_of(machine, left, to, 0);
    sim_operand b = sim_operand_of(machine, sim_tile_of(machine, op->operands[1]), to, 1);
    bool floats = sim_tile_is_float(left);
    for (int64_t i = 0; i < to->count; i++)
        sim_tile_set_integer(to, i,
                             floats ? sim_number_compare(op->opcode, sim_operand_number(&a, i),
                                                         sim_operand_number(&b, i))
                                    : sim_integer_compare(op->opcode, sim_operand_integer(&a, i),
                                                          sim_operand_integer(&b, i)));
}

/* The operands of a select: condition, then the two values. */
static void select_element(sim_tile *to, int64_t i, const sim_operand of[3]) {
    sim_integer condition = sim_operand_integer(&of[0], i);
    const sim_operand *taken = condition.value != 0 ? &of[1] : &of[2];
    const sim_operand *other = condition.value != 0 ? &of[2] : &of[1];
    bool open = condition.error > 0.0;
    if (sim_tile_is_float(to)) {
        sim_number value = sim_operand_number(taken, i);
        sim_tile_set_number(to, i,
                            open ? sim_number_either(value, sim_operand_number(other, i)) : value);
        return;
    }
    sim_integer value = sim_operand_integer(taken, i);
    if (open)
        value = sim_integer_either(value, sim_operand_integer(other, i));
    sim_tile_set_integer(
        to, i,
        to->dtype == BASE_BOOL ? sim_integer_settle(BASE_BOOL, value.value, value.error) : value);
}

void sim_run_select(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_operand of[3];
    for (int k = 0; k < 3; k++)
        of[k] = sim_operand_of(machine, sim_tile_of(machine, op->operands[k]), to, k);
    for (int64_t i = 0; i < to->count; i++)
        select_element(to, i, of);
}

void sim_run_cast(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    const sim_tile *from = sim_tile_of(machine, op->operands[0]);
    if (sim_tile_is_float(from) && to->dtype == BASE_F32) { /* widening is exact */
        sim_tile_assign(machine, to, from);
        return;
    }
    sim_operand a = sim_operand_of(machine, from, to, 0);
    const sim_float_format *format = sim_float_format_of(to->dtype);
    bool from_float = sim_tile_is_float(from);
    ir_rounding rounding = op->attributes.rounding;
    for (int64_t i = 0; i < to->count; i++) {
        if (from_float && format != NULL)
            sim_tile_set_number(to, i, sim_number_narrow(format, sim_operand_number(&a, i)));
        else if (from_float)
            sim_tile_set_integer(
                to, i, sim_cast_to_integer(sim_operand_number(&a, i), to->dtype, rounding));
        else if (format != NULL)
            sim_tile_set_number(to, i, sim_cast_to_float(sim_operand_integer(&a, i), to->dtype));
        else
            sim_tile_set_integer(to, i,
                                 sim_cast_integer(sim_operand_integer(&a, i), to->dtype, rounding));
    }
}

void sim_run_broadcast(sim_machine *machine, const ir_op *op) {
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_tile_assign(machine, to, sim_tile_of(machine, op->operands[0]));
}

void sim_run_pad(sim_machine *machine, const ir_op *op) {
    const sim_tile *from = sim_tile_of(machine, op->operands[0]);
    sim_tile *to = sim_tile_begin(machine, op->results[0]);
    sim_tile_assign(machine, to, from);
    const sim_tile *fill = sim_tile_of(machine, op->operands[1]);
    int64_t position[IR_MAX_RANK] = {0};
    for (int64_t i = 0; i < to->count; i++) {
        sim_tile_position(to, i, position);
        if (sim_tile_inside(from, position, from->rank))
            continue;
        if (sim_tile_is_float(to))
            to->value[i] = fill->value[0];
        else
            to->integer[i] = fill->integer[0];
        to->error[i] = fill->error[0];
    }
    if (from->domain_open)
        sim_tile_loosen(to);
}
