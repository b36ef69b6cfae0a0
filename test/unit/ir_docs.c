/* docs/ir.md, verify.md, passes.md, simulator.md and cost-models.md have the tables of ops,
 * monoids, rules, passes, findings and coefficients as the .def files have them: `unit_ir_docs
 * write` puts them there. */
#include "ir/module.h"
#include "pass/pass.h"
#include "planner/cost/cost.h"
#include "sim/thread.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void append_cell(base_text *out, const char *text) {
    for (const char *c = text; *c != '\0'; c++)
        base_text_format(out, *c == '|' ? "\\%c" : "%c", *c);
}

static void append_ops(base_text *out) {
    base_text_string(out, "\n| op | levels | |\n|---|---|---|\n");
    for (int i = 0; i < IR_OPCODE_COUNT; i++) {
        const ir_op_info *info = ir_op_describe((ir_opcode)i);
        base_text_format(
            out, "| `%s` |%s%s%s | ", info->text, info->levels & IR_LEVEL_BIT_T ? " T" : "",
            info->levels & IR_LEVEL_BIT_M ? " M" : "", info->levels & IR_LEVEL_BIT_R ? " R" : "");
        append_cell(out, info->doc);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static void append_monoids(base_text *out) {
    base_text_string(out, "\n| monoid | combines by | with nan=ignore | |\n|---|---|---|---|\n");
    for (int i = 0; i < IR_MONOID_COUNT; i++) {
        const ir_monoid_info *info = ir_monoid_describe((ir_monoid)i);
        base_text_format(out, "| `%s` | `%s` | `%s` | ", info->text,
                         ir_op_describe(info->combine)->text,
                         ir_op_describe(info->combine_ignoring_nan)->text);
        append_cell(out, info->doc);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static const struct {
    const char *slug, *levels, *doc;
} rules[] = {
#define RULE(ID, slug, levels, doc) {slug, #levels, doc},
#include "verify/rules.def"
#undef RULE
};

static void append_levels(base_text *out, const char *levels) {
    for (const char *c = levels; *c != '\0'; c++)
        base_text_format(out, "%c", *c == '_' ? ' ' : *c);
}

static void append_rules(base_text *out) {
    base_text_string(out, "\n| rule | levels | |\n|---|---|---|\n");
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        base_text_format(out, "| `%s` | ", rules[i].slug);
        append_levels(out, rules[i].levels);
        base_text_string(out, " | ");
        append_cell(out, rules[i].doc);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static void append_passes(base_text *out) {
    static const char letters[] = {'T', 'M', 'R'};
    base_text_string(out, "\n| pass | levels | leads to | |\n|---|---|---|---|\n");
    const pass_row *pass;
    for (int i = 0; (pass = pass_at(i)) != NULL; i++) {
        base_text_format(out, "| `%s` |", pass->name);
        for (int level = IR_TILE; level <= IR_THREAD; level++)
            if ((pass->from >> level & 1) != 0)
                base_text_format(out, " %c", letters[level]);
        if (pass->to == PASS_STAYS)
            base_text_string(out, " | the same | ");
        else
            base_text_format(out, " | %c | ", letters[pass->to]);
        append_cell(out, pass->doc);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static void append_pipeline(base_text *out) {
    base_text_string(out, "\n| pass | afterwards | |\n|---|---|---|\n");
    pass_step step;
    for (int i = 0; pass_pipeline_at(i, &step); i++)
        base_text_format(out, "| `%s` | %s | %s |\n", step.pass->name, ir_level_name(step.to),
                         step.again ? "again" : "once");
    base_text_string(out, "\n");
}

static void append_checks(base_text *out) {
    static const struct {
        const char *slug, *doc;
    } checks[] = {
#define CHECK(ID, slug, doc) {slug, doc},
#include "pass/checks.def"
#undef CHECK
    };
    base_text_string(out, "\n| slug | |\n|---|---|\n");
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        bool word = strchr(checks[i].slug, ' ') == NULL;
        base_text_format(out, word ? "| `%s` | " : "| %s | ", checks[i].slug);
        append_cell(out, checks[i].doc);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static void append_findings(base_text *out) {
    base_text_string(out, "\n| slug | |\n|---|---|\n");
    for (int i = 0; sim_finding_slug(i) != NULL; i++) {
        base_text_format(out, "| `%s` | ", sim_finding_slug(i));
        append_cell(out, sim_finding_doc(i));
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static void append_coefficients(base_text *out) {
    base_text_string(out, "\n| coefficient | default | of | source |\n|---|---|---|---|\n");
    cost_coefficient_row row;
    for (int i = 0; cost_coefficient_at(i, &row); i++) {
        base_text_format(out, "| `%s` | ", row.name);
        base_text_double(out, row.value);
        base_text_string(out, " | ");
        append_cell(out, row.unit);
        base_text_string(out, " | ");
        append_cell(out, row.source);
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

static const struct {
    const char *page, *mark;
    void (*append)(base_text *out);
} tables[] = {
    {"ir", "<!-- ops -->\n", append_ops},
    {"ir", "<!-- monoids -->\n", append_monoids},
    {"verify", "<!-- rules -->\n", append_rules},
    {"passes", "<!-- passes -->\n", append_passes},
    {"passes", "<!-- pipeline -->\n", append_pipeline},
    {"passes", "<!-- checks -->\n", append_checks},
    {"simulator", "<!-- findings -->\n", append_findings},
    {"cost-models", "<!-- coefficients -->\n", append_coefficients},
};

/* The page with what stands between `<!-- name -->` and `<!-- end -->` made anew. */
static void renew(base_text *out, const char *page, const char *text) {
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        if (strcmp(tables[i].page, page) != 0)
            continue;
        const char *start = strstr(text, tables[i].mark);
        assert_non_null(start);
        start += strlen(tables[i].mark);
        base_text_append(out, text, (size_t)(start - text));
        tables[i].append(out);
        text = strstr(start, "<!-- end -->");
        assert_non_null(text);
    }
    base_text_string(out, text);
}

static const char *path_of(base_arena *arena, const char *page) {
    base_text path;
    base_text_init(&path, arena);
    base_text_format(&path, "%s/docs/%s.md", CROFT_SOURCE_DIR, page);
    return path.bytes;
}

static const char *read_page(base_arena *arena, const char *page) {
    base_text out;
    base_text_init(&out, arena);
    FILE *file = fopen(path_of(arena, page), "rb");
    assert_non_null(file);
    char block[4096];
    for (size_t n = 0; (n = fread(block, 1, sizeof block, file)) > 0;)
        base_text_append(&out, block, n);
    fclose(file);
    return out.bytes;
}

static const char *const pages[] = {"ir", "passes", "simulator", "verify", "cost-models"};
enum { PAGES = sizeof pages / sizeof pages[0] };

static void tables_of_the_pages_are_those_of_the_program(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    for (int i = 0; i < PAGES; i++) {
        base_text expected;
        base_text_init(&expected, &arena);
        const char *text = read_page(&arena, pages[i]);
        renew(&expected, pages[i], text);
        assert_string_equal(text, expected.bytes);
    }
    base_arena_free(&arena);
}

static bool write_page(base_arena *arena, const char *page) {
    base_text out;
    base_text_init(&out, arena);
    renew(&out, page, read_page(arena, page));
    FILE *file = fopen(path_of(arena, page), "wb");
    if (file == NULL)
        return false;
    size_t written = fwrite(out.bytes, 1, (size_t)out.length, file);
    return fclose(file) == 0 && written == (size_t)out.length;
}

static int write_pages(void) {
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    bool ok = true;
    for (int i = 0; i < PAGES; i++)
        ok = write_page(&arena, pages[i]) && ok;
    base_arena_free(&arena);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "write") == 0)
        return write_pages();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_the_pages_are_those_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
