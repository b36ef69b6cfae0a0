/* The table of signatures: what a mark is named by does not depend on when it is asked. */
#include "arena_fixture.h"

#include "verify/signature_table_internal.h"

/* A partial result of two elements, not settled before. */
static signature sum_of(signature_table *table, uint64_t number) {
    const uint64_t words[] = {number, 1}, others[] = {number, 2};
    signature first = signature_joined(table, IR_ADD, BASE_F32, signature_number(table, 0),
                                       signature_source(table, words, 2));
    return signature_joined(table, IR_ADD, BASE_F32, first, signature_source(table, others, 2));
}

/* Settling makes a new entry, for which the table may grow and move. */
static void a_hash_is_the_same_before_and_after_the_table_grows(void **state) {
    fixture *f = *state;
    enum { SUMS = 20000 };
    signature_table *table = signature_table_create(&f->arena);
    for (uint64_t i = 0; i < SUMS; i++) {
        signature sum = sum_of(table, i);
        assert_true(signature_is_partial(table, sum));
        uint64_t at_once = signature_hash(table, sum);
        assert_int_equal(at_once, signature_hash(table, sum));
    }
}

static void an_element_twice_is_another_result_than_once(void **state) {
    fixture *f = *state;
    signature_table *table = signature_table_create(&f->arena);
    const uint64_t words[] = {7, 1};
    signature element = signature_source(table, words, 2), zero = signature_number(table, 0);
    signature once = signature_joined(table, IR_ADD, BASE_F32, zero, element);
    signature twice = signature_joined(table, IR_ADD, BASE_F32, once, element);
    assert_false(signature_is_same(table, once, twice));
    assert_true(signature_hash(table, once) != signature_hash(table, twice));
}

static void a_cleared_table_names_the_same_things_alike(void **state) {
    fixture *f = *state;
    signature_table *table = signature_table_create(&f->arena);
    uint64_t before = signature_hash(table, sum_of(table, 7));
    signature_table_clear(table);
    assert_int_equal(before, signature_hash(table, sum_of(table, 7)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_hash_is_the_same_before_and_after_the_table_grows, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(an_element_twice_is_another_result_than_once, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cleared_table_names_the_same_things_alike, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
