/* Bank conflicts, traffic and contiguity by ranks, against counting words, sectors and lines.
 *
 * tier: check-long
 */
#include "bits_fixture.h"

#include "layout/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROUNDS = 2000 };

/* Rounds that 32 banks need for the lanes [first, first + count): each bank serves one word. */
static int rounds_of_banks(const uint32_t *column, int first, int count, int width_words) {
    uint32_t words[128];
    int used = 0, most = 0, in_bank[32] = {0};
    for (int lane = first; lane < first + count; lane++)
        for (int w = 0; w < width_words; w++) {
            uint32_t word = (uint32_t)w;
            for (int bit = 0; bit < 5; bit++)
                word ^= (lane >> bit & 1) ? column[bit] : 0;
            bool known = false;
            for (int i = 0; i < used && !known; i++)
                known = words[i] == word;
            if (known)
                continue;
            words[used++] = word;
            int here = ++in_bank[word % 32];
            most = here > most ? here : most;
        }
    return most;
}

static void conflict_degree_is_what_banks_count(void **state) {
    (void)state;
    int seen[6] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int width = 1 << bits_below(3), parts = width; /* whole, halves, quarters */
        uint32_t column[5], kept = bits_mask(10);
        for (int bit = 0; bit < 5; bit++)
            column[bit] = (bits_below(2) ? bits_mask(10) : bits_mask(10) & kept) * (uint32_t)width;
        int degree = layout_bank_conflicts(column, 5, 32, width);
        for (int part = 0; part < parts; part++)
            assert_int_equal(rounds_of_banks(column, part * (32 / parts), 32 / parts, width),
                             degree);
        for (int bit = 0; bit < 6; bit++)
            seen[bit] += degree == 1 << bit;
    }
    for (int bit = 0; bit < 4; bit++)
        assert_true(seen[bit] > 20);
}

static void known_accesses_have_the_known_degree(void **state) {
    (void)state;
    const uint32_t row[5] = {1, 2, 4, 8, 16}, column[5] = {32, 64, 128, 256, 512},
                   same[5] = {0, 0, 0, 0, 0}, even[5] = {2, 4, 8, 16, 32},
                   quads[5] = {4, 8, 16, 32, 64};
    assert_int_equal(layout_bank_conflicts(row, 5, 32, 1), 1);
    assert_int_equal(layout_bank_conflicts(column, 5, 32, 1), 32);
    assert_int_equal(layout_bank_conflicts(same, 5, 32, 1), 1); /* broadcast */
    assert_int_equal(layout_bank_conflicts(even, 5, 32, 1), 2);
    assert_int_equal(layout_bank_conflicts(quads, 5, 32, 1), 4);
    assert_int_equal(layout_bank_conflicts(quads, 5, 32, 4), 1); /* quarters */
}

static int64_t pieces(const layout_bits *bits, uint32_t base, int width, int64_t element_bytes,
                      int64_t piece_bytes) {
    int threads = layout_bits_threads(bits);
    int64_t seen[32 * 8];
    int count = 0;
    for (uint32_t lane = 0; lane < 1u << bits->lane_bits; lane++)
        for (uint32_t e = 0; e < (uint32_t)width; e++) {
            uint32_t index = layout_bits_index(bits, base | lane | e << threads);
            int64_t piece = (int64_t)index * element_bytes / piece_bytes;
            bool known = false;
            for (int i = 0; i < count && !known; i++)
                known = seen[i] == piece;
            if (!known)
                seen[count++] = piece;
        }
    return count;
}

static void traffic_is_what_distinct_pieces_count(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int subgroups = bits_below(3), slots = bits_below(4), bits = 5 + subgroups + slots;
        layout_bits made = bits_make(5, subgroups, slots, bits - bits_below(3));
        int width_bits = bits_below(slots + 1), threads = 5 + subgroups;
        int64_t element_bytes = 1 << bits_below(4);
        layout_traffic traffic = layout_traffic_of_bits(&made, element_bytes, 1 << width_bits);
        int64_t total = 0, accesses = 0;
        for (uint32_t base = 0; base < 1u << bits; base += 32) {
            if (base >> threads & ((1u << width_bits) - 1))
                continue;
            int64_t sectors = pieces(&made, base, 1 << width_bits, element_bytes, 32);
            assert_int_equal(sectors, traffic.sectors);
            assert_int_equal(pieces(&made, base, 1 << width_bits, element_bytes, 64),
                             traffic.half_lines);
            assert_int_equal(pieces(&made, base, 1 << width_bits, element_bytes, 128),
                             traffic.lines);
            total += sectors;
            accesses++;
        }
        assert_int_equal(total, traffic.total_sectors);
        assert_int_equal(accesses, traffic.accesses);
    }
}

/* Every thread owns, in slots v * width .., width consecutive indices from a multiple of width. */
static bool is_contiguous(const layout_bits *bits, uint32_t width) {
    int threads = layout_bits_threads(bits);
    for (uint32_t position = 0; position < 1u << layout_bits_positions(bits); position++) {
        uint32_t element = position >> threads & (width - 1);
        if (layout_bits_index(bits, position) % width != element)
            return false;
        if (layout_bits_index(bits, position) / width !=
            layout_bits_index(bits, position & ~((width - 1) << threads)) / width)
            return false;
    }
    return true;
}

static void contiguity_is_the_longest_run_of_slots(void **state) {
    (void)state;
    int seen[4] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int slots = bits_below(4), bits = 6 + slots;
        layout_bits made = bits_make(5, 1, slots, bits);
        if (bits_below(4) > 0) { /* plant a run, sometimes disturbed */
            made = (layout_bits){.lane_bits = 5, .subgroup_bits = 1, .slot_bits = slots};
            made.index_bits = bits;
            for (int p = 0; p < bits; p++)
                made.column[(p + 6) % bits] = 1u << p;
            if (bits_below(2)) {
                made.column[bits_below(bits)] ^= 1u << bits_below(bits);
                made.constant = bits_below(2) ? 1u << bits_below(bits) : 0;
            }
        }
        int64_t found = layout_contiguity_bits(&made), longest = 1;
        for (int b = 1; b <= slots; b++)
            if (is_contiguous(&made, 1u << b))
                longest = 1 << b;
        assert_int_equal(found, longest);
        for (int b = 0; b < 4; b++)
            seen[b] += longest == 1 << b;
    }
    for (int b = 0; b < 4; b++)
        assert_true(seen[b] > 20);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflict_degree_is_what_banks_count),
        cmocka_unit_test(known_accesses_have_the_known_degree),
        cmocka_unit_test(traffic_is_what_distinct_pieces_count),
        cmocka_unit_test(contiguity_is_the_longest_run_of_slots),
    };
    int failed = 0;
    for (int run = 0; run < bits_runs(argc, argv); run++) {
        bits_seed(argc, argv, run);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
