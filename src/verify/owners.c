/* Owners that the program fixes: the layouts of arange and convert.
 *
 *     owner-form owner-kept
 *
 *     %o = arange 64 layout lane 4 @8 | subgroup 2 | lane 8 @1 : index<64>     64 positions: holds
 *     %v = convert %u layout lane 8 | slot 4 : f32<32>
 *
 * An element past the tile's extent belongs to nobody, so that a layout may have more positions
 * than the tile has elements; an exclusive or would scatter the missing ones. What a conversion
 * costs and how it is done is no question here.
 */
#include "verify/verify_internal.h"

#include "base/checked.h"
#include "layout/tile.h"

/* Slots, lanes and subgroups with constant radices; *positions of them. */
static bool digits_hold(const layout_axis *layout, int64_t *positions) {
    *positions = 1;
    if (layout_axis_check(layout) != NULL)
        return false;
    for (int i = 0; i < layout->count; i++) {
        layout_holder holder = layout->digits[i].holder;
        if (holder != LAYOUT_SLOT && holder != LAYOUT_LANE && holder != LAYOUT_SUBGROUP)
            return false;
        if (!base_checked_mul(*positions, layout->digits[i].radix, positions))
            return false;
    }
    return *positions > 0;
}

static bool rule_owner_form(verify_state *state, const ir_op *op) {
    const layout_axis *layout = op->attributes.layout;
    const ir_type *type = &op->results[0]->type;
    int64_t positions = 0, extent = 0;
    if (!digits_hold(layout, &positions)) {
        verify_report(state, VERIFY_OWNER_FORM, op, "constant digits of slots, lanes and subgroups",
                      "a layout of another form");
        return false;
    }
    bool known = layout_extent_known(&state->module->extents, type->extent[0], &extent);
    if (!known || extent > positions || (layout->exclusive_or != 0 && extent != positions))
        verify_report(state, VERIFY_OWNER_FORM, op,
                      "as many elements as positions, or fewer (not with xor)",
                      "a layout of %lld positions does not hold the tile", (long long)positions);
    return true;
}

static void rule_owner_kept(verify_state *state, const ir_op *op) {
    int axis = op->results[0]->layout.axis[0];
    if (axis >= 0 && axis < state->module->axis_count &&
        !layout_axis_same(&state->module->axes[axis].digits, op->attributes.layout))
        verify_report(state, VERIFY_OWNER_KEPT, op, "the digits that the op says",
                      "a tile lies on an axis of another layout than it fixes");
}

static void check_op(verify_state *state, const ir_op *op) {
    bool fixes =
        op->attributes.layout != NULL && (op->opcode == IR_ARANGE || op->opcode == IR_CONVERT);
    if (!fixes || !verify_op_is_formed(state, op) || op->results[0]->type.rank != 1)
        return;
    if (rule_owner_form(state, op) && state->module->level == IR_MAPPED)
        rule_owner_kept(state, op);
}

void verify_owners(verify_state *state) {
    verify_walk(state, &state->module->body, check_op);
}
