/* An axis in a piece (expand_pieces.c): fewer slots, the same elements.
 *
 *     slot 4 | lane 32 | slot 6, in thirds      slot 4 | lane 32 | slot 2 | step 3
 *     lane*4 + slot % 4*1 + slot/4*128          the same, of slots 0..7
 *
 * The piece is expanded as a sweep over that axis; what is kept of it has registers, or an array,
 * of its own, and accesses the width that its slots allow.
 */
#include "pass/expand_internal.h"

/* ---- fewer slots ---- */

/* Digits with the slots below `slots` alone; false where they cannot be written. */
static bool narrow_digits(const layout_axis *digits, int64_t times, layout_axis *narrow) {
    *narrow = *digits;
    narrow->count = 0;
    int64_t left = times;
    bool stepped = false;
    for (int i = digits->count - 1; i >= 0; i--)
        stepped = stepped || digits->digits[i].holder == LAYOUT_STEP;
    if (!stepped && digits->count == LAYOUT_MAX_DIGITS)
        return false;
    for (int i = 0; i < digits->count; i++) {
        narrow->digits[narrow->count] = digits->digits[i];
        narrow->digits[narrow->count++].stride = layout_axis_digit_stride(digits, i);
    }
    for (int i = narrow->count - 1; i >= 0 && left > 1; i--) {
        layout_digit *digit = &narrow->digits[i];
        if (digit->holder == LAYOUT_STEP) {
            digit->radix *= times;
        } else {
            int64_t cut = digit->radix < left ? digit->radix : left;
            if (digit->radix % cut != 0 || left % cut != 0)
                return false;
            digit->radix /= cut;
            left /= cut;
        }
    }
    if (!stepped)
        narrow->digits[narrow->count++] =
            (layout_digit){.holder = LAYOUT_STEP, .radix = times, .stride = 1};
    return true;
}

/* The form for the first so many slots, a part of all that begins a digit or halves one. */
static ir_affine narrow_affine(const ir_affine *affine, int slots) {
    ir_affine narrow = {0};
    for (int i = 0; i < affine->count; i++) {
        ir_term term = affine->terms[i];
        if (term.holder == LAYOUT_SLOT && term.divide >= slots)
            continue;
        if (term.holder == LAYOUT_SLOT && term.modulus != 0 && term.divide * term.modulus >= slots)
            term.modulus = 0;
        ir_affine_add(&narrow, term);
    }
    return narrow;
}

/* ---- the axis, and what is kept of it ---- */

expand_axis expand_piece_axis(expand_state *state, int axis, int piece) {
    expand_axis narrow = state->axis[axis];
    const expand_piece *of = &narrow.pieces[piece];
    layout_axis *digits = BASE_NEW(state->module->arena, layout_axis);
    int64_t times = narrow.chunk / of->chunk;
    narrow.scattered = of->slots * times != narrow.slots ||
                       !narrow_digits(&state->module->axes[axis].digits, times, digits);
    narrow.digits = digits;
    narrow.affine = narrow_affine(&narrow.affine, of->slots);
    narrow.slots = of->slots;
    narrow.chunk = of->chunk;
    bool each = of->steps > 0; /* so many steps, else as many as the run takes */
    if (narrow.cut && (each || piece > 0))
        narrow.cells = layout_extent_constant(&state->module->extents, each ? of->steps : times);
    return narrow;
}

static int cut_axis(const expand_state *state, const ir_value *mapped) {
    for (int i = 0; i < mapped->type.rank; i++)
        if (mapped->layout.axis[i] >= 0 && state->axis[mapped->layout.axis[i]].cut)
            return mapped->layout.axis[i];
    return -1;
}

bool expand_declare_pieces(expand_state *state, const ir_value *mapped) {
    int axis = cut_axis(state, mapped);
    if (axis < 0)
        return false;
    expand_axis whole = state->axis[axis];
    ir_value **kept = BASE_NEW_ARRAY(state->module->arena, ir_value *, whole.piece_count);
    state->pieces[mapped->number] = kept;
    for (int p = 0; p < whole.piece_count && mapped->storage == IR_STORAGE_PRIVATE; p++) {
        state->axis[axis] = expand_piece_axis(state, axis, p);
        kept[p] = expand_declare_array(state, mapped);
        state->axis[axis] = whole;
    }
    return true;
}

/* Runs of `width` slots, or lanes, come to neighbours. */
static bool has_runs(const ir_access *access, layout_holder holder, int64_t count) {
    for (int d = 0; d < access->rank; d++)
        for (int64_t i = 0; i < count; i++) {
            int64_t behind = i % access->width, first = i - behind;
            ir_position here = {.slot = i}, start = {.slot = first};
            if (holder == LAYOUT_LANE) {
                here = (ir_position){.lane = i};
                start = (ir_position){.lane = first};
            }
            if (ir_affine_at(&access->index[d].affine, here) -
                    ir_affine_at(&access->index[d].affine, start) !=
                (d + 1 == access->rank ? behind : 0))
                return false;
        }
    return count % access->width == 0;
}

void expand_piece_width(const expand_state *state, int axis, ir_access *access, int slots) {
    bool narrow = axis >= 0 && state->axis[axis].digits != NULL;
    while (narrow && access->width > 1 && !has_runs(access, LAYOUT_SLOT, slots) &&
           !has_runs(access, LAYOUT_LANE, ir_module_subgroup_lanes(state->module)))
        access->width /= 2;
}
