/* Applying a plan's lines to a canonical tile module: axes, storage, widths; nothing is guessed. A
 * missing, unknown or repeated anchor is an error that names it. */
#include "analysis/meetings.h"
#include "machine/machine.h"
#include "pass/map_internal.h"

#include <stdio.h>
#include <string.h>

/* A plan that was made, not read, has no lines to point at: then the finding is the kernel's. */
void map_fail(map_state *state, base_location location, const char *slug, const char *found,
              const char *expected, const char *message) {
    state->failed = true;
    if (location.source == NULL)
        location.source = state->module->source;
    base_diagnostic *d =
        base_diagnostics_add(state->context->diagnostics, slug, location, "%s", message);
    base_arena *arena = state->context->diagnostics->arena;
    d->found = found == NULL ? NULL : base_arena_copy(arena, found, strlen(found));
    d->expected = expected == NULL ? NULL : base_arena_copy(arena, expected, strlen(expected));
}

/* The hash of a plan knows no names: its lines are told apart by their places. */
void map_plan_out_of_order(map_state *state, const char *anchor, base_location location) {
    map_fail(state, location, "plan-order", anchor, "the order in which `croft plan` prints",
             "a line of the plan stands out of order");
}

/* ---- axes ---- */

static const ir_plan_axis *plan_axis(map_state *state, const char *anchor) {
    const ir_plan *plan = state->context->plan;
    for (int i = 0; i < plan->axis_count; i++)
        if (strcmp(plan->axes[i].anchor, anchor) == 0)
            return &plan->axes[i];
    map_fail(state, plan->location, "plan-missing-anchor", NULL, anchor,
             "the plan has no line for an axis");
    return NULL;
}

/* NULL, or why expand cannot apply these digits to the axis. */
static const char *axis_refusal(map_state *state, const ir_axis *axis) {
    const layout_axis *digits = &axis->digits;
    const char *reason = map_digits_refusal(digits);
    if (reason != NULL)
        return reason;
    if (axis->is_program) {
        if (!layout_axis_has(digits, LAYOUT_GROUP) || layout_axis_has(digits, LAYOUT_STEP) ||
            layout_axis_has(digits, LAYOUT_SLOT) || layout_axis_has(digits, LAYOUT_SUBGROUP))
            return "a program axis lies on lanes and group";
        return layout_axis_radix(digits, LAYOUT_GROUP) != 0
                   ? "the group digit of a program axis is `*`"
                   : NULL;
    }
    if (layout_axis_has(digits, LAYOUT_GROUP))
        return "an element axis lies on lanes, subgroups, slots and steps";
    int64_t slots = layout_axis_radix(digits, LAYOUT_SLOT);
    if (slots > 64 || (slots & (slots - 1)) != 0)
        return "slots are a power of two up to 64";
    int64_t extent, chunk = layout_axis_chunk(digits);
    bool known = layout_extent_known(&state->module->extents, axis->extent, &extent);
    int64_t steps =
        layout_axis_has(digits, LAYOUT_STEP) ? layout_axis_radix(digits, LAYOUT_STEP) : 1;
    if (!known)
        return steps != 0 ? "a runtime extent needs the step digit `*`" : NULL;
    if (steps == 0)
        return "a known extent needs the number of its steps";
    int64_t needed = (extent + chunk - 1) / chunk;
    if (steps == needed || extent == 0)
        return NULL;
    return base_diagnostics_text(state->context->diagnostics,
                                 "`step %lld`: the other digits hold %lld of %lld elements",
                                 (long long)needed, (long long)chunk, (long long)extent);
}

int64_t map_counted_range(const layout_axis *digits, layout_holder holder) {
    int64_t range = 1;
    for (int i = 0; i < digits->count; i++) {
        int64_t end = layout_axis_digit_stride(digits, i) * digits->digits[i].radix;
        if (digits->digits[i].holder == holder && digits->digits[i].radix > 1 && end > range)
            range = end;
    }
    return range;
}

/* The team is what the axes count: the most lanes and subgroups of any. */
static void apply_team(map_state *state, const ir_axis *axis, base_location location) {
    ir_module *module = state->module;
    int64_t lanes = map_counted_range(&axis->digits, LAYOUT_LANE);
    int64_t subgroups = map_counted_range(&axis->digits, LAYOUT_SUBGROUP);
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

/* Lanes go to programs or to elements, and to one axis of each sweep. */
static void check_spread(map_state *state) {
    const ir_axis *axes = state->module->axes;
    bool programs = false, elements = false, together = false;
    for (int i = 0; i < state->module->axis_count; i++) {
        programs =
            programs || (axes[i].is_program && layout_axis_radix(&axes[i].digits, LAYOUT_LANE) > 1);
        elements = elements || (!axes[i].is_program && is_spread(&axes[i].digits));
    }
    for (int64_t s = 0; s < state->sweeps.count; s++) {
        int spread = 0;
        for (int i = 0; i < state->sweeps.sweeps[s].axis_count; i++)
            spread += is_spread(&axes[state->sweeps.sweeps[s].axes[i]].digits);
        together = together || spread > 1;
    }
    if (together || (programs && elements))
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

static void apply_axes(map_state *state) {
    ir_module *module = state->module;
    module->axis_count = state->axes.count;
    module->axes = BASE_NEW_ARRAY(module->arena, ir_axis, state->axes.count);
    module->lanes = 1;
    module->subgroup = 0;
    for (int i = 0; i < state->axes.count; i++) {
        const analysis_axis *from = &state->axes.axes[i];
        ir_axis *axis = &module->axes[i];
        *axis = (ir_axis){.anchor = from->anchor,
                          .extent = from->extent,
                          .is_program = from->is_program,
                          .program = from->program};
        const ir_plan_axis *line = plan_axis(state, from->anchor);
        if (line == NULL)
            continue;
        if (line != &state->context->plan->axes[i])
            map_plan_out_of_order(state, from->anchor, line->location);
        axis->digits = line->digits;
        const char *reason = axis_refusal(state, axis);
        if (reason != NULL)
            map_fail(state, line->location, "plan-axis", from->anchor, reason,
                     "the plan gives an axis digits that do not fit");
        else if (from->fixed != NULL && !layout_axis_same(from->fixed, &axis->digits))
            map_fail(state, line->location, "plan-fixed", from->anchor,
                     print_digits(state, from->fixed),
                     "the kernel's text fixes the layout of an axis");
        apply_team(state, axis, line->location);
    }
    check_spread(state);
}

/* ---- lines by anchor ---- */

typedef enum line_kind { LINE_REDUCE, LINE_ACCESS, LINE_CONVERT, LINE_MATH } line_kind;

static int line_count(const ir_plan *plan, line_kind kind) {
    return kind == LINE_REDUCE    ? plan->reduce_count
           : kind == LINE_ACCESS  ? plan->access_count
           : kind == LINE_CONVERT ? plan->convert_count
                                  : plan->math_count;
}

static const char *line_anchor(const ir_plan *plan, line_kind kind, int i) {
    return kind == LINE_REDUCE    ? plan->reduces[i].anchor
           : kind == LINE_ACCESS  ? plan->accesses[i].anchor
           : kind == LINE_CONVERT ? plan->converts[i].anchor
                                  : plan->maths[i].anchor;
}

static base_location line_location(const ir_plan *plan, line_kind kind, int i) {
    return kind == LINE_REDUCE    ? plan->reduces[i].location
           : kind == LINE_ACCESS  ? plan->accesses[i].location
           : kind == LINE_CONVERT ? plan->converts[i].location
                                  : plan->maths[i].location;
}

static int line_find(const ir_plan *plan, line_kind kind, const char *anchor) {
    for (int i = 0; anchor != NULL && i < line_count(plan, kind); i++)
        if (strcmp(line_anchor(plan, kind, i), anchor) == 0)
            return i;
    return -1;
}

static bool op_is(const ir_op *op, line_kind kind) {
    switch (kind) {
    case LINE_REDUCE:
        return op->opcode == IR_REDUCE;
    case LINE_ACCESS:
        return op->opcode == IR_LOAD || op->opcode == IR_STORE;
    case LINE_CONVERT:
        return op->opcode == IR_CONVERT;
    case LINE_MATH:
        return ir_op_is_math(op->opcode);
    }
    return false;
}

typedef struct line_check {
    map_state *state;
    line_kind kind;
    int ops;    /* ops of this kind that have a line */
    bool *used; /* by line */
} line_check;

static bool check_op(void *pointer, ir_op *op) {
    line_check *check = pointer;
    if (!op_is(op, check->kind))
        return true;
    int line = line_find(check->state->context->plan, check->kind, op->anchor);
    if (line < 0)
        map_fail(check->state, op->location, "plan-missing-anchor", NULL, op->anchor,
                 "the plan has no line for an op");
    else if (line != check->ops++)
        map_plan_out_of_order(check->state, op->anchor,
                              line_location(check->state->context->plan, check->kind, line));
    if (line >= 0)
        check->used[line] = true;
    if (line >= 0 && check->kind == LINE_ACCESS && !check->state->failed)
        map_check_width(check->state, op, &check->state->context->plan->accesses[line]);
    if (line >= 0 && check->kind == LINE_CONVERT && !check->state->failed)
        map_check_convert(check->state, op, &check->state->context->plan->converts[line]);
    return true;
}

static void fail_unknown(map_state *state, const char *anchor, base_location location) {
    map_fail(state, location, "plan-unknown-anchor", anchor, NULL,
             "the plan has a line for something that the kernel has not");
}

static void check_lines(map_state *state) {
    const ir_plan *plan = state->context->plan;
    for (int kind = LINE_REDUCE; kind <= LINE_MATH; kind++) {
        int count = line_count(plan, (line_kind)kind);
        line_check check = {.state = state,
                            .kind = (line_kind)kind,
                            .used = BASE_NEW_ARRAY(state->module->arena, bool, count)};
        ir_region_walk(&state->module->body, check_op, &check);
        for (int i = 0; i < count; i++)
            if (!check.used[i])
                fail_unknown(state, line_anchor(plan, (line_kind)kind, i),
                             line_location(plan, (line_kind)kind, i));
    }
}

static void check_axis_lines(map_state *state) {
    const ir_plan *plan = state->context->plan;
    for (int i = 0; i < plan->axis_count; i++) {
        bool known = false;
        for (int k = 0; k < state->axes.count; k++)
            known = known || strcmp(plan->axes[i].anchor, state->axes.axes[k].anchor) == 0;
        if (!known)
            fail_unknown(state, plan->axes[i].anchor, plan->axes[i].location);
    }
}

static void check_keep_lines(map_state *state) {
    const ir_plan *plan = state->context->plan;
    bool *used = BASE_NEW_ARRAY(state->module->arena, bool, plan->keep_count);
    for (int64_t k = 0; k < state->sweeps.crossing_count; k++) {
        const char *anchor =
            analysis_value_anchor(state->module->arena, state->sweeps.crossings[k]);
        for (int i = 0; anchor != NULL && i < plan->keep_count; i++)
            used[i] = used[i] || strcmp(plan->keeps[i].anchor, anchor) == 0;
    }
    for (int i = 0; i < plan->keep_count; i++)
        if (!used[i])
            fail_unknown(state, plan->keeps[i].anchor, plan->keeps[i].location);
}

const ir_plan_keep *map_plan_keep(map_state *state, const ir_value *value) {
    const ir_plan *plan = state->context->plan;
    const char *anchor = analysis_value_anchor(state->module->arena, value);
    for (int i = 0; anchor != NULL && i < plan->keep_count; i++)
        if (strcmp(plan->keeps[i].anchor, anchor) == 0)
            return &plan->keeps[i];
    base_location at = value->definer != NULL ? value->definer->location : plan->location;
    map_fail(state, at, "plan-missing-anchor", NULL, anchor,
             "the plan has no `keep` line for a value that a later sweep needs");
    return NULL;
}

int map_plan_width(map_state *state, const ir_op *op) {
    int line = line_find(state->context->plan, LINE_ACCESS, op->anchor);
    return line >= 0 ? state->context->plan->accesses[line].width : 1;
}

const ir_plan_convert *map_plan_convert(map_state *state, const ir_op *op) {
    return &state->context->plan
                ->converts[line_find(state->context->plan, LINE_CONVERT, op->anchor)];
}

/* Lanes of one program that do not run in lock step may not come to one cell. */
static void check_meetings(map_state *state) {
    const machine *device = machine_find(state->context->plan->machine);
    const ir_op *first = NULL, *second = NULL;
    bool spread = false;
    for (int i = 0; i < state->module->axis_count; i++) {
        const ir_axis *axis = &state->module->axes[i];
        spread = spread ||
                 (!axis->is_program && (layout_axis_radix(&axis->digits, LAYOUT_LANE) > 1 ||
                                        layout_axis_radix(&axis->digits, LAYOUT_SUBGROUP) > 1));
    }
    bool in_step = device == NULL || device->row_subgroups == 1;
    if (spread && !in_step && !state->failed &&
        analysis_meetings_find(state->module->arena, state->module, &state->axes, &first, &second))
        map_fail(state, second->location, "plan-lanes", second->anchor, first->anchor,
                 "two lanes may come to one cell, which nothing orders on this machine");
}

void map_plan_apply(map_state *state) {
    ir_module *module = state->module;
    const ir_plan *plan = state->context->plan;
    module->machine = plan->machine;
    module->plan_hash = ir_plan_hash(plan);
    if (strcmp(plan->kernel, module->name) != 0)
        map_fail(state, plan->location, "plan-kernel", plan->kernel, module->name,
                 "the plan is for another kernel");
    if (state->failed)
        return;
    map_check_conditions(state);
    if (plan->canonical_hash != pass_canonical_hash(module)) {
        char found[32], expected[32];
        snprintf(found, sizeof found, "%016llx", (unsigned long long)plan->canonical_hash);
        snprintf(expected, sizeof expected, "%016llx",
                 (unsigned long long)pass_canonical_hash(module));
        map_fail(state, plan->location, "plan-canon", found, expected,
                 "the plan was made for another text, or other sizes, of the kernel");
    }
    if (state->failed)
        return;
    apply_axes(state);
    check_lines(state);
    check_axis_lines(state);
    check_keep_lines(state);
    check_meetings(state);
    map_check_divergence(state);
}
