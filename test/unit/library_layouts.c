/* Layouts through the library's header alone: small ones against every position and index counted
 * out, compositions and classes against what they are by definition, bad texts, and memory that
 * ends anywhere.
 *
 *     digits(slot 2 | lane 4 | slot 2, size=13)
 *         lane 2, slot 3: 1 + 2 * 2 + 8 = 13, which is past the size: nothing
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "library_fixture.h"

enum { AXES = CROFT_LAYOUT_AXES, POSITIONS = 4096 };

/* ---- layouts ---- */
static croft_context *open_context(meter *m) {
    croft_context *context = NULL;
    croft_config config = {
        .size = sizeof config, .resize = m != NULL ? metered : NULL, .resize_context = m};
    assert_int_equal(croft_context_create(&config, &context), CROFT_OK);
    return context;
}

static croft_layout *read_layout(croft_context *context, const char *text) {
    croft_layout *layout = NULL;
    croft_diagnostics *findings = NULL;
    if (croft_layout_parse(context, text, &layout, &findings) != CROFT_OK)
        fail_msg("%s\n%s", text, croft_diagnostics_text(findings));
    return layout;
}

static croft_layout_extents measure(const croft_layout *layout) {
    croft_layout_extents extents = {.size = sizeof extents};
    assert_int_equal(croft_layout_measure(layout, &extents), CROFT_OK);
    return extents;
}

/* The lane is least significant, then subgroup, block, slot, step and group. */
static croft_position position_of(const croft_position *end, int64_t number) {
    croft_position p;
    p.lane = number % end->lane, number /= end->lane;
    p.subgroup = number % end->subgroup, number /= end->subgroup;
    p.block = number % end->block, number /= end->block;
    p.slot = number % end->slot, number /= end->slot;
    p.step = number % end->step, number /= end->step;
    p.group = number;
    return p;
}

static int64_t count_positions(const croft_position *end) {
    return end->lane * end->subgroup * end->block * end->slot * end->step * end->group;
}

static int64_t thread_of(const croft_position *end, const croft_position *p) {
    return p->lane + end->lane * (p->subgroup + end->subgroup * p->block);
}

/* Of a layout of one axis; -1: nothing. */
static int64_t index_at(const croft_layout *layout, const croft_position *end, int64_t number) {
    croft_position position = position_of(end, number);
    int64_t index[AXES] = {0};
    int owns = 0;
    assert_int_equal(croft_layout_logical(layout, &position, index, &owns), CROFT_OK);
    return owns ? index[0] : -1;
}

/* ---- what layouts are by definition ---- */
/* Each gives the index by axis from the numbers; whether it is inside the extents is not asked. */
typedef void formula(const croft_position *p, int64_t index[AXES]);

static void identity_64_2(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->lane + 32 * p->slot;
}

static void bits_64_2(const croft_position *p, int64_t index[AXES]) {
    static const int order[] = {3, 4, 5, 0, 1, 2};
    int64_t packed = p->lane | p->slot << 5;
    index[0] = 0;
    for (int bit = 0; bit < 6; bit++)
        index[0] |= (packed >> order[bit] & 1) << bit;
    index[0] ^= 5;
}

static void cyclic_1009(const croft_position *p, int64_t index[AXES]) {
    index[0] = (p->slot / 4 * 32 + p->lane) * 4 + p->slot % 4 - 3;
}

static void digits_13(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->slot % 2 + 2 * p->lane + 8 * (p->slot / 2);
}

static void digits_of_steps(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->lane + 6 * p->subgroup + 18 * p->step + 90 * p->group;
}

static void two_axes(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->lane % 8 + 8 * p->slot;
    index[1] = p->lane / 8 + 4 * p->block;
}

static void mixed_bits(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->lane ^ (p->slot == 1 ? 33 : 0) ^ 7;
}

static void copies(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->lane % 8;
}

static void columns_that_depend(const croft_position *p, int64_t index[AXES]) {
    static const int64_t columns[] = {3, 1, 2, 4};
    index[0] = p->slot == 1 ? 6 : 0;
    for (int bit = 0; bit < 4; bit++)
        index[0] ^= p->lane >> bit & 1 ? columns[bit] : 0;
}

static void transposed(const croft_position *p, int64_t index[AXES]) {
    index[0] = p->slot + 2 * p->lane;
}

static const struct {
    const char *text;
    formula *logical;
    int rank;
    int64_t extent[AXES];
    croft_position end; /* slot, step, lane, subgroup, block, group */
    int64_t replication;
} layouts[] = {
    {"identity(64, slots=2)", identity_64_2, 1, {64}, {2, 1, 32, 1, 1, 1}, 1},
    {"bits(3, 4, 5, 0, 1, 2, xor=5, slots=2)", bits_64_2, 1, {64}, {2, 1, 32, 1, 1, 1}, 1},
    {"blocked_cyclic(1009, workers=32, vector=4, shift=3)",
     cyclic_1009,
     1,
     {1009},
     {32, 1, 32, 1, 1, 1},
     1},
    {"digits(slot 2 | lane 4 | slot 2, size=13)", digits_13, 1, {13}, {4, 1, 4, 1, 1, 1}, 1},
    {"digits(lane 6 | subgroup 3 | step 5 | group 2, size=170)",
     digits_of_steps,
     1,
     {170},
     {1, 5, 6, 3, 1, 2},
     1},
    {"digits(lane 8 | slot 4; lane 4 | block 2, size=(29, 7))",
     two_axes,
     2,
     {29, 7},
     {4, 1, 32, 1, 2, 1},
     1},
    {"gf2(lane 1 2 4 8 16 | slot 33, xor=7)", mixed_bits, 1, {64}, {2, 1, 32, 1, 1, 1}, 1},
    {"digits(lane 8; replicate lane 4)", copies, 1, {8}, {1, 1, 32, 1, 1, 1}, 4},
    {"gf2(lane 3 1 2 4 | slot 6)", columns_that_depend, 1, {8}, {2, 1, 16, 1, 1, 1}, 4},
    {"(32,2):(2,1)", transposed, 1, {64}, {2, 1, 32, 1, 1, 1}, 1},
};
enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };

static bool same_position(const croft_position *a, const croft_position *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Row-major; -1: it lies outside. */
static int64_t place_of(int rank, const int64_t extent[AXES], const int64_t index[AXES]) {
    int64_t place = 0;
    for (int a = 0; a < rank; a++) {
        if (index[a] < 0 || index[a] >= extent[a])
            return -1;
        place = place * extent[a] + index[a];
    }
    return place;
}

static void check_positions(const croft_layout *layout, int row) {
    static int64_t first[POSITIONS]; /* position that owns it, by place */
    const croft_position *end = &layouts[row].end;
    const int64_t *extent = layouts[row].extent;
    int rank = layouts[row].rank;
    memset(first, -1, sizeof first);
    for (int64_t number = 0; number < count_positions(end); number++) {
        croft_position position = position_of(end, number);
        int64_t wanted[AXES], index[AXES];
        int owns = -1;
        layouts[row].logical(&position, wanted);
        int64_t place = place_of(rank, extent, wanted);
        assert_int_equal(croft_layout_logical(layout, &position, index, &owns), CROFT_OK);
        assert_int_equal(owns, place >= 0);
        for (int a = 0; a < rank && owns; a++)
            assert_int_equal(index[a], wanted[a]);
        if (place >= 0 && first[place] < 0)
            first[place] = number;
    }
    int64_t index[AXES] = {0};
    for (int64_t place = 0; index[0] < extent[0]; place++) {
        croft_position owner, wanted = position_of(end, first[place]);
        assert_true(first[place] >= 0);
        assert_int_equal(croft_layout_owner(layout, index, &owner), CROFT_OK);
        assert_true(same_position(&owner, &wanted));
        int a = rank - 1;
        for (index[a]++; a > 0 && index[a] == extent[a]; index[a]++)
            index[a--] = 0;
    }
}

static void positions_own_what_the_definition_says(void **state) {
    (void)state;
    croft_context *context = open_context(NULL);
    for (int row = 0; row < LAYOUTS; row++) {
        croft_layout *layout = read_layout(context, layouts[row].text);
        croft_layout_extents extents = measure(layout);
        assert_int_equal(extents.rank, layouts[row].rank);
        assert_memory_equal(extents.extent, layouts[row].extent, sizeof extents.extent);
        assert_true(same_position(&extents.end, &layouts[row].end));
        assert_int_equal(extents.replication, layouts[row].replication);
        assert_true(count_positions(&extents.end) <= POSITIONS);
        check_positions(layout, row);
        croft_layout_free(layout);
    }
    croft_context_free(context);
}

/* ---- texts ---- */
static void printed_layouts_are_read_as_the_same(void **state) {
    (void)state;
    static const char *const spellings[] = {NULL,     "identity", "bits", "blocked_cyclic",
                                            "digits", "gf2",      "cute", "triton"};
    croft_context *context = open_context(NULL);
    for (int row = 0; row < LAYOUTS; row++) {
        croft_layout *layout = read_layout(context, layouts[row].text);
        int had = 0;
        for (size_t s = 0; s < sizeof spellings / sizeof spellings[0]; s++) {
            char text[200] = "?";
            size_t length = 1;
            croft_status status =
                croft_layout_print(layout, spellings[s], text, sizeof text, &length);
            assert_int_equal(length, strlen(text));
            if (status == CROFT_REJECTED) {
                assert_true(s > 0 && length == 0);
                continue;
            }
            assert_int_equal(status, CROFT_OK);
            croft_layout *again = read_layout(context, text);
            assert_true(croft_layout_equal(layout, again));
            croft_layout_free(again);
            had++;
        }
        assert_true(had >= 2);
        for (int other = 0; other < LAYOUTS; other++) {
            croft_layout *against = read_layout(context, layouts[other].text);
            assert_int_equal(croft_layout_equal(layout, against), other == row);
            croft_layout_free(against);
        }
        croft_layout_free(layout);
    }
    croft_context_free(context);
}

static void texts_are_cut_where_the_room_ends(void **state) {
    (void)state;
    croft_context *context = open_context(NULL);
    croft_layout *layout = read_layout(context, "(32,2):(1,32)");
    char text[9];
    size_t length = 0;
    memset(text, '#', sizeof text);
    assert_int_equal(croft_layout_print(layout, NULL, text, 8, &length), CROFT_OK);
    assert_string_equal(text, "identit");
    assert_int_equal(text[8], '#');
    assert_int_equal(length, strlen("identity(64, slots=2)"));
    assert_int_equal(croft_layout_print(layout, "cute", NULL, 0, &length), CROFT_OK);
    assert_int_equal(length, strlen("(32,2):(1,32)"));
    assert_int_equal(croft_layout_print(layout, NULL, text, 1, NULL), CROFT_OK);
    assert_string_equal(text, "");
    croft_layout_free(layout);
    croft_context_free(context);
}

static void bad_texts_have_findings_with_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text, *slug, *hint;
        int line, column;
    } bad[] = {
        {"", "layout-syntax", NULL, 1, 1},
        {"bts(0, 1)", "layout-name", "legal is, for one: bits(0, 1)", 1, 1},
        {"bits(0,\n 1, 1)", "layout-duplicate-bit", NULL, 2, 5},
        {"digits(lane 8, size=9)", "layout-size", "legal is, for one: digits(lane 8, size=8)", 1,
         21},
        {"identity(64, slots=3)", "layout-slots", "legal is, for one: identity(64, slots=2)", 1,
         20},
    };
    croft_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        croft_layout *layout = (croft_layout *)&bad;
        croft_diagnostics *findings = NULL;
        croft_diagnostic first = {.size = sizeof first};
        assert_int_equal(croft_layout_parse(context, bad[i].text, &layout, &findings),
                         CROFT_REJECTED);
        assert_null(layout);
        assert_int_equal(croft_diagnostics_count(findings), 1);
        assert_int_equal(croft_diagnostics_at(findings, 0, &first), CROFT_OK);
        assert_string_equal(first.slug, bad[i].slug);
        assert_int_equal(first.line, bad[i].line);
        assert_int_equal(first.column, bad[i].column);
        if (bad[i].hint != NULL)
            assert_string_equal(first.hint, bad[i].hint);
        croft_diagnostics_free(findings);
    }
    croft_context_free(context);
}

/* ---- what cannot be meant ---- */
static void numbers_outside_are_misuse(void **state) {
    (void)state;
    croft_context *context = open_context(NULL);
    croft_layout *layout = read_layout(context, "digits(slot 4 | lane 32, size=100)");
    int64_t index[AXES] = {0};
    int owns = 0;
    static const croft_position outside[] = {{.slot = 4}, {.lane = 32}, {.slot = -1},
                                             {.step = 1}, {.group = 1}, {.block = INT64_MAX}};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++)
        assert_int_equal(croft_layout_logical(layout, &outside[i], index, &owns), CROFT_MISUSE);
    croft_position owner;
    static const int64_t none[] = {-1, 100, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        assert_int_equal(croft_layout_owner(layout, &none[i], &owner), CROFT_MISUSE);
    croft_layout_extents extents = {.size = sizeof(size_t)};
    assert_int_equal(croft_layout_measure(layout, &extents), CROFT_MISUSE);
    assert_int_equal(croft_layout_print(layout, "hex", NULL, 0, NULL), CROFT_MISUSE);
    assert_int_equal(croft_layout_print(layout, NULL, NULL, 9, NULL), CROFT_MISUSE);
    croft_layout_free(layout);
    assert_int_equal(croft_layout_parse(context, NULL, &layout, NULL), CROFT_MISUSE);
    assert_null(layout);
    assert_int_equal(croft_layout_parse(context, "bits(0)", NULL, NULL), CROFT_MISUSE);
    assert_int_equal(croft_layout_owner(NULL, none, &owner), CROFT_MISUSE);
    assert_int_equal(croft_layout_equal(NULL, NULL), 0);
    croft_layout_free(NULL);
    croft_context_free(context);
}

/* The steps are counted when a kernel runs: their number is open, and so is the extent. */
static void open_extents_reach_as_far_as_the_index(void **state) {
    (void)state;
    meter m = {0};
    croft_context *context = open_context(&m);
    int64_t before = m.held;
    croft_layout *layout = read_layout(context, "digits(slot 4 | lane 32 | step *)");
    croft_layout_extents extents = measure(layout);
    assert_int_equal(extents.extent[0], 0);
    assert_int_equal(extents.end.step, 0);
    int64_t index[AXES] = {0};
    int owns = 0;
    croft_position far = {.slot = 3, .lane = 31, .step = (INT64_MAX >> 7) - 1}, owner;
    assert_int_equal(croft_layout_logical(layout, &far, index, &owns), CROFT_OK);
    assert_true(owns);
    assert_int_equal(index[0], far.step * 128 + 127);
    assert_int_equal(croft_layout_owner(layout, index, &owner), CROFT_OK);
    assert_true(same_position(&far, &owner));
    far.step += 2;
    assert_int_equal(croft_layout_logical(layout, &far, index, &owns), CROFT_MISUSE);
    far.step = INT64_MAX;
    assert_int_equal(croft_layout_logical(layout, &far, index, &owns), CROFT_MISUSE);
    index[0] = INT64_MAX;
    assert_int_equal(croft_layout_owner(layout, index, &owner), CROFT_OK);
    assert_int_equal(owner.step, INT64_MAX >> 7);
    croft_layout_free(layout);
    assert_int_equal(m.held, before);
    croft_context_free(context);
}

/* ---- two layouts ---- */
static void compositions_are_one_after_the_other(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"digits(slot 2 | lane 12)", "digits(lane 4 | slot 6)"},
        {"identity(64, slots=2)", "bits(3, 4, 5, 0, 1, 2, xor=5, slots=2)"},
        {"gf2(lane 1 2 4 8 16 | slot 33, xor=7)", "(32,2):(2,1)"},
        {"digits(slot 4 | lane 32 | subgroup 2)", "digits(lane 32 | slot 8)"},
    };
    croft_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        croft_layout *outer = read_layout(context, pairs[i][0]);
        croft_layout *inner = read_layout(context, pairs[i][1]), *both = NULL;
        croft_diagnostics *findings = NULL;
        if (croft_layout_compose(outer, inner, &both, &findings) != CROFT_OK)
            fail_msg("%s", croft_diagnostics_text(findings));
        croft_layout_extents of_outer = measure(outer), of_inner = measure(inner);
        croft_layout_extents of_both = measure(both);
        assert_true(same_position(&of_both.end, &of_inner.end));
        for (int64_t number = 0; number < count_positions(&of_inner.end); number++)
            assert_int_equal(
                index_at(both, &of_both.end, number),
                index_at(outer, &of_outer.end, index_at(inner, &of_inner.end, number)));
        croft_layout_free(outer);
        croft_layout_free(inner);
        croft_layout_free(both);
    }
    croft_context_free(context);
}

/* The class of two layouts without replicas whose positions are the same, by where each element
 * goes. */
static croft_layout_class class_by_definition(const croft_layout *from, const croft_layout *to) {
    croft_layout_extents source = measure(from), target = measure(to);
    int64_t slot_of[64];
    bool forward = true, rename = true, shuffle = true, scratch = true;
    memset(slot_of, -1, sizeof slot_of);
    for (int64_t index = 0; index < source.extent[0]; index++) {
        croft_position a, b;
        assert_int_equal(croft_layout_owner(from, &index, &a), CROFT_OK);
        assert_int_equal(croft_layout_owner(to, &index, &b), CROFT_OK);
        forward = forward && same_position(&a, &b);
        rename = rename && thread_of(&source.end, &a) == thread_of(&target.end, &b) &&
                 (slot_of[b.slot] < 0 || slot_of[b.slot] == a.slot);
        slot_of[b.slot] = a.slot;
        shuffle = shuffle && a.subgroup == b.subgroup && a.block == b.block;
        scratch = scratch && a.block == b.block;
    }
    return forward   ? CROFT_LAYOUT_FORWARD
           : rename  ? CROFT_LAYOUT_RENAME
           : shuffle ? CROFT_LAYOUT_SHUFFLE
           : scratch ? CROFT_LAYOUT_SCRATCH
                     : CROFT_LAYOUT_CLUSTER;
}

static void classes_say_what_has_to_move(void **state) {
    (void)state;
    static const struct {
        const char *from, *to;
        croft_layout_class wanted;
    } rows[] = {
        {"identity(64, slots=2)", "(32,2):(1,32)", CROFT_LAYOUT_FORWARD},
        {"digits(lane 32 | slot 4)", "digits(lane 32 | slot 2 @2 | slot 2 @1)",
         CROFT_LAYOUT_RENAME},
        {"identity(64, slots=2)", "bits(3, 4, 5, 0, 1, 2, slots=2)", CROFT_LAYOUT_SHUFFLE},
        {"digits(lane 32 | subgroup 4 | slot 2)", "digits(slot 2 | lane 32 | subgroup 4)",
         CROFT_LAYOUT_SCRATCH},
        {"digits(lane 32 | block 2 | slot 2)", "digits(slot 2 | block 2 | lane 32)",
         CROFT_LAYOUT_CLUSTER},
        {"digits(slot 3 | lane 5)", "digits(lane 5 | slot 3)", CROFT_LAYOUT_SCRATCH},
    };
    croft_context *context = open_context(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        croft_layout *from = read_layout(context, rows[i].from);
        croft_layout *to = read_layout(context, rows[i].to);
        croft_layout_class found = CROFT_LAYOUT_FORWARD, known = class_by_definition(from, to);
        assert_int_equal(croft_layout_classify(from, to, &found, NULL), CROFT_OK);
        assert_int_equal(found, rows[i].wanted);
        /* Shuffles are written of bits alone: others go through scratch. */
        if (strstr(rows[i].from, "lane 5") == NULL)
            assert_int_equal(found, known);
        croft_layout_free(from);
        croft_layout_free(to);
    }
    croft_context_free(context);
}

static void pairs_that_do_not_fit_are_refused(void **state) {
    (void)state;
    croft_context *context = open_context(NULL);
    croft_layout *a = read_layout(context, "identity(64, slots=2)");
    croft_layout *b = read_layout(context, "identity(128, slots=2)"), *both = a;
    croft_diagnostics *findings = NULL;
    croft_diagnostic first = {.size = sizeof first};
    croft_layout_class found = CROFT_LAYOUT_FORWARD;
    assert_int_equal(croft_layout_classify(a, b, &found, &findings), CROFT_REJECTED);
    assert_int_equal(croft_diagnostics_at(findings, 0, &first), CROFT_OK);
    assert_string_equal(first.slug, "layout-mismatch");
    assert_non_null(strstr(first.message, "identity(128, slots=2)"));
    croft_diagnostics_free(findings);
    assert_int_equal(croft_layout_compose(a, b, &both, &findings), CROFT_REJECTED);
    assert_null(both);
    assert_int_equal(croft_diagnostics_at(findings, 0, &first), CROFT_OK);
    assert_string_equal(first.slug, "layout-composition");
    assert_non_null(strstr(first.message, "identity(64, slots=2)"));
    assert_string_equal(first.found, "identity(128, slots=2)");
    croft_diagnostics_free(findings);
    croft_layout_free(a);
    croft_layout_free(b);
    croft_context_free(context);
}

/* ---- memory ---- */
/* Every call that allocates, with findings and without; the first status that is not wanted. */
static croft_status ask_everything(croft_context *context) {
    croft_layout *outer = NULL, *inner = NULL, *both = NULL, *none = NULL;
    croft_diagnostics *findings = NULL;
    croft_layout_class found;
    char text[100];
    croft_status status =
        croft_layout_parse(context, "digits(slot 2 | lane 12)", &outer, &findings);
    if (status == CROFT_OK)
        status = croft_layout_parse(context, "digits(lane 4 | slot 6)", &inner, NULL);
    if (status == CROFT_OK)
        status = croft_layout_compose(outer, inner, &both, NULL);
    if (status == CROFT_OK)
        status = croft_layout_print(both, NULL, text, sizeof text, NULL);
    if (status == CROFT_OK) {
        status = croft_layout_parse(context, "bts(0, 1)", &none, &findings);
        assert_null(none);
        status = status == CROFT_REJECTED ? CROFT_OK : status;
    }
    croft_diagnostics_free(findings);
    if (status == CROFT_OK) {
        status = croft_layout_classify(outer, both, &found, &findings);
        status = status == CROFT_REJECTED ? CROFT_OK : status;
        croft_diagnostics_free(findings);
    }
    croft_layout_free(outer);
    croft_layout_free(inner);
    croft_layout_free(both);
    return status;
}

static void memory_that_ends_loses_nothing(void **state) {
    (void)state;
    meter m = {0};
    croft_context *context = open_context(&m);
    int64_t held = m.held, failures = 0;
    for (int64_t n = 1;; n++) {
        m.asked = 0;
        m.failing = n;
        croft_status status = ask_everything(context);
        assert_true(status == CROFT_OK || status == CROFT_OUT_OF_MEMORY);
        assert_int_equal(m.held, held);
        failures += status != CROFT_OK;
        if (m.asked < n)
            break;
        m.failing = 0;
        assert_int_equal(ask_everything(context), CROFT_OK);
    }
    assert_true(failures >= 6);
    croft_context_free(context);
    assert_int_equal(m.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_own_what_the_definition_says),
        cmocka_unit_test(printed_layouts_are_read_as_the_same),
        cmocka_unit_test(texts_are_cut_where_the_room_ends),
        cmocka_unit_test(bad_texts_have_findings_with_a_place),
        cmocka_unit_test(numbers_outside_are_misuse),
        cmocka_unit_test(open_extents_reach_as_far_as_the_index),
        cmocka_unit_test(compositions_are_one_after_the_other),
        cmocka_unit_test(classes_say_what_has_to_move),
        cmocka_unit_test(pairs_that_do_not_fit_are_refused),
        cmocka_unit_test(memory_that_ends_loses_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
