/* Axes whose elements the groups of a cluster share.
 *
 *     axis N     slot 4 | lane 32 | subgroup 8 | block 4 | slot 4     four groups a row
 *     axis row   group *                                              a row for each cluster
 *
 * All groups of a cluster work on one program: what is computed of axes without a block digit each
 * computes for itself, and the first one stores it. They meet where an axis on blocks is reduced,
 * so that all of them have to come there: what stands around such a reduction is told by programs,
 * sizes and tensors alone. What one group stores another may not load.
 */
#include "analysis/uniform.h"
#include "machine/machine.h"
#include "pass/map_internal.h"

static void fail_digits(map_state *state, const ir_axis *axis, base_location location,
                        const char *reason) {
    map_fail(state, location, "plan-axis", axis->anchor, reason,
             "the plan gives an axis digits that do not fit");
}

void map_cluster_apply(map_state *state, const ir_axis *axis, base_location location) {
    ir_module *module = state->module;
    const machine *device = machine_find(state->context->plan->machine);
    int64_t blocks = layout_axis_radix(&axis->digits, LAYOUT_BLOCK);
    int limit = device != NULL ? device->cluster_limit : 0;
    if (!layout_axis_has(&axis->digits, LAYOUT_BLOCK))
        return;
    if (limit < 2)
        fail_digits(state, axis, location, "no block digit: the machine has no clusters");
    else if (blocks < 2 || blocks > limit)
        fail_digits(state, axis, location,
                    base_diagnostics_text(state->context->diagnostics, "2 to %d blocks", limit));
    else if (module->cluster > 1 && module->cluster != blocks)
        fail_digits(state, axis, location,
                    base_diagnostics_text(state->context->diagnostics,
                                          "`block %d`, as of an axis before", module->cluster));
    else
        module->cluster = (int)blocks;
}

/* ---- what they cannot do together ---- */
static bool is_on_lanes(const layout_axis *digits) {
    return layout_axis_has(digits, LAYOUT_LANE) || layout_axis_has(digits, LAYOUT_SUBGROUP) ||
           layout_axis_has(digits, LAYOUT_SLOT);
}

/* NULL, or what an axis on blocks must be. */
static const char *axis_refusal(const ir_axis *axis) {
    if (!is_on_lanes(&axis->digits))
        return "lanes, subgroups or slots beside the blocks";
    if (axis->digits.shift != NULL || axis->digits.exclusive_or != 0)
        return "an axis without shift and xor";
    return NULL;
}

static bool is_on_blocks(const map_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = state->axes.of_value[value->number][i];
        if (axis >= 0 && layout_axis_has(&state->module->axes[axis].digits, LAYOUT_BLOCK))
            return true;
    }
    return false;
}

static void fail_op(map_state *state, const ir_op *op, const char *expected) {
    map_fail(state, op->location, "plan-cluster", op->anchor, expected,
             "the groups of a cluster cannot do this together");
}

static bool check_op(void *pointer, ir_op *op) {
    map_state *state = pointer;
    bool converts = op->opcode == IR_CONVERT &&
                    (is_on_blocks(state, op->operands[0]) || is_on_blocks(state, op->results[0]));
    bool reduces = op->opcode == IR_REDUCE && is_on_blocks(state, op->operands[0]);
    if (converts)
        fail_op(state, op, "tiles within one group: no block digit on an axis that is converted");
    else if (reduces && analysis_told_by_elements(op) != NULL)
        fail_op(state, op,
                "reductions in loops and branches whose bounds and conditions come from programs, "
                "sizes and tensors");
    return !state->failed;
}

static bool stores_in_place(const ir_module *module) {
    for (int i = 0; i < module->parameter_count; i++)
        if (module->parameters[i].is_tensor && module->parameters[i].mode == IR_INOUT)
            return true;
    return false;
}

void map_check_cluster(map_state *state) {
    ir_module *module = state->module;
    const ir_plan_list *lines = &state->context->plan->of[IR_PLAN_AXIS];
    for (int i = 0; i < module->axis_count && module->cluster > 1 && !state->failed; i++) {
        const ir_axis *axis = &module->axes[i];
        if (!layout_axis_has(&axis->digits, LAYOUT_BLOCK))
            continue;
        const char *reason = axis_refusal(axis);
        if (reason == NULL && map_programs_together(module) > 1)
            reason = "a program a group, `group *`";
        if (reason == NULL && stores_in_place(module))
            reason = "no block digit: a tensor is stored in place, which another group may load";
        if (reason != NULL)
            map_fail(state, lines->lines[i].location, "plan-cluster", axis->anchor, reason,
                     "the groups of a cluster cannot share the axis");
    }
    if (module->cluster > 1 && !state->failed)
        ir_region_walk(&module->body, check_op, state);
}
