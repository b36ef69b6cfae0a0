/* Expansion of shifted axes: the amount s of each, once a program, and the positions of a step.
 *
 *     axis N extent N digits slot 4 | lane 32 | step * shift x.0
 *     %t = load %x[%row, : N] !x.0
 *
 *     %a = stride x axis=0          elements from one row to the next
 *     %s = floormod %row * %a, 4    the row begins so far past a border of vectors
 *
 * The element of a position is position - %s. In a guarded step only positions from %s on, and
 * below N + %s, have one. Of a known N only the first chunk is guarded at its beginning, and those
 * at their end that some row does not fill, of N + 3 positions:
 *
 *     N = 300, chunks of 128, V = 4     1 full; 0 from %s on; 2 below N + %s
 *
 * What every row fills comes first: it is the most, and no guard is asked before it is under way.
 * Points of rows are computed anew from programs, sizes and constants (analysis/shift.h); equal
 * ones are merged later.
 */
#include "analysis/shift.h"
#include "pass/expand_internal.h"

static ir_value *build_point(expand_state *state, const ir_value *point) {
    ir_builder *b = &state->builder;
    const ir_op *op = point->definer;
    if (op->opcode == IR_PROGRAM)
        return state->program[op->attributes.axis];
    if (op->opcode == IR_SIZE)
        return ir_build_size(b, op->attributes.extent);
    if (op->opcode == IR_CONSTANT)
        return ir_build_integer(b, BASE_I64, op->attributes.constant.integer);
    ir_value *left = build_point(state, op->operands[0]);
    return ir_build_binary(b, op->opcode, left, build_point(state, op->operands[1]));
}

static ir_value *build_stride(expand_state *state, const ir_value *tensor, int axis) {
    ir_type type = ir_type_uniform(BASE_I64);
    int parameter = 0;
    while (state->module->parameters[parameter].value != tensor)
        parameter++;
    ir_op *op = ir_build_op(&state->builder, IR_STRIDE, 0, NULL, 1, &type, 0);
    op->attributes.parameter = parameter;
    op->attributes.axis = axis;
    return op->results[0];
}

/* Elements from the tensor's first one to the first of the row. */
static ir_value *row_offset(expand_state *state, const ir_op *access) {
    ir_builder *b = &state->builder;
    ir_value *offset = NULL;
    for (int d = 0; d + 1 < access->attributes.access->rank; d++) {
        int operand = access->attributes.access->index[d].operand;
        ir_value *point = build_point(state, access->operands[operand]);
        ir_value *part =
            ir_build_binary(b, IR_MUL, point, build_stride(state, access->operands[0], d));
        offset = offset == NULL ? part : ir_build_binary(b, IR_ADD, offset, part);
    }
    return offset;
}

static ir_module module_of(const expand_state *state, const ir_region *mapped) {
    ir_module module = *state->module;
    module.body = *mapped;
    return module;
}

void expand_shifts(expand_state *state, const ir_region *mapped) {
    ir_module module = module_of(state, mapped);
    for (int i = 0; i < state->module->axis_count; i++) {
        const layout_axis *digits = &state->module->axes[i].digits;
        if (digits->shift == NULL)
            continue;
        const ir_op *access = analysis_shift_access(&module, digits->shift);
        if (access == NULL || analysis_shift_refusal(access) != NULL || !state->axis[i].spread) {
            expand_fail(state, access, "axis-shift", "an axis is shifted by what is no row");
            return;
        }
        int64_t shifts = layout_axis_shifts(digits);
        state->builder.location = access->location;
        ir_value *modulus = ir_build_integer(&state->builder, BASE_I64, shifts);
        ir_value *offset = row_offset(state, access);
        ir_value *shift = ir_build_binary(&state->builder, IR_FLOOR_MOD, offset, modulus);
        shift->name = "shift";
        shift->ranged = true;
        shift->low = 0;
        shift->high = shifts - 1;
        state->axis[i].shift = shift;
    }
}

ir_value *expand_axis_base(expand_state *state, const expand_place *place, int axis) {
    ir_builder *b = &state->builder;
    const expand_axis *held = &state->axis[axis];
    ir_value *chunk = ir_build_integer(b, BASE_I64, held->chunk);
    ir_value *base = ir_build_binary(b, IR_MUL, place->step[axis], chunk);
    if (held->constant != 0)
        base = ir_build_binary(b, IR_ADD, base, ir_build_integer(b, BASE_I64, held->constant));
    if (held->part != NULL)
        base = ir_build_binary(b, IR_ADD, base, held->part);
    return held->shift == NULL ? base : ir_build_binary(b, IR_SUB, base, held->shift);
}

void expand_guard(expand_state *state, expand_place *place, int axis, ir_value *positions) {
    ir_builder *b = &state->builder;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0);
    ir_value *chunk = ir_build_integer(b, BASE_I64, state->axis[axis].chunk);
    ir_value *before = ir_build_binary(b, IR_MUL, place->step[axis], chunk);
    ir_value *left = ir_build_binary(b, IR_SUB, positions, before);
    ir_value *first = ir_build_binary(b, IR_SUB, state->axis[axis].shift, before);
    place->count = ir_build_binary(b, IR_MINIMUM, left, chunk);
    place->first = ir_build_binary(b, IR_MAXIMUM, first, zero);
}

static void add_piece(expand_axis *axis, expand_piece piece, int64_t steps, bool stepped) {
    piece.steps = stepped ? steps : 1;
    for (int64_t i = 0; i < steps; i += piece.steps, piece.first += piece.steps)
        axis->pieces[axis->piece_count++] = piece;
}

/* Slots that some lane fills with one of so many positions. */
static int filled_slots(const expand_axis *axis, int slots, int64_t positions) {
    while (slots % 2 == 0 &&
           ir_affine_at(&axis->affine, (ir_position){.slot = slots / 2}) >= positions)
        slots /= 2;
    return slots;
}

void expand_shifted_pieces(expand_axis *axis, int64_t shifts, int64_t bound, int least,
                           bool stepped) {
    int64_t times = axis->slots / least, chunk = axis->chunk / times;
    int64_t full = bound / axis->chunk, positions = bound + shifts - 1;
    expand_piece whole = {.slots = axis->slots, .chunk = axis->chunk, .first = 1};
    expand_piece part = {.slots = least, .chunk = chunk, .first = 1};
    int64_t filled = bound / chunk, steps = (positions + chunk - 1) / chunk;
    if (times > 1 && full > 1) {
        add_piece(axis, whole, full - 1, stepped);
        add_piece(axis, part, times - 1, stepped);
        part.first = full * times;
    }
    add_piece(axis, part, filled - part.first, stepped);
    part.first = 0;
    part.begins = true;
    part.ends = filled == 0;
    add_piece(axis, part, 1, false);
    part.begins = false;
    part.ends = true;
    for (part.first = filled > 0 ? filled : 1; part.first < steps; part.first++) {
        part.slots = filled_slots(axis, least, positions - part.first * chunk);
        add_piece(axis, part, 1, false);
    }
}

void expand_guard_piece(expand_state *state, expand_place *place, int axis,
                        const expand_piece *piece) {
    ir_builder *b = &state->builder;
    ir_value *shift = state->axis[axis].shift;
    if (piece->begins)
        place->first = shift;
    if (!piece->ends)
        return;
    const layout_extent *extent = state->module->axes[axis].extent;
    ir_value *positions = ir_build_binary(b, IR_ADD, ir_build_size(b, extent), shift);
    ir_value *before = ir_build_integer(b, BASE_I64, piece->first * piece->chunk);
    place->count = ir_build_binary(b, IR_SUB, positions, before);
}

void expand_shifted_steps(expand_state *state, int axis, ir_value *bound, expand_steps *whole,
                          expand_steps *ends) {
    ir_builder *b = &state->builder;
    int64_t chunk = state->axis[axis].chunk;
    ir_value *zero = ir_build_integer(b, BASE_I64, 0), *one = ir_build_integer(b, BASE_I64, 1);
    ir_value *positions = ir_build_binary(b, IR_ADD, bound, state->axis[axis].shift);
    ir_value *elements = ir_build_integer(b, BASE_I64, chunk);
    ir_value *full = ir_build_binary(b, IR_FLOOR_DIV, positions, elements);
    ir_value *padded =
        ir_build_binary(b, IR_ADD, positions, ir_build_integer(b, BASE_I64, chunk - 1));
    ir_value *end = ir_build_binary(b, IR_FLOOR_DIV, padded, elements);
    *whole = (expand_steps){.first = one, .end = full};
    *ends = (expand_steps){.first = zero,
                           .end = end,
                           .step = ir_build_binary(b, IR_MAXIMUM, full, one),
                           .positions = positions};
}
