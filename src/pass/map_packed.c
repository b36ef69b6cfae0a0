/* Programs that share a team: their digits, and what they cannot do together.
 *
 *     axis row      lane 4 | group *            four rows a subgroup, eight lanes each
 *     axis row      subgroup 4 | group *        four rows a group, of two subgroups each
 *     axis N        slot 4 | lane 8 | step *    or slot 4 | lane 32 | subgroup 2 | step *
 *     axis row      group 264 | step *          264 groups, each of which walks over many rows
 *
 * Elements have the low numbers of lanes and subgroups, programs those above, so that the lanes of
 * a row are neighbours. Past the last program a team works on it again with all its lanes and
 * leaves out the stores alone: control stays uniform. So programs of a team go the same ways (no
 * bound, condition or domain may differ between them), and what one stores another may not load.
 * Programs on lanes alone, elements on steps, may store in place: their loads are masked too.
 */
#include "analysis/uniform.h"
#include "base/checked.h"
#include "pass/map_internal.h"

static bool is_of_team(layout_holder holder) {
    return holder == LAYOUT_LANE || holder == LAYOUT_SUBGROUP;
}

void map_numbers_of_elements(map_state *state, int64_t below[LAYOUT_HOLDER_COUNT]) {
    const ir_plan_list *axes = &state->context->plan->of[IR_PLAN_AXIS];
    for (int holder = 0; holder < LAYOUT_HOLDER_COUNT; holder++)
        below[holder] = 1;
    for (int64_t i = 0; i < axes->count; i++) {
        const layout_axis *digits = &axes->lines[i].digits;
        if (layout_axis_check(digits) != NULL || layout_axis_has(digits, LAYOUT_GROUP))
            continue;
        int64_t lanes = layout_axis_range(digits, LAYOUT_LANE);
        int64_t subgroups = layout_axis_range(digits, LAYOUT_SUBGROUP);
        below[LAYOUT_LANE] = lanes > below[LAYOUT_LANE] ? lanes : below[LAYOUT_LANE];
        below[LAYOUT_SUBGROUP] =
            subgroups > below[LAYOUT_SUBGROUP] ? subgroups : below[LAYOUT_SUBGROUP];
    }
}

void map_stack_programs(layout_axis *digits, int64_t below[LAYOUT_HOLDER_COUNT]) {
    for (int i = 0; i < digits->count; i++) {
        layout_digit *digit = &digits->digits[i];
        int64_t *end = &below[digit->holder], next;
        if (!is_of_team(digit->holder) || digit->radix <= 1)
            continue;
        if (digit->stride == 0)
            digit->stride = *end;
        if (base_checked_mul(digit->stride, digit->radix, &next) && next > *end)
            *end = next;
    }
}

const char *map_programs_refusal(const ir_module *module, const layout_axis *digits) {
    bool walks = layout_axis_has(digits, LAYOUT_STEP);
    if (!layout_axis_has(digits, LAYOUT_GROUP) || layout_axis_has(digits, LAYOUT_SLOT) ||
        layout_axis_has(digits, LAYOUT_BLOCK))
        return "a program axis lies on lanes, subgroups, group and step";
    if (!walks)
        return layout_axis_radix(digits, LAYOUT_GROUP) != 0
                   ? "the group digit of a program axis is `*`, or a number below `step *`"
                   : NULL;
    if (digits->digits[digits->count - 1].holder != LAYOUT_STEP ||
        layout_axis_radix(digits, LAYOUT_STEP) != 0)
        return "a group that walks over programs has `group` and its number, above it `step *`";
    return module->program_count > 1 ? "`group *`: the kernel has several axes of programs" : NULL;
}

static int64_t programs_of(const ir_axis *axis) {
    return !axis->is_program ? 1
                             : layout_axis_radix(&axis->digits, LAYOUT_LANE) *
                                   layout_axis_radix(&axis->digits, LAYOUT_SUBGROUP);
}

int64_t map_programs_together(const ir_module *module) {
    int64_t programs = 1, product;
    for (int i = 0; i < module->axis_count; i++)
        if (base_checked_mul(programs, programs_of(&module->axes[i]), &product) && product > 0)
            programs = product;
    return programs;
}

/* ---- what cannot be shared ---- */
static bool digits_meet(const ir_axis *a, const ir_axis *b, layout_holder holder) {
    for (int i = 0; i < a->digits.count; i++)
        for (int k = 0; k < b->digits.count; k++) {
            layout_digit x = a->digits.digits[i], y = b->digits.digits[k];
            x.stride = layout_axis_digit_stride(&a->digits, i);
            y.stride = layout_axis_digit_stride(&b->digits, k);
            layout_digit low = x.stride <= y.stride ? x : y, high = x.stride <= y.stride ? y : x;
            if (x.holder == holder && y.holder == holder && x.radix > 1 && y.radix > 1 &&
                high.stride % (low.stride * low.radix) != 0)
                return true;
        }
    return false;
}

/* The axis of programs shares a number of a holder with another one. */
static bool meets_another(const ir_module *module, const ir_axis *axis) {
    for (int i = 0; i < module->axis_count; i++)
        if (&module->axes[i] != axis && (digits_meet(axis, &module->axes[i], LAYOUT_LANE) ||
                                         digits_meet(axis, &module->axes[i], LAYOUT_SUBGROUP)))
            return true;
    return false;
}

/* What the elements of some axis are held by. */
static bool elements_have(const ir_module *module, layout_holder holder) {
    for (int i = 0; i < module->axis_count; i++)
        if (!module->axes[i].is_program && layout_axis_radix(&module->axes[i].digits, holder) > 1)
            return true;
    return false;
}

static bool stores_in_place(const ir_module *module) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].mode == IR_INOUT)
            return true;
    return false;
}

static bool fixes_owners(const map_state *state) {
    for (int i = 0; i < state->axes.count; i++)
        if (state->axes.axes[i].fixed != NULL)
            return true;
    return false;
}

static bool is_shifted(const ir_module *module) {
    for (int i = 0; i < module->axis_count; i++)
        if (module->axes[i].digits.shift != NULL)
            return true;
    return false;
}

/* NULL, or why programs of these digits cannot share lanes with elements. */
static const char *refusal(const map_state *state, const ir_axis *axis) {
    const ir_module *module = state->module;
    bool spread = elements_have(module, LAYOUT_LANE) || elements_have(module, LAYOUT_SUBGROUP) ||
                  elements_have(module, LAYOUT_SLOT);
    if (meets_another(module, axis))
        return "digits of programs above those of elements, in lanes and in subgroups";
    if (!spread)
        return NULL;
    if (layout_axis_radix(&axis->digits, LAYOUT_LANE) > 1 && elements_have(module, LAYOUT_SUBGROUP))
        return "programs on subgroups: a row of several has all lanes of each";
    if (stores_in_place(module))
        return "`group *`: a tensor is stored in place, which a program that is replayed reads";
    if (fixes_owners(state))
        return "`group *`: the kernel's text says which lanes own its elements";
    return is_shifted(module) ? "`group *`, or no shift: it differs between programs" : NULL;
}

static const char *describe_divergence(const ir_op *op) {
    return op->opcode == IR_FOR  ? "a loop bound"
           : op->opcode == IR_IF ? "a condition"
                                 : "the length of a tile";
}

static void check_divergence(map_state *state, const ir_axis *axis, base_location location) {
    const ir_op *op = analysis_divergent_op(state->module);
    if (op != NULL)
        map_fail(state, location, "plan-divergent", axis->anchor,
                 base_diagnostics_text(state->context->diagnostics,
                                       "`group *`: %s on line %d of the kernel differs",
                                       describe_divergence(op), (int)op->location.line),
                 "programs that do not go the same ways cannot share a team");
}

void map_check_packed(map_state *state) {
    const ir_module *module = state->module;
    for (int i = 0; i < module->axis_count && !state->failed; i++) {
        const ir_axis *axis = &module->axes[i];
        if (programs_of(axis) == 1)
            continue;
        base_location location = state->context->plan->of[IR_PLAN_AXIS].lines[i].location;
        const char *reason = refusal(state, axis);
        if (reason != NULL)
            map_fail(state, location, "plan-packed", axis->anchor, reason,
                     "the plan gives one team several programs that cannot share it");
        else
            check_divergence(state, axis, location);
    }
}
