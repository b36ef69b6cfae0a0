/* Replay of accesses: where they happen, and which cells they name. */
#include "verify/replay_internal.h"

#include <string.h>

static int slots_of_positions(const replay *r, int positions) {
    return positions > r->lanes ? positions / r->lanes : 1;
}

static void clear_unless(uint64_t active[REPLAY_WORDS], int position, bool holds) {
    if (!holds)
        active[position / 64] &= ~(UINT64_C(1) << (position % 64));
}

static bool apply_mask(replay *r, const ir_op *op, int positions, uint64_t active[REPLAY_WORDS]) {
    const ir_access *access = op->attributes.access;
    if (access->mask_kind == IR_MASK_NONE)
        return true;
    const replay_value *mask = replay_of(r, op->operands[access->mask]);
    if (!mask->known)
        return false;
    bool range = access->mask_kind == IR_MASK_RANGE;
    int64_t *elements = r->indices;
    memset(elements, 0, sizeof *elements * (size_t)positions);
    if (range)
        replay_add_affine(r, &access->mask_affine, positions, slots_of_positions(r, positions),
                          elements);
    for (int p = 0; p < positions; p++) {
        int64_t number = replay_number(mask, p);
        clear_unless(active, p, range ? elements[p] < number : number != 0);
    }
    return true;
}

bool replay_active(replay *r, const ir_op *op, int positions, uint64_t active[REPLAY_WORDS]) {
    memset(active, 0, sizeof(uint64_t) * (size_t)((positions + 63) / 64));
    for (int p = 0; p < positions; p++)
        active[p / 64] |= UINT64_C(1) << (p % 64);
    if (r->when != NULL) {
        const replay_value *when = replay_of(r, r->when);
        int slots = slots_of_positions(r, positions);
        if (!when->known)
            return false;
        for (int p = 0; p < positions; p++)
            clear_unless(active, p, replay_number(when, p / slots) != 0);
    }
    return apply_mask(r, op, positions, active);
}

static void add_planes(const replay *r, const ir_value *value, int word, uint64_t planes[2]) {
    const replay_value *from = replay_of(r, value);
    planes[REPLAY_OUTSIDE] |=
        replay_word(from, REPLAY_OUTSIDE, word) | replay_word(from, REPLAY_STANDIN, word);
    planes[REPLAY_UNSET] |= replay_word(from, REPLAY_UNSET, word);
}

void replay_index_planes(const replay *r, const ir_op *op, int word, uint64_t planes[2]) {
    const ir_access *access = op->attributes.access;
    planes[REPLAY_OUTSIDE] = planes[REPLAY_UNSET] = 0;
    for (int i = 0; i < access->rank; i++) {
        if (access->index[i].operand >= 0)
            add_planes(r, op->operands[access->index[i].operand], word, planes);
        if (access->index[i].vector >= 0)
            add_planes(r, op->operands[access->index[i].vector], word, planes);
    }
    if (access->mask_kind != IR_MASK_NONE)
        add_planes(r, op->operands[access->mask], word, planes);
}

static bool index_at(const replay *r, const ir_op *op, const ir_index *index, int position,
                     int slots, int64_t *number) {
    uint64_t sum = (uint64_t)ir_affine_at(
        &index->affine, ir_module_position(r->state->module, position / slots, position % slots));
    const int operands[2] = {index->operand, index->vector};
    for (int i = 0; i < 2; i++) {
        if (operands[i] < 0)
            continue;
        const replay_value *value = replay_of(r, op->operands[operands[i]]);
        if (!value->known)
            return false;
        sum += (uint64_t)replay_number(value, position);
    }
    *number = (int64_t)sum;
    return true;
}

bool replay_cell(replay *r, const ir_op *op, const replay_tensor *tensor, int position, int slots,
                 int64_t *cell) {
    const ir_access *access = op->attributes.access;
    *cell = 0;
    for (int i = 0; i < access->rank; i++) {
        int64_t number = 0;
        if (!index_at(r, op, &access->index[i], position, slots, &number))
            return false;
        if (number < 0 || number >= tensor->extent[i]) {
            if (replay_is_news(r, op))
                verify_report(r->state, VERIFY_ACCESS_INSIDE, op, "an index inside, or a mask",
                              "index %d can be %lld, where the tensor has %lld", i,
                              (long long)number, (long long)tensor->extent[i]);
            return false;
        }
        *cell = *cell * tensor->extent[i] + number;
    }
    return true;
}
