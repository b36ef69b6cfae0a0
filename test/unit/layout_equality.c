/* Layouts are equal exactly when their tables are: pairs that look alike, and all pairs of small
 * families under every prefix and shift.
 *
 *     unit_layout_equality             a part, in seconds
 *     unit_layout_equality long        all of it
 *
 * tier: check-long */
#include "layout_laws.h"

#include "layout/tile_internal.h"

static void common_places_are_counted(void **state) {
    (void)state;
    enum { MOST_PERIOD = 13, END = 40 };
    for (int64_t p = 1; p <= MOST_PERIOD; p++)
        for (int64_t q = 1; q <= MOST_PERIOD; q++)
            for (int64_t i = 1; i <= p; i++)
                for (int64_t k = 1; k <= q; k++) {
                    int64_t common = 0;
                    for (int64_t end = 1; end <= END; end++) {
                        tile_progression a = {.first = i, .period = p},
                                         b = {.first = k, .period = q};
                        if (tile_count_common(a, b, end) != common)
                            fail_msg("%" PRId64 " + %" PRId64 "n, %" PRId64 " + %" PRId64
                                     "n below %" PRId64 ": not %" PRId64,
                                     i, p, k, q, end, common);
                        common += end % p == i % p && end % q == k % q;
                    }
                }
    /* Numbers whose products do not fit 64 bits: 2^61 - 1 is prime. */
    const int64_t prime = 2305843009213693951;
    tile_progression large = {.first = 3, .period = prime}, odd = {.first = 1, .period = 2};
    assert_int_equal(tile_count_common(large, odd, INT64_MAX), 2);
    assert_int_equal(tile_count_common(odd, large, INT64_MAX), 2);
    tile_progression other = {.first = 3, .period = prime - 1};
    assert_int_equal(tile_count_common(large, other, INT64_MAX), 1);
    other.first = 2; /* first met beyond 64 bits */
    assert_int_equal(tile_count_common(large, other, INT64_MAX), 0);
}

/* Every pair: equal exactly when order and constant are the same, whichever way it is held. */
static void permutations_are_equal_only_to_themselves(void **state) {
    (void)state;
    enum { MOST = 120 * 2 };
    static layout_tile tiles[MOST], digits[MOST];
    int count = 0, with_digits = 0;
    permutation f = first_permutation(5);
    f.slots = 4;
    do {
        for (f.mask = 0; f.mask < 32; f.mask += 19)
            tiles[count++] = read_permutation(&f);
    } while (next_permutation(&f));
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    for (int i = 0; i < count; i++) {
        base_text out;
        base_text_init(&out, &arena);
        digits[i] = tiles[i];
        if (layout_tile_print(&out, &tiles[i], LAYOUT_SPELL_DIGITS)) {
            digits[i] = read_text(out.bytes);
            with_digits += digits[i].kind == LAYOUT_DIGITS;
        }
    }
    base_arena_free(&arena);
    assert_int_equal(with_digits, 120);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            if (layout_tile_equal(&tiles[i], &tiles[k]) != (i == k) ||
                layout_tile_equal(&tiles[i], &digits[k]) != (i == k) ||
                layout_tile_equal(&digits[i], &digits[k]) != (i == k))
                fail_msg("%s and number %d", text_of(&tiles[i]), k);
        }
    }
}

/* ---- equality ---- */
static bool same_tables(const chance *a, const chance *b) {
    ranges r = ranges_of_chance(a), other = ranges_of_chance(b);
    if (a->rank != b->rank || memcmp(&r, &other, sizeof r) != 0 ||
        memcmp(a->size, b->size, sizeof a->size) != 0)
        return false;
    for (int64_t n = 0; n < r.positions; n++) {
        layout_position p = position_of(&r, n);
        if (says_chance(a, &p) != says_chance(b, &p))
            return false;
    }
    return true;
}

/* Returns whether they are equal. */
static bool check_pair(const chance *a, const chance *b) {
    layout_tile first = tile_of_chance(a), second = tile_of_chance(b);
    bool equal = layout_tile_equal(&first, &second);
    if (equal != same_tables(a, b)) {
        char text[512];
        snprintf(text, sizeof text, "%s", text_of(&first));
        fail_msg("%s and %s are %s", text, text_of(&second), equal ? "different" : "equal");
    }
    return equal;
}

/* A digit becomes two; two that may be one become one; two change places. */
static void vary(chance *f) {
    if (f->count == 0)
        return;
    int at = (int)random_below(f->count);
    chance_digit *d = &f->digits[at];
    int64_t kind = random_below(3);
    if (kind == 0 && d->radix == 4 && f->count < 20) {
        memmove(d + 1, d, sizeof *d * (size_t)(f->count - at));
        f->count++;
        d[0].radix = d[1].radix = 2;
        d[1].stride *= 2;
    } else if (kind == 1 && at + 1 < f->count && d[0].holder == d[1].holder &&
               d[0].axis == d[1].axis && d[1].stride == d[0].stride * d[0].radix) {
        d[0].radix *= d[1].radix;
        f->count--;
        memmove(d + 1, d + 2, sizeof *d * (size_t)(f->count - at - 1));
    } else if (kind == 2 && at + 1 < f->count) {
        chance_digit moved = d[0];
        d[0] = d[1];
        d[1] = moved;
    }
}

/* A variant whose size still fits, shift by chance; the same size. */
static chance variant_of(const chance *a) {
    chance b = *a;
    int64_t box[LAYOUT_MAX_RANK], innermost[LAYOUT_MAX_RANK];
    for (int64_t turns = random_below(5); turns > 0; turns--)
        vary(&b);
    set_weights(&b, box, innermost);
    for (int i = 0; i < b.rank; i++) {
        int64_t room = box[i] - b.size[i];
        int64_t limit =
            innermost[i] > 1 && room > 0 ? (innermost[i] - 1 < room ? innermost[i] - 1 : room) : 0;
        if (b.shift[i] > limit || random_below(4) == 0)
            b.shift[i] = limit == 0 ? 0 : random_below(limit + 1);
    }
    return b;
}

static void equality_of_variants_is_that_of_their_tables(void **state) {
    (void)state;
    int equal = 0, pairs = 0;
    for (int i = 0; i < (run_long ? 400000 : 6000); i++) {
        chance a = make_chance(1 + (int)random_below(2), i % 2 == 0 ? 24 : 300, false);
        if (i % 3 == 0) /* little is owned: much looks alike */
            for (int k = 0; k < a.rank; k++)
                a.size[k] = 1 + random_below(a.size[k] < 4 ? a.size[k] : 4);
        chance b = variant_of(&a);
        if (!fits_twelve(&a) || !fits_twelve(&b))
            continue;
        pairs++;
        equal += check_pair(&a, &b);
    }
    assert_true(equal > pairs / 10 && equal < pairs * 9 / 10);
}

typedef struct small_family {
    int count;
    chance layouts[400];
} small_family;

/* All orders of the digits of two holders. */
static void add_orders(small_family *family, chance f, int chosen) {
    if (chosen == f.count) {
        int64_t box[LAYOUT_MAX_RANK], innermost[LAYOUT_MAX_RANK];
        set_weights(&f, box, innermost);
        for (f.shift[0] = 0; f.shift[0] < innermost[0]; f.shift[0]++)
            family->layouts[family->count++] = f;
        return;
    }
    for (int i = chosen; i < f.count; i++) {
        chance next = f;
        next.digits[chosen] = f.digits[i];
        next.digits[i] = f.digits[chosen];
        add_orders(family, next, chosen + 1);
    }
}

/* Chains of radices with the same product: what one holder's range may be made of. */
static const int chains[][3] = {{6}, {2, 3}, {3, 2}, {4}, {2, 2}};

static small_family *make_small_family(int first, int last) {
    small_family *family = calloc(1, sizeof *family);
    for (int s = first; s <= last; s++) {
        for (int l = first; l <= last; l++) {
            chance f = {.rank = 1};
            for (int h = 0; h < 2; h++) {
                int64_t stride = 1;
                for (const int *radix = chains[h == 0 ? s : l]; *radix != 0; radix++) {
                    f.digits[f.count++] =
                        (chance_digit){0, h == 0 ? LAYOUT_SLOT : LAYOUT_LANE, *radix, stride, 0};
                    stride *= *radix;
                }
            }
            add_orders(family, f, 0);
        }
    }
    return family;
}

/* Every size of every pair: prefixes and shifts that hide where layouts differ. */
static void check_small_family(int first, int last, int64_t box, int64_t step) {
    small_family *family = make_small_family(first, last);
    int64_t equal = 0;
    for (int64_t size = 1; size <= box; size += step) {
        for (int i = 0; i < family->count; i++) {
            for (int k = 0; k <= i; k++) {
                chance *a = &family->layouts[i], *b = &family->layouts[k];
                a->size[0] = b->size[0] = size;
                if (size + a->shift[0] <= box && size + b->shift[0] <= box)
                    equal += check_pair(a, b);
            }
        }
    }
    assert_true(equal > family->count * box / step);
    free(family);
}

static void equality_under_every_prefix_and_shift(void **state) {
    (void)state;
    check_small_family(3, 4, 16, 1);
    check_small_family(0, 2, 36, run_long ? 1 : 17);
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(common_places_are_counted),
        cmocka_unit_test(permutations_are_equal_only_to_themselves),
        cmocka_unit_test(equality_of_variants_is_that_of_their_tables),
        cmocka_unit_test(equality_under_every_prefix_and_shift),
    };
    return read_words(count, words) ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
