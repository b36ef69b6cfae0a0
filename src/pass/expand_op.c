/* Expansion of single ops: level mapped to level thread, element by element.
 *
 *     %d = sub %t, %m : f32<N>     at a step of a sweep over N (lane 8 | slot 4 | step *)
 *     %d = sub %t, %m : f32(4)     where %t is f32(4) and %m uniform
 *
 * Storage types compute in f32 (f16, bf16) and i32 (i8, u8) and convert back, which is exact for
 * every op that keeps its type. Functions and divisions: expand_forms.c.
 */
#include "pass/expand_internal.h"

ir_value *expand_splat(expand_state *state, ir_value *value, int slots) {
    if (value->type.form == IR_FORM_SLOTS && value->type.slots == 1 && slots > 1)
        return expand_splat_lane(state, value, slots);
    if (value->type.form != IR_FORM_UNIFORM || slots == 0)
        return value;
    ir_type type = ir_type_slots(value->type.dtype, slots);
    return ir_build_op(&state->builder, IR_BROADCAST, 1, &value, 1, &type, 0)->results[0];
}

void expand_level(expand_state *state, ir_value **values, int count) {
    int slots = 0;
    for (int i = 0; i < count; i++)
        if (values[i]->type.form == IR_FORM_SLOTS && values[i]->type.slots > slots)
            slots = values[i]->type.slots;
    for (int i = 0; i < count; i++)
        if (values[i]->type.form == IR_FORM_SLOTS)
            values[i] = expand_splat(state, values[i], slots);
}

/* The step of an axis among those that its array has cells for. */
static ir_value *cell_step(expand_state *state, const expand_place *place, int axis) {
    if (axis != place->spread || place->cells_from == NULL)
        return place->step[axis];
    if (place->cells_from == place->step[axis])
        return ir_build_integer(&state->builder, BASE_I64, 0);
    return ir_build_binary(&state->builder, IR_SUB, place->step[axis], place->cells_from);
}

ir_value *expand_cell(expand_state *state, const expand_place *place, const ir_value *mapped) {
    ir_builder *b = &state->builder;
    ir_value *cell = NULL;
    for (int i = 0; i < mapped->type.rank; i++) {
        int axis = mapped->layout.axis[i];
        if (axis < 0)
            continue;
        if (cell == NULL) {
            cell = cell_step(state, place, axis);
        } else {
            ir_value *steps = ir_build_size(b, expand_axis_steps(state, axis));
            cell = ir_build_binary(b, IR_ADD, ir_build_binary(b, IR_MUL, cell, steps),
                                   cell_step(state, place, axis));
        }
    }
    return cell != NULL ? cell : ir_build_integer(b, BASE_I64, 0);
}

ir_value *expand_use(expand_state *state, expand_place *place, ir_value *mapped) {
    ir_value *array = state->array[mapped->number], **pieces = state->pieces[mapped->number];
    if (pieces != NULL && pieces[place->piece]->type.form != IR_FORM_PRIVATE)
        return pieces[place->piece];
    if (pieces != NULL)
        array = pieces[place->piece];
    if (array == NULL)
        return state->value[mapped->number];
    if (state->pulled[mapped->number] != place->body) {
        ir_type type = array->type.slots > 0 ? ir_type_slots(array->type.dtype, array->type.slots)
                                             : ir_type_uniform(array->type.dtype);
        ir_value *cell = expand_cell(state, place, mapped);
        state->value[mapped->number] =
            ir_build_op(&state->builder, IR_PULL, 2, (ir_value *[]){array, cell}, 1, &type, 0)
                ->results[0];
        state->pulled[mapped->number] = place->body;
    }
    return state->value[mapped->number];
}

/* The facts of a position: its range, as the numbers of the holders are bounded, and how widely it
 * is the same. */
static void record_position(const ir_module *module, const ir_affine *affine, ir_value *value) {
    ir_position last = {.slot = value->type.slots - 1,
                        .lane = ir_module_subgroup_lanes(module) - 1,
                        .subgroup = ir_module_subgroups(module) - 1};
    value->ranged = true;
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        int64_t number = (term->holder == LAYOUT_LANE       ? last.lane
                          : term->holder == LAYOUT_SUBGROUP ? last.subgroup
                                                            : last.slot) /
                         term->divide;
        if (term->modulus != 0 && number >= term->modulus)
            number = term->modulus - 1;
        *(term->stride > 0 ? &value->high : &value->low) += number * term->stride;
    }
    if (!ir_affine_uses(affine, LAYOUT_LANE))
        value->scope = ir_affine_uses(affine, LAYOUT_SUBGROUP) ? IR_SCOPE_SUBGROUP : IR_SCOPE_GROUP;
}

ir_value *expand_iota(expand_state *state, const ir_affine *affine, int slots) {
    ir_type type = ir_type_slots(BASE_I64, slots);
    ir_op *op = ir_build_op(&state->builder, IR_IOTA, 0, NULL, 1, &type, 0);
    op->attributes.affine = *affine;
    record_position(state->module, affine, op->results[0]);
    return op->results[0];
}

/* The element of a position in a step. */
static ir_value *build_element(expand_state *state, const expand_axis *axis) {
    ir_value *element = expand_iota(state, &axis->affine, axis->slots);
    if (axis->constant == 0)
        return element;
    ir_value *constant = ir_build_integer(&state->builder, BASE_I64, axis->constant);
    return ir_build_binary(&state->builder, IR_ADD, element, constant);
}

ir_value *expand_element(expand_state *state, int axis) {
    return build_element(state, &state->axis[axis]);
}

ir_value *expand_first_copy(expand_state *state, int axis) {
    const ir_affine *replica = axis >= 0 ? &state->axis[axis].replica : &state->replica;
    if (replica->count == 0)
        return NULL;
    ir_value *copy = expand_iota(state, replica, 1);
    return ir_build_binary(&state->builder, IR_LT, copy,
                           ir_build_integer(&state->builder, BASE_I64, 1));
}

ir_value *expand_splat_lane(expand_state *state, ir_value *value, int slots) {
    if (value->type.slots == slots)
        return value;
    ir_type type = ir_type_slots(value->type.dtype, slots);
    ir_op *op = ir_build_op(&state->builder, IR_RENAME, 1, &value, 1, &type, 0);
    op->attributes.slots =
        (ir_list){.count = slots, .items = BASE_NEW_ARRAY(state->module->arena, int64_t, slots)};
    return op->results[0];
}

ir_value *expand_axis_index(expand_state *state, const expand_place *place, int axis) {
    ir_builder *b = &state->builder;
    if (axis < 0)
        return ir_build_integer(b, BASE_I64, 0);
    if (!state->axis[axis].spread)
        return place->step[axis];
    ir_value *base = expand_axis_base(state, place, axis);
    return ir_build_binary(b, IR_ADD, base,
                           expand_iota(state, &state->axis[axis].affine, state->axis[axis].slots));
}

/* In i32: a chunk is small. */
ir_value *expand_count_bits(expand_state *state, const expand_place *place) {
    ir_builder *b = &state->builder;
    ir_value *element = build_element(state, &state->axis[place->spread]);
    element = ir_build_cast(b, element, BASE_I32, IR_ROUND_ZERO);
    ir_value *count = ir_build_cast(b, place->count, BASE_I32, IR_ROUND_ZERO);
    ir_value *bits = ir_build_binary(b, IR_LT, element, count);
    if (place->first == NULL)
        return bits;
    ir_value *first = ir_build_cast(b, place->first, BASE_I32, IR_ROUND_ZERO);
    return ir_build_binary(b, IR_AND, ir_build_binary(b, IR_LE, first, element), bits);
}

static ir_value *both(expand_state *state, ir_value *a, ir_value *b) {
    return a == NULL ? b : b == NULL ? a : ir_build_binary(&state->builder, IR_AND, a, b);
}

ir_value *expand_inside(expand_state *state, expand_place *place, const ir_value *mapped,
                        int only_axis) {
    ir_value *bits = NULL;
    for (int i = 0; i < mapped->type.rank; i++) {
        int axis = mapped->layout.axis[i];
        ir_value *domain = mapped->type.domain[i];
        if (only_axis >= 0 && axis != only_axis)
            continue;
        if (axis >= 0 && axis == place->spread && place->count != NULL)
            bits = both(state, bits, expand_count_bits(state, place));
        if (domain != NULL && (axis < 0 || domain != place->domain[axis]))
            bits =
                both(state, bits,
                     ir_build_binary(&state->builder, IR_LT, expand_axis_index(state, place, axis),
                                     state->value[domain->number]));
    }
    return bits;
}

/* ---- table ops ---- */

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
    ir_type type = ir_type_uniform(state->module->parameters[op->attributes.parameter].dtype);
    if (type.dtype == BASE_INDEX)
        type.dtype = BASE_I64;
    ir_op *made = ir_build_op(&state->builder, IR_PARAMETER, 0, NULL, 1, &type, 0);
    made->attributes.parameter = op->attributes.parameter;
    return made->results[0];
}

static ir_value *expand_pad(expand_state *state, expand_place *place, ir_op *op) {
    ir_value *value = expand_use(state, place, op->operands[0]);
    ir_value *outside = expand_use(state, place, op->operands[1]);
    ir_value *count = place->count; /* elements past the extent are nobody's: no need to pad them */
    place->count = NULL;
    ir_value *bits = expand_inside(state, place, op->operands[0], -1);
    place->count = count;
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
    case IR_SHAPE_CONVERT: {
        base_dtype dtype = op->results[0]->type.dtype;
        *result = ir_build_cast(b, expand_use(state, place, op->operands[0]),
                                dtype == BASE_INDEX ? BASE_I64 : dtype, op->attributes.rounding);
        break;
    }
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
