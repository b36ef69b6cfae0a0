/* Applying a plan's lines to a canonical tile module: axes, storage, widths; nothing is guessed. A
 * missing, unknown or repeated anchor is an error that names it. */
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

/* ---- lines by anchor ---- */

typedef enum line_kind { LINE_REDUCE, LINE_ACCESS, LINE_CONVERT, LINE_MATH } line_kind;

static const char *const line_words[] = {"reduce", "access", "convert", "math"};

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
        map_fail(check->state, op->location, "plan-missing-anchor", NULL,
                 base_diagnostics_text(check->state->context->diagnostics, "a line `%s %.100s ..`",
                                       line_words[check->kind], op->anchor),
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

void map_set_mechanism(map_state *state, const ir_op *op, ir_op *copy) {
    const ir_plan *plan = state->context->plan;
    const ir_plan_convert *line = &plan->converts[line_find(plan, LINE_CONVERT, op->anchor)];
    copy->attributes.mechanism = line->mechanism;
    copy->attributes.array = line->array;
    copy->results[0]->storage = state->storage[op->results[0]->number];
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
    map_axes_apply(state);
    check_lines(state);
    check_axis_lines(state);
    check_keep_lines(state);
    map_check_meetings(state);
    map_check_divergence(state);
}
