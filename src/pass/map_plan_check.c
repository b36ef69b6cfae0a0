/* What a plan's lines may say of sizes and accesses: what is refused here would break the mapped
 * module, or would be true of other sizes only.
 *
 *     for N = 4096        every size that is known, with its value, and no other
 *     access x.0 width 8  runs of 8 slots, or lanes, that come to neighbouring cells
 *     .. early            a load that depends on nothing that waits
 *
 *     lane 8 | slot 4 | step *      steps and groups above all others: what expand can apply, of
 *                                   all that layouts can say
 *
 * Digits against their extents are checked in map_plan.c, storage in map_storage.c.
 */
#include "analysis/access_width.h"
#include "analysis/early.h"
#include "machine/machine.h"
#include "pass/map_internal.h"

#include <string.h>

static const layout_symbol *find_symbol(const layout_extents *pool, const char *name) {
    for (int64_t i = 0; i < pool->symbol_count; i++)
        if (strcmp(pool->symbols[i].name, name) == 0)
            return &pool->symbols[i];
    return NULL;
}

static const char *describe_size(map_state *state, const layout_symbol *symbol) {
    base_diagnostics *diagnostics = state->context->diagnostics;
    if (symbol == NULL || !symbol->known)
        return "a size that is known when the plan is obeyed";
    return base_diagnostics_text(diagnostics, "%s = %lld", symbol->name, (long long)symbol->value);
}

const char *map_digits_refusal(const layout_axis *digits) {
    const char *reason = layout_axis_check(digits);
    bool seen[LAYOUT_HOLDER_COUNT] = {false}, outer = false;
    for (int i = 0; reason == NULL && i < digits->count; i++) {
        layout_holder holder = digits->digits[i].holder;
        bool outside = holder == LAYOUT_STEP || holder == LAYOUT_GROUP;
        if ((outside || holder == LAYOUT_BLOCK) && (seen[holder] || digits->digits[i].stride > 1))
            reason = "blocks, steps and groups have one digit of an axis, without a stride of its "
                     "own";
        else if (!outside && outer)
            reason = "slot, lane, subgroup and block digits stand below step and group digits";
        seen[holder] = true;
        outer = outer || outside;
    }
    if (reason == NULL &&
        layout_axis_range(digits, LAYOUT_SLOT) != layout_axis_radix(digits, LAYOUT_SLOT))
        reason = "slots are counted without a gap";
    return reason;
}

void map_check_conditions(map_state *state) {
    const ir_plan *plan = state->context->plan;
    const layout_extents *pool = &state->module->extents;
    int64_t known = 0;
    for (int64_t i = 0; i < pool->symbol_count; i++)
        known += pool->symbols[i].known;
    for (int i = 0; i < plan->condition_count; i++) {
        const ir_plan_condition *condition = &plan->conditions[i];
        const layout_symbol *symbol = find_symbol(pool, condition->symbol);
        bool holds = symbol != NULL && symbol->known && symbol->value == condition->value;
        bool repeated = false;
        for (int k = 0; k < i; k++)
            repeated = repeated || strcmp(plan->conditions[k].symbol, condition->symbol) == 0;
        known -= holds && !repeated;
        if (!holds || repeated)
            map_fail(state, condition->location, "plan-size",
                     base_diagnostics_text(state->context->diagnostics, "%s = %lld",
                                           condition->symbol, (long long)condition->value),
                     repeated ? "each size once" : describe_size(state, symbol),
                     "the plan was made for other sizes");
    }
    if (known > 0 && !state->failed)
        map_fail(state, plan->location, "plan-size", NULL, "`for` and every size that is known",
                 "the plan does not say for which sizes it was made");
}

static void check_width(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const ir_module *module = state->module;
    const layout_axis **digits =
        BASE_NEW_ARRAY(module->arena, const layout_axis *, module->axis_count);
    for (int i = 0; i < module->axis_count; i++)
        digits[i] = &module->axes[i].digits;
    if (line->width == 1)
        return;
    int most = analysis_access_width_on(machine_find(state->context->plan->machine), module,
                                        &state->axes, digits, op);
    if (line->width >= 1 && most % line->width == 0)
        return;
    base_diagnostics *diagnostics = state->context->diagnostics;
    map_fail(state, line->location, "plan-width",
             base_diagnostics_text(diagnostics, "width %d", line->width),
             most == 1 ? "width 1: no slots or lanes in a row come to neighbours"
                       : base_diagnostics_text(diagnostics, "a power of two up to width %d", most),
             "the plan gives an access a width that does not fit");
}

/* By axis: whether its digits have steps. */
static bool *stepped_axes(const ir_module *module) {
    bool *stepped = BASE_NEW_ARRAY(module->arena, bool, module->axis_count + 1);
    for (int i = 0; i < module->axis_count; i++)
        stepped[i] = layout_axis_radix(&module->axes[i].digits, LAYOUT_STEP) != 1;
    return stepped;
}

/* Each sweep that reads again would issue it. */
static bool is_reloaded(const map_state *state, const ir_op *op) {
    const char *anchor = analysis_value_anchor(state->module->arena, op->results[0]);
    const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_KEEP, anchor);
    return line != NULL && line->storage == IR_STORAGE_RELOAD;
}

static void check_early(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const char *expected = analysis_early_obstacle(state->module->arena, &state->sweeps,
                                                   stepped_axes(state->module), op);
    if (expected == NULL && is_reloaded(state, op))
        expected = "a load that is kept, or used in one sweep";
    if (expected != NULL)
        map_fail(state, line->location, "plan-early", "early", expected,
                 "the plan calls an access early that cannot be");
}

void map_check_access(map_state *state, const ir_op *op, const ir_plan_line *line) {
    check_width(state, op, line);
    if (line->early)
        check_early(state, op, line);
    if (line->prefetch > 0)
        map_check_prefetch(state, op, line);
}

/* Of tiles with one element: nothing moves. */
static bool is_single(const map_state *state, const ir_op *op) {
    return state->axes.of_value[op->operands[0]->number][0] < 0;
}

/* The array was made for a conversion before, in the same region and of the same type. */
static bool shares_array(const map_state *state, const ir_op *op, const ir_plan_line *line) {
    const ir_plan *plan = state->context->plan;
    for (const ir_op *before = op->previous; before != NULL; before = before->previous) {
        if (before->opcode != IR_CONVERT || before->anchor == NULL ||
            strcmp(before->anchor, line->of) != 0)
            continue;
        const ir_plan_line *first = ir_plan_find(plan, IR_PLAN_CONVERT, line->of);
        return first != NULL && line->mechanism == LAYOUT_SCRATCH &&
               first->mechanism == LAYOUT_SCRATCH && first->of == NULL &&
               before->results[0]->type.dtype == op->results[0]->type.dtype;
    }
    return false;
}

/* Beside an axis that has the lanes an axis is walked in steps. */
static bool refuse_steps(map_state *state, const ir_op *op, const layout_axis *digits) {
    if (layout_axis_radix(digits, LAYOUT_STEP) == 1)
        return false;
    base_text text;
    base_text_init(&text, state->context->diagnostics->arena);
    layout_axis_print(&text, digits);
    map_fail(state, op->location, "plan-convert", text.bytes,
             "a tile in slots: one that meets no tile with another axis that threads own",
             "a tile that is walked in steps cannot be converted");
    return true;
}

void map_check_convert(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const ir_module *module = state->module;
    layout_conversion conversion = {.class_ = LAYOUT_FORWARD};
    layout_fault fault;
    if (!is_single(state, op)) {
        const ir_axis *from = &module->axes[state->axes.of_value[op->operands[0]->number][0]];
        const ir_axis *to = &module->axes[state->axes.of_value[op->results[0]->number][0]];
        int64_t size = 0;
        if (refuse_steps(state, op, &from->digits) || refuse_steps(state, op, &to->digits))
            return;
        layout_extent_known(&module->extents, to->extent, &size);
        if (!layout_convert_axes(module->arena, &from->digits, &to->digits, size,
                                 ir_module_subgroup_lanes(module), ir_module_subgroups(module),
                                 &conversion, &fault)) {
            map_fail(state, op->location, "plan-convert", fault.reason, NULL,
                     "a conversion between these layouts is not possible");
            return;
        }
    }
    if (line->of != NULL && !shares_array(state, op, line))
        map_fail(state, line->location, "plan-convert", line->of,
                 "an earlier conversion of the same loop or branch and type, by scratch of its own",
                 "the array of that conversion cannot be used again");
    if (line->mechanism != conversion.class_ && line->mechanism != LAYOUT_SCRATCH)
        map_fail(state, line->location, "plan-convert", layout_class_name(line->mechanism),
                 conversion.class_ == LAYOUT_SCRATCH
                     ? "scratch"
                     : base_diagnostics_text(state->context->diagnostics, "%s, or scratch",
                                             layout_class_name(conversion.class_)),
                 "the mechanism cannot do the work of the conversion");
}

void map_check_form(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const char *word = ir_op_describe(op->opcode)->text;
    base_diagnostics *diagnostics = state->context->diagnostics;
    const machine *device = machine_find(state->context->plan->machine);
    bool reciprocal = line->form == IR_MATH_RECIPROCAL, flushed = line->form == IR_MATH_FLUSHED;
    if (line->form != IR_MATH_NATIVE && !reciprocal && !flushed)
        return;
    if (state->context->strict)
        map_fail(state, line->location, "plan-strict", ir_math_form_name(line->form),
                 reciprocal ? "exact" : "portable", "`strict` asks for one result on every target");
    else if (flushed && !ir_op_may_flush(op))
        map_fail(state, line->location, "plan-form", "flushed", "portable",
                 base_diagnostics_text(diagnostics,
                                       "the argument of %s is not the difference of a tile and its "
                                       "own greatest element",
                                       word));
    else if (reciprocal || flushed)
        return;
    else if (ir_native_find(op->opcode) == NULL)
        map_fail(state, line->location, "plan-form", "native", "portable",
                 base_diagnostics_text(diagnostics, "%s has no native form", word));
    else if (device == NULL || !device->native_math)
        map_fail(state, line->location, "plan-form", "native", "portable",
                 base_diagnostics_text(diagnostics,
                                       "machine %s has no native form of %s: the portable one is "
                                       "the only one that its target has",
                                       state->context->plan->machine, word));
}
