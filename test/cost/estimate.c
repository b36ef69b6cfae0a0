/* Prices what it reads, for test/script/cost_*.py: a line each in and out.
 *
 *     analytic programs=128 domain=1024x2 reductions=2 subgroup=32 workers=128 ...
 *     64.0 unitless rounds=32.0 exchange=16.0 setup=16.0
 *     cuda machine=sm_90 native_math=1 ...
 *     missing live_slots
 *     slots 8193 256 4
 *     33
 *
 * Facts have the names of cost_facts; one that a line leaves out is 0, `?` is not known.
 * `set=cuda.start:90` replaces a coefficient, `processors=N` those of the machine. A line that is
 * none of this ends the program with status 2.
 */
#include "planner/cost/cost.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t offset;
} facts[] = {
#define FACT(name)                                                                                 \
    { #name, offsetof(cost_facts, name) }
    FACT(programs),
    FACT(reductions),
    FACT(element_bytes),
    FACT(subgroup),
    FACT(workers),
    FACT(vector),
    FACT(unroll),
    FACT(packed),
    FACT(private_slots),
    FACT(private_bytes),
    FACT(live_slots),
    FACT(kept_slots),
    FACT(torn_bytes),
    FACT(scratch_bytes),
    FACT(barriers),
    FACT(shuffles),
    FACT(read_bytes),
    FACT(reread_bytes),
    FACT(streamed_bytes),
    FACT(prefetch_bytes),
    FACT(write_bytes),
    FACT(worker_bytes),
    FACT(accesses),
    FACT(sectors),
    FACT(bytes_in_flight),
    FACT(exps),
    FACT(divisions),
    FACT(square_roots),
    FACT(other_ops),
    FACT(guarded_accesses),
    FACT(shared_read_bytes),
    FACT(array_bytes),
    FACT(step_slots),
#undef FACT
};

typedef struct question {
    cost_facts facts;
    const machine *device;
    int64_t processors;
    base_text coefficients;
} question;

static bool read_integer(const char *text, int64_t *value) {
    char *end = NULL;
    *value = strcmp(text, "?") == 0 ? COST_UNKNOWN : strtoll(text, &end, 10);
    return end == NULL || (end != text && *end == '\0');
}

/* `1024x2`: so many elements, so many times. */
static bool read_domain(cost_facts *into, char *text) {
    char *times = strchr(text, 'x');
    if (times == NULL || into->domain_count == COST_MAX_DOMAINS)
        return false;
    *times++ = '\0';
    cost_domain *domain = &into->domains[into->domain_count++];
    return read_integer(text, &domain->elements) && read_integer(times, &domain->times);
}

static bool read_coefficient(base_text *out, char *text) {
    char *value = strchr(text, ':');
    if (value == NULL)
        return false;
    *value = ' ';
    base_text_format(out, "%s\n", text);
    return true;
}

static bool read_fact(question *q, char *word) {
    char *value = strchr(word, '=');
    if (value == NULL)
        return false;
    *value++ = '\0';
    int64_t flag = 0;
    if (strcmp(word, "machine") == 0)
        return (q->device = machine_find(value)) != NULL;
    if (strcmp(word, "processors") == 0)
        return read_integer(value, &q->processors);
    if (strcmp(word, "domain") == 0)
        return read_domain(&q->facts, value);
    if (strcmp(word, "set") == 0)
        return read_coefficient(&q->coefficients, value);
    if (strcmp(word, "native_math") == 0 && read_integer(value, &flag)) {
        q->facts.native_math = flag != 0;
        return true;
    }
    if (strcmp(word, "reciprocals") == 0 && read_integer(value, &flag)) {
        q->facts.reciprocals = flag != 0;
        return true;
    }
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        if (strcmp(word, facts[i].name) == 0 && read_integer(value, &flag)) {
            memcpy((char *)&q->facts + facts[i].offset, &flag, sizeof flag);
            return true;
        }
    }
    return false;
}

static void print_estimate(const cost_estimate *estimate) {
    if (!estimate->available) {
        printf("missing %s\n", estimate->missing);
        return;
    }
    char number[40];
    base_number_print(number, estimate->total);
    printf("%s %s", number, estimate->is_time ? "us" : "unitless");
    for (int i = 0; i < estimate->cause_count; i++) {
        base_number_print(number, estimate->causes[i].amount);
        printf(" %s=%s", estimate->causes[i].name, number);
    }
    printf("\n");
}

static bool answer_slots(char *rest) {
    int64_t value[3];
    for (int i = 0; i < 3; i++, rest = NULL) {
        char *word = strtok(rest, " ");
        if (word == NULL || !read_integer(word, &value[i]))
            return false;
    }
    printf("%lld\n", (long long)cost_slots(value[0], value[1], value[2]));
    return true;
}

static bool answer(base_arena *arena, char *line) {
    char *rest = strchr(line, ' ');
    cost_model model;
    if (rest == NULL)
        return false;
    *rest++ = '\0';
    if (strcmp(line, "slots") == 0)
        return answer_slots(rest);
    if (!cost_model_find(line, &model))
        return false;
    question q = {.device = NULL};
    base_text_init(&q.coefficients, arena);
    for (char *word = strtok(rest, " "); word != NULL; word = strtok(NULL, " "))
        if (!read_fact(&q, word))
            return false;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, arena);
    base_source source = {"set", q.coefficients.bytes, (size_t)q.coefficients.length};
    const cost_coefficients *coefficients = cost_coefficients_parse(arena, &source, &diagnostics);
    if (coefficients == NULL)
        return false;
    cost_machine of = {0};
    if (q.device != NULL)
        of = cost_machine_of(q.device, q.processors);
    cost_estimate estimate = cost_of(model, &q.facts, q.device != NULL ? &of : NULL, coefficients);
    print_estimate(&estimate);
    return true;
}

int main(void) {
    static char line[1 << 14];
    jmp_buf exhausted;
    base_arena arena;
    while (fgets(line, sizeof line, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        base_arena_init(&arena, base_allocator_default(), &exhausted);
        bool ok = setjmp(exhausted) == 0 && answer(&arena, line);
        base_arena_free(&arena);
        if (!ok) {
            fprintf(stderr, "not understood: %s ...\n", line);
            return 2;
        }
    }
    return 0;
}
