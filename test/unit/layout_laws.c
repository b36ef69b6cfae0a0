/* Laws of layouts, against enumeration: every position and every index of thousands of layouts.
 *
 *     unit_layout_laws             a part of each family, in seconds
 *     unit_layout_laws long        all of them: every permutation of 5 and of 7 bits, and every
 *                                  width, worker count, vector and shift of the table below
 *     unit_layout_laws long WORD   only the laws whose names have the word
 *
 * For each layout: logical is what the family's formula says, at every position; each index inside
 * the sizes has as many owners as there are replicas, and owner gives the least of them; slots are
 * those that own something; every spelling that it has reads back as the same function. And two
 * layouts are equal exactly when their tables are. The formulas here share nothing with the
 * library. */
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

static int64_t number_of(const ranges *r, const layout_position *p) {
    int64_t n = 0;
    for (int i = LAYOUT_HOLDER_COUNT - 1; i >= 0; i--)
        n = n * r->of[packing[i]] + p->number[packing[i]];
    return n;
}

/* What a family says of a position: the index, last axis fastest, or -1. */
typedef int64_t formula(const void *family, const layout_position *position);

static int64_t flat_index(const layout_tile *tile, const int64_t index[LAYOUT_MAX_RANK]) {
    int64_t flat = 0;
    for (int a = 0; a < tile->rank; a++)
        flat = flat * tile->size[a] + index[a];
    return flat;
}

static int64_t elements(const layout_tile *tile) {
    int64_t count = 1;
    for (int a = 0; a < tile->rank; a++)
        count *= tile->size[a];
    return count;
}

static int64_t logical(const layout_tile *tile, const layout_position *position) {
    int64_t index[LAYOUT_MAX_RANK] = {0};
    return layout_tile_logical(tile, position, index) ? flat_index(tile, index) : -1;
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

/* ---- the laws of one layout ---- */
static void check_outside(const layout_tile *tile, const ranges *r) {
    layout_position p;
    int64_t index[LAYOUT_MAX_RANK] = {0};
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        p = (layout_position){0};
        p.number[h] = r->of[h];
        if (layout_tile_logical(tile, &p, index))
            fail_msg("%s: owns beyond holder %d", text_of(tile), h);
        p.number[h] = -1;
        if (layout_tile_logical(tile, &p, index))
            fail_msg("%s: owns below holder %d", text_of(tile), h);
    }
    for (int a = 0; a < tile->rank; a++) {
        memset(index, 0, sizeof index);
        index[a] = tile->size[a];
        if (layout_tile_owner(tile, index, &p))
            fail_msg("%s: the size has an owner", text_of(tile));
        index[a] = -1;
        if (layout_tile_owner(tile, index, &p))
            fail_msg("%s: -1 has an owner", text_of(tile));
    }
}

static void check_owners(const layout_tile *tile, const ranges *r, const int64_t *first,
                         const int32_t *owners, int64_t replication) {
    int64_t count = elements(tile);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[LAYOUT_MAX_RANK] = {0}, rest = flat;
        layout_position owner;
        for (int a = tile->rank - 1; a >= 0; a--) {
            index[a] = rest % tile->size[a];
            rest /= tile->size[a];
        }
        if (owners[flat] != replication)
            fail_msg("%s: index %" PRId64 " has %d owners", text_of(tile), flat, owners[flat]);
        if (!layout_tile_owner(tile, index, &owner) || number_of(r, &owner) != first[flat])
            fail_msg("%s: index %" PRId64 " has another owner", text_of(tile), flat);
    }
}

static int64_t count_set(const char *marks, int64_t count) {
    int64_t set = 0;
    for (int64_t i = 0; i < count; i++)
        set += marks[i];
    return set;
}

static void check_map(const layout_tile *tile, ranges r, formula *says, const void *family,
                      int64_t replication) {
    int64_t count = elements(tile);
    int64_t *first = calloc((size_t)count, sizeof *first);
    int32_t *owners = calloc((size_t)count, sizeof *owners);
    char *live = calloc((size_t)r.of[LAYOUT_SLOT], 1);
    for (int64_t n = 0; n < r.positions; n++) {
        layout_position p = position_of(&r, n);
        int64_t index = logical(tile, &p);
        if (index != says(family, &p))
            fail_msg("%s: position %" PRId64 " owns %" PRId64 ", not %" PRId64, text_of(tile), n,
                     index, says(family, &p));
        if (index < 0)
            continue;
        live[p.number[LAYOUT_SLOT]] = 1;
        if (owners[index]++ == 0)
            first[index] = n;
    }
    check_owners(tile, &r, first, owners, replication);
    check_outside(tile, &r);
    assert_int_equal(layout_tile_slots(tile), count_set(live, r.of[LAYOUT_SLOT]));
    assert_int_equal(layout_tile_capacity(tile), r.of[LAYOUT_SLOT]);
    assert_int_equal(layout_tile_threads(tile),
                     r.of[LAYOUT_LANE] * r.of[LAYOUT_SUBGROUP] * r.of[LAYOUT_BLOCK]);
    assert_int_equal(layout_tile_replication(tile), replication);
    free(first);
    free(owners);
    free(live);
}

/* Returns which spellings the layout has. */
static unsigned check_spellings(const layout_tile *tile, ranges r, formula *says,
                                const void *family) {
    unsigned has = 0;
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    for (int s = 0; s < LAYOUT_SPELLING_COUNT; s++) {
        base_text out;
        layout_tile back;
        layout_fault fault = {0};
        base_text_init(&out, &arena);
        if (!layout_tile_print(&out, tile, (layout_spelling)s))
            continue;
        has |= 1u << s;
        if (!layout_tile_parse(&arena, out.bytes, (size_t)out.length, &back, &fault))
            fail_msg("%s is not read: %s", out.bytes, fault.reason);
        if (!layout_tile_check(&arena, &back, &fault))
            fail_msg("%s was read, but: %s", out.bytes, fault.reason);
        if (!layout_tile_equal(tile, &back) || !layout_tile_equal(&back, tile))
            fail_msg("%s differs from %s", out.bytes, text_of(tile));
        for (int64_t n = 0; n < r.positions; n++) {
            layout_position p = position_of(&r, n);
            if (logical(&back, &p) != says(family, &p))
                fail_msg("%s reads back as another function", out.bytes);
        }
    }
    base_arena_free(&arena);
    return has;
}

static void check_canonical(const layout_tile *tile, ranges r, formula *says, const void *family) {
    layout_tile canonical = *tile;
    layout_tile_canonicalise(&canonical);
    assert_true(layout_tile_equal(tile, &canonical));
    for (int64_t n = 0; n < r.positions; n++) {
        layout_position p = position_of(&r, n);
        assert_int_equal(logical(&canonical, &p), says(family, &p));
    }
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

static int64_t says_permutation(const void *family, const layout_position *position) {
    const permutation *f = family;
    int64_t threads = (INT64_C(1) << f->bits) / f->slots, index = 0;
    int64_t lanes = threads < 32 ? threads : 32;
    int64_t packed = position->number[LAYOUT_LANE] + position->number[LAYOUT_SUBGROUP] * lanes +
                     position->number[LAYOUT_SLOT] * threads;
    for (int l = 0; l < f->bits; l++)
        index += ((packed >> f->order[l]) & 1) << l;
    return index ^ f->mask;
}

static ranges ranges_of_permutation(const permutation *f) {
    int64_t threads = (INT64_C(1) << f->bits) / f->slots;
    ranges r = {.of = {1, 1, 1, 1, 1, 1}};
    r.of[LAYOUT_LANE] = threads < 32 ? threads : 32;
    r.of[LAYOUT_SUBGROUP] = threads / r.of[LAYOUT_LANE];
    r.of[LAYOUT_SLOT] = f->slots;
    return count_positions(r);
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

static void check_permutation(const permutation *f) {
    layout_tile tile = read_permutation(f);
    ranges r = ranges_of_permutation(f);
    check_map(&tile, r, says_permutation, f, 1);
    unsigned has = check_spellings(&tile, r, says_permutation, f);
    assert_true(has & (1u << LAYOUT_SPELL_BITS));
    assert_true(has & (1u << LAYOUT_SPELL_GF2));
    assert_int_equal((has >> LAYOUT_SPELL_DIGITS) & 1, f->mask == 0);
    assert_int_equal((has >> LAYOUT_SPELL_CUTE) & 1, f->mask == 0);
    assert_int_equal((has >> LAYOUT_SPELL_TRITON) & 1, f->mask == 0);
    check_canonical(&tile, r, says_permutation, f);
}

static void permutations_of_five_bits(void **state) {
    (void)state;
    int count = 0;
    permutation f = first_permutation(5);
    do {
        for (f.slots = 1; f.slots <= 32; f.slots *= 2)
            for (f.mask = 0; f.mask < 32; f.mask += run_long ? 1 : 9 + count % 5)
                check_permutation(&f);
        count++;
    } while (next_permutation(&f));
    assert_int_equal(count, 120);
}

static void permutations_of_seven_bits(void **state) {
    (void)state;
    static const int masks[] = {0, 1, 64, 85, 127};
    int count = 0;
    permutation f = first_permutation(7);
    do {
        for (int m = 0; m < 5; m++) {
            f.mask = masks[m];
            for (int s = 0; s < 8; s++) {
                f.slots = INT64_C(1) << s;
                if (run_long || (count * 3 + m + s) % 113 == 0)
                    check_permutation(&f);
            }
        }
        count++;
    } while (next_permutation(&f));
    assert_int_equal(count, 5040);
}

/* Every pair: equal exactly when order and constant are the same, whichever way it is held. */
static void permutations_are_equal_only_to_themselves(void **state) {
    (void)state;
    enum { MOST = 120 * 2 };
    static layout_tile tiles[MOST], digits[MOST];
    int count = 0, with_digits = 0;
    permutation f = first_permutation(5);
    f.slots = 4;
    do {
        for (f.mask = 0; f.mask < 32; f.mask += 19)
            tiles[count++] = read_permutation(&f);
    } while (next_permutation(&f));
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    for (int i = 0; i < count; i++) {
        base_text out;
        base_text_init(&out, &arena);
        digits[i] = tiles[i];
        if (layout_tile_print(&out, &tiles[i], LAYOUT_SPELL_DIGITS)) {
            digits[i] = read_text(out.bytes);
            with_digits += digits[i].kind == LAYOUT_DIGITS;
        }
    }
    base_arena_free(&arena);
    assert_int_equal(with_digits, 120);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            if (layout_tile_equal(&tiles[i], &tiles[k]) != (i == k) ||
                layout_tile_equal(&tiles[i], &digits[k]) != (i == k) ||
                layout_tile_equal(&digits[i], &digits[k]) != (i == k))
                fail_msg("%s and number %d", text_of(&tiles[i]), k);
        }
    }
}

/* ---- blocked-cyclic ---- */
typedef struct blocked {
    int64_t size, workers, vector, shift;
    bool in_steps;
} blocked;

static int64_t says_blocked(const void *family, const layout_position *position) {
    const blocked *f = family;
    int64_t slot = position->number[LAYOUT_SLOT];
    int64_t worker = position->number[LAYOUT_LANE] +
                     position->number[LAYOUT_SUBGROUP] * (f->workers < 32 ? f->workers : 32);
    int64_t chunk = f->in_steps ? position->number[LAYOUT_STEP] : slot / f->vector;
    int64_t index = (chunk * f->workers + worker) * f->vector + slot % f->vector - f->shift;
    return index >= 0 && index < f->size ? index : -1;
}

static void check_blocked(const blocked *f) {
    layout_tile tile = layout_tile_blocked_cyclic(f->size, f->workers, f->vector, f->shift,
                                                  f->in_steps ? LAYOUT_STEP : LAYOUT_SLOT, 32);
    int64_t chunk = f->workers * f->vector, end = f->size + f->shift;
    int64_t chunks = (end + chunk - 1) / chunk;
    ranges r = {.of = {1, 1, 1, 1, 1, 1}};
    r.of[LAYOUT_LANE] = f->workers < 32 ? f->workers : 32;
    r.of[LAYOUT_SUBGROUP] = f->workers / r.of[LAYOUT_LANE];
    r.of[LAYOUT_SLOT] = f->vector * (f->in_steps ? 1 : chunks);
    r.of[LAYOUT_STEP] = f->in_steps ? chunks : 1;
    r = count_positions(r);
    check_map(&tile, r, says_blocked, f, 1);
    unsigned has = check_spellings(&tile, r, says_blocked, f);
    assert_true(has & (1u << LAYOUT_SPELL_BLOCKED_CYCLIC));
    assert_true(has & (1u << LAYOUT_SPELL_DIGITS));
    if (!f->in_steps && f->shift == 0) {
        int64_t rest = f->size % chunk;
        assert_int_equal(layout_tile_slots(&tile),
                         f->size / chunk * f->vector + (rest < f->vector ? rest : f->vector));
        assert_int_equal(layout_tile_capacity(&tile), chunks * f->vector);
    }
}

static const int64_t widths[] = {1,    31,   32,   33,   127,  128,  129,  257,   1009,  1024, 1537,
                                 4095, 4096, 4097, 4103, 8191, 8192, 8193, 12289, 16384, 65537};

/* W: 1 to 16, then 32 to 1024 by 32. */
static int64_t worker_count(int number) {
    return number < 16 ? number + 1 : (number - 15) * 32;
}

static void blocked_cyclic_over_the_edge_widths(void **state) {
    (void)state;
    int layouts = 0;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        for (int number = 0; number < 48; number++) {
            for (int64_t vector = 1; vector <= 8; vector *= 2) {
                for (int64_t shift = 0; shift < vector; shift++) {
                    blocked f = {widths[w], worker_count(number), vector, shift, layouts % 3 == 2};
                    layouts++;
                    if (run_long || (widths[w] <= 1537 && layouts % 37 == 0) || layouts % 1009 == 0)
                        check_blocked(&f);
                }
            }
        }
    }
    assert_int_equal(layouts, 21 * 48 * 15);
    blocked named = {8193, 256, 4, 0, false};
    layout_tile tile = layout_tile_blocked_cyclic(8193, 256, 4, 0, LAYOUT_SLOT, 32);
    check_blocked(&named);
    assert_int_equal(layout_tile_slots(&tile), 33);
    assert_int_equal(layout_tile_capacity(&tile), 36);
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

static int64_t replicas_of_chance(const chance *f) {
    int64_t replicas = 1;
    for (int i = 0; i < f->count; i++)
        replicas *= f->digits[i].axis < 0 ? f->digits[i].radix : 1;
    return replicas;
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
        if (random_below(2) == 0)
            f->size[a] = 1 + random_below(f->size[a]);
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

static void digits_with_strides_prefixes_shifts_and_replicas(void **state) {
    (void)state;
    unsigned spelled = 0;
    for (int i = 0; i < (run_long ? 40000 : 600); i++) {
        chance f = make_chance((int)random_below(5), 1500, i % 2 == 0);
        if (!fits_twelve(&f))
            continue;
        layout_tile tile = tile_of_chance(&f);
        base_arena arena;
        jmp_buf exhausted;
        layout_fault fault;
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        if (!layout_tile_check(&arena, &tile, &fault))
            fail_msg("%s: %s", text_of(&tile), fault.reason);
        base_arena_free(&arena);
        ranges r = ranges_of_chance(&f);
        check_map(&tile, r, says_chance, &f, replicas_of_chance(&f));
        unsigned has = check_spellings(&tile, r, says_chance, &f);
        assert_true(has & (1u << LAYOUT_SPELL_DIGITS));
        check_canonical(&tile, r, says_chance, &f);
        spelled |= has;
    }
    assert_int_equal(spelled | (1u << LAYOUT_SPELL_BITS), (1u << LAYOUT_SPELLING_COUNT) - 1);
}

/* ---- equality ---- */
static bool same_tables(const chance *a, const chance *b) {
    ranges r = ranges_of_chance(a), other = ranges_of_chance(b);
    if (a->rank != b->rank || memcmp(&r, &other, sizeof r) != 0 ||
        memcmp(a->size, b->size, sizeof a->size) != 0)
        return false;
    for (int64_t n = 0; n < r.positions; n++) {
        layout_position p = position_of(&r, n);
        if (says_chance(a, &p) != says_chance(b, &p))
            return false;
    }
    return true;
}

/* Returns whether they are equal. */
static bool check_pair(const chance *a, const chance *b) {
    layout_tile first = tile_of_chance(a), second = tile_of_chance(b);
    bool equal = layout_tile_equal(&first, &second);
    if (equal != same_tables(a, b)) {
        char text[512];
        snprintf(text, sizeof text, "%s", text_of(&first));
        fail_msg("%s and %s are %s", text, text_of(&second), equal ? "different" : "equal");
    }
    return equal;
}

/* A digit becomes two; two that may be one become one; two change places. */
static void vary(chance *f) {
    if (f->count == 0)
        return;
    int at = (int)random_below(f->count);
    chance_digit *d = &f->digits[at];
    int64_t kind = random_below(3);
    if (kind == 0 && d->radix == 4 && f->count < 20) {
        memmove(d + 1, d, sizeof *d * (size_t)(f->count - at));
        f->count++;
        d[0].radix = d[1].radix = 2;
        d[1].stride *= 2;
    } else if (kind == 1 && at + 1 < f->count && d[0].holder == d[1].holder &&
               d[0].axis == d[1].axis && d[1].stride == d[0].stride * d[0].radix) {
        d[0].radix *= d[1].radix;
        f->count--;
        memmove(d + 1, d + 2, sizeof *d * (size_t)(f->count - at - 1));
    } else if (kind == 2 && at + 1 < f->count) {
        chance_digit moved = d[0];
        d[0] = d[1];
        d[1] = moved;
    }
}

/* A variant whose size still fits, shift by chance; the same size. */
static chance variant_of(const chance *a) {
    chance b = *a;
    int64_t box[LAYOUT_MAX_RANK], innermost[LAYOUT_MAX_RANK];
    for (int64_t turns = random_below(5); turns > 0; turns--)
        vary(&b);
    set_weights(&b, box, innermost);
    for (int i = 0; i < b.rank; i++) {
        int64_t room = box[i] - b.size[i];
        int64_t limit =
            innermost[i] > 1 && room > 0 ? (innermost[i] - 1 < room ? innermost[i] - 1 : room) : 0;
        if (b.shift[i] > limit || random_below(4) == 0)
            b.shift[i] = limit == 0 ? 0 : random_below(limit + 1);
    }
    return b;
}

static void equality_of_variants_is_that_of_their_tables(void **state) {
    (void)state;
    int equal = 0, pairs = 0;
    for (int i = 0; i < (run_long ? 400000 : 6000); i++) {
        chance a = make_chance(1 + (int)random_below(2), i % 2 == 0 ? 24 : 300, false);
        if (i % 3 == 0) /* little is owned: much looks alike */
            for (int k = 0; k < a.rank; k++)
                a.size[k] = 1 + random_below(a.size[k] < 4 ? a.size[k] : 4);
        chance b = variant_of(&a);
        if (!fits_twelve(&a) || !fits_twelve(&b))
            continue;
        pairs++;
        equal += check_pair(&a, &b);
    }
    assert_true(equal > pairs / 10 && equal < pairs * 9 / 10);
}

typedef struct small_family {
    int count;
    chance layouts[400];
} small_family;

/* All orders of the digits of two holders. */
static void add_orders(small_family *family, chance f, int chosen) {
    if (chosen == f.count) {
        int64_t box[LAYOUT_MAX_RANK], innermost[LAYOUT_MAX_RANK];
        set_weights(&f, box, innermost);
        for (f.shift[0] = 0; f.shift[0] < innermost[0]; f.shift[0]++)
            family->layouts[family->count++] = f;
        return;
    }
    for (int i = chosen; i < f.count; i++) {
        chance next = f;
        next.digits[chosen] = f.digits[i];
        next.digits[i] = f.digits[chosen];
        add_orders(family, next, chosen + 1);
    }
}

/* Chains of radices with the same product: what one holder's range may be made of. */
static const int chains[][3] = {{6}, {2, 3}, {3, 2}, {4}, {2, 2}};

static small_family *make_small_family(int first, int last) {
    small_family *family = calloc(1, sizeof *family);
    for (int s = first; s <= last; s++) {
        for (int l = first; l <= last; l++) {
            chance f = {.rank = 1};
            for (int h = 0; h < 2; h++) {
                int64_t stride = 1;
                for (const int *radix = chains[h == 0 ? s : l]; *radix != 0; radix++) {
                    f.digits[f.count++] =
                        (chance_digit){0, h == 0 ? LAYOUT_SLOT : LAYOUT_LANE, *radix, stride, 0};
                    stride *= *radix;
                }
            }
            add_orders(family, f, 0);
        }
    }
    return family;
}

/* Every size of every pair: prefixes and shifts that hide where layouts differ. */
static void check_small_family(int first, int last, int64_t box, int64_t step) {
    small_family *family = make_small_family(first, last);
    int64_t equal = 0;
    for (int64_t size = 1; size <= box; size += step) {
        for (int i = 0; i < family->count; i++) {
            for (int k = 0; k <= i; k++) {
                chance *a = &family->layouts[i], *b = &family->layouts[k];
                a->size[0] = b->size[0] = size;
                if (size + a->shift[0] <= box && size + b->shift[0] <= box)
                    equal += check_pair(a, b);
            }
        }
    }
    assert_true(equal > family->count * box / step);
    free(family);
}

static void equality_under_every_prefix_and_shift(void **state) {
    (void)state;
    check_small_family(3, 4, 16, 1);
    check_small_family(0, 2, 36, run_long ? 1 : 17);
}

/* ---- GF(2) by chance ---- */
static int64_t says_bits(const void *family, const layout_position *position) {
    const layout_bits *f = family;
    int64_t packed = 0, index = f->constant;
    const int widths_of[4] = {f->lane_bits, f->subgroup_bits, f->block_bits, f->slot_bits};
    for (int i = 3; i >= 0; i--)
        packed = (packed << widths_of[i]) + position->number[packing[i]];
    for (int p = 0; p < LAYOUT_MAX_BITS; p++)
        index ^= (packed >> p) & 1 ? f->column[p] : 0;
    return index;
}

/* Columns that make up all bits of the index: the identity under random row operations, then
 * anything, in any order. */
static layout_bits make_bits(int positions) {
    layout_bits f = {.index_bits = (int)random_below(positions + 1)};
    int *parts[4] = {&f.lane_bits, &f.subgroup_bits, &f.block_bits, &f.slot_bits};
    for (int p = 0; p < positions; p++)
        ++*parts[random_below(4)];
    for (int p = 0; p < positions; p++)
        f.column[p] =
            p < f.index_bits ? 1u << p : (uint32_t)random_below(INT64_C(1) << f.index_bits);
    for (int i = 0; i < 4 * f.index_bits; i++) {
        int to = (int)random_below(f.index_bits), from = (int)random_below(f.index_bits);
        f.column[to] ^= to == from ? 0 : f.column[from];
    }
    for (int p = positions - 1; p > 0; p--) {
        int k = (int)random_below(p + 1);
        uint32_t moved = f.column[p];
        f.column[p] = f.column[k];
        f.column[k] = moved;
    }
    f.constant = random_below(2) ? (uint32_t)random_below(INT64_C(1) << f.index_bits) : 0;
    return f;
}

static layout_tile tile_of_bits(const layout_bits *bits) {
    layout_tile tile = {
        .kind = LAYOUT_BITS, .rank = 1, .size = {INT64_C(1) << bits->index_bits}, .bits = *bits};
    return tile;
}

static ranges ranges_of_bits(const layout_bits *f) {
    ranges r = {.of = {1, 1, 1, 1, 1, 1}};
    r.of[LAYOUT_LANE] = INT64_C(1) << f->lane_bits;
    r.of[LAYOUT_SUBGROUP] = INT64_C(1) << f->subgroup_bits;
    r.of[LAYOUT_BLOCK] = INT64_C(1) << f->block_bits;
    r.of[LAYOUT_SLOT] = INT64_C(1) << f->slot_bits;
    return count_positions(r);
}

static void matrices_with_replicas(void **state) {
    (void)state;
    unsigned spelled = 0;
    for (int i = 0; i < (run_long ? 20000 : 500); i++) {
        int positions = (int)random_below(10);
        layout_bits bits = make_bits(positions);
        layout_tile tile = tile_of_bits(&bits);
        ranges r = ranges_of_bits(&bits);
        check_map(&tile, r, says_bits, &bits, INT64_C(1) << (positions - bits.index_bits));
        unsigned has = check_spellings(&tile, r, says_bits, &bits);
        assert_true(has & (1u << LAYOUT_SPELL_GF2));
        assert_int_equal((has >> LAYOUT_SPELL_TRITON) & 1, bits.constant == 0);
        spelled |= has;
        layout_bits other = bits;
        int changed = (int)random_below(positions + 1);
        if (changed == positions)
            other.constant ^= (uint32_t)random_below(INT64_C(1) << bits.index_bits);
        else
            other.column[changed] ^= (uint32_t)random_below(INT64_C(1) << bits.index_bits);
        layout_tile second = tile_of_bits(&other);
        bool same = memcmp(&bits, &other, sizeof bits) == 0;
        assert_int_equal(layout_tile_equal(&tile, &second), same);
    }
    assert_true(spelled & (1u << LAYOUT_SPELL_DIGITS));
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations_of_five_bits),
        cmocka_unit_test(permutations_of_seven_bits),
        cmocka_unit_test(permutations_are_equal_only_to_themselves),
        cmocka_unit_test(blocked_cyclic_over_the_edge_widths),
        cmocka_unit_test(digits_with_strides_prefixes_shifts_and_replicas),
        cmocka_unit_test(equality_of_variants_is_that_of_their_tables),
        cmocka_unit_test(equality_under_every_prefix_and_shift),
        cmocka_unit_test(matrices_with_replicas),
    };
    char pattern[128];
    run_long = count > 1 && strcmp(words[1], "long") == 0;
    if (count > 3 || (count > 1 && !run_long)) {
        fprintf(stderr, "usage: %s [long [WORD]]\n", words[0]);
        return 2;
    }
    if (count > 2) {
        snprintf(pattern, sizeof pattern, "*%s*", words[2]);
        cmocka_set_test_filter(pattern);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
