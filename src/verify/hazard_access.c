/* Accesses of scratch: who touches which cell, and whether two accesses can meet.
 *
 *     put %s[lane*1 + subgroup*32]      cell 33 of each block: thread 33
 *     get %s[%k + slot*1]               cells 0 .. 3 beside the base %k: several of the group
 *
 * Cells beside one base compare where both accesses run while the base is the same. What is not
 * known may be any: any cell, any block, any position.
 */
#include "verify/hazard_internal.h"

#include "base/checked.h"

typedef struct positions {
    hazard_table cell, target, when;
    const ir_affine *counted; /* of a range mask whose count is `when`; NULL: `when` is a bool */
    hazard_table count;
    int slots;
} positions;

/* ---- owners ---- */
static hazard_owner owner_of_thread(int thread) {
    return (hazard_owner){.crowd = HAZARD_THREAD, .number = (uint32_t)thread & 0xffffff};
}

/* The least of subgroup, group and cluster around an owner, from a rank of crowd on. */
static hazard_owner widened(const hazards *h, hazard_owner owner, hazard_crowd crowd) {
    uint32_t lanes = (uint32_t)h->lanes, subgroup = (uint32_t)h->subgroup;
    while (owner.crowd != HAZARD_NOBODY && owner.crowd < crowd) {
        if (owner.crowd == HAZARD_THREAD)
            owner.number = owner.number / subgroup & 0xffffff;
        else if (owner.crowd == HAZARD_SUBGROUP)
            owner.number = owner.number / (lanes / subgroup) & 0xffffff;
        else
            owner.number = 0;
        owner.crowd++;
    }
    return owner;
}

static hazard_owner joined(const hazards *h, hazard_owner a, hazard_owner b) {
    if (a.crowd == HAZARD_NOBODY || b.crowd == HAZARD_NOBODY)
        return a.crowd == HAZARD_NOBODY ? b : a;
    if (a.crowd == b.crowd && a.number == b.number)
        return a;
    if (h->blocks == 1 && a.crowd == HAZARD_GROUP)
        return a; /* as wide as it can be */
    hazard_crowd crowd = a.crowd > b.crowd ? (hazard_crowd)a.crowd : (hazard_crowd)b.crowd;
    a = widened(h, a, crowd);
    b = widened(h, b, crowd);
    while (a.number != b.number) {
        crowd++;
        a = widened(h, a, crowd);
        b = widened(h, b, crowd);
    }
    return a;
}

/* A thread of one and another thread of the other that `order` does not bring together. */
static bool are_apart(const hazards *h, hazard_owner a, hazard_owner b, hazard_order order) {
    static const hazard_crowd together[] = {[HAZARD_ORDERED] = HAZARD_CLUSTER,
                                            [HAZARD_BY_GROUP] = HAZARD_GROUP,
                                            [HAZARD_BY_SUBGROUP] = HAZARD_SUBGROUP,
                                            [HAZARD_UNORDERED] = HAZARD_THREAD};
    if (a.crowd == HAZARD_NOBODY || b.crowd == HAZARD_NOBODY || order == HAZARD_ORDERED)
        return false;
    return joined(h, a, b).crowd > together[order];
}

/* ---- the positions of an access ---- */
static void read_mask(hazards *h, const ir_op *op, positions *p, bool *certain) {
    const ir_access *access = op->attributes.access;
    p->counted = NULL;
    *certain = true;
    p->when = (hazard_table){.known = false};
    if (access->mask_kind == IR_MASK_NONE)
        return;
    hazard_table mask = hazard_value(h, op->operands[access->mask]);
    *certain = mask.known && mask.base == NULL;
    if (!*certain)
        return;
    p->when = mask;
    if (access->mask_kind == IR_MASK_RANGE) {
        p->counted = &access->mask_affine;
        p->count = hazard_affine(h, p->counted, p->slots);
        *certain = p->count.known;
    }
}

static bool lets_through(const positions *p, int block, int thread, int slot) {
    if (!p->when.known)
        return true;
    int64_t when = hazard_number(&p->when, block, thread, slot);
    if (p->counted == NULL)
        return when != 0;
    return !p->count.known || hazard_number(&p->count, block, thread, slot) < when;
}

static hazard_table cell_table(hazards *h, const ir_op *op, int slots) {
    const ir_index *index = &op->attributes.access->index[0];
    hazard_table cell = hazard_affine(h, &index->affine, slots);
    if (index->operand >= 0)
        cell = hazard_add(h, cell, hazard_value(h, op->operands[index->operand]));
    if (index->vector >= 0)
        cell = hazard_add(h, cell, hazard_value(h, op->operands[index->vector]));
    return cell;
}

static void limits_of(const hazard_table *table, int64_t *low, int64_t *high) {
    int64_t entries = (int64_t)table->blocks * table->threads * table->slots;
    *low = *high = table->number[0];
    for (int64_t i = 1; i < entries; i++) {
        *low = table->number[i] < *low ? table->number[i] : *low;
        *high = table->number[i] > *high ? table->number[i] : *high;
    }
}

/* Chooses the cells that are followed, of the array where there is no base; false when they are too
 * many. */
static bool choose_span(const hazards *h, const positions *p, hazard_access *access) {
    int64_t high = 0, last = h->arrays[access->array].cells - 1, span = 0;
    access->base = p->cell.base;
    access->epoch = p->cell.epoch;
    limits_of(&p->cell, &access->low, &high);
    if (access->base == NULL) {
        access->low = access->low > 0 ? access->low : 0;
        high = high < last ? high : last;
        access->span = high >= access->low ? high - access->low + 1 : 0;
        return access->span <= HAZARD_MAX_CELLS;
    }
    if (!base_checked_sub(high, access->low, &span) || span >= HAZARD_MAX_CELLS)
        return false;
    access->span = span + 1;
    return true;
}

/* ---- making an access ---- */
static void touch(const hazards *h, hazard_access *access, const positions *p, int block,
                  int thread, int slot) {
    hazard_owner owner = owner_of_thread(block * h->lanes + thread);
    access->any[block] = joined(h, access->any[block], owner);
    if (!access->cells_known)
        return;
    int64_t target = !access->remote ? block : 0;
    if (access->remote && access->targets_known)
        target = hazard_number(&p->target, block, thread, slot);
    int64_t cell = hazard_number(&p->cell, block, thread, slot) - access->low;
    if (target < 0 || target >= h->blocks || cell < 0 || cell >= access->span) {
        access->outside = access->certain;
        return;
    }
    hazard_owner *at = &access->owner[target * access->span + cell];
    *at = joined(h, *at, owner);
}

/* Nothing of the access is known but who may take part: everyone. */
static void touch_anything(const hazards *h, hazard_access *access) {
    access->cells_known = access->targets_known = access->certain = false;
    access->any = BASE_NEW_ARRAY(h->arena, hazard_owner, h->blocks);
    for (int b = 0; b < h->blocks; b++)
        for (int t = 0; t < h->lanes; t++)
            access->any[b] = joined(h, access->any[b], owner_of_thread(b * h->lanes + t));
}

static void touch_all(const hazards *h, hazard_access *access, const positions *p) {
    int targets = access->targets_known ? h->blocks : 1;
    if (access->cells_known)
        access->owner = BASE_NEW_ARRAY(h->arena, hazard_owner, targets * access->span);
    access->any = BASE_NEW_ARRAY(h->arena, hazard_owner, h->blocks);
    for (int b = 0; b < h->blocks; b++)
        for (int t = 0; t < h->lanes; t++)
            for (int s = 0; s < p->slots; s++)
                if (lets_through(p, b, t, s))
                    touch(h, access, p, b, t, s);
}

void hazard_access_make(hazards *h, const ir_op *op, hazard_access *access) {
    const ir_access *form = op->attributes.access;
    const ir_value *value = op->opcode == IR_PUT ? ir_op_stored(op) : op->results[0];
    positions p = {.slots = ir_type_slot_count(&value->type)};
    *access = (hazard_access){.op = op,
                              .array = h->array_of[op->operands[0]->number] - 1,
                              .writes = op->opcode == IR_PUT,
                              .remote = form->block > 0};
    h->work -= (int64_t)h->blocks * h->lanes * p.slots;
    if (h->work < 0) {
        touch_anything(h, access);
        return;
    }
    read_mask(h, op, &p, &access->certain);
    p.cell = cell_table(h, op, p.slots);
    if (access->remote)
        p.target = hazard_value(h, op->operands[form->block]);
    access->targets_known = !access->remote || (p.target.known && p.target.base == NULL);
    access->cells_known = p.cell.known && choose_span(h, &p, access);
    h->work -= access->cells_known ? h->blocks * access->span : 0;
    if (h->work < 0)
        touch_anything(h, access);
    else
        touch_all(h, access, &p);
}

/* ---- two accesses ---- */
static bool same_base(const hazards *h, const hazard_access *a, const hazard_access *b,
                      bool stale) {
    if (a->base == NULL || b->base == NULL)
        return a->base == b->base;
    if (stale || a->remote || b->remote || a->epoch != b->epoch)
        return false;
    return a->base == b->base || (a->epoch == 0 && verify_same_value(h->state, a->base, b->base));
}

/* Of an access that may touch any cell: all its threads, or those of one group. */
static bool anywhere_meet(const hazards *h, const hazard_access *a, const hazard_access *b,
                          hazard_order order) {
    hazard_owner all[2] = {{0}, {0}};
    bool local = !a->remote && !b->remote;
    for (int g = 0; g < h->blocks; g++) {
        if (local && are_apart(h, a->any[g], b->any[g], order))
            return true;
        all[0] = joined(h, all[0], a->any[g]);
        all[1] = joined(h, all[1], b->any[g]);
    }
    return !local && are_apart(h, all[0], all[1], order);
}

/* Who touches a cell, counted from the first one that is followed, in any block. */
static hazard_owner owner_anywhere(const hazards *h, const hazard_access *access, int64_t at) {
    hazard_owner owner = access->owner[at];
    for (int t = 1; t < h->blocks && access->targets_known; t++)
        owner = joined(h, owner, access->owner[t * access->span + at]);
    return owner;
}

/* The first cell where they meet, INT64_MIN: none. target: in that block; -1: blocks are not told
 * apart. */
static int64_t cell_of_meeting(const hazards *h, const hazard_access *a, const hazard_access *b,
                               hazard_order order, int target) {
    int64_t a_end = a->low + a->span, b_end = b->low + b->span;
    int64_t first = a->low > b->low ? a->low : b->low, end = a_end < b_end ? a_end : b_end;
    const hazard_owner *x = a->owner + (target > 0 ? target * a->span : 0);
    const hazard_owner *y = b->owner + (target > 0 ? target * b->span : 0);
    for (int64_t c = first; c < end; c++) {
        hazard_owner of_a = x[c - a->low], of_b = y[c - b->low];
        if (target < 0) {
            of_a = owner_anywhere(h, a, c - a->low);
            of_b = owner_anywhere(h, b, c - b->low);
        }
        if (of_a.crowd != HAZARD_NOBODY && of_b.crowd != HAZARD_NOBODY &&
            are_apart(h, of_a, of_b, order))
            return c;
    }
    return INT64_MIN;
}

bool hazard_accesses_meet(const hazards *h, const hazard_access *a, const hazard_access *b,
                          hazard_order order, bool stale, int64_t *cell) {
    *cell = -1;
    if (a->tensor || b->tensor)
        return hazard_tensors_meet(h, a, b, order);
    bool local = !a->remote && !b->remote;
    if (a->array != b->array || (!a->writes && !b->writes) || order == HAZARD_ORDERED ||
        (local && order == HAZARD_BY_GROUP))
        return false;
    if (!a->cells_known || !b->cells_known || !same_base(h, a, b, stale))
        return anywhere_meet(h, a, b, order);
    bool apart = a->targets_known && b->targets_known;
    for (int target = apart ? 0 : -1; target < (apart ? h->blocks : 0); target++) {
        int64_t met = cell_of_meeting(h, a, b, order, target);
        if (met == INT64_MIN)
            continue;
        *cell = a->base == NULL ? met : -1;
        return true;
    }
    return false;
}
