/* Random bit layouts for the laws of layout/: a seed by argument, printed, fixed by default. */
#ifndef BITS_FIXTURE_H
#define BITS_FIXTURE_H

#include "layout/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bits_state;

/* Runs of the tests: one; 5 with the argument `long`. */
static int bits_runs(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "long") == 0 ? 5 : 1;
}

/* The seed of a run: the first argument, or a fixed one; then the next numbers. */
static void bits_seed(int argc, char **argv, int run) {
    bool given = argc > 1 && strcmp(argv[1], "long") != 0;
    bits_state = (given ? (uint64_t)strtoull(argv[1], NULL, 10) : 20250211) + (uint64_t)run;
    printf("seed %" PRIu64 "\n", bits_state);
    bits_state = bits_state * 2 + 1;
}

/* SplitMix64. */
static uint64_t bits_random(void) {
    uint64_t z = bits_state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int bits_below(int limit) {
    return (int)(bits_random() % (uint64_t)limit);
}

static uint32_t bits_mask(int bits) {
    return (uint32_t)bits_random() & ((1u << bits) - 1);
}

/* A random map onto index_bits bits from the given positions; more positions than index bits make
 * replicas. Built from unit columns by sums of columns (which keep the rank) and swaps. */
static layout_bits bits_make(int lanes, int subgroups, int slots, int index_bits) {
    layout_bits made = {.lane_bits = lanes,
                        .subgroup_bits = subgroups,
                        .slot_bits = slots,
                        .index_bits = index_bits,
                        .constant = bits_mask(index_bits)};
    int positions = lanes + subgroups + slots;
    for (int p = 0; p < positions; p++)
        made.column[p] = p < index_bits ? 1u << p : 0;
    int sums = bits_below(4) == 0 ? bits_below(4) : 4 * positions; /* some are nearly identities */
    for (int i = 0; i < sums && positions > 1; i++) {
        int from = bits_below(positions), to = bits_below(positions);
        if (from != to)
            made.column[to] ^= made.column[from];
    }
    for (int p = positions - 1; p > 0; p--) {
        int other = bits_below(p + 1);
        uint32_t column = made.column[p];
        made.column[p] = made.column[other];
        made.column[other] = column;
    }
    return made;
}

#endif
