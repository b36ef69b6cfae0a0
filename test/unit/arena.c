/* Arrays of an arena: what is appended, and when the value is computed. */
#include "arena_fixture.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_that_appends_itself_comes_behind_what_it_appends,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_element_is_appended_again_when_the_array_moves, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
