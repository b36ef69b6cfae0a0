/* Level mapped: axes, layouts, sweeps, storage.
 *
 *     axis-digits axis-cover value-layout layout-agree sweep-scope sweep-reduce kept-storage
 *     access-width repeated-load
 *
 *     axis N extent N digits lane 8 | slot 4 | step *
 *     %e, %s = sweep axes=(N) : f32<N> on (N) in private, f32 { ...; yield %e.0, %s.0 }
 *
 * Everything here follows from digits and extents in closed form.
 */
#include "verify/verify_internal.h"

#include <string.h>

/* ---- axes ---- */
static void rule_axis_digits(verify_state *state, const ir_axis *axis) {
    const char *anchor = axis->anchor != NULL ? axis->anchor : "-";
    const char *reason = layout_axis_check(&axis->digits);
    bool group = layout_axis_has(&axis->digits, LAYOUT_GROUP);
    if (reason == NULL && axis->is_program &&
        (axis->program < 0 || axis->program >= state->module->program_count))
        reason = "a program axis names a program";
    if (reason == NULL && axis->is_program != group)
        reason = "program axes have a group digit, element axes have none";
    if (reason != NULL)
        verify_report(state, VERIFY_AXIS_DIGITS, NULL, reason, "axis %s has other digits", anchor);
}

/* A lane stands at one position of every axis, so that the lanes of all axes make up the team. */
static void rule_team_lanes(verify_state *state) {
    int64_t lanes = 1;
    bool fits = true;
    for (int i = 0; i < state->module->axis_count; i++) {
        const layout_axis *digits = &state->module->axes[i].digits;
        if (layout_axis_check(digits) == NULL)
            fits = fits &&
                   !__builtin_mul_overflow(lanes, layout_axis_radix(digits, LAYOUT_LANE), &lanes);
    }
    if (!fits || lanes != state->module->lanes)
        verify_report(state, VERIFY_AXIS_DIGITS, NULL, "the product of the lane digits is the team",
                      "a team of %d lanes has other lane digits", state->module->lanes);
}

/* The digits reach every element, and no step or group is wholly past the extent. */
static bool digits_cover(const verify_state *state, const ir_axis *axis) {
    const layout_axis *digits = &axis->digits;
    layout_holder outer = axis->is_program ? LAYOUT_GROUP : LAYOUT_STEP;
    int64_t chunk = layout_axis_chunk(digits), outside = layout_axis_radix(digits, outer);
    int64_t extent = 0;
    if (outside == 0 || (axis->is_program && !layout_axis_has(digits, LAYOUT_GROUP)))
        return true;
    if (axis->extent == NULL || axis->is_program ||
        !layout_extent_known(&state->module->extents, axis->extent, &extent))
        return false;
    if (extent == 0)
        return true;
    int64_t needed = extent / chunk + (extent % chunk != 0);
    return outside == needed;
}

static void rule_axis_cover(verify_state *state, const ir_axis *axis) {
    if (layout_axis_check(&axis->digits) == NULL && !digits_cover(state, axis))
        verify_report(state, VERIFY_AXIS_COVER, NULL,
                      "steps times elements of a step reach the extent and no further",
                      "the digits of axis %s do not cover it exactly",
                      axis->anchor != NULL ? axis->anchor : "-");
}

void verify_axes(verify_state *state) {
    for (int i = 0; i < state->module->axis_count; i++) {
        rule_axis_digits(state, &state->module->axes[i]);
        rule_axis_cover(state, &state->module->axes[i]);
    }
    rule_team_lanes(state);
}

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
    if (op->region_count > 0 || op->result_count != 1)
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
    return tiles && op->region_count == 0 && op->opcode != IR_YIELD;
}

static void rule_sweep_scope(verify_state *state, const ir_op *op) {
    const ir_op *sweep = enclosing_sweep(op);
    if (sweep == NULL && computes_on_tiles(op))
        verify_report(state, VERIFY_SWEEP_SCOPE, op, "an op on tiles inside a sweep",
                      "an op on tiles stands outside sweeps");
    if (sweep == NULL)
        return;
    if (op->region_count > 0)
        verify_report(state, VERIFY_SWEEP_SCOPE, op, "no regions inside a sweep",
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
/* The dimension of the tile that the last index gives, -1 when there is none. */
static int last_dimension(const ir_access *access) {
    int dimension = -1;
    for (int i = 0; i < access->rank; i++)
        dimension += access->index[i].kind == IR_INDEX_RANGE;
    bool range = access->rank > 0 && access->index[access->rank - 1].kind == IR_INDEX_RANGE;
    return range ? dimension : -1;
}

static bool width_holds(const verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *value =
        op->opcode == IR_STORE ? op->operands[op->operand_count - 1] : op->results[0];
    int dimension = last_dimension(access);
    if (dimension < 0)
        return false;
    if (!verify_is_tile(value) || value->layout.axis[dimension] == -1)
        return op->opcode == IR_STORE; /* a value that is spread over the range */
    const layout_axis *digits = &state->module->axes[value->layout.axis[dimension]].digits;
    return digits->count > 0 && digits->digits[0].radix % access->width == 0 &&
           (digits->digits[0].holder == LAYOUT_LANE || digits->digits[0].holder == LAYOUT_SLOT);
}

static void rule_access_width(verify_state *state, const ir_op *op) {
    if (op->attributes.access->width > 1 && !width_holds(state, op))
        verify_report(state, VERIFY_ACCESS_WIDTH, op,
                      "a divisor of the innermost digit along the last dimension",
                      "%d elements of this access are not neighbours",
                      op->attributes.access->width);
}

static void check_value(verify_state *state, const ir_op *op, const ir_value *value, bool kept) {
    rule_value_layout(state, op, value);
    rule_kept_storage(state, op, value, kept);
}

static void check_op(verify_state *state, const ir_op *op) {
    if (!verify_op_is_formed(state, op))
        return;
    bool kept = op->region_count > 0;
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
    if (ir_op_describe(op->opcode)->shape == IR_SHAPE_ACCESS)
        rule_access_width(state, op);
}

/* ---- loads that are repeated ---- */
enum { NESTED_ROUNDS = 6 };

typedef struct load_record {
    const ir_op *original; /* the first load of its anchor */
    bool stale;            /* its tensor has been stored to since it ran */
} load_record;

typedef struct load_records {
    load_record *items;
    int64_t count, capacity;
} load_records;

static load_record *find_record(load_records *records, const ir_op *load) {
    for (int64_t i = 0; i < records->count; i++)
        if (strcmp(records->items[i].original->anchor, load->anchor) == 0)
            return &records->items[i];
    return NULL;
}

static void visit_load(verify_state *state, load_records *records, const ir_op *load) {
    if (load->anchor == NULL)
        return;
    load_record *record = find_record(records, load);
    if (record == NULL) {
        load_record fresh = {.original = load};
        BASE_PUSH(state->diagnostics->arena, records->items, records->count, records->capacity,
                  fresh);
    } else if (record->original == load) {
        record->stale = false;
    } else if (record->stale) {
        record->stale = false; /* one finding for it */
        verify_report(state, VERIFY_REPEATED_LOAD, load, "no store to the tensor in between",
                      "a load is repeated after its tensor was stored to");
    }
}

/* A loop is walked twice, so that its second round sees the stores of the first; not more than
 * NESTED_ROUNDS loops deep. */
static void rule_repeated_load(verify_state *state, load_records *records, const ir_region *region,
                               int depth) {
    for (const ir_op *op = region->first; op != NULL; op = op->next) {
        if (op->opcode == IR_LOAD && op->operand_count > 0)
            visit_load(state, records, op);
        for (int64_t i = 0; op->opcode == IR_STORE && op->operand_count > 0 && i < records->count;
             i++)
            if (records->items[i].original->operands[0] == op->operands[0])
                records->items[i].stale = true;
        bool loop = op->opcode == IR_FOR;
        for (int round = 0; round < (loop && depth < NESTED_ROUNDS ? 2 : 1); round++)
            for (int i = 0; i < op->region_count; i++)
                rule_repeated_load(state, records, op->regions[i], depth + loop);
    }
}

void verify_mapped(verify_state *state) {
    load_records records = {0};
    verify_walk(state, &state->module->body, check_op);
    rule_repeated_load(state, &records, &state->module->body, 0);
}
