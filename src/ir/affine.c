/* Affine forms: evaluation and comparison. Sums wrap as 64 bits do. */
#include "ir/affine.h"

ir_affine ir_affine_of(int64_t lane_stride, int64_t slot_stride) {
    ir_affine affine = {0};
    ir_affine_add(&affine, (ir_term){LAYOUT_LANE, 1, 0, lane_stride});
    ir_affine_add(&affine, (ir_term){LAYOUT_SLOT, 1, 0, slot_stride});
    return affine;
}

/* Text order: lane, subgroup, slot; within one, the least divisor first. */
static int term_rank(const ir_term *term) {
    switch (term->holder) {
    case LAYOUT_LANE:
        return 0;
    case LAYOUT_SUBGROUP:
        return 1;
    case LAYOUT_SLOT:
    case LAYOUT_STEP:
    case LAYOUT_BLOCK:
    case LAYOUT_GROUP:
    case LAYOUT_HOLDER_COUNT:
        return 2;
    }
    return 2;
}

static bool stands_before(const ir_term *a, const ir_term *b) {
    int left = term_rank(a), right = term_rank(b);
    return left != right ? left < right : a->divide < b->divide;
}

bool ir_affine_add(ir_affine *affine, ir_term term) {
    if (term.stride == 0)
        return true;
    if (affine->count == IR_MAX_TERMS)
        return false;
    int at = affine->count++;
    for (; at > 0 && stands_before(&term, &affine->terms[at - 1]); at--)
        affine->terms[at] = affine->terms[at - 1];
    affine->terms[at] = term;
    return true;
}

static int64_t holder_number(layout_holder holder, ir_position position) {
    switch (holder) {
    case LAYOUT_LANE:
        return position.lane;
    case LAYOUT_SUBGROUP:
        return position.subgroup;
    case LAYOUT_SLOT:
        return position.slot;
    case LAYOUT_STEP:
    case LAYOUT_BLOCK:
    case LAYOUT_GROUP:
    case LAYOUT_HOLDER_COUNT:
        return 0;
    }
    return 0;
}

int64_t ir_affine_at(const ir_affine *affine, ir_position position) {
    uint64_t sum = 0;
    for (int i = 0; i < affine->count; i++) {
        const ir_term *term = &affine->terms[i];
        int64_t number = holder_number(term->holder, position) / term->divide;
        if (term->modulus != 0)
            number %= term->modulus;
        sum += (uint64_t)number * (uint64_t)term->stride;
    }
    return (int64_t)sum;
}

bool ir_affine_equal(const ir_affine *a, const ir_affine *b) {
    bool equal = a->count == b->count;
    for (int i = 0; equal && i < a->count; i++) {
        const ir_term *x = &a->terms[i], *y = &b->terms[i];
        equal = x->holder == y->holder && x->divide == y->divide && x->modulus == y->modulus &&
                x->stride == y->stride;
    }
    return equal;
}

bool ir_affine_uses(const ir_affine *affine, layout_holder holder) {
    for (int i = 0; i < affine->count; i++)
        if (affine->terms[i].holder == holder)
            return true;
    return false;
}
