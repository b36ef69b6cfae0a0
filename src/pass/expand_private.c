/* Private arrays of a lane: declared at the head of the body in the order in which they are needed,
 * pulled and pushed cell by cell.
 *
 *     %a = private N // 32 : private f32(4)[N // 32]    a kept tile, a cell for each step
 *     push %a, %step, %t                               %t : f32(4)
 *     %t = pull %a, %step : f32(4)
 */
#include "pass/expand_internal.h"

ir_value *expand_declare_cells(expand_state *state, base_dtype dtype, int slots,
                               const layout_extent *cells, const char *name) {
    ir_type type = {.form = IR_FORM_PRIVATE, .dtype = dtype, .slots = slots};
    type.extent[0] = cells;
    ir_op *op =
        ir_op_create(state->module, IR_PRIVATE, state->builder.location, 0, NULL, 1, &type, 0);
    op->attributes.extent = cells;
    op->results[0]->name = name;
    ir_region *body = &state->module->body;
    ir_op *next = state->last_array != NULL ? state->last_array->next : body->first;
    if (next != NULL)
        ir_op_insert_before(next, op);
    else
        ir_op_append(body, op);
    state->last_array = op;
    return op->results[0];
}

ir_value *expand_declare_array(expand_state *state, const ir_value *mapped) {
    layout_extents *pool = &state->module->extents;
    const layout_extent *cells = layout_extent_constant(pool, 1);
    for (int i = 0; i < mapped->type.rank; i++)
        if (mapped->layout.axis[i] >= 0)
            cells = layout_extent_binary(pool, LAYOUT_EXTENT_MUL, cells,
                                         expand_axis_steps(state, mapped->layout.axis[i]));
    if (cells == NULL) {
        expand_fail(state, mapped->definer, "size-overflow",
                    "a kept tile has more than 2^63 cells");
        cells = layout_extent_constant(pool, 1);
    }
    return expand_declare_cells(state, ir_build_dtype(&state->builder, mapped->type.dtype),
                                expand_slots_of(state, mapped), cells, mapped->name);
}

ir_value *expand_pull(expand_state *state, ir_value *array, ir_value *cell) {
    ir_type type = array->type.slots > 0 ? ir_type_slots(array->type.dtype, array->type.slots)
                                         : ir_type_uniform(array->type.dtype);
    return ir_build_op(&state->builder, IR_PULL, 2, (ir_value *[]){array, cell}, 1, &type, 0)
        ->results[0];
}

void expand_push(expand_state *state, ir_value *array, ir_value *cell, ir_value *value) {
    value = expand_splat(state, value, array->type.slots);
    ir_build_op(&state->builder, IR_PUSH, 3, (ir_value *[]){array, cell, value}, 0, NULL, 0);
}

void expand_copy_array(expand_state *state, ir_value *to, ir_value *from) {
    ir_builder *b = &state->builder;
    ir_value *first = ir_build_integer(b, BASE_I64, 0);
    ir_value *end = ir_build_size(b, to->type.extent[0]);
    ir_value *step = ir_build_integer(b, BASE_I64, 1);
    ir_value *bounds[3] = {first, end, step};
    ir_op *loop = ir_build_op(b, IR_FOR, 3, bounds, 0, NULL, 1);
    ir_region *outer = b->region;
    b->region = loop->regions[0];
    ir_value *cell =
        ir_region_add_argument(state->module, b->region, ir_type_uniform(BASE_I64), NULL);
    expand_push(state, to, cell, expand_pull(state, from, cell));
    ir_build_yield(b, 0, NULL);
    b->region = outer;
}
