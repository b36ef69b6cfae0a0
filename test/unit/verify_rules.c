/* Every rule of the verifier has texts that it alone rejects, which pass when that one rule is
 * disabled, and texts that it accepts: test/verify/SLUG.ir, cases separated by `---`, each with a
 * first line `# reject: why` or `# accept: why`. */
#include "arena_fixture.h"
#include "damage_fixture.h"

#include "text/ir_parse.h"
#include "verify/verify_internal.h"

#include <stdio.h>
#include <string.h>

static char *read_file(fixture *f, const char *slug) {
    base_text path, out;
    base_text_init(&path, &f->arena);
    base_text_init(&out, &f->arena);
    base_text_format(&path, "%s/test/verify/%s.ir", CROFT_SOURCE_DIR, slug);
    FILE *file = fopen(path.bytes, "rb");
    if (file == NULL)
        fail_msg("rule %s has no texts: %s", slug, path.bytes);
    char block[4096];
    for (size_t n = 0; (n = fread(block, 1, sizeof block, file)) > 0;)
        base_text_append(&out, block, n);
    fclose(file);
    return out.bytes;
}

static const ir_module *parse(fixture *f, const char *slug, const char *text) {
    base_source *source = BASE_NEW(&f->arena, base_source);
    *source = (base_source){.name = slug, .text = text, .length = strlen(text)};
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    const ir_module *module = text_ir_parse(&f->arena, source, &diagnostics);
    if (module == NULL)
        fail_msg("%s\n%s", text, render(f, &diagnostics));
    return module;
}

static void check_accepts(fixture *f, const ir_module *module, const char *disabled,
                          const char *text) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    if (!verify_module(module, disabled, &diagnostics))
        fail_msg("refused%s%s:\n%s\n%s", disabled != NULL ? " without " : "",
                 disabled != NULL ? disabled : "", text, render(f, &diagnostics));
    assert_int_equal(diagnostics.count, 0);
}

static void check_rejects(fixture *f, const ir_module *module, const char *slug, const char *text) {
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &f->arena);
    if (verify_module(module, NULL, &diagnostics) || diagnostics.count == 0)
        fail_msg("%s accepts:\n%s", slug, text);
    for (int i = 0; i < diagnostics.count; i++)
        if (strcmp(diagnostics.items[i].slug, slug) != 0)
            fail_msg("%s is not alone:\n%s\n%s", slug, text, render(f, &diagnostics));
    check_accepts(f, module, slug, text);
}

static void check_rule(fixture *f, const char *slug) {
    int accepted = 0, rejected = 0;
    for (char *text = read_file(f, slug), *next; text != NULL; text = next) {
        next = strstr(text, "\n---\n");
        if (next != NULL) {
            next[1] = '\0';
            next += strlen("\n---\n");
        }
        const ir_module *module = parse(f, slug, text);
        if (strncmp(text, "# reject: ", 10) == 0) {
            check_rejects(f, module, slug, text);
            rejected++;
        } else {
            assert_int_equal(strncmp(text, "# accept: ", 10), 0);
            check_accepts(f, module, NULL, text);
            accepted++;
        }
    }
    if (accepted == 0 || rejected == 0)
        fail_msg("%s needs a text that it accepts and one that it rejects", slug);
}

static void every_rule_alone_rejects_its_texts(void **state) {
    fixture *f = *state;
    for (int i = 0; i < VERIFY_RULE_COUNT; i++)
        check_rule(f, verify_rule_slug((verify_rule)i));
}

/* Rules assume nothing of what other rules check: whatever parses gets findings or none. */
static void damaged_modules_get_findings_or_none(void **state) {
    fixture *f = *state;
    uint64_t random = 7;
    int parsed = 0, refused = 0;
    for (int i = 0; i < VERIFY_RULE_COUNT; i++) {
        const char *slug = verify_rule_slug((verify_rule)i);
        for (char *text = read_file(f, slug), *next; text != NULL; text = next) {
            next = strstr(text, "\n---\n");
            if (next != NULL) {
                next[1] = '\0';
                next += strlen("\n---\n");
            }
            for (int round = 0; round < 40; round++) {
                base_diagnostics diagnostics;
                base_diagnostics_init(&diagnostics, &f->arena);
                char *damaged = damage_text(&f->arena, text, &random);
                base_source source = {slug, damaged, strlen(damaged)};
                const ir_module *module = text_ir_parse(&f->arena, &source, &diagnostics);
                if (module == NULL)
                    continue;
                parsed++;
                refused += !verify_module(module, NULL, &diagnostics);
                verify_module(module, slug, &diagnostics);
            }
        }
    }
    assert_true(parsed > 500 && refused > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_rule_alone_rejects_its_texts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_modules_get_findings_or_none, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
