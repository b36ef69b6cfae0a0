/* Applying a plan's lines to a canonical tile module: axes, storage, widths; nothing is guessed. A
 * missing, unknown or repeated anchor is an error that names it. */
#include "pass/map_internal.h"

#include <stdio.h>
#include <string.h>

/* A plan that was made, not read, has no lines to point at: then the finding is the kernel's. */
base_diagnostic *map_fail(map_state *state, base_location location, const char *slug,
                          const char *found, const char *expected, const char *message) {
    state->failed = true;
    if (location.source == NULL)
        location.source = state->module->source;
    base_diagnostic *d =
        base_diagnostics_add(state->context->diagnostics, slug, location, "%s", message);
    base_arena *arena = state->context->diagnostics->arena;
    d->found = found == NULL ? NULL : base_arena_copy(arena, found, strlen(found));
    d->expected = expected == NULL ? NULL : base_arena_copy(arena, expected, strlen(expected));
    return d;
}

/* The hash of a plan knows no names: its lines are told apart by their places. */
void map_plan_out_of_order(map_state *state, const char *anchor, base_location location) {
    map_fail(state, location, "plan-order", anchor, "the order in which `croft plan` prints",
             "a line of the plan stands out of order");
}

/* ---- lines by anchor ---- */
static bool op_is(const ir_module *module, const ir_op *op, ir_plan_kind kind) {
    switch (kind) {
    case IR_PLAN_REDUCE:
        return op->opcode == IR_REDUCE;
    case IR_PLAN_ACCESS:
        return op->opcode == IR_LOAD || op->opcode == IR_STORE;
    case IR_PLAN_CONVERT:
        return op->opcode == IR_CONVERT;
    case IR_PLAN_MATH:
        return ir_op_is_math(op->opcode);
    case IR_PLAN_DIV:
        return ir_op_shares_divisor(module, op);
    case IR_PLAN_AXIS:
    case IR_PLAN_KEEP:
    case IR_PLAN_KIND_COUNT:
        return false;
    }
    return false;
}

typedef struct line_check {
    map_state *state;
    ir_plan_kind kind;
    int64_t ops;      /* ops of this kind that have a line */
    bool *used;       /* by line */
    bool digits_hold; /* the axes are as the plan says: what depends on them can be asked */
} line_check;

static bool check_op(void *pointer, ir_op *op) {
    line_check *check = pointer;
    map_state *state = check->state;
    if (!op_is(state->module, op, check->kind))
        return true;
    const ir_plan_line *line = ir_plan_find(state->context->plan, check->kind, op->anchor);
    if (line == NULL) {
        map_fail(state, op->location, "plan-missing-anchor", NULL,
                 base_diagnostics_text(state->context->diagnostics, "a line `%s %.100s ..`",
                                       ir_plan_kind_name(check->kind), op->anchor),
                 "the plan has no line for an op");
        return true;
    }
    int64_t number = line - state->context->plan->of[check->kind].lines;
    check->used[number] = true;
    if (number != check->ops++)
        map_plan_out_of_order(state, op->anchor, line->location);
    if (!check->digits_hold)
        return true;
    if (check->kind == IR_PLAN_ACCESS)
        map_check_access(state, op, line);
    if (check->kind == IR_PLAN_REDUCE)
        map_check_order(state, op, line);
    if (check->kind == IR_PLAN_CONVERT)
        map_check_convert(state, op, line);
    if (check->kind == IR_PLAN_MATH || check->kind == IR_PLAN_DIV)
        map_check_form(state, op, line);
    return true;
}

static void fail_unknown(map_state *state, const char *anchor, base_location location) {
    map_fail(state, location, "plan-unknown-anchor", anchor, NULL,
             "the plan has a line for something that the kernel has not");
}

static void check_lines(map_state *state) {
    bool digits_hold = !state->failed;
    for (int kind = 0; kind < IR_PLAN_KIND_COUNT; kind++) {
        const ir_plan_list *list = &state->context->plan->of[kind];
        line_check check = {.state = state,
                            .kind = (ir_plan_kind)kind,
                            .digits_hold = digits_hold,
                            .used = BASE_NEW_ARRAY(state->module->arena, bool, list->count)};
        if (kind == IR_PLAN_AXIS || kind == IR_PLAN_KEEP)
            continue;
        ir_region_walk(&state->module->body, check_op, &check);
        for (int64_t i = 0; i < list->count; i++)
            if (!check.used[i])
                fail_unknown(state, list->lines[i].anchor, list->lines[i].location);
    }
}

static void check_axis_lines(map_state *state) {
    const ir_plan_list *list = &state->context->plan->of[IR_PLAN_AXIS];
    for (int64_t i = 0; i < list->count; i++) {
        bool known = false;
        for (int k = 0; k < state->axes.count; k++)
            known = known || strcmp(list->lines[i].anchor, state->axes.axes[k].anchor) == 0;
        if (!known)
            fail_unknown(state, list->lines[i].anchor, list->lines[i].location);
    }
}

static void check_keep_lines(map_state *state) {
    const ir_plan_list *list = &state->context->plan->of[IR_PLAN_KEEP];
    bool *used = BASE_NEW_ARRAY(state->module->arena, bool, list->count);
    for (int64_t k = 0; k < state->sweeps.crossing_count; k++) {
        const char *anchor =
            analysis_value_anchor(state->module->arena, state->sweeps.crossings[k]);
        const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_KEEP, anchor);
        if (line != NULL)
            used[line - list->lines] = true;
    }
    for (int64_t i = 0; i < list->count; i++)
        if (!used[i])
            fail_unknown(state, list->lines[i].anchor, list->lines[i].location);
}

const ir_plan_line *map_plan_keep(map_state *state, const ir_value *value) {
    const ir_plan *plan = state->context->plan;
    const char *anchor = analysis_value_anchor(state->module->arena, value);
    const ir_plan_line *line = ir_plan_find(plan, IR_PLAN_KEEP, anchor);
    if (line != NULL)
        return line;
    base_location at = value->definer != NULL ? value->definer->location : plan->location;
    map_fail(state, at, "plan-missing-anchor", NULL, anchor,
             "the plan has no `keep` line for a value that a later sweep needs");
    return NULL;
}

void map_set_access(map_state *state, const ir_op *op, ir_access *access) {
    const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_ACCESS, op->anchor);
    access->width = line != NULL ? line->width : 1;
    access->policy = line != NULL ? line->policy : IR_POLICY_DEFAULT;
    access->early = line != NULL && line->early;
    access->prefetch = 0;
    if (line == NULL || op->opcode != IR_LOAD)
        return;
    int copy = state->copies[op->results[0]->number]++;
    if (copy == line->prefetch_sweep)
        access->prefetch = line->prefetch;
}

void map_set_mechanism(map_state *state, const ir_op *op, ir_op *copy) {
    const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_CONVERT, op->anchor);
    copy->attributes.mechanism = line->mechanism;
    copy->attributes.array = line->of;
    copy->results[0]->storage = state->storage[op->results[0]->number];
}

/* ---- forms ---- */
typedef struct form_setting {
    const ir_module *module;
    const ir_plan *plan;
} form_setting;

static bool set_form(void *pointer, ir_op *op) {
    const form_setting *setting = pointer;
    ir_plan_kind kind = op->opcode == IR_DIV ? IR_PLAN_DIV : IR_PLAN_MATH;
    if (!op_is(setting->module, op, kind))
        return true;
    const ir_plan_line *line = ir_plan_find(setting->plan, kind, op->anchor);
    bool said = line != NULL && line->form != IR_MATH_EXACT;
    op->attributes.form = said ? line->form : IR_MATH_PORTABLE;
    return true;
}

void map_set_forms(map_state *state, ir_module *module) {
    form_setting setting = {.module = module, .plan = state->context->plan};
    ir_region_walk(&module->body, set_form, &setting);
}

void map_plan_apply(map_state *state) {
    ir_module *module = state->module;
    const ir_plan *plan = state->context->plan;
    module->machine = plan->machine;
    module->plan_hash = ir_plan_hash(module->arena, plan);
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
    map_axes_apply(state);
    check_lines(state);
    check_axis_lines(state);
    check_keep_lines(state);
    map_check_meetings(state);
    map_check_packed(state);
    map_check_cluster(state);
}
