/* Expansion of index tiles in closed form: a uniform base and an affine form in place of a vector.
 *
 *     %q = floordiv %i, 8    with i on slot 2 | lane 32        lane/4*1
 *     %k = add %off, %j      with j on lane 8 | slot 4 | step *    %off + %step*32, lane*1 + slot*8
 *
 * Where an index has no closed form (analysis/index_form.h), where the borders of its quotients cut
 * digits, or where a scalar of it differs between lanes, its values stay a vector.
 */
#include "analysis/index_digits.h"
#include "pass/expand_internal.h"

typedef struct index_parts {
    analysis_index_form form;
    analysis_index_digits digits;
    ir_value *base; /* the sum so far; NULL: 0 */
} index_parts;

/* The scalar stands in a region around the op. */
static bool is_visible(const ir_op *op, const ir_value *scalar) {
    const ir_region *home = scalar->definer != NULL ? scalar->definer->parent : scalar->region;
    for (const ir_region *region = op->parent; region != NULL;
         region = region->owner != NULL ? region->owner->parent : NULL)
        if (region == home)
            return true;
    return false;
}

static bool is_uniform(const expand_state *state, const ir_op *op, const ir_value *scalar) {
    const ir_value *value = state->value[scalar->number];
    return is_visible(op, scalar) && value != NULL && value->type.form == IR_FORM_UNIFORM;
}

static bool find_parts(expand_state *state, const expand_place *place, const ir_op *op,
                       const ir_value *tile, index_parts *parts) {
    const ir_module *module = state->module;
    const layout_axis *digits[EXPAND_MAX_AXES];
    int64_t ranges[LAYOUT_HOLDER_COUNT] = {0};
    if (place == NULL || (state->packed && place->spread < 0) ||
        !analysis_index_form_find(module, NULL, tile, &parts->form))
        return false;
    for (int i = 0; i < module->axis_count; i++)
        digits[i] = state->axis[i].digits != NULL ? state->axis[i].digits : &module->axes[i].digits;
    ranges[LAYOUT_LANE] = ir_module_subgroup_lanes(module);
    ranges[LAYOUT_SUBGROUP] = ir_module_subgroups(module);
    ranges[LAYOUT_SLOT] = place->spread >= 0 ? state->axis[place->spread].slots : 0;
    if (!analysis_index_digits_find(&parts->form, digits, ranges, &parts->digits))
        return false;
    for (int i = 0; i < parts->form.scalar_count; i++)
        if (!is_uniform(state, op, parts->form.scalars[i].value))
            return false;
    for (int i = 0; i < parts->form.term_count; i++) {
        int axis = parts->form.terms[i].axis;
        if (place->step[axis] == NULL || state->axis[axis].scattered ||
            (state->axis[axis].spread && axis != place->spread))
            return false;
    }
    return true;
}

/* base += value * weight. */
static void add_weighted(ir_builder *b, index_parts *parts, ir_value *value, int64_t weight) {
    if (value->type.dtype != BASE_I64)
        value = ir_build_cast(b, value, BASE_I64, IR_ROUND_ZERO);
    if (weight != 1)
        value = ir_build_binary(b, IR_MUL, value, ir_build_integer(b, BASE_I64, weight));
    parts->base = parts->base == NULL ? value : ir_build_binary(b, IR_ADD, parts->base, value);
}

static void add_step(ir_builder *b, index_parts *parts, ir_value *number,
                     const analysis_index_step *step) {
    if (step->divide > 1)
        number =
            ir_build_binary(b, IR_FLOOR_DIV, number, ir_build_integer(b, BASE_I64, step->divide));
    if (step->modulus != 0)
        number =
            ir_build_binary(b, IR_FLOOR_MOD, number, ir_build_integer(b, BASE_I64, step->modulus));
    add_weighted(b, parts, number, step->stride);
}

bool expand_closed_index(expand_state *state, expand_place *place, const ir_op *op,
                         const ir_value *tile, ir_value **base, ir_affine *affine) {
    ir_builder *b = &state->builder;
    index_parts parts = {0};
    if (!find_parts(state, place, op, tile, &parts))
        return false;
    for (int i = 0; i < parts.form.scalar_count; i++) {
        const analysis_index_scalar *scalar = &parts.form.scalars[i];
        add_weighted(b, &parts, state->value[scalar->value->number], scalar->weight);
    }
    for (int i = 0; i < parts.digits.step_count; i++) {
        const analysis_index_step *step = &parts.digits.steps[i];
        add_step(b, &parts, place->step[step->axis], step);
    }
    for (int i = 0; i < parts.form.term_count; i++) {
        const analysis_index_term *term = &parts.form.terms[i];
        if (state->axis[term->axis].shift != NULL)
            add_weighted(b, &parts, state->axis[term->axis].shift, -term->stride);
        if (state->axis[term->axis].part != NULL)
            add_weighted(b, &parts, state->axis[term->axis].part, term->stride);
    }
    uint64_t constant = (uint64_t)parts.form.constant + (uint64_t)parts.digits.constant;
    if (constant != 0)
        add_weighted(b, &parts, ir_build_integer(b, BASE_I64, (int64_t)constant), 1);
    *base = parts.base;
    *affine = parts.digits.affine;
    return true;
}
