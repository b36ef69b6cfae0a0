/* Pieces of an axis: what a worker does of a ragged width, with as many slots as it takes.
 *
 *     N = 1537 on slot 4 | lane 32 | subgroup 4 | slot 4     three chunks of 512 and one element
 *
 *     slots 0..7    elements 0 .. 1023          full
 *     slots 8..11   elements 1024 .. 1535       full
 *     slot 12       elements 1536 + lane*4 + subgroup*128 < 1      the guarded rest
 *
 * Steps of all slots come first. Where the most significant digits of a chunk are slots, what is
 * left is cut into halves of it that are full, each a piece of its own with half the slots; the
 * smallest chunk that is left in part is guarded, with those slots alone that some lane fills. Of
 * an extent that comes when the kernel runs, single chunks are a loop, the guarded one behind it.
 *
 * A piece is expanded as a sweep over an axis with fewer slots; what is kept of it has registers,
 * or an array, of its own. An axis is not cut where one of its tiles is needed as a whole
 * (conversions, loops and branches of the kernel), where sweeps that share it end at different
 * places, where it is reduced in an order other than the plan's own, and where it is shifted.
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
            digit->radix /= cut;
            left /= cut;
        }
    }
    if (!stepped)
        narrow->digits[narrow->count++] =
            (layout_digit){.holder = LAYOUT_STEP, .radix = times, .stride = 1};
    return true;
}

/* The form for slots below a power of two. */
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

/* The first position of the upper half of the slots. */
static int64_t upper_half(const expand_axis *axis, int slots) {
    return ir_affine_at(&axis->affine, (ir_position){.slot = slots / 2});
}

/* The slots of the smallest full piece: halves of the slots are halves of the chunk. */
static int smallest_slots(const expand_axis *axis) {
    int slots = axis->slots;
    int64_t chunk = axis->chunk;
    while (slots % 2 == 0 && chunk % 2 == 0 && upper_half(axis, slots) == chunk / 2) {
        slots /= 2;
        chunk /= 2;
    }
    return slots;
}

/* ---- which axes ---- */

typedef struct cut_search {
    expand_state *state;
    bool whole[EXPAND_MAX_AXES], limited[EXPAND_MAX_AXES]; /* sweeps end at the extent, or before */
} cut_search;

static void keep_whole(cut_search *search, const ir_value *value) {
    for (int i = 0; value->type.form == IR_FORM_TILE && i < value->type.rank; i++)
        if (value->layout.axis[i] >= 0)
            search->state->axis[value->layout.axis[i]].cut = false;
}

static void look_at_region(cut_search *search, const ir_region *region);

/* What an earlier sweep kept has the pieces of that one. */
static bool ends_alike(const ir_op *sweep, int axis, const ir_value *domain) {
    bool found;
    for (const ir_op *op = sweep->regions[0]->first; op != NULL; op = op->next)
        for (int i = 0; i < op->operand_count; i++) {
            const ir_op *other = op->operands[i]->definer;
            if (other != NULL && other->opcode == IR_SWEEP && op->operands[i]->type.rank > 0 &&
                expand_common_domain(other, axis, &found) != domain)
                return false;
        }
    return true;
}

static void look_at_sweep(cut_search *search, const ir_op *sweep) {
    for (int i = 0; i < sweep->attributes.axis_count; i++) {
        int axis = sweep->attributes.axes[i];
        bool found;
        const ir_value *domain = expand_common_domain(sweep, axis, &found);
        if (!ends_alike(sweep, axis, domain))
            search->state->axis[axis].cut = false;
        *(domain == NULL ? &search->whole[axis] : &search->limited[axis]) = true;
    }
    for (const ir_op *op = sweep->regions[0]->first; op != NULL; op = op->next)
        if (op->opcode == IR_REDUCE && op->attributes.order != IR_ORDER_TREE &&
            expand_reduce_axis(op) >= 0)
            search->state->axis[expand_reduce_axis(op)].cut = false;
}

static void look_at_op(cut_search *search, const ir_op *op) {
    if (op->opcode == IR_SWEEP) {
        look_at_sweep(search, op);
        return;
    }
    for (int i = 0; i < op->operand_count; i++)
        keep_whole(search, op->operands[i]);
    for (int i = 0; i < op->result_count; i++)
        keep_whole(search, op->results[i]);
    for (int i = 0; i < op->region_count; i++)
        look_at_region(search, op->regions[i]);
}

static void look_at_region(cut_search *search, const ir_region *region) {
    for (int i = 0; i < region->argument_count; i++)
        keep_whole(search, region->arguments[i]);
    for (const ir_op *op = region->first; op != NULL; op = op->next)
        look_at_op(search, op);
}

/* ---- the pieces of a known extent ---- */

static void add_piece(expand_axis *axis, expand_piece piece) {
    if (piece.steps > 0)
        axis->pieces[axis->piece_count++] = piece;
}

/* Slots that some lane fills with an element below `rest`. */
static int filled_slots(const expand_axis *axis, int slots, int64_t rest) {
    while (slots % 2 == 0 && upper_half(axis, slots) >= rest)
        slots /= 2;
    return slots;
}

static void find_known(expand_axis *axis, int64_t bound) {
    int least = axis->cut ? smallest_slots(axis) : axis->slots;
    int64_t chunk = axis->chunk, at = bound / chunk * chunk;
    add_piece(axis, (expand_piece){.slots = axis->slots, .chunk = chunk, .steps = bound / chunk});
    for (int slots = axis->slots / 2; slots >= least; slots /= 2) {
        chunk /= 2;
        int64_t steps = (bound - at) / chunk;
        add_piece(axis, (expand_piece){
                            .slots = slots, .chunk = chunk, .first = at / chunk, .steps = steps});
        at += steps * chunk;
    }
    int64_t rest = bound - at;
    int slots = axis->cut ? filled_slots(axis, least, rest) : axis->slots;
    add_piece(axis, (expand_piece){.slots = slots,
                                   .chunk = chunk,
                                   .first = at / chunk,
                                   .steps = rest > 0 ? 1 : 0,
                                   .rest = rest});
}

static void find_pieces(expand_state *state, int i, bool limited) {
    expand_axis *axis = &state->axis[i];
    const ir_axis *owner = &state->module->axes[i];
    bool stepped = layout_axis_has(&owner->digits, LAYOUT_STEP);
    int64_t bound;
    axis->cut = axis->cut && (!limited || stepped);
    bool known = layout_extent_known(&state->module->extents, owner->extent, &bound);
    if (known && !(axis->cut && limited)) {
        axis->known = true;
        find_known(axis, bound);
    } else if (axis->cut) {
        axis->pieces[0] = (expand_piece){.slots = axis->slots, .chunk = axis->chunk};
        int least = smallest_slots(axis);
        axis->pieces[1] =
            (expand_piece){.slots = least, .chunk = axis->chunk / (axis->slots / least)};
        axis->piece_count = 2;
    }
    bool alike = true;
    for (int p = 0; p < axis->piece_count; p++)
        alike = alike && axis->pieces[p].slots == axis->slots;
    axis->cut = axis->cut && !alike;
}

void expand_pieces(expand_state *state, const ir_region *mapped) {
    cut_search search = {.state = state};
    for (int i = 0; i < state->module->axis_count; i++) {
        expand_axis *axis = &state->axis[i];
        const ir_axis *owner = &state->module->axes[i];
        axis->cut = axis->spread && !owner->is_program && axis->constant == 0 &&
                    owner->digits.shift == NULL && (axis->slots & (axis->slots - 1)) == 0;
    }
    look_at_region(&search, mapped);
    for (int i = 0; i < state->module->axis_count; i++) {
        if (search.whole[i] && search.limited[i])
            state->axis[i].cut = false;
        if (search.whole[i] || search.limited[i])
            find_pieces(state, i, search.limited[i]);
    }
}

/* ---- in a piece ---- */

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
    if (narrow.cut && (narrow.known || piece > 0))
        narrow.cells =
            layout_extent_constant(&state->module->extents, narrow.known ? of->steps : times);
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
    ir_value **kept = BASE_NEW_ARRAY(state->module->arena, ir_value *, EXPAND_MAX_PIECES);
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
