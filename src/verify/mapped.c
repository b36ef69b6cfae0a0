/* Level mapped: layouts, sweeps, storage.
 *
 *     value-layout layout-agree sweep-scope sweep-reduce kept-storage access-width convert-form
 *
 *     axis N extent N digits lane 8 | slot 4 | step *
 *     %e, %s = sweep axes=(N) : f32<N> on (N) in private, f32 { ...; yield %e.0, %s.0 }
 *
 * Everything here follows from digits and extents in closed form.
 */
#include "verify/verify_internal.h"

#include "base/checked.h"
#include "layout/conversion.h"

#include <string.h>

/* ---- layouts of values ---- */
static bool layout_holds(const verify_state *state, const ir_value *value) {
    int rank = value->type.form == IR_FORM_TILE ? value->type.rank : 0;
    for (int i = 0; i < rank; i++) {
        int axis = value->layout.axis[i];
        bool one = verify_extent_is_one(state, value->type.extent[i]);
        if (one != (axis == -1) || axis < -1 || axis >= state->module->axis_count)
            return false;
        if (axis == -1)
            continue;
        const ir_axis *module_axis = &state->module->axes[axis];
        if (module_axis->is_program || module_axis->extent == NULL ||
            !verify_extent_equal(state, module_axis->extent, value->type.extent[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (value->layout.axis[k] == axis)
                return false;
    }
    return true;
}

static void rule_value_layout(verify_state *state, const ir_op *op, const ir_value *value) {
    if (!layout_holds(state, value))
        verify_report(state, VERIFY_VALUE_LAYOUT, op,
                      "each axis of the tile on a module axis of its extent, `-` for extent 1",
                      "a tile without a layout that fits it");
}

static bool axes_agree(const ir_value *x, int a, const ir_value *y, int b) {
    return x->layout.axis[a] == -1 || y->layout.axis[b] == -1 ||
           x->layout.axis[a] == y->layout.axis[b];
}

/* Dimension i of `small` is dimension i of `large`, or i + 1 from `axis` on. */
static bool layouts_agree_around(const ir_value *large, const ir_value *small, int axis) {
    for (int i = 0; i < large->type.rank && verify_is_tile(small); i++)
        if (i != axis && !axes_agree(large, i, small, i < axis ? i : i - 1))
            return false;
    return true;
}

static bool layouts_agree(const ir_value *x, const ir_value *y, int except) {
    if (!verify_is_tile(x) || !verify_is_tile(y) || x->type.rank != y->type.rank)
        return true;
    for (int i = 0; i < x->type.rank; i++)
        if (i != except && !axes_agree(x, i, y, i))
            return false;
    return true;
}

static bool access_layouts_agree(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *value =
        op->opcode == IR_STORE ? op->operands[op->operand_count - 1] : op->results[0];
    for (int i = 0; i < access->rank; i++)
        if (access->index[i].kind == IR_INDEX_GATHER &&
            !layouts_agree(op->operands[access->index[i].operand], value, -1))
            return false;
    return true;
}

static bool op_layouts_agree(const ir_op *op) {
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_ACCESS)
        return access_layouts_agree(op);
    if (op->region_count > 0 || op->result_count != 1 || op->opcode == IR_CONVERT)
        return true;
    int axis = op->attributes.axis;
    if (op->opcode == IR_EXPAND)
        return layouts_agree_around(op->results[0], op->operands[0], axis);
    if (op->opcode == IR_DROP)
        return layouts_agree_around(op->operands[0], op->results[0], axis);
    for (int i = 0; i < op->operand_count; i++)
        if (!layouts_agree(op->operands[i], op->results[0], op->opcode == IR_REDUCE ? axis : -1))
            return false;
    return true;
}

static void rule_layout_agree(verify_state *state, const ir_op *op) {
    if (!op_layouts_agree(op))
        verify_report(state, VERIFY_LAYOUT_AGREE, op, "one module axis for one axis of the op",
                      "operands and result lie on different axes");
}

/* ---- sweeps ---- */
static const ir_op *enclosing_sweep(const ir_op *op) {
    const ir_op *owner = op->parent != NULL ? op->parent->owner : NULL;
    return owner != NULL && owner->opcode == IR_SWEEP ? owner : NULL;
}

static bool sweep_has_axis(const ir_op *sweep, int axis) {
    for (int i = 0; i < sweep->attributes.axis_count; i++)
        if (sweep->attributes.axes[i] == axis)
            return true;
    return false;
}

static bool value_within_sweep(const ir_op *sweep, const ir_value *value) {
    for (int i = 0; verify_is_tile(value) && i < value->type.rank; i++)
        if (value->layout.axis[i] != -1 && !sweep_has_axis(sweep, value->layout.axis[i]))
            return false;
    return true;
}

static bool computes_on_tiles(const ir_op *op) {
    bool tiles = false;
    for (int i = 0; i < op->operand_count; i++)
        tiles = tiles || verify_is_tile(op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        tiles = tiles || verify_is_tile(op->results[i]);
    return tiles && op->region_count == 0 && op->opcode != IR_YIELD && op->opcode != IR_CONVERT;
}

static void rule_sweep_scope(verify_state *state, const ir_op *op) {
    const ir_op *sweep = enclosing_sweep(op);
    if (sweep == NULL && computes_on_tiles(op))
        verify_report(state, VERIFY_SWEEP_SCOPE, op, "an op on tiles inside a sweep",
                      "an op on tiles stands outside sweeps");
    if (sweep == NULL)
        return;
    if (op->region_count > 0 || op->opcode == IR_CONVERT)
        verify_report(state, VERIFY_SWEEP_SCOPE, op, "no regions and conversions inside a sweep",
                      "`%s` stands in a sweep", ir_op_describe(op->opcode)->text);
    bool within = true;
    for (int i = 0; i < op->operand_count; i++)
        within = within && value_within_sweep(sweep, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        within = within && value_within_sweep(sweep, op->results[i]);
    if (!within)
        verify_report(state, VERIFY_SWEEP_SCOPE, op, "axes of the sweep",
                      "a tile in a sweep lies on an axis that is not swept");
}

/* The value is used by the yield of its region and by nothing else. */
static bool only_yielded(const ir_value *value) {
    int uses = 0;
    for (const ir_op *op = value->definer->parent->first; op != NULL; op = op->next)
        for (int i = 0; i < op->operand_count; i++)
            if (op->operands[i] == value && op->opcode != IR_YIELD)
                uses++;
    return uses == 0;
}

static void rule_sweep_reduce(verify_state *state, const ir_op *op) {
    if (op->opcode != IR_REDUCE)
        return;
    const ir_op *sweep = enclosing_sweep(op);
    int axis = op->operands[0]->layout.axis[op->attributes.axis];
    if (sweep == NULL)
        verify_report(state, VERIFY_SWEEP_REDUCE, op, "a reduction inside a sweep",
                      "a reduction stands outside sweeps");
    else if (sweep->attributes.axis_count == 0 || axis == -1 ||
             sweep->attributes.axes[sweep->attributes.axis_count - 1] != axis)
        verify_report(state, VERIFY_SWEEP_REDUCE, op, "the innermost axis of the sweep",
                      "a reduction of an axis that is not swept innermost");
    else if (!only_yielded(op->results[0]))
        verify_report(state, VERIFY_SWEEP_REDUCE, op, "a use by the yield only",
                      "a reduction is used before its sweep is over");
}

/* ---- storage ---- */
static bool has_step(const verify_state *state, const ir_value *value) {
    for (int i = 0; i < value->type.rank; i++) {
        int axis = value->layout.axis[i];
        if (axis >= 0 && axis < state->module->axis_count &&
            layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP))
            return true;
    }
    return false;
}

/* `kept`: the value outlives the sweep that makes it. */
static void rule_kept_storage(verify_state *state, const ir_op *op, const ir_value *value,
                              bool kept) {
    bool tile = verify_is_tile(value);
    bool holds = value->storage == IR_STORAGE_NONE;
    if (tile && kept)
        holds = value->storage == IR_STORAGE_PRIVATE ||
                (value->storage == IR_STORAGE_REGISTERS && !has_step(state, value));
    if (!holds)
        verify_report(state, VERIFY_KEPT_STORAGE, op,
                      tile && kept ? "private, or registers where no axis has steps"
                                   : "no storage inside a sweep or for a scalar",
                      "a value is kept as `%s` cannot",
                      value->storage == IR_STORAGE_NONE ? "nothing" : "it");
}

static bool kept_alike(const ir_value *x, const ir_value *y) {
    return !verify_is_tile(x) ||
           (x->storage == y->storage &&
            memcmp(x->layout.axis, y->layout.axis, sizeof(int) * (size_t)x->type.rank) == 0);
}

/* A carry has one layout and storage in all its places; so have the results of a branch. */
static void rule_carry_storage(verify_state *state, const ir_op *op) {
    bool alike = true;
    for (int i = 0; i < op->result_count && op->opcode != IR_SWEEP; i++) {
        for (int k = 0; k < op->region_count; k++) {
            const ir_op *yield = ir_region_yield(op->regions[k]);
            alike = alike && yield->operand_count == op->result_count &&
                    kept_alike(op->results[i], yield->operands[i]);
        }
        if (op->opcode == IR_FOR)
            alike = alike && kept_alike(op->results[i], op->operands[3 + i]) &&
                    kept_alike(op->results[i], op->regions[0]->arguments[1 + i]);
    }
    if (!alike)
        verify_report(state, VERIFY_KEPT_STORAGE, op, "one layout and storage for a carry",
                      "a carry or the result of a branch changes its layout or storage");
}

/* ---- accesses ---- */
static void rule_access_width(verify_state *state, const ir_op *op) {
    if (op->attributes.access->width > 1 && !verify_mapped_width_holds(state, op))
        verify_report(
            state, VERIFY_ACCESS_WIDTH, op, "runs of slots, or of lanes, along the last dimension",
            "%d elements of this access are not neighbours", op->attributes.access->width);
}

enum { MAX_POSITIONS = 1 << 16 }; /* of an axis whose owners are compared */

/* Slots, lanes and subgroups that the team has. */
static const layout_axis *compared_axis(const verify_state *state, const ir_value *value) {
    const ir_module *module = state->module;
    int number = value->layout.axis[0];
    if (value->type.rank != 1 || number < 0 || number >= module->axis_count)
        return NULL;
    const layout_axis *digits = &module->axes[number].digits;
    int64_t positions = 1;
    bool holds = layout_axis_check(digits) == NULL && module->lanes <= MAX_POSITIONS;
    for (int i = 0; holds && i < digits->count; i++)
        holds = digits->digits[i].radix > 0 &&
                base_checked_mul(positions, digits->digits[i].radix, &positions) &&
                positions <= MAX_POSITIONS;
    return holds ? digits : NULL;
}

/* What moves decides how; scratch can do all. */
static void rule_convert_way(verify_state *state, const ir_op *op) {
    const ir_module *module = state->module;
    const layout_axis *from = compared_axis(state, op->operands[0]);
    const layout_axis *to = compared_axis(state, op->results[0]);
    layout_conversion conversion;
    layout_fault fault;
    int64_t size = 0;
    if (from == NULL || to == NULL || op->attributes.mechanism == LAYOUT_SCRATCH ||
        !layout_extent_known(&module->extents, op->results[0]->type.extent[0], &size))
        return;
    bool possible = layout_convert_axes(state->diagnostics->arena, from, to, size,
                                        ir_module_subgroup_lanes(module),
                                        ir_module_subgroups(module), &conversion, &fault);
    if (!possible || conversion.class_ != op->attributes.mechanism)
        verify_report(state, VERIFY_CONVERT_FORM, op,
                      possible ? layout_class_name(conversion.class_) : "scratch",
                      "the mechanism cannot do the work of the conversion");
}

/* Whole tiles are converted, from slots to slots, by what the plan decided. */
static void rule_convert_form(verify_state *state, const ir_op *op) {
    const ir_value *from = op->operands[0], *to = op->results[0];
    if (op->attributes.mechanism == LAYOUT_UNDECIDED ||
        op->attributes.mechanism == LAYOUT_CLUSTER || has_step(state, from) || has_step(state, to))
        verify_report(state, VERIFY_CONVERT_FORM, op,
                      "forward, rename, shuffle or scratch, of tiles without steps",
                      "a conversion that says not how, or of a tile that does not lie in slots");
    else
        rule_convert_way(state, op);
}

static void check_value(verify_state *state, const ir_op *op, const ir_value *value, bool kept) {
    rule_value_layout(state, op, value);
    rule_kept_storage(state, op, value, kept);
}

static void check_op(verify_state *state, const ir_op *op) {
    if (!verify_op_is_formed(state, op))
        return;
    bool kept = op->region_count > 0 || op->opcode == IR_CONVERT;
    for (int i = 0; i < op->result_count; i++)
        check_value(state, op, op->results[i], kept);
    for (int k = 0; k < op->region_count; k++)
        for (int i = 0; i < op->regions[k]->argument_count; i++)
            check_value(state, op, op->regions[k]->arguments[i], true);
    rule_layout_agree(state, op);
    rule_sweep_scope(state, op);
    rule_sweep_reduce(state, op);
    if (op->region_count > 0)
        rule_carry_storage(state, op);
    if (op->opcode == IR_CONVERT)
        rule_convert_form(state, op);
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_ACCESS)
        rule_access_width(state, op);
}

void verify_mapped(verify_state *state) {
    verify_walk(state, &state->module->body, check_op);
}
