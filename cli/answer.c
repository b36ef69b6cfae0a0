/* Answers: findings as text or as data, and the object around what a command has found.
 *
 *     croft check bad.croft            bad.croft:3:9: error: unknown name `z` [unknown-name] ...
 *     croft check bad.croft --json     {"schema": "croft-check/1", "exit_code": 3, "findings":
 *                                      [{"severity": "error", "slug": "unknown-name", ...}], ...}
 *
 * Where memory for the answer runs out, a fixed text says so: an answer is whole or not there.
 */
#include "answer.h"

#include "output.h"

#include <stdarg.h>
#include <string.h>

enum { MESSAGE_LIMIT = 1000, ITEM_DEPTH = 2 };

/* ---- schemas ---- */

typedef struct schema_row {
    const char *command, *word; /* the word: a verb or an option; NULL: none */
    const char *schema;
} schema_row;

static const schema_row schemas[] = {
    {"run", NULL, "croft-run/1"},
    {"check", NULL, "croft-check/1"},
    {"emit", NULL, "croft-emit/1"},
    {"plan", "--all", "croft-plan-all/1"},
    {"plan", NULL, "croft-plan/1"},
    {"explain", NULL, "croft-explain/1"},
    {"opt", "--list", "croft-passes/1"},
    {"opt", NULL, "croft-opt/1"},
    {"layout", "show", "croft-layout-show/1"},
    {"layout", "compare", "croft-layout-compare/1"},
    {"layout", "convert", "croft-layout-convert/1"},
    {"show", NULL, "croft-show/1"},
    {"devices", NULL, "croft-devices/1"},
    {"cache", "gc", "croft-cache-removed/1"},
    {"cache", "ls", "croft-cache/1"},
    {"cache", "verify", "croft-cache/1"},
    {"version", NULL, "croft-version/1"},
    {"help", NULL, "croft-help/1"},
};

/* What of the words decides beside the command. */
static const char *deciding_word(const cli_options *options, const char *command) {
    if (strcmp(command, "layout") == 0)
        return options->word_count > 0 ? options->words[0] : "";
    if (strcmp(command, "cache") == 0)
        return options->file != NULL ? options->file : "";
    return options->all ? "--all" : options->list ? "--list" : "";
}

/* Of words that name no command, it is a failure of no schema of its own. */
static const char *find_schema(const cli_options *options) {
    const char *command = options->help ? "help" : options->version ? "version" : options->command;
    for (size_t i = 0; command != NULL && i < sizeof schemas / sizeof schemas[0]; i++)
        if (strcmp(schemas[i].command, command) == 0 &&
            (schemas[i].word == NULL ||
             strcmp(schemas[i].word, deciding_word(options, command)) == 0))
            return schemas[i].schema;
    return "croft-failure/1";
}

/* ---- parts ---- */

static void begin_list(cli_answer *answer, cli_answer_list *list, const char *key) {
    list->key = key;
    list->text = (base_text){.arena = &answer->arena};
    list->json = base_json_begin_part(&list->text, ITEM_DEPTH, true);
}

void cli_answer_open(cli_answer *answer, bool is_json) {
    memset(answer, 0, sizeof *answer);
    answer->is_json = is_json;
    base_arena_init(&answer->arena, base_allocator_default(), NULL);
    answer->member_text = (base_text){.arena = &answer->arena};
    answer->members = base_json_begin_part(&answer->member_text, 1, false);
    begin_list(answer, &answer->findings, "findings");
    begin_list(answer, &answer->printed, "printed");
}

/* A writer that memory unwinds stays counted as unfinished. */
static void write_part(cli_answer *answer, base_json *json, cli_answer_writer *write,
                       const void *state) {
    jmp_buf exhausted, *outer = answer->arena.exhausted;
    answer->arena.exhausted = &exhausted;
    answer->unfinished++;
    if (setjmp(exhausted) == 0) {
        write(json, state);
        answer->unfinished--;
    }
    answer->arena.exhausted = outer;
}

void cli_answer_write(const cli_options *options, cli_answer_writer *write, const void *state) {
    cli_answer *answer = options->answer;
    if (!answer->is_json)
        return;
    answer->is_complete = true;
    write_part(answer, &answer->members, write, state);
}

static cli_answer_list *find_list(cli_answer *answer, const char *key) {
    if (strcmp(key, answer->printed.key) == 0)
        return &answer->printed;
    for (int i = 0; i < answer->list_count; i++)
        if (strcmp(answer->lists[i].key, key) == 0)
            return &answer->lists[i];
    cli_answer_list *list = &answer->lists[answer->list_count++];
    begin_list(answer, list, key);
    return list;
}

void cli_answer_add(const cli_options *options, const char *key, cli_answer_writer *write,
                    const void *state) {
    cli_answer *answer = options->answer;
    if (!answer->is_json)
        return;
    cli_answer_list *list = find_list(answer, key);
    if (write != NULL)
        write_part(answer, &list->json, write, state);
}

void cli_answer_text(base_json *json, const void *text) {
    base_json_string(json, NULL, text);
}

/* ---- findings ---- */

typedef struct finding {
    const char *severity;
    const base_diagnostic *of;
} finding;

static void write_place(base_json *json, const char *key, int32_t number) {
    if (number > 0)
        base_json_integer(json, key, number);
    else
        base_json_null(json, key);
}

static void write_finding(base_json *json, const void *state) {
    const finding *found = state;
    const base_diagnostic *d = found->of;
    bool placed = d->location.source != NULL && d->location.line > 0;
    base_json_object(json, NULL);
    base_json_string(json, "severity", found->severity);
    base_json_string(json, "slug", d->slug);
    base_json_string(json, "source", d->location.source != NULL ? d->location.source->name : NULL);
    write_place(json, "line", placed ? d->location.line : 0);
    write_place(json, "column", placed ? d->location.column : 0);
    write_place(json, "length", placed ? d->location.length : 0);
    base_json_string(json, "message", d->message);
    base_json_string(json, "found", d->found);
    base_json_string(json, "expected", d->expected);
    base_json_string(json, "hint", d->hint);
    base_json_close(json);
}

static void add_finding(cli_answer *answer, const char *severity, const base_diagnostic *d) {
    finding found = {.severity = severity, .of = d};
    answer->finding_count++;
    write_part(answer, &answer->findings.json, write_finding, &found);
}

static void print_findings(const base_diagnostics *diagnostics) {
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    if (setjmp(exhausted) == 0) {
        base_text text;
        base_text_init(&text, &arena);
        base_diagnostics_render(&text, diagnostics);
        fputs(text.bytes, stderr);
    }
    base_arena_free(&arena);
}

void cli_say_findings(const cli_options *options, const base_diagnostics *diagnostics) {
    cli_answer *answer = options->answer;
    if (!answer->is_json) {
        print_findings(diagnostics);
        return;
    }
    answer->left_out += diagnostics->dropped;
    for (int i = 0; i < diagnostics->count; i++)
        add_finding(answer, "error", &diagnostics->items[i]);
}

static void say(cli_answer *answer, const char *severity, const base_diagnostic *d) {
    if (answer->is_json)
        add_finding(answer, severity, d);
    else
        fprintf(stderr, d->hint != NULL ? "croft: %s\n  %s\n" : "croft: %s\n", d->message, d->hint);
}

int cli_refuse(const cli_options *options, int status, const char *slug, const char *hint,
               const char *format, ...) {
    char message[MESSAGE_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    base_diagnostic d = {.slug = slug, .message = message, .hint = hint};
    say(options->answer, "error", &d);
    return status;
}

void cli_warn(const cli_options *options, const char *slug, const char *format, ...) {
    char message[MESSAGE_LIMIT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    base_diagnostic d = {.slug = slug, .message = message};
    say(options->answer, "warning", &d);
}

int cli_out_of_memory(const cli_options *options) {
    return cli_refuse(options, CLI_EXIT_SYSTEM, "out-of-memory", NULL, "out of memory");
}

void cli_hint_add(char hint[CLI_HINT_LIMIT], const char *format, ...) {
    size_t length = strlen(hint);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(hint + length, CLI_HINT_LIMIT - length, format, arguments);
    va_end(arguments);
}

/* ---- the object ---- */

static void append_list(base_json *json, const cli_answer_list *list) {
    base_json_array(json, list->key);
    base_json_append(json, &list->json);
    base_json_close(json);
}

static void write_object(base_text *out, const cli_answer *answer, const char *schema) {
    base_json json = base_json_begin(out);
    base_json_object(&json, NULL);
    base_json_string(&json, "schema", schema);
    base_json_integer(&json, "exit_code", answer->exit_code);
    append_list(&json, &answer->findings);
    base_json_integer(&json, "findings_left_out", answer->left_out);
    if (answer->printed.text.length > 0)
        append_list(&json, &answer->printed);
    if (answer->is_complete) {
        base_json_append(&json, &answer->members);
        for (int i = 0; i < answer->list_count; i++)
            append_list(&json, &answer->lists[i]);
    }
    base_json_close(&json);
}

/* What -o of these names is a text for another tool. */
static bool output_is_text(const cli_options *options) {
    const char *command = options->command != NULL ? options->command : "";
    return strcmp(command, "emit") == 0 || strcmp(command, "opt") == 0;
}

static void deliver(cli_answer *answer, const cli_options *options, const char *schema) {
    base_text text;
    base_text_init(&text, &answer->arena);
    write_object(&text, answer, schema);
    const char *path = answer->is_complete && !output_is_text(options) ? options->output : NULL;
    base_diagnostics diagnostics;
    base_diagnostics_init(&diagnostics, &answer->arena);
    if (cli_output_text(path, text.bytes, &diagnostics))
        return;
    answer->is_complete = false;
    answer->exit_code = CLI_EXIT_SYSTEM;
    cli_say_findings(options, &diagnostics);
    base_text_init(&text, &answer->arena);
    write_object(&text, answer, schema);
    fputs(text.bytes, stdout);
}

static void deliver_exhausted(cli_answer *answer, const char *schema) {
    answer->exit_code = CLI_EXIT_SYSTEM;
    printf("{\n  \"schema\": \"%s\",\n  \"exit_code\": %d,\n  \"findings\": [\n    {\"severity\": "
           "\"error\", \"slug\": \"out-of-memory\", \"source\": null, \"line\": null, \"column\": "
           "null, \"length\": null, \"message\": \"out of memory\", \"found\": null, \"expected\": "
           "null, \"hint\": null}\n  ],\n  \"findings_left_out\": 0\n}\n",
           schema, CLI_EXIT_SYSTEM);
}

/* Of a failure that nobody has spoken of, memory has run out in the speaking. */
static void deliver_guarded(cli_answer *answer, const cli_options *options, const char *schema) {
    jmp_buf exhausted;
    bool silent = answer->exit_code == CLI_EXIT_SYSTEM && answer->finding_count == 0;
    answer->arena.exhausted = &exhausted;
    if (silent || answer->unfinished > 0 || setjmp(exhausted) != 0)
        deliver_exhausted(answer, schema);
    else
        deliver(answer, options, schema);
}

int cli_answer_close(cli_answer *answer, const cli_options *options, int status) {
    answer->exit_code = status;
    if (answer->is_json)
        deliver_guarded(answer, options, find_schema(options));
    base_arena_free(&answer->arena);
    return answer->exit_code;
}
