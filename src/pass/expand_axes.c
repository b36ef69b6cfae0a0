/* How lanes hold each axis, from its digits.
 *
 *     slot 4 | lane 32 | subgroup 8 | slot 4    element lane*4 + subgroup*128 + slot % 4*1 +
 *                                               slot/4*1024
 *     lane 2 @2 | lane 2 @1 | lane 8 xor 3      element 3 - lane/2 % 2*1 - lane % 2*2 + lane/4*4
 *     lane 8, where a subgroup has 32           element lane % 8*1; lane/8 numbers the copies,
 *                                               or programs, where an axis of them says `lane 4 @8`
 */
#include "pass/expand_internal.h"

enum { LANE_BITS = 63 }; /* of a number that an int64_t holds */

static bool is_position(layout_holder holder) {
    return holder == LAYOUT_LANE || holder == LAYOUT_SUBGROUP || holder == LAYOUT_SLOT;
}

static int64_t holder_range(const expand_state *state, const layout_axis *digits,
                            layout_holder holder) {
    return holder == LAYOUT_LANE       ? ir_module_subgroup_lanes(state->module)
           : holder == LAYOUT_SUBGROUP ? ir_module_subgroups(state->module)
                                       : layout_axis_radix(digits, LAYOUT_SLOT);
}

static void add_term(const expand_state *state, const layout_axis *digits, ir_affine *affine,
                     layout_digit digit, int64_t weight) {
    bool top = digit.stride * digit.radix == holder_range(state, digits, digit.holder);
    ir_affine_add(affine, (ir_term){.holder = digit.holder,
                                    .divide = digit.stride,
                                    .modulus = top ? 0 : digit.radix,
                                    .stride = weight});
}

/* A digit in runs of bits that the exclusive or leaves, or turns round. */
static void add_digit(const expand_state *state, const layout_axis *digits, expand_axis *axis,
                      layout_digit digit, int64_t weight) {
    while (digit.radix > 1) {
        int64_t turned = digits->exclusive_or / weight & 1, radix = digit.radix;
        if (digits->exclusive_or != 0)
            for (radix = 2;
                 radix < digit.radix && (digits->exclusive_or / (weight * radix) & 1) == turned;)
                radix *= 2;
        layout_digit run = {.holder = digit.holder, .radix = radix, .stride = digit.stride};
        add_term(state, digits, &axis->affine, run, turned ? -weight : weight);
        axis->constant += turned ? (radix - 1) * weight : 0;
        digit.stride *= radix;
        digit.radix /= radix;
        weight *= radix;
    }
}

/* Whether a program is told by the digit, or an element of the axis. */
static bool is_counted(const ir_axis *other, const layout_axis *digits) {
    return other->is_program || &other->digits == digits;
}

/* The digit of the holder that begins first from `end` on: where, and where it ends. */
static void find_digit(const expand_state *state, const layout_axis *digits, layout_holder holder,
                       int64_t end, int64_t *begin, int64_t *after) {
    for (int a = 0; a < state->module->axis_count; a++) {
        const ir_axis *axis = &state->module->axes[a];
        for (int i = 0; i < axis->digits.count && is_counted(axis, digits); i++) {
            layout_digit digit = axis->digits.digits[i];
            int64_t stride = layout_axis_digit_stride(&axis->digits, i);
            if (digit.holder == holder && digit.radix > 1 && stride >= end && stride < *begin) {
                *begin = stride;
                *after = stride * digit.radix;
            }
        }
    }
}

/* Positions of a holder that no digit counts, of the axis (NULL: of none) or of programs, are
 * copies. */
static void add_replicas(const expand_state *state, const layout_axis *digits, ir_affine *replica,
                         layout_holder holder) {
    int64_t range = holder_range(state, digits, holder);
    for (int64_t end = 1; end < range;) {
        int64_t next = range, after = range;
        find_digit(state, digits, holder, end, &next, &after);
        if (next > end)
            ir_affine_add(replica, (ir_term){.holder = holder,
                                             .divide = end,
                                             .modulus = next == range ? 0 : next / end,
                                             .stride = 1});
        end = after;
    }
}

/* Subgroups of other programs have partial results of their own. */
static void add_own_program(const expand_state *state, expand_axis *axis) {
    for (int a = 0; a < state->module->axis_count; a++) {
        const layout_axis *digits = &state->module->axes[a].digits;
        for (int k = 0; k < digits->count && state->module->axes[a].is_program; k++) {
            layout_digit digit = digits->digits[k];
            digit.stride = layout_axis_digit_stride(digits, k);
            if (digit.holder == LAYOUT_SUBGROUP && digit.radix > 1)
                add_term(state, digits, &axis->partials, digit, digit.stride);
        }
    }
}

/* The subgroups that hold different elements, numbered by slots: digits from the lowest on. */
static void add_partials(const expand_state *state, const layout_axis *digits, expand_axis *axis) {
    int64_t found = 1;
    for (int64_t stride = 1; stride < ir_module_subgroups(state->module); stride++)
        for (int k = 0; k < digits->count; k++) {
            layout_digit digit = digits->digits[k];
            if (digit.holder != LAYOUT_SUBGROUP || digit.radix == 1 ||
                layout_axis_digit_stride(digits, k) != stride)
                continue;
            found *= digit.radix;
            ir_affine_add(&axis->partials,
                          (ir_term){.holder = LAYOUT_SLOT,
                                    .divide = found / digit.radix,
                                    .modulus = found == axis->subgroups ? 0 : digit.radix,
                                    .stride = stride});
        }
}

/* The bits of the lane number that its digits count, from the lowest on. */
static ir_list find_lane_bits(const expand_state *state, const layout_axis *digits) {
    int64_t *masks = BASE_NEW_ARRAY(state->module->arena, int64_t, LANE_BITS);
    int count = 0;
    for (int64_t bit = 1; bit < ir_module_subgroup_lanes(state->module); bit *= 2)
        for (int k = 0; k < digits->count; k++) {
            int64_t stride = layout_axis_digit_stride(digits, k);
            if (digits->digits[k].holder == LAYOUT_LANE && bit >= stride &&
                bit < stride * digits->digits[k].radix)
                masks[count++] = bit;
        }
    return (ir_list){.count = count, .items = masks};
}

/* What a reduction of the axis brings together. */
static void add_partners(const expand_state *state, const layout_axis *digits, expand_axis *axis) {
    axis->lanes = layout_axis_radix(digits, LAYOUT_LANE);
    axis->subgroups = layout_axis_radix(digits, LAYOUT_SUBGROUP);
    axis->blocks = layout_axis_radix(digits, LAYOUT_BLOCK);
    axis->lane_bits = find_lane_bits(state, digits);
    add_partials(state, digits, axis);
    add_own_program(state, axis);
}

static void begin_axis(const expand_state *state, const ir_axis *from, expand_axis *axis) {
    const layout_axis *digits = &from->digits;
    *axis = (expand_axis){.slots = 1, .chunk = 1};
    for (int k = 0; k < digits->count; k++)
        axis->spread = axis->spread || (is_position(digits->digits[k].holder) &&
                                        (digits->digits[k].radix > 1 || !from->is_program));
    if (!axis->spread)
        return;
    axis->slots = (int)layout_axis_radix(digits, LAYOUT_SLOT);
    axis->chunk = layout_axis_chunk(digits);
    for (int k = 0; k < digits->count; k++) {
        layout_digit digit = digits->digits[k];
        digit.stride = layout_axis_digit_stride(digits, k);
        if (is_position(digit.holder))
            add_digit(state, digits, axis, digit, layout_axis_digit_weight(digits, k));
    }
}

void expand_axes(expand_state *state) {
    const ir_module *module = state->module;
    for (int i = 0; i < module->axis_count; i++) {
        const layout_axis *digits = &module->axes[i].digits;
        expand_axis *axis = &state->axis[i];
        begin_axis(state, &module->axes[i], axis);
        state->packed = state->packed || (module->axes[i].is_program && axis->spread);
        if (!axis->spread || module->axes[i].is_program)
            continue;
        add_partners(state, digits, axis);
        add_replicas(state, digits, &axis->replica, LAYOUT_LANE);
        add_replicas(state, digits, &axis->replica, LAYOUT_SUBGROUP);
    }
    if (!state->packed)
        return;
    add_replicas(state, NULL, &state->replica, LAYOUT_LANE);
    add_replicas(state, NULL, &state->replica, LAYOUT_SUBGROUP);
}
