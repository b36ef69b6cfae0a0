/* Is what a pass says of itself true of the text, and does the text say all?
 *
 *     SAME       the complete text after it equals the one before, and only then
 *     pass-text  print(parse(print(module))) == print(module)
 *
 * found and expected are the first lines that differ.
 */
#include "pass/runner_internal.h"

#include "text/ir_parse.h"

#include <string.h>

/* The first line of `text` that `other` has not in its place; "nothing" past the end. */
static const char *first_difference(base_arena *arena, const char *text, const char *other) {
    size_t line = 0, at = 0;
    while (text[at] != '\0' && text[at] == other[at]) {
        at++;
        if (text[at - 1] == '\n')
            line = at;
    }
    if (text[line] == '\0')
        return "nothing";
    size_t length = strcspn(text + line, "\n");
    size_t blanks = strspn(text + line, " ");
    blanks = blanks < length ? blanks : 0;
    return base_arena_copy(arena, text + line + blanks, length - blanks);
}

static void show_difference(base_diagnostic *d, base_arena *arena, const char *found,
                            const char *expected) {
    d->found = first_difference(arena, found, expected);
    d->expected = first_difference(arena, expected, found);
}

bool runner_check_result(pass_runner *runner, const pass_row *pass, const runner_before *before,
                         const ir_module *module, pass_result result) {
    const char *after = runner_complete_text(module->arena, module);
    bool same = strcmp(before->text, after) == 0;
    if (same == (result == PASS_SAME))
        return true;
    base_diagnostic *d = runner_bug(runner, pass, "pass-result", (base_location){0},
                                    same ? "says CHANGED, but the text is the same"
                                         : "says SAME, but the text has changed");
    if (!same)
        show_difference(d, runner->diagnostics->arena, after, before->text);
    return false;
}

bool runner_check_text(pass_runner *runner, const pass_row *pass, const ir_module *module) {
    const char *text = runner_complete_text(module->arena, module);
    base_diagnostics findings;
    base_diagnostics_init(&findings, module->arena);
    base_source source = {.name = "<printed>", .text = text, .length = strlen(text)};
    const ir_module *read = text_ir_parse(module->arena, &source, &findings);
    if (read == NULL) {
        base_diagnostic *d = runner_bug(runner, pass, "pass-text", (base_location){0},
                                        "leaves a module whose text cannot be read");
        const base_diagnostic *first = &findings.items[0];
        d->found = base_diagnostics_text(runner->diagnostics, "line %d, %s", first->location.line,
                                         first->message);
        return false;
    }
    const char *again = runner_complete_text(module->arena, read);
    if (strcmp(text, again) == 0)
        return true;
    base_diagnostic *d = runner_bug(runner, pass, "pass-text", (base_location){0},
                                    "leaves a module that its text does not give back");
    show_difference(d, runner->diagnostics->arena, again, text);
    return false;
}
