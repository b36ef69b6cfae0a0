/* Pieces of an axis: what a worker does of a ragged width, with as many slots as it takes.
 *
 *     N = 1537 on slot 4 | lane 32 | subgroup 4 | slot 4     three chunks of 512 and one element
 *
 *     slots 0..7    elements 0 .. 1023          full
 *     slots 8..11   elements 1024 .. 1535       full
 *     slot 12       elements 1536 + lane*4 + subgroup*128 < 1      the guarded rest
 *
 * Steps of all slots come first. Where the most significant digits of a chunk are slots, what is
 * left is cut into parts of it that are full, each a piece of its own with as many slots less:
 * thirds, fifths and so on where their number has an odd factor, then halves; the smallest chunk
 * that is left in part is guarded, with those slots alone that some lane fills. Of an extent that
 * comes when the kernel runs, single chunks are a loop, the guarded one behind it; where all chunks
 * lie in registers, each single one is a piece of its own (expand_once.c).
 *
 * A piece is expanded as a sweep over an axis with fewer slots (expand_narrow.c). An axis is not
 * cut where one of its tiles is needed as a whole (conversions, loops and branches of the kernel),
 * where sweeps that share it end at different places, where it is shifted and reduced in another
 * order than `tree` or ends where the run says (pieces of others: expand_shift.c), and where it has
 * steps, ends where the run says, and is reduced in an order other than the plan's own.
 */
#include "pass/expand_internal.h"

/* ---- parts of the slots ---- */

/* The first position of the upper half of the slots. */
static int64_t upper_half(const expand_axis *axis, int slots) {
    return ir_affine_at(&axis->affine, (ir_position){.slot = slots / 2});
}

/* Equal parts of the slots are equal parts of the chunk, one behind the other. */
static bool are_parts(const expand_axis *axis, int parts) {
    if (axis->slots % parts != 0 || axis->chunk % parts != 0)
        return false;
    for (int i = 1; i < parts; i++)
        if (ir_affine_at(&axis->affine, (ir_position){.slot = axis->slots / parts * i}) !=
            axis->chunk / parts * i)
            return false;
    return true;
}

/* The slots of the smallest full piece, of so many elements or more. */
static int smallest_slots(const expand_axis *axis, int64_t elements) {
    int parts = axis->slots;
    while (parts > 1 && (!are_parts(axis, parts) || axis->chunk / parts < elements))
        parts--;
    return axis->slots / parts;
}

/* Into how many parts so many smallest pieces are cut next: an odd number of them first, so that a
 * state that is folded for the parts is folded as all of it would be. */
static int next_parts(int pieces) {
    int odd = pieces;
    while (odd % 2 == 0)
        odd /= 2;
    return odd > 1 ? odd : 2;
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

/* Pieces of a known extent have their places among the slots of the whole (expand_order_piece). */
static bool keeps_order(const expand_state *state, const ir_op *sweep, const ir_op *reduce) {
    int axis = expand_reduce_axis(reduce);
    bool found;
    int64_t bound;
    bool stepped = layout_axis_has(&state->module->axes[axis].digits, LAYOUT_STEP);
    return reduce->attributes.order == IR_ORDER_CANONICAL && state->axis[axis].shift == NULL &&
           (!stepped || expand_common_domain(sweep, axis, &found) == NULL) &&
           layout_extent_known(&state->module->extents, state->module->axes[axis].extent, &bound);
}

static void look_at_sweep(cut_search *search, const ir_op *sweep) {
    for (int i = 0; i < sweep->attributes.axis_count; i++) {
        int axis = sweep->attributes.axes[i];
        bool found;
        const ir_value *domain = expand_common_domain(sweep, axis, &found);
        bool differs =
            domain != NULL && search->state->packed && search->state->varies[domain->number];
        if (differs || !ends_alike(sweep, axis, domain))
            search->state->axis[axis].cut = false;
        *(domain == NULL ? &search->whole[axis] : &search->limited[axis]) = true;
    }
    for (const ir_op *op = sweep->regions[0]->first; op != NULL; op = op->next)
        if (op->opcode == IR_REDUCE && op->attributes.order != IR_ORDER_TREE &&
            expand_reduce_axis(op) >= 0 && !keeps_order(search->state, sweep, op))
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

/* Full chunks: steps where the axis has some, else each a piece of its own, which has registers. */
static void add_full(expand_axis *axis, expand_piece piece, bool stepped) {
    expand_piece one = piece;
    one.steps = 1;
    for (int64_t i = 0; !stepped && i < piece.steps; i++, one.first++)
        add_piece(axis, one);
    if (stepped)
        add_piece(axis, piece);
}

/* Slots that some lane fills with an element below `rest`. */
static int filled_slots(const expand_axis *axis, int slots, int64_t rest) {
    while (slots % 2 == 0 && upper_half(axis, slots) >= rest)
        slots /= 2;
    return slots;
}

static void find_known(expand_axis *axis, int64_t bound, bool stepped) {
    int slots = axis->slots, least = axis->cut ? smallest_slots(axis, 1) : slots;
    int64_t chunk = axis->chunk, at = bound / chunk * chunk;
    add_piece(axis, (expand_piece){.slots = slots, .chunk = chunk, .steps = bound / chunk});
    while (slots > least) {
        int parts = next_parts(slots / least);
        slots /= parts;
        chunk /= parts;
        int64_t steps = (bound - at) / chunk;
        add_full(
            axis,
            (expand_piece){.slots = slots, .chunk = chunk, .first = at / chunk, .steps = steps},
            stepped);
        at += steps * chunk;
    }
    int64_t rest = bound - at;
    slots = axis->cut ? filled_slots(axis, slots, rest) : slots;
    add_piece(axis, (expand_piece){.slots = slots,
                                   .chunk = chunk,
                                   .first = at / chunk,
                                   .steps = rest > 0 ? 1 : 0,
                                   .rest = rest});
}

/* Of an axis without steps that may end anywhere: what the run has of these is full. */
static void find_once(expand_axis *axis, int64_t bound) {
    int least = smallest_slots(axis, 1);
    expand_piece piece = {.slots = least, .chunk = axis->chunk / (axis->slots / least), .steps = 1};
    for (; piece.first < bound / piece.chunk; piece.first++)
        add_piece(axis, piece);
    add_piece(axis, piece);
}

static void find_pieces(expand_state *state, int i, bool limited) {
    expand_axis *axis = &state->axis[i];
    const ir_axis *owner = &state->module->axes[i];
    bool stepped = layout_axis_has(&owner->digits, LAYOUT_STEP);
    int64_t bound;
    axis->pieces = BASE_NEW_ARRAY(state->module->arena, expand_piece, axis->slots + 4);
    bool known = layout_extent_known(&state->module->extents, owner->extent, &bound);
    if (axis->shift != NULL) {
        axis->cut = axis->known = axis->cut && known && bound > 0 && !limited;
        int64_t shifts = layout_axis_shifts(&owner->digits);
        if (axis->known)
            expand_shifted_pieces(axis, shifts, bound, smallest_slots(axis, shifts), stepped);
    } else if (known && !(axis->cut && limited)) {
        axis->known = true;
        find_known(axis, bound, stepped);
    } else if (known && axis->cut && !stepped) {
        find_once(axis, bound);
    } else if (axis->cut) {
        axis->pieces[0] = (expand_piece){.slots = axis->slots, .chunk = axis->chunk};
        int least = smallest_slots(axis, 1);
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
        axis->cut = axis->spread && !owner->is_program && axis->constant == 0;
    }
    look_at_region(&search, mapped);
    for (int i = 0; i < state->module->axis_count; i++) {
        if (search.whole[i] && search.limited[i])
            state->axis[i].cut = false;
        if (search.whole[i] || search.limited[i])
            find_pieces(state, i, search.limited[i]);
    }
}
