/* expand: level mapped to level thread.
 *
 * What each lane does is written out: programs become positions in the grid (and lanes), sweeps
 * become loops over slot vectors (expand_sweep.c), tile ops become ops on them (expand_op.c,
 * expand_access.c). A value with the vector axis in its layout becomes T(k); a scalar becomes
 * uniform, or T(1) where programs share the team and it depends on the program (expand_varies.c).
 * Tiles that are kept past their sweep become private arrays (expand_private.c) or stay in slots.
 *
 * Programs are in expand_programs.c. Reductions over several subgroups meet in scratch
 * (expand_scratch.c).
 *
 * It makes no choice: everything follows from the axes' digits and the values' storage.
 */
#include "pass/expand_internal.h"
#include "pass/syncs_internal.h"

#include <string.h>

void expand_fail(expand_state *state, const ir_op *op, const char *slug, const char *message) {
    state->failed = true;
    base_location nowhere = {0};
    base_diagnostics_add(state->diagnostics, slug, op != NULL ? op->location : nowhere, "%s",
                         message);
}

const layout_extent *expand_axis_steps(expand_state *state, int axis) {
    layout_extents *pool = &state->module->extents;
    if (state->axis[axis].cells != NULL)
        return state->axis[axis].cells;
    const layout_extent *positions = state->module->axes[axis].extent;
    int64_t more = layout_axis_shifts(&state->module->axes[axis].digits) - 1;
    if (more > 0)
        positions = layout_extent_binary(pool, LAYOUT_EXTENT_ADD, positions,
                                         layout_extent_constant(pool, more));
    return layout_extent_ceil(pool, positions, state->axis[axis].chunk);
}

int expand_slots_of(const expand_state *state, const ir_value *mapped) {
    for (int i = 0; i < mapped->type.rank; i++)
        if (mapped->layout.axis[i] >= 0 && state->axis[mapped->layout.axis[i]].spread)
            return state->axis[mapped->layout.axis[i]].slots;
    return state->packed && (mapped->type.rank > 0 || state->varies[mapped->number]) ? 1 : 0;
}

/* ---- regions ---- */

void expand_region(expand_state *state, ir_region *from) {
    for (ir_op *op = from->first; op != NULL && !state->failed; op = op->next) {
        state->builder.location = op->location;
        if (op->opcode == IR_SWEEP)
            expand_sweep(state, op);
        else if (op->opcode == IR_FOR)
            expand_for(state, op);
        else if (op->opcode == IR_IF)
            expand_if(state, op);
        else if (op->opcode != IR_YIELD)
            expand_op(state, NULL, op);
    }
}

/* ---- the pass ---- */

pass_result pass_expand(ir_module *module, pass_context *context) {
    expand_state state = {.module = module, .diagnostics = context->diagnostics};
    if (module->axis_count > EXPAND_MAX_AXES)
        expand_fail(&state, NULL, "too-many-axes", "more than 32 axes");
    else
        expand_axes(&state);
    expand_check_programs(&state);
    if (state.failed)
        return PASS_FAILED;
    state.value_count = module->next_value;
    state.value = BASE_NEW_ARRAY(module->arena, ir_value *, state.value_count);
    state.array = BASE_NEW_ARRAY(module->arena, ir_value *, state.value_count);
    state.pieces = BASE_NEW_ARRAY(module->arena, ir_value **, state.value_count);
    state.pulled = BASE_NEW_ARRAY(module->arena, int32_t, state.value_count);
    expand_find_varying(&state, &module->body);
    ir_region mapped = module->body;
    memset(&module->body, 0, sizeof module->body);
    module->level = IR_THREAD;
    state.builder = (ir_builder){.module = module, .region = &module->body};
    expand_scratch_declare(&state, &mapped);
    expand_cluster_begin(&state);
    expand_programs(&state, &mapped);
    expand_shifts(&state, &mapped);
    expand_pieces(&state, &mapped);
    expand_region(&state, &mapped);
    expand_programs_end(&state);
    syncs_tensors_expand(module);
    return state.failed ? PASS_FAILED : PASS_CHANGED;
}
