/* Scratch arrays: one for each reduction over several subgroups and for each conversion that has
 * its own, declared before all else, and whether the machine has room for them.
 *
 *     %s, %t = scratch 8 : scratch f32[8], token free       a cell for each subgroup
 */
#include "pass/expand_internal.h"

#include "base/checked.h"
#include "machine/machine.h"

#include <string.h>

static void declare_array(expand_state *state, const ir_op *user, base_dtype dtype, int64_t cells,
                          bool far) {
    ir_module *module = state->module;
    if (state->scratch_count == EXPAND_MAX_SCRATCH) {
        expand_fail(state, user, "too-many-arrays",
                    "more than 256 reductions and conversions over several subgroups");
        return;
    }
    ir_type types[2] = {{.form = IR_FORM_SCRATCH, .rank = 1}, {.form = IR_FORM_TOKEN}};
    types[0].dtype = types[1].dtype = ir_build_dtype(&state->builder, dtype);
    types[0].extent[0] = layout_extent_constant(&module->extents, cells);
    state->builder.location = user->location;
    ir_op *op = ir_build_op(&state->builder, IR_SCRATCH, 0, NULL, 2, types, 0);
    op->attributes.extent = types[0].extent[0];
    op->results[1]->type.scratch = op->results[0];
    state->scratch[state->scratch_count++] = (expand_scratch){
        .user = user, .array = op->results[0], .token = op->results[1], .far = far};
}

/* Partial results of subgroups, and of the groups of a cluster. */
static void declare_reduce(expand_state *state, const ir_op *op) {
    base_dtype dtype = expand_zero_has_keys(op)
                           ? BASE_I32
                           : ir_monoid_state(op->attributes.monoid, op->operands[0]->type.dtype);
    if (expand_reduce_meets(state, op))
        declare_array(state, op, dtype, expand_order_cells(state, op), false);
    if (expand_cluster_meets(state, op))
        declare_array(state, op, dtype, state->module->cluster, true);
}

/* Of the conversions of the region that use the array of this one. */
static int64_t cells_inside(expand_state *state, const ir_region *region, const ir_op *convert) {
    int64_t most = 0;
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        bool shares = op->opcode == IR_CONVERT && op->attributes.array != NULL &&
                      convert->anchor != NULL && strcmp(op->attributes.array, convert->anchor) == 0;
        int64_t cells = shares ? expand_convert_cells(state, op) : 0;
        most = cells > most ? cells : most;
        for (int i = 0; i < op->region_count; i++) {
            cells = cells_inside(state, op->regions[i], convert);
            most = cells > most ? cells : most;
        }
    }
    return most;
}

/* An array is as large as its conversion needs, and as those do that use it again: in any sweep of
 * the program, and perhaps before it. */
static void declare_inside(expand_state *state, const ir_region *region, const ir_region *all) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        const ir_value *operand = op->operand_count > 0 ? op->operands[0] : NULL;
        if (op->opcode == IR_REDUCE)
            declare_reduce(state, op);
        bool own = op->opcode == IR_CONVERT && op->attributes.array == NULL;
        int64_t cells = own ? expand_convert_cells(state, op) : 0;
        int64_t others = cells > 0 ? cells_inside(state, all, op) : 0;
        if (cells > 0)
            declare_array(state, op, operand->type.dtype, cells > others ? cells : others, false);
        for (int i = 0; i < op->region_count; i++)
            declare_inside(state, op->regions[i], all);
    }
}

/* What the machine has not is refused where the most is asked for. */
static void check_capacity(expand_state *state) {
    const ir_module *module = state->module;
    const machine *planned = module->machine != NULL ? machine_find(module->machine) : NULL;
    const ir_op *largest = NULL;
    int64_t most = 0, bytes = 0;
    for (const ir_op *op = module->body.first; op != NULL; op = op->next) {
        int64_t own = 0;
        if (op->opcode != IR_SCRATCH ||
            !layout_extent_known(&module->extents, op->results[0]->type.extent[0], &own))
            continue;
        if (!base_checked_mul(own, base_dtype_size(op->results[0]->type.dtype), &own) ||
            !base_checked_add(bytes, own, &bytes))
            bytes = own = INT64_MAX;
        largest = own > most ? op : largest;
        most = own > most ? own : most;
    }
    if (planned == NULL || bytes <= planned->scratch_bytes || state->failed)
        return;
    state->failed = true;
    base_diagnostics *d = state->diagnostics;
    base_diagnostic *item = base_diagnostics_add(
        d, "scratch-capacity", largest->location,
        "reductions and conversions meet in more scratch than %s has", planned->name);
    item->found =
        base_diagnostics_text(d, "%lld bytes, here %lld", (long long)bytes, (long long)most);
    item->expected = base_diagnostics_text(d, "at most %lld", (long long)planned->scratch_bytes);
    item->hint = "convert fewer elements, or a narrower type";
}

void expand_scratch_declare(expand_state *state, const ir_region *mapped) {
    declare_inside(state, mapped, mapped);
    check_capacity(state);
}
