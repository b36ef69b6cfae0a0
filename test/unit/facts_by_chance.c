/* Facts by chance: integers are computed from positions, moved between lanes and slots and
 * combined; of the last one a scope or a range is recorded. What the verifier believes is compared
 * with what the simulator computes, lane by lane.
 *
 *     a scope that is accepted is true; ranges are accepted exactly where they are true, as long as
 *     nothing was combined over lanes
 *
 *     CROFT_SEED=7 unit_facts_by_chance     programs of the fixed seed, then of another one
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

enum { PROGRAMS = 1500, LANES = 8, SUBGROUP = 4, SLOTS = 2, CELLS = LANES * SLOTS };

static int programs = PROGRAMS;

/* ---- texts ---- */
typedef enum scope { NONE, SUBGROUPS, GROUPS } scope;

typedef struct writer {
    base_text out;
    uint64_t random;
    int values;
    bool combined; /* ranges are no longer exact */
    scope scope;   /* recorded of the last value */
    bool ranged;   /* or this */
    int64_t low, high;
} writer;

static int pick(writer *w, int below) {
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)below);
}

static int earlier(writer *w) {
    return pick(w, w->values);
}

static void write_iota(writer *w) {
    static const char *const terms[] = {"slot*4",       "slot*1",      "lane*1",
                                        "lane*3",       "lane/2*5",    "lane % 2*1",
                                        "lane/2 % 2*2", "subgroup*16", "subgroup*1"};
    int first = pick(w, 9), second = pick(w, 9);
    /* in the order of holders: slot, lane, subgroup */
    if (first > second || second == first)
        base_text_format(&w->out, "iota %s", terms[first]);
    else if ((first < 2 && second >= 2) || (first < 7 && second >= 7))
        base_text_format(&w->out, "iota %s + %s", terms[first], terms[second]);
    else
        base_text_format(&w->out, "iota %s", terms[second]);
}

static void write_binary(writer *w) {
    static const char *const names[] = {"add", "sub", "xor", "and", "maximum", "minimum", "mul"};
    base_text_format(&w->out, "%s %%v%d, ", names[pick(w, 7)], earlier(w));
    if (pick(w, 2) == 0)
        base_text_format(&w->out, "%%v%d", earlier(w));
    else
        base_text_format(&w->out, "%%c%d", 1 + pick(w, 4));
}

static void write_by_constant(writer *w) {
    static const char *const names[] = {"floordiv", "floormod", "shr"};
    base_text_format(&w->out, "%s %%v%d, %%c%d", names[pick(w, 3)], earlier(w), 1 + pick(w, 4));
}

static void write_move(writer *w) {
    int kind = pick(w, 3), from = earlier(w);
    if (kind == 0)
        base_text_format(&w->out, "shuffle %%v%d lanes=(%d, %d) xor=(%d, %d)", from, pick(w, 4),
                         pick(w, 4), pick(w, 4), pick(w, 4));
    else if (kind == 1)
        base_text_format(&w->out, "rename %%v%d slots=(%d, %d)", from, pick(w, 2), pick(w, 2));
    else
        base_text_format(&w->out, "xorslot %%v%d lanes=(%d, %d)", from, pick(w, 2), pick(w, 2));
}

static void write_combine(writer *w) {
    static const char *const masks[] = {"1", "2", "3", "2, 1", "1, 2", "3, 1", "2, 3", "1, 3"};
    int from = earlier(w);
    base_text_format(&w->out,
                     "maximum %%least, %%v%d : i64(2)\n  %%v%d = combine max %%v%d nan=propagate "
                     "lanes=(%s)",
                     from, w->values + 1, w->values, masks[pick(w, 8)]);
    w->values++;
    w->combined = true;
}

static void write_fact(writer *w) {
    static const char *const scopes[] = {"", " uniform subgroup", " uniform group"};
    w->scope = (scope)pick(w, 3);
    w->ranged = w->scope == NONE;
    w->low = pick(w, 3) == 0 ? -(int64_t)pick(w, 40) : pick(w, 4);
    w->high = w->low + pick(w, 40);
    base_text_string(&w->out, scopes[w->scope]);
    if (w->ranged)
        base_text_format(&w->out, " range [%lld, %lld]", (long long)w->low, (long long)w->high);
}

static void write_program(writer *w) {
    base_text_format(&w->out,
                     "kernel @k(%%y: out i64[%d]) level thread\n  team %d\n  subgroup %d\n"
                     "  axis - extent %d digits lane %d | subgroup %d | slot %d\n  groups 1\n{\n"
                     "  %%least = constant -9223372036854775808 : i64\n",
                     CELLS, LANES, SUBGROUP, CELLS, SUBGROUP, LANES / SUBGROUP, SLOTS);
    for (int i = 1; i <= 4; i++)
        base_text_format(&w->out, "  %%c%d = constant %d : i64\n", i, i);
    int count = 2 + pick(w, 6);
    for (int i = 0; i < count; i++) {
        base_text_format(&w->out, "  %%v%d = ", w->values);
        int kind = w->values == 0 ? 0 : pick(w, 6);
        if (kind <= 1)
            write_iota(w);
        else if (kind == 2)
            write_binary(w);
        else if (kind == 3)
            write_by_constant(w);
        else if (kind == 4)
            write_move(w);
        else
            write_combine(w);
        base_text_string(&w->out, " : i64(2)");
        w->values++;
        if (i == count - 1)
            write_fact(w);
        base_text_string(&w->out, "\n");
    }
    base_text_format(&w->out, "  store %%y[slot*8 + lane*1 + subgroup*4], %%v%d\n}\n",
                     w->values - 1);
}

/* ---- judges ---- */
static bool is_true(const writer *w, const int64_t cells[CELLS]) {
    for (int slot = 0; slot < SLOTS; slot++)
        for (int thread = 0; thread < LANES; thread++) {
            int64_t value = cells[slot * LANES + thread];
            int first = w->scope == SUBGROUPS ? thread / SUBGROUP * SUBGROUP : 0;
            if (w->scope != NONE && value != cells[slot * LANES + first])
                return false;
            if (w->ranged && (value < w->low || value > w->high))
                return false;
        }
    return true;
}

typedef struct tally {
    int accepted, cautious;
} tally;

static void judge(fixture *f, const writer *w, tally *count) {
    base_source source = {.name = "chance", .text = w->out.bytes, .length = strlen(w->out.bytes)};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    const ir_module *module = text_ir_parse(&f->arena, &source, &diagnostics);
    if (module == NULL)
        fail_msg("%s\n%s", w->out.bytes, render(f, &diagnostics));
    bool accepted = verify_module(module, NULL, &diagnostics);
    for (int i = 0; i < diagnostics.count; i++)
        if (strncmp(diagnostics.items[i].slug, "value-", 6) != 0)
            fail_msg("%s\nis no question of facts:\n%s", w->out.bytes, render(f, &diagnostics));
    int64_t cells[CELLS] = {0}, words[1] = {1};
    void *pointers[1] = {cells};
    const sim_options options = {.last_group = -1, .watch = true};
    base_diagnostics_init(&diagnostics, &f->arena);
    sim_status status = sim_thread_run(&f->arena, module, pointers, words, &options, &diagnostics);
    bool holds = is_true(w, cells);
    if (status == SIM_REFUSED || (status == SIM_OK) != holds)
        fail_msg("the simulator sees it otherwise:\n%s\n%s", w->out.bytes, render(f, &diagnostics));
    if (accepted && !holds)
        fail_msg("a fact is believed that is false:\n%s", w->out.bytes);
    if (!accepted && holds && w->ranged && !w->combined)
        fail_msg("a range is refused that is true:\n%s", w->out.bytes);
    count->accepted += accepted;
    count->cautious += !accepted && holds;
}

static void judge_programs(fixture *f, uint64_t seed) {
    tally count = {0};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < programs; i++) {
        writer w = {.random = seed * 1000003 + (uint64_t)i};
        for (int k = 0; k < 3; k++)
            pick(&w, 2);
        base_text_init(&w.out, &f->arena);
        write_program(&w);
        judge(f, &w, &count);
        base_arena_free(&f->arena);
        base_arena_init(&f->arena, base_allocator_default(), &f->exhausted);
    }
    print_message("%d of %d accepted, %d refused by caution\n", count.accepted, programs,
                  count.cautious);
    assert_true(count.accepted >= programs / 10 && count.cautious <= programs / 5);
}

static void accepted_facts_are_true(void **state) {
    judge_programs(*state, 1);
}

static void accepted_facts_of_the_given_seed_are_true(void **state) {
    const char *text = getenv("CROFT_SEED");
    judge_programs(*state, text != NULL ? strtoull(text, NULL, 10) : 2);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "long") == 0)
        programs *= 20;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(accepted_facts_are_true, set_up, tear_down),
        cmocka_unit_test_setup_teardown(accepted_facts_of_the_given_seed_are_true, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
