/* split: the sequence of launches (split.h has an example).
 *
 *     launch k of K    partial results of phase k + 1, and stores of the split axis of phase k
 *     behind them      stores of what is no part's, one program a row
 *
 * What a launch needs of earlier ones it loads (partial results) or computes again (all else), so a
 * launch without stores is none, and a kernel that only walks the axis is one launch in parts.
 */
#include "base/checked.h"
#include "pass/map_internal.h"
#include "pass/split_internal.h"

#include <string.h>

void split_fail(split_state *state, base_location location, const char *found, const char *expected,
                const char *message) {
    state->failed = true;
    if (location.source == NULL)
        location.source = state->tile->source;
    base_diagnostic *d =
        base_diagnostics_add(state->diagnostics, "plan-split", location, "%s", message);
    d->found = found;
    d->expected = expected;
    d->hint = "without its group digit the axis stays in one launch";
}

bool split_is_on_axis(const split_state *state, const ir_value *value) {
    for (int i = 0; value->type.form == IR_FORM_TILE && i < value->type.rank; i++)
        if (state->axes.of_value[value->number][i] == state->axis)
            return true;
    return false;
}

bool split_is_partial(const split_state *state, const ir_op *op) {
    return op->opcode == IR_REDUCE &&
           state->axes.of_value[op->operands[0]->number][op->attributes.axis] == state->axis;
}

int split_store_dimension(const split_state *state, const ir_op *store) {
    const analysis_store_axes *axes = analysis_axes_of_store(&state->axes, store);
    for (int i = 0; axes != NULL && i < axes->rank; i++)
        if (axes->axis[i] == state->axis)
            return i;
    return -1;
}

/* ---- the axis ---- */
static bool has_parts(const analysis_axes *axes, int axis, const ir_plan *plan,
                      const ir_plan_line **line) {
    *line = ir_plan_find(plan, IR_PLAN_AXIS, axes->axes[axis].anchor);
    return !axes->axes[axis].is_program && *line != NULL &&
           layout_axis_has(&(*line)->digits, LAYOUT_GROUP);
}

bool pass_split_is_asked(const ir_module *module, const ir_plan *plan) {
    bool groups = false;
    for (int64_t i = 0; i < plan->of[IR_PLAN_AXIS].count; i++) {
        const layout_axis *digits = &plan->of[IR_PLAN_AXIS].lines[i].digits;
        groups = groups || (digits->count > 0 && layout_axis_has(digits, LAYOUT_GROUP) &&
                            digits->digits[digits->count - 1].radix != 0);
    }
    if (!groups) /* programs lie on `group *` */
        return false;
    analysis_axes axes = analysis_axes_find(module->arena, module);
    const ir_plan_line *line;
    for (int i = 0; i < axes.count; i++)
        if (has_parts(&axes, i, plan, &line))
            return true;
    return false;
}

static bool find_axis(split_state *state) {
    for (int i = 0; i < state->axes.count; i++) {
        const ir_plan_line *line;
        if (!has_parts(&state->axes, i, state->plan, &line))
            continue;
        if (state->line != NULL)
            split_fail(state, line->location, line->anchor, "one axis with a group digit",
                       "the plan splits two axes");
        state->axis = i;
        state->line = line;
    }
    return !state->failed;
}

/* The digits of a part, and how many parts; NULL, or what the digits must be. */
static const char *read_digits(split_state *state) {
    layout_axis *digits = &state->digits;
    *digits = state->line->digits;
    const layout_digit *last = &digits->digits[digits->count - 1];
    if (last->holder != LAYOUT_GROUP || last->radix < 2 ||
        layout_axis_digit_stride(digits, digits->count - 1) != 1)
        return "a group digit last, of 2 parts or more";
    digits->count--;
    state->parts = last->radix;
    if (layout_axis_has(digits, LAYOUT_GROUP))
        return "one group digit";
    if (layout_axis_has(digits, LAYOUT_BLOCK))
        return "an axis in parts without blocks";
    if (digits->shift != NULL || digits->exclusive_or != 0)
        return "an axis in parts without `shift` and `xor`";
    state->chunk = layout_axis_chunk(digits);
    return NULL;
}

/* Parts of a known extent have a known number of steps. The digits as they would be in one launch.
 */
static const char *read_steps(split_state *state, layout_axis *whole) {
    int64_t extent, all, radix = layout_axis_radix(&state->digits, LAYOUT_STEP);
    bool steps = layout_axis_has(&state->digits, LAYOUT_STEP);
    int last = state->digits.count - 1;
    *whole = state->digits;
    if (!base_checked_mul(state->chunk, state->parts, &all))
        return "parts that 64 bits can count";
    if (!layout_extent_known(&state->tile->extents, state->axes.axes[state->axis].extent, &extent))
        return steps && radix == 0 ? NULL : "`step *` in each part of a runtime extent";
    int64_t needed = extent / all + (extent % all != 0);
    needed = needed > 0 ? needed : 1;
    if (steps ? radix != needed : needed != 1)
        return base_diagnostics_text(state->diagnostics,
                                     "`step %lld` below the group digit: %lld parts of %lld hold "
                                     "%lld of %lld elements",
                                     (long long)needed, (long long)state->parts,
                                     (long long)state->chunk, (long long)all, (long long)extent);
    int64_t total = extent / state->chunk + (extent % state->chunk != 0);
    state->length = needed * state->chunk;
    state->even = state->length * state->parts == extent;
    if (!steps && whole->count < LAYOUT_MAX_DIGITS)
        whole->digits[++last] = (layout_digit){.holder = LAYOUT_STEP};
    whole->count = last + 1;
    whole->digits[last].radix = total > 0 ? total : 1;
    return NULL;
}

/* The plan as it would be without parts: whether it fits is asked of that one. */
static bool plan_fits(split_state *state, layout_axis whole) {
    ir_plan plain = *state->plan;
    ir_plan_list *axes = &plain.of[IR_PLAN_AXIS];
    axes->lines = BASE_NEW_ARRAY(state->arena, ir_plan_line, axes->count);
    for (int64_t i = 0; i < axes->count; i++) {
        axes->lines[i] = state->plan->of[IR_PLAN_AXIS].lines[i];
        if (strcmp(axes->lines[i].anchor, state->line->anchor) == 0)
            axes->lines[i].digits = whole;
    }
    return map_plan_fits(state->arena, state->tile, &plain, state->diagnostics);
}

/* ---- launches ---- */
static int last_phase(const split_state *state, bool *rows, bool *parts_end) {
    int last = 0;
    *rows = *parts_end = false;
    for (int64_t i = 0; i < state->partial_count; i++)
        last = state->partials[i].phase > last ? state->partials[i].phase : last;
    for (const ir_op *op = state->tile->body.first; op != NULL; op = op->next) {
        if (op->opcode != IR_STORE)
            *rows = *rows || op->region_count > 0; /* may hold stores */
        else if (split_store_dimension(state, op) < 0)
            *rows = true;
        else
            *parts_end = *parts_end || split_phase_of(state, op) == last;
    }
    return last;
}

static void add_launch(split_state *state, pass_launches *launches, split_launch launch) {
    pass_launch *item = &launches->items[launches->count];
    item->module = split_build(state, launch, ++launches->count);
    item->plan = split_plan(state, item->module, launch, &item->axis);
}

static bool has_stores(const ir_region *region) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_STORE)
            return true;
        for (int i = 0; i < op->region_count; i++)
            if (has_stores(op->regions[i]))
                return true;
    }
    return false;
}

static void make_launches(split_state *state, pass_launches *launches) {
    bool rows, parts_end;
    int last = last_phase(state, &rows, &parts_end);
    *launches = (pass_launches){.own_parameters = state->tile->parameter_count};
    launches->items = BASE_NEW_ARRAY(state->arena, pass_launch, last + 2);
    for (int phase = 0; phase < last + (parts_end ? 1 : 0); phase++)
        add_launch(state, launches, (split_launch){.phase = phase, .parts = true});
    if (rows)
        add_launch(state, launches, (split_launch){.phase = last, .rows = true});
    if (rows && !has_stores(&launches->items[launches->count - 1].module->body))
        launches->count--;
}

bool pass_split(base_arena *arena, const ir_module *module, const ir_plan *plan,
                base_diagnostics *diagnostics, pass_launches *launches) {
    split_state state = {
        .arena = arena, .tile = module, .plan = plan, .diagnostics = diagnostics, .axis = -1};
    layout_axis whole;
    state.axes = analysis_axes_find(arena, module);
    if (!find_axis(&state))
        return false;
    const char *reason = read_digits(&state);
    reason = reason != NULL ? reason : read_steps(&state, &whole);
    if (reason != NULL) {
        split_fail(&state, state.line->location, state.line->anchor, reason,
                   "the plan splits an axis by digits that do not fit");
        return false;
    }
    if (!plan_fits(&state, whole))
        return false;
    split_check(&state);
    if (state.failed)
        return false;
    make_launches(&state, launches);
    split_check_keeps(&state, launches);
    return !state.failed;
}
