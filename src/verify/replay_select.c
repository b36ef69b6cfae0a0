/* Replay of select: the op that decides which positions count.
 *
 *     select %c, %a, %b     where %c is known, one side is chosen; a constant that is chosen where
 *                           the other side has no element stands in for it
 */
#include "verify/replay_internal.h"

#include <string.h>

static bool constants_equal(const ir_constant *a, const ir_constant *b) {
    if (a->dtype != b->dtype)
        return false;
    return base_dtype_is_float(a->dtype) ? a->real == b->real : a->integer == b->integer;
}

/* Positions where the condition is true. */
static void condition_bits(const replay_value *condition, int positions,
                           uint64_t bits[REPLAY_WORDS]) {
    memset(bits, 0, sizeof(uint64_t) * (size_t)((positions + 63) / 64));
    for (int p = 0; p < positions; p++)
        if (replay_number(condition, p) != 0)
            bits[p / 64] |= UINT64_C(1) << (p % 64);
}

/* Stand-ins of one value hold one constant; positions that would hold another are outside. */
static void add_standins(replay_value *result, int word, uint64_t bits,
                         const ir_constant *constant) {
    if (bits == 0)
        return;
    if (constant != NULL && result->standin == NULL)
        result->standin = constant;
    bool same = constant != NULL && constants_equal(constant, result->standin);
    result->plane[same ? REPLAY_STANDIN : REPLAY_OUTSIDE][word] |= bits;
}

/* The positions `chosen` take side a; b is the other side. */
static void take_side(replay_value *result, int word, uint64_t chosen, const replay_value *a,
                      const replay_value *b) {
    uint64_t outside = replay_word(a, REPLAY_OUTSIDE, word);
    uint64_t unset = replay_word(a, REPLAY_UNSET, word);
    uint64_t standin = replay_word(a, REPLAY_STANDIN, word);
    uint64_t missing =
        (replay_word(b, REPLAY_OUTSIDE, word) | replay_word(b, REPLAY_STANDIN, word)) &
        ~(outside | standin);
    result->plane[REPLAY_OUTSIDE][word] |= outside & chosen;
    result->plane[REPLAY_UNSET][word] |= unset & chosen;
    add_standins(result, word, standin & chosen, a->standin);
    add_standins(result, word, missing & chosen, a->literal);
}

static void select_planes(replay_value *result, const replay_value *condition,
                          const replay_value *a, const replay_value *b) {
    uint64_t bits[REPLAY_WORDS];
    if (condition->known)
        condition_bits(condition, result->positions, bits);
    for (int w = 0; w < result->words; w++) {
        if (condition->known) {
            take_side(result, w, bits[w], a, b);
            take_side(result, w, ~bits[w], b, a);
        } else {
            uint64_t standin =
                replay_word(a, REPLAY_STANDIN, w) | replay_word(b, REPLAY_STANDIN, w);
            result->plane[REPLAY_OUTSIDE][w] |=
                standin | replay_word(a, REPLAY_OUTSIDE, w) | replay_word(b, REPLAY_OUTSIDE, w);
            result->plane[REPLAY_UNSET][w] |=
                replay_word(a, REPLAY_UNSET, w) | replay_word(b, REPLAY_UNSET, w);
        }
        uint64_t undecided =
            replay_word(condition, REPLAY_OUTSIDE, w) | replay_word(condition, REPLAY_STANDIN, w);
        result->plane[REPLAY_OUTSIDE][w] |= undecided;
        result->plane[REPLAY_STANDIN][w] &= ~undecided;
        result->plane[REPLAY_UNSET][w] |= replay_word(condition, REPLAY_UNSET, w);
    }
}

static void select_numbers(replay *r, replay_value *result, const replay_value *condition,
                           const replay_value *a, const replay_value *b) {
    if (!condition->known || !a->known || !b->known)
        return;
    int64_t *numbers = replay_numbers(r, result);
    for (int p = 0; p < result->positions; p++)
        numbers[p] = replay_number(replay_number(condition, p) != 0 ? a : b, p);
}

void replay_select(replay *r, const ir_op *op) {
    replay_value *result = replay_of(r, op->results[0]);
    const replay_value *condition = replay_of(r, op->operands[0]);
    const replay_value *a = replay_of(r, op->operands[1]), *b = replay_of(r, op->operands[2]);
    r->work -= 2 + result->words + (condition->known ? result->positions : 0);
    replay_clear(r, result);
    select_planes(result, condition, a, b);
    select_numbers(r, result, condition, a, b);
    if (r->signing)
        replay_marks_compute(r, op);
}
