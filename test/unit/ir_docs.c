/* docs/ir.md has the tables of ops, monoids and rules as the .def files have them. `unit_ir_docs
 * write` puts them there. */
#include "ir/module.h"
#include "verify/verify_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char path[] = CROFT_SOURCE_DIR "/docs/ir.md";

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

static void append_rules(base_text *out) {
    base_text_string(out, "\n| rule | |\n|---|---|\n");
    for (int i = 0; i < VERIFY_RULE_COUNT; i++) {
        base_text_format(out, "| `%s` | ", verify_rule_slug((verify_rule)i));
        append_cell(out, verify_rule_doc((verify_rule)i));
        base_text_string(out, " |\n");
    }
    base_text_string(out, "\n");
}

/* The text with what stands between `<!-- name -->` and `<!-- end -->` made anew. */
static void renew(base_text *out, const char *text) {
    static const struct {
        const char *mark;
        void (*append)(base_text *out);
    } tables[] = {{"<!-- ops -->\n", append_ops},
                  {"<!-- monoids -->\n", append_monoids},
                  {"<!-- rules -->\n", append_rules}};
    for (int i = 0; i < 3; i++) {
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

static const char *read_file(base_arena *arena) {
    base_text out;
    base_text_init(&out, arena);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char block[4096];
    for (size_t n = 0; (n = fread(block, 1, sizeof block, file)) > 0;)
        base_text_append(&out, block, n);
    fclose(file);
    return out.bytes;
}

static void tables_of_the_page_are_those_of_the_program(void **state) {
    (void)state;
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_text expected;
    base_text_init(&expected, &arena);
    const char *text = read_file(&arena);
    renew(&expected, text);
    assert_string_equal(text, expected.bytes);
    base_arena_free(&arena);
}

static int write_tables(void) {
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_text out;
    base_text_init(&out, &arena);
    renew(&out, read_file(&arena));
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return 1;
    size_t written = fwrite(out.bytes, 1, (size_t)out.length, file);
    bool ok = fclose(file) == 0 && written == (size_t)out.length;
    base_arena_free(&arena);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "write") == 0)
        return write_tables();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_of_the_page_are_those_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
