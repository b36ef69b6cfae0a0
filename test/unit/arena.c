/* Arrays of an arena: what is appended, and when the value is computed. */
#include "arena_fixture.h"

#include <string.h>

typedef struct numbers {
    base_arena *arena;
    int64_t *items, count, capacity;
} numbers;

/* Appends as many as fill the array's memory and one more, so that it moves. */
static int64_t after_others(numbers *list) {
    int64_t first = list->count;
    do
        BASE_PUSH(list->arena, list->items, list->count, list->capacity, list->count);
    while (list->count < list->capacity || first == list->count - 1);
    return list->count;
}

static void a_value_that_appends_itself_comes_behind_what_it_appends(void **state) {
    fixture *f = *state;
    numbers list = {.arena = &f->arena};
    for (int i = 0; i < 12; i++)
        BASE_PUSH(list.arena, list.items, list.count, list.capacity, after_others(&list));
    for (int64_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i], i);
}

static void an_element_is_appended_again_when_the_array_moves(void **state) {
    fixture *f = *state;
    numbers list = {.arena = &f->arena};
    BASE_PUSH(list.arena, list.items, list.count, list.capacity, 7);
    for (int i = 0; i < 1000; i++)
        BASE_PUSH(list.arena, list.items, list.count, list.capacity, list.items[list.count - 1]);
    assert_int_equal(list.count, 1001);
    for (int64_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i], 7);
}

static void what_is_given_back_is_allocated_again_and_zeroed(void **state) {
    enum { LARGE = 1 << 18 };
    fixture *f = *state;
    char *kept = BASE_NEW_ARRAY(&f->arena, char, 8);
    memcpy(kept, "kept", 5);
    const base_arena_mark mark = base_arena_here(&f->arena);
    char *small = BASE_NEW_ARRAY(&f->arena, char, 100);
    char *large = BASE_NEW_ARRAY(&f->arena, char, LARGE);
    memset(small, 1, 100);
    memset(large, 1, LARGE);
    for (int i = 0; i < 3; i++) {
        base_arena_return(&f->arena, mark);
        assert_ptr_equal(BASE_NEW_ARRAY(&f->arena, char, 100), small);
        char *again = BASE_NEW_ARRAY(&f->arena, char, LARGE);
        assert_ptr_equal(again, large);
        for (int k = 0; k < LARGE; k++)
            assert_int_equal(again[k], 0);
        memset(again, 1, LARGE);
    }
    assert_string_equal(kept, "kept");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_given_back_is_allocated_again_and_zeroed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_value_that_appends_itself_comes_behind_what_it_appends,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_element_is_appended_again_when_the_array_moves, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
