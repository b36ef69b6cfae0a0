/* The commands that run nothing.
 *
 *     croft check FILE     compiles each kernel to level tile     croft show FILE    a .npy array
 *     croft emit FILE      to source, or to the IR of --level (embed.c: to C for embedders)
 *
 * Each is a stage of the compilation and a function that prints what has come of it.
 */
#include "answer.h"
#include "embed.h"
#include "emit_json.h"
#include "job.h"
#include "npy.h"
#include "output.h"
#include "simulate.h"

#include "ir/print.h"
#include "target/target.h"

#include <string.h>

/* Opens, compiles to the stage and calls `print`; closes whatever happens. `text` as cli_job_open
 * takes it. */
static int inspect_text(const cli_options *options, const base_source *text, compile_stage stage,
                        int (*print)(cli_job *job)) {
    cli_job job;
    int status = cli_job_open(&job, options, text);
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(&job);
    if (status == CLI_EXIT_OK)
        status = cli_job_compile(&job, stage, true);
    if (status == CLI_EXIT_OK)
        status = print(&job);
    cli_job_close(&job);
    return status;
}

static int inspect(const cli_options *options, compile_stage stage, int (*print)(cli_job *job)) {
    return inspect_text(options, NULL, stage, print);
}

/* ---- check ---- */

static int print_checked(cli_job *job) {
    if (!job->options->json)
        printf("%s: kernel %s is fine\n", job->options->file,
               text_kernel_name(job->compiled.kernel));
    return CLI_EXIT_OK;
}

typedef struct checked_kernel {
    const char *name, *level;
    bool fine;
    int64_t first, count; /* of its findings */
} checked_kernel;

static void write_checked(base_json *json, const void *state) {
    const checked_kernel *kernel = state;
    base_json_object(json, NULL);
    base_json_string(json, "kernel", kernel->name);
    base_json_string(json, "level", kernel->level);
    base_json_bool(json, "fine", kernel->fine);
    base_json_integer(json, "first_finding", kernel->first);
    base_json_integer(json, "findings", kernel->count);
    base_json_close(json);
}

void cli_say_checked(const cli_options *options, const char *name, const char *level, int status,
                     int64_t first) {
    checked_kernel kernel = {.name = name,
                             .level = level,
                             .fine = status == CLI_EXIT_OK,
                             .first = first,
                             .count = options->answer->finding_count - first};
    cli_answer_add(options, "kernels", name != NULL ? write_checked : NULL, &kernel);
}

static void write_verdict(base_json *json, const void *state) {
    const checked_kernel *file = state;
    base_json_string(json, "file", file->name);
    base_json_string(json, "verdict", file->fine ? "fine" : "refused");
}

int cli_say_verdict(const cli_options *options, int status) {
    checked_kernel file = {.name = options->file, .fine = status == CLI_EXIT_OK};
    if (status == CLI_EXIT_OK || status == CLI_EXIT_DIAGNOSTICS)
        cli_answer_write(options, write_verdict, &file);
    return status;
}

static int check_kernel(const cli_options *options, const char *name, const base_source *text) {
    cli_options one = *options;
    one.kernel = name;
    int64_t first = options->answer->finding_count;
    int status = inspect_text(&one, text, COMPILE_TO_TILE, print_checked);
    cli_say_checked(options, name, "tile", status, first);
    return status;
}

static int check_file(cli_job *job) {
    const cli_options *options = job->options;
    bool good = cli_read_file(&job->arena, options->file, &job->source, &job->diagnostics);
    text_file *file = good ? text_file_parse(&job->arena, &job->source, &job->diagnostics) : NULL;
    cli_say_findings(options, &job->diagnostics);
    if (!good)
        return CLI_EXIT_SYSTEM;
    if (job->diagnostics.count > 0)
        return CLI_EXIT_DIAGNOSTICS;
    int status = CLI_EXIT_OK;
    if (text_file_count(file) == 0)
        return inspect_text(options, &job->source, COMPILE_TO_TILE, print_checked);
    for (int i = 0; i < text_file_count(file); i++) {
        int result = check_kernel(options, text_kernel_name(text_file_at(file, i)), &job->source);
        status = result > status ? result : status;
    }
    return status;
}

/* Without --kernel every kernel of the file is checked; IR text is verified. */
int cli_check(const cli_options *options) {
    cli_answer_add(options, "kernels", NULL, NULL);
    if (cli_is_ir_text(options->file))
        return cli_say_verdict(options, cli_check_ir(options));
    if (options->kernel != NULL)
        return cli_say_verdict(options, check_kernel(options, options->kernel, NULL));
    cli_job job;
    jmp_buf exhausted;
    memset(&job, 0, sizeof job);
    job.options = options;
    base_arena_init(&job.arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&job.diagnostics, &job.arena);
    volatile int status = CLI_EXIT_SYSTEM;
    if (setjmp(exhausted) == 0)
        status = check_file(&job);
    else
        cli_out_of_memory(options);
    base_arena_free(&job.arena);
    return cli_say_verdict(options, status);
}

/* ---- emit ---- */

/* Text to -o FILE or to standard output; with --json into the file or the answer. */
static int deliver(cli_job *job, const char *level, const char *text) {
    const char *path = job->options->output;
    jmp_buf exhausted;
    job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(job->options);
    bool is_file = path != NULL && strcmp(path, "-") != 0;
    if ((is_file || !job->options->json) && !cli_output_text(path, text, &job->diagnostics)) {
        cli_say_findings(job->options, &job->diagnostics);
        return CLI_EXIT_SYSTEM;
    }
    cli_emitted emitted = {.job = job,
                           .level = level,
                           .text = is_file ? NULL : text,
                           .files = {path},
                           .file_count = is_file};
    cli_say_emitted(job->options, &emitted);
    return CLI_EXIT_OK;
}

static int print_module(cli_job *job) {
    const cli_options *options = job->options;
    jmp_buf exhausted;
    job->compiled.arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory(options);
    if (options->stop_after != NULL && !job->compiled.stopped)
        return cli_refuse(options, CLI_EXIT_USAGE, "pass-missing", NULL,
                          "--stop-after %.200s: the pass is not among those that run",
                          options->stop_after);
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    const compile_result *compiled = &job->compiled;
    bool tile = options->level != NULL && strcmp(options->level, "tile") == 0;
    const ir_module *first = tile                         ? compiled->tile
                             : compiled->launch_count > 0 ? compiled->launches[0].module
                                                          : compiled->module;
    if (tile || compiled->launch_count == 0)
        ir_module_print(&text, first, true);
    for (int i = 0; !tile && i < compiled->launch_count; i++)
        ir_module_print(&text, compiled->launches[i].module, true);
    return deliver(job, ir_level_name(first->level), text.bytes);
}

static int print_source(cli_job *job) {
    return job->options->stop_after != NULL ? print_module(job)
                                            : deliver(job, "source", job->compiled.source_text);
}

int cli_emit(const cli_options *options) {
    static const struct {
        const char *level;
        compile_stage stage;
    } levels[] = {
        {"tile", COMPILE_TO_TILE}, {"mapped", COMPILE_TO_MAPPED}, {"thread", COMPILE_TO_THREAD}};
    if (cli_embed_is_asked(options))
        return cli_embed(options);
    if (options->level == NULL) {
        if (options->target == NULL || target_find(options->target) != NULL)
            return inspect(options, COMPILE_TO_SOURCE, print_source);
        char hint[CLI_HINT_LIMIT] = "targets are";
        for (int i = 0; target_at(i) != NULL; i++)
            cli_hint_add(hint, " %s", target_at(i)->name);
        return cli_refuse(options, CLI_EXIT_USAGE, "unknown-target", hint, "unknown target: %.200s",
                          options->target);
    }
    for (int i = 0; i < 3; i++)
        if (strcmp(levels[i].level, options->level) == 0)
            return inspect(options, levels[i].stage, print_module);
    return cli_refuse(options, CLI_EXIT_USAGE, "unknown-level", "levels are tile, mapped, thread",
                      "unknown level: %.200s", options->level);
}

/* ---- show ---- */

static void print_array(const char *name, const cli_array *array) {
    jmp_buf exhausted;
    base_arena arena;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    if (setjmp(exhausted) == 0) {
        base_text text;
        base_text_init(&text, &arena);
        base_text_format(&text, "%s: ", name);
        cli_array_print_type(&text, array);
        base_text_string(&text, "\n");
        int64_t width = array->rank > 0 ? array->extent[array->rank - 1] : 1;
        for (int64_t i = 0; i < array->count && i < CLI_VALUES_LIMIT; i++) {
            base_text_string(&text, i % (width > 0 ? width : 1) == 0 ? "  " : " ");
            cli_array_print_element(&text, array, i);
            if ((i + 1) % (width > 0 ? width : 1) == 0)
                base_text_string(&text, "\n");
        }
        if (array->count > CLI_VALUES_LIMIT)
            base_text_format(&text, "\n  ... %lld elements in all\n", (long long)array->count);
        fputs(text.bytes, stdout);
    }
    base_arena_free(&arena);
}

void cli_print_array(const cli_options *options, const char *name, const cli_array *array) {
    if (!options->json)
        print_array(name, array);
}

typedef struct shown_array {
    const char *file;
    const cli_array *array;
} shown_array;

static void write_array(base_json *json, const void *state) {
    const shown_array *shown = state;
    base_json_string(json, "file", shown->file);
    cli_array_facts_json(json, shown->array);
    base_json_string(json, "order", "C");
    cli_array_values_json(json, shown->array);
}

static int show(const cli_options *options, cli_array *array, base_diagnostics *diagnostics) {
    if (cli_npy_read(options->file, false, array, diagnostics)) {
        cli_print_array(options, options->file, array);
        cli_answer_write(options, write_array, &(shown_array){options->file, array});
        return CLI_EXIT_OK;
    }
    cli_say_findings(options, diagnostics);
    bool is_format = strncmp(diagnostics->items[0].slug, "npy-", 4) == 0;
    return is_format ? CLI_EXIT_DIAGNOSTICS : CLI_EXIT_SYSTEM;
}

int cli_show(const cli_options *options) {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&diagnostics, &arena);
    volatile int status = CLI_EXIT_SYSTEM;
    cli_array array = {0};
    if (setjmp(exhausted) == 0)
        status = show(options, &array, &diagnostics);
    else
        cli_out_of_memory(options);
    cli_array_free(&array);
    base_arena_free(&arena);
    return status;
}
