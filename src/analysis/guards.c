/* Guards of accesses: the header says how they are counted. */
#include "analysis/guards.h"

enum { MOST_DEPTH = 32 }; /* of what a condition follows from */

static bool counts_on(const ir_affine *affine, int slots, int pack) {
    for (int slot = 0; slot < slots; slot++) {
        ir_position here = {.slot = slot}, first = {.slot = slot - slot % pack};
        if (ir_affine_at(affine, here) != ir_affine_at(affine, first) + slot % pack)
            return false;
    }
    return true;
}

static int pack_of(const ir_affine *affine, int slots) {
    int pack = 1;
    while (slots % (2 * pack) == 0 && counts_on(affine, slots, 2 * pack))
        pack *= 2;
    return pack;
}

int analysis_guard_pack(const ir_access *access, int slots) {
    return access->mask_kind == IR_MASK_RANGE ? pack_of(&access->mask_affine, slots) : 1;
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

/* ---- masks of bits ---- */

static bool is_alike(const ir_value *bits) {
    const ir_op *op = bits->definer;
    if (bits->type.slots == 1)
        return true;
    if (op == NULL || op->opcode != IR_RENAME)
        return false;
    const ir_list *from = &op->attributes.slots;
    for (int64_t i = 1; i < from->count; i++)
        if (from->items[i] != from->items[0])
            return false;
    return true;
}

/* It follows from where the lane stands, and from sizes. */
static bool is_of_position(const ir_value *value, int depth) {
    const ir_op *op = value->definer;
    if (op == NULL) /* the number of a loop, or what it carries */
        return value->region->owner != NULL && value->region->owner->opcode == IR_FOR &&
               value->region->arguments[0] == value;
    if (depth == 0 || op->region_count > 0 || op->opcode == IR_LOAD || op->opcode == IR_GET ||
        op->opcode == IR_PULL)
        return false;
    for (int i = 0; i < op->operand_count; i++)
        if (!is_of_position(op->operands[i], depth - 1))
            return false;
    return true;
}

/* Positions below a count, that count along an index: their form, else NULL. */
static const ir_affine *range_of(const ir_access *access, const ir_value *bits) {
    const ir_op *op = bits->definer;
    if (op == NULL || op->opcode != IR_LT)
        return NULL;
    const ir_op *position = op->operands[0]->definer;
    while (position != NULL && position->opcode == IR_CAST)
        position = position->operands[0]->definer;
    if (position == NULL || position->opcode != IR_IOTA)
        return NULL;
    for (int i = 0; i < access->rank; i++)
        if (ir_affine_equal(&access->index[i].affine, &position->attributes.affine))
            return &position->attributes.affine;
    return NULL;
}

/* Of one condition of those that are joined; more than there are slots: each is asked alone. */
static int64_t guards_of_bits(const ir_access *access, const ir_value *bits, int slots) {
    const ir_op *op = bits->definer;
    if (op != NULL && op->opcode == IR_AND)
        return guards_of_bits(access, op->operands[0], slots) +
               guards_of_bits(access, op->operands[1], slots);
    const ir_affine *range = range_of(access, bits);
    if (range != NULL) {
        int pack = pack_of(range, slots);
        return (int64_t)(slots / pack) * (pack == 1 ? 1 : 2);
    }
    if (is_alike(bits))
        return is_of_position(bits, MOST_DEPTH) ? 0 : 1;
    return slots;
}

int64_t analysis_guards(const ir_op *op) {
    const ir_access *access = op->attributes.access;
    const ir_value *mask = access->mask >= 0 ? op->operands[access->mask] : NULL;
    int slots = ir_op_access_slots(op);
    int64_t guards = 0;
    switch (access->mask_kind) {
    case IR_MASK_NONE:
        return 0;
    case IR_MASK_BITS:
        guards = mask->type.form == IR_FORM_SLOTS ? guards_of_bits(access, mask, slots) : 1;
        return guards < slots ? guards : slots > 0 ? slots : 1;
    case IR_MASK_RANGE:
        break;
    }
    int pack = analysis_guard_pack(access, slots);
    bool whole = pack == 1 || analysis_guard_rest(op, pack) == 0;
    return (int64_t)(slots / pack) * (whole ? 1 : 2);
}
