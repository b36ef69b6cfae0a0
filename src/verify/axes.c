/* Axes of a planned module: axis-digits, axis-cover. Levels mapped and thread.
 *
 *     team 8
 *     axis row program row extent R digits group *
 *     axis N   extent N digits lane 8 | slot 4 | step *     8 lanes: the team
 *
 *     team 256    subgroup 32                               two programs of four subgroups
 *     axis row program row extent R digits subgroup 2 @4 | group *
 *     axis N   extent N digits slot 4 | lane 32 | subgroup 4 | step *
 *
 * Each axis of elements is held on its own, in the numbers of the team that its digits count; what
 * they leave out are copies. Digits of programs are apart from those of any other axis.
 */
#include "verify/verify_internal.h"

#include "base/checked.h"

static bool is_of_lane(layout_holder holder) {
    return holder == LAYOUT_LANE || holder == LAYOUT_SUBGROUP || holder == LAYOUT_SLOT;
}

/* Elements of a step know nothing of it. */
static bool is_outside(layout_holder holder) {
    return holder == LAYOUT_STEP || holder == LAYOUT_GROUP;
}

/* Where the numbers of a holder end that the digits of an axis count. */
static int64_t counted_range(const layout_axis *digits, layout_holder holder) {
    int64_t range = 1;
    for (int i = 0; i < digits->count; i++) {
        int64_t end = layout_axis_digit_stride(digits, i) * digits->digits[i].radix;
        if (digits->digits[i].holder == holder && digits->digits[i].radix > 1 && end > range)
            range = end;
    }
    return range;
}

/* What the rules and the passes of these levels count on, of all that layouts can say. */
static const char *digits_refusal(const layout_axis *axis) {
    int64_t counted[LAYOUT_HOLDER_COUNT] = {0};
    const layout_digit *below = NULL;
    for (const layout_digit *digit = axis->digits; digit < axis->digits + axis->count; digit++) {
        bool outside = is_outside(digit->holder);
        if (!is_of_lane(digit->holder) && (++counted[digit->holder] > 1 || digit->stride > 1))
            return "one block, step or group digit, without a stride of its own";
        if (!outside && below != NULL && is_outside(below->holder))
            return "slot, lane, subgroup and block digits below step and group digits";
        below = digit;
    }
    if (counted_range(axis, LAYOUT_SLOT) != layout_axis_radix(axis, LAYOUT_SLOT))
        return "slots that the digits count without a gap";
    return NULL;
}

/* A shifted axis: vectors, of slots or lanes in a row, begin at whole vectors of its positions. */
static const char *shift_refusal(const ir_axis *axis) {
    const layout_axis *digits = &axis->digits;
    if (digits->shift == NULL)
        return NULL;
    bool vector =
        digits->count > 0 && digits->digits[0].radix > 1 &&
        (digits->digits[0].holder == LAYOUT_SLOT || digits->digits[0].holder == LAYOUT_LANE);
    return vector && !axis->is_program && digits->exclusive_or == 0
               ? NULL
               : "a shifted axis is of elements, its first digit of slots or lanes, without xor";
}

/* Elements that the groups of a cluster share are on all of them, and on the lanes of each. */
static const char *block_refusal(const ir_module *module, const ir_axis *axis) {
    int64_t blocks = layout_axis_radix(&axis->digits, LAYOUT_BLOCK);
    if (!layout_axis_has(&axis->digits, LAYOUT_BLOCK))
        return NULL;
    bool spread = false;
    for (int i = 0; i < axis->digits.count; i++)
        spread = spread || is_of_lane(axis->digits.digits[i].holder);
    return blocks == module->cluster && spread && !axis->is_program && axis->digits.shift == NULL &&
                   axis->digits.exclusive_or == 0
               ? NULL
               : "an axis on blocks is of elements, on lanes or slots of each group of the "
                 "cluster, without shift and xor";
}

static void rule_axis_digits(verify_state *state, const ir_axis *axis) {
    const char *anchor = axis->anchor != NULL ? axis->anchor : "-";
    const char *reason = layout_axis_check(&axis->digits);
    if (reason == NULL)
        reason = digits_refusal(&axis->digits);
    if (reason == NULL)
        reason = shift_refusal(axis);
    bool group = layout_axis_has(&axis->digits, LAYOUT_GROUP);
    if (reason == NULL && axis->is_program &&
        (axis->program < 0 || axis->program >= state->module->program_count))
        reason = "a program axis names a program";
    if (reason == NULL && axis->is_program != group)
        reason = "program axes have a group digit, element axes have none";
    if (reason == NULL)
        reason = block_refusal(state->module, axis);
    if (reason != NULL)
        verify_report(state, VERIFY_AXIS_DIGITS, NULL, reason, "axis %s has other digits", anchor);
}

/* Both count in the same places of one number. */
static bool digits_overlap(layout_digit a, layout_digit b) {
    layout_digit low = a.stride <= b.stride ? a : b, high = a.stride <= b.stride ? b : a;
    int64_t end = 0;
    if (a.holder != b.holder || a.radix <= 1 || b.radix <= 1 || low.stride < 1)
        return false;
    return !base_checked_mul(low.stride, low.radix, &end) || high.stride % end != 0;
}

static bool axes_overlap(const layout_axis *a, const layout_axis *b) {
    for (int i = 0; i < a->count; i++)
        for (int k = 0; k < b->count; k++) {
            layout_digit x = a->digits[i], y = b->digits[k];
            x.stride = layout_axis_digit_stride(a, i);
            y.stride = layout_axis_digit_stride(b, k);
            if ((x.holder == LAYOUT_LANE || x.holder == LAYOUT_SUBGROUP) && digits_overlap(x, y))
                return true;
        }
    return false;
}

/* A lane, and a subgroup, has one program of each axis, whatever elements it has. */
static bool programs_stand_apart(const ir_module *module) {
    for (int i = 0; i < module->axis_count; i++)
        for (int k = 0; k < module->axis_count; k++)
            if (i != k && module->axes[i].is_program &&
                layout_axis_check(&module->axes[i].digits) == NULL &&
                layout_axis_check(&module->axes[k].digits) == NULL &&
                axes_overlap(&module->axes[i].digits, &module->axes[k].digits))
                return false;
    return true;
}

/* The axes count the lanes and subgroups of the team. */
static void rule_team_lanes(verify_state *state) {
    int64_t lanes = 1, subgroups = 1;
    for (int i = 0; i < state->module->axis_count; i++) {
        const layout_axis *digits = &state->module->axes[i].digits;
        if (layout_axis_check(digits) != NULL)
            continue;
        int64_t here = counted_range(digits, LAYOUT_LANE);
        int64_t above = counted_range(digits, LAYOUT_SUBGROUP);
        lanes = here > lanes ? here : lanes;
        subgroups = above > subgroups ? above : subgroups;
    }
    bool fits = subgroups == ir_module_subgroups(state->module);
    if (!fits || !base_checked_mul(lanes, subgroups, &lanes) || lanes != state->module->lanes)
        verify_report(state, VERIFY_AXIS_DIGITS, NULL, "the lane digits of the axes are the team",
                      "a team of %d lanes has other lane digits", state->module->lanes);
    else if (!programs_stand_apart(state->module))
        verify_report(state, VERIFY_AXIS_DIGITS, NULL, "digits of programs apart from all others",
                      "the programs of a team share lanes with others");
}

/* Programs lie on as many groups as they need, or on so many that walk over them. */
static bool programs_are_covered(const verify_state *state, const layout_axis *digits) {
    if (!layout_axis_has(digits, LAYOUT_STEP))
        return layout_axis_radix(digits, LAYOUT_GROUP) == 0 ||
               !layout_axis_has(digits, LAYOUT_GROUP);
    return layout_axis_radix(digits, LAYOUT_STEP) == 0 && state->module->program_count == 1;
}

/* The digits reach every element, and no step or group is wholly past the extent. */
static bool digits_cover(const verify_state *state, const ir_axis *axis) {
    const layout_axis *digits = &axis->digits;
    int64_t chunk = layout_axis_chunk(digits), outside = layout_axis_radix(digits, LAYOUT_STEP);
    int64_t extent = 0;
    if (axis->is_program)
        return programs_are_covered(state, digits);
    if (outside == 0)
        return true;
    if (axis->extent == NULL ||
        !layout_extent_known(&state->module->extents, axis->extent, &extent))
        return false;
    if (extent == 0)
        return true;
    if (digits->shift != NULL && !base_checked_add(extent, digits->digits[0].radix - 1, &extent))
        return false;
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
