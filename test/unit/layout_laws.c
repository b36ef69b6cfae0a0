/* Laws of layouts, against enumeration: every position and every index of thousands of layouts.
 *
 *     unit_layout_laws             a part of each family, in seconds
 *     unit_layout_laws long        all of them: every permutation of 5 and of 7 bits, and every
 *                                  width, worker count, vector and shift of the table below
 *     unit_layout_laws long WORD   only the laws whose names have the word
 *
 * For each layout: logical is what the family's formula says, at every position; each index inside
 * the sizes has as many owners as there are replicas, and owner gives the least of them; slots are
 * those that own something; every spelling that it has reads back as the same function. The
 * formulas here share nothing with the library.
 *
 * tier: check-long */
#include "layout_laws.h"

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

static int64_t replicas_of_chance(const chance *f) {
    int64_t replicas = 1;
    for (int i = 0; i < f->count; i++)
        replicas *= f->digits[i].axis < 0 ? f->digits[i].radix : 1;
    return replicas;
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
        cmocka_unit_test(blocked_cyclic_over_the_edge_widths),
        cmocka_unit_test(digits_with_strides_prefixes_shifts_and_replicas),
        cmocka_unit_test(matrices_with_replicas),
    };
    return read_words(count, words) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
