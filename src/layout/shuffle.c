/* A conversion inside subgroups as xorslot, rename, shuffles, xorslot.
 *
 * In one shuffle every lane offers one register and receives one. Take for each thread bit a vector
 *
 *     w(t) = M t + M y(t)        y(t): destination slots and copies (kernel vectors) of our choice
 *
 * such that no sum of the w is a pure slot of the source, unless it is 0. Then the space W of the w
 * has at most one element per source lane: if destination lane t reads with slot s ^ y(t) where it
 * wants slot s, all lanes at once move along W, and M w = (L t, B t) says from which lane (L) and
 * register (B = a function `before` of the source lane, as the kernel of L is in that of B). The
 * slots of the destination are the cosets of W: one shuffle each, all with the linear part L.
 *
 * y is not unique. Three choices are tried, and the fewest instructions win:
 *     nothing            y = 0, where M itself already has no pure slot: no selects after
 *     own lane           L = identity, so that cosets without an offset need no shuffle and the
 *                        others are butterflies
 *     common complement  of the slots of the source and the reachable part (ALGEBRA: span of
 *                        a_i ^ b_i, plus the rest); exists whenever any choice does
 *
 *     slot bit 0 <-> lane bit 0 of 2 slots: y(lane bit 0) = slot bit 0, L = identity, offsets 0 and
 *     1: one shuffle and two selects a side instead of two shuffles with as many selects.
 */
#include "layout/conversion_internal.h"

typedef struct search {
    const layout_conversion *conversion;
    int threads; /* bits */
    uint32_t thread_mask;
    /* What may be added to a thread's column: independent; kernel vectors (slots = 0) first. */
    int choices;
    uint32_t choice[LAYOUT_MAX_BITS], choice_slots[LAYOUT_MAX_BITS];
} search;

/* ---- what may be added ---- */

/* The kernel of the source inside one subgroup. */
static int kernel_inside(const layout_bits *source, uint32_t basis[LAYOUT_MAX_BITS]) {
    uint32_t kernel[LAYOUT_MAX_BITS], inside[LAYOUT_MAX_BITS];
    int dimension = layout_bits_kernel(source, kernel), count = 0;
    int threads = layout_bits_threads(source);
    for (int p = 0; p < layout_bits_positions(source); p++)
        if (p < source->lane_bits || p >= threads)
            inside[count++] = 1u << p;
    return layout_space_intersect(kernel, dimension, inside, count, basis);
}

static void collect_choices(search *s) {
    const layout_conversion *conversion = s->conversion;
    uint32_t kernel[LAYOUT_MAX_BITS], span[LAYOUT_MAX_BITS + 1];
    int dimension = kernel_inside(&conversion->source, kernel), rank = 0;
    for (int i = 0; i < dimension; i++)
        if (layout_space_add(span, &rank, kernel[i]))
            s->choice[s->choices++] = kernel[i];
    for (int b = 0; b < conversion->destination.slot_bits; b++) {
        uint32_t column = conversion->matrix[s->threads + b];
        if (!layout_space_add(span, &rank, column))
            continue;
        s->choice[s->choices] = column;
        s->choice_slots[s->choices++] = 1u << b;
    }
}

/* ---- three ways to choose: masks of choices by thread bit ---- */

/* L = identity: each thread bit's column becomes its own thread bit plus slots. */
static bool choose_own_lane(const search *s, uint32_t chosen[LAYOUT_MAX_BITS]) {
    uint32_t vectors[LAYOUT_MAX_BITS], made[LAYOUT_MAX_BITS];
    for (int i = 0; i < s->choices; i++) {
        vectors[i] = s->choice[i] & s->thread_mask;
        made[i] = 1u << i;
    }
    int rank = layout_space_reduce_tracked(vectors, made, s->choices);
    for (int t = 0; t < s->threads; t++) {
        uint32_t rest, wanted = (s->conversion->matrix[t] & s->thread_mask) ^ 1u << t;
        chosen[t] = layout_space_express(vectors, made, rank, wanted, &rest);
        if (rest != 0)
            return false;
    }
    return true;
}

/* A basis of the slots of the source that the columns reach, brought to as many vectors as there
 * are choices by choices. (Where there are more pure slots, no choice avoids all: build says so.)
 */
static void slots_to_avoid(const search *s, const uint32_t *reached, int reached_rank,
                           uint32_t *avoid) {
    uint32_t slots[LAYOUT_MAX_BITS], span[LAYOUT_MAX_BITS + 1];
    int count = s->conversion->source.slot_bits;
    for (int b = 0; b < count; b++)
        slots[b] = 1u << (s->threads + b);
    int rank = layout_space_intersect(slots, count, reached, reached_rank, span);
    for (int i = 0; i < rank; i++)
        avoid[i] = span[i];
    for (int i = 0; i < s->choices && rank < s->choices; i++) {
        int before = rank;
        if (layout_space_add(span, &rank, s->choice[i]))
            avoid[before] = s->choice[i];
    }
}

static void choose_complement(const search *s, uint32_t chosen[LAYOUT_MAX_BITS]) {
    uint32_t reached[LAYOUT_MAX_BITS + 1], avoid[LAYOUT_MAX_BITS];
    int rank = 0;
    for (int i = 0; i < s->choices; i++)
        layout_space_add(reached, &rank, s->choice[i]);
    for (int t = 0; t < s->threads; t++)
        layout_space_add(reached, &rank, s->conversion->matrix[t]);
    slots_to_avoid(s, reached, rank, avoid);
    uint32_t vectors[2 * LAYOUT_MAX_BITS], made[2 * LAYOUT_MAX_BITS];
    for (int i = 0; i < s->choices; i++)
        vectors[i] = s->choice[i];
    int count =
        s->choices + layout_space_complement_within(avoid, s->choices, s->choice, s->choices,
                                                    reached, rank, vectors + s->choices);
    for (int i = 0; i < count; i++)
        made[i] = i < s->choices ? 1u << i : 0;
    rank = layout_space_reduce_tracked(vectors, made, count);
    for (int t = 0; t < s->threads; t++) {
        uint32_t rest;
        chosen[t] = layout_space_express(vectors, made, rank, s->conversion->matrix[t], &rest);
    }
}

/* ---- the four steps from a choice ---- */

static int rank_of(const uint32_t *vectors, int count) {
    uint32_t copy[LAYOUT_MAX_BITS];
    for (int i = 0; i < count; i++)
        copy[i] = vectors[i];
    return layout_space_reduce(copy, count);
}

/* before o L = B: solved on the image of L, 0 on the other unit vectors. */
static bool solve_before(const search *s, const uint32_t *slots, layout_shuffle *shuffle) {
    uint32_t vectors[LAYOUT_MAX_BITS], values[LAYOUT_MAX_BITS];
    for (int t = 0; t < s->threads; t++) {
        vectors[t] = shuffle->linear[t];
        values[t] = slots[t];
    }
    int rank = layout_space_reduce_tracked(vectors, values, s->threads);
    for (int t = rank; t < s->threads; t++)
        if (values[t] != 0)
            return false; /* two registers of one lane in one shuffle */
    for (int t = 0; t < rank; t++)
        shuffle->before[31 - __builtin_clz(vectors[t])] = values[t];
    return true;
}

/* Different (rename, offset) pairs are different values of the slot part of the matrix; with L =
 * identity those without an offset stay in their lane. */
static void count_instructions(const search *s, layout_shuffle *shuffle) {
    const uint32_t *columns = s->conversion->matrix + s->threads;
    int rank = rank_of(columns, shuffle->slot_bits), still = 0;
    uint32_t offsets[LAYOUT_MAX_BITS];
    for (int b = 0; b < shuffle->slot_bits; b++)
        offsets[b] = shuffle->offset[b];
    int offset_rank = layout_space_reduce(offsets, shuffle->slot_bits);
    if (shuffle->exclusive_or &&
        layout_space_contains(offsets, offset_rank, shuffle->offset_constant))
        still = 1 << (rank - offset_rank);
    shuffle->shuffles = (1 << rank) - still;
    shuffle->selects = (rank_of(shuffle->before, s->threads) << shuffle->source_slot_bits) +
                       (rank_of(shuffle->after, s->threads) << shuffle->slot_bits);
}

static bool build(const search *s, const uint32_t chosen[LAYOUT_MAX_BITS],
                  layout_shuffle *shuffle) {
    const layout_conversion *conversion = s->conversion;
    *shuffle = (layout_shuffle){.thread_bits = s->threads,
                                .lane_bits = conversion->source.lane_bits,
                                .source_slot_bits = conversion->source.slot_bits,
                                .slot_bits = conversion->destination.slot_bits,
                                .exclusive_or = true};
    uint32_t slots[LAYOUT_MAX_BITS];
    for (int t = 0; t < s->threads; t++) {
        uint32_t w = conversion->matrix[t] ^ layout_columns_apply(s->choice, chosen[t]);
        shuffle->after[t] = layout_columns_apply(s->choice_slots, chosen[t]);
        shuffle->linear[t] = w & s->thread_mask;
        slots[t] = w >> s->threads;
        shuffle->exclusive_or = shuffle->exclusive_or && shuffle->linear[t] == 1u << t;
    }
    if (!solve_before(s, slots, shuffle))
        return false;
    for (int b = 0; b <= shuffle->slot_bits; b++) {
        bool last = b == shuffle->slot_bits;
        uint32_t column = last ? conversion->constant : conversion->matrix[s->threads + b];
        uint32_t offset = column & s->thread_mask;
        uint32_t rename = column >> s->threads ^ layout_columns_apply(shuffle->before, offset);
        *(last ? &shuffle->offset_constant : &shuffle->offset[b]) = offset;
        *(last ? &shuffle->rename_constant : &shuffle->rename[b]) = rename;
    }
    count_instructions(s, shuffle);
    return true;
}

bool layout_shuffle_factor(layout_conversion *conversion) {
    search s = {.conversion = conversion, .threads = layout_bits_threads(&conversion->source)};
    s.thread_mask = (1u << s.threads) - 1;
    collect_choices(&s);
    uint32_t chosen[3][LAYOUT_MAX_BITS] = {{0}};
    const bool own_lane = choose_own_lane(&s, chosen[1]);
    choose_complement(&s, chosen[2]);
    int best = -1;
    for (int i = 0; i < 3; i++) {
        layout_shuffle shuffle;
        if ((i == 1 && !own_lane) || !build(&s, chosen[i], &shuffle))
            continue;
        if (best >= 0 && shuffle.shuffles + shuffle.selects >=
                             conversion->shuffle.shuffles + conversion->shuffle.selects)
            continue;
        best = i;
        conversion->shuffle = shuffle;
    }
    for (int t = 0; best >= 0 && t < s.threads; t++) /* the copies that were chosen */
        for (int i = 0; i < s.choices; i++)
            if (s.choice_slots[i] == 0 && chosen[best][t] >> i & 1)
                conversion->matrix[t] ^= s.choice[i];
    return best >= 0;
}

uint32_t layout_shuffle_rename(const layout_shuffle *shuffle, uint32_t slot) {
    return layout_columns_apply(shuffle->rename, slot) ^ shuffle->rename_constant;
}

uint32_t layout_shuffle_offset(const layout_shuffle *shuffle, uint32_t slot) {
    return layout_columns_apply(shuffle->offset, slot) ^ shuffle->offset_constant;
}
