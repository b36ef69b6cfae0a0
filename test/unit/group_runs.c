/* Runs of a group of neighbours (verify/group_run_internal.h) against enumeration: arithmetic by
 * chance on the index of the group, indices of other axes and numbers of which nothing is known.
 *
 *     CROFT_SEED=7 unit_group_runs     another seed
 *
 * Whatever those are, elements must be as far apart as the run says, and between the bounds that it
 * gives. */
#include "arena_fixture.h" /* cmocka and what it needs */

#include "base/checked.h"
#include "verify/group_run_internal.h"

#include <stdlib.h>

enum { CASES = 4000, OPS = 5, SAMPLES = 48, WIDTH = 8 };

typedef struct chance {
    uint64_t state;
} chance;

static int64_t below(chance *c, int64_t bound) {
    c->state ^= c->state << 13;
    c->state ^= c->state >> 7;
    c->state ^= c->state << 17;
    return (int64_t)(c->state >> 11) % bound;
}

/* A run, and what it stands for: at every sample, of every element. */
typedef struct tested_run {
    group_run run;
    int64_t value[SAMPLES][WIDTH];
} tested_run;

static void set_samples(tested_run *t, chance *c, int64_t low, int64_t count, int64_t unit,
                        bool counts) {
    for (int s = 0; s < SAMPLES; s++) {
        int64_t same = (low + below(c, count)) * unit;
        for (int j = 0; j < WIDTH; j++)
            t->value[s][j] = same + (counts ? j : 0);
    }
}

static void make_leaf(tested_run *t, chance *c, int64_t kind) {
    int64_t number = below(c, 12) - 2, extent = 1 + below(c, 9), unit = 1 + below(c, 16);
    if (kind == 0) { /* the index of the group */
        t->run = group_run_number(0);
        group_run_add_unknown(&t->run, WIDTH * unit);
        set_samples(t, c, -4, 9, WIDTH * unit, true);
        for (int j = 0; j < WIDTH; j++)
            t->run.offset[j] = j;
    } else if (kind == 1) {
        t->run = group_run_number(number);
        set_samples(t, c, number, 1, 1, false);
    } else if (kind == 2) {
        t->run = group_run_between(number, number + extent);
        set_samples(t, c, number, extent + 1, 1, false);
    } else {
        t->run = group_run_unknown();
        set_samples(t, c, -100, 201, 1, false);
    }
}

static int64_t computed(int op, int64_t a, int64_t b) {
    return op == 0   ? a + b
           : op == 1 ? a - b
           : op == 2 ? a * b
           : op == 3 ? base_floor_div(a, b)
                     : base_floor_mod(a, b);
}

/* One more op on the run; false where it has no run. */
static bool apply(tested_run *t, chance *c, group_live live) {
    tested_run other, made;
    int op = (int)below(c, 5);
    int64_t number = op == 2 ? below(c, 9) - 3 : 1 + below(c, 40);
    if (op < 2) {
        make_leaf(&other, c, below(c, 4));
        if (!group_run_add(&t->run, &other.run, op == 1, live, &made.run))
            return false;
    } else {
        set_samples(&other, c, number, 1, 1, false);
        if (!(op == 2 ? group_run_scale(&t->run, number, live, &made.run)
                      : group_run_divide(&t->run, number, op == 4, live, &made.run)))
            return false;
    }
    for (int s = 0; s < SAMPLES; s++)
        for (int j = 0; j < WIDTH; j++)
            made.value[s][j] = computed(op, t->value[s][j], other.value[s][j]);
    *t = made;
    return true;
}

static bool holds_at(const tested_run *t, int s, group_live live) {
    int first = __builtin_ctzll(live);
    for (int j = first; j < WIDTH; j++)
        if ((live >> j & 1) != 0 &&
            t->value[s][j] - t->value[s][first] != t->run.offset[j] - t->run.offset[first])
            return false;
    return true;
}

static void check_bounds(const tested_run *t, chance *c, group_live live, int number) {
    int64_t low = below(c, 40) - 20, high = low + below(c, 40);
    if (!group_run_is_between(&t->run, live, low, high))
        return;
    for (int s = 0; s < SAMPLES; s++)
        for (int j = 0; j < WIDTH; j++)
            if ((live >> j & 1) != 0 && (t->value[s][j] < low || t->value[s][j] > high))
                fail_msg("case %d: %lld is not in [%lld, %lld]", number, (long long)t->value[s][j],
                         (long long)low, (long long)high);
}

static void runs_are_what_ops_give(void **state) {
    (void)state;
    const char *text = getenv("CROFT_SEED");
    uint64_t seed = text == NULL ? 1 : (uint64_t)strtoull(text, NULL, 10);
    int remainders = 0;
    for (int i = 0; i < CASES; i++) {
        chance c = {seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)i * UINT64_C(2654435761) + 1};
        below(&c, 2);
        group_live live = (group_live)(1 + below(&c, (1 << WIDTH) - 1));
        tested_run t;
        make_leaf(&t, &c, 0);
        int done = 0;
        while (done < OPS && apply(&t, &c, live))
            done++;
        for (int s = 0; s < SAMPLES; s++)
            if (!holds_at(&t, s, live))
                fail_msg("case %d: elements are not as far apart as the run says", i);
        check_bounds(&t, &c, live, i);
        remainders += done == OPS;
    }
    assert_in_range(remainders, CASES / 10, CASES); /* most are not refused for nothing */
}

static void what_stays_below_the_divisor_stays(void **state) {
    (void)state;
    const group_live live = 3; /* two of them are there */
    group_run sum, rest, index = group_run_number(0), other = group_run_between(0, 3);
    for (int j = 0; j < WIDTH; j++)
        index.offset[j] = j;
    assert_true(group_run_add(&other, &index, false, live, &sum));
    assert_true(group_run_divide(&sum, 5, true, live, &rest));
    assert_int_equal(rest.offset[1] - rest.offset[0], 1);
    assert_true(group_run_is_between(&rest, live, 0, 4));
    assert_false(group_run_divide(&sum, 4, true, live, &rest)); /* 3 + 1 is 0 again */
    assert_true(group_run_add(&other, &index, false, 7, &sum));
    assert_false(group_run_divide(&sum, 5, true, 7, &rest));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_what_ops_give),
        cmocka_unit_test(what_stays_below_the_divisor_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
