/* Conversions, compositions, contiguity and traffic of whole tiles of any radix, against
 * enumeration.
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

static layout_tile tile_of(const char *text) {
    layout_tile tile;
    layout_fault fault;
    if (!layout_tile_parse(&arena, text, strlen(text), &tile, &fault))
        fail_msg("%s: %s", text, fault.reason);
    return tile;
}

static layout_conversion convert(const char *source, const char *destination) {
    layout_tile from = tile_of(source), to = tile_of(destination);
    layout_conversion conversion;
    layout_fault fault;
    if (!layout_convert(&arena, &from, &to, &conversion, &fault))
        fail_msg("%s -> %s: %s", source, destination, fault.reason);
    return conversion;
}

/* ---- composition ---- */

/* Random digits of one axis whose box is `size`; perhaps a replica in front of the lanes. */
static layout_tile random_digits(int64_t size) {
    static const layout_holder holders[] = {LAYOUT_SLOT, LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK,
                                            LAYOUT_STEP};
    layout_tile tile = {.kind = LAYOUT_DIGITS, .rank = 1, .size = {size}};
    for (int64_t left = size; left > 1;) {
        int64_t radix = 2 + bits_below((int)left - 1);
        while (left % radix != 0)
            radix--;
        if (radix == 1)
            continue;
        layout_axis *axis = bits_below(8) == 0 ? &tile.replicas : &tile.axis[0];
        axis->digits[axis->count++] = (layout_digit){.holder = holders[bits_below(5)],
                                                     .radix = axis == &tile.axis[0] ? radix : 2};
        left /= axis == &tile.axis[0] ? radix : 1;
        if (tile.replicas.count > 2)
            tile.replicas.count = 2;
    }
    return tile;
}

static const layout_holder order[LAYOUT_HOLDER_COUNT] = {
    LAYOUT_LANE, LAYOUT_SUBGROUP, LAYOUT_BLOCK, LAYOUT_SLOT, LAYOUT_STEP, LAYOUT_GROUP};

static int64_t range_of(const layout_tile *tile, layout_holder holder) {
    return layout_axis_radix(&tile->axis[0], holder) * layout_axis_radix(&tile->replicas, holder);
}

/* Position number -> numbers of the holders. */
static layout_position position_at(const layout_tile *tile, int64_t number) {
    layout_position position = {{0}};
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) {
        position.number[order[h]] = number % range_of(tile, order[h]);
        number /= range_of(tile, order[h]);
    }
    return position;
}

static int64_t positions_of(const layout_tile *tile) {
    int64_t positions = 1;
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++)
        positions *= range_of(tile, order[h]);
    return positions;
}

static int64_t index_at(const layout_tile *tile, int64_t number) {
    layout_position position = position_at(tile, number);
    int64_t index[LAYOUT_MAX_RANK];
    assert_true(layout_tile_logical(tile, &position, index));
    return index[0];
}

/* Cumulative radices: where a carry out of the digits below may happen. */
static bool chain_exists(const layout_tile *outer, const layout_tile *inner) {
    int64_t weights[64] = {0}, weight = 1;
    int count = 0;
    for (int i = 0; i < inner->axis[0].count; i++)
        weights[count++] = weight *= inner->axis[0].digits[i].radix;
    weight = 1;
    for (int h = 0; h < LAYOUT_HOLDER_COUNT; h++) /* in the order written, the replicas after */
        for (int a = 0; a < 2; a++) {
            const layout_axis *axis = a == 0 ? &outer->axis[0] : &outer->replicas;
            for (int i = 0; i < axis->count; i++)
                if (axis->digits[i].holder == order[h])
                    weights[count++] = weight *= axis->digits[i].radix;
        }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (weights[i] % weights[j] != 0 && weights[j] % weights[i] != 0)
                return false;
    return true;
}

static void composed_digits_are_the_function_wherever_radices_form_a_chain(void **state) {
    (void)state;
    static const int64_t sizes[] = {1, 8, 12, 24, 32, 36, 48, 64, 72, 96};
    int made = 0, no_chain = 0;
    for (int round = 0; round < ROUNDS; round++) {
        layout_tile outer = random_digits(sizes[bits_below(10)]);
        layout_tile inner = random_digits(positions_of(&outer)), both;
        layout_fault fault;
        assert_true(layout_tile_check(&arena, &outer, &fault));
        assert_true(layout_tile_check(&arena, &inner, &fault));
        bool chain = chain_exists(&outer, &inner);
        bool composed = layout_tile_compose(&outer, &inner, &both);
        if (!composed) {
            no_chain += !chain;
            assert_false(chain && inner.axis[0].count + outer.axis[0].count < LAYOUT_MAX_DIGITS);
            continue;
        }
        made++;
        if (!layout_tile_check(&arena, &both, &fault))
            fail_msg("%s", fault.reason);
        assert_int_equal(positions_of(&both), positions_of(&inner));
        for (int64_t p = 0; p < positions_of(&inner); p++)
            assert_int_equal(index_at(&both, p), index_at(&outer, index_at(&inner, p)));
    }
    printf("composed %d, no chain %d\n", made, no_chain);
    assert_true(made > ROUNDS / 4 && no_chain > ROUNDS / 20);
}

static void composed_bits_are_the_function(void **state) {
    (void)state;
    for (int round = 0; round < ROUNDS / 4; round++) {
        int slots = bits_below(3), bits = 6 + slots;
        layout_bits from = bits_make(5, 1, slots, bits), to = bits_make(5, 1, slots, bits);
        layout_tile inner = {.kind = LAYOUT_BITS, .rank = 1, .size = {1 << bits}, .bits = from};
        layout_tile outer = {.kind = LAYOUT_BITS, .rank = 1, .size = {1 << bits}, .bits = to}, both;
        layout_bits composed;
        assert_true(layout_tile_compose(&outer, &inner, &both));
        assert_true(layout_tile_to_bits(&both, &composed));
        for (uint32_t p = 0; p < 1u << bits; p++)
            assert_int_equal(layout_bits_index(&composed, p),
                             layout_bits_index(&to, layout_bits_index(&from, p)));
    }
}

/* ---- conversions ---- */

static void classes_are_what_moves(void **state) {
    (void)state;
    static const struct {
        const char *source, *destination;
        layout_class class_;
        bool linear;
    } cases[] = {
        {"identity(64, slots=2)", "identity(64, slots=2)", LAYOUT_FORWARD, true},
        {"identity(64, slots=2)", "blocked_cyclic(64, workers=32, vector=2)", LAYOUT_SHUFFLE, true},
        {"digits(lane 32 | slot 4, size=128)", "digits(lane 32 | slot 2 @2 | slot 2 @1, size=128)",
         LAYOUT_RENAME, true},
        {"digits(lane 32 | subgroup 2, size=64)", "digits(subgroup 2 | lane 32, size=64)",
         LAYOUT_SCRATCH, true},
        {"digits(lane 32 | block 2, size=64)", "digits(block 2 | lane 32, size=64)", LAYOUT_CLUSTER,
         true},
        {"digits(lane 32 | slot 3, size=90)", "digits(lane 32 | slot 3, size=90)", LAYOUT_FORWARD,
         false},
        {"digits(lane 32 | slot 6, size=192)", "digits(lane 32 | slot 2 @3 | slot 3 @1, size=192)",
         LAYOUT_RENAME, false},
        {"digits(lane 32 | slot 3, size=96)", "digits(slot 3 | lane 32, size=96)", LAYOUT_SCRATCH,
         false},
        {"digits(lane 32 | block 3, size=96)", "digits(block 3 | lane 32, size=96)", LAYOUT_CLUSTER,
         false},
        /* each lane has a copy of everything: its own slot, but another in each lane */
        {"digits(slot 3; replicate lane 3, size=3)", "digits(lane 3, size=3)", LAYOUT_SCRATCH,
         false},
        /* the copy in the own subgroup is taken */
        {"digits(slot 6; replicate lane 5, size=6)",
         "digits(slot 2 @3 | slot 3 @1; replicate lane 5, size=6)", LAYOUT_RENAME, false},
        {"digits(lane 3; replicate subgroup 5, size=3)",
         "digits(lane 3; replicate subgroup 5, size=3)", LAYOUT_FORWARD, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_conversion conversion = convert(cases[i].source, cases[i].destination);
        if (conversion.class_ != cases[i].class_ || conversion.linear != cases[i].linear)
            fail_msg("%s -> %s: %s", cases[i].source, cases[i].destination,
                     layout_class_name(conversion.class_));
    }
}

/* Rows of an even width would put a column of the tile into few banks. */
static void row_major_scratch_is_a_bijection_with_odd_rows(void **state) {
    (void)state;
    layout_tile tile = tile_of("digits(lane 8; slot 6 | lane 4, size=(7, 22))");
    layout_conversion conversion = convert("digits(lane 8; slot 6 | lane 4, size=(7, 22))",
                                           "digits(slot 8; lane 32, size=(7, 22))");
    static bool seen[7 * 23];
    memset(seen, 0, sizeof seen);
    assert_int_equal(conversion.class_, LAYOUT_SCRATCH);
    assert_int_equal(conversion.row_words, 23);
    assert_int_equal(conversion.scratch_words, 7 * 23);
    for (int64_t row = 0; row < 7; row++)
        for (int64_t column = 0; column < 22; column++) {
            int64_t index[LAYOUT_MAX_RANK] = {row, column};
            int64_t address = layout_conversion_address(&conversion, &tile, index);
            assert_true(address >= 0 && address < conversion.scratch_words && !seen[address]);
            seen[address] = true;
        }
    /* Copies read one word. */
    conversion = convert("digits(lane 8 | slot 3; replicate lane 4, size=24)",
                         "digits(slot 3 | lane 8; replicate lane 4, size=24)");
    assert_int_equal(conversion.load_conflicts, 1);
    /* One axis, every lane a run of its own: as many conflicts as the run has factors of two. */
    static const struct {
        const char *runs;
        int conflicts;
    } cases[] = {{"digits(slot 3 | lane 32, size=90)", 1},
                 {"digits(slot 6 | lane 32, size=190)", 2},
                 {"digits(slot 12 | lane 32, size=380)", 4},
                 {"digits(slot 40 | lane 32, size=1270)", 8}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile runs = tile_of(cases[i].runs);
        base_text striped;
        base_text_init(&striped, &arena);
        base_text_format(&striped, "digits(lane 32 | slot %lld, size=%lld)",
                         (long long)layout_tile_capacity(&runs), (long long)runs.size[0]);
        conversion = convert(cases[i].runs, striped.bytes);
        assert_int_equal(conversion.store_conflicts, cases[i].conflicts);
        assert_int_equal(conversion.load_conflicts, 1);
    }
}

static void different_tiles_are_refused_and_both_are_named(void **state) {
    (void)state;
    static const struct {
        const char *source, *destination, *reason;
    } cases[] = {
        {"identity(64, slots=2)", "identity(128, slots=2)", "the sizes differ"},
        {"digits(lane 32 | slot 3, size=90)", "digits(lane 32 | slot 3, size=91)",
         "the sizes differ"},
        {"digits(lane 32 | slot 3, size=90)", "digits(lane 16 | slot 6, size=90)",
         "the threads differ"},
        {"digits(lane 32 | slot 3, size=90)", "digits(lane 32; slot 3, size=(32, 3))",
         "the axes differ"},
        {"digits(lane 3 | group 2, size=6)", "digits(lane 3 | group 3, size=6)",
         "the groups differ"},
        {"digits(lane 3 | group 2, size=6)", "digits(group 2 | lane 3, size=6)",
         "the groups of a value differ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile from = tile_of(cases[i].source), to = tile_of(cases[i].destination);
        layout_conversion conversion;
        layout_fault fault = {0};
        assert_false(layout_convert(&arena, &from, &to, &conversion, &fault));
        assert_string_equal(fault.slug, "layout-mismatch");
        if (strncmp(fault.reason, cases[i].reason, strlen(cases[i].reason)) != 0 ||
            strstr(fault.reason, " between ") == NULL || strstr(fault.reason, " and ") == NULL)
            fail_msg("%s", fault.reason);
    }
}

/* Copies by enumeration: any position of the source that owns the index. */
static layout_class class_by_enumeration(const layout_tile *source,
                                         const layout_tile *destination) {
    layout_class worst = range_of(source, LAYOUT_SLOT) == range_of(destination, LAYOUT_SLOT)
                             ? LAYOUT_FORWARD
                             : LAYOUT_RENAME;
    int64_t names[256] = {0};
    for (int64_t p = 0; p < positions_of(destination); p++) {
        layout_position asking = position_at(destination, p);
        int64_t index[LAYOUT_MAX_RANK], other[LAYOUT_MAX_RANK];
        if (!layout_tile_logical(destination, &asking, index))
            continue;
        layout_class best = LAYOUT_CLUSTER;
        int64_t slot = 0;
        for (int64_t q = 0; q < positions_of(source); q++) {
            layout_position owner = position_at(source, q);
            if (!layout_tile_logical(source, &owner, other) || other[0] != index[0])
                continue;
            layout_class here = LAYOUT_CLUSTER;
            if (owner.number[LAYOUT_BLOCK] == asking.number[LAYOUT_BLOCK])
                here = LAYOUT_SCRATCH;
            if (here == LAYOUT_SCRATCH && owner.number[LAYOUT_LANE] == asking.number[LAYOUT_LANE] &&
                owner.number[LAYOUT_SUBGROUP] == asking.number[LAYOUT_SUBGROUP] &&
                owner.number[LAYOUT_STEP] == asking.number[LAYOUT_STEP])
                here = owner.number[LAYOUT_SLOT] == asking.number[LAYOUT_SLOT] ? LAYOUT_FORWARD
                                                                               : LAYOUT_RENAME;
            if (here < best) {
                best = here;
                slot = owner.number[LAYOUT_SLOT];
            }
        }
        int64_t *name = &names[asking.number[LAYOUT_SLOT]];
        if (best <= LAYOUT_RENAME && *name != 0 && *name != slot + 1)
            best = LAYOUT_SCRATCH;
        *name = slot + 1;
        worst = best > worst ? best : worst;
    }
    return worst;
}

static void classes_of_random_digits_agree_with_enumeration(void **state) {
    (void)state;
    static const int64_t sizes[] = {6, 12, 24, 36};
    int seen[LAYOUT_CLUSTER + 1] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        layout_tile source = random_digits(sizes[bits_below(4)]), destination = source;
        int count = source.axis[0].count;
        if (count > 1) { /* another order of the digits, the strides as they were */
            layout_axes_resolve(&destination.axis[0], 1);
            destination.replicas.count = source.replicas.count = 0;
            int i = bits_below(count), j = bits_below(count);
            layout_digit kept = destination.axis[0].digits[i];
            destination.axis[0].digits[i] = destination.axis[0].digits[j];
            destination.axis[0].digits[j] = kept;
        }
        destination.size[0] = source.size[0] -= bits_below(3);
        layout_conversion conversion;
        layout_fault fault;
        if (!layout_convert(&arena, &source, &destination, &conversion, &fault))
            fail_msg("%s", fault.reason);
        seen[conversion.class_]++;
        if (!conversion.linear)
            assert_int_equal(conversion.class_, class_by_enumeration(&source, &destination));
    }
    printf("forward %d rename %d scratch %d cluster %d\n", seen[LAYOUT_FORWARD],
           seen[LAYOUT_RENAME], seen[LAYOUT_SCRATCH], seen[LAYOUT_CLUSTER]);
    assert_true(seen[LAYOUT_FORWARD] > 20 && seen[LAYOUT_RENAME] > 5 &&
                seen[LAYOUT_SCRATCH] > 100 && seen[LAYOUT_CLUSTER] > 50);
}

/* ---- memory ---- */

static void traffic_of_digits_is_what_distinct_pieces_count(void **state) {
    (void)state;
    static const int64_t sizes[] = {24, 36, 72, 96};
    for (int round = 0; round < ROUNDS / 4; round++) {
        layout_tile tile = random_digits(sizes[bits_below(4)]);
        tile.size[0] -= bits_below(3);
        int64_t bytes = 1 << bits_below(4), slots = range_of(&tile, LAYOUT_SLOT);
        int64_t width = slots % 2 == 0 ? 1 + bits_below(2) : 1, positions = positions_of(&tile);
        int64_t worst[3] = {0}, total = 0, accesses = 0;
        for (int64_t p = 0; p < positions; p++) {
            layout_position at = position_at(&tile, p);
            if (at.number[LAYOUT_LANE] != 0 || at.number[LAYOUT_SLOT] % width != 0)
                continue;
            bool seen[3][100] = {{0}};
            int64_t count[3] = {0};
            for (int64_t lane = 0; lane < range_of(&tile, LAYOUT_LANE); lane++)
                for (int64_t e = 0; e < width; e++) {
                    layout_position one = at;
                    int64_t index[LAYOUT_MAX_RANK];
                    one.number[LAYOUT_LANE] = lane;
                    one.number[LAYOUT_SLOT] += e;
                    if (!layout_tile_logical(&tile, &one, index))
                        continue;
                    for (int k = 0; k < 3; k++) {
                        bool *piece = &seen[k][index[0] * bytes / (32 << k)];
                        count[k] += !*piece;
                        *piece = true;
                    }
                }
            for (int k = 0; k < 3; k++)
                worst[k] = count[k] > worst[k] ? count[k] : worst[k];
            total += count[0];
            accesses += count[0] > 0;
        }
        layout_traffic traffic = layout_traffic_of(&tile, bytes, width);
        assert_int_equal(traffic.sectors, worst[0]);
        assert_int_equal(traffic.half_lines, worst[1]);
        assert_int_equal(traffic.lines, worst[2]);
        assert_int_equal(traffic.total_sectors, total);
        assert_int_equal(traffic.accesses, accesses);
    }
}

static void known_tiles_have_the_known_traffic_and_contiguity(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t width, contiguity, sectors, lines;
    } cases[] = {
        {"digits(slot 4 | lane 32 | slot 3, size=381)", 4, 4, 16, 4},
        {"digits(lane 32 | slot 12, size=381)", 1, 1, 4, 1},
        {"digits(slot 12 | lane 32, size=381)", 1, 4, 32, 12},
        {"digits(slot 6 | lane 32, size=190)", 2, 2, 24, 6},
        /* rows begin at lines of their own */
        {"digits(lane 4; lane 8, size=(3, 7))", 1, 1, 3, 3},
        {"digits(lane 4; slot 4 | lane 8, size=(3, 32))", 4, 4, 12, 3},
        {"blocked_cyclic(1009, workers=32, vector=4, shift=3)", 4, 4, 17, 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile tile = tile_of(cases[i].text);
        layout_traffic traffic = layout_traffic_of(&tile, 4, cases[i].width);
        if (layout_contiguity(&tile) != cases[i].contiguity ||
            traffic.sectors != cases[i].sectors || traffic.lines != cases[i].lines)
            fail_msg("%s: contiguity %lld, sectors %lld, lines %lld", cases[i].text,
                     (long long)layout_contiguity(&tile), (long long)traffic.sectors,
                     (long long)traffic.lines);
    }
}

static void huge_and_runtime_tiles_are_not_visited(void **state) {
    (void)state;
    layout_conversion conversion = convert("digits(lane 32 | step 100000000, size=3100000000)",
                                           "digits(step 100000000 | lane 32, size=3100000000)");
    assert_int_equal(conversion.class_, LAYOUT_SCRATCH);
    conversion = convert("digits(slot 4 | lane 32 | step *, size=*)",
                         "digits(slot 2 | lane 32 | slot 2 | step *, size=*)");
    assert_int_equal(conversion.class_, LAYOUT_SCRATCH);
    assert_int_equal(conversion.scratch_words, 0);
    layout_tile tile = tile_of("digits(slot 4 | lane 32 | step *, size=*)");
    assert_int_equal(layout_traffic_of(&tile, 4, 4).sectors, 16);
}

static void prices_of_tiles_count_rows_and_conflicts(void **state) {
    (void)state;
    const layout_costs costs = {.shuffle = 1,
                                .select = 1,
                                .store = 1,
                                .load = 1,
                                .wave = 1,
                                .barrier = 16,
                                .banks = 32,
                                .scratch_bytes = 4096};
    layout_tile from = tile_of("digits(slot 6 | lane 32, size=190)"),
                to = tile_of("digits(lane 32 | slot 6, size=190)");
    layout_conversion conversion;
    layout_fault fault;
    assert_true(layout_convert(&arena, &from, &to, &conversion, &fault));
    layout_price price = layout_price_of(&conversion, &from, &to, 4, &costs);
    assert_true(price.shuffles < 0);
    assert_true(price.scratch == 6 * 2 + 6 * 1 + 2 * 16);
    assert_int_equal(price.scratch_bytes, 190 * 4);
    layout_costs small = costs;
    small.scratch_bytes = 759;
    assert_true(layout_price_of(&conversion, &from, &to, 4, &small).scratch < 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composed_digits_are_the_function_wherever_radices_form_a_chain),
        cmocka_unit_test(composed_bits_are_the_function),
        cmocka_unit_test(classes_are_what_moves),
        cmocka_unit_test(row_major_scratch_is_a_bijection_with_odd_rows),
        cmocka_unit_test(different_tiles_are_refused_and_both_are_named),
        cmocka_unit_test(classes_of_random_digits_agree_with_enumeration),
        cmocka_unit_test(traffic_of_digits_is_what_distinct_pieces_count),
        cmocka_unit_test(known_tiles_have_the_known_traffic_and_contiguity),
        cmocka_unit_test(huge_and_runtime_tiles_are_not_visited),
        cmocka_unit_test(prices_of_tiles_count_rows_and_conflicts),
    };
    int failed = 0;
    for (int run = 0; run < bits_runs(argc, argv); run++) {
        bits_seed(argc, argv, run);
        failed += cmocka_run_group_tests(tests, set_up, tear_down);
    }
    return failed;
}
