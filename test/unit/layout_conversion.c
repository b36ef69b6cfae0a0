/* Conversions of random bit layouts against enumeration: the owner map, the class, the four steps
 * inside a subgroup lane by lane, swizzles counted bank by bank, composition.
 *
 * tier: check-long
 */
#include "bits_fixture.h"

#include "layout/conversion.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PAIRS = 2000, LANES = 5, SAMPLES = 1024 };

static base_arena arena;
static jmp_buf exhausted;

static int set_up(void **state) {
    (void)state;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    base_arena_free(&arena);
    return 0;
}

static layout_conversion convert(const layout_bits *source, const layout_bits *destination) {
    layout_conversion conversion;
    layout_fault fault;
    assert_true(layout_convert_bits(&arena, source, destination, &conversion, &fault));
    return conversion;
}

/* Dimension of the functionals of the index that no thread bit of either side moves. */
static int repeat_bits_by_enumeration(const layout_bits *a, const layout_bits *b) {
    int bits = 0, found = 0, threads = layout_bits_threads(a);
    for (uint32_t functional = 0; functional < 1u << a->index_bits; functional++) {
        bool moved = false;
        for (int p = 0; p < threads && !moved; p++)
            moved = __builtin_parity(functional & a->column[p]) ||
                    __builtin_parity(functional & b->column[p]);
        found += !moved;
    }
    while (1 << bits < found)
        bits++;
    return bits;
}

/* All positions, or as many by chance: position number i of `count`. */
static uint32_t sample(uint32_t positions, uint32_t i) {
    return positions <= SAMPLES ? i : (uint32_t)bits_random() & (positions - 1);
}

static uint32_t samples(uint32_t positions) {
    return positions < SAMPLES ? positions : SAMPLES;
}

/* ---- layouts ---- */

/* A layout that reads the source through a random map of positions which keeps the subgroup. */
static layout_bits rearranged(const layout_bits *source, int slots) {
    layout_bits made = *source;
    int threads = layout_bits_threads(source), from = layout_bits_positions(source);
    made.slot_bits = slots;
    bool tame = bits_below(2) == 0; /* most columns stay */
    do {
        for (int p = 0; p < threads + slots; p++) {
            bool subgroup = p >= source->lane_bits && p < threads;
            uint32_t mixed =
                bits_mask(from) & ~(((1u << source->subgroup_bits) - 1) << source->lane_bits);
            if (tame ? bits_below(5) > 0 : bits_below(4) == 0)
                mixed = subgroup ? 0 : p < from ? 1u << p : 0;
            if (subgroup)
                mixed ^= 1u << p;
            made.column[p] = layout_bits_index(source, mixed) ^ source->constant;
        }
        uint32_t inside =
            bits_mask(from) & ~(((1u << source->subgroup_bits) - 1) << source->lane_bits);
        made.constant = layout_bits_index(source, inside);
    } while (!layout_bits_is_onto(&made));
    return made;
}

typedef struct pair {
    layout_bits source, destination;
} pair;

/* Kind 0: any two; 1: equal threads and slots, inside subgroups; 2: inside, with copies. */
static pair random_pair(int kind) {
    int subgroups = bits_below(6), slots = bits_below(6), other = slots;
    int index_bits = LANES + subgroups + slots;
    if (kind == 2) {
        other = bits_below(6);
        index_bits -= bits_below(1 + (index_bits < 6 ? index_bits : 6));
        if (index_bits > LANES + subgroups + other)
            index_bits = LANES + subgroups + other;
    }
    pair made = {.source = bits_make(LANES, subgroups, slots, index_bits)};
    bool inside = kind != 0 && index_bits <= LANES + subgroups + other;
    if (inside && (kind == 1 || (other >= slots && bits_below(3) > 0)))
        made.destination = rearranged(&made.source, other);
    else
        made.destination = bits_make(LANES, subgroups, other, index_bits);
    return made;
}

/* ---- classes by enumeration ---- */

static layout_class class_by_enumeration(const pair *p) {
    int lanes = p->source.lane_bits, threads = layout_bits_threads(&p->source);
    uint32_t thread_mask = (1u << threads) - 1;
    uint32_t positions = 1u << layout_bits_positions(&p->destination);
    layout_class worst = LAYOUT_FORWARD;
    static uint32_t renamed[1 << 6], owners[1 << 16];
    for (uint32_t position = 0; position < 1u << layout_bits_positions(&p->source); position++)
        owners[layout_bits_index(&p->source, position)] = position;
    for (uint32_t position = 0; position < positions; position++) {
        uint32_t owner = owners[layout_bits_index(&p->destination, position)];
        uint32_t slot = position >> threads, moved = owner ^ position;
        layout_class here = moved == 0 ? LAYOUT_FORWARD : LAYOUT_RENAME;
        if ((position & thread_mask) == 0)
            renamed[slot] = owner >> threads;
        if (renamed[slot] != owner >> threads || moved & thread_mask)
            here = LAYOUT_SHUFFLE;
        if ((moved & thread_mask) >> lanes)
            here = LAYOUT_SCRATCH;
        worst = here > worst ? here : worst;
    }
    return worst;
}

/* Has each destination position a copy of its value in its own subgroup? */
static bool copies_are_near(const pair *p) {
    int lanes = p->source.lane_bits, threads = layout_bits_threads(&p->source);
    static uint32_t near[1 << 16]; /* by index: the subgroups that hold it, at most 32 */
    memset(near, 0, sizeof near);
    uint32_t subgroups = (1u << p->source.subgroup_bits) - 1;
    assert_true(p->source.index_bits <= 16 && threads - lanes <= 5);
    for (uint32_t position = 0; position < 1u << layout_bits_positions(&p->source); position++)
        near[layout_bits_index(&p->source, position)] |= 1u << (position >> lanes & subgroups);
    for (uint32_t position = 0; position < 1u << layout_bits_positions(&p->destination); position++)
        if (!(near[layout_bits_index(&p->destination, position)] >>
                  (position >> lanes & subgroups) &
              1))
            return false;
    return true;
}

/* ---- the laws ---- */

static void check_owner_map(const layout_conversion *conversion) {
    uint32_t positions = 1u << conversion->position_bits;
    for (uint32_t i = 0; i < samples(positions); i++) {
        uint32_t position = sample(positions, i);
        uint32_t source = layout_conversion_source(conversion, position);
        assert_true(source < 1u << layout_bits_positions(&conversion->source));
        assert_int_equal(layout_bits_index(&conversion->source, source),
                         layout_bits_index(&conversion->destination, position));
    }
}

/* Every lane of one group takes the four steps on arrays of registers. */
static void check_steps(const layout_conversion *conversion) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    uint32_t threads = 1u << shuffle->thread_bits;
    uint32_t from = 1u << shuffle->source_slot_bits, to = 1u << shuffle->slot_bits;
    static uint32_t v1[1 << 10][1 << 5], v3[1 << 10][1 << 5];
    for (uint32_t t = 0; t < threads; t++)
        for (uint32_t s = 0; s < from; s++) {
            uint32_t slot = s ^ layout_columns_apply(shuffle->before, t);
            assert_true(slot < from);
            v1[t][s] = layout_bits_index(&conversion->source, t | slot << shuffle->thread_bits);
        }
    for (uint32_t s = 0; s < to; s++) {
        uint32_t name = layout_shuffle_rename(shuffle, s);
        assert_true(name < from);
        for (uint32_t t = 0; t < threads; t++) {
            uint32_t lane =
                layout_columns_apply(shuffle->linear, t) ^ layout_shuffle_offset(shuffle, s);
            assert_int_equal(lane >> shuffle->lane_bits, t >> shuffle->lane_bits);
            v3[t][s] = v1[lane][name];
        }
    }
    for (uint32_t t = 0; t < threads; t++)
        for (uint32_t s = 0; s < to; s++) {
            uint32_t taken = s ^ layout_columns_apply(shuffle->after, t);
            uint32_t position = t | s << shuffle->thread_bits;
            assert_int_equal(v3[t][taken], layout_bits_index(&conversion->destination, position));
            /* and the matrix says where it was */
            uint32_t from_thread =
                layout_columns_apply(shuffle->linear, t) ^ layout_shuffle_offset(shuffle, taken);
            uint32_t from_slot = layout_shuffle_rename(shuffle, taken) ^
                                 layout_columns_apply(shuffle->before, from_thread);
            assert_int_equal(layout_conversion_source(conversion, position),
                             from_thread | from_slot << shuffle->thread_bits);
        }
}

/* Different (register, lane map) pairs, without those in which every lane reads itself. */
static int shuffles_by_enumeration(const layout_shuffle *shuffle) {
    uint32_t slots = 1u << shuffle->slot_bits, threads = 1u << shuffle->thread_bits;
    int count = 0;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t name = layout_shuffle_rename(shuffle, s),
                 offset = layout_shuffle_offset(shuffle, s);
        bool moves = false, seen = false;
        for (uint32_t t = 0; t < threads && !moves; t++)
            moves = (layout_columns_apply(shuffle->linear, t) ^ offset) != t;
        for (uint32_t before = 0; before < s; before++)
            seen = seen || (layout_shuffle_rename(shuffle, before) == name &&
                            layout_shuffle_offset(shuffle, before) == offset);
        count += moves && !seen;
    }
    return count;
}

/* Steps of selects: a step flips one combination of slot bits, so as many as masks are independent.
 */
static int selects_by_enumeration(const uint32_t *masks, int thread_bits, int slot_bits) {
    static bool seen[1 << 6];
    memset(seen, 0, sizeof seen);
    int different = 0, steps = 0;
    for (uint32_t t = 0; t < 1u << thread_bits; t++) {
        uint32_t mask = layout_columns_apply(masks, t);
        different += !seen[mask];
        seen[mask] = true;
    }
    while (1 << steps < different)
        steps++;
    assert_true(steps <= slot_bits);
    return steps << slot_bits;
}

static void check_shuffle(const layout_conversion *conversion) {
    const layout_shuffle *shuffle = &conversion->shuffle;
    check_steps(conversion);
    assert_int_equal(shuffle->shuffles, shuffles_by_enumeration(shuffle));
    assert_true(shuffle->shuffles <= 1 << shuffle->slot_bits);
    assert_int_equal(
        shuffle->selects,
        selects_by_enumeration(shuffle->before, shuffle->thread_bits, shuffle->source_slot_bits) +
            selects_by_enumeration(shuffle->after, shuffle->thread_bits, shuffle->slot_bits));
    bool exclusive_or = true;
    for (uint32_t t = 0; t < 1u << shuffle->thread_bits; t++)
        exclusive_or = exclusive_or && layout_columns_apply(shuffle->linear, t) == t;
    assert_int_equal(shuffle->exclusive_or, exclusive_or);
    if (conversion->class_ <= LAYOUT_RENAME)
        assert_int_equal(shuffle->shuffles + shuffle->selects, 0);
}

static void owner_map_class_and_steps_agree_with_enumeration(void **state) {
    (void)state;
    int classes[LAYOUT_CLUSTER + 1] = {0}, refused = 0, butterflies = 0, copies = 0;
    for (int round = 0; round < PAIRS; round++) {
        int kind = round % 3;
        pair p = random_pair(kind);
        layout_conversion conversion = convert(&p.source, &p.destination);
        classes[conversion.class_]++;
        check_owner_map(&conversion);
        if (p.source.index_bits <= 9)
            assert_int_equal(conversion.repeat_bits,
                             repeat_bits_by_enumeration(&p.source, &p.destination));
        bool unique = p.source.index_bits == layout_bits_positions(&p.source);
        if (unique && p.source.slot_bits == p.destination.slot_bits)
            assert_int_equal(conversion.class_, class_by_enumeration(&p));
        if (unique && kind == 1)
            assert_true(conversion.class_ <= LAYOUT_SHUFFLE);
        if (conversion.class_ <= LAYOUT_SHUFFLE) {
            check_shuffle(&conversion);
            butterflies += conversion.shuffle.exclusive_or;
            copies += !unique;
        }
        if (!copies_are_near(&p))
            assert_int_equal(conversion.class_, LAYOUT_SCRATCH);
        else if (conversion.class_ == LAYOUT_SCRATCH) {
            assert_false(unique);
            refused++;
        }
        assert_int_equal(conversion.scratch_words,
                         conversion.class_ < LAYOUT_SCRATCH ? 0 : 1 << p.source.index_bits);
    }
    printf("classes: forward %d rename %d shuffle %d scratch %d; butterflies %d, replicated source "
           "inside a subgroup %d, not factored %d\n",
           classes[0], classes[1], classes[2], classes[3], butterflies, copies, refused);
    assert_true(classes[LAYOUT_SHUFFLE] > 500 && classes[LAYOUT_SCRATCH] > 300);
    assert_true(copies > 100 && butterflies > 50 && refused < PAIRS / 50);
}

static layout_bits permuted(const int *order, int bits, int slots) {
    layout_bits made = {.lane_bits = LANES,
                        .subgroup_bits = bits - LANES - slots,
                        .slot_bits = slots,
                        .index_bits = bits};
    for (int l = 0; l < bits; l++)
        made.column[order[l]] = 1u << l;
    return made;
}

static void known_conversions_take_the_known_steps(void **state) {
    (void)state;
    const int plain[6] = {0, 1, 2, 3, 4, 5}, swapped[6] = {5, 1, 2, 3, 4, 0},
              reversed[6] = {4, 3, 2, 1, 0, 5};
    layout_bits identity = permuted(plain, 6, 1), exchange = permuted(swapped, 6, 1);
    layout_bits mirror = permuted(reversed, 6, 1), other = identity, butterfly = identity;
    other.constant = 32;
    butterfly.constant = 3;
    assert_int_equal(convert(&identity, &identity).class_, LAYOUT_FORWARD);
    assert_int_equal(convert(&identity, &other).class_, LAYOUT_RENAME);
    layout_conversion conversion = convert(&identity, &exchange);
    assert_int_equal(conversion.class_, LAYOUT_SHUFFLE);
    assert_true(conversion.shuffle.exclusive_or); /* half of the values stay in their lane */
    assert_int_equal(conversion.shuffle.shuffles, 1);
    assert_int_equal(conversion.shuffle.selects, 4);
    conversion = convert(&identity, &butterfly);
    assert_true(conversion.shuffle.exclusive_or);
    assert_int_equal(conversion.shuffle.shuffles, 2);
    assert_int_equal(conversion.shuffle.selects, 0);
    conversion = convert(&identity, &mirror);
    assert_false(conversion.shuffle.exclusive_or);
    assert_int_equal(conversion.shuffle.shuffles, 2);
    assert_int_equal(conversion.shuffle.selects, 0);
}

static void a_copy_in_the_own_lane_is_preferred(void **state) {
    (void)state;
    /* Lane bit 4 is a copy; the destination tells elements 16 apart by it, and a slot does now. */
    layout_bits source = {.lane_bits = 5, .slot_bits = 1, .index_bits = 5};
    layout_bits destination = {.lane_bits = 5, .index_bits = 5};
    for (int p = 0; p < 5; p++) {
        source.column[p] = p < 4 ? 1u << p : 0;
        destination.column[p] = 1u << p;
    }
    source.column[5] = 16;
    layout_conversion conversion = convert(&source, &destination);
    assert_int_equal(conversion.class_, LAYOUT_SHUFFLE);
    assert_int_equal(conversion.shuffle.shuffles, 0);
    assert_int_equal(conversion.shuffle.selects, 2);
    check_shuffle(&conversion);
    /* The other way each lane already holds both. */
    layout_bits everything = {.lane_bits = 5, .slot_bits = 5, .index_bits = 5};
    for (int p = 5; p < 10; p++)
        everything.column[p] = 1u << (p - 5);
    conversion = convert(&everything, &destination);
    assert_int_equal(conversion.shuffle.shuffles, 0);
    check_shuffle(&conversion);
    conversion = convert(&destination, &everything);
    assert_true(conversion.shuffle.shuffles <= 32);
    check_shuffle(&conversion);
}

/* Lane bit 1 is a copy; only if lane bit 0 reads it does lane bit 1 get bit 0 in one shuffle. */
static void a_copy_elsewhere_saves_the_factorisation(void **state) {
    (void)state;
    layout_bits source = {.lane_bits = 2, .slot_bits = 1, .index_bits = 2, .column = {1, 0, 2}};
    layout_bits destination = {.lane_bits = 2, .index_bits = 2, .column = {2, 1}};
    layout_conversion conversion = convert(&source, &destination);
    assert_int_equal(conversion.class_, LAYOUT_SHUFFLE);
    assert_int_equal(conversion.shuffle.shuffles, 1);
    check_owner_map(&conversion);
    check_shuffle(&conversion);
}

/* Built from four steps whose shuffles are butterflies with independent offsets: then no other
 * steps with L = identity exist, and what is found may not take more instructions. */
static void butterflies_are_found_where_they_are(void **state) {
    (void)state;
    for (int round = 0; round < PAIRS / 4; round++) {
        int slots = bits_below(5), selects = 0;
        layout_bits source = bits_make(LANES, 0, slots, LANES + slots), destination = source;
        uint32_t before[LANES], after[LANES], offsets[LANES], rank[2][LAYOUT_MAX_BITS];
        do {
            for (int b = 0; b < slots; b++)
                offsets[b] = rank[0][b] = bits_mask(LANES);
        } while (layout_space_reduce(rank[0], slots) < slots);
        for (int t = 0; t < LANES; t++) {
            before[t] = rank[0][t] = bits_below(2) ? bits_mask(slots) : 0;
            after[t] = rank[1][t] = bits_below(2) ? bits_mask(slots) : 0;
        }
        for (int side = 0; side < 2; side++)
            selects += layout_space_reduce(rank[side], LANES) << slots;
        for (int p = 0; p < LANES + slots; p++) {
            uint32_t thread = p < LANES ? 1u << p : 0,
                     slot = p < LANES ? after[p] : 1u << (p - LANES);
            uint32_t lane = thread ^ layout_columns_apply(offsets, slot);
            uint32_t from = lane | (slot ^ layout_columns_apply(before, lane)) << LANES;
            destination.column[p] = layout_bits_index(&source, from) ^ source.constant;
        }
        layout_conversion conversion = convert(&source, &destination);
        assert_true(conversion.class_ <= LAYOUT_SHUFFLE);
        assert_true(conversion.shuffle.shuffles + conversion.shuffle.selects <=
                    (1 << slots) - 1 + selects);
    }
}

/* ---- scratch ---- */

/* Most accesses that one bank of `1 << bank_bits` elements serves one after another. */
static int busiest_bank(const uint32_t *addresses, int count, int bank_bits) {
    int most = 0, in_bank[1 << 6] = {0};
    for (int i = 0; i < count; i++) {
        bool first = true; /* equal addresses are one access */
        for (int k = 0; k < i && first; k++)
            first = addresses[k] != addresses[i];
        int *bank = &in_bank[addresses[i] & ((1u << bank_bits) - 1)];
        *bank += first;
        most = *bank > most ? *bank : most;
    }
    return most;
}

/* The accesses of one side that run at once, with vectors of 1 << vector_bits slots. */
static int busiest_of(const layout_bits *bits, const layout_swizzle *swizzle, int vector_bits,
                      const int *slot, int bank_bits) {
    int threads = layout_bits_threads(bits), lanes = 1 << (bank_bits - vector_bits), worst = 0;
    lanes = lanes > 1 << bits->lane_bits ? 1 << bits->lane_bits : lanes;
    for (int round = 0; round < 6; round++) {
        uint32_t base = bits_mask(layout_bits_positions(bits)) & ~(uint32_t)(lanes - 1);
        for (int i = 0; i < vector_bits; i++)
            base &= ~(1u << (threads + slot[i]));
        uint32_t addresses[32 * 4];
        int count = 0;
        for (int lane = 0; lane < lanes; lane++) {
            uint32_t first =
                layout_swizzle_address(swizzle, layout_bits_index(bits, base | (uint32_t)lane));
            uint32_t number = /* of slot 0 in the vector: the same in every lane */
                layout_swizzle_address(swizzle, bits->constant) & ((1u << vector_bits) - 1);
            for (uint32_t e = 0; e < 1u << vector_bits; e++) {
                uint32_t position = base | (uint32_t)lane;
                for (int i = 0; i < vector_bits; i++)
                    position |= (e >> i & 1) << (threads + slot[i]);
                addresses[count] =
                    layout_swizzle_address(swizzle, layout_bits_index(bits, position));
                assert_int_equal(addresses[count], (first & ~((1u << vector_bits) - 1)) |
                                                       (e ^ number)); /* consecutive */
                count++;
            }
        }
        int busiest = busiest_bank(addresses, count, bank_bits);
        worst = busiest > worst ? busiest : worst;
    }
    return worst;
}

static void check_bijection(const layout_swizzle *swizzle) {
    static bool seen[1 << 12];
    uint32_t indices = 1u << swizzle->index_bits, copy[LAYOUT_MAX_BITS];
    memcpy(copy, swizzle->address, sizeof copy);
    assert_int_equal(layout_space_reduce(copy, swizzle->index_bits), swizzle->index_bits);
    assert_true(copy[0] < indices);
    if (swizzle->index_bits > 12)
        return;
    memset(seen, 0, indices);
    for (uint32_t index = 0; index < indices; index++) {
        uint32_t address = layout_swizzle_address(swizzle, index);
        assert_true(address < indices && !seen[address]);
        seen[address] = true;
    }
}

static void scalar_swizzles_conflict_on_neither_side(void **state) {
    (void)state;
    int plain_conflicts = 0;
    for (int round = 0; round < PAIRS; round++) {
        pair p = random_pair(round % 3);
        layout_conversion conversion = convert(&p.source, &p.destination);
        const layout_swizzle *swizzle = &conversion.swizzle;
        assert_int_equal(swizzle->index_bits, p.source.index_bits);
        check_bijection(swizzle);
        assert_int_equal(busiest_of(&p.source, swizzle, 0, NULL, 5), 1);
        assert_int_equal(busiest_of(&p.destination, swizzle, 0, NULL, 5), 1);
        assert_int_equal(conversion.store_conflicts, 1);
        assert_int_equal(conversion.load_conflicts, 1);
        layout_swizzle plain = {.index_bits = p.source.index_bits};
        for (int b = 0; b < plain.index_bits; b++)
            plain.address[b] = 1u << b;
        plain_conflicts += busiest_of(&p.destination, &plain, 0, NULL, 5) > 1;
    }
    assert_true(plain_conflicts > PAIRS / 4); /* what the swizzle is for */
}

/* A bit permutation with some mixing, so that vectors exist often. */
static layout_bits nearly_permuted(int bits, int slots) {
    int order[16];
    for (int i = 0; i < bits; i++)
        order[i] = i;
    for (int i = bits - 1; i > 0; i--) {
        int other = bits_below(i + 1), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    layout_bits made = permuted(order, bits, slots);
    for (int i = bits_below(3); i > 0; i--) {
        int from = bits_below(bits), to = bits_below(bits);
        if (from != to)
            made.column[to] ^= made.column[from];
    }
    made.constant = bits_mask(bits);
    return made;
}

static void vector_swizzles_conflict_on_neither_side(void **state) {
    (void)state;
    int made[3][3] = {{0}};
    for (int round = 0; round < PAIRS; round++) {
        int slots = 1 + bits_below(5), bits = LANES + slots + bits_below(3);
        layout_bits source = nearly_permuted(bits, slots),
                    destination = nearly_permuted(bits, slots);
        int store = bits_below(3), load = bits_below(3), bank_bits = 4 + bits_below(3);
        if (bank_bits == 6 && (store == 0 || load == 0))
            continue; /* elements of 2 bytes go in pairs */
        layout_swizzle swizzle;
        if (!layout_swizzle_make(&source, &destination, store, load, bank_bits, &swizzle)) {
            assert_true(store + load > 0);
            continue;
        }
        made[store][load]++;
        check_bijection(&swizzle);
        assert_int_equal(busiest_of(&source, &swizzle, store, swizzle.store_slot, bank_bits), 1);
        assert_int_equal(busiest_of(&destination, &swizzle, load, swizzle.load_slot, bank_bits), 1);
    }
    for (int store = 0; store < 3; store++)
        for (int load = 0; load < 3; load++) {
            printf("vectors 2^%d x 2^%d: %d\n", store, load, made[store][load]);
            assert_true(made[store][load] > 10);
        }
}

static void a_slot_bit_is_one_vector_bit(void **state) {
    (void)state;
    layout_bits copies = {.lane_bits = 5,
                          .subgroup_bits = 3,
                          .slot_bits = 1,
                          .index_bits = 7,
                          .column = {1, 2, 4, 0, 0, 16, 32, 64, 8}};
    layout_swizzle swizzle;
    assert_true(layout_swizzle_make(&copies, &copies, 1, 1, 5, &swizzle));
    assert_false(layout_swizzle_make(&copies, &copies, 2, 1, 5, &swizzle));
    assert_false(layout_swizzle_make(&copies, &copies, 2, 2, 5, &swizzle));
}

/* ---- composition, and what is refused ---- */

static void composed_conversions_are_the_conversion_of_the_ends(void **state) {
    (void)state;
    for (int round = 0; round < PAIRS / 4; round++) {
        int subgroups = bits_below(3), slots = bits_below(4), bits = LANES + subgroups + slots;
        int index_bits = bits - bits_below(2);
        layout_bits a = bits_make(LANES, subgroups, slots, index_bits);
        layout_bits b = bits_make(LANES, subgroups, slots, index_bits);
        layout_bits c = bits_below(3) == 0 ? a : bits_make(LANES, subgroups, slots, index_bits);
        layout_conversion first = convert(&a, &b), second = convert(&b, &c), both;
        assert_true(layout_conversion_compose(&arena, &first, &second, &both));
        assert_false(layout_conversion_compose(&arena, &first, &first, &both) &&
                     memcmp(&a, &b, sizeof a) != 0);
        assert_true(layout_conversion_compose(&arena, &first, &second, &both));
        for (uint32_t position = 0; position < 1u << bits; position++) {
            uint32_t one =
                layout_conversion_source(&first, layout_conversion_source(&second, position));
            assert_int_equal(layout_bits_index(&a, one),
                             layout_bits_index(&a, layout_conversion_source(&both, position)));
            if (index_bits == bits)
                assert_int_equal(one, layout_conversion_source(&both, position));
        }
    }
}

static void what_cannot_be_compared_is_refused_with_both_named(void **state) {
    (void)state;
    layout_bits small = bits_make(5, 1, 1, 7), large = bits_make(5, 2, 1, 8);
    layout_bits wide = bits_make(5, 2, 0, 7), torn = small;
    torn.column[0] = torn.column[1];
    layout_conversion conversion;
    layout_fault fault;
    assert_false(layout_convert_bits(&arena, &small, &large, &conversion, &fault));
    assert_string_equal(fault.slug, "layout-mismatch");
    assert_string_equal(fault.reason, "sizes differ: 128 against 256 elements");
    assert_false(layout_convert_bits(&arena, &small, &wide, &conversion, &fault));
    assert_string_equal(fault.slug, "layout-mismatch");
    assert_string_equal(fault.reason,
                        "lanes x subgroups x blocks differ: 32 x 2 x 1 against 32 x 4 x 1");
    assert_false(layout_convert_bits(&arena, &small, &torn, &conversion, &fault));
    assert_string_equal(fault.slug, "layout-bijection");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_map_class_and_steps_agree_with_enumeration),
        cmocka_unit_test(known_conversions_take_the_known_steps),
        cmocka_unit_test(a_copy_in_the_own_lane_is_preferred),
        cmocka_unit_test(a_copy_elsewhere_saves_the_factorisation),
        cmocka_unit_test(butterflies_are_found_where_they_are),
        cmocka_unit_test(scalar_swizzles_conflict_on_neither_side),
        cmocka_unit_test(vector_swizzles_conflict_on_neither_side),
        cmocka_unit_test(a_slot_bit_is_one_vector_bit),
        cmocka_unit_test(composed_conversions_are_the_conversion_of_the_ends),
        cmocka_unit_test(what_cannot_be_compared_is_refused_with_both_named),
    };
    int failed = 0;
    for (int run = 0; run < bits_runs(argc, argv); run++) {
        bits_seed(argc, argv, run);
        failed += cmocka_run_group_tests(tests, set_up, tear_down);
    }
    return failed;
}
