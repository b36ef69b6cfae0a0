/* Bit layouts against enumeration: index, canonical owner, kernel, spaces and their complements, on
 * random matrices.
 *
 * tier: check-long
 */
#include "bits_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ROUNDS = 2000, SMALL = 10 }; /* bits of a position that one round enumerates */

/* Does the span of the vectors hold the vector? By all sums. */
static bool span_holds(const uint32_t *vectors, int count, uint32_t vector) {
    for (uint32_t sum = 0; sum < 1u << count; sum++) {
        uint32_t value = 0;
        for (int i = 0; i < count; i++)
            if (sum >> i & 1)
                value ^= vectors[i];
        if (value == vector)
            return true;
    }
    return false;
}

static uint32_t index_by_definition(const layout_bits *bits, uint32_t position) {
    uint32_t index = 0;
    for (int p = 0; p < LAYOUT_MAX_BITS; p++)
        index ^= (position >> p & 1) * bits->column[p];
    return index ^ bits->constant;
}

static void check_map(const layout_bits *bits) {
    static uint32_t least[1u << SMALL], owners[1u << SMALL];
    int positions = layout_bits_positions(bits);
    uint32_t indices = 1u << bits->index_bits;
    memset(owners, 0, sizeof owners);
    for (uint32_t position = 0; position < 1u << positions; position++) {
        uint32_t index = layout_bits_index(bits, position);
        assert_int_equal(index, index_by_definition(bits, position));
        assert_true(index < indices);
        if (owners[index]++ == 0)
            least[index] = position;
    }
    uint32_t kernel[LAYOUT_MAX_BITS];
    int dimension = layout_bits_kernel(bits, kernel);
    bool onto = true;
    for (uint32_t index = 0; index < indices; index++) {
        uint32_t owner = 0;
        bool found = layout_bits_owner(bits, index, &owner);
        assert_int_equal(found, owners[index] > 0);
        onto = onto && found;
        if (!found)
            continue;
        assert_int_equal(owner, least[index]);
        assert_int_equal(owners[index], 1u << dimension);
    }
    assert_int_equal(layout_bits_is_onto(bits), onto);
    for (int i = 0; i < dimension; i++) {
        assert_int_equal(index_by_definition(bits, kernel[i]), bits->constant);
        for (int j = 0; j < dimension; j++) /* reduced echelon form, greatest first */
            assert_true(i == j || (kernel[j] & 1u << (31 - __builtin_clz(kernel[i]))) == 0);
        assert_true(i == 0 || kernel[i] < kernel[i - 1]);
    }
}

static void index_owner_and_kernel_agree_with_enumeration(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int lanes = bits_below(6), subgroups = bits_below(3), slots = bits_below(3);
        int positions = lanes + subgroups + slots;
        layout_bits bits = bits_make(lanes, subgroups, slots, bits_below(positions + 1));
        assert_true(layout_bits_is_onto(&bits));
        check_map(&bits);
        for (int i = 0; i < 2; i++) /* now perhaps no longer onto */
            if (positions > 0)
                bits.column[bits_below(positions)] = bits_mask(bits.index_bits);
        check_map(&bits);
    }
}

static void positions_are_packed_lanes_subgroups_blocks_slots(void **state) {
    (void)state;
    layout_bits bits = {5, 3, 1, 2, 11, {0}, 0};
    assert_int_equal(layout_bits_threads(&bits), 9);
    assert_int_equal(layout_bits_positions(&bits), 11);
}

static void spaces_reduce_intersect_and_hold_what_sums_say(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int bits = 1 + bits_below(6), a_count = bits_below(6), b_count = bits_below(6);
        uint32_t a[6], b[6], echelon[6], both[LAYOUT_MAX_BITS];
        for (int i = 0; i < 6; i++) {
            a[i] = bits_mask(bits);
            b[i] = bits_mask(bits);
        }
        memcpy(echelon, a, sizeof a);
        int rank = layout_space_reduce(echelon, a_count);
        int dimension = layout_space_intersect(a, a_count, b, b_count, both);
        uint32_t in_a = 0, in_both = 0;
        for (uint32_t vector = 0; vector < 1u << bits; vector++) {
            bool of_a = span_holds(a, a_count, vector), of_b = span_holds(b, b_count, vector);
            assert_int_equal(layout_space_contains(echelon, rank, vector), of_a);
            assert_int_equal(span_holds(both, dimension, vector), of_a && of_b);
            in_a += of_a;
            in_both += of_a && of_b;
        }
        assert_int_equal(in_a, 1u << rank);
        assert_int_equal(in_both, 1u << dimension);
    }
}

/* `complement` and `space` meet in 0 only and together are as large as the whole. */
static void check_complement(const uint32_t *complement, int dimension, const uint32_t *space,
                             int rank, int bits) {
    assert_int_equal(dimension + rank, bits);
    uint32_t both[2 * LAYOUT_MAX_BITS];
    memcpy(both, complement, sizeof *both * (size_t)dimension);
    memcpy(both + dimension, space, sizeof *both * (size_t)rank);
    for (uint32_t vector = 0; vector < 1u << bits; vector++)
        assert_true(span_holds(both, bits, vector));
}

static void common_complement_completes_both_spaces(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int bits = 1 + bits_below(7), rank = bits_below(bits + 1);
        layout_bits a = bits_make(bits, 0, 0, bits), b = bits_make(bits, 0, 0, bits);
        uint32_t complement[LAYOUT_MAX_BITS];
        int dimension =
            layout_space_common_complement(a.column, rank, b.column, rank, bits, complement);
        check_complement(complement, dimension, a.column, rank, bits);
        check_complement(complement, dimension, b.column, rank, bits);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(index_owner_and_kernel_agree_with_enumeration),
        cmocka_unit_test(positions_are_packed_lanes_subgroups_blocks_slots),
        cmocka_unit_test(spaces_reduce_intersect_and_hold_what_sums_say),
        cmocka_unit_test(common_complement_completes_both_spaces),
    };
    int failed = 0;
    for (int run = 0; run < bits_runs(argc, argv); run++) {
        bits_seed(argc, argv, run);
        failed += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failed;
}
