/* Axes by the plan: their digits, and the team that they make.
 *
 *     axis row      group *                             a program a group
 *     axis N        slot 4 | lane 32 | subgroup 8       256 lanes
 *     axis N        slot 4 | lane 32 | step * shift x.0     positions; N + s of them a row of x
 *     axis axis.0   lane 4 @8 | subgroup 2 | lane 8     64 of them: the others have copies
 *
 * Digits of elements are the low ones of the lane and of the subgroup number, those of programs
 * stand above them, in the order of the axes:
 *
 *     axis row      lane 4 | subgroup 2 | group *       in the module lane 4 @8 | subgroup 2 | ..
 *     axis N        slot 4 | lane 8 | step *
 *
 * What programs that share a team may do stands in map_packed.c, what axes on the groups of a
 * cluster may be in map_cluster.c, what a plan may say of digits alone in map_plan_check.c.
 */
#include "analysis/meetings.h"
#include "analysis/shift.h"
#include "base/checked.h"
#include "machine/machine.h"
#include "pass/map_internal.h"

#include <string.h>

static const ir_plan_line *plan_axis(map_state *state, const char *anchor) {
    const ir_plan *plan = state->context->plan;
    const ir_plan_line *line = ir_plan_find(plan, IR_PLAN_AXIS, anchor);
    if (line != NULL)
        return line;
    map_fail(state, plan->location, "plan-missing-anchor", NULL, anchor,
             "the plan has no line for an axis");
    return NULL;
}

typedef struct convert_search {
    const map_state *state;
    int axis;
    bool found;
} convert_search;

static bool visit_convert(void *pointer, ir_op *op) {
    convert_search *search = pointer;
    if (op->opcode == IR_CONVERT)
        search->found = search->found ||
                        search->state->axes.of_value[op->operands[0]->number][0] == search->axis ||
                        search->state->axes.of_value[op->results[0]->number][0] == search->axis;
    return !search->found;
}

/* NULL, or what an axis that is shifted must be. */
static const char *shift_refusal(map_state *state, int axis, const ir_op *access) {
    const layout_axis *digits = &state->module->axes[axis].digits;
    layout_holder first = digits->count > 0 ? digits->digits[0].holder : LAYOUT_GROUP;
    convert_search search = {.state = state, .axis = axis};
    if (state->module->axes[axis].is_program || (first != LAYOUT_SLOT && first != LAYOUT_LANE) ||
        digits->digits[0].radix < 2 || digits->exclusive_or != 0)
        return "an axis of elements whose first digit is of 2 or more slots or lanes, without "
               "`xor`";
    ir_region_walk(&state->module->body, visit_convert, &search);
    if (search.found)
        return "an axis of tiles that are not converted";
    if (analysis_axes_of_last_index(&state->axes, access) != axis)
        return "an access whose last index runs over the axis";
    return analysis_shift_refusal(access);
}

static void check_shift(map_state *state, int axis, const ir_plan_line *line) {
    const char *anchor = line->digits.shift;
    if (anchor == NULL)
        return;
    const ir_op *access = analysis_shift_access(state->module, anchor);
    if (access == NULL) {
        map_fail(state, line->location, "plan-unknown-anchor", anchor, "an access, such as x.0",
                 "the plan shifts an axis by rows that the kernel has not");
        return;
    }
    const char *expected = shift_refusal(state, axis, access);
    if (expected != NULL)
        map_fail(state, line->location, "plan-shift", anchor, expected,
                 "the plan shifts an axis that cannot be shifted so");
}

/* NULL, or why expand cannot apply these digits to the axis. */
static const char *axis_refusal(map_state *state, const ir_axis *axis) {
    const layout_axis *digits = &axis->digits;
    const char *reason = map_digits_refusal(digits);
    if (reason != NULL)
        return reason;
    if (axis->is_program)
        return map_programs_refusal(state->module, digits);
    int64_t lanes = layout_axis_range(digits, LAYOUT_LANE);
    if (lanes > 64 || (lanes & (lanes - 1)) != 0)
        return "lanes are a power of two up to 64";
    if (layout_axis_has(digits, LAYOUT_GROUP))
        return "an element axis lies on lanes, subgroups, blocks, slots and steps";
    int64_t slots = layout_axis_radix(digits, LAYOUT_SLOT);
    if (slots > 64)
        return "at most 64 slots";
    int64_t extent, chunk = layout_axis_chunk(digits);
    bool known = layout_extent_known(&state->module->extents, axis->extent, &extent);
    int64_t steps =
        layout_axis_has(digits, LAYOUT_STEP) ? layout_axis_radix(digits, LAYOUT_STEP) : 1;
    if (!known)
        return steps != 0 ? "a runtime extent needs the step digit `*`" : NULL;
    if (steps == 0)
        return "a known extent needs the number of its steps";
    int64_t positions;
    if (!base_checked_add(extent, layout_axis_shifts(digits) - 1, &positions))
        return "positions that 64 bits can count";
    int64_t needed = positions / chunk + (positions % chunk != 0);
    if (steps == needed || extent == 0)
        return NULL;
    return base_diagnostics_text(state->context->diagnostics,
                                 "`step %lld`: the other digits hold %lld of %lld %s",
                                 (long long)needed, (long long)chunk, (long long)positions,
                                 digits->shift != NULL ? "positions" : "elements");
}

/* The team is what the axes count: the most lanes and subgroups of any. */
static void apply_team(map_state *state, const ir_axis *axis, base_location location) {
    ir_module *module = state->module;
    int64_t lanes = layout_axis_range(&axis->digits, LAYOUT_LANE);
    int64_t subgroups = layout_axis_range(&axis->digits, LAYOUT_SUBGROUP);
    const char *reason = NULL;
    if (lanes > 64 || (lanes & (lanes - 1)) != 0)
        reason = "lanes are a power of two up to 64";
    else if (subgroups > 1024 / lanes)
        reason = "a team has at most 1024 lanes";
    if (reason != NULL) {
        map_fail(state, location, "plan-axis", axis->anchor, reason,
                 "the plan gives an axis digits that do not fit");
        return;
    }
    int64_t others = module->subgroup > 0 ? module->lanes / module->subgroup : 1;
    int64_t own = module->subgroup > 0 ? module->subgroup : module->lanes;
    lanes = lanes > own ? lanes : own;
    subgroups = subgroups > others ? subgroups : others;
    module->lanes = (int)(lanes * subgroups);
    module->subgroup = subgroups > 1 ? (int)lanes : 0;
    if (module->lanes > 1024)
        map_fail(state, location, "plan-axis", axis->anchor, "a team has at most 1024 lanes",
                 "the plan gives an axis digits that do not fit");
}

static bool is_spread(const layout_axis *digits) {
    return layout_axis_has(digits, LAYOUT_LANE) || layout_axis_has(digits, LAYOUT_SUBGROUP) ||
           layout_axis_has(digits, LAYOUT_SLOT);
}

/* Lanes and slots of elements go to one axis of each sweep. */
static void check_spread(map_state *state) {
    const ir_axis *axes = state->module->axes;
    bool together = false;
    for (int64_t s = 0; s < state->sweeps.count; s++) {
        int spread = 0;
        for (int i = 0; i < state->sweeps.sweeps[s].axis_count; i++)
            spread += is_spread(&axes[state->sweeps.sweeps[s].axes[i]].digits);
        together = together || spread > 1;
    }
    if (together)
        map_fail(state, state->context->plan->location, "plan-axis", NULL,
                 "one axis of each sweep with lane, subgroup or slot digits",
                 "the plan gives several axes lanes or slots");
}

static const char *print_digits(map_state *state, const layout_axis *digits) {
    base_text text;
    base_text_init(&text, state->context->diagnostics->arena);
    layout_axis_print(&text, digits);
    return text.bytes;
}

void map_axes_apply(map_state *state) {
    ir_module *module = state->module;
    module->axis_count = state->axes.count;
    module->axes = BASE_NEW_ARRAY(module->arena, ir_axis, state->axes.count);
    module->lanes = 1;
    module->subgroup = module->cluster = 0;
    int64_t below[LAYOUT_HOLDER_COUNT];
    map_numbers_of_elements(state, below);
    for (int i = 0; i < state->axes.count; i++) {
        const analysis_axis *from = &state->axes.axes[i];
        ir_axis *axis = &module->axes[i];
        *axis = (ir_axis){.anchor = from->anchor,
                          .extent = from->extent,
                          .is_program = from->is_program,
                          .program = from->program};
        const ir_plan_line *line = plan_axis(state, from->anchor);
        if (line == NULL)
            continue;
        if (line != &state->context->plan->of[IR_PLAN_AXIS].lines[i])
            map_plan_out_of_order(state, from->anchor, line->location);
        axis->digits = line->digits;
        if (axis->is_program)
            map_stack_programs(&axis->digits, below);
        const char *reason = axis_refusal(state, axis);
        if (reason != NULL)
            map_fail(state, line->location, "plan-axis", print_digits(state, &line->digits), reason,
                     "the plan gives an axis digits that do not fit");
        else if (from->fixed != NULL && !layout_axis_same(from->fixed, &axis->digits))
            map_fail(state, line->location, "plan-fixed", from->anchor,
                     print_digits(state, from->fixed),
                     "the kernel's text fixes the layout of an axis");
        check_shift(state, i, line);
        if (reason == NULL)
            apply_team(state, axis, line->location);
        if (reason == NULL)
            map_cluster_apply(state, axis, line->location);
    }
    check_spread(state);
}

/* Lanes of one program that do not run in lock step may not come to one cell: also not those that
 * hold a copy of what another one stores. */
void map_check_meetings(map_state *state) {
    const ir_module *module = state->module;
    const machine *device = machine_find(state->context->plan->machine);
    const ir_op *first = NULL, *second = NULL;
    const int64_t lanes = module->lanes / map_programs_together(module);
    bool spread = false, *copied = BASE_NEW_ARRAY(module->arena, bool, module->axis_count);
    for (int i = 0; i < module->axis_count; i++) {
        const ir_axis *axis = &module->axes[i];
        int64_t threads = layout_axis_radix(&axis->digits, LAYOUT_LANE) *
                          layout_axis_radix(&axis->digits, LAYOUT_SUBGROUP);
        spread = spread || (!axis->is_program && threads > 1);
        copied[i] = !axis->is_program && is_spread(&axis->digits) && threads < lanes;
    }
    bool in_step = device == NULL || !device->lanes_are_threads;
    if (spread && !in_step && !state->failed &&
        analysis_meetings_find(module->arena, module, &state->axes, copied, &first, &second))
        map_fail(state, second->location, "plan-lanes",
                 base_diagnostics_text(state->context->diagnostics, "%s, and %s on line %d",
                                       second->anchor, first->anchor, (int)first->location.line),
                 "each cell read and stored by one lane",
                 "two lanes may come to one cell, which nothing orders on this machine");
}
