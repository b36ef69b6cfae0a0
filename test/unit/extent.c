/* Extents: equal formulas are one pointer, simplification keeps the value, text is canonical. */
#include "layout/extent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct fixture {
    base_arena arena;
    jmp_buf exhausted;
    layout_extents pool;
    const layout_extent *r, *n;
} fixture;

static int set_up(void **state) {
    static fixture f;
    base_arena_init(&f.arena, base_allocator_default(), &f.exhausted);
    layout_extents_init(&f.pool, &f.arena);
    f.r = layout_extent_symbol(&f.pool, layout_extents_declare(&f.pool, "R"));
    f.n = layout_extent_symbol(&f.pool, layout_extents_declare(&f.pool, "N"));
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    base_arena_free(&((fixture *)*state)->arena);
    return 0;
}

static const layout_extent *number(fixture *f, int64_t value) {
    return layout_extent_constant(&f->pool, value);
}

static const layout_extent *make(fixture *f, layout_extent_kind kind, const layout_extent *a,
                                 const layout_extent *b) {
    return layout_extent_binary(&f->pool, kind, a, b);
}

static void check_text(fixture *f, const layout_extent *extent, const char *expected) {
    base_text out;
    base_text_init(&out, &f->arena);
    layout_extent_print(&out, &f->pool, extent);
    assert_string_equal(out.bytes, expected);
}

static void equal_formulas_are_one_pointer_in_any_order_of_operands(void **state) {
    fixture *f = *state;
    assert_ptr_equal(make(f, LAYOUT_EXTENT_ADD, f->r, f->n),
                     make(f, LAYOUT_EXTENT_ADD, f->n, f->r));
    assert_ptr_equal(make(f, LAYOUT_EXTENT_MIN, number(f, 7), f->n),
                     make(f, LAYOUT_EXTENT_MIN, f->n, number(f, 7)));
    assert_ptr_not_equal(make(f, LAYOUT_EXTENT_SUB, f->r, f->n),
                         make(f, LAYOUT_EXTENT_SUB, f->n, f->r));
    for (int i = 0; i < 1000; i++)
        assert_ptr_equal(make(f, LAYOUT_EXTENT_MUL, f->n, number(f, i)),
                         make(f, LAYOUT_EXTENT_MUL, number(f, i), f->n));
}

/* Every kind on every pair of small formulas: the built formula has the value of the operation. */
static int64_t defined(layout_extent_kind kind, int64_t a, int64_t b) {
    int64_t quotient = b == 0 ? 0 : a / b;
    if (b != 0 && a % b != 0 && (a < 0) != (b < 0))
        quotient--;
    switch (kind) {
    case LAYOUT_EXTENT_ADD:
        return a + b;
    case LAYOUT_EXTENT_SUB:
        return a - b;
    case LAYOUT_EXTENT_MUL:
        return a * b;
    case LAYOUT_EXTENT_DIV:
        return quotient;
    case LAYOUT_EXTENT_MOD:
        return b == 0 ? 0 : a - quotient * b;
    case LAYOUT_EXTENT_MIN:
        return a < b ? a : b;
    case LAYOUT_EXTENT_MAX:
        return a > b ? a : b;
    case LAYOUT_EXTENT_CONSTANT:
    case LAYOUT_EXTENT_SYMBOL:
        break;
    }
    return 0;
}

static void simplification_keeps_the_value(void **state) {
    fixture *f = *state;
    const int64_t sizes[][2] = {{0, 0}, {1, 5}, {7, 3}, {4, 1}};
    const layout_extent *leaves[12] = {number(f, 0), number(f, 1), number(f, 3), f->r, f->n};
    int count = 5;
    for (int kind = LAYOUT_EXTENT_ADD; kind <= LAYOUT_EXTENT_MAX; kind++)
        leaves[count++] = make(f, (layout_extent_kind)kind, f->n, f->r);
    for (int kind = LAYOUT_EXTENT_ADD; kind <= LAYOUT_EXTENT_MAX; kind++) {
        for (int i = 0; i < count * count; i++) {
            const layout_extent *a = leaves[i / count], *b = leaves[i % count];
            const layout_extent *c = make(f, (layout_extent_kind)kind, a, b);
            for (int s = 0; s < 4; s++) {
                int64_t va = 0, vb = 0, vc = 0;
                assert_true(layout_extent_evaluate(a, sizes[s], &va));
                assert_true(layout_extent_evaluate(b, sizes[s], &vb));
                assert_true(layout_extent_evaluate(c, sizes[s], &vc));
                assert_int_equal(vc, defined((layout_extent_kind)kind, va, vb));
            }
        }
    }
}

static void identities_vanish(void **state) {
    fixture *f = *state;
    assert_ptr_equal(make(f, LAYOUT_EXTENT_ADD, number(f, 0), f->n), f->n);
    assert_ptr_equal(make(f, LAYOUT_EXTENT_SUB, f->n, number(f, 0)), f->n);
    assert_ptr_equal(make(f, LAYOUT_EXTENT_SUB, f->n, f->n), number(f, 0));
    assert_ptr_equal(make(f, LAYOUT_EXTENT_MUL, number(f, 1), f->n), f->n);
    assert_ptr_equal(make(f, LAYOUT_EXTENT_MUL, number(f, 0), f->n), number(f, 0));
    assert_ptr_equal(make(f, LAYOUT_EXTENT_DIV, f->n, number(f, 1)), f->n);
    assert_ptr_equal(make(f, LAYOUT_EXTENT_MOD, f->n, number(f, 1)), number(f, 0));
    assert_ptr_equal(make(f, LAYOUT_EXTENT_MAX, f->n, f->n), f->n);
    assert_ptr_equal(layout_extent_ceil(&f->pool, f->n, 1), f->n);
}

static void text_has_the_fewest_parentheses(void **state) {
    fixture *f = *state;
    const layout_extent *sum = make(f, LAYOUT_EXTENT_ADD, number(f, 1), f->n);
    check_text(f, sum, "N + 1");
    check_text(f, make(f, LAYOUT_EXTENT_MUL, f->r, sum), "(N + 1) * R");
    check_text(f, make(f, LAYOUT_EXTENT_SUB, f->r, make(f, LAYOUT_EXTENT_SUB, f->n, f->r)),
               "R - (N - R)");
    check_text(f, make(f, LAYOUT_EXTENT_SUB, make(f, LAYOUT_EXTENT_SUB, f->n, f->r), f->r),
               "N - R - R");
    check_text(f, make(f, LAYOUT_EXTENT_DIV, f->n, make(f, LAYOUT_EXTENT_MUL, f->r, f->n)),
               "N // (R * N)");
    check_text(f, make(f, LAYOUT_EXTENT_MAX, make(f, LAYOUT_EXTENT_MIN, f->r, f->n), number(f, 2)),
               "max(min(R, N), 2)");
    check_text(f, layout_extent_ceil(&f->pool, f->n, 32), "(N + 31) // 32");
    check_text(f, number(f, INT64_MIN), "-9223372036854775808");
}

static void known_sizes_fold_and_keep_their_name(void **state) {
    fixture *f = *state;
    const layout_extent *chunks = layout_extent_ceil(&f->pool, f->n, 32);
    int64_t value = 0;
    assert_false(layout_extent_known(&f->pool, chunks, &value));
    assert_false(layout_extent_equal(&f->pool, f->n, number(f, 100)));
    f->pool.symbols[1].known = true;
    f->pool.symbols[1].value = 100;
    assert_true(layout_extent_known(&f->pool, chunks, &value));
    assert_int_equal(value, 4);
    assert_true(layout_extent_is(&f->pool, f->n, 100));
    assert_false(layout_extent_is(&f->pool, f->n, 99));
    assert_true(layout_extent_equal(&f->pool, f->n, number(f, 100)));
    assert_false(layout_extent_equal(&f->pool, f->n, f->r));
    check_text(f, chunks, "(N + 31) // 32");
}

static void a_product_with_a_size_of_none_is_known(void **state) {
    fixture *f = *state;
    const layout_extent *product = make(f, LAYOUT_EXTENT_MUL, f->r, f->n);
    int64_t value = 5;
    assert_false(layout_extent_known(&f->pool, product, &value));
    f->pool.symbols[1].known = true;
    f->pool.symbols[1].value = 0;
    assert_true(layout_extent_known(&f->pool, product, &value));
    assert_int_equal(value, 0);
    assert_false(layout_extent_known(&f->pool, make(f, LAYOUT_EXTENT_ADD, f->r, f->n), &value));
}

static void overflow_is_no_formula_or_no_value(void **state) {
    fixture *f = *state;
    assert_null(make(f, LAYOUT_EXTENT_ADD, number(f, INT64_MAX), number(f, 1)));
    assert_null(make(f, LAYOUT_EXTENT_MUL, number(f, INT64_MAX), number(f, 2)));
    assert_null(make(f, LAYOUT_EXTENT_DIV, number(f, INT64_MIN), number(f, -1)));
    const layout_extent *square = make(f, LAYOUT_EXTENT_MUL, f->n, f->n);
    const int64_t sizes[2] = {0, INT64_C(1) << 32};
    int64_t value = 5;
    assert_false(layout_extent_evaluate(square, sizes, &value));
    f->pool.symbols[1].known = true;
    f->pool.symbols[1].value = INT64_C(1) << 32;
    assert_false(layout_extent_known(&f->pool, square, &value));
}

static void formulas_past_the_limit_are_refused(void **state) {
    fixture *f = *state;
    const layout_extent *deep = f->n, *wide = f->n;
    int additions = 0, doublings = 0;
    for (; deep != NULL && additions < 100000; additions++)
        deep = make(f, LAYOUT_EXTENT_SUB, deep, f->r);
    for (; wide != NULL && doublings < 100; doublings++)
        wide = make(f, LAYOUT_EXTENT_MUL, wide, wide);
    assert_int_equal(additions, LAYOUT_EXTENT_LEAVES);
    assert_int_equal(doublings, 10);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(equal_formulas_are_one_pointer_in_any_order_of_operands),
        TEST(simplification_keeps_the_value),
        TEST(identities_vanish),
        TEST(text_has_the_fewest_parentheses),
        TEST(known_sizes_fold_and_keep_their_name),
        TEST(a_product_with_a_size_of_none_is_known),
        TEST(overflow_is_no_formula_or_no_value),
        TEST(formulas_past_the_limit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
