/* Widths at level mapped: a group of neighbours is looked at in every place where it can stand.
 *
 *     axis N    slot 4 | lane 32 | step *
 *     %q = floordiv (arange N), 4      of a group of four slots    (128*u + r) // 4 = 32*u + r/4
 *     %r = floormod (arange N), 4                                  r .. r+3 -> 0 .. 3
 *
 * What an op makes of the elements of a group is a run (group_run_internal.h): offsets, and what is
 * the same for all of them, as the step that the axis is at, an index of another axis, or a scalar.
 * Lanes, subgroups and slots are numbers, and so are steps of an axis that is not too long. In the
 * last dimension the offsets must count on by one, in the others be the same. */
#include "base/checked.h"
#include "verify/group_run_internal.h"
#include "verify/verify_internal.h"

enum { MOST_ELEMENTS = 1 << 18, MOST_VISITS = 256 };

typedef struct width_check {
    const verify_state *state;
    const ir_op *op;
    const ir_value *value; /* what is loaded or stored */
    int width;
    int axis; /* the one that lanes or slots hold */
    layout_holder along;
    int visits;
    int64_t groups;  /* looked at before this one */
    int64_t shift;   /* by which the axis is shifted: index = position - shift */
    group_live live; /* of the group that is looked at */
} width_check;

/* Where the tile that is looked at has its group. */
typedef struct group_place {
    int axis;
    const group_run *index;
} group_place;

static bool evaluate(width_check *check, const group_place *place, const ir_value *value,
                     group_run *run);

/* ---- ops ---- */
static bool evaluate_shift(const width_check *check, ir_opcode opcode, const group_run *a,
                           int64_t count, group_run *run) {
    if (count < 0 || count > 30)
        return false;
    return opcode == IR_SHL ? group_run_scale(a, (int64_t)1 << count, check->live, run)
                            : group_run_divide(a, (int64_t)1 << count, false, check->live, run);
}

static bool evaluate_binary(const width_check *check, ir_opcode opcode, const group_run *a,
                            const group_run *b, group_run *run) {
    int64_t number = 0;
    if (opcode == IR_ADD || opcode == IR_SUB)
        return group_run_add(a, b, opcode == IR_SUB, check->live, run);
    if (opcode == IR_MUL && group_run_is_number(a, check->live, &number))
        return group_run_scale(b, number, check->live, run);
    if (!group_run_is_number(b, check->live, &number))
        return false;
    if (opcode == IR_MUL)
        return group_run_scale(a, number, check->live, run);
    if (opcode == IR_FLOOR_DIV || opcode == IR_FLOOR_MOD)
        return group_run_divide(a, number, opcode == IR_FLOOR_MOD, check->live, run);
    if (opcode == IR_SHL || opcode == IR_SHR)
        return evaluate_shift(check, opcode, a, number, run);
    bool low_bits = number >= 0 && number < INT32_MAX && (number & (number + 1)) == 0;
    return opcode == IR_AND && low_bits && group_run_divide(a, number + 1, true, check->live, run);
}

/* Of what is the same for all, any op makes what is the same. */
static bool evaluate_operands(width_check *check, const group_place *place, const ir_op *op,
                              group_run *run) {
    group_run a, b;
    if (!evaluate(check, place, op->operands[0], &a))
        return false;
    ir_opcode opcode = op->opcode;
    if (opcode == IR_NEG)
        return group_run_scale(&a, -1, check->live, run);
    *run = a;
    if (opcode == IR_CAST || opcode == IR_EXPAND || opcode == IR_DROP || opcode == IR_BROADCAST)
        return true;
    if (ir_op_describe(opcode)->shape != IR_SHAPE_BINARY ||
        !evaluate(check, place, op->operands[1], &b))
        return false;
    if (evaluate_binary(check, opcode, &a, &b, run))
        return true;
    *run = group_run_unknown();
    return group_run_is_common(&a, check->live) && group_run_is_common(&b, check->live);
}

/* An element keeps its index when it changes its owner. */
static bool evaluate_converted(width_check *check, const group_place *place, const ir_op *op,
                               group_run *run) {
    group_place before = *place;
    before.axis = op->operands[0]->layout.axis[0];
    return op->results[0]->layout.axis[0] == place->axis &&
           evaluate(check, &before, op->operands[0], run);
}

static bool evaluate_swept(width_check *check, const group_place *place, const ir_value *value,
                           group_run *run) {
    const ir_op *sweep = value->definer, *yield = ir_region_yield(sweep->regions[0]);
    for (int i = 0; yield != NULL && i < sweep->result_count && i < yield->operand_count; i++)
        if (sweep->results[i] == value)
            return evaluate(check, place, yield->operands[i], run);
    return false;
}

/* One number, below the extent. */
static group_run index_of_another(const width_check *check, const ir_op *arange) {
    int64_t extent = 0;
    if (!layout_extent_known(&check->state->module->extents, arange->attributes.extent, &extent))
        return group_run_unknown();
    return group_run_between(0, extent > 0 ? extent - 1 : 0);
}

static bool evaluate_tile(width_check *check, const group_place *place, const ir_value *value,
                          group_run *run) {
    const ir_op *op = value->definer;
    if (op == NULL || check->visits++ == MOST_VISITS ||
        (check->groups == 0 && !verify_op_is_formed(check->state, op)))
        return false;
    if (op->opcode == IR_ARANGE) {
        *run = value->layout.axis[0] == place->axis ? *place->index : index_of_another(check, op);
        return true;
    }
    if (op->opcode == IR_SWEEP)
        return evaluate_swept(check, place, value, run);
    if (op->opcode == IR_CONVERT)
        return evaluate_converted(check, place, op, run);
    return op->region_count == 0 && op->operand_count > 0 && op->opcode != IR_PAD &&
           evaluate_operands(check, place, op, run);
}

/* What is known of a scalar without looking at its operands. */
static group_run scalar_alone(const width_check *check, const ir_value *value) {
    const ir_module *module = check->state->module;
    const ir_op *op = value->definer;
    int64_t number = 0;
    if (op != NULL && op->opcode == IR_CONSTANT)
        return group_run_number(op->attributes.constant.integer);
    if (op != NULL && op->opcode == IR_SIZE &&
        layout_extent_known(&module->extents, op->attributes.extent, &number))
        return group_run_number(number);
    if (op != NULL && op->opcode == IR_PROGRAM && op->attributes.axis >= 0 &&
        op->attributes.axis < module->program_count &&
        layout_extent_known(&module->extents, module->programs[op->attributes.axis].extent,
                            &number))
        return group_run_between(0, number > 0 ? number - 1 : 0);
    if (base_dtype_size(value->type.dtype) == 8)
        return group_run_unknown();
    return group_run_between(base_dtype_least(value->type.dtype),
                             base_dtype_greatest(value->type.dtype));
}

/* Of a sum or product of 64 bits, what that says of its multiples. */
static void evaluate_scalar(width_check *check, const group_place *place, const ir_value *value,
                            group_run *run) {
    const ir_op *op = value->definer;
    group_run a, b, sum;
    *run = scalar_alone(check, value);
    if (op == NULL || (op->opcode != IR_ADD && op->opcode != IR_SUB && op->opcode != IR_MUL) ||
        base_dtype_size(value->type.dtype) != 8 || check->visits >= MOST_VISITS ||
        !verify_op_is_formed(check->state, op))
        return;
    check->visits++;
    if (evaluate(check, place, op->operands[0], &a) &&
        evaluate(check, place, op->operands[1], &b) &&
        evaluate_binary(check, op->opcode, &a, &b, &sum))
        *run = sum;
}

/* Narrow integers may wrap where they are not known: in one way, if they are one number. */
static bool evaluate(width_check *check, const group_place *place, const ir_value *value,
                     group_run *run) {
    const base_dtype dtype = value->type.dtype;
    if (value->type.form != IR_FORM_TILE || !base_dtype_is_integer(dtype))
        return false;
    if (value->type.rank == 0) {
        evaluate_scalar(check, place, value, run);
        return true;
    }
    if (!evaluate_tile(check, place, value, run))
        return false;
    if (base_dtype_size(dtype) == 8 ||
        group_run_is_between(run, check->live, base_dtype_least(dtype), base_dtype_greatest(dtype)))
        return true;
    bool common = group_run_is_common(run, check->live);
    *run = group_run_between(base_dtype_least(dtype), base_dtype_greatest(dtype));
    return common;
}

/* ---- places ---- */
/* Elements of the group that the tile has count on, or are the same. */
static bool run_holds(const width_check *check, const group_run *run, bool last) {
    int first = -1;
    for (int j = 0; j < check->width; j++) {
        if ((check->live >> j & 1) == 0)
            continue;
        first = first < 0 ? j : first;
        int64_t apart = 0;
        if (!base_checked_sub(run->offset[j], run->offset[first], &apart) ||
            apart != (last ? j - first : 0))
            return false;
    }
    return true;
}

/* Which elements of the group the axis has, where that is known. */
static group_live live_of(const width_check *check, const group_run *index, int64_t extent) {
    group_live live = 0;
    for (int j = 0; j < check->width; j++)
        if (index->part_count > 0 || (index->offset[j] >= 0 && index->offset[j] < extent))
            live |= (group_live)1 << j;
    return live;
}

static bool varies(const width_check *check, const ir_value *tile) {
    bool along = false;
    for (int i = 0; i < tile->type.rank; i++)
        along = along || tile->layout.axis[i] == check->axis;
    return along;
}

static bool group_holds(width_check *check, const group_run *index, int64_t extent) {
    const ir_access *access = check->op->attributes.access;
    group_place place = {.axis = check->axis, .index = index};
    int dimension = 0;
    check->live = live_of(check, index, extent);
    for (int d = 0; d < access->rank && check->live != 0; d++) {
        group_run run = group_run_unknown();
        if (access->index[d].kind == IR_INDEX_RANGE) {
            int axis = check->value->layout.axis[dimension++];
            run = axis == check->axis ? *index : run;
        } else if (access->index[d].kind == IR_INDEX_GATHER) {
            const ir_value *tile = check->op->operands[access->index[d].operand];
            check->visits = 0;
            if (varies(check, tile) && !evaluate(check, &place, tile, &run))
                return false;
        }
        if (!run_holds(check, &run, d == access->rank - 1))
            return false;
    }
    return true;
}

static const ir_axis *axis_at(const width_check *check) {
    return &check->state->module->axes[check->axis];
}

/* The groups of all lanes, subgroups and slots in one step. */
static bool step_holds(width_check *check, int64_t step, int64_t unit, int64_t extent) {
    const layout_axis *digits = &axis_at(check)->digits;
    int64_t counts[LAYOUT_HOLDER_COUNT] = {0};
    counts[LAYOUT_LANE] = ir_module_subgroup_lanes(check->state->module);
    counts[LAYOUT_SUBGROUP] = ir_module_subgroups(check->state->module);
    counts[LAYOUT_SLOT] = layout_axis_radix(digits, LAYOUT_SLOT);
    if (counts[check->along] % check->width != 0 || counts[LAYOUT_SLOT] < 1)
        return false;
    int64_t threads = counts[LAYOUT_LANE] * counts[LAYOUT_SUBGROUP];
    if (counts[LAYOUT_SLOT] > MOST_ELEMENTS || threads > MOST_ELEMENTS / counts[LAYOUT_SLOT])
        return false;
    int64_t all = threads * counts[LAYOUT_SLOT];
    for (int64_t i = 0; i < all / check->width; i++) {
        int64_t numbers[LAYOUT_HOLDER_COUNT] = {0}, rest = i;
        for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
            int64_t count = h == (int)check->along ? counts[h] / check->width : counts[h];
            numbers[h] = count > 0 ? rest % count : 0;
            rest = count > 0 ? rest / count : rest;
        }
        numbers[LAYOUT_STEP] = step;
        numbers[check->along] *= check->width;
        group_run index = group_run_number(0);
        if (unit != 0)
            group_run_add_unknown(&index, unit);
        for (int j = 0; j < check->width; j++, numbers[check->along]++)
            index.offset[j] = layout_axis_logical(digits, numbers) - check->shift;
        if (!group_holds(check, &index, extent))
            return false;
        check->groups++;
    }
    return true;
}

static bool runs_hold(width_check *check, layout_holder along) {
    const layout_axis *digits = &axis_at(check)->digits;
    int64_t extent = INT64_MAX, chunk = layout_axis_chunk(digits), steps = 1, unit = 0;
    int64_t shifts = digits->shift != NULL && digits->count > 0 ? digits->digits[0].radix : 1;
    check->along = along;
    check->groups = 0;
    bool known =
        layout_extent_known(&check->state->module->extents, axis_at(check)->extent, &extent) &&
        extent <= MOST_ELEMENTS;
    if (chunk < 1 || chunk > MOST_ELEMENTS || shifts > GROUP_WIDTH)
        return false;
    if (layout_axis_has(digits, LAYOUT_STEP))
        steps = known ? (extent + shifts - 1) / chunk + ((extent + shifts - 1) % chunk != 0) : 1;
    if (layout_axis_has(digits, LAYOUT_STEP) && !known)
        unit = chunk;
    for (check->shift = 0; check->shift < shifts; check->shift++)
        for (int64_t step = 0; step < steps; step++)
            if (!step_holds(check, step, unit, extent))
                return false;
    return true;
}

/* The axis of the value that lanes or slots hold; -1: none. */
static int held_axis(const width_check *check) {
    for (int i = 0; i < check->value->type.rank; i++) {
        int axis = check->value->layout.axis[i];
        const layout_axis *digits = axis < 0 || axis >= check->state->module->axis_count
                                        ? NULL
                                        : &check->state->module->axes[axis].digits;
        if (digits != NULL &&
            (layout_axis_has(digits, LAYOUT_SLOT) || layout_axis_has(digits, LAYOUT_LANE)))
            return axis;
    }
    return -1;
}

/* A stored value may have one element where the access has many. */
static bool is_spread_over(const ir_op *op, const ir_value *value) {
    const ir_access *access = op->attributes.access;
    bool range = access->rank > 0 && access->index[access->rank - 1].kind == IR_INDEX_RANGE;
    return op->opcode == IR_STORE && range &&
           (value->type.rank == 0 || value->layout.axis[value->type.rank - 1] < 0);
}

/* Indices are ranges: the last one counts along its axis, so that its innermost digit is the group.
 */
static bool is_plain(const width_check *check) {
    const ir_access *access = check->op->attributes.access;
    const ir_type *type = &check->value->type;
    for (int i = 0; i < access->rank; i++)
        if (access->index[i].kind == IR_INDEX_GATHER)
            return false;
    if (access->rank == 0 || access->index[access->rank - 1].kind != IR_INDEX_RANGE ||
        type->rank == 0 || check->value->layout.axis[type->rank - 1] != check->axis)
        return false;
    const layout_axis *digits = &axis_at(check)->digits;
    const layout_digit *inner = digits->count > 0 ? &digits->digits[0] : NULL;
    return inner != NULL && (inner->holder == LAYOUT_LANE || inner->holder == LAYOUT_SLOT) &&
           inner->stride <= 1 && inner->radix % check->width == 0 &&
           digits->exclusive_or % check->width == 0;
}

bool verify_mapped_width_holds(const verify_state *state, const ir_op *op) {
    const ir_access *access = op->attributes.access;
    width_check check = {.state = state,
                         .op = op,
                         .value = op->opcode == IR_STORE ? op->operands[op->operand_count - 1]
                                                         : op->results[0],
                         .width = access->width};
    if (access->width > GROUP_WIDTH)
        return false;
    if (is_spread_over(op, check.value))
        return true;
    check.axis = verify_is_tile(check.value) ? held_axis(&check) : -1;
    return check.axis >= 0 &&
           (is_plain(&check) || runs_hold(&check, LAYOUT_SLOT) || runs_hold(&check, LAYOUT_LANE));
}
