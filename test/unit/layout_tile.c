/* Layouts as text: what every spelling means, which spellings a layout has, and where a text that
 * is no layout is refused, why, and with which legal neighbour. The laws of the maps stand in
 * layout_laws.c. */
#include "arena_fixture.h"

#include "layout/tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static layout_tile read(void **state, const char *text) {
    layout_tile tile;
    layout_fault fault = {0};
    fixture *f = *state;
    if (!layout_tile_parse(&f->arena, text, strlen(text), &tile, &fault))
        fail_msg("%s: %s at %zu: %s", text, fault.slug, fault.at, fault.reason);
    if (!layout_tile_check(&f->arena, &tile, &fault))
        fail_msg("%s was read, but: %s", text, fault.reason);
    return tile;
}

/* NULL when the layout has no such spelling. */
static const char *print(void **state, const layout_tile *tile, layout_spelling spelling) {
    base_text out;
    base_text_init(&out, &((fixture *)*state)->arena);
    if (layout_tile_print(&out, tile, spelling))
        return out.bytes;
    assert_int_equal(out.length, 0);
    return NULL;
}

/* ---- spellings ---- */
/* The first text in all spellings, in the order of the enum; "" where it has none. */
static const struct {
    const char *text;
    const char *spelling[LAYOUT_SPELLING_COUNT];
} spellings[] = {
    {"identity(1024, slots=4)",
     {"identity(1024, slots=4)", "bits(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, slots=4)",
      "blocked_cyclic(1024, workers=256, vector=1)",
      "digits(lane 32 | subgroup 8 | slot 4, size=1024)",
      "gf2(lane 1 2 4 8 16 | subgroup 32 64 128 | slot 256 512)", "(256,4):(1,256)",
      "register=[256, 512] lane=[1, 2, 4, 8, 16] warp=[32, 64, 128] block=[]"}},
    {"bits(0, 1)",
     {"identity(4, slots=1)", "bits(0, 1)", "blocked_cyclic(4, workers=4, vector=1)",
      "digits(lane 4, size=4)", "gf2(lane 1 2)", "(4,1):(1,0)",
      "register=[] lane=[1, 2] warp=[] block=[]"}},
    {"bits(3, 4, 5, 0, 1, 2, xor=5, slots=1)",
     {"", "bits(3, 4, 5, 0, 1, 2, xor=5)", "", "", "gf2(lane 8 16 32 1 2 | subgroup 4, xor=5)", "",
      ""}},
    {"bits(8, 9, 0, 1, 2, 3, 4, 5, 6, 7, slots=4)",
     {"", "bits(8, 9, 0, 1, 2, 3, 4, 5, 6, 7, slots=4)",
      "blocked_cyclic(1024, workers=256, vector=4)",
      "digits(slot 4 | lane 32 | subgroup 8, size=1024)",
      "gf2(lane 4 8 16 32 64 | subgroup 128 256 512 | slot 1 2)", "(256,4):(4,1)",
      "register=[1, 2] lane=[4, 8, 16, 32, 64] warp=[128, 256, 512] block=[]"}},
    {"blocked_cyclic(4096, workers=256, vector=4)",
     {"", "bits(8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, slots=16)",
      "blocked_cyclic(4096, workers=256, vector=4)",
      "digits(slot 4 | lane 32 | subgroup 8 | slot 4, size=4096)",
      "gf2(lane 4 8 16 32 64 | subgroup 128 256 512 | slot 1 2 1024 2048)",
      "(256,(4,4)):(4,(1,1024))",
      "register=[1, 2, 1024, 2048] lane=[4, 8, 16, 32, 64] warp=[128, 256, 512] block=[]"}},
    {"blocked_cyclic(1009, workers=32, vector=4, shift=3)",
     {"", "", "blocked_cyclic(1009, workers=32, vector=4, shift=3)",
      "digits(slot 4 | lane 32 | slot 8, size=1009, shift=3)", "", "", ""}},
    {"blocked_cyclic(1009, workers=7, vector=2, chunks=step)",
     {"", "", "blocked_cyclic(1009, workers=7, vector=2, chunks=step)",
      "digits(slot 2 | lane 7 | step 73, size=1009)", "", "", ""}},
    {"blocked_cyclic(*, workers=64, vector=4, shift=1, chunks=step, subgroup=16)",
     {"", "", "blocked_cyclic(*, workers=64, vector=4, shift=1, chunks=step, subgroup=16)",
      "digits(slot 4 | lane 16 | subgroup 4 | step *, size=*, shift=1)", "", "", ""}},
    {"identity(96, slots=3)",
     {"identity(96, slots=3)", "", "blocked_cyclic(96, workers=32, vector=1)",
      "digits(lane 32 | slot 3, size=96)", "", "(32,3):(1,32)", ""}},
    {"digits(lane 4 @8 | slot 2; lane 8 @1, size=(7, 8))",
     {"", "", "", "digits(lane 4 @8 | slot 2; lane 8 @1, size=(7, 8))", "", "", ""}},
    {"digits(lane 8 | slot 4; lane 4 | group *)",
     {"", "", "", "digits(lane 8 | slot 4; lane 4 | group *, size=(32, *))", "", "", ""}},
    {"digits(lane 8 | step *, size=100)",
     {"", "", "blocked_cyclic(100, workers=8, vector=1, chunks=step)",
      "digits(lane 8 | step 13, size=100)", "", "", ""}},
    {"digits(lane 8; replicate lane 4)",
     {"", "", "", "digits(lane 8; replicate lane 4, size=8)", "gf2(lane 1 2 4 0 0)",
      "((8,4),1):((1,0),0)", "register=[] lane=[1, 2, 4, 0, 0] warp=[] block=[]"}},
    {"digits(slot 2 | block 4)",
     {"", "", "", "digits(slot 2 | block 4, size=8)", "gf2(lane | block 2 4 | slot 1)", "",
      "register=[1] lane=[] warp=[] block=[2, 4]"}},
    {"digits(lane 4 | group 2)", {"", "", "", "digits(lane 4 | group 2, size=8)", "", "", ""}},
    {"((2,2,2,2,2,2,2,2,2,2),(2,2,2,2,2)):((1,8,64,512,4096,2,16,128,1024,8192),(4,32,256,2048,"
     "16384))", /* more digits than an axis has */
     {"", "bits(0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, slots=32)", "",
      "digits(lane 2 | subgroup 2 | slot 2 | lane 2 | subgroup 2 | slot 2 | lane 2 | subgroup 2 | "
      "slot 2 | lane 2 | subgroup 2 | slot 2 | lane 2 | subgroup 2 | slot 2, size=32768)",
      "gf2(lane 1 8 64 512 4096 | subgroup 2 16 128 1024 8192 | slot 4 32 256 2048 16384)",
      "((2,2,2,2,2,2,2,2,2,2),(2,2,2,2,2)):((1,8,64,512,4096,2,16,128,1024,8192),(4,32,256,2048,"
      "16384))",
      "register=[4, 32, 256, 2048, 16384] lane=[1, 8, 64, 512, 4096] warp=[2, 16, 128, 1024, "
      "8192] block=[]"}},
    {"digits(replicate lane 32)", {"", "", "", "digits(replicate lane 32)", "", "", ""}},
    {"digits(none)",
     {"identity(1, slots=1)", "", "blocked_cyclic(1, workers=1, vector=1)", "digits(none, size=1)",
      "gf2(lane)", "(1,1):(0,0)", "register=[] lane=[] warp=[] block=[]"}},
    {"gf2(lane 1 2 4 8 16 | slot 33, xor=0x3f)",
     {"", "", "", "", "gf2(lane 1 2 4 8 16 | slot 33, xor=63)", "", ""}},
    {"gf2(lane 1 3)",
     {"", "", "", "", "gf2(lane 1 3)", "", "register=[] lane=[1, 3] warp=[] block=[]"}},
    {"gf2(lane 1 2 4 8 16 32)",
     {"", "", "blocked_cyclic(64, workers=64, vector=1, subgroup=64)", "digits(lane 64, size=64)",
      "gf2(lane 1 2 4 8 16 32)", "", "register=[] lane=[1, 2, 4, 8, 16, 32] warp=[] block=[]"}},
    {"gf2(slot 1|lane 1)",
     {"", "", "", "", "gf2(lane 1 | slot 1)", "", "register=[1] lane=[1] warp=[] block=[]"}},
    {"register = [[32]], lane = [[1], [2], [4], [8], [16]]",
     {"identity(64, slots=2)", "bits(0, 1, 2, 3, 4, 5, slots=2)",
      "blocked_cyclic(64, workers=32, vector=1)", "digits(lane 32 | slot 2, size=64)",
      "gf2(lane 1 2 4 8 16 | slot 32)", "(32,2):(1,32)",
      "register=[32] lane=[1, 2, 4, 8, 16] warp=[] block=[]"}},
    {"(4,8):(1,4)",
     {"identity(32, slots=8)", "bits(0, 1, 2, 3, 4, slots=8)",
      "blocked_cyclic(32, workers=4, vector=1)", "digits(lane 4 | slot 8, size=32)",
      "gf2(lane 1 2 | slot 4 8 16)", "(4,8):(1,4)",
      "register=[4, 8, 16] lane=[1, 2] warp=[] block=[]"}},
    {" ( ( _4 , 8 ) , ( 2 , 2 ) ) : ( ( 16 , 1 ) , ( _8 , 64 ) ) ",
     {"", "bits(2, 3, 4, 5, 0, 1, 6, slots=4)", "", /* thread 4 and 8, 16 and 1 */
      "digits(lane 8 @4 | slot 2 | lane 4 @1 | slot 2, size=128)",
      "gf2(lane 16 32 1 2 4 | slot 8 64)", "((4,8),(2,2)):((16,1),(8,64))",
      "register=[8, 64] lane=[16, 32, 1, 2, 4] warp=[] block=[]"}},
    {"(6,1):(1,0)",
     {"identity(6, slots=1)", "", "blocked_cyclic(6, workers=6, vector=1)",
      "digits(lane 6, size=6)", "", "(6,1):(1,0)", ""}},
    {"32:1",
     {"identity(32, slots=1)", "bits(0, 1, 2, 3, 4)", "blocked_cyclic(32, workers=32, vector=1)",
      "digits(lane 32, size=32)", "gf2(lane 1 2 4 8 16)", "(32,1):(1,0)",
      "register=[] lane=[1, 2, 4, 8, 16] warp=[] block=[]"}},
};

static void a_layout_prints_in_every_spelling_that_it_has(void **state) {
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        layout_tile tile = read(state, spellings[i].text);
        for (int s = 0; s < LAYOUT_SPELLING_COUNT; s++) {
            const char *text = print(state, &tile, (layout_spelling)s);
            const char *wanted = spellings[i].spelling[s];
            if (strcmp(text == NULL ? "" : text, wanted) != 0)
                fail_msg("%s as %s: `%s`, not `%s`", spellings[i].text,
                         layout_spelling_name((layout_spelling)s), text == NULL ? "" : text,
                         wanted);
            if (text == NULL)
                continue;
            layout_tile back = read(state, text);
            if (!layout_tile_equal(&tile, &back))
                fail_msg("%s reads back as another function", text);
        }
    }
}

static void the_shortest_spelling_is_the_first(void **state) {
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        layout_tile tile = read(state, spellings[i].text);
        base_text out;
        int s = 0;
        base_text_init(&out, &((fixture *)*state)->arena);
        layout_tile_print_shortest(&out, &tile);
        while (spellings[i].spelling[s][0] == '\0')
            s++;
        assert_string_equal(out.bytes, spellings[i].spelling[s]);
    }
}

/* ---- refusals ---- */
static const struct {
    const char *text, *slug;
    size_t at;
    const char *neighbour;
} refused[] = {
    {"", "layout-syntax", 0, ""},
    {"=", "layout-syntax", 0, ""},
    {"idenity(64)", "layout-name", 0, "identity(64)"},
    {"warp(64)", "layout-name", 0, ""},
    {"block(64, workers=32)", "layout-name", 0, "blocked_cyclic(64, workers=32)"},
    {"identity", "layout-syntax", 8, ""},
    {"identity(64", "layout-syntax", 11, "identity(64)"},
    {"identity(64)x", "layout-syntax", 12, "identity(64)"},
    {"identity()", "layout-syntax", 9, ""},
    {"identity(slots=2)", "layout-argument", 16, ""},
    {"identity(64, 2)", "layout-argument", 13, ""},
    {"identity(64, slot=2)", "layout-argument", 13, "identity(64, slots=2)"},
    {"identity(64, slots=2, slots=2)", "layout-argument", 22, ""},
    {"identity(64, slots=)", "layout-syntax", 19, ""},
    {"identity(64, slots=0)", "layout-argument", 19, "identity(64, slots=1)"},
    {"identity(64, slots=3)", "layout-slots", 19, "identity(64, slots=2)"},
    {"identity(64, slots=65)", "layout-slots", 19, "identity(64, slots=64)"},
    {"identity(0)", "layout-size", 9, "identity(1)"},
    {"identity(100, slots=2)", "layout-threads", 9, "identity(128, slots=2)"},
    {"identity(99999999999999999999)", "layout-limit", 9, ""},
    {"bits(0, 1, 1)", "layout-duplicate-bit", 11, "bits(0, 1, 2)"},
    {"bits(2, 2, 2)", "layout-duplicate-bit", 8, "bits(2, 0, 1)"},
    {"bits(0, 1, 5)", "layout-bijection", 11, "bits(0, 1, 2)"},
    {"bits(0, 1, -2)", "layout-syntax", 11, ""},
    {"bits(0, 1, slots=3)", "layout-slots", 17, "bits(0, 1, slots=2)"},
    {"bits(0, 1, 2, slots=5)", "layout-slots", 20, "bits(0, 1, 2, slots=4)"},
    {"bits(0, 1, slots=8)", "layout-slots", 17, "bits(0, 1, slots=4)"},
    {"bits(0, 1, xor=4)", "layout-mask", 15, "bits(0, 1, xor=0)"},
    {"bits(0, 1, xor=7)", "layout-mask", 15, "bits(0, 1, xor=3)"},
    {"bits(0, xor=1, 1)", "layout-syntax", 15, ""},
    {"bits(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, "
     "24)",
     "layout-limit", 91,
     "bits(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23)"},
    {"blocked_cyclic(4096, vector=4)", "layout-argument", 29,
     "blocked_cyclic(4096, vector=4, workers=32)"},
    {"blocked_cyclic(4096, workers=50, vector=4)", "layout-threads", 29,
     "blocked_cyclic(4096, workers=64, vector=4)"},
    {"blocked_cyclic(4096, workers=40, vector=4)", "layout-threads", 29,
     "blocked_cyclic(4096, workers=32, vector=4)"},
    {"blocked_cyclic(4096, workers=32, vector=0)", "layout-argument", 40,
     "blocked_cyclic(4096, workers=32, vector=1)"},
    {"blocked_cyclic(0, workers=32, vector=4)", "layout-size", 15,
     "blocked_cyclic(1, workers=32, vector=4)"},
    {"blocked_cyclic(4096, workers=32, vector=4, shift=4)", "layout-shift", 49,
     "blocked_cyclic(4096, workers=32, vector=4, shift=3)"},
    {"blocked_cyclic(4096, workers=32, chunks=lane)", "layout-argument", 40,
     "blocked_cyclic(4096, workers=32, chunks=slot)"},
    {"blocked_cyclic(*, workers=32, vector=4)", "layout-slots", 15,
     "blocked_cyclic(*, workers=32, vector=4, chunks=step)"},
    {"blocked_cyclic(9223372036854775807, workers=32, vector=4)", "layout-limit", 44, ""},
    {"digits()", "layout-digits", 7, ""},
    {"digits(warp 4)", "layout-digits", 7, ""},
    {"digits(lane 4 | )", "layout-digits", 16, ""},
    {"digits(lane 0)", "layout-digits", 12, ""},
    {"digits(lane *)", "layout-digits", 7, ""},
    {"digits(step * | lane 4)", "layout-digits", 7, ""},
    {"digits(slot 2 | lane 4 @8)", "layout-stride", 16, "digits(slot 2 | lane 4)"},
    {"digits(lane 4 @8 | lane 8)", "layout-stride", 19, "digits(lane 4 | lane 8)"},
    {"digits(lane 4; lane 2 @4 | lane 2 @4)", "layout-stride", 27,
     "digits(lane 4; lane 2 @4 | lane 2)"},
    {"digits(lane 4; replicate lane 4 @1)", "layout-stride", 25,
     "digits(lane 4; replicate lane 4)"},
    {"digits(step *; step 4, size=(*, 4))", "layout-stride", 15, ""},
    {"digits(step 4; replicate step *)", "layout-digits", 25, ""},
    {"digits(lane 8 | slot 4, size=33)", "layout-size", 29, "digits(lane 8 | slot 4, size=32)"},
    {"digits(lane 8 | slot 4, size=0)", "layout-size", 29, "digits(lane 8 | slot 4, size=1)"},
    {"digits(slot 4 | lane 8, size=32, shift=1)", "layout-size", 29,
     "digits(slot 4 | lane 8, size=31, shift=1)"},
    {"digits(lane 8 | slot 4, shift=1)", "layout-shift", 30, "digits(lane 8 | slot 4, shift=0)"},
    {"digits(slot 4 | lane 8, shift=4)", "layout-shift", 30, "digits(slot 4 | lane 8, shift=3)"},
    {"digits(lane 8; slot 4, size=8)", "layout-length", 28, "digits(lane 8; slot 4, size=(8, 4))"},
    {"digits(lane 8, size=(8, 4))", "layout-length", 20, "digits(lane 8, size=8)"},
    {"digits(lane 8, size=8, size=8)", "layout-argument", 23, ""},
    {"digits(lane 8, sizes=8)", "layout-argument", 15, "digits(lane 8, size=8)"},
    {"digits(lane 8, shft=0)", "layout-argument", 15, "digits(lane 8, shift=0)"},
    {"digits(none; none; none; none; none)", "layout-rank", 31, ""},
    {"digits(lane 4611686018427387904; slot 4)", "layout-limit", 33, ""},
    {"digits(lane 3 | step *, size=9223372036854775807)", "layout-limit", 29, ""},
    {"digits(slot 4 | step *, size=9223372036854775807, shift=3)", "layout-limit", 29, ""},
    {"gf2(lane 1 2 4 4)", "", 0, ""}, /* replicas are legal */
    {"gf2(lane 1 4)", "layout-bijection", 11, "gf2(lane 1 2)"},
    {"gf2(lane 1 2 3 | slot 8)", "layout-bijection", 13, "gf2(lane 1 2 4 | slot 8)"},
    {"gf2(lane 1 | lane 2)", "layout-argument", 13, ""},
    {"gf2(warp 1)", "layout-syntax", 4, ""},
    {"gf2(lane 1 2, xor=4)", "layout-mask", 18, "gf2(lane 1 2, xor=0)"},
    {"gf2(lane 1 2, sor=3)", "layout-argument", 14, "gf2(lane 1 2, xor=3)"},
    {"gf2(lane 16777216)", "layout-limit", 9, ""},
    {"lane=[1, 2] warp=[8]", "layout-bijection", 18, "lane=[1, 2] warp=[4]"},
    {"lane=[[0, 1]]", "layout-rank", 8, ""},
    {"lane=[1 2]", "layout-syntax", 8, ""},
    {"lane=[1] slot=[2]", "layout-syntax", 9, ""},
    {"lane=[1] lane=[2]", "layout-argument", 9, ""},
    {"(4,8):(1)", "layout-length", 8, ""},
    {"(4,8):(1,4,8)", "layout-length", 11, ""},
    {"(4,(8,2)):(1,4)", "layout-length", 13, ""},
    {"(4,8)", "layout-syntax", 5, ""},
    {"(4,8:(1,4)", "layout-syntax", 4, ""},
    {"(4,8):(1,5)", "layout-bijection", 9, "(4,8):(1,4)"},
    {"(4,8):(2,4)", "layout-bijection", 7, "(4,8):(1,4)"},
    {"(4,8):(1,2)", "layout-bijection", 9, "(4,8):(1,4)"},
    {"(4,0):(1,4)", "layout-size", 3, "(4,1):(1,4)"},
    {"(40,1):(1,0)", "layout-threads", 1, "(32,1):(1,0)"},
    {"(2,2,2):(1,2,4)", "layout-rank", 5, ""},
    {"((3,2,2,2,2,2,2),(2,2,2,2,2,2,2)):((1,6,24,96,384,1536,6144),(3,12,48,192,768,3072,12288))",
     "layout-threads", 10, ""},
    {"((1,2,2,2,2,2,3,2,2,2),(2,2,2,2,2,2,2,2,2)):((0,1,4,16,64,256,1024,6144,24576,98304),"
     "(2,8,32,128,512,3072,12288,49152,196608))",
     "layout-limit", 0, ""},
    {"((((((((((((((((((1", "layout-nesting", 16, ""},
};

static void a_tile_of_one_axis_is_digits_and_an_exclusive_or(void **state) {
    static const struct {
        const char *tile, *axis;
    } cases[] = {
        {"bits(3, 4, 5, 0, 1, 2)", "lane 4 @8 | subgroup 2 | lane 8 @1"},
        {"bits(1, 0, 2, 3, 4, xor=3)", "lane 2 @2 | lane 2 @1 | lane 8 @4 xor 3"},
        {"identity(1024, slots=4)", "lane 32 | subgroup 8 | slot 4"},
        {"blocked_cyclic(1009, workers=64, vector=4)", "slot 4 | lane 32 | subgroup 2 | slot 4"},
        {"digits(lane 8 | slot 2; replicate lane 4 @8)", "lane 8 | slot 2"},
        {"gf2(lane 1 2 4 8 16 | slot 33)", NULL},
        {"blocked_cyclic(1009, workers=32, vector=4, shift=3)", NULL},
        {"digits(lane 4; lane 8)", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile tile = read(state, cases[i].tile), back;
        layout_axis axis, wanted;
        size_t used = 0;
        const char *reason = "";
        if (layout_tile_to_axis(&tile, &axis) != (cases[i].axis != NULL))
            fail_msg("%s", cases[i].tile);
        if (cases[i].axis == NULL)
            continue;
        assert_true(
            layout_axis_parse(cases[i].axis, strlen(cases[i].axis), &wanted, &used, &reason));
        if (!layout_axis_equal(&axis, &wanted))
            fail_msg("%s is not %s", cases[i].tile, cases[i].axis);
        int64_t threads = layout_tile_threads(&tile), lanes = threads < 32 ? threads : 32;
        assert_true(layout_tile_of_axis(&axis, tile.size[0], lanes, threads / lanes, &back));
        if (!layout_tile_equal(&tile, &back))
            fail_msg("%s does not come back", cases[i].tile);
    }
}

static void texts_are_refused_where_they_are_wrong_with_a_legal_neighbour(void **state) {
    fixture *f = *state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *text = refused[i].text;
        layout_tile tile;
        layout_fault fault = {0};
        bool ok = layout_tile_parse(&f->arena, text, strlen(text), &tile, &fault);
        if (ok != (refused[i].slug[0] == '\0'))
            fail_msg("%s was %s", text, ok ? "accepted" : "refused");
        if (ok)
            continue;
        if (strcmp(fault.slug, refused[i].slug) != 0 || fault.at != refused[i].at ||
            strcmp(fault.neighbour, refused[i].neighbour) != 0)
            fail_msg("%s: %s at %zu: %s; neighbour `%s`", text, fault.slug, fault.at, fault.reason,
                     fault.neighbour);
        assert_true(fault.reason[0] != '\0');
        assert_true(fault.at + fault.length <= strlen(text));
        if (fault.neighbour[0] != '\0')
            read(state, fault.neighbour);
    }
}

static void every_fault_of_the_table_has_a_text(void **state) {
    (void)state;
    static const char *const slugs[] = {
#define FAULT(id, slug, doc) slug,
#include "layout/faults.def"
#undef FAULT
    };
    for (size_t i = 0; i < sizeof slugs / sizeof slugs[0]; i++) {
        bool found = strcmp(slugs[i], "layout-geometry") == 0 || /* of kernels, below */
                     strcmp(slugs[i], "layout-mismatch") == 0;   /* of conversions */
        for (size_t k = 0; k < sizeof refused / sizeof refused[0]; k++)
            found = found || strcmp(refused[k].slug, slugs[i]) == 0;
        if (!found)
            fail_msg("no text is refused with %s", slugs[i]);
    }
}

static void damaged_tiles_are_refused(void **state) {
    fixture *f = *state;
    layout_fault fault;
    layout_tile tile = read(state, "digits(slot 4 | lane 8 | slot 2, size=60, shift=3)");
    layout_tile bits = read(state, "gf2(lane 1 2 | slot 4)");
    static const struct {
        const char *slug;
        int what;
    } damages[] = {{"layout-size", 0},   {"layout-size", 1},   {"layout-shift", 2},
                   {"layout-shift", 3},  {"layout-stride", 4}, {"layout-digits", 5},
                   {"layout-limit", 6},  {"layout-rank", 7},   {"layout-bijection", 8},
                   {"layout-mask", 9},   {"layout-mask", 10},  {"layout-size", 11},
                   {"layout-limit", 12}, {"layout-digits", 13}};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        layout_tile d = damages[i].what < 8 || damages[i].what == 13 ? tile : bits;
        switch (damages[i].what) {
        case 0:
            d.size[0] = 62;
            break;
        case 1:
            d.size[0] = -1;
            break;
        case 2:
            d.shift[0] = 4;
            break;
        case 3:
            d.shift[0] = -1;
            break;
        case 4:
            d.axis[0].digits[2].stride = 3;
            break;
        case 5:
            d.axis[0].digits[1].radix = -2;
            break;
        case 6:
            d.axis[0].count = LAYOUT_MAX_DIGITS + 1;
            break;
        case 7:
            d.rank = 5;
            break;
        case 8:
            d.bits.column[1] = 5;
            d.bits.column[0] = 1;
            break;
        case 9:
            d.bits.column[1] = 8;
            break;
        case 10:
            d.bits.constant = 8;
            break;
        case 11:
            d.size[0] = 4;
            break;
        case 12:
            d.bits.slot_bits = 23;
            break;
        case 13:
            d.axis[0].exclusive_or = 1;
            break;
        }
        bool ok = layout_tile_check(&f->arena, &d, &fault);
        if (ok || strcmp(fault.slug, damages[i].slug) != 0)
            fail_msg("damage %d: %s", damages[i].what, ok ? "accepted" : fault.slug);
    }
    const layout_tile impossible[] = {
        layout_tile_identity(64, 3),
        layout_tile_identity(100, 2),
        layout_tile_identity(0, 1),
        layout_tile_blocked_cyclic(64, 48, 1, 0, LAYOUT_SLOT, 32),
        layout_tile_blocked_cyclic(64, 32, 2, 2, LAYOUT_SLOT, 32),
        layout_tile_blocked_cyclic(0, 32, 2, 0, LAYOUT_SLOT, 32),
        layout_tile_blocked_cyclic(INT64_MAX, 32, 2, 1, LAYOUT_STEP, 32),
        layout_tile_blocked_cyclic(INT64_MAX, 32, 2, 0, LAYOUT_STEP, 32),
    };
    for (size_t i = 0; i < sizeof impossible / sizeof impossible[0]; i++)
        assert_false(layout_tile_check(&f->arena, &impossible[i], &fault));
}

static void kernels_ask_for_bounded_geometry(void **state) {
    static const struct {
        const char *text, *neighbour; /* NULL: allowed */
    } cases[] = {
        {"bits(0, 1, 2, 3, 4)", NULL},
        {"identity(32768, slots=32)", NULL},
        {"bits(0, 1)", "identity(32, slots=1)"},
        {"identity(64, slots=4)", "identity(128, slots=4)"},
        {"identity(2048, slots=1)", "identity(1024, slots=1)"},
        {"identity(65536, slots=64)", "identity(32768, slots=32)"},
        {"identity(96, slots=1)", ""},
        {"identity(96, slots=3)", ""},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile tile = read(state, cases[i].text);
        layout_fault fault = {0};
        bool ok = layout_tile_check_kernel(&f->arena, &tile, &fault);
        assert_int_equal(ok, cases[i].neighbour == NULL);
        if (ok)
            continue;
        assert_string_equal(fault.slug, "layout-geometry");
        assert_string_equal(fault.neighbour, cases[i].neighbour);
    }
}

/* ---- garbage ---- */
static void megabytes_of_garbage_are_refused_at_once(void **state) {
    enum { LENGTH = 10 << 20 };
    static const char *const units[] = {
        "bits(0,",
        "0,",
        "(",
        "digits(",
        "digits(lane 2 | ",
        "lane 2|",
        "lane=[",
        "lane=[[1",
        "1,1,",
        "(1,(1,",
        "gf2(lane 1 ",
        "1 ",
        " ",
        "9",
        "identity",
        "slots=",
        "\xff\xfe",
        "_",
        "bits(0, slots=1, slots=",
        "; none",
    };
    char *text = malloc(LENGTH);
    clock_t start = clock();
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        for (int prefix = 0; prefix < 5; prefix++) {
            static const char *const prefixes[] = {"", "bits(", "digits(", "gf2(lane ", "lane=["};
            size_t head = strlen(prefixes[prefix]), unit = strlen(units[i]);
            memcpy(text, prefixes[prefix], head);
            for (size_t at = head; at < LENGTH; at++)
                text[at] = units[i][(at - head) % unit];
            base_arena arena;
            jmp_buf exhausted;
            layout_tile tile;
            layout_fault fault = {0};
            base_arena_init(&arena, base_allocator_default(), &exhausted);
            assert_false(layout_tile_parse(&arena, text, LENGTH, &tile, &fault));
            assert_string_equal(fault.neighbour, "");
            assert_true(fault.at + fault.length <= LENGTH);
            base_arena_free(&arena);
        }
    }
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 60.0);
    free(text);
    (void)state;
}

/* Every text with one byte lost, doubled or changed is read or refused, never worse; a neighbour
 * is always legal. */
static void damaged_texts_are_read_or_refused(void **state) {
    static const char changes[] = "0193(),:=;|@* []lx_-\n\t\xff";
    fixture *f = *state;
    char text[256];
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const char *whole = spellings[i].text;
        size_t length = strlen(whole);
        for (size_t at = 0; at < length; at++) {
            for (size_t change = 0; change < sizeof changes; change++) {
                layout_tile tile;
                layout_fault fault = {0};
                memcpy(text, whole, length + 1);
                size_t now = length;
                if (changes[change] == '\0')
                    memmove(text + at, text + at + 1, now-- - at);
                else
                    text[at] = changes[change];
                if (layout_tile_parse(&f->arena, text, now, &tile, &fault)) {
                    if (!layout_tile_check(&f->arena, &tile, &fault))
                        fail_msg("%.*s was read, but: %s", (int)now, text, fault.reason);
                    continue;
                }
                assert_true(fault.at + fault.length <= now);
                if (fault.neighbour[0] != '\0')
                    read(state, fault.neighbour);
            }
        }
    }
}

/* What was read prints in some spelling, and every spelling is the same function. */
static void check_spellings_of(void **state, const layout_tile *tile, const char *text) {
    int has = 0;
    for (int s = 0; s < LAYOUT_SPELLING_COUNT; s++) {
        const char *printed = print(state, tile, (layout_spelling)s);
        if (printed == NULL)
            continue;
        layout_tile back = read(state, printed);
        if (!layout_tile_equal(tile, &back) || !layout_tile_equal(&back, tile))
            fail_msg("%s prints as %s, another function", text, printed);
        has++;
    }
    if (has == 0)
        fail_msg("%s has no spelling", text);
}

/* What texts are damaged with; "" takes away. */
static const char *const pieces[] = {
    /* clang-format off */
    "0", "1", "2", "3", "4", "5", "8", "16", "32", "64", "96", "4294967296",
    "4611686018427387904", "9223372036854775807", "*", "@", " @2", " @8",
    "lane", "slot", "subgroup", "step *", "group 3", "block 2", " | ", "; ", ", ",
    "(", ")", ":", "=", "[", "]", "replicate lane 2", "none", "size=", "shift=1", "xor=1",
    "slots=2", "chunks=step", "vector=4", "subgroup=8", "", "", "", ""
    /* clang-format on */
};

enum { DAMAGED = 512 /* bytes of a damaged text */ };

/* Exchanges one to three pieces of the text, whole numbers or single characters. */
static void damage(char text[DAMAGED], uint64_t random) {
    for (int turns = 1 + (int)(random >> 20) % 3; turns > 0; turns--) {
        char rest[DAMAGED];
        size_t length = strlen(text), at = (size_t)((random >> 24) % (length + 1)), end = at;
        const char *piece = pieces[(random >> 8) % (sizeof pieces / sizeof pieces[0])];
        while (end < length && strchr("0123456789", text[end]) != NULL)
            end++;
        end += end == at && end < length && (random & 1);
        snprintf(rest, sizeof rest, "%s", text + end);
        snprintf(text + at, DAMAGED - at, "%s%.200s", piece, rest);
        random = random * 2862933555777941757u + 3037000493u;
    }
}

static void texts_by_chance_are_refused_or_come_back(void **state) {
    fixture *f = *state;
    uint64_t random = 7;
    int read_count = 0, refused_count = 0;
    for (int i = 0; i < 60000; i++) {
        char text[DAMAGED];
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t r = random >> 16;
        const char *whole = spellings[r % (sizeof spellings / sizeof spellings[0])].text;
        snprintf(text, sizeof text, "%s", whole);
        damage(text, r);
        layout_tile tile;
        layout_fault fault = {0};
        if (layout_tile_parse(&f->arena, text, strlen(text), &tile, &fault)) {
            read_count++;
            if (!layout_tile_check(&f->arena, &tile, &fault))
                fail_msg("%s was read, but: %s", text, fault.reason);
            check_spellings_of(state, &tile, text);
        } else {
            refused_count++;
            assert_true(fault.at + fault.length <= strlen(text));
            if (fault.neighbour[0] != '\0')
                read(state, fault.neighbour);
        }
    }
    if (read_count < 1000 || refused_count < 1000)
        fail_msg("%d read, %d refused", read_count, refused_count);
}

/* ---- counts and equality, where numbers are known ---- */
static void slots_count_live_ones_and_capacity_the_box(void **state) {
    static const struct {
        const char *text;
        int64_t threads, slots, capacity, replication;
    } cases[] = {
        {"blocked_cyclic(8193, workers=256, vector=4)", 256, 33, 36, 1},
        {"blocked_cyclic(8193, workers=256, vector=4, chunks=step)", 256, 4, 4, 1},
        {"blocked_cyclic(1, workers=32, vector=4, shift=3)", 32, 1, 4, 1},
        {"blocked_cyclic(2, workers=32, vector=4, shift=3)", 32, 2, 4, 1},
        {"digits(lane 8 | step 5; replicate lane 2 | slot 3, size=33)", 16, 3, 3, 6},
        {"digits(lane 4 | slot 2; slot 3 | subgroup 4, size=(3, 5))", 16, 3, 6, 1},
        {"digits(slot 4 | step *, size=*)", 1, 4, 4, 1},
        {"digits(slot 4 | lane 4 | slot 2 | step 2, size=29, shift=3)", 4, 8, 8, 1},
        {"digits(slot 4 | lane 4 | slot 2 | step 2, size=30, shift=3)", 4, 8, 8, 1},
        {"digits(slot 4 | lane 4 | slot 3 | step 2, size=13, shift=3)", 4, 4, 12, 1},
        {"digits(slot 4 | lane 4 | slot 3 | step 2, size=14, shift=3)", 4, 5, 12, 1},
        {"gf2(lane 1 2 3 | block 4 0 | slot 8)", 32, 2, 2, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile tile = read(state, cases[i].text);
        assert_int_equal(layout_tile_threads(&tile), cases[i].threads);
        assert_int_equal(layout_tile_slots(&tile), cases[i].slots);
        assert_int_equal(layout_tile_capacity(&tile), cases[i].capacity);
        assert_int_equal(layout_tile_replication(&tile), cases[i].replication);
    }
}

/* Equality needs no enumeration: these have up to 2^62 indices, or any number. */
static void equality_is_of_functions_of_any_size(void **state) {
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"digits(lane 8 | slot 4)", "digits(lane 2 | lane 4 | slot 1 | slot 4)", true},
        {"digits(lane 8 | slot 4)", "digits(slot 4 | lane 8)", false},
        {"digits(lane 8 | slot 4)", "digits(lane 8 | slot 4, size=31)", false},
        {"digits(lane 8 | step 576460752303423488)",
         "digits(lane 8 | step 4 | step 144115188075855872)", true},
        {"digits(lane 8 | step 576460752303423488)",
         "digits(lane 8 | step 4 @144115188075855872 | step 144115188075855872 @1)", false},
        {"digits(slot 4 | lane 8 | step *)", "digits(slot 2 | slot 2 | lane 8 | step *)", true},
        {"digits(slot 4 | lane 8 | step *)", "digits(slot 4 | lane 8 | step 2 | step *)", true},
        {"digits(slot 4 | lane 8 | step *)", "digits(slot 4 | lane 8 | step *, shift=1)", false},
        {"digits(slot 4 | step *)", "digits(slot 2 @2 | slot 2 @1 | step *)", false},
        {"digits(slot 4 | lane 2, size=1, shift=2)",
         "digits(slot 2 @2 | slot 2 @1 | lane 2, size=1, shift=1)", true},
        {"digits(lane 2 | slot 2 @1 | slot 2 @2, size=2)",
         "digits(lane 2 | slot 2 @2 | slot 2 @1, size=2)", true},
        {"digits(lane 2 | slot 2 @1 | slot 2 @2, size=3)",
         "digits(lane 2 | slot 2 @2 | slot 2 @1, size=3)", false},
        {"digits(lane 4, size=3)", "digits(lane 4, size=4)", false},
        {"digits(lane 4 | slot 3, size=5)", "digits(lane 4 | slot 2, size=5)", false},
        {"digits(lane 4; replicate lane 2 | slot 3)",
         "digits(lane 4; replicate slot 3 | lane 2 @4)", true},
        {"digits(lane 4; replicate lane 2)", "digits(lane 2 @4 | lane 2 @2; replicate lane 2 @1)",
         false},
        {"digits(lane 4; slot 8)", "digits(lane 2 | lane 2; slot 2 | slot 4)", true},
        {"digits(lane 4; slot 8)", "digits(slot 8; lane 4)", false},
        {"digits(lane 4; slot 2, size=(*, *))", "digits(lane 2; slot 2 | lane 2 @2, size=(*, *))",
         false},
        {"digits(lane 4)", "bits(0, 1)", true},
        {"digits(lane 4)", "bits(0, 1, xor=1)", false},
        {"digits(lane 4; replicate slot 2)", "gf2(lane 1 2 | slot 0)", true},
        {"digits(lane 4; replicate slot 2)", "gf2(lane 1 2 | slot 1)", false},
        {"digits(lane 4, size=3)", "bits(0, 1)", false},
        {"digits(lane 4 | step 2)", "bits(0, 1, 2, slots=2)", false},
        {"digits(lane 8 | slot 4, size=*)", "digits(lane 2 | lane 4 | slot 4, size=*)", true},
        {"digits(lane 8 | slot 4, size=*)", "digits(lane 8 | slot 4)", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        layout_tile a = read(state, cases[i].a), b = read(state, cases[i].b);
        if (layout_tile_equal(&a, &b) != cases[i].equal ||
            layout_tile_equal(&b, &a) != cases[i].equal)
            fail_msg("%s and %s: should be %s", cases[i].a, cases[i].b,
                     cases[i].equal ? "equal" : "different");
        assert_true(layout_tile_equal(&a, &a));
        layout_tile canonical = a;
        layout_tile_canonicalise(&canonical);
        assert_true(layout_tile_equal(&a, &canonical));
    }
}

static void runtime_sizes_have_an_exact_inverse_without_bound(void **state) {
    layout_tile tile =
        read(state, "blocked_cyclic(*, workers=256, vector=4, shift=3, chunks=step)");
    const int64_t indices[] = {0, 1, 1020, 1021, 1000003, INT64_MAX - 3};
    for (int i = 0; i < 6; i++) {
        layout_position position;
        int64_t index[LAYOUT_MAX_RANK] = {indices[i]}, back[LAYOUT_MAX_RANK] = {-1};
        assert_true(layout_tile_owner(&tile, index, &position));
        int64_t place = indices[i] + 3;
        assert_int_equal(position.number[LAYOUT_SLOT], place % 4);
        assert_int_equal(position.number[LAYOUT_LANE], place / 4 % 32);
        assert_int_equal(position.number[LAYOUT_SUBGROUP], place / 128 % 8);
        assert_int_equal(position.number[LAYOUT_STEP], place / 1024);
        assert_true(layout_tile_logical(&tile, &position, back));
        assert_int_equal(back[0], indices[i]);
    }
    int64_t beyond[LAYOUT_MAX_RANK] = {INT64_MAX};
    layout_position position;
    assert_false(layout_tile_owner(&tile, beyond, &position));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layout_prints_in_every_spelling_that_it_has),
        cmocka_unit_test(the_shortest_spelling_is_the_first),
        cmocka_unit_test(a_tile_of_one_axis_is_digits_and_an_exclusive_or),
        cmocka_unit_test(texts_are_refused_where_they_are_wrong_with_a_legal_neighbour),
        cmocka_unit_test(every_fault_of_the_table_has_a_text),
        cmocka_unit_test(damaged_tiles_are_refused),
        cmocka_unit_test(kernels_ask_for_bounded_geometry),
        cmocka_unit_test(megabytes_of_garbage_are_refused_at_once),
        cmocka_unit_test(damaged_texts_are_read_or_refused),
        cmocka_unit_test(texts_by_chance_are_refused_or_come_back),
        cmocka_unit_test(slots_count_live_ones_and_capacity_the_box),
        cmocka_unit_test(equality_is_of_functions_of_any_size),
        cmocka_unit_test(runtime_sizes_have_an_exact_inverse_without_bound),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
