/* Coefficients as data: the defaults of coefficients.def, and files that replace some of them.
 *
 *     # fitted 2026-11-30
 *     service.D 3.29
 *     cuda.launch 1.1
 *
 * A fault ends its line, not the reading. A file that has one gives no coefficients at all.
 */
#include "planner/cost/cost_internal.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *unit, *source;
} rows[] = {
#define COEFFICIENT(ID, name, value, unit, source) {name, unit, source},
#include "planner/cost/coefficients.def"
#undef COEFFICIENT
};

static const cost_coefficients defaults = {{
#define COEFFICIENT(ID, name, value, unit, source) value,
#include "planner/cost/coefficients.def"
#undef COEFFICIENT
}};

const cost_coefficients *cost_coefficients_default(void) {
    return &defaults;
}

bool cost_coefficient_at(int index, cost_coefficient_row *row) {
    if (index < 0 || index >= COST_COEFFICIENT_COUNT)
        return false;
    *row = (cost_coefficient_row){rows[index].name, defaults.value[index], rows[index].unit,
                                  rows[index].source};
    return true;
}

typedef struct reader {
    const base_source *source;
    base_diagnostics *diagnostics;
    size_t at, line_start;
    int32_t line;
    bool failed;
    bool given[COST_COEFFICIENT_COUNT];
} reader;

typedef struct word {
    const char *text;
    size_t length;
} word;

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of the line; of length 0 at its end or before a comment. */
static word read_word(reader *r) {
    const char *text = r->source->text;
    size_t end = r->source->length;
    while (r->at < end && is_space(text[r->at]))
        r->at++;
    size_t start = r->at;
    while (r->at < end && !is_space(text[r->at]) && text[r->at] != '\n' && text[r->at] != '#')
        r->at++;
    return (word){text + start, r->at - start};
}

static void fail(reader *r, const char *slug, word at, const char *expected, const char *message) {
    r->failed = true;
    base_location location = {
        .source = r->source,
        .line = r->line,
        .column = (int32_t)((size_t)(at.text - r->source->text) - r->line_start + 1),
        .length = at.length > 0 ? (int32_t)at.length : 1};
    base_diagnostic *finding = base_diagnostics_add(r->diagnostics, slug, location, "%s", message);
    finding->found = at.length > 0 ? base_arena_copy(r->diagnostics->arena, at.text, at.length)
                                   : "the end of the line";
    finding->expected = expected;
}

static int find(word name) {
    for (int i = 0; i < COST_COEFFICIENT_COUNT; i++)
        if (strlen(rows[i].name) == name.length &&
            memcmp(rows[i].name, name.text, name.length) == 0)
            return i;
    return -1;
}

static void read_line(reader *r, cost_coefficients *coefficients) {
    word name = read_word(r);
    if (name.length == 0)
        return;
    int index = find(name);
    if (index < 0) {
        fail(r, "coefficient-name", name, "a coefficient of docs/cost-models.md, as service.D",
             "no model has this coefficient");
        return;
    }
    if (r->given[index]) {
        fail(r, "coefficient-twice", name, NULL, "a line above gives this coefficient");
        return;
    }
    r->given[index] = true;
    word number = read_word(r);
    double value = 0;
    if (!base_number_parse(number.text, number.length, &value) || !isfinite(value) ||
        signbit(value)) {
        fail(r, "coefficient-value", number, "a finite number of at least 0",
             "not a value that a coefficient may have");
        return;
    }
    word rest = read_word(r);
    if (rest.length > 0)
        fail(r, "coefficient-value", rest, "the end of the line", "a line has one value");
    coefficients->value[index] = value;
}

const cost_coefficients *cost_coefficients_parse(base_arena *arena, const base_source *source,
                                                 base_diagnostics *diagnostics) {
    cost_coefficients *coefficients = BASE_NEW(arena, cost_coefficients);
    *coefficients = defaults;
    reader r = {.source = source, .diagnostics = diagnostics};
    while (r.at < source->length) {
        r.line_start = r.at;
        r.line++;
        read_line(&r, coefficients);
        while (r.at < source->length && source->text[r.at] != '\n')
            r.at++;
        r.at++;
    }
    return r.failed ? NULL : coefficients;
}

void cost_coefficients_print(base_text *out, const cost_coefficients *coefficients) {
    for (int i = 0; i < COST_COEFFICIENT_COUNT; i++) {
        base_text_format(out, "%s ", rows[i].name);
        base_text_double(out, coefficients->value[i]);
        base_text_format(out, "  # %s\n", rows[i].unit);
    }
}
