/* What a plan's lines may say of prefetches: one for each load, in one of the sweeps that read it.
 *
 *     access x.0  width 16 policy default prefetch 1 in 1
 *         the second sweep that loads x has the cache fetch the row of the program behind
 *
 * Which loads may is analysis/prefetch.c. Here: programs are groups, one each, and lanes come to
 * neighbours, as only whole registers of a machine whose lanes are vectors do that.
 */
#include "analysis/prefetch.h"
#include "machine/machine.h"
#include "pass/map_internal.h"

/* Each group has one program, and its number. */
static bool programs_are_groups(const ir_module *module) {
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        if (module->axes[i].is_program &&
            (digits->count != 1 || digits->digits[0].holder != LAYOUT_GROUP))
            return false;
        if (!module->axes[i].is_program && layout_axis_has(digits, LAYOUT_BLOCK))
            return false;
    }
    return true;
}

void map_check_prefetch(map_state *state, const ir_op *op, const ir_plan_line *line) {
    const machine *device = machine_find(state->context->plan->machine);
    const char *expected = analysis_prefetch_obstacle(state->module, op);
    if (expected == NULL && (device == NULL || device->lanes_are_threads))
        expected = "a machine whose lanes are vectors";
    if (expected == NULL && !programs_are_groups(state->module))
        expected = "programs that have a group each";
    if (expected == NULL && line->width == 1)
        expected = "lanes that come to neighbours";
    if (expected != NULL)
        map_fail(state, line->location, "plan-prefetch", "prefetch", expected,
                 "the plan has a row fetched that cannot be");
}

static bool check_sweep(void *pointer, ir_op *op) {
    map_state *state = pointer;
    if (op->opcode != IR_LOAD)
        return true;
    const ir_plan_line *line = ir_plan_find(state->context->plan, IR_PLAN_ACCESS, op->anchor);
    int copies = state->copies[op->results[0]->number];
    base_diagnostics *diagnostics = state->context->diagnostics;
    if (line != NULL && line->prefetch > 0 && line->prefetch_sweep >= copies)
        map_fail(state, line->location, "plan-prefetch",
                 base_diagnostics_text(diagnostics, "in %d", line->prefetch_sweep),
                 base_diagnostics_text(diagnostics, "below %d: the sweeps that read are so many",
                                       copies),
                 "the plan has a row fetched in a sweep that there is not");
    return true;
}

void map_check_prefetch_sweeps(map_state *state, ir_region *tile) {
    ir_region_walk(tile, check_sweep, state);
}
