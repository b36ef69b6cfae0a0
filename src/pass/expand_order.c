/* Expansion of reductions in an order that no plan changes: right and canonical. (left is what a
 * carry does where one worker walks the axis.)
 *
 * Elements of an axis that is walked wait in a private array, a cell for each step: joined with the
 * identity, so that to join another identity to them changes nothing. The right order then walks
 * the array backwards; the canonical one halves it, most significant bit of the element's number
 * first: the steps by loops, then the bits that lanes and slots hold, from the top one down.
 *
 *     slot 4 | lane 32 | subgroup 8 | step *        for h = 2^.., .. 2, 1:
 *                                                       for j: %s[j] = add %s[j], %s[j + h]
 *                                                   %a = pull %s[0] : f32(4)
 *     subgroup bits: all cells meet in scratch      put %a, sync, %b = get : f32(32)
 *     slot bits      %c = add (rename %b slots=(0 .. 15)), (rename %b slots=(16 .. 31)), ..
 *     lane bits      %d = combine sum %c lanes=(16, 8, 4, 2, 1) : f32(4)
 *     slot bits      %e = add (rename %d slots=(0, 1)), (rename %d slots=(2, 3)), ..
 *
 * What layouts can keep which order stands in analysis/orders.h.
 */
#include "pass/expand_internal.h"

enum { ORDER_BITS = 64 };

typedef struct order_bit {
    layout_holder holder;
    int64_t number; /* of the holder: a power of two */
    int64_t weight; /* in the element's number */
} order_bit;

/* The bits of an axis that positions hold, the most significant first. */
static int list_bits(const expand_state *state, int axis, order_bit bits[ORDER_BITS]) {
    const layout_axis *digits = &state->module->axes[axis].digits;
    int count = 0;
    for (int i = 0; i < digits->count; i++) {
        layout_holder holder = digits->digits[i].holder;
        bool holds = holder == LAYOUT_SLOT || holder == LAYOUT_LANE || holder == LAYOUT_SUBGROUP;
        for (int64_t r = 1; holds && r < digits->digits[i].radix && count < ORDER_BITS; r *= 2) {
            order_bit bit = {holder, layout_axis_digit_stride(digits, i) * r,
                             layout_axis_digit_weight(digits, i) * r};
            int at = count++;
            for (; at > 0 && bits[at - 1].weight < bit.weight; at--)
                bits[at] = bits[at - 1];
            bits[at] = bit;
        }
    }
    return count;
}

/* Slots that are left when the first subgroup bit is reached. */
static int slots_below(const order_bit *bits, int count) {
    int slots = 1;
    for (int i = count - 1; i >= 0; i--)
        if (bits[i].holder == LAYOUT_SLOT)
            slots *= 2;
    for (int i = 0; i < count && bits[i].holder != LAYOUT_SUBGROUP; i++)
        if (bits[i].holder == LAYOUT_SLOT)
            slots /= 2;
    return slots;
}

int64_t expand_order_cells(const expand_state *state, const ir_op *reduce) {
    order_bit bits[ORDER_BITS];
    int64_t subgroups = ir_module_subgroups(state->module);
    if (reduce->attributes.order != IR_ORDER_CANONICAL)
        return subgroups;
    int count = list_bits(state, expand_reduce_axis(reduce), bits);
    return subgroups * ir_module_subgroup_lanes(state->module) * slots_below(bits, count);
}

/* v[s] = v[s] + v[s with the bit], by which half as many slots are left; the bits above move down.
 */
static ir_value *halve_slots(expand_state *state, const ir_op *reduce, ir_value *value,
                             int64_t bit) {
    int slots = value->type.slots / 2;
    ir_type type = ir_type_slots(value->type.dtype, slots);
    ir_value *half[2];
    for (int side = 0; side < 2; side++) {
        int64_t *from = BASE_NEW_ARRAY(state->module->arena, int64_t, slots);
        for (int s = 0; s < slots; s++)
            from[s] = (s / bit * 2 + side) * bit + s % bit;
        ir_op *op = ir_build_op(&state->builder, IR_RENAME, 1, &value, 1, &type, 0);
        op->attributes.slots = (ir_list){.count = slots, .items = from};
        half[side] = op->results[0];
    }
    return expand_reduce_join(state, reduce, half[0], half[1]);
}

/* The lanes whose bits wait to be combined get their own cells, all others those of the first, by
 * which it is seen that they hold the same. Where programs share the team each has cells of its
 * own. */
static void add_lane_terms(const expand_state *state, ir_affine *affine, const order_bit *bits,
                           int count) {
    int64_t lanes = ir_module_subgroup_lanes(state->module), left = 1;
    for (int i = 0; i < count; i++)
        left *= bits[i].holder == LAYOUT_LANE ? 2 : 1;
    if (state->packed)
        left = lanes;
    for (int i = 0; i < count && left < lanes; i++)
        if (bits[i].holder == LAYOUT_LANE)
            ir_affine_add(affine, (ir_term){LAYOUT_LANE, bits[i].number,
                                            bits[i].number * 2 == lanes ? 0 : 2, bits[i].number});
    if (left == lanes)
        ir_affine_add(affine, (ir_term){LAYOUT_LANE, 1, 0, 1});
}

/* Cells by position: slot s of lane l of subgroup g at s*(lanes of the team) + g*(lanes of a
 * subgroup) + l. Every lane gets, for each slot, those of all subgroups of the axis: the number of
 * the subgroup becomes the upper bits of the slot's. */
static ir_value *exchange(expand_state *state, const ir_op *reduce, ir_value *value,
                          const order_bit *bits, int count) {
    const expand_axis *axis = &state->axis[expand_reduce_axis(reduce)];
    int64_t lanes = ir_module_subgroup_lanes(state->module), slots = value->type.slots;
    int64_t team = lanes * ir_module_subgroups(state->module);
    ir_affine put = ir_affine_of(1, slots > 1 ? team : 0), get = {0};
    ir_affine_add(&put, (ir_term){LAYOUT_SUBGROUP, 1, 0, lanes});
    add_lane_terms(state, &get, bits, count);
    if (slots > 1)
        ir_affine_add(&get, (ir_term){LAYOUT_SLOT, 1, slots, team});
    for (int i = 0; i < axis->partials.count; i++) {
        ir_term term = axis->partials.terms[i];
        if (term.holder == LAYOUT_SLOT)
            term.divide *= slots;
        term.stride *= lanes;
        ir_affine_add(&get, term);
    }
    expand_exchange moves = {.user = reduce,
                             .value = value,
                             .put = expand_iota(state, &put, (int)slots),
                             .get = expand_iota(state, &get, (int)(slots * axis->subgroups)),
                             .slots = (int)(slots * axis->subgroups)};
    return expand_scratch_exchange(state, &moves);
}

/* Neighbouring lane bits are one op. */
static ir_value *combine_lanes(expand_state *state, const ir_op *reduce, ir_value *value,
                               const order_bit *bits, int count) {
    int64_t *masks = BASE_NEW_ARRAY(state->module->arena, int64_t, count);
    for (int i = 0; i < count; i++)
        masks[i] = bits[i].number;
    value = expand_reduce_build(state, IR_COMBINE, reduce, value, value->type);
    value->definer->attributes.lanes = (ir_list){.count = count, .items = masks};
    return value;
}

/* Slot bits below `bit` that are still there. */
static int64_t place_of(const order_bit *bits, int count, int64_t bit) {
    int64_t place = 1;
    for (int i = 0; i < count; i++)
        if (bits[i].holder == LAYOUT_SLOT && bits[i].number < bit)
            place *= 2;
    return place;
}

static ir_value *halve_bits(expand_state *state, const ir_op *reduce, ir_value *value) {
    order_bit bits[ORDER_BITS];
    int count = list_bits(state, expand_reduce_axis(reduce), bits);
    for (int i = 0; i < count;) {
        if (bits[i].holder == LAYOUT_SUBGROUP) {
            value = exchange(state, reduce, value, &bits[i], count - i);
            for (int k = i; k < count; k++)
                if (bits[k].holder == LAYOUT_SUBGROUP) {
                    bits[k].holder = LAYOUT_SLOT; /* above all that were there */
                    bits[k].number *= INT64_C(1) << 32;
                }
        }
        if (bits[i].holder == LAYOUT_SLOT) {
            value = halve_slots(state, reduce, value,
                                place_of(&bits[i + 1], count - i - 1, bits[i].number));
            i++;
            continue;
        }
        int lanes = 1;
        while (i + lanes < count && bits[i + lanes].holder == LAYOUT_LANE)
            lanes++;
        value = combine_lanes(state, reduce, value, &bits[i], lanes);
        i += lanes;
    }
    if (state->packed)
        return value;
    if (state->module->lanes == 1) /* all lanes: itself */
        return expand_reduce_build(state, IR_COMBINE, reduce, value,
                                   ir_type_uniform(value->type.dtype));
    value->scope = IR_SCOPE_GROUP; /* no lane has elements of its own left */
    return expand_uniform(state, value);
}

ir_value *expand_order_finish(expand_state *state, const ir_op *reduce, ir_value *carry,
                              bool over_lanes) {
    if (expand_order_keeps(state, reduce))
        carry = expand_order_array(state, reduce, carry);
    if (reduce->attributes.order == IR_ORDER_CANONICAL && over_lanes)
        carry = halve_bits(state, reduce, carry);
    return carry;
}
