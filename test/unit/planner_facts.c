/* The facts of candidates of all examples, as test/data/planner_facts.txt has them: pinned, so that
 * a change of what the models are told is seen. `unit_planner_facts write` writes the file.
 *
 * Lines of it that were counted by hand (f32, 4 bytes an element):
 *
 *   softmax N=4096, w=256,v=4,chunk=slot,keep=registers   three passes of 4096; 16 slots each of t
 *     and e: 32; x read once and y written once: 16384 bytes; 4 accesses of 4 each: 8; a worker
 *     moves 16 * 4 bytes in and out: 128; it writes t and e and reads t, e: (1 + 1 + 1 + 1) * 4
 *     bytes * 16 slots = 256; two reductions of 5 shuffles, 8 partials of 4 bytes each: 64
 *   softmax N=1009, the same with w=64                     16 slots, the row ends in the last step
 *     of all: 16 accesses of one element to load (1009 is odd: rows begin anywhere) and 16 to
 *     store, the last four of each guarded: 1009 mod 256 = 241 elements for 64 workers
 *   layernorm N=4096, w=256,v=4,chunk=slot,keep=again      x read in all three passes: 16384 and
 *     2 * 16384 again; w and b are 32768 shared bytes; 4 accesses each of x.0 three times, w, b, y
 *   sum N=127, w=8,v=2                                     slots of one worker: 127 // 16 = 7 full
 *     chunks and min(15, 2): 16; 3 shuffles; the store of the sum is a domain of one element
 *   cross_entropy N=4096                                   label, logits[label] and loss are three
 *     domains of one element; logits[label] was read before: 4 bytes again. Both loads are early
 *     in slots: 8 bytes are under way beside those of the row
 *   rmsnorm N=127 on cpu-avx2                              one register of 8 lanes, 16 registers
 *   softmax N=262144, g=64      8192 rows of 64 parts: 524288 programs of 4096 elements. First: x
 *     read, 16384 bytes, 4 accesses of 4 and the store of 4 bytes. Then: x and two of 64 partial
 *     results on 32 lanes: 8 bytes, 2 accesses; 4096 exponentials. Then: x, twice those, again the
 *     exponentials, divisions, y written: 16384 bytes, 4 + 2 * 2 + 4 accesses
 */
#include "example_files.h"

#include "compile/compile.h"
#include "planner/launches.h"

#include <stdlib.h>

enum { PAGE = 1 << 20 };

static const char *const path = CROFT_SOURCE_DIR "/test/data/planner_facts.txt";

typedef struct facts_case {
    const char *machine;
    int64_t width; /* -1: known at the call alone */
    const char *set;
} facts_case;

static const facts_case cases[] = {
    {"sm_90", 127, "w=8,v=2,chunk=slot,keep=registers"},
    {"sm_90", 1009, "w=64,v=4,chunk=slot,shift=no,keep=registers"},
    {"sm_90", 1009, "w=64,v=4,chunk=slot,shift=yes,keep=registers"},
    {"sm_90", 4096, "w=256,v=4,chunk=slot,keep=registers"},
    {"sm_90", 4096, "w=256,v=4,chunk=slot,keep=again"},
    {"sm_90", 4096, "w=416,v=1,u=2,chunk=step,keep=mixed"},
    {"sm_90", 8193, "w=512,v=8,chunk=step,keep=private"},
    {"sm_90", -1, "w=128,v=2,u=2,chunk=step,keep=output"},
    {"sm_90", 262144, "w=256,v=4,chunk=slot,g=64"},
    {"cpu-avx2", 127, "chunk=slot,keep=mixed"},
    {"cpu-avx2", 4096, "u=4,chunk=step,keep=mixed"},
    {"cpu-avx2", 4096, "u=4,chunk=step,g=2"},
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_facts(base_text *out, const cost_facts *facts) {
    const char *name;
    int64_t value;
    base_text_string(out, " domains");
    for (int i = 0; i < facts->domain_count; i++)
        base_text_format(out, " %lldx%lld", (long long)facts->domains[i].elements,
                         (long long)facts->domains[i].times);
    base_text_string(out, ";");
    for (int i = 0; planner_fact_at(facts, i, &name, &value); i++)
        if (value != 0)
            base_text_format(out, " %s %lld", name, (long long)value);
    base_text_string(out, "\n");
}

/* Of a row in parts those of each launch, a line each. */
static void print_choice(base_text *out, const planner_report *report) {
    cost_facts facts;
    if (report->chosen.parts == 1) {
        planner_facts_find(report->program, &report->chosen, &facts);
        print_facts(out, &facts);
    }
    for (int i = 0; planner_launch_facts(&report->chosen, i, &facts); i++) {
        base_text_string(out, i > 0 ? "  then" : "");
        print_facts(out, &facts);
    }
}

static void print_case(base_text *out, const char *name, const char *text, const facts_case *c) {
    base_source source = {.name = name, .text = text, .length = strlen(text)};
    text_argument width = {.name = "N",
                           .kind = TEXT_ARGUMENT_NUMBER,
                           .is_integer = true,
                           .integer = c->width,
                           .number = (double)c->width};
    bool has_width = strstr(text, "[R, N]") != NULL && strstr(text, "N: const") == NULL;
    planner_options options = {.set = c->set};
    compile_request request = {.source = &source,
                               .arguments = &width,
                               .argument_count = has_width && c->width >= 0,
                               .partial = true,
                               .machine = machine_find(c->machine),
                               .planning = &options,
                               .stage = COMPILE_TO_PLAN};
    compile_result result;
    compile_run(&request, &result);
    base_text_format(out, "%s %s N=%lld %s:", name, c->machine, (long long)c->width, c->set);
    if (result.status == COMPILE_OK && result.planning.kind == PLANNER_BY_SEARCH) {
        print_choice(out, &result.planning);
    } else if (result.status == COMPILE_OK) {
        base_text_string(out, " no row plan\n");
    } else {
        assert_int_equal(result.status, COMPILE_REJECTED);
        const base_diagnostic *d = &result.diagnostics.items[0];
        base_text_format(out, " refused: %s\n", d->found);
    }
    compile_free(&result);
}

/* In an order of names: folders have none. */
static void print_page(base_text *out) {
    example_files files;
    char *texts[256];
    int count = 0;
    example_files_open(&files);
    while (example_files_next(&files) && count < 256) {
        base_text one;
        base_text_init(&one, out->arena);
        base_text_format(&one, "%.*s%c%s", (int)strcspn(files.name, "."), files.name, '\n',
                         files.text);
        texts[count++] = one.bytes;
    }
    example_files_close(&files);
    qsort(texts, (size_t)count, sizeof texts[0], compare_names);
    for (int i = 0; i < count; i++) {
        char *text = strchr(texts[i], '\n');
        *text = '\0';
        for (int c = 0; c < CASE_COUNT; c++)
            print_case(out, texts[i], text + 1, &cases[c]);
    }
}

static void check_or_write(bool write) {
    base_arena arena;
    jmp_buf exhausted;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    if (setjmp(exhausted) != 0)
        fail_msg("out of memory");
    base_text page;
    base_text_init(&page, &arena);
    print_page(&page);
    FILE *file = fopen(path, write ? "wb" : "rb");
    assert_non_null(file);
    if (write) {
        fwrite(page.bytes, 1, (size_t)page.length, file);
    } else {
        char *old = base_arena_alloc(&arena, PAGE);
        old[fread(old, 1, PAGE - 1, file)] = '\0';
        const char *a = old, *b = page.bytes;
        while (*a != '\0' && *a == *b)
            a++, b++;
        while (a > old && a[-1] != '\n')
            a--, b--;
        if (*a != *b || strcmp(old, page.bytes) != 0)
            fail_msg("test/data/planner_facts.txt has\n%.*s\nand now it is\n%.*s",
                     (int)strcspn(a, "\n"), a, (int)strcspn(b, "\n"), b);
    }
    fclose(file);
    base_arena_free(&arena);
}

static void facts_are_as_pinned(void **unused) {
    (void)unused;
    check_or_write(false);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "write") == 0) {
        check_or_write(true);
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(facts_are_as_pinned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
