/* Guards of accesses: the header says how they are counted. */
#include "analysis/guards.h"

static bool counts_on(const ir_affine *affine, int slots, int pack) {
    for (int slot = 0; slot < slots; slot++) {
        ir_position here = {.slot = slot}, first = {.slot = slot - slot % pack};
        if (ir_affine_at(affine, here) != ir_affine_at(affine, first) + slot % pack)
            return false;
    }
    return true;
}

int analysis_guard_pack(const ir_access *access, int slots) {
    int pack = 1;
    while (access->mask_kind == IR_MASK_RANGE && slots % (2 * pack) == 0 &&
           counts_on(&access->mask_affine, slots, 2 * pack))
        pack *= 2;
    return pack;
}

/* Whatever the lane, a pack begins at a multiple of it. */
static bool begins_at_multiples(const ir_affine *affine, int slots, int pack) {
    for (int i = 0; i < affine->count; i++)
        if (affine->terms[i].holder != LAYOUT_SLOT && affine->terms[i].stride % pack != 0)
            return false;
    for (int slot = 0; slot < slots; slot += pack)
        if (ir_affine_at(affine, (ir_position){.slot = slot}) % pack != 0)
            return false;
    return true;
}

/* Under a range mask with a count that is known: what is left of it behind whole packs; -1: not
 * known, or it differs from lane to lane. */
int64_t analysis_guard_rest(const ir_op *op, int pack) {
    const ir_access *access = op->attributes.access;
    const ir_op *count = op->operands[access->mask]->definer;
    if (access->whole)
        return 0;
    if (count == NULL || count->opcode != IR_CONSTANT || count->attributes.constant.integer < 0 ||
        !begins_at_multiples(&access->mask_affine, ir_op_access_slots(op), pack))
        return -1;
    return count->attributes.constant.integer % pack;
}

int64_t analysis_guards(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    int slots = ir_op_access_slots(op);
    switch (access->mask_kind) {
    case IR_MASK_NONE:
        return 0;
    case IR_MASK_BITS:
        return op->operands[access->mask]->type.form == IR_FORM_SLOTS ? slots : 1;
    case IR_MASK_RANGE:
        break;
    }
    int pack = analysis_guard_pack(access, slots);
    bool whole = pack == 1 || analysis_guard_rest(op, pack) == 0;
    return (int64_t)(slots / pack) * (whole ? 1 : 2);
}
