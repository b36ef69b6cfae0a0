/* explain: what was decided for a kernel on a machine, and what the thread module holds.
 *
 *     croft explain softmax.croft N=1009 --machine sm_90            one screen
 *     croft explain softmax.croft N=1009 --machine sm_90 --json     the same for programs
 *     croft explain softmax.croft N=1009 --html -o softmax.html     a page with pictures
 *     croft explain transpose8.croft --value v --svg -o v.svg       who owns each element of v
 *
 * It compiles to level thread, runs nothing, and prints the report of compile/report.h.
 */
#include "explain.h"

#include "job.h"
#include "output.h"

#include <string.h>

static int refuse_value(const compile_report *report, const char *wanted) {
    fprintf(stderr, "croft: kernel %s has no tile named %.200s\n  its tiles are", report->kernel,
            wanted);
    for (int64_t i = 0; i < report->value_count; i++)
        fprintf(stderr, "%s %s", i > 0 ? "," : "", report->values[i].anchor);
    fputs(report->value_count == 0 ? " none\n" : "\n", stderr);
    return CLI_EXIT_USAGE;
}

/* CLI_EXIT_OK with the tile of --value, or NULL where the whole report is wanted. */
static int find_value(const cli_options *options, const compile_report *report,
                      const compile_report_value **value) {
    *value = NULL;
    if (options->value == NULL)
        return CLI_EXIT_OK;
    *value = compile_report_find(report, options->value);
    if (*value == NULL)
        return refuse_value(report, options->value);
    if ((*value)->tile.rank > 0)
        return CLI_EXIT_OK;
    fprintf(stderr,
            "croft: %.200s: a tile whose axes share lanes or slots, or are shifted, is "
            "not drawn\n",
            options->value);
    return CLI_EXIT_USAGE;
}

static void write_report(base_text *out, const cli_options *options, const compile_report *report,
                         const compile_report_value *value) {
    if (value != NULL)
        cli_explain_picture(out, report, value, options->html);
    else if (options->html)
        cli_explain_page(out, report);
    else if (options->json)
        cli_explain_json(out, report);
    else
        cli_explain_text(out, report);
}

/* The launch that has the tile of --value; without one the first. */
static const compile_report *choose_report(const cli_job *job) {
    const compile_result *compiled = &job->compiled;
    for (int i = 0; job->options->value != NULL && i < compiled->launch_count; i++)
        if (compile_report_find(compiled->launches[i].report, job->options->value) != NULL)
            return compiled->launches[i].report;
    return compiled->report;
}

/* One report for each launch: texts behind each other, for programs a list. */
static void write_reports(base_text *out, const cli_job *job) {
    const compile_result *compiled = &job->compiled;
    bool list = job->options->json && compiled->launch_count > 1;
    base_text_string(out, list ? "[" : "");
    for (int i = 0; i < compiled->launch_count; i++) {
        base_text_string(out, i == 0 ? "" : list ? ", " : "\n");
        write_report(out, job->options, compiled->launches[i].report, NULL);
    }
    base_text_string(out, list ? "]\n" : "");
}

static int print_report(cli_job *job) {
    jmp_buf exhausted;
    job->compiled.arena.exhausted = job->arena.exhausted = &exhausted;
    if (setjmp(exhausted) != 0)
        return cli_out_of_memory();
    const compile_report *report = choose_report(job);
    const compile_report_value *value;
    int status = find_value(job->options, report, &value);
    if (status == CLI_EXIT_OK && value == NULL && job->options->html &&
        job->compiled.launch_count > 1) {
        fputs("croft: explain: a kernel of several launches has no page; the text shows them all\n",
              stderr);
        status = CLI_EXIT_USAGE;
    }
    if (status != CLI_EXIT_OK)
        return status;
    base_text text;
    base_text_init(&text, &job->compiled.arena);
    if (value != NULL)
        write_report(&text, job->options, report, value);
    else
        write_reports(&text, job);
    if (cli_output_text(job->options->output, text.bytes, &job->diagnostics))
        return CLI_EXIT_OK;
    cli_print_diagnostics(&job->diagnostics);
    return CLI_EXIT_SYSTEM;
}

static int usage(const char *message) {
    fprintf(stderr, "croft: explain: %s\n(`croft --help` lists the options)\n", message);
    return CLI_EXIT_USAGE;
}

int cli_explain(const cli_options *options) {
    if (options->value == NULL && options->svg)
        return usage("--svg draws the tile of --value NAME");
    if (options->html && options->json)
        return usage("a page has no --json");
    if (options->value != NULL && options->svg == options->html)
        return usage("--value NAME is drawn with --svg or with --html");
    if (options->value != NULL && options->json)
        return usage("a picture has no --json");
    cli_job job;
    int status = cli_job_open(&job, options, NULL);
    if (status == CLI_EXIT_OK)
        status = cli_job_arguments(&job);
    if (status == CLI_EXIT_OK)
        status = cli_job_compile(&job, COMPILE_TO_THREAD, true);
    if (status == CLI_EXIT_OK)
        status = print_report(&job);
    cli_job_close(&job);
    return status;
}
