/* What the tests of laws of layouts share: positions in order, layouts that are made by chance or
 * by permutation, with formulas of their own (nothing of the library), and the switch `long`. */
#ifndef LAYOUT_LAWS_H
#define LAYOUT_LAWS_H

#include "layout/tile.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static bool run_long;

/* No word: a part of each family, in seconds. `long`: all of them; `long WORD`: those laws whose
 * names have the word. False: the words are wrong. */
static bool read_words(int count, char **words) {
    static char pattern[128];
    run_long = count > 1 && strcmp(words[1], "long") == 0;
    if (count > 3 || (count > 1 && !run_long)) {
        fprintf(stderr, "usage: %s [long [WORD]]\n", words[0]);
        return false;
    }
    if (count > 2) {
        snprintf(pattern, sizeof pattern, "*%s*", words[2]);
        cmocka_set_test_filter(pattern);
    }
    return true;
}

/* ---- positions in order ---- */
/* Least first: lanes count fastest, then subgroups, blocks, slots, steps and groups. */
static const layout_holder packing[LAYOUT_HOLDER_COUNT] = {
    LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK, LAYOUT_SLOT, LAYOUT_STEP, LAYOUT_GROUP};

typedef struct ranges {
    int64_t of[LAYOUT_HOLDER_COUNT], positions;
} ranges;

static ranges count_positions(ranges r) {
    r.positions = 1;
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++)
        r.positions *= r.of[h];
    return r;
}

static layout_position position_of(const ranges *r, int64_t n) {
    layout_position p;
    for (int i = 0; i < LAYOUT_HOLDER_COUNT; i++) {
        p.number[packing[i]] = n % r->of[packing[i]];
        n /= r->of[packing[i]];
    }
    return p;
}

static const char *text_of(const layout_tile *tile) {
    static char text[512];
    base_arena arena;
    jmp_buf exhausted;
    base_text out;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_text_init(&out, &arena);
    layout_tile_print_shortest(&out, tile);
    snprintf(text, sizeof text, "%s", out.bytes);
    base_arena_free(&arena);
    return text;
}

static layout_tile read_text(const char *text) {
    base_arena arena;
    jmp_buf exhausted;
    layout_tile tile;
    layout_fault fault = {0};
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    if (!layout_tile_parse(&arena, text, strlen(text), &tile, &fault))
        fail_msg("%s: %s", text, fault.reason);
    base_arena_free(&arena);
    return tile;
}

/* ---- random numbers ---- */
static uint64_t random_state = 0x9e3779b97f4a7c15u;

static int64_t random_below(int64_t limit) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)limit);
}

/* ---- permutations of bits ---- */
typedef struct permutation {
    int bits, order[8];
    int64_t mask, slots;
} permutation;

static layout_tile read_permutation(const permutation *f) {
    char text[128] = "bits(";
    for (int l = 0; l < f->bits; l++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d, ", f->order[l]);
    snprintf(text + strlen(text), sizeof text - strlen(text), "xor=%d, slots=%d)", (int)f->mask,
             (int)f->slots);
    return read_text(text);
}

static bool next_permutation(permutation *f) {
    int i = f->bits - 2, k = f->bits - 1;
    while (i >= 0 && f->order[i] > f->order[i + 1])
        i--;
    if (i < 0)
        return false;
    while (f->order[k] < f->order[i])
        k--;
    int moved = f->order[i];
    f->order[i] = f->order[k];
    f->order[k] = moved;
    for (int low = i + 1, high = f->bits - 1; low < high; low++, high--) {
        moved = f->order[low];
        f->order[low] = f->order[high];
        f->order[high] = moved;
    }
    return true;
}

static permutation first_permutation(int bits) {
    permutation f = {.bits = bits, .slots = 1};
    for (int l = 0; l < bits; l++)
        f.order[l] = l;
    return f;
}

/* ---- digits by chance ---- */
typedef struct chance_digit {
    int axis; /* -1: a replica */
    layout_holder holder;
    int64_t radix, stride, weight;
} chance_digit;

typedef struct chance {
    int count, rank;
    chance_digit digits[24];
    int64_t size[LAYOUT_MAX_RANK], shift[LAYOUT_MAX_RANK];
} chance;

static int64_t says_chance(const void *family, const layout_position *position) {
    const chance *f = family;
    int64_t index[LAYOUT_MAX_RANK] = {0}, flat = 0;
    for (int i = 0; i < f->count; i++) {
        const chance_digit *d = &f->digits[i];
        if (d->axis >= 0)
            index[d->axis] += position->number[d->holder] / d->stride % d->radix * d->weight;
    }
    for (int a = 0; a < f->rank; a++) {
        index[a] -= f->shift[a];
        if (index[a] < 0 || index[a] >= f->size[a])
            return -1;
        flat = flat * f->size[a] + index[a];
    }
    return flat;
}

static ranges ranges_of_chance(const chance *f) {
    ranges r = {.of = {1, 1, 1, 1, 1, 1}};
    for (int i = 0; i < f->count; i++)
        r.of[f->digits[i].holder] *= f->digits[i].radix;
    return count_positions(r);
}

static layout_tile tile_of_chance(const chance *f) {
    layout_tile tile = {.kind = LAYOUT_DIGITS, .rank = f->rank};
    for (int i = 0; i < f->count; i++) {
        const chance_digit *d = &f->digits[i];
        layout_axis *axis = d->axis < 0 ? &tile.replicas : &tile.axis[d->axis];
        axis->digits[axis->count++] =
            (layout_digit){.holder = d->holder, .radix = d->radix, .stride = d->stride};
    }
    memcpy(tile.size, f->size, sizeof tile.size);
    memcpy(tile.shift, f->shift, sizeof tile.shift);
    return tile;
}

/* Weights by the order of the digits; sizes and shifts within the boxes. */
static void set_weights(chance *f, int64_t *box, int64_t *innermost) {
    for (int a = 0; a < LAYOUT_MAX_RANK; a++) {
        box[a] = 1;
        innermost[a] = 0;
    }
    for (int i = 0; i < f->count; i++) {
        chance_digit *d = &f->digits[i];
        if (d->axis < 0)
            continue;
        if (innermost[d->axis] == 0)
            innermost[d->axis] = d->holder == LAYOUT_SLOT ? d->radix : 1;
        d->weight = box[d->axis];
        box[d->axis] *= d->radix;
    }
}

static void shuffle_digits(chance *f) {
    for (int i = f->count - 1; i > 0; i--) {
        int k = (int)random_below(i + 1);
        chance_digit moved = f->digits[i];
        f->digits[i] = f->digits[k];
        f->digits[k] = moved;
    }
}

static void choose_sizes(chance *f) {
    int64_t box[LAYOUT_MAX_RANK], innermost[LAYOUT_MAX_RANK];
    set_weights(f, box, innermost);
    for (int a = 0; a < f->rank; a++) {
        f->shift[a] = random_below(3) == 0 && innermost[a] > 1 ? random_below(innermost[a]) : 0;
        f->size[a] = box[a] - f->shift[a];
        int64_t choice = random_below(4), whole = f->size[a];
        if (choice == 0)
            f->size[a] = 1 + random_below(whole);
        for (int i = 0; choice == 1 && i < f->count; i++) { /* about the weight of a digit */
            int64_t size = f->digits[i].weight - random_below(4);
            if (f->digits[i].axis == a && size >= 1 && size <= whole && random_below(2) == 0)
                f->size[a] = size;
        }
    }
}

/* Up to three digits of each holder, of which the axes are chosen by chance. Plain ones are powers
 * of two, without steps, groups and blocks: these have more spellings. */
static chance make_chance(int rank, int64_t most, bool plain) {
    chance f = {.rank = rank};
    int64_t positions = 1;
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        int64_t stride = 1;
        if (plain && h != LAYOUT_SLOT && h != LAYOUT_LANE && h != LAYOUT_SUBGROUP)
            continue;
        for (int64_t digits = random_below(4); digits > 0; digits--) {
            int64_t radix = plain ? 1 + random_below(2) : 1 + random_below(5);
            if (positions * radix > most)
                break;
            int axis = rank == 0 || random_below(6) == 0 ? -1 : (int)random_below(rank);
            f.digits[f.count++] = (chance_digit){axis, (layout_holder)h, radix, stride, 0};
            stride *= radix;
            positions *= radix;
        }
    }
    shuffle_digits(&f);
    choose_sizes(&f);
    return f;
}

static bool fits_twelve(const chance *f) {
    int digits[LAYOUT_MAX_RANK + 1] = {0};
    for (int i = 0; i < f->count; i++)
        if (++digits[f->digits[i].axis + 1] > LAYOUT_MAX_DIGITS)
            return false;
    return true;
}

#endif
