/* Expansion of single ops: level mapped to level thread, element by element.
 *
 *     %d = sub %t, %m : f32<N>     at a step of a sweep over N (lane 8 | slot 4 | step *)
 *     %d = sub %t, %m : f32(4)     where %t is f32(4) and %m uniform
 *
 * Storage types compute in f32 (f16, bf16) and i32 (i8, u8) and convert back, which is exact for
 * every op that keeps its type. Functions and divisions: expand_forms.c. Accesses, conversions and
 * what is kept: in files of their own; operands come from expand_value.c.
 */
#include "pass/expand_internal.h"

static base_dtype compute_dtype(base_dtype dtype) {
    if (dtype == BASE_F16 || dtype == BASE_BF16)
        return BASE_F32;
    return dtype == BASE_I8 || dtype == BASE_U8 ? BASE_I32 : dtype;
}

static void expand_table_op(expand_state *state, expand_place *place, ir_op *op) {
    ir_builder *b = &state->builder;
    ir_value *operands[3];
    bool select = op->opcode == IR_SELECT;
    base_dtype own = BASE_BOOL, computed = BASE_BOOL;
    for (int i = 0; i < op->operand_count; i++) {
        operands[i] = expand_use(state, place, op->operands[i]);
        own = operands[i]->type.dtype;
        computed = select ? own : compute_dtype(own);
        if (computed != own)
            operands[i] = ir_build_cast(b, operands[i], computed, IR_ROUND_ZERO);
    }
    expand_level(state, operands, op->operand_count);
    ir_value *result = expand_formed(b, op, operands);
    if (result == NULL && op->operand_count == 1)
        result = ir_build_unary(b, op->opcode, operands[0]);
    else if (result == NULL && op->operand_count == 2)
        result = ir_build_binary(b, op->opcode, operands[0], operands[1]);
    else if (select)
        result = ir_build_select(b, operands[0], operands[1], operands[2]);
    else if (op->operand_count == 3)
        result = ir_build_fma(b, operands[0], operands[1], operands[2]);
    if (computed != own && ir_op_describe(op->opcode)->shape != IR_SHAPE_COMPARE)
        result = ir_build_cast(b, result, own, IR_ROUND_ZERO);
    state->value[op->results[0]->number] = result;
}

static ir_value *expand_parameter(expand_state *state, const ir_op *op) {
    base_dtype dtype = state->module->parameters[op->attributes.parameter].dtype;
    ir_type type = ir_type_uniform(ir_build_dtype(&state->builder, dtype));
    ir_op *made = ir_build_op(&state->builder, IR_PARAMETER, 0, NULL, 1, &type, 0);
    made->attributes.parameter = op->attributes.parameter;
    return made->results[0];
}

static ir_value *expand_pad(expand_state *state, expand_place *place, ir_op *op) {
    ir_value *value = expand_use(state, place, op->operands[0]);
    ir_value *outside = expand_use(state, place, op->operands[1]);
    /* elements past the extent are nobody's: no need to pad them */
    ir_value *bits = expand_inside_domains(state, place, op->operands[0]);
    if (bits == NULL)
        return value;
    ir_value *parts[3] = {bits, value, outside};
    expand_level(state, parts, 3);
    return ir_build_select(&state->builder, parts[0], parts[1], parts[2]);
}

void expand_op(expand_state *state, expand_place *place, ir_op *op) {
    ir_builder *b = &state->builder;
    b->location = op->location;
    ir_value **result = op->result_count > 0 ? &state->value[op->results[0]->number] : NULL;
    switch (ir_op_describe(op->opcode)->shape) {
    case IR_SHAPE_UNARY:
    case IR_SHAPE_BINARY:
    case IR_SHAPE_COMPARE:
    case IR_SHAPE_SELECT:
    case IR_SHAPE_TERNARY:
        expand_table_op(state, place, op);
        break;
    case IR_SHAPE_CONVERT:
        *result =
            ir_build_cast(b, expand_use(state, place, op->operands[0]),
                          ir_build_dtype(b, op->results[0]->type.dtype), op->attributes.rounding);
        break;
    case IR_SHAPE_LEAF:
        if (op->opcode == IR_CONSTANT)
            *result = ir_build_constant(b, op->attributes.constant);
        else if (op->opcode == IR_SIZE)
            *result = ir_build_size(b, op->attributes.extent);
        else if (op->opcode == IR_PARAMETER)
            *result = expand_parameter(state, op);
        else if (op->opcode == IR_PROGRAM)
            *result = state->program[op->attributes.axis];
        else if (op->opcode == IR_ARANGE)
            *result = expand_axis_index(state, place, op->results[0]->layout.axis[0]);
        break;
    case IR_SHAPE_ACCESS:
        if (op->opcode == IR_LOAD)
            expand_load(state, place, op);
        else
            expand_store(state, place, op);
        break;
    case IR_SHAPE_OTHER:
        if (op->opcode == IR_CONVERT)
            expand_convert(state, op);
        else if (op->opcode == IR_PAD)
            *result = expand_pad(state, place, op);
        else /* expand, drop, broadcast: the same element */
            *result = expand_use(state, place, op->operands[0]);
        break;
    case IR_SHAPE_REGION:
        break;
    }
    if (op->result_count > 0 && *result != NULL && (*result)->name == NULL)
        (*result)->name = op->results[0]->name;
}
