/* Programs by chance: puts, gets and syncs in loops and branches, judged by the verifier (hazards,
 * without tokens) and by the simulator, which share no code.
 *
 *     what the verifier accepts, the simulator runs without a finding, however often loops run and
 *     whichever way branches go
 *     what it refuses, the simulator finds in one of these runs; but the verifier may refuse more
 *     where an index or a block comes from a parameter, and where a choice stands in a loop, which
 *     it takes to be another in each iteration
 *
 *     CROFT_SEED=7 unit_hazards_by_chance     programs of the fixed seed, then of another one
 *
 * tier: check-long (twenty times as many programs)
 */
#include "arena_fixture.h"

#include "sim/thread.h"
#include "text/ir_parse.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 1500, CHOICES = 4, RUNS = 81, LANES = 8, SUBGROUP = 4, CELLS = 40 };

static int programs = PROGRAMS;

/* ---- texts ---- */
typedef struct writer {
    base_text out;
    uint64_t random;
    int values, choices, statements;
    bool cluster;
    int counted; /* 1 + the number of the innermost loop with constant bounds; 0: none */
    int loops;   /* around what is written */
    bool loose;  /* an index or a block comes from a parameter, or a choice stands in a loop */
} writer;

static int pick(writer *w, int below) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)below);
}

static void indent(writer *w, int depth) {
    for (int i = 0; i <= depth; i++)
        base_text_string(&w->out, "  ");
}

static const char *const strides[][2] = {{"lane*1", "subgroup*4"}, {"lane*1", ""},
                                         {"lane*2", "subgroup*1"}, {"lane*4", "subgroup*1"},
                                         {"", "subgroup*2"},       {"", ""}};

static void write_index(writer *w, int slots) {
    static const char *const bases[] = {"%c0", "%c0", "%c3", "%c8", "%b"};
    const char *const *stride = strides[pick(w, sizeof strides / sizeof strides[0])];
    bool loose = pick(w, 12) == 0;
    w->loose = w->loose || loose;
    if (w->counted > 0 && pick(w, 2) == 0)
        base_text_format(&w->out, "%%m%d", w->counted - 1);
    else
        base_text_format(&w->out, "%s", loose ? "%o" : bases[pick(w, w->cluster ? 5 : 4)]);
    for (int i = 0; i < 2; i++)
        if (stride[i][0] != '\0')
            base_text_format(&w->out, " + %s", stride[i]);
    if (slots == 2)
        base_text_string(&w->out, pick(w, 2) == 0 ? " + slot*8" : " + slot*1");
}

static void write_access(writer *w, int depth) {
    static const char *const masks[] = {"lane*1 < %c1", "lane*1 + subgroup*4 < %c1",
                                        "lane*1 + subgroup*4 < %c3", "subgroup*4 < %c1"};
    static const char *const blocks[] = {"%c0", "%c1", "%peer", "%peer",
                                         "%o"}; /* o is 0 or 1 there */
    bool put = pick(w, 2) == 0;
    int slots = 1 + (pick(w, 4) == 0), array = pick(w, 2);
    indent(w, depth);
    base_text_format(&w->out, "%%v%d = %s %%s%d[", w->values++, put ? "put" : "get", array);
    write_index(w, slots);
    base_text_format(&w->out, put ? "], %%x%d, %%f%d" : "], %%f%d", put ? slots : array, array);
    if (pick(w, 2) == 0)
        base_text_format(&w->out, " mask=%s", masks[pick(w, 4)]);
    if (w->cluster && pick(w, 4) == 0) {
        int block = pick(w, 40) == 0 ? 4 : pick(w, 4);
        w->loose = w->loose || block == 4;
        base_text_format(&w->out, " block=%s", blocks[block]);
    }
    if (put)
        base_text_format(&w->out, " : token written %%s%d\n", array);
    else
        base_text_format(&w->out, " : f32(%d)\n", slots);
}

static void write_sync(writer *w, int depth) {
    static const char *const scopes[] = {"group", "subgroup", "group", "cluster", "cluster"};
    int array = pick(w, 2);
    indent(w, depth);
    base_text_format(&w->out, "%%v%d = sync %s %%f%d : token published %%s%d\n", w->values++,
                     scopes[pick(w, w->cluster ? 5 : 3)], array, array);
}

static void write_statements(writer *w, int depth);

/* A loop that runs three times: its index, times 8 or modulo 2, is a base. */
static void write_counted_loop(writer *w, int depth) {
    int outer = w->counted, index = w->values++;
    indent(w, depth);
    base_text_format(&w->out, "for %%c0, %%c3, %%c1 (%%v%d: i64) {\n", index);
    indent(w, depth + 1);
    bool times = pick(w, 2) == 0;
    base_text_format(&w->out, "%%m%d = %s %%v%d, %s : i64\n", index, times ? "mul" : "and", index,
                     times ? "%c8" : "%c1");
    w->counted = 1 + index;
    w->loops++;
    write_statements(w, depth + 1);
    w->loops--;
    w->counted = outer;
    indent(w, depth + 1);
    base_text_string(&w->out, "yield\n");
    indent(w, depth);
    base_text_string(&w->out, "}\n");
}

static void write_region(writer *w, int depth) {
    int choice = w->choices++;
    bool loop = pick(w, 2) == 0;
    w->loose = w->loose || w->loops > 0;
    w->loops += loop;
    indent(w, depth);
    if (loop)
        base_text_format(&w->out, "for %%c0, %%n%d, %%c1 (%%v%d: i64) {\n", choice, w->values++);
    else
        base_text_format(&w->out, "if %%p%d {\n", choice);
    write_statements(w, depth + 1);
    indent(w, depth + 1);
    base_text_string(&w->out, "yield\n");
    indent(w, depth);
    base_text_string(&w->out, loop ? "}\n" : "} else {\n");
    w->loops -= loop;
    if (loop)
        return;
    if (pick(w, 2) == 0)
        write_statements(w, depth + 1);
    indent(w, depth + 1);
    base_text_string(&w->out, "yield\n");
    indent(w, depth);
    base_text_string(&w->out, "}\n");
}

static void write_statements(writer *w, int depth) {
    int count = 1 + pick(w, depth == 0 ? 8 : 4);
    for (int i = 0; i < count && w->statements < 24; i++) {
        w->statements++;
        int kind = pick(w, 10);
        if (kind < 6)
            write_access(w, depth);
        else if (kind < 8 || depth == 3)
            write_sync(w, depth);
        else if (kind == 8 || w->choices == CHOICES)
            write_counted_loop(w, depth);
        else
            write_region(w, depth);
    }
}

/* Every cell is put first, so that most gets find something. */
static void write_program(writer *w) {
    base_text_string(&w->out, "kernel @k(o: i64");
    for (int i = 0; i < CHOICES; i++)
        base_text_format(&w->out, ", n%d: i64, p%d: bool", i, i);
    base_text_format(&w->out,
                     ") level thread\n  team %d\n  subgroup %d\n%s"
                     "  axis - extent %d digits lane %d | subgroup %d\n  groups %d\n{\n",
                     LANES, SUBGROUP, w->cluster ? "  cluster 2\n" : "", LANES, SUBGROUP,
                     LANES / SUBGROUP, w->cluster ? 2 : 1);
    base_text_string(&w->out, "  %o = parameter o : i64\n");
    for (int i = 0; i < CHOICES; i++)
        base_text_format(&w->out, "  %%n%d = parameter n%d : i64\n  %%p%d = parameter p%d : bool\n",
                         i, i, i, i);
    base_text_string(&w->out, "  %c0 = constant 0 : i64\n  %c1 = constant 1 : i64\n"
                              "  %c3 = constant 3 : i64\n  %c8 = constant 8 : i64\n"
                              "  %one = constant 1.0 : f32\n  %b = block : i64\n"
                              "  %peer = xor %b, %c1 : i64\n"
                              "  %x1 = broadcast %one : f32(1)\n  %x2 = broadcast %one : f32(2)\n"
                              "  %x5 = broadcast %one : f32(5)\n");
    for (int i = 0; i < 2; i++)
        base_text_format(&w->out, "  %%s%d, %%f%d = scratch %d : scratch f32[%d], token free\n", i,
                         i, CELLS, CELLS);
    const char *scope = w->cluster ? "cluster" : "group";
    for (int i = 0; i < 2 && pick(w, 10) > 0; i++)
        base_text_format(&w->out,
                         "  %%w%d = put %%s%d[lane*1 + subgroup*4 + slot*8], %%x5, %%f%d : token "
                         "written %%s%d\n  %%r%d = sync %s %%w%d : token published %%s%d\n",
                         i, i, i, i, i, scope, i, i);
    write_statements(w, 0);
    if (w->cluster && pick(w, 4) > 0)
        base_text_string(&w->out, "  %last = sync cluster %f0 : token published %s0\n");
    base_text_string(&w->out, "}\n");
}

/* ---- judges ---- */
static ir_module *parse(fixture *f, const char *text) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = "chance", .text = text, .length = strlen(text)};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    ir_module *module = text_ir_parse(&f->arena, source, &diagnostics);
    if (module == NULL) {
        base_text out;
        base_text_init(&out, &f->arena);
        base_diagnostics_render(&out, &diagnostics);
        fail_msg("%s\n%s", text, out.bytes);
    }
    return module;
}

static int power(int base, int exponent) {
    return exponent == 0 ? 1 : base * power(base, exponent - 1);
}

/* Each choice is 0, 1 or 2: the trips of its loop, or the side of its branch. */
static bool sim_finds(fixture *f, const ir_module *module, int choices, base_diagnostics *found) {
    void *pointers[1] = {NULL};
    const sim_options options = {.last_group = -1, .watch = true};
    for (int run = 0; run < power(3, choices); run++) {
        int64_t words[1 + 2 * CHOICES] = {run % (module->cluster > 1 ? 2 : 4)};
        for (int i = 0, rest = run; i < CHOICES; i++, rest /= 3) {
            words[1 + 2 * i] = rest % 3;
            words[2 + 2 * i] = rest % 3 > 0;
        }
        base_diagnostics_init(found, &f->arena);
        sim_status status = sim_thread_run(&f->arena, module, pointers, words, &options, found);
        if (status == SIM_REFUSED)
            fail_msg("the simulator refuses:\n%s", render(f, found));
        if (status == SIM_FOUND)
            return true;
    }
    return false;
}

typedef struct tally {
    int accepted, refused, cautious;
} tally;

static void judge(fixture *f, const writer *w, tally *count) {
    const ir_module *module = parse(f, w->out.bytes);
    base_diagnostics refused, found;
    base_diagnostics_init(&refused, &f->arena);
    bool accepted = verify_module(module, "token-*", &refused);
    for (int i = 0; i < refused.count; i++)
        if (strncmp(refused.items[i].slug, "hazard-", 7) != 0)
            fail_msg("%s\nis no question of hazards:\n%s", w->out.bytes, render(f, &refused));
    bool finds = sim_finds(f, module, w->choices, &found);
    bool agree = accepted != finds || (!accepted && w->loose);
    if (!agree) /* longer than what a message may have */
        fputs(w->out.bytes, stderr);
    if (!agree)
        fail_msg("%s:\n%s", accepted ? "accepted, but found" : "refused, but no run shows it",
                 render(f, accepted ? &found : &refused));
    count->accepted += accepted;
    count->refused += !accepted;
    count->cautious += !accepted && !finds;
}

static void judge_programs(fixture *f, uint64_t seed) {
    tally count = {0};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < programs; i++) {
        writer w = {.random = seed * 1000003 + (uint64_t)i, .cluster = i % 3 == 0};
        for (int k = 0; k < 3; k++)
            pick(&w, 2);
        base_text_init(&w.out, &f->arena);
        write_program(&w);
        judge(f, &w, &count);
        base_arena_free(&f->arena);
        base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    }
    print_message("%d accepted, %d refused, %d of them by caution\n", count.accepted, count.refused,
                  count.cautious);
    assert_true(count.accepted >= programs / 10 && count.refused >= programs / 4);
    assert_true(count.cautious <= programs / 50);
}

static void verifier_and_simulator_agree(void **state) {
    judge_programs(*state, 1);
}

static void they_agree_on_programs_of_the_given_seed(void **state) {
    const char *text = getenv("CROFT_SEED");
    judge_programs(*state, text != NULL ? strtoull(text, NULL, 10) : 2);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "long") == 0)
        programs *= 20;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(verifier_and_simulator_agree, set_up, tear_down),
        cmocka_unit_test_setup_teardown(they_agree_on_programs_of_the_given_seed, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
