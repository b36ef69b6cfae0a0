/* Every finding of the simulator has programs that show it and twins that run clean:
 * test/sim/SLUG.ir, cases separated by `---`, each with a first line `# find: why` or
 * `# clean: why`, and maybe `# expect y: 1 2 3`, what an output then holds.
 *
 * All sizes are known in the text. Inputs hold 1, 2, 3, ..., outputs 0, scalars 3.
 */
#include "arena_fixture.h"
#include "damage_fixture.h"

#include "sim/thread.h"
#include "text/ir_parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS = 8, WORDS = 64, CELLS = 1 << 16 };

typedef struct run {
    const ir_module *module;
    void *pointers[PARAMETERS];
    int64_t cells[PARAMETERS];
    int64_t words[WORDS];
    base_diagnostics diagnostics;
    sim_status status;
} run;

static char *read_file(fixture *f, const char *name) {
    base_text path, out;
    base_text_init(&path, &f->arena);
    base_text_init(&out, &f->arena);
    base_text_format(&path, "%s/test/sim/%s.ir", CROFT_SOURCE_DIR, name);
    FILE *file = fopen(path.bytes, "rb");
    if (file == NULL)
        fail_msg("there are no texts for %s: %s", name, path.bytes);
    char block[4096];
    for (size_t n = 0; (n = fread(block, 1, sizeof block, file)) > 0;)
        base_text_append(&out, block, n);
    fclose(file);
    return out.bytes;
}

/* Cuts the first case off a file's text; NULL after the last. */
static char *next_case(char *text) {
    char *next = strstr(text, "\n---\n");
    if (next == NULL)
        return NULL;
    next[1] = '\0';
    return next + strlen("\n---\n");
}

/* ---- arguments ---- */

static void set_element(base_dtype dtype, void *data, int64_t i, double value) {
    switch (base_dtype_size(dtype)) {
    case 1:
        ((int8_t *)data)[i] = (int8_t)value;
        return;
    case 2:
        ((uint16_t *)data)[i] =
            dtype == BASE_F16 ? base_f16_from_double(value) : base_bf16_from_double(value);
        return;
    case 4:
        if (dtype == BASE_F32)
            ((float *)data)[i] = (float)value;
        else
            ((int32_t *)data)[i] = (int32_t)value;
        return;
    default:
        ((int64_t *)data)[i] = (int64_t)value;
    }
}

static double element(base_dtype dtype, const void *data, int64_t i) {
    switch (base_dtype_size(dtype)) {
    case 1:
        return ((const int8_t *)data)[i];
    case 2:
        return dtype == BASE_F16 ? base_f16_to_double(((const uint16_t *)data)[i])
                                 : base_bf16_to_double(((const uint16_t *)data)[i]);
    case 4:
        return dtype == BASE_F32 ? (double)((const float *)data)[i]
                                 : (double)((const int32_t *)data)[i];
    default:
        return (double)((const int64_t *)data)[i];
    }
}

/* Sizes, dense strides and scalars; false when some size is not known. */
static bool bind(fixture *f, run *r) {
    const ir_module *m = r->module;
    int64_t count = 0;
    int pointer = 0;
    if (m->parameter_count > PARAMETERS || m->extents.symbol_count > WORDS / 2)
        return false;
    for (int64_t i = 0; i < m->extents.symbol_count; i++)
        r->words[count++] = m->extents.symbols[i].known ? m->extents.symbols[i].value : 3;
    for (int i = 0; i < m->parameter_count; i++) {
        const ir_parameter *parameter = &m->parameters[i];
        if (!parameter->is_tensor)
            continue;
        int rank = parameter->value->type.rank;
        int64_t cells = 1;
        for (int d = rank - 1; d >= 0; d--) {
            int64_t extent = 0;
            if (!layout_extent_evaluate(parameter->value->type.extent[d], r->words, &extent) ||
                extent < 0 || extent > CELLS || cells * extent > CELLS)
                return false;
            r->words[count + d] = cells;
            cells *= extent;
        }
        count += rank;
        r->cells[i] = cells;
        r->pointers[pointer] = base_arena_alloc(&f->arena, (size_t)cells * 8);
        for (int64_t k = 0; parameter->mode != IR_OUT && k < cells; k++)
            set_element(parameter->dtype, r->pointers[pointer], k, (double)(k + 1));
        pointer++;
    }
    for (int i = 0; i < m->parameter_count; i++)
        if (!m->parameters[i].is_tensor && m->parameters[i].dtype != BASE_F64)
            set_element(m->parameters[i].dtype, &r->words[count++], 0, 3);
    return true;
}

static const ir_module *parse(fixture *f, const char *name, const char *text,
                              base_diagnostics *diagnostics) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = name, .text = text, .length = strlen(text)};
    base_diagnostics_init(diagnostics, &f->arena);
    return text_ir_parse(&f->arena, source, diagnostics);
}

static run run_text(fixture *f, const char *name, const char *text) {
    run r = {.status = SIM_REFUSED};
    r.module = parse(f, name, text, &r.diagnostics);
    if (r.module == NULL || !bind(f, &r))
        fail_msg("cannot be read or has open sizes:\n%s\n%s", text, render(f, &r.diagnostics));
    sim_options options = {.last_group = -1, .checked = true, .watch = true};
    r.status = sim_thread_run(&f->arena, r.module, r.pointers, r.words, &options, &r.diagnostics);
    return r;
}

/* ---- cases ---- */

static void check_output(const run *r, const char *line, const char *text) {
    char name[32] = "";
    int used = 0, pointer = 0;
    assert_true(sscanf(line, "# expect %31[^:]:%n", name, &used) == 1 && used > 0);
    for (int i = 0; i < r->module->parameter_count; i++) {
        const ir_parameter *parameter = &r->module->parameters[i];
        if (!parameter->is_tensor)
            continue;
        void *data = r->pointers[pointer++];
        if (strcmp(parameter->name, name) != 0)
            continue;
        const char *at = line + used;
        for (int64_t k = 0; k < r->cells[i]; k++) {
            char *end;
            double expected = strtod(at, &end);
            if (end == at || element(parameter->dtype, data, k) != expected)
                fail_msg("%s\n%s[%lld] is %g, expected %g", text, name, (long long)k,
                         element(parameter->dtype, data, k), expected);
            at = end;
        }
        return;
    }
    fail_msg("there is no output %s:\n%s", name, text);
}

static void check_expectations(const run *r, const char *text) {
    for (const char *line = text; line[0] == '#'; line = strchr(line, '\n') + 1)
        if (strncmp(line, "# expect ", 9) == 0)
            check_output(r, line, text);
}

static void check_case(fixture *f, const char *slug, const char *text, bool finds) {
    run r = run_text(f, slug, text);
    if (r.status != (finds ? SIM_FOUND : SIM_OK))
        fail_msg("%s:\n%s\n%s", finds ? "nothing is found" : "not clean", text,
                 render(f, &r.diagnostics));
    for (int i = 0; i < r.diagnostics.count; i++)
        if (strcmp(r.diagnostics.items[i].slug, slug) != 0)
            fail_msg("%s is not alone:\n%s\n%s", slug, text, render(f, &r.diagnostics));
    check_expectations(&r, text);
}

static void check_file(fixture *f, const char *slug, bool needs_finding) {
    int found = 0, clean = 0;
    for (char *text = read_file(f, slug), *next; text != NULL; text = next) {
        next = next_case(text);
        bool finds = strncmp(text, "# find: ", 8) == 0;
        assert_true(finds || strncmp(text, "# clean: ", 9) == 0);
        check_case(f, slug, text, finds);
        found += finds;
        clean += !finds;
    }
    if (clean == 0 || (needs_finding && found == 0))
        fail_msg("%s needs a text that shows it and one that runs clean", slug);
}

static void every_finding_has_its_texts(void **state) {
    for (int i = 0; sim_finding_slug(i) != NULL; i++)
        check_file(*state, sim_finding_slug(i), true);
}

static void ops_give_what_the_table_says(void **state) {
    check_file(*state, "ops", false);
}

/* ---- damage ---- */

static void damaged_programs_run_or_are_refused(void **state) {
    fixture *f = *state;
    uint64_t random = 11;
    int ran = 0, refused = 0;
    for (int i = -1; i < 0 || sim_finding_slug(i) != NULL; i++) {
        const char *slug = i < 0 ? "ops" : sim_finding_slug(i);
        for (char *text = read_file(f, slug), *next; text != NULL; text = next) {
            next = next_case(text);
            for (int round = 0; round < 30; round++) {
                run r = {0};
                r.module = parse(f, slug, damage_text(&f->arena, text, &random), &r.diagnostics);
                if (r.module == NULL || !bind(f, &r))
                    continue;
                sim_options options = {.last_group = 8, .watch = true, .limit = 100000};
                r.status = sim_thread_run(&f->arena, r.module, r.pointers, r.words, &options,
                                          &r.diagnostics);
                ran += r.status != SIM_REFUSED;
                refused += r.status == SIM_REFUSED;
                assert_true(r.status == SIM_OK || r.diagnostics.count > 0);
            }
        }
    }
    printf("%d ran, %d were refused\n", ran, refused);
    assert_true(ran > 100 && refused > 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_finding_has_its_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ops_give_what_the_table_says, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_programs_run_or_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
