/* The plan of a launch, line by line from the kernel's.
 *
 *     axis N   slot 4 | lane 32 | step * | group 16     axis part     group *
 *                                                       axis axis.0   slot 4 | lane 32 | step *
 *                                                       axis axis.1   step 16   partial results
 *
 * The launch is anchored by itself, so that its plan is one like any other; a line of the kernel's
 * plan is found by the anchor that the op had there. Where there are as many partial results as
 * lanes they lie on those (`lane 32 | step 2` of 64), else they are loaded one by one. A value that
 * the launch passes from sweep to sweep is kept as the plan says, or, where the plan has no line or
 * computes again what is dear, in the first way that there is. An access is as wide as the plan
 * says or, where a part begins at no place that lets that be proved, as it can be.
 */
#include "analysis/access_width.h"
#include "analysis/storage.h"
#include "analysis/sweeps.h"
#include "ir/print.h"
#include "pass/canonicalise_internal.h"
#include "pass/pass.h"
#include "pass/split_internal.h"

#include <string.h>

typedef struct plan_state {
    split_state *split;
    const ir_module *module;
    analysis_axes axes;
    ir_plan *plan;
    int *origin;                /* by axis of the launch: that of the kernel, -1 none */
    const char **anchors;       /* that ops had in the kernel, in walk order */
    const layout_axis **digits; /* of each axis of the launch */
    const char **kept; /* by value number: what a keep line of the kernel's plan calls it */
    int64_t anchor_count, anchor_capacity, next;
} plan_state;

/* ---- axes ---- */
static bool visit_origin(void *pointer, ir_op *op) {
    plan_state *p = pointer;
    const split_state *s = p->split;
    for (int i = 0; i < op->result_count; i++) {
        const ir_value *value = op->results[i];
        for (int d = 0; value->number < s->tile->next_value && d < value->type.rank; d++) {
            int axis = p->axes.of_value[value->number][d];
            int old = s->axes.of_value[value->number][d];
            if (axis >= 0 && old >= 0)
                p->origin[axis] = old;
        }
    }
    return true;
}

/* An axis that no value of the kernel lies on: of a store of scalars. */
static int origin_by_extent(const plan_state *p, const analysis_axis *axis) {
    const split_state *s = p->split;
    int64_t extent;
    if (layout_extent_known(&p->module->extents, axis->extent, &extent) && extent == s->parts)
        return -1;
    for (int i = 0; i < s->axes.count; i++)
        if (!s->axes.axes[i].is_program && s->axes.axes[i].extent->id == axis->extent->id)
            return i;
    return s->axis;
}

/* Partial results lie on as many lanes as a part has, in the order of their numbers. */
static layout_axis digits_of_partials(const split_state *s) {
    int64_t lanes = layout_axis_radix(&s->digits, LAYOUT_LANE);
    layout_axis digits = {.count = 1};
    bool wide = lanes > 1 && s->parts >= lanes;
    digits.digits[0] = wide ? (layout_digit){.holder = LAYOUT_LANE, .radix = lanes}
                            : (layout_digit){.holder = LAYOUT_STEP, .radix = s->parts};
    if (wide && s->parts > lanes)
        digits.digits[digits.count++] = (layout_digit){
            .holder = LAYOUT_STEP, .radix = s->parts / lanes + (s->parts % lanes != 0)};
    return digits;
}

static layout_axis digits_of(const plan_state *p, int axis) {
    const split_state *s = p->split;
    const analysis_axis *own = &p->axes.axes[axis];
    layout_axis digits = {.count = 1};
    if (own->is_program && own->program == s->tile->program_count) {
        digits.digits[0] = (layout_digit){.holder = LAYOUT_GROUP};
        return digits;
    }
    int origin = own->is_program ? -1 : p->origin[axis];
    if (!own->is_program && origin < 0)
        origin = origin_by_extent(p, own);
    const ir_plan_line *line = ir_plan_find(s->plan, IR_PLAN_AXIS,
                                            own->is_program ? own->anchor
                                            : origin >= 0   ? s->axes.axes[origin].anchor
                                                            : NULL);
    if (line == s->line)
        return s->digits;
    if (line != NULL)
        return line->digits;
    return digits_of_partials(s);
}

static void add_axes(plan_state *p) {
    p->origin = BASE_NEW_ARRAY(p->split->arena, int, p->axes.count + 1);
    for (int i = 0; i < p->axes.count; i++)
        p->origin[i] = -1;
    ir_region body = p->module->body;
    ir_region_walk(&body, visit_origin, p);
    for (int i = 0; i < p->axes.count; i++) {
        layout_axis digits = digits_of(p, i);
        ir_plan_add(p->split->arena, p->plan, IR_PLAN_AXIS, p->axes.axes[i].anchor)->digits =
            digits;
    }
    p->digits = BASE_NEW_ARRAY(p->split->arena, const layout_axis *, p->axes.count + 1);
    for (int i = 0; i < p->axes.count; i++)
        p->digits[i] = &p->plan->of[IR_PLAN_AXIS].lines[i].digits;
}

/* ---- lines of ops ---- */
static void copy_line(ir_plan_line *line, const ir_plan_line *from) {
    const char *anchor = line->anchor;
    if (from != NULL)
        *line = *from;
    line->anchor = anchor;
}

/* Both are powers of two. */
static int least_width(const plan_state *p, const ir_op *op, int width) {
    int most = analysis_access_width_on(machine_find(p->split->plan->machine), p->module, &p->axes,
                                        p->digits, op);
    return width < most ? width : most;
}

static bool visit_line(void *pointer, ir_op *op) {
    plan_state *p = pointer;
    const char *was = p->anchors[p->next++];
    bool access = op->opcode == IR_LOAD || op->opcode == IR_STORE;
    ir_plan_kind kind = op->opcode == IR_REDUCE               ? IR_PLAN_REDUCE
                        : access                              ? IR_PLAN_ACCESS
                        : op->opcode == IR_CONVERT            ? IR_PLAN_CONVERT
                        : ir_op_is_math(op->opcode)           ? IR_PLAN_MATH
                        : ir_op_shares_divisor(p->module, op) ? IR_PLAN_DIV
                                                              : IR_PLAN_KIND_COUNT;
    if (kind == IR_PLAN_KIND_COUNT)
        return true;
    ir_plan_line *line = ir_plan_add(p->split->arena, p->plan, kind, op->anchor);
    line->width = 1;
    line->form = kind == IR_PLAN_DIV ? IR_MATH_EXACT : IR_MATH_PORTABLE;
    copy_line(line, ir_plan_find(p->split->plan, kind, was));
    if (line->form == IR_MATH_FLUSHED) /* the greatest element comes from another launch */
        line->form = IR_MATH_PORTABLE;
    line->early = false; /* a part's loads are few, and launches were planned without */
    line->prefetch = 0;  /* the program behind is another part of the row */
    if (line->width > 1 && access)
        line->width = least_width(p, op, line->width);
    return true;
}

static bool visit_anchor(void *pointer, ir_op *op) {
    plan_state *p = pointer;
    BASE_PUSH(p->split->arena, p->anchors, p->anchor_count, p->anchor_capacity, op->anchor);
    return true;
}

static bool visit_kept(void *pointer, ir_op *op) {
    plan_state *p = pointer;
    for (int i = 0; i < op->result_count; i++)
        p->kept[op->results[i]->number] = analysis_value_anchor(p->split->arena, op->results[i]);
    for (int r = 0; r < op->region_count; r++)
        for (int i = 0; i < op->regions[r]->argument_count; i++)
            p->kept[op->regions[r]->arguments[i]->number] =
                analysis_value_anchor(p->split->arena, op->regions[r]->arguments[i]);
    return true;
}

/* ---- what is kept ---- */
static ir_storage first_storage(const analysis_storage *storage, const ir_value *value) {
    static const ir_storage ways[] = {IR_STORAGE_RELOAD, IR_STORAGE_RECOMPUTE,
                                      IR_STORAGE_REGISTERS};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (analysis_storage_allows(storage, value, ways[i]))
            return ways[i];
    return IR_STORAGE_PRIVATE;
}

/* What is computed again from launch to launch may be too dear for that from sweep to sweep. */
static bool is_too_dear(const analysis_storage *storage, const ir_value *value, ir_storage way) {
    return way == IR_STORAGE_RECOMPUTE && !analysis_storage_allows(storage, value, way);
}

static void add_keeps(plan_state *p) {
    base_arena *arena = p->split->arena;
    analysis_sweeps sweeps = analysis_sweeps_find(arena, p->module, &p->axes);
    bool *stepped = BASE_NEW_ARRAY(arena, bool, p->axes.count + 1);
    for (int i = 0; i < p->axes.count; i++)
        stepped[i] = layout_axis_has(&p->plan->of[IR_PLAN_AXIS].lines[i].digits, LAYOUT_STEP);
    analysis_storage storage = analysis_storage_begin(arena, p->module, &p->axes, &sweeps, stepped);
    for (int64_t i = 0; i < sweeps.crossing_count; i++) {
        const ir_value *value = sweeps.crossings[i];
        const char *anchor = analysis_value_anchor(arena, value);
        const char *was = p->kept[value->number];
        const ir_plan_line *old = ir_plan_find(p->split->plan, IR_PLAN_KEEP, was);
        if (anchor == NULL || ir_plan_find(p->plan, IR_PLAN_KEEP, anchor) != NULL)
            continue;
        ir_plan_line *line = ir_plan_add(arena, p->plan, IR_PLAN_KEEP, anchor);
        line->storage = first_storage(&storage, value);
        if (old != NULL && !is_too_dear(&storage, value, old->storage))
            copy_line(line, old);
    }
}

ir_plan *split_plan(split_state *state, ir_module *module, split_launch launch, int *axis) {
    plan_state p = {.split = state, .module = module};
    ir_region body = module->body, kernel = state->tile->body;
    p.kept = BASE_NEW_ARRAY(state->arena, const char *, module->next_value + 1);
    ir_region_walk(&kernel, visit_kept, &p);
    ir_region_walk(&body, visit_anchor, &p);
    pass_canonical_anchors(module);
    p.axes = analysis_axes_find(state->arena, module);
    p.plan = BASE_NEW(state->arena, ir_plan);
    *p.plan = (ir_plan){.location = state->plan->location,
                        .kernel = module->name,
                        .canonical_hash = pass_canonical_hash(module),
                        .machine = state->plan->machine,
                        .conditions = state->plan->conditions,
                        .condition_count = state->plan->condition_count};
    add_axes(&p);
    *axis = -1;
    for (int i = 0; i < p.axes.count && launch.parts; i++)
        if (p.origin[i] == state->axis)
            *axis = i;
    add_keeps(&p);
    ir_region_walk(&body, visit_line, &p);
    return p.plan;
}

/* ---- what the plan keeps across launches ---- */
static void count_values(const ir_region *region, int32_t limit, int *count) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        for (int i = 0; i < op->result_count; i++)
            if (op->results[i]->number < limit)
                count[op->results[i]->number]++;
        for (int r = 0; r < op->region_count; r++)
            count_values(op->regions[r], limit, count);
    }
}

void split_check_keeps(split_state *state, const pass_launches *launches) {
    int *count = BASE_NEW_ARRAY(state->arena, int, state->tile->next_value + 1);
    for (int i = 0; i < launches->count; i++)
        count_values(&launches->items[i].module->body, state->tile->next_value, count);
    for (const ir_op *op = state->tile->body.first; op != NULL; op = op->next)
        for (int i = 0; i < op->result_count; i++) {
            const ir_value *value = op->results[i];
            const char *anchor = analysis_value_anchor(state->arena, value);
            const ir_plan_line *line = ir_plan_find(state->plan, IR_PLAN_KEEP, anchor);
            if (line == NULL || count[value->number] < 2 || !split_is_on_axis(state, value) ||
                line->storage == IR_STORAGE_RELOAD || line->storage == IR_STORAGE_RECOMPUTE)
                continue;
            split_fail(state, line->location,
                       base_diagnostics_text(state->diagnostics, "keep %.100s %s", anchor,
                                             ir_storage_name(line->storage)),
                       op->opcode == IR_LOAD ? "reload" : "recompute",
                       "a value that several launches need is loaded or computed again");
        }
}
