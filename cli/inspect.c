/* The commands that run nothing.
 *
 *     croft check FILE     compiles each kernel to level tile     croft show FILE    a .npy array
 *     croft emit FILE      to source, or to the IR of --level (embed.c: to C for embedders)
 *
 * Each is a stage of the compilation and a function that prints what has come of it.
 */
#include "embed.h"
#include "job.h"
#include "npy.h"
#include "output.h"
#include "simulate.h"

#include "ir/print.h"
#include "target/target.h"

#include <string.h>

enum { SHOW_LIMIT = 1000 };

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

/* Text to -o FILE or to standard output. */
static int deliver(cli_job *job, const char *text) {
    jmp_buf exhausted;
    job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return CLI_EXIT_SYSTEM;
    if (cli_output_text(job->options->output, text, &job->diagnostics))
        return CLI_EXIT_OK;
    cli_print_diagnostics(&job->diagnostics);
    return CLI_EXIT_SYSTEM;
}

static int print_checked(cli_job *job) {
    fprintf(stdout, "%s: kernel %s is fine\n", job->options->file,
            text_kernel_name(job->compiled.kernel));
    return CLI_EXIT_OK;
}

/* Without --kernel every kernel of the file is checked; IR text is verified. */
int cli_check(const cli_options *options) {
    if (cli_is_ir_text(options->file))
        return cli_check_ir(options);
    if (options->kernel != NULL)
        return inspect(options, COMPILE_TO_TILE, print_checked);
    cli_job job;
    jmp_buf exhausted;
    memset(&job, 0, sizeof job);
    base_arena_init(&job.arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&job.diagnostics, &job.arena);
    if (setjmp(exhausted) != 0) {
        base_arena_free(&job.arena);
        return CLI_EXIT_SYSTEM;
    }
    int status = CLI_EXIT_SYSTEM, count = 0;
    const char *names[256] = {0};
    if (cli_read_file(&job.arena, options->file, &job.source, &job.diagnostics)) {
        text_file *file = text_file_parse(&job.arena, &job.source, &job.diagnostics);
        status = job.diagnostics.count > 0 ? CLI_EXIT_DIAGNOSTICS : CLI_EXIT_OK;
        for (; status == CLI_EXIT_OK && count < text_file_count(file) && count < 256; count++)
            names[count] = text_kernel_name(text_file_at(file, count));
    }
    cli_print_diagnostics(&job.diagnostics);
    if (status == CLI_EXIT_OK && count == 0)
        status = inspect_text(options, &job.source, COMPILE_TO_TILE, print_checked);
    for (int i = 0; i < count; i++) {
        cli_options one = *options;
        one.kernel = names[i];
        int result = inspect_text(&one, &job.source, COMPILE_TO_TILE, print_checked);
        status = result > status ? result : status;
    }
    base_arena_free(&job.arena);
    return status;
}

static int print_module(cli_job *job) {
    const cli_options *options = job->options;
    jmp_buf exhausted;
    job->compiled.arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return CLI_EXIT_SYSTEM;
    if (options->stop_after != NULL && !job->compiled.stopped) {
        fprintf(stderr, "croft: --stop-after %.200s: the pass is not among those that run\n",
                options->stop_after);
        return CLI_EXIT_USAGE;
    }
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    const compile_result *compiled = &job->compiled;
    bool tile = options->level != NULL && strcmp(options->level, "tile") == 0;
    if (tile || compiled->launch_count == 0)
        ir_module_print(&text, tile ? compiled->tile : compiled->module, true);
    for (int i = 0; !tile && i < compiled->launch_count; i++)
        ir_module_print(&text, compiled->launches[i].module, true);
    return deliver(job, text.bytes);
}

static int print_source(cli_job *job) {
    return job->options->stop_after != NULL ? print_module(job)
                                            : deliver(job, job->compiled.source_text);
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
        fprintf(stderr, "croft: unknown target: %.200s\n  targets are", options->target);
        for (int i = 0; target_at(i) != NULL; i++)
            fprintf(stderr, " %s", target_at(i)->name);
        fputs("\n", stderr);
        return CLI_EXIT_USAGE;
    }
    for (int i = 0; i < 3; i++)
        if (strcmp(levels[i].level, options->level) == 0)
            return inspect(options, levels[i].stage, print_module);
    fprintf(stderr, "croft: unknown level: %.200s\n  levels are tile, mapped, thread\n",
            options->level);
    return CLI_EXIT_USAGE;
}

/* ---- show ---- */

void cli_print_array(const char *name, const cli_array *array) {
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
        for (int64_t i = 0; i < array->count && i < SHOW_LIMIT; i++) {
            base_text_string(&text, i % (width > 0 ? width : 1) == 0 ? "  " : " ");
            cli_array_print_element(&text, array, i);
            if ((i + 1) % (width > 0 ? width : 1) == 0)
                base_text_string(&text, "\n");
        }
        if (array->count > SHOW_LIMIT)
            base_text_format(&text, "\n  ... %lld elements in all\n", (long long)array->count);
        fputs(text.bytes, stdout);
    }
    base_arena_free(&arena);
}

int cli_show(const cli_options *options) {
    base_arena arena;
    jmp_buf exhausted;
    base_diagnostics diagnostics;
    base_arena_init(&arena, base_allocator_default(), &exhausted);
    base_diagnostics_init(&diagnostics, &arena);
    int status = CLI_EXIT_SYSTEM;
    cli_array array = {0};
    if (setjmp(exhausted) == 0) {
        if (cli_npy_read(options->file, false, &array, &diagnostics)) {
            cli_print_array(options->file, &array);
            status = CLI_EXIT_OK;
        } else {
            cli_print_diagnostics(&diagnostics);
            bool file = strncmp(diagnostics.items[0].slug, "npy-", 4) != 0;
            status = file ? CLI_EXIT_SYSTEM : CLI_EXIT_DIAGNOSTICS;
        }
    }
    cli_array_free(&array);
    base_arena_free(&arena);
    return status;
}
