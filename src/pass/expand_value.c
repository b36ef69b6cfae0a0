/* Thread values of mapped ones at a place of a sweep, with the slots that its axis has there.
 *
 *     %t : f32<N>, kept in an array          pull %a, %step : f32(4)
 *     %m : f32, beside it                    broadcast %m : f32(4), where slots are asked for
 *     the index of N, lane 8 | slot 4        add %step*32, iota lane*1 + slot*8
 *     what is inside of a guarded step       lt (iota ..), %count : bool(4)
 *
 * A value that another sweep kept is pulled once in a body. What ops do with values stands in
 * expand_op.c.
 */
#include "pass/expand_internal.h"

/* ---- slots ---- */

ir_value *expand_splat_lane(expand_state *state, ir_value *value, int slots) {
    if (value->type.slots == slots)
        return value;
    ir_type type = ir_type_slots(value->type.dtype, slots);
    ir_op *op = ir_build_op(&state->builder, IR_RENAME, 1, &value, 1, &type, 0);
    op->attributes.slots =
        (ir_list){.count = slots, .items = BASE_NEW_ARRAY(state->module->arena, int64_t, slots)};
    return op->results[0];
}

ir_value *expand_splat(expand_state *state, ir_value *value, int slots) {
    if (value->type.form == IR_FORM_SLOTS && value->type.slots == 1 && slots > 1)
        return expand_splat_lane(state, value, slots);
    if (value->type.form != IR_FORM_UNIFORM || slots == 0)
        return value;
    ir_type type = ir_type_slots(value->type.dtype, slots);
    return ir_build_op(&state->builder, IR_BROADCAST, 1, &value, 1, &type, 0)->results[0];
}

ir_value *expand_uniform(expand_state *state, ir_value *value) {
    ir_type type = ir_type_uniform(value->type.dtype);
    return ir_build_op(&state->builder, IR_UNIFORM, 1, &value, 1, &type, 0)->results[0];
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

/* ---- positions and elements ---- */

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

ir_value *expand_element(expand_state *state, int axis) {
    const expand_axis *held = &state->axis[axis];
    ir_value *element = expand_iota(state, &held->affine, held->slots);
    if (held->constant == 0)
        return element;
    ir_value *constant = ir_build_integer(&state->builder, BASE_I64, held->constant);
    return ir_build_binary(&state->builder, IR_ADD, element, constant);
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

ir_value *expand_first_copy(expand_state *state, int axis) {
    const ir_affine *replica = axis >= 0 ? &state->axis[axis].replica : &state->replica;
    if (replica->count == 0)
        return NULL;
    ir_value *copy = expand_iota(state, replica, 1);
    return ir_build_binary(&state->builder, IR_LT, copy,
                           ir_build_integer(&state->builder, BASE_I64, 1));
}

/* ---- domains ---- */

/* In i32: a chunk is small. */
ir_value *expand_count_bits(expand_state *state, const expand_place *place) {
    ir_builder *b = &state->builder;
    ir_value *element = expand_element(state, place->spread);
    element = ir_build_cast(b, element, BASE_I32, IR_ROUND_ZERO);
    ir_value *bits = NULL;
    if (place->count != NULL) {
        ir_value *count = ir_build_cast(b, place->count, BASE_I32, IR_ROUND_ZERO);
        bits = ir_build_binary(b, IR_LT, element, count);
    }
    if (place->first == NULL)
        return bits;
    ir_value *first = ir_build_cast(b, place->first, BASE_I32, IR_ROUND_ZERO);
    ir_value *behind = ir_build_binary(b, IR_LE, first, element);
    return bits == NULL ? behind : ir_build_binary(b, IR_AND, behind, bits);
}

static ir_value *both(expand_state *state, ir_value *a, ir_value *b) {
    return a == NULL ? b : b == NULL ? a : ir_build_binary(&state->builder, IR_AND, a, b);
}

ir_value *expand_inside_domains(expand_state *state, const expand_place *place,
                                const ir_value *mapped) {
    ir_value *bits = NULL;
    for (int i = 0; i < mapped->type.rank; i++) {
        int axis = mapped->layout.axis[i];
        ir_value *domain = mapped->type.domain[i];
        if (domain != NULL && (axis < 0 || domain != place->domain[axis]))
            bits =
                both(state, bits,
                     ir_build_binary(&state->builder, IR_LT, expand_axis_index(state, place, axis),
                                     state->value[domain->number]));
    }
    return bits;
}

bool expand_is_guarded(const expand_place *place, const ir_value *mapped) {
    bool guarded = false;
    for (int i = 0; i < mapped->type.rank; i++)
        guarded = guarded || mapped->layout.axis[i] == place->spread;
    return guarded && place->spread >= 0 && (place->count != NULL || place->first != NULL);
}

ir_value *expand_inside(expand_state *state, const expand_place *place, const ir_value *mapped) {
    ir_value *bits = expand_is_guarded(place, mapped) ? expand_count_bits(state, place) : NULL;
    return both(state, bits, expand_inside_domains(state, place, mapped));
}

/* ---- kept values ---- */

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
        ir_value *cell = expand_cell(state, place, mapped);
        state->value[mapped->number] = expand_pull(state, array, cell);
        state->pulled[mapped->number] = place->body;
    }
    return state->value[mapped->number];
}
