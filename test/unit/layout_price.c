/* Prices of conversions: counts against enumeration, known cases by hand, and a machine table that
 * holds together.
 *
 * tier: check-long
 */
#include "bits_fixture.h"

#include "layout/memory.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { PAIRS = 1000, LANES = 5 };

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

static const layout_costs even = {.shuffle = 1,
                                  .select = 0.5,
                                  .store = 1,
                                  .load = 1,
                                  .wave = 1,
                                  .barrier = 16,
                                  .banks = 32,
                                  .scratch_bytes = 48 * 1024};

static layout_conversion convert(const layout_bits *source, const layout_bits *destination) {
    layout_conversion conversion;
    layout_fault fault;
    assert_true(layout_convert_bits(&arena, source, destination, &conversion, &fault));
    return conversion;
}

/* column[order[l]] = bit l; lanes first. */
static layout_bits permuted(const int *order, int bits, int slots) {
    layout_bits made = {.lane_bits = LANES,
                        .subgroup_bits = bits - LANES - slots,
                        .slot_bits = slots,
                        .index_bits = bits};
    for (int l = 0; l < bits; l++)
        made.column[order[l]] = 1u << l;
    return made;
}

/* Registers that hold up to `packing` values for the same lane, one shuffle each. */
static int shuffles_by_enumeration(const layout_shuffle *shuffle, int packing) {
    uint32_t slots = 1u << shuffle->slot_bits;
    int total = 0;
    for (uint32_t s = 0; s < slots; s++) {
        uint32_t offset = layout_shuffle_offset(shuffle, s);
        bool known = shuffle->exclusive_or && offset == 0; /* every lane reads itself */
        for (uint32_t t = 0; t < s; t++)
            known = known || layout_shuffle_offset(shuffle, t) == offset;
        if (known)
            continue;
        int names = 0;
        for (uint32_t t = s; t < slots; t++) {
            bool fresh = layout_shuffle_offset(shuffle, t) == offset;
            for (uint32_t u = s; u < t && fresh; u++)
                fresh = layout_shuffle_offset(shuffle, u) != offset ||
                        layout_shuffle_rename(shuffle, u) != layout_shuffle_rename(shuffle, t);
            names += fresh;
        }
        total += (names + packing - 1) / packing;
    }
    return total;
}

/* A destination that reads inside the subgroup, by a random mixing of lanes and slots. */
static layout_bits mixed_inside(const layout_bits *source) {
    layout_bits made = *source;
    for (int i = bits_below(12); i > 0; i--) {
        int threads = layout_bits_threads(source), all = layout_bits_positions(source);
        int from = bits_below(all), to = bits_below(all);
        bool subgroup = from >= source->lane_bits && from < threads;
        if (from != to && !subgroup)
            made.column[to] ^= made.column[from];
    }
    return made;
}

static void shuffles_of_packed_values_are_what_enumeration_counts(void **state) {
    (void)state;
    int packings[3] = {0};
    for (int round = 0; round < PAIRS; round++) {
        int subgroups = bits_below(2), slots = bits_below(5);
        layout_bits source = bits_make(LANES, subgroups, slots, LANES + subgroups + slots);
        layout_bits destination = mixed_inside(&source);
        layout_conversion conversion = convert(&source, &destination);
        for (int64_t bytes = 1; bytes <= 8; bytes *= 2) {
            layout_price price = layout_price_of_bits(&conversion, bytes, &even, NULL);
            int registers = bytes == 8 ? 2 : 1;
            assert_true(price.packing * bytes <= 4 || price.packing == 1);
            assert_int_equal(price.shuffle_count,
                             registers *
                                 shuffles_by_enumeration(&conversion.shuffle, price.packing));
            assert_true(price.select_count >= registers * conversion.shuffle.selects);
            assert_true(price.shuffles ==
                        price.shuffle_count * even.shuffle + price.select_count * even.select);
            for (int i = 0; i < 3; i++)
                packings[i] += price.packing == 1 << i;
        }
    }
    assert_true(packings[0] > 100 && packings[1] > 20 && packings[2] > 20);
}

static void a_mirror_of_lanes_has_the_price_worked_out_by_hand(void **state) {
    (void)state;
    const int plain[8] = {5, 6, 7, 0, 1, 2, 3, 4}, mirror[8] = {5, 6, 7, 4, 3, 2, 1, 0};
    layout_bits source = permuted(plain, 8, 3), destination = permuted(mirror, 8, 3);
    layout_conversion conversion = convert(&source, &destination);
    layout_price price = layout_price_of_bits(&conversion, 4, &even, NULL);
    assert_int_equal(price.shuffle_count, 8);
    assert_int_equal(price.select_count, 0);
    assert_true(price.shuffles == 8);
    /* 8 slots are vectors of 4 on both sides: 2 stores and 2 loads of four waves each. */
    assert_int_equal(price.store_vector, 4);
    assert_int_equal(price.stores, 2);
    assert_int_equal(price.load_vector, 4);
    assert_int_equal(price.loads, 2);
    assert_true(price.scratch == 8 + 8 + 2 * 16);
    assert_int_equal(price.scratch_bytes, 256 * 4);
    /* Rows to columns: what are slots there are lanes here, a vector on one side. */
    const int row[8] = {0, 1, 2, 3, 4, 5, 6, 7}, column[8] = {5, 6, 7, 0, 1, 2, 3, 4};
    layout_bits rows = permuted(row, 8, 3), columns = permuted(column, 8, 3);
    layout_conversion turn = convert(&rows, &columns);
    price = layout_price_of_bits(&turn, 4, &even, NULL);
    assert_true(price.scratch == 8 + 8 + 2 * 16);
    assert_int_equal(price.stores + price.loads, 8 + 2);
    /* Halves go two in a register and a word: 4 shuffles and 8 selects do not pay. */
    price = layout_price_of_bits(&conversion, 2, &even, NULL);
    assert_true(price.shuffles == 8);
    layout_costs selects = even;
    selects.select = 1;
    price = layout_price_of_bits(&conversion, 2, &selects, NULL);
    assert_int_equal(price.packing, 1);
    assert_true(price.shuffles == 8);
    layout_costs dear = even;
    dear.shuffle = 4;
    price = layout_price_of_bits(&conversion, 2, &dear, NULL);
    assert_int_equal(price.packing, 2);
    assert_int_equal(price.shuffle_count, 4);
    assert_true(price.shuffles == 4 * 4 + 8 * 0.5);
    assert_true(price.scratch == 4 + 4 + 2 * 16);
    assert_int_equal(price.scratch_bytes, 256 * 2);
}

/* Different slots of the canonical owners in one subgroup: what one copy has to store. */
static int stores_by_enumeration(const layout_bits *source) {
    bool slots[1 << 5] = {0};
    int count = 0;
    for (uint32_t index = 0; index < 1u << source->index_bits; index++) {
        uint32_t owner = 0;
        assert_true(layout_bits_owner(source, index, &owner));
        bool *slot = &slots[owner >> layout_bits_threads(source)];
        count += !*slot;
        *slot = true;
    }
    return count;
}

static void scratch_counts_one_copy_and_whole_words(void **state) {
    (void)state;
    int shared = 0;
    for (int round = 0; round < PAIRS; round++) {
        int subgroups = bits_below(3), slots = bits_below(5), bits = LANES + subgroups + slots;
        int index_bits = bits - bits_below(3);
        layout_bits source = bits_make(LANES, subgroups, slots, index_bits);
        layout_bits destination = bits_make(LANES, subgroups, slots, index_bits);
        if (bits_below(2) == 0)
            destination = source;
        layout_conversion conversion = convert(&source, &destination);
        for (int64_t bytes = 1; bytes <= 8; bytes *= 2) {
            layout_swizzle swizzle;
            layout_price price = layout_price_of_bits(&conversion, bytes, &even, &swizzle);
            assert_true(price.scratch > 0);
            assert_int_equal(layout_space_reduce(swizzle.address, index_bits), index_bits);
            assert_int_equal(price.stores * price.store_vector, stores_by_enumeration(&source));
            assert_int_equal(price.store_vector, 1 << swizzle.store_bits);
            assert_int_equal(price.load_vector, 1 << swizzle.load_bits);
            assert_true(price.store_vector * bytes <= 16 && price.load_vector * bytes <= 16);
            assert_int_equal(price.store_conflicts * price.load_conflicts, 1);
            assert_true(price.scratch_bytes <= even.scratch_bytes);
            bool in_words = price.scratch_bytes * price.repetitions == bytes << index_bits;
            assert_true(in_words ||
                        (bytes < 4 && price.scratch_bytes * price.repetitions == 4 << index_bits));
            if (in_words && bytes < 4) { /* no access of less than a word */
                assert_true(price.store_vector * bytes >= 4 && price.load_vector * bytes >= 4);
                shared++;
            }
        }
    }
    assert_true(shared > 20);
}

static void between_subgroups_only_scratch_has_a_price(void **state) {
    (void)state;
    const int plain[8] = {0, 1, 2, 3, 4, 5, 6, 7}, crossed[8] = {5, 1, 2, 3, 4, 0, 6, 7};
    layout_bits source = permuted(plain, 8, 1), destination = permuted(crossed, 8, 1);
    layout_conversion conversion = convert(&source, &destination);
    layout_price price = layout_price_of_bits(&conversion, 4, &even, NULL);
    assert_true(price.shuffles < 0);
    assert_true(price.scratch == 2 + 2 + 2 * 16);
    assert_int_equal(price.repetitions, 1);
    /* Room for half of it: the slot bit, the same on both sides, is iterated. */
    layout_costs small = even;
    small.scratch_bytes = 512;
    price = layout_price_of_bits(&conversion, 4, &small, NULL);
    assert_int_equal(price.repetitions, 2);
    assert_int_equal(price.scratch_bytes, 512);
    assert_true(price.scratch == 2 + 2 + 4 * 16);
    small.scratch_bytes = 511;
    price = layout_price_of_bits(&conversion, 4, &small, NULL);
    assert_true(price.scratch < 0);
}

static void nothing_moved_costs_nothing(void **state) {
    (void)state;
    layout_bits source = bits_make(LANES, 1, 2, 8), renamed = source;
    for (int p = 0; p < 2; p++) {
        renamed.column[6 + p] = source.column[7 - p];
        renamed.constant ^= source.column[6];
    }
    layout_conversion same = convert(&source, &source), other = convert(&source, &renamed);
    assert_int_equal(other.class_, LAYOUT_RENAME);
    for (int64_t bytes = 1; bytes <= 8; bytes *= 2) {
        assert_true(layout_price_of_bits(&same, bytes, &even, NULL).shuffles == 0);
        assert_true(layout_price_of_bits(&other, bytes, &even, NULL).shuffles == 0);
    }
}

static void every_machine_is_described_and_priced(void **state) {
    (void)state;
    const int plain[8] = {0, 1, 2, 3, 4, 5, 6, 7}, turned[8] = {5, 6, 7, 0, 1, 2, 3, 4};
    layout_bits source = permuted(plain, 8, 3), destination = permuted(turned, 8, 3);
    layout_conversion conversion = convert(&source, &destination);
    int count = 0;
    for (const machine *m; (m = machine_at(count)) != NULL; count++) {
        assert_ptr_equal(machine_find(m->name), m);
        assert_true(m->subgroup > 0 && (m->subgroup & (m->subgroup - 1)) == 0);
        assert_true(m->lanes_limit >= m->subgroup && m->lanes_limit % m->subgroup == 0);
        assert_int_equal(m->costs.scratch_bytes, m->scratch_bytes);
        assert_true(m->costs.shuffle > 0 && m->costs.select > 0 && m->costs.store > 0 &&
                    m->costs.load > 0 && m->costs.wave >= 0 && m->costs.barrier >= 0);
        layout_price price = layout_price_of_bits(&conversion, 4, &m->costs, NULL);
        assert_true(price.shuffles > 0 && price.scratch > 0);
    }
    assert_non_null(machine_find("sm_80"));
    assert_non_null(machine_find("sm_90"));
    assert_non_null(machine_find("m1"));
    assert_non_null(machine_find("m4"));
    assert_null(machine_find("sm_1"));
    assert_string_equal(machine_host()->target, "cpu");
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shuffles_of_packed_values_are_what_enumeration_counts),
        cmocka_unit_test(a_mirror_of_lanes_has_the_price_worked_out_by_hand),
        cmocka_unit_test(scratch_counts_one_copy_and_whole_words),
        cmocka_unit_test(between_subgroups_only_scratch_has_a_price),
        cmocka_unit_test(nothing_moved_costs_nothing),
        cmocka_unit_test(every_machine_is_described_and_priced),
    };
    int failed = 0;
    for (int run = 0; run < bits_runs(argc, argv); run++) {
        bits_seed(argc, argv, run);
        failed += cmocka_run_group_tests(tests, set_up, tear_down);
    }
    return failed;
}
