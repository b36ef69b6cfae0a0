/* Where the kernel's text fixes owners, there is one plan (owners.c). Else two, by one function
 * each: which digits the axes get; everything else follows.
 *
 *     row        axis N    lane 8 | slot 4 | step *       axis row  group *
 *                axis N    slot 4 | lane 32 | subgroup 8 | step *    where a team has many
 * subgroups fallback   axis N    step *                         axis row  lane 8 | group *
 *
 * The row plan gives the lanes to the axis along which memory is contiguous: the one that stands on
 * the last dimension of most accesses, those in loops counting more. The fallback walks each
 * program alone in its lane; where a bound, condition or domain depends on the program, one
 * program a team.
 */
#include "planner/planner_internal.h"

#include "analysis/access_width.h"
#include "analysis/meetings.h"
#include "analysis/orders.h"
#include "analysis/uniform.h"
#include "ir/print.h"
#include "pass/pass.h"

#include <string.h>

enum {
    ROW_SLOTS = 4,  /* accumulators of a cpu row, neighbours of a lane elsewhere */
    ROW_CHUNKS = 4, /* at most, in registers */
    LOOP_WEIGHT = 8,
    LOOP_WEIGHT_LIMIT = 1 << 20
};

static void push_digit(layout_axis *digits, layout_holder holder, int64_t radix) {
    digits->digits[digits->count++] = (layout_digit){.holder = holder, .radix = radix};
}

/* ---- the lane axis of the row plan ---- */
static void weigh_region(const planner_state *state, const ir_region *region, int64_t weight,
                         int64_t *weights) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_LOAD || op->opcode == IR_STORE) {
            int axis = analysis_axes_of_last_index(&state->axes, op);
            if (axis >= 0)
                weights[axis] += weight;
        }
        int64_t inner = op->opcode == IR_FOR ? weight * LOOP_WEIGHT : weight;
        for (int i = 0; i < op->region_count; i++)
            weigh_region(state, op->regions[i],
                         inner < LOOP_WEIGHT_LIMIT ? inner : LOOP_WEIGHT_LIMIT, weights);
    }
}

static int64_t *weigh_axes(const planner_state *state) {
    int64_t *weights = BASE_NEW_ARRAY(state->arena, int64_t, state->axes.count);
    weigh_region(state, &state->module->body, 1, weights);
    return weights;
}

/* ---- digits ---- */
/* Several subgroups work on one row: neighbours in slots, for vector accesses by each lane; a known
 * row that fits stays in registers, another is walked in steps.
 *
 *     N = 4096    slot 4 | lane 32 | subgroup 8 | slot 4
 *     N           slot 4 | lane 32 | subgroup 8 | step *  */
static layout_axis team_digits(const planner_state *state, const layout_extent *extent) {
    int64_t lanes = state->machine->subgroup, vector = ROW_SLOTS;
    int64_t subgroups = state->machine->row_subgroups;
    int64_t known = 0, chunks = 1;
    bool is_known = layout_extent_known(&state->module->extents, extent, &known);
    layout_axis digits = {0};
    while (is_known && vector > 1 && lanes * (vector / 2) >= known)
        vector /= 2;
    while (is_known && subgroups > 1 && lanes * vector * (subgroups / 2) * ROW_CHUNKS >= known)
        subgroups /= 2;
    while (is_known && chunks < ROW_CHUNKS && lanes * vector * subgroups * chunks < known)
        chunks *= 2;
    if (vector > 1)
        push_digit(&digits, LAYOUT_SLOT, vector);
    push_digit(&digits, LAYOUT_LANE, lanes);
    if (subgroups > 1)
        push_digit(&digits, LAYOUT_SUBGROUP, subgroups);
    int64_t elements = lanes * vector * subgroups;
    if (is_known && elements * chunks >= known) {
        if (chunks > 1)
            push_digit(&digits, LAYOUT_SLOT, chunks);
        return digits;
    }
    push_digit(&digits, LAYOUT_STEP, is_known ? (known + elements - 1) / elements : 0);
    return digits;
}

static layout_axis lane_digits(const planner_state *state, const layout_extent *extent) {
    if (state->machine->row_subgroups > 1)
        return team_digits(state, extent);
    int64_t lanes = state->machine->subgroup, slots = ROW_SLOTS, known = 0;
    layout_axis digits = {0};
    push_digit(&digits, LAYOUT_LANE, lanes);
    if (!layout_extent_known(&state->module->extents, extent, &known)) {
        push_digit(&digits, LAYOUT_SLOT, slots);
        push_digit(&digits, LAYOUT_STEP, 0);
        return digits;
    }
    while (slots > 1 && lanes * (slots / 2) >= known)
        slots /= 2;
    if (slots > 1)
        push_digit(&digits, LAYOUT_SLOT, slots);
    int64_t chunk = lanes * slots, steps = known / chunk + (known % chunk != 0);
    if (steps > 1)
        push_digit(&digits, LAYOUT_STEP, steps);
    return digits;
}

/* *ordered: a reduction that keeps an axis from having lanes, where one does. */
static int find_lane_axis(const planner_state *state, const ir_op **ordered) {
    int64_t *weights = weigh_axes(state);
    int best = -1;
    for (int i = 0; i < state->axes.count; i++) {
        if (state->axes.axes[i].is_program)
            continue;
        layout_axis digits = lane_digits(state, state->axes.axes[i].extent);
        const ir_op *conflict =
            analysis_order_conflict(state->module, &state->axes, i, &digits, state->strict);
        *ordered = conflict != NULL ? conflict : *ordered;
        if (conflict == NULL && (best < 0 || weights[i] > weights[best]))
            best = i;
    }
    return best;
}

layout_axis planner_step_digits(const planner_state *state, const layout_extent *extent) {
    int64_t known = 0;
    layout_axis digits = {0};
    if (layout_extent_known(&state->module->extents, extent, &known))
        push_digit(&digits, LAYOUT_STEP, known > 0 ? known : 1);
    else
        push_digit(&digits, LAYOUT_STEP, 0);
    return digits;
}

/* `program_lanes` go to the last program axis. */
static void set_axes(planner_state *state, int64_t program_lanes) {
    for (int i = 0; i < state->axes.count; i++)
        ir_plan_add(state->arena, state->plan, IR_PLAN_AXIS, state->axes.axes[i].anchor);
    ir_plan_line *lines = state->plan->of[IR_PLAN_AXIS].lines;
    if (state->owners) {
        planner_owners_axes(state, weigh_axes(state));
        return;
    }
    for (int i = 0; i < state->axes.count; i++) {
        const analysis_axis *axis = &state->axes.axes[i];
        layout_axis *digits = &lines[i].digits;
        if (axis->is_program) {
            if (program_lanes > 1 && axis->program == state->module->program_count - 1)
                push_digit(digits, LAYOUT_LANE, program_lanes);
            push_digit(digits, LAYOUT_GROUP, 0);
        } else {
            *digits = i == state->lane_axis ? lane_digits(state, axis->extent)
                                            : planner_step_digits(state, axis->extent);
        }
    }
}

/* ---- lines per op ---- */
static bool write_line(void *pointer, ir_op *op) {
    planner_state *state = pointer;
    ir_plan *plan = state->plan;
    if (op->opcode == IR_REDUCE)
        ir_plan_add(state->arena, plan, IR_PLAN_REDUCE, op->anchor)->order =
            analysis_order_planned(op, state->strict);
    else if (op->opcode == IR_LOAD || op->opcode == IR_STORE)
        ir_plan_add(state->arena, plan, IR_PLAN_ACCESS, op->anchor)->width =
            analysis_access_width_on(state->machine, state->module, &state->axes, state->digits,
                                     op);
    else if (op->opcode == IR_CONVERT)
        ir_plan_add(state->arena, plan, IR_PLAN_CONVERT, op->anchor)->mechanism =
            planner_mechanism(state, op);
    else if (ir_op_is_math(op->opcode))
        ir_plan_add(state->arena, plan, IR_PLAN_MATH, op->anchor)->form = IR_MATH_PORTABLE;
    return true;
}

static void set_lines(planner_state *state) {
    ir_region *body = (ir_region *)&state->module->body; /* the visitors change nothing */
    const layout_axis **digits =
        BASE_NEW_ARRAY(state->arena, const layout_axis *, state->axes.count);
    for (int i = 0; i < state->axes.count; i++)
        digits[i] = &state->plan->of[IR_PLAN_AXIS].lines[i].digits;
    state->digits = digits;
    ir_region_walk(body, write_line, state);
    planner_share_scratch(state);
}

static void set_conditions(planner_state *state) {
    const layout_extents *pool = &state->module->extents;
    ir_plan *plan = state->plan;
    plan->conditions = BASE_NEW_ARRAY(state->arena, ir_plan_condition, pool->symbol_count);
    for (int64_t i = 0; i < pool->symbol_count; i++)
        if (pool->symbols[i].known)
            plan->conditions[plan->condition_count++] = (ir_plan_condition){
                .symbol = pool->symbols[i].name, .value = pool->symbols[i].value};
}

/* ---- the plans ---- */
static ir_plan *write_plan(planner_state *state, int64_t program_lanes) {
    state->plan = BASE_NEW(state->arena, ir_plan);
    *state->plan = (ir_plan){.kernel = state->module->name,
                             .canonical_hash = pass_canonical_hash(state->module),
                             .machine = state->machine->name};
    set_conditions(state);
    set_axes(state, program_lanes);
    planner_keep(state);
    set_lines(state);
    return state->plan;
}

static ir_plan *plan_fallback(planner_state *state) {
    state->lane_axis = -1;
    bool packs = state->module->program_count > 0 && analysis_divergent_op(state->module) == NULL;
    return write_plan(state, packs ? state->machine->subgroup : 1);
}

/* NULL when there is nothing to put on lanes, or when lanes that do not run in lock step would come
 * to one cell: *first and *second then say where. */
static ir_plan *plan_row(planner_state *state, const ir_op **first, const ir_op **second,
                         const ir_op **ordered) {
    state->lane_axis = find_lane_axis(state, ordered);
    if (state->lane_axis < 0 ||
        (state->machine->row_subgroups > 1 &&
         analysis_meetings_find(state->arena, state->module, &state->axes, NULL, first, second)))
        return NULL;
    return write_plan(state, 1);
}

/* Every axis of elements is reduced by one worker. */
static void refuse_ordered(const planner_state *state, const ir_op *ordered,
                           base_diagnostics *diagnostics) {
    base_diagnostic *diagnostic = base_diagnostics_add(
        diagnostics, "row-plan-refused", ordered->location,
        "kernel %s has no row plan: a reduction asks for one worker a row", state->module->name);
    diagnostic->found =
        base_diagnostics_text(diagnostics, "order=%s", ir_order_name(ordered->attributes.order));
    diagnostic->expected = "order=tree or order=canonical";
    diagnostic->hint = "the fallback plan runs several programs side by side";
}

static void refuse_row(const planner_state *state, const ir_op *first, const ir_op *second,
                       base_diagnostics *diagnostics) {
    const ir_module *module = state->module;
    base_location place = {.source = module->source};
    base_diagnostic *diagnostic = base_diagnostics_add(
        diagnostics, "row-plan-refused", second != NULL ? second->location : place,
        second != NULL ? "kernel %s has no row plan on this machine: two lanes "
                         "may come to one cell"
                       : "kernel %s has no row plan: it has no axis of elements",
        module->name);
    diagnostic->found =
        second == NULL
            ? "scalars only"
            : base_diagnostics_text(diagnostics, "another access of the tensor, on line %d",
                                    (int)first->location.line);
    diagnostic->expected = second == NULL ? "a tile with more than one element"
                                          : "accesses of one tensor by the same indices";
    diagnostic->hint = "the fallback plan runs several programs side by side";
}

ir_plan *planner_plan(base_arena *arena, const ir_module *module, const machine *device,
                      planner_family family, bool strict, base_diagnostics *diagnostics) {
    planner_state state = {
        .arena = arena, .module = module, .machine = device, .lane_axis = -1, .strict = strict};
    state.axes = analysis_axes_find(arena, module);
    state.sweeps = analysis_sweeps_find(arena, module, &state.axes);
    state.owners = planner_owners_are_fixed(&state);
    if (state.owners)
        return write_plan(&state, 1);
    if (family == PLANNER_FALLBACK)
        return plan_fallback(&state);
    const ir_op *first = NULL, *second = NULL, *ordered = NULL;
    ir_plan *plan = plan_row(&state, &first, &second, &ordered);
    if (plan != NULL || family == PLANNER_AUTOMATIC)
        return plan != NULL ? plan : plan_fallback(&state);
    if (ordered != NULL && state.lane_axis < 0)
        refuse_ordered(&state, ordered, diagnostics);
    else
        refuse_row(&state, first, second, diagnostics);
    return NULL;
}
