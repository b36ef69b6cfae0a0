/* Passes on the command line.
 *
 *     croft opt --list
 *     croft emit k.croft --print-after expand       the IR after that pass, on stderr
 *     croft emit k.croft --stop-after map           the IR after that pass instead of source
 */
#include "passes.h"

#include "ir/print.h"

#include <string.h>

static const char *level_word(const pass_row *pass, ir_level level) {
    return pass->to == PASS_STAYS ? ir_level_name(level) : ir_level_name((ir_level)pass->to);
}

void cli_passes_list(FILE *out) {
    const pass_row *pass;
    for (int i = 0; (pass = pass_at(i)) != NULL; i++) {
        fprintf(out, "%-14s", pass->name);
        for (int level = IR_TILE, some = 0; level <= IR_THREAD; level++)
            if ((pass->from >> level & 1) != 0)
                fprintf(out, "%s%s to %s", some++ > 0 ? ", " : "", ir_level_name((ir_level)level),
                        level_word(pass, (ir_level)level));
        fprintf(out, "\n    %s\n", pass->doc);
    }
    fputs("\npipeline:", out);
    pass_step step;
    for (int k = 0, open = 0; pass_pipeline_at(k, &step); k++) {
        fprintf(out, "%s%s", step.again && !open ? " (" : k > 0 ? ", " : " ", step.pass->name);
        open = step.again;
    }
    fputs("), what stands in parentheses again while it changes something\n", out);
}

const char *cli_passes_names(base_diagnostics *diagnostics) {
    base_text text;
    base_text_init(&text, diagnostics->arena);
    const pass_row *pass;
    for (int i = 0; (pass = pass_at(i)) != NULL; i++)
        base_text_format(&text, "%s%s", i > 0 ? ", " : "", pass->name);
    return text.bytes;
}

static bool find(const char *option, const char *name, const pass_row **pass) {
    *pass = name != NULL ? pass_find(name, strlen(name)) : NULL;
    if (name == NULL || *pass != NULL)
        return true;
    fprintf(stderr, "croft: %s: unknown pass: %.200s\n  passes are", option, name);
    for (int i = 0; pass_at(i) != NULL; i++)
        fprintf(stderr, " %s", pass_at(i)->name);
    fputs("\n", stderr);
    return false;
}

bool cli_passes_options(const cli_options *options, const pass_row **stop_after) {
    const pass_row *unused;
    const char *print = options->print_after;
    return find("--stop-after", options->stop_after, stop_after) &&
           (print == NULL || strcmp(print, "all") == 0 || find("--print-after", print, &unused));
}

void cli_passes_print_after(void *state, const pass_row *pass, const ir_module *module) {
    const cli_options *options = state;
    if (options->print_after == NULL ||
        (strcmp(options->print_after, "all") != 0 && strcmp(options->print_after, pass->name) != 0))
        return;
    base_text text;
    base_text_init(&text, module->arena);
    base_text_format(&text, "# after %s\n", pass->name);
    ir_module_print(&text, module, true);
    fputs(text.bytes, stderr);
}
