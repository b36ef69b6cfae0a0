/* Passes on the command line.
 *
 *     croft opt --list
 *     croft emit k.croft --print-after expand       the IR after that pass, on stderr
 *     croft emit k.croft --stop-after map           the IR after that pass instead of source
 */
#include "passes.h"

#include "answer.h"

#include "ir/print.h"

#include <string.h>

static const char *level_word(const pass_row *pass, ir_level level) {
    return pass->to == PASS_STAYS ? ir_level_name(level) : ir_level_name((ir_level)pass->to);
}

static void print_list(FILE *out) {
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

static void write_list_json(base_json *json, const void *state) {
    (void)state;
    const pass_row *pass;
    base_json_array(json, "passes");
    for (int i = 0; (pass = pass_at(i)) != NULL; i++) {
        base_json_object(json, NULL);
        base_json_string(json, "pass", pass->name);
        base_json_array(json, "from");
        for (int level = IR_TILE; level <= IR_THREAD; level++)
            if ((pass->from >> level & 1) != 0)
                base_json_string(json, NULL, ir_level_name((ir_level)level));
        base_json_close(json);
        base_json_string(json, "to",
                         pass->to == PASS_STAYS ? NULL : ir_level_name((ir_level)pass->to));
        base_json_string(json, "does", pass->doc);
        base_json_close(json);
    }
    base_json_close(json);
    base_json_array(json, "pipeline");
    pass_step step;
    for (int k = 0; pass_pipeline_at(k, &step); k++) {
        base_json_object(json, NULL);
        base_json_string(json, "pass", step.pass->name);
        base_json_bool(json, "again", step.again);
        base_json_close(json);
    }
    base_json_close(json);
}

void cli_passes_answer(const cli_options *options) {
    if (options->json)
        cli_answer_write(options, write_list_json, NULL);
    else
        print_list(stdout);
}

const char *cli_passes_names(base_diagnostics *diagnostics) {
    base_text text;
    base_text_init(&text, diagnostics->arena);
    const pass_row *pass;
    for (int i = 0; (pass = pass_at(i)) != NULL; i++)
        base_text_format(&text, "%s%s", i > 0 ? ", " : "", pass->name);
    return text.bytes;
}

static bool find(const cli_options *options, const char *option, const char *name,
                 const pass_row **pass) {
    *pass = name != NULL ? pass_find(name, strlen(name)) : NULL;
    if (name == NULL || *pass != NULL)
        return true;
    char hint[CLI_HINT_LIMIT] = "passes are";
    for (int i = 0; pass_at(i) != NULL; i++)
        cli_hint_add(hint, " %s", pass_at(i)->name);
    cli_refuse(options, CLI_EXIT_USAGE, "unknown-pass", hint, "%s: unknown pass: %.200s", option,
               name);
    return false;
}

bool cli_passes_options(const cli_options *options, const pass_row **stop_after) {
    const pass_row *unused;
    const char *print = options->print_after;
    return find(options, "--stop-after", options->stop_after, stop_after) &&
           (print == NULL || strcmp(print, "all") == 0 ||
            find(options, "--print-after", print, &unused));
}

typedef struct printed_module {
    const char *pass;
    const ir_module *module;
} printed_module;

static void write_printed(base_json *json, const void *state) {
    const printed_module *printed = state;
    base_text text;
    base_text_init(&text, json->out->arena);
    ir_module_print(&text, printed->module, true);
    base_json_object(json, NULL);
    base_json_string(json, "pass", printed->pass);
    base_json_string(json, "text", text.bytes);
    base_json_close(json);
}

void cli_passes_print_after(void *state, const pass_row *pass, const ir_module *module) {
    const cli_options *options = state;
    if (options->print_after == NULL ||
        (strcmp(options->print_after, "all") != 0 && strcmp(options->print_after, pass->name) != 0))
        return;
    if (options->json) {
        printed_module printed = {.pass = pass->name, .module = module};
        cli_answer_add(options, "printed", write_printed, &printed);
        return;
    }
    base_text text;
    base_text_init(&text, module->arena);
    base_text_format(&text, "# after %s\n", pass->name);
    ir_module_print(&text, module, true);
    fputs(text.bytes, stderr);
}
