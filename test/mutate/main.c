/* Mutants of thread modules against the verifier.
 *
 *     mutate [--verbose] [--every N] [--seed N] [--machine NAME] [--plan row|fallback|FILE]
 *            KERNEL ...
 *
 * Every operator (operators.h) is applied at every place (or every N-th) of the thread module of
 * each kernel under both plans. The verifier must refuse the mutant (killed), or the simulator must
 * compute the same from it on eight inputs and find nothing (equivalent); else it survived. Prints
 * a table by operator, and each survivor; exits 1 when one survived, 4 when a module cannot be
 * compiled or run here, 8 when the exhaustive verification refuses a module as it is.
 */
#include "judge.h"
#include "operators.h"

#include "compile/compile.h"
#include "ir/clone.h"
#include "ir/print.h"
#include "verify/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATORS = 64, TEXT = 1 << 16 };

/* Exit status; a sum of the last two. */
enum { SURVIVED = 1, CANNOT_RUN = 4, REFUSED = 8 };

typedef struct tally {
    int64_t killed, equivalent, survived;
} tally;

typedef struct options {
    bool verbose;
    int64_t every;
    uint64_t seed;
    const char *plan;
    const machine *device;
} options;

static tally tallies[OPERATORS];

static const char *line_of(base_arena *arena, const ir_module *module) {
    base_text text;
    base_text_init(&text, arena);
    ir_module_print(&text, module, true);
    return text.bytes;
}

/* The lines in which two texts differ, those of the second. */
static void print_difference(const char *before, const char *after) {
    int shown = 0;
    while (*after != '\0' && shown < 3) {
        size_t a = strcspn(before, "\n"), b = strcspn(after, "\n");
        if (a != b || memcmp(before, after, a) != 0) {
            printf("      - %.*s\n      + %.*s\n", (int)a, before, (int)b, after);
            shown++;
        }
        before += a + (before[a] != '\0');
        after += b + (after[b] != '\0');
    }
}

static bool is_refused(const ir_module *module, verify_effort effort, base_arena *arena) {
    base_diagnostics found;
    base_diagnostics_init(&found, arena);
    return !verify_module_with(module, NULL, effort, &found);
}

static void judge_mutant(const options *o, const ir_module *module, judge *j, int number,
                         ir_module *mutant, base_arena *arena) {
    tally *t = &tallies[number];
    /* what takes least comes first; the most that the verifier can do is seconds of work */
    bool killed = is_refused(mutant, VERIFY_USUAL, arena);
    bool same = !killed && judge_says_same(j, mutant);
    if (!killed && !same)
        killed = is_refused(mutant, VERIFY_THOROUGH, arena) ||
                 is_refused(mutant, VERIFY_EXHAUSTIVE, arena);
    if (killed) {
        t->killed++;
        return;
    }
    *(same ? &t->equivalent : &t->survived) += 1;
    if (same && !o->verbose)
        return;
    printf("    %s: %s\n", same ? "equivalent" : "SURVIVED", mutate_operator_name(number));
    print_difference(line_of(arena, module), line_of(arena, mutant));
}

/* False: the operator has no such site. */
static __attribute__((noinline)) bool mutate_site(const options *o, const ir_module *module,
                                                  judge *j, int number, int64_t site) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    volatile bool more = true;
    if (setjmp(exhausted) == 0) {
        ir_module *mutant = ir_module_clone(&arena, module);
        more = mutate_apply(number, mutant, site);
        if (more)
            judge_mutant(o, module, j, number, mutant, &arena);
    }
    base_arena_free(&arena);
    return more;
}

/* What refuses the module itself refuses its mutants for nothing. */
static bool is_accepted(const ir_module *module, base_arena *arena) {
    base_diagnostics found;
    base_diagnostics_init(&found, arena);
    ir_module *same = ir_module_clone(arena, module);
    if (verify_module_with(same, NULL, VERIFY_EXHAUSTIVE, &found))
        return true;
    base_text text;
    base_text_init(&text, arena);
    base_diagnostics_render(&text, &found);
    printf("  the module itself is refused:\n%s", text.bytes);
    return false;
}

static void mutate_module(const options *o, const ir_module *module, judge *j) {
    for (int number = 0; mutate_operator_name(number) != NULL; number++)
        for (int64_t site = (int64_t)(o->seed % (uint64_t)o->every);
             mutate_site(o, module, j, number, site); site += o->every) {
        }
}

/* The file as a source whose text is in `room`; false: it cannot be opened. */
static bool read_source(const char *path, char room[TEXT], base_source *source) {
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t length = fread(room, 1, TEXT - 1, file);
    fclose(file);
    room[length] = '\0';
    *source = (base_source){.name = path, .text = room, .length = length};
    return true;
}

static int mutate_file(const options *o, const char *path, planner_family family) {
    static char text[TEXT], plan_text[TEXT];
    base_source source, plan;
    if (!read_source(path, text, &source))
        return CANNOT_RUN;
    compile_request request = {.source = &source,
                               .partial = true,
                               .machine = o->device,
                               .family = family,
                               .stage = COMPILE_TO_THREAD};
    if (o->plan != NULL && read_source(o->plan, plan_text, &plan))
        request.plan = &plan;
    compile_result result;
    compile_run(&request, &result);
    int status = result.status == COMPILE_OK ? 0 : CANNOT_RUN;
    if (status != 0)
        printf("  cannot be compiled\n");
    if (status == 0) {
        base_arena arena;
        jmp_buf exhausted;
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        if (setjmp(exhausted) == 0) {
            judge *j = judge_create(&arena, result.module, o->seed);
            status = j == NULL ? CANNOT_RUN : is_accepted(result.module, &arena) ? 0 : REFUSED;
            if (status == CANNOT_RUN)
                printf("  cannot be run\n");
            if (status == 0)
                mutate_module(o, result.module, j);
        }
        base_arena_free(&arena);
    }
    compile_free(&result);
    return status;
}

static int64_t report(void) {
    tally all = {0};
    printf("%-26s %8s %10s %8s\n", "operator", "killed", "equivalent", "survived");
    for (int i = 0; mutate_operator_name(i) != NULL; i++) {
        printf("%-26s %8lld %10lld %8lld\n", mutate_operator_name(i), (long long)tallies[i].killed,
               (long long)tallies[i].equivalent, (long long)tallies[i].survived);
        all.killed += tallies[i].killed;
        all.equivalent += tallies[i].equivalent;
        all.survived += tallies[i].survived;
    }
    printf("%-26s %8lld %10lld %8lld\n", "all", (long long)all.killed, (long long)all.equivalent,
           (long long)all.survived);
    return all.survived;
}

int main(int argc, char **argv) {
    options o = {.every = 1, .seed = 1, .device = machine_find("cpu-avx2")};
    int status = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verbose") == 0) {
            o.verbose = true;
        } else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc) {
            o.every = strtoll(argv[++i], NULL, 10) > 0 ? strtoll(argv[i], NULL, 10) : 1;
        } else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
            o.seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--plan") == 0 && i + 1 < argc) {
            o.plan = argv[++i];
        } else if (strcmp(argv[i], "--machine") == 0 && i + 1 < argc) {
            o.device = machine_find(argv[++i]);
            if (o.device == NULL)
                return 2;
        } else {
            for (int family = 0; family < 2; family++) {
                const char *plan = family == 0 ? "row" : "fallback";
                bool other = o.plan != NULL && strcmp(plan, o.plan) != 0;
                bool own =
                    o.plan != NULL && strcmp(o.plan, "row") != 0 && strcmp(o.plan, "fallback") != 0;
                if (own ? family > 0 : other)
                    continue;
                printf("%s, %s\n", argv[i], own ? o.plan : plan);
                fflush(stdout);
                status |= mutate_file(&o, argv[i], family == 0 ? PLANNER_ROW : PLANNER_FALLBACK);
            }
        }
    }
    return report() > 0 ? SURVIVED : status;
}
